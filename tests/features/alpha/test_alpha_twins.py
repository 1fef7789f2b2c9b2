"""Every factor of Alpha158 and Alpha360 against a plain twin, at suspended bars too."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from alpha_market import alpha_market, compute_all
from alpha_twins import TWINS

from quantlit.features import AlphaFactor, Bars
from quantlit.features.alpha import alpha158, alpha360

FIELDS, OBSERVED = alpha_market()
STEMS = list(dict.fromkeys(factor.stem for factor in [*alpha158(), *alpha360()]))


def _twin(factor: AlphaFactor) -> npt.NDArray[np.float64]:
    """``[T, N]``, infinite values as NaN."""
    wanted = np.full(OBSERVED.shape, np.nan)
    for asset in range(OBSERVED.shape[1]):
        first = int(OBSERVED[:, asset].argmax())
        frame = pd.DataFrame(
            {name: values[first:, asset].astype(np.float32) for name, values in FIELDS.items()}
        )
        wanted[first:, asset] = TWINS[factor.stem](frame, factor.window or 0)
    return np.where(np.isfinite(wanted), wanted, np.nan)


@pytest.mark.parametrize("stem", STEMS)
def test_every_factor_equals_its_twin(stem: str) -> None:
    factors = [each for each in dict.fromkeys([*alpha158(), *alpha360()]) if each.stem == stem]
    found = compute_all(factors, Bars(FIELDS, OBSERVED))
    for column, factor in enumerate(factors):
        with np.errstate(all="ignore"):
            wanted = _twin(factor)
        begun = np.maximum.accumulate(OBSERVED)
        assert np.isfinite(wanted[OBSERVED]).mean() > 0.5
        np.testing.assert_allclose(
            found[:, :, column][begun], wanted[begun], rtol=2e-5, atol=2e-6, err_msg=factor.name
        )


def test_every_stem_has_a_twin() -> None:
    assert set(STEMS) == set(TWINS)
    assert len({factor.name for factor in [*alpha158(), *alpha360()]}) == 158 + 360 - 4


def test_the_mean_of_four_prices_stands_in() -> None:
    prices = {name: FIELDS[name] for name in ("open", "high", "low", "close")}
    vwap = np.sum(list(prices.values()), axis=0) / 4.0
    bars = Bars(prices, OBSERVED)
    [factor] = [each for each in alpha158("ohlc4") if each.stem == "VWAP"]
    wanted = (vwap / FIELDS["close"]).astype(np.float32)
    np.testing.assert_array_equal(compute_all([factor], bars)[:, :, 0], wanted)
    lagged = AlphaFactor(stem="VWAP", window=7, vwap="ohlc4")
    found = compute_all([lagged], bars)[7:, :, 0]
    np.testing.assert_array_equal(found, (vwap[:-7] / FIELDS["close"][7:]).astype(np.float32))


def test_windows_without_a_move_have_no_spread() -> None:
    """Named as ill-conditioned: Qlib divides the rounding left in its running variance by 1e-12.

    Where no bar of a window has a return, Qlib's WVMA is that residue (4.8e7 on csi800), and ours
    is the 0 of a variance summed anew.
    """
    close = np.array([3.8365545, *[3.8158371] * 7])[:, None]
    volume = np.array([49198.5, 26097.0, 19359.9, 31121.7, 34748.4, 34467.8, 25159.0, 48531.6])
    bars = Bars({"close": close, "volume": volume[:, None]}, np.isfinite(close))
    with np.errstate(all="ignore"):
        found = AlphaFactor(stem="WVMA", window=5).compute(bars)[:, 0]
    assert found[5] == pytest.approx(5**0.5, rel=1e-6)
    assert found[6] == found[7] == 0.0
