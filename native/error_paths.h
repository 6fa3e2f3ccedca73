/* Put in front of every C file of the native build (setup.py).
 *
 * mypyc writes a way out for an exception behind almost every operation, and one for integers that do not fit a machine word. What these functions are called on is
 * such a way: told so, the C compiler puts it apart from the code that runs, which takes less of the caches.
 */
#ifndef LOOPWRIGHT_ERROR_PATHS_H
#define LOOPWRIGHT_ERROR_PATHS_H

#include <CPy.h>

#define SELDOM __attribute__((cold))

/* Exceptions. */
SELDOM void CPy_AddTraceback(const char *filename, const char *funcname, int line, PyObject *globals);
SELDOM void CPy_AttributeError(const char *filename, const char *funcname, const char *classname, const char *attrname, int line, PyObject *globals);
SELDOM void CPy_TypeErrorTraceback(const char *filename, const char *funcname, int line, PyObject *globals, const char *expected, PyObject *value);
SELDOM void CPy_TypeError(const char *expected, PyObject *value);
SELDOM void CPyError_OutOfMemory(void);
SELDOM PyAPI_FUNC(void) PyErr_SetString(PyObject *, const char *);

/* What is let go of on the way: elsewhere mypyc writes CPy_DECREF and CPyTagged_DECREF. */
SELDOM static void CPy_DecRef(PyObject *p);
SELDOM static void CPy_XDecRef(void *p);
SELDOM void CPyTagged_DecRef(CPyTagged x);
SELDOM void CPyTagged_XDecRef(CPyTagged x);

/* Integers that are objects. */
SELDOM void CPyTagged_IncRef(CPyTagged x);
SELDOM bool CPyTagged_IsEq_(CPyTagged left, CPyTagged right);
SELDOM bool CPyTagged_IsLt_(CPyTagged left, CPyTagged right);
SELDOM CPyTagged CPyTagged_Add_(CPyTagged left, CPyTagged right);
SELDOM CPyTagged CPyTagged_Subtract_(CPyTagged left, CPyTagged right);

#undef SELDOM
#endif
