"""From the cells of a table to timestamps, names and numbers, or one clear error."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.core import DataError
from quantlit.panel.sources.records import Records

LARGEST = float(np.finfo(np.float32).max)


def parse_dates(records: Records, date_format: str | None) -> npt.NDArray[np.datetime64]:
    """``[M]`` datetime64[ns] timestamps of the rows; a time zone is dropped, the local time kept.

    Args:
        records: the table.
        date_format: how dates are written (``strptime``); None reads ISO 8601 (2017-05-31,
            20170531, 2017-05-31 09:35:00).

    Raises:
        DataError: naming the first row whose date cannot be read.
    """
    column = records.frame["date"]
    if not pd.api.types.is_datetime64_any_dtype(column):
        text = column.astype("str")
        try:
            column = pd.to_datetime(text, errors="coerce", format=date_format or "ISO8601")
        except ValueError as error:
            raise DataError(
                f"{records.names}: column {records.columns['date']!r} cannot be read as dates "
                f"({error})."
            ) from error
    bad = column.isna().to_numpy()
    if bad.any():
        written = f"in the format {date_format}" if date_format else "as YYYY-MM-DD (HH:MM:SS)"
        raise records.error(
            bad, "date", f"which is not a date written {written}. Correct it, or set date_format."
        )
    if getattr(column.dt, "tz", None) is not None:
        column = column.dt.tz_localize(None)
    try:
        return np.asarray(column.dt.as_unit("ns"))
    except pd.errors.OutOfBoundsDatetime as error:
        raise DataError(
            f"{records.names}: column {records.columns['date']!r} holds a date outside of 1678 to "
            f"2261 ({error})."
        ) from error


def parse_symbols(records: Records) -> tuple[npt.NDArray[np.int64], list[str]]:
    """``[M]`` position of each row's asset, and the N names, ascending.

    Raises:
        DataError: naming the first row without a name.
    """
    column = records.frame["symbol"]
    codes, names = pd.factorize(column)
    texts = np.array([str(name) for name in names], dtype=object)
    bad = codes < 0
    if (texts == "").any():
        bad |= codes == int(np.argmax(texts == ""))
    if bad.any():
        raise records.error(bad, "symbol", "so the asset has no name. Fill it in, or drop the row.")
    symbols, positions = np.unique(texts.astype(str), return_inverse=True)
    return positions[codes].astype(np.int64), symbols.tolist()


def parse_numbers(records: Records, name: str) -> npt.NDArray[np.float64]:
    """``[M]`` float64 numbers of a column, NaN where it is empty; True is 1 and False 0.

    Args:
        records: the table.
        name: the column, by quantlit's name.

    Raises:
        DataError: naming the first row that holds no number, or one beyond float32.
    """
    column = records.frame[name]
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype("object")
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    text = np.isnan(numbers) & column.notna().to_numpy() & (column != "").to_numpy()
    if text.any():
        raise records.error(
            text, name, "which is not a number. Correct it, or leave the cell empty if unknown."
        )
    huge = np.abs(numbers) > LARGEST
    if huge.any():
        raise records.error(
            huge, name, f"which is beyond float32 ({LARGEST:.2g}). Leave it empty if unknown."
        )
    return numbers
