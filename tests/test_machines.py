"""The runners of ``tests/machines.py``: every target has one, and what goes wrong under an emulator is told by the call it went wrong in."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from tests import machines
from tests.conftest import CHECKOUT
from tests.machines import RUNNERS, Emulated, Here, Runner, Simulated, runners

from loopwright.compiler import Compiled, compile
from loopwright.errors import TargetError
from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Mem
from loopwright.runtime import cpu
from loopwright.targets import registry
from loopwright.types import I64, U8, VOID


def stores(runner: Runner, value: int, beyond: int = 0) -> Compiled:
    """Stores a number, so many bytes behind the first element, and returns the array's extent."""
    f = Function("stores", I64)
    array = f.array_param("x", U8, 1)
    array.written = True
    at = Mem(False, 1, beyond, 1)
    f.code = [Instr(ops.STORE_AT, U8, NONE, [f.const(U8, value), array.base], mem=at), Instr(ops.RET, I64, NONE, [array.extents[0]])]
    return compile(f, runner.target)


def in_a_program(runner: Runner) -> bool:
    """Whether an emulator is started for it."""
    return isinstance(runner, Emulated) and not isinstance(runner, Simulated)


emulated = pytest.mark.parametrize("runner", runners(lambda runner: isinstance(runner, Emulated)))


def test_every_target_has_a_runner() -> None:
    assert {runner.name for runner in RUNNERS} == set(registry.names())
    for runner in RUNNERS:
        able = registry.machines()[runner.folder].runs_here() and runner.target.features <= cpu.host_features()
        assert isinstance(runner, Here) == able
        assert runner.target.vector_bits == runner.bits


@pytest.mark.parametrize("runner", runners())
def test_a_call_at_once_and_one_that_may_wait_do_the_same(runner: Runner) -> None:
    x, y = np.zeros(3, np.uint8), np.zeros(4, np.uint8)
    seen: list[int] = []
    assert runner.call(stores(runner, 5), x) == 3
    runner.run(stores(runner, 6), [y], seen.append)
    assert bool(seen) == isinstance(runner, Here)
    machines.finish()
    assert (seen, x[0], y[0]) == ([4], 5, 6)


@pytest.mark.parametrize("runner", runners(in_a_program))
def test_the_call_that_a_program_died_in_is_named(runner: Runner) -> None:
    seen: list[int] = []
    for n, beyond in enumerate((0, 0, 0, 8, 0)):
        runner.run(stores(runner, 1, beyond), [np.zeros(n + 1, np.uint8)], seen.append)
    with pytest.raises(AssertionError, match=rf"stores on {runner.name} with \[array\(\[0, 0, 0, 0\], dtype=uint8\)\]: the emulated program died"):
        machines.finish()
    assert not seen


@emulated
def test_what_does_not_fit_the_function_is_an_error_at_once_or_at_the_end(runner: Runner) -> None:
    runner.run(stores(runner, 1), [np.zeros(3, np.int64)], lambda _: None)
    with pytest.raises(AssertionError, match="stores on .*uint8"):
        machines.finish()


@emulated
def test_code_of_this_process_cannot_be_called(runner: Runner) -> None:
    assert not runner.calls_back
    from loopwright.ir.function import Callee

    f = Function("calls", VOID)
    f.callees.append(Callee("there", [], VOID, address=1))
    f.code = [Instr(ops.CALL_VOID, VOID, NONE, [])]
    with pytest.raises(TargetError, match="in this process"):
        runner.call(compile(f, runner.target))


TEST = """
import numpy as np
import pytest
from tests.machines import Emulated, Simulated, runners

def in_a_program(runner):
    return isinstance(runner, Emulated) and not isinstance(runner, Simulated)

@pytest.mark.parametrize("runner", runners(lambda runner: in_a_program(runner)))
@pytest.mark.parametrize("wrong", [False, True])
def test_waits(runner, wrong):
    from tests.test_machines import stores

    def check(result):
        assert result == 2 + wrong, "looked at"

    runner.run(stores(runner, 1), [np.zeros(2, np.uint8)], check)
"""


def outcome(path: str, **variables: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rs",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-p",
        "tests.conftest",
        "--rootdir",
        str(CHECKOUT),
        path,
    ]
    return subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False).stdout


@pytest.mark.skipif(not any(in_a_program(runner) and not runner.lacks for runner in RUNNERS), reason="no emulator is installed")
def test_a_wrong_result_fails_the_test_that_waited_for_it_and_without_an_emulator_it_is_skipped(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("waits") / "test_waits.py"
    file.write_text(TEST)
    able = sum(in_a_program(runner) and not runner.lacks for runner in RUNNERS)
    said = outcome(str(file))
    assert f"{able} failed, {able} passed" in said and "looked at" in said, said
    without = outcome(str(file), PATH="/nowhere")
    every = sum(in_a_program(runner) for runner in RUNNERS)
    assert f"{2 * every} skipped" in without and "is not installed" in without, without
