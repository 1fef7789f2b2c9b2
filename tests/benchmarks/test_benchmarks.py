from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
KEYS = {
    "loader": {"copy_ratio", "dataset0_ratio", "dataset2_ratio", "memory_ratio"},
    "step": {"windowed_step_ratio", "onepass_step_ratio", "onepass_speedup"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", KEYS)
def test_a_benchmark_prints_its_ratios_as_json_last(name: str, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, str(BENCHMARKS / f"{name}.py"), "--quick", "--json"],
        cwd=tmp_path,
        env=os.environ | {"OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    ratios = json.loads(run.stdout.splitlines()[-1])
    assert ratios.keys() == KEYS[name]
    assert all(ratio > 0 for ratio in ratios.values())
    assert not any(tmp_path.iterdir())
