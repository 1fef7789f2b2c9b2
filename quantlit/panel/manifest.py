"""The manifest: what a panel store holds, in JSON, so that it opens without reading the arrays."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from quantlit.core import PanelError

FORMAT = 1
"""Version of the store's layout and of what the sources put into it; part of fingerprints."""

MANIFEST = "manifest.json"

REMEDY = "Make it anew with `quantlit prepare` (--overwrite true)."


@dataclass(frozen=True, kw_only=True)
class ArrayEntry:
    """One array file of a store.

    Attributes:
        shape: its axes.
        dtype: numpy's name of its type.
        bytes: size of the whole file.
        sha256: of the whole file, hexadecimal.
    """

    shape: tuple[int, ...]
    dtype: str
    bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What is in a store; T bars, N assets, F fields.

    Attributes:
        fields: names on the field axis.
        symbols: names on the asset axis, ascending.
        bars_per_year: bars in a trading year.
        arrays: the files ``<name>.npy``: ``values`` [T, N, F], ``observed`` [T, N], ``dates`` [T]
            (the calendar) and ``sessions`` [T].
        source: where the bars come from, as the source describes itself.
        fingerprint: of the source's settings and files, to recognise a store that is up to date.
    """

    fields: list[str]
    symbols: list[str]
    bars_per_year: float
    arrays: dict[str, ArrayEntry]
    source: dict[str, str]
    fingerprint: str

    @property
    def checksum(self) -> str:
        """One sha256 over all that a model can see of the panel: axes, fields and array files."""
        seen = {
            "fields": self.fields,
            "symbols": self.symbols,
            "arrays": {name: entry.sha256 for name, entry in sorted(self.arrays.items())},
        }
        return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()

    def dumps(self) -> str:
        """The manifest as JSON."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1, ensure_ascii=False) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a store.

    Args:
        folder: the store.

    Raises:
        PanelError: if there is no store, its manifest is damaged, or it has another format.
    """
    path = folder / MANIFEST
    if not folder.is_dir():
        raise PanelError(
            f"{folder}: there is no panel store. Make one with `quantlit prepare --output {folder}`"
            ", or check the path."
        )
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise PanelError(
            f"{folder}: this folder has no {MANIFEST}, so it is not a panel store. "
            "Give the folder that `quantlit prepare` wrote."
        ) from error
    except ValueError as error:
        raise PanelError(f"{path}: the manifest is damaged ({error}). {REMEDY}") from error
    found = entries.pop("format", None) if isinstance(entries, dict) else None
    if found != FORMAT:
        raise PanelError(
            f"{path}: the store has format {found}, and this quantlit reads format {FORMAT}. "
            f"{REMEDY}"
        )
    try:
        arrays = {
            name: ArrayEntry(**{**entry, "shape": tuple(entry["shape"])})
            for name, entry in entries.pop("arrays").items()
        }
        return Manifest(arrays=arrays, **entries)
    except (KeyError, TypeError, AttributeError) as error:
        raise PanelError(f"{path}: the manifest is damaged ({error!r}). {REMEDY}") from error
