/* Elementary functions of doubles, and of floats by way of them. The methods are the usual ones (J.-M. Muller, Elementary Functions, 3rd edition, 2016): arguments are
   reduced, series of Taylor's do the rest, and what has to be exact is in two doubles. */

#include "library.h"

union bits { double x; uint64_t bits; };

#define NAN_ __builtin_nan("")
#define INF __builtin_inf()
#define SIGN ((uint64_t)1 << 63)

static uint64_t bits_of(double x) { union bits of = {x}; return of.bits; }
static double of_bits(uint64_t bits) { union bits of; of.bits = bits; return of.x; }

double fabs(double x) { return of_bits(bits_of(x) & ~SIGN); }
double copysign(double x, double y) { return of_bits((bits_of(x) & ~SIGN) | (bits_of(y) & SIGN)); }
double sqrt(double x) { return __builtin_sqrt(x); }

static double infinite(int negative) { errno = ERANGE; return negative ? -INF : INF; }

/* --- powers of two ---------------------------------------------------------------------------------------------------------------------------- */

static double power_of_two(int n) { return of_bits((uint64_t)(1023 + n) << 52); }

double ldexp(double x, int n) {
    /* One rounding: the last factor alone may lose bits. */
    for (; n > 1023; n -= 1023) {
        x *= 0x1p1023;
        if (n > 4000) n = 4000;
    }
    if (n < -4000) n = -4000;
    for (; n < -969; n += 969) x *= 0x1p-969;
    return x * power_of_two(n);
}

double scalbn(double x, int n) { return ldexp(x, n); }

double frexp(double x, int *n) {
    *n = 0;
    if (x == 0 || x - x != 0) return x;
    if (fabs(x) < 0x1p-1022) {
        x *= 0x1p54;
        *n = -54;
    }
    uint64_t bits = bits_of(x);
    *n += (int)(bits >> 52 & 2047) - 1022;
    return of_bits((bits & ~((uint64_t)2047 << 52)) | (uint64_t)1022 << 52);
}

double modf(double x, double *whole) {
    *whole = x - x != 0 ? x : __builtin_trunc(x);
    return x - x != 0 ? (x == x ? copysign(0, x) : x) : copysign(x - *whole, x);
}

/* The remainder of a division that is cut off: exact, bit by bit. */
double fmod(double x, double y) {
    double a = fabs(x), b = fabs(y);
    if (a - a != 0 || !(b > 0)) return NAN_;
    if (a < b) return x;
    int na, nb;
    uint64_t ma = (uint64_t)(frexp(a, &na) * 0x1p53), mb = (uint64_t)(frexp(b, &nb) * 0x1p53);
    for (int places = na - nb; places > 0;) {
        /* (Eleven places at once, as a remainder has 53 bits.) */
        int some = places < 11 ? places : 11;
        ma = (ma % mb) << some;
        places -= some;
    }
    ma %= mb;
    return copysign(ldexp((double)ma, nb - 53), x);
}

/* a * b + c with one rounding: the exact sum of 128 bits. */
double fma(double a, double b, double c) {
    typedef unsigned __int128 wide;
    if (a - a != 0 || b - b != 0 || c - c != 0 || a == 0 || b == 0 || c == 0) return a * b + c;
    int na, nb, nc;
    uint64_t ma = (uint64_t)(frexp(fabs(a), &na) * 0x1p53), mb = (uint64_t)(frexp(fabs(b), &nb) * 0x1p53), mc = (uint64_t)(frexp(fabs(c), &nc) * 0x1p53);
    int product_negative = (int)((bits_of(a) ^ bits_of(b)) >> 63), negative = (int)(bits_of(c) >> 63);
    /* Both as integers of 125 or 126 bits. */
    wide product = (wide)ma * mb << 20, other = (wide)mc << 73;
    int power = na + nb - 126, apart = power - (nc - 126);
    wide *lower = apart > 0 ? &other : &product;
    int places = apart > 0 ? apart : -apart;
    if (apart < 0) power -= apart;
    /* What falls off below is kept as one bit. */
    if (places > 127) *lower = 1;
    else if (places) *lower = *lower >> places | ((*lower << (128 - places)) != 0);
    wide sum;
    if (product_negative == negative) sum = product + other;
    else if (product > other) { sum = product - other; negative = product_negative; }
    else if (product == other) return 0;
    else sum = other - product;
    int size = 0;
    for (int step = 64; step; step /= 2)
        if (sum >> (size + step)) size += step;
    size++;
    int spare = size - 53;
    if (power + spare < -1074) spare = -1074 - power;
    uint64_t made;
    if (spare > 126) {
        return copysign(0x1p-1000, negative ? -1.0 : 1.0) * 0x1p-1000;
    } else if (spare > 0) {
        wide cut = sum & (((wide)1 << spare) - 1), half = (wide)1 << (spare - 1);
        made = (uint64_t)(sum >> spare);
        made += cut > half || (cut == half && (made & 1));
        power += spare;
    } else {
        made = (uint64_t)sum;
    }
    double x = ldexp((double)made, power);
    return negative ? -x : x;
}

float fmaf(float a, float b, float c) {
    /* The product is exact in a double. The sum is rounded to odd, so that its second rounding is the only one (S. Boldo, G. Melquiond, Emulation of FMA and
       correctly rounded sums, 2008). */
    double product = (double)a * b, sum = product + c;
    if (sum - sum != 0) return (float)sum;
    double rest = sum - product, error = (product - (sum - rest)) + (c - rest);
    uint64_t bits = bits_of(sum);
    if (error != 0 && !(bits & 1)) bits += (error > 0) == (sum > 0) ? 1 : -1;
    return (float)of_bits(bits);
}

/* --- sine and cosine --------------------------------------------------------------------------------------------------------------------------- */

/* The bits of 2 / pi. */
static const uint64_t two_by_pi[] = {0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c,
    0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d};

/* Of |x| > 2^20: the number of quarter turns modulo 4, and what is left. (M. Payne, R. Hanek, Radian reduction for trigonometric functions, 1983.) */
static int large(double x, double *high, double *low) {
    typedef unsigned __int128 wide;
    int power;
    uint64_t whole = (uint64_t)(frexp(fabs(x), &power) * 0x1p53);
    /* x = whole * 2^power; bits of 2 / pi of which the product is a multiple of 4 do not count. */
    power -= 53;
    int skipped = power > 2 ? power - 2 : 0, word = skipped / 64, place = skipped % 64;
    uint64_t window[3];
    for (int at = 0; at < 3; at++) window[at] = place ? two_by_pi[word + at] << place | two_by_pi[word + at + 1] >> (64 - place) : two_by_pi[word + at];
    wide lowest = (wide)whole * window[2], middle = (wide)whole * window[1] + (uint64_t)(lowest >> 64);
    wide upper = (wide)whole * window[0] + (uint64_t)(middle >> 64);
    /* top . a : b : c, times 2^power of what has not been skipped; in the end 2^2. */
    uint64_t c = (uint64_t)lowest, b = (uint64_t)middle, a = (uint64_t)upper, top = (uint64_t)(upper >> 64);
    for (int places = power - skipped; places < 2; places++) {
        c = c >> 1 | b << 63;
        b = b >> 1 | a << 63;
        a = a >> 1 | top << 63;
        top >>= 1;
    }
    int turns = (int)(a >> 62);
    a = a << 2 | b >> 62;
    b = b << 2 | c >> 62;
    int negative = (int)(a >> 63);
    if (negative) {
        turns++;
        a = ~a;
        b = ~b;
    }
    int zeros = 0;
    while (zeros < 64 && !(a >> 63)) {
        a = a << 1 | b >> 63;
        b <<= 1;
        zeros++;
    }
    /* The fraction in two doubles, times pi / 2. */
    double first = (double)(a >> 11) * 0x1p-53, second = ((double)(a & 2047) * 0x1p53 + (double)(b >> 11)) * 0x1p-117;
    double scale = power_of_two(-zeros);
    double head = of_bits(bits_of(first) & ~(uint64_t)0x7ffffff), tail = (first - head) + second;
    double product = head * 0x1.921fb54000000p+0;
    double rest = tail * 0x1.921fb54000000p+0 + first * 0x1.10b4611a62633p-30;
    *high = (product + rest) * scale;
    *low = ((product - *high / scale) + rest) * scale;
    if (negative) { *high = -*high; *low = -*low; }
    return turns & 3;
}

/* The number of quarter turns modulo 4, and what is left in two doubles. */
static int reduced(double x, double *high, double *low) {
    double size = fabs(x);
    int turns;
    if (size <= 0x1.921fb54442d18p-1) {
        *high = x;
        *low = 0;
        return 0;
    }
    if (size > 0x1p20) {
        turns = large(x, high, low);
    } else {
        /* pi / 2 in parts of 33 bits: the products are exact (W. Cody, W. Waite, Software Manual for the Elementary Functions, 1980). */
        int n = (int)(size * 0x1.45f306dc9c883p-1 + 0.5);
        double a = size - n * 0x1.921fb54400000p+0, b = n * 0x1.0b4611a600000p-34, c = n * 0x1.3198a2e000000p-69;
        double first = a - b, lost = (a - first) - b;
        double second = first - c, more = (first - second) - c;
        double rest = lost + more - n * 0x1.b839a252049c1p-104;
        *high = second + rest;
        *low = (second - *high) + rest;
        turns = n & 3;
    }
    if (x < 0) {
        *high = -*high;
        *low = -*low;
        turns = -turns & 3;
    }
    return turns;
}

static double sine(double r, double low) {
    double z = r * r;
    double s = ((((((0x1.952c77030ad4ap-49 * z - 0x1.ae7f3e733b81fp-41) * z + 0x1.6124613a86d09p-33) * z - 0x1.ae64567f544e4p-26) * z + 0x1.71de3a556c734p-19) * z
        - 0x1.a01a01a01a01ap-13) * z + 0x1.1111111111111p-7) * z - 0x1.5555555555555p-3;
    return r + (r * z * s + low * (1 - 0.5 * z));
}

static double cosine(double r, double low) {
    double z = r * r;
    double c = (((((0x1.ae7f3e733b81fp-45 * z - 0x1.93974a8c07c9dp-37) * z + 0x1.1eed8eff8d898p-29) * z - 0x1.27e4fb7789f5cp-22) * z + 0x1.a01a01a01a01ap-16) * z
        - 0x1.6c16c16c16c17p-10) * z + 0x1.5555555555555p-5;
    double half = 0.5 * z, whole = 1 - half;
    return whole + (((1 - whole) - half) + (z * z * c - r * low));
}

static double turned(int turns, double r, double low) {
    double made = turns & 1 ? cosine(r, low) : sine(r, low);
    return turns & 2 ? -made : made;
}

double sin(double x) {
    double r, low;
    if (x - x != 0) return NAN_;
    if (fabs(x) < 0x1p-27) return x;
    int turns = reduced(x, &r, &low);
    return turned(turns, r, low);
}

double cos(double x) {
    double r, low;
    if (x - x != 0) return NAN_;
    int turns = reduced(x, &r, &low);
    return turned(turns + 1, r, low);
}

double tan(double x) {
    double r, low;
    if (x - x != 0) return NAN_;
    if (fabs(x) < 0x1p-27) return x;
    int turns = reduced(x, &r, &low);
    return turns & 1 ? -cosine(r, low) / sine(r, low) : sine(r, low) / cosine(r, low);
}

/* --- exponentials and logarithms ----------------------------------------------------------------------------------------------------------------- */

/* e^(x + low), where low is small. */
double __exponential(double x, double low) {
    if (x != x) return x;
    if (x > 710) return x < INF ? infinite(0) : x;
    if (x < -746) return 0;
    int n = (int)(x * 0x1.71547652b82fep+0 + (x < 0 ? -0.5 : 0.5));
    double high = x - n * 0x1.62e42fee00000p-1, rest = low - n * 0x1.a39ef35793c76p-33, r = high + rest;
    rest += high - r;
    double p = 1.0 / 6227020800;
    p = p * r + 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    double made = 1 + (r + (rest + r * r * (0.5 + p * r) + rest * r));
    return ldexp(made, n);
}

double exp(double x) { return __exponential(x, 0); }
float expf(float x) { return (float)exp(x); }

double expm1(double x) {
    if (fabs(x) >= 0.5) return x > 40 || x < -40 ? exp(x) - 1 : exp(x) - 1;
    double p = 0;
    for (int k = 16; k > 2; k--) p = (p + 1) * x / k;
    return x + (p + 1) * x * x / 2;
}

/* A logarithm in two doubles, of a positive number. */
static double two_logs(double x, double *low) {
    int n;
    double m = frexp(x, &n);
    if (m < 0x1.6a09e667f3bcdp-1) {
        m *= 2;
        n--;
    }
    /* s = (m - 1) / (m + 1), with what its rounding has left; log m = 2 s (1 + s^2 / 3 + ...) */
    double f = m - 1, under = m + 1, under_low = (m - (under - 1));
    double s = f / under;
    double head = of_bits(bits_of(s) & ~(uint64_t)0x7ffffff), tail = s - head;
    double over = of_bits(bits_of(under) & ~(uint64_t)0x7ffffff), rest_under = (under - over) + under_low;
    double s_low = (((f - head * over) - head * rest_under) - tail * over - tail * rest_under) / under;
    double z = s * s, z_low = ((head * head - z) + 2 * head * tail) + tail * tail + 2 * s * s_low;
    double p = 2.0 / 25;
    p = p * z + 2.0 / 23;
    p = p * z + 2.0 / 21;
    p = p * z + 2.0 / 19;
    p = p * z + 2.0 / 17;
    p = p * z + 2.0 / 15;
    p = p * z + 2.0 / 13;
    p = p * z + 2.0 / 11;
    p = p * z + 2.0 / 9;
    p = p * z + 2.0 / 7;
    p = p * z + 2.0 / 5;
    /* z (2/3 + z p), in two doubles */
    double t = z * p, t_low = z_low * p;
    double q = 0x1.5555555555555p-1 + t, q_low = (0x1.5555555555555p-1 - q) + t + (0x1.5555555555555p-55 + t_low);
    double qh = of_bits(bits_of(q) & ~(uint64_t)0x7ffffff), ql = q - qh, zh = of_bits(bits_of(z) & ~(uint64_t)0x7ffffff), zl = z - zh;
    double u = z * q, u_low = ((qh * zh - u) + qh * zl + ql * zh) + ql * zl + (z_low * q + z * q_low);
    double uh = of_bits(bits_of(u) & ~(uint64_t)0x7ffffff), ul = u - uh;
    double v = s * u, v_low = ((uh * head - v) + uh * tail + ul * head) + ul * tail + (s_low * u + s * u_low);
    /* n log 2 + 2 s + v: each is greater than what follows */
    double a = n * 0x1.62e42fee00000p-1, b = 2 * s;
    double sum = a + b, lost = n ? (a - sum) + b : 0;
    double whole = sum + v, more = (sum - whole) + v;
    double rest = lost + more + (n * 0x1.a39ef35793c76p-33 + 2 * s_low + v_low);
    double made = whole + rest;
    *low = (whole - made) + rest;
    return made;
}

static double logarithm(double x, double scale, double scale_low) {
    if (!(x > 0)) return x == 0 ? infinite(1) : NAN_;
    if (x == INF) return x;
    double low, high = two_logs(x, &low);
    if (scale == 1) return high + low;
    double hh = of_bits(bits_of(high) & ~(uint64_t)0x7ffffff), hl = high - hh, sh = of_bits(bits_of(scale) & ~(uint64_t)0x7ffffff), sl = scale - sh;
    double product = high * scale, rest = ((hh * sh - product) + hh * sl + hl * sh) + hl * sl;
    return product + (rest + low * scale + high * scale_low);
}

double log(double x) { return logarithm(x, 1, 0); }
double log10(double x) { return logarithm(x, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57); }

double log2(double x) {
    int n;
    if (x > 0 && x < INF && frexp(x, &n) == 0.5) return n - 1;
    return logarithm(x, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56);
}

double log1p(double x) {
    double u = 1 + x;
    if (u == 1) return x;
    return u > 0 && u < INF ? log(u) + (x - (u - 1)) / u : log(u);
}

static int is_whole(double y) { return fabs(y) >= 0x1p52 || __builtin_trunc(y) == y; }
static int is_odd(double y) { return fabs(y) < 0x1p53 && is_whole(y) && ((int64_t)y & 1); }

double pow(double x, double y) {
    if (y == 0 || x == 1) return 1;
    if (x != x || y != y) return x + y;
    double size = fabs(x);
    int negative = bits_of(x) >> 63 && is_odd(y);
    double made;
    if (fabs(y) == INF) return size == 1 ? 1 : (size > 1) == (y > 0) ? INF : 0;
    if (size == 0 || size == INF) {
        made = (size == 0) == (y < 0) ? INF : 0;
        return negative ? -made : made;
    }
    if (x < 0 && !is_whole(y)) return NAN_;
    double low, high = two_logs(size, &low);
    double hh = of_bits(bits_of(high) & ~(uint64_t)0x7ffffff), hl = high - hh, yh = of_bits(bits_of(y) & ~(uint64_t)0x7ffffff), yl = y - yh;
    double product = high * y;
    if (fabs(product) > 800 || fabs(product) < 0x1p-60) made = __exponential(product, 0);
    else made = __exponential(product, ((hh * yh - product) + hh * yl + hl * yh) + hl * yl + low * y);
    return negative ? -made : made;
}

double exp2(double x) { return pow(2, x); }
double exp10(double x) { return pow(10, x); }

double sinh(double x) {
    double size = fabs(x), e;
    if (size > 700) {
        e = exp(size / 2);
        e = e / 2 * e;
    } else {
        e = expm1(size);
        e = (e + e / (e + 1)) / 2;
    }
    return copysign(e, x);
}

double cosh(double x) {
    double size = fabs(x), e = exp(size > 700 ? size / 2 : size);
    return size > 700 ? e / 2 * e : (e + 1 / e) / 2;
}

double tanh(double x) {
    double size = fabs(x);
    if (size > 22) return copysign(1, x);
    double e = expm1(2 * size);
    return copysign(e / (e + 2), x);
}

/* --- angles -------------------------------------------------------------------------------------------------------------------------------------- */

static double arctangent(double x) {
    /* atan x = atan c + atan((x - c) / (1 + c x)), which is below 1/4. */
    static const struct { double below, c, high, low; } steps[] = {
        {0.25, 0, 0, 0},
        {0.75, 0.5, 0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
        {1.25, 1, 0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55},
        {2.5, 1.5, 0x1.f730bd281f69bp-1, 0x1.007887af0cbbdp-56},
        {4.5, 3, 0x1.3fc176b7a8560p+0, -0x1.441a3bd3f1083p-59},
    };
    double t = -1 / x, high = 0x1.921fb54442d18p+0, low = 0x1.1a62633145c07p-54;
    for (int at = 0; at < 5; at++)
        if (x < steps[at].below) {
            t = (x - steps[at].c) / (1 + steps[at].c * x);
            high = steps[at].high;
            low = steps[at].low;
            break;
        }
    double z = t * t, p = 0;
    for (int k = 27; k > 1; k -= 2) p = (1.0 / k - p) * z;
    return high + (t + (low - t * p));
}

double atan(double x) { return x == x ? copysign(arctangent(fabs(x)), x) : x; }

double atan2(double y, double x) {
    if (x != x || y != y) return x + y;
    double a = fabs(y), b = fabs(x), made;
    if (a == INF && b == INF) made = 0x1.921fb54442d18p-1;
    else if (a == 0) made = 0;
    else made = arctangent(a / b);
    if (bits_of(x) >> 63) made = 0x1.921fb54442d18p+1 - (made - 0x1.1a62633145c07p-53);
    return copysign(made, y);
}

double asin(double x) { return fabs(x) > 1 ? NAN_ : fabs(x) < 0x1p-27 ? x : atan2(x, sqrt((1 - x) * (1 + x))); }
double acos(double x) { return fabs(x) > 1 ? NAN_ : atan2(sqrt((1 - x) * (1 + x)), x); }

/* --- roots ---------------------------------------------------------------------------------------------------------------------------------------- */

double hypot(double x, double y) {
    double a = fabs(x), b = fabs(y);
    if (a == INF || b == INF) return INF;
    if (a < b) { double kept = a; a = b; b = kept; }
    if (!(b > a * 0x1p-60)) return a + b;
    double scale = a > 0x1p500 ? 0x1p600 : a < 0x1p-400 ? 0x1p-600 : 1;
    a /= scale;
    b /= scale;
    return sqrt(a * a + b * b) * scale;
}

double cbrt(double x) {
    int n;
    double size = fabs(x);
    if (size == 0 || x - x != 0) return x;
    double m = frexp(size, &n);
    while (n % 3) { m *= 0.5; n++; }
    double r = 0.35 + 0.7 * m;
    for (int step = 0; step < 6; step++) r -= (r - m / (r * r)) / 3;
    return copysign(ldexp(r, n / 3), x);
}

#define OF_FLOATS(name) float name##f(float x) { return (float)name(x); }
OF_FLOATS(sin) OF_FLOATS(cos) OF_FLOATS(tan) OF_FLOATS(expm1) OF_FLOATS(exp2) OF_FLOATS(exp10) OF_FLOATS(log) OF_FLOATS(log2) OF_FLOATS(log10) OF_FLOATS(log1p)
OF_FLOATS(sinh) OF_FLOATS(cosh) OF_FLOATS(tanh) OF_FLOATS(atan) OF_FLOATS(asin) OF_FLOATS(acos) OF_FLOATS(cbrt) OF_FLOATS(fabs)
float sqrtf(float x) { return __builtin_sqrtf(x); }
float powf(float x, float y) { return (float)pow(x, y); }
float atan2f(float y, float x) { return (float)atan2(y, x); }
float fmodf(float x, float y) { return (float)fmod(x, y); }
float hypotf(float x, float y) { return (float)hypot(x, y); }
float ldexpf(float x, int n) { return (float)ldexp(x, n); }
