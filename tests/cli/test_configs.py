"""What configurations parse to: the defaults, the shipped files, overlays, lists, class names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny_run import config, parsed, run, write

from quantlit.cli.configs import configs_dir

FILES = ["quickstart.yaml", "csi800_lstm.yaml"]
OVERLAYS = ["alpha158.yaml", "bf16.yaml", "cpu.yaml", "ddp.yaml", "gpu.yaml", "synthetic.yaml"]
PREPARE = ["csi800.yaml"]


@pytest.fixture(scope="module")
def plain(tiny_config: Path) -> dict[str, Any]:
    """The tiny config on top of the defaults."""
    return parsed("fit", "--config", tiny_config)


def _classes(found: dict[str, Any]) -> list[str]:
    return [entry["class_path"].rpartition(".")[2] for entry in found["trainer"]["callbacks"]]


def test_there_are_no_other_shipped_configs_than_those_tested() -> None:
    found = {
        folder: sorted(path.name for path in (configs_dir() / folder).glob("*.yaml"))
        for folder in (".", "overlays", "prepare")
    }
    assert found == {
        ".": sorted([*FILES, "default.yaml"]),
        "overlays": OVERLAYS,
        "prepare": PREPARE,
    }


def test_defaults_hold_where_nothing_else_is_said(plain: dict[str, Any]) -> None:
    found = plain
    assert found["trainer"]["use_distributed_sampler"] is False
    assert found["trainer"]["gradient_clip_val"] == 1.0
    assert found["trainer"]["max_epochs"] == 2  # of the file given
    assert found["seed_everything"] == 0
    assert _classes(found) == [
        "ModelCheckpoint",
        "EarlyStopping",
        "LearningRateMonitor",
        "RandomState",
        "PredictionWriter",
        "ScoreFigures",
        "RunReport",
        "ThroughputMonitor",
    ]
    stop = found["trainer"]["callbacks"][1]["init_args"]
    assert (stop["monitor"], stop["mode"]) == ("valid/rank_ic", "max")


def test_precision_stays_out_of_the_defaults() -> None:
    default = yaml.safe_load((configs_dir() / "default.yaml").read_text())
    assert "precision" not in default["trainer"]
    assert "plugins" not in default["trainer"]


@pytest.mark.parametrize("name", FILES)
def test_a_shipped_config_parses(name: str) -> None:
    found = parsed("fit", "--config", configs_dir() / name)
    assert found["model"]["class_path"] == "quantlit.tasks.ForecastTask"
    assert list(found["model"]["init_args"]["loss"]["init_args"]["terms"]) == ["mse", "rank"]


@pytest.mark.parametrize("name", OVERLAYS)
def test_an_overlay_changes_what_it_names_and_nothing_else(
    name: str, plain: dict[str, Any], tiny_config: Path
) -> None:
    overlay = configs_dir() / "overlays" / name
    found = parsed("fit", "--config", tiny_config, "--config", overlay)
    said = json.loads(json.dumps(yaml.safe_load(overlay.read_text()), default=str))
    _check_changes(plain, found, said)


def _check_changes(plain: Any, found: Any, said: Any) -> None:
    """What is said holds, and everything else is as it was."""
    assert set(said) <= set(found)
    for key, value in found.items():
        if key not in said:
            assert value == plain[key]
        elif isinstance(value, dict) and "class_path" not in said[key]:
            _check_changes(plain[key], value, said[key])
        elif isinstance(value, dict):
            assert value["class_path"] == said[key]["class_path"]
            assert said[key]["init_args"].items() <= value["init_args"].items()
        else:
            assert value == said[key]


def test_a_list_replaces_and_a_plus_appends(tiny_config: Path, tmp_path: Path) -> None:
    entry = [{"class_path": "lightning.pytorch.callbacks.TQDMProgressBar"}]
    replaced = write(tmp_path / "replace.yaml", {"trainer": {"callbacks": entry}})
    appended = write(tmp_path / "append.yaml", {"trainer": {"callbacks+": entry}})
    assert _classes(parsed("fit", "--config", tiny_config, "--config", replaced)) == [
        "TQDMProgressBar"
    ]
    found = _classes(parsed("fit", "--config", tiny_config, "--config", appended))
    assert len(found) == 9
    assert found[-1] == "TQDMProgressBar"


def test_short_class_names_are_enough(tiny_store: Path) -> None:
    loss = {"terms": {"mse": {"weight": 1.0, "loss": {"class_path": "MaskedMSE"}}}}
    found = parsed(
        "fit",
        *("--model", "ForecastTask", "--model.forecaster", "LSTMForecaster"),
        *("--model.loss", "CompositeLoss"),
        *("--model.loss.init_args.terms", yaml.safe_dump(loss["terms"], default_flow_style=True)),
        *("--data", "PanelDataModule", "--data.panel", tiny_store),
        *("--data.split.train", "[2020-01-01, 2020-03-01]"),
        *("--data.split.valid", "[2020-03-02, 2020-04-01]"),
        *("--data.split.test", "[2020-04-02, 2020-05-01]"),
    )
    assert found["model"]["class_path"] == "quantlit.tasks.ForecastTask"
    assert found["data"]["class_path"] == "quantlit.datamodules.PanelDataModule"
    forecaster = found["model"]["init_args"]["forecaster"]
    assert forecaster["class_path"] == "quantlit.forecasters.LSTMForecaster"


def test_the_optimizer_belongs_to_the_task_alone(
    tiny_config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # with Lightning's own `auto_configure_optimizers` this would replace the task's, and its
    # scheduler would step by the epoch
    assert run("fit", "--config", tiny_config, "--optimizer", "Adam") == 2
    assert "unrecognized arguments: --optimizer Adam" in capsys.readouterr().err


def test_precision_beside_a_precision_plugin_is_refused(
    tiny_config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin = "[{class_path: lightning.pytorch.plugins.precision.HalfPrecision}]"
    arguments = ["--trainer.precision", "32-true", "--trainer.plugins", plugin]
    assert run("fit", "--config", tiny_config, *arguments) == 1
    assert "Received both `precision=32-true` and `plugins=" in capsys.readouterr().err


def test_a_precision_plugin_alone_runs(tiny_store: Path, tmp_path: Path) -> None:
    plugin = {
        "class_path": "lightning.pytorch.plugins.precision.MixedPrecision",
        "init_args": {"precision": "bf16-mixed", "device": "cpu"},
    }
    settings = config(tiny_store, tmp_path, trainer__plugins=[plugin], trainer__callbacks=[])
    settings["trainer"]["limit_train_batches"] = settings["trainer"]["max_epochs"] = 1
    assert run("fit", "--config", write(tmp_path / "plugin.yaml", settings)) == 0


@pytest.mark.parametrize("name", ["cpu.yaml", "bf16.yaml"])
def test_an_overlay_for_the_cpu_runs(name: str, tiny_config: Path, tmp_path: Path) -> None:
    code = run(
        "fit",
        *("--config", tiny_config, "--config", configs_dir() / "overlays" / name),
        *("--trainer.logger.init_args.save_dir", tmp_path, "--trainer.callbacks", "[]"),
        *("--trainer.max_epochs", "1", "--trainer.limit_train_batches", "2"),
    )
    assert code == 0
