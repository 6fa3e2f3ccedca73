/* Complex numbers: what compilers call for products and quotients (C17, annex G.5.1, whose examples these are), and the functions of <complex.h> that are used most. */

#include "library.h"

#define INF __builtin_inf()
#define FINITE(x) ((x) - (x) == 0)
#define ENDLESS(x) (__builtin_fabs(x) == INF)

double hypot(double x, double y);
double atan2(double y, double x);
double exp(double x);
double log(double x);
double log1p(double x);
double sin(double x);
double cos(double x);
double fabs(double x);
double scalbn(double x, int n);
double logb(double x);

typedef double _Complex complex;
static complex pair(double x, double y) { return __builtin_complex(x, y); }
static double one_if(int condition, double sign) { return __builtin_copysign(condition ? 1 : 0, sign); }

complex __muldc3(double a, double b, double c, double d) {
    double ac = a * c, bd = b * d, ad = a * d, bc = b * c, x = ac - bd, y = ad + bc;
    if (x != x && y != y) {
        int again = 0;
        if (ENDLESS(a) || ENDLESS(b)) {
            a = one_if(ENDLESS(a), a);
            b = one_if(ENDLESS(b), b);
            if (c != c) c = one_if(0, c);
            if (d != d) d = one_if(0, d);
            again = 1;
        }
        if (ENDLESS(c) || ENDLESS(d)) {
            c = one_if(ENDLESS(c), c);
            d = one_if(ENDLESS(d), d);
            if (a != a) a = one_if(0, a);
            if (b != b) b = one_if(0, b);
            again = 1;
        }
        if (!again && (ENDLESS(ac) || ENDLESS(bd) || ENDLESS(ad) || ENDLESS(bc))) {
            if (a != a) a = one_if(0, a);
            if (b != b) b = one_if(0, b);
            if (c != c) c = one_if(0, c);
            if (d != d) d = one_if(0, d);
            again = 1;
        }
        if (again) {
            x = INF * (a * c - b * d);
            y = INF * (a * d + b * c);
        }
    }
    return pair(x, y);
}

complex __divdc3(double a, double b, double c, double d) {
    int power = 0;
    double size = logb(fabs(c) > fabs(d) ? fabs(c) : fabs(d));
    if (FINITE(size)) {
        power = (int)size;
        c = scalbn(c, -power);
        d = scalbn(d, -power);
    }
    double under = c * c + d * d, x = scalbn((a * c + b * d) / under, -power), y = scalbn((b * c - a * d) / under, -power);
    if (x != x && y != y) {
        if (under == 0 && (a == a || b == b)) {
            x = __builtin_copysign(INF, c) * a;
            y = __builtin_copysign(INF, c) * b;
        } else if ((ENDLESS(a) || ENDLESS(b)) && FINITE(c) && FINITE(d)) {
            a = one_if(ENDLESS(a), a);
            b = one_if(ENDLESS(b), b);
            x = INF * (a * c + b * d);
            y = INF * (b * c - a * d);
        } else if (ENDLESS(size) && size > 0 && FINITE(a) && FINITE(b)) {
            c = one_if(ENDLESS(c), c);
            d = one_if(ENDLESS(d), d);
            x = 0 * (a * c + b * d);
            y = 0 * (b * c - a * d);
        }
    }
    return pair(x, y);
}

/* (Of floats of 32 bits the parts are exact in 64, but for one rounding of sums; each is rounded as it would be in 32.) */
float _Complex __mulsc3(float a, float b, float c, float d) {
    float ac = a * c, bd = b * d, ad = a * d, bc = b * c, x = ac - bd, y = ad + bc;
    if (x == x || y == y) return __builtin_complex(x, y);
    complex made = __muldc3(a, b, c, d);
    return __builtin_complex((float)__builtin_creal(made), (float)__builtin_cimag(made));
}

float _Complex __divsc3(float a, float b, float c, float d) {
    complex made = __divdc3(a, b, c, d);
    return __builtin_complex((float)__builtin_creal(made), (float)__builtin_cimag(made));
}

double creal(complex z) { return __builtin_creal(z); }
double cimag(complex z) { return __builtin_cimag(z); }
complex conj(complex z) { return pair(__builtin_creal(z), -__builtin_cimag(z)); }
double cabs(complex z) { return hypot(__builtin_creal(z), __builtin_cimag(z)); }
double carg(complex z) { return atan2(__builtin_cimag(z), __builtin_creal(z)); }
complex clog(complex z) {
    /* Near 1 by what the square of the size is more. */
    double x = fabs(__builtin_creal(z)), y = fabs(__builtin_cimag(z)), a = x > y ? x : y, b = x > y ? y : x;
    return pair(a > 0.5 && a < 2 ? 0.5 * log1p((a - 1) * (a + 1) + b * b) : log(cabs(z)), carg(z));
}

complex cexp(complex z) {
    double size = exp(__builtin_creal(z)), y = __builtin_cimag(z);
    return y == 0 ? pair(size, y) : pair(size * cos(y), size * sin(y));
}

complex csqrt(complex z) {
    double x = __builtin_creal(z), y = __builtin_cimag(z);
    if (x == 0 && y == 0) return pair(0, y);
    double half = __builtin_sqrt((fabs(x) + cabs(z)) * 0.5), other = y / (2 * half);
    return x >= 0 ? pair(half, other) : pair(fabs(other), __builtin_copysign(half, y));
}

complex cpow(complex z, complex w) {
    if (__builtin_creal(z) == 0 && __builtin_cimag(z) == 0) return pair(__builtin_creal(w) == 0 && __builtin_cimag(w) == 0 ? 1 : 0, 0);
    return cexp(w * clog(z));
}

float crealf(float _Complex z) { return __builtin_crealf(z); }
float cimagf(float _Complex z) { return __builtin_cimagf(z); }
float cabsf(float _Complex z) { return (float)hypot(__builtin_crealf(z), __builtin_cimagf(z)); }
float cargf(float _Complex z) { return (float)atan2(__builtin_cimagf(z), __builtin_crealf(z)); }
float _Complex conjf(float _Complex z) { return __builtin_complex(__builtin_crealf(z), -__builtin_cimagf(z)); }

/* llvm.powi: by squares. */
double __powidf2(double x, int n) {
    double made = 1;
    for (unsigned left = n < 0 ? 0 - (unsigned)n : (unsigned)n; left; left >>= 1, x *= x)
        if (left & 1) made *= x;
    return n < 0 ? 1 / made : made;
}
float __powisf2(float x, int n) {
    float made = 1;
    for (unsigned left = n < 0 ? 0 - (unsigned)n : (unsigned)n; left; left >>= 1, x *= x)
        if (left & 1) made *= x;
    return n < 0 ? 1 / made : made;
}
