"""Adjusted prices: against a plain loop, and blind to what comes later."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from quantlit.core import ConfigError, DataError
from quantlit.panel import ColumnMap, FrameSource, RawPanel, ReturnColumn

FRACTION = ReturnColumn(column="r", unit="fraction")
ADJUSTED = ColumnMap(adjusted_close="adj")


@pytest.fixture
def market() -> pd.DataFrame:
    """120 bars of 6 assets with gaps, splits and dividends; the raw price and the true return."""
    rng = np.random.default_rng(3)
    rows = []
    for asset in range(6):
        close = 10.0 * (asset + 1)
        for bar, date in enumerate(pd.bdate_range("2020-01-01", periods=120)):
            if rng.random() < 0.1 or bar < 5 * asset:
                continue
            growth = 1.0 + 0.03 * rng.standard_normal()
            split = 2.0 if rng.random() < 0.02 else 1.0
            dividend = 0.02 if rng.random() < 0.05 else 0.0
            close = close * growth * (1.0 - dividend) / split
            rows.append(
                {
                    "date": date,
                    "symbol": f"A{asset}",
                    "open": close * 0.99,
                    "high": close * 1.02,
                    "low": close * 0.97,
                    "close": close,
                    "vwap": close * 1.001,
                    "volume": 1000.0,
                    "amount": 1000.0 * close,
                    "r": growth - 1.0,
                }
            )
    return pd.DataFrame(rows)


def plain(market: pd.DataFrame) -> pd.Series[float]:
    """Adjusted closes, one row after the other."""
    last: dict[str, float] = {}
    closes = []
    for row in market.itertuples():
        symbol, close, growth = str(row.symbol), float(str(row.close)), float(str(row.r))
        last[symbol] = last[symbol] * (1.0 + growth) if symbol in last else close
        closes.append(last[symbol])
    return pd.Series(closes, index=market.index)


def dense(raw: RawPanel, frame: pd.DataFrame, values: pd.Series[float]) -> npt.NDArray[np.float64]:
    table = frame.assign(value=values).pivot(index="date", columns="symbol", values="value")
    assert list(table.columns) == raw.symbols
    return table.to_numpy(np.float64)


def field(raw: RawPanel, name: str) -> npt.NDArray[np.float32]:
    return raw.values[:, :, raw.fields.index(name)]


def test_compounding_is_the_plain_loop(market: pd.DataFrame) -> None:
    raw = FrameSource(market, returns=FRACTION).load()
    adjusted = plain(market)
    ratio = adjusted / market["close"]
    assert raw.fields == ["open", "high", "low", "close", "volume", "amount", "vwap", "factor"]
    expected = {
        "close": adjusted,
        "factor": ratio,
        "volume": market["volume"] / ratio,
        "amount": market["amount"],
        **{name: market[name] * ratio for name in ("open", "high", "low", "vwap")},
    }
    for name, values in expected.items():
        np.testing.assert_allclose(field(raw, name), dense(raw, market, values), rtol=1e-6)


@pytest.mark.parametrize("unit", ["percent", "log"])
def test_units_of_returns(market: pd.DataFrame, unit: str) -> None:
    r = market["r"] * 100.0 if unit == "percent" else np.log1p(market["r"])
    returns = ReturnColumn(column="r", unit=unit)  # type: ignore[arg-type]
    np.testing.assert_allclose(
        FrameSource(market.assign(r=r), returns=returns).load().values,
        FrameSource(market, returns=FRACTION).load().values,
        rtol=1e-6,
    )


def test_adjusted_close_scales_the_same(market: pd.DataFrame) -> None:
    """A vendor's series, adjusted backward from the last bar, gives the same forward prices."""
    closes = plain(market)
    last = closes.groupby(market["symbol"]).transform("last")
    vendor = market.assign(adj=closes / last * 55.0)
    np.testing.assert_allclose(
        FrameSource(vendor, columns=ADJUSTED).load().values,
        FrameSource(market, returns=FRACTION).load().values,
        rtol=1e-6,
    )


def test_a_later_split_changes_no_earlier_price(market: pd.DataFrame) -> None:
    """The vendor halves every past adjusted close when a split comes; the store does not."""
    cut = market["date"] < pd.Timestamp("2020-04-01")
    closes = plain(market)
    before = FrameSource(market.assign(adj=closes)[cut], columns=ADJUSTED).load()
    after = FrameSource(market.assign(adj=closes.where(~cut, closes / 2)), columns=ADJUSTED).load()
    n_bars = len(before.dates)
    np.testing.assert_array_equal(before.values, after.values[:n_bars])


@pytest.mark.parametrize("source", ["returns", "adjusted"])
def test_the_future_moves_no_price(market: pd.DataFrame, source: str) -> None:
    market = market.assign(adj=plain(market))
    cut = (market["date"] >= pd.Timestamp("2020-04-01")).to_numpy()
    poisoned = market.copy()
    poisoned.loc[cut, ["open", "close", "adj"]] = 1e6
    poisoned.loc[cut, "r"] = 0.5

    def prices(frame: pd.DataFrame) -> RawPanel:
        if source == "returns":
            return FrameSource(frame, returns=FRACTION).load()
        return FrameSource(frame, columns=ADJUSTED).load()

    clean = prices(market)
    n_bars = int(np.searchsorted(clean.dates, np.datetime64("2020-04-01")))
    assert 0 < n_bars < len(clean.dates)
    np.testing.assert_array_equal(prices(poisoned).values[:n_bars], clean.values[:n_bars])
    np.testing.assert_array_equal(prices(market[~cut]).values, clean.values[:n_bars])


def test_unadjusted_prices_stay_as_they_are(market: pd.DataFrame) -> None:
    raw = FrameSource(market).load()
    assert "factor" not in raw.fields
    np.testing.assert_array_equal(
        field(raw, "close"), dense(raw, market, market["close"]).astype(np.float32)
    )


def test_a_first_bar_needs_no_return(market: pd.DataFrame) -> None:
    blank = market["r"].mask(~market["symbol"].duplicated())
    assert blank.isna().sum() == 6
    np.testing.assert_array_equal(
        FrameSource(market.assign(r=blank), returns=FRACTION).load().values,
        FrameSource(market, returns=FRACTION).load().values,
    )


def test_an_unseen_bar_is_skipped(market: pd.DataFrame) -> None:
    """A row without a close is no bar: its return is not compounded."""
    row = 30
    gap = market.assign(close=market["close"].mask(market.index == row))
    np.testing.assert_array_equal(
        FrameSource(gap, returns=FRACTION).load().values,
        FrameSource(market.drop(index=row), returns=FRACTION).load().values,
    )


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("r", np.nan, r"row 30 \(A0, .*'r' is empty, .* a return above -100 % \(read as frac"),
        ("r", 1e38, r"row 30 \(A0, .*'r' holds .* returns that compound to a finite price"),
        ("r", -1.0, r"row 30 \(A0, .*column 'r' holds '-1.0', .* a return above -100 %"),
        ("close", 0.0, "row 30 .*column 'close' holds '0.0', and a price is above 0"),
    ],
)
def test_impossible_returns(market: pd.DataFrame, column: str, value: float, message: str) -> None:
    market.loc[30, column] = value
    with pytest.raises(DataError, match=message):
        FrameSource(market, returns=FRACTION).load()


@pytest.mark.parametrize("value", [np.nan, -5.0])
def test_impossible_adjusted_closes(market: pd.DataFrame, value: float) -> None:
    vendor = market.assign(adj=market["close"].mask(market.index == 30, value))
    with pytest.raises(DataError, match="row 30 .*column 'adj' .* needs a price above 0"):
        FrameSource(vendor, columns=ADJUSTED).load()


def test_settings_that_exclude_each_other(market: pd.DataFrame) -> None:
    with pytest.raises(ConfigError, match=r"Both returns \(r\) and columns.adjusted_close \(adj\)"):
        FrameSource(market, columns=ADJUSTED, returns=FRACTION)
    with pytest.raises(ConfigError, match="columns.close is null, but prices are to be adjusted"):
        FrameSource(market, columns=ColumnMap(close=None), returns=FRACTION)
