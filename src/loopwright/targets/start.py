"""Entry code of a static executable for Linux: makes the calls a table lists, then writes memory out and exits.

The program is written once, in the few steps that a machine's subclass of ``Start`` emits. The table's records are laid out by ``RECORD`` and the offsets below.
Around each call the callee-saved registers hold known values, so that a function that does not preserve them is found out.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = ["BROKEN_CONVENTION", "FLOATS", "FLOAT_RESULT", "FUNCTION", "INTS", "INT_RESULT", "RECORD", "STACK", "STACK_BYTES", "Start"]

# Offsets in a record, all of 64-bit values.
FUNCTION: Final = 0
INTS: Final = 8
FLOATS: Final = 72
STACK_BYTES: Final = 136
STACK: Final = 144
INT_RESULT: Final = 152
FLOAT_RESULT: Final = 160
RECORD: Final = 168

#: Exit status when a callee-saved register or the stack pointer came back changed.
BROKEN_CONVENTION: Final = 3
#: Exit status when memory could not be written out.
_NO_OUTPUT: Final = 4

# System calls of Linux (include/uapi/asm-generic/unistd.h).
_WRITE: Final = 64
_EXIT: Final = 93


class Start:
    """What the program is written with; registers by the machine's numbers.

    Attributes:
        asm: the machine's assembler.
        stack: the stack pointer.
        argument: the first of the registers for arguments, of functions and of the system, which answers there.
        number: where the system wants the number of a call.
        at: where the record of the call that is made stays; top: the stack pointer at the call. Functions preserve both.
        scratch: three registers for anything in between; the system preserves them.
    """

    __slots__ = ("argument", "asm", "at", "number", "scratch", "stack", "top")

    def __init__(self, asm: Any, stack: int, argument: int, number: int, at: int, top: int, scratch: tuple[int, int, int]) -> None:
        self.asm = asm
        self.stack = stack
        self.argument = argument
        self.number = number
        self.at = at
        self.top = top
        self.scratch = scratch

    # --- what a machine emits -----------------------------------------------------------------------------

    def load(self, to: int, base: int, offset: int) -> None:
        """64 bits from memory."""
        raise NotImplementedError

    def store(self, of: int, base: int, offset: int) -> None:
        """64 bits to memory."""
        raise NotImplementedError

    def add(self, to: int, a: int, b: int) -> None:
        """A sum of registers, the stack pointer among them."""
        raise NotImplementedError

    def subtract(self, to: int, a: int, b: int) -> None:
        """A difference of registers, the stack pointer among them."""
        raise NotImplementedError

    def advance(self, to: int, of: int, by: int) -> None:
        """A register and a small number; a copy where that is 0."""
        raise NotImplementedError

    def branch_zero(self, of: int, label: int) -> None:
        """To a label where a register is 0."""
        raise NotImplementedError

    def branch_none(self, of: int, label: int) -> None:
        """To a label where a register is 0 or negative."""
        raise NotImplementedError

    def system_call(self) -> None:
        """The call whose number and arguments are in their registers."""
        raise NotImplementedError

    def fill(self) -> None:
        """Register arguments from the record, known values in what must be preserved, the stack pointer in ``top``."""
        raise NotImplementedError

    def call(self) -> None:
        """Call the function of the record, by way of a scratch register."""
        raise NotImplementedError

    def compare(self, broken: int) -> None:
        """To a label where the stack pointer or anything that must be preserved is not as ``fill`` left it."""
        raise NotImplementedError

    def store_results(self) -> None:
        """Both result registers into the record."""
        raise NotImplementedError

    # --- what the system does -----------------------------------------------------------------------------

    def write(self, place: int, size: int) -> None:
        """So many bytes, from where a register says, to the standard output; how many that were, or a negative number, goes to the argument register."""
        self.asm.load_immediate(self.argument, 1)
        self.advance(self.argument + 1, place, 0)
        self.advance(self.argument + 2, size, 0)
        self.asm.load_immediate(self.number, _WRITE)
        self.system_call()

    def exit(self) -> None:
        """End the program, with the argument register for its status."""
        self.asm.load_immediate(self.number, _EXIT)
        self.system_call()

    # --- the program --------------------------------------------------------------------------------------

    def entry(self, records: int, count: int, regions: int, region_count: int) -> bytes:
        """The code of ``_start``, which stands at a multiple of 16.

        Args:
            records: address of the calls' records, in the order they are made; results are stored into them.
            count: how many.
            regions: address of pairs of 64-bit values: address and size of memory to write to the standard output.
            region_count: how many pairs; 0 where output is taken from memory.
        """
        asm = self.asm
        broken, leave = asm.new_label(), asm.new_label()
        self.make_calls(records, count, broken)
        if region_count:
            self.write_out(regions, region_count, leave)
        else:
            asm.load_immediate(self.argument, 0)
            asm.jump(leave)
        asm.bind(broken)
        asm.load_immediate(self.argument, BROKEN_CONVENTION)
        asm.bind(leave)
        self.exit()
        data: bytes = asm.encode().data
        return data

    def make_calls(self, records: int, count: int, broken: int) -> None:
        """All calls; how many are left is kept on the stack."""
        asm, stack, at = self.asm, self.stack, self.at
        left = self.scratch[0]
        again, done = asm.new_label(), asm.new_label()
        asm.load_immediate(at, records)
        self.advance(stack, stack, -16)
        asm.load_immediate(left, count)
        self.store(left, stack, 0)
        asm.bind(again)
        self.load(left, stack, 0)
        self.branch_zero(left, done)
        self.advance(left, left, -1)
        self.store(left, stack, 0)
        self.push_arguments()
        self.fill()
        self.call()
        self.compare(broken)
        self.store_results()
        self.load(left, at, STACK_BYTES)
        self.add(stack, stack, left)
        self.advance(at, at, RECORD)
        asm.jump(again)
        asm.bind(done)

    def push_arguments(self) -> None:
        """Stack arguments, the last one first."""
        asm, stack, at = self.asm, self.stack, self.at
        left, source, value = self.scratch
        copy, copied = asm.new_label(), asm.new_label()
        self.load(left, at, STACK_BYTES)
        self.load(source, at, STACK)
        self.add(source, source, left)
        asm.bind(copy)
        self.branch_zero(left, copied)
        self.advance(source, source, -16)
        self.advance(stack, stack, -16)
        for half in (0, 8):
            self.load(value, source, half)
            self.store(value, stack, half)
        self.advance(left, left, -16)
        asm.jump(copy)
        asm.bind(copied)

    def write_out(self, regions: int, region_count: int, leave: int) -> None:
        """All regions to the standard output; then to ``leave``, with the exit status for argument."""
        asm, at, left, status = self.asm, self.at, self.top, self.argument
        place, size, _ = self.scratch
        region, more, written, fail = (asm.new_label() for _ in range(4))
        asm.load_immediate(at, regions)
        asm.load_immediate(left, region_count)
        asm.bind(region)
        asm.load_immediate(status, 0)
        self.branch_zero(left, leave)
        self.load(place, at, 0)
        self.load(size, at, 8)
        asm.bind(more)
        self.branch_zero(size, written)
        self.write(place, size)
        # A pipe may take a part only; an error is negative, and nothing written is one too.
        self.branch_none(status, fail)
        self.add(place, place, status)
        self.subtract(size, size, status)
        asm.jump(more)
        asm.bind(written)
        self.advance(at, at, 16)
        self.advance(left, left, -1)
        asm.jump(region)
        asm.bind(fail)
        asm.load_immediate(status, _NO_OUTPUT)
        asm.jump(leave)
