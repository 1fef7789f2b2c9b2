"""Qlib's Alpha158 and Alpha360, equal to Qlib's values, on kernels that share their sums."""

from quantlit.features.alpha.factor import AlphaFactor
from quantlit.features.alpha.sets import alpha158, alpha360

__all__ = ["AlphaFactor", "alpha158", "alpha360"]
