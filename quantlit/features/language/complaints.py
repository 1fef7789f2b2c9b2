"""Errors in an expression: its line, a caret under the character, and what to write instead."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from quantlit.core import ConfigError

SHOWN = 96
"""Characters of a long line that are shown around the caret."""


def complaint(text: str, position: int, message: str) -> ConfigError:
    """An error that points at one character of an expression.

    Args:
        text: the whole expression.
        position: index of the character, up to ``len(text)`` for its end.
        message: what is wrong and what to do, one or more sentences.

    Returns:
        A ConfigError of three lines: the message, the line of the text that holds the character,
        and a caret under it.
    """
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start : end if end >= 0 else len(text)].replace("\t", " ")
    column = position - start
    first = max(0, min(column - SHOWN // 2, len(line) - SHOWN))
    before = "..." if first > 0 else ""
    after = "..." if first + SHOWN < len(line) else ""
    shown = before + line[first : first + SHOWN] + after
    pointer = " " * (len(before) + column - first) + "^"
    return ConfigError(f"{message}\n    {shown}\n    {pointer}")


def nearest(word: str, words: Iterable[str]) -> str:
    """``Did you mean ...? `` with the words that are written alike, or nothing."""
    close = difflib.get_close_matches(word, list(words), n=3)
    return f"Did you mean {', '.join(close)}? " if close else ""
