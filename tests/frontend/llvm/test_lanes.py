"""Loops of C in lanes: what they give is what clang -O0 gives, at every length, wherever pointers lead; and which of them become lanes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import cli
from loopwright.cc.clang import FIXED
from loopwright.ir.interpret import run
from loopwright.ir.parse import parse
from loopwright.targets import registry

pytestmark = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed (Debian package clang)")

HEAD = "#include <stdint.h>\n#include <stddef.h>\n"
FRONT = list(FIXED)
#: Lengths: none, one, few, odd ones, whole vectors, more than one unrolled step.
LENGTHS = [0, 1, 2, 15, 16, 17, 31, 64, 100, 257]
TYPES = {"f": np.float32, "d": np.float64, "i": np.int32, "u": np.uint32, "b": np.uint8, "c": np.int8, "h": np.int16, "l": np.int64, "t": np.uint16}

#: Name, parameters (n: the length; N: as size_t; 3: a constant; an upper-case letter of TYPES: that array, of twice the length and 16 elements), result, body, whether it becomes lanes.
LOOPS: list[tuple[str, str, str, str, bool]] = [
    ("saxpy", "int n, float a, const float *restrict x, float *restrict y", "n f F F", "for (int i = 0; i < n; i++) y[i] = a * x[i] + y[i];", True),
    ("no_restrict", "int n, const float *x, float *y", "n F F", "for (int i = 0; i < n; i++) y[i] = x[i] + 1;", True),
    ("total", "const int *x, int n", "I n > i", "int s = 0; for (int i = 0; i < n; i++) s += x[i]; return s;", True),
    ("total_up", "const uint8_t *x, size_t n", "B n > u", "unsigned s = 0; while (n--) s += *x++; return s;", True),
    ("products", "const int16_t *x, const int16_t *y, int n", "H H n > i", "int s = 0; for (int i = 0; i < n; i++) s += x[i] * y[i]; return s;", True),
    ("largest", "const int *x, int n", "I n > i", "int s = -5; for (int i = 0; i < n; i++) if (x[i] > s) s = x[i]; return s;", True),
    ("bits", "const uint32_t *x, int n", "U n > u", "uint32_t s = 7; for (int i = 0; i < n; i++) s ^= x[i]; return s;", True),
    (
        "blur",
        "const float *restrict x, float *restrict y, int n",
        "F F n",
        "for (int i = 1; i < n - 1; i++) y[i] = (x[i - 1] + 2 * x[i] + x[i + 1]) * 0.25f;",
        True,
    ),
    ("under_condition", "int n, int *a, const int *b", "n I I", "for (int i = 0; i < n; i++) if (b[i] > 0) a[i] = b[i];", True),
    (
        "clamped",
        "int n, int *restrict a, const int *restrict b",
        "n I I",
        "for (int i = 0; i < n; i++) { int v = b[i]; a[i] = v < 0 ? 0 : v > 255 ? 255 : v; }",
        True,
    ),
    ("pointers", "float *d, const float *s, int n", "F F n", "const float *e = s + n; while (s < e) *d++ = *s++ * 2;", True),
    ("copied", "uint8_t *d, const uint8_t *s, size_t n", "B B n", "for (size_t i = 0; i < n; i++) d[i] = s[i] ^ 1;", True),
    ("widened", "int *restrict d, const uint8_t *restrict s, int n", "I B n", "for (int i = 0; i < n; i++) d[i] = s[i] * 3 - 1;", True),
    ("as_float", "float *restrict d, const int *restrict s, int n", "F I n", "for (int i = 0; i < n; i++) d[i] = s[i] * 0.5f;", True),
    ("counter", "int *a, int n", "I n", "for (int i = 0; i < n; i++) a[i] = i * 3;", True),
    ("filled", "double *a, double v, int n", "D d n", "for (int i = 0; i < n; i++) a[i] = v;", True),
    ("turned", "int n, int *restrict a, const int *restrict b", "n I I", "for (int i = n - 1; i >= 0; i--) a[i] = b[i] + 1;", True),
    ("opposite", "int n, int *restrict a, const int *restrict b", "n I I", "for (int i = 0; i < n; i++) a[i] = b[n - 1 - i];", True),
    ("pairs", "int n, int *restrict a, const int *restrict b", "n I I", "for (int i = 0; i < n / 2; i++) a[i] = b[2 * i] - b[2 * i + 1];", True),
    ("every_second", "int n, int *restrict a, const int *restrict b", "n I I", "for (int i = 0; i < n; i++) a[i] = b[2 * i];", True),
    ("every_third", "int n, uint8_t *restrict a, const uint8_t *restrict b", "n B B", "for (int i = 0; i < n / 2; i++) a[i] = b[3 * i + 2] + 1;", True),
    ("by_three", "int n, int *a", "n I", "for (int i = 0; i < n; i += 3) a[i] = a[i] + 1;", False),
    (
        "rows",
        "int n, double *restrict a, const double *restrict b",
        "n D D",
        "for (int i = 0; i < n / 32; i++) for (int j = 0; j < 32; j++) a[i * 32 + j] += b[i * 32 + j];",
        True,
    ),
    ("row_by_row", "int n, int *a", "n I", "int w = 40; for (int i = 1; i < n / w; i++) for (int j = 0; j < w; j++) a[i * w + j] += a[(i - 1) * w + j];", True),
    (
        "around",
        "uint32_t n, uint32_t k, int *restrict a, const int *restrict b",
        "n k I I",
        "for (uint32_t i = 0; i != n; i++) a[(uint32_t)(i + k)] = b[i];",
        True,
    ),
    ("bytes_around", "uint8_t n, int *a", "n I", "for (uint8_t i = 250; i != n; i++) a[i] += i;", True),
    ("to_the_end", "int n, int *a", "n I", "int i; for (i = 0; i < n; i++) a[i] += 2; a[i] = 77;", True),
    ("running", "int n, int *a", "n I", "for (int i = 1; i < n; i++) a[i] += a[i - 1];", False),
    ("last", "int n, const int *a", "n I > i", "int v = 0; for (int i = 0; i < n; i++) v = a[i]; return v;", False),
    ("watched", "int n, volatile int *a", "n I", "for (int i = 0; i < n; i++) a[i] = i;", False),
    (
        "two_results",
        "int n, const int *a, int *r",
        "n I I",
        "int s = 0, m = 0; for (int i = 0; i < n; i++) { s += a[i]; m = a[i] > m ? a[i] : m; } r[0] = s; r[1] = m;",
        True,
    ),
    ("two_arrays", "int n, int *a, int *b, const int *c", "n I I I", "for (int i = 0; i < n; i++) { a[i] = c[i] + 1; b[i] = c[i] - 1; }", True),
    ("signed_bytes", "int n, int8_t *a, const uint8_t *b", "n C B", "for (int i = 0; i < n; i++) a[i] = (int8_t)(a[i] + b[i]);", True),
    ("counting", "int n, const int *a", "n I > i", "int k = 0; for (int i = 0; i < n; i++) if (a[i] > 3) k++; return k;", True),
    ("middle", "int n, int *restrict a, const int *restrict b", "n I I", "for (int i = n / 2; i < n; i++) a[i - n / 2] = b[i] + 1;", True),
    ("known", "int *restrict a, const int *restrict b", "I I", "for (int i = 0; i < 90; i++) a[i] = b[i] * 5;", True),
    ("few", "int *restrict a, const int *restrict b", "I I", "for (int i = 0; i < 5; i++) a[i] = b[i] * 5;", False),
]


def _source(name: str, parameters: str, kinds: str, body: str) -> str:
    result = {"i": "int32_t", "u": "uint32_t"}[kinds[-1]] if ">" in kinds else "void"
    return f"{HEAD}{result} {name}({parameters}) {{ {body} }}\n"


def _arguments(kinds: str, n: int, seed: int) -> tuple[list[Any], list[np.ndarray[Any, Any]]]:
    """What a function is called with; arrays as arrays."""
    rng = np.random.default_rng(seed)
    given: list[Any] = []
    arrays: list[np.ndarray[Any, Any]] = []
    for kind in kinds.split(" >")[0].split():
        if kind == "n":
            given.append(n)
        elif kind == "k":
            given.append(3)
        elif kind in "fd":
            given.append(1.5)
        else:
            dtype = TYPES[kind.lower()]
            count = max(2 * n, 256) + 16
            values = rng.integers(-100, 100, count)
            arrays.append(values.astype(dtype))
            given.append(arrays[-1])
    return given, arrays


def _reference(source: str, name: str, folder: Path) -> Any:
    (folder / "it.c").write_text(source)
    subprocess.run(["clang", "-O0", "-w", "-ffp-contract=off", "-shared", "-fPIC", "-o", str(folder / "it.so"), str(folder / "it.c")], check=True)
    return getattr(ctypes.CDLL(str(folder / "it.so")), name)


def _ir(source: str, level: str, *more: str) -> str:
    words = ["clang", level, "-w", *FRONT, *more, "-x", "c", "-S", "-emit-llvm", "-o", "-", "-"]
    return subprocess.run(words, input=source, capture_output=True, text=True, check=True).stdout


def _call(function: Any, given: list[Any], kinds: str) -> Any:
    words = kinds.split(" >")[0].split()
    arguments: list[Any] = []
    for word, value in zip(words, given, strict=True):
        if isinstance(value, np.ndarray):
            arguments.append(ctypes.c_void_p(value.ctypes.data) if isinstance(function, ctypes._CFuncPtr) else value.ctypes.data)
        elif isinstance(function, ctypes._CFuncPtr):
            arguments.append({"f": ctypes.c_float, "d": ctypes.c_double}.get(word, ctypes.c_int64)(value))
        else:
            arguments.append(value)
    return function(*arguments)


@pytest.mark.parametrize("level", ["-O1", "-O2"])
@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop[0])
def test_same_as_clang(loop: tuple[str, str, str, str, bool], level: str, tmp_path: Path) -> None:
    name, parameters, kinds, body, _ = loop
    source = _source(name, parameters, kinds, body)
    reference = _reference(source, name, tmp_path)
    program = lw.from_llvm(_ir(source, level)).compile()
    for n in LENGTHS:
        if name == "bytes_around" and n > 255:
            continue
        expected, theirs = _arguments(kinds, n, n)
        given, ours = _arguments(kinds, n, n)
        wanted = _call(reference, expected, kinds)
        found = _call(program[name], given, kinds)
        if ">" in kinds:
            bits = (1 << 32) - 1
            assert found & bits == wanted & bits, n
        for a, b in zip(ours, theirs, strict=True):
            assert a.tobytes() == b.tobytes(), n


@pytest.mark.parametrize("target", ["x86-64-v3", "aarch64-neon"])
@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop[0])
def test_becomes_lanes(loop: tuple[str, str, str, str, bool], target: str) -> None:
    name, parameters, kinds, body, lanes = loop
    code = lw.from_llvm(_ir(_source(name, parameters, kinds, body), "-O2")).compile(target=target)[name]
    # (AVX2 stores under masks, Advanced SIMD does not.)
    assert (" lanes" in code.ir("counted")) is (lanes and (name, target) != ("under_condition", "aarch64-neon"))


@pytest.mark.parametrize("distance", [-40, -17, -8, -3, -1, 0, 1, 2, 7, 8, 16, 33, 40])
def test_overlapping_pointers(distance: int, tmp_path: Path) -> None:
    """Without `restrict` an array may be any part of another."""
    source = _source("shift", "int n, int *a, const int *b", "n I I", "for (int i = 0; i < n; i++) a[i] = b[i] + a[i];")
    reference = _reference(source, "shift", tmp_path)
    program = lw.from_llvm(_ir(source, "-O2")).compile()
    for n in (16, 40, 100):
        ours = np.arange(300, dtype=np.int32) % 37
        theirs = ours.copy()
        program["shift"](n, ours.ctypes.data + 400, ours.ctypes.data + 400 + 4 * distance)
        reference(n, ctypes.c_void_p(theirs.ctypes.data + 400), ctypes.c_void_p(theirs.ctypes.data + 400 + 4 * distance))
        assert (ours == theirs).all()


def test_counters_that_wrap(tmp_path: Path) -> None:
    """An index of 8 bits that wraps: the loop as it is written runs then, and lanes where it does not."""
    source = _source(
        "up",
        "uint32_t first, uint32_t n, uint8_t *restrict a, const uint8_t *restrict b",
        "k k B B",
        "for (uint32_t i = 0; i < n; i++) a[(uint8_t)(first + i)] = b[i];",
    )
    reference = _reference(source, "up", tmp_path)
    module = lw.from_llvm(_ir(source, "-O2"))
    program = module.compile()
    assert " lanes" in program["up"].ir("counted")
    b = np.arange(400).astype(np.uint8)
    for first in (0, 1, 100, 200, 239, 240, 241, 255):
        for n in (0, 1, 15, 16, 17, 40, 56, 255, 256, 257, 300):
            ours = np.zeros(256, np.uint8)
            theirs = ours.copy()
            program["up"](first, n, ours.ctypes.data, b.ctypes.data)
            reference(first, n, ctypes.c_void_p(theirs.ctypes.data), ctypes.c_void_p(b.ctypes.data))
            assert (ours == theirs).all(), (first, n)


@pytest.mark.parametrize(
    ("type_", "test", "first", "last"),
    [
        ("int32_t", "i < last; i++", 0x7FFFFF00, 0x7FFFFFFF),
        ("int32_t", "i != last; i++", 0x7FFFFF00, 0x7FFFFFFF),
        ("uint32_t", "i != last; i++", 0xFFFFFF00, 0x20),
        ("uint32_t", "i <= last; i += 3", 0xFFFFFF00, 0xFFFFFFFB),
        ("uint32_t", "i <= last; i += 3", 0xFFFFFF00, 0xFFFFFFFC),
        ("uint32_t", "i < last; i += 5", 0xFFFFFF00, 0xFFFFFFFF),
        ("uint16_t", "i != last; i++", 0xFFF0, 0x100),
        ("uint8_t", "i != last; i += 2", 200, 100),
        ("int64_t", "i < last; i++", 0x7FFFFFFFFFFFFF00, 0x7FFFFFFFFFFFFFFF),
        ("int64_t", "i > last; i--", -0x7FFFFFFFFFFFFF00, -0x7FFFFFFFFFFFFFFF),
        ("uint64_t", "i < last; i++", 0xFFFFFFFFFFFFFF00, 0xFFFFFFFFFFFFFFFF),
    ],
)
def test_ends_of_the_types(type_: str, test: str, first: int, last: int, tmp_path: Path) -> None:
    """Counters near the ends of their types, some of which wrap on the way."""
    source = (
        HEAD
        + f"void up(int64_t first_, int64_t last_, int32_t *a) {{ {type_} first = first_, last = last_; int64_t k = 0; for ({type_} i = first; {test}) a[k++] += i; }}\n"
    )
    reference = _reference(source, "up", tmp_path)
    program = lw.from_llvm(_ir(source, "-O2")).compile()
    signed = [value - (1 << 64) if value >> 63 == 1 else value for value in (first, last)]
    ours = np.arange(400, dtype=np.int32)
    theirs = ours.copy()
    program["up"](*signed, ours.ctypes.data)
    reference(ctypes.c_int64(signed[0]), ctypes.c_int64(signed[1]), ctypes.c_void_p(theirs.ctypes.data))
    assert (ours == theirs).all()


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_differences_of_pointers(level: str, tmp_path: Path) -> None:
    """What a pointer that goes along a loop is computed with is no vector of pointers."""
    source = HEAD + "void down(int32_t *a, int64_t n) { int32_t *end = a + n, *p = end; while (p > a) *--p = (int32_t)(end - p); }\n"
    reference = _reference(source, "down", tmp_path)
    program = lw.from_llvm(_ir(source, level)).compile()
    for n in LENGTHS:
        ours, theirs = np.zeros(n + 1, np.int32), np.zeros(n + 1, np.int32)
        program["down"](ours.ctypes.data, n)
        reference(ctypes.c_void_p(theirs.ctypes.data), ctypes.c_int64(n))
        assert (ours == theirs).all()


@pytest.mark.parametrize(("mask", "lanes"), [(7, False), (63, True)])
@pytest.mark.parametrize("value", ["3", "k", "k * 5", "k * 5 - 3", "(k ^ 5) * k - 1"])
def test_what_a_loop_unrolled_by_eight_leaves_over_is_done_one_by_one(value: str, mask: int, lanes: bool) -> None:
    body = f"size_t m = n & {mask}; int w = {value}; if (m) do {{ *a++ += w; }} while (--m);"
    code = lw.from_llvm(_ir(_source("rest", "size_t n, int *a, int k", "n I k", body), "-O1")).compile(target="x86-64-v3")["rest"]
    assert (" lanes" in code.ir("counted")) is lanes


def test_report(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Which loops run in lanes, by lines of C, and why others do not."""
    file = tmp_path / "loops.c"
    file.write_text(
        "int f(int);\n"
        "void a(int n, float *restrict x) {\n  for (int i = 0; i < n; i++)\n    x[i] *= 2;\n}\n"
        "void b(int n, int *x) {\n  for (int i = 1; i < n; i++)\n    x[i] += x[i - 1];\n}\n"
        "void c(int n, int *x) {\n  for (int i = 0; i < n; i++)\n    x[i] = f(i);\n}\n"
        "int d(const char *x) {\n  int n = 0;\n  while (x[n])\n    n++;\n  return n;\n}\n"
        "int e(int n, const int *x) {\n  int v = 0, w = 0;\n  for (int i = 0; i < n; i++) {\n    w = v;\n    v = x[i];\n  }\n  return w;\n}\n"
    )
    assert cli.main(["cc", str(file), "-g", "--nests"]) == 0
    lines = capfd.readouterr().out.replace(str(tmp_path) + "/", "").splitlines()
    assert lines[0] == "loops.c:3: loop in lanes [a]"
    assert [line.split(": ")[0] for line in lines] == ["loops.c:3", "loops.c:7", "loops.c:11", "loops.c:16", "loops.c:22"]
    assert "reads what the one before has left" in lines[1]
    assert "calls f" in lines[2]
    assert "ends by what it finds" in lines[3]
    assert "a value of its last iteration but one is used behind it" in lines[4]


@pytest.mark.parametrize(
    ("target", "stage"),
    [
        ("x86-64-v3", "counted"),
        ("x86-64-v3", "unroll"),
        ("aarch64-neon", "unroll"),
        pytest.param("x86-64-v4", "unroll", marks=pytest.mark.slow),
        pytest.param("x86-64-v3", "simplify", marks=pytest.mark.slow),
        pytest.param("aarch64-neon", "simplify", marks=pytest.mark.slow),
    ],
)
def test_interpreted_after_passes(target: str, stage: str, tmp_path: Path) -> None:
    """What the passes leave is what the loops mean, for machines that are not here too; views reach no further than what is accessed."""
    loops = [loop for loop in LOOPS if loop[4] and loop[0] != "bytes_around"]
    source = "".join([_source(name, parameters, kinds, body) for name, parameters, kinds, body, _ in loops])
    _reference(source, "saxpy", tmp_path)
    library = ctypes.CDLL(str(tmp_path / "it.so"))
    program = lw.from_llvm(_ir(source, "-O2")).compile(target=target)
    types = {"f": np.float32, "d": np.float64}
    for name, _, kinds, _, _ in loops:
        f = parse(program[name].ir(stage), "", registry.get(target))
        expected, theirs = _arguments(kinds, 40, 3)
        given, ours = _arguments(kinds, 40, 3)
        wanted = _call(getattr(library, name), expected, kinds)
        words = kinds.split(" >")[0].split()
        found = run(f, *[types[word](value) if word in types else value for word, value in zip(words, given, strict=True)], target=registry.get(target))
        if ">" in kinds:
            assert int(found) & 0xFFFFFFFF == wanted & 0xFFFFFFFF, name
        for a, b in zip(ours, theirs, strict=True):
            assert a.tobytes() == b.tobytes(), name
