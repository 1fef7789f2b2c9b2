"""LightningDataModules: panels in, loaders of blocks out."""

from quantlit.datamodules.dataset import BlockDataset, PanelTensors
from quantlit.datamodules.panel import PanelDataModule

__all__ = ["BlockDataset", "PanelDataModule", "PanelTensors"]
