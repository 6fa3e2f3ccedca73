/* What the files of the run-time library share. (It has no headers of its own: programs are compiled with those of the machine that compiles them.) */

#ifndef LIBRARY_H
#define LIBRARY_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* The simulator's services, by address: a byte that is written, a byte that is read (-1 behind the end). */
#define OUTPUT (*(volatile char *)0x10)
#define ERRORS (*(volatile char *)0x11)
#define INPUT (*(volatile int *)0x14)
/* Three words and what to do with them (`__serve`); its result. */
#define SERVICE (*(volatile int *)0x18)
enum { OPEN_FILE = 1, CLOSE_FILE, READ_FILE, WRITE_FILE, SEEK_FILE, REMOVE_FILE, RENAME_FILE, MICROSECONDS };
int __serve(int what, int first, int second, int third);

/* A stream. Standard ones are the simulator's own, 0 to 2 by number; for others there are functions (`files.c`). */
typedef struct file FILE;
struct file {
    int number;
    int put_back; /* the character that was put back, or -1 */
    int at_end, failed;
    int (*put)(int c, FILE *file);
    int (*get)(FILE *file);
    int (*end)(FILE *file, int last); /* writes what waits, and closes the file */
    char *buffer; /* what has been read (`filled` bytes, of which those before `at` are used up), or what waits to be written (`at` bytes) */
    int at, filled, writes, mode;
    FILE *next;
};
extern FILE *stdin, *stdout, *stderr;

int fprintf(FILE *file, const char *format, ...);
int *__errno_location(void);
#define errno (*__errno_location())
#define ERANGE 34
#define ENOMEM 12
#define EDOM 33
#define EINVAL 22

void exit(int status);
void abort(void);
void *malloc(size_t size);
void free(void *memory);
void *realloc(void *memory, size_t size);
char *strerror(int number);
void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
size_t strlen(const char *text);
int isspace(int c);
int isdigit(int c);
int isalnum(int c);
int tolower(int c);

/* A float in decimal digits: `__digits.c`. Writes up to `most` digits without a point, and says where it stands behind the first. */
/* e^(x + low), where low is small. */
double __exponential(double x, double low);
int __decimal(double x, int most, int behind_point, char *digits, int *exponent);

#endif
