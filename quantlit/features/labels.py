"""Labels: forward returns at prices that could be traded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from quantlit.core import ConfigError
from quantlit.features.bars import lag
from quantlit.features.kernels import last_seen
from quantlit.panel import Panel

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class LabelSpec:
    """How a date's label is made: ``price[t + delay + h] / price[t + delay] - 1``.

    Args:
        horizons: bars held, one label for each; H is its length.
        delay: bars between the decision at the close of t and the entry. 1, the default, is the
            first price that the decision can reach; 0 enters at the very close that it was made
            from, and is only for comparing with published close-to-close figures.
        clip: labels are clipped to plus or minus this return; None leaves them.
        standardise: how the task puts labels on one scale per date before the loss. Batches and
            prediction tables carry raw returns.
        price: the panel field, adjusted, at which the position is entered and left.
        limit: size of the entry bar's own return from which it counts as locked at its price limit
            and the label as untradeable. Limit prices are rounded to ticks, so give a little less
            than the rule says: 0.098 for 10 %. None where there are no limits.

    Raises:
        ConfigError: if a value is impossible.
    """

    horizons: list[int] = field(default_factory=lambda: [1])
    delay: int = 1
    clip: float | None = None
    standardise: Literal["zscore", "rank_gaussian", "raw"] = "zscore"
    price: str = "close"
    limit: float | None = None

    def __post_init__(self) -> None:
        if not self.horizons or min(self.horizons) < 1:
            raise ConfigError(f"label.horizons is {self.horizons}; give numbers of bars >= 1.")
        if len(set(self.horizons)) != len(self.horizons):
            raise ConfigError(f"label.horizons is {self.horizons}; give each horizon once.")
        if self.delay < 0:
            raise ConfigError(
                f"label.delay is {self.delay}; a negative delay enters before the decision. "
                "Give 1 (or 0 for research on closes)."
            )
        for name, value in (("clip", self.clip), ("limit", self.limit)):
            if value is not None and not value > 0:
                raise ConfigError(f"label.{name} is {value}; give a return above 0, or null.")

    @property
    def span(self) -> int:
        """Bars from a decision to the end of its longest label, ``delay + max(horizons)``."""
        return self.delay + max(self.horizons)

    def label_end(self, position: int) -> int:
        """Calendar position at which the longest label of a decision date is known."""
        return position + self.span


def forward_returns(panel: Panel, spec: LabelSpec) -> npt.NDArray[np.float32]:
    """The labels of every date, computed on the full calendar before any row is left out.

    Args:
        panel: the store, prices adjusted.
        spec: horizons, delay and what is untradeable.

    Returns:
        ``[T, N, H]`` float32 decimal returns; NaN where the entry or the exit bar was not observed,
        has no positive price, lies past the end of the panel, or the entry is locked at its limit.
    """
    prices = panel.field(spec.price).astype(np.float64)
    prices[~(panel.observed & (prices > 0) & np.isfinite(prices))] = np.nan
    entry = prices if spec.limit is None else _unlocked(prices, spec.limit)
    n_dates, n_assets = prices.shape
    labels = np.full((n_dates, n_assets, len(spec.horizons)), np.nan, dtype=np.float32)
    for column, horizon in enumerate(spec.horizons):
        known = n_dates - spec.delay - horizon
        if known > 0:
            exits = prices[spec.delay + horizon :]
            returns = exits / entry[spec.delay : spec.delay + known] - 1.0
            if spec.clip is not None:
                returns = returns.clip(-spec.clip, spec.clip)
            labels[:known, :, column] = returns
    return labels


def _unlocked(prices: Array, limit: float) -> Array:
    """Prices with NaN where a bar's own return from the last price before it is at the limit."""
    own = prices / lag(last_seen(prices, len(prices)), 1) - 1.0
    return np.where(np.abs(own) >= limit - 1e-6, np.nan, prices)
