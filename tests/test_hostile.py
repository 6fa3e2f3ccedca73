"""What a new user does wrong, and what must come of it: an error of loopwright's own that says what to do, or the right result; never a crash.

Every case here once was a crash, an error of Python's that named none of the user's code, or a silent wrong result.
"""

from __future__ import annotations

import copy
import itertools
import linecache
import os
import pickle
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright as lw

F = np.float32


@lw.kernel
def plus_one(x: lw.Array[lw.f32], y: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        y[i] = x[i] + 1


@lw.kernel
def together(a: lw.i64, b: lw.f32) -> lw.f64:
    return lw.f64(a) + lw.f64(b)


def kernel_of(source: str) -> Any:
    """The kernel ``k`` of a source text, which may be as long as it likes."""
    text = textwrap.dedent(source)
    file = f"<hostile {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope: dict[str, Any] = {"lw": lw, "np": np}
    exec(compile(text, file, "exec"), scope)  # noqa: S102 (sources of this file alone)
    return scope["k"]


# --- values that are not known while compiling ---------------------------------------------------------------


def in_dict(v: Any) -> Any:
    return {1: 10}.get(v, 5)


def as_key(v: Any) -> Any:
    return len({v: 1, v + 0: 2})


@pytest.mark.parametrize("look_up", [in_dict, as_key])
def test_a_run_time_value_is_not_looked_up_by_identity(look_up: Callable[[Any], Any]) -> None:
    @lw.kernel
    def k(x: lw.Array[lw.i32]) -> lw.i32:
        return 1 if look_up(x[0]) else 0

    with pytest.raises(lw.KernelTypeError, match="cannot be looked up in or put into a set, a dictionary or a cache"):
        k(np.ones(1, np.int32))


def test_the_index_of_lanes_is_compared_with_what_a_set_holds() -> None:
    @lw.kernel
    def k(x: lw.Array[lw.f32]):
        for i in lw.lanes(len(x)):
            x[i] = 1 if i in {1, 2} else 0

    x = np.full(40, 7, F)
    k(x)
    assert np.flatnonzero(x).tolist() == [1, 2]


def lengthen(some: list[int]) -> None:
    some.append(5)


def test_a_helper_does_not_change_a_list_under_run_time_control_flow() -> None:
    @lw.kernel
    def k(x: lw.Array[lw.f32]) -> lw.f32:
        some = [1]
        if x[0] > 0:
            lengthen(some)
        return len(some)

    with pytest.raises(lw.KernelTypeError, match="a Python list, changes as a whole .* under run-time control flow"):
        k(np.zeros(1, F))


def test_an_iterator_does_not_go_on_under_run_time_control_flow() -> None:
    @lw.kernel
    def k(x: lw.Array[lw.f32]) -> lw.f32:
        numbers = iter((1, 2, 3))
        if x[0] > 0:
            next(numbers)
        return next(numbers)

    with pytest.raises(lw.KernelTypeError, match="`next` under run-time control flow"):
        k(np.zeros(1, F))


def test_a_list_made_under_run_time_control_flow_may_change_there() -> None:
    @lw.kernel
    def k(x: lw.Array[lw.f32]) -> lw.f32:
        n = lw.f32(0)
        if x[0] > 0:
            some = [1]
            lengthen(some)
            numbers = iter((1, 2, 3))
            n = lw.f32(len(some) + next(numbers))
        return n

    assert k(np.ones(1, F)) == 3
    assert k(np.zeros(1, F)) == 0


# --- numbers out of all proportion ----------------------------------------------------------------------------


def test_an_index_beyond_64_bits_does_not_wrap_around() -> None:
    @lw.kernel
    def k(x: lw.Array[lw.f32], at: lw.Const) -> lw.f32:
        return x[at]

    for at in (2**63, 2**70, np.uint64(2**64 - 1)):
        with pytest.raises(lw.KernelTypeError, match="does not fit in i64"):
            k(np.ones(3, F), at)


def test_integers_too_long_to_print() -> None:
    with pytest.raises(lw.ArgumentError, match="a: an integer of 16610 bits is out of range for i64"):
        together(10**5000, 0)

    @lw.kernel
    def k(x: lw.Array, c: lw.Const) -> lw.i64:
        return lw.i64(x[0] + c)

    for dtype, says in ((np.int32, "a Python integer of 16610 bits does not fit in i32"), (F, "a Python integer of 16610 bits is too large for f32")):
        with pytest.raises(lw.KernelTypeError, match=says):
            k(np.ones(3, dtype), 10**5000)


# --- loops and expressions without end -------------------------------------------------------------------------


def test_an_iterator_without_end_is_not_unrolled_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    from loopwright.frontend import looping

    monkeypatch.setattr(looping, "FOR_LIMIT", 1000)

    @lw.kernel
    def k(x: lw.Array[lw.f32]):
        n = 0
        for i in itertools.count():
            n += i
        x[0] = n

    with pytest.raises(lw.KernelTypeError, match="runs while compiling.*has not ended after 1000 steps.*lw.range"):
        k(np.zeros(1, F))


def test_a_long_range_is_not_unrolled_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    from loopwright.frontend import looping

    monkeypatch.setattr(looping, "GROWTH_LIMIT", 1000)

    @lw.kernel
    def k(x: lw.Array[lw.f32], n: lw.Const) -> lw.f32:
        total = x[0]
        for i in range(n):
            total = total * x[0] + i
        return total

    assert k(np.zeros(1, F), 300) == 299
    with pytest.raises(lw.KernelTypeError, match="has made 1000 instructions after .* steps.*lw.range"):
        k(np.zeros(1, F), 10**9)


def test_expressions_too_deep_are_refused() -> None:
    terms = kernel_of(f"@lw.kernel\ndef k(x: lw.Array[lw.f32]) -> lw.f32:\n    return {' + '.join(f'x[{i}]' for i in range(1000))}\n")
    signs = kernel_of(f"@lw.kernel\ndef k(x: lw.Array[lw.f32]) -> lw.f32:\n    return {'-' * 900}x[0]\n")
    for k in (terms, signs):
        with pytest.raises(lw.KernelSyntaxError, match="too many terms, or is nested too deeply"):
            k(np.ones(1000, F))


def test_chains_too_long_to_be_read_are_refused() -> None:
    elifs = kernel_of(
        "@lw.kernel\ndef k(x: lw.i64) -> lw.i64:\n    r = x\n    if x == -1:\n        r = 5\n"
        + "".join(f"    elif x == {n}:\n        r = {2 * n}\n" for n in range(700))
        + "    return r\n"
    )
    returns = kernel_of(
        "@lw.kernel\ndef k(x: lw.i64) -> lw.i64:\n" + "".join(f"    if x == {n}:\n        return {2 * n}\n" for n in range(1500)) + "    return x\n"
    )
    for k in (elifs, returns):
        with pytest.raises(lw.KernelSyntaxError, match="a chain of some hundred elif, or of returns under ifs, becomes a loop over a tuple"):
            k(1)

    @lw.kernel
    def k(x: lw.i64, values: lw.Const) -> lw.i64:
        for value in values:
            if x == value:
                return 2 * value
        return x

    assert k(699, tuple(range(700))) == 1398


def test_a_sum_of_many_terms() -> None:
    k = kernel_of(f"@lw.kernel\ndef k(x: lw.Array[lw.f32]) -> lw.f32:\n    return {' + '.join(f'x[{i}]' for i in range(200))}\n")
    assert k(np.ones(200, F)) == 200


# --- arrays that are not what they say -------------------------------------------------------------------------


class Pretender:
    """Says that it is an array."""

    __class__ = np.ndarray  # type: ignore[assignment]
    dtype = np.dtype(F)
    shape = (3,)
    strides = (4,)
    ndim = 1
    flags = np.zeros(1).flags


class Liar(np.ndarray):  # type: ignore[type-arg]
    """An array that says other things of its memory than are so."""

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (1 << 40,)

    @property
    def strides(self) -> tuple[int, ...]:  # type: ignore[override]
        return (4096,)

    @property
    def dtype(self) -> Any:
        return 3


def test_a_pretender_is_no_array() -> None:
    y = np.zeros(3, F)
    code = plus_one.compile()
    for call in (plus_one, code):
        for args in ((Pretender(), y), (y, Pretender())):
            with pytest.raises(lw.ArgumentError, match="a NumPy array of float32 with 1 dimension is expected"):
                call(*args)


def test_a_subclass_is_taken_for_what_it_is() -> None:
    x, y = np.arange(3, dtype=F), np.zeros(3, F)
    plus_one.compile()(x.view(Liar), y)
    assert (y == x + 1).all()


# --- kernels and errors as objects -----------------------------------------------------------------------------


def test_kernels_travel_by_name() -> None:
    plus_one(np.zeros(3, F), np.zeros(3, F))
    assert pickle.loads(pickle.dumps(plus_one)) is plus_one
    assert copy.deepcopy(plus_one) is plus_one


@pytest.mark.parametrize(
    "provoke",
    [
        lambda: lw.parse("function f(\n  zz"),
        lambda: plus_one(3, 4),
        lambda: plus_one.compile(check=True)(np.zeros(3, F), np.zeros(2, F)),
        lambda: plus_one.compile(target="abacus"),
    ],
)
def test_errors_travel(provoke: Callable[[], Any]) -> None:
    with pytest.raises(lw.LoopwrightError) as caught:
        provoke()
    error = caught.value
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.file, again.line) == (str(error), error.file, error.line)


def test_what_is_no_function_is_shown_and_refused() -> None:
    made = lw.kernel(3)
    assert repr(made) == "<kernel 3>"
    with pytest.raises(lw.KernelSyntaxError, match="goes on a Python function"):
        made(np.zeros(3, F))


def test_an_argument_given_twice_is_an_error_of_the_kernels_name() -> None:
    with pytest.raises(TypeError, match=r"plus_one\(\) got multiple values for argument 'x'"):
        plus_one(np.zeros(3, F), x=np.zeros(3, F))


def test_an_order_that_is_no_string() -> None:
    with pytest.raises(lw.TargetError, match="is a string, a permutation of"):
        plus_one.compile(ordering=5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target": 3}, "by its name, as in target='x86-64-v3', or described (docs/multiclet.md), not by 3"),
        ({"target": b"x86-64-v3"}, "by its name"),
        ({"vector_bits": "256"}, "a number of bits, as in vector_bits=256, not '256'"),
        ({"vector_bits": 256.0}, "a number of bits"),
        ({"vector_bits": True}, "a number of bits"),
        ({"ordering": ["A"]}, "is a string, a permutation of"),
    ],
)
def test_settings_of_another_type(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(lw.TargetError, match=re.escape(message)):
        plus_one.compile(**settings)
    with pytest.raises(lw.TargetError, match=re.escape(message)):
        lw.kernel(plus_one.function, **settings)(np.ones(3, F), np.ones(3, F))
    f = lw.Function("f", a=lw.i64, returns=lw.i64)
    with f:
        f.ret(f.a)
    with pytest.raises(lw.TargetError, match=re.escape(message)):
        f.compile(**settings)


@pytest.mark.parametrize("yes", [1, np.True_, "yes", [0]], ids=repr)
@pytest.mark.parametrize("no", [0, np.False_, "", []], ids=repr)
def test_switches_are_asked_for_their_truth(yes: Any, no: Any) -> None:
    x, y = np.ones(4, F), np.zeros(3, F)
    with pytest.raises(lw.BoundsError):
        plus_one.compile(x, y, check=yes)(x, y)
    checked = lw.kernel(plus_one.function, check=yes, contract=no, fastmath=yes)
    assert (checked.check, checked.contract, checked.fastmath) == (True, False, True)
    with pytest.raises(lw.BoundsError):
        checked(x, y)
    assert "option check" not in checked.compile(x, y, check=no, keep=yes).ir("collect")
    f = lw.Function("f", x=lw.Array[lw.f32], returns=lw.f32, check=yes, contract=no, fastmath=yes)
    with f:
        f.ret(f.x[4])
    with pytest.raises(lw.BoundsError):
        f.compile()(x)


def test_a_stage_that_is_no_name() -> None:
    with pytest.raises(lw.TargetError, match="the name of a pass, as in code.ir\\('allocate'\\), not 3"):
        plus_one.compile().ir(3)


# --- the builder -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", [(), (lw.f32, 1, 2)], ids=repr)
def test_an_array_of_no_things_or_of_three(what: tuple[Any, ...]) -> None:
    with pytest.raises(lw.KernelTypeError, match=f"an element type and perhaps a rank, as in .*, not {len(what)} things"):
        lw.Array[what]


@pytest.mark.parametrize("what", [3, "f", None.__class__, len, plus_one], ids=repr)
def test_what_is_no_function_is_no_function_of_a_module(what: Any) -> None:
    with pytest.raises(lw.KernelSyntaxError, match="@module.function goes on a Python function, not on"):
        lw.Module().function(what)


def _append_nothing(f: Any) -> None:
    f.code.append(None)


def _no_list(f: Any) -> None:
    f.code = 7


def _names_for_operands(f: Any) -> None:
    f.code[len(f.code) // 2].args[:] = ["a", "b"]


def _no_operation(f: Any) -> None:
    f.code[len(f.code) // 2].op = None


def _no_type(f: Any) -> None:
    f.code[len(f.code) // 2].type = None


def _no_constants(f: Any) -> None:
    f.const_values.clear()


@pytest.mark.parametrize("change", [_append_nothing, _no_list, _names_for_operands, _no_operation, _no_type, _no_constants])
@pytest.mark.parametrize("place", ["collect", "vectorize", "simplify", "select", "liveness", "allocate", "lower-late", "encode"])
def test_a_pass_that_leaves_no_function(place: str, change: Callable[[Any], None]) -> None:
    def mine(f: Any, target: Any) -> None:
        change(f)

    # (Compiled code sees a wrong type where it is written.)
    with pytest.raises((lw.VerifyError, TypeError), match="after the pass mine|object expected|got"):
        plus_one.compile(passes=[lw.after(place, mine)])


@pytest.mark.parametrize("name", [None, 1, b"f", lw.f32], ids=repr)
def test_a_name_that_is_no_string(name: Any) -> None:
    with pytest.raises(lw.KernelTypeError, match="a function's name is a string"):
        lw.Function(name)
    f = lw.Function("f")
    with pytest.raises(lw.KernelTypeError, match="the name of a variable is a string"), f:
        f.var(lw.i64, 0, name)


@pytest.mark.parametrize("type_", [None, 1, "i64", float, lw.Array[lw.f32]], ids=repr)
def test_a_variable_of_no_type(type_: Any) -> None:
    f = lw.Function("f")
    with pytest.raises(lw.KernelTypeError, match="f.var takes a type first, as in f.var"), f:
        f.var(type_)


def test_a_value_used_where_it_was_not_computed() -> None:
    f = lw.Function("f", a=lw.i64, returns=lw.i64)
    with pytest.raises(lw.VerifyError, match="used where a path has not defined it"), f:
        with f.if_(f.a < 3):
            inside = f.a + 1
        f.ret(inside)


def test_a_value_of_another_function() -> None:
    f, g = lw.Function("f", a=lw.i64, b=lw.i64, returns=lw.i64), lw.Function("g", c=lw.i64, d=lw.f32, returns=lw.i64)
    with pytest.raises(lw.KernelTypeError, match="a value of the function g is used in f"), f:
        f.ret(f.a + g.c)
    f = lw.Function("f", a=lw.i64, returns=lw.i64)
    with pytest.raises(lw.KernelTypeError, match="a value of the function g is used in f"), f:
        f.ret(g.c)


def test_a_value_kept_from_an_earlier_compilation() -> None:
    kept: list[Any] = []

    def keep(value: Any, where: list[Any]) -> Any:
        where.append(value)
        return where[0]

    keeps = {"keep": keep}

    @lw.kernel
    def k(x: lw.Array) -> lw.f64:
        return lw.f64(keeps["keep"](x[0], kept) + x[1])

    assert k(np.ones(2)) == 2
    with pytest.raises(lw.KernelTypeError, match="of an earlier compilation of k is used"):
        k(np.ones(2, F))


@pytest.mark.parametrize("lanes", [-1, 3, 2.5, "a", 1 << 40])
def test_numbers_of_lanes(lanes: Any) -> None:
    f = lw.Function("f", x=lw.Array[lw.f32])
    for use in (lambda: f.load(f.x, 0, lanes=lanes), lambda: f.splat(1.0, lanes, lw.f32), lambda: f.iota(lw.i32, lanes), lambda: f.lane_mask(0, 1, lanes)):
        with pytest.raises(lw.KernelTypeError, match="a vector has 1, 2, 4, … 64 lanes"):
            use()


def test_a_vector_is_no_result() -> None:
    f = lw.Function("f", x=lw.Array[lw.f32], returns=lw.f32)
    with pytest.raises((lw.VerifyError, lw.KernelTypeError)), f:
        f.ret(f.load(f.x, 0, lanes=4))


# --- text ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["collect", "unroll", "simplify", "select", "liveness"])
def test_text_is_compiled_on_from_its_stage(stage: str) -> None:
    @lw.kernel
    def k(x: lw.Array[lw.f32], a: lw.i64) -> lw.f32:
        total = lw.f32(0)
        for _ in lw.range(a):
            for i in lw.lanes(len(x)):
                total += x[i] if x[i] > 2 else x[i] * 2
            if total > 100:
                break
        return total

    code = k.compile(keep=True)
    x = np.arange(20, dtype=F)
    again = lw.parse(code.ir(stage)).compile(target=code.target.name)
    assert again(x.ctypes.data, 20, 3) == code(x, 3) if len(again.signature.parameters) == 3 else again(x, 3) == code(x, 3)


# --- the process must live -------------------------------------------------------------------------------------


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    source = Path(lw.__file__).parents[1]
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(source), **environment},
        check=False,
    )


def test_threads_collections_and_deletions(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import gc, sys, threading
            import numpy as np, loopwright as lw

            sys.setswitchinterval(1e-5)
            gc.set_threshold(50, 2, 2)

            @lw.kernel
            def scaled(x: lw.Array, c: lw.Const):
                for i in lw.lanes(len(x)):
                    x[i] = x[i] * c + c

            @lw.kernel
            def slow(x: lw.Array[lw.f64], n: lw.i64):
                for r in lw.range(n):
                    for i in lw.lanes(len(x)):
                        x[i] = x[i] * 0.5 + 1

            wrong = []

            def work(k):
                for r in range(8):
                    x = np.ones(37, np.float32)
                    code = scaled.compile(x, c=float(k * 100 + r))
                    code(x)
                    wrong.extend(x[x != 2 * (k * 100 + r)])
                    x = np.ones(37)
                    scaled(x, float(r))
                    wrong.extend(x[x != 2 * r])
                    f = lw.Function("f", a=lw.i64, b=lw.i64, returns=lw.i64)
                    with f:
                        f.ret(f.a * k + f.b)
                    if f.compile()(5, 4) != 5 * k + 4:
                        wrong.append(k)

            threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
            for _ in range(8):
                # The thread's is the last reference to the code it runs.
                codes = [slow.compile()]
                threads.append(threading.Thread(target=codes.pop(), args=(np.ones(1000), 5000)))
            for thread in threads:
                thread.start()
            gc.collect()
            for thread in threads:
                thread.join()
            print("wrong:", wrong)
            """
        )
    )
    done = run(f"import runpy; runpy.run_path({str(program)!r})")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "wrong: []"


def test_division_by_zero_at_run_time() -> None:
    def check(dtype: type, op: Callable[[Any, Any], Any]) -> None:
        least = np.iinfo(dtype).min

        @lw.kernel
        def k(a: lw.Array, b: lw.Array, y: lw.Array):
            for i in lw.range(len(a)):
                y[i] = op(a[i], b[i])

        a, b = np.array([5, 0, least, least, 7], dtype), np.array([0, 0, 0, -1 if least else 1, 2], dtype)
        y = np.zeros_like(a)
        k(a, b, y)
        with np.errstate(all="ignore"):
            assert (y == op(a, b)).all()

    for dtype in (np.int32, np.int64, np.uint8, np.uint32, np.uint64):
        check(dtype, lambda a, b: a // b)
        check(dtype, lambda a, b: a % b)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_calls_and_compiles() -> None:
    plus_one(np.zeros(3, F), np.zeros(3, F))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            y = np.zeros(3, F)
            plus_one(np.ones(3, F), y)
            made = lw.Function("f", a=lw.i64, returns=lw.i64)
            with made:
                made.ret(made.a * 7)
            status = 0 if (y == 2).all() and made.compile()(3) == 21 else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_a_cpu_told_to_lack_features_refuses_before_running() -> None:
    program = """
    import numpy as np, loopwright as lw

    f = lw.Function("f", x=lw.Array[lw.f32])
    with f:
        f.store(f.x, 0, value=f.load(f.x, 0, lanes=16))
    x = np.ones(16, np.float32)
    try:
        f.compile(target="x86-64-v4")(x)
    except lw.CpuError as error:
        print(error)
    """
    done = run(program, LOOPWRIGHT_CPU_FEATURES="x86-64-v3")
    assert done.returncode == 0, done.stderr
    assert "code for x86-64-v4 cannot run on this CPU, which lacks avx512" in done.stdout
