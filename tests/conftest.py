"""Shared fixtures: where the real data is, and run-time shape checks for the tested packages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from jaxtyping import install_import_hook

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
