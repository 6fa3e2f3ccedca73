"""Arrays as arguments: what is passed, what is refused and how it is said, and overlaps."""

from __future__ import annotations

import gc
import itertools
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.errors import ArgumentError, OverlapError
from loopwright.runtime import arrays, entry, memory
from loopwright.runtime.arrays import ArrayParameter, admit, bind, check_overlap, overlap
from loopwright.runtime.call import Signature
from loopwright.runtime.scalars import ScalarParameter
from loopwright.types import F32, F64, I32, I64, PTR, U8, VOID


def ways(signature: Signature, block: memory.Block) -> list[Callable[..., Any]]:
    made = [signature.wrapper(block.address, block)]
    if entry.supported():
        made.append(entry.callable_of(signature, block.address, block))
    return made


def test_the_layout_of_array_objects_holds_here() -> None:
    if sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)():
        assert arrays.layout_holds()


PLANE = np.arange(600, dtype=np.float32).reshape(20, 30)
VIEWS = [
    PLANE,
    PLANE[3:9, 4:7],
    PLANE[::-1],
    PLANE[::-3, 2:],
    PLANE[5:5],
    PLANE[:, 5:5],
    PLANE[:, 7:8],
    PLANE.T[:, :1],
    PLANE[::2, 3:4],
    np.broadcast_to(PLANE[0], (5, 30)),
    np.frombuffer(b"\0" + PLANE.tobytes(), np.uint8, offset=1).view(np.float32).reshape(20, 30),
    np.zeros((0, 0), np.float32),
    np.zeros((0, 9), np.float32)[:, ::3],
]


@pytest.mark.parametrize("view", VIEWS, ids=lambda v: f"{v.shape}{v.strides}")
def test_what_is_passed_for_an_array(recorder: Callable[..., Any], view: np.ndarray[Any, Any]) -> None:
    expected = [view.__array_interface__["data"][0], *view.shape, view.strides[0]]
    record = recorder([PTR, I64, I64, I64])
    x = ArrayParameter("x", F32, 2, False)
    assert bind(x, view) == expected
    for call in ways(Signature("f", [x], VOID), record.block):
        assert call(view) is None
        assert record.seen() == expected
        assert call(x=view) is None


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_ranks_and_further_arguments(recorder: Callable[..., Any], rank: int) -> None:
    x = np.zeros((2, 3, 4, 5)[:rank], np.int32)
    y = np.ones((7, 2, 3, 9)[:rank], np.float64)[::-1]
    if rank == 1:
        y = y[::-1]
    record = recorder([PTR, *[I64] * (2 * rank - 1), F64, PTR, *[I64] * (2 * rank - 1), I64])
    parameters = [ArrayParameter("x", I32, rank, True), ScalarParameter("a", F64), ArrayParameter("y", F64, rank, False), ScalarParameter("n", I64)]
    expected = [x.ctypes.data, *x.shape, *x.strides[:-1], 2.5, y.ctypes.data, *y.shape, *y.strides[:-1], -7]
    for call in ways(Signature("f", parameters, VOID), record.block):
        call(x, 2.5, y, -7)
        assert record.seen() == expected


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"])
def test_every_element_type(recorder: Callable[..., Any], dtype: str) -> None:
    from loopwright.types import parse_type

    name = np.dtype(dtype).name
    element = parse_type(name.replace("uint", "u").replace("int", "i").replace("float", "f"))
    x = np.zeros(5, dtype)
    record = recorder([PTR, I64])
    for call in ways(Signature("f", [ArrayParameter("x", element, 1, True)], VOID), record.block):
        call(x)
        assert record.seen() == [x.ctypes.data, 5]
        for other in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "O", "?"):
            if other != dtype:
                with pytest.raises(ArgumentError, match=f"x: an array of {name} is expected, got {np.dtype(other).name}"):
                    call(np.zeros(5, other))


def test_equal_dtypes_of_other_names_are_taken(recorder: Callable[..., Any]) -> None:
    record = recorder([PTR, I64])
    for call in ways(Signature("f", [ArrayParameter("x", I64, 1, False)], VOID), record.block):
        for dtype in (np.int64, np.longlong, np.intp, "<i8", np.dtype(np.int64, metadata={"a": 1})):
            x = np.zeros(4, dtype)
            call(x)
            assert record.seen() == [x.ctypes.data, 4]


def test_subclasses_of_arrays_are_taken(recorder: Callable[..., Any], tmp_path: Any) -> None:
    record = recorder([PTR, I64])
    mapped = np.memmap(tmp_path / "x", np.float32, "w+", shape=(6,))

    class Odd(np.ndarray[Any, Any]):
        shape = (1, 2, 3)  # type: ignore[assignment]

    odd = np.zeros(6, np.float32).view(Odd)
    for call in ways(Signature("f", [ArrayParameter("x", F32, 1, True)], VOID), record.block):
        for x in (mapped, odd):
            call(x)
            assert record.seen() == [x.__array_interface__["data"][0], 6]


READ_ONLY = np.zeros((4, 5), np.float32)
READ_ONLY.flags.writeable = False


class OnDevice:
    dtype = np.dtype(np.float32)
    ndim = 2

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


class OnCpu(OnDevice):
    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class Cuda:
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {}


X = ArrayParameter("x", F32, 2, False)
Y = ArrayParameter("y", F32, 2, True)
GOOD = np.zeros((4, 5), np.float32)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([[1.0]], r"x: a NumPy array of float32 with 2 dimensions is expected, got list; use np\.asarray\(x, dtype=np\.float32\)"),
        (None, r"x: .* got NoneType"),
        (1.5, r"x: .* got float"),
        (np.float32(1), r"x: .* got numpy\.float32"),
        (memoryview(GOOD), r"x: .* got memoryview"),
        (OnDevice(), r"x: .* got .*OnDevice, whose memory is on another device; copy it to the CPU"),
        (Cuda(), r"x: .* got .*Cuda, whose memory is on another device"),
        (OnCpu(), r"x: .* use np\.from_dlpack\(x\)"),
        (np.zeros((4, 5)), r"x: an array of float32 is expected, got float64; use x\.astype\(np\.float32\), or compile the kernel for float64"),
        (
            np.zeros((4, 5), [("a", "f4"), ("b", "i4")]),
            r"x: an array of float32 is expected, got one of structures, which are not available; .* x\['a'\]\.copy\(\)$",
        ),
        (np.zeros((4, 5), object), r"x: an array of float32 is expected, got object; use x\.astype\(np\.float32\)$"),
        (np.zeros((4, 5), ">f4"), r"x: elements of float32 in this machine's byte order are expected, got >f4; use x\.astype\(np\.float32\)"),
        (np.zeros((4, 5), "c8"), r"x: an array of float32 is expected, got complex64"),
        (np.zeros(5, np.float32), r"x: an array of 2 dimensions is expected, got 1 dimension, shape \(5,\); use .*reshape"),
        (np.zeros((1, 4, 5), np.float32), r"x: an array of 2 dimensions is expected, got 3 dimensions, shape \(1, 4, 5\)"),
        (np.array(1, np.float32), r"x: an array of 2 dimensions is expected, got 0 dimensions"),
        (GOOD.T, r"x: .* adjacent in memory, 4 bytes apart; here they are 20 apart \(it looks transposed.*use np\.ascontiguousarray\(x\)"),
        (GOOD[:, ::2], r"x: .* here they are 8 apart; use np\.ascontiguousarray\(x\)"),
        (GOOD[:, ::-1], r"x: .* here they are -4 apart; use np\.ascontiguousarray\(x\)"),
        (np.broadcast_to(np.float32(1), (4, 5)), r"x: .* here they are 0 apart"),
        (np.ma.masked_array(GOOD, False), r"x: a masked array was given.*x\.filled"),
    ],
)
def test_a_wrong_input_is_explained(recorder: Callable[..., Any], bad: object, message: str) -> None:
    record = recorder([PTR, I64, I64, I64] * 2)
    for call in ways(Signature("f", [X, Y], VOID), record.block):
        with pytest.raises(ArgumentError, match=message):
            call(bad, GOOD)
    with pytest.raises(ArgumentError, match=message):
        admit(X, bad)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (READ_ONLY, r"y: the kernel writes to this array, which is read-only; pass y\.copy\(\)"),
        (np.lib.stride_tricks.as_strided(GOOD, (4, 5), (0, 4)), r"y: .* the 4 elements along dimension 0 are one and the same in memory .*use y\.copy\(\)"),
        ([[1.0]], r"y: .* the kernel writes to it, so it must be an array already"),
        (GOOD[:, ::2], r"y: .* work on a copy: t = np\.ascontiguousarray\(y\); then, after the call, y\[\.\.\.\] = t"),
        (np.zeros((4, 5)), r"y: .* allocate it with dtype=np\.float32"),
    ],
)
def test_a_wrong_output_is_explained(recorder: Callable[..., Any], bad: object, message: str) -> None:
    record = recorder([PTR, I64, I64, I64] * 2)
    for call in ways(Signature("f", [X, Y], VOID), record.block):
        with pytest.raises(ArgumentError, match=message):
            call(GOOD, bad)
        call(READ_ONLY, GOOD)


def test_a_zero_stride_is_no_harm_where_there_is_one_row_or_none(recorder: Callable[..., Any]) -> None:
    record = recorder([PTR, I64, I64, I64])
    for call in ways(Signature("f", [Y], VOID), record.block):
        for rows in (0, 1):
            call(np.lib.stride_tricks.as_strided(GOOD, (rows, 5), (0, 4)))
            assert record.seen()[1:] == [rows, 5, 0]


def test_array_errors_are_type_errors() -> None:
    with pytest.raises(TypeError):
        admit(X, 1)


def test_the_slow_way_without_the_layout(recorder: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "_holds", False)
    record = recorder([PTR, I64])
    x = np.zeros(9, np.uint8)[3:]
    call = Signature("without_layout", [ArrayParameter("x", U8, 1, False)], VOID).wrapper(record.block.address, record.block)
    call(x)
    assert record.seen() == [x.ctypes.data, 6]
    assert arrays.address_of()(x) == x.ctypes.data


def test_arguments_and_code_are_not_leaked(recorder: Callable[..., Any]) -> None:
    record = recorder([PTR, I64])
    signature = Signature("f", [ArrayParameter("x", F32, 1, False)], VOID)
    x = np.zeros(3, np.float32)
    count = sys.getrefcount(x)
    for call in ways(signature, record.block):
        for _ in range(10):
            call(x)
            with pytest.raises(ArgumentError):
                call(x, x)
    assert sys.getrefcount(x) == count
    gc.collect()
    before = memory.statistics().used
    call = entry.callable_of(signature, record.block.address, record.block)
    call(x)
    gone = weakref.ref(record.block)
    del record
    gc.collect()
    assert gone() is not None, "a function that can be called keeps its code"
    call(x)
    del call
    gc.collect()
    assert memory.statistics().used <= before


# --- overlap ---------------------------------------------------------------------------------------------------


def touches(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """By writing down every byte."""

    def addresses(x: np.ndarray[Any, Any]) -> set[int]:
        base = x.__array_interface__["data"][0]
        starts = (base + sum(i * s for i, s in zip(index, x.strides, strict=True)) for index in itertools.product(*map(range, x.shape)))
        return {start + k for start in starts for k in range(x.itemsize)}

    return bool(addresses(a) & addresses(b))


def test_overlap_is_exact_for_one_and_two_dimensions() -> None:
    line = np.zeros(40, np.uint8)
    plane = np.zeros((8, 8), np.float32)
    views = [line[:10], line[10:20], line[9:12], line[::2], line[1::2], line[::-3], line[5:5]]
    views += [plane[:4], plane[4:], plane[:, :4], plane[:, 4:], plane[::2], plane[1::2], plane[2:6, 2:6], plane[0], plane.reshape(64)[7:9]]
    for a, b in itertools.product(views, repeat=2):
        assert overlap(a, b) == touches(a, b)


def check(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], groups: list[int]) -> None:
    check_overlap([ArrayParameter("x", F32, x.ndim, False), ArrayParameter("y", F32, y.ndim, True)], [x, y], groups)


def test_overlaps_that_change_the_result_are_refused() -> None:
    line = np.zeros(100, np.float32)
    check(line[:50], line[50:], [-1, -1])
    check(line, line, [0, 0])
    check(line[:0], line, [-1, -1])
    for x, y, groups in (
        (line[:50], line[1:51], [0, 0]),
        (line, line, [-1, -1]),
        (line, line, [0, 1]),
        (line, line[:50], [0, 0]),
        (line[::2], line[:50], [0, 0]),
    ):
        with pytest.raises(OverlapError, match=r"y and x share memory, and the kernel writes to y.*pass x\.copy\(\)"):
            check(x, y, groups)


def test_two_inputs_may_overlap_and_two_outputs_may_not() -> None:
    line = np.zeros(10, np.float32)
    parameters = [ArrayParameter("x", F32, 1, False), ArrayParameter("y", F32, 1, False)]
    check_overlap(parameters, [line, line[1:]], [-1, -1])
    parameters = [ArrayParameter("x", F32, 1, True), ArrayParameter("y", F32, 1, True)]
    with pytest.raises(OverlapError, match="x and y share memory"):
        check_overlap(parameters, [line, line[1:]], [-1, -1])


def test_an_output_that_overlaps_itself_is_refused() -> None:
    line = np.zeros(30, np.float32)
    sliding = np.lib.stride_tricks.as_strided(line, (10, 5), (4, 4))
    with pytest.raises(OverlapError, match="y: .* some of its elements share memory with each other"):
        check(np.zeros((1, 1), np.float32), sliding, [-1, -1])
    check(np.zeros((1, 1), np.float32), np.lib.stride_tricks.as_strided(line, (5, 5), (24, 4)), [-1, -1])
    check(np.zeros((1, 1), np.float32), line.reshape(5, 6)[::-1], [-1, -1])
    check(np.zeros((1, 1), np.float32), line.reshape(5, 6)[:0], [-1, -1])


def test_whether_rows_overlap_is_a_matter_of_one_byte() -> None:
    raw = np.zeros(4096, np.uint8)

    def view(shape: tuple[int, ...], strides: tuple[int, ...], element: str = "f4") -> np.ndarray[Any, Any]:
        return np.ndarray(shape, element, raw, 2048, strides)

    for shape, strides, overlapping in (
        ((3, 5), (20, 4), False),
        ((3, 5), (19, 4), True),
        ((3, 5), (-20, 4), False),
        ((3, 5), (-19, 4), True),
        ((3, 5), (0, 4), True),
        ((1, 5), (0, 4), False),
        ((1, 5), (3, 4), False),
        ((5, 1), (4, 4), False),
        ((5, 1), (3, 4), True),
        ((0, 5), (0, 4), False),
        ((2, 3, 4), (48, 16, 4), False),
        ((2, 3, 4), (47, 16, 4), True),
        ((2, 3, 4), (48, 15, 4), True),
        ((2, 3, 4), (-48, 16, 4), False),
        ((3, 2, 4), (16, 48, 4), False),
        ((3, 2, 4), (16, 47, 4), True),
        ((3, 3, 4), (16, 16, 4), True),
        ((2, 2, 2), (24, 16, 4), False),
        ((1,), (0,), False),
        ((7,), (4,), False),
    ):
        output = view(shape, strides)
        shared = touches_itself(output)
        assert shared == overlapping, (shape, strides)
        assert arrays._overlaps_itself(output) == overlapping, (shape, strides)
    # Rows that lie between the elements of others share nothing, but are not told from those that do.
    between = view((2, 3), (12, 8))
    assert not touches_itself(between) and arrays._overlaps_itself(between)


def touches_itself(x: np.ndarray[Any, Any]) -> bool:
    """By writing down every byte."""
    starts = [sum(i * s for i, s in zip(index, x.strides, strict=True)) for index in itertools.product(*map(range, x.shape))]
    return len({start + k for start in starts for k in range(x.itemsize)}) < x.itemsize * len(starts)


def test_no_output_that_overlaps_itself_is_taken_for_one_that_does_not() -> None:
    chance = np.random.default_rng(3)
    raw = np.zeros(8192, np.uint8)
    taken = 0
    for _ in range(3000):
        rank = int(chance.integers(1, 4))
        shape = tuple(int(n) for n in chance.integers(0, 4, rank))
        strides = tuple(int(n) for n in chance.integers(-40, 41, rank))
        x = np.ndarray(shape, chance.choice(["u1", "f4"]), raw, 4096, strides)
        if touches_itself(x):
            assert arrays._overlaps_itself(x), (shape, strides)
        elif not arrays._overlaps_itself(x):
            taken += 1
    assert taken > 1000


def test_the_same_view_is_one_of_the_same_elements_in_the_same_places() -> None:
    plane = np.zeros((6, 6), np.float32)
    check(plane, plane[:], [0, 0])
    check(plane[::-1], plane[::-1], [3, 3])
    for x, y, groups in (
        (plane[:5], plane[1:], [0, 0]),
        (plane[:, :5], plane[:, 1:], [0, 0]),
        (plane[:3], plane[::2], [0, 0]),
        (plane, plane.reshape(6, 6)[:5], [0, 0]),
        (plane, plane, [0, 1]),
        (plane, plane, [-1, 0]),
        (plane, plane, [0, -1]),
        (plane, plane, [-1, -1]),
        (plane.view(np.int32), plane, [0, 0]),
    ):
        with pytest.raises(OverlapError, match="y and x share memory"):
            check(x, y, groups)


def test_each_output_is_held_against_every_other_array() -> None:
    lines = np.zeros((4, 10), np.float32)
    names = "abcd"
    for first, second in itertools.permutations(range(4), 2):
        for written in itertools.product((False, True), repeat=4):
            given = [line.copy() for line in lines]
            given[second] = given[first]
            parameters = [ArrayParameter(names[n], F32, 1, written[n]) for n in range(4)]
            # All at one index: whatever is shared is the same view.
            check_overlap(parameters, given, [0, 0, 0, 0])
            if not (written[first] or written[second]):
                check_overlap(parameters, given, [-1] * 4)
                continue
            low, high = min(first, second), max(first, second)
            output, other = (names[low], names[high]) if written[low] else (names[high], names[low])
            with pytest.raises(OverlapError, match=f"^{output} and {other} share memory, and the kernel writes to {output}: .*pass {other}"):
                check_overlap(parameters, given, [-1] * 4)


def test_views_too_hard_to_tell_apart_count_as_overlapping(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.zeros(100, np.float32)
    asked: list[Any] = []

    def too_hard(a: Any, b: Any, max_work: int) -> bool:
        asked.append(max_work)
        raise np.exceptions.TooHardError

    monkeypatch.setattr(np, "shares_memory", too_hard)
    assert overlap(x[::2], x[1::2])
    assert asked == [arrays.OVERLAP_WORK]
    # Memory that lies apart is not even asked about.
    assert not overlap(x[:50], x[50:])
    assert len(asked) == 1


def test_what_to_do_about_the_number_of_dimensions_depends_on_which_there_are() -> None:
    @lw.kernel
    def first(x: lw.Array[lw.f32]) -> lw.f32:
        return x[0]

    with pytest.raises(ArgumentError, match=r"got 0 dimensions.*use np\.atleast_1d\(x\)$"):
        first(np.array(1, np.float32))
    with pytest.raises(ArgumentError, match=r"got 2 dimensions.*use x\.reshape\(…\), x\.ravel\(\), or an index such as x\[0\]"):
        first(np.zeros((2, 3), np.float32))
