"""Kernel of the least-squares line through each window, and of its mean and deviation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quantlit.features.alpha.bar_kernels import TINY, Columns
from quantlit.features.alpha.cells import Features, put
from quantlit.features.kernels import compiled

Array = npt.NDArray[np.float64]
FLAT = 2e-5
"""A standard deviation at or below this is zero to Qlib's Rsquare and Corr, which are then NaN."""


@compiled
def fill_lines(x: Array, scale: Array, windows: Columns, columns: Columns, out: Features) -> None:
    """Moments and trend line of the known values of each window, all windows in one pass.

    Sums run from the present bar backwards and are noted at each window's end. They are of the
    distance from the newest known value, a member of every window that knows any, so that a
    spread loses at most log10(window) digits however large the values are.

    Args:
        x: ``[N, T]`` values, oldest bar first.
        scale: ``[N, T]`` denominators of mean, deviation, slope and residual.
        windows: ``[W]`` bars in each window, in rising order.
        columns: ``[6, W]`` where go the mean, the standard deviation (``ddof=1``), the slope per
            bar, the squared correlation with time, the present value's distance from the line, and
            the deviation over the mean (unscaled).
        out: ``[R, N, F]`` for the last R bars.
    """
    n_assets, n_bars = x.shape
    skipped = n_bars - len(out)
    for i in range(n_assets):
        for t in range(len(out)):
            present = skipped + t
            base = np.nan
            n, s, ss, g, gg, gs = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            age = 0
            for w in range(len(windows)):
                while age < min(windows[w], present + 1):
                    value = x[i, present - age]
                    if value == value:
                        base = value if n == 0.0 else base
                        gap = value - base
                        n += 1.0
                        s -= age
                        ss += age * age
                        g += gap
                        gg += gap * gap
                        gs -= gap * age
                    age += 1
                mean = base + g / n
                spread = max(n * gg - g * g, 0.0)
                deviation = np.sqrt(spread / n / (n - 1.0))
                times = n * ss - s * s
                slope = (n * gs - s * g) / times
                fit = slope * (n * gs - s * g) / spread if deviation > FLAT else np.nan
                residual = x[i, present] - base - (g - slope * s) / n
                unit = scale[i, present]
                put(out, t, i, columns[0, w], mean / unit)
                put(out, t, i, columns[1, w], deviation / unit)
                put(out, t, i, columns[2, w], slope / unit)
                put(out, t, i, columns[3, w], fit)
                put(out, t, i, columns[4, w], residual / unit)
                put(out, t, i, columns[5, w], deviation / (mean + TINY))
