"""All scores in one metric: the single metrics' numbers, with one ranking per block."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch
from random_market import make_market
from torchmetrics import MetricCollection

from quantlit.functional import rank_correlation
from quantlit.metrics import (
    ICIR,
    CrossSectionScores,
    HitRate,
    InformationCoefficient,
    LongShort,
    NeweyWestT,
    QuantileReturns,
    RankICIR,
    RankInformationCoefficient,
    RankNeweyWestT,
    summarise,
)


def single_metrics(horizon: int = 1) -> MetricCollection:
    return MetricCollection(
        {
            "ic": InformationCoefficient(),
            "icir": ICIR(),
            "ic_nw_t": NeweyWestT(horizon=horizon),
            "rank_ic": RankInformationCoefficient(),
            "rank_icir": RankICIR(),
            "rank_ic_nw_t": RankNeweyWestT(horizon=horizon),
            "hit_rate": HitRate(),
            "long_short": LongShort(),
        }
    )


@pytest.mark.parametrize("horizon", [1, 12])
def test_equals_the_single_metrics(horizon: int) -> None:
    scores, singles = CrossSectionScores(horizon=horizon), single_metrics(horizon)
    for seed in (0, 1):  # the second pass after a reset, with the collection's groups formed
        forecast, label, mask, dates = make_market(seed=seed)
        label[3] = torch.nan
        for block in torch.split(torch.arange(30), 8):
            for metric in (scores, singles):
                metric.update(forecast[block], label[block], mask[block], dates[block])
        together, alone = scores.compute(), singles.compute()
        assert together.pop("dates_used") == 29
        assert together.keys() == alone.keys()
        for name, value in alone.items():
            assert torch.equal(together[name], value), name
        scores.reset()
        singles.reset()


def test_a_collection_shares_the_states_of_equal_kernels() -> None:
    singles = single_metrics()
    singles.update(*make_market())
    groups = {frozenset(group) for group in singles.compute_groups.values()}
    assert groups == {
        frozenset({"ic", "icir", "ic_nw_t"}),
        frozenset({"rank_ic", "rank_icir", "rank_ic_nw_t"}),
        frozenset({"hit_rate"}),
        frozenset({"long_short"}),
    }


def test_kernels_with_equal_first_values_are_not_merged() -> None:
    generator = torch.Generator().manual_seed(0)
    forecast = torch.randn(3, 40, generator=generator)
    mask = torch.ones_like(forecast, dtype=torch.bool)
    singles = single_metrics()
    singles.update(forecast, forecast, mask, torch.arange(3))  # IC = rank IC = hit rate = 1
    label = forecast.exp()
    singles.update(forecast, label, mask, torch.arange(3, 6))
    scores = singles.compute()
    assert scores["rank_ic"] == pytest.approx(1.0)
    assert scores["ic"] < 0.95


def test_ranks_once_per_block(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(*args: Any) -> Any:
        calls.append(1)
        return rank_correlation(*args)

    monkeypatch.setattr("quantlit.metrics.correlation.rank_correlation", counted)
    scores = CrossSectionScores()
    scores.update(*make_market())
    scores.compute()
    assert len(calls) == 1


def test_series_are_the_numbers_behind_the_scores() -> None:
    market = make_market()
    scores, quantiles = CrossSectionScores(), QuantileReturns()
    for metric in (scores, quantiles):
        metric.update(*market)
    series = scores.series()
    assert series.dates.tolist() == market.dates.tolist()
    torch.testing.assert_close(series.rank_ic.mean(), scores.compute()["rank_ic"])
    torch.testing.assert_close(series.deciles.mean(dim=0), quantiles.compute())
    early = summarise(series._replace(**{f: getattr(series, f)[:10] for f in series._fields}))
    assert early["dates_used"] == 10


def test_min_assets_is_told_by_dates_used() -> None:
    forecast, label, mask, dates = make_market()
    mask[:4] &= torch.arange(60) < 12
    scores = CrossSectionScores(min_assets=20)
    scores.update(forecast, label, mask, dates)
    assert scores.compute()["dates_used"] == 26


def test_fewer_assets_than_deciles_leave_the_ic() -> None:
    forecast, label, mask, dates = make_market()
    scores = CrossSectionScores()
    scores.update(forecast, label, mask & (torch.arange(60) < 9), dates)
    values = scores.compute()
    assert torch.isfinite(values["rank_ic"])
    assert torch.isnan(values["long_short"])


def test_moves_with_its_module_and_keeps_float64() -> None:
    module = torch.nn.ModuleDict({"scores": CrossSectionScores()}).to(torch.bfloat16)
    scores = module["scores"]
    assert isinstance(scores, CrossSectionScores)
    scores.update(*make_market())
    assert scores.compute()["rank_icir"].dtype == torch.float64


def test_survives_pickling_and_copies() -> None:
    market = make_market()
    original = CrossSectionScores(horizon=5)
    original.update(*market)
    for copied in (pickle.loads(pickle.dumps(original)), copy.deepcopy(original)):
        assert copied.compute()["ic_nw_t"] == original.compute()["ic_nw_t"]
        copied.reset()
        copied.update(*market)
        assert copied.compute()["long_short"] == original.compute()["long_short"]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_device_gives_the_same_numbers() -> None:
    market = make_market()
    host, device = CrossSectionScores(), CrossSectionScores().to("cuda")
    host.update(*market)
    device.update(*(tensor.cuda() for tensor in market))
    for name, value in device.compute().items():
        assert value.is_cuda
        torch.testing.assert_close(value.cpu(), host.compute()[name], rtol=1e-10, atol=1e-12)
