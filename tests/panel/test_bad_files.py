"""Bad files of every kind get the message of the table, and leave what was there as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from bad_files import BAD_FILES, HEADER, ROWS, TABLE, BadFile, good_store, row

from quantlit.core import DataError
from quantlit.panel import CsvSource, Panel, build_panel


@pytest.mark.parametrize("bad", BAD_FILES, ids=lambda bad: bad.kind)
def test_a_bad_file(bad: BadFile, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    before = good_store(tmp_path / "store").checksum
    message = bad.message(tmp_path / "files")
    assert row(bad.kind, message) in TABLE.read_text(encoding="utf-8").splitlines()
    assert Panel.open(tmp_path / "store", verify=True).checksum == before
    report = tmp_path / "store.bad_rows.csv"
    assert report.exists() == (str(report.name) in message)
    report.unlink(missing_ok=True)
    left = {path.name for path in tmp_path.iterdir()}
    assert left <= {"files", "store", ".store.lock"}


def test_the_table_has_these_kinds_and_no_other() -> None:
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    kinds = [line.split(" | ")[0].removeprefix("| ") for line in lines if line.startswith("| ")]
    assert kinds == ["kind", *(bad.kind for bad in BAD_FILES)]
    assert len(set(kinds)) == len(kinds) > 60


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_lines_of_any_chunk(rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quantlit.panel.sources.files.ROWS", rows)
    path = tmp_path / "bars.csv"
    source = CsvSource(str(path))
    path.write_text("\n".join([HEADER, *ROWS[:4], '2020-01-03,"BBB,20,22,19,21,300', *ROWS[:1]]))
    with pytest.raises(DataError, match="a quote that opens in line 6 is never closed"):
        source.load()
    path.write_text("\n".join([HEADER, *ROWS, ROWS[0] + ",1" * 3, ROWS[0] + ",1"]))
    message = r"line 7 \(AAA, 2020-01-01\): .*'1', so the row has more cells than the header"
    with pytest.raises(DataError, match=message):
        source.load()
    path.write_text("\n".join([HEADER, *ROWS, ROWS[0] + ",1" * 30]))
    with pytest.raises(DataError, match=r"Expected 23 fields in line 7, saw 37\)\. Quote cells"):
        source.load()


def test_empty_cells_after_the_last(tmp_path: Path) -> None:
    """A separator at the end of each line, as some exports have it."""
    path = tmp_path / "bars.csv"
    path.write_text("\n".join([HEADER, *ROWS]))
    plain = build_panel(CsvSource(str(path)), tmp_path / "plain")
    path.write_text("\n".join([HEADER, *(f"{row}," for row in ROWS)]))
    assert build_panel(CsvSource(str(path)), tmp_path / "store").checksum == plain.checksum


def test_rows_with_too_many_cells_can_be_dropped(tmp_path: Path) -> None:
    path = tmp_path / "bars.csv"
    path.write_text("\n".join([HEADER, *ROWS, "2020-01-02,BBB,1,2,1,1,000.5,7"]))
    raw = CsvSource(str(path), on_bad_rows="drop").load()
    assert [(bad.place, bad.symbol, bad.value) for bad in raw.dropped] == [("line 7", "BBB", "7")]
    assert int(raw.observed.sum()) == len(ROWS)


def test_a_chunk_of_bad_dates_has_no_zone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quantlit.panel.sources.files.ROWS", 5)
    path = tmp_path / "bars.csv"
    rows = [row.replace(",", "T15:00+08:00,", 1) for row in ROWS]
    path.write_text("\n".join([HEADER, *rows, "Total,,,,,,"]))
    raw = CsvSource(str(path), on_bad_rows="drop").load()
    assert [bad.date for bad in raw.dropped] == ["Total"]
