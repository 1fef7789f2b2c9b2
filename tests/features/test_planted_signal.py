"""Factors and labels together find a planted signal at its own delay, and nothing elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from quantlit.features import (
    CrossSectionalRankGaussian,
    LabelSpec,
    TransformPipeline,
    compute_factors,
    forward_returns,
    resolve_factors,
)
from quantlit.functional import rank_correlation
from quantlit.panel import SyntheticSource, build_panel


def test_the_planted_signal_is_found(tmp_path: Path) -> None:
    source = SyntheticSource(n_assets=200, n_dates=400, ic=0.1, delay=1)
    panel = build_panel(source, tmp_path / "store")
    transforms = TransformPipeline([CrossSectionalRankGaussian()])
    raw = compute_factors(panel, resolve_factors(["day_position", "return_5"], panel.fields))
    transforms.fit(raw, panel.observed, fit_range=("", ""))
    signal, other = transforms.transform_panel(raw, panel.observed).unbind(-1)

    def rank_ic(scores: torch.Tensor, delay: int) -> float:
        label = torch.from_numpy(forward_returns(panel, LabelSpec(delay=delay))[..., 0])
        mask = label.isfinite() & torch.from_numpy(panel.observed.copy())
        return float(rank_correlation(scores, label, mask).nanmean())

    assert rank_ic(signal, 1) == pytest.approx(source.planted_signal().rank_ic, abs=0.01)
    assert rank_ic(signal, 2) == pytest.approx(0.0, abs=0.01)  # one bar late
    assert rank_ic(other, 1) == pytest.approx(0.0, abs=0.01)
