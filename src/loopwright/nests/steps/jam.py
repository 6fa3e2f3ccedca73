"""Unroll-and-jam: several iterations of an enclosing loop as one, the inner loops of them made one loop.

::

    for i = lo, hi, s                  stop = lo + (hi - lo rounded down to a multiple of U*s)
      front                            for i = lo, stop, U*s
      for j = a, b                       front(i) … front(i + (U-1)*s)
        body                             for j = a, b
      end                     →            body(i) … body(i + (U-1)*s)
      back                               end
    end                                  back(i) … back(i + (U-1)*s)
                                       end
                                       for i = stop, hi, s … as before … end

S. Carr, C. Ding and P. Sweany, "Improving software pipelining with unroll-and-jam", HICSS 1996; the condition is theirs, for loops with anything
in front of, between and behind their inner loops.
"""

from __future__ import annotations

from collections.abc import Sequence

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.brackets import end_of, match
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.analysis.dependence import Dependence
from loopwright.nests.analysis.nest import Nest, NestLoop
from loopwright.nests.analysis.omega import LOWEST
from loopwright.nests.analysis.scalars import PRIVATE, Scalar, any_order
from loopwright.nests.rewriting.unroll import clone, last_multiple, read_once
from loopwright.types import I64, VOID
from loopwright.vectors.side_by_side import Test, around, write_test

__all__ = ["Refusal", "begin_parts", "combine", "invariant", "jam", "refusal", "stop_of", "unroll_and_jam"]


class Refusal:
    """Why loops are not rewritten: a sentence, the user's line, and the dependence, where it is one."""

    __slots__ = ("because", "dependence", "line")

    def __init__(self, because: str, line: int, dependence: Dependence | None = None) -> None:
        self.because = because
        self.line = line
        self.dependence = dependence


def refusal(
    nest: Nest, loop: NestLoop, factor: int, found: list[Dependence], variables: list[Scalar], lanes: Sequence[NestLoop] = (), slant: int = 0
) -> Refusal | None:
    """What keeps ``factor`` iterations of ``loop`` from being jammed, or None.

    Args:
        nest: the nest.
        loop: the loop to unroll.
        factor: how many of its iterations become one, at least 2.
        found: the nest's dependences.
        variables: what its variables carry.
        lanes: the loops that are to be over lanes.
        slant: by how many iterations of the loop inside each is to run behind the one before.
    """
    for line, because in nest.obstacles:
        return Refusal(because, line)
    if loop.step == 0:
        return Refusal("its steps are not known", loop.line)
    for inner in nest.loops:
        if inner.number > loop.number and inner.head < loop.end:
            if inner.step == 0:
                return Refusal("it holds a loop whose steps are not known", inner.line)
            if not invariant(nest, inner, loop):
                return Refusal(f"the bounds of {nest.name(inner)} change with {nest.name(loop)}", inner.line)
    for scalar in variables:
        if scalar.loop is loop:
            name = nest.f.names[scalar.variable] or "a variable"
            if any_order(nest.f, scalar):
                continue
            if scalar.kind != PRIVATE:
                return Refusal(f"an iteration of {nest.name(loop)} reads what the one before has left in {name}", scalar.line)
            if _outlives(nest, loop, scalar.variable):
                return Refusal(f"{name} is read after the loop over {nest.name(loop)}", scalar.line)
    parts = _parts(nest, loop)
    for dependence in found:
        if _reversed(dependence, loop, factor, parts, lanes, slant) and not (slant and _early(nest, dependence, loop, slant)):
            return Refusal(f"{factor} iterations of {nest.name(loop)} at once would do the second of two accesses first", dependence.sink.line, dependence)
    return None


def invariant(nest: Nest, inner: NestLoop, loop: NestLoop) -> bool:
    """Whether the bounds of a loop are the same in all iterations of one around it, with the indices of the loops between them given."""
    operands = nest.f.code[inner.head].args
    indices = nest.indices
    for operand in (operands[0], operands[1]):
        form = nest.forms.of(operand)
        if form is None:
            return False
        between = [value for value in form.terms if value in indices and loop.head < indices[value].head]
        if between:
            form = Form(form.constant, {value: c for value, c in form.terms.items() if value not in between})
        if nest.forms.depends(form, loop.head, loop.end):
            return False
    return True


def _outlives(nest: Nest, loop: NestLoop, variable: int) -> bool:
    """Whether something outside of a loop names a variable."""
    first, last = nest.mentions[variable]
    return first < loop.head or last > loop.end


class _Part:
    """A part of a loop's body: a loop that copies share, or code of which each copy has its own.

    Attributes:
        start, end: where it is, brackets included.
        shared: it is a loop that copies share, or a branch.
        parts: what is in such a loop or branch.
        test: of a loop that lanes leave, how it asks whether one is left; ``parts`` are in front of that.
        behind: and these behind it; or what is behind the ``else`` of a branch.
    """

    __slots__ = ("behind", "end", "parts", "shared", "start", "test")

    def __init__(self, start: int, end: int, shared: bool) -> None:
        self.start = start
        self.end = end
        self.shared = shared
        self.parts: list[_Part] = []
        self.behind: list[_Part] = []
        self.test: Test | None = None


def _parts(nest: Nest, loop: NestLoop) -> list[_Part]:
    """The body of a loop in parts: its ``for`` loops, and the stretches between them, positions from ``start`` up to ``end``, brackets of a loop included."""
    code = nest.f.code
    return _split(code, {loop.head + k: loop.head + other for k, other in enumerate(match(code[loop.head : loop.end + 1]))}, loop.head + 1, loop.end)


def _split(
    code: list[Instr], partner: dict[int, int], start: int, end: int, shared: dict[int, Test | None] | None = None, common: int | None = None
) -> list[_Part]:
    """What is between two places in parts: the loops that are ``shared``, those that lanes leave among them, by default all of ``for``, and what is between them.

    Branches by a condition that is ``common`` to all copies are shared as well.
    """
    parts: list[_Part] = []
    begun = start
    k = start
    while k < end:
        op = code[k].op
        block = op is ops.BLOCK and shared is not None and k + 1 in shared and around(code, k, partner)
        left = shared.get(k + block) if shared is not None else None
        if (op is ops.FOR if shared is None else k + block in shared) or (op is ops.IF and code[k].args[0] == common):
            if begun < k:
                parts.append(_Part(begun, k, False))
            last = end_of(code, partner, k)
            other = partner[k] if op is ops.IF else last
            made = _Part(k, last + 1, True)
            made.test = left
            made.parts = _split(code, partner, k + 1 + block, left.start if left is not None else other, shared, common)
            if left is not None:
                made.behind = _split(code, partner, left.end, last - block, shared, common)
            elif other < last:
                made.behind = _split(code, partner, other + 1, last, shared, common)
            parts.append(made)
            k = begun = last + 1
        elif op.opens:
            # Loops inside of other brackets are not shared.
            k = end_of(code, partner, k) + 1
        else:
            k += 1
    if begun < end:
        parts.append(_Part(begun, end, False))
    return parts


def _place(parts: list[_Part], position: int) -> int:
    for number, part in enumerate(parts):
        if part.start <= position < part.end:
            return number
    return -1


def _reversed(dependence: Dependence, loop: NestLoop, factor: int, parts: list[_Part], lanes: Sequence[NestLoop], slant: int) -> bool:
    """Whether jamming may put the sink of a dependence before its source.

    A later iteration of a loop over lanes may be in the same vector: there it is the text that says which of them is first.
    """
    loops = dependence.loops
    depth = loop.depth
    if depth >= len(loops) or loops[depth] is not loop:
        return False
    vector = dependence.vector
    for k in range(depth):
        if not vector[k].low <= 0 <= vector[k].high:
            # An outer loop carries it.
            return False
    if vector[depth].high < 1 or vector[depth].low >= factor:
        # One iteration, or too far away for two of those that become one.
        return False
    here = parts
    for k in range(depth + 1, len(loops) + 1):
        source, sink = _place(here, dependence.source.position), _place(here, dependence.sink.position)
        if source != sink:
            return source > sink
        if source < 0 or not here[source].shared:
            # Copies follow each other.
            return False
        low = vector[k].low
        if k == depth + 1 and low != LOWEST:
            low += slant * max(1, vector[depth].low)
        if low < 0:
            return True
        if low > 0 and loops[k] not in lanes:
            return False
        here = here[source].parts
    return False


def _early(nest: Nest, dependence: Dependence, loop: NestLoop, slant: int) -> bool:
    """Whether a dependence from an inner loop to what is in front of it is one of the loop's first ``slant`` iterations only.

    Of rows that run so many iterations behind each other those come before what is in front of the next row.
    """
    source, sink = dependence.source, dependence.sink
    if len(source.loops) <= loop.depth + 1 or len(sink.loops) > loop.depth + 1:
        return False
    inner = source.loops[loop.depth + 1]
    if inner.step != 1 or len(inner.first) != 1:
        return False
    index = next(value for value, known in nest.indices.items() if known is inner)
    for x, y in zip(source.subscripts, sink.subscripts, strict=True):
        if x is not None and y is not None and x.terms.get(index, 0) == 1:
            # Where both are the same, counted from the first iteration.
            at = y.plus(x, -1).plus(Form(0, {index: 1}), 1).plus(inner.first[0], -1)
            if not at.terms and at.constant < slant:
                return True
    return False


def unroll_and_jam(nest: Nest, loop: NestLoop, factor: int, variables: list[Scalar]) -> None:
    """Make ``factor`` iterations of a loop one. ``refusal`` must have allowed it; the nest does not describe the code any more.

    Args:
        nest: the nest.
        loop: the loop to unroll.
        factor: how many of its iterations become one, at least 2.
        variables: what the nest's variables carry.
    """
    f = nest.f
    code = f.code
    head = code[loop.head]
    line = head.line
    out: list[Instr] = code[: loop.head]
    lo = read_once(f, head.args[0], line, out)
    hi = read_once(f, head.args[1], line, out)
    stop = stop_of(f, lo, hi, factor, loop.step, line, out)
    totals = [scalar for scalar in variables if scalar.loop is loop and any_order(f, scalar)]
    parts: list[list[int]] = []  # per total, one of each copy's own
    for scalar in totals:
        assert scalar.op is not None
        parts.append(begin_parts(f, scalar.op, scalar.variable, factor, line, out))
    index = f.register(I64, f.names[head.dst])
    out.append(Instr(ops.FOR, head.type, index, [lo, stop, f.const(I64, factor * loop.step)], 0, line))
    renames: list[dict[int, int]] = []
    for copy in range(factor):
        own = index
        if copy:
            own = f.register(I64, f.names[head.dst])
            out.append(Instr(ops.ADD, I64, own, [index, f.const(I64, copy * loop.step)], 0, line))
        rename = {head.dst: own}
        if copy:
            for scalar in variables:
                if scalar.loop is loop and scalar.kind == PRIVATE:
                    rename[scalar.variable] = f.register(f.types[scalar.variable], f.names[scalar.variable], True)
            for own_parts in parts:
                rename[own_parts[0]] = own_parts[copy]
        renames.append(rename)
    _jam(f, code, _parts(nest, loop), renames, out)
    out.append(Instr(ops.END, VOID, NONE, [], 0, code[loop.end].line))
    for scalar, own_parts in zip(totals, parts, strict=True):
        assert scalar.op is not None
        combine(f, scalar.op, own_parts, line, out)
    out.append(Instr(ops.FOR, head.type, head.dst, [stop, hi, head.args[2]], 0, line))
    out.extend(code[loop.head + 1 :])
    f.code = out


def jam(
    f: Function, body: list[Instr], renames: list[dict[int, int]], out: list[Instr], shared: dict[int, Test | None] | None = None, common: int | None = None
) -> None:
    """Append copies of the body of a loop to ``out``, which share the loops in it.

    Args:
        f: the function.
        body: the instructions between the loop's brackets.
        renames: per copy, by what operands are replaced, as ``clone`` has it; the bounds of loops that are shared must be the same in all.
        out: what they are appended to.
        shared: where the copies are vectors of lanes, the loops that they share (``side_by_side.shared_loops``). They may go statement by statement then where there are no
            branches: what all of them load is not kept longer than for one statement of each.
        common: a condition that is the same for all copies, which share the branches that it decides.
    """
    _jam(f, body, _split(body, dict(enumerate(match(body))), 0, len(body), shared, common), renames, out, shared is not None)


def _jam(f: Function, code: list[Instr], parts: list[_Part], renames: list[dict[int, int]], out: list[Instr], by_statement: bool = False) -> None:
    stored: set[int] = set()
    if parts:
        inside = code[parts[0].start : parts[-1].end]
        stored = {
            instr.imm if instr.op is ops.STORE or instr.op is ops.MASKED_STORE else NONE for instr in inside if instr.op.effect in (ops.WRITES, ops.CALLS)
        }
    for part in parts:
        if by_statement and not part.shared and all(instr.op.effect != ops.CONTROL for instr in code[part.start : part.end]):
            for k in range(part.start, part.end):
                for n, rename in enumerate(renames):
                    _copy(f, code[k : k + 1], rename, renames[0] if n else None, stored, out)
            continue
        if not part.shared:
            for n, rename in enumerate(renames):
                _copy(f, code[part.start : part.end], rename, renames[0] if n else None, stored, out)
            continue
        if part.test is not None:
            _jam_left(f, code, part, renames, out, by_statement)
            continue
        # The copies share the loop, and its bounds are the same for all.
        before = len(out)
        head = code[part.start]
        clone(f, [head], renames[0], out)
        shared = out[before].loop
        if shared is not None and head.loop is not None:
            # Each copy has accumulators of its own.
            shared.accumulators = [(rename.get(v, v), op, rename.get(c, c)) for rename in renames for v, op, c in head.loop.accumulators]
        if head.op is ops.FOR:
            for rename in renames:
                rename[head.dst] = out[before].dst
        _jam(f, code, part.parts, renames, out, by_statement)
        if part.behind:
            out.append(Instr(ops.ELSE, VOID, NONE, [], 0, code[part.behind[0].start - 1].line))
            _jam(f, code, part.behind, renames, out, by_statement)
        out.append(Instr(ops.END, VOID, NONE, [], 0, code[part.end - 1].line))


def _jam_left(f: Function, code: list[Instr], part: _Part, renames: list[dict[int, int]], out: list[Instr], by_statement: bool) -> None:
    """Append a loop that lanes leave, which copies share: it goes on as long as there is a lane that does in one of them."""
    test = part.test
    assert test is not None
    head = code[part.start]
    if head.op is ops.BLOCK:
        out.append(head.copy())
        head = code[part.start + 1]
    before = len(out)
    clone(f, [head], renames[0], out)
    if head.dst >= 0:
        for rename in renames:
            rename[head.dst] = out[before].dst
    for n, parts in enumerate((part.parts, part.behind)):
        if n:
            write_test(f, code, test, renames, out)
        _jam(f, code, parts, renames, out, by_statement)
    out += [instr.copy() for instr in code[part.end - (2 if code[part.start].op is ops.BLOCK else 1) : part.end]]


def _copy(f: Function, body: list[Instr], rename: dict[int, int], first: dict[int, int] | None, stored: set[int], out: list[Instr]) -> None:
    """Append a copy of a stretch, but for what the first copy, by its names, has computed just so: arithmetic, and loads from arrays that are not ``stored`` to."""
    if first is None:
        clone(f, body, rename, out)
        return
    variable = f.variable
    depth = 0
    begun = 0
    for k in range(len(body)):
        instr = body[k]
        op = instr.op
        if op.effect == ops.CONTROL:
            depth += int(op.opens) - int(op.closes)
        elif depth or instr.dst < 0 or variable[instr.dst] or not (op.pure or (op is ops.LOAD and NONE not in stored and instr.imm not in stored)):
            continue
        else:
            # (What comes before has its names by now.)
            clone(f, body[begun:k], rename, out)
            begun = k
            if instr.dst in first and all(a < 0 or (not variable[a] and rename.get(a, a) == first.get(a, a)) for a in instr.args):
                rename[instr.dst] = first[instr.dst]
                begun = k + 1
    clone(f, body[begun:], rename, out)


def begin_parts(f: Function, op: ops.Op, variable: int, count: int, line: int, out: list[Instr]) -> list[int]:
    """Append code that begins a total's parts, of which the variable itself is the first: the others from what changes nothing, or as the variable where nothing does so."""
    type_ = f.types[variable]
    start = variable if op.neutral is None else f.const(type_, op.neutral)
    parts = [variable, *[f.register(type_, f.names[variable], True) for _ in range(count - 1)]]
    out += [Instr(ops.COPY, type_, part, [start], 0, line) for part in parts[1:]]
    return parts


def combine(f: Function, op: ops.Op, parts: list[int], line: int, out: list[Instr]) -> None:
    """Append code that combines variables into the first of them, in pairs."""
    while len(parts) > 1:
        half = (len(parts) + 1) // 2
        for k in range(len(parts) - half):
            out.append(Instr(op, f.types[parts[k]], parts[k], [parts[k], parts[k + half]], 0, line))
        del parts[half:]


def stop_of(f: Function, lo: int, hi: int, factor: int, step: int, line: int, out: list[Instr]) -> int:
    """Code for where a loop in steps of ``factor * step`` stops, the last of which is whole."""
    if lo < 0 and hi < 0:
        first, last = int(f.const_values[~lo]), int(f.const_values[~hi])
        count = len(range(first, last, step))
        return f.const(I64, first + (count - count % factor) * step)
    if step > 0:
        return last_multiple(f, lo, hi, factor * step, line, out)
    # Counting down, the same from the other end.
    difference = f.register(I64, "")
    out.append(Instr(ops.SUB, I64, difference, [lo, hi], 0, line))
    down = last_multiple(f, f.const(I64, 0), difference, -factor * step, line, out)
    made = f.register(I64, "stop")
    out.append(Instr(ops.SUB, I64, made, [lo, down], 0, line))
    return made
