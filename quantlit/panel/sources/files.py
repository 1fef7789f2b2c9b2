"""Reading the wanted columns of CSV and Parquet files into records, some rows at a time."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from quantlit.core import DataError
from quantlit.panel.sources.chunks import ROWS
from quantlit.panel.sources.listing import TableFile
from quantlit.panel.sources.records import EXCESS, Records, table_records

EMPTY = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"]
"""What a CSV cell of a number may hold where the number is unknown."""

_COMPRESSION: dict[str, Literal["gzip", "bz2", "xz", "zip"]] = {
    ".gz": "gzip",
    ".bz2": "bz2",
    ".xz": "xz",
    ".zip": "zip",
}

BUFFER = 1 << 20
"""Bytes of a Parquet column that are read at once."""

_SPARE = 16
"""Cells after the last column that a row may have and still be told as a bad row."""

_UNREADABLE = (
    *(ValueError, OSError),  # pandas' own errors are ValueErrors
    *(EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile),
    *(pa.ArrowInvalid, pa.ArrowNotImplementedError),
)

Resolve = Callable[[Sequence[str], TableFile], dict[str, str]]
"""From the columns of a file to ``{name here: the file's column}``."""

Reading = Iterator[tuple[Records, float]]
"""Rows, and the share of the file that has been read with them."""


def read_csv(file: TableFile, resolve: Resolve, separator: str, skip: int) -> Reading:
    """The wanted columns of a CSV file, with line numbers.

    Args:
        file: the file, perhaps compressed.
        resolve: says which columns to read.
        separator: what stands between two cells.
        skip: rows to pass over.

    Yields:
        At most ``ROWS`` rows at a time.

    Raises:
        DataError: if the file is empty, or no table, or lacks a column, or may not be read.
    """
    options: dict[str, Any] = {
        "sep": separator,
        "header": None,
        "keep_default_na": False,
        "skip_blank_lines": False,
        "encoding": "utf-8-sig",
        "compression": _COMPRESSION.get(file.path.suffix.lower()),
    }
    with _readable(file, "CSV table"):
        header = pd.read_csv(file.path, nrows=1, dtype="str", **options)
    given = [str(column) for column in header.iloc[0]]
    _check_header(file, given)
    wanted = resolve(given, file)
    keys = [wanted[name] for name in ("date", "symbol") if wanted.get(name) in given]
    read = [column for column in dict.fromkeys(wanted.values()) if column in given]
    places = {given.index(column): column for column in read} | {len(given): EXCESS}
    kinds: Any = {place: "str" for place, name in places.items() if name in (*keys, EXCESS)}
    empty: Any = {place: EMPTY for place, name in places.items() if name not in keys}
    size = max(file.path.stat().st_size, 1)
    with _readable(file, "CSV table"), file.path.open("rb") as raw:
        frames = pd.read_csv(
            raw,
            names=range(len(given) + _SPARE),  # with usecols, pandas passes over further cells
            index_col=False,
            dtype=kinds,
            na_values=empty,
            low_memory=False,
            skiprows=(lambda line: line <= skip) if skip else 1,  # a range becomes a set
            chunksize=ROWS,
            **options,
        )
        for frame in frames:
            frame = frame[list(places)].rename(columns=places)
            yield _csv_records(frame, file, wanted, keys, skip), min(raw.tell() / size, 1.0)


def _check_header(file: TableFile, given: list[str]) -> None:
    if not any(given):
        raise DataError(
            f"{file.name}: the first line is empty. Write the columns' names into the first line."
        )
    numbers = pd.to_numeric(pd.Series(given), errors="coerce").notna()
    if numbers.any():
        raise DataError(
            f"{file.name}: the first line holds the number {given[int(numbers.argmax())]!r}, so it "
            "is no header. Write the columns' names into the first line."
        )


def _csv_records(
    frame: pd.DataFrame, file: TableFile, wanted: dict[str, str], keys: list[str], skip: int
) -> Records:
    blank = (frame[keys].fillna("") == "").all(axis=1)
    blank &= frame.drop(columns=keys).isna().all(axis=1)
    end = skip + (int(frame.index[-1]) + 1 if len(frame) else 0)
    frame = frame[~blank]
    if frame[EXCESS].notna().any():
        wanted = wanted | {EXCESS: EXCESS}
    return table_records(
        frame,
        wanted,
        file.name,
        constants=file.constants,
        places=frame.index.to_numpy() + 2 + skip,
        unit="line",
        end=end,
    )


def read_parquet(file: TableFile, resolve: Resolve, skip: int) -> Reading:
    """The wanted columns of a Parquet file, with row numbers from 0.

    Args:
        file: the file.
        resolve: says which columns to read.
        skip: rows to pass over.

    Yields:
        At most ``ROWS`` rows at a time.

    Raises:
        DataError: if the file is empty, or no Parquet, or lacks a column, or may not be read.
    """
    with _readable(file, "readable Parquet file"):
        schema = pq.read_schema(file.path)
        wanted = resolve(schema.names, file)
        read = [column for column in dict.fromkeys(wanted.values()) if column in schema.names]
        keys = [wanted[name] for name in ("date", "symbol") if wanted.get(name) in schema.names]
        texts = [column for column in keys if pa.types.is_string(schema.field(column).type)]
        # by default pyarrow holds a whole row group
        with pq.ParquetFile(
            file.path, read_dictionary=texts, pre_buffer=False, buffer_size=BUFFER
        ) as table:
            total, start = table.metadata.num_rows, 0
            for batch in table.iter_batches(batch_size=ROWS, columns=read):
                end = start + batch.num_rows
                if end > skip:
                    rows = batch.slice(max(skip - start, 0))
                    frame = _frame(rows, keys)
                    records = table_records(
                        frame,
                        wanted,
                        file.name,
                        constants=file.constants,
                        places=np.arange(end - len(frame), end),
                        unit="row",
                        end=end,
                    )
                    yield records, end / total
                start = end


def _frame(rows: pa.RecordBatch, keys: Sequence[str]) -> pd.DataFrame:
    """Rows in pandas; keys that are whole numbers stay whole beside empty cells, bytes are text."""
    columns = {name: rows.column(name) for name in rows.schema.names}
    for name in keys:
        kind = columns[name].type
        if pa.types.is_integer(kind):
            columns[name] = columns[name].dictionary_encode()
        elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            columns[name] = columns[name].cast(pa.string())
    frame: pd.DataFrame = pa.table(columns).to_pandas(date_as_object=False, ignore_metadata=True)
    return frame


@contextmanager
def _readable(file: TableFile, kind: str) -> Iterator[None]:
    """Turn what libraries raise about a file into one clear error."""
    try:
        yield
    except PermissionError as error:
        raise DataError(
            f"{file.path}: the file may not be read ({error.strerror}). Change its permissions."
        ) from error
    except _UNREADABLE as error:
        raise DataError(f"{file.path}: this is no {kind} {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Why a file cannot be read, and what to do."""
    if isinstance(error, UnicodeDecodeError):
        byte = error.object[error.start]
        return f"(byte 0x{byte:02x} is not UTF-8). Save it as UTF-8."
    if isinstance(error, pd.errors.EmptyDataError):
        return "(its first line is empty). Write the columns' names into the first line."
    if "EOF inside string" in str(error):
        line = int(str(error).rpartition(" ")[2]) + 1
        return f"(a quote that opens in line {line} is never closed). Close it, or remove it."
    if "in line" in str(error):
        return f"({_sentence(error).rpartition(': ')[2]}). Quote cells that hold the separator."
    return f"({_sentence(error)}). It may be cut off or damaged; write or copy it anew."


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
