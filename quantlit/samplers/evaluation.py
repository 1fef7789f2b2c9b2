"""EvaluationSampler: every date exactly once over all ranks, in time order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from torch.utils.data import Sampler

from quantlit.core import World, current_world
from quantlit.samplers.runs import Run, padding, segments


class EvaluationSampler(Sampler[Run]):
    """Yields each date once: rank ``r`` of ``R`` takes blocks ``r, r + R, ...``.

    The last block of a segment may be short. A rank that has run out of blocks gets a padding run
    (see :func:`quantlit.samplers.runs.padding`), so that all ranks make the same number of steps.

    Args:
        positions: ascending calendar positions; gaps are never spanned.
        block: the largest number of dates in a block.
        world: rank and number of processes; by default those of torch.distributed.

    Attributes:
        epoch: always 0, one order for all.
        resume_at: always 0, an evaluation starts at its beginning.
    """

    epoch = 0
    resume_at = 0

    def __init__(
        self,
        positions: Sequence[int] | npt.NDArray[np.int64],
        *,
        block: int,
        world: World | None = None,
    ) -> None:
        world = world or current_world()
        blocks: list[Run] = [
            range(start, min(start + block, int(part[-1]) + 1))
            for part in segments(positions)
            for start in range(int(part[0]), int(part[-1]) + 1, block)
        ]
        missing = -len(blocks) % world.size
        self._runs = (blocks + [padding(blocks[-1])] * missing)[world.rank :: world.size]

    def set_epoch(self, epoch: int) -> None:
        """Nothing changes with the epoch."""

    def __len__(self) -> int:
        """Batches of this rank, the same on every rank."""
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)
