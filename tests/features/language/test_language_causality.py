"""No operator sees a later bar, nor one before its lookback, whatever the chunk: bit for bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, assume, given, settings
from language_market import Fields, T, compute, language_market
from language_strategies import nodes
from language_twins import CASES, TIME

from quantlit.features import Bars, Expression, compute_factors, evaluate
from quantlit.features.language.nodes import Node, spell
from quantlit.features.language.program import Program
from quantlit.panel import Panel

MakePanel = Callable[[Fields, npt.NDArray[np.bool_]], Panel]
NESTED = [
    "momentum = rank(close / delay(last(close), 20) - 1)",
    "ts_mean(rank(ts_std(ret, 5)) - rank(delay(ts_sum(x, 3), 2)), 4)",
    "neutralise(ema(where(x > 0 or y < 0, ret, -ret), 3), g)",
    "ts_corr(rank(x), regress_out(ret, market), 10) ^ 2",
    "fill(where(ts_count(ret > 0, 5) >= 3, ts_zscore(close, 8), delta(y, 1)), 4)",
]
TEXTS = [*CASES, *NESTED]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("garbage", [np.nan, 1e6])
def test_a_poisoned_future_changes_nothing(text: str, garbage: float) -> None:
    fields, observed = language_market()
    clean = compute(text, fields, observed)
    for date in (1, 33, 49, 50, 88):
        seen = observed.copy()
        seen[date + 1 :] = True
        poisoned = {name: values.copy() for name, values in fields.items()}
        for values in poisoned.values():
            values[date + 1 :] = garbage
        found = compute(text, poisoned, seen)
        np.testing.assert_array_equal(found[: date + 1], clean[: date + 1])


@pytest.mark.parametrize("text", TEXTS)
def test_a_future_that_is_not_there_changes_nothing(text: str) -> None:
    fields, observed = language_market()
    clean = compute(text, fields, observed)
    for date in (0, 1, 33, 50, 88):
        short = {name: values[: date + 1] for name, values in fields.items()}
        found = compute(text, short, observed[: date + 1])
        np.testing.assert_array_equal(found, clean[: date + 1])


def _depends_on_more(text: str, lookback: int) -> bool:
    """Whether bars before the lookback change a value: they are absent, or something else."""
    fields, observed = language_market()
    whole = compute(text, fields, observed)
    for start in (1, 20, 22, 45, 60):
        for garbage in (None, 0.25, 1e6):
            first = start if garbage is None else 0
            past = {name: values[first:].copy() for name, values in fields.items()}
            for values in past.values():
                values[: start - first] = garbage or 0.0
            seen = observed[first:].copy()
            seen[: start - first] = True
            found = compute(text, past, seen)[start - first + lookback :]
            if not np.array_equal(found, whole[start + lookback :], equal_nan=True):
                return True
    return False


@pytest.mark.parametrize("text", TEXTS)
def test_nothing_before_the_lookback_matters(text: str) -> None:
    assert not _depends_on_more(text, Expression(text=text).lookback)


@pytest.mark.parametrize("text", [text for cases in TIME.values() for text, _ in cases])
def test_the_lookback_is_no_longer_than_needed(text: str) -> None:
    """That the check above would notice one bar less."""
    assert _depends_on_more(text, Expression(text=text).lookback - 1)


@pytest.mark.parametrize("text", TEXTS)
def test_chunks_leave_no_trace(
    text: str, make_panel: MakePanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields, observed = language_market()
    panel = make_panel(fields, observed)
    factor = Expression(text=text)
    monkeypatch.setattr(evaluate, "CHUNK_CELLS", 10**9)
    whole = compute_factors(panel, [factor], cache=False)
    for bars in (1, 7, 64):
        monkeypatch.setattr(evaluate, "CHUNK_CELLS", bars * observed.shape[1])
        np.testing.assert_array_equal(compute_factors(panel, [factor], cache=False), whole)


@pytest.mark.parametrize(
    ("text", "lookback"),
    [
        ("close", 0),
        ("delay(close, 5)", 5),
        ("close / delay(close, 5) - delay(delay(close, 2), 9)", 11),
        ("ts_mean(x, 5)", 4),
        ("ts_mean(delay(x, 2), 5) + ts_std(x, 20)", 19),
        ("ts_std(ret, 20)", 19 + 21),
        ("delay(last(close), 5)", 25),
        ("returns(close, 5)", 25),
        ("fill(ts_rank(x, 4), 6)", 9),
        ("ema(x, 4)", 11),
        ("rank(where(market > 0, x, delta(x, 30)))", 30),
    ],
)
def test_the_lookback_is_the_longest_path(text: str, lookback: int) -> None:
    assert Expression(text=text).lookback == lookback


@settings(
    max_examples=250, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(nodes())
def test_any_expression_keeps_to_its_bars(node: Node) -> None:
    fields, observed = language_market()
    program = Program(node)
    assume(program.names)

    def run(first: int, last: int) -> npt.NDArray[np.float64]:
        rows = slice(first, last)
        return program.run(
            Bars({name: values[rows] for name, values in fields.items()}, observed[rows])
        )

    whole = run(0, T)
    assert not np.isinf(whole).any(), spell(node)
    np.testing.assert_array_equal(run(0, 52), whole[:52], err_msg=spell(node))
    start = 10
    found = run(start, T)[program.lookback :]
    np.testing.assert_array_equal(found, whole[start + program.lookback :], err_msg=spell(node))
