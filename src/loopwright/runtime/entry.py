"""The quick way in: a built-in function of CPython, made of machine code, that calls a compiled kernel.

What ctypes and a Python function do for a call (``call.py``) takes about a microsecond and a half for two arrays. Here the same checks are a few dozen
instructions, reached by CPython's vectorcall protocol (PEP 590; ``METH_FASTCALL | METH_KEYWORDS``, in the stable ABI since
Python 3.10), and the whole call takes about 60 ns.

The machine code does only what is usual: arrays that are exactly ``numpy.ndarray``, of the very dtype object NumPy uses for the expected type, of the right
rank, with unit stride inside, writable where written; scalars that are exactly ``float``, ``int`` (in range) or ``bool``, and NumPy's. At the first
thing that is otherwise it hands all arguments as they are to the *fallback*, a Python callable, which accepts what is unusual
but right, and explains what is wrong. So there is one place that decides what is an error, and it is not here.

Between ``PyEval_SaveThread`` and ``PyEval_RestoreThread`` the GIL is released, as ctypes does it. Arguments stay alive meanwhile: the caller of a
vectorcall owns them until it returns. Everything is read from the array objects before the GIL is released.

Made on x86-64 with System V's convention, for CPython whose objects have the layout that ``arrays.layout_holds`` and
``_objects_hold`` have checked (no free-threaded or tracing build); elsewhere the fallback is all there is.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from loopwright.runtime import arrays, memory
from loopwright.runtime.call import Signature, argument_names
from loopwright.runtime.cpu import is_x86_64
from loopwright.types import BOOL, F32, F64, I8, I16, I32, I64, PTR, U8, U16, U32, U64, VOID, Type

__all__ = ["Hub", "Joined", "callable_of", "joined", "supported"]

_METH_FASTCALL_KEYWORDS: Final = 0x0080 | 0x0002

# CPython's object header and the fields read here (Include/object.h, cpython/floatobject.h, cpython/tupleobject.h).
_OB_TYPE: Final = 8
_FLOAT_VALUE: Final = 16
_TUPLE_SIZE: Final = 16
_TUPLE_ITEMS: Final = 24


class _MethodDef(ctypes.Structure):
    """PyMethodDef (Include/methodobject.h)."""

    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


class _Fallback(functools.partial[Any]):
    """``self`` of the built-in function: what the machine code calls when it meets something unusual.

    It also keeps alive what the built-in function points to; CPython lets go of ``self`` last (``meth_dealloc``). A
    ``partial`` without arguments, because that is called without going through Python code.
    """

    keep: object


class _Template:
    """The machine code for one signature, without what differs from one use to the next.

    Attributes:
        data: the bytes, a table of 8-byte literals at the end.
        kernel: offset of what leads to the kernel: the literals of its address and of the guards; of a quick way that is joined to its kernel, the
            displacement of the call.
        keep: the objects whose addresses are among the literals.
    """

    __slots__ = ("data", "keep", "kernel")

    def __init__(self, data: bytes, kernel: int, keep: list[object]) -> None:
        self.data = data
        self.kernel = kernel
        self.keep = keep


_templates: dict[tuple[object, ...], _Template] = {}
_TEMPLATES: Final = 512


def _template(
    key: tuple[object, ...], signature: Signature, guards: dict[int, object], names: list[str], joined: bool, undeclared: tuple[int, ...] = ()
) -> _Template:
    """The template for a key, made if there is none."""
    if len(_templates) >= _TEMPLATES:
        _templates.clear()
    made = _templates[key] = _Maker(signature, guards, names, joined, undeclared).template()
    return made


class Way:
    """What debuggers are told of a quick way: whose it is, and its bytes."""

    __slots__ = ("code", "name")

    def __init__(self, name: str, code: bytes) -> None:
        self.name = name
        self.code = code

    def frames(self) -> bytes:
        """What it does to its frame, as instructions of DWARF (4, 6.4.2), of ``_Maker``'s beginning and ``leave``."""
        # After each push: the distance of the frame's address from rsp, or where the register is from it, in eights; after the move: that distance counts from rbp.
        out = bytearray.fromhex("41 0e10 8602 43 0d06 41 8303 42 8c04 42 8d05 42 8e06")
        at = 10
        place = self.code.find(_LEAVE)
        while place >= 0:
            end = place + len(_LEAVE)
            # rbp is the caller's again: DW_CFA_advance_loc4, remember_state, def_cfa rsp+8; behind the next instruction (jmp [rip+…], or ret) restore_state.
            out += b"\x04" + struct.pack("<I", end - at) + bytes.fromhex("0a 0c0708")
            after = end + (6 if self.code[end : end + 1] == b"\xff" else 1)
            out += b"\x04" + struct.pack("<I", after - end) + b"\x0b"
            at = after
            place = self.code.find(_LEAVE, after)
        return bytes(out)


class Joined:
    """A quick way that stands in one block of memory with the code it calls, behind it: the two are written, and freed, at once.

    Attributes:
        data: the bytes that follow the code's: up to the next line of the cache, and the quick way.
        offset: where that begins in the block.
    """

    __slots__ = ("_signature", "_template", "data", "offset")

    def __init__(self, signature: Signature, template: _Template, size: int) -> None:
        self._signature = signature
        self._template = template
        offset = self.offset = -(-size // memory.LINE) * memory.LINE
        place = template.kernel
        # Counted from the end of the call, which the displacement is.
        back = struct.pack("<i", -(offset + place + 4))
        self.data = b"".join((memory.TRAP * (offset - size), template.data[:place], back, template.data[place + 4 :]))

    def way(self) -> Way:
        """What debuggers are told of it."""
        return Way(self._signature.name, self._template.data)

    def function(self, block: memory.Block, keep: object) -> Callable[..., Any]:
        """What calls the code at the beginning of a block, which ``keep`` keeps alive."""
        wrapper = _Wrapper(self._signature, block.address, keep)
        return _Builtin(self._signature.name, wrapper, block.address + self.offset, (keep, self._template.keep)).function


def joined(signature: Signature, size: int) -> Joined | None:
    """The quick way to code of ``size`` bytes, not of checked mode, to stand behind it; None where there is none.

    Raises:
        AbiError: a type that cannot be passed from Python.
    """
    if not supported():
        return None
    template = _templates.get(signature.key)
    if template is None:
        signature.require_passable()
        template = _template(signature.key, signature, {}, argument_names(signature.parameters), True)
    return Joined(signature, template, size)


def callable_of(signature: Signature, address: int, keep: object) -> Callable[..., Any]:
    """The quickest function there is that calls the code at ``address`` with checked arguments.

    Args:
        signature: of the code; not of checked mode.
        keep: kept alive as long as the function (the code's memory).

    Raises:
        AbiError: a type that cannot be passed from Python.
    """
    signature.require_passable()
    wrapper = _Wrapper(signature, address, keep)
    if not supported():
        return wrapper.made()
    block, literals = _instance(signature, address, {}, argument_names(signature.parameters))
    return _Builtin(signature.name, wrapper, block.address, (keep, block, literals)).function


class Hub:
    """A built-in function whose quick way can be exchanged: the inline cache of a kernel's calls.

    It calls the fallback with the arguments it is given, unless they fit the specialisation it was last pointed at.

    Attributes:
        function: what to call.
    """

    __slots__ = ("_builtin", "_kept", "function")

    def __init__(self, name: str, fallback: Callable[..., Any]) -> None:
        self._kept: list[object] = []
        self._builtin: _Builtin | None = None
        self.function = fallback
        if supported():
            slow = _always_slow()
            self._builtin = _Builtin(name, fallback, slow.address, (slow, self._kept))
            self.function = self._builtin.function

    def point_at(
        self, signature: Signature, address: int, keep: object, constants: dict[int, object], names: list[str], undeclared: tuple[int, ...] = ()
    ) -> None:
        """From now on take the quick way to the code at ``address`` where the arguments fit it.

        Args:
            signature: of the code.
            keep: kept alive as long as this object (the code's memory).
            constants: further parameters, which the code does not receive, by position among all: the quick way is for this very object
                only. It must be immutable, for what was compiled depends on its value.
            names: of all parameters; "" where one cannot be passed by name.
            undeclared: positions of scalars whose type is the argument's: NumPy's would have code of their own.
        """
        if self._builtin is None or signature.checked:
            return
        block, literals = _instance(signature, address, constants, names, undeclared)
        # Old ways stay: another thread may be about to enter one.
        self._kept.append((keep, block, literals, tuple(constants.values())))
        self._builtin.definition.function = block.address


class _Wrapper:
    """The Python function that checks arguments and calls through ctypes, made when it is first needed."""

    __slots__ = ("address", "function", "keep", "signature")

    def __init__(self, signature: Signature, address: int, keep: object) -> None:
        self.signature = signature
        self.address = address
        self.keep = keep
        self.function: Callable[..., Any] | None = None

    def made(self) -> Callable[..., Any]:
        function = self.function
        if function is None:
            # Two threads may both make one; either will do.
            function = self.function = self.signature.wrapper(self.address, self.keep)
        return function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.made()(*args, **kwargs)
        except Exception as error:
            from loopwright.tracebacks import shorten

            shorten(error)
            raise


class _Builtin:
    """A built-in function made of machine code, and its definition, which CPython reads at each call."""

    __slots__ = ("definition", "function")

    def __init__(self, name: str, fallback: Callable[..., Any], address: int, keep: object) -> None:
        encoded = name.encode()
        self.definition = _MethodDef(encoded, address, _METH_FASTCALL_KEYWORDS, None)
        owner = _Fallback(fallback)
        owner.keep = (keep, self.definition, encoded)
        self.function: Callable[..., Any] = _new_function(ctypes.byref(self.definition), owner, None)


def _instance(
    signature: Signature, address: int, constants: dict[int, object], names: list[str], undeclared: tuple[int, ...] = ()
) -> tuple[memory.Block, list[object]]:
    """The machine code of a quick way, and the objects whose addresses are in it."""
    key = (signature.key, tuple(constants), tuple(names), undeclared)
    template = _templates.get(key) or _template(key, signature, constants, names, False, undeclared)
    data = bytearray(template.data)
    struct.pack_into(f"<{1 + len(constants)}Q", data, template.kernel, address, *(id(value) for value in constants.values()))
    block = memory.allocate(bytes(data))
    memory.tell(block, [(0, Way(signature.name, bytes(data)))])
    return block, template.keep


# --- what the process is ---------------------------------------------------------------------------------------

_is_supported: bool | None = None
_new_function: Any = None
_symbols: dict[str, int] = {}

_SYMBOLS: Final = (
    "PyBool_FromLong",
    "PyEval_RestoreThread",
    "PyEval_SaveThread",
    "PyFloat_FromDouble",
    "PyLong_AsLongLongAndOverflow",
    "PyLong_FromLongLong",
    "PyLong_FromUnsignedLongLong",
    "PyObject_Vectorcall",
    "Py_IncRef",
)


def supported() -> bool:
    """Whether there are such functions in this process."""
    global _is_supported, _new_function
    if _is_supported is None:
        holds = sys.platform != "win32" and is_x86_64() and arrays.layout_holds() and _objects_hold()
        if holds:
            try:
                for name in _SYMBOLS:
                    _symbols[name] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
                new: Any = ctypes.pythonapi.PyCFunction_NewEx
            except AttributeError:
                holds = False
            else:
                # A prototype of our own: the attribute of `pythonapi` is shared with whoever else uses it.
                _new_function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
                    ctypes.cast(new, ctypes.c_void_p).value or 0
                )
        _is_supported = holds
    return _is_supported


def _objects_hold() -> bool:
    number, items = 1234.5, ("a", "b")
    pair = 3.25 - 7.5j

    def field(thing: object, offset: int) -> int:
        return ctypes.c_int64.from_address(id(thing) + offset).value

    return (
        all(field(thing, _OB_TYPE) == id(type(thing)) for thing in (number, pair, items, 12345, True))
        and ctypes.c_double.from_address(id(number) + _FLOAT_VALUE).value == number
        # (Objects/complexobject.h: two doubles behind the header.)
        and ctypes.c_double.from_address(id(pair) + _FLOAT_VALUE).value == pair.real
        and ctypes.c_double.from_address(id(pair) + _FLOAT_VALUE + 8).value == pair.imag
        # (numpy/arrayscalars.h: the number behind the header.)
        and all(ctypes.string_at(id(one) + _FLOAT_VALUE, one.nbytes) == one.tobytes() for one in (kind(7) for kind in _NUMPYS))
        and field(items, _TUPLE_SIZE) == 2
        and field(items, _TUPLE_ITEMS) == id(items[0])
        and field(items, _TUPLE_ITEMS + 8) == id(items[1])
    )


_slow: memory.Block | None = None


def _always_slow() -> memory.Block:
    """PyObject_Vectorcall(self, args, nargs, kwnames): the arguments are where they have to be."""
    global _slow
    if _slow is None:
        _slow = memory.allocate(bytes.fromhex("ff2500000000") + struct.pack("<Q", _symbols["PyObject_Vectorcall"]))  # jmp [rip+0]
    return _slow


# --- the machine code ------------------------------------------------------------------------------------------

# System V's argument registers: how `mov r64, [rsp + disp32]` begins for each (REX.W 8B /r, SIB for rsp, mod 10).
_LOAD_INTEGER: Final = (
    bytes.fromhex("488bbc24"),  # rdi
    bytes.fromhex("488bb424"),  # rsi
    bytes.fromhex("488b9424"),  # rdx
    bytes.fromhex("488b8c24"),  # rcx
    bytes.fromhex("4c8b8424"),  # r8
    bytes.fromhex("4c8b8c24"),  # r9
)

# From the 64 bits in rax: the value a narrower integer type makes of its low bits, in rcx.
_NARROW: Final[dict[Type, bytes]] = {
    I8: bytes.fromhex("480fbec8"),  # movsx rcx, al
    U8: bytes.fromhex("0fb6c8"),  # movzx ecx, al
    I16: bytes.fromhex("480fbfc8"),  # movsx rcx, ax
    U16: bytes.fromhex("0fb7c8"),  # movzx ecx, ax
    I32: bytes.fromhex("4863c8"),  # movsxd rcx, eax
    U32: bytes.fromhex("89c1"),  # mov ecx, eax
}

# NumPy's scalars (numpy/arrayscalars.h): how 64 bits in rax are read from [rax + disp8], by type.
_READ: Final[dict[Any, bytes]] = {
    np.int8: bytes.fromhex("480fbe40"),  # movsx rax, byte [rax+disp8]
    np.uint8: bytes.fromhex("0fb640"),  # movzx eax, byte [rax+disp8]
    np.int16: bytes.fromhex("480fbf40"),  # movsx rax, word [rax+disp8]
    np.uint16: bytes.fromhex("0fb740"),  # movzx eax, word [rax+disp8]
    np.int32: bytes.fromhex("486340"),  # movsxd rax, dword [rax+disp8]
    np.uint32: bytes.fromhex("8b40"),  # mov eax, [rax+disp8]
    np.int64: bytes.fromhex("488b40"),  # mov rax, [rax+disp8]
    np.uint64: bytes.fromhex("488b40"),  # mov rax, [rax+disp8]
}
_NUMPYS: Final = (*_READ, np.float32, np.float64)

# Which of them a parameter takes besides Python's int: those of its own type, and those that indices and sums have.
_WHOLE: Final[dict[Type, tuple[Any, ...]]] = {
    I8: (np.int8, np.int64),
    U8: (np.uint8, np.int64),
    I16: (np.int16, np.int64),
    U16: (np.uint16, np.int64),
    I32: (np.int32, np.int64),
    U32: (np.uint32, np.int64),
    I64: (np.int64, np.int32),
    U64: (np.uint64, np.int64),
    PTR: (np.uint64,),
}
#: Which hold nothing that their parameter does not.
_FITTING: Final = ((I64, np.int64), (I64, np.int32), (U64, np.uint64), (PTR, np.uint64))

# A result in rax or xmm0, brought to the first argument register for the function that makes the Python object.
_RESULT: Final[dict[Type, tuple[bytes, str]]] = {
    BOOL: (bytes.fromhex("0fb6f8"), "PyBool_FromLong"),  # movzx edi, al
    I8: (bytes.fromhex("480fbef8"), "PyLong_FromLongLong"),  # movsx rdi, al
    U8: (bytes.fromhex("0fb6f8"), "PyLong_FromLongLong"),  # movzx edi, al
    I16: (bytes.fromhex("480fbff8"), "PyLong_FromLongLong"),  # movsx rdi, ax
    U16: (bytes.fromhex("0fb7f8"), "PyLong_FromLongLong"),  # movzx edi, ax
    I32: (bytes.fromhex("4863f8"), "PyLong_FromLongLong"),  # movsxd rdi, eax
    U32: (bytes.fromhex("89c7"), "PyLong_FromLongLong"),  # mov edi, eax
    I64: (bytes.fromhex("4889c7"), "PyLong_FromLongLong"),  # mov rdi, rax
    U64: (bytes.fromhex("4889c7"), "PyLong_FromUnsignedLongLong"),  # mov rdi, rax
    PTR: (bytes.fromhex("4889c7"), "PyLong_FromUnsignedLongLong"),  # mov rdi, rax
}

_JNE: Final = 0x85
_JE: Final = 0x84
_JLE: Final = 0x8E
_JG: Final = 0x8F
_JS: Final = 0x88


#: The end of a frame.
_LEAVE: Final = bytes.fromhex("488d65e0 415e 415d 415c 5b 5d")


class _Maker:
    """Writes the machine code for one signature.

    Registers throughout: r12 = self (the fallback), r13 = the arguments' addresses, r14 = their number, rbx = kwnames, later the thread's state.
    On the stack, from rsp up: stack arguments of the kernel, then 8 bytes for each value passed, then 8 of scratch.
    Where it is joined to the kernel, the call says how far away that is; otherwise the kernel's address is a literal.
    """

    def __init__(self, signature: Signature, guards: dict[int, object], names: list[str], joined: bool, undeclared: tuple[int, ...]) -> None:
        self.signature = signature
        self.undeclared = undeclared
        self.joined = joined
        self.guards = guards
        self.names = names
        self.out = bytearray()
        self.literals: list[int] = []
        self.keep: list[object] = []
        self.fixups: list[tuple[int, int]] = []
        self.slow: list[int] = []
        types = signature.native_types()
        self.places = _places(types)
        self.types = types
        stack_arguments = sum(1 for kind, _ in self.places if kind == "stack")
        self.values = 8 * stack_arguments
        self.scratch = self.values + 8 * len(types)
        self.frame = -(-(self.scratch + 8) // 16) * 16

    def hex(self, text: str) -> None:
        self.out += bytes.fromhex(text)

    def at_stack(self, opcode: str, offset: int) -> None:
        """An instruction whose memory operand is [rsp + disp32]; ``opcode`` includes ModRM and SIB."""
        self.hex(opcode)
        self.out += struct.pack("<i", offset)

    def at_literal(self, opcode: str, value: int) -> None:
        """An instruction whose memory operand is the literal ``value``: [rip + disp32]."""
        if value not in self.literals:
            self.literals.append(value)
        self.at_literal_number(opcode, self.literals.index(value))

    def at_literal_number(self, opcode: str, number: int) -> None:
        self.hex(opcode)
        self.fixups.append((len(self.out), number))
        self.out += bytes(4)

    def call(self, symbol: str) -> None:
        self.at_literal("ff15", _symbols[symbol])  # call [rip+…]

    def slow_if(self, condition: int) -> None:
        self.out += bytes((0x0F, condition))
        self.slow.append(len(self.out))
        self.out += bytes(4)

    def jump_if(self, condition: int) -> int:
        """A short jump forward; give the result to ``here``."""
        self.out += bytes((condition - 0x10, 0))
        return len(self.out)

    def jump(self) -> int:
        self.hex("eb00")
        return len(self.out)

    def here(self, jump: int) -> None:
        distance = len(self.out) - jump
        assert distance < 128
        self.out[jump - 1] = distance

    def argument(self, position: int) -> None:
        """rax = the argument object."""
        self.hex("498b85")  # mov rax, [r13 + disp32]
        self.out += struct.pack("<i", 8 * position)

    def expect_type(self, kind: type) -> None:
        self.hex("488b4808")  # mov rcx, [rax+8]
        self.at_literal("483b0d", id(kind))  # cmp rcx, [rip+…]
        self.slow_if(_JNE)

    def if_type(self, kind: type) -> int:
        """Go on where the type in rcx is this; give the result, a jump for where it is not, to ``here``."""
        self.at_literal("483b0d", id(kind))  # cmp rcx, [rip+…]
        return self.jump_if(_JNE)

    def template(self) -> _Template:
        total = len(self.signature.parameters) + len(self.guards)
        self.hex("55 4889e5 53 4154 4155 4156")  # push rbp; mov rbp, rsp; push rbx; push r12; push r13; push r14
        self.hex("4881ec")  # sub rsp, imm32
        self.out += struct.pack("<i", self.frame)
        self.hex("4989fc 4989f5 4989d6 4889cb")  # mov r12, rdi; mov r13, rsi; mov r14, rdx; mov rbx, rcx
        self.count(total)
        value = 0
        parameters = iter(self.signature.parameters)
        guard = 0
        guard_fixups: list[tuple[int, int]] = []
        for position in range(total):
            self.argument(position)
            if position in self.guards:
                self.hex("483b05")  # cmp rax, [rip+…]
                guard_fixups.append((len(self.out), guard))
                self.out += bytes(4)
                self.slow_if(_JNE)
                guard += 1
                continue
            p = next(parameters)
            if isinstance(p, arrays.ArrayParameter):
                value = self.array(p, value)
            elif p.type.is_complex:
                self.pair(p.type, self.values + 8 * value)
                value += 2
            else:
                self.scalar(p.type, self.values + 8 * value, position not in self.undeclared)
                value += 1
        self.call("PyEval_SaveThread")
        self.hex("4889c3")  # mov rbx, rax
        kernel_fixup = self.load_and_call()
        self.result(self.signature.result)
        self.leave()
        self.hex("c3")  # ret
        self.slow_way()
        return self.finish(kernel_fixup, guard_fixups)

    def count(self, total: int) -> None:
        """Go on only with ``total`` arguments, those passed by keyword in the order of the parameters.

        With kwnames, the values follow the positional arguments in the order of the names (PEP 590); so when the names are those of the remaining
        parameters, in their order, the arguments lie as if they had all been positional. Names are interned: one comparison of addresses each.
        """
        if not total or total > 100 or not all(n and not n.startswith("_lw_") for n in self.names):
            self.hex("4885db")  # test rbx, rbx
            self.slow_if(_JNE)
            self.hex("4981fe")  # cmp r14, imm32
            self.out += struct.pack("<i", total)
            self.slow_if(_JNE)
            return
        self.hex("4c89f0 4885db")  # mov rax, r14; test rbx, rbx
        no_names = self.jump_if(_JE)
        self.hex("48034310")  # add rax, [rbx+16]
        self.here(no_names)
        self.hex("483d")  # cmp rax, imm32
        self.out += struct.pack("<i", total)
        self.slow_if(_JNE)
        self.hex("4885db")  # test rbx, rbx
        done = self.far_jump_if(_JE)
        for position, name in enumerate(self.names):
            interned = sys.intern(name)
            self.keep.append(interned)
            self.hex("4983fe")  # cmp r14, imm8: was this one passed by position?
            self.out.append(position)
            skip = self.jump_if(_JG)
            # rax = [rbx + 24 + 8 * (position - r14)]
            self.hex("b8")  # mov eax, imm32
            self.out += struct.pack("<I", position)
            self.hex("4c29f0 488b44c318")  # sub rax, r14; mov rax, [rbx + rax*8 + 24]
            self.at_literal("483b05", id(interned))  # cmp rax, [rip+…]
            self.slow_if(_JNE)
            self.here(skip)
        struct.pack_into("<i", self.out, done, len(self.out) - done - 4)

    def far_jump_if(self, condition: int) -> int:
        self.out += bytes((0x0F, condition)) + bytes(4)
        return len(self.out) - 4

    def array(self, p: arrays.ArrayParameter, value: int) -> int:
        """Check the array in rax and store its address, extents and outer strides; the number of the next value."""
        rank = p.rank
        slot = self.values + 8 * value
        self.keep.append(p.dtype)
        self.expect_type(np.ndarray)
        self.hex("488b48")  # mov rcx, [rax+disp8]
        self.out.append(arrays.DESCR)
        self.at_literal("483b0d", id(p.dtype))  # cmp rcx, [rip+…]
        self.slow_if(_JNE)
        self.out += bytes((0x83, 0x78, arrays.RANK, rank))  # cmp dword [rax+disp8], imm8
        self.slow_if(_JNE)
        if p.written:
            self.out += bytes((0xF6, 0x40, arrays.FLAGS + 1, arrays.WRITEABLE >> 8))  # test byte [rax+disp8], imm8
            self.slow_if(_JE)
        self.out += bytes((0x48, 0x8B, 0x48, arrays.EXTENTS))  # mov rcx, [rax+disp8]
        self.out += bytes((0x48, 0x8B, 0x50, arrays.STRIDES))  # mov rdx, [rax+disp8]
        for d in range(rank):
            self.hex("4c8b81")  # mov r8, [rcx+disp32]
            self.out += struct.pack("<i", 8 * d)
            self.at_stack("4c898424", slot + 8 * (1 + d))  # mov [rsp+disp32], r8
            if d < rank - 1:
                self.hex("4c8b8a")  # mov r9, [rdx+disp32]
                self.out += struct.pack("<i", 8 * d)
                self.at_stack("4c898c24", slot + 8 * (1 + rank + d))  # mov [rsp+disp32], r9
                if p.written:
                    self.hex("4d85c9")  # test r9, r9
                    self.slow_if(_JE)
        if rank:
            if p.pairs:
                self.hex("4f8d0c00")  # lea r9, [r8+r8]
                self.at_stack("4c898c24", slot + 8 * rank)  # mov [rsp+disp32], r9
            # r8 is still the last extent.
            self.hex("4983f801")  # cmp r8, 1
            short = self.jump_if(_JLE)
            self.hex("4883ba")  # cmp qword [rdx+disp32], imm8
            self.out += struct.pack("<ib", 8 * (rank - 1), p.dtype.itemsize)
            self.slow_if(_JNE)
            self.here(short)
        self.out += bytes((0x48, 0x8B, 0x40, arrays.DATA))  # mov rax, [rax+disp8]
        self.at_stack("48898424", slot)  # mov [rsp+disp32], rax
        return value + (2 * rank if rank else 1)

    def pair(self, type_: Type, slot: int) -> None:
        """Store the parts of the complex number in rax."""
        self.expect_type(complex)
        for part, at in enumerate((_FLOAT_VALUE, _FLOAT_VALUE + 8)):
            if type_.part is F64:
                self.hex("488b48")  # mov rcx, [rax+disp8]
                self.out.append(at)
                self.at_stack("48898c24", slot + 8 * part)  # mov [rsp+disp32], rcx
            else:
                self.hex("f20f5a40")  # cvtsd2ss xmm0, [rax+disp8]
                self.out.append(at)
                self.at_stack("f30f118424", slot + 8 * part)  # movss [rsp+disp32], xmm0

    def scalar(self, type_: Type, slot: int, numpys: bool) -> None:
        """Store the number in rax; NumPy's too, if asked for."""
        if type_ is F64 or type_ is F32:
            self.real(type_, numpys)
            self.at_stack("f20f118424" if type_ is F64 else "f30f118424", slot)  # movsd/movss [rsp+disp32], xmm0
        elif type_ is BOOL:
            self.truth(numpys)
            self.at_stack("48898c24", slot)  # mov [rsp+disp32], rcx
        else:
            self.whole(type_, numpys)
            self.at_stack("48898424", slot)  # mov [rsp+disp32], rax

    def real(self, type_: Type, numpys: bool) -> None:
        """xmm0 = the number in rax."""
        own, other = ("f20f1040", "f30f5a40") if type_ is F64 else ("f30f1040", "f20f5a40")  # movsd and cvtss2sd, movss and cvtsd2ss xmm0, [rax+disp8]
        of_double, of_single = (own, other) if type_ is F64 else (other, own)
        self.hex("488b4808")  # mov rcx, [rax+8]
        ends: list[int] = []
        # (np.float64 is laid out as float is, of which it is a kind.)
        for kind, load in ((float, of_double), (np.float64, of_double), (np.float32, of_single)) if numpys else ((float, of_double),):
            without = self.if_type(kind)
            self.hex(load)
            self.out.append(_FLOAT_VALUE)
            ends.append(self.jump())
            self.here(without)
        self.python_integer()
        self.hex("f2480f2ac0")  # cvtsi2sd xmm0, rax
        if type_ is F32:
            self.hex("f20f5ac0")  # cvtsd2ss xmm0, xmm0
        for end in ends:
            self.here(end)

    def truth(self, numpys: bool) -> None:
        """ecx = the condition in rax."""
        ends: list[int] = []
        truths: list[object] = [False, True, np.False_, np.True_] if numpys else [False, True]
        for truth in truths:
            self.hex("31c9" if not truth else "b901000000")  # xor ecx, ecx; mov ecx, 1
            self.at_literal("483b05", id(truth))  # cmp rax, [rip+…]
            if truth is truths[-1]:
                self.slow_if(_JNE)
            else:
                ends.append(self.jump_if(_JE))
        for end in ends:
            self.here(end)

    def whole(self, type_: Type, numpys: bool) -> None:
        """rax = the integer in rax, if the type holds it."""
        self.hex("488b4808")  # mov rcx, [rax+8]
        ends: list[int] = []
        for kind in _WHOLE[type_] if numpys else ():
            without = self.if_type(kind)
            self.out += _READ[kind]
            self.out.append(_FLOAT_VALUE)
            if (type_, kind) not in _FITTING:
                self.in_range(type_)
            ends.append(self.jump())
            self.here(without)
        self.python_integer()
        self.in_range(type_)
        for end in ends:
            self.here(end)

    def python_integer(self) -> None:
        """rax = the Python integer in rax, whose type is in rcx, if it is one and 64 bits hold it."""
        self.at_literal("483b0d", id(int))  # cmp rcx, [rip+…]
        self.slow_if(_JNE)
        self.hex("4889c7")  # mov rdi, rax
        self.at_stack("488db424", self.scratch)  # lea rsi, [rsp+disp32]
        self.call("PyLong_AsLongLongAndOverflow")
        self.at_stack("83bc24", self.scratch)  # cmp dword [rsp+disp32], …
        self.out.append(0)  # … 0
        self.slow_if(_JNE)

    def in_range(self, type_: Type) -> None:
        """Go on only if a type holds the number in rax."""
        if type_ is U64 or type_ is PTR:
            self.hex("4885c0")  # test rax, rax
            self.slow_if(_JS)
        elif type_ is not I64:
            self.out += _NARROW[type_]
            self.hex("4839c1")  # cmp rcx, rax
            self.slow_if(_JNE)

    def load_and_call(self) -> int:
        """Arguments from the frame to where the convention wants them, and the call; the place of its displacement."""
        for k, (kind, place) in enumerate(self.places):
            offset = self.values + 8 * k
            if kind == "stack":
                self.at_stack("488b8424", offset)  # mov rax, [rsp+disp32]
                self.at_stack("48898424", 8 * place)  # mov [rsp+disp32], rax
        for k, (kind, place) in enumerate(self.places):
            offset = self.values + 8 * k
            if kind == "integer":
                self.out += _LOAD_INTEGER[place] + struct.pack("<i", offset)
            elif kind == "float":
                # movsd / movss xmm<place>, [rsp+disp32]
                self.out += bytes((0xF3 if self.types[k] is F32 else 0xF2, 0x0F, 0x10, 0x84 | place << 3, 0x24)) + struct.pack("<i", offset)
        self.hex("e8" if self.joined else "ff15")  # call rel32; call [rip+…]
        self.out += bytes(4)
        return len(self.out) - 4

    def result(self, type_: Type) -> None:
        """Take the GIL back and make the Python object, in rax."""
        if type_ is F32 or type_ is F64:
            self.at_stack("f20f118424", self.scratch)  # movsd [rsp+disp32], xmm0
        elif type_ is not VOID:
            self.at_stack("48898424", self.scratch)  # mov [rsp+disp32], rax
        self.hex("4889df")  # mov rdi, rbx
        self.call("PyEval_RestoreThread")
        if type_ is VOID:
            self.at_literal("488b3d", id(None))  # mov rdi, [rip+…]
            self.call("Py_IncRef")
            self.at_literal("488b05", id(None))  # mov rax, [rip+…]
        elif type_ is F64:
            self.at_stack("f20f108424", self.scratch)  # movsd xmm0, [rsp+disp32]
            self.call("PyFloat_FromDouble")
        elif type_ is F32:
            self.at_stack("f30f5a8424", self.scratch)  # cvtss2sd xmm0, [rsp+disp32]
            self.call("PyFloat_FromDouble")
        else:
            self.at_stack("488b8424", self.scratch)  # mov rax, [rsp+disp32]
            move, maker = _RESULT[type_]
            self.out += move
            self.call(maker)

    def leave(self) -> None:
        self.out += _LEAVE  # lea rsp, [rbp-32]; pop r14; pop r13; pop r12; pop rbx; pop rbp

    def slow_way(self) -> None:
        """Leave everything as it was and go on as PyObject_Vectorcall(self, args, nargs, kwnames)."""
        for place in self.slow:
            struct.pack_into("<i", self.out, place, len(self.out) - place - 4)
        self.hex("4c89e7 4c89ee 4c89f2 4889d9")  # mov rdi, r12; mov rsi, r13; mov rdx, r14; mov rcx, rbx
        self.leave()
        self.at_literal("ff25", _symbols["PyObject_Vectorcall"])  # jmp [rip+…]

    def finish(self, kernel_fixup: int, guard_fixups: list[tuple[int, int]]) -> _Template:
        self.out += memory.TRAP * (-len(self.out) % 8)
        table = len(self.out)
        fixed = len(self.literals)
        fixups = self.fixups if self.joined else [*self.fixups, (kernel_fixup, fixed), *((place, fixed + 1 + guard) for place, guard in guard_fixups)]
        for place, number in fixups:
            # Counted from the end of the instruction, which the displacement ends in all the forms used with literals.
            struct.pack_into("<i", self.out, place, table + 8 * number - place - 4)
        data = bytes(self.out) + struct.pack(f"<{fixed}Q", *self.literals)
        if self.joined:
            return _Template(data, kernel_fixup, self.keep)
        return _Template(data + bytes(8 * (1 + len(self.guards))), table + 8 * fixed, self.keep)


def _places(types: list[Type]) -> list[tuple[str, int]]:
    """Where System V's convention wants each argument (psABI 3.2.3)."""
    places: list[tuple[str, int]] = []
    integers = floats = stack = 0
    for type_ in types:
        if type_.is_float and floats < 8:
            places.append(("float", floats))
            floats += 1
        elif not type_.is_float and integers < 6:
            places.append(("integer", integers))
            integers += 1
        else:
            places.append(("stack", stack))
            stack += 1
    return places
