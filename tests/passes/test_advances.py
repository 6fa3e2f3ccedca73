"""Post- and pre-increment: what `select` makes of accesses by pointers that are advanced, and that it does the same."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw
from loopwright import compiler
from loopwright.errors import VerifyError
from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.ir.interpret import Interpreter
from loopwright.ir.text import parse, print_function
from loopwright.ir.verify import verify
from loopwright.passes import select
from loopwright.settings import Settings
from loopwright.targets import registry

ARM = runners(lambda runner: runner.folder == "aarch64")
HEAD = """function f(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64)
  stage loops
  array x: u8[%x.n0] at %x written
  array y: u8[%y.n0] at %y written
"""


def function(body: str, variables: str = "p q") -> Function:
    """A function of two arrays of bytes, with pointers into them that are variables."""
    declared = "".join(f"  var %{name}: ptr\n" for name in variables.split())
    return parse(HEAD + declared + "  %p = address.ptr [%x + 256]\n  %q = address.ptr [%y + 256]\n" + body + "  ret\nend\n")


def selected(body: str) -> list[str]:
    """The lines of the body behind the pass, those of the pointers' beginnings left out."""
    f = function(body)
    verify(f)
    target = registry.get("aarch64-neon")
    select.run(f, target)
    f.stage = "select"
    verify(f, target)
    lines = [line.strip() for line in print_function(f, target).splitlines()]
    return lines[lines.index("ret") - len(f.code) + 3 : lines.index("ret")]


@pytest.mark.parametrize(
    ("body", "want"),
    [
        # Behind the access.
        ("%a = load_at.i64 [%p]\n%p = add.ptr %p, 8\nstore_at.i64 %a, [%y]\n", ["load_advance.i64 8, [%p]", "part.ptr 1", "store_at"]),
        # Before it.
        ("%a = load_at.i64 [%p + 8]\n%p = add.ptr %p, 8\nstore_at.i64 %a, [%y]\n", ["load_advance.i64 8, [%p + 8]", "part.ptr 1", "store_at"]),
        # The last that can; what follows is addressed from behind.
        (
            "%a = load_at.f32x4 [%p]\nstore_at.f32x4 %a, [%p]\n%b = load_at.f32x4 [%p + 16]\nstore_at.f32x4 %b, [%p + 16]\n%p = add.ptr %p, 32\n",
            ["load_at.f32x4 [%p]", "store_advance.f32x4 32, %a", "load_at.f32x4 [%p - 16]", "store_at.f32x4 %b"],
        ),
        # Elements in turn, by what is accessed.
        ("store_parts2.f32x4 %v, %v, [%q]\n%q = add.ptr %q, 32\n", ["store_parts2_advance.f32x4 32"]),
        ("store_parts2.f32x4 %v, %v, [%q]\n%q = add.ptr %q, 16\n", ["store_parts2.f32x4", "add.ptr"]),
        # Too far; the pointer itself is read; it has an index; it is written in between.
        ("%a = load_at.i64 [%p]\n%p = add.ptr %p, 256\n", ["load_at", "add.ptr"]),
        ("%a = load_at.i64 [%p]\nstore_at.ptr %p, [%q]\n%p = add.ptr %p, 8\n", ["load_at", "store_at", "add.ptr"]),
        ("store_at.ptr %p, [%p]\n%p = add.ptr %p, 8\n", ["store_at", "add.ptr"]),
        ("%a = load_at.i64 [%p]\n%b = load_at.i64 [%p + %x.n0*8]\n%p = add.ptr %p, 8\n", ["load_at", "load_at", "add.ptr"]),
        ("%a = load_at.i64 [%p]\n%p = copy.ptr %y\n%p = add.ptr %p, 8\n", ["load_at", "copy", "add.ptr"]),
        # No room from behind; another stretch.
        ("%a = load_at.i64 [%p]\n%b = load_at.i64 [%p + 5]\n%c = load_at.i64 [%p + 800]\n%p = add.ptr %p, 7\n", ["load_at", "load_at", "load_at", "add.ptr"]),
        ("%a = load_at.i64 [%p]\nblock\n%p = add.ptr %p, 8\nend\n", ["load_at", "block", "add.ptr", "end"]),
        # Twice.
        (
            "%a = load_at.i64 [%p]\n%p = add.ptr %p, 8\n%b = load_at.i64 [%p]\n%p = add.ptr %p, -8\n",
            ["load_advance.i64 8", "part.ptr 1", "load_advance.i64 -8", "part.ptr 1"],
        ),
        ("%a = load_at.i64 [%p]\n%p = add.ptr %p, 8\n%p = add.ptr %p, 8\n", ["load_advance.i64 8", "part.ptr 1", "add.ptr"]),
    ],
)
def test_the_last_access_that_can_takes_the_addition_along(body: str, want: list[str]) -> None:
    begin = "%v = load_at.f32x4 [%y]\n" if "%v" in body else ""
    lines = selected(begin + body)
    if begin:
        lines = lines[1:]
    assert len(lines) == len(want), lines
    for line, text in zip(lines, want, strict=True):
        assert text in line.replace(".0", "") or text in line, (lines, want)


TYPES = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "f32x4", "u8x16", "f32x2", "f64x2"]
SIZE = {"i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "i64": 8, "u64": 8, "f32": 4, "f64": 8, "f32x4": 16, "u8x16": 16, "f32x2": 8, "f64x2": 16}


def random_body(chooser: random.Random) -> str:
    """Loads and stores by two pointers that go to and fro, in straight stretches, some of them in an ``if``."""
    lines: list[str] = []
    held: list[tuple[str, str]] = []
    where = {"p": 0, "q": 0}
    for n in range(chooser.randint(6, 24)):
        pointer = chooser.choice("pq")
        kind = chooser.randrange(10)
        if kind < 4:
            by = chooser.choice((1, 8, 16, 16, 32, -8, -16, 64, 255, 256))
            if -200 < where[pointer] + by < 400:
                where[pointer] += by
                lines.append(f"%{pointer} = add.ptr %{pointer}, {by}")
        elif kind < 7:
            type_ = chooser.choice(TYPES)
            lines.append(f"%v{n} = load_at.{type_} [%{pointer} + {chooser.choice((0, 0, 0, 8, 16, 32))}]")
            held.append((f"%v{n}", type_))
        elif kind == 7:
            type_ = chooser.choice(("f32x4", "u8x16", "f32x2"))
            count = chooser.randint(2, 3)
            for part in range(count):
                lines.append(f"%v{n}x{part} = load_part{count}.{type_} {part}, [%{pointer}]")
                held.append((f"%v{n}x{part}", type_))
            by = SIZE[type_] * count
            if where[pointer] + by < 400 and chooser.random() < 0.7:
                where[pointer] += by
                lines.append(f"%{pointer} = add.ptr %{pointer}, {by}")
        elif held:
            value, type_ = chooser.choice(held)
            if chooser.random() < 0.2 and "x" in type_:
                lines.append(f"store_parts2.{type_} {value}, {value}, [%{pointer}]")
            else:
                lines.append(f"store_at.{type_} {value}, [%{pointer} + {chooser.choice((0, 0, 0, 8, 16))}]")
    for value, type_ in held[-6:]:
        lines.append(f"store_at.{type_} {value}, [%q]")
        lines.append(f"%q = add.ptr %q, {SIZE[type_]}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("runner", ARM)
def test_random_stretches_do_the_same(runner: Runner) -> None:
    chooser = random.Random(11)
    target = runner.target
    moved = 0
    for _ in range(120):
        body = random_body(chooser)
        x = np.frombuffer(chooser.randbytes(1024), np.uint8).copy()
        y = np.frombuffer(chooser.randbytes(1024), np.uint8).copy()
        wanted = x.copy(), y.copy()
        Interpreter(function(body)).call(*wanted)
        compiled = compiler.compile(function(body), target, Settings(prove=True))
        f = compiler.run_passes(function(body), target, after="select")
        verify(f, target)
        again = x.copy(), y.copy()
        Interpreter(f, target).call(*again)
        assert np.array_equal(again[0], wanted[0]) and np.array_equal(again[1], wanted[1]), body
        moved += sum(instr.op in ops.ADVANCES.values() for instr in f.code)

        def check(_: Any, x: Any = x, y: Any = y, wanted: Any = wanted, body: str = body) -> None:
            assert np.array_equal(x, wanted[0]) and np.array_equal(y, wanted[1]), body

        runner.run(compiled, [x, y], check)
    assert moved > 150


@pytest.mark.parametrize("type_", [lw.i8, lw.u8, lw.i16, lw.u16, lw.i32, lw.i64, lw.f32, lw.f64], ids=str)
@pytest.mark.parametrize("runner", ARM)
def test_loops_over_lanes_advance_by_their_accesses(runner: Runner, type_: Any) -> None:
    def doubled(x: lw.Array, y: lw.Array):  # type: ignore[type-arg, no-untyped-def]
        for i in lw.lanes(y.shape[0]):
            y[i] = x[i] + y[i]

    array = lw.Array[type_]
    code = runner.compiled(lw.kernel(doubled), array, array)
    listing = code.asm()
    step = listing[: listing.index("b.lo")].splitlines()
    assert sum("], #" in line for line in step) == 2
    assert not any(" add x" in line for line in step[-12:])
    for n in (0, 1, 63, 64, 200):
        x = (np.arange(n) % 50).astype(type_.dtype)
        y = np.ones(n, type_.dtype)

        def check(_: Any, x: Any = x, y: Any = y) -> None:
            assert np.array_equal(y, x + np.ones_like(x))

        runner.run(code, [x, y], check)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%a = load_advance.i64 8, [%p + 16]", "neither where its pointer is before"),
        ("%a = load_advance.i64 8, [%p]\n  %q = part.i64 1", "no such result"),
        ("%a = load_advance.i64 8, [%p]\n  %q = part.ptr 2", "no such result"),
    ],
)
def test_text_that_moves_pointers_wrongly_is_refused(line: str, message: str) -> None:
    text = f"function f(%p: ptr)\n  stage select\n  target aarch64-neon\n  {line}\n  ret\nend\n"
    with pytest.raises(VerifyError, match=message):
        verify(parse(text))


def test_text_that_moves_a_pointer_too_far_is_refused() -> None:
    text = "function f(%p: ptr)\n  stage select\n  target aarch64-neon\n  %a = load_advance.i64 4096, [%p]\n  %q = part.ptr 1\n  ret\nend\n"
    with pytest.raises(VerifyError, match="no access moves its pointer on by 4096 bytes"):
        compiler.compile(parse(text), registry.get("aarch64-neon"))
