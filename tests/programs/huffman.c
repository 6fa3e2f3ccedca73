/* Huffman codes by a heap of tree nodes on the heap; text to bits and back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Node { unsigned long weight; int symbol; struct Node *left, *right; } Node;
typedef struct { Node **items; size_t count, room; } Heap;
typedef struct { unsigned long bits; unsigned char length; } Code;

static int before(const Node *a, const Node *b) {
    return a->weight != b->weight ? a->weight < b->weight : a->symbol < b->symbol;
}

static void push(Heap *h, Node *n) {
    if (h->count == h->room)
        h->items = realloc(h->items, (h->room = h->room ? 2 * h->room : 4) * sizeof *h->items);
    size_t at = h->count++;
    while (at && before(n, h->items[(at - 1) / 2])) {
        h->items[at] = h->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    h->items[at] = n;
}

static Node *pop(Heap *h) {
    Node *top = h->items[0], *last = h->items[--h->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < h->count; at = child) {
        if (child + 1 < h->count && before(h->items[child + 1], h->items[child]))
            child++;
        if (!before(h->items[child], last))
            break;
        h->items[at] = h->items[child];
    }
    h->items[at] = last;
    return top;
}

static Node *node(unsigned long weight, int symbol, Node *left, Node *right) {
    Node *n = malloc(sizeof *n);
    *n = (Node){weight, symbol, left, right};
    return n;
}

static void codes(const Node *n, Code so_far, Code table[256]) {
    if (!n->left) {
        table[n->symbol] = so_far;
        return;
    }
    codes(n->left, (Code){so_far.bits << 1, so_far.length + 1}, table);
    codes(n->right, (Code){so_far.bits << 1 | 1, so_far.length + 1}, table);
}

static void drop(Node *n) {
    if (n) {
        drop(n->left);
        drop(n->right);
        free(n);
    }
}

int main(int argc, char **argv) {
    char text[6000] = "";
    unsigned seed = 7;
    for (int i = 1; i < argc; i++)
        strcat(text, argv[i]);
    for (size_t n = strlen(text); n < 5000; n++) {
        seed = seed * 1103515245 + 12345;
        text[n] = "eeeeeeetttttaaaaooooiinnsshhrrdlcumwfgypbvk  .,"[seed >> 16 & 0x7fff ? (seed >> 16) % 47 : 0];
    }
    unsigned long counts[256] = {0};
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        counts[(unsigned char)text[i]]++;
    Heap heap = {0};
    for (int c = 0; c < 256; c++)
        if (counts[c])
            push(&heap, node(counts[c], c, NULL, NULL));
    for (int inner = 256; heap.count > 1; inner++) {
        Node *a = pop(&heap), *b = pop(&heap);
        push(&heap, node(a->weight + b->weight, inner, a, b));
    }
    Node *tree = pop(&heap);
    Code table[256] = {{0}};
    codes(tree, (Code){0}, table);
    unsigned char *out = calloc(length, 1);
    size_t bits = 0;
    for (size_t i = 0; i < length; i++) {
        Code c = table[(unsigned char)text[i]];
        for (int k = c.length - 1; k >= 0; k--, bits++)
            out[bits / 8] |= (c.bits >> k & 1) << (7 - bits % 8);
    }
    printf("%zu bytes become %zu bits\n", length, bits);
    for (int c = 0; c < 256; c++)
        if (table[c].length)
            printf("%c:%d:%lx ", c, table[c].length, table[c].bits);
    puts("");
    size_t same = 0;
    const Node *at = tree;
    for (size_t b = 0; b < bits; b++) {
        at = out[b / 8] >> (7 - b % 8) & 1 ? at->right : at->left;
        if (!at->left) {
            if (at->symbol != (unsigned char)text[same])
                return 1;
            same++;
            at = tree;
        }
    }
    printf("%zu read back\n", same);
    drop(tree);
    free(out);
    free(heap.items);
    return 0;
}
