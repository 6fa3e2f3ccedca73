/* Regular expressions: parsed to a graph (Thompson's construction), matched by sets of states; and by backtracking over the same syntax. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHAR = 256, ANY, SPLIT, MATCH, CLASS };
typedef struct State { int kind; struct State *out, *other; const char *set; int mark; } State;
typedef struct { State *start; State ***ends; int count; } Part;

static State states[600];
static int used, generation;
static const char *at;

static State *state(int kind, State *out, State *other) {
    State *s = &states[used++];
    *s = (State){kind, out, other, NULL, -1};
    return s;
}

static Part one(State *s, State **end) {
    Part p = {s, malloc(sizeof(State **)), 1};
    p.ends[0] = end;
    return p;
}

static void patch(Part p, State *to) {
    for (int i = 0; i < p.count; i++)
        *p.ends[i] = to;
    free(p.ends);
}

static Part both(State *s, Part a, Part b) {
    Part p = {s, malloc((a.count + b.count) * sizeof(State **)), a.count + b.count};
    memcpy(p.ends, a.ends, a.count * sizeof *p.ends);
    memcpy(p.ends + a.count, b.ends, b.count * sizeof *p.ends);
    free(a.ends);
    free(b.ends);
    return p;
}

static Part alternatives(void);

static Part atom(void) {
    if (*at == '(') {
        at++;
        Part p = alternatives();
        at++;
        return p;
    }
    if (*at == '[') {
        State *s = state(CLASS, NULL, NULL);
        s->set = ++at;
        while (*at != ']')
            at++;
        at++;
        return one(s, &s->out);
    }
    State *s = state(*at == '.' ? ANY : (unsigned char)*at, NULL, NULL);
    at++;
    return one(s, &s->out);
}

static Part repeated(void) {
    Part p = atom();
    for (;; at++) {
        State *s;
        switch (*at) {
        case '*':
            s = state(SPLIT, p.start, NULL);
            patch(p, s);
            p = one(s, &s->other);
            break;
        case '+': {
            State *first = p.start;
            s = state(SPLIT, p.start, NULL);
            patch(p, s);
            p = one(s, &s->other);
            p.start = first;
            break;
        }
        case '?':
            s = state(SPLIT, p.start, NULL);
            p = both(s, p, one(s, &s->other));
            break;
        default:
            return p;
        }
    }
}

static Part sequence(void) {
    Part p = repeated();
    while (*at && *at != '|' && *at != ')') {
        Part q = repeated();
        patch(p, q.start);
        q.start = p.start;
        p = q;
    }
    return p;
}

static Part alternatives(void) {
    Part p = sequence();
    while (*at == '|') {
        at++;
        Part q = sequence();
        State *s = state(SPLIT, p.start, q.start);
        p = both(s, p, q);
    }
    return p;
}

static bool in_class(const char *set, char c) {
    bool negated = *set == '^', found = false;
    for (set += negated; *set != ']'; set++) {
        if (set[1] == '-' && set[2] != ']') {
            found |= c >= set[0] && c <= set[2];
            set += 2;
        } else
            found |= *set == c;
    }
    return found != negated;
}

static int add(State **list, int n, State *s) {
    if (!s || s->mark == generation)
        return n;
    s->mark = generation;
    if (s->kind == SPLIT)
        return add(list, add(list, n, s->out), s->other);
    list[n] = s;
    return n + 1;
}

static bool matches(State *start, const char *text) {
    State *first[600], *second[600], **now = first, **next = second;
    generation++;
    int n = add(now, 0, start);
    for (; *text; text++) {
        int m = 0;
        generation++;
        for (int i = 0; i < n; i++) {
            State *s = now[i];
            if (s->kind == (unsigned char)*text || s->kind == ANY || (s->kind == CLASS && in_class(s->set, *text)))
                m = add(next, m, s->out);
        }
        State **t = now;
        now = next;
        next = t;
        n = m;
    }
    for (int i = 0; i < n; i++)
        if (now[i]->kind == MATCH)
            return true;
    return false;
}

static bool here(const char *pattern, const char *text);

static bool star(char c, const char *pattern, const char *text) {
    do
        if (here(pattern, text))
            return true;
    while (*text && (*text++ == c || c == '.'));
    return false;
}

static bool here(const char *pattern, const char *text) {
    if (!*pattern)
        return true;
    if (pattern[1] == '*')
        return star(*pattern, pattern + 2, text);
    if (*pattern == '$' && !pattern[1])
        return !*text;
    return *text && (*pattern == '.' || *pattern == *text) && here(pattern + 1, text + 1);
}

int main(void) {
    static const char *const patterns[] = {"a*b+c?", "(ab|cd)*e", "[a-c]+[^x-z0-9]", "(a|b)*abb", ".*needle.*", "((a?)*)b", "x(y(z|w))*"};
    static const char *const texts[] = {"aaabbb", "abcdabe", "abcabcd", "babaabb", "hayneedlehay", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "xyzyw", "e", "", "c9"};
    for (unsigned i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        used = 0;
        at = patterns[i];
        Part p = alternatives();
        patch(p, state(MATCH, NULL, NULL));
        printf("%-18s", patterns[i]);
        for (unsigned k = 0; k < sizeof texts / sizeof *texts; k++)
            putchar(matches(p.start, texts[k]) ? '1' : '0');
        printf(" %d states\n", used);
    }
    printf("%d %d %d %d\n", here("a*b$", "aaab"), here("a.*d", "abcd"), here("ab$", "abc"), here(".*", ""));
    return 0;
}
