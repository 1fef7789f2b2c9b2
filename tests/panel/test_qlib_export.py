"""write_qlib: what it writes is read back bit for bit, and nothing is replaced by mistake."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from suspended_market import Fields, MakePanel

from quantlit.core import ConfigError, PanelError
from quantlit.panel import Panel, PanelSource, QlibSource, RawPanel, build_panel, write_qlib

Market = tuple[Fields, npt.NDArray[np.bool_]]


class GivenSource(PanelSource):
    """A panel of ones, or of given values."""

    def __init__(
        self,
        dates: pd.DatetimeIndex,
        symbols: list[str],
        fields: list[str],
        values: npt.NDArray[np.float32] | None = None,
    ) -> None:
        shape = (len(dates), len(symbols), len(fields))
        given = np.ones(shape, dtype=np.float32) if values is None else values
        seen = np.isfinite(given[:, :, 0])
        self.raw = RawPanel(dates.as_unit("ns").to_numpy(), symbols, fields, given, seen)

    def load(self) -> RawPanel:
        return self.raw

    def fingerprint(self) -> str:
        return "given"


def given(
    tmp_path: Path,
    *,
    dates: list[str] | None = None,
    symbols: list[str] | None = None,
    fields: list[str] | None = None,
    values: npt.NDArray[np.float32] | None = None,
) -> Panel:
    index = pd.DatetimeIndex(dates or ["2020-01-02", "2020-01-03"])
    source = GivenSource(index, symbols or ["A", "B"], fields or ["close"], values)
    return build_panel(source, tmp_path / "given")


def test_daily_round_trip(market: Market, make_panel: MakePanel, tmp_path: Path) -> None:
    panel = make_panel(*market)
    folder = write_qlib(panel, tmp_path / "new" / "qlib")
    assert folder == tmp_path / "new" / "qlib"
    assert sorted(path.name for path in folder.parent.iterdir()) == ["qlib"]
    again = build_panel(QlibSource(path=str(folder)), tmp_path / "again")
    assert again.checksum == panel.checksum
    np.testing.assert_array_equal(again.values, panel.values)


def test_intraday_round_trip(tmp_path: Path) -> None:
    minutes = [f"2021-03-0{day} {hour}:{minute}:00" for day in (1, 2) for hour in (9, 10, 13)
               for minute in (35, 40, 45)]  # fmt: skip
    values = np.random.default_rng(0).lognormal(size=(18, 3, 2)).astype(np.float32)
    values[:7, 1] = np.nan
    values[9, 2] = np.nan
    panel = given(
        tmp_path,
        dates=minutes,
        symbols=["PRN", "SH600000", "sz000001"],
        fields=["close", "volume"],
        values=values,
    )
    folder = write_qlib(panel, tmp_path / "qlib")
    assert [path.name for path in (folder / "calendars").iterdir()] == ["5min.txt"]
    assert (folder / "features" / "_qlib_prn" / "close.5min.bin").is_file()
    again = build_panel(QlibSource(path=str(folder), freq="5min"), tmp_path / "again")
    assert again.checksum == panel.checksum


def test_the_files_themselves(tmp_path: Path) -> None:
    """By Qlib's own description: a start index, then little-endian float32 up to the last bar."""
    nan = np.nan
    values = np.array([[nan, 1], [2, nan], [nan, nan], [3, nan]], dtype=np.float32)
    dates = ["2020-01-02", "2020-01-03", "2020-01-06", "2020-01-07"]
    panel = given(tmp_path, dates=dates, symbols=["SH1", "SZ2"], values=values[:, :, None])
    folder = write_qlib(panel, tmp_path / "qlib", market="mine")
    assert (folder / "calendars" / "day.txt").read_text().splitlines() == dates
    assert (folder / "instruments" / "mine.txt").read_text().splitlines() == [
        "SH1\t2020-01-03\t2020-01-07",
        "SZ2\t2020-01-02\t2020-01-02",
    ]
    numbers = np.fromfile(folder / "features" / "sh1" / "close.day.bin", "<f4")
    np.testing.assert_array_equal(numbers, [1, 2, nan, 3])
    numbers = np.fromfile(folder / "features" / "sz2" / "close.day.bin", "<f4")
    np.testing.assert_array_equal(numbers, [0, 1])


def test_an_asset_that_was_never_observed_is_left_out(tmp_path: Path) -> None:
    values = np.array([[1, np.nan], [2, np.nan]], dtype=np.float32)[:, :, None]
    folder = write_qlib(given(tmp_path, values=values), tmp_path / "qlib")
    assert QlibSource(path=str(folder)).load().symbols == ["A"]
    assert [path.name for path in (folder / "features").iterdir()] == ["a"]


def test_a_universe_as_spells(tmp_path: Path) -> None:
    nan = np.nan
    close = np.array([[1, 1], [nan, 1], [1, 1], [1, 1], [1, nan]])
    member = np.array([[1, 0], [nan, 1], [1, 0], [0, 1], [1, nan]])
    values = np.stack([close, member], axis=-1).astype(np.float32)
    dates = ["2020-01-02", "2020-01-03", "2020-01-06", "2020-01-07", "2020-01-08"]
    panel = given(tmp_path, dates=dates, fields=["close", "in_universe"], values=values)
    folder = write_qlib(panel, tmp_path / "qlib", universe="in_universe")
    assert (folder / "instruments" / "in_universe.txt").read_text().splitlines() == [
        "A\t2020-01-02\t2020-01-06",
        "A\t2020-01-08\t2020-01-08",
        "B\t2020-01-03\t2020-01-03",
        "B\t2020-01-07\t2020-01-07",
    ]
    source = QlibSource(path=str(folder), instruments="in_universe", universe=True)
    assert build_panel(source, tmp_path / "again").checksum == panel.checksum
    with pytest.raises(ConfigError, match="universe and market are both 'in_universe'"):
        write_qlib(panel, tmp_path / "other", market="in_universe", universe="in_universe")


def test_a_universe_of_nobody(tmp_path: Path) -> None:
    panel = given(tmp_path, fields=["close", "none"], values=np.zeros((2, 2, 2), np.float32))
    with pytest.raises(ConfigError, match="no asset ever belongs to the universe 'none'"):
        write_qlib(panel, tmp_path / "qlib", universe="none")
    with pytest.raises(PanelError, match="the panel has no field 'csi300'; it has close, none"):
        write_qlib(panel, tmp_path / "qlib", universe="csi300")
    assert not (tmp_path / "qlib").exists()


def test_parts_and_progress(
    market: Market, make_panel: MakePanel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quantlit.panel.export_qlib.BUFFER", 1500)
    panel, told = make_panel(*market), []
    folder = write_qlib(panel, tmp_path / "q", progress=lambda *done: told.append(done))
    assert told == [(2, 9), (4, 9), (6, 9), (8, 9), (9, 9)]
    assert build_panel(QlibSource(path=str(folder)), tmp_path / "x").checksum == panel.checksum


@pytest.mark.parametrize(
    ("dates", "freq"),
    [
        (["2020-01-02", "2020-01-03"], "day"),
        (["2020-01-02 15:00", "2020-01-03 15:00"], "day"),
        (["2020-01-02 09:30", "2020-01-02 09:31", "2020-01-02 09:32", "2020-01-02 13:00"], "1min"),
        (["2020-01-02 09:30", "2020-01-02 10:30"], "60min"),
    ],
)
def test_the_frequency_of_a_panel(tmp_path: Path, dates: list[str], freq: str) -> None:
    panel = given(tmp_path, dates=dates, values=np.ones((len(dates), 2, 1), np.float32))
    folder = write_qlib(panel, tmp_path / "qlib")
    assert (folder / "calendars" / f"{freq}.txt").is_file()
    again = build_panel(QlibSource(path=str(folder), freq=freq), tmp_path / "again")
    assert again.checksum == panel.checksum


def test_seconds_want_a_name(tmp_path: Path) -> None:
    panel = given(tmp_path, dates=["2020-01-02 09:30:00", "2020-01-02 09:30:10"])
    with pytest.raises(ConfigError, match="its bars are 0 days 00:00:10 apart, which is no whole"):
        write_qlib(panel, tmp_path / "qlib")
    folder = write_qlib(panel, tmp_path / "qlib", freq="10s")
    again = build_panel(QlibSource(path=str(folder), freq="10s"), tmp_path / "again")
    assert again.checksum == panel.checksum


@pytest.mark.parametrize(
    ("symbols", "fields", "message"),
    [
        (["BTC/USD", "X"], ["close"], "keeps each symbol in files of its name, and .* 'BTC/USD'"),
        (["..", "X"], ["close"], r"cannot keep '\.\.'. Rename it in the source"),
        (["A ", "X"], ["close"], "cannot keep 'A '"),
        (["A\tB", "X"], ["close"], r"cannot keep 'A\\tB'"),
        (["AB", "ab"], ["close"], "lower case, where the symbols 'AB' and 'ab' are one. Rename"),
        (["A", "B"], ["close", "p/e"], "each field in files of its name, and cannot keep 'p/e'"),
        (["A", "B"], ["close", "Close"], "where the fields 'close' and 'Close' are one"),
    ],
)
def test_names_that_qlib_cannot_keep(
    tmp_path: Path, symbols: list[str], fields: list[str], message: str
) -> None:
    panel = given(tmp_path, symbols=symbols, fields=fields)
    with pytest.raises(PanelError, match=message):
        write_qlib(panel, tmp_path / "qlib")
    assert not (tmp_path / "qlib").exists()


@pytest.mark.parametrize("setting", ["freq", "market"])
def test_settings_that_name_no_file(tmp_path: Path, setting: str) -> None:
    with pytest.raises(ConfigError, match=f"{setting} is '../x', which is to name a file; use"):
        write_qlib(given(tmp_path), tmp_path / "qlib", **{setting: "../x"})  # type: ignore[arg-type]


def test_what_is_there_stays_unless_told(tmp_path: Path) -> None:
    panel = given(tmp_path)
    target = tmp_path / "qlib"
    write_qlib(panel, target)
    (target / "note").write_text("mine")
    with pytest.raises(PanelError, match="there is a Qlib store here already. Give --overwrite t"):
        write_qlib(panel, target)
    assert (target / "note").is_file()
    write_qlib(panel, target, overwrite=True)
    assert not (target / "note").exists()
    with pytest.raises(PanelError, match="something here that is no Qlib store; it is left alone"):
        write_qlib(panel, panel.path, overwrite=True)
    (tmp_path / "empty").mkdir()
    write_qlib(panel, tmp_path / "empty")


def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    panel = given(tmp_path)
    target = tmp_path / "qlib"
    write_qlib(panel, target)
    before = sorted(tmp_path.iterdir())

    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(PanelError, match=r"the Qlib store cannot be written \(.*No space left.*\)"):
        write_qlib(panel, target, overwrite=True)
    assert sorted(tmp_path.iterdir()) == before
    monkeypatch.undo()
    replace = Path.replace

    def halfway(self: Path, to: Path) -> Path:
        if self.name == "new":
            raise PermissionError(13, "Permission denied")
        return replace(self, to)

    monkeypatch.setattr(Path, "replace", halfway)
    with pytest.raises(
        PanelError, match=r"cannot be written \(.*denied.*\)\. Check the disk's spa"
    ):
        write_qlib(panel, target, overwrite=True)
    assert sorted(tmp_path.iterdir()) == before
    assert QlibSource(path=str(target)).load().symbols == ["A", "B"]
