"""append_panel: later bars onto a store, without reading again what is in it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.core import DataError
from quantlit.panel.aside import Progress, no_progress
from quantlit.panel.builder import dropped_rows, replaced_store, write_store
from quantlit.panel.manifest import read_manifest
from quantlit.panel.paths import expand_path
from quantlit.panel.sources.base import PanelSource, RawPanel, fingerprint_of
from quantlit.panel.sources.columns import PRICES
from quantlit.panel.store import Panel
from quantlit.panel.workspace import Workspace

TOLERANCE = 1e-5
"""Relative difference of a bar that both have, beyond which history was revised."""

REBUILD = "Build the store anew from the whole history (--overwrite true)."

Array = npt.NDArray[np.float32]


def append_panel(source: PanelSource, path: str | Path, progress: Progress = no_progress) -> Panel:
    """Add the bars of a source that are later than a store's last one.

    The bars in the store stay as they are, to the bit, and whoever reads them is not disturbed. On
    dates that both have, an asset of the source must have the same bars as in the store, so that a
    revised history is found out. Where prices are adjusted (the store has a ``factor``), each asset
    must overlap: its adjusted prices go on from the bar that both have. New assets may appear.
    A source that was added before is not added again.

    Args:
        source: where the later bars come from; earlier ones may be in it.
        path: the store's folder.
        progress: told how much of how much of the source has been read.

    Returns:
        The store, opened.

    Raises:
        DataError: if the source's data are wrong, or do not go on from the store.
        PanelError: if there is no store, or it cannot be written.
    """
    folder = expand_path(path)
    fingerprint = source.fingerprint()
    with replaced_store(folder) as replacement:
        panel, manifest = Panel.open(folder), read_manifest(folder)
        known = manifest.source.get("appended", "").split()
        if fingerprint in (manifest.fingerprint, *known):
            return panel
        together = fingerprint_of(panel.checksum, fingerprint)
        with replacement(together, progress) as workspace:
            (workspace.folder / "new").mkdir(exist_ok=True)
            new = source.build(Workspace(workspace.folder / "new", progress))
            new.check()
            grown = _joined(panel, _on_the_panels_scale(panel, new, folder), workspace)
            grown = replace(grown, dropped=(*dropped_rows(folder), *grown.dropped))
            described = manifest.source | {"appended": " ".join([*known, fingerprint])}
            shutil.rmtree(workspace.folder / "new")
            write_store(grown, described, manifest.fingerprint, workspace)
    return Panel.open(folder)


def _on_the_panels_scale(panel: Panel, new: RawPanel, folder: Path) -> RawPanel:
    """The later bars alone, adjusted prices going on from the store's; raise if they do not."""
    if sorted(panel.fields) != sorted(new.fields):
        raise DataError(
            f"{folder}: the store has the fields {', '.join(panel.fields)}, and the source "
            f"{', '.join(new.fields)}. Give it the settings that the store was made with."
        )
    values = np.array(new.values[:, :, [new.fields.index(name) for name in panel.fields]])
    new = replace(new, fields=panel.fields, values=values)
    n_old = int(np.searchsorted(new.dates, panel.dates[-1], side="right"))
    if n_old == len(new.dates):
        raise DataError(
            f"{folder}: the store runs to {_day(panel.dates[-1])}, and the source has no bar after "
            f"it (its last is {_day(new.dates[-1])})."
        )
    shared = [symbol for symbol in new.symbols if symbol in set(panel.symbols)]
    mine = np.searchsorted(panel.symbols, shared)
    theirs = np.searchsorted(new.symbols, shared)
    _check_bars(panel, new, n_old, folder)
    bars = np.searchsorted(panel.dates, new.dates[:n_old])
    stored = np.asarray(panel.values[bars][:, mine])
    seen = new.observed[:n_old, theirs]
    ratio = np.ones(len(new.symbols))
    if "factor" in panel.fields:
        ratio[theirs] = _ratio(panel, new, stored, seen, shared, folder)
    for column, name in enumerate(panel.fields):
        if name in (*PRICES, "factor"):
            values[:, :, column] *= ratio
        elif name == "volume":
            values[:, :, column] /= ratio
    _check_values(panel, new, stored, values[:n_old, theirs], shared, folder)
    return replace(
        new, dates=new.dates[n_old:], values=values[n_old:], observed=new.observed[n_old:]
    )


def _check_bars(panel: Panel, new: RawPanel, n_old: int, folder: Path) -> None:
    """Raise unless the source's assets have the store's bars on all dates from its first one on."""
    if n_old == 0:
        return
    first = int(np.searchsorted(panel.dates, new.dates[0]))
    dates = np.union1d(panel.dates[first:], new.dates[:n_old])
    stored = np.zeros((len(dates), len(new.symbols)), dtype=np.bool_)
    given = np.zeros_like(stored)
    known = np.isin(new.symbols, panel.symbols)
    places = np.searchsorted(panel.symbols, np.array(new.symbols)[known])
    rows = np.searchsorted(dates, panel.dates[first:])
    stored[np.ix_(rows, known)] = panel.observed[first:][:, places]
    given[np.searchsorted(dates, new.dates[:n_old])] = new.observed[:n_old]
    differs = stored != given
    if differs.any():
        bar, asset = (int(place) for place in np.argwhere(differs)[0])
        has, lacks = ("store", "source") if stored[bar, asset] else ("source", "store")
        raise DataError(
            f"{folder}: the {has} has a bar of {new.symbols[asset]} on {_day(dates[bar])}, and the "
            f"{lacks} has none{_more(differs, 'bar')}. {REBUILD}"
        )


def _ratio(
    panel: Panel,
    new: RawPanel,
    stored: Array,
    seen: npt.NDArray[np.bool_],
    shared: list[str],
    folder: Path,
) -> npt.NDArray[np.float64]:
    """``[shared assets]`` the store's adjusted close over the source's, on the last common bar."""
    places = np.searchsorted(new.symbols, shared)
    alone = np.asarray(~seen.any(axis=0) & new.observed[:, places].any(axis=0))
    if alone.any():
        asset = shared[int(alone.argmax())]
        last = np.flatnonzero(panel.observed[:, panel.symbols.index(asset)])[-1]
        raise DataError(
            f"{folder}: prices are adjusted, and the source has no bar of {asset} that the store "
            f"has, too{_more(alone, 'asset')}. Give a source that begins with "
            f"the asset's last bar in the store, {_day(panel.dates[last])}, or earlier."
        )
    if len(seen) == 0:
        return np.ones(len(shared))
    last_bar = len(seen) - 1 - seen[::-1].argmax(axis=0)
    close = panel.fields.index("close")
    columns = np.arange(len(shared))
    old = stored[last_bar, columns, close].astype(np.float64)
    ratio = old / new.values[last_bar, places, close].astype(np.float64)
    return np.where(seen.any(axis=0), ratio, 1.0)


def _check_values(
    panel: Panel, new: RawPanel, stored: Array, given: Array, shared: list[str], folder: Path
) -> None:
    """Raise if a bar that both have differs."""
    differs = ~np.isclose(given, stored, rtol=TOLERANCE, atol=0.0, equal_nan=True)
    if differs.any():
        bar, asset, field = (int(place) for place in np.argwhere(differs)[0])
        raise DataError(
            f"{folder}: the history was revised: {panel.fields[field]} of {shared[asset]} on "
            f"{_day(new.dates[bar])} is {stored[bar, asset, field]:.7g} in the store, and "
            f"{given[bar, asset, field]:.7g} in the source{_more(differs, 'value')}"
            f". {REBUILD}"
        )


def _joined(panel: Panel, new: RawPanel, workspace: Workspace) -> RawPanel:
    """The store's bars and then the new ones, on all assets of both."""
    symbols = sorted({*panel.symbols, *new.symbols})
    n_old, n_all = len(panel.dates), len(panel.dates) + len(new.dates)
    values = workspace.array("values", (n_all, len(symbols), len(panel.fields)), np.float32)
    observed = np.zeros((n_all, len(symbols)), dtype=np.bool_)
    for names, rows, old_values, old_observed in (
        (panel.symbols, slice(0, n_old), panel.values, panel.observed),
        (new.symbols, slice(n_old, n_all), new.values, new.observed),
    ):
        if names == symbols:
            values[rows], observed[rows] = old_values, old_observed
        else:
            places = np.searchsorted(symbols, names)
            values[rows] = np.nan
            values[rows, places], observed[rows, places] = old_values, old_observed
    dates = np.concatenate([panel.dates, new.dates])
    return RawPanel(dates, symbols, list(panel.fields), values, observed, new.dropped)


def _day(date: np.datetime64) -> str:
    return str(pd.Timestamp(date)).removesuffix(" 00:00:00")


def _more(bad: npt.NDArray[np.bool_], what: str) -> str:
    """How many others there are beside the one that an error names."""
    others = int(bad.sum()) - 1
    return f" ({others} more such {what}{'s' if others > 1 else ''})" if others else ""
