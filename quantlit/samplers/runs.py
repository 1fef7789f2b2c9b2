"""Runs: consecutive calendar positions, the unit that every sampler yields."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from quantlit.core import TimeContinuityError

Run = Sequence[int]
"""D consecutive calendar positions: a ``range`` from our samplers, which costs nothing to make."""


def segments(positions: Sequence[int] | npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
    """Split ascending positions wherever a date is missing, so that no run spans a gap.

    >>> [part.tolist() for part in segments([3, 4, 5, 9, 10])]
    [[3, 4, 5], [9, 10]]

    Raises:
        TimeContinuityError: if the positions are not strictly ascending.
    """
    array = np.asarray(positions, dtype=np.int64)
    if array.size == 0:
        return []
    steps = np.diff(array)
    if (steps <= 0).any():
        where = int(np.argmax(steps <= 0))
        raise TimeContinuityError(
            f"Date positions must ascend, but {array[where + 1]} follows {array[where]}."
        )
    return list(np.split(array, np.flatnonzero(steps > 1) + 1))


def padding(run: Run) -> Run:
    """The same run, marked as padding: a fully masked block that only keeps ranks in step.

    The mark is the bitwise complement of each position, so it survives any loader.

    >>> padding([3, 4])
    [-4, -5]
    >>> padding(padding([3, 4]))
    [3, 4]
    """
    return [~position for position in run]


def is_padding(run: Run) -> bool:
    """Whether a run is marked as padding."""
    return run[0] < 0
