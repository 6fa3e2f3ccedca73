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
    if (*at == 'e' || *at == 'E') {
        const char *here = at + 1;
        int down = *here == '-', value = 0;
        if (*here == '-' || *here == '+') here++;
        if (isdigit((unsigned char)*here)) {
            for (; isdigit((unsigned char)*here); here++)
                if (value < 100000) value = value * 10 + (*here - '0');
            exponent += down ? -value : value;
            at = here;
        }
    }
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
int abs(int x) { return x < 0 ? -x : x; }
long labs(long x) { return x < 0 ? -x : x; }
long long llabs(long long x) { return x < 0 ? -x : x; }

/* --- random numbers: a linear congruential generator (Knuth, The Art of Computer Programming, volume 2, 3.3.4, line 26) -------------------------------------- */

static uint64_t state = 1;

void srand(unsigned seed) { state = seed; }

int rand(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)(state >> 33);
}

/* --- sorting and searching: heapsort, which needs no memory (Knuth, volume 3, 5.2.3) ------------------------------------------------------------------------- */

typedef int compare(const void *, const void *);

static void swap(char *a, char *b, size_t size) {
    for (; size; size--, a++, b++) {
        char kept = *a;
        *a = *b;
        *b = kept;
    }
}

static void sift(char *base, size_t at, size_t count, size_t size, compare *order) {
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count) return;
        if (child + 1 < count && order(base + child * size, base + (child + 1) * size) < 0) child++;
        if (order(base + at * size, base + child * size) >= 0) return;
        swap(base + at * size, base + child * size, size);
        at = child;
    }
}

void qsort(void *array, size_t count, size_t size, compare *order) {
    char *base = array;
    for (size_t at = count / 2; at-- > 0;) sift(base, at, count, size, order);
    for (size_t left = count; left > 1; left--) {
        swap(base, base + (left - 1) * size, size);
        sift(base, 0, left - 1, size, order);
    }
}

void *bsearch(const void *key, const void *array, size_t count, size_t size, compare *order) {
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
