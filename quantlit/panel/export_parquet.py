"""write_parquet: a panel as one long table, which any reader of Parquet reads."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from quantlit.core import PanelError
from quantlit.panel.aside import Progress, no_progress, written_aside
from quantlit.panel.paths import expand_path
from quantlit.panel.store import Panel

KEYS = ("date", "symbol")

GROUP_ROWS = 1 << 19
"""Bars of a row group, whose dates are whole: a group may hold up to a date's bars more."""


def write_parquet(
    panel: Panel,
    path: str | Path,
    *,
    overwrite: bool = False,
    progress: Progress = no_progress,
) -> Path:
    """Write the observed bars of a panel as a Parquet file, sorted by date and symbol.

    Columns are ``date`` (timestamp), ``symbol`` (dictionary) and the fields (float32, null where
    unknown); compressed by zstd. Row groups hold whole dates and are written one after the other,
    so that memory is bounded whatever the panel's size. Dates and assets without an observed bar
    have no row. The file's metadata holds ``quantlit.checksum`` (of the panel) and
    ``quantlit.fields`` (a JSON list). It is written beside its place, flushed and renamed.

    Args:
        panel: T bars, N assets, F fields.
        path: where the file is wanted; ``~`` and environment variables are filled in.
        overwrite: replace a file that is there already.
        progress: told how many of the dates are done.

    Returns:
        The file's path.

    Raises:
        PanelError: if a field is called like a key, something is in the way, or the file cannot be
            written.
        ConfigError: if the path names an environment variable that is not set.
    """
    target = expand_path(path)
    for key in KEYS:
        if key in panel.fields:
            raise PanelError(
                f"{panel.path}: the panel has a field {key!r}, and the table has a column of that "
                "name already. Rename the field in the source and prepare the panel anew."
            )
    if target.is_dir():
        raise PanelError(
            f"{target}: this is a folder. Name a file for the table, such as "
            f"{target / 'bars.parquet'}."
        )
    with written_aside(
        target, what="Parquet file", is_one=_is_parquet, overwrite=overwrite
    ) as aside:
        schema = _schema(panel)
        with pq.ParquetWriter(
            aside, schema, compression="zstd", use_dictionary=["symbol"]
        ) as writer:
            ends = _group_ends(panel)
            for start, end in zip([0, *ends[:-1]], ends, strict=True):
                writer.write_table(_table(panel, start, end, schema))
                progress(end, len(panel.dates))
        descriptor = os.open(aside, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    return target


def _is_parquet(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _schema(panel: Panel) -> pa.Schema:
    fields = [
        ("date", pa.timestamp("ns")),
        ("symbol", pa.dictionary(pa.int32(), pa.string())),
        *((name, pa.float32()) for name in panel.fields),
    ]
    metadata = {
        "quantlit.checksum": panel.checksum,
        "quantlit.fields": json.dumps(panel.fields, ensure_ascii=False),
    }
    return pa.schema(fields, metadata=metadata)


def _group_ends(panel: Panel) -> list[int]:
    """Position behind each row group's last date."""
    rows = np.cumsum(np.count_nonzero(panel.observed, axis=1))
    starts = np.flatnonzero(np.diff(np.maximum(rows - 1, 0) // GROUP_ROWS) > 0) + 1
    return [*starts.tolist(), len(panel.dates)]


def _table(panel: Panel, start: int, end: int, schema: pa.Schema) -> pa.Table:
    """The observed bars of a range of dates."""
    bars, assets = np.nonzero(panel.observed[start:end])
    values: npt.NDArray[np.float32] = np.asarray(panel.values[start:end])[bars, assets]
    columns = [
        pa.array(np.asarray(panel.dates[start:end])[bars]),
        pa.DictionaryArray.from_arrays(
            pa.array(assets.astype(np.int32)), pa.array(panel.symbols, pa.string())
        ),
        *(pa.array(np.ascontiguousarray(c), from_pandas=True) for c in values.T),
    ]
    return pa.table(columns, schema=schema)
