"""What a damaged Qlib store gets: one message with file, asset, field, value and remedy."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from qlib_store import DAYS, SPELLS, write_bin, write_lines, write_store

from quantlit.core import DataError
from quantlit.panel import QlibSource, build_panel

CLOSE = "features/sz000001/close.day.bin"
OWNER = r"sz000001/close\.day\.bin \(SZ000001, close\): "


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return write_store(tmp_path / "qlib")


def refused(store: Path, message: str, **settings: Any) -> None:
    """No panel, no half of one, and a message that matches."""
    output = store.parent / "out" / "store"
    with pytest.raises(DataError, match=message) as caught:
        build_panel(QlibSource(path=str(store), **settings), output)
    assert str(store) in str(caught.value)
    assert str(caught.value).endswith(".")
    assert not output.exists()


# ------------------------------------------------------------------------- the folder


def test_no_folder(tmp_path: Path) -> None:
    refused(tmp_path / "nothing", r"nothing: there is no such folder\. Check the source's path\.")


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "qlib.zip").write_bytes(b"PK")
    refused(tmp_path / "qlib.zip", r"this is a file, and a Qlib store is a folder with calendars")


@pytest.mark.parametrize("name", ["calendars", "features"])
def test_no_store(store: Path, name: str) -> None:
    shutil.rmtree(store / name)
    refused(store, f"there is no folder '{name}', so this is no Qlib store. Give the folder that")


def test_the_folder_above(store: Path) -> None:
    refused(store.parent, rf"so this is no Qlib store\. There is one in {re.escape(str(store))}\.")


# ------------------------------------------------------------------------- the calendar


def test_no_calendar(store: Path) -> None:
    (store / "calendars" / "day.txt").unlink()
    refused(store, r"there is no calendar at all, such as day\.txt\. The store is not whole")


def test_no_such_frequency(store: Path) -> None:
    write_lines(store / "calendars" / "5min.txt", DAYS)
    message = r"no calendar 15min\.txt; the store's frequencies are 5min, day\. Did you mean '5min'"
    refused(store, message, freq="15min")
    refused(store, r"no calendar day_future\.txt", freq="day_future")


def test_a_frequency_without_files(store: Path) -> None:
    write_lines(store / "calendars" / "week.txt", DAYS)
    refused(store, r"has no file of the frequency 'week' \(\*\.week\.bin\)\. Download", freq="week")
    message = r"no instrument has a file of the frequency 'week' \(\*\.week\.bin\)\. Set another"
    refused(store, message, freq="week", instruments=None)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], r"day\.txt: the calendar is empty\. Download or dump"),
        ([*DAYS[:2], "", "06/01/2020"], r"day\.txt, line 4: '06/01/2020' is no date written as YY"),
        (["9999-01-01"], r"line 1: '9999-01-01' is no date written as .* between 1678 and 2261"),
        ([DAYS[0], f"{DAYS[1]} 15:00+08:00", "x"], "line 3: 'x' is no date"),
        (
            [*DAYS[:2], "2020-01-02", DAYS[3]],
            r"line 3: 2020-01-02 follows 2020-01-03 \(line 2\), so the calendar is not sorted\. "
            "The files' start indices count its lines: dump the store anew",
        ),
        (
            [*DAYS[:2], "", DAYS[1]],
            r"line 4: 2020-01-03 follows 2020-01-03 \(line 2\), so the calendar holds a bar twice",
        ),
    ],
)
def test_a_wrong_calendar(store: Path, lines: list[str], message: str) -> None:
    write_lines(store / "calendars" / "day.txt", lines)
    refused(store, message)


def test_a_calendar_that_is_no_text(store: Path) -> None:
    (store / "calendars" / "day.txt").write_bytes(b"\xff\xfe\x00\x81")
    refused(store, r"day\.txt: this file cannot be read as text \(.*codec.*\)\. Check that it")


def test_no_bar_from_start_to_end(store: Path) -> None:
    message = (
        r"runs from 2020-01-02 00:00:00 to 2020-01-09 00:00:00 and has no bar from 2020-01-04 to "
        r"2020-01-05\. Set start and end"
    )
    refused(store, message, start="2020-01-04", end="2020-01-05")


# ------------------------------------------------------------------------- the instruments


def test_no_such_market(store: Path) -> None:
    write_lines(store / "instruments" / "csi300.txt", SPELLS)
    message = r"no list csi30\.txt; the store's markets are all, csi300\. Did you mean 'csi300'"
    refused(store, message, instruments="csi30")
    shutil.rmtree(store / "instruments")
    refused(store, r"no list of instruments at all, such as all\.txt\. Set instruments to null")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("SZ000001", r"all\.txt, line 2: 'SZ000001' is not a symbol, a start and an end with tabs"),
        ("SZ000001 2020-01-03 2020-01-07", r"line 2: .* Write it as SYMBOL<tab>YYYY-MM-DD<tab>"),
        ("SZ000001\t\t2020-01-07", "line 2: .* is not a symbol, a start and an end with tabs"),
        ("SZ1\tx\t2020-01-07", "line 2: the start of SZ1, 'x', is no date written as YYYY-MM-DD"),
        ("SZ1\t2020-01-07\t-", "line 2: the end of SZ1, '-', is no date written as YYYY-MM-DD"),
        (
            "SZ000001\t2020-01-07\t2020-01-03",
            "line 2: SZ000001 ends on 2020-01-03, before its start on 2020-01-07. Correct the line",
        ),
        (
            "SZ999999\t2020-01-02\t2020-01-07",
            "sz999999: SZ999999 is listed as an instrument, and its folder is missing. Download",
        ),
        (
            "sh600000\t2020-01-02\t2020-01-07",
            "SH600000 and sh600000 are both listed, and share the folder features/sh600000. Write",
        ),
    ],
)
def test_a_wrong_line_of_instruments(store: Path, line: str, message: str) -> None:
    write_lines(store / "instruments" / "all.txt", [SPELLS[1], line])
    refused(store, message)


def test_no_instrument_at_all(store: Path) -> None:
    write_lines(store / "instruments" / "all.txt", [])
    refused(store, r"all\.txt: the list of instruments is empty\. Name another market")
    write_lines(store / "instruments" / "all.txt", ["SH600000\t2010-01-04\t2012-12-31"])
    message = r"none of the 1 instruments belongs to it from 2020-01-02 00:00:00 to 2020-01-09"
    refused(store, message)
    shutil.rmtree(store / "features")
    (store / "features").mkdir()
    refused(store, "features: there is no instrument at all. Download", instruments=None)


def test_no_bar_at_all(store: Path) -> None:
    write_lines(store / "instruments" / "all.txt", SPELLS[:1])
    message = r"qlib: none of the 1 instruments \(SZ000001, \.\.\.\) has an observed bar from 20"
    refused(store, message, start="2020-01-06", end="2020-01-06")


# ------------------------------------------------------------------------- the files


def test_no_such_field(store: Path) -> None:
    message = (
        r"no instrument has the field 'opne' \(features/\*/opne\.day\.bin\); the fields are "
        r"change, close, factor, open, volume, vwap\. Did you mean 'open'\? Set fields to so"
    )
    refused(store, message, fields=["$opne"])


def test_an_asset_without_a_close(store: Path) -> None:
    (store / CLOSE).unlink()
    refused(store, OWNER + "the file is missing, and the close says which bars were observed. Down")


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"", "the file is empty. Download or dump this file anew."),
        (b"\0" * 10, "the file has 10 bytes, which is no multiple of 4: it was cut short, or"),
        (b"\0" * 4, "the file holds a start index, 0, and no bar. Download or dump"),
    ],
)
def test_a_file_cut_short(store: Path, contents: bytes, message: str) -> None:
    (store / CLOSE).write_bytes(contents)
    refused(store, OWNER + message)


@pytest.mark.parametrize(
    ("start", "numbers", "message"),
    [
        (-1, [5.0], "the first number is the start index, a whole number from 0, and it is -1. Do"),
        (0.5, [5.0], "the first number is the start index, .* and it is 0.5. Download"),
        (float("nan"), [5.0], "the first number is the start index, .* and it is nan."),
        (float("inf"), [5.0], "the first number is the start index, .* and it is inf."),
        (
            6,
            [5.0],
            r"the file starts at position 6 of the calendar, and calendars/day\.txt has 6 bars\.",
        ),
        (
            4,
            [5.0, 5.0, 5.0],
            r"the file holds 3 bars from position 4 of the calendar, and calendars/day\.txt has 6 "
            r"bars\. Files and calendar do not belong together",
        ),
        (1, [5.0, float("inf")], "the bar at 2020-01-06 00:00:00 is inf, which is infinite. Corre"),
        (
            1,
            [-5.0, 5.0, -6.0, -7.0],
            "the bar at 2020-01-03 00:00:00 is -5, and a price is above zero. .2 more such bars..",
        ),
        (1, [5.0, 0.0], "the bar at 2020-01-06 00:00:00 is 0, and a price is above zero. Correct"),
    ],
)
def test_wrong_numbers(store: Path, start: float, numbers: list[float], message: str) -> None:
    write_bin(store / CLOSE, start, numbers)
    refused(store, OWNER + message)


def test_what_may_be_zero_or_infinite(store: Path) -> None:
    """Prices and the factor are above zero; a change may be below, and nothing is infinite."""
    own = store / "features" / "sz000001"
    write_bin(own / "change.day.bin", 1, [-0.5, 0.0])
    write_bin(own / "volume.day.bin", 1, [0.0])
    QlibSource(path=str(store)).load()
    write_bin(own / "factor.day.bin", 1, [0.0])
    refused(store, r"\(SZ000001, factor\): the bar at 2020-01-03 .* and a price is above zero")
    write_bin(own / "factor.day.bin", 1, [1.0])
    write_bin(own / "change.day.bin", 1, [1.0, -float("inf")])
    refused(store, r"\(SZ000001, change\): the bar at 2020-01-06 .* is -inf, which is infinite")


def test_links_to_nothing_and_folders(store: Path) -> None:
    (store / CLOSE).unlink()
    (store / CLOSE).symlink_to(store / "gone.bin")
    refused(store, r"a file cannot be read \(.*close\.day\.bin.*\)\. Download or dump it anew")
    (store / CLOSE).unlink()
    (store / CLOSE).mkdir()
    refused(store, OWNER + r"the file cannot be read \(.*Is a directory.*\)\. Check the disk")


# ------------------------------------------------------------------------- permissions


def _deny(monkeypatch: pytest.MonkeyPatch, method: str, name: str) -> None:
    """Make a file or folder unreadable, also for the superuser."""
    original = getattr(Path, method)

    def refuse(self: Path, *args: Any, **kwargs: Any) -> Any:
        if self.name == name:
            raise PermissionError(13, "Permission denied")
        return original(self, *args, **kwargs)

    monkeypatch.setattr(Path, method, refuse)


@pytest.mark.parametrize(
    ("method", "name", "message"),
    [
        ("exists", "qlib", r"qlib: the folder cannot be read \(.*denied\)\. Check its permissions"),
        ("iterdir", "calendars", r"qlib: the folder cannot be read \(.*denied\)\. Check its perm"),
        ("read_text", "day.txt", r"day\.txt: this file cannot be read as text \(.*denied\)"),
        ("read_text", "all.txt", r"all\.txt: this file cannot be read as text \(.*denied\)"),
        ("open", "close.day.bin", r"SH600000, close\): the file cannot be read \(.*denied\)\. Ch"),
    ],
)
def test_permission_denied(
    store: Path, monkeypatch: pytest.MonkeyPatch, method: str, name: str, message: str
) -> None:
    _deny(monkeypatch, method, name)
    refused(store, message)


@pytest.mark.parametrize("name", ["features", "sh600000"])
def test_permission_denied_to_list_a_folder(
    store: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    scandir = os.scandir

    def refuse(path: Path) -> Any:
        if path.name == name:
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr("quantlit.panel.sources.qlib_fields.os.scandir", refuse)
    refused(store, rf"{name}: the folder cannot be read \(.*denied\)\. Check its permissions")
