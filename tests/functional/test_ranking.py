"""Average ranks and normal scores against scipy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from quantlit.functional import average_ranks, rank_gaussian

VALUES = st.sampled_from([-2.5, -1.0, 0.0, 1e-30, 0.5, 1.0, 1e30, np.nan, np.inf, -np.inf])
SHAPES = hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=12)


@settings(max_examples=80, deadline=None)
@given(data=st.data(), shape=SHAPES)
def test_ranks_equal_scipy_among_the_valid_cells(data: st.DataObject, shape: tuple[int]) -> None:
    x = data.draw(hnp.arrays(np.float64, shape, elements=VALUES))
    mask = data.draw(hnp.arrays(np.bool_, shape))
    ranks = average_ranks(torch.from_numpy(x), torch.from_numpy(mask)).numpy()
    for index in np.ndindex(shape[:-1]):
        keep = mask[index] & np.isfinite(x[index])
        np.testing.assert_array_equal(ranks[index][keep], stats.rankdata(x[index][keep]))
        assert (ranks[index][~keep] == 0).all()


def test_ranks_of_a_large_block_with_ties_equal_scipy() -> None:
    generator = torch.Generator().manual_seed(0)
    x = (torch.randn(5, 800, generator=generator) * 20).round()
    mask = torch.rand(5, 800, generator=generator) > 0.2
    ranks = average_ranks(x, mask)
    assert ranks.dtype == torch.float32
    for row in range(5):
        expected = stats.rankdata(x[row][mask[row]].numpy())
        np.testing.assert_array_equal(ranks[row][mask[row]], expected)


def test_half_precision_gets_exact_ranks() -> None:
    x = torch.arange(3000.0).flip(0).bfloat16()
    mask = torch.ones(3000, dtype=torch.bool)
    ranks = average_ranks(x, mask)
    assert ranks.dtype == torch.float32
    np.testing.assert_array_equal(ranks, stats.rankdata(x.float().numpy()))


@pytest.mark.parametrize("n", [1, 2, 5, 300])
def test_rank_gaussian_is_the_normal_score_of_the_average_rank(n: int) -> None:
    generator = torch.Generator().manual_seed(n)
    x = torch.randn(n + 3, generator=generator, dtype=torch.float64).round(decimals=1)
    x[0] = torch.nan
    mask = torch.ones(n + 3, dtype=torch.bool)
    mask[1:3] = False
    scores = rank_gaussian(x, mask)
    ranks = stats.rankdata(x[3:].numpy())
    np.testing.assert_allclose(scores[3:], stats.norm.ppf((ranks - 0.5) / n), atol=1e-12)
    assert (scores[:3] == 0).all()


def test_rank_gaussian_without_valid_cells_is_zero() -> None:
    scores = rank_gaussian(torch.full((2, 4), torch.nan), torch.ones(2, 4, dtype=torch.bool))
    assert (scores == 0).all()
