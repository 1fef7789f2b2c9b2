"""Panel: opening, checking, reading."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from long_table import bar_table

from quantlit.core import ConfigError, PanelError
from quantlit.panel import FrameSource, Panel, build_panel
from quantlit.panel.manifest import MANIFEST


@pytest.fixture
def bars() -> pd.DataFrame:
    return bar_table()


@pytest.fixture
def panel(bars: pd.DataFrame, tmp_path: Path) -> Panel:
    return build_panel(FrameSource(bars), tmp_path / "store")


def test_axes_and_values(panel: Panel) -> None:
    assert panel.symbols == ["AAA", "BBB"]
    assert panel.fields == ["open", "high", "low", "close", "volume"]
    assert panel.dates.dtype == np.dtype("datetime64[ns]")
    assert [str(date)[:10] for date in panel.dates] == ["2020-01-01", "2020-01-02", "2020-01-03"]
    assert panel.values.dtype == np.float32 and panel.values.shape == (3, 2, 5)
    assert panel.values.flags.c_contiguous
    np.testing.assert_array_equal(panel.field("close"), [[10, 19], [11, np.nan], [10.5, 21]])
    np.testing.assert_array_equal(panel.observed, [[1, 1], [1, 0], [1, 1]])
    assert np.isnan(panel.values[~panel.observed]).all()
    assert panel.sessions.tolist() == [0, 1, 2] and panel.sessions.dtype == np.int32
    assert panel.stamps.tolist() == [[0, 0, 2, 1, 1], [0, 0, 3, 2, 1], [0, 0, 4, 3, 1]]
    assert panel.bars_per_year == 252.0


def test_arrays_are_mapped_and_read_only(panel: Panel) -> None:
    for array in (panel.values, panel.observed, panel.dates, panel.sessions):
        assert isinstance(array, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        panel.values[0, 0, 0] = 1.0
    assert np.shares_memory(panel.field("low"), panel.values)


def test_opening_reads_no_values(panel: Panel) -> None:
    """A store of 40 GB (a sparse file) opens: nothing but the manifest is read."""
    shape = (2_000_000, 1000, 5)
    path = panel.path / "values.npy"
    with path.open("wb") as file:
        np.lib.format.write_array_header_2_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": shape}
        )
        size = file.tell() + 4 * int(np.prod(shape))
        file.truncate(size)
    for name, extent in (("observed", shape[:2]), ("dates", shape[:1]), ("sessions", shape[:1])):
        array = np.lib.format.open_memmap(
            panel.path / f"{name}.npy",
            mode="w+",
            dtype=getattr(panel, name).dtype,
            shape=extent,
        )
        array.flush()
    entries = json.loads((panel.path / MANIFEST).read_text())
    entries["symbols"] = [f"S{i:04d}" for i in range(shape[1])]
    for name, entry in entries["arrays"].items():
        entry["shape"] = {"values": shape, "observed": shape[:2]}.get(name, shape[:1])
        entry["bytes"] = (panel.path / f"{name}.npy").stat().st_size
    (panel.path / MANIFEST).write_text(json.dumps(entries))
    large = Panel.open(panel.path)
    assert large.values.nbytes == 40_000_000_000
    assert large.values[-1, -1, -1] == 0.0


def test_to_frame_is_the_table_sorted(panel: Panel, bars: pd.DataFrame) -> None:
    frame = panel.to_frame()
    expected = bars.assign(date=pd.to_datetime(bars["date"])).sort_values(["date", "symbol"])
    assert frame["date"].dtype == np.dtype("datetime64[ns]")
    assert frame["symbol"].astype("str").tolist() == expected["symbol"].tolist()
    assert (frame["date"].to_numpy() == expected["date"].to_numpy()).all()
    np.testing.assert_array_equal(frame[panel.fields], expected[panel.fields])
    again = build_panel(FrameSource(frame), panel.path.parent / "again")
    assert again.checksum == panel.checksum


def test_unknown_field_lists_the_fields(panel: Panel) -> None:
    with pytest.raises(PanelError, match=r"no field 'vwap'; it has open, high, low, close, volume"):
        panel.field("vwap")


def test_position(panel: Panel) -> None:
    assert panel.position("2020-01-02") == 1
    assert panel.position(panel.dates[2]) == 2
    for date in ("2019-12-31", "2020-01-02 10:00", "2020-01-04"):
        with pytest.raises(PanelError, match="no bar at .* runs from 2020-01-01 .* to 2020-01-03"):
            panel.position(date)


def test_positions_include_both_ends(panel: Panel) -> None:
    assert panel.positions("2020-01-01", "2020-01-02") == range(0, 2)
    assert panel.positions("2019-01-01", "2021-01-01") == range(0, 3)
    assert panel.positions(panel.dates[1], panel.dates[1]) == range(1, 2)
    assert len(panel.positions("2020-01-03", "2020-01-01")) == 0


def test_a_date_covers_its_whole_day(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "date": pd.to_datetime(["2020-01-01 09:35", "2020-01-01 15:00", "2020-01-02 09:35"]),
            "symbol": "A",
            "close": [1.0, 2.0, 3.0],
        }
    )
    panel = build_panel(FrameSource(frame, min_assets=1), tmp_path / "store")
    assert panel.positions("2020-01-01", "2020-01-01") == range(0, 2)
    assert panel.positions("2020-01-01 10:00", "2020-01-02 09:35") == range(1, 3)


def test_path_variables(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORES", str(panel.path.parent))
    assert Panel.open("$STORES/store").checksum == panel.checksum
    monkeypatch.delenv("STORES")
    with pytest.raises(ConfigError, match="environment variable STORES, which is not set"):
        Panel.open("${STORES}/store")


def test_no_store(tmp_path: Path) -> None:
    with pytest.raises(PanelError, match=r"there is no panel store.*quantlit prepare --output"):
        Panel.open(tmp_path / "nothing")
    with pytest.raises(PanelError, match=r"no manifest\.json, so it is not a panel store"):
        Panel.open(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "manifest is damaged"),
        ("[]", "format None, and this quantlit reads format 1"),
        ('{"format": 2}', "format 2, and this quantlit reads format 1"),
        ('{"format": 1}', "manifest is damaged"),
        ('{"format": 1, "arrays": {"values": {}}}', "manifest is damaged"),
    ],
)
def test_damaged_manifest(panel: Panel, text: str, message: str) -> None:
    (panel.path / MANIFEST).write_text(text)
    with pytest.raises(PanelError, match=f"{message}.*quantlit prepare"):
        Panel.open(panel.path)


def test_manifest_that_contradicts_itself(panel: Panel) -> None:
    entries = json.loads((panel.path / MANIFEST).read_text())
    entries["symbols"].append("CCC")
    (panel.path / MANIFEST).write_text(json.dumps(entries))
    with pytest.raises(PanelError, match="its 3 symbols and 5 fields need"):
        Panel.open(panel.path)


def test_damaged_arrays(panel: Panel) -> None:
    values = panel.path / "values.npy"
    contents = values.read_bytes()
    values.write_bytes(contents[:-4])
    with pytest.raises(PanelError, match=r"values\.npy.*(cut short|damaged)"):
        Panel.open(panel.path)
    values.write_bytes(contents + b"0000")
    with pytest.raises(PanelError, match=f"has {len(contents) + 4} bytes.*says {len(contents)}"):
        Panel.open(panel.path)
    values.write_bytes(contents.replace(b"(3, 2, 5)", b"(2, 3, 5)"))
    with pytest.raises(PanelError, match=r"holds float32 \(2, 3, 5\).*says float32 \(3, 2, 5\)"):
        Panel.open(panel.path)
    values.unlink()
    with pytest.raises(PanelError, match=r"values\.npy: this file of the store is missing"):
        Panel.open(panel.path)


def test_verify_finds_a_changed_byte(panel: Panel) -> None:
    Panel.open(panel.path, verify=True)
    values = panel.path / "values.npy"
    contents = bytearray(values.read_bytes())
    contents[-1] ^= 1
    values.write_bytes(contents)
    Panel.open(panel.path)
    with pytest.raises(PanelError, match=r"values\.npy: the contents changed since"):
        Panel.open(panel.path, verify=True)


def test_checksum_covers_axes_and_values(bars: pd.DataFrame, tmp_path: Path) -> None:
    def checksum(frame: pd.DataFrame, name: str) -> str:
        return build_panel(FrameSource(frame), tmp_path / name).checksum

    first = checksum(bars, "first")
    assert len(first) == 64
    assert checksum(bars.sample(frac=1.0, random_state=0), "shuffled") == first
    changed = [
        bars.replace({"symbol": {"BBB": "CCC"}}),
        bars.replace({"date": {"2020-01-03": "2020-01-04"}}),
        bars.replace({"close": {11.0: 11.5}}),
        bars.rename(columns={"volume": "amount"}),
        bars.iloc[1:],
    ]
    sums = {checksum(frame, f"changed{i}") for i, frame in enumerate(changed)}
    assert len(sums | {first}) == len(changed) + 1
