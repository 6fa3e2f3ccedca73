"""A process's first kernel by loopwright, and further ones; prints the seconds each took as JSON. NumPy is there before."""

import sys
import time

import numpy as np

x = np.arange(1000, dtype=np.float32)
y = np.ones_like(x)

start = time.perf_counter()
import loopwright as lw

imported = time.perf_counter()


@lw.kernel
def axpy(a: lw.f32, x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        y[i] += a * x[i]


axpy(2.0, x, y)
done = time.perf_counter()
assert (y == 1 + 2 * x).all()

# What is imported from here on must not have been there before.
import json

import cases
import kernels_loopwright

further = {}
for name, make in cases.MAKERS.items():
    case = make()
    function = getattr(kernels_loopwright, name)
    begin = time.perf_counter()
    result = lw.kernel(function)(*case[0])
    further[name] = time.perf_counter() - begin
    cases.check(name, case, result)

print(json.dumps({"compiler": sys.modules["loopwright.compiler"].__file__, "import": imported - start, "first": done - start, "further": further}))
