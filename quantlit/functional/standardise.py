"""Labels put on one scale per date, so that loss weights mean the same on every date."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from quantlit.core import ConfigError
from quantlit.functional.masked import masked_zscore, winsorise
from quantlit.functional.ranking import rank_gaussian

LABEL_METHODS = ("zscore", "rank_gaussian", "raw")
LABEL_LIMIT = 5.0
"""Z-scored labels are winsorised at this many standard deviations of their date first."""


def standardise_labels(
    target: Float[Tensor, "D N H"], valid: Bool[Tensor, "D N"], method: str
) -> tuple[Float[Tensor, "D N H"], Bool[Tensor, "D N H"]]:
    """Standardise raw returns per date and horizon over the assets that count.

    Args:
        target: ``[D, N, H]`` raw returns, NaN where unknown.
        valid: ``[D, N]`` which assets count on each date.
        method: ``zscore`` (winsorised at 5 standard deviations, then to mean 0 and population
            deviation 1), ``rank_gaussian`` (normal scores of average ranks) or ``raw`` (as they
            are). A date without spread becomes all 0 under the first two.

    Returns:
        The standardised labels ``[D, N, H]``, 0 where unknown, and the mask ``[D, N, H]`` of known
        ones, ``valid & isfinite(target)``.

    Raises:
        ConfigError: if the method is another.
    """
    mask = valid.unsqueeze(-1) & target.isfinite()
    if method == "raw":
        return torch.where(mask, target, 0.0), mask
    labels, keep = target.movedim(-1, -2), mask.movedim(-1, -2)  # [D, H, N]
    if method == "zscore":
        labels = masked_zscore(winsorise(labels, keep, LABEL_LIMIT), keep)
    elif method == "rank_gaussian":
        labels = rank_gaussian(labels, keep)
    else:
        raise ConfigError(
            f"Labels cannot be standardised by {method!r}; use one of {', '.join(LABEL_METHODS)}."
        )
    return labels.movedim(-1, -2), mask
