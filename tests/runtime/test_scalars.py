"""Scalars as arguments and results, by both ways of calling."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import loopwright as lw
from loopwright.errors import AbiError, ArgumentError
from loopwright.runtime import entry, memory
from loopwright.runtime.call import Signature
from loopwright.runtime.native import NativeFunction
from loopwright.runtime.scalars import ScalarParameter, limits
from loopwright.types import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, PTR, U8, U16, U32, U64, VOID, Type

INTEGERS = [I8, U8, I16, U16, I32, U32, I64, U64, PTR]
ALL = [*INTEGERS, BOOL, F32, F64]
ADD = bytes.fromhex("488d0437c3")  # lea rax, [rdi+rsi]; ret


def ways(signature: Signature, block: memory.Block) -> list[Callable[..., Any]]:
    """Through ctypes, and through the built-in function."""
    made = [signature.wrapper(block.address, block)]
    if entry.supported():
        made.append(entry.callable_of(signature, block.address, block))
    return made


def values_of(type_: Type) -> st.SearchStrategy[Any]:
    if type_ is BOOL:
        return st.booleans()
    if type_.is_float:
        return st.floats(width=type_.bits, allow_nan=False)  # type: ignore[arg-type]
    low, high = limits(type_)
    return st.integers(low, high) | st.sampled_from((low, high, 0, 1))


signatures = st.lists(st.sampled_from(ALL), max_size=20).flatmap(lambda types: st.tuples(st.just(types), st.tuples(*map(values_of, types))))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(signatures)
def test_every_argument_arrives_as_it_was_passed(recorder: Callable[..., Any], case: tuple[list[Type], tuple[Any, ...]]) -> None:
    types, values = case
    record = recorder(types)
    signature = Signature("f", [ScalarParameter(f"p{k}", t) for k, t in enumerate(types)], VOID)
    for call in ways(signature, record.block):
        for args, kwargs in ((values, {}), (values[: len(values) // 2], {f"p{k}": v for k, v in enumerate(values) if k >= len(values) // 2})):
            ctypes.memset(record.values, 0x55, ctypes.sizeof(record.values))
            assert call(*args, **kwargs) is None
            assert record.seen() == list(values)
            assert [math.copysign(1, v) for v in record.seen()] == [math.copysign(1, v) for v in values]


def test_the_quick_way_takes_what_is_usual_and_only_that(recorder: Callable[..., Any]) -> None:
    if not entry.supported():
        pytest.skip("no built-in functions here")
    record = recorder([I32, F64, BOOL])
    signature = Signature("f", [ScalarParameter("a", I32), ScalarParameter("b", F64), ScalarParameter("c", BOOL)], VOID)
    fallen: list[object] = []
    hub = entry.Hub("f", lambda *args, **kwargs: fallen.append((args, kwargs)))
    hub.point_at(signature, record.block.address, record.block, {}, ["a", "b", "c"])
    f = hub.function
    for usual in (lambda: f(1, 2.0, True), lambda: f(1, 2.0, c=False), lambda: f(a=-1, b=0.5, c=True)):
        usual()
        assert not fallen
    unusual: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((1, 2.0), {}),
        ((1, 2.0, True, 4), {}),
        ((1 << 31, 2.0, True), {}),
        ((1 << 80, 2.0, True), {}),
        ((1, 1 << 80, True), {}),
        ((1, np.float16(2), True), {}),
        ((np.int64(1 << 31), 2.0, True), {}),
        ((np.uint32(1), 2.0, True), {}),
        ((np.float64(1), 2.0, True), {}),
        ((1.0, 2.0, True), {}),
        ((1, 2.0, 1), {}),
        ((1, 2.0, np.int64(1)), {}),
        ((True, 2.0, True), {}),
        ((1,), {"c": True, "b": 2.0}),
        ((1, 2.0), {"d": True}),
        ((1, 2.0, True), {"a": 1}),
        ((), {}),
    ]
    for args, kwargs in unusual:
        f(*args, **kwargs)
    assert fallen == unusual


def test_the_quick_way_takes_numpys_numbers(recorder: Callable[..., Any]) -> None:
    if not entry.supported():
        pytest.skip("no built-in functions here")
    kinds = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64, np.bool_]
    types = [I8, U8, I16, U16, I32, U32, I64, U64, F32, F64, BOOL]
    record = recorder(types)
    signature = Signature("f", [ScalarParameter(f"p{k}", t) for k, t in enumerate(types)], VOID)
    fallen: list[object] = []
    hub = entry.Hub("f", lambda *args: fallen.append(args))
    hub.point_at(signature, record.block.address, record.block, {}, [f"p{k}" for k in range(len(types))])

    def arrives(values: list[Any], seen: list[Any]) -> None:
        ctypes.memset(record.values, 0x55, ctypes.sizeof(record.values))
        hub.function(*values)
        assert not fallen
        assert record.seen() == seen

    for low in (True, False):
        values = [kind(limits(t)[0 if low else 1]) for kind, t in zip(kinds[:8], types, strict=False)]
        values += [np.float32(-1.1 if low else 3e38), np.float64(-1e308 if low else 0.1), np.bool_(low)]
        arrives(values, [value.item() for value in values])
    # The usual type of whole numbers for any of them, and floats for each other; Python's integers for floats.
    arrives(
        [*(np.int64(100) for _ in range(6)), np.int32(-5), np.int64(7), np.float64(0.1), np.float32(0.1), True],
        [100] * 6 + [-5, 7, float(np.float32(0.1)), float(np.float32(0.1)), True],
    )
    arrives([*(1 for _ in range(8)), 7, -(1 << 60) - 1, np.False_], [1] * 8 + [7.0, float(-(1 << 60) - 1), False])
    for position, value in (
        (0, np.int64(128)),
        (1, np.int64(-1)),
        (4, np.int64(1 << 31)),
        (5, np.int64(-1)),
        (7, np.int64(-1)),
        (6, np.uint64(1)),
        (9, 1 << 70),
        (10, np.int8(1)),
    ):
        given: list[Any] = [*(1 for _ in range(8)), 0.5, 0.5, True]
        given[position] = value
        hub.function(*given)
        assert fallen.pop() == tuple(given)


def test_numpys_floats_are_told_by_their_own_names() -> None:
    @lw.kernel
    def k(x: lw.Array[lw.f32], n: lw.i32):
        x[0] = n

    x = np.zeros(3, np.float32)
    for value in (np.float32(1.5), np.float64(2)):
        with pytest.raises(
            lw.ArgumentError, match=rf"n: got numpy.{type(value).__name__} .* for a parameter of type i32; an integer is expected; use int\(n\)"
        ):
            k(x, value)
    k(x, np.int16(-3))
    k(x, np.array(-3))
    assert x[0] == -3


@pytest.mark.parametrize(
    ("type_", "code", "expected"),
    [
        (I8, "b8ffffff7f", -1),
        (U8, "b8ffffffff", 255),
        (I16, "b800800100", -32768),
        (U16, "b8ffff0100", 65535),
        (I32, "48b8ffffffff05000000", -1),
        (U32, "48b8ffffffff05000000", 0xFFFFFFFF),
        (I64, "48c7c0ffffffff", -1),
        (U64, "48c7c0ffffffff", (1 << 64) - 1),
        (PTR, "31c0", 0),
        (BOOL, "b801030000", True),
        (BOOL, "b800030000", False),
        (F32, "b80000c03f660f6ec0", 1.5),
        (F64, "48b8000000000000f8bf66480f6ec0", -1.5),
        (VOID, "48c7c0ffffffff", None),
    ],
)
def test_results(type_: Type, code: str, expected: object) -> None:
    block = memory.allocate(bytes.fromhex(code) + b"\xc3")
    for call in ways(Signature("f", [], type_), block):
        result = call()
        assert result == expected
        assert type(result) is type(expected)


def test_results_leak_no_references() -> None:
    block = memory.allocate(b"\xc3")
    for call in ways(Signature("f", [], VOID), block):
        before = sys.getrefcount(None)
        for _ in range(1000):
            call()
        assert abs(sys.getrefcount(None) - before) < 100


def test_a_native_function_is_called() -> None:
    add = NativeFunction(memory.allocate(ADD), [I64, I64], I64, "add", ["a", "b"])
    assert add(2, 40) == 42
    assert add(a=2, b=-3) == -1
    assert add(np.int32(2), np.uint8(3)) == 5
    assert add(True, np.array(3)) == 4


ADDER = Signature("add", [ScalarParameter("a", I32), ScalarParameter("b", F64)], VOID)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, r"add\(a, b\) takes 2 arguments; missing: a, b"),
        ((1,), {}, r"add\(a, b\) takes 2 arguments; missing: b"),
        ((1, 2.0, 3), {}, r"add\(a, b\) takes 2 arguments, got 3"),
        ((1, 2.0), {"c": 1}, r"add\(a, b\) has no parameter named c"),
        ((1.0, 2.0), {}, r"a: got float 1\.0 for a parameter of type i32; an integer is expected; use int\(a\)"),
        ((np.float32(1), 2.0), {}, r"a: got numpy\.float32 .* an integer is expected"),
        (("1", 2.0), {}, r"a: got str '1' for a parameter of type i32"),
        ((None, 2.0), {}, r"a: got NoneType for a parameter of type i32"),
        ((1 << 31, 2.0), {}, r"a: 2147483648 is out of range for i32, which holds -2147483648 to 2147483647"),
        ((-(1 << 31) - 1, 2.0), {}, r"a: -2147483649 is out of range for i32"),
        ((1, "x"), {}, r"b: got str 'x' for a parameter of type f64; a number is expected"),
        ((1, 1j), {}, r"b: got complex 1j"),
        ((1, 10**400), {}, r"b: the integer given is too large for f64"),
        ((np.zeros(3), 1.0), {}, r"a: got numpy\.ndarray for a parameter of type i32"),
    ],
)
def test_a_wrong_argument_is_named(recorder: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], message: str) -> None:
    record = recorder([I32, F64])
    for call in ways(ADDER, record.block):
        with pytest.raises(ArgumentError, match=message):
            call(*args, **kwargs)


@pytest.mark.parametrize("type_", [t for t in INTEGERS if t is not PTR])
def test_every_integer_type_checks_its_range(recorder: Callable[..., Any], type_: Type) -> None:
    record = recorder([type_])
    low, high = limits(type_)
    for call in ways(Signature("f", [ScalarParameter("a", type_)], VOID), record.block):
        for bad in (low - 1, high + 1, 1 << 200, -(1 << 200)):
            with pytest.raises(ArgumentError, match=f"a: {bad} is out of range for {type_.name}"):
                call(bad)


def test_what_a_float_takes(recorder: Callable[..., Any]) -> None:
    record = recorder([F32, F64])
    for call in ways(Signature("f", [ScalarParameter("a", F32), ScalarParameter("b", F64)], VOID), record.block):
        for passed, expected in (((1, 2), [1, 2]), ((np.float32(0.5), np.int8(-1)), [0.5, -1]), ((1e300, -1e300), [math.inf, -1e300]), ((True, 0.1), [1, 0.1])):
            call(*passed)
            assert record.seen() == expected
        call(0.1, math.nan)
        assert record.seen()[0] == np.float32(0.1)
        assert math.isnan(record.seen()[1])


def test_what_a_pointer_takes(recorder: Callable[..., Any]) -> None:
    record = recorder([PTR])
    buffer = (ctypes.c_int32 * 4)()
    address = ctypes.addressof(buffer)
    callback = ctypes.CFUNCTYPE(None)(lambda: None)
    for call in ways(Signature("f", [ScalarParameter("p", PTR)], VOID), record.block):
        cases: list[tuple[Any, int]] = [
            (None, 0),
            (address, address),
            ((1 << 64) - 1, (1 << 64) - 1),
            (buffer, address),
            (ctypes.cast(buffer, ctypes.POINTER(ctypes.c_int32)), address),
            (ctypes.c_void_p(address), address),
            (ctypes.c_void_p(None), 0),
            (callback, ctypes.cast(callback, ctypes.c_void_p).value or 0),
        ]
        for passed, expected in cases:
            call(passed)
            assert record.seen() == [expected]
        with pytest.raises(ArgumentError, match=r"p: got numpy\.ndarray .* use p\.ctypes\.data"):
            call(np.zeros(1))
        with pytest.raises(ArgumentError, match="out of range for ptr"):
            call(-1)


@pytest.mark.parametrize("type_", [F16, BF16])
def test_types_that_cannot_be_passed_are_refused_at_once(type_: Type) -> None:
    block = memory.allocate(b"\xc3")
    with pytest.raises(AbiError, match=f"a parameter of type {type_.name} cannot be passed"):
        NativeFunction(block, [type_], VOID)
    with pytest.raises(AbiError, match=f"a result of type {type_.name} cannot be returned"):
        NativeFunction(block, [], type_)


@pytest.mark.parametrize("name", ["class", "two words", "", "a", "_lw_p0"])
def test_any_parameter_name_will_do(recorder: Callable[..., Any], name: str) -> None:
    record = recorder([I64, I64])
    for call in ways(Signature("f", [ScalarParameter(name, I64), ScalarParameter("a", I64)], VOID), record.block):
        call(1, 2)
        assert record.seen() == [1, 2]


def test_many_parameters(recorder: Callable[..., Any]) -> None:
    types = [F64, I64] * 70
    record = recorder(types)
    values = [float(k) if k % 2 == 0 else k for k in range(140)]
    for call in ways(Signature("f", [ScalarParameter(f"p{k}", t) for k, t in enumerate(types)], VOID), record.block):
        call(*values)
        assert record.seen() == values
