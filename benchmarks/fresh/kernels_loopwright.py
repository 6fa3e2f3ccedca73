"""The kernels of ``cases.py`` as a user of loopwright writes them; the program puts ``lw.kernel`` on them, and measures that."""

from cases import COEFFS

import loopwright as lw


def clipped(x: lw.Array, y: lw.Array, limit: lw.f32) -> lw.i32:
    count = lw.i32(0)
    for i in lw.lanes(len(x)):
        v = x[i]
        if v > limit:
            v = limit
            count += 1
        y[i] = v
    return count


def poly(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        total = COEFFS[-1]
        for c in reversed(COEFFS[:-1]):
            total = total * x[i] + c
        y[i] = total


def dot(x: lw.Array, y: lw.Array) -> lw.f32:
    total = lw.f32(0)
    for i in lw.lanes(len(x)):
        total += x[i] * y[i]
    return total


def blur(image: lw.Array, out: lw.Array):
    for r in lw.range(out.shape[0]):
        for c in lw.lanes(out.shape[1]):
            total = image[r, c]
            for dr, dc in ((0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)):
                total += image[r + dr, c + dc]
            out[r, c] = total * (1 / 9)


def row_sums(image: lw.Array, sums: lw.Array):
    for r in lw.range(image.shape[0]):
        total = lw.f32(0)
        for c in lw.lanes(image.shape[1]):
            total += image[r, c]
        sums[r] = total


def largest(x: lw.Array) -> lw.f32:
    most = x[0]
    for i in lw.lanes(1, len(x)):
        most = lw.max(most, x[i])
    return most


def running_sums(x: lw.Array, y: lw.Array):
    total = lw.f32(0)
    for i in lw.range(len(x)):
        total += x[i]
        y[i] = total


def selection_sort(x: lw.Array):
    for i in lw.range(len(x)):
        least = x[i]
        place = i
        for j in lw.range(i + 1, len(x)):
            if x[j] < least:
                least = x[j]
                place = j
        x[place] = x[i]
        x[i] = least


def gather(x: lw.Array, places: lw.Array, y: lw.Array):
    for i in lw.range(len(y)):
        y[i] = x[places[i]]


def distances(x: lw.Array, z: lw.Array, a: lw.f32, b: lw.f32, out: lw.Array):
    for i in lw.lanes(len(out)):
        dx, dz = x[i] - a, z[i] - b
        out[i] = lw.sqrt(dx * dx + dz * dz)


def threshold(pixels: lw.Array, out: lw.Array):
    for i in lw.range(len(out)):
        if pixels[i] > 127:
            out[i] = 255
        else:
            out[i] = pixels[i] // 2


def escapes(re: lw.Array, im: lw.Array, steps: lw.Array):
    for i in lw.lanes(len(steps)):
        a, b, n = lw.f32(0), lw.f32(0), lw.i32(0)
        while n < 32 and a * a + b * b <= 4:
            a, b = a * a - b * b + re[i], 2 * a * b + im[i]
            n += 1
        steps[i] = n
