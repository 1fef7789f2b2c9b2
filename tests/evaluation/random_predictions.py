"""Seeded predictions for the tests of this folder."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from quantlit.evaluation import prediction_frame

Arrays = dict[str, Any]


def make_arrays(
    n_dates: int = 12, n_symbols: int = 30, horizons: tuple[int, ...] = (1, 5), seed: int = 0
) -> Arrays:
    """Arguments of ``prediction_frame``: T dates, N symbols, given horizons."""
    rng = np.random.default_rng(seed)
    shape = (n_dates, n_symbols, len(horizons))
    label = (0.02 * rng.standard_normal(shape)).astype(np.float32)
    forecast = (20 * label + rng.standard_normal(shape)).astype(np.float32)
    label[-1, :, 0] = np.nan  # the last date's return is not known yet
    label[rng.random(shape) < 0.05] = np.nan
    return {
        "dates": pd.bdate_range("2019-01-02", periods=n_dates).to_numpy("datetime64[ns]"),
        "symbols": [f"S{number:04d}" for number in range(n_symbols)],
        "horizons": list(horizons),
        "forecast": forecast,
        "label": label,
        "valid": rng.random(shape[:2]) < 0.9,
    }


def make_frame() -> pd.DataFrame:
    """The prediction table of the default arrays."""
    return prediction_frame(**make_arrays())
