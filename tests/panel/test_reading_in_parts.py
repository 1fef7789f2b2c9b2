"""Files that are read some rows at a time: the borders of the parts, and going on after a stop."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from quantlit.core import DataError
from quantlit.panel import (
    CsvSource,
    FrameSource,
    Panel,
    ParquetSource,
    ReturnColumn,
    TableSource,
    build_panel,
)
from quantlit.panel.builder import dropped_rows
from quantlit.panel.sources.chunks import Chunk
from quantlit.panel.sources.records import BadRow, Records
from quantlit.panel.sources.scan import scan
from quantlit.panel.sources.settings import TableSettings

Source = type[CsvSource] | type[ParquetSource]
SOURCES = pytest.mark.parametrize("source", [CsvSource, ParquetSource])
SIZES = [1, 2, 3, 7, 1000]
SetRows = Callable[[int], None]


@pytest.fixture
def set_rows(monkeypatch: pytest.MonkeyPatch) -> SetRows:
    """Says how many rows a part has."""

    def set_them(rows: int) -> None:
        monkeypatch.setattr("quantlit.panel.sources.files.ROWS", rows)
        monkeypatch.setattr("quantlit.panel.sources.frame.ROWS", rows)

    return set_them


class Stop:
    """Stands for ``scan``: counts the calls, and is interrupted at one of them."""

    def __init__(self, patch: pytest.MonkeyPatch, at: int = 0) -> None:
        self.calls, self.at = 0, at
        patch.setattr("quantlit.panel.sources.table.scan", self)

    def __call__(self, records: Records, settings: TableSettings) -> Chunk:
        self.calls += 1
        if self.calls == self.at:
            interrupt()
        return scan(records, settings)


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def market(n_rows: int = 20) -> pd.DataFrame:
    """Rows of three assets in no order, each day's return among them, one in nine unseen."""
    rng = np.random.default_rng(n_rows)
    days = pd.date_range("2020-01-01", periods=-(-n_rows // 3)).astype("str")
    frame = pd.DataFrame({"date": days.repeat(3), "symbol": ["A", "B", "C"] * len(days)})
    close = rng.uniform(10, 20, len(frame))
    frame = frame.assign(close=close, volume=rng.integers(1, 99, len(frame)))
    frame["r"], frame["flag"] = rng.normal(0, 0.01, len(frame)), rng.random(len(frame)) > 0.5
    frame.loc[::9, "close"] = np.nan
    return frame.sample(n_rows, random_state=3).reset_index(drop=True)


def write(frame: pd.DataFrame, path: Path, source: Source) -> Path:
    path = path.with_suffix(source.suffixes[0])
    _ = frame.to_csv(path, index=False) if source is CsvSource else frame.to_parquet(path)
    return path


def place(source: Source, row: int) -> str:
    """How an error names a row that is counted from 0."""
    return f"line {row + 2}" if source is CsvSource else f"row {row}"


def key(row: BadRow) -> tuple[str, int]:
    return row.file, int(row.place.split()[1])


def beside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@SOURCES
def test_parts_of_any_size_give_one_panel(
    tmp_path: Path, source: Source, set_rows: SetRows
) -> None:
    (tmp_path / "bars").mkdir()
    frame = market(30)
    for number, rows in enumerate((frame[:13], frame[13:14], frame[14:])):
        write(rows, tmp_path / "bars" / str(number), source)
    returns = ReturnColumn(column="r", unit="fraction")
    sums = set()
    for size in SIZES:
        set_rows(size)
        files = source(str(tmp_path / "bars"), returns=returns, extra=["flag"])
        sums.add(build_panel(files, tmp_path / "store", overwrite=True).checksum)
        memory = FrameSource(frame, returns=returns, extra=["flag"])
        sums.add(build_panel(memory, tmp_path / "store", overwrite=True).checksum)
    assert len(sums) == 1


@SOURCES
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("row", [0, 2, 3, 17, 19])
def test_an_error_names_its_row(
    tmp_path: Path, source: Source, set_rows: SetRows, size: int, row: int
) -> None:
    frame = market()
    frame.loc[row, ["close", "volume"]] = 10.0, -1.0
    set_rows(size)
    files = source(str(write(frame, tmp_path / "bars", source)))
    with pytest.raises(DataError, match=rf", {place(source, row)} \(.*'volume' holds '-1"):
        files.load()


@pytest.mark.parametrize("size", SIZES)
def test_blank_lines_are_counted(tmp_path: Path, set_rows: SetRows, size: int) -> None:
    """The last bad line is the 16th; before it are blank lines that fill whole parts."""
    days = [f"2020-01-0{day},A,{day}" for day in range(1, 8)]
    lines = ["date,symbol,close", "", *days[:2], "", "", "", "", "", ",,", *days[2:6], "", days[6]]
    path = tmp_path / "bars.csv"
    set_rows(size)
    path.write_text("\n".join([*lines, "", "", ""]))
    raw = CsvSource(str(path), min_assets=1).load()
    np.testing.assert_array_equal(raw.values[:, 0, 0], np.arange(1.0, 8.0))
    path.write_text("\n".join([*lines[:-1], "2020-01-07,A,-7", "", ""]))
    with pytest.raises(DataError, match=r"bars.csv, line 16 \(A, 2020-01-07\): .* holds '-7"):
        CsvSource(str(path), min_assets=1).load()


@SOURCES
@pytest.mark.parametrize("size", SIZES)
def test_a_bar_that_is_there_twice(
    tmp_path: Path, source: Source, set_rows: SetRows, size: int
) -> None:
    """In one file, rows 1 and 16; over two files, row 4 of the first and 2 of the second."""
    (tmp_path / "bars").mkdir()
    frame = market()
    end = source.suffixes[0]
    set_rows(size)
    write(frame[:16], tmp_path / "bars" / "a", source)
    write(pd.concat([frame[16:18], frame[4:5], frame[18:]]), tmp_path / "bars" / "b", source)
    places = rf"^a{end}, {place(source, 4)} and b{end}, {place(source, 2)}: both hold"
    with pytest.raises(DataError, match=rf"{places} {frame['symbol'][4]} on {frame['date'][4]}"):
        source(str(tmp_path / "bars")).load()
    write(pd.concat([frame[:16], frame[1:2]]), tmp_path / "bars" / "a", source)
    places = rf"^a{end}, {place(source, 1)} and a{end}, {place(source, 16)}: both hold"
    with pytest.raises(DataError, match=rf"{places} {frame['symbol'][1]} .*1 more such row\."):
        source(str(tmp_path / "bars")).load()
    kept = source(str(tmp_path / "bars"), on_bad_rows="drop").load()
    np.testing.assert_array_equal(kept.values, FrameSource(frame).load().values)
    assert [row.place for row in kept.dropped] == [place(source, row) for row in (16, 2)]


BAD = [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 20]


def spoiled(n_rows: int = 20) -> pd.DataFrame:
    """A table with bad rows of every kind; the last is the same bar as row 0."""
    frame = market(n_rows).astype({"date": "object", "symbol": "object", "flag": "str"})
    frame.loc[frame["close"].isna(), "close"] = 15.0
    frame.loc[[2, 9], "date"] = "2020-13-01", ""
    frame.loc[[3, 10], "symbol"] = ""
    frame.loc[[5, 6], "close"] = 0.0, -2.5
    frame.loc[[7, 8, 12], "volume"] = -3
    frame.loc[[1, 11], "flag"] = "perhaps"
    return pd.concat([frame, frame[:1]], ignore_index=True)


@SOURCES
def test_bad_rows_over_the_borders(tmp_path: Path, source: Source, set_rows: SetRows) -> None:
    frame = spoiled()
    path = write(frame, tmp_path / "bars", source)
    store, report = tmp_path / "store", tmp_path / "report.bad_rows.csv"
    clean = frame.drop(index=BAD).assign(flag=lambda rows: rows["flag"] == "True")
    clean_sum = build_panel(FrameSource(clean, extra=["flag"]), tmp_path / "clean").checksum
    for size in SIZES:
        set_rows(size)
        keeps = source(str(path), extra=["flag"], on_bad_rows="drop")
        assert build_panel(keeps, store, overwrite=True).checksum == clean_sum
        rows = sorted(dropped_rows(store), key=key)
        assert [row.place for row in rows] == [place(source, number) for number in BAD]
        columns = "flag date symbol close close volume volume date symbol flag volume date"
        assert " ".join(row.column for row in rows) == columns
        reports = source(str(path), extra=["flag"], on_bad_rows="report")
        with pytest.raises(DataError, match=r"^12 bad rows:\n(.|\n)*Nothing was built"):
            build_panel(reports, tmp_path / "report")
        assert sorted(pd.read_csv(report)["place"]) == sorted(row.place for row in rows)
        assert pd.read_csv(report)["problem"].tolist() == [r.problem for r in dropped_rows(store)]


@SOURCES
@pytest.mark.parametrize("at", [1, 2, 4, 7, 8])
def test_an_interrupted_build_goes_on(
    tmp_path: Path, source: Source, set_rows: SetRows, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    set_rows(3)
    path = write(spoiled(), tmp_path / "bars", source)
    files = source(str(path), extra=["flag"], on_bad_rows="drop")
    whole = build_panel(files, tmp_path / "whole")
    with monkeypatch.context() as patch:
        stopped = Stop(patch, at)
        patch.setattr("quantlit.panel.sources.table.ChunkStore.mark_whole", interrupt)
        with pytest.raises(KeyboardInterrupt):
            build_panel(files, tmp_path / "store")
    assert stopped.calls == min(at, 7) and not (tmp_path / "store").exists()
    rest = Stop(monkeypatch)
    assert build_panel(files, tmp_path / "store").checksum == whole.checksum
    assert rest.calls == 8 - at
    for name in ("dropped.csv", "values.npy", "manifest.json"):
        assert (tmp_path / "store" / name).read_bytes() == (whole.path / name).read_bytes()
    assert beside(tmp_path) == [".store.lock", ".whole.lock", path.name, "store", "whole"]
    assert beside(tmp_path / "store") == beside(tmp_path / "whole")


def stopped_at(files: TableSource, store: Path, patch: pytest.MonkeyPatch, at: int) -> None:
    with patch.context() as inner:
        Stop(inner, at)
        with pytest.raises(KeyboardInterrupt):
            build_panel(files, store)


@SOURCES
def test_many_interruptions_over_files(
    tmp_path: Path, source: Source, set_rows: SetRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of 3, 2 and 4 parts; builds are stopped at their second, the last has other parts."""
    (tmp_path / "bars").mkdir()
    frame = market(30)
    for name, rows in (("a", frame[:12]), ("b", frame[12:17]), ("c", frame[17:])):
        write(rows, tmp_path / "bars" / name, source)
    set_rows(4)
    files = source(str(tmp_path / "bars"))
    for _ in range(8):
        stopped_at(files, tmp_path / "store", monkeypatch, at=2)
    set_rows(5)
    rest = Stop(monkeypatch)
    panel = build_panel(files, tmp_path / "store")
    assert rest.calls == 1
    assert panel.checksum == build_panel(FrameSource(frame), tmp_path / "whole").checksum


def test_blank_lines_before_the_stop(
    tmp_path: Path, set_rows: SetRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"2020-01-0{day},A,{day}" for day in range(1, 8)]
    lines = ["date,symbol,close", rows[0], "", "", "", rows[1], "", *rows[2:6], "2020-01-07,A,-7"]
    (tmp_path / "bars.csv").write_text("\n".join(lines))
    set_rows(2)
    files = CsvSource(str(tmp_path / "bars.csv"), min_assets=1)
    for _ in range(3):
        stopped_at(files, tmp_path / "store", monkeypatch, at=2)
    with pytest.raises(DataError, match=r"bars.csv, line 12 \(A, 2020-01-07\): .* holds '-7"):
        build_panel(files, tmp_path / "store")
    assert beside(tmp_path) == [".store.lock", "bars.csv"]


@SOURCES
@pytest.mark.parametrize("change", ["contents", "time", "settings", "name"])
def test_a_change_starts_anew(
    tmp_path: Path, source: Source, set_rows: SetRows, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    frame = market()
    write(frame[:12], tmp_path / "a", source)
    path = write(frame[12:], tmp_path / "b", source)
    pattern, extra = str(path.with_stem("?")), ["r"] if change == "settings" else []
    set_rows(3)
    stopped_at(source(pattern), tmp_path / "store", monkeypatch, at=6)
    if change == "contents":
        frame.loc[12:, "volume"] += 1000
        write(frame[12:], path, source)
    elif change == "time":
        os.utime(path, ns=(1, 1))
    elif change == "name":
        path.rename(path.with_stem("c"))
    counted = Stop(monkeypatch)
    panel = build_panel(source(pattern, extra=extra), tmp_path / "store")
    assert counted.calls == 7
    fresh = build_panel(FrameSource(frame, extra=extra), tmp_path / "fresh")
    assert Panel.open(panel.path, verify=True).checksum == fresh.checksum
