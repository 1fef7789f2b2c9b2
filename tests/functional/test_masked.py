"""Masked means, spreads, z-scores and winsorising against numpy on the valid cells alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from quantlit.functional import masked_mean, masked_std, masked_zscore, winsorise


def _cells(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(6, 9, generator=generator, dtype=dtype) * 3 + 1
    mask = torch.rand(6, 9, generator=generator) > 0.3
    mask[4] = False
    mask[5] = False
    mask[5, 2] = True
    x[0, 0], x[1, 3], x[2, 2] = torch.nan, torch.inf, -torch.inf
    return x, mask


def _valid(x: Tensor, mask: Tensor, row: int) -> np.ndarray:
    return x[row][mask[row] & x[row].isfinite()].numpy()


@pytest.mark.parametrize("dim", [0, 1])
def test_mean_and_std_equal_numpy_on_the_valid_cells(dim: int) -> None:
    x, mask = _cells()
    if dim == 0:
        x, mask = x.T.contiguous(), mask.T.contiguous()
    mean = masked_mean(x, mask, dim)
    stds = [masked_std(x, mask, dim, ddof=ddof) for ddof in (0, 1)]
    rows, masks = (x.T, mask.T) if dim == 0 else (x, mask)
    for row in range(6):
        valid = _valid(rows, masks, row)
        if len(valid) == 0:
            assert mean[row].isnan() and stds[0][row].isnan()
            continue
        assert mean[row].item() == pytest.approx(valid.mean(), rel=1e-14)
        assert stds[0][row].item() == pytest.approx(valid.std(), rel=1e-12, abs=0)
        if len(valid) > 1:
            assert stds[1][row].item() == pytest.approx(valid.std(ddof=1), rel=1e-12)
        else:
            assert stds[1][row].isnan()


def test_zscore_equals_numpy_and_is_zero_elsewhere() -> None:
    x, mask = _cells()
    z = masked_zscore(x, mask)
    for row in range(4):
        valid = _valid(x, mask, row)
        keep = mask[row] & x[row].isfinite()
        np.testing.assert_allclose(z[row][keep], (valid - valid.mean()) / valid.std(), rtol=1e-12)
        assert (z[row][~keep] == 0).all()
    assert (z[4:] == 0).all()  # none and one valid asset: no spread


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1.0, 1e6, 1e30, 3e37])
def test_zscore_is_exact_at_any_float32_scale(scale: float) -> None:
    x = torch.randn(4, 50, generator=torch.Generator().manual_seed(1))
    mask = torch.ones(4, 50, dtype=torch.bool)
    torch.testing.assert_close(masked_zscore(x * scale, mask), masked_zscore(x, mask))


@pytest.mark.parametrize("value", [0.0, 0.1, -1e30, 1e-30])
def test_a_constant_cross_section_has_no_spread(value: float) -> None:
    x = torch.full((2, 300), value, dtype=torch.float64)
    mask = torch.ones(2, 300, dtype=torch.bool)
    assert (masked_zscore(x, mask) == 0).all()
    noise = x * (1 + 1e-7 * torch.randn(2, 300, generator=torch.Generator().manual_seed(2)))
    assert (masked_zscore(noise, mask) == 0).all()  # below the relative floor of 1e-6


@pytest.mark.parametrize("kernel", ["mean", "std", "zscore"])
def test_gradients_are_true_and_exactly_zero_on_cells_that_do_not_count(kernel: str) -> None:
    x, mask = _cells()
    x[3] = 0.5  # a constant section: the root's slope at zero must not appear
    keep = mask & x.isfinite()

    def value(x: Tensor) -> Tensor:
        if kernel == "mean":
            return masked_mean(x, mask, -1).nan_to_num()
        if kernel == "std":
            return masked_std(x, mask, -1).nan_to_num()
        return masked_zscore(x, mask)

    x.requires_grad_()
    weights = torch.randn(value(x).shape, generator=torch.Generator().manual_seed(3)).double()
    (gradient,) = torch.autograd.grad((weights * value(x)).sum(), x)
    assert gradient.isfinite().all()
    assert (gradient[~keep] == 0).all()
    rows = x.detach()[:3].masked_fill(~keep[:3], 0.0).requires_grad_()
    mask = mask[:3] & keep[:3]
    assert torch.autograd.gradcheck(value, (rows,))


def test_half_precision_is_computed_in_float32() -> None:
    x = torch.randn(3, 200, generator=torch.Generator().manual_seed(4)).bfloat16()
    mask = torch.ones(3, 200, dtype=torch.bool)
    z = masked_zscore(x, mask)
    assert z.dtype == torch.float32
    torch.testing.assert_close(z, masked_zscore(x.float(), mask))


def test_winsorise_clips_at_standard_deviations_of_the_valid_cells() -> None:
    x, mask = _cells()
    clipped = winsorise(x, mask, limit=1.0)
    for row in range(4):
        valid = _valid(x, mask, row)
        keep = mask[row] & x[row].isfinite()
        low, high = valid.mean() - valid.std(), valid.mean() + valid.std()
        np.testing.assert_allclose(clipped[row][keep], np.clip(valid, low, high), rtol=1e-12)
        assert (clipped[row][~keep] == 0).all()
    assert (clipped[4] == 0).all()
