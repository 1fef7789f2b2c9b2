"""One minus the Spearman correlation, made differentiable by soft ranks of the forecasts."""

from __future__ import annotations

import math
from abc import abstractmethod

from jaxtyping import Bool, Float
from torch import Tensor

from quantlit.core import ConfigError
from quantlit.functional import average_ranks, laplace_ranks, sigmoid_ranks
from quantlit.functional.correlation import clean_correlation
from quantlit.functional.masked import clean_zscore
from quantlit.losses.correlation import CorrelationTerm


class SoftRankTerm(CorrelationTerm):
    """Base of the soft Spearman terms.

    Forecasts are z-scored per date, so the temperature is in cross-sectional standard deviations
    and neither the scale nor the level of the forecasts matters; then they get soft ranks, which
    are correlated with the labels' exact average ranks. Only forecasts get a gradient. Sample
    weights are ignored.

    Args:
        temperature: width of the soft comparison in standard deviations of the date's forecasts;
            0.1 to 0.3 is near the exact rank, with a gradient from the neighbours.
        min_assets: dates with fewer valid assets are not used; at least 2.

    Raises:
        ConfigError: if the temperature is not a positive number, or ``min_assets`` below two.
    """

    def __init__(self, *, temperature: float = 0.2, min_assets: int = 5) -> None:
        super().__init__(min_assets=min_assets)
        if not 0 < temperature < math.inf:
            raise ConfigError(
                f"{type(self).__name__} needs a temperature above zero, got {temperature}; it is "
                "in standard deviations of a date's forecasts, 0.1 to 0.3 is usual."
            )
        self.temperature = temperature

    @abstractmethod
    def soft_ranks(
        self, scores: Float[Tensor, "D H N"], mask: Bool[Tensor, "D H N"]
    ) -> Float[Tensor, "D H N"]:
        """Differentiable ranks of z-scored forecasts."""

    def correlations(
        self,
        forecast: Float[Tensor, "D H N"],
        target: Float[Tensor, "D H N"],
        mask: Bool[Tensor, "D H N"],
    ) -> Float[Tensor, "D H"]:
        """Soft Spearman correlations ``[D, H]``."""
        scores, _ = clean_zscore(forecast, mask)
        ranks = self.soft_ranks(scores, mask)
        return clean_correlation(ranks, average_ranks(target, mask), mask)

    def extra_repr(self) -> str:
        """The settings, as modules print them."""
        return f"temperature={self.temperature}, {super().extra_repr()}"


class SoftSpearmanLoss(SoftRankTerm):
    """One minus the Spearman correlation, with Laplace soft ranks (LapSum, ICML 2025).

    O(N log N) in time and O(N) in memory; the rank loss to use. See
    :func:`quantlit.functional.laplace_ranks`.

    Args:
        temperature: width of the soft comparison in standard deviations of the date's forecasts;
            0.1 to 0.3 is near the exact rank, with a gradient from the neighbours.
        min_assets: dates with fewer valid assets are not used; at least 2.
    """

    def soft_ranks(
        self, scores: Float[Tensor, "D H N"], mask: Bool[Tensor, "D H N"]
    ) -> Float[Tensor, "D H N"]:
        """Laplace ranks of z-scored forecasts."""
        return laplace_ranks(scores, mask, self.temperature)


class SigmoidSpearmanLoss(SoftRankTerm):
    """One minus the Spearman correlation, with sigmoid soft ranks: O(N^2), for comparison.

    Args:
        temperature: width of the soft comparison in standard deviations of the date's forecasts.
        min_assets: dates with fewer valid assets are not used; at least 2.
    """

    def soft_ranks(
        self, scores: Float[Tensor, "D H N"], mask: Bool[Tensor, "D H N"]
    ) -> Float[Tensor, "D H N"]:
        """Sigmoid ranks of z-scored forecasts."""
        return sigmoid_ranks(scores, mask, self.temperature)
