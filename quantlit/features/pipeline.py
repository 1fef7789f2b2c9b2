"""TransformPipeline: transforms in a row, fitted once on train dates, applied in runs of dates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from quantlit.features.transforms import FitRange, FittedTransform, Transform

CHUNK_VALUES = 2**20
"""Values that a run of dates holds: 4 MiB, and about 100 MiB while they are ranked."""


class TransformPipeline(FittedTransform):
    """Applies transforms in order; whatever is still unknown at the end becomes 0.

    Args:
        transforms: in the order of their application; each is fitted on what the one before gives.
    """

    def __init__(self, transforms: Sequence[Transform]) -> None:
        super().__init__()
        self.transforms = nn.ModuleList(transforms)

    @property
    def steps(self) -> list[Transform]:
        """The transforms."""
        return [cast(Transform, module) for module in self.transforms]

    @property
    def fitted(self) -> bool:
        """Whether there was a fit, or a restore of one."""
        return self.fit_range is not None

    @property
    def lookback(self) -> int:
        """Earlier bars on which an output depends: the sum over the transforms."""
        return sum(step.lookback for step in self.steps)

    def output_names(self, names: Sequence[str]) -> list[str]:
        """Names on the feature axis after all transforms."""
        for step in self.steps:
            names = step.output_names(names)
        return list(names)

    def _fit(
        self,
        features: npt.NDArray[np.float32],
        observed: npt.NDArray[np.bool_],
        fit_range: FitRange,
    ) -> None:
        steps = self.steps
        while any(isinstance(step, FittedTransform) for step in steps):
            step, *steps = steps
            if isinstance(step, FittedTransform):
                step.fit(features, observed, fit_range=fit_range)
            if steps:
                features = transform_in_runs([step], features, observed).numpy()

    def forward(self, features: Tensor, observed: Tensor) -> Tensor:
        """``[..., L, N, F']`` finite features."""
        self.check_fitted()
        for step in self.steps:
            features = step(features, observed)
        return torch.where(features.isfinite(), features, 0.0)

    def transform_panel(
        self, features: npt.NDArray[np.float32], observed: npt.NDArray[np.bool_]
    ) -> Tensor:
        """Transform a whole panel, in runs of dates: memory beyond the result is bounded.

        Args:
            features: ``[T, N, F]`` float32, NaN where unknown; may be memory-mapped.
            observed: ``[T, N]`` bool.

        Returns:
            ``[T, N, F']`` float32, finite and contiguous.

        Raises:
            LookAheadError: if the pipeline was never fitted.
        """
        self.check_fitted()
        out = transform_in_runs(self.steps, features, observed)
        return out.nan_to_num_(nan=0.0, posinf=0.0, neginf=0.0)


@torch.no_grad()
def transform_in_runs(
    steps: Sequence[Transform],
    features: npt.NDArray[np.float32],
    observed: npt.NDArray[np.bool_],
) -> Tensor:
    """Transform a panel run by run of dates; no value depends on where the runs are cut.

    Each step is given the last bars of its own input before the run, as many as its lookback, so
    that none is computed twice.

    Args:
        steps: what to apply, in order.
        features: ``[T, N, F]`` float32, NaN where unknown; may be memory-mapped.
        observed: ``[T, N]`` bool.

    Returns:
        ``[T, N, F']`` float32, contiguous.
    """
    n_bars, n_assets, n_features = features.shape
    names = [""] * n_features
    for step in steps:
        names = step.output_names(names)
    out = torch.empty((n_bars, n_assets, len(names)))
    longest = max((step.lookback for step in steps), default=0)
    length = max(1, CHUNK_VALUES // max(1, n_assets * n_features), longest)
    tails: list[Tensor | None] = [None] * len(steps)
    for start in range(0, n_bars, length):
        stop = min(start + length, n_bars)
        # Copies: a memory-mapped array is read-only, which tensors cannot be.
        run = torch.from_numpy(np.array(features[start:stop]))
        for index, step in enumerate(steps):
            tail = tails[index]
            given = run if tail is None else torch.cat([tail, run])
            seen = torch.from_numpy(np.array(observed[stop - len(given) : stop]))
            tails[index] = given[max(0, len(given) - step.lookback) :].clone()
            run = step(given, seen)[-(stop - start) :]
        out[start:stop] = run
    return out
