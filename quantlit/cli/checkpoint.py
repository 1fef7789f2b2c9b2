"""``--ckpt_path``: finding a checkpoint, and putting its configuration under the user's own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import yaml
from jsonargparse import Namespace

from quantlit.core import CheckpointError

_FLAG = "--ckpt_path="
_WORDS = ("last", "hpc", "registry", "null")
"""What Lightning takes in the place of a path."""


@contextmanager
def with_checkpoint(args: list[str]) -> Iterator[list[str]]:
    """Arguments with a checkpoint's configuration read before everything the user gave.

    ``--ckpt_path`` may name a file or a folder: of a folder, the newest run's best checkpoint is
    meant, and for ``fit`` its last one (``last`` and other words of Lightning's pass unchanged).
    Commands other than ``fit`` write into the folder of the run that the checkpoint came from.

    Args:
        args: the command-line arguments, the command first.

    Raises:
        CheckpointError: if there is no such checkpoint, or it cannot be read.
    """
    index = _value_index(args)
    path = None if index is None else _find(args[index].removeprefix(_FLAG), args[0])
    if index is None or path is None:
        yield args
        return
    flag = _FLAG if args[index].startswith(_FLAG) else ""
    config = checkpoint_config(path)
    if args[0] != "fit":
        config |= run_folder_config(path)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "checkpoint.yaml"
        file.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
        yield [
            args[0],
            f"--config={file}",
            *args[1:index],
            f"{flag}{path}",
            *args[index + 1 :],
        ]


def _find(given: str, command: str) -> Path | None:
    path = Path(given)
    if path.is_dir():
        return newest_checkpoint(path, "last.ckpt" if command == "fit" else "best.ckpt")
    if path.is_file():
        return path
    if given in _WORDS or ":" in given:  # `registry:name`, or the address of a remote file
        return None
    raise CheckpointError(
        f"There is no checkpoint or run folder {path}. Name a .ckpt file, or a folder below which "
        "`quantlit fit` wrote one."
    )


def newest_checkpoint(folder: Path, name: str) -> Path:
    """The checkpoint of that name which was written last, anywhere below a folder.

    Raises:
        CheckpointError: if there is none.
    """
    found = sorted(folder.glob(f"**/{name}"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise CheckpointError(f"No {name} below {folder}: has a `quantlit fit` written there?")
    return found[-1]


def run_folder_config(path: Path) -> dict[str, Any]:
    """Logger settings that continue in the folder of the checkpoint's run; empty outside a run."""
    run = path.resolve().parent.parent
    if not (run / "config.fit.yaml").is_file():
        return {}
    folder = path.parent.parent
    logger = {
        "class_path": "lightning.pytorch.loggers.TensorBoardLogger",
        "init_args": {
            "save_dir": str(folder.parent.parent),
            "name": folder.parent.name,
            "version": folder.name,
            "default_hp_metric": False,
        },
    }
    return {"trainer": {"logger": logger}}


def keep_to_own_run(config: Namespace) -> None:
    """Drop the version folder of a checkpoint's run where the user named another place.

    Its number says nothing there, and the folder that has it would be another run's.
    """
    logger = config.get("trainer.logger.init_args")
    if config.get("ckpt_path") is None or logger is None or logger.get("version") is None:
        return
    run = Path(config.ckpt_path).resolve().parent.parent
    folder = Path(logger.save_dir, logger.get("name") or "").resolve()
    if logger.version == run.name and folder != run.parent:
        logger.version = None


def checkpoint_config(path: Path) -> dict[str, Any]:
    """The data and model configuration a checkpoint was trained with; empty if it has none.

    Raises:
        CheckpointError: if the file cannot be read as a checkpoint.
    """
    try:
        checkpoint = torch.load(path, weights_only=True, map_location="cpu", mmap=True)
    except Exception as error:
        raise CheckpointError(f"{path} cannot be read as a checkpoint: {error}") from error
    config: dict[str, Any] = {}
    for key, entry in (("data", "datamodule_hyper_parameters"), ("model", "hyper_parameters")):
        values = dict(checkpoint.get(entry, {}))
        values.pop("_instantiator", None)
        values.pop("spec", None)  # linked from the data, not configured
        class_path = values.pop("_class_path", None)
        if class_path is not None:
            config[key] = {"class_path": class_path, "init_args": values}
    return config


def _value_index(args: list[str]) -> int | None:
    for index, arg in enumerate(args):
        if arg.startswith(_FLAG):
            return index
        if arg == "--ckpt_path" and index + 1 < len(args):
            return index + 1
    return None
