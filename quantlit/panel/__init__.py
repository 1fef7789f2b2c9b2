"""The panel store: memory-mapped bars of many assets, its builder, calendar and sources."""

from quantlit.panel.builder import build_panel
from quantlit.panel.sources import (
    ColumnMap,
    CsvSource,
    FrameSource,
    PanelSource,
    ParquetSource,
    PlantedSignal,
    RawPanel,
    ReturnColumn,
    SampleSource,
    SyntheticSource,
    TableSource,
)
from quantlit.panel.store import Panel

__all__ = [
    "ColumnMap",
    "CsvSource",
    "FrameSource",
    "Panel",
    "PanelSource",
    "ParquetSource",
    "PlantedSignal",
    "RawPanel",
    "ReturnColumn",
    "SampleSource",
    "SyntheticSource",
    "TableSource",
    "build_panel",
]
