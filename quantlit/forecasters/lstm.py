"""LSTM forecaster (Hochreiter and Schmidhuber, 1997), windowed or trained in one pass."""

from __future__ import annotations

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from quantlit.core import PanelSpec
from quantlit.forecasters.base import WindowForecaster
from quantlit.forecasters.initialisation import initialise_lstm


class LSTMForecaster(WindowForecaster):
    """A stacked LSTM over each asset's bars, and a linear head on its last state.

    Two ways to train. *Windowed*: each date sees exactly its own window of W bars from a zero
    state. *One pass*: the LSTM runs once over the block's slice of ``L = W + D - 1`` bars and
    answers for the last D of them; the first W - 1 bars are burn-in. That is many times cheaper,
    but a date then sees up to L bars, so it is a way to train, not the same model. Evaluation and
    export are always windowed, so that a score does not depend on a date's place in a block.

    Args:
        spec: gives F, W and H.
        hidden_size: width of the state.
        num_layers: stacked layers.
        dropout: between layers and before the head, in training.
        one_pass: train in one pass over the block.
        recurrent_gain: gain of the orthogonal recurrent weights.
    """

    def __init__(
        self,
        spec: PanelSpec,
        *,
        hidden_size: int = 64,
        num_layers: int = 2,
        dropout: float = 0.0,
        one_pass: bool = True,
        recurrent_gain: float = 0.1,
    ) -> None:
        super().__init__(spec)
        self.one_pass = one_pass
        self.lstm = nn.LSTM(
            self.n_features,
            hidden_size,
            num_layers,
            dropout=dropout if num_layers > 1 else 0.0,
        )
        initialise_lstm(self.lstm, recurrent_gain=recurrent_gain)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(hidden_size, self.n_horizons)

    def forward(
        self,
        features: Float[Tensor, "L N F"],
        observed: Bool[Tensor, "L N"],
        stamps: Int[Tensor, "L 5"],
    ) -> Float[Tensor, "D N H 1"]:
        """Forecasts ``[D, N, H, 1]``; see :class:`quantlit.forecasters.base.Forecaster`."""
        if self.training and self.one_pass:
            states, _ = self.lstm(features)
            return self._head(states[self.window - 1 :])
        return super().forward(features, observed, stamps)

    def encode(self, windows: Float[Tensor, "W B F"]) -> Float[Tensor, "B H 1"]:
        """Forecasts from the last state of each window, started from zero."""
        states, _ = self.lstm(windows)
        return self._head(states[-1])

    def _head(self, states: Float[Tensor, "*batch hidden"]) -> Float[Tensor, "*batch H 1"]:
        forecast: Tensor = self.head(self.dropout(states))
        return forecast.unsqueeze(-1)
