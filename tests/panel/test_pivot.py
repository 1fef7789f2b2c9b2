"""Long to dense, against pandas' own pivot."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from long_table import bar_table

from quantlit.core import ConfigError, DataError
from quantlit.panel import ColumnMap, FrameSource


@pytest.fixture
def bars() -> pd.DataFrame:
    return bar_table()


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """Long tables: a subset of dates x symbols in any order, with empty closes."""
    n_dates, n_symbols = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    cells = st.tuples(st.integers(0, n_dates - 1), st.integers(0, n_symbols - 1))
    keys = draw(st.lists(cells, min_size=1, unique=True))
    price = st.floats(0.5, 1e6, width=32) | st.just(float("nan"))
    n_rows = len(keys)
    days = pd.bdate_range("2021-01-01", periods=n_dates)
    return pd.DataFrame(
        {
            "date": [days[bar] for bar, _ in keys],
            "symbol": [f"S{asset}" for _, asset in keys],
            "close": draw(st.lists(price, min_size=n_rows, max_size=n_rows)),
            "volume": draw(st.lists(price, min_size=n_rows, max_size=n_rows)),
        }
    )


@settings(deadline=None, max_examples=60)
@given(tables())
def test_as_pandas_pivots(table: pd.DataFrame) -> None:
    if table["close"].isna().all():
        with pytest.raises(DataError, match="no row is left that has a close"):
            FrameSource(table, min_assets=1).load()
        return
    raw = FrameSource(table, min_assets=1).load()
    raw.check()
    for column, name in enumerate(["close", "volume"]):
        wide = table.pivot(index="date", columns="symbol", values=name)
        seen = table.pivot(index="date", columns="symbol", values="close").notna()
        assert raw.symbols == list(wide.columns)
        np.testing.assert_array_equal(raw.dates, wide.index.to_numpy("datetime64[ns]"))
        np.testing.assert_array_equal(raw.observed, seen)
        np.testing.assert_array_equal(raw.values[:, :, column], wide.where(seen))


@settings(deadline=None, max_examples=30)
@given(tables(), st.randoms(use_true_random=False))
def test_a_duplicate_is_found(table: pd.DataFrame, random: object) -> None:
    row = random.randrange(len(table))  # type: ignore[attr-defined]
    twice = pd.concat([table, table.iloc[[row]]], ignore_index=True)
    symbol, date = table["symbol"].iloc[row], table["date"].iloc[row]
    places = f"frame, row {row} and frame, row {len(table)}"
    with pytest.raises(DataError, match=f"{places}: both hold {symbol} on {date}"):
        FrameSource(twice).load()


def test_many_duplicates_are_counted(bars: pd.DataFrame) -> None:
    with pytest.raises(DataError, match=r"row 0 and frame, row 5: both hold BBB .*4 more such"):
        FrameSource(pd.concat([bars, bars])).load()


def test_a_row_without_close_is_not_observed(bars: pd.DataFrame) -> None:
    bars.loc[0, "close"] = np.nan
    raw = FrameSource(bars).load()
    assert not raw.observed[2, 1]
    assert np.isnan(raw.values[2, 1]).all()


def test_a_table_without_close(bars: pd.DataFrame) -> None:
    quotes = bars[["date", "symbol"]].assign(bid=[1.0, np.nan, 2.0, 3.0, 4.0], ask=5.0)
    with pytest.raises(DataError, match="there is no column 'close' for the close"):
        FrameSource(quotes).load()
    raw = FrameSource(quotes, columns=ColumnMap(close=None), extra=["bid", "ask"]).load()
    assert raw.fields == ["bid", "ask"]
    assert raw.observed.sum() == 5


def test_kinds_of_numbers(bars: pd.DataFrame) -> None:
    frame = bars.assign(
        close=pd.Series([Decimal("1.5"), Decimal(2), Decimal(3), Decimal(4), None], dtype="object"),
        volume=pd.array([1, 2, None, 4, 5], dtype="Int64"),
        flag=[True, False, True, True, False],
        maybe=pd.array([True, None, False, True, True], dtype="boolean"),
        text=["1", "2e3", "", " 4 ", "5"],
        category=pd.Categorical([1, 2, 2, 1, 1]),
    )
    raw = FrameSource(frame, extra=["flag", "maybe", "text", "category"]).load()
    assert raw.values[2, 1].tolist()[3:] == [1.5, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert not raw.observed[2, 0]
    cell = dict(zip(raw.fields, raw.values[0, 0].tolist(), strict=True))
    assert cell["close"] == 2.0 and cell["flag"] == 0.0 and cell["text"] == 2000.0
    assert np.isnan(cell["maybe"]) and cell["category"] == 2.0
    assert np.isnan(raw.values[1, 0, raw.fields.index("text")])


def test_kinds_of_dates(bars: pd.DataFrame) -> None:
    stamps = pd.to_datetime(bars["date"])
    expected = FrameSource(bars).load().dates
    kinds: list[pd.Series[Any]] = [
        stamps,
        stamps.dt.date,
        stamps.dt.strftime("%Y%m%d"),
        stamps.dt.strftime("%Y%m%d").astype(int),
        stamps.dt.as_unit("s"),
        stamps.dt.tz_localize("Asia/Shanghai"),
        bars["date"].astype("category"),
        bars["date"].map(datetime.datetime.fromisoformat),
    ]
    for dates in kinds:
        raw = FrameSource(bars.assign(date=dates)).load()
        assert raw.dates.dtype == np.dtype("datetime64[ns]")
        np.testing.assert_array_equal(raw.dates, expected)


def test_a_date_format(bars: pd.DataFrame) -> None:
    written = bars.assign(date=pd.to_datetime(bars["date"]).dt.strftime("%d.%m.%y"))
    raw = FrameSource(written, date_format="%d.%m.%y").load()
    np.testing.assert_array_equal(raw.dates, FrameSource(bars).load().dates)
    with pytest.raises(DataError, match=r"holds '03.01.20', which is not a date .* date_format"):
        FrameSource(written).load()
    with pytest.raises(DataError, match="not a date written in the format %d.%m.%y"):
        FrameSource(bars, date_format="%d.%m.%y").load()


def test_kinds_of_symbols(bars: pd.DataFrame) -> None:
    numbers = bars.assign(symbol=bars["symbol"].map({"AAA": 600000, "BBB": 1}))
    assert FrameSource(numbers).load().symbols == ["1", "600000"]
    category = bars.astype({"symbol": "category"})
    category["symbol"] = category["symbol"].cat.add_categories(["unused"])
    assert FrameSource(category).load().symbols == ["AAA", "BBB"]
    one = bars[bars["symbol"] == "AAA"]
    assert FrameSource(one, columns=ColumnMap(symbol=None), min_assets=1).load().symbols == [
        "asset"
    ]


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("date", "2020-13-01", "row 2: column 'date' holds '2020-13-01', which is not a date"),
        ("date", "1/2/2020", "row 2: column 'date' holds '1/2/2020', which is not a date"),
        ("date", None, "row 2: column 'date' is empty, which is not a date written as YYYY-MM-DD"),
        ("date", "1500-01-01", "row 2: column 'date' holds '1500-01-01', which is outside of 1678"),
        ("symbol", None, "row 2: column 'symbol' is empty, so the asset has no name"),
        ("symbol", "", "row 2: column 'symbol' is empty, so the asset has no name"),
        (
            "close",
            "n.a.",
            r"row 2 \(AAA, 2020-01-02\): column 'close' holds 'n.a.', which is not a",
        ),
        ("volume", np.inf, "row 2 .*: column 'volume' holds 'inf', which is beyond float32"),
        ("volume", 1e40, "row 2 .*: column 'volume' holds '1e\\+40', which is beyond float32"),
    ],
)
def test_bad_cells(bars: pd.DataFrame, column: str, value: str, message: str) -> None:
    frame = bars.astype({column: "object"})
    frame.loc[2, column] = value
    with pytest.raises(DataError, match=f"^frame(, |: ){message}"):
        FrameSource(frame).load()


def test_more_bad_cells_are_counted(bars: pd.DataFrame) -> None:
    with pytest.raises(DataError, match=r"row 0 .*'close' holds 'x'.*\(4 more such rows\.\)"):
        FrameSource(bars.assign(close="x")).load()


def test_missing_columns(bars: pd.DataFrame) -> None:
    with pytest.raises(DataError, match=r"frame: there is no column 'date' for the date; the colu"):
        FrameSource(bars.drop(columns="date")).load()
    renamed = bars.rename(columns={"close": "closes"})
    with pytest.raises(DataError, match=r"'close' for the close; .* Did you mean 'closes'\?"):
        FrameSource(renamed).load()
    with pytest.raises(DataError, match="no column 'vol' for the volume"):
        FrameSource(bars, columns=ColumnMap(volume="vol")).load()
    with pytest.raises(DataError, match="no column 'sector' for the sector"):
        FrameSource(bars, extra=["sector"]).load()
    assert FrameSource(renamed, columns=ColumnMap(close="closes")).load().fields[3] == "close"


def test_unwanted_columns(bars: pd.DataFrame) -> None:
    assert FrameSource(bars, columns=ColumnMap(volume=None)).load().fields[-1] == "close"
    for name in ("close", "vwap", "date", "return"):
        with pytest.raises(ConfigError, match=f"extra asks for '{name}', which is one of quantl"):
            FrameSource(bars, extra=[name]).load()


def test_an_empty_frame(bars: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="frame: the table is empty"):
        FrameSource(bars.iloc[:0]).load()


def test_fingerprint_of_a_frame(bars: pd.DataFrame) -> None:
    first = FrameSource(bars).fingerprint()
    assert FrameSource(bars.copy()).fingerprint() == first
    assert FrameSource(bars.assign(note="not read")).fingerprint() == first
    changed = bars.replace({"close": {11.0: 11.5}})
    others = {
        FrameSource(changed).fingerprint(),
        FrameSource(bars, columns=ColumnMap(volume=None)).fingerprint(),
        FrameSource(bars, date_format="%Y-%m-%d").fingerprint(),
    }
    assert len(others | {first}) == 4
