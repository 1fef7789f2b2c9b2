"""Every factor of the sets price and price_volume against a plain pandas twin."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from quantlit.features import MAX_FILL, Bars, factor_sets

FACTORS = {
    factor.name: factor for name in ("price", "price_volume") for factor in factor_sets()[name]
}
Market = tuple[dict[str, npt.NDArray[np.float64]], npt.NDArray[np.bool_]]
Frames = dict[str, pd.DataFrame]
Twin = Callable[[Frames, int], pd.DataFrame]


def _half(window: int, least: int = 2) -> int:
    return max(least, -(-window // 2))


def _rolling(
    frame: pd.DataFrame, window: int, least: int = 2
) -> pd.api.typing.Rolling[pd.DataFrame]:
    return frame.rolling(window, min_periods=_half(window, least))


def _last(frames: Frames) -> pd.DataFrame:
    return frames["close"].ffill(limit=MAX_FILL)


def _returns(frames: Frames) -> pd.DataFrame:
    return frames["close"] / _last(frames).shift(1) - 1.0


def _log(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.where(frame > 0).apply(np.log)


def _place(x: pd.DataFrame, low: pd.DataFrame, high: pd.DataFrame) -> pd.DataFrame:
    span = high - low
    return ((x - low) / span.where(span != 0)).mask(span == 0, 0.5)


def _return(frames: Frames, window: int) -> pd.DataFrame:
    return frames["close"] / _last(frames).shift(window) - 1.0


def _volatility(frames: Frames, window: int) -> pd.DataFrame:
    return _rolling(_returns(frames), window).std()


def _skewness(frames: Frames, window: int) -> pd.DataFrame:
    # Written out: pandas 2 and 3 treat windows without spread differently.
    def skew(values: npt.NDArray[np.float64]) -> float:
        known = values[~np.isnan(values)]
        n, spread = len(known), known.std(ddof=1)
        if spread <= 1e-6 * abs(known.mean()):
            return 0.0
        return float(n / ((n - 1) * (n - 2)) * (((known - known.mean()) / spread) ** 3).sum())

    return _rolling(_returns(frames), window, 3).apply(skew, raw=True)


def _max_return(frames: Frames, window: int) -> pd.DataFrame:
    return _rolling(_returns(frames), window).max()


def _distance(frames: Frames, window: int) -> pd.DataFrame:
    return frames["close"] / _rolling(frames["close"], window).mean() - 1.0


def _close_position(frames: Frames, window: int) -> pd.DataFrame:
    rolling = _rolling(frames["close"], window)
    return _place(frames["close"], rolling.min(), rolling.max())


def _beta(frames: Frames, window: int) -> pd.DataFrame:
    returns = _returns(frames)
    market = returns.mean(axis=1)
    columns = {}
    for asset in returns:
        mean = market.where(returns[asset].notna())
        covariance = returns[asset].rolling(window, min_periods=_half(window)).cov(mean)
        columns[asset] = covariance / mean.rolling(window, min_periods=_half(window)).var()
    return pd.DataFrame(columns)


def _day_position(frames: Frames, _: int) -> pd.DataFrame:
    return _place(frames["close"], frames["low"], frames["high"])


def _day_range(frames: Frames, _: int) -> pd.DataFrame:
    return _log(frames["high"] / frames["low"])


def _overnight_return(frames: Frames, _: int) -> pd.DataFrame:
    return frames["open"] / _last(frames).shift(1) - 1.0


def _intraday_return(frames: Frames, _: int) -> pd.DataFrame:
    return frames["close"] / frames["open"] - 1.0


def _true_range(frames: Frames, window: int) -> pd.DataFrame:
    previous = _last(frames).shift(1)
    top = frames["high"].where(~(previous > frames["high"]), previous)
    bottom = frames["low"].where(~(previous < frames["low"]), previous)
    return _rolling((top - bottom) / frames["close"], window).mean()


def _range_position(frames: Frames, window: int) -> pd.DataFrame:
    lowest = _rolling(frames["low"], window).min()
    return _place(frames["close"], lowest, _rolling(frames["high"], window).max())


def _volume_shock(frames: Frames, window: int) -> pd.DataFrame:
    return _log(frames["volume"] / _rolling(frames["volume"], window).mean())


def _volume_trend(frames: Frames, window: int) -> pd.DataFrame:
    short = _rolling(frames["volume"], 5).mean()
    return _log(short / _rolling(frames["volume"], window).mean())


def _correlation(x: pd.DataFrame, y: pd.DataFrame, window: int) -> pd.DataFrame:
    def pearson(asset: object) -> pd.Series:
        pairs = pd.DataFrame({"x": x[asset], "y": y[asset]})
        values = []
        for end in range(1, len(pairs) + 1):
            known = pairs.iloc[max(0, end - window) : end].dropna()
            flat = (
                len(known) < _half(window) or known["x"].nunique() < 2 or known["y"].nunique() < 2
            )
            values.append(np.nan if flat else np.corrcoef(known["x"], known["y"])[0, 1])
        return pd.Series(values, index=pairs.index)

    return pd.DataFrame({asset: pearson(asset) for asset in x})


def _volume_correlation(frames: Frames, window: int) -> pd.DataFrame:
    return _correlation(frames["close"], _log(frames["volume"]), window)


def _volume_return_correlation(frames: Frames, window: int) -> pd.DataFrame:
    volume = _log(frames["volume"])
    change = volume - volume.ffill(limit=MAX_FILL).shift(1)
    return _correlation(_returns(frames), change, window)


def _illiquidity(frames: Frames, window: int) -> pd.DataFrame:
    money = (frames["close"] * frames["volume"]).where(lambda value: value > 0)
    return _log(_rolling(_returns(frames).abs() / money, window).mean())


def _dollar_volume(frames: Frames, window: int) -> pd.DataFrame:
    return _log(_rolling(frames["close"] * frames["volume"], window).mean())


TWINS: dict[str, Twin] = {
    "return": _return,
    "volatility": _volatility,
    "skewness": _skewness,
    "max_return": _max_return,
    "distance": _distance,
    "close_position": _close_position,
    "beta": _beta,
    "day_position": _day_position,
    "day_range": _day_range,
    "overnight_return": _overnight_return,
    "intraday_return": _intraday_return,
    "true_range": _true_range,
    "range_position": _range_position,
    "volume_shock": _volume_shock,
    "volume_trend": _volume_trend,
    "volume_correlation": _volume_correlation,
    "volume_return_correlation": _volume_return_correlation,
    "illiquidity": _illiquidity,
    "dollar_volume": _dollar_volume,
}


@pytest.mark.parametrize("name", FACTORS)
def test_factor_equals_its_pandas_twin(name: str, market: Market) -> None:
    factor = FACTORS[name]
    fields, observed = market
    stem = name.rstrip("0123456789_")
    with np.errstate(all="ignore"):
        found = np.where(observed, factor.compute(Bars(fields, observed)), np.nan)
    frames = {field: pd.DataFrame(values) for field, values in fields.items()}
    wanted = TWINS[stem](frames, getattr(factor, "window", 1)).where(observed).to_numpy()
    assert np.isfinite(found).mean() > 0.5
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)


def test_every_factor_has_a_twin() -> None:
    assert {name.rstrip("0123456789_") for name in FACTORS} == set(TWINS)


def test_a_suspension_carries_the_last_close_for_a_while() -> None:
    close = np.full((60, 1), np.nan)
    close[0], close[MAX_FILL], close[50:] = 10.0, 11.0, 22.0
    bars = Bars({"close": close}, np.isfinite(close))
    assert bars.returns[MAX_FILL, 0] == pytest.approx(0.1)
    assert np.isnan(bars.returns[50, 0])  # the last close is 30 bars old
    assert bars.returns[51, 0] == 0.0
