"""The prediction table: one row per date, symbol and horizon; everything after training reads it.

Columns: ``date`` (datetime64[ns]), ``symbol`` (categorical), ``horizon`` (int32, bars),
``forecast`` (float32), ``label`` (float32, raw decimal return, NaN where unknown) and ``valid``
(bool: observed, in the universe, enough of the window seen). Sorted by date, symbol and horizon,
each combination once. Rows that are not valid keep the number that the model gave: scores leave
them out by ``valid``. Further columns may follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.core import DataError

KEYS = ["date", "symbol", "horizon"]
COLUMNS = [*KEYS, "forecast", "label", "valid"]


class WidePredictions(NamedTuple):
    """One horizon of a prediction table on dense axes: T dates, N symbols.

    Attributes:
        dates: ``[T]`` datetime64[ns], ascending.
        symbols: N names, ascending.
        forecast: ``[T, N]`` float32, NaN where the table has no row.
        label: ``[T, N]`` float32, raw decimal returns, NaN where unknown.
        valid: ``[T, N]`` bool.
    """

    dates: npt.NDArray[np.datetime64]
    symbols: list[str]
    forecast: npt.NDArray[np.float32]
    label: npt.NDArray[np.float32]
    valid: npt.NDArray[np.bool_]


def prediction_frame(
    *,
    dates: npt.NDArray[np.datetime64],
    symbols: Sequence[str],
    horizons: Sequence[int],
    forecast: npt.NDArray[Any],
    label: npt.NDArray[Any],
    valid: npt.NDArray[np.bool_],
) -> pd.DataFrame:
    """Forecasts of a run as a tidy table.

    Args:
        dates: ``[D]`` timestamps in any order, each once.
        symbols: N names.
        horizons: H horizons in bars.
        forecast: ``[D, N, H]`` scores.
        label: ``[D, N, H]`` raw decimal returns, NaN where unknown.
        valid: ``[D, N]`` bool.

    Returns:
        The table, ``D * N * H`` rows, see the module.

    Raises:
        DataError: if shapes do not fit together, or a date, symbol or horizon occurs twice.
    """
    shape = (len(dates), len(symbols), len(horizons))
    if forecast.shape != shape or label.shape != shape or valid.shape != shape[:2]:
        raise DataError(
            f"{shape[0]} dates, {shape[1]} symbols and {shape[2]} horizons need forecast and label "
            f"of shape {list(shape)} and valid of shape {list(shape[:2])}, not "
            f"{list(forecast.shape)}, {list(label.shape)} and {list(valid.shape)}."
        )
    stamps = np.asarray(dates, dtype="datetime64[ns]")
    names = np.asarray(symbols, dtype=object)
    bars = np.asarray(horizons, dtype=np.int32)
    for what, values in (("date", stamps), ("symbol", names), ("horizon", bars)):
        _refuse_repeats(what, values)
    by_date, by_symbol, by_horizon = np.argsort(stamps), np.argsort(names), np.argsort(bars)
    cells = np.ix_(by_date, by_symbol, by_horizon)
    codes = np.tile(np.repeat(np.arange(shape[1], dtype=np.int32), shape[2]), shape[0])
    return pd.DataFrame(
        {
            "date": np.repeat(stamps[by_date], shape[1] * shape[2]),
            "symbol": pd.Categorical.from_codes(codes, categories=pd.Index(names[by_symbol])),
            "horizon": np.tile(bars[by_horizon], shape[0] * shape[1]),
            "forecast": forecast[cells].astype(np.float32).ravel(),
            "label": label[cells].astype(np.float32).ravel(),
            "valid": np.repeat(valid[np.ix_(by_date, by_symbol)].ravel(), shape[2]),
        }
    )


def wide_predictions(frame: pd.DataFrame, horizon: int) -> WidePredictions:
    """One horizon of a prediction table on dense axes.

    Args:
        frame: a prediction table.
        horizon: which one, in bars.

    Raises:
        DataError: if the table has no such horizon; the message lists those it has.
    """
    rows = frame[frame["horizon"] == horizon]
    if rows.empty:
        known = sorted(int(h) for h in frame["horizon"].unique())
        raise DataError(f"The prediction table has no horizon {horizon}; it has {known}.")
    dates, t = np.unique(rows["date"].to_numpy("datetime64[ns]"), return_inverse=True)
    symbol = rows["symbol"].cat
    n = symbol.codes.to_numpy()
    shape = (len(dates), len(symbol.categories))
    grids = {}
    for name in ("forecast", "label"):
        grids[name] = np.full(shape, np.nan, dtype=np.float32)
        grids[name][t, n] = rows[name].to_numpy()
    valid = np.zeros(shape, dtype=bool)
    valid[t, n] = rows["valid"].to_numpy()
    symbols = [str(name) for name in symbol.categories]
    return WidePredictions(dates, symbols, grids["forecast"], grids["label"], valid)


def _refuse_repeats(what: str, values: npt.NDArray[Any]) -> None:
    unique, counts = np.unique(values, return_counts=True)
    if len(unique) != len(values):
        raise DataError(
            f"The {what} {unique[counts > 1][0]} occurs {counts.max()} times among the "
            f"predictions; each {what} must be predicted once."
        )
