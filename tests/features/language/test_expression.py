"""Expression as a factor: names, values, keys, the list of a configuration, and a whole run."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from jsonargparse import auto_cli
from tiny_run import config, load_checkpoint, run, write

import quantlit.features.language as language
from quantlit.core import ConfigError
from quantlit.features import (
    Bars,
    Beta,
    Distance,
    Expression,
    Factor,
    MaxReturn,
    Return,
    Skewness,
    Volatility,
    VolumeCorrelation,
    cache,
    compute_factors,
    resolve_factors,
)
from quantlit.panel import Panel

Fields = dict[str, npt.NDArray[np.float64]]
Market = tuple[Fields, npt.NDArray[np.bool_]]
MakePanel = Callable[[Fields, npt.NDArray[np.bool_]], Panel]
OHLCV = ["open", "high", "low", "close", "volume"]


@pytest.mark.parametrize(
    ("factor", "text"),
    [
        (Return(window=5), "close / delay(last(close), 5) - 1"),
        (Return(window=5), "returns(close, 5)"),
        (Volatility(window=20), "ts_std(ret, 20)"),
        (Skewness(window=20), "ts_skew(ret, 20)"),
        (MaxReturn(window=20), "ts_max(ret, 20)"),
        (Distance(window=5), "close / ts_mean(close, 5) - 1"),
        (Beta(window=60), "ts_beta(ret, market, 60)"),
        (VolumeCorrelation(window=20), "ts_corr(close, log(volume), 20)"),
    ],
)
def test_equals_the_shipped_factor_bit_for_bit(factor: Factor, text: str, market: Market) -> None:
    fields, observed = market
    with np.errstate(all="ignore"):
        wanted = np.where(observed, factor.compute(Bars(fields, observed)), np.nan)
    found = np.where(observed, Expression(text=text).compute(Bars(fields, observed)), np.nan)
    assert np.isfinite(found).mean() > 0.5
    np.testing.assert_array_equal(found, wanted)


def test_the_calendar_is_followed_and_only_last_carries() -> None:
    close = np.array([[10.0], [11.0], [np.nan], [12.0]])
    bars = Bars({"close": close}, np.isfinite(close))
    strict = Expression(text="delay(close, 1)").compute(bars)[:, 0]
    carried = Expression(text="delay(last(close), 1)").compute(bars)[:, 0]
    np.testing.assert_array_equal(strict, [np.nan, 10.0, 11.0, np.nan])
    np.testing.assert_array_equal(carried, [np.nan, 10.0, 11.0, 11.0])


def test_name_fields_and_text() -> None:
    named = Expression(text="size = log( close*volume )")
    assert (named.name, named.text) == ("size", "log(close * volume)")
    assert named.fields == ("close", "volume")
    assert Expression(text="(close/open) - 1").name == "close / open - 1"
    assert Expression(text="close / open", name="gap").name == "gap"
    assert Expression(text="gap = close / open", name="gap").name == "gap"
    assert Expression(text="ret + `adj close`").fields == ("adj close", "close")


def test_an_expression_is_a_value() -> None:
    one, same = Expression(text="a = close/ open"), Expression(text="(close / open)", name="a")
    assert one == same
    assert hash(one) == hash(same)
    assert one != Expression(text="b = close / open")
    assert one != Expression(text="close / open")
    assert one != Return(window=1)
    assert repr(one) == "Expression(text='close / open', name='a')"
    assert repr(Expression(text="close/open")) == "Expression(text='close / open')"
    assert pickle.loads(pickle.dumps(one)) == one
    assert vars(one) == {"_text": "close / open", "_name": "a"}


def test_two_names_or_none() -> None:
    with pytest.raises(ConfigError, match="names itself 'a', and name is 'b'; give one"):
        Expression(text="a = close / open", name="b")
    with pytest.raises(ConfigError, match="has an empty name"):
        Expression(text="close / open", name=" ")


# ------------------------------------------------------------------------ in a list


def test_a_list_mixes_names_sets_and_formulas() -> None:
    entries = ["return_1", "(close / delay(close, 5)) - 1", "m = rank(close)", "m = rank( close )"]
    factors = resolve_factors([*entries, "price"], OHLCV)
    assert [factor.name for factor in factors[:4]] == [
        "return_1",
        "close / delay(close, 5) - 1",
        "m",
        "return_2",
    ]


def test_a_misspelt_name_is_still_a_misspelt_name() -> None:
    with pytest.raises(ConfigError, match="no factor or set of factors named 'volatilty_20'. Did"):
        resolve_factors(["volatilty_20"], OHLCV)
    with pytest.raises(ConfigError, match="no factor or set of factors named 'close'"):
        resolve_factors(["close"], OHLCV)


def test_an_unknown_field_is_pointed_at() -> None:
    with pytest.raises(ConfigError, match="no field 'clsoe'. Did you mean close") as caught:
        resolve_factors(["m = close/delay(clsoe, 5)"], OHLCV)
    _, shown, pointer = str(caught.value).split("\n")
    assert shown == "    close / delay(clsoe, 5)"
    assert pointer == "    " + " " * 14 + "^"
    with pytest.raises(ConfigError, match="no field 'close'") as caught:
        resolve_factors(["ts_mean(ret, 5)"], ["price"])
    assert str(caught.value).endswith("    " + " " * 8 + "^")


def test_one_name_for_two_formulas() -> None:
    with pytest.raises(ConfigError, match="Two different factors are named 'm'"):
        resolve_factors(["m = close / open", "m = open / close"], OHLCV)


def test_yaml_gives_formulas_and_class_paths(tmp_path: Path) -> None:
    def take(*, factors: list[str | Factor]) -> list[str | Factor]:
        return factors

    file = tmp_path / "config.yaml"
    file.write_text(
        """
factors:
  - price
  - (close / delay(close, 5)) - 1
  - "momentum = rank(close / delay(close, 20) - 1)"
  - up = close > open and volume > 0
  - class_path: quantlit.features.Expression
    init_args: {text: "ts_mean(ret, 5)", name: drift}
  - class_path: quantlit.features.Expression
    init_args: {text: "ts_mean(ret, 7)"}
"""
    )
    names = [f.name for f in resolve_factors(auto_cli(take, args=["--config", str(file)]), OHLCV)]
    assert names[-5:] == [
        "close / delay(close, 5) - 1",
        "momentum",
        "up",
        "drift",
        "ts_mean(ret, 7)",
    ]


# --------------------------------------------------------------------- in the cache


def test_the_key_is_the_canonical_definition(market: Market, make_panel: MakePanel) -> None:
    panel = make_panel(*market)

    def key(text: str) -> str:
        return cache.cache_key(panel, [Expression(text=text)])

    assert key("close/delay(close,5)") == key("( close / delay( close, 5.0 ) )")
    assert key("close / delay(close, 5)") != key("close / delay(close, 6)")
    assert key("a = close / open") != key("b = close / open")


def test_the_key_is_the_same_in_another_process(market: Market, make_panel: MakePanel) -> None:
    panel = make_panel(*market)
    code = (
        "import sys; from quantlit.features import Expression, cache; from quantlit.panel import "
        "Panel; print(cache.cache_key(Panel.open(sys.argv[1]), [Expression(text='rank(close)')]))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, str(panel.path)], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == cache.cache_key(panel, [Expression(text="rank(close)")])


def test_the_key_holds_every_module_of_the_language(
    market: Market, make_panel: MakePanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {path.stem for path in Path(str(language.__file__)).parent.glob("*.py")}
    named = {module.rpartition(".")[2] for module in Expression.modules}
    # Messages and checks refuse a text; they change no value.
    assert named == files - {"__init__", "expression", "complaints", "checks"}
    panel = make_panel(*market)
    before = cache.cache_key(panel, [Expression(text="rank(close)")])
    monkeypatch.setattr(Expression, "modules", Expression.modules[1:])
    assert cache.cache_key(panel, [Expression(text="rank(close)")]) != before


def test_values_are_kept_with_their_definitions(market: Market, make_panel: MakePanel) -> None:
    panel = make_panel(*market)
    factors = resolve_factors(["m = rank(close / delay(close, 20) - 1)", "return_1"], panel.fields)
    found = compute_factors(panel, factors)
    (description,) = (panel.path / "cache").glob("*.json")
    assert "rank(close / delay(close, 20) - 1)" in description.read_text()
    np.testing.assert_array_equal(compute_factors(panel, factors, cache=False), found)
    assert np.nanmax(found[:, :, 0]) == 1.0


# ---------------------------------------------------------------------- in a run


def test_fit_trains_on_formulas(tiny_store: Path, tmp_path: Path) -> None:
    factors = ["return_1", "(close / delay(close, 5)) - 1", "calm = rank(-ts_std(ret, 5))"]
    file = write(
        tmp_path / "formulas.yaml",
        config(tiny_store, tmp_path, data__init_args__factors=factors, trainer__max_epochs=1),
    )
    assert run("fit", "--config", file) == 0
    folder = tmp_path / "tiny" / "version_0"
    names = ["return_1", "close / delay(close, 5) - 1", "calm"]
    checkpoint = next((folder / "checkpoints").glob("*.ckpt"))
    assert load_checkpoint(checkpoint)["PanelDataModule"]["factors"] == names
    assert run("test", "--ckpt_path", folder) == 0


def test_a_wrong_formula_ends_in_one_message(
    tiny_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = config(tiny_store, tmp_path, data__init_args__factors=["delay(close, -1) / close"])
    assert run("fit", "--config", write(tmp_path / "wrong.yaml", content)) == 1
    said = capsys.readouterr().err
    assert "would look into the future" in said
    assert "delay(close, -1) / close" in said
    assert "Traceback" not in said
