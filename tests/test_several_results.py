"""Instructions with several results: vectors whose elements lie in memory in turn, from the builder to AArch64's ld2 to ld4 and st2 to st4."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw
from loopwright import compiler
from loopwright.errors import LoopwrightError, UnsupportedOperationError, VerifyError
from loopwright.ir import ops
from loopwright.ir.interpret import Interpreter
from loopwright.ir.text import parse
from loopwright.ir.verify import verify
from loopwright.targets.pipeline import names_of
from loopwright.types import vector_of

ARM = runners(lambda runner: runner.folder == "aarch64")
#: Element type and lanes.
SHAPES = [(lw.f32, 4), (lw.f32, 2), (lw.f64, 2), (lw.u8, 16), (lw.i8, 8), (lw.i16, 8), (lw.i32, 4), (lw.u64, 2)]


def turned(type_: Any, lanes: int, count: int) -> lw.Function:
    """Writes the elements of each group of ``count`` in the opposite order, each plus its place in the group; from the second group on."""
    f = lw.Function("turned", x=lw.Array[type_], y=lw.Array[type_])
    with f, f.for_(count, f.x.shape[0] - (count * lanes - 1), count * lanes) as i:
        parts = f.load_parts(f.x, i, count=count, lanes=lanes)
        f.store_parts(f.y, i, values=[parts[n] + n for n in reversed(range(count))])
    return f


def arrays(type_: Any, lanes: int, count: int, steps: int) -> tuple[Any, Any, Any]:
    size = count * (1 + steps * lanes) + count * lanes // 2
    x = (np.arange(size) % 120).astype(type_.dtype)
    want = np.zeros_like(x)
    done = slice(count, count + steps * count * lanes)
    want[done] = (x[done].reshape(-1, count) + np.arange(count, dtype=x.dtype))[:, ::-1].ravel()
    return x, np.zeros_like(x), want


@pytest.mark.parametrize("runner", ARM)
@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize(("type_", "lanes"), SHAPES, ids=lambda value: str(value))
def test_elements_are_dealt_out_and_put_back(runner: Runner, count: int, type_: Any, lanes: int) -> None:
    f = turned(type_, lanes, count)
    code = runner.compiled(f)
    x, y, want = arrays(type_, lanes, count, 3)
    Interpreter(code.compiled.source).call(x, y)
    assert np.array_equal(y, want)
    listing = code.asm()
    assert (listing.count(f" ld{count} "), listing.count(f" st{count} ")) == (1, 1)
    again = np.zeros_like(y)

    def check(_: Any) -> None:
        assert np.array_equal(again, want)

    runner.run(code, [x, again], check)


@pytest.mark.parametrize("runner", runners(lambda runner: runner.folder == "x86"))
@pytest.mark.parametrize("count", [2, 3, 4])
def test_permutations_deal_out_elements_and_put_them_back(runner: Runner, count: int) -> None:
    """Of vectors of every size, to the width of the machine's."""
    for type_ in (lw.u8, lw.i16, lw.f32, lw.u64):
        lanes = 2
        while lanes * type_.bits <= runner.bits:
            code = runner.compiled(turned(type_, lanes, count))
            x, y, want = arrays(type_, lanes, count, 3)
            Interpreter(code.compiled.source).call(x, y)
            assert np.array_equal(y, want)
            again = np.zeros_like(y)

            def check(_: Any, again: Any = again, want: Any = want, what: str = f"{type_} {lanes}") -> None:
                assert np.array_equal(again, want), what

            runner.run(code, [x, again], check)
            lanes *= 2


@pytest.mark.parametrize("runner", runners(lambda runner: runner.folder == "x86" and runner.widest))
def test_the_text_after_every_pass_does_the_same_with_permutations(runner: Runner) -> None:
    for type_, lanes, count in ((lw.u8, 16, 3), (lw.u8, 8, 3), (lw.i16, 16, 4)):
        code = runner.compiled(turned(type_, lanes, count))
        for name in names_of(code.compiled.passes):
            f = parse(code.ir(name), target=runner.target)
            verify(f, runner.target)
            x, y, want = arrays(type_, lanes, count, 2)
            Interpreter(f, runner.target).call(x, y)
            assert np.array_equal(y, want), name
            assert compiler.compile(f, runner.target).machine.data == code.bytes, name


@pytest.mark.parametrize("runner", ARM)
def test_the_text_after_every_pass_does_the_same(runner: Runner) -> None:
    code = runner.compiled(turned(lw.f32, 4, 3))
    target = runner.target
    for name in names_of(code.compiled.passes):
        f = parse(code.ir(name), target=target)
        verify(f, target)
        x, y, want = arrays(lw.f32, 4, 3, 2)
        Interpreter(f, target).call(x, y)
        assert np.array_equal(y, want), name
        assert compiler.compile(f, target).machine.data == code.bytes, name


@pytest.mark.parametrize("runner", ARM)
def test_loads_of_parts_of_one_address_are_one_until_something_is_written(runner: Runner) -> None:
    f = lw.Function("sums", x=lw.Array[lw.f32], y=lw.Array[lw.f32])
    with f:
        a, b = f.load_parts(f.x, 0, count=2, lanes=4)
        c, d = f.load_parts(f.x, 0, count=2, lanes=4)
        f.store(f.y, 0, value=a + b * c - d)
        e, g = f.load_parts(f.x, 0, count=2, lanes=4)
        f.store(f.y, 4, value=e - g)
    code = runner.compiled(f)
    assert code.asm().count(" ld2 ") == 2
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)

    def check(_: Any) -> None:
        assert np.array_equal(y, [*(x[::2] + x[1::2] * x[::2] - x[1::2]), *(x[::2] - x[1::2])])

    runner.run(code, [x, y], check)


@pytest.mark.parametrize("runner", ARM)
def test_parts_that_nobody_reads_and_parts_in_variables(runner: Runner) -> None:
    f = lw.Function("last", x=lw.Array[lw.i32], y=lw.Array[lw.i32])
    with f:
        held = f.var(vector_of(lw.i32, 4))
        with f.for_(0, f.x.shape[0], 16) as i:
            held.set(f.load_parts(f.x, i, count=4, lanes=4)[2])
        f.store(f.y, 0, value=held)
    x, y = np.arange(48, dtype=np.int32), np.zeros(4, np.int32)

    def check(_: Any) -> None:
        assert np.array_equal(y, x[34::4][:4])

    runner.run(runner.compiled(f), [x, y], check)


@pytest.mark.parametrize("runner", ARM)
def test_elements_of_rows_and_of_local_arrays(runner: Runner) -> None:
    f = lw.Function("rows", x=lw.Array[lw.f32, 2], y=lw.Array[lw.f32])
    with f:
        block = f.local(lw.f32, 12)
        f.store_parts(block, 4, values=f.load_parts(f.x, 1, 3, count=2, lanes=4))
        f.store(block, 5, value=0.5)
        a, _b, c, d = f.load_parts(block, 4, count=4, lanes=2)
        f.store_parts(f.y, 0, values=[a, c, d])
    x, y = np.arange(44, dtype=np.float32).reshape(2, 22)[:, :20], np.zeros(6, np.float32)

    def check(_: Any) -> None:
        assert y.tolist() == [25, 27, 28, 29, 31, 32]

    runner.run(runner.compiled(f), [x, y], check)


@pytest.mark.parametrize("runner", runners(lambda runner: runner.folder not in ("aarch64", "x86")))
def test_machines_without_such_loads_name_them(runner: Runner) -> None:
    wanted = f"load_parts2 on f32x4 is not available on {runner.name}" if runner.bits else f"{runner.name} has no .*f32x4"
    with pytest.raises(UnsupportedOperationError, match=wanted):
        runner.compiled(turned(lw.f32, 4, 2))


def test_what_cannot_be_dealt_out_is_refused() -> None:
    for body, message in (
        (lambda f: f.load_parts(f.x, 0, count=5, lanes=4), "2, 3 or 4 vectors, not 5"),
        (lambda f: f.load_parts(f.x, 0, count=2, lanes=3), "a vector has 1, 2, 4"),
        (lambda f: f.store_parts(f.x, 0, values=[f.load(f.x, 0, lanes=4)]), "2, 3 or 4 vectors are stored in turn, not of 1"),
        (lambda f: f.store_parts(f.x, 0, values=[f.load(f.x, 0, lanes=4), f.load(f.x, 0, lanes=8)]), "vectors of one type, of f32"),
        (lambda f: f.store_parts(f.x, 0, values=[f.load(f.x, 0), f.load(f.x, 0)]), "vectors of one type, of f32"),
    ):
        f = lw.Function("f", x=lw.Array[lw.f32])
        with pytest.raises(LoopwrightError, match=message), f:
            body(f)
    f = lw.Function("f", x=lw.Array[lw.f32], check=True)
    with pytest.raises(LoopwrightError, match="in checked mode"), f:
        f.load_parts(f.x, 0, count=2, lanes=4)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("%a = load_parts2.f32x4 [%p]\n  %b = part.f32x4 2", "no such result"),
        ("%a = load_parts2.f32x4 [%p]\n  %b = part.i32x4 1", "no such result"),
        ("%a = load_at.f32x4 [%p]\n  %b = part.f32x4 1", "no such result"),
        ("%b = part.f32x4 1", "no such result"),
        ("%a = load_parts3.f32x4 [%p]\n  %b = part.f32x4 2", "no such result"),
        ("%a = load_part2.f32x4 0, [%p]", "goes with the pass select"),
    ],
)
def test_text_with_results_that_there_are_not_is_refused(lines: str, message: str) -> None:
    text = f"function f(%p: ptr)\n  stage select\n  target aarch64-neon\n  {lines}\n  ret\nend\n"
    with pytest.raises(VerifyError, match=message):
        verify(parse(text))


def test_a_part_that_there_is_not_is_refused() -> None:
    with pytest.raises(VerifyError, match="there is no part 2 of 2"):
        verify(parse("function f(%p: ptr)\n  %a = load_part2.f32x4 2, [%p]\n  ret\nend\n"))
    assert [op.parts for op in (*ops.LOAD_PART.values(), *ops.LOAD_PARTS.values(), *ops.STORE_PARTS.values())] == [
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        2,
        3,
        4,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
    ]
