/* Functions of floats that round, compare, and take numbers apart, those of floats of 32 bits among them; inverse hyperbolic ones. */

#include "library.h"

union bits { double x; uint64_t bits; };
union short_bits { float x; uint32_t bits; };

#define NAN_ __builtin_nan("")
#define INF __builtin_inf()

double fmod(double x, double y);
double log1p(double x);
double sin(double x);
double cos(double x);
double ldexp(double x, int n);
double frexp(double x, int *n);
double modf(double x, double *whole);

#define BOTH(name, builtin) double name(double x) { return __builtin_##builtin(x); } float name##f(float x) { return __builtin_##builtin##f(x); }
BOTH(floor, floor) BOTH(ceil, ceil) BOTH(trunc, trunc) BOTH(rint, rint) BOTH(nearbyint, rint)

/* Halves away from 0. (A sum with a half may be rounded up to a whole number.) */
double round(double x) {
    double a = __builtin_fabs(x), whole = __builtin_trunc(a);
    if (a - whole >= 0.5) whole += 1;
    return __builtin_copysign(whole == whole ? whole : x, x);
}
float roundf(float x) { return (float)round(x); }

long lround(double x) { return (long)round(x); }
long lroundf(float x) { return (long)round(x); }
long long llround(double x) { return (long)round(x); }
long long llroundf(float x) { return (long)round(x); }
long lrint(double x) { return (long)__builtin_rint(x); }
long lrintf(float x) { return (long)__builtin_rint(x); }
long long llrint(double x) { return (long)__builtin_rint(x); }
long long llrintf(float x) { return (long)__builtin_rint(x); }

double fmin(double x, double y) { return x != x ? y : y != y ? x : y < x ? y : x; }
double fmax(double x, double y) { return x != x ? y : y != y ? x : y > x ? y : x; }
float fminf(float x, float y) { return x != x ? y : y != y ? x : y < x ? y : x; }
float fmaxf(float x, float y) { return x != x ? y : y != y ? x : y > x ? y : x; }
double fdim(double x, double y) { return x != x ? x : y != y ? y : x > y ? x - y : 0; }
float fdimf(float x, float y) { return x != x ? x : y != y ? y : x > y ? x - y : 0; }
float copysignf(float x, float y) { return __builtin_copysignf(x, y); }

/* What is left of the nearest multiple. */
double remainder(double x, double y) {
    double a = __builtin_fabs(x), b = __builtin_fabs(y);
    if (x - x != 0 || y != y || b == 0) return NAN_;
    if (b < 0x1p1023) a = fmod(a, b + b);
    if (b < 0x1p-1021 ? a + a > b : a > 0.5 * b) {
        a -= b;
        if (b < 0x1p-1021 ? a + a >= b : a >= 0.5 * b) a -= b;
    }
    union bits of = {x};
    return of.bits >> 63 ? -a : a;
}
float remainderf(float x, float y) { return (float)remainder(x, y); }
double drem(double x, double y) { return remainder(x, y); }

/* With the last bits of the quotient, and its sign. */
double remquo(double x, double y, int *quotient) {
    double a = __builtin_fabs(x), b = __builtin_fabs(y);
    int sign = __builtin_signbit(x) != __builtin_signbit(y), count = 0;
    *quotient = 0;
    if (x - x != 0 || y != y || b == 0) return NAN_;
    if (b < 0x1p1020) a = fmod(a, 8 * b);
    if (b < 0x1p1021 && a >= 4 * b) { a -= 4 * b; count += 4; }
    if (b < 0x1p1022 && a >= 2 * b) { a -= 2 * b; count += 2; }
    if (b < 0x1p-1021 ? a + a > b : a > 0.5 * b) {
        a -= b;
        count++;
        if (b < 0x1p-1021 ? a + a >= b : a >= 0.5 * b) { a -= b; count++; }
    }
    *quotient = sign ? -(count & 7) : count & 7;
    return __builtin_signbit(x) ? -a : a;
}

double nextafter(double x, double to) {
    union bits of = {x};
    if (x != x || to != to) return x + to;
    if (x == to) return to;
    if (x == 0) return __builtin_copysign(0x1p-1074, to);
    of.bits += (x < to) == (x > 0) ? 1 : (uint64_t)-1;
    return of.x;
}
float nextafterf(float x, float to) {
    union short_bits of = {x};
    if (x != x || to != to) return x + to;
    if (x == to) return to;
    if (x == 0) return __builtin_copysignf(0x1p-149f, to);
    of.bits += (x < to) == (x > 0) ? 1 : (uint32_t)-1;
    return of.x;
}

int ilogb(double x) {
    int n;
    if (x == 0 || x != x) return -2147483647 - 1;
    if (x - x != 0) return 2147483647;
    frexp(x, &n);
    return n - 1;
}
int ilogbf(float x) { return ilogb(x); }
double logb(double x) { return x == 0 ? -INF : x - x != 0 ? x * x : ilogb(x); }
float logbf(float x) { return (float)logb(x); }
double scalbln(double x, long n) { return ldexp(x, n > 99999 ? 99999 : n < -99999 ? -99999 : (int)n); }
float scalbnf(float x, int n) { return (float)ldexp(x, n); }
float frexpf(float x, int *n) { return (float)frexp(x, n); }
float modff(float x, float *whole) {
    double part, rest = modf(x, &part);
    *whole = (float)part;
    return (float)rest;
}
double nan(const char *text) { return NAN_; }
float nanf(const char *text) { return __builtin_nanf(""); }

void sincos(double x, double *sine, double *cosine) {
    *sine = sin(x);
    *cosine = cos(x);
}
void sincosf(float x, float *sine, float *cosine) {
    *sine = (float)sin(x);
    *cosine = (float)cos(x);
}

double asinh(double x) {
    double a = __builtin_fabs(x);
    if (x - x != 0) return x;
    return __builtin_copysign(a > 0x1p28 ? log1p(a) + 0x1.62e42fefa39efp-1 : log1p(a + a * a / (1 + __builtin_sqrt(a * a + 1))), x);
}
double acosh(double x) {
    double t = x - 1;
    if (!(x >= 1)) return NAN_;
    return x > 0x1p28 ? log1p(x) + 0x1.62e42fefa39efp-1 : log1p(t + __builtin_sqrt(t * (t + 2)));
}
double atanh(double x) {
    double a = __builtin_fabs(x);
    if (!(a <= 1)) return NAN_;
    return __builtin_copysign(a == 1 ? INF : 0.5 * log1p(2 * a / (1 - a)), x);
}
float asinhf(float x) { return (float)asinh(x); }
float acoshf(float x) { return (float)acosh(x); }
float atanhf(float x) { return (float)atanh(x); }

/* What <math.h> makes of isnan and its kin without builtins. */
int isnan(double x) { return x != x; }
int isinf(double x) { return x == INF ? 1 : x == -INF ? -1 : 0; }
int finite(double x) { return x - x == 0; }
int __isnan(double x) { return isnan(x); }
int __isinf(double x) { return isinf(x); }
int __finite(double x) { return finite(x); }
int __isnanf(float x) { return x != x; }
int __isinff(float x) { return isinf(x); }
int __finitef(float x) { return x - x == 0; }
int __signbit(double x) { union bits of = {x}; return (int)(of.bits >> 63); }
int __signbitf(float x) { union short_bits of = {x}; return (int)(of.bits >> 31); }
int __fpclassify(double x) { return x != x ? 0 : x - x != 0 ? 1 : x == 0 ? 2 : __builtin_fabs(x) < 0x1p-1022 ? 3 : 4; }
int __fpclassifyf(float x) { return x != x ? 0 : x - x != 0 ? 1 : x == 0 ? 2 : __builtin_fabsf(x) < 0x1p-126f ? 3 : 4; }
