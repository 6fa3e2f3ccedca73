/* Chess: all moves of a position to a depth, counted (perft), with castling, en passant and promotion; a search by alpha-beta. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EMPTY, PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING };
typedef struct { signed char from, to, promotion, flag; } Move;
typedef struct { signed char board[128]; signed char turn, castling, en_passant; } Position;

static const int knight[] = {31, 33, 14, 18, -31, -33, -14, -18, 0}, king[] = {1, -1, 16, -16, 15, 17, -15, -17, 0};
static const int straight[] = {1, -1, 16, -16, 0}, slanted[] = {15, 17, -15, -17, 0};
static const int *const directions[] = {NULL, NULL, knight, slanted, straight, king, king};

static Position read(const char *text) {
    static const char letters[] = ".pnbrqk";
    Position p;
    int square = 112;
    memset(&p, 0, sizeof p);
    p.en_passant = -1;
    for (; *text != ' '; text++) {
        if (*text == '/')
            square = (square & 112) - 16;
        else if (*text >= '1' && *text <= '8')
            square += *text - '0';
        else {
            int white = *text < 'a';
            p.board[square++] = (strchr(letters, *text | 32) - letters) * (white ? 1 : -1);
        }
    }
    p.turn = *++text == 'w' ? 1 : -1;
    for (text += 2; *text && *text != ' '; text++)
        switch (*text) {
        case 'K': p.castling |= 1; break;
        case 'Q': p.castling |= 2; break;
        case 'k': p.castling |= 4; break;
        case 'q': p.castling |= 8; break;
        }
    return p;
}

static int attacked(const Position *p, int square, int by) {
    for (int piece = KNIGHT; piece <= KING; piece++)
        for (const int *d = directions[piece]; *d; d++)
            for (int to = square + *d; !(to & 0x88); to += *d) {
                if (p->board[to] == piece * by)
                    return 1;
                if (p->board[to] || piece == KNIGHT || piece == KING)
                    break;
            }
    for (int side = -1; side <= 1; side += 2) {
        int from = square - 16 * by + side;
        if (!(from & 0x88) && p->board[from] == PAWN * by)
            return 1;
    }
    return 0;
}

static int add(Move *list, int n, int from, int to, int promotion, int flag) {
    Move m = {from, to, promotion, flag};
    list[n] = m;
    return n + 1;
}

static int pawn_to(Move *list, int n, int from, int to, int turn, int flag) {
    if ((to >> 4) == (turn > 0 ? 7 : 0)) {
        for (int piece = KNIGHT; piece <= QUEEN; piece++)
            n = add(list, n, from, to, piece, flag);
        return n;
    }
    return add(list, n, from, to, 0, flag);
}

static int moves(const Position *p, Move *list) {
    int n = 0, turn = p->turn;
    for (int from = 0; from < 120; from++) {
        int piece;
        if (from & 0x88 || (piece = p->board[from] * turn) <= 0)
            continue;
        if (piece == PAWN) {
            int to = from + 16 * turn;
            if (!p->board[to]) {
                n = pawn_to(list, n, from, to, turn, 0);
                if ((from >> 4) == (turn > 0 ? 1 : 6) && !p->board[to + 16 * turn])
                    n = add(list, n, from, to + 16 * turn, 0, 1);
            }
            for (int side = -1; side <= 1; side += 2)
                if (!((to + side) & 0x88)) {
                    if (p->board[to + side] * turn < 0)
                        n = pawn_to(list, n, from, to + side, turn, 0);
                    else if (to + side == p->en_passant)
                        n = add(list, n, from, to + side, 0, 2);
                }
            continue;
        }
        for (const int *d = directions[piece]; *d; d++)
            for (int to = from + *d; !(to & 0x88); to += *d) {
                if (p->board[to] * turn > 0)
                    break;
                n = add(list, n, from, to, 0, 0);
                if (p->board[to] || piece == KNIGHT || piece == KING)
                    break;
            }
        if (piece == KING) {
            int rights = turn > 0 ? p->castling : p->castling >> 2;
            if (rights & 1 && !p->board[from + 1] && !p->board[from + 2] && !attacked(p, from, -turn) && !attacked(p, from + 1, -turn))
                n = add(list, n, from, from + 2, 0, 3);
            if (rights & 2 && !p->board[from - 1] && !p->board[from - 2] && !p->board[from - 3] && !attacked(p, from, -turn) && !attacked(p, from - 1, -turn))
                n = add(list, n, from, from - 2, 0, 4);
        }
    }
    return n;
}

static int lost(int square) {
    switch (square) {
    case 0: return 2;
    case 4: return 3;
    case 7: return 1;
    case 112: return 8;
    case 116: return 12;
    case 119: return 4;
    default: return 0;
    }
}

/* The position after a move, by value; its turn is 0 where the king would be taken. */
static Position made(Position p, Move m) {
    int turn = p.turn, king_at = -1;
    signed char *b = p.board;
    b[m.to] = m.promotion ? m.promotion * turn : b[m.from];
    b[m.from] = EMPTY;
    if (m.flag == 2)
        b[m.to - 16 * turn] = EMPTY;
    if (m.flag == 3)
        b[m.to - 1] = b[m.to + 1], b[m.to + 1] = EMPTY;
    if (m.flag == 4)
        b[m.to + 1] = b[m.to - 2], b[m.to - 2] = EMPTY;
    p.en_passant = m.flag == 1 ? m.to - 16 * turn : -1;
    p.castling &= ~(lost(m.from) | lost(m.to));
    for (int s = 0; s < 120; s++)
        if (!(s & 0x88) && b[s] == KING * turn)
            king_at = s;
    p.turn = attacked(&p, king_at, -turn) ? 0 : -turn;
    return p;
}

static unsigned long perft(const Position *p, int depth) {
    Move list[256];
    unsigned long total = 0;
    if (!depth)
        return 1;
    int n = moves(p, list);
    for (int i = 0; i < n; i++) {
        Position next = made(*p, list[i]);
        if (next.turn)
            total += perft(&next, depth - 1);
    }
    return total;
}

static int search(const Position *p, int depth, int alpha, int beta) {
    static const int worth[] = {0, 100, 300, 310, 500, 900, 0};
    Move list[256];
    if (!depth) {
        int sum = 0;
        for (int s = 0; s < 120; s++)
            if (!(s & 0x88) && p->board[s])
                sum += p->board[s] > 0 ? worth[p->board[s]] + (s >> 4) : -worth[-p->board[s]] - (7 - (s >> 4));
        return sum * p->turn;
    }
    int n = moves(p, list), best = -100000;
    for (int i = 0; i < n; i++) {
        Position next = made(*p, list[i]);
        if (!next.turn)
            continue;
        int value = -search(&next, depth - 1, -beta, -alpha);
        if (value > best)
            best = value;
        if (best > alpha)
            alpha = best;
        if (alpha >= beta)
            break;
    }
    return best;
}

int main(void) {
    static const char *const positions[] = {
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -",
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq -",
        "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - -",
        "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ -",
    };
    for (unsigned i = 0; i < sizeof positions / sizeof *positions; i++) {
        Position p = read(positions[i]);
        for (int depth = 1; depth <= 3; depth++)
            printf("%lu ", perft(&p, depth));
        printf("%d\n", search(&p, 3, -100000, 100000));
    }
    return 0;
}
