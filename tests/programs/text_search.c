/* Search in text: Knuth, Morris and Pratt; Horspool; Rabin and Karp; two patterns of wildcards; edit distance; words counted in a hash table. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness, it was the epoch of belief, it was the epoch "
    "of incredulity, it was the season of Light, it was the season of Darkness, it was the spring of hope, it was the winter of despair, we had everything before "
    "us, we had nothing before us, we were all going direct to Heaven, we were all going direct the other way";

static int kmp(const char *t, const char *p) {
    int n = strlen(t), m = strlen(p), found = 0, *fail = malloc((m + 1) * sizeof(int));
    fail[0] = -1;
    for (int i = 0, k = -1; i < m; fail[++i] = ++k) while (k >= 0 && p[i] != p[k]) k = fail[k];
    for (int i = 0, k = 0; i < n; i++) {
        while (k >= 0 && t[i] != p[k]) k = fail[k];
        if (++k == m) { found++; k = fail[k]; }
    }
    free(fail);
    return found;
}

static int horspool(const char *t, const char *p) {
    int n = strlen(t), m = strlen(p), found = 0, skip[256];
    for (int i = 0; i < 256; i++) skip[i] = m;
    for (int i = 0; i < m - 1; i++) skip[(unsigned char)p[i]] = m - 1 - i;
    for (int at = 0; at + m <= n; at += skip[(unsigned char)t[at + m - 1]]) if (!memcmp(t + at, p, m)) found++;
    return found;
}

static int rabin_karp(const char *t, const char *p) {
    const unsigned long q = 1000003, d = 256;
    unsigned long h = 1, x = 0, y = 0;
    int n = strlen(t), m = strlen(p), found = 0;
    if (m > n) return 0;
    for (int i = 1; i < m; i++) h = h * d % q;
    for (int i = 0; i < m; i++) { x = (x * d + p[i]) % q; y = (y * d + t[i]) % q; }
    for (int i = 0;; i++) {
        if (x == y && !strncmp(t + i, p, m)) found++;
        if (i + m >= n) return found;
        y = ((y + q * d - t[i] * h) % q * d + t[i + m]) % q;
    }
}

/* A pattern with . and * and anchors (R. Pike, in "Beautiful Code"). */
static int here(const char *p, const char *t);
static int star(int c, const char *p, const char *t) {
    do { if (here(p, t)) return 1; } while (*t && (*t++ == c || c == '.'));
    return 0;
}
static int here(const char *p, const char *t) {
    if (!p[0]) return 1;
    if (p[1] == '*') return star(p[0], p + 2, t);
    if (p[0] == '$' && !p[1]) return !*t;
    return *t && (p[0] == '.' || p[0] == *t) && here(p + 1, t + 1);
}
static int matches(const char *p, const char *t) {
    if (*p == '^') return here(p + 1, t);
    do { if (here(p, t)) return 1; } while (*t++);
    return 0;
}

static int distance(const char *a, const char *b) {
    int n = strlen(a), m = strlen(b), row[64];
    for (int j = 0; j <= m; j++) row[j] = j;
    for (int i = 1; i <= n; i++) {
        int before = row[0]++;
        for (int j = 1; j <= m; j++) {
            int least = before + (a[i - 1] != b[j - 1]);
            before = row[j];
            if (row[j] + 1 < least) least = row[j] + 1;
            if (row[j - 1] + 1 < least) least = row[j - 1] + 1;
            row[j] = least;
        }
    }
    return row[m];
}

struct entry { struct entry *next; int count; char word[]; };
static struct entry *table[64];

static struct entry *look_up(const char *word) {
    unsigned h = 0;
    for (const char *p = word; *p; p++) h = h * 33 ^ *p;
    struct entry **at = &table[h % 64];
    for (; *at; at = &(*at)->next) if (!strcmp((*at)->word, word)) return *at;
    *at = malloc(sizeof **at + strlen(word) + 1);
    (*at)->next = 0;
    (*at)->count = 0;
    return strcpy((*at)->word, word), *at;
}

static int more(const void *a, const void *b) {
    const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
    return x->count != y->count ? y->count - x->count : strcmp(x->word, y->word);
}

int main(void) {
    static const char *patterns[] = {"it was", "the", "of", "epoch of", "xyz", "ing", "s", "we had nothing before us"};
    for (unsigned i = 0; i < sizeof patterns / sizeof *patterns; i++)
        printf("%-26s %d %d %d\n", patterns[i], kmp(text, patterns[i]), horspool(text, patterns[i]), rabin_karp(text, patterns[i]));
    printf("overlaps: %d\n", kmp("aaaaabaaa", "aaa"));
    printf("%d %d %d %d %d\n", matches("^It.*way$", text), matches("^was", text), matches("ag*e of w", text), matches("z*y$", text), matches("b.*x", text));
    printf("%d %d %d\n", distance("kitten", "sitting"), distance("", "abc"), distance("incredulity", "credibility"));
    char word[32];
    int n = 0;
    for (const char *p = text;; p++) {
        if (isalpha((unsigned char)*p)) word[n++] = tolower((unsigned char)*p);
        else if (n) { word[n] = 0; look_up(word)->count++; n = 0; }
        if (!*p) break;
    }
    struct entry *all[200];
    for (int i = 0; i < 64; i++) for (struct entry *e = table[i]; e; e = e->next) all[n++] = e;
    qsort(all, n, sizeof *all, more);
    for (int i = 0; i < 8; i++) printf("%s %d\n", all[i]->word, all[i]->count);
    printf("%d words\n", n);
    return 0;
}
