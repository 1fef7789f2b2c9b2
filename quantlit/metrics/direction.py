"""How often a forecast is on the right side of the market's median."""

from __future__ import annotations

import torch
from torch import Tensor

from quantlit.metrics.base import SeriesMetric
from quantlit.metrics.kernels import has_spread, hit_rates


def hit_rate_per_date(forecast: Tensor, label: Tensor, mask: Tensor) -> Tensor:
    """``[D]`` hit rates, NaN where the forecast is constant up to rounding.

    Arguments as in :func:`quantlit.metrics.kernels.hit_rates`.
    """
    rates = hit_rates(forecast, label, mask)
    return torch.where(has_spread(forecast, mask), rates, torch.nan)


class HitRate(SeriesMetric):
    """Mean over dates of the share of assets with sign(forecast - median) = sign(label - median).

    Assets at a median are left out. It is cross-sectional: a market that rises as a whole scores
    nothing.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column ``hit_rate``."""
        return ("hit_rate",)

    def score_dates(self, forecast: Tensor, label: Tensor, mask: Tensor) -> Tensor:
        """``[D, 1]`` hit rate of each date."""
        return hit_rate_per_date(forecast, label, mask)[:, None]
