"""Means, spreads and scores over the valid cells of an axis, safe to differentiate.

A cell counts if its mask is true and its value finite. Every other cell is replaced by zero with
``torch.where`` before any arithmetic, so its gradient is exactly zero (``0 * NaN`` would be NaN).
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

SPREAD_FLOOR = 1e-6
"""A cross-section whose ``max|x - mean|`` is not above this share of ``max|x|`` is constant."""


def masked_mean(
    x: Float[Tensor, "*shape"], mask: Bool[Tensor, "*shape"], dim: int
) -> Float[Tensor, "..."]:
    """Mean of the valid cells along ``dim``; NaN where there is none.

    Args:
        x: values of any shape; NaN and infinities are left out.
        mask: which cells count, of the same shape.
        dim: the axis that goes away.

    >>> masked_mean(torch.tensor([1.0, 3.0, torch.nan]), torch.tensor([True, True, True]), -1)
    tensor(2.)
    """
    x, keep = valid_cells(x, mask)
    count = keep.sum(dim)
    mean = x.sum(dim) / count.clamp(min=1)
    return torch.where(count > 0, mean, torch.nan)


def masked_std(
    x: Float[Tensor, "*shape"], mask: Bool[Tensor, "*shape"], dim: int, ddof: int = 0
) -> Float[Tensor, "..."]:
    """Standard deviation of the valid cells along ``dim``; NaN where at most ``ddof`` are valid.

    Args:
        x: values of any shape; NaN and infinities are left out.
        mask: which cells count, of the same shape.
        dim: the axis that goes away.
        ddof: 0 for the population's deviation, 1 for the sample's.
    """
    x, keep = valid_cells(x, mask)
    count = keep.sum(dim, keepdim=True)
    mean = x.sum(dim, keepdim=True) / count.clamp(min=1)
    squares = torch.where(keep, x - mean, 0.0).square().sum(dim)
    count = count.squeeze(dim)
    variance = squares / (count - ddof).clamp(min=1)
    spread = variance > 0  # the root's gradient is infinite at zero
    std = torch.where(spread, torch.where(spread, variance, 1.0).sqrt(), 0.0)
    return torch.where(count > ddof, std, torch.nan)


def masked_zscore(
    x: Float[Tensor, "*batch N"], mask: Bool[Tensor, "*batch N"]
) -> Float[Tensor, "*batch N"]:
    """Z-scores of the valid cells along the last axis, by the population standard deviation.

    Zero on cells that are not valid, and all along a cross-section without spread: fewer than two
    valid cells, or ``max|x - mean| <= 1e-6 max|x|``. The result is exact at any scale that float32
    can hold.

    Args:
        x: ``[..., N]`` values.
        mask: ``[..., N]`` which cells count.

    >>> masked_zscore(torch.tensor([-1.0, torch.nan, -3.0]), torch.tensor([True, True, True]))
    tensor([ 1.,  0., -1.])
    """
    return clean_zscore(*valid_cells(x, mask))[0]


def clean_zscore(
    x: Float[Tensor, "*batch N"], keep: Bool[Tensor, "*batch N"]
) -> tuple[Float[Tensor, "*batch N"], Bool[Tensor, "*batch"]]:
    """:func:`masked_zscore` of :func:`valid_cells`' output, and which sections have any spread.

    The values are divided by the scale of the largest, then the deviations by theirs, both
    detached: nothing overflows or underflows, and since a z-score does not depend on the scale, the
    gradient is the true one.
    """
    weight = keep.to(x.dtype)
    count = weight.sum(-1, keepdim=True)
    x = x / _scale(x)
    centred = (x - x.sum(-1, keepdim=True) / count.clamp(min=1)) * weight
    spread = (_peak(centred) > SPREAD_FLOOR * _peak(x)) & (count > 1)
    centred = centred * (spread / _scale(centred))
    variance = centred.square().sum(-1, keepdim=True) / count.clamp(min=1)
    return centred / torch.where(spread, variance, 1.0).sqrt(), spread.squeeze(-1)


def winsorise(
    x: Float[Tensor, "*batch N"], mask: Bool[Tensor, "*batch N"], limit: float
) -> Float[Tensor, "*batch N"]:
    """Values clipped to their cross-section's mean ± ``limit`` population standard deviations.

    Args:
        x: ``[..., N]`` values.
        mask: ``[..., N]`` which cells count; the others become 0.
        limit: half the width of the band, in standard deviations.
    """
    x, keep = valid_cells(x, mask)
    mean = masked_mean(x, keep, -1).unsqueeze(-1)
    band = limit * masked_std(x, keep, -1).unsqueeze(-1)
    return torch.where(keep, x.clamp(mean - band, mean + band), 0.0)


def valid_cells(
    x: Float[Tensor, "*shape"], mask: Bool[Tensor, "*shape"]
) -> tuple[Float[Tensor, "*shape"], Bool[Tensor, "*shape"]]:
    """``x`` in at least float32 with 0 in the cells that do not count, and which cells count."""
    keep = mask & x.isfinite()
    return torch.where(keep, widen(x), 0.0), keep


def widen(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """``x`` in at least float32: ranks and sums of squares need more than half precision."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def _scale(x: Tensor) -> Tensor:
    """The power of two at or below the largest size along the last axis; 1 where all are zero.

    Detached. Dividing by it brings values near one without rounding them.
    """
    peak = _peak(x)
    return torch.where(peak > 0, peak / (2 * torch.frexp(peak).mantissa), 1.0)


def _peak(x: Tensor) -> Tensor:
    """Largest size along the last axis, kept as an axis of one; detached."""
    return x.detach().abs().amax(-1, keepdim=True)
