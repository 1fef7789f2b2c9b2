"""LossTerm: what every loss on a block of cross-sections has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from quantlit.core import ConfigError
from quantlit.functional.masked import widen


class TermOutput(NamedTuple):
    """A loss term's value on a block, and the dates that it could use.

    Attributes:
        value: scalar, ready for ``backward``.
        used: ``[D, H]`` bool; a date that is not used adds zero to the value and to the gradient.
    """

    value: Tensor
    used: Tensor


class LossTerm(nn.Module, ABC):
    """A loss that is a mean over a date's valid assets, summed over dates and divided by D.

    D is the block's number of dates, not the number of dates that could be used: blocks of equal
    D then average exactly over processes and accumulated steps, with no collective. Horizons are
    averaged. Everything runs in at least float32 with autocast off.

    Subclasses write :meth:`date_losses`.

    Args:
        min_assets: dates with fewer valid assets are not used.

    Raises:
        ConfigError: if ``min_assets`` is below one.
    """

    def __init__(self, *, min_assets: int) -> None:
        super().__init__()
        if min_assets < 1:
            raise ConfigError(
                f"{type(self).__name__} needs min_assets of at least 1, got {min_assets}."
            )
        self.min_assets = min_assets

    @abstractmethod
    def date_losses(
        self,
        forecast: Float[Tensor, "D H N"],
        target: Float[Tensor, "D H N"],
        mask: Bool[Tensor, "D H N"],
        weight: Float[Tensor, "D H N"],
    ) -> tuple[Float[Tensor, "D H"], Bool[Tensor, "D H"]]:
        """Loss of each date and horizon, and which of them count; the assets are the last axis.

        Both sides are finite wherever ``mask`` is true, and zero elsewhere. A date that does not
        count may have any value, but its gradient must not be NaN.
        """

    def evaluate(
        self,
        forecast: Float[Tensor, "D N H"],
        target: Float[Tensor, "D N H"],
        mask: Bool[Tensor, "D N H"],
        weight: Float[Tensor, "D N"],
    ) -> TermOutput:
        """:meth:`forward`'s value together with the dates that it used."""
        with torch.autocast(forecast.device.type, enabled=False):
            keep = mask & forecast.isfinite() & target.isfinite()
            forecast = torch.where(keep, widen(forecast), 0.0).movedim(-1, -2)
            target = torch.where(keep, widen(target), 0.0).movedim(-1, -2)
            weights = widen(weight).unsqueeze(-2).expand_as(forecast)
            losses, used = self.date_losses(forecast, target, keep.movedim(-1, -2), weights)
            return TermOutput(torch.where(used, losses, 0.0).sum() / used.numel(), used)

    def forward(
        self,
        forecast: Float[Tensor, "D N H"],
        target: Float[Tensor, "D N H"],
        mask: Bool[Tensor, "D N H"],
        weight: Float[Tensor, "D N"],
    ) -> Float[Tensor, ""]:
        """Loss of one block.

        Args:
            forecast: ``[D, N, H]`` scores; cells that are not finite are left out.
            target: ``[D, N, H]`` standardised labels.
            mask: ``[D, N, H]`` which cells count.
            weight: ``[D, N]`` sample weights.
        """
        return self.evaluate(forecast, target, mask, weight).value

    def extra_repr(self) -> str:
        """The settings, as modules print them."""
        return f"min_assets={self.min_assets}"
