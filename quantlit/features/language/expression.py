"""Expression: a factor written as a formula in a configuration."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from quantlit.core import ConfigError
from quantlit.features.bars import Bars
from quantlit.features.factors import Factor
from quantlit.features.language.complaints import complaint, nearest
from quantlit.features.language.nodes import spell
from quantlit.features.language.parser import parse
from quantlit.features.language.program import program_of
from quantlit.features.language.series import SERIES

Array = npt.NDArray[np.float64]
_SYMBOLS = re.compile(r"[-+*/^<>=!()`]|\s(and|or)\s|\bnot\s")


class Expression(Factor):
    """A factor from a formula over the panel's fields, e.g. ``rank(close / delay(close, 20) - 1)``.

    The formula is read by quantlit's own parser, and Python runs none of it. Every operator looks
    at the present bar and at past ones, never at a later one. ``operator_table()`` lists them.

    Args:
        text: ``expression``, or ``name = expression``.
        name: its name on the feature axis; None takes the one in the text, or else the expression
            in its canonical spelling.

    Raises:
        ConfigError: if the text cannot be read, with a caret under the place; if both the text and
            ``name`` name it, differently; or if the name is empty.
    """

    modules: ClassVar[tuple[str, ...]] = (
        "quantlit.features.language.cell_operators",
        "quantlit.features.language.cross_operators",
        "quantlit.features.language.group_kernels",
        "quantlit.features.language.kernels",
        "quantlit.features.language.nodes",
        "quantlit.features.language.operators",
        "quantlit.features.language.parser",
        "quantlit.features.language.program",
        "quantlit.features.language.series",
        "quantlit.features.language.signature",
        "quantlit.features.language.time_operators",
        "quantlit.features.language.tokens",
    )

    def __init__(self, *, text: str, name: str | None = None) -> None:
        definition = parse(text)
        if name is not None and definition.name not in (None, name):
            raise ConfigError(
                f"The expression {text!r} names itself {definition.name!r}, and name is {name!r}; "
                "give one of them."
            )
        self._text = spell(definition.node)
        self._name = definition.name if name is None else name
        if self._name is not None and not self._name.strip():
            raise ConfigError(f"The expression {text!r} has an empty name; give one, or null.")

    @property
    def text(self) -> str:
        """The expression in its canonical spelling, without the name."""
        return self._text

    @property
    def name(self) -> str:
        """The name given, or the expression in its canonical spelling."""
        return self._text if self._name is None else self._name

    @property
    def fields(self) -> tuple[str, ...]:  # type: ignore[override]  # a constant of other factors
        """The panel fields that it reads, in alphabetical order."""
        return program_of(self._text).fields

    @property
    def lookback(self) -> int:
        """Bars before the present one on which it depends: the sum along its longest path."""
        return program_of(self._text).lookback

    def compute(self, bars: Bars) -> Array:
        """The formula on every bar.

        Args:
            bars: a stretch of T bars. Bars before it count as not observed.

        Returns:
            ``[T, N]`` float64, NaN where unknown.
        """
        return program_of(self._text).run(bars)

    def check_fields(self, available: Iterable[str]) -> None:
        """Refuse a field that the panel lacks.

        Args:
            available: the panel's fields.

        Raises:
            ConfigError: with a caret under the field.
        """
        available = list(available)
        for name in program_of(self._text).names:
            missing = [
                field for field in _fields_of(name.name, name.is_series) if field not in available
            ]
            if missing:
                raise complaint(
                    self._text,
                    name.position,
                    f"The panel has no field {missing[0]!r}. "
                    f"{nearest(missing[0], [*available, *SERIES])}Its fields are "
                    f"{', '.join(available)}; the series are {', '.join(SERIES)}.",
                )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Expression)
            and type(other) is type(self)
            and (self._text, self._name) == (other._text, other._name)
        )

    def __hash__(self) -> int:
        return hash((type(self), self._text, self._name))

    def __repr__(self) -> str:
        name = "" if self._name is None else f", name={self._name!r}"
        return f"{type(self).__name__}(text={self._text!r}{name})"


def is_expression(text: str) -> bool:
    """Whether a text is meant as a formula: it has an operator, a parenthesis, or an ``=``.

    >>> [is_expression(each) for each in ("close / open", "size = close", "volatility_20")]
    [True, True, False]
    """
    return _SYMBOLS.search(text) is not None


def _fields_of(name: str, is_series: bool) -> tuple[str, ...]:
    return SERIES[name].fields if is_series else (name,)
