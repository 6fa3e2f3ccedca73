"""The sink pass: what is computed in front of calls and brackets is computed where it is used, where that keeps no more registers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.growth import growth
from tests.passes.texts import block, rewritten

from loopwright.ir.parse import parse
from loopwright.passes import sinking
from loopwright.targets import registry

HEAD = "function f(%p: ptr, %i: i64, %n: i32, %q: bool)\n  stage loops\n  var %v: i64\n  callee g()\n"
#: Lines are counted of Python code alone.
countable = pytest.mark.skipif(not str(sinking.__file__).endswith(".py"), reason="the native build has no lines to count")
TARGET = registry.get("x86-64-v3")
CALL = "call_void g()"
#: Reads of the parameters at the end, so that they are in registers until then.
KEPT = "store_at.i64 %i, [%p]\nstore_at.i32 %n, [%p + 8]"


def made(lines: str) -> str:
    return rewritten(f"{HEAD}{lines}\nend", sinking, target=TARGET)


def same(lines: str) -> bool:
    return made(lines) == rewritten(f"{HEAD}{lines}\nend", target=TARGET)


def test_a_value_moves_behind_a_call() -> None:
    assert made(f"%1 = add.i64 %i, 3\n{CALL}\nstore_at.i64 %1, [%p]\n{KEPT}") == block(f"{CALL}\n%1 = add.i64 %i, 3\nstore_at.i64 %1, [%p]\n{KEPT}")


def test_an_address_moves_into_the_access() -> None:
    found = made(f"%1 = address.ptr [%p + %i*8 + 16]\n{CALL}\nstore_at.i64 %i, [%1 + 8]\n{KEPT}")
    assert found == block(f"{CALL}\nstore_at.i64 %i, [%p + %i*8 + 24]\n{KEPT}")


def test_an_address_of_a_pointer_and_a_number_moves_into_the_access() -> None:
    found = made(f"%1 = add.ptr %p, 16\n{CALL}\nstore_at.i64 %i, [%1 + %i*8]\nstore_at.i64 %i, [%1 + 8]\n{KEPT}")
    assert "add.ptr" in found  # (One of the accesses has an index.)
    found = made(f"%1 = add.ptr %p, 16\n{CALL}\nstore_at.i64 %i, [%1]\nstore_at.i64 %i, [%1 + 8]\n{KEPT}")
    assert found == block(f"{CALL}\nstore_at.i64 %i, [%p + 16]\nstore_at.i64 %i, [%p + 24]\n{KEPT}")


def test_an_address_that_accesses_have_no_room_for_stays_one() -> None:
    assert "add.ptr" in made(f"%1 = add.ptr %p, 2147483647\n{CALL}\nstore_at.i64 %i, [%1 + 8]\n{KEPT}")


def test_chains_move_together() -> None:
    found = made(f"%1 = add.i64 %i, 3\n%2 = mul.i64 %1, 5\n{CALL}\nstore_at.i64 %2, [%p]\n{KEPT}")
    assert found == block(f"{CALL}\n%1 = add.i64 %i, 3\n%2 = mul.i64 %1, 5\nstore_at.i64 %2, [%p]\n{KEPT}")


def test_what_would_keep_two_registers_for_one_stays() -> None:
    assert same(f"%3 = load_at.i64 [%p]\n%4 = load_at.i64 [%p + 8]\n%1 = add.i64 %3, %4\n{CALL}\nstore_at.i64 %1, [%p]")


def test_a_value_moves_into_the_branch_that_uses_it() -> None:
    found = made(f"{CALL}\n%1 = add.i64 %i, 3\nif.bool %q\nstore_at.i64 %1, [%p]\nend\n{KEPT}")
    assert found == block(f"{CALL}\nif.bool %q\n%1 = add.i64 %i, 3\nstore_at.i64 %1, [%p]\nend\n{KEPT}")


def test_functions_that_need_few_registers_stay() -> None:
    few = f"%1 = add.i64 %i, 3\nif.bool %q\nstore_at.i64 %1, [%p]\nend\n{KEPT}"
    assert same(few)
    many = "".join(f"%{n} = load_at.i64 [%p + {8 * n}]\n" for n in range(2, 40)) + "".join(f"store_at.i64 %{n}, [%p]\n" for n in range(2, 40))
    assert not same(few + "\n" + many)


@pytest.mark.parametrize("last", ["", "store_at.i64 %1, [%p]\n"])
def test_a_value_used_in_both_arms_or_behind_stays(last: str) -> None:
    assert same(f"%1 = add.i64 %i, 3\nif.bool %q\nstore_at.i64 %1, [%p]\nelse\nstore_at.i64 %1, [%p + 8]\nend\n{last}{KEPT}")


def test_a_value_used_near_stays() -> None:
    assert same(f"%1 = add.i64 %i, 3\nstore_at.i64 %1, [%p]\n{CALL}\nstore_at.i64 %1, [%p + 8]\n{KEPT}")


def test_a_value_does_not_move_into_a_loop() -> None:
    assert same(f"%1 = add.i64 %i, 3\nloop\nstore_at.i64 %1, [%p]\n{CALL}\nend\n{KEPT}")


def test_a_comparison_is_made_at_each_branch() -> None:
    found = made(f"%1 = gt.i32 %n, 5\n{CALL}\nblock\nif.bool %1\n{CALL}\nend\nend\nif.bool %1\n{CALL}\nend\n{KEPT}")
    assert found == block(f"{CALL}\nblock\n%1 = gt.i32 %n, 5\nif.bool %1\n{CALL}\nend\nend\n%2 = gt.i32 %n, 5\nif.bool %2\n{CALL}\nend\n{KEPT}")


def test_a_comparison_used_near_stays() -> None:
    assert same(f"%1 = gt.i32 %n, 5\nif.bool %1\n{CALL}\nend\nif.bool %1\n{CALL}\nend\n{KEPT}")


def test_a_variable_that_is_written_between_holds_a_value_back() -> None:
    assert same(f"%v = copy.i64 %i\n%1 = add.i64 %v, 3\n{CALL}\n%v = copy.i64 0\nstore_at.i64 %1, [%p]\nstore_at.i64 %v, [%p + 8]")
    found = made(f"%v = copy.i64 %i\n%1 = add.i64 %v, 3\n{CALL}\nstore_at.i64 %1, [%p]\n%v = copy.i64 0\nstore_at.i64 %v, [%p + 8]")
    assert found == block(f"%v = copy.i64 %i\n{CALL}\n%1 = add.i64 %v, 3\nstore_at.i64 %1, [%p]\n%v = copy.i64 0\nstore_at.i64 %v, [%p + 8]")


def test_a_variable_that_the_loop_around_the_access_writes_holds_an_address_back() -> None:
    text = f"%v = copy.i64 %i\n%1 = address.ptr [%p + %v*8]\nloop\nstore_at.i64 %i, [%1]\n%v = add.i64 %v, 1\n{CALL}\nend\n{KEPT}"
    assert same(text)
    found = made(f"%v = copy.i64 %i\n%1 = address.ptr [%p + %v*8]\nloop\nstore_at.i64 %i, [%1]\n{CALL}\nend\n%v = add.i64 %v, 1\nstore_at.i64 %v, [%p]\n{KEPT}")
    assert "address" not in found


def chained(count: int) -> str:
    """Values that each move behind a call, into the branch that uses them."""
    made = "".join(f"%{n} = add.i64 %i, {n}\n" for n in range(9, count))
    used = "".join(f"if.bool %q\n{CALL}\nstore_at.i64 %{n}, [%p]\nend\n" for n in range(9, count))
    return f"{HEAD}{made}{CALL}\n{used}{KEPT}\nend"


def addressed(count: int) -> str:
    """Addresses from one pointer, and sums of one variable that is written again and again, that each move behind a call."""
    return (
        f"{HEAD}"
        + "".join(
            f"%{n} = address.ptr [%p + {n}]\n%v = copy.i64 {n}\n%s{n}.{n + 5000} = add.i64 %v, 3\n{CALL}\nstore_at.i64 %s{n}.{n + 5000}, [%{n}]\n"
            for n in range(9, count)
        )
        + f"{KEPT}\nend"
    )


@countable
@pytest.mark.parametrize("made", [chained, addressed])
def test_work_grows_with_the_number_of_values(made: Callable[[int], str]) -> None:
    def run(text: str) -> None:
        sinking.run(parse(text), TARGET)

    found = growth(run, made(60), made(240))
    assert any(name.startswith("sinking.") for name in found) and max(found.values()) < 7, found
