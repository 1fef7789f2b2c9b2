"""``--ckpt_path``: finding a checkpoint, and putting its configuration under the user's own."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch
import yaml

from quantlit.core import CheckpointError


def with_checkpoint(args: list[str]) -> list[str]:
    """Arguments with a checkpoint's configuration read before everything the user gave.

    ``--ckpt_path`` may name a file or a folder: of a folder, the best checkpoint of its newest run
    is meant (``last`` and other words of Lightning's pass unchanged).

    Args:
        args: the command-line arguments, the command first.

    Raises:
        CheckpointError: if there is no such checkpoint, or it is not one of quantlit's.
    """
    index = _value_index(args)
    if index is None:
        return args
    prefix, _, given = args[index].rpartition("=") if "=" in args[index] else ("", "", args[index])
    path = Path(given)
    if path.is_dir():
        path = newest_checkpoint(path)
    elif not path.is_file():
        if path.suffix == ".ckpt":
            raise CheckpointError(f"There is no checkpoint {path}.")
        return args
    args = [*args]
    args[index] = f"{prefix}={path}" if prefix else str(path)
    config = checkpoint_config(path)
    if not config:
        return args
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False) as file:
        yaml.safe_dump(config, file, sort_keys=False)
    return [args[0], "--config", file.name, *args[1:]]


def newest_checkpoint(folder: Path) -> Path:
    """The best checkpoint of the newest run below a folder.

    Raises:
        CheckpointError: if there is none.
    """
    found = sorted(folder.glob("**/best.ckpt"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise CheckpointError(f"No best.ckpt below {folder}: has a `quantlit fit` finished there?")
    return found[-1]


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
        if arg.startswith("--ckpt_path="):
            return index
        if arg == "--ckpt_path" and index + 1 < len(args):
            return index + 1
    return None
