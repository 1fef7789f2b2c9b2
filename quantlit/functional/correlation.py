"""Correlations of two cross-sections, one per date."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from quantlit.functional.masked import clean_zscore, valid_cells
from quantlit.functional.ranking import average_ranks


def masked_correlation(
    x: Float[Tensor, "*batch N"], y: Float[Tensor, "*batch N"], mask: Bool[Tensor, "*batch N"]
) -> Float[Tensor, "*batch"]:
    """Pearson correlation along the last axis over the cells valid in both; the IC of a date.

    NaN where fewer than two cells are valid in both, or where either side has no relative spread
    (``max|x - mean| <= 1e-6 max|x|``): a constant has no correlation, and rounding must not invent
    one. Differentiable in both sides; the gradient is exactly zero on cells that do not count and
    along cross-sections that have no correlation.

    Args:
        x: ``[..., N]`` values, e.g. forecasts; NaN and infinities are left out, pair by pair.
        y: ``[..., N]`` values, e.g. returns.
        mask: ``[..., N]`` which cells count.

    Returns:
        ``[...]`` correlations between -1 and 1, up to rounding.
    """
    x, keep = valid_cells(x, mask & y.isfinite())
    y, keep = valid_cells(y, keep)
    return clean_correlation(x, y, keep)


def clean_correlation(
    x: Float[Tensor, "*batch N"], y: Float[Tensor, "*batch N"], keep: Bool[Tensor, "*batch N"]
) -> Float[Tensor, "*batch"]:
    """:func:`masked_correlation` of values that are finite, and zero where ``keep`` is false."""
    x_scores, x_spread = clean_zscore(x, keep)
    y_scores, y_spread = clean_zscore(y, keep)
    products = (x_scores * y_scores).sum(-1) / keep.sum(-1).clamp(min=1)
    return torch.where(x_spread & y_spread, products, torch.nan)


def rank_correlation(
    x: Float[Tensor, "*batch N"], y: Float[Tensor, "*batch N"], mask: Bool[Tensor, "*batch N"]
) -> Float[Tensor, "*batch"]:
    """Spearman correlation along the last axis over the cells valid in both; a date's rank IC.

    Both sides get average ranks *after* masking, so that a cell known on one side alone moves no
    rank. NaN as in :func:`masked_correlation`. Not differentiable.

    Args:
        x: ``[..., N]`` values, e.g. forecasts; NaN and infinities are left out, pair by pair.
        y: ``[..., N]`` values, e.g. returns.
        mask: ``[..., N]`` which cells count.
    """
    keep = mask & x.isfinite() & y.isfinite()
    return clean_correlation(average_ranks(x, keep), average_ranks(y, keep), keep)
