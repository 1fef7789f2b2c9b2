"""Which column of a table is what: the mapping from a file's names to quantlit's."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

from quantlit.core import ConfigError, DataError

KEYS = ("date", "symbol")
PRICES = ("open", "high", "low", "close", "vwap")
FIELDS = ("open", "high", "low", "close", "volume", "amount", "vwap", "factor")
"""Quantlit's names of fields, in the order of the field axis."""


@dataclass(frozen=True, kw_only=True)
class ColumnMap:
    """The table's name of each column; null where the table has none or it is not wanted.

    A column left at its default may be missing, except date, symbol and close.

    Args:
        date: timestamp of the bar, in the exchange's own time (see ``timezone``).
        symbol: name of the asset. Null: each file holds one asset and is named after it.
        open: first price of the bar.
        high: highest price.
        low: lowest price.
        close: last price. It decides whether a bar was observed: an empty one is an unseen bar.
            Null in a table without it: then a row is an observed bar.
        volume: number of shares or contracts traded.
        amount: money traded.
        vwap: volume-weighted average price.
        factor: adjusted price over unadjusted price, kept as a field and applied to nothing; not
            read where prices are adjusted here, which makes it anew.
        adjustment_factor: adjusted price over raw price, by which the raw prices and the volume of
            the table are to be adjusted; taken relative to the first bar of each asset.
        adjusted_close: close adjusted for splits and dividends by the vendor. If given, all prices
            and the volume are adjusted by ``adjusted_close / close``, relative to the first bar of
            each asset, so that no level depends on later events.
    """

    date: str = "date"
    symbol: str | None = "symbol"
    open: str | None = "open"
    high: str | None = "high"
    low: str | None = "low"
    close: str | None = "close"
    volume: str | None = "volume"
    amount: str | None = "amount"
    vwap: str | None = "vwap"
    factor: str | None = "factor"
    adjusted_close: str | None = None
    adjustment_factor: str | None = None


@dataclass(frozen=True, kw_only=True)
class ReturnColumn:
    """A column with each bar's return since the asset's last bar, dividends and splits included.

    Args:
        column: the table's name of it.
        unit: ``percent`` (1.5 is 1.5 %), ``fraction`` (0.015) or ``log`` (the logarithm of
            1 + fraction).
    """

    column: str
    unit: Literal["percent", "fraction", "log"]


def resolve_columns(
    available: Sequence[str],
    columns: ColumnMap,
    *,
    extra: Sequence[str],
    returns: ReturnColumn | None,
    where: str,
) -> dict[str, str]:
    """Which of a table's columns to read, by the name that it has here.

    Args:
        available: the table's columns.
        columns: the mapping.
        extra: columns to take as further fields, under their own names.
        returns: the column of returns.
        where: names the table in errors.

    Returns:
        ``{name here: the table's column}``; ``return`` and ``adjusted_close`` beside date, symbol
        and the fields.

    Raises:
        DataError: if a column is missing.
        ConfigError: if a further field has one of quantlit's own names.
    """
    wanted: dict[str, str] = {}
    for entry in fields(columns):
        column = getattr(columns, entry.name)
        required = column != entry.default or entry.name in (*KEYS, "close")
        if column is not None and (required or column in available):
            wanted[entry.name] = column
    own = {*(entry.name for entry in fields(columns)), "return"}
    for name in extra:
        if name in own:
            raise ConfigError(
                f"extra asks for {name!r}, which is one of quantlit's own names. Map the column "
                f"under columns instead, or rename it."
            )
        wanted[name] = name
    if returns is not None:
        wanted["return"] = returns.column
    for name, column in wanted.items():
        if column not in available:
            raise DataError(_missing(name, column, available, where))
        if (count := list(available).count(column)) > 1:
            raise DataError(
                f"{where}: there are {count} columns {column!r}. Remove or rename all but one."
            )
    return wanted


def _missing(name: str, column: str, available: Sequence[str], where: str) -> str:
    near = difflib.get_close_matches(column, available, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return (
        f"{where}: there is no column {column!r} for the {name}; the columns are "
        f"{', '.join(available)}.{hint} Map it in the source's columns (null if "
        "there is none)."
    )
