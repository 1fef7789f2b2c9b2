"""Shapes of files: folders, patterns, kinds of times and of numbers, bit for bit as a frame."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from long_table import bar_table

from quantlit.core import DataError
from quantlit.panel import ColumnMap, CsvSource, FrameSource, ParquetSource, RawPanel, ReturnColumn

Source = type[CsvSource] | type[ParquetSource]
SOURCES = pytest.mark.parametrize("source", [CsvSource, ParquetSource])
HALF_ULP = 2.0**-24
NEW_YORK = "America/New_York"

bars = pytest.fixture(bar_table)


def write(frame: pd.DataFrame, path: Path, source: Source) -> str:
    """Write a frame as the kind of file that a source reads, in folders that may be missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = f"{path}{source.suffixes[0]}"
    _ = frame.to_csv(file, index=False) if source is CsvSource else frame.to_parquet(file)
    return file


def assert_same(raw: RawPanel, other: RawPanel) -> None:
    np.testing.assert_array_equal(raw.dates, other.dates)
    assert (raw.symbols, raw.fields) == (other.symbols, other.fields)
    np.testing.assert_array_equal(raw.observed, other.observed)
    np.testing.assert_array_equal(raw.values, other.values)


def field(raw: RawPanel, name: str) -> npt.NDArray[np.float32]:
    return raw.values[:, :, raw.fields.index(name)]


@pytest.mark.parametrize("end", ["csv", "csv.gz", "csv.bz2", "csv.xz", "csv.zip"])
def test_compressed_files_of_one_asset(bars: pd.DataFrame, tmp_path: Path, end: str) -> None:
    named = bars.replace({"symbol": {"AAA": "000001", "BBB": "BRK.B"}})
    for symbol, rows in named.groupby("symbol"):
        rows.drop(columns="symbol").to_csv(tmp_path / f"{symbol}.{end}", index=False)
    raw = CsvSource(str(tmp_path), columns=ColumnMap(symbol=None)).load()
    assert_same(raw, FrameSource(named).load())


@SOURCES
def test_folders_of_years_and_months(tmp_path: Path, source: Source) -> None:
    days = pd.date_range("2019-11-20", "2020-03-10", freq="9D").repeat(2)
    frame = pd.DataFrame({"date": days.astype("str"), "symbol": ["A", "B"] * (len(days) // 2)})
    frame = frame.assign(close=np.arange(1.0, len(days) + 1), year=days.year, month=days.month)
    for (year, month), rows in frame.groupby(["year", "month"]):
        path = tmp_path / "bars" / f"year={year}" / f"month={month:02d}" / "part-0"
        write(rows.drop(columns=["year", "month"]), path, source)
    raw = source(str(tmp_path / "bars"), extra=["year", "month"]).load()
    assert_same(raw, FrameSource(frame, extra=["year", "month"]).load())


@SOURCES
def test_folders_of_symbols(tmp_path: Path, source: Source) -> None:
    """Names that no folder can have are %-quoted, as Arrow writes them."""
    names = ["100%", "A&B C", "BRK/B", "x=y", "\u00c5"]
    frame = pd.DataFrame({"date": "2020-01-01", "symbol": names, "close": range(1, 6)})
    if source is ParquetSource:
        frame.to_parquet(tmp_path / "bars", partition_cols=["symbol"])
    else:
        for symbol, rows in frame.groupby("symbol"):
            path = tmp_path / "bars" / f"symbol={quote(str(symbol), safe='')}" / "bars"
            write(rows.drop(columns="symbol"), path, source)
    raw = source(str(tmp_path / "bars")).load()
    assert raw.symbols == names
    assert_same(raw, FrameSource(frame).load())


@SOURCES
def test_folders_of_dates(bars: pd.DataFrame, tmp_path: Path, source: Source) -> None:
    for date, rows in bars.groupby("date"):
        write(rows.drop(columns="date"), tmp_path / f"date={date}" / "bars", source)
    assert_same(source(str(tmp_path)).load(), FrameSource(bars).load())
    write(bars, tmp_path / "other" / "date=1999-01-01" / "symbol=ZZZ" / "bars", source)
    assert_same(source(str(tmp_path / "other")).load(), FrameSource(bars).load())


@SOURCES
def test_a_folder_of_no_value(bars: pd.DataFrame, tmp_path: Path, source: Source) -> None:
    """Hive's name of no value is an empty cell: unknown as a number, an error as a symbol."""
    nameless = "__HIVE_DEFAULT_PARTITION__"
    for symbol, sector in (("AAA", "7"), ("BBB", nameless)):
        rows = bars[bars["symbol"] == symbol]
        write(rows, tmp_path / "sectors" / f"sector={sector}" / "x", source)
        folder = symbol.replace("BBB", nameless)
        write(rows.drop(columns="symbol"), tmp_path / "symbols" / f"symbol={folder}" / "x", source)
    raw = source(str(tmp_path / "sectors"), extra=["sector"]).load()
    sectors = bars["symbol"].map({"AAA": 7.0})
    assert_same(raw, FrameSource(bars.assign(sector=sectors), extra=["sector"]).load())
    with pytest.raises(DataError, match="symbol=__HIVE.*: column 'symbol' is empty, so the asset"):
        source(str(tmp_path / "symbols")).load()
    kept = source(str(tmp_path / "symbols"), on_bad_rows="drop", min_assets=1).load()
    assert_same(kept, FrameSource(bars[bars["symbol"] == "AAA"], min_assets=1).load())


@pytest.mark.parametrize(
    ("pattern", "days"),
    [
        ("bars/2020*.csv.gz", ["2020-01-01", "2020-02-01"]),
        ("bars/202[01]-01.*", ["2020-01-01", "2021-01-01"]),
        ("bars/*/2020*", ["2020-03-01"]),
        ("bars/**/2020*.csv.gz", ["2020-01-01", "2020-02-01", "2020-03-01", "2020-04-01"]),
        ("*/deep/**/*.gz", ["2020-03-01", "2020-04-01"]),
    ],
)
def test_patterns(tmp_path: Path, pattern: str, days: list[str]) -> None:
    for name in ("2020-01", "2020-02", "2021-01", "deep/2020-03", "deep/er/2020-04"):
        path = tmp_path / "bars" / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        day = f"{name[-7:]}-01"
        pd.DataFrame({"date": day, "symbol": ["A", "B"], "close": 1.0}).to_csv(path, index=False)
    raw = CsvSource(str(tmp_path / pattern)).load()
    assert raw.dates.astype("datetime64[D]").astype("str").tolist() == days


@SOURCES
def test_hidden_files_are_passed_over(bars: pd.DataFrame, tmp_path: Path, source: Source) -> None:
    end = source.suffixes[0]
    hidden = [f".bars{end}", f"_metadata{end}", f".checkpoints/bars{end}", f"_log/deep/0{end}"]
    for name in hidden:
        (tmp_path / "bars" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "bars" / name).write_text("no bars")
    sources = [source(str(tmp_path / "bars" / path)) for path in ("", f"**/*{end}")]
    for hides in sources:
        with pytest.raises(DataError, match="the folder holds no file|no file fits this pattern"):
            hides.load()
    write(bars, tmp_path / "bars" / "deep" / "bars", source)
    for shows in sources:
        assert_same(shows.load(), FrameSource(bars).load())


@SOURCES
def test_units(bars: pd.DataFrame, tmp_path: Path, source: Source) -> None:
    bars["volume"] += 1 / 3
    path = write(bars, tmp_path / "bars", source)
    raw = source(path, units={"volume": 100, "close": 0.01}).load()
    scaled = bars.assign(volume=bars["volume"] * 100, close=bars["close"] * 0.01)
    assert_same(raw, FrameSource(scaled).load())


def market(n_bars: int) -> pd.DataFrame:
    """Random bars of four assets with gaps; r is in percent."""
    rng = np.random.default_rng(5)
    days = pd.date_range("2000-01-01", periods=n_bars).astype("str")
    frame = pd.DataFrame({"date": days.repeat(4), "symbol": list("ABCD") * n_bars})
    frame["close"] = np.tile([1e-8, 7.0, 2e7, 3e8], n_bars) * rng.lognormal(0, 0.02, len(frame))
    frame["volume"] = rng.integers(1, 1 << 40, len(frame))
    frame["adj"] = rng.lognormal(0, 0.1, len(frame))
    frame["r"] = rng.normal(0.03, 1.0, len(frame))
    return frame[rng.random(len(frame)) > 0.2].reset_index(drop=True)


def wide(frame: pd.DataFrame, values: list[float]) -> npt.NDArray[np.float64]:
    table = frame.assign(value=values).pivot(index="date", columns="symbol", values="value")
    return table.to_numpy(np.float64)


def error(found: npt.NDArray[np.floating], exact: npt.NDArray[np.float64]) -> float:
    return float(np.nanmax(np.abs(found / exact - 1.0)))


@SOURCES
def test_an_adjustment_factor_is_the_plain_loop(tmp_path: Path, source: Source) -> None:
    frame = market(100)
    first: dict[str, float] = {}
    closes, volumes, rough = [], [], []
    rows = zip(frame["symbol"], frame["close"], frame["volume"], frame["adj"], strict=True)
    for symbol, close, volume, factor in rows:
        ratio = factor / first.setdefault(symbol, factor)
        closes.append(close * ratio)
        volumes.append(volume / ratio)
        rough.append(float(np.float32(close) * np.float32(ratio)))
    path = write(frame, tmp_path / "bars", source)
    raw = source(path, columns=ColumnMap(adjustment_factor="adj")).load()
    assert raw.fields == ["close", "volume", "factor"]
    np.testing.assert_array_equal(field(raw, "volume"), wide(frame, volumes).astype(np.float32))
    exact = wide(frame, closes)
    assert error(field(raw, "close"), exact) <= HALF_ULP < error(wide(frame, rough), exact)


@SOURCES
def test_percent_compounds_in_double_precision(tmp_path: Path, source: Source) -> None:
    frame = market(800)
    growth = (1 + frame["r"] / 100).where(frame["symbol"].duplicated(), frame["close"])
    exact, rough = (
        wide(frame, growth.astype(kind).groupby(frame["symbol"]).transform(np.cumprod).tolist())
        for kind in (np.float64, np.float32)
    )
    path = write(frame, tmp_path / "bars", source)
    raw = source(path, returns=ReturnColumn(column="r", unit="percent")).load()
    assert error(field(raw, "close"), exact) <= HALF_ULP < error(rough, exact) / 4


@pytest.mark.parametrize("kind", ["csv", "double", "int32", "uint64", "decimal"])
def test_prices_of_every_size(tmp_path: Path, kind: str) -> None:
    """Each becomes the float32 that is nearest to it, in doubt the even one."""
    source = CsvSource if kind == "csv" else ParquetSource
    prices = np.array([20_000_001, 16_777_217, 2_147_483_647, 3])
    if kind in ("csv", "double"):
        prices = np.array([*prices, 123_456_789.25, 1e-9, *np.geomspace(1.3e-9, 1e9, 500)])
    days = pd.date_range("2020-01-01", periods=len(prices)).astype("str")
    frame = pd.DataFrame({"date": days, "symbol": "A", "close": prices})
    path = write(frame, tmp_path / "bars", source)
    if source is ParquetSource:
        close = pa.array(prices).cast(pa.decimal128(30, 4) if kind == "decimal" else kind)
        pq.write_table(pa.Table.from_pandas(frame).set_column(2, "close", close), path)
    raw = source(path, min_assets=1).load()
    np.testing.assert_array_equal(raw.values[:, 0, 0], prices.astype(np.float32))


@pytest.mark.parametrize("kind", ["csv", "date32", "date64", "int32", "int64"])
def test_kinds_of_days(bars: pd.DataFrame, tmp_path: Path, kind: str) -> None:
    days = pd.to_datetime(bars["date"])
    numbers = days.dt.strftime("%Y%m%d").astype(int)
    source = CsvSource if kind == "csv" else ParquetSource
    path = write(bars.assign(date=numbers), tmp_path / "bars", source)
    if source is ParquetSource:
        column = pa.array(numbers if "int" in kind else days.dt.date).cast(kind)
        pq.write_table(pa.Table.from_pandas(bars).set_column(0, "date", column), path)
    assert_same(source(path).load(), FrameSource(bars).load())


def hours() -> pd.DatetimeIndex:
    """UTC hours over both changes of New York's clocks, without the hour that it has twice."""
    spring = pd.date_range("2020-03-07 12:00", "2020-03-09 20:00", freq="h", tz="UTC")
    autumn = pd.date_range("2020-10-31 12:00", "2020-11-02 20:00", freq="h", tz="UTC")
    return pd.DatetimeIndex(spring.append(autumn).drop("2020-11-01 06:00:00+00:00"))


def written(moments: pd.DatetimeIndex, zone: str, form: str) -> list[str] | list[int]:
    if form.startswith("epoch_"):
        return moments.as_unit(form.removeprefix("epoch_")).astype("int64").tolist()  # type: ignore[arg-type]
    there = moments.tz_convert(zone)
    return [moment.isoformat(" ") if form == "iso" else moment.strftime(form) for moment in there]


@SOURCES
@pytest.mark.parametrize(
    ("zone", "form"),
    [
        *(("UTC", f"epoch_{unit}") for unit in ("s", "ms", "us", "ns")),
        *(("UTC", "iso"), ("Asia/Shanghai", "iso"), (NEW_YORK, "iso")),
        *(("UTC", "%Y-%m-%dT%H:%M:%SZ"), (NEW_YORK, "%H:%M %z %d.%m.%Y")),
    ],
)
def test_times_of_new_york(tmp_path: Path, source: Source, zone: str, form: str) -> None:
    local = hours().tz_convert(NEW_YORK).tz_localize(None)
    frame = pd.DataFrame({"date": local, "symbol": "A", "close": np.arange(1.0, len(local) + 1)})
    path = write(frame.assign(date=written(hours(), zone, form)), tmp_path / "bars", source)
    date_format = form if form.startswith("epoch_") or "%z" in form else None
    raw = source(path, date_format=date_format, timezone=NEW_YORK, min_assets=1).load()
    np.testing.assert_array_equal(raw.dates, local.to_numpy("datetime64[ns]"))
    assert_same(raw, FrameSource(frame, min_assets=1).load())


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", ["UTC", NEW_YORK, "+08:00"])
def test_parquet_times_with_a_zone(tmp_path: Path, unit: str, zone: str) -> None:
    dates = pa.array(hours().as_unit("ns")).cast(pa.timestamp(unit, zone))
    table = pa.table({"date": dates, "symbol": ["A"] * len(dates), "close": [1.0] * len(dates)})
    path = str(tmp_path / "bars.parquet")
    pq.write_table(table, path)
    for timezone in (NEW_YORK, None):
        raw = ParquetSource(path, timezone=timezone, min_assets=1).load()
        there = hours().tz_convert(timezone or zone).tz_localize(None)
        np.testing.assert_array_equal(raw.dates, there.to_numpy("datetime64[ns]"))


@SOURCES
def test_files_of_different_zones(tmp_path: Path, source: Source) -> None:
    frame = pd.DataFrame({"symbol": "A", "close": np.arange(1.0, len(hours()) + 1)})
    for name, rows, zone in (("a", slice(40), "UTC"), ("b", slice(40, None), "Asia/Shanghai")):
        dates = written(hours()[rows], zone, "iso")
        write(frame[rows].assign(date=dates), tmp_path / name, source)
    raw = source(str(tmp_path), timezone=NEW_YORK, min_assets=1).load()
    np.testing.assert_array_equal(raw.values[:, 0, 0], frame["close"])
    with pytest.raises(DataError, match=r"b\..*in the time zone \+08:00.*Set timezone"):
        source(str(tmp_path), min_assets=1).load()


def test_the_hour_that_the_clock_has_twice(tmp_path: Path) -> None:
    rows = "\n".join(f"2020-11-01T0{hour}:30:00Z,A,1" for hour in (4, 5, 6))
    (tmp_path / "bars.csv").write_text(f"date,symbol,close\n{rows}\n")
    with pytest.raises(DataError, match=r"line 3 and bars.csv, line 4: .* A on 2020-11-01 01:30"):
        CsvSource(str(tmp_path / "bars.csv"), timezone=NEW_YORK, min_assets=1).load()
