"""IC and rank IC per date, and the statistics of their series.

Definitions: METHOD section 2. The mean of the daily series is the IC; its information ratio (ICIR)
is mean / standard deviation (ddof = 1), not annualised, as in Qlib's ``SigAnaRecord``; Newey-West's
t allows for labels that overlap.
"""

from __future__ import annotations

import torch
from torch import Tensor

from quantlit.functional import (
    information_ratio,
    masked_correlation,
    newey_west_lags,
    newey_west_t,
    rank_correlation,
)
from quantlit.metrics.base import SeriesMetric
from quantlit.metrics.kernels import has_spread


def rank_ic_per_date(forecast: Tensor, label: Tensor, mask: Tensor) -> Tensor:
    """Correlation of each date's average ranks, taken among the valid assets only.

    NaN where fewer than two assets are valid, or where forecast or label is constant up to
    rounding: ranks alone would make an order of rounding.

    Args:
        forecast: ``[D, N]``, finite.
        label: ``[D, N]``, finite.
        mask: ``[D, N]`` bool.

    Returns:
        ``[D]`` rank ICs.
    """
    defined = has_spread(forecast, mask) & has_spread(label, mask)
    return torch.where(defined, rank_correlation(forecast, label, mask), torch.nan)


class InformationCoefficient(SeriesMetric):
    """Mean over dates of the cross-sectional correlation of forecast and label (the IC)."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column ``ic``."""
        return ("ic",)

    def score_dates(self, forecast: Tensor, label: Tensor, mask: Tensor) -> Tensor:
        """``[D, 1]`` IC of each date."""
        return masked_correlation(forecast, label, mask)[:, None]


class RankInformationCoefficient(SeriesMetric):
    """Mean over dates of the cross-sectional rank correlation of forecast and label (rank IC)."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column ``rank_ic``."""
        return ("rank_ic",)

    def score_dates(self, forecast: Tensor, label: Tensor, mask: Tensor) -> Tensor:
        """``[D, 1]`` rank IC of each date."""
        return rank_ic_per_date(forecast, label, mask)[:, None]


class ICIR(InformationCoefficient):
    """Information ratio of the daily IC: mean / standard deviation (ddof = 1), not annualised."""

    def statistic(self, values: Tensor) -> Tensor:
        """Mean over standard deviation; NaN for fewer than two dates."""
        return information_ratio(values)


class RankICIR(RankInformationCoefficient):
    """Information ratio of the daily rank IC: mean / standard deviation (ddof = 1)."""

    def statistic(self, values: Tensor) -> Tensor:
        """Mean over standard deviation; NaN for fewer than two dates."""
        return information_ratio(values)


class NeweyWestT(InformationCoefficient):
    """Newey-West t of the mean IC; the lag is at least ``horizon - 1``."""

    def statistic(self, values: Tensor) -> Tensor:
        """The t value; NaN for fewer than two dates."""
        return newey_west_t(values, newey_west_lags(len(values), self.horizon))


class RankNeweyWestT(RankInformationCoefficient):
    """Newey-West t of the mean rank IC; the lag is at least ``horizon - 1``."""

    def statistic(self, values: Tensor) -> Tensor:
        """The t value; NaN for fewer than two dates."""
        return newey_west_t(values, newey_west_lags(len(values), self.horizon))
