# ruff: noqa
"""Bad kernels: each is refused with an error of its own type, with the file and a line of the kernel, and says what to write instead."""

from __future__ import annotations

import ctypes
import math
import re
from typing import Any

import numpy as np
import pytest

from tests.staging import stage

import loopwright as lw

CASES: list[Any] = []


def refused(error: type[Exception], fragment: str) -> Any:
    """This kernel must be refused with the error, whose text contains the fragment."""

    def add(function: Any) -> Any:
        CASES.append(pytest.param(function, error, fragment, id=function.__name__))
        return function

    return add


@refused(lw.KernelSyntaxError, "`try` cannot stand in a kernel")
def try_(x: lw.Array):
    try:
        x[0] = 1
    except ValueError:
        pass


@refused(lw.KernelSyntaxError, "`with`")
def with_(x: lw.Array):
    with open("a"):
        pass


@refused(lw.KernelSyntaxError, "`global`")
def global_(x: lw.Array):
    global Q
    Q = 1


@refused(lw.KernelSyntaxError, "`:=`")
def walrus(x: lw.Array):
    if len(x) > 3 or (n := x[0]) > 3:
        x[0] = 1


@refused(lw.KernelSyntaxError, "`yield`")
def yield_(x: lw.Array):
    yield x[0]


@refused(lw.KernelSyntaxError, "`import`")
def import_(x: lw.Array):
    import os


@refused(lw.KernelSyntaxError, "`del`")
def del_(x: lw.Array):
    y = 1
    del y


@refused(lw.KernelSyntaxError, "a pattern that is no number")
def match_(x: lw.Array):
    match len(x):
        case n:
            x[0] = n


@refused(lw.KernelSyntaxError, "return a value on every path")
def path_without_return(x: lw.Array) -> lw.f32:
    if x[0] > 1:
        return x[0]


@refused(lw.KernelSyntaxError, "`i` is not assigned on every path")
def lanes_index_behind_a_loop_that_may_not_be_left(x: lw.Array[lw.f32], y: lw.Array[lw.i64]):
    i = lw.i64(77)
    for i in lw.lanes(len(x)):
        if x[i] == 5:
            break
    y[0] = i


@refused(lw.KernelSyntaxError, "`t` is not assigned on every path")
def not_assigned_on_every_path(x: lw.Array) -> lw.f32:
    if x[0] > 1:
        t = x[0]
    return t


@refused(lw.KernelSyntaxError, "may not run at all")
def assigned_in_a_loop_only(x: lw.Array) -> lw.f32:
    for i in lw.range(len(x)):
        t = x[i]
    return t


@refused(lw.KernelSyntaxError, "`i`")
def index_after_its_loop(x: lw.Array) -> lw.i64:
    for i in lw.range(len(x)):
        pass
    return i


@refused(lw.KernelTypeError, "`t` is i64 (line")
def type_changes_in_a_loop(x: lw.Array) -> lw.f32:
    t = len(x)
    for i in lw.range(len(x)):
        t = x[i]
    return t


@refused(lw.KernelTypeError, "f32 on another (line")
def type_differs_between_branches(x: lw.Array) -> lw.f32:
    if x[0] > 1:
        t = x[1]
    else:
        t = len(x)
    return t


@refused(lw.KernelTypeError, "cannot change in a loop")
def python_value_changes_in_a_loop(x: lw.Array) -> lw.f32:
    t = "a"
    for i in lw.range(len(x)):
        x[i] = len(t)
        t = "bc"
    return x[0]


@refused(lw.KernelTypeError, "differs between paths")
def python_value_differs_between_branches(x: lw.Array) -> lw.f32:
    if x[0] > 1:
        t = "a"
    else:
        t = "b"
    return x[0] if t == "a" else x[1]


@refused(lw.KernelTypeError, "take the bits of the exponent")
def math_function(x: lw.Array):
    x[0] = math.frexp(x[1])[0]


@refused(lw.KernelTypeError, "write it with the operators")
def numpy_function(x: lw.Array):
    x[0] = np.i0(x[1])


@refused(lw.KernelTypeError, "lw.i64(")
def int_mapped_over_run_time_values(x: lw.Array):
    x[0] = list(map(int, [x[1]]))[0]


@refused(lw.KernelTypeError, "needs an integer while compiling")
def list_indexed_at_run_time(x: lw.Array):
    a = [1, x[0]]
    x[0] = a[len(x)]


@refused(lw.KernelTypeError, "1 dimension")
def wrong_number_of_indices(x: lw.Array):
    x[0] = x[0, 1]


@refused(lw.KernelTypeError, "a part of x is stored to as a whole")
def slice_stored(x: lw.Array):
    x[0:2] = 1


@refused(lw.KernelTypeError, "kernels work on elements")
def slice_read(x: lw.Array):
    x[0] = x[1:]


@refused(lw.KernelTypeError, "must be an integer")
def float_index(x: lw.Array):
    x[x[0]] = 1


@refused(lw.KernelTypeError, "lw.range(len(x))")
def iterating_over_an_array(x: lw.Array):
    a, b = x


@refused(lw.KernelTypeError, "y[2 * i - 2] reads the element that y[2 * i] stores 1 index earlier")
def every_second(y: lw.Array):
    for i in lw.lanes(1, len(y)):
        y[2 * i] = y[2 * i - 2]


@refused(lw.KernelTypeError, "1 index earlier")
def down_a_column(y: lw.Array[lw.f32, 2]):
    for i in lw.lanes(1, len(y)):
        y[i, 0] = y[i - 1, 0]


@refused(lw.KernelTypeError, "same for all lanes")
def store_at_one_index(x: lw.Array):
    for i in lw.lanes(len(x)):
        x[0] = x[i]


@refused(lw.KernelTypeError, "reduced")
def recurrence(x: lw.Array):
    t = 0.0
    for i in lw.lanes(len(x)):
        t = x[i] * t + 1
        x[i] = t


@refused(lw.KernelTypeError, "reduction")
def outer_variable_overwritten(x: lw.Array) -> lw.f32:
    t = 0.0
    for i in lw.lanes(len(x)):
        t = x[i]
    return t


@refused(lw.KernelTypeError, "two variables")
def two_kinds_of_reduction(x: lw.Array) -> lw.f32:
    t = 0.0
    for i in lw.lanes(len(x)):
        t += x[i]
        t *= x[i]
    return t


@refused(lw.KernelTypeError, "no value inside")
def reduction_read(x: lw.Array) -> lw.f32:
    t = 0
    for i in lw.lanes(len(x)):
        t = x[i] if x[i] > t else t
    return t


@refused(lw.KernelTypeError, "lw.lanes inside lw.lanes")
def lanes_in_lanes(x: lw.Array):
    for i in lw.lanes(len(x)):
        for j in lw.lanes(len(x)):
            pass


@refused(lw.KernelTypeError, "300 does not fit in u8")
def integer_too_large_for_its_type(x: lw.Array[lw.u8]):
    x[0] = x[1] + 300


@refused(lw.KernelTypeError, "0.5 with an operand of integer type i32")
def float_with_integer(x: lw.Array[lw.i32]):
    x[0] = x[1] | 0.5


@refused(lw.KernelTypeError, "lw.i32(lw.round(x))")
def sum_with_a_float_stored_to_integers(x: lw.Array[lw.i32]):
    x[0] = x[1] + 0.5


@refused(lw.KernelTypeError, "lw.i32(lw.round(x))")
def float_stored_to_integers(x: lw.Array[lw.i32]):
    x[0] = lw.f32(1.5) * x[1]


@refused(lw.UnsupportedOperationError, "`&`")
def bitwise_on_floats(x: lw.Array):
    x[0] = x[1] & x[2]


@refused(lw.KernelTypeError, "`qqq` is not defined")
def undefined_name(x: lw.Array):
    x[0] = qqq


@refused(lw.KernelSyntaxError, "needs an annotation")
def no_annotation(x):
    pass


@refused(lw.KernelSyntaxError, "is annotated")
def useless_annotation(x: "list"):
    pass


@refused(lw.KernelSyntaxError, "*args")
def variable_arguments(x: lw.Array, *r):
    pass


def rec(n, a):
    if n > 0:
        return rec(n - 1, a)
    return a


@refused(lw.KernelSyntaxError, "deep")
def endless_recursion(x: lw.Array):
    x[0] = rec(len(x), 1)


@refused(lw.KernelTypeError, "must not be 0")
def step_of_zero(x: lw.Array):
    for i in lw.range(0, 3, 0):
        pass


@refused(lw.KernelSyntaxError, "without a result")
def result_without_annotation(x: lw.Array):
    return x


@refused(lw.KernelTypeError, "one number")
def tuple_returned(x: lw.Array) -> lw.f32:
    return x[0], x[1]


@refused(lw.KernelSyntaxError, "without a value")
def nothing_returned(x: lw.Array) -> lw.f32:
    return


@refused(lw.KernelTypeError, "runs while compiling")
def endless_while_while_compiling(x: lw.Array):
    i = 0
    while i < 5:
        x[i] = 1


@refused(lw.KernelTypeError, "run-time value")
def string_added(x: lw.Array):
    x[0] = x[1] + "a"


@refused(lw.KernelTypeError, "exponent")
def run_time_exponent(x: lw.Array):
    x[0] = pow(2, len(x))


@refused(lw.KernelSyntaxError, ".foo")
def attribute_assigned(x: lw.Array):
    x.foo = 1


@refused(lw.KernelTypeError, "out of range")
def python_index_error(x: lw.Array):
    t = (1, 2)
    x[0] = t[5]


@refused(lw.KernelTypeError, "`assert`")
def assert_at_run_time(x: lw.Array):
    assert x[0] > 1


@refused(lw.KernelTypeError, "rank")
def assert_that_fails(x: lw.Array):
    assert x.ndim == 2, "rank"


@refused(lw.KernelTypeError, "argtypes")
def call_in_lanes(x: lw.Array):
    for i in lw.lanes(len(x)):
        lw.call(ctypes.CDLL(None).abs, i)


@refused(lw.KernelTypeError, "argtypes")
def c_function_without_argtypes(x: lw.Array):
    lw.call(ctypes.CDLL(None).labs, x[0])


@refused(lw.KernelTypeError, ".append")
def list_changed_at_run_time(x: lw.Array):
    l = []
    for i in lw.range(3):
        l.append(i)


@refused(lw.KernelTypeError, "unsupported operand")
def bad_operand_for_python(x: lw.Array[lw.f32], n: lw.i64):
    y = lambda: n
    for i in range(n + "a"):
        pass


@pytest.mark.parametrize(("function", "error", "fragment"), CASES)
def test_a_bad_kernel_is_refused_where_it_is_wrong(signature, function, error, fragment):
    kernel = lw.kernel(function)
    with pytest.raises(error, match=re.escape(fragment)) as caught:
        stage(kernel, signature(kernel), 256)
    code = function.__code__
    last = max(line for _, _, line in code.co_lines() if line)
    assert caught.value.file == __file__
    if function.__name__ != "endless_recursion":  # which is found in the function that it calls
        assert code.co_firstlineno <= caught.value.line <= last + 1
    assert str(caught.value).startswith(f"{__file__}:{caught.value.line}: ")
