"""Adjusted prices, from a column of returns, adjusted closes or factors; no level knows the future.

Adjustment runs forward from each asset's first bar: that bar keeps its raw price, and a later split
or dividend changes later prices only. (Vendors adjust backward from the last bar, so that every
past level changes with each new event.)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from quantlit.panel.sources.columns import ReturnColumn
from quantlit.panel.sources.grid import Grid
from quantlit.panel.sources.parsing import LARGEST

Array = npt.NDArray[np.float64]

GROWTH: dict[str, Callable[[Array], Array]] = {
    "percent": lambda returns: 1.0 + returns / 100.0,
    "fraction": lambda returns: 1.0 + returns,
    "log": np.exp,
}


def adjustment_factors(grid: Grid, returns: ReturnColumn | None) -> Array | None:
    """``[T, N]`` adjusted over raw price of each bar; None where the table does not say.

    Args:
        grid: the table.
        returns: the unit of the column ``return``.

    Raises:
        DataError: naming the first row whose close, return, adjusted close or factor is impossible.
    """
    vendor = {"adjusted_close", "adjustment_factor"} & set(grid.numbers)
    if returns is None and not vendor:
        return None
    close = grid.dense("close")
    _require(grid, ~(close > 0), "close", "a price above 0")
    if returns is None:
        name = vendor.pop()
        ratio = grid.dense(name)
        is_price = name == "adjusted_close"
        _require(grid, ~(ratio > 0), name, f"a {'price' if is_price else 'factor'} above 0")
        if is_price:
            ratio /= close
        return np.asarray(ratio / _first(ratio, grid.observed))
    unit = f"(read as {returns.unit})"
    growth = GROWTH[returns.unit](grid.dense("return"))
    later = grid.observed & (np.cumsum(grid.observed, axis=0) > 1)
    _require(grid, later & ~(growth > 0), "return", f"a return above -100 % {unit}")
    later = grid.observed & (np.cumsum(grid.observed, axis=0) > 1)
    with np.errstate(over="ignore", invalid="ignore"):
        growth = np.where(later, growth, 1.0)
        adjusted = np.asarray(np.cumprod(growth, axis=0), dtype=np.float64)
        adjusted = adjusted * _first(close, grid.observed)
        beyond = ~(np.abs(adjusted) <= LARGEST)
    _require(grid, beyond, "return", f"returns that compound to a finite price {unit}")
    return np.asarray(adjusted / close)


def _first(values: Array, observed: npt.NDArray[np.bool_]) -> Array:
    """``[N]`` value at each asset's first observed bar."""
    return np.asarray(values[observed.argmax(axis=0), np.arange(observed.shape[1])])


def _require(grid: Grid, bad: npt.NDArray[np.bool_], name: str, wanted: str) -> None:
    grid.reject(
        grid.observed & bad,
        name,
        f"and adjusting prices needs {wanted}. Correct it, or drop the row.",
    )
