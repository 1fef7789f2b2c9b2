"""Panel: bars of many assets in memory-mapped arrays, opened without reading them."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.core import PanelError, file_sha256
from quantlit.panel.calendar import bar_stamps
from quantlit.panel.manifest import REMEDY, ArrayEntry, Manifest, read_manifest
from quantlit.panel.paths import expand_path

RETRIES = 200
"""Times 10 ms to wait for a store that is being replaced."""

Timestamp = str | np.datetime64 | pd.Timestamp


class Panel:
    """The bars of N assets on one calendar of T bars, F fields each; read-only.

    Make one with :func:`build_panel` and open it with :meth:`open`.

    Attributes:
        path: the store's folder.
        symbols: N asset names, ascending.
        fields: F field names.
        dates: ``[T]`` datetime64[ns], ascending, in the exchange's own time.
        values: ``[T, N, F]`` float32, NaN where unknown. Prices are adjusted if the source was told
            how to.
        observed: ``[T, N]`` bool, the bar was really seen.
        sessions: ``[T]`` int32, the trading day of each bar, counted from 0.
        bars_per_year: bars in a trading year.
        checksum: sha256 over axes, fields and arrays; equal panels have equal checksums.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.symbols = manifest.symbols
        self.fields = manifest.fields
        self.bars_per_year = manifest.bars_per_year
        self.checksum = manifest.checksum
        arrays = {name: _map(path, name, entry) for name, entry in manifest.arrays.items()}
        self.values: npt.NDArray[np.float32] = arrays["values"]
        self.observed: npt.NDArray[np.bool_] = arrays["observed"]
        self.dates: npt.NDArray[np.datetime64] = arrays["dates"]
        self.sessions: npt.NDArray[np.int32] = arrays["sessions"]

    @classmethod
    def open(cls, path: str | Path, verify: bool = False) -> Panel:
        """Map a store into memory; takes milliseconds whatever its size.

        Args:
            path: the store's folder; ``~`` and environment variables are filled in.
            verify: also read every file and compare its checksum.

        Raises:
            PanelError: if there is no store, or it is damaged, or of another format.
            ConfigError: if the path names an environment variable that is not set.
        """
        folder = expand_path(path)
        panel, manifest = _steady(folder, lambda: cls._open(folder))
        if verify:
            _check_contents(folder, manifest)
        return panel

    @classmethod
    def _open(cls, folder: Path) -> tuple[Panel, Manifest]:
        manifest = read_manifest(folder)
        _check_shapes(folder, manifest)
        return cls(folder, manifest), manifest

    @cached_property
    def stamps(self) -> npt.NDArray[np.int64]:
        """``[T, 5]`` int64 minute, hour, weekday (Monday 0), day and month of each bar."""
        return bar_stamps(self.dates)

    def field(self, name: str) -> npt.NDArray[np.float32]:
        """``[T, N]`` float32 view of a field.

        Raises:
            PanelError: if the panel has no such field.
        """
        if name not in self.fields:
            raise PanelError(
                f"{self.path}: the panel has no field {name!r}; it has {', '.join(self.fields)}. "
                "Map the column in the source and prepare the panel anew."
            )
        return self.values[:, :, self.fields.index(name)]

    def position(self, date: Timestamp) -> int:
        """Calendar position of the bar with this timestamp.

        Raises:
            PanelError: if there is no such bar.
        """
        moment = pd.Timestamp(date)
        position = int(np.searchsorted(self.dates, moment.to_datetime64()))
        if position == len(self.dates) or pd.Timestamp(self.dates[position]) != moment:
            near = pd.Timestamp(self.dates[min(position, len(self.dates) - 1)])
            raise PanelError(
                f"{self.path}: the panel has no bar at {moment}; the next one is at {near}, and it "
                f"runs from {pd.Timestamp(self.dates[0])} to {pd.Timestamp(self.dates[-1])}."
            )
        return position

    def positions(self, start: Timestamp, end: Timestamp) -> range:
        """Calendar positions from ``start`` to ``end``, both included; may be empty.

        Args:
            start: first timestamp.
            end: last timestamp; a date without a time covers its whole day.
        """
        last = pd.Timestamp(end)
        if last == last.normalize():
            last += pd.Timedelta(days=1) - pd.Timedelta(1, unit="ns")
        first = pd.Timestamp(start).to_datetime64()
        low = int(np.searchsorted(self.dates, first, side="left"))
        high = int(np.searchsorted(self.dates, last.to_datetime64(), side="right"))
        return range(low, max(low, high))

    def to_frame(self) -> pd.DataFrame:
        """The observed bars as a long table, sorted by date and symbol.

        Returns:
            Columns ``date`` (datetime64[ns]), ``symbol`` (categorical) and the fields (float32).
        """
        bars, assets = np.nonzero(self.observed)
        values = np.asarray(self.values)[bars, assets]
        columns: dict[str, Any] = {
            "date": np.asarray(self.dates)[bars],
            "symbol": pd.Categorical.from_codes(assets, categories=pd.Index(self.symbols)),
        }
        columns |= {name: values[:, column] for column, name in enumerate(self.fields)}
        return pd.DataFrame(columns)

    def __repr__(self) -> str:
        shape = " x ".join(str(size) for size in self.values.shape)
        return f"Panel({str(self.path)!r}, {shape}: {', '.join(self.fields)})"


def _steady(folder: Path, opened: Callable[[], tuple[Panel, Manifest]]) -> tuple[Panel, Manifest]:
    """Open a store that another process may be replacing just now: all of the old or of the new."""
    for _ in range(RETRIES):
        try:
            panel, manifest = opened()
            if read_manifest(folder) == manifest:
                return panel, manifest
        except PanelError:
            if not (folder.parent / f".{folder.name}.old").exists():
                break
        time.sleep(0.01)
    return opened()


def _map(folder: Path, name: str, entry: ArrayEntry) -> npt.NDArray[Any]:
    """Map an array file, and check it against the manifest by its size, shape and type."""
    path = folder / f"{name}.npy"
    try:
        size = path.stat().st_size
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        raise PanelError(f"{path}: this file of the store is missing. {REMEDY}") from error
    except (OSError, ValueError) as error:
        raise PanelError(f"{path}: the file is damaged ({error}). {REMEDY}") from error
    if size != entry.bytes:
        raise PanelError(
            f"{path}: the file has {size} bytes, and the manifest says {entry.bytes}: it was cut "
            f"short or changed. {REMEDY}"
        )
    if array.shape != entry.shape or array.dtype != np.dtype(entry.dtype):
        raise PanelError(
            f"{path}: the file holds {array.dtype} {array.shape}, and the manifest says "
            f"{entry.dtype} {entry.shape}. {REMEDY}"
        )
    return array


def _check_shapes(folder: Path, manifest: Manifest) -> None:
    """Raise unless the manifest's arrays are those of a panel with its fields and symbols."""
    n_assets, n_fields = len(manifest.symbols), len(manifest.fields)
    shapes = {name: entry.shape for name, entry in manifest.arrays.items()}
    n_bars = shapes.get("dates", (0,))[0]
    wanted = {
        "values": (n_bars, n_assets, n_fields),
        "observed": (n_bars, n_assets),
        "dates": (n_bars,),
        "sessions": (n_bars,),
    }
    if shapes != wanted:
        raise PanelError(
            f"{folder}: the manifest lists arrays of shapes {shapes}, and its {n_assets} symbols "
            f"and {n_fields} fields need {wanted}. {REMEDY}"
        )


def _check_contents(folder: Path, manifest: Manifest) -> None:
    for name, entry in manifest.arrays.items():
        path = folder / f"{name}.npy"
        if path.is_file() and file_sha256(path) != entry.sha256:
            raise PanelError(
                f"{path}: the contents changed since the store was made (sha256 differs). {REMEDY}"
            )
