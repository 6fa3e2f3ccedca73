"""``loopwright build``: objects of kernels, linked with and called from C and C++."""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from loopwright import cli
from loopwright.cc import clang
from loopwright.runtime import cpu

HERE = Path(__file__).parent

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="what is built here is run on x86-64")


def need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def ran(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


KERNELS = '''
import ctypes

import loopwright as lw

libm = ctypes.CDLL("libm.so.6")
libm.cbrt.argtypes = [ctypes.c_double]
libm.cbrt.restype = ctypes.c_double


@lw.kernel
def axpy(a: lw.f32, x: lw.Array[lw.f32], y: lw.Array[lw.f32]):
    """y += a * x, */ whatever that ends."""
    for i in lw.lanes(len(x)):
        y[i] += a * x[i]


@lw.kernel
def column_sums(image: lw.Array[lw.u8, 2], sums: lw.Array[lw.i64]):
    for i in lw.range(image.shape[0]):
        for j in lw.range(image.shape[1]):
            sums[j] += image[i, j]


@lw.kernel
def roots(register: lw.Array[lw.f64], largest: lw.i32) -> lw.bool_:
    n = lw.i64(0)
    for i in lw.range(len(register)):
        register[i] = lw.call(libm.cbrt, register[i])
        n += register[i] > 2.0
    return n > largest


@lw.kernel(check=True)
def element(x: lw.Array[lw.i16], i: lw.i64) -> lw.i16:
    return x[i]


@lw.kernel
def evaluate(x: lw.Array, y: lw.Array, coeffs: lw.Const):
    for i in lw.lanes(len(x)):
        t = x[i] * 0 + coeffs[-1]
        for c in reversed(coeffs[:-1]):
            t = t * x[i] + c
        y[i] = t


@lw.kernel
def _hidden(x: lw.i64) -> lw.i64:
    return x


m = lw.Module()


@m.function
def even(n: lw.i64) -> lw.bool_:
    if n == 0:
        return True
    return odd(n - 1)


@m.function
def odd(n: lw.i64) -> lw.bool_:
    if n == 0:
        return False
    return even(n - 1)


built = lw.Function("thrice", x=lw.i32, returns=lw.i32)
with built as f:
    f.ret(f.x * 3)
'''

MAIN = """
#include "kernels.h"
#include <stdio.h>
int main(void) {
#ifdef __x86_64__
    if (!loopwright_kernels_supported()) return 1;
#endif
    float x[37], y[37];
    for (int i = 0; i < 37; i++) { x[i] = i; y[i] = 1; }
    axpy(2, x, 37, y, 37);
    unsigned char image[3][8] = {{1, 2, 3}, {4, 5, 6}, {250, 250, 250}};
    int64_t sums[3] = {0, 0, 0}, errors[4] = {0, 0, 0, 0};
    column_sums(&image[0][0], 3, 3, 8, sums, 3);
    double cubes[3] = {8, 27, -1};
    bool more = roots(cubes, 3, 0), none = roots(cubes, 3, 2);
    int16_t elements[2] = {-7, 8};
    int16_t first = element(elements, 2, 0, errors);
    int64_t before = errors[0];
    element(elements, 2, 5, errors);
    printf("%g %g %g|%d %d %d|%g %d %d|%d %d %d %d %d|%d %d %d\\n", y[0], y[17], y[36], (int)sums[0], (int)sums[1], (int)sums[2], cubes[2], more, none,
           first, (int)before, (int)errors[0], (int)errors[1], (int)errors[2], even(1000), odd(6), thrice(-14));
    return 0;
}
"""
PRINTED = "1 35 73|255 257 259|-1 1 0|-7 0 1 5 2|1 0 -42\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("kernels.py").write_text(KERNELS)
    return tmp_path


@pytest.mark.parametrize("compiler", ["gcc -std=c99", "clang", "g++ -x c++", "gcc -no-pie", "gcc -static", "clang++ -x c++"])
def test_called_from_c_and_cpp(compiler: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = compiler.split()
    need(words[0])
    assert cli.main(["build", "kernels.py", "-o", "kernels.o", "--header", "kernels.h"]) == 0
    said = capfd.readouterr().err
    assert "left out evaluate: evaluate() needs the type of `x`" in said and "_hidden" not in said
    Path("main.c").write_text(MAIN)
    # (The language holds for what comes behind it.)
    ran(*words, "-Wall", "-Wextra", "-Werror", "-pedantic", "-c", "main.c", "-o", "main.o")
    ran(words[0], *(word for word in words[1:] if word in ("-no-pie", "-static")), "main.o", "kernels.o", "-lm", "-o", "main")
    assert ran("./main") == PRINTED


@pytest.mark.parametrize(
    ("target", "triple", "emulator"), [("aarch64-neon", "aarch64-linux-gnu", "qemu-aarch64"), ("rv64gc", "riscv64-linux-gnu", "qemu-riscv64")]
)
def test_called_from_c_on_other_machines(target: str, triple: str, emulator: str, folder: Path) -> None:
    need("clang", emulator)
    if not clang.has_headers(triple):
        pytest.skip(f"the C library of {triple} is not installed (Debian package {clang.package(triple)})")
    assert cli.main(["build", "kernels.py", "-o", "kernels.o", "--header", "kernels.h", "--target", target]) == 0
    Path("main.c").write_text(MAIN)
    ran("clang", f"--target={triple}", "-static", "main.c", "kernels.o", "-lm", "-o", "main")
    assert ran(emulator, "./main") == PRINTED


def test_the_header_says_what_arguments_are(folder: Path) -> None:
    assert cli.main(["build", "kernels.py", "--header", "kernels.h"]) == 0
    header = Path("kernels.h").read_text()
    # One array may be both: all accesses are at one index.
    assert "void axpy(float a, const float *x, int64_t x_n0, float *y, int64_t y_n0);" in header
    assert "void column_sums(const uint8_t *image, int64_t image_n0, int64_t image_n1, int64_t image_s0, int64_t *sums, int64_t sums_n0);" in header
    assert "bool roots(double *register_, int64_t register_n0, int32_t largest);" in header
    assert "int16_t element(const int16_t *x, int64_t x_n0, int64_t i, int64_t *errors);" in header
    assert f"1: line {KERNELS.splitlines().index('    return x[i]') + 1}: x, dimension 0: return x[i]" in header
    assert Path("kernels.o").exists()


def test_a_program_can_ask_whether_the_cpu_will_do(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("gcc")
    assert cli.main(["build", "kernels.py", "--header", "kernels.h", "--target", "x86-64-v4"]) == 0
    Path("asks.c").write_text('#include "kernels.h"\nint main(void) { return loopwright_kernels_supported() ? 7 : 8; }\n')
    ran("gcc", "asks.c", "kernels.o", "-lm", "-o", "asks")
    expected = 7 if cpu.LEVELS["x86-64-v4"] <= cpu.host_features() else 8
    assert subprocess.run(["./asks"], check=False).returncode == expected


def test_restrict_stands_where_overlaps_would_change_results(folder: Path) -> None:
    Path("kernels.py").write_text(
        "import loopwright as lw\n@lw.kernel\ndef moved(x: lw.Array[lw.f32], y: lw.Array[lw.f32]):\n    for i in lw.lanes(len(y)):\n        y[i] = x[i + 1]\n"
        "@lw.kernel\ndef in_order(x: lw.Array[lw.f32], y: lw.Array[lw.f32]):\n    for i in lw.range(len(y)):\n        y[i] = x[i + 1]\n"
    )
    assert cli.main(["build", "kernels.py", "--header", "kernels.h"]) == 0
    header = Path("kernels.h").read_text()
    assert "void moved(const float *x, int64_t x_n0, float *__restrict y, int64_t y_n0);" in header
    assert "void in_order(const float *x, int64_t x_n0, float *y, int64_t y_n0);" in header


def test_signatures_from_the_command_line_and_a_shared_library(folder: Path) -> None:
    need("gcc")
    asked = ["-s", "evaluate: f32[] f32[] 'coeffs=(1.0, 2.0, 3.0)'", "-s", "evaluate_f64 = evaluate: f64[] f64[] '(1.0, -1.0)'", "-s", "odd"]
    assert cli.main(["build", "kernels.py", "-o", "some.o", "--header", "some.h", *asked]) == 0
    assert "axpy" not in Path("some.h").read_text()
    ran("gcc", "-shared", "some.o", "-o", "libsome.so")
    library = ctypes.CDLL(str(folder / "libsome.so"))
    for name, dtype, expected in (("evaluate", np.float32, [1, 6, 17, 34]), ("evaluate_f64", np.float64, [1, 0, -1, -2])):
        x, y = np.arange(4, dtype=dtype), np.zeros(4, dtype)
        getattr(library, name)(x.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(4), y.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(4))
        assert y.tolist() == expected
    library.odd.restype = ctypes.c_bool
    assert library.odd(ctypes.c_int64(7))
    # What it calls is there, and no one else's business.
    assert not hasattr(library, "even")


WRONG = [
    ("", [], "has no kernels whose types are known"),
    ("@lw.kernel\ndef f(x: lw.Array): pass\n", [], "x` to be compiled"),
    ("@lw.kernel\ndef f(x: lw.i64): pass\n", ["-s", "g"], "no kernel 'g'; it has f"),
    ("@lw.kernel\ndef f(x: lw.i64): pass\n", ["-s", "f: i64 i64"], "takes 1 arguments"),
    ("@lw.kernel\ndef f(x: lw.i64): pass\n", ["-s", "f: 'i64"], "No closing quotation"),
    ("@lw.kernel\ndef f(x: lw.i64): pass\n", ["-s", "f", "-s", "f"], "two functions f"),
    ("@lw.kernel\ndef double(x: lw.i64): pass\n", [], "C cannot call a function double"),
    ("@lw.kernel\ndef f(x: lw.i64): pass\n", ["--target", "multiclet-s2"], "no object files are written for multiclet-s2"),
    ("@lw.kernel\ndef f(x: lw.i64): pass\n", ["-o", "nowhere/f.o"], "nowhere/f.o cannot be written"),
    (
        "import ctypes\nback = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda x: x)\n@lw.kernel\ndef f(x: lw.i64):\n    lw.call(back, x)\n",
        [],
        "a function of this Python process",
    ),
    ("f = lw.parse('function f(%x: f32x8)\\n  ret\\nend\\n')\n", ["--header", "f.h"], "a parameter of type f32x8"),
]


@pytest.mark.parametrize(("source", "options", "message"), WRONG, ids=[message for _, _, message in WRONG])
def test_errors(source: str, options: list[str], message: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("wrong.py").write_text(f"import loopwright as lw\n{source}")
    assert cli.main(["build", "wrong.py", *options]) == 1
    assert message in capfd.readouterr().err
    assert not Path("wrong.o").exists()


def test_objects_of_other_machines_are_what_their_tools_read(folder: Path) -> None:
    need("riscv64-linux-gnu-objdump", "riscv64-linux-gnu-readelf")
    assert cli.main(["build", "kernels.py", "--target", "rv64gc", "-s", "even", "-s", "roots"]) == 0
    assert "RVC, double-float ABI" in ran("riscv64-linux-gnu-readelf", "-h", "kernels.o")
    shown = ran("riscv64-linux-gnu-objdump", "-dr", "kernels.o")
    assert "R_RISCV_CALL_PLT\todd" in shown and "R_RISCV_CALL_PLT\tcbrt" in shown
