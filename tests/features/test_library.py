"""Names, sets and the errors of resolve_factors."""

from __future__ import annotations

import pytest

from quantlit.core import ConfigError
from quantlit.features import DayPosition, Return, Volatility, factor_sets, resolve_factors

OHLCV = ["open", "high", "low", "close", "volume"]


def test_sets_have_unique_names() -> None:
    for members in factor_sets().values():
        names = [factor.name for factor in members]
        assert len(set(names)) == len(names)


def test_price_needs_only_the_close() -> None:
    factors = resolve_factors(["price"], ["close"])
    assert {field for factor in factors for field in factor.fields} == {"close"}


def test_names_sets_and_factors_keep_their_order_and_count_once() -> None:
    factors = resolve_factors(
        [DayPosition(), "volatility_20", Return(window=3), "price_volume"], OHLCV
    )
    names = [factor.name for factor in factors]
    assert names[:4] == ["day_position", "volatility_20", "return_3", "return_1"]
    assert len(names) == len(set(names)) == len(factor_sets()["price_volume"]) + 1


def test_factors_are_values() -> None:
    assert Return(window=5) == Return(window=5) != Return(window=6)
    assert repr(Volatility(window=5)) == "Volatility(window=5)"


def test_an_unknown_name_names_the_nearest() -> None:
    with pytest.raises(
        ConfigError, match=r"named 'volatilty_20'. Did you mean volatility_20, .*The sets are price"
    ):
        resolve_factors(["volatilty_20"], OHLCV)


def test_a_missing_field_is_named() -> None:
    with pytest.raises(ConfigError, match=r"volume_shock_20 needs the field volume, .* has close"):
        resolve_factors(["return_1", "volume_shock_20"], ["close"])


def test_no_factors() -> None:
    with pytest.raises(ConfigError, match="No factors are given"):
        resolve_factors([], OHLCV)


def test_one_name_for_two_factors() -> None:
    class Impostor(DayPosition):
        """Another factor of the same name."""

    with pytest.raises(ConfigError, match="Two different factors are named 'day_position'"):
        resolve_factors([DayPosition(), Impostor()], OHLCV)


def test_a_window_that_is_too_short() -> None:
    with pytest.raises(ConfigError, match="volatility has window 1; give at least 2"):
        Volatility(window=1)
