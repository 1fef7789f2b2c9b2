"""The shipped configs on the data they were made for."""

from __future__ import annotations

from pathlib import Path

import pytest
from lightning.pytorch.callbacks import ModelCheckpoint

from quantlit.cli.configs import configs_dir
from quantlit.cli.lightning import QuantlitCLI, run_trainer
from quantlit.panel import SyntheticSource

pytestmark = pytest.mark.slow


def _fit(folder: Path, *options: str) -> QuantlitCLI:
    return run_trainer(
        [
            "fit",
            *options,
            "--trainer.enable_progress_bar=false",
            f"--trainer.logger.init_args.save_dir={folder}",
            f"--data.init_args.cache_dir={folder / 'cache'}",
        ]
    )


def test_the_quickstart_model_recovers_a_planted_signal(tmp_path: Path) -> None:
    cli = _fit(
        tmp_path,
        f"--config={configs_dir() / 'quickstart.yaml'}",
        f"--config={configs_dir() / 'overlays' / 'synthetic.yaml'}",
    )
    best = cli.trainer.checkpoint_callback
    assert isinstance(best, ModelCheckpoint)
    cli.trainer.test(
        cli.model, datamodule=cli.datamodule, ckpt_path=best.best_model_path, verbose=False
    )
    source = cli.datamodule.panel_source
    assert isinstance(source, SyntheticSource)
    planted = source.planted_signal()
    found = float(cli.trainer.callback_metrics["test/rank_ic"])
    assert found >= 0.9 * planted.rank_ic
    assert found <= 1.1 * planted.rank_ic


def test_csi800_learns_in_two_epochs(
    tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUANTLIT_DATA", str(data_dir))
    cli = _fit(tmp_path, f"--config={configs_dir() / 'csi800_lstm.yaml'}", "--trainer.max_epochs=2")
    assert float(cli.trainer.callback_metrics["valid/dates_used"]) == 79
    assert float(cli.trainer.callback_metrics["valid/rank_ic"]) > 0.06
