"""Factors of a whole panel, computed once and kept beside its store."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import math
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from filelock import FileLock

from quantlit.core import check_space
from quantlit.features import bars as bars_module
from quantlit.features import kernels
from quantlit.features.evaluate import Features, evaluate_factors
from quantlit.features.factors import Factor
from quantlit.panel import Panel


def compute_factors(panel: Panel, factors: Sequence[Factor], *, cache: bool = True) -> Features:
    """All factors on every bar of a panel, from the cache beside its store where they are there.

    The cache's key is the panel's checksum and each factor's class, parameters and source module: a
    change of any of them computes anew. What that module imports is not looked at, unless the
    factor names it in ``modules``. A new file is written aside and renamed, one process at a time.
    Where it cannot be written, for want of rights or of space, the factors are computed in memory,
    with a warning.

    Args:
        panel: the store.
        factors: the factors, in the order of the feature axis.
        cache: False computes in memory and leaves the disk alone.

    Returns:
        ``[T, N, F]`` float32, read-only and memory-mapped if cached; NaN where a bar was not
        observed or a factor is unknown.

    Raises:
        ConfigError: if a factor's values have another shape than the bars.
    """
    if not cache:
        return evaluate_factors(panel, factors)
    folder = panel.path / "cache"
    path = folder / f"factors-{cache_key(panel, factors)[:16]}.npy"
    try:
        folder.mkdir(exist_ok=True)
        with FileLock(folder / ".lock"):
            if not path.exists():
                _write(path, panel, factors)
    except OSError as error:
        warnings.warn(
            f"The factors cannot be kept in {folder} ({error}); they are computed in memory.",
            UserWarning,
            stacklevel=2,
        )
        return evaluate_factors(panel, factors)
    features: Features = np.load(path, mmap_mode="r")
    return features


def _write(path: Path, panel: Panel, factors: Sequence[Factor]) -> None:
    """Compute into a file aside, describe it in JSON beside it, and rename."""
    aside = path.with_suffix(".partial")
    shape = (*panel.observed.shape, len(factors))
    check_space(path.parent, 4 * math.prod(shape))
    out = np.lib.format.open_memmap(aside, mode="w+", dtype=np.float32, shape=shape)
    try:
        evaluate_factors(panel, factors, out)
        out.flush()
        description = {
            "panel_checksum": panel.checksum,
            "shape": list(shape),
            "factors": [factor.name for factor in factors],
            "definitions": [repr(factor) for factor in factors],
        }
        path.with_suffix(".json").write_text(json.dumps(description, indent=1) + "\n")
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def cache_key(panel: Panel, factors: Sequence[Factor]) -> str:
    """Hash of all that the values depend on."""
    parts: list[object] = [
        panel.checksum,
        inspect.getsource(kernels),
        inspect.getsource(bars_module),
    ]
    for factor in factors:
        parts += [type(factor).__qualname__, sorted(vars(factor).items())]
        parts += [_source(kind) for kind in type(factor).__mro__ if issubclass(kind, Factor)]
        parts += [inspect.getsource(importlib.import_module(name)) for name in factor.modules]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _source(kind: type) -> str:
    """Source of the module that defines a class, or of the class where there is no module file."""
    module = inspect.getmodule(kind)
    try:
        return inspect.getsource(
            module if module is not None and kind.__module__ != "__main__" else kind
        )
    except (OSError, TypeError):
        return repr(kind)
