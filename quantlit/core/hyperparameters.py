"""Which constructor arguments a LightningModule or LightningDataModule may save as plain values."""

from __future__ import annotations


def unsaveable(*objects: str) -> list[str]:
    """Names to ignore in ``save_hyperparameters``: objects, unless the command line built them.

    LightningCLI hands over the parsed configuration, plain values that rebuild every object, so
    nothing needs to be ignored. Built from Python, the objects themselves would be pickled into the
    checkpoint, which then would not load with ``weights_only=True``.

    Args:
        objects: the constructor arguments that hold objects.
    """
    # Imported here: forecasters use core and know no Lightning.
    from lightning.pytorch.core.mixins.hparams_mixin import _given_hyperparameters

    return [] if _given_hyperparameters.get() is not None else list(objects)
