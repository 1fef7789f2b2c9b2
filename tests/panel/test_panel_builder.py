"""build_panel: a whole store or none, whatever happens meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from long_table import bar_table

from quantlit.core import DataError, PanelError
from quantlit.panel import FrameSource, Panel, PanelSource, RawPanel, build_panel, builder
from quantlit.panel.manifest import MANIFEST
from quantlit.panel.workspace import Workspace


@pytest.fixture
def bars() -> pd.DataFrame:
    return bar_table()


class CountingSource(FrameSource):
    """Counts its loads."""

    loads = 0

    def build(self, workspace: Workspace) -> RawPanel:
        self.loads += 1
        return super().build(workspace)


def left_over(folder: Path) -> list[str]:
    """Everything in a folder but locks."""
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def test_a_store_is_built_once(bars: pd.DataFrame, tmp_path: Path) -> None:
    source = CountingSource(bars)
    first = build_panel(source, tmp_path / "store")
    second = build_panel(source, tmp_path / "store")
    assert source.loads == 1
    assert first.checksum == second.checksum
    build_panel(source, tmp_path / "store", overwrite=True)
    assert source.loads == 2
    assert left_over(tmp_path) == ["store"]


def test_a_relative_path(
    bars: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = build_panel(FrameSource(bars), tmp_path / "whole")
    monkeypatch.chdir(tmp_path)
    assert build_panel(FrameSource(bars), "here/store").checksum == whole.checksum
    np.testing.assert_array_equal(Panel.open("here/store", verify=True).values, whole.values)


def test_manifest_says_where_the_bars_come_from(bars: pd.DataFrame, tmp_path: Path) -> None:
    panel = build_panel(FrameSource(bars), tmp_path / "a" / "b" / "store")
    manifest = json.loads((panel.path / MANIFEST).read_text())
    assert manifest["format"] == 1
    assert manifest["source"]["source"] == "FrameSource"
    assert manifest["arrays"]["values"]["shape"] == [3, 2, 5]
    assert len(manifest["arrays"]["values"]["sha256"]) == 64


def test_another_source_needs_overwrite(bars: pd.DataFrame, tmp_path: Path) -> None:
    build_panel(FrameSource(bars), tmp_path / "store")
    other = FrameSource(bars[bars["symbol"] == "AAA"], min_assets=1)
    with pytest.raises(PanelError, match=r"a panel store here already.*--overwrite true"):
        build_panel(other, tmp_path / "store")
    assert build_panel(other, tmp_path / "store", overwrite=True).symbols == ["AAA"]
    assert left_over(tmp_path) == ["store"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_no_store_is_left_alone(
    bars: pd.DataFrame, tmp_path: Path, *, overwrite: bool
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.tex").write_text("precious")
    (tmp_path / "file").write_text("precious")
    for name in ("folder", "file"):
        with pytest.raises(PanelError, match="is not a panel store; it is left alone"):
            build_panel(FrameSource(bars), tmp_path / name, overwrite=overwrite)
    assert (tmp_path / "folder" / "thesis.tex").read_text() == "precious"
    assert (tmp_path / "file").read_text() == "precious"


def test_an_empty_folder_is_filled(bars: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    assert build_panel(FrameSource(bars), tmp_path / "store").symbols == ["AAA", "BBB"]


def test_bad_data_leave_nothing_and_keep_the_store_before(
    bars: pd.DataFrame, tmp_path: Path
) -> None:
    bad = FrameSource(pd.concat([bars, bars.iloc[:1]], ignore_index=True))
    with pytest.raises(DataError, match="frame, row 0 and frame, row 5"):
        build_panel(bad, tmp_path / "store")
    assert left_over(tmp_path) == []
    before = build_panel(FrameSource(bars), tmp_path / "store")
    with pytest.raises(DataError):
        build_panel(bad, tmp_path / "store", overwrite=True)
    assert Panel.open(tmp_path / "store", verify=True).checksum == before.checksum
    assert left_over(tmp_path) == ["store"]


def test_a_full_disk_leaves_nothing(
    bars: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(builder, "_flush", full)
    with pytest.raises(PanelError, match=r"cannot be written .*No space left.*Check the disk"):
        build_panel(FrameSource(bars), tmp_path / "store")
    assert left_over(tmp_path) == []


def test_a_parent_that_is_a_file(bars: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PanelError, match="the panel store cannot be written"):
        build_panel(FrameSource(bars), tmp_path / "file" / "store")


def test_an_interrupt_leaves_the_store_before(
    bars: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = build_panel(FrameSource(bars), tmp_path / "store")

    def interrupted(_: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(builder, "_move_into_place", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build_panel(FrameSource(bars.iloc[1:]), tmp_path / "store", overwrite=True)
    assert Panel.open(tmp_path / "store", verify=True).checksum == before.checksum
    assert left_over(tmp_path) == [".store.partial", "store"]
    monkeypatch.undo()
    build_panel(FrameSource(bars.iloc[1:]), tmp_path / "store", overwrite=True)
    assert left_over(tmp_path) == ["store"]


def test_recovery_between_the_two_renames(bars: pd.DataFrame, tmp_path: Path) -> None:
    """A crash after the old store moved aside and before the new one took its place."""
    source = CountingSource(bars)
    build_panel(source, tmp_path / "store").path.rename(tmp_path / ".store.old")
    (tmp_path / ".store.partial").mkdir()
    (tmp_path / ".store.partial" / "values.npy").write_bytes(b"half")
    build_panel(source, tmp_path / "store")
    assert source.loads == 1
    assert left_over(tmp_path) == ["store"]


def test_recovery_before_the_old_store_is_removed(bars: pd.DataFrame, tmp_path: Path) -> None:
    source = CountingSource(bars)
    build_panel(source, tmp_path / "store")
    build_panel(FrameSource(bars.iloc[1:]), tmp_path / ".store.old")
    assert build_panel(source, tmp_path / "store").observed.sum() == 5
    assert left_over(tmp_path) == ["store"]


CHILD = """
import os, sys, time
import pandas as pd
from quantlit.panel import FrameSource, build_panel, builder

class Source(FrameSource):
    def build(self, workspace):
        with open("loads", "a") as file:
            file.write("load\\n")
        time.sleep(0.3)
        return super().build(workspace)

if sys.argv[1] == "die":
    builder._move_into_place = lambda folder: os._exit(9)
frame = pd.DataFrame({"date": ["2020-01-01", "2020-01-02"], "symbol": "A", "close": [1.0, 2.0]})
print(build_panel(Source(frame, min_assets=1), "store").checksum)
"""


def _start(folder: Path, how: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, how], cwd=folder, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.slow
def test_two_processes_end_with_one_store(tmp_path: Path) -> None:
    children = [_start(tmp_path, "build") for _ in range(2)]
    sums = {child.communicate()[0].strip() for child in children}
    assert [child.returncode for child in children] == [0, 0]
    assert sums == {Panel.open(tmp_path / "store", verify=True).checksum}
    assert (tmp_path / "loads").read_text() == "load\n"
    assert left_over(tmp_path) == ["loads", "store"]


@pytest.mark.slow
def test_a_killed_process_leaves_no_store(tmp_path: Path) -> None:
    child = _start(tmp_path, "die")
    child.communicate()
    assert child.returncode == 9
    assert left_over(tmp_path) == [".store.partial", "loads"]
    with pytest.raises(PanelError, match="there is no panel store"):
        Panel.open(tmp_path / "store")
    child = _start(tmp_path, "build")
    child.communicate()
    assert child.returncode == 0
    assert left_over(tmp_path) == ["loads", "store"]


class ArraySource(PanelSource):
    """A RawPanel as it is."""

    def __init__(self, raw: RawPanel) -> None:
        self.raw = raw

    def load(self) -> RawPanel:
        return self.raw

    def fingerprint(self) -> str:
        return "arrays"


def _raw(**changes: object) -> RawPanel:
    parts: dict[str, object] = {
        "dates": np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[ns]"),
        "symbols": ["A", "B", "C"],
        "fields": ["close"],
        "values": np.ones((2, 3, 1), dtype=np.float32),
        "observed": np.ones((2, 3), dtype=np.bool_),
    }
    return RawPanel(**(parts | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"symbols": []}, "gave no asset at all"),
        ({"symbols": ["A", "B", "A"]}, "'A' twice among its symbols"),
        ({"values": np.ones((2, 1, 3), dtype=np.float32)}, r"values \(2, 1, 3\).*need \(2, 3, 1\)"),
        ({"values": np.ones((2, 3, 1))}, "values of type float64; give float32"),
        ({"observed": np.ones((2, 3))}, "observed of type float64; give bool"),
        (
            {"dates": np.array(["2020-01-02", "2020-01-02"], dtype="datetime64[ns]")},
            "must ascend, but 2020-01-02 00:00:00 follows 2020-01-02",
        ),
        (
            {"dates": np.array(["2020-01-02", "2020-01-03"], dtype="datetime64[D]")},
            "dates of type datetime64",
        ),
    ],
)
def test_a_source_of_ones_own_is_checked(
    changes: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=message):
        build_panel(ArraySource(_raw(**changes)), tmp_path / "store")
    assert build_panel(ArraySource(_raw()), tmp_path / "store").symbols == ["A", "B", "C"]
