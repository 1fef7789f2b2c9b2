"""``quantlit prepare``: raw files in, a panel store out."""

from __future__ import annotations

import numpy as np
import pandas as pd
from jsonargparse import ArgumentParser

from quantlit.panel import PanelSource, build_panel


def run(args: list[str]) -> None:
    """Build a panel store from a source given by flags or YAML, and say what is in it."""
    parser = ArgumentParser(
        prog="quantlit prepare",
        description="Turn raw files into a memory-mapped panel store.",
        exit_on_error=False,
    )
    parser.add_argument("-c", "--config", action="config", help="YAML with the options below.")
    parser.add_subclass_arguments(PanelSource, "source", required=True, help="Where bars come from")
    parser.add_argument("--output", type=str, required=True, help="Folder of the new store.")
    parser.add_argument(
        "--overwrite", type=bool, default=False, help="Replace a store that is there already."
    )
    config = parser.instantiate(parser.parse_args(args[1:]))
    panel = build_panel(config.source, config.output, overwrite=config.overwrite)
    print(
        f"{panel.path}: {len(panel.dates)} bars from {_short(panel.dates[0])} to "
        f"{_short(panel.dates[-1])}, {len(panel.symbols)} assets, fields "
        f"{', '.join(panel.fields)}; {panel.observed.mean():.1%} of all cells observed; prices "
        f"{'adjusted' if 'factor' in panel.fields else 'as they are in the source'}."
    )


def _short(date: np.datetime64) -> str:
    """A timestamp without its time where that is midnight."""
    return str(pd.Timestamp(date)).removesuffix(" 00:00:00")
