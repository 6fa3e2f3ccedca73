"""``code.nests()``: what is known of loop nests, what was done with them, and for every reason why not more, a sentence with its line."""

from __future__ import annotations

import ctypes
import linecache
import re
from html import escape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.end_to_end.test_loop_nests import both, clipped, gauss_seidel, prefix, product, slanted, table

import loopwright as lw
from loopwright import cli
from loopwright.ir.parse import parse
from loopwright.ir.schedule import parse_steps
from loopwright.nests.reporting.nest_report import NestReport
from loopwright.steps import unroll_and_jam

V3 = "x86-64-v3"


def nest(kernel: Any, *signature: Any, **settings: Any) -> NestReport:
    return kernel.compile(*signature, target=V3, **settings).nests()[0]


def line(kernel: Any, text: str) -> int:
    """The line of a kernel that a piece of its text is in."""
    code = kernel.function.__code__
    source = linecache.getlines(code.co_filename)
    return next(n for n in range(code.co_firstlineno, len(source) + 1) if text in source[n - 1])


def test_loops_dependences_bounds_and_candidates() -> None:
    made = nest(both)
    assert [(loop.name, loop.first, loop.last, loop.step) for loop in made.loops] == [("i", "1", "a.shape[0]", 1), ("j", "1", "a.shape[1]", 1)]
    assert [(d.kind, d.array, d.sink, d.distance, d.told) for d in made.dependences] == [
        ("flow", "a", "a[i, j - 1]", (0, 1), True),
        ("flow", "a", "a[i - 1, j]", (1, 0), True),
    ]
    assert made.dependences[0].source_line == made.dependences[0].sink_line == line(both, "sqrt")
    assert made.bounds is not None
    # A product and a square root wait for each other; the divider is busy for the square root.
    assert (made.bounds.resource, made.bounds.unit, made.bounds.recurrence) == (9, "divide", 22)
    assert [name for name, _ in made.bounds.circuit] == ["load.f64", "mul.f64", "sqrt.f64", "store.f64"]
    cycles = {c.step: round(c.cycles, 2) for c in made.candidates}
    assert [cycles[f"unroll_and_jam(i={factor})"] for factor in (2, 3, 4)] == [14.67, 9.78, 9.0]
    assert [cycles[f"skew(i={rows}, slant=1, lanes=4)"] for rows in (4, 8, 12)] == [6.53, 3.33, 2.37]
    assert made.done == ["skew(i=12, slant=1, lanes=4)"] == [c.step for c in made.candidates if c.chosen]
    assert min(c.cycles for c in made.candidates if c.refusal is None) == 2.371
    assert made.carried and not made.lanes and not made.kept


def test_what_is_done_is_what_the_compiler_does() -> None:
    """The report is made of the same decisions as the code."""
    for kernel in (both, gauss_seidel, slanted, product, table, clipped, prefix):
        # (A machine whose vectors are too short for diagonals of doubles.)
        code = kernel.compile(target="aarch64-neon")
        made = code.nests()[0]
        text = code.ir("nests")
        if any(step.startswith("skew") or "panels" in step for step in made.done):
            assert "local" in text
            continue
        assert ("lanes" in text) == bool(made.lanes)
        if made.done and made.done[-1].startswith("unroll("):
            assert text.count("store") > code.ir("promote").count("store")
            continue
        jams = [step for step in made.done if step.startswith("unroll_and_jam")]
        assert text.count(" = for ") == code.ir("promote").count(" = for ") * (2 if jams else 1) + (len(made.loops) if made.asked else 0)


@lw.kernel(contract=False)
def columns(a: lw.Array[lw.f64, 2]):
    for j in lw.range(1, a.shape[1]):
        for i in lw.range(a.shape[0]):
            a[i, j] = lw.sqrt(a[i, j - 1])


def test_what_was_done_can_be_said_by_hand() -> None:
    """The report's steps, given to ``kernel.schedule``, make the same code. (There is no step for panels.)"""
    for kernel in (both, gauss_seidel, slanted, columns):
        code = kernel.compile(target=V3)
        done = code.nests()[0].done
        assert done
        again = kernel.schedule(*[step for text in done for step in parse_steps(text)]).compile(target=V3)
        assert again.bytes == code.bytes, done
    assert columns.compile(target=V3).nests()[0].done[0] == "interchange(j, i)"


@lw.kernel
def in_steps(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2], steps: lw.i64):
    for _step in lw.range(steps):
        for i in lw.range(1, a.shape[0] - 1):
            for j in lw.range(a.shape[1]):
                b[i, j] = a[i - 1, j] + a[i + 1, j]
        for i in lw.range(1, a.shape[0] - 1):
            for j in lw.range(a.shape[1]):
                a[i, j] = b[i, j]


def test_steps_over_time_in_tiles() -> None:
    assert nest(in_steps).done == ["lanes(j)", "lanes(j)", "several steps of _step in tiles, where arrays are larger than the cache"]


def test_a_dependence_that_forbids_jamming_is_named() -> None:
    made = nest(steep)
    (candidate,) = made.candidates
    assert candidate.refusal is not None and candidate.refusal.dependence is not None
    assert candidate.refusal.dependence.distance == (1, -7)
    assert "(1, -7)" in str(candidate) and f"line {line(steep, 'sqrt')}" in str(candidate)


@lw.kernel
def steep(a: lw.Array[lw.f64, 2]):
    for i in lw.range(1, a.shape[0]):
        for j in lw.range(1, a.shape[1] - 7):
            a[i, j] = lw.sqrt(a[i, j - 1] * a[i - 1, j + 7])


def test_lanes_and_the_question_whether_arrays_overlap() -> None:
    made = nest(product)
    assert made.lanes == "j"
    assert made.asked == [("c", "a"), ("c", "b")]
    assert {name: refusal.because for name, refusal in made.not_lanes} == {
        "i": "a[i, k] is not the next element in the next iteration of i",
        "k": "the total s would be added up in another order, which rounds differently",
    }


@lw.kernel
def leaves_early(a: lw.Array[lw.f64, 2]):
    for i in lw.range(a.shape[0]):
        for j in lw.range(1, a.shape[1]):
            if a[i, j] < 0.0:
                break
            a[i, j] = a[i, j - 1]


def test_an_early_exit() -> None:
    made = nest(leaves_early)
    assert [(str(refusal), refusal.line) for refusal in made.kept] == [
        (f"leaves a loop early (line {line(leaves_early, 'break')})", line(leaves_early, "break"))
    ]
    assert "leaves a loop early" in str(made) and "nothing: it runs as written" in str(made)


@ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
def half(x: float) -> float:
    return x / 2


@lw.kernel
def calls(a: lw.Array[lw.f64, 2]):
    for i in lw.range(a.shape[0]):
        for j in lw.range(1, a.shape[1]):
            a[i, j] = lw.call(half, a[i, j - 1])


def test_a_variable_read_behind_the_loop_that_alone_writes_it() -> None:
    text = """
    function k(%a: ptr, %a.n0: i64) -> f64
      option nests
      array a: f64[%a.n0] at %a written
      var %v: f64
      %i = for 0, %a.n0, 1
        %1 = load.f64 a[%i]
        %v = mul.f64 %1, 2.0
        %2 = add.f64 %v, 1.0
        store.f64 %2, a[%i]
      end
      ret %v
    end
    """
    (refusal,) = [refusal for _, refusal in lw.parse(text).compile(target=V3).nests()[0].not_lanes]
    assert refusal.because == "v is read after the loop over i"


def test_a_call() -> None:
    (refusal,) = nest(calls).kept
    assert refusal.because.startswith("calls ") and refusal.line == line(calls, "lw.call")


@lw.kernel
def scattered(a: lw.Array[lw.f64], p: lw.Array[lw.i64], x: lw.Array[lw.f64]):
    for i in lw.range(len(x)):
        a[p[i]] = x[i]


def test_an_index_through_an_array() -> None:
    made = nest(scattered)
    assert [(name, refusal.because) for name, refusal in made.not_lanes] == [("i", "a is accessed at an index that comes from an array")]
    assert not made.done and any(not d.told for d in made.dependences)


@lw.kernel
def gathered(a: lw.Array[lw.f64], p: lw.Array[lw.i64], x: lw.Array[lw.f64]):
    for i in lw.range(len(x)):
        a[i] = x[p[i]]


def test_a_load_through_an_array() -> None:
    ((name, refusal),) = gathered.compile(target="aarch64-neon").nests()[0].not_lanes
    assert name == "i" and refusal.because == "x is accessed at an index that comes from an array"
    assert not nest(gathered).not_lanes


@lw.kernel
def steps_unknown(a: lw.Array[lw.f64, 2]):
    for i in lw.range(1, a.shape[0]):
        j = lw.i64(1)
        while j < a.shape[1]:
            a[i, j] = lw.sqrt(a[i, j - 1])
            j += i


def test_unknown_steps() -> None:
    made = nest(steps_unknown)
    assert "its steps are not known" in [refusal.because for _, refusal in made.not_lanes]
    assert "as many times as it turns out" in str(made)


@lw.kernel
def in_lanes(a: lw.Array[lw.f64, 2]):
    for i in lw.range(a.shape[0]):
        for j in lw.lanes(a.shape[1]):
            a[i, j] = a[i, j] + 1.0


@lw.kernel(nests="off")
def off(a: lw.Array[lw.f64, 2]):
    for i in lw.range(1, a.shape[0]):
        for j in lw.range(1, a.shape[1]):
            a[i, j] = lw.sqrt(a[i, j - 1] * a[i - 1, j])


def test_reasons_that_hold_for_the_whole_function() -> None:
    assert in_lanes.compile(target=V3).nests().because == "the function has a loop over lanes, whose order is its own"
    assert off.compile(target=V3).nests().because == 'it is not allowed (nests="off", or text without `option nests`)'
    assert not both.compile(target=V3, check=True).nests().because
    assert "nothing is known of the core of rv64gc" in str(both.compile(target="rv64gc").nests())
    # What is known of the loops is there all the same.
    assert [d.distance for d in off.compile(target=V3).nests()[0].dependences] == [(0, 1), (1, 0)]


def test_a_report_is_a_sequence_of_nests() -> None:
    report = both.compile(target=V3).nests()
    assert len(report) == 1
    assert [nest is report[0] for nest in report] == [True]


@lw.kernel
def many(a: lw.Array[lw.f64], n: lw.i64):
    for i in lw.range(1, n):
        for j in lw.range(1, n):
            a[i * 9 + j] = (
                a[i * 7 + j] + a[i * 6 + j] + a[i * 5 + j] + a[i * 4 + j] + a[i * 3 + j] + a[i * 2 + j]
                + a[i * 17 + j] + a[i * 16 + j] + a[i * 15 + j] + a[i * 14 + j] + a[i * 13 + j] + a[i * 12 + j]
                + a[i * 27 + j] + a[i * 26 + j] + a[i * 25 + j] + a[i * 24 + j] + a[i * 23 + j] + a[i * 22 + j]
                + a[i * 37 + j] + a[i * 36 + j] + a[i * 35 + j] + a[i * 34 + j] + a[i * 33 + j] + a[i * 32 + j]
                + a[i * 47 + j] + a[i * 46 + j] + a[i * 45 + j] + a[i * 44 + j] + a[i * 43 + j] + a[i * 42 + j]
                + a[i * 57 + j] + a[i * 56 + j] + a[i * 55 + j] + a[i * 54 + j] + a[i * 53 + j] + a[i * 52 + j]
                + a[i * 67 + j] + a[i * 66 + j] + a[i * 65 + j] + a[i * 64 + j] + a[i * 63 + j] + a[i * 62 + j]
            )  # fmt: skip


def test_too_many_questions() -> None:
    assert "too many to tell apart" in nest(many).kept[0].because


def test_text_of_a_later_stage_has_been_looked_at() -> None:
    text = both.compile(target=V3).ir("nests")
    code = parse(text)
    with pytest.raises(lw.TargetError, match="its nests were looked at before"):
        lw.parse(text).compile(target=V3).nests()
    assert code.stage == "nests"


def test_asking_changes_nothing() -> None:
    code = both.compile(target=V3)
    before = code.bytes
    str(code.nests())
    assert code.bytes == before == both.compile(target=V3).bytes
    a = np.random.default_rng(1).random((20, 20))
    b = a.copy()
    if code.address:
        code(a)
        both.function(b)
        assert (a == b).all()


SVG = re.compile(r"<svg.*?</svg>", re.DOTALL)


def pictures(report: Any) -> list[ElementTree.Element]:
    page = report.page()
    assert page.startswith("<!doctype html>") and page.count("<table>") == page.count("</table>")
    return [ElementTree.fromstring(text.replace(' xmlns="http://www.w3.org/2000/svg"', "")) for text in SVG.findall(page)]


def lines(picture: ElementTree.Element, head: str) -> list[tuple[int, int]]:
    """The arrows with such a head, as columns and rows that they go."""
    found = [line for line in picture.iter("line") if line.get("marker-end") == f"url(#{head})"]
    return [(int((float(a.get("x2")) - float(a.get("x1"))) / 44), int((float(a.get("y2")) - float(a.get("y1"))) / 44)) for a in found]  # type: ignore[arg-type]


def test_the_page_draws_dependences_and_what_runs_together() -> None:
    space, bars, units = pictures(both.schedule(unroll_and_jam(i=4)).compile(target=V3).nests())
    assert sorted(lines(space, "head")) == [(0, 1), (1, 0)] and not lines(space, "refused")
    (together,) = [rect for rect in space.iter("rect") if rect.find("title") is not None]
    assert (together.get("width"), together.get("height")) == ("30", str(3 * 44 + 30))
    assert [text.text for text in bars.iter("text")] == ["units (divide)", "9", "circuit", "22"]
    # Four square roots of nine cycles each.
    assert len([rect for rect in units.iter("rect") if (rect.find("title") is not None) and "sqrt" in str(rect.find("title").text)]) == 36  # type: ignore[union-attr]


def test_the_page_has_a_reservation_table() -> None:
    """A schedule's: no unit is taken twice in a cycle, and what it takes long is in cycles that follow each other, modulo the interval."""
    report = both.schedule(unroll_and_jam(i=4)).compile(target=V3).nests()
    _, _, units = pictures(report)
    (interval,) = re.findall(r"in each (\d+) cycles", report.page())
    cells: dict[tuple[str, str], int] = {}
    columns: dict[str, list[int]] = {}
    for rect in units.iter("rect"):
        place = str(rect.get("x")), str(rect.get("y"))
        assert cells.setdefault(place, 0) == 0
        cells[place] = 1
        title = rect.find("title")
        assert title is not None and title.text is not None
        assert ", stage " in title.text
        if title.text.startswith("sqrt"):
            columns.setdefault(title.text, []).append((int(place[0]) - 82) // 16)
    assert int(interval) >= 36 and len(columns) == 4
    for taken in columns.values():
        assert any(sorted((c - start) % int(interval) for c in taken) == list(range(9)) for start in taken)


def test_the_picture_of_one_nest_stands_alone() -> None:
    report = both.compile(target=V3).nests()
    picture = report[0].picture()
    assert picture in report.page() and ElementTree.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"


def test_the_page_marks_what_was_in_the_way() -> None:
    space = pictures(steep.compile(target=V3).nests())[0]
    assert lines(space, "head") == [(1, 0)] and lines(space, "refused") == [(-7, 1)]


def test_the_page_draws_diagonals() -> None:
    space, bars, _ = pictures(slanted.compile(target=V3).nests())
    (together,) = [line for line in space.iter("line") if line.find("title") is not None and line.find("title").text == "run together"]  # type: ignore[union-attr]
    # Each row two iterations behind the one above.
    assert int(together.get("x1", "")) - int(together.get("x2", "")) == 2 * (int(together.get("y2", "")) - int(together.get("y1", "")))
    assert [text.text for text in bars.iter("text")][-2:] == ["as rewritten", "2.492"]


def test_the_page_of_whatever_there_is() -> None:
    for kernel in (product, table, clipped, prefix, in_lanes, off, leaves_early, scattered, steps_unknown, many):
        report = kernel.compile(target=V3).nests()
        assert len(pictures(report)) >= 1
        assert all(escape(line) in report.page() for line in str(report).splitlines())

    @lw.kernel
    def nothing(x: lw.f64) -> lw.f64:
        return x + 1.0

    report = nothing.compile(target=V3).nests()
    assert not pictures(report) and "There are no loops" in report.page() and "no nests of loops" in str(report)


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "nests.html"
    assert cli.main(["show", "examples/selection_sort.py:selection_sort", "--nests-page", str(file)]) == 0
    assert "over i, j" in file.read_text(encoding="utf-8") and str(file) in capsys.readouterr().err
    assert cli.main(["show", "examples/selection_sort.py:selection_sort", "--nests-page", str(tmp_path / "no" / "x.html")]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_the_command_takes_steps(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["show", "examples/gauss_seidel.py:relax", "--target", V3, "--schedule"]
    assert cli.main([*asked, "tile(i=8, j=8)", "--nests"]) == 0
    assert "done\n    tile(i=8, j=8)\n" in capsys.readouterr().out
    assert cli.main([*asked, "interchange(i, k)"]) == 1
    assert "there is no loop over k" in capsys.readouterr().err
    assert cli.main([*asked, "i=4"]) == 1
    assert "is no step of a schedule" in capsys.readouterr().err


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", "examples/selection_sort.py:selection_sort", "--nests"]) == 0
    assert "over i, j" in capsys.readouterr().out
    assert cli.main(["show", "examples/selection_sort.py:selection_sort", "--nests", "--after", "select"]) == 1
    assert "leave --after out" in capsys.readouterr().err


def test_loops_without_names_in_another_order() -> None:
    @lw.kernel
    def nest(a: lw.Array) -> None:
        for _ in range(a.shape[0]):
            for k in range(8):
                a[1, k] *= 3

    given = np.ones((3, 8))
    assert "nest of line" in str(nest.compile(given).nests())
    nest(given)
    assert (given[1] == 27).all() and (given[0] == 1).all()
