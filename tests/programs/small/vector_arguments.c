/* Vectors as arguments and results of a program's own functions. */

#include <stdio.h>
typedef int v4 __attribute__((vector_size(16)));
typedef float f4 __attribute__((vector_size(16)));
typedef unsigned char b16 __attribute__((vector_size(16)));
typedef double d4 __attribute__((vector_size(32)));
typedef long l2 __attribute__((vector_size(16)));
typedef float f2 __attribute__((vector_size(8)));
struct with { int k; v4 v; };
#define OWN __attribute__((noinline)) static
OWN v4 a(v4 x, int k, v4 y) { return x * k + y; }
OWN f4 b(float s, f4 x, double t) { return x * s + (float)t; }
OWN b16 c(b16 x, b16 y) { return x * y + x; }
OWN d4 d(d4 x, d4 y, d4 z) { return x * y - z; }
OWN l2 e(l2 x) { return x << 2; }
OWN f2 f(f2 x, v4 y) { return x * 2 + (float)y[2]; }
OWN struct with g(struct with x, v4 y) { x.v += y * x.k; x.k++; return x; }
OWN v4 h(v4 x, int n) { return n ? h(x * 3 + 1, n - 1) : x; }
v4 seen(v4 x) { return x + 1; }
int main(void) {
    v4 x = {1, 2, 3, 4}, y = {5, 6, 7, 8};
    f4 z = {1, 2, 3, 4};
    b16 w = {1, 2, 3, 200, 5};
    d4 q = {1, 2, 3, 4};
    l2 r = {7, -9};
    f2 t = {1, 2};
    struct with u = {3, {1, 2, 3, 4}};
    x = a(x, 3, y), z = b(2.5f, z, 1.25), w = c(w, w + 1), q = d(q, q + 1, q * 0.5), r = e(r), t = f(t, x), u = g(u, y), x = h(x, 5), x = seen(x);
    for (int i = 0; i < 4; i++) printf("%d %g %d %g %ld %g %d %d\n", x[i], z[i], w[i + 1], q[i], r[i & 1], t[i & 1], u.v[i], u.k);
    return 0;
}
