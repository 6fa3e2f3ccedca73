"""Parallel moves: whatever goes where, everything is read before it is overwritten."""

from __future__ import annotations

from itertools import product

import pytest

from loopwright.ir import ops
from loopwright.ir.function import SLOT, Instr
from loopwright.regalloc.resolution import Move, sequence
from loopwright.types import F32, F64, I64, Type, vector_of

WIDE = vector_of(F64, 4)


def run(code: list[Instr], state: dict[int, object]) -> dict[int, object]:
    """Execute copies and exchanges; a copy keeps no more than its type's bytes of a value (name, bytes)."""
    state = dict(state)

    def cut(value: object, type_: Type) -> object:
        assert isinstance(value, tuple)
        return (value[0], min(value[1], type_.size))

    for instr in code:
        if instr.op is ops.SWAP:
            a, b = instr.args
            assert a < SLOT and b < SLOT and a != b
            state[a], state[b] = cut(state[b], instr.type), cut(state[a], instr.type)
        else:
            assert instr.op is ops.COPY
            source = instr.args[0]
            assert not (instr.dst >= SLOT and not 0 <= source < SLOT), "from memory to memory"
            assert instr.dst != source
            state[instr.dst] = cut(state[source], instr.type)
    return state


def expect(moves: list[tuple[int, int, Type]]) -> list[Instr]:
    state: dict[int, object] = {place: (place, 64) for place in (0, 1, 2, 3, 4, SLOT, SLOT + 1, SLOT + 2, -1, -2)}
    code = sequence([Move(*move) for move in moves], 7)
    found = run(code, state)
    for destination, source, type_ in moves:
        assert found[destination] == (source, type_.size) or destination == source
    for place, value in state.items():
        # What nobody moved to is as it was, unless somebody moved away from it: an exchange leaves anything there.
        if place not in {move[0] for move in moves} and place not in {move[1] for move in moves}:
            assert found[place] == value
    assert all(instr.line == 7 for instr in code)
    return code


def test_every_assignment_of_four_registers_with_a_slot_and_a_constant() -> None:
    # Each register from any register, from a slot, from a constant, or left alone; and a slot from any register or left alone.
    nobody = 99
    for sources in product((0, 1, 2, 3, SLOT, -1, nobody), repeat=4):
        for stored in (nobody, 0, 2):
            moves = [(r, source, I64) for r, source in enumerate(sources) if source != nobody]
            if stored != nobody:
                moves.append((SLOT + 1, stored, I64))
            expect(moves)


def test_every_permutation_is_made_with_the_fewest_instructions() -> None:
    for sources in product(range(4), repeat=4):
        if sorted(sources) != [0, 1, 2, 3]:
            continue
        code = expect([(r, source, I64) for r, source in enumerate(sources)])
        # A cycle of n registers takes n - 1 exchanges.
        cycles = 0
        seen: set[int] = set()
        for r in range(4):
            if r not in seen:
                cycles += 1
                while r not in seen:
                    seen.add(r)
                    r = sources[r]
        assert len(code) == 4 - cycles


@pytest.mark.parametrize("types", list(product((F32, F64, WIDE), repeat=3)))
def test_an_exchange_is_wide_enough_for_both_values(types: tuple[Type, Type, Type]) -> None:
    for sources in ((1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
        state: dict[int, object] = {r: (r, 0) for r in range(3)}
        moves = [(r, source, types[source]) for r, source in enumerate(sources)]
        for _destination, source, type_ in moves:
            state[source] = (source, type_.size)
        found = run(sequence([Move(*move) for move in moves], 0), state)
        for destination, source, type_ in moves:
            assert found[destination] == (source, type_.size)


def test_a_source_of_several_moves_reaches_all() -> None:
    expect([(1, 0, I64), (2, 0, I64), (3, 0, I64), (0, 4, I64), (4, 1, I64)])
    expect([(0, 1, I64), (1, 0, I64), (2, 0, I64), (3, 1, I64)])


def test_a_long_cycle_goes_by_way_of_a_free_register_of_its_class() -> None:
    masks = [0b0000_1111, 0b1111_0000]
    for free, via in ((0b0000_1000, 3), (0b1111_1000, 3), (0b1111_0000, -1), (0, -1)):
        code = sequence([Move(0, 1, I64), Move(1, 2, I64), Move(2, 0, I64)], 7, free, masks)
        state: dict[int, object] = {r: (r, 64) for r in range(8)}
        found = run(code, state)
        assert [found[r] for r in (0, 1, 2)] == [(1, 8), (2, 8), (0, 8)]
        assert all(found[r] == state[r] for r in range(3, 8) if r != via)
        assert [instr.op for instr in code] == ([ops.COPY] * 4 if via >= 0 else [ops.SWAP] * 2)
        assert all(instr.line == 7 for instr in code)


def test_a_cycle_of_two_is_exchanged_also_where_a_register_is_free() -> None:
    code = sequence([Move(0, 1, I64), Move(1, 0, I64)], 7, 0b1000, [0b1111])
    assert [(instr.op, instr.args) for instr in code] == [(ops.SWAP, [0, 1])]


def test_two_long_cycles_use_the_free_register_one_after_the_other() -> None:
    moves = [(0, 1), (1, 2), (2, 0), (4, 5), (5, 6), (6, 7), (7, 4)]
    code = sequence([Move(a, b, I64) for a, b in moves], 7, 1 << 9, [(1 << 10) - 1])
    state: dict[int, object] = {r: (r, 64) for r in range(10)}
    found = run(code, state)
    assert all(found[a] == (b, 8) for a, b in moves)
    assert found[3] == state[3] and found[8] == state[8]
    assert len(code) == 3 + 1 + 4 + 1
