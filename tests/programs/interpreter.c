/* Two interpreters: a machine with a stack, for programs assembled from text, with functions; and one for a language of eight signs. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum op { PUSH, ADD, SUB, MUL, DIV, MOD, LESS, EQUAL, NOT, DUP, SWAP, OVER, DROP, JUMP, IFNOT, CALL, RETURN, LOAD, STORE, PRINT, EMIT, HALT, OPS };
static const char *const names[OPS] = {"push", "add", "sub", "mul", "div", "mod", "less", "equal", "not", "dup", "swap", "over", "drop", "jump", "ifnot",
                                       "call", "return", "load", "store", "print", "emit", "halt"};
struct code { enum op op; int value; };
struct machine { long stack[256]; int top; int calls[128]; int depth; long memory[64]; unsigned long steps; };
struct label { char name[16]; int at; };

static int assemble(const char *text, struct code *code) {
    static struct label labels[32], uses[64];
    int n = 0, known = 0, used = 0;
    while (*text) {
        char word[32];
        int length = 0;
        while (isspace((unsigned char)*text)) text++;
        while (*text && !isspace((unsigned char)*text)) word[length++] = *text++;
        word[length] = 0;
        if (!length) break;
        if (word[length - 1] == ':') {
            word[length - 1] = 0;
            strcpy(labels[known].name, word);
            labels[known++].at = n;
            continue;
        }
        enum op op = 0;
        while (op < OPS && strcmp(names[op], word)) op++;
        if (op == OPS) { printf("what is %s?\n", word); return -1; }
        code[n] = (struct code){op, 0};
        if (op == PUSH || op == LOAD || op == STORE) code[n].value = strtol(text, (char **)&text, 0);
        if (op == JUMP || op == IFNOT || op == CALL) { sscanf(text, "%15s", uses[used].name); uses[used++].at = n; text += strspn(text, " ");
            text += strcspn(text, " \n"); }
        n++;
    }
    for (int i = 0; i < used; i++) {
        int k = 0;
        while (k < known && strcmp(labels[k].name, uses[i].name)) k++;
        if (k == known) { printf("where is %s?\n", uses[i].name); return -1; }
        code[uses[i].at].value = labels[k].at;
    }
    return n;
}

static int run(const struct code *code, struct machine *m) {
    for (int at = 0;; m->steps++) {
        struct code c = code[at++];
        long *s = m->stack + m->top;
        switch (c.op) {
        case PUSH: *s = c.value; m->top++; break;
        case ADD: s[-2] += s[-1]; m->top--; break;
        case SUB: s[-2] -= s[-1]; m->top--; break;
        case MUL: s[-2] *= s[-1]; m->top--; break;
        case DIV: if (!s[-1]) return -1; s[-2] /= s[-1]; m->top--; break;
        case MOD: if (!s[-1]) return -1; s[-2] %= s[-1]; m->top--; break;
        case LESS: s[-2] = s[-2] < s[-1]; m->top--; break;
        case EQUAL: s[-2] = s[-2] == s[-1]; m->top--; break;
        case NOT: s[-1] = !s[-1]; break;
        case DUP: *s = s[-1]; m->top++; break;
        case SWAP: { long t = s[-1]; s[-1] = s[-2]; s[-2] = t; break; }
        case OVER: *s = s[-2]; m->top++; break;
        case DROP: m->top--; break;
        case JUMP: at = c.value; break;
        case IFNOT: m->top--; if (!s[-1]) at = c.value; break;
        case CALL: if (m->depth == 128) return -2; m->calls[m->depth++] = at; at = c.value; break;
        case RETURN: at = m->calls[--m->depth]; break;
        case LOAD: *s = m->memory[c.value]; m->top++; break;
        case STORE: m->memory[c.value] = s[-1]; m->top--; break;
        case PRINT: printf("%ld ", s[-1]); m->top--; break;
        case EMIT: putchar((int)s[-1]); m->top--; break;
        case HALT: return 0;
        default: return -3;
        }
    }
}

static const char fibonacci[] =
    "push 0 store 0 next: load 0 call fib print load 0 push 1 add dup store 0 push 21 less ifnot end jump next end: push 10 emit halt\n"
    "fib: dup push 2 less ifnot more return more: dup push 1 sub call fib swap push 2 sub call fib add return";
static const char collatz[] =
    "push 27 loop: dup print dup push 1 equal not ifnot end dup push 2 mod ifnot even push 3 mul push 1 add jump loop even: push 2 div jump loop end: push 10 emit halt";
static const char hello[] = "++++++++[>++++[>++>+++>+++>+<<<<-]>+>+>->>+[<]<-]>>.>---.+++++++..+++.>>.<-.<.+++.------.--------.>>+.>++.";

static unsigned long signs(const char *p) {
    static unsigned char tape[3000];
    unsigned char *at = tape;
    unsigned long steps = 0;
    int match[400], open[100], depth = 0;
    for (int i = 0; p[i]; i++) {
        if (p[i] == '[') open[depth++] = i;
        if (p[i] == ']') { match[i] = open[--depth]; match[match[i]] = i; }
    }
    for (int i = 0; p[i]; i++, steps++) {
        switch (p[i]) {
        case '>': at++; break;
        case '<': at--; break;
        case '+': ++*at; break;
        case '-': --*at; break;
        case '.': putchar(*at == '\n' ? ' ' : *at); break;
        case '[': if (!*at) i = match[i]; break;
        case ']': if (*at) i = match[i]; break;
        }
    }
    return steps;
}

int main(void) {
    const char *const programs[] = {fibonacci, collatz, "push 1 push 0 div halt", "loop: call loop", "push 1 jump nowhere", "nonsense"};
    for (unsigned i = 0; i < sizeof programs / sizeof *programs; i++) {
        static struct code code[256];
        struct machine *m = calloc(1, sizeof *m);
        if (assemble(programs[i], code) >= 0) printf("result %d", run(code, m)), printf(" after %lu steps\n", m->steps);
        free(m);
    }
    printf("\n%lu steps\n", signs(hello));
    return 3;
}
