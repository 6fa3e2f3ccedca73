"""Integers that each step multiplies by a number, adds a number to, and keeps the lowest bits of, as generators of random numbers do: tables of what several steps are, for ``from_tables.py``.

``s = (s * 1103515245 + 12345) & 0x7FFFFFFF``: ``k`` steps are ``s * A[k] + B[k]``, of which the lowest bits hang on no others (F. Brown, "Random number generation with arbitrary strides", Transactions of the American Nuclear Society, 1994). An
iteration may take several steps, each of them read.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.nests.analysis.nest import Nest, NestLoop
from loopwright.nests.recurrences.stepping import BLOCK, Stepping
from loopwright.nests.rewriting.code import Code
from loopwright.nests.rewriting.unroll import read_once
from loopwright.types import BOOL, I32, I64, PTR, U32, U64, Type

__all__ = ["found", "possible", "unmasked"]

_TYPES: Final = (I64, U64, I32, U32)
#: So many steps may an iteration take.
MOST_STEPS: Final = 4


def possible(f: Function) -> bool:
    """Whether an integer is multiplied by a number in a loop, in the text; it is asked of every function."""
    depth = 0
    for instr in f.code:
        depth += int(instr.op.opens) - int(instr.op.closes)
        if depth and instr.op is ops.MUL and instr.type in _TYPES and min(instr.args) < 0 and any(a >= 0 and f.variable[a] for a in instr.args):
            return True
    return False


class _Step:
    """A step: what is multiplied by and added; the mask that is left, or -1; and where."""

    __slots__ = ("added", "factor", "links", "mask", "position")

    def __init__(self, position: int) -> None:
        self.position = position
        self.factor = 1
        self.added = 0
        self.mask = -1
        self.links: set[int] = set()


def found(nest: Nest, loop: NestLoop) -> list[Stepping]:
    """Such variables of a loop, that it reads only behind the first step of an iteration."""
    f = nest.f
    code = f.code
    writes: dict[int, list[int]] = {}
    inside: set[int] = set()
    uses: dict[int, list[int]] = {}
    depth = 0
    for k in range(loop.head + 1, loop.end):
        instr = code[k]
        depth += int(instr.op.opens) - int(instr.op.closes)
        for a in instr.args:
            uses.setdefault(a, []).append(k)
        if instr.dst >= 0:
            writes.setdefault(instr.dst, []).append(k)
            if depth:
                inside.add(instr.dst)
    result: list[Stepping] = []
    for variable, positions in writes.items():
        if not f.variable[variable] or f.types[variable] not in _TYPES or variable in inside or len(positions) > MOST_STEPS:
            continue
        steps = [_step(f, variable, position, writes, uses) for position in positions]
        if any(step is None for step in steps):
            continue
        taken = [step for step in steps if step is not None]
        links = {k for step in taken for k in step.links}
        if len({step.mask for step in taken}) > 1 or all(step.factor == 1 for step in taken):
            continue
        read = [k for k in uses.get(variable, ()) if k not in links and k not in positions]
        # (What makes a step stands behind the one before.)
        in_turn = all(k > earlier for earlier, step in zip([-1, *positions], taken, strict=False) for k in step.links)
        if read and min(read) > positions[0] and in_turn:
            result.append(_Congruence(f, variable, taken))
    return result


def _step(f: Function, variable: int, position: int, writes: dict[int, list[int]], uses: dict[int, list[int]]) -> _Step | None:
    """The step that ends at a position; None where it is something else."""
    code, values = f.code, f.const_values
    step = _Step(position)
    chain: list[tuple[ops.Op, int]] = []
    at = position
    while True:
        instr = code[at]
        of = [a for a in instr.args if a >= 0]
        numbers = [int(values[~a]) for a in instr.args if a < 0]
        if instr.type is not f.types[variable] or len(of) != 1:
            return None
        if instr.op is ops.COPY:
            pass
        elif instr.op is ops.AND and numbers and not chain and not numbers[0] & (numbers[0] + 1) and numbers[0] > 0:
            step.mask = numbers[0]
        elif instr.op in (ops.ADD, ops.MUL) or (instr.op is ops.SUB and instr.args[0] == of[0]):
            chain.append((instr.op, numbers[0]))
        elif instr.op is ops.SHL and instr.args[0] == of[0] and 0 <= numbers[0] < instr.type.bits:
            chain.append((ops.MUL, 1 << numbers[0]))
        else:
            return None
        if at != position:
            step.links.add(at)
        if of[0] == variable:
            break
        if len(writes.get(of[0], ())) != 1 or len(uses[of[0]]) != 1 or f.variable[of[0]]:
            return None
        at = writes[of[0]][0]
    for op, number in reversed(chain):
        if op is ops.MUL:
            step.factor, step.added = step.factor * number, step.added * number
        else:
            step.added += number if op is ops.ADD else -number
    return step


class _Congruence(Stepping):
    """One of them.

    Attributes:
        f: the function.
        type: its type.
        steps: what an iteration does.
        tables: by how many steps into an iteration, the numbers of the arrays with factors and with what is added.
    """

    __slots__ = ("f", "steps", "tables", "type")

    def __init__(self, f: Function, variable: int, steps: list[_Step]) -> None:
        links = {k for step in steps for k in step.links}
        super().__init__(variable, [step.position for step in steps], links, False, 0)
        self.f = f
        self.type = f.types[variable]
        self.steps = steps
        self.tables: dict[int, tuple[int, int]] = {}

    def prepare(self, front: Code) -> None:
        f, type_ = self.f, self.type
        several = [(1, 0)]
        for k in range(BLOCK * len(self.steps) + len(self.steps)):
            step = self.steps[k % len(self.steps)]
            factor, added = several[-1]
            several.append((factor * step.factor, added * step.factor + step.added))
        for number in range(len(self.steps) + 1):
            taken = several[number :: len(self.steps)][: BLOCK + 1]
            self.tables[number] = _table(f, type_, [a for a, _ in taken], "factors", front), _table(f, type_, [b for _, b in taken], "added", front)

    def value(self, code: Code, base: int, at: int, number: int) -> int:
        type_ = self.type
        factors, added = self.tables[number]
        loaded = []
        for table in (factors, added):
            loaded.append(self.f.register(type_, ""))
            code.out.append(Instr(ops.LOAD, type_, loaded[-1], [at], table, code.line))
        made = code.op(ops.ADD, code.op(ops.MUL, base, loaded[0], type_, type_), loaded[1], type_, type_)
        mask = self.steps[0].mask
        return made if mask < 0 else code.op(ops.AND, made, self.f.const(type_, mask), type_, type_)


def unmasked(f: Function, loop: NestLoop, found: list[Stepping]) -> list[Instr]:
    """The code of a loop that takes such steps without a mask, whose reads have it, so that no step waits for that; nothing where there is no mask."""
    taken = {one.variable: one for one in found if isinstance(one, _Congruence) and one.steps[0].mask >= 0}
    if not taken:
        return []
    code = f.code
    head = code[loop.head]
    out: list[Instr] = []
    emit = Code(f, loop.line, out)
    lo, hi = read_once(f, head.args[0], head.line, out), read_once(f, head.args[1], head.line, out)
    start = head.copy()
    start.args = [lo, hi, head.args[2]]
    runs = emit.op(ops.LT, lo, hi, BOOL)
    whole: dict[int, int] = {}
    for variable in taken:
        type_ = f.types[variable]
        whole[variable] = f.register(type_, f.names[variable], True)
        out.append(Instr(ops.COPY, type_, whole[variable], [variable], 0, loop.line))
    now: dict[int, int] = {}
    written = {position: one for one in taken.values() for position in one.positions}
    links = {k: one for one in taken.values() for k in one.links}
    out.append(start)
    for k in range(loop.head + 1, loop.end):
        instr = code[k].copy()
        if k in written:
            one = written[k]
            variable, type_ = one.variable, one.type
            # (It is the mask, or a copy of what has it.)
            out.append(Instr(ops.COPY, type_, whole[variable], [max(instr.args)], 0, instr.line))
            now[variable] = emit.op(ops.AND, whole[variable], f.const(type_, one.steps[0].mask), type_, type_)
            continue
        if k in links:
            one = links[k]
            if instr.op is ops.AND:
                instr = Instr(ops.COPY, instr.type, instr.dst, [max(instr.args)], 0, instr.line)
            instr.args = [whole[one.variable] if a == one.variable else a for a in instr.args]
        else:
            instr.args = [now.get(a, a) for a in instr.args]
        out.append(instr)
    out.append(code[loop.end].copy())
    for variable in taken:
        type_ = f.types[variable]
        last = emit.op(ops.AND, whole[variable], f.const(type_, taken[variable].steps[0].mask), type_, type_)
        kept = emit.select(runs, last, variable, type_)
        out.append(Instr(ops.COPY, type_, variable, [kept], 0, loop.line))
    return out


def _table(f: Function, type_: Type, numbers: list[int], name: str, front: Code) -> int:
    """The number of a constant array."""
    data = b"".join([(number & (1 << type_.bits) - 1).to_bytes(type_.size, "little") for number in numbers])
    array = f.constant_array(name, type_, (len(numbers),), data)
    number = f.arrays.index(array)
    front.out.append(Instr(ops.TABLE, PTR, array.base, [f.const(I64, number)], 0, front.line))
    return number
