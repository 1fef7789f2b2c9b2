"""PanelSpec: what the data side tells the model side about the panel, as a plain dict."""

from __future__ import annotations

from typing import TypedDict


class PanelSpec(TypedDict):
    """Facts about the data that a forecaster or task may need to build itself.

    It is a plain dict of plain values, because it travels through a LightningCLI link into a
    checkpoint's hyperparameters and must load with ``weights_only=True``.

    Attributes:
        n_features: F, the number of features after the transforms.
        window: W, the lookback in bars.
        n_assets: N, the length of the asset axis.
        horizons: the label horizons in bars; H is its length.
        delay: bars between the decision and the entry of a label.
        standardise: how labels are standardised per date before the loss:
            ``zscore``, ``rank_gaussian`` or ``raw``.
        bars_per_year: bars in a trading year, for annualised figures.
        factors: the feature names, in the order of the feature axis.
        symbols: the asset names, in the order of the asset axis.
    """

    n_features: int
    window: int
    n_assets: int
    horizons: list[int]
    delay: int
    standardise: str
    bars_per_year: float
    factors: list[str]
    symbols: list[str]
