"""Epochs under Lightning: their order, what a resumed run sees, and that it ends bitwise equal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from lightning import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from tiny_run import config, datamodule, load_checkpoint, run, write
from tiny_task import make_task, make_trainer

from quantlit.datamodules import PanelDataModule
from quantlit.samplers import TimeContiguousSampler

pytestmark = [
    pytest.mark.filterwarnings("ignore:The dirpath has changed"),
    pytest.mark.filterwarnings("ignore:Be aware that when using `ckpt_path`, callbacks"),
]
BATCHES = 10


class SeenDates(Callback):
    """The dates of every training batch, by epoch."""

    def __init__(self) -> None:
        self.epochs: dict[int, list[list[int]]] = {}

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        self.epochs.setdefault(trainer.current_epoch, []).append(batch.dates.tolist())


def _expected(data: PanelDataModule, epoch: int) -> list[list[int]]:
    sampler = TimeContiguousSampler(data.positions.train, block=data.block, seed=7)
    return [list(run) for run in sampler.runs(epoch)]


@pytest.mark.parametrize("num_workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_lightning_gives_every_epoch_its_own_order(num_workers: int, tiny_store: Path) -> None:
    data, seen = datamodule(tiny_store, seed=7, num_workers=num_workers), SeenDates()
    make_trainer(seen, max_epochs=3).fit(make_task(data), data)
    assert seen.epochs == {epoch: _expected(data, epoch) for epoch in range(3)}
    assert seen.epochs[0] != seen.epochs[1] != seen.epochs[2]


@pytest.mark.parametrize("num_workers", [0, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("stop", [4, BATCHES, 13])
def test_a_resumed_run_sees_the_rest_once_and_whole_epochs_after_it(
    stop: int, num_workers: int, tiny_store: Path, tmp_path: Path
) -> None:
    first = datamodule(tiny_store, seed=7, num_workers=num_workers)
    save = ModelCheckpoint(dirpath=tmp_path, every_n_train_steps=stop, filename="stop")
    make_trainer(save, max_steps=stop, max_epochs=4, enable_checkpointing=True).fit(
        make_task(first), first
    )
    epoch, done = divmod(stop, BATCHES)
    expected = {e: _expected(first, e) for e in range(epoch, 4)}
    expected[epoch] = expected[epoch][done:]
    assert _resumed(tmp_path / "stop.ckpt", tiny_store, num_workers) == expected


def test_a_run_that_had_ended_goes_on_with_the_next_epoch(tiny_store: Path, tmp_path: Path) -> None:
    first = datamodule(tiny_store, seed=7)
    trainer = make_trainer(max_epochs=2)
    trainer.fit(make_task(first), first)
    trainer.save_checkpoint(tmp_path / "end.ckpt")
    expected = {epoch: _expected(first, epoch) for epoch in (2, 3)}
    assert _resumed(tmp_path / "end.ckpt", tiny_store, 0) == expected


def _resumed(checkpoint: Path, store: Path, num_workers: int) -> dict[int, list[list[int]]]:
    """The dates of every batch of a run to the fourth epoch that goes on from a checkpoint."""
    data, seen = datamodule(store, seed=7, num_workers=num_workers), SeenDates()
    make_trainer(seen, max_epochs=4).fit(
        make_task(data), data, ckpt_path=checkpoint, weights_only=True
    )
    return seen.epochs


def _weights(runs: Path, version: int) -> dict[str, Any]:
    return load_checkpoint(runs / "tiny" / f"version_{version}" / "checkpoints" / "last.ckpt")


@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [0, 2])
def test_weights_after_a_resume_in_mid_epoch_are_bitwise_equal(
    num_workers: int, tiny_store: Path, tmp_path: Path
) -> None:
    callbacks = [
        {
            "class_path": "ModelCheckpoint",
            "init_args": {
                "filename": "at{step}",
                "auto_insert_metric_name": False,
                "every_n_train_steps": 15,
                "save_top_k": -1,
                "save_last": True,
            },
        },
        {"class_path": "RandomState"},
    ]
    settings = config(tiny_store, tmp_path / "runs", trainer__callbacks=callbacks)
    settings["trainer"]["max_epochs"] = 3
    settings["data"]["init_args"]["num_workers"] = num_workers
    file = write(tmp_path / "resume.yaml", settings)
    assert run("fit", "--config", file) == 0
    middle = tmp_path / "runs" / "tiny" / "version_0" / "checkpoints" / "at15.ckpt"
    assert middle.is_file()
    torch.rand(1000)  # other draws in between must not matter
    arguments = ["--config", file, "--ckpt_path", middle]
    assert run("fit", *arguments) == 0
    whole, resumed = _weights(tmp_path / "runs", 0), _weights(tmp_path / "runs", 1)
    assert whole["global_step"] == resumed["global_step"] == 3 * BATCHES
    for name, weights in whole["state_dict"].items():
        assert torch.equal(weights, resumed["state_dict"][name]), name
    for ours, theirs in zip(whole["optimizer_states"], resumed["optimizer_states"], strict=True):
        for index, state in ours["state"].items():
            for key, value in state.items():
                assert torch.equal(value, theirs["state"][index][key]), (index, key)
    assert whole["lr_schedulers"] == resumed["lr_schedulers"]
