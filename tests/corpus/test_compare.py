"""Comparing two ways of compiling a corpus."""

from __future__ import annotations

import json
import math
import shutil
import sys
from pathlib import Path

import pytest
from tests.corpus.pressed import totals
from tests.staging import stage

import loopwright as lw
from loopwright.corpus import compare, files
from loopwright.corpus.command import corpus_command
from loopwright.corpus.compare import DIFFERENT, FAILED, MISSING, SAME, Comparison, Pair, geometric_mean, ratio, side_by_side
from loopwright.corpus.files import Context
from loopwright.corpus.recording import context_of
from loopwright.corpus.replay import NOISY, NUMBERS, Result, Setting
from loopwright.errors import TargetError
from loopwright.regalloc.heuristics import DEFAULT_ORDER
from loopwright.targets import registry

# The lowest number whoever is in it: spills where the default does not.
OTHER = "QABCDEFGHIJKLMNOP"

TYPES = (lw.f32, lw.f64, lw.i32, lw.i64, lw.u8, lw.i8, lw.u16, lw.i16, lw.u32)


@lw.kernel
def double(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        y[i] = x[i] + x[i]


@pytest.fixture(scope="module")
def mixed() -> list[Context]:
    """A few functions that orders matter for, in two collections."""
    target = registry.get("x86-64-v3")
    return [context_of(totals(f"t{n}", n).ir, target, DEFAULT_ORDER, "small" if n < 10 else "large") for n in (2, 4, 8, 16, 20, 24)]


def context(name: str, collection: str = "c") -> Context:
    return Context(f"function {name}()\nend\n", "x86-64-v3", 256, "sysv", DEFAULT_ORDER, collection, name)


def result(**numbers: float) -> Result:
    known = dict.fromkeys(NUMBERS, 1.0)
    return Result("c" + str(sorted(numbers.items())), {**known, **numbers})


def comparison(*pairs: tuple[Result, Result], collection: str = "c") -> Comparison:
    about = {"version": "1", "path": "", "scores": True}
    made = [Pair(c := context(f"f{k}", collection), c, base, diff) for k, (base, diff) in enumerate(pairs)]
    return Comparison(Setting(), Setting(), (about, about), made)


# --- ratios and means --------------------------------------------------------------------------------------------


def test_ratios_survive_zeros():
    assert ratio(4, 2) == 0.5
    assert ratio(0, 0) == 1.0
    assert ratio(0, 3) == 4.0
    assert ratio(3, 0) == 0.25
    assert ratio(0, 3) * ratio(3, 0) == 1.0


def test_the_mean_is_geometric():
    assert geometric_mean([]) == 1.0
    assert geometric_mean([2.0, 0.5]) == pytest.approx(1.0)
    assert geometric_mean([1.1, 1.2, 0.9]) == pytest.approx(math.exp((math.log(1.1) + math.log(1.2) + math.log(0.9)) / 3))


def test_a_summary_counts_and_averages():
    made = comparison(
        (result(spills=10), result(spills=5)),
        (result(spills=4), result(spills=8)),
        (result(spills=0), result(spills=0)),
        (result(spills=0), result(spills=1)),
        (result(spills=7), result(spills=7)),
        (Result(error="no"), result(spills=1)),
    )
    found = made.summary("c", "spills")
    assert found is not None
    assert (found.contexts, found.improved, found.regressed, found.base, found.diff, found.zeros) == (5, 1, 2, 21, 21, 1)
    assert found.mean == pytest.approx(2.0 ** (1 / 5))
    assert found.mean_changed == pytest.approx(2.0 ** (1 / 3))
    assert (found.best, found.worst) == (0.5, 2.0)


def test_collections_are_summed_up_apart_and_together():
    one = comparison((result(code_size=10), result(code_size=5)), collection="a")
    one.pairs += comparison((result(code_size=10), result(code_size=20)), collection="b").pairs
    assert one.collections() == ["a", "b"]
    assert [(s.collection, s.base, s.diff) for s in one.summaries() if s.number == "code_size"] == [("a", 10, 5), ("b", 10, 20), ("", 20, 25)]


def test_the_largest_changes_by_size_and_by_ratio():
    made = comparison(
        (result(cycles=1000), result(cycles=900)),  # most cycles less
        (result(cycles=10), result(cycles=2)),  # the smallest part
        (result(cycles=1000), result(cycles=1200)),  # most cycles more
        (result(cycles=3), result(cycles=9)),  # the greatest multiple
        (result(cycles=50), result(cycles=49)),
    )
    found = {change.pair.context.name: change.kinds for change in made.largest("cycles", 1)}
    assert found == {
        "f0": ["largest improvement"],
        "f1": ["largest relative improvement"],
        "f2": ["largest regression"],
        "f3": ["largest relative regression"],
    }
    assert len(made.largest("cycles", 5)) == 5


# --- the status --------------------------------------------------------------------------------------------------


def test_the_status_tells():
    same = (result(), result())
    assert comparison(same).status == SAME
    assert comparison(same, (result(), result(spills=2))).status == DIFFERENT
    assert comparison((result(), result(allocator_time=9.0, compile_time=9.0))).pairs[0].base.numbers["allocator_time"] == 1.0
    noisy = result(allocator_time=9.0)
    noisy.code = same[0].code
    assert comparison((result(), noisy)).status == SAME
    without = result()
    without.numbers["perf_score"] = None
    assert comparison(same, (result(), without)).status == MISSING
    assert comparison((without, without)).status == SAME
    assert comparison(same, (result(), without), (result(), Result(error="no"))).status == FAILED
    assert comparison().status == MISSING
    other = result()
    other.code = "other bytes, same numbers"
    assert comparison((result(), other)).status == DIFFERENT


# --- listings ----------------------------------------------------------------------------------------------------


def test_listings_stand_side_by_side():
    left = Result(listing=[("", text, 0) for text in ("mov eax, 1", "add eax, ebx", "jl 0x10", "ret")])
    right = Result(listing=[("", text, 0) for text in ("mov eax, 1", "sub eax, ebx", "inc ecx", "jl 0x14", "ret")])
    lines = side_by_side(left, right, ("one", "other")).splitlines()
    assert lines[0].split() == ["one", "other"]
    assert [line[12:15].strip() for line in lines[2:]] == ["", "|", ">", "", ""]
    assert lines[3] == "add eax, ebx | sub eax, ebx"
    assert lines[5] == "jl 0x10        jl 0x14"


# --- the whole ---------------------------------------------------------------------------------------------------


def test_the_same_settings_give_the_same_code(mixed):
    made = compare.compare(mixed, Setting(), Setting(ordering=DEFAULT_ORDER), processes=1, turns=5)
    assert made.status == SAME
    # Nor do times differ, however the machine is: what they vary by is no difference.
    for s in made.summaries():
        assert (s.mean, s.improved, s.regressed, s.best, s.worst) == (1.0, 0, 0, 1.0, 1.0), s
        assert s.noise > 1.0 if s.number in NOISY else s.noise == 1.0
    assert all(len(times) == 5 for pair in made.pairs for name in NOISY for times in pair.times(name))
    assert made.largest("compile_time", 3) == []
    assert "within the noise" in made.text()


def test_the_first_of_two_does_not_pay_for_both():
    # Each context is of a shape of its own, whose rules nobody has asked for: the side that is compiled first makes them.
    target = registry.get("x86-64-v4")
    given = [context_of(double.stage(double.signature((lw.Array[t], lw.Array[t]), {})), target, DEFAULT_ORDER, "c") for t in TYPES]
    made = compare.compare(given, Setting(), Setting(), processes=1)
    found = made.summary("c", "compile_time")
    assert found is not None
    assert found.diff / found.base == pytest.approx(1.0, abs=0.5)


def test_a_slower_compiler_is_seen(mixed, tmp_path):
    slow = tmp_path / "site"
    shutil.copytree(Path(lw.__file__).parent, slow / "loopwright", ignore=shutil.ignore_patterns("__pycache__", "*.so", "costs", "corpus", "search"))
    place = slow / "loopwright" / "passes" / "allocate.py"
    place.write_text(place.read_text() + "\n_run = run\n\n\ndef run(f, *rest):\n    for _ in range(len(f.code) * 5000):\n        pass\n    _run(f, *rest)\n")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={slow} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    made = compare.compare(mixed, Setting(), Setting(python=str(python)), processes=1)
    found = made.summary("", "allocator_time")
    assert found is not None and found.mean > 2.0
    assert found.improved == 0


def test_times_taken_once_are_not_compared(mixed):
    made = compare.compare(mixed, Setting(), Setting(), processes=1, turns=1)
    found = made.summary("", "compile_time")
    assert found is not None
    assert (found.mean, found.improved, found.regressed, found.noise) == (1.0, 0, 0, 0.0)
    assert "whether they differ cannot be told" in made.text()


def test_two_orders(mixed):
    made = compare.compare(mixed, Setting(), Setting(ordering=OTHER), processes=2, check=True)
    assert made.status == DIFFERENT
    found = made.summary("large", "spill_weight")
    assert found is not None
    assert found.contexts == 3
    assert found.improved + found.regressed > 0
    largest = made.largest("spill_weight", 2)
    made.add_listings(largest, 1)
    assert largest[0].listing.splitlines()[0].startswith("as recorded")
    assert OTHER in largest[0].listing.splitlines()[0].replace(" ", "")
    text = made.text(largest)
    assert "spill weight" in text
    assert "(all)" in text
    page = made.markdown(largest)
    assert page.startswith("# Comparison")
    assert page.count("\n```") == 2 * len(largest)
    json.dumps(made.json(largest))


def test_two_targets_compare_what_was_recorded_for_each():
    made = []
    for name, bits in (("x86-64-v3", 256), ("x86-64-v4", 512), ("x86-64-v4", 256)):
        target = registry.get(name, bits)
        made.append(context_of(stage(double, double.signature((lw.Array[lw.f32], lw.Array[lw.f32]), {}), bits), target, DEFAULT_ORDER, "c"))
        made.append(context_of(totals("t", 4).ir, target, DEFAULT_ORDER, "c"))
    found = compare.compare(made, Setting(target="x86-64-v3"), Setting(target="x86-64-v4", vector_bits=256), processes=1)
    assert sorted((p.context.name, p.context.target, p.other.target, p.other.vector_bits) for p in found.pairs) == [
        ("double", "x86-64-v3", "x86-64-v4", 256),
        ("t", "x86-64-v3", "x86-64-v4", 256),
    ]
    assert not found.unpaired
    # What is scalar needs no counterpart.
    found = compare.compare(made[:2], Setting(), Setting(target="rv64gc"), processes=1)
    assert [(p.context.name, p.base.error, p.diff.error) for p in found.pairs] == [("t", "", "")]
    assert [c.name for c in found.unpaired] == ["double"]
    assert found.status == MISSING


def test_targets_can_be_named_with_width_and_convention():
    assert Setting.target_of("x86-64-v4/256/win64") == ("x86-64-v4", 256, "win64")
    assert Setting.target_of("x86-64-v3/win64") == ("x86-64-v3", 0, "win64")
    assert Setting(target="x86-64-v4").vector_bits == 512
    for bad in ("x86-64-v9", "x86-64-v3/100", "rv64gc/256"):
        with pytest.raises(TargetError):
            Setting("", *Setting.target_of(bad))
    with pytest.raises(TargetError, match="NAME/BITS/CONVENTION"):
        Setting.target_of("a/1/b/c")
    with pytest.raises(TargetError, match="is not a permutation"):
        Setting(ordering="ABC")


@pytest.fixture
def other_version(tmp_path) -> str:
    """An interpreter whose loopwright is a copy of this one, changed: version 0.0.9, which multiplies instead of shifting."""
    place = tmp_path / "site"
    shutil.copytree(Path(lw.__file__).parent, place / "loopwright", ignore=shutil.ignore_patterns("__pycache__", "*.so", "costs", "corpus", "search"))
    init = place / "loopwright" / "__init__.py"
    init.write_text(init.read_text().replace(f'__version__ = "{lw.__version__}"', '__version__ = "0.0.9"'))
    order = place / "loopwright" / "regalloc" / "heuristics.py"
    order.write_text(order.read_text() + f"\n_plans[DEFAULT_ORDER] = _plans[canonical(DEFAULT_ORDER)] = plan_of({OTHER!r})\n")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={place} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return str(python)


def test_two_installed_versions(mixed, other_version):
    made = compare.compare(mixed, Setting(python=other_version), Setting(), processes=2)
    assert made.about[0]["version"] == "0.0.9"
    assert made.about[1]["version"] == lw.__version__
    assert not any(pair.failed for pair in made.pairs)
    assert any(pair.base.code != pair.diff.code for pair in made.pairs)
    # The changed copy has no scores.
    assert set(made.missing_numbers()) <= {"perf_score", "cycles"}
    largest = made.largest("code_size", 1)
    made.add_listings(largest)
    assert largest
    assert "0.0.9" in made.text(largest) or other_version in made.text(largest)


def test_scores_are_found_where_older_versions_have_them(mixed, other_version, tmp_path):
    older = tmp_path / "site" / "loopwright" / "tuning"
    older.mkdir()
    (older / "__init__.py").touch()
    (older / "perfscore.py").write_text("class Score:\n    perf_score, cycles = 12.5, 3.0\n\n\ndef perf_score(compiled):\n    return Score()\n")
    made = compare.compare(mixed[:2], Setting(python=other_version), Setting(), processes=1, turns=0)
    assert made.about[0]["scores"]
    assert [(pair.base.numbers["perf_score"], pair.base.numbers["cycles"]) for pair in made.pairs] == [(12.5, 3.0)] * 2


def test_the_command_and_its_status(mixed, tmp_path, capsys):
    path = str(tmp_path / "a.lwc")
    files.write(path, mixed)
    assert corpus_command(["diff", path, "-j", "1"]) == SAME
    assert "Both sides give the same code." in capsys.readouterr().out
    page, data = tmp_path / "a.md", tmp_path / "a.json"
    assert (
        corpus_command(["diff", path, "-j", "2", "--ordering", OTHER, "--largest", "1", "--number", "code_size", "--markdown", str(page), "--json", str(data)])
        == DIFFERENT
    )
    assert "contexts differ" in capsys.readouterr().out
    assert "| large | code size, bytes |" in page.read_text()
    found = json.loads(data.read_text())
    assert found["status"] == DIFFERENT
    assert len(found["contexts"]) == len(mixed)
    assert found["diff"]["ordering"] == OTHER
    assert found["largest"][0]["listing"]["base"]
    assert corpus_command(["diff", path, "--name", "nothing"]) == MISSING
    files.append(path, [Context("function f(", "x86-64-v3", 256, "sysv", DEFAULT_ORDER, "c", "bad", "1")])
    # What this version cannot read is a failure, not an obstacle.
    assert corpus_command(["diff", path, "-j", "1", "--largest", "0"]) == FAILED
    assert "ParseError" in capsys.readouterr().out
    assert corpus_command(["strip", path]) == 0
    assert corpus_command(["diff", path, "-j", "1"]) == SAME


def test_the_command_reports_failures(mixed, tmp_path, capsys):
    path = str(tmp_path / "a.lwc")
    target = registry.get("x86-64-v3")
    wide = context_of(stage(double, double.signature((lw.Array[lw.f32], lw.Array[lw.f32]), {}), 512), target, DEFAULT_ORDER, "c", "too wide")
    files.write(path, [*mixed, wide])
    assert corpus_command(["diff", path, "-j", "1", "--ordering", OTHER, "--largest", "0"]) == FAILED
    out = capsys.readouterr().out
    assert "1 failed to compile" in out
    assert "too wide" in out


def test_wrong_usage_is_a_clear_error(tmp_path):
    path = str(tmp_path / "a.lwc")
    files.write(path, [])
    with pytest.raises(lw.LoopwrightError, match="there is no number 'speed'; there are code_size"):
        corpus_command(["diff", path, "--number", "speed"])
    with pytest.raises(TargetError, match="is not a permutation"):
        corpus_command(["diff", path, "--ordering", "XYZ"])
    with pytest.raises(TargetError, match="unknown target"):
        corpus_command(["diff", path, "--target", "vax"])
    with pytest.raises(lw.LoopwrightError, match="cannot be read"):
        corpus_command(["diff", str(tmp_path / "b.lwc")])
