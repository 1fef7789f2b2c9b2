"""The forecaster contract: a block of bars in, a forecast per date, asset and horizon out."""

from __future__ import annotations

from abc import ABC, abstractmethod

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from quantlit.core import PanelSpec
from quantlit.functional.windows import window_view


class Forecaster(nn.Module, ABC):
    """A plain module that maps a block of bars to forecasts. It knows nothing of Lightning.

    Any module with this constructor argument and this ``forward`` serves; deriving from the class
    is a convenience.

    Args:
        spec: what the data side found; gives F, W and H.
    """

    def __init__(self, spec: PanelSpec) -> None:
        super().__init__()
        self.n_features = spec["n_features"]
        self.window = spec["window"]
        self.n_horizons = len(spec["horizons"])

    @abstractmethod
    def forward(
        self,
        features: Float[Tensor, "L N F"],
        observed: Bool[Tensor, "L N"],
        stamps: Int[Tensor, "L 5"],
    ) -> Float[Tensor, "D N H P"]:
        """Forecasts of the last ``D = L - W + 1`` dates of a block.

        Args:
            features: ``[L, N, F]``, finite.
            observed: ``[L, N]``, whether the bar was really seen.
            stamps: ``[L, 5]`` minute, hour, weekday, day, month.

        Returns:
            ``[D, N, H, P]``; P is 1 for a point forecast.
        """


class WindowForecaster(Forecaster):
    """Base of forecasters that see one asset's window at a time.

    Subclasses write :meth:`encode`; assets and dates are one batch axis, so missing assets stay in
    their column and shapes are static.
    """

    @abstractmethod
    def encode(self, windows: Float[Tensor, "W B F"]) -> Float[Tensor, "B H P"]:
        """Forecasts of B windows, time first."""

    def forward(
        self,
        features: Float[Tensor, "L N F"],
        observed: Bool[Tensor, "L N"],
        stamps: Int[Tensor, "L 5"],
    ) -> Float[Tensor, "D N H P"]:
        """Every window of the block, as a view without a copy; see :class:`Forecaster`."""
        forecast = self.encode(window_view(features, self.window))
        return forecast.reshape(-1, features.shape[1], *forecast.shape[1:])
