"""Room on the disk, asked for before a file is memory-mapped."""

from __future__ import annotations

import shutil
from pathlib import Path


def check_space(folder: Path, needed: int) -> None:
    """Raise unless a folder's disk has room; one that fills under a mapped file kills the process.

    Args:
        folder: an existing folder.
        needed: bytes.

    Raises:
        OSError: if there is less room.
    """
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise OSError(f"{needed:,} bytes are needed, and the disk has {free:,} left")
