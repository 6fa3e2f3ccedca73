"""Kernels that no module leads back to go to other processes by value."""

from __future__ import annotations

import copy
import ctypes
import importlib
import linecache
import math
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright as lw

cloudpickle = pytest.importorskip("cloudpickle")

F = np.float32
X = np.arange(6, dtype=F)


# --- in one process --------------------------------------------------------------------------------------------


def travel(value: Any, protocol: int = pickle.DEFAULT_PROTOCOL) -> Any:
    return pickle.loads(pickle.dumps(value, protocol))


def result(kernel: Any, *args: Any) -> Any:
    y = X.copy()
    kernel(y, *args)
    return y.tolist()


def helper(v: Any, low: Any = 3) -> Any:
    if v > low:
        return v * 2
    return v


@lw.kernel
def of_the_module(x: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        x[i] = helper(x[i])


class Holder:
    @lw.kernel
    def held(x: lw.Array):
        x[0] = 7


def test_what_can_be_imported_goes_by_name() -> None:
    for kernel in (of_the_module, Holder.held):
        assert travel(kernel) is kernel
        assert cloudpickle.loads(cloudpickle.dumps(kernel)) is kernel
        assert len(pickle.dumps(kernel)) < 100


def made(scale: Any, more: Any = None) -> Any:
    @lw.kernel(contract=False, fastmath=True, vector_bits=128)
    def k(x: lw.Array, a: lw.f32 = 1.0, n: lw.Const = (1, 2)) -> lw.i64:
        for i in lw.lanes(len(x)):
            x[i] = helper(x[i]) * scale + n[0] + math.pi + a
        return more(len(x)) if more is not None else 3

    return k


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_kernel_from_inside_a_function(protocol: int) -> None:
    kernel = made(3.0)
    want = result(kernel, 1.0)
    again = travel(kernel, protocol)
    assert again is not kernel
    assert result(again, 1.0) == want
    assert [(p.name, p.kind, p.type, p.rank, p.default) for p in again.parameters] == [(p.name, p.kind, p.type, p.rank, p.default) for p in kernel.parameters]
    for name in ("check", "contract", "fastmath", "result", "__name__", "__qualname__", "__module__", "__doc__"):
        assert getattr(again, name) == getattr(kernel, name), name
    for name in ("target", "vector_bits", "ordering", "prove", "passes"):
        assert getattr(again.settings, name) == getattr(kernel.settings, name)
    assert result(travel(again, protocol), 1.0) == want
    assert result(cloudpickle.loads(cloudpickle.dumps(again, protocol)), 1.0) == want


def test_copies_are_the_kernel_itself() -> None:
    kernel = made(3.0)
    assert copy.copy(kernel) is kernel
    assert copy.deepcopy([kernel])[0] is kernel


def test_a_kernel_whose_name_is_anothers_goes_by_value() -> None:
    kernel = lw.kernel(of_the_module.function)
    again = travel(kernel)
    assert again is not kernel and again is not of_the_module
    assert result(again) == result(of_the_module)


def test_what_has_been_compiled_stays_behind() -> None:
    kernel = made(3.0)
    before = pickle.dumps(kernel)
    result(kernel, 1.0)
    assert pickle.dumps(kernel) == before


def test_functions_and_what_they_use_go_along() -> None:
    offset = np.float32(2)
    odd_ones = {"odd": None}

    def even(n: Any) -> Any:
        return True if n == 0 else odd(n - 1)

    def odd(n: Any) -> Any:
        return False if n == 0 else even(n - 1)

    def shifted(v: Any, *rest: Any, by: Any = (offset,)) -> Any:
        if v > 1:
            return v + by[0]
        return v - by[0]

    @lw.kernel
    def inner(v: lw.f32) -> lw.f32:
        return operations["shifted"](v) * 2

    operations = {"shifted": shifted, "twice": lambda v, w=offset: v * w, "deep": [({"f": (lambda v: v + offset)},)], "odd": odd_ones}

    @lw.kernel
    def k(x: lw.Array):
        assert even(4) and not odd(4)
        for i in lw.lanes(len(x)):
            x[i] = inner(x[i]) + operations["twice"](x[i]) + operations["deep"][0][0]["f"](x[i])

    want = result(k)
    for again in (travel(k), cloudpickle.loads(cloudpickle.dumps(k)), travel(travel(k))):
        assert result(again) == want
    # Written down once each, though they use each other.
    used = dict(zip(travel(k).function.__code__.co_freevars, travel(k).function.__closure__, strict=True))
    again_even = used["even"].cell_contents
    again_odd = dict(zip(again_even.__code__.co_freevars, again_even.__closure__, strict=True))["odd"].cell_contents
    assert dict(zip(again_odd.__code__.co_freevars, again_odd.__closure__, strict=True))["even"].cell_contents is again_even


def test_containers_that_are_in_themselves() -> None:
    operations: dict[str, Any] = {"more": lambda v: v + 1}
    operations["self"] = operations
    numbers: list[Any] = [3.0]
    numbers.append(numbers)

    @lw.kernel
    def k(x: lw.Array):
        x[0] = operations["more"](x[0]) + numbers[1][0]

    assert result(travel(k)) == result(k)


def test_kernels_that_use_each_other() -> None:
    @lw.kernel
    def one(x: lw.Array, how: lw.Const = 1):
        x[0] = 5
        if how:
            two(x)

    @lw.kernel
    def two(x: lw.Array):
        x[1] = 7
        one(x, 0)

    for kernel in (one, two):
        assert result(travel(kernel))[:2] == [5, 7]
    first, second = travel((one, two))
    assert dict(zip(first.function.__code__.co_freevars, first.function.__closure__, strict=True))["two"].cell_contents is second


def test_c_functions_go_by_library_and_name() -> None:
    libm = ctypes.CDLL("libm.so.6")
    libm.sin.argtypes, libm.sin.restype = [ctypes.c_double], ctypes.c_double
    cos = libm.cos
    cos.argtypes, cos.restype = [ctypes.c_double], ctypes.c_double

    @lw.kernel
    def k(x: lw.Array):
        for i in lw.range(len(x)):
            x[i] = lw.f32(libm.sin(x[i])) + lw.f32(lw.call(cos, x[i]))

    assert result(travel(k)) == result(k)


def test_a_packages_modules_go_along_when_they_are_used() -> None:
    email = importlib.import_module("email")
    importlib.import_module("email.header")
    importlib.import_module("email.charset")

    @lw.kernel
    def k(x: lw.Array):
        x[0] = len(email.header.__name__)

    data = pickle.dumps(k)
    assert b"email.header" in data and b"email.charset" not in data
    program = f"import sys, pickle; k = pickle.loads({data!r}); import numpy as np; x = np.zeros(1, np.float32); k(x); print(x[0])"
    assert run(["-c", program]) == "12.0"


def test_a_name_that_has_no_value_yet_has_none_there_either() -> None:
    @lw.kernel
    def k(x: lw.Array, how: lw.Const = 0):
        x[0] = later if how else 3

    again = travel(k)
    assert result(again)[0] == 3
    with pytest.raises(lw.KernelTypeError, match="`later` is not defined"):
        again(X.copy(), 1)
    later = 5
    assert result(travel(k), 1)[0] == 5


def test_errors_there_name_the_lines_here() -> None:
    def wrong(v: Any) -> Any:
        return v & 1

    @lw.kernel
    def k(x: lw.Array):
        x[0] = wrong(x[1])

    errors = []
    for kernel in (k, travel(k)):
        with pytest.raises(lw.UnsupportedOperationError) as caught:
            kernel(X.copy())
        errors.append(str(caught.value))
    assert errors[0] == errors[1]
    assert errors[0].startswith(f"{__file__}:") and "return v & 1\n  called from" in errors[0]


def test_functions_of_a_dictionary_without_a_name_go_along() -> None:
    text = """
def twice(v):
    return v * 2

def k(x: lw.Array):
    for i in lw.lanes(len(x)):
        x[i] = twice(x[i])
"""
    scope: dict[str, Any] = {"lw": lw}
    exec(compile(text, "<without a name>", "exec"), scope)  # noqa: S102 (the text above alone)
    linecache.cache["<without a name>"] = (len(text), None, text.splitlines(True), "<without a name>")
    again = travel(lw.kernel(scope["k"]))
    assert again.function.__module__ is None
    x = np.ones(3, np.float32)
    again(x)
    assert (x == 2).all()


def test_a_kernel_without_a_source_says_so_when_it_is_pickled() -> None:
    scope: dict[str, Any] = {"lw": lw}
    text = "def k(x: lw.Array):\n    x[0] = 7\n"
    exec(text, scope)  # noqa: S102
    with pytest.raises(lw.KernelSyntaxError, match="the source of k cannot be read"):
        pickle.dumps(lw.kernel(scope["k"]))
    assert result(travel(lw.kernel(scope["k"], source=text)))[0] == 7


@pytest.mark.parametrize("type_", [lw.f32, lw.Array, lw.Array[lw.f32, 2], lw.Const])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_annotations_survive_pickling(type_: Any, protocol: int) -> None:
    again = travel(type_, protocol)
    assert again == type_ and type(again) is type(type_)
    if type_ in (lw.Const, lw.f32):
        assert again is type_


# --- between processes -----------------------------------------------------------------------------------------

#: A program that makes kernels in its own module and in a function, and checks what comes back from other processes.
PROGRAM = '''
import math, pickle, sys
import numpy as np
import loopwright as lw

LIMIT = np.float32(2)
OPERATIONS = {"more": lambda v, w=1: v + w}

def helper(v, low=LIMIT):
    if v > low:
        return OPERATIONS["more"](v) * 2
    return v

@lw.kernel
def inner(v: lw.f32) -> lw.f32:
    return helper(v) + math.pi

@lw.kernel
def k(x: lw.Array):
    for i in lw.lanes(len(x)):
        x[i] = inner(x[i])

def made(scale):
    @lw.kernel
    def k(x: lw.Array):
        for i in lw.lanes(len(x)):
            x[i] = inner(x[i]) * scale
    return k

@lw.kernel
def wrong(x: lw.Array):
    x[0] = helper(nosuch)

def apply(kernel):
    x = np.arange(5, dtype=np.float32)
    kernel(x)
    return x.tolist()

def message(kernel):
    try:
        kernel(np.ones(3))
    except lw.LoopwrightError as error:
        return str(error)

def check(run):
    """``run(function, kernel)`` calls the function with the kernel in another process."""
    for kernel in (k, made(3.0)):
        assert run(apply, kernel) == apply(kernel), kernel
    assert run(message, wrong) == message(wrong)
    print("well")
'''


def run(arguments: list[str], folder: Path | None = None) -> str:
    source = str(Path(lw.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source}
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=240, env=environment, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


MULTIPROCESSING = """
if __name__ == "__main__":
    import multiprocessing
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        check(lambda function, kernel: pool.apply(function, (kernel,)))
"""

JOBLIB = """
if __name__ == "__main__":
    import joblib
    check(lambda function, kernel: joblib.Parallel(2, backend="loky")(joblib.delayed(function)(kernel) for _ in range(2))[1])
    x = [np.arange(5, dtype=np.float32) for _ in range(3)]
    joblib.Parallel(2, backend="threading")(joblib.delayed(k)(a) for a in x)
    assert all(a.tolist() == apply(k) for a in x)
    # The kernel itself is what runs there.
    @lw.kernel
    def total(x: lw.Array) -> lw.f32:
        t = lw.f32(0)
        for i in lw.lanes(len(x)):
            t += helper(x[i])
        return t
    assert joblib.Parallel(2, backend="loky")(joblib.delayed(total)(np.full(n, 3, np.float32)) for n in (1, 2, 3)) == [8, 16, 24]
    try:
        joblib.Parallel(2, backend="loky")(joblib.delayed(wrong)(np.ones(3)) for _ in range(2))
    except lw.KernelTypeError as error:
        assert str(error) == message(wrong)
"""

CLOUDPICKLE = """
import cloudpickle, subprocess
def elsewhere(function, kernel):
    program = "import sys, pickle; print(repr((lambda f, k: f(k))(*pickle.load(sys.stdin.buffer))))"
    done = subprocess.run([sys.executable, "-c", program], input=cloudpickle.dumps((function, kernel)), capture_output=True, check=True)
    return eval(done.stdout)
check(elsewhere)
"""

PLAIN = """
import subprocess
def elsewhere(function, kernel):
    program = "import sys, pickle, numpy as np; k = pickle.load(sys.stdin.buffer); x = np.arange(5, dtype=np.float32); k(x); print(repr(x.tolist()))"
    if function is message:
        program = "import sys, pickle, numpy as np, loopwright as lw; k = pickle.load(sys.stdin.buffer)\\ntry: k(np.ones(3))\\nexcept lw.LoopwrightError as error: print(repr(str(error)))"
    done = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(kernel), capture_output=True, check=True)
    return eval(done.stdout)
check(elsewhere)
"""


@pytest.mark.parametrize("way", [PLAIN, pytest.param(CLOUDPICKLE, marks=pytest.mark.slow)])
def test_programs_of_their_own_and_on_the_command_line(tmp_path: Path, way: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + way)
    assert run([str(program)]) == "well"
    assert run(["-c", PROGRAM + way]) == "well"


@pytest.mark.slow
def test_multiprocessing_with_spawn(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + MULTIPROCESSING)
    assert run([str(program)]) == "well"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["file", "-c"])
def test_joblib(tmp_path: Path, how: str) -> None:
    pytest.importorskip("joblib")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + JOBLIB)
    assert run([str(program)] if how == "file" else ["-c", PROGRAM + JOBLIB], tmp_path) == "well"


def test_a_kernel_that_was_executed_from_a_text(tmp_path: Path) -> None:
    program = """
import pickle, numpy as np, loopwright as lw
text = '''
@lw.kernel(source=text)
def k(x: lw.Array):
    x[0] = abs(x[1])
'''
exec(text)
with open("kernel", "wb") as file:
    pickle.dump(k, file)
"""
    (tmp_path / "program.py").write_text(program)
    run(["program.py"], tmp_path)
    assert run(["-c", "import pickle, numpy as np; k = pickle.load(open('kernel', 'rb')); x = -np.ones(3); k(x); print(x[0])"], tmp_path) == "1.0"
