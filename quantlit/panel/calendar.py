"""What the timestamps of bars say about trading: sessions, stamps and bars in a year.

T bars, each with one timestamp in the exchange's own time.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

SESSIONS_PER_YEAR = 252
"""Trading days in a year, by convention."""

Dates = npt.NDArray[np.datetime64]


def session_ids(dates: Dates) -> npt.NDArray[np.int32]:
    """The trading day of each bar, counted from 0; a day without bars has no number.

    Args:
        dates: ``[T]`` ascending timestamps.

    Returns:
        ``[T]`` int32.
    """
    days = dates.astype("datetime64[D]")
    starts = np.concatenate([[False], days[1:] != days[:-1]])
    return np.cumsum(starts, dtype=np.int32)


def bar_stamps(dates: Dates) -> npt.NDArray[np.int64]:
    """Minute, hour, weekday (Monday 0), day and month of each bar.

    Args:
        dates: ``[T]`` timestamps.

    Returns:
        ``[T, 5]`` int64.
    """
    index = pd.DatetimeIndex(dates)
    parts = (index.minute, index.hour, index.day_of_week, index.day, index.month)
    return np.stack([np.asarray(part, dtype=np.int64) for part in parts], axis=1)


def bars_per_year(sessions: npt.NDArray[np.int32]) -> float:
    """Bars in a trading year: the median number of bars in a session times 252 sessions.

    Args:
        sessions: ``[T]`` the trading day of each bar, from :func:`session_ids`.
    """
    return float(np.median(np.bincount(sessions))) * SESSIONS_PER_YEAR
