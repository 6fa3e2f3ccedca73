"""A tester of calling conventions: machine code, written by hand in assembly, that calls code and is called by it.

The tables here are written from the documents, not from ``targets/x86/abi.py``, so that both must agree:

* System V: *System V Application Binary Interface, AMD64 Architecture Processor Supplement*, version 1.0, section 3.2 (3.2.1 registers,
  3.2.2 the stack frame with its red zone, 3.2.3 parameter passing; figure 3.4).
* Win64: Microsoft, *x64 calling convention* and *x64 software conventions*: four positions shared by both classes of arguments, 32 bytes
  of shadow space that belong to the callee, no red zone, xmm6 to xmm15 preserved in their low 128 bits only.

``Caller`` calls a function with a marked value in every register it must preserve and rubbish in every other one, above the bits of
narrow arguments too, on a stack of its own full of canaries. It can stop after every instruction, by the trap flag, and destroy all
memory below the stack pointer that a signal handler may destroy. ``Destroyer`` is a function to be called: it writes down what it finds, then
destroys everything that a function may destroy.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import random
import signal
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.targets.alive import flat
from tests.targets.x86.conftest import machine_code

from loopwright.compiler import Compiled
from loopwright.runtime import memory
from loopwright.types import BOOL, F32, F64, VOID, Type

GPRS = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15")


@dataclass(frozen=True)
class Rules:
    """What a convention's document says.

    Attributes:
        ints, floats: argument registers in order.
        preserved: integer registers a function must preserve, besides rsp.
        preserved_xmm: vector registers whose low 128 bits it must preserve.
        by_position: the n-th argument has the n-th register of its class.
        shadow: bytes above the return address that belong to the callee.
        red_zone: bytes below the stack pointer that nobody else touches.
    """

    name: str
    ints: tuple[str, ...]
    floats: int
    preserved: tuple[str, ...]
    preserved_xmm: tuple[int, ...]
    by_position: bool
    shadow: int
    red_zone: int

    def places(self, types: list[Type]) -> list[str]:
        """Where each argument is: a register's name, or ``stack`` with the number of its eightbyte."""
        out: list[str] = []
        ints = floats = words = 0
        for position, type_ in enumerate(types):
            number = position if self.by_position else floats if type_.is_float else ints
            if number >= (self.floats if type_.is_float else len(self.ints)):
                out.append(f"stack{words}")
                words += 1
            elif type_.is_float:
                out.append(f"xmm{number}")
                floats += 1
            else:
                out.append(self.ints[number])
                ints += 1
        return out


SYSV = Rules("sysv", ("rdi", "rsi", "rdx", "rcx", "r8", "r9"), 8, ("rbx", "rbp", "r12", "r13", "r14", "r15"), (), False, 0, 128)
WIN64 = Rules("win64", ("rcx", "rdx", "r8", "r9"), 4, ("rbx", "rbp", "rdi", "rsi", "r12", "r13", "r14", "r15"), tuple(range(6, 16)), True, 32, 0)
RULES = {"sysv": SYSV, "win64": WIN64}

#: MXCSR: what a function may change are the six sticky flags; the control bits above them are preserved (psABI 3.2.1).
MXCSR = 0x1F80
_MXCSR_CONTROL = 0xFFC0
#: The x87 environment at a call (psABI 3.2.1): the default control word, and a tag word that says the registers are empty, not in MMX mode.
_X87_CONTROL, _X87_EMPTY = 0x037F, 0xFFFF
_TRAP, _DIRECTION = 1 << 8, 1 << 10
#: XGETBV with ECX = 1 (SDM volume 1, 13.2): upper halves of ymm0 to ymm15 and of zmm0 to zmm15 that are not known to be zero.
_UPPER_HALVES = 1 << 2 | 1 << 6

# The block a Caller and its code share: offsets of what goes in and of what comes out.
_GPR, _K, _FLAGS, _MX, _HOST_MX, _HOST_RSP, _CLEAN, _HAS_INUSE, _BACK = 0, 128, 192, 200, 204, 208, 216, 220, 224
_MX_OUT, _ENV, _INUSE, _SIGNAL, _AT, _STEPS, _LIMIT, _ADDRESS = 232, 240, 272, 280, 288, 296, 304, 312
_VECTOR, _GPR_OUT, _K_OUT, _FLAGS_OUT, _VECTOR_OUT, _BLOCK = 512, 2560, 2688, 2752, 3072, 5120

# The block of a Destroyer: a header, the rubbish it loads, results, then what it finds, call by call.
_COUNT, _WORDS, _CLEAN_TOO, _INUSE_TOO, _FLAGS_TOO, _JUNK = 0, 8, 16, 24, 32, 64
_JUNK_K, _RESULTS = 64 + 32 * 64, 64 + 32 * 64 + 64
_CALLS = 64
_FOUND = _RESULTS + 16 * _CALLS
_F_XMM, _F_MX, _F_FLAGS, _F_INUSE, _F_STACK, _MOST_WORDS = 128, 256, 264, 272, 280, 40
_ENTRY = _F_STACK + 8 * _MOST_WORDS

#: Stands for an address until the code is placed.
_HERE = 0x1122334455667788

#: Offsets in the context a signal handler gets (Linux, struct ucontext and struct sigcontext).
_UC_RSP, _UC_RIP, _UC_FLAGS = 160, 168, 176
#: Bytes below the red zone that are destroyed with each step.
_PAGE = 4096


def _each(text: str, numbers: range | tuple[int, ...]) -> str:
    return "\n".join(text.format(n=n, n8=8 * n, n16=16 * n, n64=64 * n) for n in numbers)


def _caller(wide: bool) -> str:
    """Loads everything, goes to the function, stores everything. Entered by ctypes, without arguments."""
    v, count = ("zmm", 32) if wide else ("ymm", 16)
    # All but rsp, and rax last, for it holds the block's address until then.
    load = "\n".join(f"mov {name}, [rax + {_GPR + 8 * n}]" for n, name in enumerate(GPRS) if name not in ("rax", "rsp"))
    keep = "\n".join(f"mov [rax + {_GPR_OUT + 8 * n}], {name}" for n, name in enumerate(GPRS) if name != "rax")
    return f"""
        push rbx; push rbp; push r12; push r13; push r14; push r15
        movabs rax, {_HERE}
        mov [rax + {_HOST_RSP}], rsp
        stmxcsr [rax + {_HOST_MX}]
        fninit
        {_each(f"vmovups {v}{{n}}, [rax + {_VECTOR} + {{n64}}]", range(count))}
        {_each(f"kmovq k{{n}}, [rax + {_K} + {{n8}}]", range(8)) if wide else ""}
        cmp dword ptr [rax + {_CLEAN}], 0
        je 1f
        vzeroupper
    1:  ldmxcsr [rax + {_MX}]
        mov rsp, [rax + {_GPR + 8 * GPRS.index("rsp")}]
        lea rcx, [rip + 2f]
        mov [rax + {_BACK}], rcx
        mov [rsp + 8], rcx
        push qword ptr [rax + {_FLAGS}]
        popfq
        {load}
        mov rax, [rax + {_GPR}]
        ret
    2:  movabs [{_HERE}], rax
        movabs rax, {_HERE}
        {keep}
        mov rcx, [rax + {_GPR}]
        mov rsp, [rax + {_HOST_RSP}]
        pushfq
        pop qword ptr [rax + {_FLAGS_OUT}]
        push 0x202
        popfq
        mov rbx, rax
        mov rcx, [rbx]
        mov [rbx + {_GPR_OUT}], rcx
        cmp dword ptr [rbx + {_HAS_INUSE}], 0
        je 3f
        mov ecx, 1
        xgetbv
        mov [rbx + {_INUSE}], rax
    3:  stmxcsr [rbx + {_MX_OUT}]
        fnstenv [rbx + {_ENV}]
        fninit
        {_each(f"vmovups [rbx + {_VECTOR_OUT} + {{n64}}], {v}{{n}}", range(count))}
        {_each(f"kmovq [rbx + {_K_OUT} + {{n8}}], k{{n}}", range(8)) if wide else ""}
        ldmxcsr [rbx + {_HOST_MX}]
        vzeroupper
        pop r15; pop r14; pop r13; pop r12; pop rbp; pop rbx
        ret
    """


def _destroyer(rules: Rules, wide: bool) -> str:
    """Writes down what it is given, destroys what it may, returns what the block says."""
    v, count = ("zmm", 32) if wide else ("ymm", 16)
    stack = 8 + rules.shadow
    note = "\n".join(f"mov [r10 + {8 * n}], {name}" for n, name in enumerate(GPRS) if name not in ("r10", "r11"))
    volatile = "\n".join(f"movabs {name}, {0x5EED000000000000 + n}" for n, name in enumerate(GPRS) if name not in (*rules.preserved, "rsp", "rax"))
    return f"""
        movabs r11, {_HERE}
        mov r10, [r11 + {_COUNT}]
        inc qword ptr [r11 + {_COUNT}]
        cmp r10, {_CALLS}
        jb 1f
        ud2
    1:  imul r10, r10, {_ENTRY}
        lea r10, [r11 + r10 + {_FOUND}]
        {note}
        {_each(f"vmovups [r10 + {_F_XMM} + {{n16}}], xmm{{n}}", range(8))}
        stmxcsr [r10 + {_F_MX}]
        pushfq
        pop rax
        mov [r10 + {_F_FLAGS}], rax
        mov [r11 + {_FLAGS_TOO}], rax
        # Single steps would take long in here.
        push 0x202
        popfq
        cmp dword ptr [r11 + {_INUSE_TOO}], 0
        je 2f
        mov ecx, 1
        xgetbv
        mov [r10 + {_F_INUSE}], rax
        # Stack arguments: written down, and then this function's own to write to.
    2:  mov r8, -0x123456789
        xor eax, eax
    3:  cmp rax, [r11 + {_WORDS}]
        jae 4f
        mov rdx, [rsp + rax*8 + {stack}]
        mov [r10 + rax*8 + {_F_STACK}], rdx
        mov [rsp + rax*8 + {stack}], r8
        inc rax
        jmp 3b
    4:  {_each("mov [rsp + 8 + {n8}], r8", range(rules.shadow // 8))}
        # What is below: the red zone, or a frame of its own.
        xor eax, eax
    5:  dec rax
        mov [rsp + rax*8], r8
        cmp rax, -512
        jne 5b
        # Results, by the number of the call.
        mov rax, [r11 + {_COUNT}]
        shl rax, 4
        lea rcx, [r11 + rax + {_RESULTS - 16}]
        mov rax, [rcx + 8]
        mov [r11 + {_JUNK}], rax
        mov rax, [rcx]
        {_each(f"vmovups [r11 + {_JUNK} + {{n64}}], xmm{{n}}", rules.preserved_xmm)}
        {_each(f"vmovups {v}{{n}}, [r11 + {_JUNK} + {{n64}}]", range(count))}
        {_each(f"kmovq k{{n}}, [r11 + {_JUNK_K} + {{n8}}]", range(8)) if wide else ""}
        cmp dword ptr [r11 + {_CLEAN_TOO}], 0
        je 6f
        vzeroupper
    6:  xor qword ptr [r11 + {_FLAGS_TOO}], 0x8d5
        push qword ptr [r11 + {_FLAGS_TOO}]
        {volatile}
        popfq
        ret
    """


def _stepped(rules: Rules) -> str:
    """The handler of SIGTRAP: (signal in rdi, siginfo in rsi, context in rdx).

    It has a stack of its own; a page of the interrupted one, from the red zone down, is filled here, as a handler on that stack might.
    """
    return f"""
        cld
        movabs rax, {_HERE}
        # Only TRAP_TRACE, no breakpoints, and not for ever.
        cmp dword ptr [rsi + 8], 2
        jne 1f
        inc qword ptr [rax + {_STEPS}]
        mov rcx, [rax + {_STEPS}]
        cmp rcx, [rax + {_LIMIT}]
        ja 1f
        mov rcx, [rdx + {_UC_RSP}]
        lea rdi, [rcx - {rules.red_zone + _PAGE}]
        mov ecx, {_PAGE}
        mov eax, 0xcc
        rep stosb
        ret
    1:  {_give_up()}
    """


def _give_up() -> str:
    """Goes on behind the call, as if it had returned."""
    return f"""
        mov [rax + {_SIGNAL}], rdi
        mov rcx, [rdx + {_UC_RIP}]
        mov [rax + {_AT}], rcx
        mov rcx, [rsi + 16]
        mov [rax + {_ADDRESS}], rcx
        mov rcx, [rax + {_BACK}]
        mov [rdx + {_UC_RIP}], rcx
        and qword ptr [rdx + {_UC_FLAGS}], {~(_TRAP | _DIRECTION)}
        ret
    """


def _routines() -> dict[str, str]:
    made = {"faulted": f"movabs rax, {_HERE}\n{_give_up()}"}
    for wide in (False, True):
        made[f"caller {wide}"] = _caller(wide)
        for rules in RULES.values():
            made[f"destroyer {rules.name} {wide}"] = _destroyer(rules, wide)
    for rules in RULES.values():
        made[f"stepped {rules.name}"] = _stepped(rules)
    return made


@functools.cache
def _assembled() -> dict[str, bytes]:
    """All routines, from one run of an assembler: each at a multiple of a page."""
    sources = _routines()
    lines = [".intel_syntax noprefix", ".text"]
    for text in sources.values():
        lines += [line.strip() for line in text.replace(";", "\n").splitlines()]
        lines.append(f".balign {mmap.PAGESIZE}, 0xcc")
    whole = machine_code("\n".join(line for line in lines if line and not line.startswith("#")) + "\n")
    return {name: whole[n * mmap.PAGESIZE : (n + 1) * mmap.PAGESIZE].rstrip(b"\xcc") for n, name in enumerate(sources)}


def _placed(name: str, block: int) -> memory.Block:
    return memory.allocate(_assembled()[name].replace(struct.pack("<Q", _HERE), struct.pack("<Q", block)))


def _address(buffer: Any) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


@functools.cache
def reports_upper_halves() -> bool:
    """Whether XGETBV tells which upper halves are in use (CPUID leaf 0DH, subleaf 1, EAX bit 2)."""
    return " xgetbv1 " in Path("/proc/cpuinfo").read_text()


def word(type_: Type, value: Any, noise: int) -> int:
    """The eightbyte that passes a value: above its own bits there may be anything (psABI 3.2.3; Microsoft: "the callee can ignore the upper bits")."""
    raw = int.from_bytes(struct.pack("<f" if type_ is F32 else "<d", value), "little") if type_.is_float else int(value) & (1 << type_.bits) - 1
    return (raw | noise << type_.bits) & (1 << 64) - 1


def value_of(type_: Type, raw: int) -> Any:
    """The value that an eightbyte passes."""
    if type_.is_float:
        data = raw.to_bytes(8, "little")
        return struct.unpack("<f", data[:4])[0] if type_ is F32 else struct.unpack("<d", data)[0]
    if type_ is BOOL:
        return bool(raw & 255)
    raw &= (1 << type_.bits) - 1
    return raw - (1 << type_.bits) if type_.signed and raw >> (type_.bits - 1) else raw


@dataclass
class Seen:
    """What a call of a Destroyer found: the arguments, and what was wrong."""

    arguments: list[Any]
    wrong: list[str]


class Destroyer:
    """A function that code under test may call.

    Attributes:
        block, address: its code.
        types, result: its signature.
    """

    def __init__(self, rules: Rules, wide: bool, types: list[Type], result: Type, returned: list[Any], seed: int = 0, clean: bool = True) -> None:
        self.rules, self.types, self.result = rules, types, result
        chooser = random.Random(seed)
        self._memory = mmap.mmap(-1, _FOUND + _ENTRY * _CALLS)
        self._clean = clean
        self._places = rules.places(types)
        words = sum(place.startswith("stack") for place in self._places)
        assert words <= _MOST_WORDS and len(returned) <= _CALLS
        struct.pack_into("<QQQQ", self._memory, _COUNT, 0, words, clean, reports_upper_halves())
        self._memory[_JUNK:_RESULTS] = chooser.randbytes(_RESULTS - _JUNK)
        for n, value in enumerate(returned):
            raw = word(result, value, chooser.getrandbits(64)) if result is not VOID else chooser.getrandbits(64)
            other = chooser.getrandbits(64)
            struct.pack_into("<QQ", self._memory, _RESULTS + 16 * n, *((other, raw) if result.is_float else (raw, other)))
        self.block = _placed(f"destroyer {rules.name} {wide}", _address(self._memory))
        self.address = self.block.address

    def rewind(self) -> None:
        """Forget the calls."""
        struct.pack_into("<Q", self._memory, _COUNT, 0)

    def calls(self) -> list[Seen]:
        """What the calls since the last ``rewind`` found."""
        (count,) = struct.unpack_from("<Q", self._memory, _COUNT)
        return [self._seen(_FOUND + n * _ENTRY) for n in range(min(count, _CALLS))]

    def _seen(self, at: int) -> Seen:
        block = self._memory
        raw = []
        for place in self._places:
            offset = (
                at + 8 * GPRS.index(place) if place in GPRS else at + _F_XMM + 16 * int(place[3:]) if place[0] == "x" else at + _F_STACK + 8 * int(place[5:])
            )
            raw.append(struct.unpack_from("<Q", block, offset)[0])
        wrong = []
        rsp, rax = (struct.unpack_from("<Q", block, at + 8 * GPRS.index(name))[0] for name in ("rsp", "rax"))
        mxcsr, flags, in_use = struct.unpack_from("<I4xQQ", block, at + _F_MX)
        if (rsp + 8) % 16:
            wrong.append(f"rsp was {rsp + 8:#x} at the call, not a multiple of 16")
        if flags & _DIRECTION:
            wrong.append("the direction flag was set at the call")
        if (mxcsr ^ MXCSR) & _MXCSR_CONTROL:
            wrong.append(f"MXCSR was {mxcsr:#x} at the call")
        if self._clean and in_use & _UPPER_HALVES:
            wrong.append("upper halves of vector registers were in use at the call")
        floats = sum(place[0] == "x" for place in self._places)
        if self.rules is SYSV and rax & 255 != floats:
            # It could have a variable number of arguments: "an upper bound on the number of vector registers used, in the range 0-8" (3.5.7).
            wrong.append(f"al was {rax & 255} at the call, {floats} vector registers hold arguments")
        return Seen([value_of(t, r) for t, r in zip(self.types, raw, strict=True)], wrong)


class _Action(ctypes.Structure):
    """struct sigaction of glibc on x86-64."""

    _fields_ = [("handler", ctypes.c_void_p), ("mask", ctypes.c_ulong * 16), ("flags", ctypes.c_int), ("restorer", ctypes.c_void_p)]


class _AlternateStack(ctypes.Structure):
    _fields_ = [("sp", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]


_LIBC = ctypes.CDLL(None, use_errno=True)
_SIGINFO, _ON_STACK, _NO_DEFER = 4, 0x08000000, 0x40000000
_FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGVTALRM)


class _Handlers:
    """While active, faults and single steps go to the routines above, and code that takes longer than so many seconds ends in a fault."""

    def __init__(self, stepped: int, faulted: int) -> None:
        self.seconds = 10.0
        self._stack = mmap.mmap(-1, 1 << 16)
        self._new = {signal.SIGTRAP: (stepped, _SIGINFO | _ON_STACK | _NO_DEFER)} | {s: (faulted, _SIGINFO | _ON_STACK | _NO_DEFER) for s in _FAULTS}
        self._old: dict[signal.Signals, _Action] = {}
        self._old_stack = _AlternateStack()

    def __enter__(self) -> None:
        made = _AlternateStack(_address(self._stack), 0, len(self._stack))
        assert _LIBC.sigaltstack(ctypes.byref(made), ctypes.byref(self._old_stack)) == 0
        for number, (handler, flags) in self._new.items():
            self._old[number] = _Action()
            action = _Action(handler, (ctypes.c_ulong * 16)(), flags, None)
            assert _LIBC.sigaction(int(number), ctypes.byref(action), ctypes.byref(self._old[number])) == 0
        signal.setitimer(signal.ITIMER_VIRTUAL, self.seconds)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        for number, action in self._old.items():
            _LIBC.sigaction(int(number), ctypes.byref(action), None)
        _LIBC.sigaltstack(ctypes.byref(self._old_stack), None)


@dataclass
class Outcome:
    """What became of a call: its result, what was wrong, and how many instructions were stopped after."""

    result: Any
    wrong: list[str] = field(default_factory=list)
    steps: int = 0


class Caller:
    """Calls machine code by a convention's rules and checks that it keeps them.

    Args:
        rules: the convention.
        wide: this CPU has AVX-512, whose registers are filled and checked too.
        seed: of the marks, rubbish and canaries.
        python: what is called needs the GIL.

    Attributes:
        stack: what the code runs on.
        handlers: how long it may take is in there.
    """

    STACK = 1 << 18
    #: Bytes of the caller's frame above the arguments.
    ABOVE = 1024

    def __init__(self, rules: Rules, wide: bool, seed: int = 0, python: bool = False) -> None:
        self.rules, self.wide = rules, wide
        self._random = random.Random(seed)
        self._block = mmap.mmap(-1, _BLOCK)
        block = _address(self._block)
        self._code = _placed(f"caller {wide}", block)
        self._stepped = _placed(f"stepped {rules.name}", block)
        self._faulted = _placed("faulted", block)
        self._enter = (ctypes.PYFUNCTYPE if python else ctypes.CFUNCTYPE)(None)(self._code.address)
        self.handlers = _Handlers(self._stepped.address, self._faulted.address)
        self.stack = mmap.mmap(-1, self.STACK, mmap.MAP_PRIVATE)
        self.stack.madvise(mmap.MADV_NOHUGEPAGE)

    def call(
        self,
        function: int,
        types: list[Type],
        values: list[Any],
        result: Type,
        *,
        step: bool = False,
        clean: bool = True,
        skew: int = 0,
        fill: bool = True,
        limit: int = 200_000,
    ) -> Outcome:
        """Call the function at an address.

        Args:
            types, values: its arguments.
            result: type of its result.
            step: stop after every instruction.
            clean: the upper halves of the vector registers are zero when it is called, and must be so afterwards.
            skew: bytes (a multiple of 16) by which the stack pointer misses a multiple of 64.
            fill: the stack is full of rubbish; otherwise below the arguments nothing has touched it since the Caller was made.
            limit: most instructions to step through.
        """
        chooser, rules = self._random, self.rules
        block, stack = self._block, self.stack
        noise = chooser.randbytes(_BLOCK)
        block[_GPR:_FLAGS] = noise[_GPR:_FLAGS]
        block[_VECTOR:_GPR_OUT] = noise[_VECTOR:_GPR_OUT]
        places = rules.places(types)
        words = sum(place.startswith("stack") for place in places)
        # From the top: the caller's frame, stack arguments, shadow space, return address, and the address that ``ret`` goes to.
        arguments = self.STACK - self.ABOVE - (8 * words + 63 & ~63) - 64 + skew
        top = arguments - rules.shadow
        if fill:
            stack[:] = chooser.randbytes(4096) * (self.STACK // 4096)
        for type_, value, place in zip(types, values, places, strict=True):
            raw = word(type_, value, chooser.getrandbits(64))
            if place in GPRS:
                struct.pack_into("<Q", block, _GPR + 8 * GPRS.index(place), raw)
            elif place[0] == "x":
                struct.pack_into("<Q", block, _VECTOR + 64 * int(place[3:]), raw)
            else:
                struct.pack_into("<Q", stack, arguments + 8 * int(place[5:]), raw)
        base = _address(stack)
        assert (base + top) % 16 == 0
        struct.pack_into("<QQ", stack, top - 16, function, 0)
        struct.pack_into("<Q", block, _GPR + 8 * GPRS.index("rsp"), base + top - 16)
        struct.pack_into("<Q", block, _FLAGS, 0x202 | 0x8D5 & chooser.getrandbits(12) | (_TRAP if step else 0))
        struct.pack_into("<I", block, _MX, MXCSR)
        struct.pack_into("<II", block, _CLEAN, clean, reports_upper_halves())
        struct.pack_into("<QQQQQ", block, _SIGNAL, 0, 0, 0, limit, 0)
        above = bytes(stack[arguments + 8 * words :])
        before = bytes(block[:_GPR_OUT])
        with self.handlers:
            self._enter()
        outcome = Outcome(self._result(result), [], struct.unpack_from("<Q", block, _STEPS)[0])
        self._check(outcome, before, function, base + top, clean)
        if stack[arguments + 8 * words :] != above:
            outcome.wrong.append("the caller's frame was written to")
        return outcome

    def call_compiled(self, compiled: Compiled, args: list[Any], **how: Any) -> Outcome:
        """Call compiled code with the arguments that its function takes; ``how`` as in ``call``."""
        block = memory.allocate(compiled.machine.data, compiled.machine.align)
        types, values = flat(compiled.source, args)
        return self.call(block.address, types, values, compiled.source.result, **how)

    def went_in(self, name: str) -> int:
        """What an integer register held at the last call."""
        return int(struct.unpack_from("<Q", self._block, _GPR + 8 * GPRS.index(name))[0])

    def came_back(self, name: str) -> int:
        """What it held afterwards."""
        return int(struct.unpack_from("<Q", self._block, _GPR_OUT + 8 * GPRS.index(name))[0])

    def vector_changed(self, number: int) -> tuple[bool, bool]:
        """Whether the low 128 bits, and those above, of a vector register came back changed."""
        went, came = _VECTOR + 64 * number, _VECTOR_OUT + 64 * number
        size = 64 if self.wide else 32
        return self._block[went : went + 16] != self._block[came : came + 16], self._block[went + 16 : went + size] != self._block[came + 16 : came + size]

    def _result(self, type_: Type) -> Any:
        return None if type_ is VOID else value_of(type_, struct.unpack_from("<Q", self._block, _VECTOR_OUT if type_.is_float else _GPR_OUT)[0])

    def _check(self, outcome: Outcome, before: bytes, function: int, rsp: int, clean: bool) -> None:
        block, wrong = self._block, outcome.wrong
        number, at, steps, limit, address = struct.unpack_from("<QQQQQ", block, _SIGNAL)
        if number:
            kind = "no end" if steps > limit or number == signal.SIGVTALRM else signal.Signals(number).name
            wrong.append(f"{kind} {at - function:#x} bytes into the function, address {address:#x}")
            return
        for n, name in enumerate(GPRS):
            came_back = struct.unpack_from("<Q", block, _GPR_OUT + 8 * n)[0]
            was = rsp if name == "rsp" else struct.unpack_from("<Q", before, _GPR + 8 * n)[0]
            if (name == "rsp" or name in self.rules.preserved) and came_back != was:
                wrong.append(f"{name} was {was:#x} and came back as {came_back:#x}")
        for n in self.rules.preserved_xmm:
            if block[_VECTOR_OUT + 64 * n : _VECTOR_OUT + 64 * n + 16] != before[_VECTOR + 64 * n : _VECTOR + 64 * n + 16]:
                wrong.append(f"xmm{n} was not preserved")
        mxcsr = struct.unpack_from("<I", block, _MX_OUT)[0]
        if (mxcsr ^ MXCSR) & _MXCSR_CONTROL:
            wrong.append(f"MXCSR came back as {mxcsr:#x}")
        control, _, tags = struct.unpack_from("<HxxHxxH", block, _ENV)
        if (control, tags) != (_X87_CONTROL, _X87_EMPTY):
            wrong.append(f"the x87 unit came back with control word {control:#x} and tags {tags:#x}")
        if struct.unpack_from("<Q", block, _FLAGS_OUT)[0] & _DIRECTION:
            wrong.append("the direction flag came back set")
        if clean and struct.unpack_from("<Q", block, _INUSE)[0] & _UPPER_HALVES:
            wrong.append("upper halves of vector registers came back in use")


def tested(compiled: Compiled, args: Sequence[Any]) -> Outcome:
    """Call compiled code by the usual convention (see ``tests/machines.py``)."""
    return Caller(SYSV, False).call_compiled(compiled, list(args))


def pages_touched(region: mmap.mmap) -> list[bool]:
    """For each page of a private mapping, whether it has been touched."""
    seen = (ctypes.c_ubyte * (len(region) // mmap.PAGESIZE))()
    assert _LIBC.mincore(ctypes.c_void_p(_address(region)), ctypes.c_size_t(len(region)), seen) == 0
    return [page & 1 == 1 for page in seen]


__all__ = [
    "F64",
    "GPRS",
    "MXCSR",
    "RULES",
    "SYSV",
    "WIN64",
    "Caller",
    "Destroyer",
    "Outcome",
    "Rules",
    "Seen",
    "pages_touched",
    "reports_upper_halves",
    "tested",
]
