"""From dates and times as written to one form: nanoseconds of the exchange's local time."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.core import DataError
from quantlit.panel.sources.records import Records
from quantlit.panel.sources.screen import Screen

EPOCHS: dict[str, Literal["s", "ms", "us", "ns"]] = {
    "epoch_s": "s",
    "epoch_ms": "ms",
    "epoch_us": "us",
    "epoch_ns": "ns",
}
"""Values of ``date_format`` for numbers counted from 1970 in UTC, and pandas' name of the unit."""

_OFFSET = re.compile(r"[T ]\d.*?(Z|UTC|[+-]\d\d(?::?\d\d)?)$")
_FIRST_YEAR, _LAST_YEAR = 1678, 2261
_NOT_A_TIME = np.iinfo(np.int64).min


def parse_dates(
    screen: Screen, date_format: str | None, timezone: str | None
) -> tuple[npt.NDArray[np.int64], str]:
    """Nanoseconds of the rows' local time since 1970, and the time zone that they were written in.

    Times that name their zone are brought to ``timezone``; without it they must all have one zone,
    which is dropped. Times without a zone are local already. Each different value is parsed once.

    Args:
        screen: the table of M rows, and what its bad rows get.
        date_format: how dates are written: ``strptime``'s language, or ``epoch_s`` (``ms``, ``us``,
            ``ns``) for numbers; None reads ISO 8601 (2017-05-31, 20170531, 2017-05-31 09:35:00).
        timezone: the exchange's.

    Returns:
        ``[M]`` int64, undefined at bad rows, and the zone: empty where the times name none.

    Raises:
        DataError: if dates cannot be read, or are of different zones.
    """
    records = screen.records
    column = records.frame["date"]
    codes, uniques = pd.factorize(column)
    values = pd.Series(uniques)
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(values.cat.categories.dtype)
    if values.dtype.kind == "M":
        stamps, zone = values, str(values.dt.tz) if values.dt.tz is not None else ""
    else:
        text = values.astype("str")
        stamps, zone = _parse_text(records, text, date_format, timezone is not None)
    known = stamps.notna().to_numpy()
    bad = codes < 0
    bad |= ~np.append(known, False)[codes]
    written = f"in the format {date_format}" if date_format else "as YYYY-MM-DD (HH:MM:SS)"
    screen.reject(
        bad, "date", f"which is not a date written {written}. Correct it, or set date_format."
    )
    local = _local(stamps, timezone)
    beyond = ((local.dt.year < _FIRST_YEAR) | (local.dt.year > _LAST_YEAR)).to_numpy()
    screen.reject(
        np.append(beyond, False)[codes],
        "date",
        f"which is outside of {_FIRST_YEAR} to {_LAST_YEAR}. Correct it, or drop the row.",
    )
    moments = np.asarray(local.mask(beyond).dt.as_unit("ns")).astype(np.int64)
    return np.append(moments, _NOT_A_TIME)[codes], zone


def _parse_text(
    records: Records, text: pd.Series[str], date_format: str | None, converts: bool
) -> tuple[pd.Series[Any], str]:
    """Timestamps of different texts, NaT where one cannot be read, and their zone."""
    if date_format is not None and date_format in EPOCHS:
        # nullable: whole numbers stay whole beside what is none
        numbers = pd.to_numeric(text, errors="coerce", dtype_backend="numpy_nullable")
        return pd.to_datetime(numbers, unit=EPOCHS[date_format], errors="coerce", utc=True), "UTC"
    zones = _zones(records, text) if (date_format or "%z").endswith("%z") else [""]
    if len(zones) > 1 and not converts:
        raise DataError(
            f"{records.file}: column {records.columns['date']!r} holds times with the offsets "
            f"{', '.join(zones[:4])} from UTC. Set timezone to the exchange's own, e.g. "
            "America/New_York, to bring them to its local time."
        )
    utc = len(zones) > 1 or (converts and "%z" in (date_format or ""))
    try:
        stamps = pd.to_datetime(text, errors="coerce", format=date_format or "ISO8601", utc=utc)
    except ValueError as error:
        raise DataError(
            f"{records.file}: column {records.columns['date']!r} cannot be read as dates ({error})."
        ) from error
    return stamps, zones[0] or (str(stamps.dt.tz) if stamps.dt.tz is not None else "")


def _zones(records: Records, text: pd.Series[str]) -> list[str]:
    """The different offsets that times are written with; empty for none.

    Raises:
        DataError: if some have one and others none.
    """
    found = text.str.extract(_OFFSET, expand=True)[0]
    zones = sorted({str(zone) for zone in found.dropna().unique()})
    local_times = text[found.isna() & text.str.match(r"\d{4}")]
    if zones and len(local_times) > 0:
        local, aware = local_times.iloc[0], text[found.notna()].iloc[0]
        raise DataError(
            f"{records.file}: column {records.columns['date']!r} holds {aware!r}, with a time "
            f"zone, and {local!r}, without one. Write all of them in one way."
        )
    return zones or [""]


def _local(stamps: pd.Series[Any], timezone: str | None) -> pd.Series[Any]:
    """Timestamps without a zone: in the exchange's own, or what they were written in."""
    if stamps.dt.tz is None:
        return stamps
    there: pd.Series[Any] = stamps if timezone is None else stamps.dt.tz_convert(timezone)
    naive: pd.Series[Any] = there.dt.tz_localize(None)
    return naive
