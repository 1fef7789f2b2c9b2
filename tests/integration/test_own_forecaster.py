"""A user's own forecaster, as the README shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from tiny_run import run

README = Path(__file__).parents[2] / "README.md"


def _module(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> str:
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.chdir(folder)
    return name


def _readme_example() -> str:
    found = re.search(
        r"```python\n(# mymodels\.py\n.*?)```", README.read_text("utf-8"), flags=re.DOTALL
    )
    assert found is not None
    return found.group(1)


def test_the_readmes_forecaster_trains(
    tiny_config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = _module(tmp_path, monkeypatch, "readme_models", _readme_example())
    status = run(
        "fit",
        "--config",
        tiny_config,
        "--model.init_args.forecaster",
        f"{name}.Momentum",
        "--trainer.max_epochs=1",
        f"--trainer.logger.init_args.save_dir={tmp_path}",
    )
    assert status == 0
    (checkpoint,) = tmp_path.rglob("best.ckpt")
    weights = torch.load(checkpoint, weights_only=True)["state_dict"]
    assert "forecaster.net.0.weight" in weights


def test_an_answer_of_another_shape_is_refused_with_the_shape_wanted(
    tiny_config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    every_bar = _readme_example().replace("features[self.window - 1 :]", "features")
    name = _module(tmp_path, monkeypatch, "wrong_models", every_bar)
    status = run(
        "fit",
        "--config",
        tiny_config,
        "--model.init_args.forecaster",
        f"{name}.Momentum",
        f"--trainer.logger.init_args.save_dir={tmp_path}",
    )
    assert status == 1
    message = capsys.readouterr().err
    assert "Momentum answered with shape [13, 14, 2, 1], not [8, 14, 2, 1]" in message
    assert "Traceback" not in message
