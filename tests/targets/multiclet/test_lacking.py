"""Processors of one's own that lack commands: operations become sequences of others and do what their rows say, or are refused by name."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from tests.machines import RUNNERS
from tests.targets.test_conformance import CONVERSIONS, PLAIN, admitted, check, sources

import loopwright as lw
from loopwright import cli
from loopwright.cc import clang, simulated
from loopwright.errors import UnsupportedOperationError
from loopwright.ir import ops
from loopwright.targets.multiclet.commands import COMMANDS
from loopwright.targets.multiclet.parameters import R1, S1, S2, Processor, replace
from loopwright.targets.multiclet.target import Multiclet, make
from loopwright.types import BOOL, F32, F64, I8, I16, I32, I64, PTR, U8, U16, U32, U64, VOID, Type

DIVISIONS: Final = "div_b div_s div_l div_q divu mod modu"
PRODUCTS: Final = "mul_b mul_s mul_l mul_q mulh mulhu"
#: What takes or makes a float, but for loads and stores.
FLOATS: Final = [form for form, row in COMMANDS.items() if row.unit == "float"]
#: Operations that a processor may have on 64 bits alone.
NARROW: Final = ("add", "sub", "mul", "div", "divu", "mod", "modu", "and", "or", "xor", "not", "neg", "shl", "shr", "sar", "eq", "ne", "lt", "le", "ltu")
INTEGERS: Final = [I8, U8, I16, U16, I32, U32, I64, U64]


def lacking(processor: Processor, name: str, what: str | list[str]) -> Processor:
    return replace(processor, name=name, lacks=processor.lacks | set(what.split() if isinstance(what, str) else what))


#: Processors, and the types whose operations the test runs.
PROCESSORS: Final[list[tuple[Processor, list[Type]]]] = [
    (lacking(S2, "without division", DIVISIONS), INTEGERS),
    (lacking(S1, "without division and upper halves", f"{DIVISIONS} mulh mulhu"), [I8, I32, U32, I64, U64]),
    (lacking(R1, "without products and division", f"{DIVISIONS} {PRODUCTS}"), [U8, I32, I64, U64]),
    (lacking(S2, "without unsigned numbers", "divu modu mod mulhu ltu leu gtu geu cvtuq cvtfu cvtdu"), [U8, U16, U32, U64]),
    (lacking(S2, "without signed numbers", "div_b div_s div_l div_q mod mulh lt_q lt_l le_q le_l ge gt_q gt_l sar"), [I8, I32, I64]),
    (
        lacking(
            S2,
            "with long integers alone",
            [f"{name}_{s}" for name in NARROW for s in "bsl"],
        ),
        INTEGERS,
    ),
    (lacking(S1, "with few commands", "neg not sub_q xor ge gt leu gtu geu ne sar abs"), [I8, U16, I32, I64, U64, BOOL, F64]),
    (lacking(S2, "without float division and roots", "div_f div_d sqrt"), [F32, F64]),
    (lacking(S2, "without floats of 64 bits", [form for form in FLOATS if form.endswith("_d") or form.startswith("cvtd")]), [F32, F64]),
    (lacking(R1, "without floats of 32 bits", [form for form in FLOATS if form.endswith("_f") or form.startswith("cvtf")]), [F32]),
    (lacking(S1, "without floats", FLOATS), [F32, F64]),
]
EACH: Final = [
    # (Of each processor the first and the last type before every change; the others run with the long ones.)
    pytest.param(processor, t, id=f"{processor.name}-{t.name}", marks=pytest.mark.every_change if t in (types[0], types[-1]) else pytest.mark.slow)
    for processor, types in PROCESSORS
    for t in types
]
RUNNER: Final = next(runner for runner in RUNNERS if runner.name == "multiclet-s2")


@pytest.mark.parametrize(("processor", "t"), EACH)
def test_operations_do_what_their_rows_say(processor: Processor, t: Type) -> None:
    target = make(processor)
    operations = [op for op in PLAIN if admitted(op, t)]
    if t.is_float and not all(processor.has(name) for name in ("add_d", "add_f", "div_d")):
        # (They become long sequences.)
        for op in operations:
            if op not in (ops.DIV_FLOOR, ops.REM_FLOOR) or processor.has("add_d"):
                check(RUNNER, [op], t, VOID, ("registers",), target=target)
    else:
        check(RUNNER, operations, t, VOID, ("registers", "constants"), target=target)


@pytest.mark.parametrize(("processor", "t"), EACH)
def test_conversions_do_what_their_rows_say(processor: Processor, t: Type) -> None:
    target = make(processor)
    for s in (BOOL, PTR, *INTEGERS, F32, F64):
        if not (t is PTR and s.is_float) and (t.is_float or s.is_float or s in (BOOL, I8, U16, I64)):
            check(RUNNER, [op for op in CONVERSIONS if s in sources(op, t, [s])], t, s, ("registers",), target=target)


@lw.kernel
def divided(a: lw.Array[lw.i64], b: lw.Array[lw.i64], x: lw.Array[lw.f32]) -> lw.i64:
    total = lw.i64(0)
    for i in range(len(a)):
        total = (
            total * 31 + a[i] // b[i] - a[i] % b[i] + a[i] // 7 + lw.i64(lw.i32(a[i]) // lw.i32(b[i])) + lw.i64(lw.u8(a[i]) % lw.u8(b[i])) * lw.i64(x[i] / 3)
        )
    return total


@pytest.mark.parametrize("processor", [each for each, _ in PROCESSORS], ids=lambda each: each.name)
def test_kernels_give_what_they_give_elsewhere(processor: Processor) -> None:
    a = np.array([0, -1, -(2**63), 2**63 - 1, 12345678901, -98765432109, 77, -(2**63)], np.int64)
    b = np.array([3, 0, -1, 2**62, -7, 1234567, 2**63 - 1, -(2**63)], np.int64)
    x = np.array([1.5, -2.25, 1e6, -3e5, 0.0, 8.0, -0.5, 100.0], np.float32)
    code = divided.compile(target=processor, prove=True)
    assert code.emulate(a, b, x) == divided.compile(target=S2).emulate(a, b, x)


def test_what_does_not_change_in_a_loop_is_inverted_once() -> None:
    @lw.kernel
    def shared(a: lw.Array[lw.u32], out: lw.Array[lw.u32], by: lw.u32):
        for i in range(len(a)):
            out[i] = lw.div_trunc(a[i], by)

    code = shared.compile(target=PROCESSORS[0][0])
    a = np.arange(1 << 20, (1 << 20) + 40, dtype=np.uint32)
    out = np.zeros_like(a)
    code.emulate(a, out, 7)
    assert out.tolist() == (a // 7).tolist()
    # (Of the reciprocal's three steps the products stand outside of the loop.)
    text = code.ir("select")
    assert text.index("  loop") > text.rindex("not.u32")


def test_what_has_no_command_and_no_sequence_is_refused_by_name() -> None:
    for lacks, message in [
        ("shl", "has no command shl_q"),
        ("sqrt cvtd_q add_d sub_d shl shr sar", "has no command sh"),
        ("cvtf_d patch", "has no command patch_q"),
        ("load_f", "has no command load_f"),
    ]:
        with pytest.raises(UnsupportedOperationError, match=message):
            scaled.compile(target=replace(S2, lacks=S2.lacks | set(lacks.split())))


@lw.kernel
def scaled(x: lw.Array[lw.f32], y: lw.Array[lw.f64], k: lw.i64) -> lw.i64:
    y[0] = lw.f64(x[0]) * 0.1
    return k << k


#: Those that C programs are compiled for each time; for the others in the long runs.
SHORT: Final = ("without division", "with long integers alone", "without floats")

# --- C programs ---------------------------------------------------------------------------------------------------------

PROGRAM: Final = r"""
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <limits.h>
volatile long long longs[] = {0, 1, -1, LLONG_MIN, LLONG_MAX, 10, -7, 1000000007};
volatile unsigned words[] = {0, 1, 3, 10, 255, 65537, 4000000000u, 0xFFFFFFFFu};
volatile double reals[] = {0.5, -3.25, 1e10, 7.0, 1e-7, 123.456};
int main(int argc, char **argv) {
    long long total = 0;
    for (int i = 0; i < 8; i++) for (int j = 1; j < 8; j++) {
        if (!(longs[i] == LLONG_MIN && longs[j] == -1)) total = total * 3 + longs[i] / longs[j] + longs[i] % longs[j] * 7;
        total ^= words[i] / words[j] + (unsigned short)words[i] % (unsigned char)(words[j] | 1) + (int)(words[i] >> 1) / (signed char)(j - 9);
        __int128 wide = (__int128)longs[i] * longs[j] * 5 + words[i];
        total += (long long)(wide / (longs[j] | 1)) + (long long)(wide % 1000003) + (long long)((unsigned __int128)wide / ((unsigned __int128)words[j] << 33));
    }
    printf("%lld %x %o %5d\n", total, (unsigned)total, (unsigned)(total >> 9), (int)total % 1000);
    double sum = 0;
    for (int i = 0; i < 6; i++) { sum = sum / reals[i] + sqrt(fabs(reals[i])) - (float)reals[i] * 3.0f + floor(reals[i]); printf("%d %u %.17g\n", (int)reals[i], (unsigned)fabs(reals[i] / 3), sum); }
    printf("%g %g %.3f\n", strtod("2.5e-3", 0), fmod(10.5, 3.2), (double)(longs[argc + 4] * 3ull));
    return (int)(sum > 0) + atoi("40") / (argc + 1);
}
"""


@pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed (Debian package clang)")
@pytest.mark.parametrize(
    "number", [pytest.param(n, id=each.name, marks=() if each.name in SHORT else pytest.mark.slow) for n, (each, _) in enumerate(PROCESSORS)]
)
def test_c_programs_give_what_they_give_elsewhere(number: int, tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(PROGRAM)
    read = clang.bitcode([tmp_path / "p.c"], clang.Options("1", preprocessor=["-w"]))
    found: list[tuple[int, bytes]] = []
    for processor in (S2, PROCESSORS[number][0]):
        program = simulated.build(read, "p.c", Multiclet(processor, program=True))
        status, simulator = simulated.run(program, ["p"], streams=simulated.Streams(io.BytesIO(), io.BytesIO(), io.BytesIO()))
        found.append((status, bytes(simulator.output)))
    assert found[0] == found[1]
    assert found[0][1].count(b"\n") == 8


def test_commands_are_taken_away_on_the_command_line(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "p.c").write_text(
        '#include <stdio.h>\nint main(int n, char **w) { for (int i = 0; i < 5; i++) printf("%d ", (i * 77 - 100) / (n + i)); return 0; }\n'
    )
    assert cli.main(["cc", str(tmp_path / "p.c"), "--target", "multiclet-s2", "--set", "div=0", "--set", "selt=1", "--set", "self=1", "--cycles", "--run"]) == 0
    made = capfdbinary.readouterr()
    assert made.out == b"-100 -11 18 32 41 "
    assert made.err.startswith(b"multiclet-s2 with div=0, selt=1, self=1: ")
