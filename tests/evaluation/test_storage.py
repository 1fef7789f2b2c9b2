"""The Parquet file of a prediction table: round trip, atomic writing, refusals."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from random_predictions import make_arrays, make_frame

from quantlit.core import DataError
from quantlit.evaluation import prediction_frame, read_predictions, write_predictions

METADATA = {"panel_checksum": "ab" * 32, "config": "seed_everything: 1\nmodel: é\n"}


def test_round_trip(tmp_path: Path) -> None:
    frame = make_frame()
    path = write_predictions(tmp_path / "run" / "predictions.test.parquet", frame, METADATA)
    table, metadata = read_predictions(path)
    pd.testing.assert_frame_equal(table, frame)
    assert metadata == METADATA
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert pq.read_schema(path).metadata[b"quantlit.format"] == b"1"


def test_half_a_million_rows_are_small(tmp_path: Path) -> None:
    frame = prediction_frame(**make_arrays(n_dates=600, n_symbols=850, horizons=(1,)))
    path = write_predictions(tmp_path / "p.parquet", frame)
    assert read_predictions(path).frame.equals(frame)
    assert frame.memory_usage(deep=True).sum() < 25 * len(frame)
    assert path.stat().st_size < 10 * len(frame)


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = make_frame()
    path = write_predictions(tmp_path / "p.parquet", frame)
    before = path.read_bytes()

    def fail(*args: Any, **kwargs: Any) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(pq, "write_table", fail)
    with pytest.raises(OSError, match="No space"):
        write_predictions(path, frame.assign(forecast=frame["forecast"] * 2))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_further_columns_are_kept(tmp_path: Path) -> None:
    frame = make_frame()
    more = frame.assign(forecast_q05=frame["forecast"] - 1)
    path = write_predictions(tmp_path / "p.parquet", more)
    pd.testing.assert_frame_equal(read_predictions(path).frame, more)


def test_a_foreign_file_is_read(tmp_path: Path) -> None:
    frame = make_frame()
    foreign = frame.astype({"symbol": str, "date": "datetime64[ms]", "horizon": "int64"})
    foreign.to_parquet(tmp_path / "p.parquet")
    table, metadata = read_predictions(tmp_path / "p.parquet")
    pd.testing.assert_frame_equal(table, frame)
    assert metadata == {}


def test_numbers_as_symbols_become_names(tmp_path: Path) -> None:
    frame = make_frame()
    numbers = frame.assign(
        symbol=(600_000 + frame["symbol"].cat.codes.astype(int)).astype("category")
    )
    path = write_predictions(tmp_path / "p.parquet", numbers)
    assert read_predictions(path).frame["symbol"].cat.categories[0] == "600000"


def test_a_missing_file_says_who_writes_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no such prediction table\. `quantlit test`"):
        read_predictions(tmp_path / "absent.parquet")


def test_no_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.parquet").write_text("date,symbol\n")
    with pytest.raises(DataError, match=r"p\.parquet: not a readable Parquet file"):
        read_predictions(tmp_path / "p.parquet")


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    frame = make_frame()
    path = write_predictions(tmp_path / "p.parquet", frame)
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({"quantlit.format": "9"}), path)
    with pytest.raises(DataError, match="format 9; this quantlit reads format 1"):
        read_predictions(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns=["label", "valid"]), "column(s) label, valid are missing"),
        (lambda f: f.iloc[[1, 0, 2]], "row 1 (date 2019-01-02 00:00:00, symbol S0000, horizon 1)"),
        (lambda f: f.iloc[[0, 1, 1, 2]], "horizon 5) is there twice"),
        (lambda f: f.iloc[[2, 0]], "is out of order"),
        (lambda f: f.astype({"valid": float}), "column valid holds float64; it needs booleans"),
        (lambda f: f.astype({"date": str}), "it needs timestamps"),
        (lambda f: f.astype({"forecast": str}), "it needs floating-point numbers"),
        (lambda f: f.assign(date=f["date"].where(f.index != 3)), "row 3 has no date"),
        (lambda f: f.assign(date=f["date"].dt.tz_localize("Asia/Shanghai")), "Asia/Shanghai"),
    ],
)
def test_what_is_no_prediction_table_is_refused(
    tmp_path: Path,
    change: Callable[[pd.DataFrame], pd.DataFrame],
    message: str,
) -> None:
    frame = make_frame()
    broken = change(frame)
    broken.to_parquet(tmp_path / "foreign.parquet")
    with pytest.raises(DataError, match=re.escape(message)) as error:
        read_predictions(tmp_path / "foreign.parquet")
    assert "foreign.parquet" in str(error.value)
    with pytest.raises(DataError, match=re.escape(message)):
        write_predictions(tmp_path / "p.parquet", broken)
    assert not (tmp_path / "p.parquet").exists()
