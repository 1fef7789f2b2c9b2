"""AlphaFactor: one of Qlib's Alpha158 and Alpha360 factors."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from quantlit.core import ConfigError
from quantlit.features.alpha.passes import PASS_OF, VWAP_PASSES, Pass
from quantlit.features.alpha.series import AssetSeries
from quantlit.features.bars import Bars
from quantlit.features.factors import FusedFactor


@dataclass(frozen=True, kw_only=True)
class AlphaFactor(FusedFactor):
    """A factor of Qlib's Alpha158 or Alpha360, by Qlib's name and with Qlib's value.

    Qlib's rules hold, not those of the other factors: a window of whatever length yields a value
    from its first known bar on, no price is carried over a suspension, and shares in number count
    unknown bars of the window (see the kernels).

    Args:
        stem: Qlib's name without the window, e.g. ``ROC``.
        window: bars in the window, or for a plain price or volume (``CLOSE``) how many bars ago it
            is; None for the shapes of a candle (``KMID``), which have none.
        vwap: for the stem ``VWAP``, where the volume-weighted average price comes from: ``field``
            reads the panel's, ``ohlc4`` takes (open + high + low + close) / 4 in its place.

    Raises:
        ConfigError: if the stem is unknown, or the window or ``vwap`` does not fit it.
    """

    modules: ClassVar[tuple[str, ...]] = (
        "quantlit.features.alpha.bar_kernels",
        "quantlit.features.alpha.cells",
        "quantlit.features.alpha.line_kernel",
        "quantlit.features.alpha.move_kernel",
        "quantlit.features.alpha.order_kernel",
        "quantlit.features.alpha.pair_kernel",
        "quantlit.features.alpha.passes",
        "quantlit.features.alpha.range_kernel",
        "quantlit.features.alpha.series",
    )

    stem: str
    window: int | None = None
    vwap: Literal["field", "ohlc4"] = "field"

    def __post_init__(self) -> None:
        if self.stem != "VWAP" and self.stem not in PASS_OF:
            words = difflib.get_close_matches(self.stem, [*PASS_OF, "VWAP"], n=3)
            nearest = f" Did you mean {', '.join(words)}?" if words else ""
            raise ConfigError(f"There is no alpha factor with the stem {self.stem!r}.{nearest}")
        if self.vwap not in VWAP_PASSES or (self.vwap != "field" and self.stem != "VWAP"):
            raise ConfigError(
                f"The factor {self.stem} has vwap {self.vwap!r}; VWAP takes 'field' or 'ohlc4', "
                "and no other stem takes it."
            )
        shortest = self._pass.shortest
        if shortest is None and self.window is not None:
            raise ConfigError(f"The factor {self.stem} has window {self.window}; it takes none.")
        if shortest is not None and (self.window is None or self.window < shortest):
            raise ConfigError(
                f"The factor {self.stem} has window {self.window}; give at least {shortest}."
            )

    @property
    def _pass(self) -> Pass:
        return VWAP_PASSES[self.vwap] if self.stem == "VWAP" else PASS_OF[self.stem]

    @property
    def name(self) -> str:
        """Qlib's name: stem and window, e.g. ``ROC20``."""
        return self.stem if self.window is None else f"{self.stem}{self.window}"

    @property
    def fields(self) -> tuple[str, ...]:  # type: ignore[override]  # a constant of other factors
        """The panel fields that it reads."""
        return self._pass.fields

    @property
    def remedy(self) -> str:  # type: ignore[override]  # a constant of other factors
        """What to do where the panel lacks the volume-weighted average price."""
        if self.fields[0] != "vwap":
            return ""
        return (
            "Where there is none, (open + high + low + close) / 4 can stand in: name the set "
            "alpha158_ohlc4 or alpha360_ohlc4, or give the factor with vwap: ohlc4."
        )

    @property
    def lookback(self) -> int:
        """Bars before the present one that the window and its changes reach."""
        return 0 if self.window is None else self.window + self._pass.reach

    @override
    @classmethod
    def compute_together(
        cls,
        bars: Bars,
        factors: Sequence[Self],
        columns: Sequence[int],
        out: npt.NDArray[np.float32],
    ) -> None:
        series = AssetSeries(bars)
        shared: dict[Pass, list[tuple[Self, int]]] = defaultdict(list)
        for factor, column in zip(factors, columns, strict=True):
            shared[factor._pass].append((factor, column))
        for each, members in shared.items():
            windows = sorted({factor.window or 0 for factor, _ in members})
            slots = np.full((len(each.stems), len(windows)), -1, dtype=np.int64)
            for factor, column in members:
                place = each.stems.index(factor.stem), windows.index(factor.window or 0)
                slots[place] = column
            each.fill(series, np.array(windows, dtype=np.int64), slots, out)
