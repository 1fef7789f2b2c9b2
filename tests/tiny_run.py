"""A tiny market, a config on it, and the commands on them as a user runs them."""

from __future__ import annotations

import copy
import io
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
import yaml
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from quantlit.cli.main import main
from quantlit.datamodules import PanelDataModule
from quantlit.features import CrossSectionalRankGaussian, Imputer, LabelSpec
from quantlit.samplers import DateSplit

START, T, N, W, BLOCK = "2020-01-01", 170, 14, 6, 8
DATES = pd.bdate_range(START, periods=T)
FACTORS = ["return_1", "day_position", "volatility_5"]
HORIZONS = [1, 3]
SPLITS = ("train", "valid", "test")
PREPARE = [
    *("prepare", "--source", "SyntheticSource"),
    *("--source.n_assets", str(N), "--source.n_dates", str(T)),
    *("--source.ic", "0.6", "--source.delay", "1"),
    *("--source.start", START, "--source.missing", "0.03"),
]


def day(position: int) -> str:
    """The date at a position, as YYYY-MM-DD."""
    return str(DATES[position].date())


def split() -> DateSplit:
    """Train to 99, valid to 129, test to 169; 92, 27 and 40 decision dates are kept."""
    return DateSplit(train=(day(0), day(99)), valid=(day(100), day(129)), test=(day(130), day(169)))


def config(store: Path, runs: Path, **changes: Any) -> dict[str, Any]:
    """A whole configuration; changes are values by dotted keys with ``__`` for dots."""
    base: dict[str, Any] = {
        "trainer": {
            "max_epochs": 2,
            "accelerator": "cpu",
            "devices": 1,
            "log_every_n_steps": 1,
            "enable_progress_bar": False,
            "enable_model_summary": False,
            "logger": {
                "class_path": "TensorBoardLogger",
                "init_args": {"save_dir": str(runs), "name": "tiny", "default_hp_metric": False},
            },
        },
        "data": {
            "class_path": "PanelDataModule",
            "init_args": {
                "panel": str(store),
                "factors": FACTORS,
                "transforms": [
                    {"class_path": "quantlit.features.CrossSectionalRankGaussian"},
                    {"class_path": "quantlit.features.Imputer"},
                ],
                "label": {"horizons": HORIZONS, "delay": 1, "standardise": "zscore"},
                "split": {name: list(getattr(split(), name)) for name in SPLITS},
                "window": W,
                "block": BLOCK,
            },
        },
        "model": {
            "class_path": "ForecastTask",
            "init_args": {
                "forecaster": {
                    "class_path": "LSTMForecaster",
                    "init_args": {"hidden_size": 8, "num_layers": 1, "dropout": 0.2},
                },
                "loss": {
                    "class_path": "CompositeLoss",
                    "init_args": {
                        "terms": {
                            "mse": {"weight": 0.7, "loss": {"class_path": "MaskedMSE"}},
                            "rank": {
                                "weight": 0.3,
                                "loss": {
                                    "class_path": "SoftSpearmanLoss",
                                    "init_args": {"temperature": 0.2},
                                },
                            },
                        }
                    },
                },
                "optimizer": {"class_path": "torch.optim.AdamW", "init_args": {"lr": 1e-2}},
                "scheduler": {"class_path": "LinearWarmup", "init_args": {"fraction": 0.1}},
            },
        },
    }
    for key, value in changes.items():
        place, names = base, key.split("__")
        for name in names[:-1]:
            place = place[name]
        place[names[-1]] = value
    return base


def write(path: Path, content: dict[str, Any]) -> Path:
    """A YAML file; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(copy.deepcopy(content), sort_keys=False))
    return path


def run(*args: object) -> int:
    """A command inside this process; its exit code."""
    return main([str(arg) for arg in args])


def console(*args: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A command through the installed console script, in a process of its own."""
    script = Path(sys.executable).with_name("quantlit")
    return subprocess.run(
        [str(script), *map(str, args)], cwd=cwd, capture_output=True, text=True, timeout=240
    )


def parsed(*args: object) -> dict[str, Any]:
    """The configuration that a command would run with, all defaults filled in."""
    said = io.StringIO()
    with pytest.raises(SystemExit) as stopped, redirect_stdout(said):
        run(*args, "--print_config")
    assert stopped.value.code == 0
    found: dict[str, Any] = yaml.safe_load(said.getvalue())
    return found


def load_checkpoint(path: Path) -> dict[str, Any]:
    """A checkpoint, by the loader that runs no code."""
    checkpoint: dict[str, Any] = torch.load(path, weights_only=True, map_location="cpu")
    return checkpoint


def datamodule(store: Path, **changes: Any) -> PanelDataModule:
    """The datamodule of the config, built from Python."""
    settings: dict[str, Any] = {
        "panel": str(store),
        "factors": FACTORS,
        "transforms": [CrossSectionalRankGaussian(), Imputer()],
        "label": LabelSpec(horizons=HORIZONS, delay=1),
        "split": split(),
        "window": W,
        "block": BLOCK,
    }
    return PanelDataModule(**{**settings, **changes})


def scalars(run_folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Every scalar of a run's event files by tag, as (step, value)."""
    events = EventAccumulator(str(run_folder), size_guidance={"scalars": 0})
    events.Reload()
    return {
        tag: [(event.step, event.value) for event in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
    }
