"""Workspace: where a source builds a panel, a folder on the disk of the store to be."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quantlit.core import check_space
from quantlit.panel.aside import Progress, no_progress


class Workspace:
    """A folder for arrays that become the store's files, and for parts that a build resumes from.

    Args:
        folder: an existing folder; what an interrupted build of the same source left may be in it.
        progress: told how much of how much has been read.
    """

    def __init__(self, folder: Path, progress: Progress = no_progress) -> None:
        self.folder = folder
        self.progress = progress

    @property
    def parts(self) -> Path:
        """The folder of parts; removed when the store is whole."""
        return self.folder / "parts"

    def array(self, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """A new memory-mapped array, the store's file ``<name>.npy``, of undefined contents.

        Raises:
            OSError: if the disk has no room for it.
        """
        check_space(self.folder, math.prod(shape) * np.dtype(dtype).itemsize)
        return np.lib.format.open_memmap(
            self.folder / f"{name}.npy", mode="w+", dtype=np.dtype(dtype), shape=shape
        )
