"""Transforms over the assets of one date: they need no fit, and no other date enters."""

from __future__ import annotations

import torch
from torch import Tensor

from quantlit.core import ConfigError
from quantlit.features.transforms import Transform
from quantlit.functional import masked_zscore, rank_gaussian, winsorise


class CrossSectionalZScore(Transform):
    """Per date and feature: mean 0 and population standard deviation 1 over the known assets.

    A cross-section without spread becomes 0.

    Args:
        winsorise: values are first clipped to this many standard deviations around the date's mean;
            None leaves them.

    Raises:
        ConfigError: if the band is not positive.
    """

    def __init__(self, *, winsorise: float | None = 3.0) -> None:
        super().__init__()
        if winsorise is not None and not winsorise > 0:
            raise ConfigError(
                f"CrossSectionalZScore.winsorise is {winsorise}; give a number of standard "
                "deviations above 0, or null."
            )
        self.winsorise = winsorise

    def forward(self, features: Tensor, observed: Tensor) -> Tensor:
        """``[..., N, F]`` z-scores, NaN where the input is."""
        values = features.transpose(-1, -2).contiguous()  # the asset axis last
        known = values.isfinite()
        scores = values if self.winsorise is None else winsorise(values, known, self.winsorise)
        return _restore(masked_zscore(scores, known), known)


class CrossSectionalRankGaussian(Transform):
    """Per date and feature: normal scores of average ranks, ``ndtri((rank - 0.5) / n)``.

    Robust against any outlier and any monotone change of the feature.
    """

    def forward(self, features: Tensor, observed: Tensor) -> Tensor:
        """``[..., N, F]`` normal scores, NaN where the input is."""
        values = features.transpose(-1, -2).contiguous()
        known = values.isfinite()
        return _restore(rank_gaussian(values, known), known)


def _restore(values: Tensor, known: Tensor) -> Tensor:
    """NaN back in unknown cells, and the feature axis last again."""
    return torch.where(known, values, torch.nan).transpose(-1, -2).contiguous()
