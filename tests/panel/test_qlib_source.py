"""QlibSource: what it reads of a Qlib store, by hand, by other projects' data, by the command."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from jsonargparse import ArgumentParser
from qlib_store import DAYS, write_bin, write_lines, write_store

from quantlit.core import ConfigError
from quantlit.panel import PanelSource, QlibSource, RawPanel, build_panel

NAN = np.nan


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return write_store(tmp_path / "qlib")


def load(store: Path, **settings: object) -> RawPanel:
    """Load as a config would: settings by name, checked."""
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(PanelSource, "source")
    config = {"class_path": "QlibSource", "init_args": {"path": str(store), **settings}}
    source = parser.instantiate(parser.parse_object({"source": config})).source
    raw: RawPanel = source.load()
    raw.check()
    return raw


def test_a_whole_store(store: Path) -> None:
    raw = load(store)
    assert raw.symbols == ["SH600000", "SZ000001"]
    assert raw.fields == ["open", "close", "volume", "vwap", "factor", "change"]
    assert [str(date)[:10] for date in raw.dates] == list(DAYS)
    assert raw.observed.tolist() == [
        [True, seen] for seen in (False, True, False, True, False, False)
    ]
    close = raw.values[:, :, 1]
    np.testing.assert_array_equal(close[:, 0], [10, 11, 12, 11.5, 11, 12])
    np.testing.assert_array_equal(close[:, 1], [NAN, 5, NAN, 6, NAN, NAN])
    np.testing.assert_array_equal(raw.values[:, 0, 0], close[:, 0] - 0.25)
    assert np.isnan(raw.values[~raw.observed]).all(), "the volume of an unseen bar is unknown too"
    assert np.isnan(raw.values[:, 1, 3]).all(), "SZ000001 has no file of the vwap"


def test_equal_to_the_oracle(oracles_dir: Path, tmp_path: Path) -> None:
    folder = oracles_dir / "alpha158"
    panel = build_panel(QlibSource(path=str(folder / "qlib_bin")), tmp_path / "store")
    bars = pd.read_parquet(folder / "bars.parquet").astype({"symbol": "str"})
    assert panel.fields == ["open", "high", "low", "close", "volume", "vwap"]
    for name in panel.fields:
        wide = bars.pivot(index="date", columns="symbol", values=name)
        assert panel.symbols == list(wide.columns)
        wide = wide.reindex(pd.DatetimeIndex(panel.dates))
        np.testing.assert_array_equal(panel.field(name), wide.to_numpy(np.float32))
        np.testing.assert_array_equal(panel.observed, wide.notna())


@pytest.mark.parametrize("freq", ["1min", "5min", "60min"])
def test_intraday(tmp_path: Path, freq: str) -> None:
    """Three days with a break at noon, beside daily bars; one asset starts on the second."""
    day = [pd.Timestamp("2021-03-01 09:30") + pd.Timedelta(freq) * i for i in range(1, 121)]
    day += [moment + pd.Timedelta("2h") for moment in day]
    day = [moment for moment in day if moment.hour < 15]
    dates = sorted({moment + pd.Timedelta(n, unit="D") for moment in day for n in range(3)})
    store = write_store(tmp_path / "qlib")
    write_lines(store / "calendars" / f"{freq}.txt", [str(date) for date in dates])
    lines = ["SH600000\t2021-03-01\t2021-03-03", "SZ000001\t2021-03-02\t2021-03-02"]
    write_lines(store / "instruments" / "all.txt", lines)
    closes = np.random.default_rng(0).lognormal(size=len(dates)).astype(np.float32)
    start = len(dates) // 3
    write_bin(store / "features" / "sh600000" / f"close.{freq}.bin", 0, closes.tolist())
    write_bin(store / "features" / "sz000001" / f"close.{freq}.bin", start, closes[start:].tolist())
    raw = load(store, freq=freq, universe=True)
    assert raw.fields == ["close", "in_universe"]
    assert raw.dates.tolist() == pd.DatetimeIndex(dates).as_unit("ns").to_numpy().tolist()
    np.testing.assert_array_equal(raw.values[:, 0, 0], closes)
    np.testing.assert_array_equal(raw.values[start:, 1, 0], closes[start:])
    assert not raw.observed[:start, 1].any()
    days = pd.DatetimeIndex(raw.dates).day.to_numpy()
    seen = raw.observed[:, 1]
    np.testing.assert_array_equal(raw.values[seen, 1, 1], days[seen] == 2)


def test_fields_in_our_order_with_or_without_a_dollar(store: Path) -> None:
    raw = load(store, fields=["$change", "volume", "$Open"])
    assert raw.fields == ["open", "volume", "change"]
    np.testing.assert_array_equal(raw.observed, load(store).observed)


def test_spells_are_point_in_time(store: Path) -> None:
    """Lines of an asset that overlap or repeat are joined; bars outside of a spell stay."""
    lines = [
        "SZ000001\t2020-01-07\t2020-12-31\tmore\tcolumns",
        "",
        "SH600000\t2020-01-08\t2099-12-31",
        "SH600000\t2019-01-01\t2020-01-02",
        "SH600000\t2019-06-01\t2020-01-03 00:00:00",
        "SH600000\t2019-06-01\t2020-01-03 00:00:00",
    ]
    write_lines(store / "instruments" / "csi300.txt", lines)
    raw = load(store, instruments="CSI300", universe=True, fields=["close"])
    assert raw.fields == ["close", "in_universe"]
    np.testing.assert_array_equal(raw.values[:, 0, 1], [1, 1, 0, 0, 1, 1])
    np.testing.assert_array_equal(raw.values[:, 1, 1], [NAN, 0, NAN, 1, NAN, NAN])
    np.testing.assert_array_equal(raw.values[:, :, 0], load(store, fields=["close"]).values[..., 0])


def test_a_file_called_in_universe_gives_way(store: Path) -> None:
    write_bin(store / "features" / "sh600000" / "in_universe.day.bin", 0, [0.0] * 6)
    assert load(store).fields[-1] == "in_universe"
    raw = load(store, universe=True)
    assert raw.fields.count("in_universe") == 1
    assert (raw.values[:, 0, -1] == 1).all()


def test_start_and_end(store: Path) -> None:
    raw = load(store, start="2020-01-03", end="2020-01-07", fields=["close"], universe=True)
    assert [str(date)[:10] for date in raw.dates] == list(DAYS[1:4])
    np.testing.assert_array_equal(raw.values[:, :, 0], [[11, 5], [12, NAN], [11.5, 6]])
    later = load(store, start="2020-01-08", fields=["close"])
    assert later.symbols == ["SH600000"], "SZ000001 left the market before"
    assert load(store, end="2020-01-02").symbols == ["SH600000"]
    unseen = load(store, start="2020-01-06", end="2020-01-06", universe=True)
    assert unseen.symbols == ["SH600000"], "SZ000001 belonged, and has no bar"
    assert unseen.values.shape == (1, 1, 7)


def test_a_time_zone_is_dropped(store: Path) -> None:
    zoned = [f"{day} 15:00:00+08:00" for day in DAYS]
    write_lines(store / "calendars" / "day.txt", zoned)
    assert str(load(store).dates[0]) == "2020-01-02T15:00:00.000000000"


def test_every_folder_of_features(store: Path) -> None:
    (store / "instruments" / "all.txt").unlink()
    write_bin(store / "features" / "_qlib_prn" / "close.day.bin", 5, [1.0])
    write_bin(store / "features" / "sh000300" / "close.5min.bin", 5, [1.0])
    assert load(store, instruments=None).symbols == ["prn", "sh600000", "sz000001"]


def test_names_that_windows_reserves(store: Path) -> None:
    write_lines(store / "instruments" / "all.txt", ["PRN\t2020-01-02\t2020-01-09"])
    write_bin(store / "features" / "_qlib_prn" / "close.day.bin", 5, [1.0])
    assert load(store).symbols == ["PRN"]


def test_a_store_without_a_close(store: Path) -> None:
    """Then a bar is observed where any field is known."""
    for file in store.rglob("close.day.bin"):
        file.unlink()
    raw = load(store, fields=["open", "volume"])
    assert raw.fields == ["open", "volume"]
    assert raw.observed[:, 1].tolist() == [False, True, True, True, False, False]


def test_many_assets_are_read_in_parts(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = load(store)
    monkeypatch.setattr("quantlit.panel.sources.qlib_values.BUFFER", 1)
    np.testing.assert_array_equal(load(store).values, whole.values)


def test_the_fingerprint_follows_settings_and_files(store: Path) -> None:
    def fingerprint(market: str = "all", fields: list[str] | None = None) -> str:
        return QlibSource(path=str(store), instruments=market, fields=fields).fingerprint()

    first = fingerprint()
    assert fingerprint() == first
    assert fingerprint(fields=["close"]) != first
    alone = fingerprint(fields=["$open"])
    os.utime(store / "features" / "sz000001" / "volume.day.bin", (1, 1))
    assert fingerprint() != first
    assert fingerprint(fields=["open"]) == alone
    os.utime(store / "features" / "sz000001" / "close.day.bin", (1, 1))
    assert fingerprint(fields=["open"]) != alone, "the close decides what was observed"
    alone = fingerprint(fields=["open"])
    os.utime(store / "instruments" / "all.txt", (1, 1))
    assert fingerprint(fields=["open"]) != alone


def test_the_path_is_filled_in(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QLIB_HOME", str(store.parent))
    source = QlibSource(path="$QLIB_HOME/qlib")
    assert source.load().values.shape == (6, 2, 6)
    assert source.describe() == {
        "source": "QlibSource",
        "path": "$QLIB_HOME/qlib",
        "freq": "day",
        "instruments": "'all'",
        "fields": "None",
        "universe": "False",
        "start": "None",
        "end": "None",
    }
    monkeypatch.delenv("QLIB_HOME")
    with pytest.raises(ConfigError, match="variable QLIB_HOME, which is not set"):
        source.load()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"fields": []}, r"fields is \[\]; give names, each once, or null for all\."),
        ({"fields": ["open", "$open"]}, r"fields is \['open', '\$open'\]; give names, each once"),
        ({"universe": True, "instruments": None}, "universe is true and instruments is null"),
        ({"universe": True, "fields": ["in_universe"]}, "asks for in_universe, which universe mak"),
        ({"start": "2020-02-30"}, "start is '2020-02-30', which is no date; write YYYY-MM-DD"),
        ({"end": "soon"}, "end is 'soon', which is no date"),
        ({"start": "2020-02-01", "end": "2020-01-31"}, "start is 2020-02-01 and end 2020-01-31"),
    ],
)
def test_impossible_settings(store: Path, settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        QlibSource(path=str(store), **settings)  # type: ignore[arg-type]
