"""The suspended market with a volume-weighted price, and all factors of a set on it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from suspended_market import Fields, suspended_market

from quantlit.features import AlphaFactor, Bars

Market = tuple[Fields, npt.NDArray[np.bool_]]
Features = npt.NDArray[np.float32]


def alpha_market() -> Market:
    """Fields of 150 bars and 9 assets, ``vwap`` among them, and ``observed``.

    Asset 4 has bars without a volume-weighted price, asset 5 without a volume and asset 6 without
    a high, as a source may have them.
    """
    fields, observed = suspended_market()
    share = np.random.default_rng(8).random(observed.shape)
    vwap = fields["low"] + share * (fields["high"] - fields["low"])
    fields["vwap"] = vwap.astype(np.float32).astype(np.float64)
    for asset, field in ((4, "vwap"), (5, "volume"), (6, "high")):
        fields[field][30:33, asset] = np.nan
        fields[field][70, asset] = np.nan
    return fields, observed


def compute_all(factors: Sequence[AlphaFactor], bars: Bars) -> Features:
    """All factors on all bars, ``[T, N, F]``."""
    out = np.empty((*bars.observed.shape, len(factors)), dtype=np.float32)
    with np.errstate(all="ignore"):
        AlphaFactor.compute_together(bars, factors, range(len(factors)), out)
    return out
