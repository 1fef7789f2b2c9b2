"""CsvSource and ParquetSource: files, folders, and what a bad file gets."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from jsonargparse import ArgumentParser
from long_table import bar_table

from quantlit.core import ConfigError, DataError
from quantlit.panel import (
    ColumnMap,
    CsvSource,
    FrameSource,
    PanelSource,
    ParquetSource,
    ReturnColumn,
    build_panel,
)


@pytest.fixture
def bars() -> pd.DataFrame:
    return bar_table()


Source = type[CsvSource] | type[ParquetSource]
SOURCES = pytest.mark.parametrize("source", [CsvSource, ParquetSource])


def write(frame: pd.DataFrame, path: Path, source: Source) -> Path:
    """Write a frame as the kind of file that a source reads."""
    if source is CsvSource:
        frame.to_csv(path.with_suffix(".csv"), index=False)
        return path.with_suffix(".csv")
    frame.to_parquet(path.with_suffix(".parquet"), index=False)
    return path.with_suffix(".parquet")


@SOURCES
def test_a_file_is_its_frame(bars: pd.DataFrame, tmp_path: Path, source: Source) -> None:
    path = write(bars, tmp_path / "bars", source)
    panel = build_panel(source(str(path)), tmp_path / "store")
    assert panel.checksum == build_panel(FrameSource(bars), tmp_path / "frame").checksum


@SOURCES
def test_a_folder_is_its_files(bars: pd.DataFrame, tmp_path: Path, source: Source) -> None:
    (tmp_path / "bars" / "2020").mkdir(parents=True)
    write(bars.iloc[:2], tmp_path / "bars" / "a", source)
    write(bars.iloc[2:], tmp_path / "bars" / "2020" / "b", source)
    (tmp_path / "bars" / "readme.txt").write_text("no bars")
    (tmp_path / "bars" / ".hidden.csv").write_text("no bars")
    panel = build_panel(source(str(tmp_path / "bars")), tmp_path / "store")
    assert panel.checksum == build_panel(FrameSource(bars), tmp_path / "frame").checksum


@SOURCES
def test_a_file_for_each_asset(bars: pd.DataFrame, tmp_path: Path, source: Source) -> None:
    (tmp_path / "bars").mkdir()
    for symbol, rows in bars.groupby("symbol"):
        path = tmp_path / "bars" / f"{symbol}.SH.x"
        write(rows.drop(columns="symbol"), path, source)
    raw = source(str(tmp_path / "bars"), columns=ColumnMap(symbol=None)).load()
    assert raw.symbols == ["AAA.SH", "BBB.SH"]
    np.testing.assert_array_equal(raw.values, FrameSource(bars).load().values)


@SOURCES
def test_mapped_columns(bars: pd.DataFrame, tmp_path: Path, source: Source) -> None:
    names = {"date": "trade_date", "symbol": "ts_code", "close": "Last", "volume": "vol"}
    columns = ColumnMap(date="trade_date", symbol="ts_code", close="Last", volume="vol", high=None)
    frame = bars.rename(columns=names).assign(sector=1.0)
    path = write(frame, tmp_path / "bars", source)
    raw = source(str(path), columns=columns, extra=["sector"]).load()
    assert raw.fields == ["open", "low", "close", "volume", "sector"]


@SOURCES
def test_errors_name_file_and_row(bars: pd.DataFrame, tmp_path: Path, source: Source) -> None:
    """CSV rows are counted as lines, the header being line 1; Parquet rows from 0."""
    (tmp_path / "bars").mkdir()
    write(bars.iloc[:3], tmp_path / "bars" / "a", source)
    second = write(bars.iloc[1:], tmp_path / "bars" / "b", source)
    loaded = source(str(tmp_path / "bars"))
    kind, places = ("csv", "line (3|2)") if source is CsvSource else ("parquet", "row [10]")
    message = rf"a\.{kind}, {places} and b\.{kind}, {places}: both hold AAA on 2020-01-01 .*1 more"
    with pytest.raises(DataError, match=message):
        loaded.load()
    write(bars.iloc[3:].replace({"date": {"2020-01-01": "20-01-01"}}), second, source)
    place = "line 2" if source is CsvSource else "row 0"
    with pytest.raises(DataError, match=rf"^b\.{kind}, {place}: column 'date' holds '20-01-01'"):
        loaded.load()
    write(bars.iloc[3:].drop(columns="close"), second, source)
    with pytest.raises(DataError, match=rf"^b\.{kind}: there is no column 'close' for the close"):
        loaded.load()
    write(bars.iloc[:0], second, source)
    with pytest.raises(DataError, match=rf"^b\.{kind}: the table is empty; it has a header and no"):
        loaded.load()


@SOURCES
def test_missing_files(tmp_path: Path, source: Source) -> None:
    with pytest.raises(DataError, match="there is no such file or folder"):
        source(str(tmp_path / "nothing")).load()
    with pytest.raises(DataError, match=r"the folder holds no file that ends in \."):
        build_panel(source(str(tmp_path)), tmp_path / "store")
    assert list(tmp_path.iterdir()) == []


@SOURCES
def test_files_of_another_kind(bars: pd.DataFrame, tmp_path: Path, source: Source) -> None:
    kind = "CSV table" if source is CsvSource else "readable Parquet file"
    other = tmp_path / "bars"
    for contents in (b"", b"\x00\xff\xfe" * 1000):
        other.write_bytes(contents)
        with pytest.raises(DataError, match=f"{other}: this is no {kind}"):
            source(str(other)).load()
    if source is CsvSource:
        bars.to_parquet(other)
    else:
        bars.to_csv(other)
    with pytest.raises(DataError, match=f"{other}: this is no {kind}"):
        source(str(other)).load()


def test_a_cut_parquet_file(bars: pd.DataFrame, tmp_path: Path) -> None:
    path = write(bars, tmp_path / "bars", ParquetSource)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="this is no readable Parquet file"):
        ParquetSource(str(path)).load()


CSV = """date;symbol;close;volume

2020-01-01;000001;1.5;
2020-01-01;NA;2.5;NaN

2020-01-02;000001;;null
;;;
2020-01-02;NA;3;1e3
"""


def test_csv_text(tmp_path: Path) -> None:
    """Symbols stay text, empty lines are skipped and still counted, empty cells are unknown."""
    path = tmp_path / "bars.csv"
    path.write_text(CSV, encoding="utf-8-sig")
    raw = CsvSource(str(path), separator=";").load()
    assert raw.symbols == ["000001", "NA"]
    np.testing.assert_array_equal(raw.observed, [[1, 1], [0, 1]])
    np.testing.assert_array_equal(raw.values[:, 1], [[2.5, np.nan], [3.0, 1000.0]])
    path.write_text(CSV + "2020-01-03;NA;x;1\n")
    with pytest.raises(DataError, match=r"bars\.csv, line 9 \(NA, 2020-01-03\): .* holds 'x'"):
        CsvSource(str(path), separator=";").load()
    with pytest.raises(DataError, match="no column 'date' for the date"):
        CsvSource(str(path)).load()


def test_csv_bars_within_a_day(tmp_path: Path) -> None:
    path = tmp_path / "bars.csv"
    path.write_text("date,symbol,close\n2020-01-01 09:35:00,A,1\n2020-01-01T09:40,A,2\n")
    raw = CsvSource(str(path), min_assets=1).load()
    assert [str(date)[:16] for date in raw.dates] == ["2020-01-01T09:35", "2020-01-01T09:40"]


def test_csv_compressed(bars: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "bars").mkdir()
    bars.to_csv(tmp_path / "bars" / "bars.csv.gz", index=False)
    raw = CsvSource(str(tmp_path / "bars")).load()
    np.testing.assert_array_equal(raw.values, FrameSource(bars).load().values)


def test_csv_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "bars.csv"
    path.write_bytes("date,symbol,close\n2020-01-01,\u5e73\u5b89,1\n".encode("gb18030"))
    with pytest.raises(DataError, match="this is no CSV table .*not UTF-8"):
        CsvSource(str(path)).load()


def test_path_variables(
    bars: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(bars, tmp_path / "bars", CsvSource)
    monkeypatch.setenv("BARS", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    for written in ("$BARS/bars.csv", "${BARS}/bars.csv", "~/bars.csv", str(path)):
        assert CsvSource(written).load().symbols == ["AAA", "BBB"]
    monkeypatch.delenv("BARS")
    message = r"The path \$BARS/bars.csv uses the environment variable BARS, which is not set"
    with pytest.raises(ConfigError, match=message):
        CsvSource("$BARS/bars.csv").load()


def test_fingerprint(bars: pd.DataFrame, tmp_path: Path) -> None:
    path = write(bars, tmp_path / "bars", CsvSource)
    first = CsvSource(str(path)).fingerprint()
    assert CsvSource(str(path)).fingerprint() == first
    others = {
        CsvSource(str(path), extra=["x"]).fingerprint(),
        CsvSource(str(path), separator=";").fingerprint(),
        CsvSource(str(path), columns=ColumnMap(volume=None)).fingerprint(),
        CsvSource(str(path), returns=ReturnColumn(column="r", unit="log")).fingerprint(),
    }
    os.utime(path, ns=(1, 1))
    others.add(CsvSource(str(path)).fingerprint())
    assert len(others | {first}) == 6
    with pytest.raises(DataError, match="there is no such file"):
        CsvSource(str(path) + "x").fingerprint()


def test_sources_from_yaml(bars: pd.DataFrame, tmp_path: Path) -> None:
    frame = bars.rename(columns={"close": "last"}).assign(r=1.0, sector=2.0)
    path = write(frame, tmp_path / "bars", CsvSource)
    parser = ArgumentParser(exit_on_error=False)
    parser.add_argument("--config", action="config")
    parser.add_subclass_arguments(PanelSource, "source")
    (tmp_path / "source.yaml").write_text(
        f"""
source:
  class_path: quantlit.panel.CsvSource
  init_args:
    path: {path}
    columns: {{close: last, volume: null}}
    returns: {{column: r, unit: percent}}
    extra: [sector]
"""
    )
    config = parser.instantiate(parser.parse_args([f"--config={tmp_path / 'source.yaml'}"]))
    source = config.source
    assert isinstance(source, CsvSource)
    assert source.settings.columns == ColumnMap(close="last", volume=None)
    assert source.load().fields == ["open", "high", "low", "close", "factor", "sector"]


def test_us_stocks_with_adjusted_closes(data_dir: Path, tmp_path: Path) -> None:
    """acl18: three rows are empty; the others' returns are those of adj_close."""
    path = data_dir / "acl18_stocknet_daily.parquet"
    source = ParquetSource(str(path), columns=ColumnMap(adjusted_close="adj_close"))
    panel = build_panel(source, tmp_path / "store")
    frame = pd.read_parquet(path)
    wide = frame.pivot(index="date", columns="symbol", values="adj_close").to_numpy(np.float64)
    assert panel.values.shape == (1258, 88, 6)
    assert int(panel.observed.sum()) == len(frame) - 3
    close = panel.field("close").astype(np.float64)
    np.testing.assert_allclose(close[1:] / close[:-1], wide[1:] / wide[:-1], rtol=1e-6)
