"""Statistics of a series with one value per date, such as the daily IC."""

from __future__ import annotations

import math

from jaxtyping import Float
from torch import Tensor

SERIES_FLOOR = 1e-12
"""A series whose largest deviation is not above this share of its largest value is constant."""


def information_ratio(series: Float[Tensor, " T"]) -> Float[Tensor, ""]:
    """Mean over sample standard deviation, not annualised; the ICIR of a series of daily ICs.

    NaN entries (dates that were not used) are left out. NaN for fewer than two entries or a
    constant series.

    Args:
        series: ``[T]`` one value per date.

    >>> import torch
    >>> ic = torch.tensor([0.05, 0.02, -0.01, 0.04, 0.03, 0.0, -0.02, 0.06], dtype=torch.float64)
    >>> round(information_ratio(ic).item(), 10)
    0.732727505
    """
    values = _known(series)
    if not _varies(values):
        return values.new_tensor(math.nan)
    return values.mean() / values.std()


def t_statistic(series: Float[Tensor, " T"]) -> Float[Tensor, ""]:
    """Student's t of the mean, ``information_ratio * sqrt(T)``: right for independent dates only.

    Args:
        series: ``[T]`` one value per date; NaN entries are left out.
    """
    return information_ratio(series) * math.sqrt(_known(series).numel())


def newey_west_lags(n: int, horizon: int) -> int:
    """Number of lags for :func:`newey_west_t` of a series of ``n`` dates.

    Labels of ``horizon`` bars overlap on ``horizon - 1`` neighbouring dates, so at least as many
    lags; and at least the rule of thumb ``floor(4 (n / 100)^(2/9))``. Never more than ``n - 1``.

    Args:
        n: dates in the series.
        horizon: bars that each date's label spans.

    >>> newey_west_lags(250, 1), newey_west_lags(2500, 1), newey_west_lags(250, 20)
    (4, 8, 19)
    """
    rule_of_thumb = int(4.0 * math.pow(n / 100, 2 / 9))
    return max(0, min(max(horizon - 1, rule_of_thumb), n - 1))


def newey_west_t(series: Float[Tensor, " T"], lags: int) -> Float[Tensor, ""]:
    """The mean's t value under autocorrelation, by Newey and West (1987) with Bartlett weights.

    With ``e = x - mean`` and ``g_j = sum_t e_t e_{t-j} / T``, it is
    ``mean / sqrt((g_0 + 2 sum_{j<=L} (1 - j / (L + 1)) g_j) / T)``. Equals statsmodels'
    ``OLS(...).fit(cov_type="HAC", cov_kwds={"maxlags": L, "use_correction": False})``.

    Args:
        series: ``[T]`` one value per date, in order; NaN entries are left out.
        lags: L, see :func:`newey_west_lags`; 0 assumes independent dates.

    Returns:
        The t value; NaN for fewer than two entries or a constant series.

    Raises:
        ValueError: if ``lags`` is negative.
    """
    if lags < 0:
        raise ValueError(f"Newey-West needs lags >= 0, got {lags}.")
    values = _known(series)
    if not _varies(values):
        return values.new_tensor(math.nan)
    errors, n = values - values.mean(), values.numel()
    variance = errors @ errors
    for lag in range(1, min(lags, n - 1) + 1):
        variance = variance + 2 * (1 - lag / (lags + 1)) * (errors[lag:] @ errors[:-lag])
    return values.mean() / (variance.sqrt() / n)


def _known(series: Tensor) -> Tensor:
    return series[series.isfinite()]


def _varies(values: Tensor) -> bool:
    if values.numel() < 2:
        return False
    deviation = (values - values.mean()).abs().max()
    return bool(deviation > SERIES_FLOOR * values.abs().max())
