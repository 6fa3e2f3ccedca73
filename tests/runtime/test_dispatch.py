"""From arguments to compiled code: keys, one compilation for each, and the quick way."""

from __future__ import annotations

import ctypes
import enum
import functools
import gc
import itertools
import math
import sys
import threading
import time
import weakref
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from loopwright.compiler import Compiled
from loopwright.errors import ArgumentError, KernelTypeError
from loopwright.ir.function import Function
from loopwright.runtime import cpu, entry, memory
from loopwright.runtime.code import Code
from loopwright.runtime.dispatch import ARRAY, CONST, SCALAR, Dispatcher, Formal, Frozen, Key, Specializations, freeze, signature_of
from loopwright.targets.target import Convention, MachineCode, Target
from loopwright.types import BF16, BOOL, F32, F64, I32, I64, U8

pytestmark = pytest.mark.skipif(not cpu.is_x86_64() or sys.platform == "win32", reason="needs x86-64 and System V's convention")

Point = namedtuple("Point", "x y")
Other = namedtuple("Other", "x y")


class Colour(enum.Enum):
    RED = 1
    ALSO_ONE = 2

    @classmethod
    def method(cls) -> None:
        pass


DIFFERENT: list[Any] = [
    *(1, 1.0, True, 0, 0.0, -0.0, False, None, "1", b"1", 1j, -1j, complex(-0.0, 1), "", (), [], {}, set(), frozenset(), math.nan, math.inf, 1 << 100),
    *((1,), (1.0,), (True,), [1], [1.0], (0.0,), (-0.0,), (1.0, 2.0), (2.0, 1.0), (1.0, 2), ((1.0,), 2.0), (1.0, (2.0,)), [(1.0, 2.0)], ([1.0, 2.0],)),
    *({"a": 1}, {"a": 1.0}, {"a": 1, "b": 2}, {"b": 2, "a": 1}, {1, 2}, frozenset((1, 2)), range(3), range(1, 3), range(0, 3, 2), slice(3), slice(0, 3)),
    *(np.float32(1), np.float64(1), np.int64(1), np.bool_(True), np.float32(-0.0), np.float32(0.0)),
    *(np.zeros(2), np.zeros(2, "f4"), np.zeros((2, 1)), np.array([0.0, -0.0]), np.zeros(2, ">f8"), np.zeros(0), np.array(0.0)),
    *(len, abs, math, int, float, F32, F64, Colour.RED, Colour.ALSO_ONE, np.dtype("f4"), Point(1, 2), Other(1, 2), (1, 2), Ellipsis, lambda: 1, lambda: 1),
]


def test_different_values_are_different_keys() -> None:
    for a, b in itertools.combinations(DIFFERENT, 2):
        assert Frozen(a) != Frozen(b), (a, b)
    assert len({Frozen(v) for v in DIFFERENT}) == len(DIFFERENT)


def test_like_values_are_one_key() -> None:
    alike: list[tuple[Any, Any]] = [
        (float("nan"), float("nan")),
        ((1.0, 2.0), tuple(map(float, "12"))),
        ([1, (2.0, "x")], [1, (2.0, "x")]),
        ({"a": [1]}, {"a": [1]}),
        (1 << 100, 1 << 100),
        (np.arange(6)[::2], np.array([0, 2, 4])),
        (np.float32(1), np.float32(1)),
        ({3, 1, 2}, {1, 2, 3}),
        (Point(1, 2.0), Point(1, 2.0)),
    ]
    for a, b in alike:
        assert Frozen(a) == Frozen(b)
        assert hash(Frozen(a)) == hash(Frozen(b))


def test_a_key_keeps_the_value_a_mutable_argument_had() -> None:
    values = [1, 2]
    frozen = freeze(values)
    values.append(3)
    assert freeze([1, 2]) == frozen != freeze(values)


def test_methods_and_partial_functions_are_known_by_what_is_bound_to_them() -> None:
    def alike() -> list[Any]:
        return [
            *("abc".upper, [1, 2].index, {"a": 1}.get, (1.0).__add__, (1, 2).__getitem__, Point(1, 2).index, np.arange(3).sum, int.from_bytes),
            *(functools.partial(len), functools.partial(max, 1), functools.partial(max, 1, key=abs), functools.partial(functools.partial(max, 1))),
            *(Colour.method, Colour.RED.value.__add__),
        ]

    for a, b in zip(alike(), alike(), strict=True):
        assert Frozen(a) == Frozen(b)
        assert hash(Frozen(a)) == hash(Frozen(b))
    different = [
        *("abc".lower, "abd".upper, [1, 3].index, [1, 2].count, {"a": 2}.get, (-1.0).__add__, (1.0).__sub__, (1, 3).__getitem__, Other(1, 2).index),
        *(np.arange(4).sum, np.arange(3).min, bool.from_bytes, functools.partial(abs), functools.partial(max, 1.0), functools.partial(max, 1, key=len)),
        *(len, abs, max, "abc".__len__, b"abc".upper),
    ]
    for a, b in itertools.combinations([*different, *alike()[:11]], 2):
        if a is not b:
            assert (Frozen(a) == Frozen(b)) is (a == b and type(a) is functools.partial), (a, b)


def test_c_functions_are_known_by_address_and_declaration() -> None:
    library = ctypes.CDLL(None)
    one, other = library["labs"], library["labs"]
    assert one is not other and Frozen(one) == Frozen(other)
    assert Frozen(one) != Frozen(library["abs"])
    key = Frozen(one)
    one.restype = ctypes.c_long
    assert Frozen(one) != key
    one.argtypes = [ctypes.c_long]
    with_types = Frozen(one)
    one.argtypes = [ctypes.c_int]
    assert Frozen(one) != with_types != key
    one.argtypes = [ctypes.c_long]
    assert Frozen(one) == with_types
    prototype = ctypes.CFUNCTYPE(ctypes.c_int)
    assert Frozen(prototype(lambda: 1)) != Frozen(prototype(lambda: 2))


def test_a_key_keeps_alive_what_it_is_known_by() -> None:
    def function() -> None:
        pass

    callback = ctypes.CFUNCTYPE(None)(function)
    reference = weakref.ref(function)
    token = freeze((callback,))
    del callback, function
    gc.collect()
    assert reference() is not None
    del token
    gc.collect()
    assert reference() is None


class Mutable:
    pass


def test_values_that_cannot_be_keys_are_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    for value, message in (
        (Mutable(), "Mutable is not available"),
        (np.array([None]), "not available"),
        ([Mutable()], "not available"),
        (loop, "contains itself"),
    ):
        with pytest.raises(ArgumentError, match=message):
            freeze(value)


FORMALS = [Formal("x", ARRAY), Formal("y", ARRAY, F32, 2), Formal("a", SCALAR, F32), Formal("b", SCALAR), Formal("c", CONST)]
X1, Y2 = np.zeros(3, np.uint8), np.zeros((3, 3), np.float32)


def test_the_signature_of_a_call() -> None:
    assert signature_of((X1, Y2, 1, 2, (1.0,)), FORMALS) == ((U8, 1), (F32, 2), F32, I64, Frozen((1.0,)))
    for value, type_ in ((1.5, F64), (True, BOOL), (np.float32(1), F32), (np.int32(1), I32), (np.bool_(False), BOOL), (np.uint8(3), U8)):
        assert signature_of((X1, Y2, 1, value, None), FORMALS)[3] is type_


def test_a_number_of_ml_dtypes_is_bf16_or_none() -> None:
    package = pytest.importorskip("ml_dtypes")
    assert signature_of((X1, Y2, 1, package.bfloat16(1.5), None), FORMALS)[3] is BF16
    with pytest.raises(ArgumentError, match="b: a number is expected, got float8_e5m2"):
        signature_of((X1, Y2, 1, package.float8_e5m2(1.5), None), FORMALS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: [1, 2]}, r"x: a NumPy array is expected, got list; use np\.asarray\(x\)"),
        ({0: np.zeros(3, np.clongdouble)}, r"x: arrays of complex256 are not available"),
        ({0: np.zeros(3, ">f4")}, r"x: arrays of >f4 \(the other byte order\) are not available.*newbyteorder"),
        ({0: np.zeros(3, [("a", "f4"), ("b", "f4")])}, r"x: arrays of structures are not available; .* x\['a'\]\.copy\(\)"),
        ({0: np.array(1.0)}, r"x: an array of at least 1 dimension is expected"),
        ({1: 7}, r"y: a NumPy array of float32 with 2 dimensions is expected, got int"),
        ({3: "s"}, r"b: a number is expected, got str"),
        ({3: np.zeros(2)}, r"b: a number is expected, got ndarray; annotate the parameter with lw\.Array"),
        ({4: Mutable()}, r"c: a Const argument of type .*Mutable is not available"),
    ],
)
def test_arguments_that_fit_no_declaration(change: dict[int, Any], message: str) -> None:
    args: list[Any] = [X1, Y2, 1, 2, (1.0,)]
    for position, value in change.items():
        args[position] = value
    with pytest.raises(ArgumentError, match=message):
        signature_of(tuple(args), FORMALS)


# --- one compilation for each key ------------------------------------------------------------------------------


def test_two_threads_compile_one_key_once_and_two_keys_side_by_side() -> None:
    running: list[int] = []
    most = 0
    count: dict[object, int] = {}
    lock = threading.Lock()

    def compile(key: Any) -> Any:
        nonlocal most
        with lock:
            running.append(1)
            most = max(most, len(running))
            count[key] = count.get(key, 0) + 1
        time.sleep(0.05)
        with lock:
            running.pop()
        return ("code", key)

    specializations = Specializations(compile)
    got: list[Any] = []
    threads = [threading.Thread(target=lambda k=k: got.append(specializations.get(k % 2))) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count == {0: 1, 1: 1}
    assert most == 2
    assert sorted(got) == [("code", 0)] * 4 + [("code", 1)] * 4
    assert len(specializations) == 2


def test_each_waiting_thread_tries_after_a_failure() -> None:
    tries: list[int] = []

    def compile(key: Any) -> Any:
        tries.append(1)
        time.sleep(0.02)
        if len(tries) < 3:
            raise KernelTypeError("no")
        return "code"

    specializations = Specializations(compile)
    results: list[str] = []

    def work() -> None:
        try:
            results.append(str(specializations.get(1)))
        except KernelTypeError as error:
            results.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == ["code", "code", "no", "no"]
    assert len(tries) == 3


def test_recursion_while_compiling_is_refused_instead_of_waiting_for_ever() -> None:
    specializations = Specializations(lambda key: specializations.get(key))
    with pytest.raises(KernelTypeError, match="recursion is not available"):
        specializations.get(1)
    with pytest.raises(KernelTypeError):
        specializations.get(1)


# --- calls -----------------------------------------------------------------------------------------------------


class Kernel:
    """A kernel of (x: Array, n, c: Const = 7) whose machine code returns the number of its compilation."""

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.dispatcher = Dispatcher("number", [Formal("x", ARRAY), Formal("n", SCALAR), Formal("c", CONST, default=7)], self.compile)
        self.call = self.dispatcher.call

    def compile(self, key: Key, given: tuple[Any, ...] = ()) -> Code:
        self.keys.append(key)
        f = Function("number", I64)
        array, scalar, _ = key
        assert isinstance(array, tuple)
        f.array_param("x", *array)
        f.param(scalar, "n")  # type: ignore[arg-type]
        target = Target(Convention("sysv", (), (), 0, 0, 0), [], [], frozenset())
        target.name = "x86-64"
        data = b"\xb8" + len(self.keys).to_bytes(4, "little") + b"\xc3"
        return Code(Compiled(f, f, MachineCode(data, len(data), None, []), target, "", {}, {}))


def test_calls_find_their_code() -> None:
    kernel = Kernel()
    f4, f8, plane = np.zeros(3, np.float32), np.zeros(3), np.zeros((2, 2), np.float32)
    for _ in range(3):
        assert kernel.call(f4, 1) == 1
        assert kernel.call(f4, 1, 7) == 1
        assert kernel.call(f4, 1, c=7) == 1
        assert kernel.call(c=7, n=5, x=f4) == 1
        assert kernel.call(f8, 1) == 2
        assert kernel.call(plane, 1) == 3
        assert kernel.call(f4, 1.0) == 4
        assert kernel.call(f4, 1, 7.0) == 5
        assert kernel.call(f4, 1, c=(1.0, 2.0)) == 6
        assert kernel.call(f4, 1, [1.0, 2.0]) == 7
        assert kernel.call(f4, 1, -0.0) == 8
        assert kernel.call(f4, 1, 0.0) == 9
        assert kernel.call(f4, np.float32(1)) == 10
        assert kernel.call(f4, True) == 11
    assert len(kernel.keys) == 11


def test_a_mutable_constant_is_looked_at_in_each_call() -> None:
    kernel = Kernel()
    x, c = np.zeros(3, np.float32), [1.0]
    assert [kernel.call(x, 1, c) for _ in range(3)] == [1, 1, 1]
    c[0] = 2.0
    assert kernel.call(x, 1, c) == 2
    nested = ([1.0],)
    assert [kernel.call(x, 1, nested) for _ in range(3)] == [3, 3, 3]
    nested[0].append(2.0)
    assert kernel.call(x, 1, nested) == 4
    array = (np.zeros(2),)
    assert [kernel.call(x, 1, array) for _ in range(3)] == [5, 5, 5]
    array[0][1] = 1
    assert [kernel.call(x, 1, array) for _ in range(3)] == [6, 6, 6]
    array[0][1] = 0
    assert kernel.call(x, 1, array) == 5


@pytest.mark.skipif(not entry.supported(), reason="no built-in functions here")
def test_the_quick_way_keeps_its_constants_alive() -> None:
    kernel = Kernel()
    x = np.zeros(3, np.float32)
    for n in range(50):
        # The tuple of one turn is freed before the next is made, which would get its place.
        for _ in range(3):
            assert kernel.call(x, 1, (float(n), "a")) == n + 1
    assert len(kernel.keys) == 50


@pytest.mark.skipif(not entry.supported(), reason="no built-in functions here")
def test_the_usual_call_does_not_pass_through_python(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel()
    x, c = np.zeros(3, np.float32), (1.0, 2.0)
    frames: list[str] = []

    def profile(frame: Any, event: str, arg: object) -> None:
        if event == "call":
            frames.append(frame.f_code.co_name)

    kernel.call(x, 1, c)
    sys.setprofile(profile)
    try:
        kernel.call(x, 1, c)
        kernel.call(x, 1, c=c)
        kernel.call(x=x, n=2, c=c)
        usual = list(frames)
        kernel.call(x, 1, tuple(value for value in c))
    finally:
        sys.setprofile(None)
    assert usual == []
    assert frames, "an equal tuple that is another object takes the slow way once"
    assert len(kernel.keys) == 1


def test_calls_that_alternate_do_not_make_new_code_for_ever() -> None:
    kernel = Kernel()
    a, b = np.zeros(3, np.float32), np.zeros(3)
    for _ in range(200):
        assert (kernel.call(a, 1), kernel.call(b, 1)) == (1, 2)
    hub = kernel.dispatcher._hub
    assert hub is not None
    assert len(hub._kept) < 12


def test_wrong_calls_are_explained() -> None:
    kernel = Kernel()
    x = np.zeros(3, np.float32)
    for _ in range(2):
        with pytest.raises(ArgumentError, match=r"number\(x, n, c\) takes 3 arguments; missing: n"):
            kernel.call(x)
        with pytest.raises(ArgumentError, match=r"number\(x, n, c\) takes 3 arguments, got 4"):
            kernel.call(x, 1, 2, 3)
        with pytest.raises(ArgumentError, match=r"number\(x, n, c\) has no parameter named z"):
            kernel.call(x, 1, z=3)
        with pytest.raises(ArgumentError, match=r"x: neighbours in the last dimension must be adjacent"):
            kernel.call(x[::2], 1)
        with pytest.raises(ArgumentError, match=r"c: a Const argument of type"):
            kernel.call(x, 1, Mutable())
        with pytest.raises(ArgumentError, match=r"x: a NumPy array is expected, got list") as caught:
            kernel.call([1], 1)
        assert caught.value.__context__ is None, "the look into the dictionary is no part of the story"
        assert kernel.call(x, 1) == 1


def test_code_lives_as_long_as_its_kernel() -> None:
    gc.collect()
    before = memory.statistics().used
    kernel = Kernel()
    x = np.zeros(3, np.float32)
    call = kernel.call
    for c in range(20):
        call(x, 1, c)
        call(x, 1, c)
    del kernel
    gc.collect()
    assert [call(x, 1, c) for c in range(20)] == list(range(1, 21))
    assert memory.statistics().used > before
    del call
    gc.collect()
    # The stub that every such kernel begins with stays.
    assert memory.statistics().used <= before + memory.LINE


def test_threads_call_one_kernel_with_many_types() -> None:
    kernel = Kernel()
    arguments = [np.zeros(3, t) for t in (np.float32, np.float64, np.int32, np.int64, np.uint8)]
    wrong: list[object] = []

    def work(n: int) -> None:
        for k in range(400):
            i = (n + k) % len(arguments)
            number = kernel.call(arguments[i], 1)
            if kernel.keys[number - 1][0][0].dtype != arguments[i].dtype.name:  # type: ignore[index, union-attr]
                wrong.append((i, number))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(kernel.keys) == 5
