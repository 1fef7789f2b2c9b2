"""A tiny task on the tiny market, and a Trainer without anything around it, built from Python."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from lightning import Callback, Trainer

from quantlit.core import PanelSpec
from quantlit.datamodules import PanelDataModule
from quantlit.forecasters import LSTMForecaster
from quantlit.losses import CompositeLoss, MaskedMSE, SoftSpearmanLoss, WeightedTerm
from quantlit.tasks import ForecastTask


def composite() -> CompositeLoss:
    """0.7 MSE and 0.3 rank loss."""
    return CompositeLoss(
        terms={
            "mse": WeightedTerm(0.7, MaskedMSE()),
            "rank": WeightedTerm(0.3, SoftSpearmanLoss(temperature=0.2)),
        }
    )


def lstm(spec: PanelSpec, *, hidden_size: int = 4, num_layers: int = 1) -> LSTMForecaster:
    """A small LSTM, always with the same weights."""
    torch.manual_seed(0)
    return LSTMForecaster(spec, hidden_size=hidden_size, num_layers=num_layers)


def make_task(data: PanelDataModule, **changes: Any) -> ForecastTask:
    """A task for a datamodule, with plain gradient descent."""
    settings: dict[str, Any] = {
        "forecaster": lstm,
        "loss": composite(),
        "spec": data.spec,
        "optimizer": partial(torch.optim.SGD, lr=0.1),
    }
    return ForecastTask(**{**settings, **changes})


def make_trainer(*callbacks: Callback, **changes: Any) -> Trainer:
    """One epoch on the CPU; no logger, checkpoint or validation unless asked for."""
    settings: dict[str, Any] = {
        "accelerator": "cpu",
        "devices": 1,
        "max_epochs": 1,
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "num_sanity_val_steps": 0,
        "log_every_n_steps": 1,
        "limit_val_batches": 0,
        "use_distributed_sampler": False,
    }
    return Trainer(**{**settings, **changes}, callbacks=list(callbacks))
