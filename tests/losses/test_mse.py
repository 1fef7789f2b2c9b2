"""The masked squared error against numpy, its weights and its gradient."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from quantlit.core import ConfigError
from quantlit.losses import MaskedMSE


def _block() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    forecast = torch.randn(4, 9, 2, generator=generator, dtype=torch.float64)
    target = torch.randn(4, 9, 2, generator=generator, dtype=torch.float64)
    mask = torch.rand(4, 9, 2, generator=generator) > 0.3
    mask[3] = False
    return forecast, target, mask, torch.rand(4, 9, generator=generator).double() + 0.5


def test_equals_numpy_weighted_mean_per_date() -> None:
    forecast, target, mask, weight = _block()
    expected = 0.0
    for date in range(3):
        for horizon in range(2):
            keep = mask[date, :, horizon]
            squares = (forecast - target)[date, keep, horizon].square().numpy()
            expected += np.average(squares, weights=weight[date, keep].numpy())
    loss = MaskedMSE()(forecast, target, mask, weight)
    assert loss.item() == pytest.approx(expected / 8, rel=1e-12)  # D = 4 with the empty date


def test_only_the_ratios_of_a_dates_weights_matter() -> None:
    forecast, target, mask, weight = _block()
    scaled = weight * torch.tensor([1e-6, 1.0, 1e6, 1.0]).unsqueeze(-1)
    torch.testing.assert_close(
        MaskedMSE()(forecast, target, mask, scaled), MaskedMSE()(forecast, target, mask, weight)
    )


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, 0.0, -1.0])
def test_assets_without_a_usable_weight_are_left_out(bad: float) -> None:
    forecast, target, mask, weight = _block()
    without = mask.clone()
    without[:, 2] = False
    expected = MaskedMSE()(forecast, target, without, weight)
    weight[:, 2] = bad
    torch.testing.assert_close(MaskedMSE()(forecast, target, mask, weight), expected)


def test_gradient_is_true_and_zero_on_masked_and_unknown_cells() -> None:
    forecast, target, mask, weight = _block()
    assert torch.autograd.gradcheck(
        lambda f: MaskedMSE()(f, target, mask, weight), (forecast.clone().requires_grad_(),)
    )
    forecast[0, 0], target[1, 1], forecast[2, 2] = torch.nan, torch.nan, torch.inf
    forecast.requires_grad_()
    loss = MaskedMSE()(forecast, target, mask, weight)
    torch.autograd.backward(loss)
    keep = mask & forecast.isfinite() & target.isfinite()
    assert loss.isfinite() and forecast.grad is not None
    assert forecast.grad.isfinite().all()
    assert (forecast.grad[~keep] == 0).all() and (forecast.grad[keep] != 0).all()


def test_thin_dates_are_not_used() -> None:
    forecast, target, mask, weight = _block()
    mask[0, :, 0] = False
    mask[0, :3, 0] = True
    used = MaskedMSE(min_assets=4).evaluate(forecast, target, mask, weight).used
    assert used.tolist() == (mask.sum(1) >= 4).tolist()
    assert not used[0, 0] and not used[3].any()


def test_a_fully_masked_block_is_zero() -> None:
    forecast, target, mask, weight = _block()
    forecast.requires_grad_()
    loss = MaskedMSE()(forecast, target, torch.zeros_like(mask), weight)
    torch.autograd.backward(loss)
    assert loss == 0 and forecast.grad is not None and (forecast.grad == 0).all()


def test_min_assets_must_be_positive() -> None:
    with pytest.raises(ConfigError, match="MaskedMSE needs min_assets of at least 1, got 0"):
        MaskedMSE(min_assets=0)
