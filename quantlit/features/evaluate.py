"""evaluate_factors: factors of a whole panel, in pieces and in threads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from quantlit.core import ConfigError
from quantlit.features import kernels
from quantlit.features.bars import Bars, first_rows
from quantlit.features.factors import Factor, FusedFactor
from quantlit.panel import Panel

CHUNK_CELLS = 2**20
"""Bars times assets that a thread works on at a time: about 8 MiB for each series it holds."""

FUSED_ASSETS = 16
"""Assets that a thread takes at a time for fused factors, which look at one asset each."""

FUSED_CELLS = 2**14
"""Bars times assets that a thread works on at a time for fused factors."""

Features = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Piece:
    """Bars and assets of which a thread computes some factors.

    Args:
        rows: the bars.
        assets: the assets.
        columns: places of the factors on the feature axis.
    """

    rows: slice
    assets: slice
    columns: Sequence[int]


def evaluate_factors(
    panel: Panel, factors: Sequence[Factor], out: Features | None = None
) -> Features:
    """Compute the factors in pieces, each with the lookback before its bars, in threads.

    Memory beyond the result is bounded by a piece's size, and no value depends on it.

    Args:
        panel: the store.
        factors: the factors, in the order of the feature axis.
        out: ``[T, N, F]`` float32 to write into; made if not given.

    Returns:
        ``[T, N, F]`` float32, NaN where unknown.
    """
    n_bars, n_assets = panel.observed.shape
    if out is None:
        out = np.empty((n_bars, n_assets, len(factors)), dtype=np.float32)
    first = first_rows(panel.observed)
    threads = torch.get_num_threads()
    with ThreadPoolExecutor(threads) as pool:
        runs = [
            pool.submit(_compute, panel, first, factors, piece, out)
            for piece in _pieces(factors, n_bars, n_assets, threads)
        ]
        for run in runs:
            run.result()
    return out


def _pieces(factors: Sequence[Factor], n_bars: int, n_assets: int, threads: int) -> Iterator[Piece]:
    """Runs of bars of all assets for plain factors; of some assets for each fused class."""
    kinds: dict[type[Factor] | None, list[int]] = defaultdict(list)
    for column, factor in enumerate(factors):
        kinds[type(factor) if isinstance(factor, FusedFactor) else None].append(column)
    for kind, columns in kinds.items():
        width = max(1, n_assets if kind is None else min(n_assets, FUSED_ASSETS))
        cells = CHUNK_CELLS if kind is None else FUSED_CELLS
        share = -(-n_bars * -(-n_assets // width) // threads)  # a piece for each thread at least
        length = max(1, min(cells // width, share))
        for start in range(0, n_bars, length):
            rows = slice(start, min(start + length, n_bars))
            for asset in range(0, n_assets, width):
                yield Piece(rows, slice(asset, min(asset + width, n_assets)), columns)


def _compute(
    panel: Panel,
    first: npt.NDArray[np.int64],
    factors: Sequence[Factor],
    piece: Piece,
    out: Features,
) -> None:
    """Fill a piece of ``out``."""
    members = [factors[column] for column in piece.columns]
    start = max(0, piece.rows.start - max(factor.lookback for factor in members))
    seen = slice(start, piece.rows.stop), piece.assets
    fields = sorted({field for factor in members for field in factor.fields})
    bars = Bars(
        {name: panel.field(name)[seen] for name in fields},
        panel.observed[seen],
        first[piece.assets] - start,
    )
    target = out[piece.rows, piece.assets]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        fused = [factor for factor in members if isinstance(factor, FusedFactor)]
        if fused:  # then all of them are, and of one class
            type(fused[0]).compute_together(bars, fused, piece.columns, target)
            own = bars.observed[len(bars.observed) - len(target) :]
            kernels.hide(own, np.array(piece.columns), target)
        else:
            _compute_each(bars, members, piece.columns, target)


def _compute_each(
    bars: Bars, factors: Sequence[Factor], columns: Sequence[int], out: Features
) -> None:
    """Fill columns of ``out [R, N, F]`` for the last R bars, one factor after the other."""
    keep = slice(len(bars.observed) - len(out), None)
    for column, factor in zip(columns, factors, strict=True):
        values = np.asarray(factor.compute(bars), dtype=np.float64)
        if values.shape != bars.observed.shape:
            raise ConfigError(
                f"The factor {factor.name} gave values of shape {values.shape} for bars of "
                f"shape {bars.observed.shape}; compute must return [T, N]."
            )
        kernels.store(values[keep], bars.observed[keep], out[:, :, column])
