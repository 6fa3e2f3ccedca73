# ruff: noqa
"""``sum``, ``min``, ``max``, ``any`` and ``all`` of generators and comprehensions: what Python gives, whether the loop runs while compiling or at run time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.from_text import kernel_from

import loopwright as lw

X = np.array([3.5, -1.0, 2.0, 7.25, 0.0, -4.0, 2.0, 9.0, 1.0])
N = np.array([4, 1, -3, 9, 0, 2, 7, -8, 5])


def kernel(expression: str, loop: str = "range", **options: Any) -> tuple[Any, Any]:
    body = f"for r in {loop}(len(z)):\n    z[r] = {expression}"
    return kernel_from("x: lw.Array[lw.f64], n: lw.Array[lw.i64], z: lw.Array[lw.f64]", body, {"W": (0.5, 0.25, 2.0)}, **options)


EXPRESSIONS = [
    "sum(x[i] for i in range(len(x)))",
    "sum(x[i] for i in range(r))",
    "sum(x[i] for i in range(4))",
    "sum([x[i] for i in range(r)])",
    "sum((x[i] for i in range(r)), 10.0)",
    "sum((x[i] for i in range(r)), start=x[0])",
    "sum(x[i] * n[j] for i in range(r) for j in range(i))",
    "sum(x[i] for i in range(len(x)) if x[i] > 1.0 if n[i] < 9)",
    "sum(1 for i in range(len(x)) if x[i] == 2.0)",
    "sum(x[i] > 1.0 for i in range(len(x)))",
    "sum(x[i] > 1.0 for i in range(4))",
    "sum(n[i] for i in range(r)) % 7",
    "sum(w * x[k] for k, w in enumerate(W))",
    "sum(max(x[i] - x[j] for j in range(3)) for i in range(r))",
    "sum(sum(x[i] * x[j] for j in range(i)) for i in range(r))",
    "max(x[i] for i in range(5))",
    "min([x[i] for i in range(5)])",
    "max(x[i] * n[r] for i in (1, 3, 5))",
    "max((x[i] for i in range(r)), default=-2.0)",
    "min((x[i] for i in range(r) if x[i] > 1.0), default=math.inf)",
    "min((n[i] for i in range(r)), default=100)",
    "any(x[i] == 2.0 for i in range(r))",
    "any(n[i] for i in range(4, 5))",
    "any(x[i] > n[r] for i in range(len(x)) if n[i] > 0)",
    "all(x[i] > -2.0 for i in range(r))",
    "all([n[i] > -8 for i in range(r)])",
    "any([n[i] > 8 for i in range(r)])",
    "all(x[i] > -2.0 for i in range(4))",
    "1.0 if any(n[r] == k for k in (4, 9, -8)) else 2.0",
    "any((x[r] > 3.0, n[r] > 3, False))",
    "all([x[r] > 1.0, n[r] > 1])",
    "max(map(abs, (x[r], -3.0)))",
    "math.prod(x[i] for i in range(r))",
    "math.prod([x[i] for i in range(3)], start=2)",
    "lw.sum(x[i] for i in range(r))",
    "lw.any(x[i] > 7.0 for i in range(r))",
    "sum(x[i] for i in range(r) if not any(x[j] == x[i] for j in range(i)))",
    "[sum(x[i + j] for i in range(3)) for j in range(2)][1]",
    "(lambda k: sum(x[k] * n[i] for i in range(r)))(3)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("options", [{}, {"check": True}, {"nests": "off"}], ids=str)
def test_generators(expression: str, options: Any) -> None:
    made, plain = kernel(expression, contract=False, **options)
    z, want = np.zeros(9), np.zeros(9)
    made(X, N, z)
    plain(X, N, want)
    assert z.tolist() == want.tolist()


@pytest.mark.parametrize(
    "expression",
    ["sum(x[i] * 0.5 for i in range(r, r + 3) if x[i] > 0.0)", "any(x[i + r] > 7.0 for i in range(3))", "max((x[i + r] for i in range(4)), default=0.0)"],
)
def test_in_lanes(expression: str) -> None:
    made, plain = kernel(expression, "lw.lanes")
    z, want = np.zeros(6), np.zeros(6)
    made(X, N, z)
    plain(X, N, want)
    assert z.tolist() == want.tolist()


def test_a_sum_of_a_generator_runs_in_vectors() -> None:
    def dot(x: lw.Array[lw.f32], y: lw.Array[lw.f32]) -> lw.f32:
        return sum(x[i] * y[i] for i in range(len(x)))

    code = lw.kernel(dot, fastmath=True).compile(np.zeros(9, np.float32), np.zeros(9, np.float32), target="x86-64-v3")
    assert "vfmadd231ps" in code.asm()


def test_names_of_the_users_mean_what_they_do() -> None:
    def k(x: lw.Array[lw.f64], z: lw.Array[lw.f64]):
        def sum(values):
            return values

        z[0] = sum([x[i] for i in range(2)])[1]
        result = 5.0
        value = 2.0
        z[1] = max(value * x[i] + result for i in range(2))
        z[2] = min((value for value in (x[0], x[1])), default=1.0)

    z, want = np.zeros(3), np.zeros(3)
    lw.kernel(k)(X, z)
    k(X, want)
    assert z.tolist() == want.tolist()


def test_the_first_that_holds_ends_it() -> None:
    """No element behind it is looked at."""

    def k(x: lw.Array[lw.f64], n: lw.i64) -> lw.bool_:
        return any(x[i] > 3.0 for i in range(n))

    assert lw.kernel(k, check=True)(X, 1000)
    with pytest.raises(IndexError):
        lw.kernel(k, check=True)(-X[:3], 1000)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("max(x[i] for i in range(r))", "have no value if it is nothing: give one, as in max(…, default=0)"),
        ("min([x[i] for i in range(len(x))])", "have no value if it is nothing"),
        ("max(x[i] for i in range(0))", "min() or max() of nothing"),
        ("max((0, 1, 2), key=lambda i: x[i])", "takes no key"),
        ("max((x[0], x[1]), key=lambda v: -v)", "takes no key"),
        ("any(x[0] > 1.0)", "cannot be iterated over"),
    ],
)
def test_what_is_told_of_others(expression: str, message: str) -> None:
    with pytest.raises(lw.LoopwrightError) as caught:
        kernel(expression)[0](X, N, np.zeros(3))
    assert message in str(caught.value) and ":3:" in str(caught.value)
