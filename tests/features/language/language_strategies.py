"""Random expressions over the whole table of operators, for hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from quantlit.features.language import OPERATORS
from quantlit.features.language.nodes import Apply, Name, Node, Number
from quantlit.features.language.signature import Literal, Operator, Parameter, Value, Window

NAMES = st.sampled_from(["x", "y", "close", "g", "ret", "market"]).map(
    lambda name: Name(name, name in ("ret", "market"))
)
CONSTANTS = st.sampled_from([0.0, 1.0, -2.0, 0.5, -1e-7, 3e20]).map(Number)


def _literals(operator: Operator) -> st.SearchStrategy[list[Node]]:
    taken = [_literal(each) for each in operator.parameters if isinstance(each, Window | Literal)]
    return st.tuples(*taken).map(
        lambda found: (
            sorted(found, key=lambda each: each.value) if operator.name == "clip" else list(found)
        )
    )


def _literal(parameter: Parameter) -> st.SearchStrategy[Number]:
    if isinstance(parameter, Window):
        return st.integers(parameter.least, 5).map(lambda n: Number(float(n)))
    assert isinstance(parameter, Literal)
    if parameter.whole:
        return st.integers(2, 4).map(lambda n: Number(float(n)))
    return st.sampled_from([0.25, 0.5, 1.0]).map(Number)


@st.composite
def nodes(draw: st.DrawFn, value: Value = Value.NUMBER, depth: int = 4) -> Node:
    """A tree of at most so many levels that is a number (or a condition taken as one)."""
    if value is Value.NUMBER and (depth == 0 or draw(st.integers(0, 3)) == 0):
        return draw(st.one_of(NAMES, NAMES, CONSTANTS))
    fitting = [each for each in OPERATORS.values() if value in (Value.NUMBER, each.gives)]
    if depth <= 1:
        fitting = [each for each in fitting if _is_flat(each)]
    operator = draw(st.sampled_from(fitting))
    arguments: list[Node] = [
        draw(nodes(parameter.value, max(depth - 1, 0)))
        for parameter in operator.parameters
        if not isinstance(parameter, Window | Literal)
    ]
    if operator.name == "negate" and isinstance(arguments[0], Number):
        arguments = [draw(NAMES)]  # a sign before a constant belongs to the constant
    return Apply(operator.name, (*arguments, *draw(_literals(operator))))


def _is_flat(operator: Operator) -> bool:
    """Whether it takes no condition, so that its operands can be leaves."""
    return not any(
        getattr(parameter, "value", None) is Value.CONDITION for parameter in operator.parameters
    )
