"""Kernel of each window's quantiles, and of the present value's rank in it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quantlit.features.alpha.bar_kernels import Columns
from quantlit.features.alpha.cells import Features, put
from quantlit.features.kernels import compiled

Array = npt.NDArray[np.float64]
UPPER, LOWER = 0.8, 0.2
"""Shares of QTLU's and QTLD's quantiles."""


@compiled
def fill_orders(x: Array, scale: Array, windows: Columns, columns: Columns, out: Features) -> None:
    """Quantiles of each window and the rank of its present value.

    Each window is kept in order as it moves: a value is taken out and one put in. No rounding is
    in that, so a window's state is a matter of its own values alone.

    Args:
        x: ``[N, T]`` values, oldest bar first.
        scale: ``[N, T]`` denominators of the quantiles.
        windows: ``[W]`` bars in each window.
        columns: ``[3, W]`` where go the quantile at 0.8 and at 0.2 (linear between two values), and
            the share of known values at or below the present one (ties at their mean rank).
        out: ``[R, N, F]`` for the last R bars.
    """
    n_assets, n_bars = x.shape
    skipped = n_bars - len(out)
    for i in range(n_assets):
        for w in range(len(windows)):
            ordered = np.empty(windows[w])
            n = 0
            begin = max(0, skipped - windows[w] + 1)
            for row in range(begin, n_bars):
                gone = row - windows[w]
                if gone >= begin and x[i, gone] == x[i, gone]:
                    n = _remove(ordered, n, x[i, gone])
                value = x[i, row]
                if value == value:
                    n = _insert(ordered, n, value)
                t = row - skipped
                if t >= 0:
                    unit = scale[i, row]
                    put(out, t, i, columns[0, w], _quantile(ordered, n, UPPER) / unit)
                    put(out, t, i, columns[1, w], _quantile(ordered, n, LOWER) / unit)
                    put(out, t, i, columns[2, w], _rank(ordered, n, value))


@compiled
def _place(ordered: Array, n: int, value: float) -> int:
    """How many of the first n values are below ``value``."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _insert(ordered: Array, n: int, value: float) -> int:
    """Put a value in; the new number of values."""
    place = _place(ordered, n, value)
    for k in range(n, place, -1):
        ordered[k] = ordered[k - 1]
    ordered[place] = value
    return n + 1


@compiled
def _remove(ordered: Array, n: int, value: float) -> int:
    """Take a value out that is there; the new number of values."""
    for k in range(_place(ordered, n, value), n - 1):
        ordered[k] = ordered[k + 1]
    return n - 1


@compiled
def _quantile(ordered: Array, n: int, share: float) -> float:
    """Quantile of n ordered values, linear between the two nearest; NaN of none."""
    if n == 0:
        return np.nan
    place = share * (n - 1)
    low = int(place)
    high = min(low + 1, n - 1)
    return float(ordered[low] + (place - low) * (ordered[high] - ordered[low]))


@compiled
def _rank(ordered: Array, n: int, value: float) -> float:
    """Mean rank of a value that is there, over n; NaN of NaN."""
    if value != value:
        return np.nan
    below = _place(ordered, n, value)
    equal = 0
    while below + equal < n and ordered[below + equal] == value:
        equal += 1
    return (below + (equal + 1.0) / 2.0) / n
