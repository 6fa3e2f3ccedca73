/* Integers of any size, in digits of 32 bits: products (Karatsuba's too), quotients, powers, roots, decimal text; digits of pi. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { int n; uint32_t d[512]; } big;

static void trim(big *a) { while (a->n && !a->d[a->n - 1]) a->n--; }
static big from(uint64_t v) { big a = {2, {(uint32_t)v, (uint32_t)(v >> 32)}}; trim(&a); return a; }

static int compare(const big *a, const big *b) {
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    for (int i = a->n - 1; i >= 0; i--) if (a->d[i] != b->d[i]) return a->d[i] < b->d[i] ? -1 : 1;
    return 0;
}

static big add(const big *a, const big *b) {
    big r = {0};
    uint64_t carry = 0;
    for (int i = 0; i < a->n || i < b->n || carry; i++) {
        carry += (uint64_t)(i < a->n ? a->d[i] : 0) + (i < b->n ? b->d[i] : 0);
        r.d[r.n++] = carry;
        carry >>= 32;
    }
    return r;
}

static big subtract(const big *a, const big *b) {
    big r = {0};
    int64_t borrow = 0;
    for (int i = 0; i < a->n; i++) {
        borrow += (int64_t)a->d[i] - (i < b->n ? b->d[i] : 0);
        r.d[r.n++] = borrow;
        borrow >>= 32;
    }
    trim(&r);
    return r;
}

static big multiply(const big *a, const big *b) {
    big r = {0};
    for (int i = 0; i < a->n; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < b->n || carry; j++) {
            carry += r.d[i + j] + (j < b->n ? (uint64_t)a->d[i] * b->d[j] : 0);
            r.d[i + j] = carry;
            carry >>= 32;
        }
    }
    r.n = a->n + b->n;
    trim(&r);
    return r;
}

static big part(const big *a, int low, int high) {
    big r = {0};
    for (int i = low; i < high && i < a->n; i++) r.d[r.n++] = a->d[i];
    trim(&r);
    return r;
}

static big shifted(const big *a, int digits) {
    big r = {0};
    r.n = a->n ? a->n + digits : 0;
    memcpy(r.d + digits, a->d, a->n * sizeof *a->d);
    return r;
}

static big karatsuba(const big *a, const big *b) {
    if (a->n < 8 || b->n < 8) return multiply(a, b);
    int half = (a->n > b->n ? a->n : b->n) / 2;
    big a0 = part(a, 0, half), a1 = part(a, half, a->n), b0 = part(b, 0, half), b1 = part(b, half, b->n);
    big low = karatsuba(&a0, &b0), high = karatsuba(&a1, &b1), as = add(&a0, &a1), bs = add(&b0, &b1), middle = karatsuba(&as, &bs);
    middle = subtract(&middle, &low);
    middle = subtract(&middle, &high);
    middle = shifted(&middle, half);
    high = shifted(&high, 2 * half);
    low = add(&low, &middle);
    return add(&low, &high);
}

static uint32_t divide_small(big *a, uint32_t by) {
    uint64_t rest = 0;
    for (int i = a->n - 1; i >= 0; i--) {
        rest = rest << 32 | a->d[i];
        a->d[i] = rest / by;
        rest %= by;
    }
    trim(a);
    return rest;
}

static big divide(const big *a, const big *b, big *rest) {
    big q = {0}, r = {0};
    for (int i = 32 * a->n - 1; i >= 0; i--) {
        r = add(&r, &r);
        if (a->d[i / 32] >> i % 32 & 1) { if (!r.n) r.n = 1; r.d[0] |= 1; }
        if (compare(&r, b) >= 0) { r = subtract(&r, b); q.d[i / 32] |= 1u << i % 32; }
    }
    q.n = a->n;
    trim(&q);
    if (rest) *rest = r;
    return q;
}

static void print(const char *name, big a) {
    char text[5200], *p = text + sizeof text;
    *--p = 0;
    do { uint32_t r = divide_small(&a, 1000000000); for (int i = 0; i < 9 && (a.n || r || p[0] == 0); i++, r /= 10) *--p = '0' + r % 10; } while (a.n);
    while (*p == '0' && p[1]) p++;
    size_t length = strlen(p);
    if (length > 60) printf("%s = %.30s...%s (%zu digits)\n", name, p, p + length - 20, length);
    else printf("%s = %s\n", name, p);
}

static void pi(int digits) {
    int size = digits * 10 / 3 + 1, *a = malloc(size * sizeof *a), nines = 0, held = 0, printed = 0;
    for (int i = 0; i < size; i++) a[i] = 2;
    for (int k = 0; k <= digits; k++) {
        int carry = 0;
        for (int i = size - 1; i > 0; i--) {
            int x = 10 * a[i] + carry * (i + 1);
            a[i] = x % (2 * i + 1);
            carry = x / (2 * i + 1);
        }
        int x = 10 * a[0] + carry;
        a[0] = x % 10;
        x /= 10;
        if (x == 9) { nines++; continue; }
        if (k) printed += printf("%d", held + x / 10);
        for (; nines; nines--) printed += printf("%d", x == 10 ? 0 : 9);
        held = x % 10;
    }
    printf(" (%d)\n", printed);
    free(a);
}

int main(void) {
    big f = from(1), a = from(0), b = from(1), p = from(1), seven = from(7), q, r;
    for (int i = 2; i <= 400; i++) { big k = from(i); f = multiply(&f, &k); }
    print("400!", f);
    for (int i = 0; i < 2000; i++) { big c = add(&a, &b); a = b; b = c; }
    print("fibonacci 2000", a);
    for (int i = 0; i < 300; i++) p = karatsuba(&p, &seven);
    print("7^300", p);
    big square = karatsuba(&f, &f), other = multiply(&f, &f);
    printf("squares agree: %d\n", compare(&square, &other) == 0);
    q = divide(&f, &p, &r);
    print("quotient", q);
    print("rest", r);
    big back = multiply(&q, &p);
    back = add(&back, &r);
    printf("and back: %d\n", compare(&back, &f) == 0);
    pi(60);
    return 0;
}
