"""What code kernels become: no more than they say."""

from __future__ import annotations

import threading
import time

import loopwright as lw
from loopwright.ir import ops
from loopwright.ir.verify import verify

VECTOR = lw.Array[lw.f32]


def names(f):
    return [instr.op.name for instr in f.code]


def test_straight_line_code_has_no_variables(staged):
    @lw.kernel
    def kernel(a: lw.i64, b: lw.i64) -> lw.i64:
        a = a + b
        b = a
        a = a * b
        return a - b

    assert names(staged(kernel)) == ["add", "mul", "sub", "ret"]


def test_conditions_are_branches_not_values(staged):
    @lw.kernel
    def kernel(a: lw.i64, b: lw.i64) -> lw.i64:
        if a < b < 10:
            a = b
        return a

    f = staged(kernel)
    assert "and" not in names(f)
    assert names(f).count("br_if") == 2
    assert not any(f.types[instr.dst].name == "bool" and instr.op is ops.COPY for instr in f.code if instr.dst >= 0)


def test_python_values_leave_nothing(staged):
    @lw.kernel
    def kernel(x: VECTOR, y: VECTOR, coeffs: lw.Const):
        for i in lw.lanes(len(x)):
            acc = coeffs[-1]
            for c in reversed(coeffs[:-1]):
                acc = acc * x[i] + c if c else acc * x[i]
            y[i] = acc

    assert names(staged(kernel, coeffs=(1.0,))) == ["for", "masked_store", "end"]
    assert names(staged(kernel, coeffs=(0.0, 2.0))) == ["for", "masked_load", "mul", "masked_store", "end"]


def test_blocks_are_made_only_for_breaks_that_happen(staged):
    @lw.kernel
    def kernel(x: VECTOR, early: lw.Const) -> lw.f32:
        total = 0.0
        for i in lw.range(len(x)):
            if early and x[i] > 1:
                break
            total += x[i]
        return total

    assert "block" in names(staged(kernel, early=True))
    assert "block" not in names(staged(kernel, early=False))
    assert "br_if" in names(staged(kernel, early=True))


def test_only_names_read_later_are_merged(staged):
    @lw.kernel
    def kernel(a: lw.i64) -> lw.i64:
        if a > 1:
            t = a * 2
            r = t + 1
        else:
            t = a * 3
            r = t - 1
        return r

    f = staged(kernel)
    assert [f.names[k] for k in range(len(f.types)) if f.variable[k]] == ["r"]


def test_elif_stays_elif(staged):
    @lw.kernel
    def kernel(a: lw.i64) -> lw.i64:
        if a > 3:
            r = 1
        elif a > 2:
            r = 2
        elif a > 1:
            r = 3
        else:
            r = 4
        return r

    assert names(staged(kernel)).count("elif") == 2
    assert names(staged(kernel)).count("end") == 1


def test_the_lanes_are_as_many_as_the_widest_type_leaves_room_for(staged):
    @lw.kernel
    def kernel(x: lw.Array, y: lw.Array, how: lw.Const):
        for i in lw.lanes(len(x)):
            y[i] = lw.f64(x[i]) if how == "f64" else lw.f32(x[i]) if how == "f32" else x[i] + i if how == "index" else x[i]

    def step(x, y, how):
        f = staged(kernel, lw.Array[x], lw.Array[y], how=how)
        loop = next(instr for instr in f.code if instr.op is ops.FOR)
        return f.const_values[~loop.args[2]]

    assert step(lw.u8, lw.u8, "") == 32
    assert step(lw.f32, lw.f32, "") == 8
    assert step(lw.u8, lw.f32, "") == 8
    assert step(lw.u8, lw.u8, "index") == 4
    assert step(lw.f32, lw.f32, "f64") == 4
    assert step(lw.f64, lw.f32, "f32") == 4


def test_a_reduction_is_described_for_the_passes(staged):
    @lw.kernel
    def kernel(x: VECTOR, y: VECTOR) -> lw.f32:
        total = 0.0
        most = x[0]
        for i in lw.lanes(len(x)):
            total += x[i] * y[i]
            if y[i] > 0:
                most = lw.max(most, x[i])
        return total + most

    f = staged(kernel)
    loop = next(instr for instr in f.code if instr.op is ops.FOR).loop
    assert {(f.names[register], op.name) for register, op, _ in loop.accumulators} == {("total", "add"), ("most", "max")}
    for register, op, _ in loop.accumulators:
        updates = [k for k, instr in enumerate(f.code) if instr.op is ops.SELECT and instr.dst == register]
        assert len(updates) == 1
        update = f.code[updates[0]]
        assert update.args[2] == register
        assert f.code[updates[0] - 1].dst == update.args[1] and f.code[updates[0] - 1].op is op


def test_instructions_know_the_users_lines(staged):
    @lw.kernel
    def kernel(a: lw.i64, b: lw.i64) -> lw.i64:
        c = a * b
        return c + a

    f = staged(kernel)
    first = kernel.function.__code__.co_firstlineno
    assert [instr.line for instr in f.code] == [first + 2, first + 3, first + 3]
    assert f.file == __file__
    assert f.lines[first + 2].strip() == "c = a * b"


def test_a_checked_function_checks_every_access(staged):
    @lw.kernel
    def kernel(x: lw.Array[lw.f32, 2]):
        for i in lw.lanes(x.shape[1]):
            x[0, i] = x[1, i]

    f = staged(kernel, check=True)
    assert names(f).count("fail") == 4
    assert [(site.array, site.dimension) for site in f.sites] == [("x", 0), ("x", 1)] * 2
    assert f.sites[0].text == "x[0, i] = x[1, i]"
    assert f.names[f.params[-1]] == "errors"
    assert not any(t.lanes for t in f.types)


def test_loop_variables_are_written_directly(staged):
    @lw.kernel
    def kernel(n: lw.i64) -> lw.i64:
        total = 0
        for i in lw.range(n):
            total = total + i
        return total

    f = staged(kernel)
    assert names(f) == ["copy", "for", "add", "end", "ret"]


def test_staging_is_quick():
    @lw.kernel
    def kernel(x: VECTOR, y: VECTOR) -> lw.f32:
        total = 0.0
        for i in lw.range(len(x)):
            v = x[i]
            if v > 0 and y[i] < 1:
                total += v * y[i]
            elif v < -1:
                total -= v
                continue
            y[i] = total
        return total

    signature = kernel.signature([VECTOR, VECTOR], {})
    kernel.stage(signature)
    best = 1.0
    for _ in range(50):
        start = time.perf_counter()
        kernel.stage(signature)
        best = min(best, time.perf_counter() - start)
    # About 0.1 ms; the bound leaves room for slow machines.
    assert best < 2e-3


def test_threads_can_stage_the_same_kernel_at_once():
    @lw.kernel
    def kernel(x: lw.Array, y: lw.Array, k: lw.Const) -> lw.f32:
        total = 0.0
        for i in lw.lanes(len(x)):
            t = lw.f32(0)
            for _ in range(k):
                t = t + x[i]
            y[i] = t
            total += t
        return total

    made: list[int] = []
    problems: list[lw.LoopwrightError] = []

    def work(k: int) -> None:
        try:
            for _ in range(5):
                f = kernel.stage(kernel.signature([VECTOR, VECTOR], {"k": k}))
                verify(f)
                made.append(sum(instr.op is ops.ADD for instr in f.code) - k)
        except lw.LoopwrightError as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert len(made) == 40 and len(set(made)) == 1


def test_a_lanes_loop_is_a_scalar_loop_with_a_mark(staged):
    @lw.kernel
    def kernel(x: VECTOR):
        for i in lw.lanes(len(x), unroll=2):
            x[i] = x[i] + 1

    plain = next(instr.loop for instr in staged(kernel, bits=0).code if instr.op is ops.FOR)
    assert plain.lanes and plain.mask < 0 and plain.unroll == 2
    for bits in (128, 256, 512):
        made = next(instr.loop for instr in staged(kernel, bits=bits).code if instr.op is ops.FOR)
        assert not made.lanes and made.mask >= 0 and made.unroll == 2


def test_a_function_defined_in_a_loop_is_not_carried_by_it() -> None:
    # The first step is staged while the condition is known, so the name is bound already when the loop becomes one of run time.
    @lw.kernel
    def k(n: lw.i32) -> lw.i64:
        total = lw.i64(0)
        step = 0
        while step < 5:

            def more(v, by=step):
                return v + by

            total = more(total) + n
            step = step + n
        return total

    def plain(n: int) -> int:
        total = step = 0
        while step < 5:
            total += step + n
            step += n
        return total

    assert [k(n) for n in (1, 2, 7)] == [plain(n) for n in (1, 2, 7)]
