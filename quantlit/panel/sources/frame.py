"""FrameSource: a long table in a pandas DataFrame."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pandas as pd

from quantlit.core import DataError
from quantlit.panel.sources.base import RawPanel, StreamedSource, fingerprint_of
from quantlit.panel.sources.chunks import ROWS, ChunkStore
from quantlit.panel.sources.columns import ColumnMap, ReturnColumn, resolve_columns
from quantlit.panel.sources.pivot import pivot
from quantlit.panel.sources.records import table_records
from quantlit.panel.sources.scan import scan
from quantlit.panel.sources.screen import OnBadRows
from quantlit.panel.sources.settings import TableSettings
from quantlit.panel.sources.table import EMPTY_TABLE
from quantlit.panel.workspace import Workspace

_ASSET = "<the frame>"


class FrameSource(StreamedSource):
    """A long table in memory: one row per bar and asset. From Python only.

    Args:
        frame: the table; it is not changed.
        columns: the frame's name of each column, see :class:`TableSource`, as for all that follow.
        returns: a column of returns to compound into adjusted prices.
        extra: columns of numbers or booleans to take as further fields.
        date_format: how dates are written, where they are text; by default ISO 8601.
        timezone: the exchange's time zone.
        units: what a field's numbers are multiplied by.
        on_bad_rows: what becomes of a row that cannot be a bar.
        positive_prices: a price of 0 or below is a bad row.
        min_assets: assets that must have a bar on one date.

    Raises:
        ConfigError: if settings exclude each other, or one is impossible.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        *,
        columns: ColumnMap | None = None,
        returns: ReturnColumn | None = None,
        extra: list[str] | None = None,
        date_format: str | None = None,
        timezone: str | None = None,
        units: dict[str, float] | None = None,
        on_bad_rows: OnBadRows = "error",
        positive_prices: bool = True,
        min_assets: int = 2,
    ) -> None:
        self.frame = frame
        self.settings = TableSettings(
            columns=columns or ColumnMap(),
            returns=returns,
            extra=tuple(extra or ()),
            date_format=date_format,
            timezone=timezone,
            units=units or {},
            on_bad_rows=on_bad_rows,
            positive_prices=positive_prices,
            min_assets=min_assets,
        )

    def build(self, workspace: Workspace) -> RawPanel:
        """Pivot the frame.

        Raises:
            DataError: naming row, asset, date, column and value of what is wrong.
        """
        if len(self.frame) == 0:
            raise DataError(f"frame: {EMPTY_TABLE}")
        wanted, total = self._wanted(), len(self.frame)
        chunks = ChunkStore(workspace.parts)
        for start in range(chunks.rows(0), total, ROWS):
            end = min(start + ROWS, total)
            records = table_records(
                self.frame.iloc[start:end],
                wanted,
                "frame",
                constants={_ASSET: "asset"},
                places=np.arange(start, end),
                unit="row",
                end=end,
            )
            chunks.add(0, scan(records, self.settings))
            workspace.progress(end, total)
        return pivot(list(chunks), self.settings, workspace)

    def fingerprint(self) -> str:
        """A hash of the settings and of the contents of every column that is read."""
        wanted = sorted(set(self._wanted().values()) - {_ASSET})
        hashes = pd.util.hash_pandas_object(self.frame[wanted], index=False)
        contents = hashlib.sha256(hashes.to_numpy().tobytes()).hexdigest()
        return fingerprint_of(self.describe(), contents)

    def describe(self) -> dict[str, str]:
        """The source and its settings."""
        return super().describe() | self.settings.describe()

    def _wanted(self) -> dict[str, str]:
        available = [*(str(column) for column in self.frame.columns), _ASSET]
        columns = self.settings.columns
        return resolve_columns(
            available,
            replace(columns, symbol=columns.symbol or _ASSET),
            extra=self.settings.extra,
            returns=self.settings.returns,
            where="frame",
        )
