"""Which files a path means: one, a pattern's, or all of a folder; and what their paths say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from quantlit.core import DataError

_WILD = "*?["
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class TableFile:
    """One file of a source.

    Attributes:
        path: where it is.
        name: its path below the folder or the pattern's first part, for errors.
        asset: its name without what ends it, the symbol where no column holds one.
        constants: columns that its folders' names hold, ``year=2020`` (as Hive partitions); empty
            where Hive's name of no value stands.
    """

    path: Path
    name: str
    asset: str
    constants: dict[str, str]


def list_files(path: Path, suffixes: tuple[str, ...]) -> list[TableFile]:
    """The files that a path means, sorted.

    Args:
        path: a file, a folder (all files below it with one of the suffixes) or a pattern with
            ``*``, ``?``, ``[...]`` or ``**``. Names that begin with a dot or a low line are
            passed over in folders and patterns.
        suffixes: how the names of a folder's files end.

    Raises:
        DataError: if there is none, or a folder may not be read.
    """
    if path.is_file():
        return [_table_file(path, path.parent, suffixes)]
    wild = [part for part in path.parts if any(sign in part for sign in _WILD)]
    try:
        if path.is_dir():
            root, kind = path, f"the folder holds no file that ends in {', '.join(suffixes)}."
            found = [file for file in path.rglob("*") if file.name.endswith(suffixes)]
            list(path.iterdir())  # rglob passes over a folder that it may not read
        elif wild:
            start = path.parts.index(wild[0])
            root, kind = Path(*path.parts[:start]), "no file fits this pattern."
            found = list(root.glob(str(Path(*path.parts[start:]))))
        else:
            raise DataError(f"{path}: there is no such file or folder. Check the source's path.")
    except OSError as error:
        raise DataError(f"{path}: the folder cannot be read ({error}).") from error
    files = [
        file
        for file in sorted(found)
        if file.is_file() and not any(p[0] in "._" for p in file.relative_to(root).parts)
    ]
    if not files:
        raise DataError(f"{path}: {kind} Check the source's path.")
    return [_table_file(file, root, suffixes) for file in files]


def _table_file(path: Path, root: Path, suffixes: tuple[str, ...]) -> TableFile:
    relative = path.relative_to(root)
    ends = (suffix for suffix in sorted(suffixes, key=len) if path.name.endswith(suffix))
    parts = (part.partition("=") for part in relative.parts[:-1] if "=" in part)
    constants = {
        unquote(key): "" if value == _NO_VALUE else unquote(value) for key, _, value in parts
    }
    asset = path.name[: -len(end)] if (end := next(iter(ends), "")) else path.name
    return TableFile(path, str(relative), asset.split(suffixes[0])[0], constants)
