/* Sorts: by comparison functions passed as pointers, and by digits; each is checked against the others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*order)(const void *, const void *);
typedef void (*sorter)(void *, size_t, size_t, order);

static unsigned seed = 12345;
static unsigned next(void) { return seed = seed * 1664525u + 1013904223u; }

static int by_int(const void *a, const void *b) { int x = *(const int *)a, y = *(const int *)b; return (x > y) - (x < y); }
static int down(const void *a, const void *b) { return by_int(b, a); }
static int by_double(const void *a, const void *b) { double x = *(const double *)a, y = *(const double *)b; return (x > y) - (x < y); }
static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void swap(char *a, char *b, size_t size) {
    while (size--) { char t = *a; *a++ = *b; *b++ = t; }
}

static void quick(void *base, size_t n, size_t size, order cmp) {
    char *p = base;
    while (n > 1) {
        long i = 0, j = (long)n - 1;
        char pivot[64];
        memcpy(pivot, p + n / 2 * size, size);
        while (i <= j) {
            while (cmp(p + i * size, pivot) < 0) i++;
            while (cmp(pivot, p + j * size) < 0) j--;
            if (i <= j) swap(p + i++ * size, p + j-- * size, size);
        }
        if (j < (long)n - i) { quick(p, j + 1, size, cmp); p += i * size; n -= i; }
        else { quick(p + i * size, n - i, size, cmp); n = j + 1; }
    }
}

static void sift(char *p, size_t at, size_t n, size_t size, order cmp) {
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && cmp(p + child * size, p + (child + 1) * size) < 0) child++;
        if (cmp(p + at * size, p + child * size) >= 0) return;
        swap(p + at * size, p + child * size, size);
    }
}

static void heap(void *base, size_t n, size_t size, order cmp) {
    for (size_t i = n / 2; i-- > 0;) sift(base, i, n, size, cmp);
    for (size_t i = n; i-- > 1;) { swap(base, (char *)base + i * size, size); sift(base, 0, i, size, cmp); }
}

static void merge(void *base, size_t n, size_t size, order cmp) {
    if (n < 2) return;
    char *p = base, *all = malloc(n * size), *to = all;
    size_t half = n / 2, i = 0, j = half;
    merge(p, half, size, cmp);
    merge(p + half * size, n - half, size, cmp);
    while (i < half && j < n) {
        size_t *from = cmp(p + j * size, p + i * size) < 0 ? &j : &i;
        memcpy(to, p + (*from)++ * size, size);
        to += size;
    }
    memcpy(to, p + i * size, (half - i) * size);
    memcpy(to + (half - i) * size, p + j * size, (n - j) * size);
    memcpy(p, all, n * size);
    free(all);
}

static void shell(void *base, size_t n, size_t size, order cmp) {
    char *p = base, held[64];
    for (size_t gap = n / 2; gap; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (size_t i = gap; i < n; i++) {
            size_t j = i;
            memcpy(held, p + i * size, size);
            for (; j >= gap && cmp(p + (j - gap) * size, held) > 0; j -= gap) memcpy(p + j * size, p + (j - gap) * size, size);
            memcpy(p + j * size, held, size);
        }
}

static void radix(int *a, size_t n) {
    unsigned *from = (unsigned *)a, *to = malloc(n * sizeof *to), *spare = to;
    for (int shift = 0; shift < 32; shift += 8) {
        size_t count[257] = {0};
        for (size_t i = 0; i < n; i++) count[((from[i] ^ 0x80000000u) >> shift & 255) + 1]++;
        for (int d = 0; d < 256; d++) count[d + 1] += count[d];
        for (size_t i = 0; i < n; i++) to[count[(from[i] ^ 0x80000000u) >> shift & 255]++] = from[i];
        unsigned *t = from; from = to; to = t;
    }
    free(spare);
}

static const struct { const char *name; sorter sort; } sorts[] = {{"quick", quick}, {"heap", heap}, {"merge", merge}, {"shell", shell}, {"library", qsort}};

int main(void) {
    static int a[5000], b[5000];
    static double x[1000];
    static char words[300][12], *names[300];
    for (unsigned s = 0; s < sizeof sorts / sizeof *sorts; s++) {
        unsigned long sum = 0;
        seed = 12345;
        for (int i = 0; i < 5000; i++) a[i] = b[i] = (int)next() >> (i % 3 * 9);
        sorts[s].sort(a, 5000, sizeof *a, s & 1 ? down : by_int);
        radix(b, 5000);
        for (int i = 0; i < 5000; i++) {
            if (a[i] != b[s & 1 ? 4999 - i : i]) printf("%s: wrong at %d\n", sorts[s].name, i);
            sum = sum * 31 + (unsigned)a[i];
        }
        for (int i = 0; i < 1000; i++) x[i] = (int)next() / 65536.0 / (i % 7 + 1);
        sorts[s].sort(x, 1000, sizeof *x, by_double);
        for (int i = 1; i < 1000; i++) if (x[i - 1] > x[i]) printf("%s: doubles wrong\n", sorts[s].name);
        for (int i = 0; i < 300; i++) {
            int length = 1 + next() % 10;
            for (int k = 0; k < length; k++) words[i][k] = 'a' + (next() >> 24) % 26;
            words[i][length] = 0;
            names[i] = words[i];
        }
        sorts[s].sort(names, 300, sizeof *names, by_name);
        printf("%-8s %016lx %.5f %.5f %s %s %s\n", sorts[s].name, sum, x[0], x[999], names[0], names[150], names[299]);
    }
    return 0;
}
