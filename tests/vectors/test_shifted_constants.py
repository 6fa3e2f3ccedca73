"""A constant byte shifted by what each lane has is looked up."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


def _kernel(form: str) -> lw.Kernel:
    source = f"def shifted(x, y):\n    for i in lw.lanes(x.shape[0]):\n        y[i] = {form}\n"
    space: dict[str, object] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the forms below)
    function = space["shifted"]
    function.__annotations__.update(x=lw.Array, y=lw.Array)  # type: ignore[attr-defined]
    return lw.kernel(source=source)(function)  # type: ignore[arg-type]


@pytest.mark.parametrize("runner", runners(lambda runner: bool(runner.target.vector_bits)))
@pytest.mark.parametrize("form", ["lw.u8(110) >> x[i]", "lw.u8(3) << x[i]", "lw.u8(255) >> x[i]"])
def test_unsigned(runner: Runner, form: str) -> None:
    x = np.arange(256, dtype=np.uint8)
    number = int(form[6 : form.index(")")])
    wanted = [(number >> int(k) if ">>" in form else number << int(k)) & 255 if k < 8 else 0 for k in x]
    runner.leaves(runner.compiled(_kernel(form), x, x.copy()), [x, np.zeros(256, np.uint8)], [x, np.array(wanted, np.uint8)])


@pytest.mark.parametrize("runner", runners(lambda runner: bool(runner.target.vector_bits)))
@pytest.mark.parametrize("form", ["lw.i8(110) >> x[i]", "lw.i8(-3) << x[i]", "lw.i8(-110) >> x[i]"])
def test_signed(runner: Runner, form: str) -> None:
    """Counts that are negative are more than there are bits."""
    x = np.arange(256, dtype=np.uint8).astype(np.int8)
    number = int(form[6 : form.index(")")])
    counts = [min(int(k) & 255, 8) for k in x]
    wanted = [number >> k if ">>" in form else number << k for k in counts]
    bits = np.array([each & 255 for each in wanted], np.uint8).astype(np.int8)
    runner.leaves(runner.compiled(_kernel(form), x, x.copy()), [x, np.zeros(256, np.int8)], [x, bits])


@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
def test_it_is_one_instruction_and_one_for_counts_that_are_too_high(level: str) -> None:
    x = np.zeros(64, np.uint8)
    text = _kernel("lw.u8(110) >> x[i]").compile(x, x.copy(), target=level).asm()
    assert "vpshufb" in text
    assert "vpsrlvw" not in text


@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
def test_products_of_bytes_with_powers_of_two_are_shifts(level: str) -> None:
    x = np.zeros(64, np.uint8)
    text = _kernel("x[i] * lw.u8(4)").compile(x, x.copy(), target=level).asm()
    assert "vpsllw" in text
    assert "vpmullw" not in text
