"""The shipped factors by name, the named sets, and how a configuration's list is resolved."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from functools import cache

from quantlit.core import ConfigError
from quantlit.features.alpha import alpha158, alpha360
from quantlit.features.factors import Factor
from quantlit.features.language import Expression, is_expression
from quantlit.features.price_factors import (
    Beta,
    ClosePosition,
    Distance,
    MaxReturn,
    Return,
    Skewness,
    Volatility,
)
from quantlit.features.volume_factors import (
    DayPosition,
    DayRange,
    DollarVolume,
    Illiquidity,
    IntradayReturn,
    OvernightReturn,
    RangePosition,
    TrueRange,
    VolumeCorrelation,
    VolumeReturnCorrelation,
    VolumeShock,
    VolumeTrend,
)


def factor_sets() -> dict[str, list[Factor]]:
    """The named sets.

    ``price`` needs the close alone, ``price_volume`` whole bars. ``alpha158`` and ``alpha360`` are
    Qlib's, with whole bars and ``vwap``; with ``_ohlc4``, (open + high + low + close) / 4 stands in
    for it.
    """
    return {name: list(members) for name, members in _sets().items()}


@cache
def _sets() -> dict[str, list[Factor]]:
    shared: list[Factor] = [
        *(Return(window=window) for window in (1, 2, 5, 10, 20, 60)),
        *(Volatility(window=window) for window in (5, 20, 60)),
        Skewness(window=20),
        MaxReturn(window=20),
        *(Distance(window=window) for window in (5, 20, 60)),
        Beta(window=60),
    ]
    return {
        "price": [*shared, ClosePosition(window=20), ClosePosition(window=60)],
        "price_volume": [
            *shared,
            DayPosition(),
            DayRange(),
            OvernightReturn(),
            IntradayReturn(),
            TrueRange(window=20),
            RangePosition(window=20),
            RangePosition(window=60),
            VolumeShock(window=20),
            VolumeTrend(window=60, short=5),
            VolumeCorrelation(window=20),
            VolumeReturnCorrelation(window=20),
            Illiquidity(window=20),
            DollarVolume(window=5),
            DollarVolume(window=20),
        ],
        "alpha158": [*alpha158()],
        "alpha158_ohlc4": [*alpha158("ohlc4")],
        "alpha360": [*alpha360()],
        "alpha360_ohlc4": [*alpha360("ohlc4")],
    }


def resolve_factors(factors: Sequence[str | Factor], fields: Iterable[str]) -> list[Factor]:
    """Factors for a list of names, set names, formulas and factors, in the feature axis's order.

    A factor that is named twice (alone and by a set, say) is taken once, at its first place.

    Args:
        factors: names of factors or sets, formulas (see ``features.language``), or factors.
        fields: what the panel has.

    Raises:
        ConfigError: if the list is empty, a name is unknown, a formula cannot be read, a factor
            needs a field that the panel lacks, or two different factors have one name.
    """
    fields = list(fields)
    resolved: dict[str, Factor] = {}
    for entry in factors:
        for factor in _expand(entry):
            _check_fields(factor, fields)
            if resolved.setdefault(factor.name, factor) != factor:
                raise ConfigError(
                    f"Two different factors are named {factor.name!r}: {resolved[factor.name]!r} "
                    f"and {factor!r}. Leave one out, or give one of them another name."
                )
    if not resolved:
        raise ConfigError(
            f"No factors are given; name some, or one of the sets {', '.join(factor_sets())}."
        )
    return list(resolved.values())


def _expand(entry: str | Factor) -> list[Factor]:
    if isinstance(entry, Factor):
        return [entry]
    sets, named = _sets(), _named()
    if entry in sets:
        return sets[entry]
    if entry not in named and is_expression(entry):
        return [Expression(text=entry)]
    if entry not in named:
        words = difflib.get_close_matches(entry, [*sets, *named], n=3)
        nearest = f"Did you mean {', '.join(words)}? " if words else ""
        raise ConfigError(
            f"There is no factor or set of factors named {entry!r}. {nearest}The sets are "
            f"{', '.join(sets)}, and their members' names can be given singly. Another window "
            f"takes a class_path, e.g. quantlit.features.Return with window: 3; a formula has an "
            f"operator, e.g. 'close / open - 1'."
        )
    return [named[entry]]


@cache
def _named() -> dict[str, Factor]:
    """The factors by name; of two that have one name, that of the earlier set."""
    named: dict[str, Factor] = {}
    for members in _sets().values():
        for factor in members:
            named.setdefault(factor.name, factor)
    return named


def _check_fields(factor: Factor, fields: list[str]) -> None:
    if isinstance(factor, Expression):
        factor.check_fields(fields)
    missing = [field for field in factor.fields if field not in fields]
    if missing:
        remedy = factor.remedy or "The set 'price' needs only the close."
        raise ConfigError(
            f"The factor {factor.name} needs the field {', '.join(missing)}, but the panel has "
            f"{', '.join(fields)}. Map the column in the panel's source, or leave the factor out. "
            f"{remedy}"
        )
