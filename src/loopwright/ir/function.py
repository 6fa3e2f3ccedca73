"""The one data structure of the compiler: a function as one flat list of instructions.

Operands are plain integers, so that passes can keep facts in lists indexed by register number:

* ``0 <= r < SLOT``: a register. Virtual and unlimited before allocation; after it (``Function.physical``),
  the number of one of the target's physical registers.
* ``r >= SLOT``: after allocation, stack slot number ``r - SLOT``.
* ``r < 0``: constant number ``~r`` of the function's table of constants.
* ``NONE``: no operand (an instruction without a result).

Each class says by ``__reduce__`` how it is copied and pickled: Python's own way makes an object without calling ``__init__``, which
classes of the native build do not allow (mypyc's documentation, "Pickling and copying objects").
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any, Final

from loopwright.ir import ops
from loopwright.ir.globals import Global
from loopwright.ir.half_floats import round_half
from loopwright.ir.ops import Op
from loopwright.types import BOOL, F32, I64, PTR, VOID, Type

#: Operands from here on are stack slots.
SLOT: Final = 1 << 20
#: "No register", in ``Instr.dst``. (Constants are negative too, but never a destination.)
NONE: Final = -1
#: The most steps of a loop that are made one.
MOST_UNROLLED: Final = 64


def _made(kind: Callable[..., object], arguments: tuple[object, ...], state: dict[str, object]) -> object:
    """An object with the attributes its constructor does not take, for copying and unpickling."""
    made = kind(*arguments)
    for name, value in state.items():
        setattr(made, name, value)
    return made


class Mem:
    """How the last one or two operands of an instruction make an address: base + index * scale + disp.

    Attributes:
        indexed: the last operand is the index and the one before it the base; otherwise the last is the base.
        scale: what the index is multiplied by (bytes).
        disp: constant offset (bytes).
        size: bytes accessed (for the verifier, the listing and compressed displacements).
        broadcast: one element is loaded and repeated in every lane.
        role: for an operation with an operand folded into memory, which operand (by role, from 0) that is; -1 for the last.
        array: the number of the array that is accessed, or -1 for any memory.
        origin: the operation that would make the base, ``local`` or ``global``, whose operand, a constant, stands in its place; None: the base is a register.
    """

    __slots__ = ("array", "broadcast", "disp", "indexed", "origin", "role", "scale", "size")

    def __init__(
        self, indexed: bool, scale: int, disp: int, size: int = 0, broadcast: bool = False, role: int = -1, array: int = -1, origin: Op | None = None
    ) -> None:
        self.array = array
        self.origin = origin
        self.indexed = indexed
        self.scale = scale
        self.disp = disp
        self.size = size
        self.broadcast = broadcast
        self.role = role

    def further(self, disp: int, size: int) -> Mem:
        """So many bytes, so many further on."""
        return Mem(self.indexed, self.scale, self.disp + disp, size, False, -1, self.array)

    def __reduce__(self) -> tuple[object, ...]:
        return Mem, (self.indexed, self.scale, self.disp, self.size, self.broadcast, self.role, self.array, self.origin)


class Loop:
    """What is known of a ``for`` over lanes.

    Attributes:
        lanes: a step may be made for several indices at once: it is a scalar loop, for the vectorize pass.
        mask: the register that holds the lanes in range in each step (the second result of the ``for``), or NONE; for the unroll pass.
        unroll: how many steps to do at once; 0 lets the pass decide.
        whole: the mask holds in every lane of every step: what is left of the indices has a loop of its own, of one at least where ``lanes`` asks for it.
        rest: it does what another loop over lanes has left, in a step or two, all of which are done under the mask.
        free: no iteration accesses what another one has stored, whichever way they go along an array.
        accumulators: (variable, operation, identity) of each reduction carried by the loop: the variable is changed by updates
            with the operation alone. The identity changes nothing: the operation's ``neutral``, or what the variable holds before.
    """

    __slots__ = ("accumulators", "free", "lanes", "mask", "rest", "unroll", "whole")

    def __init__(
        self,
        mask: int = NONE,
        unroll: int = 1,
        accumulators: list[tuple[int, Op, int]] | None = None,
        lanes: bool = False,
        whole: bool = False,
        rest: bool = False,
        free: bool = False,
    ) -> None:
        self.lanes = lanes
        self.free = free
        self.rest = rest
        self.whole = whole
        self.mask = mask
        self.unroll = unroll
        self.accumulators: list[tuple[int, Op, int]] = accumulators if accumulators is not None else []

    def __reduce__(self) -> tuple[object, ...]:
        return Loop, (self.mask, self.unroll, self.accumulators, self.lanes, self.whole, self.rest, self.free)


class Instr:
    """One instruction.

    Attributes:
        op: its row.
        type: the T of the row's signature (VOID where there is none).
        source: the S of the row's signature, or VOID.
        dst: the register it defines, or NONE.
        args: operands. Where ``mem`` is set, the last one or two are the address: for the memory operations
            that is their A operand; for any other operation it means that one role (``mem.role``) is loaded from memory.
        imm: array, callee, label or site number, or branch depth.
        mem: the shape of the address, or None.
        loop: only on a ``for``: what the front end knows of it.
        line: line in the user's source, or 0.
        rule: the target's rule for it, from the select pass on; not part of the text.
        weight: how often it runs against straight-line code, by the loops around it, from the jumps pass on; not part of the text.
    """

    __slots__ = ("args", "dst", "imm", "line", "loop", "mem", "op", "rule", "source", "type", "weight")

    def __init__(
        self,
        op: Op,
        type: Type,
        dst: int,
        args: list[int],
        imm: int = 0,
        line: int = 0,
        source: Type = VOID,
        mem: Mem | None = None,
        loop: Loop | None = None,
    ) -> None:
        self.op = op
        self.type = type
        self.dst = dst
        self.args = args
        self.imm = imm
        self.line = line
        self.source = source
        self.mem = mem
        self.loop = loop
        self.rule: Any = None
        self.weight = 1.0

    def copy(self) -> Instr:
        """The same instruction with its own operand list."""
        made = Instr(self.op, self.type, self.dst, list(self.args), self.imm, self.line, self.source, self.mem, self.loop)
        made.rule = self.rule
        return made

    def __reduce__(self) -> tuple[object, ...]:
        arguments = (self.op, self.type, self.dst, self.args, self.imm, self.line, self.source, self.mem, self.loop)
        return _made, (Instr, arguments, {"rule": self.rule, "weight": self.weight})


#: Bytes that the local arrays of a function may take together.
MOST_LOCAL: Final = 1 << 16
#: Local arrays begin at multiples of this many bytes, where the machine makes them so: a vector does not cross a cache line.
LOCAL_ALIGN: Final = 64
#: Everywhere they begin at multiples of this many.
LOCAL_LEAST: Final = 16
#: The greatest alignment that memory of the stack can be asked for, in bytes.
MOST_ALIGNED: Final = 4096


class Array:
    """An array: a parameter, local to the function, or a view of memory that pointers lead to. Elements of one type, any strides outside, unit stride in the last dimension.

    What a loop accesses through pointers is a view there: its base, extents and strides are registers that are defined in front of the loop, and outside of it
    nothing is known of the memory, which other pointers and other views lead to as well.

    Attributes:
        name: the user's name for it.
        element: scalar type of the elements.
        base: register with the address of element (0, …, 0).
        extents: registers (i64) with the extents, outermost first; constants of a local array, and where an extent has been asked for.
        strides: registers (i64) with the strides of all dimensions but the last, in bytes; constants of a local array.
        written: the function stores to it.
        size: bytes of a local array, or of a constant one; 0 of a parameter.
        data: the elements of a constant array, which lie behind the code; of others none.
        view: it is no array of the function's own, but memory that pointers lead to.
        pairs: what callers pass is an array of complex numbers, whose parts are the elements: two neighbours each. Nothing in the function depends on it.
        shared: its memory may be that of other arrays, too, by any shift: what is stored to one of them may change it. Of arrays that are not shared, one may be
            passed in two places where both are accessed at the same index only.
        apart: of all arrays that have the same number here, none has memory that is stored to in common with another; 0: nothing is known.
        nontemporal: what is stored to it is not to be kept in the caches, if the machine can do that.
        aligned: whole vectors of it that are stored lie at multiples of their size, if that is no more than so many bytes; 0 where nothing is known.
        align: what the address of a local array is a multiple of.
        usual: extents that most callers pass, as far as one has been seen, those of others 0; () where nothing is known. Nothing may hang on that but which code is fast.
    """

    __slots__ = (
        "align",
        "aligned",
        "apart",
        "base",
        "data",
        "element",
        "extents",
        "name",
        "nontemporal",
        "pairs",
        "shared",
        "size",
        "strides",
        "usual",
        "view",
        "written",
    )

    def __init__(
        self,
        name: str,
        element: Type,
        base: int,
        extents: list[int],
        strides: list[int],
        written: bool = False,
        size: int = 0,
        data: bytes = b"",
        view: bool = False,
        pairs: bool = False,
        shared: bool = False,
        nontemporal: bool = False,
        aligned: int = 0,
        align: int = LOCAL_ALIGN,
        apart: int = 0,
        usual: tuple[int, ...] = (),
    ) -> None:
        self.view = view
        self.usual = usual
        self.shared = shared
        self.apart = apart
        self.nontemporal = nontemporal
        self.aligned = aligned
        self.align = align
        self.pairs = pairs
        self.size = size
        self.data = data
        self.name = name
        self.element = element
        self.base = base
        self.extents = extents
        self.strides = strides
        self.written = written

    @property
    def rank(self) -> int:
        return len(self.extents)

    def __reduce__(self) -> tuple[object, ...]:
        return Array, tuple(getattr(self, name) for name in _ARRAY)

    def replaced(self, **changes: Any) -> Array:
        """The same array, but for some of its attributes. (Of other extents none is usual.)"""
        if "extents" in changes:
            changes.setdefault("usual", ())
        return Array(**{name: getattr(self, name) for name in _ARRAY} | changes)


#: What an array is made of, in the order in which it is given.
_ARRAY: Final = (
    "name",
    "element",
    "base",
    "extents",
    "strides",
    "written",
    "size",
    "data",
    "view",
    "pairs",
    "shared",
    "nontemporal",
    "aligned",
    "align",
    "apart",
    "usual",
)


#: Where an argument goes: as the convention has it for its type; on the stack, at a multiple of 8 or 16 bytes; where the address of memory for the result goes; the
#: first of two that an even-numbered register begins (AAPCS64, 6.8.2, C.8); ``TOGETHER + n``: the first of n that are all in registers or all on the stack (C.3, C.9 to C.11).
USUAL: Final = 0
STACK: Final = 8
STACK_16: Final = 16
RESULT_ADDRESS: Final = 1
EVEN: Final = 2
TOGETHER: Final = 32
#: What they are called in text, behind the type.
PLACES: Final[dict[int, str]] = {STACK: "stack", STACK_16: "stack16", RESULT_ADDRESS: "sret", EVEN: "even"}


class Callee:
    """Something a function calls.

    Attributes:
        name: symbol, for listings and linking.
        params, result: the signature; result VOID for none.
        address: where it is in this process, or 0 when ``target`` will be linked.
        function: the ``Function`` to link, or None.
        keep: keeps the Python object behind the address alive.
        named: of a function with a variable number of arguments, how many of ``params`` are not among those; -1 of others.
        signature: it is no function but what calls by address pass and expect; its name stands for that alone.
        places: where parts of structs are passed: for each of ``params`` a code of this module (``USUAL``, ``STACK``, …); empty where all are usual.
        results: types of several results, which the convention returns in registers; they go to the memory whose address is the last argument, eight bytes each.
    """

    __slots__ = ("address", "function", "keep", "name", "named", "params", "places", "result", "results", "signature")

    def __init__(
        self,
        name: str,
        params: list[Type],
        result: Type,
        address: int = 0,
        function: Any = None,
        keep: Any = None,
        named: int = -1,
        signature: bool = False,
        places: tuple[int, ...] = (),
        results: tuple[Type, ...] = (),
    ) -> None:
        self.places = places
        self.results = results
        self.named = named
        self.signature = signature
        self.name = name
        self.params = params
        self.result = result
        self.address = address
        self.function = function
        self.keep = keep

    def __reduce__(self) -> tuple[object, ...]:
        # The function apart: it may call itself. Compiled classes take attributes as they are, others with slots behind those of a dictionary.
        state = {"function": self.function}
        arguments = (self.name, self.params, self.result, self.address, None, self.keep, self.named, self.signature, self.places, self.results)
        return Callee, arguments, state if hasattr(self, "__setstate__") else (None, state)


class Site:
    """Where a checked access is, for the error it may raise: array, dimension, the user's line."""

    __slots__ = ("array", "dimension", "line", "text")

    def __init__(self, array: str, dimension: int, line: int, text: str) -> None:
        self.array = array
        self.dimension = dimension
        self.line = line
        self.text = text

    def __reduce__(self) -> tuple[object, ...]:
        return Site, (self.array, self.dimension, self.line, self.text)


#: kinds of stack slot
SPILL: Final = 0
INCOMING: Final = 1


class Slot:
    """A place in the frame. ``offset`` of an INCOMING slot counts from the first stack argument."""

    __slots__ = ("kind", "offset", "size")

    def __init__(self, kind: int, size: int, offset: int) -> None:
        self.kind = kind
        self.size = size
        self.offset = offset

    def __reduce__(self) -> tuple[object, ...]:
        return Slot, (self.kind, self.size, self.offset)


class Frame:
    """What prologue and epilogue have to do, from the allocate pass.

    Attributes:
        saved: callee-saved registers in use, in the order they are saved.
        size: bytes of spill slots.
        outgoing: bytes for stack arguments of calls (with shadow space where the convention has one).
        calls: the function calls others.
        align: greatest alignment any slot needs, bytes.
        moves: the function takes more of the stack as it runs: slots are found from a frame pointer.
    """

    __slots__ = ("align", "calls", "moves", "outgoing", "saved", "size")

    def __init__(self) -> None:
        self.saved: list[int] = []
        self.size = 0
        self.outgoing = 0
        self.calls = False
        self.moves = False
        self.align = 8

    def __reduce__(self) -> tuple[object, ...]:
        state = {"saved": self.saved, "size": self.size, "outgoing": self.outgoing, "calls": self.calls, "moves": self.moves, "align": self.align}
        return _made, (Frame, (), state)


class Options:
    """What a kernel allows the compiler to do.

    Attributes:
        contract: a*b + c may become one fused operation.
        fastmath: floats may be treated as real numbers without NaN (reassociation, either operand of min/max first).
        check: every array access is checked.
        nests: nests of plain loops may be put into another order that computes the same.
        search: more ways to do so are looked at than pays for most functions.
        schedule: what is to be done with them instead, as the user says: text of steps (``ir/schedule.py``), or "".
    """

    __slots__ = ("check", "contract", "fastmath", "nests", "schedule", "search")

    def __init__(
        self, contract: bool = True, fastmath: bool = False, check: bool = False, nests: bool = False, search: bool = False, schedule: str = ""
    ) -> None:
        self.contract = contract
        self.fastmath = fastmath
        self.check = check
        self.nests = nests
        self.search = search
        self.schedule = schedule

    def __reduce__(self) -> tuple[object, ...]:
        return Options, (self.contract, self.fastmath, self.check, self.nests, self.search, self.schedule)


class Function:
    """A function: parameters, arrays, constants and one flat list of instructions.

    Attributes:
        name: its name.
        params: parameter registers in order; an array contributes base, shape, strides (see ``Array``).
        result: scalar type of the result, or VOID.
        places, results: as of a ``Callee``. The last parameter is the address of memory for several results; from ``select`` on it is gone, and ``result`` the address
            of such memory in the frame, from which the epilogue loads them.
        arrays, callees, globals, sites: what LOAD/STORE, CALL, GLOBAL and FAIL number.
        types, names, variable: per virtual register: type, name for the printer ("" for none), written more than once.
        const_types, const_values: the table of constants; a vector constant has its scalar in every lane.
        code: the instructions.
        physical: registers are the target's, not virtual ones.
        stage: the last pass that ran ("collect" at first).
        target_name: the target it was lowered for, or "".
        slots, frame: after allocation.
        with_vectors: the same function for machines with vectors, which have at least 128 bits, where there is another one; a copy has none.
        labels: number of labels, after the jumps pass; ``aligned`` those at heads of innermost loops.
        analysis: what one pass leaves for the next (liveness for allocate, the assembler for encode); not part of the text.
        machine: the machine code, after the last pass.
        statistics: what register allocation cost (``regalloc.output.Statistics``), after the allocate pass.
        restrict: the parameters whose memory nothing else in the function leads to but what is computed from them: C's `restrict`.
        large: for the nests pass: the indices of loops that access memory in too many places to be looked at as a whole; not part of the text.
        file: the user's source file; ``lines`` maps line numbers to source text.
    """

    __slots__ = (
        "_const_index",
        "aligned",
        "analysis",
        "arrays",
        "callees",
        "code",
        "const_types",
        "const_values",
        "file",
        "frame",
        "globals",
        "labels",
        "large",
        "lines",
        "machine",
        "name",
        "names",
        "options",
        "params",
        "physical",
        "places",
        "restrict",
        "result",
        "results",
        "sites",
        "slots",
        "stage",
        "statistics",
        "target_name",
        "types",
        "variable",
        "with_vectors",
    )

    def __init__(self, name: str, result: Type = VOID, options: Options | None = None) -> None:
        self.name = name
        self.result = result
        self.options: Options = options if options is not None else Options()
        self.places: tuple[int, ...] = ()
        self.results: tuple[Type, ...] = ()
        self.params: list[int] = []
        self.restrict: set[int] = set()
        self.large: set[int] = set()
        self.arrays: list[Array] = []
        self.callees: list[Callee] = []
        self.globals: list[Global] = []
        self.sites: list[Site] = []
        self.types: list[Type] = []
        self.names: list[str] = []
        self.variable: list[bool] = []
        self.const_types: list[Type] = []
        self.const_values: list[int | float | bool] = []
        self._const_index: dict[tuple[int, object], int] = {}
        self.code: list[Instr] = []
        self.physical = False
        self.stage = "collect"
        self.target_name = ""
        self.slots: list[Slot] = []
        self.frame: Frame | None = None
        self.labels = 0
        self.aligned: set[int] = set()
        self.file = ""
        self.lines: dict[int, str] = {}
        self.with_vectors: Function | None = None
        self.analysis: Any = None
        self.machine: Any = None
        self.statistics: Any = None

    def register(self, type_: Type, name: str = "", variable: bool = False) -> int:
        """A new virtual register."""
        number = len(self.types)
        self.types.append(type_)
        self.names.append(name)
        self.variable.append(variable)
        return number

    def emit(self, op: Op, type_: Type, dst: int, args: list[int], imm: int, line: int) -> Instr:
        """Append an instruction."""
        instr = Instr(op, type_, dst, args, imm, line)
        self.code.append(instr)
        return instr

    def define(self, op: Op, type_: Type, args: list[int], result: Type, source: Type, imm: int, line: int) -> int:
        """Append an instruction that defines a new register, of the type ``result``; the register."""
        dst = self.register(result)
        self.code.append(Instr(op, type_, dst, args, imm, line, source))
        return dst

    def param(self, type_: Type, name: str) -> int:
        """A new scalar parameter."""
        number = self.register(type_, name)
        self.params.append(number)
        return number

    def array_param(self, name: str, element: Type, rank: int) -> Array:
        """A new array parameter: base, then ``rank`` extents, then ``rank - 1`` strides as registers."""
        base = self.param(PTR, name)
        shape = [self.param(I64, f"{name}.n{d}") for d in range(rank)]
        strides = [self.param(I64, f"{name}.s{d}") for d in range(rank - 1)]
        made = Array(name, element, base, shape, strides)
        self.arrays.append(made)
        return made

    def local_array(self, name: str, element: Type, shape: tuple[int, ...], align: int = LOCAL_ALIGN) -> Array:
        """A new local array, of known extents. An operation ``local`` is to put its address into its base, before it is accessed."""
        strides: list[int] = []
        size = element.size
        for extent in reversed(shape):
            strides.append(size)
            size *= extent
        extents = [self.const(I64, extent) for extent in shape]
        made = Array(name, element, self.register(PTR, name), extents, [self.const(I64, n) for n in reversed(strides[1:])], False, size, align=align)
        self.arrays.append(made)
        return made

    def told_apart(self, number: int, apart: int) -> int:
        """The number of an array under which it is known not to be shared, and, if ``apart`` is not 0, to be apart, for accesses where that has been found out."""
        self.arrays.append(self.arrays[number].replaced(shared=False, apart=apart))
        return len(self.arrays) - 1

    def never_meet(self, a: int, b: int) -> bool:
        """Whether two arrays, by their numbers, are known to have no memory in common, or none that is stored to."""
        first, second = self.arrays[a], self.arrays[b]
        return first.base != second.base and (first.size > 0 or second.size > 0 or (first.apart > 0 and first.apart == second.apart))

    def constant_array(self, name: str, element: Type, shape: tuple[int, ...], data: bytes) -> Array:
        """A new constant array, of these elements. An operation ``table`` is to put its address into its base, before it is accessed."""
        made = self.local_array(name, element, shape)
        made.data = data
        return made

    def local_places(self) -> list[int]:
        """Where each local array begins behind the first of them, in bytes; at the end, what they take together.

        Those come first whose addresses are multiples of no more than every frame's is, so that they are known distances away from it.
        """
        offset = 0
        places = [0] * len(self.arrays)
        for framed in (True, False):
            for n, array in enumerate(self.arrays):
                if array.size and not array.data and self.in_frame(n) == framed:
                    align = array.align if framed else LOCAL_ALIGN
                    places[n] = offset = -(-offset // align) * align
                    offset += array.size if framed else -(-array.size // LOCAL_ALIGN) * LOCAL_ALIGN
        places.append(-(-offset // LOCAL_LEAST) * LOCAL_LEAST)
        return places

    def local_offset(self, number: int) -> int:
        """Where a local array begins behind the first of them, in bytes; of the number of all arrays: what they take together."""
        return self.local_places()[number]

    def local_bytes(self) -> int:
        """What the local arrays take of the frame, with what is left free to begin at a multiple of ``LOCAL_LEAST``, and from there of ``LOCAL_ALIGN`` where one asks for it."""
        size = self.local_offset(len(self.arrays))
        if not size:
            return 0
        raised = any(array.size and not array.data and not self.in_frame(n) for n, array in enumerate(self.arrays))
        # (Frames are multiples of 8, so that the two together take no more than the greater.)
        return size + (LOCAL_ALIGN if raised else LOCAL_LEAST)

    def in_frame(self, number: int) -> bool:
        """Whether a local array is a known distance away from the frame's beginning."""
        return self.arrays[number].align <= LOCAL_LEAST

    def const(self, type_: Type, value: int | float | bool) -> int:
        """The operand for a constant (of a vector type: the scalar in every lane); equal ones share a number.

        Integers are wrapped to the type and floats rounded to it, so that equal bits mean equal constants.
        """
        kept: int | float | bool
        key: object
        if type_.is_float:
            kept = float(value)
            if type_.bits == 32 and not math.isnan(kept):
                kept = round_f32(kept)
            elif type_.bits == 16 and not math.isnan(kept):
                kept = round_half(type_, kept)
            # By another name where equal numbers are not the same, or the same not equal: 0.0 and -0.0 differ, NaN equals itself.
            if kept < 0.0 or kept > 0.0:
                key = kept
            elif kept == 0.0:
                key = "0" if math.copysign(1.0, kept) > 0.0 else "-0"
            else:
                key = struct.pack("<d", kept)
        elif type_.element is BOOL:
            kept = bool(value)
            key = kept
        else:
            kept = wrap(type_, int(value))
            key = kept
        full = (type_.number, key)
        known = self._const_index.get(full)
        if known is None:
            known = len(self.const_values)
            self.const_types.append(type_)
            self.const_values.append(kept)
            self._const_index[full] = known
        return ~known

    def folded(self, op: Op, type_: Type, source: Type, args: list[int]) -> int | None:
        """The constant that an operation on constants alone gives, by its row; of vectors it is that of their one element.

        None where the row has no meaning or NumPy no such type, and where a cast takes lanes together or apart.
        """
        element = type_.element
        if not element.dtype or op.meaning is None or (source.lanes and source.lanes != type_.lanes):
            return None
        operands: list[object] = []
        for a in args:
            given = self.const_types[~a].element
            if not given.dtype:
                return None
            operands.append(ops.scalar(given, self.const_values[~a]))
        value = op.meaning(element, source.element, *operands)
        return self.const(ops.result_type(op, type_, source), value.item() if hasattr(value, "item") else value)

    def type_of(self, operand: int) -> Type:
        """The type of a virtual register or constant."""
        return self.types[operand] if operand >= 0 else self.const_types[~operand]

    def clone(self) -> Function:
        """A copy that passes may change without touching this one."""
        made = Function(self.name, self.result, self.options)
        made.params = list(self.params)
        made.places = self.places
        made.results = self.results
        made.restrict = set(self.restrict)
        made.large = set(self.large)
        made.arrays = list(self.arrays)
        made.callees = list(self.callees)
        made.globals = list(self.globals)
        made.sites = list(self.sites)
        made.types = list(self.types)
        made.names = list(self.names)
        made.variable = list(self.variable)
        made.const_types = list(self.const_types)
        made.const_values = list(self.const_values)
        made._const_index = dict(self._const_index)
        made.code = [instr.copy() for instr in self.code]
        made.physical = self.physical
        made.stage = self.stage
        made.target_name = self.target_name
        made.slots = list(self.slots)
        made.frame = self.frame
        made.labels = self.labels
        made.aligned = set(self.aligned)
        made.file = self.file
        made.lines = self.lines
        return made

    def __reduce__(self) -> tuple[object, ...]:
        # As with `clone`, what a pass has left for the next one stays behind.
        return _made, (Function, (self.name, self.result, self.options), {name: getattr(self, name) for name in _COPIED})


#: What a copy of a function holds besides the arguments of its constructor.
_COPIED: Final = (
    "params",
    "places",
    "results",
    "restrict",
    "large",
    "arrays",
    "callees",
    "globals",
    "sites",
    "types",
    "names",
    "variable",
    "const_types",
    "const_values",
    "_const_index",
    "code",
    "physical",
    "stage",
    "target_name",
    "slots",
    "frame",
    "labels",
    "aligned",
    "file",
    "lines",
    "with_vectors",
)


#: Splits off the upper 24 bits of an f64.
_SPLIT: Final = float((1 << 29) + 1)


def wrap(type_: Type, value: int) -> int:
    """``value`` reduced to the width of an integer (or pointer) type."""
    if 0 <= value <= 127:
        return value
    bits = type_.bits
    if bits == 64 and -(1 << 61) <= value < 1 << 61 and (value >= 0 or type_.signed):
        # (What follows takes integers of more than a word.)
        return value
    value &= (1 << bits) - 1
    if type_.signed and value >> (bits - 1):
        value -= 1 << bits
    return value


def round_f32(value: float) -> float:
    """``value`` rounded to f32; too large becomes an infinity."""
    if 1e-37 < abs(value) < 1e38:
        # What has 24 bits is an f32 as it is: its upper part is all of it (Dekker 1971; Veltkamp's splitting).
        scaled = value * _SPLIT
        if scaled - (scaled - value) == value:
            return value
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


__all__ = [
    "EVEN",
    "F32",
    "INCOMING",
    "MOST_UNROLLED",
    "NONE",
    "PLACES",
    "RESULT_ADDRESS",
    "SLOT",
    "SPILL",
    "STACK",
    "STACK_16",
    "TOGETHER",
    "USUAL",
    "Array",
    "Callee",
    "Frame",
    "Function",
    "Global",
    "Instr",
    "Loop",
    "Mem",
    "Op",
    "Options",
    "Site",
    "Slot",
    "ops",
    "round_f32",
    "wrap",
]
