from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from quantlit.core import PanelBatch, World
from quantlit.datamodules.dataset import BlockDataset, PanelTensors
from quantlit.datamodules.loader import BlockLoader
from quantlit.samplers import EvaluationSampler, TimeContiguousSampler

DATES, ASSETS, WINDOW = 120, 3, 5
ONE = World(0, 1)


def tensors() -> PanelTensors:
    cells = torch.arange(DATES * ASSETS, dtype=torch.float32).reshape(DATES, ASSETS)
    known = torch.ones(DATES, ASSETS, dtype=torch.bool)
    return PanelTensors(
        features=cells.unsqueeze(-1).clone(),
        observed=known,
        target=cells.unsqueeze(-1).clone(),
        valid=known,
        weight=torch.ones(DATES, ASSETS),
        stamps=torch.zeros(DATES, 5, dtype=torch.int64),
        dates=torch.arange(DATES),
        assets=torch.arange(ASSETS),
    )


def sampler() -> TimeContiguousSampler:
    return TimeContiguousSampler(range(WINDOW, DATES), block=8, world=ONE)


def loader(workers: int = 0, resident: bool = False, pin_memory: bool = False) -> BlockLoader:
    calendar = np.arange("2020-01-01", DATES, dtype="datetime64[D]")
    dataset = BlockDataset(tensors(), dates=calendar, window=WINDOW, resident=resident)
    return BlockLoader(dataset, sampler(), num_workers=workers, pin_memory=pin_memory)


def expected(epoch: int) -> list[list[int]]:
    return [list(run) for run in sampler().runs(epoch)]


def dates(block: PanelBatch | Tensor) -> list[int]:
    found: list[int] = (block if isinstance(block, Tensor) else block.dates).tolist()
    return found


@pytest.mark.parametrize("before", [0, 2])
@pytest.mark.parametrize("after", [0, 2])
def test_a_loader_resumes_at_the_next_block_with_any_number_of_workers(
    before: int, after: int
) -> None:
    first = loader(before)
    first.sampler.set_epoch(2)
    iterator = iter(first)
    head = [dates(next(iterator)) for _ in range(4)]
    state = first.state_dict()
    assert state == {"epoch": 2, "yielded": 4}  # not what workers have fetched beyond
    resumed = loader(after)
    resumed.load_state_dict(state)
    assert head + [dates(block) for block in resumed] == expected(2)
    # consumed once: the next epoch is whole again
    resumed.sampler.set_epoch(3)
    assert [dates(block) for block in resumed] == expected(3)
    assert resumed.state_dict() == {"epoch": 3, "yielded": len(resumed)}


def test_a_state_counts_from_the_epochs_start_after_a_resume() -> None:
    resumed = loader()
    resumed.load_state_dict({"epoch": 1, "yielded": 5})
    iterator = iter(resumed)
    next(iterator)
    assert resumed.state_dict() == {"epoch": 1, "yielded": 6}


def test_blocks_are_views_of_the_panel() -> None:
    first = loader()
    block = next(iter(first))
    assert isinstance(block, PanelBatch)
    whole = first.dataset.tensors.features
    assert block.features.untyped_storage().data_ptr() == whole.untyped_storage().data_ptr()


def test_a_resident_panel_needs_positions_alone() -> None:
    assert [dates(block) for block in loader(resident=True)] == expected(0)


def test_an_evaluation_starts_at_its_beginning() -> None:
    calendar = np.arange("2020-01-01", DATES, dtype="datetime64[D]")
    dataset = BlockDataset(tensors(), dates=calendar, window=WINDOW)
    evaluation = BlockLoader(dataset, EvaluationSampler(range(10, 50), block=16, world=ONE))
    evaluation.load_state_dict({"epoch": 0, "yielded": 1})
    assert [len(dates(block)) for block in evaluation] == [16, 16, 8]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("workers", [0, 2])
def test_blocks_are_pinned_for_a_gpu(workers: int) -> None:
    for block in loader(workers, pin_memory=True):
        assert isinstance(block, PanelBatch)
        assert all(tensor.is_pinned() for tensor in block)
