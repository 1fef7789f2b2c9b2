"""One minus the correlation of forecasts with labels, or with the labels' ranks."""

from __future__ import annotations

from abc import abstractmethod

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from quantlit.core import ConfigError
from quantlit.functional import average_ranks
from quantlit.functional.correlation import clean_correlation
from quantlit.losses.base import LossTerm


class CorrelationTerm(LossTerm):
    """Base of the terms ``1 - correlation`` of one date, which ignore sample weights.

    A date is used if it has ``min_assets`` valid assets and both sides have spread: a date of
    constant forecasts or labels has no correlation, and adds neither loss nor gradient.

    Args:
        min_assets: dates with fewer valid assets are not used; at least 2.

    Raises:
        ConfigError: if ``min_assets`` is below two.
    """

    def __init__(self, *, min_assets: int = 5) -> None:
        super().__init__(min_assets=min_assets)
        if min_assets < 2:
            raise ConfigError(
                f"{type(self).__name__} needs min_assets of at least 2, got {min_assets}: one "
                "asset has no correlation."
            )

    @abstractmethod
    def correlations(
        self,
        forecast: Float[Tensor, "D H N"],
        target: Float[Tensor, "D H N"],
        mask: Bool[Tensor, "D H N"],
    ) -> Float[Tensor, "D H"]:
        """Correlation of each date and horizon, NaN where there is none."""

    def date_losses(
        self,
        forecast: Float[Tensor, "D H N"],
        target: Float[Tensor, "D H N"],
        mask: Bool[Tensor, "D H N"],
        weight: Float[Tensor, "D H N"],
    ) -> tuple[Float[Tensor, "D H"], Bool[Tensor, "D H"]]:
        """See :meth:`quantlit.losses.LossTerm.date_losses`."""
        correlation = self.correlations(forecast, target, mask)
        used = (mask.sum(-1) >= self.min_assets) & correlation.isfinite()
        return torch.where(used, 1 - correlation, 0.0), used


class PearsonLoss(CorrelationTerm):
    """``1 - IC``: one minus the Pearson correlation of forecasts with labels.

    Args:
        min_assets: dates with fewer valid assets are not used; at least 2.
    """

    def correlations(
        self,
        forecast: Float[Tensor, "D H N"],
        target: Float[Tensor, "D H N"],
        mask: Bool[Tensor, "D H N"],
    ) -> Float[Tensor, "D H"]:
        """Pearson correlations ``[D, H]``."""
        return clean_correlation(forecast, target, mask)


class RankPearsonLoss(CorrelationTerm):
    """One minus the Pearson correlation of forecasts with the exact average ranks of the labels.

    Args:
        min_assets: dates with fewer valid assets are not used; at least 2.
    """

    def correlations(
        self,
        forecast: Float[Tensor, "D H N"],
        target: Float[Tensor, "D H N"],
        mask: Bool[Tensor, "D H N"],
    ) -> Float[Tensor, "D H"]:
        """Pearson correlations with ranks ``[D, H]``."""
        return clean_correlation(forecast, average_ranks(target, mask), mask)
