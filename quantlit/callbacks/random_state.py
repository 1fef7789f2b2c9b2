"""RandomState: random generators travel in the checkpoint, so that a resumed run draws the same."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from lightning import Callback, LightningModule, Trainer
from typing_extensions import override

from quantlit.core import current_world


class RandomState(Callback):
    """Saves the state of torch, CUDA, NumPy and Python generators of every rank.

    States are stored as tensors, lists and numbers, which load with ``weights_only=True``. They are
    restored when training starts; with fewer or more processes than before, ranks that have no
    saved state keep their own.
    """

    def __init__(self) -> None:
        self._restored: list[dict[str, Any]] | None = None

    @override
    def state_dict(self) -> dict[str, Any]:
        state = _generator_states()
        world = current_world()
        if world.size == 1:
            return {"ranks": [state]}
        gathered: list[Any] = [None] * world.size
        dist.all_gather_object(gathered, state)
        return {"ranks": gathered}

    @override
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._restored = state_dict["ranks"]

    @override
    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self._restored is None:
            return
        if trainer.global_rank < len(self._restored):
            _restore_generators(self._restored[trainer.global_rank])
        self._restored = None


def _generator_states() -> dict[str, Any]:
    name, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)
    version, internal, gauss_next = random.getstate()
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "numpy": [str(name), torch.from_numpy(np.asarray(keys, dtype=np.int64)), int(position)],
        "numpy_gauss": [int(has_gauss), float(gauss)],
        "python": [version, list(internal), gauss_next],
    }


def _restore_generators(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["torch"])
    if torch.cuda.is_available() and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])
    name, keys, position = state["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), position, *state["numpy_gauss"]))
    version, internal, gauss_next = state["python"]
    random.setstate((version, tuple(internal), gauss_next))
