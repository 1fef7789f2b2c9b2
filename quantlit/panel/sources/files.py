"""Reading the wanted columns of CSV and Parquet files into records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from quantlit.core import DataError
from quantlit.panel.sources.records import Records, table_records

EMPTY = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"]
"""What a CSV cell of a number may hold where the number is unknown."""

Resolve = Callable[[Sequence[str], str], dict[str, str]]
"""From a table's columns and its name to ``{name here: the table's column}``."""


def list_files(path: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """The file, or all files with one of the suffixes in a folder and below it, sorted.

    Raises:
        DataError: if there is none.
    """
    if path.is_dir():
        found = (file for file in path.rglob("*") if file.name.endswith(suffixes))
        files = sorted(file for file in found if file.is_file() and file.name[0] not in "._")
        if not files:
            raise DataError(f"{path}: the folder holds no file that ends in {', '.join(suffixes)}.")
        return files
    if not path.is_file():
        raise DataError(f"{path}: there is no such file or folder. Check the source's path.")
    return [path]


def read_csv(path: Path, resolve: Resolve, separator: str) -> Records:
    """The wanted columns of a CSV file, with line numbers.

    Args:
        path: the file, perhaps compressed.
        resolve: says which columns to read.
        separator: what stands between two cells.

    Raises:
        DataError: if the file is empty, or no table, or lacks a column.
    """
    try:
        header = pd.read_csv(path, sep=separator, nrows=0, encoding="utf-8-sig")
        wanted = resolve([str(column) for column in header.columns], path.name)
        keys = [wanted[name] for name in ("date", "symbol") if name in wanted]
        frame = pd.read_csv(
            path,
            sep=separator,
            usecols=list(set(wanted.values())),
            dtype=dict.fromkeys(keys, "str"),
            na_values={column: EMPTY for column in wanted.values() if column not in keys},
            keep_default_na=False,
            skip_blank_lines=False,
            low_memory=False,
            encoding="utf-8-sig",
        )
    except (ValueError, OSError, EOFError) as error:  # pandas' own errors are ValueErrors
        raise DataError(f"{path}: this is no CSV table ({error}).") from error
    blank = (frame[keys].fillna("") == "").all(axis=1)
    blank &= frame.drop(columns=keys).isna().all(axis=1)
    frame = frame[~blank]
    places = frame.index.to_numpy() + 2
    asset = path.name.split(".csv")[0]
    return table_records(frame, wanted, path.name, asset=asset, places=places, unit="line")


def read_parquet(path: Path, resolve: Resolve) -> Records:
    """The wanted columns of a Parquet file, with row numbers from 0.

    Args:
        path: the file.
        resolve: says which columns to read.

    Raises:
        DataError: if the file is empty, or no Parquet, or lacks a column.
    """
    try:
        with pq.ParquetFile(path) as file:
            wanted = resolve(file.schema_arrow.names, path.name)
            table = file.read(columns=sorted(set(wanted.values())))
        frame = table.to_pandas(date_as_object=False)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path}: this is no readable Parquet file ({error}).") from error
    places = np.arange(len(frame))
    asset = path.name.split(".parquet")[0]
    return table_records(frame, wanted, path.name, asset=asset, places=places, unit="row")
