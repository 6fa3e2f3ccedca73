"""Accesses of a lanes loop that would not come in the plain loop's order: refused exactly when lanes at once give another result.

Each kernel is staged once as it is, and once with the refusal taken away: then the interpreter shows what lanes at once would do.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from tests.staging import stage

import loopwright as lw
from loopwright.frontend import lanes
from loopwright.ir.interpret import run

VECTOR, PLANE = lw.Array[lw.f32], lw.Array[lw.f32, 2]
#: A and B stand for the indices; n is 3.
BODIES = {
    "load and store": "y[B] = y[A] * 0.5 + x[i]",
    "store and store": "y[A] = x[i]\ny[B] = x[i] + 1",
    "store and load": "y[A] = x[i]\nz[i] = y[B]",
    "load, then store": "z[i] = y[A]\ny[B] = x[i]",
    "in the arms of an if by lane": "if x[i] > 0:\n    y[A] = x[i]\nelse:\n    z[i] = y[B]",
    "under two conditions": "if x[i] > 0:\n    z[i] = y[A]\nif x[i] < 1:\n    y[B] = x[i]",
    "in an unrolled loop": "for k in (0, 1):\n    y[B] = y[A] * 0.5 + k",
    "in a loop": "for k in lw.range(3):\n    y[B] = y[B] * 0.25 + y[A] * 0.5 + x[i]",
    "in a loop that counts down": "for k in lw.range(3, 0, -1):\n    y[A] = x[i] + lw.f32(k)\n    z[i] = z[i] + y[B]",
    "in a loop in a loop": "for k in lw.range(2):\n    for l in lw.range(2):\n        y[B] = y[B] * 0.25 + y[A] * 0.5 + x[i]",
    "in a while": "c = lw.f32(0)\nwhile c < x[i] + 3:\n    c += 1\n    y[B] = y[A] * 0.5 + c",
    "in two loops": "for k in lw.range(3):\n    z[i] = z[i] + y[A]\nfor k in lw.range(3):\n    y[B] = x[i]",
    "before a loop and in it": "y[A] = x[i]\nfor k in lw.range(3):\n    z[i] = z[i] + y[B]",
    "from row to row": "for r in lw.range(1, 4):\n    m[r, B] = m[r - 1, A] * 0.5 + x[i]",
    "from row to row upwards": "for r in lw.range(1, 4):\n    m[r, B] = m[r + 1, A] * 0.5 + x[i]",
    "from row to row, counting down": "for r in lw.range(4, 1, -1):\n    m[r, B] = m[r - 1, A] * 0.5 + x[i]",
    "two rows on": "for r in lw.range(0, 4, 2):\n    m[r, B] = m[r + 2, A] * 0.5 + x[i]",
    "in other rows": "for r in lw.range(0, 4, 2):\n    m[r, B] = m[r + 1, A] * 0.5 + x[i]",
    "in one row": "m[2, B] = m[2, A] * 0.5 + x[i]",
    "in two rows": "m[2, B] = m[1, A] * 0.5 + x[i]",
    "in a row known at run time": "m[n, B] = m[n, A] * 0.5 + x[i]",
    "at an offset known at run time": "y[B + n] = y[A + n] * 0.5 + x[i]",
}
DISTANCES = [-17, -16, -15, -5, -1, 0, 1, 2, 9, 16]


def kernels(path: Path, body: str):
    lines = ["import loopwright as lw", ""]
    cases = [(0, b) for b in DISTANCES] + [(2, -5), (-1, 1), (2, 9), (-1, -16)]
    for number, (a, b) in enumerate(cases):
        lines += ["@lw.kernel", f"def kernel{number}(x: lw.Array[lw.f32], y: lw.Array[lw.f32], z: lw.Array[lw.f32], m: lw.Array[lw.f32, 2], n: lw.i64):"]
        lines += ["    for i in lw.lanes(20, 220):"]
        lines += ["        " + line for line in re.sub("A", f"i + {a + b}", re.sub("B", f"i + {a}", body)).replace("+ -", "- ").split("\n")] + [""]
    path.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for number, case in enumerate(cases):
        yield case, getattr(module, f"kernel{number}")


def refusal(kernel, bits: int, check: bool = False) -> str:
    try:
        stage(kernel, kernel.signature([], {}), bits, check)
    except lw.KernelTypeError as error:
        assert error.line > kernel.function.__code__.co_firstlineno + 1
        return error.message
    return ""


def differs(kernel, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether lanes at once give another result than the plain loop, for some number of lanes."""
    monkeypatch.setattr(lanes, "refuse_dependences", lambda *_: None)
    pick = np.random.default_rng(1)
    given = [pick.standard_normal(250).astype(np.float32) for _ in range(3)] + [pick.standard_normal((6, 250)).astype(np.float32)]
    want = [array.copy() for array in given]
    kernel.function(*want, 3)
    other = False
    for bits in (128, 256, 512):
        got = [array.copy() for array in given]
        run(stage(kernel, kernel.signature([], {}), bits), *got, 3)
        other = other or not all(np.allclose(a, b, rtol=1e-5, atol=1e-6) for a, b in zip(got, want, strict=True))
    monkeypatch.undo()
    return other


@pytest.mark.parametrize("name", BODIES)
def test_refused_exactly_when_lanes_at_once_are_not_the_plain_loop(tmp_path, monkeypatch, name):
    for (a, b), kernel in kernels(tmp_path / "dependence.py", BODIES[name]):
        message = refusal(kernel, 256)
        assert bool(message) == differs(kernel, monkeypatch), f"A at {a + b}, B at {a}: {message or 'accepted'}"
        # The meaning does not depend on the target.
        assert [refusal(kernel, 512), refusal(kernel, 0), refusal(kernel, 0, True)] == [message] * 3
        if message:
            assert "lw.range" in message
            assert re.search(rf" {abs(b)} ind(ex|ices) earlier", message)


ACCEPTED = {
    "the same index": "y[i] = y[i] * 2\ny[i] += 1",
    "arrays of their own": "y[i] = x[i - 1]\nz[i] = x[i + 1]",
    "arms of which one runs for all": "if n > 2:\n    y[i] = x[i]\nelse:\n    z[i] = y[i + 1]",
    "three arms of which one runs for all": "if n > 2:\n    z[i] = x[i]\nelif n > 1:\n    y[i] = x[i]\nelse:\n    z[i] = y[i + 1]",
    "an offset that is not known": "y[i] = y[i - n]",
    "rows that are not known": "m[n, i] = m[n // 2, i - 1]",
    "an offset that changes in between": "k = n\nwhile k < 5:\n    y[i + k] = x[i]\n    k += 1\n    z[i] = y[i + k + 1]",
    "an index that is the same for all lanes": "y[i] = x[i] + y[0]",
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted_where_it_is_right_or_not_known(tmp_path, name):
    _, kernel = next(kernels(tmp_path / "accepted.py", ACCEPTED[name]))
    for bits, check in ((256, False), (0, False), (0, True)):
        assert refusal(kernel, bits, check) == ""


def test_the_message_names_both_accesses_and_the_distance(staged):
    @lw.kernel
    def running(x: VECTOR, y: VECTOR):
        for i in lw.lanes(1, len(x)):
            y[i] = y[i - 1] + x[i]

    with pytest.raises(lw.KernelTypeError, match=re.escape("y[i - 1] reads the element that y[i] stores 1 index earlier")) as caught:
        staged(running)
    assert caught.value.file == __file__
    assert caught.value.line == running.function.__code__.co_firstlineno + 3

    @lw.kernel
    def far(m: PLANE, k: lw.i32):
        for r in lw.range(m.shape[0]):
            for i in lw.lanes(10, m.shape[1] - 9):
                m[r + 1, i + k + 2] = 1
                m[r + 1, i + 9 + k] = 2

    with pytest.raises(lw.KernelTypeError, match=re.escape("m[r + 1, i + … + 2] stores the element that m[r + 1, i + … + 9] stores")) as caught:
        staged(far)
    first = far.function.__code__.co_firstlineno
    assert caught.value.line == first + 5
    assert f"(line {first + 5}) 7 indices earlier" in caught.value.message


def test_a_helper_is_looked_into(staged):
    def step(y, i):
        y[i] = y[i - 3] + 1

    @lw.kernel
    def kernel(y: VECTOR):
        for i in lw.lanes(3, len(y)):
            step(y, i)

    with pytest.raises(lw.KernelTypeError, match="3 indices earlier"):
        staged(kernel)


def test_far_apart_is_further_than_a_vector(staged):
    @lw.kernel
    def bytes_(y: lw.Array[lw.u8], d: lw.Const):
        for i in lw.lanes(100, len(y)):
            y[i] = y[i - d] + 1

    staged(bytes_, lw.Array[lw.u8], d=64)
    with pytest.raises(lw.KernelTypeError, match="63 indices"):
        staged(bytes_, lw.Array[lw.u8], d=63)
