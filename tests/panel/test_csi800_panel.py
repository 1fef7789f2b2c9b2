"""The flagship data: 772 A-shares, unadjusted prices, returns in per cent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from quantlit.panel import Panel, ParquetSource, ReturnColumn, build_panel

FILE = "ashare_csi800_daily_2017_2019.parquet"


@pytest.fixture(scope="module")
def frame(data_dir: Path) -> pd.DataFrame:
    return pd.read_parquet(data_dir / FILE)


@pytest.fixture(scope="module")
def panel(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Panel:
    source = ParquetSource(
        str(data_dir / FILE),
        returns=ReturnColumn(column="p_change", unit="percent"),
        extra=["csi300"],
    )
    return build_panel(source, tmp_path_factory.mktemp("csi800") / "store")


@pytest.fixture(scope="module")
def wide(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """The file's columns by pandas' own pivot, ``[T, N]`` float64."""
    columns = ["open", "high", "low", "close", "volume", "p_change", "csi300"]
    table = frame.astype({"symbol": "str", "csi300": "float"})
    return {
        name: table.pivot(index="date", columns="symbol", values=name).to_numpy(np.float64)
        for name in columns
    }


def test_counts(panel: Panel) -> None:
    assert panel.values.shape == (612, 772, 7)
    assert panel.fields == ["open", "high", "low", "close", "volume", "factor", "csi300"]
    assert int(panel.observed.sum()) == 460_829
    assert str(panel.dates[0])[:10] == "2017-05-31"
    assert str(panel.dates[-1])[:10] == "2019-11-28"
    assert panel.symbols[0] == "000001"
    assert panel.bars_per_year == 252.0
    assert int(panel.field("csi300")[0][panel.observed[0]].sum()) > 200
    # The benchmark's splits by index: train 0..390, valid 391..469, test 470..611.
    assert panel.positions("2017-05-31", "2018-12-28") == range(0, 391)
    assert panel.positions("2019-01-02", "2019-04-30") == range(391, 470)
    assert panel.positions("2019-05-06", "2019-11-28") == range(470, 612)


def test_adjusted_returns_are_the_reported_ones(
    panel: Panel,
    wide: dict[str, np.ndarray],
) -> None:
    close = panel.field("close").astype(np.float64)
    both = panel.observed[1:] & panel.observed[:-1]
    returns = close[1:] / close[:-1] - 1.0
    np.testing.assert_allclose(returns[both], wide["p_change"][1:][both] / 100.0, rtol=0, atol=1e-6)
    assert int(both.sum()) > 450_000
    raw_returns = wide["close"][1:] / wide["close"][:-1] - 1.0
    # The raw prices hold dividends and splits, which the adjusted ones do not.
    assert np.nanmax(np.abs(raw_returns - wide["p_change"][1:] / 100.0)) > 0.3


def test_prices_start_raw_and_keep_their_ratios(
    panel: Panel,
    wide: dict[str, np.ndarray],
) -> None:
    close = panel.field("close").astype(np.float64)
    first = panel.observed.argmax(axis=0)
    assets = np.arange(len(panel.symbols))
    np.testing.assert_array_equal(close[first, assets], wide["close"][first, assets])
    for name in ("open", "high", "low"):
        np.testing.assert_allclose(
            panel.field(name) / close, wide[name] / wide["close"], rtol=1e-6, atol=0
        )
    np.testing.assert_allclose(close / panel.field("factor"), wide["close"], rtol=1e-6)
    np.testing.assert_allclose(
        close * panel.field("volume"), wide["close"] * wide["volume"], rtol=1e-6
    )
    np.testing.assert_array_equal(np.isfinite(wide["close"]), panel.observed)
    np.testing.assert_array_equal(panel.field("csi300"), wide["csi300"])


def test_a_truncated_file_gives_the_same_prices(
    panel: Panel, frame: pd.DataFrame, tmp_path: Path
) -> None:
    """No level depends on a later bar."""
    cut = frame[frame["date"] < pd.Timestamp("2018-06-01").date()]
    cut.to_parquet(tmp_path / "cut.parquet")
    source = ParquetSource(
        str(tmp_path / "cut.parquet"),
        returns=ReturnColumn(column="p_change", unit="percent"),
        extra=["csi300"],
    )
    short = build_panel(source, tmp_path / "store")
    assets = [panel.symbols.index(symbol) for symbol in short.symbols]
    np.testing.assert_array_equal(short.values, panel.values[: len(short.dates)][:, assets])
