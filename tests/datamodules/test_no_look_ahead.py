"""The future is poisoned, cut off or taken away; nothing that was known before may change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from small_market import DATES, N, T, W, datamodule, random_bars

from quantlit.core import PanelSpec
from quantlit.datamodules import PanelDataModule, PanelTensors
from quantlit.forecasters import LSTMForecaster

PRICES = ["open", "high", "low", "close", "volume"]
CUTS = [45, 89, 90, 119, 120, 140]  # both sides of each border, and in between
Poison = Callable[[pd.DataFrame, "pd.Series[bool]"], pd.DataFrame]


def _times_a_million(frame: pd.DataFrame, future: pd.Series[bool]) -> pd.DataFrame:
    out = frame.copy()
    out.loc[future, PRICES] *= 1e6
    return out


def _absent(frame: pd.DataFrame, future: pd.Series[bool]) -> pd.DataFrame:
    # keep one asset, so that the calendar stays as it is
    return frame[~future | (frame["symbol"] == "S00")]


def _shuffled(frame: pd.DataFrame, future: pd.Series[bool]) -> pd.DataFrame:
    out = frame.copy()
    order = np.random.default_rng(1).permutation(int(future.sum()))
    out.loc[future, PRICES] = frame.loc[future, PRICES].to_numpy()[order]
    return out


def _fitted(frame: pd.DataFrame, folder: Path, like: PanelDataModule | None) -> PanelTensors:
    data = datamodule(frame, folder)
    if like is None:
        data.setup("fit")
    else:
        data.setup("test")
        data.pipeline.load_state_dict(like.pipeline.state_dict())
    return data.tensors()


def _forecasts(tensors: PanelTensors, last: int) -> torch.Tensor:
    """Forecasts of every date from the first whole window, some blocks of 8 dates in a batch."""
    torch.manual_seed(0)
    spec = datamodule_spec(tensors)
    model = LSTMForecaster(spec, hidden_size=8, num_layers=1).eval()
    out = []
    with torch.no_grad():
        for start in range(W - 1, last, 8):
            run = list(range(start, min(start + 8, T)))
            batch = tensors.block(run, W)
            out.append(model(batch.features, batch.observed, batch.stamps))
    return torch.cat(out)[: last - W + 2]


def datamodule_spec(tensors: PanelTensors) -> PanelSpec:
    return PanelSpec(
        n_features=tensors.features.shape[2],
        window=W,
        n_assets=N,
        horizons=[1, 3],
        delay=1,
        standardise="zscore",
        bars_per_year=252.0,
        factors=[],
        symbols=[],
    )


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> tuple[PanelDataModule, PanelTensors]:
    data = datamodule(random_bars(), tmp_path_factory.mktemp("clean"))
    data.setup("fit")
    return data, data.tensors()


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("poison", [_times_a_million, _absent, _shuffled])
def test_poisoned_future_changes_nothing_before(
    cut: int, poison: Poison, clean: tuple[PanelDataModule, PanelTensors], tmp_path: Path
) -> None:
    data, expected = clean
    frame = random_bars()
    poisoned = poison(frame, frame["date"] > DATES[cut])
    # before the train range ends the fit itself may see the poison, so it is taken as it was
    found = _fitted(poisoned, tmp_path, like=data)
    known = slice(0, cut + 1)
    assert torch.equal(found.features[known], expected.features[known])
    assert torch.equal(found.valid[known], expected.valid[known])
    assert torch.equal(_forecasts(found, cut), _forecasts(expected, cut))
    for column, horizon in enumerate((1, 3)):
        ended = slice(0, cut - 1 - horizon + 1)  # labels with t + delay + horizon <= cut
        torch.testing.assert_close(
            found.target[ended, :, column],
            expected.target[ended, :, column],
            rtol=0,
            atol=0,
            equal_nan=True,
        )
    assert not torch.equal(found.features[cut + 1 :], expected.features[cut + 1 :])


@pytest.mark.parametrize("cut", [90, 119, 140])
def test_what_is_fitted_does_not_see_beyond_train(
    cut: int, clean: tuple[PanelDataModule, PanelTensors], tmp_path: Path
) -> None:
    frame = random_bars()
    poisoned = _times_a_million(frame, frame["date"] > DATES[cut])
    found = _fitted(poisoned, tmp_path, like=None)
    assert torch.equal(found.features[: cut + 1], clean[1].features[: cut + 1])


def test_transforms_are_fitted_on_purged_train_dates(
    clean: tuple[PanelDataModule, PanelTensors],
) -> None:
    data, _ = clean
    train = data.positions.train
    # labels of delay 1 and horizon 3 purge 3 dates before position 90
    assert (train[0], train[-1]) == (W - 1, 86)
    assert data.pipeline.fit_range == (str(DATES[W - 1]), str(DATES[86]))


@pytest.mark.parametrize("cut", [125, 150])
def test_a_panel_cut_off_at_a_date_gives_the_same_up_to_it(
    cut: int, clean: tuple[PanelDataModule, PanelTensors], tmp_path: Path
) -> None:
    frame = random_bars()
    found = _fitted(frame[frame["date"] <= DATES[cut]], tmp_path, like=None)
    assert len(found.features) == cut + 1
    assert torch.equal(found.features, clean[1].features[: cut + 1])
    assert torch.equal(found.valid, clean[1].valid[: cut + 1])


def test_an_asset_that_is_delisted_changes_nothing_before(
    clean: tuple[PanelDataModule, PanelTensors], tmp_path: Path
) -> None:
    frame = random_bars()
    gone = (frame["symbol"] == "S07") & (frame["date"] > DATES[100])
    found = _fitted(frame[~gone], tmp_path, like=None)
    assert torch.equal(found.features[:101], clean[1].features[:101])
    assert not found.valid[101:, 7].any()


def test_a_forecast_does_not_depend_on_the_other_dates_of_its_batch(
    clean: tuple[PanelDataModule, PanelTensors],
) -> None:
    tensors = clean[1]
    torch.manual_seed(0)
    model = LSTMForecaster(datamodule_spec(tensors), hidden_size=8, num_layers=1).eval()
    together = tensors.block(list(range(100, 108)), W)
    alone = tensors.block([103], W)
    with torch.no_grad():
        in_batch = model(together.features, together.observed, together.stamps)[3]
        by_itself = model(alone.features, alone.observed, alone.stamps)[0]
    torch.testing.assert_close(in_batch, by_itself, atol=1e-6, rtol=1e-5)


def test_no_forecast_has_a_gradient_from_a_later_bar(
    clean: tuple[PanelDataModule, PanelTensors],
) -> None:
    tensors = clean[1]
    model = LSTMForecaster(datamodule_spec(tensors), hidden_size=8, num_layers=1).train()
    batch = tensors.block(list(range(100, 108)), W)
    features = batch.features.clone().requires_grad_()
    out = model(features, batch.observed, batch.stamps)
    for date in range(8):
        (gradient,) = torch.autograd.grad(out[date].sum(), features, retain_graph=True)
        later = gradient[date + W :]
        assert later.numel() == 0 or float(later.abs().max()) == 0.0


def test_the_mask_never_looks_at_the_label(
    clean: tuple[PanelDataModule, PanelTensors],
) -> None:
    tensors = clean[1]
    assert torch.isnan(tensors.target[-1]).all()
    assert tensors.valid[-1].any()
