"""IC, rank IC and the statistics of their series against METHOD, scipy, pandas and statsmodels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import statsmodels.api as sm
import torch
from random_market import make_market
from torch import Tensor

from quantlit.metrics import (
    ICIR,
    InformationCoefficient,
    NeweyWestT,
    RankICIR,
    RankInformationCoefficient,
    RankNeweyWestT,
    SeriesMetric,
)

NAN = float("nan")
DAILY_IC = [0.05, 0.02, -0.01, 0.04, 0.03, 0.0, -0.02, 0.06]


def one_date(metric: SeriesMetric, forecast: Any, label: Any) -> float:
    forecast, label = torch.tensor([forecast]), torch.tensor([label])
    metric.update(forecast, label, torch.ones_like(forecast, dtype=torch.bool), torch.tensor([0]))
    return float(metric.compute())


def given_series(metric: SeriesMetric, values: list[float]) -> SeriesMetric:
    """A metric that was told its per-date values: its kernel reads them off the forecast."""
    metric.score_dates = lambda forecast, label, mask: forecast[:, :1]  # type: ignore[method-assign]
    forecast = torch.tensor(values, dtype=torch.float64)[:, None].expand(-1, 5)
    mask = torch.ones_like(forecast, dtype=torch.bool)
    metric.update(forecast, forecast, mask, torch.arange(len(values)))
    return metric


def test_ranks_are_taken_after_masking() -> None:
    forecast, label = [0.3, 0.1, 0.1, 0.4, NAN, 0.2], [0.02, -0.01, 0.03, 0.05, 0.01, NAN]
    ic = one_date(InformationCoefficient(min_assets=4), forecast, label)
    rank_ic = one_date(RankInformationCoefficient(min_assets=4), forecast, label)
    assert ic == pytest.approx(0.6888889, abs=1e-7)
    assert rank_ic == pytest.approx(0.6324555, abs=1e-7)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (InformationCoefficient(), 0.02125),
        (ICIR(), 0.7327275050),
        (RankICIR(), 0.7327275050),
        (NeweyWestT(), 2.5172239831),  # the rule of thumb: L = floor(4 (8/100)^(2/9)) = 2 ...
        (RankNeweyWestT(horizon=5), 3.8448158208),
    ],
)
def test_statistics_of_the_reference_series(metric: SeriesMetric, expected: float) -> None:
    if isinstance(metric, NeweyWestT):
        expected = 3.5707142143  # ... so this is METHOD's value for two lags
    assert float(given_series(metric, DAILY_IC).compute()) == pytest.approx(expected, abs=1e-10)


def test_newey_west_equals_statsmodels() -> None:
    values = np.random.default_rng(0).normal(0.03, 0.1, 60)
    metric = given_series(NeweyWestT(horizon=10), values.tolist())
    fit = sm.OLS(values, np.ones(60)).fit(
        cov_type="HAC", cov_kwds={"maxlags": 9, "use_correction": False}
    )
    assert float(metric.compute()) == pytest.approx(float(fit.tvalues[0]), rel=1e-10)


def test_daily_series_equal_scipy() -> None:
    forecast, label, mask, dates = make_market()
    metrics: list[SeriesMetric] = [InformationCoefficient(), RankInformationCoefficient()]
    oracles: list[Callable[..., Any]] = [scipy.stats.pearsonr, scipy.stats.spearmanr]
    for metric in metrics:
        metric.update(forecast, label, mask, dates)
    used = mask & label.isfinite()
    for row in range(len(dates)):
        pair = forecast[row, used[row]].double().numpy(), label[row, used[row]].double().numpy()
        for metric, oracle in zip(metrics, oracles, strict=True):
            expected = float(oracle(*pair).statistic)
            assert float(metric.series().values[row]) == pytest.approx(expected, abs=1e-12)
    assert metrics[0].series().counts.tolist() == used.sum(dim=1).tolist()


def test_means_equal_pandas_by_date() -> None:
    forecast, label, mask, dates = make_market(seed=1)
    frame = pd.DataFrame(
        {
            "date": dates.repeat_interleave(forecast.shape[1]).numpy(),
            "forecast": forecast.double().ravel().numpy(),
            "label": label.double().ravel().numpy(),
        }
    )[mask.ravel().numpy()].dropna()
    pairs: list[tuple[Literal["pearson", "spearman"], SeriesMetric, SeriesMetric]] = [
        ("pearson", InformationCoefficient(), ICIR()),
        ("spearman", RankInformationCoefficient(), RankICIR()),
    ]
    for method, mean, ratio in pairs:
        days = [rows for _, rows in frame.groupby("date")]
        daily = pd.Series([d["forecast"].corr(d["label"], method=method) for d in days])
        for metric, expected in ((mean, daily.mean()), (ratio, daily.mean() / daily.std())):
            metric.update(forecast, label, mask, dates)
            assert float(metric.compute()) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("value", [0.1, 0.0, -3e7])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rounding", [0.0, 1e-7])
def test_constant_forecasts_have_no_ic(value: float, dtype: torch.dtype, rounding: float) -> None:
    generator = torch.Generator().manual_seed(0)
    label = torch.randn(1, 300, generator=generator, dtype=dtype)
    noise = 1 + rounding * torch.rand(1, 300, generator=generator, dtype=dtype)
    forecast = value * noise
    mask = torch.ones(1, 300, dtype=torch.bool)
    for metric in (InformationCoefficient(), RankInformationCoefficient()):
        for pair in ((forecast, label), (label, forecast)):
            metric.reset()
            metric.update(*pair, mask, torch.tensor([0]))
            assert torch.isnan(metric.compute())


def test_small_and_undefined_dates_are_left_out_and_counted() -> None:
    generator = torch.Generator().manual_seed(0)
    forecast, label = torch.randn(2, 4, 12, generator=generator)
    mask = torch.ones(4, 12, dtype=torch.bool)
    mask[1, 4:] = False  # four assets
    forecast[2] = 7.0  # no order
    metric = InformationCoefficient(min_assets=5)
    metric.update(forecast, label, mask, torch.tensor([3, 4, 5, 6]))
    series = metric.series()
    assert torch.isfinite(series.values).tolist() == [True, False, False, True]
    assert series.counts.tolist() == [12, 4, 12, 12]
    assert len(series.used()) == 2
    assert float(metric.compute()) == pytest.approx(float(series.values[[0, 3]].mean()))


def test_statistics_of_one_or_no_date_are_nan() -> None:
    forecast = torch.randn(1, 10, generator=torch.Generator().manual_seed(0))
    mask = torch.ones(1, 10, dtype=torch.bool)
    for metric in (ICIR(), NeweyWestT(), RankICIR(), RankNeweyWestT()):
        metric.update(forecast, forecast, mask, torch.tensor([0]))
        assert torch.isnan(metric.compute())
    mean = InformationCoefficient()
    mean.update(forecast, forecast, ~mask, torch.tensor([0]))
    assert torch.isnan(mean.compute())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_forecasts_lose_nothing_more(dtype: torch.dtype) -> None:
    forecast, label, mask, dates = make_market()
    results: list[Tensor] = []
    for given in (forecast.to(dtype), forecast.to(dtype).double()):
        metric = RankICIR()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            metric.update(given, label, mask, dates)
        results.append(metric.compute())
    assert results[0].dtype == torch.float64
    assert torch.equal(*results)


def test_higher_is_better_and_no_gradient_is_kept() -> None:
    forecast, label, mask, dates = make_market()
    metric = RankInformationCoefficient()
    metric.update(forecast.requires_grad_(), label, mask, dates)
    assert metric.higher_is_better
    assert not metric.compute().requires_grad
