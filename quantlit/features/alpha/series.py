"""Series that several alpha factors share, asset by asset."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from quantlit.features.bars import Bars

Array = npt.NDArray[np.float64]
Single = npt.NDArray[np.float32]


class AssetSeries:
    """Fields of a stretch of bars and what derives from them, ``[N, T]``: an asset's bars together.

    The latter goes through single precision, in which Qlib keeps a series until a window takes it:
    the correlations of few bars, or of a price that hardly moves, can tell.

    Args:
        bars: a stretch of T bars of N assets.
    """

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._fields: dict[str, Array] = {}
        self.first = np.asarray(bars.first, dtype=np.int64)

    def __getitem__(self, name: str) -> Array:
        """``[N, T]`` of a field, NaN where unknown; ``ohlc4`` is the mean of the four prices."""
        if name not in self._fields:
            if name == "ohlc4":
                prices = [self[price] for price in ("open", "high", "low", "close")]
                self._fields[name] = (prices[0] + prices[1] + prices[2] + prices[3]) / 4.0
            else:
                self._fields[name] = np.ascontiguousarray(self._bars[name].T)
        return self._fields[name]

    @cached_property
    def growth(self) -> Array:
        """Close over the close of the bar before; NaN where either is unknown."""
        return _double(over_previous(_single(self["close"])))

    @cached_property
    def log_volume(self) -> Array:
        """``log(volume + 1)``."""
        return _double(np.log(_single(self["volume"]) + 1))

    @cached_property
    def log_volume_growth(self) -> Array:
        """``log(volume / previous volume + 1)``; NaN where it is infinite."""
        growth = np.log(over_previous(_single(self["volume"])) + 1)
        return _double(np.where(np.isfinite(growth), growth, np.nan))

    @cached_property
    def impact(self) -> Array:
        """Size of the bar's return times its volume."""
        moves = np.abs(over_previous(_single(self["close"])) - 1)
        return _double(moves * _single(self["volume"]))


def over_previous(x: Single) -> Single:
    """``x`` over its value one bar before; NaN in the first bar.

    Args:
        x: ``[N, T]`` values, oldest bar first.
    """
    out = np.full_like(x, np.nan)
    out[:, 1:] = x[:, 1:] / x[:, :-1]
    return out


def _single(x: Array) -> Single:
    return x.astype(np.float32)


def _double(x: Single) -> Array:
    return x.astype(np.float64)
