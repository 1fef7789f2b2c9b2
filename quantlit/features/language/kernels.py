"""Rolling kernels of the language: stateless, NaN skipped, as in ``quantlit.features.kernels``.

Every kernel takes ``[T, N]`` float64 arrays and looks at the rows ``t - window + 1`` to ``t``
alone, from the oldest to the newest; windows that reach before the first row see the rows there
are, and ``min_count`` decides.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quantlit.features.kernels import SPREAD_FLOOR, compiled

Array = npt.NDArray[np.float64]


@compiled
def rolling_count(x: Array, window: int) -> Array:
    """How many values of each window are known.

    Args:
        x: ``[T, N]`` values.
        window: rows in a window, the present one included.
    """
    n_bars, n_assets = x.shape
    out = np.zeros((n_bars, n_assets))
    for t in range(n_bars):
        for s in range(max(0, t - window + 1), t + 1):
            for i in range(n_assets):
                out[t, i] += 1.0 if x[s, i] == x[s, i] else 0.0
    return out


@compiled
def rolling_product(x: Array, window: int, min_count: int) -> Array:
    """Product of the known values of each window.

    Args:
        x: ``[T, N]`` values.
        window: rows in a window, the present one included.
        min_count: known values that a window needs.
    """
    n_bars, n_assets = x.shape
    out = np.ones((n_bars, n_assets))
    count = np.empty(n_assets)
    for t in range(n_bars):
        count[:] = 0.0
        for s in range(max(0, t - window + 1), t + 1):
            for i in range(n_assets):
                value = x[s, i]
                out[t, i] *= value if value == value else 1.0
                count[i] += 1.0 if value == value else 0.0
        for i in range(n_assets):
            if count[i] < max(min_count, 1):
                out[t, i] = np.nan
    return out


@compiled
def rolling_weighted(x: Array, weights: Array, min_count: int) -> Array:
    """Weighted mean of each window, the weights of unknown values left out of both sums.

    Args:
        x: ``[T, N]`` values.
        weights: ``[window]`` positive weights by age, the present row's first.
        min_count: known values that a window needs.
    """
    n_bars, n_assets = x.shape
    window = len(weights)
    out = np.zeros((n_bars, n_assets))
    total = np.empty(n_assets)
    count = np.empty(n_assets)
    for t in range(n_bars):
        total[:] = 0.0
        count[:] = 0.0
        for s in range(max(0, t - window + 1), t + 1):
            weight = weights[t - s]
            for i in range(n_assets):
                value = x[s, i]
                known = value == value
                out[t, i] += weight * value if known else 0.0
                total[i] += weight if known else 0.0
                count[i] += 1.0 if known else 0.0
        for i in range(n_assets):
            known = count[i] >= max(min_count, 1)
            out[t, i] = out[t, i] / total[i] if known else np.nan
    return out


@compiled
def rolling_slope(x: Array, window: int, min_count: int) -> Array:
    """Slope of a least-squares line through the known values of each window, per row.

    Args:
        x: ``[T, N]`` values.
        window: rows in a window, the present one included.
        min_count: known values that a window needs; at least 2.
    """
    n_bars, n_assets = x.shape
    out = np.empty((n_bars, n_assets))
    mean_x, mean_s = np.empty(n_assets), np.empty(n_assets)
    count, ss, sx = np.empty(n_assets), np.empty(n_assets), np.empty(n_assets)
    for t in range(n_bars):
        first = max(0, t - window + 1)
        mean_x[:], mean_s[:], count[:], ss[:], sx[:] = 0.0, 0.0, 0.0, 0.0, 0.0
        for s in range(first, t + 1):
            for i in range(n_assets):
                value = x[s, i]
                known = value == value
                mean_x[i] += value if known else 0.0
                mean_s[i] += float(s - t) if known else 0.0
                count[i] += 1.0 if known else 0.0
        for i in range(n_assets):
            mean_x[i] /= count[i]
            mean_s[i] /= count[i]
        for s in range(first, t + 1):
            for i in range(n_assets):
                value = x[s, i]
                gap = float(s - t) - mean_s[i] if value == value else 0.0
                ss[i] += gap * gap
                sx[i] += gap * (value - mean_x[i]) if value == value else 0.0
        for i in range(n_assets):
            out[t, i] = sx[i] / ss[i] if count[i] >= max(min_count, 2) else np.nan
    return out


@compiled
def rolling_age_of_max(x: Array, window: int, min_count: int) -> Array:
    """Rows since the largest value of each window, the latest of equal ones; 0 is the present row.

    Args:
        x: ``[T, N]`` values.
        window: rows in a window, the present one included.
        min_count: known values that a window needs.
    """
    n_bars, n_assets = x.shape
    out = np.empty((n_bars, n_assets))
    largest = np.empty(n_assets)
    count = np.empty(n_assets)
    for t in range(n_bars):
        largest[:] = -np.inf
        count[:] = 0.0
        for s in range(max(0, t - window + 1), t + 1):
            for i in range(n_assets):
                value = x[s, i]
                if value >= largest[i]:
                    largest[i] = value
                    out[t, i] = t - s
                count[i] += 1.0 if value == value else 0.0
        for i in range(n_assets):
            if count[i] < max(min_count, 1):
                out[t, i] = np.nan
    return out


@compiled
def rolling_rank(x: Array, window: int, min_count: int) -> Array:
    """Rank of the present value among the known ones of its window, over their number.

    Args:
        x: ``[T, N]`` values.
        window: rows in a window, the present one included.
        min_count: known values that a window needs.

    Returns:
        ``[T, N]`` in (0, 1], ties at their mean rank; NaN where the present value is unknown.
    """
    n_bars, n_assets = x.shape
    out = np.empty((n_bars, n_assets))
    below, equal, count = np.empty(n_assets), np.empty(n_assets), np.empty(n_assets)
    for t in range(n_bars):
        below[:], equal[:], count[:] = 0.0, 0.0, 0.0
        for s in range(max(0, t - window + 1), t + 1):
            for i in range(n_assets):
                value, present = x[s, i], x[t, i]
                below[i] += 1.0 if value < present else 0.0
                equal[i] += 1.0 if value == present else 0.0
                count[i] += 1.0 if value == value else 0.0
        for i in range(n_assets):
            known = count[i] >= max(min_count, 1) and equal[i] > 0.0
            out[t, i] = (below[i] + (equal[i] + 1.0) / 2.0) / count[i] if known else np.nan
    return out


@compiled
def rolling_quantile(x: Array, window: int, share: float, min_count: int) -> Array:
    """Quantile of each window, linear between its two nearest values (numpy's and pandas' rule).

    Args:
        x: ``[T, N]`` values.
        window: rows in a window, the present one included.
        share: which quantile, from 0 (smallest) to 1 (largest).
        min_count: known values that a window needs.
    """
    n_bars, n_assets = x.shape
    out = np.empty((n_bars, n_assets))
    known = np.empty(min(window, n_bars))
    for i in range(n_assets):
        for t in range(n_bars):
            n = 0
            for s in range(max(0, t - window + 1), t + 1):
                if x[s, i] == x[s, i]:
                    known[n] = x[s, i]
                    n += 1
            if n < max(min_count, 1):
                out[t, i] = np.nan
                continue
            ordered = np.sort(known[:n])
            place = share * (n - 1)
            low = int(place)
            high = min(low + 1, n - 1)
            out[t, i] = ordered[low] + (place - low) * (ordered[high] - ordered[low])
    return out


@compiled
def without_spread(variance: Array, mean: Array) -> npt.NDArray[np.bool_]:
    """Where a variance is zero or within rounding of it (see SPREAD_FLOOR).

    Args:
        variance: ``[T, N]`` variances.
        mean: ``[T, N]`` means of the same values.
    """
    return variance <= SPREAD_FLOOR * mean * mean
