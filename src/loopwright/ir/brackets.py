"""Which marker instructions of a function's flat list belong together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from loopwright.errors import VerifyError
from loopwright.ir import ops
from loopwright.ir.function import Instr

__all__ = [
    "BLOCK",
    "DEEPEST",
    "DEEPEST_LOOPS",
    "DO",
    "ELIF",
    "ELSE",
    "END",
    "FOR",
    "IF",
    "KIND",
    "LOOP",
    "PLAIN",
    "THEN",
    "WHILE",
    "BracketError",
    "end_of",
    "match",
]

PLAIN: Final = 0
BLOCK: Final = 1
LOOP: Final = 2
FOR: Final = 3
IF: Final = 4
WHILE: Final = 5
ELIF: Final = 6
THEN: Final = 7
ELSE: Final = 8
DO: Final = 9
END: Final = 10

#: How deep brackets may nest, and loops among them. Several passes keep what is live at the end of each bracket around, and the allocator
#: decides in front of each loop what it keeps of all that is live: their time is what is live times the depth.
DEEPEST: Final = 1000
DEEPEST_LOOPS: Final = 250

#: What kind of bracket marker an operation is, by ``Op.code`` (``if`` with a comparison inside is an IF).
KIND: Final[list[int]] = [PLAIN] * len(ops.OPS)
KIND[ops.BLOCK.code] = BLOCK
KIND[ops.LOOP.code] = LOOP
KIND[ops.FOR.code] = FOR
KIND[ops.IF.code] = IF
KIND[ops.WHILE.code] = WHILE
KIND[ops.ELIF.code] = ELIF
KIND[ops.THEN.code] = THEN
KIND[ops.ELSE.code] = ELSE
KIND[ops.DO.code] = DO
KIND[ops.END.code] = END
for _op in ops.IF_CMP.values():
    KIND[_op.code] = IF

#: For each kind, the kinds of marker that may come before it in the same bracket.
_AFTER: Final[list[tuple[int, ...]]] = [(), (), (), (), (), (), (IF, THEN), (ELIF,), (IF, THEN), (WHILE,), (BLOCK, LOOP, FOR, IF, THEN, ELSE, DO)]


class BracketError(VerifyError):
    """Brackets that do not match. ``index`` is the instruction where it shows."""

    def __init__(self, message: str, index: int, line: int = 0) -> None:
        self.index = index
        super().__init__(message, "", line)


def match(code: list[Instr]) -> list[int]:
    """Partners of the bracket markers.

    Entry ``i`` of the result is, for

    * a marker that opens (``block loop for if while`` and the middle ones ``elif then else do``): the index of
      the next marker of the same bracket, so that following it from an ``if`` visits ``elif``, ``then``, …, ``end``;
    * an ``end``: the index of the marker that began the bracket;
    * any other instruction: -1.

    Raises ``BracketError`` where brackets do not match.
    """
    partner = [-1] * len(code)
    first: list[int] = []
    last: list[int] = []
    kinds = KIND
    index = -1
    for instr in code:
        index += 1
        op = instr.op
        if op.closes:
            kind = kinds[op.code]
            if not last:
                raise BracketError(f"`{op.name}` without an open bracket", index, instr.line)
            previous = last[-1]
            if kinds[code[previous].op.code] not in _AFTER[kind]:
                raise BracketError(f"`{op.name}` cannot follow `{code[previous].op.name}` in a bracket", index, instr.line)
            partner[previous] = index
            if kind == END:
                partner[index] = first.pop()
                last.pop()
            else:
                last[-1] = index
        elif op.opens:
            first.append(index)
            last.append(index)
    if last:
        raise BracketError(f"`{code[first[-1]].op.name}` is never closed: `end` missing", first[-1], code[first[-1]].line)
    return partner


def end_of(code: Sequence[Instr], partner: Sequence[int] | dict[int, int], start: int) -> int:
    """Where the bracket that begins at a position ends, past its ``else`` or ``do``; ``partner`` is what ``match`` gives."""
    end = partner[start]
    while code[end].op is not ops.END:
        end = partner[end]
    return end
