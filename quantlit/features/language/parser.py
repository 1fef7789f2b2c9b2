"""Parser: a text becomes a typed tree, by precedence climbing; Python evaluates none of it.

Precedence, loosest first: ``or``; ``and``; ``not``; comparisons, which do not chain; ``+ -``;
``* /``; a sign; ``^``, which groups to the right. So ``-a ^ 2`` is ``-(a ^ 2)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from quantlit.features.language.checks import check_literal, check_series
from quantlit.features.language.complaints import complaint, nearest
from quantlit.features.language.nodes import (
    COMPARISON,
    LEVELS,
    POWER,
    Apply,
    Name,
    Node,
    Number,
    depth,
)
from quantlit.features.language.operators import FUNCTIONS, OPERATORS
from quantlit.features.language.series import SERIES
from quantlit.features.language.signature import Operator, Series
from quantlit.features.language.tokens import Token, TokenKind, tokenise

MAX_LENGTH = 5_000
"""Characters in an expression, blanks not counted."""

MAX_NESTING = 50
"""Parentheses, calls and signs inside each other."""

MAX_DEPTH = 100
"""Operators above each other in the tree, a long sum's terms included."""


@dataclass(frozen=True)
class Definition:
    """A parsed text.

    Args:
        name: what stands left of ``=``; None if there is none.
        node: the expression.
    """

    name: str | None
    node: Node


def parse(text: str) -> Definition:
    """The tree of ``expression`` or of ``name = expression``.

    Args:
        text: what the user wrote.

    Raises:
        ConfigError: if it is no expression, with a caret under the place; also for wrong numbers
            of arguments, windows that are no positive whole numbers, and numbers for conditions.
    """
    length = len("".join(text.split()))
    if length > MAX_LENGTH:
        raise complaint(
            text,
            len(text.rstrip()),
            f"The expression has {length:,} characters; at most {MAX_LENGTH:,} are read. Split it "
            "into several factors.",
        )
    return parse_spelling(text)


def parse_spelling(text: str) -> Definition:
    """The same of a text of any length: the canonical spelling may be longer than what was read."""
    return _Parser(text).definition()


class _Parser:
    """One pass over the tokens of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenise(text)
        self.index = 0
        self.nesting = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    def take(self) -> Token:
        token = self.token
        self.index += token.kind is not TokenKind.END
        return token

    def fail(self, token: Token, message: str) -> Exception:
        return complaint(self.text, token.position, message)

    def definition(self) -> Definition:
        name = None
        if self.token.kind is TokenKind.NAME and self.tokens[1].is_symbol("="):
            name = self.take().text
            self.take()
        start = self.token
        node = self.expression(0)
        if self.token.kind is not TokenKind.END:
            raise self.fail(self.token, self.leftover())
        if not _names(node):
            raise self.fail(start, "The expression is a constant: it reads no field of the panel.")
        return Definition(name, node)

    def leftover(self) -> str:
        found = f"Expected an operator or the end of the expression, but found {self.token}."
        if self.token.is_symbol("="):
            return (
                f"{found} Equality is written ==; a factor's name is one word before the first =."
            )
        if self.token.is_symbol(")"):
            return f"{found} No parenthesis is open here."
        return found

    def expression(self, least: int) -> Node:
        """Operators that bind at least so strongly, and their operands."""
        if self.nesting >= MAX_NESTING:
            raise self.fail(
                self.token,
                f"The expression is nested more than {MAX_NESTING} deep here. Split it into "
                "several factors.",
            )
        self.nesting += 1
        starts = self.token
        left = self.operand(least)
        while self.token.kind is TokenKind.SYMBOL:
            name = "power" if self.token.text == "^" else self.token.text
            level = LEVELS.get(name, -1)
            if level < least or name == "not":
                break
            symbol, right_starts = self.take(), self.token
            right = self.expression(level if level == POWER else level + 1)
            left = self.apply(name, symbol, [left, right], [starts, right_starts])
            if level == COMPARISON and LEVELS.get(self.token.text) == COMPARISON:
                raise self.fail(
                    self.token, "Comparisons do not chain: write a < b and b < c for a < b < c."
                )
        self.nesting -= 1
        return left

    def operand(self, least: int) -> Node:
        """A number, a name, a call, a sign with its operand, or an expression in parentheses."""
        token = self.take()
        if token.kind is TokenKind.NUMBER:
            return self.number(token)
        if token.kind is TokenKind.FIELD:
            return Name(token.text, False, token.position)
        if token.kind is TokenKind.NAME:
            return self.call(token) if self.token.is_symbol("(") else self.name(token)
        if token.is_symbol("("):
            inner = self.expression(0)
            self.expect(")", "closes the parenthesis")
            return inner
        if token.is_symbol("-"):
            return self.negative(token)
        if token.is_symbol("not"):
            if least > LEVELS["not"]:
                raise self.fail(
                    token, "`not` binds loosely: put it in parentheses here, (not ...)."
                )
            starts = self.token
            return self.apply("not", token, [self.expression(LEVELS["not"])], [starts])
        raise self.fail(
            token, f"Expected a field, a number, an operator or a parenthesis, but found {token}."
        )

    def number(self, token: Token) -> Number:
        value = float(token.text)
        if not math.isfinite(value):
            raise self.fail(token, f"The number {token.text} is too large.")
        return Number(value, token.position)

    def negative(self, sign: Token) -> Node:
        starts = self.token
        inner = self.expression(POWER)
        if isinstance(inner, Number):
            return Number(0.0 - inner.value, sign.position)
        return self.apply("negate", sign, [inner], [starts])

    def name(self, token: Token) -> Name:
        if token.text in FUNCTIONS:
            raise self.fail(
                token,
                f"{token.text} is an operator, written {FUNCTIONS[token.text].usage}. A field of "
                f"that name stands in backquotes: `{token.text}`.",
            )
        return Name(token.text, token.text in SERIES, token.position)

    def call(self, token: Token) -> Node:
        operator = FUNCTIONS.get(token.text)
        if operator is None:
            raise self.fail(
                token,
                f"There is no operator named {token.text!r}. {nearest(token.text, FUNCTIONS)}"
                f"The operators are {', '.join(FUNCTIONS)}.",
            )
        self.take()
        arguments: list[Node] = []
        starts: list[Token] = []
        wanted = len(operator.parameters)
        while len(arguments) < wanted:
            if self.token.is_symbol(")"):
                raise self.fail(self.token, _arity(operator, len(arguments)))
            starts.append(self.token)
            arguments.append(self.expression(0))
            if len(arguments) < wanted and not self.token.is_symbol(")"):
                self.expect(",", "separates arguments")
        if self.token.is_symbol(","):
            raise self.fail(self.token, _arity(operator, None))
        self.expect(")", f"closes {operator.usage}")
        return self.apply(operator.name, token, arguments, starts)

    def expect(self, symbol: str, role: str) -> None:
        if not self.token.is_symbol(symbol):
            hint = " Arguments have no names." if self.token.is_symbol("=") else ""
            raise self.fail(
                self.token, f"Expected {symbol!r}, which {role}, but found {self.token}.{hint}"
            )
        self.take()

    def apply(self, name: str, token: Token, arguments: list[Node], starts: list[Token]) -> Apply:
        """A node whose arguments fit the operator's parameters."""
        operator = OPERATORS[name]
        literals: list[float] = []
        for parameter, argument, start in zip(operator.parameters, arguments, starts, strict=True):
            if isinstance(parameter, Series):
                message = check_series(operator, parameter, argument)
            else:
                message = check_literal(operator, parameter, argument)
                literals += [argument.value] if isinstance(argument, Number) else []
            if message is not None:
                raise self.fail(start, message)
        wrong = operator.check(*literals)
        if wrong is not None:
            raise self.fail(token, f"{operator.usage}: {wrong}.")
        node = Apply(name, tuple(arguments), token.position)
        if depth(node) > MAX_DEPTH:
            raise self.fail(
                token,
                f"More than {MAX_DEPTH} operators stand above each other here. Split the "
                "expression into several factors, or group a long sum by parentheses.",
            )
        return node


def _arity(operator: Operator, given: int | None) -> str:
    wanted = len(operator.parameters)
    count = "got more" if given is None else f"got {given or 'none'}"
    takes = f"{wanted} argument{'s' if wanted > 1 else ''}"
    return f"{operator.name} takes {takes}, {operator.usage}, but {count}."


def _names(node: Node) -> bool:
    """Whether any field or series is read."""
    if isinstance(node, Apply):
        return any(_names(each) for each in node.arguments)
    return isinstance(node, Name)
