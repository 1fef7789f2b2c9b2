"""SampleSource: the prices in the package skfolio, which is never imported."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from quantlit.core import DataError
from quantlit.panel import SampleSource, build_panel

needs_skfolio = pytest.mark.skipif(
    importlib.util.find_spec("skfolio") is None,
    reason="skfolio is not installed: pip install --no-deps skfolio",
)


@needs_skfolio
def test_the_sample(tmp_path: Path, data_dir: Path) -> None:
    panel = build_panel(SampleSource(), tmp_path / "store")
    assert panel.values.shape == (8313, 20, 1)
    assert panel.fields == ["close"]
    assert panel.symbols[:3] == ["AAPL", "AMD", "BAC"]
    assert str(panel.dates[0])[:10] == "1990-01-02" and str(panel.dates[-1])[:10] == "2022-12-28"
    assert panel.observed.all() and panel.bars_per_year == 252.0
    frame = pd.read_parquet(data_dir / "skfolio_sp500_20_close_daily.parquet")
    wide = frame.astype({"symbol": "str"}).pivot(index="date", columns="symbol", values="close")
    assert list(wide.columns) == panel.symbols
    np.testing.assert_allclose(panel.field("close"), wide, rtol=1e-6)


@needs_skfolio
def test_the_package_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "skfolio", raising=False)
    SampleSource().load()
    assert "skfolio" not in sys.modules


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(DataError, match="not installed. Run: pip install --no-deps skfolio"):
        build_panel(SampleSource(), tmp_path / "store")
    elsewhere = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: elsewhere)
    with pytest.raises(DataError, match=r"no such file\. Run: pip install --no-deps --upgrade"):
        SampleSource().load()
