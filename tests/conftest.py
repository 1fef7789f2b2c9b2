"""Shared fixtures: where the real data is, and run-time shape checks for the tested packages."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pytest
from jaxtyping import install_import_hook

if TYPE_CHECKING:
    from suspended_market import Fields, MakePanel

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Shapes in annotations are checked by beartype while the tests run.
_hook = install_import_hook(
    ["quantlit.functional", "quantlit.losses", "quantlit.forecasters"], "beartype.beartype"
)


def _folder_from_environment(variable: str) -> Path:
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} is not set: it names the folder of the real data")
    return Path(value)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real market data named by QUANTLIT_DATA."""
    return _folder_from_environment("QUANTLIT_DATA")


@pytest.fixture(scope="session")
def oracles_dir() -> Path:
    """The folder of other projects' results named by QUANTLIT_ORACLES."""
    return _folder_from_environment("QUANTLIT_ORACLES")


@pytest.fixture(scope="session")
def tiny_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A panel store made by `quantlit prepare`: 170 dates, 14 assets, a planted signal."""
    from tiny_run import PREPARE, run

    folder = tmp_path_factory.mktemp("tiny") / "store"
    assert run(*PREPARE, "--output", folder) == 0
    return folder


@pytest.fixture(scope="session")
def tiny_config(tiny_store: Path) -> Path:
    """A YAML that trains on the tiny store for two epochs; runs go beside it."""
    from tiny_run import config, write

    return write(tiny_store.parent / "tiny.yaml", config(tiny_store, tiny_store.parent / "runs"))


@pytest.fixture(scope="session")
def fitted_run(tiny_config: Path) -> Path:
    """The folder of one finished `quantlit fit`. Treat it as read-only: copy it to write there."""
    from tiny_run import run

    folder = tiny_config.parent / "fitted"
    logs = ["--trainer.logger.init_args.save_dir", folder]
    assert run("fit", "--config", tiny_config, *logs) == 0
    return folder / "tiny" / "version_0"


@pytest.fixture
def make_panel(tmp_path: Path) -> MakePanel:
    """Builds a store from fields and ``observed``."""
    from suspended_market import panel_maker

    return panel_maker(tmp_path)


@pytest.fixture
def market() -> tuple[Fields, npt.NDArray[np.bool_]]:
    """Bars of 9 assets with suspensions, quiet days and a late listing."""
    from suspended_market import suspended_market

    return suspended_market()
