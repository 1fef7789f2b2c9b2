"""Building a store of two million rows, beside pandas that only reads and sorts them.

    python benchmarks/prepare.py --json

A made-up market of 3,724 assets and 612 dates (one bar in eight is missing) lies in one Parquet
file, sorted by asset. Each candidate runs in a process of its own:

* ``time_ratio``: ``build_panel`` from the file to the finished store, checksums and flushing to the
  disk included, over ``pandas.read_parquet`` and ``sort_values`` by date and symbol.
* ``memory_ratio``: peak growth of anonymous memory while building, over the bytes of the panel's
  values. ``pandas_memory_ratio`` is the same of the other candidate.
* ``append_ratio``: adding the last twelve dates to a store of the 600 before, over building all
  612. The result is compared with the whole build's, bit for bit.
"""

from __future__ import annotations

import multiprocessing
import shutil
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
from _timing import PeakMemory, arguments, report

from quantlit.panel import Panel, ParquetSource, append_panel, build_panel

N_DATES, NEW_DATES = 612, 12


def write_market(path: Path, n_assets: int) -> None:
    """Bars of a made-up market, asset after asset."""
    rng = np.random.default_rng(0)
    asset, bar = np.nonzero(rng.random((n_assets, N_DATES)) > 0.125)
    symbols = np.array([f"{number:06d}.SZ" for number in range(n_assets)])
    close = 10.0 * np.exp(np.cumsum(0.02 * rng.standard_normal((n_assets, N_DATES)), axis=1))
    close = close[asset, bar]
    frame = pd.DataFrame(
        {
            "date": pd.bdate_range("2020-01-01", periods=N_DATES)[bar],
            "symbol": symbols[asset],
            "open": close * 0.99,
            "high": close * 1.02,
            "low": close * 0.98,
            "close": close,
            "volume": rng.integers(1_000, 1_000_000, len(close)).astype(np.float64),
            "amount": close * 1e6,
        }
    )
    frame.to_parquet(path, index=False)
    days = np.sort(frame["date"].unique())
    late = frame["date"] >= days[-NEW_DATES]
    frame[~late].to_parquet(path.with_name("early.parquet"), index=False)
    frame[late].to_parquet(path.with_name("late.parquet"), index=False)


def measured(work: Callable[[Path], object], folder: Path) -> tuple[float, int]:
    """Seconds and bytes of peak growth of some work, in a fresh process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measure, work, folder).result()


def _measure(work: Callable[[Path], object], folder: Path) -> tuple[float, int]:
    with PeakMemory() as memory:
        start = time.perf_counter()
        work(folder)
        seconds = time.perf_counter() - start
    return seconds, memory.growth


def read_and_sort(folder: Path) -> None:
    """What every script does first."""
    pd.read_parquet(folder / "market.parquet").sort_values(["date", "symbol"])


def build(folder: Path) -> None:
    """The whole store."""
    build_panel(ParquetSource(str(folder / "market.parquet")), folder / "store", overwrite=True)


def append(folder: Path) -> None:
    """The last dates onto a store of those before."""
    append_panel(ParquetSource(str(folder / "late.parquet")), folder / "grown")


def main() -> None:
    """Measure and report."""
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="100 assets, to see that it runs")
    args = parser.parse_args()
    n_assets, rounds = (100, 1) if args.quick else (3_724, 3)
    folder = Path(tempfile.mkdtemp())
    try:
        write_market(folder / "market.parquet", n_assets)
        figures: dict[str, list[tuple[float, int]]] = {"pandas": [], "build": [], "append": []}
        for _ in range(rounds):
            figures["pandas"].append(measured(read_and_sort, folder))
            figures["build"].append(measured(build, folder))
            build_panel(
                ParquetSource(str(folder / "early.parquet")), folder / "grown", overwrite=True
            )
            figures["append"].append(measured(append, folder))
        panel = Panel.open(folder / "store", verify=True)
        grown = Panel.open(folder / "grown", verify=True)
        assert grown.checksum == panel.checksum
        seconds = {name: float(np.median([s for s, _ in runs])) for name, runs in figures.items()}
        memory = {name: float(np.median([m for _, m in runs])) for name, runs in figures.items()}
        bytes_ = panel.values.nbytes
        print(f"{int(panel.observed.sum()):,} rows, {len(panel.symbols)} x {len(panel.dates)}")
        for name, value in seconds.items():
            print(f"{name:>10} {value:6.2f} s {memory[name] / 2**20:8,.0f} MiB")
        result = {
            "time_ratio": seconds["build"] / seconds["pandas"],
            "memory_ratio": memory["build"] / bytes_,
            "pandas_memory_ratio": memory["pandas"] / bytes_,
            "append_ratio": seconds["append"] / seconds["build"],
        }
        report(result, args.json)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
