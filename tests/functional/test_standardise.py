"""Labels per date: zero mean and unit spread, normal scores, or as they are; NaN never counts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from quantlit.core import ConfigError
from quantlit.functional import standardise_labels


def _labels() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    target = 0.02 * torch.randn(5, 30, 2, generator=generator)
    target[torch.rand(5, 30, 2, generator=generator) < 0.2] = torch.nan
    valid = torch.rand(5, 30, generator=generator) > 0.2
    target[3, :, 1] = torch.nan  # a horizon whose end lies beyond the data
    valid[4] = False  # a padding date
    return target, valid


@pytest.mark.parametrize("method", ["zscore", "rank_gaussian", "raw"])
def test_mask_is_valid_and_known_and_unknown_labels_are_zero(method: str) -> None:
    target, valid = _labels()
    labels, mask = standardise_labels(target, valid, method)
    assert torch.equal(mask, valid.unsqueeze(-1) & target.isfinite())
    assert labels.shape == target.shape and labels.isfinite().all()
    assert (labels[~mask] == 0).all()


def test_each_method_equals_numpy_per_date_and_horizon() -> None:
    target, valid = _labels()
    outputs = {m: standardise_labels(target, valid, m) for m in ("zscore", "rank_gaussian", "raw")}
    for date in range(4):
        for horizon in range(2):
            keep = outputs["raw"][1][date, :, horizon]
            y = target[date, :, horizon][keep].double().numpy()
            if len(y) == 0:
                continue
            expected = {
                "zscore": (y - y.mean()) / y.std(),
                "rank_gaussian": stats.norm.ppf((stats.rankdata(y) - 0.5) / len(y)),
                "raw": y,
            }
            for method, (labels, _) in outputs.items():
                found = labels[date, :, horizon][keep]
                np.testing.assert_allclose(found, expected[method], rtol=1e-4, atol=1e-6)


def test_an_outlier_is_winsorised_before_the_zscore() -> None:
    target = 0.01 * torch.randn(1, 400, 1, generator=torch.Generator().manual_seed(1))
    target[0, 7, 0] = 9.0
    labels, _ = standardise_labels(target, torch.ones(1, 400, dtype=torch.bool), "zscore")
    y = target[0, :, 0].double().numpy()
    y = np.clip(y, y.mean() - 5 * y.std(), y.mean() + 5 * y.std())
    np.testing.assert_allclose(labels[0, :, 0], (y - y.mean()) / y.std(), rtol=1e-4, atol=1e-5)


def test_a_date_without_spread_is_zero() -> None:
    target = torch.full((1, 6, 1), 0.01)
    valid = torch.ones(1, 6, dtype=torch.bool)
    for method in ("zscore", "rank_gaussian"):
        labels, mask = standardise_labels(target, valid, method)
        assert (labels == 0).all() and mask.all()


def test_an_unknown_method_is_refused() -> None:
    target, valid = _labels()
    with pytest.raises(ConfigError, match="'zscor'; use one of zscore, rank_gaussian, raw"):
        standardise_labels(target, valid, "zscor")
