from __future__ import annotations

import pytest
import torch

from quantlit.core import derive_seed, numpy_generator, run_seed, torch_generator


def test_generators_are_functions_of_all_parts_in_order() -> None:
    def draws(*parts: int | str) -> list[float]:
        return torch.rand(3, generator=torch_generator(*parts)).tolist()

    assert draws(0, 1, 2) == draws(0, 1, 2)
    assert len({tuple(draws(*parts)) for parts in [(0, 1, 2), (1, 0, 2), (0, 1), (0, 12)]}) == 4
    assert numpy_generator(3, "phase").integers(1 << 40) == numpy_generator(3, "phase").integers(
        1 << 40
    )
    assert 0 <= derive_seed("x") < 1 << 63


def test_owned_generators_leave_the_global_one_alone() -> None:
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    torch.rand(1, generator=torch_generator(9))
    assert torch.equal(torch.rand(1), expected)


def test_run_seed_is_lightnings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PL_GLOBAL_SEED", raising=False)
    assert run_seed() == 0
    monkeypatch.setenv("PL_GLOBAL_SEED", "7")
    assert run_seed() == 7
