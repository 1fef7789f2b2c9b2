"""Qlib's operators and its formulas of Alpha158 and Alpha360, plainly, on one asset's bars.

A series starts at the asset's first bar. Statistics of a window are computed anew from its values
by numpy, in float64.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd

Values = npt.NDArray[np.float64]
Frame = pd.DataFrame
Twin = Callable[[Frame, int], pd.Series]


def _roll(x: pd.Series, d: int, statistic: Callable[[Values], float]) -> pd.Series:
    return x.astype(float).rolling(d, min_periods=1).apply(statistic, raw=True)


def _known(statistic: Callable[[Values], float], least: int = 1) -> Callable[[Values], float]:
    def of_known(values: Values) -> float:
        known = values[~np.isnan(values)]
        return statistic(known) if len(known) >= least else np.nan

    return of_known


def _ref(x: pd.Series, d: int) -> pd.Series:
    return x.shift(d)


def _mean(x: pd.Series, d: int) -> pd.Series:
    return _roll(x, d, np.nanmean)


def _sum(x: pd.Series, d: int) -> pd.Series:
    return _roll(x, d, np.nansum)


def _std(x: pd.Series, d: int) -> pd.Series:
    return _roll(x, d, _known(lambda v: float(np.std(v, ddof=1)), 2))


def _line(values: Values) -> tuple[float, float, float]:
    """Slope, squared correlation and residual of the last value."""
    days = np.arange(len(values))[~np.isnan(values)].astype(float)
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return np.nan, np.nan, np.nan
    slope = np.cov(days, known)[0, 1] / np.var(days, ddof=1)
    end = known.mean() + slope * (len(values) - 1 - days.mean())
    flat = np.std(known, ddof=1) <= 2e-5
    fit = np.nan if flat else np.corrcoef(days, known)[0, 1] ** 2
    return float(slope), float(fit), float(values[-1] - end)


def _rank(values: Values) -> float:
    if np.isnan(values[-1]):
        return np.nan
    known = values[~np.isnan(values)]
    below, equal = (known < values[-1]).sum(), (known == values[-1]).sum()
    return float((below + (equal + 1) / 2) / len(known))


def _place(extreme: Callable[[Values], np.intp]) -> Callable[[Values], float]:
    return lambda values: float(extreme(values) + 1)  # numpy's argmax takes NaN for the extreme


def _corr(x: pd.Series, y: pd.Series, d: int) -> pd.Series:
    values = []
    x, y = (each.astype(float).replace([np.inf, -np.inf], np.nan) for each in (x, y))
    for end in range(1, len(x) + 1):
        a, b = (each.to_numpy()[max(0, end - d) : end] for each in (x, y))
        flat = any(
            np.sum(~np.isnan(each)) > 1 and np.nanstd(each, ddof=1) <= 2e-5 for each in (a, b)
        )
        both = ~np.isnan(a) & ~np.isnan(b)
        values.append(np.nan if flat or both.sum() < 2 else np.corrcoef(a[both], b[both])[0, 1])
    return pd.Series(values, index=x.index)


def _rises(x: pd.Series, d: int) -> pd.Series:
    return _mean((x > _ref(x, 1)).astype(float), d)


def _falls(x: pd.Series, d: int) -> pd.Series:
    return _mean((x < _ref(x, 1)).astype(float), d)


def _gains(x: pd.Series, d: int) -> pd.Series:
    return _sum((x - _ref(x, 1)).clip(lower=0), d)


def _losses(x: pd.Series, d: int) -> pd.Series:
    return _sum((_ref(x, 1) - x).clip(lower=0), d)


def _moves(x: pd.Series, d: int) -> pd.Series:
    return _sum((x - _ref(x, 1)).abs(), d) + 1e-12


def _top(f: Frame) -> pd.Series:
    return f[["open", "close"]].max(axis=1, skipna=False)


def _bottom(f: Frame) -> pd.Series:
    return f[["open", "close"]].min(axis=1, skipna=False)


def _span(f: Frame) -> pd.Series:
    return f.high - f.low + 1e-12


def _impact(f: Frame) -> pd.Series:
    return (f.close / _ref(f.close, 1) - 1).abs() * f.volume


def _highest(f: Frame, d: int) -> pd.Series:
    return _roll(f.high, d, np.nanmax)


def _lowest(f: Frame, d: int) -> pd.Series:
    return _roll(f.low, d, np.nanmin)


def _day_of_high(f: Frame, d: int) -> pd.Series:
    return _roll(f.high, d, _place(np.argmax))


def _day_of_low(f: Frame, d: int) -> pd.Series:
    return _roll(f.low, d, _place(np.argmin))


TWINS: dict[str, Twin] = {
    "KMID": lambda f, _: (f.close - f.open) / f.open,
    "KLEN": lambda f, _: (f.high - f.low) / f.open,
    "KMID2": lambda f, _: (f.close - f.open) / _span(f),
    "KUP": lambda f, _: (f.high - _top(f)) / f.open,
    "KUP2": lambda f, _: (f.high - _top(f)) / _span(f),
    "KLOW": lambda f, _: (_bottom(f) - f.low) / f.open,
    "KLOW2": lambda f, _: (_bottom(f) - f.low) / _span(f),
    "KSFT": lambda f, _: (2 * f.close - f.high - f.low) / f.open,
    "KSFT2": lambda f, _: (2 * f.close - f.high - f.low) / _span(f),
    "OPEN": lambda f, d: _ref(f.open, d) / f.close,
    "HIGH": lambda f, d: _ref(f.high, d) / f.close,
    "LOW": lambda f, d: _ref(f.low, d) / f.close,
    "CLOSE": lambda f, d: _ref(f.close, d) / f.close,
    "VWAP": lambda f, d: _ref(f.vwap, d) / f.close,
    "VOLUME": lambda f, d: _ref(f.volume, d) / (f.volume + 1e-12),
    "ROC": lambda f, d: _ref(f.close, d) / f.close,
    "MA": lambda f, d: _mean(f.close, d) / f.close,
    "STD": lambda f, d: _std(f.close, d) / f.close,
    "BETA": lambda f, d: _roll(f.close, d, lambda v: _line(v)[0]) / f.close,
    "RSQR": lambda f, d: _roll(f.close, d, lambda v: _line(v)[1]),
    "RESI": lambda f, d: _roll(f.close, d, lambda v: _line(v)[2]) / f.close,
    "MAX": lambda f, d: _highest(f, d) / f.close,
    "MIN": lambda f, d: _lowest(f, d) / f.close,
    "QTLU": lambda f, d: f.close.rolling(d, min_periods=1).quantile(0.8) / f.close,
    "QTLD": lambda f, d: f.close.rolling(d, min_periods=1).quantile(0.2) / f.close,
    "RANK": lambda f, d: _roll(f.close, d, _rank),
    "RSV": lambda f, d: (f.close - _lowest(f, d)) / (_highest(f, d) - _lowest(f, d) + 1e-12),
    "IMAX": lambda f, d: _day_of_high(f, d) / d,
    "IMIN": lambda f, d: _day_of_low(f, d) / d,
    "IMXD": lambda f, d: (_day_of_high(f, d) - _day_of_low(f, d)) / d,
    "CORR": lambda f, d: _corr(f.close, np.log(f.volume + 1), d),
    "CORD": lambda f, d: _corr(
        f.close / _ref(f.close, 1), np.log(f.volume / _ref(f.volume, 1) + 1), d
    ),
    "CNTP": lambda f, d: _rises(f.close, d),
    "CNTN": lambda f, d: _falls(f.close, d),
    "CNTD": lambda f, d: _rises(f.close, d) - _falls(f.close, d),
    "SUMP": lambda f, d: _gains(f.close, d) / _moves(f.close, d),
    "SUMN": lambda f, d: _losses(f.close, d) / _moves(f.close, d),
    "SUMD": lambda f, d: (_gains(f.close, d) - _losses(f.close, d)) / _moves(f.close, d),
    "VMA": lambda f, d: _mean(f.volume, d) / (f.volume + 1e-12),
    "VSTD": lambda f, d: _std(f.volume, d) / (f.volume + 1e-12),
    "WVMA": lambda f, d: _std(_impact(f), d) / (_mean(_impact(f), d) + 1e-12),
    "VSUMP": lambda f, d: _gains(f.volume, d) / _moves(f.volume, d),
    "VSUMN": lambda f, d: _losses(f.volume, d) / _moves(f.volume, d),
    "VSUMD": lambda f, d: (_gains(f.volume, d) - _losses(f.volume, d)) / _moves(f.volume, d),
}
