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
    "prepare": {"time_ratio", "memory_ratio", "pandas_memory_ratio", "append_ratio"},
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


def _run_factors(folder: Path, qlib_python: Path) -> subprocess.CompletedProcess[str]:
    script = str(BENCHMARKS / "factors.py")
    return subprocess.run(
        [sys.executable, script, "--quick", "--json", "--qlib-python", str(qlib_python)],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.slow
def test_the_factors_benchmark_compares_with_another_python(tmp_path: Path, data_dir: Path) -> None:
    stand_in = tmp_path / "python"
    script = Path(__file__).with_name("stand_in_qlib.py")
    stand_in.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
    stand_in.chmod(0o755)
    run = _run_factors(tmp_path, stand_in)
    assert run.returncode == 0, run.stderr
    figures = json.loads(run.stdout.splitlines()[-1])
    assert figures["qlib_seconds"] == 1.5
    assert figures["qlib_ratio"] == pytest.approx(1.5 / figures["seconds"])
    assert (figures["max_rel_diff"], figures["unequal_nan"], figures["qlib_residues"]) == (0, 0, 0)
    assert 0.0 < figures["memory_ratio"] < 5.0


@pytest.mark.slow
def test_the_factors_benchmark_names_a_python_that_is_not_there(
    tmp_path: Path, data_dir: Path
) -> None:
    run = _run_factors(tmp_path, tmp_path / "nowhere")
    assert run.returncode == 2
    assert "nowhere is no program" in run.stderr


@pytest.mark.slow
def test_the_first_step_benchmark(tmp_path: Path, data_dir: Path) -> None:
    run = subprocess.run(
        [sys.executable, str(BENCHMARKS / "first_step.py"), "--quick", "--json"],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    figures = json.loads(run.stdout.splitlines()[-1])
    states = ("cold", "built", "cached")
    assert figures.keys() == {"import_seconds", *(f"price_volume_{s}_seconds" for s in states)}
    assert all(seconds > 0 for seconds in figures.values())
    assert not any(tmp_path.iterdir())
