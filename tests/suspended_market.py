"""A small market with missing bars, suspensions and quiet days, for all tests of features."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.panel import Panel, PanelSource, RawPanel, build_panel

Fields = dict[str, npt.NDArray[np.float64]]
MakePanel = Callable[[Fields, npt.NDArray[np.bool_]], Panel]


class ArraySource(PanelSource):
    """Arrays in memory, on consecutive business days."""

    def __init__(self, fields: Fields, observed: npt.NDArray[np.bool_]) -> None:
        self.fields = fields
        self.observed = observed

    def load(self) -> RawPanel:
        """The arrays."""
        n_bars, n_assets = self.observed.shape
        return RawPanel(
            dates=pd.bdate_range("2020-01-01", periods=n_bars).to_numpy("datetime64[ns]"),
            symbols=[f"S{i}" for i in range(n_assets)],
            fields=list(self.fields),
            values=np.stack(list(self.fields.values()), axis=-1).astype(np.float32),
            observed=self.observed,
        )

    def fingerprint(self) -> str:
        """No store is ever reused."""
        return "arrays"


def panel_maker(tmp_path: Path) -> MakePanel:
    """Builds a store from fields and ``observed``."""
    built = iter(range(100))

    def make(fields: Fields, observed: npt.NDArray[np.bool_]) -> Panel:
        return build_panel(ArraySource(fields, observed), tmp_path / f"panel{next(built)}")

    return make


def suspended_market() -> tuple[Fields, npt.NDArray[np.bool_]]:
    """Fields and ``observed`` of 150 bars and 9 assets.

    Asset 0 is suspended for 30 bars and asset 2 for 7, asset 1 never moves, asset 3 is listed late,
    and bar 100 was seen by nobody.
    """
    rng = np.random.default_rng(7)
    n_bars, n_assets = 150, 9
    close = 20.0 * np.exp(np.cumsum(0.02 * rng.standard_normal((n_bars, n_assets)), axis=0))
    close[:, 1] = 10.0
    opens = close * np.exp(0.01 * rng.standard_normal(close.shape))
    opens[:, 1] = 10.0
    spread = np.where(np.arange(n_assets) == 1, 0.0, rng.exponential(0.01, close.shape))
    fields = {
        "open": opens,
        "high": np.maximum(opens, close) * (1.0 + spread),
        "low": np.minimum(opens, close) * (1.0 - spread / 2.0),
        "close": close,
        "volume": np.round(1e5 * rng.lognormal(0.0, 0.5, close.shape)),
    }
    fields["volume"][rng.random(close.shape) < 0.02] = 0.0
    # Prices as a store keeps them.
    fields = {name: values.astype(np.float32).astype(np.float64) for name, values in fields.items()}
    observed = rng.random(close.shape) > 0.05
    observed[60:90, 0] = False
    observed[20:27, 2] = False
    observed[:40, 3] = False
    observed[100] = False
    for values in fields.values():
        values[~observed] = np.nan
    return fields, observed
