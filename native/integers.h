/* Put in front of every C file that mypyc makes of a module (setup.py).
 *
 * In lists, dictionaries and sets integers are objects, which mypyc has CPython make each time; CPython keeps only those from -5 to 256. The numbers of values and of
 * places in the code, which are what a compilation handles, are a little larger and come again and again: their objects are kept here once they have been made.
 */
#ifndef LOOPWRIGHT_INTEGERS_H
#define LOOPWRIGHT_INTEGERS_H

#include <CPy.h>

#if defined(__GNUC__) && defined(__ELF__) && !defined(Py_GIL_DISABLED)

/* Kept are those from LOWEST on, so many. */
#define LOWEST (-32)
#define KEPT 2048

/* One table and one copy of the functions for all files. */
__attribute__((common, visibility("hidden"))) PyObject *loopwright_integers[KEPT];

__attribute__((weak, visibility("hidden"), noinline, cold)) PyObject *loopwright_integer_made(CPyTagged x)
{
    if (CPyTagged_CheckLong(x))
        return CPyTagged_LongAsObject(x);
    PyObject *made = CPyTagged_AsObject(x);
    const size_t place = CPyTagged_ShortAsSsize_t(x) - (Py_ssize_t)LOWEST;
    if (place < KEPT) {
        Py_INCREF(made);
        loopwright_integers[place] = made;
    }
    return made;
}

/* A tagged integer is twice the integer; one that is an object, the object's address and 1, is above all that are kept. */
__attribute__((weak, visibility("hidden"), noinline)) PyObject *loopwright_integer(CPyTagged x)
{
    const size_t twice = x - 2 * (CPyTagged)LOWEST;
    if (likely(twice < 2 * KEPT)) {
        PyObject *known = loopwright_integers[twice / 2];
        if (likely(known != NULL)) {
            Py_INCREF(known);
            return known;
        }
    }
    return loopwright_integer_made(x);
}

/* In place of the function of mypyc's library. */
#define CPyTagged_StealAsObject loopwright_integer

#undef LOWEST
#undef KEPT
#endif
#endif
