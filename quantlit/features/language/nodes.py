"""Nodes: the typed tree of an expression, and its one canonical spelling."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from quantlit.features.language.operators import FUNCTIONS
from quantlit.features.language.series import SERIES
from quantlit.features.language.tokens import KEYWORDS

LEVELS: dict[str, int] = {
    "or": 1,
    "and": 2,
    "not": 3,
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), 4),
    **dict.fromkeys(("+", "-"), 5),
    **dict.fromkeys(("*", "/"), 6),
    "negate": 7,
    "power": 8,
}
"""How strongly each operator that has a symbol binds, from ``or`` to ``^``."""

COMPARISON, SIGN, POWER, ATOM = 4, 7, 8, 9


@dataclass(frozen=True)
class Number:
    """A constant.

    Args:
        value: any finite number.
        position: where it stands in the text; two numbers are equal wherever they stand.
    """

    value: float
    position: int = field(default=0, compare=False)

    def __str__(self) -> str:
        whole = abs(self.value) < 1e15 and self.value == int(self.value)
        return str(int(self.value)) if whole else repr(self.value)


@dataclass(frozen=True)
class Name:
    """A field of the panel, or a series of the bars (see ``series.SERIES``).

    Args:
        name: as the panel or the table of series has it.
        is_series: true for a series of the bars.
        position: where it stands in the text.
    """

    name: str
    is_series: bool = False
    position: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return self.name if self.is_series else quoted(self.name)


@dataclass(frozen=True)
class Apply:
    """An operator with its arguments, however it is written.

    Args:
        operator: its name in the table of operators, e.g. ``ts_mean``, ``+`` or ``power``.
        arguments: its operands, literal numbers included.
        position: where the operator stands in the text.
    """

    operator: str
    arguments: tuple[Node, ...]
    position: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return spell(self)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.operator, self.arguments))

    @cached_property
    def depth(self) -> int:
        """Levels of nesting, its own included."""
        return 1 + max((depth(each) for each in self.arguments), default=0)


Node: TypeAlias = Number | Name | Apply


def depth(node: Node) -> int:
    """Levels of operators in a tree; 0 for a constant or a name."""
    return node.depth if isinstance(node, Apply) else 0


def spell(node: Node) -> str:
    """The canonical text: single spaces, no needless parentheses; it parses to an equal tree."""
    if not isinstance(node, Apply):
        return str(node)
    level = LEVELS.get(node.operator, ATOM)
    if level == ATOM:
        return f"{node.operator}({', '.join(spell(each) for each in node.arguments)})"
    if len(node.arguments) == 1:
        sign = "-" if node.operator == "negate" else "not "
        return sign + _operand(node.arguments[0], level)
    left, right = node.arguments
    if level == POWER:  # groups to the right, and takes a sign there
        return f"{_operand(left, ATOM)} ^ {_operand(right, SIGN)}"
    first = _operand(left, level + 1 if level == COMPARISON else level)
    return f"{first} {node.operator} {_operand(right, level + 1)}"


def quoted(name: str) -> str:
    """A field's name as it must be written: in backquotes where the bare word is something else."""
    plain = re.fullmatch("[A-Za-z_][A-Za-z_0-9]*", name) is not None
    taken = name in KEYWORDS or name in SERIES or name in FUNCTIONS
    return name if plain and not taken else f"`{name}`"


def _operand(node: Node, least: int) -> str:
    """Its text, in parentheses if it binds less than ``least``."""
    text = spell(node)
    return text if _level(node) >= least else f"({text})"


def _level(node: Node) -> int:
    if isinstance(node, Number):
        return SIGN if node.value < 0 else ATOM
    return LEVELS.get(node.operator, ATOM) if isinstance(node, Apply) else ATOM
