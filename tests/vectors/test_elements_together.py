"""Elements in turn that a loop widens: as wider integers of which each is shifted out, and into which it is shifted; beside the plain functions, for random values and on every machine."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded
from tests.machines import Here, Runner, runners, with_features

import loopwright as lw
from loopwright.types import parse_type

#: No multiple of any vector's lanes, a vector and more, and nothing at all.
LENGTHS = (0, 1, 37, 101)
V4 = "x86-64-v4+avx512vbmi"
#: Element types, each with the types that it is computed with.
WIDER = {
    "u8": ("u16", "u32", "i16", "i32", "f32"),
    "i8": ("i16", "i32", "u16", "f32"),
    "u16": ("u32", "i32", "f32"),
    "i16": ("i32", "u32", "i64"),
    "u32": ("u64", "i64", "f64"),
}


def kernel_of(body: list[str], source: str, to: str, over: str = "lw.lanes") -> Any:
    """A function and its kernel: a loop over groups of elements of ``s`` and ``d``."""
    text = f"def k(d, s, n):\n    for i in {over}(n):\n" + "".join(f"        {line}\n" for line in body)
    scope: dict[str, Any] = {"lw": lw}
    exec(text, scope)  # noqa: S102 (texts of this file alone)
    function = scope["k"]
    function.__annotations__ = {"d": lw.Array[getattr(lw, to)], "s": lw.Array[getattr(lw, source)], "n": lw.i64}
    return function, lw.kernel(source=text)(function)


def random_body(rng: random.Random, apart: int, source: str, to: str, wide: str) -> list[str]:
    """Loads of some elements of a group, and stores of all: of values computed with wider numbers, and of elements as they are."""
    first = rng.choice((0, 0, 0, 1)) if apart > 2 else 0
    places = list(range(first, apart))
    lines = [f"e{c} = s[{apart} * i + {c}]" for c in places] + [f"w{c} = lw.{wide}(e{c})" for c in places]
    middle = "lw.i32" if wide.startswith("f") else ""
    for c in range(apart):
        a, b = rng.choice(places), rng.choice(places)
        kind = rng.randrange(6)
        if kind == 0 and source == to:
            value = f"e{c if c in places else a}"
        elif kind == 1 and source == to:
            value = f"e{a}"
        elif kind == 2 and not middle:
            value = f"lw.{to}((w{a} * w{b} + {rng.choice((1, 77, 127))}) >> {rng.choice((1, 3, 8))})"
        elif middle:
            value = f"lw.{to}({middle}(w{a} * 3 - w{b}))"
        else:
            value = f"lw.{to}(w{a} * 5 - w{b})"
        lines.append(f"r{c} = {value}")
    return lines + [f"d[{apart} * i + {c}] = r{c}" for c in range(apart)]


@pytest.mark.parametrize("apart", [2, 3, 4, 6, 8])
@pytest.mark.parametrize("source", sorted(WIDER))
@pytest.mark.parametrize("runner", [*runners(lambda runner: runner.bits), *with_features("avx512vbmi")])
def test_random_groups(runner: Runner, source: str, apart: int) -> None:
    rng = random.Random(f"{source} {apart}")
    here = isinstance(runner, Here)
    for wide in WIDER[source]:
        to = source if rng.random() < 0.8 else {"u8": "i8", "i8": "u8", "u16": "u8", "i16": "u16", "u32": "i16"}[source]
        body = random_body(rng, apart, source, to, wide)
        function, kernel = kernel_of(body, source, to)
        code = runner.compiled(kernel, lw.Array[getattr(lw, to)], lw.Array[getattr(lw, source)], lw.i64)
        for n in LENGTHS if here else (37,):
            kinds = np.iinfo(parse_type(source).dtype)
            given = np.random.default_rng(n).integers(kinds.min, kinds.max, apart * n, kinds.dtype, True)
            if parse_type(source).bits > 8 and wide.startswith("f"):
                given //= 8
            wanted = np.zeros(apart * n, parse_type(to).dtype)
            with np.errstate(over="ignore"):
                function(wanted, given, n)
            d = np.zeros_like(wanted)
            args: list[Any] = [guarded(d, True), guarded(given, True), n] if here else [d, given, n]

            def compare(_: Any, args: list[Any] = args, wanted: Any = wanted, body: list[str] = body) -> None:
                assert np.array_equal(args[0], wanted), "\n".join(body)

            runner.run(code, args, compare)


PREMULTIPLIED = [
    "a = lw.u32(s[4 * i + 3])",
    *[f"d[4 * i + {c}] = lw.u8((lw.u32(s[4 * i + {c}]) * a + 127) // 255)" for c in range(3)],
    "d[4 * i + 3] = s[4 * i + 3]",
]


@pytest.mark.parametrize("over", ["lw.range", "lw.lanes"])
def test_widened_pixels_are_shifted_out_of_vectors_of_512_bits(over: str) -> None:
    """Two loads and two permutations for 32 pixels, as many for what is stored, and nothing is widened or cut off by an instruction of its own."""
    _, kernel = kernel_of(PREMULTIPLIED, "u8", "u8", over)
    code = kernel.compile(lw.Array[lw.u8], lw.Array[lw.u8], lw.i64, target=V4)
    loop = code.ir("expand").split("for ", 2)[1].split("end")[0]
    assert ".u32" not in loop
    # (Two iterations are written out in the loop.)
    assert "load_at.u16x32" in loop and loop.count("store_at.u16x32") == 4
    vectors = [line for line in code.asm().split("jl ", 1)[0].splitlines() if "mm" in line]
    assert not any("vpmovzx" in line or "vpmovwb" in line or "vpmovdb" in line or "vpunpck" in line for line in vectors)
    assert sum("vpermt2w" in line or "vpermi2w" in line for line in vectors) == 8


def test_bytes_that_are_computed_with_in_32_bits_are_one_load() -> None:
    _, kernel = kernel_of(["d[i] = lw.f32(s[4 * i]) * 0.5 + lw.f32(s[4 * i + 3])"], "u8", "f32")
    for target in (V4, "x86-64-v4", "x86-64-v3"):
        text = kernel.compile(lw.Array[lw.f32], lw.Array[lw.u8], lw.i64, target=target).ir("vectorize")
        assert "load_at.u32x" in text and "load_part" not in text


SEPIA = [
    "r, g, b = lw.{wide}(s[3 * i]), lw.{wide}(s[3 * i + 1]), lw.{wide}(s[3 * i + 2])",
    *[f"d[3 * i + {c}] = lw.{{narrow}}((r * {99 - c} + g * 100 + b * {50 - c}) >> 8)" for c in range(3)],
]


@pytest.mark.parametrize(("narrow", "wide", "target"), [("u8", "u16", V4), ("i8", "i16", V4), ("u16", "u32", "x86-64-v4"), ("i16", "i32", "x86-64-v4")])
def test_groups_of_three_are_widened_and_cut_off_by_one_choice_each(narrow: str, wide: str, target: str) -> None:
    _, kernel = kernel_of([line.format(narrow=narrow, wide=wide) for line in SEPIA], narrow, narrow)
    array = lw.Array[getattr(lw, narrow)]
    text = kernel.compile(array, array, lw.i64, target=target).ir("vectorize").split("end")[0]
    assert text.count("lookup_pair") == 5 and text.count(" load_at") == text.count("masked_load_at") == 1 and text.count("store_at") == 2
    assert "convert.i" not in text.split(" unroll")[1] and "convert.u" not in text.split(" unroll")[1]


def test_pixels_of_three_bytes_as_floats_are_one_load() -> None:
    _, kernel = kernel_of(["d[i] = lw.f32(s[3 * i]) * 0.5 + lw.f32(s[3 * i + 2])"], "u8", "f32")
    text = kernel.compile(lw.Array[lw.f32], lw.Array[lw.u8], lw.i64, target=V4).ir("vectorize")
    assert text.count("lookup_lanes.u8x64") == 2 and text.count("masked_load_at.u8x64") == 1


def test_elements_that_stay_narrow_are_dealt_out() -> None:
    _, kernel = kernel_of([f"d[4 * i + {c}] = s[4 * i + {(c + 1) % 4}] ^ 7" for c in range(4)], "u8", "u8", "lw.range")
    text = kernel.compile(lw.Array[lw.u8], lw.Array[lw.u8], lw.i64, target=V4).ir("vectorize")
    assert "load_part4.u8x64" in text and "store_parts4.u8x64" in text


def test_four_vectors_take_eight_choices() -> None:
    """What two parts have in common is put next to each other once."""
    _, kernel = kernel_of([f"d[4 * i + {c}] = s[4 * i + {(c + 1) % 4}] ^ 7" for c in range(4)], "u8", "u8", "lw.range")
    text = kernel.compile(lw.Array[lw.u8], lw.Array[lw.u8], lw.i64, target=V4).ir("simplify")
    assert text.count("lookup_pair.u8x64") == 4 * text.count("store_at.u8x64") > 0
