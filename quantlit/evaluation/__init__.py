"""Judging saved forecasts: the prediction table, its scores and figures."""

from quantlit.evaluation.figures import cumulative_rank_ic_figure, decile_returns_figure
from quantlit.evaluation.scores import horizon_scores, score_table
from quantlit.evaluation.storage import PredictionTable, read_predictions, write_predictions
from quantlit.evaluation.table import WidePredictions, prediction_frame, wide_predictions

__all__ = [
    "PredictionTable",
    "WidePredictions",
    "cumulative_rank_ic_figure",
    "decile_returns_figure",
    "horizon_scores",
    "prediction_frame",
    "read_predictions",
    "score_table",
    "wide_predictions",
    "write_predictions",
]
