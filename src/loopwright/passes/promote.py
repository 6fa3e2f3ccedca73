"""The ``promote`` pass: a local array all of whose accesses are at indices known while compiling becomes a variable for each element.

What LLVM calls scalar replacement of aggregates: the elements are followed by value, carried round loops in registers, and become vectors, like every other
variable.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Array, Function, Instr
from loopwright.targets.target import Target
from loopwright.types import Type

__all__ = ["run"]


def run(f: Function, target: Target) -> None:
    """Make variables of the local arrays of ``f`` that need no address."""
    if not any(array.size for array in f.arrays):
        return
    elements = _elements(f)
    if elements:
        _replace(f, elements)


def _elements(f: Function) -> dict[int, dict[tuple[int, ...], int]]:
    """By the number of each array that is to be replaced: by index (as constants' values), the variable of an element.

    Not of an array that a loop over lanes stores to: a variable written there belongs to each lane. Nor of one whose address is read.
    """
    found: dict[int, dict[tuple[int, ...], Type]] = {number: {} for number in range(len(f.arrays)) if f.arrays[number].size}
    bases = {f.arrays[number].base: number for number in found}
    lanes = 0
    depth = 0
    for instr in f.code:
        op = instr.op
        for a in instr.args:
            if a in bases:
                found.pop(bases[a], None)
        if op.closes:
            depth -= 1
            if depth < lanes:
                lanes = 0
        if op.opens:
            depth += 1
            if instr.loop is not None and instr.loop.lanes:
                lanes = depth
        if op not in ops.ACCESSES or instr.imm not in found:
            continue
        index = _index(f, f.arrays[instr.imm], instr)
        if index is None or (lanes and op is ops.STORE):
            del found[instr.imm]
        else:
            found[instr.imm][index] = instr.type
    elements: dict[int, dict[tuple[int, ...], int]] = {}
    for number, types in found.items():
        name = f.arrays[number].name
        elements[number] = {index: f.register(type_, f"{name}{''.join([f'_{n}' for n in index])}", True) for index, type_ in types.items()}
    return elements


def _index(f: Function, array: Array, instr: Instr) -> tuple[int, ...] | None:
    """The index of an access to one element, where it is known and inside the array."""
    if instr.type.lanes or (instr.op is not ops.LOAD and instr.op is not ops.STORE):
        return None
    index: list[int] = []
    operands = instr.args if instr.op is ops.LOAD else instr.args[1:]
    for operand, extent in zip(operands, array.extents, strict=True):
        if operand >= 0 or not 0 <= f.const_values[~operand] < f.const_values[~extent]:
            return None
        index.append(int(f.const_values[~operand]))
    return tuple(index)


def _replace(f: Function, elements: dict[int, dict[tuple[int, ...], int]]) -> None:
    """Copies for the accesses; the arrays go, and those behind them move up."""
    numbers: dict[int, int] = {}
    kept: list[Array] = []
    for number, array in enumerate(f.arrays):
        if number not in elements:
            numbers[number] = len(kept)
            kept.append(array)
    code: list[Instr] = []
    for instr in f.code:
        op = instr.op
        if op is ops.LOCAL:
            number = int(f.const_values[~instr.args[0]])
            if number in elements:
                # What is undefined is 0 here, so that no way through the function reads a variable that was never written.
                for variable in elements[number].values():
                    type_ = f.types[variable]
                    code.append(Instr(ops.COPY, type_, variable, [f.const(type_, 0)], 0, instr.line))
                continue
            instr.args = [f.const(f.const_types[~instr.args[0]], numbers[number])]
        elif op in ops.ACCESSES:
            if instr.imm in elements:
                index = _index(f, f.arrays[instr.imm], instr)
                assert index is not None
                variable = elements[instr.imm][index]
                if op is ops.LOAD:
                    instr.args = [variable]
                else:
                    instr.dst = variable
                    instr.args = instr.args[:1]
                instr.op = ops.COPY
                instr.imm = 0
            else:
                instr.imm = numbers[instr.imm]
        code.append(instr)
    f.arrays = kept
    f.code = code
