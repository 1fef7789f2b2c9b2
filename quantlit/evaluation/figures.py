"""Figures of a forecast's scores, as free-standing matplotlib figures (no pyplot, any backend)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

_INK, _MUTED, _GRID = "#1f2933", "#7b8794", "#e4e7eb"
_UP, _DOWN = "#2a78b8", "#d1603d"


def cumulative_rank_ic_figure(
    dates: npt.ArrayLike, rank_ic: npt.ArrayLike, *, title: str = ""
) -> Figure:
    """Cumulative rank IC over time, above the rank IC of each date.

    A straight line is a steady forecast; its slope is the mean. The heading gives mean, ICIR
    (mean / standard deviation, ddof = 1) and number of dates.

    Args:
        dates: ``[T]`` timestamps, ascending, or any numbers.
        rank_ic: ``[T]``; NaN dates add nothing and are not counted.
        title: what is scored, e.g. ``"valid, horizon 1"``.
    """
    when, values = np.asarray(dates), np.asarray(rank_ic, dtype=np.float64)
    defined = np.isfinite(values)
    when, values = when[defined], values[defined]
    figure = Figure(figsize=(8.0, 4.8), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    _style(above, "cumulative rank IC")
    _style(below, "per date")
    _heading(above, _join(title, "cumulative rank IC"), _summary(values))
    total = np.cumsum(values)
    above.plot(when, total, color=_UP, linewidth=1.8)
    above.fill_between(when, total, color=_UP, alpha=0.08, linewidth=0)
    colors = np.where(values >= 0, _UP, _DOWN).tolist()
    below.vlines(when, 0.0, values, colors=colors, linewidth=_line_width(len(values)))
    if np.issubdtype(when.dtype, np.datetime64):
        locator = AutoDateLocator(minticks=4, maxticks=9)  # type: ignore[no-untyped-call]
        below.xaxis.set_major_locator(locator)
        formatter = ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
        below.xaxis.set_major_formatter(formatter)
    else:
        below.set_xlabel("date")
    figure.align_ylabels([above, below])
    return figure


def decile_returns_figure(deciles: npt.ArrayLike, *, title: str = "") -> Figure:
    """Mean return of each bucket of the cross-section by forecast, with one standard error.

    Bars that rise from left to right are a forecast that orders the market.

    Args:
        deciles: ``[T, Q]`` mean label of each date's buckets, decimal returns, lowest forecasts
            first; dates with a NaN are left out.
        title: what is scored, e.g. ``"valid, horizon 1"``.
    """
    returns = np.asarray(deciles, dtype=np.float64)
    returns = returns[np.isfinite(returns).all(axis=1)] * 1e4
    count, buckets = returns.shape
    means = returns.mean(axis=0) if count else np.zeros(buckets)
    errors = returns.std(axis=0, ddof=1) / np.sqrt(count) if count > 1 else np.zeros(buckets)
    figure = Figure(figsize=(8.0, 4.0), layout="constrained")
    axes = figure.subplots()
    _style(axes, "mean return (basis points)")
    spread = f"top minus bottom {means[-1] - means[0]:+.1f} bp, {count} dates"
    _heading(axes, _join(title, "returns by forecast"), spread if count else "no date scored")
    places = np.arange(buckets)
    axes.bar(places, means, width=0.72, color=np.where(means >= 0, _UP, _DOWN).tolist())
    axes.errorbar(places, means, yerr=errors, fmt="none", ecolor=_INK, elinewidth=1.0, capsize=2.5)
    labels = [str(number) for number in range(1, buckets + 1)]
    labels[0], labels[-1] = f"{labels[0]}\nlowest", f"{labels[-1]}\nhighest"
    axes.set_xticks(places, labels)
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("forecast bucket", color=_INK)
    return figure


def _style(axes: Axes, label: str) -> None:
    axes.set_axisbelow(True)
    axes.margins(x=0.015)
    axes.grid(color=_GRID, linewidth=0.8)
    axes.axhline(0.0, color=_MUTED, linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(_MUTED)
    axes.tick_params(colors=_INK, labelsize=9)
    axes.set_ylabel(label, color=_INK)


def _heading(axes: Axes, title: str, detail: str) -> None:
    axes.set_title(title, loc="left", color=_INK, fontsize=11, fontweight="bold")
    axes.set_title(detail, loc="right", color=_MUTED, fontsize=9.5)


def _join(title: str, what: str) -> str:
    return f"{title}: {what}" if title else f"{what[0].upper()}{what[1:]}"


def _summary(values: npt.NDArray[np.float64]) -> str:
    if len(values) == 0:
        return "no date scored"
    text = f"mean {values.mean():.4f}"
    if len(values) > 1 and values.std() > 0:
        text += f", ICIR {values.mean() / values.std(ddof=1):.2f}"
    return f"{text}, {len(values)} dates"


def _line_width(count: int) -> float:
    """Width in points at which the lines of all dates just fill the figure."""
    return float(np.clip(400 / max(count, 1), 0.4, 3.0))
