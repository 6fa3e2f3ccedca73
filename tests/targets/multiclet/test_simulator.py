"""The simulator: every command means what its row says, in all mixtures; every rule is checked; cycles are those of the model, counted by hand."""

from __future__ import annotations

import pytest
from tests.targets.multiclet.programs import Interpreter, Stopped, random_unit

from loopwright.errors import SimulationError
from loopwright.targets.multiclet import cycles as cycles_module
from loopwright.targets.multiclet import timing as timing_module
from loopwright.targets.multiclet.assembler import assemble
from loopwright.targets.multiclet.bits import double_bits
from loopwright.targets.multiclet.commands import VALUE, Row
from loopwright.targets.multiclet.linker import link
from loopwright.targets.multiclet.parameters import PROCESSORS, R1, S1, S2, Processor, replace
from loopwright.targets.multiclet.profile import Profile
from loopwright.targets.multiclet.simulator import OUTPUT, Simulator

MEMORY = 1 << 16


def simulator(text: str, processor: Processor = S2, timing: bool = False) -> Simulator:
    return Simulator(link([assemble(text, processor, "a.s")], processor, memory=MEMORY), timing)


def bits(value: object) -> object:
    return double_bits(value) if isinstance(value, float) else value


@pytest.mark.parametrize("timing", [False, True], ids=["untimed", "timed"])
@pytest.mark.parametrize("processor", [*PROCESSORS.values(), replace(S2, name="all", lacks=frozenset(), depth=15)], ids=lambda each: each.name)
def test_random_programs_do_what_the_rows_say(processor: Processor, timing: bool) -> None:
    stopped = 0
    for seed in range(60):
        program = link([random_unit(seed, processor, faults=seed % 3 == 0)], processor, memory=MEMORY)
        expected, run = Interpreter(program), Simulator(program, timing)
        wrong = ""
        try:
            expected.run()
        except Stopped as reason:
            wrong = str(reason)
        if wrong:
            stopped += 1
            with pytest.raises(SimulationError, match={"alignment": "which is no multiple of", "no result": "left no result on the way here"}[wrong]):
                run.run()
            continue
        run.run()
        assert run.memory == expected.memory, seed
        assert run.registers == list(expected.registers.values()), seed
        assert run.commands == expected.commands
        if processor.crosses:
            assert [bits(value) for value in run._history[-processor.depth :]] == expected.results[-processor.depth :], seed
    assert stopped


@pytest.mark.parametrize(
    ("text", "processor", "message"),
    [
        ("m:\n add_l @5, 1\n jmp 0\ncomplete", S2, "a.s:2: m, command 0, add_l @5, 1: @5 names a command that left no result on the way here"),
        ("m:\n load_l [2]\n jmp 0\ncomplete", S2, "a.s:2: m, command 0, load_l [2]: loads from 4 bytes at address 0x2, which is no multiple of 4"),
        ("m:\n load_l [16]\n jmp 0\ncomplete", S2, "loads from 4 bytes at address 0x10, in the page that is nobody's"),
        ("m:\n load_l [m]\n jmp 0\ncomplete", S2, "loads from 4 bytes at address 0x1000, which is code"),
        ("m:\n wr_l 5, x\n jmp 0\ncomplete\n.rodata\nx: .long 1", S2, "stores to 4 bytes at address 0x2000, which is read only"),
        ("m:\n wr_q 5, #SP + 64\n jmp 0\ncomplete", S2, "stores to 8 bytes at address 0x10000; memory ends at 0x10000"),
        ("m:\n setjt_l 1, m\n setjf_l 0, m\ncomplete", S2, "a.s:3: m, command 1, setjf_l 0, m: two jumps of the paragraph are taken"),
        ("m:\n load_l 5\n jmp @1\ncomplete", S2, "a.s:3: m, command 1, jmp @1: no paragraph begins at address 0x5"),
        ("m:\n load_l 5\n jmp m + 16\ncomplete", S2, "no paragraph begins at address 0x1010"),
        ("m:\n load_l 5\ncomplete", S2, "a.s:2: the last paragraph, m, ends and has set no next one"),
        ("m:\n jmp m\ncomplete", S2, "more than 5000 commands have been run, and the program has not ended"),
        ("m:\n wr_l @0, #SP\n load_b [#SP + 3]\n jmp @0\ncomplete", R1, "load_b [#SP + 3]: meets a store of the same paragraph, which is done at its end"),
        ("m:\n setrg_l #R1, 1\n setrg_l #R1, 2\n jmp @0\ncomplete", R1, "the paragraph writes #R1 twice, in no order"),
    ],
)
def test_rules_are_checked(text: str, processor: Processor, message: str) -> None:
    with pytest.raises((SimulationError, ValueError)) as caught:
        simulator(text, processor).run(limit=5000)
    assert message in str(caught.value)


def test_r1_writes_at_the_end_of_a_paragraph() -> None:
    text = "m:\n setrg_l #R1, 7\n load_l #R1\n setrg_l #R2, @1\n load_l [x]\n wr_l @1, x + 4\n load_l 9\n wr_l @1, x\n jmp n\ncomplete\n"
    text += "n:\n load_l [x]\n setrg_l #R3, @1\n setrg_l #R4, #R1\n jmp @0\ncomplete\n.data\n.align 4\nx: .long 5, 6"
    run = simulator(text, R1)
    run.run()
    assert run.registers[1:5] == [7, 0, 9, 7] and list(run.memory[0x2000:0x2008]) == [9, 0, 0, 0, 5, 0, 0, 0]


def test_functions_are_called() -> None:
    text = "f:\n i := cvtq_d [#SP + 4]\n add_d @i, [#SP + 8]\n setrg_q #RETV, @1\n wr_b 'x', 16\n jmp [#SP]\ncomplete\n"
    run = simulator(text.replace("cvtq_d [#SP + 4]", "load_l [#SP + 4]\n i := cvtq_d @1"))
    assert run.call("f", ("l", -3), ("d", 0.5), returns="d") == -2.5
    assert run.call("f", ("l", 40), ("d", 2.0), returns="q") == double_bits(42.0)
    assert run.output == b"xx" and OUTPUT == 16


def test_a_command_of_one_s_own() -> None:
    mine = replace(S2, name="mine").with_commands(Row("bitsum", "lq", (VALUE,), lambda bits, a: a.bit_count(), "bits that are 1", takes="unsigned", status="A"))
    run = simulator("m:\n bitsum_l -1\n bitsum_q -1\n add_l @1, @2\n setrg_l #RETV, @1\n jmp @0\ncomplete", mine)
    assert run.call("m", returns="l") == 96


# --- cycles --------------------------------------------------------------------------------------------------


def cycles(text: str, processor: Processor) -> list[tuple[list[list[int]], list[int], int]]:
    """Of each schedule: starts, results, and cycles to the next paragraph."""
    run = simulator(text + ".data\n.align 8\nx: .quad 1, 2, 3", processor, timing=True)
    run.run()
    assert run.timing is not None
    return [(each.begin, each.ready, each.cycles) for each in run.timing.schedules]


def test_a_chain_waits_for_its_results() -> None:
    # Fetched in cycle 0, started from cycle 6; integers take 2, products 3, loads 4. The fifth command is fetched in cycle 1.
    text = "m:\n load_q [x]\n add_q @1, 1\n mul_q @1, @1\n sub_q @1, 1\n add_d @1, @1\n jmp @0\ncomplete\n"
    assert cycles(text, S1) == [([[6], [10], [12], [15], [17], [7]], [10, 12, 15, 17, 24, 9], 10)]
    # One cycle more for a link of floats on the S2; the jump is known in cycle 9, and the change takes one.
    assert cycles(text, S2) == [([[6], [10], [12], [15], [17], [7]], [10, 12, 15, 17, 25, 9], 10)]


def test_cells_start_one_command_of_a_kind_a_cycle_and_deliver_one_result() -> None:
    # Commands 0 and 4 are in cell 0: an integer and a load, which would both be there in cycle 10 if the load began in 6.
    busy = "m:\n load_q [x]\n load_q 1\n load_q 1\n load_q 1\n mul_q 1, 1\n jmp @0\ncomplete\n"
    begin, ready, _ = cycles(busy, S1)[0]
    # The product begins in 7 and would be there in 10, with the load: memory goes first.
    assert begin[4] == [7] and ready[0] == 10 and ready[4] == 11
    # Two integers of one cell.
    begin, _, _ = cycles("m:\n" + " add_q 1, 1\n" * 8 + " jmp @0\ncomplete\n", replace(S1, name="wide", fetch=8, fetch_to_issue=1))[0]
    assert [each[0] for each in begin] == [1, 1, 1, 1, 2, 2, 2, 2, 3]


def test_brackets_cost_a_load_each() -> None:
    begin, ready, _ = cycles("m:\n add_q [x], [x + 8]\n jmp @0\ncomplete\n", S1)[0]
    assert begin[0] == [6, 10, 14] and ready[0] == 16


def test_float_units_are_shared_and_divisions_not_pipelined() -> None:
    begin, _, _ = cycles("m:\n add_d @0, @0\n add_d @0, @0\n add_d @0, @0\n add_d @0, @0\n jmp @0\ncomplete\n", S1)[0]
    assert [each[0] for each in begin[:4]] == [6, 7, 6, 7]
    begin, _, _ = cycles("m:\n div_d @0, @0\n div_d @0, @0\n add_d @0, @0\n div_d @0, @0\n jmp @0\ncomplete\n", S1)[0]
    assert [each[0] for each in begin[:4]] == [6, 58, 6, 7]


def test_loads_wait_for_stores_that_they_may_meet() -> None:
    # The store waits for the product; the load of the same place for the store, that of another only until the address is known.
    text = "m:\n a := load_q x\n v := mul_q 3, 3\n wr_q @v, @a + 8\n load_q [x + 8]\n load_q [x]\n jmp @0\ncomplete\n"
    begin, _, _ = cycles(text, S1)[0]
    assert begin[2] == [9] and begin[3] == [11] and begin[4] == [8]
    # On the R1 stores are done at the end, and nothing waits but the next paragraph.
    text = "m:\n a := load_q 3\n v := mul_q @1, @1\n wr_q @v, x + 8\n load_q [x]\n jmp n\ncomplete\nn:\n load_q [x + 8]\n jmp @0\ncomplete\n"
    first, second = cycles(text, R1)
    assert first[0][2] == [11] and first[0][3] == [6] and first[2] == 12
    assert first[1][2] == 13 and second[0] == [[6], [6]]


def test_results_are_waited_for_across_paragraphs() -> None:
    # The division is there in cycle 58; the next paragraph is fetched from cycle 9 on (a jump that starts in 6, known in 8, one cycle to change).
    first, second = cycles("m:\n div_d @0, @0\n jmp n\ncomplete\nn:\n add_d @2, @0\n jmp @0\ncomplete\n", S1)
    assert first[2] == 9 and second[0] == [[49], [6]]


@pytest.mark.parametrize("processor", PROCESSORS.values(), ids=lambda each: each.name)
def test_schedules_that_are_looked_up_are_those_that_would_be_made(processor: Processor) -> None:
    """Two calls of everything take twice the cycles of one, though the second looks all up; and what is counted is what was run."""
    for seed in range(40):
        program = link([random_unit(seed, processor)], processor, memory=MEMORY)
        one, two = Simulator(program, True), Simulator(program, True)
        one.run()
        two.run()
        assert one.timing is not None and two.timing is not None
        two.memory[:] = Simulator(program).memory
        two.registers[:] = Simulator(program).registers
        made = len(two.timing.schedules)
        two.run()
        assert two.timing.cycles == 2 * one.timing.cycles and len(two.timing.schedules) == made
        assert sum(each.times for each in two.timing.schedules) == sum(two.counts)


@pytest.mark.parametrize("processor", [*PROCESSORS.values(), replace(S2, name="slow", memory_ports=1, float_units=1)], ids=lambda each: each.name)
def test_cycles_in_which_nothing_happens_are_passed_over_rightly(processor: Processor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Schedules made cycle by cycle are the same, and so are the waits."""
    programs = [link([random_unit(seed, processor)], processor, memory=MEMORY) for seed in range(40)]

    def all_of_them() -> list[object]:
        found: list[object] = []
        for program in programs:
            run = Simulator(program, True)
            run.run()
            assert run.timing is not None
            found += [(each.begin, each.ready, each.cycles, each.waits) for each in run.timing.schedules]
        return found

    quick = all_of_them()
    monkeypatch.setattr(cycles_module._Run, "_event", lambda self, cycle, waiting: cycle + 1)
    assert all_of_them() == quick


@pytest.mark.parametrize("processor", PROCESSORS.values(), ids=lambda each: each.name)
def test_what_is_forgotten_is_counted_still(processor: Processor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where few schedules are kept, cycles and profiles are the same."""

    def profiles() -> tuple[list[str], int]:
        found: list[str] = []
        kept = 0
        for seed in range(20):
            run = Simulator(link([random_unit(seed, processor)], processor, memory=MEMORY), True)
            run.run()
            found.append(str(Profile(run)))
            assert run.timing is not None
            kept = max(kept, len(run.timing.schedules))
        return found, kept

    all_kept, most = profiles()
    assert most > 4
    monkeypatch.setattr(timing_module, "_KEPT", 4)
    found, most = profiles()
    assert found == all_kept and most <= 4
