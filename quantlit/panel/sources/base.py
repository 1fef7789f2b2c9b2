"""PanelSource, what every source of bars must offer, and RawPanel, what it gives."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.core import DataError
from quantlit.panel.manifest import FORMAT


@dataclass(frozen=True)
class RawPanel:
    """A dense panel in memory: T bars, N assets, F fields.

    Attributes:
        dates: ``[T]`` datetime64[ns], ascending, each once, in the exchange's own time.
        symbols: N names, each once.
        fields: F names, each once.
        values: ``[T, N, F]`` float32, NaN where unknown.
        observed: ``[T, N]`` bool, the bar was really seen.
    """

    dates: npt.NDArray[np.datetime64]
    symbols: list[str]
    fields: list[str]
    values: npt.NDArray[np.float32]
    observed: npt.NDArray[np.bool_]

    def check(self) -> None:
        """Raise unless the parts fit together.

        Raises:
            DataError: naming what does not fit.
        """
        n_bars, n_assets = len(self.dates), len(self.symbols)
        for name, count in (("bar", n_bars), ("asset", n_assets), ("field", len(self.fields))):
            if count == 0:
                raise DataError(f"The source gave no {name} at all.")
        for name, names in (("symbols", self.symbols), ("fields", self.fields)):
            if len(set(names)) < len(names):
                twice = next(n for n in names if names.count(n) > 1)
                raise DataError(f"The source gave {twice!r} twice among its {name}.")
        wanted = (n_bars, n_assets, len(self.fields))
        if self.values.shape != wanted or self.observed.shape != wanted[:2]:
            raise DataError(
                f"The source gave values {self.values.shape} and observed {self.observed.shape}; "
                f"its dates, symbols and fields need {wanted} and {wanted[:2]}."
            )
        for name, array, dtype in (
            ("dates", self.dates, "datetime64[ns]"),
            ("values", self.values, "float32"),
            ("observed", self.observed, "bool"),
        ):
            if array.dtype != np.dtype(dtype):
                raise DataError(f"The source gave {name} of type {array.dtype}; give {dtype}.")
        later = self.dates[1:] > self.dates[:-1]
        if not later.all():
            row = int(np.argmin(later))
            raise DataError(
                f"The source's dates must ascend, but {pd.Timestamp(self.dates[row + 1])} follows "
                f"{pd.Timestamp(self.dates[row])}."
            )


class PanelSource(ABC):
    """Where the bars of a panel come from."""

    @abstractmethod
    def load(self) -> RawPanel:
        """Read and check the bars.

        Raises:
            DataError: if they cannot be a panel.
        """

    @abstractmethod
    def fingerprint(self) -> str:
        """A hash of the settings and of the size and time of change of every input file.

        A store made from a source with the same fingerprint is up to date.

        Raises:
            DataError: if an input file is missing.
        """

    def describe(self) -> dict[str, str]:
        """The source and its settings, for the store's manifest."""
        return {"source": type(self).__name__}


def fingerprint_of(*parts: object) -> str:
    """The sha256 of the parts' ``repr`` and of the store's format, hexadecimal."""
    return hashlib.sha256(repr((FORMAT, parts)).encode()).hexdigest()
