/* Spheres in a light, with mirrors: structs of doubles by value; the picture in letters. */
#include <math.h>
#include <stdio.h>
typedef struct {
    double x, y, z;
} vec;
typedef struct {
    vec centre;
    double radius;
    vec colour;
    double mirror;
} sphere;
static const sphere scene[] = {{{0, -10004, -20}, 10000, {0.2, 0.2, 0.2}, 0}, {{0, 0, -20}, 4, {1, 0.32, 0.36}, 0.6}, {{5, -1, -15}, 2, {0.9, 0.76,
    0.46}, 0.3}, {{5, 0, -25}, 3, {0.65, 0.77, 0.97}, 0.3}, {{-5.5, 0, -15}, 3, {0.9, 0.9, 0.9}, 0.5}};
static const vec light = {0, 20, -10};
static vec add(vec a, vec b) {
    return (vec){a.x + b.x, a.y + b.y, a.z + b.z};
}
static vec sub(vec a, vec b) {
    return (vec){a.x - b.x, a.y - b.y, a.z - b.z};
}
static vec scale(vec a, double f) {
    return (vec){a.x * f, a.y * f, a.z * f};
}
static vec times(vec a, vec b) {
    return (vec){a.x * b.x, a.y * b.y, a.z * b.z};
}
static double dot(vec a, vec b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static vec unit(vec a) {
    return scale(a, 1 / sqrt(dot(a, a)));
}
static int hit(vec from, vec way, double *at) {
    int found = -1;
    *at = INFINITY;
    for (int i = 0; i < 5; i++) {
        vec l = sub(scene[i].centre, from);
        double along = dot(l, way), d2 = dot(l, l) - along * along, r2 = scene[i].radius * scene[i].radius;
        if (along < 0 || d2 > r2) continue;
        double half = sqrt(r2 - d2), t = along - half < 0 ? along + half : along - half;
        if (t < *at) {
            *at = t;
            found = i;
        }
    }
    return found;
}
static vec trace(vec from, vec way, int depth) {
    double t;
    int i = hit(from, way, &t);
    if (i < 0) return (vec){0.6, 0.7 + 0.3 * way.y, 1};
    vec point = add(from, scale(way, t)), normal = unit(sub(point, scene[i].centre)), colour = {0, 0, 0};
    if (dot(way, normal) > 0) normal = scale(normal, -1);
    vec start = add(point, scale(normal, 1e-4)), to = unit(sub(light, point));
    double u;
    if (hit(start, to, &u) < 0) colour = scale(scene[i].colour, fmax(0, dot(normal, to)));
    if (scene[i].mirror > 0 && depth < 5) {
        vec seen = trace(start, unit(sub(way, scale(normal, 2 * dot(way, normal)))), depth + 1);
        colour = add(scale(colour, 1 - scene[i].mirror), scale(times(seen, scene[i].colour), scene[i].mirror));
    }
    return add(colour, scale(scene[i].colour, 0.05));
}
int main(void) {
    enum {
        W = 72, H = 30
    };
    static const char shades[] = " .:-=+*#%@";
    unsigned sum = 0;
    for (int y = 0; y < H; y++) {
        for (int x = 0; x < W; x++) {
            vec way = unit((vec){(2 * (x + 0.5) / W - 1) * 0.9, (1 - 2 * (y + 0.5) / H) * 0.75, -1.6}), c = trace((vec){0, 1, 0}, way, 0);
            double grey = 0.3 * c.x + 0.6 * c.y + 0.1 * c.z;
            int shade = (int)(fmin(grey, 0.999) * 10);
            putchar(shades[shade]);
            sum = sum * 31 + shade;
        }
        puts("");
    }
    printf("%08x\n", sum);
    return 0;
}
