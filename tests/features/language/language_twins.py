"""For every operator: expressions that use it, and a plain pandas twin of each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from quantlit.features import MAX_FILL

Frame = pd.DataFrame
Frames = dict[str, Frame]
Values = npt.NDArray[np.float64]
Twin = Callable[[Frames], Frame]
Real = float | np.floating


def _half(n: int, least: int = 1) -> int:
    return max(least, -(-n // 2))


def _each(frame: Frame, n: int, least: int, measure: Callable[[Values], Real]) -> Frame:
    """A measure of the known values of each window."""

    def known(values: Values) -> float:
        return float(measure(values[~np.isnan(values)]))

    return frame.rolling(n, min_periods=_half(n, least)).apply(known, raw=True)


def _aged(frame: Frame, n: int, least: int, measure: Callable[[Values, Values], Real]) -> Frame:
    """A measure of the known values of each window and of their ages in bars."""

    def known(values: Values) -> float:
        age = np.arange(len(values))[::-1].astype(float)
        keep = ~np.isnan(values)
        return float(measure(values[keep], age[keep]))

    return frame.rolling(n, min_periods=least).apply(known, raw=True)


def _pairs(x: Frame, y: Frame, n: int, measure: Callable[[Values, Values], Real]) -> Frame:
    """A measure of the pairs of each window that are known; NaN where x or y is constant."""
    out = Frame(np.nan, index=x.index, columns=x.columns)
    for asset in x.columns:
        for end in range(len(x)):
            both = pd.DataFrame({"x": x[asset], "y": y[asset]}).iloc[max(0, end - n + 1) : end + 1]
            both = both.dropna()
            if len(both) >= _half(n, 2):
                out.loc[end, asset] = measure(both["x"].to_numpy(), both["y"].to_numpy())
    return out


def _correlation(x: Values, y: Values) -> float:
    flat = len(set(x)) == 1 or len(set(y)) == 1
    return np.nan if flat else float(np.corrcoef(x, y)[0, 1])


def _slope(y: Values, x: Values) -> float:
    return np.nan if len(set(x)) == 1 else float(np.polyfit(x, y, 1)[0])


def _skew(values: Values) -> float:
    return 0.0 if len(set(values)) == 1 else float(stats.skew(values, bias=False))


def _ts_zscore(x: Frame, n: int) -> Frame:
    rolling = x.rolling(n, min_periods=_half(n, 2))
    flat = _each(x, n, 2, lambda values: len(set(values)) == 1) == 1
    std = _each(x, n, 2, lambda values: float(np.std(values, ddof=1)))
    return ((x - rolling.mean()) / std).mask(flat, 0.0).where(x.notna())


def _standard(frame: Frame) -> Frame:
    """Per row: less the mean, over the population's deviation; 0 without spread."""
    flat = frame.nunique(axis=1) == 1
    scores = frame.sub(frame.mean(axis=1), axis=0).div(frame.std(axis=1, ddof=0), axis=0)
    return scores.mask(np.tile(flat.to_numpy()[:, None], frame.shape[1]), 0.0).where(frame.notna())


def _by_group(x: Frame, g: Frame, measure: Callable[[pd.Series], pd.Series]) -> Frame:
    rows = [x.loc[t].groupby(g.loc[t]).transform(measure) for t in x.index]
    return Frame(rows).reset_index(drop=True).reindex(columns=x.columns)


def _group_zscore(values: pd.Series) -> pd.Series:
    scores = _standard(values.to_frame().T).iloc[0]
    return pd.Series(scores, index=values.index)


def _winsorised(x: Frame, limit: float) -> Frame:
    mean, band = x.mean(axis=1), limit * x.std(axis=1, ddof=0)
    return x.clip(mean - band, mean + band, axis=0)


def _bucket(x: Frame, k: int) -> Frame:
    share = x.rank(axis=1).mul(k).div(x.count(axis=1), axis=0)
    return share.apply(np.ceil) - 1.0


def _residual(y: Frame, x: Frame) -> Frame:
    out = Frame(np.nan, index=x.index, columns=x.columns)
    for t in x.index:
        both = pd.DataFrame({"x": x.loc[t], "y": y.loc[t]}).dropna()
        if len(both):
            design = np.column_stack([np.ones(len(both)), both["x"]])
            fitted = design @ np.linalg.lstsq(design, both["y"].to_numpy(), rcond=None)[0]
            out.loc[t, both.index] = both["y"] - fitted
    return out


def _compare(a: Frame, b: Frame, truth: Frame) -> Frame:
    return truth.astype(float).where(a.notna() & b.notna())


def _last(frame: Frame, limit: int = MAX_FILL) -> Frame:
    return frame.ffill(limit=limit)


def _ret(f: Frames) -> Frame:
    return f["close"] / _last(f["close"]).shift(1) - 1.0


def _logic(f: Frames, known: bool) -> Frame:
    """``x > 0 and y > 0`` or the same with ``or``, by pandas' three-valued logic."""
    out = {}
    for asset in f["x"]:
        x, y = f["x"][asset].astype("Float64"), f["y"][asset].astype("Float64")
        both = (x > 0) & (y > 0) if known else (x > 0) | (y > 0)
        out[asset] = both.astype("Float64").to_numpy(dtype=float, na_value=np.nan)
    return Frame(out)


def _where(f: Frames) -> Frame:
    chosen = f["y"].where(f["x"] > 0, f["close"])
    return chosen.where(f["x"].notna())


CELL: dict[str, list[tuple[str, Twin]]] = {
    "+": [("x + y", lambda f: f["x"] + f["y"])],
    "-": [("x - 2", lambda f: f["x"] - 2)],
    "*": [("0.5 * y", lambda f: 0.5 * f["y"])],
    "/": [("y / x", lambda f: f["y"] / f["x"].where(f["x"] != 0))],
    "power": [
        ("x ^ 2", lambda f: f["x"].pow(2)),
        ("power(close, x)", lambda f: f["close"].pow(f["x"]).where(f["x"].notna())),
        ("x ^ 0", lambda f: f["x"] * 0 + 1),
        ("x ^ 0.5", lambda f: f["x"].where(f["x"] >= 0).pow(0.5)),
    ],
    "negate": [("-x", lambda f: 0 - f["x"])],
    "<": [("x < y", lambda f: _compare(f["x"], f["y"], f["x"] < f["y"]))],
    "<=": [("x <= y", lambda f: _compare(f["x"], f["y"], f["x"] <= f["y"]))],
    ">": [("x > y", lambda f: _compare(f["x"], f["y"], f["x"] > f["y"]))],
    ">=": [("x >= y", lambda f: _compare(f["x"], f["y"], f["x"] >= f["y"]))],
    "==": [("x == y", lambda f: _compare(f["x"], f["y"], f["x"] == f["y"]))],
    "!=": [("x != y", lambda f: _compare(f["x"], f["y"], f["x"] != f["y"]))],
    "and": [("x > 0 and y > 0", lambda f: _logic(f, True))],
    "or": [("x > 0 or y > 0", lambda f: _logic(f, False))],
    "not": [("not x > 0", lambda f: _compare(f["x"], f["x"], ~(f["x"] > 0)))],
    "where": [("where(x > 0, y, close)", _where)],
    "abs": [("abs(x)", lambda f: f["x"].abs())],
    "sign": [("sign(x)", lambda f: f["x"].apply(np.sign))],
    "log": [("log(x)", lambda f: f["x"].where(f["x"] > 0).apply(np.log))],
    "exp": [("exp(x)", lambda f: f["x"].apply(np.exp))],
    "sqrt": [("sqrt(x)", lambda f: f["x"].where(f["x"] >= 0).apply(np.sqrt))],
    "min": [("min(x, y)", lambda f: f["x"].where(f["x"] < f["y"], f["y"]).where(f["x"].notna()))],
    "max": [("max(x, y)", lambda f: f["x"].where(f["x"] > f["y"], f["y"]).where(f["x"].notna()))],
    "clip": [("clip(x, -1, 0.5)", lambda f: f["x"].clip(-1, 0.5))],
}

TIME: dict[str, list[tuple[str, Twin]]] = {
    "delay": [("delay(x, 3)", lambda f: f["x"].shift(3))],
    "delta": [("delta(x, 3)", lambda f: f["x"] - f["x"].shift(3))],
    "returns": [
        ("returns(close, 4)", lambda f: f["close"] / _last(f["close"]).shift(4) - 1),
        ("returns(x, 1)", lambda f: f["x"] / _last(f["x"]).shift().where(lambda v: v != 0) - 1),
    ],
    "last": [("last(x)", lambda f: _last(f["x"]))],
    "fill": [("fill(x, 2)", lambda f: _last(f["x"], 2))],
    "ts_mean": [("ts_mean(x, 5)", lambda f: _each(f["x"], 5, 1, np.mean))],
    "ts_sum": [("ts_sum(x, 5)", lambda f: _each(f["x"], 5, 1, np.sum))],
    "ts_std": [("ts_std(y, 5)", lambda f: _each(f["y"], 5, 2, lambda v: np.std(v, ddof=1)))],
    "ts_var": [("ts_var(y, 2)", lambda f: _each(f["y"], 2, 2, lambda v: np.var(v, ddof=1)))],
    "ts_min": [("ts_min(x, 6)", lambda f: f["x"].rolling(6, min_periods=3).min())],
    "ts_max": [("ts_max(x, 6)", lambda f: f["x"].rolling(6, min_periods=3).max())],
    "ts_argmin": [
        ("ts_argmin(x, 7)", lambda f: _aged(f["x"], 7, 4, lambda v, age: age[v == v.min()].min()))
    ],
    "ts_argmax": [
        ("ts_argmax(x, 7)", lambda f: _aged(f["x"], 7, 4, lambda v, age: age[v == v.max()].min()))
    ],
    "ts_rank": [
        ("ts_rank(x, 9)", lambda f: f["x"].rolling(9, min_periods=5).rank(pct=True)),
    ],
    "ts_median": [("ts_median(x, 6)", lambda f: f["x"].rolling(6, min_periods=3).median())],
    "ts_quantile": [
        ("ts_quantile(x, 9, 0.2)", lambda f: f["x"].rolling(9, min_periods=5).quantile(0.2)),
        ("ts_quantile(x, 4, 1)", lambda f: f["x"].rolling(4, min_periods=2).max()),
    ],
    "ts_skew": [("ts_skew(x, 8)", lambda f: _each(f["x"], 8, 3, _skew))],
    "ts_zscore": [("ts_zscore(x, 6)", lambda f: _ts_zscore(f["x"], 6))],
    "ts_corr": [("ts_corr(x, y, 8)", lambda f: _pairs(f["x"], f["y"], 8, _correlation))],
    "ts_cov": [
        ("ts_cov(x, y, 8)", lambda f: _pairs(f["x"], f["y"], 8, lambda x, y: np.cov(x, y)[0, 1]))
    ],
    "ts_beta": [("ts_beta(y, x, 8)", lambda f: _pairs(f["y"], f["x"], 8, _slope))],
    "ts_slope": [
        ("ts_slope(x, 6)", lambda f: _aged(f["x"], 6, 3, lambda v, age: np.polyfit(-age, v, 1)[0]))
    ],
    "ts_decay": [
        (
            "ts_decay(x, 5)",
            lambda f: _aged(f["x"], 5, 3, lambda v, age: np.average(v, weights=5 - age)),
        )
    ],
    "ts_product": [("ts_product(y, 4)", lambda f: _each(f["y"], 4, 1, np.prod))],
    "ts_count": [
        (
            "ts_count(x > 0, 5)",
            lambda f: (f["x"] > 0).where(f["x"].notna()).astype(float).rolling(5, 3).sum(),
        )
    ],
    "ema": [
        (
            "ema(x, 4)",
            lambda f: _aged(f["x"], 12, 2, lambda v, age: np.average(v, weights=0.6**age)),
        )
    ],
}

CROSS: dict[str, list[tuple[str, Twin]]] = {
    "rank": [
        ("rank(x)", lambda f: f["x"].rank(axis=1, pct=True)),
        (
            "rank(delay(x, 1))",
            lambda f: f["x"].shift(1).where(f["close"].notna()).rank(axis=1, pct=True),
        ),
    ],
    "zscore": [("zscore(x)", lambda f: _standard(f["x"]))],
    "demean": [("demean(x)", lambda f: f["x"].sub(f["x"].mean(axis=1), axis=0))],
    "scale": [
        (
            "scale(x)",
            lambda f: f["x"].div(f["x"].abs().sum(axis=1).where(lambda v: v != 0), axis=0),
        )
    ],
    "winsorise": [("winsorise(x, 1)", lambda f: _winsorised(f["x"], 1.0))],
    "bucket": [("bucket(x, 3)", lambda f: _bucket(f["x"], 3))],
    "regress_out": [("regress_out(y, x)", lambda f: _residual(f["y"], f["x"]))],
    "neutralise": [
        ("neutralise(x, g)", lambda f: _by_group(f["x"], f["g"], lambda s: s - s.mean()))
    ],
    "group_rank": [
        ("group_rank(x, g)", lambda f: _by_group(f["x"], f["g"], lambda s: s.rank(pct=True)))
    ],
    "group_zscore": [("group_zscore(x, g)", lambda f: _by_group(f["x"], f["g"], _group_zscore))],
}

SERIES_TWINS: dict[str, list[tuple[str, Twin]]] = {
    "ret": [("ret", _ret)],
    "market": [
        (
            "market + 0",
            lambda f: Frame({asset: _ret(f).mean(axis=1) for asset in f["close"]}),
        )
    ],
}

TWINS = {**CELL, **TIME, **CROSS}
CASES: dict[str, Twin] = {
    text: twin for cases in (*TWINS.values(), *SERIES_TWINS.values()) for text, twin in cases
}
"""Twin by expression."""
