"""Merging rows by date, and the state and edges of per-date metrics."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_market import make_market
from torch import Tensor

from quantlit.core import ConfigError, DataError
from quantlit.metrics import CrossSectionScores, InformationCoefficient, RankInformationCoefficient
from quantlit.metrics.rows import merge_rows


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


@given(st.permutations(range(6)), st.lists(st.integers(0, 5), max_size=4))
@settings(max_examples=30, deadline=None)
def test_order_and_agreeing_repeats_do_not_matter(order: list[int], again: list[int]) -> None:
    rows = torch.tensor([[10.0 + i, 50 + i, i / 7, -i / 3] for i in range(6)]).double()
    rows[2, 3] = torch.nan
    padding = torch.full((1, 4), torch.nan).double()
    padding[0, 0] = -1
    table = merge_rows(torch.cat([padding, rows[[*order, *again]]]), ("a", "b"))
    assert table.dates.tolist() == [10, 11, 12, 13, 14, 15]
    assert table.counts.tolist() == [50, 51, 52, 53, 54, 55]
    torch.testing.assert_close(table.values, rows[:, 2:], rtol=0, atol=0, equal_nan=True)


def test_a_repeat_that_disagrees_is_refused() -> None:
    rows = torch.tensor([[7, 50, 0.1, 0.2], [3, 50, 0.5, 0.1], [7, 50, 0.1, 0.25]]).double()
    message = "Date position 7 was scored twice with different results (rank_ic 0.2 and 0.25)"
    with pytest.raises(DataError, match=re.escape(message)) as error:
        merge_rows(rows, ("ic", "rank_ic"))
    assert "use_distributed_sampler: false" in str(error.value)
    assert "reset()" in str(error.value)


def test_a_split_cross_section_is_refused() -> None:
    forecast, label, mask, dates = make_market(n_dates=4)
    metric = CrossSectionScores()
    metric.update(forecast[:, :30], label[:, :30], mask[:, :30], dates)
    metric.update(forecast[:, 30:], label[:, 30:], mask[:, 30:], dates)
    with pytest.raises(DataError, match="Date position 100 was scored twice"):
        metric.compute()


def test_a_nan_does_not_agree_with_a_number() -> None:
    rows = torch.tensor([[7, 50, 0.1], [7, 50, torch.nan]]).double()
    with pytest.raises(DataError, match=r"ic 0\.1 and nan"):
        merge_rows(rows, ("ic",))


def test_blocks_padding_and_order_leave_every_bit() -> None:
    forecast, label, mask, dates = make_market(n_dates=30)
    whole, parts = CrossSectionScores(), CrossSectionScores()
    whole.update(forecast, label, mask, dates)
    order = torch.randperm(30, generator=torch.Generator().manual_seed(0))
    for block in torch.split(order, 7):
        parts.update(forecast[block], label[block], mask[block], dates[block])
        parts.update(forecast[:3], label[:3], torch.zeros_like(mask[:3]), torch.full((3,), -1))
    assert same(whole.compute(), parts.compute())


def test_reset_starts_anew() -> None:
    first, second = make_market(seed=1), make_market(seed=2)
    metric, fresh = CrossSectionScores(), CrossSectionScores()
    metric.update(*first)
    metric.compute()
    metric.reset()
    metric.update(*second)
    fresh.update(*second)
    assert same(metric.compute(), fresh.compute())


def test_only_padding_gives_nan_and_no_date() -> None:
    metric = CrossSectionScores()
    zeros = torch.zeros(3, 20)
    metric.update(zeros, zeros, zeros.bool(), torch.full((3,), -1))
    scores = metric.compute()
    assert scores.pop("dates_used") == 0
    assert all(torch.isnan(value) for value in scores.values())
    assert metric.series().deciles.shape == (0, 10)


def test_nonfinite_forecasts_are_left_out() -> None:
    forecast, label, mask, dates = make_market(n_dates=2)
    broken = forecast.clone()
    broken[0, :4], broken[1, 7] = torch.nan, torch.inf
    metric, expected = RankInformationCoefficient(), RankInformationCoefficient()
    metric.update(broken, label, mask, dates)
    expected.update(forecast, label, mask & broken.isfinite(), dates)
    assert torch.equal(metric.series().values, expected.series().values)
    assert torch.equal(metric.series().counts, (mask & label.isfinite() & broken.isfinite()).sum(1))


@pytest.mark.parametrize(
    ("cut", "what"),
    [
        (lambda f, y, m, d: (f[..., None], y, m, d), "[30, 60, 1]"),
        (lambda f, y, m, d: (f, y[:, 1:], m, d), "[30, 59]"),
        (lambda f, y, m, d: (f, y, m.float(), d), "torch.float32"),
        (lambda f, y, m, d: (f, y, m, d[1:]), "[29]"),
    ],
)
def test_wrong_shapes_are_refused(cut: Callable[..., Any], what: str) -> None:
    with pytest.raises(ValueError, match=re.escape(what)):
        CrossSectionScores().update(*cut(*make_market()))


def test_settings_must_be_positive() -> None:
    with pytest.raises(ConfigError, match="must be 1 or more, not 0 and 1"):
        InformationCoefficient(min_assets=0)


def test_an_unknown_column_is_named() -> None:
    metric = InformationCoefficient()
    metric.update(*make_market())
    with pytest.raises(KeyError, match="No column 'rank_ic'; there are ic"):
        metric.per_date().series("rank_ic")
