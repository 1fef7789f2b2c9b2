"""Pieces of a made-up market: each a pure function of its generator and a few numbers."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def autoregressive(noise: Array, persistence: float) -> Array:
    """``x[t] = persistence x[t-1] + sqrt(1 - persistence^2) noise[t]``, stationary, variance 1.

    Args:
        noise: ``[T, ...]`` independent, standard normal.
        persistence: correlation of one bar with the next.

    Returns:
        ``[T, ...]``.
    """
    if persistence == 0.0:
        return noise
    values = noise.copy()
    scale = math.sqrt(1.0 - persistence**2)
    for bar in range(1, len(noise)):
        values[bar] = persistence * values[bar - 1] + scale * noise[bar]
    return values


def suspended_bars(
    rng: np.random.Generator, shape: tuple[int, int], rate: float, length: float
) -> Mask:
    """Runs of bars without trade.

    Args:
        rng: the generator.
        shape: ``(T, N)``.
        rate: probability that a suspension starts at a bar.
        length: mean number of bars; lengths are geometric.

    Returns:
        ``[T, N]`` bool.
    """
    starts = rng.random(shape) < rate
    bars, assets = np.nonzero(starts)
    ends = np.minimum(bars + rng.geometric(1.0 / length, size=len(bars)), shape[0])
    change = np.zeros((shape[0] + 1, shape[1]), dtype=np.int64)
    np.add.at(change, (bars, assets), 1)
    np.add.at(change, (ends, assets), -1)
    return np.asarray(np.cumsum(change[:-1], axis=0) > 0)


def bar_extremes(
    close: Array, returns: Array, position: Array, width: Array, limit: float | None
) -> tuple[Array, Array]:
    """High and low such that the close stands at a given place between them.

    Args:
        close: ``[T, N]`` prices.
        returns: ``[T, N]`` of each bar since the one before, a decimal fraction.
        position: ``[T, N]`` wanted ``(close - low) / (high - low)``, in 0 to 1.
        width: ``[T, N]`` wanted ``(high - low) / close``; less where the price limit is near, and 0
            where the bar closed at its limit.
        limit: largest move from the close before; None for no limit.

    Returns:
        ``(high, low)``, both ``[T, N]``.
    """
    if limit is not None:
        room_above = (1.0 + limit) / (1.0 + returns) - 1.0
        room_below = 1.0 - (1.0 - limit) / (1.0 + returns)
        above = np.maximum(room_above, 0.0) / np.maximum(1.0 - position, 1e-12)
        below = np.maximum(room_below, 0.0) / np.maximum(position, 1e-12)
        width = np.minimum(width, np.minimum(above, below))
    return close * (1.0 + (1.0 - position) * width), close * (1.0 - position * width)


def expected_rank_ic(scale: float, noise: Array) -> float:
    """Expected Spearman correlation of ``s`` and ``scale s + noise e``, s and e standard normal.

    Exact for a finite cross-section: with ``x_i - x_j`` and ``y_i - y_k`` jointly normal, the
    expectation of the product of their signs is ``2/pi arcsin`` of their correlation (Sheppard);
    the sum over all i, j and k is Spearman's coefficient (Moran 1948, for equal noise).

    Args:
        scale: what one unit of signal adds.
        noise: ``[N]`` standard deviation of each asset's noise.

    >>> round(expected_rank_ic(1.0, np.zeros(5)), 12)
    1.0
    """
    n = len(noise)
    variances = noise**2
    total = 0.0
    for asset in range(n):
        spread = np.sqrt(2.0 * (2.0 * scale**2 + variances[asset] + np.delete(variances, asset)))
        half = scale / spread
        total += float(((n - 2) * np.arcsin(half) + np.arcsin(np.clip(2.0 * half, -1, 1))).sum())
    return 6.0 * total / (math.pi * (n**3 - n))
