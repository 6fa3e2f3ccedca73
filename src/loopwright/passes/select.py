"""The ``select`` pass: every instruction gets its target's rule.

On the way comparisons move into the branches and choices they decide, loads used once become memory operands, operations without a direct counterpart become short sequences,
and stack arguments of calls are stored.
"""

from __future__ import annotations

from typing import Final

from loopwright.errors import InternalError
from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Mem
from loopwright.ir.stages import STAGES
from loopwright.passes import advances, origins, results
from loopwright.passes.divisions import DIVISIONS, QUOTIENTS, partner
from loopwright.passes.packed import Packed
from loopwright.passes.shared_registers import Sharing
from loopwright.targets.steps import Emit
from loopwright.targets.target import Target
from loopwright.types import BOOL, I32, I64, PTR, U8, VOID, Type, same_lanes

_SELECT: Final = STAGES.index("select")
#: So many branches and choices may have a comparison each for itself.
_SHARED: Final = 4
#: So many vectors may have a number repeated in all lanes, loaded for each.
_REPEATED: Final = 4
_NO_PARTS: Final[list[int]] = []
_GONE: Final = Instr(ops.END, VOID, NONE, [])
#: By code: divisions; operations that may become part of what reads their results.
_DIVIDES: Final[list[bool]] = [op in DIVISIONS for op in ops.OPS]
_JOINS: Final[list[bool]] = [op in ops.IN_PLACE for op in ops.OPS]
_WHERE: Final[list[ops.Op | None]] = [ops.WHERE.get(op) for op in ops.OPS]
#: So many instructions may stand between an operation and the choice that it becomes part of: what it reads stays in registers so long.
_NEAR: Final = 12
#: What a branch may ask itself, and a choice may not.
_QUESTIONS: Final = frozenset((ops.NOT, ops.ANY, ops.ALL))
_BITWISE: Final = frozenset((ops.AND, ops.OR, ops.XOR, ops.ANDNOT))


class Selection:
    """One run of the pass."""

    def __init__(self, f: Function, target: Target) -> None:
        self.f = f
        self.target = target
        self.code = f.code
        self.out: list[Instr] = []
        self.position = 0
        self.known = len(f.types)
        uses = [0] * self.known
        # What variables take over, with the variables.
        self.taken: set[tuple[int, int]] = set()
        # Of those, by fused multiply-adds, or, of scalars, by what repeats them in all lanes.
        fused_uses = [0] * self.known
        for instr in f.code:
            fused = (instr.op is ops.FMA and instr.type.lanes > 0) or instr.op is ops.SPLAT
            if instr.op is ops.COPY and f.variable[instr.dst] and instr.args[0] >= 0:
                self.taken.add((instr.args[0], instr.dst))
            for a in instr.args:
                if a >= 0:
                    uses[a] = uses[a] + 1
                    if fused:
                        fused_uses[a] = fused_uses[a] + 1
        self.uses = uses
        self.fused_uses = fused_uses
        # Straight-line stretches: a comparison may move into a branch, and a load into its use, only inside one.
        self.stretch = 0
        # Of comparisons: which run of code without branches they are in, and where; and where variables were written last.
        self.region = 0
        self.compare_place: dict[int, tuple[int, int]] = {}
        self.written: dict[int, int] = {}
        self.memory = 0
        # The state of memory and of what addresses are computed by, as far as loads are concerned.
        self.loaded = 0
        self.compare_at: dict[int, int] = {}
        self.compare_stretch: dict[int, int] = {}
        self.compare_memory: dict[int, int] = {}
        # Comparisons that several branches and choices have: each makes its own.
        self.shared: set[int] = set()
        # Registers that are others under another type: what a conversion between integers of one size makes.
        self.alias: dict[int, int] = {}
        self.shares: Sharing | None = None
        self.load_at: dict[int, int] = {}
        # The arrays that have been stored to, NONE for any; a load has found what as many of them left.
        self.stored_to: list[int] = []
        self.load_stretch: dict[int, tuple[int, int]] = {}
        # Bitwise operations of lanes that may become part of another.
        self.combines: bool = target.combines_bits()
        self.bits_at: dict[int, int] = {}
        # Where what may become part of a store was made, and the state of memory then.
        self.made_at: dict[int, tuple[int, int]] = {}
        # Sums of lanes that a choice may become one operation with.
        self.sums: dict[int, tuple[int, int]] = {}
        # What conversions of lanes may come to, once somebody asks.
        self.packed: Packed | None = None
        # Registers that nothing but stores reads, once somebody asks.
        self.only_stored: set[int] | None = None
        # Registers that are 0.
        self.zeros: set[int] = set()
        # Multiples of scalar integers that may become part of a sum: where they were made, and the stretch.
        self.scaled_at: dict[int, tuple[int, int]] = {}
        # Operations of lanes that a choice may take under its mask: where in the code made, and where in that given; the state of control flow and of memory then.
        self.worked_at: dict[int, tuple[int, int, int, int]] = {}
        # Quotients and remainders that have been made with their partners, by position.
        self.divided: set[int] = set()
        # Loads of which each takes one of several vectors: the registers of all, and when they were loaded.
        self.parts: dict[tuple[int, ...], tuple[list[int], int, int]] = {}

    def run(self) -> None:
        self.receive()
        code = self.code
        make = self.make
        for k in range(len(code)):
            self.position = k
            self.step(code[k], make)
        self.f.code = [instr for instr in self.out if instr is not _GONE]

    def receive(self) -> None:
        """Take the parameters that arrive with anything above their bits as wider integers, and cut them to their types."""
        f = self.f
        unextended = self.target.convention.unextended
        if not unextended:
            return
        for n in range(len(f.params)):
            p = f.params[n]
            type_ = f.types[p]
            if type_ not in unextended or not self.uses[p]:
                continue
            wide = I32 if type_.bits < 32 else I64
            given = f.register(wide, f.names[p])
            f.params[n] = given
            if type_ is BOOL:
                byte = f.register(U8)
                self.make(Instr(ops.CONVERT, U8, byte, [given], source=wide))
                self.make(Instr(ops.CONVERT, BOOL, p, [byte], source=U8))
            else:
                self.make(Instr(ops.CONVERT, type_, p, [given], source=wide))

    # --- emitting -----------------------------------------------------------------------------------------

    def emit(self, instr: Instr) -> None:
        """Append an instruction the target has a rule for."""
        instr.rule = self.target.rule(self.f, instr)
        self.out.append(instr)

    def make(self, instr: Instr) -> None:
        """Append an operation of a sequence, or what the target puts in its place, constants where it has room for them."""
        if self.target.expand(self.f, instr, self.make, True):
            return
        args = instr.args
        for position in range(len(args)):
            a = args[position]
            if a < 0 and not self.target.immediate(instr, position, self.f.const_types[~a], self.f.const_values[~a]):
                if args is instr.args:
                    args = list(args)
                args[position] = self.materialise(a, instr.line)
        instr.args = args
        if instr.op.effect == ops.CONTROL and not instr.op.compare and instr.op is not ops.IF and instr.op is not ops.BR_IF:
            self.out.append(instr)
        else:
            self.emit(instr)

    # --- the walk -----------------------------------------------------------------------------------------

    def step(self, instr: Instr, make: Emit) -> None:
        """Select one instruction; ``make`` is the method of that name."""
        op = instr.op
        alias = self.alias
        if alias:
            for a in instr.args:
                if a in alias:
                    instr.args = [alias.get(a, a) for a in instr.args]
                    break
        if op.effect == ops.CONTROL:
            self.control(instr)
            return
        dst = instr.dst
        if (op is ops.CONVERT or op is ops.BITCAST) and self.same(instr):
            return
        if op is ops.COPY and instr.args[0] < 0 and instr.type.is_integer and not self.f.variable[dst] and self.f.const_values[~instr.args[0]] == 0:
            self.zeros.add(dst)
        if op.parts > 1 and op.until <= _SELECT:
            self.load_part(instr)
            return
        if op.effect == ops.CALLS:
            self.call(instr)
        elif _DIVIDES[op.code] and self.divide(instr):
            pass
        else:
            if op is ops.SELECT:
                instr = self.choose(instr)
            elif op is ops.MAX or op is ops.MIN:
                instr = self.by_sign(instr)
            elif op is ops.GATHER_AT:
                instr = self.gather(instr)
            elif op is ops.CONVERT and instr.type.lanes and self.target.packs(instr.type, instr.source):
                if self.packed is None:
                    self.packed = Packed(self.f)
                instr = self.packed.saturated(instr)
            elif self.combines and op in _BITWISE and instr.type.lanes and instr.type.is_integer:
                self.combine(instr)
            elif op is ops.AND and instr.type.is_mask:
                instr = self.compare_where(instr)
            elif op is ops.ADD and self.scaled_at and instr.type.is_integer:
                instr = self.add_scaled(instr)
            if not self.target.expand(self.f, instr, make, True):
                if op is ops.STORE_AT:
                    if self.made_at:
                        instr = self.update(instr)
                elif self.load_at and not (dst >= 0 and self.may_share(instr)):
                    self.fold(instr)
                self.emit(instr)
                if dst >= 0 and dst < self.known and (self.uses[dst] == 1 or self.may_repeat(instr) or self.may_share(instr)) and not self.f.variable[dst]:
                    if op is ops.LOAD_AT or (op is ops.SPLAT and instr.mem is not None):
                        self.load_at[dst] = len(self.out) - 1
                        self.load_stretch[dst] = self.loaded, len(self.stored_to)
                    elif op.result == "M" or op in _QUESTIONS:
                        if self.uses[dst] > 1:
                            self.shared.add(dst)
                            for a in instr.args:
                                # (What is compared several times is read by as many.)
                                self.load_at.pop(a, None)
                        self.compare_at[dst] = len(self.out) - 1
                        self.compare_place[dst] = (self.region, self.position)
                        self.compare_memory[dst] = self.memory
                    elif _JOINS[op.code]:
                        self.note(instr)
                    elif (op is ops.SHL or op is ops.MUL) and instr.args[1] < 0 and instr.mem is None and self.target.adds_scaled(instr.type):
                        self.scaled_at[dst] = (len(self.out) - 1, self.stretch)
                    if (
                        instr.type.lanes
                        and _WHERE[instr.op.code] is not None
                        and instr.op.result == "T"
                        and self.target.works_under_masks(instr.op, instr.type)
                    ):
                        self.worked_at[dst] = (len(self.out) - 1, self.position, self.region, self.memory)
            if op.effect == ops.WRITES:
                self.memory += 1
                self.stored_to.append(NONE if instr.mem is None else instr.mem.array)
        if dst >= 0 and self.f.variable[dst]:
            self.write(dst)

    def gather(self, instr: Instr) -> Instr:
        """A gather of all lanes as loads of one element each, where these are quicker; else the gather."""
        mask, offsets, *place = instr.args
        mem = instr.mem
        assert mem is not None
        if mask >= 0 or not self.f.const_values[~mask] or not self.target.gathers_singly(instr):
            return instr
        base = place[0]
        if mem.indexed or mem.disp:
            base = self.f.register(PTR)
            self.make(Instr(ops.ADDRESS, PTR, base, place, 0, instr.line, VOID, Mem(mem.indexed, mem.scale, mem.disp, 0)))
        return Instr(ops.GATHER_SINGLY, instr.type, instr.dst, [offsets, base], instr.imm, instr.line, instr.source)

    def by_sign(self, instr: Instr) -> Instr:
        """The greater or the less of an integer and 0 as a choice by the integer's sign, which what has made it may have left in the flags; else the operation."""
        type_ = instr.type
        a, b = instr.args
        if type_.lanes or not type_.is_integer or not type_.signed or type_.bits < 32 or not self.target.chooses_by(type_, type_):
            return instr
        if a in self.zeros:
            a, b = b, a
        if b not in self.zeros or a < 0:
            return instr
        compare = "ge" if instr.op is ops.MAX else "lt"
        return Instr(ops.SELECT_CMP[compare], type_, instr.dst, [a, self.f.const(type_, 0), a, b], 0, instr.line, type_)

    def write(self, variable: int) -> None:
        """A variable gets another value here."""
        self.written[variable] = self.position
        self.stretch += 1
        self.memory += 1
        type_ = self.f.types[variable]
        if not type_.lanes and not type_.is_float:
            # (No address is computed by others.)
            self.loaded += 1

    def still(self, loaded: int) -> bool:
        """Whether a load would find here what it has found where it is."""
        stretch, stores = self.load_stretch[loaded]
        if stretch != self.loaded:
            return False
        if stores == len(self.stored_to):
            return True
        memory = self.out[self.load_at[loaded]].mem
        array = NONE if memory is None else memory.array
        return array != NONE and all(other != NONE and other != array and self.f.never_meet(array, other) for other in self.stored_to[stores:])

    def memory_changes(self) -> None:
        """What has been loaded, or compared with memory, is not to be looked up again further down."""
        self.memory += 1
        self.loaded += 1

    def part_ways(self) -> None:
        """Control may go elsewhere, or come from there."""
        self.region += 1
        self.stretch += 1
        self.memory_changes()

    def holds(self, c: int, compare: Instr) -> bool:
        """Whether a comparison would give here what it has given."""
        region, position = self.compare_place[c]
        same = region == self.region
        for a in compare.args:
            if a >= 0 and self.f.variable[a] and self.written.get(a, -1) > position:
                same = False
        return same

    def note(self, instr: Instr) -> None:
        """Keep where an operation on integers is, which one other instruction reads, and may become part of that."""
        op, type_, dst, at = instr.op, instr.type, instr.dst, len(self.out) - 1
        if type_.lanes:
            if op is ops.ADD and type_.is_integer:
                self.sums[dst] = (at, self.stretch)
            elif op is ops.AND and type_.is_mask and self.target.tests_masks(type_):
                self.bits_at[dst] = at
                self.compare_stretch[dst] = self.stretch
            return
        if op is ops.AND:
            self.bits_at[dst] = at
            self.compare_stretch[dst] = self.stretch
            self.compare_memory[dst] = self.memory
        if (instr.mem is not None or self.load_at) and self.target.updates(op, type_):
            self.made_at[dst] = (at, self.memory)

    def divide(self, instr: Instr) -> bool:
        """A division whose quotient and remainder are both wanted, where the target makes them together; False for any other."""
        if self.position in self.divided:
            return True
        type_ = instr.type
        if type_.lanes or not type_.is_integer or type_.bits < 32 or instr.args[1] < 0:
            return False
        at = partner(self.code, self.position, self.alias)
        if at < 0:
            return False
        other = self.code[at]
        other.args = list(instr.args)
        quotient, remainder = (instr, other) if instr.op in QUOTIENTS else (other, instr)
        if not self.target.divide_both(self.f, quotient, remainder, self.make):
            return False
        self.divided.add(at)
        if self.f.variable[other.dst]:
            self.write(other.dst)
        return True

    def same(self, instr: Instr) -> bool:
        """Whether a conversion changes nothing but the type, and its result needs no register of its own."""
        a = instr.args[0]
        if a < 0 or self.f.variable[instr.dst]:
            return False
        if instr.type.lanes:
            if instr.op is not ops.BITCAST or not same_lanes(instr.type, instr.source):
                return False
        elif (
            instr.op is ops.BITCAST
            or instr.type.is_float
            or instr.source.is_float
            or not (
                self.target.same_register(instr.type, instr.source, a < self.known and self.sharing().zeros[a])
                or (self.target.stores_low_bits and instr.type.is_integer and instr.type.bits < min(32, instr.source.bits) and instr.dst in self.stored())
            )
        ):
            return False
        if self.f.variable[a] and not self.sharing().unchanged(a, instr.dst, self.position):
            return False
        counted = instr.dst < self.known and a < self.known
        if counted:
            self.uses[a] += self.uses[instr.dst] - 1
            self.fused_uses[a] += self.fused_uses[instr.dst]
        self.alias[instr.dst] = a
        if not counted or self.uses[a] > 1:
            # What would become part of its one reader may have several now.
            self.bits_at.pop(a, None)
            self.made_at.pop(a, None)
            self.scaled_at.pop(a, None)
            if instr.type.lanes:
                self.load_at.pop(a, None)
                self.sums.pop(a, None)
        if instr.type.lanes:
            self.worked_at.pop(a, None)
        if instr.type.bits != instr.source.bits:
            # In memory it is narrower, and a multiple of what it is a multiple of is not cut off.
            self.load_at.pop(a, None)
            self.scaled_at.pop(a, None)
        return True

    def stored(self) -> set[int]:
        """The registers that are stored, and read by nothing else: nobody asks for what is above their types' bits."""
        if self.only_stored is None:
            found: set[int] = set()
            others: set[int] = set()
            for instr in self.f.code:
                value = instr.op is ops.STORE_AT
                for position, a in enumerate(instr.args):
                    (found if value and position == 0 else others).add(a)
            self.only_stored = found - others
        return self.only_stored

    def load_part(self, instr: Instr) -> None:
        """One of several vectors whose elements lie in turn: the first load of one loads them all."""
        f = self.f
        mem = instr.mem
        assert mem is not None
        count = instr.op.parts
        key = (count, instr.type.number, *instr.args, mem.indexed, mem.scale, mem.disp)
        made, stretch, memory = self.parts.get(key, (_NO_PARTS, -1, -1))
        if stretch != self.stretch or memory != self.memory:
            made = [f.register(instr.type) for _ in range(count)]
            size = instr.type.size * count
            address = Mem(mem.indexed, mem.scale, mem.disp, size, False, -1, mem.array)
            self.emit(Instr(ops.LOAD_PARTS[count], instr.type, made[0], instr.args, 0, instr.line, VOID, address))
            for n in range(1, count):
                self.emit(Instr(ops.PART, instr.type, made[n], [], n, instr.line))
            self.parts[key] = (made, self.stretch, self.memory)
        if f.variable[instr.dst]:
            self.emit(Instr(ops.COPY, instr.type, instr.dst, [made[instr.imm]], 0, instr.line))
            self.write(instr.dst)
        else:
            self.alias[instr.dst] = made[instr.imm]

    def sharing(self) -> Sharing:
        """What is known of registers that conversions may share, found out with the first that is asked about."""
        known = self.shares
        if known is None:
            known = self.shares = Sharing(self.f)
        return known

    def may_repeat(self, instr: Instr) -> bool:
        """Whether an instruction is a load that only multiply-adds read, or what repeats it in all lanes, few enough to read memory each for itself."""
        uses = self.uses[instr.dst]
        if instr.op is not ops.LOAD_AT or uses != self.fused_uses[instr.dst]:
            return False
        return uses <= (self.target.repeated_loads(instr.type) if instr.type.lanes else _REPEATED)

    def may_share(self, instr: Instr) -> bool:
        """Whether it is a comparison of scalars that a few branches or choices may have each for itself: flags are cheaper made again than kept as a number."""
        dst = instr.dst
        return (
            instr.op.result == "M"
            and dst < self.known
            and 1 < self.uses[dst] <= _SHARED
            and not instr.type.lanes
            and (
                self.target.chooses_by(instr.type, instr.type)
                if instr.type.is_integer
                else instr.type.is_float and self.target.chooses_by_floats(instr.type, I64)
            )
        )

    def fold(self, instr: Instr) -> None:
        """Make a load, or one of an element that is repeated in every lane, the memory operand of an instruction that reads it: the only one, or one of few."""
        if instr.mem is not None:
            return
        args = instr.args
        for position in range(len(args) - 1, -1, -1):
            a = args[position]
            at = self.load_at.get(a, -1)
            if at < 0 or args.count(a) > 1 or not self.still(a):
                # (What is read twice by one instruction is loaded once.)
                continue
            load = self.out[at]
            repeated = load.op is ops.SPLAT
            if repeated and load.type.bits != instr.type.bits:
                continue
            if self.target.fold_memory(self.f, instr, position, repeated):
                self.uses[a] -= 1
                if not self.uses[a]:
                    self.out[at] = _GONE
                instr.args = args[:position] + args[position + 1 :] + load.args
                memory = load.mem
                assert memory is not None
                if position == 0 and instr.op.commutes:
                    # What is left becomes the first operand.
                    position = 1
                if repeated or position != len(args) - 1:
                    memory = Mem(memory.indexed, memory.scale, memory.disp, memory.size, repeated, position, memory.array)
                instr.mem = memory
                if not self.uses[a]:
                    del self.load_at[a]
                return

    def update(self, store: Instr) -> Instr:
        """A store of what an operation has made of the value in the same place: the operation in memory, where the target has that; else the store."""
        value = store.args[0]
        at, memory = self.made_at.get(value, (-1, -1))
        if at < 0 or memory != self.memory or self.f.variable[value]:
            return store
        made = self.out[at]
        where = store.args[1:]
        if made.mem is not None:
            given = len(made.args) - len(where)
            if given != 1 or made.args[1:] != where or not _same_place(made.mem, store.mem) or not (made.op.commutes or made.mem.role == 0):
                return store
            other = made.args[0]
        else:
            loaded = [self.load_at.get(a, -1) if a in self.load_at and self.still(a) and self.uses[a] == 1 else -1 for a in made.args]
            position = 0 if loaded[0] >= 0 else 1
            if loaded[position] < 0 or (position == 1 and not made.op.commutes):
                return store
            load = self.out[loaded[position]]
            if load.type is not store.type or load.args != where or not _same_place(load.mem, store.mem):
                return store
            other = made.args[1 - position]
            self.out[loaded[position]] = _GONE
        self.out[at] = _GONE
        return Instr(ops.IN_PLACE[made.op], store.type, NONE, [other, *where], 0, store.line, VOID, store.mem)

    def call(self, instr: Instr) -> None:
        if instr.op is ops.ALLOCA or instr.op in ops.BARRIERS:
            self.emit(instr)
            self.memory_changes()
            self.stretch += 1
            return
        f = self.f
        callee = f.callees[instr.imm]
        convention = self.target.convention
        places = convention.assign_for(callee)
        first = int(instr.op in ops.INDIRECT)
        kept: list[int] = instr.args[:first]
        for position in range(len(places)):
            given = instr.args[first + position]
            if places[position] < 0:
                store = Instr(ops.STORE_ARG, callee.params[position], NONE, [given], ~places[position] + convention.shadow, instr.line)
                if store.args[0] < 0 and not self.target.immediate(store, 0, callee.params[position], f.const_values[~store.args[0]]):
                    store.args[0] = self.materialise(store.args[0], instr.line)
                self.load_late(given)
                self.emit(store)
            else:
                kept.append(given)
        instr.args = kept
        self.emit(instr)
        self.part_ways()

    def load_late(self, value: int) -> None:
        """Load a value right here if it can be loaded as well here as where it is: a struct on its way to the stack takes one register, not one for each of its parts."""
        at = self.load_at.get(value, -1)
        if at < 0 or self.uses[value] != 1 or not self.still(value):
            return
        load = self.out[at]
        self.out[at] = _GONE
        del self.load_at[value]
        self.out.append(load)

    def materialise(self, constant: int, line: int) -> int:
        """A register with the constant in it."""
        type_ = self.f.const_types[~constant]
        r = self.f.register(type_)
        self.emit(Instr(ops.COPY, type_, r, [constant], 0, line))
        return r

    def condition(self, c: int, line: int) -> tuple[str, Instr | None, int]:
        """How to test register ``c``: (condition, the comparison it came from) or ("", None) with the bool to test.

        The third is 1 when the bool must be tested for false.
        """
        negate = 0
        while True:
            at = self.compare_at.get(c, -1)
            if at < 0:
                break
            found = self.out[at]
            if not self.holds(c, found):
                break
            if found.mem is not None and self.compare_memory[c] != self.memory:
                # Its operand in memory may have been written since.
                break
            if c in self.shared and (found.op is ops.NOT or found.type.lanes):
                break
            if found.op is ops.NOT:
                self.out[at] = _GONE
                del self.compare_at[c]
                negate ^= 1
                c = found.args[0]
                # The comparison below may have been used once as well.
                continue
            if found.op is ops.ANY or found.op is ops.ALL:
                if not self.target.tests_masks(found.type):
                    break
                self.out[at] = _GONE
                del self.compare_at[c]
                return self.masked(found, negate)
            if found.type.lanes:
                break
            self.uses[c] -= 1
            if not self.uses[c]:
                self.out[at] = _GONE
                del self.compare_at[c]
            name = found.op.name
            if negate:
                name = ops.OPPOSITE[name]
                if not found.type.is_float:
                    name = ops.ORDERED_EQUAL.get(name, name)
            if (name == "eq" or name == "ne") and found.mem is None and found.type.is_integer and c not in self.shared:
                masked = self.tested(found)
                if masked is not None:
                    return ("disjoint" if name == "eq" else "meets"), masked, 0
            return name, found, 0
        if c < 0:
            c = self.materialise(c, line)
        return "", Instr(ops.COPY, BOOL, NONE, [c]), negate

    def count_where(self, choice: Instr) -> Instr:
        """A choice between a value and one more than it, of lanes, as one operation, where the target has that; else the choice."""
        mask, chosen, value = choice.args
        at, stretch = self.sums[chosen]
        made = self.out[at]
        if stretch != self.stretch or made.mem is not None or value not in made.args or value < 0 or not self.target.counts_where(choice.type):
            return choice
        one = made.args[1] if made.args[0] == value else made.args[0]
        place = len(self.out) - 1
        while place >= 0 and self.out[place].dst != one:
            place -= 1
        if place < 0 or self.f.variable[one]:
            return choice
        constant = self.out[place]
        if constant.op is not ops.COPY or constant.args[0] >= 0 or self.f.const_values[~constant.args[0]] != 1:
            return choice
        self.out[at] = _GONE
        self.uses[one] -= 1
        if not self.uses[one]:
            self.out[place] = _GONE
        return Instr(ops.COUNT_WHERE, choice.type, choice.dst, [mask, value], 0, choice.line)

    def work_where(self, choice: Instr) -> Instr:
        """A choice between what an operation on lanes gives, which nobody else reads, and another value: the operation under the mask. Else the choice."""
        mask, chosen, value = choice.args
        at, position, region, memory = self.worked_at[chosen]
        made = self.out[at]
        if value < 0 or region != self.region or len(self.out) - at > _NEAR or (made.mem is not None and memory != self.memory):
            return choice
        if any(a >= 0 and self.f.variable[a] and self.written.get(a, -1) > position for a in made.args):
            return choice
        args = made.args
        place = made.mem
        role = place.role if place is not None else -1
        if made.op in ops.FUSED:
            # (The instruction adds to what it leaves where the mask does not hold; of the factors the last may be in memory.)
            adds = 2 if place is None else 1
            if (place is not None and role not in (0, 1)) or args[adds] != value:
                return choice
            args = args[:adds] + args[adds + 1 :]
            role = 1
        if place is not None and role >= 0:
            place = Mem(place.indexed, place.scale, place.disp, place.size, place.broadcast, role + 2, place.array)
        self.out[at] = _GONE
        del self.worked_at[chosen]
        self.sums.pop(chosen, None)
        return Instr(ops.WHERE[made.op], choice.type, choice.dst, [mask, value, *args], 0, choice.line, VOID, place)

    def add_scaled(self, total: Instr) -> Instr:
        """A sum of an integer and a multiple of another, which nobody else reads, as one operation; else the sum."""
        for position in (1, 0):
            at, stretch = self.scaled_at.get(total.args[position], (-1, -1))
            other = total.args[1 - position]
            if at < 0 or stretch != self.stretch or other < 0 or other == total.args[position] or other in self.load_at:
                # (What is in memory is added from there.)
                continue
            made = self.out[at]
            number = int(self.f.const_values[~made.args[1]])
            factor = 1 << number if made.op is ops.SHL and number <= 3 else min(number & -number, 8) if made.op is ops.MUL else 1
            if factor < 2:
                continue
            value = made.args[0]
            if made.op is ops.MUL:
                value = made.dst
                self.out[at] = Instr(ops.MUL, made.type, value, [made.args[0], self.f.const(made.type, number // factor)], 0, made.line)
                self.out[at].rule = self.target.rule(self.f, self.out[at])
            else:
                self.out[at] = _GONE
            del self.scaled_at[total.args[position]]
            return Instr(ops.ADD_SCALED, total.type, total.dst, [other, value, self.f.const(I64, factor)], 0, total.line)
        return total

    def compare_where(self, both: Instr) -> Instr:
        """A mask and a comparison of lanes, which nobody else reads: the comparison under the mask. Else the two."""
        for position in range(2):
            c, mask = both.args[position], both.args[1 - position]
            at = self.compare_at.get(c, -1)
            if at < 0 or mask < 0 or c in self.shared:
                continue
            found = self.out[at]
            if _WHERE[found.op.code] is None or found.mem is not None or not self.holds(c, found) or not self.target.works_under_masks(found.op, found.type):
                continue
            self.out[at] = _GONE
            del self.compare_at[c]
            return Instr(ops.WHERE[found.op], found.type, both.dst, [mask, *found.args], 0, both.line)
        return both

    def masked(self, question: Instr, negate: int) -> tuple[str, Instr | None, int]:
        """Of a question about all lanes of a mask, which a branch alone asks, the test that the branch makes itself."""
        mask = question.args[0]
        type_ = question.type
        if question.op is ops.ALL:
            every = self.materialise(self.f.const(type_, True), question.line)
            return "misses" if negate else "covers", Instr(ops.AND, type_, NONE, [mask, every], 0, question.line), 0
        at = self.bits_at.get(mask, -1)
        args = [mask, mask]
        if at >= 0 and self.compare_stretch[mask] == self.stretch:
            args = self.out[at].args
            self.out[at] = _GONE
        return "apart" if negate else "shares", Instr(ops.AND, type_, NONE, args, 0, question.line), 0

    def tested(self, compare: Instr) -> Instr | None:
        """Of a comparison with 0 of what an ``and`` has left, which nobody else reads, that, where the target tests bits; it is taken out of the code."""
        a, b = compare.args
        at = self.bits_at.get(a, -1)
        if at < 0 or b >= 0 or self.f.const_values[~b] != 0 or self.compare_stretch[a] != self.stretch:
            return None
        masked = self.out[at]
        if masked.op is not ops.AND or not self.target.tests_bits(masked.type):
            return None
        if masked.mem is not None and self.compare_memory[a] != self.memory:
            # Its operand in memory may have been written since.
            return None
        self.out[at] = _GONE
        return masked

    def choose(self, instr: Instr) -> Instr:
        """A choice with the comparison that decides it inside, or with the sum that it is about, where the target has that; else the choice."""
        if instr.type.lanes:
            if instr.args[1] in self.worked_at:
                return self.work_where(instr)
            return self.count_where(instr) if instr.args[1] in self.sums else instr
        c = instr.args[0]
        at = self.compare_at.get(c, -1)
        while at >= 0 and self.out[at].op is ops.NOT:
            at = self.compare_at.get(self.out[at].args[0], -1)
        if at < 0 or self.out[at].op in _QUESTIONS or not self.chooses(self.out[at], instr.type):
            return instr
        name, found, negate = self.condition(c, instr.line)
        assert found is not None
        if not name:
            a, b = instr.args[1:]
            instr.args = [found.args[0], b, a] if negate else [found.args[0], a, b]
            return instr
        chosen = instr.args[1:]
        if chosen[1] == instr.dst or (instr.dst, chosen[1]) in self.taken:
            # What stays as it is comes first: there the result already is, or will be wanted.
            chosen.reverse()
            name = ops.OPPOSITE[name]
            if not found.type.is_float:
                name = ops.ORDERED_EQUAL.get(name, name)
        memory = found.mem
        compared = len(found.args) - (0 if memory is None else 2 if memory.indexed else 1)
        if memory is not None:
            memory = Mem(memory.indexed, memory.scale, memory.disp, memory.size, False, memory.role if memory.role >= 0 else compared, memory.array)
        args = [*found.args[:compared], *chosen, *found.args[compared:]]
        return Instr(ops.SELECT_CMP[name], instr.type, instr.dst, args, 0, instr.line, found.type, memory)

    def chooses(self, compare: Instr, type_: Type) -> bool:
        """Whether the target has a choice between two of a type by a comparison as one operation."""
        if compare.type.is_float and not compare.type.lanes:
            return compare.op is not ops.EQ and compare.op is not ops.NE and self.target.chooses_by_floats(compare.type, type_)
        return self.target.chooses_by(compare.type, type_)

    def combine(self, instr: Instr) -> None:
        """Make two bitwise operations one, where the first is used by the second alone; else note that one more may be a first."""
        args = instr.args
        for position in range(2):
            a = args[position]
            at = self.bits_at.get(a, -1)
            if at < 0 or self.compare_stretch[a] != self.stretch or self.out[at].mem is not None or args[0] == args[1]:
                continue
            inner = self.out[at]
            self.out[at] = _GONE
            first = inner.args
            if inner.op.commutes and self.uses[first[0]] > 1:
                # The result takes the first one's place, so that is to be free.
                first = [first[1], first[0]]
            instr.args = [*first, args[1 - position]]
            instr.op = ops.BITWISE_TWICE[inner.op, instr.op, position == 0]
            return
        dst = instr.dst
        if dst < self.known and self.uses[dst] == 1 and not self.f.variable[dst] and min(args) >= 0:
            self.bits_at[dst] = len(self.out)
            self.compare_stretch[dst] = self.stretch

    def control(self, instr: Instr) -> None:
        op = instr.op
        line = instr.line
        if op is ops.IF:
            self.begin_if(instr.args[0], line)
        elif op is ops.BR_IF:
            self.branch_if(instr.args[0], instr.imm, line)
        elif op is ops.END:
            self.end(line)
        elif op is ops.BR or op is ops.BLOCK:
            # (A block is come to from in front of it alone.)
            self.out.append(instr)
        elif op is ops.LOOP or op is ops.ELSE:
            self.out.append(instr)
            self.part_ways()
        elif op is ops.RET or op.compare:
            self.emit(instr)
            self.part_ways()
        elif op is ops.FAIL:
            self.fail(instr)
        else:
            raise InternalError(f"{op.name} before the pass select")

    def fail(self, instr: Instr) -> None:
        """Checked mode: the record behind the hidden last parameter, then return."""
        f = self.f
        errors = instr.args[0]
        values = [f.const(I64, instr.imm + 1)] + instr.args[1:]
        for n in range(len(values)):
            store = Instr(ops.STORE_AT, I64, NONE, [values[n], errors], 0, instr.line, VOID, Mem(False, 1, 8 * n, 8))
            if values[n] < 0 and not self.target.immediate(store, 0, I64, f.const_values[~values[n]]):
                store.args[0] = self.materialise(values[n], instr.line)
            self.emit(store)
        args = [] if f.result is VOID else [f.const(f.result, 0)]
        self.emit(Instr(ops.RET, f.result, NONE, args, 0, instr.line))
        self.memory_changes()

    def begin_if(self, c: int, line: int) -> None:
        name, found, negate = self.condition(c, line)
        assert found is not None
        if name:
            self.emit_compare(ops.IF_CMP[name], found, 0, line)
        elif negate:
            self.emit(self.compare_false(ops.IF_CMP["eq"], found.args[0], 0, line))
        else:
            self.emit(Instr(ops.IF, BOOL, NONE, [found.args[0]], 0, line))
        self.part_ways()

    def branch_if(self, c: int, depth: int, line: int) -> None:
        name, found, negate = self.condition(c, line)
        assert found is not None
        if name:
            self.emit_compare(ops.BR_CMP[name], found, depth, line)
        elif negate:
            self.emit(self.compare_false(ops.BR_CMP["eq"], found.args[0], depth, line))
        else:
            self.emit(Instr(ops.BR_IF, BOOL, NONE, [found.args[0]], depth, line))
        self.part_ways()

    def emit_compare(self, op: ops.Op, compare: Instr, depth: int, line: int) -> None:
        self.emit(Instr(op, compare.type, NONE, compare.args, depth, line, VOID, compare.mem))

    def compare_false(self, op: ops.Op, c: int, depth: int, line: int) -> Instr:
        """A bool tested for false."""
        return Instr(op, BOOL, NONE, [c, self.f.const(BOOL, False)], depth, line)

    def end(self, line: int) -> None:
        out = self.out
        if (
            len(out) >= 2
            and out[-1].op is ops.BR
            and out[-1].imm > 0
            and out[-2] is not _GONE
            and (out[-2].op is ops.IF or out[-2].op.compare)
            and out[-2].op.opens
        ):
            # An if around a branch is a conditional branch.
            branch = out.pop()
            test = out.pop()
            op = ops.BR_IF if test.op is ops.IF else ops.BR_CMP[test.op.compare]
            self.emit(Instr(op, test.type, NONE, test.args, branch.imm - 1, test.line, VOID, test.mem))
        else:
            out.append(Instr(ops.END, VOID, NONE, [], 0, line))
        self.part_ways()


def _same_place(a: Mem | None, b: Mem | None) -> bool:
    """Whether two accesses with the same registers in their addresses are to the same place."""
    return a is not None and b is not None and (a.indexed, a.scale, a.disp, a.size, a.broadcast) == (b.indexed, b.scale, b.disp, b.size, b.broadcast)


def run(f: Function, target: Target) -> None:
    """Select the instructions of ``target`` for ``f``. Raises ``UnsupportedOperationError`` for an operation the target lacks for a type."""
    results.make(f, target)
    Selection(f, target).run()
    origins.run(f, target)
    if target.addressing(I64).moves:
        advances.run(f, target)
    f.target_name = target.name
