"""Kernels over the assets of one bar and one group: one row at a time, sums in asset order.

``group`` holds codes; assets of equal code are one group, and NaN is in none. A zero everywhere
makes the whole cross-section one group.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quantlit.features.kernels import SPREAD_FLOOR, compiled

Array = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]


@compiled
def members(x: Array, group: Array) -> tuple[Positions, Positions]:
    """Known assets of one bar, group after group.

    Args:
        x: ``[N]`` values.
        group: ``[N]`` codes.

    Returns:
        ``[n]`` positions of the known assets by group, then by position, and ``[g + 1]`` places in
        them where a group starts, the end last.
    """
    known = np.flatnonzero((x == x) & (group == group))
    codes = group[known]
    order = known[np.argsort(codes, kind="mergesort")]
    starts = np.empty(len(order) + 1, np.int64)
    n_groups = 0
    for place in range(len(order)):
        if place == 0 or group[order[place]] != group[order[place - 1]]:
            starts[n_groups] = place
            n_groups += 1
    starts[n_groups] = len(order)
    return order, starts[: n_groups + 1]


@compiled
def group_rank(x: Array, group: Array) -> Array:
    """Rank in the group over its number of known assets, ties at their mean rank.

    Args:
        x: ``[T, N]`` values.
        group: ``[T, N]`` codes.
    """
    out = np.full(x.shape, np.nan)
    for t in range(len(x)):
        order, starts = members(x[t], group[t])
        for g in range(len(starts) - 1):
            mine = order[starts[g] : starts[g + 1]]
            ranked = mine[np.argsort(x[t][mine], kind="mergesort")]
            first, n = 0, len(ranked)
            while first < n:
                last = first
                while last + 1 < n and x[t, ranked[last + 1]] == x[t, ranked[first]]:
                    last += 1
                for place in range(first, last + 1):
                    out[t, ranked[place]] = ((first + last) / 2.0 + 1.0) / n
                first = last + 1
    return out


@compiled
def group_moments(x: Array, group: Array) -> tuple[Array, Array]:
    """Mean and population standard deviation of each asset's group.

    Args:
        x: ``[T, N]`` values.
        group: ``[T, N]`` codes.

    Returns:
        ``[T, N]`` and ``[T, N]``, NaN where an asset is unknown or in no group; a deviation within
        rounding of zero is exactly 0.
    """
    mean = np.full(x.shape, np.nan)
    std = np.full(x.shape, np.nan)
    for t in range(len(x)):
        order, starts = members(x[t], group[t])
        for g in range(len(starts) - 1):
            mine = order[starts[g] : starts[g + 1]]
            total, squares = 0.0, 0.0
            for i in mine:
                total += x[t, i]
            centre = total / len(mine)
            for i in mine:
                squares += (x[t, i] - centre) * (x[t, i] - centre)
            variance = squares / len(mine)
            flat = variance <= SPREAD_FLOOR * centre * centre
            for i in mine:
                mean[t, i] = centre
                std[t, i] = 0.0 if flat else np.sqrt(variance)
    return mean, std


@compiled
def row_sums(x: Array) -> Array:
    """``[T, 1]`` sum of the known values of each bar, in asset order; 0 where there are none.

    Args:
        x: ``[T, N]`` values.
    """
    out = np.zeros((len(x), 1))
    for t in range(len(x)):
        for i in range(x.shape[1]):
            out[t, 0] += x[t, i] if x[t, i] == x[t, i] else 0.0
    return out
