"""All of Alpha158 against what Qlib 0.9.7 computed: 7 stocks, 612 days, two of them suspended."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from alpha_market import compute_all
from suspended_market import Fields, MakePanel

from quantlit.features import Bars, compute_factors, resolve_factors
from quantlit.features.alpha import alpha158

FIELDS = ["open", "high", "low", "close", "vwap", "volume"]
NAMES = [factor.name for factor in alpha158()]


def _read(folder: Path, name: str, columns: list[str]) -> dict[str, npt.NDArray[np.float32]]:
    """``[T, N]`` of each column, dates and symbols in order."""
    table = pd.read_parquet(folder / "alpha158" / f"{name}.parquet")
    date, symbol = table.columns[:2]
    wide = table.pivot(index=date, columns=symbol, values=columns)
    return {column: wide[column].to_numpy() for column in columns}


@pytest.fixture
def expected(oracles_dir: Path) -> npt.NDArray[np.float32]:
    columns = _read(oracles_dir, "alpha158_expected", NAMES)
    return np.stack(list(columns.values()), axis=-1)


@pytest.fixture
def bars(oracles_dir: Path) -> tuple[Fields, npt.NDArray[np.bool_]]:
    fields = {
        name: values.astype(np.float64)
        for name, values in _read(oracles_dir, "bars", FIELDS).items()
    }
    return fields, np.isfinite(fields["close"])


def _assert_equal(found: npt.NDArray[np.float32], wanted: npt.NDArray[np.float32]) -> None:
    """To 1e-4 of a value or 1e-5, and NaN where it is NaN: no value is excepted."""
    assert np.isinf(wanted).sum() == 0
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    gap = np.abs(found.astype(np.float64) - wanted)
    beyond = gap > np.maximum(1e-4 * np.abs(wanted), 1e-5)
    assert not beyond.any(), sorted({NAMES[column] for column in np.nonzero(beyond)[2]})


def test_names_and_order_are_qlibs(oracles_dir: Path) -> None:
    table = pd.read_parquet(oracles_dir / "alpha158" / "alpha158_expected.parquet")
    assert table.columns[2:].tolist() == NAMES


def test_every_value_is_qlibs_at_suspended_bars_too(
    expected: npt.NDArray[np.float32], bars: tuple[Fields, npt.NDArray[np.bool_]]
) -> None:
    assert expected.shape == (612, 7, 158)
    _assert_equal(compute_all(alpha158(), Bars(*bars)), expected)


def test_a_panels_features_are_qlibs_at_observed_bars(
    expected: npt.NDArray[np.float32],
    bars: tuple[Fields, npt.NDArray[np.bool_]],
    make_panel: MakePanel,
) -> None:
    fields, observed = bars
    assert (~observed).sum() == 83
    panel = make_panel(fields, observed)
    found = compute_factors(panel, resolve_factors(["alpha158"], panel.fields))
    _assert_equal(found, np.where(observed[:, :, None], expected, np.float32(np.nan)))
