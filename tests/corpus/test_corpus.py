"""Recording compilations, the corpus file, and compiling what it holds again."""

from __future__ import annotations

import bz2
import json
import os
import random
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from tests.corpus.pressed import totals

import loopwright as lw
from loopwright import compiler
from loopwright.corpus import files, replay
from loopwright.corpus.command import corpus_command
from loopwright.corpus.features import features
from loopwright.corpus.files import Context, CorpusError
from loopwright.corpus.recording import context_of
from loopwright.errors import TargetError
from loopwright.ir.parse import parse
from loopwright.ir.text import print_function
from loopwright.regalloc.heuristics import DEFAULT_ORDER, canonical
from loopwright.targets import registry

SOURCE = Path(lw.__file__).parents[1]


@lw.kernel
def scale(x: lw.Array[lw.f32], y: lw.Array[lw.f32], factor: lw.Const):
    for i in lw.lanes(len(x)):
        y[i] = x[i] * factor


def add(name: str = "add", more: int = 0) -> lw.Function:
    f = lw.Function(name, a=lw.i64, b=lw.i64, returns=lw.i64)
    with f:
        f.ret(f.a + f.b + more if more else f.a + f.b)
    return f


def contexts(count: int, collection: str = "") -> list[Context]:
    target = registry.get("x86-64-v3")
    return [context_of(add(more=k).ir, target, DEFAULT_ORDER, collection) for k in range(1, count + 1)]


# --- recording ---------------------------------------------------------------------------------------------------


def test_what_is_compiled_inside_the_block_is_recorded_once(tmp_path):
    path = tmp_path / "mine.lwc"
    scale.compile(factor=1.5, target="x86-64-v3")
    with lw.record(path) as recorder:
        scale.compile(factor=2.5, target="x86-64-v3")
        scale.compile(factor=2.5, target="x86-64-v3")
        scale.compile(factor=2.5, target="x86-64-v4", vector_bits=256)
        add().compile(target="rv64gc")
        assert len(recorder) == 3
    scale.compile(factor=3.5, target="x86-64-v3")
    found = files.read(path)
    assert sorted((c.name, c.target, c.vector_bits, c.convention) for c in found.contexts) == [
        ("add", "rv64gc", 0, "lp64d"),
        ("scale", "x86-64-v3", 256, "sysv"),
        ("scale", "x86-64-v4", 256, "sysv"),
    ]
    assert {c.collection for c in found.contexts} == {"mine"}
    assert all("2.5" in c.function for c in found.contexts if c.name == "scale")


def test_recording_costs_nothing_outside(tmp_path):
    assert compiler.RECORDERS == []
    with lw.record(tmp_path / "a.lwc"):
        assert len(compiler.RECORDERS) == 1
    assert compiler.RECORDERS == []


def test_a_failing_compilation_is_recorded_too(tmp_path):
    path = tmp_path / "a.lwc"
    f = lw.Function("wide", x=lw.Array[lw.f32])
    with f:
        f.store(f.x, 0, value=f.splat(1.0, 16, lw.f32))
    with lw.record(path), pytest.raises(Exception, match="wide|f32x16|vector"):
        f.compile(target="rv64gc")
    assert [c.name for c in files.read(path).contexts] == ["wide"]


def test_recorded_text_is_all_there_is_to_a_compilation(tmp_path):
    """The context compiles to what the original compiled to."""
    path = tmp_path / "a.lwc"
    with lw.record(path):
        code = scale.compile(factor=2.5, target="x86-64-v3")
    context = files.read(path).contexts[0]
    target = registry.get(context.target, context.vector_bits or None, context.convention)
    f = parse(context.function)
    assert print_function(f) == context.function
    assert bytes(compiler.compile(f, target, ordering=context.ordering).machine.data) == bytes(code.compiled.machine.data)


def test_folders_and_addresses_are_not_recorded(tmp_path):
    import ctypes

    callback = ctypes.CFUNCTYPE(None, ctypes.c_int64)(lambda i: None)
    f = lw.Function("caller", a=lw.i64)
    with f:
        f.call(callback, f.a)
    f.ir.file = "/home/somebody/work/kernels.py"
    context = context_of(f.ir, registry.get("x86-64-v3"), DEFAULT_ORDER)
    assert 'file "kernels.py"' in context.function
    assert "somebody" not in context.line()
    address = ctypes.cast(callback, ctypes.c_void_p).value
    assert str(address) not in context.line()
    f.ir.file = "C:\\Users\\somebody\\kernels.py"
    assert context_of(f.ir, registry.get("x86-64-v3"), DEFAULT_ORDER).identity == context.identity


def test_threads_record_side_by_side(tmp_path):
    path = tmp_path / "a.lwc"
    with lw.record(path):
        threads = [threading.Thread(target=lambda k=k: [add(f"f{k}_{n}", n + 1).compile(target="x86-64-v3") for n in range(8)]) for k in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(files.read(path).contexts) == 48


def run_program(text: str, **environment: str) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(SOURCE), **environment}
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(text)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


PROGRAM = """
    import sys, loopwright as lw
    for n in range(10):
        f = lw.Function(f"shared{n}", a=lw.i64, returns=lw.i64)
        with f: f.ret(f.a * (n + 2))
        f.compile(target="x86-64-v3")
        f = lw.Function(f"own{START}_{n}", a=lw.i64, returns=lw.i64)
        with f: f.ret(f.a + n)
        f.compile(target="x86-64-v3")
"""


def test_processes_record_into_one_file_by_the_environment(tmp_path):
    path = tmp_path / "all.lwc"
    running = [run_program(PROGRAM.replace("START", str(k)), LOOPWRIGHT_RECORD=str(path)) for k in range(4)]
    # Packing in the middle of it must lose nothing.
    while any(process.poll() is None for process in running):
        if path.exists():
            files.pack(path)
    problems = [process.communicate()[1] for process in running]
    assert [process.returncode for process in running] == [0] * 4, problems
    found = files.read(path)
    assert found.damaged == 0
    assert len(found.contexts) == 50
    assert sum(c.name.startswith("own") for c in found.contexts) == 40


def test_blocks_that_record_in_several_processes_and_threads_lose_nothing(tmp_path):
    path = tmp_path / "all.lwc"
    program = """
        import threading, loopwright as lw
        def one(k):
            f = lw.Function(f"f{k}", a=lw.i64, returns=lw.i64)
            with f: f.ret(f.a + k)
            f.compile(target="x86-64-v3")
        for turn in range(4):
            with lw.record(FILE):
                threads = [threading.Thread(target=one, args=(1000 * START + 10 * turn + k,)) for k in range(3)]
                for thread in threads: thread.start()
                for thread in threads: thread.join()
    """
    running = [run_program(program.replace("START", str(k)).replace("FILE", repr(str(path)))) for k in range(4)]
    problems = [process.communicate()[1] for process in running]
    assert [process.returncode for process in running] == [0] * 4, problems
    found = files.read(path)
    assert len(found.contexts) == 48 and found.damaged == 0
    # Each block packs the file at its end, so nothing is left of the journal; and the bytes are those of the contexts alone.
    files.write(tmp_path / "again.lwc", [files.replace(c, collection="") for c in reversed(found.contexts)])
    assert path.read_bytes() == (tmp_path / "again.lwc").read_bytes()


def test_a_line_cut_short_is_left_out_and_the_next_is_whole(tmp_path):
    path = tmp_path / "a.lwc"
    first, second = contexts(2)
    files.append(path, [first])
    with open(path, "ab") as out:
        out.write(second.line().encode()[:100])
    files.append(path, [second])
    found = files.read(path)
    assert found.contexts == [files.replace(c, collection="a") for c in (first, second)]
    assert found.damaged == 1


# --- the file ----------------------------------------------------------------------------------------------------


def test_the_bytes_depend_on_the_contexts_alone(tmp_path):
    made = contexts(300, "c")
    files.write(tmp_path / "a.lwc", made)
    random.Random(1).shuffle(made)
    files.write(tmp_path / "b.lwc", [*made, *made[:50]])
    for context in made:
        files.append(tmp_path / "c.lwc", [context, context])
    files.pack(tmp_path / "c.lwc")
    data = [(tmp_path / f"{name}.lwc").read_bytes() for name in "abc"]
    assert data[0] == data[1] == data[2]
    assert not list(tmp_path.glob("*.new"))


def test_a_packed_file_can_be_appended_to_and_packed_again(tmp_path):
    path = tmp_path / "a.lwc"
    made = contexts(5, "c")
    files.write(path, made[:3])
    files.append(path, made[2:])
    assert [c.identity for c in files.read(path).contexts] == [c.identity for c in sorted(made[:3], key=Context.sort_key)] + [c.identity for c in made[3:]]
    assert files.pack(path) == 5
    files.write(tmp_path / "b.lwc", made)
    assert path.read_bytes() == (tmp_path / "b.lwc").read_bytes()


def test_the_index_tells_what_reading_tells(tmp_path):
    path = tmp_path / "a.lwc"
    files.write(path, contexts(200, "c"))
    found = files.read(path)
    assert files.read_index(path) == found.rows
    assert [row.identity for row in found.rows] == [c.identity for c in found.contexts]
    some = files.read(path, lambda row: row.identity[0] == "7")
    assert 0 < len(some.contexts) < 60
    assert all(c.identity.startswith("7") for c in some.contexts)


def test_identity_is_what_the_compilation_depends_on():
    base = Context("function f()\nend\n", "x86-64-v3", 256, "sysv", DEFAULT_ORDER, "c", "n", "1.0")
    assert base.identity == Context(base.function, "x86-64-v3", 256, "sysv", DEFAULT_ORDER, "other", "name", "2.0").identity
    others = [
        Context("function g()\nend\n", "x86-64-v3", 256, "sysv", DEFAULT_ORDER),
        Context(base.function, "x86-64-v4", 256, "sysv", DEFAULT_ORDER),
        Context(base.function, "x86-64-v3", 128, "sysv", DEFAULT_ORDER),
        Context(base.function, "x86-64-v3", 256, "win64", DEFAULT_ORDER),
        Context(base.function, "x86-64-v3", 256, "sysv", DEFAULT_ORDER[::-1]),
    ]
    assert len({base.identity, *(c.identity for c in others)}) == 6


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\x7fELF and so on", "is not a corpus"),
        (b"loopwright corpus 9 1 1\n..", "format 9"),
        (b"loopwright corpus 1 10 10\n0123456789", "damaged"),
    ],
)
def test_what_is_no_corpus_is_refused(tmp_path, data, problem):
    path = tmp_path / "a.lwc"
    path.write_bytes(data)
    with pytest.raises(CorpusError, match=problem):
        files.read(path)


def test_a_changed_context_is_noticed(tmp_path):
    path = tmp_path / "a.lwc"
    files.write(path, contexts(2))
    data = path.read_bytes()
    head = data.split(b"\n", 1)[0].split()
    begin = len(b" ".join(head)) + 1 + int(head[3])
    raw = bz2.decompress(data[begin : begin + int(head[4])]).replace(b"add.i64", b"sub.i64", 1)
    changed = bz2.compress(raw, 9)
    if len(changed) != int(head[4]):
        data = data.replace(b" " + head[4] + b"\n", f" {len(changed)}\n".encode(), 1)
        begin = data.index(b"\n") + 1 + int(head[3])
    path.write_bytes(data[:begin] + changed + b"\n")
    with pytest.raises(CorpusError, match="changed|damaged"):
        files.read(path)


def test_missing_and_unwritable_files_are_clear_errors(tmp_path):
    with pytest.raises(CorpusError, match=r"none\.lwc cannot be read: No such file"):
        files.read(tmp_path / "none.lwc")
    for path, problem in ((tmp_path / "folder" / "none.lwc", "cannot be made: No such file"), (tmp_path, "cannot be written: Is a directory")):
        with pytest.raises(CorpusError, match=problem):
            files.write(path, [])
        with pytest.raises(CorpusError, match=problem):
            files.append(path, [])
        with pytest.raises(CorpusError, match=problem), lw.record(path):
            pytest.fail("the block ran without a place to record to")
    if Path("/dev/full").exists():
        with pytest.raises(CorpusError, match="cannot be written: No space left"):
            files.append("/dev/full", contexts(1))


def test_a_file_that_is_something_else_is_not_written_to(tmp_path):
    path = tmp_path / "letter.txt"
    path.write_text("Dear reader,\n")
    with pytest.raises(CorpusError, match="is not a corpus"), lw.record(path):
        pytest.fail("the block ran")
    with pytest.raises(CorpusError, match="is not a corpus"):
        files.append(path, contexts(1))
    process = run_program(PROGRAM.replace("START", "1"), LOOPWRIGHT_RECORD=str(path))
    assert "it is the environment's LOOPWRIGHT_RECORD" in process.communicate()[1]
    assert process.returncode == 1
    assert path.read_text() == "Dear reader,\n"


def test_merging_drops_duplicates(tmp_path):
    made = contexts(6)
    files.write(tmp_path / "a.lwc", made[:4])
    files.write(tmp_path / "b.lwc", made[2:])
    assert files.merge([tmp_path / "a.lwc", tmp_path / "b.lwc"], tmp_path / "c.lwc") == (8, 6, 0)
    found = files.read(tmp_path / "c.lwc")
    assert {c.identity for c in found.contexts} == {c.identity for c in made}
    assert {c.collection for c in found.contexts} == {"a", "b"}


# --- features ----------------------------------------------------------------------------------------------------


def test_features_count_what_is_there():
    f = lw.Function("f", x=lw.Array[lw.f64], n=lw.i64, k=lw.f64, returns=lw.f64)
    callee = add("callee")
    with f:
        total = f.var(lw.f64, 0.0)
        with f.for_(f.n) as i:
            with f.for_(i) as j, f.if_(f.x[j] < f.k):
                total.set(total + f.x[i])
            f.call(callee, i, f.n)
        f.ret(total)
    found = features(f.ir)
    assert (found.loops, found.depth, found.calls, found.params, found.vector_share) == (2, 2, 1, 4, 0)
    assert found.branches == 1
    # In the inner loop: x, n, k, total, i, j and a value loaded.
    assert 6 <= found.pressure <= 8


def test_features_see_vectors():
    f = lw.Function("f", x=lw.Array[lw.f32])
    with f:
        v = f.load(f.x, 0, lanes=8)
        f.store(f.x, 0, value=v * v)
    found = features(f.ir)
    assert found.vector_share == 1000
    assert found.loops == found.branches == found.calls == 0


# --- replaying ---------------------------------------------------------------------------------------------------


def test_replaying_gives_numbers_in_the_corpus_order():
    given = contexts(40)
    found = list(replay.replay(given, processes=2, check=True))
    assert [context for context, _ in found] == given
    for _, result in found:
        assert result.error == ""
        assert result.numbers["instructions"] >= 2
        assert result.numbers["code_size"] > 0
        assert len(result.code) == 32


def test_replaying_is_the_same_each_time():
    given = contexts(10)
    first = [result.code for _, result in replay.replay(given, processes=2)]
    assert first == [result.code for _, result in replay.replay(given, processes=1, turns=2)]


def test_replaying_does_not_listen_to_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("LOOPWRIGHT_LSRA_ORDERING", "nonsense")
    monkeypatch.setenv("LOOPWRIGHT_RECORD", str(tmp_path / "a.lwc"))
    assert all(not result.error for _, result in replay.replay(contexts(3), processes=1))
    assert not (tmp_path / "a.lwc").exists()


def test_failures_are_results():
    good, other = contexts(2)
    bad = Context("function f(\n", good.target, good.vector_bits, good.convention, DEFAULT_ORDER, name="bad")
    results = [result for _, result in replay.replay([good, bad, other], processes=1)]
    assert [bool(result.error) for result in results] == [False, True, False]
    assert results[1].error.startswith("ParseError")


def test_a_compiler_that_crashes_or_hangs_is_a_failure_of_that_context_alone(tmp_path):
    """With an interpreter whose loopwright kills its process, or sleeps, over functions of a certain name."""
    package = tmp_path / "loopwright"
    for folder in ("", "ir", "targets"):
        (package / folder).mkdir(exist_ok=True, parents=True)
        (package / folder / "__init__.py").write_text("__version__ = '0.0.1'\n")
    (package / "ir" / "parse.py").write_text("def parse(text, file='', target=None): return text\n")
    (package / "targets" / "registry.py").write_text(
        "def get(*args): return Target()\nclass Target:\n    def listing(self, machine): return [(0, b'', 'ret', 0)]\n"
    )
    (package / "compiler.py").write_text(
        textwrap.dedent("""
        import os, signal, time
        class Machine: data = b"1"; code_size = 1; relocations = []; instructions = []
        class Compiled: machine = Machine(); times = {}
        def compile(f, target, ordering=None):
            print("chatter on standard output")
            if "crash" in f: os.kill(os.getpid(), signal.SIGSEGV)
            if "hang" in f: time.sleep(60)
            return Compiled()
    """)
    )
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    given = [Context(f"function {name}{k}", "x86-64-v3", 256, "sysv", DEFAULT_ORDER, name=name) for k in range(3) for name in ("fine", "crash", "hang")]
    found = {context.function: result.error for context, result in replay.replay(given, replay.Setting(python=str(python)), processes=2, timeout=1.0)}
    assert [found[f"function fine{k}"] for k in range(3)] == [""] * 3
    assert all("crashed (signal 11)" in found[f"function crash{k}"] for k in range(3))
    assert all("did not come to an end" in found[f"function hang{k}"] for k in range(3))


def test_an_interpreter_without_loopwright_is_a_clear_error(tmp_path):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    python.chmod(0o755)
    with pytest.raises(lw.LoopwrightError, match="has no loopwright that can be replayed with: ModuleNotFoundError"):
        list(replay.replay(contexts(1), replay.Setting(python=str(python))))
    with pytest.raises(lw.LoopwrightError, match="cannot be run"):
        list(replay.replay(contexts(1), replay.Setting(python=str(tmp_path / "nowhere"))))


# --- the order of the filters as a setting -----------------------------------------------------------------------


def pressing() -> lw.Function:
    """More values than registers, so that orders differ."""
    return totals("pressing", 24)


OTHER = "EHPDGAJCBNKOLFIMQ"


def test_the_order_can_be_given_in_every_way(monkeypatch):
    f = pressing()
    by_argument = f.compile(target="x86-64-v3", ordering=OTHER)
    plain = f.compile(target="x86-64-v3")
    assert by_argument.compiled.order == OTHER
    assert plain.compiled.order == DEFAULT_ORDER
    assert by_argument.compiled.machine.data != plain.compiled.machine.data
    monkeypatch.setenv("LOOPWRIGHT_LSRA_ORDERING", OTHER.lower())
    by_environment = f.compile(target="x86-64-v3")
    assert by_environment.compiled.machine.data == by_argument.compiled.machine.data
    # An argument comes before the environment.
    assert f.compile(target="x86-64-v3", ordering=DEFAULT_ORDER).compiled.machine.data == plain.compiled.machine.data
    assert scale.compile(factor=2.0, target="x86-64-v3").compiled.order == OTHER
    monkeypatch.delenv("LOOPWRIGHT_LSRA_ORDERING")
    assert scale.compile(factor=2.0, target="x86-64-v3", ordering=OTHER).compiled.order == OTHER
    decorated = lw.kernel(ordering=OTHER)(scale.function)
    assert decorated.compile(factor=2.0, target="x86-64-v3").compiled.order == OTHER


def test_the_order_can_be_given_on_the_command_line(capsys, tmp_path, monkeypatch):
    from loopwright.cli import main

    file = tmp_path / "k.py"
    file.write_text("import loopwright as lw\n@lw.kernel\ndef k(a: lw.i64, b: lw.i64) -> lw.i64:\n    return a + b\n")
    assert main(["show", "--ordering", OTHER, "--target", "x86-64-v3", f"{file}:k"]) == 0
    capsys.readouterr()
    assert main(["show", "--ordering", "ABC", "--target", "x86-64-v3", f"{file}:k"]) == 1
    assert "is not a permutation of ABCDEFGHIJKLMNOPQ: missing DEFGHIJKLMNOPQ" in capsys.readouterr().err
    monkeypatch.setenv("LOOPWRIGHT_LSRA_ORDERING", "AABCDEFGHIJKLMNOPQ")
    assert main(["show", "--target", "x86-64-v3", f"{file}:k"]) == 1
    error = capsys.readouterr().err
    assert "unknown or repeated A" in error
    assert "LOOPWRIGHT_LSRA_ORDERING" in error


@pytest.mark.parametrize("order", ["", "ABC", "ABCDEFGHIJKLMNOPQR", "ABCDEFGHIJKLMNOP1", DEFAULT_ORDER * 2])
def test_a_bad_order_is_an_error_of_its_own(order):
    with pytest.raises(TargetError, match="is not a permutation"):
        add().compile(target="x86-64-v3", ordering=order)


def test_orders_that_cannot_differ_do_not(monkeypatch):
    f = pressing().ir
    pick = random.Random(5)
    for name in ("x86-64-v3", "rv64gc"):
        target = registry.get(name)
        for _ in range(12):
            letters = list(DEFAULT_ORDER)
            pick.shuffle(letters)
            order = "".join(letters)
            # What follows Q in any order; what follows M and speaks of free registers, anywhere behind it.
            head, tail = order.split("Q")
            other = head + "Q" + "".join(pick.sample(tail, len(tail)))
            assert canonical(other) == canonical(order) == canonical(canonical(order))
            codes = {bytes(compiler.compile(f, target, ordering=one).machine.data) for one in (order, other, canonical(order))}
            assert len(codes) == 1


def test_contexts_of_equal_orders_are_one(tmp_path):
    path = tmp_path / "a.lwc"
    f = pressing()
    with lw.record(path):
        f.compile(target="x86-64-v3", ordering="ABCDEFGHIJKLQMNOP")
        f.compile(target="x86-64-v3", ordering="ABCDEFGHIJKLQPONM")
        f.compile(target="x86-64-v3", ordering=OTHER)
    assert len(files.read(path).contexts) == 2


# --- the command -------------------------------------------------------------------------------------------------


def test_record_runs_a_program(tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    path = str(tmp_path / "a.lwc")
    program = textwrap.dedent(PROGRAM.replace("START", "7"))
    assert corpus_command(["record", "-o", path, "--", sys.executable, "-c", program]) == 0
    assert "20 contexts, 20 of them new" in capfd.readouterr().err
    assert corpus_command(["record", "-o", path, "--", sys.executable, "-c", program + "\nsys.exit(5)"]) == 5
    assert "20 contexts, 0 of them new" in capfd.readouterr().err
    with pytest.raises(lw.LoopwrightError, match="cannot be run"):
        corpus_command(["record", "-o", path, "--", str(tmp_path / "nothing")])
    with pytest.raises(lw.LoopwrightError, match="either --collection NAME, or -- and a command"):
        corpus_command(["record", "-o", path])


def test_list_show_strip_and_replay(tmp_path, capsys):
    path = str(tmp_path / "a.lwc")
    text = "function broken(%a: i32) -> i32\n  %v = splat.i32x8 %a\n  %w = add.i32x8 %v, %v\n  %s = reduce_add.i32x8 %w\n  ret.i32 %s\nend\n"
    bad = Context(text, "rv64gc", 0, "lp64d", DEFAULT_ORDER, "c", "broken")
    files.write(path, [*contexts(4, "c"), bad])
    assert corpus_command(["list", path]) == 0
    assert "5 contexts" in capsys.readouterr().out
    assert corpus_command(["list", path, "--json", "--name", "brok"]) == 0
    assert json.loads(capsys.readouterr().out)["features"]["vector_share"] == 1000
    assert corpus_command(["list", path, "--summary", "--only-target", "x86-64-v3"]) == 0
    assert "4 contexts" in capsys.readouterr().out
    assert corpus_command(["list", path, "--max-pressure", "0"]) == 0
    assert "0 contexts" in capsys.readouterr().out
    assert corpus_command(["show", path, "--name", "broken"]) == 0
    assert bad.function in capsys.readouterr().out
    assert corpus_command(["replay", path]) == 1
    assert "broken" in capsys.readouterr().err
    output = str(tmp_path / "b.lwc")
    assert corpus_command(["strip", path, "-o", output]) == 0
    assert "4 contexts; 1 dropped" in capsys.readouterr().out
    assert corpus_command(["replay", output, "--check", "--json", str(tmp_path / "r.json")]) == 0
    assert "every allocation proved" in capsys.readouterr().out
    lines = [json.loads(line) for line in (tmp_path / "r.json").read_text().splitlines()]
    assert len(lines) == 4
    assert all(line["code_size"] > 0 for line in lines)
    assert corpus_command(["strip", output, "--matching", "--id", lines[0]["id"][:12]]) == 0
    assert len(files.read(output).contexts) == 3
    with pytest.raises(lw.LoopwrightError, match="needs a filter"):
        corpus_command(["strip", output, "--matching"])


def test_nothing_to_do_and_wrong_usage_have_statuses_of_their_own(tmp_path, capsys):
    path = str(tmp_path / "a.lwc")
    files.write(path, contexts(2))
    assert corpus_command(["replay", path, "--name", "nothing"]) == 3
    assert "nothing to compile" in capsys.readouterr().err
    (tmp_path / "empty.lwc").touch()
    assert corpus_command(["replay", str(tmp_path / "empty.lwc")]) == 3
    assert corpus_command(["diff", str(tmp_path / "empty.lwc")]) == 3
    assert corpus_command(["list", str(tmp_path / "empty.lwc")]) == 0
    capsys.readouterr()
    # Status 2 is that of differences.
    for words in (["diff"], ["diff", path, "--orderings", "x"], ["compare"], []):
        with pytest.raises(SystemExit) as stopped:
            corpus_command(words)
        assert stopped.value.code == 1
        assert "usage: loopwright corpus" in capsys.readouterr().err
    with pytest.raises(lw.LoopwrightError, match="loopwright brings kernels, programs, c"):
        corpus_command(["list", "kernel"])
    for words in (["merge", path], ["strip", path], ["record", "--", "true"], ["record", "--collection", "programs"]):
        with pytest.raises(CorpusError, match="cannot be made"):
            corpus_command([*words[:1], "-o", str(tmp_path / "folder" / "b.lwc"), *words[1:]])
    for option in ("--json", "--markdown"):
        with pytest.raises(lw.LoopwrightError, match="cannot be written"):
            corpus_command(["diff", path, "-j", "1", option, str(tmp_path / "folder" / "report")])


def test_merging_tells_of_unfinished_lines(tmp_path, capsys):
    path = tmp_path / "a.lwc"
    files.append(path, contexts(2))
    with open(path, "ab") as out:
        out.write(b'{"collection":"a","conv')
    assert corpus_command(["merge", str(path), "-o", str(tmp_path / "b.lwc")]) == 0
    assert "1 unfinished line left out" in capsys.readouterr().err
    assert files.read(tmp_path / "b.lwc").damaged == 0


def test_help_teaches(capsys):
    for command in ([], ["record"], ["merge"], ["strip"], ["list"], ["show"], ["replay"], ["diff"]):
        with pytest.raises(SystemExit) as stopped:
            corpus_command([*command, "--help"])
        assert stopped.value.code == 0
        assert "usage: loopwright corpus" in capsys.readouterr().out
