"""Refusing to let Lightning wrap a sampler that shares the dates among processes itself."""

from __future__ import annotations

from lightning import Trainer

from quantlit.core import ConfigError


def refuse_wrapped_samplers(trainer: Trainer | None) -> None:
    """Raise if several processes would each get a sampler of Lightning's around ours.

    Raises:
        ConfigError: if ``use_distributed_sampler`` is on and there is more than one process.
    """
    if trainer is None or trainer.world_size == 1:
        return
    if trainer._accelerator_connector.use_distributed_sampler:
        raise ConfigError(
            "trainer.use_distributed_sampler is true: Lightning would wrap our sampler, and "
            f"the {trainer.world_size} processes would see some dates twice and others never. "
            "Set it to false; the samplers share whole blocks among the processes themselves."
        )
