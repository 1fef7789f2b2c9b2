"""Rank and world size, whether or not torch.distributed is running."""

from __future__ import annotations

from typing import NamedTuple

import torch.distributed as dist


class World(NamedTuple):
    """This process's rank and the number of processes."""

    rank: int
    size: int


def current_world() -> World:
    """Rank and size of the default process group; ``World(0, 1)`` where there is none.

    >>> current_world()
    World(rank=0, size=1)
    """
    if dist.is_available() and dist.is_initialized():
        return World(dist.get_rank(), dist.get_world_size())
    return World(0, 1)
