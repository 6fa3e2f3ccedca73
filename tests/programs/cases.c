/* A switch with 130 cases, near each other and far apart. */
#define C(n) case n: x = x * n + (n ^ y); break;
#define T(n) C(n) C(n+3) C(n+7) C(n+11) C(n+13) C(n+19) C(n+23) C(n+31) C(n+37) C(n+41)
#include <stdio.h>
int f(int k, int x, int y) { switch (k) {
    T(0) T(100) T(200) T(300) T(400) T(500) T(600) T(700) T(1000) T(2000) T(5000) T(-100) T(-1000) default: return -1; } return x; }
int main(void) { long s = 0; for (int k = -2000; k < 6000; k++) s = s * 31 + f(k, k * 3, k >> 2); printf("%ld\n", s); return 0; }
