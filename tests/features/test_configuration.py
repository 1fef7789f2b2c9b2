"""The parts are built from YAML by class_path and init_args, as a configuration file gives them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jsonargparse import auto_cli

from quantlit.features import (
    Factor,
    Imputer,
    InverseVolatility,
    LabelSpec,
    SampleWeight,
    Transform,
    resolve_factors,
)

YAML = """
factors:
  - price
  - class_path: quantlit.features.Return
    init_args: {window: 3}
  - class_path: quantlit.features.DayPosition
  - alpha158_ohlc4
  - class_path: quantlit.features.AlphaFactor
    init_args: {stem: VWAP, window: 2, vwap: ohlc4}
transforms:
  - class_path: quantlit.features.CrossSectionalRankGaussian
  - class_path: quantlit.features.RobustZScore
    init_args: {clip: null}
  - class_path: quantlit.features.Imputer
    init_args: {max_age: 3, flag: true}
label: {horizons: [1, 5], delay: 0, clip: 0.11, standardise: rank_gaussian}
weight: {class_path: quantlit.features.InverseVolatility, init_args: {window: 30}}
"""


def _take(
    *,
    factors: list[str | Factor] | None = None,
    transforms: list[Transform] | None = None,
    label: LabelSpec | None = None,
    weight: SampleWeight | None = None,
) -> dict[str, Any]:
    return {"factors": factors, "transforms": transforms, "label": label, "weight": weight}


def test_everything_is_built_from_yaml(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(YAML)
    built = auto_cli(_take, args=["--config", str(config), "--label.delay", "1"])
    fields = ["open", "high", "low", "close", "volume"]
    names = [f.name for f in resolve_factors(built["factors"], fields)]
    assert names[-161:-157] == ["return_3", "day_position", "KMID", "KLEN"]
    assert names[-2:] == ["VSUMD60", "VWAP2"]
    assert [type(step).__name__ for step in built["transforms"]] == [
        "CrossSectionalRankGaussian",
        "RobustZScore",
        "Imputer",
    ]
    assert isinstance(built["transforms"][2], Imputer)
    assert built["transforms"][2].max_age == 3
    assert built["label"] == LabelSpec(
        horizons=[1, 5], delay=1, clip=0.11, standardise="rank_gaussian"
    )
    assert isinstance(built["weight"], InverseVolatility)
    assert built["weight"].window == 30
