"""SyntheticSource: what is planted is there, of the size that was asked for, and nowhere else."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from jsonargparse import ArgumentParser
from scipy import stats

from quantlit.core import ConfigError
from quantlit.panel import PanelSource, RawPanel, SyntheticSource, build_panel
from quantlit.panel.sources.simulation import expected_rank_ic

Array = npt.NDArray[np.float64]


def field(raw: RawPanel, name: str) -> Array:
    return raw.values[:, :, raw.fields.index(name)].astype(np.float64)


def labels(raw: RawPanel, delay: int) -> Array:
    """``close[t + delay + 1] / close[t + delay] - 1``, NaN where a bar is absent."""
    close = field(raw, "close")
    label = np.full_like(close, np.nan)
    label[: len(close) - delay - 1] = close[delay + 1 :] / close[delay : len(close) - 1] - 1.0
    return label


def correlations(x: Array, y: Array) -> Array:
    """Pearson correlation of each row over the cells known in both, which are at least 5."""
    known = np.isfinite(x) & np.isfinite(y)
    rows = known.sum(axis=1) >= 5
    x, y = (np.where(known, values, np.nan)[rows] for values in (x, y))
    x, y = (values - np.nanmean(values, axis=1, keepdims=True) for values in (x, y))
    return np.asarray(
        np.nansum(x * y, axis=1) / np.sqrt(np.nansum(x**2, axis=1) * np.nansum(y**2, axis=1))
    )


def measure(score: Array, label: Array) -> tuple[float, float, float]:
    """Mean IC, mean rank IC and the latter's standard error over dates."""
    known = np.isfinite(score) & np.isfinite(label)
    ranks = [
        stats.rankdata(np.where(known, values, np.nan), axis=1, nan_policy="omit")
        for values in (score, label)
    ]
    rank = correlations(*ranks)
    return (
        float(correlations(score, label).mean()),
        float(rank.mean()),
        float(rank.std() / math.sqrt(len(rank))),
    )


@pytest.mark.parametrize(
    ("ic", "delay", "spread", "seed"),
    [(0.1, 1, 0.3, 0), (0.1, 0, 0.3, 1), (0.05, 2, 0.6, 2), (-0.2, 1, 0.0, 3), (0.5, 1, 0.5, 4)],
)
def test_the_oracle_earns_what_was_planted(ic: float, delay: int, spread: float, seed: int) -> None:
    source = SyntheticSource(
        n_assets=150, n_dates=1000, ic=ic, delay=delay, volatility_spread=spread, seed=seed
    )
    raw = source.load()
    planted = source.planted_signal()
    assert (planted.ic, planted.delay) == (ic, delay)
    mean, rank, error = measure(planted.values, labels(raw, delay))
    assert abs(mean - planted.ic) < 3.5 * error
    assert abs(rank - planted.rank_ic) < 3.5 * error
    assert error < 0.004
    for wrong in {0, 1, 2, 3} - {delay}:
        _, nothing, error = measure(planted.values, labels(raw, wrong))
        assert abs(nothing) < 3.5 * error


def test_the_oracle_on_a_range_of_dates(tmp_path: Path) -> None:
    """As the documentation does it: on the store's own calendar."""
    source = SyntheticSource(n_assets=100, n_dates=600)
    panel = build_panel(source, tmp_path / "store")
    rows = panel.positions("2011-01-01", "2011-12-31")
    raw = RawPanel(panel.dates, panel.symbols, panel.fields, panel.values, panel.observed)
    planted = source.planted_signal()
    some = slice(rows.start, rows.stop)
    _, rank, error = measure(planted.values[some], labels(raw, planted.delay)[some])
    assert len(rows) > 250
    assert abs(rank - planted.rank_ic) < 3.5 * error


def test_nothing_but_the_signal_forecasts() -> None:
    raw = SyntheticSource(n_assets=150, n_dates=800, ic=0.3).load()
    close, volume = field(raw, "close"), field(raw, "volume")
    reversal = np.full_like(close, np.nan)
    reversal[5:] = close[5:] / close[:-5]
    for score in (reversal, volume):
        _, rank, error = measure(score, labels(raw, 1))
        assert abs(rank) < 3.5 * error


def test_expected_rank_ic_by_simulation() -> None:
    """Sheppard and Moran against a hundred thousand small cross-sections."""
    noise = np.array([0.5, 1.0, 1.0, 2.0, 4.0, 0.8])
    rng = np.random.default_rng(0)
    signal = rng.standard_normal((100_000, len(noise)))
    outcome = 0.7 * signal + noise * rng.standard_normal(signal.shape)
    ranks = [stats.rankdata(x, axis=1) - 3.5 for x in (signal, outcome)]
    measured = (ranks[0] * ranks[1]).sum(axis=1) / 17.5
    error = measured.std() / math.sqrt(len(measured))
    assert abs(measured.mean() - expected_rank_ic(0.7, noise)) < 3 * error


def test_expected_rank_ic_of_many_equal_assets() -> None:
    """The classical limit, 6 / pi arcsin(r / 2)."""
    r = 0.3
    value = expected_rank_ic(r, np.full(2000, math.sqrt(1 - r**2)))
    assert value == pytest.approx(6 / math.pi * math.asin(r / 2), rel=1e-3)
    assert expected_rank_ic(0.0, np.ones(10)) == 0.0


def test_the_signal_is_read_from_the_bar() -> None:
    source = SyntheticSource(n_assets=50, n_dates=400)
    raw = source.load()
    high, low, close = field(raw, "high"), field(raw, "low"), field(raw, "close")
    open_range = raw.observed & (high - low > 1e-3 * close)
    assert open_range.sum() > 0.98 * raw.observed.sum()
    place = (close - low)[open_range] / (high - low)[open_range]
    planted = source.planted_signal().values[open_range]
    np.testing.assert_allclose(place, stats.norm.cdf(planted), rtol=0, atol=5e-4)


def test_bars_are_possible() -> None:
    raw = SyntheticSource(n_assets=100, n_dates=1500).load()
    seen = raw.observed
    opens, high, low, close, volume = (field(raw, name)[seen] for name in raw.fields)
    assert raw.fields == ["open", "high", "low", "close", "volume"]
    assert (low > 0).all() and (volume > 0).all()
    assert (low <= np.minimum(opens, close)).all() and (high >= np.maximum(opens, close)).all()
    assert np.isnan(raw.values[~seen]).all()


def test_price_limits() -> None:
    """No bar leaves its limits; one that closes at a limit is locked there."""
    raw = SyntheticSource(n_assets=100, n_dates=1000, limit=0.05, missing=0, suspension=0).load()
    close, high, low = field(raw, "close"), field(raw, "high"), field(raw, "low")
    moves = close[1:] / close[:-1] - 1.0
    assert np.abs(moves).max() < 0.05 + 1e-6
    assert (high[1:] / close[:-1] - 1.0).max() < 0.05 + 1e-6
    assert (low[1:] / close[:-1] - 1.0).min() > -0.05 - 1e-6
    locked = np.abs(moves) > 0.05 - 1e-6
    assert 0.005 < locked.mean() < 0.1
    assert (high[1:][locked] - low[1:][locked] <= 1e-6 * close[1:][locked]).all()
    free = SyntheticSource(n_assets=100, n_dates=1000, limit=None, missing=0, suspension=0).load()
    close = field(free, "close")
    assert np.abs(close[1:] / close[:-1] - 1.0).max() > 0.12


def test_absent_bars() -> None:
    shape: dict[str, Any] = {"n_assets": 100, "n_dates": 2000}
    raw = SyntheticSource(**shape, missing=0.02, suspension=0).load()
    assert (~raw.observed).mean() == pytest.approx(0.02, rel=0.1)
    raw = SyntheticSource(**shape, missing=0, suspension=0.002, suspension_length=10).load()
    assert (~raw.observed).mean() == pytest.approx(0.02, rel=0.2)
    padded = np.pad(raw.observed.astype(int), ((1, 1), (0, 0)), constant_values=1)
    runs = int((np.diff(padded, axis=0) == -1).sum())
    assert (~raw.observed).sum() / runs == pytest.approx(10, rel=0.15)
    assert SyntheticSource(**shape, missing=0, suspension=0).load().observed.all()


def test_the_price_rests_while_absent() -> None:
    """The first bar after a suspension moves no more than any other."""
    raw = SyntheticSource(n_assets=100, n_dates=2000, suspension=0.01, suspension_length=20).load()
    close = field(raw, "close")
    resumed = raw.observed[1:] & ~raw.observed[:-1]
    filled = close.copy()
    for bar in range(1, len(filled)):
        filled[bar] = np.where(raw.observed[bar], filled[bar], filled[bar - 1])
    moves = (filled[1:] / filled[:-1] - 1.0)[resumed]
    moves = moves[np.isfinite(moves)]
    assert len(moves) > 1000
    assert np.abs(moves).max() < 0.1 + 1e-6


def test_a_market_and_volatilities_that_stay() -> None:
    raw = SyntheticSource(n_assets=100, n_dates=2000, missing=0, suspension=0).load()
    close = field(raw, "close")
    returns = close[1:] / close[:-1] - 1.0
    own = returns - returns.mean(axis=1, keepdims=True)
    assert returns.mean(axis=1).std() == pytest.approx(0.01, rel=0.25)
    assert np.sqrt((own**2).mean()) == pytest.approx(0.02, rel=0.25)
    halves = [np.log(half.std(axis=0)) for half in (own[:1000], own[1000:])]
    assert np.corrcoef(halves)[0, 1] > 0.95
    assert halves[0].std() == pytest.approx(0.3, rel=0.2)
    size = np.abs(own).mean(axis=1)
    assert np.corrcoef(size[1:], size[:-1])[0, 1] > 0.5  # calm and wild times come in clusters


def test_persistence() -> None:
    source = SyntheticSource(n_assets=100, n_dates=1000, persistence=0.8, ic=0.1)
    signal = source.planted_signal().values
    assert np.corrcoef(signal[1:].ravel(), signal[:-1].ravel())[0, 1] == pytest.approx(
        0.8, abs=0.01
    )
    assert signal.std() == pytest.approx(1.0, abs=0.02)
    raw = source.load()
    _, rank, error = measure(signal, labels(raw, 1))
    assert abs(rank - source.planted_signal().rank_ic) < 3.5 * error
    _, near, error = measure(signal, labels(raw, 2))
    assert abs(near - 0.8 * source.planted_signal().rank_ic) < 3.5 * error


def test_seeds_and_parts() -> None:
    shape: dict[str, Any] = {"n_assets": 10, "n_dates": 50}
    first, again = SyntheticSource(**shape).load(), SyntheticSource(**shape).load()
    np.testing.assert_array_equal(first.values, again.values)
    assert not np.array_equal(
        np.nan_to_num(first.values), np.nan_to_num(SyntheticSource(**shape, seed=1).load().values)
    )
    whole = SyntheticSource(**shape, missing=0, suspension=0).load()
    assert whole.symbols == first.symbols == [f"S{asset}" for asset in range(10)]
    # Absence is drawn apart: the place of the close in its range stays where the bar is there.
    place = [
        (field(raw, "close") - field(raw, "low")) / (field(raw, "high") - field(raw, "low"))
        for raw in (first, whole)
    ]
    np.testing.assert_allclose(place[0][first.observed], place[1][first.observed], atol=1e-4)


def test_fingerprint_covers_every_setting() -> None:
    first = SyntheticSource().fingerprint()
    assert SyntheticSource().fingerprint() == first
    changed = [
        SyntheticSource(n_assets=201),
        SyntheticSource(ic=0.11),
        SyntheticSource(limit=None),
        SyntheticSource(seed=1),
        SyntheticSource(start="2011-01-03"),
    ]
    assert len({source.fingerprint() for source in changed} | {first}) == 6


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("n_assets", 1),
        ("n_dates", 1),
        ("ic", 1.0),
        ("delay", -1),
        ("persistence", 1.0),
        ("volatility", 0.0),
        ("missing", 1.5),
        ("suspension_length", 0.5),
        ("limit", 0.0),
    ],
)
def test_impossible_settings(setting: str, value: float) -> None:
    with pytest.raises(ConfigError, match=rf"SyntheticSource\.{setting} is {value}; give "):
        SyntheticSource(**{setting: value})  # type: ignore[arg-type]


def test_a_start_that_is_no_date() -> None:
    with pytest.raises(ConfigError, match="SyntheticSource.start is 'soon', which is no date"):
        SyntheticSource(start="soon")


def test_from_the_command_line(tmp_path: Path) -> None:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(PanelSource, "source")
    arguments = ["--source=SyntheticSource", "--source.n_assets=5", "--source.limit=null"]
    config = parser.instantiate(parser.parse_args(arguments))
    assert build_panel(config.source, tmp_path / "store").values.shape == (1500, 5, 5)
