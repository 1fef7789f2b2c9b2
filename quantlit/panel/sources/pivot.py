"""From chunks of a long table to dense arrays: each row knows its cell, each cell its row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.core import DataError
from quantlit.panel.sources.adjustment import adjustment_factors
from quantlit.panel.sources.base import RawPanel
from quantlit.panel.sources.chunks import ChunkFile
from quantlit.panel.sources.columns import FIELDS, PRICES
from quantlit.panel.sources.grid import Grid
from quantlit.panel.sources.screen import BadRowsError
from quantlit.panel.sources.settings import TableSettings
from quantlit.panel.workspace import Workspace


def pivot(chunks: Sequence[ChunkFile], settings: TableSettings, workspace: Workspace) -> RawPanel:
    """A dense panel of a long table, prices adjusted if the table says how.

    Args:
        chunks: the table.
        settings: how it is written.
        workspace: where the values go.

    Returns:
        The panel; dates and symbols ascending.

    Raises:
        DataError: naming file, row, asset, date, column and value of what is wrong.
    """
    grid = Grid(chunks, settings.on_bad_rows)
    _check_columns(chunks)
    _check_zones(chunks, converts=settings.timezone is not None)
    grid.reject_twins()
    factors = adjustment_factors(grid, settings.returns) if grid.observed.any() else None
    if settings.on_bad_rows == "report" and grid.bad:
        raise BadRowsError(grid.bad)
    _check_overlap(grid, settings.min_assets)
    numbers = grid.numbers if factors is None else [*grid.numbers, "factor"]
    fields = [name for name in (*FIELDS, *settings.extra) if name in numbers]
    values = workspace.array("values", (*grid.shape, len(fields)), np.float32)
    _fill(values, grid, fields, factors)
    return RawPanel(grid.dates, grid.symbols, fields, values, grid.observed, tuple(grid.bad))


def _fill(
    values: npt.NDArray[np.float32],
    grid: Grid,
    fields: Sequence[str],
    factors: npt.NDArray[np.float64] | None,
) -> None:
    """Write the observed bars into ``[T, N, F]`` values, the others as NaN."""
    values[:] = np.nan
    rows = values.reshape(-1, len(fields))
    for start, chunk in grid.placed():
        cells = grid.cells(chunk)
        mine = grid.observed.flat[cells] & (grid.owner[cells] == start + np.arange(len(cells)))
        cells = cells[mine]
        block = np.empty((len(cells), len(fields)), dtype=np.float32)
        scale = factors.flat[cells] if factors is not None else None
        for column, name in enumerate(fields):
            if scale is not None and name == "factor":
                block[:, column] = scale
                continue
            numbers = chunk.part(name)[mine]
            if scale is not None and name in PRICES:
                numbers = numbers * scale
            elif scale is not None and name == "volume":
                numbers = numbers / scale
            block[:, column] = numbers
        rows[cells] = block


def _check_columns(chunks: Sequence[ChunkFile]) -> None:
    """Raise unless every file has the same of the wanted columns."""
    first = chunks[0]
    for chunk in chunks[1:]:
        lacking, having = first, chunk
        missing = [name for name in chunk.columns if name not in first.columns]
        if not missing:
            lacking, having = chunk, first
            missing = [name for name in first.columns if name not in chunk.columns]
        if missing:
            raise DataError(
                f"{lacking.file}: there is no column {having.columns[missing[0]]!r}, which "
                f"{having.file} has. Give all files the same columns, or map the column to null."
            )


def _check_zones(chunks: Sequence[ChunkFile], *, converts: bool) -> None:
    """Raise unless the times of all files can be brought to one zone."""
    dated = [chunk for chunk in chunks if len(chunk.moments) > 0] or chunks
    first = dated[0]
    for chunk in dated[1:]:
        mixed = chunk.zone != first.zone
        if mixed and not (converts and chunk.zone and first.zone):
            raise DataError(
                f"{chunk.file}: the times are in {_zone(chunk)}, and those of {first.file} in "
                f"{_zone(first)}. "
                + (
                    "Set timezone to the exchange's own to bring them to its local time."
                    if chunk.zone and first.zone
                    else "Write all of them in one way."
                )
            )


def _zone(chunk: ChunkFile) -> str:
    return f"the time zone {chunk.zone}" if chunk.zone else "no time zone"


def _check_overlap(grid: Grid, min_assets: int) -> None:
    """Raise unless some date has bars of enough assets."""
    if not grid.observed.any():
        dropped = f" {len(grid.bad)} rows were left out as bad." if grid.bad else ""
        raise DataError(
            f"{grid.chunks[0].file}: no row is left that has a close.{dropped} "
            "Check which column holds the closes."
        )
    if len(grid.symbols) < min_assets:
        raise DataError(
            f"{grid.chunks[0].file}: the table holds "
            + (
                f"one asset only, {grid.symbols[0]}"
                if len(grid.symbols) == 1
                else f"{len(grid.symbols)} assets"
            )
            + f", and min_assets is {min_assets}. Add assets or check the column of symbols; "
            f"min_assets: {len(grid.symbols)} takes it as it is."
        )
    most = int(grid.observed.sum(axis=1).max())
    if most < min_assets:
        shown = [
            f"{grid.symbols[asset]} {_day(grid, seen.argmax())} to "
            f"{_day(grid, len(seen) - 1 - seen[::-1].argmax())}"
            for asset, seen in enumerate(grid.observed.T[:3])
            if seen.any()
        ]
        raise DataError(
            f"{grid.chunks[0].file}: no date has bars of {min_assets} assets; the most is {most} "
            f"({'; '.join(shown)}). Check dates and time zones; min_assets: {most} takes it as it "
            "is."
        )


def _day(grid: Grid, bar: int) -> str:
    return str(pd.Timestamp(grid.dates[bar])).removesuffix(" 00:00:00")
