"""Two processes over gloo, through the console script: all dates once, and the same scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_run import (
    BLOCK,
    DATES,
    HORIZONS,
    PREPARE,
    N,
    config,
    console,
    load_checkpoint,
    run,
    scalars,
    write,
)

from quantlit.evaluation import PredictionTable, read_predictions

pytestmark = [
    pytest.mark.ddp,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The dirpath has changed"),
    pytest.mark.filterwarnings("ignore:Be aware that when using `ckpt_path`, callbacks"),
]
DDP = ["--trainer.strategy", "ddp", "--trainer.devices", "2", "--trainer.accelerator", "cpu"]

EVERY_7_STEPS = [
    "--trainer.callbacks+",
    "{class_path: ModelCheckpoint, init_args: "
    "{filename: 'at{step}', auto_insert_metric_name: false, every_n_train_steps: 7}}",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both fits and both tests; the first fit accumulates two blocks where the other has two ranks.

    Blocks are in time order, so that two ranks see in one step what one process sees in two.
    """
    folder = tmp_path_factory.mktemp("ddp")
    assert run(*PREPARE, "--output", folder / "store") == 0
    settings = config(folder / "store", folder / "runs", data__init_args__order="sequential")
    settings["model"]["init_args"]["forecaster"]["init_args"]["dropout"] = 0.0
    file = write(folder / "ddp.yaml", settings)
    fit = ["fit", "--config", file, "--trainer.logger.init_args.name"]
    assert run(*fit, "one", "--trainer.accumulate_grad_batches", "2") == 0
    done = console(*fit, "two", *DDP, *EVERY_7_STEPS, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def _tested(folder: Path, of: str, name: str, *args: str) -> tuple[Path, PredictionTable]:
    checkpoint = folder / "runs" / of / "version_0" / "checkpoints" / "best.ckpt"
    logger = ["--trainer.logger.init_args.name", name]
    command = ["test", "--ckpt_path", checkpoint, *logger, *args]
    if args:
        done = console(*command, cwd=folder)
        assert done.returncode == 0, done.stderr
    else:
        assert run(*command) == 0
    found = folder / "runs" / name / "version_0"
    return found, read_predictions(found / "predictions.test.parquet")


def test_two_ranks_take_the_steps_of_one_process_that_accumulates(folder: Path) -> None:
    one, two = (
        load_checkpoint(folder / "runs" / name / "version_0" / "checkpoints" / "last.ckpt")
        for name in ("one", "two")
    )
    assert one["global_step"] == two["global_step"] == 2 * 5
    for name, weights in one["state_dict"].items():
        torch.testing.assert_close(weights, two["state_dict"][name], atol=1e-5, rtol=0)


def test_two_ranks_resumed_in_mid_epoch_end_bitwise_equal(folder: Path) -> None:
    run_folder = folder / "runs" / "two" / "version_0"
    middle = load_checkpoint(run_folder / "checkpoints" / "at7.ckpt")
    state = next(value for key, value in middle["callbacks"].items() if "RandomState" in key)
    assert len(state["ranks"]) == 2
    arguments = ["fit", "--config", folder / "ddp.yaml", *DDP, *EVERY_7_STEPS]
    arguments += ["--trainer.logger.init_args.name", "resumed"]
    done = console(*arguments, "--ckpt_path", run_folder / "checkpoints" / "at7.ckpt", cwd=folder)
    assert done.returncode == 0, done.stderr
    whole, resumed = (
        load_checkpoint(folder / "runs" / name / "version_0" / "checkpoints" / "last.ckpt")
        for name in ("two", "resumed")
    )
    assert resumed["global_step"] == whole["global_step"]
    for name, weights in whole["state_dict"].items():
        assert torch.equal(weights, resumed["state_dict"][name]), name


def test_validation_scores_of_two_ranks_are_those_of_one(folder: Path) -> None:
    one, two = (scalars(folder / "runs" / name / "version_0") for name in ("one", "two"))
    for name in ("valid/dates_used", "valid/loss", "valid/rank_ic", "valid/icir_h3"):
        assert [value for _, value in two[name]] == pytest.approx(
            [value for _, value in one[name]], abs=1e-3
        ), name


def test_predictions_of_two_ranks_are_those_of_one_without_double_rows(folder: Path) -> None:
    alone, first = _tested(folder, "two", "alone")
    both, second = _tested(folder, "two", "both", *DDP)
    # 40 dates in 5 blocks: the second rank is given a padding block at the end
    assert -(-40 // BLOCK) % 2 == 1
    assert len(second.frame) == 40 * N * len(HORIZONS)
    assert list(second.frame["date"].unique()) == list(DATES[130:170])
    keys = ["date", "symbol", "horizon", "valid"]
    assert second.frame[keys].equals(first.frame[keys])
    for column in ("forecast", "label"):
        np.testing.assert_allclose(second.frame[column], first.frame[column], atol=1e-6)
    mine: dict[str, Any] = scalars(alone)
    for name, series in scalars(both).items():
        if name.startswith("test/"):
            assert series[-1][1] == pytest.approx(mine[name][-1][1], abs=1e-5), name
