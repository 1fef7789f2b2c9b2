"""The panel store: memory-mapped bars of many assets, its builder, calendar, sources, exports."""

from quantlit.panel.append import append_panel
from quantlit.panel.builder import build_panel
from quantlit.panel.export_parquet import write_parquet
from quantlit.panel.export_qlib import write_qlib
from quantlit.panel.sources import (
    ColumnMap,
    CsvSource,
    FrameSource,
    OnBadRows,
    PanelSource,
    ParquetSource,
    PlantedSignal,
    QlibSource,
    RawPanel,
    ReturnColumn,
    SampleSource,
    SyntheticSource,
    TableSource,
)
from quantlit.panel.store import Panel

__all__ = [
    "ColumnMap",
    "CsvSource",
    "FrameSource",
    "OnBadRows",
    "Panel",
    "PanelSource",
    "ParquetSource",
    "PlantedSignal",
    "QlibSource",
    "RawPanel",
    "ReturnColumn",
    "SampleSource",
    "SyntheticSource",
    "TableSource",
    "append_panel",
    "build_panel",
    "write_parquet",
    "write_qlib",
]
