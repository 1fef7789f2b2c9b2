"""BlockLoader: blocks one after the other, with next to nothing between them; resumable."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from torch import Tensor
from torch.utils.data import DataLoader

from quantlit.core import PanelBatch, torch_generator
from quantlit.datamodules.dataset import BlockDataset
from quantlit.samplers import EvaluationSampler, Run, TimeContiguousSampler

Block = PanelBatch | Tensor

SLICED_AHEAD = 64
"""Blocks sliced at a time: views take no memory, and slicing is three times as fast in one go as
between steps that have driven it out of the processor's caches."""


class BlockLoader:
    """Iterates over the blocks of a sampler's runs; ``len`` counts batches.

    A block is a slice, so without workers it is handed over in a plain loop: the machinery of a
    ``DataLoader`` would cost more than the block. With workers there is one below. The state is the
    sampler's, at the last block *handed over*, whatever workers have fetched beyond it; it is the
    same with and without workers, so a run may resume with another number of them.

    Lightning calls ``sampler.set_epoch``, and saves and restores this state in its checkpoints.

    Args:
        dataset: answers a run with its block.
        sampler: the runs of this rank.
        num_workers: processes that slice; 0 slices in this one.
        pin_memory: give blocks in page-locked memory, for copies to a GPU beside its work.
    """

    batch_sampler = None
    """Runs are batches already; Lightning asks every loader that has a sampler for this."""

    def __init__(
        self,
        dataset: BlockDataset,
        sampler: TimeContiguousSampler | EvaluationSampler,
        *,
        num_workers: int = 0,
        pin_memory: bool = False,
    ) -> None:
        self.dataset = dataset
        self.sampler = sampler
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self._given = 0

    def __len__(self) -> int:
        """Batches per epoch and rank."""
        return len(self.sampler)

    def __iter__(self) -> Iterator[Block]:
        # The sampler's order and place are read here, not at the first `next`.
        self._given = self.sampler.resume_at
        runs = list(self.sampler)
        return self._counted(self._from_workers(runs) if self.num_workers else self._here(runs))

    def _here(self, runs: list[Run]) -> Iterator[Block]:
        groups = (runs[start : start + SLICED_AHEAD] for start in range(0, len(runs), SLICED_AHEAD))
        blocks = chain.from_iterable([self.dataset[run] for run in group] for group in groups)
        return map(pinned, blocks) if self.pin_memory else blocks

    def _from_workers(self, runs: list[Run]) -> Iterator[Block]:
        loader: DataLoader[Block] = DataLoader(
            self.dataset,
            batch_size=None,
            sampler=runs,
            num_workers=self.num_workers,
            collate_fn=_itself,
            pin_memory=self.pin_memory,
            generator=torch_generator("workers"),  # leaves the run's own generator alone
        )
        return iter(loader)

    def _counted(self, blocks: Iterator[Block]) -> Iterator[Block]:
        for block in blocks:
            self._given += 1
            yield block

    def state_dict(self) -> dict[str, Any]:
        """Epoch and number of blocks handed over: the same on every rank."""
        return {"epoch": self.sampler.epoch, "yielded": self._given}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Let the next iteration continue where another loader stopped.

        An evaluation always starts at its beginning.
        """
        if isinstance(self.sampler, TimeContiguousSampler):
            self.sampler.load_state_dict(state)


def pinned(block: Block) -> Block:
    """A block in page-locked memory."""
    if isinstance(block, Tensor):
        return block.pin_memory()
    return PanelBatch(*(tensor.pin_memory() for tensor in block))


def _itself(block: Any) -> Any:
    """Blocks are batches already."""
    return block
