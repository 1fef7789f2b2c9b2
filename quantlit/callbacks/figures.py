"""ScoreFigures: what the scores look like, as TensorBoard images."""

from __future__ import annotations

from typing import Any, Protocol, cast

from lightning import Callback, LightningModule, Trainer
from lightning.pytorch.loggers import TensorBoardLogger
from typing_extensions import override

from quantlit.core import ConfigError
from quantlit.evaluation import cumulative_rank_ic_figure, decile_returns_figure
from quantlit.metrics import CrossSectionScores


class _Scored(Protocol):
    def horizon_scores(self, stage: str) -> dict[int, CrossSectionScores]: ...


class ScoreFigures(Callback):
    """Draws cumulative rank IC and decile returns after each validation, and after the test.

    Args:
        every_n_epochs: draw every n-th validation epoch.
    """

    def __init__(self, *, every_n_epochs: int = 1) -> None:
        if every_n_epochs < 1:
            raise ConfigError(f"every_n_epochs is {every_n_epochs}; it must be 1 or more.")
        self.every_n_epochs = every_n_epochs

    @override
    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not trainer.sanity_checking and trainer.current_epoch % self.every_n_epochs == 0:
            self._draw(trainer, pl_module, "valid")

    @override
    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._draw(trainer, pl_module, "test")

    def _draw(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        if not hasattr(pl_module, "horizon_scores"):
            return
        loggers = [log for log in trainer.loggers if isinstance(log, TensorBoardLogger)]
        panel: Any = getattr(getattr(trainer, "datamodule", None), "panel", None)
        for horizon, metric in cast(_Scored, pl_module).horizon_scores(stage).items():
            series = metric.series()  # a collective: every rank takes part
            if not trainer.is_global_zero or panel is None:
                continue
            title = f"{stage}, horizon {horizon}"
            figures = {
                "cumulative_rank_ic": cumulative_rank_ic_figure(
                    panel.dates[series.dates.numpy()], series.rank_ic, title=title
                ),
                "decile_returns": decile_returns_figure(series.deciles, title=title),
            }
            for logger in loggers:
                for name, figure in figures.items():
                    logger.experiment.add_figure(
                        f"{stage}/{name}_h{horizon}", figure, trainer.global_step, close=False
                    )
