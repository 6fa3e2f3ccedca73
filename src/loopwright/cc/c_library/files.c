/* Files, by what the simulator does for programs. */

#include "library.h"

#define ROOM 1024
#define READS 1
#define WRITES 2
#define MADE 4
#define EMPTIED 8
#define AT_THE_END 16
#define NEW 32

/* All that are open. */
static FILE *opened;
extern void (*__end_of_files)(void);

static int served(int what, int first, int second, int third) {
    int made = __serve(what, first, second, third);
    if (made < 0) {
        errno = -made;
        return -1;
    }
    return made;
}

static int address(const void *of) { return (int)(uintptr_t)of; }

/* Writes what waits; 0, or -1. */
static int written(FILE *file) {
    int from = 0, count = file->at;
    if (!file->writes) return 0;
    file->at = file->writes = 0;
    while (from < count) {
        int moved = served(WRITE_FILE, file->number, address(file->buffer + from), count - from);
        if (moved <= 0) {
            file->failed = 1;
            return -1;
        }
        from += moved;
    }
    return 0;
}

/* Forgets what has been read ahead: the file goes on where the program is. */
static void forgotten(FILE *file) {
    int ahead = file->filled - file->at + (file->put_back >= 0);
    file->put_back = -1;
    file->at = file->filled = 0;
    if (ahead) served(SEEK_FILE, file->number, -ahead, 1);
}

static int put(int c, FILE *file) {
    if (!(file->mode & WRITES)) {
        file->failed = 1;
        return -1;
    }
    if (!file->writes) {
        forgotten(file);
        file->writes = 1;
    }
    file->buffer[file->at++] = (char)c;
    if (file->at == ROOM && written(file) < 0) return -1;
    return (unsigned char)c;
}

static int get(FILE *file) {
    if (!(file->mode & READS)) {
        file->failed = 1;
        return -1;
    }
    if (file->writes) written(file);
    if (file->at == file->filled) {
        file->at = file->filled = 0;
        int count = served(READ_FILE, file->number, address(file->buffer), ROOM);
        if (count < 0) file->failed = 1;
        if (count <= 0) return -1;
        file->filled = count;
    }
    return (unsigned char)file->buffer[file->at++];
}

static int end(FILE *file, int last) {
    int made = written(file);
    if (last) {
        if (served(CLOSE_FILE, file->number, 0, 0) < 0) made = -1;
        for (FILE **at = &opened; *at; at = &(*at)->next)
            if (*at == file) {
                *at = file->next;
                break;
            }
        free(file->buffer);
    }
    return made;
}

static void end_of_all(void) {
    while (opened) opened->end(opened, 1);
}

/* A stream becomes one of a file; 0, or -1. */
static int begun(FILE *file, const char *name, const char *mode) {
    int flags = *mode == 'r' ? READS : *mode == 'w' ? WRITES | MADE | EMPTIED : *mode == 'a' ? WRITES | MADE | AT_THE_END : 0;
    for (const char *at = mode; *at && *at != ','; at++) {
        if (*at == '+') flags |= READS | WRITES;
        if (*at == 'x') flags |= NEW;
    }
    if (!(flags & (READS | WRITES))) {
        errno = EINVAL;
        return -1;
    }
    int number = served(OPEN_FILE, address(name), flags, 0);
    if (number < 0) return -1;
    file->buffer = malloc(ROOM);
    if (!file->buffer) return -1;
    file->number = number;
    file->put_back = -1;
    file->at_end = file->failed = file->at = file->filled = file->writes = 0;
    file->mode = flags;
    file->put = put;
    file->get = get;
    file->end = end;
    file->next = opened;
    opened = file;
    __end_of_files = end_of_all;
    return 0;
}

FILE *fopen(const char *name, const char *mode) {
    FILE *file = malloc(sizeof *file);
    if (!file) return 0;
    if (begun(file, name, mode) == 0) return file;
    free(file);
    return 0;
}

FILE *fopen64(const char *name, const char *mode) { return fopen(name, mode); }

FILE *freopen(const char *name, const char *mode, FILE *file) {
    if (file->end) file->end(file, 1);
    file->end = 0;
    return name && begun(file, name, mode) == 0 ? file : 0;
}

int fclose(FILE *file) {
    if (!file->end) return 0;
    int made = file->end(file, 1);
    file->end = 0;
    /* (A standard stream that was opened again is no memory of ours.) */
    if (file != stdin && file != stdout && file != stderr) free(file);
    return made;
}

int fflush(FILE *file) {
    int made = 0;
    if (file) return file->end ? file->end(file, 0) : 0;
    for (FILE *each = opened; each; each = each->next)
        if (each->end(each, 0) < 0) made = -1;
    return made;
}

int fseek(FILE *file, long to, int from) {
    if (!file->end) {
        errno = 29; /* ESPIPE */
        return -1;
    }
    if (written(file) < 0) return -1;
    forgotten(file);
    file->at_end = 0;
    return served(SEEK_FILE, file->number, (int)to, from) < 0 ? -1 : 0;
}

long ftell(FILE *file) {
    if (!file->end) {
        errno = 29;
        return -1;
    }
    int made = served(SEEK_FILE, file->number, 0, 1);
    if (made < 0) return -1;
    return file->writes ? made + file->at : made - (file->filled - file->at) - (file->put_back >= 0);
}

int fseeko(FILE *file, long to, int from) { return fseek(file, to, from); }
long ftello(FILE *file) { return ftell(file); }

void rewind(FILE *file) {
    fseek(file, 0, 0);
    file->failed = 0;
}

/* (glibc's fpos_t begins with the place.) */
int fgetpos(FILE *file, long *to) {
    *to = ftell(file);
    return *to < 0 ? -1 : 0;
}
int fsetpos(FILE *file, const long *to) { return fseek(file, *to, 0); }

int remove(const char *name) { return served(REMOVE_FILE, address(name), 0, 0); }
int unlink(const char *name) { return remove(name); }
int rename(const char *from, const char *to) { return served(RENAME_FILE, address(from), address(to), 0); }
