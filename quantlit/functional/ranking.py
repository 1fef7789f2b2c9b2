"""Exact average ranks among the valid cells of a cross-section, and normal scores of them."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from quantlit.functional.masked import widen


def average_ranks(
    x: Float[Tensor, "*batch N"], mask: Bool[Tensor, "*batch N"]
) -> Float[Tensor, "*batch N"]:
    """Ranks from 1 to n among the n valid cells along the last axis; ties share their mean rank.

    Equals ``scipy.stats.rankdata(method="average")`` of the valid cells. O(N log N), not
    differentiable.

    Args:
        x: ``[..., N]`` values; NaN and infinities are left out.
        mask: ``[..., N]`` which cells count.

    Returns:
        ``[..., N]`` ranks in ``x``'s precision (at least float32), 0 where a cell does not count.

    >>> average_ranks(torch.tensor([0.3, 0.1, 0.1, torch.nan]), torch.ones(4, dtype=torch.bool))
    tensor([3.0000, 1.5000, 1.5000, 0.0000])
    """
    keep = mask & x.isfinite()
    values, order = torch.where(keep, widen(x.detach()), torch.inf).sort(-1)
    n = values.shape[-1]
    position = torch.arange(1, n + 1, dtype=values.dtype, device=values.device)
    changes = values[..., 1:] != values[..., :-1]
    starts = F.pad(changes, (1, 0), value=True)  # the first of a run of ties
    ends = F.pad(changes, (0, 1), value=True)  # the last of it
    first = torch.where(starts, position, 0.0).cummax(-1).values
    last = torch.where(ends, position, n).flip(-1).cummin(-1).values.flip(-1)
    ranks = torch.empty_like(values).scatter_(-1, order, (first + last) / 2)
    return torch.where(keep, ranks, 0.0)


def rank_gaussian(
    x: Float[Tensor, "*batch N"], mask: Bool[Tensor, "*batch N"]
) -> Float[Tensor, "*batch N"]:
    """Normal scores ``ndtri((rank - 0.5) / n)`` of the valid cells along the last axis.

    Ranks are average ranks among the n valid cells. Other cells become 0. Not differentiable.

    Args:
        x: ``[..., N]`` values.
        mask: ``[..., N]`` which cells count.
    """
    keep = mask & x.isfinite()
    count = keep.sum(-1, keepdim=True).clamp(min=1)
    share = (average_ranks(x, keep) - 0.5) / count
    return torch.where(keep, torch.special.ndtri(torch.where(keep, share, 0.5)), 0.0)
