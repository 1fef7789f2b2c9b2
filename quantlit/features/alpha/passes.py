"""The passes: which statistics one kernel computes together, and on which series."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from quantlit.features.alpha.bar_kernels import TINY, fill_candles, fill_lags
from quantlit.features.alpha.cells import Features
from quantlit.features.alpha.line_kernel import fill_lines
from quantlit.features.alpha.move_kernel import fill_moves
from quantlit.features.alpha.order_kernel import fill_orders
from quantlit.features.alpha.pair_kernel import fill_correlations
from quantlit.features.alpha.range_kernel import fill_ranges
from quantlit.features.alpha.series import AssetSeries

Columns = npt.NDArray[np.int64]
Fill = Callable[[AssetSeries, Columns, Columns, Features], None]


@dataclass(frozen=True)
class Pass:
    """Statistics that share a kernel's sums.

    Args:
        stems: their names in the order of the kernel's columns, None for what has no name.
        fields: the panel fields that they read.
        fill: called with the series, ``windows [W]`` in rising order, ``columns [S, W]`` with -1
            for what is not asked for, and ``out [R, N, F]`` for the last R bars.
        shortest: the least window; None where the statistics have no window.
        reach: bars before the window that it reads.
    """

    stems: tuple[str | None, ...]
    fields: tuple[str, ...]
    fill: Fill
    shortest: int | None = 1
    reach: int = -1


def _candles(series: AssetSeries, _: Columns, columns: Columns, out: Features) -> None:
    prices = series["open"], series["high"], series["low"], series["close"]
    fill_candles(*prices, columns[:, 0], out)


def _lags(field: str, scale: str) -> Fill:
    def fill(series: AssetSeries, lags: Columns, columns: Columns, out: Features) -> None:
        unit = series["volume"] + TINY if scale == "volume" else series[scale]
        fill_lags(series[field], unit, lags, columns[0], out)

    return fill


def _close_lines(series: AssetSeries, *where: *tuple[Columns, Columns, Features]) -> None:
    fill_lines(series["close"], series["close"], *where)


def _volume_lines(series: AssetSeries, *where: *tuple[Columns, Columns, Features]) -> None:
    fill_lines(series["volume"], series["volume"] + TINY, *where)


def _impact_lines(series: AssetSeries, *where: *tuple[Columns, Columns, Features]) -> None:
    fill_lines(series.impact, series["close"], *where)


def _ranges(series: AssetSeries, *where: *tuple[Columns, Columns, Features]) -> None:
    fill_ranges(series["high"], series["low"], series["close"], series.first, *where)


def _orders(series: AssetSeries, *where: *tuple[Columns, Columns, Features]) -> None:
    fill_orders(series["close"], series["close"], *where)


def _level_correlations(series: AssetSeries, *where: *tuple[Columns, Columns, Features]) -> None:
    fill_correlations(series["close"], series.log_volume, *where)


def _growth_correlations(series: AssetSeries, *where: *tuple[Columns, Columns, Features]) -> None:
    fill_correlations(series.growth, series.log_volume_growth, *where)


def _close_moves(series: AssetSeries, *where: *tuple[Columns, Columns, Features]) -> None:
    fill_moves(series["close"], series.first, *where)


def _volume_moves(series: AssetSeries, *where: *tuple[Columns, Columns, Features]) -> None:
    fill_moves(series["volume"], series.first, *where)


CANDLES = ("KMID", "KLEN", "KMID2", "KUP", "KUP2", "KLOW", "KLOW2", "KSFT", "KSFT2")
BOTH = ("close", "volume")

PASSES = (
    Pass(CANDLES, ("open", "high", "low", "close"), _candles, shortest=None),
    *(
        Pass((field.upper(),), (field, "close"), _lags(field, "close"), shortest=0, reach=0)
        for field in ("open", "high", "low")
    ),
    Pass(("CLOSE",), ("close",), _lags("close", "close"), shortest=0, reach=0),
    Pass(("VOLUME",), ("volume",), _lags("volume", "volume"), shortest=0, reach=0),
    Pass(("ROC",), ("close",), _lags("close", "close"), reach=0),
    Pass(("MA", "STD", "BETA", "RSQR", "RESI", None), ("close",), _close_lines),
    Pass(("MAX", "MIN", "RSV", "IMAX", "IMIN", "IMXD"), ("high", "low", "close"), _ranges),
    Pass(("QTLU", "QTLD", "RANK"), ("close",), _orders),
    Pass(("CORR",), BOTH, _level_correlations),
    Pass(("CORD",), BOTH, _growth_correlations, reach=0),
    Pass(("CNTP", "CNTN", "CNTD", "SUMP", "SUMN", "SUMD"), ("close",), _close_moves, reach=0),
    Pass(("VMA", "VSTD", None, None, None, None), ("volume",), _volume_lines),
    Pass((None, None, None, None, None, "WVMA"), BOTH, _impact_lines, reach=0),
    Pass((None, None, None, "VSUMP", "VSUMN", "VSUMD"), ("volume",), _volume_moves, reach=0),
)

VWAP_PASSES: Mapping[str, Pass] = {
    "field": Pass(("VWAP",), ("vwap", "close"), _lags("vwap", "close"), shortest=0, reach=0),
    "ohlc4": Pass(
        ("VWAP",), ("open", "high", "low", "close"), _lags("ohlc4", "close"), shortest=0, reach=0
    ),
}
"""By where the volume-weighted average price comes from."""

PASS_OF = {stem: each for each in PASSES for stem in each.stems if stem is not None}
