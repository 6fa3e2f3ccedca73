"""``nests="measure"``: each call runs one variant, in turn while they are timed; then the best, for as long as the shape is about the same, in other processes too."""

from __future__ import annotations

import json
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.test_loop_nests import both

import loopwright as lw
from loopwright.runtime.adaptive import MOST_SHAPES, ROUNDS, Adaptive, Variant, Variants
from loopwright.runtime.choices import Choices, folder, identity
from loopwright.runtime.dispatch import ARRAY, CONST, SCALAR, Formal
from loopwright.types import F64, I64


class Clock:
    """Time passes when somebody says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Kernel:
    """A kernel whose variants take as long as they are told to, and note their runs."""

    def __init__(self, place: Path | None, costs: dict[str, float], formals: list[Formal] | None = None) -> None:
        self.clock = Clock()
        self.costs = costs
        self.runs: list[str] = []
        self.made = 0
        self.usual_calls: list[tuple[Any, ...]] = []
        self.fails = ""
        formals = formals if formals is not None else [Formal("a", ARRAY, F64, 2)]
        self.adaptive = Adaptive(formals, self.variants, self.usual, Choices(place), self.clock)

    def usual(self, *args: Any, **named: Any) -> str:
        self.usual_calls.append(args)
        return "usual"

    def variants(self, key: Any) -> Variants:
        self.made += 1

        def variant(name: str) -> Variant:
            def run(*args: Any) -> str:
                self.runs.append(name)
                self.clock.now += self.costs[name]
                if self.fails == name:
                    raise lw.ArgumentError("not now")
                return name

            return Variant(name, run)

        return Variants("k", [variant(name) for name in self.costs])

    def call(self, *args: Any, **named: Any) -> Any:
        return self.adaptive.call(*args, **named)


COSTS = {"as written": 3.0, "fast": 2.0, "other": 1.5, "another": 2.5}


def array(*extents: int) -> np.ndarray:
    return np.zeros(extents)


def test_variants_take_turns_and_the_best_is_kept() -> None:
    kernel = Kernel(None, COSTS)
    for _ in range(ROUNDS * len(COSTS)):
        kernel.call(array(10, 10))
    assert kernel.runs == list(COSTS) * ROUNDS
    kernel.runs.clear()
    assert [kernel.call(array(10, 10)) for _ in range(20)] == ["other"] * 20
    assert kernel.made == 1
    (choice,) = kernel.adaptive.choices()
    assert choice.chosen == "other" and choice.shape == "4x4"
    assert choice.seconds[0] == [0.03] * ROUNDS  # for one of 100 elements
    assert "other" in str(choice)


def test_where_nothing_helps_it_runs_as_written() -> None:
    kernel = Kernel(None, {"as written": 1.0, "fast": 1.25, "other": 1.1})
    calls = [kernel.call(array(10, 10)) for _ in range(50)]
    assert calls[3 * ROUNDS :] == ["as written"] * (50 - 3 * ROUNDS)


def test_one_slow_call_decides_nothing() -> None:
    kernel = Kernel(None, COSTS)
    kernel.costs = {**COSTS, "other": 100.0}
    for _ in range(len(COSTS)):
        kernel.call(array(10, 10))
    kernel.costs = COSTS
    for _ in range(len(COSTS) * (ROUNDS - 1)):
        kernel.call(array(10, 10))
    assert kernel.call(array(10, 10)) == "other"


def test_what_is_much_slower_is_not_tried_to_the_end() -> None:
    kernel = Kernel(None, {**COSTS, "another": 50.0})
    for _ in range(ROUNDS * len(COSTS)):
        kernel.call(array(10, 10))
    assert Counter(kernel.runs)["another"] == 2


def test_shapes_of_one_magnitude_share_a_choice() -> None:
    kernel = Kernel(None, COSTS)
    for n in range(ROUNDS * len(COSTS)):
        kernel.call(array(8 + n % 8, 9))
    assert kernel.call(array(15, 15)) == "other"
    # Another magnitude, and another type, are measured anew.
    kernel.runs.clear()
    kernel.call(array(16, 9))
    assert kernel.runs == ["as written"] and len(kernel.adaptive.choices()) == 2


def test_times_of_different_sizes_are_compared_by_element() -> None:
    kernel = Kernel(None, {"as written": 1.0, "fast": 1.0})
    for _ in range(ROUNDS):
        kernel.call(array(8, 8))  # as written, on fewer elements, takes longer for each
        kernel.call(array(15, 15))
    assert kernel.call(array(8, 8)) == "fast"


def test_whole_numbers_count_by_magnitude_and_constants_by_value() -> None:
    kernel = Kernel(None, COSTS, [Formal("a", ARRAY, F64, 1), Formal("n", SCALAR, I64), Formal("c", CONST), Formal("x", SCALAR, F64, 0, 1.5)])
    kernel.call(array(5), 100, 1)
    kernel.call(array(5), 101, 1)
    kernel.call(array(5), n=1000, c=1)
    kernel.call(array(5), 100, True, x=2.5)
    assert [choice.shape for choice in kernel.adaptive.choices()] == ["3 7", "3 10", "3 7"]
    assert kernel.made == 2


@pytest.mark.parametrize(
    ("args", "named"),
    [((), {}), ((1, 2, 3), {}), (([1.0],), {}), ((), {"b": 1}), ((array(2, 2),), {"a": array(2, 2)})],
    ids=["too few", "too many", "no array", "unknown", "twice"],
)
def test_arguments_that_cannot_be_right_go_the_usual_way(args: tuple[Any, ...], named: dict[str, Any]) -> None:
    kernel = Kernel(None, COSTS)
    assert kernel.call(*args, **named) == "usual"
    assert kernel.usual_calls == [args] and not kernel.runs


def test_a_call_that_fails_is_no_time() -> None:
    kernel = Kernel(None, COSTS)
    kernel.fails = "fast"
    kernel.call(array(10, 10))
    for _ in range(3):
        with pytest.raises(lw.ArgumentError, match="not now"):
            kernel.call(array(10, 10))
    kernel.fails = ""
    for _ in range(ROUNDS * len(COSTS) - 1):
        kernel.call(array(10, 10))
    assert kernel.call(array(10, 10)) == "other"
    assert [len(times) for times in kernel.adaptive.choices()[0].seconds] == [ROUNDS] * 4


def test_there_is_an_end_to_measuring() -> None:
    kernel = Kernel(None, COSTS, [Formal("a", ARRAY, F64, 1), Formal("n", SCALAR, I64), Formal("m", SCALAR, I64)])
    for k in range(MOST_SHAPES + 3):
        kernel.call(array(1), 1 << k % 60, 1 << k // 60)
    kernel.runs.clear()
    assert [kernel.call(array(1), 1 << 61, 1 << 61) for _ in range(4)] == ["fast"] * 4


# --- on disk


def measured(place: Path, costs: dict[str, float] = COSTS) -> Kernel:
    kernel = Kernel(place, costs)
    for _ in range(ROUNDS * len(costs)):
        kernel.call(array(10, 10))
    return kernel


def test_the_choice_is_known_to_the_next_process(tmp_path: Path) -> None:
    measured(tmp_path / "new")
    (file,) = (tmp_path / "new").iterdir()
    assert json.loads(file.read_text()) == {"format": 1, "choices": {"4x4": "other"}}
    again = Kernel(tmp_path / "new", COSTS)
    assert again.call(array(9, 9)) == "other" and again.runs == ["other"]
    # Another shape is not known, and does not drive out the one that is.
    for _ in range(ROUNDS * len(COSTS)):
        again.call(array(100, 100))
    assert json.loads(file.read_text())["choices"] == {"4x4": "other", "7x7": "other"}


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe", b"{", b"[]", b"null", b'{"format": 2, "choices": {"4x4": "other"}}', b'{"format": 1, "choices": ["4x4"]}',
     b'{"format": 1, "choices": {"4x4": 3}}', b'{"format": 1, "choices": {"4x4": "gone"}}', b"[" * 100_000, b" " * (1 << 21)],
    ids=range(11),
)  # fmt: skip
def test_a_damaged_file_counts_as_empty(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "nests-k.json"
    file.write_bytes(content)
    assert measured(tmp_path).call(array(10, 10)) == "other"
    assert json.loads(file.read_text())["choices"]["4x4"] == "other"


def test_a_place_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert measured(tmp_path / "file").call(array(10, 10)) == "other"
    assert measured(tmp_path / "file" / "deeper").call(array(10, 10)) == "other"


def test_where_it_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOOPWRIGHT_CACHE", str(tmp_path))
    assert folder() == tmp_path
    monkeypatch.setenv("LOOPWRIGHT_CACHE", "")
    assert folder() is None
    monkeypatch.delenv("LOOPWRIGHT_CACHE")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert folder() == tmp_path / "loopwright"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert folder() is None


def test_other_code_and_other_machines_have_other_names() -> None:
    assert len({identity(codes, target) for codes in ([b"ab", b"c"], [b"a", b"bc"], [b"abc"]) for target in ("x86-64-v3", "x86-64-v4")}) == 6
    assert identity([b"ab"], "t") == identity([b"ab"], "t")


# --- threads


def test_threads_share_the_trials(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, COSTS)
    barrier = threading.Barrier(8)
    results: list[str] = []

    def work() -> None:
        barrier.wait()
        for _ in range(50):
            results.append(kernel.call(array(10, 10)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 400 and kernel.made == 1
    (choice,) = kernel.adaptive.choices()
    assert choice.chosen and all(2 <= len(times) <= ROUNDS for times in choice.seconds)
    assert json.loads(next(tmp_path.iterdir()).read_text())["choices"] == {"4x4": choice.chosen}


# --- a real kernel


def test_a_kernel_that_measures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOOPWRIGHT_CACHE", str(tmp_path))
    kernel = lw.Kernel(both.function, contract=False, nests="measure")
    if not kernel.compile().address:
        pytest.skip("compiles for another machine")
    assert kernel.choices() == []
    given = np.random.default_rng(1).random((40, 30))
    wanted = given.copy()
    both.function(wanted)
    for _ in range(8 * ROUNDS):
        a = given.copy()
        kernel(a)
        np.testing.assert_array_equal(a, wanted)
    (choice,) = kernel.choices()
    assert choice.names[:2] == ["as written", "fast"] and len(choice.names) > 2
    assert choice.chosen in choice.names
    assert len(list(tmp_path.iterdir())) == 1
    again = lw.Kernel(both.function, contract=False, nests="measure")
    again(given)
    assert again.choices()[0].chosen == choice.chosen
    with pytest.raises(lw.ArgumentError, match="missing: a"):
        kernel()
    with pytest.raises(lw.ArgumentError, match="NumPy array"):
        kernel([1.0])
