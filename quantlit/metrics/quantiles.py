"""Returns of portfolios sorted by forecast: every bucket's, and top minus bottom."""

from __future__ import annotations

import torch
from torch import Tensor

from quantlit.core import ConfigError
from quantlit.metrics.base import PerDateMetric
from quantlit.metrics.kernels import has_spread, quantile_returns


def quantile_columns(n_quantiles: int) -> tuple[str, ...]:
    """Names of the buckets, the lowest forecasts first.

    Raises:
        ConfigError: if there are fewer than two.

    >>> quantile_columns(3)
    ('q1', 'q2', 'q3')
    """
    if n_quantiles < 2:
        raise ConfigError(f"n_quantiles must be 2 or more, not {n_quantiles}.")
    return tuple(f"q{number}" for number in range(1, n_quantiles + 1))


def quantile_returns_per_date(
    forecast: Tensor, label: Tensor, mask: Tensor, n_quantiles: int
) -> Tensor:
    """``[D, Q]`` bucket means, NaN where the forecast is constant up to rounding.

    Arguments as in :func:`quantlit.metrics.kernels.quantile_returns`.
    """
    means = quantile_returns(forecast, label, mask, n_quantiles)
    return torch.where(has_spread(forecast, mask)[:, None], means, torch.nan)


class QuantileReturns(PerDateMetric):
    """Mean label of each bucket of the cross-section by forecast: ``[Q]``, the lowest first.

    Every date weighs the same; dates with fewer assets than buckets are excluded. Labels are not
    demeaned (alphalens demeans first).

    Args:
        n_quantiles: Q, the number of buckets.
        min_assets: dates with fewer valid assets are excluded.
        horizon: bars that a label spans.
    """

    def __init__(self, *, n_quantiles: int = 10, min_assets: int = 5, horizon: int = 1) -> None:
        self._columns = quantile_columns(n_quantiles)
        super().__init__(min_assets=min_assets, horizon=horizon)

    @property
    def columns(self) -> tuple[str, ...]:
        """``q1`` (lowest forecasts) to ``qQ`` (highest)."""
        return self._columns

    def score_dates(self, forecast: Tensor, label: Tensor, mask: Tensor) -> Tensor:
        """``[D, Q]`` mean label of each bucket of each date."""
        return quantile_returns_per_date(forecast, label, mask, len(self._columns))

    def compute(self) -> Tensor:
        """``[Q]`` mean over the dates that have all buckets; NaN if there is none."""
        return self._defined().mean(dim=0).to(self.device)

    def _defined(self) -> Tensor:
        values = self._merged().values
        return values[torch.isfinite(values).all(dim=1)]


class LongShort(QuantileReturns):
    """Mean over dates of the top bucket's mean label minus the bottom's, a decimal return.

    It is the full spread; Qlib's report halves it.
    """

    def compute(self) -> Tensor:
        """The mean spread, a scalar; NaN if no date has all buckets."""
        values = self._defined()
        return (values[:, -1] - values[:, 0]).mean().to(self.device)
