"""The soft Spearman terms: reference values, invariances, and what an unusable date does."""

from __future__ import annotations

import math

import pytest
import torch
from scipy import stats
from torch import Tensor

from quantlit.core import ConfigError
from quantlit.losses import SigmoidSpearmanLoss, SoftRankTerm, SoftSpearmanLoss

P, Y = [0.1, 0.4, 0.2, 0.3], [1.0, 4.0, 3.0, 2.0]


def _block(n_dates: int = 3, n: int = 300, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    forecast = torch.randn(n_dates, n, 1, generator=generator)
    return forecast, 0.3 * forecast + torch.randn(n_dates, n, 1, generator=generator)


def _loss(
    forecast: Tensor, target: Tensor, mask: Tensor | None = None, term: SoftRankTerm | None = None
) -> Tensor:
    mask = torch.ones_like(target, dtype=torch.bool) if mask is None else mask
    term = SoftSpearmanLoss() if term is None else term
    loss: Tensor = term(forecast, target, mask, torch.ones_like(forecast[..., 0]))
    return loss


@pytest.mark.parametrize(
    ("temperature", "laplace", "sigmoid"),
    [
        (0.1, 0.7999921727, 0.7999843467),
        (0.5, 0.7925172912, 0.7872126270),
        (1.0, 0.7890193339, 0.7877610920),
        (10.0, 0.7975106702, 0.7997618771),
    ],
)
def test_reference_values(temperature: float, laplace: float, sigmoid: float) -> None:
    forecast = torch.tensor(P, dtype=torch.float64).reshape(1, 4, 1)
    target = torch.tensor(Y, dtype=torch.float64).reshape(1, 4, 1)
    for term, rho in (
        (SoftSpearmanLoss(temperature=temperature, min_assets=2), laplace),
        (SigmoidSpearmanLoss(temperature=temperature, min_assets=2), sigmoid),
    ):
        assert 1 - _loss(forecast, target, term=term).item() == pytest.approx(rho, abs=1e-9)


def test_cold_soft_ranks_give_scipys_spearman() -> None:
    forecast, target = _block(8, 40)
    forecast, target = forecast.double(), target.double().round(decimals=1)
    exact = [stats.spearmanr(forecast[d, :, 0], target[d, :, 0])[0] for d in range(8)]
    for temperature, tolerance in ((0.1, 1.4e-2), (0.01, 2e-3), (1e-4, 2e-4), (1e-8, 1e-9)):
        term = SoftSpearmanLoss(temperature=temperature)
        rho = 1 - _loss(forecast, target, term=term).item()
        assert rho == pytest.approx(sum(exact) / 8, abs=tolerance)


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e12, 1e30])
def test_scale_of_the_forecasts_does_not_matter(scale: float) -> None:
    forecast, target = _block()
    base = _loss(forecast, target)
    assert (_loss(forecast * scale, target) - base).abs() <= 1.2e-7
    assert (_loss(-forecast * scale, target) - (2 - base)).abs() <= 2.4e-7


def test_level_of_the_forecasts_does_not_matter() -> None:
    forecast, target = _block()
    shifted = (forecast + 1e4) - 1e4  # what float32 keeps of the forecasts at that level
    assert (_loss(forecast + 1e4, target) - _loss(shifted, target)).abs() <= 1.4e-6


def test_only_the_order_of_the_labels_matters() -> None:
    forecast, target = _block()
    assert torch.equal(_loss(forecast, target), _loss(forecast, target.exp()))


def test_assets_may_be_permuted_and_padded() -> None:
    forecast, target = _block()
    order = torch.randperm(300, generator=torch.Generator().manual_seed(1))
    base = _loss(forecast, target)
    torch.testing.assert_close(_loss(forecast[:, order], target[:, order]), base)
    padding = torch.full((3, 50, 1), 7.0)
    mask = torch.cat([torch.ones(3, 300, 1), torch.zeros(3, 50, 1)], 1).bool()
    padded = _loss(torch.cat([forecast, padding], 1), torch.cat([target, padding], 1), mask)
    torch.testing.assert_close(padded, base)


@pytest.mark.parametrize("term", [SoftSpearmanLoss(), SigmoidSpearmanLoss()])
def test_gradient_is_orthogonal_to_level_and_scale(term: SoftRankTerm) -> None:
    forecast, target = _block(1)
    forecast = forecast.double().requires_grad_()
    torch.autograd.backward(_loss(forecast, target.double(), term=term))
    assert forecast.grad is not None
    assert forecast.grad.norm() > 1e-3
    assert forecast.grad.sum().abs() < 1e-15
    assert (forecast.grad * forecast.detach()).sum().abs() < 1e-15


@pytest.mark.parametrize("term", [SoftSpearmanLoss(), SigmoidSpearmanLoss()])
def test_gradcheck(term: SoftRankTerm) -> None:
    forecast, target = _block(2, 12)
    mask = torch.rand(2, 12, 1, generator=torch.Generator().manual_seed(2)) > 0.2
    target = target.double()
    forecast = forecast.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda f: _loss(f, target, mask, term), (forecast,))


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_descent_raises_the_rank_ic_at_any_scale(scale: float) -> None:
    forecast, target = _block(2, 100)
    forecast = (forecast * scale).requires_grad_()
    before = _loss(forecast, target)
    (gradient,) = torch.autograd.grad(before, forecast)
    assert gradient.isfinite().all()
    # The gradient shrinks as the scale grows: a step of a tenth of a deviation, by direction.
    step = gradient / gradient.abs().amax() * scale * 0.1
    assert _loss(forecast - step, target) < before - 1e-3


def test_gradient_is_exactly_zero_on_masked_and_unknown_cells() -> None:
    forecast, target = _block()
    forecast[0, 3], forecast[1, 4], target[2, 5], target[0, 6] = (
        torch.nan,
        torch.inf,
        torch.nan,
        -torch.inf,
    )
    mask = torch.rand(3, 300, 1, generator=torch.Generator().manual_seed(3)) > 0.2
    forecast.requires_grad_()
    loss = _loss(forecast, target, mask)
    torch.autograd.backward(loss)
    keep = mask & forecast.isfinite() & target.isfinite()
    assert loss.isfinite() and forecast.grad is not None
    assert forecast.grad.isfinite().all()
    assert (forecast.grad[~keep] == 0).all()
    assert (forecast.grad[keep] != 0).any()


def test_unusable_dates_add_no_loss_and_no_gradient() -> None:
    forecast, target = _block(7, 50)
    forecast[1] = 0.3  # constant forecasts
    forecast[2] = 0.3 * (1 + 1e-7 * torch.randn(50, 1))  # constant but for rounding
    target[3] = 0.01  # labels all tied
    forecast[4] = torch.nan
    mask = torch.ones(7, 50, 1, dtype=torch.bool)
    mask[5, 4:] = False  # four valid assets, below min_assets
    mask[6] = False
    forecast.requires_grad_()
    output = SoftSpearmanLoss().evaluate(forecast, target, mask, torch.ones(7, 50))
    assert output.used[:, 0].tolist() == [True, False, False, False, False, False, False]
    alone = SoftSpearmanLoss()(forecast[:1], target[:1], mask[:1], torch.ones(1, 50))
    torch.testing.assert_close(output.value, alone / 7)  # divided by D, not by the dates used
    torch.autograd.backward(output.value)
    assert forecast.grad is not None
    assert forecast.grad.isfinite().all()
    assert (forecast.grad[1:] == 0).all() and (forecast.grad[0] != 0).any()


def test_blocks_average_exactly_over_processes() -> None:
    """Mean of two blocks' losses is the loss of both together, though one has fewer used dates."""
    forecast, target = _block(8, 50)
    mask = torch.ones(8, 50, 1, dtype=torch.bool)
    mask[1:4] = False
    halves = [_loss(forecast[s], target[s], mask[s]) for s in (slice(0, 4), slice(4, 8))]
    torch.testing.assert_close(torch.stack(halves).mean(), _loss(forecast, target, mask))


def test_horizons_are_averaged() -> None:
    forecast, target = _block(3, 60)
    second = torch.randn(3, 60, 1, generator=torch.Generator().manual_seed(4))
    both = _loss(torch.cat([forecast, -forecast], -1), torch.cat([target, second], -1))
    torch.testing.assert_close(both, (_loss(forecast, target) + _loss(-forecast, second)) / 2)


def test_half_precision_is_ranked_in_float32_under_autocast() -> None:
    forecast, target = _block()
    forecast = forecast.bfloat16().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = _loss(forecast, target)
    assert loss.dtype == torch.float32
    assert torch.equal(loss, _loss(forecast.float(), target))
    torch.autograd.backward(loss)
    assert forecast.grad is not None and forecast.grad.dtype == torch.bfloat16


@pytest.mark.parametrize("temperature", [0.0, -0.1, math.inf, math.nan])
def test_impossible_temperatures_are_refused(temperature: float) -> None:
    with pytest.raises(ConfigError, match=r"SoftSpearmanLoss needs a temperature above zero, got"):
        SoftSpearmanLoss(temperature=temperature)


def test_one_asset_cannot_be_ranked() -> None:
    with pytest.raises(ConfigError, match="min_assets of at least 2, got 1"):
        SoftSpearmanLoss(min_assets=1)
