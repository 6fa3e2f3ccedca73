"""The demo's kernels. Pictures are planes of f32, one for each colour, from 0 (black) to 1.

The filters read a source that is larger than their result by the reach of the window, so that every window lies
inside it: the caller pads the picture by repeating the pixels of its edge (``numpy.pad(..., mode="edge")``).
"""

from __future__ import annotations

import loopwright as lw

__all__ = ["blur", "curve", "largest"]


@lw.kernel
def blur(src: lw.Array[lw.f32, 2], dst: lw.Array[lw.f32, 2]):
    """Each pixel becomes the mean of the 3 x 3 around it. ``src`` has one row and column more on every side."""
    for r in lw.range(dst.shape[0]):
        for c in lw.lanes(dst.shape[1]):
            total = 0.0
            for dr in (0, 1, 2):  # loops over Python values run while compiling: these two leave nine additions
                for dc in (0, 1, 2):
                    total += src[r + dr, c + dc]
            dst[r, c] = total * (1 / 9)


@lw.kernel
def curve(src: lw.Array[lw.f32, 2], dst: lw.Array[lw.f32, 2], coeffs: lw.Const):
    """A tone curve: each pixel x becomes coeffs[0] + coeffs[1] * x + coeffs[2] * x * x + …

    The coefficients are constants of the code: those that are zero leave nothing in it.
    """
    for r in lw.range(dst.shape[0]):
        for c in lw.lanes(dst.shape[1]):
            x = src[r, c]
            y = coeffs[-1]
            for k in reversed(coeffs[:-1]):
                y = y * x + k if k else y * x
            dst[r, c] = y


@lw.kernel
def largest(src: lw.Array[lw.f32, 2], line: lw.Array[lw.f32], dst: lw.Array[lw.f32, 2], size: lw.Const):
    """Each pixel becomes the largest of the size x size around it. ``src`` has size // 2 rows and columns more on every side.

    The largest of a window is the largest of its columns' largest: first those of a whole row of windows, into
    ``line`` (as long as a row of ``src``), then along the line.
    """
    for r in lw.range(dst.shape[0]):
        for c in lw.lanes(src.shape[1]):
            most = src[r, c]
            for down in range(1, size):
                most = lw.max(src[r + down, c], most)
            line[c] = most
        for c in lw.lanes(dst.shape[1]):
            most = line[c]
            for along in range(1, size):
                most = lw.max(line[c + along], most)
            dst[r, c] = most
