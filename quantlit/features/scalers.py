"""Scalers fitted on the train dates, each feature pooled over dates and assets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from quantlit.core import ConfigError
from quantlit.features.transforms import FitRange, FittedTransform

MAD_TO_STD = 1.4826022185056018
"""Standard deviation of a normal variable over its median absolute deviation."""


class RobustZScore(FittedTransform):
    """``(x - median) / (1.4826 MAD)`` with the median and the deviation of the train dates.

    A feature whose MAD is zero (more than half of its values equal) is divided by its standard
    deviation instead, and by 1 if that is zero too. A feature never seen in training stays unknown.

    Args:
        clip: scores are clipped to plus or minus this value; None leaves them.

    Raises:
        ConfigError: if the clip is not positive.
    """

    median: Tensor
    scale: Tensor

    def __init__(self, *, clip: float | None = 3.0) -> None:
        super().__init__()
        if clip is not None and not clip > 0:
            raise ConfigError(f"RobustZScore.clip is {clip}; give a number above 0, or null.")
        self.clip = clip
        self.register_buffer("median", torch.empty(0))
        self.register_buffer("scale", torch.empty(0))

    def _fit(
        self,
        features: npt.NDArray[np.float32],
        observed: npt.NDArray[np.bool_],
        fit_range: FitRange,
    ) -> None:
        statistics = [_robust(values) for values in _pooled(features)]
        self.median = torch.tensor([median for median, _ in statistics])
        self.scale = torch.tensor([scale for _, scale in statistics])

    def forward(self, features: Tensor, observed: Tensor) -> Tensor:
        """``[..., F]`` scores, NaN where the input is."""
        self.check_fitted()
        scores = (features - self.median) / self.scale
        return scores if self.clip is None else scores.clamp(-self.clip, self.clip)


class Winsorise(FittedTransform):
    """Clips each feature to two quantiles of the train dates.

    Args:
        lower: probability of the lower quantile.
        upper: probability of the upper one.

    Raises:
        ConfigError: unless ``0 <= lower < upper <= 1``.
    """

    low: Tensor
    high: Tensor

    def __init__(self, *, lower: float = 0.01, upper: float = 0.99) -> None:
        super().__init__()
        if not 0.0 <= lower < upper <= 1.0:
            raise ConfigError(
                f"Winsorise has lower {lower} and upper {upper}; "
                "give probabilities with 0 <= lower < upper <= 1."
            )
        self.lower = lower
        self.upper = upper
        self.register_buffer("low", torch.empty(0))
        self.register_buffer("high", torch.empty(0))

    def _fit(
        self,
        features: npt.NDArray[np.float32],
        observed: npt.NDArray[np.bool_],
        fit_range: FitRange,
    ) -> None:
        bounds = [
            np.quantile(values, [self.lower, self.upper]) if len(values) else (np.nan, np.nan)
            for values in _pooled(features)
        ]
        self.low = torch.tensor([float(low) for low, _ in bounds])
        self.high = torch.tensor([float(high) for _, high in bounds])

    def forward(self, features: Tensor, observed: Tensor) -> Tensor:
        """``[..., F]`` clipped values, NaN where the input is."""
        self.check_fitted()
        return features.clamp(self.low, self.high)


def _pooled(features: npt.NDArray[np.float32]) -> Iterator[npt.NDArray[np.float32]]:
    """The known values of one feature after the other, all dates and assets together."""
    for column in range(features.shape[-1]):
        values = features[..., column]
        yield values[np.isfinite(values)]


def _robust(values: npt.NDArray[np.float32]) -> tuple[float, float]:
    """Median and scale of a feature's known values; NaN if there are none."""
    if not len(values):
        return float("nan"), float("nan")
    median = float(np.median(values))
    scale = MAD_TO_STD * float(np.median(np.abs(values - np.float32(median))))
    return median, scale or float(values.std(dtype=np.float64)) or 1.0
