"""QlibSource: bars from the binary files that Qlib keeps its data in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from quantlit.core import ConfigError, DataError
from quantlit.panel.paths import expand_path
from quantlit.panel.sources.base import PanelSource, RawPanel, fingerprint_of
from quantlit.panel.sources.qlib_feature import FeatureReader
from quantlit.panel.sources.qlib_fields import choose_fields, list_assets
from quantlit.panel.sources.qlib_layout import calendar_file, check_store, instruments_file
from quantlit.panel.sources.qlib_lists import (
    Dates,
    Spells,
    last_moments,
    membership,
    read_calendar,
    read_instruments,
)
from quantlit.panel.sources.qlib_values import Selection, read_values

MEMBER = "in_universe"
"""The field that ``universe`` adds."""


class QlibSource(PanelSource):
    """A Qlib data folder (``calendars``, ``instruments``, ``features``), of any frequency.

    Prices are adjusted in it, by Qlib's convention; ``factor`` (adjusted over original price) and
    all other files become fields as they are: those that quantlit has a name for first, the others
    behind them by name. A bar is observed where its close is finite (in a store without a close,
    where any field is), and unobserved bars are NaN in every field. All bars of an asset are
    read, whether it belonged to the market on the date or not: a window needs what was before.
    Where a market changes, set ``universe`` here and ``data.init_args.universe=in_universe``, or
    assets are scored on dates when nobody knew that they would belong to it.

    Args:
        path: the folder; ``~`` and environment variables (``$NAME``) are filled in.
        freq: which bars: the name of a file in ``calendars``, such as ``day`` or ``5min``.
        instruments: which assets: the name of a file in ``instruments``, such as ``all`` or
            ``csi300``. Symbols are spelled as in it. Assets that never belonged to it from
            ``start`` to ``end``, or have no bar then, are left out. Null: every folder of features,
            symbols in lower case as the folders are.
        fields: which fields, ``$close`` or ``close``; null: all that any asset has. An asset
            without the file of a field is NaN there, but each needs the close.
        universe: add the field ``in_universe``: 1 where the asset belonged to the market on the
            bar's date and 0 where it did not. It takes the place of a file of this name.
        start: first date; null: the calendar's.
        end: last date, a date without a time covers its whole day; null: the calendar's.

    Raises:
        ConfigError: if a setting is impossible.
    """

    def __init__(
        self,
        *,
        path: str,
        freq: str = "day",
        instruments: str | None = "all",
        fields: list[str] | None = None,
        universe: bool = False,
        start: str | None = None,
        end: str | None = None,
    ) -> None:
        self.path = path
        self.freq = freq
        self.instruments = instruments
        self.fields = fields
        self.universe = universe
        self.start = start
        self.end = end
        self._names = None if fields is None else [name.lstrip("$").lower() for name in fields]
        self._check()

    def _check(self) -> None:
        names = self._names
        if names is not None and (not names or "" in names or len(set(names)) < len(names)):
            raise ConfigError(
                f"QlibSource.fields is {self.fields}; give names, each once, or null for all."
            )
        if self.universe and self.instruments is None:
            raise ConfigError(
                "QlibSource.universe is true and instruments is null, so that no list says who "
                "belonged when. Set instruments to a market, or universe to false."
            )
        if self.universe and MEMBER in (names or []):
            raise ConfigError(
                f"QlibSource.fields asks for {MEMBER}, which universe makes. Leave one of them out."
            )
        first, last = self._period()
        if last < first:
            raise ConfigError(
                f"QlibSource.start is {self.start} and end {self.end}, which is earlier. Swap them."
            )

    def load(self) -> RawPanel:
        """Read the store.

        Raises:
            DataError: naming file, asset, field and value of what is wrong.
            ConfigError: if the path names an environment variable that is not set.
        """
        chosen = self._choose()
        values, observed = read_values(chosen, extra_field=self.universe)
        if self.universe:
            for column, asset in enumerate(chosen.assets):
                seen = observed[:, column]
                values[seen, column, -1] = membership(chosen.dates, chosen.spells[asset.symbol])[
                    seen
                ]
        fields = [*chosen.fields, MEMBER] if self.universe else chosen.fields
        symbols = [asset.symbol for asset in chosen.assets]
        raw = RawPanel(chosen.dates, symbols, fields, values, observed)
        return _without_empty(raw, chosen.folder)

    def fingerprint(self) -> str:
        """A hash of the settings and of the place, size and time of change of every file read.

        Raises:
            DataError: if the store's lists cannot be read, or files are missing.
        """
        chosen = self._choose()
        wanted = {*chosen.fields, "close"}
        files = list(chosen.lists)
        for asset in chosen.assets:
            files += [file for name, file in sorted(asset.files.items()) if name in wanted]
        try:
            state = [(str(file.relative_to(chosen.folder)), file.stat()) for file in files]
        except OSError as error:
            raise DataError(
                f"{chosen.folder}: a file cannot be read ({error}). Download or dump it anew."
            ) from error
        return fingerprint_of(
            self.describe(), [(name, stat.st_size, stat.st_mtime_ns) for name, stat in state]
        )

    def describe(self) -> dict[str, str]:
        """The source and its settings, the path as written."""
        return super().describe() | {
            "path": self.path,
            "freq": self.freq,
            "instruments": repr(self.instruments),
            "fields": repr(self._names),
            "universe": repr(self.universe),
            "start": repr(self.start),
            "end": repr(self.end),
        }

    # ------------------------------------------------------------------------- parts

    def _choose(self) -> Selection:
        """What to read, by the settings and the store's lists."""
        folder = expand_path(self.path)
        try:
            check_store(folder)
            lists = [calendar_file(folder, self.freq)]
            if self.instruments is not None:
                lists.append(instruments_file(folder, self.instruments))
        except OSError as error:
            raise DataError(
                f"{folder}: the folder cannot be read ({error}). Check its permissions."
            ) from error
        calendar = read_calendar(lists[0])
        bars = self._bars(calendar, lists[0])
        dates = calendar[bars.start : bars.stop]
        spells: dict[str, Spells] = {}
        if self.instruments is not None:
            listed = read_instruments(lists[1])
            spells = {name: part for name, part in listed.items() if membership(dates, part).any()}
            if not spells:
                raise DataError(
                    f"{lists[1]}: none of the {len(listed)} instruments belongs to it from "
                    f"{pd.Timestamp(dates[0])} to {pd.Timestamp(dates[-1])}. Set other dates."
                )
        assets = list_assets(folder, self.freq, list(spells) if self.instruments else None)
        fields = choose_fields(assets, self._names, folder, self.freq)
        return Selection(
            folder=folder,
            lists=lists,
            dates=dates,
            spells=spells,
            assets=assets,
            fields=[name for name in fields if not (self.universe and name == MEMBER)],
            reader=FeatureReader(calendar, bars, f"calendars/{lists[0].name}"),
        )

    def _period(self) -> tuple[np.datetime64, np.datetime64]:
        """First and last moment that is wanted."""
        moments = []
        for name, text in (("start", self.start), ("end", self.end)):
            default = pd.Timestamp.min if name == "start" else pd.Timestamp.max
            try:
                moment = default if text is None else pd.Timestamp(text).as_unit("ns")
            except ValueError as error:
                raise ConfigError(
                    f"QlibSource.{name} is {text!r}, which is no date; write YYYY-MM-DD."
                ) from error
            moments.append(moment.to_datetime64())
        if self.end is not None:
            moments[1] = last_moments(np.array(moments[1:]))[0]
        return moments[0], moments[1]

    def _bars(self, calendar: Dates, file: Path) -> range:
        """Positions on the calendar from start to end."""
        first, last = self._period()
        low = int(np.searchsorted(calendar, first))
        high = int(np.searchsorted(calendar, last, side="right"))
        if high <= low:
            raise DataError(
                f"{file}: the calendar runs from {pd.Timestamp(calendar[0])} to "
                f"{pd.Timestamp(calendar[-1])} and has no bar from {self.start} to {self.end}. "
                "Set start and end to dates on it."
            )
        return range(low, high)


def _without_empty(raw: RawPanel, folder: Path) -> RawPanel:
    """The panel of the assets that have a bar."""
    kept = np.flatnonzero(raw.observed.any(axis=0))
    if len(kept) == 0:
        raise DataError(
            f"{folder}: none of the {len(raw.symbols)} instruments ({raw.symbols[0]}, ...) has an "
            f"observed bar from {pd.Timestamp(raw.dates[0])} to {pd.Timestamp(raw.dates[-1])}. Set "
            "other dates."
        )
    if len(kept) == len(raw.symbols):
        return raw
    return RawPanel(
        dates=raw.dates,
        symbols=[raw.symbols[asset] for asset in kept],
        fields=raw.fields,
        values=raw.values[:, kept],
        observed=raw.observed[:, kept],
    )
