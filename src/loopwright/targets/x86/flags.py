"""Which comparison the flags hold, so that it is not made a second time.

The rules of operations compare each for itself: the smaller and the larger of two numbers are a comparison and a conditional move each. What an
instruction does to the flags is in its description in the SDM, volume 2, "Flags Affected".
"""

from __future__ import annotations

import re
from typing import Final

from loopwright.targets.x86.assembler import ALIGN, ALWAYS, CALL, CONDITIONS, JUMP, LABEL, Item
from loopwright.targets.x86.encoder import Form, M, lookup

__all__ = ["COMPARES", "FLOATS", "MOVES", "QUIET", "Flags", "effect", "without_test"]

# What an instruction does to the flags and to the integer registers. Those up to FLOATS say something of the flags.
#: It compares two integer registers, or one with an immediate.
COMPARES: Final = 0
#: A bitwise operation into an integer register: it leaves the flags of a TEST of its result with itself (AND, OR, XOR, TEST: CF and OF are 0).
LOGIC: Final = 1
#: An operation on integers into a register: zero and sign are those of its result, carry and overflow are not a TEST's.
ARITHMETIC: Final = 2
#: It compares two scalar floats in registers, or one with what is in memory.
FLOATS: Final = 3
#: It moves an integer register to another.
MOVES: Final = 4
#: It writes integer registers, if any, and no flags.
KEEPS: Final = 5
#: It changes flags, or is not known not to.
CHANGES: Final = 6
#: It has to do with neither.
QUIET: Final = 7

_KEEPS: Final = re.compile(
    r"MOV(ABS|ZX|SX|SXD)?|LEA|CMOV\w+|SET\w+|BSWAP|NOT|XCHG|PUSH|POP|RORX|SARX|SHLX|SHRX|PDEP|PEXT|MULX|CRC32|NOP|PREFETCH\w+"
    r"|V(?!U?COMIS|TESTP|PTEST$)\w+|K(?!ORTEST|TEST)\w+"
)
_WHOLE: Final = ("r32", "r64")
_FLOATS: Final = ("VUCOMISS", "VUCOMISD", "VUCOMISH")
_SHIFTS: Final = ("SHL", "SHR", "SAR")
#: Conditions of a TEST of a register with itself by those of what made its value: overflow is 0 after TEST, so that less is the sign.
_OF_RESULT: Final = {4: 4, 5: 5, 8: 8, 9: 9, 12: 8, 13: 9}


def effect(form: Form) -> int:
    """What a form does to the flags and to the integer registers."""
    mnemonic = form.row.mnemonic
    operands = form.operands
    if mnemonic in ("CMP", "TEST") and operands[0].register in _WHOLE:
        return COMPARES
    if mnemonic in ("AND", "OR", "XOR") and operands[0].register in _WHOLE:
        return LOGIC
    if mnemonic in ("ADD", "SUB", "NEG") and operands[0].register in _WHOLE:
        return ARITHMETIC
    if mnemonic in _FLOATS:
        return FLOATS
    # (By 0 a shift leaves the flags as they are.)
    if mnemonic in _SHIFTS and operands[0].register in _WHOLE and operands[-1].immediate:
        return ARITHMETIC
    if not _KEEPS.fullmatch(mnemonic) or any(each.fixed and each.role != "r" for each in operands):
        return CHANGES
    if mnemonic == "MOV" and len(operands) == 2 and operands[0].register in _WHOLE and operands[1].register in _WHOLE:
        return MOVES
    return KEEPS if any(each.register[:1] == "r" and each.role != "r" for each in operands) else QUIET


class Flags:
    """The comparison that the flags hold now: which registers have its operands' values, or none.

    Attributes:
        known: whether there is one. Cleared where code may come from elsewhere.
        result: the register with whose value zero and sign agree, or -1. Cleared likewise.
        floats: the comparison of floats in registers that the flags hold, or None. Cleared likewise.
    """

    __slots__ = ("_bits", "_floats_in", "_imm", "_left", "_result_bits", "_right", "_tests", "floats", "known", "result")

    def __init__(self) -> None:
        self.known = False
        self.result = -1
        self.floats: Form | None = None
        self._floats_in: tuple[int, ...] = ()
        self._result_bits = 0
        self._tests = False
        self._bits = 0
        self._imm = 0
        #: The registers with the first operand's value, bit by bit, and those with the second's; 0 where that is an immediate.
        self._left = 0
        self._right = 0

    def step(self, form: Form, kind: int, ops: tuple[int, ...], mem: M | None, imm: int, before: Form | None, before_ops: tuple[int, ...]) -> bool:
        """An instruction comes, with what was emitted before it: does the comparison that it makes stand in the flags already?"""
        if kind == FLOATS:
            if self.floats is form and self._floats_in == ops and mem is None:
                return True
            self.known = False
            self.result = -1
            self.floats, self._floats_in = form if mem is None else None, ops
            return False
        if self.floats is not None and (kind <= ARITHMETIC or kind == CHANGES or self._writes_float(form, ops, mem)):
            self.floats = None
        if kind == QUIET:
            return False
        if kind == CHANGES:
            self.known = False
            self.result = -1
        elif kind == ARITHMETIC:
            self.known = False
            self.result = -1
            if (mem is None or form.memory_at != 0) and not (form.operands[-1].immediate and imm == 0):
                self.result, self._result_bits = ops[0], _bits(form)
        elif kind == COMPARES:
            self.result = -1
            return self._compare(form, ops, mem, imm, before, before_ops)
        elif kind == LOGIC:
            self.result = -1
            self.known = mem is None or form.memory_at != 0
            if self.known:
                self._tests, self._bits, self._imm = True, _bits(form), 0
                self._left = self._right = 1 << ops[0]
        elif kind == MOVES and mem is None:
            self._move(ops[0], ops[1], _bits(form))
        else:
            self._write(form, ops, mem)
        return False

    def tests_result(self, form: Form, ops: tuple[int, ...]) -> bool:
        """Whether a comparison, before ``step`` hears of it, is a TEST of the value that zero and sign are of."""
        return self.result >= 0 and form.mnemonic == "test" and ops == (self.result, self.result) and _bits(form) == self._result_bits

    def _writes_float(self, form: Form, ops: tuple[int, ...], mem: M | None) -> bool:
        """Whether an instruction writes one of the registers whose floats have been compared."""
        at = 0
        for position, each in enumerate(form.operands):
            if each.fixed and each.role != "r":
                return True
            if each.fixed or each.immediate or not each.register or (mem is not None and position == form.memory_at):
                continue
            if each.role != "r" and each.register[:1] not in "rk" and ops[at] in self._floats_in:
                return True
            at += 1
        return False

    def _compare(self, form: Form, ops: tuple[int, ...], mem: M | None, imm: int, before: Form | None, before_ops: tuple[int, ...]) -> bool:
        if mem is not None:
            self.known = False
            return False
        tests = form.mnemonic == "test"
        bits = _bits(form)
        left = 1 << ops[0]
        right = 1 << ops[1] if len(ops) > 1 else 0
        same = self.known and self._tests == tests and self._bits == bits and self._imm == imm
        if same and self._left & left and (self._right & right if right else not self._right):
            return True
        self.known = True
        self._tests, self._bits, self._imm, self._left, self._right = tests, bits, imm, left, right
        if before is not None and before.effect == MOVES and len(before_ops) == 2 and _bits(before) >= bits:
            copied, source = 1 << before_ops[0], 1 << before_ops[1]
            if left & copied:
                self._left |= source
            if right & copied:
                self._right |= source
        return False

    def _move(self, into: int, source: int, bits: int) -> None:
        left, right = self._left >> source & 1, self._right >> source & 1
        if source == into:
            # (In 32 bits it clears the upper half.)
            left = right = 0
        self._forget(1 << into)
        if self.known and bits >= self._bits:
            self._left |= left << into
            self._right |= right << into

    def _write(self, form: Form, ops: tuple[int, ...], mem: M | None) -> None:
        at = 0
        for position, each in enumerate(form.operands):
            if each.fixed or each.immediate or not each.register or (mem is not None and position == form.memory_at):
                continue
            if each.role != "r" and each.register[:1] == "r":
                self._forget(1 << ops[at])
            at += 1

    def _forget(self, register: int) -> None:
        if self.result >= 0 and register >> self.result & 1:
            self.result = -1
        compared_with_register = self._right != 0
        self._left &= ~register
        self._right &= ~register
        if not self._left or (compared_with_register and not self._right):
            self.known = False


def without_test(items: list[Item], at: int) -> bool:
    """Take out a TEST of the result of the operation in front of it, if what asks for it can ask the operation's own flags, and let it.

    Args:
        items: the instructions; changed in place.
        at: where the TEST is.
    """
    asking: list[tuple[int, Item]] = []
    for k in range(at + 1, len(items)):
        item = items[k]
        form, ops = item[0], item[1]
        if form.kind == JUMP:
            if ops[0] == ALWAYS:
                break
            condition = _OF_RESULT.get(ops[0], -1)
            if condition < 0:
                return False
            asking.append((k, (form, (condition,), *item[2:])))
        elif form.kind == LABEL or form.mnemonic == "ret":
            break
        elif form.kind == ALIGN:
            continue
        elif form.kind == CALL:
            return False
        elif form.mnemonic.startswith(("cmov", "set")):
            stem = "cmov" if form.mnemonic.startswith("cmov") else "set"
            condition = _OF_RESULT.get(CONDITIONS.index(form.mnemonic[len(stem) :]), -1)
            if condition < 0 or item[2] is not None:
                return False
            other = lookup((stem + CONDITIONS[condition]).upper(), ",".join(each.register for each in form.operands))
            asking.append((k, (other, *item[1:])))
        else:
            kind = effect(form) if form.effect < 0 else form.effect
            if kind == CHANGES:
                return False
            if kind <= FLOATS:
                if kind == ARITHMETIC and form.operands[-1].immediate and item[3] == 0:
                    return False
                break
    for k, item in asking:
        items[k] = item
    del items[at]
    return True


def _bits(form: Form) -> int:
    return 64 if form.operands[0].register == "r64" else 32
