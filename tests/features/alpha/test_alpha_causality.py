"""No alpha factor sees a later bar, nor one before its lookback, wherever a stretch is cut."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import torch
from alpha_market import Market, alpha_market, compute_all
from suspended_market import MakePanel

from quantlit.features import AlphaFactor, Bars, evaluate, factor_sets, resolve_factors
from quantlit.features.bars import first_rows
from quantlit.features.evaluate import evaluate_factors

SETS = ("alpha158", "alpha158_ohlc4", "alpha360", "alpha360_ohlc4")
DATES = (1, 45, 75, 89, 100, 148)


def _factors(name: str) -> list[AlphaFactor]:
    return [factor for factor in factor_sets()[name] if isinstance(factor, AlphaFactor)]


@pytest.fixture
def market() -> Market:
    return alpha_market()


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("garbage", [np.nan, 1e6])
def test_poisoned_future_changes_nothing(name: str, garbage: float, market: Market) -> None:
    fields, observed = market
    clean = compute_all(_factors(name), Bars(fields, observed))
    for date in DATES:
        poisoned = {field: values.copy() for field, values in fields.items()}
        seen = observed.copy()
        seen[date + 1 :] = True
        for values in poisoned.values():
            values[date + 1 :] = garbage
        found = compute_all(_factors(name), Bars(poisoned, seen))
        np.testing.assert_array_equal(found[: date + 1], clean[: date + 1])


@pytest.mark.parametrize("name", SETS)
def test_truncated_history_gives_the_same_values(name: str, market: Market) -> None:
    fields, observed = market
    whole = compute_all(_factors(name), Bars(fields, observed))
    for date in DATES:
        short = {field: values[: date + 1] for field, values in fields.items()}
        found = compute_all(_factors(name), Bars(short, observed[: date + 1]))
        np.testing.assert_array_equal(found, whole[: date + 1])


@pytest.mark.parametrize("name", SETS)
def test_nothing_before_the_lookback_matters_but_an_assets_age(name: str, market: Market) -> None:
    fields, observed = market
    factors = _factors(name)
    first = first_rows(observed)
    whole = compute_all(factors, Bars(fields, observed))
    for start in (1, 17, 66, 85):
        late = {field: values[start:] for field, values in fields.items()}
        found = compute_all(factors, Bars(late, observed[start:], first - start))
        for column, factor in enumerate(factors):
            np.testing.assert_array_equal(
                found[factor.lookback :, :, column],
                whole[start + factor.lookback :, :, column],
                err_msg=factor.name,
            )


@pytest.mark.parametrize("name", SETS)
def test_the_lookback_is_no_longer_than_it_must_be(name: str, market: Market) -> None:
    """A bar at the far end of a lookback changes a value of some factor that has it."""
    observed = np.ones_like(market[1])
    fields = {field: np.nan_to_num(values, nan=10.0) for field, values in market[0].items()}
    factors = _factors(name)
    day = 149
    whole = compute_all(factors, Bars(fields, observed))[day]
    for lookback in {factor.lookback for factor in factors} - {0}:
        changed = {field: values.copy() for field, values in fields.items()}
        for values in changed.values():
            values[day - lookback] *= np.linspace(3.0, 4.0, values.shape[1])
        found = compute_all(factors, Bars(changed, observed))[day]
        columns = [column for column, each in enumerate(factors) if each.lookback == lookback]
        assert (found[:, columns] != whole[:, columns]).any()


@pytest.mark.parametrize("name", ["alpha158", "alpha360"])
@pytest.mark.parametrize(("assets", "bars", "threads"), [(1, 1000, 1), (2, 7, 1), (64, 64, 3)])
def test_pieces_leave_no_trace(
    name: str,
    assets: int,
    bars: int,
    threads: int,
    market: Market,
    make_panel: MakePanel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    panel = make_panel(*market)
    factors = resolve_factors([name, "price"], panel.fields)
    whole = evaluate_factors(panel, factors)
    monkeypatch.setattr(evaluate, "FUSED_ASSETS", assets)
    monkeypatch.setattr(evaluate, "FUSED_CELLS", bars * assets)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    np.testing.assert_array_equal(evaluate_factors(panel, factors), whole)


def test_a_factor_alone_or_among_plain_ones_has_the_same_values(
    market: Market, make_panel: MakePanel
) -> None:
    panel = make_panel(*market)
    names = ["VSUMD60", "return_5", "KMID", "CORD10", "volatility_20", "RANK5", "CNTN30", "IMAX10"]
    factors = resolve_factors(names, panel.fields)
    mixed = evaluate_factors(panel, factors)
    everything = resolve_factors(["alpha158", "price"], panel.fields)
    whole = evaluate_factors(panel, everything)
    where = [[factor.name for factor in everything].index(name) for name in names]
    np.testing.assert_array_equal(mixed, whole[:, :, where])
    assert np.isnan(mixed[~panel.observed]).all()
    bars = Bars({name: panel.field(name) for name in panel.fields}, panel.observed)
    for column, factor in enumerate(factors):
        with np.errstate(all="ignore"):
            alone: npt.NDArray[np.float64] = factor.compute(bars)
        found = alone.astype(np.float32)[panel.observed]
        np.testing.assert_array_equal(found, mixed[:, :, column][panel.observed])
