"""``lw.Const`` arguments: each call gets the code for the value that it passes, whatever became of the values of earlier calls."""

from __future__ import annotations

import ctypes
import functools
import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.runtime import cpu

pytestmark = pytest.mark.skipif(cpu.host_features() == frozenset(), reason="code for this CPU is not made")

D = ctypes.c_double
UNARY = ctypes.CFUNCTYPE(D, D)


def applier() -> Any:
    @lw.kernel
    def k(x: lw.Array[lw.f64], f: lw.Const):
        for i in lw.range(len(x)):
            x[i] = f(x[i])

    return k


def applied(kernel: Any, f: Any) -> float:
    x = np.full(2, 2.0)
    kernel(x, f)
    assert x[0] == x[1]
    return float(x[0])


# --- functions -------------------------------------------------------------------------------------------------


def test_c_functions() -> None:
    libm = ctypes.CDLL("libm.so.6")
    for name in ("sqrt", "exp2"):
        function = getattr(libm, name)
        function.argtypes, function.restype = [D], D
    k = applier()
    for _ in range(4):
        assert applied(k, libm.sqrt) == np.sqrt(2.0)
        assert applied(k, libm.exp2) == 4
        assert applied(k, UNARY(("sqrt", libm))) == np.sqrt(2.0)


def test_a_c_function_whose_declaration_changes() -> None:
    ldexp = ctypes.CDLL("libm.so.6").ldexp

    @lw.kernel
    def k(x: lw.Array[lw.f64], f: lw.Const):
        x[0] = f(x[0], 3)

    x = np.ones(1)
    with pytest.raises(lw.KernelTypeError, match="set its argtypes and restype first"):
        k(x, ldexp)
    ldexp.argtypes, ldexp.restype = [D, ctypes.c_int], D
    k(x, ldexp)
    assert x[0] == 8
    ldexp.argtypes = [D]
    with pytest.raises(lw.KernelTypeError, match="takes 1 arguments, not 2"):
        k(x, ldexp)
    ldexp.argtypes = [D, ctypes.c_int]
    k(x, ldexp)
    assert x[0] == 64


@pytest.mark.slow
def test_callbacks_come_and_go() -> None:
    k = applier()
    gone: list[Any] = []
    for n in range(30):

        def plus(v: float, n: int = n) -> float:
            return v + n

        callback = UNARY(plus)
        gone.append(weakref.ref(plus))
        assert applied(k, callback) == 2 + n
        assert applied(k, callback) == 2 + n
        assert applied(k, {"f": callback}["f"]) == 2 + n
        del callback, plus
        gc.collect()
    # The code calls them by address.
    assert all(reference() is not None for reference in gone)


def test_kernels_functions_of_the_builder_partial_functions_and_methods() -> None:
    @lw.kernel
    def clipped(v: lw.f64, limit: lw.Const = 1.5) -> lw.f64:
        if v > limit:
            return limit
        return v

    def times(v: Any, k: Any) -> Any:
        if v > 1:
            return v * k
        return v

    class Table:
        @classmethod
        def more(cls, v: Any) -> Any:
            return v + 1

        def __init__(self, k: float) -> None:
            self.k = k

        def scaled(self, v: Any) -> Any:
            return v * self.k

    class Pair(tuple):  # type: ignore[type-arg]
        def weighted(self, v: Any) -> Any:
            return v * self[0] + self[1]

    f = lw.Function("eighth", v=lw.f64, returns=lw.f64)
    with f:
        f.ret(f.v / 8)
    expected: list[tuple[Callable[[], Any], float]] = [
        (lambda: clipped, 1.5),
        (lambda: functools.partial(times, k=3.0), 6.0),
        (lambda: functools.partial(times, k=4.0), 8.0),
        (lambda: functools.partial(functools.partial(times, k=3.0), k=5.0), 10.0),
        (lambda: functools.partial(clipped, limit=0.5), 0.5),
        (lambda: Table.more, 3.0),
        (lambda: Pair((2.0, 1.0)).weighted, 5.0),
        (lambda: Pair((3.0, 1.0)).weighted, 7.0),
        (lambda: f, 0.25),
        (lambda: lw.sqrt, np.sqrt(2.0)),
        (lambda: lw.f32, 2.0),
    ]
    k = applier()
    for _ in range(3):
        for make, want in expected:
            assert applied(k, make()) == want
    with pytest.raises(lw.ArgumentError, match="Table is not available: it could change"):
        k(np.ones(1), Table(2.0).scaled)
    with pytest.raises(lw.ArgumentError, match="Function is not available"):
        k(np.ones(1), lw.Function("unfinished", v=lw.f64, returns=lw.f64))


# --- values ----------------------------------------------------------------------------------------------------


@lw.kernel
def first_of(x: lw.Array[lw.f64], c: lw.Const):
    while not isinstance(c, (int, float, np.number)):
        c = c["k"] if isinstance(c, dict) else c[0]
    x[0] = c


NESTED: list[Callable[[Any], Any]] = [
    lambda v: v,
    lambda v: (v,),
    lambda v: [v],
    lambda v: ({"k": v}, 1.0),
    lambda v: ((1.0, v)[1:], "a"),
    lambda v: [({"k": (v,)},)],
    lambda v: {"k": [v, None]},
]


@pytest.mark.parametrize("nest", NESTED)
def test_arrays_and_lists_that_change_in_place_between_calls(nest: Callable[[Any], Any]) -> None:
    x = np.zeros(1)
    for mutable in (np.zeros(3), np.zeros(3, np.int32), [0.0, 1.0], [0]):
        c = nest(mutable)
        for n in (1, 1, 2, 2, 2, 2, 1, 3, 3):
            mutable[0] = n
            first_of(x, c)
            assert x[0] == n


@pytest.mark.parametrize("nest", NESTED)
def test_objects_whose_place_in_memory_is_taken_by_others(nest: Callable[[Any], Any]) -> None:
    x = np.zeros(1)
    places: set[int] = set()
    for n in range(60):
        # Each goes before the next comes, unless something holds it.
        c = nest(float(n % 7))
        places.add(id(c))
        first_of(x, c)
        first_of(x, c)
        assert x[0] == n % 7
        del c


@pytest.mark.slow
def test_functions_whose_place_in_memory_is_taken_by_others() -> None:
    k = applier()
    for n in range(40):

        def plus(v: Any, n: int = n) -> Any:
            return v + n

        for _ in range(3):
            assert applied(k, plus) == 2 + n
        del plus
        gc.collect()


@pytest.mark.slow
def test_functions_that_come_and_go_in_a_list_that_stays() -> None:
    @lw.kernel
    def k(x: lw.Array[lw.f64], f: lw.Const):
        x[0] = f[0](2.0)

    x = np.zeros(1)
    held: list[Any] = [None]
    for n in range(40):

        def plus(v: Any, n: int = n) -> Any:
            return v + n

        held[0] = plus
        del plus
        k(x, held)
        assert x[0] == 2 + n
        held[0] = None
        gc.collect()


def test_an_object_that_lies_about_its_class_is_refused() -> None:
    class Liar:
        __class__ = tuple  # type: ignore[assignment]

    class Named(tuple):  # type: ignore[type-arg]
        pass

    named = Named((1.0,))
    first_of(np.zeros(1), named)
    named.more = 1  # type: ignore[attr-defined]
    for value in (Liar(), [Liar()], named):
        with pytest.raises(lw.ArgumentError, match="is not available: it could change"):
            first_of(np.zeros(1), value)
