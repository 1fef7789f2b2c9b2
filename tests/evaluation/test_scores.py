"""Scores of a saved table: the metrics' own numbers, and pandas'."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from random_predictions import make_arrays, make_frame

from quantlit.evaluation import (
    horizon_scores,
    prediction_frame,
    read_predictions,
    score_table,
    write_predictions,
)
from quantlit.metrics import CrossSectionScores


def test_equals_the_metrics_bit_by_bit(tmp_path: Path) -> None:
    arrays = make_arrays(n_dates=300)
    path = write_predictions(tmp_path / "p.parquet", prediction_frame(**arrays))
    table = score_table(read_predictions(path).frame)
    assert table.index.tolist() == [1, 5]
    assert table.index.name == "horizon"
    forecast, label, valid = (
        torch.from_numpy(arrays[name]) for name in ("forecast", "label", "valid")
    )
    for index, horizon in enumerate([1, 5]):
        metric = CrossSectionScores(horizon=horizon)
        for block in torch.split(torch.arange(300), 16):
            metric.update(forecast[block, :, index], label[block, :, index], valid[block], block)
        expected = {name: float(value) for name, value in metric.compute().items()}
        assert table.loc[horizon].to_dict() == expected


def test_equals_pandas() -> None:
    frame = make_frame()
    rows = frame[frame["valid"] & (frame["horizon"] == 5)].dropna()
    daily = rows.groupby("date")[["forecast", "label"]].apply(
        lambda day: day["forecast"].rank().corr(day["label"].rank())
    )
    table = score_table(frame)
    assert table.loc[5, "rank_ic"] == pytest.approx(daily.mean(), rel=1e-12)
    assert table.loc[5, "rank_icir"] == pytest.approx(daily.mean() / daily.std(), rel=1e-12)
    assert table.loc[5, "dates_used"] == len(daily)
    assert table.loc[1, "dates_used"] == 11  # the last label is not known


def test_invalid_rows_do_not_count() -> None:
    frame = make_frame()
    poisoned = frame.copy()
    poisoned.loc[~poisoned["valid"], "forecast"] = 1e9
    pd.testing.assert_frame_equal(score_table(poisoned), score_table(frame))


def test_series_dates_are_places_in_the_table() -> None:
    frame = make_frame()
    series = horizon_scores(frame, 1).series()
    assert series.dates.tolist() == list(range(12))


def test_a_table_without_labels_scores_nothing() -> None:
    frame = make_frame()
    table = score_table(frame.assign(label=float("nan")))
    assert table["dates_used"].tolist() == [0, 0]
    assert table["rank_ic"].isna().all()
