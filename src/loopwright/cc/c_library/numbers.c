/* Numbers from and to decimal digits, sorting, random numbers. */

#include "library.h"

/* --- digits of floats, all of them exact: a float is an integer times a power of two, which has an end in decimal digits ------------------------------ */

#define LIMB 1000000000u
/* The longest: 2^-1074 times an integer of 53 bits, 767 digits. */
#define MOST_LIMBS 90

struct whole {
    int size;
    uint32_t limbs[MOST_LIMBS]; /* the lowest first, each below LIMB */
};

static void times(struct whole *of, uint32_t factor) {
    uint64_t carry = 0;
    for (int at = 0; at < of->size; at++) {
        carry += (uint64_t)of->limbs[at] * factor;
        of->limbs[at] = (uint32_t)(carry % LIMB);
        carry /= LIMB;
    }
    if (carry) of->limbs[of->size++] = (uint32_t)carry;
}

/* The decimal digits of |x|, cut by rounding to nearest, ties to even: to `behind_point` of them behind the point, or, if that is negative, to `most`. Zeros at
   the end are left out. Returns how many there are; the first one stands for 10^exponent. */
int __decimal(double x, int most, int behind_point, char *digits, int *exponent) {
    static struct whole value;
    union { double x; uint64_t bits; } of = {x};
    int power = (int)(of.bits >> 52 & 2047);
    uint64_t whole = of.bits & (((uint64_t)1 << 52) - 1);
    if (power) whole |= (uint64_t)1 << 52;
    else power = 1;
    power -= 1075;
    *exponent = 0;
    if (!whole) return 0;
    while (!(whole & 1)) { whole >>= 1; power++; }
    value.size = 0;
    for (; whole; whole /= LIMB) value.limbs[value.size++] = (uint32_t)(whole % LIMB);
    for (int left = power; left > 0; left -= 29) times(&value, 1u << (left < 29 ? left : 29));
    int left = -power;
    for (; left >= 12; left -= 12) times(&value, 244140625u);
    for (; left > 0; left--) times(&value, 5);
    int size = 0;
    for (int at = value.size - 1; at >= 0; at--) {
        uint32_t limb = value.limbs[at];
        for (int place = 8; place >= 0; place--) {
            digits[size + place] = (char)('0' + limb % 10);
            limb /= 10;
        }
        size += 9;
    }
    int zeros = 0;
    while (digits[zeros] == '0') zeros++;
    size -= zeros;
    for (int at = 0; at < size; at++) digits[at] = digits[at + zeros];
    *exponent = size - 1 + (power < 0 ? power : 0);
    int keep = behind_point >= 0 ? *exponent + 1 + behind_point : most;
    if (keep < 0) size = 0;
    if (keep < size) {
        int more = 0;
        for (int at = keep + 1; at < size; at++) more |= digits[at] != '0';
        int up = digits[keep] > '5' || (digits[keep] == '5' && (more || (keep && (digits[keep - 1] & 1))));
        size = keep;
        if (up) {
            int at = keep - 1;
            while (at >= 0 && digits[at] == '9') at--;
            if (at < 0) {
                digits[0] = '1';
                size = 1;
                ++*exponent;
            } else {
                digits[at]++;
                size = at + 1;
            }
        }
    }
    while (size && digits[size - 1] == '0') size--;
    if (!size) *exponent = 0;
    return size;
}

/* --- floats of digits: a quotient of two integers, rounded once --------------------------------------------------------------------------------------- */

/* Numbers of up to 800 digits and exponents of three: 2^32 to the power of their sizes. */
#define MOST_WORDS 250

struct big {
    int size;
    uint32_t words[MOST_WORDS];
};

static void scale(struct big *of, uint32_t factor, uint32_t add) {
    uint64_t carry = add;
    for (int at = 0; at < of->size; at++) {
        carry += (uint64_t)of->words[at] * factor;
        of->words[at] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry) of->words[of->size++] = (uint32_t)carry;
}

static void shift(struct big *of, int places) {
    int words = places / 32, bits = places % 32;
    if (!of->size) return;
    of->words[of->size] = 0;
    for (int at = of->size; at >= 0; at--) {
        uint32_t low = bits && at ? of->words[at - 1] >> (32 - bits) : 0;
        of->words[at + words] = of->words[at] << bits | low;
    }
    for (int at = 0; at < words; at++) of->words[at] = 0;
    of->size += words + 1;
    while (of->size && !of->words[of->size - 1]) of->size--;
}

static int below(const struct big *a, const struct big *b) {
    if (a->size != b->size) return a->size < b->size;
    for (int at = a->size - 1; at >= 0; at--)
        if (a->words[at] != b->words[at]) return a->words[at] < b->words[at];
    return 0;
}

static void subtract(struct big *a, const struct big *b) {
    int64_t carry = 0;
    for (int at = 0; at < a->size; at++) {
        carry += (int64_t)a->words[at] - (at < b->size ? b->words[at] : 0);
        a->words[at] = (uint32_t)carry;
        carry >>= 32;
    }
    while (a->size && !a->words[a->size - 1]) a->size--;
}

static int bits_of(const struct big *of) {
    int bits = 32 * of->size;
    if (!of->size) return 0;
    for (uint32_t top = of->words[of->size - 1]; !(top >> 31); top <<= 1) bits--;
    return bits;
}

static double quotient(struct big *above, struct big *under) {
    static struct big part;
    /* An integer of 54 or 55 bits times 2^power, or one of fewer where the lowest bit of a float is worth more. */
    int power = bits_of(above) - bits_of(under) - 54;
    if (power < -1076) power = -1076;
    if (power > 0) shift(under, power);
    else shift(above, -power);
    uint64_t made = 0;
    for (int place = 55; place >= 0; place--) {
        part.size = under->size;
        for (int at = 0; at < under->size; at++) part.words[at] = under->words[at];
        shift(&part, place);
        if (!below(above, &part)) {
            subtract(above, &part);
            made |= (uint64_t)1 << place;
        }
    }
    int spare = -1074 - power;
    while (made >> (53 + (spare > 0 ? spare : 0))) spare = spare > 0 ? spare + 1 : 1;
    uint64_t cut = made & (((uint64_t)1 << spare) - 1), half = (uint64_t)1 << (spare - 1);
    made >>= spare;
    power += spare;
    made += cut > half || (cut == half && (above->size || (made & 1)));
    if (power > 971 || (power == 971 && made >> 53)) return __builtin_inf();
    union { uint64_t bits; double x; } by;
    double x = (double)made;
    if (power < -1000) {
        /* In two steps, as the factor may be too small for a normal one; exact, as is the other. */
        by.bits = (uint64_t)(1023 + power + 1000) << 52;
        x *= by.x;
        power = -1000;
    }
    by.bits = (uint64_t)(1023 + power) << 52;
    return x * by.x;
}

static int matches(const char *at, const char *word) {
    int count = 0;
    while (word[count] && tolower((unsigned char)at[count]) == word[count]) count++;
    return word[count] ? 0 : count;
}

/* What is behind an e or a p: added to the exponent; where it ends. */
static const char *power_of(const char *at, int letter, int *exponent) {
    const char *here = at + 1;
    if (tolower((unsigned char)*at) != letter) return at;
    int down = *here == '-', value = 0;
    if (*here == '-' || *here == '+') here++;
    if (!isdigit((unsigned char)*here)) return at;
    for (; isdigit((unsigned char)*here); here++)
        if (value < 100000) value = value * 10 + (*here - '0');
    *exponent += down ? -value : value;
    return here;
}

static int digit16(int c) { return isdigit(c) ? c - '0' : isxdigit(c) ? tolower(c) - 'a' + 10 : -1; }

/* A number of digits of four bits, from behind its 0x; 0 where there is none. */
static const char *hexadecimal(const char *at, double *x) {
    static struct big above, under;
    int any = 0, point = 0, exponent = 0, digits = 0, lost = 0;
    above.size = 0;
    for (; digit16((unsigned char)*at) >= 0 || (*at == '.' && !point); at++) {
        int digit = digit16((unsigned char)*at);
        if (digit < 0) {
            point = 1;
            continue;
        }
        any = 1;
        if (digits < 40) {
            if (digits || digit) digits++;
            scale(&above, 16, (uint32_t)digit);
            exponent -= 4 * point;
        } else {
            lost |= digit;
            exponent += 4 * !point;
        }
    }
    if (!any) return 0;
    at = power_of(at, 'p', &exponent);
    *x = 0;
    int bits = bits_of(&above) + exponent;
    if (digits && bits > 1100) *x = __builtin_inf();
    else if (digits && bits > -1200) {
        if (lost) { scale(&above, 16, 1); exponent -= 4; }
        under.size = 1;
        under.words[0] = 1;
        shift(exponent < 0 ? &under : &above, exponent < 0 ? -exponent : exponent);
        *x = quotient(&above, &under);
    }
    return at;
}

double strtod(const char *from, char **end) {
    static struct big above, under;
    static const double tens[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *at = from;
    while (isspace((unsigned char)*at)) at++;
    int negative = *at == '-';
    if (*at == '-' || *at == '+') at++;
    int word = matches(at, "infinity") ? 8 : matches(at, "inf") ? 3 : 0;
    if (word || matches(at, "nan")) {
        if (end) *end = (char *)at + (word ? word : 3);
        double x = word ? __builtin_inf() : __builtin_nan("");
        return negative ? -x : x;
    }
    double by_bits;
    const char *behind = *at == '0' && (at[1] | 32) == 'x' ? hexadecimal(at + 2, &by_bits) : 0;
    if (behind) {
        if (end) *end = (char *)behind;
        if (by_bits - by_bits != 0) errno = ERANGE;
        return negative ? -by_bits : by_bits;
    }
    int any = 0, point = 0, exponent = 0, digits = 0, lost = 0;
    uint64_t small = 0;
    above.size = 0;
    for (; isdigit((unsigned char)*at) || (*at == '.' && !point); at++) {
        if (*at == '.') {
            point = 1;
            continue;
        }
        any = 1;
        if (digits < 800) {
            if (digits || *at != '0') {
                digits++;
                if (digits <= 18) small = small * 10 + (uint64_t)(*at - '0');
                scale(&above, 10, (uint32_t)(*at - '0'));
            }
            exponent -= point;
        } else {
            lost |= *at != '0';
            exponent += !point;
        }
    }
    if (!any) {
        if (end) *end = (char *)from;
        return 0;
    }
    at = power_of(at, 'e', &exponent);
    if (end) *end = (char *)at;
    double x;
    if (!digits) x = 0;
    else if (digits <= 15 && exponent >= -22 && exponent <= 22) x = exponent < 0 ? (double)small / tens[-exponent] : (double)small * tens[exponent];
    else if (digits + exponent > 310) x = __builtin_inf();
    else if (digits + exponent < -330) x = 0;
    else {
        /* (What has been cut off is not 0: a digit more says so.) */
        if (lost) { scale(&above, 10, 1); exponent--; }
        under.size = 1;
        under.words[0] = 1;
        for (; exponent > 0; exponent--) scale(&above, 10, 0);
        for (; exponent < 0; exponent++) scale(&under, 10, 0);
        x = quotient(&above, &under);
    }
    if (x - x != 0) errno = ERANGE;
    return negative ? -x : x;
}

float strtof(const char *from, char **end) { return (float)strtod(from, end); }
double atof(const char *from) { return strtod(from, 0); }

/* --- integers ------------------------------------------------------------------------------------------------------------------------------------------ */

static uint64_t parsed(const char *from, char **end, int base, uint64_t most_up, uint64_t most_down) {
    const char *at = from;
    while (isspace((unsigned char)*at)) at++;
    int negative = *at == '-', any = 0, over = 0;
    if (*at == '-' || *at == '+') at++;
    if ((base == 0 || base == 16) && at[0] == '0' && (at[1] | 32) == 'x' && (isdigit((unsigned char)at[2]) || ((at[2] | 32) >= 'a' && (at[2] | 32) <= 'f'))) {
        at += 2;
        base = 16;
    }
    if (!base) base = *at == '0' ? 8 : 10;
    uint64_t value = 0, most = negative ? most_down : most_up;
    for (;; at++) {
        int c = (unsigned char)*at, digit = isdigit(c) ? c - '0' : isalnum(c) ? tolower(c) - 'a' + 10 : 99;
        if (digit >= base) break;
        any = 1;
        if (value > (most - (uint64_t)digit) / (uint64_t)base) over = 1;
        else value = value * (uint64_t)base + (uint64_t)digit;
    }
    if (end) *end = (char *)(any ? at : from);
    if (over) {
        errno = ERANGE;
        value = most;
    }
    return negative && !(over && most_up == UINT64_MAX) ? 0 - value : value;
}

long strtol(const char *from, char **end, int base) { return (long)parsed(from, end, base, INT64_MAX, (uint64_t)1 << 63); }
unsigned long strtoul(const char *from, char **end, int base) { return parsed(from, end, base, UINT64_MAX, UINT64_MAX); }
long long strtoll(const char *from, char **end, int base) { return strtol(from, end, base); }
unsigned long long strtoull(const char *from, char **end, int base) { return strtoul(from, end, base); }
/* (What headers from 2023 on call them.) */
long __isoc23_strtol(const char *from, char **end, int base) { return strtol(from, end, base); }
unsigned long __isoc23_strtoul(const char *from, char **end, int base) { return strtoul(from, end, base); }
long long __isoc23_strtoll(const char *from, char **end, int base) { return strtol(from, end, base); }
unsigned long long __isoc23_strtoull(const char *from, char **end, int base) { return strtoul(from, end, base); }
int atoi(const char *from) { return (int)strtol(from, 0, 10); }
long atol(const char *from) { return strtol(from, 0, 10); }
long long atoll(const char *from) { return strtol(from, 0, 10); }
long strtoimax(const char *from, char **end, int base) { return strtol(from, end, base); }
unsigned long strtoumax(const char *from, char **end, int base) { return strtoul(from, end, base); }
int abs(int x) { return x < 0 ? -x : x; }
long labs(long x) { return x < 0 ? -x : x; }
long long llabs(long long x) { return x < 0 ? -x : x; }

typedef struct { int quot, rem; } div_t;
typedef struct { long quot, rem; } ldiv_t;
div_t div(int a, int b) { return (div_t){a / b, a % b}; }
ldiv_t ldiv(long a, long b) { return (ldiv_t){a / b, a % b}; }
ldiv_t lldiv(long a, long b) { return ldiv(a, b); }
ldiv_t imaxdiv(long a, long b) { return ldiv(a, b); }
long imaxabs(long x) { return labs(x); }
int ffsll(long long x) { return x ? __builtin_ctzll((unsigned long long)x) + 1 : 0; }
int ffsl(long x) { return ffsll(x); }
int ffs(int x) { return ffsll(x); }

/* --- random numbers: the additive generator of the C library that programs know, so that they find the same numbers here (Knuth, The Art of Computer Programming, volume 2, 3.2.2, algorithm A) --- */

#define TERMS 31
#define SHIFT 3
#define FIRST_LEFT_OUT 310
static uint32_t terms[TERMS];
static int newest, seeded;

void srandom(unsigned seed) {
    int32_t word = seed ? (int32_t)seed : 1;
    terms[0] = (uint32_t)word;
    for (int at = 1; at < TERMS; at++) {
        /* (16807 times the word before, modulo 2^31 - 1.) */
        int64_t next = (int64_t)16807 * word % 2147483647;
        word = (int32_t)(next < 0 ? next + 2147483647 : next);
        terms[at] = (uint32_t)word;
    }
    newest = SHIFT;
    seeded = 1;
    for (int count = 0; count < FIRST_LEFT_OUT; count++) {
        terms[newest] += terms[(newest + TERMS - SHIFT) % TERMS];
        newest = newest + 1 == TERMS ? 0 : newest + 1;
    }
}

long random(void) {
    if (!seeded) srandom(1);
    int other = newest - SHIFT;
    uint32_t made = terms[newest] += terms[other < 0 ? other + TERMS : other];
    newest = newest + 1 == TERMS ? 0 : newest + 1;
    return made >> 1;
}

void srand(unsigned seed) { srandom(seed); }
int rand(void) { return (int)random(); }

int rand_r(unsigned *seed) {
    uint32_t next = *seed, made;
    next = next * 1103515245 + 12345;
    made = next / 65536 % 2048;
    next = next * 1103515245 + 12345;
    made = made << 10 ^ next / 65536 % 1024;
    next = next * 1103515245 + 12345;
    made = made << 10 ^ next / 65536 % 1024;
    *seed = next;
    return (int)made;
}

/* Those of POSIX, of 48 bits. */
static uint64_t state = 0x1234ABCD330E;
static uint64_t stepped(void) { return state = (state * 0x5DEECE66D + 11) & 0xFFFFFFFFFFFF; }
void srand48(long seed) { state = (uint64_t)(uint32_t)seed << 16 | 0x330E; }
double drand48(void) { return (double)stepped() * 0x1p-48; }
long lrand48(void) { return (long)(stepped() >> 17); }
long mrand48(void) { return (int32_t)(stepped() >> 16); }

/* --- sorting and searching: by merging (Knuth, volume 3, 5.2.4), which leaves equal elements in their order; without memory for it heapsort (5.2.3) -------------- */

typedef int compare(const void *, const void *, void *);

static void swap(char *a, char *b, size_t size) {
    for (; size; size--, a++, b++) {
        char kept = *a;
        *a = *b;
        *b = kept;
    }
}

static void sift(char *base, size_t at, size_t count, size_t size, compare *order, void *more) {
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count) return;
        if (child + 1 < count && order(base + child * size, base + (child + 1) * size, more) < 0) child++;
        if (order(base + at * size, base + child * size, more) >= 0) return;
        swap(base + at * size, base + child * size, size);
        at = child;
    }
}

static void heapsort(char *base, size_t count, size_t size, compare *order, void *more) {
    for (size_t at = count / 2; at-- > 0;) sift(base, at, count, size, order, more);
    for (size_t left = count; left > 1; left--) {
        swap(base, base + (left - 1) * size, size);
        sift(base, 0, left - 1, size, order, more);
    }
}

/* Both halves, and then the lower one, from a copy, and the upper one where it is, to their places. */
static void merge(char *base, size_t count, size_t size, compare *order, void *more, char *copy) {
    size_t half = count / 2;
    if (!half) return;
    char *upper = base + half * size, *end = base + count * size, *to = base, *lower = copy;
    merge(base, half, size, order, more, copy);
    merge(upper, count - half, size, order, more, copy);
    memcpy(copy, base, half * size);
    while (lower < copy + half * size && upper < end) {
        char **taken = order(lower, upper, more) <= 0 ? &lower : &upper;
        memcpy(to, *taken, size);
        *taken += size;
        to += size;
    }
    memcpy(to, lower, (size_t)(copy + half * size - lower));
}

void qsort_r(void *array, size_t count, size_t size, compare *order, void *more) {
    if (count < 2 || !size) return;
    char *copy = malloc(count / 2 * size);
    if (copy) merge(array, count, size, order, more, copy);
    else heapsort(array, count, size, order, more);
    free(copy);
}

/* (A function that is given more arguments than it takes does not see them.) */
void qsort(void *array, size_t count, size_t size, int (*order)(const void *, const void *)) { qsort_r(array, count, size, (compare *)order, 0); }

void *bsearch(const void *key, const void *array, size_t count, size_t size, int (*order)(const void *, const void *)) {
    const char *base = array;
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        int c = order(key, base + middle * size);
        if (!c) return (void *)(base + middle * size);
        if (c < 0) count = middle;
        else low = middle + 1;
    }
    return 0;
}
