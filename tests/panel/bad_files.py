"""Bad files of every kind, each with the source that reads it; as a script, writes their table.

python tests/panel/bad_files.py
"""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pandas as pd
from long_table import bar_table
from qlib_store import DAYS, write_lines, write_store

from quantlit.core import QuantlitError
from quantlit.panel import (
    ColumnMap,
    CsvSource,
    FrameSource,
    Panel,
    PanelSource,
    ParquetSource,
    QlibSource,
    ReturnColumn,
    append_panel,
    build_panel,
)

TABLE = Path(__file__).with_suffix(".md")
HEADER = "date,symbol,open,high,low,close,volume"
ROWS = [
    "2020-01-01,AAA,10,11,9,10,100",
    "2020-01-01,BBB,20,20,18,19,400",
    "2020-01-02,AAA,10,12,10,11,200",
    "2020-01-03,AAA,11,11,10,10.5,150",
    "2020-01-03,BBB,20,22,19,21,300",
]
Make = Callable[[Path], object]


@dataclass(frozen=True)
class BadFile:
    """One kind of bad file.

    Attributes:
        kind: what is wrong, in a few words.
        make: writes the file or files into an empty folder.
        name: the path to read, below that folder.
        settings: of the source.
        source: the class that reads it.
        during: what is done to the machine meanwhile.
        append: whether the store before is added to, not replaced.
    """

    kind: str
    make: Make
    name: str = "bars.csv"
    settings: dict[str, Any] = field(default_factory=dict)
    source: type[PanelSource] = CsvSource
    during: Callable[[], AbstractContextManager[Any]] = nullcontext
    append: bool = False

    def message(self, folder: Path) -> str:
        """What a user is told who builds a store of it; the folder is written as ``<folder>``."""
        self.make(folder)
        source = self.source(**{"path": str(folder / self.name)} | self.settings)
        with self.during():
            try:
                if self.append:
                    append_panel(source, folder.parent / "store")
                else:
                    build_panel(source, folder.parent / "store", overwrite=True)
            except QuantlitError as error:
                return str(error).replace(str(folder.parent), "<folder>")
        return "no error at all"


def good_store(folder: Path) -> Panel:
    """The store that is there before, and must be there after."""
    return build_panel(FrameSource(bar_table()), folder)


# ------------------------------------------------------------------------- ways to write one


def text(*rows: str, header: str = HEADER) -> Make:
    """A CSV file of some rows."""
    return raw("\n".join([header, *rows, ""]).encode())


def raw(contents: bytes, name: str = "bars.csv") -> Make:
    """A file of some bytes."""
    return lambda folder: (folder / name).write_bytes(contents)


def both(*makes: Make) -> Make:
    """One after the other."""
    return lambda folder: [make(folder) for make in makes]


def more(row: str) -> Make:
    """The good rows and one more."""
    return text(*ROWS, row)


def last(**cells: str) -> Make:
    """The good rows, with some cells of the last one changed."""
    row = dict(zip(HEADER.split(","), ROWS[-1].split(","), strict=True)) | cells
    return text(*ROWS[:-1], ",".join(row.values()))


def dates(*written: str) -> Make:
    """The good rows under other dates."""
    rows = [f"{date},{row.partition(',')[2]}" for date, row in zip(written, ROWS, strict=True)]
    return text(*rows)


def parquet(change: Callable[[pd.DataFrame], pd.DataFrame], name: str = "bars.parquet") -> Make:
    """A Parquet file of the good table, changed."""
    return lambda folder: change(bar_table()).to_parquet(folder / name, index=False)


def parquet_bytes(change: Callable[[bytes], bytes]) -> Make:
    """A good Parquet file whose bytes are changed."""

    def make(folder: Path) -> None:
        parquet(lambda frame: frame)(folder)
        path = folder / "bars.parquet"
        path.write_bytes(change(path.read_bytes()))

    return make


def two_in_a_zip(folder: Path) -> None:
    """A zip file with two tables."""
    with zipfile.ZipFile(folder / "bars.csv.zip", "w") as archive:
        archive.writestr("a.csv", "")
        archive.writestr("b.csv", "")


def qlib(change: Make) -> Make:
    """A Qlib store, changed."""
    return lambda folder: change(write_store(folder / "qlib"))


def refusing(method: str, name: str) -> Callable[[], AbstractContextManager[Any]]:
    """Permission is denied to what a method of paths does with one name."""
    real = getattr(Path, method)

    def refuse(path: Path, *args: Any, **kwargs: Any) -> Any:
        if path.name == name:
            raise PermissionError(13, "Permission denied")
        return real(path, *args, **kwargs)

    return lambda: patch.object(Path, method, refuse)


def full_disk() -> AbstractContextManager[Any]:
    """A disk with 100 bytes left."""
    return patch.object(shutil, "disk_usage", lambda _: SimpleNamespace(free=100))


@contextmanager
def failing_flush() -> Iterator[None]:
    """A disk that is full when the files are flushed."""
    with patch.object(os, "fsync", side_effect=OSError(28, "No space left on device")):
        yield


PACKED = gzip.compress("\n".join([HEADER, *ROWS * 50]).encode())
PARQUET: dict[str, Any] = {"name": "bars.parquet", "source": ParquetSource}
FOLDER: dict[str, Any] = {"name": ""}
QLIB: dict[str, Any] = {"name": "qlib", "source": QlibSource}
ADJUSTED = {"columns": ColumnMap(adjusted_close="volume", volume=None)}
RETURNS = {
    "returns": ReturnColumn(column="volume", unit="percent"),
    "columns": ColumnMap(volume=None),
}

BAD_FILES = [
    # rows
    BadFile("the same bar twice", more(ROWS[1])),
    BadFile(
        "the same bar in two files",
        both(text(*ROWS), raw(f"{HEADER}\n{ROWS[3]}\n".encode(), "more.csv")),
        **FOLDER,
    ),
    BadFile("a date that is none", last(date="2020-01-32")),
    BadFile("a date without a century", last(date="20-01-03")),
    BadFile("American dates", last(date="01/03/2020")),
    BadFile("another format than set", text(*ROWS), settings={"date_format": "%d.%m.%Y"}),
    BadFile("no date", last(date="")),
    BadFile("a date out of range", last(date="1066-10-14")),
    BadFile(
        "some times with a zone",
        dates("2020-01-01T15:00Z", *["2020-01-01T15:00", "2020-01-02T15:00"] * 2),
    ),
    BadFile(
        "times of several zones",
        dates("2020-03-06T16:00-05:00", *["2020-03-06T16:00-05:00", "2020-03-09T16:00-04:00"] * 2),
    ),
    BadFile(
        "files of several zones",
        both(
            text("2020-01-01T15:00+08:00,AAA,1,1,1,1,1"),
            raw(f"{HEADER}\n2020-01-01T15:00+09:00,BBB,1,1,1,1,1\n".encode(), "tokyo.csv"),
        ),
        **FOLDER,
    ),
    BadFile("no symbol", last(symbol="")),
    BadFile("text in a number column", last(close="n.a.")),
    BadFile("a number with a thousands separator", last(close='"1,021.0"')),
    BadFile("the same without quotes", last(close="1,021.0")),
    BadFile("a time in a number column", last(volume="09:30")),
    BadFile("a negative price", last(low="-19")),
    BadFile("a price of zero", last(close="0")),
    BadFile("a high below the low", last(high="18")),
    BadFile("a negative volume", last(volume="-300")),
    BadFile("an infinite value", last(volume="inf")),
    BadFile("a number too large", last(volume="1e39")),
    BadFile("a number too small", last(close="1e-40", low="1e-40")),
    BadFile("no close anywhere", text("2020-01-01,AAA,10,11,9,,100", "2020-01-01,BBB,1,1,1,,1")),
    BadFile("a return of -100 %", last(volume="-100"), settings=RETURNS),
    BadFile("no return", last(volume=""), settings=RETURNS),
    BadFile("an adjusted close of zero", last(volume="0"), settings=ADJUSTED),
    BadFile(
        "all of them, listed",
        text("2020-01-01,AAA,10,11,9,10,100", ",BBB,1,1,1,1,1", "2020-01-01,CCC,1,1,1,x,1"),
        settings={"on_bad_rows": "report"},
    ),
    # tables
    BadFile("one asset only", text(*[row for row in ROWS if "AAA" in row])),
    BadFile(
        "no overlap between assets",
        text("2020-01-01,AAA,10,11,9,10,100", "2020-01-02,BBB,20,20,18,19,400"),
    ),
    BadFile("a header and no row", text()),
    BadFile("no header", raw("\n".join(ROWS).encode())),
    BadFile("an empty first line", raw("\n".join(["", HEADER, *ROWS]).encode())),
    BadFile("a misspelt column", text(*ROWS, header=HEADER.replace("close", "clsoe"))),
    BadFile("a column twice", text(*ROWS, header=HEADER.replace("open", "close"))),
    BadFile("another separator", raw("\n".join([HEADER, *ROWS]).replace(",", ";").encode())),
    BadFile(
        "files of different columns",
        both(text(*ROWS), raw(b"date,symbol,close\n2020-01-06,AAA,1\n", "more.csv")),
        **FOLDER,
    ),
    BadFile(
        "a Parquet partition without a column",
        both(
            parquet(lambda frame: frame.iloc[:2], "a.parquet"),
            parquet(lambda frame: frame.iloc[2:].drop(columns="volume"), "b.parquet"),
        ),
        name="",
        source=ParquetSource,
    ),
    BadFile(
        "a Parquet partition of another type",
        both(
            parquet(lambda frame: frame.iloc[:2], "a.parquet"),
            parquet(lambda frame: frame.iloc[2:].assign(close="ten"), "b.parquet"),
        ),
        name="",
        source=ParquetSource,
    ),
    BadFile(
        "a Parquet column of lists",
        parquet(lambda frame: frame.assign(close=frame["close"].map(lambda price: [price]))),
        **PARQUET,
    ),
    BadFile(
        "a missing Parquet column", parquet(lambda frame: frame.drop(columns="symbol")), **PARQUET
    ),
    # files
    BadFile("no such file", text(*ROWS), name="bras.csv"),
    BadFile("a folder without a table", raw(b"", "readme.txt"), **FOLDER),
    BadFile("a pattern without a file", text(*ROWS), name="2020*.csv"),
    BadFile("an empty file", raw(b"")),
    BadFile("not UTF-8", raw(f"{HEADER}\n2020-01-01,平安,1,1,1,1,1\n".encode("gb18030"))),
    BadFile("no text", raw(b"\x89PNG\r\n\x1a\n\x00\x00")),
    BadFile("an open quote", text(*ROWS[:4], '2020-01-03,"BBB,20,22,19,21,300')),
    BadFile("a cut gzip", raw(PACKED[: len(PACKED) // 2], "bars.csv.gz"), name="bars.csv.gz"),
    BadFile("no gzip", raw(HEADER.encode(), "bars.csv.gz"), name="bars.csv.gz"),
    BadFile("no xz", raw(HEADER.encode(), "bars.csv.xz"), name="bars.csv.xz"),
    BadFile("no zip", raw(HEADER.encode(), "bars.csv.zip"), name="bars.csv.zip"),
    BadFile("two tables in a zip", two_in_a_zip, name="bars.csv.zip"),
    BadFile("a cut Parquet file", parquet_bytes(lambda whole: whole[:-20]), **PARQUET),
    BadFile("an empty Parquet file", parquet_bytes(lambda whole: b""), **PARQUET),
    BadFile(
        "a damaged Parquet file",
        parquet_bytes(lambda whole: whole[:8] + bytes(60) + whole[68:]),
        **PARQUET,
    ),
    BadFile("CSV under Parquet's name", raw(HEADER.encode(), "bars.parquet"), **PARQUET),
    # the machine
    BadFile("no permission to read", text(*ROWS), during=refusing("open", "bars.csv")),
    BadFile("no permission to write", text(*ROWS), during=refusing("mkdir", ".store.partial")),
    BadFile("a disk without room", text(*ROWS), during=full_disk),
    BadFile("a disk that fills up", text(*ROWS), during=failing_flush),
    # Qlib stores
    BadFile(
        "an unsorted Qlib calendar",
        qlib(lambda store: write_lines(store / "calendars/day.txt", [*DAYS[1:], DAYS[0]])),
        **QLIB,
    ),
    BadFile(
        "a cut Qlib file",
        qlib(lambda store: os.truncate(store / "features/sz000001/close.day.bin", 7)),
        **QLIB,
    ),
    BadFile(
        "a Qlib store without calendars",
        qlib(lambda store: shutil.rmtree(store / "calendars")),
        **QLIB,
    ),
    # appending
    BadFile(
        "appending to a revised history",
        text(*ROWS[:4], "2020-01-03,BBB,20,22,19,20.5,300", "2020-01-06,BBB,1,1,1,1,1"),
        append=True,
    ),
    BadFile(
        "appending with a date in between",
        text(*ROWS, "2020-01-02T12:00,BBB,1,1,1,1,1", "2020-01-06,BBB,1,1,1,1,1"),
        append=True,
    ),
    BadFile("appending nothing new", text(*ROWS), append=True),
]


def table() -> str:
    """The kinds and their messages, as Markdown."""
    lines = [
        "# Bad files and what they get",
        "",
        "Made by `python tests/panel/bad_files.py`, and compared with what happens by",
        "`test_bad_files.py`. No store is left half-written in any case, and the one before stays.",
        "Rows may stand in any order: dates and symbols are sorted.",
        "",
        "| kind | message |",
        "|---|---|",
    ]
    for bad in BAD_FILES:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "files").mkdir()
            good_store(Path(folder) / "store")
            lines.append(row(bad.kind, bad.message(Path(folder) / "files")))
    return "\n".join([*lines, ""])


def row(kind: str, message: str) -> str:
    """A row of the table."""
    cells = message.replace("|", "\\|").replace("<", "&lt;").strip().replace("\n", "<br>")
    return f"| {kind} | {cells} |"


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8")
    print(f"{TABLE}: {len(BAD_FILES)} kinds")
