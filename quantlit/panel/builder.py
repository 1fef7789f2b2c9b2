"""build_panel: from a source to a store on disk, whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from filelock import FileLock

from quantlit.core import DataError, PanelError, file_sha256
from quantlit.panel.aside import Progress, no_progress
from quantlit.panel.calendar import bars_per_year, session_ids
from quantlit.panel.manifest import MANIFEST, ArrayEntry, Manifest, read_manifest
from quantlit.panel.paths import expand_path
from quantlit.panel.sources.base import PanelSource, RawPanel
from quantlit.panel.sources.records import BadRow
from quantlit.panel.sources.screen import BadRowsError, read_report, report_frame
from quantlit.panel.store import Panel
from quantlit.panel.workspace import Workspace

BUILDING = "building"
"""The file that says for which source an unfinished store is."""

DROPPED = "dropped.csv"
"""The report of the rows that a store's source left out."""


def build_panel(
    source: PanelSource,
    path: str | Path,
    overwrite: bool = False,
    progress: Progress = no_progress,
) -> Panel:
    """Load a source and keep it as a store; a store made from the same source is opened as it is.

    The store is written into a folder beside ``path``, flushed to disk and renamed: a crash leaves
    the store that was there before, or none, and the next build of the same source goes on from
    what had been read. Where several processes build at once, one does it and the others open what
    it made.

    Args:
        source: where the bars come from.
        path: the store's folder; ``~`` and environment variables are filled in.
        overwrite: replace a store that is there already, even one made from the same source.
        progress: told how much of how much of the source has been read.

    Returns:
        The store, opened.

    Raises:
        DataError: if the source's data are wrong; nothing is written.
        PanelError: if something else is at ``path``, or it cannot be written.
        ConfigError: if the path names an environment variable that is not set.
    """
    folder = expand_path(path)
    fingerprint = source.fingerprint()
    with replaced_store(folder) as replacement:
        if not _is_up_to_date(folder, fingerprint, overwrite=overwrite):
            with replacement(fingerprint, progress) as workspace:
                raw = source.build(workspace)
                raw.check()
                write_store(raw, source.describe(), fingerprint, workspace)
        _clear(folder)
    return Panel.open(folder)


@contextmanager
def replaced_store(
    folder: Path,
) -> Iterator[Callable[[str, Progress], AbstractContextManager[Workspace]]]:
    """Be the only one to write at ``folder``; gives what makes a new store there.

    Args:
        folder: where the store is wanted.

    Yields:
        A function of a fingerprint and a progress: a context with the workspace of the store to be,
        which takes its place at the end. An interruption leaves the workspace for the next attempt
        with the same fingerprint, an error nothing.

    Raises:
        PanelError: if nothing can be written there.
    """

    @contextmanager
    def replacement(fingerprint: str, progress: Progress) -> Iterator[Workspace]:
        try:
            yield _workspace(_aside(folder), fingerprint, progress)
            _move_into_place(folder)
        except OSError as error:
            _clear(folder)
            raise _cannot_write(folder, error) from error
        except BadRowsError as error:
            _clear(folder)
            raise _listed(error, folder) from error
        except Exception:
            _clear(folder)
            raise

    with _locked(folder):
        _recover(folder)
        yield replacement


def _listed(error: BadRowsError, folder: Path) -> DataError:
    """The error with the file that lists all bad rows."""
    path = folder.parent / f"{folder.name}.bad_rows.csv"
    report_frame(error.rows).to_csv(path, index=False)
    return DataError(f"{error}They are listed in {path}. Nothing was built.")


def _workspace(folder: Path, fingerprint: str, progress: Progress) -> Workspace:
    """The folder of the store to be; an interrupted build of the same source goes on in it."""
    owner = folder / BUILDING
    if not owner.is_file() or owner.read_text(encoding="utf-8") != fingerprint:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        owner.write_text(fingerprint, encoding="utf-8")
    return Workspace(folder, progress)


def _clear(folder: Path) -> None:
    shutil.rmtree(_aside(folder), ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Be the only process that builds at ``folder``; wait for another one to finish."""
    lock = FileLock(folder.parent / f".{folder.name}.lock")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except OSError as error:
        raise _cannot_write(folder, error) from error
    try:
        yield
    finally:
        lock.release()


def _cannot_write(folder: Path, error: OSError) -> PanelError:
    return PanelError(
        f"{folder}: the panel store cannot be written ({error}). Check the disk's space and the "
        "folder's permissions, or choose another output."
    )


def _aside(folder: Path) -> Path:
    """Where a store is written before it is whole."""
    return folder.parent / f".{folder.name}.partial"


def _old(folder: Path) -> Path:
    """Where the store before waits while the new one is moved into its place."""
    return folder.parent / f".{folder.name}.old"


def _recover(folder: Path) -> None:
    """Put back what a crash may have moved; only the holder of the lock may call it."""
    old = _old(folder)
    if old.exists() and not folder.exists():
        old.replace(folder)
    shutil.rmtree(old, ignore_errors=True)


def _is_up_to_date(folder: Path, fingerprint: str, *, overwrite: bool) -> bool:
    """Whether the store at ``folder`` can stay; raise if what is there must not be replaced."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    if not (folder / MANIFEST).is_file():
        raise PanelError(
            f"{folder}: there is something here that is not a panel store; it is left alone. "
            "Choose another output."
        )
    if overwrite:
        return False
    if read_manifest(folder).fingerprint == fingerprint:
        return True
    raise PanelError(
        f"{folder}: there is a panel store here already, made from another source, other settings "
        "or older files. Give --overwrite true to replace it, or choose another output."
    )


def write_store(
    raw: RawPanel, source: dict[str, str], fingerprint: str, workspace: Workspace
) -> None:
    """Write and flush every file of the store, the manifest last, and leave nothing else."""
    folder = workspace.folder
    if raw.dropped:
        report_frame(raw.dropped).to_csv(folder / DROPPED, index=False)
        source = source | {"dropped": str(len(raw.dropped))}
    sessions = session_ids(raw.dates)
    arrays: dict[str, npt.NDArray[Any]] = {
        "values": raw.values,
        "observed": raw.observed,
        "dates": raw.dates,
        "sessions": sessions,
    }
    manifest = Manifest(
        fields=list(raw.fields),
        symbols=list(raw.symbols),
        bars_per_year=bars_per_year(sessions),
        arrays={name: _write_array(folder / f"{name}.npy", a) for name, a in arrays.items()},
        source=source,
        fingerprint=fingerprint,
    )
    path = folder / MANIFEST
    path.write_text(manifest.dumps(), encoding="utf-8")
    _flush(path)
    shutil.rmtree(workspace.parts, ignore_errors=True)
    (folder / BUILDING).unlink()
    _flush(folder)


def dropped_rows(folder: Path) -> tuple[BadRow, ...]:
    """The rows that the sources of a store left out."""
    path = folder / DROPPED
    return read_report(path) if path.exists() else ()


def _write_array(path: Path, array: npt.NDArray[Any]) -> ArrayEntry:
    if isinstance(array, np.memmap) and path.exists() and path.samefile(str(array.filename)):
        array.flush()
    else:
        np.save(path, np.ascontiguousarray(array), allow_pickle=False)
    _flush(path)
    return ArrayEntry(
        shape=array.shape,
        dtype=str(array.dtype),
        bytes=path.stat().st_size,
        sha256=file_sha256(path),
    )


def _flush(path: Path) -> None:
    """Make the operating system write a file, or a folder's entries, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _move_into_place(folder: Path) -> None:
    """Rename the finished store; the one before waits aside and is removed last."""
    old = _old(folder)
    if folder.exists():
        folder.replace(old)
    _aside(folder).replace(folder)
    _flush(folder.parent)
    shutil.rmtree(old, ignore_errors=True)
