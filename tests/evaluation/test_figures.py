"""Figures: what they draw, that they save, and that they leave pyplot alone."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib import pyplot
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from quantlit.evaluation import cumulative_rank_ic_figure, decile_returns_figure

DATES = pd.bdate_range("2019-01-02", periods=8).to_numpy("datetime64[ns]")
DAILY_IC = torch.tensor([0.05, 0.02, -0.01, 0.04, 0.03, 0.0, -0.02, 0.06], dtype=torch.float64)


def png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def heading(figure: Figure) -> str:
    axes = figure.axes[0]
    return f"{axes.get_title(loc='left')} | {axes.get_title(loc='right')}"


def test_cumulative_rank_ic() -> None:
    figure = cumulative_rank_ic_figure(DATES, DAILY_IC, title="valid, horizon 1")
    assert heading(figure) == (
        "valid, horizon 1: cumulative rank IC | mean 0.0212, ICIR 0.73, 8 dates"
    )
    line = figure.axes[0].lines[-1]
    np.testing.assert_allclose(np.asarray(line.get_ydata()), DAILY_IC.cumsum(0).numpy())
    assert png(figure).startswith(b"\x89PNG")


def test_undefined_dates_add_nothing() -> None:
    values = DAILY_IC.clone()
    values[2] = torch.nan
    figure = cumulative_rank_ic_figure(np.arange(8), values)
    assert heading(figure).startswith("Cumulative rank IC | ")
    assert heading(figure).endswith("7 dates")
    assert len(np.asarray(figure.axes[0].lines[-1].get_ydata())) == 7


def test_decile_returns_are_in_basis_points() -> None:
    deciles = torch.linspace(-0.002, 0.0025, 10, dtype=torch.float64).repeat(6, 1)
    deciles[3] = torch.nan
    figure = decile_returns_figure(deciles, title="test, horizon 5")
    assert heading(figure) == (
        "test, horizon 5: returns by forecast | top minus bottom +45.0 bp, 5 dates"
    )
    bars = next(c for c in figure.axes[0].containers if isinstance(c, BarContainer))
    heights = [bar.get_height() for bar in bars]
    np.testing.assert_allclose(heights, np.linspace(-20, 25, 10), atol=1e-9)
    assert png(figure).startswith(b"\x89PNG")


@pytest.mark.parametrize("n_dates", [0, 1, 3])
def test_nothing_to_draw_is_said(n_dates: int) -> None:
    undefined = np.full((n_dates, 10), np.nan)
    for figure in (
        cumulative_rank_ic_figure(DATES[:n_dates], undefined[:, 0]),
        decile_returns_figure(undefined),
    ):
        assert heading(figure).endswith("| no date scored")
        assert png(figure).startswith(b"\x89PNG")


def test_one_date_has_no_icir() -> None:
    figure = cumulative_rank_ic_figure(DATES[:1], [0.1])
    assert heading(figure).endswith("mean 0.1000, 1 dates")
    assert heading(decile_returns_figure(np.full((1, 10), 0.01))).endswith("+0.0 bp, 1 dates")


def test_pyplot_keeps_no_figure() -> None:
    for figure in (
        cumulative_rank_ic_figure(DATES, DAILY_IC),
        decile_returns_figure(np.zeros((3, 10))),
    ):
        png(figure)
    assert pyplot.get_fignums() == []
