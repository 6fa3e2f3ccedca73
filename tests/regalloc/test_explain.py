"""Explanations and pictures of an allocation: they tell of every reference, and what they tell is what happened."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET

import pytest

import loopwright as lw
from loopwright import compiler
from loopwright.corpus import collections, files
from loopwright.ir.parse import parse
from loopwright.regalloc import heuristics
from loopwright.regalloc.explain import FILTER_NAMES, Explanation, explain, register_set
from loopwright.regalloc.heuristics import DEFAULT_ORDER
from loopwright.regalloc.picture import picture
from loopwright.settings import Settings
from loopwright.targets import registry

ORDERS = [DEFAULT_ORDER, "QPONMLKJIHGFEDCBA", "EHPDGAJCBNKOLFIMQ"]


@lw.kernel
def moments(x: lw.Array[lw.f32], out: lw.Array[lw.f32]):
    """Eight of each of three totals: more than there are registers."""
    one = lw.f32(0)
    two = lw.f32(0)
    three = lw.f32(0)
    for i in lw.lanes(len(x), unroll=8):
        v = x[i]
        one += v
        two += v * v
        three += v * v * v
    out[0] = one
    out[1] = two
    out[2] = three


def explained(name: str, target: str, order: str = DEFAULT_ORDER, collection: str = "kernels") -> Explanation:
    if name == "moments":
        machine = registry.get(target)
        return explain(compiler.run_passes(moments.compile(target=target).compiled.source, machine, "select"), machine, order)
    found = files.read(collections.shipped(collection), lambda row: row.name == name and row.target == target).contexts
    context = found[0]
    machine = registry.get(target, context.vector_bits or None, context.convention)
    lowered = compiler.run_passes(parse(context.function, target=machine), machine, "select")
    return explain(lowered, machine, order)


SMALL = ("examples/polynomial:poly 1+2x+x2 f32", "x86-64-v3")
SPILLING = ("moments", "x86-64-v3")
CHECKED = ("demo:largest 5 checked", "x86-64-v4")
ELSEWHERE = ("kernels:matrix_rows 6 f32", "rv64gc")


def test_the_names_of_the_filters_are_those_of_the_filters() -> None:
    assert list(FILTER_NAMES) == sorted(heuristics.FILTERS)
    for letter, function in heuristics.FILTERS.items():
        if function.__doc__ and "\n--\n" not in function.__doc__:
            assert function.__doc__.startswith(f"{letter} {FILTER_NAMES[letter][0]}:")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("case", [SMALL, SPILLING, CHECKED, ELSEWHERE])
def test_what_is_explained_is_what_is_compiled(case: tuple[str, str], order: str) -> None:
    e = explained(*case, order)
    whole = compiler.run_passes(e.lowered, e.target, "allocate", Settings(ordering=order))
    framed = ("prologue", "epilogue", "ret")
    explained_code, compiled_code = ([(i.op.name, i.dst, i.args) for i in f.code if i.op.name not in framed] for f in (e.allocated, whole))
    assert explained_code == compiled_code
    assert f"in the order {order}" in e.text().splitlines()[0]


@pytest.mark.parametrize("case", [SMALL, SPILLING, CHECKED, ELSEWHERE])
def test_every_reference_is_told_of(case: tuple[str, str]) -> None:
    e = explained(*case)
    f = e.lowered
    told: dict[int, str] = {}
    at = -1
    for line in e.text().splitlines():
        number = re.match(r" *(\d+)  ", line)
        if number and not line.startswith("         "):
            at = int(number[1]) // 2
            told[at] = ""
        elif at >= 0:
            told[at] += line + "\n"
    for k, instr in enumerate(f.code):
        for v in instr.args:
            if 0 <= v < len(f.types):
                assert e.name(v) + " " in told[k], (k, v)
        if 0 <= instr.dst < len(f.types) and not e.liveness.dead[k]:
            assert f"result {e.name(instr.dst)} -> " in told[k], (k, instr.dst)


def test_each_decision_names_its_filters_with_the_candidates_before_and_after() -> None:
    for case in (SMALL, SPILLING, CHECKED):
        e = explained(*case)
        for decision in e.history.decisions:
            before = decision.candidates
            for letter, start, end in decision.steps:
                assert letter in FILTER_NAMES
                assert start == before and end and end != start and end & start == end
                before = end
            if decision.chosen >= 0 and decision.steps and not decision.reason:
                assert before == 1 << decision.chosen
    text = explained(*SPILLING).text()
    assert re.search(r"decided by N SPILL_COST\n +N SPILL_COST +[\w -]+ => zmm\d+\n +spills %\S+, which costs [\d.]+; staying in memory would have cost", text)
    assert "decided by M REG_ORDER" in text and "keep the candidates that" in text


def test_a_value_is_told_to_be_where_it_is_put() -> None:
    for case in (SMALL, SPILLING, ELSEWHERE):
        e = explained(*case)
        told = re.findall(r"^ +(?:result|use) (\S+) -> (\S+?)(?::|$)", e.text(), re.MULTILINE)
        assert told
        registers = {(e.name(stay.value), e.target.registers[stay.register].name) for stay in e.stays()}
        spilled = {e.name(spill.value) for spill in e.spills}
        assert all(name in spilled if where == "memory" else (name, where) in registers for name, where in told)


def test_the_costs_of_the_spilled_values_add_up_to_the_weight_of_the_whole() -> None:
    e = explained(*SPILLING)
    assert e.statistics.spilled == len(e.spills) > 0
    assert sum(spill.stores for spill in e.spills) == e.statistics.stores
    assert sum(spill.weight for spill in e.spills) == pytest.approx(e.statistics.spill_weight)
    text = e.text()
    for spill in e.spills:
        assert re.search(rf"^{re.escape(e.name(spill.value))} +{spill.stores} +{spill.reads} +{spill.weight:g}$", text, re.MULTILINE)
    assert [spill.weight for spill in e.spills] == sorted((spill.weight for spill in e.spills), reverse=True)
    assert not explained(*SMALL).spills


def test_no_register_holds_two_values_at_once() -> None:
    for case in (SMALL, SPILLING, CHECKED, ELSEWHERE):
        by_register: dict[int, list[tuple[int, int, int]]] = {}
        for stay in explained(*case).stays():
            by_register.setdefault(stay.register, []).append((stay.start, stay.end, stay.value))
        for stays in by_register.values():
            stays.sort()
            for (_, end, _), (start, _, _) in itertools.pairwise(stays):
                assert start >= end


def test_sets_of_registers_are_short_and_complete() -> None:
    target = registry.get("x86-64-v4")
    number = {register.name: r for r, register in enumerate(target.registers)}

    def written(*names: str) -> str:
        return register_set(target, sum(1 << number[name] for name in names))

    assert written("rax", "rcx") == "rax rcx"
    assert written("r8", "r9", "r10", "r12") == "r8-r10 r12"
    assert written("r8", "r9") == "r8 r9"
    assert written(*(f"zmm{n}" for n in range(32))) == "zmm0-zmm31"
    assert written() == ""


# --- the picture ----------------------------------------------------------------------------------------------


def drawings(page: str) -> list[ET.Element]:
    return [ET.fromstring(text) for text in re.findall(r"<svg xmlns.*?</svg>", page, re.DOTALL)]


@pytest.mark.parametrize("case", [SMALL, SPILLING, CHECKED, ELSEWHERE])
def test_the_picture_has_names_axis_loops_bars_and_titles(case: tuple[str, str]) -> None:
    e = explained(*case)
    page = picture(e)
    assert page.startswith("<!doctype html>")
    names, drawn = drawings(page)
    assert names.get("height") == drawn.get("height")
    space = "{http://www.w3.org/2000/svg}"
    labels = [text.text for text in names.iter(f"{space}text")]
    titles = [title.text or "" for title in drawn.iter(f"{space}title")]
    assert labels[0] == "position"
    assert [text.text for text in drawn.iter(f"{space}text")].count("0") == 1
    assert {e.target.registers[stay.register].name for stay in e.stays()} <= set(labels)
    assert sum(title.startswith("loop, depth ") for title in titles) == len(e.liveness.loops) > 0
    assert sum(" in " in title and "memory" not in title and title.startswith("%") for title in titles) == len(e.stays())
    # An instruction at every position, under the mouse.
    assert sum(re.match(r"\d+: ", title) is not None for title in titles) == len(e.lowered.code)
    assert sum("goes to memory" in title for title in titles) == len(e.history.spills)
    width = float(drawn.get("width") or 0)
    for box in drawn.iter(f"{space}rect"):
        assert float(box.get("x", "0")) >= 0 and float(box.get("x", "0")) + float(box.get("width", "0")) <= width + 0.1
        assert float(box.get("y", "0")) + float(box.get("height", "0")) <= float(drawn.get("height") or 0) + 0.1


def test_the_page_says_what_the_marks_mean_and_has_the_words_too() -> None:
    e = explained(*SPILLING)
    spilling = picture(e)
    assert "it is in memory alone" in spilling and e.summary() in spilling
    assert "decided by" in spilling
    assert "it is in memory alone" not in picture(explained(*SMALL))
