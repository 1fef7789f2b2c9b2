"""write_parquet: a long table that ParquetSource, pandas and others read back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from suspended_market import Fields, MakePanel

from quantlit.core import PanelError
from quantlit.panel import Panel, ParquetSource, build_panel, write_parquet

Market = tuple[Fields, npt.NDArray[np.bool_]]


@pytest.fixture
def panel(market: Market, make_panel: MakePanel) -> Panel:
    """Every date and asset observed somewhere: others leave no row. A field of our own."""
    fields, observed = market
    observed[100, 4] = True
    for name, values in fields.items():
        values[100, 4] = 100.0 if name == "volume" else 20.0
    return make_panel({**fields, "mood": np.where(observed, 0.5, np.nan)}, observed)


def test_round_trip(panel: Panel, tmp_path: Path) -> None:
    path = write_parquet(panel, tmp_path / "new" / "bars.parquet")
    again = build_panel(ParquetSource(str(path), extra=["mood"]), tmp_path / "again")
    assert again.checksum == panel.checksum
    assert [file.name for file in path.parent.iterdir()] == ["bars.parquet"]


def test_the_table_as_pandas_reads_it(panel: Panel, tmp_path: Path) -> None:
    path = write_parquet(panel, tmp_path / "bars.parquet")
    frame = pd.read_parquet(path)
    pd.testing.assert_frame_equal(frame, panel.to_frame(), check_categorical=False)
    keys = frame[["date", "symbol"]].astype({"symbol": "str"})
    assert keys.equals(keys.sort_values(["date", "symbol"]))


def test_types_and_metadata(panel: Panel, tmp_path: Path) -> None:
    path = write_parquet(panel, tmp_path / "bars.parquet")
    with pq.ParquetFile(path) as file:
        schema, column = file.schema_arrow, file.metadata.row_group(0).column(2)
    assert schema.names == ["date", "symbol", *panel.fields]
    assert schema.field("date").type == pa.timestamp("ns")
    assert pa.types.is_dictionary(schema.field("symbol").type)
    assert schema.field("mood").type == pa.float32()
    assert column.compression == "ZSTD"
    assert schema.metadata[b"quantlit.checksum"].decode() == panel.checksum
    assert json.loads(schema.metadata[b"quantlit.fields"]) == panel.fields


def test_unknown_numbers_are_null(market: Market, make_panel: MakePanel, tmp_path: Path) -> None:
    fields, observed = market
    fields["volume"][observed & (np.arange(9) == 5)] = np.nan
    path = write_parquet(make_panel(fields, observed), tmp_path / "bars.parquet")
    assert pq.read_table(path)["volume"].null_count == int(observed[:, 5].sum())


def test_row_groups_hold_whole_dates(
    panel: Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = pq.read_table(write_parquet(panel, tmp_path / "whole.parquet"))
    monkeypatch.setattr("quantlit.panel.export_parquet.GROUP_ROWS", 50)
    told: list[tuple[int, int]] = []
    path = write_parquet(panel, tmp_path / "parts.parquet", progress=lambda *d: told.append(d))
    assert pq.read_table(path).equals(whole)
    with pq.ParquetFile(path) as file:
        groups = [file.read_row_group(i) for i in range(file.num_row_groups)]
    assert len(groups) == len(told) > 10
    assert told[-1] == (150, 150)
    assert all(0 < group.num_rows < 50 + 9 for group in groups)
    dates = [set(group["date"].to_pylist()) for group in groups]
    assert sum(len(some) for some in dates) == len(set.union(*dates)) == 150


def test_first_dates_without_a_bar(make_panel: MakePanel, tmp_path: Path) -> None:
    observed = np.zeros((5, 2), dtype=np.bool_)
    observed[3] = True
    panel = make_panel({"close": np.where(observed, 1.0, np.nan)}, observed)
    with pq.ParquetFile(write_parquet(panel, tmp_path / "bars.parquet")) as file:
        assert (file.metadata.num_rows, file.num_row_groups) == (2, 1)


def test_a_field_called_like_a_key(make_panel: MakePanel, tmp_path: Path) -> None:
    panel = make_panel({"symbol": np.ones((2, 2))}, np.ones((2, 2), dtype=np.bool_))
    with pytest.raises(PanelError, match="the panel has a field 'symbol', and the table has a col"):
        write_parquet(panel, tmp_path / "bars.parquet")


def test_what_is_there_stays_unless_told(panel: Panel, tmp_path: Path) -> None:
    path = write_parquet(panel, tmp_path / "bars.parquet")
    with pytest.raises(PanelError, match="there is a Parquet file here already. Give --overwrite"):
        write_parquet(panel, path)
    write_parquet(panel, path, overwrite=True)
    note = tmp_path / "note.txt"
    note.write_text("mine")
    with pytest.raises(PanelError, match="something here that is no Parquet file; it is left al"):
        write_parquet(panel, note, overwrite=True)
    with pytest.raises(
        PanelError, match=r"this is a folder\. Name a file for the table, such as .*"
    ):
        write_parquet(panel, tmp_path, overwrite=True)
    assert note.read_text() == "mine"


def test_a_failure_leaves_what_was_there(
    panel: Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_parquet(panel, tmp_path / "bars.parquet")
    before, inode = sorted(tmp_path.iterdir()), path.stat().st_ino

    def full(self: pq.ParquetWriter, table: pa.Table) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(PanelError, match=r"the Parquet file cannot be written \(.*No space left"):
        write_parquet(panel, path, overwrite=True)
    assert sorted(tmp_path.iterdir()) == before
    assert path.stat().st_ino == inode
    (tmp_path / "file").write_text("")
    with pytest.raises(PanelError, match="cannot be written .* or choose another output"):
        write_parquet(panel, tmp_path / "file" / "bars.parquet")
