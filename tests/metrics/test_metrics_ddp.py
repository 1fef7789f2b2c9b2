"""Two gloo processes with sharded dates give exactly the result of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.multiprocessing.spawn import spawn

from quantlit.core import DataError
from quantlit.metrics import CrossSectionScores, RankICIR

N_DATES = (1, 5, 8, 37)  # rank 1 without a date; uneven; even; short last block
BLOCK = 4

Block = tuple[torch.Tensor, ...]


def blocks_of(n_dates: int) -> list[Block]:
    generator = torch.Generator().manual_seed(n_dates)
    label = torch.randn(n_dates, 40, generator=generator)
    forecast = label + 3 * torch.randn(n_dates, 40, generator=generator)
    mask = torch.rand(n_dates, 40, generator=generator) < 0.8
    mask[n_dates // 2, 3:] = False  # a date that does not count
    parts = (forecast, label, mask, torch.arange(n_dates))
    return list(zip(*(torch.split(part, BLOCK) for part in parts), strict=True))


def padding() -> Block:
    zeros = torch.zeros(BLOCK, 40)
    return zeros, zeros, zeros.bool(), torch.full((BLOCK,), -1)


def work(rank: int, folder: Path) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{folder / 'store'}", rank=rank, world_size=2)
    results: list[Any] = []
    for n_dates in N_DATES:
        blocks = blocks_of(n_dates)
        metric, icir = CrossSectionScores(), RankICIR()
        mine = blocks[rank::2]
        if len(mine) < len(blocks[::2]):
            mine.append(padding())
        for block in mine:
            metric.update(*block)
            icir.update(*block)
        series = metric.series()  # a collective in the middle loses nothing
        results.append((metric.compute(), icir.compute(), tuple(series)))
    lonely = RankICIR()  # rank 1 never updates
    for block in blocks_of(5):
        if rank == 0:
            lonely.update(*block)
    results.append(lonely.series().values)
    results.append(_disagreement(rank))
    torch.save(results, folder / f"rank{rank}.pt")
    dist.destroy_process_group()


def _disagreement(rank: int) -> str:
    """Both ranks score the same dates: as they are, then with a different forecast on rank 1."""
    forecast, label, mask, dates = blocks_of(5)[0]
    metric = CrossSectionScores()
    metric.update(forecast, label, mask, dates)
    if metric.compute()["dates_used"] != int((mask.sum(dim=1) >= 5).sum()):
        return "an agreeing repeat was not counted once"
    metric.reset()
    metric.update(-forecast if rank else forecast, label, mask, dates)
    try:
        metric.compute()
    except DataError as error:
        return str(error)
    return "not refused"


@pytest.mark.ddp
def test_two_processes_equal_one(tmp_path: Path) -> None:
    spawn(work, (tmp_path,), nprocs=2)  # type: ignore[no-untyped-call]
    ranks = [torch.load(tmp_path / f"rank{rank}.pt", weights_only=True) for rank in (0, 1)]
    for index, n_dates in enumerate(N_DATES):
        metric, icir = CrossSectionScores(), RankICIR()
        for block in blocks_of(n_dates):
            metric.update(*block)
            icir.update(*block)
        for scores, ratio, series in (rank[index] for rank in ranks):
            for name, value in metric.compute().items():
                torch.testing.assert_close(scores[name], value, rtol=0, atol=0, equal_nan=True)
            torch.testing.assert_close(ratio, icir.compute(), rtol=0, atol=0, equal_nan=True)
            for ours, theirs in zip(metric.series(), series, strict=True):
                torch.testing.assert_close(ours, theirs, rtol=0, atol=0, equal_nan=True)
    alone = RankICIR()
    for block in blocks_of(5):
        alone.update(*block)
    for rank in ranks:
        assert torch.equal(rank[-2][:2], alone.series().values[:2])
        assert rank[-2].shape == (5,)
        assert rank[-1].startswith("Date position 0 was scored twice with different results")
