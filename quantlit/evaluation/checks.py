"""What makes a data frame a prediction table: checked before it is written and after it is read."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pandas.api import types

from quantlit.core import DataError
from quantlit.evaluation.table import COLUMNS, KEYS

_KINDS = {
    "date": (types.is_datetime64_any_dtype, "timestamps"),
    "horizon": (types.is_integer_dtype, "whole numbers of bars"),
    "forecast": (types.is_float_dtype, "floating-point numbers"),
    "label": (types.is_float_dtype, "floating-point numbers"),
    "valid": (types.is_bool_dtype, "booleans"),
}


def checked_predictions(frame: pd.DataFrame, where: str) -> pd.DataFrame:
    """The frame as a prediction table, its symbols categorical and in ascending order.

    Args:
        frame: any frame.
        where: what to call it in a message, e.g. its path.

    Returns:
        The same rows with ``date`` as datetime64[ns] without time zone, ``horizon`` as int32.

    Raises:
        DataError: naming the place and what is wrong: a missing column, a column of another type, a
            missing key, a row out of order or twice.
    """
    missing = [name for name in COLUMNS if name not in frame.columns]
    if missing:
        raise DataError(
            f"{where}: the column(s) {', '.join(missing)} are missing; a prediction table has "
            f"{', '.join(COLUMNS)}, this one has {', '.join(map(str, frame.columns))}."
        )
    for name in KEYS:
        empty = frame[name].isna().to_numpy()
        if empty.any():
            raise DataError(f"{where}: row {int(empty.argmax())} has no {name}.")
    for name, (is_kind, kind) in _KINDS.items():
        if not is_kind(frame[name].dtype):
            raise DataError(f"{where}: column {name} holds {frame[name].dtype}; it needs {kind}.")
    if getattr(frame["date"].dt, "tz", None) is not None:
        raise DataError(
            f"{where}: column date has the time zone {frame['date'].dt.tz}; dates are exchange "
            "sessions without one: use `.dt.tz_localize(None)`."
        )
    frame = frame.assign(
        date=frame["date"].astype("datetime64[ns]"),
        symbol=_ordered_symbols(frame["symbol"]),
        horizon=frame["horizon"].astype(np.int32),
    ).reset_index(drop=True)
    _check_order(frame, where)
    return frame


def _ordered_symbols(symbol: pd.Series) -> pd.Series:
    categorical = isinstance(symbol.dtype, pd.CategoricalDtype)
    if not categorical or not types.is_string_dtype(symbol.cat.categories):
        symbol = symbol.astype(str).astype("category")
    return symbol.cat.reorder_categories(sorted(symbol.cat.categories))


def _check_order(frame: pd.DataFrame, where: str) -> None:
    """Refuse rows that do not follow their predecessor in date, symbol and horizon."""
    follows = np.zeros(max(len(frame) - 1, 0), dtype=bool)
    keys = [
        frame["date"].to_numpy(),
        frame["symbol"].cat.codes.to_numpy(),
        frame["horizon"].to_numpy(),
    ]
    for values in reversed(keys):
        follows = (values[1:] > values[:-1]) | ((values[1:] == values[:-1]) & follows)
    if follows.all():
        return
    row = int((~follows).argmax()) + 1
    key = frame.loc[row, KEYS]
    what = "is there twice" if (key == frame.loc[row - 1, KEYS]).all() else "is out of order"
    raise DataError(
        f"{where}: row {row} (date {key['date']}, symbol {key['symbol']}, horizon "
        f"{key['horizon']}) {what}; a prediction table has each combination once and is sorted: "
        f"use `frame.sort_values({KEYS})`."
    )
