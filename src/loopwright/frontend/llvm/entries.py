"""Functions with a variable number of arguments as others call them: by the convention of C, from another object or by their address.

Functions of one module pass each other such arguments in memory (``CallWriter.listed``). What others call is an *entry*: it stores the registers that arguments may be in, makes a list of C's of them and
of what is on the stack, and calls the function itself, which has a name of its own then (``hidden``).
"""

from __future__ import annotations

import re
from typing import Final

from loopwright.frontend.llvm.abi import Abi
from loopwright.frontend.llvm.accesses import Place
from loopwright.frontend.llvm.calls import CallWriter
from loopwright.frontend.llvm.routines import PREFIX
from loopwright.frontend.llvm.syntax import LlvmFunction, LlvmModule
from loopwright.frontend.llvm.types import Layout
from loopwright.ir import ops
from loopwright.ir.function import EVEN, NONE, RESULT_ADDRESS, STACK, STACK_16, TOGETHER, USUAL, Function, Instr
from loopwright.types import F64, I32, I64, PTR, VOID, Type

__all__ = ["entered", "entry", "hidden"]

#: Registers for arguments that are no floats, and for floats.
_REGISTERS: Final[dict[str, tuple[int, int]]] = {"x86_64": (6, 8), "aarch64": (8, 8), "riscv64": (8, 8)}
#: The bytes that a register for floats takes where registers are stored.
_FLOAT: Final = 16


def hidden(name: str) -> str:
    """What a function itself is called where its entry has its name."""
    return f"{PREFIX}listed_{name}"


def entered(module: LlvmModule, exported: bool) -> set[str]:
    """The functions of a module that need an entry: whose address is taken, that ``exported`` says other objects see, or that may take integers of 128 bits from their list.

    (On x86-64 clang passes such an integer as two of 64; where it lies depends on the registers that are left.)
    """
    variable = {f"@{name}": name for name, function in module.functions.items() if function.variadic and function.blocks}
    if not variable:
        return set()
    written = "|".join(re.escape(f'@"{name}"') + "|" + re.escape(f"@{name}") for name in variable.values())
    # (A name with a bracket behind it is called, or defined.)
    addressed = re.compile(rf"(?:{written})(?![-\w$.\"(])")
    text = "\n".join(module.text)
    made = {variable[found.replace('"', "")] for found in addressed.findall(text)}
    if module.triple.startswith("x86_64") and re.search(r"\bi128\b", text):
        return set(variable.values())
    if exported:
        made.update(name for name, function in module.functions.items() if name in variable.values() and not function.local)
    return made


def entry(function: LlvmFunction, module: LlvmModule, layout: Layout, abi: Abi) -> Function:
    """The entry of a function.

    Raises ``UnsupportedOperationError`` for a machine, or a signature, that has none.
    """
    return _EntryWriter(Function(function.name, VOID), module, layout, abi).run(function)


class _EntryWriter(CallWriter):
    """Writes an entry."""

    def run(self, function: LlvmFunction) -> Function:
        f = self.f
        machine = self.module.triple.partition("-")[0]
        named = self.shared(function)
        if machine not in _REGISTERS:
            what = f"{function.name}, which takes a variable number of arguments, called by its address or from another object"
            raise self.module.unsupported(f"{what}, is not supported for {machine}", function.line)
        f.file, f.result, f.results = self.module.file, named.result, named.results
        several = len(named.results) > 0
        params = named.params[:-1] if several else named.params
        given = [f.param(type_, f"a{n}") for n, type_ in enumerate(params)]
        taken = _Taken(_REGISTERS[machine], machine)
        for type_, place in zip(params, named.places or (USUAL,) * len(params), strict=False):
            taken.take(type_, place)
        rest_ints = [f.param(I64, f"i{n}") for n in range(taken.ints, taken.registers[0])]
        # (On RISC-V floats without a name are in the registers of integers.)
        rest_floats = [f.param(F64, f"f{n}") for n in range(taken.floats, taken.registers[1] if machine != "riscv64" else 0)]
        memory = f.param(PTR, "result") if several else NONE
        if named.places:
            places = list(named.places[: len(params)])
            f.places = (*places, *(USUAL,) * (len(f.params) - len(places)))
        stack = taken.stack + 7 & -8
        list_ = self._pointer(rest_ints, stack) if machine == "riscv64" else self._list(machine, rest_ints, rest_floats, stack)
        self._call(function, [*given, list_, *([memory] if several else [])])
        return f

    def _list(self, machine: str, ints: list[int], floats: list[int], stack: int) -> int:
        """A list of C's (System V ABI, AMD64 supplement, 3.5.7; Procedure Call Standard for the Arm 64-bit Architecture, appendix B)."""
        whole, vectors = _REGISTERS[machine]
        end = 8 * whole + _FLOAT * vectors
        saved = self.frame_memory(end, 16, "")
        for n, register in enumerate(ints):
            self.store_whole(register, _at(saved, 8 * (whole - len(ints) + n)))
        for n, register in enumerate(floats):
            self.store_whole(register, _at(saved, end - _FLOAT * (len(floats) - n)))
        list_ = self.frame_memory(32, 16, "")
        on_stack = self._incoming(stack)
        if machine == "x86_64":
            numbers, addresses = [(0, 8 * (whole - len(ints))), (4, end - _FLOAT * len(floats))], [(8, on_stack), (16, saved)]
        else:
            numbers = [(24, -8 * len(ints)), (28, -_FLOAT * len(floats))]
            tops = [self.emit(ops.ADD, I64, [self.convert(saved, I64), self.f.const(I64, at)]) for at in (8 * whole, end)]
            addresses = [(0, on_stack), (8, self.convert(tops[0], PTR)), (16, self.convert(tops[1], PTR))]
        for at, number in numbers:
            self.store_whole(self.f.const(I32, number), _at(list_, at))
        for at, address in addresses:
            self.store_whole(address, _at(list_, at))
        return list_

    def _pointer(self, ints: list[int], stack: int) -> int:
        """A list that is one pointer: the registers are stored right below the arguments on the stack (RISC-V ELF psABI, "Variadic arguments")."""
        memory = self._incoming(-8 * len(ints) if ints else stack)
        for n, register in enumerate(ints):
            self.store_whole(register, _at(memory, 8 * n))
        list_ = self.frame_memory(8, 16, "")
        self.store_whole(memory, _at(list_, 0))
        return list_

    def _incoming(self, at: int) -> int:
        """The address of the arguments on the stack, from so many bytes on."""
        made = self.f.register(PTR, "")
        self.code.append(Instr(ops.INCOMING, PTR, made, [self.f.const(I64, at)], 0, self.line))
        return made

    def _call(self, function: LlvmFunction, arguments: list[int]) -> None:
        callee = self.signature(function)
        number = self.callee((callee.name,), callee)
        if callee.result is VOID:
            self.put(ops.CALL_VOID, VOID, arguments, number)
            self.put(ops.RET, VOID, [])
            return
        made = self.emit(ops.CALL, callee.result, arguments, imm=number)
        self.put(ops.RET, VOID, [made])


def _at(memory: int, offset: int) -> Place:
    return Place(memory, None, 1, offset, -1)


class _Taken:
    """How many registers of both kinds, and bytes of the stack, parameters take, one after the other.

    Attributes:
        grouped: parts of one argument stay together, and the address of a result has a register of its own, as on AArch64.
        divided: one argument may be in a register and on the stack, and floats are in registers of integers where those of floats are used up, as on RISC-V.
    """

    __slots__ = ("divided", "floats", "grouped", "halves", "ints", "registers", "stack", "together")

    def __init__(self, registers: tuple[int, int], machine: str) -> None:
        self.registers = registers
        self.grouped = machine == "aarch64"
        self.divided = machine == "riscv64"
        self.ints = self.floats = self.stack = self.together = self.halves = 0

    def take(self, type_: Type, place: int) -> None:
        if place == EVEN and not self.grouped and not self.divided and self.ints + 2 > self.registers[0]:
            self.halves = 2
        elif self.divided and place == EVEN and self.ints >= self.registers[0]:
            self.stack = self.stack + 15 & -16
        if place in (STACK, STACK_16):
            self.on_stack(place, 8)
        elif self.halves:
            self.on_stack(8 * self.halves, 8)
            self.halves -= 1
        elif place != RESULT_ADDRESS or not self.grouped:
            if self.grouped and (place == EVEN or place > TOGETHER):
                self.begin(type_, place)
            if type_.is_float and self.floats < self.registers[1]:
                self.floats += 1
            elif (not type_.is_float or self.divided) and self.ints < self.registers[0]:
                self.ints += 1
            else:
                size = type_.size if self.together and type_.is_float else 8
                self.on_stack(size, size)
            self.together -= self.together > 0

    def begin(self, type_: Type, place: int) -> None:
        """The first of several parts."""
        count = self.together = 2 if place == EVEN else place - TOGETHER
        if type_.is_float:
            if self.floats + count > self.registers[1]:
                self.floats = self.registers[1]
                self.stack = self.stack + 7 & -8
            return
        self.ints += self.ints & 1 if place == EVEN else 0
        if self.ints + count > self.registers[0]:
            self.ints = self.registers[0]
            self.stack = self.stack + 15 & -16 if place == EVEN else self.stack

    def on_stack(self, align: int, size: int) -> None:
        self.stack = -(-self.stack // align) * align + size
