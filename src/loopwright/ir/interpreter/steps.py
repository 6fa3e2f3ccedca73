"""Steps: instructions made ready to be executed, and the kinds of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Instr
from loopwright.types import Type

__all__ = [
    "ADDRESS",
    "ADVANCE",
    "ALLOCA",
    "CALL",
    "CASE",
    "CHUNKS",
    "DIV_REM",
    "FAIL",
    "FIRST_ACTION",
    "FOR",
    "FUNCTION",
    "GLOBAL",
    "GOTO",
    "INDEXED",
    "KINDS",
    "LOAD",
    "LOAD_AT",
    "LOAD_PARTS",
    "LOCAL",
    "MOVE",
    "NEXT",
    "PART",
    "PURE",
    "RET",
    "STACK_POINTER",
    "STEP",
    "STORE",
    "STORE_ARG",
    "STORE_AT",
    "STORE_PARTS",
    "STORE_SOME",
    "STRIDED",
    "SWAP",
    "SWITCH",
    "UNLESS",
    "UNREACHABLE",
    "UPDATE",
    "WHEN",
    "Meaning",
    "Step",
]

#: The result of an operation, of its type, its source's type and its operands.
Meaning = Callable[..., Any]

# What a step does. Brackets are resolved beforehand, so most of them only fall through.
PURE: Final = 0
NEXT: Final = 1
GOTO: Final = 2
WHEN: Final = 3
UNLESS: Final = 4
FOR: Final = 5
STEP: Final = 6
SWITCH: Final = 7
CASE: Final = 8
CALL: Final = 9
RET: Final = 10
#: ``copy`` and ``swap`` of physical registers.
MOVE: Final = 11
# And those that are in the table of ``actions``.
LOAD: Final = 12
STORE: Final = 13
LOAD_AT: Final = 14
STORE_AT: Final = 15
ADDRESS: Final = 16
FAIL: Final = 17
STORE_ARG: Final = 18
SWAP: Final = 19
LOCAL: Final = 20
LOAD_PARTS: Final = 21
STORE_PARTS: Final = 22
PART: Final = 23
ADVANCE: Final = 24
DIV_REM: Final = 25
UPDATE: Final = 26
STRIDED: Final = 27
INDEXED: Final = 28
CHUNKS: Final = 29
GLOBAL: Final = 30
FUNCTION: Final = 31
ALLOCA: Final = 32
UNREACHABLE: Final = 33
STACK_POINTER: Final = 34
STORE_SOME: Final = 35
FIRST_ACTION: Final = LOAD


class Step:
    """An instruction made ready: what to do, where its operands are in the store, and where to go on."""

    __slots__ = (
        "address",
        "clobbers",
        "compare",
        "dst",
        "instr",
        "kills",
        "kind",
        "leaves",
        "meaning",
        "mem",
        "negated",
        "reads",
        "source",
        "target",
        "temps",
        "type",
        "wants",
    )

    def __init__(self, instr: Instr) -> None:
        self.instr = instr
        self.kind = PURE
        self.meaning: Meaning | None = instr.op.meaning
        self.type = instr.type
        self.source = instr.source
        self.dst = NONE
        self.reads: list[int] = []
        self.wants: list[Type] = []
        self.mem = instr.mem
        self.address = -1
        self.target = -1
        self.temps: list[int] = []
        self.kills = 0
        self.clobbers = 0
        self.compare: Meaning | None = None
        self.negated = False
        self.leaves = False


def _kinds() -> dict[ops.Op, int]:
    """What operations do that have no meaning of their own. (Of those in several lines, the first one counts.)"""
    lines: tuple[tuple[int, Iterable[ops.Op]], ...] = (
        (LOAD, (ops.LOAD, ops.MASKED_LOAD)),
        (STORE, (ops.STORE, ops.MASKED_STORE)),
        (STRIDED, ops.STRIDED),
        (INDEXED, (*ops.INDEXED, ops.GATHER_SINGLY)),
        (CHUNKS, (*ops.CHUNKS, *ops.ROWS)),
        (LOAD_AT, (ops.LOAD_AT, ops.MASKED_LOAD_AT)),
        (STORE_AT, (ops.STORE_AT, ops.MASKED_STORE_AT, ops.STORE_PAST_AT)),
        (ADVANCE, ops.ADVANCES.values()),
        (UPDATE, ops.DONE_IN_PLACE),
        (DIV_REM, (ops.DIV_REM,)),
        (STORE_SOME, ops.STORE_SOME.values()),
        (LOAD_PARTS, [op for op in ops.OPS if op.parts > 1 and op.result]),
        (STORE_PARTS, [op for op in ops.OPS if op.parts > 1 and not op.result]),
        (PART, (ops.PART,)),
        (ADDRESS, (ops.ADDRESS,)),
        (LOCAL, (ops.LOCAL, ops.TABLE)),
        (GLOBAL, (ops.GLOBAL,)),
        (FUNCTION, (ops.FUNCTION,)),
        (ALLOCA, (ops.ALLOCA,)),
        (STACK_POINTER, (ops.STACK_POINTER,)),
        (UNREACHABLE, (ops.UNREACHABLE,)),
        (CALL, ops.CALLING),
        (RET, (ops.RET,)),
        (FAIL, (ops.FAIL,)),
        (STORE_ARG, (ops.STORE_ARG,)),
        (SWAP, (ops.SWAP,)),
        (NEXT, (*ops.BARRIERS, ops.LABEL, ops.PROLOGUE, ops.EPILOGUE)),
        (GOTO, (ops.BR, ops.JUMP)),
        (CASE, (ops.BR_CASE, ops.JUMP_CASE)),
        (UNLESS, (ops.JUMP_UNLESS,)),
        (WHEN, (ops.BR_IF, *ops.BR_CMP.values(), ops.JUMP_IF, *ops.JUMP_CMP.values())),
        (SWITCH, (ops.SWITCH, ops.JUMP_TABLE)),
    )
    of: dict[ops.Op, int] = {}
    for kind, operations in lines:
        for op in operations:
            of.setdefault(op, kind)
    return of


#: The kind of each operation that is no bracket and has no meaning of its own.
KINDS: Final = _kinds()
