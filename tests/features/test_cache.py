"""compute_factors: the same values however they are cut, kept once, and never half-written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest

from quantlit.core import ConfigError
from quantlit.features import (
    Bars,
    Factor,
    Return,
    Volatility,
    cache,
    compute_factors,
    evaluate,
    resolve_factors,
)
from quantlit.panel import Panel

Fields = dict[str, npt.NDArray[np.float64]]
Market = tuple[Fields, npt.NDArray[np.bool_]]
MakePanel = Callable[[Fields, npt.NDArray[np.bool_]], Panel]


@dataclass(frozen=True)
class Careless(Factor):
    """Infinite at some bars, known where nothing was observed; fails if asked to."""

    fails: bool = False
    short: bool = False
    name = "careless"
    lookback = 0

    def compute(self, bars: Bars) -> npt.NDArray[np.float64]:
        if self.fails:
            raise RuntimeError("broken factor")
        if self.short:
            return np.ones(3)
        return np.where(np.arange(bars.observed.shape[1]) == 0, np.inf, 1.0 + 0.0 * bars.observed)


@pytest.fixture
def panel(market: Market, make_panel: MakePanel) -> Panel:
    return make_panel(*market)


def test_values_are_those_of_the_factors(panel: Panel, market: Market) -> None:
    factors = resolve_factors(["price_volume"], panel.fields)
    found = compute_factors(panel, factors)
    assert found.shape == (150, 9, len(factors))
    assert found.dtype == np.float32
    fields, observed = market
    bars = Bars(fields, observed)
    for column, factor in enumerate(factors):
        with np.errstate(all="ignore"):
            wanted = np.where(observed, factor.compute(bars), np.nan)
        np.testing.assert_array_equal(found[:, :, column], wanted.astype(np.float32))


@pytest.mark.parametrize("cells", [1, 9 * 7, 9 * 64])
def test_runs_leave_no_trace(cells: int, panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    factors = resolve_factors(["price_volume"], panel.fields)
    whole = compute_factors(panel, factors, cache=False)
    monkeypatch.setattr(evaluate, "CHUNK_CELLS", cells)
    np.testing.assert_array_equal(compute_factors(panel, factors, cache=False), whole)


def test_unobserved_and_infinite_cells_are_unknown(panel: Panel) -> None:
    found = compute_factors(panel, [Careless()])[:, :, 0]
    assert np.isnan(found[:, 0]).all()
    np.testing.assert_array_equal(np.isfinite(found[:, 1:]), panel.observed[:, 1:])


def test_computed_once(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    factors: list[Factor] = [Return(window=1), Volatility(window=5)]
    first = compute_factors(panel, factors)
    (description,) = (panel.path / "cache").glob("*.json")
    assert json.loads(description.read_text())["factors"] == ["return_1", "volatility_5"]
    assert not first.flags.writeable
    monkeypatch.setattr(cache, "evaluate_factors", None)
    np.testing.assert_array_equal(compute_factors(panel, factors), first)


def test_another_definition_order_or_panel_has_another_key(
    panel: Panel, market: Market, make_panel: MakePanel
) -> None:
    fields, observed = market
    other = make_panel({**fields, "close": fields["close"] * 2.0}, observed)
    keys = {
        cache.cache_key(panel, [Return(window=1)]),
        cache.cache_key(panel, [Return(window=2)]),
        cache.cache_key(panel, [Volatility(window=2)]),
        cache.cache_key(panel, [Return(window=1), Return(window=2)]),
        cache.cache_key(panel, [Return(window=2), Return(window=1)]),
        cache.cache_key(other, [Return(window=1)]),
    }
    assert len(keys) == 6
    assert cache.cache_key(panel, [Return(window=1)]) in keys


def test_a_failure_leaves_nothing_behind(panel: Panel) -> None:
    with pytest.raises(RuntimeError, match="broken factor"):
        compute_factors(panel, [Careless(fails=True)])
    assert not [*(panel.path / "cache").glob("factors*")]
    assert np.isfinite(compute_factors(panel, [Careless()])).any()


def test_a_folder_that_cannot_be_written(panel: Panel) -> None:
    (panel.path / "cache").write_text("a file is in the way")
    with pytest.warns(UserWarning, match="cannot be kept in .*; they are computed in memory"):
        found = compute_factors(panel, [Return(window=1)])
    assert np.isfinite(found).any()


def test_a_full_disk(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=100))
    with pytest.warns(UserWarning, match="5,400 bytes are needed, and the disk has 100 left"):
        found = compute_factors(panel, [Return(window=1)])
    assert np.isfinite(found).any()


def test_values_of_another_shape(panel: Panel) -> None:
    with pytest.raises(
        ConfigError, match=r"careless gave values of shape \(3,\) for bars of shape \(\d+, 9\)"
    ):
        compute_factors(panel, [Careless(short=True)])


CHILD = """
import sys, time
from quantlit.features import cache, compute_factors, resolve_factors
from quantlit.panel import Panel

def slowly(*arguments, evaluate=cache.evaluate_factors):
    with open("computed", "a") as file:
        file.write("once\\n")
    time.sleep(0.5)
    return evaluate(*arguments)

cache.evaluate_factors = slowly
panel = Panel.open(sys.argv[1])
print(hash(compute_factors(panel, resolve_factors(["price"], panel.fields)).tobytes()))
"""


@pytest.mark.slow
def test_two_processes_compute_once(panel: Panel, tmp_path: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(panel.path.resolve())]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    children = [
        subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    hashes = {child.communicate()[0] for child in children}
    assert [child.returncode for child in children] == [0, 0]
    assert len(hashes) == 1
    assert (tmp_path / "computed").read_text() == "once\n"
    (kept,) = (panel.path / "cache").glob("factors*.npy")
    factors = resolve_factors(["price"], panel.fields)
    found = compute_factors(panel, factors, cache=False)
    np.testing.assert_array_equal(np.load(kept), found)
    assert not [*(panel.path / "cache").glob("*.partial")]
