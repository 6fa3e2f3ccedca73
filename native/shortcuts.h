/* Put in front of every C file that mypyc makes of a module (setup.py): shorter ways for what the compiler's core does most with integers, lists and bytes. */
#ifndef LOOPWRIGHT_SHORTCUTS_H
#define LOOPWRIGHT_SHORTCUTS_H

#include <CPy.h>

#if defined(__GNUC__) && defined(__ELF__) && !defined(Py_GIL_DISABLED)

/* One copy for all files. */
#define SHARED __attribute__((weak, visibility("hidden"), noinline))

/* In lists, dictionaries and sets integers are objects, which mypyc has CPython make each time; CPython keeps only those from -5 to 256. The numbers of values and of
 * places in the code, which are what a compilation handles, are a little larger and come again and again: their objects are kept here once they have been made.
 *
 * Kept are those from LOWEST on, so many.
 */
#define LOWEST (-32)
#define KEPT 2048

__attribute__((common, visibility("hidden"))) PyObject *loopwright_integers[KEPT];

SHARED __attribute__((cold)) PyObject *loopwright_integer_made(CPyTagged x)
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
SHARED PyObject *loopwright_integer(CPyTagged x)
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

/* Lists that have room for one more, or stay half full with one less (where CPython's own functions do not allocate memory anew either). */
SHARED int loopwright_append(PyObject *list, PyObject *item)
{
    if (likely(PyList_CheckExact(list))) {
        PyListObject *const own = (PyListObject *)list;
        const Py_ssize_t size = Py_SIZE(own);
        if (likely(size < own->allocated)) {
            Py_INCREF(item);
            own->ob_item[size] = item;
            Py_SET_SIZE(own, size + 1);
            return 0;
        }
    }
    return PyList_Append(list, item);
}

SHARED PyObject *loopwright_pop(PyObject *list)
{
    if (likely(PyList_CheckExact(list))) {
        PyListObject *const own = (PyListObject *)list;
        const Py_ssize_t size = Py_SIZE(own) - 1;
        if (likely(size >= 0 && size >= own->allocated >> 1)) {
            PyObject *last = own->ob_item[size];
            Py_SET_SIZE(own, size);
            return last;
        }
    }
    return CPyList_PopLast(list);
}

/* A copy of a list is made at once. */
SHARED PyObject *loopwright_list(PyObject *of)
{
    return PyList_CheckExact(of) ? PyList_GetSlice(of, 0, PyList_GET_SIZE(of)) : PySequence_List(of);
}

/* Bytes are added to a bytearray without the protocol for buffers; small integers become bytes without an object between. */
SHARED PyObject *loopwright_add_to(PyObject *left, PyObject *right)
{
    if (PyByteArray_CheckExact(left) && PyBytes_CheckExact(right)) {
        const Py_ssize_t size = PyByteArray_GET_SIZE(left), more = PyBytes_GET_SIZE(right);
        if (likely(more <= PY_SSIZE_T_MAX - size)) {
            if (PyByteArray_Resize(left, size + more) < 0)
                return NULL;
            memcpy(PyByteArray_AS_STRING(left) + size, PyBytes_AS_STRING(right), more);
            Py_INCREF(left);
            return left;
        }
    }
    return PyNumber_InPlaceAdd(left, right);
}

SHARED PyObject *loopwright_little_endian(CPyTagged x, Py_ssize_t length, int with_sign)
{
    if (likely(CPyTagged_CheckShort(x) && length > 0 && length <= 8)) {
        const int64_t value = CPyTagged_ShortAsSsize_t(x);
        if (likely(value >= 0 && value >> (8 * length - 1) >> !with_sign == 0)) {
            char bytes[8];
            for (int k = 0; k < 8; k++)
                bytes[k] = (char)(value >> 8 * k);
            return PyBytes_FromStringAndSize(bytes, length);
        }
    }
    return CPyTagged_ToLittleEndianBytes(x, length, with_sign);
}

/* In place of the functions of CPython and of mypyc's library. */
#define CPyTagged_StealAsObject loopwright_integer
#define PyList_Append loopwright_append
#define CPyList_PopLast loopwright_pop
#define PySequence_List loopwright_list
#define PyNumber_InPlaceAdd loopwright_add_to
#define CPyTagged_ToLittleEndianBytes loopwright_little_endian

#undef SHARED
#undef LOWEST
#undef KEPT
#endif
#endif
