"""Series: what every expression may name besides the panel's fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from quantlit.features.bars import MAX_FILL, Bars

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class BarSeries:
    """A series that the bars derive from their fields.

    Args:
        fields: the panel fields that it needs.
        lookback: bars before the present one on which it depends.
        read: the series ``[T, N]`` of some bars.
        says: what it is, in one sentence for the table.
    """

    fields: tuple[str, ...]
    lookback: int
    read: Callable[[Bars], Array] = field(repr=False)
    says: str = ""


SERIES: dict[str, BarSeries] = {
    "ret": BarSeries(
        ("close",),
        1 + MAX_FILL,
        lambda bars: bars.returns,
        f"return of the bar from the last close seen before it, at most {MAX_FILL + 1} bars ago",
    ),
    "market": BarSeries(
        ("close",),
        1 + MAX_FILL,
        lambda bars: bars.market,
        "equal-weight mean of `ret` over the observed assets, the same for each asset",
    ),
}
"""The series by name; a field of the same name is written in backquotes."""
