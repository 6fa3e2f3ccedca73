/* A loop that only a signal handler ends, and a counter that is volatile. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t stop;
static int total;

static void handler(int number) {
    (void)number;
    stop = 1;
}

int main(void) {
    unsigned long steps = 0;
    signal(SIGALRM, handler);
    alarm(1);
    while (!stop)
        steps++;
    printf("%s\n", steps > 1000 ? "many steps" : "few steps");
    for (volatile int i = 0; i < 5; i++)
        total += i;
    printf("%d\n", total);
    return 0;
}
