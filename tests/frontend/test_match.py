"""``match`` on numbers, which means what it means in Python."""

from __future__ import annotations

import numpy as np
import pytest

import loopwright as lw


class Sign:
    UP = 3
    DOWN = 12


@lw.kernel
def choose(x: lw.i32, y: lw.i32) -> lw.i32:
    match x + 1:
        case 2:
            y = y * 3
        case 4 | 9:
            y = y ^ 5
        case Sign.UP:
            return y + 1
        case -1:
            y = y - 100
        case 10 if y > 7:
            y = y + 50
        case 10:
            y = 1
        case Sign.DOWN:
            pass
        case _:
            y = 0
    return y


def plain_choose(x: int, y: int) -> int:
    match x + 1:
        case 2:
            y = y * 3
        case 4 | 9:
            y = y ^ 5
        case Sign.UP:
            return y + 1
        case -1:
            y = y - 100
        case 10 if y > 7:
            y = y + 50
        case 10:
            y = 1
        case Sign.DOWN:
            pass
        case _:
            y = 0
    return y


@lw.kernel
def machine(code: lw.Array[lw.u8], x: lw.Array[lw.i64]) -> lw.i64:
    total = lw.i64(0)
    for i in lw.range(code.shape[0]):
        match code[i]:
            case 0:
                total += x[i]
            case 1:
                total -= 3
            case 2:
                total *= 2
            case 3:
                total ^= x[i]
            case 4:
                break
            case 6:
                continue
        total += 1
    return total


@lw.kernel
def known(kind: lw.Const, x: lw.Array[lw.f64]) -> None:
    for i in lw.lanes(len(x)):
        match kind:
            case "double":
                x[i] = x[i] * 2
            case "add":
                x[i] = x[i] + 1


def plain_machine(code: np.ndarray, x: np.ndarray) -> int:
    total = 0
    for op, value in zip(code, x, strict=True):
        if op == 4:
            break
        if op == 6:
            continue
        total = {0: total + value, 1: total - 3, 2: total * 2, 3: total ^ value}.get(int(op), total)
        total = int(total) + 1
        total = (total + 2**63) % 2**64 - 2**63
    return total


def test_a_match_takes_the_case_that_python_takes() -> None:
    for x in range(-4, 14):
        for y in (5, 50):
            assert choose(x, y) == plain_choose(x, y)


@pytest.mark.parametrize("seed", range(4))
def test_a_match_in_a_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    code = rng.choice([0, 1, 2, 3, 5, 6, 7, 200] + ([4] if seed == 3 else []), 200).astype(np.uint8)
    x = rng.integers(-1000, 1000, 200)
    assert machine(code, x) == plain_machine(code, x)
    assert "switch" in machine.compile(code, x).ir("switches")


def test_what_is_known_while_compiling_is_matched_then() -> None:
    x = np.arange(5.0)
    known("double", x)
    known("add", x)
    assert x.tolist() == [1.0, 3.0, 5.0, 7.0, 9.0]
