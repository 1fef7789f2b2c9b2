"""ForecastTask: what it scores, against planted signals and saved tables, and what it refuses."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_run import HORIZONS, datamodule
from tiny_task import composite, lstm, make_task, make_trainer
from torch import Tensor

from quantlit.callbacks import PredictionWriter
from quantlit.core import CheckpointError, PanelSpec
from quantlit.datamodules import PanelDataModule
from quantlit.evaluation import read_predictions, score_table
from quantlit.forecasters import Forecaster
from quantlit.functional import standardise_labels
from quantlit.panel import SyntheticSource
from quantlit.tasks import ForecastTask


@pytest.fixture
def data(tiny_store: Path) -> PanelDataModule:
    return datamodule(tiny_store)


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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_size": 6}, r"forecaster.head.weight has shape \[2, 4\], .* makes \[2, 6\]"),
        ({"num_layers": 2}, r"forecaster.lstm.bias_hh_l1 has shape none, .* makes \[16\]"),
    ],
)
def test_weights_of_another_network_are_refused(
    changes: dict[str, Any], message: str, data: PanelDataModule, tmp_path: Path
) -> None:
    trainer = make_trainer(limit_train_batches=1)
    trainer.fit(make_task(data), data)
    trainer.save_checkpoint(tmp_path / "small.ckpt")
    other = make_task(data, forecaster=partial(lstm, **changes))
    with pytest.raises(CheckpointError, match=message):
        make_trainer().test(other, data, ckpt_path=tmp_path / "small.ckpt", weights_only=True)


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
