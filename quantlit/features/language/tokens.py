"""Tokens: an expression cut into numbers, names and symbols, each with its place in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from quantlit.features.language.complaints import complaint

KEYWORDS = frozenset({"and", "or", "not"})

PATTERN = re.compile(
    r"""
    (?P<number> (?: \d+ (?:\.\d*)? | \.\d+ ) (?: [eE][+-]?\d+ )? )
  | (?P<name>   [A-Za-z_][A-Za-z_0-9]* )
  | (?P<field>  `[^`\n]+` )
  | (?P<symbol> <= | >= | == | != | [-+*/^<>(),=] )
  | (?P<space>  \s+ )
    """,
    re.VERBOSE | re.ASCII,
)
HINTS = {
    "**": "Write a power as x ^ 2.",
    "&": "Write `and`.",
    "|": "Write `or`.",
    "!": "Write `not`, or != for unequal.",
    "%": "There is no remainder operator.",
    "$": "A field is written without the $.",
    "`": "A field in backquotes needs one at each end, and a name between them.",
    "[": "Parentheses are round.",
    "{": "Parentheses are round.",
    ".": "A number has a digit beside its point; names have no points.",
    '"': "A field with unusual characters stands in `backquotes`.",
    "'": "A field with unusual characters stands in `backquotes`.",
}


class TokenKind(Enum):
    """What a token is; SYMBOL includes the words ``and``, ``or`` and ``not``."""

    NUMBER = auto()
    NAME = auto()
    FIELD = auto()
    SYMBOL = auto()
    END = auto()


@dataclass(frozen=True)
class Token:
    """A piece of an expression.

    Args:
        kind: what it is.
        text: how it is written; without the backquotes for FIELD, empty for END.
        position: index of its first character in the expression.
    """

    kind: TokenKind
    text: str
    position: int

    def is_symbol(self, *symbols: str) -> bool:
        """Whether it is one of these symbols or words."""
        return self.kind is TokenKind.SYMBOL and self.text in symbols

    def __str__(self) -> str:
        return "the end of the expression" if self.kind is TokenKind.END else repr(self.text)


def tokenise(text: str) -> list[Token]:
    """The tokens of an expression, END last.

    Args:
        text: the expression.

    Raises:
        ConfigError: if it holds a character that means nothing.
    """
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        found = PATTERN.match(text, position)
        if found is None or text.startswith("**", position):
            raise _unknown(text, position)
        if found.lastgroup != "space":
            tokens.append(_token(str(found.lastgroup), found.group(), position))
        position = found.end()
    return [*tokens, Token(TokenKind.END, "", len(text.rstrip()))]


def _token(group: str, word: str, position: int) -> Token:
    if group == "field":
        return Token(TokenKind.FIELD, word[1:-1], position)
    if word in KEYWORDS:
        return Token(TokenKind.SYMBOL, word, position)
    return Token(TokenKind[group.upper()], word, position)


def _unknown(text: str, position: int) -> Exception:
    word = "**" if text.startswith("**", position) else text[position]
    hint = HINTS.get(word, "Names are ASCII letters, digits and _, or any text in `backquotes`.")
    return complaint(text, position, f"{word!r} means nothing in a factor expression. {hint}")
