"""Innermost loops that run as written, unrolled where counting and jumping back are a good part of their work.

Loops of a few instructions are; so are those that look something up, or count it, at places that they compute, and short ones with branches that stay branches: each copy of a branch is
guessed by itself, and of the two jumps of an iteration, past an arm and back, one goes. Measured (Zen 4): numbers parsed from text 0.54 of the time, varints 0.85, words and numbers counted in
text 0.9, digits of a radix sort counted 0.7. What will be choices waits for itself from one iteration to the next, whatever the loop jumps (two thresholds 1.07), and stays.
"""

from __future__ import annotations

from typing import Any, Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import Instr
from loopwright.nests.analysis.nest import Nest, NestLoop
from loopwright.nests.branches.conversion import LONG
from loopwright.nests.idioms.counting import takes_lanes
from loopwright.nests.idioms.extremes import searches, splits
from loopwright.nests.idioms.keyed_sums import adds_by_key
from loopwright.nests.recurrences.powers import shorten
from loopwright.nests.rewriting.unroll import crossing_branches, has_loops
from loopwright.nests.steps.candidates import innermost_loops
from loopwright.nests.steps.lanes import found_anew
from loopwright.nests.steps.partial import divide
from loopwright.targets.target import Target

__all__ = ["unroll"]

#: Loops with so few instructions are unrolled, so many times; with branches of so few.
SHORTEST: Final = 12
SHORT_BRANCHES: Final = 24
UNROLLED: Final = 4
#: Longer ones with branches, of so few instructions, twice: more copies gain little more, and take their time to compile.
LONG_BRANCHES: Final = 36
TWICE: Final = 2
#: Those that access an array at places that they compute may be longer, and short ones are unrolled so many times: what a core has learnt of which loads wait for which stores it
#: keeps by instruction (pairs of bytes counted 0.65 of the time).
SHORT_SCATTERED: Final = 20
#: Those of fewer instructions stay: a histogram (``h[x[i]] += 1``) waits for its loads and stores alone, and where there are few keys (8) four copies take 1.4 times as long as one.
FEWEST_SCATTERED: Final = 7
SCATTERED_UNROLLED: Final = 8
#: The same of loops whose minima and maxima go to vector registers (``Target.scalars_as_lanes``), where each operation takes one cycle: of four copies the
#: cores that send operations to units before these are free (Zen) let some wait for others (1.7 cycles an iteration instead of 1, best profits).
FAST_UNROLLED: Final = 2
#: What the pass ``if-convert`` makes choices of: arms of so many operations, which give so many variables a value, asked for by so many tests.
_CHOSEN: Final = 6
_VARIABLES: Final = 3
_TESTS: Final = 3


def unroll(nest: Nest, target: Target, report: Any) -> None:
    """Unroll the innermost loops of a nest that are so short, but for those that take lanes later. ``report`` is told, or None."""
    code = nest.f.code
    for loop in reversed(innermost_loops(nest)):
        body = code[loop.head + 1 : loop.end]
        times = _times(nest, target, loop, body) if loop.step and len(body) <= LONG_BRANCHES and loop.long() else 1
        if times == 1 or (target.vector_bits and (takes_lanes(nest.f, target, loop.head, loop.end) or adds_by_key(nest.f, loop.head))):
            continue
        if report is not None:
            report.did(nest.loops[0].line, f"unroll({nest.name(loop)}={times})")
        divide(nest, loop, times, [])
        shorten(nest.f, next(k for k in range(loop.head, len(nest.f.code)) if nest.f.code[k].op is ops.FOR))


def _times(nest: Nest, target: Target, loop: NestLoop, body: list[Instr]) -> int:
    """How many times a loop is unrolled; once where it stays."""
    if any(instr.op.effect == ops.CONTROL for instr in body):
        search = bool(target.vector_bits) and searches(nest.f, loop.head)
        if search and (found_anew(nest, loop) or splits(nest.f, target, loop.head)):
            # (It may be short; or it has lanes.)
            return 1
        # (The branch of a search stays, too.)
        return (UNROLLED if len(body) <= SHORT_BRANCHES else TWICE) if search or _branches(nest, body) else 1
    if len(body) > SHORT_SCATTERED:
        return 1
    if _scattered(nest, loop):
        if len(body) < FEWEST_SCATTERED or _followed(nest, body):
            return 1
        # (Inner loops may have few iterations.)
        return SCATTERED_UNROLLED if len(body) <= SHORTEST and loop.parent is None else UNROLLED
    if len(body) > SHORTEST:
        return 1
    fast = any((instr.op is ops.MIN or instr.op is ops.MAX) and target.scalars_as_lanes(instr.type) is not None for instr in body)
    return FAST_UNROLLED if fast else UNROLLED


def _branches(nest: Nest, body: list[Instr]) -> bool:
    """Whether a body has branches of which one stays a branch, and nothing that takes long."""
    if has_loops(body) or crossing_branches(body) or any(instr.op in LONG for instr in body):
        return False
    variable = nest.f.variable
    # Of the outermost ``if``: how deep inside of it, its tests, what its arms do. And what every iteration has loaded.
    depth = tests = operations = 0
    written: set[int] = set()
    loaded: set[tuple[int, ...]] = set()
    for instr in body:
        op = instr.op
        if op is ops.LOAD and not depth:
            loaded.add((instr.imm, *instr.args))
        elif op.effect == ops.CONTROL:
            if op is ops.BLOCK or op is ops.BR or op is ops.BR_IF:
                return True
            if op is ops.IF or op is ops.THEN:
                tests += 1
                depth += op is ops.IF
            elif op is ops.END:
                depth -= 1
                if not depth:
                    if operations > _CHOSEN or len(written) > _VARIABLES or tests > _TESTS:
                        return True
                    tests = operations = 0
                    written = set()
        elif depth:
            if (
                op is ops.STORE
                or (op is ops.LOAD and (instr.imm, *instr.args) not in loaded)
                or (instr.type.is_float and op not in ops.COMPARING and op is not ops.LOAD)
            ):
                return True
            if instr.dst >= 0 and variable[instr.dst]:
                written.add(instr.dst)
            operations += op is not ops.COPY and op is not ops.LOAD
    return False


def _followed(nest: Nest, body: list[Instr]) -> bool:
    """Whether what an iteration loads tells where the next one loads: it waits for that, whatever the loop jumps."""
    variable = nest.f.variable
    # (What is counted on is known early.)
    moved = {
        instr.dst
        for instr in body
        if instr.dst >= 0 and variable[instr.dst] and not (instr.op in (ops.ADD, ops.SUB) and instr.dst in instr.args and min(instr.args) < 0)
    }
    for instr in body:
        if any(a in moved for a in instr.args):
            if instr.op is ops.LOAD:
                return True
            if instr.dst >= 0:
                moved.add(instr.dst)
    return False


def _scattered(nest: Nest, loop: NestLoop) -> bool:
    """Whether it accesses an array at places that it computes."""
    return any(
        form is None or any(value not in nest.indices and nest.forms.depends(Form(0, {value: 1}), loop.head, loop.end) for value in form.terms)
        for access in nest.accesses
        if access.loops[-1] is loop
        for form in access.subscripts
    )
