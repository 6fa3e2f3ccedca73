/* How a program begins and ends on a simulated processor. */

#include "library.h"

/* Where free memory begins and ends: written before the program begins. */
char *__heap_begin, *__heap_end;
/* How the program has ended. */
int __status = -1;

/* A jump to address 0 ends a program. (LLVM takes a call of what it sees to be 0 for one that never happens.) */
static void (*volatile end)(void);

int main(int count, char **words);

#define MOST_AT_EXIT 32
static void (*at_exit[MOST_AT_EXIT])(void);
static int at_exit_count;

int atexit(void (*function)(void)) {
    if (at_exit_count == MOST_AT_EXIT) return -1;
    at_exit[at_exit_count++] = function;
    return 0;
}

void _Exit(int status) {
    __status = status & 255;
    end();
    for (;;) {}
}

void _exit(int status) { _Exit(status); }

void exit(int status) {
    while (at_exit_count) at_exit[--at_exit_count]();
    _Exit(status);
}

/* The status is that of a process that has been ended by the signal SIGABRT, 6. */
void abort(void) { _Exit(128 + 6); }

void __start(int count, char **words) { exit(main(count, words)); }

void __assert_fail(const char *what, const char *file, unsigned line, const char *function) {
    fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, what);
    abort();
}

char *getenv(const char *name) { return 0; }

static int number_of_error;
int *__errno_location(void) { return &number_of_error; }
