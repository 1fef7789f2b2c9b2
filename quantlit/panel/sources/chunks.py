"""Chunks: clean rows of a long table, in small files that an interrupted build goes on from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from quantlit.panel.sources.records import BadRow, Records, Rows

ROWS = 1 << 16
"""Rows of a chunk: what is held in memory of a file of any size."""


@dataclass(frozen=True)
class Chunk:
    """M clean rows of one file.

    Attributes:
        file: name of the file.
        unit: what places count.
        columns: the file's own name of each column.
        zone: time zone in which the dates were written; empty where none was.
        end: rows of the file up to the last of these, bad and empty ones included.
        bad: rows left out.
        places: ``[M]`` each row's place in its file.
        moments: ``[U]`` int64 nanoseconds, the dates that are in it.
        bars: ``[M]`` int32 position of each row's date in ``moments``.
        names: ``[V]`` the symbols that are in it.
        assets: ``[M]`` int32 position of each row's symbol in ``names``.
        numbers: ``[M]`` float64 columns, by quantlit's name.
    """

    file: str
    unit: str
    columns: dict[str, str]
    zone: str
    end: int
    bad: list[BadRow]
    places: Rows
    moments: Rows
    bars: npt.NDArray[np.int32]
    names: npt.NDArray[np.str_]
    assets: npt.NDArray[np.int32]
    numbers: dict[str, npt.NDArray[np.float64]]

    def records(self) -> Records:
        """The rows as a table, for errors."""
        moments = pd.to_datetime(self.moments)
        texts = [str(moment).removesuffix(" 00:00:00") for moment in moments]
        frame = pd.DataFrame(
            {
                "date": np.array(texts, dtype=object)[self.bars],
                "symbol": self.names[self.assets],
                **self.numbers,
            }
        )
        return Records(frame, self.columns, self.file, self.places, self.unit, self.end)


class ChunkFile:
    """A chunk on disk; its parts are read one by one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with np.load(path, allow_pickle=False) as parts:
            head = json.loads(str(parts["head"]))
            self.columns: dict[str, str] = head["columns"]
            self.moments: Rows = parts["moments"]
            self.names: npt.NDArray[np.str_] = parts["names"]
        self.file: str = head["file"]
        self.unit: str = head["unit"]
        self.zone: str = head["zone"]
        self.end: int = head["end"]
        self.bad = [BadRow(**row) for row in head["bad"]]
        self.numbers = [name for name in self.columns if name not in ("date", "symbol")]

    def __len__(self) -> int:
        return len(self.part("bars"))

    def part(self, name: str) -> npt.NDArray[Any]:
        """``[M]`` the places, bars, assets, or a column of numbers."""
        with np.load(self._path, allow_pickle=False) as parts:
            return np.asarray(parts[name if name in ("places", "bars", "assets") else f"_{name}"])

    def load(self) -> Chunk:
        """The whole chunk."""
        return Chunk(
            file=self.file,
            unit=self.unit,
            columns=self.columns,
            zone=self.zone,
            end=self.end,
            bad=self.bad,
            places=self.part("places"),
            moments=self.moments,
            bars=self.part("bars"),
            names=self.names,
            assets=self.part("assets"),
            numbers={name: self.part(name) for name in self.numbers},
        )


class ChunkStore:
    """The chunks of a source's files, in the order of files and rows.

    Args:
        folder: where they are kept; what an interrupted build left there is taken up.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)

    def is_whole(self, file: int) -> bool:
        """Whether all chunks of a file are here."""
        return (self._folder / f"{file:06d}.whole").exists()

    def mark_whole(self, file: int) -> None:
        """Say that all chunks of a file are here."""
        (self._folder / f"{file:06d}.whole").touch()

    def rows(self, file: int) -> int:
        """How many rows of a file have been read into chunks."""
        paths = self._paths(file)
        return ChunkFile(paths[-1]).end if paths else 0

    def add(self, file: int, chunk: Chunk) -> None:
        """Write the next chunk of a file."""
        path = self._folder / f"{file:06d}.{len(self._paths(file)):06d}.npz"
        head = {
            name: getattr(chunk, name) for name in ("file", "unit", "columns", "zone", "end")
        } | {"bad": [asdict(row) for row in chunk.bad]}
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file_object:
            np.savez(
                file_object,
                allow_pickle=False,
                head=np.array(json.dumps(head)),
                places=chunk.places,
                moments=chunk.moments,
                bars=chunk.bars,
                names=chunk.names,
                assets=chunk.assets,
                **{f"_{name}": numbers for name, numbers in chunk.numbers.items()},
            )
        partial.replace(path)

    def __iter__(self) -> Iterator[ChunkFile]:
        return (ChunkFile(path) for path in sorted(self._folder.glob("*.npz")))

    def _paths(self, file: int) -> Sequence[Path]:
        return sorted(self._folder.glob(f"{file:06d}.*.npz"))
