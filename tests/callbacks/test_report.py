from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.trainer.states import TrainerFn
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tiny_run import datamodule, scalars
from tiny_task import make_task, make_trainer

from quantlit.callbacks import PredictionWriter, RunReport

MODULE = cast(LightningModule, SimpleNamespace(hparams={}))


def validate(
    report: RunReport, *values: float, mode: str = "max", monitor: str | None = "valid/rank_ic"
) -> None:
    """Let a report see validations of these values, one an epoch."""
    checkpoint = ModelCheckpoint(monitor=monitor, mode=mode)
    for epoch, value in enumerate(values):
        metrics = {"valid/rank_ic": torch.tensor(value), "train/loss": torch.tensor(9.0)}
        trainer = SimpleNamespace(
            callback_metrics=metrics,
            sanity_checking=False,
            state=SimpleNamespace(fn=TrainerFn.FITTING),
            checkpoint_callbacks=[ModelCheckpoint(every_n_train_steps=1), checkpoint],
            current_epoch=epoch,
        )
        report.on_validation_end(cast(Trainer, trainer), MODULE)


def best(report: RunReport) -> dict[str, float]:
    found: dict[str, float] = report.state_dict()["best"]
    return found


@pytest.mark.parametrize(("mode", "value", "epoch"), [("max", 0.5, 1), ("min", 0.125, 2)])
def test_the_best_epoch_by_the_monitor_is_kept(mode: str, value: float, epoch: int) -> None:
    report = RunReport()
    validate(report, 0.25, 0.5, 0.125, 0.375, mode=mode)
    assert best(report) == {"valid/rank_ic": value, "epoch": epoch}


def test_without_a_monitor_the_last_epoch_is_kept() -> None:
    report = RunReport()
    validate(report, 0.25, 0.5, 0.125, monitor=None)
    assert best(report) == {"valid/rank_ic": 0.125, "epoch": 2}


def test_an_undefined_score_is_never_the_best_one() -> None:
    report = RunReport()
    validate(report, float("nan"), 0.25, float("nan"), 0.125)
    assert best(report) == {"valid/rank_ic": 0.25, "epoch": 1}


def test_a_sanity_check_does_not_count() -> None:
    report = RunReport()
    trainer: Any = SimpleNamespace(
        callback_metrics={"valid/rank_ic": torch.tensor(0.9)}, sanity_checking=True
    )
    report.on_validation_end(trainer, MODULE)
    assert best(report) == {}


def test_a_resumed_run_remembers_its_best() -> None:
    first = RunReport()
    validate(first, 0.25, 0.5)
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    resumed = RunReport()
    resumed.load_state_dict(torch.load(file, weights_only=True))
    validate(resumed, 0.375)
    assert best(resumed) == {"valid/rank_ic": 0.5, "epoch": 1}


def test_a_validate_command_prints_its_scores_and_remembers_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = RunReport()
    trainer: Any = SimpleNamespace(
        callback_metrics={"valid/rank_ic": torch.tensor(0.25)},
        sanity_checking=False,
        is_global_zero=True,
        state=SimpleNamespace(fn=TrainerFn.VALIDATING),
    )
    report.on_validation_end(trainer, MODULE)
    said = capsys.readouterr().out
    assert "valid/rank_ic" in said
    assert "0.2500" in said
    assert best(report) == {}


def test_after_a_test_scores_and_places_are_printed_and_logged(
    tiny_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = datamodule(tiny_store)
    data.setup("fit")
    logger = TensorBoardLogger(tmp_path, name="tiny", default_hp_metric=False)
    trainer = make_trainer(PredictionWriter(), RunReport(), logger=logger)
    scores = trainer.test(make_task(data), data, verbose=False)[0]
    said = capsys.readouterr().out
    for name, value in scores.items():
        assert name in said
        assert f"{value:.4f}" in said
    run_folder = Path(logger.log_dir)
    assert f"predictions: {run_folder / 'predictions.test.parquet'}" in said
    assert f"charts:      tensorboard --logdir {tmp_path / 'tiny'}" in said
    final = {name: series[-1][1] for name, series in scalars(run_folder).items()}
    assert final["final/test_rank_ic"] == pytest.approx(scores["test/rank_ic"])
    assert "final/test_hit_rate" not in final


def test_a_fit_logs_its_best_scores_beside_its_hyperparameters(fitted_run: Path) -> None:
    charts = scalars(fitted_run)
    best_value = max(value for _, value in charts["valid/rank_ic"])
    assert charts["final/valid_rank_ic"][-1][1] == pytest.approx(best_value)
    events = EventAccumulator(str(fitted_run))
    events.Reload()
    content = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    for part in (b"data/block", b"data/window", b"hidden_size", b"lr"):
        assert part in content


def test_a_predict_run_says_where_the_table_is(
    tiny_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = datamodule(tiny_store)
    data.setup("fit")
    writer = PredictionWriter(dirpath=str(tmp_path))
    trainer = make_trainer(writer, RunReport())
    trainer.predict(make_task(data), data, return_predictions=False)
    assert f"predictions: {tmp_path / 'predictions.predict.parquet'}" in capsys.readouterr().out
