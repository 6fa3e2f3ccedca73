"""Runs the belt's code, from its bytes."""

from __future__ import annotations

import operator
import struct
from typing import Any

import numpy as np

from loopwright.targets.target import MachineCode
from loopwright.types import VOID, Type

from .words import REACH, SIZE, decode

__all__ = ["run"]

_TWO = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "shl": operator.lshift,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "nlt": lambda a, b: not a < b,
    "nle": lambda a, b: not a <= b,
    "ngt": lambda a, b: not a > b,
    "nge": lambda a, b: not a >= b,
    "min": min,
    "max": max,
}


def run(machine: MachineCode, parameters: list[tuple[Type, Any]], memory: bytearray, limit: int = 1_000_000) -> tuple[Any, dict[str, int]]:
    """The result of a call, and how often each operation ran. Addresses are places in ``memory``."""
    cells: dict[int, Any] = {number: _as(type_, value) for number, (type_, value) in enumerate(parameters)}
    belt: list[Any] = []
    counts: dict[str, int] = {}
    at = 0
    for _ in range(limit):
        name, type_, source, places, number = decode(machine.data, at)
        counts[name] = counts.get(name, 0) + 1
        at += SIZE
        operands = [belt[-place] for place in places if place]
        assert all(place <= REACH for place in places)
        if name in ("go", "choose"):
            held = name == "go" or bool(operands[0])
            at = SIZE * (number & 0xFFFFFFFF if held else number >> 32)
            belt = []
        elif name == "ret":
            return operands[0] if operands else None, counts
        elif name == "put":
            cells[number] = operands[0]
        elif name == "store":
            where = int(operands[1]) + number
            memory[where : where + type_.size] = _as(type_, operands[0]).tobytes()
        else:
            belt.append(_result(name, type_, source, operands, number, cells, memory))
    raise TimeoutError("the function does not end")


def _as(type_: Type, value: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(type_.dtype or "int64")[()]


def _result(name: str, type_: Type, source: Type, operands: list[Any], number: int, cells: dict[int, Any], memory: bytearray) -> Any:
    if name == "const":
        return _as(type_, struct.unpack("<d", struct.pack("<q", number))[0] if type_.is_float else number)
    if name == "get":
        return cells[number]
    if name == "load":
        where = int(operands[0]) + number
        return np.frombuffer(bytes(memory[where : where + type_.size]), type_.dtype or "int64")[0]
    if name == "convert":
        assert source is not VOID and not (source.is_float and type_.is_integer)
        return _as(type_, operands[0])
    if name == "select":
        return operands[1] if operands[0] else operands[2]
    with np.errstate(all="ignore"):
        if name == "copy":
            return operands[0]
        if name == "neg":
            return _as(type_, -operands[0])
        if name == "not":
            return np.bool_(not operands[0]) if type_.dtype == "bool" else ~operands[0]
        made = _TWO[name](*operands)
    return np.bool_(made) if name in ("eq", "ne", "lt", "le", "gt", "ge", "nlt", "nle", "ngt", "nge") else _as(type_, made)
