"""Names, sets, the settings' errors and the cache key of Qlib's factors."""

from __future__ import annotations

import pkgutil

import pytest
from alpha_market import alpha_market
from suspended_market import MakePanel

from quantlit.core import ConfigError
from quantlit.features import AlphaFactor, alpha, cache, factor_sets, resolve_factors
from quantlit.features.alpha import alpha158, alpha360

OHLCV = ["open", "high", "low", "close", "volume"]


def test_alpha158_has_qlibs_names_in_qlibs_order() -> None:
    names = [factor.name for factor in alpha158()]
    assert len(names) == len(set(names)) == 158
    assert " ".join(names[:14]) == (
        "KMID KLEN KMID2 KUP KUP2 KLOW KLOW2 KSFT KSFT2 OPEN0 HIGH0 LOW0 VWAP0 ROC5"
    )
    assert names[13::5] == [f"{stem}5" for stem in alpha.sets.ROLLING]
    assert names[-5:] == ["VSUMD5", "VSUMD10", "VSUMD20", "VSUMD30", "VSUMD60"]


def test_alpha360_has_qlibs_names_in_qlibs_order() -> None:
    names = [factor.name for factor in alpha360()]
    stems = ["CLOSE", "OPEN", "HIGH", "LOW", "VWAP", "VOLUME"]
    assert names == [f"{stem}{age}" for stem in stems for age in range(59, -1, -1)]


def test_sets_and_single_names_resolve() -> None:
    factors = resolve_factors(["ROC20", "KMID", "CLOSE59", "alpha158"], [*OHLCV, "vwap"])
    assert [factor.name for factor in factors[:4]] == ["ROC20", "KMID", "CLOSE59", "KLEN"]
    assert len(factors) == 159
    assert resolve_factors(["ROC20"], ["close"]) == [AlphaFactor(stem="ROC", window=20)]
    both = resolve_factors(["alpha158", "alpha360"], [*OHLCV, "vwap"])
    assert len(both) == 158 + 360 - 4  # OPEN0, HIGH0, LOW0 and VWAP0 are in both


@pytest.mark.parametrize("name", ["alpha158", "alpha360", "VWAP0"])
def test_without_a_vwap_the_remedy_is_named(name: str) -> None:
    with pytest.raises(
        ConfigError,
        match=r"The factor VWAP\d+ needs the field vwap, but the panel has open, .* can stand in: "
        r"name the set alpha158_ohlc4 or alpha360_ohlc4, or give the factor with vwap: ohlc4",
    ):
        resolve_factors([name], OHLCV)


@pytest.mark.parametrize("name", ["alpha158", "alpha360"])
def test_the_mean_price_is_taken_where_it_is_asked_for(name: str) -> None:
    factors = resolve_factors([f"{name}_ohlc4"], OHLCV)
    assert [factor.name for factor in factors] == [each.name for each in factor_sets()[name]]
    assert factors != factor_sets()[name]
    with pytest.raises(ConfigError, match="Two different factors are named 'VWAP"):
        resolve_factors([name, f"{name}_ohlc4"], [*OHLCV, "vwap"])


def test_an_unknown_name_lists_sets_and_near_names_alone() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_factors(["ROCC20"], OHLCV)
    message = str(caught.value)
    assert "Did you mean ROC20" in message
    assert "The sets are price, price_volume, alpha158, alpha158_ohlc4, alpha360, " in message
    assert "VSUMD60" not in message


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stem": "RCO", "window": 5}, "no alpha factor with the stem 'RCO'. Did you mean ROC"),
        ({"stem": "QQQQ"}, "no alpha factor with the stem 'QQQQ'.$"),
        ({"stem": "KMID", "window": 5}, "KMID has window 5; it takes none"),
        ({"stem": "ROC"}, "ROC has window None; give at least 1"),
        ({"stem": "MA", "window": 0}, "MA has window 0; give at least 1"),
        ({"stem": "CLOSE", "window": -1}, "CLOSE has window -1; give at least 0"),
        ({"stem": "ROC", "window": 5, "vwap": "ohlc4"}, "ROC has vwap 'ohlc4'; VWAP takes"),
        ({"stem": "VWAP", "window": 0, "vwap": "hl2"}, "VWAP has vwap 'hl2'; VWAP takes 'field'"),
    ],
)
def test_settings_that_do_not_fit(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        AlphaFactor(**settings)  # type: ignore[arg-type]


def test_factors_are_values_of_any_window() -> None:
    factor = AlphaFactor(stem="BETA", window=15)
    assert (factor.name, factor.lookback, factor.fields) == ("BETA15", 14, ("close",))
    assert factor == AlphaFactor(stem="BETA", window=15) != AlphaFactor(stem="BETA", window=16)
    assert AlphaFactor(stem="ROC", window=15).lookback == 15
    assert AlphaFactor(stem="KMID").lookback == 0


def test_the_cache_key_holds_settings_and_every_kernel(make_panel: MakePanel) -> None:
    panel = make_panel(*alpha_market())
    members: list[AlphaFactor] = [
        AlphaFactor(stem="ROC", window=5),
        AlphaFactor(stem="ROC", window=6),
        AlphaFactor(stem="CLOSE", window=5),
        AlphaFactor(stem="VWAP", window=5),
        AlphaFactor(stem="VWAP", window=5, vwap="ohlc4"),
    ]
    assert len({cache.cache_key(panel, [member]) for member in members}) == len(members)
    modules = {f"{alpha.__name__}.{each.name}" for each in pkgutil.iter_modules(alpha.__path__)}
    own = {f"{alpha.__name__}.factor", f"{alpha.__name__}.sets"}
    assert set(AlphaFactor.modules) == modules - own
