"""Whether the state in a checkpoint fits the data it is asked to serve."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from quantlit.core import CheckpointError
from quantlit.panel import Panel


def check_restorable(state: Mapping[str, Any], factors: Sequence[str], panel: Panel) -> None:
    """Refuse other factors, and warn of another panel.

    Args:
        state: what ``PanelDataModule.state_dict`` gave.
        factors: names of the present factors, in order.
        panel: the present panel.

    Raises:
        CheckpointError: if the checkpoint was trained on other factors, or in another order.
    """
    if state["factors"] != list(factors):
        raise CheckpointError(
            f"The checkpoint was trained on the factors {state['factors']}, but data.factors gives "
            f"{list(factors)}. Use the configuration it was trained with."
        )
    if state["panel_checksum"] != panel.checksum:
        warnings.warn(
            f"The checkpoint was trained on a panel with checksum {state['panel_checksum'][:12]}, "
            f"and {panel.path} has {panel.checksum[:12]}: scores are those of other data.",
            UserWarning,
            stacklevel=3,
        )
