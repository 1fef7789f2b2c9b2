"""PerDateMetric: the torchmetrics base whose state is one row per date."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor
from torchmetrics import Metric

from quantlit.core import ConfigError
from quantlit.metrics.rows import DateSeries, DateTable, merge_rows


class PerDateMetric(Metric):
    """Scores every date's cross-section by itself, and keeps one row per date.

    A date is atomic, so rows of different ranks are only concatenated: under DDP the result is
    exactly that of one process, whatever each rank's number of dates. ``update`` does not look at
    any value on the host, so it never waits for the device.

    Args:
        min_assets: dates with fewer valid assets than this have no value; they are excluded from
            means and standard deviations.
        horizon: bars that a label spans; sets the least lag of Newey-West statistics.

    Raises:
        ConfigError: if an argument is not positive.
    """

    full_state_update: bool = False
    is_differentiable: bool = False
    higher_is_better: bool = True

    def __init__(self, *, min_assets: int = 5, horizon: int = 1) -> None:
        super().__init__()
        if min_assets < 1 or horizon < 1:
            raise ConfigError(
                f"min_assets and horizon must be 1 or more, not {min_assets} and {horizon}."
            )
        self.min_assets = min_assets
        self.horizon = horizon
        # One flat float64 state, so that one collective merges it and a rank without any update
        # (an empty vector of the metric's dtype) fits in. Its name says what the values are:
        # MetricCollection shares the states of metrics that have equal names and first values.
        self._state = "rows_" + "_".join(self.columns)
        self.add_state(self._state, default=[], dist_reduce_fx="cat")
        self.set_dtype(torch.float64)

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Names of the K values that a date has."""

    @abstractmethod
    def score_dates(self, forecast: Tensor, label: Tensor, mask: Tensor) -> Tensor:
        """``[D, K]`` values of D dates, NaN where undefined.

        Args:
            forecast: ``[D, N]`` float64, finite, 0 where masked.
            label: ``[D, N]`` float64, finite, 0 where masked.
            mask: ``[D, N]`` bool, assets that count.
        """

    def update(self, forecast: Tensor, label: Tensor, mask: Tensor, dates: Tensor) -> None:
        """Score a block of whole cross-sections.

        Args:
            forecast: ``[D, N]`` scores; a NaN or infinite one leaves its asset out.
            label: ``[D, N]`` raw returns, NaN where unknown.
            mask: ``[D, N]`` bool, valid assets, whether or not their label is known.
            dates: ``[D]`` int64 calendar positions; rows of negative ones are padding.

        Raises:
            ValueError: if the shapes do not fit together.
        """
        _check_shapes(forecast, label, mask, dates)
        used = mask & torch.isfinite(forecast) & torch.isfinite(label)
        values = self.score_dates(
            torch.where(used, forecast, 0).double(), torch.where(used, label, 0).double(), used
        )
        row = torch.cat([dates.double()[:, None], used.sum(dim=1).double()[:, None], values], dim=1)
        getattr(self, self._state).append(row.flatten())

    def per_date(self) -> DateTable:
        """All dates seen so far, on every rank, in the order of time, on the CPU.

        Under DDP this is a collective call: every rank must make it.

        Raises:
            DataError: if a date was scored twice with different results.
        """
        with self.sync_context(should_sync=self._to_sync):
            return self._merged()

    def _merged(self) -> DateTable:
        """The table of the (already synchronised) state."""
        state = getattr(self, self._state)
        parts = [state] if isinstance(state, Tensor) else state
        width = 2 + len(self.columns)
        rows = torch.cat([*parts, torch.empty(0, dtype=torch.float64, device=self.device)])
        table = merge_rows(rows.view(-1, width).cpu(), self.columns)
        enough = table.counts >= self.min_assets
        return table._replace(values=torch.where(enough[:, None], table.values, torch.nan))


class SeriesMetric(PerDateMetric):
    """A per-date metric with one column, whose result is one statistic of its series."""

    def series(self) -> DateSeries:
        """The value of every date, on the CPU. A collective call under DDP."""
        return self.per_date().series(self.columns[0])

    def compute(self) -> Tensor:
        """The statistic, a float64 scalar; NaN where there are too few dates for it."""
        table = self._merged()
        return self.statistic(table.series(self.columns[0]).used()).to(self.device)

    def statistic(self, values: Tensor) -> Tensor:
        """What is made of ``[U]`` defined values; the mean unless a subclass says otherwise."""
        return values.mean()


def _check_shapes(forecast: Tensor, label: Tensor, mask: Tensor, dates: Tensor) -> None:
    fits = forecast.ndim == 2 and forecast.shape == label.shape == mask.shape
    if not fits or dates.shape != forecast.shape[:1] or mask.dtype != torch.bool:
        raise ValueError(
            "update needs forecast, label and boolean mask of one shape [D, N] and dates [D], not "
            f"{list(forecast.shape)}, {list(label.shape)}, {list(mask.shape)} ({mask.dtype}) and "
            f"{list(dates.shape)}. Give one horizon at a time."
        )
