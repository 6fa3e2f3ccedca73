/* Loops whose variables are read, under other names, when their next values are made already. */

typedef unsigned long size;
typedef long two __attribute__((vector_size(16)));
typedef unsigned __int128 wide;

__attribute__((noinline)) static void written(size x, char *to, int n) {
    for (int i = n - 1; i >= 0; i--) {
        to[i] = (char)('0' + x % 10);
        x /= 10;
    }
}

static long mixed(const char *bytes, int n) {
    long made = 0;
    for (int i = 0; i < n; i++) made = made * 31 + bytes[i];
    return made;
}

long digits(size x, int n) {
    char made[32];
    written(x, made, n);
    return mixed(made, n);
}

long hours(size t, int n) {
    unsigned found[8], left = (unsigned)t;
    long made = 0;
    for (int i = 0; i < n; i++) {
        found[i] = left % 60;
        left /= 60;
    }
    for (int i = 0; i < n; i++) made = made * 100 + found[i];
    return made;
}

long pairs(size x, int n) {
    long made = 0;
    do {
        two pair = {(long)x, n};
        x = x / 10 + 3;
        pair = pair - (long)x * 10;
        made = made * 3 + pair[0] + pair[1];
    } while (--n);
    return made;
}

long gathered(size x, int n) {
    two sum = {0, 0};
    size made = 0;
    do {
        two pair = {(long)x, n};
        x = x * 7 + 1;
        sum += pair;
        made += (size)sum[0] * (x & 255);
    } while (--n);
    return (long)made + sum[1];
}

long halves(size x, int n) {
    wide all = (wide)x << 64 | n;
    size made = 0;
    while (n--) {
        size upper = (size)(all >> 64);
        all += (wide)5 << 64 | 3;
        made = made * 9 + (upper ^ (size)(all >> 64)) + (size)all;
    }
    return (long)made;
}

struct pair {
    size first, second;
};

static struct pair next(struct pair of) { return (struct pair){of.second / 10 + 1, of.first * 3}; }

long structures(size x, int n) {
    struct pair now = {x, 1000};
    size made = 0;
    while (n--) {
        struct pair before = now;
        now = next(now);
        made = made * 7 + before.first % 10 + before.second - now.first;
    }
    return (long)made;
}

long reversed(size x, int n) {
    size made = 0;
    for (int i = 0; i < n; i++) {
        size before = x;
        x = x / 16;
        made = made << 4 | (before - x * 16);
    }
    return (long)made;
}
