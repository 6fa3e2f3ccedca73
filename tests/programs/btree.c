/* A B-tree of strings to numbers with nodes that split, and a hash table that grows; both give the same answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 5 };
typedef struct { char *key; long value; } Entry;
typedef struct Node { int count; Entry entries[MOST]; struct Node *children[MOST + 1]; } Node;
typedef struct { Entry middle; Node *right; } Split;

static Split insert(Node *n, Entry e) {
    int at = 0;
    while (at < n->count && strcmp(n->entries[at].key, e.key) < 0)
        at++;
    if (at < n->count && !strcmp(n->entries[at].key, e.key)) {
        n->entries[at].value += e.value;
        return (Split){{NULL, 0}, NULL};
    }
    Node *right = NULL;
    if (n->children[0]) {
        Split s = insert(n->children[at], e);
        if (!s.middle.key)
            return s;
        e = s.middle;
        right = s.right;
    } else
        e.key = strdup(e.key);
    if (n->count < MOST) {
        memmove(n->entries + at + 1, n->entries + at, (n->count - at) * sizeof *n->entries);
        memmove(n->children + at + 2, n->children + at + 1, (n->count - at) * sizeof *n->children);
        n->entries[at] = e;
        n->children[at + 1] = right;
        n->count++;
        return (Split){{NULL, 0}, NULL};
    }
    Entry all[MOST + 1];
    Node *below[MOST + 2];
    memcpy(all, n->entries, at * sizeof *all);
    all[at] = e;
    memcpy(all + at + 1, n->entries + at, (MOST - at) * sizeof *all);
    memcpy(below, n->children, (at + 1) * sizeof *below);
    below[at + 1] = right;
    memcpy(below + at + 2, n->children + at + 1, (MOST - at) * sizeof *below);
    Node *other = calloc(1, sizeof *other);
    int half = (MOST + 1) / 2;
    n->count = half;
    memcpy(n->entries, all, half * sizeof *all);
    memcpy(n->children, below, (half + 1) * sizeof *below);
    other->count = MOST - half;
    memcpy(other->entries, all + half + 1, other->count * sizeof *all);
    memcpy(other->children, below + half + 1, (other->count + 1) * sizeof *below);
    return (Split){all[half], other};
}

static Node *with(Node *root, Entry e) {
    Split s = insert(root, e);
    if (!s.middle.key)
        return root;
    Node *top = calloc(1, sizeof *top);
    top->count = 1;
    top->entries[0] = s.middle;
    top->children[0] = root;
    top->children[1] = s.right;
    return top;
}

static void walk(const Node *n, void (*visit)(const Entry *, void *), void *data) {
    for (int i = 0; i <= n->count; i++) {
        if (n->children[i])
            walk(n->children[i], visit, data);
        if (i < n->count)
            visit(&n->entries[i], data);
    }
}

typedef struct { Entry *slots; size_t room, count; } Table;

static unsigned long hash(const char *s) {
    unsigned long h = 14695981039346656037ul;
    while (*s)
        h = (h ^ (unsigned char)*s++) * 1099511628211ul;
    return h;
}

static Entry *slot(Table *t, const char *key) {
    size_t at = hash(key) & (t->room - 1);
    while (t->slots[at].key && strcmp(t->slots[at].key, key))
        at = (at + 1) & (t->room - 1);
    return &t->slots[at];
}

static void count(Table *t, const char *key, long value) {
    if (2 * t->count >= t->room) {
        Table bigger = {calloc(2 * t->room, sizeof(Entry)), 2 * t->room, t->count};
        for (size_t i = 0; i < t->room; i++)
            if (t->slots[i].key)
                *slot(&bigger, t->slots[i].key) = t->slots[i];
        free(t->slots);
        *t = bigger;
    }
    Entry *e = slot(t, key);
    if (!e->key) {
        e->key = strdup(key);
        t->count++;
    }
    e->value += value;
}

typedef struct { Table *table; long sum; int seen, wrong; char last[16]; } Check;

static void check(const Entry *e, void *data) {
    Check *c = data;
    c->seen++;
    c->sum = c->sum * 7 + e->value;
    c->wrong += strcmp(c->last, e->key) >= 0 || slot(c->table, e->key)->value != e->value;
    strcpy(c->last, e->key);
}

int main(void) {
    Node *root = calloc(1, sizeof *root);
    Table table = {calloc(4, sizeof(Entry)), 4, 0};
    unsigned seed = 42;
    for (int i = 0; i < 20000; i++) {
        char key[16];
        seed = seed * 1664525 + 1013904223;
        sprintf(key, "k%u", (seed >> 12) % 3000);
        root = with(root, (Entry){key, i % 13});
        count(&table, key, i % 13);
    }
    Check c = {&table, 0, 0, 0, ""};
    walk(root, check, &c);
    int height = 1;
    for (const Node *n = root; n->children[0]; n = n->children[0])
        height++;
    printf("%d keys, height %d, sum %ld, %d wrong, table of %zu\n", c.seen, height, c.sum, c.wrong, table.room);
    return 0;
}
