/* Linear equations: LU with pivots in double, the same in float, exact fractions as structs by value; least squares; eigenvalues by Jacobi's method. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct { long p, q; } Fraction;

static long gcd(long a, long b) {
    while (b) {
        long t = a % b;
        a = b;
        b = t;
    }
    return a < 0 ? -a : a;
}

static Fraction fraction(long p, long q) {
    long g = gcd(p, q);
    if (q < 0)
        g = -g;
    return (Fraction){p / g, q / g};
}

static Fraction subtracted(Fraction a, Fraction b) { return fraction(a.p * b.q - b.p * a.q, a.q * b.q); }
static Fraction multiplied(Fraction a, Fraction b) { return fraction(a.p * b.p, a.q * b.q); }
static Fraction divided(Fraction a, Fraction b) { return fraction(a.p * b.q, a.q * b.p); }

static Fraction determinant(int n, Fraction m[n][n]) {
    Fraction d = {1, 1};
    for (int k = 0; k < n; k++) {
        int pivot = k;
        while (pivot < n && !m[pivot][k].p)
            pivot++;
        if (pivot == n)
            return (Fraction){0, 1};
        if (pivot != k)
            for (int j = 0; j < n; j++) {
                Fraction t = m[k][j];
                m[k][j] = m[pivot][j];
                m[pivot][j] = t;
            }
        d = multiplied(d, m[k][k]);
        if (pivot != k)
            d.p = -d.p;
        for (int i = k + 1; i < n; i++) {
            Fraction f = divided(m[i][k], m[k][k]);
            for (int j = k; j < n; j++)
                m[i][j] = subtracted(m[i][j], multiplied(f, m[k][j]));
        }
    }
    return d;
}

#define SOLVER(name, real, magnitude)                                  \
    static real name(int n, real *a, real *b) {                        \
        real product = 1;                                              \
        for (int k = 0; k < n; k++) {                                  \
            int pivot = k;                                             \
            for (int i = k + 1; i < n; i++)                            \
                if (magnitude(a[i * n + k]) > magnitude(a[pivot * n + k])) \
                    pivot = i;                                         \
            for (int j = 0; pivot != k && j < n; j++) {                \
                real t = a[k * n + j];                                 \
                a[k * n + j] = a[pivot * n + j];                       \
                a[pivot * n + j] = t;                                  \
            }                                                          \
            real t = b[k];                                             \
            b[k] = b[pivot];                                           \
            b[pivot] = t;                                              \
            product *= a[k * n + k];                                   \
            for (int i = k + 1; i < n; i++) {                          \
                real f = a[i * n + k] / a[k * n + k];                  \
                for (int j = k; j < n; j++)                            \
                    a[i * n + j] -= f * a[k * n + j];                  \
                b[i] -= f * b[k];                                      \
            }                                                          \
        }                                                              \
        for (int k = n - 1; k >= 0; k--) {                             \
            for (int j = k + 1; j < n; j++)                            \
                b[k] -= a[k * n + j] * b[j];                           \
            b[k] /= a[k * n + k];                                      \
        }                                                              \
        return product;                                                \
    }
SOLVER(solve, double, fabs)
SOLVER(solve_float, float, fabsf)

static void jacobi(int n, double a[n][n]) {
    for (int sweep = 0; sweep < 30; sweep++)
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) {
                if (fabs(a[p][q]) < 1e-14)
                    continue;
                double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
                double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < n; k++) {
                    double x = a[k][p], y = a[k][q];
                    a[k][p] = c * x - s * y;
                    a[k][q] = s * x + c * y;
                }
                for (int k = 0; k < n; k++) {
                    double x = a[p][k], y = a[q][k];
                    a[p][k] = c * x - s * y;
                    a[q][k] = s * x + c * y;
                }
            }
}

int main(void) {
    enum { N = 24 };
    double *a = malloc(N * N * sizeof *a), *b = malloc(N * sizeof *b);
    float fa[8 * 8], fb[8];
    for (int i = 0; i < N; i++) {
        b[i] = 0;
        for (int j = 0; j < N; j++) {
            a[i * N + j] = (i * 37 + j * 101) % 23 - 11 + (i == j) * 40;
            b[i] += a[i * N + j] * (j + 1);
        }
    }
    printf("%.9e\n", solve(N, a, b));
    double worst = 0;
    for (int i = 0; i < N; i++)
        worst = fmax(worst, fabs(b[i] - (i + 1)));
    printf("%d\n", worst < 1e-10);
    for (int i = 0; i < 8; i++) {
        fb[i] = i;
        for (int j = 0; j < 8; j++)
            fa[i * 8 + j] = 1.0f / (i + j + 1) + (i == j);
    }
    printf("%.5g", solve_float(8, fa, fb));
    for (int i = 0; i < 8; i++)
        printf(" %.4f", fb[i]);
    Fraction m[5][5];
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++)
            m[i][j] = fraction(1 + (i * 3 + j * j) % 7, i + j + 1);
    Fraction d = determinant(5, m);
    printf("\n%ld/%ld\n", d.p, d.q);
    double s[6][6];
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            s[i][j] = i == j ? i + 1 : 1.0 / (1 + i + j);
    jacobi(6, s);
    for (int i = 0; i < 6; i++)
        printf("%.8f ", s[i][i]);
    puts("");
    free(a);
    free(b);
    return 0;
}
