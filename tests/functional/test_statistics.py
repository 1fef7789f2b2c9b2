"""Statistics of a series per date against statsmodels and the reference values."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm
import torch
from torch import Tensor

from quantlit.functional import information_ratio, newey_west_lags, newey_west_t, t_statistic

IC = torch.tensor([0.05, 0.02, -0.01, 0.04, 0.03, 0.0, -0.02, 0.06], dtype=torch.float64)


def test_reference_information_ratio_and_t() -> None:
    assert information_ratio(IC).item() == pytest.approx(0.7327275050, abs=1e-10)
    assert t_statistic(IC).item() == pytest.approx(2.0724663502, abs=1e-10)


@pytest.mark.parametrize(
    ("lags", "expected", "corrected"),
    [
        (1, 2.5172239831, 2.3546474276),
        (2, 3.5707142143, 3.3400973040),
        (4, 3.8448158208, 3.5964958791),
    ],
)
def test_reference_newey_west(lags: int, expected: float, corrected: float) -> None:
    value = newey_west_t(IC, lags).item()
    assert value == pytest.approx(expected, abs=1e-9)
    assert value * math.sqrt(7 / 8) == pytest.approx(corrected, abs=1e-9)


@pytest.mark.parametrize("lags", [0, 1, 5, 19])
def test_newey_west_equals_statsmodels(lags: int) -> None:
    noise = np.random.default_rng(0).normal(size=400)
    series = 0.03 + 0.1 * np.convolve(noise, np.ones(5) / 5, mode="valid")
    fit = sm.OLS(series, np.ones_like(series)).fit(
        cov_type="HAC", cov_kwds={"maxlags": lags, "use_correction": False}
    )
    value = newey_west_t(torch.from_numpy(series), lags).item()
    assert value == pytest.approx(fit.tvalues[0], rel=1e-10)


def test_lags_cover_the_overlap_and_follow_the_rule_of_thumb() -> None:
    assert newey_west_lags(250, 1) == 4
    assert newey_west_lags(2500, 1) == 8
    assert newey_west_lags(250, 5) == 4
    assert newey_west_lags(250, 20) == 19
    assert newey_west_lags(3, 20) == 2
    assert newey_west_lags(1, 5) == 0
    assert newey_west_lags(0, 1) == 0


def test_unused_dates_are_left_out() -> None:
    gap = torch.tensor([torch.nan], dtype=torch.float64)
    series = torch.cat([IC[:3], gap, IC[3:], gap])
    assert information_ratio(series) == information_ratio(IC)
    assert t_statistic(series) == t_statistic(IC)
    assert newey_west_t(series, 2) == newey_west_t(IC, 2)


@pytest.mark.parametrize(
    "series",
    [torch.tensor([]), torch.tensor([0.1]), torch.full((300,), 0.1), torch.zeros(5)],
    ids=["empty", "one date", "constant", "zeros"],
)
def test_no_spread_is_nan(series: Tensor) -> None:
    series = series.double()
    for statistic in (information_ratio, t_statistic, lambda s: newey_west_t(s, 4)):
        assert statistic(series).isnan()


def test_more_lags_than_dates_use_all_there_are() -> None:
    assert newey_west_t(IC, 100).isfinite()


def test_negative_lags_are_refused() -> None:
    with pytest.raises(ValueError, match="lags >= 0, got -1"):
        newey_west_t(IC, -1)
