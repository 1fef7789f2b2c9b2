"""Signature: what an operator takes, what it gives, and how far back it looks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Compute = Callable[..., Array]
"""Takes ``[T, N]`` float64 arrays and literal numbers in the order of the parameters."""

MAX_WINDOW = 2_520
"""Bars of the longest window or delay: ten years of days."""


class Value(Enum):
    """The type of an expression: any number, or a condition (1 true, 0 false, NaN unknown)."""

    NUMBER = "a number"
    CONDITION = "a condition"


class Family(Enum):
    """Which cells an operator reads: its own, the asset's past, or its date's cross-section."""

    CELL = "one cell"
    TIME = "one asset's present and past bars"
    CROSS_SECTION = "one bar's observed assets"
    GROUP = "the same, of one group: a field of codes, NaN is in none"


@dataclass(frozen=True)
class Series:
    """A parameter that takes an expression.

    Args:
        name: as shown in the table and in errors.
        value: CONDITION refuses plain numbers; NUMBER takes conditions too, as 1 and 0.
    """

    name: str
    value: Value = Value.NUMBER


@dataclass(frozen=True)
class Window:
    """A parameter that takes a whole number of bars, written out.

    Args:
        name: as shown in the table and in errors.
        least: smallest number.
        most: largest number.
    """

    name: str
    least: int = 1
    most: int = MAX_WINDOW


@dataclass(frozen=True)
class Literal:
    """A parameter that takes a number, written out.

    Args:
        name: as shown in the table and in errors.
        least: smallest number.
        most: largest number.
        exclusive: whether ``least`` itself is refused.
        whole: whether it must be a whole number.
    """

    name: str
    least: float = -np.inf
    most: float = np.inf
    exclusive: bool = False
    whole: bool = False


Parameter = Series | Window | Literal


@dataclass(frozen=True)
class Operator:
    """One row of the table of operators.

    Args:
        name: how it is called, or its symbol.
        family: which cells it reads.
        parameters: what it takes, in order.
        compute: the function over arrays.
        says: what it gives, in one sentence for the table.
        gives: the type of its result.
        lookback: bars before the present one that it reads itself, from its literal arguments.
        check: what is wrong with its literal arguments together, or None.
    """

    name: str
    family: Family
    parameters: tuple[Parameter, ...]
    compute: Compute = field(repr=False)
    says: str = ""
    gives: Value = Value.NUMBER
    lookback: Callable[..., int] = field(default=lambda *literals: 0, repr=False)
    check: Callable[..., str | None] = field(default=lambda *literals: None, repr=False)

    @property
    def usage(self) -> str:
        """How it is written, e.g. ``delay(x, n)`` or ``a + b``."""
        names = [parameter.name for parameter in self.parameters]
        if self.name == "negate":
            return f"-{names[0]}"
        if self.name == "not":
            return f"not {names[0]}"
        if self.name == "power":
            return f"{names[0]} ^ {names[1]}, power({', '.join(names)})"
        if self.is_callable:
            return f"{self.name}({', '.join(names)})"
        return f"{names[0]} {self.name} {names[1]}"

    @property
    def is_callable(self) -> bool:
        """Whether it is written ``name(...)``."""
        return self.name.isidentifier() and self.name not in ("and", "or", "not", "negate")
