"""One row of results per date: how they are merged, and what a series of them is."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from quantlit.core import DataError

_AGREE = 1e-6  # results of one date, scored in two blocks of different size, differ by rounding


class DateSeries(NamedTuple):
    """A number per date, e.g. the IC, in the order of time.

    Attributes:
        dates: ``[T]`` int64 positions on the panel's calendar, ascending, each once.
        values: ``[T]`` float64, NaN where the date has no defined value.
        counts: ``[T]`` int64 assets with a valid, finite forecast and label.
    """

    dates: Tensor
    values: Tensor
    counts: Tensor

    def used(self) -> Tensor:
        """``[U]`` the defined values in the order of time; the other dates are excluded."""
        return self.values[torch.isfinite(self.values)]


class DateTable(NamedTuple):
    """Several numbers per date.

    Attributes:
        columns: K names.
        dates: ``[T]`` int64 positions on the panel's calendar, ascending, each once.
        values: ``[T, K]`` float64, NaN where undefined.
        counts: ``[T]`` int64 assets with a valid, finite forecast and label.
    """

    columns: tuple[str, ...]
    dates: Tensor
    values: Tensor
    counts: Tensor

    def series(self, column: str) -> DateSeries:
        """One column as a series.

        Raises:
            KeyError: if there is no such column.
        """
        if column not in self.columns:
            raise KeyError(f"No column {column!r}; there are {', '.join(self.columns)}.")
        return DateSeries(self.dates, self.values[:, self.columns.index(column)], self.counts)


def merge_rows(rows: Tensor, columns: tuple[str, ...]) -> DateTable:
    """Rows of any order, from any rank, as one table by date.

    Args:
        rows: ``[R, 2 + K]`` float64: calendar position (negative in padding), number of assets, K
            values. A float64 holds every position exactly.
        columns: names of the K values.

    Returns:
        The table, sorted by date, without padding; a date that was scored twice with one result
        counts once.

    Raises:
        DataError: if two rows of a date disagree.
    """
    rows = rows[rows[:, 0] >= 0]
    rows = rows[torch.argsort(rows[:, 0], stable=True)]
    repeated = rows[1:, 0] == rows[:-1, 0]
    agree = torch.isclose(rows[1:], rows[:-1], rtol=_AGREE, atol=_AGREE, equal_nan=True)
    conflicts = (repeated & ~agree.all(dim=1)).nonzero()
    if len(conflicts):
        raise DataError(_conflict(rows, int(conflicts[0]), ("assets", *columns)))
    first = torch.ones(len(rows), dtype=torch.bool, device=rows.device)
    first[1:] = ~repeated
    rows = rows[first]
    return DateTable(columns, rows[:, 0].long(), rows[:, 2:], rows[:, 1].long())


def _conflict(rows: Tensor, index: int, names: tuple[str, ...]) -> str:
    one, other = rows[index], rows[index + 1]
    differing = [
        f"{name} {a:.6g} and {b:.6g}"
        for name, a, b in zip(names, one[1:].tolist(), other[1:].tolist(), strict=True)
        if not (abs(a - b) <= _AGREE * (1 + abs(b)) or (a != a and b != b))
    ]
    return (
        f"Date position {int(one[0])} was scored twice with different results "
        f"({'; '.join(differing[:3])}). A date's cross-section must be scored whole and once: do "
        "not split it between batches or ranks (`use_distributed_sampler: false`), and call "
        "`reset()` between two passes."
    )
