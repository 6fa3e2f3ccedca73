/* What runs before and behind main, names that are nowhere, and accesses that are kept in order. */

#include <stdio.h>
#include <stdlib.h>
extern int gone __attribute__((weak));
extern int missing(int) __attribute__((weak));
int (*table[2])(int) = {missing, 0};
__attribute__((weak)) int v = 3;
static void last(void) { puts("atexit"); }
__attribute__((constructor(300))) static void third(void) { printf("300\n"); }
__attribute__((constructor(200))) static void second(void) { printf("200\n"); }
__attribute__((constructor)) static void usual(void) { printf("%d\n", v++); }
__attribute__((destructor(200))) static void before(void) { puts("behind 200"); }
__attribute__((destructor)) static void behind(void) { puts("behind"); }
int main(void) {
    atexit(last);
    printf("main %d %d %d %d\n", &gone != 0, missing != 0, table[0] != 0, v);
    __asm__ volatile("" : : : "memory");
    __sync_synchronize();
    int x = 0;
    __asm__ volatile("" : "+r"(x) : : "memory");
    if (&gone) return gone;
    return missing ? missing(1) : table[0] ? table[0](3) : x;
}
