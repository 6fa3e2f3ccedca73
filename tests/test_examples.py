"""Every program in examples/ runs to its end: their assertions are the tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import loopwright as lw
from loopwright.demo.inner_loops import inner_loops

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_its_assertions_hold(path: Path) -> None:
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize(
    ("coeffs", "mnemonics"),
    [
        ((1,), ["vmovups"]),
        ((1, 2, 1), ["vmovups", "vaddps", "vfmadd", "vmovups"]),
        # 2 * x, times x, and times x plus a half
        ((0.5, 0, 0, 2), ["vmovups", "vaddps", "vmulps", "vfmadd", "vmovups"]),
        ((0, 1), ["vmovups", "vmovups"]),
    ],
)
def test_coefficients_of_0_and_1_leave_no_instruction(coeffs: tuple[float, ...], mnemonics: list[str], target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each vector of the main loop takes the instructions its polynomial needs; the loop itself takes three more."""
    monkeypatch.syspath_prepend(str(EXAMPLES[0].parent))
    import polynomial

    code = polynomial.poly.compile(lw.Array[lw.f32], lw.Array[lw.f32], coeffs=coeffs, target=target)
    [loop] = inner_loops(code.compiled.listing())
    found = [text.split()[0] for _, _, text, _ in loop]
    assert found[-3:] == ["add", "cmp", "jl"]
    body = ["vfmadd" if word.startswith("vfmadd") else word for word in found[:-3]]
    assert body == mnemonics * (len(body) // len(mnemonics))
