"""Measuring: what is made of the time stamps, that the loops are chains or are none, and that calls get their arguments. No clock is asked here."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import compiler
from loopwright.costs import measure
from loopwright.costs.measure import Case, Comparison, Measured, Meter, expected
from loopwright.errors import CpuError, TargetError
from loopwright.ir.text import parse
from loopwright.runtime import cpu, memory
from loopwright.targets import registry
from loopwright.targets.x86 import timing
from loopwright.targets.x86.assembler import Assembler, M, lookup
from loopwright.targets.x86.encoder import EVEX, NO_REGISTER

pytestmark = pytest.mark.skipif("avx2" not in cpu.host_features(), reason="needs an x86-64 CPU with AVX2")

ZEN4 = timing.get("znver4")
RAX, RCX, RSI, RDI = 0, 1, 6, 7
CHAIN = 6400


class Replaying(Meter):
    """A meter whose code copies the next five of the given time stamps instead of reading the counter."""

    def __init__(self, samples: list[list[int]]) -> None:
        super().__init__(rounds=len(samples))
        self.stamps = np.array(samples, np.uint64)
        self.repetitions: list[int] = []

    def _around(self, body: Assembler, repetitions: int) -> Any:
        self.repetitions.append(repetitions)
        self.at = np.array([self.stamps.ctypes.data], np.uint64)
        asm = Assembler()
        asm.ins(lookup("MOVABS", "r64,imm64"), RSI, self.at.ctypes.data)
        asm.ins(lookup("MOV", "r64,m64"), RAX, M(RSI, NO_REGISTER, 1, 0))
        for n in range(5):
            asm.ins(lookup("MOV", "r64,m64"), RCX, M(RAX, NO_REGISTER, 1, 8 * n))
            asm.ins(lookup("MOV", "m64,r64"), M(RDI, NO_REGISTER, 1, 8 * n), RCX)
        asm.ins(lookup("ADD", "r64,imm"), RAX, 40)
        asm.ins(lookup("MOV", "m64,r64"), M(RSI, NO_REGISTER, 1, 0), RAX)
        asm.ins(lookup("RET", ""))
        return asm.encode()


def stamps(empty: int, before: int, middle: int, after: int) -> list[int]:
    return [1000, 1000 + empty, 1000 + empty + before, 1000 + empty + before + middle, 1000 + empty + before + middle + after]


def test_a_sample_is_its_middle_over_the_chains_around_it() -> None:
    # Without the 100 ticks of reading the counter: 3000 of the body, 1500 of the chain's 6400 cycles.
    assert Replaying([stamps(100, 1600, 3100, 1600)]).cycles(Assembler(), 10) == pytest.approx(3000 / 1500 * CHAIN / 10)
    assert Replaying([stamps(100, 1605, 3100, 1595)]).cycles(Assembler(), 10) == pytest.approx(3000 / 1500 * CHAIN / 10)


def test_the_least_of_the_samples_that_were_not_disturbed_counts() -> None:
    good, slower, disturbed = stamps(100, 1600, 3100, 1600), stamps(100, 1600, 3400, 1600), stamps(100, 1700, 2100, 1600)
    assert Replaying([slower, disturbed, good]).cycles(Assembler(), 10) == pytest.approx(3000 / 1500 * CHAIN / 10)
    # A chain may be one hundredth off: 15 of 1500.
    off = stamps(100, 1607, 2100, 1593)
    assert Replaying([good, off]).cycles(Assembler(), 10) == pytest.approx(2000 / 1500 * CHAIN / 10)
    assert Replaying([good, stamps(100, 1609, 2100, 1591)]).cycles(Assembler(), 10) == pytest.approx(3000 / 1500 * CHAIN / 10)
    # The quickest reading of the counter is what it takes.
    assert Replaying([good, stamps(150, 1600, 9900, 1600)]).cycles(Assembler(), 10) == pytest.approx(3000 / 1500 * CHAIN / 10)
    # Chains that were both slowed down would make a cycle too long.
    assert Replaying([good, stamps(100, 2100, 3100, 2100)]).cycles(Assembler(), 10) == pytest.approx(3000 / 1500 * CHAIN / 10)


def test_where_all_were_disturbed_the_least_body_and_the_least_chain_count() -> None:
    samples = [stamps(100, 2100, 3100, 1100), stamps(100, 1100, 4600, 2100)]
    assert Replaying(samples).cycles(Assembler(), 4) == pytest.approx(3000 / 1000 * CHAIN / 4)
    assert Replaying(samples).cycles(Assembler(), 4, rounds=1) == pytest.approx(3000 / 1000 * CHAIN / 4)


def test_a_body_runs_as_often_as_fills_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    meter = Meter(rounds=3, ticks=12000)
    asked: list[tuple[int, int]] = []

    def cycles(_body: Assembler, repetitions: int, rounds: int = 0) -> float:
        asked.append((repetitions, rounds))
        return 48.0 if rounds else 40.0

    monkeypatch.setattr(meter, "cycles", cycles)
    assert meter._per(Assembler(), 16) == 40.0 / 16
    assert asked == [(125, 3), (250, 0)]
    asked.clear()
    meter.ticks = 10
    assert meter._per(Assembler(), 5000) == 40.0 / 5000
    assert asked == [(1, 3), (2, 0)]


# --- the loops --------------------------------------------------------------------------------------------------------


class Noting(Meter):
    """A meter that keeps the bodies instead of running them."""

    def __init__(self) -> None:
        super().__init__(rounds=1)
        self.features = frozenset(f for form in measure.cases() for f in form.form.features) | self.features | {"avx512bw", "avx512dq", "avx512vl"}
        self.wide = True
        self.bodies: list[tuple[list[Any], int]] = []

    def _per(self, asm: Assembler, count: int) -> float:
        self.bodies.append((asm.items, count))
        return 1.0


def touched(item: Any) -> tuple[set[tuple[str, int]], set[tuple[str, int]]]:
    """Registers an instruction reads and writes, as far as its operands say."""
    form, ops, mem, _imm, k, z, _line = item
    read: set[tuple[str, int]] = set()
    written: set[tuple[str, int]] = set()
    n = 0
    for operand in form.operands:
        if operand.fixed or operand.immediate or (mem is not None and operand.place == "M") or not operand.register:
            continue
        cls = "v" if operand.register[1:] == "mm" else operand.register[:1]
        place = (cls, ops[n])
        n += 1
        if operand.role in "rx" or (operand.role == "w" and k and not z):
            read.add(place)
        if operand.role in "wx":
            written.add(place)
    return read, written


DIVISIONS = ("div", "idiv")
CASES = [case for case in measure.cases() if case.form.mnemonic not in DIVISIONS]


@pytest.mark.parametrize("cases", [CASES[n::8] for n in range(8)], ids=range(8))
def test_copies_for_throughput_do_not_wait_for_each_other(cases: list[Case]) -> None:
    for case in cases:
        check_throughput(case)


def check_throughput(case: Case) -> None:
    meter = Noting()
    meter.measure(case)
    items, count = meter.bodies[0]
    assert len(items) == count == 96
    assert all(item[0] is case.form for item in items)
    known = [touched(item) for item in items]
    everything = set().union(*(written for _, written in known))
    for n, (read, written) in enumerate(known):
        # What an instruction changes, no other one of the next four touches; what it only reads, none writes.
        for other_read, other_written in known[n + 1 : n + 5]:
            assert not written & (other_read | other_written)
        assert not (read - written) & everything
    ops = [code for code, operand in zip(items[0][1], [o for o in case.form.operands if o.register and not o.fixed], strict=False) if operand.role == "r"]
    assert len(set(ops[:2])) == len(ops[:2])
    if case.memory and case.form.mnemonic != "lea":
        size = next(operand.memory for operand in case.form.operands if operand.place == "M") // 8
        assert [item[2].disp for item in items[:3]] == [1024, 1024 + size, 1024 + 2 * size]
        assert all(item[2].disp >= 1024 and item[2].disp + size <= 8192 for item in items)


@pytest.mark.parametrize("cases", [CASES[n::8] for n in range(8)], ids=range(8))
def test_for_latency_each_reads_what_the_one_before_wrote(cases: list[Case]) -> None:
    for case in cases:
        check_latency(case)


def check_latency(case: Case) -> None:
    meter = Noting()
    found = meter.measure(case)
    if case.memory or found.latency is None:
        assert len(meter.bodies) == 1
        return
    items, count = meter.bodies[1]
    assert count == 48 and len(items) == (96 if found.through else 48)
    for one, other in zip(items, [*items[1:], items[0]], strict=True):
        read, written = touched(other)[0], touched(one)[1]
        assert read & written, (one[0], other[0])
    if found.through:
        mnemonic, shape = found.through.split(" ")
        assert items[1][0] is lookup(mnemonic.upper(), shape)


def test_a_division_starts_from_a_dividend_of_its_own_or_from_the_one_before() -> None:
    for case in (case for case in measure.cases() if case.form.mnemonic in DIVISIONS):
        meter = Noting()
        found = meter.measure(case)
        (apart, one), (chained, two) = meter.bodies
        assert (one, two) == (16, 16)
        assert [item[0].mnemonic for item in apart[:3]] == [
            "mov",
            ("cqo" if "64" in repr(case) else "cdq") if case.form.mnemonic == "idiv" else "xor",
            case.form.mnemonic,
        ]
        assert [item[0].mnemonic for item in chained[:2]] == [item[0].mnemonic for item in apart[1:3]]
        assert found.through == ("cdq" if case.form.mnemonic == "idiv" else "")


def test_512_bits_and_their_registers_are_used_only_where_there_are_some() -> None:
    meter = Noting()
    for case in CASES:
        meter.bodies.clear()
        meter.measure(case)
        most = max(
            [
                code
                for item in meter.bodies[0][0]
                for code, operand in zip(item[1], [o for o in item[0].operands if o.register], strict=False)
                if operand.register[1:] == "mm"
            ]
            or [0]
        )
        evex = case.form.kind == EVEX or (case.form.kind == 1 and case.form.evex() is not None)
        assert most < (32 if evex else 16)


# --- held against the tables ------------------------------------------------------------------------------------------


def test_what_the_tables_expect_of_a_measurement() -> None:
    assert expected(ZEN4, Case(lookup("IMUL", "r64,r64"))) == (1.0, 3.0)
    # A renamed move costs its place in the dispatch group.
    assert expected(ZEN4, Case(lookup("MOV", "r64,r64"))) == (1 / 6, 1 / 6)
    # A round trip takes the way back too: 3 + 3 cycles.
    assert expected(ZEN4, Case(lookup("VMOVD", "r32,xmm")), "vmovd xmm,r32")[1] == 3 + 3
    assert expected(ZEN4, Case(lookup("VPCMPD", "k,zmm,zmm,imm")), "vpmovm2d zmm,k")[1] == 5 + 1
    # A division by way of the sign of the one before: one cycle more.
    assert expected(ZEN4, Case(lookup("IDIV", "r64")), "cdq")[1] == 8 + 1
    assert expected(ZEN4, Case(lookup("DIV", "r64")))[1] == 9
    # Memory counts as the tables have it; LEA reads none.
    loaded = expected(ZEN4, Case(lookup("VADDPS", "zmm,zmm,m"), memory=True))
    assert loaded == (1.0, 3.0)
    assert expected(ZEN4, Case(lookup("LEA", "r64,m"), memory=True)) == (0.25, 1.0)


@pytest.mark.parametrize(
    ("told", "found", "differs"),
    [
        (1.0, 1.0, False),
        (1.0, 1.17, False),
        (1.0, 1.22, True),
        (1.0, 0.83, False),
        (1.0, 0.81, True),
        (10.0, 10.9, False),
        (10.0, 11.2, True),
        (0.17, 0.25, False),
    ],
)
def test_a_measurement_differs_from_a_tenth_of_a_cycle_and_eight_per_cent_on(told: float, found: float, differs: bool) -> None:
    case = Case(lookup("IMUL", "r64,r64"))
    assert Comparison(case, told, 3.0, Measured(found, 3.0)).differs == (["throughput"] if differs else [])
    assert Comparison(case, 3.0, told, Measured(3.0, found)).differs == (["latency"] if differs else [])
    assert Comparison(case, told, told, Measured(None, None)).differs == []


def test_instructions_that_this_cpu_lacks_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    meter = Noting()
    meter.features -= {"avx512f"}
    chosen = [Case(lookup("IMUL", "r64,r64")), Case(lookup("VADDPS", "zmm,zmm,zmm")), Case(lookup("VADDPS", "ymm,ymm,ymm"))]
    found = measure.compare(ZEN4, meter, chosen)
    assert [comparison.case for comparison in found] == [chosen[0], chosen[2]]
    assert found[0].measured.latency == 1.0 and found[0].latency == 3.0 and found[0].differs == ["latency"]


# --- whole functions --------------------------------------------------------------------------------------------------


def test_the_call_itself_is_taken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[list[int], int, Any]] = []

    def call_cycles(_meter: Meter, address: int, words: list[int], rounds: int, before: Any) -> float:
        asked.append((words, rounds, before))
        # The function that does nothing is called second, with the same arguments.
        return 50.0 if ctypes.c_uint8.from_address(address).value != 0xC3 else 8.0

    monkeypatch.setattr(measure, "_call_cycles", call_cycles)
    block = memory.allocate(b"\x90\xc3", 64)
    assert measure.address_cycles(block.address, [1, 2], Meter(rounds=1), 7, [(1, 2, 3)]) == 42.0
    assert asked == [([1, 2], 7, [(1, 2, 3)])] * 2


class Once(Meter):
    """A meter that runs what it is given, a few times, and tells how often it was asked to."""

    def __init__(self) -> None:
        super().__init__(rounds=1, ticks=900)
        self.asked: list[tuple[int, int]] = []

    def cycles(self, body: Assembler, repetitions: int, rounds: int = 0) -> float:
        self.asked.append((repetitions, rounds))
        super().cycles(body, 2, 1)
        return 90.0


@pytest.mark.parametrize("count", range(10))
def test_a_measured_function_gets_its_arguments_and_an_aligned_stack(count: int) -> None:
    names = [f"p{n}" for n in range(count)]
    f = lw.Function("keep", out=lw.ptr, **dict.fromkeys(names, lw.i64))
    seen: list[tuple[int, ...]] = []

    @ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * count)
    def keep(*given: int) -> None:
        seen.append(given)

    with f:
        f.call(keep, *(getattr(f, name) for name in names))
    code = f.compile(target="x86-64-v3")
    words = [0, *(n * n - 5 & (1 << 64) - 1 for n in range(count))]
    meter = Once()
    assert measure.kernel_cycles(code.compiled, words, meter, rounds=4) == 0.0
    # Twice: a first run of three, then as many as fill the ticks.
    assert meter.asked == [(3, 3), (10, 4)] * 2
    assert set(seen) == {tuple(n * n - 5 for n in range(count))}


def test_what_is_to_be_there_before_each_call_is_copied() -> None:
    source, there = np.arange(24, dtype=np.int64), np.zeros(32, np.int64)

    @lw.kernel
    def count_up(x: lw.Array[lw.i64]):
        for i in lw.range(len(x)):
            x[i] += 1

    compiled = count_up.compile(target="x86-64-v3").compiled
    measure.kernel_cycles(compiled, [there.ctypes.data, 24], Once(), before=[(there.ctypes.data, source.ctypes.data, 192)])
    # Copied before the call that does nothing too, which comes last.
    assert there.tolist() == [*range(24), *[0] * 8]
    block = memory.allocate(compiled.machine.data, 64)
    measure._call_cycles(Once(), block.address, [there.ctypes.data, 24], 1, [(there.ctypes.data, source.ctypes.data, 192)])
    # The calls have not added up.
    assert there.tolist() == [*range(1, 25), *[0] * 8]


def test_functions_that_call_others_and_those_for_other_cpus_are_refused() -> None:
    target = registry.get("x86-64-v3")
    calling = parse("function f(%a: i64) -> i64\n callee g(i64) -> i64\n %1 = call.i64 g(%a)\n ret %1\nend")
    with pytest.raises(TargetError, match="calls other functions"):
        measure.kernel_cycles(compiler.compile(calling, target), [1], Meter(rounds=1))
    meter = Meter(rounds=1)
    meter.features = frozenset({"avx"})
    with pytest.raises(CpuError, match="avx2"):
        measure.kernel_cycles(compiler.compile(parse("function f()\nend"), target), [], meter)
