"""RobustZScore and Winsorise against numpy and scipy; the guard of the fit; the state."""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy import stats

from quantlit.core import ConfigError, LookAheadError
from quantlit.features import FittedTransform, RobustZScore, Winsorise

RANGE = ("2020-01-02", "2020-12-31")


@pytest.fixture
def features() -> npt.NDArray[np.float32]:
    """[40, 8, 4]: a plain, a mostly constant, a constant and a never known feature."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((40, 8, 4)).astype(np.float32)
    values[:, :, 1] = np.where(rng.random((40, 8)) < 0.8, 2.0, values[:, :, 1])
    values[:, :, 2] = 5.0
    values[rng.random(values.shape) < 0.1] = np.nan
    values[:, :, 3] = np.nan
    return values


def _fit(transform: FittedTransform, features: npt.NDArray[np.float32]) -> torch.Tensor:
    observed = np.ones(features.shape[:2], dtype=np.bool_)
    transform.fit(features, observed, fit_range=RANGE)
    scores: torch.Tensor = transform(torch.from_numpy(features), torch.from_numpy(observed))
    return scores


def test_robust_zscore(features: npt.NDArray[np.float32]) -> None:
    found = _fit(RobustZScore(clip=None), features).numpy()
    plain = features[:, :, 0]
    deviation = stats.median_abs_deviation(plain, axis=None, scale="normal", nan_policy="omit")
    np.testing.assert_allclose(
        found[:, :, 0], (plain - np.nanmedian(plain)) / deviation, rtol=1e-5, atol=1e-6
    )
    # Without a median deviation: the standard deviation.
    mostly = features[:, :, 1]
    np.testing.assert_allclose(found[:, :, 1], (mostly - 2.0) / np.nanstd(mostly), rtol=1e-5)
    assert set(found[:, :, 2][np.isfinite(features[:, :, 2])]) == {0.0}
    np.testing.assert_array_equal(np.isnan(found), np.isnan(features))


def test_robust_zscore_clips(features: npt.NDArray[np.float32]) -> None:
    free, clipped = _fit(RobustZScore(clip=None), features), _fit(RobustZScore(clip=1.5), features)
    assert clipped.nan_to_num().abs().max() == 1.5
    torch.testing.assert_close(clipped, free.clamp(-1.5, 1.5), equal_nan=True, rtol=0, atol=0)


def test_winsorise(features: npt.NDArray[np.float32]) -> None:
    found = _fit(Winsorise(lower=0.05, upper=0.9), features).numpy()
    low, high = np.nanquantile(features[:, :, 0], [0.05, 0.9])
    np.testing.assert_allclose(found[:, :, 0], np.clip(features[:, :, 0], low, high), rtol=1e-6)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(features))


@pytest.mark.parametrize("transform", [RobustZScore(), Winsorise()])
def test_a_second_fit_is_refused(
    transform: FittedTransform, features: npt.NDArray[np.float32]
) -> None:
    observed = np.ones(features.shape[:2], dtype=np.bool_)
    with pytest.raises(LookAheadError, match="was never fitted: fit it on train dates, or load"):
        transform(torch.from_numpy(features), torch.from_numpy(observed))
    transform.fit(features, observed, fit_range=RANGE)
    before = {name: value.clone() for name, value in transform.named_buffers()}
    with pytest.raises(
        LookAheadError,
        match=r"was fitted on 2020-01-02 to 2020-12-31 already, .*fit on 2021-01-04 to 2021-02-01",
    ):
        transform.fit(features + 1, observed, fit_range=("2021-01-04", "2021-02-01"))
    for name, value in transform.named_buffers():
        torch.testing.assert_close(value, before[name], equal_nan=True, rtol=0, atol=0)


@pytest.mark.parametrize("kind", [RobustZScore, Winsorise])
def test_state_round_trip(
    kind: type[RobustZScore] | type[Winsorise], features: npt.NDArray[np.float32]
) -> None:
    transform = kind()
    wanted = _fit(transform, features)
    file = io.BytesIO()
    torch.save(transform.state_dict(), file)
    file.seek(0)
    state = torch.load(file, weights_only=True)
    observed = torch.ones(features.shape[:2], dtype=torch.bool)
    other = kind()
    for _ in range(2):  # a restore is not a fit, and may be repeated
        other.load_state_dict(state)
        assert other.fit_range == RANGE
        found = other(torch.from_numpy(features), observed)
        torch.testing.assert_close(found, wanted, equal_nan=True, rtol=0, atol=0)
    with pytest.raises(LookAheadError, match="fitted on 2020-01-02"):
        other.fit(features, observed.numpy(), fit_range=RANGE)


def test_impossible_settings() -> None:
    with pytest.raises(ConfigError, match=r"RobustZScore.clip is 0; give a number above 0"):
        RobustZScore(clip=0)
    with pytest.raises(ConfigError, match=r"lower 0.9 and upper 0.1; give probabilities"):
        Winsorise(lower=0.9, upper=0.1)
