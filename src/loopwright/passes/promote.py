"""The ``promote`` pass: a local array all of whose accesses are at indices known while compiling becomes a variable for each element.

What LLVM calls scalar replacement of aggregates: the elements are followed by value, carried round loops in registers, and become vectors, like every other
variable.

What is written in wider integers than it needs, or as shifts, becomes the operation that it is (``idioms.py``), after branches on two bounds of one number have been joined (``joined_tests.py``); of a sum of integers terms that are multiples by one constant are one (``multiples.py``); under ``fastmath`` what is divided by a root is multiplied with its reciprocal (``roots.py``), and
what is divided by the same in all iterations of a loop as well (``reciprocals.py``); sums of products with a common factor are one product (``factors.py``).
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Array, Function, Instr, Mem
from loopwright.passes import bit_loops, factors, idioms, joined_tests, multiples, reciprocals, roots
from loopwright.targets.target import Target
from loopwright.types import VOID, Type

__all__ = ["run"]


def run(f: Function, target: Target) -> None:
    """Make variables of the local arrays of ``f`` that need no address, returns of places that nothing leads to, and operations of idioms and of loops through bits."""
    if any(array.size and not array.data for array in f.arrays):
        elements = _elements(f)
        if elements:
            _replace(f, elements)
        _make_in_front(f)
    _return_from_nowhere(f)
    bit_loops.run(f)
    joined_tests.run(f)
    idioms.run(f)
    multiples.run(f)
    if f.options.fastmath:
        roots.run(f, target)
        reciprocals.run(f)
        factors.run(f)


def _make_in_front(f: Function) -> None:
    """The addresses of the arrays that are left are made in front of all loops and conditions: code that is copied has them in common."""
    made: list[Instr] = []
    kept: list[Instr] = []
    depth = 0
    for instr in f.code:
        op = instr.op
        if op is ops.LOCAL and depth:
            made.append(instr)
            continue
        depth += bool(op.opens) - bool(op.closes)
        kept.append(instr)
    if made:
        f.code = made + kept


def _return_from_nowhere(f: Function) -> None:
    """A return for each ``unreachable``: later passes know what that does, and nobody sees what is returned."""
    for instr in f.code:
        if instr.op is ops.UNREACHABLE:
            instr.op = ops.RET
            instr.type = f.result
            instr.args = [f.const(f.result, 0)] if f.result is not VOID else []


class _Element:
    """What is at one place in an array: its type, and the name of the variable that it becomes, behind the array's."""

    __slots__ = ("name", "type")

    def __init__(self, type_: Type, name: str) -> None:
        self.type = type_
        self.name = name


def _elements(f: Function) -> dict[int, dict[int, int]]:
    """By the number of each array that is to be replaced: by offset in bytes, the variable of an element.

    Not of an array that a loop over lanes stores to: a variable written there belongs to each lane. Nor of one whose address is used other than for loads and stores
    at known distances, or of which the same bytes are accessed as several types.
    """
    found: dict[int, dict[int, _Element]] = {number: {} for number in range(len(f.arrays)) if f.arrays[number].size}
    bases = {f.arrays[number].base: number for number in found}
    lanes = 0
    depth = 0
    for instr in f.code:
        op = instr.op
        number = _accessed(f, instr, bases)
        for position in range(len(instr.args)):
            a = instr.args[position]
            if a in bases and (number < 0 or position != len(instr.args) - 1):
                found.pop(bases[a], None)
        if op.closes:
            depth -= 1
            if depth < lanes:
                lanes = 0
        if op.opens:
            depth += 1
            if instr.loop is not None and instr.loop.lanes:
                lanes = depth
        if number not in found:
            continue
        array = f.arrays[number]
        offset = _offset(f, array, instr)
        known = found[number].get(offset) if offset >= 0 else None
        if offset < 0 or (lanes and op.effect == ops.WRITES) or (known is not None and known.type is not instr.type):
            del found[number]
        elif known is None:
            found[number][offset] = _Element(instr.type, _name(f, instr, offset))
    elements: dict[int, dict[int, int]] = {}
    for number, known_elements in found.items():
        if _apart(known_elements):
            name = f.arrays[number].name
            elements[number] = {offset: f.register(each.type, name + each.name, True) for offset, each in known_elements.items()}
    return elements


def _accessed(f: Function, instr: Instr, bases: dict[int, int]) -> int:
    """The number of the local array that a load or a store of one element accesses, by indices or by its address; otherwise -1."""
    if instr.op in ops.ACCESSES:
        return instr.imm
    if (instr.op is ops.LOAD_AT or instr.op is ops.STORE_AT) and instr.mem is not None and not instr.mem.indexed:
        return bases.get(instr.args[-1], -1)
    return -1


def _offset(f: Function, array: Array, instr: Instr) -> int:
    """Where in the array an access to one element is, in bytes; -1 where that is not known, or not inside."""
    if instr.type.lanes:
        return -1
    if instr.mem is not None:
        offset = instr.mem.disp
        return offset if 0 <= offset <= array.size - instr.type.size else -1
    if instr.op is not ops.LOAD and instr.op is not ops.STORE:
        return -1
    offset = 0
    operands = instr.args if instr.op is ops.LOAD else instr.args[1:]
    for d in range(len(operands)):
        operand = operands[d]
        if operand >= 0 or not 0 <= f.const_values[~operand] < f.const_values[~array.extents[d]]:
            return -1
        step = f.const_values[~array.strides[d]] if d < len(array.strides) else array.element.size
        offset += int(f.const_values[~operand]) * int(step)
    return offset


def _name(f: Function, instr: Instr, offset: int) -> str:
    """What the name of an element's variable ends in: the indices, or where it is."""
    if instr.mem is not None:
        return f"_{offset}"
    return "".join([f"_{int(f.const_values[~a])}" for a in (instr.args if instr.op is ops.LOAD else instr.args[1:])])


def _apart(elements: dict[int, _Element]) -> bool:
    """Whether no two elements share bytes."""
    end = 0
    for offset in sorted(elements):
        if offset < end:
            return False
        end = offset + elements[offset].type.size
    return True


def _replace(f: Function, elements: dict[int, dict[int, int]]) -> None:
    """Copies for the accesses; the arrays go, and those behind them move up."""
    numbers: dict[int, int] = {}
    kept: list[Array] = []
    bases: dict[int, int] = {}
    for number, array in enumerate(f.arrays):
        if number in elements:
            bases[array.base] = number
        else:
            numbers[number] = len(kept)
            kept.append(array)
    code: list[Instr] = []
    for instr in f.code:
        op = instr.op
        if op is ops.LOCAL or op is ops.TABLE:
            number = int(f.const_values[~instr.args[0]])
            if number in elements:
                # What is undefined is 0 here, so that no way through the function reads a variable that was never written.
                for variable in elements[number].values():
                    type_ = f.types[variable]
                    code.append(Instr(ops.COPY, type_, variable, [f.const(type_, 0)], 0, instr.line))
                continue
            instr.args = [f.const(f.const_types[~instr.args[0]], numbers[number])]
        elif op in ops.ACCESSES or op is ops.LOAD_AT or op is ops.STORE_AT:
            accessed = _accessed(f, instr, bases)
            if accessed in elements:
                _copy(f, instr, elements[accessed][_offset(f, f.arrays[accessed], instr)])
            elif op in ops.ACCESSES:
                instr.imm = numbers[accessed]
        mem = instr.mem
        if mem is not None and mem.array >= 0:
            instr.mem = Mem(mem.indexed, mem.scale, mem.disp, mem.size, mem.broadcast, mem.role, numbers.get(mem.array, -1))
        code.append(instr)
    f.arrays = kept
    f.code = code


def _copy(f: Function, instr: Instr, variable: int) -> None:
    """A load or a store becomes a copy of a variable, or to it."""
    if instr.op.effect == ops.READS:
        instr.args = [variable]
    else:
        instr.dst = variable
        instr.args = instr.args[:1]
    instr.op = ops.COPY
    instr.imm = 0
    instr.mem = None
