"""ForecastTask: a forecaster, a loss, metrics and an optimizer as one LightningModule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import torch
from lightning import LightningModule
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torchmetrics import MeanMetric

from quantlit.core import CheckpointError, ConfigError, PanelBatch, PanelSpec, unsaveable
from quantlit.functional import standardise_labels
from quantlit.losses import CompositeLoss, LossOutput
from quantlit.metrics import CrossSectionScores
from quantlit.tasks.schedulers import BudgetScheduler


class BlockForecast(NamedTuple):
    """What a task says about a block; returned by its test and predict steps.

    Attributes:
        forecast: ``[D, N, H]`` scores; only their order within a date and horizon has a meaning.
        label: ``[D, N, H]`` raw returns, NaN where unknown.
        valid: ``[D, N]`` bool.
        dates: ``[D]`` calendar positions, -1 in a padding block.
    """

    forecast: Tensor
    label: Tensor
    valid: Tensor
    dates: Tensor


class ForecastTask(LightningModule):
    """Trains and judges a forecaster of cross-sectional returns.

    Labels arrive raw and are standardised per date here, on the device; metrics and predictions use
    the raw ones.

    Args:
        forecaster: makes the network from the panel's spec; ``class_path`` and ``init_args`` in
            YAML. Its forward is that of :class:`quantlit.forecasters.Forecaster`.
        loss: named, weighted terms.
        optimizer: makes the optimizer from the parameters.
        scheduler: makes a learning-rate schedule from the optimizer; stepped once per optimizer
            step.
        spec: what the data side found; linked from the datamodule by the command line.
    """

    def __init__(
        self,
        *,
        forecaster: Callable[[PanelSpec], nn.Module],
        loss: CompositeLoss,
        spec: PanelSpec,
        optimizer: OptimizerCallable = AdamW,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__()
        self.save_hyperparameters(ignore=unsaveable("forecaster", "loss", "optimizer", "scheduler"))
        self.spec = spec
        self.forecaster = forecaster(spec)
        self.loss = loss
        self._make_optimizer = optimizer
        self._make_scheduler = scheduler
        horizons = spec["horizons"]
        self.scores = nn.ModuleDict(
            {
                stage: nn.ModuleDict({str(h): CrossSectionScores(horizon=h) for h in horizons})
                for stage in ("valid", "test")
            }
        )
        self.valid_loss = nn.ModuleDict({name: MeanMetric() for name in ("loss", *loss.term_names)})
        self._train_loss: list[Tensor] = []

    def forward(self, batch: PanelBatch) -> Tensor:
        """Scores ``[D, N, H]`` of a block.

        Raises:
            ConfigError: if the forecaster's answer has another shape.
        """
        forecast: Tensor = self.forecaster(batch.features, batch.observed, batch.stamps)
        expected = (*batch.target.shape, 1)
        if forecast.shape != expected:
            raise ConfigError(
                f"{type(self.forecaster).__name__} answered with shape {list(forecast.shape)}, not "
                f"{list(expected)}: one forecast for each of the block's last D = L - W + 1 dates, "
                "its N assets and H horizons, and P = 1 parameter, [D, N, H, P]."
            )
        return forecast.squeeze(-1)

    # ------------------------------------------------------------------ training

    def on_train_start(self) -> None:
        """Tell a budget schedule the Trainer's number of steps.

        Not when it is made: to count the steps then, Lightning would make the training loader
        before it has read the loader's place from a checkpoint, and never take it back there.
        """
        for config in self.trainer.lr_scheduler_configs:
            if isinstance(config.scheduler, BudgetScheduler):
                steps = self.trainer.estimated_stepping_batches
                config.scheduler.set_total_steps(int(steps) if steps != float("inf") else 0)

    def training_step(self, batch: PanelBatch, batch_idx: int) -> Tensor:
        """Total loss of one block."""
        output = self._losses(self(batch), batch)
        self._train_loss.append(output.total.detach())
        if self._logs_this_step():
            values = {"train/loss": output.total.detach(), "train/dates_used": output.dates_used}
            values |= {f"train/loss_{name}": value for name, value in output.terms.items()}
            self.log_dict(values, batch_size=1)
        return output.total

    def on_train_epoch_end(self) -> None:
        """Log the epoch's mean loss; all ranks made equally many steps, so the mean is exact."""
        if self._train_loss:
            mean = torch.stack(self._train_loss).mean()
            self.log("train/loss_epoch", mean, sync_dist=True, batch_size=1)
        self._train_loss.clear()

    def _logs_this_step(self) -> bool:
        interval: int = self.trainer.log_every_n_steps  # type: ignore[attr-defined]
        return interval > 0 and (self.global_step + 1) % interval == 0

    def _losses(self, forecast: Tensor, batch: PanelBatch) -> LossOutput:
        target, mask = standardise_labels(batch.target, batch.valid, self.spec["standardise"])
        return cast(LossOutput, self.loss(forecast, target, mask, batch.weight))

    # ---------------------------------------------------------------- evaluation

    def validation_step(self, batch: PanelBatch, batch_idx: int) -> None:
        """Update the validation scores and losses with one block."""
        forecast = self(batch)
        self._update_scores("valid", forecast, batch)
        dates = (batch.dates >= 0).sum()
        output = self._losses(forecast, batch)
        for name, value in {"loss": output.total, **output.terms}.items():
            cast(MeanMetric, self.valid_loss[name]).update(value, weight=dates)

    def test_step(  # type: ignore[override]  # callbacks take any output
        self, batch: PanelBatch, batch_idx: int
    ) -> BlockForecast:
        """Update the test scores; the forecasts go to callbacks such as PredictionWriter."""
        forecast = self(batch)
        self._update_scores("test", forecast, batch)
        return BlockForecast(forecast, batch.target, batch.valid, batch.dates)

    def predict_step(self, batch: PanelBatch, batch_idx: int) -> BlockForecast:
        """Forecasts of one block, with or without labels."""
        return BlockForecast(self(batch), batch.target, batch.valid, batch.dates)

    def on_validation_epoch_end(self) -> None:
        """Log validation losses and scores; the metrics have merged the ranks' dates already."""
        for name, metric in self.valid_loss.items():
            key = "valid/loss" if name == "loss" else f"valid/loss_{name}"
            self.log(key, cast(MeanMetric, metric).compute())
            cast(MeanMetric, metric).reset()
        self._log_scores("valid")

    def on_test_epoch_end(self) -> None:
        """Log the test scores."""
        self._log_scores("test")

    def horizon_scores(self, stage: str) -> dict[int, CrossSectionScores]:
        """The metrics of a stage (``valid`` or ``test``) by horizon in bars."""
        metrics = cast(nn.ModuleDict, self.scores[stage])
        return {int(h): cast(CrossSectionScores, metric) for h, metric in metrics.items()}

    def _update_scores(self, stage: str, forecast: Tensor, batch: PanelBatch) -> None:
        for index, metric in enumerate(self.horizon_scores(stage).values()):
            metric.update(forecast[..., index], batch.target[..., index], batch.valid, batch.dates)

    def _log_scores(self, stage: str) -> None:
        """Log every score; the first horizon without a suffix, the others as ``..._h5``."""
        for index, (horizon, metric) in enumerate(self.horizon_scores(stage).items()):
            suffix = f"_h{horizon}" if index else ""
            for name, value in metric.compute().items():
                bar = name == "rank_ic" and not suffix
                self.log(f"{stage}/{name}{suffix}", value.float(), prog_bar=bar)
            metric.reset()

    # ----------------------------------------------------------------- optimizer

    def configure_optimizers(self) -> OptimizerLRScheduler:
        """Optimizer and schedule."""
        optimizer = self._make_optimizer(self.parameters())
        if self._make_scheduler is None:
            return optimizer
        scheduler = self._make_scheduler(optimizer)
        entry: dict[str, Any] = {"scheduler": scheduler, "interval": "step"}
        if isinstance(scheduler, ReduceLROnPlateau) or hasattr(scheduler, "monitor"):
            entry = {
                "scheduler": scheduler,
                "interval": "epoch",
                "monitor": getattr(scheduler, "monitor", "valid/rank_ic"),
            }
        return cast(OptimizerLRScheduler, {"optimizer": optimizer, "lr_scheduler": entry})

    # ---------------------------------------------------------------- checkpoint

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Refuse weights of other factors or another network, in the user's words.

        Raises:
            CheckpointError: if the feature names or their order differ, or the parameters do.
        """
        trained = checkpoint.get("hyper_parameters", {}).get("spec", {}).get("factors")
        if trained is not None and trained != self.spec["factors"]:
            raise CheckpointError(
                f"The checkpoint was trained on the features {trained}, but this configuration "
                f"gives {self.spec['factors']}. Use the configuration it was trained with."
            )
        if self._trainer is None or not self.strict_loading:
            return  # torch itself compares, as strictly as it was told to
        theirs = {name: list(value.shape) for name, value in checkpoint["state_dict"].items()}
        ours = {name: list(value.shape) for name, value in self.state_dict().items()}
        for name in sorted(ours.keys() | theirs.keys()):
            if ours.get(name) != theirs.get(name):
                raise CheckpointError(
                    f"The checkpoint is of another network: its {name} has shape "
                    f"{theirs.get(name, 'none')}, and this configuration makes "
                    f"{ours.get(name, 'none')}. Use the configuration it was trained with."
                )
