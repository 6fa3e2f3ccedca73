"""The ``vectorize`` pass: a scalar loop over lanes becomes one over vectors of them, under a mask.

::

    for i = lo, hi, 1 lanes            for i = lo, hi, N mask m
      body                       →       body for i, i + 1, …, i + N - 1, in the lanes of m
    end                                end

The body is as it was for one index. What differs by lane (``vectors/divergence.py``) becomes vectors and masks, what does not stays scalar; control flow
that differs by lane becomes masks (``vectors/predication.py``). A vector has as many lanes as the widest element in the loop leaves room for. An accumulator
has a total in each lane, which are combined behind the loop. On machines without vectors the loop stays as it is.

A loop that counts down has its lanes in the order of memory as well: the first is the last index of a step. What it leaves over is done index by index.
"""

from __future__ import annotations

import math
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Loop
from loopwright.nests.unroll import clone, last_multiple, read_once
from loopwright.targets.target import Target
from loopwright.types import I64, vector_of
from loopwright.vectors.divergence import LINEAR, Divergence
from loopwright.vectors.predication import Predication
from loopwright.vectors.regions import Bracket, Leaf, part, tree

#: Where no vector says how wide its elements are.
_USUAL: Final = 32


def run(f: Function, target: Target) -> None:
    """Rewrite every ``for`` that is marked ``lanes``."""
    code = f.code
    for instr in code:
        if instr.loop is not None and instr.loop.lanes:
            break
    else:
        return
    if not target.vector_bits or f.options.check:
        _keep_scalar(code)
        return
    first, last = _mentions(f)
    out: list[Instr] = []
    position = 0
    while position < len(code):
        instr = code[position]
        if instr.loop is None or not instr.loop.lanes:
            out.append(instr)
            position += 1
            continue
        root, leaves, end = tree(code, position)
        outside = {r for r in first if first[r] < position or last[r] > end}
        if target.scalar_remainders or f.const_values[~instr.args[2]] < 0:
            _split(f, target, root, leaves, outside, code[position : end + 1], out)
        else:
            _vectorize(f, target, root, leaves, outside, out)
        part(root)
        position = end + 1
    f.code = out


def _keep_scalar(code: list[Instr]) -> None:
    """Loops over lanes become loops like any other."""
    for instr in code:
        if instr.loop is not None and instr.loop.lanes:
            instr.loop = None
        elif instr.op is ops.ANY_LANE or instr.op is ops.ALL_LANES:
            instr.op = ops.COPY


def _mentions(f: Function) -> tuple[dict[int, int], dict[int, int]]:
    """Per variable, where it is mentioned first and last."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    variable = f.variable
    for position, instr in enumerate(f.code):
        for r in (instr.dst, *instr.args):
            if r >= 0 and variable[r]:
                first.setdefault(r, position)
                last[r] = position
    return first, last


def _split(f: Function, target: Target, root: Bracket, leaves: list[Leaf], outside: set[int], code: list[Instr], out: list[Instr]) -> None:
    """Vectors for whole steps, and the scalar loop as it stands for what is left."""
    head = root.opener
    line = head.line
    hi = read_once(f, head.args[1], line, out)
    lo = read_once(f, head.args[0], line, out)
    head.args = [lo, hi, head.args[2]]
    index = f.register(I64, f.names[head.dst])
    rest: list[Instr] = []
    clone(f, code[1:], {head.dst: index}, rest)
    stop = _vectorize(f, target, root, leaves, outside, out, True)
    out.append(Instr(ops.FOR, head.type, index, [stop, hi, head.args[2]], 0, line))
    _keep_scalar(rest)
    out.extend(rest)


def _vectorize(f: Function, target: Target, root: Bracket, leaves: list[Leaf], outside: set[int], out: list[Instr], whole: bool = False) -> int:
    """The loop over vectors, with ``whole`` of whole steps only. Returns where it stops."""
    shapes = Divergence(f, root, leaves, outside)
    head = root.opener
    loop = head.loop
    assert loop is not None
    width = shapes.widest() or _USUAL
    bits = target.vector_bits
    if 0 < target.stream_bits < bits and _reads_one_stream(shapes, leaves, loop):
        bits = target.stream_bits
    lanes = max(1, bits // width)
    lo, hi, _ = head.args
    index, first, stop = head.dst, NONE, hi
    if f.const_values[~head.args[2]] < 0:
        # Counted from 0; the first lane is at ``first`` less that.
        index = f.register(I64, f.names[head.dst])
        first, stop, lo, hi = _downwards(f, lo, hi, lanes, head.line, out)
    elif whole:
        stop = hi = last_multiple(f, lo, hi, lanes, head.line, out)
    made = Predication(f, shapes, lanes, width)
    made.begin([])
    made.out = out
    made.line = head.line
    described = Loop(made.all, loop.unroll, whole=whole)
    absorbed = {variable for variable, op, _ in loop.accumulators if _absorbed(f, out, variable, op)}
    for variable, op, identity in loop.accumulators:
        element = f.types[variable]
        full = vector_of(element, lanes)
        total = made.totals[variable] = f.register(full, f.names[variable], True)
        start = f.const(full, f.const_values[~identity]) if op.neutral is not None else made.define(ops.SPLAT, full, [variable], full)
        made.copy(total, start)
        described.accumulators.append((total, op, start))
    body: list[Instr] = []
    made.out = body
    made.opened.append(root)
    made.paths[root] = [], 0
    if first != NONE:
        made.emit(ops.SUB, I64, [first, index], 0, head.dst)
    made.region(root.body)
    out.append(Instr(ops.FOR, head.type, index, [lo, hi, f.const(I64, lanes)], 0, head.line, loop=described))
    out.extend(body)
    out.append(root.end)
    made.out = out
    made.line = head.line
    for (variable, op, _), (total, _, _) in zip(loop.accumulators, described.accumulators, strict=True):
        element = f.types[variable]
        assert op.reduction is not None
        combined = made.define(op.reduction, f.types[total], [total], element)
        if variable in absorbed:
            made.copy(variable, combined)
        else:
            made.emit(op, element, [variable, combined], 0, variable)
    return stop


def _downwards(f: Function, lo: int, hi: int, lanes: int, line: int, out: list[Instr]) -> tuple[int, int, int, int]:
    """Of a loop that counts down: the index of the first lane in the first step, where whole steps end, and the bounds of as long a loop that counts up."""

    def emit(op: ops.Op, a: int, b: int) -> int:
        made = f.register(I64, "")
        out.append(Instr(op, I64, made, [a, b], 0, line))
        return made

    count = last_multiple(f, f.const(I64, 0), emit(ops.SUB, lo, hi), lanes, line, out)
    return emit(ops.SUB, lo, f.const(I64, lanes - 1)), emit(ops.SUB, lo, count), f.const(I64, 0), count


def _absorbed(f: Function, before: list[Instr], variable: int, op: ops.Op) -> bool:
    """Whether what an accumulator holds before the loop changes nothing any more: every lane starts from it, or it is known to be neutral."""
    if op.neutral is None:
        return True
    for instr in reversed(before):
        if instr.dst == variable:
            if instr.op is not ops.COPY or instr.args[0] >= 0:
                return False
            start = f.const_values[~instr.args[0]]
            # (A sum that starts from 0.0 is never -0.0.)
            return start == op.neutral and math.copysign(1.0, start) > 0
        if instr.op.effect == ops.CONTROL:
            break
    return False


def _reads_one_stream(shapes: Divergence, leaves: list[Leaf], loop: Loop) -> bool:
    """Whether all that the loop does is to reduce one array."""
    array = NONE
    where: list[int] = []
    for leaf in leaves:
        instr = leaf.instr
        if instr.op is ops.STORE:
            return False
        if instr.op is ops.LOAD and shapes.of(instr.args[-1]) == LINEAR:
            if array != NONE and (array != instr.imm or where != instr.args):
                return False
            array, where = instr.imm, instr.args
    return bool(loop.accumulators) and array != NONE
