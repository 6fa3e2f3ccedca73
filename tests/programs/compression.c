/* Compression: matches in a window (as in LZ77), then a Huffman code; and back. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 4096, LEAST = 3, MOST = 66, SYMBOLS = 256 + 64 };
struct node { unsigned weight; short symbol, left, right; };
struct writer { uint8_t *out; uint64_t bits; int count; size_t size; };
struct reader { const uint8_t *in; size_t at; unsigned bit; };

static void put(struct writer *w, uint32_t value, int count) {
    w->bits |= (uint64_t)value << w->count;
    for (w->count += count; w->count >= 8; w->count -= 8, w->bits >>= 8) w->out[w->size++] = (uint8_t)w->bits;
}

static unsigned get(struct reader *r, int count) {
    unsigned value = 0;
    for (int i = 0; i < count; i++) {
        value |= (unsigned)(r->in[r->at] >> r->bit & 1) << i;
        if (++r->bit == 8) r->bit = 0, r->at++;
    }
    return value;
}

static void lengths(struct node *nodes, int root, int depth, uint8_t *out) {
    if (nodes[root].symbol >= 0) { out[nodes[root].symbol] = depth ? depth : 1; return; }
    lengths(nodes, nodes[root].left, depth + 1, out);
    lengths(nodes, nodes[root].right, depth + 1, out);
}

static void huffman(const unsigned *count, uint8_t *length) {
    static struct node nodes[2 * SYMBOLS];
    int heap[SYMBOLS], n = 0, made = 0;
    memset(length, 0, SYMBOLS);
    for (int s = 0; s < SYMBOLS; s++) if (count[s]) { nodes[made] = (struct node){count[s], s, -1, -1}; heap[n++] = made++; }
    while (n > 1) {
        int pick[2];
        for (int k = 0; k < 2; k++) {
            int least = 0;
            for (int i = 1; i < n; i++) if (nodes[heap[i]].weight < nodes[heap[least]].weight) least = i;
            pick[k] = heap[least];
            heap[least] = heap[--n];
        }
        nodes[made] = (struct node){nodes[pick[0]].weight + nodes[pick[1]].weight, -1, pick[0], pick[1]};
        heap[n++] = made++;
    }
    if (n) lengths(nodes, heap[0], 0, length);
}

static void codes(const uint8_t *length, uint32_t *code) {
    uint32_t next = 0;
    for (int l = 1; l <= 32; l++, next <<= 1) for (int s = 0; s < SYMBOLS; s++) if (length[s] == l) {
        uint32_t c = next++, r = 0;
        for (int i = 0; i < l; i++) r |= (c >> i & 1) << (l - 1 - i);
        code[s] = r;
    }
}

static size_t pack(const uint8_t *in, size_t n, uint8_t *out) {
    uint16_t *symbols = malloc(2 * n + 2), *distances = malloc(2 * n + 2);
    int *head = malloc(65536 * sizeof *head), *chain = malloc(n * sizeof *chain + 4);
    unsigned count[SYMBOLS] = {0};
    uint8_t length[SYMBOLS];
    uint32_t code[SYMBOLS];
    size_t made = 0;
    memset(head, -1, 65536 * sizeof *head);
    for (size_t i = 0; i < n;) {
        size_t best = 0, distance = 0;
        unsigned key = i + 2 < n ? (in[i] * 31u * 31 + in[i + 1] * 31u + in[i + 2]) & 65535 : 0;
        if (i + LEAST <= n) for (int at = head[key], tries = 50; at >= 0 && i - at <= WINDOW && tries--; at = chain[at]) {
            size_t k = 0;
            while (k < MOST && i + k < n && in[at + k] == in[i + k]) k++;
            if (k > best) best = k, distance = i - at;
        }
        symbols[made] = best >= LEAST ? 256 + best - LEAST : in[i];
        distances[made] = distance;
        count[symbols[made++]]++;
        for (size_t k = best >= LEAST ? best : 1; k--; i++) if (i + 2 < n) {
            key = (in[i] * 31u * 31 + in[i + 1] * 31u + in[i + 2]) & 65535;
            chain[i] = head[key];
            head[key] = i;
        }
    }
    huffman(count, length);
    codes(length, code);
    struct writer w = {out, 0, 0, 0};
    put(&w, (uint32_t)made, 24);
    for (int s = 0; s < SYMBOLS; s++) put(&w, length[s], 5);
    for (size_t i = 0; i < made; i++) {
        put(&w, code[symbols[i]], length[symbols[i]]);
        if (symbols[i] >= 256) put(&w, distances[i] - 1, 12);
    }
    put(&w, 0, 7);
    free(symbols); free(distances); free(head); free(chain);
    return w.size;
}

static size_t unpack(const uint8_t *in, uint8_t *out) {
    struct reader r = {in, 0, 0};
    uint8_t length[SYMBOLS];
    uint32_t code[SYMBOLS];
    size_t left = get(&r, 24), n = 0;
    for (int s = 0; s < SYMBOLS; s++) length[s] = get(&r, 5);
    codes(length, code);
    while (left--) {
        uint32_t c = 0;
        int symbol = -1;
        for (int l = 0; symbol < 0 && l < 32;) {
            c |= get(&r, 1) << l++;
            for (int s = 0; s < SYMBOLS; s++) if (length[s] == l && code[s] == c) { symbol = s; break; }
        }
        if (symbol < 256) { out[n++] = symbol; continue; }
        size_t distance = get(&r, 12) + 1;
        for (int k = symbol - 256 + LEAST; k--; n++) out[n] = out[n - distance];
    }
    return n;
}

int main(void) {
    static uint8_t text[30000], packed[40000], back[30000];
    static const char *const words[] = {"the ", "quick ", "brown ", "fox ", "jumps ", "over ", "lazy ", "dog. ", "and ", "then "};
    unsigned seed = 1;
    for (int kind = 0; kind < 4; kind++) {
        size_t n = 0;
        while (n < sizeof text - 16) {
            seed = seed * 1103515245u + 12345;
            if (kind == 0) n += sprintf((char *)text + n, "%s", words[(seed >> 16) % 10]);
            else if (kind == 1) text[n++] = seed >> 24;
            else if (kind == 2) text[n++] = 'a';
            else text[n] = (uint8_t)(n * n >> 7), n++;
        }
        if (kind == 2) n = 1000;
        size_t size = pack(text, n, packed), again = unpack(packed, back);
        unsigned sum = 0;
        for (size_t i = 0; i < size; i++) sum = sum * 131 + packed[i];
        printf("%zu bytes to %zu (%08x): %s\n", n, size, sum, again == n && !memcmp(text, back, n) ? "the same again" : "something else");
    }
    return 0;
}
