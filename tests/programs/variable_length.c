/* Memory of the stack of a size that is not known before: arrays of variable length, alloca, in functions that call themselves; frames that are large. */

#include <stdio.h>
#include <string.h>
#include <alloca.h>
static __attribute__((noinline)) int sum(int n, const int *x) { int s = 0; for (int i = 0; i < n; i++) s += x[i] * (i + 1); return s; }
static __attribute__((noinline)) int deep(int n) {
    if (n <= 0) return 1;
    int x[n], y[n][3];
    for (int i = 0; i < n; i++) { x[i] = i ^ n; y[i][0] = deep(i / 3); y[i][2] = i; }
    char *text = alloca(n + 3);
    memset(text, 'a' + n % 26, n + 2); text[n + 2] = 0;
    int s = sum(n, x) + (int)strlen(text) + y[n / 2][2] + y[n - 1][0];
    return s + text[n];
}
int main(void) {
    signed char frame[100000];
    for (int i = 0; i < 100000; i += 1000) frame[i] = (signed char)i;
    int total = 0;
    for (int i = 0; i < 100000; i += 1000) total += frame[i];
    for (int k = 1; k < 12; k++) {
        _Alignas(64) signed char aligned[64 * k]; for (int i = 0; i < 64 * k; i++) aligned[i] = (signed char)(i * k);
        double d[k]; for (int i = 0; i < k; i++) d[i] = i * 0.5;
        total += aligned[63] + (int)d[k - 1] + (int)((unsigned long)aligned % 64);
        printf("%d %d\n", k, deep(k));
    }
    printf("%d\n", total);
    return 0;
}
