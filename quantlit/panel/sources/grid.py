"""Grid: the calendar, the assets, and which row of a long table stands in which cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.core import DataError
from quantlit.panel.sources.chunks import ChunkFile
from quantlit.panel.sources.records import BadRow, Rows
from quantlit.panel.sources.screen import OnBadRows

_NOBODY = -1


class Grid:
    """T bars x N assets over the M rows of some chunks.

    Args:
        chunks: the table, at least one chunk of it.
        policy: what happens to rows that are bad together with others.

    Attributes:
        chunks: the table.
        dates: ``[T]`` datetime64[ns], ascending.
        symbols: N names, ascending.
        shape: ``(T, N)``.
        owner: ``[T * N]`` int32 row of each cell, counted over all chunks; -1 for none.
        observed: ``[T, N]`` bool.
        bad: rows that were left out.
    """

    def __init__(self, chunks: Sequence[ChunkFile], policy: OnBadRows) -> None:
        self.chunks = chunks
        self.policy = policy
        moments = np.unique(np.concatenate([chunk.moments for chunk in chunks]))
        names = np.unique(np.concatenate([chunk.names for chunk in chunks]))
        self.dates = moments.astype("datetime64[ns]")
        self.symbols: list[str] = names.tolist()
        self._moments, self._names = moments, names
        self.shape = (len(moments), len(names))
        self.owner = np.full(len(moments) * len(names), _NOBODY, dtype=np.int32)
        self.observed = np.zeros(self.shape, dtype=np.bool_)
        self.bad: list[BadRow] = [row for chunk in chunks for row in chunk.bad]
        self.twins: list[tuple[int, int]] = []
        self._place_rows()

    @cached_property
    def numbers(self) -> list[str]:
        """Names of the columns of numbers."""
        return self.chunks[0].numbers

    def cells(self, chunk: ChunkFile) -> Rows:
        """``[M]`` position of each row of a chunk in the flattened ``[T, N]``."""
        bars = np.searchsorted(self._moments, chunk.moments)
        assets = np.searchsorted(self._names, chunk.names)
        return np.asarray(bars[chunk.part("bars")] * self.shape[1] + assets[chunk.part("assets")])

    def placed(self) -> Iterator[tuple[int, ChunkFile]]:
        """Each chunk, with the number of its first row over all chunks."""
        start = 0
        for chunk in self.chunks:
            yield start, chunk
            start += len(chunk)

    def dense(self, name: str) -> npt.NDArray[np.float64]:
        """``[T, N]`` float64 of a column, NaN where there is no row."""
        values = np.full(self.shape, np.nan)
        for start, chunk in self.placed():
            cells = self.cells(chunk)
            mine = self.owner[cells] == start + np.arange(len(cells))
            values.flat[cells[mine]] = chunk.part(name)[mine]
        return values

    def _place_rows(self) -> None:
        """Give each cell its first row, and note the rows that come later."""
        for start, chunk in self.placed():
            cells = self.cells(chunk)
            rows = start + np.arange(len(cells), dtype=np.int32)
            before = self.owner[cells]
            self.owner[cells[::-1]] = rows[::-1]
            taken = before != _NOBODY
            self.owner[cells[taken]] = before[taken]
            later = np.flatnonzero(self.owner[cells] != rows)
            self.twins += zip(self.owner[cells[later]].tolist(), rows[later].tolist(), strict=True)
            mine = self.owner[cells] == rows
            if "close" in chunk.numbers:
                mine &= np.isfinite(chunk.part("close"))
            self.observed.flat[cells[mine]] = True

    def reject_twins(self) -> None:
        """Complain about rows that are the same bar of the same asset as one before them.

        Raises:
            DataError: under the policy ``error``, if there are any.
        """
        if not self.twins:
            return
        if self.policy == "error":
            first, second = self.twins[0]
            (file, row), (other_file, other) = self._row(first), self._row(second)
            records, others = file.load().records(), other_file.load().records()
            count = len(self.twins) - 1
            more = f" ({count} more such row{'s' if count > 1 else ''}.)" if count else ""
            cell = int(self.cells(file)[row])
            bar, asset = divmod(cell, self.shape[1])
            raise DataError(
                f"{records.where(row)} and {others.where(other)}: both hold {self.symbols[asset]} "
                f"on {pd.Timestamp(self.dates[bar])}. A bar of an asset may be there once; remove "
                f"one of them.{more}"
            )
        later = np.array([row for _, row in self.twins])
        self._report(later, "date", "a bar of this asset that an earlier row holds already.")

    def reject(self, bad: npt.NDArray[np.bool_], name: str, problem: str) -> None:
        """Complain about some cells of a column; under ``drop`` they count as not observed.

        Args:
            bad: ``[T, N]`` bool.
            name: the column, by quantlit's name.
            problem: what is wrong with the value and what to do.

        Raises:
            DataError: under the policy ``error``, if there is any.
        """
        if not bad.any():
            return
        rows = np.sort(self.owner[bad.ravel()])
        if self.policy == "error":
            chunk, row = self._row(int(rows[0]))
            records = chunk.load().records()
            only = np.arange(len(records.frame)) == row
            raise records.error(only, name, problem, more=len(rows) - 1)
        self.observed &= ~bad
        self._report(rows, name, problem)

    def _report(self, rows: npt.NDArray[np.integer], name: str, problem: str) -> None:
        for start, chunk in self.placed():
            mine = rows[(rows >= start) & (rows < start + len(chunk))] - start
            if len(mine):
                records = chunk.load().records()
                bad = np.isin(np.arange(len(records.frame)), mine)
                self.bad += records.bad_rows(bad, name, problem)

    def _row(self, row: int) -> tuple[ChunkFile, int]:
        """The chunk of a row that is counted over all chunks, and its place there."""
        start, chunk = max(
            (placed for placed in self.placed() if placed[0] <= row), key=lambda placed: placed[0]
        )
        return chunk, row - start
