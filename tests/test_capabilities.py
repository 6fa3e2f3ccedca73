"""``lw.supports`` and ``loopwright ops``: what they say is what the compiler does."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden import hold

import loopwright as lw
from loopwright import capabilities
from loopwright.cli import main
from loopwright.errors import ArgumentError, TargetError

PAGE = Path(__file__).parents[1] / "docs" / "operations.md"


def test_an_instruction_a_sequence_and_a_refusal() -> None:
    native = lw.supports("add_saturated", lw.u8, target="x86-64-v3", lanes=True)
    assert native and repr(native) == "native" and native.instructions == 1
    emulated = lw.supports("lw.leading_zeros", lw.i32, target="x86-64-v3", lanes=True)
    assert emulated.how == "emulated" and 1 < emulated.instructions < 10 and not emulated.branches
    assert lw.supports("leading_zeros", lw.i32, target="x86-64-v4", lanes=True).how == "native"
    absent = lw.supports("rotate_left", lw.f32, target="x86-64-v3")
    assert not absent and absent.how == "absent" and "convert to an integer type first" in absent.why
    assert lw.supports("//", lw.i64, target="x86-64-v3", lanes=True).branches


def test_what_is_counted_is_in_the_listing() -> None:
    """The instructions between the load and the store of a loop of one's own."""

    @lw.kernel
    def counted(x: lw.Array[lw.u32]):
        for i in lw.lanes(len(x), unroll=1):
            v = x[i]
            v = lw.leading_zeros(v)
            x[i] = v

    listing = counted.compile(target="x86-64-v3").asm().splitlines()
    begin = next(n for n, line in enumerate(listing) if "v = lw.leading_zeros" in line)
    end = next(n for n, line in enumerate(listing) if n > begin and line.startswith(";"))
    assert lw.supports("leading_zeros", lw.u32, target="x86-64-v3", lanes=True).instructions == end - begin - 1


def test_results_wider_than_the_operands_take_fewer_lanes() -> None:
    assert lw.supports("f64", lw.u16, target="x86-64-v3", lanes=True)
    assert lw.supports("/", lw.u8, target="x86-64-v3", lanes=True)


def test_machines_without_vectors_have_none_for_lanes() -> None:
    assert "has no vectors" in lw.supports("+", lw.u8, target="rv64gc", lanes=True).why


@pytest.mark.parametrize(
    ("operation", "type_", "message"),
    [("add_saturate", lw.u8, "there is add_saturated"), ("frobnicate", lw.u8, "`loopwright ops` lists them"), (3, lw.u8, "there is no operation 3")]
    + [("+", "u8", "takes an element type such as lw.u8, not 'u8'"), ("+", lw.ptr, "not ptr")],
)
def test_what_there_is_not_is_said(operation: str, type_: lw.Type, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        lw.supports(operation, type_)


def test_of_targets_that_there_are_not() -> None:
    with pytest.raises(TargetError):
        lw.supports("+", lw.u8, target="m68k")


def test_the_table_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "--target", "rv64gc"]) == 0
    shown = capsys.readouterr().out
    assert "rv64gc, scalars" in shown and "lw.rotate_left" in shown and "lanes" not in shown


def test_the_page_is_what_the_compiler_says(bless: bool) -> None:
    hold(PAGE, capabilities.page().splitlines(), "docs/operations.md is not what `loopwright ops --page` prints", bless)
