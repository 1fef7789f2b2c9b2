"""What a user's mistakes look like: one message that says what to do, and no traceback."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch
from tiny_run import PREPARE, console, run

from quantlit.core import CheckpointError, QuantlitError


def _message(capsys: pytest.CaptureFixture[str], *args: object) -> str:
    """What a failing command says on stderr, log lines left out."""
    assert run(*args) == 1
    said = capsys.readouterr().err
    assert "Traceback" not in said
    lines = [line for line in said.splitlines() if "Error:" in line]
    assert len(lines) == 1, said
    assert said.rstrip().splitlines()[-1] == lines[0]
    return lines[0]


def test_an_unknown_checkpoint(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = _message(capsys, "test", "--ckpt_path", tmp_path / "none.ckpt")
    assert found.startswith("quantlit test: CheckpointError: There is no checkpoint or run folder")
    assert f"{tmp_path}/none.ckpt." in found
    assert "Name a .ckpt file, or a folder below which `quantlit fit` wrote one." in found
    assert "no checkpoint or run folder best" in _message(capsys, "test", "--ckpt_path", "best")
    found = _message(capsys, "test", "--ckpt_path", tmp_path)
    assert "No best.ckpt below" in found


def test_a_checkpoint_of_other_factors(
    capsys: pytest.CaptureFixture[str], fitted_run: Path, tmp_path: Path
) -> None:
    arguments = ["--trainer.logger.init_args.save_dir", tmp_path]
    arguments += ["--data.init_args.factors", "[return_1, day_position, volatility_20]"]
    found = _message(capsys, "test", "--ckpt_path", fitted_run, *arguments)
    assert "CheckpointError: The checkpoint was trained on the f" in found
    assert "volatility_5" in found
    assert "volatility_20" in found
    assert "Use the configuration it was trained with" in found


def test_a_checkpoint_of_another_panel_warns_and_goes_on(fitted_run: Path, tmp_path: Path) -> None:
    assert run(*PREPARE, "--source.seed", "1", "--output", tmp_path / "other") == 0
    with pytest.warns(UserWarning, match="trained on a panel with checksum .* of other data"):
        warnings.filterwarnings("ignore", "The dirpath has changed")
        code = run(
            "validate",
            *("--ckpt_path", fitted_run, "--data.init_args.panel", tmp_path / "other"),
            *("--trainer.logger.init_args.save_dir", tmp_path),
        )
    assert code == 0


def test_an_environment_variable_that_is_not_set(
    capsys: pytest.CaptureFixture[str], tiny_config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_FOLDER", raising=False)
    arguments = ["--data.init_args.panel", "$NO_SUCH_FOLDER/store"]
    found = _message(capsys, "fit", "--config", tiny_config, *arguments)
    assert "ConfigError" in found
    assert "NO_SUCH_FOLDER" in found


def test_a_store_that_is_not_there(
    capsys: pytest.CaptureFixture[str], tiny_config: Path, tmp_path: Path
) -> None:
    arguments = ["--data.init_args.panel", tmp_path / "nowhere"]
    found = _message(capsys, "fit", "--config", tiny_config, *arguments)
    assert f"{tmp_path}/nowhere" in found
    assert "quantlit prepare" in found


def test_an_unknown_factor(capsys: pytest.CaptureFixture[str], tiny_config: Path) -> None:
    arguments = ["--data.init_args.factors", "[retrun_1]"]
    found = _message(capsys, "fit", "--config", tiny_config, *arguments)
    assert "retrun_1" in found
    assert "return_1" in found.replace("retrun_1", "")


def test_a_split_outside_the_calendar(
    capsys: pytest.CaptureFixture[str], tiny_config: Path
) -> None:
    arguments = ["--data.init_args.split.test", "[2031-01-01, 2031-12-31]"]
    found = _message(capsys, "fit", "--config", tiny_config, *arguments)
    assert "split.test" in found
    assert "2031-01-01" in found
    assert "which runs from 2020-01-01 to 2020-08-25" in found


def test_a_split_that_overlaps(capsys: pytest.CaptureFixture[str], tiny_config: Path) -> None:
    arguments = ["--data.init_args.split.valid", "[2020-01-03, 2020-06-01]"]
    found = _message(capsys, "fit", "--config", tiny_config, *arguments)
    assert "splits must follow each other in time" in found


def test_a_setting_that_is_impossible(
    capsys: pytest.CaptureFixture[str], tiny_config: Path
) -> None:
    arguments = ["--data.init_args.label.horizons", "[0]"]
    found = _message(capsys, "fit", "--config", tiny_config, *arguments)
    assert "ConfigError: label.horizons is [0]; give numbers of bars >= 1" in found


def test_a_checkpoint_of_another_network(
    capsys: pytest.CaptureFixture[str], fitted_run: Path, tmp_path: Path
) -> None:
    arguments = ["--trainer.logger.init_args.save_dir", tmp_path]
    arguments += ["--model.init_args.forecaster.init_args.hidden_size", "16"]
    found = _message(capsys, "test", "--ckpt_path", fitted_run, *arguments)
    assert "CheckpointError: The checkpoint is of another network" in found


@pytest.mark.skipif(torch.cuda.is_available(), reason="the machine has a GPU")
def test_a_machine_without_what_is_asked_for(
    capsys: pytest.CaptureFixture[str], tiny_config: Path
) -> None:
    found = _message(capsys, "fit", "--config", tiny_config, "--trainer.accelerator", "gpu")
    assert "quantlit fit: ConfigError: trainer: No supported gpu backend found!" in found


def test_a_trainer_that_puts_its_own_sampler_in(
    capsys: pytest.CaptureFixture[str], tiny_config: Path, tmp_path: Path
) -> None:
    arguments = ["--trainer.logger.init_args.save_dir", tmp_path, "--trainer.callbacks", "[]"]
    found = _message(
        capsys, "fit", "--config", tiny_config, *arguments, "--trainer.overfit_batches", "2"
    )
    assert "trainer.overfit_batches" in found
    assert "Use trainer.limit_train_batches" in found


def test_callbacks_that_need_a_logger(
    capsys: pytest.CaptureFixture[str],
    tiny_config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # without a logger the working directory is the run's folder
    found = _message(capsys, "fit", "--config", tiny_config, "--trainer.logger", "false")
    assert "ConfigError: trainer: Cannot use `LearningRateMonitor`" in found


def test_a_schedule_over_an_endless_run(
    capsys: pytest.CaptureFixture[str], tiny_config: Path, tmp_path: Path
) -> None:
    arguments = ["--trainer.logger.init_args.save_dir", tmp_path, "--trainer.max_epochs", "-1"]
    found = _message(capsys, "fit", "--config", tiny_config, *arguments)
    assert "set trainer.max_epochs or trainer.max_steps" in found


def test_a_test_without_a_fit(
    capsys: pytest.CaptureFixture[str], tiny_config: Path, tmp_path: Path
) -> None:
    arguments = ["--trainer.logger.init_args.save_dir", tmp_path]
    found = _message(capsys, "test", "--config", tiny_config, *arguments)
    assert "run `quantlit fit` first" in found


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="There is no checkpoint"):
        run("test", "--ckpt_path", tmp_path / "none.ckpt", "--debug")
    assert issubclass(CheckpointError, QuantlitError)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--data.init_args.windwo", "3"], "windwo"),
        (["--data.init_args.window", "three"], "three"),
        (["--model.init_args.forecaster", "LTSMForecaster"], "LTSMForecaster"),
        (["--config", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_a_wrong_argument_is_named_and_exits_with_2(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str], tiny_config: Path
) -> None:
    assert run("fit", "--config", tiny_config, *arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("quantlit fit: ")
    assert named in said
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith("`quantlit fit --help` lists the options")


def test_an_unknown_command_is_answered_with_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("tset") == 2
    assert "there is no command 'tset'. Did you mean 'test'?" in capsys.readouterr().err


@pytest.mark.slow
def test_the_console_script_exits_with_1_and_one_message(tmp_path: Path) -> None:
    done = console("test", "--ckpt_path", "none.ckpt", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("quantlit test: CheckpointError: There is no checkpoint")
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
