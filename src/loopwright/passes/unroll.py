"""The ``unroll`` pass: loops over lanes become an unmasked, unrolled main loop and a masked remainder.

::

    for i = lo, hi, N mask m        stop = lo + (max(hi, lo) - lo rounded down to a multiple of U*N)
      body                          for i = lo, stop, U*N
    end                        →      body with m all true           } U copies, for i, i + N, …
                                    end
                                    accumulators combined
                                    for i = stop, hi, N              (if U is 1: an if around one step)
                                      m = lane_mask i, hi
                                      body
                                    end
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests import reuse
from loopwright.nests.unroll import clone, crossing_branches, has_loops, last_multiple, local_variables, read_once
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, VOID

#: So many loads make a stencil.
STENCIL_LOADS: Final = 3


def run(f: Function, target: Target) -> None:
    """Rewrite every ``for`` over lanes (one whose ``loop`` has a mask)."""
    code = f.code
    for instr in code:
        if instr.loop is not None and instr.loop.mask != NONE:
            break
    else:
        return
    neighbours = reuse.neighbours(f, target)
    out: list[Instr] = []
    _rewrite(f, target, code, out, {})
    f.code = out
    if neighbours:
        reuse.run(f, target)


def steps_at_once(f: Function, target: Target, body: list[Instr], reduction: bool) -> int:
    """The unroll factor for a loop over lanes, from the size of its body."""
    if has_loops(body):
        return 1
    loaded: set[tuple[int, ...]] = set()
    work = _work(f, body, loaded)
    unrolling = target.unrolling
    for most, steps in unrolling.reduction if reduction else unrolling.stencil if len(loaded) >= STENCIL_LOADS else unrolling.elementwise:
        if work <= most:
            return steps
    return 1


def _work(f: Function, body: list[Instr], loaded: set[tuple[int, ...]]) -> int:
    """About how many instructions of ``body`` will be left in the unmasked loop; ``loaded`` receives its different loads."""
    work = products = sums = 0
    for instr in body:
        op = instr.op
        type_ = instr.type
        if op.effect == ops.READS:
            # Repeated loads are made once.
            loaded.add((instr.imm, *instr.args))
        elif op is ops.COPY or (type_ is I64 and op.pure) or op is ops.END or (op is ops.SELECT and instr.dst >= 0 and f.variable[instr.dst]):
            # Moves, indices that go into addresses, and the masking of reductions go away.
            continue
        elif f.options.contract and type_.is_float and op is ops.MUL:
            products += 1
        elif f.options.contract and type_.is_float and (op is ops.ADD or op is ops.SUB):
            sums += 1
        else:
            work += 1
    return work + len(loaded) + max(products, sums)


def _rewrite(f: Function, target: Target, code: list[Instr], out: list[Instr], references: dict[int, int]) -> None:
    partner = match(code)
    position = 0
    while position < len(code):
        instr = code[position]
        loop = instr.loop
        if loop is None or loop.mask == NONE:
            out.append(instr)
            position += 1
            continue
        end = partner[position]
        body = code[position + 1 : end]
        for inner in body:
            if inner.loop is not None and inner.loop.mask != NONE:
                rewritten: list[Instr] = []
                _rewrite(f, target, body, rewritten, references)
                body = rewritten
                break
        _split(f, target, instr, body, code[end], out, references)
        position = end + 1


def _split(f: Function, target: Target, head: Instr, body: list[Instr], end: Instr, out: list[Instr], references: dict[int, int]) -> None:
    """Append the main loop and the remainder of one loop over lanes."""
    loop = head.loop
    assert loop is not None
    line = head.line
    lo, hi, step_operand = head.args
    step = int(f.const_values[~step_operand])
    unroll = loop.unroll if loop.unroll > 0 else steps_at_once(f, target, body, bool(loop.accumulators))
    if unroll > 1 and crossing_branches(body):
        unroll = 1
    hi = read_once(f, hi, line, out)
    lo = read_once(f, lo, line, out)
    left = -1  # elements the remainder has to do, where known
    if lo < 0 and hi < 0:
        first = int(f.const_values[~lo])
        count = max(int(f.const_values[~hi]) - first, 0)
        while unroll > 1 and unroll * step > count:
            unroll -= 1
        left = count % (unroll * step)
        stop = f.const(I64, first + count - left)
        whole = count - left
    else:
        stop = last_multiple(f, lo, hi, unroll * step, line, out)
        whole = -1
        if unroll * step == 1:
            left = 0
    if whole != 0:
        _main_loop(f, head, body, end, out, references, lo, stop, step, unroll)
    if left == 0:
        return
    i = head.dst
    if loop.whole:
        if unroll > 1:
            _main_loop(f, head, body, end, out, references, stop, hi, step, 1)
        return
    if unroll == 1 or 0 < left <= step:
        if left < 0:
            condition = f.register(BOOL, "")
            out.append(Instr(ops.LT, I64, condition, [stop, hi], 0, line))
            out.append(Instr(ops.IF, VOID, NONE, [condition], 0, line))
        else:
            out.append(Instr(ops.BLOCK, VOID, NONE, [], 0, line))
        out.append(Instr(ops.COPY, I64, i, [stop], 0, line))
    else:
        out.append(Instr(ops.FOR, head.type, i, [stop, hi, step_operand], 0, line))
    out.append(Instr(ops.LANE_MASK, f.types[loop.mask], loop.mask, [i, hi], 0, line))
    out.extend(body)
    out.append(end)


def _main_loop(
    f: Function, head: Instr, body: list[Instr], end: Instr, out: list[Instr], references: dict[int, int], lo: int, stop: int, step: int, unroll: int
) -> None:
    loop = head.loop
    assert loop is not None
    line = head.line
    mask_type = f.types[loop.mask]
    true = f.const(mask_type, True)
    own: list[int] = []
    copies: list[list[int]] = []  # per accumulator: its registers, one per copy of the body
    if unroll > 1:
        if any(instr.dst >= 0 and f.variable[instr.dst] for instr in body):
            if not references:
                _count_references(f, references)
            own = local_variables(f, body, references)
        for variable, op, identity in loop.accumulators:
            registers = [variable]
            # What changes nothing: where that is no number, what the variable holds.
            start = identity if op.neutral is not None else variable
            for _ in range(unroll - 1):
                copy = f.register(f.types[variable], f.names[variable], True)
                out.append(Instr(ops.COPY, f.types[variable], copy, [start], 0, line))
                registers.append(copy)
            copies.append(registers)
    i = f.register(I64, f.names[head.dst])
    out.append(Instr(ops.FOR, head.type, i, [lo, stop, f.const(I64, unroll * step)], 0, line))
    for k in range(unroll):
        index = i
        if k:
            index = f.register(I64, f.names[head.dst])
            out.append(Instr(ops.ADD, I64, index, [i, f.const(I64, k * step)], 0, line))
        rename = {head.dst: index, loop.mask: true}
        for registers in copies:
            rename[registers[0]] = registers[k]
        for v in own:
            rename[v] = f.register(f.types[v], f.names[v], True)
        clone(f, body, rename, out)
    out.append(Instr(ops.END, VOID, NONE, [], 0, end.line))
    for registers, (variable, op, _identity) in zip(copies, loop.accumulators if copies else [], strict=True):
        type_ = f.types[variable]
        while len(registers) > 1:
            half = (len(registers) + 1) // 2
            for k in range(len(registers) - half):
                out.append(Instr(op, type_, registers[k], [registers[k], registers[k + half]], 0, line))
            del registers[half:]


def _count_references(f: Function, references: dict[int, int]) -> None:
    variable = f.variable
    for instr in f.code:
        for a in instr.args:
            if a >= 0 and variable[a]:
                references[a] = references.get(a, 0) + 1
        d = instr.dst
        if d >= 0 and variable[d]:
            references[d] = references.get(d, 0) + 1
