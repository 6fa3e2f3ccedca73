"""The kernels of ``cases.py`` as a user of Numba writes them; the program puts ``numba.njit`` on them, and measures that."""

import numpy as np
from cases import COEFFS

# Numba makes constants of the globals a function reads.
C0, C1, C2, C3 = map(np.float32, COEFFS)
F32 = np.float32


def clipped(x, y, limit):
    count = 0
    for i in range(len(x)):
        v = x[i]
        if v > limit:
            v = limit
            count += 1
        y[i] = v
    return count


def poly(x, y):
    for i in range(len(x)):
        y[i] = ((C3 * x[i] + C2) * x[i] + C1) * x[i] + C0


def dot(x, y):
    total = F32(0)
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


def blur(image, out):
    for r in range(out.shape[0]):
        for c in range(out.shape[1]):
            total = F32(0)
            for dr in range(3):
                for dc in range(3):
                    total += image[r + dr, c + dc]
            out[r, c] = total * F32(1 / 9)


def row_sums(image, sums):
    for r in range(image.shape[0]):
        total = F32(0)
        for c in range(image.shape[1]):
            total += image[r, c]
        sums[r] = total


def largest(x):
    most = x[0]
    for i in range(1, len(x)):
        most = max(most, x[i])
    return most


def running_sums(x, y):
    total = F32(0)
    for i in range(len(x)):
        total += x[i]
        y[i] = total


def selection_sort(x):
    for i in range(len(x)):
        least = x[i]
        place = i
        for j in range(i + 1, len(x)):
            if x[j] < least:
                least = x[j]
                place = j
        x[place] = x[i]
        x[i] = least


def gather(x, places, y):
    for i in range(len(y)):
        y[i] = x[places[i]]


def distances(x, z, a, b, out):
    for i in range(len(out)):
        dx, dz = x[i] - a, z[i] - b
        out[i] = np.sqrt(dx * dx + dz * dz)


def threshold(pixels, out):
    for i in range(len(out)):
        if pixels[i] > 127:
            out[i] = 255
        else:
            out[i] = pixels[i] // 2


def escapes(re, im, steps):
    for i in range(len(steps)):
        a, b, n = F32(0), F32(0), 0
        while n < 32 and a * a + b * b <= F32(4):
            a, b = a * a - b * b + re[i], F32(2) * a * b + im[i]
            n += 1
        steps[i] = n
