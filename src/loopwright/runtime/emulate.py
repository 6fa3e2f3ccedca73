"""Running compiled code of other machines under an emulator: QEMU's user mode (``user_mode.py``), Bochs (``bochs.py``), or a simulator of the library's own.

The functions, everything they call, and the arguments become one program; its entry code makes
the calls and writes the results and the arrays' memory out, from where they go back into the
NumPy arrays. No cross compiler, linker or library of the other machine is needed.

Each array (arrays that share memory count as one) is placed so that its last byte is the last of a page and the next page is
not mapped: code that reads or writes past the end dies.
"""

from __future__ import annotations

import ctypes
import importlib
import shutil
import struct
import subprocess
from collections.abc import Sequence
from typing import Any, Final, Protocol

import numpy as np

from loopwright.compiler import Compiled
from loopwright.errors import AbiError, ArgumentError, BoundsError, InternalError, TargetError
from loopwright.ir import ops
from loopwright.runtime import elf
from loopwright.runtime.arrays import ArrayParameter, admit, check_overlap, shape_passed
from loopwright.runtime.call import Signature
from loopwright.runtime.link import Linked
from loopwright.runtime.scalars import ScalarParameter, convert
from loopwright.runtime.signature import index_groups, passes_scalars, signature_of_function
from loopwright.targets import registry
from loopwright.targets import start as layout
from loopwright.targets.machine import Emulator
from loopwright.targets.target import symbol_of
from loopwright.types import BOOL, VOID, Type

__all__ = ["available", "code_start", "run", "run_many"]

#: Seconds a program may run.
TIMEOUT: Final = 60.0

_CODE: Final = 0x10000
#: Globals, each module's behind the one before.
_DATA: Final = 0x0800_0000
_TABLE: Final = 0x1000_0000
_ARRAYS: Final = 0x2000_0000
#: What an array without elements points to: nothing is mapped there.
_NOWHERE: Final = 0x1000


def _emulator(name: str) -> Emulator:
    """What emulates the machine of a target, or of a family of them."""
    machine = registry.machine_of(name)
    if machine is None or machine.emulator is None:
        emulated = [each.family for each in registry.machines().values() if each.emulator is not None]
        raise TargetError(f"there is no emulator for {name}; code for {', '.join(emulated)}… can be emulated")
    return machine.emulator


def _program(name: str) -> str:
    """The path of the program that emulates the machine of a target."""
    emulator = _emulator(name)
    for program in emulator.programs:
        path = shutil.which(program)
        if path is not None:
            return path
    raise TargetError(f"emulating {name} needs {emulator.programs[0]}, which is not installed; on Debian and Ubuntu: apt-get install {emulator.packages}")


def available(name: str) -> bool:
    """Whether code for the target of that name can be emulated here."""
    machine = registry.machine_of(name)
    if machine is not None and machine.emulator is not None and not machine.emulator.programs:
        return True
    try:
        _program(name)
    except TargetError:
        return False
    return True


class OfModule(Protocol):
    """Compiled code, with the functions of its module (``code.Code``)."""

    @property
    def compiled(self) -> Compiled: ...

    @property
    def parts(self) -> Sequence[Compiled]: ...


class _Memory:
    """A stretch of this process's memory that arguments lie in, and where it is in the emulated program."""

    __slots__ = ("address", "data", "high", "low", "written")

    def __init__(self, low: int, high: int, written: bool) -> None:
        self.low = low
        self.high = high
        self.written = written
        self.address = 0
        self.data = b""


class _Call:
    """One call with its arguments checked."""

    __slots__ = ("arrays", "compiled", "linked", "signature", "values")

    def __init__(self, code: OfModule | Compiled, args: Sequence[Any], linked: Linked) -> None:
        compiled: Compiled = code if isinstance(code, Compiled) else code.compiled
        self.compiled = compiled
        self.signature: Signature = signature_of_function(compiled.source)
        if not passes_scalars(compiled):
            raise AbiError(f"{compiled.source.name} takes or returns a struct by value: functions of its module call it, and C does, but not Python")
        parameters = self.signature.parameters
        if len(args) != len(parameters):
            names = ", ".join(p.name for p in parameters) or "none"
            raise ArgumentError(f"{compiled.source.name} takes {len(parameters)} arguments ({names}), {len(args)} were given")
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.values: list[int | float | complex | np.ndarray[Any, Any]] = []
        for parameter, value in zip(parameters, args, strict=True):
            if isinstance(parameter, ArrayParameter):
                array = admit(parameter, value)
                self.arrays.append(array)
                self.values.append(array)
            else:
                self.values.append(convert(parameter, value))
        if self.signature.checked:
            described = [p for p in parameters if isinstance(p, ArrayParameter)]
            if any(p.written for p in described):
                check_overlap(described, self.arrays, index_groups(compiled.source))
        self.linked = linked


def _linked(calls: Sequence[tuple[OfModule | Compiled, Sequence[Any]]]) -> list[Linked]:
    """The function of each call with all that it needs: functions of one module together, which share their globals.

    Raises ``TargetError`` when that includes something of this process.
    """
    groups: dict[int, list[Compiled]] = {}
    keys: list[int] = []
    modules: dict[int, Sequence[Compiled]] = {}
    for code, _ in calls:
        module = () if isinstance(code, Compiled) else code.parts
        compiled: Compiled = code if isinstance(code, Compiled) else code.compiled
        key = id(module[0]) if module else id(compiled)
        modules[key] = module
        keys.append(key)
        called = groups.setdefault(key, [])
        if compiled not in called:
            called.append(compiled)
    linked = {key: Linked(called[0], called[1:], modules[key]) for key, called in groups.items()}
    for each in linked.values():
        for _, part in each.parts:
            _refuse_outside(part)
        for _, made in each.globals:
            for reference in made.references:
                if getattr(reference.target, "address", 0):
                    raise TargetError(f"the global {made.name} has the address of {reference.symbol} in it, which is in this process and not under an emulator")
    return [linked[key] for key in keys]


def _refuse_outside(part: Compiled) -> None:
    """Refuse a function that calls, or takes the address of, something of this process."""
    # (As it was before the passes: afterwards would be another compilation, and none of them calls anything.)
    f = part.source
    for instr in f.code:
        if instr.op is ops.CALL or instr.op is ops.CALL_VOID or instr.op is ops.TAIL_CALL:
            callee = f.callees[instr.imm]
            if callee.address:
                raise TargetError(f"{part.source.name} calls {callee.name}, which is in this process and cannot be called from under an emulator")
        elif instr.op is ops.GLOBAL or instr.op is ops.FUNCTION:
            name, address = symbol_of(f, instr)
            if address:
                raise TargetError(f"{part.source.name} takes the address of {name}, which is in this process and not under an emulator")


def run(code: OfModule | Compiled, *args: Any, timeout: float = TIMEOUT) -> Any:
    """Call compiled code under the emulator of its machine, with the arguments a call of ``code`` would take.

    Arrays are written in place; the result is a Python number, or None.

    Raises:
        ArgumentError: an argument does not fit.
        BoundsError, OverlapError: from code compiled with ``check=True``.
        TargetError: no emulator for this machine, or the code calls into this process.
        TimeoutError: it ran longer than ``timeout`` seconds.
        InternalError: the program died, or broke the calling convention.
    """
    return run_many([(code, args)], timeout)[0]


def run_many(calls: Sequence[tuple[OfModule | Compiled, Sequence[Any]]], timeout: float = TIMEOUT) -> list[Any]:
    """Several calls one after the other in one emulated program: starting the emulator costs more than most calls.

    An array passed to several calls carries its contents from one to the next. Results and errors as in ``run``; a
    ``BoundsError`` is raised when all calls are done.
    """
    if not calls:
        return []
    checked = [_Call(code, args, linked) for (code, args), linked in zip(calls, _linked(calls), strict=True)]
    target = checked[0].compiled.target
    for call in checked:
        other = call.compiled.target
        if other.name != target.name or other.description != target.description:
            raise TargetError(f"calls for {target.name} and {call.compiled.target.name} cannot run in one program")
    emulator = _emulator(target.family or target.name)
    if not emulator.programs:
        return _simulated(checked, emulator, timeout)
    program = _program(target.name)
    # The machine's entry code.
    start: Any = importlib.import_module(emulator.start)
    memories = _place_arrays(checked)
    base = _code_start(start.entry(0, 0, 0, 0))
    code, addresses, data = _place_code(checked, base)
    records, table = _records(checked, addresses, memories)
    regions = [(_TABLE, len(table)), *((m.address, m.high - m.low) for m in memories)]
    region_at = _TABLE + len(table)
    runtime: Any = importlib.import_module(emulator.runtime)
    entry = start.entry(_TABLE, len(checked), region_at, len(regions) if runtime.OUTPUT else 0)
    table += b"".join(struct.pack("<QQ", *region) for region in regions)
    if _code_start(entry) != base:
        raise InternalError("the entry code has outgrown its place")
    segments = [elf.Segment(_CODE, entry.ljust(base - _CODE, b"\0") + code, elf.READ | elf.EXECUTE), elf.Segment(_TABLE, table, elf.READ | elf.WRITE)]
    if data:
        segments.insert(1, elf.Segment(_DATA, data, elf.READ | elf.WRITE))
    segments += [elf.Segment(m.address, m.data, elf.READ | elf.WRITE) for m in memories]
    status, output, said = _execute(runtime, program, emulator, segments, regions, timeout)
    _check_end(status, len(output) - sum(size for _, size in regions), said)
    at = region_at - _TABLE
    for memory in memories:
        _write_back(memory, output[at : at + memory.high - memory.low])
        at += memory.high - memory.low
    results: list[Any] = []
    for call, record in zip(checked, records, strict=True):
        if call.signature.checked:
            _check_errors(call, struct.unpack_from("<4q", output, record.errors))
        place = layout.FLOAT_RESULT if call.signature.result.is_float else layout.INT_RESULT
        results.append(_result(call.signature.result, output, record.offset + place))
    return results


def _simulated(calls: list[_Call], emulator: Emulator, timeout: float) -> list[Any]:
    """The calls in this process, by a simulator that the library has."""
    simulator: Any = importlib.import_module(emulator.runtime)
    memories = _place_arrays(calls, simulator.ARRAYS)
    written = [(memory.address, bytearray(memory.data)) for memory in memories]
    # The record of errors, behind them.
    errors = max([address + len(data) for address, data in written], default=simulator.ARRAYS) + elf.PAGE & -elf.PAGE
    record = bytearray(32)
    runner = simulator.Runner(calls[0].compiled.target, [*written, (errors, record)], timeout)
    results: list[Any] = []
    problem: BoundsError | None = None
    for call in calls:
        record[:] = bytes(len(record))
        parts = [part.machine for _, part in call.linked.parts]
        globals_ = [each for _, each in call.linked.globals]
        word = runner.call(parts, globals_, call.signature.native_types(), _words(call, memories, errors), call.signature.result)
        results.append(_result(call.signature.result, struct.pack("<Q", word), 0))
        if call.signature.checked and problem is None:
            try:
                _check_errors(call, struct.unpack("<4q", record))
            except BoundsError as error:
                problem = error
    for memory, (_, data) in zip(memories, written, strict=True):
        _write_back(memory, bytes(data))
    if problem is not None:
        raise problem
    return results


# --- layout ------------------------------------------------------------------------------------------------------


def code_start(name: str) -> int:
    """The address at which a program's first function stands, in programs for the target of that name."""
    start: Any = importlib.import_module(_emulator(name).start)
    return _code_start(start.entry(0, 0, 0, 0))


def _code_start(entry: bytes) -> int:
    return _CODE + (len(entry) + 1023) // 1024 * 1024


def _place_code(calls: list[_Call], base: int) -> tuple[bytes, list[int], bytes]:
    """The code of all calls, a function once however often it is called, the address of each call's function, and the globals."""
    code = bytearray()
    data = bytearray()
    known: dict[int, int] = {}
    addresses: list[int] = []
    for call in calls:
        linked = call.linked
        address = known.get(id(linked))
        if address is None:
            code += bytes(-len(code) % max(linked.align, 16))
            address = known[id(linked)] = base + len(code)
            data += bytes(-len(data) % max(linked.data_align, 16))
            globals_at = _DATA + len(data)
            if base + len(code) + linked.size > _DATA or globals_at + linked.data_size > _TABLE:
                raise TargetError(f"{call.compiled.source.name}: its code or its globals are too large to be emulated")
            code += linked.fill(address, globals_at)
            data += linked.contents(address, globals_at)
        addresses.append(address + linked.offset_of(call.compiled))
    return bytes(code), addresses, bytes(data)


def _bounds(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """First and one past the last byte of an array's elements."""
    low = high = int(array.ctypes.data)
    for extent, stride in zip(array.shape, array.strides, strict=True):
        if stride < 0:
            low += (extent - 1) * stride
        else:
            high += (extent - 1) * stride
    return low, high + array.itemsize


def _place_arrays(calls: list[_Call], first: int = _ARRAYS) -> list[_Memory]:
    """Where the arrays' memory goes; what overlaps stays together."""
    spans: list[tuple[int, int, bool]] = []
    for call in calls:
        arrays = iter(call.arrays)
        for parameter in call.signature.parameters:
            if isinstance(parameter, ArrayParameter):
                array = next(arrays)
                if array.size:
                    spans.append((*_bounds(array), parameter.written))
    spans.sort(key=lambda span: span[0])
    memories: list[_Memory] = []
    for low, high, written in spans:
        if memories and low < memories[-1].high:
            memories[-1].high = max(memories[-1].high, high)
            memories[-1].written |= written
        else:
            memories.append(_Memory(low, high, written))
    page = first
    for memory in memories:
        size = memory.high - memory.low
        end = page + (size + elf.PAGE - 1) // elf.PAGE * elf.PAGE
        memory.address = end - size
        memory.data = ctypes.string_at(memory.low, size)
        page = end + elf.PAGE
    return memories


class _Record:
    """Offsets in the table of a call's record and of its four error words."""

    __slots__ = ("errors", "offset")

    def __init__(self, offset: int, errors: int) -> None:
        self.offset = offset
        self.errors = errors


def _records(calls: list[_Call], addresses: list[int], memories: list[_Memory]) -> tuple[list[_Record], bytes]:
    """The table of calls that the entry code goes through: records first, then error words and stack arguments."""
    table = bytearray(layout.RECORD * len(calls))
    records: list[_Record] = []
    for number, call in enumerate(calls):
        offset = number * layout.RECORD
        errors = len(table)
        table += bytes(32)
        words = _words(call, memories, _TABLE + errors)
        types = call.signature.native_types()
        convention = call.compiled.target.convention
        stack = bytearray()
        struct.pack_into("<Q", table, offset + layout.FUNCTION, addresses[number])
        for type_, word, place in zip(types, words, convention.assign(types), strict=True):
            if place < 0:
                stack += bytes(~place - len(stack)) + struct.pack("<Q", word)
            elif place in convention.float_args:
                if type_.bits == 32:
                    # A narrower float is boxed on RISC-V: all ones above it (ISA manual, "NaN Boxing of Narrower Values"). Elsewhere anything may be there.
                    word |= 0xFFFFFFFF << 32
                struct.pack_into("<Q", table, offset + layout.FLOATS + 8 * convention.float_args.index(place), word)
            else:
                struct.pack_into("<Q", table, offset + layout.INTS + 8 * convention.int_args.index(place), word)
        stack += bytes(-len(stack) % 16)
        struct.pack_into("<QQ", table, offset + layout.STACK_BYTES, len(stack), _TABLE + len(table))
        table += stack
        records.append(_Record(offset, errors))
    return records, bytes(table)


def _words(call: _Call, memories: list[_Memory], errors: int) -> list[int]:
    """The arguments as 64-bit words, in the order of the calling convention."""
    words: list[int] = []
    for parameter, value in zip(call.signature.parameters, call.values, strict=True):
        if isinstance(value, np.ndarray):
            words.append(_emulated_address(value, memories))
            assert isinstance(parameter, ArrayParameter)
            words.extend(n & _WORD for n in (*shape_passed(parameter, value), *value.strides[:-1]))
        else:
            assert isinstance(parameter, ScalarParameter)
            if isinstance(value, complex):
                words += [_word(parameter.type.part, value.real), _word(parameter.type.part, value.imag)]
            else:
                words.append(_word(parameter.type, value))
    if call.signature.checked:
        words.append(errors)
    return words


_WORD: Final = (1 << 64) - 1


def _word(type_: Type, value: float) -> int:
    if type_.is_float:
        with np.errstate(over="ignore"):
            return int.from_bytes(np.dtype(type_.dtype).type(value).tobytes(), "little")
    number = int(value)
    if type_.bits == 32 and number >> 31 & 1:
        # 32-bit integers are passed sign-extended on RISC-V, whether signed or not. Elsewhere anything may be above them.
        number -= 1 << 32 if number > 0 else 0
    return number & _WORD


def _emulated_address(array: np.ndarray[Any, Any], memories: list[_Memory]) -> int:
    if not array.size:
        return _NOWHERE
    here = int(array.ctypes.data)
    for memory in memories:
        if memory.low <= here < memory.high:
            return memory.address + here - memory.low
    raise InternalError("an array was not placed")


# --- running and reading back --------------------------------------------------------------------------------------


def _execute(
    runtime: Any, program: str, emulator: Emulator, segments: list[elf.Segment], regions: list[tuple[int, int]], timeout: float
) -> tuple[int, bytes, str]:
    try:
        status, output, said = runtime.execute(program, emulator, _CODE, segments, regions, timeout)
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"the emulated program did not end within {timeout:g} seconds") from None
    return status, output, said


def _check_end(status: int, surplus: int, said: str) -> None:
    """Whether a program ended well, and wrote as much as it should."""
    if status == layout.BROKEN_CONVENTION:
        raise InternalError("the emulated function did not preserve the registers its calling convention tells it to")
    if status != 0 or surplus:
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        raise InternalError(f"the emulated program died ({how}){': ' + said if said else ''}")


def _write_back(memory: _Memory, data: bytes) -> None:
    if data == memory.data:
        return
    if not memory.written:
        raise InternalError("the emulated function changed an array that it only reads")
    ctypes.memmove(memory.low, data, len(data))


def _result(type_: Type, output: bytes, at: int) -> Any:
    if type_ is VOID:
        return None
    if type_.is_float:
        return struct.unpack_from("<f" if type_.bits == 32 else "<d", output, at)[0]
    word = struct.unpack_from("<Q", output, at)[0] & (1 << type_.bits) - 1
    if type_ is BOOL:
        return bool(word)
    return word - (1 << type_.bits) if type_.signed and word >> (type_.bits - 1) else word


def _check_errors(call: _Call, errors: tuple[int, ...]) -> None:
    number, index, extent = errors[0], errors[1], errors[2]
    if number == 0:
        return
    source = call.compiled.source
    site = source.sites[number - 1]
    dimension = (
        f" along dimension {site.dimension}"
        if any(isinstance(p, ArrayParameter) and p.name == site.array and p.rank > 1 for p in call.signature.parameters)
        else ""
    )
    where = f" ({site.text})" if site.text else ""
    raise BoundsError(
        f"{site.array}: index {index} is outside the array, which has {extent} element{'' if extent == 1 else 's'}{dimension}{where}", source.file, site.line
    )
