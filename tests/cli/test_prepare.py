"""`quantlit prepare`: adding dates, bad rows, checking a store, and stopping halfway."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from tiny_run import PREPARE, run

from quantlit.panel import CsvSource, Panel, build_panel
from quantlit.panel.sources.scan import scan

Said = pytest.CaptureFixture[str]


def bars(days: range) -> pd.DataFrame:
    """Three assets on some days of January 2020."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        [(f"2020-01-{day:02d}", name) for day in range(1, 29) for name in ("A", "B", "C")],
        columns=["date", "symbol"],
    ).assign(close=rng.uniform(1, 2, 84).round(3), volume=100.0)
    return frame[frame["date"].isin([f"2020-01-{day:02d}" for day in days])]


def prepare(frame: pd.DataFrame, folder: Path, *arguments: object) -> int:
    """Build ``folder/store`` from a CSV of the frame."""
    frame.to_csv(folder / "bars.csv", index=False)
    source = ("--source", "CsvSource", "--source.path", folder / "bars.csv")
    return run("prepare", *source, "--output", folder / "store", *arguments)


def checksum(frame: pd.DataFrame, folder: Path) -> str:
    """Of a store that is built at once."""
    frame.to_csv(folder / "whole.csv", index=False)
    return build_panel(CsvSource(str(folder / "whole.csv")), folder / "whole").checksum


def left(folder: Path) -> list[str]:
    """What lies in a folder, locks and bars left out."""
    return sorted(path.name for path in folder.iterdir() if path.suffix not in (".lock", ".csv"))


def bad_bars() -> pd.DataFrame:
    """Ten days with two bad rows."""
    frame = bars(range(1, 11)).astype({"close": "object"})
    frame.iloc[3, 2], frame.iloc[20, 2] = "x", -1.0
    return frame


def test_append_adds_the_bars_after_the_last(tmp_path: Path, capsys: Said) -> None:
    assert prepare(bars(range(1, 11)), tmp_path) == 0
    assert prepare(bars(range(9, 13)), tmp_path, "--append", "true") == 0
    assert "12 bars from 2020-01-01 to 2020-01-12, 3 assets" in capsys.readouterr().out
    grown = Panel.open(tmp_path / "store", verify=True)
    assert grown.checksum == checksum(bars(range(1, 13)), tmp_path)
    assert prepare(bars(range(9, 13)), tmp_path, "--append", "true") == 1
    assert "has no bar after it (its last is 2020-01-12)" in capsys.readouterr().err
    assert Panel.open(tmp_path / "store", verify=True).checksum == grown.checksum


def test_append_needs_a_store(tmp_path: Path, capsys: Said) -> None:
    assert prepare(bars(range(1, 4)), tmp_path, "--append", "true") == 1
    assert f"{tmp_path}/store" in capsys.readouterr().err
    assert left(tmp_path) == []


def test_append_and_overwrite_exclude_each_other(tmp_path: Path, capsys: Said) -> None:
    arguments = ("--append", "true", "--overwrite", "true")
    assert prepare(bars(range(1, 4)), tmp_path, *arguments) == 1
    assert "ConfigError: --append adds to a store and --overwrite repl" in capsys.readouterr().err
    assert left(tmp_path) == []


@pytest.mark.parametrize("option", ["--on-bad-rows", "--on_bad_rows"])
def test_bad_rows_are_dropped_and_listed(option: str, tmp_path: Path, capsys: Said) -> None:
    frame = bad_bars()
    assert prepare(frame, tmp_path, option, "drop") == 0
    dropped = tmp_path / "store" / "dropped.csv"
    assert f"2 bad rows were left out, see {dropped}." in capsys.readouterr().out
    listed = pd.read_csv(dropped)
    assert listed[["place", "symbol", "date", "column"]].to_numpy().tolist() == [
        ["line 5", "A", "2020-01-02", "close"],
        ["line 22", "C", "2020-01-07", "close"],
    ]
    clean = frame.drop(frame.index[[3, 20]]).astype({"close": float})
    assert Panel.open(tmp_path / "store").checksum == checksum(clean, tmp_path)


def test_bad_rows_are_reported_instead(tmp_path: Path, capsys: Said) -> None:
    assert prepare(bad_bars(), tmp_path, "--on-bad-rows", "report") == 1
    said = capsys.readouterr().err
    assert "2 bad rows:" in said
    assert f"They are listed in {tmp_path}/store.bad_rows.csv. Nothing was built." in said
    assert pd.read_csv(tmp_path / "store.bad_rows.csv")["value"].tolist() == ["x", "-1.0"]
    assert left(tmp_path) == []


def test_the_first_bad_row_is_an_error(tmp_path: Path, capsys: Said) -> None:
    assert prepare(bad_bars(), tmp_path) == 1
    said = capsys.readouterr().err
    assert said.startswith("quantlit prepare: DataError: bars.csv, line 5 (A, 2020-01-02): column")
    assert len(said.splitlines()) == 1
    assert left(tmp_path) == []


def test_an_unknown_policy(tmp_path: Path, capsys: Said) -> None:
    assert prepare(bars(range(1, 4)), tmp_path, "--on-bad-rows", "ignore") == 2
    said = capsys.readouterr().err
    assert "on_bad_rows" in said
    assert all(policy in said for policy in ("error", "drop", "report"))


def test_a_source_without_rows_has_no_bad_ones(tmp_path: Path, capsys: Said) -> None:
    assert run(*PREPARE, "--on-bad-rows", "drop", "--output", tmp_path / "store") == 1
    assert "--on-bad-rows is for sources of tables (CsvSource, Parquet" in capsys.readouterr().err
    assert left(tmp_path) == []


def test_verify_a_sound_store(tmp_path: Path, capsys: Said) -> None:
    assert prepare(bars(range(1, 4)), tmp_path, "--verify") == 0
    assert f"{tmp_path}/store: all checksums are right." in capsys.readouterr().out
    assert run("prepare", "--verify", "--output", tmp_path / "store") == 0
    said = capsys.readouterr().out
    assert "3 bars from 2020-01-01 to 2020-01-03, 3 assets" in said
    assert f"{tmp_path}/store: all checksums are right." in said


@pytest.mark.parametrize("damage", ["a flipped bit", "a cut file", "no file"])
def test_verify_a_damaged_store(damage: str, tmp_path: Path, capsys: Said) -> None:
    assert prepare(bars(range(1, 4)), tmp_path) == 0
    path = tmp_path / "store" / "values.npy"
    contents = bytearray(path.read_bytes())
    contents[-3] ^= 1
    path.unlink()
    if damage != "no file":
        path.write_bytes(contents if damage == "a flipped bit" else contents[:-8])
    assert run("prepare", "--verify", "--output", tmp_path / "store") == 1
    said = capsys.readouterr()
    assert "values.npy" in said.err
    assert "Traceback" not in said.err
    assert "are right" not in said.out


def test_verify_no_store(tmp_path: Path, capsys: Said) -> None:
    assert run("prepare", "--verify", "--output", tmp_path / "store") == 1
    assert f"{tmp_path}/store" in capsys.readouterr().err
    assert run("prepare", "--output", tmp_path / "store") == 1
    assert "There is no --source; name one, or give --verify to ch" in capsys.readouterr().err


def test_an_interrupted_build_goes_on(
    tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quantlit.panel.sources.files.ROWS", 10)
    frame, calls = bars(range(1, 15)), []
    real = scan

    def interrupted(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr("quantlit.panel.sources.table.scan", interrupted)
    with pytest.raises(SystemExit, match="^130$"):
        prepare(frame, tmp_path)
    said = capsys.readouterr().err
    assert said == (
        "quantlit prepare: interrupted; the same command goes on from what has been read.\n"
    )
    source = ("--source", "CsvSource", "--source.path", tmp_path / "bars.csv")
    assert run("prepare", *source, "--output", tmp_path / "store") == 0
    assert len(calls) == 3 + 3  # 42 rows are five parts, and two of them had been read
    assert left(tmp_path) == ["store"]
    assert Panel.open(tmp_path / "store").checksum == checksum(frame, tmp_path)


def test_settings_of_a_source_from_yaml(tmp_path: Path, capsys: Said) -> None:
    bad_bars().to_csv(tmp_path / "bars.csv", index=False)
    init = {"path": str(tmp_path / "bars.csv"), "on_bad_rows": "drop", "units": {"volume": 100}}
    source = {"class_path": "CsvSource", "init_args": init}
    config = tmp_path / "prepare.yaml"
    config.write_text(yaml.safe_dump({"source": source, "output": str(tmp_path / "store")}))
    assert run("prepare", "--config", config) == 0
    panel = Panel.open(tmp_path / "store")
    assert panel.field("volume")[panel.observed].tolist() == [1e4] * 28
    assert run("prepare", "--config", config, "--overwrite", "true", "--on-bad-rows", "error") == 1
    assert "line 5 (A, 2020-01-02)" in capsys.readouterr().err
    assert Panel.open(tmp_path / "store", verify=True).checksum == panel.checksum
