"""CPU features by their bits, and the refusal to run without them."""

from __future__ import annotations

import inspect
import itertools
import re
import shutil
import subprocess
import sys
import tempfile

import pytest

from loopwright.errors import CpuError
from loopwright.runtime import cpu

pytestmark = pytest.mark.skipif(not cpu.is_x86_64(), reason="needs x86-64")


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(cpu.VARIABLE, raising=False)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc/cpuinfo")
def test_features_are_those_the_kernel_reports() -> None:
    with open("/proc/cpuinfo") as lines:
        flags = next(set(line.split(":")[1].split()) for line in lines if line.startswith("flags"))
    # Linux has no name for OSXSAVE, and hides RDSEED where a processor's is known to be faulty.
    unlike = {"osxsave", "rdseed"}
    names = {row[0] for row in cpu.ROWS} - unlike
    assert cpu.host_features() - unlike == flags & names


def test_every_x86_64_cpu_reaches_the_first_level() -> None:
    assert cpu.LEVELS["x86-64"] <= cpu.host_features()
    assert cpu.host_level() in cpu.LEVELS


def test_levels_grow() -> None:
    levels = list(cpu.LEVELS.values())
    assert all(a < b for a, b in itertools.pairwise(levels))
    assert set.union(*map(set, levels)) <= {row[0] for row in cpu.ROWS}


def test_no_bit_is_named_twice() -> None:
    assert len({row[0] for row in cpu.ROWS}) == len({row[1:5] for row in cpu.ROWS}) == len(cpu.ROWS)


def test_leaves_are_those_of_the_manuals() -> None:
    # Of these only leaf 7 has subleaves.
    assert {row[1:3] for row in cpu.ROWS} == {(1, 0), (7, 0), (7, 1), (0x80000001, 0), (0x80000008, 0)}


def test_pretending_a_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cpu.VARIABLE, "x86-64-v2")
    assert cpu.host_features() == cpu.LEVELS["x86-64-v2"] & cpu._detect()
    assert cpu.host_level() == "x86-64-v2"


def test_leaving_features_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cpu.VARIABLE, "-x86-64-v4, -fma")
    assert cpu.host_features() == cpu._detect() - (cpu.LEVELS["x86-64-v4"] - cpu.LEVELS["x86-64-v3"]) - {"fma"}
    assert cpu.host_level() == "x86-64-v2"


def test_none_can_be_pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cpu.VARIABLE, "none")
    assert cpu.host_features() == frozenset()
    assert cpu.host_level() == ""


def test_nothing_can_be_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cpu.VARIABLE, " ".join(row[0] for row in cpu.ROWS))
    assert cpu.host_features() == cpu._detect()


@pytest.mark.parametrize("setting", ["avx9", "avx2 -fma", "-avx2 fma"])
def test_a_setting_that_makes_no_sense_is_refused(monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    monkeypatch.setenv(cpu.VARIABLE, setting)
    with pytest.raises(CpuError, match=cpu.VARIABLE):
        cpu.host_features()


def test_require_names_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu.require({"sse2"}, "x86-64")
    monkeypatch.setenv(cpu.VARIABLE, "x86-64-v2")
    with pytest.raises(CpuError, match=r"code for x86-64-v3 cannot run on this CPU, which lacks avx2, fma"):
        cpu.require({"sse2", "fma", "avx2"}, "x86-64-v3")


def test_a_state_the_system_does_not_save_takes_its_features_away(monkeypatch: pytest.MonkeyPatch) -> None:
    # xor eax, eax; xor edx, edx; ret: an operating system that has enabled nothing in XCR0
    monkeypatch.setattr(cpu, "_XGETBV", bytes.fromhex("31c031d2c3"))
    found = cpu._ask()
    assert not {name for name, *_, state in cpu.ROWS if state} & found
    assert "sse2" in found


def test_other_machines_have_no_features(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "_detected", None)
    monkeypatch.setattr(cpu, "_by_setting", {})
    monkeypatch.setattr(cpu.platform, "machine", lambda: "riscv64")
    assert cpu.host_features() == frozenset()
    assert cpu.host_level() == ""
    with pytest.raises(CpuError, match="this CPU is riscv64, not x86-64"):
        cpu.require({"avx2"}, "x86-64-v3")


@pytest.mark.parametrize("slow", [False, True])
def test_what_other_code_is_better_for_is_known_by_a_cpus_features(monkeypatch: pytest.MonkeyPatch, slow: bool) -> None:
    monkeypatch.setattr(cpu, "_gathers_slow", slow)
    v4 = cpu.LEVELS["x86-64-v4"]
    v3 = cpu.LEVELS["x86-64-v3"]
    assert cpu.tuning(v3) == cpu.tuning(v4) == ({"slow-gathers"} if slow else set())  # Intel's
    assert cpu.tuning(v3 | {"clzero"}) == {"slow-gathers", "slow-permutations"}  # Zen 3
    assert cpu.tuning(v4 | {"clzero"}) == {"slow-gathers", "halved-512"}  # Zen 4
    assert cpu.tuning(v4 | {"clzero", "avx_vnni"}) == set()  # Zen 5


@pytest.mark.skipif("avx2" not in cpu.host_features(), reason="no gathers")
def test_gathers_are_timed_beside_loads_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both take some cycles an element, and which is slow is what comes of it, asked once."""
    gathered, one_by_one = cpu._least(cpu._GATHERED) / cpu._TIMES, cpu._least(cpu._ONE_BY_ONE) / cpu._TIMES
    assert 1 < gathered < 1000
    assert 1 < one_by_one < 1000
    asked: list[bytes] = []
    monkeypatch.setattr(cpu, "_gathers_slow", None)
    monkeypatch.setattr(cpu, "_least", lambda body: asked.append(body) or (16 if body == cpu._GATHERED else 10))
    assert cpu._slow_gathers() and cpu._slow_gathers()
    assert asked == [cpu._GATHERED, cpu._ONE_BY_ONE]


def test_what_is_timed_is_what_its_comments_say() -> None:
    """Bytes beside a disassembler's text."""
    objdump = shutil.which("objdump")
    if objdump is None:
        pytest.skip("objdump is not installed")
    source = inspect.getsource(cpu)
    for name in ("_TIMED_SYSV", "_TIMED_WIN64", "_TIMED_HEAD", "_GATHERED", "_ONE_BY_ONE", "_TIMED_TAIL"):
        block = source[source.index(f"{name}: Final") :]
        wanted = [re.sub(r"\s+", "", line.partition("#")[2]) for line in block[: block.index("\n)")].splitlines()[1:]]
        with tempfile.NamedTemporaryFile() as file:
            file.write(getattr(cpu, name))
            file.flush()
            made = subprocess.run(
                [objdump, "-D", "-b", "binary", "-m", "i386:x86-64", "-M", "intel", "--no-show-raw-insn", file.name], capture_output=True, text=True, check=True
            ).stdout
        found = [re.sub(r"\s+|(DWORD|QWORD) PTR ", "", line.partition("\t")[2]) for line in made.splitlines() if re.match(r"\s+[0-9a-f]+:\t", line)]
        assert [re.sub(r"0x([0-9a-f]+)", lambda m: str(int(m[1], 16)), each).replace("*1", "") for each in found] == wanted, name
