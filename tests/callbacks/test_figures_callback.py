from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from lightning.pytorch.loggers import TensorBoardLogger
from matplotlib.figure import Figure
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tiny_run import datamodule
from tiny_task import make_task, make_trainer

from quantlit.callbacks import ScoreFigures
from quantlit.core import ConfigError
from quantlit.datamodules import PanelDataModule

Drawn = list[tuple[str, Figure, int]]


@pytest.fixture
def data(tiny_store: Path) -> PanelDataModule:
    module = datamodule(tiny_store)
    module.setup("fit")
    return module


@pytest.fixture
def logger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[TensorBoardLogger, Drawn]:
    """A logger that keeps figures instead of painting them."""
    logger, drawn = TensorBoardLogger(tmp_path), Drawn()

    def keep(tag: str, figure: Figure, step: int, **_: Any) -> None:
        drawn.append((tag, figure, step))

    monkeypatch.setattr(logger.experiment, "add_figure", keep)
    return logger, drawn


NAMES = [f"{name}_h{h}" for h in (1, 3) for name in ("cumulative_rank_ic", "decile_returns")]


def test_each_validation_of_a_fit_is_drawn(
    data: PanelDataModule, logger: tuple[TensorBoardLogger, Drawn]
) -> None:
    log, drawn = logger
    settings: dict[str, Any] = {"limit_val_batches": 1.0, "num_sanity_val_steps": 2}
    trainer = make_trainer(ScoreFigures(), logger=log, max_epochs=2, **settings)
    trainer.fit(make_task(data), data)
    assert [(tag, step) for tag, _, step in drawn] == [
        (f"valid/{name}", step) for step in (10, 20) for name in NAMES
    ]
    assert plt.get_fignums() == []  # nothing of it stays in matplotlib's own list


def test_only_every_nth_epoch_is_drawn(
    data: PanelDataModule, logger: tuple[TensorBoardLogger, Drawn]
) -> None:
    log, drawn = logger
    settings: dict[str, Any] = {"limit_val_batches": 1, "limit_train_batches": 1}
    trainer = make_trainer(ScoreFigures(every_n_epochs=2), logger=log, max_epochs=5, **settings)
    trainer.fit(make_task(data), data)
    assert sorted({step for _, _, step in drawn}) == [1, 3, 5]
    with pytest.raises(ConfigError, match="every_n_epochs is 0; it must be 1 or more"):
        ScoreFigures(every_n_epochs=0)


def test_the_test_is_drawn_from_its_own_series(
    data: PanelDataModule, logger: tuple[TensorBoardLogger, Drawn]
) -> None:
    log, drawn = logger
    task = make_task(data)
    scores = make_trainer(ScoreFigures(), logger=log).test(task, data, verbose=False)[0]
    figures = {tag: figure for tag, figure, _ in drawn}
    assert list(figures) == [f"test/{name}" for name in NAMES]
    for horizon, suffix in ((1, ""), (3, "_h3")):
        axes = figures[f"test/cumulative_rank_ic_h{horizon}"].axes[0]
        line = max(axes.lines, key=lambda line: len(np.asarray(line.get_xdata())))
        values = np.asarray(line.get_ydata(), dtype=float)
        first = data.panel.dates[data.positions.test[0]]
        assert np.asarray(line.get_xdata())[0] == first
        total = scores[f"test/rank_ic{suffix}"] * scores[f"test/dates_used{suffix}"]
        assert values[-1] == pytest.approx(total, rel=1e-5)
        assert f"test, horizon {horizon}" in _words(figures[f"test/cumulative_rank_ic_h{horizon}"])
        bars = figures[f"test/decile_returns_h{horizon}"].axes[0].patches
        assert len(bars) == 10


def _words(figure: Figure) -> str:
    texts = [figure.get_suptitle(), *(text.get_text() for text in figure.texts)]
    for axes in figure.axes:
        texts += [axes.get_title(loc=loc) for loc in ("left", "center", "right")]
    return " ".join(texts)


def test_nothing_fails_without_a_logger(data: PanelDataModule) -> None:
    make_trainer(ScoreFigures()).test(make_task(data), data, verbose=False)


def test_a_fit_from_the_command_line_leaves_images(fitted_run: Path) -> None:
    events = EventAccumulator(str(fitted_run), size_guidance={"images": 0})
    events.Reload()
    for name in NAMES:
        images = events.Images(f"valid/{name}")
        assert [image.step for image in images] == [10, 20]
        assert min(image.width for image in images) > 300
