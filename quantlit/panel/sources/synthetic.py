"""SyntheticSource: a seeded market with a planted signal whose IC is known."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from quantlit.core import ConfigError, numpy_generator
from quantlit.panel.sources.base import PanelSource, RawPanel, fingerprint_of
from quantlit.panel.sources.simulation import (
    Array,
    autoregressive,
    bar_extremes,
    expected_rank_ic,
    suspended_bars,
)

DRIFT = 0.0003
"""Mean return of the market per bar."""

LARGEST_LOSS = -0.5
"""No bar loses more than a half, limit or not."""


class PlantedSignal(NamedTuple):
    """What a perfect forecaster would see; T bars, N assets.

    Attributes:
        values: ``[T, N]`` float64, the signal that each bar carries.
        ic: expected Pearson IC of a date between the signal and the label that it forecasts.
        rank_ic: expected rank IC.
        delay: the label is ``close[t + delay + 1] / close[t + delay] - 1``.
    """

    values: Array
    ic: float
    rank_ic: float
    delay: int


class SyntheticSource(PanelSource):
    """A made-up market of daily bars (open, high, low, close, volume) with a signal in it.

    Each bar t of asset i carries a standard normal signal s, to be read from the place of the close
    in the bar's range: ``(close - low) / (high - low)`` is the normal distribution function of s.
    It drives one later return,

        ``close[t + delay + 1] / close[t + delay] - 1 = m + v (a s + sigma_i e)``,

    with m the market's return and v its volatility level, both common to all assets and moving in
    time, and sigma_i an asset's own volatility, which stays. The scale a is such that the
    cross-sectional correlation of s and the return is ``ic`` on every date; s is the forecast with
    the least squared error. Apart from the close's place in its bar, nothing forecasts anything.

    Args:
        n_assets: N, at least 2.
        n_dates: T, business days.
        ic: expected Pearson IC of the signal; :meth:`planted_signal` also gives the rank IC.
        delay: bars between the bar that shows a signal and the start of the return that it drives:
            the delay of the label to forecast, whose horizon is 1.
        persistence: correlation of an asset's signal with its next one. Above 0, a signal also
            forecasts the returns around the one it drives.
        volatility: root mean square of the assets' own volatilities, per bar.
        volatility_spread: standard deviation of the logarithm of the assets' own volatilities.
        market_volatility: of the return that all assets share, per bar.
        missing: probability that a bar is missing.
        suspension: probability that a suspension starts at a bar. The price of an absent asset
            rests.
        suspension_length: mean number of bars of a suspension, at least 1.
        limit: largest move of a bar; beyond, the close is at the limit, and so are open, high and
            low, which hides the bar's signal. None for no limit.
        start: the first date.
        seed: seeds everything.

    Raises:
        ConfigError: if a setting is impossible.
    """

    def __init__(
        self,
        *,
        n_assets: int = 200,
        n_dates: int = 1500,
        ic: float = 0.1,
        delay: int = 1,
        persistence: float = 0.0,
        volatility: float = 0.02,
        volatility_spread: float = 0.3,
        market_volatility: float = 0.01,
        missing: float = 0.01,
        suspension: float = 0.001,
        suspension_length: float = 5.0,
        limit: float | None = 0.1,
        start: str = "2010-01-04",
        seed: int = 0,
    ) -> None:
        self.n_assets = n_assets
        self.n_dates = n_dates
        self.ic = ic
        self.delay = delay
        self.persistence = persistence
        self.volatility = volatility
        self.volatility_spread = volatility_spread
        self.market_volatility = market_volatility
        self.missing = missing
        self.suspension = suspension
        self.suspension_length = suspension_length
        self.limit = limit
        self.start = start
        self.seed = seed
        self.settings = dict(vars(self))
        self._check()

    def _check(self) -> None:
        ranges = {
            "n_assets": (2, math.inf),
            "n_dates": (2, math.inf),
            "ic": (-0.99, 0.99),
            "delay": (0, math.inf),
            "persistence": (-0.99, 0.99),
            "volatility": (1e-6, 0.2),
            "volatility_spread": (0, 2),
            "market_volatility": (0, 0.2),
            "missing": (0, 1),
            "suspension": (0, 1),
            "suspension_length": (1, math.inf),
        }
        if self.limit is not None:
            ranges["limit"] = (1e-3, 0.5)
        try:
            pd.Timestamp(self.start)
        except ValueError as error:
            raise ConfigError(
                f"SyntheticSource.start is {self.start!r}, which is no date; write YYYY-MM-DD."
            ) from error
        for name, (low, high) in ranges.items():
            if not low <= self.settings[name] <= high:
                raise ConfigError(
                    f"SyntheticSource.{name} is {self.settings[name]}; give {low} to {high}."
                )

    def planted_signal(self) -> PlantedSignal:
        """The signal in every bar, on the panel's axes, and what it is worth."""
        return PlantedSignal(
            values=self._signal()[self.delay + 1 :],
            ic=self.ic,
            rank_ic=expected_rank_ic(self._scale(), self._noise()),
            delay=self.delay,
        )

    def load(self) -> RawPanel:
        """Draw the market."""
        shape = (self.n_dates, self.n_assets)
        signal = self._signal()
        level = np.exp(0.25 * autoregressive(self._rng("level").standard_normal(len(signal)), 0.97))
        level = level[-self.n_dates :, None]
        absent = self._absent()
        returns = self._returns(signal[: self.n_dates], level)
        returns[absent] = 0.0
        first = 20.0 * np.exp(0.5 * self._rng("price").standard_normal(self.n_assets))
        close = first * np.cumprod(1.0 + returns, axis=0)
        position = torch.special.ndtr(torch.from_numpy(signal[self.delay + 1 :])).numpy()
        rng = self._rng("range")
        width = 1.8 * level * self._noise() * np.exp(0.3 * rng.standard_normal(shape))
        high, low = bar_extremes(close, returns, position, np.minimum(width, 0.5), self.limit)
        opens = low + (high - low) * rng.random(shape)
        values = np.stack([opens, high, low, close, self._volume(returns)], axis=-1)
        values[absent] = np.nan
        return RawPanel(
            dates=pd.bdate_range(self.start, periods=self.n_dates).as_unit("ns").to_numpy(),
            symbols=self._symbols(),
            fields=["open", "high", "low", "close", "volume"],
            values=values.astype(np.float32),
            observed=~absent,
        )

    def fingerprint(self) -> str:
        """A hash of the settings."""
        return fingerprint_of(self.describe())

    def describe(self) -> dict[str, str]:
        """The source and its settings."""
        return super().describe() | {name: repr(value) for name, value in self.settings.items()}

    # ------------------------------------------------------------------------- parts

    def _rng(self, part: str) -> np.random.Generator:
        """Each part draws from its own generator, so that a setting changes its part alone."""
        return numpy_generator(self.seed, "synthetic", part)

    def _symbols(self) -> list[str]:
        digits = len(str(self.n_assets - 1))
        return [f"S{asset:0{digits}d}" for asset in range(self.n_assets)]

    def _signal(self) -> Array:
        """``[delay + 1 + T, N]``: row t drives the return of bar t, row t + delay + 1 is in it."""
        shape = (self.delay + 1 + self.n_dates, self.n_assets)
        return autoregressive(self._rng("signal").standard_normal(shape), self.persistence)

    def _noise(self) -> Array:
        """``[N]`` the assets' own volatilities, per bar."""
        spread = self.volatility_spread * self._rng("assets").standard_normal(self.n_assets)
        shape = np.exp(spread)
        return np.asarray(self.volatility * shape / np.sqrt(np.mean(shape**2)))

    def _scale(self) -> float:
        """What one unit of signal adds to a return, for a correlation of ``ic`` in expectation."""
        return self.volatility * self.ic / math.sqrt(1.0 - self.ic**2)

    def _returns(self, signal: Array, level: Array) -> Array:
        """``[T, N]`` returns since the bar before, the signal in them."""
        rng = self._rng("returns")
        market = DRIFT + self.market_volatility * level * rng.standard_normal((self.n_dates, 1))
        own = self._scale() * signal + self._noise() * rng.standard_normal(signal.shape)
        returns = market + level * own
        if self.limit is None:
            return np.asarray(np.maximum(returns, LARGEST_LOSS))
        return returns.clip(-self.limit, self.limit)

    def _absent(self) -> npt.NDArray[np.bool_]:
        shape = (self.n_dates, self.n_assets)
        rng = self._rng("absent")
        absent = rng.random(shape) < self.missing
        return absent | suspended_bars(rng, shape, self.suspension, self.suspension_length)

    def _volume(self, returns: Array) -> Array:
        """``[T, N]`` shares, more of them on days of large moves."""
        rng = self._rng("volume")
        base = 13.0 + rng.standard_normal(self.n_assets)
        noise = 0.4 * rng.standard_normal(returns.shape)
        move = 0.3 * np.abs(returns) / self.volatility
        return np.asarray(np.round(np.exp(base + noise + move)))
