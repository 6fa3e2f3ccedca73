"""What a user reads who passes the wrong thing: an error of the library's own, at his line, that says what to write instead."""

from __future__ import annotations

import linecache
import re
from typing import Any

import numpy as np
import pytest
from tests.from_text import kernel_from

import loopwright as lw

TABLE = np.arange(10, dtype=np.float32)


def kernel_of(body: str, x: str = "lw.Array[lw.f32]") -> Any:
    """The kernel of x, y and n with this body, statements apart by ``|``."""
    lines = "".join(f"    {line}\n" for line in body.split("|"))
    text = f"@lw.kernel\ndef k(x: {x}, y: {x}, n: lw.i64):\n{lines}"
    file = f"<messages {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope: dict[str, Any] = {"lw": lw, "np": np, "TABLE": TABLE.copy()}
    exec(compile(text, file, "exec"), scope)  # noqa: S102 (texts of this file alone)
    return scope["k"]


def refused(body: str, message: str, error: type[lw.LoopwrightError] = lw.KernelTypeError) -> None:
    kernel = kernel_of(body)
    with pytest.raises(error) as caught:
        kernel.stage(kernel.signature([], {}))
    said = caught.value.message
    assert message in said
    assert caught.value.file.startswith("<messages") and caught.value.line == 2 + len(body.split("|"))
    # No words of our own insides.
    assert not re.search(r"\b(StagedArray|Value|Weak|LaneIndex|Type|AttributeError|IndexError)\b|loopwright\.|\$", said)


NOT_HELD = "`acc` is a NumPy array, which holds what is known while compiling, and cannot hold a run-time value: use a variable for each element"
MAKES = "a kernel makes no arrays at run time; pass one to it as an lw.Array argument"
WHOLE = "a NumPy array, which is known while compiling: index it with a Python number, or pass it to the kernel as an lw.Array"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y[0] = TABLE[0, n]", r"TABLE has 1 dimension: it takes 1 index"),
        ("y[0] = TABLE[x[0]]", "an index of TABLE"),
        ("y[0] = TABLE[n:]", "cannot be used where Python needs an integer while compiling"),
        ("y[0] = TABLE[x]", "NumPy is given the array x, whose elements are not known while compiling"),
        ("acc = np.arange(4)|acc[0] = x[0]", NOT_HELD),
        ("acc = np.arange(4)|acc[0] += x[0]", NOT_HELD),
        ("acc = np.arange(4)|acc[0:2] = x[0]", NOT_HELD),
        ("acc = np.arange(4)|acc[:] = [x[0]] * 4", NOT_HELD),
        ("acc = np.zeros(4, object)|acc[0] = x[0]", NOT_HELD),
        ("acc = np.arange(4)|acc[0] = x", NOT_HELD),
        ("acc = np.zeros(4)|acc[0:2] = x[0]", "a part of acc is stored to as a whole: kernels work on elements; loop over the elements, and store each"),
        ("acc = np.zeros(4)|acc[0] = x", "an element of acc must be a number, not the array x"),
        ("acc = np.arange(4)|acc[n] = 1", "it cannot be stored to at a run-time index; use an array argument, or lw.local"),
        ("acc = np.zeros(4)|acc += x[0]", WHOLE),
        *((f"y[0] = np.{made}", MAKES) for made in ("zeros(n)", "empty((n, 2))", "zeros_like(x)", "arange(n)", "array([x[0], x[1]])", "full(3, n)")),
        ("y[0] = np.asarray(x)", "an array of a kernel is one already"),
        ("y[0] = np.ndindex(x.shape)", "write a loop for each dimension"),
        *((f"y[0] = {a} {op} {b}", WHOLE) for op in ("+", "-", "*", "/", "//", "<", ">>", "&") for a, b in (("n", "TABLE"), ("TABLE", "n"))),
        ("y[0] = np.sum(x)", "write a loop over the elements"),
        ("y[0] = np.longdouble(n)", "there is no such type in a kernel"),
        ("y[0] = np.i0(x[0])", "call a C function with lw.call"),
    ],
)
def test_numpy_arrays_in_kernels(body: str, message: str) -> None:
    refused(body, message)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("for i in lw.lanes(0, n, 2): x[i] = 1", "the indices of lw.lanes are consecutive: count the steps, as in for k in lw.lanes("),
        ("for i in reversed(lw.range(0, 9, n)): x[i] = 1", "reversed(lw.range(…)) takes a step that is known while compiling"),
        ("y[0] = pow(lw.i32(x[0]), 2, 5)", "takes no modulus: multiply in a loop"),
        ("y[0] = round(x[0], 2)", "write, for 2 of them, lw.round(v * 100) / 100"),
        ("t = lw.local(lw.f32, n)", "pass it as lw.Const, or the array as an lw.Array"),
    ],
)
def test_other_loops_and_numbers(body: str, message: str) -> None:
    refused(body, message)


def test_conditions_over_lanes() -> None:
    for update, message in (
        ("ok = ok and x[i] > 0", "it can only be updated, as in ok &= v"),
        ("ok &= n", "`ok` is a condition (line 3) and is reduced with a number: compare it, as in v != 0"),
        ("ok += 1", "`ok` is a Python value (bool)"),
    ):
        kernel = kernel_of(f"ok = True|for i in lw.lanes(len(x)): {update}|if ok: x[0] = 1")
        with pytest.raises(lw.KernelTypeError) as caught:
            kernel.stage(kernel.signature([], {}))
        assert message in caught.value.message


def test_a_numpy_array_is_no_condition() -> None:
    kernel = kernel_of("if TABLE:|    x[0] = 1")
    with pytest.raises(lw.KernelTypeError, match="truth value of an array with more than one element is ambiguous") as caught:
        kernel.stage(kernel.signature([], {}))
    assert caught.value.line == 3


def test_a_numpy_array_holds_what_is_known_while_compiling() -> None:
    x = np.zeros(3, np.float32)
    kernel_of("acc = np.zeros(4)|acc[1] = 2.5|acc[1] += 1|for i in lw.lanes(n):|    x[i] = acc[1] + TABLE[3] + acc.sum()")(x, x.copy(), 3)
    assert (x == 10).all()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y[0] = x + 1", "kernels work on elements; loop over them, and write x[i]"),
        ("y[0] = x + y", "kernels work on elements"),
        ("x += 1", "kernels work on elements"),
        ("y[0] = abs(x)", "kernels work on elements"),
        ("y[0] = x(0)", "an array object is not callable"),
        ("y[0] = x.sum()", "the array x has no `.sum` in a kernel, only shape, size, ndim, dtype, T and len(x): write a loop over x[i]"),
        ("y[0] = x.strides", "the array x has no `.strides` in a kernel, only shape, size, ndim, dtype, T and len(x): write a loop over x[i]"),
        ("y[0] = x[0].astype(np.float64)", "a run-time value (f32) has no `.astype`: it is a number"),
        ("y[0] = lw.sinus(x[0])", "loopwright has no `sinus`: "),
        ("y[0] = x", "an element of y must be a number, not the array x: kernels work on elements, as in x[i]"),
        ("y[0] = 'a'", "an element of y must be a number, not str 'a'"),
        ("y[0] = lw.f32", "an element of y must be a number, not the type f32"),
        ("y[0] = x == y", "the array x is compared as a whole: compare elements, x[i]"),
        ("y[0] = x == 3", "the array x is compared as a whole"),
        ("for i in lw.range(x): pass", "a bound of lw.range must be an integer, not the array x"),
        ("for i in lw.range(0, n, 'a'): pass", "the step of lw.range must be an integer, not str 'a'"),
        ("for i in lw.lanes(1.5): pass", "a bound of lw.lanes must be an integer, not float 1.5"),
        ("y[0] = lw.lanes(n)", "lw.lanes(…), which is what a for loop goes over"),
        ("y[0] = x[0] in x", "`in` of an array"),
        ("y[0] = 1.0 if n else 'a'", "this conditional expression is a Python value (str) that differs between paths"),
        ("y[0] = lw.min(**x)", "argument after ** must be a mapping, not an array"),
    ],
)
def test_arrays_and_values_used_as_they_cannot_be(body: str, message: str) -> None:
    refused(body, message)


NUMBERS = {
    "sqrt": 1,
    "floor": 1,
    "ceil": 1,
    "trunc": 1,
    "round": 1,
    "abs": 1,
    "fma": 3,
    "popcount": 1,
    "add_saturated": 2,
    "sub_saturated": 2,
    "average_down": 2,
    "average_up": 2,
    "mul_high": 2,
    "mul_wide": 2,
    "abs_diff": 2,
    "fms": 3,
    "fnma": 3,
    "fnms": 3,
    "clamp": 3,
    "copysign": 2,
    "sign": 1,
    "rotate_left": 2,
    "rotate_right": 2,
    "leading_zeros": 1,
    "trailing_zeros": 1,
    "bit_reverse": 1,
    "byte_swap": 1,
    "div_trunc": 2,
    "rem_trunc": 2,
    "crc32c": 2,
    "rcp_estimate": 1,
    "rsqrt_estimate": 1,
    "clmul": 2,
    "clmul_high": 2,
    "fmod": 2,
    "min": 2,
    "max": 2,
}
WRONG = {
    "'a'": "str 'a'",
    "None": "NoneType None",
    "x": "the array x: kernels work on elements, as in x[i]",
    "lw.f32": "the type f32",
    "TABLE": "ndarray",
    "(1, 2)": "tuple (1, 2)",
}


@pytest.mark.parametrize(("name", "count"), NUMBERS.items())
@pytest.mark.parametrize("other", ["n", "1"])
def test_functions_of_numbers_take_numbers(name: str, count: int, other: str) -> None:
    for position in range(count):
        for wrong, described in WRONG.items():
            args = [other] * count
            args[position] = wrong
            refused(f"y[0] = lw.{name}({', '.join(args)})", f"lw.{name} takes numbers, not {described}")
    for given in (0, count + 1):
        if name not in ("min", "max"):
            refused(f"y[0] = lw.{name}({', '.join([other] * given)})", f"{name}() {'missing' if not given else 'takes'}")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("lw.bitcast(x[0], lw.i32)", "lw.bitcast takes the type first, as in lw.bitcast(lw.i32, x); its first argument is a run-time value (f32)"),
        ("lw.bitcast(1.0, lw.i32)", "lw.bitcast takes the type first"),
        ("lw.bitcast(int, x[0])", "lw.bitcast takes one of loopwright's types first, as in lw.bitcast(lw.i32, x), not type <class 'int'>"),
        ("lw.bitcast('i32', x[0])", "lw.bitcast takes one of loopwright's types first"),
        ("lw.bitcast(np.int32, x[0])", "lw.bitcast takes one of loopwright's types first"),
        ("lw.bitcast(lw.Array[lw.i32], x[0])", "lw.bitcast takes one of loopwright's types first"),
        ("lw.bitcast(lw.i32, 1.0)", "which has no width of its own: give it a type, as in lw.bitcast(lw.i32, lw.f32(1.5))"),
        ("lw.bitcast(lw.i32, x)", "lw.bitcast takes numbers, not the array x"),
        ("lw.bitcast(lw.i32, 'a')", "lw.bitcast takes numbers, not str 'a'"),
        ("lw.bitcast(lw.i32, lw.f64(1))", "bitcast of f64 to i32: the widths differ"),
        ("lw.bitcast(lw.i64, x[0])", "bitcast of f32 to i64: the widths differ"),
        ("lw.bitcast(lw.bool_, lw.u8(n))", "it takes and gives integers and floats"),
        ("lw.bitcast(lw.u8, n > 0)", "it takes and gives integers and floats"),
        ("lw.bitcast(lw.i32)", "bitcast() missing 1 required positional argument: 'value'"),
        ("lw.select(1.0, x[0] > 1, 2.0)", "lw.select takes the condition first, lw.select(condition, a, b); its first argument is float 1.0"),
        ("lw.select('a', x[0] > 1, 2.0)", "lw.select takes the condition first"),
        ("lw.select(x[0] > 1, x, y)", "lw.select takes numbers, not the array x"),
        ("lw.select(x[0] > 1, 'a', 1)", "lw.select takes numbers, not str 'a'"),
        ("lw.select(x[0], 1)", "select() missing 1 required positional argument: 'b'"),
        ("lw.min(x[0])", "lw.min takes two or more numbers, or one tuple or list of them, not a run-time value (f32) alone"),
        ("max(x[0])", "lw.max takes two or more numbers"),
        ("lw.max(3)", "lw.max takes two or more numbers"),
        ("min()", "min expected at least 1 argument, got 0"),
        ("lw.any(1)", "lw.any takes a run-time value, or a sequence of Python values, not int 1"),
        ("lw.all('a')", "lw.all takes a run-time value, or a sequence"),
        ("lw.sum(None)", "lw.sum takes a run-time value, or a sequence"),
        ("lw.call()", "lw.call takes the function, then its arguments, as in"),
        ("lw.call(x[0], abs)", "lw.call takes a ctypes function or a lw.Function first, and then its arguments"),
        ("lw.f32()", "lw.f32(…) takes one value, without a name; 0 were given"),
        ("lw.f32(1, 2)", "lw.f32(…) takes one value, without a name; 2 were given"),
        ("lw.f32(value=x[0])", "lw.f32(…) takes one value, without a name; 1 was given"),
        *((f"lw.f32({wrong})", f"lw.f32(…) converts a number, not {described}") for wrong, described in WRONG.items() if wrong != "TABLE"),
        ("lw.Const(1)", "lw.Const is the annotation of a parameter"),
        ("lw.Array[x]", "lw.Array[…] takes an element type such as lw.f32"),
    ],
)
def test_arguments_that_are_missing_wrong_or_in_each_others_place(expression: str, message: str) -> None:
    refused(f"y[0] = {expression}", message)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        *(
            (f"x[i] {op} {b}", f"`{op}` of a condition (bool) and the number {b}: convert the condition, as in lw.i32(c)")
            for op in ("%", "&", "==")
            for b in ("1", "2.0")
        ),
        ("lw.max(x[i], 1)", "`max` of a condition (bool) and the number 1"),
        ("x[i] % lw.f32(2)", "`%` of a condition (bool) and f32: convert the condition, as in lw.f32(c)"),
        ("n & x[i]", "`&` of a condition (bool) and i64: convert the condition, as in lw.i64(c)"),
        ("x[i] + x[i]", "`+` is not available for conditions"),
        ("1", "the number 1 where a condition (bool) is needed: write True or False, or a comparison, as in x != 0"),
        ("lw.f32(x[i])", "an element of y is bool and the value f32: write a comparison, as in v != 0"),
    ],
)
@pytest.mark.parametrize("loop", ["range", "lanes"])
def test_arrays_of_bool_in_arithmetic(loop: str, expression: str, message: str) -> None:
    kernel = kernel_of(f"for i in lw.{loop}(len(x)):|    y[i] = {expression}", "lw.Array")
    with pytest.raises(lw.KernelTypeError) as caught:
        kernel(np.zeros(3, bool), np.zeros(3, bool), 1)
    assert message in caught.value.message and caught.value.line == 4


def test_numbers_that_the_element_does_not_hold() -> None:
    kernel = kernel_of("x[0] = 300", "lw.Array")
    for dtype, bounds, value in ((np.uint8, "u8, which holds 0 to 255", 300), (np.int8, "i8, which holds -128 to 127", 300)):
        with pytest.raises(lw.KernelTypeError, match=f"an element of x is {bounds}, and the value {value}"):
            kernel(np.zeros(3, dtype), np.zeros(3, dtype), 1)


@pytest.mark.parametrize("loop", ["range", "lw.lanes"])
def test_conditions_are_numbers_beside_others(loop: str) -> None:
    """As NumPy's are: True is 1, in the other's type; beside Python's numbers in that of 64 bits."""
    kernel, function = kernel_from(
        "x: lw.Array[lw.bool_], f: lw.Array[lw.f32], n: lw.Array[lw.i16], z: lw.Array[lw.f64, 2]",
        f"for i in {loop}(len(x)):\n"
        "    z[0, i] = (x[i] + 1) * 10 + (5 - x[i])\n"
        "    z[1, i] = f[i] * x[i] + x[i]\n"
        "    z[2, i] = (n[i] > 3) * n[i] - x[i]\n"
        "    z[3, i] = (f[i] > 0.5) * 2.5 + 3 * x[i]\n"
        "    z[4, i] = n[i] * x[i] * n[i]",
    )
    x, f, n = np.arange(9) % 3 == 0, np.linspace(-1, 2, 9, dtype=np.float32), np.arange(9, dtype=np.int16) * 100
    z, want = np.zeros((5, 9)), np.zeros((5, 9))
    kernel(x, f, n, z)
    with np.errstate(all="ignore"):
        function(x, f, n, want)
    assert z.tolist() == want.tolist()


def test_half_precision_in_calls_and_signatures() -> None:
    half = lw.Function("half", x=lw.f16)
    with half:
        half.ret()
    with pytest.raises(lw.UnsupportedOperationError, match="a parameter of type f16 is not available: pass f32, and convert inside the function"):
        half.compile(target="x86-64-v3")
    result = lw.Function("result", returns=lw.bf16)
    with result:
        result.ret(1.5)
    with pytest.raises(lw.UnsupportedOperationError, match="a result of type bf16 is not available"):
        result.compile(target="x86-64-v3")


# --- outside kernels -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"target": 5}, "a target is given by its name, as in target='x86-64-v3', or described (docs/multiclet.md), not by 5"),
        ({"target": ["x86-64-v3"]}, "a target is given by its name"),
        ({"vector_bits": 256.0}, "the width of vectors is a number of bits, as in vector_bits=256, not 256.0"),
        ({"vector_bits": "a"}, "the width of vectors is a number of bits"),
        ({"vector_bits": [256]}, "the width of vectors is a number of bits"),
    ],
)
def test_options_of_the_wrong_type(named: dict[str, Any], message: str) -> None:
    with pytest.raises(lw.TargetError) as caught:
        kernel_of("x[0] = 1").compile(**named)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: f.var(3), r"f.var takes a type first, as in f.var\(lw.i64, 0\), not int 3"),
        (lambda f: f.var(0, lw.f32), "f.var takes a type first"),
        (lambda f: f.const(1.0, lw.f32), "f.const takes a type first"),
        (lambda f: f.const(lw.f32, "a"), "f.const takes a Python number, not str 'a'"),
        (lambda f: f.iota("i32", 4), "f.iota takes a type first"),
        (lambda f: f.lane_mask(0, 1, 4, 7), "the lanes of a mask have 8, 16, 32 or 64 bits, not 7"),
        (lambda f: f.load(0, f.x), "an array parameter comes first, as in .*, not int 0"),
        (lambda f: f.store(f.a, 0, value=1), "an array parameter comes first, as in .*, not a run-time value"),
        (lambda f: lw.Function(3), "a function's name is a string, not 3"),
    ],
)
def test_arguments_of_the_builder(call: Any, message: str) -> None:
    with pytest.raises(lw.KernelTypeError, match=message):
        call(lw.Function("f", x=lw.Array[lw.f32], a=lw.f32))
    f = lw.Function("f")
    with pytest.raises(lw.KernelSyntaxError, match="there are 0 loops around"):
        f.break_("a")  # type: ignore[arg-type]
