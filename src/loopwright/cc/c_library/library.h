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

typedef struct file FILE;
extern FILE *stdin, *stdout, *stderr;

int fprintf(FILE *file, const char *format, ...);
int *__errno_location(void);
#define errno (*__errno_location())
#define ERANGE 34
#define ENOMEM 12
#define EDOM 33

void exit(int status);
void abort(void);
void *malloc(size_t size);
void free(void *memory);
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
