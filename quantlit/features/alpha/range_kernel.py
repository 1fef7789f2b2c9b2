"""Kernel of each window's highest high and lowest low: where they are and how long ago."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quantlit.features.alpha.bar_kernels import TINY, Columns
from quantlit.features.alpha.cells import Features, put
from quantlit.features.kernels import compiled

Array = npt.NDArray[np.float64]


@compiled
def fill_ranges(
    high: Array,
    low: Array,
    close: Array,
    first: Columns,
    windows: Columns,
    columns: Columns,
    out: Features,
) -> None:
    """Extremes of each window and their places in it, all windows in one pass.

    A place counts from 1 at the window's oldest bar, which is the asset's first one or a later. As
    in Qlib (numpy's ``argmax``) it is that of the oldest of equal extremes, or that of the window's
    oldest unknown value if there is one.

    Args:
        high: ``[N, T]`` highs, oldest bar first.
        low: ``[N, T]`` lows.
        close: ``[N, T]`` closes.
        first: ``[N]`` row of each asset's first bar, negative where it is before this stretch.
        windows: ``[W]`` bars in each window, in rising order.
        columns: ``[6, W]`` where go the highest and the lowest over the close, the close's place
            between them, and the places in time of the highest, of the lowest, and their distance,
            each over the window's length.
        out: ``[R, N, F]`` for the last R bars.
    """
    n_assets, n_bars = close.shape
    skipped = n_bars - len(out)
    for i in range(n_assets):
        for t in range(len(out)):
            present = skipped + t
            highest, lowest = -np.inf, np.inf
            age_high, age_low = -1, -1
            gap_high, gap_low = -1, -1  # ages of the oldest unknown values
            age = 0
            for w in range(len(windows)):
                own = min(windows[w], present + 1 - first[i])
                while age < own:
                    row = present - age
                    top = high[i, row] if row >= 0 else np.nan
                    bottom = low[i, row] if row >= 0 else np.nan
                    if top >= highest:
                        highest, age_high = top, age
                    if bottom <= lowest:
                        lowest, age_low = bottom, age
                    if top != top:
                        gap_high = age
                    if bottom != bottom:
                        gap_low = age
                    age += 1
                top = highest if age_high >= 0 else np.nan
                bottom = lowest if age_low >= 0 else np.nan
                place_high = float(own - (gap_high if gap_high >= 0 else age_high))
                place_low = float(own - (gap_low if gap_low >= 0 else age_low))
                place_high = place_high if age_high >= 0 else np.nan
                place_low = place_low if age_low >= 0 else np.nan
                now, length = close[i, present], float(windows[w])
                put(out, t, i, columns[0, w], top / now)
                put(out, t, i, columns[1, w], bottom / now)
                put(out, t, i, columns[2, w], (now - bottom) / (top - bottom + TINY))
                put(out, t, i, columns[3, w], place_high / length)
                put(out, t, i, columns[4, w], place_low / length)
                put(out, t, i, columns[5, w], (place_high - place_low) / length)
