from __future__ import annotations

import pytest
import torch
from torch.optim.lr_scheduler import OneCycleLR

from quantlit.core import ConfigError
from quantlit.tasks import BudgetScheduler, LinearWarmup, OneCycle, WarmupCosine


def optimizer(lr: float = 0.1) -> torch.optim.SGD:
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr)


def rates(scheduler: BudgetScheduler, steps: int) -> list[float]:
    scheduler.set_total_steps(steps)
    found = []
    for _ in range(steps):
        found.append(scheduler.optimizer.param_groups[0]["lr"])
        scheduler.optimizer.step()
        scheduler.step()
    return found


def test_linear_warm_up_rises_over_a_tenth_of_the_steps_and_stays() -> None:
    found = rates(LinearWarmup(optimizer(), fraction=0.1), 100)
    expected = [0.1 * (step + 1) / 11 for step in range(10)] + [0.1] * 90
    assert found == pytest.approx(expected)


def test_warm_up_cosine_ends_at_its_final_share() -> None:
    found = rates(WarmupCosine(optimizer(), fraction=0.1, final=0.2), 100)
    assert max(found) == pytest.approx(0.1)
    assert found[10] == pytest.approx(0.1)
    assert found[55] == pytest.approx(0.06)  # half way down: (1 + 0.2) / 2 of the peak
    assert found[-1] == pytest.approx(0.02, rel=0.01)


@pytest.mark.parametrize("steps", [10, 57, 200])
def test_one_cycle_equals_torch(steps: int) -> None:
    found = rates(OneCycle(optimizer(), fraction=0.3), steps)
    reference = optimizer()
    theirs = OneCycleLR(reference, max_lr=0.1, total_steps=steps, cycle_momentum=False)
    expected = []
    for step in range(steps):
        expected.append(reference.param_groups[0]["lr"])
        reference.step()
        if step < steps - 1:
            theirs.step()
    assert found == pytest.approx(expected, rel=1e-9)


def test_a_schedule_without_a_budget_is_refused() -> None:
    with pytest.raises(ConfigError, match="set trainer.max_epochs or trainer.max_steps"):
        LinearWarmup(optimizer()).set_total_steps(0)


def test_a_resumed_schedule_keeps_its_place_and_its_own_budget() -> None:
    first = LinearWarmup(optimizer(), fraction=0.5)
    expected = rates(first, 20)
    stopped = LinearWarmup(optimizer(), fraction=0.5)
    stopped.set_total_steps(20)
    for _ in range(6):
        stopped.optimizer.step()
        stopped.step()
    resumed = LinearWarmup(optimizer(), fraction=0.5)
    resumed.set_total_steps(20)
    resumed.load_state_dict(stopped.state_dict())
    resumed.optimizer.load_state_dict(stopped.optimizer.state_dict())
    rest = []
    for _ in range(14):
        rest.append(resumed.optimizer.param_groups[0]["lr"])
        resumed.optimizer.step()
        resumed.step()
    assert rest == pytest.approx(expected[6:])
    assert "total_steps" not in stopped.state_dict()
