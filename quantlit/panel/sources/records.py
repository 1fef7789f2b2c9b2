"""Records: a long table under quantlit's names, each row with its place in its file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.core import DataError

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Records:
    """M rows of one or more files.

    Attributes:
        frame: M rows; columns ``date``, ``symbol`` and numbers, under quantlit's names.
        columns: the files' own name of each column.
        files: names of the files.
        starts: first row of each file in the frame, ascending.
        places: ``[M]`` each row's place in its file, as counted in ``unit``.
        unit: ``line`` of a text file (the header is line 1) or ``row`` of a table (from 0).
    """

    frame: pd.DataFrame
    columns: dict[str, str]
    files: list[str]
    starts: Rows
    places: Rows
    unit: str

    def where(self, row: int) -> str:
        """File and place of a row, for an error."""
        file = self.files[int(np.searchsorted(self.starts, row, side="right")) - 1]
        return f"{file}, {self.unit} {self.places[row]}"

    def error(self, bad: npt.NDArray[np.bool_], name: str, problem: str) -> DataError:
        """The error for the first of some bad rows of a column, with the number of others.

        Args:
            bad: ``[M]`` bool, at least one True.
            name: the column, by quantlit's name.
            problem: what is wrong with the value and what to do, in the words that follow it.
        """
        row = int(np.argmax(bad))
        others = int(bad.sum()) - 1
        more = f" ({others} more such row{'s' if others > 1 else ''}.)" if others else ""
        value = self.frame[name].iloc[row]
        shown = "is empty" if _is_empty(value) else f"holds {str(value)!r}"
        return DataError(
            f"{self.where(row)}{self._key(row, name)}: column {self.columns[name]!r} {shown}, "
            f"{problem}{more}"
        )

    def _key(self, row: int, name: str) -> str:
        """Date and symbol of a row, where they are not what is wrong."""
        if name in ("date", "symbol"):
            return ""
        return f" ({self.frame['symbol'].iloc[row]}, {self.frame['date'].iloc[row]})"

    @property
    def names(self) -> str:
        """The files, for an error about all of them."""
        others = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return self.files[0] + others


def table_records(
    frame: pd.DataFrame,
    wanted: dict[str, str],
    file: str,
    *,
    asset: str,
    places: Rows,
    unit: str,
) -> Records:
    """The records of one table.

    Args:
        frame: the table, under its own names.
        wanted: ``{quantlit's name: the table's column}``.
        file: the table's name, for errors.
        asset: the asset's name, where the table has no column of symbols.
        places: each row's place in the file.
        unit: what places count.

    Raises:
        DataError: if there is no row.
    """
    if len(frame) == 0:
        raise DataError(f"{file}: the table is empty; it has a header and no bar.")
    columns = {name: frame[column] for name, column in wanted.items()}
    columns.setdefault("symbol", pd.Series(asset, index=frame.index))
    return Records(
        frame=pd.DataFrame(columns).reset_index(drop=True),
        columns={"symbol": "symbol", **wanted},
        files=[file],
        starts=np.zeros(1, dtype=np.int64),
        places=places,
        unit=unit,
    )


def join_records(parts: list[Records]) -> Records:
    """The rows of several files, one after the other.

    Args:
        parts: records of the same columns and unit.
    """
    starts = np.cumsum([0, *(len(part.frame) for part in parts[:-1])])
    return Records(
        frame=pd.concat([part.frame for part in parts], ignore_index=True),
        columns=parts[0].columns,
        files=[file for part in parts for file in part.files],
        starts=starts.astype(np.int64),
        places=np.concatenate([part.places for part in parts]),
        unit=parts[0].unit,
    )


def _is_empty(value: Any) -> bool:
    return bool(pd.isna(value)) or value == ""
