"""Per-date correlations against scipy, and the edge cases of a cross-section."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor

from quantlit.functional import masked_correlation, rank_correlation

NAN = torch.nan


def _tensor(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def _all(x: Tensor) -> Tensor:
    return torch.ones_like(x, dtype=torch.bool)


def test_reference_values() -> None:
    p, y = _tensor(1, 2, 3, 4, 5), _tensor(5, 6, 7, 8, 7)
    assert masked_correlation(p, y, _all(p)).item() == pytest.approx(0.8320502943, abs=1e-10)
    assert rank_correlation(p, y, _all(p)).item() == pytest.approx(0.8207826817, abs=1e-10)


def test_ranks_are_taken_after_masking() -> None:
    p = _tensor(0.3, 0.1, 0.1, 0.4, NAN, 0.2)
    y = _tensor(0.02, -0.01, 0.03, 0.05, 0.01, NAN)
    assert masked_correlation(p, y, _all(p)).item() == pytest.approx(0.6888889, abs=1e-7)
    assert rank_correlation(p, y, _all(p)).item() == pytest.approx(0.6324555, abs=1e-7)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(3, 60), share=st.floats(0.0, 0.6))
def test_equals_scipy_on_the_cells_known_on_both_sides(seed: int, n: int, share: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(4, n, generator=generator, dtype=torch.float64).round(decimals=1)
    y = (x + torch.randn(4, n, generator=generator, dtype=torch.float64)).round(decimals=1)
    x[torch.rand(4, n, generator=generator) < share / 2] = NAN
    y[torch.rand(4, n, generator=generator) < share / 2] = torch.inf
    mask = torch.rand(4, n, generator=generator) >= share / 2
    pearson, spearman = masked_correlation(x, y, mask), rank_correlation(x, y, mask)
    keep = mask & x.isfinite() & y.isfinite()
    for row in range(4):
        a, b = x[row][keep[row]].numpy(), y[row][keep[row]].numpy()
        if len(a) < 2 or len(set(a)) < 2 or len(set(b)) < 2:
            assert pearson[row].isnan() and spearman[row].isnan()
        else:
            assert pearson[row].item() == pytest.approx(stats.pearsonr(a, b)[0], abs=1e-12)
            assert spearman[row].item() == pytest.approx(stats.spearmanr(a, b)[0], abs=1e-12)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (torch.full((300,), 0.1), torch.randn(300, generator=torch.Generator().manual_seed(0))),
        (torch.randn(300, generator=torch.Generator().manual_seed(0)), torch.full((300,), -2.0)),
        (torch.tensor([0.5]), torch.tensor([0.5])),
        (torch.full((4,), NAN), torch.randn(4)),
    ],
    ids=["constant forecast", "constant label", "one asset", "no asset"],
)
def test_no_correlation_is_nan_with_zero_gradient(x: Tensor, y: Tensor) -> None:
    x, y = x.double().requires_grad_(), y.double().requires_grad_()
    rho = masked_correlation(x, y, _all(x))
    assert rho.isnan()
    assert rank_correlation(x, y, _all(x)).isnan()
    value = torch.where(rho.isnan(), 0.0, rho)
    for gradient in torch.autograd.grad(value, (x, y)):
        assert (gradient == 0).all()


def test_two_assets_give_plus_or_minus_one() -> None:
    x, y = _tensor(1, 2), _tensor(5, 3)
    assert masked_correlation(x, y, _all(x)).item() == pytest.approx(-1)
    assert rank_correlation(x, y, _all(x)).item() == pytest.approx(-1)


@pytest.mark.parametrize("a", [1e-30, 1e-10, 1.0, 1e10, 1e30])
def test_scale_and_level_do_not_matter_in_float32(a: float) -> None:
    generator = torch.Generator().manual_seed(1)
    x, y = torch.randn(5, 300, generator=generator), torch.randn(5, 300, generator=generator)
    base = masked_correlation(x, y, _all(x))
    torch.testing.assert_close(masked_correlation(a * x, y, _all(x)), base, rtol=0, atol=1e-6)
    torch.testing.assert_close(masked_correlation(x, a * y, _all(x)), base, rtol=0, atol=1e-6)
    torch.testing.assert_close(masked_correlation(-a * x, y, _all(x)), -base, rtol=0, atol=1e-6)
    torch.testing.assert_close(masked_correlation(x + 100, y, _all(x)), base, rtol=0, atol=1e-4)


def test_gradcheck_with_masks() -> None:
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(3, 8, generator=generator, dtype=torch.float64, requires_grad=True)
    y = torch.randn(3, 8, generator=generator, dtype=torch.float64, requires_grad=True)
    mask = torch.rand(3, 8, generator=generator) > 0.2
    assert torch.autograd.gradcheck(lambda x, y: masked_correlation(x, y, mask), (x, y))


def test_pooled_dates_would_be_something_else() -> None:
    """A market factor makes pooled forecasts look good; per-date correlations stay near zero."""
    generator = torch.Generator().manual_seed(3)
    market = torch.randn(100, 1, generator=generator)
    x = market + 0.5 * torch.randn(100, 50, generator=generator)
    y = market + 0.5 * torch.randn(100, 50, generator=generator)
    pooled = masked_correlation(x.reshape(-1), y.reshape(-1), _all(x.reshape(-1)))
    assert pooled > 0.7
    assert masked_correlation(x, y, _all(x)).mean().abs() < 0.05
