"""Quantile returns, long-short and hit rate against pandas and hand-made cases."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from random_market import make_market
from torch import Tensor

from quantlit.core import ConfigError
from quantlit.metrics import HitRate, LongShort, QuantileReturns
from quantlit.metrics.kernels import hit_rates, masked_median, quantile_returns


def full(x: Tensor) -> Tensor:
    return torch.ones_like(x, dtype=torch.bool)


def test_quantiles_equal_qcut_where_it_is_defined() -> None:
    generator = torch.Generator().manual_seed(0)
    forecast, label = torch.randn(2, 20, 50, generator=generator, dtype=torch.float64)
    metric, spread = QuantileReturns(n_quantiles=5), LongShort(n_quantiles=5)
    for each in (metric, spread):
        each.update(forecast, label, full(label), torch.arange(20))
    expected = np.mean(
        [
            pd.Series(y).groupby(pd.qcut(x, 5, labels=False)).mean().to_numpy()
            for x, y in zip(forecast.numpy(), label.numpy(), strict=True)
        ],
        axis=0,
    )
    np.testing.assert_allclose(metric.compute().numpy(), expected, rtol=1e-12)
    assert float(spread.compute()) == pytest.approx(expected[-1] - expected[0], rel=1e-12)


def test_ties_are_cut_by_asset_order() -> None:
    forecast = torch.tensor([[1.0, 1.0, 1.0, 1.0, 2.0, 0.0]])
    label = torch.tensor([[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]], dtype=torch.float64)
    # score descending, then asset ascending: 4 | 0, 1 | 2, 3 | 5 -> three buckets of two
    means = quantile_returns(forecast, label, full(label), 3)
    torch.testing.assert_close(means[0], torch.tensor([0.5, 0.25, 0.3]).double())


@pytest.mark.parametrize("n_assets", [10, 12, 19, 23])
def test_bucket_sizes_differ_by_one_at_most(n_assets: int) -> None:
    forecast = torch.arange(n_assets, dtype=torch.float64)[None]
    sizes = []
    for bucket in range(10):
        means = torch.stack(
            [
                quantile_returns(forecast, unit[None].double(), full(forecast), 10)[0, bucket]
                for unit in torch.eye(n_assets)
            ]
        )
        members = means.nonzero().squeeze(1)
        torch.testing.assert_close(
            means[members], torch.full_like(means[members], 1 / len(members))
        )
        sizes.append(len(members))
    assert sum(sizes) == n_assets
    assert max(sizes) - min(sizes) <= 1
    assert sizes[0] == sizes[-1]  # top and bottom are alike


def test_masked_assets_and_small_dates_do_not_count() -> None:
    forecast = torch.tensor([[9.0, 1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0, 5.0]])
    label = torch.tensor([[9.0, 0.1, 0.2, 0.3, 0.4], [1.0, 1.0, 1.0, 1.0, 1.0]]).double()
    mask = torch.tensor([[False, True, True, True, True], [True, False, False, False, False]])
    means = quantile_returns(forecast, torch.where(mask, label, 0), mask, 2)
    torch.testing.assert_close(means[0], torch.tensor([0.15, 0.35]).double(), rtol=1e-6, atol=1e-7)
    assert torch.isnan(means[1]).all()


def test_constant_forecasts_have_no_portfolio() -> None:
    label = torch.randn(1, 50, generator=torch.Generator().manual_seed(0))
    for metric in (QuantileReturns(), LongShort(), HitRate()):
        metric.update(torch.full((1, 50), 0.1), label, full(label), torch.tensor([0]))
        assert torch.isnan(metric.compute()).all()


@pytest.mark.parametrize("n_quantiles", [1, 0])
def test_fewer_than_two_buckets_are_refused(n_quantiles: int) -> None:
    with pytest.raises(ConfigError, match=f"n_quantiles must be 2 or more, not {n_quantiles}"):
        QuantileReturns(n_quantiles=n_quantiles)


def test_medians_equal_numpy() -> None:
    forecast, _, mask, _ = make_market()
    expected = [np.median(x[m]) for x, m in zip(forecast.numpy(), mask.numpy(), strict=True)]
    np.testing.assert_allclose(masked_median(forecast, mask).numpy(), expected, rtol=1e-6)


def test_hit_rate_equals_the_definition() -> None:
    forecast, label, mask, dates = make_market()
    metric = HitRate()
    metric.update(forecast, label, mask, dates)
    used = mask & label.isfinite()
    for row, rate in enumerate(metric.series().values.tolist()):
        x, y = (v[row, used[row]].double().numpy() for v in (forecast, label))
        product = np.sign(x - np.median(x)) * np.sign(y - np.median(y))
        assert rate == pytest.approx((product > 0).sum() / (product != 0).sum(), abs=1e-15)


def test_hit_rate_of_perfect_inverse_and_one_sided_forecasts() -> None:
    label = torch.tensor([[0.05, 0.04, 0.03, 0.02, 0.01]])
    assert hit_rates(label, label, full(label)).tolist() == [1.0]
    assert hit_rates(-label, label, full(label)).tolist() == [0.0]
    # a market that only rises gives nothing away: medians, not zeros, are the border
    assert hit_rates(torch.tensor([[5.0, 1.0, 3.0, 2.0, 4.0]]), label, full(label)).item() < 1
