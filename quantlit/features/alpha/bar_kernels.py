"""Kernels of single bars: the candle's shape, and a field of some bars ago over a present one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quantlit.features.alpha.cells import Features, put
from quantlit.features.kernels import compiled

Array = npt.NDArray[np.float64]
Columns = npt.NDArray[np.int64]
TINY = 1e-12
"""What Qlib adds to a denominator that may be zero."""


@compiled
def fill_candles(
    opens: Array, high: Array, low: Array, close: Array, columns: Columns, out: Features
) -> None:
    """Body, range, shadows and shift of each bar, over its open and over its range.

    Args:
        opens: ``[N, T]`` opens, oldest bar first.
        high: ``[N, T]`` highs.
        low: ``[N, T]`` lows.
        close: ``[N, T]`` closes.
        columns: ``[9]`` where KMID, KLEN, KMID2, KUP, KUP2, KLOW, KLOW2, KSFT and KSFT2 go.
        out: ``[R, N, F]`` for the last R bars.
    """
    n_assets, n_bars = close.shape
    skipped = n_bars - len(out)
    for i in range(n_assets):
        for t in range(len(out)):
            o, h = opens[i, skipped + t], high[i, skipped + t]
            lowest, c = low[i, skipped + t], close[i, skipped + t]
            span = h - lowest + TINY
            body = o + c  # NaN where either is unknown, as in numpy's maximum and minimum
            top = max(o, c) if body == body else np.nan
            bottom = min(o, c) if body == body else np.nan
            put(out, t, i, columns[0], (c - o) / o)
            put(out, t, i, columns[1], (h - lowest) / o)
            put(out, t, i, columns[2], (c - o) / span)
            put(out, t, i, columns[3], (h - top) / o)
            put(out, t, i, columns[4], (h - top) / span)
            put(out, t, i, columns[5], (bottom - lowest) / o)
            put(out, t, i, columns[6], (bottom - lowest) / span)
            put(out, t, i, columns[7], (2.0 * c - h - lowest) / o)
            put(out, t, i, columns[8], (2.0 * c - h - lowest) / span)


@compiled
def fill_lags(x: Array, scale: Array, lags: Columns, columns: Columns, out: Features) -> None:
    """``x`` of some bars ago over the present ``scale``; NaN before the first bar.

    Args:
        x: ``[N, T]`` values, oldest bar first.
        scale: ``[N, T]`` denominators.
        lags: ``[K]`` bars to look back, at least 0.
        columns: ``[K]`` where they go.
        out: ``[R, N, F]`` for the last R bars.
    """
    n_assets, n_bars = x.shape
    skipped = n_bars - len(out)
    for i in range(n_assets):
        for t in range(len(out)):
            for k in range(len(lags)):
                row = skipped + t - lags[k]
                past = x[i, row] if row >= 0 else np.nan
                put(out, t, i, columns[k], past / scale[i, skipped + t])
