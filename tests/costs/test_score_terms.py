"""Every term of both scores by itself, on code written by hand for a machine whose figures are all different."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from loopwright.costs import perfscore
from loopwright.costs.perfscore import Score, blocks_of, perf_score
from loopwright.targets.x86 import timing
from loopwright.targets.x86.assembler import ALWAYS, LESS, NO_REGISTER, Assembler, M, Program, lookup
from loopwright.targets.x86.timing import Microarchitecture

#: Latencies (beside loads) and ports: int 1 on two ports, mul 3, div 20, floating-point additions 4 on two ports, multiplications 5 and two slots.
TABLE = """
MOV(ZX)?          | m | 0  | 1 | -
MOV               | s | 0  | 1 | -
MOV               | r | 0  | 1 | -
ADD|SUB|XOR|CMP|TEST|ADC|LEA|SETE|CMOVE|SHL | * | 1 | 1 | int
IMUL              | * | 3  | 1 | mul
I?DIV             | * | 20 | 2 | 6 mul
CQO               | * | 1  | 1 | int
VMOVUPS           | m | 0  | 1 | -
VMOVUPS           | s | 0  | 1 | -
VMOVUPS|VMOVSS    | * | 0  | 1 | -
KMOVW             | m | 0  | 1 | -
KMOVW             | s | 0  | 1 | -
VADDPS|VPSUBD|VPXORD|VPCMPEQD | * | 4 | 1 | fp
VMULPS            | * | 5  | 2 | fp + fma
KADDW|KXORW       | * | 2  | 1 | mask
RET               | * | 1  | 1 | jump
"""
I0, I1, F0, F1, LOAD0, LOAD1, VECTOR, ADDRESS, DATA, BRANCH, MASK = (1 << n for n in range(11))
PORTS = {"int": "I0 I1", "mul": "I1", "fp": "F0 F1", "fma": "F0", "ld": "L0 L1", "vld": "V", "sa": "SA", "sd": "SD", "jump": "B", "mask": "K"}
PORT_ORDER = ["I0", "I1", "F0", "F1", "L0", "L1", "V", "SA", "SD", "B", "K"]
WIDTH, INT_LOAD, VECTOR_LOAD, WIDE_LOAD = 4, 6, 9, 10
FORWARD = (2, 12, 5, 7, 11)  # integers, masks and what is not a plain move, 128, 256, 512 bits
MISPREDICT, SPLIT, WINDOW, VECTOR_WINDOW = 20, 3, 100, 40
RAX, RCX, RDX, RBX, RSP, RSI = 0, 1, 2, 3, 4, 6


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> Microarchitecture:
    made = Microarchitecture(
        "toy",
        "a machine for these tests",
        TABLE,
        WIDTH,
        PORTS,
        False,
        (INT_LOAD, VECTOR_LOAD, WIDE_LOAD),
        "ld",
        "ld + 2 vld",
        "sa + 0.5 sd",
        "sa + 3 sd",
        FORWARD,
        MISPREDICT,
        SPLIT,
        "CMP TEST ADD",
        True,
        WINDOW,
        VECTOR_WINDOW,
    )
    assert made.port_names == PORT_ORDER
    monkeypatch.setitem(timing.MICROARCHITECTURES, "toy", made)
    monkeypatch.setattr(perfscore, "_shapes", {})
    return made


def at(base: int = RSI, disp: int = 0, index: int = NO_REGISTER, broadcast: bool = False) -> M:
    return M(base, index, 4 if index >= 0 else 1, disp, broadcast)


def code(*lines: Any) -> Assembler:
    """Lines are numbers (labels), (condition, label) of jumps, "call", "align", and (mnemonic, shape, operands…, options) of instructions."""
    asm = Assembler()
    for line in lines:
        if isinstance(line, int):
            asm.label(line)
        elif line == "call":
            asm.call_symbol("f")
        elif line == "align":
            asm.align(16)
        elif isinstance(line[0], int):
            asm.jump(*line)
        else:
            options = line[-1] if isinstance(line[-1], dict) else {}
            asm.ins(lookup(line[0], line[1]), *(line[2 : len(line) - bool(options)]), **options)
    return asm


def scored(asm: Assembler, counts: list[float] | None = None, weights: list[float] | None = None, statistics: Any = None) -> Score:
    program = Program(asm.items, [], {}, [])
    function = SimpleNamespace(code=[])
    if weights is not None:
        # One instruction of the function for each of the code's, in order.
        def emit(out: Assembler, _f: Any, instr: Any) -> None:
            out.items.append(asm.items[instr.number])

        function.code = [SimpleNamespace(number=n, weight=w, rule=SimpleNamespace(emit=emit)) for n, w in enumerate(weights)]
    target = SimpleNamespace(name="x86-64-v4", assembler=lambda _f: Assembler())
    compiled: Any = SimpleNamespace(target=target, machine=SimpleNamespace(code_size=77), instructions=program, statistics=statistics, function=function)
    return perf_score(compiled, "toy", counts)


ADD = ("ADD", "r64,r64", RAX, RCX)
MUL = ("IMUL", "r64,r64", RAX, RCX)
CMP = ("CMP", "r64,r64", RDX, RBX)
VADD = ("VADDPS", "ymm,ymm,ymm", 1, 2, 3)

# --- one instruction --------------------------------------------------------------------------------------------------

#: (what, PerfScore: the greater of throughput and latency, shortened; dispatch slots; work by ports)
INSTRUCTIONS: list[tuple[Any, float, float, dict[int, float]]] = [
    (ADD, 0.5, 1, {I0 | I1: 1}),
    (MUL, 3 - 1, 1, {I1: 1}),
    (("IDIV", "r64", RCX), 20 - 1, 2, {I1: 6}),
    (("MOV", "r64,r64", RAX, RCX), 1 / WIDTH, 1, {}),
    (("MOV", "r64,m", RAX, at()), INT_LOAD - 1, 1, {LOAD0 | LOAD1: 1}),
    (("ADD", "r64,m", RAX, at()), 1 + INT_LOAD - 1, 1, {I0 | I1: 1, LOAD0 | LOAD1: 1}),
    (("LEA", "r64,m", RAX, at()), 0.5, 1, {I0 | I1: 1}),
    # A store costs its throughput; one that reads too, its latency less three.
    (("MOV", "m64,r64", at(), RAX), 1, 1, {ADDRESS: 1, DATA: 0.5}),
    (("ADD", "m64,r64", at(), RAX), 1 + INT_LOAD - 3, 2, {I0 | I1: 1, LOAD0 | LOAD1: 1, DATA: 0.5}),
    (("VMOVUPS", "m,ymm", at(), 1), 3, 1, {ADDRESS: 1, DATA: 3}),
    (VADD, 4 - 1, 1, {F0 | F1: 1}),
    (("VMULPS", "ymm,ymm,ymm", 1, 2, 3), 5 - 1, 2, {F0 | F1: 1, F0: 1}),
    (("VADDPS", "ymm,ymm,m", 1, 2, at()), 4 + VECTOR_LOAD - 1, 1, {F0 | F1: 1, LOAD0 | LOAD1: 1, VECTOR: 2}),
    (("VADDPS", "zmm,zmm,m", 1, 2, at()), 4 + WIDE_LOAD - 1, 1, {F0 | F1: 1, LOAD0 | LOAD1: 1, VECTOR: 2}),
    # Zeroing an register by itself needs a slot and nothing else; making ones needs the port as well.
    (("XOR", "r64,r64", RAX, RAX), 1 / WIDTH, 1, {}),
    (("XOR", "r64,r64", RAX, RCX), 0.5, 1, {I0 | I1: 1}),
    (("VPXORD", "zmm,zmm,zmm", 1, 2, 2), 1 / WIDTH, 1, {}),
    (("VPXORD", "zmm,zmm,zmm", 1, 2, 2, {"k": 1}), 4 - 1, 1, {F0 | F1: 1}),
    (("VPXORD", "zmm,zmm,zmm", 1, 1, 2), 4 - 1, 1, {F0 | F1: 1}),
    (("VADDPS", "ymm,ymm,ymm", 1, 2, 2), 4 - 1, 1, {F0 | F1: 1}),
    (("VPCMPEQD", "ymm,ymm,ymm", 1, 2, 2), 1 / WIDTH, 1, {F0 | F1: 1}),
    (("VPCMPEQD", "ymm,ymm,ymm", 1, 2, 3), 4 - 1, 1, {F0 | F1: 1}),
    ((ALWAYS, 9), 1, 1, {BRANCH: 1}),
    ("call", 2, 2, {}),
]


@pytest.mark.parametrize(
    ("line", "cost", "slots", "ports"),
    INSTRUCTIONS,
    ids=[f"{n} {' '.join(map(str, case[0][:2]))}" if isinstance(case[0], tuple) else case[0] for n, case in enumerate(INSTRUCTIONS)],
)
def test_an_instruction_costs(line: Any, cost: float, slots: float, ports: dict[int, float]) -> None:
    score = scored(code(line), [3.0])
    (block,) = score.blocks
    assert score.perf_score == block.perf_score == pytest.approx(3 * cost)
    assert block.front_end == slots / WIDTH
    assert block.use == ports
    assert block.weight == 3.0 and block.loop == -1
    assert score.instructions == block.instructions == 1
    assert score.code_size == 77 and (score.spilled, score.stores, score.reloads, score.moves, score.spill_weight) == (0, 0, 0, 0, 0.0)


def test_what_the_allocation_cost_is_passed_on() -> None:
    score = scored(code(ADD), [1.0], statistics=SimpleNamespace(spilled=1, stores=2, reloads=3, moves=4, spill_weight=5.5))
    assert (score.spilled, score.stores, score.reloads, score.moves, score.spill_weight) == (1, 2, 3, 4, 5.5)
    assert score.microarchitecture == "toy"


def test_costs_of_instructions_are_added_and_their_ports_too() -> None:
    score = scored(code(ADD, MUL, VADD, ADD), [2.0])
    (block,) = score.blocks
    assert score.perf_score == 2 * (0.5 + 2 + 3 + 0.5)
    assert block.use == {I0 | I1: 2, I1: 1, F0 | F1: 1}
    assert block.front_end == 4 / WIDTH
    assert block.ports == 3 / 2  # three operations for two ports
    (whole,) = score.loops
    assert (whole.ports, whole.front_end, whole.slots, whole.vectors) == (3.0, 2.0, 8.0, 2.0)
    assert (whole.window, whole.latency, whole.taken, whole.branches) == (0.0, 0.0, 0.0, 0.0)
    assert score.cycles == whole.cycles == 3.0 and whole.bound_by() == "ports"


# --- comparisons and their jumps ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "slots", "ports"),
    [
        ((CMP, (LESS, 9)), 1, {BRANCH: 1}),
        ((ADD, (LESS, 9)), 1, {BRANCH: 1}),
        ((("CMP", "r64,m", RAX, at()), (LESS, 9)), 1, {LOAD0 | LOAD1: 1, BRANCH: 1}),
        ((CMP, (ALWAYS, 9)), 2, {I0 | I1: 1, BRANCH: 1}),
        ((CMP, ADD, (LESS, 9)), 2, {I0 | I1: 1, BRANCH: 1}),
        ((("XOR", "r64,r64", RAX, RCX), (LESS, 9)), 2, {I0 | I1: 1, BRANCH: 1}),
        ((("ADD", "m64,r64", at(), RAX), (LESS, 9)), 3, {I0 | I1: 1, LOAD0 | LOAD1: 1, DATA: 0.5, BRANCH: 1}),
        ((CMP,), 1, {I0 | I1: 1}),
    ],
    ids=["compare", "add", "compare with memory", "unconditional", "not next to it", "not one of those", "writes memory", "no jump"],
)
def test_a_comparison_and_its_jump_are_one_operation(lines: tuple[Any, ...], slots: float, ports: dict[int, float]) -> None:
    block = scored(code(*lines), [1.0]).blocks[0]
    assert block.front_end == slots / WIDTH
    assert block.use == ports
    assert block.instructions == len(lines)


def test_a_fused_comparison_still_costs_perf_score() -> None:
    assert scored(code(CMP, (LESS, 9)), [1.0, 0.0]).perf_score == 0.5 + 1


# --- loads over the end of a line -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "crossed"),
    [
        (("VADDPS", "ymm,ymm,m", 1, 2, at(disp=32)), 0),
        (("VADDPS", "ymm,ymm,m", 1, 2, at(disp=-64)), 0),
        (("VADDPS", "ymm,ymm,m", 1, 2, at(disp=4)), 0.5),
        (("VADDPS", "ymm,ymm,m", 1, 2, at(disp=-16)), 0.5),
        (("VADDPS", "xmm,xmm,m", 1, 2, at(disp=8)), 0.25),
        (("VADDPS", "xmm,xmm,m", 1, 2, at(disp=16)), 0),
        (("VADDPS", "zmm,zmm,m", 1, 2, at(disp=32)), 1),
        (("VADDPS", "zmm,zmm,m", 1, 2, at(disp=64)), 0),
        (("VADDPS", "zmm,zmm,m32bcst", 1, 2, at(disp=4, broadcast=True)), 0),
        (("VADDPS", "ymm,ymm,m", 1, 2, at(RSP, 4)), 0),
        (("VMOVUPS", "ymm,m", 1, at(disp=4)), 0.5),
        (("VMOVSS", "xmm,m", 1, at(disp=2)), 0),
        (("MOV", "r64,m", RAX, at(disp=4)), 0),
    ],
)
def test_a_load_that_may_cross_a_line_takes_its_port_longer(line: Any, crossed: float) -> None:
    use = scored(code(line), [1.0]).blocks[0].use
    vectors = line[0] != "MOV"
    assert use.get(VECTOR, 0.0) == 2 * vectors + SPLIT * crossed
    assert use[LOAD0 | LOAD1] == 1


def test_stores_and_constants_of_the_code_cross_no_line() -> None:
    assert scored(code(("VMOVUPS", "m,ymm", at(disp=4), 1)), [1.0]).blocks[0].use == {ADDRESS: 1, DATA: 3}
    asm = Assembler()
    pool = asm.constant(bytes(32))
    asm.ins(lookup("VADDPS", "ymm,ymm,m"), 1, 2, M(pool.base, pool.index, 1, 4, False, pool.pool))
    assert scored(asm, [1.0]).blocks[0].use[VECTOR] == 2


# --- blocks and loops -----------------------------------------------------------------------------------------------------


def test_blocks_begin_at_labels_and_behind_jumps_and_returns() -> None:
    asm = code(ADD, "align", 1, ADD, CMP, (LESS, 1), ADD, 2, ADD, ("RET", ""), ADD, (ALWAYS, 2))
    found = [(block.first, block.last, block.label) for block in blocks_of(asm.items)]
    assert found == [(0, 1, -1), (1, 6, 1), (6, 7, -1), (7, 10, 2), (10, 12, -1)]


NEST = (ADD, 0, ADD, 2, MUL, CMP, (LESS, 2), ADD, CMP, (LESS, 0), ADD)


def test_each_block_belongs_to_its_innermost_loop() -> None:
    score = scored(code(*NEST), [1.0, 10.0, 70.0, 9.0, 2.0])
    assert [block.loop for block in score.blocks] == [-1, 1, 3, 1, -1]
    assert [(loop.head, loop.last, loop.label) for loop in score.loops] == [(-1, 11, -1), (1, 9, 0), (3, 6, 2)]
    assert [loop.iterations for loop in score.loops] == [2.0, 10.0, 70.0]
    # Work of a loop is that of the blocks directly in it, weighted.
    assert [loop.slots for loop in score.loops] == [1 + 2, 10 + 2 * 9, 70 * 2]
    assert [loop.front_end for loop in score.loops] == [3 / 4, 28 / 4, 140 / 4]
    assert [loop.ports for loop in score.loops] == [3 / 2, max((10 + 9) / 2, 9), 70]
    assert score.perf_score == pytest.approx(0.5 * 1 + 0.5 * 10 + 70 * (2 + 0.5 + 1) + 9 * (0.5 + 0.5 + 1) + 0.5 * 2)
    # The inner loop: 70 cycles of its ports, and 9 of 70 branches mispredicted half the time; the outer one: 19 / 2, and 2 of 9.
    assert [loop.cycles for loop in score.loops] == [1.5, 19 / 2 + 2 * MISPREDICT / 2, 70 + 9 * MISPREDICT / 2]


def test_the_table_shows_what_was_found() -> None:
    lines = scored(code(*NEST), [1.0, 10.0, 70.0, 9.0, 2.0]).table().splitlines()
    assert lines[0] == "PerfScore 269.50; 191.00 cycles on toy; 77 bytes, 9 instructions"
    assert [line.split() for line in lines[3:8]] == [
        ["0", "1", "1", "0.50", "0.25", "0.50"],
        ["1", "0", "1", "10", "1", "0.50", "0.25", "5.00"],
        ["2", "2", "2", "70", "3", "1.00", "0.50", "245.00"],
        ["3", "1", "9", "3", "1.00", "0.50", "18.00"],
        ["4", "2", "1", "0.50", "0.25", "1.00"],
    ]
    assert [line.split() for line in lines[10:]] == [
        ["none", "2", "1.5", "0.8", "0.0", "0.0", "0.0", "0.0", "1.5", "ports"],
        ["1", "10", "9.5", "7.0", "7.0", "0.6", "3.1", "20.0", "29.5", "ports"],
        ["2", "70", "70.0", "35.0", "61.0", "4.2", "49.8", "90.0", "160.0", "ports"],
    ]
    lines = scored(code(1, MUL, (LESS, 1)), weights=[8.0] * 3).table().splitlines()
    assert lines[3].split()[:3] == ["0", "1", "1"]
    assert lines[-1].endswith("latency (3 an iteration)")


def test_weights_are_those_of_the_last_instruction_of_a_block() -> None:
    score = scored(code(*NEST), weights=[1, 8, 8, 64, 64, 64, 64, 8, 8, 8, 1])
    assert [block.weight for block in score.blocks] == [1, 8, 64, 8, 1]
    assert [loop.iterations for loop in score.loops] == [1, 8, 64]


def test_code_that_does_not_run_counts_for_nothing() -> None:
    score = scored(code(*NEST), [1.0, 0.0, 0.0, 0.0, 1.0])
    assert [loop.cycles for loop in score.loops] == [1.0, 0.0, 0.0]
    assert [loop.iterations for loop in score.loops] == [1.0, 0.0, 0.0]


# --- branches -------------------------------------------------------------------------------------------------------------


def test_without_counts_jumps_back_are_taken_and_others_are_not() -> None:
    score = scored(code(1, ADD, CMP, (LESS, 9), ADD, (ALWAYS, 8), 8, CMP, (LESS, 1), 9, ADD), weights=[8] * 9 + [1, 1])
    whole, loop = score.loops
    assert loop.taken == 8 + 8  # the unconditional one, and the one back; one cycle each
    assert loop.repeats == 8
    assert (whole.taken, loop.branches) == (0.0, 0.0)


def test_with_counts_what_does_not_fall_through_is_taken_and_half_of_the_rarer_way_is_mispredicted() -> None:
    # 100 runs of the head, 30 of which skip the addition; the loop is entered 5 times, so that 95 of its 100 ends jump back.
    asm = code(1, CMP, (LESS, 2), ADD, 2, MUL, CMP, (LESS, 1), ADD)
    score = scored(asm, [100.0, 70.0, 100.0, 5.0])
    whole, loop = score.loops
    assert loop.taken == 30 + 95
    assert loop.repeats == 95
    assert loop.branches == (30 + 5) * MISPREDICT * 0.5
    assert loop.cycles == max(loop.ports, loop.front_end, loop.taken, loop.window, loop.latency) + loop.branches
    assert whole.branches == 0.0


def test_where_others_jump_to_the_next_block_too_nothing_is_known_of_the_branch() -> None:
    # Block 1 is labelled: its count says nothing of the branch in front of it.
    score = scored(code(CMP, (LESS, 2), 1, ADD, 2, CMP, (LESS, 1), ADD), [10.0, 40.0, 44.0, 9.0])
    whole, loop = score.loops
    assert (whole.taken, whole.branches) == (0.0, 0.0)
    # The one back: 44 times, of which 9 fall through.
    assert loop.taken == 35 and loop.branches == 9 * MISPREDICT * 0.5 and loop.repeats == 35


def test_nothing_is_known_of_a_branch_in_front_of_the_last_block_either() -> None:
    whole = scored(code(CMP, (LESS, 2), 2, ADD), [10.0, 4.0]).loops[0]
    assert (whole.taken, whole.branches) == (0.0, 0.0)


def test_a_last_branch_has_nothing_to_fall_into() -> None:
    score = scored(code(1, ADD, (LESS, 1)), [6.0])
    assert score.loops[1].taken == 6 and score.loops[1].branches == 0.0
    score = scored(code(1, ADD, (ALWAYS, 1)), [6.0])
    assert score.loops[1].taken == 6 and score.loops[1].branches == 0.0


# --- chains ---------------------------------------------------------------------------------------------------------------


def recurrence(*lines: Any) -> float:
    return scored(code(1, *lines, (LESS, 1)), [1.0]).loops[1].recurrence


def load(size: str, register: int, memory: M) -> tuple[Any, ...]:
    return ("VMOVUPS", f"{size},m", register, memory)


SLOT = at(RSP, 24)
RECURRENCES: list[tuple[str, tuple[Any, ...], float]] = [
    ("through one register", (MUL,), 3),
    ("through two registers", (("IMUL", "r64,r64", RAX, RCX), ("ADD", "r64,r64", RCX, RAX)), 3 + 1),
    ("made anew", (("MOV", "r64,r64", RAX, RCX), MUL), 0),
    ("an accumulator", (("VADDPS", "ymm,ymm,ymm", 1, 1, 3),), 4),
    ("another vector", (VADD,), 0),
    ("integer and vector of one number", (("VADDPS", "ymm,ymm,ymm", 1, 2, 3), ("ADD", "r64,r64", 2, 1)), 1),
    ("an address", (("MOV", "r64,m", RAX, at(RAX)),), INT_LOAD),
    ("an index", (("MOV", "r64,m", RAX, at(RSI, 0, RAX)),), INT_LOAD),
    ("a register beside a load", (("ADD", "r64,m", RAX, at(RSI)),), 1),
    ("an address of an addition", (("ADD", "r64,m", RAX, at(RAX)),), 1 + INT_LOAD),
    ("a vector beside a load", (("VADDPS", "ymm,ymm,m", 1, 1, at(RSI)),), 4),
    ("flags", (("ADC", "r64,r64", RAX, RCX), ("MOV", "r64,r64", RAX, RBX)), 1),
    ("flags that are written in between", (("ADD", "r64,r64", RBX, RBX), ("ADC", "r64,r64", RAX, RCX), ("MOV", "r64,r64", RAX, RDX)), 1),
    ("the rest of a register", (("SETE", "r8", RAX),), 1),
    ("part of a register", (("SETE", "r8", RAX), ("CMP", "r64,r64", RAX, RCX)), 2),
    ("a conditional move", (("CMOVE", "r64,r64", RAX, RCX),), 1),
    ("registers that are implied", (("IDIV", "r64", RCX),), 20),
    ("a widening of what is implied", (("CQO", ""), ("IDIV", "r64", RCX)), 1 + 20),
    ("a count that is implied", (("MOV", "r64,r64", RAX, RDX), ("SHL", "r64,cl", RAX), ("MOV", "r64,r64", RCX, RAX)), 1),
    ("a zero in between", (("XOR", "r64,r64", RAX, RAX), MUL), 0),
    ("a zero of itself", (("VPXORD", "zmm,zmm,zmm", 1, 1, 1), ("VADDPS", "zmm,zmm,zmm", 1, 1, 3)), 0),
    ("ones in between", (("VPCMPEQD", "ymm,ymm,ymm", 1, 1, 1), ("VADDPS", "ymm,ymm,ymm", 1, 1, 3)), 0),
    ("a mask", (("KADDW", "k,k,k", 1, 1, 2),), 2),
    ("zeroed masks", (("KXORW", "k,k,k", 1, 1, 1), ("KADDW", "k,k,k", 1, 1, 2)), 0),
    ("lanes kept under a mask", (("VADDPS", "zmm,zmm,zmm", 1, 2, 3, {"k": 1}),), 4),
    ("lanes zeroed under a mask", (("VADDPS", "zmm,zmm,zmm", 1, 2, 3, {"k": 1, "z": True}),), 0),
    (
        "a mask that is made from what it masks",
        (
            ("KADDW", "k,k,k", 1, 2, 3),
            ("VADDPS", "zmm,zmm,zmm", 1, 2, 3, {"k": 1}),
        ),
        4,
    ),
    ("a slot by plain moves", (("MOV", "r64,m", RAX, SLOT), ("ADD", "r64,r64", RAX, RCX), ("MOV", "m64,r64", SLOT, RAX)), 1 + FORWARD[0]),
    ("a slot added to", (("ADD", "m64,r64", SLOT, RCX),), 1 + FORWARD[1]),
    ("a slot of 128 bits", (load("xmm", 1, SLOT), ("VADDPS", "xmm,xmm,xmm", 1, 1, 2), ("VMOVUPS", "m,xmm", SLOT, 1)), 4 + FORWARD[2]),
    ("a slot of 256 bits", (load("ymm", 1, SLOT), ("VADDPS", "ymm,ymm,ymm", 1, 1, 2), ("VMOVUPS", "m,ymm", SLOT, 1)), 4 + FORWARD[3]),
    ("a slot of 512 bits", (load("zmm", 1, SLOT), ("VADDPS", "zmm,zmm,zmm", 1, 1, 2), ("VMOVUPS", "m,zmm", SLOT, 1)), 4 + FORWARD[4]),
    ("a slot of a mask", (("KMOVW", "k,m", 1, SLOT), ("KADDW", "k,k,k", 1, 1, 2), ("KMOVW", "m,k", SLOT, 1)), 2 + FORWARD[1]),
    ("another slot", (load("ymm", 1, SLOT), ("VADDPS", "ymm,ymm,ymm", 1, 1, 2), ("VMOVUPS", "m,ymm", at(RSP, 56), 1)), 0),
    ("a slot as an operand", (("VADDPS", "ymm,ymm,m", 1, 2, SLOT), ("VMOVUPS", "m,ymm", SLOT, 1)), 4 + FORWARD[3]),
    ("memory that is no slot", (load("ymm", 1, at(RSI)), ("VADDPS", "ymm,ymm,ymm", 1, 1, 2), ("VMOVUPS", "m,ymm", at(RSI), 1)), 0),
    ("the longer of two", (MUL, ("ADD", "r64,r64", RDX, RBX)), 3),
    (
        "one that takes two steps",
        (("IMUL", "r64,r64", RAX, RBX), ("MOV", "r64,r64", RDX, RCX), ("MOV", "r64,r64", RCX, RAX), ("MOV", "r64,r64", RAX, RDX)),
        3 / 2,
    ),
]


@pytest.mark.parametrize(("lines", "cycles"), [case[1:] for case in RECURRENCES], ids=[case[0] for case in RECURRENCES])
def test_the_longest_cycle_of_dependences_is(lines: tuple[Any, ...], cycles: float) -> None:
    assert recurrence(*lines) == pytest.approx(cycles)


def test_latency_is_the_recurrence_times_the_iterations() -> None:
    loop = scored(code(1, MUL, (LESS, 1)), weights=[8.0, 8.0, 8.0]).loops[1]
    assert loop.latency == 3 * 8 and loop.bound_by() == "latency"


def test_with_counts_a_short_run_s_latency_overlaps_with_the_next() -> None:
    # 40 iterations in 10 runs: 4 iterations of 2 slots are 8, beside half a window of other operations.
    loop = scored(code(1, MUL, (LESS, 1), ADD), [40.0, 10.0]).loops[1]
    assert (loop.iterations, loop.repeats) == (40.0, 30.0)
    assert loop.latency == pytest.approx(40 * 3 * 8 / (8 + WINDOW / 2))
    # All the same when it never ends otherwise than by a jump back: no run is shorter than one iteration.
    loop = scored(code(1, MUL, (ALWAYS, 1)), [40.0]).loops[1]
    assert loop.latency == pytest.approx(40 * 3 * 80 / (80 + WINDOW / 2))


def test_a_chain_longer_than_the_window_hides_is_not_hidden() -> None:
    # Two additions of 4 cycles in a row, not carried: two vector operations of 40, three slots of 100.
    chain = (("VADDPS", "ymm,ymm,ymm", 1, 2, 3), ("VADDPS", "ymm,ymm,ymm", 4, 1, 3))
    loop = scored(code(1, *chain, (LESS, 1)), weights=[10.0] * 4).loops[1]
    assert (loop.vectors, loop.slots) == (20.0, 30.0)
    assert loop.window == pytest.approx(8 * 20 / VECTOR_WINDOW)
    # Loads that do nothing else are no vector operations that wait; here the slots decide.
    loop = scored(code(1, load("ymm", 1, at()), VADD, (LESS, 1)), weights=[10.0] * 4).loops[1]
    assert loop.vectors == 10.0
    assert loop.window == pytest.approx(VECTOR_LOAD * max(10 / VECTOR_WINDOW, 30 / WINDOW))
    # Of scalars the reorder buffer alone.
    loop = scored(code(1, ("IMUL", "r64,r64", RAX, RCX), ("ADD", "r64,r64", RDX, RAX), (LESS, 1)), weights=[10.0] * 4).loops[1]
    assert (loop.vectors, loop.slots) == (0.0, 20.0)
    assert loop.window == pytest.approx(4 * 20 / WINDOW)


def test_masks_alone_are_no_vector_operations_but_stores_of_vectors_are() -> None:
    assert scored(code(1, ("KADDW", "k,k,k", 1, 2, 3), (LESS, 1)), [1.0]).loops[1].vectors == 0.0
    assert scored(code(1, ("VMOVUPS", "m,ymm", at(), 1), (LESS, 1)), [1.0]).loops[1].vectors == 1.0
    assert scored(code(1, ("VADDPS", "ymm,ymm,m", 1, 2, at()), (LESS, 1)), [1.0]).loops[1].vectors == 1.0


def test_the_greatest_bound_is_named() -> None:
    loop = perfscore.LoopScore(0, 5, 1)
    names = ["ports", "front_end", "taken", "window", "latency"]
    for name in names:
        for other in names:
            setattr(loop, other, 9.0 if other == name else 3.0)
        assert loop.bound_by() == {"front_end": "front end", "taken": "taken branches"}.get(name, name)
    for name in names:
        setattr(loop, name, 1.0)
    assert loop.bound_by() == "ports"
