"""`--ckpt_path`: which file is meant, whose configuration holds, and what a checkpoint carries."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from tiny_run import BLOCK, FACTORS, HORIZONS, N, W, load_checkpoint, run

from quantlit.cli.checkpoint import checkpoint_config, newest_checkpoint, with_checkpoint
from quantlit.core import CheckpointError
from quantlit.tasks import ForecastTask

# Lightning says so wherever a run continues in another folder than it was made in.
pytestmark = pytest.mark.filterwarnings("ignore:The dirpath has changed")


def _parsed(capsys: pytest.CaptureFixture[str], *args: str | Path) -> dict[str, Any]:
    """The configuration that a command would run with."""
    with pytest.raises(SystemExit) as stopped:
        run(*args, "--print_config")
    assert stopped.value.code == 0
    config: dict[str, Any] = yaml.safe_load(capsys.readouterr().out)
    return config


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


def test_a_checkpoint_configures_a_command_by_itself(
    fitted_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = _parsed(capsys, "test", "--ckpt_path", fitted_run)
    assert config["data"]["init_args"]["factors"] == FACTORS
    assert config["model"]["init_args"]["forecaster"]["init_args"]["hidden_size"] == 8
    assert config["ckpt_path"] == str(fitted_run / "checkpoints" / "best.ckpt")


def test_flags_win_over_the_hyperparameters_of_a_checkpoint(
    fitted_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = _parsed(
        capsys,
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
    first: str, fitted_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "other.yaml"
    file.write_text("data: {init_args: {block: 5}}\n")
    arguments = {"--config": file, "--ckpt_path": fitted_run}
    second = next(name for name in arguments if name != first)
    config = _parsed(capsys, "test", first, arguments[first], second, arguments[second])
    assert config["data"]["init_args"]["block"] == 5
    assert config["data"]["init_args"]["window"] == W


def test_flags_hold_while_it_runs(fitted_run: Path, tmp_path: Path) -> None:
    code = run(
        "validate",
        *("--ckpt_path", fitted_run, "--data.init_args.block", "4"),
        *("--trainer.logger.init_args.save_dir", tmp_path),
    )
    assert code == 0
    saved = yaml.safe_load((tmp_path / "tiny" / "version_0" / "config.validate.yaml").read_text())
    assert saved["data"]["init_args"]["block"] == 4
    assert saved["data"]["init_args"]["factors"] == FACTORS


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
    for args in (["fit", "--ckpt_path", "last"], ["fit", "--ckpt_path=hpc"], ["fit"]):
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
