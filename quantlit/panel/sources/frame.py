"""FrameSource: a long table in a pandas DataFrame."""

from __future__ import annotations

import hashlib

import numpy as np
import pandas as pd

from quantlit.panel.sources.base import PanelSource, RawPanel, fingerprint_of
from quantlit.panel.sources.columns import ColumnMap, ReturnColumn, resolve_columns
from quantlit.panel.sources.pivot import pivot_records
from quantlit.panel.sources.records import table_records
from quantlit.panel.sources.table import check_adjustment


class FrameSource(PanelSource):
    """A long table in memory: one row per bar and asset. From Python only.

    Args:
        frame: the table; it is not changed.
        columns: the frame's name of each column, see :class:`TableSource`.
        returns: a column of returns to adjust prices by, see :class:`TableSource`.
        extra: columns of numbers or booleans to take as further fields.
        date_format: how dates are written, where they are text; by default ISO 8601.

    Raises:
        ConfigError: if both ``returns`` and ``columns.adjusted_close`` are given, or either
            without a close.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        *,
        columns: ColumnMap | None = None,
        returns: ReturnColumn | None = None,
        extra: list[str] | None = None,
        date_format: str | None = None,
    ) -> None:
        self.frame = frame
        self.columns = columns or ColumnMap()
        self.returns = returns
        self.extra = list(extra or [])
        self.date_format = date_format
        check_adjustment(self.columns, returns)

    def load(self) -> RawPanel:
        """Pivot the frame.

        Raises:
            DataError: naming row, column and value of what is wrong.
        """
        records = table_records(
            self.frame,
            self._wanted(),
            "frame",
            asset="asset",
            places=np.arange(len(self.frame)),
            unit="row",
        )
        return pivot_records(
            records, extra=self.extra, returns=self.returns, date_format=self.date_format
        )

    def fingerprint(self) -> str:
        """A hash of the settings and of the contents of every column that is read."""
        wanted = sorted(set(self._wanted().values()))
        hashes = pd.util.hash_pandas_object(self.frame[wanted], index=False)
        contents = hashlib.sha256(hashes.to_numpy().tobytes()).hexdigest()
        return fingerprint_of(self.describe(), contents)

    def describe(self) -> dict[str, str]:
        """The source and its settings."""
        return super().describe() | {
            "columns": repr(self.columns),
            "returns": repr(self.returns),
            "extra": repr(self.extra),
            "date_format": repr(self.date_format),
        }

    def _wanted(self) -> dict[str, str]:
        available = [str(column) for column in self.frame.columns]
        return resolve_columns(
            available, self.columns, extra=self.extra, returns=self.returns, where="frame"
        )
