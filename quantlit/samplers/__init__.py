"""Which dates form a batch: splits with purge and embargo, and samplers of consecutive dates."""

from quantlit.samplers.contiguous import Order, TimeContiguousSampler
from quantlit.samplers.evaluation import EvaluationSampler
from quantlit.samplers.runs import Run, is_padding, padding, segments
from quantlit.samplers.splits import DateRange, DateSplit, Positions, SplitPositions

__all__ = [
    "DateRange",
    "DateSplit",
    "EvaluationSampler",
    "Order",
    "Positions",
    "Run",
    "SplitPositions",
    "TimeContiguousSampler",
    "is_padding",
    "padding",
    "segments",
]
