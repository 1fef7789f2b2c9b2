"""Cross-sectional transforms against scipy, date by date."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from quantlit.core import ConfigError
from quantlit.features import CrossSectionalRankGaussian, CrossSectionalZScore, Transform


@pytest.fixture
def features() -> Tensor:
    """[6, 50, 3] with gaps, ties, a constant date, an outlier, and a date that nobody saw."""
    generator = torch.Generator().manual_seed(3)
    values = torch.randn(6, 50, 3, generator=generator)
    values[:, :, 1] = values[:, :, 1].round()
    values[2, :, 0] = 1.7
    values[3, 4, 2] = 1e6
    values[torch.rand(values.shape, generator=generator) < 0.1] = torch.nan
    values[5] = torch.nan
    return values


def _observed(features: Tensor) -> Tensor:
    return torch.ones(features.shape[:-1], dtype=torch.bool)


def test_rank_gaussian(features: Tensor) -> None:
    found = CrossSectionalRankGaussian()(features, _observed(features)).numpy()
    for date in range(5):
        for column in range(3):
            known = np.isfinite(features[date, :, column].numpy())
            ranks = stats.rankdata(features[date, known, column].numpy())
            wanted = stats.norm.ppf((ranks - 0.5) / known.sum())
            np.testing.assert_allclose(found[date, known, column], wanted, atol=2e-6)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(features.numpy()))


@pytest.mark.parametrize("limit", [None, 2.0])
def test_zscore(limit: float | None, features: Tensor) -> None:
    found = CrossSectionalZScore(winsorise=limit)(features, _observed(features)).numpy()
    for date in (0, 1, 3, 4):
        for column in range(3):
            known = np.isfinite(features[date, :, column].numpy())
            values = features[date, known, column].numpy().astype(np.float64)
            if limit is not None:
                band = limit * values.std()
                values = values.clip(values.mean() - band, values.mean() + band)
            np.testing.assert_allclose(
                found[date, known, column], stats.zscore(values), rtol=1e-4, atol=1e-5
            )
    assert np.nanmax(np.abs(found[2, :, 0])) == 0.0  # no spread
    np.testing.assert_array_equal(np.isnan(found), np.isnan(features.numpy()))


@pytest.mark.parametrize("transform", [CrossSectionalRankGaussian(), CrossSectionalZScore()])
def test_dates_are_independent(transform: Transform, features: Tensor) -> None:
    whole = transform(features, _observed(features))
    for date in range(6):
        alone = transform(features[date : date + 1], _observed(features)[date : date + 1])
        torch.testing.assert_close(alone[0], whole[date], equal_nan=True, rtol=0, atol=0)


@pytest.mark.parametrize("transform", [CrossSectionalRankGaussian(), CrossSectionalZScore()])
def test_leading_axes_are_batches(transform: Transform, features: Tensor) -> None:
    batch = torch.stack([features, features + 1.0])
    found = transform(batch, _observed(batch))
    torch.testing.assert_close(found[0], transform(features, _observed(features)), equal_nan=True)


def test_impossible_band() -> None:
    with pytest.raises(ConfigError, match=r"CrossSectionalZScore.winsorise is -1.0; give a number"):
        CrossSectionalZScore(winsorise=-1.0)
