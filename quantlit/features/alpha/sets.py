"""Qlib's two sets of factors, in Qlib's order."""

from __future__ import annotations

from typing import Literal

from quantlit.features.alpha.factor import AlphaFactor
from quantlit.features.alpha.passes import CANDLES

WINDOWS = (5, 10, 20, 30, 60)
DAYS = 60
"""Bars of Alpha360, the present one included."""

ROLLING = (
    *("ROC", "MA", "STD", "BETA", "RSQR", "RESI", "MAX", "MIN", "QTLU", "QTLD", "RANK", "RSV"),
    *("IMAX", "IMIN", "IMXD", "CORR", "CORD", "CNTP", "CNTN", "CNTD", "SUMP", "SUMN", "SUMD"),
    *("VMA", "VSTD", "WVMA", "VSUMP", "VSUMN", "VSUMD"),
)
"""Stems of Alpha158 that have a window."""


def alpha158(vwap: Literal["field", "ohlc4"] = "field") -> list[AlphaFactor]:
    """The 158 factors of Qlib's ``Alpha158`` (``qlib.contrib.data.loader``), KMID to VSUMD60.

    Args:
        vwap: where the volume-weighted average price comes from, see ``AlphaFactor``.
    """
    return [
        *(AlphaFactor(stem=stem) for stem in CANDLES),
        *(AlphaFactor(stem=stem, window=0) for stem in ("OPEN", "HIGH", "LOW")),
        AlphaFactor(stem="VWAP", window=0, vwap=vwap),
        *(AlphaFactor(stem=stem, window=window) for stem in ROLLING for window in WINDOWS),
    ]


def alpha360(vwap: Literal["field", "ohlc4"] = "field") -> list[AlphaFactor]:
    """The 360 factors of Qlib's ``Alpha360``, CLOSE59 to VOLUME0: 60 bars over the present one.

    Args:
        vwap: where the volume-weighted average price comes from, see ``AlphaFactor``.
    """
    ages = range(DAYS - 1, -1, -1)
    return [
        *(
            AlphaFactor(stem=stem, window=age)
            for stem in ("CLOSE", "OPEN", "HIGH", "LOW")
            for age in ages
        ),
        *(AlphaFactor(stem="VWAP", window=age, vwap=vwap) for age in ages),
        *(AlphaFactor(stem="VOLUME", window=age) for age in ages),
    ]
