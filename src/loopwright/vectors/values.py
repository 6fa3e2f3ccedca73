"""Instructions of a loop over lanes for a vector of lanes: operands made vectors, results that differ by lane, accesses to arrays."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.ops import Op
from loopwright.types import BOOL, I64, VOID, Type
from loopwright.vectors.accesses import ANYWHERE, SAME
from loopwright.vectors.bitmaps import READ, Bitmaps
from loopwright.vectors.divergence import AFFINE, LINEAR, UNIFORM, VARYING, Divergence
from loopwright.vectors.inside import Inside
from loopwright.vectors.tables import Asked

__all__ = ["ABSENT", "Env", "Values"]

#: No operand. (``NONE`` is no register, but as an operand the first constant.)
ABSENT: Final = -(1 << 40)

#: Variable -> the operand that holds its value in the lanes that run.
Env = dict[int, int]


class Values(Bitmaps):
    """What is emitted for one loop, as far as it does not branch.

    Attributes:
        shapes: what differs by lane.
        width: the bits of the masks that say which lanes run.
        out: the instructions made so far, of the innermost bracket.
        mask: the lanes that run what is made next; ``all`` those that the loop runs at all.
        vectors: register of the scalar loop that differs by lane -> the register with its values.
        env: the same of variables, as things stand.
        loads: array and indices -> what has been loaded there, as (in which lanes, the register), and no store has come since.
        stores: how many there were.
        inside: which loads are inside of their arrays for all lanes; None where that is not asked.
        pairs: ``id`` of loads that are made with another (``neighbours.py``) -> how many elements further that is.
    """

    def __init__(self, f: Function, shapes: Divergence, lanes: int, width: int, has: Asked) -> None:
        super().__init__(f, shapes, lanes, width, has)
        self.vectors: dict[int, int] = {}
        self.env: Env = {}
        self.loads: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        self.stores = 0
        self.inside: Inside | None = None
        self.pairs: dict[int, int] = {}

    # --- emitting --------------------------------------------------------------------------------------------

    def emit(self, op: Op, type_: Type, args: list[int], imm: int = 0, dst: int = NONE) -> None:
        """Emit an instruction without a result, or with a given one."""
        self.out.append(Instr(op, type_, dst, args, imm, self.line))

    def copy(self, dst: int, operand: int) -> None:
        """Write a variable."""
        type_ = self.f.types[dst]
        self.out.append(Instr(ops.COPY, type_, dst, [operand], 0, self.line))

    def variable(self, like: int, name: str = "") -> int:
        """A new variable of an operand's type."""
        return self.f.register(self.f.type_of(like), name, True)

    # --- operands --------------------------------------------------------------------------------------------

    def vector(self, operand: int) -> int:
        """An operand of the scalar loop, in every lane."""
        f = self.f
        if operand < 0:
            return f.const(self.full(f.const_types[~operand]), f.const_values[~operand])
        shape = self.shapes.of(operand)
        if shape == VARYING:
            return self.varying(operand)
        type_ = f.types[operand]
        if type_ is BOOL:
            return self.define(ops.MASK_SPLAT, self.mask_type, [operand], self.mask_type)
        if shape in (LINEAR, AFFINE):
            known = self.vectors.get(operand)
            return known if known is not None else self.counting(operand, operand, type_)
        full = self.full(type_)
        return self.define(ops.SPLAT, full, [operand], full)

    def varying(self, register: int) -> int:
        """The values of a register that differs by lane."""
        total = self.totals.get(register)
        if total is not None:
            return total
        if register in self.sums:
            return self.sums[register].value
        if register in self.handed:
            return self.handed[register].value
        if self.shapes.held(register):
            known = self.env.get(register)
            # (What is read before it is written is anything.)
            return known if known is not None else self.nothing(register)
        return self.vectors[register]

    def nothing(self, register: int) -> int:
        """A value for lanes in which a variable has none."""
        type_ = self.f.types[register]
        return self.f.const(self.full(type_), type_ is not BOOL and 0)

    def counting(self, register: int, first: int, type_: Type) -> int:
        """A number in the first lane, ``first``, and in each lane so much more as a register of the scalar loop counts."""
        full = self.full(type_)
        start = self.define(ops.SPLAT, full, [first], full)
        more = self.define(ops.IOTA, full, [], full)
        step = self.shapes.step(register)
        assert step is not None
        if step.of != NONE:
            by = step.of if type_ is I64 else self.define(ops.CONVERT, type_, [step.of], type_, I64)
            more = self.define(ops.MUL, full, [more, self.define(ops.SPLAT, full, [by], full)], full)
        if step.times != 1:
            more = self.define(ops.MUL, full, [more, self.f.const(full, step.times)], full)
        return self.define(ops.ADD, full, [start, more], full)

    def part(self, op: Op, condition: int, mask: int) -> int:
        """Those of some lanes for which a condition holds, or with ``andnot`` does not."""
        made = self.both(op, condition, mask)
        self.within[made] = mask
        return made

    def some(self, mask: int) -> int:
        """Whether a mask holds in any lane: a bool."""
        return self.define(ops.ANY, self.f.type_of(mask), [mask], BOOL)

    # --- instructions ----------------------------------------------------------------------------------------

    def instruction(self, instr: Instr) -> None:
        """What an instruction that does not branch becomes."""
        op = instr.op
        self.line = instr.line
        if self.terms and self.serves_total(instr):
            return
        if self.shapes.apart and id(instr) in self.shapes.apart:
            self.bits_of(instr)
            return
        if op is ops.STORE:
            self.store(instr)
        elif instr.dst in self.counters:
            self.advance(instr.dst)
        elif instr.dst in self.sums:
            self.run_on(instr.dst)
        elif instr.dst in self.handed:
            # (It is, since what it is given was made.)
            return
        elif op is ops.LOAD and self.shapes.of(instr.dst) == UNIFORM and self.mask != self.all:
            self.guarded(instr)
        elif op is ops.LOAD and self.shapes.of(instr.dst) == VARYING and instr.dst not in self.totals:
            self.load(instr)
        elif op is ops.ANY_LANE or op is ops.ALL_LANES:
            self.quantify(instr)
        elif instr.dst in self.shapes.narrow:
            return
        elif op.effect != ops.PURE and op is not ops.LOAD:
            raise self.unsupported(instr, f"`{op.name}` inside lw.lanes: use lw.range for this loop")
        elif instr.type.lanes or instr.source.lanes:
            raise self.unsupported(instr, "a vector inside lw.lanes: its loop makes vectors of scalars")
        elif instr.dst in self.totals or self.shapes.of(instr.dst) == VARYING:
            self.result(instr.dst, self.compute(instr))
        else:
            if op is ops.LOAD and not self.f.variable[instr.dst]:
                self.keep(self.place(instr.imm, instr.args), instr.dst)
            self.out.append(instr)

    def result(self, register: int, value: int) -> None:
        """What the scalar loop computes into a register is this, in the lanes that run."""
        total = self.totals.get(register)
        if total is not None:
            type_ = self.f.types[total]
            self.emit(ops.SELECT, type_, [self.running(type_.bits), value, total], 0, total)
        elif self.shapes.held(register):
            self.env[register] = self.fitted(value, self.width) if self.f.types[register] is BOOL else value
        else:
            self.vectors[register] = value

    def compute(self, instr: Instr) -> int:
        if instr.type is I64 and instr.op in ops.COMPARING:
            found = self.by_index(instr.op, instr.args[0], instr.args[1])
            if found != ABSENT:
                return found
        return super().compute(instr)

    def convert(self, instr: Instr) -> int:
        type_ = instr.type
        a = instr.args[0]
        if type_ is not BOOL and type_.is_integer and self.shapes.step(a) is not None:
            # (Counting wraps as the conversion does.)
            return self.counting(a, a if type_ is I64 else self.define(ops.CONVERT, type_, [a], type_, I64), type_)
        return super().convert(instr)

    def by_index(self, op: Op, a: int, b: int) -> int:
        """A comparison of what counts along the lanes with a value that is the same for all, as a mask; ABSENT if it is none of these."""
        if self.shapes.of(a) == UNIFORM and self.shapes.of(b) == LINEAR:
            op, a, b = ops.COMPARISONS[ops.EXCHANGED[op.name]], b, a
        if self.shapes.of(a) != LINEAR or self.shapes.of(b) != UNIFORM:
            return ABSENT
        if op is ops.LT or op is ops.GE:
            below = self.below(a, b)
            return below if op is ops.LT else self.inverted(below)
        up_to = self.below(self.define(ops.SUB, I64, [a, self.f.const(I64, 1)], I64), b)
        if op is ops.LE or op is ops.GT:
            return up_to if op is ops.LE else self.inverted(up_to)
        equal = self.both(ops.ANDNOT, self.below(a, b), up_to)
        return equal if op is ops.EQ else self.inverted(equal)

    def below(self, first: int, limit: int) -> int:
        return self.define(ops.LANE_MASK, self.mask_type, [first, limit], self.mask_type)

    def inverted(self, mask: int) -> int:
        type_ = self.f.type_of(mask)
        return self.define(ops.NOT, type_, [mask], type_)

    def quantify(self, instr: Instr) -> None:
        """``any_lane``, ``all_lanes``: of the lanes that run."""
        condition = instr.args[0]
        if self.shapes.of(condition) == UNIFORM:
            self.emit(ops.COPY, BOOL, [condition], 0, instr.dst)
            return
        mask = self.mask_for(condition, self.width)
        if instr.op is ops.ANY_LANE:
            self.emit(ops.ANY, self.mask_type, [self.both(ops.AND, mask, self.mask)], 0, instr.dst)
        else:
            self.emit(ops.ALL, self.mask_type, [self.both(ops.OR, mask, self.inverted(self.mask))], 0, instr.dst)

    def bits_of(self, instr: Instr) -> None:
        """What serves an access to bits, or is one."""
        access = self.bits_at.get(id(instr))
        if access is None:
            return
        if access.kind == READ:
            self.result(instr.dst, self.read_bits(access))
            return
        self.loads.clear()
        self.stores += 1
        self.write_bits(access)

    # --- memory ----------------------------------------------------------------------------------------------

    def place(self, array: int, indices: list[int]) -> tuple[int, ...] | None:
        """What is the same for two accesses to one element; None where an index may become another."""
        key = [array]
        for a in indices:
            if a >= 0 and self.f.variable[a]:
                return None
            key += self.offsets.get(a, (a, 0))
        return tuple(key)

    def loaded(self, place: tuple[int, ...] | None) -> int:
        """The register with what all lanes that run would load; ABSENT if there is none."""
        for lanes, register in self.loads.get(place, ()) if place is not None else ():
            if lanes == self.all or self.is_within(self.mask, lanes):
                return register
        return ABSENT

    def keep(self, place: tuple[int, ...] | None, register: int) -> None:
        """Lanes that run have loaded something."""
        if place is not None:
            self.loads.setdefault(place, []).append((self.mask, register))

    def load(self, instr: Instr) -> None:
        type_ = self.full(instr.type)
        indices = self.indices(instr)
        if indices[-1] in self.counters:
            self.result(instr.dst, self.deal_out(instr))
            return
        kind = self.kind(indices)
        if kind == SAME:
            # (It is read into a variable that differs by lane.)
            made = Instr(ops.LOAD, instr.type, self.f.register(instr.type), list(instr.args), instr.imm, instr.line)
            if self.mask != self.all:
                self.guarded(made)
            else:
                self.out.append(made)
            self.result(instr.dst, self.define(ops.SPLAT, type_, [made.dst], type_))
            return
        place = self.place(instr.imm, indices)
        known = self.loaded(place)
        if known == ABSENT:
            mask = self.mask
            # (Where an index differs by lane, that of a lane which is done with a loop may be behind the last.)
            if mask != self.all and kind != ANYWHERE and self.inside is not None and self.inside.holds(instr):
                self.mask = self.all
            side = self.pairs.get(id(instr), 0)
            if side:
                known, other = self.load_pair(instr, indices, side)
                assert place is not None
                self.keep((*place[:-1], place[-1] + side), other)
            else:
                known = self.load_lanes(instr, kind, indices)
            self.keep(place, known)
            self.mask = mask
        self.result(instr.dst, known)

    def guarded(self, instr: Instr) -> None:
        """An element that is the same for all lanes, read only when a lane runs: the index may be wrong otherwise."""
        indices = self.indices(instr)
        place = self.place(instr.imm, indices)
        known = self.loaded(place)
        if known != ABSENT:
            self.emit(ops.COPY, instr.type, [known], 0, instr.dst)
            return
        register = self.f.register(instr.type, "", True)
        self.copy(register, self.f.const(instr.type, 0))
        self.emit(ops.IF, VOID, [self.some(self.mask)])
        self.emit(ops.LOAD, instr.type, indices, instr.imm, register)
        self.emit(ops.END, VOID, [])
        self.emit(ops.COPY, instr.type, [register], 0, instr.dst)
        if not self.f.variable[instr.dst]:
            self.keep(place, instr.dst)

    def store(self, instr: Instr) -> None:
        indices = self.indices(instr)
        if indices[-1] in self.counters:
            self.compact(instr)
            return
        value = self.vector(instr.args[0])
        # (What is stored may be what another array has at this index: they may be one.)
        self.loads.clear()
        self.stores += 1
        self.store_lanes(instr, self.kind(indices), indices, value)
