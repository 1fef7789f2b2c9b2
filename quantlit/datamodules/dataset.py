"""BlockDataset: a run of consecutive dates in, one PanelBatch out, as views of whole tensors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from torch import Tensor
from torch.utils.data import Dataset, get_worker_info

from quantlit.core import PanelBatch, TimeContinuityError
from quantlit.samplers import Run, is_padding, padding


class PanelTensors(NamedTuple):
    """The whole panel as the model sees it, on one device; T dates, N assets.

    Attributes:
        features: ``[T, N, F]`` float32, finite.
        observed: ``[T, N]`` bool.
        target: ``[T, N, H]`` float32 raw returns, NaN where unknown or untradeable.
        valid: ``[T, N]`` bool.
        weight: ``[T, N]`` float32.
        stamps: ``[T, 5]`` int64.
        dates: ``[T]`` int64, 0 to T - 1.
        assets: ``[N]`` int64, 0 to N - 1.
    """

    features: Tensor
    observed: Tensor
    target: Tensor
    valid: Tensor
    weight: Tensor
    stamps: Tensor
    dates: Tensor
    assets: Tensor

    def to(self, device: torch.device) -> PanelTensors:
        """The same tensors on another device."""
        return PanelTensors(*(tensor.to(device) for tensor in self))

    def nbytes(self) -> int:
        """Bytes that a copy on a device takes."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self)

    def block(self, run: Run, window: int) -> PanelBatch:
        """Slice the block of a run: no copy, only views (a padding run gets an all-False mask).

        Args:
            run: D consecutive calendar positions, or their complements for padding.
            window: W, the lookback in bars.
        """
        padded = is_padding(run)
        first, last = (~run[0], ~run[-1]) if padded else (run[0], run[-1])
        bars = slice(first - window + 1, last + 1)
        days = slice(first, last + 1)
        valid, dates = self.valid[days], self.dates[days]
        return PanelBatch(
            features=self.features[bars],
            observed=self.observed[bars],
            target=self.target[days],
            valid=torch.zeros_like(valid) if padded else valid,
            weight=self.weight[days],
            stamps=self.stamps[bars],
            dates=torch.full_like(dates, -1) if padded else dates,
            assets=self.assets,
        )


class BlockDataset(Dataset[PanelBatch | Tensor]):
    """Answers a run of date positions with the block that ends on them.

    Args:
        tensors: the whole panel, on the host.
        dates: ``[T]`` the calendar, for messages.
        window: W, the lookback in bars.
        resident: answer with the positions alone, ``[D]`` int64; the block is then sliced where the
            panel lives (see ``PanelDataModule.transfer_batch_to_device``).

    Raises:
        TimeContinuityError: on access, if the dates are not consecutive or their lookback starts
            before the panel does.
    """

    def __init__(
        self,
        tensors: PanelTensors,
        *,
        dates: npt.NDArray[np.datetime64],
        window: int,
        resident: bool = False,
    ) -> None:
        self.tensors = tensors
        self.dates = dates
        self.window = window
        self.resident = resident

    def __len__(self) -> int:
        """Dates on the calendar."""
        return len(self.dates)

    def __getitem__(self, run: Run) -> PanelBatch | Tensor:
        self._check(padding(run) if is_padding(run) else run)
        if self.resident:
            return torch.tensor(run, dtype=torch.int64)
        batch = self.tensors.block(run, self.window)
        if get_worker_info() is None:
            return batch
        # A worker sends tensors through shared memory, and a view would take its whole storage.
        return PanelBatch(*(tensor.clone() for tensor in batch))

    def _check(self, run: Run) -> None:
        steady = isinstance(run, range) and run.step == 1
        if not steady and list(run) != list(range(run[0], run[0] + len(run))):
            named = ", ".join(str(pd.Timestamp(self.dates[position])) for position in run[:12])
            raise TimeContinuityError(
                f"A batch holds dates that are not consecutive on the panel's calendar: {named}"
                f"{', ...' if len(run) > 12 else ''}. Use TimeContiguousSampler or yield runs of "
                "consecutive positions."
            )
        if run[0] < self.window - 1 or run[-1] >= len(self.dates):
            raise TimeContinuityError(
                f"Positions {run[0]} to {run[-1]} need bars {run[0] - self.window + 1} to {run[-1]}"
                f", but the panel holds bars 0 to {len(self.dates) - 1}: a lookback of "
                f"{self.window} starts at position {self.window - 1}."
            )
