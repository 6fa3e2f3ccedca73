"""Indices that become floats, by way of 32 bits: ``f32(x) * step`` of a loop over lanes.

Lanes count in 32 bits as well as in 64, and few machines convert integers of 64 bits to floats in lanes, of which a vector has half as many. That the loop ends before 2**31 is asked in front of its nest.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Instr
from loopwright.ir.ops import Op
from loopwright.nests.nest import Nest, NestLoop, Run
from loopwright.nests.operations import steps
from loopwright.targets.target import Target
from loopwright.types import F32, F64, I32, I64, vector_of

__all__ = ["by_small_indices"]

#: What is added to an index is no more than that, and the index begins no later.
_NEAR: Final = 1 << 16
_LAST: Final = (1 << 31) - 4 * _NEAR
#: A conversion of 64 bits that takes so many instructions is as good.
_FEW: Final = 2


def by_small_indices(nest: Nest, target: Target, runs: list[Run]) -> bool:
    """Rewrite the conversions of the indices of innermost loops to floats; the nest does not describe the code any more where there are any.

    Args:
        nest: the nest.
        target: the machine.
        runs: is given what has to hold for that, as ``Nest.runs`` is.
    """
    f = nest.f
    if not target.vector_bits:
        return False
    found: dict[int, tuple[Op, int, int] | None] = {}
    for k in range(nest.start + 1, nest.end):
        instr = f.code[k]
        if instr.op is ops.CONVERT and instr.source is I64 and (instr.type is F32 or instr.type is F64) and instr.args[0] >= 0:
            loop = _counted(nest, instr, k)
            if loop is None or (
                instr.type is F64
                and 0 <= steps(target, ops.CONVERT, vector_of(F64, target.vector_bits // 64), vector_of(I64, target.vector_bits // 64)) <= _FEW
            ):
                continue
            last = f.code[loop.head].args[1]
            if last >= 0:
                if f.variable[last] or nest.forms.places.get(last, -1) >= nest.start:
                    continue
                found[k] = (ops.LE, last, f.const(I64, _LAST))
            elif int(f.const_values[~last]) <= _LAST:
                found[k] = None
    if not found:
        return False
    out: list[Instr] = []
    for k, instr in enumerate(f.code):
        if k in found:
            small = f.register(I32, "")
            out.append(Instr(ops.CONVERT, I32, small, [instr.args[0]], 0, instr.line, I64))
            instr = Instr(ops.CONVERT, instr.type, instr.dst, [small], 0, instr.line, I32)
        out.append(instr)
    f.code = out
    runs += [asked for asked in dict.fromkeys(found.values()) if asked is not None and asked not in runs]
    return True


def _counted(nest: Nest, instr: Instr, position: int) -> NestLoop | None:
    """The innermost ``for`` around a place, if what is converted there is its index, or a little more or less."""
    form = nest.forms.of(instr.args[0])
    around = [loop for loop in nest.loops if loop.step and loop.head < position < loop.end]
    if form is None or not around or not -_NEAR <= form.constant <= _NEAR:
        return None
    loop = around[-1]
    ((value, times),) = form.terms.items() if len(form.terms) == 1 else ((-1, 0),)
    if nest.indices.get(value) is not loop or times != 1 or loop.step != 1:
        return None
    return loop if any(not first.terms and 0 <= first.constant <= _NEAR for first in loop.first) else None
