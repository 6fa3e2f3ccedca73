"""Processors of one's own in place of a target's name, and commands of one's own that serve operations."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.cli import main
from loopwright.errors import TargetError, UnsupportedOperationError
from loopwright.native_build import is_native
from loopwright.settings import Settings
from loopwright.targets.multiclet.commands import VALUE, Row
from loopwright.targets.multiclet.parameters import R1, S1, S2, Latency, Processor, replace

BITS = Row("bits", "lq", (VALUE,), lambda bits, a: a.bit_count(), "how many bits are 1", takes="unsigned", status="A", serves="popcount")
LEAST = Row("least", "lq", (VALUE, VALUE), "a if a <= b else b", "the lesser", status="A", serves="min i32 i64")


@lw.kernel
def distance(a: lw.Array[lw.u64], b: lw.Array[lw.u64], n: lw.i64) -> lw.u64:
    total = lw.u64(0)
    for i in range(n):
        total += lw.popcount(a[i] ^ b[i])
    return total


@lw.kernel
def chosen(x: lw.i64, y: lw.i64) -> lw.i64:
    return x if x * x > y else y


A, B = np.array([7, 255, 2**63], np.uint64), np.array([0, 15, 1], np.uint64)


@pytest.mark.parametrize(
    "processor",
    [
        S2.with_parameters(cells=8, fetch=8, load=3),
        S1.with_parameters(cells=1, float_units=1, memory_ports=1, depth=15),
        R1.with_parameters(multicells=2, change=0),
        S2.with_parameters(crosses=0, two_constants=0, commits_at_end=1),
        replace(S2, name="mine"),
        replace(R1, lacks=frozenset()),
        S2.with_commands(BITS, LEAST),
    ],
    ids=lambda processor: processor.name,
)
def test_a_processor_of_one_s_own_is_a_target(processor: Processor) -> None:
    code = distance.compile(target=processor, prove=True)
    assert code.emulate(A, B, 3) == 9
    assert code.target.name == processor.name
    assert lw.kernel(distance.function, target=processor).compile().emulate(A, B, 3) == 9
    made = lw.Function("twice", x=lw.i64, returns=lw.i64)
    with made:
        made.ret(made.x + made.x)
    assert made.compile(processor).emulate(21) == 42
    module = lw.Module()

    @module.function
    def hypotenuse(x: lw.f64, y: lw.f64) -> lw.f64:
        return lw.sqrt(x * x + y * y)

    assert module.compile(target=processor)["hypotenuse"].emulate(3.0, 4.0) == 5.0


def test_a_command_of_one_s_own_serves_an_operation() -> None:
    mine = replace(S2, name="mine").with_commands(BITS, LEAST)
    assert "bits_q" in distance.compile(target=mine).asm()
    assert "bits_q" not in distance.compile(target=S2).asm()

    @lw.kernel
    def least(x: lw.Array[lw.i32], y: lw.Array[lw.i64], z: lw.Array[lw.u32]) -> lw.i64:
        for i in range(len(x)):
            y[i] = min(y[i], lw.i64(min(x[i], lw.i32(9)))) + lw.i64(lw.popcount(x[i])) + lw.i64(min(z[i], lw.u32(3)))
        return y[0]

    x, y, z = np.array([-5, 70, -1], np.int32), np.array([3, -(2**40), 90], np.int64), np.array([1, 2**32 - 1, 4], np.uint32)
    expected, found = y.copy(), y.copy()
    least.compile(target=S2).emulate(x, expected, z)
    code = least.compile(target=mine, prove=True)
    code.emulate(x, found, z)
    assert found.tolist() == expected.tolist()
    text = code.asm()
    assert "least_l" in text and "least_q" in text and "bits_l" in text


def test_the_latency_of_a_command_of_one_s_own_counts() -> None:
    row = Row("bits", "lq", (VALUE,), lambda bits, a: a.bit_count(), "", latency="count", takes="unsigned", serves="popcount")
    mine = replace(S2, name="mine", latencies={**S2.latencies, "count": Latency(9)}).with_commands(row)
    assert distance.compile(target=mine).emulate(A, B, 3) == 9


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: S2.with_parameters(cells=0), "cells is 0; it has to be at least 1"),
        (lambda: S2.with_parameters(cells=1), "float_units is 2; it has to be from 1 to the 1 cells"),
        (lambda: S2.with_parameters(crosses=2), "crosses is 2; it has to be 0 or 1"),
        (lambda: S2.with_parameters(load=0), "the latency load is 0; it has to be at least 1"),
        (lambda: replace(S2, latencies={**S2.latencies, "load": Latency(4, 0)}), "the interval of load is 0"),
        (lambda: replace(S2, name=""), "a processor has a name, not ''"),
        (lambda: replace(S2, lacks=frozenset({"mull"})), "multiclet-s2 lacks mull, which no command is called"),
        (lambda: Row("b-c", "q", (VALUE,), "a", ""), "a command's name consists of letters and digits, not 'b-c'"),
        (lambda: Row("b", "z", (VALUE,), "a", ""), "the suffixes of b are letters out of b s l q f d, not 'z'"),
        (lambda: Row("b", "q", (VALUE,) * 3, "a", ""), "b takes one operand or two"),
        (lambda: Row("b", "q", (VALUE,), "a +", ""), "the meaning 'a +' is no Python expression"),
        (lambda: Row("b", "q", (VALUE,), 3, ""), "the meaning of b is an expression"),  # type: ignore[arg-type]
        (lambda: Row("b", "q", (VALUE,), "a", "", takes="int"), "b: takes is 'int'; it has to be 'signed', 'unsigned'"),
        (lambda: distance.compile(target=replace(S2, lacks=frozenset({"jmp"}))), "multiclet-s2 has no jmp, without which no code can be made"),
        (lambda: distance.compile(target=replace(S2, registers=("SP", "RETV"))), "multiclet-s2 has no #R0, #R1"),
        (
            lambda: distance.compile(target=S2.with_parameters(cells=1, float_units=1, memory_ports=1, buffer=7)),
            "hold 7 commands of a paragraph, and code needs",
        ),
        (lambda: distance.compile(target=S2, vector_bits=256), "multiclet-s2 has no vectors"),
        (lambda: _serving("pop"), "b serves 'pop', which is no operation"),
        (lambda: _serving("add"), "b has 1 operand of one type and gives one of it, which add does not"),
        (lambda: _serving("copy"), "which copy does not"),
        (lambda: _serving("popcount i16"), "b serves popcount of i16, which none of its suffixes l q stands for"),
        (lambda: _serving("popcount number"), "b serves popcount of number, which none"),
    ],
)
def test_what_can_be_no_processor_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(TargetError) as error:
        make()
    assert message in str(error.value)


@pytest.mark.skipif(is_native(), reason="the native build refuses numbers of other types itself")
@pytest.mark.parametrize(("field", "value"), [("fetch", 2.5), ("buffer", True), ("depth", "63")])
def test_what_is_no_whole_number_is_refused(field: str, value: Any) -> None:
    with pytest.raises(TargetError, match=f"{field} is {value!r}; it has to be a whole number"):
        replace(S2, **{field: value})


def _serving(what: str) -> Any:
    return distance.compile(target=S2.with_commands(Row("b", "lq", (VALUE,), "a", "", serves=what)))


def test_an_operation_without_its_command_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedOperationError, match=r"has no xor\.u64: it has no command xor_q, and none that it could be made of"):
        distance.compile(target=replace(S2, lacks=frozenset({"xor", "or", "and"})))
    with pytest.raises(UnsupportedOperationError, match="has no command neg_q"):
        chosen.compile(target=replace(S2, lacks=frozenset({"neg_q", "sub", "not", "xor", "mul_q", "selt", "self"})))


def test_code_for_different_processors_of_one_name_does_not_run_in_one_program() -> None:
    from loopwright.runtime.emulate import run_many

    codes = [distance.compile(target=each) for each in (S2, S2.with_parameters(), replace(S2, cells=8))]
    assert run_many([(code, (A, B, 3)) for code in codes[:2]]) == [9, 9]
    with pytest.raises(TargetError, match="cannot run in one program"):
        run_many([(code, (A, B, 3)) for code in codes])


def test_processors_are_pickled() -> None:
    mine = S2.with_parameters(cells=8)
    assert pickle.loads(pickle.dumps(mine)) == mine
    settings = pickle.loads(pickle.dumps(Settings(target=mine)))
    assert settings.target == mine
    own = S2.with_commands(Row("twice", "q", (VALUE,), "2 * a", "")).commands["twice_q"]
    again = pickle.loads(pickle.dumps(own))
    assert (again.mnemonic, again.meaning, again.function(64, 4)) == ("twice", "2 * a", 8)


def test_compilations_for_them_are_not_recorded(tmp_path: Path) -> None:
    with lw.record(tmp_path / "mine.lwc") as recorder:
        distance.compile(target=S2.with_parameters(cells=8))
        assert len(recorder) == 0
        distance.compile(target=S2)
        assert len(recorder) == 1


PROGRAM = """
#include <stdio.h>
int main(int argc, char **argv) {
    long n = 0;
    for (int i = 0; i < 100; i++) n += __builtin_popcountll(i * 77L);
    printf("%ld\\n", n);
    return 0;
}
"""


def test_parameters_are_set_on_every_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = ["--target", "multiclet-s2", "--set", "cells=8", "--set", "fetch=8"]
    called = "multiclet-s2 with cells=8, fetch=8"
    (tmp_path / "own.py").write_text("import loopwright as lw\n\n\n@lw.kernel\ndef twice(x: lw.i64) -> lw.i64:\n    return x + x\n")
    assert main(["show", *sets, f"{tmp_path / 'own.py'}:twice"]) == 0
    assert capsys.readouterr().out.startswith(f"; twice, {called}")
    assert main(["passes", *sets]) == 0
    capsys.readouterr()
    text = Path(__file__).parents[3] / "examples" / "multiclet" / "population_count.s"
    assert main(["simulate", str(text), "--returns", "q", *sets]) == 0
    assert f"{called}: 95 commands" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "cells=8"], "--set cells=8: this CPU has no parameters to set; targets that have are multiclet-"),
        (["--set", "cells=8", "--target", "x86-64-v3"], "--set cells=8: x86-64-v3 has no parameters to set"),
        (["--set", "cells", "--target", "multiclet-s2"], "--set cells: a parameter and a whole number are expected"),
        (["--set", "cells=8", "--set", "cells=4", "--target", "multiclet-s2"], "--set cells=4: cells is set twice"),
        (["--set", "cell=8", "--target", "multiclet-s2"], "multiclet-s2 has no parameter 'cell' that is a number; there are cells,"),
        (["--set", "cells=8", "--target", "multiclet-s3"], "unknown target 'multiclet-s3'"),
    ],
)
def test_what_cannot_be_set_is_explained(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes", *options]) == 1
    assert message in capsys.readouterr().err


def test_a_processor_is_a_value() -> None:
    assert dataclasses.replace(S2) == S2
    assert S2.with_parameters(cells=8) != S2
