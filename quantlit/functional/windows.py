"""Every lookback window of a block as a view, without a copy."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor


def window_view(features: Float[Tensor, "L N F"], window: int) -> Float[Tensor, "W B F"]:
    """All windows of ``window`` bars of a block, time first, sharing the block's memory.

    Column ``d * N + i`` of the result is the window of asset ``i`` that ends at date ``d`` of the
    block, bars ``d`` to ``d + W - 1``. With time-major memory the step to the next bar and the step
    from one date's windows to the next date's are the same ``N * F`` values, so one strided view
    holds every window.

    Args:
        features: ``[L, N, F]`` bars, contiguous.
        window: W, between 1 and L.

    Returns:
        ``[W, D * N, F]`` with ``D = L - W + 1``. Do not write into it: windows overlap.

    Raises:
        ValueError: if ``features`` is not contiguous or ``window`` does not fit.
    """
    length, n_assets, n_features = features.shape
    if not features.is_contiguous():
        raise ValueError(
            f"window_view needs contiguous features, got strides {features.stride()} for shape "
            f"{tuple(features.shape)}; call .contiguous() first."
        )
    if not 1 <= window <= length:
        raise ValueError(f"A window of {window} bars does not fit a block of {length} bars.")
    n_dates = length - window + 1
    return features.as_strided(
        (window, n_dates * n_assets, n_features), (n_assets * n_features, n_features, 1)
    )
