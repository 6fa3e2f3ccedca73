"""The ``nests`` pass: loop nests whose iterations can be put into a better order (``nests/choose.py``); for cores that start operations in order, iterations of
innermost loops that overlap (``pipelining/pipeline.py``). What loops do not change is taken together at the end (``invariant_terms.py``)."""

from __future__ import annotations

from typing import Any, Final

from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.loops import IS_LOOP, has_lanes
from loopwright.nests.analysis.graph import Graph
from loopwright.nests.analysis.nest import nests, parts
from loopwright.nests.canonical import rolling, whiles
from loopwright.nests.choose import improve, keep_values
from loopwright.nests.elements import forwarding
from loopwright.nests.idioms import iterated
from loopwright.nests.idioms.counting import mark_counting
from loopwright.nests.idioms.extremes import split_extremes
from loopwright.nests.idioms.keyed_sums import split_keyed_sums
from loopwright.nests.idioms.leaving import mark_leaving
from loopwright.nests.steps.narrow import narrow
from loopwright.passes import idioms, invariant_terms, reciprocals
from loopwright.targets.core import Core
from loopwright.targets.target import Target
from loopwright.types import I64, PTR

#: Of i64, what is more than arithmetic on indices.
_FOUND: Final = frozenset((ops.STORE, ops.MIN, ops.MAX))


def run(f: Function, target: Target) -> None:
    """Rewrite the nests of scalar loops that a function stores from."""
    if f.options.schedule and not f.options.check:
        _by_hand(f, target, None)
    elif not _kept(f, target) and not _over_lanes(f):
        whiles.run(f)
        if rolling.run(f, target) or _candidate(f):
            _improve(f, target)
            _locals_in_front(f)
        iterated.run(f, target)
    if f.options.nests and not f.options.schedule:
        split_extremes(f, target)
        split_keyed_sums(f, target)
        mark_leaving(f, target)
        mark_counting(f, target)
        _narrow_lanes(f, target)
    if not f.options.schedule:
        invariant_terms.run(f)


def _improve(f: Function, target: Target) -> None:
    assert target.core is not None
    improve(f, target, target.core)
    # (Parts of a condition have become one.)
    idioms.between(f)
    forwarding.run(f)
    if f.options.fastmath:
        reciprocals.of_elements(f)
        reciprocals.while_waiting(f)
    if target.core.window == 0:
        # It is imported for the targets that need it.
        from loopwright.pipelining.pipeline import overlap

        overlap(f, target.core)


def _locals_in_front(f: Function) -> None:
    """Where a loop that gets the address of a local array has been copied, it is got in front of everything: in all the copies elements are accessed by the one address."""
    got = [instr for instr in f.code if instr.op is ops.LOCAL]
    bases = {instr.dst: f.arrays[int(f.const_values[~instr.args[0]])].base for instr in got}
    copied = {base for dst, base in bases.items() if dst != base}
    if not copied:
        return
    front = {bases[instr.dst]: instr for instr in got if bases[instr.dst] in copied}
    code = [Instr(ops.LOCAL, PTR, base, instr.args, 0, instr.line) for base, instr in front.items()]
    for instr in f.code:
        if instr.op is not ops.LOCAL or bases[instr.dst] not in copied:
            code.append(instr)
        elif instr.dst != bases[instr.dst]:
            code.append(Instr(ops.COPY, PTR, instr.dst, [bases[instr.dst]], 0, instr.line))
    f.code = code


def _narrow_lanes(f: Function, target: Target) -> None:
    """Loops that were written as ones over lanes compute in as few bits as others."""
    if not has_lanes(f.code) or target.vector_bits == 0:
        return
    ends = match(f.code)
    for head, instr in enumerate(f.code):
        if instr.loop is not None and instr.loop.lanes:
            narrow(f, target, head, ends[head])


def _by_hand(f: Function, target: Target, told: Any) -> None:
    """Do what the user has said; ``told`` is a report, or None."""
    from loopwright.nests.schedule import STEPS, apply_schedule
    from loopwright.pipelining.step import pipeline_row

    STEPS.setdefault("pipeline", pipeline_row())
    apply_schedule(f, target, told)
    if f.options.nests:
        keep_values(f, parts(f), told)


def report(f: Function, target: Target) -> Any:
    """What ``run`` does, told: the function is rewritten, too.

    Args:
        f: the function before the pass.
        target: what it is compiled for.

    Returns:
        A ``loopwright.nests.reporting.report.Report``.
    """
    from loopwright.nests.reporting.report import Report

    made = Report(f, target, _scheduled)
    if f.options.schedule and not f.options.check:
        _by_hand(f, target, made)
        return made
    made.because = _kept(f, target)
    if not made.because and _over_lanes(f):
        made.because = "the function has a loop over lanes, whose order is its own"
    if not made.because:
        whiles.run(f)
    if not made.because and not rolling.run(f, target) and not _candidate(f):
        made.because = "no innermost loop stores to an array, or adds up what it loads"
    if made.because:
        for nest in reversed(nests(f)):
            made.begins(nest, target)
    else:
        assert target.core is not None
        improve(f, target, target.core, made)
    if not _kept(f, target) and not _over_lanes(f) and iterated.run(f, target, made):
        made.because = ""
    return made


def _scheduled(graph: Graph, core: Core, copies: int) -> Any:
    """A modulo schedule of a loop's body, or of several copies of it."""
    from loopwright.pipelining.modulo import modulo_schedule

    return modulo_schedule(graph, core, copies if copies > 1 else 0)


def _kept(f: Function, target: Target) -> str:
    """Why all nests of a function stay as they are, whatever is in them; "" where they may change."""
    if f.options.check and f.options.schedule:
        return "steps by hand are not for checked mode"
    if not f.options.nests:
        return 'it is not allowed (nests="off", or text without `option nests`)'
    if target.core is None:
        return f"nothing is known of the core of {target.name}"
    return ""


def _over_lanes(f: Function) -> bool:
    """Whether there is a loop over lanes, which has an order of its own."""
    return any(instr.loop is not None and (instr.loop.lanes or instr.loop.mask != NONE) for instr in f.code)


def _candidate(f: Function) -> bool:
    """Whether there is an innermost scalar loop that stores to an array or may add up what is loaded, or, in any order, floats that it makes of its index; and no loop over lanes, which has an order of its own.

    (Others gain nothing: it is asked of every function.)
    """
    opened: list[bool] = []  # per open bracket: it is a loop that holds no other, as far as has been seen
    found = loads = False
    fastmath = f.options.fastmath
    for instr in f.code:
        op = instr.op
        if op.effect == ops.CONTROL:
            if op.opens and not op.closes:
                loop = IS_LOOP[op.code]
                if instr.loop is not None and (instr.loop.lanes or instr.loop.mask != NONE):
                    return False
                if loop:
                    for k in range(len(opened)):
                        opened[k] = False
                opened.append(loop)
            elif op is ops.END:
                opened.pop()
        elif op is ops.LOAD:
            loads = True
        elif (
            not found
            and (op is ops.STORE or ((loads or (fastmath and instr.type.is_float)) and (op.reduction is not None or op is ops.SUB or op in ops.COMPARING)))
            and True in opened
        ):
            # (Sums and comparisons of indices are none, but those that are kept.)
            found = (
                instr.type is not I64 or op in _FOUND or f.variable[instr.dst] or (op in ops.COMPARING and any(a >= 0 and f.variable[a] for a in instr.args))
            )
    return found
