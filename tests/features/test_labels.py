"""Forward returns by hand and against pandas: delay, horizon, suspension, limits, the end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from quantlit.core import ConfigError
from quantlit.features import LabelSpec, forward_returns
from quantlit.panel import Panel

Fields = dict[str, npt.NDArray[np.float64]]
Market = tuple[Fields, npt.NDArray[np.bool_]]
MakePanel = Callable[[Fields, npt.NDArray[np.bool_]], Panel]

CLOSES = [10.0, 11.0, 12.1, 9.68, 9.68, 19.36]


def _panel(make_panel: MakePanel, closes: list[float]) -> Panel:
    close = np.array(closes)[:, None]
    return make_panel({"close": close, "open": close * 2.0}, np.isfinite(close))


@pytest.mark.parametrize(
    ("delay", "horizon", "wanted"),
    [
        (0, 1, [0.1, 0.1, -0.2, 0.0, 1.0, np.nan]),
        (1, 1, [0.1, -0.2, 0.0, 1.0, np.nan, np.nan]),
        (1, 3, [-0.12, 0.6, np.nan, np.nan, np.nan, np.nan]),
        (2, 9, [np.nan] * 6),
    ],
)
def test_by_hand(delay: int, horizon: int, wanted: list[float], make_panel: MakePanel) -> None:
    spec = LabelSpec(horizons=[horizon], delay=delay)
    labels = forward_returns(_panel(make_panel, CLOSES), spec)
    assert labels.dtype == np.float32
    assert labels.shape == (6, 1, 1)
    np.testing.assert_allclose(labels[:, 0, 0], wanted, atol=1e-6)


def test_a_suspended_bar_has_no_price(make_panel: MakePanel) -> None:
    """Neither a stale price nor the jump at the resumption becomes a label."""
    panel = _panel(make_panel, [10.0, 11.0, np.nan, 12.0, 0.0, 12.0])
    labels = forward_returns(panel, LabelSpec(horizons=[1, 2], delay=0))
    nothing = [np.nan, np.nan]
    wanted = [[0.1, np.nan], [np.nan, 1 / 11], nothing, [np.nan, 0.0], nothing, nothing]
    np.testing.assert_allclose(labels[:, 0], wanted, atol=1e-6)


def test_horizons_equal_pandas(market: Market, make_panel: MakePanel) -> None:
    fields, observed = market
    spec = LabelSpec(horizons=[5, 1, 20], delay=1, price="open")
    labels = forward_returns(make_panel(fields, observed), spec)
    opens = pd.DataFrame(fields["open"])
    for column, horizon in enumerate(spec.horizons):
        wanted = opens.shift(-1 - horizon) / opens.shift(-1) - 1.0
        np.testing.assert_allclose(labels[:, :, column], wanted, atol=1e-6)


def test_clip(make_panel: MakePanel) -> None:
    labels = forward_returns(_panel(make_panel, CLOSES), LabelSpec(delay=0, clip=0.15))
    np.testing.assert_allclose(labels[:, 0, 0], [0.1, 0.1, -0.15, 0.0, 0.15, np.nan], atol=1e-6)


def test_an_entry_locked_at_its_limit_is_untradeable(make_panel: MakePanel) -> None:
    """The limit is judged on the entry bar's own return, also from before a suspension."""
    closes = [10.0, 11.0, 11.2, np.nan, 10.08, 10.5, 10.6]
    labels = forward_returns(_panel(make_panel, closes), LabelSpec(delay=0, limit=0.1))
    known = [True, False, False, False, False, True, False]  # 11.0 up, 10.08 down by a tenth
    np.testing.assert_array_equal(np.isfinite(labels[:, 0, 0]), known)
    late = forward_returns(_panel(make_panel, closes), LabelSpec(delay=1, limit=0.1))
    np.testing.assert_array_equal(np.isfinite(late[:, 0, 0]), [*known[1:], False])


def test_tomorrows_return_is_worth_nothing_after_the_delay(make_panel: MakePanel) -> None:
    rng = np.random.default_rng(0)
    close = 10.0 * np.exp(np.cumsum(0.02 * rng.standard_normal((200, 50)), axis=0))
    panel = make_panel({"close": close}, np.ones(close.shape, dtype=np.bool_))
    oracle = (close[1:] / close[:-1] - 1.0)[:-2].ravel()
    for delay, wanted in ((0, 1.0), (1, 0.0)):
        label = forward_returns(panel, LabelSpec(delay=delay))[:-3, :, 0].ravel()
        assert np.corrcoef(oracle, label)[0, 1] == pytest.approx(wanted, abs=0.03)


def test_span_and_end() -> None:
    spec = LabelSpec(horizons=[1, 5], delay=1)
    assert spec.span == 6
    assert spec.label_end(10) == 16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"horizons": []}, r"label.horizons is \[\]; give numbers of bars >= 1"),
        ({"horizons": [0]}, r"label.horizons is \[0\]"),
        ({"horizons": [2, 2]}, r"label.horizons is \[2, 2\]; give each horizon once"),
        ({"delay": -1}, r"label.delay is -1; a negative delay enters before the decision"),
        ({"clip": 0.0}, r"label.clip is 0.0; give a return above 0, or null"),
        ({"limit": -0.1}, r"label.limit is -0.1"),
    ],
)
def test_impossible_settings(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        LabelSpec(**arguments)  # type: ignore[arg-type]
