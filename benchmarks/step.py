"""A training step of ``quantlit fit`` beside that of a bare PyTorch loop; one pass beside windows.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/step.py --json

The same LSTM (2 x 64, W = 60, F = 20), loss (0.7 MSE + 0.3 soft Spearman), label standardisation,
AdamW and gradient clipping on blocks of about 4,000 windows. The fit runs from
``configs/default.yaml`` with all its callbacks, the logger and the bar; the bare loop's batches are
made before it starts. The two take one step each in turn, so that the machine's noise hits both
alike.

* ``windowed_step_ratio``, ``onepass_step_ratio``: time of the fit's step over the bare loop's.
* ``onepass_speedup``: windows per second of the fit in one pass over blocks of 64 dates, over those
  of the windowed fit.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import yaml
from _beside import Beside
from _market import FACTORS, date_ranges, make_store
from _timing import arguments, report

from quantlit.cli.lightning import run_trainer

WINDOW = 60
INTERVAL = 10
"""Steps between two logs, as in default.yaml."""
EPOCH = 2
"""Intervals in an epoch; the validation between two epochs is left out."""


@dataclass
class StepTimes:
    """Typical seconds of a step, and the windows in it."""

    fit: float
    bare: float
    windows: int

    @property
    def ratio(self) -> float:
        """The fit's step over the bare loop's."""
        return self.fit / self.bare


def config(store: Path, folder: Path, *, one_pass: bool, block: int) -> Path:
    """What default.yaml leaves open."""
    terms = {
        "mse": {"weight": 0.7, "loss": {"class_path": "MaskedMSE"}},
        "rank": {
            "weight": 0.3,
            "loss": {"class_path": "SoftSpearmanLoss", "init_args": {"temperature": 0.2}},
        },
    }
    content = {
        "trainer": {
            "accelerator": "cpu",
            "logger": {
                "class_path": "TensorBoardLogger",
                "init_args": {"save_dir": str(folder), "default_hp_metric": False},
            },
        },
        "data": {
            "class_path": "PanelDataModule",
            "init_args": {
                "panel": str(store),
                "split": {name: list(bounds) for name, bounds in date_ranges(store).items()},
                "factors": FACTORS,
                "transforms": [
                    {"class_path": "CrossSectionalRankGaussian"},
                    {"class_path": "Imputer"},
                ],
                "window": WINDOW,
                "block": block,
            },
        },
        "model": {
            "class_path": "ForecastTask",
            "init_args": {
                "forecaster": {
                    "class_path": "LSTMForecaster",
                    "init_args": {"hidden_size": 64, "num_layers": 2, "one_pass": one_pass},
                },
                "loss": {"class_path": "CompositeLoss", "init_args": {"terms": terms}},
                "optimizer": {"class_path": "torch.optim.AdamW", "init_args": {"lr": 1e-3}},
                "scheduler": {"class_path": "LinearWarmup", "init_args": {"fraction": 0.1}},
            },
        },
    }
    path = folder / f"one_pass_{one_pass}_{block}.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def measure(path: Path, epochs: int) -> StepTimes:
    """Fit for some epochs with the bare loop beside; the first interval is to warm up."""
    with Path(os.devnull).open("w") as null, contextlib.redirect_stdout(null):
        cli = run_trainer(
            [
                "fit",
                f"--config={path}",
                f"--trainer.limit_train_batches={INTERVAL * EPOCH}",
                f"--trainer.max_epochs={epochs}",
                f"--trainer.min_epochs={epochs}",  # no early stop
                "--trainer.callbacks+=_beside.Beside",
            ]
        )
    [beside] = [callback for callback in cli.trainer.callbacks if isinstance(callback, Beside)]
    block, assets = cli.datamodule.block, len(cli.datamodule.panel.symbols)
    return StepTimes(typical(beside.fit), typical(beside.bare), block * assets)


def typical(seconds: list[float]) -> float:
    """Seconds of a step: medians over the logging intervals of each of an interval's steps.

    A plain median would leave out what happens once in an interval.
    """
    intervals = np.reshape(seconds, (-1, INTERVAL))[1:]
    return statistics.mean(np.nanmedian(intervals, axis=0).tolist())


def main() -> None:
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--folder", type=Path, help="keep the panel here; default: nowhere")
    args = parser.parse_args()
    assets, dates = (12, 1600) if args.quick else (300, 2500)
    torch.set_num_threads(os.cpu_count() or 1)
    with tempfile.TemporaryDirectory() as temporary:
        runs = Path(temporary)
        store = make_store(args.folder or runs, assets, dates)
        results = {
            name: measure(
                config(store, runs, one_pass=one_pass, block=block), 1 if args.quick else epochs
            )
            for name, one_pass, block, epochs in (
                ("windowed, D = 14", False, 14, 2),
                ("one pass, D = 14", True, 14, 10),
                ("one pass, D = 64", True, 64, 4),
            )
        }
    print(f"{'':<20}{'windows':>9}{'fit ms':>10}{'bare ms':>10}{'ratio':>8}{'windows/s':>12}")
    for name, times in results.items():
        print(
            f"{name:<20}{times.windows:>9,}{times.fit * 1e3:>10.1f}{times.bare * 1e3:>10.1f}"
            f"{times.ratio:>8.3f}{times.windows / times.fit:>12,.0f}"
        )
    windowed, one_pass, long = results.values()
    report(
        {
            "windowed_step_ratio": windowed.ratio,
            "onepass_step_ratio": one_pass.ratio,
            "onepass_speedup": long.windows / long.fit * windowed.fit / windowed.windows,
        },
        args.json,
    )


if __name__ == "__main__":
    main()
