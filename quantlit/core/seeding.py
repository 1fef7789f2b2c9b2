"""Owned random generators, derived from (seed, epoch, rank, ...) and nothing else."""

from __future__ import annotations

import hashlib
import os

import numpy as np
import torch


def derive_seed(*parts: int | str) -> int:
    """A 63-bit seed that depends on every part and on their order.

    >>> derive_seed(1, 2) == derive_seed(1, 2)
    True
    >>> derive_seed(1, 2) == derive_seed(2, 1)
    False
    """
    digest = hashlib.sha256("/".join(str(part) for part in parts).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def torch_generator(*parts: int | str) -> torch.Generator:
    """A CPU ``torch.Generator`` seeded from the parts, e.g. ``(seed, epoch, rank)``."""
    return torch.Generator().manual_seed(derive_seed(*parts))


def numpy_generator(*parts: int | str) -> np.random.Generator:
    """A ``numpy.random.Generator`` seeded from the parts."""
    return np.random.default_rng(derive_seed(*parts))


def run_seed() -> int:
    """The seed given to Lightning's ``seed_everything``; 0 where there was none."""
    return int(os.environ.get("PL_GLOBAL_SEED", "0"))
