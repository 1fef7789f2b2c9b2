"""Bars: what a factor sees of a panel, a stretch of consecutive bars in float64."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

from quantlit.features.kernels import last_seen

Array = npt.NDArray[np.float64]

PRICE_FIELDS = frozenset({"open", "high", "low", "close", "vwap"})
"""Fields that are known only where they are positive."""

MAX_FILL = 20
"""Bars over which the last price is carried through a suspension; older prices are unknown."""


class Bars:
    """Fields of T consecutive bars of N assets, and the series that many factors share.

    Args:
        fields: ``[T, N]`` arrays by field name, prices adjusted.
        observed: ``[T, N]`` bool, the bar was really seen.
        first: ``[N]`` row of each asset's first observed bar, negative where that was before this
            stretch, T or more where it is yet to come. None: the first observed row in the stretch.
    """

    def __init__(
        self,
        fields: Mapping[str, npt.NDArray[np.floating]],
        observed: npt.NDArray[np.bool_],
        first: npt.NDArray[np.int64] | None = None,
    ) -> None:
        self.observed = np.asarray(observed, dtype=np.bool_)
        self._fields = {name: self._clean(name, values) for name, values in fields.items()}
        self._first = first

    def _clean(self, name: str, values: npt.NDArray[np.floating]) -> Array:
        known = self.observed & np.isfinite(values)
        if name in PRICE_FIELDS:
            known &= np.asarray(values) > 0
        return np.where(known, values, np.nan).astype(np.float64, copy=False)

    def __getitem__(self, name: str) -> Array:
        """``[T, N]`` float64 of a field, NaN where unknown. Do not write into it."""
        return self._fields[name]

    @cached_property
    def first(self) -> npt.NDArray[np.int64]:
        """``[N]`` row of each asset's first observed bar, see the constructor.

        The one thing known of the time before the stretch: how long an asset has been there.
        """
        return first_rows(self.observed) if self._first is None else self._first

    @cached_property
    def last_close(self) -> Array:
        """``[T, N]`` the last close seen at or before each bar, at most MAX_FILL bars old."""
        return last_seen(self["close"], MAX_FILL)

    @cached_property
    def previous_close(self) -> Array:
        """``[T, N]`` the last close seen before each bar."""
        return lag(self.last_close, 1)

    @cached_property
    def returns(self) -> Array:
        """``[T, N]`` return of each observed bar from the last close seen before it."""
        return self["close"] / self.previous_close - 1.0

    @cached_property
    def market(self) -> Array:
        """``[T, N]`` equal-weight mean return of all observed assets, the same for each asset."""
        known = np.isfinite(self.returns)
        total = np.where(known, self.returns, 0.0).sum(axis=1, keepdims=True)
        count = known.sum(axis=1, keepdims=True)
        mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        return np.ascontiguousarray(np.broadcast_to(mean, self.returns.shape))


def first_rows(observed: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Row of the first observed bar of each asset; T for one that is never seen.

    Args:
        observed: ``[T, N]`` bool.
    """
    return np.where(observed.any(axis=0), observed.argmax(axis=0), len(observed)).astype(np.int64)


def lag(x: Array, bars: int) -> Array:
    """``x`` of so many bars ago; NaN in the first rows.

    Args:
        x: ``[T, N]`` values.
        bars: how many rows to look back, at least 0.
    """
    out = np.full_like(x, np.nan)
    out[bars:] = x[: max(len(x) - bars, 0)]
    return out


def log(x: Array) -> Array:
    """Natural logarithm; NaN where ``x`` is not positive."""
    return np.log(np.where(x > 0, x, np.nan))


def ratio(numerator: Array, denominator: Array) -> Array:
    """``numerator / denominator``; NaN where the denominator is zero."""
    return numerator / np.where(denominator != 0, denominator, np.nan)
