"""Cross-sectional scores per date as torchmetrics, exact under DDP because a date is atomic."""

from quantlit.metrics.base import PerDateMetric, SeriesMetric
from quantlit.metrics.correlation import (
    ICIR,
    InformationCoefficient,
    NeweyWestT,
    RankICIR,
    RankInformationCoefficient,
    RankNeweyWestT,
)
from quantlit.metrics.cross_section import CrossSectionScores, CrossSectionSeries, summarise
from quantlit.metrics.direction import HitRate
from quantlit.metrics.quantiles import LongShort, QuantileReturns
from quantlit.metrics.rows import DateSeries, DateTable

__all__ = [
    "ICIR",
    "CrossSectionScores",
    "CrossSectionSeries",
    "DateSeries",
    "DateTable",
    "HitRate",
    "InformationCoefficient",
    "LongShort",
    "NeweyWestT",
    "PerDateMetric",
    "QuantileReturns",
    "RankICIR",
    "RankInformationCoefficient",
    "RankNeweyWestT",
    "SeriesMetric",
    "summarise",
]
