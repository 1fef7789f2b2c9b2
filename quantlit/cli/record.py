"""RunConfig: the resolved configuration of a run, as a file and as text in TensorBoard."""

from __future__ import annotations

from typing import Any

import yaml
from lightning import LightningModule, Trainer
from lightning.pytorch.cli import SaveConfigCallback
from lightning.pytorch.loggers import TensorBoardLogger
from typing_extensions import override


class RunConfig(SaveConfigCallback):
    """Saves ``config.<command>.yaml`` in the run's folder and shows it in TensorBoard's texts."""

    @override
    def save_config(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Write the configuration as text for every TensorBoard logger."""
        text = self.parser.dump(self.config, skip_none=False)
        command = trainer.state.fn.value if trainer.state.fn is not None else stage
        for logger in trainer.loggers:
            if isinstance(logger, TensorBoardLogger):
                logger.experiment.add_text(f"config/{command}", f"```yaml\n{text}\n```")

    @staticmethod
    def dump(config: dict[str, Any]) -> str:
        """A configuration as YAML."""
        return yaml.safe_dump(config, sort_keys=False)
