"""Shared by the benchmarks: interleaved timing, peak memory, and the closing JSON line."""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np


def arguments(description: str) -> argparse.ArgumentParser:
    """A parser with the ``--json`` switch that every benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="print one JSON object last")
    return parser


def interleaved(
    candidates: dict[str, Callable[[], object]], rounds: int, quantile: float = 0.5
) -> dict[str, float]:
    """Seconds of each candidate, run in turn so that the machine's noise hits all alike.

    Args:
        candidates: what to time, by name.
        rounds: how often each is run, after once to warm up.
        quantile: of a candidate's times. The median by default; 0.1 for what takes milliseconds,
            where other work on the machine only ever adds time and a tenth of the runs escape it.
    """
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for candidate in candidates.values():
        candidate()  # warm-up
    for _ in range(rounds):
        for name, candidate in candidates.items():
            start = time.perf_counter()
            candidate()
            seconds[name].append(time.perf_counter() - start)
    return {name: float(np.quantile(values, quantile)) for name, values in seconds.items()}


def anonymous_bytes() -> int:
    """Memory of this process that no file backs (Linux)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    raise OSError("RssAnon is not in /proc/self/status")


class PeakMemory:
    """Peak growth of anonymous memory inside a ``with`` block, sampled every 5 ms."""

    def __enter__(self) -> PeakMemory:
        self.start = self.peak = anonymous_bytes()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()
        return self

    def _sample(self) -> None:
        while not self._stop.wait(0.005):
            self.peak = max(self.peak, anonymous_bytes())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()
        self.peak = max(self.peak, anonymous_bytes())

    @property
    def growth(self) -> int:
        """Bytes above the start."""
        return self.peak - self.start


def report(result: dict[str, Any], as_json: bool) -> None:
    """Print the figures, and as JSON last if asked."""
    for key, value in result.items():
        if not isinstance(value, list | dict):
            print(f"{key:>24}  {value:.4g}" if isinstance(value, float) else f"{key:>24}  {value}")
    if as_json:
        print(json.dumps(result))
