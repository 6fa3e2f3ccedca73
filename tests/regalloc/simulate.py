"""Runs lowered or allocated code of a machine that does not exist, to see whether two codes do the same.

A value is a number made by hashing what computed it. The code's doings are the values that reach stores, calls, branches
and returns; which way a branch goes depends on its values and on how often it was met. Registers that an
instruction destroys get numbers nobody else has, as do scratch registers, and results are written before late operands are
read. It is not the checker's model: it runs what the passes after allocation make of the code.
"""

from __future__ import annotations

from typing import Final

from loopwright.errors import InternalError
from loopwright.ir import ops
from loopwright.ir.function import INCOMING, SLOT, Function
from loopwright.passes import jumps, lower_late
from loopwright.targets.target import Rule, Target
from loopwright.types import Type

#: Events after which a run ends.
ENOUGH = 60
#: Instructions after which a run that does nothing ends.
LONG = 3000

#: What a condition tests and whether for the opposite: allocation may turn a branch into one around moves.
CONDITION: Final = {"eq": ("eq", False), "ne": ("eq", True), "lt": ("less", False), "nge": ("less", False), "ge": ("less", True), "nlt": ("less", True)}

Value = tuple[int, int]


class Machine:
    """The state of one run: registers with (value, valid bits), bytes of the frame."""

    def __init__(self, f: Function, target: Target, salt: int) -> None:
        self.f = f
        self.target = target
        self.salt = salt
        self.registers: dict[int, Value] = {}
        self.memory: dict[tuple[int, int], tuple[int, int, int]] = {}
        self.events: list[tuple[int, ...]] = []
        self.junk = 0
        self.visits: dict[int, int] = {}
        self.effects = 0

    def garbage(self) -> Value:
        self.junk += 1
        return hash((self.salt, "garbage", self.junk)), 1 << 20

    def bits(self, type_: Type) -> int:
        return self.target.register_bits(type_)

    def carry(self, operand: int, bits: int) -> Value:
        """What a move of some bits takes along: a value, and how many of its bits are good."""
        if operand < 0:
            return hash((1, ~operand)), bits
        if operand < SLOT:
            value, valid = self.registers.get(operand, (0, 0))
            return value, min(valid, bits)
        slot = self.f.slots[operand - SLOT]
        value, first, valid = self.memory.get((slot.kind, slot.offset), (0, -1, 0))
        valid = min(valid, bits)
        if first != 0 or any(
            self.memory.get((slot.kind, slot.offset + n)) != (value, n, self.memory[slot.kind, slot.offset][2]) for n in range((valid + 7) // 8)
        ):
            return self.garbage()
        return value, valid

    def read(self, operand: int, type_: Type) -> int:
        """The value of an operand of an instruction."""
        bits = self.bits(type_)
        value, valid = self.carry(operand, bits)
        return value if valid >= bits else self.garbage()[0]

    def write(self, place: int, value: int, bits: int) -> None:
        if place >= SLOT:
            slot = self.f.slots[place - SLOT]
            for n in range((bits + 7) // 8):
                self.memory[slot.kind, slot.offset + n] = (value, n, bits)
        else:
            self.registers[place] = (value, bits)

    def destroy(self, mask: int) -> None:
        while mask:
            low = mask & -mask
            self.registers[low.bit_length() - 1] = self.garbage()
            mask ^= low


def simulate(f: Function, target: Target, salt: int, kinds: dict[int, list[Type]]) -> list[tuple[int, ...]]:
    """The events of a run.

    Args:
        f: code after the jumps pass; after the lower-late pass as well when it is allocated.
        target: its machine.
        salt: chooses parameters, and ways at branches.
        kinds: types of the operands by the identity of an instruction's rule.
    """
    m = Machine(f, target, salt)
    code = f.code
    labels = {instr.imm: k for k, instr in enumerate(code) if instr.op is ops.LABEL}
    convention = target.convention
    saved: list[tuple[int, Value]] = []
    preserved: dict[int, Value] = {}
    if f.physical:
        m.destroy((1 << len(target.registers)) - 1)
        for n, (p, place) in enumerate(zip(f.params, convention.assign([f.types[p] for p in f.params]), strict=True)):
            value, bits = hash((salt, "parameter", n)), m.bits(f.types[p])
            if place >= 0:
                m.registers[place] = (value, bits)
            else:
                for byte in range((bits + 7) // 8):
                    m.memory[INCOMING, ~place + byte] = (value, byte, bits)
        preserved = {r: m.registers[r] for r in range(len(target.registers)) if convention.callee_saved >> r & 1}
    else:
        for n, p in enumerate(f.params):
            m.registers[p] = (hash((salt, "parameter", n)), m.bits(f.types[p]))
    excused = 0
    several: list[int] = []
    k = 0
    steps = 0
    while k < len(code) and len(m.events) < ENOUGH and steps < LONG:
        instr = code[k]
        op = instr.op
        k += 1
        steps += 1
        if op is ops.PROLOGUE:
            assert f.frame is not None
            saved = [(r, m.registers[r]) for r in f.frame.saved]
        elif op is ops.EPILOGUE:
            for r, old in saved:
                m.registers[r] = old
        elif op is ops.LABEL:
            pass
        elif op is ops.JUMP:
            k = labels[instr.imm]
        elif op is ops.COPY:
            m.write(instr.dst, *m.carry(instr.args[0], m.bits(instr.type)))
        elif op is ops.SWAP:
            a, b = instr.args
            x, y = m.carry(a, m.bits(instr.type)), m.carry(b, m.bits(instr.type))
            m.write(a, *y)
            m.write(b, *x)
        elif op is ops.RET:
            values = [m.read(a, f.result) for a in instr.args[:1]]
            m.events.append((op.code, *values))
            kept = {r for r, _value in saved}
            if any(m.registers[r] != value and (r in kept or not excused >> r & 1) for r, value in preserved.items()):
                m.events.append((-1,))
            break
        elif op is ops.JUMP_IF or op is ops.JUMP_UNLESS or op.compare:
            count = 2 if op.compare else 1
            values = [m.read(a, instr.type) for a in instr.args[:count]]
            base, turned = CONDITION[op.compare] if op.compare else ("true", op is ops.JUMP_UNLESS)
            key = hash((len(base), *values))
            m.visits[key] = m.visits.get(key, 0) + 1
            holds = hash((salt, key, m.visits[key])) >> 7 & 3 != 0
            m.events.append((-2, *values, holds))
            if holds != turned:
                k = labels[instr.imm]
        else:
            rule: Rule | None = instr.rule
            assert rule is not None
            types = kinds[id(rule)]
            if f.physical:
                m.destroy(rule.clobbers)
                for r in instr.args[len(rule.uses) :]:
                    m.registers[r] = m.garbage()
                if rule.tied >= 0 and instr.dst >= 0:
                    assert instr.args[rule.tied] == instr.dst
            values = []
            for j, t in enumerate(types):
                a = instr.args[j]
                late = f.physical and rule.uses[j].late and a == instr.dst and a >= 0 and j != rule.tied
                values.append(m.garbage()[0] if late else m.read(a, t))
            if rule.commutes:
                values[:2] = sorted(values[:2])
            if f.physical:
                m.destroy(rule.kills)
                if op.effect == ops.CALLS:
                    # What a callee does to the preserved registers is not the caller's fault.
                    excused |= rule.kills
            result = hash((op.code, instr.imm, m.effects if op.effect else 0, *values))
            if op.effect in (ops.WRITES, ops.CALLS):
                m.effects += 1
                m.events.append((op.code, instr.imm, *values))
            if instr.dst >= 0:
                width = m.bits(ops.result_type(op, instr.type, instr.source))
                if op is not ops.PART:
                    m.write(instr.dst, result, width)
                elif not f.physical:
                    m.write(instr.dst, several[instr.imm], width)
                # (Of allocated code the instruction with several results has written the registers in which its parts are.)
                if op.further:
                    several = [hash((result, n)) for n in range(len(op.further) + 1)]
                    places = list(range(instr.dst, instr.dst + (rule.results.count if rule.results is not None else 1)))
                    places += [place if place >= 0 else instr.args[~place] for place in rule.parts]
                    for n in range(1, len(places) if f.physical else 1):
                        m.write(places[n], several[n], m.bits(ops.type_for(op.further[n - 1], instr.type)))
    if k == len(code) and len(m.events) < ENOUGH and (not code or code[-1].op is not ops.RET):
        m.events.append((ops.RET.code,))
    return m.events


def operand_kinds(f: Function) -> dict[int, list[Type]]:
    """Types of the operands of each instruction of lowered code, by the identity of its rule."""
    return {id(instr.rule): [f.type_of(a) for a in instr.args] for instr in f.code if instr.rule is not None}


def events(f: Function, target: Target, salts: range, kinds: dict[int, list[Type]]) -> list[list[tuple[int, ...]]]:
    """The events of several runs of lowered or allocated code (which is not changed)."""
    late = f.clone()
    jumps.run(late, target)
    if late.physical:
        lower_late.run(late, target)
    return [simulate(late, target, salt, kinds) for salt in salts]


def same(before: Function, after: Function, target: Target, salts: range = range(4)) -> bool:
    """Whether allocated code does what the code before allocation does, in a few runs."""
    kinds = operand_kinds(before)
    wanted = events(before, target, salts, kinds)
    try:
        return events(after, target, salts, kinds) == wanted
    except (AssertionError, KeyError, IndexError, InternalError):
        return False
