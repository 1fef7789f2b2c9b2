"""A small market with holes, ties, zeros, signs and groups, and pandas frames of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.features import Bars, Expression

Array = npt.NDArray[np.float64]
Fields = dict[str, Array]
T, N = 90, 8


def language_market() -> tuple[Fields, npt.NDArray[np.bool_]]:
    """``close`` positive; ``x`` and ``y`` with ties, zeros and both signs; ``g`` group codes.

    Asset 0 is suspended for 22 bars and asset 2 for 20, so that a carried value is at its oldest;
    asset 1 never moves, and bar 50 was seen by nobody.
    """
    rng = np.random.default_rng(11)
    close = np.round(20.0 * np.exp(np.cumsum(0.03 * rng.standard_normal((T, N)), axis=0)), 2)
    close[:, 1] = 10.0
    x = np.round(2.0 * rng.standard_normal((T, N))) / 2.0
    y = np.round(x + rng.standard_normal((T, N)), 1)
    x[:, 1] = 0.5
    g = np.broadcast_to(np.array([3.0, 3.0, 7.0, 7.0, 7.0, np.nan, 3.0, 9.0]), (T, N)).copy()
    g[40:, 2] = 3.0
    observed = rng.random((T, N)) > 0.12
    observed[[19, 42, 43], 0] = True
    observed[20:42, 0] = False
    observed[[59, 80], 2] = True
    observed[60:80, 2] = False
    observed[50] = False
    fields = {"close": close, "x": x, "y": y, "g": g}
    fields = {name: values.astype(np.float32).astype(np.float64) for name, values in fields.items()}
    fields["x"][rng.random((T, N)) < 0.05] = np.nan  # a bar that was seen, without this field
    fields["x"][[59, 80], 2] = 1.5, -0.5
    for values in fields.values():
        values[~observed] = np.nan
    return fields, observed


def frames_of(fields: Fields) -> dict[str, pd.DataFrame]:
    """The fields as frames of bars by assets."""
    return {name: pd.DataFrame(values) for name, values in fields.items()}


def compute(text: str, fields: Fields, observed: npt.NDArray[np.bool_]) -> Array:
    """An expression on these bars."""
    return Expression(text=text).compute(Bars(fields, observed))
