/* Pointers on their ways: stored, copied, made integers, given to C and back. What is right is right under the interpreter at every level; what is not is found, with its line. */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Node Node;
struct Node {
    Node *next;
    char *name;
    int value;
};
typedef struct {
    Node *first, **end;
    size_t count;
} List;

static char *const NAMES[] = {"delta", "alpha", "charlie", "bravo"};

static Node *node(const char *name, int value, Node *next) {
    Node *made = malloc(sizeof *made);
    *made = (Node){next, malloc(strlen(name) + 1), value};
    strcpy(made->name, name);
    return made;
}

static void release(Node *list) {
    while (list) {
        Node *next = list->next;
        free(list->name);
        free(list);
        list = next;
    }
}

static int by_name(const void *a, const void *b) {
    return strcmp((*(Node *const *)a)->name, (*(Node *const *)b)->name);
}

/* A list by the address of its last link, sorted as an array of pointers, in which C moves them. */
int sorted(int n) {
    List list = {0, &list.first, 0};
    for (int i = 0; i < n; i++) {
        *list.end = node(NAMES[i & 3], i, 0);
        list.end = &(*list.end)->next;
        list.count++;
    }
    Node **all = calloc(list.count + 1, sizeof *all), **at = all;
    for (Node *each = list.first; each; each = each->next)
        *at++ = each;
    qsort(all, list.count, sizeof *all, by_name);
    int sum = 0;
    for (size_t i = 0; i < list.count; i++)
        sum = sum * 7 + all[i]->value + all[i]->name[0];
    free(all);
    release(list.first);
    return sum;
}

/* Structs with pointers in them by value, in arrays that grow, and copied byte by byte. */
typedef struct {
    char *text;
    double weight;
    Node *node;
} Pair;

static Pair made(char *text, double weight) { return (Pair){text, weight, node(text, (int)weight, 0)}; }
static int looked_at(Pair pair) { return pair.text[1] + (int)pair.weight + pair.node->name[2]; }

int grown(int n) {
    Pair *pairs = 0, last, copy;
    size_t room = 0;
    for (int i = 0; i < n; i++) {
        if ((size_t)i == room)
            pairs = realloc(pairs, (room = room * 2 + 1) * sizeof *pairs);
        pairs[i] = made(NAMES[i & 3], i);
    }
    last = n ? pairs[n - 1] : made("none", 0);
    for (size_t i = 0; i < sizeof copy; i++)
        ((char *)&copy)[i] = ((char *)&last)[i];
    int sum = looked_at(copy);
    memmove(pairs, pairs + n / 2, (n - n / 2) * sizeof *pairs);
    for (int i = 0; i < n - n / 2; i++)
        sum = sum * 5 + looked_at(pairs[i]);
    return sum;
}

/* Tags in the lower bits of pointers, and differences of pointers into one array. */
int tagged(int n) {
    Node *list = 0;
    uintptr_t word = 0;
    for (int i = 0; i < n; i++) {
        list = node(NAMES[i & 3], i, list);
        word = (uintptr_t)list | (i & 1);
    }
    Node *back = (Node *)(word & ~(uintptr_t)1);
    int sum = n ? back->value * 2 + (int)(word & 1) : 0;
    int numbers[16], *end = numbers + 16, *p = end;
    while (p > numbers)
        *--p = (int)(end - p);
    for (p = numbers + 3; p < end; p += 5)
        sum += *p + (int)(p - numbers);
    release(list);
    return sum;
}

/* The word that C's functions find in a string; a list of arguments handed on. */
static int formatted(char *to, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(to, size, format, arguments);
    va_end(arguments);
    return length;
}

static int total(int n, ...) {
    va_list arguments;
    int sum = 0;
    va_start(arguments, n);
    for (int i = 0; i < n; i++)
        sum += *va_arg(arguments, int *);
    va_end(arguments);
    return sum;
}

int words(int n) {
    char text[64], *copy, *word, *rest;
    int a = n, b = 2 * n, sum = 0;
    formatted(text, sizeof text, "%s %d %s %c", NAMES[n & 3], n, NAMES[n + 1 & 3], 'x');
    copy = strdup(text);
    for (word = strtok_r(copy, " ", &rest); word; word = strtok_r(0, " ", &rest))
        sum = sum * 3 + (int)strlen(word) + word[0];
    word = strchr(text, ' ');
    sum += word[1] + (strchr(text, '#') == 0) + total(3, &a, &b, &sum);
    free(copy);
    return sum;
}

/* Tables of C's library, and its errno. */
int classes(int n) {
    int sum = 0;
    for (const char *p = NAMES[n & 3]; *p; p++)
        sum = sum * 3 + (isalpha((unsigned char)*p) != 0) + toupper(*p) + tolower(*p);
    errno = 0;
    long far = strtol("99999999999999999999", 0, 10);
    return sum + (far == LONG_MAX) + (errno == ERANGE) * 5;
}

int ending(int n) {
    if (n == 1)
        exit(300 + n);
    assert(n < 2);
    return n;
}

/* --- what is wrong: 0 is right ---------------------------------------------------------------------------------- */

static int near_one[4] = {1, 2, 3, 4}, near_two[4] = {5, 6, 7, 8};

int other_global(int wrong) {
    char *volatile two = (char *)near_two;
    ptrdiff_t apart = two - (char *)near_one;
    return *(int *)((char *)near_one + (wrong ? apart : 4)); /* other_global */
}

int after_free(int wrong) {
    Node *one = node("one", 1, 0), *two = node("two", 2, one);
    free(one->name);
    if (wrong)
        free(one);
    int value = two->next->value; /* after_free */
    if (!wrong)
        free(one);
    free(two->name);
    free(two);
    return value;
}

static int *hung(int wrong, int *other) {
    int own[4] = {1, 2, 3, 4};
    int *volatile p = wrong ? own : other;
    return p;
}

int after_return(int wrong) {
    int other[4] = {1, 2, 3, 4};
    return hung(wrong, other)[1]; /* after_return */
}

int freed_twice(int wrong) {
    char *p = malloc(8);
    p[0] = 5;
    int value = p[0];
    free(p);
    if (wrong)
        free(p); /* freed_twice */
    return value;
}

int freed_inside(int wrong) {
    char *p = malloc(8), *q = p + (wrong ? 4 : 0);
    free(q); /* freed_inside */
    return 1;
}

int freed_local(int wrong) {
    char local[8], *p = malloc(8);
    local[0] = 1;
    free(wrong ? local : p); /* freed_local */
    return 1;
}

int one_too_many(int wrong) {
    int *numbers = malloc(10 * sizeof *numbers), sum = 0;
    for (int i = 0; i < 10 + wrong; i++)
        numbers[i] = i; /* one_too_many */
    for (int i = 0; i < 10; i++)
        sum += numbers[i];
    free(numbers);
    return sum;
}

int made_up(int wrong) {
    static int number = 3;
    int *p = wrong ? (int *)(intptr_t)0x12345678 : &number;
    return *p; /* made_up */
}

int moved_away(int wrong) {
    int *old = malloc(4), *now;
    *old = 4;
    now = realloc(old, 4000);
    int value = wrong ? *old : *now; /* moved_away */
    free(now);
    return value;
}
