/* Loops that count: up, down, by steps, to a bound that is met, in 16, 32 and 64 bits, and around the end of the numbers. */

#include <stdio.h>
#include <stdint.h>
#define APART __attribute__((noinline))
static int x[64]; static unsigned char text[64];
static APART unsigned upwards(unsigned from, unsigned to) { unsigned s = 1, i = from; do { s = s * 31 + i; } while (++i != to); return s; }
static APART unsigned by_three(unsigned from, unsigned to) { unsigned s = 1, i = from; do { s = (s ^ i) * 5; i += 3; } while (i != to); return s + i; }
static APART unsigned downwards(unsigned n) { unsigned s = 7; while (n) { s = s * 3 + n; n--; } return s; }
static APART long long signed_ones(int from, int to) { long long s = 0; for (int i = from; i < to; i += 7) s = s * 3 + i; return s; }
static APART int16_t narrow(int16_t from, int16_t to) { int16_t s = 0; for (int16_t i = from; i != to; i++) s = (int16_t)(s * 3 + i); return s; }
static APART void moved(long n) { long i = 0; do { x[i + 1] = x[i] + text[i]; } while (++i != n); }
static APART long last(long n) { long i = 0, kept = -1; do { kept = i * text[i & 63]; i += 2; } while (i != n); return kept + i; }
int main(void) {
    for (int i = 0; i < 64; i++) text[i] = (unsigned char)(i * 37);
    for (unsigned n = 1; n < 14; n++) {
        moved(n);
        printf("%u %u %u %lld %d %d %ld\n", upwards(0, n), by_three(5, 5 + 3 * n), downwards(n - 1), signed_ones(-20, (int)n * 5 - 30), narrow((int16_t)-n, (int16_t)(n / 2)), x[n], last(2 * n));
    }
    /* Around the end of the numbers. */
    printf("%u %u\n", upwards(0xfffffff0u, 9), by_three(0xffffffffu, 2 + 3 * 11));
    printf("%lld %lld\n", signed_ones(0x7ffffff0 - 100, 0x7ffffff0), signed_ones(5, -5));
    return 0;
}
