"""The two text files of a Qlib store: the calendar, and who belonged to a market when."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.core import DataError

Dates = npt.NDArray[np.datetime64]
Spells = list[tuple[np.datetime64, np.datetime64]]
"""First and last moment of each stay, both included."""

DAY_END = np.timedelta64(86_400_000_000_000 - 1, "ns")


def read_calendar(file: Path) -> Dates:
    """``[T]`` datetime64[ns] timestamps of a calendar; a time zone is dropped, local time kept.

    Args:
        file: a line for each bar, ISO 8601, ascending; empty lines are skipped.

    Raises:
        DataError: naming the line that cannot be read, or is not later than the one before.
    """
    lines = read_lines(file)
    if not lines:
        raise DataError(f"{file}: the calendar is empty. Download or dump the store anew.")
    dates = _moments([text for _, text in lines])
    bad = np.isnat(dates)
    if bad.any():
        number, text = lines[int(np.argmax(bad))]
        raise DataError(
            f"{file}, line {number}: {text!r} is no date written as YYYY-MM-DD (HH:MM:SS) between "
            "1678 and 2261. Correct it."
        )
    late = dates[1:] <= dates[:-1]
    if late.any():
        place = int(np.argmax(late))
        (first, before), (second, text) = lines[place], lines[place + 1]
        problem = "holds a bar twice" if dates[place] == dates[place + 1] else "is not sorted"
        raise DataError(
            f"{file}, line {second}: {text} follows {before} (line {first}), so the calendar "
            f"{problem}. The files' start indices count its lines: dump the store anew from sorted "
            "dates, each once."
        )
    return dates


def read_instruments(file: Path) -> dict[str, Spells]:
    """When each asset belonged to a market; several lines of an asset are joined where they touch.

    Args:
        file: lines of symbol, first and last date, with tabs between them; more columns are left
            alone. A last date without a time covers its whole day.

    Returns:
        Each symbol's spells, ascending and apart from each other; symbols ascending.

    Raises:
        DataError: naming the line that is no such line, or ends before it starts.
    """
    lines = read_lines(file)
    if not lines:
        raise DataError(
            f"{file}: the list of instruments is empty. Name another market, or set instruments to "
            "null to take every folder of features."
        )
    rows = [_cells(file, number, text) for number, text in lines]
    starts = _moments([row[1] for row in rows])
    ends = _moments([row[2] for row in rows])
    for column, dates in (("start", starts), ("end", ends)):
        bad = np.isnat(dates)
        if bad.any():
            row = int(np.argmax(bad))
            raise DataError(
                f"{file}, line {lines[row][0]}: the {column} of {rows[row][0]}, "
                f"{rows[row][1 if column == 'start' else 2]!r}, is no date written as YYYY-MM-DD "
                "(HH:MM:SS) between 1678 and 2261. Correct it."
            )
    ends = last_moments(ends)
    if (ends < starts).any():
        row = int(np.argmax(ends < starts))
        raise DataError(
            f"{file}, line {lines[row][0]}: {rows[row][0]} ends on {rows[row][2]}, before its "
            f"start on {rows[row][1]}. Correct the line."
        )
    spells: dict[str, Spells] = {row[0]: [] for row in sorted(rows)}
    for row in np.argsort(starts, kind="stable"):
        _add(spells[rows[row][0]], starts[row], ends[row])
    return spells


def last_moments(dates: Dates) -> Dates:
    """The last moment that each date covers: a date without a time covers its whole day."""
    whole = np.equal(dates, dates.astype("datetime64[D]"))
    return np.asarray(np.where(whole, dates + DAY_END, dates))


def membership(dates: Dates, spells: Spells) -> npt.NDArray[np.bool_]:
    """``[T]`` bool: whether each bar lies in one of the spells.

    Args:
        dates: ``[T]`` ascending timestamps.
        spells: first and last moments.
    """
    inside = np.zeros(len(dates), dtype=np.bool_)
    for start, end in spells:
        inside[np.searchsorted(dates, start) : np.searchsorted(dates, end, side="right")] = True
    return inside


def read_lines(file: Path) -> list[tuple[int, str]]:
    """The lines of a text file that hold something, each with its number from 1.

    Raises:
        DataError: if the file cannot be read, or is no text.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise DataError(
            f"{file}: this file cannot be read as text ({error}). Check that it is there, whole, "
            "and yours to read."
        ) from error
    lines = ((number, line.strip()) for number, line in enumerate(text.splitlines(), start=1))
    return [(number, line) for number, line in lines if line]


def _cells(file: Path, number: int, text: str) -> tuple[str, str, str]:
    cells = [cell.strip() for cell in text.split("\t")]
    if len(cells) < 3 or not all(cells[:3]):
        raise DataError(
            f"{file}, line {number}: {text!r} is not a symbol, a start and an end with tabs "
            "between them. Write it as SYMBOL<tab>YYYY-MM-DD<tab>YYYY-MM-DD."
        )
    return cells[0], cells[1], cells[2]


def _moments(texts: list[str]) -> Dates:
    """Timestamps of ISO 8601 texts, NaT where a text is none."""
    try:
        index = pd.DatetimeIndex(pd.to_datetime(texts, errors="coerce", format="ISO8601"))
    except ValueError:  # some with a time zone, some without
        return np.array([_moments([text])[0] for text in texts], dtype="datetime64[ns]")
    index = index.tz_localize(None)
    outside = (index < pd.Timestamp.min) | (index > pd.Timestamp.max)
    return np.asarray(pd.DatetimeIndex(index.where(~outside)).as_unit("ns"))


def _add(spells: Spells, start: np.datetime64, end: np.datetime64) -> None:
    """Append a spell that starts no earlier than the last one, or lengthen that."""
    if spells and start <= spells[-1][1] + np.timedelta64(1, "ns"):
        spells[-1] = (spells[-1][0], max(spells[-1][1], end))
    else:
        spells.append((start, end))
