"""Texts of functions with a few things wrong, or only other: tokens and lines left out, repeated, exchanged, replaced."""

from __future__ import annotations

import random
import re

from loopwright.ir import ops
from loopwright.ir.stages import STAGES

__all__ = ["mutated"]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[%$@]?[\w.]+|->|\S')
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?")
_TYPES = [
    "bool",
    "i8",
    "u8",
    "i16",
    "u16",
    "i32",
    "u32",
    "i64",
    "u64",
    "ptr",
    "f16",
    "bf16",
    "f32",
    "f64",
    "void",
    "f32x4",
    "f32x8",
    "f32x16",
    "f64x4",
    "f64x8",
    "i32x4",
    "i32x8",
    "i64x8",
    "u8x16",
    "f32x1",
    "i16x3",
    "mask32x4",
    "mask32x8",
    "mask64x8",
]
_NUMBERS = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "4",
    "7",
    "8",
    "16",
    "64",
    "1000",
    "4096",
    "1048575",
    "1048576",
    "2147483647",
    "2147483648",
    "-2147483649",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551616",
    "0.0",
    "-0.0",
    "1.5",
    "1e400",
    "inf",
    "-inf",
    "nan",
    "true",
    "false",
]
_BRACKETS = [
    "block",
    "loop",
    "else",
    "end",
    "elif",
    "while",
    "br 0",
    "br 1",
    "br 2",
    "if true",
    "then true",
    "do true",
    "do false",
    "ret",
    "if false",
    "br_if 0, true",
]
_STAGES = [*STAGES, "unknown"]
_OPERATIONS = [op.name for op in ops.OPS]


def _kind(token: str) -> str:
    if token[0] in "%$@":
        return token[0]
    if _NUMBER.fullmatch(token):
        return "number"
    if token.partition(".")[0] in ops.BY_NAME:
        return "operation"
    return "type" if token in _TYPES else "word" if token[0].isalpha() else "mark"


def _other(token: str, tokens: list[str], chooser: random.Random) -> str:
    """Something that may stand where ``token`` does."""
    kind = _kind(token)
    if kind == "operation":
        name, *suffixes = token.split(".")
        at = chooser.randrange(len(suffixes) + 1)
        if at == 0:
            operands = ops.BY_NAME[name].operands
            name = chooser.choice([op.name for op in ops.OPS if op.operands == operands] if chooser.random() < 0.8 else _OPERATIONS)
        else:
            suffixes[at - 1] = chooser.choice(_TYPES)
        if chooser.random() < 0.1:
            suffixes.append(chooser.choice(_TYPES))
        return ".".join([name, *suffixes])
    if kind == "number" and chooser.random() < 0.7:
        return chooser.choice(_NUMBERS)
    if kind == "type" and chooser.random() < 0.7:
        return chooser.choice(_TYPES)
    alike = [t for t in tokens if t != token and _kind(t) == kind]
    if kind == "%" and chooser.random() < 0.05:
        return f"%{chooser.choice(['new', '7', '1048575', 'x.3'])}"
    return chooser.choice(alike) if alike else chooser.choice(tokens)


def _tokens(lines: list[str], chooser: random.Random) -> None:
    """One change of a token or two."""
    at = chooser.randrange(len(lines))
    places = [(m.start(), m.end()) for m in _TOKEN.finditer(lines[at])]
    if not places:
        return
    line = lines[at]
    start, end = chooser.choice(places)
    token = line[start:end]
    everything = [m[0] for text in lines for m in _TOKEN.finditer(text)]
    kind = chooser.randrange(10)
    if kind == 0:
        lines[at] = line[:start] + line[end:]
    elif kind == 1:
        lines[at] = f"{line[:end]} {token}{line[end:]}"
    elif kind == 2:
        other_start, other_end = chooser.choice(places)
        if other_start < start:
            start, end, other_start, other_end = other_start, other_end, start, end
        if other_start > start:
            lines[at] = line[:start] + line[other_start:other_end] + line[end:other_start] + line[start:end] + line[other_end:]
    elif kind == 3:
        lines[at] = f"{line[:start]} {chooser.choice(everything)} {line[start:]}"
    else:
        lines[at] = line[:start] + _other(token, everything, chooser) + line[end:]


def _lines(lines: list[str], others: list[str], chooser: random.Random) -> None:
    """One change of a line or a few."""
    at = chooser.randrange(len(lines))
    to = min(len(lines), at + chooser.choice([1, 1, 1, 2, 5]))
    kind = chooser.randrange(9)
    if kind == 0:
        del lines[at:to]
    elif kind == 1:
        lines[to:to] = lines[at:to]
    elif kind == 2:
        place = chooser.randrange(len(lines))
        moved = lines[at:to]
        del lines[at:to]
        lines[place:place] = moved
    elif kind == 3:
        other = chooser.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == 4:
        lines.insert(at, chooser.choice(others))
    elif kind == 5:
        lines.insert(at, chooser.choice(_BRACKETS))
    elif kind == 6:
        lines.insert(at, chooser.choice(["block", "loop", "while\n do true", "if true", "%new = for 0, 3, 1"]))
        lines.insert(min(len(lines), to + 1), "end")
    elif kind == 7:
        for k, line in enumerate(lines):
            if line.lstrip().startswith("stage "):
                lines[k] = f"stage {chooser.choice(_STAGES)}"
                return
        lines.insert(1, f"stage {chooser.choice(_STAGES)}")
    else:
        lines.insert(
            1,
            chooser.choice(
                ["target x86-64-v4", "physical", "labels 3", "option check", "option contract, fastmath", "slot @s0: spill 8 at 0", "var %v: f32x8"]
            ),
        )


def mutated(text: str, chooser: random.Random, others: list[str]) -> str:
    """``text`` with one to five changes; ``others`` are lines of other functions to mix in."""
    lines = text.rstrip("\n").split("\n")
    for _ in range(chooser.choice([1, 1, 1, 2, 3, 5])):
        if not lines:
            break
        if chooser.random() < 0.65:
            _tokens(lines, chooser)
        else:
            _lines(lines, others, chooser)
    return "\n".join(lines) + "\n"
