"""The commands as a user runs them, on a tiny market."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tiny_run import HORIZONS, PREPARE, START, N, T, config, load_checkpoint, run, scalars, write

from quantlit import __version__
from quantlit.evaluation import read_predictions
from quantlit.panel import Panel

# Lightning says so wherever a run continues in another folder, or without its callbacks.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The dirpath has changed"),
    pytest.mark.filterwarnings("ignore:Be aware that when using `ckpt_path`, callbacks"),
]


@pytest.fixture
def own_run(fitted_run: Path, tmp_path: Path) -> Path:
    """A copy of the fitted run that a test may write into."""
    return Path(shutil.copytree(fitted_run, tmp_path / "runs" / "tiny" / "version_0"))


def test_prepare_makes_a_store_and_says_what_is_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*PREPARE, "--output", tmp_path / "store") == 0
    assert f"{T} bars from 2020-01-01" in (said := capsys.readouterr().out)
    assert f"{N} assets" in said
    panel = Panel.open(tmp_path / "store", verify=True)
    assert panel.values.shape == (T, N, 5)


def test_prepare_refuses_to_replace_a_store_unless_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*PREPARE, "--output", tmp_path / "store"]
    assert run(*arguments) == 0
    first = Panel.open(tmp_path / "store").checksum
    assert run(*arguments, "--source.seed", "1") == 1
    assert "quantlit prepare: PanelError:" in capsys.readouterr().err
    assert Panel.open(tmp_path / "store", verify=True).checksum == first
    assert run(*arguments, "--source.seed", "1", "--overwrite", "true") == 0
    assert Panel.open(tmp_path / "store").checksum != first


def test_prepare_reads_its_options_from_yaml(tmp_path: Path) -> None:
    file = write(
        tmp_path / "prepare.yaml",
        {
            "source": {
                "class_path": "quantlit.panel.SyntheticSource",
                "init_args": {"n_assets": 5, "n_dates": 30},
            },
            "output": str(tmp_path / "store"),
        },
    )
    assert run("prepare", "--config", file) == 0
    assert Panel.open(tmp_path / "store").values.shape == (30, 5, 5)


def test_fit_leaves_checkpoints_its_config_and_charts(fitted_run: Path) -> None:
    assert {path.name for path in (fitted_run / "checkpoints").iterdir()} == {
        "best.ckpt",
        "last.ckpt",
    }
    saved = yaml.safe_load((fitted_run / "config.fit.yaml").read_text())
    assert saved["trainer"]["use_distributed_sampler"] is False
    assert saved["model"]["class_path"] == "quantlit.tasks.ForecastTask"
    charts = scalars(fitted_run)
    assert {"train/loss", "train/loss_mse", "train/loss_rank", "train/loss_epoch"} <= set(charts)
    assert {"valid/loss", "valid/rank_ic", "valid/rank_ic_h3"} <= set(charts)
    assert {"throughput/windows_per_s", "throughput/loader_share", "lr-AdamW"} <= set(charts)
    assert all(np.isfinite(value) for series in charts.values() for _, value in series)


def test_test_writes_into_the_folder_of_the_run(own_run: Path) -> None:
    before = (own_run / "config.fit.yaml").read_bytes()
    assert run("test", "--ckpt_path", own_run.parent) == 0
    assert [path.name for path in own_run.parent.iterdir()] == ["version_0"]
    assert (own_run / "config.fit.yaml").read_bytes() == before
    assert yaml.safe_load((own_run / "config.test.yaml").read_text())["ckpt_path"].endswith(
        "best.ckpt"
    )
    assert "test/rank_ic" in scalars(own_run)
    table = read_predictions(own_run / "predictions.test.parquet")
    assert len(table.frame) == 40 * N * len(HORIZONS)
    # and a second time, from what it saved: nothing stands in the way, and the numbers are the same
    assert run("test", "--config", own_run / "config.test.yaml") == 0
    assert [path.name for path in own_run.parent.iterdir()] == ["version_0"]
    again = read_predictions(own_run / "predictions.test.parquet")
    assert again.frame.equals(table.frame)


def test_validate_scores_the_checkpoint_as_fit_did(own_run: Path) -> None:
    assert run("validate", "--ckpt_path", own_run / "checkpoints" / "last.ckpt") == 0
    assert (own_run / "config.validate.yaml").is_file()
    found = scalars(own_run)["valid/rank_ic"]
    assert found[-1][1] == found[-2][1]


def test_predict_forecasts_dates_that_have_no_label_yet(own_run: Path) -> None:
    assert run("predict", "--ckpt_path", own_run) == 0
    frame = read_predictions(own_run / "predictions.predict.parquet").frame
    last = frame[frame["date"] == frame["date"].max()]
    assert frame["date"].nunique() == 40
    assert last["label"].isna().all()
    assert last["valid"].any()
    assert last["forecast"].notna().all()


def test_a_second_fit_gets_a_folder_of_its_own(tiny_store: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "c.yaml", config(tiny_store, tmp_path / "runs", trainer__max_epochs=1))
    for _ in range(2):
        assert run("fit", "--config", file) == 0
    folder = tmp_path / "runs" / "tiny"
    assert sorted(path.name for path in folder.iterdir()) == ["version_0", "version_1"]
    assert (folder / "version_1" / "checkpoints" / "best.ckpt").is_file()


def test_the_saved_config_runs_again_to_the_same_weights(fitted_run: Path, tmp_path: Path) -> None:
    arguments = ["--trainer.logger.init_args.save_dir", tmp_path]
    assert run("fit", "--config", fitted_run / "config.fit.yaml", *arguments) == 0
    again = load_checkpoint(tmp_path / "tiny" / "version_0" / "checkpoints" / "last.ckpt")
    first = load_checkpoint(fitted_run / "checkpoints" / "last.ckpt")
    assert again["state_dict"].keys() == first["state_dict"].keys()
    for name, weights in first["state_dict"].items():
        assert torch.equal(weights, again["state_dict"][name]), name


def test_fit_from_a_run_goes_on_in_a_new_folder(own_run: Path, tmp_path: Path) -> None:
    logs = ["--trainer.logger.init_args.save_dir", tmp_path / "runs"]
    logs += ["--trainer.logger.init_args.name", "tiny", "--trainer.callbacks", "[]"]
    before = sorted(path.name for path in own_run.iterdir())
    assert run("fit", "--ckpt_path", own_run, *logs, "--trainer.max_epochs", "3") == 0
    assert sorted(path.name for path in own_run.iterdir()) == before
    charts = scalars(own_run.with_name("version_1"))
    assert [step for step, _ in charts["train/loss"]] == [29]  # every tenth, by default
    assert len(charts["valid/rank_ic"]) == 1


def test_the_resolved_config_is_a_text_in_tensorboard(fitted_run: Path) -> None:
    events = EventAccumulator(str(fitted_run))
    events.Reload()
    (event,) = events.Tensors("config/fit/text_summary")
    text = event.tensor_proto.string_val[0].decode()
    assert text.startswith("```yaml\n")
    assert "\nseed_everything: 0\n" in text
    assert "quantlit.losses.SoftSpearmanLoss" in text


def test_a_source_in_the_config_is_made_into_a_store_once(
    tiny_config: Path, tmp_path: Path
) -> None:
    source = {"n_assets": N, "n_dates": T, "start": START, "ic": 0.6}
    changes = {
        "panel": {"class_path": "SyntheticSource", "init_args": source},
        "cache_dir": str(tmp_path / "cache"),
    }
    overlay = write(tmp_path / "overlay.yaml", {"data": {"init_args": changes}})
    arguments = ["--config", tiny_config, "--config", overlay, "--trainer.callbacks", "[]"]
    arguments += ["--trainer.max_steps", "1", "--trainer.logger.init_args.save_dir", tmp_path]
    assert run("fit", *arguments) == 0
    (store,) = tmp_path.glob("cache/syntheticsource-*")
    made = (store / "manifest.json").stat().st_mtime_ns
    assert run("fit", *arguments) == 0
    assert [path.name for path in tmp_path.glob("cache/synthetic*")] == [store.name]
    assert (store / "manifest.json").stat().st_mtime_ns == made


@pytest.mark.parametrize("argument", ["--help", "-h"])
def test_help_names_the_commands(argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(argument) == 0
    said = capsys.readouterr().out
    assert all(command in said for command in ("prepare", "fit", "validate", "test", "predict"))


def test_no_command_at_all_prints_the_usage_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 2
    assert "usage: quantlit COMMAND" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    assert capsys.readouterr().out == f"quantlit {__version__}\n"
