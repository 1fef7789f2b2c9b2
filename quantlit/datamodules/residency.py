"""Where the panel lives while a model trains: on the host, or whole on the device."""

from __future__ import annotations

from typing import Literal

import torch

from quantlit.datamodules.dataset import PanelTensors

Residency = Literal["auto", "host", "device"]


def lives_on_device(residency: Residency, tensors: PanelTensors, device: torch.device) -> bool:
    """Whether blocks are sliced on the device, so that only positions travel.

    Args:
        residency: ``host`` and ``device`` as they say; ``auto`` is ``device`` on a GPU where the
            panel takes less than half of the free memory.
        tensors: the whole panel, on the host.
        device: where the model is.
    """
    if residency != "auto":
        return residency == "device"
    if device.type != "cuda":
        return False
    free, _ = torch.cuda.mem_get_info(device)
    return tensors.nbytes() < free // 2
