"""What a target is: the tables and the few functions the passes ask.

Passes and the register allocator know this file and no machine. Physical registers are dense numbers from 0; a set of registers is an integer used
as a bit mask (small, and so fast, up to 62 of them). Only registers that may be allocated are numbered (no stack pointer, no zero register).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from loopwright.errors import AbiError, UnsupportedOperationError
from loopwright.ir import ops
from loopwright.ir.description import Description
from loopwright.ir.function import EVEN, RESULT_ADDRESS, STACK, STACK_16, TOGETHER, USUAL, Callee, Frame, Function, Instr
from loopwright.ir.ops import Op
from loopwright.native_build import mypyc_attr
from loopwright.targets.core import Core
from loopwright.targets.pipeline import Pass
from loopwright.types import I64, Type

ANY_REGISTER: Final = -1
#: In ``Use.fixed`` of a result: of an instruction, it is the first in the run of registers that ``Rule.results`` demands; of a ``part``, it is where the
#: instruction in front has left it.
LEFT: Final = -3
#: In ``Rule.tied``: the result may share any operand's register, and profits from doing so.
ANY_TIED: Final = -2


class RegisterClass:
    """Registers that hold the same types.

    Attributes:
        name: e.g. ``integers``.
        order: its registers in the order of allocation (caller-saved before callee-saved).
        holds: says of a type whether its values live here; each type has one class of a target at most.
        slot: the fewest bytes of a spill slot.
        bit_per_lane: masks take a bit a lane here, and their slots ``slot`` bytes; elsewhere a mask takes what its lanes do.
        again: what making a constant, or the address of a global, again costs against loading a value from the stack.
    """

    __slots__ = ("again", "bit_per_lane", "holds", "name", "order", "slot")

    def __init__(self, name: str, order: Sequence[int], holds: Callable[[Type], bool], slot: int = 8, bit_per_lane: bool = False, again: float = 0.5) -> None:
        self.name = name
        self.order = tuple(order)
        self.holds = holds
        self.slot = slot
        self.bit_per_lane = bit_per_lane
        self.again = again


def scalar_integers(type_: Type) -> bool:
    """What a register class for integers holds: integers, pointers, bools."""
    return not (type_.lanes or type_.is_float or type_.is_mask)


def scalar_floats(type_: Type) -> bool:
    """What a class for floats holds where vectors have registers of their own."""
    return type_.is_float and not type_.lanes


def vectors(type_: Type) -> bool:
    """What a class for vectors holds that are no masks; scalar floats are the lowest lane."""
    return not (scalar_integers(type_) or type_.is_mask)


def vectors_and_masks(type_: Type) -> bool:
    """What a class for vectors holds where masks are vectors too, of lanes all ones or all zeros."""
    return not scalar_integers(type_)


def masks(type_: Type) -> bool:
    """What a class for masks holds."""
    return type_.is_mask


def anything(type_: Type) -> bool:
    """What the one class of a machine without registers holds."""
    return True


class Register:
    """A physical register.

    Attributes:
        name: as printed after allocation (``rax``, ``zmm3``, ``a0``; a vector register by its widest name).
        cls: the number of its class among the target's.
        code: the machine's number for it in encodings.
    """

    __slots__ = ("cls", "code", "name")

    def __init__(self, name: str, cls: int, code: int) -> None:
        self.name = name
        self.cls = cls
        self.code = code


def symbol_of(f: Function, instr: Instr) -> tuple[str, int]:
    """What ``global`` or ``function`` takes the address of: its name, and its address in this process, or 0 where the linker finds it."""
    number = int(f.const_values[~instr.args[0]])
    if instr.op is ops.GLOBAL:
        of = f.globals[number]
        return of.name, of.address
    callee = f.callees[number]
    return callee.name, callee.address


def incoming_at(f: Function, instr: Instr) -> int:
    """How far behind the first argument on the stack ``incoming`` is, of a machine whose frames have no room in front of it.

    Raises ``UnsupportedOperationError`` for a place there.
    """
    at = int(f.const_values[~instr.args[0]])
    if at < 0:
        raise UnsupportedOperationError(
            f"{f.name}: memory in front of the arguments on the stack (`incoming {at}`) is not available on this machine", f.file, instr.line
        )
    return at


def moves_stack(f: Function) -> bool:
    """Whether a function takes more of the stack as it runs."""
    return any(instr.op is ops.ALLOCA for instr in f.code)


class Convention:
    """A calling convention.

    Attributes:
        name: e.g. ``sysv``, ``win64``, ``lp64d``.
        int_args, float_args: argument registers in order.
        shared_positions: an argument takes its position's register in whichever class (Win64).
        int_result, float_result: where a scalar result is returned.
        callee_saved: bit mask of registers a function must preserve.
        shadow: bytes the caller leaves free above the return address for the callee (Win64: 32).
        stack_align: alignment of the stack pointer at a call, in bytes.
        partly_saved: bit mask of registers of which only the lowest ``part_saved`` bytes survive a call (Win64: xmm6-15, 16 bytes);
            wider values must not live there across calls.
        floats_in_ints: when the float registers are used up, floats go to the next integer registers (LP64D).
        unnamed_in_ints: floats among the arguments of a variable number go to integer registers (LP64D).
        int_results, float_results: where several results are returned, each in the next register of its class; by default one of each.
        result_address: where the address of memory for a struct that is returned there goes, or -1 for the first argument's place.
        whole: an integer of 128 bits is in registers or on the stack, not in both (System V).
        grouped: parts of structs stay together, in registers or on the stack (AAPCS64).
        unextended: types of arguments and results above whose bits a register may hold anything that this machine's registers must not hold.
    """

    __slots__ = (
        "callee_saved",
        "float_args",
        "float_result",
        "float_results",
        "floats_in_ints",
        "grouped",
        "int_args",
        "int_result",
        "int_results",
        "name",
        "part_saved",
        "partly_saved",
        "result_address",
        "shadow",
        "shared_positions",
        "stack_align",
        "unextended",
        "unnamed_in_ints",
        "whole",
    )

    def __init__(
        self,
        name: str,
        int_args: tuple[int, ...],
        float_args: tuple[int, ...],
        int_result: int,
        float_result: int,
        callee_saved: int,
        shared_positions: bool = False,
        shadow: int = 0,
        stack_align: int = 16,
        partly_saved: int = 0,
        part_saved: int = 0,
        floats_in_ints: bool = False,
        unextended: frozenset[Type] = frozenset(),
        unnamed_in_ints: bool = False,
        int_results: tuple[int, ...] = (),
        float_results: tuple[int, ...] = (),
        result_address: int = -1,
        grouped: bool = False,
        whole: bool = False,
    ) -> None:
        self.whole = whole
        self.int_results = int_results or (int_result,)
        self.float_results = float_results or (float_result,)
        self.result_address = result_address
        self.grouped = grouped
        self.name = name
        self.int_args = int_args
        self.float_args = float_args
        self.int_result = int_result
        self.float_result = float_result
        self.callee_saved = callee_saved
        self.shared_positions = shared_positions
        self.shadow = shadow
        self.stack_align = stack_align
        self.partly_saved = partly_saved
        self.part_saved = part_saved
        self.floats_in_ints = floats_in_ints
        self.unextended = unextended
        self.unnamed_in_ints = unnamed_in_ints

    def assign(self, types: list[Type], named: int = -1, places: tuple[int, ...] = ()) -> list[int]:
        """Where each argument goes: a register number, or ``~offset`` (bytes above the first stack argument).

        ``named`` is how many arguments have a name, of a function that takes a variable number of them; otherwise -1. ``places``: as of a ``Callee``.
        """
        if places:
            return _Assignment(self, types, named).placed(places)
        return _Assignment(self, types, named).usual()

    def assign_for(self, callee: Callee) -> list[int]:
        """Where each argument of a call goes. The memory that several results are put into is the caller's business: its address is kept behind all else on the stack."""
        if not callee.results:
            return self.assign(callee.params, callee.named, callee.places)
        made = _Assignment(self, callee.params, callee.named)
        places = made.placed(callee.places or (USUAL,) * len(callee.params), len(callee.params) - 1)
        return [*places, ~made.kept()]

    def results(self, types: tuple[Type, ...]) -> list[int]:
        """The registers of several results. Raises ``AbiError`` for more than the convention has."""
        free = {True: list(self.float_results), False: list(self.int_results)}
        places: list[int] = []
        for type_ in types:
            registers = free[type_.is_float]
            if not registers:
                raise AbiError(f"the {self.name} convention does not return {', '.join(each.name for each in types)} in registers")
            places.append(registers.pop(0))
        return places

    def result_loads(self, types: tuple[Type, ...]) -> list[tuple[int, int]]:
        """The registers of several results with their numbers, in an order in which they are loaded from where the register for an integer points to: that one last."""
        return sorted(enumerate(self.results(types)), key=self._is_address)

    def _is_address(self, result: tuple[int, int]) -> bool:
        return result[1] == self.int_result


class _Assignment:
    """Places for the arguments of one call, in their order."""

    __slots__ = ("convention", "floats", "ints", "named", "stack", "types")

    def __init__(self, convention: Convention, types: list[Type], named: int) -> None:
        self.convention = convention
        self.types = types
        self.named = named
        self.ints = self.floats = self.stack = 0

    def usual(self) -> list[int]:
        return [self.next(position) for position in range(len(self.types))]

    def kept(self) -> int:
        """The offset of one more word on the stack."""
        return self.on_stack(8)

    def on_stack(self, align: int, size: int = 8) -> int:
        at = -(-self.stack // align) * align
        self.stack = at + size
        return at

    def is_float(self, position: int) -> bool:
        return self.types[position].is_float and not (self.convention.unnamed_in_ints and 0 <= self.named <= position)

    def next(self, position: int, step: int = 8) -> int:
        """The place of the next argument."""
        convention = self.convention
        is_float = self.is_float(position)
        registers = convention.float_args if is_float else convention.int_args
        if convention.shared_positions:
            taken = position
        elif is_float and (self.floats < len(registers) or not convention.floats_in_ints):
            taken = self.floats
            self.floats += 1
        else:
            registers = convention.int_args
            taken = self.ints
            self.ints += 1
        return registers[taken] if taken < len(registers) else ~self.on_stack(step, step)

    def even(self, unnamed: bool) -> None:
        """An integer of 128 bits comes: of those without a name in an even register and the next; on the stack at a multiple of 16 (*RISC-V ELF psABI*, "Integer Calling Convention")."""
        if unnamed:
            self.ints += self.ints & 1
        if self.ints >= len(self.convention.int_args):
            self.stack = self.stack + 15 & -16

    def placed(self, places: tuple[int, ...], count: int = -1) -> list[int]:
        """The places of the first arguments, some of which say where they are to go."""
        convention = self.convention
        made: list[int] = []
        together = halves = 0
        for position, place in enumerate(places[:count] if count >= 0 else places):
            if place in (STACK, STACK_16):
                made.append(~self.on_stack(place))
                continue
            if place == RESULT_ADDRESS and convention.result_address >= 0:
                made.append(convention.result_address)
                continue
            if place == EVEN and convention.whole and self.ints + 2 > len(convention.int_args):
                # (An integer of 128 bits; one register that is left is for what follows: System V ABI, AMD64 supplement, 3.2.3.)
                halves = 2
            if place == EVEN and convention.unnamed_in_ints:
                self.even(0 <= self.named <= position)
            if halves:
                made.append(~self.on_stack(16 if halves == 2 else 8))
                halves -= 1
                continue
            if convention.grouped and (place == EVEN or place > TOGETHER):
                together = 2 if place == EVEN else place - TOGETHER
                self.begin(position, together, place == EVEN)
            # (Floats of one struct lie on the stack as in it.)
            made.append(self.next(position, self.types[position].size if together and self.types[position].is_float else 8))
            together -= together > 0
        return made

    def begin(self, position: int, count: int, even: bool) -> None:
        """So many arguments that belong together come now: none of them in a register where not all are."""
        convention = self.convention
        if self.is_float(position):
            if self.floats + count > len(convention.float_args):
                self.floats = len(convention.float_args)
                self.stack = self.stack + 7 & -8
            return
        if even:
            self.ints += self.ints & 1
        if self.ints + count > len(convention.int_args):
            self.ints = len(convention.int_args)
            self.stack = self.stack + 15 & -16 if even else self.stack


class Use:
    """What a rule demands of one operand.

    Attributes:
        cls: register class.
        fixed: the only register it may be in, or ANY_REGISTER.
        memory: may be taken from memory (a spill slot or a constant) instead of a register.
        late: is read after the result is written, so it must not share the result's register.
    """

    __slots__ = ("cls", "fixed", "late", "memory")

    def __init__(self, cls: int, fixed: int = ANY_REGISTER, memory: bool = False, late: bool = False) -> None:
        self.cls = cls
        self.fixed = fixed
        self.memory = memory
        self.late = late


class Run:
    """A demand for consecutive registers.

    Attributes:
        first: the first of the operands that must be in registers with consecutive numbers, in their order; they have one class, and no other demands.
            Of results it is 0: the instruction's own comes first, then those of the ``part``s behind it.
        count: how many operands or results.
        align: what the lowest register's number, counted from its class's lowest, is a multiple of.
    """

    __slots__ = ("align", "count", "first")

    def __init__(self, first: int, count: int, align: int = 1) -> None:
        self.first = first
        self.count = count
        self.align = align


class Rule:
    """What a target does for one shape of instruction: operand demands for the allocator, and how to emit it.

    Attributes:
        name: for listings and errors.
        uses: one per operand register (constants included; their entry is ignored).
        result: demand on the result, or None. ``fixed`` there is where the machine leaves it.
        tied: the operand whose register the result must share (two-operand forms), -1 for none, ANY_TIED for a mere wish. The lower-late pass
            inserts the copy when allocation could not make them the same. With several equally good operands
            (``commutes``) the first is tied and may be exchanged with the second.
        commutes: operands 0 and 1 may be exchanged.
        kills: bit mask of registers whose contents the instruction destroys once its operands are read.
        clobbers: bit mask of registers it destroys before its operands are read (no operand may be there).
        overwrites: its result takes an operand's register whichever it is: an operand that lives on costs a copy.
        run: operands that must be in consecutive registers, or None.
        results: of an instruction with several results in consecutive registers, the run that they must be in, or None. ``result.fixed`` is LEFT then, here and
            in the rules of the ``part``s; nothing is tied.
        parts: of an instruction with several results, where those are that follow the first, or the run: a register, which is among ``kills``, or ~j for
            the register of operand j, which the instruction modifies in place, reads late, and which is no constant. In the rules of the ``part``s ``result.fixed`` is LEFT.
        demands: per operand, the only register it may be in, or ANY_REGISTER.
        temps: classes of scratch registers it needs, appended to its operands by the allocator.
        loads: the operands that a load of their type, used nowhere else, may become, as bits; repeats: those of them that one element may become that is repeated in every lane.
        emit: called as ``emit(assembler, function, instr)`` by the assemble pass.
        count: about how many instructions it emits.
    """

    __slots__ = (
        "clobbers",
        "commutes",
        "count",
        "demands",
        "emit",
        "kills",
        "loads",
        "name",
        "overwrites",
        "parts",
        "repeats",
        "result",
        "results",
        "run",
        "temps",
        "tied",
        "uses",
    )

    def __init__(
        self,
        name: str,
        uses: tuple[Use, ...],
        result: Use | None,
        emit: Callable[..., None],
        tied: int = -1,
        commutes: bool = False,
        kills: int = 0,
        temps: tuple[int, ...] = (),
        clobbers: int = 0,
        overwrites: bool = False,
        run: Run | None = None,
        loads: int = 0,
        repeats: int = 0,
        results: Run | None = None,
        parts: tuple[int, ...] = (),
        count: int = 1,
    ) -> None:
        self.name = name
        self.uses = uses
        self.result = result
        self.emit = emit
        self.tied = tied
        self.commutes = commutes
        self.kills = kills
        self.temps = temps
        self.clobbers = clobbers
        self.overwrites = overwrites
        self.run = run
        self.results = results
        self.parts = parts
        self.loads = loads
        self.repeats = repeats
        self.count = count
        self.demands = tuple([use.fixed for use in uses])

    def __deepcopy__(self, memo: dict[int, object]) -> Rule:
        # All instructions of one shape share it, and nothing changes it.
        return self


class Addressing:
    """The addresses that loads and stores of one kind of value can hold: a base, an index times a scale, a displacement.

    Attributes:
        scales: what an index may be multiplied by; empty: addresses have no index.
        low, high: the least and the greatest displacement; step: what it is a multiple of.
        near: displacements from ``-near`` to ``near - 1`` besides, of any number of bytes.
        both: index and displacement may stand in one address.
        moves: an access may move its pointer on by from ``-moves`` to ``moves - 1`` bytes, before or after (pre- and post-increment); 0 for never.
        moves_several: of several vectors, whose elements lie in turn, one may do so by as many bytes as it accesses, after.
        origins: what an address may begin with instead of a base, by the operation that makes it: how far from there it may be, and whether it may have an index.
    """

    __slots__ = ("_scales", "both", "high", "low", "moves", "moves_several", "near", "origins", "scales", "step")

    def __init__(
        self,
        scales: Sequence[int],
        low: int,
        high: int,
        step: int = 1,
        near: int = 0,
        both: bool = True,
        moves: int = 0,
        moves_several: bool = False,
        origins: Mapping[Op, tuple[int, bool]] | None = None,
    ) -> None:
        self.origins: dict[Op, tuple[int, bool]] = dict(origins) if origins is not None else {}
        self.scales = tuple(scales)
        self.low = low
        self.high = high
        self.step = step
        self.near = near
        self.both = both
        self.moves = moves
        self.moves_several = moves_several
        #: ``scales`` as bits.
        self._scales = sum(1 << scale for scale in set(scales))

    def displaces(self, disp: int) -> bool:
        """Whether an address without an index has room for a displacement."""
        return (self.low <= disp <= self.high and disp % self.step == 0) or -self.near <= disp < self.near

    def indexes(self, scale: int, disp: int) -> bool:
        """Whether an address with such a displacement has room for an index times ``scale``."""
        return 0 < scale < 64 and self._scales >> scale & 1 == 1 and (disp == 0 or self.both)

    def begins(self, origin: Op, disp: int, indexed: bool) -> bool:
        """Whether an address may begin with what an operation makes, that far from there, instead of with a base."""
        known = self.origins.get(origin)
        return known is not None and -known[0] <= disp < known[0] and (known[1] or not indexed)

    def advances(self, by: int) -> bool:
        """Whether an access may move its pointer on by a number of bytes."""
        return -self.moves <= by < self.moves

    def advances_several(self, by: int, size: int) -> bool:
        """Whether an access of several vectors, ``size`` bytes together, may do so."""
        return self.moves_several and by == size


class Unrolling:
    """How many steps of a loop over lanes to do at once, where the user does not say: pairs of the most work in the body, in instructions, and the steps.

    Attributes:
        elementwise: enough that counting and branching are a small part of the work; more only grows the code.
        stencil: of bodies with several loads, which are mostly neighbours: with four steps they can be made from one another.
        reduction: each step's accumulator waits for the one before, so independent copies must cover the latency of the operation.
    """

    __slots__ = ("elementwise", "reduction", "stencil")

    def __init__(self, elementwise: Sequence[tuple[int, int]], stencil: Sequence[tuple[int, int]], reduction: Sequence[tuple[int, int]]) -> None:
        self.elementwise = tuple(elementwise)
        self.stencil = tuple(stencil)
        self.reduction = tuple(reduction)


class MachineCode:
    """The output of a target's encoder.

    Attributes:
        data: the bytes, constants included.
        code_size: bytes of instructions; the constant pool follows.
        instructions: each as the encoder had it, for ``Target.listing``; None where they are not kept.
        relocations: (offset, kind, symbol) left for the linker: calls between functions, addresses of functions and globals. Where the machine has whole fields for
            them, what is in the field is added.
        align: alignment the start needs, in bytes.
    """

    __slots__ = ("align", "code_size", "data", "instructions", "relocations")

    def __init__(self, data: bytes, code_size: int, instructions: Any, relocations: list[tuple[int, str, str]], align: int = 64) -> None:
        self.data = data
        self.code_size = code_size
        self.instructions = instructions
        self.relocations = relocations
        self.align = align


def widens(type_: Type, source: Type) -> bool:
    """Whether a conversion only makes a narrow integer one of up to 32 bits, as which machines keep it anyway: extended by its own sign."""
    return source.is_narrow and source.bits < type_.bits <= 32 and type_.is_integer and not type_.lanes and (type_.signed or not source.signed)


@mypyc_attr(allow_interpreted_subclasses=True)
class Target:
    """A machine with a vector width, CPU features and a calling convention; see ``targets/registry.py`` for the names.

    Each machine's folder substitutes the methods that raise here.

    Attributes:
        name: e.g. ``x86-64-v3``.
        family: of the machine, where the name, which is the user's own, does not begin with it.
        description: what the user has described it by, where that is no name.
        vector_bits: width of a vector register; 0 means that loops over lanes become scalar loops.
        features: CPU features the generated code may use (names as in Linux's /proc/cpuinfo for x86).
        convention: the calling convention.
        registers: the physical registers by number; none on a machine without a register file, whose passes do not allocate.
        classes: the register classes; given none, there is one that holds every type in no registers, for those who ask how many there are.
        orders: their allocation orders, as numbers; order_masks: as bit masks. class_masks: all of a class's registers as one bit mask.
        class_of_register: by a register's number, that of its class.
        caller_saved: bit mask of what a call destroys.
        stream_bits: width for reductions over one array, and for loops that load and store more than they compute, where memory is all that counts, and for rows that load
            what the row before has stored; 0 for ``vector_bits``.
        unrolling: how many steps of loops over lanes to do at once.
        masked_bits: narrower lanes have no accesses under a mask of their own: as little as can be is done under one.
        dear_masks: stores under a mask take many times as long as others, so that what is put next to each other is collected first, and totals under one a choice more in each step.
        aligned_lines: vectors of a cache line that lie across two take twice the time, so that loops over them begin where an array's elements begin a line.
        masks_hold_loads: loads from where a store under a mask might have written wait until what it has written is in the cache.
        stores_low_bits: a scalar integer is stored from the low bits of a register that holds a wider one.
        slow_gathers: look-ups take longer than as many loads, one by one.
        scalar_remainders: what is left of a loop over lanes is done index by index, where masked accesses cost as much as that; otherwise under a mask.
        fused: a product and a sum of floats are one operation, where a function allows one rounding for both.
        half_operations: the operations, by code, that it does on f16 itself, scalars and lanes, with all conversions from and to f16 among them; none where f16 is kept as its
            bits, and computed with as f32.
        core: what the core it compiles for can do at once, for the rewriting of loop nests; None: they stay as they are.
        jumps_to_calls: it has rules for calls that leave the function.
        frame_pointer: the register that points to such frames, or -1.
        expanded: the operations, by code, that the pass ``expand`` asks ``expand`` about.
        known_operations: what has been found of operations on lanes (``nests/analysis/operations.py``).
    """

    name: str = ""
    family: str = ""
    description: Description | None = None
    vector_bits: int = 0
    stream_bits: int = 0
    masked_bits: int = 0
    dear_masks: bool = False
    masks_hold_loads: bool = False
    aligned_lines: bool = False
    frame_pointer: int = -1
    jumps_to_calls: bool = False
    fused: bool = True

    def __init__(self, convention: Convention, registers: list[Register], classes: Sequence[RegisterClass], features: frozenset[str]) -> None:
        self.convention = convention
        self.registers = registers
        self.classes = tuple(classes) if classes else (RegisterClass("none", (), anything),)
        self.orders = [each.order for each in self.classes]
        self.features = features
        self.expanded: frozenset[int] = frozenset()
        self.half_operations: frozenset[int] = frozenset()
        self.unrolling = Unrolling((), (), ())
        self.slow_gathers = False
        self.scalar_remainders = False
        self.stores_low_bits = False
        self.order_masks: list[list[int]] = [[1 << r for r in order] for order in self.orders]
        self.class_of_register: list[int] = [register.cls for register in registers]
        self.core: Core | None = None
        self.known_operations: dict[tuple[int, int, int, int | None], tuple[int, int]] = {}
        self.class_masks: list[int] = []
        for order in self.orders:
            mask = 0
            for r in order:
                mask |= 1 << r
            self.class_masks.append(mask)
        everything = 0
        for mask in self.class_masks:
            everything |= mask
        self.caller_saved = everything & ~convention.callee_saved
        self._class_of: list[int] = []

    def framed(self) -> Target:
        """The same target without the register that points to the frame of functions that move their stack pointer: what those are allocated for.

        Raises ``UnsupportedOperationError`` where it has no way to do so.
        """
        raise UnsupportedOperationError(f"memory of the stack of a size known at run time (alloca) is not available on {self.name}")

    def class_of(self, type_: Type) -> int:
        """The register class that holds a type."""
        table = self._class_of
        n = type_.number
        while len(table) <= n:
            table.append(-1)
        known = table[n]
        if known < 0:
            # (What no class holds is refused where rules are chosen.)
            known = next((number for number, each in enumerate(self.classes) if each.holds(type_)), len(self.classes) - 1)
            table[n] = known
        return known

    def register_bits(self, type_: Type) -> int:
        """Bits of a register that a value of a type takes up."""
        if type_.is_mask and self.classes[self.class_of(type_)].bit_per_lane:
            return type_.lanes
        if type_.is_narrow:
            # They are kept extended to 32 bits, as which they may be read (``widens``).
            return 32
        return type_.bits * max(type_.lanes, 1)

    def lanes(self, widest_bits: int) -> int:
        """Lanes of a loop whose widest element type has ``widest_bits``; 0 for a scalar target."""
        return self.vector_bits // widest_bits

    def spill_size(self, type_: Type) -> int:
        """Bytes of a spill slot for a type."""
        return max(self.classes[self.class_of(type_)].slot, self.register_bits(type_) // 8)

    # --- asked by the compiler ----------------------------------------------------------------------------

    def passes(self) -> tuple[Pass, ...]:
        """The passes that compile for this machine, in order."""
        raise NotImplementedError

    # --- asked by the passes ------------------------------------------------------------------------------

    def immediate(self, instr: Instr, position: int, type_: Type, value: int | float | bool) -> bool:
        """Whether the constant at ``position`` of ``instr`` can stay inside the instruction."""
        raise NotImplementedError

    def constant_from_memory(self, instr: Instr, position: int) -> bool:
        """Whether the constant at ``position`` of ``instr`` could be its memory operand, at no cost worth a register."""
        return False

    def addressing(self, type_: Type) -> Addressing:
        """The addresses that accesses to values of a type can hold."""
        raise NotImplementedError

    def expand(self, function: Function, instr: Instr, emit: Callable[[Instr], None], late: bool) -> bool:
        """Replace an operation without a direct counterpart by a sequence (through ``emit``); False when it has one.

        Asked twice. Before code is simplified (``late`` is False): sequences of straight-line code, well typed, whose constants and common
        parts the passes share, fold, and move out of loops. When instructions are selected (``late`` is True): what the passes between have
        made, and sequences with branches, which until then are shared and moved as the one operation they are. ``emit`` expands what it is
        given in turn.

        Raises ``UnsupportedOperationError`` for an operation this target lacks for the type.
        """
        return False

    def divide_both(self, function: Function, quotient: Instr, remainder: Instr, emit: Callable[[Instr], None]) -> bool:
        """Replace a quotient and a remainder of the same integers of 32 bits or more, which are not known, by one sequence; False where two are as cheap."""
        return False

    def rule(self, function: Function, instr: Instr) -> Rule:
        """The rule that will emit ``instr``. Raises ``UnsupportedOperationError`` when there is none."""
        raise NotImplementedError

    def fold_memory(self, function: Function, instr: Instr, position: int, repeated: bool = False) -> bool:
        """Whether the operand at ``position`` of ``instr``, a load used once, or with ``repeated`` one of an element that every lane has, could be its memory operand (it becomes the last)."""
        return False

    def same_register(self, type_: Type, source: Type, zeros: bool) -> bool:
        """Whether a conversion leaves its operand's register as it is.

        Args:
            type_, source: the types, of which one may be no integer.
            zeros: the operand, of 32 bits, has been made by instructions on as many; so machines that put zeros above what such an instruction makes have them there.
        """
        return type_.is_word and source.is_word

    def tests_bits(self, type_: Type) -> bool:
        """Whether a branch, or a choice, can ask whether two integers have bits in common (``ops.TESTS``)."""
        return False

    def adds_scaled(self, type_: Type) -> bool:
        """Whether a sum of a scalar integer and twice, four or eight times another is one operation (``ops.ADD_SCALED``), and multiples of 3, 5 and 9 are quick."""
        return False

    def tests_masks(self, type_: Type) -> bool:
        """Whether a branch can ask how two masks of a type stand to each other (``ops.MASK_TESTS``)."""
        return False

    def updates(self, op: Op, type_: Type) -> bool:
        """Whether an operation on a type can have what is in memory as its first operand, and leave its result there (``ops.IN_PLACE``)."""
        return False

    def chooses_by(self, source: Type, type_: Type) -> bool:
        """Whether a comparison of ``source`` and a choice between two of ``type_`` by it are one operation (``select_lt`` and so on)."""
        return False

    def chooses_by_floats(self, source: Type, type_: Type) -> bool:
        """The same of a comparison of scalar floats that says which is greater: ``select_lt``, ``select_nlt`` and so on, but not ``select_eq`` and ``select_ne``."""
        return False

    def chooses_by_bool(self, type_: Type) -> bool:
        """Whether ``select`` takes one of two scalars of a type by a truth value without a branch."""
        return self.chooses_by(I64, type_)

    def scalars_as_lanes(self, type_: Type) -> Type | None:
        """The vector type in whose lanes scalar integers of a type had better be where a loop waits for minima and maxima of them; None where they stay as they are."""
        return None

    def jump_tables(self) -> bool:
        """Whether it jumps by tables (``jump_table``)."""
        return False

    def looks_up(self, type_: Type, source: Type) -> bool:
        """Whether the elements of a vector are gathered from anywhere in memory, at offsets of another type, about as quickly as a scalar loop loads them."""
        return False

    def gathers_singly(self, instr: Instr) -> bool:
        """Whether the elements of a ``gather_at`` without a mask are quicker loaded one by one (``gather_singly``), for which their offsets may be in memory."""
        return False

    def packs(self, type_: Type, source: Type) -> bool:
        """Whether lanes of integers that fit a narrower type are quicker converted by ``convert_saturated``, from the signed type of their width, than by ``convert``."""
        return False

    def interleaves(self, type_: Type, count: int) -> bool:
        """Whether it deals elements in turn out to so many vectors of a type, 2 to 8, and stores them so, by whole loads and stores."""
        return False

    def stores_some(self, type_: Type) -> bool:
        """Whether, of elements in turn of a type, it stores some alone by whole stores (``ops.STORE_SOME``), which do not touch the others."""
        return False

    def shifts_elements(self, type_: Type) -> bool:
        """Whether elements in turn of a type are quicker shifted out of wider integers than dealt out and widened, and shifted into such than cut off and stored in turn."""
        return False

    def repeated_loads(self, type_: Type) -> int:
        """How many multiply-adds had better read the same vector from memory, each for itself, than from a register loaded for them."""
        return 1

    def counts_where(self, type_: Type) -> bool:
        """Whether adding one to integer lanes where a mask holds is one instruction (``count_where``): where masks are -1 in lanes that hold, taking them away."""
        return False

    def works_under_masks(self, op: Op, type_: Type) -> bool:
        """Whether an operation on lanes of a type is one instruction in those where a mask holds, which leaves the others as another operand has them (``ops.WHERE``)."""
        return False

    def combines_bits(self) -> bool:
        """Whether two bitwise operations of integer lanes are one instruction (``ops.BITWISE_TWICE``)."""
        return False

    def estimates_roots(self, type_: Type) -> bool:
        """Whether what ``fastmath`` divides by a root of floats of a type is quicker multiplied with an estimate of 1 / root that is refined (``rsqrt``)."""
        return False

    def slides(self, type_: Type) -> bool:
        """Whether ``slide`` on a vector type is one cheap instruction, worth more than a load."""
        return False

    # --- asked by assemble and encode ---------------------------------------------------------------------

    def assembler(self, function: Function) -> Any:
        """A fresh assembler; rules emit into it, and its ``encode() -> MachineCode`` ends the work."""
        raise NotImplementedError

    def prologue(self, assembler: Any, function: Function, frame: Frame) -> None:
        """Emit the function's entry."""
        raise NotImplementedError

    def epilogue(self, assembler: Any, function: Function, frame: Frame) -> None:
        """Emit what precedes a return."""
        raise NotImplementedError

    def call_symbol(self, callee: Callee) -> str:
        """The symbol a linker looks for."""
        return callee.name

    # --- asked by whoever loads or lists the code ---------------------------------------------------------

    def listing(self, machine: MachineCode) -> list[tuple[int, bytes, str, int]]:
        """(offset, bytes, text, user's line) of each instruction, in order."""
        raise NotImplementedError

    def relocate(self, data: bytearray, offset: int, kind: str, distance: int, place: int = 0) -> None:
        """Make the place at ``offset``, a relocation of ``kind``, refer to ``offset + distance``; ``place`` is the address that ``offset`` will have.

        Raises ``TargetError`` when that is too far.
        """
        raise NotImplementedError
