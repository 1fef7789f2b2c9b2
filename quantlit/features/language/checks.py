"""Checks of an operator's arguments: types of expressions, ranges of literal numbers."""

from __future__ import annotations

from quantlit.features.language.nodes import Apply, Node, Number
from quantlit.features.language.operators import OPERATORS
from quantlit.features.language.signature import Literal, Operator, Series, Value, Window


def check_series(operator: Operator, parameter: Series, argument: Node) -> str | None:
    """What is wrong with an expression as an argument, or None.

    Args:
        operator: whose argument it is.
        parameter: what it takes there.
        argument: what is given.
    """
    if parameter.value is Value.NUMBER or value_of(argument) is Value.CONDITION:
        return None
    return (
        f"{operator.usage} takes a condition, such as close > open, for {parameter.name}; "
        f"{_short(argument)} is a number."
    )


def check_literal(operator: Operator, parameter: Window | Literal, argument: Node) -> str | None:
    """What is wrong with a literal argument, or None.

    Args:
        operator: whose argument it is.
        parameter: what it takes there.
        argument: what is given.
    """
    wanted = f"{operator.usage} takes {_range(parameter)} for {parameter.name}"
    if not isinstance(argument, Number):
        return f"{wanted}, written out; it cannot be computed from {_short(argument)}."
    value = argument.value
    if isinstance(parameter, Window) and value < 0:
        return f"{operator.name} by {argument} bars would look into the future: {wanted}."
    low = value < parameter.least or (_exclusive(parameter) and value == parameter.least)
    if low or value > parameter.most or (_whole(parameter) and value != int(value)):
        return f"{wanted}, not {argument}."
    return None


def value_of(node: Node) -> Value:
    """The type of an expression."""
    return OPERATORS[node.operator].gives if isinstance(node, Apply) else Value.NUMBER


def _range(parameter: Window | Literal) -> str:
    number = "a whole number" if _whole(parameter) else "a number"
    if isinstance(parameter, Window):
        number += " of bars"
    if parameter.most < float("inf"):
        return f"{number} from {parameter.least:,g} to {parameter.most:,g}"
    if parameter.least > float("-inf"):
        return f"{number} {'above' if _exclusive(parameter) else 'from'} {parameter.least:g}"
    return number


def _whole(parameter: Window | Literal) -> bool:
    return isinstance(parameter, Window) or parameter.whole


def _exclusive(parameter: Window | Literal) -> bool:
    return isinstance(parameter, Literal) and parameter.exclusive


def _short(node: Node) -> str:
    text = str(node)
    return text if len(text) <= 40 else f"{text[:37]}..."
