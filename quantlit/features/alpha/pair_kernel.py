"""Kernel of the correlation of two series in each window."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quantlit.features.alpha.bar_kernels import Columns
from quantlit.features.alpha.cells import Features, put
from quantlit.features.alpha.line_kernel import FLAT
from quantlit.features.kernels import compiled

Array = npt.NDArray[np.float64]


@compiled
def fill_correlations(
    x: Array, y: Array, windows: Columns, columns: Columns, out: Features
) -> None:
    """Pearson correlation over the bars of each window where both are known, all in one pass.

    Sums are of distances from the newest pair (see ``fill_lines``). NaN where the standard
    deviation of either series, taken over all that is known of it, is at most FLAT.

    Args:
        x: ``[N, T]`` values, oldest bar first.
        y: ``[N, T]`` values.
        windows: ``[W]`` bars in each window, in rising order.
        columns: ``[1, W]`` where they go.
        out: ``[R, N, F]`` for the last R bars.
    """
    n_assets, n_bars = x.shape
    skipped = n_bars - len(out)
    for i in range(n_assets):
        for t in range(len(out)):
            present = skipped + t
            base_x, base_y = np.nan, np.nan
            n, gx, gy, xx, yy, xy = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            lone_x, lone_y = (0.0, 0.0, 0.0, np.nan), (0.0, 0.0, 0.0, np.nan)
            age = 0
            for w in range(len(windows)):
                while age < min(windows[w], present + 1):
                    a, b = x[i, present - age], y[i, present - age]
                    if a == a and b == b:
                        if n == 0.0:
                            base_x, base_y = a, b
                        n += 1.0
                        gx += a - base_x
                        gy += b - base_y
                        xx += (a - base_x) * (a - base_x)
                        yy += (b - base_y) * (b - base_y)
                        xy += (a - base_x) * (b - base_y)
                    lone_x = _with(lone_x, a)
                    lone_y = _with(lone_y, b)
                    age += 1
                spread = (n * xx - gx * gx) * (n * yy - gy * gy)
                value = (n * xy - gx * gy) / np.sqrt(spread)
                flat = _deviation(lone_x) <= FLAT or _deviation(lone_y) <= FLAT
                put(out, t, i, columns[0, w], np.nan if flat else value)


@compiled
def _with(
    sums: tuple[float, float, float, float], value: float
) -> tuple[float, float, float, float]:
    """Count, sum and squares of distances from the first value, and that value; one more."""
    n, total, squares, base = sums
    if value != value:
        return sums
    base = value if n == 0.0 else base
    gap = value - base
    return n + 1.0, total + gap, squares + gap * gap, base


@compiled
def _deviation(sums: tuple[float, float, float, float]) -> float:
    """Sample standard deviation (``ddof=1``); NaN of fewer than two values."""
    n, total, squares, _ = sums
    return float(np.sqrt(max(n * squares - total * total, 0.0) / n / (n - 1.0)))
