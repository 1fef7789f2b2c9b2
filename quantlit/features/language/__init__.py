"""A short language for one's own factors: formulas over bars, causal by construction.

``factors: ["close / delay(close, 5) - 1", "steady = rank(-ts_std(ret, 20))"]``

Names are the panel's fields (in backquotes where a name is no plain word, or is an operator's or a
series'), and the series ``ret`` and ``market``. :func:`operator_table` lists the operators.

What is unknown is NaN: a field at a bar that was not observed, a price that is not positive, and
every result that is not finite. An operator of one cell, comparisons included, gives NaN where an
operand is; ``and``, ``or`` and ``not`` have three values, so false ``and`` NaN is false, and true
``or`` NaN is true. Windows skip NaN and need half of their bars known. ``delay`` follows the
calendar: a suspended bar is NaN there, and nothing is carried but by ``last``, ``fill`` and
``returns``. Return(window=5) is ``close / delay(last(close), 5) - 1``.
"""

from quantlit.features.language.expression import Expression, is_expression
from quantlit.features.language.operators import OPERATORS, operator_table
from quantlit.features.language.parser import Definition, parse

__all__ = ["OPERATORS", "Definition", "Expression", "is_expression", "operator_table", "parse"]
