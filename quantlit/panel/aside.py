"""Writing a file or folder aside and renaming it, so that it appears whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from quantlit.core import PanelError

Progress = Callable[[int, int], None]
"""Told how much of how much is done."""


def no_progress(done: int, total: int) -> None:
    """Tell nobody how much of how much is done."""


@contextmanager
def written_aside(
    target: Path, *, what: str, is_one: Callable[[Path], bool], overwrite: bool
) -> Iterator[Path]:
    """A path to write to; afterwards it takes the target's place, or is removed on an error.

    Args:
        target: where the file or folder is wanted; its folder is made if it is missing.
        what: what is written, for errors.
        is_one: whether something is of the kind that is written; nothing else is ever replaced.
        overwrite: replace one that is there already.

    Raises:
        PanelError: if something is at the target, or it cannot be written.
    """
    try:
        _check_target(target, what=what, is_one=is_one, overwrite=overwrite)
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise _cannot_write(target, what, error) from error
    new, old = beside / "new", beside / "old"
    try:
        yield new
        _check_target(target, what=what, is_one=is_one, overwrite=overwrite)
        if target.exists():
            target.replace(old)
        new.replace(target)
    except OSError as error:
        raise _cannot_write(target, what, error) from error
    finally:
        if old.exists() and not target.exists():
            old.replace(target)
        shutil.rmtree(beside, ignore_errors=True)


def _cannot_write(target: Path, what: str, error: OSError) -> PanelError:
    return PanelError(
        f"{target}: the {what} cannot be written ({error}). Check the disk's space and the "
        "folder's permissions, or choose another output."
    )


def _check_target(
    target: Path, *, what: str, is_one: Callable[[Path], bool], overwrite: bool
) -> None:
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not is_one(target):
        raise PanelError(
            f"{target}: there is something here that is no {what}; it is left alone. Choose "
            "another output."
        )
    if not overwrite:
        raise PanelError(
            f"{target}: there is a {what} here already. Give --overwrite true (overwrite=True) to "
            "replace it, or choose another output."
        )
