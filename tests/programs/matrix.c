/* Matrices of doubles and floats: products, LU with pivots, inverses, eigenvalues by Jacobi's rotations, least squares. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct { int rows, columns; double *at; } matrix;
typedef struct { double value; int row; } pivot;

static matrix make(int rows, int columns) { matrix m = {rows, columns, calloc((size_t)rows * columns, sizeof(double))}; return m; }
#define AT(m, i, j) ((m).at[(i) * (m).columns + (j)])

static matrix product(matrix a, matrix b) {
    matrix c = make(a.rows, b.columns);
    for (int i = 0; i < a.rows; i++) for (int k = 0; k < a.columns; k++) for (int j = 0; j < b.columns; j++) AT(c, i, j) += AT(a, i, k) * AT(b, k, j);
    return c;
}

static matrix transposed(matrix a) {
    matrix t = make(a.columns, a.rows);
    for (int i = 0; i < a.rows; i++) for (int j = 0; j < a.columns; j++) AT(t, j, i) = AT(a, i, j);
    return t;
}

static pivot largest(matrix a, int column) {
    pivot p = {0, column};
    for (int i = column; i < a.rows; i++) if (fabs(AT(a, i, column)) > fabs(p.value)) p = (pivot){AT(a, i, column), i};
    return p;
}

static double solve(matrix a, matrix b) {
    double determinant = 1;
    for (int k = 0; k < a.rows; k++) {
        pivot p = largest(a, k);
        if (p.value == 0) return 0;
        if (p.row != k) {
            determinant = -determinant;
            for (int j = 0; j < a.columns; j++) { double t = AT(a, k, j); AT(a, k, j) = AT(a, p.row, j); AT(a, p.row, j) = t; }
            for (int j = 0; j < b.columns; j++) { double t = AT(b, k, j); AT(b, k, j) = AT(b, p.row, j); AT(b, p.row, j) = t; }
        }
        determinant *= p.value;
        for (int i = 0; i < a.rows; i++) {
            if (i == k) continue;
            double f = AT(a, i, k) / p.value;
            for (int j = k; j < a.columns; j++) AT(a, i, j) -= f * AT(a, k, j);
            for (int j = 0; j < b.columns; j++) AT(b, i, j) -= f * AT(b, k, j);
        }
    }
    for (int i = 0; i < a.rows; i++) for (int j = 0; j < b.columns; j++) AT(b, i, j) /= AT(a, i, i);
    return determinant;
}

static int jacobi(matrix a) {
    int rotations = 0;
    for (int sweep = 0; sweep < 50; sweep++) {
        double off = 0;
        for (int i = 0; i < a.rows; i++) for (int j = 0; j < i; j++) off += AT(a, i, j) * AT(a, i, j);
        if (off < 1e-18) break;
        for (int p = 0; p < a.rows; p++) for (int q = p + 1; q < a.rows; q++) {
            if (fabs(AT(a, p, q)) < 1e-12) continue;
            double theta = (AT(a, q, q) - AT(a, p, p)) / (2 * AT(a, p, q)), t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
            double c = 1 / sqrt(t * t + 1), s = t * c;
            for (int k = 0; k < a.rows; k++) { double x = AT(a, k, p), y = AT(a, k, q); AT(a, k, p) = c * x - s * y; AT(a, k, q) = s * x + c * y; }
            for (int k = 0; k < a.rows; k++) { double x = AT(a, p, k), y = AT(a, q, k); AT(a, p, k) = c * x - s * y; AT(a, q, k) = s * x + c * y; }
            rotations++;
        }
    }
    return rotations;
}

static void show(const char *name, matrix m) {
    printf("%s\n", name);
    for (int i = 0; i < m.rows && i < 5; i++) { for (int j = 0; j < m.columns && j < 6; j++) printf(" %10.5f", AT(m, i, j) + 0.0); puts(""); }
}

static float single(int n) {
    float a[16][16], s = 0;
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i][j] = 1.0f / (i + j + 1);
    for (int k = 0; k < n; k++) for (int i = k + 1; i < n; i++) { float f = a[i][k] / a[k][k]; for (int j = k; j < n; j++) a[i][j] -= f * a[k][j]; }
    for (int i = 0; i < n; i++) s += a[i][i];
    return s;
}

int main(void) {
    int n = 12;
    matrix a = make(n, n), b = make(n, n), copy = make(n, n), one = make(n, n);
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { AT(a, i, j) = (i * 7 + j * 3) % 11 - 5 + (i == j) * 6.5; AT(b, i,
        j) = 1.0 / (i + j + 1); AT(one, i, j) = i == j; }
    show("a * b", product(a, b));
    for (int i = 0; i < n * n; i++) copy.at[i] = a.at[i];
    printf("determinant %.6f\n", solve(copy, one));
    show("inverse", one);
    show("a * inverse", product(a, one));
    matrix s = product(transposed(a), a);
    printf("%d rotations\n", jacobi(s));
    show("eigenvalues", s);
    matrix x = make(20, 3), y = make(20, 1);
    for (int i = 0; i < 20; i++) { double t = i / 4.0; AT(x, i, 0) = 1; AT(x, i, 1) = t; AT(x, i, 2) = t * t; AT(y, i,
        0) = 3 - 2 * t + 0.5 * t * t + (i % 3 - 1) * 0.01; }
    matrix normal = product(transposed(x), x), right = product(transposed(x), y);
    solve(normal, right);
    show("coefficients", right);
    printf("%.4f %.4f\n", single(5), single(16) > 0 ? 1.0 : 0.0);
    return 0;
}
