"""Every operator and series against its plain pandas twin, at every bar, observed or not."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from language_market import Array, compute, frames_of, language_market
from language_twins import CASES, SERIES_TWINS, TWINS

from quantlit.features import Expression
from quantlit.features.language import OPERATORS, operator_table
from quantlit.features.language.nodes import Apply
from quantlit.features.language.parser import parse
from quantlit.features.language.series import SERIES


@pytest.mark.parametrize("text", CASES)
def test_operator_equals_its_pandas_twin(text: str) -> None:
    fields, observed = language_market()
    found = compute(text, fields, observed)
    wanted = CASES[text](frames_of(fields)).to_numpy(dtype=float)
    assert np.isfinite(wanted).mean() > 0.3
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10)


def test_every_operator_and_series_has_a_twin() -> None:
    assert set(TWINS) == set(OPERATORS)
    assert set(SERIES_TWINS) == set(SERIES)
    for name, cases in TWINS.items():
        for text, _ in cases:
            node = parse(text).node
            assert isinstance(node, Apply)
            assert node.operator == name


def test_the_table_lists_every_operator_and_series() -> None:
    table = operator_table()
    for operator in OPERATORS.values():
        assert f"| `{operator.usage}` |" in table
        assert operator.says
    for name in SERIES:
        assert f"| `{name}` |" in table


def test_a_group_of_codes_may_itself_be_computed() -> None:
    fields, observed = language_market()
    found = compute("neutralise(y, bucket(close, 2))", fields, observed)
    half = compute("bucket(close, 2)", fields, observed)
    for t in (3, 60):
        low = half[t] == 0
        assert set(half[t][~np.isnan(half[t])]) == {0.0, 1.0}
        assert found[t][low].sum() == pytest.approx(0.0, abs=1e-12)


def test_constants_serve_as_series() -> None:
    fields, observed = language_market()
    found = compute("ts_sum(1, 3) + rank(2) + 0 * close", fields, observed)
    seen = observed.sum(axis=1)[:, None]
    wanted = np.minimum(np.arange(len(seen)) + 1, 3)[:, None] + (seen + 1) / 2 / np.maximum(seen, 1)
    wanted = np.where(observed, wanted, np.nan)
    wanted[0] = np.nan  # one bar of three
    np.testing.assert_array_equal(found, wanted)


def test_overflow_is_unknown() -> None:
    fields, observed = language_market()
    assert np.isnan(compute("exp(1000 + 0 * x)", fields, observed)).all()
    assert np.isnan(compute("x * 0 + 1e200 * 1e200", fields, observed)).all()


def test_an_equal_subexpression_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    compute_it = OPERATORS["ts_mean"].compute

    def counted(x: Array, n: int) -> Array:
        calls.append(n)
        return compute_it(x, n)

    changed = dataclasses.replace(OPERATORS["ts_mean"], compute=counted)
    monkeypatch.setitem(OPERATORS, "ts_mean", changed)
    fields, observed = language_market()
    text = "ts_mean(x, 3) / ts_mean(ts_mean( x,3 ), 4) - ts_mean(x, 3)"
    assert compute(text, fields, observed).shape == observed.shape
    assert calls == [3, 4]
    assert Expression(text=text).lookback == 5
