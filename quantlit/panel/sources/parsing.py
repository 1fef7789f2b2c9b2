"""From the cells of a table to names and numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.panel.sources.screen import Screen

LARGEST = float(np.finfo(np.float32).max)
SMALLEST = float(np.finfo(np.float32).tiny)

_TRUTH = {
    spelled: value
    for word, value in (("true", 1.0), ("false", 0.0))
    for spelled in (word, word.upper(), word.capitalize())
}


def parse_symbols(screen: Screen) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.str_]]:
    """``[M]`` position of each row's asset, and the V names.

    Args:
        screen: the table of M rows, and what its bad rows get.

    Raises:
        DataError: naming the first row without a name.
    """
    codes, names = pd.factorize(screen.records.frame["symbol"])
    texts = np.array([str(name) for name in names], dtype=np.str_)
    bad = codes < 0
    if (texts == "").any():
        bad |= codes == int(np.argmax(texts == ""))
    screen.reject(bad, "symbol", "so the asset has no name. Fill it in, or drop the row.")
    return codes.astype(np.int32), texts


def parse_numbers(screen: Screen, name: str, unit: float) -> npt.NDArray[np.float64]:
    """``[M]`` float64 numbers of a column, NaN where it is empty; True is 1 and False 0.

    Args:
        screen: the table of M rows, and what its bad rows get.
        name: the column, by quantlit's name.
        unit: what the numbers are multiplied by.

    Raises:
        DataError: naming the first row that holds no number, or one that float32 cannot hold.
    """
    column = screen.records.frame[name]
    if isinstance(column.dtype, pd.CategoricalDtype) or column.dtype.kind in "mM":
        column = column.astype("object")  # or pandas takes times for numbers
    if column.dtype == np.float64 and unit == 1.0:
        numbers = column.to_numpy()
    else:
        parsed = pd.to_numeric(column, errors="coerce")
        numbers = parsed.to_numpy(np.float64, na_value=np.nan) * unit
        if not pd.api.types.is_numeric_dtype(column.dtype):
            text = np.isnan(numbers) & column.notna().to_numpy() & (column != "").to_numpy()
            if text.any():  # pandas leaves True and False as text beside other text or numbers
                truth = column[text].astype("str").map(_TRUTH)
                numbers[text] = truth.to_numpy(np.float64, na_value=np.nan) * unit
                text &= np.isnan(numbers)
            screen.reject(
                text,
                name,
                "which is not a number. Correct it, or leave the cell empty if unknown.",
            )
    size = np.abs(numbers)
    screen.reject(
        size > LARGEST, name, f"which is beyond float32 ({LARGEST:.2g}). Leave it empty if unknown."
    )
    screen.reject(
        (size < SMALLEST) & (size > 0),
        name,
        f"which is closer to 0 than float32 can hold ({SMALLEST:.2g}). Set units.{name} to a "
        "larger unit.",
    )
    return numbers
