"""Compiled code keeps the conventions of x86-64, as caller and as callee; the tester is ``trampoline.py``."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.conftest import available, equal
from tests.targets.alive import Alive, flat
from tests.targets.x86.trampoline import GPRS, RULES, Caller, Destroyer, Outcome, Rules, pages_touched, reports_upper_halves

from loopwright import compiler
from loopwright.compiler import Compiled
from loopwright.errors import UnsupportedOperationError
from loopwright.ir import ops
from loopwright.ir.function import NONE, Callee, Function, Instr
from loopwright.ir.interpret import Interpreter
from loopwright.runtime import cpu, memory
from loopwright.targets import registry
from loopwright.targets.target import Target
from loopwright.types import BOOL, F32, F64, I8, I16, I32, I64, U8, U16, U32, VOID, Type, mask_of, vector_of

pytestmark = pytest.mark.skipif(not cpu.is_x86_64() or not available(), reason="needs x86-64 with AVX2")

WIDE = cpu.is_x86_64() and cpu.LEVELS["x86-64-v4"] <= cpu.host_features()
MACHINES = [(name, bits, convention) for name, bits in available() for convention in RULES]


def target_of(machine: tuple[str, int, str]) -> Target:
    name, bits, convention = machine
    return registry.get(name, bits, convention=convention)


def check(made: Alive, machine: tuple[str, int, str], seed: int, step: bool, clean: bool) -> int:
    """The interpreter and the code called by the tester leave and return the same, and everybody kept the convention."""
    f = made.f.clone()
    target, rules = target_of(machine), RULES[machine[2]]
    returns = made.returns(seed)
    destroyers = [Destroyer(rules, WIDE, c.params, c.result, r, seed, clean) for c, r in zip(f.callees, returns, strict=True)]
    passed: list[list[tuple[Any, ...]]] = [[] for _ in destroyers]
    callees = {}
    for n, (callee, destroyer) in enumerate(zip(f.callees, destroyers, strict=True)):
        callee.address = destroyer.address

        def called(*args: Any, n: int = n) -> Any:
            passed[n].append(args)
            return returns[n][len(passed[n]) - 1]

        callees[callee.name] = called
    args = made.arguments(seed)
    mine = copy.deepcopy(args)
    with np.errstate(all="ignore"):
        want = Interpreter(f, callees=callees).call(*args)
    compiled = compiler.compile(f, target)
    block = memory.allocate(compiled.machine.data, compiled.machine.align)
    types, values = flat(f, mine)
    caller = Caller(rules, WIDE, seed)
    outcome = caller.call(block.address, types, values, f.result, step=step, clean=clean, skew=16 * (seed % 4))
    where = f"{f.name} for {machine}"
    assert not outcome.wrong, f"{where}: " + "; ".join(outcome.wrong)
    for n, destroyer in enumerate(destroyers):
        seen = destroyer.calls()
        assert len(seen) == len(passed[n]), where
        for one, expected in zip(seen, passed[n], strict=True):
            assert not one.wrong, f"{where}: " + "; ".join(one.wrong)
            for got, value in zip(one.arguments, expected, strict=True):
                assert equal(got, value), f"{where}: called{n} got {one.arguments} for {expected}"
    assert want is None or equal(outcome.result, want), f"{where}: {outcome.result!r} for {want!r}"
    for got, expected in zip(mine, args, strict=True):
        assert not isinstance(got, np.ndarray) or equal(got, expected), where
    return outcome.steps


def call(rules: Rules, compiled: Compiled, args: list[Any], **how: Any) -> tuple[Outcome, Caller]:
    caller = Caller(rules, WIDE)
    return caller.call_compiled(compiled, args, **how), caller


@pytest.mark.parametrize("seed", range(60))
def test_whatever_is_alive_the_convention_is_kept(seed: int) -> None:
    for machine in MACHINES:
        made = Alive(seed, machine[1], (6, 15, 40, 80)[seed % 4], (0, 1, 3)[seed % 3])
        check(made, machine, seed, step=seed % 5 == 0, clean=seed % 2 == 0)


# --- narrow values -------------------------------------------------------------------------------------------------

NARROW = [BOOL, I8, U8, I16, U16, I32, U32]


def samples(t: Type) -> list[Any]:
    if t is BOOL:
        return [False, True]
    low = -(1 << (t.bits - 1)) if t.signed else 0
    return [low, low + (1 << t.bits) - 1, 1, 0, 100]


@pytest.mark.parametrize("t", NARROW, ids=str)
@pytest.mark.parametrize("to", [I64, F64, BOOL], ids=str)
def test_what_lies_above_a_narrow_parameter_is_ignored(t: Type, to: Type) -> None:
    """In a register and on the stack; read, and written to as a variable."""
    for machine, position, variable in itertools.product(MACHINES, (0, 9), (False, True)):
        f = Function("widen", to)
        parameters = [f.param(t, f"p{n}") for n in range(10)]
        p = parameters[position]
        wide = f.register(to)
        if variable:
            f.variable[p] = True
            f.code.append(Instr(ops.IF, VOID, NONE, [f.const(BOOL, False)]))
            f.code.append(Instr(ops.COPY, t, p, [parameters[1]]))
            f.code.append(Instr(ops.END, VOID, NONE, []))
        f.code += [Instr(ops.CONVERT, to, wide, [p], source=t), Instr(ops.RET, to, NONE, [wide])]
        compiled = compiler.compile(f, target_of(machine))
        for value in samples(t):
            outcome, _ = call(RULES[machine[2]], compiled, [value] * 10)
            assert not outcome.wrong and outcome.result == to(value), (machine, position, variable, value, outcome)


@pytest.mark.parametrize("t", NARROW, ids=str)
def test_what_lies_above_a_narrow_result_is_ignored(t: Type) -> None:
    for machine, value in itertools.product(MACHINES, samples(t)):
        rules = RULES[machine[2]]
        destroyer = Destroyer(rules, WIDE, [], t, [value], 5)
        f = Function("widen", F64)
        f.callees.append(Callee("narrow", [], t, destroyer.address, keep=destroyer))
        r, wide = f.register(t), f.register(F64)
        f.code = [Instr(ops.CALL, t, r, []), Instr(ops.CONVERT, F64, wide, [r], source=t), Instr(ops.RET, F64, NONE, [wide])]
        outcome, _ = call(rules, compiler.compile(f, target_of(machine)), [])
        assert not outcome.wrong and outcome.result == float(value), (machine, value, outcome)


@pytest.mark.parametrize("types", [[], [I64], [F64], [F32, I32] * 3, [F64] * 11], ids=str)
def test_al_says_how_many_vector_registers_hold_arguments(types: list[Type]) -> None:
    """Every time, for a function with a variable number of arguments may be called; Win64 has no such rule."""
    for machine in MACHINES:
        rules = RULES[machine[2]]
        destroyer = Destroyer(rules, WIDE, types, VOID, [None])
        f = Function("calls", VOID)
        f.callees.append(Callee("called", types, VOID, destroyer.address, keep=destroyer))
        f.code = [Instr(ops.CALL_VOID, VOID, NONE, [f.param(t, f"p{n}") for n, t in enumerate(types)])]
        outcome, _ = call(rules, compiler.compile(f, target_of(machine)), [7] * len(types))
        assert not outcome.wrong and not destroyer.calls()[0].wrong, (machine, destroyer.calls())


# --- upper halves --------------------------------------------------------------------------------------------------


def only_masks(bits: int, lanes: int, op: ops.Op, made_by: ops.Op) -> Function:
    """A mask out of scalars, and a bool out of it."""
    f = Function("masks", BOOL)
    m, r = f.register(mask_of(bits, lanes)), f.register(BOOL)
    args = [f.param(I64, "a"), f.param(I64, "b")] if made_by is ops.LANE_MASK else [f.param(BOOL, "c")]
    f.code = [Instr(made_by, f.types[m], m, args), Instr(op, f.types[m], r, [m]), Instr(ops.RET, BOOL, NONE, [r])]
    return f


def only_converts(to: Type, source: Type) -> Function:
    f = Function("converts", VOID)
    f.array_param("x", source.element, 1)
    f.array_param("y", to.element, 1).written = True
    a, b = f.register(source), f.register(to)
    f.code = [Instr(ops.LOAD, source, a, [f.const(I64, 0)], 0), Instr(ops.CONVERT, to, b, [a], source=source)]
    f.code.append(Instr(ops.STORE, to, NONE, [b, f.const(I64, 0)], 1))
    return f


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_upper_halves_are_left_clean_whatever_used_them(machine: tuple[str, int, str]) -> None:
    """Instructions whose own type is narrow, or no vector's, use whole registers too."""
    target, rules = target_of(machine), RULES[machine[2]]
    elements = (U8, I8, I16, U16, I32, U32, I64, F32, F64)
    made = [only_masks(bits, machine[1] // bits, op, by) for bits in (8, 16, 32, 64) for op in (ops.ANY, ops.ALL) for by in (ops.LANE_MASK, ops.MASK_SPLAT)]
    for a, b in itertools.permutations(elements, 2):
        lanes = machine[1] // max(a.bits, b.bits)
        made.append(only_converts(vector_of(a, lanes), vector_of(b, lanes)))
    tried = 0
    for f in made:
        try:
            compiled = compiler.compile(f, target)
        except UnsupportedOperationError:
            continue
        args = [np.ones(64, a.element.dtype) for a in f.arrays] or [1, 3][: len(f.params)]
        outcome, _ = call(rules, compiled, args)
        assert not outcome.wrong, (f.code, outcome.wrong)
        tried += 1
    assert tried > 40


# --- frames --------------------------------------------------------------------------------------------------------


def crowd(t: Type, count: int, behind_condition: bool, target: Target) -> tuple[Compiled, int]:
    """A function that loads ``count`` values of a type and stores them in the opposite order, if its last argument is true or always; the
    bytes it takes from the stack.

    All are alive at once, so all but as many as there are registers are in the frame.
    """
    f = Function("crowd", VOID)
    lanes = max(t.lanes, 1)
    f.array_param("x", t.element, 1)
    f.array_param("y", t.element, 1).written = True
    c = f.param(BOOL, "c")
    if behind_condition:
        f.code.append(Instr(ops.IF, VOID, NONE, [c]))
    made = []
    for n in range(count):
        made.append(f.register(t))
        f.code.append(Instr(ops.LOAD, t, made[-1], [f.const(I64, n * lanes)], 0))
    for n, r in enumerate(reversed(made)):
        f.code.append(Instr(ops.STORE, t, NONE, [r, f.const(I64, n * lanes)], 1))
    if behind_condition:
        f.code.append(Instr(ops.END, VOID, NONE, []))
    compiled = compiler.compile(f, target)
    taken = sum(int(text.split()[-1], 16) for _, _, text, _ in compiled.listing() if text.startswith("sub rsp"))
    return compiled, taken


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_leaf_functions_keep_values_where_no_signal_destroys_them(machine: tuple[str, int, str]) -> None:
    """System V: up to 128 bytes below the stack pointer. Win64: none."""
    target, rules = target_of(machine), RULES[machine[2]]
    in_zone = 0
    for t in (I64, F64, vector_of(F32, machine[1] // 32)):
        registers = len(target.orders[t.is_vector or t.is_float])
        for count in range(registers - 2, registers + 22, 1 if t is I64 else 3):
            compiled, taken = crowd(t, count, False, target)
            frame = compiled.function.frame
            assert frame is not None
            in_zone += frame.size > 0 and not taken
            lanes = max(t.lanes, 1)
            x = np.arange(count * lanes).astype(t.element.dtype)
            y = np.zeros_like(x)
            outcome, _ = call(rules, compiled, [x, y, True], step=True, skew=16 * (count % 4))
            assert not outcome.wrong, (t, count, outcome.wrong)
            assert outcome.steps > count
            assert (y.reshape(count, lanes) == x.reshape(count, lanes)[::-1]).all(), (t, count)
    assert (in_zone > 0) == (machine[2] == "sysv")


@pytest.mark.parametrize("machine", MACHINES, ids=str)
@pytest.mark.parametrize("size", [3600, 4096, 4600, 8192, 40_000])
def test_a_large_frame_has_its_pages_touched_in_turn_where_the_stack_grows_by_the_page(machine: tuple[str, int, str], size: int) -> None:
    target, rules = target_of(machine), RULES[machine[2]]
    t = vector_of(F32, machine[1] // 32)
    compiled, taken = crowd(t, size // t.size + len(target.orders[1]), True, target)
    assert abs(taken - size) < 200
    x = np.zeros((size // t.size + 40) * t.lanes, np.float32)
    outcome, caller = call(rules, compiled, [x, x.copy(), False], fill=False)
    assert not outcome.wrong
    touched = pages_touched(caller.stack)
    # Its first page has the arguments; what the function takes ends in the last.
    last = touched.index(True)
    first = len(touched) - 1
    if machine[2] == "win64" and taken >= 4096:
        assert all(touched[last:first]) and (first - last) * 4096 >= taken - 4096
    elif machine[2] == "sysv":
        assert first - last <= 1
    outcome, _ = call(rules, compiled, [np.arange(len(x), dtype=np.float32), x, True], step=size < 5000)
    count = size // t.size + len(target.orders[1])
    assert not outcome.wrong
    assert (x[: count * t.lanes].reshape(count, -1) == np.arange(count * t.lanes).reshape(count, -1)[::-1]).all()


# --- the tester notices --------------------------------------------------------------------------------------------

#: What a function must not do, in bytes, and what is said about it.
FAULTS = {
    "rbx": ("31db", "rbx was"),
    "rbp": ("4883c501", "rbp was"),
    "r12": ("4d31e4", "r12 was"),
    "r15": ("49ffc7", "r15 was"),
    "a word left on the stack": ("ff342441 5a 41ff e2".replace(" ", ""), "rsp was"),
    "MXCSR": ("c74424f8 80 3f 0000 0fae5424f8".replace(" ", ""), "MXCSR"),
    "direction flag": ("fd", "direction flag"),
    "x87 control word": ("66c74424f87f02 d96c24f8".replace(" ", ""), "x87"),
    "MMX state": ("0fefc0", "x87"),
    "a fault": ("0f0b", "SIGILL"),
    "a loop without end": ("ebfe", "no end"),
    "caller's frame": ("c784244001000000000000", "frame was written"),
    "upper halves": ("c5fc28c0c5fd76c0", "upper halves"),
}
WIN64_FAULTS = {"rdi": ("31ff", "rdi was"), "rsi": ("31f6", "rsi was"), "xmm6": ("0f57f6", "xmm6"), "xmm15": ("450f57ff", "xmm15")}


@pytest.mark.parametrize("convention", RULES)
@pytest.mark.parametrize("name", FAULTS | WIN64_FAULTS)
def test_the_tester_notices(convention: str, name: str) -> None:
    code, said = (FAULTS | WIN64_FAULTS)[name]
    if name == "upper halves" and not reports_upper_halves():
        pytest.skip("this CPU does not report upper halves in use")
    block = memory.allocate(bytes.fromhex(code) + b"\xc3")
    outcome = Caller(RULES[convention], WIDE).call(block.address, [], [], VOID, step=name == "a loop without end", limit=1000)
    if convention == "sysv" and name in WIN64_FAULTS:
        assert not outcome.wrong
    else:
        assert len(outcome.wrong) == 1 and said in outcome.wrong[0], outcome.wrong


@pytest.mark.parametrize("convention", RULES)
def test_the_tester_gets_out_of_a_loop(convention: str) -> None:
    block = memory.allocate(b"\xeb\xfe")
    caller = Caller(RULES[convention], WIDE)
    caller.handlers.seconds = 0.1
    outcome = caller.call(block.address, [], [], VOID)
    assert len(outcome.wrong) == 1 and "no end 0x0 bytes into" in outcome.wrong[0]


@pytest.mark.parametrize("convention", RULES)
@pytest.mark.parametrize("below", [8, 120, 128, 136, 400, 700, 800, 900, 1000, 1100, 1300, 2000])
def test_the_tester_notices_what_is_kept_below_the_red_zone(convention: str, below: int) -> None:
    # mov qword ptr [rsp - below], 42; nop; mov rax, [rsp - below]; ret
    at = (-below).to_bytes(4, "little", signed=True)
    block = memory.allocate(b"\x48\xc7\x84\x24" + at + b"\x2a\0\0\0" + b"\x90" + b"\x48\x8b\x84\x24" + at + b"\xc3")
    outcome = Caller(RULES[convention], WIDE).call(block.address, [], [], I64, step=True)
    assert not outcome.wrong and outcome.steps >= 4
    assert (outcome.result == 42) == (convention == "sysv" and below <= 128)


@pytest.mark.parametrize("convention", RULES)
def test_the_tester_notices_as_a_callee(convention: str) -> None:
    # A call with the stack pointer off, the direction flag set, another MXCSR, upper halves in use and al too large:
    # mov dword ptr [rsp - 8], 0x3f80; ldmxcsr [rsp - 8]; vpcmpeqd ymm0, ymm0, ymm0; std; mov eax, 9; jmp [rip] (as if called)
    destroyer = Destroyer(RULES[convention], WIDE, [], VOID, [None])
    code = bytes.fromhex("c74424f8803f0000 0fae5424f8 c5fd76c0 fd b809000000 6848000000 ff2500000000") + destroyer.address.to_bytes(8, "little")
    block = memory.allocate(code)
    outcome = Caller(RULES[convention], WIDE).call(block.address, [], [], VOID)
    # (It returns to address 0x48.)
    assert "SIGSEGV" in outcome.wrong[0]
    wrong = " ".join(destroyer.calls()[0].wrong)
    for said in ("rsp was", "direction flag", "MXCSR", *(["upper halves"] if reports_upper_halves() else []), *(["al was 9"] if convention == "sysv" else [])):
        assert said in wrong, (said, wrong)


@pytest.mark.parametrize("convention", RULES)
def test_a_function_called_destroys_whatever_it_may(convention: str) -> None:
    """Each register, kept in one that is preserved for no one, comes back changed; each preserved one as it was."""
    rules = RULES[convention]
    destroyer = Destroyer(rules, WIDE, [], I64, [1])
    caller = Caller(rules, WIDE)
    before = caller.call(destroyer.address, [], [], I64)
    assert not before.wrong
    for name in set(GPRS) - {"rax", "rsp"}:
        changed = caller.went_in(name) != caller.came_back(name)
        assert changed == (name not in rules.preserved), name
    for n in range(32 if WIDE else 16):
        low, high = caller.vector_changed(n)
        assert high and low == (n not in rules.preserved_xmm), n
