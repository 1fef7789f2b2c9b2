"""Callbacks: the watch on the training loop, and what a run leaves behind."""

from quantlit.callbacks.figures import ScoreFigures
from quantlit.callbacks.predictions import PredictionWriter
from quantlit.callbacks.random_state import RandomState
from quantlit.callbacks.report import RunReport
from quantlit.callbacks.throughput import ThroughputMonitor

__all__ = [
    "PredictionWriter",
    "RandomState",
    "RunReport",
    "ScoreFigures",
    "ThroughputMonitor",
]
