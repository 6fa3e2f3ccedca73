"""A process's first kernel by Numba, and further ones; prints the seconds each took as JSON. NumPy is there before.

With the argument ``cached``, Numba keeps what it compiles on disk (``cache=True``).
"""

import sys
import time

import numpy as np

x = np.arange(1000, dtype=np.float32)
y = np.ones_like(x)
a = np.float32(2)
cached = sys.argv[1:] == ["cached"]

start = time.perf_counter()
import numba

imported = time.perf_counter()


@numba.njit(fastmath=True, cache=cached)
def axpy(a, x, y):
    for i in range(len(x)):
        y[i] += a * x[i]


axpy(a, x, y)
done = time.perf_counter()
assert (y == 1 + 2 * x).all()

# What is imported from here on must not have been there before.
import json

import cases
import kernels_numba

further = {}
for name, make in cases.MAKERS.items():
    case = make()
    function = getattr(kernels_numba, name)
    begin = time.perf_counter()
    result = numba.njit(fastmath=True, cache=cached)(function)(*case[0])
    further[name] = time.perf_counter() - begin
    cases.check(name, case, result)

print(json.dumps({"import": imported - start, "first": done - start, "further": further}))
