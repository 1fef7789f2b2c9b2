"""No factor sees a later bar, nor one before its lookback: bit for bit, at suspended bars too.

Qlib's sets have their own file.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from quantlit.features import Bars, Factor, factor_sets

FACTORS = {
    factor.name: factor for name in ("price", "price_volume") for factor in factor_sets()[name]
}
Fields = dict[str, npt.NDArray[np.float64]]
Market = tuple[Fields, npt.NDArray[np.bool_]]

# Among others: within a suspension of asset 0, its last bar, and the bar that nobody saw.
DATES = (1, 45, 75, 89, 100, 148)


def _compute(
    factor: Factor, fields: Fields, observed: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    with np.errstate(all="ignore"):
        return factor.compute(Bars(fields, observed))


@pytest.mark.parametrize("name", FACTORS)
@pytest.mark.parametrize("garbage", [np.nan, 1e6])
def test_poisoned_future_changes_nothing(name: str, garbage: float, market: Market) -> None:
    fields, observed = market
    clean = _compute(FACTORS[name], fields, observed)
    for date in DATES:
        poisoned = {field: values.copy() for field, values in fields.items()}
        seen = observed.copy()
        seen[date + 1 :] = True
        for values in poisoned.values():
            values[date + 1 :] = garbage
        found = _compute(FACTORS[name], poisoned, seen)
        np.testing.assert_array_equal(found[: date + 1], clean[: date + 1])


@pytest.mark.parametrize("name", FACTORS)
def test_truncated_history_gives_the_same_values(name: str, market: Market) -> None:
    fields, observed = market
    whole = _compute(FACTORS[name], fields, observed)
    for date in DATES:
        short = {field: values[: date + 1] for field, values in fields.items()}
        found = _compute(FACTORS[name], short, observed[: date + 1])
        np.testing.assert_array_equal(found, whole[: date + 1])


@pytest.mark.parametrize("name", FACTORS)
def test_nothing_before_the_lookback_matters(name: str, market: Market) -> None:
    factor = FACTORS[name]
    fields, observed = market
    whole = _compute(factor, fields, observed)
    for start in (1, 17, 66):
        late = {field: values[start:] for field, values in fields.items()}
        found = _compute(factor, late, observed[start:])
        full = slice(factor.lookback, None)
        assert len(found[full]) > 0
        np.testing.assert_array_equal(found[full], whole[start:][full])


def test_the_checks_catch_a_leak(market: Market) -> None:
    class Centred(Factor):
        """Sees one bar of the future."""

        name = "centred"
        lookback = 0

        def compute(self, bars: Bars) -> npt.NDArray[np.float64]:
            close = bars["close"]
            return np.vstack([close[1:], close[-1:]])

    fields, observed = market
    short = {field: values[:76] for field, values in fields.items()}
    found = _compute(Centred(), short, observed[:76])
    assert not np.array_equal(found, _compute(Centred(), fields, observed)[:76], equal_nan=True)
