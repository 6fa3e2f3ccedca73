"""Modules: functions that call each other, in Python, by calls and as text; under the interpreter, here, and under the emulators."""

from __future__ import annotations

import ctypes
import math
import pickle

import numpy as np
import pytest

import loopwright as lw
from loopwright.ir.interpret import Interpreter, InterpreterError
from loopwright.runtime.emulate import available, run_many

TARGETS = ("x86-64-v3", "aarch64-neon", "rv64gc")

EVEN_ODD = """
function even(%n: i64) -> bool
  callee odd(i64) -> bool
  %c = eq.i64 %n, 0
  if %c  ; @3
    ret.bool true
  end
  %m = sub.i64 %n, 1
  %r = call.bool odd(%m)  ; @6
  ret.bool %r
end

function odd(%n: i64) -> bool
  callee even(i64) -> bool
  %c = eq.i64 %n, 0
  if %c
    ret.bool false
  end
  %m = sub.i64 %n, 1
  %r = call.bool even(%m)
  ret.bool %r
end
"""

arithmetic = lw.Module()


@arithmetic.function
def fib(n: lw.i64) -> lw.i64:
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


@arithmetic.function
def power(x: lw.f64, n: lw.u32) -> lw.f64:
    """Calls what stands below it, and has values alive across the call."""
    if n == 0:
        return 1.0
    half = squared(power(x, n // 2))
    if n & 1 == 1:
        return half * x
    return half


@arithmetic.function
def squared(x: lw.f64) -> lw.f64:
    return x * x


@arithmetic.function
def many(n: lw.i32, a: lw.f32, b: lw.i8, c: lw.u16, d: lw.i64, e: lw.f64, f: lw.i32, g: lw.i32, h: lw.i32, i: lw.i32) -> lw.f64:
    """Arguments on the stack, of all kinds, in a recursion."""
    if n == 0:
        return lw.f64(a) + lw.f64(b) + lw.f64(c) + lw.f64(d) + e + lw.f64(f - g) + lw.f64(h * i)
    return many(n - 1, a + 1, b, c, d, e, f, g, i, h) + lw.f64(n)


@arithmetic.function
def fill(x: lw.Array[lw.i64]):
    """An entry that takes an array, and calls for each element."""
    for i in lw.range(len(x)):
        x[i] = fib(x[i])


flags = lw.Module()
_BOOLS = {f"b{k}": lw.bool_ for k in range(10)}
_flags = lw.Function("flags", n=lw.i64, returns=lw.i64, **_BOOLS)
with _flags:
    with _flags.if_(_flags.n > 0):
        _flags.ret(_flags.call(_flags, _flags.n - 1, *[_flags[name] for name in _BOOLS]) + 1)
    _sum = _flags.var(lw.i64, 0)
    for _k, _name in enumerate(_BOOLS):
        with _flags.if_(_flags[_name]):
            _sum.set(_sum + (1 << _k))
    _flags.ret(_sum)
flags.add(_flags)


def many_in_python(n: int) -> float:
    return 1.5 + n + -3 + 60000 + 2**40 + 0.25 + (7 - 9) + 5 * 6 + sum(range(1, n + 1))


MANY = (1.5, -3, 60000, 2**40, 0.25, 7, 9, 5, 6)


def test_recursion_gives_what_python_gives():
    assert fib(20) == 6765
    assert power(1.5, 13) == 1.5**13
    assert many(4, *MANY) == many_in_python(4)
    x = np.arange(10)
    arithmetic.compile().fill(x)
    assert x.tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]


@pytest.mark.parametrize("target", TARGETS)
def test_on_every_machine(target):
    if not available(target):
        pytest.skip(f"no emulator for {target}")
    program = arithmetic.compile(target=target, prove=True)
    x = np.arange(10)
    calls = [(program.fib, (12,)), (program.power, (1.5, 13)), (program.many, (4, *MANY)), (program.fill, (x,))]
    evens = lw.Module.parse(EVEN_ODD).compile(target=target)
    calls += [(evens.even, (9,)), (evens.odd, (9,)), (flags.compile(target=target).flags, (3, *[True] * 8, False, True))]
    results = run_many(calls)
    assert results[4:] == [False, True, 0b1011111111 + 3]
    assert results[:3] == [144, 1.5**13, many_in_python(4)]
    assert x.tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]


def test_interpreter():
    assert arithmetic.interpret("fib", 10) == 55
    assert arithmetic.interpret("many", 3, *MANY) == many_in_python(3)
    with pytest.raises(InterpreterError, match="calls nest more than 10000 deep"):
        arithmetic.interpret("fib", 10**6)
    module = arithmetic.finish()
    with pytest.raises(InterpreterError, match="instructions"):
        # What nested calls execute counts.
        module.interpret("fib", 15, limit=2000)
    interpreter = Interpreter(module.functions["fib"])
    interpreter.call(2)
    once = interpreter.steps
    interpreter.call(3)
    assert interpreter.steps > once + 10


def test_the_functions_are_one_piece_of_memory():
    program = arithmetic.compile()
    addresses = sorted(code.address for code in program.values())
    assert addresses[-1] - addresses[0] < 1 << 16
    assert len(set(addresses)) == len(program) == 5
    for code in program.values():
        assert len(code.bytes) >= code.size > 0
        assert code.bytes[:4] == ctypes.string_at(code.address, 4)
    # A function keeps the memory of all alive.
    one = program.fib
    del program
    assert one(10) == 55


def test_text_comes_back():
    text = arithmetic.ir
    again = lw.Module.parse(text)
    assert again.ir == text
    assert again.compile().fib(15) == 610
    evens = lw.Module.parse(EVEN_ODD)
    program = evens.compile()
    for n in (0, 1, 2, 7, 100):
        assert program.even(n) == (n % 2 == 0) == evens.interpret("even", n)
    # What is called is printed by name after any pass.
    assert "call.bool odd(" in program.even.ir("allocate")


def test_kernels_call_functions_of_a_module():
    @lw.kernel
    def powers(x: lw.Array[lw.f64], n: lw.u32):
        for i in lw.range(len(x)):
            x[i] = power(x[i], n)

    x = np.array([1.0, 2.0, -0.5])
    powers(x, 5)
    assert x.tolist() == [1.0, 32.0, -(0.5**5)]


def test_built_functions():
    m = lw.Module()
    f = lw.Function("factorial", n=lw.u64, returns=lw.u64)
    with f:
        with f.if_(f.n <= 1):
            f.ret(1)
        f.ret(f.n * f.call(f, f.n - 1))
    m.add(f)
    program = m.compile()
    assert [program.factorial(n) for n in range(8)] == [math.factorial(n) for n in range(8)]
    assert lw.Module.parse(m.ir).interpret("factorial", 6) == 720


def test_functions_of_c():
    text = "function f(%x: f64) -> f64\n  callee cbrt(f64) -> f64\n  %r = call.f64 cbrt(%x)  ; @7\n  ret.f64 %r\nend\n"
    libm = ctypes.CDLL("libm.so.6")
    libm.cbrt.argtypes, libm.cbrt.restype = [ctypes.c_double], ctypes.c_double
    m = lw.Module.parse(text, outside={"cbrt": libm.cbrt})
    assert m.compile().f(27.0) == m.interpret("f", 27.0) == libm.cbrt(27.0)
    # The C library is asked for what is not given.
    assert lw.Module.parse(text).compile().f(27.0) == libm.cbrt(27.0)
    with pytest.raises(lw.VerifyError, match=r"7: f calls no_such, which the module does not have \(it has f\): add it, or give it with outside="):
        lw.Module.parse(text.replace("cbrt", "no_such"))
    with pytest.raises(lw.ArgumentError, match="C functions"):
        lw.Module.parse(text, outside={"cbrt": math.cbrt})
    libm.sqrt.argtypes = None
    with pytest.raises(lw.KernelTypeError, match="set its argtypes"):
        lw.Module.parse(text, outside={"cbrt": libm.sqrt})


def test_functions_that_call_each_other_are_pickled():
    f = arithmetic.finish().functions["fib"]
    again = pickle.loads(pickle.dumps(f))
    assert again.callees[0].function is again
    assert Interpreter(again).call(10) == 55


def test_what_does_not_fit_is_refused():
    with pytest.raises(lw.VerifyError, match=r"6: even calls odd\(i64\) -> bool, but it is odd\(i32\) -> bool"):
        lw.Module.parse(EVEN_ODD.replace("function odd(%n: i64)", "function odd(%n: i32)").replace("callee even(i64)", "callee even(i32)"))
    with pytest.raises(lw.VerifyError, match="two functions named even"):
        lw.Module.parse(EVEN_ODD.replace("function odd", "function even"))
    with pytest.raises(lw.ArgumentError, match="takes the file as a string"):
        lw.Module.parse(EVEN_ODD, None)
    with pytest.raises(lw.TargetError, match="no functions"):
        lw.Module().compile()
    m = lw.Module()

    @m.function
    def total(x: lw.Array[lw.f64]) -> lw.f64:
        return x[0]

    with pytest.raises(lw.KernelTypeError, match="has a function total already"):
        m.function(total.kernel.function)

    @lw.kernel
    def caller(x: lw.Array[lw.f64], y: lw.Array[lw.f64]):
        y[0] = total(x)

    y = np.zeros(2)
    caller(np.ones(2), y)
    assert y.tolist() == [1.0, 0.0]

    of_any = lw.Module()

    @of_any.function
    def anything(x: lw.Array) -> lw.f64:
        return x[0]

    @of_any.function
    def of_anything(x: lw.Array[lw.f64]) -> lw.f64:
        return anything(x)

    with pytest.raises(lw.ArgumentError, match=r"anything\(\) needs the type of `x`"):
        of_anything(np.ones(2))

    @lw.kernel
    def lanes(x: lw.Array[lw.f64]):
        for i in lw.lanes(len(x)):
            x[i] = squared(x[i])

    with pytest.raises(lw.KernelTypeError, match="a call of `squared` inside lw.lanes"):
        lanes(np.ones(2))
    with pytest.raises(lw.KernelTypeError, match="is a constant"):

        @m.function
        def scaled(x: lw.f64, n: lw.Const) -> lw.f64:
            return x * n


def test_a_name_that_the_module_does_not_have() -> None:
    with pytest.raises(lw.ArgumentError, match="no function 'nothing'; it has fib"):
        arithmetic.interpret("nothing", 1)
    with pytest.raises(AttributeError, match="no function 'nothing'; it has fib"):
        _ = arithmetic.compile(target="rv64gc").nothing


def test_functions_of_a_module_are_not_told_how_many_vector_registers_hold_arguments() -> None:
    """They have no variable number of arguments, for which System V wants that in al."""
    listing = arithmetic.compile(target="x86-64-v3").fib.asm()
    assert listing.count("call fib") == 2
    assert "eax, eax" not in listing


def test_arguments_by_name():
    m = lw.Module()

    @m.function
    def difference(a: lw.i64, b: lw.i64) -> lw.i64:
        return a - b

    @m.function
    def both(x: lw.i64, y: lw.i64) -> lw.i64:
        return difference(b=x, a=y) * 100 + lw.call(difference, x, b=y)

    built = lw.Function("built", a=lw.i64, b=lw.i64, returns=lw.i64)
    with built:
        built.ret(built.a * 10 + built.b)
    caller = lw.Function("caller", n=lw.i64, returns=lw.i64)
    with caller:
        caller.ret(caller.call(built, b=caller.n, a=7))
    m.add(built)
    m.add(caller)
    assert both(9, 4) == -5 * 100 + 5
    assert difference(b=1, a=3) == 2
    assert m.compile().caller(4) == 74

    labs = ctypes.CDLL(None).labs
    labs.argtypes, labs.restype = [ctypes.c_long], ctypes.c_long

    for call, said in (
        (lambda n: difference(n, c=n), "`difference` has no parameter `c`; it has a, b"),
        (lambda n: difference(n, a=n), "`difference` got `a` twice"),
        (lambda n: difference(b=n), "`difference` needs an argument for `a`"),
        (lambda n: lw.call(labs, x=n), "`labs` takes its arguments by position: its parameters have no names; `x`"),
    ):

        @lw.kernel
        def kernel(n: lw.i64) -> lw.i64:
            return call(n)  # noqa: B023

        with pytest.raises(lw.KernelTypeError, match=said):
            kernel(1)


arrays = lw.Module()


@arrays.function
def scale(x: lw.Array[lw.f64], by: lw.f64):
    for i in lw.range(len(x)):
        x[i] = x[i] * by


@arrays.function
def total(x: lw.Array[lw.f64, 2]) -> lw.f64:
    s = 0.0
    for i in lw.range(x.shape[0]):
        for j in lw.range(x.shape[1]):
            s += x[i, j]
    return s


@arrays.function
def through(x: lw.Array[lw.f64], n: lw.i64) -> lw.f64:
    """Elements read before and after something that writes them, and an array of its own that another function fills."""
    own = lw.local(lw.f64, 2, 3)
    for k in lw.range(6):
        own[k // 3, k % 3] = 0.5
    before = x[1]
    own[0, 0] = 1.0
    if n > 0:
        scale(x=x, by=2.0)
        fill_all(own, 4.0)
        return through(x, n - 1) + x[1] - before + own[0, 0] * 1000
    return before + total(own)


@arrays.function
def fill_all(x: lw.Array[lw.f64, 2], v: lw.f64):
    for i in lw.range(x.shape[0]):
        for j in lw.range(x.shape[1]):
            x[i, j] = v


def through_in_python(x: list[float], n: int) -> float:
    before = x[1]
    if n > 0:
        x[:] = [v * 2 for v in x]
        return through_in_python(x, n - 1) + x[1] - before + 4000
    return before + 1.0 + 5 * 0.5


def test_arrays_are_passed_and_written():
    x = np.array([1.0, 2.5, -3.0])
    wanted = x.tolist()
    result = through_in_python(wanted, 3)
    for call in (through, arrays.compile(prove=True).through, lambda *args: arrays.interpret("through", *args)):
        x[:] = 1.0, 2.5, -3.0
        assert call(x, 3) == result
        assert x.tolist() == wanted
    # What a function only writes through others is written.
    assert [array.written for array in arrays.finish().functions["through"].arrays] == [True, True]
    assert not arrays.finish().functions["total"].arrays[0].written
    with pytest.raises(lw.ArgumentError, match="read-only"):
        x.flags.writeable = False
        through(x, 1)


@pytest.mark.parametrize("target", TARGETS[1:])
def test_arrays_are_passed_on_other_machines(target):
    if not available(target):
        pytest.skip(f"no emulator for {target}")
    x = np.array([1.0, 2.5, -3.0])
    wanted = x.tolist()
    result = through_in_python(wanted, 3)
    assert arrays.compile(target=target, prove=True).through.emulate(x, 3) == result
    assert x.tolist() == wanted


def test_kernels_pass_arrays():
    @lw.kernel
    def kernel(x: lw.Array[lw.f64], y: lw.Array[lw.f64, 2]) -> lw.f64:
        scale(x, 3.0)
        return total(y) + x[0]

    x, y = np.ones(3), np.arange(6.0).reshape(2, 3)[:, :2]
    assert kernel(x, y) == 8.0 + 3.0
    assert x.tolist() == [3.0] * 3

    memset = ctypes.CDLL(None).memset
    memset.argtypes, memset.restype = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t], ctypes.c_void_p

    @lw.kernel
    def clear(x: lw.Array[lw.f64]) -> lw.f64:
        first = x[0]
        lw.call(memset, x, 0, len(x) * 8)
        return first + x[0]

    assert clear(x) == 3.0
    assert x.tolist() == [0.0] * 3

    for call, said in (
        (lambda x, y: scale(y, 1.0), r"argument 1 of `scale` is an array of f64 with 1 dimension, not y, an array of f64 with 2 dimensions"),
        (lambda x, y: scale(y[0, 0], 1.0), "argument 1 of `scale` is an array of f64 with 1 dimension, not"),
        (lambda x, y: scale(x, y), "argument 2 of `scale`"),
    ):

        @lw.kernel
        def wrong(x: lw.Array[lw.f64], y: lw.Array[lw.f64, 2]):
            call(x, y)  # noqa: B023

        with pytest.raises(lw.KernelTypeError, match=said):
            wrong(x, y)


def test_functions_added_after_a_compilation_are_linked():
    def built(name: str, callee: lw.Function | None) -> lw.Function:
        made = lw.Function(name, n=lw.i64, returns=lw.i64)
        with made:
            made.ret(made.n + 1 if callee is None else made.call(callee, made.n) * 10)
        return made

    m = lw.Module()
    first = built("first", None)
    m.add(first)
    assert m.compile().first(3) == 4
    # (Twice: what has been verified is not verified again.)
    assert m.compile().first(4) == 5
    m.add(built("second", built("between", first)))
    assert m.compile().second(3) == 400
