"""Imputer against pandas: bounded forward fill, then the date's median, then 0."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from quantlit.core import ConfigError
from quantlit.features import Imputer


@pytest.fixture
def features() -> Tensor:
    """[30, 6, 2] with a third missing, a long gap, an infinity, and a bar that nobody saw."""
    generator = torch.Generator().manual_seed(5)
    values = torch.randn(30, 6, 2, generator=generator)
    values[torch.rand(values.shape, generator=generator) < 0.3] = torch.nan
    values[5:20, 0] = torch.nan
    values[7, 2, 1] = torch.inf
    values[24] = torch.nan
    return values


def _impute(imputer: Imputer, features: Tensor) -> Tensor:
    found: Tensor = imputer(features, torch.ones(features.shape[:-1], dtype=torch.bool))
    return found


@pytest.mark.parametrize("max_age", [0, 1, 4])
def test_equals_pandas(max_age: int, features: Tensor) -> None:
    found = _impute(Imputer(max_age=max_age), features)
    for column in range(2):
        known = pd.DataFrame(features[..., column].numpy()).replace([np.inf, -np.inf], np.nan)
        wanted = known.ffill(limit=max_age) if max_age else known
        wanted = wanted.T.fillna(known.median(axis=1)).T.fillna(0.0)
        np.testing.assert_allclose(found[..., column], wanted.to_numpy(), atol=1e-7)


def test_nothing_known_becomes_zero() -> None:
    assert _impute(Imputer(), torch.full((3, 2, 1), torch.nan)).eq(0).all()


def test_flags(features: Tensor) -> None:
    imputer = Imputer(max_age=2, flag=True)
    found = _impute(imputer, features)
    assert imputer.output_names(["a", "b"]) == ["a", "b", "a_missing", "b_missing"]
    assert Imputer().output_names(["a", "b"]) == ["a", "b"]
    torch.testing.assert_close(found[..., 2:], (~features.isfinite()).float())
    torch.testing.assert_close(found[..., :2], _impute(Imputer(max_age=2), features))


def test_no_look_ahead_and_an_honest_lookback(features: Tensor) -> None:
    imputer = Imputer(max_age=3)
    whole = _impute(imputer, features)
    for date in (0, 10, 24):
        poisoned = features.clone()
        poisoned[date + 1 :] = 1e6
        assert torch.equal(_impute(imputer, poisoned)[: date + 1], whole[: date + 1])
        assert torch.equal(_impute(imputer, features[: date + 1]), whole[: date + 1])
    for start in (1, 9, 21):
        late = _impute(imputer, features[start:])
        assert torch.equal(late[imputer.lookback :], whole[start + imputer.lookback :])


def test_impossible_age() -> None:
    with pytest.raises(ConfigError, match=r"Imputer.max_age is -1; give a number of bars >= 0"):
        Imputer(max_age=-1)
