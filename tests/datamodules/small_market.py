"""A small random market as a long frame, and a datamodule on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from quantlit.datamodules import PanelDataModule
from quantlit.features import (
    CrossSectionalRankGaussian,
    Imputer,
    LabelSpec,
    RobustZScore,
    Transform,
    Winsorise,
)
from quantlit.panel import FrameSource
from quantlit.samplers import DateSplit

T, N, W = 160, 12, 10
DATES = pd.bdate_range("2020-01-01", periods=T)


def random_bars(seed: int = 0, missing: float = 0.05) -> pd.DataFrame:
    """Bars of N assets on T dates, long, with absent rows and one suspension."""
    rng = np.random.default_rng(seed)
    close = 20 * np.exp(np.cumsum(rng.normal(0, 0.02, (T, N)), axis=0))
    opened = close * np.exp(rng.normal(0, 0.005, (T, N)))
    high = np.maximum(opened, close) * np.exp(np.abs(rng.normal(0, 0.005, (T, N))))
    low = np.minimum(opened, close) * np.exp(-np.abs(rng.normal(0, 0.005, (T, N))))
    volume = np.exp(rng.normal(10, 0.5, (T, N)))
    frame = pd.DataFrame(
        {
            "date": np.repeat(DATES.to_numpy(), N),
            "symbol": np.tile([f"S{n:02d}" for n in range(N)], T),
            "open": opened.ravel(),
            "high": high.ravel(),
            "low": low.ravel(),
            "close": close.ravel(),
            "volume": volume.ravel(),
        }
    )
    absent = rng.random(len(frame)) < missing
    absent |= (frame["symbol"] == "S03") & frame["date"].between(DATES[60], DATES[75])
    return frame[~absent].reset_index(drop=True)


def day(position: int) -> str:
    """The date at a position, as YYYY-MM-DD."""
    return str(DATES[position].date())


def split() -> DateSplit:
    """Train 0 to 89, valid 90 to 119, test 120 to 159."""
    return DateSplit(train=(day(0), day(89)), valid=(day(90), day(119)), test=(day(120), day(159)))


def transforms() -> list[Transform]:
    """One of each kind: fitted, per date, with a lookback."""
    return [Winsorise(), RobustZScore(), CrossSectionalRankGaussian(), Imputer(max_age=3)]


def datamodule(frame: pd.DataFrame, folder: Path, **changes: Any) -> PanelDataModule:
    """A datamodule on a frame; stores go below the folder."""
    settings: dict[str, Any] = {
        "panel": FrameSource(frame),
        "split": split(),
        "factors": ["price_volume"],
        "transforms": transforms(),
        "label": LabelSpec(horizons=[1, 3], delay=1),
        "window": W,
        "block": 8,
        "cache_dir": str(folder),
    }
    return PanelDataModule(**{**settings, **changes})
