"""Factors, labels, sample weights, and transforms fitted on train dates only."""

from quantlit.features.alpha import AlphaFactor
from quantlit.features.bars import MAX_FILL, Bars
from quantlit.features.cache import compute_factors
from quantlit.features.cross_sectional import CrossSectionalRankGaussian, CrossSectionalZScore
from quantlit.features.factors import BarFactor, Factor, FusedFactor, WindowFactor
from quantlit.features.imputer import Imputer
from quantlit.features.labels import LabelSpec, forward_returns
from quantlit.features.language import Expression, operator_table
from quantlit.features.library import factor_sets, resolve_factors
from quantlit.features.pipeline import TransformPipeline
from quantlit.features.price_factors import (
    Beta,
    ClosePosition,
    Distance,
    MaxReturn,
    Return,
    Skewness,
    Volatility,
)
from quantlit.features.scalers import RobustZScore, Winsorise
from quantlit.features.transforms import FittedTransform, Transform
from quantlit.features.volume_factors import (
    DayPosition,
    DayRange,
    DollarVolume,
    Illiquidity,
    IntradayReturn,
    OvernightReturn,
    RangePosition,
    TrueRange,
    VolumeCorrelation,
    VolumeReturnCorrelation,
    VolumeShock,
    VolumeTrend,
)
from quantlit.features.weights import InverseVolatility, SampleWeight

__all__ = [
    "MAX_FILL",
    "AlphaFactor",
    "BarFactor",
    "Bars",
    "Beta",
    "ClosePosition",
    "CrossSectionalRankGaussian",
    "CrossSectionalZScore",
    "DayPosition",
    "DayRange",
    "Distance",
    "DollarVolume",
    "Expression",
    "Factor",
    "FittedTransform",
    "FusedFactor",
    "Illiquidity",
    "Imputer",
    "IntradayReturn",
    "InverseVolatility",
    "LabelSpec",
    "MaxReturn",
    "OvernightReturn",
    "RangePosition",
    "Return",
    "RobustZScore",
    "SampleWeight",
    "Skewness",
    "Transform",
    "TransformPipeline",
    "TrueRange",
    "Volatility",
    "VolumeCorrelation",
    "VolumeReturnCorrelation",
    "VolumeShock",
    "VolumeTrend",
    "WindowFactor",
    "Winsorise",
    "compute_factors",
    "factor_sets",
    "forward_returns",
    "operator_table",
    "resolve_factors",
]
