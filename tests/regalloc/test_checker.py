"""The checker on allocations written by hand, right and wrong, and where the compiler calls it."""

from __future__ import annotations

import pytest
from tests.regalloc.generator import INTS, VECTORS, classes_of, nothing

import loopwright as lw
from loopwright import compiler
from loopwright.errors import InternalError
from loopwright.ir import ops
from loopwright.ir.function import INCOMING, NONE, SLOT, SPILL, Frame, Function, Instr, Mem, Options, Slot
from loopwright.ir.text import parse
from loopwright.regalloc import linear_scan
from loopwright.regalloc.checker import check
from loopwright.regalloc.output import Output
from loopwright.settings import Settings
from loopwright.targets import registry
from loopwright.targets.target import Convention, Register, Rule, Target, Use
from loopwright.types import BOOL, F32, I32, I64, VOID, Type, vector_of

#: Faults are planted by replacing functions of the allocator, which the native build's do not allow.
replaceable = pytest.mark.skipif(not str(linear_scan.__file__).endswith(".py"), reason="functions of the native build cannot be replaced")


# --- a machine small enough to write its allocations down -----------------------------------------------------

WIDE = vector_of(F32, 4)


class Tiny(Target):
    """r0 to r3 (r2 and r3 preserved) and v0, v1."""

    name = "tiny"

    def __init__(self) -> None:
        registers = [Register(f"r{n}", INTS, n) for n in range(4)] + [Register(f"v{n}", VECTORS, n) for n in range(2)]
        convention = Convention("tiny", (0, 1), (4,), 0, 4, 0b1100)
        super().__init__(convention, registers, classes_of([(0, 1, 2, 3), (4, 5)]), frozenset())


V0, V1 = 4, 5
G = Use(INTS)
M = Use(INTS, memory=True)
PLAIN = {
    ops.ADD: Rule("add", (G, G), G, nothing),
    ops.NEG: Rule("neg", (G,), G, nothing),
    ops.STORE_AT: Rule("store_at", (G, G), None, nothing),
    ops.RET: Rule("ret", (Use(INTS, 0),), None, nothing),
    ops.IF: Rule("if", (M,), None, nothing),
    ops.BR_IF: Rule("br_if", (M,), None, nothing),
}


class Pair:
    """A function before allocation and one that claims to be it afterwards, both written by hand."""

    def __init__(self, params: int = 2) -> None:
        self.before = Function("f", I64)
        self.after = Function("f", I64)
        for _ in range(params):
            self.before.param(I64, "")
        for _ in range(20):
            self.before.register(I64, "", True)
        self.one = self.before.const(I64, 1)
        self.two = self.before.const(I64, 2)
        self.yes = self.before.const(BOOL, True)
        self.frame = self.after.frame = Frame()
        self.after.physical = True
        self.target = Tiny()

    def both(self, op: ops.Op, dst: int, args: list[int], place: int, places: list[int], rule: Rule | None = None, type_: Type = I64, imm: int = 0) -> None:
        self.old(op, dst, args, rule, type_, imm)
        self.new(op, place, places, type_, imm)
        self.after.code[-1].rule = self.before.code[-1].rule
        self.after.code[-1].mem = self.before.code[-1].mem

    def old(self, op: ops.Op, dst: int, args: list[int], rule: Rule | None = None, type_: Type = I64, imm: int = 0) -> None:
        instr = Instr(op, type_, dst, args, imm)
        instr.rule = rule if rule is not None else PLAIN.get(op)
        if op is ops.STORE_AT:
            instr.mem = Mem(False, 1, 0)
        self.before.code.append(instr)

    def new(self, op: ops.Op, dst: int, args: list[int], type_: Type = I64, imm: int = 0) -> None:
        self.after.code.append(Instr(op, type_, dst, args, imm))

    def copy(self, dst: int, source: int, type_: Type = I64) -> None:
        self.new(ops.COPY, dst, [source], type_)

    def slot(self, offset: int, size: int = 8, kind: int = SPILL) -> int:
        self.after.slots.append(Slot(kind, size, offset))
        frame = self.frame
        if kind == SPILL:
            frame.size = max(frame.size, offset + size)
            frame.align = max(frame.align, size)
        return SLOT + len(self.after.slots) - 1

    def ret(self, v: int, place: int = 0) -> None:
        self.both(ops.RET, NONE, [v], NONE, [place])

    def right(self) -> None:
        self.after.types = list(self.before.types)
        self.after.params = list(self.before.params)
        self.after.const_types = self.before.const_types
        self.after.const_values = self.before.const_values
        self.after.names = self.before.names
        self.after.callees = self.before.callees
        check(self.before, self.after, self.target)

    def wrong(self, message: str) -> InternalError:
        with pytest.raises(InternalError, match=message) as caught:
            self.right()
        # The message carries both functions.
        assert "made from" in caught.value.text and "function f(" in caught.value.text
        return caught.value


@pytest.mark.parametrize(("dst", "args"), [(NONE, [0]), (2, []), (2, [0])])
def test_an_instruction_with_operands_needs_a_rule(dst: int, args: list[int]) -> None:
    pair = Pair()
    pair.both(ops.MUL, dst, args, 1 if dst != NONE else NONE, [0] * len(args))
    pair.ret(0)
    pair.wrong("no rule says how the target does it")


def test_an_error_names_instruction_location_expected_and_found() -> None:
    p = Pair()
    p.both(ops.ADD, 2, [0, 1], 0, [0, 1])
    p.both(ops.ADD, 3, [2, 0], 0, [0, 1])
    p.ret(3)
    error = p.wrong("operand 1 must be %0; ")
    assert "at 1, `%3 = add.i64 %2, %0`, allocated as `$r0 = add.i64 $r0, $r1`: operand 1 must be %0; $r1 holds %1" in str(error)


def test_parameters_come_where_the_convention_puts_them() -> None:
    p = Pair(3)
    incoming = p.slot(0, kind=INCOMING)
    p.copy(2, incoming)
    p.frame.saved.append(2)
    p.both(ops.ADD, 4, [0, 2], 0, [0, 2])
    p.ret(4)
    p.right()
    p.after.slots[0].offset = 8
    p.wrong("operand 1 must be %2; .r2 holds nothing known")


def test_a_variable_that_is_written_again_is_no_longer_where_it_was() -> None:
    p = Pair()
    p.copy(2, 0)
    p.frame.saved = [2]
    p.both(ops.NEG, 0, [0], 0, [0])
    p.ret(0)
    p.right()
    p.after.code[-1].args = [2]
    p.wrong("must be in .r0")
    p.after.code[-1].args = [0]
    p.after.code.insert(-1, Instr(ops.COPY, I64, 0, [2]))
    p.wrong("must be %0; .r0 holds nothing known")


def test_copies_before_and_after_need_no_partners() -> None:
    p = Pair()
    p.old(ops.COPY, 4, [0])
    p.old(ops.COPY, 5, [4])
    p.old(ops.COPY, 0, [1])
    p.old(ops.COPY, 1, [5])
    # Now %0 and %1 are exchanged, and so are their places.
    p.both(ops.ADD, 6, [0, 5], 1, [1, 0])
    p.copy(0, 1)
    p.ret(6)
    p.right()
    p.before.code[4].args = [0, 0]
    p.wrong("operand 1 must be %0; .r0 holds %1, %4, %5")


def test_constants_are_where_they_are_copied_to_and_in_place() -> None:
    p = Pair()
    p.old(ops.COPY, 4, [p.one])
    p.copy(1, p.one)
    p.both(ops.ADD, 5, [4, p.two], 0, [1, p.two])
    # Made again rather than kept.
    p.copy(1, p.one)
    p.both(ops.ADD, 5, [5, 4], 0, [0, 1])
    p.both(ops.ADD, 5, [5, 4], 0, [0, p.one], Rule("add", (G, M), G, nothing))
    p.ret(5)
    p.right()
    p.after.code[2].args = [p.two]
    p.after.code[2].op = ops.COPY
    p.wrong("operand 1 must be %4; .r1 holds constant 2:i64")


def test_a_constant_that_must_be_in_place_is_not_taken_from_a_register() -> None:
    p = Pair()
    p.copy(1, p.two)
    p.both(ops.ADD, 5, [0, p.two], 0, [0, 1])
    p.ret(5)
    p.wrong("operand 1 must be constant 2:i64, not .r1")


def test_slots_that_share_bytes_destroy_one_another() -> None:
    p = Pair()
    a, b, c = p.slot(0), p.slot(0), p.slot(0, 16)
    p.copy(a, 0)
    # The same place under another number.
    p.copy(0, b)
    p.copy(b, 1)
    p.both(ops.NEG, 4, [1], 1, [1])
    p.copy(1, a)
    p.both(ops.ADD, 4, [0, 1], 0, [0, 1])
    p.ret(4)
    p.right()
    p.after.code[2].dst = c
    p.wrong("operand 1 must be %1; .r1 holds nothing known")


def test_a_move_carries_no_more_than_its_type() -> None:
    p = Pair()
    p.copy(2, 0, I32)
    p.frame.saved = [2]
    p.copy(0, 2)
    p.ret(0)
    p.wrong("operand 0 must be %0; .r0 holds nothing known")
    p.after.code[0].type = I64
    p.right()


def test_a_slot_must_be_large_enough() -> None:
    p = Pair()
    p.copy(p.slot(0, 4), 0)
    p.ret(0)
    p.wrong("too small for i64")


def test_registers_of_the_right_class() -> None:
    p = Pair()
    p.copy(V0, 0)
    p.ret(0)
    p.wrong("no register for i64")


@pytest.mark.parametrize(
    ("args", "places", "rule", "message"),
    [
        ([0, 1], [0, 0], Rule("x", (G, G), G, nothing), "operand 1 must be %1; .r0 holds %0"),
        ([0, 1], [0, 1, 1], Rule("x", (G, G), G, nothing, temps=(INTS,)), "scratch register .r1 is an operand"),
        ([0, 1], [0, 1, 2], Rule("x", (G, G), G, nothing, temps=(INTS,)), "scratch register .r2 is the result's"),
        ([0, 1], [0, 1, 3], Rule("x", (G, G), G, nothing, temps=(INTS,)), ""),
        ([0, 1], [0, 1, V1], Rule("x", (G, G), G, nothing, temps=(INTS,)), "cannot be scratch register 0"),
        ([0, 1], [0, 1, 3], Rule("x", (G, G), G, nothing, temps=(INTS,), clobbers=8), "scratch register .r3 is destroyed"),
        ([0, 1], [0, 1], Rule("x", (G, G), G, nothing, temps=(INTS,)), "1 scratch registers expected"),
        ([0, 1], [0, 1], Rule("x", (G, G), G, nothing, clobbers=2), "operand 1 must be %1; .r1 holds nothing known"),
        ([0, 1], [0, 1], Rule("x", (G, Use(INTS, 3)), G, nothing), "operand 1 must be in .r3, not in .r1"),
        ([0, 1], [0, 1], Rule("x", (G, G), Use(INTS, 3), nothing), "the result must be in .r3, not in .r2"),
        ([0, 1], [0, V0], Rule("x", (G, Use(VECTORS)), G, nothing), "operand 1 must be %1; .v0 holds nothing known"),
        ([0, 1], [0, 1], Rule("x", (G, Use(VECTORS)), G, nothing), "operand 1 cannot be in .r1: another class"),
        ([0, 1], [0, 1], Rule("x", (G, G), Use(VECTORS), nothing), "the result cannot be in .r2: another class"),
        ([0, 1], [SLOT, 1], Rule("x", (G, G), G, nothing), "operand 0 cannot be taken from memory: @s0"),
        ([0, 1], [SLOT, 1], Rule("x", (M, M), G, nothing), ""),
        ([0, 0], [SLOT, SLOT], Rule("x", (M, M), G, nothing), "operand 1 is in memory .@s0 .frame offset 0.., and another one is too"),
        ([0, 1], [0, 7], Rule("x", (G, G), G, nothing), "there is no register 7"),
        ([0, 1], [SLOT + 5, 1], Rule("x", (M, G), G, nothing), "there is no slot 5"),
    ],
)
def test_what_a_rule_demands(args: list[int], places: list[int], rule: Rule, message: str) -> None:
    p = Pair()
    p.copy(p.slot(0), 0)
    p.frame.saved = [2, 3]
    p.both(ops.ADD, 4, args, 2, places, rule)
    p.copy(0, 2)
    p.ret(4)
    if message:
        p.wrong(message)
    else:
        p.right()


@pytest.mark.parametrize(
    ("places", "dst", "rule", "message"),
    [
        ([0, 1], 0, Rule("x", (G, Use(INTS, late=True)), G, nothing), ""),
        ([0, 1], 1, Rule("x", (G, Use(INTS, late=True)), G, nothing), "operand 1 is read after the result is written, and shares .r1"),
        ([0, 1], 0, Rule("x", (G, G), G, nothing, tied=0), ""),
        ([0, 1], 2, Rule("x", (G, G), G, nothing, tied=0), ""),
        ([0, 1], 1, Rule("x", (G, G), G, nothing, tied=0), "operand 1 is overwritten by operand 0"),
        ([0, 1], 1, Rule("x", (G, G), G, nothing, tied=0, commutes=True), ""),
        ([SLOT, 1], 1, Rule("x", (M, G), G, nothing, tied=0, commutes=True), "with which it must be exchanged, cannot be"),
        ([SLOT, 1], 1, Rule("x", (M, M), G, nothing, tied=0, commutes=True), ""),
        ([SLOT, 1], 2, Rule("x", (M, G), G, nothing, tied=0, commutes=True), ""),
        ([0, 1], 2, Rule("x", (G, G), G, nothing, tied=0, clobbers=4), "operand 0 must be brought into .r2, which is destroyed"),
    ],
)
def test_late_operands_and_two_operand_forms(places: list[int], dst: int, rule: Rule, message: str) -> None:
    p = Pair()
    p.copy(p.slot(0), 0)
    p.frame.saved = [2]
    p.both(ops.ADD, 4, [0, 1], dst, places, rule)
    p.copy(3 if dst != 0 else 1, dst)
    p.frame.saved.append(3)
    if dst != 0:
        p.copy(0, dst)
    p.ret(4)
    if message:
        p.wrong(message)
    else:
        p.right()


def test_calls_and_kills_destroy_registers() -> None:
    for op, safe in ((ops.NEG, False), (ops.NEG, True)):
        p = Pair()
        place = 2 if safe else 1
        if safe:
            p.copy(2, 1)
            p.frame.saved = [2]
        p.both(op, 4, [0], 0, [0], Rule("x", (G,), G, nothing, kills=0b11))
        p.both(ops.ADD, 5, [4, 1], 0, [0, place])
        p.ret(5)
        if safe:
            p.right()
        else:
            p.wrong("operand 1 must be %1; .r1 holds nothing known")


def test_preserved_registers_are_saved_in_the_frame() -> None:
    p = Pair()
    p.copy(3, 1)
    p.ret(0)
    p.wrong(".r3 must be preserved, is written, and is not saved")
    p.frame.saved = [3]
    p.right()
    p.frame.saved = [3, 3]
    p.wrong("saved twice")


def test_the_frame_has_room_for_its_slots() -> None:
    p = Pair()
    p.slot(4)
    p.ret(0)
    p.wrong("does not fit into a frame")
    p.after.slots[0].offset = 0
    p.right()
    p.frame.size = 0
    p.wrong("does not fit into a frame")


def test_where_control_joins_both_ways_must_agree() -> None:
    p = Pair()
    p.both(ops.IF, NONE, [p.yes], NONE, [p.yes], type_=BOOL)
    p.both(ops.NEG, 4, [0], 0, [0])
    p.both(ops.ELSE, NONE, [], NONE, [], type_=VOID)
    p.both(ops.NEG, 4, [1], 1, [1])
    p.copy(0, 1)
    p.both(ops.END, NONE, [], NONE, [], type_=VOID)
    p.ret(4)
    p.right()
    del p.after.code[-3]
    p.wrong("operand 0 must be %4; .r0 holds nothing known")


def loop_pair() -> Pair:
    """A loop that must find %1 where the first turn found it."""
    p = Pair()
    p.copy(2, 1)
    p.frame.saved = [2]
    p.both(ops.LOOP, NONE, [], NONE, [], type_=VOID)
    p.both(ops.ADD, 0, [0, 1], 0, [0, 2])
    p.both(ops.ADD, 4, [0, 0], 2, [0, 0])
    p.old(ops.BR_IF, NONE, [p.yes], type_=BOOL)
    p.new(ops.IF, NONE, [p.yes], BOOL)
    p.copy(2, 1)
    p.new(ops.BR, NONE, [], VOID, 1)
    p.new(ops.END, NONE, [], VOID)
    p.both(ops.END, NONE, [], NONE, [], type_=VOID)
    p.copy(0, 2)
    p.ret(4)
    return p


def test_the_back_edge_of_a_loop_must_agree_with_its_head() -> None:
    p = loop_pair()
    p.right()
    del p.after.code[5]
    # (Nor what the first turn found there: %4 is written at its end.)
    p.wrong("operand 1 must be %1; .r2 holds %4")


def test_what_a_variable_holds_before_it_is_written_does_not_matter() -> None:
    p = Pair()
    p.both(ops.IF, NONE, [p.yes], NONE, [p.yes], type_=BOOL)
    p.both(ops.NEG, 4, [0], 0, [0])
    p.both(ops.END, NONE, [], NONE, [], type_=VOID)
    p.ret(4)
    p.right()
    p.after.code[1].dst = 1
    p.wrong("operand 0 must be %4; .r0 holds %0")


@pytest.mark.parametrize("fault", ["depth", "condition", "no branch", "not the end", "source", "address"])
def test_the_code_of_a_split_edge_is_only_moves_and_the_branch(fault: str) -> None:
    p = loop_pair()
    code = p.after.code
    if fault == "depth":
        code[6].imm = 0
    elif fault == "condition":
        code[4].type = I64
    elif fault == "source":
        code[4].source = I64
    elif fault == "address":
        code[4].mem = Mem(False, 1, 0)
    elif fault == "no branch":
        code[6] = Instr(ops.SWAP, I64, NONE, [0, 1])
    else:
        code[7] = Instr(ops.ELSE, VOID, NONE, [])
        code.insert(8, Instr(ops.END, VOID, NONE, []))
    with pytest.raises(InternalError):
        p.right()


def test_an_instruction_missing_or_too_many_is_an_error() -> None:
    for change in range(3):
        p = Pair()
        p.both(ops.ADD, 4, [0, 1], 0, [0, 1])
        p.both(ops.ADD, 4, [4, 1], 0, [0, 1])
        p.ret(4)
        if change == 0:
            del p.after.code[0]
        elif change == 1:
            p.after.code.insert(0, p.after.code[0].copy())
        else:
            p.after.code[1].op = ops.SUB
        with pytest.raises(InternalError):
            p.right()


def test_code_that_control_cannot_reach_may_be_left_out() -> None:
    p = Pair()
    p.ret(0)
    p.old(ops.LOOP, NONE, [], type_=VOID)
    p.old(ops.ADD, 4, [9, 9])
    p.old(ops.END, NONE, [], type_=VOID)
    p.right()


# --- where it runs --------------------------------------------------------------------------------------------

TEXT = """function f(%a: i64, %b: i64) -> i64
  %0 = add.i64 %a, %b
  %1 = mul.i64 %0, %a
  ret %1
end
"""


def careless_layout(self: Output) -> None:
    self.f.frame = Frame()
    self.f.physical = True
    for instr in self.f.code:
        if instr.op is ops.MUL:
            instr.args = list(reversed([(a + 3) % 6 for a in instr.args]))


@replaceable
def test_the_compiler_checks_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    target = registry.get("x86-64-v3")
    monkeypatch.setattr(Output, "layout", careless_layout)
    with pytest.raises(InternalError, match="wrong allocation of f at"):
        compiler.compile(parse(TEXT), target, Settings(prove=True))
    compiler.compile(parse(TEXT), target, Settings(prove=False))
    monkeypatch.setenv("LOOPWRIGHT_PROVE", "1")
    with pytest.raises(InternalError, match="wrong allocation of f at"):
        compiler.compile(parse(TEXT), target)
    for off in ("", "0"):
        monkeypatch.setenv("LOOPWRIGHT_PROVE", off)
        compiler.compile(parse(TEXT), target)
    monkeypatch.delenv("LOOPWRIGHT_PROVE")
    compiler.compile(parse(TEXT), target)
    # That accesses are checked is another matter.
    checked = parse(TEXT)
    checked.options = Options(check=True)
    compiler.compile(checked, target)


def test_the_tests_check() -> None:
    assert compiler.resolve().prove


@lw.kernel(check=True, contract=False)
def _widened_from_the_frame(a0: lw.u16, x: lw.Array[lw.i32], a1: lw.u8, y: lw.Array[lw.u8]):
    n = lw.min(len(x), len(y))
    if n != 0:
        v1 = a0
    else:
        a1 = lw.u8(1)
        v1 = a0
    if 0 < n:  # noqa: SIM300
        for i in lw.range(0, 6, 1):
            before = v1
            _, quotient = (
                lw.f16(x[lw.min(0, n - 1)]),
                (lw.u64(x[lw.i64(a1) % n]) // (lw.u64(a1) if i >= 0 else lw.u64(x[lw.i64(y[0 % n]) % n]))),
            )
            v1 = lw.u8(lw.u16(quotient)) ^ lw.rem_trunc(before, a0)


def test_what_is_widened_is_carried_from_the_frame_as_what_it_was() -> None:
    """A u8 in the frame is loaded, extended, and copied as the u64 that it has become: the load carries that as well (found by random kernels)."""
    for target in ("x86-64-v3", "x86-64-v4", "aarch64-neon", "rv64gc"):
        _widened_from_the_frame.compile(target=target, prove=True)
