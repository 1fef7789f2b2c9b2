"""Learning-rate schedules over a budget of optimizer steps that the task fills in.

A schedule is built like any torch scheduler, from the optimizer alone. ``ForecastTask`` then calls
``set_total_steps`` with the Trainer's own count of optimizer steps, which respects gradient
accumulation, the number of processes, ``max_epochs`` and ``max_steps``.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from quantlit.core import ConfigError


class BudgetScheduler(LRScheduler):
    """A schedule that is a function of the share of the step budget that is used up.

    Args:
        optimizer: its learning rates at construction are the peak rates.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.total_steps: int | None = None
        super().__init__(optimizer)

    @abstractmethod
    def factor(self, step: int, total: int) -> float:
        """Multiplier of the peak learning rate at optimizer step ``step`` of ``total``."""

    def set_total_steps(self, total: int) -> None:
        """Set the budget and apply the first step's learning rate.

        Raises:
            ConfigError: if the budget is not positive (an unlimited run has no schedule).
        """
        if total < 1:
            raise ConfigError(
                f"{type(self).__name__} needs a number of optimizer steps, got {total}: "
                "set trainer.max_epochs or trainer.max_steps."
            )
        self.total_steps = total
        for group, rate in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
            group["lr"] = rate
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def get_lr(self) -> list[Any]:
        """Learning rate of each parameter group at the present step."""
        if self.total_steps is None:
            return list(self.base_lrs)
        factor = self.factor(min(self.last_epoch, self.total_steps), self.total_steps)
        return [base * factor for base in self.base_lrs]

    def state_dict(self) -> dict[str, Any]:
        """State without the budget: a resumed run follows its own Trainer's count."""
        state = super().state_dict()
        state.pop("total_steps", None)
        return state


def _warm_up(step: int, warmup_steps: int) -> float:
    return (step + 1) / (warmup_steps + 1) if step < warmup_steps else 1.0


class LinearWarmup(BudgetScheduler):
    """Linear rise over the first share of the steps, constant after it.

    Args:
        optimizer: gives the peak learning rates.
        fraction: share of all steps that warms up.
    """

    def __init__(self, optimizer: Optimizer, *, fraction: float = 0.1) -> None:
        self.fraction = fraction
        super().__init__(optimizer)

    def factor(self, step: int, total: int) -> float:
        """``(step + 1) / (warmup + 1)``, then 1."""
        return _warm_up(step, round(self.fraction * total))


class WarmupCosine(LinearWarmup):
    """Linear warm-up, then half a cosine down to a share of the peak (Loshchilov, Hutter 2017).

    Args:
        optimizer: gives the peak learning rates.
        fraction: share of all steps that warms up.
        final: learning rate at the last step, as a share of the peak.
    """

    def __init__(self, optimizer: Optimizer, *, fraction: float = 0.1, final: float = 0.0) -> None:
        self.final = final
        super().__init__(optimizer, fraction=fraction)

    def factor(self, step: int, total: int) -> float:
        """Warm-up factor, then ``final + (1 - final) * (1 + cos(pi * progress)) / 2``."""
        warmup = round(self.fraction * total)
        if step < warmup:
            return _warm_up(step, warmup)
        progress = (step - warmup) / max(1, total - warmup)
        return self.final + (1 - self.final) * (1 + math.cos(math.pi * progress)) / 2


class OneCycle(BudgetScheduler):
    """Cosine rise from ``1 / start_divisor`` to the peak, cosine fall to ``1 / final_divisor``.

    The schedule of ``torch.optim.lr_scheduler.OneCycleLR`` (Smith and Topin, 2019) without its
    momentum cycle, over the Trainer's own number of steps.

    Args:
        optimizer: gives the peak learning rates.
        fraction: share of all steps that rises.
        start_divisor: peak over first learning rate.
        final_divisor: first over last learning rate.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        *,
        fraction: float = 0.3,
        start_divisor: float = 25.0,
        final_divisor: float = 1.0e4,
    ) -> None:
        self.fraction = fraction
        self.start_divisor = start_divisor
        self.final_divisor = final_divisor
        super().__init__(optimizer)

    def factor(self, step: int, total: int) -> float:
        """Cosine interpolation in each of the two phases."""
        start = 1 / self.start_divisor
        final = start / self.final_divisor
        peak_step = self.fraction * total - 1
        if step <= peak_step:
            return _cosine(start, 1.0, step / max(peak_step, 1e-12))
        return _cosine(1.0, final, min(1.0, (step - peak_step) / max(1.0, total - 1 - peak_step)))


def _cosine(start: float, end: float, progress: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * progress)) / 2
