"""What a kernel calls for its arrays: one of its own, and stores past the caches.

In a module that is not compiled: a kernel's calls tell Python's functions from others, and these are some.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loopwright.errors import KernelTypeError
from loopwright.frontend.arrays import StagedArray
from loopwright.frontend.expr import describe
from loopwright.types import Type

__all__ = ["local", "nontemporal"]


def local(element: Type, *extents: int) -> np.ndarray[Any, Any]:
    """An array of the kernel's own, for as long as a call of it runs: ``row = lw.local(lw.f32, 64)``, ``tile = lw.local(lw.f32, 8, 16)``.

    Where all its indices are known while compiling its elements are registers; otherwise it lies on the stack. What is in it is undefined until it is written.

    Args:
        element: the type of the elements.
        extents: outermost first: numbers known while compiling, at most 64 KiB for all local arrays of a kernel together.

    Raises:
        KernelTypeError: no element type, extents that are not known, or too many elements.
    """
    return np.empty(extents, element.dtype)


def nontemporal(array: Any) -> None:
    """What a kernel stores to an array is not to be kept in the caches: ``lw.nontemporal(y)``, anywhere in the kernel.

    For results that are larger than the caches and not soon read again: the stores of loops over lanes, by index of the loop, go past the caches, and lines are not
    read from memory before they are overwritten. What is stored, and what is read back, stay the same. On x86-64 these are MOVNTPS and its kin, with an SFENCE
    before the kernel returns; other machines store as always. (OpenMP's clause ``nontemporal``; Intel SDM volume 1, 10.4.6.2.)

    Args:
        array: a parameter of the kernel, of any element type and number of dimensions.

    Raises:
        KernelTypeError: it is no array, or one of the kernel's own.
    """
    if isinstance(array, StagedArray):
        if array.array.size:
            array.emitter.fail(f"lw.nontemporal is for arrays that the kernel is given, and {array.array.name} is its own")
        array.array.nontemporal = True
    elif not isinstance(array, np.ndarray):
        raise KernelTypeError(f"lw.nontemporal takes an array, not {describe(array)}")
