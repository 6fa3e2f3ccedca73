"""How far down the stack of the calling thread may go."""

from __future__ import annotations

import ctypes
import sys
import threading
from typing import Final

__all__ = ["limit"]

#: Bytes of the stack that are left to what is called without asking: frames of functions that call nothing, and C.
_LEFT: Final = 1 << 18
#: Bytes of pthread_attr_t, at most (glibc: 56).
_ATTRIBUTES: Final = 256

_known: Final = threading.local()


def limit() -> int:
    """The address that the stack of this thread is not to go below; 0 where the system does not tell (other systems than Linux with glibc)."""
    known: int | None = getattr(_known, "limit", None)
    if known is None:
        known = _known.limit = _found()
    return known


def _found() -> int:
    """pthread_getattr_np(3), pthread_attr_getstack(3): the lowest address of the stack."""
    if not sys.platform.startswith("linux"):
        return 0
    library = ctypes.CDLL(None)
    try:
        getattr_np, getstack, destroy = library.pthread_getattr_np, library.pthread_attr_getstack, library.pthread_attr_destroy
    except AttributeError:
        return 0
    library.pthread_self.restype = ctypes.c_void_p
    attributes = ctypes.create_string_buffer(_ATTRIBUTES)
    if getattr_np(ctypes.c_void_p(library.pthread_self()), attributes):
        return 0
    lowest, size = ctypes.c_void_p(), ctypes.c_size_t()
    failed = getstack(attributes, ctypes.byref(lowest), ctypes.byref(size))
    destroy(attributes)
    return 0 if failed or size.value < 2 * _LEFT else (lowest.value or 0) + _LEFT
