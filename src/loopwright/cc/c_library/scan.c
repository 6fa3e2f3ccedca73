/* scanf: numbers, words and characters from text. */

#include "library.h"

double strtod(const char *from, char **end);
long strtol(const char *from, char **end, int base);
unsigned long strtoul(const char *from, char **end, int base);
int fgetc(FILE *file);
int ungetc(int c, FILE *file);

/* Where characters come from: a file, or a string. One that has been looked at is given back. */
struct source {
    FILE *file;
    const char *text;
    int count;
};

static int next(struct source *from) {
    int c = from->file ? fgetc(from->file) : *from->text ? (unsigned char)*from->text++ : -1;
    if (c >= 0) from->count++;
    return c;
}

static void back(struct source *from, int c) {
    if (c < 0) return;
    from->count--;
    if (from->file) ungetc(c, from->file);
    else from->text--;
}

static int skip(struct source *from) {
    int c = next(from);
    while (isspace(c)) c = next(from);
    back(from, c);
    return c;
}

#define LONGEST 400

/* What may be a number, as text: as far as characters go on that can stand in one. */
static int taken(struct source *from, char *text, int most, int base, int real) {
    int size = 0, digits = 0, point = !real, exponent = !real, hexadecimal = 0;
    if (most > LONGEST - 1) most = LONGEST - 1;
    while (size < most) {
        int c = next(from), low = tolower(c);
        if (!base && isdigit(c)) base = digits ? 8 : c != '0' ? 10 : 0;
        if (!base && low == 'x' && digits) base = 16;
        int digit = isdigit(c) ? c - '0' : low >= 'a' && low <= 'f' && (base == 16 || hexadecimal) ? low - 'a' + 10 : 99;
        int after = size ? text[size - 1] : 0;
        if ((c == '+' || c == '-') && (!size || (real && tolower(after) == (hexadecimal ? 'p' : 'e')))) {
        } else if (digit < (hexadecimal && !exponent ? 16 : real ? 10 : base) || (!base && c == '0')) {
            digits = 1;
        } else if (c == '.' && !point) {
            point = 1;
        } else if (low == (hexadecimal ? 'p' : 'e') && digits && !exponent) {
            point = exponent = 1;
        } else if (low == 'x' && (base == 16 || (real && !hexadecimal)) && after == '0' && size <= 2) {
            hexadecimal = real;
            digits &= !real;
        } else {
            back(from, c);
            break;
        }
        text[size++] = (char)c;
    }
    text[size] = 0;
    return digits;
}

static void put(void *to, int64_t value, int bytes) {
    if (bytes == 1) *(int8_t *)to = (int8_t)value;
    else if (bytes == 2) *(int16_t *)to = (int16_t)value;
    else if (bytes == 4) *(int32_t *)to = (int32_t)value;
    else *(int64_t *)to = value;
}

/* Whether a character is in the set `[...]` that begins behind the bracket; where that ends. */
static int in_set(const char *at, int c, const char **end) {
    int found = 0, but = *at == '^';
    if (but) at++;
    const char *first = at;
    for (; *at && (*at != ']' || at == first); at++) {
        if (at[1] == '-' && at[2] && at[2] != ']') {
            found |= c >= (unsigned char)at[0] && c <= (unsigned char)at[2];
            at += 2;
        } else {
            found |= c == (unsigned char)*at;
        }
    }
    *end = at;
    return found != but;
}

static int scan(struct source *from, const char *at, va_list given) {
    va_list list;
    char text[LONGEST];
    int done = 0, any = 0;
    va_copy(list, given);
    for (; *at; at++) {
        if (isspace((unsigned char)*at)) {
            skip(from);
            continue;
        }
        int c;
        if (*at != '%' || at[1] == '%') {
            if (*at == '%') {
                at++;
                skip(from);
            }
            c = next(from);
            if (c != (unsigned char)*at) {
                back(from, c);
                any |= c >= 0;
                break;
            }
            continue;
        }
        at++;
        int dropped = *at == '*', width = 0, bytes = 4;
        if (dropped) at++;
        while (isdigit(*at)) width = width * 10 + (*at++ - '0');
        if (*at == 'h') { bytes = 2; at++; if (*at == 'h') { bytes = 1; at++; } }
        while (*at == 'l' || *at == 'z' || *at == 'j' || *at == 't') { bytes = 8; at++; }
        if (*at == 'n') {
            put(va_arg(list, void *), from->count, bytes);
            continue;
        }
        if (*at != 'c' && *at != '[') skip(from);
        c = next(from);
        back(from, c);
        if (c < 0) break;
        any = 1;
        void *to = dropped ? 0 : va_arg(list, void *);
        if (*at == 'c' || *at == 's' || *at == '[') {
            char *chars = to;
            const char *end = at;
            int size = 0;
            if (!width) width = *at == 'c' ? 1 : 0x7fffffff;
            while (size < width && (c = next(from)) >= 0) {
                if (*at == 's' ? isspace(c) : *at == '[' ? !in_set(at + 1, c, &end) : 0) {
                    back(from, c);
                    break;
                }
                if (chars) chars[size] = (char)c;
                size++;
            }
            if (*at == '[') in_set(at + 1, 0, &end);
            if (!size || (*at == 'c' && size < width)) break;
            if (chars && *at != 'c') chars[size] = 0;
            at = end;
        } else {
            int real = *at == 'f' || *at == 'e' || *at == 'g' || *at == 'E' || *at == 'G' || *at == 'a' || *at == 'A' || *at == 'F';
            /* (Of %i the number says itself what its base is.) */
            int base = *at == 'x' || *at == 'X' || *at == 'p' ? 16 : *at == 'o' ? 8 : *at == 'i' ? 0 : 10;
            if (!taken(from, text, width ? width : LONGEST, base, real)) break;
            if (real) {
                double x = strtod(text, 0);
                if (to && bytes == 8) *(double *)to = x;
                else if (to) *(float *)to = (float)x;
            } else if (to) {
                put(to, *at == 'd' || *at == 'i' ? strtol(text, 0, base) : (int64_t)strtoul(text, 0, base), *at == 'p' ? 8 : bytes);
            }
        }
        done += !dropped;
    }
    va_end(list);
    return done || any ? done : -1;
}

int vsscanf(const char *text, const char *format, va_list list) {
    struct source from = {0, text, 0};
    return scan(&from, format, list);
}

int vfscanf(FILE *file, const char *format, va_list list) {
    struct source from = {file, 0, 0};
    return scan(&from, format, list);
}

#define SCANNED(call) \
    va_list list; \
    va_start(list, format); \
    int count = call; \
    va_end(list); \
    return count

int vscanf(const char *format, va_list list) { return vfscanf(stdin, format, list); }
/* (What glibc's headers call them.) */
int __isoc99_vsscanf(const char *text, const char *format, va_list list) { return vsscanf(text, format, list); }
int __isoc99_vfscanf(FILE *file, const char *format, va_list list) { return vfscanf(file, format, list); }
int __isoc99_vscanf(const char *format, va_list list) { return vfscanf(stdin, format, list); }
int __isoc23_vsscanf(const char *text, const char *format, va_list list) { return vsscanf(text, format, list); }
int __isoc23_vfscanf(FILE *file, const char *format, va_list list) { return vfscanf(file, format, list); }
int __isoc23_vscanf(const char *format, va_list list) { return vfscanf(stdin, format, list); }

int sscanf(const char *text, const char *format, ...) { SCANNED(vsscanf(text, format, list)); }
int fscanf(FILE *file, const char *format, ...) { SCANNED(vfscanf(file, format, list)); }
int scanf(const char *format, ...) { SCANNED(vfscanf(stdin, format, list)); }
int __isoc99_sscanf(const char *text, const char *format, ...) { SCANNED(vsscanf(text, format, list)); }
int __isoc99_fscanf(FILE *file, const char *format, ...) { SCANNED(vfscanf(file, format, list)); }
int __isoc99_scanf(const char *format, ...) { SCANNED(vfscanf(stdin, format, list)); }
int __isoc23_sscanf(const char *text, const char *format, ...) { SCANNED(vsscanf(text, format, list)); }
int __isoc23_fscanf(FILE *file, const char *format, ...) { SCANNED(vfscanf(file, format, list)); }
int __isoc23_scanf(const char *format, ...) { SCANNED(vfscanf(stdin, format, list)); }
