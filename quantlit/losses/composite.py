"""CompositeLoss: a weighted sum of named terms, each of them visible."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from quantlit.core import ConfigError
from quantlit.losses.base import LossTerm

RESERVED_NAMES = ("loss", "total")


class LossOutput(NamedTuple):
    """A composite loss on one block.

    Attributes:
        total: scalar weighted sum, ready for ``backward``.
        terms: each term's value by its name, without its weight, detached.
        dates_used: scalar, how many of the block's dates every term could use, averaged over the
            horizons.
    """

    total: Tensor
    terms: dict[str, Tensor]
    dates_used: Tensor


@dataclass(frozen=True)
class WeightedTerm:
    """A loss term and its weight in the sum.

    Attributes:
        weight: factor of the term, zero or above; a term of weight zero is computed for the log
            only.
        loss: the term.
    """

    weight: float
    loss: LossTerm


class CompositeLoss(nn.Module):
    """Weighted sum of named loss terms.

    Args:
        terms: the terms by name, e.g. 0.7 ``mse`` and 0.3 ``rank``. The names appear in the logs.

    Raises:
        ConfigError: if there is no term, a name is not a plain word, or a weight is negative, not
            finite, or zero for all.
    """

    def __init__(self, *, terms: dict[str, WeightedTerm]) -> None:
        super().__init__()
        _check(terms)
        self.weights = {name: term.weight for name, term in terms.items()}
        self.terms = nn.ModuleDict({name: term.loss for name, term in terms.items()})

    @property
    def term_names(self) -> tuple[str, ...]:
        """Names of the terms, in order."""
        return tuple(self.weights)

    def forward(
        self,
        forecast: Float[Tensor, "D N H"],
        target: Float[Tensor, "D N H"],
        mask: Bool[Tensor, "D N H"],
        weight: Float[Tensor, "D N"],
    ) -> LossOutput:
        """Loss of one block.

        Forecasts that are not finite are left out cell by cell, but where *no* valid cell of the
        block has a finite one the total is NaN: a broken model must not look perfect.

        Args:
            forecast: ``[D, N, H]`` scores.
            target: ``[D, N, H]`` standardised labels.
            mask: ``[D, N, H]`` which cells count.
            weight: ``[D, N]`` sample weights.
        """
        total = torch.zeros((), device=forecast.device)
        values: dict[str, Tensor] = {}
        used = torch.ones(mask.shape[0], mask.shape[2], dtype=torch.bool, device=mask.device)
        for name, factor in self.weights.items():
            term = cast(LossTerm, self.terms[name])
            with torch.set_grad_enabled(torch.is_grad_enabled() and factor > 0):
                output = term.evaluate(forecast, target, mask, weight)
            if factor > 0:
                total = total + factor * output.value
            values[name] = output.value.detach()
            used = used & output.used
        broken = mask.any() & ~(mask & forecast.isfinite()).any()
        total = torch.where(broken, torch.nan, total)
        return LossOutput(total, values, used.sum() / used.shape[1])

    def extra_repr(self) -> str:
        """The weights, as modules print them."""
        return ", ".join(f"{name}: {weight:g}" for name, weight in self.weights.items())


def _check(terms: dict[str, WeightedTerm]) -> None:
    """Raise ConfigError for terms that cannot be summed or logged."""
    if not terms:
        raise ConfigError("CompositeLoss needs at least one term, e.g. terms: {mse: ...}.")
    for name, term in terms.items():
        if not name.isidentifier() or name in RESERVED_NAMES:
            raise ConfigError(
                f"CompositeLoss cannot name a term {name!r}: use letters, digits and underscores, "
                f"and none of {', '.join(RESERVED_NAMES)}."
            )
        if not 0 <= term.weight < math.inf:
            raise ConfigError(
                f"The weight of the loss term {name!r} is {term.weight}; it must be a finite "
                "number, zero or above."
            )
    if not any(term.weight > 0 for term in terms.values()):
        raise ConfigError(
            f"All weights of the loss terms {', '.join(terms)} are zero: nothing would be learnt."
        )
