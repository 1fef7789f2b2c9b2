"""Factors of the whole bar: open, high, low, close and volume."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from quantlit.features.bars import MAX_FILL, Bars, lag, log, ratio
from quantlit.features.factors import BarFactor, WindowFactor
from quantlit.features.kernels import last_seen, rolling_comoments, rolling_max, rolling_mean
from quantlit.features.price_factors import position

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class DayPosition(BarFactor):
    """Place of the close in the bar's own range: 0 at the low, 1 at the high, 0.5 without range."""

    stem: ClassVar[str] = "day_position"
    fields: ClassVar[tuple[str, ...]] = ("high", "low", "close")

    def compute(self, bars: Bars) -> Array:
        """``(close - low) / (high - low)``."""
        return position(bars["close"], bars["low"], bars["high"])


@dataclass(frozen=True, kw_only=True)
class DayRange(BarFactor):
    """Logarithm of the bar's high over its low (Parkinson's measure of volatility, unscaled)."""

    stem: ClassVar[str] = "day_range"
    fields: ClassVar[tuple[str, ...]] = ("high", "low")

    def compute(self, bars: Bars) -> Array:
        """``log(high / low)``."""
        return log(bars["high"] / bars["low"])


@dataclass(frozen=True, kw_only=True)
class OvernightReturn(BarFactor):
    """Return from the last close seen before the bar to its open."""

    stem: ClassVar[str] = "overnight_return"
    fields: ClassVar[tuple[str, ...]] = ("open", "close")

    def compute(self, bars: Bars) -> Array:
        """``open / previous_close - 1``."""
        return bars["open"] / bars.previous_close - 1.0


@dataclass(frozen=True, kw_only=True)
class IntradayReturn(BarFactor):
    """Return from the bar's open to its close."""

    stem: ClassVar[str] = "intraday_return"
    fields: ClassVar[tuple[str, ...]] = ("open", "close")

    def compute(self, bars: Bars) -> Array:
        """``close / open - 1``."""
        return bars["close"] / bars["open"] - 1.0


@dataclass(frozen=True, kw_only=True)
class TrueRange(WindowFactor):
    """Mean true range over the window, each as a fraction of its bar's close (Wilder 1978)."""

    stem: ClassVar[str] = "true_range"
    fields: ClassVar[tuple[str, ...]] = ("high", "low", "close")

    def compute(self, bars: Bars) -> Array:
        """Mean of ``(max(high, previous_close) - min(low, previous_close)) / close``."""
        top = np.fmax(bars["high"], bars.previous_close)
        bottom = np.fmin(bars["low"], bars.previous_close)
        return rolling_mean((top - bottom) / bars["close"], self.window, self.min_count)


@dataclass(frozen=True, kw_only=True)
class RangePosition(WindowFactor):
    """Place of the close between the window's lowest low (0) and highest high (1)."""

    stem: ClassVar[str] = "range_position"
    fields: ClassVar[tuple[str, ...]] = ("high", "low", "close")

    def compute(self, bars: Bars) -> Array:
        """``(close - lowest) / (highest - lowest)``; 0.5 where they are equal."""
        highest = rolling_max(bars["high"], self.window, self.min_count)
        lowest = -rolling_max(-bars["low"], self.window, self.min_count)
        return position(bars["close"], lowest, highest)


@dataclass(frozen=True, kw_only=True)
class VolumeShock(WindowFactor):
    """Logarithm of the volume over its mean of the window; NaN without volume."""

    stem: ClassVar[str] = "volume_shock"
    fields: ClassVar[tuple[str, ...]] = ("volume",)

    def compute(self, bars: Bars) -> Array:
        """``log(volume / mean(volume))``."""
        mean = rolling_mean(bars["volume"], self.window, self.min_count)
        return log(ratio(bars["volume"], mean))


@dataclass(frozen=True, kw_only=True)
class VolumeTrend(WindowFactor):
    """Logarithm of the mean volume of the last ``short`` bars over that of the window.

    Args:
        window: bars in the long window.
        short: bars in the short one.
    """

    stem: ClassVar[str] = "volume_trend"
    fields: ClassVar[tuple[str, ...]] = ("volume",)

    short: int = 5

    @property
    def name(self) -> str:
        """Stem and both windows, e.g. ``volume_trend_5_60``."""
        return f"{self.stem}_{self.short}_{self.window}"

    def compute(self, bars: Bars) -> Array:
        """``log(mean(volume, short) / mean(volume, window))``."""
        short = rolling_mean(bars["volume"], self.short, (self.short + 1) // 2)
        return log(ratio(short, rolling_mean(bars["volume"], self.window, self.min_count)))


@dataclass(frozen=True, kw_only=True)
class VolumeCorrelation(WindowFactor):
    """Correlation of the close and the logarithm of the volume; NaN where one is constant."""

    stem: ClassVar[str] = "volume_correlation"
    fields: ClassVar[tuple[str, ...]] = ("close", "volume")

    def compute(self, bars: Bars) -> Array:
        """Pearson correlation over bars where both are known."""
        volume = log(bars["volume"])
        return correlation(rolling_comoments(bars["close"], volume, self.window, self.min_count))


@dataclass(frozen=True, kw_only=True)
class VolumeReturnCorrelation(WindowFactor):
    """Correlation of one-bar returns and changes in the logarithm of the volume."""

    stem: ClassVar[str] = "volume_return_correlation"
    fields: ClassVar[tuple[str, ...]] = ("close", "volume")

    def compute(self, bars: Bars) -> Array:
        """Pearson correlation over bars where both are known; NaN where one is constant."""
        volume = log(bars["volume"])
        change = volume - lag(last_seen(volume, MAX_FILL), 1)
        return correlation(rolling_comoments(bars.returns, change, self.window, self.min_count))


@dataclass(frozen=True, kw_only=True)
class Illiquidity(WindowFactor):
    """Logarithm of the mean size of return per unit of money traded (Amihud 2002)."""

    stem: ClassVar[str] = "illiquidity"
    fields: ClassVar[tuple[str, ...]] = ("close", "volume")

    def compute(self, bars: Bars) -> Array:
        """``log(mean(|return| / (close * volume)))``; bars without volume are left out."""
        impact = ratio(np.abs(bars.returns), bars["close"] * bars["volume"])
        return log(rolling_mean(impact, self.window, self.min_count))


@dataclass(frozen=True, kw_only=True)
class DollarVolume(WindowFactor):
    """Logarithm of the mean money traded per bar: how large and liquid an asset is."""

    stem: ClassVar[str] = "dollar_volume"
    fields: ClassVar[tuple[str, ...]] = ("close", "volume")

    def compute(self, bars: Bars) -> Array:
        """``log(mean(close * volume))``."""
        return log(rolling_mean(bars["close"] * bars["volume"], self.window, self.min_count))


def correlation(moments: Array) -> Array:
    """Pearson correlation in [-1, 1] from ``[3, T, N]`` variances and covariance."""
    return np.clip(ratio(moments[2], np.sqrt(moments[0] * moments[1])), -1.0, 1.0)
