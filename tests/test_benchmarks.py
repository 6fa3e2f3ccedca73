"""The benchmarks run, check what they measure, and say what is missing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import builds, report

CHECKOUT = Path(__file__).resolve().parents[1]


def _bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(CHECKOUT), *sys.path])
    return subprocess.run([sys.executable, "-m", "benchmarks", *arguments], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "runtime",
        "compile",
        "imports",
        "first_kernel",
        "calls",
        "allocator",
        "spills",
        "codegen",
        "perfscore",
        "instructions",
        "nests",
        "plain_loops",
        "elementary",
        "planning",
        "multiclet",
        "multiclet_c",
        "programs",
    ],
)
def test_quick_mode_measures_loopwright_and_writes_json(name: str, tmp_path: Path) -> None:
    for needed in {
        "spills": ["llvmlite"],
        "codegen": ["llvmlite"],
        "allocator": ["ortools"],
        "planning": ["ortools"],
        "multiclet": ["ortools"],
        "multiclet_c": ["llvmlite"],
    }.get(name, []):
        pytest.importorskip(needed)
    if name == "multiclet_c" and shutil.which("clang") is None:
        pytest.skip("needs clang")
    if name == "instructions" and (shutil.which("clang") is None or shutil.which("ld.lld") is None or shutil.which("qemu-aarch64") is None):
        pytest.skip("needs clang, lld and qemu-aarch64")
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


def test_options_of_the_command_reach_the_benchmarks(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "loopwright", "bench", "--quick", "--output", str(tmp_path), "imports"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "imports.json").read_text())["quick"] is True
    assert "usage: loopwright bench" in subprocess.run([*command[:4], "--help"], capture_output=True, text=True, check=True).stdout


def test_a_worker_answers_and_says_what_went_wrong_there() -> None:
    with builds.Worker(builds.here()) as worker:
        assert worker.call("benchmarks.measure:median", [3.0, 1.0, 2.0]) == 2.0
        assert worker.call("benchmarks.builds:here") == builds.here()
        with pytest.raises(RuntimeError, match=f"in the {builds.here()} build: ZeroDivisionError"):
            worker.call("operator:truediv", 1, 0)
        # What is printed there is no answer, and a failure not the end.
        assert worker.call("builtins:print", "not an answer") is None
        for _ in range(2):
            with pytest.raises(RuntimeError, match="has ended"):
                worker.call("os:_exit", 3)


def test_a_build_that_is_missing_or_old_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert builds.missing(builds.PURE) == ""
    monkeypatch.setitem(builds.FOLDERS, builds.NATIVE, tmp_path)
    assert "make native" in builds.missing(builds.NATIVE)
    shutil.copytree(builds.FOLDERS[builds.PURE] / "loopwright", tmp_path / "loopwright")
    (tmp_path / "loopwright" / "compiler.cpython-311-x86_64-linux-gnu.so").touch()
    assert builds.missing(builds.NATIVE) == ""
    (tmp_path / "loopwright" / "types.py").write_text("# older")
    assert "types.py" in builds.missing(builds.NATIVE)


@pytest.mark.parametrize(
    ("pure", "both", "reached"),
    [(None, False, True), (None, True, True), (2.0, True, True), (4.0, True, False), (4.0, False, True)],
)
def test_a_target_may_be_for_both_builds(pure: float | None, both: bool, reached: bool) -> None:
    verdict = report.Verdict("figure", 1.0, 3.0, "ms", pure=pure, both=both)
    assert verdict.reached is reached
    plain = report.Verdict("another", 5.0, 3.0, "ms")
    table = report.verdict_table([verdict, plain])
    assert table.columns == ["figure", "measured", *([] if pure is None else ["pure Python"]), "target", "reached"]
    assert table.rows[0] == ["figure", "1 ms", *([] if pure is None else [f"{pure:g} ms"]), "<= 3 ms", "yes" if reached else "NO"]
    assert table.rows[1] == ["another", "5 ms", *([] if pure is None else [""]), "<= 3 ms", "NO"]
