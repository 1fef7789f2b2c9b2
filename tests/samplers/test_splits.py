from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quantlit.core import ConfigError
from quantlit.samplers import DateSplit

DATES = pd.bdate_range("2020-01-01", periods=100).to_numpy()


def day(position: int) -> str:
    return str(pd.Timestamp(DATES[position]).date())


def split(a: int, b: int, embargo: int = 0) -> DateSplit:
    return DateSplit(
        train=(day(0), day(a - 1)),
        valid=(day(a), day(b - 1)),
        test=(day(b), day(99)),
        embargo=embargo,
    )


@pytest.mark.parametrize(("delay", "horizon", "dropped"), [(1, 5, 5), (1, 1, 1), (0, 1, 0)])
def test_purge_drops_delay_plus_horizon_minus_one_dates(
    delay: int, horizon: int, dropped: int
) -> None:
    found = split(60, 80).resolve(DATES, label_span=delay + horizon)
    assert found.train.tolist() == list(range(60 - dropped))
    assert found.valid.tolist() == list(range(60, 80 - dropped))
    assert found.test.tolist() == list(range(80, 100))


def test_embargo_drops_the_first_dates_after_each_border() -> None:
    found = split(60, 80, embargo=3).resolve(DATES, label_span=1)
    assert found.valid[0] == 63
    assert found.test[0] == 83
    assert found.train[-1] == 59


def test_embargo_counts_dates_already_left_out_between_the_splits() -> None:
    gap = DateSplit(
        train=(day(0), day(50)), valid=(day(53), day(70)), test=(day(71), day(99)), embargo=2
    )
    assert gap.resolve(DATES, label_span=1).valid[0] == 53


def test_train_starts_where_a_whole_window_fits() -> None:
    found = split(60, 80).resolve(DATES, label_span=1, first=19)
    assert found.train[0] == 19
    assert found.valid[0] == 60  # windows of validation reach back into train; that is no leak


@settings(max_examples=200, deadline=None)
@given(
    border=st.integers(10, 50),
    width=st.integers(14, 40),
    delay=st.integers(0, 3),
    horizon=st.integers(1, 6),
    embargo=st.integers(0, 3),
)
def test_label_intervals_of_the_splits_never_overlap(
    border: int, width: int, delay: int, horizon: int, embargo: int
) -> None:
    found = split(border, border + width, embargo).resolve(DATES, label_span=delay + horizon)
    for earlier, later in ((found.train, found.valid), (found.valid, found.test)):
        # the label of t is the return over (t + delay, t + delay + horizon]
        known_before = earlier.max() + delay + horizon
        assert known_before <= later.min()
    assert len(set(np.concatenate(found))) == sum(map(len, found))


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        (
            {"train": ("2020-02-01", "2020-01-01")},
            "split.train starts on 2020-02-01, after its end on 2020-01-01",
        ),
        (
            {"valid": ("2020-02-01", "2020-04-01")},
            "split.valid starts on 2020-02-01, but split.train ends on 2020-03-01: splits must",
        ),
        ({"test": ("soon", "2020-06-01")}, r"split.test is \[soon, 2020-06-01\], which are not"),
    ],
)
def test_impossible_ranges_are_refused(ranges: dict[str, tuple[str, str]], message: str) -> None:
    good = {
        "train": ("2020-01-01", "2020-03-01"),
        "valid": ("2020-03-02", "2020-04-01"),
        "test": ("2020-04-02", "2020-06-01"),
    }
    with pytest.raises(ConfigError, match=message):
        DateSplit(**{**good, **ranges}, embargo=0)


def test_a_split_outside_the_calendar_names_the_panels_dates() -> None:
    late = DateSplit(
        train=(day(0), day(50)), valid=(day(51), day(60)), test=("2031-01-01", "2031-02-01")
    )
    with pytest.raises(ConfigError, match=r"split.test .* holds no date of the panel, which runs"):
        late.resolve(DATES, label_span=1)


def test_a_split_that_purging_empties_is_refused() -> None:
    with pytest.raises(ConfigError, match="split.valid keeps none of its 2 dates"):
        split(60, 62).resolve(DATES, label_span=6)


def test_negative_embargo_is_refused() -> None:
    with pytest.raises(ConfigError, match="split.embargo is -1"):
        split(60, 80, embargo=-1)
