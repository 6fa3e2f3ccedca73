/* A parser of JSON: values in trees on the heap, escapes in strings, printed again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef struct value {
    enum {
        NUL, BOOL, NUM, STR, ARR, OBJ
    } kind;
    union {
        double num;
        char *str;
        struct {
            struct value **items;
            char **keys;
            int n;
        } list;
        int boolean;
    } u;
} value;
static const char *p;
static void skip(void) {
    while (*p == ' ' || *p == '\n' || *p == '\t') p++;
}
static value *parse(void);
static char *string(void) {
    char *s = malloc(64), *q = s;
    p++;
    while (*p != '"') {
        if (*p == '\\') {
            p++;
            switch (*p) {
                case 'n': *q++ = '\n';
                break;
                case 't': *q++ = '\t';
                break;
                case 'u': {
                    unsigned c;
                    sscanf(p + 1, "%4x", &c);
                    p += 4;
                    if (c < 0x80) *q++ = c;
                    else if (c < 0x800) {
                        *q++ = 0xC0 | c >> 6;
                        *q++ = 0x80 | (c & 63);
                    }  else {
                        *q++ = 0xE0 | c >> 12;
                        *q++ = 0x80 | (c >> 6 & 63);
                        *q++ = 0x80 | (c & 63);
                    } break;
                }
                default: *q++ = *p;
            }
            p++;
        }  else *q++ = *p++;
    }
    *q = 0;
    p++;
    return s;
}
static value *list(int object) {
    value *v = calloc(1, sizeof *v);
    int cap = 2;
    v->kind = object ? OBJ : ARR;
    v->u.list.items = malloc(cap * sizeof(value *));
    v->u.list.keys = malloc(cap * sizeof(char *));
    char end = object ? '}' : ']';
    p++;
    skip();
    while (*p != end) {
        if (v->u.list.n == cap) {
            cap *= 2;
            v->u.list.items = realloc(v->u.list.items, cap * sizeof(value *));
            v->u.list.keys = realloc(v->u.list.keys, cap * sizeof(char *));
        }
        if (object) {
            v->u.list.keys[v->u.list.n] = string();
            skip();
            p++;
        }
        v->u.list.items[v->u.list.n++] = parse();
        skip();
        if (*p == ',') {
            p++;
            skip();
        }
    }
    p++;
    return v;
}
static value *parse(void) {
    skip();
    if (*p == '{' || *p == '[') return list(*p == '{');
    value *v = calloc(1, sizeof *v);
    if (*p == '"') {
        v->kind = STR;
        v->u.str = string();
    }  else if (*p == 't' || *p == 'f') {
        v->kind = BOOL;
        v->u.boolean = *p == 't';
        p += *p == 't' ? 4 : 5;
    }  else if (*p == 'n') {
        v->kind = NUL;
        p += 4;
    }  else {
        char *end;
        v->kind = NUM;
        v->u.num = strtod(p, &end);
        p = end;
    }
    return v;
}
static void print(const value *v, int depth) {
    switch (v->kind) {
        case NUL: printf("null");
        break;
        case BOOL: printf(v->u.boolean ? "true" : "false");
        break;
        case NUM: printf("%.10g", v->u.num);
        break;
        case STR: putchar('"');
        for (const char *s = v->u.str; *s; s++) if (*s == '\n') printf("\\n");
        else if (*s == '"') printf("\\\"");
        else putchar(*s);
        putchar('"');
        break;
        default: printf(v->kind == OBJ ? "{\n" : "[\n");
        for (int i = 0; i < v->u.list.n; i++) {
            printf("%*s", 2 * depth + 2, "");
            if (v->kind == OBJ) printf("\"%s\": ", v->u.list.keys[i]);
            print(v->u.list.items[i], depth + 1);
            puts(i + 1 < v->u.list.n ? "," : "");
        }
        printf("%*s%c", 2 * depth, "", v->kind == OBJ ? '}' : ']');
    }
}
static double total(const value *v) {
    double s = 0;
    if (v->kind == NUM) return v->u.num;
    if (v->kind >= ARR) for (int i = 0; i < v->u.list.n; i++) s += total(v->u.list.items[i]);
    return s;
}
static int deepest(const value *v) {
    int d = 0;
    if (v->kind >= ARR) for (int i = 0; i < v->u.list.n; i++) {
        int e = deepest(v->u.list.items[i]);
        if (e > d) d = e;
    }
    return v->kind >= ARR ? d + 1 : 0;
}
int main(void) {
    p = "{\"name\": \"loop\\nwright\", \"list\": [1, 2.5, -3e2, [], {}, [[[0.125]]]], \"t\": true, \"f\": false, \"n\": null, \"caf\\u00e9 \\u20ac\": {\"a\": {\"b\": {\"c\": \"d\\\"e\"}}}, \"more\": [10,20,30,40,50,60,70,80,90,100]}";
    value *v = parse();
    print(v, 0);
    printf("\ntotal %g, %d deep\n", total(v), deepest(v));
    return 0;
}
