/* CoreMark-like: the kinds of work that EEMBC's benchmark names (lists that are searched, sorted and turned round, products of small matrices, a state machine over
   text, a checksum over the results). A program of our own. */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifndef ROUNDS
#define ROUNDS 2
#endif
#define APART __attribute__((noinline))

/* --- the checksum of 16 bits, x^16 + x^15 + x^2 + 1, bit by bit -------------------------------------------------- */

static APART uint16_t sum_of_byte(uint8_t data, uint16_t crc) {
    for (int i = 0; i < 8; i++) {
        int carry = (data ^ crc) & 1;
        data >>= 1;
        crc >>= 1;
        if (carry) crc ^= 0xa001;
    }
    return crc;
}

static uint16_t sum_of(uint32_t value, int bytes, uint16_t crc) {
    for (; bytes; bytes--, value >>= 8) crc = sum_of_byte((uint8_t)value, crc);
    return crc;
}

/* --- lists ----------------------------------------------------------------------------------------------------- */

struct item {
    struct item *next;
    int16_t key, place;
};

#define ITEMS 60
static struct item items[ITEMS];

static struct item *listed(int seed) {
    for (int i = 0; i < ITEMS; i++) {
        items[i].next = i + 1 < ITEMS ? &items[i + 1] : 0;
        items[i].key = (int16_t)((i * 37 + seed * 11) % 101);
        items[i].place = (int16_t)i;
    }
    return items;
}

static APART struct item *found(struct item *list, int key) {
    while (list && list->key != key) list = list->next;
    return list;
}

static APART struct item *turned(struct item *list) {
    struct item *made = 0;
    while (list) {
        struct item *next = list->next;
        list->next = made;
        made = list;
        list = next;
    }
    return made;
}

static int by_key(const struct item *a, const struct item *b) { return a->key - b->key; }
static int by_place(const struct item *a, const struct item *b) { return a->place - b->place; }

/* Runs of 1, 2, 4, ... items are merged until there is one. */
static APART struct item *sorted(struct item *list, int (*order)(const struct item *, const struct item *)) {
    for (int run = 1;; run *= 2) {
        struct item *rest = list, *made = 0, **end = &made;
        int merges = 0;
        while (rest) {
            struct item *a = rest, *b = a;
            int left = 0, right = run;
            merges++;
            while (left < run && b) { left++; b = b->next; }
            while (left || (right && b)) {
                struct item *taken;
                if (left && (!right || !b || order(a, b) <= 0)) { taken = a; a = a->next; left--; }
                else { taken = b; b = b->next; right--; }
                *end = taken;
                end = &taken->next;
            }
            rest = b;
        }
        *end = 0;
        list = made;
        if (merges <= 1) return list;
    }
}

static APART uint16_t lists(int seed, uint16_t crc) {
    struct item *list = listed(seed);
    for (int key = 0; key < 20; key++) {
        struct item *known = found(list, key * 5);
        crc = sum_of(known ? (uint32_t)known->place : 0xffff, 2, crc);
        list = turned(list);
    }
    list = sorted(list, by_key);
    for (struct item *at = list; at; at = at->next) crc = sum_of((uint32_t)at->key, 2, crc);
    list = sorted(list, by_place);
    return sum_of((uint32_t)list->next->key, 2, crc);
}

/* --- matrices ---------------------------------------------------------------------------------------------------- */

#define N 10
static int16_t left[N][N], right[N][N];
static int32_t product[N][N];

static APART uint16_t matrices(int seed, uint16_t crc) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            left[i][j] = (int16_t)((i * N + j + seed) % 17 - 8);
            right[i][j] = (int16_t)((i + j * N) % 19 + seed);
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) left[i][j] = (int16_t)(left[i][j] + 3);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            int32_t sum = 0;
            for (int k = 0; k < N; k++) sum += left[i][k] * right[k][j];
            product[i][j] = sum;
        }
    int32_t total = 0, last = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            int32_t now = product[i][j];
            total += now > 500 ? 10 : now > last;
            last = now;
        }
    return sum_of((uint32_t)total, 4, crc);
}

/* --- a state machine --------------------------------------------------------------------------------------------- */

enum state { START, INTEGER, SIGNED, POINT, FRACTION, EXPONENT, SCALE, WRONG, STATES };
static char text[] = "5012,1234,-874,+122,35.54400,.1234500,-110.700,+0.64400,5.500e+3,-.123e-2,-87e+832,+0.6e-12,T0.3e-1F,-T.T++Tq,1T3.4e4z,34.0e-T^";

static enum state step(enum state now, char c) {
    int digit = c >= '0' && c <= '9';
    switch (now) {
    case START: return digit ? INTEGER : c == '+' || c == '-' ? SIGNED : c == '.' ? POINT : WRONG;
    case SIGNED: return digit ? INTEGER : c == '.' ? POINT : WRONG;
    case INTEGER: return digit ? INTEGER : c == '.' ? FRACTION : WRONG;
    case POINT:
    case FRACTION: return digit ? FRACTION : c == 'e' || c == 'E' ? EXPONENT : WRONG;
    case EXPONENT: return digit || c == '+' || c == '-' ? SCALE : WRONG;
    case SCALE: return digit ? SCALE : WRONG;
    default: return WRONG;
    }
}

static APART uint16_t states(int seed, uint16_t crc) {
    uint32_t ends[STATES] = {0}, steps[STATES] = {0};
    enum state now = START;
    for (const char *at = text; *at; at++) {
        char c = (at - text) % 29 == seed ? 'x' : *at;
        if (c == ',') {
            ends[now]++;
            now = START;
        } else {
            now = step(now, c);
            steps[now]++;
        }
    }
    for (int i = 0; i < STATES; i++) crc = sum_of(ends[i] << 8 | steps[i], 2, crc);
    return crc;
}

int main(void) {
    uint16_t crc = 0;
    for (int round = 0; round < ROUNDS; round++) {
        crc = lists(round, crc);
        crc = matrices(round, crc);
        crc = states(round, crc);
    }
    printf("%04x\n", crc);
    return 0;
}
