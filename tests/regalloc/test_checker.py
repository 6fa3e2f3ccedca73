"""The checker refuses what is wrong: faults planted in allocations, and in the allocator."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from tests.regalloc.generator import Machine, nothing, random_input, random_order
from tests.regalloc.simulate import same

from loopwright import compiler
from loopwright.errors import InternalError
from loopwright.ir import ops
from loopwright.ir.function import INCOMING, NONE, SLOT, SPILL, Frame, Function, Instr, Mem, Options, Slot
from loopwright.ir.text import parse
from loopwright.passes import allocate
from loopwright.regalloc import linear_scan
from loopwright.regalloc.checker import check
from loopwright.regalloc.intervals import Interval
from loopwright.regalloc.linear_scan import LinearScan
from loopwright.regalloc.liveness import analyse
from loopwright.regalloc.resolution import Move
from loopwright.targets import registry
from loopwright.targets.target import ANY_REGISTER, INTS, VECTORS, Convention, Register, Rule, Target, Use
from loopwright.types import BOOL, F32, I32, I64, VOID, Type, vector_of


#: Faults are planted by replacing functions of the allocator, which the native build's do not allow.
replaceable = pytest.mark.skipif(not str(linear_scan.__file__).endswith(".py"), reason="functions of the native build cannot be replaced")


def allocated(seed: int, size: int = 0) -> tuple[Function, Function, Machine]:
    before, target = random_input(seed, size)
    after = before.clone()
    after.analysis = analyse(after, target)
    allocate.run(after, target, random_order(random.Random(seed)))
    check(before, after, target)
    return before, after, target


def refused(before: Function, after: Function, target: Target) -> bool:
    try:
        check(before, after, target)
    except InternalError:
        return True
    return False


# --- a machine small enough to write its allocations down -----------------------------------------------------

WIDE = vector_of(F32, 4)


class Tiny(Target):
    """r0 to r3 (r2 and r3 preserved) and v0, v1."""

    name = "tiny"

    def __init__(self) -> None:
        registers = [Register(f"r{n}", INTS, n) for n in range(4)] + [Register(f"v{n}", VECTORS, n) for n in range(2)]
        convention = Convention("tiny", (0, 1), (4,), 0, 4, 0b1100)
        super().__init__(convention, registers, [(0, 1, 2, 3), (4, 5)], frozenset())


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
        self.after.frame = Frame()
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
        frame = self.after.frame
        assert frame is not None
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
    p.after.frame.saved.append(2)
    p.both(ops.ADD, 4, [0, 2], 0, [0, 2])
    p.ret(4)
    p.right()
    p.after.slots[0].offset = 8
    p.wrong("operand 1 must be %2; .r2 holds nothing known")


def test_a_variable_that_is_written_again_is_no_longer_where_it_was() -> None:
    p = Pair()
    p.copy(2, 0)
    p.after.frame.saved = [2]
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
    p.after.frame.saved = [2]
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
    p.after.frame.saved = [2, 3]
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
    p.after.frame.saved = [2]
    p.both(ops.ADD, 4, [0, 1], dst, places, rule)
    p.copy(3 if dst != 0 else 1, dst)
    p.after.frame.saved.append(3)
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
            p.after.frame.saved = [2]
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
    p.after.frame.saved = [3]
    p.right()
    p.after.frame.saved = [3, 3]
    p.wrong("saved twice")


def test_the_frame_has_room_for_its_slots() -> None:
    p = Pair()
    p.slot(4)
    p.ret(0)
    p.wrong("does not fit into a frame")
    p.after.slots[0].offset = 0
    p.right()
    p.after.frame.size = 0
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
    p.after.frame.saved = [2]
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
    p.wrong("operand 1 must be %1; .r2 holds nothing known")


@pytest.mark.parametrize("fault", ["depth", "condition", "no branch", "not the end"])
def test_the_code_of_a_split_edge_is_only_moves_and_the_branch(fault: str) -> None:
    p = loop_pair()
    code = p.after.code
    if fault == "depth":
        code[6].imm = 0
    elif fault == "condition":
        code[4].type = I64
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


# --- faults planted in right allocations ----------------------------------------------------------------------

Fault = Callable[[Function, Machine, random.Random], bool]


def moves(f: Function) -> list[int]:
    return [k for k, instr in enumerate(f.code) if instr.op is ops.COPY or instr.op is ops.SWAP]


def drop_move(f: Function, target: Machine, chooser: random.Random) -> bool:
    found = moves(f)
    if found:
        del f.code[chooser.choice(found)]
    return bool(found)


def drop_store(f: Function, target: Machine, chooser: random.Random) -> bool:
    found = [k for k in moves(f) if f.code[k].dst >= SLOT]
    if found:
        del f.code[chooser.choice(found)]
    return bool(found)


def drop_reload(f: Function, target: Machine, chooser: random.Random) -> bool:
    found = [k for k in moves(f) if f.code[k].args[0] >= SLOT]
    if found:
        del f.code[chooser.choice(found)]
    return bool(found)


def exchange_moves(f: Function, target: Machine, chooser: random.Random) -> bool:
    found = [k for k in moves(f) if k + 1 < len(f.code) and f.code[k + 1].op in (ops.COPY, ops.SWAP)]
    if found:
        k = chooser.choice(found)
        f.code[k], f.code[k + 1] = f.code[k + 1], f.code[k]
    return bool(found)


def exchange_registers(f: Function, target: Machine, chooser: random.Random) -> bool:
    """Two registers exchanged in one instruction."""
    found = [k for k, instr in enumerate(f.code) if len({a for a in (*instr.args, instr.dst) if 0 <= a < SLOT}) > 1]
    if not found:
        return False
    instr = f.code[chooser.choice(found)]
    x, y = chooser.sample(sorted({a for a in (*instr.args, instr.dst) if 0 <= a < SLOT}), 2)
    other = {x: y, y: x}
    instr.args = [other.get(a, a) for a in instr.args]
    instr.dst = other.get(instr.dst, instr.dst)
    return True


def another_register(f: Function, target: Machine, chooser: random.Random) -> bool:
    """Another register of the class for one operand or the result."""
    found = [(k, j) for k, instr in enumerate(f.code) for j, a in enumerate((*instr.args, instr.dst)) if 0 <= a < SLOT]
    if not found:
        return False
    k, j = chooser.choice(found)
    instr = f.code[k]
    old = instr.args[j] if j < len(instr.args) else instr.dst
    order = [r for r in target.orders[target.registers[old].cls] if r != old]
    new = chooser.choice(order)
    if j < len(instr.args):
        instr.args = [*instr.args[:j], new, *instr.args[j + 1 :]]
    else:
        instr.dst = new
    return True


def another_slot(f: Function, target: Machine, chooser: random.Random) -> bool:
    found = [k for k, instr in enumerate(f.code) if any(a >= SLOT for a in (*instr.args, instr.dst))]
    if not found or len(f.slots) < 2:
        return False
    instr = f.code[chooser.choice(found)]
    new = SLOT + chooser.randrange(len(f.slots))
    instr.args = [new if a >= SLOT else a for a in instr.args]
    if instr.dst >= SLOT:
        instr.dst = new
    return True


def shared_slots(f: Function, target: Machine, chooser: random.Random) -> bool:
    """Two slots that were apart now share their place."""
    own = [n for n, slot in enumerate(f.slots) if slot.kind == SPILL]
    if len(own) < 2:
        return False
    x, y = chooser.sample(own, 2)
    f.slots = [Slot(slot.kind, slot.size, slot.offset) for slot in f.slots]
    f.slots[x].offset = f.slots[y].offset - f.slots[y].offset % f.slots[x].size
    return True


def another_constant(f: Function, target: Machine, chooser: random.Random) -> bool:
    found = [k for k in moves(f) if f.code[k].args[0] < 0]
    if not found:
        return False
    instr = f.code[chooser.choice(found)]
    alike = [~n for n, type_ in enumerate(f.const_types) if type_ is instr.type and ~n != instr.args[0]]
    if alike:
        instr.args = [chooser.choice(alike)]
    return bool(alike)


def not_saved(f: Function, target: Machine, chooser: random.Random) -> bool:
    assert f.frame is not None
    if not f.frame.saved:
        return False
    frame = Frame()
    frame.size, frame.outgoing, frame.calls, frame.align = f.frame.size, f.frame.outgoing, f.frame.calls, f.frame.align
    frame.saved = list(f.frame.saved)
    del frame.saved[chooser.randrange(len(frame.saved))]
    f.frame = frame
    return True


def narrower_move(f: Function, target: Machine, chooser: random.Random) -> bool:
    narrow = {I64: I32, vector_of(F32, 4): F32}
    found = [k for k in moves(f) if f.code[k].type in narrow and f.code[k].args[0] >= 0]
    if not found:
        return False
    instr = f.code[chooser.choice(found)]
    instr.type = narrow[instr.type]
    return True


def moved_up(f: Function, target: Machine, chooser: random.Random) -> bool:
    """A move one instruction earlier."""
    found = [k for k in moves(f) if k > 1 and f.code[k - 1].op.effect != ops.CONTROL]
    if found:
        k = chooser.choice(found)
        f.code[k - 1], f.code[k] = f.code[k], f.code[k - 1]
    return bool(found)


FAULTS: list[Fault] = [
    drop_move,
    drop_store,
    drop_reload,
    exchange_moves,
    exchange_registers,
    another_register,
    another_slot,
    shared_slots,
    another_constant,
    not_saved,
    narrower_move,
    moved_up,
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_every_planted_fault_that_changes_what_happens_is_caught(fault: Fault) -> None:
    chooser = random.Random(fault.__name__)
    count: Counter[str] = Counter()
    for seed in range(450):
        before, after, target = allocated(3_000_000 + seed)
        for _ in range(2):
            mutant = after.clone()
            if not fault(mutant, target, chooser):
                continue
            if refused(before, mutant, target):
                count["caught"] += 1
            else:
                # What passes must do the same.
                assert same(before, mutant, target, range(10)), (seed, fault.__name__)
                count["harmless"] += 1
    assert count["caught"] > 40, count


def test_a_right_allocation_stays_right_with_useless_moves() -> None:
    # The checker asks for what is needed, and nothing else.
    for seed in range(150):
        before, after, target = allocated(3_100_000 + seed)
        mutant = after.clone()
        assert mutant.frame is not None
        for k in range(len(mutant.code) - 1, 0, -1):
            instr = mutant.code[k]
            if instr.op is ops.COPY and 0 <= instr.args[0] < SLOT and instr.dst < SLOT and not instr.args[1:]:
                mutant.code.insert(k, instr.copy())
        check(before, mutant, target)


# --- faults planted in the allocator --------------------------------------------------------------------------


def untold(rule: Rule, **changes: Any) -> Rule:
    """A rule that hides some of its demands."""
    fields = {name: getattr(rule, name) for name in ("name", "uses", "result", "emit", "tied", "commutes", "kills", "temps", "clobbers")}
    return Rule(**{**fields, **changes})


def hide(change: Callable[[Rule], Rule]) -> Callable[[Function], None]:
    """The allocator sees other rules than the checker."""

    def run(f: Function) -> None:
        for instr in f.code:
            if instr.rule is not None:
                instr.rule = change(instr.rule)

    return run


HIDDEN: dict[str, Callable[[Function], None]] = {
    "kills": hide(lambda rule: untold(rule, kills=0)),
    "clobbers": hide(lambda rule: untold(rule, clobbers=0)),
    "late": hide(lambda rule: untold(rule, uses=tuple([Use(use.cls, use.fixed, use.memory) for use in rule.uses]))),
    "fixed": hide(lambda rule: untold(rule, uses=tuple([Use(use.cls, ANY_REGISTER, use.memory, use.late) for use in rule.uses]))),
    "fixed result": hide(lambda rule: untold(rule, result=Use(rule.result.cls) if rule.result is not None else None)),
    "registers only": hide(lambda rule: untold(rule, uses=tuple([Use(use.cls, use.fixed, use.fixed == ANY_REGISTER, use.late) for use in rule.uses]))),
    "scratch": hide(lambda rule: untold(rule, temps=())),
}


def prove_some(name: str, change: Callable[[Function], None] | None = None, functions: int = 250) -> None:
    """Among many allocations made with a fault at least some are wrong; all that differ when run are refused."""
    caught = 0
    for seed in range(functions):
        before, target = random_input(3_200_000 + seed)
        after = before.clone()
        if change is not None:
            change(after)
        after.analysis = analyse(after, target)
        try:
            allocate.run(after, target, random_order(random.Random(seed)))
        except (InternalError, AssertionError):
            # The fault was too much for the allocator itself.
            continue
        if refused(before, after, target):
            caught += 1
        elif change is None:
            assert same(before, after, target), (name, seed)
    assert caught > 5, (name, caught)


@pytest.mark.parametrize("demand", list(HIDDEN))
def test_a_demand_the_allocator_overlooks_is_caught(demand: str) -> None:
    prove_some(demand, HIDDEN[demand])


def no_moves(_moves: list[Move], _line: int) -> list[Instr]:
    return []


def one_after_another(given: list[Move], line: int) -> list[Instr]:
    """Parallel moves as if they were not parallel."""
    return [Instr(ops.COPY, move.type, move.destination, [move.source], 0, line) for move in given if move.destination != move.source]


@replaceable
def test_missing_resolution_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_scan, "sequence", no_moves)
    prove_some("no moves")


@replaceable
def test_moves_in_the_wrong_order_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_scan, "sequence", one_after_another)
    prove_some("in order", functions=700)


@replaceable
def test_a_spill_that_does_not_store_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    merge = LinearScan.merge

    def without_stores(self: LinearScan, inserts: dict[int, list[Instr]], splits: dict[int, list[Instr]]) -> None:
        merge(self, {at: [instr for instr in code if instr.dst < SLOT] for at, code in inserts.items()}, splits)

    monkeypatch.setattr(LinearScan, "merge", without_stores)
    prove_some("stores")


@replaceable
def test_slots_in_one_place_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    layout = LinearScan.layout

    def crowded(self: LinearScan) -> None:
        layout(self)
        for slot in self.f.slots:
            if slot.kind == SPILL:
                slot.offset = 0

    monkeypatch.setattr(LinearScan, "layout", crowded)
    prove_some("slots")


@replaceable
def test_a_frame_that_saves_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    layout = LinearScan.layout

    def careless(self: LinearScan) -> None:
        layout(self)
        assert self.f.frame is not None
        self.f.frame.saved.clear()

    monkeypatch.setattr(LinearScan, "layout", careless)
    prove_some("frame")


def test_values_taken_for_dead_too_early_are_caught() -> None:
    caught = 0
    for seed in range(200):
        before, target = random_input(3_300_000 + seed)
        after = before.clone()
        liveness, shape = analyse(after, target)
        chooser = random.Random(seed)
        for k, instr in enumerate(after.code):
            if instr.args and chooser.random() < 0.2:
                liveness.dies[k] = (1 << len(instr.args)) - 1
                for j, a in enumerate(instr.args):
                    if a < 0:
                        liveness.dies[k] &= ~(1 << j)
        after.analysis = (liveness, shape)
        try:
            allocate.run(after, target, random_order(chooser))
        except (InternalError, AssertionError):
            continue
        if refused(before, after, target):
            caught += 1
        else:
            assert same(before, after, target), seed
    assert caught > 20


@replaceable
def test_a_constant_that_is_not_there_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    place = LinearScan.place

    def sure(self: LinearScan, interval: Interval, r: int) -> None:
        place(self, interval, r)
        self.replaced = interval.constant

    monkeypatch.setattr(LinearScan, "place", sure)
    prove_some("constant")


# --- where it runs --------------------------------------------------------------------------------------------

TEXT = """function f(%a: i64, %b: i64) -> i64
  %0 = add.i64 %a, %b
  %1 = mul.i64 %0, %a
  ret %1
end
"""


def careless_layout(self: LinearScan) -> None:
    self.f.frame = Frame()
    self.f.physical = True
    for instr in self.f.code:
        if instr.op is ops.MUL:
            instr.args = list(reversed([(a + 3) % 6 for a in instr.args]))


@replaceable
def test_the_compiler_checks_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    target = registry.get("x86-64-v3")
    monkeypatch.setattr(LinearScan, "layout", careless_layout)
    with pytest.raises(InternalError, match="wrong allocation of f at"):
        compiler.compile(parse(TEXT), target, check_allocation=True)
    compiler.compile(parse(TEXT), target, check_allocation=False)
    monkeypatch.setenv("LOOPWRIGHT_CHECK_ALLOCATION", "1")
    with pytest.raises(InternalError, match="wrong allocation of f at"):
        compiler.compile(parse(TEXT), target)
    for off in ("", "0"):
        monkeypatch.setenv("LOOPWRIGHT_CHECK_ALLOCATION", off)
        compiler.compile(parse(TEXT), target)
    monkeypatch.delenv("LOOPWRIGHT_CHECK_ALLOCATION")
    compiler.compile(parse(TEXT), target)
    # Checked kernels are checked in this respect as well.
    checked = parse(TEXT)
    checked.options = Options(check=True)
    with pytest.raises(InternalError, match="wrong allocation of f at"):
        compiler.compile(checked, target)


def test_the_tests_check() -> None:
    assert compiler.check_in_force(None)
