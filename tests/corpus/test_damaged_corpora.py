"""Corpus files that are damaged, or made to do damage: each is refused by an error that names the file and what is wrong, in bounded memory."""

from __future__ import annotations

import bz2
import json
import os
import random
import re
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import loopwright as lw
from loopwright.cli import main
from loopwright.corpus import files
from loopwright.corpus.features import features_of_text
from loopwright.corpus.files import Context, CorpusError
from loopwright.corpus.recording import context_of
from loopwright.regalloc.heuristics import DEFAULT_ORDER
from loopwright.targets import registry


def contexts(count: int) -> list[Context]:
    target = registry.get("x86-64-v3")
    made = []
    for k in range(count):
        f = lw.Function("add", a=lw.i64, b=lw.i64, returns=lw.i64)
        with f:
            f.ret(f.a + f.b * (k + 1))
        made.append(context_of(f.ir, target, DEFAULT_ORDER, "c"))
    return made


def parts(data: bytes) -> tuple[dict[str, Any], list[dict[str, Any]], bytes, bytes]:
    """Header and rows of the index, the data, and the journal of a packed file."""
    head = re.match(rb"loopwright corpus 1 (\d+) (\d+)\n", data)
    assert head is not None
    index, size = int(head[1]), int(head[2])
    header, *rows = [json.loads(line) for line in bz2.decompress(data[head.end() : head.end() + index]).splitlines()]
    begin = head.end() + index
    return header, rows, data[begin : begin + size], data[begin + size + 1 :]


def joined(header: Any, rows: list[Any], data: bytes, journal: bytes = b"") -> bytes:
    index = bz2.compress("\n".join([json.dumps(header), *(json.dumps(row) for row in rows), ""]).encode())
    return b"loopwright corpus 1 %d %d\n" % (len(index), len(data)) + index + data + b"\n" + journal


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A packed file with a journal behind it."""
    path = tmp_path_factory.mktemp("whole") / "whole.lwc"
    files.write(path, contexts(5))
    files.append(path, contexts(7)[5:])
    return path.read_bytes()


def outcome(path: Path, data: bytes) -> str:
    """What comes of a file: how many contexts, or the error."""
    path.write_bytes(data)
    found = []
    for read in (lambda: len(files.read(path).contexts), lambda: len(files.read_index(path))):
        try:
            found.append(f"{read()} contexts")
        except CorpusError as error:
            assert str(path) in str(error), error
            found.append(f"{'damaged' if 'is damaged' in str(error) else 'refused'}: {error.message}")
    return found[0]


def test_a_whole_file_is_read(whole: bytes, tmp_path: Path) -> None:
    assert outcome(tmp_path / "a.lwc", whole) == "7 contexts"
    assert outcome(tmp_path / "a.lwc", joined(*parts(whole))) == "7 contexts"


@pytest.mark.parametrize("size", [b"9" * 20, b"9" * 5000, b"999999999999", b"-1", b"0", b"1e3", b"\xd9\xa3"])
@pytest.mark.parametrize("which", [1, 2])
def test_sizes_that_are_not_the_files(whole: bytes, tmp_path: Path, size: bytes, which: int) -> None:
    head = re.match(rb"loopwright corpus 1 (\d+) (\d+)\n", whole)
    assert head is not None
    path = tmp_path / "a.lwc"
    path.write_bytes(whole[: head.start(which)] + size + whole[head.end(which) :])
    tracemalloc.start()
    try:
        with pytest.raises(CorpusError, match=f"{path} is damaged: (its first line|its index|data)"):
            files.read(path)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


Change = Callable[[dict[str, Any], list[dict[str, Any]]], Any]


def first(**members: Any) -> Change:
    """The members of the first row replaced; None takes one out."""

    def change(_header: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        for name, value in members.items():
            rows[0][name] = value
            if value is None:
                del rows[0][name]

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (first(block=None), "block is missing"),
        (first(block=7), "a row of a block that is not there"),
        (first(block=-1), "block is no number of things"),
        (first(block=True), "block is no number of things"),
        (first(at=10**30), "at is no number of things"),
        (first(size="10"), "size is no number of things"),
        (first(size=5), "a line that is no context"),
        (first(at=1), "a line that is no context"),
        (first(name=["a"]), "name is no string"),
        (first(name="\ud800"), "surrogates not allowed"),
        (first(id=5), "id is no string"),
        (first(id="0"), "under another identity"),
        (first(features=3), "a row without features"),
        (first(features={}), "instructions is missing"),
        (first(features={"instructions": "x"}), "instructions is no number of things"),
        (lambda header, rows: rows.append(rows[0]), "rows are missing, or there twice"),
        (lambda header, rows: rows.pop(), "rows are missing, or there twice"),
        (lambda header, rows: rows.append([1]), "not an object of JSON"),
        (lambda header, rows: header.update(blocks=3), "blocks are missing"),
        (lambda header, rows: header.update(blocks=[]), "data that belongs to no block"),
        (lambda header, rows: header.update(blocks=[[0]]), "do not lie one behind the other"),
        (lambda header, rows: header.update(blocks=[[0, 10**18]]), "do not lie one behind the other"),
        (lambda header, rows: header.update(blocks=[[-5, 10]]), "do not lie one behind the other"),
        (lambda header, rows: header.update(blocks=[["0", "9"]]), "do not lie one behind the other"),
        (lambda header, rows: header["blocks"].append([0, header["blocks"][0][1]]), "do not lie one behind the other"),
    ],
)
def test_an_index_that_tells_untruths(whole: bytes, tmp_path: Path, change: Change, problem: str) -> None:
    header, rows, data, journal = parts(whole)
    change(header, rows)
    found = outcome(tmp_path / "a.lwc", joined(header, rows, data, journal))
    assert found.startswith("damaged") and problem in found


def test_an_index_nested_beyond_reason(whole: bytes, tmp_path: Path) -> None:
    _, _, data, _ = parts(whole)
    index = bz2.compress(b"[" * 200_000)
    found = outcome(tmp_path / "a.lwc", b"loopwright corpus 1 %d %d\n" % (len(index), len(data)) + index + data + b"\n")
    assert "nested too deeply" in found
    assert outcome(tmp_path / "b.lwc", whole + b"{" * 200_000 + b"\n" + b"[" * 200_000 + b"\n") == "7 contexts"


def test_a_context_that_is_none_of_the_fields_it_should_have(whole: bytes, tmp_path: Path) -> None:
    _, rows, data, _ = parts(whole)
    lines = bz2.decompress(data).splitlines(keepends=True)
    for name, value in (("function", 3), ("vector_bits", "x"), ("vector_bits", -1), ("ordering", None), ("target", {})):
        line = json.dumps({**json.loads(lines[0]), name: value}).encode() + b"\n"
        packed = bz2.compress(line)
        row = {**rows[0], "at": 0, "size": len(line), "block": 0}
        found = outcome(tmp_path / "a.lwc", joined({"blocks": [[0, len(packed)]], "contexts": 1}, [row], packed))
        assert "a line that is no context" in found and name in found


def test_what_decompresses_without_end_is_refused(whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_MOST", 1 << 20)
    header, rows, _, _ = parts(whole)
    bomb = bz2.compress(bytes(50 << 20))
    assert len(bomb) < 200
    header["blocks"] = [[0, len(bomb)]]
    tracemalloc.start()
    try:
        assert "it holds more than 1048576 bytes" in outcome(tmp_path / "a.lwc", joined(header, rows, bomb))
        assert "it holds more than 1048576 bytes" in outcome(tmp_path / "b.lwc", b"loopwright corpus 1 %d 0\n" % len(bomb) + bomb + b"\n")
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()


def test_data_cut_short_or_with_something_behind_it(whole: bytes, tmp_path: Path) -> None:
    header, rows, data, _ = parts(whole)
    for changed in (data[:-5], data + b"x"):
        header["blocks"] = [[0, len(changed)]]
        assert "compressed data does not end where it should" in outcome(tmp_path / "a.lwc", joined(header, rows, changed))


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, problem in ((tmp_path, "it is a directory"), (tmp_path / "pipe", "it is no regular file"), (Path("/dev/zero"), "it is no regular file")):
        with pytest.raises(CorpusError, match=f"{path} cannot be read: {problem}"):
            files.read(path)
    with pytest.raises(CorpusError, match="cannot be read"):
        files.read("a\0b")


@pytest.mark.parametrize("command", ["list", "show", "replay", "diff", "strip"])
def test_commands_say_what_is_wrong_with_a_file(whole: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    path = tmp_path / "a.lwc"
    path.write_bytes(whole.replace(b"loopwright corpus 1 ", b"loopwright corpus 1 9999999999"))
    assert main(["corpus", command, str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"loopwright: {path} is damaged: its first line says")


# --- anything at all ---------------------------------------------------------------------------------------------


def changed(data: bytes, chooser: random.Random) -> bytes:
    """A file with bytes changed: of the file as it is, of what it decompresses to, or of a value in its index."""
    kind = chooser.randrange(7)
    if kind == 0:
        return data[: chooser.randrange(len(data))]
    if kind <= 2:
        made = bytearray(data)
        for _ in range(chooser.choice([1, 1, 2, 8])):
            made[chooser.randrange(len(made) if kind == 1 else 40)] ^= 1 << chooser.randrange(8)
        return bytes(made)
    if kind == 3:
        at = chooser.randrange(len(data))
        return data[:at] + chooser.randbytes(chooser.randrange(1, 30)) + data[at:]
    header, rows, packed, journal = parts(data)
    if kind == 4:
        raw = bytearray(bz2.decompress(packed))
        raw[chooser.randrange(len(raw))] = chooser.choice(b'"{}[],:0123456789ax\n\\')
        packed = bz2.compress(bytes(raw))
        header["blocks"] = [[0, len(packed)]]
    elif kind == 5:
        values = [None, True, -1, 0, 1, 7, 10**20, 1.5, "", "x", [], {}, [0, 1], "\x00", float("nan")]
        row = chooser.choice([header, *rows])
        row[chooser.choice(list(row))] = chooser.choice(values)
    else:
        line = bytearray(journal)
        line[chooser.randrange(len(line))] ^= 1 << chooser.randrange(8)
        journal = bytes(line)
    return joined(header, rows, packed, journal)


def check(whole: bytes, path: Path, seeds: range) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in seeds:
        data = changed(whole, random.Random(seed))
        try:
            found[outcome(path, data).partition(":")[0]] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
    return found


def test_any_change_is_read_or_refused(whole: bytes, tmp_path: Path) -> None:
    found = check(whole, tmp_path / "a.lwc", range(600))
    assert found["damaged"] > 100 and found["refused"] > 5 and found["7 contexts"] > 5, found


@pytest.mark.slow
def test_many_changes_are_read_or_refused(whole: bytes, tmp_path: Path) -> None:
    check(whole, tmp_path / "a.lwc", range(1000, 7_000))


def test_features_take_time_in_proportion_to_the_text() -> None:
    # Deeper than is compiled: an index is made of what cannot be, too.
    text = "function f(%c: bool)\n" + "loop\n" * 20_000 + "br_if 0, %c\nend\n" * 20_000 + "end\n"
    name, found = features_of_text(text, "x86-64-v3", 256, "sysv")
    assert (name, found.depth, found.loops, found.pressure) == ("f", 20_000, 20_000, 1)
