"""The window view against slicing, its memory, its gradient and its errors."""

from __future__ import annotations

import pytest
import torch

from quantlit.functional import window_view


@pytest.mark.parametrize(("length", "window"), [(7, 3), (5, 5), (4, 1)])
def test_every_column_is_the_window_of_one_asset_and_date(length: int, window: int) -> None:
    features = torch.randn(length, 4, 3, generator=torch.Generator().manual_seed(0))
    windows = window_view(features, window)
    n_dates = length - window + 1
    assert windows.shape == (window, n_dates * 4, 3)
    for date in range(n_dates):
        for asset in range(4):
            expected = features[date : date + window, asset]
            assert torch.equal(windows[:, date * 4 + asset], expected)


def test_it_is_a_view_also_of_a_slice_inside_a_panel() -> None:
    panel = torch.arange(10 * 2 * 3, dtype=torch.float32).reshape(10, 2, 3)
    block = panel[4:9]
    windows = window_view(block, 3)
    assert windows.untyped_storage().data_ptr() == panel.untyped_storage().data_ptr()
    assert torch.equal(windows[:, -1], panel[6:9, 1])


def test_gradients_of_overlapping_windows_add_up() -> None:
    features = torch.randn(4, 1, 1, dtype=torch.float64, requires_grad=True)
    torch.autograd.backward(window_view(features, 2).sum())
    assert features.grad is not None
    assert features.grad.flatten().tolist() == [1, 2, 2, 1]


def test_non_contiguous_features_are_refused() -> None:
    features = torch.randn(4, 6, 3).transpose(0, 1)
    with pytest.raises(ValueError, match=r"contiguous features, got strides \(3, 18, 1\)"):
        window_view(features, 2)


@pytest.mark.parametrize("window", [0, 6])
def test_a_window_that_does_not_fit_is_refused(window: int) -> None:
    with pytest.raises(ValueError, match=f"window of {window} bars does not fit a block of 5"):
        window_view(torch.randn(5, 2, 3), window)
