"""Adjusted prices, from a column of returns or of adjusted closes; no level knows the future.

Adjustment runs forward from each asset's first bar: that bar keeps its raw price, and a later split
or dividend changes later prices only. (Vendors adjust backward from the last bar, so that every
past level changes with each new event.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from quantlit.panel.sources.columns import ReturnColumn
from quantlit.panel.sources.parsing import LARGEST
from quantlit.panel.sources.records import Records, Rows

Array = npt.NDArray[np.float64]

GROWTH: dict[str, Callable[[Array], Array]] = {
    "percent": lambda returns: 1.0 + returns / 100.0,
    "fraction": lambda returns: 1.0 + returns,
    "log": np.exp,
}


def adjustment_factors(
    records: Records,
    cells: Rows,
    observed: npt.NDArray[np.bool_],
    numbers: Mapping[str, Array],
    returns: ReturnColumn | None,
) -> Array | None:
    """``[M]`` adjusted over raw price of each row; None where the table does not say.

    Args:
        records: the table of M rows.
        cells: ``[M]`` position of each row in the flattened ``[T, N]``.
        observed: ``[T, N]`` bool.
        numbers: ``[M]`` columns ``close`` and ``return`` or ``adjusted_close``.
        returns: the unit of ``return``.

    Raises:
        DataError: naming the first row whose close, return or adjusted close is impossible.
    """
    if returns is None and "adjusted_close" not in numbers:
        return None
    seen = observed.flat[cells]
    _require(records, seen & ~(numbers["close"] > 0), "close", "a price above 0")
    first = seen & (cells == _first_cells(observed)[cells % observed.shape[1]])
    if returns is None:
        adjusted = numbers["adjusted_close"]
        _require(records, seen & ~(adjusted > 0), "adjusted_close", "a price above 0")
        ratio = adjusted / numbers["close"]
        start = np.ones(observed.shape[1])
        start[cells[first] % observed.shape[1]] = ratio[first]
        return np.asarray(ratio / start[cells % observed.shape[1]])
    growth = GROWTH[returns.unit](numbers["return"])
    later = seen & ~first
    unit = f"(read as {returns.unit})"
    _require(records, later & ~(growth > 0), "return", f"a return above -100 % {unit}")
    growth = np.where(later, growth, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        factors = _compounded(cells, observed, numbers["close"], growth, first)
        beyond = seen & ~(np.abs(factors * numbers["close"]) <= LARGEST)
    _require(records, beyond, "return", f"returns that compound to a finite price {unit}")
    return factors


def _compounded(
    cells: Rows,
    observed: npt.NDArray[np.bool_],
    close: Array,
    growth: Array,
    first: npt.NDArray[np.bool_],
) -> Array:
    """Compound growth over each asset's observed bars, from its first close; over its close."""
    dense = np.ones(observed.shape, dtype=np.float64)
    dense.flat[cells] = growth
    np.cumprod(dense, axis=0, out=dense)
    start = np.ones(observed.shape[1])
    start[cells[first] % observed.shape[1]] = close[first]
    dense *= start
    return np.asarray(dense.flat[cells] / close)


def _first_cells(observed: npt.NDArray[np.bool_]) -> Rows:
    """``[N]`` flattened position of each asset's first observed bar."""
    n_assets = observed.shape[1]
    return np.asarray(observed.argmax(axis=0) * n_assets + np.arange(n_assets), dtype=np.int64)


def _require(records: Records, bad: npt.NDArray[np.bool_], name: str, wanted: str) -> None:
    if bad.any():
        raise records.error(
            bad, name, f"and adjusting prices needs {wanted}. Correct it, or drop the row."
        )
