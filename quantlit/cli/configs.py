"""Where the shipped YAML configs are: inside a wheel, or beside the package in a checkout."""

from __future__ import annotations

from pathlib import Path


def configs_dir() -> Path:
    """The folder of ``default.yaml`` and its siblings."""
    package = Path(__file__).resolve().parents[1]
    shipped = package / "configs"
    return shipped if shipped.is_dir() else package.parent / "configs"
