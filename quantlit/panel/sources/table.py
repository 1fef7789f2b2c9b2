"""Sources of long tables in files: CSV and Parquet, one file, a folder or a pattern of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from quantlit.core import DataError
from quantlit.panel.paths import expand_path, file_state
from quantlit.panel.sources.base import RawPanel, StreamedSource, fingerprint_of
from quantlit.panel.sources.chunks import ChunkStore
from quantlit.panel.sources.columns import ColumnMap, ReturnColumn, resolve_columns
from quantlit.panel.sources.files import Reading, read_csv, read_parquet
from quantlit.panel.sources.listing import TableFile, list_files
from quantlit.panel.sources.pivot import pivot
from quantlit.panel.sources.scan import scan
from quantlit.panel.sources.screen import OnBadRows
from quantlit.panel.sources.settings import TableSettings
from quantlit.panel.workspace import Workspace

EMPTY_TABLE = "the table is empty; it has a header and no bar."

_ASSET = "<the file's name>"


class TableSource(StreamedSource):
    """Base of the sources that read long tables (one row per bar and asset) from files.

    Prices are taken as adjusted already, unless ``returns``, ``columns.adjusted_close`` or
    ``columns.adjustment_factor`` says how to adjust them. Then open, high, low, close and vwap are
    scaled forward from each asset's first bar, which keeps its raw price; volume is scaled by the
    inverse; and ``factor`` (adjusted over raw price) becomes a field. Either way no level depends
    on a later event.

    Files of any size are read some rows at a time, and an interrupted build goes on with the row
    where it stopped.

    Args:
        path: a file, a folder whose files are read together, or a pattern (``bars/2020*.csv.gz``);
            ``~`` and environment variables (``$NAME``) are filled in. Folders named
            ``column=value`` give their files a column, as Hive partitions do.
        columns: the table's name of each column.
        returns: a column of returns to compound into adjusted prices over each asset's observed
            bars.
        extra: columns of numbers or booleans to take as further fields, under their own names.
        date_format: how dates are written: ``strptime``'s language, or ``epoch_s``, ``epoch_ms``,
            ``epoch_us`` or ``epoch_ns`` for numbers counted from 1970 in UTC; by default ISO 8601.
        timezone: the exchange's time zone (``America/New_York``). Times with a zone are brought to
            it; times without one are the exchange's own already. Null: times must all have the
            same zone, or none, and it is dropped.
        units: what a field's numbers are multiplied by, such as ``{volume: 100}`` for lots.
        on_bad_rows: what becomes of a row that cannot be a bar: ``error`` stops at the first,
            ``drop`` leaves all of them out and lists them in the store's ``dropped.csv``,
            ``report`` lists all of them instead of building.
        positive_prices: a price of 0 or below is a bad row; false for spreads and the like.
        min_assets: assets that must have a bar on one date, or there is no cross-section.

    Raises:
        ConfigError: if settings exclude each other, or one is impossible.
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
        timezone: str | None = None,
        units: dict[str, float] | None = None,
        on_bad_rows: OnBadRows = "error",
        positive_prices: bool = True,
        min_assets: int = 2,
    ) -> None:
        self.path = path
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
        """Read all files.

        Raises:
            DataError: naming file, row, asset, date, column and value of what is wrong.
            ConfigError: if the path names an environment variable that is not set.
        """
        files = self._files()
        chunks = ChunkStore(workspace.parts)
        sizes = [max(file.path.stat().st_size, 1) for file in files]
        done = 0
        for number, (file, size) in enumerate(zip(files, sizes, strict=True)):
            if not chunks.is_whole(number):
                for records, share in self._read(file, chunks.rows(number)):
                    if len(records.frame) > 0:
                        chunks.add(number, scan(records, self.settings))
                    workspace.progress(done + int(share * size), sum(sizes))
                if chunks.rows(number) == 0:
                    raise DataError(f"{file.name}: {EMPTY_TABLE}")
                chunks.mark_whole(number)
            done += size
            workspace.progress(done, sum(sizes))
        return pivot(list(chunks), self.settings, workspace)

    def fingerprint(self) -> str:
        """A hash of the settings and of the name, size and time of change of every file."""
        files = self._files()
        names = [file.name for file in files]
        return fingerprint_of(self.describe(), names, file_state(file.path for file in files))

    def describe(self) -> dict[str, str]:
        """The source and its settings, the path as written."""
        return super().describe() | {"path": self.path} | self.settings.describe()

    @abstractmethod
    def _read(self, file: TableFile, skip: int) -> Reading:
        """The wanted columns of one file, from a row on."""

    def _files(self) -> list[TableFile]:
        files = list_files(expand_path(self.path), self.suffixes)
        if self.settings.columns.symbol is not None:
            return files
        return [replace(file, constants=file.constants | {_ASSET: file.asset}) for file in files]

    def _resolve(self, available: Sequence[str], file: TableFile) -> dict[str, str]:
        columns = self.settings.columns
        return resolve_columns(
            [*available, *(name for name in file.constants if name not in available)],
            replace(columns, symbol=columns.symbol or _ASSET),
            extra=self.settings.extra,
            returns=self.settings.returns,
            where=file.name,
        )


class CsvSource(TableSource):
    """A long table in CSV: files that end in .csv, perhaps compressed (.gz, .bz2, .xz, .zip).

    Symbols are read as text: 000001 keeps its zeros. Unknown numbers are empty cells or NaN.

    Args:
        path: see :class:`TableSource`, as for all that follow.
        columns: the table's name of each column.
        returns: a column of returns to compound into adjusted prices.
        extra: columns to take as further fields.
        date_format: how dates are written.
        timezone: the exchange's time zone.
        units: what a field's numbers are multiplied by.
        on_bad_rows: what becomes of a row that cannot be a bar.
        positive_prices: a price of 0 or below is a bad row.
        min_assets: assets that must have a bar on one date.
        separator: what stands between two cells.
    """

    suffixes = (".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zip")

    def __init__(
        self,
        path: str,
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
        separator: str = ",",
    ) -> None:
        super().__init__(
            path,
            columns=columns,
            returns=returns,
            extra=extra,
            date_format=date_format,
            timezone=timezone,
            units=units,
            on_bad_rows=on_bad_rows,
            positive_prices=positive_prices,
            min_assets=min_assets,
        )
        self.separator = separator

    def describe(self) -> dict[str, str]:
        """The source and its settings, the path as written."""
        return super().describe() | {"separator": self.separator}

    def _read(self, file: TableFile, skip: int) -> Reading:
        return read_csv(file, self._resolve, self.separator, skip)


class ParquetSource(TableSource):
    """A long table in Parquet: one file, a folder or a pattern of files that end in .parquet.

    The arguments are those of :class:`TableSource`.
    """

    suffixes = (".parquet",)

    def _read(self, file: TableFile, skip: int) -> Reading:
        return read_parquet(file, self._resolve, skip)
