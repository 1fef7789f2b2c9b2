"""``quantlit prepare``: raw files in, a panel store out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
from jsonargparse import ArgumentParser, Namespace

from quantlit.cli.progress import progress_bar
from quantlit.core import ConfigError
from quantlit.panel import OnBadRows, Panel, PanelSource, append_panel, build_panel

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


def run(args: list[str]) -> None:
    """Build a panel store from a source given by flags or YAML, and say what is in it."""
    parser = _parser()
    config = parser.parse_args([_spelled(arg) for arg in args[1:]])
    if config.on_bad_rows is not None:
        _set_policy(config)
    if config.source is None and not config.verify:
        raise ConfigError("There is no --source; name one, or give --verify to check a store.")
    if config.source is None:
        panel = Panel.open(config.output, verify=True)
    else:
        panel = _build(parser.instantiate(config))
    _say(panel)
    if config.verify:
        Panel.open(config.output, verify=True)
        print(f"{panel.path}: all checksums are right.")


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="quantlit prepare",
        description="Turn raw files into a memory-mapped panel store.",
        exit_on_error=False,
    )
    parser.add_argument("-c", "--config", action="config", help="YAML with the options below.")
    parser.add_subclass_arguments(PanelSource, "source", required=False, help="Where bars are from")
    parser.add_argument("--output", type=str, required=True, help="Folder of the store.")
    parser.add_argument(
        "--overwrite", type=bool, default=False, help="Replace a store that is there already."
    )
    parser.add_argument(
        "--append",
        type=bool,
        default=False,
        help="Add the source's bars after the store's last one to it.",
    )
    parser.add_argument(
        "--on-bad-rows",
        type=OnBadRows | None,
        default=None,
        help="What a row that cannot be a bar gets: error stops at the first, drop leaves all out "
        "and lists them in the store, report lists them instead of building.",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="Read every file of the store and compare its checksum; needs no source.",
    )
    return parser


def _spelled(arg: str) -> str:
    """An option as its parser wants it."""
    return arg.replace("--on_bad_rows", "--on-bad-rows", 1)


def _set_policy(config: Namespace) -> None:
    """Give the source the policy that was asked for beside it."""
    if config.source is None or "on_bad_rows" not in config.source.init_args:
        raise ConfigError(
            "--on-bad-rows is for sources of tables (CsvSource, ParquetSource); its values are "
            f"{', '.join(get_args(OnBadRows))}."
        )
    config.source.init_args.on_bad_rows = config.on_bad_rows


def _build(config: Namespace) -> Panel:
    if config.append and config.overwrite:
        raise ConfigError("--append adds to a store and --overwrite replaces it; give one of them.")
    try:
        with progress_bar("bytes") as progress:
            if config.append:
                return append_panel(config.source, config.output, progress)
            return build_panel(config.source, config.output, config.overwrite, progress)
    except KeyboardInterrupt:
        print(
            "quantlit prepare: interrupted; the same command goes on from what has been read.",
            file=sys.stderr,
        )
        sys.exit(INTERRUPTED)


def _say(panel: Panel) -> None:
    print(
        f"{panel.path}: {len(panel.dates)} bars from {_short(panel.dates[0])} to "
        f"{_short(panel.dates[-1])}, {len(panel.symbols)} assets, fields "
        f"{', '.join(panel.fields)}; {panel.observed.mean():.1%} of all cells observed; prices "
        f"{'adjusted' if 'factor' in panel.fields else 'as they are in the source'}."
    )
    dropped = Path(panel.path) / "dropped.csv"
    if dropped.exists():
        count = len(pd.read_csv(dropped))
        print(f"{count} bad row{'s were' if count > 1 else ' was'} left out, see {dropped}.")


def _short(date: np.datetime64) -> str:
    """A timestamp without its time where that is midnight."""
    return str(pd.Timestamp(date)).removesuffix(" 00:00:00")
