"""append_panel: later bars onto a store, with its history proved unchanged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from quantlit.core import DataError, PanelError
from quantlit.panel import (
    ColumnMap,
    FrameSource,
    Panel,
    append_panel,
    build_panel,
)
from quantlit.panel import append as append_module

ADJUSTED = ColumnMap(adjusted_close="adjusted", vwap=None, amount=None)


@pytest.fixture
def market() -> pd.DataFrame:
    """Twelve days of four assets, one bar in six missing; adjusted back from the last day."""
    rng = np.random.default_rng(0)
    days = pd.bdate_range("2020-01-01", periods=12)
    index = pd.MultiIndex.from_product([days, ["A", "B", "C", "D"]], names=["date", "symbol"])
    close = 50.0 + rng.random(len(index))
    frame = pd.DataFrame({"close": close}, index=index).assign(
        open=close - 0.5, high=close + 1.0, low=close - 1.0, volume=rng.random(len(index)) * 1e6
    )
    frame["adjusted"] = frame["close"] * np.where(index.get_level_values(0) < days[8], 0.5, 1.0)
    keep = rng.random(len(index)) > 1 / 6
    keep[-12:] = keep[16:24] = True
    return frame[keep].reset_index()


def day(number: int) -> pd.Timestamp:
    return pd.bdate_range("2020-01-01", periods=12)[number]


def part(market: pd.DataFrame, first: int, end: int) -> pd.DataFrame:
    days = pd.bdate_range("2020-01-01", periods=12)[first:end]
    return market[market["date"].isin(days)].reset_index(drop=True)


def plain(market: pd.DataFrame, first: int = 0, end: int = 12) -> FrameSource:
    return FrameSource(part(market, first, end).drop(columns="adjusted"))


def adjusted(frame: pd.DataFrame) -> FrameSource:
    return FrameSource(frame, columns=ADJUSTED)


@pytest.mark.parametrize("first", [0, 5, 8])
def test_a_grown_store_is_the_whole_one(market: pd.DataFrame, tmp_path: Path, first: int) -> None:
    whole = build_panel(plain(market), tmp_path / "whole")
    build_panel(plain(market, 0, 8), tmp_path / "grown")
    grown = append_panel(plain(market, first), tmp_path / "grown")
    assert grown.checksum == whole.checksum
    assert Panel.open(tmp_path / "grown", verify=True).bars_per_year == whole.bars_per_year


def test_day_by_day(market: pd.DataFrame, tmp_path: Path) -> None:
    build_panel(plain(market, 0, 6), tmp_path / "grown")
    for number in range(6, 12):
        append_panel(plain(market, number, number + 1), tmp_path / "grown")
    assert Panel.open(tmp_path / "grown").checksum == (
        build_panel(plain(market), tmp_path / "whole").checksum
    )


def test_a_part_is_added_once(market: pd.DataFrame, tmp_path: Path) -> None:
    first = build_panel(plain(market, 0, 8), tmp_path / "grown")
    assert append_panel(plain(market, 0, 8), tmp_path / "grown").checksum == first.checksum
    grown = append_panel(plain(market, 8), tmp_path / "grown")
    written = (tmp_path / "grown" / "manifest.json").stat().st_mtime_ns
    assert append_panel(plain(market, 8), tmp_path / "grown").checksum == grown.checksum
    assert (tmp_path / "grown" / "manifest.json").stat().st_mtime_ns == written
    assert build_panel(plain(market, 0, 8), tmp_path / "grown").checksum == grown.checksum


def test_new_assets_and_absent_ones(market: pd.DataFrame, tmp_path: Path) -> None:
    early, late = market["date"] < day(8), market["date"] >= day(8)
    kept = market[(early & (market["symbol"] != "B")) | (late & (market["symbol"] != "C"))]
    whole = build_panel(plain(kept), tmp_path / "whole")
    build_panel(plain(kept, 0, 8), tmp_path / "grown")
    grown = append_panel(plain(kept, 8), tmp_path / "grown")
    assert grown.symbols == ["A", "B", "C", "D"]
    assert grown.checksum == whole.checksum


def test_adjusted_prices_go_on(market: pd.DataFrame, tmp_path: Path) -> None:
    """The split after the seventh day is in the later table alone, which begins on the sixth."""
    before = part(market, 0, 8)
    build_panel(adjusted(before.assign(adjusted=before["close"])), tmp_path / "grown")
    grown = append_panel(adjusted(part(market, 5, 12)), tmp_path / "grown")
    whole = build_panel(adjusted(market), tmp_path / "whole")
    np.testing.assert_array_equal(grown.observed, whole.observed)
    np.testing.assert_allclose(grown.values, whole.values, rtol=1e-6)
    factor = grown.values[8:, :, grown.fields.index("factor")]
    np.testing.assert_allclose(factor[grown.observed[8:]], 2.0, rtol=1e-6)


def test_adjusted_prices_need_an_overlap(market: pd.DataFrame, tmp_path: Path) -> None:
    build_panel(adjusted(part(market, 0, 8)), tmp_path / "grown")
    with pytest.raises(DataError, match=r"no bar of A that the store has.*asset's last bar in"):
        append_panel(adjusted(part(market, 8, 12)), tmp_path / "grown")


def test_a_revised_history_is_found(market: pd.DataFrame, tmp_path: Path) -> None:
    first = build_panel(plain(market, 0, 8), tmp_path / "grown")
    revised = market.copy()
    row = revised.index[(revised["date"] == day(6)) & (revised["symbol"] == "C")][0]
    revised.loc[row, "volume"] *= 1.01
    with pytest.raises(
        DataError, match=rf"history was revised: volume of C on {day(6).date()} is .*--overwrite"
    ):
        append_panel(plain(revised, 5), tmp_path / "grown")
    assert Panel.open(tmp_path / "grown", verify=True).checksum == first.checksum
    assert sorted(path.name for path in tmp_path.iterdir()) == [".grown.lock", "grown"]


@pytest.mark.parametrize("where", ["store", "source"])
def test_a_bar_that_one_has_not(market: pd.DataFrame, tmp_path: Path, where: str) -> None:
    lacks = market[~((market["date"] == day(7)) & (market["symbol"] == "B"))]
    old, new = (lacks, market) if where == "store" else (market, lacks)
    build_panel(plain(old, 0, 8), tmp_path / "grown")
    with pytest.raises(DataError, match=rf"B on {day(7).date()}, and the {where} has none\. B"):
        append_panel(plain(new, 5), tmp_path / "grown")


def test_a_date_between_two_of_the_store(market: pd.DataFrame, tmp_path: Path) -> None:
    lacks = market[market["date"] != day(6)]
    build_panel(plain(lacks, 0, 8), tmp_path / "grown")
    with pytest.raises(DataError, match=rf"the source has a bar of A on {day(6).date()}"):
        append_panel(plain(market, 5), tmp_path / "grown")


def test_nothing_new(market: pd.DataFrame, tmp_path: Path) -> None:
    build_panel(plain(market, 0, 8), tmp_path / "grown")
    with pytest.raises(DataError, match=rf"runs to {day(7).date()}, and the source has no bar aft"):
        append_panel(plain(market, 4, 8), tmp_path / "grown")


def test_other_fields(market: pd.DataFrame, tmp_path: Path) -> None:
    build_panel(plain(market, 0, 8), tmp_path / "grown")
    with pytest.raises(DataError, match="has the fields open, high, low, close, volume, and the"):
        append_panel(FrameSource(part(market, 8, 12).drop(columns="volume")), tmp_path / "grown")


def test_no_store(market: pd.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(PanelError, match="there is no panel store"):
        append_panel(plain(market), tmp_path / "grown")


def test_rows_left_out_are_all_listed(market: pd.DataFrame, tmp_path: Path) -> None:
    bad = market.drop(columns="adjusted")
    bad.loc[[3, len(bad) - 2], "volume"] = -1.0
    early, late = bad["date"] < day(8), bad["date"] >= day(8)
    build_panel(FrameSource(bad[early], on_bad_rows="drop"), tmp_path / "grown")
    grown = append_panel(FrameSource(bad[late], on_bad_rows="drop"), tmp_path / "grown")
    dropped = pd.read_csv(tmp_path / "grown" / "dropped.csv")
    assert dropped["date"].tolist() == [str(bad["date"][row]) for row in (3, len(bad) - 2)]
    whole = build_panel(FrameSource(bad, on_bad_rows="drop"), tmp_path / "whole")
    assert grown.checksum == whole.checksum


def test_an_open_panel_is_not_disturbed(market: pd.DataFrame, tmp_path: Path) -> None:
    before = build_panel(plain(market, 0, 8), tmp_path / "grown")
    values = np.array(before.values)
    append_panel(plain(market, 8), tmp_path / "grown")
    np.testing.assert_array_equal(before.values, values)
    assert len(Panel.open(tmp_path / "grown").dates) == 12


def test_an_interrupted_append_goes_on(
    market: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = build_panel(plain(market), tmp_path / "whole")
    first = build_panel(plain(market, 0, 8), tmp_path / "grown")

    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(append_module, "_joined", interrupt)
        with pytest.raises(KeyboardInterrupt):
            append_panel(plain(market, 8), tmp_path / "grown")
    assert Panel.open(tmp_path / "grown", verify=True).checksum == first.checksum
    assert append_panel(plain(market, 8), tmp_path / "grown").checksum == whole.checksum
    assert sorted(path.name for path in tmp_path.iterdir() if "lock" not in path.name) == [
        "grown",
        "whole",
    ]


READER = """
import sys
from quantlit.panel import Panel
lengths = set()
while lengths < {8, 12}:
    panel = Panel.open(sys.argv[1])
    assert panel.values.shape[0] == len(panel.dates) == len(panel.observed)
    lengths.add(len(panel.dates))
    print(len(panel.dates), flush=True)
"""


@pytest.mark.slow
def test_opening_meanwhile_gives_the_old_or_the_new(market: pd.DataFrame, tmp_path: Path) -> None:
    build_panel(plain(market, 0, 8), tmp_path / "grown")
    with subprocess.Popen(
        [sys.executable, "-c", READER, str(tmp_path / "grown")],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    ) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "8\n"
        for _ in range(20):
            append_panel(plain(market, 8), tmp_path / "grown")
            build_panel(plain(market, 0, 8), tmp_path / "grown", overwrite=True)
        append_panel(plain(market, 8), tmp_path / "grown")
        lines = set(reader.stdout.read().split())
    assert reader.returncode == 0
    assert lines <= {"8", "12"}
