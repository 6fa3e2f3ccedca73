"""Where a kernel's source comes from, and that it is the kernel's own."""

from __future__ import annotations

import doctest
import importlib.util
import linecache
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import loopwright as lw

X = np.arange(4, dtype=np.float32)


def load(path: Path, text: str) -> ModuleType:
    path.write_text(textwrap.dedent(text))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


# --- files -----------------------------------------------------------------------------------------------------


KERNEL = """
import loopwright as lw

def helper(v):
    return v + nosuch

@lw.kernel
def k(x: lw.Array):
    for i in lw.lanes(len(x)):
        x[i] = helper(x[i])

@lw.kernel(check=True)
def outside(x: lw.Array):
    x[len(x)] = 1
"""


def test_files_of_the_same_text_have_errors_and_listings_of_their_own(tmp_path: Path) -> None:
    one, two = (load(tmp_path / f"{name}.py", KERNEL) for name in ("one", "two"))
    assert one.k.function.__code__ == two.k.function.__code__
    for module in (one, two):
        with pytest.raises(lw.KernelTypeError) as caught:
            module.k(X.copy())
        assert caught.value.file == module.__file__
        assert [call[0] for call in caught.value.calls] == [module.__file__]
        with pytest.raises(lw.BoundsError) as bounds:
            module.outside(X.copy())
        assert bounds.value.file == module.__file__
        assert f"; {module.__file__}:14: x[len(x)] = 1" in module.outside.compile(X, check=False).asm()


def test_a_file_that_has_changed_since_it_was_imported_is_noticed(tmp_path: Path) -> None:
    module = load(tmp_path / "changed.py", KERNEL)
    (tmp_path / "changed.py").write_text("# One line more.\n" + textwrap.dedent(KERNEL))
    with pytest.raises(lw.KernelSyntaxError, match="is not at line 7 of its file, which has changed since it was imported") as caught:
        module.k(X.copy())
    assert (caught.value.file, caught.value.line) == (module.__file__, 7)


def test_definitions_that_are_hard_to_delimit(tmp_path: Path) -> None:
    module = load(
        tmp_path / "odd.py",
        '''
        import loopwright as lw

        def made():
            if True:
                @lw.kernel(
                    contract=False,
                )
                def k(
                    x: lw.Array,
                    n: lw.Const = (
            1,
                    ),
                ):
                    """Has

        lines at the margin."""
        # A comment at the margin.
                    text = """
        more of them"""
                    x[0] = len(text) + n[0] + (
            3)
                    return
                    never = """
        here too"""
                return k

        def one_line(v): return v + 1

        @lw.kernel
        def last(x: lw.Array): x[0] = one_line(x[0])''',
    )
    x = X.copy()
    module.made()(x)
    assert x[0] == len("\nmore of them") + 4
    module.last(x)
    assert x[0] == len("\nmore of them") + 5


# --- what linecache knows --------------------------------------------------------------------------------------


def executed(program: str, file: str, **names: Any) -> dict[str, Any]:
    scope: dict[str, Any] = {"lw": lw, **names}
    exec(compile(program, file, "exec"), scope)  # noqa: S102 (texts of this file alone)
    return scope


GOOD = "@lw.kernel\ndef k(x: lw.Array):\n    x[0] = 7\n"


def test_a_cell_of_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    file = "<ipython-input-3-0123456789ab>"
    monkeypatch.setitem(linecache.cache, file, (len(GOOD), None, GOOD.splitlines(True), file))
    x = X.copy()
    executed(GOOD, file)["k"](x)
    assert x[0] == 7


def test_a_source_that_is_made_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    file = "generated/by/a/loader.py"

    class Loader:
        def get_source(self, name: str) -> str:
            return GOOD

    x = X.copy()
    executed(GOOD, file, __name__="generated", __loader__=Loader())["k"](x)
    assert x[0] == 7
    linecache.cache.pop(file, None)
    monkeypatch.setitem(linecache.cache, "lazy.py", (lambda: GOOD,))
    executed(GOOD, "lazy.py")["k"](x)
    assert x[0] == 7


def test_an_example_of_doctest() -> None:
    text = """
    >>> import numpy as np, loopwright as lw
    >>> @lw.kernel
    ... def k(x: lw.Array):
    ...     for i in lw.lanes(len(x)):
    ...         x[i] = x[i] * 2
    >>> x = np.ones(3)
    >>> k(x)
    >>> x
    array([2., 2., 2.])
    """
    test = doctest.DocTestParser().get_doctest(text, {}, "example", "example.py", 0)
    assert doctest.DocTestRunner(verbose=False).run(test) == doctest.TestResults(0, 5)


def test_a_pseudo_file_that_was_used_twice_is_not_taken_for_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(linecache.cache, "<string>", (len(GOOD), None, GOOD.splitlines(True), "<string>"))
    kernel = executed(GOOD.replace("7", "8"), "<string>")["k"]
    with pytest.raises(lw.KernelSyntaxError, match=r"cannot be read, .*@lw.kernel\(source=text\)"):
        kernel(X.copy())


PROGRAM = """
import numpy as np
import loopwright as lw

def helper(v):
    if v > 1:
        return v * 2
    return v

@lw.kernel
def k(x: lw.Array):
    for i in lw.lanes(len(x)):
        x[i] = helper(x[i])

x = np.arange(4.0)
k(x)
print(x.tolist())
try:
    exec("@lw.kernel\\ndef k(x: lw.Array):\\n    x[0] = 1\\n")
    k(x)
except lw.KernelSyntaxError as error:
    print(error)
"""


def run(arguments: list[str], text: str = "") -> str:
    source = str(Path(lw.__file__).parents[1])
    done = subprocess.run([sys.executable, *arguments], input=text, capture_output=True, text=True, timeout=60, env={"PYTHONPATH": source}, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_program_on_the_command_line() -> None:
    told, refused = run(["-c", PROGRAM]).splitlines()
    assert told == "[0.0, 1.0, 4.0, 6.0]"
    assert "the source of k cannot be read" in refused


def test_a_program_on_standard_input_is_told_what_to_do() -> None:
    program = (
        GOOD.replace("@lw.kernel", "import numpy as np, loopwright as lw\n@lw.kernel")
        + "try:\n    k(np.ones(3))\nexcept lw.KernelSyntaxError as error:\n    print(error)\n"
    )
    assert run(["-"], program).startswith("<stdin>:2: the source of k cannot be read, because it was defined by exec, read from standard input")


# --- source= ---------------------------------------------------------------------------------------------------


BODY = """\
def k(x: lw.Array, n: lw.Const = 2) -> lw.f32:
    '''Twice.'''
    def inner(v, w=3):
        return v * w

    total = lw.f32(0)
    for i in lw.lanes(len(x)):
        if x[i] > 1:
            total += inner(x[i]) + n + lw.min(x[i], 1.0)
    return total
"""


@pytest.mark.parametrize(
    "given",
    [
        BODY,
        "@lw.kernel(source=text)\n" + BODY,
        "\n\n" + textwrap.indent(BODY, "    "),
        textwrap.indent("@lw.kernel\n# Twice.\n" + BODY, "\t"),
        "import os\n\ndef k(x):\n    return 3\n\ndef other():\n    pass\n\n" + BODY + "\nk(3)\n",
        "class C:\n    def k(self): pass\n" + textwrap.indent(BODY, "    "),
        BODY.replace("\n\n", "\n\n    # More.\n"),
    ],
)
@pytest.mark.parametrize("before", ["", "\n" * 40, "import loopwright as lw\n"])
def test_a_text_that_is_given(given: str, before: str) -> None:
    scope = executed(f"{before}@lw.kernel(source=text)\n{BODY}", "<string>", text=given)
    assert scope["k"](X) == 2 * 3 + 3 * 3 + 2 * 2 + 2
    code = scope["k"].compile(X)
    first = before.count("\n") + 2
    assert f"; <string>:{first + 8}: total += inner(x[i]) + n + lw.min(x[i], 1.0)" in code.asm()


def test_errors_show_lines_of_the_text_that_is_given() -> None:
    text = "\n\n@lw.kernel(source=text)\ndef k(x: lw.Array):\n    x[0] = 1\n    x[1] = nosuch\n"
    with pytest.raises(lw.KernelTypeError) as caught:
        executed(text, "<string>", text=text)["k"](X.copy())
    assert str(caught.value) == "<string>:6: the name `nosuch` is not defined\n    x[1] = nosuch"
    text = "def k(x: lw.Array):\n    x[0] = 1\n    del x\n"
    with pytest.raises(lw.KernelSyntaxError) as refused:
        lw.kernel(executed(text, "<string>")["k"], source=text)(X.copy())
    assert (refused.value.line, refused.value.statement) == (3, "del x")


HELPED = """
import loopwright as lw

def at_least(x, low):
    for i in lw.range(len(x)):
        if x[i] >= low and x[i] < 9:
            return i
    return lw.i64(-1)

def k(x: lw.Array[lw.f32]) -> lw.i64:
    return at_least(x, 2.0)
"""


def test_the_text_may_hold_what_the_kernel_calls() -> None:
    text = HELPED
    scope = executed(text, "<string>")
    assert lw.kernel(scope["k"], source=text)(X) == 2
    # Not one of another text.
    other = executed(text.replace("-1", "-2"), "<string>")
    scope["at_least"] = other["at_least"]
    with pytest.raises(lw.KernelTypeError, match=r"Python itself ran `at_least`, whose source cannot be read, because it was defined by exec.*source=text"):
        lw.kernel(scope["k"], source=text)(X)
    text = "def k(x: lw.Array[lw.f32]):\n    x[0] = between(x[1])\n"
    between = lambda v: 1 if v > 1 and v < 2 else 0
    with pytest.raises(lw.KernelTypeError, match="Python itself ran a lambda: write it with `def`"):
        lw.kernel(executed(text, "<string>", between=between)["k"], source=text)(X)


def test_the_text_may_use_names_around_the_function_and_imports_from_the_future() -> None:
    text = "from __future__ import annotations\ndef made(scale):\n    @lw.kernel(source=text)\n    def k(x: lw.Array):\n        x[0] = x[0] + scale\n    return k\n"
    scope = executed(text, "<string>", text=text)
    x = np.zeros(3, np.float32)
    scope["made"](3)(x)
    scope["made"](4)(x)
    assert x[0] == 7


FUNCTION = """\
def k(x: lw.Array, n: lw.Const = (1, 2)):
    for i in lw.lanes(len(x)):
        if x[i] < 7 and n[0] in (1, 2):
            x[i] = lw.min(x[i] + 7, -0.0)
    return 7
"""


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("", "is empty"),
        ("  \n\n", "is empty"),
        ("def k(x:\n", r"does not parse: .* \(line 1 of it\)"),
        ("    def k(x):\n  pass", r"does not parse: .* \(line 2 of it\)"),
        ("k = 3", "has no `def k`"),
        (FUNCTION.replace("def k", "def other"), "has no `def k`"),
        (FUNCTION.replace("n: lw", "m: lw"), "the parameters of `def k` are others"),
        (FUNCTION.replace("n: lw.Const = (1, 2)", ""), "the parameters of `def k` are others"),
        (FUNCTION.replace("n: lw", "*, n: lw"), "the parameters of `def k` are others"),
        (FUNCTION.replace("n: lw", "*n: lw").replace(" = (1, 2)):", "):"), "the parameters of `def k` are others"),
        (FUNCTION.replace("x: lw.Array, n", "x: lw.Array, /, n"), "the parameters of `def k` are others"),
        *(
            (FUNCTION.replace(old, new), "differs from what the function does")
            for old, new in (
                ("x[i] + 7", "x[i] + 8"),
                ("x[i] + 7", "x[i] + 7.0"),
                ("x[i] + 7", "x[i] - 7"),
                ("x[i] + 7", "7 + x[i]"),
                ("-0.0", "0.0"),
                ("return 7", "return"),
                ("return 7", "return n"),
                ("< 7", "> 7"),
                ("n[0] in", "n[0] not in"),
                ("in (1, 2):", "in (1, True):"),
                ("lw.min(", "lw.max("),
                ("lw.min(", "min("),
                ("lanes(len(x))", "lanes(len(x), unroll=2)"),
                ("x[i] =", "x[i] +="),
                ("    return 7\n", ""),
            )
        ),
    ],
)
@pytest.mark.parametrize("imports", ["", "import loopwright as lw\n"])
def test_a_text_that_is_not_the_functions(imports: str, given: str, message: str) -> None:
    kernel = lw.kernel(executed(imports + FUNCTION, "<string>")["k"], source=given)
    with pytest.raises(lw.KernelSyntaxError, match=f"the text given as source= .*{message}") as caught:
        kernel.stage(kernel.signature([X], {}))
    assert (caught.value.file, caught.value.line) == ("<string>", 1 + bool(imports))
    kernel = lw.kernel(executed(imports + FUNCTION, "<string>")["k"], source=FUNCTION)
    kernel.stage(kernel.signature([X], {}))


def test_a_text_is_a_string() -> None:
    with pytest.raises(lw.KernelTypeError, match="source= is the text of the function, a string, not list"):
        lw.kernel(lambda x: x, source=[])


def test_two_texts_of_one_code_are_kept_apart() -> None:
    one, two = GOOD.partition("\n")[2], GOOD.partition("\n")[2].replace("= 7", "= 7  # seven")
    for text in (one, two, one):
        kernel = lw.kernel(executed(text, "<string>")["k"], source=text)
        assert f"{text.splitlines()[1].strip()}\n" in kernel.compile(X).asm()
