/* Checksums and hashes of the arguments and of generated text: Adler-32, CRC-32, FNV-1a, MurmurHash3, SHA-256, SipHash. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint32_t crc_table[256];

static void make_crc_table(void) {
    for (uint32_t n = 0; n < 256; n++) {
        uint32_t c = n;
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ c >> 1 : c >> 1;
        crc_table[n] = c;
    }
}

static uint32_t crc32(const uint8_t *p, size_t n) {
    uint32_t c = ~0u;
    while (n--) c = crc_table[(c ^ *p++) & 255] ^ c >> 8;
    return ~c;
}

static uint32_t adler32(const uint8_t *p, size_t n) {
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < n; i++) {
        a = (a + p[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

static uint64_t fnv1a(const uint8_t *p, size_t n) {
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 1099511628211u;
    return h;
}

static uint32_t rotl32(uint32_t x, int r) { return x << r | x >> (32 - r); }
static uint32_t rotr32(uint32_t x, int r) { return x >> r | x << (32 - r); }
static uint64_t rotl64(uint64_t x, int r) { return x << r | x >> (64 - r); }

static uint32_t murmur3(const uint8_t *p, size_t n, uint32_t seed) {
    uint32_t h = seed, k;
    size_t blocks = n / 4;
    for (size_t i = 0; i < blocks; i++) {
        memcpy(&k, p + 4 * i, 4);
        k = rotl32(k * 0xcc9e2d51u, 15) * 0x1b873593u;
        h = rotl32(h ^ k, 13) * 5 + 0xe6546b64u;
    }
    k = 0;
    switch (n & 3) {
    case 3: k ^= p[blocks * 4 + 2] << 16; /* fall through */
    case 2: k ^= p[blocks * 4 + 1] << 8;  /* fall through */
    case 1: k ^= p[blocks * 4]; h ^= rotl32(k * 0xcc9e2d51u, 15) * 0x1b873593u;
    }
    h ^= n;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

static void sip_round(uint64_t v[4]) {
    v[0] += v[1]; v[1] = rotl64(v[1], 13) ^ v[0]; v[0] = rotl64(v[0], 32);
    v[2] += v[3]; v[3] = rotl64(v[3], 16) ^ v[2];
    v[0] += v[3]; v[3] = rotl64(v[3], 21) ^ v[0];
    v[2] += v[1]; v[1] = rotl64(v[1], 17) ^ v[2]; v[2] = rotl64(v[2], 32);
}

static uint64_t siphash(const uint8_t *p, size_t n, uint64_t k0, uint64_t k1) {
    uint64_t v[4] = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u, k1 ^ 0x7465646279746573u};
    uint64_t m, last = (uint64_t)n << 56;
    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&m, p, 8);
        v[3] ^= m; sip_round(v); sip_round(v); v[0] ^= m;
    }
    for (size_t i = 0; i < n; i++) last |= (uint64_t)p[i] << 8 * i;
    v[3] ^= last; sip_round(v); sip_round(v); v[0] ^= last;
    v[2] ^= 255;
    for (int i = 0; i < 4; i++) sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

struct sha256 { uint32_t h[8]; uint64_t length; uint8_t block[64]; };

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
        0x72be5d74,
    0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152,
        0xa831c66d,
    0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb,
        0x81c2c92e,
    0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c,
        0x34b0bcb5,
    0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static void sha_block(struct sha256 *s) {
    uint32_t w[64], a[8];
    for (int i = 0; i < 16; i++) w[i] = (uint32_t)s->block[4 * i] << 24 | s->block[4 * i + 1] << 16 | s->block[4 * i + 2] << 8 | s->block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t x = rotr32(w[i - 15], 7) ^ rotr32(w[i - 15], 18) ^ w[i - 15] >> 3, y = rotr32(w[i - 2], 17) ^ rotr32(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + x + w[i - 7] + y;
    }
    memcpy(a, s->h, sizeof a);
    for (int i = 0; i < 64; i++) {
        uint32_t t = a[7] + (rotr32(a[4], 6) ^ rotr32(a[4], 11) ^ rotr32(a[4], 25)) + ((a[4] & a[5]) ^ (~a[4] & a[6])) + K[i] + w[i];
        uint32_t u = (rotr32(a[0], 2) ^ rotr32(a[0], 13) ^ rotr32(a[0], 22)) + ((a[0] & a[1]) ^ (a[0] & a[2]) ^ (a[1] & a[2]));
        memmove(a + 1, a, 28);
        a[4] += t;
        a[0] = t + u;
    }
    for (int i = 0; i < 8; i++) s->h[i] += a[i];
}

static struct sha256 sha_begin(void) {
    struct sha256 s = {{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}, 0, {0}};
    return s;
}

static void sha_add(struct sha256 *s, const uint8_t *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        s->block[s->length++ % 64] = p[i];
        if (s->length % 64 == 0) sha_block(s);
    }
}

static void sha_end(struct sha256 *s, char *out) {
    uint64_t bits = s->length * 8;
    uint8_t one = 0x80, zero = 0, big[8];
    sha_add(s, &one, 1);
    while (s->length % 64 != 56) sha_add(s, &zero, 1);
    for (int i = 0; i < 8; i++) big[i] = bits >> (56 - 8 * i);
    sha_add(s, big, 8);
    for (int i = 0; i < 8; i++) sprintf(out + 8 * i, "%08x", s->h[i]);
}

static void show(const char *name, const uint8_t *p, size_t n) {
    char text[65];
    struct sha256 s = sha_begin();
    sha_add(&s, p, n);
    sha_end(&s, text);
    printf("%s (%zu)\n  %08x %08x %016llx %08x %016llx\n  %s\n", name, n, crc32(p, n), adler32(p, n), (unsigned long long)fnv1a(p, n), murmur3(p, n, 42),
           (unsigned long long)siphash(p, n, 0x0706050403020100u, 0x0f0e0d0c0b0a0908u), text);
}

int main(int argc, char **argv) {
    static uint8_t text[20000];
    make_crc_table();
    for (int i = 1; i < argc; i++) show(argv[i], (const uint8_t *)argv[i], strlen(argv[i]));
    for (size_t i = 0; i < sizeof text; i++) text[i] = i * i * 31 + (i >> 3);
    for (size_t n = 0; n < 20000; n = n * 3 + 1) show("text", text, n);
    return 0;
}
