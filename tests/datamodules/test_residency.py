from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from small_market import datamodule, random_bars

from quantlit.core import ConfigError
from quantlit.datamodules.residency import lives_on_device


def _tensors(nbytes: int) -> Any:
    return SimpleNamespace(nbytes=lambda: nbytes)


def test_auto_goes_to_a_gpu_with_room_and_stays_on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1000, 2000))
    gpu, cpu = torch.device("cuda", 0), torch.device("cpu")
    assert lives_on_device("auto", _tensors(499), gpu)
    assert not lives_on_device("auto", _tensors(500), gpu)
    assert not lives_on_device("auto", _tensors(1), cpu)
    assert lives_on_device("device", _tensors(10**9), cpu)
    assert not lives_on_device("host", _tensors(1), gpu)


def test_samplers_that_lightning_would_wrap_are_refused(tmp_path: Path) -> None:
    module = datamodule(random_bars(), tmp_path)
    module.setup("fit")
    connector = SimpleNamespace(use_distributed_sampler=True)
    trainer: Any = SimpleNamespace(world_size=2, _accelerator_connector=connector)
    module.trainer = trainer
    with pytest.raises(ConfigError, match="use_distributed_sampler is true: Lightning would wrap"):
        module.train_dataloader()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_resident_panel_gives_the_same_blocks_on_the_gpu(tmp_path: Path) -> None:
    device = torch.device("cuda", 0)
    blocks = []
    for residency in ("host", "device"):
        module = datamodule(random_bars(), tmp_path, residency=residency)
        module.setup("fit")
        blocks.append(
            [module.transfer_batch_to_device(b, device, 0) for b in module.val_dataloader()]
        )
    for host, resident in zip(*blocks, strict=True):
        for a, b in zip(host, resident, strict=True):
            assert a.device == b.device == device
            torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)
