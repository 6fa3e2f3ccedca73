/* Backtracking: sudoku by sets of candidates, the queens of a board, and a knight's tour by Warnsdorff's rule. */
#include <stdio.h>
#include <string.h>

typedef struct { unsigned short rows[9], columns[9], boxes[9]; char cells[9][9]; } Grid;
static long tried;

static unsigned free_of(const Grid *g, int r, int c) {
    return ~(g->rows[r] | g->columns[c] | g->boxes[r / 3 * 3 + c / 3]) & 0x3fe;
}

static void put(Grid *g, int r, int c, int digit) {
    g->cells[r][c] ^= digit;
    g->rows[r] ^= 1 << digit;
    g->columns[c] ^= 1 << digit;
    g->boxes[r / 3 * 3 + c / 3] ^= 1 << digit;
}

static int solve(Grid *g) {
    int least = 10, row = -1, column = -1;
    for (int r = 0; r < 9; r++)
        for (int c = 0; c < 9; c++)
            if (!g->cells[r][c]) {
                int n = __builtin_popcount(free_of(g, r, c));
                if (n < least)
                    least = n, row = r, column = c;
            }
    if (row < 0)
        return 1;
    for (unsigned set = free_of(g, row, column); set; set &= set - 1) {
        int digit = __builtin_ctz(set);
        tried++;
        put(g, row, column, digit);
        if (solve(g))
            return 1;
        put(g, row, column, digit);
    }
    return 0;
}

static int queens(unsigned all, unsigned columns, unsigned left, unsigned right) {
    int found = 0;
    if (columns == all)
        return 1;
    for (unsigned open = all & ~(columns | left | right); open;) {
        unsigned bit = open & -open;
        open ^= bit;
        found += queens(all, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return found;
}

static int tour(signed char board[8][8], int r, int c, int step) {
    static const signed char dr[] = {1, 2, 2, 1, -1, -2, -2, -1}, dc[] = {2, 1, -1, -2, -2, -1, 1, 2};
    board[r][c] = step;
    if (step == 64)
        return 1;
    int order[8], exits[8], n = 0;
    for (int k = 0; k < 8; k++) {
        int y = r + dr[k], x = c + dc[k], ways = 0;
        if (y < 0 || y > 7 || x < 0 || x > 7 || board[y][x])
            continue;
        for (int m = 0; m < 8; m++) {
            int v = y + dr[m], u = x + dc[m];
            ways += v >= 0 && v < 8 && u >= 0 && u < 8 && !board[v][u];
        }
        int at = n++;
        for (; at && exits[at - 1] > ways; at--)
            exits[at] = exits[at - 1], order[at] = order[at - 1];
        exits[at] = ways;
        order[at] = k;
    }
    for (int i = 0; i < n; i++)
        if (tour(board, r + dr[order[i]], c + dc[order[i]], step + 1))
            return 1;
    board[r][c] = 0;
    return 0;
}

int main(void) {
    static const char *const puzzles[] = {
        "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79",
        "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..",
    };
    for (unsigned i = 0; i < 2; i++) {
        Grid g;
        memset(&g, 0, sizeof g);
        for (int k = 0; k < 81; k++)
            if (puzzles[i][k] != '.')
                put(&g, k / 9, k % 9, puzzles[i][k] - '0');
        tried = 0;
        int done = solve(&g);
        printf("%d after %ld\n", done, tried);
        for (int r = 0; r < 9; r++) {
            for (int c = 0; c < 9; c++)
                putchar('0' + g.cells[r][c]);
            putchar(r == 8 ? '\n' : ' ');
        }
    }
    for (int n = 4; n <= 9; n++)
        printf("%d ", queens((1u << n) - 1, 0, 0, 0));
    signed char board[8][8] = {{0}};
    printf("\n%d:", tour(board, 0, 0, 1));
    for (int r = 0; r < 8; r++)
        for (int c = 0; c < 8; c++)
            printf(" %d", board[r][c]);
    puts("");
    return 0;
}
