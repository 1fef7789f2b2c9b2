"""Scores of a saved prediction table, by the metrics themselves: the same numbers."""

from __future__ import annotations

import pandas as pd
import torch

from quantlit.evaluation.table import wide_predictions
from quantlit.metrics import CrossSectionScores

_BLOCK = 256  # dates scored at a time, to bound memory


def horizon_scores(frame: pd.DataFrame, horizon: int, *, min_assets: int = 5) -> CrossSectionScores:
    """The metric of one horizon, after all dates of a table.

    ``metric.series().dates`` are places among the table's dates. Ties are cut by symbol in
    ascending order, which is the panel's order of assets.

    Args:
        frame: a prediction table.
        horizon: which one, in bars.
        min_assets: dates with fewer valid assets are excluded.

    Raises:
        DataError: if the table has no such horizon.
    """
    wide = wide_predictions(frame, horizon)
    metric = CrossSectionScores(min_assets=min_assets, horizon=horizon)
    arrays = (torch.from_numpy(array) for array in (wide.forecast, wide.label, wide.valid))
    dates = torch.arange(len(wide.dates))
    blocks = zip(*(torch.split(tensor, _BLOCK) for tensor in (*arrays, dates)), strict=True)
    for block in blocks:
        metric.update(*block)
    return metric


def score_table(frame: pd.DataFrame, *, min_assets: int = 5) -> pd.DataFrame:
    """Every score of every horizon of a prediction table.

    Args:
        frame: a prediction table.
        min_assets: dates with fewer valid assets are excluded, and not in ``dates_used``.

    Returns:
        One row per horizon (the index, in bars), one float64 column per score of
        :func:`quantlit.metrics.summarise`.
    """
    rows = {}
    for horizon in sorted(int(h) for h in frame["horizon"].unique()):
        scores = horizon_scores(frame, horizon, min_assets=min_assets).compute()
        rows[horizon] = {name: float(value) for name, value in scores.items()}
    table = pd.DataFrame.from_dict(rows, orient="index")
    return table.rename_axis("horizon")
