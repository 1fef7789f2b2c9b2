"""The Pearson terms against scipy, and their unusable dates."""

from __future__ import annotations

import pytest
import torch
from scipy import stats
from torch import Tensor

from quantlit.core import ConfigError
from quantlit.losses import CorrelationTerm, PearsonLoss, RankPearsonLoss

TERMS = pytest.mark.parametrize("term", [PearsonLoss(), RankPearsonLoss()])


def _block(n_dates: int, n: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    forecast = torch.randn(n_dates, n, 2, generator=generator, dtype=torch.float64)
    target = forecast + torch.randn(n_dates, n, 2, generator=generator, dtype=torch.float64)
    mask = torch.rand(n_dates, n, 2, generator=generator) > 0.2
    return forecast, target, mask, torch.rand(n_dates, n, generator=generator)


def test_reference_value() -> None:
    forecast = torch.tensor([1.0, 2, 3]).reshape(1, 3, 1)
    target = torch.tensor([3.0, 1, 2]).reshape(1, 3, 1)
    mask = torch.ones(1, 3, 1, dtype=torch.bool)
    loss = PearsonLoss(min_assets=2)(forecast, target, mask, torch.ones(1, 3))
    assert loss.item() == pytest.approx(1.5)


@TERMS
def test_equals_scipy_over_dates_and_horizons(term: CorrelationTerm) -> None:
    forecast, target, mask, weight = _block(4, 30)
    expected = 0.0
    for date in range(4):
        for horizon in range(2):
            keep = mask[date, :, horizon]
            f, y = forecast[date, keep, horizon].numpy(), target[date, keep, horizon].numpy()
            if isinstance(term, RankPearsonLoss):
                y = stats.rankdata(y)
            expected += (1 - stats.pearsonr(f, y)[0]) / 8
    assert term(forecast, target, mask, weight).item() == pytest.approx(expected, abs=1e-12)


@TERMS
def test_gradcheck(term: CorrelationTerm) -> None:
    forecast, target, mask, weight = _block(2, 12)
    forecast.requires_grad_()
    assert torch.autograd.gradcheck(lambda f: term(f, target, mask, weight), (forecast,))


@TERMS
def test_unusable_dates_add_no_loss_and_no_gradient(term: CorrelationTerm) -> None:
    forecast, target, mask, weight = _block(4, 30)
    forecast[1] = 0.1
    target[2] = 0.0
    mask[3, 4:] = False
    forecast.requires_grad_()
    output = term.evaluate(forecast, target, mask, weight)
    assert output.used.tolist() == [[True, True]] + 3 * [[False, False]]
    torch.autograd.backward(output.value)
    assert forecast.grad is not None
    assert (forecast.grad[1:] == 0).all() and (forecast.grad[~mask] == 0).all()


def test_one_asset_has_no_correlation() -> None:
    with pytest.raises(ConfigError, match="PearsonLoss needs min_assets of at least 2, got 1"):
        PearsonLoss(min_assets=1)
