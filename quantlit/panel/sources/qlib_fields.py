"""Which assets a Qlib store has, the files of each, and which fields to read of them."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quantlit.core import DataError
from quantlit.panel.sources.columns import FIELDS
from quantlit.panel.sources.qlib_layout import file_ending, folder_name, symbol_name


@dataclass(frozen=True)
class Asset:
    """An asset of a store.

    Attributes:
        symbol: its name, spelled as in the list of instruments.
        files: the file of each of its fields, by the field's name in lower case.
    """

    symbol: str
    files: dict[str, Path]


def list_assets(folder: Path, freq: str, symbols: Sequence[str] | None) -> list[Asset]:
    """Assets and their files of a frequency, by symbol.

    Args:
        folder: the store.
        freq: the frequency.
        symbols: which assets; None for every folder of features.

    Raises:
        DataError: if an asset has no folder, or no file, or there is no asset at all.
    """
    features = folder / "features"
    try:
        there = {entry.name for entry in os.scandir(features) if entry.is_dir()}
    except OSError as error:
        raise DataError(
            f"{features}: the folder cannot be read ({error}). Check its permissions."
        ) from error
    if not there:
        raise DataError(f"{features}: there is no instrument at all. Download the store anew.")
    if symbols is None:
        files = {symbol_name(name): _files(features / name, freq) for name in sorted(there)}
        assets = [Asset(symbol, found) for symbol, found in sorted(files.items()) if found]
        if not assets:
            raise DataError(
                f"{features}: no instrument has a file of the frequency {freq!r} "
                f"(*{file_ending(freq)}). Set another freq."
            )
        return assets
    owners: dict[str, str] = {}
    for symbol in sorted(symbols):
        name = folder_name(symbol)
        if name in owners:
            raise DataError(
                f"{folder}: {owners[name]} and {symbol} are both listed, and share the folder "
                f"features/{name}. Write the symbol one way in the list of instruments."
            )
        if name not in there:
            raise DataError(
                f"{features / name}: {symbol} is listed as an instrument, and its folder is "
                "missing. Download the store anew, take the symbol off the list, or set "
                "instruments to null to take every folder that is there."
            )
        owners[name] = symbol
    assets = [Asset(symbol, _files(features / name, freq)) for name, symbol in owners.items()]
    for asset in assets:
        if not asset.files:
            raise DataError(
                f"{features / folder_name(asset.symbol)}: {asset.symbol} has no file of the "
                f"frequency {freq!r} (*{file_ending(freq)}). Download the store anew, or take the "
                "symbol off the list of instruments."
            )
    return sorted(assets, key=lambda asset: asset.symbol)


def choose_fields(
    assets: Sequence[Asset], wanted: Sequence[str] | None, folder: Path, freq: str
) -> list[str]:
    """The fields to read, in quantlit's order: those with a name here first.

    Args:
        assets: at least one.
        wanted: names of fields; None for all that any asset has. Fields without a name here keep
            this order, or are sorted.
        folder: names the store in errors.
        freq: names the frequency in errors.

    Raises:
        DataError: if no asset has a field, or one has no close while others do.
    """
    there = sorted({name for asset in assets for name in asset.files})
    for name in wanted or []:
        if name not in there:
            near = difflib.get_close_matches(name, there, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise DataError(
                f"{folder}: no instrument has the field {name!r} (features/*/{name}"
                f"{file_ending(freq)}); the fields are {', '.join(there)}.{hint} Set fields to "
                "some of them."
            )
    if "close" in there:
        for asset in assets:
            if "close" not in asset.files:
                path = next(iter(asset.files.values())).with_name(f"close{file_ending(freq)}")
                raise DataError(
                    f"{path} ({asset.symbol}, close): the file is missing, and the close says "
                    "which bars were observed. Download the store anew, or take the symbol off the "
                    "list of instruments."
                )
    names = there if wanted is None else wanted
    return [name for name in FIELDS if name in names] + [n for n in names if n not in FIELDS]


def _files(folder: Path, freq: str) -> dict[str, Path]:
    """The files of a frequency in an asset's folder, by the field's name in lower case."""
    ending = file_ending(freq)
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(ending))
    except OSError as error:
        raise DataError(
            f"{folder}: the folder cannot be read ({error}). Check its permissions."
        ) from error
    found = ((name.removesuffix(ending).lower(), folder / name) for name in names)
    return {field: path for field, path in found if field and not field.startswith(".")}
