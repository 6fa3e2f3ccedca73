/* Output: characters, strings, and printf; input of characters and lines. */

#include "library.h"

static struct file standard[3] = {{0, -1}, {1, -1}, {2, -1}};
FILE *stdin = &standard[0], *stdout = &standard[1], *stderr = &standard[2];

int fputc(int c, FILE *file) {
    if (file->number == 1)
        OUTPUT = (char)c;
    else if (file->number == 2)
        ERRORS = (char)c;
    else
        return file->put ? file->put(c, file) : -1;
    return (unsigned char)c;
}

int putc(int c, FILE *file) { return fputc(c, file); }
int putc_unlocked(int c, FILE *file) { return fputc(c, file); }
int fputc_unlocked(int c, FILE *file) { return fputc(c, file); }
int _IO_putc(int c, FILE *file) { return fputc(c, file); }
int putchar(int c) { return fputc(c, stdout); }
int putchar_unlocked(int c) { return fputc(c, stdout); }

int fputs(const char *text, FILE *file) {
    while (*text)
        if (fputc((unsigned char)*text++, file) < 0) return -1;
    return 0;
}

int fputs_unlocked(const char *text, FILE *file) { return fputs(text, file); }
int puts(const char *text) { return fputs(text, stdout) < 0 || fputc('\n', stdout) < 0 ? -1 : 0; }

size_t fwrite(const void *from, size_t size, size_t count, FILE *file) {
    const char *bytes = from;
    for (size_t at = 0; at < size * count; at++)
        if (fputc((unsigned char)bytes[at], file) < 0) return at / size;
    return size ? count : 0;
}

size_t fwrite_unlocked(const void *from, size_t size, size_t count, FILE *file) { return fwrite(from, size, count, file); }
int ferror(FILE *file) { return file->failed; }
void clearerr(FILE *file) { file->at_end = file->failed = 0; }
void setbuf(FILE *file, char *buffer) {}
void setlinebuf(FILE *file) {}
int setvbuf(FILE *file, char *buffer, int mode, size_t size) { return 0; }
int fileno(FILE *file) { return file->number; }

void perror(const char *text) {
    if (text && *text) {
        fputs(text, stderr);
        fputs(": ", stderr);
    }
    fputs(strerror(errno), stderr);
    fputc('\n', stderr);
}

/* --- printf ------------------------------------------------------------------------------------------------- */

/* Where characters go: a file, or memory with room for some. */
struct sink {
    FILE *file;
    char *to;
    size_t room;
    size_t count;
};

static void emit(struct sink *sink, char c) {
    if (sink->file)
        fputc(c, sink->file);
    else if (sink->count < sink->room)
        sink->to[sink->count] = c;
    sink->count++;
}

static void repeat(struct sink *sink, char c, int count) {
    while (count-- > 0) emit(sink, c);
}

struct form {
    int left, plus, space, other, zero; /* the flags - + blank # 0 */
    int width, precision;
};

/* A number: sign or prefix, zeros, and what the caller has; with blanks around it. */
static void number(struct sink *sink, struct form *form, const char *prefix, int zeros, const char *digits, int size) {
    int prefix_size = (int)strlen(prefix);
    int blanks = form->width - prefix_size - (zeros > 0 ? zeros : 0) - size;
    if (blanks > 0 && form->zero && !form->left) {
        zeros = (zeros > 0 ? zeros : 0) + blanks;
        blanks = 0;
    }
    if (!form->left) repeat(sink, ' ', blanks);
    while (*prefix) emit(sink, *prefix++);
    repeat(sink, '0', zeros);
    for (int at = 0; at < size; at++) emit(sink, digits[at]);
    if (form->left) repeat(sink, ' ', blanks);
}

static void integer(struct sink *sink, struct form *form, uint64_t value, unsigned base, int upper, const char *prefix) {
    char digits[24];
    int at = sizeof digits;
    const char *names = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    for (; value; value /= base) digits[--at] = names[value % base];
    int size = (int)sizeof digits - at;
    if (form->precision >= 0) form->zero = 0;
    int least = form->precision >= 0 ? form->precision : 1;
    if (base == 8 && form->other && least <= size) least = size + 1;
    number(sink, form, prefix, least - size, digits + at, size);
}

static const char *sign(struct form *form, int negative) { return negative ? "-" : form->plus ? "+" : form->space ? " " : ""; }

/* What a float is written with: digits of which those behind `size` are zeros, with a point behind so many. */
static char digit_of(const char *digits, int size, int at) { return at >= 0 && at < size ? digits[at] : '0'; }

/* Room for the digits of the longest number before and behind the point. */
#define MOST_DIGITS 1100
static char text[2 * MOST_DIGITS];

static int fixed(const char *digits, int size, int exponent, int behind, int point) {
    int at = 0;
    for (int place = exponent > 0 ? exponent : 0; place >= 0; place--) text[at++] = digit_of(digits, size, exponent - place);
    if (behind || point) text[at++] = '.';
    for (int place = 1; place <= behind && at < 2 * MOST_DIGITS - 8; place++) text[at++] = digit_of(digits, size, exponent + place);
    return at;
}

static int scientific(const char *digits, int size, int exponent, int behind, int point, int upper) {
    int at = 0;
    text[at++] = digit_of(digits, size, 0);
    if (behind || point) text[at++] = '.';
    for (int place = 1; place <= behind && at < 2 * MOST_DIGITS - 8; place++) text[at++] = digit_of(digits, size, place);
    text[at++] = upper ? 'E' : 'e';
    text[at++] = exponent < 0 ? '-' : '+';
    if (exponent < 0) exponent = -exponent;
    if (exponent >= 100) text[at++] = (char)('0' + exponent / 100);
    text[at++] = (char)('0' + exponent / 10 % 10);
    text[at++] = (char)('0' + exponent % 10);
    return at;
}

/* Four bits a digit, the first of them 1 (of a subnormal number 0). A precision that leaves digits out rounds, to even where two are as near. */
static int hexadecimal(uint64_t bits, int precision, int point, int upper) {
    const char *names = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    uint64_t whole = bits & ((uint64_t)1 << 52) - 1;
    int exponent = (int)(bits >> 52 & 2047), behind = precision < 0 ? 13 : precision, at = 0;
    if (exponent)
        whole |= (uint64_t)1 << 52;
    else
        exponent = whole ? 1 : 1023;
    exponent -= 1023;
    if (behind < 13) {
        int cut = 4 * (13 - behind);
        uint64_t rest = whole & ((uint64_t)1 << cut) - 1, half = (uint64_t)1 << (cut - 1);
        whole = (whole >> cut) + (rest > half || (rest == half && whole >> cut & 1));
        whole <<= cut;
    }
    if (precision < 0)
        while (behind && !(whole & ((uint64_t)1 << 4 * (14 - behind)) - 1)) behind--;
    text[at++] = names[whole >> 52];
    if (behind || point) text[at++] = '.';
    for (int place = 1; place <= behind; place++) text[at++] = place <= 13 ? names[whole >> 4 * (13 - place) & 15] : '0';
    text[at++] = upper ? 'P' : 'p';
    text[at++] = exponent < 0 ? '-' : '+';
    if (exponent < 0) exponent = -exponent;
    int from = at;
    for (int least = 1000; least; least /= 10)
        if (exponent >= least || least == 1 || at > from) text[at++] = (char)('0' + exponent / least % 10);
    return at;
}

static void floating(struct sink *sink, struct form *form, double x, char letter) {
    static char digits[MOST_DIGITS];
    union { double x; uint64_t bits; } of = {x};
    const char *prefix = sign(form, (int)(of.bits >> 63));
    int upper = letter < 'a', size, exponent, precision = form->precision < 0 ? 6 : form->precision;
    if (precision > MOST_DIGITS) precision = MOST_DIGITS;
    letter |= 32;
    if (x != x || x - x != 0) {
        form->zero = 0;
        number(sink, form, prefix, 0, x != x ? (upper ? "NAN" : "nan") : upper ? "INF" : "inf", 3);
        return;
    }
    if (letter == 'a') {
        char before[4];
        strcpy(before, prefix);
        size = hexadecimal(of.bits, form->precision < 0 ? -1 : precision, form->other, upper);
        number(sink, form, strcat(before, upper ? "0X" : "0x"), 0, text, size);
        return;
    }
    if (letter == 'f') {
        size = __decimal(x, 0, precision, digits, &exponent);
        size = fixed(digits, size, exponent, precision, form->other);
    } else if (letter == 'e') {
        size = __decimal(x, precision + 1, -1, digits, &exponent);
        size = scientific(digits, size, exponent, precision, form->other, upper);
    } else {
        if (!precision) precision = 1;
        size = __decimal(x, precision, -1, digits, &exponent);
        int shown = form->other ? precision : size ? size : 1;
        if (exponent < -4 || exponent >= precision)
            size = scientific(digits, size, exponent, shown - 1, form->other, upper);
        else
            size = fixed(digits, size, exponent, shown - 1 - exponent > 0 ? shown - 1 - exponent : 0, form->other);
    }
    number(sink, form, prefix, 0, text, size);
}

static void string(struct sink *sink, struct form *form, const char *from) {
    int size = 0;
    if (!from) from = "(null)";
    while ((form->precision < 0 || size < form->precision) && from[size]) size++;
    form->zero = 0;
    number(sink, form, "", 0, from, size);
}

static const char *numeral(const char *at, int *value) {
    *value = 0;
    while (isdigit(*at)) *value = *value * 10 + (*at++ - '0');
    return at;
}

/* How long an integer is said to be: bytes. */
static const char *length(const char *at, int *bytes) {
    *bytes = 4;
    if (*at == 'h') {
        *bytes = at[1] == 'h' ? 1 : 2;
        return at + (at[1] == 'h' ? 2 : 1);
    }
    if (*at == 'l' || *at == 'z' || *at == 'j' || *at == 't' || *at == 'q') {
        *bytes = 8;
        return at + (*at == 'l' && at[1] == 'l' ? 2 : 1);
    }
    return at;
}

/* The number in front of a $, which says which argument is meant, or 0; behind it. */
static const char *place(const char *at, int *which) {
    const char *behind = numeral(at, which);
    if (*which && *behind == '$') return behind + 1;
    *which = 0;
    return at;
}

/* Go to the argument of a number: each has eight bytes. */
#define GO(which) \
    if (which) { \
        va_end(list); \
        va_copy(list, given); \
        for (int left = which; left > 1; left--) (void)va_arg(list, long); \
    }

/* What is passed as int or long, cut to its bytes. */
#define NEXT(type) (bytes == 8 ? va_arg(list, type long) : va_arg(list, type int))

static void print(struct sink *sink, const char *at, va_list given) {
    va_list list;
    va_copy(list, given);
    for (; *at; at++) {
        if (*at != '%') {
            emit(sink, *at);
            continue;
        }
        struct form form = {0, 0, 0, 0, 0, 0, -1};
        const char *start = at++;
        int which, other;
        at = place(at, &which);
        for (;; at++) {
            if (*at == '-') form.left = 1;
            else if (*at == '+') form.plus = 1;
            else if (*at == ' ') form.space = 1;
            else if (*at == '#') form.other = 1;
            else if (*at == '0') form.zero = 1;
            else if (*at != '\'') break; /* (which sets off thousands, in none of the ways that C begins with) */
        }
        if (*at == '*') {
            at = place(at + 1, &other) - 1;
            GO(other)
            form.width = va_arg(list, int);
            if (form.width < 0) { form.left = 1; form.width = -form.width; }
            at++;
        } else {
            at = numeral(at, &form.width);
        }
        if (*at == '.') {
            if (at[1] == '*') {
                at = place(at + 2, &other) - 2;
                GO(other)
                form.precision = va_arg(list, int);
                at += 2;
            } else {
                at = numeral(at + 1, &form.precision);
            }
        }
        int bytes;
        at = length(at, &bytes);
        GO(which)
        switch (*at) {
        case 'd':
        case 'i': {
            int64_t value = NEXT(signed);
            if (bytes == 1) value = (signed char)value;
            if (bytes == 2) value = (short)value;
            integer(sink, &form, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10, 0, sign(&form, value < 0));
            break;
        }
        case 'u':
        case 'o':
        case 'x':
        case 'X': {
            uint64_t value = NEXT(unsigned);
            if (bytes == 1) value = (unsigned char)value;
            if (bytes == 2) value = (unsigned short)value;
            int hexadecimal = *at == 'x' || *at == 'X';
            const char *prefix = form.other && value && hexadecimal ? (*at == 'x' ? "0x" : "0X") : "";
            integer(sink, &form, value, *at == 'u' ? 10 : *at == 'o' ? 8 : 16, *at == 'X', prefix);
            break;
        }
        case 'p': {
            uint64_t value = (uint64_t)va_arg(list, void *);
            if (value) integer(sink, &form, value, 16, 0, "0x");
            else string(sink, &form, "(nil)");
            break;
        }
        case 'c': {
            char c = (char)va_arg(list, int);
            form.zero = 0;
            number(sink, &form, "", 0, &c, 1);
            break;
        }
        case 's': string(sink, &form, va_arg(list, const char *)); break;
        case 'f': case 'F': case 'e': case 'E': case 'g': case 'G': case 'a': case 'A': floating(sink, &form, va_arg(list, double), *at); break;
        case 'n': *va_arg(list, int *) = (int)sink->count; break;
        case '%': emit(sink, '%'); break;
        default:
            /* What is no conversion is printed as it stands. */
            while (start < at) emit(sink, *start++);
            if (!*at) { va_end(list); return; }
            emit(sink, *at);
        }
    }
    va_end(list);
}

int vfprintf(FILE *file, const char *format, va_list list) {
    struct sink sink = {file, 0, 0, 0};
    print(&sink, format, list);
    return (int)sink.count;
}

int vsnprintf(char *to, size_t room, const char *format, va_list list) {
    struct sink sink = {0, to, room ? room - 1 : 0, 0};
    print(&sink, format, list);
    if (room) to[sink.count < room ? sink.count : room - 1] = 0;
    return (int)sink.count;
}

int vprintf(const char *format, va_list list) { return vfprintf(stdout, format, list); }
int vsprintf(char *to, const char *format, va_list list) { return vsnprintf(to, (size_t)1 << 40, format, list); }

#define PRINTED(call) \
    va_list list; \
    va_start(list, format); \
    int count = call; \
    va_end(list); \
    return count

int printf(const char *format, ...) { PRINTED(vfprintf(stdout, format, list)); }
int fprintf(FILE *file, const char *format, ...) { PRINTED(vfprintf(file, format, list)); }
int sprintf(char *to, const char *format, ...) { PRINTED(vsnprintf(to, (size_t)1 << 40, format, list)); }
int snprintf(char *to, size_t room, const char *format, ...) { PRINTED(vsnprintf(to, room, format, list)); }
int vasprintf(char **to, const char *format, va_list list) {
    int size = vsnprintf(0, 0, format, list);
    *to = malloc((size_t)size + 1);
    return *to ? vsnprintf(*to, (size_t)size + 1, format, list) : -1;
}

int asprintf(char **to, const char *format, ...) { PRINTED(vasprintf(to, format, list)); }
int __printf_chk(int flag, const char *format, ...) { PRINTED(vfprintf(stdout, format, list)); }

/* --- input --------------------------------------------------------------------------------------------------- */

int fgetc(FILE *file) {
    int c = file->put_back;
    if (c >= 0) {
        file->put_back = -1;
        return c;
    }
    c = !file->number ? INPUT : file->get ? file->get(file) : -1;
    if (c < 0) file->at_end = !file->failed;
    return c;
}

int getc(FILE *file) { return fgetc(file); }
int getc_unlocked(FILE *file) { return fgetc(file); }
int _IO_getc(FILE *file) { return fgetc(file); }
int getchar(void) { return fgetc(stdin); }
int getchar_unlocked(void) { return fgetc(stdin); }
int feof(FILE *file) { return file->at_end; }

int ungetc(int c, FILE *file) {
    if (c < 0) return -1;
    file->put_back = (unsigned char)c;
    file->at_end = 0;
    return file->put_back;
}

char *fgets(char *to, int room, FILE *file) {
    int at = 0, c = 0;
    while (at < room - 1 && c != '\n' && (c = fgetc(file)) >= 0) to[at++] = (char)c;
    if (!at && room > 1) return 0;
    to[at] = 0;
    return to;
}

/* Characters up to one that ends them, in memory that grows. */
long getdelim(char **line, size_t *room, int last, FILE *file) {
    size_t at = 0;
    int c = 0;
    while (c != last && (c = fgetc(file)) >= 0) {
        if (!*line || at + 2 > *room) {
            size_t larger = *line && *room >= 60 ? 2 * *room : 120;
            char *made = realloc(*line, larger);
            if (!made) return -1;
            *line = made;
            *room = larger;
        }
        (*line)[at++] = (char)c;
    }
    if (!at) return -1;
    (*line)[at] = 0;
    return (long)at;
}

long getline(char **line, size_t *room, FILE *file) { return getdelim(line, room, '\n', file); }
long __getdelim(char **line, size_t *room, int last, FILE *file) { return getdelim(line, room, last, file); }

size_t fread(void *to, size_t size, size_t count, FILE *file) {
    char *bytes = to;
    size_t at = 0;
    for (; at < size * count; at++) {
        int c = fgetc(file);
        if (c < 0) break;
        bytes[at] = (char)c;
    }
    return size ? at / size : 0;
}
