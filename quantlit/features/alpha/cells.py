"""Writing a factor's value into its cell of the feature array."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quantlit.features.kernels import compiled

Features = npt.NDArray[np.float32]


@compiled
def put(out: Features, t: int, i: int, column: int, value: float) -> None:
    """Write a value of asset i; NaN where it is not finite, nothing where the column is negative.

    Args:
        out: ``[T, N, F]`` float32.
        t: row of the bar.
        i: asset.
        column: place on the feature axis; -1 for a statistic that nobody asked for.
        value: what to write.
    """
    if column >= 0:
        single = np.float32(value)
        out[t, i, column] = single if np.isfinite(single) else np.float32(np.nan)
