"""Soft ranks: reference values, the dense definition, gradients, masks, ties and scales."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from quantlit.functional import (
    average_ranks,
    laplace_ranks,
    masked_correlation,
    sigmoid_ranks,
)

SoftRanks = Callable[[Tensor, Tensor, float], Tensor]
KERNELS = pytest.mark.parametrize("soft_ranks", [laplace_ranks, sigmoid_ranks])


def _all(x: Tensor) -> Tensor:
    return torch.ones_like(x, dtype=torch.bool)


def _dense_laplace(s: Tensor, mask: Tensor, temperature: float) -> Tensor:
    """The definition, pair by pair."""
    d = (s.unsqueeze(-1) - s.unsqueeze(-2)) / temperature
    steps = torch.where(d < 0, 0.5 * torch.exp(-d.abs()), 1 - 0.5 * torch.exp(-d.abs()))
    return torch.where(mask, 0.5 + (steps * mask.unsqueeze(-2)).sum(-1), 0.0)


@pytest.mark.parametrize(
    ("soft_ranks", "temperature", "expected"),
    [
        (sigmoid_ranks, 1.0, [1.3881443434, 2, 2.6118556566]),
        (sigmoid_ranks, 0.5, [1.1371891320, 2, 2.8628108680]),
        (laplace_ranks, 1.0, [1.2516073622, 2, 2.7483926378]),
        (laplace_ranks, 1.0, [1 + (math.exp(-1) + math.exp(-2)) / 2, 2, 2.7483926378]),
    ],
)
def test_reference_values(soft_ranks: SoftRanks, temperature: float, expected: list[float]) -> None:
    s = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64)
    assert soft_ranks(s, _all(s), temperature).tolist() == pytest.approx(expected, abs=1e-10)


@KERNELS
def test_ties_share_the_average_rank_when_cold(soft_ranks: SoftRanks) -> None:
    s = torch.tensor([1.0, 2.0, 2.0, 3.0], dtype=torch.float64)
    assert soft_ranks(s, _all(s), 1e-3).tolist() == pytest.approx([1, 2.5, 2.5, 4], abs=1e-12)


@pytest.mark.parametrize(
    ("soft_ranks", "temperature", "expected"),
    [
        (sigmoid_ranks, 1.0, 0.8313949581),
        (sigmoid_ranks, 0.5, 0.8281693093),
        (laplace_ranks, 1.0, 0.8288857538),
        (laplace_ranks, 0.5, 0.8249919660),
    ],
)
def test_reference_correlations_without_zscore(
    soft_ranks: SoftRanks, temperature: float, expected: float
) -> None:
    p = torch.tensor([1.0, 2, 3, 4, 5], dtype=torch.float64)
    y = torch.tensor([5.0, 6, 7, 8, 7], dtype=torch.float64)
    ranks = soft_ranks(p, _all(p), temperature)
    rho = masked_correlation(ranks, average_ranks(y, _all(y)), _all(y))
    assert rho.item() == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 130])
@pytest.mark.parametrize("temperature", [1e-4, 0.05, 0.3, 2.0, 50.0])
def test_laplace_equals_its_dense_definition(n: int, temperature: float) -> None:
    generator = torch.Generator().manual_seed(n)
    s = torch.randn(3, 2, n, generator=generator, dtype=torch.float64).round(decimals=1)
    mask = torch.rand(3, 2, n, generator=generator) > 0.25
    ranks = laplace_ranks(s, mask, temperature)
    torch.testing.assert_close(ranks, _dense_laplace(s, mask, temperature), rtol=1e-12, atol=1e-12)


@KERNELS
def test_gradcheck_with_masks(soft_ranks: SoftRanks) -> None:
    generator = torch.Generator().manual_seed(5)
    s = torch.randn(3, 9, generator=generator, dtype=torch.float64, requires_grad=True)
    mask = torch.rand(3, 9, generator=generator) > 0.2
    for temperature in (0.1, 0.5, 5.0):
        assert torch.autograd.gradcheck(lambda s, t=temperature: soft_ranks(s, mask, t), (s,))


def test_laplace_gradient_with_ties_equals_the_dense_one() -> None:
    generator = torch.Generator().manual_seed(6)
    s = torch.randn(4, 40, generator=generator, dtype=torch.float64).round(decimals=1)
    mask = torch.rand(4, 40, generator=generator) > 0.2
    weights = torch.randn(4, 40, generator=generator, dtype=torch.float64)
    s.requires_grad_()
    (fast,) = torch.autograd.grad((weights * laplace_ranks(s, mask, 0.3)).sum(), s)
    # |d| has the subgradient 0 at a tie, so the pair's slope 1 / (2 t) is written out.
    d = s.detach().unsqueeze(-1) - s.detach().unsqueeze(-2)
    pairs = mask.unsqueeze(-1) & mask.unsqueeze(-2)
    slope = torch.where(pairs, torch.exp(-d.abs() / 0.3) / 0.6, 0.0)
    difference = weights.unsqueeze(-1) - weights.unsqueeze(-2)
    torch.testing.assert_close(fast, (slope * difference).sum(-1))


@KERNELS
def test_masked_and_unknown_cells_change_nothing_and_get_no_gradient(soft_ranks: SoftRanks) -> None:
    generator = torch.Generator().manual_seed(7)
    s = torch.randn(2, 12, generator=generator, dtype=torch.float64)
    padded = torch.cat([s, torch.full((2, 4), torch.nan).double(), s + 1e30], -1)
    padded[:, 13] = torch.inf
    mask = torch.cat([_all(s), torch.ones(2, 4).bool(), torch.zeros(2, 12).bool()], -1)
    padded.requires_grad_()
    ranks = soft_ranks(padded, mask, 0.2)
    torch.testing.assert_close(ranks[:, :12], soft_ranks(s, _all(s), 0.2))
    assert (ranks[:, 12:] == 0).all()
    (gradient,) = torch.autograd.grad((ranks * torch.arange(28)).sum(), padded)
    assert gradient.isfinite().all() and gradient[:, :12].abs().min() > 0
    assert (gradient[:, 12:] == 0).all()


def test_laplace_error_against_average_ranks_is_within_its_bound() -> None:
    s = torch.randn(20, 40, generator=torch.Generator().manual_seed(8), dtype=torch.float64)
    exact = average_ranks(s, _all(s))
    distance = (s.unsqueeze(-1) - s.unsqueeze(-2)).abs()
    for temperature in (0.1, 0.01, 1e-3):
        bound = 0.5 * (torch.exp(-distance / temperature).sum(-1) - 1)
        error = (laplace_ranks(s, _all(s), temperature) - exact).abs()
        assert (error <= bound + 1e-12).all()


@pytest.mark.parametrize("shape", [(64, 300), (8, 5000)])
@pytest.mark.parametrize("temperature", [1e-6, 0.2, 10.0])
def test_float32_keeps_its_precision_at_size(shape: tuple[int, int], temperature: float) -> None:
    s = torch.distributions.StudentT(2.2).sample(torch.Size(shape))
    fast = laplace_ranks(s, _all(s), temperature)
    exact = laplace_ranks(s.double(), _all(s), temperature)
    torch.testing.assert_close(fast.double(), exact, rtol=2e-6, atol=2e-5)


def test_scores_far_apart_neither_overflow_nor_blur() -> None:
    s = torch.tensor([-1e30, -1.0, 0.0, 1e30, 3e38], requires_grad=True)
    ranks = laplace_ranks(s, _all(s), 0.1)
    assert ranks.tolist() == pytest.approx([1, 2, 3, 4, 5], abs=1e-4)
    (gradient,) = torch.autograd.grad((ranks * torch.arange(5)).sum(), s)
    assert gradient.isfinite().all()


def test_sigmoid_chunks_do_not_change_the_answer() -> None:
    s = torch.randn(3, 50, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    torch.testing.assert_close(
        sigmoid_ranks(s, _all(s), 0.2, chunk=7), sigmoid_ranks(s, _all(s), 0.2)
    )


@KERNELS
@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan])
def test_temperature_must_be_positive(soft_ranks: SoftRanks, temperature: float) -> None:
    s = torch.randn(5)
    with pytest.raises(ValueError, match=r"temperature above zero, got (0\.0|-1\.0|nan)"):
        soft_ranks(s, _all(s), temperature)
