"""From a long table to dense arrays: two factorisations and one fancy-indexed write a field."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.core import DataError
from quantlit.panel.sources.adjustment import adjustment_factors
from quantlit.panel.sources.base import RawPanel
from quantlit.panel.sources.columns import FIELDS, PRICES, ReturnColumn
from quantlit.panel.sources.parsing import parse_dates, parse_numbers, parse_symbols
from quantlit.panel.sources.records import Records, Rows


def pivot_records(
    records: Records,
    *,
    extra: Sequence[str] = (),
    returns: ReturnColumn | None = None,
    date_format: str | None = None,
) -> RawPanel:
    """A dense panel of a long table, prices adjusted if the table says how.

    Args:
        records: the table.
        extra: names of further fields.
        returns: the unit of the column ``return``, if the table has one.
        date_format: see :func:`parse_dates`.

    Returns:
        The panel; dates and symbols ascending.

    Raises:
        DataError: naming file, row, column and value of what is wrong.
    """
    dates, bars = np.unique(parse_dates(records, date_format), return_inverse=True)
    assets, symbols = parse_symbols(records)
    cells = bars * len(symbols) + assets
    shape = (len(dates), len(symbols))
    _check_unique(records, cells, dates, symbols, shape)
    columns = [name for name in records.columns if name not in ("date", "symbol")]
    numbers = {name: parse_numbers(records, name) for name in columns}
    observed = np.zeros(shape, dtype=np.bool_)
    observed.flat[cells] = np.isfinite(numbers["close"]) if "close" in numbers else True
    factors = adjustment_factors(records, cells, observed, numbers, returns)
    if factors is not None:
        for name in (name for name in PRICES if name in numbers):
            numbers[name] = numbers[name] * factors
        if "volume" in numbers:
            numbers["volume"] = numbers["volume"] / factors
        numbers["factor"] = factors
    fields = [name for name in (*FIELDS, *extra) if name in numbers]
    values = np.full((*shape, len(fields)), np.nan, dtype=np.float32)
    rows = values.reshape(-1, len(fields))
    for column, name in enumerate(fields):
        rows[cells, column] = numbers[name]
    values[~observed] = np.nan
    return RawPanel(dates, symbols, fields, values, observed)


def _check_unique(
    records: Records,
    cells: Rows,
    dates: npt.NDArray[np.datetime64],
    symbols: Sequence[str],
    shape: tuple[int, int],
) -> None:
    """Raise if two rows are the same bar of the same asset."""
    owner = np.empty(shape[0] * shape[1], dtype=np.int64)
    owner[cells] = np.arange(len(cells))
    lost = np.flatnonzero(owner[cells] != np.arange(len(cells)))
    if len(lost) == 0:
        return
    first = int(lost[0])
    second = int(np.flatnonzero(cells == cells[first])[1])
    bar, asset = divmod(int(cells[first]), shape[1])
    others = f" ({len(lost) - 1} more such rows.)" if len(lost) > 1 else ""
    raise DataError(
        f"{records.where(first)} and {records.where(second)}: both hold {symbols[asset]} on "
        f"{pd.Timestamp(dates[bar])}. A bar of an asset may be there once; remove one of them."
        f"{others}"
    )
