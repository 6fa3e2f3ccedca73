/* Fast Fourier transforms of complex numbers as structs by value; convolution, and a transform over a finite field. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct { double re, im; } Complex;

static Complex plus(Complex a, Complex b) { return (Complex){a.re + b.re, a.im + b.im}; }
static Complex minus(Complex a, Complex b) { return (Complex){a.re - b.re, a.im - b.im}; }
static Complex times(Complex a, Complex b) { return (Complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

static void transform(Complex *x, int n, int sign) {
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            Complex t = x[i];
            x[i] = x[j];
            x[j] = t;
        }
    }
    for (int length = 2; length <= n; length <<= 1) {
        double angle = sign * 2 * 3.14159265358979323846 / length;
        Complex root = {cos(angle), sin(angle)};
        for (int i = 0; i < n; i += length) {
            Complex w = {1, 0};
            for (int k = 0; k < length / 2; k++) {
                Complex a = x[i + k], b = times(x[i + k + length / 2], w);
                x[i + k] = plus(a, b);
                x[i + k + length / 2] = minus(a, b);
                w = times(w, root);
            }
        }
    }
}

#define P 998244353u

static unsigned power(unsigned b, unsigned e) {
    unsigned long r = 1, x = b;
    for (; e; e >>= 1, x = x * x % P)
        if (e & 1)
            r = r * x % P;
    return r;
}

static void field(unsigned *x, int n, int back) {
    if (n == 1)
        return;
    unsigned *even = malloc(n * sizeof *even), *odd = even + n / 2;
    for (int i = 0; i < n / 2; i++)
        even[i] = x[2 * i], odd[i] = x[2 * i + 1];
    field(even, n / 2, back);
    field(odd, n / 2, back);
    unsigned root = power(3, (P - 1) / n), w = 1;
    if (back)
        root = power(root, P - 2);
    for (int i = 0; i < n / 2; i++) {
        unsigned t = (unsigned long)w * odd[i] % P;
        x[i] = (even[i] + t) % P;
        x[i + n / 2] = (even[i] + P - t) % P;
        w = (unsigned long)w * root % P;
    }
    free(even);
}

int main(void) {
    enum { N = 1024 };
    static Complex x[N];
    static unsigned a[N], b[N];
    for (int i = 0; i < N; i++)
        x[i] = (Complex){sin(i * 0.1) + 0.5 * cos(i * 0.37), i % 7 - 3.0};
    transform(x, N, -1);
    double energy = 0;
    int most = 0;
    for (int i = 0; i < N; i++) {
        energy += x[i].re * x[i].re + x[i].im * x[i].im;
        if (hypot(x[i].re, x[i].im) > hypot(x[most].re, x[most].im))
            most = i;
    }
    printf("%.6f %d\n", energy / N, most);
    transform(x, N, 1);
    double worst = 0;
    for (int i = 0; i < N; i++)
        worst = fmax(worst, fabs(x[i].re / N - (sin(i * 0.1) + 0.5 * cos(i * 0.37))));
    printf("%s\n", worst < 1e-12 ? "back again" : "lost");
    for (int i = 0; i < N / 2; i++)
        a[i] = i * i % 1000, b[i] = 3 * i % 777;
    field(a, N, 0);
    field(b, N, 0);
    for (int i = 0; i < N; i++)
        a[i] = (unsigned long)a[i] * b[i] % P;
    field(a, N, 1);
    unsigned long sum = 0, inverse = power(N, P - 2);
    for (int i = 0; i < N; i++)
        sum = sum * 31 + a[i] * inverse % P;
    printf("%lu\n", sum);
    return 0;
}
