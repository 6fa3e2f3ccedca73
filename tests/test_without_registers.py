"""A machine without registers (``tests/outside/belt``): its passes end in its own, and nothing in the library takes allocation for granted."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import cli, compiler, targets
from loopwright.costs.perfscore import perf_score
from loopwright.errors import CpuError, TargetError, UnsupportedOperationError
from loopwright.ir.function import Function
from loopwright.ir.interpret import Interpreter
from loopwright.ir.text import parse
from loopwright.ir.verify import verify
from loopwright.regalloc import explain
from loopwright.settings import Settings
from loopwright.targets import registry
from loopwright.targets.pipeline import names_of
from loopwright.targets.target import Target

NAME = "belt-63"
ARRAY = lw.Array[lw.i32]
FLOATS = lw.Array[lw.f32]


@pytest.fixture(autouse=True)
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The registry finds the machine, in a folder that is not the package's."""
    monkeypatch.setattr(targets, "__path__", [*targets.__path__, str(Path(__file__).parent / "outside")])
    monkeypatch.setattr(registry, "_machines", {})
    yield


@lw.kernel
def clipped(x: lw.Array[lw.i32], y: lw.Array[lw.i32], limit: lw.i32) -> lw.i64:
    total = lw.i64(0)
    for i in lw.range(len(x)):
        v = x[i]
        if v > limit:
            v = limit - v
            y[i] = v
        else:
            y[i] = v * 3
        total += v
    return total


@lw.kernel
def axpy(x: lw.Array[lw.f32], y: lw.Array[lw.f32], a: lw.f32) -> None:
    for i in lw.lanes(len(x)):
        y[i] = a * x[i] + y[i] if x[i] >= 0.0 else -y[i]


@lw.kernel
def pairs(x: lw.Array[lw.i32], y: lw.Array[lw.i32], limit: lw.i32) -> lw.i64:
    found = lw.i64(0)
    for i in lw.range(len(x)):
        if x[i] == 0:
            continue
        for j in lw.range(i):
            if x[j] > limit:
                break
            y[i] = max(y[i], x[i] + x[j])
            found += 1
    while found > 10:
        found -= 7
    return found


@lw.kernel
def wide(x: lw.Array[lw.i32], y: lw.Array[lw.i32], limit: lw.i32) -> lw.i64:
    # More values at once than operands reach.
    held = [x[k] * (limit + k) for k in range(80)]
    total = lw.i64(0)
    for k in range(80):
        total += held[79 - k] ^ held[k]
    y[0] = held[0] + held[79]
    return total


def compiled(kernel: Any, **how: Any) -> Any:
    signature = [FLOATS, FLOATS, lw.f32] if kernel is axpy else [ARRAY, ARRAY, lw.i32]
    return kernel.compile(*signature, target=NAME, **how)


def arguments(kernel: Any, n: int) -> list[Any]:
    pick = np.random.default_rng(n)
    if kernel is axpy:
        return [pick.normal(size=n).astype(np.float32), pick.normal(size=n).astype(np.float32), 1.5]
    return [pick.integers(-5, 20, n).astype(np.int32), np.zeros(n, np.int32), 7]


def simulated(code: Any, args: list[Any]) -> tuple[Any, dict[str, int]]:
    """Call code in the simulator; arrays are written in place."""
    simulator: Any = importlib.import_module("loopwright.targets.belt.simulator")
    memory = bytearray(64)
    words: list[Any] = []
    places: list[tuple[int, Any]] = []
    for a in args:
        if isinstance(a, np.ndarray):
            places.append((len(memory), a))
            words += [len(memory), len(a)]
            memory += a.tobytes() + bytes(64)
        else:
            words.append(a)
    source = code.compiled.source
    result, counts = simulator.run(code.compiled.machine, [(source.types[p], word) for p, word in zip(source.params, words, strict=True)], memory)
    for at, a in places:
        a[:] = np.frombuffer(memory[at : at + a.nbytes], a.dtype)
    return result, counts


@pytest.mark.parametrize("n", [0, 1, 2, 9, 100])
@pytest.mark.parametrize("kernel", [clipped, axpy, pairs, wide], ids=lambda kernel: kernel.function.__name__)
def test_code_does_what_the_interpreter_says(kernel: Any, n: int) -> None:
    n = max(n, 80) if kernel is wide else n
    code = compiled(kernel)
    mine, theirs = arguments(kernel, n), arguments(kernel, n)
    got, _ = simulated(code, mine)
    assert got == Interpreter(code.compiled.source).call(*theirs)
    assert all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))


def test_only_what_leaves_its_paragraph_or_the_belt_has_a_cell() -> None:
    code = compiled(axpy)
    _, counts = simulated(code, arguments(axpy, 50))
    # The counter; everything else that a step makes stays on the belt, but for what the branch chooses by.
    assert 50 <= counts["put"] <= 5 * 50 + 5
    assert compiled(wide).asm().count("put") >= 80 - 63


@pytest.mark.parametrize("kernel", [clipped, axpy, pairs], ids=lambda kernel: kernel.function.__name__)
def test_the_text_after_every_pass_is_a_function_and_compiles_on_to_the_same_code(kernel: Any) -> None:
    code = compiled(kernel, keep=True)
    target = registry.get(NAME)
    assert names_of(code.compiled.passes)[-4:] == ["select", "paragraphs", "belt", "words"]
    want = arguments(kernel, 20)
    result = Interpreter(code.compiled.source).call(*want)
    for name in names_of(code.compiled.passes):
        text = code.ir(name)
        f = parse(text, target=target)
        verify(f, target)
        got = arguments(kernel, 20)
        assert Interpreter(f, target).call(*got) == result and all(np.array_equal(a, b) for a, b in zip(got, want, strict=True)), name
        assert compiler.compile(f, target).machine.data == code.bytes, name
        assert compiled(kernel).ir(name) == text


def test_the_notes_of_a_machine_s_own_passes_are_in_its_texts() -> None:
    code = compiled(clipped)
    assert "paragraph 2, goes on with" in code.ir("paragraphs")
    assert "cell 5" in code.ir("belt")
    assert "paragraph" not in code.ir("belt") and "cell" not in code.ir("select")


@pytest.mark.parametrize("place", ["select", "paragraphs", "belt"])
def test_a_user_s_pass_has_its_place_among_them(place: str) -> None:
    def threefold_to_fourfold(f: Function, target: Target) -> None:
        for instr in f.code:
            instr.args = [f.const(f.const_types[~a], 4) if a < 0 and f.const_values[~a] == 3 else a for a in instr.args]

    x, y, limit = arguments(clipped, 30)
    simulated(compiled(clipped, passes=[lw.after(place, threefold_to_fourfold)]), [x, y, limit])
    assert np.array_equal(y, np.where(x > limit, limit - x, x * 4))


def test_settings_of_the_allocation_change_nothing() -> None:
    code = compiled(clipped)
    assert compiled(clipped, prove=True, ordering="QPONMLKJIHGFEDCBA").bytes == code.bytes
    assert code.compiled.statistics is None and code.compiled.function.frame is None
    assert set(code.times) == set(names_of(code.compiled.passes)) - {"collect"}


def test_what_there_is_none_of_is_refused_by_name() -> None:
    code = compiled(clipped)
    source, target = code.compiled.source, registry.get(NAME)
    assert repr(code) == f"<Code clipped for {NAME}, {code.size} bytes not loaded>"
    with pytest.raises(CpuError, match=rf"code for {NAME} cannot run on this \w+ CPU; compile without target="):
        code(*arguments(clipped, 3))
    with pytest.raises(TargetError, match=f"no emulator for {NAME}"):
        code.emulate(*arguments(clipped, 3))
    with pytest.raises(TargetError, match="there is no pass 'allocate'; the passes are collect, .*, select, paragraphs, belt, words"):
        code.ir("allocate")
    with pytest.raises(TargetError, match="there is no pass 'liveness' for"):
        compiled(clipped, passes=[lw.after("liveness", lambda f, target: None, name="mine")])
    with pytest.raises(TargetError, match=f"{NAME} has no registers: there is nothing to allocate"):
        explain.explain(compiler.run_passes(source, target, "select"), target, code.compiled.order)
    with pytest.raises(TargetError, match=f"no timing tables for {NAME}"):
        perf_score(code.compiled)
    with pytest.raises(UnsupportedOperationError, match=f"is not available on {NAME}"):
        lw.parse("function f(%a: f64) -> f64\n  %b = sqrt.f64 %a\n  ret.f64 %b\nend\n").compile(target=NAME)


@pytest.mark.parametrize("stage", ["liveness", "allocate", "jumps"])
def test_text_at_a_stage_that_its_passes_do_not_come_by_is_refused(stage: str) -> None:
    other = registry.get("rv64gc")
    text = clipped.compile(ARRAY, ARRAY, lw.i32, target="rv64gc").ir(stage).replace("target rv64gc", f"target {NAME}")
    with pytest.raises(TargetError, match=f"clipped is at the stage {stage}, which compiling for {NAME} does not come by; the passes are collect, checks"):
        compiler.compile(parse(text, target=other), registry.get(NAME), Settings())


def test_the_command_line_knows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kernels.py"
    file.write_text("import loopwright as lw\n\n@lw.kernel\ndef twice(x: lw.i64) -> lw.i64:\n    return x + x\n")
    kernel = [f"{file}:twice", "--target", NAME]
    assert cli.main(["targets"]) == 0
    assert f"{NAME:13} a machine without registers" in capsys.readouterr().out.replace("  ", " ", 1)
    assert cli.main(["passes", "--target", NAME]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines() if line][-4:-1] == ["paragraphs", "belt", "words"]
    assert cli.main(["show", *kernel]) == 0
    assert "get.i64 cell 0" in capsys.readouterr().out
    assert cli.main(["show", *kernel, "--after", "paragraphs"]) == 0
    assert "paragraph 0" in capsys.readouterr().out
    for option, what in (("--explain", "has no registers"), ("--score", "no timing tables")):
        assert cli.main(["show", *kernel, option]) == 1
        assert what in capsys.readouterr().err


def test_its_compilations_can_be_recorded(tmp_path: Path) -> None:
    from loopwright.corpus import files

    with lw.record(tmp_path / "mine.lwc"):
        compiled(clipped)
    (context,) = files.read(tmp_path / "mine.lwc").contexts
    assert (context.target, context.vector_bits, context.convention) == (NAME, 0, "cells")
    assert compiler.compile(parse(context.function), registry.get(NAME)).machine.data == compiled(clipped).bytes
