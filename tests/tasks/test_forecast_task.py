"""ForecastTask: what it optimises, what it logs, and how often its schedule steps."""

from __future__ import annotations

import copy
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning import Callback, LightningModule, Trainer
from tiny_run import HORIZONS, datamodule
from tiny_task import composite, lstm, make_task, make_trainer
from torch import Tensor
from torch.optim.lr_scheduler import ReduceLROnPlateau

from quantlit.core import CheckpointError, PanelBatch, PanelSpec
from quantlit.datamodules import PanelDataModule
from quantlit.evaluation import read_predictions, score_table
from quantlit.forecasters import Forecaster, LSTMForecaster
from quantlit.functional import standardise_labels
from quantlit.panel import SyntheticSource
from quantlit.tasks import ForecastTask, LinearWarmup

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
        output.total.backward()
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
    torch.stack(losses).mean().backward()
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


def test_a_plateau_schedule_steps_by_the_epoch_on_its_monitor(data: PanelDataModule) -> None:
    class Plateau(ReduceLROnPlateau):
        monitor = "valid/loss"

    task = make_task(data, scheduler=partial(Plateau, mode="min", factor=0.5))
    trainer = make_trainer(limit_train_batches=1, limit_val_batches=1)
    trainer.fit(task, data)
    config = trainer.lr_scheduler_configs[0]
    assert (config.interval, config.monitor) == ("epoch", "valid/loss")


# ------------------------------------------------------------------------ evaluation


class Oracle(Forecaster):
    """Forecasts one feature, as it is; a weight lets it be trained."""

    def __init__(self, spec: PanelSpec, *, factor: str) -> None:
        super().__init__(spec)
        self.column = spec["factors"].index(factor)
        self.scale = torch.nn.Parameter(torch.ones(()))

    def forward(self, features: Tensor, observed: Tensor, stamps: Tensor) -> Tensor:
        score = self.scale * features[self.window - 1 :, :, self.column]
        return score[:, :, None, None].expand(-1, -1, self.n_horizons, 1)


def test_every_horizon_is_scored_under_its_name(data: PanelDataModule) -> None:
    trainer = make_trainer(limit_val_batches=1.0)
    trainer.fit(make_task(data), data)
    names = ["ic", "icir", "ic_nw_t", "rank_ic", "rank_icir", "rank_ic_nw_t", "hit_rate"]
    names += ["long_short", "dates_used"]
    found = {name for name in trainer.callback_metrics if name.startswith("valid/")}
    losses = {"valid/loss", "valid/loss_mse", "valid/loss_rank"}
    assert found == losses | {f"valid/{name}{h}" for name in names for h in ("", "_h3")}


def test_validation_losses_are_means_over_dates(data: PanelDataModule) -> None:
    task = make_task(data)
    trainer = make_trainer(limit_val_batches=1.0)
    trainer.validate(task, _fitted(data), verbose=False)
    task.eval()
    target, valid = (getattr(data.tensors(), name) for name in ("target", "valid"))
    dates = data.positions.valid.tolist()
    values = []
    with torch.no_grad():
        for date in dates:  # one by one, however they were blocked
            batch = data.tensors().block([date], data.window)
            labels, mask = standardise_labels(batch.target, batch.valid, "zscore")
            values.append(task.loss(task(batch), labels, mask, batch.weight).total)
    assert target[dates].isfinite().any()
    assert valid[dates].any()
    assert float(trainer.callback_metrics["valid/loss"]) == pytest.approx(
        float(torch.stack(values).mean()), rel=1e-5
    )


def _fitted(data: PanelDataModule) -> PanelDataModule:
    data.setup("fit")
    return data


def test_an_oracle_reads_the_planted_signal(data: PanelDataModule) -> None:
    oracle = partial(Oracle, factor="day_position")
    scores = make_trainer().test(make_task(data, forecaster=oracle), _fitted(data), verbose=False)
    planted = SyntheticSource(n_assets=14, n_dates=170, ic=0.6, delay=1).planted_signal()
    # 38 dates of 14 assets: a standard error of about 0.03
    assert scores[0]["test/ic"] == pytest.approx(planted.ic, abs=0.1)
    assert scores[0]["test/rank_ic"] == pytest.approx(planted.rank_ic, abs=0.1)
    assert scores[0]["test/long_short"] > 0


def test_labels_given_to_other_assets_cannot_be_forecast(data: PanelDataModule) -> None:
    tensors = _fitted(data).tensors()
    generator = torch.Generator().manual_seed(1)
    for date in range(len(tensors.target)):  # in place: every loader sees it
        order = torch.randperm(tensors.target.shape[1], generator=generator)
        tensors.target[date] = tensors.target[date, order]
    trainer = make_trainer(max_epochs=3, limit_val_batches=1.0)
    task = make_task(data, optimizer=partial(torch.optim.AdamW, lr=1e-2))
    trainer.fit(task, data)
    scores = trainer.test(task, data, verbose=False)[0]
    # a rank IC of n assets has a deviation of 1 / sqrt(n - 1)
    bound = 4 / (13 * scores["test/dates_used"]) ** 0.5
    assert abs(scores["test/rank_ic"]) < bound


def test_validation_scores_equal_those_of_the_saved_table(
    data: PanelDataModule, tmp_path: Path
) -> None:
    from quantlit.callbacks import PredictionWriter

    data.predict_on = "valid"
    task = make_task(data)
    make_trainer(limit_train_batches=2).fit(task, data)
    validated = make_trainer(limit_val_batches=1.0).validate(task, data, verbose=False)[0]
    writer = PredictionWriter(dirpath=str(tmp_path))
    make_trainer(writer).predict(task, data, return_predictions=False)
    table = score_table(read_predictions(tmp_path / "predictions.predict.parquet").frame)
    assert list(table.index) == HORIZONS
    for name in table.columns:
        for horizon, suffix in zip(HORIZONS, ("", "_h3"), strict=True):
            assert validated[f"valid/{name}{suffix}"] == pytest.approx(
                table.loc[horizon, name], rel=1e-6
            ), name


def test_scores_start_anew_with_every_validation(data: PanelDataModule) -> None:
    task, trainer = make_task(data), make_trainer(limit_val_batches=1.0)
    first = trainer.validate(task, _fitted(data), verbose=False)
    assert trainer.validate(task, data, verbose=False) == first


# ------------------------------------------------------------------------ checkpoints


def test_weights_of_other_factors_are_refused(data: PanelDataModule, tiny_store: Path) -> None:
    task = make_task(data)
    other = datamodule(tiny_store, factors=["return_1", "volatility_5", "day_position"])
    checkpoint = {"hyper_parameters": {"spec": dict(other.spec)}}
    with pytest.raises(CheckpointError, match=r"trained on the features .*but this configuration"):
        task.on_load_checkpoint(checkpoint)
    task.on_load_checkpoint({"hyper_parameters": {"spec": dict(data.spec)}})
    task.on_load_checkpoint({})


def test_a_checkpoint_made_in_python_holds_plain_values_alone(
    data: PanelDataModule, tmp_path: Path
) -> None:
    trainer = make_trainer(limit_train_batches=1)
    trainer.fit(make_task(data), data)
    trainer.save_checkpoint(tmp_path / "python.ckpt")
    checkpoint = torch.load(tmp_path / "python.ckpt", weights_only=True)
    assert checkpoint["hyper_parameters"]["spec"] == data.spec
    restored = ForecastTask.load_from_checkpoint(
        tmp_path / "python.ckpt", weights_only=True, forecaster=lstm, loss=composite()
    )
    for name, value in restored.state_dict().items():
        assert torch.equal(value, checkpoint["state_dict"][name])
