from __future__ import annotations

import io
import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from quantlit.callbacks import RandomState


def _draws() -> tuple[float, float, float]:
    return torch.rand(1).item(), float(np.random.rand()), random.random()


def test_every_generator_continues_where_the_checkpoint_was_taken() -> None:
    torch.manual_seed(1)
    np.random.seed(2)
    random.seed(3)
    _draws()
    file = io.BytesIO()
    torch.save(RandomState().state_dict(), file)
    expected = _draws()

    _draws()
    file.seek(0)
    restored = RandomState()
    restored.load_state_dict(torch.load(file, weights_only=True))
    trainer: Any = SimpleNamespace(global_rank=0)
    restored.on_train_start(trainer, trainer)
    assert _draws() == expected
    # a second start, e.g. another fit, does not rewind the generators again
    restored.on_train_start(trainer, trainer)
    assert _draws() != expected


def test_a_rank_without_a_saved_state_keeps_its_own() -> None:
    restored = RandomState()
    restored.load_state_dict(RandomState().state_dict())
    torch.manual_seed(7)
    expected = _draws()[0]
    torch.manual_seed(7)
    trainer: Any = SimpleNamespace(global_rank=1)
    restored.on_train_start(trainer, trainer)
    assert _draws()[0] == expected
