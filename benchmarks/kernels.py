"""The kernels that are measured, as a user of loopwright writes them."""

from __future__ import annotations

import loopwright as lw

__all__ = ["KERNELS", "blur", "dot", "max3", "poly", "selection_sort", "sum_"]


@lw.kernel
def poly(x: lw.Array[lw.f32], y: lw.Array[lw.f32], coeffs: lw.Const):
    """y[i] = coeffs[0] + coeffs[1] * x[i] + coeffs[2] * x[i]**2 + …, by Horner's rule."""
    for i in lw.lanes(len(y)):
        total = coeffs[-1]
        for c in reversed(coeffs[:-1]):
            total = total * x[i] + c
        y[i] = total


@lw.kernel
def max3(x: lw.Array[lw.f32], y: lw.Array[lw.f32]):
    """y[i] = the largest of x[i], x[i + 1], x[i + 2]; x is two longer than y."""
    for i in lw.lanes(len(y)):
        y[i] = lw.max(lw.max(x[i], x[i + 1]), x[i + 2])


@lw.kernel
def blur(image: lw.Array[lw.f32, 2], out: lw.Array[lw.f32, 2]):
    """Each element of out is the mean of the 3 x 3 of image from its place; image is two larger each way."""
    for r in lw.range(out.shape[0]):
        for c in lw.lanes(out.shape[1]):
            total = image[r, c]
            for dr, dc in ((0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)):
                total += image[r + dr, c + dc]
            out[r, c] = total * (1 / 9)


@lw.kernel
def dot(x: lw.Array[lw.f32], y: lw.Array[lw.f32]) -> lw.f32:
    """The sum of x[i] * y[i]."""
    total = lw.f32(0)
    for i in lw.lanes(len(x)):
        total += x[i] * y[i]
    return total


@lw.kernel
def sum_(x: lw.Array[lw.f32]) -> lw.f32:
    """The sum of x."""
    total = lw.f32(0)
    for i in lw.lanes(len(x)):
        total += x[i]
    return total


@lw.kernel
def selection_sort(x: lw.Array[lw.i32]):
    """Sort x in place, by repeatedly exchanging the smallest of the rest to the front."""
    for i in lw.range(len(x)):
        least = x[i]
        place = i
        for j in lw.range(i + 1, len(x)):
            if x[j] < least:
                least = x[j]
                place = j
        x[place] = x[i]
        x[i] = least


_VECTOR, _PLANE = lw.Array[lw.f32], lw.Array[lw.f32, 2]

#: Name of a case -> its kernel and the types of its arrays.
KERNELS = {
    "poly3": (poly, (_VECTOR, _VECTOR)),
    "poly15": (poly, (_VECTOR, _VECTOR)),
    "max3": (max3, (_VECTOR, _VECTOR)),
    "blur": (blur, (_PLANE, _PLANE)),
    "dot": (dot, (_VECTOR, _VECTOR)),
    "sum": (sum_, (_VECTOR,)),
    "selection_sort": (selection_sort, (lw.Array[lw.i32],)),
}
