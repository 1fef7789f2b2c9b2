"""Initial weights, in one place."""

from __future__ import annotations

import torch
from torch import nn


@torch.no_grad()
def initialise_lstm(lstm: nn.LSTM, *, recurrent_gain: float = 0.1) -> None:
    """Initialise every layer of an LSTM for noisy returns, in place.

    Input weights are Xavier uniform and recurrent weights orthogonal with a small gain, per gate;
    a weak recurrence starts the state near the recent bars instead of near chaos. Biases are zero
    but for the forget gate's, which is 1, so that the state is kept at first (Jozefowicz et al.,
    2015). PyTorch's own default is uniform in ±1/sqrt(hidden) for all of them.

    Args:
        lstm: the module; gates are stacked as input, forget, cell, output.
        recurrent_gain: gain of the orthogonal recurrent weights.
    """
    hidden = lstm.hidden_size
    for name, parameter in lstm.named_parameters():
        if name.startswith("weight_ih"):
            for gate in parameter.chunk(4):
                nn.init.xavier_uniform_(gate)
        elif name.startswith("weight_hh"):
            for gate in parameter.chunk(4):
                nn.init.orthogonal_(gate, gain=recurrent_gain)
        else:
            parameter.zero_()
            if name.startswith("bias_ih"):
                parameter[hidden : 2 * hidden] = 1.0
