"""What C programs ask of a system, on the simulated processors: files, jumps out of functions, dates, sorting that keeps equal elements in order, the same random numbers."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pytest
from tests.programs.test_simulated import NAMES, native, run, target

import loopwright as lw
from loopwright import cli
from loopwright.cc import clang, simulated
from loopwright.errors import LoopwrightError
from loopwright.settings import Settings

pytestmark = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed (Debian package clang)")

PROGRAMS = {
    "files": r"""
#include <errno.h>
#include <stdio.h>
#include <string.h>
static void copy(const char *from, const char *to) {
    FILE *a = fopen(from, "rb"), *b = fopen(to, "wb");
    char block[700];
    size_t count;
    while ((count = fread(block, 1, sizeof block, a)) > 0) fwrite(block, 1, count, b);
    fclose(a);
    fclose(b);
}
int main(int argc, char **argv) {
    char line[100], name[300], other[300];
    snprintf(name, sizeof name, "%s/one", argv[1]);
    snprintf(other, sizeof other, "%s/two", argv[1]);
    FILE *f = fopen(name, "r");
    printf("%d %s\n", f == 0, strerror(errno));
    f = fopen(name, "w");
    for (int i = 0; i < 300; i++) fprintf(f, "line %d of %s\n", i, "some text");
    printf("%ld %d\n", ftell(f), fclose(f));
    f = fopen(name, "r");
    int n = 0, sum = 0, v;
    while (fgets(line, sizeof line, f))
        if (n++, sscanf(line, "line %d", &v) == 1) sum += v;
    printf("%d %d %d %d\n", n, sum, feof(f) != 0, ferror(f) != 0);
    rewind(f);
    int c = fgetc(f), at = (int)ftell(f);
    ungetc('X', f);
    c = c * 256 + fgetc(f);
    printf("%x %d %ld %d\n", c, at, ftell(f), feof(f) != 0);
    printf("%d ", fscanf(f, "%*s %d of %s", &v, line));
    printf("%d %s %ld\n", v, line, ftell(f));
    fseek(f, -5, SEEK_END);
    size_t got = fread(line, 1, 50, f);
    line[got] = 0;
    printf("%zu [%s] %d %d\n", got, line, fputc('a', f), ferror(f) != 0);
    fclose(f);
    f = fopen(name, "r+");
    fseek(f, 5, SEEK_SET);
    fputs("ZERO", f);
    fseek(f, 0, SEEK_CUR);
    printf("%d ", fgetc(f));
    fseek(f, 0, SEEK_SET);
    printf("%s", fgets(line, 100, f));
    fclose(f);
    f = fopen(name, "a+");
    fprintf(f, "end\n");
    fflush(f);
    copy(name, other);
    rewind(f);
    printf("%s", fgets(line, 8, f));
    fclose(f);
    f = fopen(other, "r");
    unsigned hash = 0;
    for (n = 0; (c = getc(f)) != EOF; n++) hash = hash * 31 + c;
    fclose(f);
    f = fopen(other, "wx");
    printf("%d %u %d\n", n, hash, f == 0);
    v = rename(other, name);
    printf("%d ", v);
    v = remove(name);
    printf("%d ", v);
    v = remove(name);
    printf("%d %d\n", v, errno == ENOENT);
    perror("gone");
    f = fopen(other, "w");
    fputs("left open", f);
    fflush(stdout);
    if (freopen(name, "w", stdout)) printf("%s by %d\n", "into a file", 7);
    return 3;
}
""",
    "jumps": r"""
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static jmp_buf outer, inner;
static int reached;
static void dive(int n) {
    char pad[50];
    reached = n;
    if (n == 7) longjmp(inner, 0);
    if (n > 20) longjmp(outer, n);
    memset(pad, n, sizeof pad);
    dive(n + 1);
    reached += pad[3];
}
static double kept(double x, int n) {
    volatile int tries = 0;
    int fixed = n * 3;
    double y = x * 2;
    char text[16];
    snprintf(text, sizeof text, "t%d", n);
    int r = setjmp(inner);
    tries++;
    if (r == 0) { dive(n); return -1; }
    if (tries < 3) dive(n);
    return y + fixed + tries * 100 + r * 1000 + text[1];
}
struct handler { jmp_buf place; struct handler *outer; const char *volatile what; };
static struct handler *current;
static void fail(const char *what) { current->what = what; longjmp(current->place, 1); }
static int divided(int a, int b) { if (!b) fail("division by zero"); return a / b; }
static int tried(int a, int b) {
    struct handler h;
    volatile int made = -1;
    int sizes[a & 7 | 1];
    h.outer = current;
    current = &h;
    for (int i = 0; i < (a & 7 | 1); i++) sizes[i] = i * a;
    if (!setjmp(h.place)) { made = divided(a, b); if (made > 100) fail("too large"); }
    else printf("caught %s, with %d\n", h.what, (int)made);
    current = h.outer;
    return made + sizes[(a & 7) / 2];
}
int main(void) {
    printf("%g\n", kept(1.5, 2));
    printf("%d\n", reached);
    volatile int state = 1;
    switch (setjmp(outer)) {
    case 0: state = 5; dive(9); break;
    case 21: printf("came back %d\n", state); break;
    default: printf("other\n");
    }
    for (int i = -3; i < 4; i++) printf("%d\n", tried(1000 + i, i));
    volatile int again = 0;
    sigjmp_buf loop;
    sigsetjmp(loop, 1);
    again++;
    if (again < 10000) siglongjmp(loop, 1);
    printf("%d\n", again);
    return 0;
}
""",
    "by address": r"""
#include <complex.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
static int total(int n, ...) { va_list l; va_start(l, n); int s = 0; while (n--) s = s * 3 + va_arg(l, int); va_end(l); return s; }
static int old(a, b) int a; int b; { return a * 10 + b; }
static double sum(const char *f, ...) { va_list l; va_start(l, f); double s = 0; for (; *f; f++) s += *f == 'd' ? va_arg(l, double) : va_arg(l, int); va_end(l); return s; }
static int (*const table[])(int, ...) = {total, total};
struct streams { int (*out)(const char *, ...); double (*sum)(const char *, ...); };
static double complex poly(double complex z, int n) { double complex r = 1; for (int i = 0; i < n; i++) r = r * z + (i - 2.5 * I); return r; }
int main(int argc, char **argv) {
    struct streams s = {printf, sum};
    int (*volatile p)(int, ...) = table[argc & 1], (*volatile q)() = old;
    s.out("%d %g %s\n", p(3, 1, 2, 3), s.sum("did", 1.5, 2, 0.25), "x");
    s.out("none\n");
    s.out("%d %d\n", q(4, 2), p(0));
    const char *texts[] = {"0x1f 010 99", "0 00 08", "-0X10,+7 012z", "x", "0xg 1", "12abc", "-", "09"};
    for (int i = 0; i < 8; i++) {
        int a = -1, b = -1, c = -1, n = -1, k = sscanf(texts[i], "%i%*[ ,]%i%i%n", &a, &b, &c, &n);
        printf("%d %d %d %d %d\n", k, a, b, c, n);
    }
    double complex z = 1.5 - 0.5 * I, w = poly(z, 5) / (z * z + 3), r = csqrt(-4 + 3 * I), e = cexp(0.5 + 2 * I), l = clog(-1 + 1e-3 * I);
    float complex f = 0.25f + 2 * I;
    f = f * f * conjf(f) / (1.0f - I);
    printf("%.11g %.11g %.11g %.11g %.6g %.6g\n", creal(w), cimag(w), cabs(w), carg(w), crealf(f), cimagf(f));
    printf("%.11g %.11g %.11g %.11g %.11g %.11g\n", creal(r), cimag(r), creal(e), cimag(e), creal(l), cimag(l));
    volatile double endless = INFINITY;
    double complex one = (endless + I * NAN) * (1 + 2 * I), two = (2 + 3 * I) / (endless + 0 * I);
    return printf("%d %g %g\n", isinf(creal(one)) || isinf(cimag(one)), creal(two), cimag(two));
}
""",
    "dates": r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>
int main(void) {
    long some[] = {0, 951782400, 977628345, -1, -86400L * 200, 1709251199, 4102444800, 1e11, 1230768000, 1483228799, -2203891200};
    char line[300];
    for (int i = 0; i < 11; i++) {
        time_t t = some[i];
        struct tm *b = gmtime(&t), copy = *b;
        strftime(line, sizeof line, "%Y-%m-%d %H:%M:%S %a %A %b %B %j %U %W %V %G %g %u %w %y %C %e %I %p %k %l %D %T %R %r %F %c %x %X %n%t%%", b);
        printf("%s|%s", line, asctime(b));
        copy.tm_mon += 14; copy.tm_mday -= 40; copy.tm_sec += 100000;
        printf("%ld %d %d %d\n", (long)timegm(&copy), copy.tm_year, copy.tm_yday, copy.tm_wday);
    }
    printf("%zu %g\n", strftime(line, 5, "%Y-%m", gmtime(&(time_t){5})), difftime(7, 4));
    return 0;
}
""",
    "numbers": r"""
#define _GNU_SOURCE
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
struct item { int key, place; };
static int by_key(const void *a, const void *b) { return ((const struct item *)a)->key - ((const struct item *)b)->key; }
static int by_more(const void *a, const void *b, void *more) { ++*(int *)more; return *(const char *)b - *(const char *)a; }
static void taken(int number) { printf("signal %d\n", number); }
int main(void) {
    struct item items[100];
    for (int i = 0; i < 100; i++) items[i] = (struct item){i * 37 % 10, i};
    qsort(items, 100, sizeof *items, by_key);
    for (int i = 0; i < 100; i++) printf("%d.%d ", items[i].key, items[i].place);
    char letters[] = "the quick brown fox"; int calls = 0;
    qsort_r(letters, strlen(letters), 1, by_more, &calls);
    printf("\n%s %d\n", letters, calls > 20);
    printf("%d %d ", rand(), rand());
    for (int seed = 0; seed < 4; seed++) { srand(seed * 12345); for (int i = 0; i < 40; i++) rand(); printf("%d %ld ", rand(), random()); }
    unsigned state = 5; srand48(7);
    printf("%d %d %.17g %ld %ld\n", rand_r(&state), rand_r(&state), drand48(), lrand48(), mrand48());
    div_t d = div(-17, 5); lldiv_t l = lldiv(1234567890123LL, -1000);
    printf("%d %d %lld %lld %d %d %jd\n", d.quot, d.rem, l.quot, l.rem, ffs(0), ffsll(1LL << 40), imaxabs(-5));
    double some[] = {0.5, 1.5, 2.5, -0.5, -2.5, 0.49999999999999994, 1e17, -7.7, 3.2, 1e-310, 0.0, -0.0, 4503599627370497.5};
    for (int i = 0; i < 13; i++) {
        double x = some[i]; int q, n;
        printf("%g %ld %ld %g %g %g %g %g %.17g %d ", round(x), lround(x), lrint(x), rint(x), trunc(x), fdim(x, 1), fmin(x, 1), remainder(x, 1.2), nextafter(x, 2), ilogb(x + 3));
        double r = remquo(x * 5, 1.2, &q), m = frexp(x, &n), whole;
        printf("%g %d %g %d %g %g %g %g\n", r, q & 7, m, n, modf(x, &whole), whole, logb(x + 2), copysign(3, x));
    }
    printf("%.12f %.12f %.12f %f\n", asinh(0.7), acosh(2.5), atanh(-0.3), roundf(2.5f) + fmaxf(1, NAN) + floorf(-1.5f));
    char text[] = "a=1;b=2;;c", *rest = text, *part, *made; size_t room = 0;
    while ((part = strsep(&rest, ";"))) printf("[%s]", part);
    printf("%s %d %s %s %d\n", strcasestr("Some Text", "TEX"), strncasecmp("ABCd", "abcE", 3), strndup("abcdef", 3), (char *)memmem("abcabd", 6, "abd", 3), (int)(strchrnul("abc", 'z') - "abc" > 0));
    printf("%d %s\n", asprintf(&made, "%s-%d", "made", 12), made);
    void *aligned = aligned_alloc(256, 100); free(malloc(10));
    printf("%d %s %s\n", (int)((unsigned long)aligned % 256), strerror(2), strerror(0));
    free(aligned);
    signal(SIGTERM, taken); raise(SIGTERM); signal(SIGTERM, SIG_IGN); raise(SIGTERM);
    char *line = 0; long size;
    while ((size = getline(&line, &room, stdin)) > 0) printf("%ld %s", size, line);
    fflush(stdout);
    quick_exit(7);
}
""",
}
GIVEN = b"a line\n" + b"x" * 500 + b"\n\nlast"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_as_the_c_library(program: str, name: str, tmp_path: Path) -> None:
    made: list[tuple[tuple[int, bytes, bytes], dict[str, bytes]]] = []
    given = GIVEN if program == "numbers" else b""
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        words = [str(folder)]
        result = native(tmp_path, words, given) if number else run(PROGRAMS[program], tmp_path, name, words, given)
        made.append((result, {path.name: path.read_bytes() for path in sorted(folder.iterdir())}))
    assert made[0] == made[1]
    if program == "files":
        assert made[0][1] == {"one": b"into a file by 7\n", "two": b"left open"}


def test_jumps_without_registers_for_calls(tmp_path: Path) -> None:
    """Where return addresses and arguments are in memory alone."""
    (tmp_path / "program.c").write_text(PROGRAMS["jumps"])
    read = clang.bitcode([tmp_path / "program.c"], clang.Options("2", preprocessor=["-w"]))
    program = simulated.build(read, "program.c", target("multiclet-s2"), Settings(passes=[lw.without("calls")]))
    status, simulator = simulated.run(program, ["program"], streams=simulated.Streams(io.BytesIO(), io.BytesIO(), io.BytesIO()))
    assert (status, bytes(simulator.output), bytes(simulator.errors)) == native(tmp_path, [])


CLOCK = r"""
#include <stdio.h>
#include <time.h>
int main(void) {
    clock_t begin = clock();
    volatile int sum = 0;
    for (int i = 0; i < 20000; i++) sum += i;
    clock_t end = clock();
    time_t now = time(0);
    printf("%ld %ld %s", (long)begin, (long)end, ctime(&now));
    return end > begin + 100 && end < CLOCKS_PER_SEC ? 0 : 1;
}
"""


def test_the_time_is_the_processor_s(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """It begins with the program, goes by cycles where those are counted, and is the same each time."""
    (tmp_path / "p.c").write_text(CLOCK)
    outputs: list[bytes] = []
    for words in ([], [], ["--cycles"]):
        assert cli.main(["cc", str(tmp_path / "p.c"), "--target", "multiclet-s1", *words, "--run"]) == 0
        outputs.append(capfdbinary.readouterr().out)
    assert outputs[0] == outputs[1] != outputs[2]
    assert all(output.endswith(b"Sat Jan  1 00:00:00 2000\n") for output in outputs)


def test_programs_that_are_not_given_streams_have_no_files_and_no_time(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(
        '#include <stdio.h>\n#include <time.h>\nint main(void) { return (fopen("/etc/passwd", "r") == 0) + 2 * (time(0) == -1) + 4 * (clock() == -1); }\n'
    )
    program = simulated.build(clang.bitcode([tmp_path / "p.c"], clang.Options()), "p.c", target("multiclet-s2"))
    assert simulated.run(program, ["p"])[0] == 7


def test_a_file_s_bytes_go_to_memory_of_the_program_s_alone(tmp_path: Path) -> None:
    source = r"""
    extern int __serve(int, int, int, int);
    int main(int n, char **words) {
        int opened = __serve(1, (int)(long)words[1], 1, 0);
        return -__serve(3, opened, 4096, 100) + (__serve(3, opened, 1 << 30, 1) == -14) + (__serve(3, 99, 0, 1) == -9) + (__serve(1, -5, 1, 0) == -14) + (__serve(77, 0, 0, 0) == -9);
    }
    """
    (tmp_path / "given").write_bytes(b"x" * 1000)
    assert run(source, tmp_path, "multiclet-s2", [str(tmp_path / "given")])[0] == 14 + 4


@pytest.mark.parametrize("name", ["vfork", "getcontext", "system", "popen", "wcslen", "pthread_create"])
def test_what_there_is_not_is_refused_by_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(LoopwrightError, match=name):
        run(f"extern int {name}();\nint main(int n, char **words) {{ return {name}(words) + n; }}", tmp_path, "multiclet-s2", [], level="1")
