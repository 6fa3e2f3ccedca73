"""Loads of one arm alone, in loops that wait for themselves: they are from a harmless place where the arm does not count, and nothing outside of arrays is read."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded
from tests.machines import Runner, runners

import loopwright as lw

#: Indices that lie outside have this added. HALF stands for half of the total.
FAR = 1 << 36
KERNELS = {
    "first arm": """
def f(a, b, k, table, out):
    s = lw.S(0)
    for i in range(a.shape[0]):
        if a[i] > b[i]:
            s = HALF + table[k[i]]
        else:
            s = HALF
        out[i] = s
""",
    "else arm": """
def f(a, b, k, table, out):
    s = lw.S(0)
    for i in range(a.shape[0]):
        if a[i] <= b[i]:
            s = HALF
        else:
            s = HALF + table[k[i]]
        out[i] = s
""",
    "both arms": """
def f(a, b, k, table, out):
    s = lw.S(0)
    for i in range(a.shape[0]):
        if a[i] > b[i]:
            s = HALF + table[k[i]]
        else:
            s = HALF - table[k[i] - FAR]
        out[i] = s
""",
    "index loaded by every turn": """
def f(a, b, k, table, out):
    s = lw.S(0)
    for i in range(a.shape[0]):
        q = k[i]
        if a[i] > b[i]:
            s = HALF + table[q]
        else:
            s = s + 1
        out[i] = s
""",
    "total alone": """
def f(a, b, k, table, out):
    s = lw.S(0)
    for i in range(a.shape[0]):
        if b[i] < a[i]:
            s = HALF + table[k[i]]
        else:
            s = s - 1
    out[0] = s
""",
}
#: Without an else.
ALONE = {
    "no else": """
def f(a, b, k, table, out):
    s = lw.S(0)
    for i in range(a.shape[0]):
        if a[i] > b[i]:
            s = HALF + table[k[i]]
        out[i] = s
""",
    "behind one that has an else": """
def f(a, b, k, table, out):
    s = lw.S(0)
    for i in range(a.shape[0]):
        if b[i] > 2:
            s = s + 2
        else:
            s = s - 1
        if a[i] > b[i]:
            s = HALF + table[k[i]]
        out[i] = s
""",
}
#: What the arm loads hangs on what it has computed, or the condition on the total.
HANDED_ON = {
    "an index that is moved on": """
def f(a, b, k, table, out):
    s = lw.S(0)
    j = 0
    for i in range(a.shape[0]):
        if a[i] > b[i]:
            j = (j + 5) & 7
            s = HALF + table[j]
        else:
            s = s - 1
        out[i] = s
""",
    "an index that is far out meanwhile": """
def f(a, b, k, table, out):
    s = lw.S(0)
    j = FAR
    for i in range(a.shape[0]):
        if a[i] > b[i]:
            s = HALF + table[j - FAR]
        else:
            s = s - table[j - FAR + 1]
        j = FAR + (i & 7)
        out[i] = s
""",
    "the total": """
def f(a, b, k, table, out):
    s = lw.S(0)
    for i in range(a.shape[0]):
        if s > 50:
            s = HALF - 7
        else:
            s = s + table[i & 7]
        out[i] = s
""",
}
EVERY = {**KERNELS, **ALONE, **HANDED_ON}
#: Of the table, and of the total.
TABLES = {"f32": "f32", "f64": "f64", "i32": "i32", "i64": "i64", "u8": "i32"}
NAMES = {"f32": "f4", "f64": "f8", "i32": "i4", "i64": "i8", "u8": "u1"}
COMPARED = ["f64", "f32", "i64"]
ROOM = 9


def _kernel(name: str, table: str, compared: str) -> Any:
    total = TABLES[table]
    half = "s * 0.5" if total[0] == "f" else "(s >> 1)"
    source = EVERY[name].replace("lw.S(", f"lw.{total}(").replace("HALF", half).replace("FAR", str(FAR))
    if table == "u8":
        source = re.sub(r"(?<=[-+] )(table\[.*\])\n", r"lw.i32(\1)\n", source)
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the sources above)
    of = {"a": compared, "b": compared, "k": "i64", "table": table, "out": total}
    space["f"].__annotations__.update({parameter: lw.Array[getattr(lw, element)] for parameter, element in of.items()})
    return lw.kernel(source=source, contract=False)(space["f"])


def _arrays(name: str, table: str, compared: str, n: int) -> list[np.ndarray]:
    """Where the element is not to be loaded, its index is far outside."""
    rng = np.random.default_rng(n)
    a, b = (rng.integers(0, 6, n).astype(NAMES[compared]) for _ in range(2))
    if compared[0] == "f" and n > 3:
        a[n // 2] = np.nan
    k = rng.integers(0, ROOM, n)
    k[(a <= b) if name == "else arm" else ~(a > b)] += FAR
    return [a, b, k, rng.integers(0, 100, ROOM).astype(NAMES[table]), np.zeros(max(n, 1), NAMES[TABLES[table]])]


def _wanted(kernel: Any, given: list[np.ndarray]) -> list[np.ndarray]:
    wanted = [each.copy() for each in given]
    kernel.function(*wanted)
    return wanted


@pytest.mark.parametrize("compared", COMPARED)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", EVERY)
def test_nothing_outside_is_read(name: str, table: str, compared: str) -> None:
    kernel = _kernel(name, table, compared)
    for n in (0, 1, 2, 3, 4, 7, 40):
        given = _arrays(name, table, compared, n)
        wanted = _wanted(kernel, given)
        for at_end in (False, True):
            found = [guarded(each, at_end) for each in given]
            kernel(*found)
            for x, y in zip(wanted, found, strict=True):
                np.testing.assert_array_equal(y, x, err_msg=f"{n} {at_end}")


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", ["first arm", "else arm", *ALONE])
def test_indices_that_are_not_there(name: str, table: str) -> None:
    """The condition holds for the first turns alone, and there are no more indices than these; or nothing is in the table."""
    kernel = _kernel(name, table, "f64")
    for there in (0, 1, 5):
        a, b, k, numbers, out = _arrays(name, table, "f64", 30)
        a[:there], a[there:], b[:] = 2, 0, 1
        given = [a, b, k[:there] % FAR, numbers if there else numbers[:0], out]
        wanted = _wanted(kernel, given)
        for at_end in (False, True):
            found = [guarded(each, at_end) for each in given]
            kernel(*found)
            np.testing.assert_array_equal(found[-1], wanted[-1])


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize(("name", "table"), [(name, table) for name in KERNELS for table in TABLES if (name, table) != ("both arms", "u8")])
def test_places_are_chosen(name: str, table: str, target: str) -> None:
    """No branch is left of the loop's body."""
    text = _kernel(name, table, "f64").compile(target=target, keep=True).ir("if-convert")
    assert "select.ptr" in text
    assert not any(line.strip().startswith("if") for line in text.splitlines())


def test_places_are_chosen_without_an_else() -> None:
    text = _kernel("behind one that has an else", "f64", "f64").compile(target="x86-64-v3", keep=True).ir("if-convert")
    assert "select.ptr" in text


def test_wider_elements_than_what_every_turn_loads() -> None:
    """Eight bytes are read where eight are known to be, be it farther away."""
    for table in ("f32", "f64"):
        text = _kernel("index loaded by every turn", table, "f32").compile(target="x86-64-v3", keep=True).ir("if-convert")
        assert "select.ptr" in text
        assert not any(line.strip().startswith("if") for line in text.splitlines())


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("runner", runners())
def test_on_every_machine(name: str, table: str, runner: Runner) -> None:
    kernel = _kernel(name, table, "f64")
    given = _arrays(name, table, "f64", 21)
    runner.leaves(runner.compiled(kernel).compiled, given, _wanted(kernel, given))
