"""PanelBatch: the one thing that flows from the data side to the model side."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class PanelBatch(NamedTuple):
    """A block of D consecutive dates of the whole cross-section, with the W - 1 bars before it.

    Axes: L = W + D - 1 bars, W lookback window, D dates, N assets, F features, H horizons.
    A NamedTuple survives collation, pinning and the transfer to a device.

    Attributes:
        features: ``[L, N, F]`` float32, no NaN. Bar ``l`` is calendar position
            ``dates[0] - W + 1 + l``.
        observed: ``[L, N]`` bool, the bar was really seen.
        target: ``[D, N, H]`` float32 raw returns (decimal fractions), NaN where unknown or
            untradeable.
        valid: ``[D, N]`` bool: observed, in the universe, enough of the window seen. It never looks
            at the label, so the last dates get forecasts too; losses and metrics use
            ``valid & isfinite(target)``.
        weight: ``[D, N]`` float32 sample weight, ones by default.
        stamps: ``[L, 5]`` int64 minute, hour, weekday (Monday 0), day and month of each bar.
        dates: ``[D]`` int64 position on the panel's calendar; -1 in a padding block that only keeps
            the ranks in step.
        assets: ``[N]`` int64 position on the panel's asset axis.
    """

    features: Tensor
    observed: Tensor
    target: Tensor
    valid: Tensor
    weight: Tensor
    stamps: Tensor
    dates: Tensor
    assets: Tensor
