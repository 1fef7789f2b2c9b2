"""From the rows of a table to a chunk: everything parsed, and everything that is wrong found."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.panel.sources.chunks import Chunk
from quantlit.panel.sources.clock import parse_dates
from quantlit.panel.sources.columns import PRICES
from quantlit.panel.sources.parsing import parse_numbers, parse_symbols
from quantlit.panel.sources.records import EXCESS, Records
from quantlit.panel.sources.screen import Screen
from quantlit.panel.sources.settings import TableSettings


def scan(records: Records, settings: TableSettings) -> Chunk:
    """Parse and check rows.

    Args:
        records: rows of one file.
        settings: how they are written, and what bad ones get.

    Raises:
        DataError: naming file, row, asset, date, column and value of what is wrong.
    """
    screen = Screen(records, settings.on_bad_rows)
    if EXCESS in records.columns:
        screen.reject(
            records.frame[EXCESS].notna().to_numpy(),
            EXCESS,
            "so the row has more cells than the header. Quote cells that hold the separator.",
        )
    dates, zone = parse_dates(screen, settings.date_format, settings.timezone)
    assets, names = parse_symbols(screen)
    numbers = {}
    for name in records.columns:
        if name not in ("date", "symbol", EXCESS):
            unit = settings.units.get(name, 1.0)
            numbers[name] = parse_numbers(screen, name, unit)
    _check_bars(screen, numbers, settings)
    keep = screen.keep
    bars, moments = pd.factorize(dates[keep])
    present, kept = np.unique(assets[keep], return_inverse=True)
    return Chunk(
        file=records.file,
        unit=records.unit,
        columns={name: column for name, column in records.columns.items() if name != EXCESS},
        zone=zone,
        end=records.end,
        bad=screen.found,
        places=records.places[keep],
        moments=np.asarray(moments, dtype=np.int64),
        bars=bars.astype(np.int32),
        names=names[present],
        assets=kept.astype(np.int32),
        numbers={name: column[keep] for name, column in numbers.items()},
    )


def _check_bars(
    screen: Screen, numbers: dict[str, npt.NDArray[np.float64]], settings: TableSettings
) -> None:
    """Complain about numbers that no bar can have; rows without a close are no bars."""
    seen = np.isfinite(numbers["close"]) if "close" in numbers else np.ones_like(screen.keep)
    for name in PRICES:
        if name in numbers and settings.positive_prices:
            screen.reject(
                seen & (numbers[name] <= 0),
                name,
                "and a price is above 0. Correct it, leave it empty if unknown, or set "
                "positive_prices to false for spreads and the like.",
            )
    for name in ("volume", "amount"):
        if name in numbers:
            screen.reject(
                seen & (numbers[name] < 0), name, "which is below 0. Correct it, or leave it empty."
            )
    if "high" in numbers and "low" in numbers:
        screen.reject(
            seen & (numbers["high"] < numbers["low"]),
            "high",
            f"which is below the {screen.records.columns['low']!r} of the same row. Correct one "
            "of them.",
        )
