"""From raw Parquet to the first training step: csi800 with the spine's factors and with Alpha158.

    QUANTLIT_DATA=... python benchmarks/first_step.py --json

Each figure is of a process of its own that runs ``quantlit fit`` until the first training step is
done, counted from the process's start, imports included. ``cold``: neither the panel store, nor the
factors, nor numba's compiled kernels are there. ``built``: the kernels are, as on a user's second
panel. ``cached``: all are. ``import_seconds`` is what a process takes that only imports.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from _timing import arguments, report

from quantlit.cli.configs import configs_dir

FACTORS = {"price_volume": "[price_volume]", "alpha158": "[alpha158_ohlc4]"}

CHILD = """
import os, sys, time
from lightning import Callback

class Stop(Callback):
    def on_train_batch_end(self, *args):
        print(time.time(), flush=True)
        os._exit(0)

from quantlit.cli.lightning import run_trainer
Stop.__module__ = "__main__"
if len(sys.argv) > 1:
    run_trainer([*sys.argv[1:], "--trainer.callbacks+=__main__.Stop"])
print(time.time(), flush=True)
"""


def seconds(folder: Path, kernels: Path, options: list[str]) -> float:
    """Seconds from a process's start to the end of its first step."""
    start = time.time()
    run = subprocess.run(
        [sys.executable, "-c", CHILD, *options],
        cwd=folder,
        env=os.environ | {"NUMBA_CACHE_DIR": str(kernels)},
        capture_output=True,
        text=True,
    )
    if run.returncode != 0:
        raise RuntimeError(run.stderr)
    return float(run.stdout.splitlines()[-1]) - start


def options(factors: str) -> list[str]:
    """The spine's config with some factors."""
    return [
        "fit",
        f"--config={configs_dir() / 'csi800_lstm.yaml'}",
        f"--data.init_args.factors={factors}",
    ]


def main() -> None:
    """Measure and report."""
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="each once, and price_volume only")
    args = parser.parse_args()
    if "QUANTLIT_DATA" not in os.environ:
        parser.error("set QUANTLIT_DATA to the folder with ashare_csi800_daily_2017_2019.parquet")
    rounds, names = (1, list(FACTORS)[:1]) if args.quick else (3, list(FACTORS))
    runs: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        runs["import"] = [seconds(Path(folder), Path(folder), []) for _ in range(rounds)]
        for name in names:
            kernels = Path(folder) / f"{name}-kernels"
            for number, states in enumerate([["cold"], *[["built", "cached"]] * rounds]):
                place = Path(folder) / f"{name}-{number}"
                place.mkdir()
                for state in states:
                    runs[f"{name}_{state}"].append(seconds(place, kernels, options(FACTORS[name])))
    report({f"{name}_seconds": float(np.median(taken)) for name, taken in runs.items()}, args.json)


if __name__ == "__main__":
    main()
