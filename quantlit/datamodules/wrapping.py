"""Refusing to let Lightning put a sampler of its own around, or in the place of, ours."""

from __future__ import annotations

from lightning import Trainer

from quantlit.core import ConfigError


def refuse_wrapped_samplers(trainer: Trainer | None) -> None:
    """Raise if Lightning would wrap or replace our sampler.

    Raises:
        ConfigError: if ``overfit_batches`` is on, or ``use_distributed_sampler`` with more than one
            process.
    """
    if trainer is None:
        return
    overfit = getattr(trainer, "overfit_batches", 0.0)  # Lightning does not declare it
    if overfit > 0:
        raise ConfigError(
            f"trainer.overfit_batches is {overfit}: Lightning's "
            "trainer.overfit_batches puts another sampler in the place of ours. "
            "Use trainer.limit_train_batches and data.order: sequential."
        )
    if trainer.world_size > 1 and trainer._accelerator_connector.use_distributed_sampler:
        raise ConfigError(
            "trainer.use_distributed_sampler is true: Lightning would wrap our sampler, and "
            f"the {trainer.world_size} processes would see some dates twice and others never. "
            "Set it to false; the samplers share whole blocks among the processes themselves."
        )
