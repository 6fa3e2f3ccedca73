"""Values that are computed twice."""

from __future__ import annotations

from loopwright.ir.equality import same_value
from loopwright.ir.parse import parse


def made(text: str):
    f = parse(f"function f(%p: ptr, %n: i64, %m: i64)\n  array a: f64[%n] at %p\n{text}\nret\nend")
    registers = {name: register for register, name in enumerate(f.names) if name}
    return {instr.dst: instr for instr in f.code}, registers


def test_the_same_of_the_same_and_copies_of_it() -> None:
    code, at = made("""
        %a = mul.i64 %n, 3
        %b = mul.i64 %n, 3
        %c = copy.i64 %b
        %d = mul.i64 %m, 3
        %e = add.i64 %n, 3
        %x = load.f64 a[%a]
        %y = load.f64 a[%c]
        %z = load.f64 a[%d]
        """)
    assert same_value(code, at["a"], at["b"]) and same_value(code, at["a"], at["c"]) and same_value(code, at["c"], at["a"])
    assert same_value(code, at["x"], at["y"])
    assert not same_value(code, at["a"], at["d"]) and not same_value(code, at["x"], at["z"])
    assert not same_value(code, at["a"], at["e"]) and not same_value(code, at["n"], at["m"])


def test_an_index_and_a_place_correspond_and_nothing_else_does() -> None:
    code, at = made("""
        %a = add.i64 %n, 3
        %b = add.i64 %m, 3
        %c = add.i64 %n, 3
        """)
    n, m = at["n"], at["m"]
    assert same_value(code, at["a"], at["b"], n, m)
    assert not same_value(code, at["b"], at["a"], n, m)
    assert not same_value(code, at["a"], at["c"], n, m), "the index is itself where the place is asked for"
    assert not same_value(code, at["a"], at["a"], n, m)


def test_values_that_are_read_twice_are_asked_for_once() -> None:
    squares = "\n".join(f"%{name}{k + 1} = mul.i64 %{name}{k}, %{name}{k}" for name in "ab" for k in range(60))
    code, at = made(f"%a0 = add.i64 %n, 1\n%b0 = add.i64 %n, 1\n{squares}")
    assert same_value(code, at["a60"], at["b60"])
