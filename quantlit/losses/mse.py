"""Squared error over the valid cells."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from quantlit.losses.base import LossTerm


class MaskedMSE(LossTerm):
    """Weighted mean squared error of each date's valid assets.

    A date's loss is ``sum_i w_i (f_i - y_i)^2 / sum_i w_i``: only the ratios of the weights within
    a date matter. Assets without a finite, positive weight are left out.

    Args:
        min_assets: dates with fewer valid assets are not used.
    """

    def __init__(self, *, min_assets: int = 1) -> None:
        super().__init__(min_assets=min_assets)

    def date_losses(
        self,
        forecast: Float[Tensor, "D H N"],
        target: Float[Tensor, "D H N"],
        mask: Bool[Tensor, "D H N"],
        weight: Float[Tensor, "D H N"],
    ) -> tuple[Float[Tensor, "D H"], Bool[Tensor, "D H"]]:
        """See :meth:`quantlit.losses.LossTerm.date_losses`."""
        keep = mask & weight.isfinite() & (weight > 0)
        weight = torch.where(keep, weight, 0.0)
        total = weight.sum(-1)
        squares = (weight * (forecast - target).square()).sum(-1)
        return squares / torch.where(total > 0, total, 1.0), keep.sum(-1) >= self.min_assets
