"""The prediction table as a Parquet file: written aside and renamed, checked when read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from quantlit.core import DataError
from quantlit.evaluation.checks import checked_predictions

FORMAT = 1
_PREFIX = "quantlit."


class PredictionTable(NamedTuple):
    """A prediction table and where it comes from.

    Attributes:
        frame: the rows, see :mod:`quantlit.evaluation.table`.
        metadata: e.g. ``panel_checksum``, ``checkpoint_sha256``, ``config`` (YAML).
    """

    frame: pd.DataFrame
    metadata: dict[str, str]


def write_predictions(
    path: str | Path, frame: pd.DataFrame, metadata: Mapping[str, str] | None = None
) -> Path:
    """Write a prediction table; a reader finds the whole file or none, or the one before.

    Args:
        path: the file; its folder is made if need be.
        frame: a prediction table.
        metadata: kept in the file's key-value metadata as ``quantlit.<key>``, beside
            ``quantlit.format``.

    Returns:
        The path.

    Raises:
        DataError: if the frame is no prediction table; nothing is written.
    """
    path = Path(path)
    table = pa.Table.from_pandas(
        checked_predictions(frame, "The frame to be written"), preserve_index=False
    )
    entries = {"format": str(FORMAT), **(metadata or {})}
    schema = {f"{_PREFIX}{key}": value for key, value in entries.items()}
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **schema})
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with aside.open("wb") as file:
            pq.write_table(table, file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    return path


def read_predictions(path: str | Path) -> PredictionTable:
    """Read a prediction table and check it.

    Args:
        path: a Parquet file, of :func:`write_predictions` or of anyone's with the same columns.

    Returns:
        ``(frame, metadata)``; the metadata without their prefix, empty for a foreign file.

    Raises:
        DataError: if the file is missing, no Parquet, of a newer format, or no prediction table.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(
            f"{path}: there is no such prediction table. `quantlit test` and `quantlit predict` "
            "write one into the run's folder."
        )
    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path}: not a readable Parquet file ({error}).") from error
    entries = {key.decode(): value for key, value in (table.schema.metadata or {}).items()}
    metadata = {
        key.removeprefix(_PREFIX): value.decode()
        for key, value in entries.items()
        if key.startswith(_PREFIX)
    }
    version = metadata.pop("format", str(FORMAT))
    if version != str(FORMAT):
        raise DataError(
            f"{path}: prediction table of format {version}; this quantlit reads format {FORMAT}. "
            "Use the quantlit that wrote it, or predict again."
        )
    return PredictionTable(checked_predictions(table.to_pandas(), str(path)), metadata)
