"""Preparing a function to be interpreted: its instructions become steps, once, and its operands places in the store of each call."""

from __future__ import annotations

from typing import Any, Final

from loopwright.ir import ops
from loopwright.ir.brackets import BLOCK, DO, ELIF, ELSE, END, FOR, IF, KIND, PLAIN, THEN, WHILE, match
from loopwright.ir.function import NONE, SLOT, SPILL, Function, Instr
from loopwright.ir.interpreter import steps
from loopwright.ir.interpreter.errors import InterpreterBoundsError, InterpreterError
from loopwright.ir.interpreter.pointers import pointer_meaning
from loopwright.ir.interpreter.steps import KINDS, Step
from loopwright.ir.interpreter.values import constant
from loopwright.ir.memory_model import Memory
from loopwright.ir.roles import address_at, operand_types
from loopwright.ir.stages import STAGES
from loopwright.ir.text import Printer, instruction_text
from loopwright.types import PTR, VOID

__all__ = ["Prepared"]

#: The target of a step that leads to a label, until all labels are known.
_TO_LABEL: Final = -2
#: What leaves or repeats a bracket, and what leads to a label.
_BRANCHES: Final = frozenset((ops.BR, ops.BR_IF, *ops.BR_CMP.values()))
_JUMPS: Final = frozenset((ops.JUMP, ops.JUMP_IF, ops.JUMP_UNLESS, ops.JUMP_TABLE, *ops.JUMP_CMP.values()))


class _Brackets:
    """The brackets of a function, gone through from its first instruction to its last: where the steps that are brackets lead, and the branches among them."""

    def __init__(self, code: list[Instr]) -> None:
        self._code = code
        self._partner = match(code)
        #: By the index of what opens a bracket, that of its end.
        self._ends = {first: index for index, first in enumerate(self._partner) if 0 <= first < index}
        #: The indices of what opened the brackets that are open.
        self.open: list[int] = []

    def _kind(self, index: int) -> int:
        return KIND[self._code[index].op.code]

    def resolve(self, step: Step, kind: int, index: int) -> None:
        """Say what a bracket does, and where it leads."""
        if kind == END:
            opener = self.open.pop()
            first = self._kind(opener)
            if first == FOR:
                step.kind = steps.STEP
                step.target = opener
            elif first == WHILE:
                step.kind = steps.GOTO
                step.target = opener
            else:
                step.kind = steps.NEXT
            return
        if kind in (ELIF, ELSE):
            # Reached only from the section before, which ends the whole `if`.
            step.kind = steps.GOTO
            step.target = self._ends[self.open[-1]] + 1
            return
        if kind in (IF, THEN, DO):
            step.kind = steps.CASE if step.instr.op is ops.IF_CASE else steps.UNLESS
            step.target = self._partner[index] + 1
        elif kind == FOR:
            step.kind = steps.FOR
            step.target = self._partner[index]
        else:
            step.kind = steps.NEXT
        if kind not in (THEN, DO):
            self.open.append(index)

    def target(self, depth: int) -> int:
        """Where a branch leads that leaves or repeats the bracket so many outside the innermost."""
        opener = self.open[-1 - depth]
        kind = self._kind(opener)
        if kind not in (BLOCK, IF, FOR):
            return opener
        # A `for` is repeated at its end, which makes the next step.
        end = self._ends[opener]
        return end if kind == FOR else end + 1


class Prepared:
    """A function made ready for any number of calls.

    Attributes:
        f: the function.
        target: as the interpreter was given it.
        physical: its registers are the target's.
        traced: its pointers have objects, as in a program as it is written; passes compute addresses in other ways.
        registers: how many registers there are: they come first in the store of a call, then constants, then slots.
        constants: their values.
        slots: the place of the first slot.
        overlapping: for each slot, the places of the others that share bytes with it.
        steps: what is executed.
    """

    __slots__ = ("_memory", "constants", "f", "overlapping", "physical", "registers", "slots", "steps", "target", "traced")

    def __init__(self, f: Function, target: Any, memory: Memory) -> None:
        self.f = f
        self.target = target
        self._memory = memory
        self.traced = f.stage == STAGES[0]
        self.physical = f.physical
        if self.physical and target is None:
            raise InterpreterError(f"{f.name}: a function after allocation needs its target to be interpreted")
        self.registers = len(target.registers) if self.physical else len(f.types)
        self.constants = [constant(t, v) for t, v in zip(f.const_types, f.const_values, strict=True)]
        self.slots = self.registers + len(self.constants)
        self.overlapping = self._overlapping_slots()
        self.steps = self._made_steps()

    def _overlapping_slots(self) -> list[list[int]]:
        slots = self.f.slots
        out: list[list[int]] = []
        for a in slots:
            others = [
                self.slots + k
                for k, b in enumerate(slots)
                if b is not a and a.kind == SPILL and b.kind == SPILL and a.offset < b.offset + b.size and b.offset < a.offset + a.size
            ]
            out.append(others)
        return out

    # --- operands -----------------------------------------------------------------------------------------

    def place(self, operand: int) -> int:
        """Where an operand is in the store."""
        if operand < 0:
            place = self.registers + ~operand
            if place >= self.slots:
                raise InterpreterError(f"{self.f.name}: there is no constant number {~operand}")
            return place
        if operand >= SLOT:
            if operand - SLOT >= len(self.f.slots):
                raise InterpreterError(f"{self.f.name}: there is no slot @s{operand - SLOT}")
            return self.slots + operand - SLOT
        if operand >= self.registers:
            raise InterpreterError(f"{self.f.name}: there is no register {operand}")
        return operand

    def shown(self, place: int) -> str:
        """The operand at a place, for messages."""
        if place >= self.slots:
            operand = SLOT + place - self.slots
        elif place >= self.registers:
            operand = ~(place - self.registers)
        else:
            operand = place
        return Printer(self.f, self.target).operand(operand)

    # --- steps --------------------------------------------------------------------------------------------

    def _made_steps(self) -> list[Step]:
        code = self.f.code
        brackets = _Brackets(code)
        labels: dict[int, int] = {}
        made: list[Step] = []
        for index, instr in enumerate(code):
            step = self._step(instr)
            op = instr.op
            kind = KIND[op.code] if op.opens or op.closes else PLAIN
            if kind == PLAIN:
                self._plain(step, brackets)
            else:
                brackets.resolve(step, kind, index)
            if op is ops.LABEL:
                labels[instr.imm] = index
            made.append(step)
        for step in made:
            if step.target == _TO_LABEL:
                label = labels.get(step.instr.imm)
                if label is None:
                    raise self.error(step.instr, f"there is no label L{step.instr.imm}")
                step.target = label
        return made

    def _step(self, instr: Instr) -> Step:
        """An instruction with the places of its operands, and what it compares; what it does is not known yet."""
        step = Step(instr)
        op = instr.op
        step.dst = self.place(instr.dst) if instr.dst != NONE else NONE
        step.address = address_at(instr)
        step.wants = operand_types(self.f, instr)
        if len(instr.args) < len(step.wants):
            raise self.error(instr, f"{len(instr.args)} operands, needs {len(step.wants)}")
        places = [self.place(x) for x in instr.args]
        step.reads = places
        if self.physical:
            used = len(step.wants)
            while used and step.wants[used - 1] is VOID and op.effect != ops.CALLS and op not in ops.CALLING:
                used -= 1
            step.reads = places[:used]
            step.temps = places[used:]
            rule = instr.rule
            if rule is not None and op.effect != ops.CALLS:
                step.kills = rule.kills
                step.clobbers = rule.clobbers
        if op.compare and op.compare != "case":
            comparison = op.compare[1:] if op.compare[0] == "n" and op.compare != "ne" else op.compare
            test = ops.TESTS.get(comparison) or ops.MASK_TESTS.get(comparison)
            step.compare = test if test is not None else ops.COMPARISONS[comparison].meaning
            step.negated = comparison != op.compare
        return step

    def _plain(self, step: Step, brackets: _Brackets) -> None:
        """Say what a step does that is no bracket."""
        instr = step.instr
        op = instr.op
        if op.meaning is not None:
            if self.traced and (instr.type is PTR or op is ops.CONVERT):
                step.meaning = pointer_meaning(instr, self._memory) or step.meaning
            if self.physical and op is ops.COPY and step.mem is None:
                step.kind = steps.MOVE
            return
        if op is ops.INCOMING:
            raise self.error(instr, "the arguments on the stack have no address here: the interpreter passes them otherwise")
        kind = KINDS.get(op)
        if kind is None:
            raise self.error(instr, f"`{op.name}` cannot be interpreted")
        step.kind = kind
        if kind in (steps.LOAD, steps.STORE):
            self._check_number(instr, "array", len(self.f.arrays))
        elif kind == steps.UPDATE:
            step.meaning = ops.DONE_IN_PLACE[op].meaning
        elif kind == steps.CALL:
            step.leaves = op.effect == ops.CONTROL
            self._check_number(instr, "callee", len(self.f.callees))
        elif kind == steps.SWAP and self.physical:
            step.kind = steps.MOVE
        elif op in _BRANCHES:
            if not 0 <= instr.imm < len(brackets.open):
                raise self.error(instr, f"branch depth {instr.imm} with {len(brackets.open)} brackets open")
            step.target = brackets.target(instr.imm)
        elif op in _JUMPS:
            step.target = _TO_LABEL

    def _check_number(self, instr: Instr, what: str, count: int) -> None:
        if not 0 <= instr.imm < count:
            raise self.error(instr, f"there is no {what} number {instr.imm}")

    # --- errors -------------------------------------------------------------------------------------------

    def error(self, instr: Instr, problem: str) -> InterpreterError:
        """The error of an instruction."""
        return InterpreterError(self.message(instr, problem), self.f.file, instr.line)

    def outside(self, instr: Instr, problem: str) -> InterpreterBoundsError:
        """The error of an access that is refused."""
        return InterpreterBoundsError(self.message(instr, problem), self.f.file, instr.line)

    def message(self, instr: Instr, problem: str) -> str:
        """What is wrong, behind the instruction in which it is."""
        return f"{self.f.name}: `{instruction_text(self.f, instr, self.target)}`: {problem}"

    def undefined(self, step: Step, place: int) -> InterpreterError:
        """The error of reading what holds nothing."""
        if self.physical:
            return self.error(step.instr, f"{self.shown(place)} holds nothing: never written, or destroyed since")
        return self.error(step.instr, f"{self.shown(place)} is read before it is written")
