"""Calls, and how functions of LLVM IR are called: signatures here for signatures there.

What clang passes and returns of a struct by value are its parts, in the registers and words of the stack that the convention of C says (``Callee.places``, ``Callee.results``). Several results go by memory of the caller's,
whose address is a last argument; only the convention knows that they are returned in registers.
"""

from __future__ import annotations

from typing import Final

from loopwright.frontend.llvm.accesses import AccessWriter, Place
from loopwright.frontend.llvm.aggregates import divided_vector, units
from loopwright.frontend.llvm.syntax import GLOBAL, Argument, CallSite, Constant, Instruction, LlvmFunction
from loopwright.frontend.llvm.types import ARRAY, FUNCTION, POINTER, STRUCT, VECTOR, VOID_KIND, VOID_TYPE, LlvmType, is_wide, named, register_type
from loopwright.frontend.llvm.values import UNSIGNED
from loopwright.ir import ops
from loopwright.ir.function import EVEN, NONE, RESULT_ADDRESS, STACK, STACK_16, TOGETHER, USUAL, Callee
from loopwright.types import F64, I32, I64, PTR, U64, VOID, Type

__all__ = ["JUMPED_TO", "CallWriter"]


#: By architecture: where a list of arguments has the pointer to those in memory, and what else is in it then, 32 bits each.
_LISTS: Final[dict[str, tuple[int, list[tuple[int, int]]]]] = {
    "x86_64": (8, [(0, 48), (4, 304)]),
    "aarch64": (0, [(24, 0), (28, 0)]),
    "riscv64": (0, []),
}


#: The most bytes of a struct that is passed on the stack.
_MOST_PASSED: Final = 4096
#: Where a program may come back to by ``longjmp``.
JUMPED_TO: Final = frozenset(("setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp"))
#: What code cannot be compiled around like a call, but for machines that say so (``Abi.twice``).
RETURNS_TWICE: Final = JUMPED_TO | {"vfork", "getcontext"}


class CallWriter(AccessWriter):
    """Writes calls."""

    def passed(self, type_: LlvmType, attributes: dict[str, LlvmType | None]) -> list[tuple[Type, int]]:
        """What an argument or a result is passed in: types and places of its parts. Callers extend narrow integers as the attributes say."""
        copied = attributes.get("byval")
        if copied is not None and not self.abi.by_address:
            return self._on_stack(copied)
        if "sret" in attributes and not self.abi.by_address:
            return [(PTR, RESULT_ADDRESS)]
        if type_.kind == VOID_KIND:
            return []
        parts = [(self._unit(unit, attributes), USUAL) for unit in units(self.layout, type_)]
        if self.abi.by_address:
            return parts
        if is_wide(type_) and len(parts) == 2:
            parts[0] = (I64, EVEN)
        elif type_.kind == ARRAY and len(parts) > 1:
            parts[0] = (parts[0][0], TOGETHER + len(parts))
        return parts

    def _unit(self, type_: LlvmType, attributes: dict[str, LlvmType | None]) -> Type:
        """What holds one part on its way."""
        if type_.kind == VECTOR:
            # (The lower half of a vector register; System V ABI, AMD64 supplement, 3.2.3, class SSE.)
            return F64
        held = register_type(type_)
        if held is None:
            self.unsupported(f"arguments and results of the type {named(type_)} are not supported")
        return UNSIGNED.get(held, held) if "zeroext" in attributes else held

    def _on_stack(self, type_: LlvmType) -> list[tuple[Type, int]]:
        """A struct that is passed on the stack, in words of eight bytes."""
        size = self.layout.size(type_)
        if size > _MOST_PASSED:
            self.unsupported(f"a struct of {size} bytes is passed by value, of at most {_MOST_PASSED}: pass its address")
        return [(I64, STACK_16 if not at and self.layout.align(type_) >= 16 else STACK) for at in range(0, size, 8)]

    def _passing(self, arguments: list[tuple[LlvmType, dict[str, LlvmType | None]]], result: LlvmType, attributes: dict[str, LlvmType | None]) -> Callee:
        """How arguments and a result are passed, by the convention of C, as a callee without a name.

        What has too many parts for registers goes by memory of the caller's, whose address is the last argument: the functions of one module call each other so.
        """
        parts = [part for type_, said in arguments for part in self.passed(type_, said)]
        params = [type_ for type_, _ in parts]
        places = tuple(place for _, place in parts)
        results = [type_ for type_, _ in self.passed(result, attributes)]
        made = Callee("", params, VOID, places=places if any(places) else ())
        if any("sret" in said for _, said in arguments) and not self.abi.by_address:
            # (The caller finds the address in the register for results.)
            made.result = PTR
        elif len(results) == 1:
            made.result = results[0]
        elif results:
            if self._in_registers(results):
                made.results = tuple(results)
            params.append(PTR)
            if made.places:
                made.places = (*places, USUAL)
        return made

    def _in_registers(self, results: list[Type]) -> bool:
        floats = sum(type_.is_float for type_ in results)
        return not self.abi.by_address and len(results) - floats <= 2 and floats <= 4

    def _no_vectors(self, types: list[LlvmType], why: str) -> None:
        """Refuse what has vectors for arguments or results where other code passes them: by a convention of C that the IR here has no places for."""
        for type_ in types:
            found = divided_vector(self.layout, type_)
            if found is not None:
                self.unsupported(f"arguments and results of the type {named(found)} are not supported {why}")

    def _of_others(self, function: LlvmFunction) -> None:
        """Refuse vectors of a function that other objects have, or may call."""
        if not function.blocks or (self.module.exported and not function.local):
            self._no_vectors(_passed_by(function), f"of functions that other objects have or see: {function.name} is none of the program's own (static) ones")

    def signature(self, function: LlvmFunction) -> Callee:
        """How a function is called."""
        self._of_others(function)
        arguments = [(parameter.type, parameter.attributes) for parameter in function.parameters]
        if self.listed(function):
            arguments.append((LlvmType(POINTER), {}))
        made = self._passing(arguments, function.result, function.attributes)
        made.name = function.hidden or function.name
        if function.variadic and not self.listed(function):
            made.named = len(made.params)
        return made

    def shared(self, function: LlvmFunction) -> Callee:
        """How a function is called by the convention of C, also one that takes its last arguments in memory from functions of its module."""
        made = self._passing([(parameter.type, parameter.attributes) for parameter in function.parameters], function.result, function.attributes)
        made.name = function.name
        if function.variadic:
            made.named = len(made.params) - bool(made.results)
        return made

    def function_number(self, name: str) -> int:
        function = self.module.functions[name]
        return self.callee((name,), self.shared(function) if function.hidden else self.signature(function))

    def listed(self, function: LlvmFunction) -> bool:
        """Whether the arguments whose number varies are passed to a function in memory."""
        return function.variadic and (bool(function.blocks) or self.abi.lists)

    def symbol(self, name: str) -> int:
        function = self.module.functions.get(name)
        if function is not None:
            self._no_vectors(_passed_by(function), f"where a function is called by its address, which is taken of {name}")
        if function is not None and self.listed(function) and not function.hidden and not self.abi.lists:
            self.unsupported(f"the address of {name}, a function of the module with a variable number of arguments, is not supported")
        return super().symbol(name)

    def call(self, i: Instruction) -> list[int]:
        """A call; the parts of its result."""
        self.alignment = 0
        site = i.call
        assert site is not None
        if site.assembly:
            return self.assembly(i, site)
        if site.callee.name in RETURNS_TWICE and not (self.abi.twice and site.callee.name in JUMPED_TO):
            self.unsupported(f"{site.callee.name}, which returns twice, is not supported")
        known = self.module.functions.get(site.callee.name) if site.callee.kind == GLOBAL and site.callee.name not in self.module.missing else None
        variable = known is not None and self.listed(known) and not known.hidden
        given = len(site.arguments)
        first: list[int] = []
        if (
            known is not None
            and _same(known.result, i.type)
            and (given >= len(known.parameters) if variable else not known.variadic and given == len(known.parameters))
        ):
            number = self.function_number(known.name)
        else:
            if known is None or not known.variadic:
                first = [self.operand(site.callee)]
            variable = variable or (bool(first) and self.abi.lists and site.type.kind == FUNCTION and site.type.variadic)
            number = self._declared(site, i, known if not first else None)
        callee = self.f.callees[number]
        count = given
        if variable:
            count = len(site.type.elements) - 1 if first else len(known.parameters) if known is not None else given
            if first and count == given and len(units(self.layout, i.type) if i.type.kind != VOID_KIND else []) > 1:
                self.unsupported(
                    "a call by an address whose type does not say whether there are further arguments, and which returns a struct, is not supported"
                )
        arguments = [*first, *self._arguments(site.arguments[:count], callee.params)]
        if variable:
            arguments.append(self._in_memory(site.arguments[count:]))
        return self._made(i, callee, number, arguments, known, bool(first))

    def _made(self, i: Instruction, callee: Callee, number: int, arguments: list[int], known: LlvmFunction | None, indirect: bool) -> list[int]:
        """The call itself, and its result."""
        parts = units(self.layout, i.type) if i.type.kind != VOID_KIND else []
        memory = NONE
        if len(parts) > 1:
            if not callee.results and known is not None and not known.blocks and not self.abi.by_address:
                self.unsupported(f"{known.name} is not in the module and returns {i.type!r} by value, which is not supported")
            memory = self.results_at
            arguments.append(memory)
        if callee.result is VOID:
            self.put(ops.CALL_INDIRECT_VOID if indirect else ops.CALL_VOID, VOID, arguments, number)
            if not callee.results:
                return self.load(i.type, Place(memory, None, 1, 0, -1)) if memory != NONE else []
            at = Place(memory, None, 1, 0, -1)
            loaded = [self.load_whole(type_, at, 8 * n) for n, type_ in enumerate(callee.results)]
            return [each for unit, operand in zip(parts, loaded, strict=True) for each in self.unpacked(unit, operand)]
        made = self.emit(ops.CALL_INDIRECT if indirect else ops.CALL, callee.result, arguments, imm=number)
        return self.unpacked(parts[0], made) if parts else []

    def _declared(self, site: CallSite, i: Instruction, known: LlvmFunction | None) -> int:
        """The signature that a call itself shows: of a function by name with a variable number of arguments, or of one by its address."""
        self._no_vectors(
            [i.type, *(argument.value.type for argument in site.arguments)], "where a function is called by its address, or with arguments it does not name"
        )
        passed = [(argument.value.type, argument.attributes) for argument in site.arguments]
        if known is None and self.abi.lists and site.type.kind == FUNCTION and site.type.variadic:
            # (A function without such arguments, called by an address whose type does not say what it takes, does not see one more.)
            passed = [*passed[: len(site.type.elements) - 1], (LlvmType(POINTER), {})]
        made = self._passing(passed, i.type, site.attributes)
        shown = (*(type_.name for type_ in made.params), *map(str, made.places), "->", made.result.name, *(type_.name for type_ in made.results))
        if known is not None:
            made.name = known.name
            made.named = len(self._passing([(each.type, each.attributes) for each in known.parameters], VOID_TYPE, {}).params)
            return self.callee((known.name, *shown), made)
        type_ = site.type
        if type_.kind == FUNCTION and type_.variadic and not self.abi.lists:
            made.named = len(type_.elements) - 1
        made.name = f"signature{len(self.f.callees)}"
        made.signature = True
        return self.callee(("", str(made.named), *shown), made)

    # --- inline assembly --------------------------------------------------------------------------------------------

    def assembly(self, i: Instruction, site: CallSite) -> list[int]:
        """Inline assembly without instructions: what it gives is what it takes in the same places (``"+r"(x)``), or has no value."""
        text, constraints = (part.data.decode("utf-8", "replace") for part in site.callee.parts)
        if text.strip():
            self.unsupported("inline assembly is not supported: write it in C")
        if "~{memory}" in constraints:
            self.put(ops.BARRIER, VOID, [])
        given = _tied(constraints, [argument.value for argument in site.arguments])
        types = [] if i.type.kind == VOID_KIND else list(i.type.elements) if i.type.kind == STRUCT else [i.type]
        made: list[int] = []
        for value, type_ in zip(given, types, strict=True):
            held = [self.type_of(leaf) for leaf in self.leaves(type_)]
            operands = self.parts(value) if value is not None else [self.f.const(each, 0) for each in held]
            made += [self.convert(operand, each) for operand, each in zip(operands, held, strict=True)]
        return made

    # --- arguments --------------------------------------------------------------------------------------------------

    def _arguments(self, arguments: list[Argument], params: list[Type]) -> list[int]:
        made: list[int] = []
        for argument in arguments:
            copied = argument.attributes.get("byval")
            if copied is not None:
                place = Place(self.operand(argument.value), None, 1, 0, -1)
                made += [self._copy(place, copied)] if self.abi.by_address else self._words(place, copied)
                continue
            for operand in self.packed_parts(argument.value):
                made.append(self.convert(operand, params[len(made)]))
        return made

    def _words(self, place: Place, type_: LlvmType) -> list[int]:
        """A struct in memory, in words of eight bytes, of the last of which nothing is read that is not there."""
        size = self.layout.size(type_)
        self.alignment = self.layout.align(type_)
        made = [self.load_whole(I64, place, at) if size - at >= 8 else self.convert(self.joined(size - at, place, at), I64) for at in range(0, size, 8)]
        self.alignment = 0
        return made

    def _copy(self, from_: Place, type_: LlvmType) -> int:
        """The address of a copy of a struct in memory, the called function's own."""
        size = self.layout.size(type_)
        made = self.frame_memory(size, self.layout.align(type_), "")
        self.alignment = self.layout.align(type_)
        self.move_memory("memcpy", made, self.address(from_), size)
        self.alignment = 0
        return made

    def packed_parts(self, value: Constant) -> list[int]:
        """The parts of a value as they are passed."""
        held = self.parts(value)
        made: list[int] = []
        at = 0
        for unit in units(self.layout, value.type):
            count = unit.count if unit.kind == VECTOR else 1
            made.append(self.packed(unit, held[at : at + count]))
            at += count
        return made

    def packed(self, unit: LlvmType, operands: list[int]) -> int:
        """A part as it is passed: a vector as the bits of a float."""
        return self.emit(ops.BITCAST, F64, [self.bits_of(unit, operands)], U64) if unit.kind == VECTOR else operands[0]

    def unpacked(self, unit: LlvmType, operand: int) -> list[int]:
        """The registers of a part as it was passed."""
        if unit.kind == VECTOR:
            return self.from_bits(unit, self.emit(ops.BITCAST, U64, [operand], F64))
        return [self.convert(operand, self.type_of(unit))]

    def received(self, type_: LlvmType, attributes: dict[str, LlvmType | None], registers: list[int]) -> list[int]:
        """A parameter's value, of the registers it is passed in."""
        copied = attributes.get("byval")
        if copied is not None and not self.abi.by_address:
            memory = self.frame_memory(8 * len(registers), self.layout.align(copied), "")
            for n, register in enumerate(registers):
                self.store_whole(register, Place(memory, None, 1, 8 * n, -1))
            return [memory]
        if copied is not None or "sret" in attributes:
            return registers
        return [each for unit, register in zip(units(self.layout, type_), registers, strict=True) for each in self.unpacked(unit, register)]

    def result_size(self, type_: LlvmType) -> int:
        """The memory that a call takes for what it returns."""
        count = len(units(self.layout, type_)) if type_.kind != VOID_KIND else 0
        return max(8 * count, self.layout.size(type_)) if count > 1 else 0

    def _in_memory(self, arguments: list[Argument]) -> int:
        """The address of arguments whose number varies: one behind the other, in eight bytes or several times eight, where `va_arg` finds what is on the stack."""
        words: list[tuple[int, int]] = []
        at = 0
        for argument in arguments:
            type_ = argument.attributes.get("byval")
            copied = type_ is not None
            if type_ is None:
                type_ = argument.value.type
            if "align 16" in argument.attributes if copied else self.layout.align(type_) >= 16 or is_wide(type_):
                at = at + 15 & -16
            made = self._words(Place(self.operand(argument.value), None, 1, 0, -1), type_) if copied else self.packed_parts(argument.value)
            # (Elements of an array lie as in it: the floats of a struct, on AArch64.)
            step = self.layout.size(type_.elements[0]) if type_.kind == ARRAY and not copied else 8
            for operand in made:
                words.append((operand, at))
                at += step
            at = at + 7 & -8
        memory = self._aligned_memory(at, 16)
        for operand, at in words:
            held = self.f.type_of(operand)
            self.store_whole(operand if held.is_float or held is PTR else self.convert(operand, I64), Place(memory, None, 1, at, -1))
        return memory

    def _aligned_memory(self, size: int, align: int) -> int:
        """Memory of the frame at a multiple that is looked at: `va_arg` rounds addresses up (also those of wide integers, which clang hands over as two others)."""
        known = self.abi.frame
        if align <= known:
            return self.frame_memory(size, align, "")
        memory = self.convert(self.frame_memory(size + align - known, known, ""), I64)
        rounded = self.emit(ops.AND, I64, [self.emit(ops.ADD, I64, [memory, self.f.const(I64, align - 1)]), self.f.const(I64, -align)])
        return self.convert(rounded, PTR)

    def begin_arguments(self, at: Place, memory: int) -> None:
        """`va_start`: a list of C's that has used up all registers and goes on in memory (System V ABI, AMD64 supplement, 3.5.7; Procedure Call Standard for the
        Arm 64-bit Architecture, appendix B; RISC-V: a pointer)."""
        where, zeros = _LISTS[self.module.triple.partition("-")[0]]
        for offset, value in zeros:
            self.store_whole(self.f.const(I32, value), at, offset)
        self.store_whole(memory, at, where)

    def move_memory(self, name: str, to: int, from_: int, size: int) -> None:
        """Copy so many bytes from one address to another."""
        raise NotImplementedError


def _same(a: LlvmType, b: LlvmType) -> bool:
    return a.kind == b.kind and a.bits == b.bits


def _passed_by(function: LlvmFunction) -> list[LlvmType]:
    """The types that a function takes and gives."""
    return [function.result, *(parameter.type for parameter in function.parameters)]


def _tied(constraints: str, arguments: list[Constant]) -> list[Constant | None]:
    """Of each result of inline assembly the argument that stands where it does, or None."""
    found: dict[int, Constant] = {}
    results: list[int] = []
    waiting = iter(arguments)
    for number, each in enumerate(constraints.split(",")):
        if each.startswith("=") and "*" not in each:
            results.append(number)
        elif each and not each.startswith("~"):
            value = next(waiting, None)
            if value is not None and each.isdigit():
                found[int(each)] = value
    return [found.get(number) for number in results]
