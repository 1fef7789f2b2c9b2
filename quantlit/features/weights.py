"""Sample weights: how much each asset of a date counts in the loss."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from quantlit.core import ConfigError
from quantlit.features.bars import Bars
from quantlit.features.kernels import rolling_std
from quantlit.panel import Panel


class SampleWeight(ABC):
    """Gives every bar and asset a weight, from nothing later than that bar."""

    @abstractmethod
    def compute(self, panel: Panel) -> npt.NDArray[np.float32]:
        """``[T, N]`` float32 weights, positive and finite, with mean 1 over a date's assets."""


class InverseVolatility(SampleWeight):
    """Weights proportional to 1 / volatility, so that calm assets count as much as wild ones.

    The volatility is the sample standard deviation of the last ``window`` one-bar returns, the
    present one included. Where it is unknown or zero the date's median weight is taken.

    Args:
        window: bars in the window.
        limit: weights stay within ``1 / limit`` and ``limit`` times the date's median.

    Raises:
        ConfigError: if the window is below 2 or the limit below 1.
    """

    def __init__(self, *, window: int = 20, limit: float = 5.0) -> None:
        if window < 2 or limit < 1:
            raise ConfigError(
                f"InverseVolatility has window {window} and limit {limit}; "
                "give a window of at least 2 and a limit of at least 1."
            )
        self.window = window
        self.limit = limit

    def compute(self, panel: Panel) -> npt.NDArray[np.float32]:
        """``[T, N]`` float32 weights with mean 1 over the observed assets of each date."""
        bars = Bars({"close": panel.field("close")}, panel.observed)
        volatility = rolling_std(bars.returns, self.window, max(2, (self.window + 1) // 2))
        known = bars.observed & (volatility > 0)
        inverse = np.divide(1.0, volatility, where=known, out=np.full(known.shape, np.nan))
        inverse[~known.any(axis=1)] = 1.0  # a date without any known volatility
        relative = inverse / np.nanmedian(inverse, axis=1, keepdims=True)
        relative = np.where(np.isfinite(relative), relative, 1.0)
        relative = relative.clip(1.0 / self.limit, self.limit)
        counts = bars.observed.sum(axis=1, keepdims=True)
        mean = np.where(bars.observed, relative, 0.0).sum(axis=1, keepdims=True) / counts.clip(1)
        return (relative / np.where(counts > 0, mean, 1.0)).astype(np.float32)
