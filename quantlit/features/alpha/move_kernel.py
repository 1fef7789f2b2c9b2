"""Kernel of each window's rises and falls: how many bars, and how much in sum."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quantlit.features.alpha.bar_kernels import TINY, Columns
from quantlit.features.alpha.cells import Features, put
from quantlit.features.kernels import compiled

Array = npt.NDArray[np.float64]


@compiled
def fill_moves(x: Array, first: Columns, windows: Columns, columns: Columns, out: Features) -> None:
    """Shares of rises and falls from bar to bar in each window, all windows in one pass.

    A change is known where both its bars are. As in Qlib, a share in number is of all the window's
    bars since the asset's first one, known or not; a share in sum is of the known changes' sizes.

    Args:
        x: ``[N, T]`` values, oldest bar first.
        first: ``[N]`` row of each asset's first bar, negative where it is before this stretch.
        windows: ``[W]`` changes in each window, in rising order.
        columns: ``[6, W]`` where go the shares in number of rises, of falls, and their difference,
            and the same in sum.
        out: ``[R, N, F]`` for the last R bars.
    """
    n_assets, n_bars = x.shape
    skipped = n_bars - len(out)
    for i in range(n_assets):
        for t in range(len(out)):
            present = skipped + t
            rises, falls, gain, loss = 0.0, 0.0, 0.0, 0.0
            known = False
            age = 0
            later = x[i, present]
            for w in range(len(windows)):
                while age < min(windows[w], present):
                    earlier = x[i, present - age - 1]
                    change = later - earlier
                    if change == change:
                        known = True
                        rises += 1.0 if change > 0.0 else 0.0
                        falls += 1.0 if change < 0.0 else 0.0
                        gain += max(change, 0.0)
                        loss -= min(change, 0.0)
                    later = earlier
                    age += 1
                own = float(min(windows[w], present + 1 - first[i]))
                own = own if own > 0.0 else np.nan
                total = gain + loss + TINY if known else np.nan
                put(out, t, i, columns[0, w], rises / own)
                put(out, t, i, columns[1, w], falls / own)
                put(out, t, i, columns[2, w], rises / own - falls / own)
                put(out, t, i, columns[3, w], gain / total)
                put(out, t, i, columns[4, w], loss / total)
                put(out, t, i, columns[5, w], (gain - loss) / total)
