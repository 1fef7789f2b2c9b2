from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from small_market import DATES, N, T, W, datamodule, day, random_bars

from quantlit.core import (
    CheckpointError,
    ConfigError,
    LookAheadError,
    PanelBatch,
    TimeContinuityError,
)
from quantlit.datamodules import BlockDataset, PanelDataModule
from quantlit.datamodules.assembly import observed_share
from quantlit.features import Imputer, InverseVolatility, LabelSpec
from quantlit.panel import FrameSource
from quantlit.samplers import DateSplit, padding


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> PanelDataModule:
    module = datamodule(random_bars(), tmp_path_factory.mktemp("stores"))
    module.setup("fit")
    return module


def _epoch(module: PanelDataModule, epoch: int = 0) -> list[PanelBatch]:
    loader = module.train_dataloader()
    loader.sampler.set_epoch(epoch)
    device = torch.device("cpu")
    return [module.transfer_batch_to_device(batch, device, 0) for batch in loader]


def test_a_block_is_a_view_of_consecutive_dates_with_its_lookback(data: PanelDataModule) -> None:
    tensors = data.tensors()
    for batch in _epoch(data):
        first = int(batch.dates[0])
        assert batch.dates.tolist() == list(range(first, first + 8))
        assert batch.features.shape == (W + 7, N, len(data.spec["factors"]))
        assert batch.target.shape == (8, N, 2)
        assert batch.valid.shape == batch.weight.shape == (8, N)
        assert batch.stamps.shape == (W + 7, 5)
        assert torch.equal(batch.features, tensors.features[first - W + 1 : first + 8])
        assert batch.features.untyped_storage().data_ptr() == tensors.features.data_ptr()
        assert batch.features.is_contiguous()
        assert torch.isfinite(batch.features).all()


def test_spec_is_plain_and_complete(data: PanelDataModule) -> None:
    spec = data.spec
    assert spec["n_features"] == len(spec["factors"]) == data.tensors().features.shape[2]
    assert (spec["window"], spec["n_assets"], spec["horizons"], spec["delay"]) == (W, N, [1, 3], 1)
    assert spec["symbols"] == [f"S{n:02d}" for n in range(N)]
    assert spec["bars_per_year"] == 252.0


@pytest.mark.parametrize("changes", [{"residency": "device"}, {"num_workers": 2}])
def test_other_ways_to_load_give_the_same_blocks(
    changes: dict[str, object], data: PanelDataModule, tmp_path: Path
) -> None:
    other = datamodule(random_bars(), tmp_path, **changes)
    other.setup("fit")
    if "residency" in changes:
        assert isinstance(next(iter(other.train_dataloader())), torch.Tensor)
    for ours, theirs in zip(_epoch(data, 3), _epoch(other, 3), strict=True):
        for a, b in zip(ours, theirs, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)


def test_evaluation_covers_each_date_of_the_split_once(data: PanelDataModule) -> None:
    for loader, expected in (
        (data.val_dataloader(), data.positions.valid),
        (data.test_dataloader(), data.positions.test),
        (data.predict_dataloader(), data.positions.test),
    ):
        seen = torch.cat([batch.dates for batch in loader if isinstance(batch, PanelBatch)])
        assert seen.tolist() == expected.tolist()
        assert len(loader) == -(-len(expected) // 8)


def test_dates_that_are_not_consecutive_are_named(data: PanelDataModule) -> None:
    dataset = BlockDataset(data.tensors(), dates=data.panel.dates, window=W)
    with pytest.raises(TimeContinuityError, match=f"{day(50)}.*{day(52)}.*TimeContiguousSampler"):
        dataset[[50, 52]]
    with pytest.raises(TimeContinuityError, match=f"lookback of {W} starts at position {W - 1}"):
        dataset[[W - 2, W - 1]]
    with pytest.raises(TimeContinuityError, match="the panel holds bars 0 to 159"):
        dataset[[T - 1, T]]


def test_a_padding_block_is_masked_and_dateless(data: PanelDataModule) -> None:
    batch = data.tensors().block(padding([100, 101]), W)
    assert not batch.valid.any()
    assert batch.dates.tolist() == [-1, -1]
    assert batch.features.shape[0] == W + 1


def test_valid_needs_the_bar_the_universe_and_enough_of_the_window(tmp_path: Path) -> None:
    frame = random_bars(missing=0.0)
    frame["member"] = (frame["symbol"] != "S05").astype(float)
    source = FrameSource(frame, extra=["member"])
    module = datamodule(frame, tmp_path, panel=source, universe="member", min_observed=0.5)
    module.setup("fit")
    valid = module.tensors().valid
    assert not valid[:, 5].any()
    assert valid[59, 3]
    assert not valid[60:76, 3].any()  # suspended
    # back since 76: 5 of the last 10 bars were seen at 80
    assert valid[76:84, 3].tolist() == [False] * 4 + [True] * 4


def test_observed_share_counts_bars_before_the_first_as_not_seen() -> None:
    observed = torch.tensor([[1], [1], [0], [1]], dtype=torch.bool)
    assert observed_share(observed, 2).ravel().tolist() == [0.5, 1.0, 0.5, 0.5]


def test_weights_are_ones_unless_asked_for(data: PanelDataModule, tmp_path: Path) -> None:
    assert data.tensors().weight.eq(1).all()
    weighted = datamodule(random_bars(), tmp_path, weight=InverseVolatility(window=10))
    weighted.setup("fit")
    assert weighted.tensors().weight.std() > 0


def test_evaluation_without_a_fit_is_refused(tmp_path: Path) -> None:
    module = datamodule(random_bars(), tmp_path)
    module.setup("test")
    with pytest.raises(LookAheadError, match="never fitted on train dates: run `quantlit fit`"):
        module.test_dataloader()


def test_state_round_trips_and_setting_up_again_is_no_second_fit(
    data: PanelDataModule, tmp_path: Path
) -> None:
    file = tmp_path / "state.pt"
    torch.save(data.state_dict(), file)
    other = datamodule(random_bars(), tmp_path)
    other.setup("test")
    other.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(other.tensors().features, data.tensors().features)
    other.setup("fit")  # keeps the restored statistics
    assert torch.equal(other.tensors().features, data.tensors().features)


def test_a_checkpoint_of_other_factors_is_refused_and_of_another_panel_warns(
    data: PanelDataModule, tmp_path: Path
) -> None:
    other = datamodule(random_bars(), tmp_path, factors=["price"])
    with pytest.raises(CheckpointError, match="trained on the factors .*, but data.factors gives"):
        other.load_state_dict(data.state_dict())
    elsewhere = datamodule(random_bars(seed=1), tmp_path)
    with pytest.warns(UserWarning, match="scores are those of other data"):
        elsewhere.load_state_dict(data.state_dict())


def test_missing_flags_appear_in_the_spec(tmp_path: Path) -> None:
    module = datamodule(
        random_bars(), tmp_path, factors=["return_1"], transforms=[Imputer(flag=True)]
    )
    assert module.spec["factors"] == ["return_1", "return_1_missing"]


def test_a_store_is_built_once_and_reused(tmp_path: Path) -> None:
    frame = random_bars()
    first = datamodule(frame, tmp_path).panel
    built = first.path.stat().st_mtime_ns
    again = datamodule(frame, tmp_path).panel
    assert again.path == first.path
    assert again.path.stat().st_mtime_ns == built
    assert datamodule(random_bars(seed=2), tmp_path).panel.path != first.path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"window": 0}, "data.window is 0"),
        ({"block": 0}, "data.block 0"),
        ({"min_observed": 1.5}, "data.min_observed is 1.5"),
    ],
)
def test_impossible_settings_are_refused(
    changes: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        datamodule(random_bars(), tmp_path, **changes)


def test_labels_with_a_long_horizon_purge_more(tmp_path: Path) -> None:
    module = datamodule(random_bars(), tmp_path, label=LabelSpec(horizons=[5], delay=1))
    assert module.positions.train[-1] == 89 - 5
    assert pd.Timestamp(module.panel.dates[module.positions.valid[0]]) == DATES[90]
    assert isinstance(module.split, DateSplit)


def test_the_order_follows_the_runs_seed_unless_it_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def order(run_seed: str, **changes: int) -> list[int]:
        monkeypatch.setenv("PL_GLOBAL_SEED", run_seed)
        module = datamodule(random_bars(), tmp_path, **changes)
        module.setup("fit")
        return [int(batch.dates[0]) for batch in _epoch(module)]

    assert order("1") == order("1") != order("2")
    assert order("1", seed=5) == order("2", seed=5)
