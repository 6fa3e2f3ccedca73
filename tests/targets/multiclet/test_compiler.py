"""Code for Multiclet processors: it does what the interpreter says, with every subset of the passes that may be left out; every operand names what it is meant to."""

from __future__ import annotations

import contextlib
import gc
import itertools
import random
from typing import Any

import numpy as np
import pytest
from tests.random_kernels import compare
from tests.random_kernels.kernels import make

import loopwright as lw
from loopwright import cli, compiler
from loopwright.errors import BoundsError, InternalError, TargetError, UnsupportedOperationError
from loopwright.ir.interpret import Interpreter
from loopwright.ir.module import Module
from loopwright.ir.parse import parse
from loopwright.passes.counted import COUNTED
from loopwright.runtime import emulate
from loopwright.runtime.code import Code
from loopwright.settings import Settings
from loopwright.targets import registry
from loopwright.targets.multiclet import calling, checker, writing
from loopwright.targets.multiclet.blocks import Blocks
from loopwright.targets.multiclet.flow import Flow, Node
from loopwright.targets.multiclet.linker import link
from loopwright.targets.multiclet.parameters import PROCESSORS, S2
from loopwright.targets.multiclet.program import Operand, Unit
from loopwright.targets.multiclet.simulator import Simulator
from loopwright.targets.multiclet.target import Multiclet

NAMES = ("multiclet-r1", "multiclet-s1", "multiclet-s2")
#: Those of this machine's own passes that may be left out.
OPTIONAL = [each.name for each in registry.get("multiclet-s2").passes() if each.optional and each.name != COUNTED]
ARRAY = lw.Array[lw.i32]


@lw.kernel
def collatz(x: ARRAY, y: ARRAY, limit: lw.i32) -> lw.i64:
    steps = lw.i64(0)
    n = lw.i64(limit)
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@lw.kernel
def clipped(x: ARRAY, y: ARRAY, limit: lw.i32) -> lw.i64:
    total = lw.i64(0)
    for i in lw.range(len(x)):
        v = x[i]
        if v > limit:
            v = limit - v
            y[i] = v
        else:
            y[i] = v * 3
        total += v
    return total


@lw.kernel
def fibonacci(x: ARRAY, y: ARRAY, limit: lw.i32) -> lw.i64:
    # The two phis of a loop that exchange places.
    a, b = lw.i64(0), lw.i64(1)
    for i in lw.range(len(x)):
        a, b = b, a + b
        if x[i] == limit:
            a, b = b, a
    return a


@lw.kernel
def pairs(x: ARRAY, y: ARRAY, limit: lw.i32) -> lw.i64:
    found = lw.i64(0)
    for i in lw.range(len(x)):
        if x[i] == 0:
            continue
        for j in lw.range(i):
            if x[j] > limit:
                break
            y[i] = max(y[i], x[i] + x[j])
            found += 1
    while found > 10:
        found -= 7
    return found


@lw.kernel
def wide(x: ARRAY, y: ARRAY, limit: lw.i32) -> lw.i64:
    # More values at once than a command can name, and more commands than the cells hold.
    held = [x[k % len(x)] * (limit + k) for k in range(80)]
    total = lw.i64(0)
    for k in range(80):
        total += held[79 - k] ^ held[k]
    y[0] = held[0] + held[79]
    return total


@lw.kernel
def overlapping(x: ARRAY, y: ARRAY, limit: lw.i32) -> lw.i64:
    # Each load may meet the store before it: of R1 in a paragraph of its own.
    y[0] = limit
    total = lw.i64(0)
    for i in lw.range(1, len(y)):
        y[i] = y[i - 1] + x[i]
        y[i // 2] = y[i] ^ y[i - 1]
        total += y[i]
    return total


@lw.kernel
def counted(x: ARRAY, y: ARRAY, limit: lw.i32) -> lw.i64:
    # Loops of one paragraph, up and down, with what they have made read behind them.
    last, weighed = lw.i64(-1), lw.i64(0)
    for i in lw.range(len(x)):
        y[i] = x[i] * limit
        last = i
    for i in lw.range(len(x) - 1, -1, -3):
        weighed = weighed * 5 + y[i] - last
    for i in lw.range(0x7FFFFFFFFFFFFFF0, 0x7FFFFFFFFFFFFFF0 + len(x) % 16):
        weighed ^= i
    return weighed + last


@lw.kernel
def rotated(x: ARRAY, y: ARRAY, limit: lw.i32) -> lw.i64:
    # A loop that carries more values than the switch has places, and each of which is handed on to another.
    held = [limit + k for k in range(64)]
    for i in lw.range(len(x)):
        for k in range(64):
            held[k] = held[(k + 1) % 64] + x[i]
    total = lw.i64(0)
    for k in range(64):
        total = total * 3 + held[k]
    return total


@lw.kernel
def held_across_a_store(x: ARRAY, y: ARRAY, limit: lw.i32) -> lw.i64:
    # More values at once than 15 places.
    held = [x[k % len(x)] for k in range(24)]
    y[0] = limit
    total = lw.i64(0)
    for k in range(24):
        total = total * 3 + held[k]
    return total


KERNELS = [collatz, clipped, fibonacci, pairs, wide, overlapping, counted]


def arguments(n: int) -> list[Any]:
    pick = np.random.default_rng(n)
    return [pick.integers(-5, 20, n).astype(np.int32), np.zeros(n, np.int32), np.int32(7)]


def compiled(kernel: Any, name: str, without: Any = ()) -> Any:
    return kernel.compile(ARRAY, ARRAY, lw.i32, target=name, prove=True, passes=[lw.without(each) for each in without])


def same(code: Any, kernel: Any, n: int) -> None:
    mine, theirs = arguments(n), arguments(n)
    want = Interpreter(code.compiled.source).call(*theirs)
    assert code.emulate(*mine[:2], int(mine[2])) == want, (kernel, n)
    assert all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_code_does_what_the_interpreter_says(kernel: Any, name: str) -> None:
    code = compiled(kernel, name)
    for n in (1, 2, 9, 100):
        same(code, kernel, n)


@pytest.mark.parametrize("name", ["multiclet-r1", "multiclet-s2"])
def test_a_loop_carries_more_than_the_switch_holds(name: str) -> None:
    same(compiled(rotated, name), rotated, 9)


def carrying(count: int) -> Any:
    """A loop that hands so many values on, each to another variable."""
    names = [f"v{n}" for n in range(count)]
    lines = [
        "def carried(x: lw.Array[lw.i64], n: lw.i64) -> lw.i64:",
        *[f"    {name} = x[{n}]" for n, name in enumerate(names)],
        "    for i in range(n):",
        f"        {', '.join(names)} = {', '.join([*names[1:], f'{names[0]} + {names[1]} - i'])}",
        f"    return {' + '.join([f'{name} * {n + 1}' for n, name in enumerate(names)])}",
    ]
    text = "\n".join(lines) + "\n"
    known: dict[str, Any] = {"lw": lw}
    exec(compile(text, "<carried>", "exec"), known)  # noqa: S102 (written above)
    return lw.kernel(known["carried"], source=text, nests="off")


def one_cell(processor: Any, buffer: int) -> Any:
    return processor.with_parameters(cells=1, fetch=1, float_units=1, memory_ports=1, buffer=buffer)


@pytest.mark.parametrize(
    ("processor", "count", "most"),
    [
        (PROCESSORS["multiclet-r1"], 60, 4),
        (PROCESSORS["multiclet-r1"], 100, 8),
        (S2, 60, 20),
        (S2, 90, 40),
        (one_cell(PROCESSORS["multiclet-r1"], 32), 30, 10),
        (one_cell(PROCESSORS["multiclet-r1"], 8), 14, 20),
        (one_cell(S2, 32), 40, 60),
        (S2.with_parameters(cells=2, fetch=2, memory_ports=2, buffer=16, depth=15), 30, 60),
    ],
    ids=lambda each: str(getattr(each, "name", each)).replace(" ", "_"),
)
def test_a_loop_that_carries_many_values_is_cut_in_few_tries(processor: Any, count: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What its first paragraph would read from slots, and write to others, its parts share."""
    tries: list[int] = []

    def counted(flow: Flow, *rest: Any) -> Blocks:
        tries.append(1)
        return Blocks(flow, *rest)

    monkeypatch.setattr("loopwright.targets.multiclet.order.Blocks", counted)
    code = carrying(count).compile(target=processor, prove=count < 50)
    assert len(tries) <= most
    x = np.arange(count, dtype=np.int64) ** 3 + 1
    rounds = (0, 1, 2, 7)
    assert emulate.run_many([(code, (x, n)) for n in rounds]) == [Interpreter(code.compiled.source).call(x, n) for n in rounds]


def test_what_no_cutting_makes_fit_is_refused() -> None:
    with pytest.raises(TargetError, match="has more values at once than its switch of 1 places, and paragraphs of at most 64 commands, can hand on"):
        carrying(3).compile(target=one_cell(S2, 64).with_parameters(depth=1))


@pytest.mark.parametrize("depth", [3, 63])
def test_the_least_room(depth: int) -> None:
    code = carrying(5).compile(target=one_cell(S2, 8).with_parameters(depth=depth), prove=True)
    x = np.arange(5, dtype=np.int64) * 3 + 1
    assert code.emulate(x, 4) == Interpreter(code.compiled.source).call(x, 4)


#: Processors with less room than the published ones.
SMALL = [
    PROCESSORS["multiclet-s1"].with_parameters(cells=2, fetch=2, memory_ports=1, buffer=16),
    PROCESSORS["multiclet-s2"].with_parameters(depth=15),
    PROCESSORS["multiclet-r1"].with_parameters(depth=15),
]


@pytest.mark.parametrize("processor", SMALL, ids=lambda each: each.name.replace(" ", "_"))
@pytest.mark.parametrize("kernel", [clipped, pairs, held_across_a_store], ids=lambda kernel: kernel.function.__name__)
def test_code_for_processors_with_little_room(kernel: Any, processor: Any) -> None:
    source = compiled(kernel, "multiclet-s2").compiled.source
    same(Code(compiler.compile(source, Multiclet(processor), Settings(prove=True))), kernel, 9)


@pytest.mark.parametrize("name", NAMES)
def test_loops_of_several_steps_make_any_number_of_steps(name: str) -> None:
    code = compiled(counted, name)
    for n in range(20):
        same(code, counted, n)
    assert (code.bytes == compiled(counted, name, ["unrolled"]).bytes) is False


@pytest.mark.slow
def test_any_subset_of_the_passes_gives_right_code(request: pytest.FixtureRequest) -> None:
    """A thousand of them, with all that leave out, or leave in, up to two; with ``--exhaustive`` all."""
    pick = random.Random(1)
    every = [without for count in range(len(OPTIONAL) + 1) for without in itertools.combinations(OPTIONAL, count)]
    few = [without for without in every if min(len(without), len(OPTIONAL) - len(without)) <= 2]
    for without in every if request.config.getoption("--exhaustive") else [*few, *pick.sample(every, 1000 - len(few))]:
        kernel = pick.choice([fibonacci, clipped, overlapping, counted])
        same(compiled(kernel, "multiclet-s2", without), kernel, 13)


@pytest.mark.parametrize("start", range(0, 18, 6))
def test_random_kernels_mean_what_plain_python_means_without_some_of_the_passes(start: int) -> None:
    for seed in range(start, start + 6):
        program = make(seed + 5000)
        loaded = compare.load(program)
        assert isinstance(loaded, compare.Loaded)
        pick = random.Random(seed)
        name = NAMES[seed % 3]
        passes = [lw.without(each) for each in OPTIONAL if pick.random() < 0.4]
        try:
            code = loaded.kernel.compile(*compare._signature(program, loaded.calls[0][0]), target=name, passes=passes, prove=True)
        except UnsupportedOperationError as error:
            assert "fm" in str(error)
            continue
        assert not compare.check_emulated([compare.Emulated(name, loaded, code)]), (seed, name, passes)


def nodes() -> int:
    return sum(isinstance(each, Node) for each in gc.get_objects())


@pytest.mark.parametrize("kernel", [fibonacci, counted], ids=lambda kernel: kernel.function.__name__)
def test_what_a_compilation_works_on_is_freed_with_it(kernel: Any) -> None:
    """Without the garbage collector, which would look through all of it again and again."""
    gc.collect()
    before = nodes()
    gc.disable()
    try:
        code = compiled(kernel, "multiclet-s2")
        assert code.asm() and nodes() == before
    finally:
        gc.enable()


# --- the proof ------------------------------------------------------------------------------------------------------


def proofs(monkeypatch: pytest.MonkeyPatch, kernel: Any, name: str, *without: str) -> tuple[Any, ...]:
    """What the checker is called with for a kernel."""
    seen: list[tuple[Any, ...]] = []

    def stop(*args: Any) -> None:
        """What comes behind takes apart what the checker is given."""
        seen.append(args)
        raise TargetError("seen")

    monkeypatch.setattr(writing, "check", stop)
    with contextlib.suppress(TargetError):
        compiled(kernel, name, without)
    if not seen:
        pytest.skip("the calls of the native build cannot be looked into")
    return seen[0]


@pytest.mark.parametrize("name", ["multiclet-r1", "multiclet-s2"])
@pytest.mark.parametrize("kernel", [fibonacci, clipped, overlapping], ids=lambda kernel: kernel.function.__name__)
def test_planted_faults_are_found(kernel: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    flow, unit, blocks, slots, processor = proofs(monkeypatch, kernel, name)
    checker.check(flow, unit, blocks, slots, processor)
    tried = found = 0
    for at, paragraph in enumerate(unit.paragraphs):
        for number, command in enumerate(paragraph.commands):
            origin = blocks.made[at].nodes[number].origin
            for k, operand in enumerate(command.operands):
                if operand.back <= 0 or operand.memory:
                    continue
                # One further back, which hardly ever is the same value.
                command.operands[k] = Operand(operand.back + 1, offset=operand.offset)
                wrong = fails(flow, unit, blocks, slots, processor)
                command.operands[k] = operand
                if origin is not None:
                    tried += 1
                    found += wrong
    assert tried >= 3
    # Another place may hold the same value: a copy of it.
    assert found >= 0.9 * tried, (found, tried)


def fails(flow: Flow, unit: Unit, blocks: Blocks, slots: Any, processor: Any) -> bool:
    try:
        checker.check(flow, unit, blocks, slots, processor)
    except InternalError:
        return True
    return False


def test_a_jump_to_another_paragraph_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    flow, unit, blocks, slots, processor = proofs(monkeypatch, pairs, "multiclet-s2")
    jumps = [(n, c) for n, p in enumerate(unit.paragraphs) for c in p.commands if c.mnemonic.startswith(("setjf", "setjt")) and c.operands[1].symbol]
    assert jumps
    for number, command in jumps:
        kept = command.operands[1]
        meant = flow.made[number].after()
        command.operands[1] = Operand(symbol=next(p.label for n, p in enumerate(unit.paragraphs) if n not in meant))
        assert fails(flow, unit, blocks, slots, processor), command
        command.operands[1] = kept


def test_a_copy_in_another_order_is_found_in_the_paragraph_that_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    flow, unit, blocks, slots, processor = proofs(monkeypatch, fibonacci, "multiclet-s2")
    caught = 0
    for paragraph in unit.paragraphs:
        copies = [n for n, command in enumerate(paragraph.commands) if command.mnemonic == "loadu_q" and not command.operands[0].memory]
        for a, b in itertools.pairwise(copies):
            if b != a + 1:
                continue
            commands = paragraph.commands
            first, second = commands[a].operands[0], commands[b].operands[0]
            # What each reads is one command nearer or further away when they change places.
            commands[a].operands[0] = Operand(second.back - 1, offset=second.offset) if second.back > 1 else second
            commands[b].operands[0] = Operand(first.back + 1, offset=first.offset) if first.back > 0 else first
            caught += fails(flow, unit, blocks, slots, processor)
            commands[a].operands[0], commands[b].operands[0] = first, second
    assert caught


def test_a_store_to_another_slot_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    flow, unit, blocks, slots, processor = proofs(monkeypatch, clipped, "multiclet-r1", "registers")
    stores = [c for p in unit.paragraphs for c in p.commands if c.mnemonic == "wr_q" and c.operands[1].register == "SP"]
    assert len(stores) > 3
    for command in stores:
        kept = command.operands[1]
        command.operands[1] = Operand(register="SP", offset=kept.offset - 1024)
        assert fails(flow, unit, blocks, slots, processor), command
        command.operands[1] = kept


def test_a_write_to_another_register_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    flow, unit, blocks, slots, processor = proofs(monkeypatch, clipped, "multiclet-r1")
    writes = [c for p in unit.paragraphs for c in p.commands if c.mnemonic == "setrg_q" and c.operands[0].register != "RETV"]
    assert len(writes) > 3
    for command in writes:
        kept = command.operands[0]
        command.operands[0] = Operand(register=next(name for name in ("R0", "R1") if name != kept.register))
        assert fails(flow, unit, blocks, slots, processor), command
        command.operands[0] = kept


# --- what the passes are for ------------------------------------------------------------------------------------------


def memory_accesses(code: Any) -> int:
    """Commands of a function that access memory."""
    return sum(c.row.effect == "store" or any(o.memory for o in c.operands) for p in code.compiled.machine.unit.paragraphs for c in p.commands)


def test_what_a_loop_carries_does_not_touch_memory() -> None:
    code, plain = compiled(collatz, "multiclet-s2"), compiled(collatz, "multiclet-s2", OPTIONAL)
    # The argument, and the return address.
    assert memory_accesses(code) == 2
    assert memory_accesses(plain) > 10


def test_on_the_r1_what_a_loop_carries_is_in_registers() -> None:
    code, plain = compiled(collatz, "multiclet-r1"), compiled(collatz, "multiclet-r1", ["registers"])
    assert memory_accesses(code) == 2
    assert memory_accesses(plain) > 10


def test_no_register_is_live_across_a_call() -> None:
    module = lw.Module()

    @module.function
    def step(x: lw.i64, y: lw.i64) -> lw.i64:
        total = lw.i64(0)
        for i in range(x & 7):
            total += i * y if i & 1 else y
        return total

    @module.function
    def walk(n: lw.i64, a: lw.i64, b: lw.i64) -> lw.i64:
        total, other = lw.i64(0), lw.i64(1)
        for i in range(n):
            if i & 1:
                total += a * i
            else:
                total += step(i, b)
            for j in range(i & 3):
                other = other * 3 + a - j
            total ^= other
        return total + other

    for name in NAMES:
        made = module.compile(target=name, prove=True)
        for n in (0, 1, 6, 13):
            assert made["walk"].emulate(n, 5, -9) == module.interpret("walk", n, 5, -9), (name, n)


def test_a_branch_where_a_comparison_does_not_hold_chooses_the_right_side() -> None:
    @lw.kernel
    def unless(a: lw.f64, b: lw.f64, n: lw.i64) -> lw.i64:
        if not (a >= b):  # noqa: SIM108
            n = n + 1
        else:
            n = n * 3
        return n

    code = unless.compile(lw.f64, lw.f64, lw.i64, target="multiclet-s2", prove=True)
    assert len(code.compiled.machine.unit.paragraphs) == 1
    for a, b, want in ((1.0, 2.0, 6), (2.0, 1.0, 15), (1.0, 1.0, 15), (float("nan"), 1.0, 6)):
        assert code.emulate(a, b, 5) == want


def test_each_pass_changes_some_code() -> None:
    # Left out of all of them, or alone, or of what has not been joined: two may do the same to these kernels.
    def differs(kernel: Any, name: str) -> bool:
        def made(*without: str) -> bytes:
            return bytes(compiled(kernel, "multiclet-s2", without).bytes)

        others = [each for each in OPTIONAL if each != name]
        return made(name) != made() or made(*others) != made(*OPTIONAL) or (name != "joined" and made("joined", name) != made("joined"))

    # (Kernels call nothing that is compiled with them.)
    for name in [each for each in OPTIONAL if each != "calls"]:
        assert any(differs(kernel, name) for kernel in KERNELS if kernel is not wide), name


def test_results_of_r1_do_not_cross_paragraphs() -> None:
    for kernel in KERNELS:
        for paragraph in compiled(kernel, "multiclet-r1").compiled.machine.unit.paragraphs:
            assert all(o.back <= at for at, c in enumerate(paragraph.commands) for o in c.operands)


def test_a_pass_that_has_to_run_cannot_be_left_out() -> None:
    with pytest.raises(TargetError, match=r"the pass order has to run; of those for multiclet-s2 counted, choices, .* may be left out"):
        collatz.compile(ARRAY, ARRAY, lw.i32, target="multiclet-s2", passes=[lw.without("order")])
    with pytest.raises(TargetError, match=r"the pass simplify has to run; of those for x86-64-v3 counted, .*, vector-scalars may be left out"):
        collatz.compile(ARRAY, ARRAY, lw.i32, target="x86-64-v3", passes=[lw.without("simplify")])
    with pytest.raises(TargetError, match="there is no pass 'phi' to leave out"):
        collatz.compile(ARRAY, ARRAY, lw.i32, target="multiclet-s2", passes=[lw.without("phi")])


# --- calls, local arrays, checks ----------------------------------------------------------------------------------------


module = lw.Module()


@module.function
def tak(x: lw.i32, y: lw.i32, z: lw.i32) -> lw.i32:
    if y >= x:
        return z
    return tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y))


@module.function
def mixed(a: lw.i8, b: lw.f64, c: lw.u16, d: lw.f32, e: lw.bool_, n: lw.i64) -> lw.f64:
    if n == 0:
        return lw.f64(a) + b * lw.f64(c) - lw.f64(d) if e else b
    return mixed(a, b + 1.0, c, d, n % 2 == 0, n - 1)


@module.function
def total(x: lw.Array[lw.i64], n: lw.i64) -> lw.i64:
    return 0 if n == 0 else x[n - 1] + total(x, n - 1)


@pytest.mark.parametrize("name", NAMES)
def test_functions_call_each_other_and_themselves(name: str) -> None:
    code = module.compile(target=name)
    assert code.tak.emulate(8, 4, 2) == 3
    assert code.mixed.emulate(-7, 0.5, 60000, 1.5, False, 0) == 0.5
    assert code.mixed.emulate(-7, 0.5, 60000, 1.5, True, 0) == -7 + 0.5 * 60000 - 1.5
    assert code.mixed.emulate(-7, 0.5, 60000, 1.5, True, 3) == 3.5
    x = np.arange(40, dtype=np.int64)
    assert code.total.emulate(x, 40) == 780


@lw.kernel
def histogram(x: ARRAY, y: ARRAY, limit: lw.i32) -> lw.i64:
    counts = lw.local(lw.i32, 16)
    for k in lw.range(16):
        counts[k] = 0
    for i in lw.range(len(x)):
        counts[x[i] & 15] += 1
    best = lw.i64(0)
    for k in lw.range(16):
        if counts[k] > counts[best]:
            best = k
    return best


@pytest.mark.parametrize("name", NAMES)
def test_local_arrays_lie_in_the_frame(name: str) -> None:
    code = compiled(histogram, name)
    for n in (0, 1, 50):
        same(code, histogram, n)


@pytest.mark.parametrize("name", NAMES)
def test_checks_find_what_is_outside(name: str) -> None:
    @lw.kernel(check=True)
    def picked(x: ARRAY, k: lw.i64) -> lw.i32:
        return x[k]

    code = picked.compile(ARRAY, lw.i64, target=name, prove=True)
    x = np.arange(5, dtype=np.int32)
    assert code.emulate(x, 4) == 4
    with pytest.raises(BoundsError, match="x: index 5 is outside the array, which has 5 elements"):
        code.emulate(x, 5)


def test_what_there_is_no_command_for_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedOperationError, match="multiclet-s2 has no convert.ptr.f64"):
        lw.parse("function f(%a: f64) -> ptr\n  %b = convert.ptr.f64 %a\n  ret.ptr %b\nend\n").compile(target="multiclet-s2")


@pytest.mark.parametrize("name", NAMES)
def test_functions_of_a_program_call_each_other_by_registers(name: str) -> None:
    inner = """
function inner(%a: i32, %b: u16, %c: f64, %d: i64, %e: i8) -> i32
  %1 = convert.i32.u16 %b
  %2 = convert.i32.i8 %e
  %3 = convert.i32.f64 %c
  %4 = convert.i32.i64 %d
  %5 = sub.i32 %a, %1
  %6 = sub.i32 %5, %2
  %7 = mul.i32 %6, %3
  %8 = sub.i32 %7, %4
  ret %8
end
"""
    outer = """
function outer(%a: i32) -> i32
  callee inner(i32, u16, f64, i64, i8) -> i32
  var %r: i32
  %r = copy.i32 %a
  loop
    %1 = convert.u16.i32 %r
    %2 = convert.i8.i32 %r
    %r = call.i32 inner(%r, %1, 3.0, 7, %2)
    %3 = gt.i32 %r, %a
    br_if 0, %3
  end
  %4 = sub.i32 %r, %a
  ret %4
end
"""
    module = Module([parse(inner), parse(outer)])
    module.verify()
    wanted = [Interpreter(module.functions["outer"]).call(np.int32(a)) for a in (5, -70000, 0)]
    for program, left_out in itertools.product((True, False), ((), ("calls",), tuple(OPTIONAL))):
        target = Multiclet(PROCESSORS[name], program)
        units = [
            compiler.compile(each, target, Settings(prove=True, passes=tuple(lw.without(one) for one in left_out))).machine.unit
            for each in module.functions.values()
        ]
        simulator = Simulator(link(units, target.processor))
        assert ("jmp #R0" in str(units[0])) is (program and "calls" not in left_out)
        found = [simulator.call("outer", ("l", a), returns="l", registers=(calling.RETURN, *calling.ARGUMENTS)) for a in (5, -70000, 0)]
        assert found == wanted, (program, left_out)


def test_the_listing_and_the_command_line(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kernels.py"
    file.write_text("import loopwright as lw\n\n@lw.kernel\ndef twice(x: lw.i64) -> lw.i64:\n    return x + x\n")
    assert cli.main(["show", f"{file}:twice", "--target", "multiclet-s2"]) == 0
    out = capsys.readouterr().out
    assert "twice:" in out and "setrg_q #RETV, @" in out and "complete" in out
    assert cli.main(["show", f"{file}:twice", "--target", "multiclet-s2", "--after", "paragraphs"]) == 0
    assert "paragraph 0, returns" in capsys.readouterr().out
    assert cli.main(["passes", "--target", "multiclet-s2"]) == 0
    assert "producers" in capsys.readouterr().out


OPERATIONS = """
global operations align 8 constant
  address double
  address square
end

global calls align 4
  i32 7
  zero 4
end

function double(%n: i32) -> i32
  %r = add.i32 %n, %n
  ret.i32 %r
end

function square(%n: i32) -> i32
  %r = mul.i32 %n, %n
  ret.i32 %r
end

function apply(%k: i64, %n: i32) -> i32
  signature operation(i32) -> i32
  global operations
  global calls
  %c = global.ptr calls
  %old = load_at.i32 [%c]
  %new = add.i32 %old, 1
  store_at.i32 %new, [%c]
  %t = global.ptr operations
  %f = load_at.ptr [%t + %k*8]
  %r = call_indirect.i32 operation(%f, %n)
  %now = load_at.i32 [%c]
  %both = add.i32 %r, %now
  ret.i32 %both
end
"""


@pytest.mark.parametrize("name", NAMES)
def test_globals_and_calls_by_address(name: str) -> None:
    """Each emulated run begins with the globals as they are at first."""
    for passes in ([], [lw.without(each) for each in OPTIONAL]):
        program = lw.Module.parse(OPERATIONS).compile(target=name, prove=True, passes=passes)
        assert [program.apply.emulate(0, 7), program.apply.emulate(1, 7), program.apply.emulate(0, -3)] == [14 + 8, 49 + 8, -6 + 8]


SQUARES = np.array([k * k - 7 for k in range(40)], dtype=np.int32)


@lw.kernel
def looked_up(x: ARRAY) -> lw.i64:
    total = lw.i64(0)
    for i in lw.range(len(x)):
        total += SQUARES[x[i]] * (i + 1)
    return total


@pytest.mark.parametrize("name", NAMES)
def test_constant_tables(name: str) -> None:
    x = np.array([3, 39, 0, 17, 20], dtype=np.int32)
    expected = sum(int(SQUARES[k]) * (i + 1) for i, k in enumerate(x))
    assert looked_up.compile(ARRAY, target=name, prove=True).emulate(x) == expected


@lw.kernel(nests="off", contract=False)
def four_floats(rounds: lw.i32, t: lw.f64) -> lw.f64:
    a, b, c, d = lw.f64(1.0), lw.f64(-1.0), lw.f64(-1.0), lw.f64(-1.0)
    for _ in lw.range(rounds):
        a = (a + b + c - d) * t
        b = (a + b - c + d) * t
        c = (a - b + c + d) * t
        d = (b - a + c + d) * t
    return a + b + c + d


@pytest.mark.parametrize("buffer", [64, 40, 24])
def test_one_cell_has_little_room(buffer: int) -> None:
    """Paragraphs that are longer than the cells have room for, by what is copied for phis of many steps, are cut."""
    processor = S2.with_parameters(cells=1, fetch=1, float_units=1, memory_ports=1, buffer=buffer)
    source = four_floats.compile(target="multiclet-s2").compiled.source
    unit: Unit = compiler.compile(source, Multiclet(processor), Settings(prove=True)).machine.unit
    assert max(len(paragraph.commands) for paragraph in unit.paragraphs) <= buffer
    simulator = Simulator(link([unit], processor))
    for rounds in (0, 1, 6, 9):
        assert simulator.call(unit.paragraphs[0].label, ("l", rounds), ("d", 0.499975), returns="d") == four_floats(rounds, 0.499975)


LOOP_FIRST = """function f(%x: ptr, %x.n0: i64)
  array x: i64[%x.n0] at %x written
  loop
    %v = load.i64 x[0]
    %odd = and.i64 %v, 1
    %is = gt.i64 %odd, 0
    if %is
      %s = load.i64 x[1]
      %t = add.i64 %s, %v
      store.i64 %t, x[1]
    end
    %w = sub.i64 %v, 1
    store.i64 %w, x[0]
    %more = gt.i64 %w, 0
    br_if 0, %more
  end
  ret
end
"""


@pytest.mark.parametrize("name", ["multiclet-r1", "multiclet-s2"])
def test_a_function_may_begin_with_a_loop(name: str) -> None:
    # What is done on entry goes into a paragraph of its own, and all others are counted on.
    x = np.array([9, 0], np.int64)
    lw.parse(LOOP_FIRST).compile(target=name, prove=True).emulate(x)
    assert x.tolist() == [0, 9 + 7 + 5 + 3 + 1]
