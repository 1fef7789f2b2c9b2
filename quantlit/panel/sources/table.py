"""Sources of long tables in files: CSV and Parquet, one file or a folder of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from quantlit.core import ConfigError
from quantlit.panel.paths import expand_path, file_state
from quantlit.panel.sources.base import PanelSource, RawPanel, fingerprint_of
from quantlit.panel.sources.columns import ColumnMap, ReturnColumn, resolve_columns
from quantlit.panel.sources.files import list_files, read_csv, read_parquet
from quantlit.panel.sources.pivot import pivot_records
from quantlit.panel.sources.records import Records, join_records


class TableSource(PanelSource):
    """Base of the sources that read long tables (one row per bar and asset) from files.

    Prices are taken as adjusted already, unless ``returns`` or ``columns.adjusted_close`` says how
    to adjust them. Then open, high, low, close and vwap are scaled forward from each asset's first
    bar, which keeps its raw price; volume is scaled by the inverse; and ``factor`` (adjusted over
    raw price) becomes a field. Either way no level depends on a later event.

    Args:
        path: a file, or a folder whose files are read together; ``~`` and environment variables
            (``$NAME``) are filled in.
        columns: the table's name of each column.
        returns: a column of returns to compound into adjusted prices over each asset's observed
            bars.
        extra: columns of numbers or booleans to take as further fields, under their own names.
        date_format: how dates are written (``strptime``); by default ISO 8601.

    Raises:
        ConfigError: if both ``returns`` and ``columns.adjusted_close`` are given, or either
            without a close.
    """

    suffixes: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        path: str,
        *,
        columns: ColumnMap | None = None,
        returns: ReturnColumn | None = None,
        extra: list[str] | None = None,
        date_format: str | None = None,
    ) -> None:
        self.path = path
        self.columns = columns or ColumnMap()
        self.returns = returns
        self.extra = list(extra or [])
        self.date_format = date_format
        check_adjustment(self.columns, returns)

    def load(self) -> RawPanel:
        """Read all files.

        Raises:
            DataError: naming file, row, column and value of what is wrong.
            ConfigError: if the path names an environment variable that is not set.
        """
        records = join_records([self._read(file) for file in self._files()])
        return pivot_records(
            records, extra=self.extra, returns=self.returns, date_format=self.date_format
        )

    def fingerprint(self) -> str:
        """A hash of the settings and of the name, size and time of change of every file."""
        return fingerprint_of(self.describe(), file_state(self._files()))

    def describe(self) -> dict[str, str]:
        """The source and its settings, the path as written."""
        return super().describe() | {
            "path": self.path,
            "columns": repr(self.columns),
            "returns": repr(self.returns),
            "extra": repr(self.extra),
            "date_format": repr(self.date_format),
        }

    @abstractmethod
    def _read(self, file: Path) -> Records:
        """The wanted columns of one file."""

    def _files(self) -> list[Path]:
        return list_files(expand_path(self.path), self.suffixes)

    def _resolve(self, available: Sequence[str], where: str) -> dict[str, str]:
        return resolve_columns(
            available, self.columns, extra=self.extra, returns=self.returns, where=where
        )


class CsvSource(TableSource):
    """A long table in CSV: one file, or a folder of files that end in .csv (perhaps compressed).

    Symbols are read as text: 000001 keeps its zeros. Unknown numbers are empty cells or NaN.

    Args:
        path: see :class:`TableSource`.
        columns: see :class:`TableSource`.
        returns: see :class:`TableSource`.
        extra: see :class:`TableSource`.
        date_format: see :class:`TableSource`.
        separator: what stands between two cells.
    """

    suffixes = (".csv", ".csv.gz", ".csv.zip", ".csv.xz")

    def __init__(
        self,
        path: str,
        *,
        columns: ColumnMap | None = None,
        returns: ReturnColumn | None = None,
        extra: list[str] | None = None,
        date_format: str | None = None,
        separator: str = ",",
    ) -> None:
        super().__init__(
            path, columns=columns, returns=returns, extra=extra, date_format=date_format
        )
        self.separator = separator

    def describe(self) -> dict[str, str]:
        """The source and its settings, the path as written."""
        return super().describe() | {"separator": self.separator}

    def _read(self, file: Path) -> Records:
        return read_csv(file, self._resolve, self.separator)


class ParquetSource(TableSource):
    """A long table in Parquet: one file, or a folder of files that end in .parquet.

    The arguments are those of :class:`TableSource`.
    """

    suffixes = (".parquet",)

    def _read(self, file: Path) -> Records:
        return read_parquet(file, self._resolve)


def check_adjustment(columns: ColumnMap, returns: ReturnColumn | None) -> None:
    """Raise unless there is at most one way to adjust prices, and a close to adjust.

    Raises:
        ConfigError: saying which settings exclude each other.
    """
    adjusted = columns.adjusted_close is not None
    if returns is not None and adjusted:
        raise ConfigError(
            f"Both returns ({returns.column}) and columns.adjusted_close ({columns.adjusted_close})"
            " say how to adjust prices; give one of them."
        )
    if columns.close is None and (returns is not None or adjusted):
        raise ConfigError(
            "columns.close is null, but prices are to be adjusted by "
            f"{'columns.adjusted_close' if adjusted else 'returns'}, which needs it. Map the close."
        )
