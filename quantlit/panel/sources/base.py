"""PanelSource, what every source of bars must offer, and RawPanel, what it gives."""

from __future__ import annotations

import hashlib
import tempfile
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.core import DataError
from quantlit.panel.manifest import FORMAT
from quantlit.panel.sources.records import BadRow
from quantlit.panel.workspace import Workspace


@dataclass(frozen=True)
class RawPanel:
    """A dense panel in memory: T bars, N assets, F fields.

    Attributes:
        dates: ``[T]`` datetime64[ns], ascending, each once, in the exchange's own time.
        symbols: N names, each once.
        fields: F names, each once.
        values: ``[T, N, F]`` float32, NaN where unknown.
        observed: ``[T, N]`` bool, the bar was really seen.
        dropped: rows of the source that were left out as bad.
    """

    dates: npt.NDArray[np.datetime64]
    symbols: list[str]
    fields: list[str]
    values: npt.NDArray[np.float32]
    observed: npt.NDArray[np.bool_]
    dropped: tuple[BadRow, ...] = ()

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

    def build(self, workspace: Workspace) -> RawPanel:
        """Read and check the bars where a store is to be; by default :meth:`load`.

        A source of more than fits into memory takes the arrays from ``workspace.array``, says how
        far it is by ``workspace.progress``, and keeps in ``workspace.parts`` what it need not do
        again after an interruption.

        Args:
            workspace: a folder beside the store.

        Raises:
            DataError: if they cannot be a panel.
        """
        del workspace
        return self.load()

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


class StreamedSource(PanelSource):
    """A source that builds in a workspace; in memory it loads by way of a temporary one."""

    @abstractmethod
    def build(self, workspace: Workspace) -> RawPanel:
        """Read and check the bars where a store is to be."""

    def load(self) -> RawPanel:
        """Read and check the bars.

        Raises:
            DataError: naming what is wrong, and where.
        """
        with tempfile.TemporaryDirectory() as folder:
            raw = self.build(Workspace(Path(folder)))
            return replace(raw, values=np.array(raw.values))


def fingerprint_of(*parts: object) -> str:
    """The sha256 of the parts' ``repr`` and of the store's format, hexadecimal."""
    return hashlib.sha256(repr((FORMAT, parts)).encode()).hexdigest()
