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

/* Set when the first file is opened: writes what waits to be written. */
void (*__end_of_files)(void);

void exit(int status) {
    while (at_exit_count) at_exit[--at_exit_count]();
    if (__end_of_files) __end_of_files();
    _Exit(status);
}

/* The status is that of a process that has been ended by the signal SIGABRT, 6. */
void abort(void) { _Exit(128 + 6); }

void __start(int count, char **words) { exit(main(count, words)); }

void __assert_fail(const char *what, const char *file, unsigned line, const char *function) {
    fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, what);
    abort();
}

/* (A call: what has been stored before it is in memory.) */
__attribute__((noinline)) int __serve(int what, int first, int second, int third) {
    SERVICE = first;
    SERVICE = second;
    SERVICE = third;
    SERVICE = what;
    return SERVICE;
}

char *getenv(const char *name) { return 0; }

/* There is no other program, and no locale but C's. */
char *setlocale(int category, const char *name) { return !name || !*name || (*name == 'C' && !name[1]) ? "C" : 0; }

static void (*at_quick_exit_only[MOST_AT_EXIT])(void);
static int at_quick_exit_count;
int at_quick_exit(void (*function)(void)) {
    if (at_quick_exit_count == MOST_AT_EXIT) return -1;
    at_quick_exit_only[at_quick_exit_count++] = function;
    return 0;
}
void quick_exit(int status) {
    while (at_quick_exit_count) at_quick_exit_only[--at_quick_exit_count]();
    _Exit(status);
}

/* Signals come from the program itself alone. What none of its functions takes ends it, with the status of a process that is ended so. */
#define SIGNALS 32
#define DEFAULT ((handler *)0)
#define IGNORED ((handler *)1)
typedef void handler(int);
static handler *handlers[SIGNALS];

handler *signal(int number, handler *function) {
    if (number < 1 || number >= SIGNALS) {
        errno = EINVAL;
        return (handler *)-1;
    }
    handler *before = handlers[number];
    handlers[number] = function;
    return before;
}

int raise(int number) {
    if (number < 1 || number >= SIGNALS) return -1;
    handler *function = handlers[number];
    if (function == IGNORED) return 0;
    if (function == DEFAULT) _Exit(128 + number);
    function(number);
    return 0;
}

int isatty(int number) { return 0; }
int getpid(void) { return 1; }
int usleep(unsigned microseconds) { return 0; }
unsigned sleep(unsigned seconds) { return 0; }

static int number_of_error;
int *__errno_location(void) { return &number_of_error; }
