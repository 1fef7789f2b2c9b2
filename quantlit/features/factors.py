"""Factor: a causal, unfitted number per bar and asset."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

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
    """

    fields: ClassVar[tuple[str, ...]] = ("close",)
    modules: ClassVar[tuple[str, ...]] = ()

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
