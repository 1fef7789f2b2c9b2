"""Program: a tree as a list of distinct steps, each computed once and freed after its last use."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from quantlit.features.bars import Bars
from quantlit.features.language.nodes import Apply, Name, Node, Number
from quantlit.features.language.operators import OPERATORS
from quantlit.features.language.parser import parse_spelling
from quantlit.features.language.series import SERIES
from quantlit.features.language.signature import Family, Operator, Series, Window

Array = npt.NDArray[np.float64]


class Program:
    """The steps of an expression, operands before operators.

    Equal subexpressions are one step.

    Args:
        node: the expression.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.steps: list[Node] = list(_distinct(node))
        self._last_use = {
            argument: position
            for position, step in enumerate(self.steps)
            for argument in _series_arguments(step)
        }

    @property
    def names(self) -> list[Name]:
        """The fields and series that it reads, each once."""
        return [step for step in self.steps if isinstance(step, Name)]

    @property
    def fields(self) -> tuple[str, ...]:
        """The panel fields that it reads, in alphabetical order."""
        read = [SERIES[name.name].fields if name.is_series else (name.name,) for name in self.names]
        return tuple(sorted({field for fields in read for field in fields}))

    @property
    def lookback(self) -> int:
        """Bars before the present one on which a value may depend: the longest path's sum."""
        reach: dict[Node, int] = {}
        for step in self.steps:
            if isinstance(step, Apply):
                own = OPERATORS[step.operator].lookback(*_literals(step))
                reach[step] = own + max(reach[each] for each in _series_arguments(step))
            else:
                is_series = isinstance(step, Name) and step.is_series
                reach[step] = SERIES[str(step)].lookback if is_series else 0
        return reach[self.node]

    def run(self, bars: Bars) -> Array:
        """The expression on every bar.

        Args:
            bars: a stretch of T bars.

        Returns:
            ``[T, N]`` float64, NaN where unknown or not finite.
        """
        values: dict[Node, Array] = {}
        with np.errstate(all="ignore"):
            for position, step in enumerate(self.steps):
                values[step] = _value(step, values, bars)
                for argument in _series_arguments(step):
                    if self._last_use[argument] == position:
                        values.pop(argument, None)
        return values[self.node]


@lru_cache(maxsize=1024)
def program_of(text: str) -> Program:
    """The program of an expression without a name, made once for each text."""
    return Program(parse_spelling(text).node)


def _distinct(node: Node) -> dict[Node, None]:
    """Steps in the order of their first need, literal arguments left out."""
    steps: dict[Node, None] = {}
    if isinstance(node, Apply):
        for argument in _series_arguments(node):
            steps |= _distinct(argument)
    return {**steps, node: None}


def _value(step: Node, values: dict[Node, Array], bars: Bars) -> Array:
    if isinstance(step, Number):
        return np.asarray(step.value, dtype=np.float64)
    if isinstance(step, Name):
        return SERIES[step.name].read(bars) if step.is_series else bars[step.name]
    operator = OPERATORS[step.operator]
    series = [_prepared(values[each], operator, bars) for each in _series_arguments(step)]
    found = operator.compute(*series, *_literals(step))
    return np.where(np.isfinite(found), found, np.nan)


def _prepared(value: Array, operator: Operator, bars: Bars) -> Array:
    """An operand as the operator's family takes it."""
    if operator.family is Family.CELL:
        return value
    if operator.family is Family.TIME:
        return np.ascontiguousarray(np.broadcast_to(value, bars.observed.shape))
    return np.where(bars.observed, value, np.nan)


def _series_arguments(node: Node) -> list[Node]:
    """Arguments that are expressions; they stand before the literals in every operator."""
    if not isinstance(node, Apply):
        return []
    count = sum(isinstance(each, Series) for each in OPERATORS[node.operator].parameters)
    return list(node.arguments[:count])


def _literals(node: Apply) -> list[int | float]:
    """Values of the literal arguments, windows as whole numbers."""
    found: list[int | float] = []
    for parameter, argument in zip(
        OPERATORS[node.operator].parameters, node.arguments, strict=True
    ):
        if not isinstance(parameter, Series) and isinstance(argument, Number):
            whole = isinstance(parameter, Window)
            found.append(int(argument.value) if whole else argument.value)
    return found
