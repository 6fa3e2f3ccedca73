"""A tester of AAPCS64: machine code, written by hand in assembly, that calls code under QEMU and is called by it.

The rules here are written from the *Procedure Call Standard for the Arm 64-bit Architecture*, "Machine Registers", "The Stack" and "Parameter Passing
Rules", not from ``targets/aarch64/abi.py``, so that both must agree. They are:

* ``x19`` to ``x29``, ``sp`` and the low 64 bits of ``v8`` to ``v15`` are preserved, and nothing touches ``x18``; ``x30`` is not preserved. Of FPCR the
  rounding mode is preserved.
* ``sp`` is a multiple of 16 at every call, and there is nothing below it that outlives a signal.
* Integers take ``x0`` to ``x7``, floats ``v0`` to ``v7``; the rest the stack, eight bytes each. Above an argument's or a result's bits there is anything.

``Program`` puts calls, what they call and their arrays into one static executable. Each call finds a marked value in every register that must be
preserved, rubbish in the others, and a stack full of canaries. ``Destroyer`` is a function to be called: it writes down what it finds, then
destroys everything that a function may destroy.
"""

from __future__ import annotations

import functools
import random
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.targets.aarch64.test_instructions import LLVM_MC
from tests.targets.alive import flat
from tests.targets.x86.conftest import text_section

from loopwright.compiler import Compiled
from loopwright.runtime import elf
from loopwright.runtime.link import Linked
from loopwright.types import BOOL, F32, VOID, Type

#: ``sp`` is kept where an x31 would be.
SP = 31
PRESERVED = (18, *range(19, 30), SP)
PRESERVED_VECTORS = tuple(range(8, 16))

QEMU = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static") or ""

# Where things are: the code here and what is called; the functions under test, each at a multiple of so many bytes; all memory that is written.
_CODE, _FUNCTIONS, _APART, _DATA = 0x10000, 0x10_0000, 0x4000, 0x4000_0000

# A call's block: integer and vector registers in and out, then control registers.
_X, _V, _X_OUT, _V_OUT, _CR, _CR_OUT, _DONE, _BLOCK = 0, 256, 768, 1024, 1536, 1544, 1552, 1600
# A Destroyer's: calls so far, words of stack arguments, rubbish, results, then what it found, call by call.
_COUNT, _WORDS, _JUNK, _RESULTS, _CALLS = 0, 8, 64, 576, 64
_FOUND = _RESULTS + 16 * _CALLS
_F_X, _F_V, _F_CR, _F_STACK, _MOST_WORDS = 0, 256, 768, 776, 40
_ENTRY = _F_STACK + 8 * _MOST_WORDS
#: The rounding mode in FPCR.
_ROUNDING = 3 << 22


def _each(text: str, numbers: list[int], base: int, size: int = 8) -> str:
    return "\n".join(text.format(n=n, at=base + size * n) for n in numbers)


_ALL = list(range(32))


def _name(n: int) -> str:
    return "sp" if n == SP else f"x{n}"


def _start() -> str:
    """Goes through the blocks, then writes all memory out. What is behind ``numbers`` is filled in."""
    loaded = [n for n in range(31) if n != 16]
    return f"""
    _start:
        b 1f
        nop
    numbers:
        .zero 40
        // numbers: first block, end of the blocks, a word of memory, what to write and how many bytes
    1:  adr x19, numbers
        ldr x16, [x19]
    2:  adr x19, numbers
        ldr x9, [x19, #8]
        cmp x16, x9
        b.hs 4f
        ldr x9, [x19, #16]
        str x16, [x9]
        adr x9, 3f
        str x9, [x16, #{_X + 8 * 30}]
        ldr x9, [x16, #{_CR}]
        msr fpcr, x9
        ldr x9, [x16, #{_X + 8 * SP}]
        mov sp, x9
        {_each("ldr q{n}, [x16, #{at}]", _ALL, _V, 16)}
        {_each("ldr x{n}, [x16, #{at}]", loaded, _X)}
        ldr x16, [x16, #{_X + 8 * 16}]
        br x16
    3:  adr x16, numbers
        ldr x16, [x16, #16]
        ldr x16, [x16]
        {_each("str x{n}, [x16, #{at}]", loaded, _X_OUT)}
        {_each("str q{n}, [x16, #{at}]", _ALL, _V_OUT, 16)}
        mov x9, sp
        str x9, [x16, #{_X_OUT + 8 * SP}]
        mrs x9, fpcr
        str x9, [x16, #{_CR_OUT}]
        mov x9, #1
        str x9, [x16, #{_DONE}]
        add x16, x16, #{_BLOCK}
        b 2b
    4:  ldr x20, [x19, #24]
        ldr x21, [x19, #32]
    5:  cbz x21, 6f
        mov x0, #1
        mov x1, x20
        mov x2, x21
        mov x8, #64
        svc #0
        cmp x0, #0
        b.le 6f
        add x20, x20, x0
        sub x21, x21, x0
        b 5b
    6:  mov x0, x21
        mov x8, #93
        svc #0
    """


def _destroyer() -> str:
    noted = [n for n in range(31) if n not in (16, 17)]
    return f"""
        b 1f
        nop
    data:
        .zero 8
    1:  adr x16, data
        ldr x16, [x16]
        ldr x17, [x16, #{_COUNT}]
        str x9, [x16, #{_JUNK}]
        mov x9, #{_ENTRY}
        mul x17, x17, x9
        ldr x9, [x16, #{_JUNK}]
        add x17, x17, x16
        add x17, x17, #{_FOUND}
        {_each("str x{n}, [x17, #{at}]", noted, _F_X)}
        {_each("str q{n}, [x17, #{at}]", _ALL, _F_V, 16)}
        mov x9, sp
        str x9, [x17, #{_F_X + 8 * SP}]
        mrs x9, fpcr
        str x9, [x17, #{_F_CR}]
        ldr x9, [x16, #{_WORDS}]
        ldr x10, [x16, #{_JUNK + 8}]
        mov x11, sp
        add x12, x17, #{_F_STACK}
    2:  cbz x9, 3f
        ldr x13, [x11]
        str x13, [x12], #8
        str x10, [x11], #8
        sub x9, x9, #1
        b 2b
    3:  mov x9, #512
        mov x11, sp
    4:  str x10, [x11, #-8]!
        sub x9, x9, #1
        cbnz x9, 4b
        {_each("ldr q{n}, [x16, #{at}]", [n for n in _ALL if n not in PRESERVED_VECTORS], _JUNK, 16)}
        {_each("mov v{n}.d[1], x10", list(PRESERVED_VECTORS), 0)}
        ldr x9, [x16, #{_COUNT}]
        add x11, x16, x9, lsl #4
        ldr x0, [x11, #{_RESULTS}]
        ldr x12, [x11, #{_RESULTS + 8}]
        mov v0.d[0], x12
        add x9, x9, #1
        str x9, [x16, #{_COUNT}]
        mov x17, x30
        {_each("ldr x{n}, [x16, #{at}]", [*range(1, 16), 30], _JUNK + 16)}
        cmp x1, x2
        ldr x16, [x16, #{_JUNK + 8}]
        br x17
    """


@functools.cache
def assembled(source: str) -> bytes:
    """The machine code of an assembly source."""
    assert LLVM_MC is not None
    with tempfile.TemporaryDirectory() as directory:
        target = Path(directory) / "code.o"
        done = subprocess.run([LLVM_MC, "-triple=aarch64", "-filetype=obj", "-o", str(target)], input=source, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return text_section(target.read_bytes())


def places(types: list[Type]) -> list[tuple[str, int]]:
    """Where each argument is: a register's letter and number, or ``stack`` and the number of its word."""
    out: list[tuple[str, int]] = []
    counts = {"x": 0, "v": 0, "stack": 0}
    for type_ in types:
        kind = "v" if type_.is_float else "x"
        if counts[kind] == 8:
            kind = "stack"
        out.append((kind, counts[kind]))
        counts[kind] += 1
    return out


def word(type_: Type, value: Any, noise: int) -> int:
    """64 bits that pass a value."""
    raw = int.from_bytes(struct.pack("<f" if type_ is F32 else "<d", value), "little") if type_.is_float else int(value) & (1 << type_.bits) - 1
    return raw | noise >> type_.bits << type_.bits


def value_of(type_: Type, raw: int) -> Any:
    """The value that 64 bits pass."""
    if type_.is_float:
        return struct.unpack("<f", (raw & 0xFFFFFFFF).to_bytes(4, "little"))[0] if type_ is F32 else struct.unpack("<d", raw.to_bytes(8, "little"))[0]
    raw &= (1 << type_.bits) - 1
    if type_ is BOOL:
        return bool(raw)
    return raw - (1 << type_.bits) if type_.signed and raw >> (type_.bits - 1) else raw


def _ill(type_: Type, raw: int) -> bool:
    """Whether it is no value of the type."""
    return type_ is BOOL and raw & 255 > 1


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
        words = sum(kind == "stack" for kind, _ in self._places)
        assert words <= _MOST_WORDS and len(returned) <= _CALLS
        block = bytearray(_FOUND + _ENTRY * _CALLS)
        struct.pack_into("<QQ", block, _COUNT, 0, words)
        block[_JUNK:_RESULTS] = program.random.randbytes(_RESULTS - _JUNK)
        for n, value in enumerate(returned):
            junk, noise = program.random.getrandbits(64), program.random.getrandbits(64)
            raw = word(result, value, noise) if result is not VOID else noise
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
        for type_, (kind, number) in zip(self.types, self._places, strict=True):
            offset = _F_STACK + 8 * number if kind == "stack" else _F_V + 16 * number if kind == "v" else _F_X + 8 * number
            (raw,) = struct.unpack_from("<Q", memory, at + offset)
            values.append(value_of(type_, raw))
            if _ill(type_, raw):
                wrong.append(f"the {type_.name} in {kind}{number} was passed as {raw:#x}")
        (sp,) = struct.unpack_from("<Q", memory, at + _F_X + 8 * SP)
        (control,) = struct.unpack_from("<Q", memory, at + _F_CR)
        if sp % 16:
            wrong.append(f"sp was {sp:#x} at the call, not a multiple of 16")
        if control & _ROUNDING:
            wrong.append(f"the rounding mode was {control >> 22 & 3} at the call")
        return values, wrong


class Call:
    """One call of a program.

    Attributes:
        result: after the program has run, what the function returned.
        wrong: and what was wrong.
        changed: for each register (``x0``, ``v8`` low half, ``v8.d[1]``) whether it came back changed (``x16`` is not told).
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
        words = sum(kind == "stack" for kind, _ in where)
        block = bytearray(chooser.randbytes(_X_OUT)) + bytes(_BLOCK - _X_OUT)
        stack = bytearray(chooser.randbytes(call.stack))
        at = call.stack - self.ABOVE - (8 * words + 15 & ~15)
        for type_, value, (kind, number) in zip(call.types, call.values, where, strict=True):
            raw = word(type_, value, chooser.getrandbits(64))
            if kind == "stack":
                struct.pack_into("<Q", stack, at + 8 * number, raw)
            else:
                struct.pack_into("<Q", block, _V + 16 * number if kind == "v" else _X + 8 * number, raw)
        base = self.reserve(stack)
        struct.pack_into("<Q", block, _X + 8 * SP, _DATA + base + at)
        struct.pack_into("<Q", block, _X + 8 * 16, call.function)
        return block, (base + at + 8 * words, base + call.stack)

    def _execute(self, first: int, end: int) -> tuple[bytes, str]:
        """Make the calls of some blocks; all memory afterwards, or what went wrong."""
        code = bytearray(self._code)
        struct.pack_into("<5Q", code, 8, _DATA + first, _DATA + end, _DATA, _DATA, len(self._data))
        segments = [elf.Segment(_CODE, bytes(code), elf.READ | elf.EXECUTE), *self._functions, elf.Segment(_DATA, bytes(self._data), elf.READ | elf.WRITE)]
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "program"
            path.write_bytes(elf.executable(183, 0, _CODE, segments))
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
        watched = [(_name(n), _X + 8 * n, _X_OUT + 8 * n, n in PRESERVED) for n in range(32) if n != 16]
        for n in range(32):
            watched.append((f"v{n}", _V + 16 * n, _V_OUT + 16 * n, n in PRESERVED_VECTORS))
            watched.append((f"v{n}.d[1]", _V + 16 * n + 8, _V_OUT + 16 * n + 8, False))
        for name, went, came, preserved in watched:
            (was,) = struct.unpack_from("<Q", before, at + went)
            (now,) = struct.unpack_from("<Q", after, at + came)
            call.changed[name] = was != now
            if preserved and was != now:
                wrong.append(f"{name} was {was:#x} and came back as {now:#x}")
        (control,) = struct.unpack_from("<Q", after, at + _CR_OUT)
        if control & _ROUNDING:
            wrong.append(f"the rounding mode came back as {control >> 22 & 3}")
        type_ = call.returns
        if type_ is VOID:
            return
        (raw,) = struct.unpack_from("<Q", after, at + (_V_OUT if type_.is_float else _X_OUT))
        call.result = value_of(type_, raw)
        if _ill(type_, raw):
            wrong.append(f"the {type_.name} was returned as {raw:#x}")


def available() -> bool:
    """Whether there is an assembler and an emulator."""
    return LLVM_MC is not None and QEMU != ""


__all__ = ["PRESERVED", "PRESERVED_VECTORS", "Call", "Destroyer", "Program", "assembled", "available"]
