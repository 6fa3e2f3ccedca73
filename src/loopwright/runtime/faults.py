"""What is said of compiled code that faults, before the process ends: the kernel, the line, the instruction.

Compiled code does not check its indices (unless told to, by ``check=True``), so that a wrong one may reach outside the process's memory. The signal for that
is caught by a few instructions of machine code, which look where the fault was. In code of ours nothing of Python's or the C library's is
under way and the GIL is free, so that Python can go on to tell; then the faulting instruction runs again, under the action that was there before: the process ends as
it would have, with the same status. Faults elsewhere go to the former action at once.

On Linux on x86-64 alone. A handler that is installed later (``faulthandler.enable()`` behind the first compilation) comes in front of this one, and need not ask it.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from loopwright.runtime import memory

__all__ = ["ENVIRONMENT", "install"]

#: 0 there means that nothing is caught.
ENVIRONMENT: Final = "LOOPWRIGHT_FAULTS"

_CAUGHT: Final = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL")
#: Offsets in the context that a handler gets (Linux, struct ucontext with its struct sigcontext), and in its siginfo.
_UC_RSP: Final = 160
_UC_RIP: Final = 168
_SI_CODE: Final = 8
_SI_ADDR: Final = 16
#: A fault of which the kernel does not know the address: that was none of 48 or 57 bits, sign-extended.
_SI_KERNEL: Final = 0x80
#: How far below the stack pointer an access still counts as one to the stack: the red zone, and a page that is probed.
_BELOW: Final = 4096 + 128
# asm-generic/signal-defs.h
_SA_SIGINFO: Final = 4
_SA_ONSTACK: Final = 0x08000000
#: Room for Python on a stack of its own: the thread's may be what has run out.
_STACK: Final = 1 << 20


class _Action(ctypes.Structure):
    """struct sigaction of glibc and musl on x86-64."""

    _fields_ = (("handler", ctypes.c_void_p), ("mask", ctypes.c_uint64 * 16), ("flags", ctypes.c_int), ("restorer", ctypes.c_void_p))


class _Stack(ctypes.Structure):
    """stack_t."""

    _fields_ = (("sp", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


#: What signals lead to that are not for us, by number; and the actions they had.
_previous: Final = (ctypes.c_uint64 * 65)()
_actions: Final[dict[int, _Action]] = {}
_libc: Any = None
#: The ``Code`` at an address, or None.
_find: Callable[[int], Any] | None = None
#: What must live as long as the handler.
_keep: Final[list[Any]] = []


def _handler(table: int, report: int, previous: int, default: int) -> bytes:
    """The handler's code, called with (signal, siginfo, context): to ``report`` for faults inside a range of ``table``, else to the former handler.

    Args:
        table: address of the number of ranges, and the first and the past-the-last address of each.
        report: address of the function that tells.
        previous: address of the former handlers by number of the signal; 0 and 1 stand for none.
        default: address of C's ``signal``.
    """

    def word(value: int) -> bytes:
        return value.to_bytes(8, "little")

    return b"".join(
        (
            b"\x89\xff",  # mov edi, edi
            b"\x48\x8b\x82" + _UC_RIP.to_bytes(4, "little"),  # mov rax, [rdx + RIP]
            b"\x48\xb9" + word(table),  # movabs rcx, table
            b"\x4c\x8b\x01",  # mov r8, [rcx]
            b"\x4d\x85\xc0",  # next: test r8, r8
            b"\x74\x1e",  # je other
            b"\x48\x83\xc1\x10",  # add rcx, 16
            b"\x49\xff\xc8",  # dec r8
            b"\x48\x3b\x41\xf8",  # cmp rax, [rcx - 8]
            b"\x72\xee",  # jb next
            b"\x48\x3b\x01",  # cmp rax, [rcx]
            b"\x73\xe9",  # jae next
            b"\x48\xb8" + word(report),  # movabs rax, report
            b"\xff\xe0",  # jmp rax
            b"\x48\xb8" + word(previous),  # other: movabs rax, previous
            b"\x48\x8b\x04\xf8",  # mov rax, [rax + rdi*8]
            b"\x48\x83\xf8\x01",  # cmp rax, 1
            b"\x76\x02",  # jbe default
            b"\xff\xe0",  # jmp rax
            b"\x31\xf6",  # default: xor esi, esi
            b"\x48\xb8" + word(default),  # movabs rax, signal
            b"\xff\xe0",  # jmp rax
        )
    )


def install(find: Callable[[int], Any]) -> None:
    """Catch faults of compiled code from now on. Does nothing where that is not possible, or not wanted.

    Args:
        find: gives the ``Code`` at an address, or None.
    """
    global _find, _libc
    if _actions or not sys.platform.startswith("linux") or platform.machine() not in ("x86_64", "AMD64") or os.environ.get(ENVIRONMENT) == "0":
        return
    _libc = ctypes.CDLL(None)
    _find = find
    report = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(_report)
    addresses = [ctypes.cast(each, ctypes.c_void_p).value or 0 for each in (report, _libc.signal)]
    code = memory.allocate(_handler(ctypes.addressof(memory.MAPPED), addresses[0], ctypes.addressof(_previous), addresses[1]))
    stack = ctypes.create_string_buffer(_STACK)
    _keep.extend((report, code, stack))
    _libc.sigaltstack(ctypes.byref(_Stack(ctypes.addressof(stack), 0, _STACK)), None)
    for name in _CAUGHT:
        number = int(getattr(signal, name))
        before = _Action()
        mine = _Action(code.address, (ctypes.c_uint64 * 16)(), _SA_SIGINFO | _SA_ONSTACK, None)
        if _libc.sigaction(number, None, ctypes.byref(before)) == 0:
            _previous[number] = before.handler or 0
            _actions[number] = before
            _libc.sigaction(number, ctypes.byref(mine), None)


def _report(number: int, info: int, context: int) -> None:
    """Say where the fault was. Then the instruction runs again, under the former action."""
    try:
        at = ctypes.c_uint64.from_address(context + _UC_RIP).value
        stack = ctypes.c_uint64.from_address(context + _UC_RSP).value
        known = ctypes.c_int.from_address(info + _SI_CODE).value != _SI_KERNEL
        reached = ctypes.c_uint64.from_address(info + _SI_ADDR).value if known else None
        for part in _words(number, at, reached, stack):
            os.write(2, part.encode("utf-8", "replace"))
    finally:
        _libc.sigaction(number, ctypes.byref(_actions[number]), None)


def _words(number: int, at: int, reached: int | None, stack: int) -> Iterator[str]:
    """The report of a signal, in parts: what is known comes before what has to be found out, for which the code is compiled again.

    Args:
        number: the signal's.
        at: where the instruction is.
        reached: the address that it accessed, where the signal is one of memory; None where that is not known.
        stack: the stack pointer.
    """
    what = signal.strsignal(number) or f"signal {number}"
    remedy = ""
    if number in (signal.SIGSEGV, signal.SIGBUS):
        if reached is not None and stack - _BELOW <= reached < stack + _BELOW:
            remedy = "  The stack is used up: a recursion does not end, or is too deep.\n"
        else:
            what += f", accessing address {reached:#x}" if reached is not None else ", accessing an address that cannot be"
            remedy = "  With check=True it raises BoundsError for an index outside of its array.\n"
    code = _find(at) if _find is not None else None
    if code is None:
        yield f"loopwright: {what}, in compiled code at {at:#x}\n"
        return
    yield f"loopwright: {what}, in {code.name} for {code.target.name}\n"
    yield from _place(code, at - code.address)
    if not code.compiled.source.options.check:
        yield remedy


def _place(code: Any, offset: int) -> list[str]:
    """The line and the instruction at an offset of code."""
    source = code.compiled.source
    for start, data, text, line in code.compiled.listing():
        if start <= offset < start + len(data):
            words = source.lines.get(line, "").strip()
            where = [f'  File "{source.file}", line {line}, in {code.name}\n', f"    {words}\n"] if line else []
            return [*where, f"  at {start:x} of its code: {text}\n"]
    return []
