"""Shared by the benchmarks: a synthetic panel store, twenty factors, and dates to split it by."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from quantlit.features import compute_factors, factor_sets, resolve_factors
from quantlit.panel import Panel, SyntheticSource, build_panel

FACTORS = [factor.name for factor in factor_sets()["price_volume"]][:20]
"""F = 20 factors of whole bars."""

HELD_OUT = 16
"""Bars of the validation and of the test split, each."""


def make_store(folder: Path, n_assets: int, n_dates: int) -> Path:
    """A store of a made-up market, its factors cached beside it; made once per folder."""
    source = SyntheticSource(n_assets=n_assets, n_dates=n_dates)
    panel = build_panel(source, folder / f"synthetic_{n_assets}_{n_dates}")
    compute_factors(panel, resolve_factors(FACTORS, panel.fields))
    return panel.path


def date_ranges(store: Path) -> dict[str, tuple[str, str]]:
    """First and last date of train, valid and test: train is all but the last few bars."""
    dates = pd.DatetimeIndex(Panel.open(store).dates)
    valid, test = len(dates) - 2 * HELD_OUT, len(dates) - HELD_OUT
    spans = {"train": (0, valid - 1), "valid": (valid, test - 1), "test": (test, len(dates) - 1)}
    return {
        name: (str(dates[first].date()), str(dates[last].date()))
        for name, (first, last) in spans.items()
    }
