"""The vector-scalars pass: integers that loops carry through minima and maxima in vector registers, with the results of integer registers, and what stays."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners
from tests.passes.texts import block, rewritten

import loopwright as lw
from loopwright.passes import vector_scalars
from loopwright.targets import registry

X86 = runners(lambda runner: runner.folder == "x86" and bool(runner.bits))
TARGET = registry.get("x86-64-v3")
HEAD = "function f(%a: ptr, %a.n0: i64, %n: i64, %c: i32) -> i32\n  array a: i32[%a.n0] at %a written\n  var %s: i32\n  var %t: i32\n"
SOURCES = {
    "largest sum of a run": """
def nest(a, w, z):
    here = a[0]
    best = a[0]
    for i in range(1, a.shape[0]):
        here = most(a[i], here + a[i])
        best = most(best, here)
    z[0] = best
    z[1] = here
""",
    "best profit": """
def nest(a, w, z):
    low = a[0]
    best = a[0] - a[0]
    for i in range(a.shape[0]):
        low = least(low, a[i])
        best = most(best, a[i] - low)
    z[0] = best
    z[1] = low
""",
    "kept between bounds, and stored": """
def nest(a, w, z):
    s = a[0]
    for i in range(a.shape[0]):
        s = most(z[1], least(z[0], s + a[i]))
        w[i] = s
    z[2] = s
""",
    "two greatest": """
def nest(a, w, z):
    p = a[0]
    q = a[0]
    for i in range(1, a.shape[0]):
        q = most(q, least(p, a[i]))
        p = most(p, a[i])
    z[0] = p
    z[1] = q
""",
    "bits between": """
def nest(a, w, z):
    s = a[0]
    for i in range(1, a.shape[0]):
        s = most(s ^ a[i], least(s & 255, a[i] | 3)) - (a[i] & s)
        w[i] = s
    z[0] = s
""",
}


def kernel(source: str, **options: Any) -> Any:
    space: dict[str, Any] = {"least": lw.min, "most": lw.max}
    exec(source, space)  # noqa: S102 (the sources above)
    function = space["nest"]
    function.__annotations__.update(dict.fromkeys("awz", lw.Array))
    return lw.kernel(source=source, **options)(function)


def numbers(dtype: Any, count: int, seed: int) -> np.ndarray[Any, Any]:
    """Among others the greatest and the least there are, whose sums wrap."""
    rng = np.random.default_rng(seed)
    limits = np.iinfo(dtype)
    a = rng.integers(limits.min, limits.max, count, dtype, endpoint=True) if seed % 2 else rng.integers(0, 100, count).astype(dtype)
    a[rng.integers(0, count, 3)] = limits.max, limits.min, 1
    return a


@pytest.mark.parametrize("runner", X86)
@pytest.mark.parametrize("element", ["i32", "u32", "i64", "u64", "i16", "u8"])
@pytest.mark.parametrize("name", SOURCES)
def test_the_results_are_those_of_integer_registers(name: str, element: str, runner: Runner) -> None:
    of = lw.Array[getattr(lw, element)]
    ours = runner.compiled(kernel(SOURCES[name]), of, of, of)
    plain = kernel(SOURCES[name], nests="off", passes=[lw.without("vector-scalars")]).compile(of, of, of, target="x86-64-v3")
    dtype = np.dtype({"i": "i", "u": "u"}[element[0]] + str(int(element[1:]) // 8))
    for count in (1, 2, 3, 4, 7, 40):
        for seed in range(4):
            a = numbers(dtype, count, seed)
            given = [a, np.zeros_like(a), np.array([100, 3, 0], dtype)]
            wanted = [each.copy() for each in given]
            plain(*wanted)

            def check(_: object, given: list[Any] = given, wanted: list[Any] = wanted) -> None:
                for found, each in zip(given, wanted, strict=True):
                    assert np.array_equal(found, each)

            runner.run(ours, given, check)


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("name", SOURCES)
def test_no_choice_is_left_in_the_loop(name: str, target: str) -> None:
    of = lw.Array[lw.i32]
    text = kernel(SOURCES[name]).compile(of, of, of, target=target).asm()
    # (Of 64 bits: where the loop ends.)
    assert not re.search(r"\bcmov\w+ (e|r\d+d)", text) and re.search(r"\bvpm(in|ax)sd xmm", text)


def test_each_iteration_of_the_largest_sum_is_four_instructions() -> None:
    of = lw.Array[lw.i32]
    text = kernel(SOURCES["largest sum of a run"]).compile(of, of, of, target="x86-64-v3").asm()
    # (Two iterations in the unrolled loop, one in what it leaves over.)
    assert len(re.findall(r"\bvpmaxsd", text)) == 6 and len(re.findall(r"\bvpaddd", text)) == 3 and len(re.findall(r"\bvmovaps|\bvmovdq", text)) <= 1


def loop(body: str) -> str:
    return f"%s = copy.i32 0\n%t = copy.i32 0\n%k = for 0, %n, 1\n%1 = load_at.i32 [%a + %k*4]{{of a}}\n{body}\nend\nret %s"


def test_what_it_makes() -> None:
    body = "%2 = add.i32 %s, %1\n%s = max.i32 %2, %c"
    assert rewritten(f"{HEAD}{loop(body)}\nend", vector_scalars, target=TARGET) == block(
        "%c.9 = splat.i32x4 %c\n%s.9 = copy.i32x4 0\n%t = copy.i32 0\n%k = for 0, %n, 1\n%1 = load_at.i32 [%a + %k*4]{of a}\n%3 = splat.i32x4 %1\n"
        "%2 = add.i32x4 %s.9, %3\n%s.9 = max.i32x4 %2, %c.9\nend\n%4 = extract.i32x4 %s.9\nret %4"
    )


@pytest.mark.parametrize(
    "body",
    [
        "%s = max.i32 %s, %1",  # A total, which has lanes.
        "%s = max.i32 %s, %1\n%t = min.i32 %t, %1",
        "%2 = add.i32 %s, %1\n%s = max.i32 %2, %c\n%3 = lt.i32 %s, %t\nif %3\n%t = copy.i32 %1\nend",  # What it makes is compared.
        "%2 = add.i32 %s, %1\n%s = max.i32 %2, %c\n%3 = convert.i64.i32 %s\n%4 = load_at.i32 [%a + %3*4]{of a}\n%t = add.i32 %t, %4",  # An index.
        "%2 = mul.i32 %s, %1\n%s = max.i32 %2, %c",
        "%2 = max.i32 %1, %c\nstore_at.i32 %2, [%a + %k*4]{of a}",  # Nothing is carried.
        "%2 = add.i32 %s, %1\n%s = add.i32 %2, %c",
        "%3 = mul.i32 %1, 3\n%2 = add.i32 %s, %3\n%s = max.i32 %2, %c",  # What is made elsewhere would be moved.
    ],
)
def test_what_stays(body: str) -> None:
    assert rewritten(f"{HEAD}{loop(body)}\nend", vector_scalars, target=TARGET) == block(loop(body))


def test_other_machines_keep_their_registers() -> None:
    body = "%2 = add.i32 %s, %1\n%s = max.i32 %2, %c"
    assert rewritten(f"{HEAD}{loop(body)}\nend", vector_scalars, target=registry.get("aarch64-neon")) == block(loop(body))
