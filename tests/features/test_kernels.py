"""Rolling kernels: no trace of what has left a window, missing values, no spread."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from quantlit.features import kernels

NAN = np.nan


def _column(values: list[float]) -> npt.NDArray[np.float64]:
    return np.array(values, dtype=np.float64)[:, None]


@pytest.mark.parametrize(
    ("max_age", "wanted"),
    [
        (0, [NAN, 1.0, NAN, NAN, NAN, 2.0]),
        (2, [NAN, 1.0, 1.0, 1.0, NAN, 2.0]),
        (9, [NAN, 1.0, 1.0, 1.0, 1.0, 2.0]),
    ],
)
def test_last_seen(max_age: int, wanted: list[float]) -> None:
    x = _column([NAN, 1.0, NAN, NAN, NAN, 2.0])
    np.testing.assert_array_equal(kernels.last_seen(x, max_age), _column(wanted))


def test_a_spike_that_has_left_the_window_leaves_no_trace() -> None:
    """A running sum would keep the rounding error of 1e16 forever."""
    rng = np.random.default_rng(0)
    clean = rng.standard_normal((40, 5))
    spiked = clean.copy()
    spiked[10, :3] = 1e16
    spiked[10, 3] = NAN
    for kernel in (kernels.rolling_mean, kernels.rolling_std, kernels.rolling_max):
        np.testing.assert_array_equal(kernel(spiked, 6, 2)[16:], kernel(clean, 6, 2)[16:])
    np.testing.assert_array_equal(
        kernels.rolling_comoments(spiked, clean, 6, 2)[:, 16:],
        kernels.rolling_comoments(clean, clean, 6, 2)[:, 16:],
    )


def test_min_count() -> None:
    x = _column([1.0, NAN, 3.0, NAN, NAN, 7.0])
    np.testing.assert_array_equal(
        kernels.rolling_mean(x, 3, 2), _column([NAN, NAN, 2.0, NAN, NAN, NAN])
    )
    np.testing.assert_array_equal(
        kernels.rolling_mean(x, 3, 1), _column([1.0, 1.0, 2.0, 3.0, 3.0, 7.0])
    )
    # A deviation needs two values, whatever is asked for; a window of nothing has no maximum.
    assert np.isnan(kernels.rolling_std(x, 3, 0)[[0, 1, 3, 4, 5]]).all()
    assert np.isnan(kernels.rolling_max(_column([NAN, NAN]), 2, 0)).all()


def test_moments_equal_scipy() -> None:
    x, y = np.random.default_rng(1).lognormal(size=(2, 12, 1))
    skewness = kernels.rolling_skewness(x, 12, 3)[-1, 0]
    assert skewness == pytest.approx(stats.skew(x[:, 0], bias=False), rel=1e-12)
    var_x, var_y, covariance = kernels.rolling_comoments(x, y, 12, 2)[:, -1, 0]
    correlation = covariance / np.sqrt(var_x * var_y)
    assert correlation == pytest.approx(stats.pearsonr(x[:, 0], y[:, 0]).statistic, rel=1e-12)
    assert var_x == pytest.approx(x.var(), rel=1e-12)


def test_rounding_is_not_spread() -> None:
    """The mean of constant values is rounded; the gaps to it are no variance."""
    x = np.full((30, 1), 0.1)
    moments = kernels.rolling_comoments(x, x * 3.0, 30, 2)
    np.testing.assert_array_equal(moments[:2, 2:], 0.0)
    np.testing.assert_array_equal(kernels.rolling_skewness(x, 30, 3)[2:], 0.0)
