"""``assemble`` and ``encode``: IR to target instructions, and those to bytes."""

from __future__ import annotations

from loopwright.ir.function import Function
from loopwright.targets.target import Rule, Target


def assemble(f: Function, target: Target) -> None:
    """Each instruction's rule emits its machine instructions; the assembler is left in ``f.analysis``."""
    assembler = target.assembler(f)
    line = 0
    for instr in f.code:
        if instr.line != line:
            line = assembler.line = instr.line
        rule: Rule = instr.rule
        rule.emit(assembler, f, instr)
    f.analysis = assembler


def encode(f: Function, target: Target) -> None:
    """Machine instructions to bytes, with displacements and constant pool, in ``f.machine``."""
    f.machine = f.analysis.encode()
    # (The assembler knows the function: the two would keep each other until a garbage collection.)
    f.analysis = None
