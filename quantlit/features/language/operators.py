"""The table of operators: parser, evaluator, documentation and tests all read it."""

from __future__ import annotations

from quantlit.features.bars import MAX_FILL
from quantlit.features.language.cell_operators import CELL_OPERATORS
from quantlit.features.language.cross_operators import CROSS_OPERATORS
from quantlit.features.language.series import SERIES
from quantlit.features.language.signature import MAX_WINDOW, Operator
from quantlit.features.language.time_operators import TIME_OPERATORS

OPERATORS: dict[str, Operator] = {
    operator.name: operator for operator in (*CELL_OPERATORS, *TIME_OPERATORS, *CROSS_OPERATORS)
}
"""Every operator by name; those with a symbol by their symbol, except ``power``, ``negate``."""

FUNCTIONS = {name: operator for name, operator in OPERATORS.items() if operator.is_callable}
"""The operators that are written ``name(...)``."""


def operator_table() -> str:
    """Every operator and series as a Markdown table: how it is written, what it reads and gives."""
    rows = ["| written | reads | gives |", "|---|---|---|"]
    for operator in OPERATORS.values():
        usage = operator.usage.replace("|", "\\|")
        rows.append(f"| `{usage}` | {operator.family.value} | {operator.says} |")
    for name, series in SERIES.items():
        rows.append(f"| `{name}` | a series, from {', '.join(series.fields)} | {series.says} |")
    rows.append("")
    rows.append(
        f"Windows and delays `n` are whole numbers up to {MAX_WINDOW:,}, written out. A window "
        "ends at the present bar, skips unknown values, and needs half of its bars known (`ema`: "
        f"n / 2). `last`, `returns`, `ret` and `market` carry a value over at most {MAX_FILL} bars "
        "and `fill` over n; nothing else carries any."
    )
    return "\n".join(rows)
