from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from lightning import LightningModule, Trainer

from quantlit.callbacks import ThroughputMonitor


class _Module:
    def __init__(self) -> None:
        self.logged: list[dict[str, float]] = []

    def log_dict(self, values: dict[str, float], batch_size: int) -> None:
        self.logged.append(values)


def _run(monitor: ThroughputMonitor, times: list[float], *, pause_before: int = -1) -> _Module:
    clock = iter(times)
    monitor._clock = lambda: next(clock)
    module = _Module()
    trainer: Any = SimpleNamespace(log_every_n_steps=2, global_step=0)
    batch: Any = SimpleNamespace(valid=torch.zeros(4, 5, dtype=torch.bool))
    for step in range(len(times) // 2):
        if step == pause_before:
            monitor.on_validation_start(trainer, cast(LightningModule, module))
        monitor.on_train_batch_start(
            cast(Trainer, trainer), cast(LightningModule, module), batch, step
        )
        trainer.global_step += 1
        monitor.on_train_batch_end(
            cast(Trainer, trainer), cast(LightningModule, module), None, batch, step
        )
    return module


def test_windows_and_loader_share_over_each_interval() -> None:
    # steps of 2 s; 1 s between them; 20 windows a step; logged every second step
    module = _run(ThroughputMonitor(), [0, 2, 3, 5, 6, 8, 9, 11])
    first, second = module.logged
    assert first["throughput/windows_per_s"] == pytest.approx(40 / 5)
    assert first["throughput/loader_share"] == pytest.approx(1 / 5)
    assert second["throughput/windows_per_s"] == pytest.approx(40 / 6)
    assert second["throughput/loader_share"] == pytest.approx(2 / 6)


def test_validation_between_two_steps_does_not_count() -> None:
    module = _run(ThroughputMonitor(), [0, 2, 1002, 1004], pause_before=1)
    assert module.logged == [
        {"throughput/windows_per_s": pytest.approx(10.0), "throughput/loader_share": 0.0}
    ]
