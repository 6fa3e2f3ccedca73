"""The benchmarks run, check what they measure, and say what is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]


def _bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(CHECKOUT), *sys.path])
    return subprocess.run([sys.executable, "-m", "benchmarks", *arguments], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["runtime", "compile", "imports", "first_kernel", "calls", "allocator", "spills", "codegen", "perfscore"])
def test_quick_mode_measures_loopwright_and_writes_json(name: str, tmp_path: Path) -> None:
    for needed in {"spills": ["llvmlite"], "codegen": ["llvmlite"], "allocator": ["ortools"]}.get(name, []):
        pytest.importorskip(needed)
    done = _bench(name, "--quick", "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / f"{name}.json").read_text())
    assert result["quick"] is True
    assert result["tables"] and result["verdicts"]
    unmeasured = [v["figure"] for v in result["verdicts"] if v["target"] is not None and v["measured"] is None and "llvmlite" not in v["figure"]]
    assert not unmeasured, done.stdout


def test_an_unknown_benchmark_is_named_with_those_there_are() -> None:
    done = _bench("speed")
    assert done.returncode == 2
    assert "'speed'" in done.stderr and "runtime, compile, imports, first_kernel, calls" in done.stderr
