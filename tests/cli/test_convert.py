"""`quantlit convert` and QlibSource as a user runs them."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from tiny_run import N, T, config, run, write

from quantlit.panel import Panel, ParquetSource, QlibSource


def test_to_qlib_and_back(
    tiny_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("convert", "--panel", tiny_store, "--to", "qlib", "--output", tmp_path / "q") == 0
    said = capsys.readouterr()
    assert said.out.startswith(f"{tmp_path}/q: Qlib store of {T} bars, {N} assets, fields open, hi")
    assert said.out.count("\n") == 1
    assert said.err == ""
    arguments = ["--source.path", tmp_path / "q", "--source.freq", "day"]
    arguments += ["--source.start", "2020-01-01", "--output", tmp_path / "again"]
    assert run("prepare", "--source", "QlibSource", *arguments) == 0
    assert Panel.open(tmp_path / "again").checksum == Panel.open(tiny_store).checksum


def test_to_parquet(tiny_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bars.parquet"
    arguments = ["convert", "--panel", tiny_store, "--to", "parquet", "--output", path]
    assert run(*arguments) == 0
    assert f"{path}: Parquet file of {T} bars, {N} assets" in capsys.readouterr().out
    assert ParquetSource(str(path)).load().values.shape == (T, N, 5)
    assert run(*arguments) == 1
    said = capsys.readouterr().err
    assert said.startswith("quantlit convert: PanelError: ") and said.count("\n") == 1
    assert "there is a Parquet file here already" in said
    assert run(*arguments, "--overwrite", "true") == 0


def test_options_of_a_qlib_store(
    tiny_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "convert.yaml", {"panel": str(tiny_store), "to": "qlib"})
    arguments = ["--output", tmp_path / "q", "--freq", "1min", "--universe", "close"]
    assert run("convert", "--config", file, *arguments, "--market", "mine") == 0
    names = sorted(str(path.relative_to(tmp_path / "q")) for path in tmp_path.glob("q/*/*.txt"))
    assert names == ["calendars/1min.txt", "instruments/close.txt", "instruments/mine.txt"]
    arguments = ["--panel", tiny_store, "--to", "parquet", "--output", tmp_path / "x"]
    assert run("convert", *arguments, "--freq", "day") == 1
    assert "ConfigError: --freq is 'day', which only a Qlib store has." in capsys.readouterr().err


def test_mistakes(tiny_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = ["--output", tmp_path / "x"]
    assert run("convert", "--panel", tmp_path / "none", "--to", "qlib", *output) == 1
    assert "PanelError: " in (said := capsys.readouterr().err)
    assert f"{tmp_path}/none: there is no panel store" in said
    assert run("convert", "--panel", tiny_store, "--to", "csv", *output) == 2
    assert "'qlib', 'parquet'" in capsys.readouterr().err
    assert run("convert", "--panel", tiny_store, "--to", "qlib") == 2
    assert "output" in capsys.readouterr().err
    assert run("convrt") == 2
    assert "Did you mean 'convert'?" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("kind", "unit"), [("qlib", "assets"), ("parquet", "dates")])
def test_a_bar_on_a_terminal_alone(
    tiny_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, unit: str
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    assert run("convert", "--panel", tiny_store, "--to", kind, "--output", tmp_path / "x") == 0
    assert unit in terminal.getvalue()


def test_a_run_on_a_qlib_store(tiny_store: Path, tmp_path: Path) -> None:
    """The source stands in the data config; the store it makes is cached."""
    run("convert", "--panel", tiny_store, "--to", "qlib", "--output", tmp_path / "q")
    settings = config(tiny_store, tmp_path / "runs")
    settings["trainer"]["max_epochs"] = 1
    settings["data"]["init_args"] |= {
        "panel": {
            "class_path": "quantlit.panel.QlibSource",
            "init_args": {"path": str(tmp_path / "q"), "universe": True, "start": "2020-01-01"},
        },
        "universe": "in_universe",
        "cache_dir": str(tmp_path / "cache"),
    }
    file = write(tmp_path / "qlib.yaml", settings)
    assert run("fit", "--config", file) == 0
    assert list((tmp_path / "runs").rglob("best.ckpt"))


def test_a_damaged_store_ends_in_one_message(
    tiny_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("convert", "--panel", tiny_store, "--to", "qlib", "--output", tmp_path / "q")
    capsys.readouterr()
    symbol = QlibSource(path=str(tmp_path / "q")).load().symbols[0]
    (tmp_path / "q" / "features" / symbol.lower() / "open.day.bin").write_bytes(b"123")
    arguments = ["--source.path", tmp_path / "q", "--output", tmp_path / "again"]
    assert run("prepare", "--source", "QlibSource", *arguments) == 1
    said = capsys.readouterr().err
    assert said.startswith("quantlit prepare: DataError: ") and said.count("\n") == 1
    assert f"({symbol}, open): the file has 3 bytes, which is no multiple of 4" in said
    assert not (tmp_path / "again").exists()
