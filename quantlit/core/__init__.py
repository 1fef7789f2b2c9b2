"""Shared types: batches, specs, errors, rank helpers and seeded generators."""

from quantlit.core.batch import PanelBatch
from quantlit.core.disk import check_space
from quantlit.core.distributed import World, current_world
from quantlit.core.errors import (
    CheckpointError,
    ConfigError,
    DataError,
    LookAheadError,
    PanelError,
    QuantlitError,
    TimeContinuityError,
)
from quantlit.core.hashing import file_sha256
from quantlit.core.hyperparameters import unsaveable
from quantlit.core.seeding import derive_seed, numpy_generator, run_seed, torch_generator
from quantlit.core.spec import PanelSpec

__all__ = [
    "CheckpointError",
    "ConfigError",
    "DataError",
    "LookAheadError",
    "PanelBatch",
    "PanelError",
    "PanelSpec",
    "QuantlitError",
    "TimeContinuityError",
    "World",
    "check_space",
    "current_world",
    "derive_seed",
    "file_sha256",
    "numpy_generator",
    "run_seed",
    "torch_generator",
    "unsaveable",
]
