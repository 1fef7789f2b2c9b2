"""Operators over the assets of one bar: the observed ones whose value is known; NaN for the rest.

The evaluator hides assets that were not observed, so nothing here sees them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quantlit.features.bars import ratio
from quantlit.features.language.group_kernels import group_moments, group_rank, row_sums
from quantlit.features.language.signature import Family, Literal, Operator, Series

Array = npt.NDArray[np.float64]


def rank(x: Array) -> Array:
    """Rank from 1 to n over n, ties at their mean rank: in (0, 1]."""
    return group_rank(x, _one_group(x))


def zscore(x: Array) -> Array:
    """``(x - mean) / std`` by the population's deviation; 0 without spread."""
    return group_zscore(x, _one_group(x))


def demean(x: Array) -> Array:
    """``x - mean``."""
    return neutralise(x, _one_group(x))


def scale(x: Array) -> Array:
    """``x / sum(|x|)``; NaN where all are 0."""
    return ratio(x, row_sums(np.abs(x)))


def winsorise(x: Array, limit: float) -> Array:
    """``x`` clipped to mean ± limit population standard deviations."""
    mean, std = group_moments(x, _one_group(x))
    return np.clip(x, mean - limit * std, mean + limit * std)


def bucket(x: Array, k: int) -> Array:
    """Quantile of the cross-section from 0 (lowest) to k - 1; ties fall together."""
    return np.ceil(rank(x) * k - 1e-9) - 1.0


def neutralise(x: Array, group: Array) -> Array:
    """``x`` less the mean of its group."""
    return x - group_moments(x, group)[0]


def group_zscore(x: Array, group: Array) -> Array:
    """``(x - mean) / std`` of its group; 0 without spread."""
    mean, std = group_moments(x, group)
    return np.where(std == 0, 0.0, (x - mean) / np.where(std == 0, 1.0, std))


def regress_out(y: Array, x: Array) -> Array:
    """Residual of y on x and a constant, over assets where both are known.

    Where x has no spread it explains nothing, and y less its mean is left.
    """
    known = ~np.isnan(x + y)
    x, y = np.where(known, x, np.nan), np.where(known, y, np.nan)
    gap_x, gap_y = demean(x), demean(y)
    flat = group_moments(x, _one_group(x))[1] == 0
    slope = row_sums(gap_x * gap_y) / row_sums(gap_x * gap_x)
    return gap_y - np.where(flat, 0.0, slope * gap_x)


def _one_group(x: Array) -> Array:
    return np.zeros_like(x)


def _operators() -> list[Operator]:
    x, group = Series("x"), Series("group")
    limit = Literal("limit", 0.0, exclusive=True)
    buckets = Literal("k", 2, 1_000, whole=True)
    date, part = Family.CROSS_SECTION, Family.GROUP
    return [
        Operator("rank", date, (x,), rank, "rank / number of assets, ties averaged, in (0, 1]"),
        Operator("zscore", date, (x,), zscore, "(x - mean) / std; 0 without spread"),
        Operator("demean", date, (x,), demean, "x less the mean"),
        Operator("scale", date, (x,), scale, "x / sum of sizes; NaN where all are 0"),
        Operator("winsorise", date, (x, limit), winsorise, "x clipped to mean ± limit std"),
        Operator("bucket", date, (x, buckets), bucket, "quantile, from 0 (lowest) to k - 1"),
        Operator(
            "regress_out",
            date,
            (Series("y"), x),
            regress_out,
            "residual of y on x and a constant",
        ),
        Operator("neutralise", part, (x, group), neutralise, "x less its group's mean"),
        Operator("group_rank", part, (x, group), group_rank, "rank in the group / its size"),
        Operator("group_zscore", part, (x, group), group_zscore, "z-score in the group"),
    ]


CROSS_OPERATORS = _operators()
"""The operators over one bar's assets, in the order of the table."""
