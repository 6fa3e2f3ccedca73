"""The source text of a Python function: found, or given with it, and checked to be its own.

It comes from, in this order: the text given with the function (``lw.kernel(source=…)``); what ``linecache`` has for its file, which is the file itself, a
notebook's cell, an example of doctest's, whatever a module's loader or another program has put there, and from Python 3.13 on what was typed
at the prompt or passed with ``-c``; the arguments of the interpreter, for ``-c`` before that.

A file may have been changed since it was imported, a pseudo-file such as ``<string>`` may have been used twice. So the name and the parameters must be
those of the function; and, where the text is not from a file, its code as well, compiled again.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from loopwright.errors import KernelSyntaxError

__all__ = ["GIVEN", "Source", "compiled", "defined", "source_of", "texts_of", "why_not", "without_source"]

#: The attribute of a function that holds the text given with it (``source=``).
GIVEN: Final = "__loopwright_source__"

#: Bits of a code object's flags: those that the place of a definition decides (CO_NESTED) are not compared.
_NESTED: Final = 0x10
_VARARGS: Final = 0x04
_VARKEYWORDS: Final = 0x08
#: The flags of ``from __future__ import …`` (``__future__.all_feature_names``).
_FUTURE: Final = 0xFFE0000

Definition = ast.FunctionDef | ast.AsyncFunctionDef


class Source:
    """The source of a function.

    Attributes:
        file: where it is.
        node: the function's definition. Its line numbers are those of the function's code.
        lines: the text of its lines, by number.
    """

    __slots__ = ("file", "lines", "node")

    def __init__(self, file: str, node: Definition, lines: dict[int, str]) -> None:
        self.file = file
        self.node = node
        self.lines = lines


def source_of(function: FunctionType, text: str | None = None) -> Source | None:
    """The source of a function, or None when it has none that can be read. ``text`` is one that may have it.

    Raises:
        KernelSyntaxError: what there is, is another function's.
    """
    code = function.__code__
    given = getattr(function, GIVEN, None)
    if given is not None:
        return _given(function, given)
    if text is not None:
        try:
            return _given(function, text)
        except KernelSyntaxError:
            return None
    for lines in texts_of(function):
        made = _in_lines(function, lines)
        if made is not None:
            return made
        if not _is_pseudo(code.co_filename):
            raise KernelSyntaxError(
                f"the definition of {code.co_name} is not at line {code.co_firstlineno} of its file, which has changed since it was imported: import it again",
                code.co_filename,
                code.co_firstlineno,
            )
    return None


def without_source(function: FunctionType) -> KernelSyntaxError:
    """The error for a kernel whose source cannot be read."""
    code = function.__code__
    if code.co_name == "<lambda>":
        return KernelSyntaxError("a lambda cannot be a kernel: write it with `def`", code.co_filename, code.co_firstlineno)
    return KernelSyntaxError(
        f"the source of {code.co_name} cannot be read, because {why_not(function)}: give its text, as in @lw.kernel(source=text), or define it in a file or a notebook's cell",
        code.co_filename,
        code.co_firstlineno,
    )


def why_not(function: FunctionType) -> str:
    """Why the source of a function cannot be read."""
    return "it was defined by exec, read from standard input, or typed at a prompt" if _is_pseudo(function.__code__.co_filename) else "there is no such file"


def texts_of(function: FunctionType) -> Iterator[list[str]]:
    """The lines of the text that a function is from, which may be another's where its file is a pseudo-file that was used twice."""
    file = function.__code__.co_filename
    linecache.checkcache(file)
    lines = linecache.getlines(file, function.__globals__)
    if lines:
        yield lines
    if file == "<string>":
        # What stands after -c is one of these.
        yield from [_lines(text) for text in sys.orig_argv[1:] if "def " in text or "lambda" in text]


def _lines(text: str) -> list[str]:
    # Not splitlines, which also splits where Python's parser does not.
    return [line + "\n" for line in text.split("\n")]


def _is_pseudo(file: str) -> bool:
    return file.startswith("<")


# --- text that was found ---------------------------------------------------------------------------------------


def _in_lines(function: FunctionType, lines: list[str]) -> Source | None:
    """The source of a function in the lines of its file, or None when it is not there."""
    code = function.__code__
    first = code.co_firstlineno
    if not 0 < first <= len(lines):
        return None
    last = _last_line(lines, code)
    node = _parsed(lines[first - 1 : last], first)
    if node is None:
        import inspect

        # A tokenizer in Python: slow, but never taken in.
        try:
            last = first + len(inspect.getblock(lines[first - 1 :])) - 1
        except SyntaxError:
            return None
        node = _parsed(lines[first - 1 : last], first)
    if node is None or node.name != code.co_name or not _has_parameters(node, code):
        return None
    if _is_pseudo(code.co_filename) and compiled(node, function) is None:
        return None
    return Source(code.co_filename, node, {first + k: text.rstrip("\n") for k, text in enumerate(lines[first - 1 : last])})


def _last_line(lines: list[str], code: CodeType) -> int:
    """Number of the last line of a definition: what is indented deeper follows, after the last line that has code."""
    last = max((line for part in _codes(code) for _, _, line in part.co_lines() if line), default=code.co_firstlineno)
    last = min(max(last, code.co_firstlineno), len(lines))
    margin = _indentation(lines[code.co_firstlineno - 1])
    for number in range(last + 1, len(lines) + 1):
        text = lines[number - 1].strip()
        if text and not text.startswith("#"):
            if _indentation(lines[number - 1]) <= margin:
                break
            last = number
    return last


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _indentation(line: str) -> int:
    line = line.expandtabs()
    return len(line) - len(line.lstrip())


def _parsed(lines: list[str], first: int) -> Definition | None:
    """The definition in these lines, the first of which has the number given; None when they do not parse."""
    # Blank lines before it give the nodes their numbers, and a condition around it its indentation: neither text nor tree is gone over again.
    indented = lines[0][:1].isspace()
    if indented and first < 2:
        return None
    try:
        tree = ast.parse("\n" * (first - 2) + "if 1:\n" + "".join(lines) if indented else "\n" * (first - 1) + "".join(lines))
    except SyntaxError:
        return None
    node: ast.stmt = tree.body[0]
    if indented:
        assert isinstance(node, ast.If)
        node = node.body[0]
    return node if isinstance(node, Definition) else None


# --- text that was given ---------------------------------------------------------------------------------------


def _given(function: FunctionType, text: str) -> Source:
    """The source of a function in a text that may contain more, at any place."""
    code = function.__code__
    name = code.co_name

    def wrong(message: str) -> KernelSyntaxError:
        return KernelSyntaxError(f"the text given as source= {message}", code.co_filename, code.co_firstlineno)

    lines = _lines(text)
    blank = 0
    while blank < len(lines) and not lines[blank].strip():
        blank += 1
    if blank == len(lines):
        raise wrong("is empty")
    indented = lines[blank][0].isspace()
    try:
        tree = ast.parse("if 1:\n" + text if indented else text)
    except SyntaxError as error:
        raise wrong(f"does not parse: {error.msg} (line {(error.lineno or 1) - indented} of it)") from None
    nodes = [node for node in ast.walk(tree) if isinstance(node, Definition) and node.name == name]
    if not nodes:
        raise wrong(f"has no `def {name}`")
    nodes = [node for node in nodes if _has_parameters(node, code)]
    if not nodes:
        raise wrong(f"is not that of this function: the parameters of `def {name}` are others")
    for node in nodes:
        again = compiled(node, function)
        if again is not None:
            break
    else:
        raise wrong(f"is not that of this function: what `def {name}` does there differs from what the function does")
    # The last line with code is the same in both, whether the text has the decorators or not.
    moved = _last_code_line(code) - _last_code_line(again)
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    last = node.end_lineno or node.lineno
    ast.increment_lineno(node, moved)
    return Source(code.co_filename, node, {n + moved: lines[n - 1 - indented].rstrip("\n") for n in range(first, last + 1)})


def _last_code_line(code: CodeType) -> int:
    return max((line for _, _, line in code.co_lines() if line), default=code.co_firstlineno)


# --- whether it is the function's ------------------------------------------------------------------------------


def _has_parameters(node: Definition, code: CodeType) -> bool:
    args = node.args
    names = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    if args.vararg is not None:
        names.append(args.vararg)
    if args.kwarg is not None:
        names.append(args.kwarg)
    return (
        (len(args.posonlyargs), len(args.posonlyargs) + len(args.args), len(args.kwonlyargs))
        == (code.co_posonlyargcount, code.co_argcount, code.co_kwonlyargcount)
        and bool(code.co_flags & _VARARGS) == (args.vararg is not None)
        and bool(code.co_flags & _VARKEYWORDS) == (args.kwarg is not None)
        and tuple([name.arg for name in names]) == code.co_varnames[: len(names)]
    )


def compiled(node: Definition | ast.Lambda, like: FunctionType) -> CodeType | None:
    """The code of a definition compiled again, if it does the same as a function; else None."""
    code = like.__code__
    # A call m.f(x) is compiled otherwise where the file imports m.
    imported = [name for name in code.co_names if isinstance(like.__globals__.get(name), ModuleType)]
    made = _compiled(node, code.co_name, code.co_filename, code.co_freevars, imported, code.co_flags)
    return made if made is not None and _same_code(made, code) else None


def defined(text: str, first: int, name: str, file: str, free: tuple[str, ...], flags: int) -> CodeType:
    """The code of a function from its text alone: a ``def`` without decorators, or a lambda.

    Args:
        text: of the definition; its first line has the number ``first``.
        name: of the function.
        file: where it is from.
        free: the names that it takes from the functions around it.
        flags: those of its code, which say what it imports from ``__future__``.
    """
    if name == "<lambda>":
        node: Definition | ast.Lambda | None = _parsed_lambda(text, first)
    else:
        node = _parsed(_lines(text), first)
    made = _compiled(node, name, file, free, [], flags) if node is not None else None
    if made is None:
        raise KernelSyntaxError(f"the text of {name} does not parse", file, first)
    return made


def _parsed_lambda(text: str, first: int) -> ast.Lambda | None:
    try:
        tree = ast.parse("\n" * (first - 1) + "(" + text + "\n)", mode="eval")
    except SyntaxError:
        return None
    return tree.body if isinstance(tree.body, ast.Lambda) else None


def _compiled(node: Definition | ast.Lambda, name: str, file: str, free: tuple[str, ...], imported: list[str], flags: int) -> CodeType | None:
    try:
        return _find(compile(_module(node, free, imported), file, "exec", flags & _FUTURE, dont_inherit=True), name)
    except SyntaxError:
        # Another function of that name, which takes other names from around it.
        return None


def _module(node: Definition | ast.Lambda, free: tuple[str, ...], imported: list[str]) -> ast.Module:
    """A module with the definition in it, undecorated, and without what is evaluated where it stands: defaults and annotations.

    A function around it has the names that it takes from its surroundings, so that it takes them from there again.
    """

    def bare(argument: ast.arg | None) -> ast.arg | None:
        return ast.copy_location(ast.arg(argument.arg), argument) if argument is not None else None

    given = node.args
    args = ast.arguments(
        posonlyargs=[ast.copy_location(ast.arg(a.arg), a) for a in given.posonlyargs],
        args=[ast.copy_location(ast.arg(a.arg), a) for a in given.args],
        vararg=bare(given.vararg),
        kwonlyargs=[ast.copy_location(ast.arg(a.arg), a) for a in given.kwonlyargs],
        kw_defaults=[None] * len(given.kwonlyargs),
        kwarg=bare(given.kwarg),
        defaults=[],
    )
    inner: ast.stmt
    if isinstance(node, ast.Lambda):
        inner = ast.Expr(ast.copy_location(ast.Lambda(args, node.body), node))
    else:
        inner = type(node)(node.name, args, node.body, [])
        # A field from Python 3.12 on.
        setattr(inner, "type_params", [])  # noqa: B010
    inner = ast.copy_location(inner, node)
    if free:
        around = ast.arguments(posonlyargs=[], args=[ast.arg(name) for name in free], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[])
        inner = ast.copy_location(ast.FunctionDef("around", around, [inner], []), node)
        setattr(inner, "type_params", [])  # noqa: B010
    made = ast.Module([*([ast.Import([ast.alias(name) for name in imported])] if imported else []), inner], [])
    return ast.fix_missing_locations(made)


def _find(code: CodeType, name: str) -> CodeType | None:
    """The outermost code of a name within a code."""
    for part in _codes(code):
        if part.co_name == name and part is not code:
            return part
    return None


def _same_code(a: CodeType, b: CodeType) -> bool:
    """Whether two codes do the same, wherever they stand."""
    if (a.co_name, a.co_names, a.co_varnames, a.co_freevars, a.co_cellvars) != (b.co_name, b.co_names, b.co_varnames, b.co_freevars, b.co_cellvars):
        return False
    if (a.co_flags ^ b.co_flags) & ~_NESTED or len(a.co_consts) != len(b.co_consts):
        return False
    if a.co_code != b.co_code and _steps(a) != _steps(b):
        return False
    return all(
        _same_code(x, y)
        if isinstance(x, CodeType) and isinstance(y, CodeType)
        # The first may be the documentation, whose indentation a text that is given need not have.
        else _same_constant(x, y) or position == 0 and type(x) is type(y) is str and x.split() == y.split()
        for position, (x, y) in enumerate(zip(a.co_consts, b.co_consts, strict=True))
    )


def _steps(code: CodeType) -> list[tuple[str, object]]:
    """The instructions of a code, but for the two ways there are to call a method (an object's, or what a file imports)."""
    import dis

    jumps = {*dis.hasjrel, *dis.hasjabs}
    made: list[tuple[str, object]] = []
    for step in dis.get_instructions(code):
        if step.opname not in ("PUSH_NULL", "PRECALL", "EXTENDED_ARG"):
            # The argument of those with a name also says which way it is.
            argument = step.argval if step.opcode in dis.hasname else None if step.opcode in jumps else step.arg
            made.append((step.opname.replace("LOAD_METHOD", "LOAD_ATTR"), argument))
    return made


def _same_constant(x: Any, y: Any) -> bool:
    if type(x) is not type(y):
        return False
    if isinstance(x, tuple):
        return len(x) == len(y) and all(_same_constant(p, q) for p, q in zip(x, y, strict=True))
    if isinstance(x, frozenset):
        return sorted(map(repr, x)) == sorted(map(repr, y))
    # So that 0.0 and -0.0 differ and a NaN does not.
    return repr(x) == repr(y)
