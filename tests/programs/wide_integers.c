/* Integers of 128 bits: products, shifts by any count, comparisons; a sum that clang finds a formula for. */
#include <stdio.h>
typedef unsigned __int128 u128; typedef __int128 i128;
long sum(long n) { long s = 0; for (long i = 0; i < n; i++) s += i * 3 + 1; return s; }
unsigned long high(unsigned long a, unsigned long b) { return (u128)a * b >> 64; }
static u128 state = 0x9E3779B97F4A7C15ull;
unsigned long next(void) { state = state * 0xda942042e4dd58b5ull + 1; return state >> 64; }
static i128 work(i128 a, i128 b, int k) { i128 r = a + b * 3 - (a ^ b); r = r << (k & 127); r ^= b >> (k & 63); r += (u128)a >> (k & 127);
    return r < a ? r - 1 : r == b ? 7 : (a > b) - r; }
void show(u128 x) { printf("%016lx%016lx\n", (unsigned long)(x >> 64), (unsigned long)x); }
int main(void) {
    printf("%ld %ld %lx\n", sum(0), sum(1000003), high(~0ul, 0x123456789abcdefull));
    for (int i = 0; i < 5; i++) printf("%lx\n", next());
    for (int k = 0; k < 128; k += 9) { i128 a = (i128)next() << 64 | next(), b = (i128)(long)next() * (long)next(); show(work(a, b, k)); show(work(b,
        -a, k)); }
    show(state); return (int)((state & 7) == 9) * 0;
}
