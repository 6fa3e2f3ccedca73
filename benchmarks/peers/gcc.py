"""The kernels in C, for gcc -O3 -march=native -ffast-math with vectors of 256 and of 512 bits."""

from __future__ import annotations

import ctypes
from functools import cache

from benchmarks.cases import DEGREE_3, DEGREE_15
from benchmarks.native import build_c

VARIANTS = ("gcc 256", "gcc 512")


def _horner(coefficients: tuple[float, ...]) -> str:
    text = f"{coefficients[-1]!r}f"
    for c in reversed(coefficients[:-1]):
        text = f"({text}) * v + {c!r}f"
    return text


SOURCE = f"""
#include <stdint.h>
static inline float larger(float a, float b) {{ return a > b ? a : b; }}

void poly3(const float *restrict x, float *restrict y, int64_t n)
{{
    for (int64_t i = 0; i < n; i++) {{ float v = x[i]; y[i] = {_horner(DEGREE_3)}; }}
}}

void poly15(const float *restrict x, float *restrict y, int64_t n)
{{
    for (int64_t i = 0; i < n; i++) {{ float v = x[i]; y[i] = {_horner(DEGREE_15)}; }}
}}

void max3(const float *restrict x, float *restrict y, int64_t n)
{{
    for (int64_t i = 0; i < n; i++) y[i] = larger(larger(x[i], x[i + 1]), x[i + 2]);
}}

void blur(const float *restrict image, float *restrict out, int64_t rows, int64_t columns, int64_t image_stride, int64_t out_stride)
{{
    for (int64_t r = 0; r < rows; r++) {{
        const float *a = image + r * image_stride, *b = a + image_stride, *c = b + image_stride;
        float *o = out + r * out_stride;
        for (int64_t i = 0; i < columns; i++)
            o[i] = (a[i] + a[i + 1] + a[i + 2] + b[i] + b[i + 1] + b[i + 2] + c[i] + c[i + 1] + c[i + 2]) * (1.0f / 9.0f);
    }}
}}

float dot(const float *restrict x, const float *restrict y, int64_t n)
{{
    float total = 0.0f;
    for (int64_t i = 0; i < n; i++) total += x[i] * y[i];
    return total;
}}

float sum(const float *restrict x, int64_t n)
{{
    float total = 0.0f;
    for (int64_t i = 0; i < n; i++) total += x[i];
    return total;
}}
"""


@cache
def library(variant: str) -> ctypes.CDLL:
    """All kernels by one variant's flags. Raises ``NoCompilerError`` without gcc."""
    return build_c(SOURCE, ["-O3", "-march=native", "-ffast-math", f"-mprefer-vector-width={variant.split()[1]}"])
