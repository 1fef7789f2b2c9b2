"""Precedence, spelling, and errors with a caret under the exact character."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from language_strategies import nodes

from quantlit.core import ConfigError
from quantlit.features import Expression
from quantlit.features.language.nodes import Node, spell
from quantlit.features.language.parser import MAX_DEPTH, MAX_LENGTH, MAX_NESTING, parse
from quantlit.features.language.signature import MAX_WINDOW


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a+b*c", "a + (b * c)"),
        ("a-b-c", "(a - b) - c"),
        ("a/b*c", "(a / b) * c"),
        ("a^b^c", "a ^ (b ^ c)"),
        ("-a^2", "-(a ^ 2)"),
        ("a^-b", "a ^ (-b)"),
        ("a^-b^c", "a ^ (-(b ^ c))"),
        ("2^-a*b", "(2 ^ (-a)) * b"),
        ("-a*b", "(-a) * b"),
        ("--a", "-(-a)"),
        ("a - -b", "a - (-b)"),
        ("a+b<c*d", "(a + b) < (c * d)"),
        ("not a<b and c<d", "(not (a < b)) and (c < d)"),
        ("not not a<b", "not (not (a < b))"),
        ("a<b or c<d and e<f", "(a < b) or ((c < d) and (e < f))"),
        ("a<b or c<d or e<f", "((a < b) or (c < d)) or (e < f)"),
        ("power(a, 2)", "a ^ 2"),
        ("(((a)))", "a"),
        ("1.50*a", ".15e1 * a"),
        ("a\n  + b", "a + b"),
        ("-3 * a", "(-3) * a"),
        ("a ^ - 2", "a ^ (-2)"),
    ],
)
def test_precedence(text: str, same: str) -> None:
    assert parse(text).node == parse(same).node


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("( close/delay( close,5 ) )-1", "close / delay(close, 5) - 1"),
        ("a-(b-c)", "a - (b - c)"),
        ("(a-b)-c", "a - b - c"),
        ("(-2)^a", "(-2) ^ a"),
        ("-2^a", "-2 ^ a"),
        ("(a^b)^c", "(a ^ b) ^ c"),
        ("(a < b) == (c < d)", "(a < b) == (c < d)"),
        ("not (a<b and c<d)", "not (a < b and c < d)"),
        ("1e3*a + 0.50 - 1e-9*a", "1000 * a + 0.5 - 1e-09 * a"),
        ("`adj close` * `a`", "`adj close` * a"),
        ("`ret` + `rank` + `not`", "`ret` + `rank` + `not`"),
        ("a - -0", "a - 0"),
    ],
)
def test_canonical_spelling(text: str, spelling: str) -> None:
    assert spell(parse(text).node) == spelling
    assert spell(parse(spelling).node) == spelling


def test_a_sign_before_a_power_is_outside_it() -> None:
    assert parse("-2 ^ a").node != parse("(-2) ^ a").node


@settings(
    max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(nodes())
def test_the_spelling_of_any_tree_parses_to_it(node: Node) -> None:
    from quantlit.features.language.parser import _Parser

    parser = _Parser(spell(node))  # without the rule that a field must be read
    assert parser.expression(0) == node


CARETS = [
    # text, column of the caret, message
    ("delay(close, -1)", 13, "delay by -1 bars would look into the future: .* from 1 to 2,520"),
    ("ts_mean(close, -5)", 15, "ts_mean by -5 bars would look into the future"),
    (
        "delay(close, 0)",
        13,
        r"delay\(x, n\) takes a whole number of bars from 1 to 2,520 for n, not 0",
    ),
    ("ts_std(close, 1)", 14, "from 2 to 2,520 for n, not 1"),
    ("delay(close, 2.5)", 13, "not 2.5"),
    (f"ts_mean(close, {MAX_WINDOW + 1})", 15, "not 2521"),
    ("ema(close, 900)", 11, "from 1 to 840 for n, not 900"),
    ("delay(close, open)", 13, "written out; it cannot be computed from open"),
    ("delay(close, 2 + 3)", 13, r"cannot be computed from 2 \+ 3"),
    ("ts_quantile(close, 5, 1.5)", 22, "takes a number from 0 to 1 for q, not 1.5"),
    ("winsorise(close, 0)", 17, "takes a number above 0 for limit, not 0"),
    ("bucket(close, 1)", 14, "takes a whole number from 2 to 1,000 for k, not 1"),
    ("bucket(close, 2.5)", 14, "not 2.5"),
    ("1 + clip(close, 3, 1)", 4, "its bounds 3 and 1 are reversed"),
    ("delay(close)", 11, r"delay takes 2 arguments, delay\(x, n\), but got 1"),
    ("rank()", 5, r"rank takes 1 argument, rank\(x\), but got none"),
    ("delay(close, 5, 6)", 14, r"delay takes 2 arguments, .*, but got more"),
    (
        "delay(close, n=5)",
        14,
        r"Expected '\)', which closes delay\(x, n\), .* '='. Arguments have no",
    ),
    ("dleay(close, 1)", 0, "no operator named 'dleay'. Did you mean delay"),
    ("2 * ts_maen(close, 5)", 4, "Did you mean ts_mean"),
    ("rank + 1", 0, r"rank is an operator, written rank\(x\)"),
    ("close +", 7, "found the end of the expression"),
    ("close + * 2", 8, r"Expected a field, a number, .* but found '\*'"),
    ("(close + 1", 10, r"Expected '\)', which closes the parenthesis"),
    ("close + 1)", 9, "No parenthesis is open here"),
    ("close open", 6, "Expected an operator or the end of the expression, but found 'open'"),
    ("close = 5", 8, "constant: it reads no field"),
    ("close > 1 = 2", 10, "Equality is written =="),
    ("my factor = close", 3, "but found 'factor'"),
    ("", 0, "found the end"),
    ("x =", 3, "found the end"),
    ("1 + 2", 0, "constant"),
    ("close ** 2", 6, r"Write a power as x \^ 2"),
    ("$close / 2", 0, r"without the \$"),
    ("close & open", 6, "Write `and`"),
    ("close ! open", 6, "!= for unequal"),
    ("close % 2", 6, "no remainder"),
    ("close.shift(1)", 5, "names have no points"),
    ("`close / 2", 0, "one at each end"),
    ("clöse / 2", 2, "ASCII"),
    ("a < b < c", 6, "Comparisons do not chain"),
    ("a == b != c", 7, "Comparisons do not chain"),
    ("where(close, 1, 2)", 6, "takes a condition, .* for condition; close is a number"),
    ("close and open > 1", 0, "for a; close is a number"),
    ("close > 1 and (open)", 14, "for b; open is a number"),
    ("not close", 4, "takes a condition"),
    ("close + not open > 1", 8, "put it in parentheses"),
    ("ts_count(close, 5)", 9, "takes a condition"),
    ("close * 1e999", 8, "too large"),
]


@pytest.mark.parametrize(("text", "column", "message"), CARETS)
def test_errors_point_at_the_character(text: str, column: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        parse(text)
    _, shown, pointer = str(caught.value).split("\n")
    assert shown == "    " + text
    assert pointer == "    " + " " * column + "^"


def test_the_line_of_the_error_is_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        parse("rank(\n  close,\n\tdelay(close, -1)\n)")
    assert str(caught.value).split("\n")[1:] == ["      close,", "           ^"]
    with pytest.raises(ConfigError) as caught:
        parse("close +\n\tdelay(close, -1)\n+ 1")
    assert str(caught.value).split("\n")[1:] == ["     delay(close, -1)", "                  ^"]


def test_a_long_line_is_cut_around_the_caret() -> None:
    text = " + ".join(["close"] * 40) + " + delay(close, -1)" + " + close" * 40
    with pytest.raises(ConfigError) as caught:
        parse(text)
    _, shown, pointer = str(caught.value).split("\n")
    assert len(shown) < 110
    assert shown[pointer.index("^") :].startswith("-1) + close")
    assert shown.strip().startswith("...")
    assert shown.endswith("...")


DEEP = [
    "(" * 5_000,
    "(" * MAX_NESTING + "close" + ")" * MAX_NESTING,
    "-" * 4_000 + "close",
    "not " * 1_000 + "close > 1",
    "close ^ " * 600 + "2",
    "abs(" * 400 + "close" + ")" * 400,
    "close" + " + close" * 600,
    "(close + " * 200 + "1" + ")" * 200,
]


@pytest.mark.parametrize("text", DEEP)
def test_deep_nesting_is_an_error_of_its_own(text: str) -> None:
    with pytest.raises(ConfigError, match=r"nested more than 50 deep|More than 100 operators"):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "close" + " + close" * MAX_DEPTH,
        "(" * (MAX_NESTING - 1) + "close" + ")" * (MAX_NESTING - 1),
        "abs(" * (MAX_NESTING - 1) + "close" + ")" * (MAX_NESTING - 1),
        "+".join(["(" + "+".join(["a"] * 50) + ")"] * 45),
    ],
)
def test_the_deepest_still_works(text: str) -> None:
    factor = Expression(text=text)
    assert factor.lookback == 0
    assert hash(factor) == hash(Expression(text=factor.text))


def test_a_text_of_novel_length_is_refused() -> None:
    with pytest.raises(ConfigError, match="has 5,001 characters; at most 5,000 are read"):
        parse("a" * (MAX_LENGTH + 1))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text(alphabet="ab1.5()+-*/^<>=!, `\n$é_" + "andortlykse", max_size=40))
def test_any_text_is_an_expression_or_a_config_error(text: str) -> None:
    try:
        found = parse(text)
    except ConfigError as error:
        assert str(error).split("\n")[-1].strip() == "^"
    else:
        assert parse(spell(found.node)).node == found.node
