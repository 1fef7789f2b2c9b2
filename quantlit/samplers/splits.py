"""Date splits: train, validation and test by date, with purge and embargo at each border."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.core import ConfigError

Positions = npt.NDArray[np.int64]
DateRange = tuple[str, str]


class SplitPositions(NamedTuple):
    """Calendar positions of the decision dates of each split, ascending."""

    train: Positions
    valid: Positions
    test: Positions


@dataclass(frozen=True)
class DateSplit:
    """Date ranges of the three splits, both ends included.

    The label of decision date ``t`` ends at ``t + delay + horizon``. A date is *purged* from a
    split if its label ends after the first date of the next split, which drops the last
    ``delay + horizon - 1`` dates before each border. The *embargo* drops dates after a border:
    the later split starts at least ``embargo`` dates after the earlier one ends.
    (M. Lopez de Prado, Advances in Financial Machine Learning, chapter 7.)

    Args:
        train: first and last date of training.
        valid: first and last date of validation.
        test: first and last date of the test.
        embargo: dates dropped after each border; 0 keeps them all. Needed where features of the
            later split overlap labels of the earlier one in a way that purging cannot see.
    """

    train: DateRange
    valid: DateRange
    test: DateRange
    embargo: int = 0

    def __post_init__(self) -> None:
        if self.embargo < 0:
            raise ConfigError(f"split.embargo is {self.embargo}; it must be 0 or more dates.")
        previous_name, previous_end = "", pd.Timestamp.min
        for name in ("train", "valid", "test"):
            start, end = self.bounds(name)
            if start > end:
                raise ConfigError(
                    f"split.{name} starts on {start.date()}, after its end on {end.date()}."
                )
            if start <= previous_end:
                raise ConfigError(
                    f"split.{name} starts on {start.date()}, but split.{previous_name} ends on "
                    f"{previous_end.date()}: splits must follow each other in time, not overlap."
                )
            previous_name, previous_end = name, end

    def bounds(self, name: str) -> tuple[pd.Timestamp, pd.Timestamp]:
        """First and last timestamp of a split; a date without a time covers its whole day.

        Raises:
            ConfigError: if a bound is not a date.
        """
        first, last = getattr(self, name)
        try:
            start, end = pd.Timestamp(str(first)), pd.Timestamp(str(last))
        except ValueError as error:
            raise ConfigError(
                f"split.{name} is [{first}, {last}], which are not two dates: {error}. "
                "Write them as YYYY-MM-DD."
            ) from error
        if end == end.normalize():
            end = end + pd.Timedelta(days=1) - pd.Timedelta(1, unit="ns")
        return start, end

    def resolve(
        self,
        dates: npt.NDArray[np.datetime64],
        *,
        label_span: int,
        first: int = 0,
    ) -> SplitPositions:
        """Positions of each split's decision dates on a calendar.

        Args:
            dates: ``[T]`` the panel's calendar, ascending.
            label_span: ``delay + horizon`` of the longest label, in bars.
            first: the first position with a whole lookback window (``window - 1``).

        Returns:
            Positions after purge and embargo. Windows may reach back into an earlier split; labels
            never reach beyond the first date of the next one.

        Raises:
            ConfigError: if a split holds no date of the calendar, or nothing is left of it.
        """
        spans = [self._span(name, dates) for name in ("train", "valid", "test")]
        kept: list[Positions] = []
        for index, (name, (start, stop)) in enumerate(
            zip(("train", "valid", "test"), spans, strict=True)
        ):
            low, high = max(start, first), stop
            if index > 0:
                low = max(low, spans[index - 1][1] + self.embargo)
            if index < len(spans) - 1:
                high = min(high, spans[index + 1][0] - label_span + 1)
            if low >= high:
                raise ConfigError(
                    f"split.{name} keeps none of its {stop - start} dates: a lookback needs "
                    f"position {first} or later, labels of {label_span} bars are purged before the "
                    f"next split, and the embargo is {self.embargo}. Widen the split."
                )
            kept.append(np.arange(low, high, dtype=np.int64))
        return SplitPositions(*kept)

    def _span(self, name: str, dates: npt.NDArray[np.datetime64]) -> tuple[int, int]:
        start, end = self.bounds(name)
        low = int(np.searchsorted(dates, start.to_datetime64(), side="left"))
        high = int(np.searchsorted(dates, end.to_datetime64(), side="right"))
        if low >= high:
            raise ConfigError(
                f"split.{name} [{start.date()}, {end.date()}] holds no date of the panel, which "
                f"runs from {pd.Timestamp(dates[0]).date()} to {pd.Timestamp(dates[-1]).date()}. "
                f"Set data.init_args.split.{name} to dates of the panel."
            )
        return low, high
