"""Operators over one asset's present and past bars.

A window of ``n`` bars ends at the present one. Unknown values in it are skipped, and it needs at
least half of its bars known, rounded up (2 for a deviation, a variance, a covariance or a slope; 3
for a skewness). Bars before the panel's first count as unknown.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from quantlit.features import kernels as shared
from quantlit.features.bars import MAX_FILL, lag, ratio
from quantlit.features.language import kernels
from quantlit.features.language.signature import (
    MAX_WINDOW,
    Compute,
    Family,
    Literal,
    Operator,
    Parameter,
    Series,
    Value,
    Window,
)

Array = npt.NDArray[np.float64]
EMA_SPANS = 3
"""Spans in the window of ``ema``: what lies beyond would weigh a four-hundredth of the whole."""


def half(n: int, least: int = 1) -> int:
    """Known values that a window of n bars needs."""
    return max(least, (n + 1) // 2)


def returns(x: Array, n: int) -> Array:
    """``x / last(x)[n bars ago] - 1``, as the factor Return."""
    return ratio(x, lag(shared.last_seen(x, MAX_FILL), n)) - 1.0


def ts_sum(x: Array, n: int) -> Array:
    """Sum of the known values."""
    return shared.rolling_mean(x, n, half(n)) * kernels.rolling_count(x, n)


def ts_var(x: Array, n: int) -> Array:
    """Sample variance (``ddof=1``)."""
    std: Array = shared.rolling_std(x, n, half(n, 2))
    return std * std


def ts_min(x: Array, n: int) -> Array:
    """Smallest value."""
    return -shared.rolling_max(-x, n, half(n))


def ts_zscore(x: Array, n: int) -> Array:
    """``(x - mean) / std`` of the window; 0 where it has no spread."""
    mean, std = shared.rolling_mean(x, n, half(n, 2)), shared.rolling_std(x, n, half(n, 2))
    flat = kernels.without_spread(np.square(std), mean)
    return np.where(flat, 0.0 * x, (x - mean) / np.where(flat, 1.0, std))


def ts_corr(x: Array, y: Array, n: int) -> Array:
    """Pearson correlation over bars where both are known; NaN where one is constant."""
    var_x, var_y, covariance = shared.rolling_comoments(x, y, n, half(n, 2))
    return np.clip(ratio(covariance, np.sqrt(var_x * var_y)), -1.0, 1.0)


def ts_cov(x: Array, y: Array, n: int) -> Array:
    """Sample covariance (``ddof=1``) over bars where both are known."""
    _, _, covariance = shared.rolling_comoments(x, y, n, half(n, 2))
    pairs = kernels.rolling_count(x + y, n)
    found: Array = covariance * (pairs / (pairs - 1.0))
    return found


def ts_beta(y: Array, x: Array, n: int) -> Array:
    """Slope of y on x over bars where both are known; NaN where x is constant."""
    _, var_x, covariance = shared.rolling_comoments(y, x, n, half(n, 2))
    return ratio(covariance, var_x)


def ts_decay(x: Array, n: int) -> Array:
    """Mean with weights n, n - 1, ..., 1 from the present bar back."""
    return kernels.rolling_weighted(x, np.arange(n, 0, -1, dtype=np.float64), half(n))


def ema(x: Array, n: int) -> Array:
    """Mean with weights ``(1 - 2 / (n + 1)) ^ age`` over ``EMA_SPANS * n`` bars."""
    weights = (1.0 - 2.0 / (n + 1.0)) ** np.arange(EMA_SPANS * n, dtype=np.float64)
    return kernels.rolling_weighted(x, weights, half(n))


def ts_count(condition: Array, n: int) -> Array:
    """How many known bars of the window were true."""
    return np.round(ts_sum(condition, n))


def _simple(kernel: Callable[[Array, int, int], Array], least: int = 1) -> Compute:
    """A kernel of a window, with the count it needs."""
    return lambda x, n: kernel(x, n, half(n, least))


def _window(
    name: str,
    compute: Compute,
    says: str,
    *series: str,
    least: int = 1,
    value: Value = Value.NUMBER,
) -> Operator:
    """An operator of one or two series and a window of n bars."""
    taken = tuple(Series(each, value) for each in series or ("x",))
    parameters: tuple[Parameter, ...] = (*taken, Window("n", least=least))
    return Operator(name, Family.TIME, parameters, compute, says, lookback=lambda n: n - 1)


def _operators() -> list[Operator]:
    x, n, time = Series("x"), Window("n"), Family.TIME
    wide = Window("n", most=MAX_WINDOW // EMA_SPANS)
    share = Literal("q", 0.0, 1.0)
    mean, std, largest = shared.rolling_mean, shared.rolling_std, shared.rolling_max
    age = kernels.rolling_age_of_max
    carried = f"the last known value, at most {MAX_FILL} bars old"
    since = f"x over the last known value n bars ago (at most {MAX_FILL} older), less 1"
    smooth = f"exponential mean, weights (1 - 2 / (n + 1)) ^ age over {EMA_SPANS} n bars"
    return [
        Operator("delay", time, (x, n), lag, "x of n bars ago", lookback=lambda n: n),
        Operator("delta", time, (x, n), _delta, "x less x of n bars ago", lookback=lambda n: n),
        Operator("returns", time, (x, n), returns, since, lookback=lambda n: n + MAX_FILL),
        Operator("last", time, (x,), _last, carried, lookback=lambda: MAX_FILL),
        Operator(
            "fill",
            time,
            (x, n),
            shared.last_seen,
            "the last known value, at most n bars old",
            lookback=lambda n: n,
        ),
        _window("ts_mean", _simple(mean), "mean"),
        _window("ts_sum", ts_sum, "sum of the known values"),
        _window("ts_std", _simple(std, 2), "sample standard deviation", least=2),
        _window("ts_var", ts_var, "sample variance", least=2),
        _window("ts_min", ts_min, "smallest value"),
        _window("ts_max", _simple(largest), "largest value"),
        _window("ts_argmin", lambda x, n: age(-x, n, half(n)), "bars since the smallest value"),
        _window("ts_argmax", _simple(age), "bars since the largest value; 0 is now"),
        _window("ts_rank", _simple(kernels.rolling_rank), "rank of x / known bars, ties averaged"),
        _window("ts_median", lambda x, n: kernels.rolling_quantile(x, n, 0.5, half(n)), "median"),
        Operator(
            "ts_quantile",
            time,
            (x, n, share),
            lambda x, n, q: kernels.rolling_quantile(x, n, q, half(n)),
            "quantile q, between two values linear",
            lookback=lambda n, q: n - 1,
        ),
        _window(
            "ts_skew",
            _simple(shared.rolling_skewness, 3),
            "bias-adjusted skewness; 0 without spread",
            least=3,
        ),
        _window("ts_zscore", ts_zscore, "(x - mean) / std; 0 without spread", least=2),
        _window("ts_corr", ts_corr, "correlation; NaN without spread", "x", "y", least=2),
        _window("ts_cov", ts_cov, "sample covariance", "x", "y", least=2),
        _window("ts_beta", ts_beta, "slope of y on x; NaN without spread", "y", "x", least=2),
        _window("ts_slope", _simple(kernels.rolling_slope, 2), "slope on time, per bar", least=2),
        _window("ts_decay", ts_decay, "mean with weights n, ..., 1 back from the present"),
        _window("ts_product", _simple(kernels.rolling_product), "product of the known values"),
        _window(
            "ts_count",
            ts_count,
            "how many known bars were true",
            "condition",
            value=Value.CONDITION,
        ),
        Operator("ema", time, (x, wide), ema, smooth, lookback=lambda n: EMA_SPANS * n - 1),
    ]


def _delta(x: Array, n: int) -> Array:
    return x - lag(x, n)


def _last(x: Array) -> Array:
    return shared.last_seen(x, MAX_FILL)


TIME_OPERATORS = _operators()
"""The operators over time, in the order of the table."""
