"""One file of a Qlib store: a field of an asset, as float32 numbers behind a start index."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.core import DataError
from quantlit.panel.sources.columns import PRICES

ITEM = np.dtype("<f4")
POSITIVE = (*PRICES, "factor")
"""Fields that are above zero wherever they are known."""

REMEDY = "Download or dump this file anew."

Dates = npt.NDArray[np.datetime64]
Fault = Callable[[str, str], DataError]


class FeatureReader:
    """Reads files of one store and frequency, a range of the calendar each.

    Args:
        calendar: ``[C]`` datetime64[ns] timestamps that the files' start indices count.
        bars: the range of the calendar that is wanted, T positions.
        calendar_name: names the calendar in errors.
    """

    def __init__(self, calendar: Dates, bars: range, calendar_name: str) -> None:
        self.calendar = calendar
        self.bars = bars
        self.calendar_name = calendar_name

    def read(self, path: Path, symbol: str, field: str, out: npt.NDArray[np.float32]) -> None:
        """Write a file's numbers into their places.

        Args:
            path: the file.
            symbol: its asset, for errors.
            field: its field, which also says whether the numbers are prices.
            out: ``[T]`` float32; places that the file has no number for are left as they are.

        Raises:
            DataError: naming file, asset, field, value and date of what is wrong.
        """

        def fault(problem: str, remedy: str) -> DataError:
            return DataError(f"{path} ({symbol}, {field}): {problem} {remedy}")

        try:
            with path.open("rb") as file:
                start, count = self._extent(file, fault)
                first = max(start, self.bars.start)
                last = min(start + count, self.bars.stop)
                if last <= first:
                    return
                skip = (first - start) * ITEM.itemsize
                numbers = np.fromfile(file, ITEM, count=last - first, offset=skip)
        except OSError as error:
            raise fault(
                f"the file cannot be read ({error}).", "Check the disk and the file's permissions."
            ) from error
        if len(numbers) < last - first:
            raise fault("the file became shorter while it was read.", "Prepare the panel again.")
        self._check(numbers, field, first, fault)
        out[first - self.bars.start : last - self.bars.start] = numbers

    def _extent(self, file: BinaryIO, fault: Fault) -> tuple[int, int]:
        """Start on the calendar and count of the numbers; the file is then at the first one."""
        size = os.fstat(file.fileno()).st_size
        if size == 0:
            raise fault("the file is empty.", REMEDY)
        if size % ITEM.itemsize:
            raise fault(
                f"the file has {size} bytes, which is no multiple of 4: it was cut short, or holds "
                "no float32 numbers.",
                REMEDY,
            )
        count = size // ITEM.itemsize - 1
        start = float(np.fromfile(file, ITEM, count=1)[0])
        if count == 0:
            raise fault(f"the file holds a start index, {start:g}, and no bar.", REMEDY)
        length = len(self.calendar)
        if not start.is_integer() or start < 0:
            raise fault(
                f"the first number is the start index, a whole number from 0, and it is {start:g}.",
                REMEDY,
            )
        if start >= length:
            raise fault(
                f"the file starts at position {start:.0f} of the calendar, and "
                f"{self.calendar_name} has {length} bars.",
                "Files and calendar do not belong together: download or dump the store anew.",
            )
        if start + count > length:
            raise fault(
                f"the file holds {count} bars from position {start:.0f} of the calendar, and "
                f"{self.calendar_name} has {length} bars.",
                "Files and calendar do not belong together: download or dump the store anew.",
            )
        return int(start), count

    def _check(
        self, numbers: npt.NDArray[np.float32], field: str, first: int, fault: Fault
    ) -> None:
        """Raise on an infinite number, and on a price that is not above zero."""
        for bad, what in (
            (np.isinf(numbers), "which is infinite"),
            (numbers <= 0, "and a price is above zero"),
        ):
            if (what.startswith("which") or field in POSITIVE) and bad.any():
                place = int(np.argmax(bad))
                others = int(bad.sum()) - 1
                more = f" ({others} more such bar{'s' if others > 1 else ''}.)" if others else ""
                raise fault(
                    f"the bar at {pd.Timestamp(self.calendar[first + place])} is "
                    f"{numbers[place]:g}, {what}.{more}",
                    "Correct it, or write NaN where it is unknown.",
                )
