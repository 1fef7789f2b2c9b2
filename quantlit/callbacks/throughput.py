"""ThroughputMonitor: windows per second, and the share of a step spent waiting for its batch."""

from __future__ import annotations

import time
from typing import Any

from lightning import Callback, LightningModule, Trainer
from typing_extensions import override

from quantlit.core import PanelBatch


class ThroughputMonitor(Callback):
    """Logs ``throughput/windows_per_s`` and ``throughput/loader_share`` every logging interval.

    A window is one (date, asset) forecast of a training block. The loader's share is the time
    between two steps (fetching, transfer, other callbacks) over the whole time of the steps in the
    interval; validation does not count. On a GPU the clock is the host's, which is right over an
    interval and needs no synchronisation. Put it last in the list of callbacks, so that their work
    counts as time between steps.
    """

    def __init__(self) -> None:
        self._clock = time.perf_counter
        self._reset()
        self._last_end: float | None = None
        self._start = 0.0

    def _reset(self) -> None:
        self._waiting = 0.0
        self._working = 0.0
        self._windows = 0

    @override
    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        self._start = self._clock()
        if self._last_end is not None:
            self._waiting += self._start - self._last_end

    @override
    def on_train_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: PanelBatch,
        batch_idx: int,
    ) -> None:
        self._last_end = self._clock()
        self._working += self._last_end - self._start
        self._windows += batch.valid.numel()
        interval: int = trainer.log_every_n_steps  # type: ignore[attr-defined]
        if interval and trainer.global_step % interval == 0:
            self._log(pl_module)

    def _log(self, pl_module: LightningModule) -> None:
        total = self._waiting + self._working
        if total > 0:
            pl_module.log_dict(
                {
                    "throughput/windows_per_s": self._windows / total,
                    "throughput/loader_share": self._waiting / total,
                },
                batch_size=1,
            )
        self._reset()

    @override
    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._last_end = None

    @override
    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._last_end = None
