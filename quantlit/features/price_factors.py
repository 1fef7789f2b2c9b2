"""Factors that need nothing but the close."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from quantlit.features.bars import Bars, lag, ratio
from quantlit.features.factors import WindowFactor
from quantlit.features.kernels import (
    rolling_comoments,
    rolling_max,
    rolling_mean,
    rolling_skewness,
    rolling_std,
)

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Return(WindowFactor):
    """Return over ``window`` bars, from the last close seen at or before the bar it starts at.

    A suspended bar at the start does not erase it: the close before the suspension is taken.
    """

    stem: ClassVar[str] = "return"
    shortest: ClassVar[int] = 1

    def compute(self, bars: Bars) -> Array:
        """``close[t] / last_close[t - window] - 1``."""
        return bars["close"] / lag(bars.last_close, self.window) - 1.0


@dataclass(frozen=True, kw_only=True)
class Volatility(WindowFactor):
    """Sample standard deviation of one-bar returns, per bar (not annualised)."""

    stem: ClassVar[str] = "volatility"

    def compute(self, bars: Bars) -> Array:
        """Standard deviation with ``ddof=1`` over the window."""
        return rolling_std(bars.returns, self.window, self.min_count)


@dataclass(frozen=True, kw_only=True)
class Skewness(WindowFactor):
    """Bias-adjusted skewness of one-bar returns; 0 where they are constant."""

    stem: ClassVar[str] = "skewness"
    shortest: ClassVar[int] = 3

    def compute(self, bars: Bars) -> Array:
        """Adjusted Fisher-Pearson skewness over the window."""
        return rolling_skewness(bars.returns, self.window, self.min_count)


@dataclass(frozen=True, kw_only=True)
class MaxReturn(WindowFactor):
    """Largest one-bar return of the window (the lottery effect; Bali, Cakici and Whitelaw 2011)."""

    stem: ClassVar[str] = "max_return"

    def compute(self, bars: Bars) -> Array:
        """Maximum over the window."""
        return rolling_max(bars.returns, self.window, self.min_count)


@dataclass(frozen=True, kw_only=True)
class Distance(WindowFactor):
    """Distance of the close from its moving average, as a fraction of the average."""

    stem: ClassVar[str] = "distance"

    def compute(self, bars: Bars) -> Array:
        """``close / mean(close) - 1``."""
        return bars["close"] / rolling_mean(bars["close"], self.window, self.min_count) - 1.0


@dataclass(frozen=True, kw_only=True)
class ClosePosition(WindowFactor):
    """Place of the close between the lowest (0) and highest (1) close of the window.

    0.5 where they are equal.
    """

    stem: ClassVar[str] = "close_position"

    def compute(self, bars: Bars) -> Array:
        """``(close - lowest) / (highest - lowest)``."""
        close = bars["close"]
        highest = rolling_max(close, self.window, self.min_count)
        lowest = -rolling_max(-close, self.window, self.min_count)
        return position(close, lowest, highest)


@dataclass(frozen=True, kw_only=True)
class Beta(WindowFactor):
    """Slope of one-bar returns on the equal-weight mean return of all observed assets."""

    stem: ClassVar[str] = "beta"

    def compute(self, bars: Bars) -> Array:
        """``cov(return, market) / var(market)``; NaN where the market has no spread."""
        moments = rolling_comoments(bars.returns, bars.market, self.window, self.min_count)
        return ratio(moments[2], moments[1])


def position(x: Array, lowest: Array, highest: Array) -> Array:
    """Place of ``x`` between two bounds: 0 at the lowest, 1 at the highest, 0.5 if they are equal.

    Args:
        x: ``[T, N]`` values.
        lowest: ``[T, N]`` lower bounds.
        highest: ``[T, N]`` upper bounds.
    """
    span = highest - lowest
    return np.where(span == 0, 0.5, ratio(x - lowest, span))
