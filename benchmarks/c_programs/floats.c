/* Whetstone-like: the kinds of work that H. J. Curnow and B. A. Wichmann counted in scientific programs of 1970 (A synthetic benchmark, 1976): floats in variables, in
   arrays, behind parameters and calls, conditions, integers that choose elements, elementary functions. A program of our own. */

#include <math.h>
#include <stdio.h>

#ifndef ROUNDS
#define ROUNDS 20
#endif

static double four[4];
static double shrink = 0.49975, grow = 0.50025;
static int chosen[3] = {0, 1, 2};

/* Behind a call a sum may not be kept in the switch: these stay functions. */
#define APART __attribute__((noinline))

static APART void in_variables(int rounds) {
    double a = 1, b = -1, c = -1, d = -1;
    for (int i = 0; i < rounds; i++) {
        a = (a + b + c - d) * shrink;
        b = (a + b - c + d) * shrink;
        c = (a - b + c + d) * shrink;
        d = (b + c + d - a) * shrink;
    }
    four[0] = a; four[1] = b; four[2] = c; four[3] = d;
}

static APART void in_an_array(double *e) {
    for (int i = 0; i < 6; i++) {
        e[0] = (e[0] + e[1] + e[2] - e[3]) * shrink;
        e[1] = (e[0] + e[1] - e[2] + e[3]) * shrink;
        e[2] = (e[0] - e[1] + e[2] + e[3]) * shrink;
        e[3] = (e[1] + e[2] + e[3] - e[0]) / 2.001;
    }
}

static APART int conditions(int rounds) {
    int j = 1;
    for (int i = 0; i < rounds; i++) {
        if (j == 1) j = 2; else j = 3;
        if (j > 2) j = 0; else j = 1;
        if (j < 1) j = 1; else j = 0;
    }
    return j;
}

static APART int integers(int rounds) {
    int j = 1, k = 2, l = 3;
    for (int i = 0; i < rounds; i++) {
        j = j * (k - j) * (l - k);
        k = l * k - (l - j) * k;
        l = (l - k) * (k + j);
        four[(l - 2) & 3] = j + k + l;
        four[(k - 2) & 3] = j * k * l;
    }
    return j + k + l;
}

static APART double angles(int rounds) {
    double x = 0.5, y = 0.5;
    for (int i = 0; i < rounds; i++) {
        x = shrink * atan(2 * sin(x) * cos(x) / (cos(x + y) + cos(x - y) - 1));
        y = shrink * atan(2 * sin(y) * cos(y) / (cos(x + y) + cos(x - y) - 1));
    }
    return x + y;
}

static APART void two_of_three(double x, double y, double *z) {
    double a = grow * (x + y), b = grow * (a + y);
    *z = (a + b) / 2.001;
}

static APART void exchanged(double *e) {
    e[chosen[0]] = e[chosen[1]];
    e[chosen[1]] = e[chosen[2]];
    e[chosen[2]] = e[chosen[0]];
}

static APART double functions(int rounds) {
    double x = 0.75;
    for (int i = 0; i < rounds; i++) x = sqrt(exp(log(x) / grow));
    return x;
}

int main(void) {
    double z = 0, sum = 0;
    unsigned whole = 0;
    for (int round = 0; round < ROUNDS; round++) {
        in_variables(12);
        for (int i = 0; i < 2; i++) in_an_array(four);
        whole += (unsigned)conditions(35);
        whole = whole * 3 + (unsigned)integers(21);
        sum += angles(2);
        for (int i = 0; i < 30; i++) two_of_three(1, sum, &z);
        four[0] = 1; four[1] = 2; four[2] = 3;
        for (int i = 0; i < 31; i++) exchanged(four);
        sum += functions(5) + z + four[0];
    }
    printf("%.12g %u\n", sum, whole);
    return 0;
}
