"""Losses on blocks of cross-sections: squared error, correlations, soft ranks, weighted sums."""

from quantlit.losses.base import LossTerm, TermOutput
from quantlit.losses.composite import CompositeLoss, LossOutput, WeightedTerm
from quantlit.losses.correlation import CorrelationTerm, PearsonLoss, RankPearsonLoss
from quantlit.losses.mse import MaskedMSE
from quantlit.losses.spearman import SigmoidSpearmanLoss, SoftRankTerm, SoftSpearmanLoss

__all__ = [
    "CompositeLoss",
    "CorrelationTerm",
    "LossOutput",
    "LossTerm",
    "MaskedMSE",
    "PearsonLoss",
    "RankPearsonLoss",
    "SigmoidSpearmanLoss",
    "SoftRankTerm",
    "SoftSpearmanLoss",
    "TermOutput",
    "WeightedTerm",
]
