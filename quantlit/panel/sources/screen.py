"""Screen: what becomes of the rows of a table that cannot become bars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.core import DataError
from quantlit.panel.sources.records import BadRow, Records

OnBadRows = Literal["error", "drop", "report"]
"""``error`` stops at the first, ``drop`` leaves them out, ``report`` lists all of them instead."""

SHOWN = 10
"""Bad rows that a message shows."""


class BadRowsError(DataError):
    """All bad rows of a source, found under ``on_bad_rows: report``.

    Args:
        rows: what was found, at least one.
    """

    def __init__(self, rows: Sequence[BadRow]) -> None:
        self.rows = list(rows)
        super().__init__(summary(rows))


class Screen:
    """Takes the complaints about the rows of one table.

    Args:
        records: the table of M rows.
        policy: what happens to a bad row.

    Attributes:
        keep: ``[M]`` bool, False at rows that were complained about.
        found: those rows.
    """

    def __init__(self, records: Records, policy: OnBadRows) -> None:
        self.records = records
        self.policy = policy
        self.keep = np.ones(len(records.frame), dtype=np.bool_)
        self.found: list[BadRow] = []

    def reject(self, bad: npt.NDArray[np.bool_], name: str, problem: str) -> None:
        """Complain about some rows of a column; rows that are out already are passed over.

        Args:
            bad: ``[M]`` bool.
            name: the column, by quantlit's name.
            problem: what is wrong with the value and what to do, in the words that follow it.

        Raises:
            DataError: under the policy ``error``, if there is any.
        """
        bad = bad & self.keep
        if not bad.any():
            return
        if self.policy == "error":
            raise self.records.error(bad, name, problem)
        self.keep &= ~bad
        self.found += self.records.bad_rows(bad, name, problem)


def summary(rows: Sequence[BadRow]) -> str:
    """How many bad rows there are of which kind, and the first of them."""
    kinds = Counter((row.column, row.problem) for row in rows)
    lines = [
        f"  {count} x column {column!r}, {problem}" for (column, problem), count in kinds.items()
    ]
    shown = [
        f"  {row.file}, {row.place} ({row.symbol}, {row.date}): {row.column} = {row.value!r}"
        for row in rows[:SHOWN]
    ]
    more = f"\n  and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
    head = f"{len(rows)} bad row{'s' if len(rows) > 1 else ''}:"
    return "\n".join([head, *lines, "in", *shown]) + more + "\n"


def report_frame(rows: Sequence[BadRow]) -> pd.DataFrame:
    """The bad rows as a table."""
    names = [field.name for field in fields(BadRow)]
    return pd.DataFrame([astuple(row) for row in rows], columns=names)


def read_report(path: Path) -> tuple[BadRow, ...]:
    """The bad rows of a table that was written to CSV."""
    table = pd.read_csv(path, dtype="str", keep_default_na=False)
    return tuple(BadRow(*row) for row in table.itertuples(index=False))
