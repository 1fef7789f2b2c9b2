"""write_qlib: a panel as a Qlib store, which Qlib and QlibSource read."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.core import ConfigError, PanelError
from quantlit.panel.aside import Progress, no_progress, written_aside
from quantlit.panel.membership import membership_spells
from quantlit.panel.paths import expand_path
from quantlit.panel.sources.qlib_feature import ITEM
from quantlit.panel.sources.qlib_layout import file_ending, folder_name
from quantlit.panel.store import Panel

WORD = re.compile(r"\w+")

BUFFER = 1 << 22
"""Numbers of the panel turned at a time, before they are written asset by asset."""


def write_qlib(
    panel: Panel,
    folder: str | Path,
    *,
    freq: str | None = None,
    market: str = "all",
    universe: str | None = None,
    overwrite: bool = False,
    progress: Progress = no_progress,
) -> Path:
    """Write a panel as a Qlib store: ``calendars``, ``instruments`` and ``features``.

    Every field becomes a file of each asset, from its first to its last observed bar, NaN where a
    bar between them was not observed. Fields and the folders of assets are in lower case. An
    asset that was never observed cannot be listed and is left out. The values are the panel's:
    Qlib takes its prices for adjusted ones, and ``factor`` (adjusted over original) if there is it.
    The store is written beside the folder and renamed.

    Args:
        panel: T bars, N assets, F fields.
        folder: where the store is wanted; ``~`` and environment variables are filled in.
        freq: Qlib's name of the frequency; None: ``day`` where no session has two bars, or the
            minutes between bars, such as ``5min``.
        market: the list of instruments with all assets, each from its first to its last bar.
        universe: a field that is positive where an asset belongs to a universe; its spells become
            another list of instruments, under the field's name.
        overwrite: replace a Qlib store that is there already.
        progress: told how many of the assets are done.

    Returns:
        The store's folder.

    Raises:
        PanelError: if the panel has names that Qlib cannot keep, something is in the way, or the
            store cannot be written.
        ConfigError: if a setting is impossible.
    """
    target = expand_path(folder)
    freq = (freq or infer_freq(panel)).lower()
    _check_names(panel, freq=freq, market=market, universe=universe)
    lists = {market.lower(): _listed(panel)}
    if universe is not None:
        lists[universe.lower()] = _belonging(panel, universe)
    with written_aside(target, what="Qlib store", is_one=_is_store, overwrite=overwrite) as aside:
        for name in ("calendars", "instruments", "features"):
            (aside / name).mkdir(parents=True)
        _write_features(panel, aside / "features", freq, progress)
        for name, lines in lists.items():
            _write_lines(aside / "instruments" / f"{name}.txt", lines)
        _write_lines(aside / "calendars" / f"{freq}.txt", _moments(panel, panel.dates))
    return target


def infer_freq(panel: Panel) -> str:
    """Qlib's name of a panel's frequency: ``day``, or the usual minutes between its bars.

    Args:
        panel: with at least one bar.

    Raises:
        ConfigError: if its bars are no whole minutes apart.
    """
    inside = panel.sessions[1:] == panel.sessions[:-1]
    if not inside.any():
        return "day"
    steps, counts = np.unique(np.diff(panel.dates)[inside], return_counts=True)
    step = steps[np.argmax(counts)]
    minutes = int(step // np.timedelta64(60_000_000_000, "ns"))
    if step != np.timedelta64(minutes * 60_000_000_000, "ns"):
        raise ConfigError(
            f"{panel.path}: its bars are {pd.Timedelta(step)} apart, which is no whole number of "
            "minutes. Say how Qlib is to call it: --freq (freq=)."
        )
    return f"{minutes}min"


def _check_names(panel: Panel, *, freq: str, market: str, universe: str | None) -> None:
    """Raise unless Qlib can keep every name as a file, a folder or a cell of a list."""
    for setting, name in (("freq", freq), ("market", market)):
        if not WORD.fullmatch(name):
            raise ConfigError(
                f"{setting} is {name!r}, which is to name a file; use letters, digits and _."
            )
    if universe is not None and universe.lower() == market.lower():
        raise ConfigError(
            f"universe and market are both {market!r} and would be one list of instruments. "
            "Name the market otherwise."
        )
    for kind, names, fine in (
        ("field", panel.fields, lambda name: WORD.fullmatch(name) is not None),
        ("symbol", panel.symbols, _is_cell),
    ):
        seen: dict[str, str] = {}
        for name in names:
            if not fine(name):
                raise PanelError(
                    f"{panel.path}: Qlib keeps each {kind} in files of its name, and cannot keep "
                    f"{name!r}. Rename it in the source and prepare the panel anew."
                )
            if name.lower() in seen:
                raise PanelError(
                    f"{panel.path}: Qlib writes names in lower case, where the {kind}s "
                    f"{seen[name.lower()]!r} and {name!r} are one. Rename one in the source and "
                    "prepare the panel anew."
                )
            seen[name.lower()] = name


def _is_cell(symbol: str) -> bool:
    """Whether a symbol can be a folder's name and a cell of a list."""
    clean = symbol == symbol.strip() and not set(symbol) & set("/\\\t\r\n\0")
    return bool(clean and symbol and symbol.isprintable() and symbol not in (".", ".."))


def _is_store(path: Path) -> bool:
    return (path / "calendars").is_dir() and (path / "features").is_dir()


def _extent(panel: Panel) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """First and last observed position of each asset, ``[N]`` each; first is T for one unseen."""
    observed = np.asarray(panel.observed)
    first = np.where(observed.any(axis=0), observed.argmax(axis=0), len(observed))
    last = len(observed) - 1 - observed[::-1].argmax(axis=0)
    return first.astype(np.int64), last.astype(np.int64)


def _moments(panel: Panel, dates: npt.NDArray[np.datetime64]) -> list[str]:
    """Dates as Qlib writes them: without a time where all bars of the panel are at midnight."""
    index = pd.DatetimeIndex(dates)
    if (pd.DatetimeIndex(panel.dates) == pd.DatetimeIndex(panel.dates).normalize()).all():
        return index.strftime("%Y-%m-%d").tolist()
    return [str(moment) for moment in index]


def _listed(panel: Panel) -> list[str]:
    first, last = _extent(panel)
    seen = np.flatnonzero(first < len(panel.dates))
    starts = _moments(panel, panel.dates[first[seen]])
    ends = _moments(panel, panel.dates[last[seen]])
    names = [panel.symbols[asset] for asset in seen]
    return ["\t".join(cells) for cells in zip(names, starts, ends, strict=True)]


def _belonging(panel: Panel, universe: str) -> list[str]:
    """A line for each spell of each asset in a universe."""
    assets, first, last = membership_spells(panel.field(universe))
    starts, ends = _moments(panel, panel.dates[first]), _moments(panel, panel.dates[last])
    names = [panel.symbols[asset] for asset in assets]
    if not names:
        raise ConfigError(
            f"{panel.path}: no asset ever belongs to the universe {universe!r}: the field is "
            "nowhere above zero. Name another field."
        )
    return ["\t".join(cells) for cells in zip(names, starts, ends, strict=True)]


def _write_features(panel: Panel, folder: Path, freq: str, progress: Progress) -> None:
    """Write every asset's files; some assets at a time are turned to Qlib's order of axes."""
    n_bars, n_assets, n_fields = panel.values.shape
    first, last = _extent(panel)
    names = [f"{field.lower()}{file_ending(freq)}" for field in panel.fields]
    step = max(1, min(64, BUFFER // (n_bars * n_fields)))
    for start in range(0, n_assets, step):
        some = slice(start, min(start + step, n_assets))
        block = np.where(panel.observed[:, some, None], panel.values[:, some], np.float32(np.nan))
        turned = np.ascontiguousarray(block.transpose(1, 2, 0), dtype=ITEM)
        for asset, fields in enumerate(turned, start=start):
            low, high = int(first[asset]), int(last[asset]) + 1
            if low == n_bars:
                continue
            own = folder / folder_name(panel.symbols[asset])
            own.mkdir()
            for name, numbers in zip(names, fields, strict=True):
                head = np.array([low], dtype=ITEM).tobytes()
                (own / name).write_bytes(head + numbers[low:high].tobytes())
        progress(some.stop, n_assets)


def _write_lines(file: Path, lines: list[str]) -> None:
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
