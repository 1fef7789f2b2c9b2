"""Transforms: small modules from factors to what a model is fed, on the host and in a graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from quantlit.core import LookAheadError

FitRange = tuple[str, str]


class Transform(nn.Module, ABC):
    """Maps features to features, from each bar and ``lookback`` earlier ones, never later ones.

    This base needs no fit; :class:`FittedTransform` does. An unknown value (NaN) stays unknown,
    except in an imputer.
    """

    @property
    def lookback(self) -> int:
        """Earlier bars on which an output depends; 0 where each bar stands alone."""
        return 0

    def output_names(self, names: Sequence[str]) -> list[str]:
        """Names on the output's feature axis.

        Args:
            names: those on the input's.
        """
        return list(names)

    @abstractmethod
    def forward(self, features: Tensor, observed: Tensor) -> Tensor:
        """Transform a run of bars.

        Args:
            features: ``[..., L, N, F]`` float32, NaN where unknown.
            observed: ``[..., L, N]`` bool, the bar was really seen.

        Returns:
            ``[..., L, N, F']`` float32.
        """


class FittedTransform(Transform):
    """A transform with statistics of the train dates, held in buffers and fitted exactly once.

    The fitted range travels with the buffers in ``state_dict``, which loads with
    ``weights_only=True``; loading is a restore, not a fit.

    Attributes:
        fit_range: first and last date of the fit; None before it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.fit_range: FitRange | None = None

    def fit(
        self,
        features: npt.NDArray[np.float32],
        observed: npt.NDArray[np.bool_],
        *,
        fit_range: FitRange,
    ) -> None:
        """Take the statistics of the purged train dates.

        Args:
            features: ``[T, N, F]`` of the train dates alone, NaN where unknown.
            observed: ``[T, N]`` bool.
            fit_range: first and last of those dates.

        Raises:
            LookAheadError: if there was a fit before.
        """
        if self.fit_range is not None:
            raise LookAheadError(
                f"{type(self).__name__} was fitted on {' to '.join(self.fit_range)} already, and "
                f"is now asked to fit on {' to '.join(fit_range)}. Statistics are taken once, on "
                "train dates only; make a new transform for another split."
            )
        self._fit(features, observed, fit_range)
        self.fit_range = fit_range

    @abstractmethod
    def _fit(
        self,
        features: npt.NDArray[np.float32],
        observed: npt.NDArray[np.bool_],
        fit_range: FitRange,
    ) -> None:
        """Fill the buffers."""

    def check_fitted(self) -> None:
        """Refuse to transform without statistics.

        Raises:
            LookAheadError: if there was no fit and no restore.
        """
        if self.fit_range is None:
            raise LookAheadError(
                f"{type(self).__name__} was never fitted: fit it on train dates, or load the state "
                "of a fit from a checkpoint."
            )

    def get_extra_state(self) -> dict[str, list[str] | None]:
        """The fitted range, as plain values."""
        return {"fit_range": None if self.fit_range is None else list(self.fit_range)}

    def set_extra_state(self, state: Mapping[str, Any]) -> None:
        """Restore the fitted range."""
        fit_range = state["fit_range"]
        self.fit_range = None if fit_range is None else (fit_range[0], fit_range[1])

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *args: Any) -> None:
        """Give the buffers the length of those to load: only a fit knows the number of features."""
        for name, buffer in list(self._buffers.items()):
            if buffer is not None and prefix + name in state_dict:
                shape = state_dict[prefix + name].shape
                self._buffers[name] = buffer.new_empty(shape)
        super()._load_from_state_dict(state_dict, prefix, *args)
