"""Paths as users write them, and what identifies the files behind them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from quantlit.core import ConfigError

_VARIABLE = re.compile(r"\$(\w+|\{[^}]*\})")


def expand_path(path: str | Path) -> Path:
    """A path with ``~`` and environment variables (``$NAME`` or ``${NAME}``) filled in.

    Args:
        path: as written in a config.

    Raises:
        ConfigError: if a variable is not set.
    """
    for match in _VARIABLE.finditer(str(path)):
        name = match.group(1).strip("{}")
        if name not in os.environ:
            raise ConfigError(
                f"The path {path} uses the environment variable {name}, which is not set. "
                f"Set it (export {name}=...), or write the path out."
            )
    return Path(os.path.expandvars(path)).expanduser()


def file_state(files: Iterable[Path]) -> list[tuple[str, int, int]]:
    """Name, size in bytes and time of change of files; it changes when one of them does.

    Args:
        files: existing files.

    Returns:
        ``(name, bytes, nanoseconds)`` of each file, in the order given.
    """
    return [(file.name, stat.st_size, stat.st_mtime_ns) for file in files for stat in [file.stat()]]
