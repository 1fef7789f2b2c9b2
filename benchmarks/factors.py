"""All 158 factors of Alpha158 on csi800, beside Qlib's own: seconds, memory and values.

    python -m venv qlib_env && qlib_env/bin/pip install pyqlib==0.9.7
    QUANTLIT_DATA=... python benchmarks/factors.py --json --qlib-python qlib_env/bin/python

Qlib is no dependency of quantlit: it runs in an environment of its own, as a process of its own, on
a Qlib store that this benchmark writes of the same panel. Both compute from the disk into memory on
all CPUs, without processors, in turn; the kernels are compiled before. A panel without ``vwap``
gets (open + high + low + close) / 4 for one.

* ``qlib_ratio``: Qlib's median seconds over ours.
* ``max_rel_diff``: the largest difference from Qlib's value over that value's size or 0.1, the
  larger: below 1e-4 where every value agrees to 1e-4, or to 1e-5 of a small one.
  Left out are ``qlib_residues``: Qlib's WVMA above the square root of its window, which is more
  than the deviation of so many numbers can be over their mean. In a window without any return it is
  the rounding left in a running variance, over 1e-12; ours is 0.
* ``unequal_nan``: observed bars where a factor is NaN for one of the two alone.
* ``memory_ratio``: our peak memory over that of the result and the panel together.
* ``qlib_memory_ratio``: Qlib's peak memory over ours.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from _timing import PeakMemory, arguments, report

from quantlit.features import resolve_factors
from quantlit.features.evaluate import evaluate_factors
from quantlit.panel import (
    Panel,
    PanelSource,
    ParquetSource,
    RawPanel,
    ReturnColumn,
    build_panel,
    write_qlib,
)

FILE = "ashare_csi800_daily_2017_2019.parquet"
CORNER = 150, 20
"""Dates and assets on which the kernels are compiled."""
PRICES = ("open", "high", "low", "close")
SMALL = 0.1
"""Values below this are compared by their difference, not by the share that it is of them."""


class WithAveragePrice(PanelSource):
    """A source with ``vwap`` added as the mean price, cut to its first dates and assets."""

    def __init__(self, source: PanelSource, n_bars: int | None, n_assets: int | None) -> None:
        self.source = source
        self.n_bars, self.n_assets = n_bars, n_assets

    def load(self) -> RawPanel:
        """The source's bars with one more field."""
        raw = self.source.load()
        part = slice(self.n_bars), slice(self.n_assets)
        values = raw.values[part]
        prices = [values[:, :, raw.fields.index(field)].astype(np.float64) for field in PRICES]
        vwap = (sum(prices) / 4.0).astype(np.float32)
        return RawPanel(
            dates=raw.dates[part[0]],
            symbols=raw.symbols[part[1]],
            fields=[*raw.fields, "vwap"],
            values=np.concatenate([values, vwap[:, :, None]], axis=-1),
            observed=raw.observed[part],
        )

    def fingerprint(self) -> str:
        """The source's, and the cut."""
        return f"{self.source.fingerprint()} {self.n_bars} {self.n_assets}"


class Qlib:
    """Runs Qlib's loader in another Python and measures it."""

    def __init__(self, python: str, store: Path) -> None:
        self.command = [python, str(Path(__file__).with_name("_qlib_alpha158.py")), str(store)]

    def run(self, output: Path) -> tuple[float, int]:
        """Seconds of the loader, and the bytes by which its processes grew in that time."""
        environment = {**os.environ, "OMP_NUM_THREADS": str(os.cpu_count())}
        with subprocess.Popen(
            [*self.command, str(output)], stdout=subprocess.PIPE, text=True, env=environment
        ) as process:
            assert process.stdout is not None
            lines = iter(process.stdout)
            while (line := next(lines, "")).strip() != "ready":
                if not line:
                    raise SystemExit(f"Qlib did not start: {' '.join(self.command)}")
            start = peak = tree_bytes(process.pid)
            stop = threading.Event()
            found: list[str] = []

            def read() -> None:
                found.append(next(lines, ""))
                stop.set()

            threading.Thread(target=read, daemon=True).start()
            while not stop.wait(0.05):
                peak = max(peak, tree_bytes(process.pid))
        if process.returncode:
            raise SystemExit(f"Qlib failed with exit code {process.returncode}.")
        return float(found[0]), peak - start


def tree_bytes(pid: int) -> int:
    """Anonymous memory of a process and its descendants, shared pages counted once (Linux)."""
    total = 0
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss_Anon"):
                total = int(line.split()[1]) * 1024
        for task in Path(f"/proc/{pid}/task").iterdir():
            total += sum(
                tree_bytes(int(child)) for child in (task / "children").read_text().split()
            )
    except OSError:  # it has ended meanwhile
        return total
    return total


def ours(panel: Panel) -> tuple[npt.NDArray[np.float32], float, int]:
    """The values, the seconds, and the bytes that it took, the result's among them."""
    factors = resolve_factors(["alpha158"], panel.fields)
    with PeakMemory() as memory:
        start = time.perf_counter()
        values = evaluate_factors(panel, factors)
        seconds = time.perf_counter() - start
    return values, seconds, memory.growth


def compare(panel: Panel, values: npt.NDArray[np.float32], output: Path) -> dict[str, Any]:
    """How far our values are from Qlib's on the bars that were observed."""
    axes = json.loads(output.with_suffix(".json").read_text())
    factors = resolve_factors(["alpha158"], panel.fields)
    assert [factor.name for factor in factors] == axes["factors"]
    shape = tuple(len(axes[axis]) for axis in ("dates", "symbols", "factors"))
    theirs = np.memmap(output, np.float32, "r", shape=shape)
    places = {symbol.lower(): place for place, symbol in enumerate(axes["symbols"])}
    order = [places[symbol.lower()] for symbol in panel.symbols]
    worst, unequal, residues = 0.0, 0, 0
    for column, factor in enumerate(factors):
        wanted = theirs[:, :, column][:, order].astype(np.float64)
        wanted[~panel.observed | np.isinf(wanted)] = np.nan
        found = values[:, :, column].astype(np.float64)
        unequal += int((np.isnan(wanted) != np.isnan(found)).sum())
        if factor.name.startswith("WVMA"):
            impossible = wanted > np.sqrt(factor.lookback) + 1e-3
            residues += int(impossible.sum())
            wanted[impossible] = np.nan
        difference = np.abs(found - wanted) / np.maximum(np.abs(wanted), SMALL)
        worst = max(worst, float(np.nanmax(difference)))
    return {"max_rel_diff": worst, "unequal_nan": unequal, "qlib_residues": residues}


def measure(folder: Path, qlib_python: str, rounds: int, quick: bool) -> dict[str, Any]:
    """Both in turn, and their figures."""
    path = Path(os.environ["QUANTLIT_DATA"]) / FILE
    source = ParquetSource(str(path), returns=ReturnColumn(column="p_change", unit="percent"))
    corner = build_panel(WithAveragePrice(source, *CORNER), folder / "corner")
    panel = build_panel(WithAveragePrice(source, None, None), folder / "panel")
    panel = corner if quick else panel
    qlib = Qlib(qlib_python, write_qlib(panel, folder / "qlib"))
    ours(corner)  # compile the kernels
    seconds, qlib_seconds, peaks, qlib_peaks = [], [], [], []
    for _ in range(rounds):
        for _ in range(3):
            values, taken, grown = ours(panel)
            seconds.append(taken)
            peaks.append(grown)
        taken, grown = qlib.run(folder / "alpha158.bin")
        qlib_seconds.append(taken)
        qlib_peaks.append(grown)
    held = values.nbytes + panel.values.nbytes + panel.observed.nbytes
    return {
        "seconds": statistics.median(seconds),
        "qlib_seconds": statistics.median(qlib_seconds),
        "megabytes": max(peaks) / 1e6,
        "qlib_megabytes": max(qlib_peaks) / 1e6,
        "qlib_ratio": statistics.median(qlib_seconds) / statistics.median(seconds),
        "memory_ratio": max(peaks) / held,
        "qlib_memory_ratio": max(qlib_peaks) / max(peaks),
        **compare(panel, values, folder / "alpha158.bin"),
    }


def main() -> None:
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument(
        "--qlib-python", required=True, help="a Python with pyqlib, in an environment of its own"
    )
    parser.add_argument("--rounds", type=int, default=2, help="runs of Qlib")
    parser.add_argument("--quick", action="store_true", help="a corner of the panel")
    args = parser.parse_args()
    if "QUANTLIT_DATA" not in os.environ:
        parser.error(f"set QUANTLIT_DATA to the folder with {FILE}")
    if shutil.which(args.qlib_python) is None:
        parser.error(f"--qlib-python {args.qlib_python} is no program")
    torch.set_num_threads(os.cpu_count() or 1)
    with tempfile.TemporaryDirectory() as temporary:
        figures = measure(Path(temporary), args.qlib_python, args.rounds, args.quick)
    report(figures, args.json)


if __name__ == "__main__":
    main()
