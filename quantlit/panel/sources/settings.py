"""TableSettings: how a long table is written, shared by the sources of files and frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from zoneinfo import ZoneInfo

from quantlit.core import ConfigError
from quantlit.panel.sources.columns import FIELDS, ColumnMap, ReturnColumn
from quantlit.panel.sources.screen import OnBadRows


@dataclass(frozen=True, kw_only=True)
class TableSettings:
    """How a long table is written; the attributes are documented at :class:`TableSource`.

    Raises:
        ConfigError: if settings exclude each other, or one is impossible.
    """

    columns: ColumnMap = field(default_factory=ColumnMap)
    returns: ReturnColumn | None = None
    extra: tuple[str, ...] = ()
    date_format: str | None = None
    timezone: str | None = None
    units: Mapping[str, float] = field(default_factory=dict)
    on_bad_rows: OnBadRows = "error"
    positive_prices: bool = True
    min_assets: int = 2

    def __post_init__(self) -> None:
        _check_adjustment(self.columns, self.returns)
        self._check_units()
        if self.timezone is not None:
            try:
                ZoneInfo(self.timezone)
            except (KeyError, ValueError, OSError) as error:
                raise ConfigError(
                    f"timezone is {self.timezone!r}, which is no time zone known here. Give a name "
                    "such as Asia/Shanghai or America/New_York."
                ) from error
        if self.min_assets < 1:
            raise ConfigError(f"min_assets is {self.min_assets}; give at least 1.")

    def _check_units(self) -> None:
        known = [*FIELDS, "adjusted_close", *self.extra]
        for name, unit in self.units.items():
            if name not in known:
                raise ConfigError(
                    f"units names {name!r}, which is no field; the fields are {', '.join(known)}."
                )
            if not 0 < unit < float("inf"):
                raise ConfigError(f"units gives {name} the unit {unit}; give a number above 0.")

    def describe(self) -> dict[str, str]:
        """Every setting that may change the panel, for the store's manifest."""
        return {
            entry.name: repr(getattr(self, entry.name))
            for entry in fields(self)
            if entry.name != "min_assets"
        }


def _check_adjustment(columns: ColumnMap, returns: ReturnColumn | None) -> None:
    """Raise unless there is at most one way to adjust prices, and a close to adjust."""
    ways = {
        f"returns ({returns.column})" if returns else "": returns is not None,
        f"columns.adjusted_close ({columns.adjusted_close})": columns.adjusted_close is not None,
        f"columns.adjustment_factor ({columns.adjustment_factor})": columns.adjustment_factor
        is not None,
    }
    given = [way for way, is_given in ways.items() if is_given]
    if len(given) > 1:
        raise ConfigError(
            f"Both {given[0]} and {given[1]} say how to adjust prices; give one of them."
        )
    if columns.close is None and given:
        raise ConfigError(
            "columns.close is null, but prices are to be adjusted by "
            f"{given[0].split(' ')[0]}, which needs it. Map the close."
        )
