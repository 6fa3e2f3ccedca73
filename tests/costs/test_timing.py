"""The timing tables name what the compiler uses, say the same of 512 bits as of two times 256, and agree with the machine they were measured on."""

from __future__ import annotations

import math
import random
import time
from itertools import combinations
from types import SimpleNamespace

import pytest
from tests.costs.lowered import all_lowered

from loopwright.costs import measure
from loopwright.errors import TargetError
from loopwright.runtime import cpu
from loopwright.targets.x86 import timing
from loopwright.targets.x86.encoder import forms, lookup
from loopwright.targets.x86.instructions import mnemonics

HOST = cpu.host_features()


def _time(name: str, mnemonic: str, shape: str, memory: int = timing.REGISTERS_ONLY) -> timing.Timing:
    return timing.timing_of(timing.get(name), lookup(mnemonic, shape), memory)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(timing.MICROARCHITECTURES))
def test_every_instruction_that_lowering_uses_has_a_line_of_its_own(name: str) -> None:
    machine = timing.get(name)
    used = all_lowered()
    assert len(used) > 500
    missing = {
        form.row.mnemonic: why
        for (form, memory, _), why in used.items()
        if not timing.timing_of(machine, form, timing.MEMORY if memory else timing.REGISTERS_ONLY).named
    }
    assert not missing


@pytest.mark.parametrize("name", sorted(timing.MICROARCHITECTURES))
def test_every_row_of_the_instruction_table_has_figures_that_make_sense(name: str) -> None:
    machine = timing.get(name)
    everything = (1 << len(machine.port_names)) - 1
    for mnemonic in mnemonics():
        for form in forms(mnemonic):
            for memory in (timing.REGISTERS_ONLY, timing.MEMORY, timing.BROADCAST):
                found = timing.timing_of(machine, form, memory)
                assert 0 <= found.latency < 60 and 0 <= found.load < 20, form
                assert 0 < found.throughput < 60 and found.slots > 0, form
                assert all(mask and mask | everything == everything and cycles > 0 for mask, cycles in found.ports), form
                if memory == timing.REGISTERS_ONLY:
                    assert not found.load or not any(o.register for o in form.operands), form


def test_loads_and_stores_are_added_to_the_operation() -> None:
    register, loaded = _time("znver4", "VADDPS", "ymm,ymm,ymm"), _time("znver4", "VADDPS", "ymm,ymm,ymm", timing.MEMORY)
    assert (register.latency, register.load) == (3, 0)
    assert (loaded.latency, loaded.load) == (3, 7)
    assert loaded.reads and not loaded.writes
    assert loaded.slots == register.slots
    stored = _time("znver4", "MOV", "m64,r64", timing.MEMORY)
    assert stored.writes and not stored.reads
    both = _time("znver4", "ADD", "m64,r64", timing.MEMORY)
    assert both.reads and both.writes


def test_an_operation_on_512_bits_takes_two_turns_where_the_pipes_are_half_as_wide() -> None:
    for mnemonic in ("VFMADD213PS", "VADDPS", "VPADDD", "VPSLLVD"):
        narrow, wide = _time("znver4", mnemonic, "ymm,ymm,ymm"), _time("znver4", mnemonic, "zmm,zmm,zmm")
        assert wide.throughput == 2 * narrow.throughput
        assert wide.slots == narrow.slots
        assert wide.latency == narrow.latency
    assert _time("znver4", "VFMADD213PS", "zmm,zmm,zmm").throughput == 1.0
    assert _time("skylake-avx512", "VFMADD213PS", "zmm,zmm,zmm").throughput == 0.5


def test_an_address_of_three_parts_is_dearer() -> None:
    form = lookup("LEA", "r64,m")
    from loopwright.targets.x86.encoder import M

    assert timing.kind_of_memory(form, M(0, 1, 1, 8)) == timing.INDEXED_AND_DISPLACED
    assert timing.kind_of_memory(form, M(0, 1, 4, 0)) == timing.MEMORY
    plain, three = _time("znver4", "LEA", "r64,m", timing.MEMORY), _time("znver4", "LEA", "r64,m", timing.INDEXED_AND_DISPLACED)
    assert plain.latency < three.latency
    assert not plain.reads and not plain.load


def test_what_goes_from_one_class_of_registers_to_another_has_its_own_line() -> None:
    assert _time("znver4", "VMOVD", "xmm,r32").latency == 3
    assert _time("znver4", "VCMPPS", "k,zmm,zmm,imm").latency == 5
    assert _time("znver4", "VCMPPS", "vex:ymm,ymm,ymm,imm").latency == 2
    assert _time("znver4", "MOV", "r64,r64").ports == []
    assert _time("znver4", "MOV", "r32,imm32").ports != []


def test_an_unknown_microarchitecture_is_named_with_those_there_are() -> None:
    with pytest.raises(TargetError, match="'pentium'.*znver4.*skylake-avx512.*x86-64-v3"):
        timing.get("pentium")


def test_the_default_depends_on_the_target_alone() -> None:
    assert timing.default_for("x86-64-v3").name == "x86-64-v3"
    assert timing.default_for("x86-64-v4").name == "znver4"


def test_the_port_bound_is_the_value_of_the_linear_programme() -> None:
    # By all subsets of the ports, which is the definition; `bound` looks at unions of the given sets only.
    chance = random.Random(5)
    for _ in range(300):
        use = {chance.randrange(1, 64): chance.randrange(1, 9) / 2 for _ in range(chance.randrange(1, 6))}
        best = 0.0
        for size in range(1, 7):
            for ports in combinations(range(6), size):
                inside = sum(1 << p for p in ports)
                best = max(best, sum(cycles for mask, cycles in use.items() if mask | inside == inside) / size)
        assert timing.bound(use) == pytest.approx(best)
    assert timing.bound({}) == 0.0


# --- measured ---------------------------------------------------------------------------------------------------


def test_there_are_at_least_150_cases_and_each_is_encodable() -> None:
    chosen = measure.cases()
    assert len(chosen) >= 150
    assert len({repr(case) for case in chosen}) == len(chosen)
    machine = timing.get("znver4")
    for case in chosen:
        throughput, latency = measure.expected(machine, case)
        assert throughput > 0 and latency >= 0


needs_avx2 = pytest.mark.skipif("avx2" not in HOST, reason="needs an x86-64 CPU with AVX2")


@needs_avx2
def test_the_meter_knows_what_is_true_of_every_x86_processor() -> None:
    # What else runs on the core can only add: each figure is the least of several, as many as it takes for some seconds.
    most = {"add latency": 1.2, "add throughput": 0.6, "multiply latency": 3.4, "multiply throughput": 1.25}
    least = dict.fromkeys(most, math.inf)
    until = time.monotonic() + 20
    while any(least[what] > most[what] for what in most) and time.monotonic() < until:
        meter = measure.Meter(rounds=60)
        for name, mnemonic in (("add", "ADD"), ("multiply", "IMUL")):
            found = meter.measure(measure.Case(lookup(mnemonic, "r64,r64")))
            assert found.latency is not None and found.throughput is not None
            least[f"{name} latency"] = min(least[f"{name} latency"], found.latency)
            least[f"{name} throughput"] = min(least[f"{name} throughput"], found.throughput)
    assert least["add latency"] == pytest.approx(1.0, abs=0.2)
    assert least["multiply latency"] == pytest.approx(3.0, abs=0.4)
    # Two additions a cycle or more, at most eight; one multiplication or more, at most four (Zen 5 starts three).
    assert 0.11 < least["add throughput"] < 0.6
    assert 0.22 < least["multiply throughput"] < 1.25


@needs_avx2
def test_a_missing_feature_is_refused_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    meter = measure.Meter(rounds=3)
    monkeypatch.setattr(meter, "features", frozenset({"sse4_2"}))
    from loopwright.errors import CpuError

    with pytest.raises(CpuError, match="avx"):
        meter.measure(measure.Case(lookup("VADDPS", "ymm,ymm,ymm")))


@needs_avx2
def test_the_command_prints_tables_and_measurements(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "FORMS", "ADD IMUL | r64,r64\nVADDPS | ymm,ymm,ymm; ymm,ymm,m\nVFMADD213PS | ymm,ymm,ymm; zmm,zmm,zmm\n")
    plain = SimpleNamespace(measure=False, llvm=False, all=True, microarchitecture="skylake-avx512", rounds=5)
    assert measure.timing_command(plain) == 0
    text = capsys.readouterr().out
    assert "imul r64, r64" in text and "Skylake" in text and "p1" in text
    plain.measure, plain.microarchitecture = True, None
    assert measure.timing_command(plain) == 0
    text = capsys.readouterr().out
    assert "add r64, r64" in text and "instructions; the tables of znver4" in text
    assert "fused multiply-adds a cycle" in text and "of 256 bits" in text
    plain.microarchitecture = "z80"
    with pytest.raises(TargetError, match="z80"):
        measure.timing_command(plain)


def test_figures_of_llvm_are_read_where_it_is_installed() -> None:
    import shutil

    chosen = [
        measure.Case(lookup("IMUL", "r64,r64")),
        measure.Case(lookup("VADDPS", "ymm,ymm,ymm"), memory=True),
        measure.Case(lookup("VFMADD213PS", "zmm,zmm,zmm")),
    ]
    if shutil.which("llvm-mca") is None:
        with pytest.raises(TargetError, match="llvm-mca"):
            measure.llvm_figures(timing.get("skylake-avx512"), chosen)
        return
    processor, figures = measure.llvm_figures(timing.get("skylake-avx512"), chosen)
    assert processor == "skylake-avx512"
    assert figures[0] == (3.0, 1.0)
    assert figures[2] is not None and math.isclose(figures[2][1], 0.5)
    assert figures[1] is not None and figures[1][0] > 8
