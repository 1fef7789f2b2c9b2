"""Where bars come from: tables in files or memory, the sample data, and a made-up market."""

from quantlit.panel.sources.base import PanelSource, RawPanel
from quantlit.panel.sources.columns import ColumnMap, ReturnColumn
from quantlit.panel.sources.frame import FrameSource
from quantlit.panel.sources.qlib_bin import QlibSource
from quantlit.panel.sources.sample import SampleSource
from quantlit.panel.sources.screen import OnBadRows
from quantlit.panel.sources.synthetic import PlantedSignal, SyntheticSource
from quantlit.panel.sources.table import CsvSource, ParquetSource, TableSource

__all__ = [
    "ColumnMap",
    "CsvSource",
    "FrameSource",
    "OnBadRows",
    "PanelSource",
    "ParquetSource",
    "PlantedSignal",
    "QlibSource",
    "RawPanel",
    "ReturnColumn",
    "SampleSource",
    "SyntheticSource",
    "TableSource",
]
