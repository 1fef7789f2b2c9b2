"""Pure tensor kernels: masked statistics, exact and soft ranks, correlations, window views."""

from quantlit.functional.correlation import masked_correlation, rank_correlation
from quantlit.functional.masked import (
    SPREAD_FLOOR,
    masked_mean,
    masked_std,
    masked_zscore,
    winsorise,
)
from quantlit.functional.ranking import average_ranks, rank_gaussian
from quantlit.functional.soft_ranking import laplace_ranks, sigmoid_ranks
from quantlit.functional.standardise import standardise_labels
from quantlit.functional.statistics import (
    information_ratio,
    newey_west_lags,
    newey_west_t,
    t_statistic,
)
from quantlit.functional.windows import window_view

__all__ = [
    "SPREAD_FLOOR",
    "average_ranks",
    "information_ratio",
    "laplace_ranks",
    "masked_correlation",
    "masked_mean",
    "masked_std",
    "masked_zscore",
    "newey_west_lags",
    "newey_west_t",
    "rank_correlation",
    "rank_gaussian",
    "sigmoid_ranks",
    "standardise_labels",
    "t_statistic",
    "window_view",
    "winsorise",
]
