/* Numbers: a sieve, factors, Möbius' and Euler's functions, Miller and Rabin's test, the sums of two squares, perfect numbers. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N 200000
static unsigned char composite[N + 1];
static int phi[N + 1], mu[N + 1], primes[20000], count;

static void sieve(void) {
    phi[1] = mu[1] = 1;
    for (int i = 2; i <= N; i++) {
        if (!composite[i]) { primes[count++] = i; phi[i] = i - 1; mu[i] = -1; }
        for (int k = 0; k < count && (long)i * primes[k] <= N; k++) {
            int p = primes[k], n = i * p;
            composite[n] = 1;
            if (i % p == 0) { phi[n] = phi[i] * p; mu[n] = 0; break; }
            phi[n] = phi[i] * (p - 1);
            mu[n] = -mu[i];
        }
    }
}

static uint64_t power(uint64_t a, uint64_t e, uint64_t m) {
    uint64_t r = 1;
    for (a %= m; e; e >>= 1, a = a * a % m) if (e & 1) r = r * a % m;
    return r;
}

static int is_prime(uint32_t n) {
    static const int bases[] = {2, 7, 61};
    if (n < 2 || n % 2 == 0) return n == 2;
    uint32_t d = n - 1;
    int s = 0;
    while (d % 2 == 0) d /= 2, s++;
    for (int k = 0; k < 3; k++) {
        if (bases[k] % n == 0) continue;
        uint64_t x = power(bases[k], d, n);
        if (x == 1 || x == n - 1) continue;
        int i;
        for (i = 1; i < s; i++) if ((x = x * x % n) == n - 1) break;
        if (i == s) return 0;
    }
    return 1;
}

static void factors(unsigned long n) {
    printf("%lu =", n);
    const char *between = " ";
    for (unsigned long p = 2; p * p <= n; p += 1 + (p > 2)) {
        int e = 0;
        while (n % p == 0) n /= p, e++;
        if (e) { printf("%s%lu", between, p); if (e > 1) printf("^%d", e); between = " * "; }
    }
    if (n > 1) printf("%s%lu", between, n);
    puts("");
}

int main(int argc, char **argv) {
    long phis = 0, mertens = 0, squares = 0;
    sieve();
    for (int i = 1; i <= N; i++) phis += phi[i], mertens += mu[i];
    printf("%d primes, the last %d; sum of phi %ld, Mertens %ld\n", count, primes[count - 1], phis, mertens);
    for (int i = 0; i < 1000; i++) for (int j = i; j < 1000; j++) { int n = i * i + j * j; if (n <= N && n > 1 && !composite[n]) squares++; }
    printf("%ld primes are the sum of two squares\n", squares);
    for (uint32_t n = 4294967295u, found = 0; found < 5; n--) if (is_prime(n)) { printf("%u ", n); found++; }
    puts("");
    for (int n = 2; n <= 10000; n++) { int sum = 1; for (int d = 2; d * d <= n; d++) if (n % d == 0) sum += d + (d * d != n ? n / d : 0);
        if (sum == n) printf("%d is perfect\n", n); }
    for (int i = 1; i < argc; i++) factors(strtoul(argv[i], 0, 10));
    factors(600851475143); factors(18446744073709551557u >> 20); factors(1ul << 40);
    return 0;
}
