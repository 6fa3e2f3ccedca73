"""Published orders, the split into training and held-out functions, the rule for single functions, and the report."""

from __future__ import annotations

import json
import math
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from loopwright import compiler
from loopwright.corpus import files, programs
from loopwright.corpus.recording import context_of
from loopwright.errors import LoopwrightError
from loopwright.regalloc.heuristics import DEFAULT_ORDER, canonical
from loopwright.search import orders, report
from loopwright.search.command import tune_command
from loopwright.search.orders import FEATURES, PUBLISHED, Branch, Leaf, Rule, few, rule_source, train
from loopwright.targets import registry

WIDTH = len(FEATURES)


def test_published_orders_are_permutations() -> None:
    assert all(sorted(order) == sorted(DEFAULT_ORDER) for order in PUBLISHED.values())
    assert len({canonical(order) for order in PUBLISHED.values()}) == len(PUBLISHED) == 7


def test_a_third_is_held_out_and_the_same_function_is_on_one_side_for_every_target() -> None:
    f = programs.make(programs.names(1)[0])
    parts = []
    for n in range(300):
        sides = {orders.held_out(context_of(f, registry.get(target), DEFAULT_ORDER, "programs", f"p{n}")) for target in registry.names()}
        assert len(sides) == 1
        parts.append(sides.pop())
    assert 70 < sum(parts) < 130


def test_few_orders_are_chosen_for_what_they_do_together() -> None:
    losses = [[0.0, 0.0, 0.0, 0.0], [-1.0, -1.0, 0.5, 0.5], [0.5, 0.5, -1.0, -1.0], [-0.6, -0.6, -0.6, -0.6]]
    assert few(losses, 1) == [3]
    assert few(losses, 3)[0] == 3 and set(few(losses, 3)) == {1, 2, 3}
    # One that adds nothing is left out.
    assert few([[0.0, 0.0], [0.0, 0.0]], 2) == [0]


def shapes(count: int) -> list[tuple[int, ...]]:
    return [tuple((n * (feature + 3)) % 11 for feature in range(WIDTH)) for n in range(count)]


def test_a_rule_finds_the_split_that_matters() -> None:
    those = shapes(200)
    vectors = list(FEATURES).index("vectors")
    better = [-0.1 if shape[vectors] > 6 else 0.2 for shape in those]
    rule = train(those, [[0.0] * 200, better], [DEFAULT_ORDER, "EHPDGAJCBNKOLFIMQ"])
    assert isinstance(rule.tree, Branch) and (rule.tree.feature, rule.tree.limit) == (vectors, 6)
    assert {rule.order(shape) for shape in those if shape[vectors] > 6} == {canonical("EHPDGAJCBNKOLFIMQ")}
    assert {rule.order(shape) for shape in those if shape[vectors] <= 6} == {canonical(DEFAULT_ORDER)}


def test_a_rule_needs_two_levels_where_one_split_gains_nothing() -> None:
    those = [tuple((n >> feature) & 1 for feature in range(WIDTH)) for n in range(256)]
    either = [-0.1 if shape[0] != shape[1] else 0.1 for shape in those]
    rule = train(those, [[0.0] * 256, either], [DEFAULT_ORDER, "EHPDGAJCBNKOLFIMQ"])
    assert all((rule.order(shape) == canonical(DEFAULT_ORDER)) == (shape[0] == shape[1]) for shape in those)


def test_nothing_to_gain_is_a_rule_without_branches() -> None:
    those = shapes(50)
    rule = train(those, [[0.0] * 50, [0.01] * 50], [DEFAULT_ORDER, "EHPDGAJCBNKOLFIMQ"])
    assert rule.tree == Leaf(0, 50)
    assert f'    return "{canonical(DEFAULT_ORDER)}"  # the default' in rule_source(rule)


def test_the_printed_rule_is_python_that_decides_as_the_rule_does(tmp_path: Path) -> None:
    names = list(FEATURES)
    published = [canonical(order) for order in PUBLISHED.values()]
    made = programs.names(1)
    for feature in range(WIDTH):
        described = [orders.describe(context_of(programs.make(name), registry.get("x86-64-v3"), DEFAULT_ORDER, "programs", name)) for name in made[:12]]
        limit = sorted(shape[feature] for shape in described)[5]
        rule = Rule(Branch(feature, limit, Leaf(0, 1), Branch((feature + 1) % WIDTH, 3, Leaf(1, 1), Leaf(2, 1))), tuple(published[:3]))
        source = rule_source(rule)
        assert f"if {names[feature]} <= {limit}:" in source
        file = tmp_path / "order_rule.py"
        file.write_text(source)
        space = runpy.run_path(str(file))
        order_for = space["order_for"]
        assert callable(order_for)
        for name, shape in zip(made[:12], described, strict=True):
            f = compiler.run_passes(programs.make(name), registry.get("x86-64-v3"), after="liveness")
            assert order_for(f, f.analysis[0]) == rule.order(shape)


# --- the report ---------------------------------------------------------------------------------------------------


def test_intervals_hold_the_mean_and_narrow_with_the_number_of_functions() -> None:
    logs = [0.01 * math.sin(n) - 0.02 for n in range(40)]
    mean, low, high = report.interval_of(logs)
    assert low < mean < high < 0
    assert mean == pytest.approx(math.expm1(sum(logs) / 40))
    _, narrow_low, narrow_high = report.interval_of(logs * 25)
    assert narrow_high - narrow_low < (high - low) / 3
    assert report.interval_of(logs) == (mean, low, high)


def test_a_change_names_the_best_and_the_worst() -> None:
    change = report.change_of([90.0, 100.0, 105.0, 101.0], [100.0] * 4, ["a", "b", "c", "d"])
    assert (change.better, change.worse, change.beyond) == (1, 2, 1)
    assert (change.best_name, change.worst_name) == ("a", "c")
    assert change.worst == pytest.approx(0.05) and change.best == pytest.approx(-0.1)
    assert report.change_of([math.inf], [1.0], ["lost"]).beyond == 1


def test_a_gain_is_called_one_only_where_it_is_surely_there() -> None:
    names = [str(n) for n in range(40)]

    def told(*logs: float) -> tuple[str, bool]:
        change = report.change_of([math.exp(log) for log in logs * (40 // len(logs))], [1.0] * 40, names)
        return report.verdict(change), report.worth_it(change)

    assert told(0.0) == ("changes nothing", False)
    assert told(0.1, -0.1) == ("may be chance", False)
    assert told(-0.004, -0.006) == ("better, by less than 1 %", False)
    assert told(-0.04, -0.06) == ("better", True)
    assert told(-0.2, -0.2, -0.2, 0.03) == ("better, but 10 worse by > 2 %", False)
    assert told(0.01, 0.02) == ("worse", False)


def test_orders_that_are_alike_share_a_place_and_the_default_is_named_first() -> None:
    def cell(*scores: float) -> report.Change:
        return report.change_of(scores, [1.0, 1.0], ["a", "b"])

    usual = canonical(DEFAULT_ORDER)
    rows = [("one", "HGIDJNLCPOBKAEFMQ"), ("two", usual), ("published: three", "EHPDGAJCBNKOLFIMQ"), ("default", usual)]
    cells = [[cell(1.0, 1.0), cell(0.9, 0.9)], [cell(1.0, 1.0), cell(1.0, 1.0)], [cell(1.1, 1.0), cell(1.2, 1.2)], [cell(1.0, 1.0), cell(1.0, 1.0)]]
    cross = report.Cross(["one", "two"], rows, cells, [[0.0] * 2] * 4)
    assert cross.ranked(0) == [[3, 1, 0], [2]]
    assert cross.ranked(1) == [[0], [3, 1], [2]]
    text = "\n".join(report._cross(cross))
    assert "| one | default; two; and 1 more alike: +0.00 % [+0.00 %, +0.00 %] | published: three:" in text
    assert f"| default | `{DEFAULT_ORDER}` |" in text
    same = report.Cross(["one"], rows[:1], [[cell(1.0, 1.0)]], [[0.0]])
    assert "none: all orders are alike" in "\n".join(report._cross(same))


def small_corpus(path: Path) -> Path:
    contexts = []
    for name in programs.names(1)[:14]:
        f = programs.make(name)
        contexts += [context_of(f, registry.get(target), DEFAULT_ORDER, "", name) for target in ("x86-64-v3", "rv64gc")]
    files.write(path, contexts)
    return path


def test_the_whole_command_writes_a_report_and_says_the_same_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("deap", reason="the genetic search uses DEAP")
    file = small_corpus(tmp_path / "few.lwc")
    out = tmp_path / "out"
    command = [str(file), "-o", str(out), "--cross", "--budget", "40", "--population", "15", "--children", "10", "-j", "1"]
    assert tune_command(command) == 0
    written = (out / "report.md").read_text()
    for words in (
        "few, x86-64-v3",
        "few, rv64gc",
        "random",
        "hill climbing",
        "held out",
        "linux-x64 libraries",
        "first",
        "second",
        "def order_for",
        "no timing tables",
        "so it is",
        "should become the default",
    ):
        assert words in written, words
    found = json.loads((out / "report.json").read_text())
    for one in found["configured"]:
        for result in one["results"].values():
            assert result["known"] <= 40 and result["fitness"] <= 0
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        assert "No plots" in written
    else:
        assert "<svg" in (out / "cross.svg").read_text()
        assert len(list(out.glob("history-*.svg"))) == 2
    first = capsys.readouterr()
    assert "few, rv64gc, genetic" in first.err and "goes on from" not in first.err
    assert tune_command(command) == 0
    assert "goes on from" in capsys.readouterr().err
    again = json.loads((out / "report.json").read_text())
    for one, other in zip(found["configured"], again["configured"], strict=True):
        assert {**one, "rate": 0} == {**other, "rate": 0}


def test_wrong_usage_is_a_clear_error(tmp_path: Path) -> None:
    file = str(small_corpus(tmp_path / "few.lwc"))
    with pytest.raises(LoopwrightError, match="no function of these corpora is for x86-64-v4"):
        tune_command([file, "-o", str(tmp_path), "--target", "x86-64-v4"])
    with pytest.raises(LoopwrightError, match="there is no search 'annealing'"):
        tune_command([file, "-o", str(tmp_path), "--methods", "annealing"])
    with pytest.raises(LoopwrightError, match="too few functions"):
        tune_command([file, "-o", str(tmp_path), "--functions", "1", "-j", "1"])
    with pytest.raises(SystemExit):
        tune_command([file])


def test_importing_the_command_line_loads_no_library() -> None:
    code = "import sys, loopwright.search.command as c; c._parser(); print([m for m in ('deap', 'matplotlib', 'distributed', 'rich', 'sklearn') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
