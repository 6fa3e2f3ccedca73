"""Live intervals against a data-flow analysis that knows nothing of brackets."""

from __future__ import annotations

import pytest
from tests.ir.random_functions import random_function
from tests.regalloc.generator import random_input

from loopwright import compiler
from loopwright.errors import UnsupportedOperationError
from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.regalloc.intervals import Liveness
from loopwright.regalloc.liveness import analyse
from loopwright.targets import registry
from loopwright.targets.target import Target


def successors(f: Function) -> list[list[int]]:
    """Where control goes from each instruction; the end of the code is the index after the last."""
    code = f.code
    out: list[list[int]] = [[k + 1] for k in range(len(code))]
    stack: list[int] = []
    end_of: dict[int, int] = {}
    else_of: dict[int, int] = {}
    branches: list[tuple[int, int]] = []
    for k, instr in enumerate(code):
        op = instr.op
        if op is ops.ELSE:
            else_of[stack[-1]] = k
        elif op is ops.END:
            end_of[stack.pop()] = k
        elif op.opens:
            stack.append(k)
        elif op is ops.BR or op is ops.BR_IF or op.compare:
            branches.append((k, stack[len(stack) - 1 - instr.imm]))
        elif op is ops.RET:
            out[k] = []
    for opener, end in end_of.items():
        op = code[opener].op
        if op is ops.IF or op.compare:
            out[opener].append(else_of[opener] + 1 if opener in else_of else end)
            if opener in else_of:
                # The first side ends at the else, and goes on after the end.
                out[else_of[opener]] = [end]
    for k, opener in branches:
        to = opener if code[opener].op is ops.LOOP else end_of[opener] + 1
        if code[k].op is ops.BR:
            out[k] = [to]
        else:
            out[k].append(to)
    return out


def live_sets(f: Function) -> tuple[list[set[int]], list[set[int]], list[bool]]:
    """What is live before and after each instruction, to a fixpoint; and which instructions control reaches."""
    code = f.code
    following = successors(f)
    before: list[set[int]] = [set() for _ in range(len(code) + 1)]
    after: list[set[int]] = [set() for _ in code]
    changed = True
    while changed:
        changed = False
        for k in range(len(code) - 1, -1, -1):
            after[k] = set().union(*(before[n] for n in following[k]))
            found = (after[k] - {code[k].dst}) | {a for a in code[k].args if a >= 0}
            if found != before[k]:
                before[k] = found
                changed = True
    reached = [False] * (len(code) + 1)
    waiting = [0]
    while waiting:
        k = waiting.pop()
        if not reached[k]:
            reached[k] = True
            if k < len(code):
                waiting.extend(following[k])
    return before, after, reached


def compare(f: Function, target: Target) -> None:
    liveness, _shape = analyse(f, target)
    before, after, reached = live_sets(f)
    crossing: set[int] = set()
    for k, instr in enumerate(f.code):
        if not reached[k] or (instr.op.effect == ops.CONTROL and not instr.args and instr.op is not ops.RET):
            continue
        covered = {v for v, interval in enumerate(liveness.intervals) if interval is not None and covers(liveness, v, 2 * k)}
        assert covered == before[k], (k, instr.op, covered ^ before[k])
        if instr.rule is not None and instr.op.effect != ops.CONTROL:
            # At the result: what is read late is still there.
            late = {a for a, use in zip(instr.args, instr.rule.uses, strict=False) if a >= 0 and use.late}
            here = {v for v, interval in enumerate(liveness.intervals) if interval is not None and covers(liveness, v, 2 * k + 1)}
            assert here == after[k] | late | ({instr.dst} if instr.dst >= 0 else set()), (k, instr.op)
        read = {a for a in instr.args if a >= 0}
        dying = {a for j, a in enumerate(instr.args) if liveness.dies[k] >> j & 1}
        assert dying == read - (after[k] - {instr.dst}), (k, instr.op)
        if instr.dst >= 0:
            assert liveness.dead[k] == (instr.dst not in after[k]), (k, instr.op)
        if instr.rule is not None and instr.rule.kills:
            crossing |= {v for v in after[k] - {instr.dst} if instr.rule.kills & target.class_masks[target.class_of(f.types[v])]}
    for v in crossing:
        interval = liveness.intervals[v]
        assert interval is not None and interval.crosses_call


def covers(liveness: Liveness, v: int, location: int) -> bool:
    interval = liveness.intervals[v]
    assert interval is not None
    assert interval.starts == sorted(interval.starts)
    assert all(a < b for a, b in zip(interval.starts, interval.ends, strict=True))
    # Ranges neither meet nor overlap.
    assert all(b < c for b, c in zip(interval.ends, interval.starts[1:], strict=False))
    return any(a <= location < b for a, b in zip(interval.starts, interval.ends, strict=True))


def test_intervals_are_exact_on_inputs_of_every_shape() -> None:
    for seed in range(800):
        f, target = random_input(seed)
        compare(f, target)


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"])
def test_intervals_are_exact_on_lowered_functions(name: str) -> None:
    target = registry.get(name)
    for seed in range(60):
        try:
            f = compiler.run_passes(random_function(seed, size=40), target, after="select")
        except UnsupportedOperationError:
            continue
        compare(f, target)


def test_references_and_costs_are_those_of_the_code() -> None:
    for seed in range(200):
        f, target = random_input(seed)
        liveness, _shape = analyse(f, target)
        for v, interval in enumerate(liveness.intervals):
            if interval is None:
                continue
            places = [2 * k for k, instr in enumerate(f.code) for a in instr.args if a == v] + [2 * k + 1 for k, instr in enumerate(f.code) if instr.dst == v]
            assert sorted(places) == interval.refs[::-1]
            assert interval.weight_until(2 * len(f.code)) == pytest.approx(sum(liveness.weights[at // 2] for at in interval.refs))


def test_a_loop_knows_what_it_destroys_and_how_much_is_live() -> None:
    for seed in range(400):
        f, target = random_input(seed)
        liveness, _shape = analyse(f, target)
        before, _after, reached = live_sets(f)
        for info in liveness.loops.values():
            kills = 0
            for k in range(info.head, info.end):
                rule = f.code[k].rule
                if rule is not None:
                    kills |= rule.kills | rule.clobbers
            assert info.kills == kills
            if reached[info.head]:
                assert info.live == before[info.head]
                for cls in range(len(target.class_masks)):
                    most = max(sum(target.class_of(f.types[v]) == cls for v in before[k]) for k in range(info.head, info.end) if reached[k])
                    assert info.pressure[cls] >= most
