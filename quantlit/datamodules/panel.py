"""PanelDataModule: from a panel store to loaders of blocks; what is fitted sees train alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from lightning import LightningDataModule
from torch import Tensor

from quantlit.core import (
    ConfigError,
    LookAheadError,
    PanelBatch,
    PanelSpec,
    run_seed,
    unsaveable,
)
from quantlit.datamodules.assembly import assemble
from quantlit.datamodules.dataset import BlockDataset, PanelTensors
from quantlit.datamodules.loader import BlockLoader
from quantlit.datamodules.residency import Residency, lives_on_device
from quantlit.datamodules.restore import check_restorable
from quantlit.datamodules.wrapping import refuse_wrapped_samplers
from quantlit.features import (
    Factor,
    LabelSpec,
    SampleWeight,
    Transform,
    TransformPipeline,
    compute_factors,
    resolve_factors,
)
from quantlit.panel import Panel, PanelSource, build_panel
from quantlit.samplers import (
    DateSplit,
    EvaluationSampler,
    Order,
    Positions,
    SplitPositions,
    TimeContiguousSampler,
)


class PanelDataModule(LightningDataModule):
    """Serves blocks of consecutive dates of a panel, without look-ahead.

    Factors are causal and computed once (cached beside the store); transforms are fitted on the
    purged train dates in ``setup("fit")`` and travel in the checkpoint; labels are forward returns
    on the full calendar. The asset axis never changes.

    Args:
        panel: a store made by ``quantlit prepare``, or a source to make one from (built once into
            ``cache_dir`` and reused while its settings and files stay the same).
        split: date ranges of train, valid and test.
        factors: names of factors or factor sets (``price``, ``price_volume``), or factors.
        transforms: applied in order to the factors, time-major, before the model sees them.
        label: horizons, delay and treatment of the forward returns.
        window: W, the lookback in bars.
        block: D, dates per batch.
        order: order of training blocks.
        weight: sample weights; by default all ones.
        universe: name of a panel field; only assets where it is positive count on a date.
        min_observed: share of the window that must have been observed for a forecast to be valid.
        residency: where the panel lives. ``device`` slices blocks there and only sends positions;
            ``auto`` does so on a GPU with room for it; ``host`` sends blocks.
        num_workers: loader processes; 0 is fastest, since a block is a slice.
        seed: seeds phase and order of training blocks, with the epoch; by default the run's own
            (``seed_everything``).
        predict_on: the split that ``predict`` forecasts.
        cache_dir: where stores built from a source go.

    Raises:
        ConfigError: where settings are impossible or do not fit the panel.
    """

    def __init__(
        self,
        *,
        panel: PanelSource | str,
        split: DateSplit,
        factors: list[str | Factor] | None = None,
        transforms: list[Transform] | None = None,
        label: LabelSpec | None = None,
        window: int = 20,
        block: int = 16,
        order: Order = "block_shuffled",
        weight: SampleWeight | None = None,
        universe: str | None = None,
        min_observed: float = 0.5,
        residency: Residency = "auto",
        num_workers: int = 0,
        seed: int | None = None,
        predict_on: Literal["train", "valid", "test"] = "test",
        cache_dir: str = "data/cache",
    ) -> None:
        super().__init__()
        if window < 1 or block < 1:
            raise ConfigError(f"data.window is {window} and data.block {block}; both must be >= 1.")
        if not 0.0 <= min_observed <= 1.0:
            raise ConfigError(f"data.min_observed is {min_observed}; it is a share from 0 to 1.")
        self.save_hyperparameters(
            ignore=unsaveable("panel", "split", "factors", "transforms", "label", "weight")
        )
        self.panel_source = panel
        self.split = split
        self.factors = factors or ["price"]
        self.pipeline = TransformPipeline(transforms or [])
        self.label = label or LabelSpec()
        self.window = window
        self.block = block
        self.order: Order = order
        self.weight = weight
        self.universe = universe
        self.min_observed = min_observed
        self.residency: Residency = residency
        self.num_workers = num_workers
        self.seed = seed
        self.predict_on = predict_on
        self.cache_dir = cache_dir
        self._panel: Panel | None = None
        self._raw: npt.NDArray[np.float32] | None = None
        self._tensors: PanelTensors | None = None
        self._resident: PanelTensors | None = None

    # ---------------------------------------------------------------- what there is

    @property
    def panel(self) -> Panel:
        """The panel; opened, and built first where it is given as a source."""
        if self._panel is None:
            source = self.panel_source
            if isinstance(source, str):
                self._panel = Panel.open(source)
            else:
                name = f"{type(source).__name__.lower()}-{source.fingerprint()[:12]}"
                self._panel = build_panel(source, Path(self.cache_dir) / name)
        return self._panel

    @property
    def resolved_factors(self) -> list[Factor]:
        """The factors, in the order of the raw feature axis."""
        return resolve_factors(self.factors, self.panel.fields)

    @property
    def spec(self) -> PanelSpec:
        """What the model side may know about the data, as plain values."""
        names = self.pipeline.output_names([factor.name for factor in self.resolved_factors])
        return PanelSpec(
            n_features=len(names),
            window=self.window,
            n_assets=len(self.panel.symbols),
            horizons=list(self.label.horizons),
            delay=self.label.delay,
            standardise=self.label.standardise,
            bars_per_year=float(self.panel.bars_per_year),
            factors=list(names),
            symbols=list(self.panel.symbols),
        )

    @property
    def positions(self) -> SplitPositions:
        """Decision dates of each split after purge and embargo."""
        return self.split.resolve(
            self.panel.dates,
            label_span=self.label.delay + max(self.label.horizons),
            first=self.window - 1,
        )

    # ------------------------------------------------------------------------ setup

    def setup(self, stage: str) -> None:
        """Compute the factors; in ``fit``, fit the transforms on the purged train dates once."""
        if self._raw is None:
            self._raw = compute_factors(self.panel, self.resolved_factors)
        if stage == "fit" and not self.pipeline.fitted:
            train = self.positions.train
            rows = slice(int(train[0]), int(train[-1]) + 1)
            self.pipeline.fit(
                self._raw[rows],
                self.panel.observed[rows],
                fit_range=(self._date(train[0]), self._date(train[-1])),
            )

    def _date(self, position: int) -> str:
        return str(pd.Timestamp(self.panel.dates[position]))

    def tensors(self) -> PanelTensors:
        """The whole panel as tensors, transformed with what was fitted on train.

        Raises:
            LookAheadError: if the transforms were never fitted.
        """
        if self._tensors is None:
            if not self.pipeline.fitted:
                raise LookAheadError(
                    "The data transforms were never fitted on train dates: run `quantlit fit` "
                    "first, or give the checkpoint of a fit with --ckpt_path."
                )
            self.setup("")
            self._tensors = assemble(
                self.panel,
                self._features,
                label=self.label,
                weight=self.weight,
                universe=self.universe,
                window=self.window,
                min_observed=self.min_observed,
            )
        return self._tensors

    def _features(self) -> Tensor:
        assert self._raw is not None  # setup computed the factors
        return self.pipeline.transform_panel(self._raw, self.panel.observed)

    # ---------------------------------------------------------------------- loaders

    def train_dataloader(self) -> BlockLoader:
        """Blocks of D dates in the configured order; resumable in the middle of an epoch."""
        sampler = TimeContiguousSampler(
            self.positions.train,
            block=self.block,
            order=self.order,
            seed=run_seed() if self.seed is None else self.seed,
        )
        loader = self._loader(sampler)
        if self.trainer is not None:  # a resumed run draws an order before Lightning's set_epoch
            sampler.set_epoch(self.trainer.current_epoch)
        return loader

    def val_dataloader(self) -> BlockLoader:
        """Every validation date once over all ranks."""
        return self._loader(EvaluationSampler(self.positions.valid, block=self.block))

    def test_dataloader(self) -> BlockLoader:
        """Every test date once over all ranks."""
        return self._loader(EvaluationSampler(self.positions.test, block=self.block))

    def predict_dataloader(self) -> BlockLoader:
        """Every date of the split ``predict_on`` once; labels may be unknown."""
        positions: Positions = getattr(self.positions, self.predict_on)
        return self._loader(EvaluationSampler(positions, block=self.block))

    def _loader(self, sampler: TimeContiguousSampler | EvaluationSampler) -> BlockLoader:
        refuse_wrapped_samplers(self.trainer)
        tensors = self.tensors()
        device = self._device()
        resident = lives_on_device(self.residency, tensors, device)
        return BlockLoader(
            BlockDataset(tensors, dates=self.panel.dates, window=self.window, resident=resident),
            sampler,
            num_workers=self.num_workers,
            pin_memory=device.type == "cuda" and not resident,
        )

    def _device(self) -> torch.device:
        trainer = self.trainer
        return trainer.strategy.root_device if trainer is not None else torch.device("cpu")

    def transfer_batch_to_device(
        self, batch: PanelBatch | Tensor, device: torch.device, dataloader_idx: int
    ) -> PanelBatch:
        """Send a block to the device, or slice it there from the positions alone."""
        if isinstance(batch, Tensor):
            if self._resident is None or self._resident.features.device != device:
                self._resident = self.tensors().to(device)
            return self._resident.block(batch.tolist(), self.window)
        return PanelBatch(*(tensor.to(device, non_blocking=True) for tensor in batch))

    # ------------------------------------------------------------------- checkpoint

    def state_dict(self) -> dict[str, Any]:
        """Fitted transforms, the factor names in order, and the panel's checksum."""
        return {
            "transforms": self.pipeline.state_dict(),
            "factors": [factor.name for factor in self.resolved_factors],
            "panel_checksum": self.panel.checksum,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the transforms of a checkpoint; a restore is not a second fit.

        Raises:
            CheckpointError: if the checkpoint was trained on other factors.
        """
        check_restorable(state_dict, [factor.name for factor in self.resolved_factors], self.panel)
        self.pipeline.load_state_dict(state_dict["transforms"])
        self._tensors = self._resident = None
