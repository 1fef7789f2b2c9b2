"""Operators of one cell: arithmetic, comparisons, logic, and simple functions.

A result is unknown (NaN) where an operand is, except as ``and``, ``or`` and ``where`` say.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quantlit.features.bars import log, ratio
from quantlit.features.language.signature import Family, Literal, Operator, Series, Value

Array = npt.NDArray[np.float64]


def conjunction(a: Array, b: Array) -> Array:
    """``a and b``: false where either is false, else unknown where either is unknown."""
    return np.where((a == 0) | (b == 0), 0.0, a * b)


def disjunction(a: Array, b: Array) -> Array:
    """``a or b``: true where either is true, else unknown where either is unknown."""
    return np.where((a == 1) | (b == 1), 1.0, a + b)


def where(condition: Array, a: Array, b: Array) -> Array:
    """``a`` where the condition is true, ``b`` where it is false, NaN where it is unknown."""
    return np.where(condition == 1, a, np.where(condition == 0, b, np.nan))


def power(a: Array, b: Array) -> Array:
    """``a ^ b``; unknown ones stay unknown, though numpy has ``1 ^ NaN = NaN ^ 0 = 1``."""
    return np.where(np.isnan(a + b), np.nan, np.power(a, b))


def _compared(truth: npt.NDArray[np.bool_], a: Array, b: Array) -> Array:
    return np.where(np.isnan(a) | np.isnan(b), np.nan, truth)


def _operators() -> list[Operator]:
    x, a, b = Series("x"), Series("a"), Series("b")
    p, q = Series("a", Value.CONDITION), Series("b", Value.CONDITION)
    condition = Series("condition", Value.CONDITION)
    cell, truth = Family.CELL, Value.CONDITION
    comparisons = [
        ("<", np.less, "less than"),
        ("<=", np.less_equal, "at most"),
        (">", np.greater, "more than"),
        (">=", np.greater_equal, "at least"),
        ("==", np.equal, "equal to"),
        ("!=", np.not_equal, "other than"),
    ]
    return [
        Operator("+", cell, (a, b), np.add, "sum"),
        Operator("-", cell, (a, b), np.subtract, "difference"),
        Operator("*", cell, (a, b), np.multiply, "product"),
        Operator("/", cell, (a, b), ratio, "quotient; NaN where b is 0"),
        Operator("power", cell, (a, b), power, "power; groups to the right, binds before a sign"),
        Operator("negate", cell, (x,), np.negative, "the value with the other sign"),
        *(
            Operator(
                symbol,
                cell,
                (a, b),
                lambda a, b, compare=compare: _compared(compare(a, b), a, b),
                f"whether a is {says} b",
                truth,
            )
            for symbol, compare, says in comparisons
        ),
        Operator("and", cell, (p, q), conjunction, "both; false where either is false", truth),
        Operator("or", cell, (p, q), disjunction, "either; true where either is true", truth),
        Operator("not", cell, (condition,), lambda c: 1.0 - c, "the opposite", truth),
        Operator("where", cell, (condition, a, b), where, "a where the condition is true, else b"),
        Operator("abs", cell, (x,), np.abs, "size"),
        Operator("sign", cell, (x,), np.sign, "-1, 0 or 1"),
        Operator("log", cell, (x,), log, "natural logarithm; NaN where x is not positive"),
        Operator("exp", cell, (x,), np.exp, "e to the power of x"),
        Operator("sqrt", cell, (x,), np.sqrt, "square root; NaN where x is negative"),
        Operator("min", cell, (a, b), np.minimum, "the smaller"),
        Operator("max", cell, (a, b), np.maximum, "the larger"),
        Operator(
            "clip",
            cell,
            (x, Literal("lo"), Literal("hi")),
            np.clip,
            "x, but at least lo and at most hi",
            check=lambda lo, hi: None if lo <= hi else f"its bounds {lo:g} and {hi:g} are reversed",
        ),
    ]


CELL_OPERATORS = _operators()
"""The operators of one cell, in the order of the table."""
