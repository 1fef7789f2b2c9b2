"""A bare PyTorch loop that takes its steps beside those of a ``quantlit fit``, one each in turn."""

from __future__ import annotations

import math
import time
from typing import Any

import torch
from lightning import Callback, LightningModule, Trainer
from torch import Tensor, nn
from typing_extensions import override

from quantlit.core import PanelBatch
from quantlit.functional import standardise_labels, window_view
from quantlit.losses import CompositeLoss, MaskedMSE, SoftSpearmanLoss, WeightedTerm


class BareLoop:
    """What one would write without a trainer, on batches that are ready before it starts.

    Args:
        batches: taken in turn. Windows of a windowed model are ready too, as ``[W, D * N, F]``.
        window: W.
        one_pass: run once over a block's bars instead of over its windows.
    """

    def __init__(self, batches: list[PanelBatch], *, window: int, one_pass: bool) -> None:
        self.batches = batches
        self.inputs = [
            batch.features.clone() if one_pass else window_view(batch.features, window).contiguous()
            for batch in batches
        ]
        self.first = window - 1 if one_pass else -1
        self.lstm = nn.LSTM(self.inputs[0].shape[-1], 64, 2)
        self.head = nn.Linear(64, batches[0].target.shape[-1])
        self.parameters = [*self.lstm.parameters(), *self.head.parameters()]
        self.optimizer = torch.optim.AdamW(self.parameters, lr=1e-3)
        self.loss = CompositeLoss(
            terms={
                "mse": WeightedTerm(0.7, MaskedMSE()),
                "rank": WeightedTerm(0.3, SoftSpearmanLoss(temperature=0.2)),
            }
        )
        self.steps = 0

    def forward(self, index: int) -> Tensor:
        """Forecasts ``[D, N, H]`` of a batch."""
        states, _ = self.lstm(self.inputs[index])
        forecast: Tensor = self.head(states[self.first :])
        return forecast.reshape(self.batches[index].target.shape)

    def step(self) -> None:
        """One training step on the next batch."""
        index = self.steps % len(self.batches)
        batch = self.batches[index]
        self.optimizer.zero_grad()
        target, mask = standardise_labels(batch.target, batch.valid, "zscore")
        loss = self.loss(self.forward(index), target, mask, batch.weight).total
        loss.backward()
        nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()
        self.steps += 1


class Beside(Callback):
    """Times every training step of a fit, and takes and times a bare step between each two.

    A fit's step is the time from one ``on_train_batch_end`` to the next without the bare step: all
    that the Trainer, the loader, the task and the other callbacks do in a step is in it. The first
    step of an epoch, and with it the validation before, is left out as NaN.
    """

    def __init__(self) -> None:
        self.fit: list[float] = []
        self.bare: list[float] = []
        self._last: float | None = None

    @override
    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        batches = [
            PanelBatch(*(tensor.clone() for tensor in batch))
            for _, batch in zip(range(8), trainer.datamodule.train_dataloader(), strict=False)
        ]
        forecaster: Any = pl_module.forecaster
        self._loop = BareLoop(batches, window=forecaster.window, one_pass=forecaster.one_pass)
        self._loop.lstm.load_state_dict(forecaster.lstm.state_dict())
        self._loop.head.load_state_dict(forecaster.head.state_dict())
        with torch.no_grad():
            torch.testing.assert_close(self._loop.forward(0), pl_module(batches[0]))

    @override
    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._last = None

    @override
    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        before = time.perf_counter()
        self.fit.append(math.nan if self._last is None else before - self._last)
        self._loop.step()
        self._last = time.perf_counter()
        self.bare.append(self._last - before)
