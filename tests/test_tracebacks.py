"""What a user sees of an error: his own call, the statement in the kernel, the calls that lead there; and none of the library's frames."""

from __future__ import annotations

import importlib.util
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import compiler

F = np.float32

MODULE = """\
import numpy as np
import loopwright as lw
import far

def helper(v):
    w = v + 1
    return np.median(w)

def through(v):
    return far.away(v) * 2

def table(n):
    return [1 / k for k in range(n)]

def broken(n):
    raise RuntimeError("no table")

def unwritable(v):
    with v:
        pass

def on_some_paths(v):
    if v > 0:
        return v

def at(v, j):
    return v[j + 1]

def there(v, j):
    return at(v, j)

@lw.kernel
def k(x: lw.Array, how: lw.Const):
    def inner(v):
        w = v * 2
        return w + nosuch

    for i in lw.lanes(len(x)):
        if how == "plain":
            x[i] = nosuch
        if how == "store":
            x[0] = x[i]
        if how == "helper":
            x[i] = 2 * helper(x[i])
        if how == "file":
            x[i] = through(x[i])
        if how == "inner":
            x[i] = inner(x[i])
        if how == "table":
            x[i] = table(3)[0]
        if how == "broken":
            x[i] = broken(3)
        if how == "unwritable":
            x[i] = unwritable(x[i])
        if how == "paths":
            x[i] = on_some_paths(x[i])
        if how == "bounds":
            x[i] = there(x, i)
        if how == "far bounds":
            x[i] = far.at(x, i)
        if how == "pass":
            x[i] = x[i] * x[i]

@lw.kernel
def unparsable(x: lw.Array):
    try:
        x[0] = 1
    except ValueError:
        pass
"""

FAR = """\
def away(v):
    return v & 1

def at(v, j):
    return v[j + 1]
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    folder = tmp_path_factory.mktemp("kernels")
    found: dict[str, ModuleType] = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, text in (("far", FAR), ("near", MODULE)):
            (folder / f"{name}.py").write_text(text)
            spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
            assert spec is not None and spec.loader is not None
            found[name] = importlib.util.module_from_spec(spec)
            patch.setitem(__import__("sys").modules, name, found[name])
            spec.loader.exec_module(found[name])
    return found["near"]


def line_of(text: str, source: str = MODULE) -> int:
    """The number of the line with this text."""
    (number,) = [n for n, line in enumerate(source.splitlines(), 1) if line.strip() == text]
    return number


def raised(call: Callable[[], Any]) -> Any:
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


def frames(error: BaseException) -> list[tuple[str, str]]:
    """(file's name, function) of each entry below the test's own."""
    return [(Path(entry.filename).name, entry.name) for entry in traceback.extract_tb(error.__traceback__)][2:]


def fresh(module: ModuleType) -> Any:
    """The kernel as it is before its first call."""
    return lw.kernel(module.k.function)


X = np.ones(5, F)


@pytest.mark.parametrize("how", ["plain", "store", "helper", "file", "inner", "unwritable", "paths"])
def test_no_frame_of_the_library_is_seen(module: ModuleType, how: str) -> None:
    kernel = fresh(module)
    first = raised(lambda: kernel(X, how))
    again = raised(lambda: kernel(X, how))
    compiled = raised(lambda: kernel.compile(X, how))
    for error in (first, again, compiled):
        assert isinstance(error, lw.LoopwrightError)
        assert frames(error) == []
        assert str(error) == str(first)


def test_no_frame_of_the_library_is_seen_in_errors_of_calls(module: ModuleType) -> None:
    kernel = fresh(module)
    code = kernel.compile(X, "none")
    checked = kernel.compile(X, "bounds", check=True)
    elsewhere = kernel.compile(X, "none", target="rv64gc")
    f = lw.Function("f", x=lw.Array[lw.f32], y=lw.Array[lw.f32])
    with f:
        f.store(f.y, 0, value=f.load(f.x, 0, lanes=4) + f.load(f.x, 1, lanes=4))
    for call in (
        lambda: kernel(3, "none"),
        lambda: kernel(X),
        lambda: kernel(X[::2], "none"),
        lambda: kernel(X, object()),
        lambda: kernel.compile(3),
        lambda: kernel.compile(X, "none", target="abacus"),
        lambda: code(3),
        lambda: code(X[::2]),
        lambda: code(X, 1, 2),
        lambda: checked(X),
        lambda: checked(3),
        lambda: elsewhere(X),
        lambda: f.compile(target="rv64gc"),
    ):
        for _ in range(2):
            error = raised(call)
            assert isinstance(error, lw.LoopwrightError)
            assert frames(error) == [], call


def test_the_message_has_the_statement_and_the_calls_that_lead_to_it(module: ModuleType) -> None:
    file = module.__file__
    far = str(Path(str(file)).with_name("far.py"))
    # What follows the message.
    expected = {
        "plain": (line_of("x[i] = nosuch"), "x[i] = nosuch", []),
        "store": (line_of("x[0] = x[i]"), "x[0] = x[i]", []),
        "helper": (line_of("return np.median(w)"), "return np.median(w)", [(file, "x[i] = 2 * helper(x[i])", "k")]),
        "inner": (line_of("return w + nosuch"), "return w + nosuch", [(file, "x[i] = inner(x[i])", "k")]),
        "unwritable": (line_of("with v:"), "with v:", [(file, "x[i] = unwritable(x[i])", "k")]),
        "paths": (line_of("def on_some_paths(v):"), "def on_some_paths(v):", [(file, "x[i] = on_some_paths(x[i])", "k")]),
    }
    for how, (line, statement, calls) in expected.items():
        error = raised(lambda how=how: fresh(module)(X, how))
        assert (error.file, error.line, error.statement) == (file, line, statement)
        assert error.calls == tuple((where, line_of(text), name, text) for where, text, name in calls)
        chain = "".join(f"\n  called from {where}:{line_of(text)}, in {name}:\n    {text}" for where, text, name in calls)
        assert str(error) == f"{file}:{line}: {error.message}\n    {statement}{chain}"
    error = raised(lambda: fresh(module)(X, "file"))
    assert (error.file, error.line, error.statement) == (far, 2, "return v & 1")
    assert [call[:3] for call in error.calls] == [(file, line_of("return far.away(v) * 2"), "through"), (file, line_of("x[i] = through(x[i])"), "k")]


def test_a_recursion_that_does_not_end_is_shown_once() -> None:
    def again(v: Any) -> Any:
        return again(v + 1)

    @lw.kernel
    def k(x: lw.Array):
        x[0] = again(x[0])

    error = raised(lambda: k(X))
    assert error.statement == "return again(v + 1)"
    assert [call[2] for call in error.calls] == ["k"]


def test_a_syntax_error_is_shown_as_python_shows_them(module: ModuleType) -> None:
    error = raised(lambda: module.unparsable(X))
    assert isinstance(error, SyntaxError)
    shown = traceback.format_exception_only(error)
    assert shown[:2] == [f'  File "{module.__file__}", line {line_of("try:")}\n', "    try:\n"]
    assert "`try` cannot stand in a kernel" in shown[2]
    error = raised(lambda: fresh(module)(X, "unwritable"))
    shown = traceback.format_exception_only(error)
    assert shown[:2] == [f'  File "{module.__file__}", line {line_of("with v:")}\n', "    with v:\n"]
    assert f"called from {module.__file__}:{line_of('x[i] = unwritable(x[i])')}, in k:" in "".join(shown[2:])


def test_the_frames_of_the_users_own_functions_stay(module: ModuleType) -> None:
    error = raised(lambda: fresh(module)(X, "table"))
    assert isinstance(error, lw.KernelTypeError) and error.line == line_of("x[i] = table(3)[0]")
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert [name for file, name in frames_of(error.__cause__) if file == "near.py"][:1] == ["table"]
    assert not any("loopwright" in entry.filename for entry in traceback.extract_tb(error.__cause__.__traceback__))


def frames_of(error: BaseException) -> list[tuple[str, str]]:
    return [(Path(entry.filename).name, entry.name) for entry in traceback.extract_tb(error.__traceback__)]


def test_what_a_users_function_raises_arrives_with_its_frames_and_the_kernels_line(module: ModuleType) -> None:
    error = raised(lambda: fresh(module)(X, "broken"))
    assert type(error) is RuntimeError
    assert frames(error) == [("near.py", "broken")]
    assert error.__notes__ == [f"{module.__file__}:{line_of('x[i] = broken(3)')}: while compiling the kernel"]


def test_an_error_of_python_that_says_nothing_more_is_left_out(module: ModuleType) -> None:
    error = raised(lambda: fresh(module)(X, "plain"))
    assert error.__cause__ is None and error.__suppress_context__


@pytest.mark.parametrize("raises", ["InternalError('in a pass')", "ZeroDivisionError()"])
def test_an_error_of_the_librarys_own_keeps_every_frame(module: ModuleType, monkeypatch: pytest.MonkeyPatch, raises: str) -> None:
    scope: dict[str, Any] = {"__name__": "loopwright.of_the_test"}
    exec(f"from loopwright.errors import InternalError\ndef fails(*args, **named): raise {raises}", scope)  # noqa: S102
    monkeypatch.setattr(compiler, "compile", scope["fails"])
    for call in (lambda: fresh(module)(X, "pass"), lambda: fresh(module).compile(X, "pass")):
        error = raised(call)
        assert type(error).__name__ == raises.partition("(")[0]
        assert frames(error)[-2:] == [("jit.py", "compile"), ("<string>", "fails")]


def test_the_environment_asks_for_every_frame(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPWRIGHT_FULL_TRACEBACK", "1")
    error = raised(lambda: fresh(module)(X, "plain"))
    assert ("staging.py", "evaluate") in frames(error)
    assert isinstance(error.__cause__, NameError)
    monkeypatch.setenv("LOOPWRIGHT_FULL_TRACEBACK", "0")
    assert frames(raised(lambda: fresh(module)(X, "plain"))) == []


@pytest.mark.parametrize("how", ["plain", "helper", "file", "unwritable"])
def test_the_statement_and_the_calls_survive_pickling(module: ModuleType, how: str) -> None:
    error = raised(lambda: fresh(module)(X, how))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.file, again.line, again.statement, again.calls) == (str(error), error.file, error.line, error.statement, error.calls)
    assert traceback.format_exception_only(again) == traceback.format_exception_only(error)


@pytest.mark.parametrize("cls", [cls for name in lw.errors.__all__ if issubclass(cls := getattr(lw.errors, name), lw.LoopwrightError)])
def test_every_error_can_have_a_statement_and_calls_and_keeps_them(cls: type[lw.LoopwrightError]) -> None:
    error = cls("no such thing", 1, 2) if cls is lw.ParseError else cls("no such thing")  # type: ignore[arg-type, call-arg]
    error.locate("kernel.py", 7, "x[0] = y")
    error.called_from("kernel.py", 9, "k", "f(x)")
    error.called_from("other.py", 3, "main", "k(x)")
    assert str(error).endswith("no such thing\n    x[0] = y\n  called from kernel.py:9, in k:\n    f(x)\n  called from other.py:3, in main:\n    k(x)")
    assert str(error).startswith("kernel.py:7: ")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(error, protocol))
        assert (type(again), str(again), again.statement, again.calls) == (cls, str(error), error.statement, error.calls)
        assert traceback.format_exception_only(again) == traceback.format_exception_only(error)


def test_an_access_outside_its_array_in_a_function_that_was_inlined_names_the_calls(module: ModuleType) -> None:
    error = raised(lambda: lw.kernel(module.k.function, check=True)(X.copy(), "bounds"))
    assert isinstance(error, lw.BoundsError) and error.line == line_of("return v[j + 1]")
    calls = f"called from line {line_of('return at(v, j)')}: return at(v, j), called from line {line_of('x[i] = there(x, i)')}: x[i] = there(x, i)"
    assert f"(return v[j + 1], {calls})" in error.message
    error = raised(lambda: lw.kernel(module.k.function, check=True)(X.copy(), "far bounds"))
    line = line_of("x[i] = far.at(x, i)")
    assert error.line == line
    assert f"far.py:5, called from line {line}: x[i] = far.at(x, i))" in error.message
