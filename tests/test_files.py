"""Runs the IR-text tests in ``tests/files``: each is a program, what running it must give, and what passes must make of it.

A file holds one or more functions, and comments that begin with

``; run: EXPRESSION``
    must be true (of all elements, for arrays). The functions of the file are called by name, under the interpreter;
    ``; run: f(x, 99) raises outside array`` expects an error whose message holds that text.
``; let: NAME = EXPRESSION``
    names a value for the lines below. There are ``np nan inf``, ``f32 f64 i32 i64 u8`` that make scalars and arrays,
    and ``same(a, b)`` which also tells signed zeros apart and takes a NaN for a NaN.
``; targets: NAME …``
    the ``run`` lines must hold after every pass for these targets as well.
``; check after=PASS target=NAME:`` (and ``function=NAME`` if it is not the first)
    the commented lines below are the function's text after that pass. ``pytest --bless`` rewrites them.

A callee with the name of another function of the file is that function.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loopwright.ir.function import Function
from loopwright.ir.interpret import Interpreter
from loopwright.ir.text import equal, parse, parse_all, print_function
from loopwright.ir.verify import verify
from loopwright.targets.pipeline import names_of

FOLDER = Path(__file__).parent / "files"
FILES = sorted(FOLDER.rglob("*.ir"))
DIRECTIVE = re.compile(r"; *(run|let|targets|check)(?::| )(.*)")
CHECK = re.compile(r"after=([\w-]+) target=([\w.:-]+)(?: function=(\w+))?:")


def name_of(path: Path) -> str:
    return str(path.relative_to(FOLDER).with_suffix(""))


def directives(text: str) -> list[tuple[str, str, int]]:
    """(word, rest of the line, line's index) of each directive."""
    found = []
    for index, line in enumerate(text.split("\n")):
        match = DIRECTIVE.match(line)
        if match:
            found.append((match[1], match[2].strip(), index))
    return found


def functions(text: str, file: str) -> dict[str, Function]:
    made = parse_all(text, file)
    named = {f.name: f for f in made}
    for f in made:
        for callee in f.callees:
            callee.function = named.get(callee.name)
    return named


def maker(dtype: str) -> Callable[[Any], Any]:
    return lambda value: np.asarray(value, dtype)[()]


def same(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a) | np.isnan(a), np.signbit(b) | np.isnan(b))


def execute(text: str, path: Path, made: dict[str, Function], target: Any) -> None:
    """The ``run`` and ``let`` lines, in order."""
    names: dict[str, Any] = {"np": np, "nan": np.nan, "inf": np.inf, "same": same}
    for short, dtype in {"f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64", "u8": "uint8"}.items():
        names[short] = maker(dtype)
    names.update({name: Interpreter(f, target, limit=1_000_000).call for name, f in made.items()})
    for word, rest, index in directives(text):
        where = f"{path.name}:{index + 1}: {rest}"
        if word == "let":
            name, _, expression = rest.partition("=")
            names[name.strip()] = eval(expression, names)
        elif word == "run":
            expression, _, message = rest.partition(" raises ")
            if message:
                with pytest.raises(Exception, match=re.escape(message)):
                    eval(expression, names)
                continue
            try:
                holds = np.all(eval(expression, names))
            except Exception as error:
                raise AssertionError(f"{where}: {type(error).__name__}: {error}") from error
            assert holds, where


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_file_runs_and_reads_back(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    made = functions(text, path.name)
    assert made, "no function in the file"
    assert any(word in ("run", "check") for word, _, _ in directives(text)), "the file expects nothing"
    for f in made.values():
        verify(f)
        assert equal(f, parse(print_function(f)))
    execute(text, path, made, None)


def staged() -> list[tuple[Path, str]]:
    return [(path, target) for path in FILES for word, rest, _ in directives(path.read_text(encoding="utf-8")) if word == "targets" for target in rest.split()]


@pytest.mark.parametrize(("path", "target_name"), staged(), ids=lambda x: name_of(x) if isinstance(x, Path) else x)
def test_file_runs_after_every_pass(path: Path, target_name: str) -> None:
    compiler = pytest.importorskip("loopwright.compiler")
    registry = pytest.importorskip("loopwright.targets.registry")
    target = registry.get(target_name)
    text = path.read_text(encoding="utf-8")
    for name in names_of(target.passes()):
        made = functions(text, path.name)
        after = {key: compiler.run_passes(f, target, after=name) for key, f in made.items()}
        for f in after.values():
            verify(f, target)
            again = parse(print_function(f, target), target=target)
            assert equal(f, again), f"after {name}"
            # What is read goes on as well as what was made.
            compiler.run_passes(again, target)
        try:
            execute(text, path, after, target)
        except AssertionError as error:
            listing = "\n".join(print_function(f, target) for f in after.values())
            raise AssertionError(f"after {name}: {error}\n{listing}") from error


def test_files_match_what_passes_make(bless: bool) -> None:
    """All ``check`` lines of all files (in one test, because blessing rewrites whole files)."""
    wrong = []
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        checks = [(rest, index) for word, rest, index in directives(text) if word == "check"]
        if not checks:
            continue
        compiler = pytest.importorskip("loopwright.compiler")
        registry = pytest.importorskip("loopwright.targets.registry")
        lines = text.split("\n")
        for rest, index in reversed(checks):
            match = CHECK.fullmatch(rest)
            assert match, f"{path.name}:{index + 1}: expected `check after=PASS target=NAME:`"
            made = functions(text, path.name)
            f = made[match[3]] if match[3] else next(iter(made.values()))
            target = registry.get(match[2])
            got = [f";   {line}" for line in print_function(compiler.run_passes(f, target, after=match[1]), target).rstrip("\n").split("\n")]
            end = index + 1
            while end < len(lines) and lines[end].startswith(";   "):
                end += 1
            if lines[index + 1 : end] != got:
                wrong.append(f"{path.name}:{index + 1}: after {match[1]} for {match[2]}:\n" + "\n".join(got))
                lines[index + 1 : end] = got
        if bless:
            path.write_text("\n".join(lines), encoding="utf-8")
    assert bless or not wrong, "\n\n".join(wrong) + "\n\n(pytest --bless accepts these)"
