"""Imputer: unknown features from the recent past, then from the rest of the market, then 0."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from quantlit.core import ConfigError
from quantlit.features.transforms import Transform


class Imputer(Transform):
    """Fills unknown values, without a fit and without a look at later bars.

    First the asset's own last known value, at most ``max_age`` bars old; then the median over the
    assets whose value is known on that very bar; then 0. Put it last: what stands after it cannot
    tell filled values from known ones.

    Args:
        max_age: oldest age in bars of a value that is carried forward; 0 carries none.
        flag: append a feature ``<name>_missing`` for each feature, 1 where the value was filled.

    Raises:
        ConfigError: if the age is negative.
    """

    def __init__(self, *, max_age: int = 5, flag: bool = False) -> None:
        super().__init__()
        if max_age < 0:
            raise ConfigError(f"Imputer.max_age is {max_age}; give a number of bars >= 0.")
        self.max_age = max_age
        self.flag = flag

    @property
    def lookback(self) -> int:
        """The oldest age that is carried forward."""
        return self.max_age

    def output_names(self, names: Sequence[str]) -> list[str]:
        """The names, followed by those of the flags if there are any."""
        return [*names, *(f"{name}_missing" for name in names if self.flag)]

    def forward(self, features: Tensor, observed: Tensor) -> Tensor:
        """``[..., L, N, F]`` without NaN, or ``[..., L, N, 2 F]`` with flags."""
        unknown = ~features.isfinite()
        known = features.masked_fill(unknown, torch.nan)
        filled = known
        age = 0
        while age < self.max_age:  # fills of up to age + 1 bars, from bars filled up to age
            step = min(age + 1, self.max_age - age)
            filled = torch.where(filled.isnan(), _lag(filled, step), filled)
            age += step
        filled = torch.where(filled.isnan(), cross_sectional_median(known), filled)
        filled = torch.where(filled.isnan(), 0.0, filled)
        return torch.cat([filled, unknown.to(filled.dtype)], dim=-1) if self.flag else filled


def cross_sectional_median(features: Tensor) -> Tensor:
    """Median over the assets known on each bar; NaN where none is.

    Args:
        features: ``[..., N, F]``, NaN where unknown.

    Returns:
        ``[..., 1, F]``, the mean of the two middle values where their number is even.
    """
    values = features.transpose(-1, -2).contiguous()
    lower, upper = values.nanmedian(-1).values, -(-values).nanmedian(-1).values
    return ((lower + upper) / 2).unsqueeze(-2)


def _lag(features: Tensor, bars: int) -> Tensor:
    """``features [..., L, N, F]`` of so many bars ago; NaN in the first bars."""
    length = features.shape[-3]
    bars = min(bars, length)
    first = torch.full_like(features[..., :bars, :, :], torch.nan)
    return torch.cat([first, features[..., : length - bars, :, :]], dim=-3)
