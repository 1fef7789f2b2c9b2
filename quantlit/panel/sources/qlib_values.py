"""What to read of a Qlib store, and reading it into dense arrays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from quantlit.panel.sources.qlib_feature import FeatureReader
from quantlit.panel.sources.qlib_fields import Asset
from quantlit.panel.sources.qlib_lists import Dates, Spells

BUFFER = 1 << 22
"""Numbers of the files read at a time, before they are turned to the panel's order of axes."""


@dataclass(frozen=True)
class Selection:
    """What to read of a store: T dates, N assets, F fields.

    Attributes:
        folder: the store.
        lists: its text files that were read.
        dates: ``[T]`` timestamps.
        spells: when each asset belonged to the market; empty without a list of instruments.
        assets: N assets, ascending.
        fields: F names.
        reader: reads the files onto the dates.
    """

    folder: Path
    lists: list[Path]
    dates: Dates
    spells: dict[str, Spells]
    assets: list[Asset]
    fields: list[str]
    reader: FeatureReader


def read_values(
    selection: Selection, *, extra_field: bool
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    """``[T, N, F]`` float32 values, NaN where unobserved, and ``[T, N]`` bool observed.

    A file is one asset and field, which lies scattered in the panel; some assets at a time are read
    side by side and turned together.

    Args:
        selection: what to read.
        extra_field: leave room for one more field, after all others.

    Raises:
        DataError: naming file, asset, field, value and date of what is wrong.
    """
    assets, fields = selection.assets, selection.fields
    n_bars, n_fields = len(selection.dates), len(fields)
    has_close = any("close" in asset.files for asset in assets)
    columns = list(fields) if "close" in fields or not has_close else [*fields, "close"]
    values = np.empty((n_bars, len(assets), n_fields + extra_field), dtype=np.float32)
    values[:, :, n_fields:] = np.nan
    observed = np.empty((n_bars, len(assets)), dtype=np.bool_)
    step = max(1, min(64, BUFFER // (n_bars * len(columns))))
    for start in range(0, len(assets), step):
        some = assets[start : start + step]
        buffer = np.full((len(some), len(columns), n_bars), np.nan, dtype=np.float32)
        for asset, rows in zip(some, buffer, strict=True):
            for name, row in zip(columns, rows, strict=True):
                if name in asset.files:
                    selection.reader.read(asset.files[name], asset.symbol, name, row)
        close = columns.index("close") if has_close else None
        deciding = buffer if close is None else buffer[:, close : close + 1]
        seen = np.asarray(~np.isnan(deciding).all(axis=1))
        np.copyto(buffer, np.nan, where=~seen[:, None, :])
        stop = start + len(some)
        values[:, start:stop, :n_fields] = buffer[:, :n_fields].transpose(2, 0, 1)
        observed[:, start:stop] = seen.T
    return values, observed
