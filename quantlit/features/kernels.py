"""Rolling kernels over bars: NaN skipped, float64 sums, and no state between windows.

Every kernel takes ``[T, N]`` float64 arrays, time-major, and looks at the rows ``t - window + 1``
to ``t`` alone. A window is summed anew from its oldest row to its newest, never updated from the
last one, so a value depends bit for bit only on the bars inside its window: garbage that has left
it, or that is still to come, leaves no rounding error behind. The inner loops run over the
contiguous asset axis, which the compiler vectorises; the GIL is released, so that runs of bars go
to threads. Windows that reach before the first row see the rows there are; ``min_count`` decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Features = npt.NDArray[np.float32]
SPREAD_FLOOR = 1e-12
"""A variance of at most this share of the squared mean is rounding, and counts as zero."""

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def compiled(kernel: Kernel) -> Kernel:
    """Compile on the first call, keep the machine code on disk, release the GIL while it runs."""
    return cast(Kernel, numba.njit(nogil=True, cache=True, error_model="numpy")(kernel))


@compiled
def last_seen(x: Array, max_age: int) -> Array:
    """The latest value at or before each row that is not NaN, at most ``max_age`` rows old.

    Args:
        x: ``[T, N]`` values.
        max_age: oldest age in rows that is still carried forward; 0 carries nothing.
    """
    n_bars, n_assets = x.shape
    out = np.empty_like(x)
    age = np.full(n_assets, max_age)
    for t in range(n_bars):
        for i in range(n_assets):
            value = x[t, i]
            if value == value:
                out[t, i] = value
                age[i] = 0
            elif age[i] < max_age:
                out[t, i] = out[t - 1, i]
                age[i] += 1
            else:
                out[t, i] = np.nan
    return out


@compiled
def rolling_mean(x: Array, window: int, min_count: int) -> Array:
    """Mean of the values in each window; NaN where fewer than ``min_count`` are known.

    Args:
        x: ``[T, N]`` values.
        window: rows in a window, the present one included.
        min_count: known values that a window needs.
    """
    n_bars, n_assets = x.shape
    out = np.empty_like(x)
    count = np.empty(n_assets)
    for t in range(n_bars):
        _mean_row(x, t, window, out[t], count)
        for i in range(n_assets):
            if count[i] < min_count:
                out[t, i] = np.nan
    return out


@compiled
def rolling_std(x: Array, window: int, min_count: int) -> Array:
    """Sample standard deviation (``ddof=1``) in each window, by two passes.

    Args:
        x: ``[T, N]`` values.
        window: rows in a window, the present one included.
        min_count: known values that a window needs; at least 2.
    """
    n_bars, n_assets = x.shape
    out = np.empty_like(x)
    mean = np.empty(n_assets)
    count = np.empty(n_assets)
    squares = np.empty(n_assets)
    for t in range(n_bars):
        _mean_row(x, t, window, mean, count)
        squares[:] = 0.0
        for s in range(max(0, t - window + 1), t + 1):
            for i in range(n_assets):
                gap = x[s, i] - mean[i]
                squares[i] += gap * gap if gap == gap else 0.0
        for i in range(n_assets):
            known = count[i] >= max(min_count, 2)
            out[t, i] = np.sqrt(squares[i] / (count[i] - 1.0)) if known else np.nan
    return out


@compiled
def rolling_skewness(x: Array, window: int, min_count: int) -> Array:
    """Adjusted Fisher-Pearson skewness in each window; 0 where a window has no spread.

    The bias-adjusted ``n / ((n - 1)(n - 2)) * sum(((x - mean) / std)^3)`` that pandas computes.

    Args:
        x: ``[T, N]`` values.
        window: rows in a window, the present one included.
        min_count: known values that a window needs; at least 3.
    """
    n_bars, n_assets = x.shape
    out = np.empty_like(x)
    mean = np.empty(n_assets)
    count = np.empty(n_assets)
    squares = np.empty(n_assets)
    cubes = np.empty(n_assets)
    for t in range(n_bars):
        _mean_row(x, t, window, mean, count)
        squares[:] = 0.0
        cubes[:] = 0.0
        for s in range(max(0, t - window + 1), t + 1):
            for i in range(n_assets):
                gap = x[s, i] - mean[i]
                gap = gap if gap == gap else 0.0
                squares[i] += gap * gap
                cubes[i] += gap * gap * gap
        for i in range(n_assets):
            n = count[i]
            if n < max(min_count, 3):
                out[t, i] = np.nan
            elif _without_rounding(squares[i] / n, mean[i]) == 0.0:
                out[t, i] = 0.0
            else:
                variance = squares[i] / (n - 1.0)
                scale = n / ((n - 1.0) * (n - 2.0))
                out[t, i] = scale * cubes[i] / (variance * np.sqrt(variance))
    return out


@compiled
def rolling_max(x: Array, window: int, min_count: int) -> Array:
    """Largest value in each window (``-rolling_max(-x, ...)`` is the smallest).

    Args:
        x: ``[T, N]`` values.
        window: rows in a window, the present one included.
        min_count: known values that a window needs.
    """
    n_bars, n_assets = x.shape
    out = np.empty_like(x)
    largest = np.empty(n_assets)
    count = np.empty(n_assets)
    for t in range(n_bars):
        largest[:] = -np.inf
        count[:] = 0.0
        for s in range(max(0, t - window + 1), t + 1):
            for i in range(n_assets):
                value = x[s, i]
                largest[i] = value if value > largest[i] else largest[i]
                count[i] += 1.0 if value == value else 0.0
        for i in range(n_assets):
            out[t, i] = largest[i] if count[i] >= max(min_count, 1) else np.nan
    return out


@compiled
def rolling_comoments(x: Array, y: Array, window: int, min_count: int) -> Array:
    """Variances and covariance of two series in each window, over rows where both are known.

    Args:
        x: ``[T, N]`` values.
        y: ``[T, N]`` values.
        window: rows in a window, the present one included.
        min_count: pairs that a window needs; at least 2.

    Returns:
        ``[3, T, N]``: population variance of x, of y, and their covariance. A variance within
        rounding of zero (see SPREAD_FLOOR) is exactly 0.
    """
    n_bars, n_assets = x.shape
    pairs = x + y
    x = np.where(pairs == pairs, x, np.nan)
    y = np.where(pairs == pairs, y, np.nan)
    out = np.zeros((3, n_bars, n_assets))
    count = np.empty(n_assets)
    mean_x = np.empty(n_assets)
    mean_y = np.empty(n_assets)
    for t in range(n_bars):
        xx, yy, xy = out[0, t], out[1, t], out[2, t]
        _mean_row(x, t, window, mean_x, count)
        _mean_row(y, t, window, mean_y, count)
        for s in range(max(0, t - window + 1), t + 1):
            for i in range(n_assets):
                gap_x = x[s, i] - mean_x[i]
                gap_y = y[s, i] - mean_y[i]
                xx[i] += gap_x * gap_x if gap_x == gap_x else 0.0
                yy[i] += gap_y * gap_y if gap_y == gap_y else 0.0
                xy[i] += gap_x * gap_y if gap_x == gap_x else 0.0
        for i in range(n_assets):
            n = count[i] if count[i] >= max(min_count, 2) else np.nan
            xx[i] = _without_rounding(xx[i] / n, mean_x[i])
            yy[i] = _without_rounding(yy[i] / n, mean_y[i])
            xy[i] /= n
    return out


@compiled
def store(values: Array, observed: npt.NDArray[np.bool_], out: Features) -> None:
    """Write values into a column of a feature array; NaN where not observed or not finite.

    Args:
        values: ``[T, N]`` values.
        observed: ``[T, N]`` bool, the bar was really seen.
        out: ``[T, N]`` float32, a strided view.
    """
    for t in range(values.shape[0]):
        for i in range(values.shape[1]):
            value = np.float32(values[t, i])
            out[t, i] = value if observed[t, i] and np.isfinite(value) else np.float32(np.nan)


@compiled
def hide(observed: npt.NDArray[np.bool_], columns: npt.NDArray[np.int64], out: Features) -> None:
    """Make columns of a feature array NaN where a bar was not observed.

    Args:
        observed: ``[T, N]`` bool, the bar was really seen.
        columns: ``[K]`` places on the feature axis.
        out: ``[T, N, F]`` float32.
    """
    for t in range(out.shape[0]):
        for i in range(out.shape[1]):
            if not observed[t, i]:
                for column in columns:
                    out[t, i, column] = np.float32(np.nan)


@compiled
def _without_rounding(variance: float, mean: float) -> float:
    """The variance, or exactly 0 where it is within rounding of it."""
    return 0.0 if variance <= SPREAD_FLOOR * mean * mean else variance


@compiled
def _mean_row(x: Array, t: int, window: int, mean: Array, count: Array) -> None:
    """Fill ``mean [N]`` and ``count [N]`` for the window that ends at row t (0 / 0 is NaN)."""
    mean[:] = 0.0
    count[:] = 0.0
    for s in range(max(0, t - window + 1), t + 1):
        for i in range(len(mean)):
            value = x[s, i]
            mean[i] += value if value == value else 0.0
            count[i] += 1.0 if value == value else 0.0
    for i in range(len(mean)):
        mean[i] /= count[i]
