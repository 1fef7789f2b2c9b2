"""Sessions, stamps and bars in a year."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from quantlit.panel import ParquetSource, build_panel
from quantlit.panel.calendar import bar_stamps, bars_per_year, session_ids


def test_daily_bars_are_a_session_each() -> None:
    dates = pd.bdate_range("2020-01-01", periods=300).as_unit("ns").to_numpy()
    sessions = session_ids(dates)
    assert sessions.dtype == np.int32
    assert sessions.tolist() == list(range(300))
    assert bars_per_year(sessions) == 252.0


def test_stamps() -> None:
    dates = np.array(["2024-02-29T14:55", "2024-03-03T00:00"], dtype="datetime64[ns]")
    assert bar_stamps(dates).tolist() == [[55, 14, 3, 29, 2], [0, 0, 6, 3, 3]]


def test_five_minute_bars(data_dir: Path, tmp_path: Path) -> None:
    path = data_dir / "kronos_600977_5min.parquet"
    panel = build_panel(ParquetSource(str(path), min_assets=1), tmp_path / "store")
    frame = pd.read_parquet(path).sort_values("date")
    times = frame["date"].dt
    assert panel.symbols == ["600977.XSHG"]
    assert panel.fields == ["open", "high", "low", "close", "volume", "amount"]
    assert panel.values.shape == (2500, 1, 6)
    assert panel.sessions.tolist() == pd.factorize(times.normalize())[0].tolist()
    assert panel.sessions[-1] == 52
    # 51 whole sessions of 48 bars, and the first and the last one cut.
    assert panel.bars_per_year == 48 * 252
    expected = [times.minute, times.hour, times.day_of_week, times.day, times.month]
    np.testing.assert_array_equal(panel.stamps, np.stack(expected, axis=1))
    assert panel.stamps[0].tolist() == [15, 11, 1, 18, 6]
    np.testing.assert_array_equal(panel.field("amount")[:, 0], frame["amount"])
    assert panel.positions("2024-06-18", "2024-06-18") == range(28)
