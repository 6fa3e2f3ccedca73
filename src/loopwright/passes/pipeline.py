"""The passes of a CPU with a register file, in the order they run: the list that its targets own."""

from __future__ import annotations

from typing import Final

from loopwright.passes import (
    addresses,
    allocate,
    checks,
    counted,
    elif_,
    emission,
    expand,
    halves,
    if_conversion,
    immediates,
    jumps,
    liveness,
    loops,
    lower_late,
    nests,
    promote,
    reload,
    select,
    simplify,
    sinking,
    strength,
    switches,
    unroll,
    vectorize,
)
from loopwright.targets.pipeline import Pass

__all__ = ["CPU"]

CPU: Final[tuple[Pass, ...]] = (
    Pass(
        "checks",
        checks.run,
        "checked mode: loops get a version without tests, which runs where the indices of its first and last iterations are inside their arrays",
    ),
    Pass(
        "halves",
        halves.run,
        "floats of 16 bits to their bits, and what is computed with them to f32; on machines with arithmetic of f16 what that lacks",
        "no bf16; no f16 either, where the machine has no arithmetic of it",
    ),
    Pass(
        "promote",
        promote.run,
        "local arrays whose indices are all known to variables; what is written in wider integers than it needs, rotations written as shifts, and loops through the bits of a number, to the operations they are; terms of sums of integers that are multiples by one constant to one multiple; under `fastmath` divisions by roots, and by what a loop does not change, to products, and sums of products with a common factor to one",
        "local arrays lie on the stack",
    ),
    Pass(
        counted.COUNTED,
        counted.run,
        "innermost loops over pointers that count and carry nothing but totals to loops over lanes, of views of what they access; other short ones that count to several iterations at once",
        optional=True,
    ),
    Pass(
        "nests",
        nests.run,
        "plain loops that carry nothing to loops over lanes; iterations of enclosing loops jammed, or walked by diagonals in lanes, where the innermost waits for its own results; values carried in registers from one to the next; terms and factors that a loop does not change taken together; iterations of innermost loops overlap on cores that start operations in order",
    ),
    Pass(
        "vectorize",
        vectorize.run,
        "scalar loops over lanes to loops over vectors, under masks; on machines without vectors they stay as they are",
        "no loop is marked `lanes`",
    ),
    Pass(
        "unroll",
        unroll.run,
        "each loop over lanes into an unrolled main loop without masks and a masked remainder; neighbouring loads from one another",
        "no loop has a mask of its own: remainders compute theirs with `lane_mask`",
    ),
    Pass(
        "addresses",
        addresses.run,
        "array accesses to `[base + index*scale + disp]`; row pointers shared within their scope",
        "no array operations",
    ),
    Pass(
        "expand",
        expand.run,
        "operations the machine lacks to sequences of those it has: their constants are shared and moved out of loops like the user's own; remainders of sums of remainders to subtractions, where a branch finds them enough",
    ),
    Pass(
        "simplify",
        simplify.run,
        "folding, scoped value numbering, invariant motion, multiply-add contraction, dead code",
    ),
    Pass(
        "strength",
        strength.run,
        "what is linear in a loop's counter is advanced by addition: pointers that a loop moves, instead of products",
    ),
    Pass(
        "if-convert",
        if_conversion.run,
        "short branches of loops whose conditions hang on data become choices",
    ),
    Pass(
        "switches",
        switches.run,
        "comparisons of a value with one constant after the other to jumps by tables, and to comparisons that halve what is left",
    ),
    Pass(
        "immediates",
        immediates.run,
        "a constant that its instruction cannot hold gets one register, made before the outermost loop around its uses; a short integer that no loop uses one in each stretch without branches",
        "the remaining constant operands are encodable",
    ),
    Pass("elif", elif_.run, "`elif` to `else … if`", "no `elif`"),
    Pass(
        "loops",
        loops.run,
        "`for` and `while` to rotated loops, with one branch a step at the bottom",
        "only `block loop if else` brackets",
    ),
    Pass(
        "sink",
        sinking.run,
        "what is computed in front of calls and brackets to where it is used, if what it reads is in registers there anyway; addresses into accesses",
    ),
    Pass(
        "reload",
        reload.run,
        "loaded values for which registers are short are loaded again where they are used, instead of being spilled",
    ),
    Pass(
        "select",
        select.run,
        "each instruction gets its target's rule: comparisons into branches and choices, single-use loads into operands, sequences with branches for what the machine lacks, stack arguments",
        "each instruction has its `Rule`",
    ),
    Pass(
        "liveness",
        liveness.run,
        "live intervals with holes, last uses, loop facts, pressure",
        "(kept beside the code in `Function.analysis`)",
        again=True,
        notes=liveness.notes,
    ),
    Pass(
        "allocate",
        allocate.run,
        "registers, spills, moves; frame",
        "operands are physical registers, slots, constants",
        settings=True,
    ),
    Pass(
        "jumps",
        jumps.run,
        "brackets to labels and conditional jumps; drops unreachable code, jumps over jumps and to jumps; arms have a copy of a loop's short end; marks heads of innermost loops for alignment",
        "no brackets",
    ),
    Pass(
        "lower-late",
        lower_late.run,
        "two-operand forms: copies where a result could not get its operand's register; empty copies go; calls behind which a function only returns to jumps",
        "each instruction is encodable as it stands",
        again=True,
    ),
    Pass("assemble", emission.assemble, "each instruction's rule emits machine instructions", again=True),
    Pass(
        "encode",
        emission.encode,
        "bytes; short or near jumps; constant pool behind the code",
        "`Function.machine`",
    ),
)
