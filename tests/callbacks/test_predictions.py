from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from lightning import LightningModule, Trainer
from tiny_run import HORIZONS, N, datamodule, run
from tiny_task import make_task, make_trainer

from quantlit.callbacks import PredictionWriter
from quantlit.core import ConfigError
from quantlit.evaluation import read_predictions
from quantlit.tasks import BlockForecast

DATES = pd.bdate_range("2020-01-01", periods=20).to_numpy()
SYMBOLS = ["C", "A", "B"]


def block(*dates: int, padding: bool = False) -> BlockForecast:
    """Forecasts that say where they belong: 100 x date + 10 x asset + horizon."""
    place = torch.tensor(dates)[:, None, None] * 100.0
    place = place + torch.arange(3)[:, None] * 10.0 + torch.tensor([1.0, 5.0])
    label = place / 1e4
    label[0, 0, 0] = torch.nan
    valid = torch.ones(len(dates), 3, dtype=torch.bool)
    valid[0, 1] = False
    positions = torch.full((len(dates),), -1) if padding else torch.tensor(dates)
    return BlockForecast(place, label, valid, positions)


def fake_trainer(folder: Path, **changes: Any) -> Trainer:
    panel = SimpleNamespace(dates=DATES, symbols=SYMBOLS, checksum="c" * 64)
    settings: dict[str, Any] = {
        "log_dir": str(folder),
        "default_root_dir": str(folder / "root"),
        "is_global_zero": True,
        "datamodule": SimpleNamespace(panel=panel),
        "ckpt_path": None,
    }
    return cast(Trainer, SimpleNamespace(**{**settings, **changes}))


MODULE = cast(LightningModule, SimpleNamespace(spec={"horizons": [1, 5]}))


def write(writer: PredictionWriter, trainer: Trainer, *blocks: BlockForecast) -> None:
    for index, outputs in enumerate(blocks):
        writer.on_test_batch_end(trainer, MODULE, outputs, None, index)
    writer.on_test_epoch_end(trainer, MODULE)


def test_the_table_has_every_date_symbol_and_horizon_once_in_order(tmp_path: Path) -> None:
    write(PredictionWriter(), fake_trainer(tmp_path), block(7, 8), block(4, 5, 6))
    frame = read_predictions(tmp_path / "predictions.test.parquet").frame
    assert list(frame["date"].unique()) == list(DATES[4:9])
    assert frame["symbol"].tolist()[:6] == ["A", "A", "B", "B", "C", "C"]
    assert frame["horizon"].tolist()[:2] == [1, 5]
    assert len(frame) == 5 * 3 * 2
    row = frame[(frame["date"] == DATES[8]) & (frame["symbol"] == "B") & (frame["horizon"] == 5)]
    assert row["forecast"].item() == 825.0
    assert row["label"].item() == pytest.approx(0.0825)
    assert row["valid"].item()
    # the first date of each block has an unknown label and an invalid asset
    unknown = frame[frame["label"].isna()]
    assert unknown["symbol"].tolist() == ["C", "C"]
    assert unknown["horizon"].tolist() == [1, 1]
    assert (~frame["valid"]).sum() == 2 * 2
    assert set(frame.loc[~frame["valid"], "symbol"]) == {"A"}


def test_padding_is_left_out(tmp_path: Path) -> None:
    write(PredictionWriter(), fake_trainer(tmp_path), block(3, 4), block(3, 4, padding=True))
    frame = read_predictions(tmp_path / "predictions.test.parquet").frame
    assert list(frame["date"].unique()) == list(DATES[3:5])


def test_padding_alone_writes_nothing(tmp_path: Path) -> None:
    writer = PredictionWriter()
    write(writer, fake_trainer(tmp_path), block(3, 4, padding=True))
    assert writer.path is None
    assert list(tmp_path.iterdir()) == []


def test_other_ranks_write_nothing(tmp_path: Path) -> None:
    write(PredictionWriter(), fake_trainer(tmp_path, is_global_zero=False), block(3))
    assert list(tmp_path.iterdir()) == []


def test_a_second_run_starts_with_an_empty_table(tmp_path: Path) -> None:
    writer, trainer = PredictionWriter(), fake_trainer(tmp_path)
    write(writer, trainer, block(3, 4))
    writer.on_predict_batch_end(trainer, MODULE, block(9), None, 0)
    writer.on_predict_epoch_end(trainer, MODULE)
    frame = read_predictions(tmp_path / "predictions.predict.parquet").frame
    assert list(frame["date"].unique()) == [DATES[9]]
    tested = read_predictions(tmp_path / "predictions.test.parquet").frame
    assert list(tested["date"].unique()) == list(DATES[3:5])


def test_low_precision_is_widened(tmp_path: Path) -> None:
    outputs = block(3)
    write(
        PredictionWriter(),
        fake_trainer(tmp_path),
        outputs._replace(forecast=outputs.forecast.bfloat16()),
    )
    frame = read_predictions(tmp_path / "predictions.test.parquet").frame
    assert frame["forecast"].dtype == np.float32


@pytest.mark.parametrize(
    ("dirpath", "log_dir", "expected"),
    [("own", "logs", "own"), (None, "logs", "logs"), (None, None, "root")],
)
def test_where_it_is_written(
    dirpath: str | None, log_dir: str | None, expected: str, tmp_path: Path
) -> None:
    writer = PredictionWriter(dirpath=None if dirpath is None else str(tmp_path / dirpath))
    folder = None if log_dir is None else str(tmp_path / log_dir)
    write(writer, fake_trainer(tmp_path, log_dir=folder), block(3))
    assert writer.path == tmp_path / expected / "predictions.test.parquet"
    assert writer.path.is_file()


def test_metadata_name_panel_checkpoint_and_config(tmp_path: Path) -> None:
    checkpoint = tmp_path / "best.ckpt"
    checkpoint.write_bytes(b"weights")
    writer = PredictionWriter()
    writer.metadata["config"] = "trainer: {}\n"
    write(writer, fake_trainer(tmp_path, ckpt_path=str(checkpoint)), block(3))
    assert read_predictions(tmp_path / "predictions.test.parquet").metadata == {
        "panel_checksum": "c" * 64,
        "checkpoint_sha256": hashlib.sha256(b"weights").hexdigest(),
        "config": "trainer: {}\n",
    }


def test_without_a_panel_it_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="needs a datamodule with a panel"):
        write(PredictionWriter(), fake_trainer(tmp_path, datamodule=None), block(3))


def test_a_real_test_run_forecasts_each_date_of_the_split(tiny_store: Path, tmp_path: Path) -> None:
    data = datamodule(tiny_store)
    data.setup("fit")
    task = make_task(data)
    make_trainer(PredictionWriter(dirpath=str(tmp_path))).test(task, data, verbose=False)
    frame, metadata = read_predictions(tmp_path / "predictions.test.parquet")
    assert metadata == {"panel_checksum": data.panel.checksum}
    expected = data.panel.dates[data.positions.test]
    assert list(frame["date"].unique()) == list(expected)
    assert len(frame) == len(expected) * N * len(HORIZONS)
    with torch.no_grad():
        batch = data.tensors().block([int(data.positions.test[9])], data.window)
        forecast = task.eval()(batch)[0]
    rows = frame[frame["date"] == expected[9]]
    np.testing.assert_allclose(rows["forecast"], forecast.ravel(), atol=1e-6)
    np.testing.assert_array_equal(rows["label"], batch.target[0].ravel())
    np.testing.assert_array_equal(rows["valid"], batch.valid[0].repeat_interleave(2))


def test_from_the_command_line_the_table_carries_its_run(fitted_run: Path, tmp_path: Path) -> None:
    logs = ["--trainer.logger.init_args.save_dir", tmp_path]
    with pytest.warns(UserWarning, match="The dirpath has changed"):
        assert run("test", "--ckpt_path", fitted_run, *logs) == 0
    found = read_predictions(next(tmp_path.glob("**/predictions.test.parquet"))).metadata
    best = (fitted_run / "checkpoints" / "best.ckpt").read_bytes()
    assert found["checkpoint_sha256"] == hashlib.sha256(best).hexdigest()
    assert len(found["panel_checksum"]) == 64
    config = yaml.safe_load(found["config"])
    assert config["ckpt_path"].endswith("best.ckpt")
    assert config["data"]["init_args"]["block"] == 8
    assert config["model"]["class_path"] == "quantlit.tasks.ForecastTask"
