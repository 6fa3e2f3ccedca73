/* Strings that grow, built by functions with arguments whose number varies; a formatter of its own beside C's; structs by value among such arguments. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { char *text; size_t length, room; } String;
typedef struct { int day, month, year; } Date;
typedef struct { double x, y; } Point;

static void reserve(String *s, size_t more) {
    if (s->length + more + 1 > s->room) {
        s->room = 2 * (s->length + more + 1);
        s->text = realloc(s->text, s->room);
    }
}

static void append(String *s, const char *text, size_t n) {
    reserve(s, n);
    memcpy(s->text + s->length, text, n);
    s->length += n;
    s->text[s->length] = 0;
}

static void format_list(String *s, const char *format, va_list list) {
    va_list copy;
    va_copy(copy, list);
    int n = vsnprintf(NULL, 0, format, copy);
    va_end(copy);
    reserve(s, n);
    vsnprintf(s->text + s->length, n + 1, format, list);
    s->length += n;
}

static void format(String *s, const char *text, ...) {
    va_list list;
    va_start(list, text);
    format_list(s, text, list);
    va_end(list);
}

static void number(String *s, long value, int base, int width, char fill) {
    char digits[70];
    int at = 70, minus = value < 0;
    unsigned long v = minus ? -(unsigned long)value : (unsigned long)value;
    do
        digits[--at] = "0123456789abcdefghijklmnopqrstuvwxyz"[v % base];
    while (v /= base);
    if (minus)
        digits[--at] = '-';
    while (70 - at < width)
        digits[--at] = fill;
    append(s, digits + at, 70 - at);
}

/* %d %x %s %c, %D for a date, %P for a point, %* for a number in a base. */
static String own(const char *format, ...) {
    String s = {NULL, 0, 0};
    va_list list;
    va_start(list, format);
    for (const char *p = format; *p; p++) {
        if (*p != '%') {
            append(&s, p, 1);
            continue;
        }
        int width = 0;
        char fill = p[1] == '0' ? '0' : ' ';
        while (p[1] >= '0' && p[1] <= '9')
            width = 10 * width + *++p - '0';
        switch (*++p) {
        case 'd': number(&s, va_arg(list, int), 10, width, fill); break;
        case 'l': number(&s, va_arg(list, long), 10, width, fill); break;
        case 'x': number(&s, va_arg(list, unsigned), 16, width, fill); break;
        case '*': {
            int base = va_arg(list, int);
            number(&s, va_arg(list, long), base, width, fill);
            break;
        }
        case 's': {
            const char *text = va_arg(list, const char *);
            append(&s, text, strlen(text));
            break;
        }
        case 'c': {
            char c = va_arg(list, int);
            append(&s, &c, 1);
            break;
        }
        case 'D': {
            Date d = va_arg(list, Date);
            number(&s, d.year, 10, 4, '0');
            append(&s, "-", 1);
            number(&s, d.month, 10, 2, '0');
            append(&s, "-", 1);
            number(&s, d.day, 10, 2, '0');
            break;
        }
        case 'P': {
            Point q = va_arg(list, Point);
            number(&s, (long)(q.x * 100), 10, 0, ' ');
            append(&s, "|", 1);
            number(&s, (long)(q.y * 100), 10, 0, ' ');
            break;
        }
        default: append(&s, p, 1);
        }
    }
    va_end(list);
    return s;
}

static Date next(Date d) {
    static const signed char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int leap = d.month == 2 && (d.year % 4 == 0) && (d.year % 100 || d.year % 400 == 0);
    if (++d.day > days[d.month - 1] + leap) {
        d.day = 1;
        if (++d.month > 12)
            d.month = 1, d.year++;
    }
    return d;
}

static double mean(int n, ...) {
    va_list list;
    double sum = 0;
    va_start(list, n);
    for (int i = 0; i < n; i++)
        sum += va_arg(list, double);
    va_end(list);
    return sum / n;
}

int main(int argc, char **argv) {
    String s = {NULL, 0, 0};
    for (int i = 0; i < argc - 1; i++)
        format(&s, "%s%d:%-5.3s|%+.2e;", i ? " " : "", i, argv[i + 1], i * 1.5);
    format(&s, "%08lx %c %5.1f%% %p %hd %lld", 0xbeefcafeul, 'q', 99.5, (void *)0, (short)-7, -1LL);
    puts(s.text);
    Date d = {27, 2, 2024};
    for (int i = 0; i < 4; i++) {
        String line = own("%D %05d %6x %s%c %* %P %%", d, i * -37, 48879 + i, "text", 'a' + i, 2 + i, 1234567890123L, (Point){i + 0.5, -0.25});
        puts(line.text);
        free(line.text);
        d = next(d);
    }
    printf("%.4f %.4f\n", mean(3, 1.0, 2.0, 4.0), mean(10, 1., 2., 3., 4., 5., 6., 7., 8., 9., 10.));
    free(s.text);
    return 0;
}
