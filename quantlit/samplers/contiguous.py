"""TimeContiguousSampler: training blocks of D consecutive dates, in a seeded, resumable order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from torch.utils.data import Sampler

from quantlit.core import ConfigError, World, current_world, numpy_generator
from quantlit.samplers.runs import Run, segments

Order = Literal["sequential", "block_shuffled"]


class TimeContiguousSampler(Sampler[Run]):
    """Yields runs of exactly ``block`` consecutive date positions for training.

    Each epoch lays a grid of blocks over the dates at a random phase, so that block borders move
    from epoch to epoch, and drops the remainder. The order is a pure function of (seed, epoch), the
    same on all ranks; rank ``r`` of ``R`` takes blocks ``r, r + R, ...`` and all ranks take equally
    many. ``len`` is the number of batches of one rank and does not depend on the phase.

    Give it to a loader as ``sampler`` with ``batch_size=None``: as a ``batch_sampler`` Lightning
    would never call its ``set_epoch``.

    Args:
        positions: ascending calendar positions of the training dates; gaps are never spanned.
        block: D, dates in a block.
        order: ``sequential`` keeps blocks in time order, for models that carry state across blocks;
            ``block_shuffled`` shuffles whole blocks (dates inside a block stay consecutive).
        seed: seeds the phase and the order, with the epoch.
        world: rank and number of processes; by default those of torch.distributed.

    Attributes:
        epoch: whose order the next iteration follows.
        resume_at: batches that the next iteration, and it alone, leaves out at its start.

    Raises:
        ConfigError: if there are not enough consecutive dates for one block per rank.
    """

    def __init__(
        self,
        positions: Sequence[int] | npt.NDArray[np.int64],
        *,
        block: int,
        order: Order = "block_shuffled",
        seed: int = 0,
        world: World | None = None,
    ) -> None:
        if block < 1:
            raise ConfigError(f"block is {block}; a batch needs at least 1 date.")
        self.block = block
        self.order = order
        self.seed = seed
        self.epoch = 0
        self._segments = segments(positions)
        self._world = world or current_world()
        self._length = sum(self._blocks_in(part) for part in self._segments) // self._world.size
        if self._length == 0:
            longest = max((len(part) for part in self._segments), default=0)
            raise ConfigError(
                f"No block of {block} consecutive dates fits for each of {self._world.size} "
                f"process(es): the longest run of training dates has {longest}. "
                "Lower data.block or widen split.train."
            )
        self.resume_at = 0

    def _blocks_in(self, part: npt.NDArray[np.int64]) -> int:
        """Blocks that fit whatever the phase; a segment too short to shift keeps phase 0."""
        return max((len(part) - self.block + 1) // self.block, min(1, len(part) // self.block))

    def __len__(self) -> int:
        """Batches per epoch and rank."""
        return self._length

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose order the next iteration follows (Lightning calls this)."""
        self.epoch = epoch

    def runs(self, epoch: int) -> list[Run]:
        """All blocks of an epoch for this rank, in order."""
        rng = numpy_generator(self.seed, epoch, "phase")
        blocks: list[Run] = []
        for part in self._segments:
            count = self._blocks_in(part)
            slack = len(part) - count * self.block
            phase = int(rng.integers(0, min(self.block - 1, slack) + 1)) if count else 0
            fitting = (len(part) - phase) // self.block
            skip = int(rng.integers(0, fitting - count + 1)) if fitting > count else 0
            first = int(part[0]) + phase + skip * self.block
            starts = range(first, first + count * self.block, self.block)
            blocks += [range(start, start + self.block) for start in starts]
        if self.order == "block_shuffled":
            rng.shuffle(blocks)
        kept = blocks[: self._length * self._world.size]
        return kept[self._world.rank :: self._world.size]

    def __iter__(self) -> Iterator[Run]:
        # Read here, not at the first `next`, and once: the epoch after a resumed one is whole.
        start, self.resume_at = self.resume_at, 0
        return iter(self.runs(self.epoch)[start:])

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Let the next iteration continue where a loader of the same settings stopped.

        A finished epoch continues at the start of the next one.

        Args:
            state: ``epoch``, and ``yielded``, the batches of it that were handed over.
        """
        self.epoch, position = int(state["epoch"]), int(state["yielded"])
        if position >= self._length:
            self.epoch, position = self.epoch + 1, 0
        self.resume_at = position
