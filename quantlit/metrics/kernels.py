"""Per-date kernels that are neither a correlation nor a rank: direction and quantile returns."""

from __future__ import annotations

import torch
from torch import Tensor

from quantlit.functional import SPREAD_FLOOR


def has_spread(x: Tensor, mask: Tensor) -> Tensor:
    """Whether the valid values of each date differ by more than rounding.

    A collapsed network answers one number up to rounding, and ranks would make an order of that;
    hence a floor relative to the values' size, the same as for correlations.

    Args:
        x: ``[D, N]``, finite.
        mask: ``[D, N]`` bool.

    Returns:
        ``[D]`` bool, False where nothing is valid.
    """
    x = torch.where(mask, x, 0)
    count = mask.sum(dim=-1, keepdim=True).clamp(min=1)
    deviation = torch.where(mask, x - x.sum(dim=-1, keepdim=True) / count, 0)
    return deviation.abs().amax(dim=-1) > SPREAD_FLOOR * x.abs().amax(dim=-1)


def masked_median(x: Tensor, mask: Tensor) -> Tensor:
    """Median of each date's valid values: the mean of the two middle ones where n is even.

    Args:
        x: ``[D, N]``, finite.
        mask: ``[D, N]`` bool.

    Returns:
        ``[D]``; infinite where nothing is valid.
    """
    ordered = torch.where(mask, x, torch.inf).sort(dim=-1).values
    count = mask.sum(dim=-1, keepdim=True)
    low = ordered.gather(-1, (count - 1).clamp(min=0) // 2)
    high = ordered.gather(-1, (count // 2).clamp(max=x.shape[-1] - 1))
    return ((low + high) / 2).squeeze(-1)


def hit_rates(forecast: Tensor, label: Tensor, mask: Tensor) -> Tensor:
    """Share of each date's assets whose forecast and label are on the same side of their medians.

    Assets that are exactly at either median are left out (METHOD: zeros excluded). A coin scores
    0.5.

    Args:
        forecast: ``[D, N]``, finite.
        label: ``[D, N]``, finite.
        mask: ``[D, N]`` bool.

    Returns:
        ``[D]`` in [0, 1]; NaN where no asset is off both medians.
    """
    sides = [torch.sign(x - masked_median(x, mask)[:, None]) for x in (forecast, label)]
    product = torch.where(mask, sides[0] * sides[1], 0)
    return (product > 0).sum(dim=-1).double() / (product != 0).sum(dim=-1).double()


def quantile_returns(forecast: Tensor, label: Tensor, mask: Tensor, n_quantiles: int) -> Tensor:
    """Mean label of each date's buckets by forecast, from the lowest bucket to the highest.

    The asset at place k of n, by forecast descending and then by position on the asset axis
    ascending, belongs to bucket ``floor((k + 1/2) Q / n)`` from the top: sizes differ by one at
    most, and ties are cut the same way every time.

    Args:
        forecast: ``[D, N]``, finite.
        label: ``[D, N]`` returns, finite.
        mask: ``[D, N]`` bool.
        n_quantiles: Q, the number of buckets.

    Returns:
        ``[D, Q]``; NaN on dates with fewer assets than buckets.
    """
    keys = torch.where(mask, forecast, -torch.inf)
    order = torch.argsort(keys, dim=-1, descending=True, stable=True)
    ordered = label.gather(-1, order)
    count = mask.sum(dim=-1, keepdim=True)
    place = torch.arange(label.shape[-1], device=label.device)
    from_top = (2 * place + 1) * n_quantiles // (2 * count).clamp(min=1)
    from_top = torch.where(place < count, from_top, n_quantiles)
    buckets = torch.arange(n_quantiles - 1, -1, -1, device=label.device)
    member = from_top[..., None] == buckets
    means = torch.where(member, ordered[..., None], 0).sum(dim=-2) / member.sum(dim=-2)
    return torch.where(count < n_quantiles, torch.nan, means)
