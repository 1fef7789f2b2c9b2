"""TransformPipeline: fitted once in order, applied in runs without a trace, restored exactly."""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt
import pytest
import torch

from quantlit.core import LookAheadError
from quantlit.features import (
    CrossSectionalRankGaussian,
    CrossSectionalZScore,
    Imputer,
    RobustZScore,
    Transform,
    TransformPipeline,
    Winsorise,
    pipeline,
)

RANGE = ("2020-01-02", "2020-12-31")
TRAIN = slice(0, 50)
Array = npt.NDArray[np.float32]


@pytest.fixture
def panel() -> tuple[Array, npt.NDArray[np.bool_]]:
    """Features [80, 12, 3], a tenth missing, and observed [80, 12]."""
    rng = np.random.default_rng(2)
    features = rng.standard_normal((80, 12, 3)).astype(np.float32)
    observed = rng.random((80, 12)) > 0.1
    features[~observed] = np.nan
    features[60, :, 1] = np.inf
    return features, observed


def _steps() -> list[Transform]:
    return [
        Winsorise(),
        CrossSectionalZScore(),
        RobustZScore(clip=2.0),
        Imputer(max_age=4, flag=True),
        Imputer(max_age=2),
    ]


def _fitted(features: Array, observed: npt.NDArray[np.bool_]) -> TransformPipeline:
    transforms = TransformPipeline(_steps())
    transforms.fit(features[TRAIN], observed[TRAIN], fit_range=RANGE)
    return transforms


def test_each_step_is_fitted_on_the_output_of_the_one_before(
    panel: tuple[Array, npt.NDArray[np.bool_]],
) -> None:
    features, observed = panel
    found = _fitted(features, observed).transform_panel(features, observed)
    winsorise, zscore, robust, *imputers = _steps()
    mask = torch.from_numpy(observed)
    assert isinstance(winsorise, Winsorise)
    assert isinstance(robust, RobustZScore)
    winsorise.fit(features[TRAIN], observed[TRAIN], fit_range=RANGE)
    middle = zscore(winsorise(torch.from_numpy(features), mask), mask)
    robust.fit(middle[TRAIN].numpy(), observed[TRAIN], fit_range=RANGE)
    wanted = robust(middle, mask)
    for imputer in imputers:
        wanted = imputer(wanted, mask)
    assert torch.equal(found, wanted)
    assert found.shape == (80, 12, 6)
    assert found.isfinite().all()
    assert found.is_contiguous()


@pytest.mark.parametrize("values", [1, 36 * 7, 36 * 33])
def test_runs_leave_no_trace(
    values: int, panel: tuple[Array, npt.NDArray[np.bool_]], monkeypatch: pytest.MonkeyPatch
) -> None:
    transforms = _fitted(*panel)
    whole = transforms.transform_panel(*panel)
    monkeypatch.setattr(pipeline, "CHUNK_VALUES", values)
    assert torch.equal(transforms.transform_panel(*panel), whole)
    assert torch.equal(_fitted(*panel).transform_panel(*panel), whole)


def test_names_and_lookback() -> None:
    transforms = TransformPipeline(_steps())
    assert transforms.lookback == 6
    assert transforms.output_names(["a", "b"]) == ["a", "b", "a_missing", "b_missing"]
    assert TransformPipeline([]).output_names(["a"]) == ["a"]


def test_no_look_ahead(panel: tuple[Array, npt.NDArray[np.bool_]]) -> None:
    features, observed = panel
    whole = _fitted(features, observed).transform_panel(features, observed)
    for date in (50, 63, 78):
        for garbage in (np.nan, 1e6):
            poisoned, seen = features.copy(), observed.copy()
            poisoned[date + 1 :], seen[date + 1 :] = garbage, True
            found = _fitted(poisoned, seen).transform_panel(poisoned, seen)
            assert torch.equal(found[: date + 1], whole[: date + 1])
        short = _fitted(features, observed).transform_panel(
            features[: date + 1], observed[: date + 1]
        )
        assert torch.equal(short, whole[: date + 1])


def test_a_fit_on_all_dates_would_be_seen(panel: tuple[Array, npt.NDArray[np.bool_]]) -> None:
    """The poison test has teeth: statistics of every date change with the future."""
    features, observed = panel
    leaky, other = (TransformPipeline([RobustZScore()]) for _ in range(2))
    leaky.fit(features, observed, fit_range=RANGE)
    other.fit(np.where(np.arange(80)[:, None, None] > 63, 1e6, features), observed, fit_range=RANGE)
    assert not torch.equal(
        leaky.transform_panel(features, observed)[:63],
        other.transform_panel(features, observed)[:63],
    )


def test_fitted_exactly_once(panel: tuple[Array, npt.NDArray[np.bool_]]) -> None:
    features, observed = panel
    transforms = TransformPipeline([CrossSectionalRankGaussian()])
    assert transforms.fit_range is None
    assert not transforms.fitted
    with pytest.raises(LookAheadError, match="TransformPipeline was never fitted"):
        transforms.transform_panel(features, observed)
    transforms.fit(features, observed, fit_range=RANGE)
    with pytest.raises(LookAheadError, match="TransformPipeline was fitted on 2020-01-02"):
        transforms.fit(features, observed, fit_range=RANGE)


def test_state_round_trip(panel: tuple[Array, npt.NDArray[np.bool_]]) -> None:
    transforms = _fitted(*panel)
    file = io.BytesIO()
    torch.save(transforms.state_dict(), file)
    file.seek(0)
    other = TransformPipeline(_steps())
    other.load_state_dict(torch.load(file, weights_only=True))
    assert other.fitted
    assert other.fit_range == RANGE
    assert torch.equal(other.transform_panel(*panel), transforms.transform_panel(*panel))
    with pytest.raises(LookAheadError):
        other.fit(*panel, fit_range=RANGE)


def test_read_only_memory_is_welcome(panel: tuple[Array, npt.NDArray[np.bool_]]) -> None:
    features, observed = panel
    features.flags.writeable = observed.flags.writeable = False
    assert _fitted(features, observed).transform_panel(features, observed).isfinite().all()


def test_without_transforms_unknown_becomes_zero(
    panel: tuple[Array, npt.NDArray[np.bool_]],
) -> None:
    features, observed = panel
    transforms = TransformPipeline([])
    transforms.fit(features, observed, fit_range=RANGE)
    wanted = np.where(np.isfinite(features), features, 0.0)
    np.testing.assert_array_equal(transforms.transform_panel(features, observed).numpy(), wanted)
