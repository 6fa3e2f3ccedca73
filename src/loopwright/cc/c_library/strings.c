/* Strings, and what characters are (in the C locale). */

#include "library.h"

size_t strlen(const char *text) {
    const char *end = text;
    while (*end) end++;
    return (size_t)(end - text);
}

size_t strnlen(const char *text, size_t most) {
    size_t size = 0;
    while (size < most && text[size]) size++;
    return size;
}

int strcmp(const char *a, const char *b) {
    while (*a && *a == *b) { a++; b++; }
    return (unsigned char)*a - (unsigned char)*b;
}

int strncmp(const char *a, const char *b, size_t most) {
    for (; most; most--, a++, b++)
        if (*a != *b || !*a) return (unsigned char)*a - (unsigned char)*b;
    return 0;
}

int strcoll(const char *a, const char *b) { return strcmp(a, b); }

int strcasecmp(const char *a, const char *b) {
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) { a++; b++; }
    return tolower((unsigned char)*a) - tolower((unsigned char)*b);
}

char *stpcpy(char *to, const char *from) {
    while ((*to = *from++)) to++;
    return to;
}

char *strcpy(char *to, const char *from) {
    stpcpy(to, from);
    return to;
}

char *strncpy(char *to, const char *from, size_t most) {
    size_t at = 0;
    for (; at < most && from[at]; at++) to[at] = from[at];
    for (; at < most; at++) to[at] = 0;
    return to;
}

char *strcat(char *to, const char *from) {
    stpcpy(to + strlen(to), from);
    return to;
}

char *strncat(char *to, const char *from, size_t most) {
    char *end = to + strlen(to);
    while (most-- && *from) *end++ = *from++;
    *end = 0;
    return to;
}

char *strchr(const char *text, int c) {
    for (;; text++) {
        if (*text == (char)c) return (char *)text;
        if (!*text) return 0;
    }
}

char *strrchr(const char *text, int c) {
    const char *found = 0;
    for (;; text++) {
        if (*text == (char)c) found = text;
        if (!*text) return (char *)found;
    }
}

static size_t span(const char *text, const char *set, int in) {
    size_t at = 0;
    for (; text[at]; at++)
        if ((strchr(set, text[at]) != 0) != in) break;
    return at;
}

size_t strspn(const char *text, const char *set) { return span(text, set, 1); }
size_t strcspn(const char *text, const char *set) { return span(text, set, 0); }

char *strpbrk(const char *text, const char *set) {
    text += strcspn(text, set);
    return *text ? (char *)text : 0;
}

char *strstr(const char *text, const char *wanted) {
    for (;; text++) {
        size_t at = 0;
        while (wanted[at] && text[at] == wanted[at]) at++;
        if (!wanted[at]) return (char *)text;
        if (!*text) return 0;
    }
}

char *strtok_r(char *text, const char *set, char **kept) {
    if (!text) text = *kept;
    text += strspn(text, set);
    if (!*text) { *kept = text; return 0; }
    char *end = text + strcspn(text, set);
    *kept = *end ? end + 1 : end;
    *end = 0;
    return text;
}

char *strtok(char *text, const char *set) {
    static char *kept;
    return strtok_r(text, set, &kept);
}

char *strdup(const char *text) {
    size_t size = strlen(text) + 1;
    char *made = malloc(size);
    return made ? memcpy(made, text, size) : 0;
}

char *strndup(const char *text, size_t most) {
    size_t size = strnlen(text, most);
    char *made = malloc(size + 1);
    if (!made) return 0;
    made[size] = 0;
    return memcpy(made, text, size);
}

char *__strdup(const char *text) { return strdup(text); }
char *__strndup(const char *text, size_t most) { return strndup(text, most); }
char *__strtok_r(char *text, const char *set, char **kept) { return strtok_r(text, set, kept); }
char *__stpcpy(char *to, const char *from) { return stpcpy(to, from); }

char *stpncpy(char *to, const char *from, size_t most) {
    size_t size = strnlen(from, most);
    strncpy(to, from, most);
    return to + size;
}

size_t strxfrm(char *to, const char *from, size_t room) {
    size_t size = strlen(from);
    if (room) strncpy(to, from, room);
    return size;
}

int strncasecmp(const char *a, const char *b, size_t most) {
    for (; most; most--, a++, b++) {
        int x = tolower((unsigned char)*a), y = tolower((unsigned char)*b);
        if (x != y || !x) return x - y;
    }
    return 0;
}

char *strcasestr(const char *text, const char *wanted) {
    size_t size = strlen(wanted);
    for (;; text++) {
        if (!strncasecmp(text, wanted, size)) return (char *)text;
        if (!*text) return 0;
    }
}

char *strchrnul(const char *text, int c) {
    while (*text && *text != (char)c) text++;
    return (char *)text;
}

char *strsep(char **rest, const char *set) {
    char *text = *rest;
    if (!text) return 0;
    char *end = text + strcspn(text, set);
    *rest = *end ? end + 1 : 0;
    *end = 0;
    return text;
}

char *index(const char *text, int c) { return strchr(text, c); }
char *rindex(const char *text, int c) { return strrchr(text, c); }

static const struct { int number; char *text; } reasons[] = {
    {0, "Success"}, {1, "Operation not permitted"}, {2, "No such file or directory"}, {5, "Input/output error"}, {9, "Bad file descriptor"}, {11, "Resource temporarily unavailable"},
    {ENOMEM, "Cannot allocate memory"}, {13, "Permission denied"}, {17, "File exists"}, {20, "Not a directory"}, {21, "Is a directory"}, {EINVAL, "Invalid argument"},
    {28, "No space left on device"}, {29, "Illegal seek"}, {EDOM, "Numerical argument out of domain"}, {ERANGE, "Numerical result out of range"}, {38, "Function not implemented"},
};

char *strerror(int number) {
    static char other[32] = "Unknown error ";
    for (size_t at = 0; at < sizeof reasons / sizeof *reasons; at++)
        if (reasons[at].number == number) return reasons[at].text;
    char digits[12];
    int size = 0, place = 14;
    unsigned left = number < 0 ? 0 - (unsigned)number : (unsigned)number;
    do digits[size++] = (char)('0' + left % 10); while (left /= 10);
    if (number < 0) other[place++] = '-';
    while (size) other[place++] = digits[--size];
    other[place] = 0;
    return other;
}

int isdigit(int c) { return c >= '0' && c <= '9'; }
int isupper(int c) { return c >= 'A' && c <= 'Z'; }
int islower(int c) { return c >= 'a' && c <= 'z'; }
int isalpha(int c) { return isupper(c) || islower(c); }
int isalnum(int c) { return isalpha(c) || isdigit(c); }
int isspace(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
int isblank(int c) { return c == ' ' || c == '\t'; }
int isprint(int c) { return c >= ' ' && c <= '~'; }
int isgraph(int c) { return c > ' ' && c <= '~'; }
int iscntrl(int c) { return (c >= 0 && c < ' ') || c == 127; }
int ispunct(int c) { return isgraph(c) && !isalnum(c); }
int isxdigit(int c) { return isdigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
int isascii(int c) { return c >= 0 && c < 128; }
int toascii(int c) { return c & 127; }
int tolower(int c) { return isupper(c) ? c + 32 : c; }
int toupper(int c) { return islower(c) ? c - 32 : c; }

/* The tables of classes that glibc's <ctype.h> reads, made when they are first asked for: elements from -128 to 255, a bit a class (in the order of its header). */
static unsigned short classes[384];
static const unsigned short *classes_at;
static int lower[384], upper[384];
static const int *lower_at, *upper_at;

const unsigned short **__ctype_b_loc(void) {
    if (!classes_at) {
        for (int c = 0; c < 128; c++)
            classes[128 + c] = (unsigned short)((isupper(c) ? 1 << 8 : 0) | (islower(c) ? 1 << 9 : 0) | (isalpha(c) ? 1 << 10 : 0) | (isdigit(c) ? 1 << 11 : 0)
                | (isxdigit(c) ? 1 << 12 : 0) | (isspace(c) ? 1 << 13 : 0) | (isprint(c) ? 1 << 14 : 0) | (isgraph(c) ? 1 << 15 : 0) | (isblank(c) ? 1 : 0)
                | (iscntrl(c) ? 2 : 0) | (ispunct(c) ? 4 : 0) | (isalnum(c) ? 8 : 0));
        classes_at = classes + 128;
    }
    return &classes_at;
}

const int **__ctype_tolower_loc(void) {
    if (!lower_at) {
        for (int c = -128; c < 256; c++) lower[128 + c] = tolower(c);
        lower_at = lower + 128;
    }
    return &lower_at;
}

const int **__ctype_toupper_loc(void) {
    if (!upper_at) {
        for (int c = -128; c < 256; c++) upper[128 + c] = toupper(c);
        upper_at = upper + 128;
    }
    return &upper_at;
}
