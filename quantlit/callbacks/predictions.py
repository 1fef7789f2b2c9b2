"""PredictionWriter: the forecasts of a test or predict run as one Parquet table."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch.distributed as dist
from lightning import Callback, LightningModule, Trainer
from torch import Tensor
from typing_extensions import override

from quantlit.core import ConfigError, PanelSpec, current_world, file_sha256
from quantlit.evaluation import prediction_frame, write_predictions

Rows = tuple[npt.NDArray[Any], ...]


class _Block(Protocol):
    forecast: Tensor
    label: Tensor
    valid: Tensor
    dates: Tensor


class PredictionWriter(Callback):
    """Writes ``predictions.<test|predict>.parquet`` into the run's folder, each date once.

    The table is that of :func:`quantlit.evaluation.write_predictions`; its metadata name the
    panel's checksum, the checkpoint's SHA-256 and, from the command line, the resolved config.
    Ranks send their dates to rank 0, which sorts and writes; the file appears whole or not at all.

    Args:
        dirpath: folder of the table; by default the logger's folder.
    """

    def __init__(self, *, dirpath: str | None = None) -> None:
        self.dirpath = dirpath
        self.metadata: dict[str, str] = {}
        self.path: Path | None = None
        self._blocks: list[Rows] = []

    @override
    def on_test_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        self._keep(outputs)

    @override
    def on_predict_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        self._keep(outputs)

    @override
    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._write(trainer, pl_module, "test")

    @override
    def on_predict_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._write(trainer, pl_module, "predict")

    def _keep(self, block: _Block) -> None:
        if int(block.dates[0]) >= 0:
            tensors = (block.dates, block.forecast.float(), block.label, block.valid)
            self._blocks.append(tuple(tensor.cpu().numpy() for tensor in tensors))

    def _write(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        blocks, self._blocks = _gather(self._blocks), []
        run = trainer.log_dir  # a collective: every rank takes part
        if not trainer.is_global_zero or not blocks:
            return
        folder = self.dirpath or run or trainer.default_root_dir
        self.path = Path(folder) / f"predictions.{stage}.parquet"
        dates, forecast, label, valid = (
            np.concatenate([rows[index] for rows in blocks]) for index in range(4)
        )
        panel = getattr(getattr(trainer, "datamodule", None), "panel", None)
        if panel is None:
            raise ConfigError(
                "PredictionWriter needs a datamodule with a panel, to name dates and symbols."
            )
        spec: PanelSpec = pl_module.spec  # type: ignore[assignment]
        frame = prediction_frame(
            dates=panel.dates[dates],
            symbols=panel.symbols,
            horizons=spec["horizons"],
            forecast=forecast,
            label=label,
            valid=valid,
        )
        metadata = {"panel_checksum": panel.checksum, **self.metadata}
        if trainer.ckpt_path is not None:
            metadata["checkpoint_sha256"] = file_sha256(Path(trainer.ckpt_path))
        write_predictions(self.path, frame, metadata)


def _gather(blocks: list[Rows]) -> list[Rows]:
    """All ranks' blocks on rank 0; nothing on the others."""
    world = current_world()
    if world.size == 1:
        return blocks
    gathered: list[Any] | None = [None] * world.size if world.rank == 0 else None
    dist.gather_object(blocks, gathered, dst=0)
    return [rows for part in gathered for rows in part] if gathered else []
