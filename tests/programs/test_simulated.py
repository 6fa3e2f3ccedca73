"""C programs on the Multiclet processors: with the run-time library, on the simulator; their output is that of this machine's C library."""

from __future__ import annotations

import io
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.programs import test_structs

from loopwright import cli
from loopwright.cc import clang, simulated
from loopwright.errors import LoopwrightError, SimulationError
from loopwright.settings import Settings
from loopwright.targets import registry
from loopwright.targets.multiclet.parameters import S2
from loopwright.targets.multiclet.target import Multiclet

HERE = Path(__file__).parent
NAMES = ("multiclet-r1", "multiclet-s1", "multiclet-s2")
ARGUMENTS = ["abc", "The quick brown fox", "97"]
STATUS = {"interpreter": 3, "variadic": 35}
#: Those that take seconds; the others are left to the long runs.
SHORT = ("small/before_main", "small/vector_arguments", "cases", "loops", "variable_length", "variadic", "wide_integers", "hashes")
#: Of those the ones that take less than a minute.
MIDDLING = ("json", "text_search", "fft")

pytestmark = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed (Debian package clang)")


def target(name: str) -> Multiclet:
    made = registry.get(name, None)
    assert isinstance(made, Multiclet)
    return made


def run(source: str, folder: Path, name: str, words: list[str], given: bytes = b"", level: str = "2") -> tuple[int, bytes, bytes]:
    """Status, output, and errors of a program."""
    file = folder / "program.c"
    file.write_text(source)
    program = simulated.build(clang.bitcode([file], clang.Options(level, preprocessor=["-w"])), str(file), target(name))
    streams = simulated.Streams(io.BytesIO(given), io.BytesIO(), io.BytesIO())
    status, simulator = simulated.run(program, ["program", *words], streams=streams)
    return status, bytes(simulator.output), bytes(simulator.errors)


def native(folder: Path, words: list[str], given: bytes = b"") -> tuple[int, bytes, bytes]:
    """The same of the program as clang compiles it for this machine."""
    subprocess.run(["clang", "-w", "-O0", str(folder / "program.c"), "-o", str(folder / "native"), "-lm"], check=True)
    done = subprocess.run(["program", *words], executable=str(folder / "native"), input=given, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("program", [HERE / f"{name}.c" for name in SHORT], ids=lambda path: path.stem)
def test_output(program: Path, name: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert cli.main(["cc", str(program), "--target", name, "--run", *ARGUMENTS]) == STATUS.get(program.stem, 0)
    assert capfdbinary.readouterr().out == program.with_suffix(".expected").read_bytes()


@pytest.mark.parametrize("numbers", [["cells=8", "fetch=8"], ["cells=1", "float_units=1", "memory_ports=1", "depth=20"]], ids=" ".join)
def test_output_on_a_processor_with_other_numbers(numbers: list[str], capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    sets = [word for each in numbers for word in ("--set", each)]
    program = HERE / "loops.c"
    assert cli.main(["cc", str(program), "--target", "multiclet-s2", *sets, "--cycles", "--run", *ARGUMENTS]) == 0
    made = capfdbinary.readouterr()
    assert made.out == program.with_suffix(".expected").read_bytes()
    assert made.err.decode().startswith(f"multiclet-s2 with {', '.join(numbers)}: ")


DETERMINANTS = r"""
#include <math.h>
#include <stdio.h>
#include <string.h>
static double determinant(int n, double m[n][n]) {
    double d = 1, a[n][n];
    memcpy(a, m, sizeof a);
    for (int k = 0; k < n; k++) {
        int p = k;
        for (int i = k + 1; i < n; i++) if (fabs(a[i][k]) > fabs(a[p][k])) p = i;
        if (a[p][k] == 0) return 0;
        if (p != k) { double row[n]; memcpy(row, a[k], sizeof row); memcpy(a[k], a[p], sizeof row); memcpy(a[p], row, sizeof row); d = -d; }
        d *= a[k][k];
        for (int i = k + 1; i < n; i++) { double f = a[i][k] / a[k][k]; for (int j = k; j < n; j++) a[i][j] -= f * a[k][j]; }
    }
    return d;
}
int main(void) {
    for (int n = 1; n < 7; n++) {
        double m[n][n];
        for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) m[i][j] = 1.0 / (i + j + 1) + (i == j ? 0.5 : 0);
        printf("%.12e\n", determinant(n, m));
    }
    return 0;
}
"""


@pytest.mark.parametrize("cells", [1, 2])
def test_output_where_the_switch_is_short(cells: int, tmp_path: Path) -> None:
    """A paragraph is ordered again, with all its operands as they were, where places that others follow would lie far back."""
    (tmp_path / "program.c").write_text(DETERMINANTS)
    processor = S2.with_parameters(cells=cells, fetch=cells, depth=15, buffer=40 // cells, float_units=1, memory_ports=1)
    read = clang.bitcode([tmp_path / "program.c"], clang.Options(preprocessor=["-w", "-ffp-contract=off"]))
    program = simulated.build(read, "program.c", Multiclet(processor, program=True), Settings(prove=True))
    status, simulator = simulated.run(program, ["program"])
    assert (status, bytes(simulator.output), b"") == native(tmp_path, [])


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("program", [path for path in sorted(HERE.glob("*.c")) if path.stem not in SHORT], ids=lambda path: path.stem)
def test_output_of_long_ones(program: Path, name: str, request: pytest.FixtureRequest, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    if (program.stem not in MIDDLING or name != "multiclet-s2") and not request.config.getoption("--exhaustive"):
        pytest.skip("it may take minutes: --exhaustive")
    assert cli.main(["cc", str(program), "--target", name, "--run", *ARGUMENTS]) == STATUS.get(program.stem, 0)
    assert capfdbinary.readouterr().out == program.with_suffix(".expected").read_bytes()


PROGRAMS = {
    "numbers in base 16": r"""
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    double some[] = {0, -0.0, 1, 1.5, -2.75, 0.1, 1e300, 1e-300, 5e-324, 2.2250738585072014e-308, DBL_MAX, INFINITY, NAN, 3.999, 1.9999999, 65535.5, 1e-310};
    const char *texts[] = {"0x1.8p3", "0x10", "0x.8p1z", "0x", "0xg", "0x.p1", "-0x1.fffffffffffff8p0", "0x1.fffffffffffff7p0", "0x1p-1074", "0x1p-1075", "0x1.8p-1075", "0x1p1024",
                           "0x1.fffffffffffffp1023", "0x1.fffffffffffff8p1023", "0x1p99999", "0x1p-99999", "0x0p99999", "0x0000000000000000000000000000000000000000000000000001p4",
                           "0x1000000000000080000000000000000000000000000000000000001", "0x10000000000000800000000000000000000000000000000000000", "0x1p", "0X1P+", "1e5", "1e", "1e+",
                           "12.5e3x", "0x3.7p-1070", "0x1.000000000000080000000000000000000000000000000000000001p0"};
    for (int i = 0; i < 17; i++)
        printf("%a|%A|%.0a|%.3a|%25.13a|%-20.1a|%#.0a|%+a|% a|%020a|%.20a\n", some[i], some[i], some[i], some[i], some[i], some[i], some[i], some[i], some[i], some[i], some[i]);
    for (int i = 0; i < 28; i++) {
        char *end;
        errno = 0;
        double x = strtod(texts[i], &end);
        printf("%s %a %d %d\n", texts[i], x, (int)(end - texts[i]), x - x != 0 ? errno : 0);
    }
    double a = 0, b = 0;
    float f = 0;
    int i = 0, j = 0, k = 0;
    unsigned u = 0;
    int n = sscanf("0x1.8p1 -0x.4p-2,1e5 0x1e+5 0x1F 017 0xff", "%lf %lf,%f %i+%d %i %i %x", &a, &b, &f, &i, &j, &k, &i, &u);
    printf("%d %g %g %g %d %d %d %u\n", n, a, b, f, i, j, k, u);
    return 0;
}
""",
    "arguments by number": r"""
#include <stdio.h>
int main(void) {
    char text[40];
    printf("%a %d %s\n", 1.5, 42, "after a number in base 16");
    printf("%2$s %1$d\n", 5, "x");
    printf("%1$d %2$s %1$d %3$5.1f|%4$*5$d|%6$.*7$s|\n", 5, "x", 2.25, 7, -4, "abcdef", 3);
    printf("%5$s%4$s%3$s%2$s%1$s%6$c%7$lx%8$e\n", "a", "b", "c", "d", "e", 'f', -1L, 1e10);
    printf("%'d %'.2f %s\n", 12345, 1e7, "behind");
    int n = snprintf(text, sizeof text, "%2$d-%1$d", 1, 2);
    printf("%s %d %f%% %i|%5c|%%|%d\n", text, n, (double)1.0f, 5, 'a', 3);
    return 0;
}
""",
    "printf": r"""
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
    char text[40];
    printf("%d|%5d|%-5d|%05d|%+d|% d|%.3d|%5.3d|%-8.3d|%d\n", 42, 42, 42, 42, 42, 42, 4, 4, 4, -2147483647 - 1);
    printf("%u|%x|%X|%#x|%o|%#o|%08lx|%hhd|%hu|%lld|%zu\n", 4000000000u, 255, 255, 255, 8, 8, 0xabcdefUL, 300, 70000, -9000000000LL, sizeof text);
    printf("%s|%10s|%-10s|%.2s|%c|%%|%p\n", "ab", "ab", "ab", "abcdef", 'x', (void *)0);
    printf("%*d|%-*d|%.*f\n", 6, 7, 6, 7, 2, 3.14159);
    double some[] = {0.0, -0.0, 1.0, 0.1, 0.5, 1.5, 2.5, 123456789.125, 1e22, 1e23, 5e-324, 1.7976931348623157e308, 2.2250738585072014e-308, 9.995, 99999.95, 0.000123456, -3.75};
    for (unsigned i = 0; i < sizeof some / sizeof *some; i++)
        printf("%f|%.0f|%.2f|%e|%.0e|%.15e|%g|%.3g|%G|%#g|%12.4f|%-12.1e|%+.3f|%010.2f\n", some[i], some[i], some[i], some[i], some[i], some[i], some[i], some[i], some[i],
               some[i], some[i], some[i], some[i], some[i]);
    printf("%.20f %.17g %.30g\n", 0.1, 0.1, 1.0 / 3);
    double zero = argc - 1.0;
    printf("%f %e %g %F %5.1f|%-8f|\n", 1 / zero, -1 / zero, zero / zero > 0 ? 1.0 : 2.0, 1 / zero, 1 / zero, 1 / zero);
    int count = snprintf(text, sizeof text, "%s-%d", "a long text that does not fit in its forty bytes", 7);
    printf("%d %s %lu\n", count, text, (unsigned long)strlen(text));
    puts("end");
    return fprintf(stderr, "%s\n", "to the other stream");
}
""",
    "strings": r"""
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int order(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
static void done(void) { puts("done"); }
int main(int argc, char **argv) {
    char a[64] = "one two  three,four", *kept[8], b[64];
    int n = 0;
    atexit(done);
    printf("%s %s %lu %lu %s\n", strchr(a, 't'), strrchr(a, 't'), strspn(a, "one "), strcspn(a, "t"), strstr(a, "th"));
    for (char *word = strtok(a, " ,"); word; word = strtok(0, " ,")) kept[n++] = strdup(word);
    qsort(kept, n, sizeof *kept, order);
    for (int i = 0; i < n; i++) printf("%s%c", kept[i], i + 1 < n ? ' ' : '\n');
    strncpy(b, "abc", 6); strcat(b, "def"); strncat(b, "ghijk", 2);
    printf("%s %d %d %d\n", b, strncmp(b, "abx", 2), strcmp("a", "b") < 0, memcmp("abcd", "abce", 4) < 0);
    for (int at = 0; at < 9; at++) for (int size = 0; size < 20; size += 3) {
        char c[80], d[80];
        for (int i = 0; i < 80; i++) c[i] = d[i] = (char)i;
        memmove(c + at, c + 5, size); memcpy(d + at, d + 40, size); memset(d + 40 + at, at + 1, size);
        unsigned sum = 0;
        for (int i = 0; i < 80; i++) sum = sum * 31 + c[i] * 7 + d[i];
        printf("%x ", sum);
    }
    char *end;
    printf("\n%ld %ld %lu %d", strtol("  -123xyz", &end, 10), strtol("0x7f", 0, 0), strtoul("777", 0, 8), atoi("+55"));
    printf("%s %ld %ld\n", end, strtol("99999999999999999999", 0, 10), strtol("-99999999999999999999", 0, 10));
    const char *floats[] = {"1", "-2.5e3", "1e400", "4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "1.7976931348623157e308", "1.7976931348623159e308",
        "0.1", "123456789012345678901234567890", "9007199254740993", "9007199254740993.0000000000000000000000001", "2.2250738585072011e-308", ".5x", "inf", "-nan", "e5",
        "8.5e-320", "1.00000000000000011102230246251565404236316680908203125", "1.00000000000000011102230246251565404236316680908203124", "6.02214076e23"};
    for (unsigned i = 0; i < sizeof floats / sizeof *floats; i++) {
        double x = strtod(floats[i], &end);
        if (x == x) printf("%.17g %s|", x, end);
    }
    for (int c = 0; c < 128; c++) printf("%d", !!isalpha(c) + 2 * !!isspace(c) + 3 * !!ispunct(c) + !!isxdigit(c) * 4 + (toupper(c) != c) * 5 + !!iscntrl(c));
    int *grown = 0;
    for (int i = 1; i < 200; i++) { grown = realloc(grown, i * sizeof *grown); grown[i - 1] = i * i; if (i % 7 == 0) free(malloc(i * 3)); }
    printf("\n%d %d %d\n", grown[0], grown[99], grown[198]);
    free(grown);
    int *zeros = calloc(100, 4), sum = 0;
    for (int i = 0; i < 100; i++) sum += zeros[i];
    void *volatile huge = malloc((size_t)1 << 45);
    printf("%d %s\n", sum, huge ? "all" : "none");
    exit(argc + 40);
}
""",
    "memory": r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#pragma pack(push, 1)
struct packed { char c; int i; double d; short s; int64_t q; float f; void *p; };
#pragma pack(pop)
struct pair { long a, b; };
struct fields { unsigned char first; volatile signed across : 14; signed char last; };
static struct fields given = {137, -58, -1};
struct large { int values[9]; };
static struct packed made[5];
static int (*const functions[])(const char *) = {puts, (int (*)(const char *))strlen};
static int first = 3, second = 4, many[4] = {1, 2, 3, 4};
static int *const either[] = {&first, &second, many + 2};
static int __attribute__((noinline)) by_name_and_by_address(int which) {
    first += 10; many[2] = first;
    *either[which] = 70;
    second = first * 2 + many[2] + second; many[3] = *either[which] + many[1];
    return first + second * 3 + many[2] * 5 + many[3] * 7;
}
static struct pair twice(struct pair p) { struct pair r = {2 * p.b, 2 * p.a}; return r; }
static long sum(struct large l) { long s = 0; for (int i = 0; i < 9; i++) s += l.values[i] * i; l.values[0] = 99; return s; }
int main(int argc, char **argv) {
    for (int i = 0; i < 5; i++) {
        struct packed *p = &made[i];
        p->c = (char)i; p->i = i * 1000003; p->d = i / 3.0; p->s = (short)(i * 9999); p->q = (int64_t)i << 40 | 5; p->f = i * 0.25f; p->p = argv[0];
    }
    for (int i = 0; i < 5; i++) printf("%d %d %g %d %lld %g %s\n", made[i].c, made[i].i, made[i].d, made[i].s, (long long)made[i].q, made[i].f, (char *)made[i].p);
    struct packed copy = made[3];
    unsigned char bytes[sizeof copy];
    memcpy(bytes, &copy, sizeof copy - 8);
    uint32_t word; memcpy(&word, bytes + 1, 4);
    printf("%u %zu\n", word, sizeof copy);
    struct pair p = twice((struct pair){argc, 7});
    struct large l; for (int i = 0; i < 9; i++) l.values[i] = i + argc;
    printf("%ld %ld %ld %d\n", p.a, p.b, sum(l), l.values[0]);
    printf("%d %d %d\n", by_name_and_by_address(argc - 1), by_name_and_by_address(argc), by_name_and_by_address(argc + 1));
    given.across += 1000 + argc; given.last -= 2;
    printf("%d %d %d\n", given.first, given.across, given.last);
    functions[0]("by address");
    return functions[argc]("seven..");
}
""",
    "arguments": r"""
#include <stdarg.h>
#include <stdio.h>
#pragma pack(push, 1)
struct packed { char c; int i; double d; short s; long q[3]; };
#pragma pack(pop)
struct aligned { _Alignas(16) long a; char b; long more[2]; };
struct small { float x; char c; short s; };
__attribute__((noinline)) static struct packed change(struct packed a, int k) { a.i += k; a.d *= 2; a.q[2] ^= k; return a; }
__attribute__((noinline)) static struct aligned add(struct aligned a, struct small s) { a.a += s.s; a.b ^= s.c; return a; }
__attribute__((noinline)) static struct small of(struct small s, struct aligned a) { s.x += a.a; s.s -= a.b; return s; }
__attribute__((noinline)) static double sum(int n, ...) {
    double r = 0;
    va_list l;
    va_start(l, n);
    while (n--) {
        r += va_arg(l, int);
        struct aligned a = va_arg(l, struct aligned);
        r = r * 3 + a.a + a.b;
        struct small s = va_arg(l, struct small);
        struct packed p = va_arg(l, struct packed);
        r = r * 5 + s.x * s.s + p.i + p.d + p.q[2];
    }
    va_end(l);
    return r;
}
__attribute__((noinline)) static long wide(int n, ...) { va_list l; va_start(l, n); __int128 a = va_arg(l, __int128); int i = va_arg(l, int); long b = va_arg(l, long); va_end(l); return (long)(a >> 61) + i * b; }
int main(int argc, char **argv) {
    struct packed made[2] = {{1, 2, 3.5, 4, {5, 6, 7}}, {9, 8, 7.25, 6, {5, 4, 3}}};
    struct aligned a = {argc + 10, 3};
    struct small s = {1.5f, 4, 5};
    struct packed (*volatile called)(struct packed, int) = change;
    struct packed r = called(made[1], argc + 2);
    a = add(a, s);
    s = of(s, a);
    printf("%d %g %ld %d %ld %d %g %d %d\n", r.i, r.d, r.q[2], made[1].i, a.a, a.b, s.x, s.c, s.s);
    printf("%g %ld\n", sum(3, 3, a, s, r, 4, a, s, made[0], 5, a, s, made[1]), wide(1, (__int128)77 << 70, argc + 1, 9L));
    return 0;
}
""",
    "input": r"""
#include <stdio.h>
int main(void) {
    int c, lines = 0; char line[16];
    if (fgets(line, sizeof line, stdin)) printf("[%s]", line);
    int a = -1; double x = 0; float f = 0; unsigned u = 0; char word[9] = "", set[20] = ""; long long l = 0; char one = 0;
    int n = sscanf("  12 -3.5e2 ffQ abc,,xyz -99999999999 0.25!", "%d %lf%x%c %[a-c],,%3s %lld%f", &a, &x, &u, &one, set, word, &l, &f);
    printf("%d %d %g %x %c %s %s %lld %g\n", n, a, x, u, one, set, word, l, f);
    printf("%d %d %d", sscanf("", "%d", &a), sscanf("x", "%d", &a), sscanf("7,8", "%*d,%d", &a));
    printf(" %d %d\n", a, scanf(" long%n", &n));
    while ((c = getchar()) != EOF) { if (c == '\n') lines++; putchar(c == 'a' ? 'A' : c); }
    return lines;
}
""",
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_as_the_c_library(program: str, name: str, tmp_path: Path) -> None:
    """printf's forms, floats to and from digits at their limits, strings, memory by any alignment, functions by address, input."""
    given = b"first line that is long\nbanana\nlast" if program == "input" else b""
    found = run(PROGRAMS[program], tmp_path, name, [], given)
    assert found == native(tmp_path, [], given)


@pytest.mark.parametrize("level", ["0", "2"])
def test_structs_by_value(level: str, tmp_path: Path) -> None:
    """Structs of all sizes go by memory, also by address and in arguments whose number varies."""
    files = [tmp_path / "ours.c", tmp_path / "theirs.c"]
    for file, (side, other) in zip(files, (("ours", "theirs"), ("theirs", "ours")), strict=True):
        file.write_text(test_structs.source(side, other))
    subprocess.run(["clang", "-w", "-O0", *map(str, files), "-o", str(tmp_path / "native")], check=True)
    wanted = subprocess.run([str(tmp_path / "native")], capture_output=True, check=True).stdout
    read = clang.bitcode(files, clang.Options(level, preprocessor=["-w", "-fno-inline"]))
    status, simulator = simulated.run(simulated.build(read, "structs", target("multiclet-s2")), ["structs"])
    assert (status, bytes(simulator.output)) == (0, wanted)
    assert wanted.count(b"\n") == 2 * (len(test_structs.STRUCTS) + 1)


def test_own_functions_go_before_the_library_s(tmp_path: Path) -> None:
    source = '#include <stdio.h>\nint puts(const char *s) { return printf("<%s>", s); }\nint number(void) { return 5; }\nint main(void) { puts("a"); return number(); }\n'
    assert run(source, tmp_path, "multiclet-s2", [], level="0") == (5, b"<a>", b"")


def test_cycles_are_counted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.c").write_text("int main(int n, char **words) { int s = 0; for (int i = 0; i < 100; i++) s ^= i * n; return s & 7; }\n")
    for name in NAMES:
        cli.main(["cc", str(tmp_path / "p.c"), "--target", name, "--cycles", "--run"])
        error = capfd.readouterr().err
        assert error.startswith(f"{name}: ") and int(error.split()[-2]) > 100, error


WRONG = [
    ("int main(void) { return system(0); }", LoopwrightError, "asks for system, which neither it nor the run-time library"),
    ("int f(void) { return 0; }", LoopwrightError, "no function main"),
    ("int main(int n, char **w) { int *p = (int *)(long)(n * 8); return *p; }", SimulationError, "nobody's"),
    ("int main(int n, char **w) { int *p = (int *)((char *)w + 2); return *p; }", SimulationError, "no multiple of 4"),
]


@pytest.mark.parametrize(("source", "error", "message"), WRONG, ids=[message for _, _, message in WRONG])
def test_errors(source: str, error: type[Exception], message: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=message):
        run(source, tmp_path, "multiclet-s2", [])


def test_cycles_of_other_machines_are_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.c").write_text("int main(void) { return 0; }\n")
    assert cli.main(["cc", str(tmp_path / "p.c"), "--cycles", "--run"]) == 1
    assert "simulated processor" in capfd.readouterr().err
