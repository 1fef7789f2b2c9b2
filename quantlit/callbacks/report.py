"""RunReport: the scores of a run as a table on the terminal and as TensorBoard hyperparameters."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from lightning import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.trainer.states import TrainerFn
from rich.console import Console
from rich.table import Table
from typing_extensions import override

from quantlit.callbacks.predictions import PredictionWriter

Scores = dict[str, float]
HEADLINE = ("loss", "ic", "icir", "rank_ic", "rank_icir", "long_short")
"""The scores that stand beside the hyperparameters."""


class RunReport(Callback):
    """Prints the final scores and where everything lies, and logs them beside the hyperparameters.

    After ``fit`` the scores are those of the best validation, by the monitor of the run's first
    checkpoint callback that has one; after ``test`` they are the test's.
    """

    def __init__(self) -> None:
        self._best: Scores = {}
        self._best_value: float | None = None

    @override
    def state_dict(self) -> dict[str, Any]:
        return {"best": self._best, "best_value": self._best_value}

    @override
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._best, self._best_value = state_dict["best"], state_dict["best_value"]

    @override
    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        scores = _scores(trainer, "valid/")
        if trainer.sanity_checking or not scores:
            return
        if trainer.state.fn == TrainerFn.VALIDATING:
            if trainer.is_global_zero:
                _print("Validation", scores, [])
            return
        checkpoint = _monitored(trainer)
        value = scores.get(checkpoint.monitor or "") if checkpoint else None
        if value is not None and math.isnan(value):
            return  # an undefined score is never the best one
        sign = -1.0 if checkpoint is not None and checkpoint.mode == "min" else 1.0
        if value is None or self._best_value is None or sign * value > sign * self._best_value:
            self._best, self._best_value = {**scores, "epoch": float(trainer.current_epoch)}, value

    @override
    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        run = trainer.log_dir  # a collective: every rank takes part
        if not trainer.is_global_zero or not self._best:
            return
        _log_hyperparameters(trainer, pl_module, self._best)
        lines = [f"run: {run}"]
        checkpoint = _monitored(trainer)
        if checkpoint is not None and checkpoint.best_model_path:
            lines = [
                f"best checkpoint: {checkpoint.best_model_path}",
                f"test it:         quantlit test --ckpt_path {checkpoint.best_model_path}",
            ]
        _print("Best validation", self._best, lines)

    @override
    def on_test_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        scores, lines = _scores(trainer, "test/"), _where(trainer)
        if trainer.is_global_zero and scores:
            _log_hyperparameters(trainer, pl_module, scores)
            _print("Test", scores, lines)

    @override
    def on_predict_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        lines = _where(trainer)
        if trainer.is_global_zero:
            _print("", {}, lines)


def _scores(trainer: Trainer, prefix: str) -> Scores:
    return {
        name: float(value)
        for name, value in trainer.callback_metrics.items()
        if name.startswith(prefix)
    }


def _monitored(trainer: Trainer) -> ModelCheckpoint | None:
    for callback in trainer.checkpoint_callbacks:
        if isinstance(callback, ModelCheckpoint) and callback.monitor:
            return callback
    return None


def _where(trainer: Trainer) -> list[str]:
    lines = [
        f"predictions: {writer.path}"
        for writer in trainer.callbacks  # type: ignore[attr-defined]
        if isinstance(writer, PredictionWriter) and writer.path is not None
    ]
    run = trainer.log_dir  # a collective: every rank takes part
    if run is not None:
        lines.append(f"charts:      tensorboard --logdir {Path(run).parent}")
    return lines


def _log_hyperparameters(trainer: Trainer, pl_module: LightningModule, scores: Scores) -> None:
    datamodule = getattr(trainer, "datamodule", None)
    parameters: dict[str, Any] = {}
    for owner, key in ((datamodule, "data"), (pl_module, "model")):
        values = dict(getattr(owner, "hparams", {}) or {})
        parameters[key] = {k: v for k, v in values.items() if k not in {"spec", "_instantiator"}}
    metrics = {
        f"final/{name.replace('/', '_')}": value
        for name, value in scores.items()
        if name.partition("/")[2] in HEADLINE
    }
    for logger in trainer.loggers:
        if isinstance(logger, TensorBoardLogger):
            logger.log_hyperparams(parameters, metrics, step=trainer.global_step)


def _print(title: str, scores: Scores, lines: list[str]) -> None:
    console = Console()
    if scores:
        table = Table(title=title, title_justify="left")
        table.add_column("score")
        table.add_column("value", justify="right")
        for name, value in scores.items():
            table.add_row(name, f"{value:.4f}" if abs(value) < 1000 else f"{value:.0f}")
        console.print(table)
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False)
