"""Random inputs of the register allocator: machines that do not exist, with rules of every shape, and lowered functions for them.

A machine has 2 to 8 registers of each class, in random order, of which a random set must be preserved. A function's
instructions are rows of the table of operations with random rules: fixed, late, memory-capable and tied operands, fixed
results, scratch registers, registers destroyed before and after the operands are read. Only demands that can be met at once are made.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from loopwright.ir import ops
from loopwright.ir.function import NONE, Callee, Function, Instr, Mem
from loopwright.passes.pipeline import CPU
from loopwright.targets.pipeline import Pass
from loopwright.targets.target import (
    ANY_REGISTER,
    ANY_TIED,
    LEFT,
    Convention,
    Register,
    RegisterClass,
    Rule,
    Run,
    Target,
    Use,
    masks,
    scalar_integers,
    vectors,
    vectors_and_masks,
)
from loopwright.types import BOOL, F32, F64, I32, I64, PTR, VOID, Type, mask_of, vector_of

#: Register classes.
INTS, VECTORS, MASKS = 0, 1, 2
LETTERS = "ABCDEFGHIJKLMNOPQ"
SCALARS = (I32, I64, F32, F64, PTR)
VECTOR_TYPES = (vector_of(F32, 4), vector_of(F64, 4))
MASK = mask_of(32, 4)


def nothing(*_: Any) -> None:
    """No instruction of these machines is ever emitted."""


def classes_of(orders: Sequence[Sequence[int]]) -> list[RegisterClass]:
    """Classes for integers and vectors, and one for masks if there is a third order."""
    classes = [RegisterClass("integers", orders[0], scalar_integers), RegisterClass("vectors", orders[1], vectors if len(orders) > 2 else vectors_and_masks)]
    return classes + [RegisterClass("masks", order, masks, bit_per_lane=True) for order in orders[2:]]


class Machine(Target):
    """A machine that exists only for the allocator."""

    def passes(self) -> tuple[Pass, ...]:
        return CPU

    def __init__(self, chooser: random.Random, fewest: int = 2, most: int = 8, ordered: bool = False) -> None:
        self.mask_registers = chooser.random() < 0.3
        pick = chooser.randint
        counts = [pick(fewest, most), pick(fewest, most)]
        if self.mask_registers:
            counts.append(pick(fewest, most))
        registers = [Register(f"{'ivm'[cls]}{n}", cls, n) for cls, count in enumerate(counts) for n in range(count)]
        if not ordered:
            chooser.shuffle(registers)
        orders: list[list[int]] = [[] for _ in counts]
        for r, register in enumerate(registers):
            orders[register.cls].append(r)
        for order in orders:
            chooser.shuffle(order)
        ints, floats = orders[INTS], orders[VECTORS]
        saved = 0
        if chooser.random() < 0.8:
            for r in range(len(registers)):
                if chooser.random() < 0.4:
                    saved |= 1 << r
        results = (chooser.choice(ints), chooser.choice(floats))
        convention = Convention(
            "synthetic",
            tuple(chooser.sample(ints, pick(0, len(ints)))),
            tuple(chooser.sample(floats, pick(0, len(floats)))),
            *results,
            saved & ~(1 << results[0] | 1 << results[1]),
            shared_positions=chooser.random() < 0.2,
            shadow=chooser.choice((0, 0, 32)),
            floats_in_ints=chooser.random() < 0.2,
        )
        super().__init__(convention, registers, classes_of(orders), frozenset())
        # (An attribute of the class would hide the native build's.)
        self.name = "synthetic"
        self.vector_bits = 128

    def rule(self, function: Function, instr: Instr) -> Rule:
        """For what the allocator and later passes insert; a function's own instructions bring theirs."""
        op = instr.op
        if op is ops.COPY or op is ops.SWAP:
            use = Use(self.class_of(instr.type), memory=op is ops.COPY)
            return Rule(op.name, (use,) * len(instr.args), use if op is ops.COPY else None, nothing)
        cls = self.class_of(instr.type) if instr.type is not VOID else INTS
        return Rule(op.name, (Use(cls, memory=True),) * len(instr.args), None, nothing)


class Generator:
    """Makes one function; every choice comes from ``chooser``."""

    def __init__(self, chooser: random.Random, target: Machine, size: int, runs: bool = False) -> None:
        self.random = chooser
        self.runs = runs
        self.target = target
        self.left = size
        self.types: list[Type] = [*SCALARS, *VECTOR_TYPES]
        if target.mask_registers:
            self.types.append(MASK)
        if chooser.random() < 0.6:
            # Few types: more pressure on each class.
            self.types = chooser.sample(self.types, chooser.randint(1, 3))
        self.f = Function("synthetic", chooser.choice((VOID, I64, F64)))
        self.f.stage = "select"
        self.f.target_name = "synthetic"
        self.scope: list[int] = []
        self.kinds: list[str] = []
        self.loops = 0
        self.sizes = [order.bit_count() for order in target.class_masks]
        self.strange = chooser.random()

    def make(self) -> Function:
        f, chooser = self.f, self.random
        for _ in range(chooser.choice((0, 1, 2, 3, 6, 9))):
            type_ = chooser.choice(self.types if chooser.random() < 0.7 else SCALARS)
            if not type_.lanes:
                self.scope.append(f.param(type_, ""))
        for _ in range(chooser.choice((0, 0, 1, 2, 4, 8))):
            type_ = chooser.choice(self.types)
            v = f.register(type_, "", True)
            self.emit(ops.COPY, type_, [self.constant(type_)], v)
            self.scope.append(v)
        while self.left > 0:
            self.body()
        if chooser.random() < 0.3:
            # What the brackets have written, at whatever depth.
            self.read([v for v in self.scope if f.variable[v]])
        if f.result is not VOID:
            self.ret()
        elif chooser.random() < 0.5:
            self.emit(ops.RET, VOID, [])
        return f

    # --- operands -------------------------------------------------------------------------------------------

    def constant(self, type_: Type) -> int:
        n = self.random.randint(0, 3)
        if type_ is BOOL or type_.element is BOOL:
            return self.f.const(type_, n > 1)
        return self.f.const(type_, float(n) if type_.is_float else n)

    def value(self, type_: Type) -> int:
        """A register of a type if there is one, otherwise a constant."""
        types = self.f.types
        if self.random.random() < 0.9:
            known = [v for v in self.scope if types[v] is type_]
            if known:
                # Old values too, for long lives.
                return known[-1 - int(len(known) * self.random.random() ** 2)]
        return self.constant(type_)

    def destination(self, type_: Type) -> int:
        """A new register, or a variable to be written again."""
        f = self.f
        if self.random.random() < 0.25:
            known = [v for v in self.scope if f.variable[v] and f.types[v] is type_]
            if known:
                return self.random.choice(known)
        v = f.register(type_, "", self.random.random() < 0.1)
        return v

    # --- rules ----------------------------------------------------------------------------------------------

    def registers(self, cls: int) -> tuple[int, ...]:
        return self.target.orders[cls]

    def some(self, share: float) -> int:
        """A random set of registers."""
        mask = 0
        for r in range(len(self.target.registers)):
            if self.random.random() < share:
                mask |= 1 << r
        return mask

    def demands(self, op: ops.Op, types: list[Type], args: list[int], result: Type | None, in_memory: bool) -> Rule:
        """A random rule whose demands can be met at once."""
        tries = 0
        while True:
            rule = self.some_rule(op, types, args, result, in_memory)
            if self.possible(rule, args):
                return rule
            tries += 1
            if tries % 4 == 0:
                # The machine may have too few registers for so many operands.
                j = self.random.randrange(len(args))
                args[j] = self.constant(types[j])

    def some_rule(self, op: ops.Op, types: list[Type], args: list[int], result: Type | None, in_memory: bool) -> Rule:
        chance = self.random.random
        target = self.target
        strange = self.strange
        count = len(args)
        classes = [target.class_of(t) for t in types]
        fixed = [ANY_REGISTER] * count
        late = [False] * count
        memory = [False] * count
        taken: set[int] = set()
        for j in range(count):
            if chance() < 0.2 * strange:
                r = self.random.choice(self.registers(classes[j]))
                if r not in taken:
                    fixed[j] = r
                    taken.add(r)
            elif chance() < 0.3 and not in_memory:
                memory[j] = True
            late[j] = chance() < 0.2
        tied = -1
        commutes = False
        made: Use | None = None
        kills = self.some(0.4) if chance() < 0.15 * strange else 0
        clobbers = self.some(0.15) if chance() < 0.15 * strange else 0
        for r in taken:
            clobbers &= ~(1 << r)
        if result is not None:
            cls = target.class_of(result)
            place = self.random.choice(self.registers(cls)) if chance() < 0.2 * strange else ANY_REGISTER
            made = Use(cls, place)
            alike = [j for j in range(count) if types[j] is result]
            if alike and chance() < 0.3:
                tied = self.random.choice(alike)
                commutes = tied < 2 <= count and types[0] is types[1] and chance() < 0.5
                if commutes:
                    # What may be exchanged is alike.
                    fixed[0] = fixed[1] = ANY_REGISTER
                    memory[0] = memory[1] = memory[0] and memory[1]
                for j in range(count):
                    if j != tied and not (commutes and j < 2):
                        late[j] = True
            elif chance() < 0.1:
                tied = ANY_TIED
        temps: tuple[int, ...] = ()
        if chance() < 0.15 * strange:
            temps = tuple(self.random.choice((INTS, VECTORS)) for _ in range(self.random.randint(1, 2)))
        uses = tuple([Use(classes[j], fixed[j], memory[j], late[j]) for j in range(count)])
        if self.runs and count > 1 and len(set(classes)) == 1 and chance() < 0.5 and (made is None or made.fixed == ANY_REGISTER):
            run = self.some_run(classes[0], count)
            if run is not None:
                return Rule(op.name, tuple([Use(cls, late=chance() < 0.2) for cls in classes]), made, nothing, kills=kills, run=run)
        return Rule(op.name, uses, made, nothing, tied, commutes, kills, temps, clobbers, tied == ANY_TIED and op in ops.FUSED)

    def some_run(self, cls: int, count: int) -> Run | None:
        """A demand for all operands in a row, if the class has such a row, and a register besides."""
        mask = self.target.class_masks[cls]
        align = self.random.choice((1, 1, count))
        lowest = (mask & -mask).bit_length() - 1
        rows = [base for base in self.registers(cls) if not (base - lowest) % align and not ((1 << count) - 1 << base) & ~mask]
        return Run(0, count, align) if rows and mask.bit_count() > count else None

    def possible(self, rule: Rule, args: list[int]) -> bool:
        """Whether there are registers enough at each moment of the instruction."""
        classes = self.target.class_masks
        free = [0] * len(classes)
        late = [0] * len(classes)
        fixed = rule.clobbers
        fixed_late = 0
        for use, v in zip(rule.uses, args, strict=True):
            if use.fixed != ANY_REGISTER:
                fixed |= 1 << use.fixed
                if use.late:
                    fixed_late |= 1 << use.fixed
            elif v >= 0:
                free[use.cls] += 1
                if use.late:
                    late[use.cls] += 1
        for cls in rule.temps:
            free[cls] += 1
            late[cls] += 1
        result = rule.result
        if result is not None:
            if result.fixed != ANY_REGISTER:
                if fixed_late >> result.fixed & 1:
                    return False
                # Late operands and scratch registers keep out of it.
                if late[result.cls]:
                    fixed |= 1 << result.fixed
            else:
                late[result.cls] += 1
            if rule.tied >= 0:
                # Not into a register that is destroyed before the operands are read.
                fixed_late |= rule.clobbers
                if result.fixed != ANY_REGISTER and rule.clobbers >> result.fixed & 1:
                    return False
        for cls, mask in enumerate(classes):
            room = mask.bit_count()
            if free[cls] + (fixed & mask).bit_count() > room or late[cls] + (fixed_late & mask).bit_count() > room:
                return False
        return True

    # --- instructions ---------------------------------------------------------------------------------------

    def emit(
        self, op: ops.Op, type_: Type, args: list[int], dst: int = NONE, imm: int = 0, source: Type = VOID, mem: Mem | None = None, rule: Rule | None = None
    ) -> None:
        instr = Instr(op, type_, dst, args, imm, 0, source, mem)
        instr.rule = rule if rule is not None else self.target.rule(self.f, instr)
        self.f.code.append(instr)

    def define(self, op: ops.Op, type_: Type, result: Type, types: list[Type], source: Type = VOID, mem: Mem | None = None) -> None:
        args = [self.value(t) for t in types]
        dst = self.destination(result)
        self.emit(op, type_, args, dst, 0, source, mem, self.demands(op, types, args, result, mem is not None))
        if dst not in self.scope:
            self.scope.append(dst)

    def arithmetic(self) -> None:
        type_ = self.random.choice(self.types)
        kind = self.random.randrange(6)
        if type_.is_mask:
            op = (ops.NOT, ops.AND, ops.OR, ops.SELECT, ops.XOR, ops.ANDNOT)[kind]
            self.define(op, type_, type_, [type_] * len(op.operands))
        elif kind < 2:
            self.define(ops.ADD, type_, type_, [type_, type_])
        elif kind == 2 and type_.is_float:
            self.define(ops.FMA, type_, type_, [type_, type_, type_])
        elif kind == 3 and (not type_.lanes or type_ is VECTOR_TYPES[0]):
            mask = MASK if type_.lanes else BOOL
            self.define(ops.SELECT, type_, type_, [mask, type_, type_])
        elif kind == 4 and type_.lanes:
            self.define(ops.IOTA, type_, type_, [])
        elif kind == 4:
            other = self.random.choice((I32, I64, F32, F64))
            self.define(ops.CONVERT, type_, type_, [other], other)
        elif kind == 5 and type_.lanes:
            self.define(ops.SPLAT, type_, type_, [type_.element])
        elif kind == 5:
            self.define(ops.EQ, type_, BOOL, [type_, type_])
        else:
            self.define(ops.ABS, type_, type_, [type_])

    def memory(self) -> None:
        indexed = self.random.random() < 0.5
        mem = Mem(indexed, 4, 8)
        where = [PTR, I64] if indexed else [PTR]
        type_ = self.random.choice([t for t in self.types if not t.is_mask] or [I64])
        if self.random.random() < 0.5:
            self.define(ops.LOAD_AT, type_, type_, where, VOID, mem)
        else:
            types = [type_, *where]
            args = [self.value(t) for t in types]
            self.emit(ops.STORE_AT, type_, args, NONE, 0, VOID, mem, self.demands(ops.STORE_AT, types, args, None, True))

    def several(self) -> None:
        """An instruction with several results: in consecutive registers, if there are as many, in fixed ones, in the register of an operand."""
        chooser = self.random
        kind = chooser.randrange(4)
        if kind == 0:
            self.quotient_and_remainder()
            return
        pointers = [v for v in self.scope if self.f.types[v] is PTR]
        if kind == 1 and pointers:
            self.load_and_advance(chooser.choice(pointers))
            return
        count = chooser.randint(2, 4)
        run = self.some_run(VECTORS, count)
        if run is None:
            return
        type_ = chooser.choice(VECTOR_TYPES)
        made = Use(VECTORS, LEFT)
        if kind == 2 and pointers:
            rule = Rule(
                "load_parts_advance", (Use(INTS, late=True),), made, nothing, kills=self.some(0.1) & self.target.class_masks[VECTORS], results=run, parts=(~0,)
            )
            self.results(ops.LOAD_PARTS_ADVANCE[count], type_, [chooser.choice(pointers)], Mem(False, 4, 0), rule)
            return
        rule = Rule("load_parts", (Use(INTS, late=chooser.random() < 0.3),), made, nothing, kills=self.some(0.2), results=run)
        self.results(ops.LOAD_PARTS[count], type_, [self.value(PTR)], Mem(False, 4, 8), rule)

    def results(self, op: ops.Op, type_: Type, args: list[int], mem: Mem | None, rule: Rule) -> None:
        """An instruction with all its results."""
        types = [type_, *[ops.type_for(letter, type_) for letter in op.further]]
        made: list[int] = []
        for n, each in enumerate(types):
            dst = self.destination(each)
            if dst in made:
                dst = self.f.register(each)
            made.append(dst)
            if n:
                self.emit(ops.PART, each, [], dst, n, rule=Rule("part", (), Use(self.target.class_of(each), LEFT), nothing))
            else:
                self.emit(op, type_, args, dst, 8, VOID, mem, rule)
        self.scope += [v for v in made if v not in self.scope]

    def quotient_and_remainder(self) -> None:
        """Two results in fixed registers, in one of which an operand is."""
        chooser = self.random
        first, second = chooser.sample(self.registers(INTS), 2)
        enough = self.target.class_masks[INTS].bit_count() > 3
        uses = (Use(INTS, first if chooser.random() < 0.5 else ANY_REGISTER), Use(INTS, memory=chooser.random() < 0.5, late=enough and chooser.random() < 0.3))
        clobbers = 1 << second if enough and chooser.random() < 0.5 else 0
        place = chooser.choice((first, first, ANY_REGISTER)) if enough else first
        rule = Rule("div_rem", uses, Use(INTS, place), nothing, kills=1 << second, clobbers=clobbers, parts=(second,))
        self.results(ops.DIV_REM, I64, [self.value(I64), self.value(I64)], None, rule)

    def load_and_advance(self, pointer: int) -> None:
        """A load that moves its pointer, a variable or not, on."""
        type_ = self.random.choice([I64, F64, VECTOR_TYPES[0]])
        rule = Rule("load_advance", (Use(INTS, late=True),), Use(self.target.class_of(type_), ANY_REGISTER), nothing, parts=(~0,))
        self.results(ops.LOAD_ADVANCE, type_, [pointer], Mem(False, 4, 0), rule)

    def read(self, values: list[int]) -> None:
        """Each of some values once more: alive up to here."""
        for v in values:
            type_ = self.f.types[v]
            if type_.is_mask:
                self.emit(ops.ANY, type_, [v], self.f.register(BOOL), rule=self.demands(ops.ANY, [type_], [v], BOOL, False))
                continue
            types, args = [type_, PTR], [v, self.value(PTR)]
            self.emit(ops.STORE_AT, type_, args, NONE, 0, VOID, Mem(False, 4, 8), self.demands(ops.STORE_AT, types, args, None, True))

    def crossed(self) -> None:
        """A call with all that is known, or half of it, alive across it."""
        alive = list(self.scope)
        if self.random.random() < 0.5:
            alive = alive[::2]
        self.call()
        self.read(alive)

    def call(self) -> None:
        f, target, chooser = self.f, self.target, self.random
        types = [chooser.choice(SCALARS) for _ in range(chooser.choice((0, 1, 2, 3, 5)))]
        result = chooser.choice((VOID, I64, F64))
        f.callees.append(Callee("callee", types, result))
        convention = target.convention
        kept: list[int] = []
        uses: list[Use] = []
        for type_, place in zip(types, convention.assign(types), strict=True):
            v = self.value(type_)
            if place < 0:
                self.emit(ops.STORE_ARG, type_, [v], NONE, ~place + convention.shadow)
            else:
                kept.append(v)
                uses.append(Use(target.class_of(type_), place))
        kills = target.caller_saved | (target.class_masks[VECTORS] if chooser.random() < 0.2 else 0)
        number = len(f.callees) - 1
        if result is VOID:
            self.emit(ops.CALL_VOID, VOID, kept, NONE, number, rule=Rule("call", tuple(uses), None, nothing, kills=kills))
            return
        cls = target.class_of(result)
        place = convention.float_result if cls == VECTORS else convention.int_result
        dst = self.destination(result)
        self.emit(ops.CALL, result, kept, dst, number, rule=Rule("call", tuple(uses), Use(cls, place), nothing, kills=kills))
        if dst not in self.scope:
            self.scope.append(dst)

    def assign(self) -> None:
        type_ = self.random.choice(self.types)
        v = self.destination(type_)
        self.emit(ops.COPY, type_, [self.constant(type_) if self.random.random() < 0.4 else self.value(type_)], v)
        if v not in self.scope:
            self.scope.append(v)

    def ret(self) -> None:
        f, convention = self.f, self.target.convention
        if f.result is VOID:
            self.emit(ops.RET, VOID, [])
            return
        cls = self.target.class_of(f.result)
        place = convention.float_result if cls == VECTORS else convention.int_result
        self.emit(ops.RET, VOID, [self.value(f.result)], rule=Rule("ret", (Use(cls, place),), None, nothing))

    # --- control flow ---------------------------------------------------------------------------------------

    def condition(self, plain: ops.Op, fused: dict[str, ops.Op], imm: int) -> None:
        """A bracket or branch that tests a bool, or compares."""
        chooser = self.random
        if chooser.random() < 0.4:
            op, type_ = plain, BOOL
            args = [self.value(BOOL)]
        else:
            op, type_ = fused[chooser.choice(("eq", "lt", "ge"))], chooser.choice([t for t in self.types if not t.lanes] or [I64])
            args = [self.value(type_), self.value(type_)]
        uses = tuple([Use(self.target.class_of(type_), memory=chooser.random() < 0.5) for _ in args])
        rule = Rule(op.name, uses, None, nothing)
        if chooser.random() < 0.2:
            rule = self.demands(op, [type_] * len(args), args, None, False)
        self.emit(op, type_, args, NONE, imm, rule=rule)

    def body(self) -> None:
        chance = self.random.random
        for _ in range(self.random.randint(1, 6)):
            self.left -= 1
            if self.left < 0:
                return
            kind = chance()
            if self.runs and chance() < 0.1:
                self.several()
            elif kind < 0.42:
                self.arithmetic()
            elif kind < 0.55:
                self.assign()
            elif kind < 0.68:
                self.memory()
            elif kind < 0.72:
                self.call()
            elif kind < 0.74:
                self.crossed()
            elif kind < 0.84 and self.kinds:
                depth = self.random.randrange(len(self.kinds))
                if chance() < 0.85:
                    self.condition(ops.BR_IF, ops.BR_CMP, depth)
                elif chance() < 0.8:
                    self.emit(ops.BR, VOID, [], NONE, depth)
                    if chance() < 0.8:
                        return
                else:
                    self.ret()
                    if chance() < 0.8:
                        return
            elif len(self.kinds) < 5:
                self.bracket()

    def inside(self, kind: str) -> None:
        self.kinds.append(kind)
        self.body()
        self.kinds.pop()

    def bracket(self) -> None:
        chance = self.random.random
        kind = chance()
        scope = list(self.scope)
        if kind < 0.25:
            self.emit(ops.BLOCK, VOID, [])
            self.inside("block")
            self.scope = scope
        elif kind < 0.6:
            self.condition(ops.IF, ops.IF_CMP, 0)
            self.inside("if")
            self.scope = list(scope)
            if chance() < 0.5:
                self.emit(ops.ELSE, VOID, [])
                self.inside("if")
                self.scope = scope
        elif self.loops < 3:
            self.loops += 1
            guarded = chance() < 0.4
            if guarded:
                self.condition(ops.IF, ops.IF_CMP, 0)
                self.kinds.append("if")
            self.emit(ops.LOOP, VOID, [])
            self.inside("loop")
            if chance() < 0.9:
                # What the body defined is defined after the loop as well.
                self.condition(ops.BR_IF, ops.BR_CMP, 0)
            self.emit(ops.END, VOID, [])
            if guarded:
                self.kinds.pop()
                self.emit(ops.END, VOID, [])
                self.scope = scope
            self.loops -= 1
            return
        else:
            return
        self.emit(ops.END, VOID, [])


def random_input(seed: int, size: int = 0, fewest: int = 2, most: int = 8) -> tuple[Function, Machine]:
    """The function of a seed and the machine it is for."""
    chooser = random.Random(seed)
    target = Machine(chooser, fewest, most)
    return Generator(chooser, target, size or chooser.choice((4, 8, 12, 20, 40))).make(), target


def random_input_with_runs(seed: int) -> tuple[Function, Machine]:
    """As ``random_input``, for machines of up to 120 registers, each class's in a row, whose rules demand operands, and results, in consecutive ones."""
    chooser = random.Random(seed)
    target = Machine(chooser, 3, chooser.choice((6, 10, 40)), ordered=True)
    return Generator(chooser, target, chooser.choice((8, 12, 20, 40)), True).make(), target


def random_order(chooser: random.Random) -> str:
    """Any permutation of the 17 filters."""
    letters = list(LETTERS)
    chooser.shuffle(letters)
    return "".join(letters)


__all__ = ["LETTERS", "MASKS", "Generator", "Machine", "random_input", "random_input_with_runs", "random_order"]
