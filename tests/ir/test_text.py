"""The text form: it holds everything, it reads back, and a mistake in it is a ParseError that says where."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from loopwright.errors import ParseError
from loopwright.ir import ops
from loopwright.ir.function import INCOMING, NONE, SLOT, SPILL, Callee, Frame, Function, Instr, Loop, Mem, Options, Site, Slot
from loopwright.ir.text import equal, instruction_text, parse, parse_all, print_function
from loopwright.ir.verify import verify
from loopwright.types import BOOL, F32, F64, I32, I64, PTR, U8, VOID, mask_of, vector_of

from .random_functions import random_function

POLY = """\
function poly(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64) -> f32
  file "poly.py"
  option contract
  array x: f32[%x.n0] at %x
  array y: f32[%y.n0] at %y written
  var %acc: f32x16
  callee sqrtf(f32) -> f32
  %acc = copy.f32x16 0.0
  %i = for 0, %x.n0, 16 mask %m: mask32x16 unroll 4 accumulate %acc add 0.0
    %7 = masked_load.f32x16 %m, x[%i]  ; @12
    %8 = fma.f32x16 %7, %7, 1.5  ; @12
    masked_store.f32x16 %m, %8, y[%i]  ; @12
    %t.9 = add.f32x16 %acc, %8  ; @13
    %acc = select.f32x16 %m, %t.9, %acc  ; @13
  end
  %t.10 = reduce_add.f32x16 %acc
  %r = call.f32 sqrtf(%t.10)
  ret %r
end
"""


class Registers:
    """As much of a target as the text form asks for."""

    name = "toy"

    def __init__(self, *names: str) -> None:
        self.registers = [type("Register", (), {"name": name}) for name in names]


def round_trip(f: Function, target: Any = None) -> str:
    text = print_function(f, target)
    again = parse(text, target=target)
    assert equal(f, again), text
    assert print_function(again, target) == text
    return text


def test_a_function_prints_as_it_was_written() -> None:
    f = parse(POLY)
    verify(f)
    assert print_function(f) == POLY
    round_trip(f)


@pytest.mark.parametrize("seed", range(150))
def test_random_functions_read_back_equal(seed: int) -> None:
    f = random_function(seed)
    verify(f)
    round_trip(f)


def everything() -> Function:
    """A function before allocation with one of everything the text has to hold."""
    f = Function('odd "name"', I64, Options(contract=True, fastmath=True, check=True))
    f.stage, f.target_name, f.file = "addresses", "x86-64-v4", "/home/a user/k.py"
    a = f.array_param("img", U8, 3)
    a.written = True
    f.array_param("img", F32, 1)
    f.array_param("two words", F64, 1)
    n = f.param(I64, "n")
    f.variable[n] = True
    f.callees += [Callee("sin", [F64], F64), Callee("<lambda>", [], VOID), Callee("g", [I64, PTR, F32], VOID)]
    f.sites.append(Site("img", 1, 12, 'img[i, "j"]; x'))
    v = f.register(I64, "n", True)
    vec = vector_of(F32, 8)
    w = f.register(vec, "n")
    c = f.register(BOOL, "")
    d = f.register(F64, "größe")
    p = f.register(PTR, "two words")
    k = f.register(I64, "k.3")
    i = f.register(I64, "i")
    m = f.register(mask_of(8, 32), "m")
    acc = f.register(vec, "acc", True)
    code = f.code

    def emit(
        op: ops.Op, type_: Any, dst: int, args: list[int], imm: int = 0, line: int = 0, source: Any = VOID, mem: Mem | None = None, loop: Loop | None = None
    ) -> None:
        code.append(Instr(op, type_, dst, args, imm, line, source, mem, loop))

    emit(ops.COPY, I64, v, [f.const(I64, -(2**63))], line=3)
    emit(ops.COPY, vec, acc, [f.const(vec, -0.0)])
    emit(ops.ADDRESS, PTR, p, [a.base, n], mem=Mem(True, 3, -70))
    emit(ops.LOAD_AT, vec, w, [p], mem=Mem(False, 1, 64, 4, True))
    emit(ops.ADD, vec, acc, [w, p, v], mem=Mem(True, 4, 0, 32))
    emit(ops.MUL, vec, acc, [w, p], mem=Mem(False, 1, 16, 8))
    emit(ops.STORE_AT, I32, NONE, [f.const(I32, -5), p], mem=Mem(False, 1, 0, 4))
    emit(ops.LT, F64, c, [f.const(F64, float("nan")), f.const(F64, float("-inf"))])
    emit(ops.CALL, F64, d, [f.const(F64, 1e300)], 0)
    emit(ops.CALL_VOID, VOID, NONE, [], 1)
    emit(ops.CALL_VOID, VOID, NONE, [v, p, f.const(F32, 0.1)], 2)
    emit(ops.CONVERT, I64, k, [d], source=F64)
    emit(ops.FOR, VOID, i, [k, n, f.const(I64, -3)], loop=Loop(m, 0, [(acc, ops.MAX, f.const(vec, float("-inf"))), (v, ops.ADD, n)]))
    emit(ops.IF, VOID, NONE, [c])
    emit(ops.FAIL, VOID, NONE, [p, v, n], 0)
    emit(ops.ELIF, VOID, NONE, [])
    emit(ops.THEN, VOID, NONE, [f.const(BOOL, True)])
    emit(ops.STORE, U8, NONE, [f.const(U8, 255), v, f.const(I64, 2), v], 0)
    emit(ops.STORE, F32, NONE, [f.const(F32, 1e-45), v], 1)
    emit(ops.STORE, F64, NONE, [f.const(F64, 5e-324), v], 2)
    emit(ops.ELSE, VOID, NONE, [])
    emit(ops.BR_CMP["nlt"], F64, NONE, [d, f.const(F64, 0.1)], 1)
    emit(ops.END, VOID, NONE, [])
    emit(ops.END, VOID, NONE, [])
    emit(ops.STORE_ARG, I64, NONE, [v], 40)
    emit(ops.SHL, I64, v, [v, f.const(I64, 3)], imm=7)
    emit(ops.RET, VOID, NONE, [f.const(I64, 1)])
    return f


@pytest.mark.parametrize("said", ["lanes rest unroll 1", "lanes whole unroll 2", "mask %m: mask32x4 rest unroll 1", "mask %m: mask32x4 whole rest unroll 1"])
def test_what_is_known_of_a_loop_is_in_its_text(said: str) -> None:
    step = 1 if said.startswith("lanes") else 4
    text = f"function f(%n: i64)\n  %i = for 0, %n, {step} {said}\n  end\nend\n"
    assert said in round_trip(parse(text))


def test_everything_in_a_function_is_in_its_text() -> None:
    text = round_trip(everything())
    assert 'function "odd \\"name\\""' in text
    assert "array #" not in text and "#1[" in text, "arrays of one name are told apart by number"


CHANGES: list[Callable[[Function], Any]] = [
    lambda f: setattr(f, "name", "other"),
    lambda f: setattr(f, "result", I32),
    lambda f: setattr(f, "stage", "simplify"),
    lambda f: setattr(f, "target_name", ""),
    lambda f: setattr(f, "file", ""),
    lambda f: setattr(f.options, "contract", False),
    lambda f: setattr(f.options, "fastmath", False),
    lambda f: setattr(f.options, "check", False),
    lambda f: setattr(f.arrays[0], "written", False),
    lambda f: setattr(f.arrays[0], "element", I32),
    lambda f: setattr(f.arrays[0], "base", f.arrays[1].base),
    lambda f: f.arrays[0].extents.reverse(),
    lambda f: f.arrays[0].strides.reverse(),
    lambda f: f.callees.pop(),
    lambda f: setattr(f.callees[0], "name", "cos"),
    lambda f: setattr(f.callees[0], "result", VOID),
    lambda f: setattr(f.sites[0], "line", 13),
    lambda f: setattr(f.sites[0], "text", ""),
    lambda f: setattr(f, "labels", 3),
    lambda f: f.slots.append(Slot(SPILL, 8, 0)),
    lambda f: setattr(f, "frame", Frame()),
    lambda f: f.variable.__setitem__(f.code[0].dst, False),
    lambda f: f.names.__setitem__(f.code[0].dst, "other"),
    lambda f: setattr(f.code[0], "line", 4),
    lambda f: f.code[0].args.__setitem__(0, f.const(I64, 5)),
    lambda f: f.code[1].args.__setitem__(0, f.const(f.code[1].type, 0.0)),
    lambda f: setattr(f.code[2].mem, "scale", 4),
    lambda f: setattr(f.code[2].mem, "disp", 70),
    lambda f: setattr(f.code[3].mem, "broadcast", False),
    lambda f: setattr(f.code[5].mem, "size", 16),
    lambda f: setattr(f.code[8], "imm", 1),
    lambda f: setattr(f.code[12].loop, "unroll", 1),
    lambda f: setattr(f.code[12].loop, "mask", NONE),
    lambda f: setattr(f.code[12].loop, "rest", True),
    lambda f: setattr(f.code[12].loop, "whole", True),
    lambda f: setattr(f.arrays[0], "view", True),
    lambda f: f.code[12].loop and f.code[12].loop.accumulators.pop(),
    lambda f: setattr(f.code[12], "loop", None),
    lambda f: setattr(f.code[21], "imm", 0),
    lambda f: setattr(f.code[25], "imm", 0),
    lambda f: setattr(f.code[25], "source", F32),
    lambda f: f.code.pop(),
]


@pytest.mark.parametrize("change", CHANGES, ids=range(len(CHANGES)))
def test_nothing_can_change_without_the_text_changing(change: Callable[[Function], Any]) -> None:
    f, g = everything(), everything()
    change(g)
    assert not equal(f, g)
    assert print_function(f) != print_function(g)


def allocated() -> Function:
    f = Function("after", F64)
    x = f.param(F64, "x")
    n = f.param(I64, "n")
    f.physical, f.stage, f.target_name = True, "jumps", "toy"
    f.slots = [Slot(SPILL, 32, 0), Slot(INCOMING, 8, 16)]
    f.frame = Frame()
    f.frame.saved, f.frame.size, f.frame.outgoing, f.frame.calls, f.frame.align = [1, 3], 64, 32, True, 32
    f.labels, f.aligned = 2, {1}
    f.code = [
        Instr(ops.PROLOGUE, VOID, NONE, []),
        Instr(ops.COPY, I64, SLOT, [0], 0, 4),
        Instr(ops.LABEL, VOID, NONE, [], 1),
        Instr(ops.ADD, I64, 1, [1, SLOT + 1]),
        Instr(ops.MUL, F64, 2, [2, 0, 1], 0, 5, VOID, Mem(True, 8, -8, 8)),
        Instr(ops.SHL, I64, 0, [0, 1, 3]),
        Instr(ops.SWAP, I64, NONE, [0, 1]),
        Instr(ops.JUMP_CMP["nge"], I64, NONE, [0, f.const(I64, 10)], 1),
        Instr(ops.JUMP, VOID, NONE, [], 0),
        Instr(ops.LABEL, VOID, NONE, [], 0),
        Instr(ops.EPILOGUE, VOID, NONE, []),
        Instr(ops.RET, F64, NONE, [2]),
    ]
    assert (x, n) == (0, 1)
    return f


def test_functions_after_allocation_print_physical_registers() -> None:
    target = Registers("rax", "rbx", "xmm0", "r12")
    text = round_trip(allocated(), target)
    assert "$rbx = add.i64 $rbx, @s1" in text
    assert "  L1: align" in text
    assert "saved $rbx, $r12" in text
    assert "$xmm0 = mul.f64 $xmm0, [$rax + $rbx*8 - 8]" in text
    assert "$1 = add.i64 $1, @s1" in round_trip(allocated())


def test_the_target_is_needed_to_read_its_names() -> None:
    text = print_function(allocated(), Registers("rax", "rbx", "xmm0", "r12"))
    with pytest.raises(ParseError, match="give target="):
        parse(text)
    with pytest.raises(ParseError, match="expected a register of toy"):
        parse(text, target=Registers("a0"))


def test_notes_and_source_lines_are_comments() -> None:
    f = parse(POLY)
    f.lines = {12: "    y[i] = x[i] * x[i] + 1.5  ", 13: "acc += y[i]"}
    text = print_function(f, notes={2: "live: %i, %m"}, source=True)
    assert "%7 = masked_load.f32x16 %m, x[%i]  ; @12 live: %i, %m\n" in text
    assert "\n    ; 12: y[i] = x[i] * x[i] + 1.5\n" in text
    assert text.count("; 12:") == 1
    assert equal(parse(text), f)
    assert "; 5 ret" in print_function(f, notes=lambda index, instr: f"{len(instr.args)} {instr.op.name}" if instr.op is not ops.RET else "5 ret")


def test_one_instruction_prints_alone() -> None:
    f = parse(POLY)
    assert instruction_text(f, f.code[3]) == "%8 = fma.f32x16 %7, %7, 1.5"


def test_constants_print_as_short_as_they_read_back() -> None:
    f = Function("constants")
    for value in (0.1, 1 / 3, 1e-45, 3.4028234663852886e38, 16777216.0, 1e10, -0.0, float("inf"), float("nan"), 1e-7):
        f.code.append(Instr(ops.COPY, F32, f.register(F32), [f.const(F32, value)]))
    f.code.append(Instr(ops.COPY, F64, f.register(F64), [f.const(F64, 0.1)]))
    text = round_trip(f)
    assert "copy.f32 0.1\n" in text and "0.10000000149" not in text
    assert "copy.f32 0.3333333\n" in text or "copy.f32 0.33333334\n" in text


def test_several_functions_in_one_text() -> None:
    first, second = parse_all(POLY + "; between\n\nfunction g()\nend\n")
    assert (first.name, second.name) == ("poly", "g")
    with pytest.raises(ParseError, match="expected the end of the text"):
        parse(POLY + POLY)


MISTAKES = [
    ("", 1, 1, "expected `function`"),
    ("fun f()\nend", 1, 1, "expected `function`, found `fun`"),
    ("function f(\nend", 1, 12, "expected a register"),
    ("function f(%x: f33)\nend", 1, 16, "expected a type, such as f32 or i32x8, found `f33`"),
    ("function f(%x: i32, %x: i32)\nend", 1, 21, "not declared yet"),
    ("function f()\n  ret", 2, 6, "expected `end`"),
    ("function f()\n  %a = ad.i32 1, 2\nend", 2, 8, "expected an operation, found `ad`"),
    ("function f()\n  %a = add 1, 2\nend", 2, 8, "expected a type after the operation, as in add.i32"),
    ("function f()\n  %a = add.i32 1 2\nend", 2, 18, "expected the end of the line, found `2`"),
    ("function f()\n  %a = add.i32 1, %b\nend", 2, 19, "expected register %b to be defined"),
    ("function f()\n  %a = add.u8 1, 256\nend", 2, 18, "expected a number that fits u8"),
    ("function f()\n  %a = add.u8 1, 2.5\nend", 2, 18, "expected a whole number"),
    ("function f()\n  %a = not.bool 1\nend", 2, 17, "expected true or false"),
    ("function f()\n  %a = convert.i32 1\nend", 2, 8, "expected a second type"),
    ("function f()\n  %a = load.i32 x[0]\nend", 2, 17, "expected a declared array, found `x`"),
    ("function f()\n  call_void g()\nend", 2, 13, "expected a declared callee, found `g`"),
    ("function f()\n  end\n  end\nend", 3, 3, "expected the end of the text"),
    ("function f()\n  else\nend", 2, 3, "expected an open bracket before `else`"),
    ("function f()\n  %a = load_at.i32 [0:ptr * 4]\nend", 2, 27, "expected `+`, `-` or `]`"),
    ("function f()\n  jump 3\nend", 2, 8, "expected a label"),
    ("function f()\n  %a = copy.i32 $rax\nend", 2, 17, "expected a virtual register"),
    ("function f()\n  physical\n  %a = copy.i32 1\nend", 3, 3, "expected a physical register"),
    ("function f()\n  %99999999 = copy.i32 1\nend", 2, 3, "expected a register number below"),
    ('function f()\n  file "x\nend', 2, 8, "closing quote"),
    ("function f()\n  ret ?\nend", 2, 7, "found `?`"),
    ("function f(%x: ptr)\n  array x: i32[] at %x\nend", 2, 9, "expected one stride fewer"),
    ("function f(%x: ptr, %n: i64)\n  array x: i32[%n] strides [%n] at %x\nend", 2, 9, "1 extents and 1 strides"),
    ("function f()\n  option fast\nend", 2, 10, "expected contract, fastmath, check, nests, search or schedule"),
    ("function f()\n  ret 1\nend", 2, 7, "expected a constant with its type here, as in 1:i32"),
]


@pytest.mark.parametrize(("text", "line", "column", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_reported_where_it_is(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text, "k.ir")
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column), str(caught.value)
    assert caught.value.file == "k.ir"


def mutations(text: str, chooser: random.Random) -> str:
    kind = chooser.randrange(6)
    at = chooser.randrange(len(text) + 1)
    to = min(len(text), at + chooser.randrange(1, 12))
    junk = "".join(chooser.choice("%$@;:,.[]{}()+-*=#\"\\'\n\t 0123456789abcxyzLNé٣²\x00\x0b\u2028𝒳") for _ in range(chooser.randrange(1, 5)))
    if kind == 0:
        return text[:at]
    if kind == 1:
        return text[:at] + text[to:]
    if kind == 2:
        return text[:at] + junk + text[at:]
    if kind == 3:
        return text[:at] + junk + text[to:]
    if kind == 4:
        words = text.split(" ")
        words[chooser.randrange(len(words))] = chooser.choice(words)
        return " ".join(words)
    lines = text.split("\n")
    chooser.shuffle(lines)
    return "\n".join(lines)


def test_any_text_parses_or_is_a_parse_error() -> None:
    chooser = random.Random(7)
    texts = [POLY, print_function(everything()), print_function(allocated()), print_function(random_function(3)), print_function(random_function(4))]
    parsed = 0
    for _ in range(6000):
        text = mutations(chooser.choice(texts), chooser)
        if chooser.random() < 0.3:
            text = mutations(text, chooser)
        try:
            f = parse(text)
        except ParseError as error:
            assert error.line >= 1 and error.column >= 1
            assert "expected" in error.message
            continue
        parsed += 1
        round_trip(f)
    assert parsed > 100


def test_random_characters_are_a_parse_error() -> None:
    chooser = random.Random(8)
    for _ in range(1500):
        text = "".join(chooser.choice("functioned %$@;:,.[]{}()+-*=#\"\\'\n\t 0159axL\x00é²") for _ in range(chooser.randrange(60)))
        with pytest.raises(ParseError):
            parse(text)
        with pytest.raises(ParseError):
            parse("function f(%x: i32)\n" + text)


def test_printing_is_linear_and_quick() -> None:
    import time

    f = Function("long")
    last = f.param(I64, "n")
    for _ in range(20000):
        made = f.register(I64)
        f.code.append(Instr(ops.ADD, I64, made, [last, last]))
        last = made
    start = time.perf_counter()
    text = print_function(f)
    middle = time.perf_counter()
    parse(text)
    assert middle - start < 2.0
    assert time.perf_counter() - middle < 6.0
