"""The command line: what each command prints, and that errors are one clear message and an exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import loopwright as lw
from loopwright.cli import find, load, main, parse_signature
from loopwright.errors import LoopwrightError
from loopwright.passes.pipeline import CPU
from loopwright.targets import registry
from loopwright.targets.pipeline import names_of

ROOT = Path(__file__).parents[1]
SUM = f"{ROOT}/examples/sum_of_two.py"
SORT = f"{ROOT}/examples/selection_sort.py:selection_sort"
POLY = f"{ROOT}/examples/polynomial.py:poly"


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "loopwright", *arguments], capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **variables}
    )


# --- signatures ----------------------------------------------------------------------------------------------


def test_a_signature_has_scalars_arrays_and_python_values() -> None:
    positional, named = parse_signature(["f32[]", "u8[,]", "i64", "3", "(1.0, 2.0)", "coeffs=(1.0,-2.0)", "x=f64[,,]"])
    assert positional == [lw.Array[lw.f32], lw.Array[lw.u8, 2], lw.i64, 3, (1.0, 2.0)]
    assert named == {"coeffs": (1.0, -2.0), "x": lw.Array[lw.f64, 3]}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["f33[]"], "f33"),
        (["f32["], "neither a type"),
        (["open('x')"], "neither a type"),
        (["x=f32", "i64"], "follows a named"),
        (["x=f32", "x=i64"], "twice"),
    ],
)
def test_a_wrong_signature_is_named(words: list[str], message: str) -> None:
    with pytest.raises(LoopwrightError, match=message):
        parse_signature(words)


# --- finding kernels -----------------------------------------------------------------------------------------


def test_a_kernel_and_a_built_function_are_found() -> None:
    assert find(f"{SUM}:add") is not None
    assert isinstance(find(f"{SUM}:built"), lw.Function)


def test_a_missing_kernel_is_answered_with_those_there_are() -> None:
    with pytest.raises(LoopwrightError, match=r"no kernel 'nothing'; it has add, built, mean"):
        find(f"{SUM}:nothing")
    with pytest.raises(LoopwrightError, match="FILE:KERNEL"):
        find("add")
    with pytest.raises(LoopwrightError, match="no file"):
        find("/nowhere/file.py:add")


def test_a_file_that_fails_says_how(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("1 / 0\n")
    with pytest.raises(LoopwrightError, match="ZeroDivisionError"):
        load(tmp_path / "broken.py")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("ends.py", "import sys; sys.exit(3)", "running .* ended in SystemExit: 3"),
        ("ends.py", "class Odd(BaseException): pass\nraise Odd('so')", "running .* ended in Odd: so"),
        ("wrong.py", "def f(:", "running .* ended in SyntaxError"),
        ("wrong.py", "x = '\udcff'", "running .* ended in SyntaxError"),
        ("wrong.txt", "", "is not a Python file: its name does not end in .py"),
        ("own.py", "import loopwright as lw\nraise lw.TargetError('of its own')", "^of its own$"),
    ],
)
def test_a_file_that_cannot_be_run_says_why(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, errors="surrogateescape")
    with pytest.raises(LoopwrightError, match=message):
        find(f"{tmp_path / name}:k")
    with pytest.raises(LoopwrightError, match="is a directory"):
        find(f"{tmp_path}:k")


def test_a_file_called_like_a_module_does_not_take_its_place(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("import loopwright as lw\n@lw.kernel\ndef k(a: lw.i64) -> lw.i64:\n    return a\n")
    before = sys.modules["json"]
    assert isinstance(find(f"{tmp_path / 'json.py'}:k"), lw.Kernel)
    assert sys.modules["json"] is before


@pytest.mark.parametrize("word", ["[" * 5000, "9" * 6000, "-" * 20000 + "1", "{[]: 1}", "(" * 300 + "1" + ")" * 300, "\x00"])
def test_a_word_that_is_no_value_is_shown_in_part(word: str) -> None:
    with pytest.raises(LoopwrightError, match="neither a type") as caught:
        parse_signature([word])
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("reference", "words", "message"),
    [
        (POLY, ["f32[]", "f32[]", "coeffs=(1.0,)", "target=3"], "has no parameter target: it has x, y, coeffs"),
        (f"{SUM}:built", ["i64"], "is a lw.Function, which has the types of its parameters: leave the signature out"),
        (f"{SUM}:built", ["a=i64"], "is a lw.Function, which has the types of its parameters: leave the signature out"),
    ],
)
def test_a_signature_says_nothing_but_types_and_values(reference: str, words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", reference, "--target", "x86-64-v3", "--", *words]) == 1
    assert message in capsys.readouterr().err


# --- output that goes nowhere ----------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("command", [["passes"], ["corpus", "list", "kernels"]])
def test_a_full_disk_is_one_line_of_error(command: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "loopwright", *command], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (1, "loopwright: the output cannot be written: No space left on device\n")


@pytest.mark.parametrize("command", [["passes"], ["corpus", "list", "kernels", "--json"], ["show", SORT, "--", "i32[]"]])
def test_a_reader_that_has_seen_enough_is_no_error(command: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run([sys.executable, "-m", "loopwright", *command], stdout=write, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_without_the_letters(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("import loopwright as lw\n@lw.kernel\ndef größe(ä: lw.i64) -> lw.i64:\n    return ä + 1\n", encoding="utf-8")
    done = run("show", f"{tmp_path / 'kernel.py'}:größe", "--target", "x86-64-v3", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert "gr\\xf6\\xdfe" in done.stdout


@pytest.mark.parametrize(
    "command",
    [
        ["timing", "--rounds", "0", "--measure"],
        ["timing", "--rounds", "many"],
        ["tune", "-o", "x", "--budget", "-1"],
        ["tune", "-o", "x", "--mutation", "much"],
        ["tune", "-o", "x", "--penalty", "nan"],
    ],
)
def test_numbers_that_are_none_are_wrong_usage(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(command)
    assert caught.value.code == 2
    assert "is needed, not" in capsys.readouterr().err


# --- show ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", names_of(CPU))
def test_show_prints_every_stage(stage: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", POLY, "--after", stage, "--target", "x86-64-v3", "--", "f32[]", "f32[]", "coeffs=(1.0,2.0,1.0)"]) == 0
    assert "poly" in capsys.readouterr().out


def test_show_prints_a_listing_with_bytes_instructions_and_the_python_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", POLY, "--target", "x86-64-v3", "--", "f32[]", "f32[]", "coeffs=(1.0,2.0,1.0)"]) == 0
    printed = capsys.readouterr().out
    assert "c3" in printed and "ret" in printed
    assert "vfmadd" in printed
    assert "y[i] = horner(coeffs, x[i])" in printed


@pytest.mark.parametrize("target", registry.names())
def test_show_compiles_for_machines_that_are_not_here(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", SORT, "--target", target, "--", "i32[]"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"; selection_sort, {target}, ") and len(printed.splitlines()) > 20


def test_show_needs_no_signature_where_annotations_say_it_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", f"{SUM}:add", "--target", "x86-64-v3"]) == 0
    assert "ret" in capsys.readouterr().out
    assert main(["show", f"{SUM}:built", "--target", "x86-64-v3"]) == 0
    assert "ret" in capsys.readouterr().out


def test_show_takes_options_of_the_compiler(capsys: pytest.CaptureFixture[str]) -> None:
    signature = ["--", "f32[]", "f32[]", "coeffs=(0.5,2.0)"]
    assert main(["show", POLY, "--target", "x86-64-v4", "--vector-bits", "256", *signature]) == 0
    narrow = capsys.readouterr().out
    assert "ymm" in narrow and "zmm" not in narrow
    assert main(["show", POLY, "--target", "x86-64-v4", "--vector-bits", "512", *signature]) == 0
    assert "zmm" in capsys.readouterr().out
    assert main(["show", POLY, "--target", "x86-64-v3", "--ordering", "QPONMLKJIHGFEDCBA", *signature]) == 0
    capsys.readouterr()
    assert main(["show", POLY, "--after", "collect", "--check", "--target", "x86-64-v3", *signature]) == 0
    assert "fail" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", POLY, "--after", "nothing"], "there is no pass 'nothing'"),
        (["show", POLY, "--target", "z80", "--", "f32[]", "f32[]", "(1.0,)"], "z80"),
        (["show", POLY, "--ordering", "AAB", "--", "f32[]", "f32[]", "(1.0,)"], "A"),
        (["show", POLY, "--", "f32[]"], "y"),
        (["show", "nothing.py:f"], "no file nothing.py"),
        (["demo", "nothing.jpg"], "nothing.jpg"),
    ],
)
def test_an_error_is_one_message_and_status_1(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("loopwright: ")
    assert message in captured.err
    assert "Traceback" not in captured.err


def test_show_explains_draws_and_scores(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    signature = ["--", "f32[]", "f32[]", "coeffs=(0.5,2.0)"]
    page = tmp_path / "poly.html"
    assert main(["show", POLY, "--after", "allocate", "--target", "x86-64-v3", "--explain", "--picture", str(page), "--score", *signature]) == 0
    captured = capsys.readouterr()
    assert "decided by M REG_ORDER" in captured.out
    assert "bound by" in captured.out and "front end" in captured.out and "PerfScore" in captured.out
    assert f"written: {page}" in captured.err
    assert "<svg" in page.read_text()
    assert main(["show", POLY, "--target", "x86-64-v4", "--score", "--microarchitecture", "skylake-avx512", *signature]) == 0
    assert "cycles on skylake-avx512" in capsys.readouterr().out


def test_show_takes_a_recorded_compilation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "kernels:kernels:moments f32", "--target", "x86-64-v3"]) == 0
    listing = capsys.readouterr().out
    assert listing.startswith("; moments, x86-64-v3")
    assert main(["show", "kernels:kernels:moments f32", "--target", "x86-64-v3", "--explain", "--ordering", "EHPDGAJCBNKOLFIMQ"]) == 0
    assert "in the order EHPDGAJCBNKOLFIMQ" in capsys.readouterr().out
    file = Path(__file__).resolve().parents[1] / "corpora" / "kernels.lwc"
    assert main(["show", f"{file}:kernels:moments f32", "--target", "x86-64-v3", "--explain"]) == 0
    assert "in the order ABCDEFGHIJKLMNOPQ" in capsys.readouterr().out
    assert main(["show", "kernels:kernels:moments f32"]) == 1
    several = capsys.readouterr().err
    assert "there are 4" in several and "x86-64-v4/512" in several
    identity = next(line.split()[0] for line in several.splitlines() if line.endswith("x86-64-v3/256"))
    assert main(["show", f"kernels:{identity}"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == listing.splitlines()[1:]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kernels:nothing"], "there is none"),
        (["nothing.lwc:f"], "nothing.lwc cannot be read"),
        (["kernels:kernels:moments f32", "--target", "x86-64-v3", "--", "f32[]"], "has its signature"),
        (["kernels:kernels:moments f32", "--target", "rv64gc", "--score"], "no timing tables for rv64gc"),
        (["kernels:kernels:moments f32", "--target", "x86-64-v3", "--score", "--microarchitecture", "z80"], "z80"),
        (["kernels:kernels:moments f32", "--target", "x86-64-v3", "--microarchitecture", "znver4"], "--score"),
        (["kernels:kernels:moments f32", "--target", "x86-64-v3", "--after", "select", "--explain"], "leave --after out"),
        (["kernels:kernels:moments f32", "--target", "x86-64-v3", "--picture", "/nothing/there.html"], "cannot be written"),
    ],
)
def test_what_show_cannot_do_is_explained(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", *arguments]) == 1
    assert message in capsys.readouterr().err


# --- the rest, as a user runs it -----------------------------------------------------------------------------


def test_wrong_usage_is_status_2() -> None:
    done = run("nothing")
    assert done.returncode == 2
    assert "nothing" in done.stderr


def test_help_teaches_with_examples() -> None:
    assert "loopwright show FILE:KERNEL -- SIGNATURE" in run("--help").stdout
    shown = run("show", "--help").stdout
    assert "examples:" in shown and "--after liveness" in shown


def test_passes_lists_each_pass_in_order() -> None:
    done = run("passes")
    assert done.returncode == 0, done.stderr
    first_words = [line.split()[0] for line in done.stdout.splitlines() if line]
    wanted = names_of(registry.get("x86-64-v3").passes())
    assert first_words[: len(wanted)] == wanted


def test_targets_lists_each_target() -> None:
    done = run("targets")
    assert done.returncode == 0, done.stderr
    for name in registry.names():
        assert name in done.stdout


def test_a_traceback_is_shown_on_request() -> None:
    quiet = run("show", "nothing.py:f")
    assert quiet.returncode == 1 and "Traceback" not in quiet.stderr
    loud = run("show", "nothing.py:f", LOOPWRIGHT_TRACEBACK="1")
    assert loud.returncode == 1 and "Traceback" in loud.stderr


def test_bench_passes_its_arguments_on() -> None:
    done = run("bench", "--help")
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout.lower()


def test_output_into_a_closed_pipe_is_no_error() -> None:
    done = subprocess.run(["sh", "-c", f"{sys.executable} -m loopwright passes | true"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0
    assert not done.stderr


def test_importing_the_command_line_loads_nothing_heavy() -> None:
    code = "import sys, loopwright.cli; print([m for m in ('scipy', 'PIL', 'sklearn', 'rich', 'numba') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
