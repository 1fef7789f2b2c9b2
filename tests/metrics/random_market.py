"""Seeded forecasts and labels for the tests of this folder."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Market(NamedTuple):
    """Forecasts and labels of T dates and N assets, with gaps and ties."""

    forecast: Tensor
    label: Tensor
    mask: Tensor
    dates: Tensor


def make_market(n_dates: int = 30, n_assets: int = 60, seed: int = 0) -> Market:
    generator = torch.Generator().manual_seed(seed)
    label = 0.02 * torch.randn(n_dates, n_assets, generator=generator)
    forecast = 10 * label + torch.randn(n_dates, n_assets, generator=generator)
    forecast[:, ::7] = forecast[:, ::7].round()  # ties
    label[:, 5:9] = 0.0
    label[torch.rand(n_dates, n_assets, generator=generator) < 0.1] = torch.nan
    mask = torch.rand(n_dates, n_assets, generator=generator) < 0.8
    return Market(forecast, label, mask, torch.arange(100, 100 + n_dates))
