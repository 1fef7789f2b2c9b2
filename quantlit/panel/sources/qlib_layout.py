"""Where things lie in a Qlib store, and how its names are written in files and folders."""

from __future__ import annotations

import difflib
from pathlib import Path

from quantlit.core import DataError

FUTURE = "_future"
"""Ends the name of a calendar that also lists days to come; no bar lies on them."""

RESERVED = frozenset(
    ["con", "prn", "aux", "nul"]
    + [f"{device}{number}" for device in ("com", "lpt") for number in range(10)]
)
"""Symbols that Windows allows no folder for; Qlib puts a prefix before them."""

RESERVED_PREFIX = "_qlib_"


def check_store(folder: Path) -> None:
    """Raise unless a folder looks like a Qlib store.

    Args:
        folder: the store.

    Raises:
        DataError: if it is missing, a file, or has no calendars or features.
    """
    if not folder.exists():
        raise DataError(f"{folder}: there is no such folder. Check the source's path.")
    if not folder.is_dir():
        raise DataError(
            f"{folder}: this is a file, and a Qlib store is a folder with calendars, instruments "
            "and features. Give that folder."
        )
    for name in ("calendars", "features"):
        if not (folder / name).is_dir():
            inner = sorted(path.parent.name for path in folder.glob("*/calendars"))
            hint = f" There is one in {folder / inner[0]}." if inner else ""
            raise DataError(
                f"{folder}: there is no folder {name!r}, so this is no Qlib store.{hint} Give the "
                "folder that holds calendars, instruments and features."
            )


def frequencies(folder: Path) -> list[str]:
    """The frequencies that a store has a calendar of, ascending; lists of days to come left out.

    Args:
        folder: the store.
    """
    return [name for name in _lists(folder / "calendars") if not name.endswith(FUTURE)]


def calendar_file(folder: Path, freq: str) -> Path:
    """The calendar of a frequency.

    Args:
        folder: the store.
        freq: ``day``, ``1min``, ...

    Raises:
        DataError: if there is none; lists the frequencies that there are.
    """
    there = frequencies(folder)
    if freq in there:
        return folder / "calendars" / f"{freq}.txt"
    if not there:
        raise DataError(
            f"{folder / 'calendars'}: there is no calendar at all, such as {freq}.txt. The store "
            "is not whole; download or dump it anew."
        )
    raise DataError(
        f"{folder / 'calendars'}: there is no calendar {freq}.txt; the store's frequencies are "
        f"{', '.join(there)}.{_near(freq, there)} Set freq to one of them."
    )


def instruments_file(folder: Path, market: str) -> Path:
    """The list of a market's assets.

    Args:
        folder: the store.
        market: ``all``, ``csi300``, ...

    Raises:
        DataError: if there is none; lists the markets that there are.
    """
    there = _lists(folder / "instruments")
    for name in (market, market.lower()):
        if name in there:
            return folder / "instruments" / f"{name}.txt"
    if not there:
        raise DataError(
            f"{folder / 'instruments'}: there is no list of instruments at all, such as "
            f"{market}.txt. Set instruments to null to take every folder of features."
        )
    raise DataError(
        f"{folder / 'instruments'}: there is no list {market}.txt; the store's markets are "
        f"{', '.join(there)}.{_near(market, there)} Set instruments to one of them, or to null to "
        "take every folder of features."
    )


def folder_name(symbol: str) -> str:
    """The name of a symbol's folder below ``features``.

    >>> folder_name("SH600000"), folder_name("PRN")
    ('sh600000', '_qlib_prn')
    """
    name = symbol.lower()
    return RESERVED_PREFIX + name if name in RESERVED else name


def symbol_name(folder: str) -> str:
    """The symbol of a folder below ``features``, in lower case as the folder is.

    >>> symbol_name("_qlib_prn")
    'prn'
    """
    return folder.removeprefix(RESERVED_PREFIX)


def file_ending(freq: str) -> str:
    """How the names of a frequency's files end.

    >>> file_ending("day")
    '.day.bin'
    """
    return f".{freq}.bin"


def _lists(folder: Path) -> list[str]:
    """Names of the text files in a folder, without ``.txt``; none where there is no folder."""
    if not folder.is_dir():
        return []
    return sorted(path.stem for path in folder.iterdir() if path.suffix == ".txt")


def _near(name: str, there: list[str]) -> str:
    near = difflib.get_close_matches(name, there, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
