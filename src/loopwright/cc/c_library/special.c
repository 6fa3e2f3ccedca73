/* The error function, the gamma function, and their kin. Polynomials were fitted in the points of Chebyshev's with 50 digits, on intervals that are mapped to [-1, 1]. */

#include "library.h"

double fabs(double), copysign(double, double), fmod(double, double), log(double), pow(double, double), sin(double), cos(double);

int signgam;

#define NAN_ __builtin_nan("")
#define INF __builtin_inf()

static double polynomial(const double *of, int degree, double u) {
    double made = of[degree];
    while (degree-- > 0) made = made * u + of[degree];
    return made;
}

/* Where a table is for x from low to high, x as it counts from -1 to 1. */
static double mapped(double x, double low, double high) { return (2 * x - (low + high)) / (high - low); }

#define OF(table, x, low, high) polynomial(table, (int)(sizeof(table) / sizeof(double)) - 1, mapped(x, low, high))

/* --- the error function ----------------------------------------------------------------------------------------------------------------------- */

/* erf x / x, of x^2 from 0 to 1. */
static const double erf_over_x[] = {
    0x1.ee51eb23cb7eap-1, -0x1.1fd16292151fdp-3, 0x1.454368017b042p-6, -0x1.2b902b7b2f28ep-9, 0x1.c82aa249df460p-13, -0x1.263991b802ee6p-16,
    0x1.486638bc9befep-20, -0x1.429e93e668f24p-24, 0x1.1ad5edf90dd80p-28, -0x1.bf8d2c72b9b8cp-33, 0x1.428e938efe043p-37, -0x1.acbabce2865e7p-42,
    0x1.05ffd737fb32ep-46
};

/* e^(x^2) erfc x / t, of t = 1 / (x + 2): x from 0.5, 1.25, 3 and 8 to the next of these and 28. */
static const double scaled_0[] = {
    0x1.5b6e14ffa499dp+0, 0x1.601fcd9e70fd9p-3, 0x1.4e768604c26c8p-7, -0x1.288f5dfa6e488p-15, -0x1.fe2c00153861fp-16, 0x1.a231fd7624b89p-22,
    0x1.d74a05510b7aep-24, -0x1.7fef0bc34a557p-28, -0x1.10c3eb83d39f8p-32, 0x1.66e75dad52c5ep-35, -0x1.63f62097ab4bdp-40, -0x1.2bd9d70499696p-43,
    0x1.2c7359b4f5fbdp-46
};
static const double scaled_1[] = {
    0x1.083f9d6c17dc5p+0, 0x1.32ea91bd0eeb3p-3, 0x1.ab57ad511c85ep-7, 0x1.6fc8bdf369563p-12, -0x1.8d20fff839ad5p-15, -0x1.8117a579b099ap-19,
    0x1.5480a351b5291p-22, 0x1.17150b925a5f7p-26, -0x1.a82355439561ep-29, -0x1.ba7edf5f79eb2p-37, 0x1.05892310941fep-35, -0x1.ecb5c8d519029p-40,
    -0x1.a588329d6a369p-43, 0x1.277259f1ae65ap-45
};
static const double scaled_2[] = {
    0x1.93c713d29321ap-1, 0x1.8dcca095ba84ep-4, 0x1.209683e800122p-7, 0x1.e3646f5dfd40fp-12, -0x1.afcc34350f09dp-18, -0x1.8bc066dc64a74p-19,
    -0x1.50ab54d8798a4p-24, 0x1.6846969d49c90p-26, 0x1.21f96aee5f1ebp-30, -0x1.b8ed4efae0c56p-33, -0x1.724113ca2640ep-37, 0x1.5cff06f035c5dp-39,
    0x1.51f67cf9f19a2p-44, -0x1.2e2fc32621834p-45
};
static const double scaled_3[] = {
    0x1.4c540f654e963p-1, 0x1.87216cb25fd39p-5, 0x1.7baa745bd23e8p-9, 0x1.0d96bcf55dbabp-13, 0x1.45fbe51a41a9cp-19, -0x1.7f6894aff5617p-23,
    -0x1.20a9cb1e9e32ep-26, -0x1.71a0abff8fefdp-33, 0x1.1604455737a0dp-34, 0x1.dc6f01e24c4f9p-39, -0x1.dcebd967afc89p-43, -0x1.e5fcc98bec455p-46,
    0x1.446003cafa6e7p-51, 0x1.c66250900dd38p-53
};

/* erfc x of x from 0.5 on. */
static double complement(double x) {
    if (x > 27.5) return 0;
    double t = 1 / (x + 2), p;
    if (x < 1.25) p = OF(scaled_0, t, 1 / 3.25, 0.4);
    else if (x < 3) p = OF(scaled_1, t, 0.2, 1 / 3.25);
    else if (x < 8) p = OF(scaled_2, t, 0.1, 0.2);
    else p = OF(scaled_3, t, 1 / 30.0, 0.1);
    /* The square in two doubles: what is lost of it is lost of the result. */
    double head = (double)(float)x, tail = x - head, square = x * x;
    double low = ((head * head - square) + 2 * head * tail) + tail * tail;
    return __exponential(-square, -low) * (t * p);
}

double erf(double x) {
    double size = fabs(x);
    if (x != x) return x;
    if (size < 1) return size < 0x1p-1000 ? x + x * 0x1.06eba8214db69p-3 : x * OF(erf_over_x, x * x, 0, 1);
    return copysign(size > 6 ? 1 : 1 - complement(size), x);
}

double erfc(double x) {
    if (x != x) return x;
    if (x < -0.5) return x < -6 ? 2 : 2 - complement(-x);
    return x < 0.5 ? 1 - erf(x) : complement(x);
}

/* --- the gamma function ----------------------------------------------------------------------------------------------------------------------- */

/* log gamma x / ((x - 1) (x - 2)), of x from 1 to 2 and from 2 to 3, and gamma x from 2 to 3. */
static const double log_gamma_1[] = {
    0x1.eeb95b094c191p-2, -0x1.2aed059bd608ap-4, 0x1.01af62a2929c0p-6, -0x1.007aa83cee1acp-8, 0x1.133423527f1f2p-10, -0x1.34dbda14971e2p-12,
    0x1.64f0664c4f943p-14, -0x1.a5035232a7d25p-16, 0x1.f814bab49d011p-18, -0x1.313e8a3ddad6fp-19, 0x1.750a7900f071ep-21, -0x1.cb44dee9fac00p-23,
    0x1.1c7e3a261c9ebp-24, -0x1.623f109df00eep-26, 0x1.b9e43433855c2p-28, -0x1.156abea920aefp-29, 0x1.68f13e0fbb796p-31, -0x1.c85e4bc95846cp-33,
    0x1.ba730a9784e07p-35, -0x1.18598e23bb974p-36, 0x1.9759e019683d0p-37, -0x1.0467902760469p-38
};
static const double log_gamma_2[] = {
    0x1.84afe00cddfdfp-2, -0x1.31d26e9323010p-5, 0x1.462044b0af667p-8, -0x1.8a722dfc5d7efp-11, 0x1.feef08b136431p-14, -0x1.59512000e75a8p-16,
    0x1.e05c3c368e7b5p-19, -0x1.5501aafb06c5fp-21, 0x1.eb8f77c97c52cp-24, -0x1.667082a03af13p-26, 0x1.07c6c7a6cae03p-28, -0x1.871dd64f13021p-31,
    0x1.23df937961832p-33, -0x1.b5a84b36743e2p-36, 0x1.454b1adbc86b7p-38, -0x1.eba7f1c3d9760p-41, 0x1.bd89faea6be05p-43, -0x1.5318fc433f2f5p-45
};
static const double gamma_2[] = {
    0x1.544fa6d47b390p+0, 0x1.de9585f1a7093p-2, 0x1.4f224d4b7e01cp-3, 0x1.03f6d2fa4f4f9p-5, 0x1.c138b89492c0dp-8, 0x1.d0a9bc4935330p-11,
    0x1.5489cc6bb1575p-13, 0x1.a55ed20e5fd1ep-17, 0x1.8b8fcd9f77986p-19, 0x1.08875ea254e2ep-27, 0x1.013c94c9fd96bp-24, -0x1.ad8d70ab833ecp-28,
    0x1.e6c9b3dd3045ep-30, -0x1.579ecb35007adp-32, 0x1.22c2e9942136dp-34, -0x1.c925c80482952p-37, 0x1.690e969d88663p-39, -0x1.206d1097efba9p-41,
    0x1.20e3cd8537396p-43, -0x1.ce54a9bd97599p-46
};

/* What Stirling's formula leaves, of x from 13 on: 1 / 12x - 1 / 360x^3 + ... */
static double stirling(double x) {
    double z = 1 / (x * x);
    double p = 1.0 / 156;
    p = 691.0 / 360360 - p * z;
    p = 1.0 / 1188 - p * z;
    p = 1.0 / 1680 - p * z;
    p = 1.0 / 1260 - p * z;
    p = 1.0 / 360 - p * z;
    return (1.0 / 12 - p * z) / x;
}

/* sin(pi x), of x that is not negative, by what is left of 2. */
static double sine_of_turns(double x) {
    double r = fmod(x, 2);
    int negative = r >= 1;
    if (negative) r -= 1;
    if (r > 0.5) r = 1 - r;
    double made = r < 0.25 ? sin(0x1.921fb54442d18p+1 * r) : cos(0x1.921fb54442d18p+1 * (0.5 - r));
    return negative ? -made : made;
}

/* Of a number above 0. */
static double log_gamma(double x) {
    if (x < 0.5) return log_gamma(x + 1) - log(x);
    /* log gamma x = log gamma(x + 1) - log x = x (x - 1) p(x + 1) - log x */
    if (x < 1) return x * (x - 1) * OF(log_gamma_1, x + 1, 1, 2) - log(x);
    if (x < 2) return (x - 1) * (x - 2) * OF(log_gamma_1, x, 1, 2);
    if (x >= 13) {
        if (x > 0x1p1014) {
            double made = x * (log(x) - 1);
            if (made - made != 0 && x < INF) errno = ERANGE;
            return made;
        }
        return (x - 0.5) * (log(x) - 1) + (0x1.acfe390c97d69p-2 + stirling(x)); /* log(2 pi) / 2 - 1 / 2 */
    }
    double product = 1;
    for (; x >= 3; product *= x) x -= 1;
    double made = (x - 1) * (x - 2) * OF(log_gamma_2, x, 2, 3);
    return product == 1 ? made : log(product) + made;
}

double lgamma(double x) {
    signgam = 1;
    if (x != x) return x;
    if (x - x != 0) return INF;
    if (x > 0) return log_gamma(x);
    if (x == __builtin_floor(x)) {
        errno = ERANGE;
        return INF;
    }
    /* gamma x gamma -x = -pi / (x sin pi x) */
    double sine = sine_of_turns(-x);
    if (sine > 0) signgam = -1;
    if (x > -0x1p-60) return -log(-x);
    return log(0x1.921fb54442d18p+1 / (-x * fabs(sine))) - log_gamma(-x);
}

/* Of a number above 0. */
static double gamma_of(double x) {
    double product = 1;
    if (x < 13) {
        for (; x >= 3; product *= x) x -= 1;
        double under = 1;
        for (; x < 2; x += 1) under *= x;
        return OF(gamma_2, x, 2, 3) * product / under;
    }
    if (x > 171.7) return INF;
    double half = pow(x, 0.5 * x - 0.25);
    return half * (__exponential(-x, stirling(x)) * 0x1.40d931ff62706p+1 * half);
}

double tgamma(double x) {
    if (x != x) return x;
    if (x == 0) {
        errno = ERANGE;
        return copysign(INF, x);
    }
    if (x < 0 && (x == __builtin_floor(x) || x - x != 0)) {
        errno = EDOM;
        return NAN_;
    }
    double made;
    if (x > 0) made = x < 0x1p-60 ? 1 / x : gamma_of(x);
    else if (x > -0x1p-60) made = 1 / x;
    else if (x < -184) made = sine_of_turns(-x) > 0 ? -0.0 : 0.0;
    else {
        /* In two steps: gamma(-x) may be above all numbers where the result is not 0 yet. */
        double over = -0x1.921fb54442d18p+1 / (-x * sine_of_turns(-x));
        made = -x < 170 ? over / gamma_of(-x) : over / gamma_of(-x - 20);
        if (-x >= 170)
            for (int k = 1; k <= 20; k++) made /= -x - k;
    }
    if (made - made != 0 && x < INF) errno = ERANGE;
    return made;
}

float erff(float x) { return (float)erf(x); }
float erfcf(float x) { return (float)erfc(x); }
float lgammaf(float x) { return (float)lgamma(x); }
float tgammaf(float x) { return (float)tgamma(x); }
