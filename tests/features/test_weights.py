"""InverseVolatility: past returns only, mean 1 over a date's observed assets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from quantlit.core import ConfigError
from quantlit.features import InverseVolatility
from quantlit.panel import Panel

Fields = dict[str, npt.NDArray[np.float64]]
Market = tuple[Fields, npt.NDArray[np.bool_]]
MakePanel = Callable[[Fields, npt.NDArray[np.bool_]], Panel]


def test_proportional_to_inverse_volatility(make_panel: MakePanel) -> None:
    rng = np.random.default_rng(1)
    scales = np.array([0.01, 0.02, 0.03, 0.025])
    close = 10.0 * np.exp(np.cumsum(scales * rng.standard_normal((60, 4)), axis=0))
    panel = make_panel({"close": close}, np.ones(close.shape, dtype=np.bool_))
    weights = InverseVolatility(window=10).compute(panel)
    inverse = 1.0 / pd.DataFrame(close).pct_change().rolling(10, min_periods=5).std()
    wanted = inverse.div(inverse.mean(axis=1), axis=0).to_numpy()
    np.testing.assert_allclose(weights[5:], wanted[5:], rtol=1e-3)
    np.testing.assert_array_equal(weights[:5], 1.0)  # too few returns: all the same


def test_finite_bounded_and_of_mean_one(market: Market, make_panel: MakePanel) -> None:
    fields, observed = market
    weights = InverseVolatility(limit=2.0).compute(make_panel(fields, observed))
    assert weights.dtype == np.float32
    assert weights.min() > 0
    assert np.isfinite(weights).all()
    assert (weights.max(axis=1) / weights.min(axis=1)).max() <= 4.0001
    mean = np.nanmean(np.where(observed, weights, np.nan)[observed.any(axis=1)], axis=1)
    np.testing.assert_allclose(mean, 1.0, rtol=1e-6)


def test_no_look_ahead(market: Market, make_panel: MakePanel) -> None:
    fields, observed = market
    whole = InverseVolatility().compute(make_panel(fields, observed))
    for date in (45, 75, 100):
        poisoned, seen = fields["close"].copy(), observed.copy()
        poisoned[date + 1 :], seen[date + 1 :] = 1e6, True
        found = InverseVolatility().compute(make_panel({"close": poisoned}, seen))
        np.testing.assert_array_equal(found[: date + 1], whole[: date + 1])


def test_impossible_settings() -> None:
    with pytest.raises(ConfigError, match=r"InverseVolatility has window 1 and limit 5.0; give a"):
        InverseVolatility(window=1)
