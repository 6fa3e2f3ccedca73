/* Functions with a variable number of arguments: numbers, strings, structs by value; lists of arguments that are copied, and passed to the C library. */
#include <stdarg.h>
#include <stdio.h>
struct big { long a, b, c; };
struct two { double x; long y; };
static long sum(int n, ...) { va_list l; va_start(l, n); long s = 0; for (int i = 0; i < n; i++) s = s * 3 + (i & 1 ? va_arg(l, long) : va_arg(l,
    int)); va_end(l); return s; }
static double mixed(const char *f, ...) { va_list l, k; va_start(l, f); va_copy(k, l); double s = 0; for (; *f; f++) switch (*f) {
    case 'd': s += va_arg(l, double); break; case 'i': s += va_arg(l, int); break; case 's': s += va_arg(l, const char *)[0]; break; case 'b': {
    struct big b = va_arg(l, struct big); s += b.a + b.c; break; } case 't': { struct two t = va_arg(l, struct two); s += t.x * t.y; break;
    } } s += va_arg(k, int); va_end(l); va_end(k); return s; }
static struct two result(int n, ...) { va_list l; va_start(l, n); struct two t = {va_arg(l, double), n}; va_end(l); return t; }
static int say(const char *format, ...) { char text[100]; va_list l; va_start(l, format); int n = vsnprintf(text, sizeof text, format, l); va_end(l);
    printf("[%s]\n", text); return n; }
int main(void) {
    struct big b = {1, 2, 3}; struct two t = {1.5, 4};
    printf("%ld %ld %ld\n", sum(0), sum(1, -7), sum(9, 1, 2L, 3, 4L, 5, 1L << 40, -7, 8L, 9));
    printf("%g\n", mixed("iddsibt", 5, 1.5, 2.25, "A", 7, b, t));
    printf("%g\n", result(3, 2.5).x);
    return say("%d %s %5.2f %c %ld %p", 42, "text", 3.14159, 'x', 1234567890123L, (void *)0);
}
