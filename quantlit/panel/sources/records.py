"""Records: rows of a long table under quantlit's names, each with its place in its file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.core import DataError

Rows = npt.NDArray[np.int64]

EXCESS = "beyond the last"
"""Name of what a row of a CSV file holds after the last column of the header."""


@dataclass(frozen=True)
class BadRow:
    """A row that cannot become a bar, and why.

    Attributes:
        file: name of the file.
        place: the row's place in it, e.g. ``line 7``.
        symbol: the asset as written.
        date: the date as written.
        column: the file's name of the column.
        value: what it holds.
        problem: what is wrong with that, and what to do.
    """

    file: str
    place: str
    symbol: str
    date: str
    column: str
    value: str
    problem: str


@dataclass(frozen=True)
class Records:
    """M rows of one file.

    Attributes:
        frame: M rows; columns ``date``, ``symbol`` and numbers, under quantlit's names.
        columns: the file's own name of each column.
        file: name of the file.
        places: ``[M]`` each row's place in its file, as counted in ``unit``.
        unit: ``line`` of a text file (the header is line 1) or ``row`` of a table (from 0).
        end: rows of the file up to the last of these, empty ones included.
    """

    frame: pd.DataFrame
    columns: dict[str, str]
    file: str
    places: Rows
    unit: str
    end: int

    def where(self, row: int) -> str:
        """File and place of a row, for an error."""
        return f"{self.file}, {self.unit} {self.places[row]}"

    def error(
        self, bad: npt.NDArray[np.bool_], name: str, problem: str, more: int = 0
    ) -> DataError:
        """The error for the first of some bad rows of a column, with the number of others.

        Args:
            bad: ``[M]`` bool, at least one True.
            name: the column, by quantlit's name.
            problem: what is wrong with the value and what to do, in the words that follow it.
            more: such rows elsewhere.
        """
        row = int(np.argmax(bad))
        others = int(bad.sum()) - 1 + more
        counted = f" ({others} more such row{'s' if others > 1 else ''}.)" if others else ""
        value = self.frame[name].iloc[row]
        shown = "is empty" if _is_empty(value) else f"holds {str(value)!r}"
        return DataError(
            f"{self.where(row)}{self._key(row, name)}: column {self.columns[name]!r} {shown}, "
            f"{problem}{counted}"
        )

    def bad_rows(self, bad: npt.NDArray[np.bool_], name: str, problem: str) -> list[BadRow]:
        """A report of some bad rows; the arguments are those of :meth:`error`."""
        rows = np.flatnonzero(bad)
        texts = {
            column: self.frame[column].iloc[rows].astype("object").map(str).tolist()
            for column in {"symbol", "date", name}
        }
        return [
            BadRow(
                file=self.file,
                place=f"{self.unit} {self.places[row]}",
                symbol=texts["symbol"][index],
                date=texts["date"][index],
                column=self.columns[name],
                value=texts[name][index],
                problem=problem,
            )
            for index, row in enumerate(rows)
        ]

    def _key(self, row: int, name: str) -> str:
        """Symbol and date of a row, where they are not what is wrong."""
        if name in ("date", "symbol"):
            return ""
        return f" ({self.frame['symbol'].iloc[row]}, {self.frame['date'].iloc[row]})"


def table_records(
    frame: pd.DataFrame,
    wanted: dict[str, str],
    file: str,
    *,
    constants: dict[str, str],
    places: Rows,
    unit: str,
    end: int,
) -> Records:
    """The records of one table.

    Args:
        frame: the table, under its own names.
        wanted: ``{quantlit's name: the table's column}``.
        file: the table's name, for errors.
        constants: ``{column: text}`` of columns that the table has in its path alone.
        places: each row's place in the file.
        unit: what places count.
        end: rows of the file up to the last of these.
    """
    columns = {
        name: frame[column] if column in frame else _constant(constants[column], frame.index)
        for name, column in wanted.items()
    }
    return Records(
        frame=pd.DataFrame(columns).reset_index(drop=True),
        columns=wanted,
        file=file,
        places=places,
        unit=unit,
        end=end,
    )


def _constant(text: str, index: pd.Index[Any]) -> pd.Series[Any]:
    codes = np.zeros(len(index), dtype=np.int8)
    return pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index([text])), index=index)


def _is_empty(value: Any) -> bool:
    return bool(pd.isna(value)) or value == ""
