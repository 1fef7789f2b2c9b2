"""A small Qlib store written number by number, for the tests of what reads and writes them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

NAN = float("nan")
DAYS = ("2020-01-02", "2020-01-03", "2020-01-06", "2020-01-07", "2020-01-08", "2020-01-09")
CLOSES = {"SH600000": (0, [10.0, 11.0, 12.0, 11.5, 11.0, 12.0]), "SZ000001": (1, [5.0, NAN, 6.0])}
SPELLS = (
    "SZ000001\t2020-01-03\t2020-01-07",
    "SH600000\t2020-01-02\t2020-01-09",
)
"""Of the market ``all``: first and last bar of each asset."""


def write_bin(file: Path, start: float, numbers: Sequence[float]) -> None:
    """A start index and numbers as little-endian float32."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(struct.pack(f"<{len(numbers) + 1}f", start, *numbers))


def write_lines(file: Path, lines: Sequence[str]) -> None:
    """A line of text each."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_store(folder: Path, freq: str = "day", dates: Sequence[str] = DAYS) -> Path:
    """Six bars of SH600000 and three of SZ000001, the second of them missing.

    Fields: change, close, factor, open and volume of both; vwap of SH600000 alone.
    """
    write_lines(folder / "calendars" / f"{freq}.txt", dates)
    write_lines(folder / "calendars" / f"{freq}_future.txt", [*dates, "2020-01-10"])
    write_lines(folder / "instruments" / "all.txt", SPELLS)
    for symbol, (start, closes) in CLOSES.items():
        own = folder / "features" / symbol.lower()
        fields = {
            "close": closes,
            "open": [close - 0.25 for close in closes],
            "volume": [1000.0] * len(closes),
            "factor": [0.5] * len(closes),
            "change": [0.0] * len(closes),
        }
        if symbol == "SH600000":
            fields["vwap"] = closes
        for name, numbers in fields.items():
            write_bin(own / f"{name}.{freq}.bin", start, numbers)
    return folder
