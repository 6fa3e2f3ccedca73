"""A tester of LP64D: machine code, written by hand in assembly, that calls code under QEMU and is called by it.

The rules here are written from the *RISC-V ELF psABI Specification*, chapters "Register Convention" and "Procedure Calling Convention", not from
``targets/riscv/abi.py``, so that both must agree. They are:

* ``s0`` to ``s11``, ``fs0`` to ``fs11`` and ``sp`` are preserved, and no function changes ``gp`` and ``tp``; ``ra`` is not preserved. Of fcsr the
  rounding mode is preserved, the exception flags are not.
* ``sp`` is a multiple of 16 at every call, and there is nothing below it that outlives a signal.
* Integers take ``a0`` to ``a7``, floats ``fa0`` to ``fa7``, then what is left of ``a0`` to ``a7``; the rest the stack, eight bytes each.
* Integers narrower than a register are extended to 32 bits by their own sign, then by bit 31 to 64, wherever they are passed. An f32 is boxed in a
  floating-point register (all ones above it); in an integer register or on the stack there may be anything above it.

``Program`` puts calls, what they call and their arrays into one static executable. Each call finds a marked value in every register that must be
preserved, rubbish in the others, and a stack full of canaries. ``Destroyer`` is a function to be called: it writes down what it finds, then
destroys everything that a function may destroy.
"""

from __future__ import annotations

import functools
import math
import random
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.targets.alive import flat
from tests.targets.riscv.test_instructions import LLVM_MC
from tests.targets.x86.conftest import text_section

from loopwright.compiler import Compiled
from loopwright.runtime import elf
from loopwright.runtime.link import Linked
from loopwright.types import BOOL, F32, VOID, Type

INTS = (
    *("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5"),
    *("a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"),
)
FLOATS = (
    *("ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2", "fa3", "fa4", "fa5"),
    *("fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11"),
)
PRESERVED = ("sp", "gp", "tp", *(f"s{n}" for n in range(12)))
PRESERVED_FLOATS = tuple(f"fs{n}" for n in range(12))

QEMU = shutil.which("qemu-riscv64") or shutil.which("qemu-riscv64-static") or ""

# Where things are: the code here and what is called; the functions under test, each at a multiple of so many bytes; all memory that is written.
_CODE, _FUNCTIONS, _APART, _DATA = 0x10000, 0x10_0000, 0x4000, 0x4000_0000

# A call's block: integer and floating-point registers in and out, then rounding modes.
_X, _F, _X_OUT, _F_OUT, _RM, _CSR_OUT, _DONE, _BLOCK = 0, 256, 512, 768, 1024, 1032, 1040, 1088
# A Destroyer's: calls so far, words of stack arguments, rubbish, results, then what it found, call by call.
_COUNT, _WORDS, _JUNK, _RESULTS, _CALLS = 0, 8, 64, 320, 64
_FOUND = _RESULTS + 16 * _CALLS
_F_X, _F_F, _F_CSR, _F_STACK, _MOST_WORDS = 0, 256, 512, 520, 40
_ENTRY = _F_STACK + 8 * _MOST_WORDS


def _each(text: str, names: tuple[str, ...], among: tuple[str, ...], base: int) -> str:
    return "\n".join(text.format(r=name, at=base + 8 * among.index(name)) for name in names)


def _start() -> str:
    """Goes through the blocks, then writes all memory out. What is behind ``numbers`` is filled in."""
    loaded = tuple(name for name in INTS if name not in ("zero", "t6"))
    return f"""
        .option norvc
    _start:
        j 1f
        .balign 8
    numbers:
        .zero 40
        # numbers: first block, end of the blocks, a word of memory, what to write and how many bytes
    1:  lla s0, numbers
        ld t6, 0(s0)
    2:  lla s0, numbers
        ld t0, 8(s0)
        bgeu t6, t0, 4f
        ld t0, 16(s0)
        sd t6, 0(t0)
        lla t0, 3f
        sd t0, {_X + 8}(t6)
        ld t0, {_RM}(t6)
        fscsr t0
        {_each("fld {r}, {at}(t6)", FLOATS, FLOATS, _F)}
        {_each("ld {r}, {at}(t6)", loaded, INTS, _X)}
        ld t6, {_X + 8 * INTS.index("t6")}(t6)
        jr t6
    3:  lla t6, numbers
        ld t6, 16(t6)
        ld t6, 0(t6)
        {_each("sd {r}, {at}(t6)", loaded, INTS, _X_OUT)}
        {_each("fsd {r}, {at}(t6)", FLOATS, FLOATS, _F_OUT)}
        frcsr t0
        sd t0, {_CSR_OUT}(t6)
        li t0, 1
        sd t0, {_DONE}(t6)
        addi t6, t6, {_BLOCK}
        j 2b
    4:  ld s1, 24(s0)
        ld s2, 32(s0)
    5:  beqz s2, 6f
        li a0, 1
        mv a1, s1
        mv a2, s2
        li a7, 64
        ecall
        blez a0, 6f
        add s1, s1, a0
        sub s2, s2, a0
        j 5b
    6:  mv a0, s2
        li a7, 93
        ecall
    """


def _destroyer() -> str:
    noted = tuple(name for name in INTS if name not in ("zero", "t5", "t6"))
    volatile = tuple(name for name in INTS if name not in (*PRESERVED, "zero", "t6", "t0", "a0"))
    volatile_floats = tuple(name for name in FLOATS if name not in (*PRESERVED_FLOATS, "fa0"))
    junk = "\n".join(f"ld {name}, {_JUNK + 8 * (n % 32)}(t6)" for n, name in enumerate(volatile))
    junk_floats = "\n".join(f"fld {name}, {_JUNK + 8 * (n % 32)}(t6)" for n, name in enumerate(volatile_floats))
    return f"""
        .option norvc
        j 1f
        .balign 8
        .zero 8
    1:  auipc t6, 0
        ld t6, -8(t6)
        ld t5, {_COUNT}(t6)
        sd a0, {_JUNK}(t6)
        li a0, {_ENTRY}
        mul t5, t5, a0
        ld a0, {_JUNK}(t6)
        add t5, t5, t6
        addi t5, t5, {_FOUND}
        {_each("sd {r}, {at}(t5)", noted, INTS, _F_X)}
        {_each("fsd {r}, {at}(t5)", FLOATS, FLOATS, _F_F)}
        frcsr t0
        sd t0, {_F_CSR}(t5)
        ld t0, {_WORDS}(t6)
        ld t4, {_JUNK + 8}(t6)
        mv t1, sp
        addi t2, t5, {_F_STACK}
    2:  beqz t0, 3f
        ld t3, 0(t1)
        sd t3, 0(t2)
        sd t4, 0(t1)
        addi t0, t0, -1
        addi t1, t1, 8
        addi t2, t2, 8
        j 2b
    3:  li t0, 512
        mv t1, sp
    4:  addi t1, t1, -8
        sd t4, 0(t1)
        addi t0, t0, -1
        bnez t0, 4b
        ld t0, {_COUNT}(t6)
        slli t1, t0, 4
        add t1, t1, t6
        ld a0, {_RESULTS}(t1)
        fld fa0, {_RESULTS + 8}(t1)
        addi t0, t0, 1
        sd t0, {_COUNT}(t6)
        csrwi fflags, 31
        {junk_floats}
        mv t0, ra
        {junk}
        ld t6, {_JUNK + 16}(t6)
        jr t0
    """


@functools.cache
def assembled(source: str) -> bytes:
    """The machine code of an assembly source."""
    assert LLVM_MC is not None
    with tempfile.TemporaryDirectory() as directory:
        target = Path(directory) / "code.o"
        done = subprocess.run(
            [LLVM_MC, "-triple=riscv64", "-mattr=+m,+a,+f,+d", "-filetype=obj", "-o", str(target)], input=source, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return text_section(target.read_bytes())


def places(types: list[Type]) -> list[str]:
    """Where each argument is: a register's name, or ``stack`` with the number of its word."""
    out: list[str] = []
    ints = floats = words = 0
    for type_ in types:
        if type_.is_float and floats < 8:
            out.append(f"fa{floats}")
            floats += 1
        elif ints < 8:
            out.append(f"a{ints}")
            ints += 1
        else:
            out.append(f"stack{words}")
            words += 1
    return out


def word(type_: Type, value: Any, place: str, noise: int) -> int:
    """The 64 bits that pass a value."""
    if type_.is_float:
        if type_ is not F32:
            return int.from_bytes(struct.pack("<d", value), "little")
        return int.from_bytes(struct.pack("<f", value), "little") | (0xFFFFFFFF if place[0] == "f" else noise & 0xFFFFFFFF) << 32
    raw = int(value) & (1 << type_.bits) - 1
    if type_.bits < 32 and type_.signed and raw >> (type_.bits - 1):
        raw |= (1 << 32) - (1 << type_.bits)
    if type_.bits <= 32 and raw >> 31:
        raw |= 0xFFFFFFFF << 32
    return raw


def value_of(type_: Type, raw: int) -> Any:
    """The value that 64 bits pass."""
    if type_.is_float:
        return struct.unpack("<f", (raw & 0xFFFFFFFF).to_bytes(4, "little"))[0] if type_ is F32 else struct.unpack("<d", raw.to_bytes(8, "little"))[0]
    if type_ is BOOL:
        return bool(raw & 255)
    raw &= (1 << type_.bits) - 1
    return raw - (1 << type_.bits) if type_.signed and raw >> (type_.bits - 1) else raw


def _extended(type_: Type, raw: int, place: str) -> bool:
    """Whether all 64 bits are as they must be."""
    if type_ is F32 and place[0] != "f":
        return True
    value = value_of(type_, raw)
    return (type_.is_float and math.isnan(value)) or word(type_, value, place, 0) == raw


class Destroyer:
    """A function that code under test may call; it belongs to one ``Program``.

    Attributes:
        address: of its code.
        types, result: its signature.
    """

    def __init__(self, program: Program, types: list[Type], result: Type, returned: list[Any]) -> None:
        self.types, self.result = types, result
        self._program = program
        self._places = places(types)
        words = sum(place.startswith("stack") for place in self._places)
        assert words <= _MOST_WORDS and len(returned) <= _CALLS
        block = bytearray(_FOUND + _ENTRY * _CALLS)
        struct.pack_into("<QQ", block, _COUNT, 0, words)
        block[_JUNK:_RESULTS] = program.random.randbytes(_RESULTS - _JUNK)
        for n, value in enumerate(returned):
            junk = program.random.getrandbits(64)
            raw = word(result, value, "fa0" if result.is_float else "a0", 0) if result is not VOID else junk
            struct.pack_into("<QQ", block, _RESULTS + 16 * n, *((junk, raw) if result.is_float else (raw, junk)))
        self._block = program.reserve(block)
        code = bytearray(assembled(_destroyer()))
        struct.pack_into("<Q", code, 8, _DATA + self._block)
        self.address = program.place(bytes(code))

    def calls(self) -> list[tuple[list[Any], list[str]]]:
        """Of each call, after the program has run: the arguments, and what was wrong."""
        memory = self._program.memory
        (count,) = struct.unpack_from("<Q", memory, self._block + _COUNT)
        return [self._found(memory, self._block + _FOUND + n * _ENTRY) for n in range(min(count, _CALLS))]

    def _found(self, memory: bytes, at: int) -> tuple[list[Any], list[str]]:
        wrong, values = [], []
        for type_, place in zip(self.types, self._places, strict=True):
            kind, number = place.rstrip("0123456789"), int(place.lstrip("stackf"))
            offset = _F_STACK + 8 * number if kind == "stack" else _F_F + 8 * FLOATS.index(place) if kind == "fa" else _F_X + 8 * INTS.index(place)
            (raw,) = struct.unpack_from("<Q", memory, at + offset)
            values.append(value_of(type_, raw))
            if not _extended(type_, raw, place):
                wrong.append(f"the {type_.name} in {place} was passed as {raw:#x}")
        (sp,) = struct.unpack_from("<Q", memory, at + _F_X + 8 * INTS.index("sp"))
        (csr,) = struct.unpack_from("<Q", memory, at + _F_CSR)
        if sp % 16:
            wrong.append(f"sp was {sp:#x} at the call, not a multiple of 16")
        if csr >> 5:
            wrong.append(f"the rounding mode was {csr >> 5} at the call")
        return values, wrong


class Call:
    """One call of a program.

    Attributes:
        result: after the program has run, what the function returned.
        wrong: and what was wrong.
        changed: for each register whether it came back changed (``t6`` is not told).
    """

    def __init__(self, function: int, types: list[Type], values: list[Any], result: Type, arrays: list[np.ndarray[Any, Any]], stack: int) -> None:
        self.function = function
        self.types, self.values, self.returns = types, values, result
        self.arrays = arrays
        self.stack = stack
        self.result: Any = None
        self.wrong: list[str] = []
        self.changed: dict[str, bool] = {}


class Program:
    """Calls of compiled functions, run one after the other in one emulated process.

    Attributes:
        memory: after it has run, what data there was.
    """

    STACK = 1 << 15
    #: Bytes of the caller's frame above the arguments.
    ABOVE = 512

    def __init__(self, seed: int = 0) -> None:
        self.random = random.Random(seed)
        self.calls: list[Call] = []
        self.memory = b""
        self._code = bytearray(assembled(_start()))
        self._functions: list[elf.Segment] = []
        self._next = _FUNCTIONS
        self._data = bytearray(64)
        self._arrays: dict[int, int] = {}

    def place(self, code: bytes) -> int:
        """Put the code of a function to be called into the image; returns its address."""
        self._code += bytes(-len(self._code) % 64)
        at = _CODE + len(self._code)
        self._code += code
        assert at + len(code) < _FUNCTIONS
        return at

    def reserve(self, data: bytes | bytearray) -> int:
        """Put data into the image; returns its offset in ``memory``."""
        at = len(self._data)
        self._data += data
        self._data += bytes(-len(self._data) % 64)
        return at

    def call(self, compiled: Compiled, args: list[Any], stack: int = STACK) -> Call:
        """Add a call. Arrays among the arguments are written to when the program runs."""
        types, values = flat(compiled.source, args, self._array)
        linked = Linked(compiled)
        arrays = [a for a in args if isinstance(a, np.ndarray)]
        made = Call(self._function(linked.size, linked.fill), types, values, compiled.source.result, arrays, stack)
        self.calls.append(made)
        return made

    def call_code(self, code: bytes, types: list[Type], values: list[Any], result: Type) -> Call:
        """Add a call of code that was not compiled here."""
        made = Call(self._function(len(code), lambda _: code), types, values, result, [], self.STACK)
        self.calls.append(made)
        return made

    def _array(self, array: np.ndarray[Any, Any]) -> int:
        known = self._arrays.get(id(array))
        if known is None:
            known = self._arrays[id(array)] = self.reserve(array.tobytes())
        return _DATA + known

    def _function(self, size: int, fill: Callable[[int], bytes]) -> int:
        at = self._next
        self._functions.append(elf.Segment(at, fill(at), elf.READ | elf.EXECUTE))
        self._next += (size // _APART + 1) * _APART
        assert self._next < _DATA
        return at

    def run(self) -> list[Call]:
        """Run all calls; each has its result afterwards, and what was wrong."""
        blocks = bytearray()
        frames: list[tuple[int, int]] = []
        for call in self.calls:
            block, frame = self._prepare(call)
            blocks += block
            frames.append(frame)
        first = self.reserve(blocks)
        before = bytes(self._data)
        ranges = [(first, first + len(blocks))]
        output, problem = self._execute(*ranges[0])
        if problem:
            # Which one? Each by itself.
            ranges = [(first + n * _BLOCK, first + (n + 1) * _BLOCK) for n in range(len(self.calls))]
        for n, (call, (low, high)) in enumerate(zip(self.calls, frames, strict=True)):
            if problem:
                output, alone = self._execute(*ranges[n])
                if alone:
                    call.wrong.append(alone)
                    continue
            self._check(call, before, output, first + n * _BLOCK)
            if output[low:high] != before[low:high]:
                call.wrong.append("the caller's frame was written to")
            for array in call.arrays:
                at = self._arrays[id(array)]
                array[...] = np.frombuffer(output[at : at + array.nbytes], array.dtype).reshape(array.shape)
        self.memory = output
        return self.calls

    def _prepare(self, call: Call) -> tuple[bytearray, tuple[int, int]]:
        """The call's block, and where its caller's frame is."""
        chooser = self.random
        where = places(call.types)
        words = sum(place.startswith("stack") for place in where)
        block = bytearray(chooser.randbytes(_X_OUT)) + bytes(_BLOCK - _X_OUT)
        stack = bytearray(chooser.randbytes(call.stack))
        at = call.stack - self.ABOVE - (8 * words + 15 & ~15)
        for type_, value, place in zip(call.types, call.values, where, strict=True):
            raw = word(type_, value, place, chooser.getrandbits(64))
            if place[0] == "s":
                struct.pack_into("<Q", stack, at + 8 * int(place[5:]), raw)
            else:
                struct.pack_into("<Q", block, _F + 8 * FLOATS.index(place) if place[0] == "f" else _X + 8 * INTS.index(place), raw)
        base = self.reserve(stack)
        struct.pack_into("<Q", block, _X + 8 * INTS.index("sp"), _DATA + base + at)
        struct.pack_into("<Q", block, _X + 8 * INTS.index("t6"), call.function)
        return block, (base + at + 8 * words, base + call.stack)

    def _execute(self, first: int, end: int) -> tuple[bytes, str]:
        """Make the calls of some blocks; all memory afterwards, or what went wrong."""
        code = bytearray(self._code)
        struct.pack_into("<5Q", code, 8, _DATA + first, _DATA + end, _DATA, _DATA, len(self._data))
        segments = [elf.Segment(_CODE, bytes(code), elf.READ | elf.EXECUTE), *self._functions, elf.Segment(_DATA, bytes(self._data), elf.READ | elf.WRITE)]
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "program"
            path.write_bytes(elf.executable(243, 5, _CODE, segments))
            path.chmod(0o700)
            try:
                done = subprocess.run([QEMU, str(path)], check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
            except subprocess.TimeoutExpired:
                return b"", "no end within 60 seconds"
        if done.returncode or len(done.stdout) != len(self._data):
            return b"", f"died: status {done.returncode} {done.stderr.decode(errors='replace').strip()}"
        return done.stdout, ""

    def _check(self, call: Call, before: bytes, after: bytes, at: int) -> None:
        wrong = call.wrong
        (done,) = struct.unpack_from("<Q", after, at + _DONE)
        if done != 1:
            wrong.append("the function was not called, or did not return")
            return
        for name in PRESERVED:
            (was,) = struct.unpack_from("<Q", before, at + _X + 8 * INTS.index(name))
            (came,) = struct.unpack_from("<Q", after, at + _X_OUT + 8 * INTS.index(name))
            if was != came:
                wrong.append(f"{name} was {was:#x} and came back as {came:#x}")
        for name in PRESERVED_FLOATS:
            (was,) = struct.unpack_from("<Q", before, at + _F + 8 * FLOATS.index(name))
            (came,) = struct.unpack_from("<Q", after, at + _F_OUT + 8 * FLOATS.index(name))
            if was != came:
                wrong.append(f"{name} was {was:#x} and came back as {came:#x}")
        for names, went, came in ((INTS, _X, _X_OUT), (FLOATS, _F, _F_OUT)):
            for n, name in enumerate(names):
                if name not in ("zero", "t6"):
                    call.changed[name] = before[at + went + 8 * n : at + went + 8 * n + 8] != after[at + came + 8 * n : at + came + 8 * n + 8]
        (csr,) = struct.unpack_from("<Q", after, at + _CSR_OUT)
        if csr >> 5:
            wrong.append(f"the rounding mode came back as {csr >> 5}")
        type_ = call.returns
        if type_ is VOID:
            return
        place = "fa0" if type_.is_float else "a0"
        (raw,) = struct.unpack_from("<Q", after, at + (_F_OUT + 8 * FLOATS.index(place) if type_.is_float else _X_OUT + 8 * INTS.index(place)))
        call.result = value_of(type_, raw)
        if not _extended(type_, raw, place):
            wrong.append(f"the {type_.name} in {place} was returned as {raw:#x}")


def available() -> bool:
    """Whether there is an assembler and an emulator."""
    return LLVM_MC is not None and QEMU != ""


__all__ = ["Call", "Destroyer", "Program", "assembled", "available"]
