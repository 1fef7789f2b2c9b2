"""ForecastTask: what it optimises, what it logs, and how often its schedule steps."""

from __future__ import annotations

import copy
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning import Callback, LightningModule, Trainer
from tiny_run import datamodule
from tiny_task import composite, make_task, make_trainer
from torch.optim.lr_scheduler import ReduceLROnPlateau

from quantlit.core import PanelBatch
from quantlit.datamodules import PanelDataModule
from quantlit.forecasters import LSTMForecaster
from quantlit.functional import standardise_labels
from quantlit.tasks import LinearWarmup

TRAIN_BATCHES = 10


@pytest.fixture
def data(tiny_store: Path) -> PanelDataModule:
    return datamodule(tiny_store)


class Record(Callback):
    """Keeps every training batch, what was logged after it, and the learning rate it used."""

    def __init__(self) -> None:
        self.batches: list[PanelBatch] = []
        self.logged: list[dict[str, float]] = []
        self.rates: list[float] = []

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        self.batches.append(batch)
        self.rates.append(trainer.optimizers[0].param_groups[0]["lr"])

    def on_train_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        values = trainer.callback_metrics
        self.logged.append({name: float(value) for name, value in values.items()})


# -------------------------------------------------------------------- the loop itself


@pytest.mark.parametrize("one_pass", [True, False])
def test_losses_and_weights_equal_a_hand_written_loop(
    one_pass: bool, data: PanelDataModule
) -> None:
    forecaster = partial(LSTMForecaster, hidden_size=4, num_layers=1, one_pass=one_pass)
    task, record = make_task(data, forecaster=forecaster), Record()
    model = copy.deepcopy(task.forecaster)
    make_trainer(record, limit_train_batches=5).fit(task, data)

    loss, optimizer = composite(), torch.optim.SGD(model.parameters(), lr=0.1)
    for batch, logged in zip(record.batches, record.logged, strict=True):
        target, mask = standardise_labels(batch.target, batch.valid, "zscore")
        forecast = model(batch.features, batch.observed, batch.stamps).squeeze(-1)
        output = loss(forecast, target, mask, batch.weight)
        by_hand = 0.7 * output.terms["mse"] + 0.3 * output.terms["rank"]
        assert logged["train/loss"] == pytest.approx(float(by_hand), abs=1e-6)
        assert logged["train/loss_mse"] == pytest.approx(float(output.terms["mse"]), abs=1e-6)
        assert logged["train/loss_rank"] == pytest.approx(float(output.terms["rank"]), abs=1e-6)
        assert logged["train/dates_used"] == float(output.dates_used)
        optimizer.zero_grad()
        torch.autograd.backward(output.total)
        optimizer.step()
    assert len(record.batches) == 5
    ours = dict(task.forecaster.named_parameters())
    for name, weights in model.named_parameters():
        torch.testing.assert_close(ours[name], weights, atol=1e-6, rtol=0)
        assert ours[name].grad is not None


def test_the_epoch_loss_is_the_mean_of_its_steps(data: PanelDataModule) -> None:
    record = Record()
    trainer = make_trainer(record)
    trainer.fit(make_task(data), data)
    steps = [logged["train/loss"] for logged in record.logged]
    assert len(steps) == TRAIN_BATCHES
    assert float(trainer.callback_metrics["train/loss_epoch"]) == pytest.approx(
        sum(steps) / len(steps), rel=1e-6
    )


def test_accumulated_blocks_have_the_gradient_of_their_mean(data: PanelDataModule) -> None:
    task, record = make_task(data), Record()
    start = copy.deepcopy(task.forecaster)
    make_trainer(record, limit_train_batches=2, accumulate_grad_batches=2).fit(task, data)
    losses = []
    for batch in record.batches:
        target, mask = standardise_labels(batch.target, batch.valid, "zscore")
        forecast = start(batch.features, batch.observed, batch.stamps).squeeze(-1)
        losses.append(composite()(forecast, target, mask, batch.weight).total)
    torch.autograd.backward(torch.stack(losses).mean())
    ours = dict(task.forecaster.named_parameters())
    for name, weights in start.named_parameters():
        assert weights.grad is not None
        expected = weights - 0.1 * weights.grad
        torch.testing.assert_close(ours[name], expected, atol=1e-6, rtol=0)


def test_losses_are_logged_every_so_many_steps(data: PanelDataModule) -> None:
    record = Record()
    make_trainer(record, log_every_n_steps=4).fit(make_task(data), data)
    assert ["train/loss" in logged for logged in record.logged] == [False] * 3 + [True] * 7
    changed = [
        step
        for step in range(4, TRAIN_BATCHES)
        if record.logged[step]["train/loss"] != record.logged[step - 1]["train/loss"]
    ]
    assert changed == [7]  # the eighth step


# ------------------------------------------------------------------------ schedules


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({"max_epochs": 3}, 30),
        ({"max_epochs": 3, "accumulate_grad_batches": 4}, 9),  # 4 + 4 + 2 batches an epoch
        ({"max_epochs": 2, "limit_train_batches": 7, "accumulate_grad_batches": 2}, 8),
        ({"max_epochs": 3, "max_steps": 11}, 11),
        ({"max_epochs": -1, "max_steps": 5}, 5),
    ],
)
def test_the_schedule_knows_the_number_of_steps(
    settings: dict[str, Any], steps: int, data: PanelDataModule
) -> None:
    task, record = make_task(data, scheduler=partial(LinearWarmup, fraction=0.5)), Record()
    trainer = make_trainer(record, **settings)
    trainer.fit(task, data)
    scheduler = trainer.lr_scheduler_configs[0].scheduler
    assert isinstance(scheduler, LinearWarmup)
    assert trainer.lr_scheduler_configs[0].interval == "step"
    assert scheduler.total_steps == trainer.global_step == scheduler.last_epoch == steps
    # every optimizer step used the rate that the budget prescribes
    ratio = settings.get("accumulate_grad_batches", 1)
    per_epoch = settings.get("limit_train_batches", TRAIN_BATCHES)
    for batch, rate in enumerate(record.rates):
        step = batch // per_epoch * -(-per_epoch // ratio) + batch % per_epoch // ratio
        assert rate == pytest.approx(0.1 * scheduler.factor(step, steps))


def test_without_a_schedule_the_rate_stays(data: PanelDataModule) -> None:
    record = Record()
    trainer = make_trainer(record)
    trainer.fit(make_task(data), data)
    assert set(record.rates) == {0.1}
    assert trainer.lr_scheduler_configs == []


class LossPlateau(ReduceLROnPlateau):
    """As Lightning's own variant, which says what it watches."""

    monitor = "valid/loss"


@pytest.mark.parametrize(
    ("schedule", "monitor"), [(LossPlateau, "valid/loss"), (ReduceLROnPlateau, "valid/rank_ic")]
)
def test_a_plateau_schedule_steps_by_the_epoch_on_its_monitor(
    schedule: type[ReduceLROnPlateau], monitor: str, data: PanelDataModule
) -> None:
    task = make_task(data, scheduler=partial(schedule, mode="min", factor=0.5))
    trainer = make_trainer(limit_train_batches=1, limit_val_batches=1)
    trainer.fit(task, data)
    config = trainer.lr_scheduler_configs[0]
    assert (config.interval, config.monitor) == ("epoch", monitor)
