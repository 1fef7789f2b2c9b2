"""Factor: a causal, unfitted number per bar and asset."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from quantlit.core import ConfigError
from quantlit.features.bars import MAX_FILL, Bars

Array = npt.NDArray[np.float64]


class Factor(ABC):
    """A causal number per bar and asset: it sees the present bar and ``lookback`` bars before it.

    A factor holds its parameters and nothing else: they, and the source of its module, are the key
    of the factor cache.

    Attributes:
        fields: the panel fields that it reads.
        modules: dotted names of further modules whose source belongs to the key.
        remedy: what to do where the panel lacks one of the fields; empty if nothing special.
    """

    fields: ClassVar[tuple[str, ...]] = ("close",)
    modules: ClassVar[tuple[str, ...]] = ()
    remedy: ClassVar[str] = ""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name on the feature axis, unique and stable."""

    @property
    @abstractmethod
    def lookback(self) -> int:
        """Bars before the present one on which a value may depend."""

    @abstractmethod
    def compute(self, bars: Bars) -> Array:
        """The factor on every bar.

        Args:
            bars: a stretch of T bars. Bars before it count as not observed.

        Returns:
            ``[T, N]`` float64, NaN where unknown. Values at bars that were not observed are
            dropped by the caller.
        """


class FusedFactor(Factor):
    """A factor of each asset by itself, computed with others of its class for the work they share.

    All of a class that are asked for are computed at once, on some assets and bars at a time.
    """

    @classmethod
    @abstractmethod
    def compute_together(
        cls,
        bars: Bars,
        factors: Sequence[Self],
        columns: Sequence[int],
        out: npt.NDArray[np.float32],
    ) -> None:
        """Compute several factors of this class.

        Args:
            bars: a stretch of T bars of some assets. Bars before it count as not observed, but
                ``bars.first`` says how long an asset has been there.
            factors: K of them.
            columns: K places on the feature axis.
            out: ``[R, N, F]`` for the last R bars; the factors' columns are filled, with finite
                numbers or NaN. Values at bars that were not observed are dropped by the caller.
        """

    def compute(self, bars: Bars) -> Array:
        """The factor on every bar, by itself.

        Args:
            bars: a stretch of T bars. Bars before it count as not observed.

        Returns:
            ``[T, N]`` float64 (of float32 precision), NaN where unknown.
        """
        out = np.empty((*bars.observed.shape, 1), dtype=np.float32)
        self.compute_together(bars, [self], [0], out)
        return out[:, :, 0].astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class BarFactor(Factor):
    """A factor of one bar, or of one bar and the close before it."""

    stem: ClassVar[str]

    @property
    def name(self) -> str:
        """The stem."""
        return self.stem

    @property
    def lookback(self) -> int:
        """One bar, carried over a suspension of at most MAX_FILL bars."""
        return 1 + MAX_FILL


@dataclass(frozen=True, kw_only=True)
class WindowFactor(Factor):
    """A factor of the last ``window`` bars; it needs at least half of them to be observed.

    Args:
        window: bars in the window, the present one included.

    Raises:
        ConfigError: if the window is shorter than the factor's shortest.
    """

    stem: ClassVar[str]
    shortest: ClassVar[int] = 2

    window: int

    def __post_init__(self) -> None:
        if self.window < self.shortest:
            raise ConfigError(
                f"The factor {self.stem} has window {self.window}; give at least {self.shortest}."
            )

    @property
    def name(self) -> str:
        """Stem and window, e.g. ``volatility_20``."""
        return f"{self.stem}_{self.window}"

    @property
    def lookback(self) -> int:
        """The window, and the close before it carried over at most MAX_FILL bars."""
        return self.window + MAX_FILL

    @property
    def min_count(self) -> int:
        """Known values that a window needs: half of it, rounded up."""
        return max(self.shortest, (self.window + 1) // 2)
