"""quantlit: train, judge and ship forecasters of market returns on PyTorch Lightning."""

from importlib.metadata import version

__version__ = version("quantlit")
