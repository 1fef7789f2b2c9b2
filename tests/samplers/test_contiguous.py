from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quantlit.core import ConfigError, TimeContinuityError, World
from quantlit.samplers import (
    EvaluationSampler,
    Order,
    TimeContiguousSampler,
    is_padding,
    padding,
)

ONE = World(0, 1)


def sampler(
    n: int = 100, block: int = 8, order: Order = "block_shuffled", world: World = ONE, seed: int = 0
) -> TimeContiguousSampler:
    return TimeContiguousSampler(
        range(10, 10 + n), block=block, order=order, seed=seed, world=world
    )


@settings(max_examples=100, deadline=None)
@given(
    n=st.integers(32, 120),
    block=st.integers(1, 8),
    size=st.integers(1, 3),
    epoch=st.integers(0, 50),
    gap=st.integers(0, 30),
)
def test_every_rank_gets_equally_many_whole_blocks_and_no_date_twice(
    n: int, block: int, size: int, epoch: int, gap: int
) -> None:
    positions = [*range(n), *range(n + gap, 2 * n + gap)]
    allowed = set(positions)
    ranks = [
        TimeContiguousSampler(positions, block=block, world=World(r, size)) for r in range(size)
    ]
    seen: Counter[int] = Counter()
    for part in ranks:
        part.set_epoch(epoch)
        runs = list(part)
        assert len(runs) == len(part) == len(ranks[0])
        for run in runs:
            assert run == range(run[0], run[0] + block)
            assert allowed.issuperset(run)
            seen.update(run)
    assert max(seen.values()) == 1


def test_the_phase_moves_with_the_epoch_and_the_order_depends_on_seed_and_epoch_alone() -> None:
    first = sampler()
    phases = set()
    for epoch in range(40):
        first.set_epoch(epoch)
        runs = list(first)
        assert len(runs) == len(first)
        phases.add(runs[0][0] % 8)
        assert runs == sampler().runs(epoch)
    assert phases == set(range(8))
    assert sampler(seed=1).runs(0) != sampler(seed=2).runs(0)


def test_sequential_keeps_time_order() -> None:
    runs = sampler(order="sequential").runs(3)
    assert runs == sorted(runs, key=lambda run: run[0])


def test_all_dates_are_seen_over_the_epochs() -> None:
    seen = {date for epoch in range(60) for run in sampler().runs(epoch) for date in run}
    assert seen == set(range(10, 110))


def test_resuming_continues_in_the_middle_and_then_follows_the_next_epochs() -> None:
    whole = sampler()
    whole.set_epoch(4)
    iterator = iter(whole)
    head = [next(iterator) for _ in range(5)]

    resumed = sampler()
    resumed.load_state_dict({"epoch": 4, "yielded": 5})
    resumed.set_epoch(4)
    assert head + list(resumed) == whole.runs(4)
    # the position is consumed once: the next epoch is whole again, not silently empty
    resumed.set_epoch(5)
    assert list(resumed) == whole.runs(5)


def test_a_state_saved_at_the_end_of_an_epoch_starts_the_next_one() -> None:
    resumed = sampler()
    resumed.load_state_dict({"epoch": 0, "yielded": len(resumed)})
    assert resumed.epoch == 1
    assert list(resumed) == sampler().runs(1)


def test_evaluation_covers_each_date_once_over_ranks_in_equally_many_steps() -> None:
    positions = list(range(5, 60))
    parts = [list(EvaluationSampler(positions, block=8, world=World(r, 3))) for r in range(3)]
    assert {len(part) for part in parts} == {3}
    dates = [date for part in parts for run in part if not is_padding(run) for date in run]
    assert sorted(dates) == positions
    assert sum(is_padding(run) for part in parts for run in part) == 2  # 7 blocks on 9 steps


def test_padding_is_its_own_inverse() -> None:
    assert padding(padding([0, 1, 2])) == [0, 1, 2]
    assert is_padding(padding([0, 1]))


def test_too_few_dates_for_a_block_is_refused() -> None:
    with pytest.raises(ConfigError, match="No block of 8 consecutive dates fits .* has 7"):
        sampler(n=7)
    with pytest.raises(ConfigError, match="for each of 2 process"):
        sampler(n=10, world=World(0, 2))
    with pytest.raises(ConfigError, match="block is 0"):
        sampler(block=0)


def test_unsorted_positions_are_refused() -> None:
    with pytest.raises(TimeContinuityError, match="3 follows 4"):
        TimeContiguousSampler([4, 3], block=1, world=ONE)
