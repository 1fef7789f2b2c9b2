"""CrossSectionScores: every score of a forecast in one metric, ranked once per block."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from quantlit.functional import (
    information_ratio,
    masked_correlation,
    newey_west_lags,
    newey_west_t,
)
from quantlit.metrics.base import PerDateMetric
from quantlit.metrics.correlation import rank_ic_per_date
from quantlit.metrics.direction import hit_rate_per_date
from quantlit.metrics.quantiles import quantile_columns, quantile_returns_per_date
from quantlit.metrics.rows import DateTable

_DECILES = 10


class CrossSectionSeries(NamedTuple):
    """The per-date numbers behind the scores, on the CPU, in the order of time.

    Attributes:
        dates: ``[T]`` int64 positions on the panel's calendar, ascending, each once.
        counts: ``[T]`` int64 assets with a valid, finite forecast and label.
        ic: ``[T]`` float64, NaN where undefined; so are the following.
        rank_ic: ``[T]``.
        hit_rate: ``[T]`` in [0, 1].
        deciles: ``[T, 10]`` mean label of each bucket, a decimal return, lowest forecasts first.
    """

    dates: Tensor
    counts: Tensor
    ic: Tensor
    rank_ic: Tensor
    hit_rate: Tensor
    deciles: Tensor


class CrossSectionScores(PerDateMetric):
    """IC, rank IC, their ICIR and Newey-West t, hit rate and long-short return of one horizon.

    The same numbers as the single metrics of this package, from one state: the cross-section is
    ranked once per block, and one collective merges the ranks. :meth:`series` has the numbers per
    date.

    Args:
        min_assets: dates with fewer valid assets are excluded, and not in ``dates_used``.
        horizon: bars that a label spans; Newey-West's lag is at least ``horizon - 1``.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """``ic``, ``rank_ic``, ``hit_rate``, ``q1`` (lowest forecasts) to ``q10`` (highest)."""
        return ("ic", "rank_ic", "hit_rate", *quantile_columns(_DECILES))

    def score_dates(self, forecast: Tensor, label: Tensor, mask: Tensor) -> Tensor:
        """``[D, 13]`` values of each date."""
        ic = masked_correlation(forecast, label, mask)
        rank_ic = rank_ic_per_date(forecast, label, mask)
        hits = hit_rate_per_date(forecast, label, mask)
        deciles = quantile_returns_per_date(forecast, label, mask, _DECILES)
        return torch.cat([torch.stack([ic, rank_ic, hits], dim=1), deciles], dim=1)

    def series(self) -> CrossSectionSeries:
        """The numbers of every date. A collective call under DDP: every rank must make it.

        Raises:
            DataError: if a date was scored twice with different results.
        """
        return _as_series(self.per_date())

    def compute(self) -> dict[str, Tensor]:
        """All scores by name, on the metric's device, see :func:`summarise`."""
        scores = summarise(_as_series(self._merged()), self.horizon)
        return {name: value.to(self.device) for name, value in scores.items()}


def summarise(series: CrossSectionSeries, horizon: int = 1) -> dict[str, Tensor]:
    """The scores of a series of dates, whole or a part of it.

    Args:
        series: per-date numbers.
        horizon: bars that a label spans; Newey-West's lag is at least ``horizon - 1``.

    Returns:
        Float64 scalars ``ic``, ``icir``, ``ic_nw_t``, ``rank_ic``, ``rank_icir``,
        ``rank_ic_nw_t``, ``hit_rate``, ``long_short`` (top minus bottom decile, a decimal return;
        dates with fewer than ten assets are left out) and ``dates_used`` (dates whose rank IC is
        defined). NaN where no date serves.
    """
    scores: dict[str, Tensor] = {}
    for name, values in (("ic", series.ic), ("rank_ic", series.rank_ic)):
        used = _defined(values)
        scores[name] = used.mean()
        scores[f"{name}ir"] = information_ratio(used)
        scores[f"{name}_nw_t"] = newey_west_t(used, newey_west_lags(len(used), horizon))
        scores["dates_used"] = torch.tensor(len(used), dtype=torch.float64)
    scores["hit_rate"] = _defined(series.hit_rate).mean()
    scores["long_short"] = _defined(series.deciles[:, -1] - series.deciles[:, 0]).mean()
    return scores


def _defined(values: Tensor) -> Tensor:
    return values[torch.isfinite(values)]


def _as_series(table: DateTable) -> CrossSectionSeries:
    ic, rank_ic, hit_rate = table.values[:, :3].unbind(dim=1)
    return CrossSectionSeries(
        table.dates, table.counts, ic, rank_ic, hit_rate, deciles=table.values[:, 3:]
    )
