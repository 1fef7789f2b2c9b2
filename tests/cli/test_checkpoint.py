"""`--ckpt_path`: which file is meant, whose configuration holds, and what a checkpoint carries."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from jsonargparse import Namespace
from tiny_run import BLOCK, FACTORS, HORIZONS, N, W, load_checkpoint, parsed, run

from quantlit.cli.checkpoint import (
    checkpoint_config,
    keep_to_own_run,
    newest_checkpoint,
    with_checkpoint,
)
from quantlit.core import CheckpointError
from quantlit.tasks import ForecastTask

# Lightning says so wherever a run continues in another folder, or without its callbacks.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The dirpath has changed"),
    pytest.mark.filterwarnings("ignore:Be aware that when using `ckpt_path`, callbacks"),
]


# ------------------------------------------------------------------- what it carries


def test_the_link_leaves_a_plain_spec_in_the_hyperparameters(fitted_run: Path) -> None:
    spec = load_checkpoint(fitted_run / "checkpoints" / "best.ckpt")["hyper_parameters"]["spec"]
    assert type(spec) is dict
    assert spec == {
        "n_features": 3,
        "window": W,
        "n_assets": N,
        "horizons": HORIZONS,
        "delay": 1,
        "standardise": "zscore",
        "bars_per_year": 252.0,
        "factors": FACTORS,
        "symbols": [f"S{asset:02d}" for asset in range(N)],
    }


def test_a_checkpoint_carries_both_sides_and_what_was_fitted(fitted_run: Path) -> None:
    checkpoint = load_checkpoint(fitted_run / "checkpoints" / "best.ckpt")
    assert checkpoint["hyper_parameters"]["_class_path"] == "quantlit.tasks.ForecastTask"
    data = checkpoint["datamodule_hyper_parameters"]
    assert data["_class_path"] == "quantlit.datamodules.PanelDataModule"
    state = checkpoint["PanelDataModule"]
    assert state["factors"] == FACTORS
    assert len(state["panel_checksum"]) == 64
    assert "RandomState" in str(checkpoint["callbacks"].keys())


def test_a_task_loads_from_its_checkpoint_alone(fitted_run: Path) -> None:
    path = fitted_run / "checkpoints" / "best.ckpt"
    task = ForecastTask.load_from_checkpoint(path, weights_only=True)
    weights = load_checkpoint(path)["state_dict"]
    assert task.spec["factors"] == FACTORS
    for name, value in task.state_dict().items():
        assert torch.equal(value, weights[name]), name


# ------------------------------------------------------------------ whose word counts


def test_a_checkpoint_configures_a_command_by_itself(fitted_run: Path) -> None:
    config = parsed("test", "--ckpt_path", fitted_run)
    assert config["data"]["init_args"]["factors"] == FACTORS
    assert config["model"]["init_args"]["forecaster"]["init_args"]["hidden_size"] == 8
    assert config["ckpt_path"] == str(fitted_run / "checkpoints" / "best.ckpt")


def test_flags_win_over_the_hyperparameters_of_a_checkpoint(fitted_run: Path) -> None:
    config = parsed(
        "test",
        *("--ckpt_path", fitted_run / "checkpoints" / "best.ckpt"),
        *("--model.init_args.optimizer.init_args.lr", "0.5"),
        *("--data.init_args.block", "4"),
    )
    assert config["model"]["init_args"]["optimizer"]["init_args"]["lr"] == 0.5
    assert config["data"]["init_args"]["block"] == 4
    assert config["data"]["init_args"]["window"] == W


@pytest.mark.parametrize("first", ["--config", "--ckpt_path"])
def test_a_config_beside_a_checkpoint_wins_in_any_order(
    first: str, fitted_run: Path, tmp_path: Path
) -> None:
    file = tmp_path / "other.yaml"
    file.write_text("data: {init_args: {block: 5}}\n")
    arguments = {"--config": file, "--ckpt_path": fitted_run}
    second = next(name for name in arguments if name != first)
    config = parsed("test", first, arguments[first], second, arguments[second])
    assert config["data"]["init_args"]["block"] == 5
    assert config["data"]["init_args"]["window"] == W


def test_flags_hold_while_it_runs(fitted_run: Path, tmp_path: Path) -> None:
    code = run(
        "validate",
        *("--ckpt_path", fitted_run, "--data.init_args.block", "4"),
        *("--model.init_args.optimizer.init_args.lr", "0.5"),
        *("--trainer.logger.init_args.save_dir", tmp_path),
    )
    assert code == 0
    saved = yaml.safe_load((tmp_path / "tiny" / "version_0" / "config.validate.yaml").read_text())
    assert saved["data"]["init_args"]["block"] == 4
    assert saved["data"]["init_args"]["factors"] == FACTORS
    assert saved["model"]["init_args"]["optimizer"]["init_args"]["lr"] == 0.5


# --------------------------------------------------------------------- which is meant


def test_of_a_folder_the_newest_run_is_meant(tmp_path: Path) -> None:
    paths = []
    for age, version in enumerate(("version_1", "version_0", "version_2")):
        for name in ("best.ckpt", "last.ckpt"):
            path = tmp_path / "a" / version / "checkpoints" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            os.utime(path, (1000 + age, 1000 + age))
            paths.append(path)
    assert newest_checkpoint(tmp_path, "best.ckpt") == paths[-2]
    assert newest_checkpoint(tmp_path / "a" / "version_0", "last.ckpt").parts[-3] == "version_0"
    with pytest.raises(CheckpointError, match=r"No other.ckpt below .*quantlit fit"):
        newest_checkpoint(tmp_path, "other.ckpt")


def test_fit_continues_from_the_last_and_others_take_the_best(fitted_run: Path) -> None:
    for command, name in (("fit", "last.ckpt"), ("test", "best.ckpt"), ("predict", "best.ckpt")):
        with with_checkpoint([command, f"--ckpt_path={fitted_run}"]) as complete:
            assert complete[-1] == f"--ckpt_path={fitted_run / 'checkpoints' / name}"


def test_words_of_lightnings_own_pass_unchanged() -> None:
    for args in (
        ["fit", "--ckpt_path", "last"],
        ["fit", "--ckpt_path=hpc"],
        ["test", "--ckpt_path", "null"],
        ["test", "--ckpt_path", "s3://bucket/best.ckpt"],
        ["fit"],
    ):
        with with_checkpoint(args) as complete:
            assert complete == args


def test_fit_from_a_checkpoint_does_not_write_into_the_old_run(fitted_run: Path) -> None:
    seen = {}
    for command in ("fit", "test"):
        with with_checkpoint([command, "--ckpt_path", str(fitted_run)]) as complete:
            config = yaml.safe_load(Path(complete[1].removeprefix("--config=")).read_text())
            seen[command] = config.get("trainer", {}).get("logger", {}).get("init_args")
    assert seen["fit"] is None
    assert seen["test"]["version"] == "version_0"
    assert seen["test"]["name"] == "tiny"
    assert seen["test"]["save_dir"] == str(fitted_run.parent.parent)


@pytest.mark.parametrize(
    ("logger", "version"),
    [
        ({"save_dir": "runs", "name": "a", "version": "version_3"}, "version_3"),
        ({"save_dir": "elsewhere/../runs", "name": "a", "version": "version_3"}, "version_3"),
        ({"save_dir": "runs", "name": "b", "version": "version_3"}, None),
        ({"save_dir": "other", "name": "a", "version": "version_3"}, None),
        ({"save_dir": "runs", "name": "b", "version": "mine"}, "mine"),
        ({"save_dir": "runs", "name": "b", "version": None}, None),
    ],
)
def test_the_version_of_a_run_is_kept_in_its_own_folder_alone(
    logger: dict[str, Any], version: str | None
) -> None:
    config = _namespace({"trainer": {"logger": {"init_args": logger}}})
    config["ckpt_path"] = "runs/a/version_3/checkpoints/best.ckpt"
    keep_to_own_run(config)
    assert config["trainer.logger.init_args"].version == version


@pytest.mark.parametrize("logger", [None, True, False])
def test_other_kinds_of_loggers_are_left_alone(logger: bool | None) -> None:
    config = _namespace({"trainer": {"logger": logger}, "ckpt_path": "best.ckpt"})
    keep_to_own_run(config)
    assert config["trainer.logger"] is logger


def _namespace(values: dict[str, Any]) -> Namespace:
    """Nested dicts as jsonargparse parses them."""
    namespace = Namespace()  # type: ignore[no-untyped-call]
    for key, value in values.items():
        namespace[key] = _namespace(value) if isinstance(value, dict) else value
    return namespace


def test_under_another_name_a_test_gets_a_folder_of_its_own(
    fitted_run: Path, tmp_path: Path
) -> None:
    logs = ["--trainer.logger.init_args.save_dir", tmp_path]
    for _ in range(2):
        assert run("test", "--ckpt_path", fitted_run, *logs, "--trainer.callbacks", "[]") == 0
    found = sorted(path.name for path in (tmp_path / "tiny").iterdir())
    assert found == ["version_0", "version_1"]


def test_a_foreign_checkpoint_configures_nothing(tmp_path: Path) -> None:
    torch.save({"state_dict": {}}, tmp_path / "plain.ckpt")
    assert checkpoint_config(tmp_path / "plain.ckpt") == {}


def test_a_file_that_is_no_checkpoint_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "broken.ckpt"
    path.write_bytes(b"no checkpoint at all")
    with pytest.raises(CheckpointError, match=f"{path} cannot be read as a checkpoint"):
        checkpoint_config(path)
    torch.save({"code": BLOCK.__class__, "stranger": Path("x")}, path)
    with pytest.raises(CheckpointError, match="cannot be read as a checkpoint"):
        checkpoint_config(path)
