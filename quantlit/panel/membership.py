"""From a field of 0 and 1 to the spells that an asset belonged to a universe."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Positions = npt.NDArray[np.int64]


def membership_spells(belongs: npt.NDArray[np.float32]) -> tuple[Positions, Positions, Positions]:
    """The longest runs of bars on which each asset belongs.

    A bar where it is unknown (NaN) lies in a spell if the asset belonged at the last known bar and
    belongs at the next one.

    Args:
        belongs: ``[T, N]`` positive where an asset belongs, NaN where that is unknown.

    Returns:
        Asset, first and last bar of each spell, ``[S]`` each; by asset, then by bar.

    >>> nan = np.nan
    >>> field = np.array([[1, nan, 1, 0, nan, 1], [nan, 0, 0, nan, 0, 0]], dtype=np.float32)
    >>> [positions.tolist() for positions in membership_spells(field.T)]
    [[0, 0], [0, 5], [2, 5]]
    """
    bars, assets = np.nonzero(~np.isnan(belongs))
    order = np.argsort(assets, kind="stable")
    bars, assets = bars[order], assets[order]
    member = belongs[bars, assets] > 0
    new = np.concatenate([[True], assets[1:] != assets[:-1]])
    before = np.concatenate([[False], member[:-1]])
    after = np.concatenate([member[1:], [False]])
    last_of_asset = np.concatenate([new[1:], [True]])
    starts = np.flatnonzero(member & (new | ~before))
    ends = np.flatnonzero(member & (last_of_asset | ~after))
    return assets[starts], bars[starts], bars[ends]
