"""The lower-late pass: what is tied shares a register, copies that copy nothing go; and the frame that allocation puts around a function."""

from __future__ import annotations

from typing import Any

import pytest

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.passes import lower_late
from loopwright.passes.allocate import frame
from loopwright.targets.target import ANY_TIED, Rule, Target, Use
from loopwright.types import F64, I64, VOID

MADE = Rule("made", (Use(0),), Use(0), lambda *_: None)


class Late(Target):
    """A target that makes one rule for everything."""

    def __init__(self) -> None:
        pass

    def rule(self, function: Function, instr: Instr) -> Rule:
        return MADE


def late(*instructions: tuple[ops.Op, int, list[int], Any]) -> list[tuple[str, int, list[int]]]:
    """What is left of instructions on physical registers: (operation, result, operands); the rules are (tied, commutes) or None."""
    f = Function("f", I64)
    for op, dst, args, rule in instructions:
        instr = Instr(op, I64, dst, list(args), 0, 7)
        if rule is not None:
            instr.rule = Rule(op.name, (Use(0),) * len(args), Use(0), lambda *_: None, rule[0], rule[1])
        f.code.append(instr)
    lower_late.run(f, Late())
    assert all(instr.rule is not None for instr in f.code)
    for instr in f.code:
        assert (instr.rule is MADE) == (instr.op is ops.COPY)
        assert instr.line == 7 and instr.type is I64
    return [(instr.op.name, instr.dst, instr.args) for instr in f.code]


@pytest.mark.parametrize(
    ("instr", "wanted"),
    [
        # The result is where the tied operand is.
        ((ops.SUB, 1, [1, 2], (0, False)), [("sub", 1, [1, 2])]),
        ((ops.SUB, 1, [2, 1], (1, False)), [("sub", 1, [2, 1])]),
        # It is not: copied there first.
        ((ops.SUB, 3, [1, 2], (0, False)), [("copy", 3, [1]), ("sub", 3, [3, 2])]),
        ((ops.SUB, 3, [1, 2], (1, False)), [("copy", 3, [2]), ("sub", 3, [1, 3])]),
        # It is where the other one is, and they may be exchanged.
        ((ops.ADD, 2, [1, 2], (0, True)), [("add", 2, [2, 1])]),
        ((ops.ADD, 1, [1, 2], (1, True)), [("add", 1, [2, 1])]),
        ((ops.ADD, 3, [1, 2], (0, True)), [("copy", 3, [1]), ("add", 3, [3, 2])]),
        ((ops.ADD, 1, [1, 1], (0, True)), [("add", 1, [1, 1])]),
        # Three operands, of which the first two may be exchanged.
        ((ops.FMA, 2, [1, 2, 4], (0, True)), [("fma", 2, [2, 1, 4])]),
        ((ops.FMA, 3, [1, 2, 4], (2, False)), [("copy", 3, [4]), ("fma", 3, [1, 2, 3])]),
        # Nothing is tied, or it is a mere wish, or there is no result.
        ((ops.ADD, 3, [1, 2], (-1, False)), [("add", 3, [1, 2])]),
        ((ops.FMA, 3, [1, 2, 4], (ANY_TIED, False)), [("fma", 3, [1, 2, 4])]),
        ((ops.ADD, NONE, [1, 2], (0, False)), [("add", NONE, [1, 2])]),
        # Register 0 is one like any other.
        ((ops.SUB, 0, [1, 2], (0, False)), [("copy", 0, [1]), ("sub", 0, [0, 2])]),
        ((ops.SUB, 1, [0, 2], (0, False)), [("copy", 1, [0]), ("sub", 1, [1, 2])]),
        # Copies that copy nothing go, others stay, and get a rule.
        ((ops.COPY, 2, [2], None), []),
        ((ops.COPY, 2, [3], None), [("copy", 2, [3])]),
        ((ops.COPY, 2, [-1], None), [("copy", 2, [-1])]),
    ],
)
def test_what_is_tied_shares_a_register(instr: Any, wanted: list[tuple[str, int, list[int]]]) -> None:
    assert late(instr) == wanted


@pytest.mark.parametrize(
    ("result", "code", "wanted"),
    [
        (VOID, [], "prologue epilogue ret"),
        (VOID, ["add"], "prologue add epilogue ret"),
        (VOID, ["add", "ret"], "prologue add epilogue ret"),
        (VOID, ["ret", "add"], "prologue epilogue ret add epilogue ret"),
        (F64, ["add", "ret"], "prologue add epilogue ret"),
        (F64, ["ret", "add"], "prologue epilogue ret add"),
    ],
)
def test_a_frame_is_entered_once_and_left_at_every_return(result: Any, code: list[str], wanted: str) -> None:
    f = Function("f", result)
    f.code = [Instr(ops.RET, VOID, NONE, [], 0, 5) if name == "ret" else Instr(ops.ADD, I64, 1, [1, 1], 0, 4) for name in code]
    frame(f)
    assert " ".join(instr.op.name for instr in f.code) == wanted
    assert all(before.line in (0, 5) for before in f.code if before.op is ops.EPILOGUE)
