"""Comparisons that the flags hold already are left out, and only those: random code beside the same code with all of its comparisons."""

from __future__ import annotations

import ctypes
import platform
import random
from collections.abc import Callable

import numpy as np
import pytest

from loopwright.ir.function import Function
from loopwright.runtime import memory
from loopwright.targets.x86.assembler import NO_REGISTER, Assembler, M, lookup
from loopwright.targets.x86.operands import X86Assembler

needs_x86 = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="runs x86-64 code")

#: RAX, RCX, RDX, RSI, R8: what calls destroy, but RDI, which has the address of the results.
POOL = (0, 1, 2, 6, 8)
STEPS = 12


def assembler() -> X86Assembler:
    return X86Assembler(Function("f"), False, True, 0)


def random_step(rng: random.Random) -> list[Callable[[Assembler], None]]:
    """One to three instructions; two registers out of five, so that comparisons repeat."""
    a, b, c = (rng.choice(POOL) for _ in range(3))
    r = rng.choice(("r32", "r64"))
    imm = rng.choice((0, 1, -1, 5))

    def emits(name: str, shape: str, ops: tuple[int, ...], mem: M | None = None, imm: int = 0) -> Callable[[Assembler], None]:
        return lambda asm: asm.emit(lookup(name, shape), ops, mem, imm)

    def compares(name: str, a: int, b: int) -> list[Callable[[Assembler], None]]:
        # What a comparison is for: its conditions into a register that is not compared.
        into = next(each for each in POOL if each not in (a, b))
        condition = rng.choice(("L", "G", "B", "E", "S", "O", "A", "NE", "GE", "NS"))
        return [emits(name, f"{r},{r}", (a, b)), emits(f"CMOV{condition}", "r64,r64", (into, b))]

    def floats(x: int, y: int) -> list[Callable[[Assembler], None]]:
        return [emits("VUCOMISD", "xmm,xmm", (x, y)), emits(f"CMOV{rng.choice(('A', 'AE', 'B', 'BE', 'P', 'E'))}", "r64,r64", (a, b))]

    x, y = rng.randrange(3), rng.randrange(3)
    return rng.choice(
        [
            floats(x, y),
            floats(0, 1),
            [emits("VMOVQ", "xmm,r64", (x, a))],
            [emits("VADDSD", "xmm,xmm,xmm", (x, y, 0)), *floats(0, 1)],
            [emits("VUCOMISD", "xmm,m64", (x,), M(7, NO_REGISTER, 1, 8)), emits("CMOVA", "r64,r64", (a, b))],
            compares("CMP", a, b),
            compares("CMP", b, a),
            compares("TEST", a, a),
            compares("TEST", a, b),
            [emits("MOV", f"{r},{r}", (c, a)), *compares("CMP", c, b)],
            [emits("CMP", f"{r},imm", (a,), None, imm), emits("CMOVLE", "r64,r64", (b, c))],
            [emits("MOV", f"{r},{r}", (a, b))],
            [emits(rng.choice(("AND", "OR", "XOR")), f"{r},{r}", (a, b)), *compares("TEST", a, a)],
            [emits("ADD", f"{r},{r}", (a, b))],
            [emits(rng.choice(("ADD", "SUB")), f"{r},{r}", (a, b)), *compares("TEST", a, a)],
            [emits(rng.choice(("SHL", "SHR", "SAR")), f"{r},imm8", (a,), None, rng.choice((0, 1, 31))), *compares("TEST", a, a)],
            [emits("NEG", r, (a,)), *compares("TEST", a, a)],
            [emits("LEA", "r64,m", (a,), M(b, NO_REGISTER, 1, 3))],
            [emits("SETL", "r8", (a,)), emits("MOVZX", "r32,r8", (a, a))],
            [emits("MOV", "r64,m64", (a,), M(7, NO_REGISTER, 1, 8))],
            [emits("MOV", "m64,r64", (a,), M(7, NO_REGISTER, 1, 8))],
            [emits("SHLX", "r64,r64,r64", (a, b, c))],
        ]
    )


def run(asm: Assembler, cells: np.ndarray) -> None:
    for n, register in enumerate(POOL):
        asm.emit(lookup("MOV", "m64,r64"), (register,), M(7, NO_REGISTER, 1, 64 + 8 * n))
    asm.emit(lookup("RET", ""))
    made = asm.encode()
    block = memory.allocate(made.data, made.align)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(block.address)(cells.ctypes.data)


@needs_x86
def test_leaving_comparisons_out_changes_no_result() -> None:
    rng = random.Random(1)
    left_out = 0
    for _ in range(600):
        steps = [each for _ in range(STEPS) for each in random_step(rng)]
        start = np.array([rng.choice((0, 1, -1, 5, 1 << 31, -(1 << 31), (1 << 32) + 5, rng.getrandbits(63))) for _ in range(16)], np.int64)
        results = []
        for asm in (assembler(), Assembler()):
            cells = start.copy()
            for n, register in enumerate(POOL):
                asm.emit(lookup("MOV", "r64,m64"), (register,), M(7, NO_REGISTER, 1, 8 * n))
            for n in range(3):
                asm.emit(lookup("VMOVQ", "xmm,r64"), (n, POOL[n]))
            for step in steps:
                step(asm)
            left_out += len(asm.items) if isinstance(asm, Assembler) and not isinstance(asm, X86Assembler) else -len(asm.items)
            run(asm, cells)
            results.append(cells)
        assert (results[0] == results[1]).all()
    assert left_out > 300


@needs_x86
def test_the_flags_of_what_made_a_number_serve_for_a_test_of_it() -> None:
    def encoded(*steps: tuple[str, str, tuple[int, ...], int]) -> list[str]:
        asm = assembler()
        for name, shape, ops, imm in steps:
            asm.emit(lookup(name, shape), ops, None, imm)
        asm.encode()
        return [form.mnemonic for form, *_ in asm.items]

    add, test = ("ADD", "r64,r64", (0, 1), 0), ("TEST", "r64,r64", (0, 0), 0)
    assert encoded(add, test, ("CMOVL", "r64,r64", (2, 1), 0)) == ["add", "cmovs"]
    assert encoded(add, test, ("CMOVGE", "r64,r64", (2, 1), 0), ("SETE", "r8", (2,), 0)) == ["add", "cmovns", "sete"]
    # Overflow decides what is greater.
    assert encoded(add, test, ("CMOVG", "r64,r64", (2, 1), 0)) == ["add", "test", "cmovg"]
    # Who asks last has to be seen; what reads the carry is none of those.
    assert encoded(add, test, ("CMOVL", "r64,r64", (2, 1), 0), ("ADC", "r64,r64", (2, 1), 0)) == ["add", "test", "cmovl", "adc"]
    assert encoded(("SHR", "r64,imm8", (0,), 32), test, ("CMOVE", "r64,r64", (2, 1), 0)) == ["shr", "cmove"]
    assert encoded(("SHR", "r64,imm8", (0,), 0), test, ("CMOVE", "r64,r64", (2, 1), 0)) == ["shr", "test", "cmove"]
    assert encoded(("ADD", "r32,r32", (0, 1), 0), test, ("CMOVE", "r64,r64", (2, 1), 0)) == ["add", "test", "cmove"]
    assert encoded(add, ("MOV", "r64,r64", (0, 2), 0), test, ("CMOVE", "r64,r64", (2, 1), 0)) == ["add", "mov", "test", "cmove"]


def emitted(*steps: tuple[str, str, tuple[int, ...]] | int) -> list[str]:
    asm = assembler()
    for step in steps:
        if isinstance(step, int):
            asm.label(step)
        else:
            asm.emit(lookup(step[0], step[1]), step[2])
    return [form.mnemonic for form, *_ in asm.items]


def test_what_is_known_of_the_flags() -> None:
    compare = ("CMP", "r32,r32", (0, 1))
    assert emitted(compare, ("CMOVL", "r32,r32", (2, 1)), compare) == ["cmp", "cmovl"]
    assert emitted(compare, ("CMOVL", "r32,r32", (0, 1)), compare) == ["cmp", "cmovl", "cmp"]
    assert emitted(("MOV", "r32,r32", (2, 0)), ("CMP", "r32,r32", (2, 1)), ("CMOVG", "r32,r32", (2, 1)), compare) == ["mov", "cmp", "cmovg"]
    assert emitted(("AND", "r64,r64", (0, 1)), ("TEST", "r64,r64", (0, 0))) == ["and"]
    assert emitted(("AND", "r32,r32", (0, 1)), ("TEST", "r64,r64", (0, 0))) == ["and", "test"]
    assert emitted(("SUB", "r64,r64", (0, 1)), ("TEST", "r64,r64", (0, 0))) == ["sub", "test"]
    assert emitted(compare, 7, compare) == ["cmp", "LABEL".lower(), "cmp"]
    assert emitted(compare, ("CALL", "r64", (3,)), compare) == ["cmp", "call", "cmp"]


def test_floats_that_have_been_compared_are_not_compared_again() -> None:
    compare, choose = ("VUCOMISS", "xmm,xmm", (0, 1)), ("CMOVA", "r64,r64", (2, 1))

    def encoded(*steps: tuple[str, str, tuple[int, ...]]) -> int:
        asm = assembler()
        for name, shape, ops in steps:
            asm.emit(lookup(name, shape), ops)
        asm.encode()
        return sum(form.mnemonic == "vucomiss" for form, *_ in asm.items)

    assert encoded(compare, choose, compare, choose) == 1
    assert encoded(compare, choose, ("VMOVAPS", "xmm,xmm", (2, 3)), choose, compare) == 1
    assert encoded(compare, ("VMOVAPS", "xmm,xmm", (1, 3)), compare) == 2
    assert encoded(compare, ("ADD", "r64,r64", (2, 1)), compare) == 2
    assert encoded(compare, ("CMP", "r64,r64", (2, 1)), compare) == 2
    assert encoded(compare, ("VUCOMISS", "xmm,xmm", (1, 0)), compare) == 3
