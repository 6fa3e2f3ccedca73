"""Vectors of LLVM IR, element by element: what clang passes small structs of floats in, and what code with vectors of its own has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.frontend.llvm.arithmetic import binary
from loopwright.frontend.llvm.calls import CallWriter
from loopwright.frontend.llvm.syntax import LOCAL, NUMBER, Constant, Instruction
from loopwright.frontend.llvm.types import FLOAT, INTEGER, VECTOR, LlvmType, is_wide, named
from loopwright.ir import ops
from loopwright.types import F64, I32, I64, U64

__all__ = ["VECTORS", "by_elements", "has_vectors", "reduce"]


def has_vectors(i: Instruction) -> bool:
    """Whether an instruction makes a vector, or takes one."""
    return i.type.kind == VECTOR or any(operand.type.kind == VECTOR for operand in i.operands)


def by_elements(w: CallWriter, i: Instruction, operands: list[Constant], write: Callable[[Instruction, list[Constant]], list[int]]) -> list[int]:
    """An instruction on vectors as one on each of their elements."""
    count = max([i.type.count, *(operand.type.count for operand in operands if operand.type.kind == VECTOR)])
    given = [w.parts(operand) if operand.type.kind == VECTOR else [] for operand in operands]
    made: list[int] = []
    for lane in range(count):
        each = Instruction(i.opcode, "", i.line, i.type.elements[0] if i.type.kind == VECTOR else i.type)
        each.detail, each.debug = i.detail, i.debug
        for position, operand in enumerate(operands):
            if operand.type.kind != VECTOR:
                each.operands.append(operand)
                continue
            name = f" {position}"
            w.held[name] = [given[position][lane]]
            each.operands.append(Constant(LOCAL, operand.type.elements[0], name))
        made += write(each, each.operands)
    return made


def reduce(w: CallWriter, name: str, i: Instruction, a: list[Constant]) -> list[int]:
    """All elements of a vector together, of floats in their order behind what they begin with."""
    made = w.operand(a[0]) if len(a) > 1 else -1
    elements = w.parts(a[-1])
    if len(a) == 1:
        made, elements = elements[0], elements[1:]
    for element in elements:
        made = binary(w, name, i.type, made, element)
    return [made]


def _position(w: CallWriter, value: Constant, count: int) -> int:
    """Which element is meant, where that is known; otherwise -1."""
    if value.kind != NUMBER:
        return -1
    # (What is outside of a vector has no value.)
    return int(value.number) % count


def _extract(w: CallWriter, i: Instruction) -> list[int]:
    elements = w.parts(i.operands[0])
    at = _position(w, i.operands[1], len(elements))
    if at >= 0:
        return [elements[at]]
    number = w.index(i.operands[1])
    made = elements[0]
    for k, element in enumerate(elements[1:], 1):
        made = w.emit(ops.SELECT, w.f.type_of(element), [w.compare(ops.EQ, I64, number, w.const(I64, k)), element, made])
    return [made]


def _insert(w: CallWriter, i: Instruction) -> list[int]:
    elements = list(w.parts(i.operands[0]))
    new = w.operand(i.operands[1])
    at = _position(w, i.operands[2], len(elements))
    if at >= 0:
        elements[at] = new
        return elements
    number = w.index(i.operands[2])
    type_ = w.f.type_of(new)
    return [w.emit(ops.SELECT, type_, [w.compare(ops.EQ, I64, number, w.const(I64, k)), new, element]) for k, element in enumerate(elements)]


def _shuffle(w: CallWriter, i: Instruction) -> list[int]:
    elements = [*w.parts(i.operands[0]), *w.parts(i.operands[1])]
    # (Of an element that is undefined the first will do.)
    chosen = [int(w.f.const_values[~number]) for number in w.parts(i.operands[2])]
    return [elements[k] if 0 <= k < len(elements) else elements[0] for k in chosen]


def bitcast(w: CallWriter, i: Instruction) -> list[int]:
    """The same bits as another type, by words of 64."""
    from_, to = i.operands[0].type, i.type
    held = w.parts(i.operands[0])
    if from_.kind == to.kind == VECTOR and from_.count == to.count and from_.elements[0].kind == to.elements[0].kind:
        return held
    words: list[int]
    if from_.kind == VECTOR:
        words = [w.bits_of(part, held[at : at + part.count]) for at, part in _words(w, from_)]
    elif is_wide(from_):
        words = held
    elif from_.kind == FLOAT and w.f.type_of(held[0]) is F64:
        words = [w.emit(ops.BITCAST, U64, held, F64)]
    elif from_.kind == FLOAT:
        words = [w.convert(w.convert(w.emit(ops.BITCAST, I32, held, w.f.type_of(held[0])), I64), U64)]
    else:
        words = [w.convert(w.unsigned(held[0], from_), U64)]
    if to.kind == VECTOR:
        return [each for (_, part), word in zip(_words(w, to), words, strict=True) for each in w.from_bits(part, w.convert(word, U64))]
    if is_wide(to):
        return [w.convert(word, I64) for word in words]
    if to.kind == FLOAT:
        whole = w.type_of(to)
        return [w.emit(ops.BITCAST, F64, words, U64) if whole is F64 else w.emit(ops.BITCAST, whole, [w.convert(words[0], I32)], I32)]
    return [w.signed(words[0], to)]


def _words(w: CallWriter, type_: LlvmType) -> list[tuple[int, LlvmType]]:
    """Where the words of 64 bits begin in a vector, and what is in each."""
    element = type_.elements[0]
    if element.kind == INTEGER and element.bits % 8:
        w.unsupported(f"the bits of {named(type_)} are not supported")
    per = max(1, 8 // w.layout.stored(element))
    return [(at, LlvmType(VECTOR, elements=(element,), count=min(per, type_.count - at))) for at in range(0, type_.count, per)]


#: What is done with vectors as such.
VECTORS: Final[dict[str, Callable[[CallWriter, Instruction], list[int]]]] = {
    "extractelement": _extract,
    "insertelement": _insert,
    "shufflevector": _shuffle,
    "bitcast": bitcast,
}
