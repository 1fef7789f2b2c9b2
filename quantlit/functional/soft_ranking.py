"""Differentiable ranks: each comparison ``x_j < x_i`` counts by a smooth step of width tau."""

from __future__ import annotations

from typing import Any, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from quantlit.functional.masked import valid_cells


def laplace_ranks(
    s: Float[Tensor, "*batch N"], mask: Bool[Tensor, "*batch N"], temperature: float
) -> Float[Tensor, "*batch N"]:
    """Soft ranks along the last axis whose step is the Laplace distribution function.

    ``r_i = 1/2 + sum_j F((s_i - s_j) / t)`` over the valid cells ``j``, ``j = i`` included, with
    ``F(x) = e^x / 2`` below zero and ``1 - e^-x / 2`` above (LapSum, ICML 2025). Ties share a rank,
    and as the temperature ``t`` goes to zero the ranks become average ranks:
    ``|r_i - R_i| <= 1/2 sum_{j != i} e^{-|s_i - s_j| / t}``.

    O(N log N) time and O(N) memory: in sorted order ``r_i = i + (B_i - A_i) / 2`` with
    ``A_i = sum_{j <= i} e^{-(s_i - s_j) / t}`` and ``B_i`` its mirror image. Running sums with
    decay give both, without overflow at any temperature. The gradient is made of the same two sums,
    and cannot be differentiated again.

    Args:
        s: ``[..., N]`` scores; NaN and infinities are left out.
        mask: ``[..., N]`` which cells count.
        temperature: width of the step, in the unit of ``s``; positive.

    Returns:
        ``[..., N]`` ranks in ``s``'s precision (at least float32), 0 where a cell does not count.

    Raises:
        ValueError: if the temperature is not positive.

    >>> laplace_ranks(torch.tensor([0.0, 1.0, 2.0]), torch.ones(3, dtype=torch.bool), 1.0)
    tensor([1.2516, 2.0000, 2.7484])
    """
    _check(temperature)
    s, keep = valid_cells(s, mask)
    ranks = _LaplaceRanks.apply(s, keep, temperature)  # type: ignore[no-untyped-call]
    return cast(Tensor, ranks)


def sigmoid_ranks(
    s: Float[Tensor, "*batch N"],
    mask: Bool[Tensor, "*batch N"],
    temperature: float,
    chunk: int = 256,
) -> Float[Tensor, "*batch N"]:
    """Soft ranks ``r_i = 1/2 + sum_j sigmoid((s_i - s_j) / temperature)`` along the last axis.

    The plain O(N^2) form, to compare :func:`laplace_ranks` with. It holds the comparisons of
    ``chunk`` assets at a time, and makes them again for the gradient.

    Args:
        s: ``[..., N]`` scores; NaN and infinities are left out.
        mask: ``[..., N]`` which cells count.
        temperature: width of the step, in the unit of ``s``; positive.
        chunk: assets compared with all others at a time.

    Returns:
        ``[..., N]`` ranks in ``s``'s precision (at least float32), 0 where a cell does not count.

    Raises:
        ValueError: if the temperature is not positive.
    """
    _check(temperature)
    s, keep = valid_cells(s, mask)

    def ranks_of(some: Tensor) -> Tensor:
        steps = torch.sigmoid((some.unsqueeze(-1) - s.unsqueeze(-2)) / temperature)
        return 0.5 + torch.where(keep.unsqueeze(-2), steps, 0.0).sum(-1)

    parts = [
        checkpoint(ranks_of, some, use_reentrant=False, preserve_rng_state=False)
        for some in torch.split(s, chunk, -1)
    ]
    return torch.where(keep, torch.cat(cast(list[Tensor], parts), -1), 0.0)


class _LaplaceRanks(torch.autograd.Function):
    """Laplace ranks of finite scores; cells that do not count have weight zero in every sum."""

    @staticmethod
    def forward(ctx: Any, s: Tensor, keep: Tensor, temperature: float) -> Tensor:
        """Ranks ``[..., N]``."""
        ordered, order = s.sort(-1)
        counts = keep.gather(-1, order)
        below, above = _decayed_sums(counts.to(s.dtype), ordered, temperature)
        ctx.save_for_backward(ordered, order, below + above, keep)
        ctx.temperature = temperature
        ranks = counts.cumsum(-1) + (above - below) / 2
        return torch.where(keep, _unsort(ranks, order), 0.0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        """``ds_i = sum_j (g_i - g_j) e^{-|s_i - s_j| / t} / (2 t)`` over the cells that count."""
        ordered, order, sums, keep = ctx.saved_tensors
        g = torch.where(keep, grads[0], 0.0).gather(-1, order)
        below, above = _decayed_sums(g, ordered, ctx.temperature)
        gradient = (g * sums - (below + above)) / (2 * ctx.temperature)
        return torch.where(keep, _unsort(gradient, order), 0.0), None, None


def _decayed_sums(x: Tensor, s: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """``sum_j x_j e^{-|s_i - s_j| / temperature}`` over ``j <= i``, and over ``j >= i``.

    ``s [..., N]`` ascends. A running sum by doubling: after the pass of step k each cell holds the
    sum of its 2k nearest on that side, so log2(N) passes over whole tensors suffice. Every factor
    lies in [0, 1]: nothing overflows.
    """
    below, above = x.clone(), x.clone()
    step = 1
    while step < x.shape[-1]:
        decay = (s[..., :-step] - s[..., step:]).div_(temperature).exp_()
        below[..., step:].add_(decay * below[..., :-step])
        above[..., :-step].add_(decay * above[..., step:])
        step *= 2
    return below, above


def _unsort(x: Tensor, order: Tensor) -> Tensor:
    return torch.empty_like(x).scatter_(-1, order, x)


def _check(temperature: float) -> None:
    if not temperature > 0:
        raise ValueError(f"A soft rank needs a temperature above zero, got {temperature}.")
