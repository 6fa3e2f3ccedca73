"""Kernels as objects: parameters, signatures, options."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import loopwright as lw


@lw.kernel
def scale(x: lw.Array, y: lw.Array[lw.f32, 2], a: lw.f32, k: lw.Const, flag=True):
    """Scale."""
    for i in lw.range(len(x)):
        y[i, 0] = x[i] * a * k


def test_a_kernel_looks_like_its_function():
    assert scale.__name__ == "scale"
    assert scale.__doc__ == "Scale."
    assert scale.__wrapped__ is scale.function


def test_annotations_say_what_parameters_are():
    kinds = [(p.name, p.kind, p.type, p.rank) for p in scale.parameters]
    assert kinds == [("x", 0, None, 0), ("y", 0, lw.f32, 2), ("a", 1, lw.f32, 0), ("k", 2, None, 0), ("flag", 2, None, 0)]
    assert scale.parameters[4].default is True


def test_a_signature_comes_from_arguments_or_types():
    from_types = scale.signature([lw.Array[lw.i32]], {"k": 3})
    from_arguments = scale.signature([np.zeros(3, np.int32), np.zeros((2, 2), np.float32), 1.5], {"k": 3})
    assert from_types == from_arguments == [lw.Array[lw.i32], lw.Array[lw.f32, 2], lw.f32, 3, True]


@pytest.mark.parametrize(
    ("args", "named", "fragment"),
    [
        ([], {"k": 1}, "type of `x`"),
        ([lw.Array[lw.f32]], {}, "`k`"),
        ([lw.Array[lw.f32]] * 9, {}, "takes 5 arguments"),
        ([lw.Array[lw.f32], lw.Array[lw.f64, 2]], {"k": 1}, "annotated lw.Array"),
        ([lw.Array[lw.f32], lw.Array[lw.f32]], {"k": 1}, "annotated lw.Array"),
        ([lw.Array[lw.f32]], {"x": 1, "k": 1}, "twice"),
        ([lw.Array[lw.f32]], {"q": 1, "k": 1}, "no parameter `q`"),
        ([3.0], {"k": 1}, "an array or a type"),
        ([np.zeros(3, np.clongdouble)], {"k": 1}, "complex256"),
        ([lw.Array], {"k": 1}, "element type"),
    ],
)
def test_bad_signatures_are_refused(args, named, fragment):
    with pytest.raises(lw.ArgumentError, match=fragment):
        scale.signature(args, named)


@pytest.mark.parametrize(
    "index", [lambda: lw.Array[3], lambda: lw.Array[lw.f32, 0], lambda: lw.Array[lw.f32, 1, 2], lambda: lw.Array[lw.ptr], lambda: lw.Array(3)]
)
def test_bad_array_types_are_refused(index):
    with pytest.raises(lw.KernelTypeError):
        index()


def test_array_types_compare_and_print():
    assert lw.Array[lw.f32] == lw.Array[lw.f32, 1] == lw.Array[np.float32] == lw.Array["float32"]
    assert repr(lw.Array[lw.f32, 2]) == "lw.Array[lw.f32, 2]"
    assert repr(lw.Array[lw.u8]) == "lw.Array[lw.u8]"


def test_options_reach_the_function():
    @lw.kernel(check=True, contract=False, fastmath=True)
    def kernel(x: lw.Array[lw.f32]):
        x[0] = 1

    f = kernel.stage(kernel.signature([], {}))
    assert (f.options.check, f.options.contract, f.options.fastmath) == (True, False, True)


def test_a_lambda_and_a_function_without_source_are_refused():
    kernel = lw.kernel(lambda x: x)
    with pytest.raises(lw.KernelSyntaxError, match="needs an annotation"):
        kernel.stage([])
    scope: dict[str, object] = {"lw": lw}
    exec("def made(x: lw.i64) -> lw.i64:\n    return x", scope)  # noqa: S102
    made = lw.kernel(scope["made"])
    with pytest.raises(lw.KernelSyntaxError, match="source"):
        made.stage(made.signature([], {}))


@lw.kernel
def halved(x, y):
    return x * 0.5 if 0 < x < y else y


@lw.kernel
def varied(x: lw.Array[lw.f32], y: lw.Array[lw.f32], count: lw.i64, weights: lw.Const):
    for i in lw.lanes(len(y)):
        total = lw.f32(0)
        for w in weights:
            total = total * x[i] + w
        y[i] = halved(total, x[i])
    for j in lw.range(count):
        if j > 3 and not (j == 5 or j == 7):
            y[j] = [x[j], 1.0][0]


def _left_by_staging(signature):
    varied.stage(signature)
    return gc.collect()


def test_staging_leaves_nothing_to_the_garbage_collector():
    signature = varied.signature([], {"count": lw.i64, "weights": (1.0, 2.0)})
    varied.stage(signature)
    gc.collect()
    gc.disable()
    try:
        # (The least of a few: other threads of the process leave garbage too.)
        left = min(_left_by_staging(signature) for _ in range(3))
    finally:
        gc.enable()
    assert left == 0


def test_closures_and_globals_are_visible(agrees):
    factor = 3.0

    @lw.kernel
    def kernel(x: lw.Array):
        for i in lw.lanes(len(x)):
            x[i] = x[i] * factor + len(WEIGHTS) + np.pi

    agrees(kernel, np.arange(10.0))


WEIGHTS = (1, 2)
