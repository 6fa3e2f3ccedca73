"""The 17 filters one by one, and the orders they come in."""

from __future__ import annotations

import random

import pytest
from tests.regalloc.generator import LETTERS, random_input, random_order

from loopwright.compiler import order_in_force
from loopwright.errors import TargetError
from loopwright.ir.function import Function
from loopwright.ir.text import print_function
from loopwright.passes import allocate
from loopwright.regalloc import heuristics
from loopwright.regalloc.heuristics import FILTERS, RegisterState, canonical, check_order, plan_of
from loopwright.regalloc.intervals import Interval
from loopwright.regalloc.liveness import analyse
from loopwright.settings import Settings
from loopwright.targets.target import Target

ALL = 0b1111_1111


def interval(number: int, *ranges: tuple[int, int], refs: tuple[int, ...] = (), weight: float = 1.0) -> Interval:
    made = Interval(number, 0, [weight] * 1000)
    made.starts = [a for a, _ in ranges]
    made.ends = [b for _, b in ranges]
    made.refs = sorted(refs, reverse=True)
    return made


class Scene:
    """Eight registers at location 10: 0, 1 and 2 hold live intervals, 3 and 4 were left by ones in a hole; calls destroy 0, 1, 4 and 5."""

    def __init__(self, fixed: dict[int, list[tuple[int, int]]] | None = None) -> None:
        points = [sorted(at for at, _ in (fixed or {}).get(r, [])) for r in range(8)]
        owners = [[owner for _, owner in sorted((fixed or {}).get(r, []))] for r in range(8)]
        for per_register in (*points, *owners):
            per_register.reverse()
        self.state = RegisterState(8, points, owners, 0b0011_0011, [[1 << r for r in (7, 6, 5, 4, 3, 2, 1, 0)]])
        self.others = {
            0: interval(100, (0, 40), refs=(12, 30), weight=3.0),
            1: interval(101, (0, 60), refs=(50,), weight=2.0),
            2: interval(102, (0, 60), refs=(50,), weight=8.0),
            3: interval(103, (0, 4), (14, 20), refs=(14, 18)),
            4: interval(104, (0, 4), (26, 30), refs=(26, 28)),
        }
        for r, other in self.others.items():
            self.state.holder[r] = other
            self.state.held |= 1 << r
            other.previous = r
            if r < 3:
                self.state.active |= 1 << r
                other.register_now = r
        # This one is live from 10 to 16 and again from 20 to 24.
        self.own = interval(7, (10, 16), (20, 24), refs=(10, 15, 21, 23))

    def __call__(self, letter: str, candidates: int = ALL) -> set[int]:
        found = FILTERS[letter](self.state, self.own, candidates, 10) & candidates
        return {r for r in range(8) if found >> r & 1}


def test_a_free() -> None:
    assert Scene()("A") == {3, 4, 5, 6, 7}
    assert Scene()("A", 0b111) == set()


def test_b_const_available() -> None:
    scene = Scene()
    scene.state.constant_in[0] = scene.state.constant_in[6] = scene.state.constant_in[4] = -3
    assert scene("B") == set()
    scene.own.constant = -3
    assert scene("B") == {4, 6}
    scene.own.constant = -4
    assert scene("B") == set()


def test_c_this_assigned() -> None:
    scene = Scene()
    assert scene("C") == set()
    scene.own.previous = 6
    # Somebody else may have been there since.
    assert scene("C") == set()
    scene.state.holder[6] = scene.own
    assert scene("C") == {6}
    scene.state.active |= 1 << 6
    assert scene("C") == set()


def test_d_covers_the_current_range() -> None:
    # The current range ends at 16; register 3 is wanted again at 14.
    assert Scene()("D") == {4, 5, 6, 7}
    scene = Scene({5: [(12, -1)], 6: [(20, -1)], 7: [(12, 7)]})
    # An own fixed use does not keep out, and after the range a fixed use does not matter.
    assert scene("D") == {4, 6, 7}


def test_e_own_preference() -> None:
    scene = Scene()
    assert scene("E") == set()
    scene.own.preferences = 0b0100_0001
    # Liking a register is no reason to drive another value out of it.
    assert scene("E") == {6}


def test_f_covers_related() -> None:
    scene = Scene()
    assert scene("F") == set()
    related = interval(8, (24, 27), refs=(25,))
    scene.own.related = related
    related.preferences = 0b1101_1000
    # The related interval ends at 27: 3 and 4 are wanted before.
    assert scene("F") == {6, 7}
    related.previous = 5
    assert scene("F") == {5, 6, 7}


def test_g_related_preference() -> None:
    scene = Scene()
    assert scene("G") == set()
    scene.own.related = interval(8, (24, 27))
    scene.own.related.preferences = 0b0001_1001
    assert scene("G") == {3, 4}
    scene.own.related.register_now = 7
    assert scene("G") == {3, 4, 7}


def test_h_caller_callee() -> None:
    scene = Scene()
    assert scene("H") == {4, 5}
    scene.own.crosses_call = True
    assert scene("H") == {3, 6, 7}


def test_i_unassigned() -> None:
    assert Scene()("I") == {5, 6, 7}


def test_j_covers_the_whole_interval() -> None:
    # It ends at 24; 4 is wanted at 26, and a fixed use at 20 lies within.
    assert Scene({6: [(20, -1)]})("J") == {4, 5, 7}


def test_k_best_fit() -> None:
    # When all candidates cover the interval, the nearest next reference leaves the others for longer lives …
    assert Scene()("K", 0b1111_0000) == {4}
    assert Scene({5: [(40, -1)]})("K", 0b1110_0000) == {5}
    # … otherwise the farthest covers most.
    assert Scene({5: [(18, -1)]})("K", 0b0011_1000) == {4}
    assert Scene()("K", 0b0000_0111) == set()
    assert Scene()("K", 0b1110_0000) == {5, 6, 7}


def test_l_is_prev_reg() -> None:
    scene = Scene()
    assert scene("L", 0b1111_0000) == set()
    scene.own.previous = 6
    assert scene("L", 0b1111_0000) == {6}
    # Only if all candidates cover.
    assert scene("L", 0b1111_1000) == set()
    assert scene("L", 0b1001_0000) == set()


def test_m_reg_order() -> None:
    assert Scene()("M") == {7}
    assert Scene()("M", 0b0011_1111) == {5}
    assert Scene()("M", 0b0000_0111) == set()


def test_n_spill_cost() -> None:
    assert Scene()("N", 0b111) == {1}
    # A free one costs nothing.
    assert Scene()("N", 0b1_1001) == {3, 4}
    scene = Scene()
    scene.others[2].constant = -1
    scene.others[0].floor = 100.0
    assert scene("N", 0b101) == {2}


def test_o_far_next_ref() -> None:
    assert Scene()("O", 0b111) == {1, 2}
    assert Scene({1: [(20, -1)]})("O", 0b111) == {2}
    assert Scene()("O") == {3, 4, 5, 6, 7}


def test_p_prev_reg_opt() -> None:
    scene = Scene()
    assert scene("P") == set()
    scene.state.optional[1] = True
    assert scene("P") == {1}
    assert scene("P", 0b101) == set()


def test_q_reg_num() -> None:
    assert Scene()("Q") == {0}
    assert Scene()("Q", 0b1010_1000) == {3}


def test_every_filter_leaves_the_state_as_it_was() -> None:
    for letter in LETTERS:
        scene = Scene({5: [(12, -1), (30, 7)]})
        scene.own.related = scene.others[3]
        before = (scene.state.active, scene.state.held, list(scene.state.holder), list(scene.state.constant_in), [list(points) for points in scene.state.fixed])
        scene(letter)
        assert before == (
            scene.state.active,
            scene.state.held,
            list(scene.state.holder),
            list(scene.state.constant_in),
            [list(points) for points in scene.state.fixed],
        ), letter


# --- orders --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "problem"),
    [
        ("", "missing ABCDEFGHIJKLMNOPQ"),
        ("ABC", "missing DEFGHIJKLMNOPQ"),
        ("ABCDEFGHIJKLMNOPR", "missing Q; unknown or repeated R"),
        ("ABCDEFGHIJKLMNOPP", "missing Q; unknown or repeated P"),
        ("ABCDEFGHIJKLMNOPQA", "unknown or repeated A"),
        ("A,B,C,D,E,F,G,H,I,J,K,L,M,N,O,P,Q", "unknown or repeated ,"),
    ],
)
def test_a_bad_order_is_told_what_is_wrong_with_it(order: str, problem: str) -> None:
    for judge in (check_order, canonical, plan_of, *((order_in_force,) if order else ())):
        with pytest.raises(TargetError) as caught:
            judge(order)
        assert str(caught.value).endswith(problem)
        assert repr(order) in str(caught.value)
        assert "permutation of ABCDEFGHIJKLMNOPQ" in str(caught.value)


def test_a_bad_order_from_the_environment_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPWRIGHT_LSRA_ORDERING", "nonsense")
    with pytest.raises(TargetError, match="NONSENSE|nonsense"):
        order_in_force(None)
    monkeypatch.setenv("LOOPWRIGHT_LSRA_ORDERING", "qponmlkjihgfedcba")
    assert order_in_force(None) == LETTERS[::-1]
    assert order_in_force(LETTERS) == LETTERS


def test_case_and_space_do_not_matter() -> None:
    assert check_order(" abcdefghijklmnopq\n") == heuristics.DEFAULT_ORDER


def allocated(f: Function, target: Target, order: str) -> str:
    work = f.clone()
    work.analysis = analyse(work, target)
    allocate.run(work, target, Settings(ordering=order, prove=False))
    return print_function(work, target)


def alike(chooser: random.Random, order: str) -> str:
    """Another order with the same canonical form, by exchanging neighbours at random."""
    for _ in range(150):
        n = chooser.randrange(16)
        other = order[:n] + order[n + 1] + order[n] + order[n + 2 :]
        if canonical(other) == canonical(order):
            order = other
    return order


def early(chooser: random.Random) -> str:
    """An order with M among the first, or A just before it, or neither: much that never acts."""
    rest = random_order(chooser).replace("M", "")
    n = chooser.randint(0, 6)
    order = rest[:n] + "M" + rest[n:]
    return order.replace("A", "").replace("M", "AM") if chooser.random() < 0.3 else order


def test_orders_with_one_canonical_form_give_the_same_code() -> None:
    chooser = random.Random(3)
    different = 0
    for seed in range(700):
        f, target = random_input(seed, most=5)
        order = early(chooser) if seed % 2 else random_order(chooser)
        other = alike(chooser, order)
        assert canonical(other) == canonical(order)
        different += other != order
        code = allocated(f, target, order)
        assert code == allocated(f, target, other) == allocated(f, target, canonical(order)), (seed, order, other)
    assert different > 500


def test_the_canonical_form_is_a_valid_order_and_its_own_canonical_form() -> None:
    chooser = random.Random(4)
    for _ in range(2000):
        order = random_order(chooser)
        form = canonical(order)
        assert check_order(form) == form == canonical(form)


def test_orders_with_different_canonical_forms_do_differ_somewhere() -> None:
    # Exchanging two neighbours anywhere before the last that acts: at least on one of these functions the code differs.
    inputs = [random_input(seed, size=60, most=5) for seed in range(40)]
    base = heuristics.DEFAULT_ORDER
    texts = [allocated(f, target, base) for f, target in inputs]
    same: list[str] = []
    for n in range(16):
        other = base[:n] + base[n + 1] + base[n] + base[n + 2 :]
        if canonical(other) == canonical(base):
            continue
        if all(allocated(f, target, other) == text for (f, target), text in zip(inputs, texts, strict=True)):
            same.append(other)
    # (A register that B or C knows is rarely not the one that the others choose.)
    assert len(same) <= 5, same
