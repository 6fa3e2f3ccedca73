"""Structs by value between functions of loopwright's and of another compiler's: arguments, results, callbacks and arguments whose number varies, on every machine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from loopwright import cli

#: What each struct holds: of every class that an ABI knows, of sizes around its limits.
STRUCTS = {
    "ff": "float x, y;",
    "fff": "float x, y, z;",
    "ffff": "float a, b, c, d;",
    "dd": "double a, b;",
    "ddd": "double a, b, c;",
    "one": "double d;",
    "ll": "long a, b;",
    "ld": "long a; double b;",
    "dl": "double a; long b;",
    "fi": "float f; int i;",
    "iii": "int a, b, c;",
    "ccc": "char c[3];",
    "c13": "char c[13];",
    "c21": "char c[21];",
    "big": "long a[4];",
    "nest": "struct ff p; struct ccc q;",
}
HEADER = "\n".join(
    [
        "#include <stdarg.h>\ntypedef __int128 wide;\nint printf(const char *, ...);\nint puts(const char *);",
        *(f"struct {name} {{ {fields} }};" for name, fields in STRUCTS.items()),
        *(
            f"struct {s} {side}_{s}(struct {s} a, int k);\n"
            f"long {side}_many_{s}(int a, int b, int c, int d, int e, struct {s} f, double g, struct {s} h, long i, struct {s} j);\n"
            f"long {side}_variable_{s}(int n, ...);\n"
            f"struct {s} {side}_call_{s}(struct {s} (*f)(struct {s}, int), struct {s} a);"
            for side in ("ours", "theirs")
            for s in STRUCTS
        ),
        "wide ours_wide(wide a, int k, wide b); wide theirs_wide(wide a, int k, wide b);",
        "static inline unsigned long sum(const void *p, int n) { const unsigned char *c = p; unsigned long s = 17; while (n--) s = s * 31 + *c++; return s; }\n",
    ]
)
#: What there is of C's library where there is none for the machine: printf of %lu, %ld, %lx and %s.
LIBRARY = r"""
static long call(long number, long x, long y, long z) {
#ifdef __aarch64__
  register long n __asm__("x8") = number; register long a __asm__("x0") = x; register long b __asm__("x1") = y; register long c __asm__("x2") = z;
  __asm__ volatile("svc 0" : "+r"(a) : "r"(n), "r"(b), "r"(c) : "memory"); return a;
#else
  register long n __asm__("a7") = number; register long a __asm__("a0") = x; register long b __asm__("a1") = y; register long c __asm__("a2") = z;
  __asm__ volatile("ecall" : "+r"(a) : "r"(n), "r"(b), "r"(c) : "memory"); return a;
#endif
}
void *memcpy(void *to, const void *from, unsigned long n) { char *p = to; const char *q = from; while (n--) *p++ = *q++; return to; }
void *memset(void *to, int c, unsigned long n) { char *p = to; while (n--) *p++ = c; return to; }
static void out(const char *s, long n) { call(64, 1, (long)s, n); }
int puts(const char *s) { long n = 0; while (s[n]) n++; out(s, n); out("\n", 1); return 0; }
int putchar(int c) { char x = c; out(&x, 1); return c; }
int printf(const char *f, ...) {
  __builtin_va_list l; __builtin_va_start(l, f);
  for (; *f; f++) {
    if (*f != '%') { out(f, 1); continue; }
    while (*++f == 'l');
    unsigned long v = __builtin_va_arg(l, unsigned long), base = *f == 'x' ? 16 : 10;
    char b[40]; int n = 40, minus = *f == 'd' && (long)v < 0;
    if (minus) v = -v;
    do b[--n] = "0123456789abcdef"[v % base]; while (v /= base);
    if (minus) b[--n] = '-';
    out(b + n, 40 - n);
  }
  __builtin_va_end(l);
  return 0;
}
int main(void);
void start(void) { call(93, main(), 0, 0); }
#ifdef __riscv
__asm__(".globl _start\n_start: .option push\n.option norelax\nla gp, __global_pointer$\n.option pop\ncall start\n");
#else
__asm__(".globl _start\n_start: bl start\n");
#endif
"""
MACHINES = {
    "x86-64": ("x86_64-linux-gnu", []),
    "aarch64-neon": ("aarch64-linux-gnu", []),
    "rv64gc": ("riscv64-linux-gnu", ["-march=rv64gc", "-mabi=lp64d", "-mno-relax"]),
}

pytestmark = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed (Debian package clang)")


def source(side: str, other: str) -> str:
    """A file whose functions take, change and return each struct, also among arguments whose number varies, and a test that calls those of the other file."""
    lines = [HEADER]
    for s in STRUCTS:
        lines += [
            f"struct {s} {side}_{s}(struct {s} a, int k) {{ unsigned char *p = (void *)&a; for (int i = 0; i < (int)sizeof a; i++) p[i] ^= k + i; return a; }}",
            f"long {side}_many_{s}(int a, int b, int c, int d, int e, struct {s} f, double g, struct {s} h, long i, struct {s} j) {{",
            "  return a + 2*b + 3*c + 4*d + 5*e + sum(&f, sizeof f) + (long)g * 7 + sum(&h, sizeof h) * 3 + i * 11 + sum(&j, sizeof j) * 5; }",
            f"struct {s} {side}_call_{s}(struct {s} (*f)(struct {s}, int), struct {s} a) {{ return f(f(a, 3), 5); }}",
            f"long {side}_variable_{s}(int n, ...) {{ va_list l; va_start(l, n); unsigned long r = 0; while (n--) {{ struct {s} q = va_arg(l, struct {s});",
            "  r = r * 3 + sum(&q, sizeof q); r += va_arg(l, int); r += (long)va_arg(l, double); } va_end(l); return r; }",
        ]
    lines.append(f"wide {side}_wide(wide a, int k, wide b) {{ return a * b + k; }}\nvoid {side}_test(void) {{")
    for s in STRUCTS:
        lines += [
            f"  {{ struct {s} a, b; unsigned char *p = (void *)&a; for (int i = 0; i < (int)sizeof a; i++) p[i] = i * 3 + 1; b = {other}_{s}(a, 9);",
            f"    struct {s} c = {other}_call_{s}({side}_{s}, b), d = {side}_call_{s}({other}_{s}, c);",
            f'    printf("%lu %lu %lu %ld %ld", sum(&b, sizeof b), sum(&c, sizeof c), sum(&d, sizeof d), {other}_many_{s}(1, 2, 3, 4, 5, a, 6.0, b, 7, c),',
            f'      {other}_variable_{s}(3, a, 1, 2.0, b, 3, 4.0, c, 5, 6.0)); puts(" {s}"); }}',
        ]
    lines.append(f'  wide q = {other}_wide(((wide)5 << 70) + 3, 4, -7); printf("%lx %lx", (long)q, (long)(q >> 64)); puts(""); }}')
    if side == "theirs":
        lines.append("void ours_test(void); int main(void) { ours_test(); theirs_test(); return 0; }")
    return "\n".join(lines)


def _run(*words: str | Path) -> str:
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("level", ["0", "2"])
@pytest.mark.parametrize("machine", MACHINES)
def test_structs_by_value(machine: str, level: str, tmp_path: Path) -> None:
    triple, options = MACHINES[machine]
    here = machine == "x86-64"
    emulator = "" if here else f"qemu-{triple.partition('-')[0]}"
    linker = [shutil.which("cc")] if here else [shutil.which(f"{triple}-ld"), "-static"]
    if linker[0] is None or (emulator and shutil.which(emulator) is None):
        pytest.skip(f"there is no linker or emulator for {machine}")
    compiler = ["clang", f"--target={triple}", *options, "-w", "-ffreestanding", "-fno-builtin", "-fno-pic", "-fno-vectorize", "-fno-slp-vectorize", "-c"]
    for side, other in (("ours", "theirs"), ("theirs", "ours")):
        (tmp_path / f"{side}.c").write_text(source(side, other))
    _run(*compiler, "-O1", tmp_path / "theirs.c", "-o", tmp_path / "theirs.o")
    _run(*compiler, "-O1", tmp_path / "ours.c", "-o", tmp_path / "reference.o")
    _run(*compiler, f"-O{level}", "-emit-llvm", tmp_path / "ours.c", "-o", tmp_path / "ours.bc")
    more = [tmp_path / "theirs.o"]
    if not here:
        (tmp_path / "library.c").write_text(LIBRARY)
        _run(*compiler, "-O1", tmp_path / "library.c", "-o", tmp_path / "library.o")
        more.append(tmp_path / "library.o")
    assert cli.main(["cc", str(tmp_path / "ours.bc"), "-c", "-o", str(tmp_path / "ours.o"), *([] if here else ["--target", machine])]) == 0
    printed = []
    for ours in ("reference", "ours"):
        _run(*linker, *(["-no-pie"] if here else []), *more, tmp_path / f"{ours}.o", "-o", tmp_path / ours)
        printed.append(_run(*([emulator] if emulator else []), tmp_path / ours))
    assert printed[0].count("\n") == 2 * (len(STRUCTS) + 1)
    assert printed[1] == printed[0]
