"""A progress bar on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as ProgressBar

from quantlit.panel.aside import Progress, no_progress


@contextmanager
def progress_bar(unit: str) -> Iterator[Progress]:
    """A bar on stderr where that is a terminal; it goes when it is full.

    Args:
        unit: what is counted; ``bytes`` are shown with their rate.
    """
    if not sys.stderr.isatty():
        yield no_progress
        return
    counted: list[ProgressColumn] = [MofNCompleteColumn()]
    if unit == "bytes":
        counted = [DownloadColumn(), TransferSpeedColumn()]
    columns = (TextColumn("{task.description}"), BarColumn(), *counted, TimeRemainingColumn())
    with ProgressBar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(unit, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
