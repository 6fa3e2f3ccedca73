"""Proves an allocation: symbolic execution of the allocated code against the code it was made from.

For every location (register, spill slot, stack argument, constant) the checker knows the set of virtual registers whose
present value the location certainly holds. It walks the allocated code, meets the sets by intersection where control
joins, repeats loops until nothing changes, and demands of every instruction that each operand's location holds the
operand. It shares nothing with the allocator but the target's rules.

The two codes are put side by side by their instructions other than ``copy`` and ``swap``: these must be the same, in the same
order. Copies need no partner, because a copy before allocation only says that two virtual registers are equal, and a
copy afterwards only that two locations are; between two other instructions the two kinds may be taken in any order.

The idea of comparing locations with virtual registers along all paths is that of the checker of Cranelift's regalloc2 and of Rideau
and Leroy, *Validating Register Allocation and Spilling*, CC 2010.
"""

from __future__ import annotations

from typing import Final

from loopwright.errors import InternalError
from loopwright.ir import ops
from loopwright.ir.function import INCOMING, SLOT, SPILL, Function, Instr
from loopwright.ir.roles import is_known_address, same_known_address
from loopwright.ir.text import instruction_text, print_function
from loopwright.targets.target import ANY_REGISTER, Rule, Run, Target, Use
from loopwright.types import VOID, Type

__all__ = ["check"]

# What a step of the walk is: an instruction of one code or of both.
_NAME: Final = 0  # a copy before allocation: another name for a value
_MOVE: Final = 1  # a copy or swap afterwards: another place for a value
_BOTH: Final = 2  # the same instruction in both
_SPLIT: Final = 3  # a conditional branch, afterwards an if around moves and …
_TAKEN: Final = 4  # … the branch …
_JOIN: Final = 5  # … and its end


class _Step:
    """One step of the walk: ``before`` and ``after`` are the instructions (None where there is none), ``at`` the index in the allocated code."""

    __slots__ = ("after", "at", "before", "kind")

    def __init__(self, kind: int, before: Instr | None, after: Instr | None, at: int) -> None:
        self.kind = kind
        self.before = before
        self.after = after
        self.at = at


def check(before: Function, after: Function, target: Target) -> None:
    """Prove that ``after`` is ``before`` with its values in registers and slots.

    Args:
        before: lowered code; virtual registers, every instruction with its rule.
        after: what the allocator made of it, with or without the frame instructions of the ``allocate`` pass.
        target: what both are for.

    Raises:
        InternalError: the allocation is wrong. The message has the instruction, the location, what it should hold and what it holds.
    """
    _Checker(before, after, target).run()


def reachable(code: list[Instr]) -> list[int]:
    """Indices of what control can reach (without the unreachable branches), with the ``else`` and ``end`` of every bracket that it can enter."""
    kept: list[int] = []
    # Per open bracket: whether something arrives at its end, and whether an if of it has had its else.
    arrives: list[bool] = []
    kinds: list[ops.Op] = []
    live = True
    skipping = 0
    for k in range(len(code)):
        instr = code[k]
        op = instr.op
        if skipping:
            if op is ops.END:
                skipping -= 1
            elif op.opens and op is not ops.ELSE:
                skipping += 1
            continue
        if op is ops.ELSE:
            arrives[-1] = arrives[-1] or live
            kinds[-1] = ops.ELSE
            live = True
            kept.append(k)
            continue
        if op is ops.END:
            kind = kinds.pop()
            arrived = arrives.pop()
            if kind is not ops.LOOP:
                live = live or arrived or (kind is not ops.BLOCK and kind is not ops.ELSE)
            kept.append(k)
            continue
        if not live:
            if op.opens:
                skipping = 1
            continue
        kept.append(k)
        if op.opens:
            kinds.append(op)
            arrives.append(False)
        elif op is ops.BR or op is ops.BR_IF or op.compare:
            place = len(arrives) - 1 - instr.imm
            if place >= 0 and kinds[place] is not ops.LOOP:
                arrives[place] = True
            if op is ops.BR:
                live = False
        elif op is ops.RET:
            live = False
    return kept


def _is_branch(op: ops.Op) -> bool:
    return op is ops.BR_IF or (op.compare != "" and not op.opens)


def _is_move(op: ops.Op) -> bool:
    return op is ops.COPY or op is ops.SWAP


class _Checker:
    """One proof.

    A state is a list with, per location, the set of values it holds as a bit mask: bit v for virtual register v, and above
    them a bit per constant.
    Locations are numbered: physical registers, then places in the frame, then constants (which hold themselves). Behind them, at
    ``everywhere``, are the variables that nothing has been written to yet: what they hold does not matter, so every location holds it.
    """

    __slots__ = (
        "after",
        "again",
        "before",
        "carried",
        "constants",
        "copied",
        "definitions",
        "everywhere",
        "head_of",
        "locations",
        "names",
        "new",
        "old",
        "overlaps",
        "places",
        "registers",
        "slot_at",
        "steps",
        "target",
        "values",
        "width_of",
        "written",
    )

    def __init__(self, before: Function, after: Function, target: Target) -> None:
        self.before = before
        self.after = after
        self.target = target
        self.values = len(before.types)
        self.registers = len(target.registers)
        self.steps: list[_Step] = []
        self.written = 0
        #: location of each slot number; places are (kind, offset, size), the same for slots that are the same bytes.
        self.slot_at: list[int] = []
        self.places: list[tuple[int, int, int]] = []
        known: dict[tuple[int, int, int], int] = {}
        for slot in after.slots:
            place = (slot.kind, slot.offset, slot.size)
            at = known.get(place, -1)
            if at < 0:
                at = self.registers + len(self.places)
                known[place] = at
                self.places.append(place)
            self.slot_at.append(at)
        #: per place, the others that share bytes with it
        self.overlaps: list[list[int]] = [
            [
                self.registers + n
                for n, other in enumerate(self.places)
                if n != m and other[0] == place[0] and other[1] < place[1] + place[2] and place[1] < other[1] + other[2]
            ]
            for m, place in enumerate(self.places)
        ]
        self.locations = self.registers + len(self.places)
        #: locations a value defined by a copy can be in, constants included
        #: What certain instructions make anywhere counts as constants, behind those of the table, and they as copies of these.
        self.again: list[Instr] = []
        self.old = [self.plain(instr) for instr in before.code]
        self.new = [self.plain(instr) for instr in after.code]
        self.constants = len(before.const_values) + len(self.again)
        self.everywhere = self.locations + self.constants
        self.width_of: list[int] = [self.width(type_) for type_ in before.types] + [self.width(type_) for type_ in before.const_types]
        self.width_of += [self.width(instr.type) for instr in self.again]
        #: by width, the values that a move of that width carries whole
        self.carried: dict[int, int] = {}
        self.copied: set[int] = set()
        #: what is a copy of what, since the last bracket or branch
        self.names: dict[int, int] = {}
        #: by virtual register, how often it is defined
        self.definitions = [0] * self.values
        for v in before.params:
            self.definitions[v] += 1
        for instr in before.code:
            if instr.dst >= 0:
                self.definitions[instr.dst] += 1
        self.head_of: list[int] = []

    def plain(self, instr: Instr) -> Instr:
        """The instruction, or the copy that stands for it."""
        if not is_known_address(instr):
            return instr
        known = 0
        while known < len(self.again) and not same_known_address(self.again[known], instr):
            known += 1
        if known == len(self.again):
            self.again.append(instr)
        return Instr(ops.COPY, instr.type, instr.dst, [~(len(self.before.const_values) + known)], 0, instr.line)

    # --- errors -------------------------------------------------------------------------------------------

    def fail(self, step: _Step | None, problem: str) -> InternalError:
        """The error, with both codes."""
        where = ""
        if step is not None:
            parts: list[str] = []
            if step.before is not None:
                parts.append(f"`{self.text_before(step.before)}`")
            if step.after is not None:
                parts.append(f"`{instruction_text(self.after, step.after, self.target)}`")
            where = f" at {step.at}, {', allocated as '.join(parts)}"
        shown = self.shown_before()
        text = print_function(self.after, self.target) + "\n; made from:\n" + print_function(shown, self.target)
        return InternalError(f"wrong allocation of {self.before.name}{where}: {problem}", text)

    def shown_before(self) -> Function:
        return self.before

    def text_before(self, instr: Instr) -> str:
        return instruction_text(self.before, instr, self.target)

    def value_text(self, v: int) -> str:
        """A value as printed: a virtual register, or a constant."""
        if v >= 0:
            name = self.before.names[v]
            return f"%{name}.{v}" if name else f"%{v}"
        if ~v >= len(self.before.const_values):
            return self.text_before(self.again[~v - len(self.before.const_values)])
        return f"constant {self.before.const_values[~v]}:{self.before.const_types[~v].name}"

    def location_text(self, operand: int) -> str:
        if operand >= SLOT:
            slot = self.after.slots[operand - SLOT] if operand - SLOT < len(self.after.slots) else None
            return f"@s{operand - SLOT}" + (f" ({'argument' if slot.kind == INCOMING else 'frame'} offset {slot.offset})" if slot is not None else "")
        if operand < 0:
            return self.value_text(operand)
        return f"${self.target.registers[operand].name}" if operand < self.registers else f"${operand}"

    def held_text(self, held: int) -> str:
        names: list[str] = []
        while held:
            low = held & -held
            v = low.bit_length() - 1
            if v < self.values + self.constants:
                names.append(self.value_text(v if v < self.values else ~(v - self.values)))
            held ^= low
        return ", ".join(names) if names else "nothing known"

    # --- the two codes side by side -------------------------------------------------------------------------

    def align(self) -> None:
        """Pair the instructions of the two codes."""
        old = [self.old[k] for k in reachable(self.old)]
        code = self.new
        new = reachable(code)
        steps = self.steps
        framed = bool(code) and code[0].op is ops.PROLOGUE
        if framed:
            new = new[1:]
        n = 0
        i = 0
        while True:
            while i < len(old) and _is_move(old[i].op):
                if old[i].op is ops.SWAP:
                    raise self.fail(None, "there is a swap before allocation")
                self.copied.add(old[i].dst)
                steps.append(_Step(_NAME, old[i], None, new[n] if n < len(new) else len(code)))
                i += 1
            while n < len(new) and (_is_move(code[new[n]].op) or code[new[n]].op is ops.EPILOGUE):
                if code[new[n]].op is ops.EPILOGUE:
                    if n + 1 >= len(new) or code[new[n + 1]].op is not ops.RET:
                        raise self.fail(_Step(_MOVE, None, code[new[n]], new[n]), "the frame is undone without returning")
                else:
                    steps.append(_Step(_MOVE, None, code[new[n]], new[n]))
                n += 1
            if i == len(old) or n == len(new):
                break
            a = code[new[n]]
            b = old[i]
            step = _Step(_BOTH, b, a, new[n])
            if a.op is ops.RET and framed and code[new[n] - 1].op is not ops.EPILOGUE:
                raise self.fail(step, "the frame is not undone before returning")
            if a.op is b.op:
                if not _alike(b, a):
                    raise self.fail(step, "not the same instruction")
                steps.append(step)
                i += 1
                n += 1
            elif _is_branch(b.op) and a.op.opens and a.op.compare == b.op.compare and (a.op is ops.IF or a.op.compare != ""):
                step.kind = _SPLIT
                if a.type is not b.type or a.source is not b.source or not _same_mem(b, a):
                    raise self.fail(step, "not the same condition")
                steps.append(step)
                n += 1
                while n < len(new) and _is_move(code[new[n]].op):
                    steps.append(_Step(_MOVE, None, code[new[n]], new[n]))
                    n += 1
                if n + 1 >= len(new) or code[new[n]].op is not ops.BR or code[new[n]].imm != b.imm + 1 or code[new[n + 1]].op is not ops.END:
                    raise self.fail(step, "the moves of a conditional branch are not followed by that branch")
                steps.append(_Step(_TAKEN, b, code[new[n]], new[n]))
                steps.append(_Step(_JOIN, None, code[new[n + 1]], new[n + 1]))
                n += 2
                i += 1
            else:
                raise self.fail(step, "not the same instruction")
        if i < len(old):
            raise self.fail(_Step(_BOTH, old[i], None, len(code)), "the instruction is missing")
        if n < len(new):
            last = code[new[n]]
            if last.op is ops.RET and not last.args and n == len(new) - 1 and self.after.result is VOID:
                return
            raise self.fail(_Step(_BOTH, None, last, new[n]), "the instruction has no counterpart before allocation")

    # --- states ---------------------------------------------------------------------------------------------

    def width(self, type_: Type) -> int:
        """Bits of a register that a value of a type takes up."""
        return self.target.register_bits(type_)

    def whole(self, type_: Type) -> int:
        """The values that a move of this type carries whole."""
        width = self.width(type_)
        known = self.carried.get(width)
        if known is None:
            known = _mask([bits <= width for bits in self.width_of])
            self.carried[width] = known
        return known

    def entry(self) -> list[int]:
        """The state at the function's beginning: parameters where the convention puts them."""
        f = self.before
        unwritten = _mask(f.variable)
        for p in f.params:
            unwritten &= ~(1 << p)
        state = [unwritten] * self.locations + [1 << (self.values + c) for c in range(self.constants)] + [unwritten]
        places = self.target.convention.assign([f.types[p] for p in f.params], -1, f.places)
        incoming = {place[1]: self.registers + n for n, place in enumerate(self.places) if place[0] == INCOMING}
        for p, place in zip(f.params, places, strict=True):
            if place >= 0:
                state[place] |= 1 << p
            elif ~place in incoming:
                state[incoming[~place]] |= 1 << p
        return state

    def locate(self, step: _Step, operand: int) -> int:
        """The number of an operand's location."""
        if operand < 0:
            if ~operand >= self.constants:
                raise self.fail(step, f"there is no constant {~operand}")
            return self.locations + ~operand
        if operand >= SLOT:
            if operand - SLOT >= len(self.slot_at):
                raise self.fail(step, f"there is no slot {operand - SLOT}")
            return self.slot_at[operand - SLOT]
        if operand >= self.registers:
            raise self.fail(step, f"there is no register {operand}")
        return operand

    def redefine(self, state: list[int], v: int) -> None:
        """Nothing holds the value of ``v`` any more.

        What one instruction alone defines, and is no variable, nothing holds in front of it: the walk is in the order of the text, and the states it goes back to are
        those at the heads of loops, which only ever lose values.
        """
        if self.definitions[v] == 1 and not self.before.variable[v]:
            return
        mask = ~(1 << v)
        for n in range(self.everywhere if v in self.copied else self.locations):
            state[n] &= mask
        state[self.everywhere] &= mask
        if self.names:
            self.names = {name: source for name, source in self.names.items() if v not in (name, source)}

    def write(self, step: _Step, state: list[int], location: int, held: int) -> None:
        """A location is overwritten with something that is all of ``held``."""
        unwritten = state[self.everywhere]
        state[location] = held | unwritten
        if location < self.registers:
            self.written |= 1 << location
        else:
            for other in self.overlaps[location - self.registers]:
                state[other] = unwritten

    # --- instructions ---------------------------------------------------------------------------------------

    def name(self, step: _Step, state: list[int]) -> None:
        """A copy before allocation."""
        copy = step.before
        assert copy is not None
        source = copy.args[0]
        if source == copy.dst:
            return
        self.redefine(state, copy.dst)
        if source >= 0:
            self.names[copy.dst] = source
        old = 1 << (source if source >= 0 else self.values + ~source)
        new = 1 << copy.dst
        for n in range(self.everywhere + 1):
            if state[n] & old:
                state[n] |= new

    def move(self, step: _Step, state: list[int]) -> None:
        """A copy or swap after allocation."""
        a = step.after
        assert a is not None
        cls = self.target.class_of(a.type)
        if a.op is ops.SWAP:
            x, y = a.args
            if not (0 <= x < self.registers and 0 <= y < self.registers):
                raise self.fail(step, "only registers can be exchanged")
            if self.target.registers[x].cls != cls or self.target.registers[y].cls != cls:
                raise self.fail(step, f"an exchange of registers that do not hold {a.type.name}")
            whole = self.whole(a.type)
            held = state[x] & whole
            self.write(step, state, x, state[y] & whole)
            self.write(step, state, y, held)
            return
        rule: Rule | None = a.rule
        source = a.args[0]
        to = self.locate(step, a.dst)
        at = self.locate(step, source)
        if a.dst < 0 or (a.dst >= SLOT and not 0 <= source < SLOT):
            raise self.fail(step, "a copy into memory takes a register")
        if a.dst < SLOT and self.target.registers[a.dst].cls != cls and not (a.type.is_float and self.target.convention.floats_in_ints):
            raise self.fail(step, f"{self.location_text(a.dst)} is no register for {a.type.name}")
        for operand in (a.dst, source):
            if operand >= SLOT and self.target.spill_size(a.type) > self.after.slots[operand - SLOT].size:
                raise self.fail(step, f"{self.location_text(operand)} is too small for {a.type.name}")
        if rule is not None and len(a.args) > 1:
            self.scratch(step, state, a, rule, 1)
        held = state[at]
        kept = held & self.whole(a.type)
        for name, source in self.names.items():
            # A copy of something narrower, whose registers hold it extended: what carries that whole carries the copy.
            if held >> name & 1 and kept >> source & 1:
                kept |= 1 << name
        self.write(step, state, to, kept)

    def scratch(self, step: _Step, state: list[int], a: Instr, rule: Rule, count: int) -> None:
        """The scratch registers behind the ``count`` operands."""
        for n in range(len(rule.temps)):
            r = a.args[count + n]
            if not 0 <= r < self.registers or self.target.registers[r].cls != rule.temps[n]:
                raise self.fail(step, f"{self.location_text(r)} cannot be scratch register {n}")
            for other in range(len(a.args)):
                if other != count + n and a.args[other] == r:
                    raise self.fail(step, f"scratch register {self.location_text(r)} is an operand or scratch register besides")
            if a.dst == r:
                raise self.fail(step, f"scratch register {self.location_text(r)} is the result's")
            if rule.clobbers >> r & 1:
                raise self.fail(step, f"scratch register {self.location_text(r)} is destroyed by the instruction")
            self.write(step, state, r, 0)

    def uses_of_run(self, step: _Step, rule: Rule, run: Run, args: list[int]) -> tuple[Use, ...]:
        """The demands of a rule whose run of registers begins with that of its first operand."""
        uses = list(rule.uses)
        base = args[run.first]
        self.check_run(step, run, uses[run.first].cls, base)
        for n in range(run.count):
            use = uses[run.first + n]
            uses[run.first + n] = Use(use.cls, base + n, late=use.late)
        return tuple(uses)

    def check_run(self, step: _Step, run: Run, cls: int, base: int) -> None:
        """Whether a run of registers of a class may begin with one."""
        mask = self.target.class_masks[cls]
        lowest = (mask & -mask).bit_length() - 1
        if not 0 <= base < self.registers or (base - lowest) % run.align or ((1 << run.count) - 1 << base) & ~mask:
            raise self.fail(step, f"no run of {run.count} registers begins with {self.location_text(base)}")

    def several_results(self, step: _Step, state: list[int], a: Instr, rule: Rule) -> None:
        """The results of an instruction with several that follow the first.

        A bit for each above those of values and constants says that a register holds it, from the instruction to the ``part`` that gives it its name.
        """
        first = self.values + self.constants
        for n in range(self.locations):
            state[n] &= (1 << first) - 1
        run = rule.results
        left = [a.dst]
        if run is not None:
            assert rule.result is not None
            self.check_run(step, run, rule.result.cls, a.dst)
            left = list(range(a.dst, a.dst + run.count))
        left += [place if place >= 0 else a.args[~place] for place in rule.parts]
        for n in range(1, len(left)):
            if left[n] in left[:n]:
                raise self.fail(step, f"two results are left in {self.location_text(left[n])}")
            self.write(step, state, left[n], 1 << first + n)

    def part(self, step: _Step, state: list[int], a: Instr) -> None:
        """The one of them that gets its name."""
        first = self.values + self.constants
        if not state[a.dst] >> first + a.imm & 1:
            raise self.fail(step, f"{self.location_text(a.dst)} does not hold result {a.imm} of the instruction in front")

    def operand(self, step: _Step, state: list[int], use: Use, j: int, v: int, given: int, held: int) -> None:
        """One operand of an instruction: may it be there, and is the value there?"""
        if use.fixed != ANY_REGISTER:
            if given != use.fixed:
                raise self.fail(step, f"operand {j} must be in {self.location_text(use.fixed)}, not in {self.location_text(given)}")
        elif v < 0:
            if given != v:
                raise self.fail(step, f"operand {j} must be {self.value_text(v)}, not {self.location_text(given)}")
        elif 0 <= given < SLOT:
            if self.target.registers[given].cls != use.cls:
                raise self.fail(step, f"operand {j} cannot be in {self.location_text(given)}: another class of registers")
        else:
            if not use.memory:
                raise self.fail(step, f"operand {j} cannot be taken from memory: {self.location_text(given)}")
            if given >= SLOT and self.target.spill_size(self.before.types[v]) > self.after.slots[given - SLOT].size:
                raise self.fail(step, f"{self.location_text(given)} is too small for {self.value_text(v)}")
        if not held >> (v if v >= 0 else self.values + ~v) & 1:
            raise self.fail(
                step, f"operand {j} must be {self.value_text(v)}; {self.location_text(given)} holds {self.held_text(held & ~state[self.everywhere])}"
            )

    def instruction(self, step: _Step, state: list[int]) -> None:
        """An instruction that is in both codes."""
        b, a = step.before, step.after
        assert b is not None and a is not None
        rule: Rule | None = b.rule
        if rule is None:
            if b.args or b.dst >= 0:
                raise self.fail(step, "no rule says how the target does it")
            return
        args = a.args
        count = len(b.args)
        if len(args) != count + len(rule.temps):
            raise self.fail(step, f"{count} operands and {len(rule.temps)} scratch registers expected, {len(args)} found")
        bits = rule.clobbers
        while bits:
            low = bits & -bits
            self.write(step, state, low.bit_length() - 1, 0)
            bits ^= low
        uses = rule.uses if rule.run is None else self.uses_of_run(step, rule, rule.run, args)
        in_memory = b.mem is not None
        for j in range(count):
            v, given = b.args[j], args[j]
            self.operand(step, state, uses[j], j, v, given, state[self.locate(step, given)])
            if v >= 0 and not 0 <= given < SLOT:
                if in_memory:
                    raise self.fail(step, f"operand {j} is in memory ({self.location_text(given)}), and another one is too")
                in_memory = True
        if rule.temps:
            self.scratch(step, state, a, rule, count)
        bits = rule.kills
        while bits:
            low = bits & -bits
            r = low.bit_length() - 1
            state[r] = state[self.everywhere]
            if b.op.effect != ops.CALLS:
                # What a callee destroys of the preserved registers is not the caller's to save.
                self.written |= low
            bits ^= low
        if b.dst < 0:
            if a.dst >= 0:
                raise self.fail(step, "a result where there is none")
            return
        self.result(step, state, b, a, rule, count)

    def result(self, step: _Step, state: list[int], b: Instr, a: Instr, rule: Rule, count: int) -> None:
        """What an instruction defines."""
        dst = a.dst
        result = rule.result
        assert result is not None
        if not 0 <= dst < self.registers:
            raise self.fail(step, "the result must be in a register")
        if rule.results is not None or rule.parts:
            self.several_results(step, state, a, rule)
        if a.op is ops.PART:
            self.part(step, state, a)
        elif result.fixed >= 0 and dst != result.fixed:
            raise self.fail(step, f"the result must be in {self.location_text(result.fixed)}, not in {self.location_text(dst)}")
        if result.fixed == ANY_REGISTER and self.target.registers[dst].cls != result.cls:
            raise self.fail(step, f"the result cannot be in {self.location_text(dst)}: another class of registers")
        for j in range(count):
            if rule.uses[j].late and dst <= a.args[j] < dst + (rule.results.count if rule.results is not None else 1):
                raise self.fail(step, f"operand {j} is read after the result is written, and shares {self.location_text(dst)} with it")
        tied = rule.tied
        if tied >= 0 and rule.clobbers >> dst & 1:
            raise self.fail(step, f"operand {tied} must be brought into {self.location_text(dst)}, which is destroyed before operands are read")
        if tied >= 0 and a.args[tied] != dst:
            # The lower-late pass exchanges the operands, or copies the tied one into the result's register first.
            if rule.commutes and a.args[1 - tied] == dst:
                if b.args[tied] >= 0 and not 0 <= a.args[tied] < SLOT and not rule.uses[1 - tied].memory:
                    raise self.fail(step, f"operand {tied} is in memory, where operand {1 - tied}, with which it must be exchanged, cannot be")
            else:
                for j in range(count):
                    if j != tied and a.args[j] == dst:
                        raise self.fail(step, f"operand {j} is overwritten by operand {tied}, which must be brought into {self.location_text(dst)} first")
        self.redefine(state, b.dst)
        self.write(step, state, dst, 1 << b.dst)

    # --- the walk -------------------------------------------------------------------------------------------

    def run(self) -> None:
        self.align()
        self.walk()
        self.frame()

    def walk(self) -> None:
        """Execute symbolically until the states at the heads of loops no longer change."""
        steps = self.steps
        state: list[int] | None = self.entry()
        stack: list[int] = []
        #: by the step of the opening bracket: what arrives at its end; at a loop's head; at an if's other side
        arriving: dict[int, list[int] | None] = {}
        heads: dict[int, list[int]] = {}
        others: dict[int, list[int]] = {}
        changed: set[int] = set()
        passed_by: list[int] | None = None
        i = -1
        while i + 1 < len(steps):
            i += 1
            step = steps[i]
            kind = step.kind
            if kind == _NAME:
                if state is not None:
                    self.name(step, state)
                continue
            if kind == _MOVE:
                if state is not None:
                    self.move(step, state)
                continue
            if kind == _JOIN:
                state = passed_by
                continue
            b = step.before
            assert b is not None
            op = b.op
            if op.effect == ops.CONTROL and self.names:
                self.names = {}
            if op is ops.BLOCK:
                stack.append(i)
                arriving[i] = None
            elif op is ops.LOOP:
                assert state is not None
                stack.append(i)
                known = heads.get(i)
                if known is not None:
                    state = _meet(known, state)
                heads[i] = list(state)
            elif op is ops.ELSE:
                opener = stack[-1]
                arriving[opener] = _join(arriving[opener], state)
                state = others.pop(opener)
            elif op is ops.END:
                opener = stack.pop()
                if opener in heads:
                    if opener in changed:
                        changed.discard(opener)
                        stack.append(opener)
                        state = list(heads[opener])
                        i = opener
                    continue
                state = _join(arriving[opener], state)
                if opener in others:
                    state = _join(state, others.pop(opener))
            elif state is None:
                raise self.fail(step, "the checker lost its way")
            elif op is ops.BR or kind == _TAKEN:
                self.branch(stack[len(stack) - 1 - b.imm], state, arriving, heads, changed)
                state = None
            else:
                self.instruction(step, state)
                if kind == _SPLIT:
                    passed_by = list(state)
                elif op.opens:
                    stack.append(i)
                    arriving[i] = None
                    others[i] = list(state)
                elif _is_branch(op):
                    self.branch(stack[len(stack) - 1 - b.imm], state, arriving, heads, changed)
                elif op is ops.RET:
                    state = None

    def branch(self, opener: int, state: list[int], arriving: dict[int, list[int] | None], heads: dict[int, list[int]], changed: set[int]) -> None:
        """Control goes to a bracket with this state."""
        head = heads.get(opener)
        if head is None:
            arriving[opener] = _join(arriving[opener], list(state))
            return
        met = _meet(head, state)
        if met != head:
            heads[opener] = met
            changed.add(opener)

    def frame(self) -> None:
        """Does the frame keep what it must keep, and has it room for the slots?"""
        frame = self.after.frame
        if frame is None:
            raise self.fail(None, "there is no frame")
        preserved = self.target.convention.callee_saved
        lost = self.written & preserved
        for r in frame.saved:
            lost &= ~(1 << r)
        if lost:
            raise self.fail(None, f"{self.location_text(lost.bit_length() - 1)} must be preserved, is written, and is not saved in the frame")
        if len(set(frame.saved)) != len(frame.saved):
            raise self.fail(None, "a register is saved twice in the frame")
        for slot in self.after.slots:
            if slot.kind == SPILL and (slot.offset < 0 or slot.offset + slot.size > frame.size or slot.offset % slot.size or slot.size > frame.align):
                raise self.fail(None, f"a slot of {slot.size} bytes at {slot.offset} does not fit into a frame of {frame.size} bytes aligned to {frame.align}")
        for instr in self.after.code:
            if instr.op is ops.STORE_ARG and instr.imm + 8 > frame.outgoing:
                raise self.fail(None, f"the frame leaves {frame.outgoing} bytes for stack arguments, of which one is at {instr.imm}")
            if instr.op.effect == ops.CALLS and not frame.calls:
                raise self.fail(None, "the frame does not know of the calls")


def _mask(bits: list[bool]) -> int:
    """Bit v for the v-th of a list, without a number as long as the list for each of them."""
    return int("".join(["1" if bit else "0" for bit in reversed(bits)]) or "0", 2)


def _alike(b: Instr, a: Instr) -> bool:
    return a.type is b.type and a.source is b.source and a.imm == b.imm and _same_mem(b, a)


def _same_mem(b: Instr, a: Instr) -> bool:
    x, y = b.mem, a.mem
    if x is y:
        return True
    if x is None or y is None:
        return False
    return (
        x.indexed == y.indexed
        and x.scale == y.scale
        and x.disp == y.disp
        and x.size == y.size
        and x.broadcast == y.broadcast
        and x.role == y.role
        and x.origin is y.origin
    )


def _meet(x: list[int], y: list[int]) -> list[int]:
    """What both states agree on."""
    return [x[n] & y[n] for n in range(len(x))]


def _join(x: list[int] | None, y: list[int] | None) -> list[int] | None:
    """The state where two ways join, of which either may not exist."""
    if x is None:
        return y
    return x if y is None else _meet(x, y)
