"""``quantlit convert``: a panel store in, a Qlib store or a Parquet file out."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from jsonargparse import ArgumentParser, Namespace

from quantlit.cli.progress import progress_bar
from quantlit.core import ConfigError
from quantlit.panel import Panel, write_parquet, write_qlib

QLIB_ONLY = ("freq", "market", "universe")


def run_convert(args: list[str]) -> None:
    """Write a panel store in another format, given by flags or YAML, and say what was written."""
    config = _parse(args)
    for name in QLIB_ONLY:
        if config.to != "qlib" and config[name] is not None:
            raise ConfigError(
                f"--{name} is {config[name]!r}, which only a Qlib store has. Leave it out, or "
                "write one with --to qlib."
            )
    panel = Panel.open(config.panel)
    with progress_bar("assets" if config.to == "qlib" else "dates") as progress:
        if config.to == "parquet":
            path = write_parquet(
                panel, config.output, overwrite=config.overwrite, progress=progress
            )
        else:
            path = write_qlib(
                panel,
                config.output,
                freq=config.freq,
                market=config.market or "all",
                universe=config.universe,
                overwrite=config.overwrite,
                progress=progress,
            )
    print(
        f"{path}: {'Parquet file' if config.to == 'parquet' else 'Qlib store'} of "
        f"{len(panel.dates)} bars, {len(panel.symbols)} assets, fields {', '.join(panel.fields)}; "
        f"{_size(path) / 1e6:.1f} MB."
    )


def _parse(args: list[str]) -> Namespace:
    parser = ArgumentParser(
        prog="quantlit convert",
        description="Write a panel store as a Qlib store or a Parquet file.",
        exit_on_error=False,
    )
    parser.add_argument("-c", "--config", action="config", help="YAML with the options below.")
    parser.add_argument("--panel", type=str, required=True, help="Folder of the panel store.")
    parser.add_argument(
        "--to", type=Literal["qlib", "parquet"], required=True, help="What is written."
    )
    parser.add_argument(
        "--output", type=str, required=True, help="The new Qlib store's folder, or Parquet file."
    )
    parser.add_argument(
        "--freq",
        type=str | None,
        default=None,
        help="Qlib's name of the frequency, such as day or 5min; by default by the panel's bars.",
    )
    parser.add_argument(
        "--market",
        type=str | None,
        default=None,
        help="Name of the Qlib store's list of all instruments; by default all.",
    )
    parser.add_argument(
        "--universe",
        type=str | None,
        default=None,
        help="A 0/1 field whose spells become another list of instruments of the Qlib store.",
    )
    parser.add_argument(
        "--overwrite", type=bool, default=False, help="Replace what an earlier conversion wrote."
    )
    return parser.parse_args(args[1:])


def _size(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
