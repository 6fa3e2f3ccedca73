"""Writing instructions into a function: brackets and branches, taking back, and where an error is reported.

Nothing here knows of the values of expressions, nor of their types.
"""

from __future__ import annotations

from typing import Any, NoReturn

from loopwright.errors import KernelTypeError, LoopwrightError
from loopwright.frontend.promotion import fitting
from loopwright.ir import ops
from loopwright.ir.brackets import DEEPEST
from loopwright.ir.function import NONE, Function, Instr, Loop
from loopwright.ir.ops import Op
from loopwright.types import VOID, Type

__all__ = ["InstructionEmitter", "KernelAround", "Mark"]


class KernelAround:
    """What is asked of the kernel that is being staged, by what emits for it and by values.

    Attributes:
        cells: id of a list or dictionary -> index -> the variable that the element is.
    """

    cells: dict[int, dict[Any, Any]]

    def place(self) -> str:
        """The statement being staged and the calls that lead to it, in the words of an error at run time."""
        raise NotImplementedError

    def call(self, function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A call in the kernel."""
        raise NotImplementedError


class Mark:
    """A point to which emission can be rolled back. ``last`` is the instruction before it, or None."""

    __slots__ = ("brackets", "branches", "code", "last", "registers", "sites")

    def __init__(self, code: int, last: Instr | None, registers: int, brackets: int, branches: int, sites: int) -> None:
        self.code = code
        self.last = last
        self.registers = registers
        self.brackets = brackets
        self.branches = branches
        self.sites = sites


class InstructionEmitter:
    """Emits into one function.

    Attributes:
        f: the function.
        code: its list of instructions.
        line: the user's line, for the next instruction.
        at_file, at_line: where an error is reported.
        brackets: the open brackets' first instructions, outermost first.
        branches: (instruction, index of its bracket in ``brackets``) of every br so far.
        in_lanes: inside a loop over lw.lanes.
        active: registers of variables that may still be written: a reading that is kept is a copy.
        staging: the staging of a kernel that this belongs to, or None.
        errors: register of the hidden parameter of a checked function, or NONE.
        tables: constant tables by element type, shape and bytes -> the number of the array.
        regions: number of run-time brackets opened so far; ``region`` is the innermost one's.
    """

    def __init__(self, f: Function) -> None:
        self.f = f
        self.code = f.code
        self.line = 0
        self.at_file = f.file
        self.at_line = 0
        self.brackets: list[Instr] = []
        self.branches: list[tuple[Instr, int]] = []
        self.in_lanes = False
        self.active: set[int] = set()
        self.errors = NONE
        self.regions = 0
        self.region = 0
        self.staging: KernelAround | None = None
        self.tables: dict[tuple[Type, tuple[int, ...], bytes], int] = {}

    # --- errors -------------------------------------------------------------------------------------------

    def wrong(self, message: str) -> KernelTypeError:
        """An error at the user's line."""
        return KernelTypeError(message, self.at_file, self.at_line)

    def fail(self, message: str) -> NoReturn:
        raise KernelTypeError(message, self.at_file, self.at_line)

    def located(self, error: LoopwrightError) -> LoopwrightError:
        """Give an error raised without a position the current one."""
        if not error.file and not error.line:
            error.locate(self.at_file, self.at_line)
        return error

    # --- instructions -------------------------------------------------------------------------------------

    def define(self, op: Op, type_: Type, args: list[int], result: Type, source: Type = VOID, imm: int = 0) -> int:
        """Emit an instruction that defines a new register."""
        return self.f.define(op, type_, args, result, source, imm, self.line)

    def emit(self, op: Op, type_: Type, args: list[int], imm: int = 0) -> Instr:
        """Emit an instruction without a result."""
        return self.f.emit(op, type_, NONE, args, imm, self.line)

    def copy_to(self, register: int, type_: Type, operand: int) -> Instr:
        return self.f.emit(ops.COPY, type_, register, [operand], 0, self.line)

    def number(self, type_: Type, value: float | bool) -> int:
        """The constant operand for a Python number that adapts to ``type_``; refused where it does not fit."""
        try:
            return self.f.const(type_, fitting(type_, value))
        except KernelTypeError as error:
            raise self.located(error) from None

    # --- brackets -----------------------------------------------------------------------------------------

    def open(self, op: Op, type_: Type, args: list[int], dst: int = NONE, loop: Loop | None = None) -> Instr:
        if len(self.brackets) >= DEEPEST:
            self.fail(f"loops, ifs and blocks nest at most {DEEPEST} deep")
        instr = self.f.emit(op, type_, dst, args, 0, self.line)
        if loop is not None:
            instr.loop = loop
        self.brackets.append(instr)
        return instr

    def close(self) -> Instr:
        """Close the innermost bracket; the ``end`` instruction."""
        self.brackets.pop()
        return self.emit(ops.END, VOID, [])

    def branch(self, opener: Instr, condition: int | None = None) -> Instr:
        """Leave or repeat a bracket, when the condition holds if there is one."""
        depth = len(self.brackets) - 1
        index = depth
        while self.brackets[index] is not opener:
            index -= 1
        instr = self.emit(ops.BR, VOID, [], depth - index) if condition is None else self.emit(ops.BR_IF, VOID, [condition], depth - index)
        self.branches.append((instr, index))
        return instr

    def drop_block(self, opener: Instr, branches: int, used: bool) -> Instr | None:
        """Close a block; when no br needs it, remove it instead. ``branches`` is the count of them when it was opened."""
        if used:
            return self.close()
        depth = len(self.brackets) - 1
        self.brackets.pop()
        code = self.code
        position = len(code) - 1
        while code[position] is not opener:
            position -= 1
        del code[position]
        for k in range(branches, len(self.branches)):
            instr, index = self.branches[k]
            if index < depth:
                instr.imm -= 1
            elif index > depth:
                self.branches[k] = (instr, index - 1)
        return None

    def mark(self) -> Mark:
        code = self.code
        return Mark(len(code), code[-1] if code else None, len(self.f.types), len(self.brackets), len(self.branches), len(self.f.sites))

    def rollback(self, mark: Mark) -> None:
        """Forget everything emitted since the mark."""
        f = self.f
        code = self.code
        position = mark.code
        while position and code[position - 1] is not mark.last:
            # Something was put in before it, and stays; so do its registers.
            position += 1
        for instr in code[position:]:
            # Open types that are settled later leave it alone.
            instr.dst = NONE
        del code[position:]
        if position == mark.code:
            del f.types[mark.registers :]
            del f.names[mark.registers :]
            del f.variable[mark.registers :]
        del self.brackets[mark.brackets :]
        del self.branches[mark.branches :]
        del f.sites[mark.sites :]

    def insert_before(self, anchor: Instr, since: int) -> None:
        """Move what was emitted since position ``since`` to before an earlier instruction."""
        code = self.code
        moved = code[since:]
        if not moved:
            return
        del code[since:]
        position = len(code) - 1
        while code[position] is not anchor:
            position -= 1
        line = anchor.line
        for instr in moved:
            instr.line = line
        code[position:position] = moved
