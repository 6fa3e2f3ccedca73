/* Life on a torus by rows of bits, a flood fill with a queue, shortest ways through a maze by a heap (A*), and a maze by union-find. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t turned(uint64_t x, int n) { return x << n | x >> (64 - n); }

static void step(uint64_t world[64]) {
    uint64_t next[64];
    for (int r = 0; r < 64; r++) {
        uint64_t rows[3] = {world[(r + 63) & 63], world[r], world[(r + 1) & 63]}, ones = 0, twos = 0, fours = 0;
        for (int k = 0; k < 3; k++)
            for (int d = -1; d <= 1; d++) {
                if (k == 1 && !d)
                    continue;
                uint64_t x = d < 0 ? turned(rows[k], 1) : d > 0 ? turned(rows[k], 63) : rows[k];
                uint64_t carry = ones & x;
                ones ^= x;
                fours |= twos & carry;
                twos ^= carry;
            }
        next[r] = twos & ~fours & (ones | world[r]);
    }
    memcpy(world, next, sizeof next);
}

enum { W = 41, H = 31 };
static char maze[H][W + 1];
static short parent[W * H];

static int root(int x) {
    while (parent[x] != x)
        x = parent[x] = parent[parent[x]];
    return x;
}

static unsigned seed = 2024;
static unsigned rnd(unsigned n) {
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed % n;
}

static void carve(void) {
    int walls[W * H], count = 0;
    for (int y = 0; y < H; y++) {
        for (int x = 0; x < W; x++) {
            maze[y][x] = y & 1 && x & 1 ? ' ' : '#';
            parent[y * W + x] = y * W + x;
            if ((x & 1) != (y & 1) && x && y && x < W - 1 && y < H - 1)
                walls[count++] = y * W + x;
        }
        maze[y][W] = 0;
    }
    while (count) {
        int k = rnd(count), at = walls[k], d = at / W & 1 ? 1 : W;
        walls[k] = walls[--count];
        int a = root(at - d), b = root(at + d);
        if (a != b) {
            parent[a] = b;
            maze[at / W][at % W] = ' ';
        } else if (rnd(12) == 0)
            maze[at / W][at % W] = ' ';
    }
}

typedef struct { int cost, at; } Item;

static int shortest(void) {
    static Item heap[W * H * 4];
    static int best[W * H];
    int n = 0, goal = (H - 2) * W + W - 2;
    memset(best, 0x7f, sizeof best);
    heap[n++] = (Item){0, W + 1};
    best[W + 1] = 0;
    while (n) {
        Item top = heap[0], last = heap[--n];
        int i = 0;
        for (int c; (c = 2 * i + 1) < n; i = c) {
            if (c + 1 < n && heap[c + 1].cost < heap[c].cost)
                c++;
            if (heap[c].cost >= last.cost)
                break;
            heap[i] = heap[c];
        }
        heap[i] = last;
        if (top.at == goal)
            return best[goal];
        static const int around[] = {1, -1, W, -W};
        for (int k = 0; k < 4; k++) {
            int to = top.at + around[k];
            if (maze[to / W][to % W] == '#' || best[to] <= best[top.at] + 1)
                continue;
            best[to] = best[top.at] + 1;
            Item item = {best[to] + abs(goal / W - to / W) + abs(goal % W - to % W), to};
            int j = n++;
            for (; j && heap[(j - 1) / 2].cost > item.cost; j = (j - 1) / 2)
                heap[j] = heap[(j - 1) / 2];
            heap[j] = item;
        }
    }
    return -1;
}

static int fill(int x, int y) {
    int *queue = malloc(W * H * sizeof *queue), first = 0, last = 0;
    queue[last++] = y * W + x;
    maze[y][x] = '.';
    while (first < last) {
        int at = queue[first++];
        for (int k = 0; k < 4; k++) {
            int to = at + (int[]){1, -1, W, -W}[k];
            if (maze[to / W][to % W] == ' ') {
                maze[to / W][to % W] = '.';
                queue[last++] = to;
            }
        }
    }
    free(queue);
    return last;
}

int main(void) {
    uint64_t world[64] = {0};
    world[10] = 2, world[11] = 4, world[12] = 7;
    for (int i = 0; i < 20; i++)
        world[30 + i] = 0x9e3779b97f4a7c15ull * (i + 1) >> 20;
    for (int g = 0; g <= 200; g++) {
        int alive = 0;
        uint64_t sum = 0;
        for (int r = 0; r < 64; r++)
            alive += __builtin_popcountll(world[r]), sum = sum * 31 + world[r];
        if (g % 50 == 0)
            printf("%d alive %d %016llx\n", g, alive, (unsigned long long)sum);
        step(world);
    }
    carve();
    printf("%d steps, %d open\n", shortest(), fill(1, 1));
    for (int y = 0; y < H; y += 6)
        puts(maze[y]);
    return 0;
}
