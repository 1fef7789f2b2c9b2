"""Assemble a panel's features, labels, masks and weights into the tensors that blocks view."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from quantlit.datamodules.dataset import PanelTensors
from quantlit.features import LabelSpec, SampleWeight, forward_returns
from quantlit.panel import Panel


def assemble(
    panel: Panel,
    make_features: Callable[[], Tensor],
    *,
    label: LabelSpec,
    weight: SampleWeight | None,
    universe: str | None,
    window: int,
    min_observed: float,
) -> PanelTensors:
    """All tensors of a panel, aligned on its calendar and assets.

    Args:
        panel: the store.
        make_features: returns ``[T, N, F]`` float32, finite, C-contiguous; called last, so that the
            largest array never shares memory with the working space of the others.
        label: how targets are made.
        weight: sample weights; None for ones (an expanded view that takes no memory).
        universe: a panel field that is positive where an asset belongs to the universe.
        window: W, the lookback in bars.
        min_observed: share of the window that must have been observed.
    """
    observed = torch.from_numpy(np.array(panel.observed))
    valid = observed & (observed_share(observed, window) >= min_observed)
    if universe is not None:
        valid &= torch.from_numpy(np.nan_to_num(panel.field(universe)) > 0)
    weights = (
        torch.ones(()).expand(observed.shape)
        if weight is None
        else torch.from_numpy(weight.compute(panel))
    )
    target = torch.from_numpy(forward_returns(panel, label))
    return PanelTensors(
        features=make_features(),
        observed=observed,
        target=target,
        valid=valid,
        weight=weights,
        stamps=torch.from_numpy(np.array(panel.stamps)),
        dates=torch.arange(len(observed)),
        assets=torch.arange(observed.shape[1]),
    )


def observed_share(observed: Tensor, window: int) -> Tensor:
    """Share of the window ending at each bar that was observed.

    Args:
        observed: ``[T, N]`` bool.
        window: W; bars before the panel's first count as not observed.

    Returns:
        ``[T, N]`` float32 in [0, 1].
    """
    counts = observed.cumsum(0, dtype=torch.int32)
    counts[window:] -= counts[:-window].clone()
    return counts / window
