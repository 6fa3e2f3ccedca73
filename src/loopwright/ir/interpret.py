"""Executing a function over NumPy values, at every stage: the reference for everything the compiler makes of it.

Operations with a meaning in their row are executed by it; control flow, memory and calls here. After allocation,
registers are the target's and hold one typed value each: reading one that was destroyed (by a call, by the scratch
use of an instruction) or that holds another type is an error, so that an allocation can be tested by running it.
"""

from __future__ import annotations

import copy
import ctypes
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from loopwright.errors import BoundsError, LoopwrightError
from loopwright.ir import ops
from loopwright.ir.brackets import BLOCK, DO, ELIF, ELSE, END, FOR, IF, KIND, PLAIN, THEN, WHILE, match
from loopwright.ir.function import INCOMING, LOCAL_ALIGN, NONE, SLOT, SPILL, Array, Callee, Function, Instr
from loopwright.ir.heap import Heap, HeapError, Managed
from loopwright.ir.memory_model import Memory, Object, Pointer, pointer
from loopwright.ir.roles import address_at, operand_types, role_type
from loopwright.ir.stages import STAGES
from loopwright.types import BOOL, I32, I64, PTR, U16, U32, U64, VOID, Type, same_lanes

__all__ = ["Interpreter", "InterpreterBoundsError", "InterpreterError", "InterpreterExit", "run"]

#: Target's vector class (targets/target.py); named here because ``ir`` stands below the targets.

# What a step does. Brackets are resolved beforehand, so most of them only fall through.
_HALF: Final = 0xFFFF_FFFF
_PURE: Final = 0
_NEXT: Final = 1
_GOTO: Final = 2
_WHEN: Final = 3
_UNLESS: Final = 4
_FOR: Final = 5
_STEP: Final = 6
_LOAD: Final = 7
_STORE: Final = 8
_LOAD_AT: Final = 9
_STORE_AT: Final = 10
_ADDRESS: Final = 11
_CALL: Final = 12
_RET: Final = 13
_FAIL: Final = 14
_STORE_ARG: Final = 15
_SWAP: Final = 16
_LOCAL: Final = 17
_LOAD_PARTS: Final = 18
_STORE_PARTS: Final = 19
_PART: Final = 20
_ADVANCE: Final = 21
_DIV_REM: Final = 22
_UPDATE: Final = 23
_STRIDED: Final = 24
_INDEXED: Final = 25
_CHUNKS: Final = 26
_GLOBAL: Final = 27
_FUNCTION: Final = 28
_ALLOCA: Final = 29
_UNREACHABLE: Final = 30
_STACK_POINTER: Final = 31
_SWITCH: Final = 32
_CASE: Final = 33
_STORE_SOME: Final = 34

#: Calls that may nest, and the frames of Python's that one of them takes at most.
_DEEPEST: Final = 10_000
_FRAMES: Final = 8
#: Bytes that a stack has room for.
_MOST_STACK: Final = 1 << 23

#: Whose bits are elements of u16, behind the pass ``halves``.
_HALVES: Final = ("float16", "bfloat16")
#: What ends a C program, and with what status, if that is no argument: this process goes on.
_ENDS: Final = {"exit": -1, "_exit": -1, "_Exit": -1, "quick_exit": -1, "abort": 128 + 6, "__assert_fail": 128 + 6}
_ADVANCES: Final = frozenset(ops.ADVANCES.values())
_STORES_SOME: Final = frozenset(ops.STORE_SOME.values())
#: What a word of an address can hold.
_WORD: Final = 0xFFFF_FFFF_FFFF_FFFF


class InterpreterError(LoopwrightError):
    """Something an interpreted function must not do."""


class InterpreterBoundsError(InterpreterError, BoundsError):
    """An access outside an array, or a check that failed (``site`` then numbers it)."""

    site: int = -1


class InterpreterExit(InterpreterError):
    """The program has ended itself, with a ``status`` as C's ``exit`` takes it."""

    status: int = 0


class _Step:
    """An instruction made ready: what to do, where its operands are in the store, and where to go on."""

    __slots__ = (
        "address",
        "clobbers",
        "compare",
        "dst",
        "instr",
        "kills",
        "kind",
        "leaves",
        "meaning",
        "mem",
        "negated",
        "reads",
        "source",
        "target",
        "temps",
        "type",
        "wants",
    )

    def __init__(self, instr: Instr) -> None:
        self.instr = instr
        self.kind = _PURE
        self.meaning: Callable[..., Any] | None = instr.op.meaning
        self.type = instr.type
        self.source = instr.source
        self.dst = NONE
        self.reads: list[int] = []
        self.wants: list[Type] = []
        self.mem = instr.mem
        self.address = -1
        self.target = -1
        self.temps: list[int] = []
        self.kills = 0
        self.clobbers = 0
        self.compare: Callable[..., Any] | None = None
        self.negated = False
        self.leaves = False


def _as_pairs(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Complex numbers as twice as many floats in the same memory, whose last dimension is contiguous."""
    if value.shape[-1] > 1 and value.strides[-1] != value.itemsize:
        return value
    part = np.dtype(f"f{value.itemsize // 2}")
    shape, strides = (*value.shape[:-1], 2 * value.shape[-1]), (*value.strides[:-1], part.itemsize)
    return (
        np.ndarray(shape, part, value, strides=strides)
        if value.flags.c_contiguous
        else np.lib.stride_tricks.as_strided(value[..., :1].view(part), shape, strides)
    )


@functools.cache
def _dtype(type_: Type) -> Any:
    return np.dtype(type_.element.dtype)


def _to(type_: Type, value: Any) -> Any:
    """A NumPy value of a scalar type from a Python or NumPy scalar. Raises ``OverflowError`` when it does not fit."""
    if type_ is BOOL:
        return np.bool_(value)
    if type_.is_float:
        with np.errstate(all="ignore"):
            return _dtype(type_).type(value)
    number = int(value)
    bits = type_.bits
    if not (-(1 << (bits - 1)) if type_.signed else 0) <= number < (1 << (bits - type_.signed)):
        raise OverflowError(f"{number} does not fit {type_.name}")
    return _dtype(type_).type(number)


def _wrapped(type_: Type, value: Any) -> Any:
    """As ``_to``, for what a called function returned: integers wrap."""
    if type_ is BOOL or type_.is_float:
        return _to(type_, value)
    number = int(value) & ((1 << type_.bits) - 1)
    if type_.signed and number >> (type_.bits - 1):
        number -= 1 << type_.bits
    return _dtype(type_).type(number)


def _constant(type_: Type, value: float) -> Any:
    if type_.lanes:
        return np.full(type_.lanes, value, bool if type_.element is BOOL else _dtype(type_))
    return _to(type_, value)


def _further(t: Type, s: Type, a: Any, b: Any) -> Any:
    """So many bytes behind a pointer, in what it leads to."""
    address = int(a) + int(b) & _WORD
    return pointer(address, a.origin) if type(a) is Pointer else np.uint64(address)


def _back(t: Type, s: Type, a: Any, b: Any) -> Any:
    """So many bytes in front of a pointer."""
    address = int(a) - int(b) & _WORD
    return pointer(address, a.origin) if type(a) is Pointer else np.uint64(address)


def _width(type_: Type) -> int:
    """Bytes a value takes in a register: masks as wide as their lanes."""
    return type_.bits * type_.lanes // 8 if type_.is_mask else type_.size


def _interchangeable(held: Type, want: Type) -> bool:
    """Whether a register holding one may be read as the other: integers and pointers of one width, and lanes of one width."""
    return same_lanes(held, want) or (
        held.bits == want.bits and held.lanes == want.lanes and not (held.is_float or want.is_float or held.is_mask or want.is_mask)
    )


def _extends(held: Type, want: Type, value: Any) -> bool:
    """Whether one is a narrow integer and the other the 32 bits that registers hold it extended to, or one is of 32 bits, above which there are zeros, and the other a word."""
    if want.is_half_word:
        return held.is_narrow
    if want.is_word:
        return held.is_half_word or held.is_narrow
    limits = np.iinfo(_dtype(want)) if held is I32 and want.is_narrow else None
    return limits is not None and limits.min <= int(value) <= limits.max


def _extended(want: Type, value: Any) -> Any:
    """What a register that is as ``_extends`` says has in it, as a type."""
    return _dtype(want).type(int(value) & _HALF if want.is_word or want is U32 else int(value))


class Interpreter:
    """Runs one function.

    Args:
        f: the function, at any stage.
        target: needed after allocation (its registers and calling convention), and for calls with stack arguments.
        callees: Python functions to call, by the callee's name, before ``Callee.function`` and ``Callee.keep`` are tried.
        limit: how many instructions may be executed in one call.
        memory: memory to share with another interpreter.

    Attributes:
        steps: how many instructions the last call executed.
    """

    def __init__(
        self, f: Function, target: Any = None, callees: Mapping[str, Callable[..., Any]] | None = None, limit: int = 50_000_000, memory: Memory | None = None
    ) -> None:
        self.f = f
        self.target = target
        self.callees = dict(callees or {})
        self.limit = limit
        self.steps = 0
        self.memory = memory if memory is not None else Memory()
        if self.memory.run is None:
            self.memory.run = self._called_by_c
        self._heap = Heap(self.memory)
        # Pointers have objects in a program as it is written; passes compute addresses in other ways.
        self._traced = f.stage == STAGES[0]
        self._record: np.ndarray[Any, Any] | None = None
        self._locals: dict[int, Object] = {}
        self._stack: list[Object] = []
        self._depth = 0
        # How many cases are still to pass before the one that the last `switch` chose.
        self._case = 0
        # What the last instruction with several results has made.
        self._parts: list[Any] = []
        # Of the functions that are called, by identity.
        self._prepared: dict[int, Interpreter] = {}
        self.physical = f.physical
        if self.physical and target is None:
            raise InterpreterError(f"{f.name}: a function after allocation needs its target to be interpreted")
        self._registers = len(target.registers) if self.physical else len(f.types)
        self._constants = [_constant(t, v) for t, v in zip(f.const_types, f.const_values, strict=True)]
        self._slots = self._registers + len(self._constants)
        self._overlaps = self._overlapping_slots()
        self._prepare()

    # --- preparation --------------------------------------------------------------------------------------

    def _place(self, operand: int) -> int:
        """Where an operand is in the store: registers, then constants, then slots."""
        if operand < 0:
            place = self._registers + ~operand
            if place >= self._slots:
                raise InterpreterError(f"{self.f.name}: there is no constant number {~operand}")
            return place
        if operand >= SLOT:
            if operand - SLOT >= len(self.f.slots):
                raise InterpreterError(f"{self.f.name}: there is no slot @s{operand - SLOT}")
            return self._slots + operand - SLOT
        if operand >= self._registers:
            raise InterpreterError(f"{self.f.name}: there is no register {operand}")
        return operand

    def _overlapping_slots(self) -> list[list[int]]:
        """For each slot, the places of the others that share bytes with it."""
        slots = self.f.slots
        out: list[list[int]] = []
        for a in slots:
            others = [
                self._slots + k
                for k, b in enumerate(slots)
                if b is not a and a.kind == SPILL and b.kind == SPILL and a.offset < b.offset + b.size and b.offset < a.offset + a.size
            ]
            out.append(others)
        return out

    def _prepare(self) -> None:
        f = self.f
        code = f.code
        partner = match(code)
        #: by the index of what opens a bracket, that of its end
        ends = {first: index for index, first in enumerate(partner) if 0 <= first < index}
        labels: dict[int, int] = {}
        self._code: list[_Step] = []
        open_: list[int] = []
        for index, instr in enumerate(code):
            step = _Step(instr)
            op = instr.op
            step.dst = self._place(instr.dst) if instr.dst != NONE else NONE
            step.address = address_at(instr)
            step.wants = operand_types(f, instr)
            if len(instr.args) < len(step.wants):
                raise self._error(instr, f"{len(instr.args)} operands, needs {len(step.wants)}")
            places = [self._place(x) for x in instr.args]
            step.reads = places
            if self.physical:
                used = len(step.wants)
                while used and step.wants[used - 1] is VOID and op.effect != ops.CALLS and op not in ops.CALLING:
                    used -= 1
                step.reads = places[:used]
                step.temps = places[used:]
                rule = instr.rule
                step.kills = rule.kills if rule is not None and op.effect != ops.CALLS else 0
                step.clobbers = rule.clobbers if rule is not None and op.effect != ops.CALLS else 0
            if op.compare and op.compare != "case":
                comparison = op.compare[1:] if op.compare[0] == "n" and op.compare != "ne" else op.compare
                test = ops.TESTS.get(comparison) or ops.MASK_TESTS.get(comparison)
                step.compare = test if test is not None else ops.COMPARISONS[comparison].meaning
                step.negated = comparison != op.compare
            kind = KIND[op.code] if op.opens or op.closes else PLAIN
            if kind == PLAIN:
                self._plain(step, instr, open_, ends, code)
            else:
                self._bracket(step, kind, index, open_, partner, ends, code)
            if op is ops.LABEL:
                labels[instr.imm] = index
            self._code.append(step)
        for step in self._code:
            if step.target == -2:
                label = labels.get(step.instr.imm)
                if label is None:
                    raise self._error(step.instr, f"there is no label L{step.instr.imm}")
                step.target = label

    def _plain(self, step: _Step, instr: Instr, open_: list[int], ends: dict[int, int], code: list[Instr]) -> None:
        op = instr.op
        if op.meaning is not None:
            step.kind = _PURE
            if self._traced:
                step.meaning = self._of_pointers(instr) or step.meaning
        elif op is ops.LOAD or op is ops.MASKED_LOAD or op is ops.STORE or op is ops.MASKED_STORE:
            step.kind = _LOAD if op.result else _STORE
            if not 0 <= instr.imm < len(self.f.arrays):
                raise self._error(instr, f"there is no array number {instr.imm}")
        elif op in ops.STRIDED:
            step.kind = _STRIDED
        elif op in ops.INDEXED or op is ops.GATHER_SINGLY:
            step.kind = _INDEXED
        elif op in ops.CHUNKS or op in ops.ROWS:
            step.kind = _CHUNKS
        elif op is ops.LOAD_AT or op is ops.MASKED_LOAD_AT:
            step.kind = _LOAD_AT
        elif op is ops.STORE_AT or op is ops.MASKED_STORE_AT or op is ops.STORE_PAST_AT:
            step.kind = _STORE_AT
        elif op in _ADVANCES:
            step.kind = _ADVANCE
        elif op in ops.DONE_IN_PLACE:
            step.kind = _UPDATE
            step.meaning = ops.DONE_IN_PLACE[op].meaning
        elif op is ops.DIV_REM:
            step.kind = _DIV_REM
        elif op in _STORES_SOME:
            step.kind = _STORE_SOME
        elif op.parts > 1:
            step.kind = _LOAD_PARTS if op.result else _STORE_PARTS
        elif op is ops.PART:
            step.kind = _PART
        elif op is ops.ADDRESS:
            step.kind = _ADDRESS
        elif op is ops.LOCAL or op is ops.TABLE:
            step.kind = _LOCAL
        elif op is ops.GLOBAL:
            step.kind = _GLOBAL
        elif op is ops.FUNCTION:
            step.kind = _FUNCTION
        elif op in ops.BARRIERS:
            step.kind = _NEXT
        elif op is ops.ALLOCA:
            step.kind = _ALLOCA
        elif op is ops.STACK_POINTER:
            step.kind = _STACK_POINTER
        elif op is ops.INCOMING:
            raise self._error(instr, "the arguments on the stack have no address here: the interpreter passes them otherwise")
        elif op is ops.UNREACHABLE:
            step.kind = _UNREACHABLE
        elif op in ops.CALLING:
            step.kind = _CALL
            step.leaves = op.effect == ops.CONTROL
            if not 0 <= instr.imm < len(self.f.callees):
                raise self._error(instr, f"there is no callee number {instr.imm}")
        elif op is ops.RET:
            step.kind = _RET
        elif op is ops.FAIL:
            step.kind = _FAIL
        elif op is ops.STORE_ARG:
            step.kind = _STORE_ARG
        elif op is ops.SWAP:
            step.kind = _SWAP
        elif op is ops.LABEL or op is ops.PROLOGUE or op is ops.EPILOGUE:
            step.kind = _NEXT
        elif op is ops.BR or op is ops.BR_IF or op in ops.BR_CMP.values():
            step.kind = _GOTO if op is ops.BR else _CASE if op is ops.BR_CASE else _WHEN
            if not 0 <= instr.imm < len(open_):
                raise self._error(instr, f"branch depth {instr.imm} with {len(open_)} brackets open")
            opener = open_[-1 - instr.imm]
            kind = KIND[code[opener].op.code]
            if kind in (BLOCK, IF, FOR):
                # A `for` is repeated at its end, which makes the next step.
                end = ends[opener]
                step.target = end if kind == FOR else end + 1
            else:
                step.target = opener
        elif op is ops.SWITCH:
            step.kind = _SWITCH
        elif op is ops.JUMP_TABLE:
            step.kind = _SWITCH
            step.target = -2
        elif op is ops.JUMP or op is ops.JUMP_IF or op is ops.JUMP_UNLESS or op in ops.JUMP_CMP.values():
            step.kind = _GOTO if op is ops.JUMP else _UNLESS if op is ops.JUMP_UNLESS else _CASE if op is ops.JUMP_CASE else _WHEN
            step.target = -2
        else:
            raise self._error(instr, f"`{op.name}` cannot be interpreted")

    def _of_pointers(self, instr: Instr) -> Callable[..., Any] | None:
        """The meaning of an operation that makes pointers of pointers or integers, or integers of pointers; None of others."""
        op = instr.op
        if op is ops.CONVERT:
            if instr.type is PTR:
                return lambda t, s, a: a if s is PTR else self.memory.pointer_to(int(a) & _WORD)
            return self._as_integer if instr.source is PTR else None
        if instr.type is PTR:
            return _further if op is ops.ADD else _back if op is ops.SUB else None
        return None

    def _as_integer(self, t: Type, s: Type, a: Any) -> Any:
        if type(a) is Pointer:
            self.memory.expose(a.origin)
        assert ops.CONVERT.meaning is not None
        return ops.CONVERT.meaning(t, s, a)

    def _bracket(self, step: _Step, kind: int, index: int, open_: list[int], partner: list[int], ends: dict[int, int], code: list[Instr]) -> None:
        if kind == END:
            opener = open_.pop()
            first = KIND[code[opener].op.code]
            if first == FOR:
                step.kind = _STEP
                step.target = opener
            elif first == WHILE:
                step.kind = _GOTO
                step.target = opener
            else:
                step.kind = _NEXT
            return
        if kind in (ELIF, ELSE):
            # Reached only from the section before, which ends the whole `if`.
            step.kind = _GOTO
            step.target = ends[open_[-1]] + 1
            return
        if kind in (IF, THEN, DO):
            step.kind = _CASE if step.instr.op is ops.IF_CASE else _UNLESS
            step.target = partner[index] + 1
        elif kind == FOR:
            step.kind = _FOR
            step.target = partner[index]
        else:
            step.kind = _NEXT
        if kind not in (THEN, DO):
            open_.append(index)

    # --- errors -------------------------------------------------------------------------------------------

    def _error(self, instr: Instr, problem: str) -> InterpreterError:
        return InterpreterError(self._message(instr, problem), self.f.file, instr.line)

    def _bounds(self, instr: Instr, problem: str) -> InterpreterBoundsError:
        return InterpreterBoundsError(self._message(instr, problem), self.f.file, instr.line)

    def _message(self, instr: Instr, problem: str) -> str:
        from loopwright.ir.text import instruction_text

        return f"{self.f.name}: `{instruction_text(self.f, instr, self.target)}`: {problem}"

    def _shown(self, place: int) -> str:
        from loopwright.ir.text import Printer

        if place >= self._slots:
            operand = SLOT + place - self._slots
        elif place >= self._registers:
            operand = ~(place - self._registers)
        else:
            operand = place
        return Printer(self.f, self.target).operand(operand)

    # --- arguments ----------------------------------------------------------------------------------------

    def _bind(self, args: Sequence[Any]) -> list[Any]:
        """Values of the parameters, in order, from the arguments of a call."""
        f = self.f
        given: dict[int, Any] = {}
        bases = {array.base: array for array in f.arrays}
        rest: list[Any] = []
        for arg in args:
            # A complex number is two parameters.
            rest += [arg.real, arg.imag] if isinstance(arg, (complex, np.complexfloating)) else [arg]
        taken = 0
        for r in f.params:
            if r in given:
                continue
            if taken == len(rest):
                if f.options.check and r == f.params[-1] and f.types[r] is PTR:
                    self._record = np.zeros(4, np.int64)
                    given[r] = self._address_of(self._record)
                    continue
                raise InterpreterError(f"{f.name}: no argument for {self._parameter(r)}", f.file)
            value = rest[taken]
            taken += 1
            if type(value) is Pointer and f.types[r] is PTR:
                given[r] = value if self._traced else np.uint64(value.address)
                continue
            array = bases.get(r)
            if isinstance(value, np.ndarray) and array is not None:
                self._bind_array(array, value, given)
            elif isinstance(value, np.ndarray) and value.ndim and f.types[r] is PTR:
                given[r] = self._address_of(value)
            else:
                try:
                    given[r] = _to(f.types[r], value)
                    if f.types[r] is PTR and self._traced:
                        given[r] = self.memory.pointer_to(int(value))
                except (TypeError, ValueError, OverflowError) as problem:
                    raise InterpreterError(f"{f.name}: argument for {self._parameter(r)}: {problem}", f.file) from None
        if taken < len(rest):
            raise InterpreterError(f"{f.name}: {len(rest)} arguments, takes {taken}", f.file)
        return [given[r] for r in f.params]

    def _address_of(self, array: np.ndarray[Any, Any], name: str = "") -> np.uint64:
        """The address of the caller's array, whose bytes may be accessed from now on."""
        made = self.memory.add(array, name)
        return made if self._traced else np.uint64(int(made))

    def _parameter(self, r: int) -> str:
        return f"{self.f.names[r] or f'%{r}'}: {self.f.types[r].name}"

    def _bind_array(self, array: Array, value: np.ndarray[Any, Any], given: dict[int, Any]) -> None:
        f = self.f
        if array.pairs and value.dtype.kind == "c" and value.ndim:
            value = _as_pairs(value)
        if value.dtype != _dtype(array.element) and not (array.element is U16 and value.dtype.name in _HALVES):
            raise InterpreterError(f"{f.name}: array {array.name} has elements of {array.element.name}, the argument of {value.dtype}", f.file)
        if value.ndim != array.rank:
            raise InterpreterError(f"{f.name}: array {array.name} has {array.rank} dimensions, the argument {value.ndim}", f.file)
        if value.size and value.shape[-1] > 1 and value.strides[-1] != value.itemsize:
            raise InterpreterError(f"{f.name}: array {array.name} needs unit stride in its last dimension, the argument has {value.strides[-1]} bytes", f.file)
        if array.written and not value.flags.writeable:
            raise InterpreterError(f"{f.name}: array {array.name} is written, the argument is read-only", f.file)
        given[array.base] = self._address_of(value, array.name)
        for r, number in (*zip(array.extents, value.shape, strict=True), *zip(array.strides, value.strides, strict=False)):
            if r in given and int(given[r]) != number:
                raise InterpreterError(f"{f.name}: array {array.name} needs {int(given[r])} for {self._parameter(r)}, the argument has {number}", f.file)
            given[r] = np.int64(number)

    def _enter(self, values: list[Any]) -> tuple[list[Any], list[Type | None]]:
        """The store at entry, and with physical registers the type each place holds (None: nothing)."""
        f = self.f
        store: list[Any] = [None] * (self._slots + len(f.slots))
        store[self._registers : self._slots] = self._constants
        if not self.physical:
            for r, value in zip(f.params, values, strict=True):
                store[r] = value
            return store, []
        tags: list[Type | None] = [None] * len(store)
        tags[self._registers : self._slots] = f.const_types
        types = [f.types[r] for r in f.params]
        for place, value, type_ in zip(self.target.convention.assign(types, -1, f.places), values, types, strict=True):
            if place >= 0:
                store[place] = value
                tags[place] = type_
            else:
                for number, slot in enumerate(f.slots):
                    if slot.kind == INCOMING and slot.offset == ~place:
                        store[self._slots + number] = value
                        tags[self._slots + number] = type_
        return store, tags

    # --- running ------------------------------------------------------------------------------------------

    def call(self, *args: Any) -> Any:
        """Call the function and return its result as a NumPy scalar, or None.

        An array parameter may be given as a NumPy array (its extents and strides then come from it), a ``ptr`` too;
        everything else as a number. Arrays are read and written in place. The last parameter of a checked function,
        where failures are recorded, may be left out; a recorded failure is then raised.

        Raises ``InterpreterError``, or ``InterpreterBoundsError``, which is a kind of it.
        """
        result = self._call(args)
        return np.uint64(result) if type(result) is Pointer else result

    def _call(self, args: Sequence[Any]) -> Any:
        # (Without `*args` on the way of a nested call: Python 3.11 uses the C stack for such.)
        self._record = None
        self._locals = {}
        self._stack = []
        if self._depth > _DEEPEST:
            raise InterpreterError(f"{self.f.name}: calls nest more than {_DEEPEST} deep", self.f.file)
        limit = sys.getrecursionlimit()
        try:
            if limit < _DEEPEST * _FRAMES and not self._depth:
                sys.setrecursionlimit(_DEEPEST * _FRAMES)
            store, tags = self._enter(self._bind(args))
            result = self._run(store, tags)
        except RecursionError:
            raise InterpreterError(f"{self.f.name}: calls nest too deeply", self.f.file) from None
        finally:
            if not self._depth:
                sys.setrecursionlimit(limit)
            for made in (*self._locals.values(), *self._stack):
                self.memory.end(made, "whose function has returned")
        record = self._record
        if record is not None and record[0]:
            raise self._failed(int(record[0]) - 1, list(record[1:3]))
        return result

    def _undefined(self, step: _Step, place: int) -> InterpreterError:
        if self.physical:
            return self._error(step.instr, f"{self._shown(place)} holds nothing: never written, or destroyed since")
        return self._error(step.instr, f"{self._shown(place)} is read before it is written")

    def _handed_on(self, step: _Step, before: list[Any], place: int) -> Any:
        """Something for an operand that holds nothing: a choice may hand it on, where branches became choices, and whoever reads that makes a choice too."""
        if step.instr.op is not ops.SELECT or step.type.lanes or not before:
            raise self._undefined(step, place)
        return np.zeros((), step.type.dtype)[()]

    def _typed(self, step: _Step, store: list[Any], tags: list[Type | None]) -> list[Any]:
        """Operands from physical registers and slots, which must hold the types the instruction reads."""
        values = []
        wants = step.wants
        for position, place in enumerate(step.reads):
            value = store[place]
            held = tags[place]
            if value is None or held is None:
                raise self._undefined(step, place)
            want = wants[position]
            if held is not want and want is not VOID:
                if _interchangeable(held, want):
                    value = np.atleast_1d(value).view(_dtype(want))
                    if not want.lanes:
                        value = value[0]
                elif _extends(held, want, value):
                    value = _extended(want, value)
                else:
                    raise self._error(step.instr, f"{self._shown(place)} holds {held.name}, {want.name} is read")
            values.append(value)
        return values

    def _as_read(self, step: _Step, values: list[Any]) -> None:
        """Integers and lanes as the type the instruction reads, where a conversion has been left out: of the same size, between a narrow one and the 32 bits it is extended to, or of 32 bits as a word."""
        wants = step.wants
        for position in range(len(values)):
            want = wants[position]
            if not (want.is_vector or want.is_integer or want.is_word):
                continue
            dtype = _dtype(want)
            value = values[position]
            if want.is_vector:
                if value.dtype != dtype:
                    values[position] = value.view(dtype)
                continue
            if value.dtype != dtype:
                if value.dtype.itemsize == dtype.itemsize and not want.is_narrow:
                    values[position] = value.view(dtype)
                elif value.dtype.itemsize < dtype.itemsize or (want.is_narrow and np.iinfo(dtype).min <= int(value) <= np.iinfo(dtype).max):
                    values[position] = _extended(want, value)
                else:
                    raise self._error(step.instr, f"{self._shown(step.reads[position])} holds {int(value)}, {want.name} is read")

    def _destroy(self, mask: int, store: list[Any], except_: int) -> None:
        place = 0
        while mask:
            if mask & 1 and place != except_:
                store[place] = None
            mask >>= 1
            place += 1

    def _written(self, step: _Step, store: list[Any], tags: list[Type | None], type_: Type) -> None:
        """Bookkeeping of a write to a physical register or slot."""
        dst = step.dst
        tags[dst] = type_
        if dst >= self._slots:
            for other in self._overlaps[dst - self._slots]:
                store[other] = None

    def _run(self, store: list[Any], tags: list[Type | None]) -> Any:
        code = self._code
        count = len(code)
        physical = self.physical
        # Once lowered, a register may be read as another integer type of its size.
        lowered = bool(self.f.target_name)
        counters: dict[int, list[int]] = {}
        outgoing: dict[int, tuple[Any, Type]] = {}
        at = 0
        steps = 0
        limit = self.limit
        while at < count:
            step = code[at]
            at += 1
            steps += 1
            if steps > limit:
                raise self._error(step.instr, f"more than {limit} instructions executed")
            kind = step.kind
            if kind == _NEXT:
                continue
            if kind == _STEP:
                counter = counters[step.target]
                counter[0] += counter[2]
                if counter[0] < counter[1] if counter[2] > 0 else counter[0] > counter[1]:
                    at = step.target + 1
                    self._enter_step(code[step.target], counter, store, tags)
                continue
            if physical:
                if kind == _SWAP or (kind == _PURE and step.instr.op is ops.COPY and step.mem is None):
                    self._move(step, store, tags)
                    continue
                if step.clobbers:
                    self._destroy(step.clobbers, store, NONE)
                values = [] if kind == _CALL else self._typed(step, store, tags)
            else:
                values = []
                for place in step.reads:
                    value = store[place]
                    if value is None:
                        value = self._handed_on(step, values, place)
                    values.append(value)
                if lowered:
                    self._as_read(step, values)
            result: Any = None
            if kind == _PURE:
                if step.mem is not None:
                    self._memory_operand(step, values)
                assert step.meaning is not None
                result = step.meaning(step.type, step.source, *values)
            elif kind == _GOTO:
                at = step.target
                continue
            elif kind in (_WHEN, _UNLESS):
                if step.mem is not None:
                    self._memory_operand(step, values)
                holds = bool(step.compare(step.type, VOID, *values)) != step.negated if step.compare is not None else bool(values[0])
                if holds == (kind == _WHEN):
                    at = step.target
                if step.kills or step.temps:
                    self._scratch(step, store)
                continue
            elif kind == _SWITCH:
                self._case = int(values[0]) & (1 << 64) - 1
                if step.target >= 0 and self._case >= int(values[1]):
                    at = step.target
                if step.kills or step.temps:
                    self._scratch(step, store)
                continue
            elif kind == _CASE:
                # (An `if` is left where it is not its turn.)
                if (self._case == 0) == (step.instr.op is not ops.IF_CASE):
                    at = step.target
                self._case -= 1
                continue
            elif kind == _FOR:
                counter = [int(values[0]), int(values[1]), int(values[2])]
                if counter[2] == 0:
                    raise self._error(step.instr, "the step is 0")
                if counter[0] < counter[1] if counter[2] > 0 else counter[0] > counter[1]:
                    counters[at - 1] = counter
                    self._enter_step(step, counter, store, tags)
                else:
                    at = step.target + 1
                continue
            elif kind == _LOAD:
                result = self._load(step, values, store)
            elif kind == _STORE:
                self._store(step, values, store)
            elif kind == _LOAD_AT:
                mask = values[0] if step.address else None
                address, origin = self._address(step, values)
                result = self._read(step, address, origin, step.type, mask)
            elif kind == _STORE_AT:
                mask = values[0] if step.address == 2 else None
                address, origin = self._address(step, values)
                self._write(step, address, origin, values[step.address - 1], step.type, mask)
            elif kind == _LOAD_PARTS:
                result = self._load_parts(step, values)
            elif kind == _STRIDED:
                result = self._strided(step, values, store)
            elif kind == _INDEXED:
                result = self._indexed(step, values)
            elif kind == _CHUNKS:
                result = self._chunks(step, values, store)
            elif kind == _PART:
                result = self._parts[step.instr.imm]
            elif kind == _STORE_PARTS:
                self._store_parts(step, values)
            elif kind == _STORE_SOME:
                self._store_some(step, values)
            elif kind == _ADVANCE:
                result = self._advance(step, values)
            elif kind == _UPDATE:
                assert step.meaning is not None
                address, origin = self._address(step, values)
                known = self._read(step, address, origin, step.type, None)
                self._write(step, address, origin, step.meaning(step.type, step.type, known, values[0]), step.type, None)
            elif kind == _DIV_REM:
                if step.mem is not None:
                    self._memory_operand(step, values)
                self._parts = [op.meaning(step.type, step.type, *values) for op in (ops.DIV_TRUNC, ops.REM_TRUNC) if op.meaning is not None]
                result = self._parts[0]
            elif kind == _ADDRESS:
                address, origin = self._address(step, values)
                result = pointer(address, origin) if origin is not None else np.uint64(address)
            elif kind == _LOCAL:
                result = self._local(int(values[0]))
            elif kind == _GLOBAL:
                result = self._global(step, int(values[0]))
            elif kind == _FUNCTION:
                result = np.uint64(self.memory.function_address(self.f.callees[int(values[0])]))
            elif kind == _ALLOCA:
                result = self._alloca(step, int(values[0]), int(values[1]))
            elif kind == _STACK_POINTER:
                # (Its calls are counted, and are not on a stack of the machine.)
                result = np.uint64(0xFFFF_FFFF_FFFF_FFF0)
            elif kind == _UNREACHABLE:
                raise self._error(step.instr, "reached")
            elif kind == _CALL:
                self.steps = steps
                result = self._called(step, values, store, tags, outgoing)
                steps = self.steps
                outgoing.clear()
                if step.leaves:
                    return result
            elif kind == _RET:
                self.steps = steps
                return values[0] if values else None
            elif kind == _FAIL:
                raise self._failed(step.instr.imm, values[1:])
            elif kind == _STORE_ARG:
                outgoing[step.instr.imm] = (values[0], step.type)
            else:
                raise self._error(step.instr, "only allocated registers can be swapped")
            if physical:
                if step.kills or step.temps:
                    self._scratch(step, store)
                if step.dst != NONE:
                    store[step.dst] = result
                    self._written(step, store, tags, ops.result_type(step.instr.op, step.type, step.source))
            elif step.dst != NONE:
                store[step.dst] = result
        self.steps = steps
        if self.f.result is not VOID:
            raise InterpreterError(f"{self.f.name}: the function ended without a return", self.f.file)
        return None

    def _scratch(self, step: _Step, store: list[Any]) -> None:
        """What an instruction destroys besides writing its result."""
        if step.kills:
            self._destroy(step.kills, store, step.dst)
        for place in step.temps:
            if place != step.dst:
                store[place] = None

    def _move(self, step: _Step, store: list[Any], tags: list[Type | None]) -> None:
        """``copy`` and ``swap`` of physical registers and slots: they carry whatever is there."""
        if step.kind == _SWAP:
            a, b = step.reads[:2]
            store[a], store[b] = store[b], store[a]
            tags[a], tags[b] = tags[b], tags[a]
        else:
            source = step.reads[0]
            held = tags[source]
            if store[source] is None or held is None:
                raise self._undefined(step, source)
            value = store[source]
            if _width(held) > _width(step.type):
                if not _extends(held, step.type, value):
                    raise self._error(step.instr, f"{self._shown(source)} holds {held.name}, which {step.type.name} would cut")
                held = step.type
                value = _extended(held, value)
            store[step.dst] = value
            self._written(step, store, tags, held)
        self._scratch(step, store)

    def _enter_step(self, step: _Step, counter: list[int], store: list[Any], tags: list[Type | None]) -> None:
        """Set the index, and the mask of lanes in range, for one step of a ``for``."""
        if step.dst != NONE:
            store[step.dst] = np.int64(counter[0])
            if tags:
                self._written(step, store, tags, I64)
        loop = step.instr.loop
        if loop is not None and loop.mask != NONE and not self.physical:
            lanes = self.f.types[loop.mask].lanes
            store[loop.mask] = np.arange(lanes) < min(counter[1] - counter[0], lanes)

    # --- memory -------------------------------------------------------------------------------------------

    def _address(self, step: _Step, values: list[Any]) -> tuple[int, Object | None]:
        """The address that an instruction accesses, and the object that its pointer came from."""
        mem = step.mem
        if mem is None:
            raise self._error(step.instr, "no address")
        base = values[step.address]
        if mem.origin is not None:
            base = self._global(step, int(base)) if mem.origin is ops.GLOBAL else self._local(int(base))
        origin: Object | None = None
        if type(base) is Pointer:
            address = base.address + mem.disp
            origin = base.origin if self._traced else None
        else:
            address = int(base) + mem.disp
        if mem.indexed:
            address += int(values[step.address + 1]) * mem.scale
        # Sums of addresses wrap, as in the machine.
        return address & _WORD, origin

    def _memory_operand(self, step: _Step, values: list[Any]) -> None:
        """Put what is at the address at the end of ``values`` into its place among them."""
        assert step.mem is not None
        address, origin = self._address(step, values)
        del values[step.address :]
        role = step.mem.role
        type_ = role_type(step.instr.op.operands[role], step.type, step.source)
        values.insert(role if role >= 0 else len(values), self._read(step, address, origin, type_, None))

    def _read(self, step: _Step, address: int, origin: Object | None, type_: Type, mask: Any) -> Any:
        dtype = _dtype(type_)
        mem = step.mem
        if mem is not None and mem.broadcast:
            return np.full(type_.lanes, self._bytes(step, address, origin, dtype.itemsize, False).view(dtype)[0], dtype)
        if not type_.lanes:
            size: int = dtype.itemsize
            held = self._object(step, address, origin, size, False)
            at = address - held.low
            value = np.frombuffer(held.view, dtype, 1, at)[0]
            if self._traced:
                if type_ is PTR:
                    return self.memory.loaded(held, at, int(value))
                if held.pointers:
                    whole = self.memory.read_as_numbers(held, at, size)
                    # (What copies memory word by word copies pointers.)
                    return whole if type_ is U64 and whole is not None and whole.address == int(value) else value
            return value
        if mask is None or mask.all():
            return self._bytes(step, address, origin, type_.size, False).view(dtype).copy()
        out = np.zeros(type_.lanes, dtype)
        for lane in np.flatnonzero(mask):
            out[lane] = self._bytes(step, address + int(lane) * dtype.itemsize, origin, dtype.itemsize, False).view(dtype)[0]
        return out

    def _load_parts(self, step: _Step, values: list[Any]) -> Any:
        """The first of several vectors whose elements lie in turn, or the one that the instruction names; the others are kept for its parts."""
        count = step.instr.op.parts
        every = self._bytes(step, *self._address(step, values), step.type.size * count, False).view(_dtype(step.type))
        self._parts = [every[n::count].copy() for n in range(count)]
        return self._parts[step.instr.imm if step.kind == _LOAD_PARTS else 0]

    def _store_parts(self, step: _Step, values: list[Any]) -> None:
        stored = np.column_stack(values[: step.address]).ravel().view(np.uint8)
        self._bytes(step, *self._address(step, values), stored.size, True)[:] = stored

    def _store_some(self, step: _Step, values: list[Any]) -> None:
        """The same of some bytes; the others are not touched."""
        stored = np.column_stack(values[: step.address]).ravel().view(np.uint8)
        address, origin = self._address(step, values)
        for n in range(stored.size):
            if step.instr.imm >> n % 16 & 1:
                self._bytes(step, address + n, origin, 1, True)[:] = stored[n]

    def _advance(self, step: _Step, values: list[Any]) -> Any:
        """An access that moves its pointer on; of a load, what is behind its result is kept for its parts."""
        op = step.instr.op
        moved = np.uint64(int(values[step.address]) + step.instr.imm & _WORD)
        if op.effect == ops.WRITES:
            if op.parts > 1:
                self._store_parts(step, values)
            else:
                self._write(step, *self._address(step, values), values[0], step.type, None)
            return moved
        if op.parts > 1:
            self._load_parts(step, values)
        else:
            self._parts = [self._read(step, *self._address(step, values), step.type, None)]
        self._parts.append(moved)
        return self._parts[0]

    def _strided(self, step: _Step, values: list[Any], store: list[Any]) -> Any:
        """Elements so many bytes apart, loaded or stored."""
        instr = step.instr
        first = len(instr.op.operands) - 1
        stride = int(values[first - 1])
        lanes = np.flatnonzero(values[0]) if instr.op in ops.UNMASKED else np.arange(step.type.lanes)
        found = np.zeros(step.type.lanes, _dtype(step.type))
        if not len(lanes):
            return found if instr.op.result else None
        # (Of lanes that are off the first one's index may be outside.)
        checked = instr.op not in ops.UNMASKED
        address, origin = self._address(step, values) if step.mem is not None else self._element(step, [int(v) for v in values[first:]], store, None, checked)
        element = step.type.element
        for lane in lanes:
            at = self._bytes(step, address + int(lane) * stride, origin, element.size, not instr.op.result)
            if instr.op.result:
                found[lane] = at.view(found.dtype)[0]
            else:
                at[:] = values[first - 2][lane : lane + 1].view(np.uint8)
        return found if instr.op.result else None

    def _indexed(self, step: _Step, values: list[Any]) -> Any:
        """Elements each at an offset of its own, loaded or stored in the order of the lanes."""
        instr = step.instr
        if instr.op is ops.GATHER_SINGLY:
            if step.mem is not None:
                self._memory_operand(step, values)
            offsets, base = values
            address, origin = (base.address, base.origin if self._traced else None) if type(base) is Pointer else (int(base), None)
            on = np.arange(step.type.lanes)
        else:
            address, origin = self._address(step, values)
            offsets = values[step.address - 1]
            on = np.flatnonzero(values[0])
        found = np.zeros(step.type.lanes, _dtype(step.type))
        for lane in on:
            at = self._bytes(step, address + int(offsets[lane]) * instr.imm, origin, step.type.element.size, not instr.op.result)
            if instr.op.result:
                found[lane] = at.view(found.dtype)[0]
            else:
                at[:] = values[1][lane : lane + 1].view(np.uint8)
        return found if instr.op.result else None

    def _chunks(self, step: _Step, values: list[Any], store: list[Any]) -> Any:
        """Parts of 128 bits, so many bytes apart."""
        instr = step.instr
        first = len(instr.op.operands) - 1
        apart = int(values[first - 1]) if instr.op in ops.ROWS else instr.imm
        address, origin = self._address(step, values) if step.mem is not None else self._element(step, [int(v) for v in values[first:]], store, None)
        stored = values[0].view(np.uint8).reshape(-1, 16) if not instr.op.result else None
        found: list[Any] = []
        for n in range(step.type.size // 16):
            at = self._bytes(step, address + n * apart, origin, 16, stored is not None)
            if stored is None:
                found.append(at.copy())
            else:
                at[:] = stored[n]
        return np.concatenate(found).view(_dtype(step.type)) if stored is None else None

    def _write(self, step: _Step, address: int, origin: Object | None, value: Any, type_: Type, mask: Any) -> None:
        if not type_.lanes or mask is None or mask.all():
            held = self._object(step, address, origin, type_.size, True)
            at = address - held.low
            held.view.data[at : at + type_.size] = value.tobytes()
            if type(value) is Pointer and self._traced:
                self.memory.stored(held, at, value)
            return
        size: int = _dtype(type_).itemsize
        for lane in np.flatnonzero(mask):
            self._bytes(step, address + int(lane) * size, origin, size, True)[:] = value[lane : lane + 1].view(np.uint8)

    def _object(self, step: _Step, address: int, origin: Object | None, size: int, write: bool) -> Object:
        """What is accessed: the pointer's own object, or, of a pointer without one, what is at the address."""
        if origin is not None:
            if origin.low <= address and address - origin.low + size <= (origin.writable if write else origin.readable):
                return origin
            found = None
        else:
            found = self.memory.at(address, size, write, self._traced)
        if found is None:
            raise self._bounds(step.instr, f"address {address:#x} ({size} bytes) {self.memory.problem(address, size, write, origin)}")
        return found

    def _bytes(self, step: _Step, address: int, origin: Object | None, size: int, write: bool) -> Any:
        """Bytes of an object. (Vectors of pointers have no objects: what they are read of is exposed.)"""
        held = self._object(step, address, origin, size, write)
        at = address - held.low
        if held.pointers and self._traced:
            self.memory.read_as_numbers(held, at, size)
        return held.view[at : at + size]

    def _element(self, step: _Step, indices: list[int], store: list[Any], mask: Any, checked: bool = True) -> tuple[int, Object | None]:
        """The address of an array element, and the object that the array's pointer came from; checks, unless it is not to be ``checked``, that the lanes that are on are inside the array."""
        instr = step.instr
        array = self.f.arrays[instr.imm]
        last = len(indices) - 1
        lanes = np.flatnonzero(mask) if mask is not None else None
        for dimension, index in enumerate(indices):
            extent = int(store[self._place(array.extents[dimension])])
            low = high = index
            if dimension == last and step.type.lanes and instr.op not in ops.STRIDED:
                if lanes is None:
                    high += (step.type.lanes if instr.op not in ops.ROWS else 128 // step.type.bits) - 1
                elif len(lanes):
                    low += int(lanes[0])
                    high += int(lanes[-1])
            if checked and (low < 0 or high >= extent):
                wrong = low if low < 0 else high
                where = f"index {wrong}" if last == 0 else f"index {wrong} in dimension {dimension}"
                raise self._bounds(instr, f"{where} is outside array {array.name}, whose extent is {extent}")
        base = store[array.base]
        address = int(base) + indices[last] * array.element.size
        for dimension in range(last):
            address += indices[dimension] * int(store[self._place(array.strides[dimension])])
        return address, base.origin if type(base) is Pointer and self._traced else None

    def _local(self, number: int) -> Any:
        """The address of a local array, which is there from the first time on."""
        known = self._locals.get(number)
        if known is None:
            array = self.f.arrays[number]
            known = self._locals[number] = self.memory.make(array.size, LOCAL_ALIGN, f"{array.name or 'a local'} of {self.f.name}")
            if array.data:
                known.view[:] = np.frombuffer(array.data, np.uint8)
                known.writable = -1
        return self._pointer(known)

    def _pointer(self, to: Object) -> np.uint64:
        """The address of an object: with the object, where that is to be known."""
        return pointer(to.low, to) if self._traced else np.uint64(to.low)

    def _global(self, step: _Step, number: int) -> np.uint64:
        named = self.f.globals[number]
        known = self.memory.global_object(named)
        if known is None:
            raise self._error(step.instr, f"nothing is known of {named.name}: its module is to be linked")
        return self._pointer(known)

    def _alloca(self, step: _Step, size: int, align: int) -> Any:
        """Memory that goes when the function returns."""
        if not 0 <= size <= _MOST_STACK:
            raise self._error(step.instr, f"{size} bytes of the stack: it has room for {_MOST_STACK}")
        made = self.memory.make(size, align, f"memory of {self.f.name}'s stack")
        self._stack.append(made)
        return self._pointer(made)

    def _load(self, step: _Step, values: list[Any], store: list[Any]) -> Any:
        mask = None
        if step.instr.op is ops.MASKED_LOAD:
            mask = values[0]
            del values[0]
            if not mask.any():
                return np.zeros(step.type.lanes, _dtype(step.type))
        return self._read(step, *self._element(step, [int(v) for v in values], store, mask), step.type, mask)

    def _store(self, step: _Step, values: list[Any], store: list[Any]) -> None:
        mask = None
        if step.instr.op is ops.MASKED_STORE:
            mask = values[0]
            del values[0]
            if not mask.any():
                return
        self._write(step, *self._element(step, [int(v) for v in values[1:]], store, mask), values[0], step.type, mask)

    # --- calls --------------------------------------------------------------------------------------------

    def _called(self, step: _Step, values: list[Any], store: list[Any], tags: list[Type | None], outgoing: dict[int, tuple[Any, Type]]) -> Any:
        callee = self.f.callees[step.instr.imm]
        by_address = step.instr.op in ops.INDIRECT
        address = 0
        if by_address:
            value = store[step.reads[0]]
            if value is None:
                raise self._undefined(step, step.reads[0])
            address = int(value) & _WORD
            del values[:1]
        if self.physical:
            values = self._convention_arguments(step, callee, store, tags, outgoing)
        elif len(values) < len(callee.params):
            values = self._mixed_arguments(step, callee, values, outgoing)
        result = self._invoke(step, self._at_address(step, callee, address) if by_address else callee, values)
        if self.physical:
            self._destroy(self.target.caller_saved, store, NONE)
            partly = self.target.convention.partly_saved
            while partly:
                r = (partly & -partly).bit_length() - 1
                held = tags[r]
                if held is not None and _width(held) > self.target.convention.part_saved:
                    store[r] = None
                partly &= partly - 1
        return result

    def _at_address(self, step: _Step, signature: Callee, address: int) -> Callee:
        """The function that a call by address means, which must be of the signature the call has."""
        found = self.memory.function_at(address)
        if found is None:
            raise self._error(step.instr, f"there is no function at {address:#x}")
        if isinstance(found, Function):
            found = Callee(found.name, [found.types[p] for p in found.params], found.result, 0, found, None, -1, False, found.places, found.results)
        if found.params != signature.params or found.result is not signature.result or (found.places, found.results) != (signature.places, signature.results):
            from loopwright.ir.text import signature_text

            raise self._error(
                step.instr,
                f"{signature_text(found.name, found.params, found.result, found.named)} is called as {signature_text(signature.name, signature.params, signature.result)}",
            )
        return found

    def _stack_argument(self, step: _Step, offset: int, want: Type, outgoing: dict[int, tuple[Any, Type]]) -> Any:
        # store_arg counts from the first stack argument, or from the stack pointer, above the convention's shadow space.
        if outgoing and min(outgoing) > 0:
            offset += self.target.convention.shadow
        if offset not in outgoing:
            raise self._error(step.instr, f"the stack argument at {offset} was not stored")
        value, held = outgoing[offset]
        if held is not want and not _interchangeable(held, want):
            raise self._error(step.instr, f"the stack argument at {offset} is {held.name}, needs {want.name}")
        return value

    def _convention_arguments(self, step: _Step, callee: Callee, store: list[Any], tags: list[Type | None], outgoing: dict[int, tuple[Any, Type]]) -> list[Any]:
        """The arguments of a call after allocation: from where the convention has them, whatever the operands say."""
        values = []
        for place, want in zip(self.target.convention.assign_for(callee), callee.params, strict=True):
            if place < 0:
                values.append(self._stack_argument(step, ~place, want, outgoing))
                continue
            held = tags[place]
            if store[place] is None or held is None:
                raise self._undefined(step, place)
            if held is not want and not _interchangeable(held, want):
                raise self._error(step.instr, f"{self._shown(place)} holds {held.name}, {callee.name} takes {want.name}")
            values.append(store[place])
        return values

    def _mixed_arguments(self, step: _Step, callee: Callee, values: list[Any], outgoing: dict[int, tuple[Any, Type]]) -> list[Any]:
        """The arguments of a call before allocation of which some are on the stack."""
        if self.target is None:
            raise self._error(step.instr, "a call with stack arguments needs the target to be interpreted")
        out = []
        taken = 0
        for place, want in zip(self.target.convention.assign_for(callee), callee.params, strict=True):
            if place < 0:
                out.append(self._stack_argument(step, ~place, want, outgoing))
            else:
                out.append(values[taken])
                taken += 1
        return out

    def _nested_of(self, f: Function) -> Interpreter:
        """An interpreter of a function that is called, prepared once: calls may nest, and each has its own state."""
        known = self._prepared.get(id(f))
        if known is None:
            known = self._prepared[id(f)] = Interpreter(f, self.target, self.callees, self.limit, self.memory)
            known._prepared = self._prepared
            known._heap = self._heap
        nested = copy.copy(known)
        nested.limit = self.limit - self.steps
        nested.steps = 0
        nested._parts = []
        nested._depth = self._depth + 1
        return nested

    def _called_by_c(self, f: Function, args: Sequence[Any]) -> Any:
        """A function that C calls by its address."""
        return self._nested_of(f)._call(args)

    def _invoke(self, step: _Step, callee: Callee, values: list[Any]) -> Any:
        function: Any = self.callees.get(callee.name)
        if function is None and callee.function is not None:
            nested = self._nested_of(callee.function)
            result = nested._call(values)
            self.steps += nested.steps
            return result
        if function is None:
            managed = self._heap.find(callee)
            if managed is not None:
                return self._allocated(step, callee, managed, values)
            if callee.address and callee.name in _ENDS:
                raise self._ended(step, callee.name, values)
            function = callee.keep if not callee.results and not callee.places else None
        if not callable(function):
            raise self._error(step.instr, f"nothing is known of {callee.name} to interpret it by")
        for value in values:
            if type(value) is Pointer:
                self.memory.expose(value.origin)
        result = self._heap.call(function, [v.item() if isinstance(v, np.generic) else v for v in values])
        pending = self.memory.pending
        if pending is not None:
            self.memory.pending = None
            raise pending
        if callee.result is VOID:
            return None
        try:
            if callee.result is not PTR:
                return _wrapped(callee.result, result)
            # (ctypes has None for a null pointer.)
            address = 0 if result is None else int(result) & _WORD
        except (TypeError, ValueError, OverflowError):
            raise self._error(step.instr, f"{callee.name} returned {result!r}, expected {callee.result.name}") from None
        self._heap.returned(callee, address)
        return self.memory.pointer_to(address) if self._traced else np.uint64(address)

    def _ended(self, step: _Step, name: str, values: list[Any]) -> InterpreterExit:
        """The program ends: what is raised for it."""
        status = _ENDS[name]
        if status < 0:
            status = int(values[0]) & 0xFF if values else 0
        said = f": {ctypes.string_at(int(values[0])).decode(errors='replace')}" if name == "__assert_fail" and values else ""
        error = InterpreterExit(self._message(step.instr, f"the program ends, with status {status}{said}"), self.f.file, step.instr.line)
        error.status = status
        return error

    def _allocated(self, step: _Step, callee: Callee, managed: Managed, values: list[Any]) -> Any:
        """A call of a function that allocates memory, or frees it."""
        try:
            made = managed(values, (self.f.name, step.instr.line))
        except HeapError as problem:
            raise self._bounds(step.instr, str(problem)) from None
        if callee.result is not PTR:
            return None
        return np.uint64(0) if made is None else self._pointer(made)

    def _failed(self, number: int, values: list[Any]) -> InterpreterBoundsError:
        sites = self.f.sites
        shown = ", ".join(str(int(v)) for v in values)
        if number < len(sites):
            site = sites[number]
            index = int(values[0]) if values else 0
            extent = f", whose extent is {int(values[1])}" if len(values) > 1 else ""
            error = InterpreterBoundsError(
                f"{site.text}: index {index} in dimension {site.dimension} is outside array {site.array}{extent}", self.f.file, site.line
            )
        else:
            error = InterpreterBoundsError(f"{self.f.name}: check {number} failed ({shown})", self.f.file)
        error.site = number
        return error


def run(f: Function, *args: Any, target: Any = None) -> Any:
    """Call ``f`` with ``args`` under the interpreter; see ``Interpreter.call``."""
    return Interpreter(f, target).call(*args)
