"""Calls inside kernels: what is inlined, what is called while compiling, and what at run time."""

from __future__ import annotations

import functools
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final

import numpy as np

from loopwright.errors import KernelSyntaxError, KernelTypeError
from loopwright.frontend.annotations import type_of_dtype
from loopwright.frontend.array_functions import local
from loopwright.frontend.arrays import local_array
from loopwright.frontend.complex_numbers import Complex, is_complex
from loopwright.frontend.containers import changes_once, close, enter, may_change, protect, refuse_length
from loopwright.frontend.element_types import ElementType
from loopwright.frontend.emitter import Emitter
from loopwright.frontend.equivalents import equivalent, loop_for
from loopwright.frontend.expr import Value, describe, is_number, is_staged, python_integer
from loopwright.frontend.flow import RESULT
from loopwright.frontend.instead import is_numpys, refuse
from loopwright.frontend.merging import merge
from loopwright.frontend.native_calls import C_FUNCTION, call_native, native_call
from loopwright.frontend.numpy_arrays import make, makes
from loopwright.frontend.once import refuse_stateful, refuse_text
from loopwright.frontend.parse import parse, parse_if_possible
from loopwright.frontend.printing import debug_print, print_values
from loopwright.frontend.program import Parsed
from loopwright.frontend.source import why_not
from loopwright.frontend.staging import Staging
from loopwright.frontend.state import ENDED, FALLS, RETURN, Activation, Edge, Inlined
from loopwright.frontend.walks import walk_made
from loopwright.ir import ops
from loopwright.types import BOOL, COMPLEX128, F64, VOID, Type

__all__ = ["Inner", "call", "inline", "outside_names", "reduce"]

#: Functions inlined within each other at most: more is a recursion that does not end.
DEPTH_LIMIT: Final = 64

_OURS: Final = "loopwright"
_MUTATING: Final = frozenset(("append", "extend", "insert", "pop", "remove", "clear", "update", "add", "discard", "setdefault", "popitem", "sort", "reverse"))


class Inner:
    """A function defined inside a kernel: inlined where it is called."""

    __slots__ = ("defaults", "owner", "parsed")

    def __init__(self, parsed: Parsed, owner: Activation, defaults: dict[str, Any]) -> None:
        self.parsed = parsed
        self.owner = owner
        self.defaults = defaults


def call(s: Staging, function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A call in a kernel."""
    kind = type(function)
    if kind is FunctionType:
        if function.__globals__.get("__name__", "").partition(".")[0] == _OURS:
            if function is native_call:
                if not args:
                    s.emitter.fail("lw.call takes the function, then its arguments, as in lw.call(libm.sin, x[i])")
                return call_native(s.emitter, args[0], args[1:], named)
            if function is debug_print:
                print_values(s.emitter, args, named)
                return None
            if function is local:
                if not args or named:
                    s.emitter.fail("lw.local takes the element type, then the extents by position, as in lw.local(lw.f32, 64)")
                return local_array(s.emitter, args[0], args[1:], s.act.statement(s.emitter.at_line))
            return function(*args, **named)
        if not is_numpys(function) and (is_staged(args) or is_staged(tuple(named.values())) or _captures(function) or may_change(s, args)):
            parsed = _parsed(s, function)
            if parsed is not None:
                return inline(s, parsed, function, args, named)
    elif kind is type:
        if function is enumerate or function is zip or function is reversed:
            walk = walk_made(s.emitter, function, args, named)
            if walk is not None:
                return walk
        # None of the following: a class is called as it is, but for what Python converts numbers with.
        if (function is int or function is float or function is bool) and len(args) == 1 and not named and isinstance(args[0], Value):
            return _as_python(function, args[0])
        if function is str and args:
            refuse_text(s, args[0])
        if function is complex and 1 <= len(args) <= 2 and not named and any(isinstance(arg, (Value, Complex)) for arg in args):
            return _convert(s.emitter, COMPLEX128, args, named)
    elif kind is Inner:
        return _inline_inner(s, function, args, named)
    elif hasattr(kind, "__inlined__"):
        return inline(s, parse(function.function), function.function, args, named)
    elif isinstance(function, Type):
        return _convert(s.emitter, function, args, named)
    elif kind is ElementType:
        return _convert(s.emitter, function.of, args, named)
    elif isinstance(function, C_FUNCTION) or hasattr(kind, "__callee__"):
        return call_native(s.emitter, function, args, named)
    elif kind is partial:
        return call(s, function.func, (*function.args, *args), {**function.keywords, **named})
    elif kind is MethodType and isinstance(function.__func__, FunctionType) and is_staged(args) and function.__func__.__globals__.get("__name__") != "random":
        parsed = _parsed(s, function.__func__)
        if parsed is not None:
            return inline(s, parsed, function.__func__, (function.__self__, *args), named)
    elif kind.__module__.partition(".")[0] == "numba" and isinstance(getattr(function, "py_func", None), FunctionType):
        return call(s, function.py_func, args, named)
    emitter = s.emitter
    staged = bool(args) and is_staged(args)
    refuse_stateful(s, function, args)
    if kind is BuiltinFunctionType or isinstance(function, np.ufunc) or is_numpys(function):
        if staged:
            if kind is type and issubclass(function, np.generic):
                # np.uint8(x[i])
                type_ = type_of_dtype(function)
                if type_ is not None:
                    return _convert(emitter, type_, args, named)
            ours = equivalent(function, len(args), bool(named))
            if ours is not None:
                return ours(*args, **named)
            loop = loop_for(function)
            if loop is not None and len(args) > 1 and not named:
                return functools.reduce(lambda a, b: inline(s, parse(loop), loop, (a, b), {}), args)
            refuse(emitter, function, bool(named))
        if makes(function):
            return make(s, function, args, named)
        owner = getattr(function, "__self__", None)
        if isinstance(owner, (list, dict, set)) and getattr(function, "__name__", "") in _MUTATING and (s.cells.get(id(owner)) or _older(s, owner)):
            refuse_length(s, owner, f".{function.__name__}()")
    if staged:
        args = tuple([emitter.snapshot(arg) for arg in args])
    if named and is_staged(tuple(named.values())):
        named = {name: emitter.snapshot(value) for name, value in named.items()}
    try:
        result = _watched(s, function, args, named) if s.open else function(*args, **named)
    except KernelTypeError as error:
        if staged and kind is FunctionType and function.__globals__.get("__name__", "").partition(".")[0] != _OURS:
            _run_by_python(function, error)
        raise
    if (type(result) is list or type(result) is dict) and (function in (list, dict, sorted) or getattr(function, "__name__", "") == "copy"):
        s.new(result)
    return result


def _parsed(s: Staging, function: FunctionType) -> Parsed | None:
    """The parsed form of a function that is called, or None when its source cannot be read. The text given with the kernel may be that of a whole program."""
    parsed = parse_if_possible(function)
    if parsed is None and s.text is not None and function.__globals__ is s.scope:
        parsed = parse_if_possible(function, s.text)
    return parsed


def _run_by_python(function: FunctionType, error: KernelTypeError) -> None:
    """Say with an error that Python ran a function itself, with run-time values, and why."""
    if "Python itself ran" not in error.message:
        name = function.__name__
        if name == "<lambda>":
            why = "a lambda: write it with `def`"
        else:
            why = (
                f"`{name}`, whose source cannot be read, because {why_not(function)}: the text given with the kernel, @lw.kernel(source=text), may hold it, too"
            )
        error.message = f"{error.message}. Python itself ran {why}"


def _convert(emitter: Emitter, type_: Type, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A type that is called."""
    if type_.is_complex and len(args) == 2 and not named:
        return type_(*args)
    if len(args) != 1 or named:
        emitter.fail(f"lw.{type_}(…) takes one value, without a name; {len(args) + len(named)} {'was' if len(args) + len(named) == 1 else 'were'} given")
    value = args[0]
    if not (isinstance(value, Value) or is_number(value) or is_complex(value) or isinstance(value, (np.generic, np.ndarray))):
        emitter.fail(f"lw.{type_}(…) converts a number, not {describe(value)}")
    return type_(value)


def _as_python(function: Any, value: Value) -> Any:
    """Python's ``int``, ``float`` and ``bool`` of a run-time value: i64 (u64 where it is one), f64, and whether it is not 0."""
    if function is bool:
        return value if value.type is BOOL else value != 0
    if function is float:
        return F64(value)
    return python_integer(value)


def _watched(s: Staging, function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Call Python code under run-time control flow: it must not change lists, dictionaries and iterators from before."""
    emitter = s.emitter
    before: list[tuple[Any, list[int]]] = []
    for value in (*args, *named.values()):
        if function is next and emitter.region:
            bound = [region for name, region in s.act.regions.items() if s.act.env.get(name) is value]
            if bound and min(bound) != emitter.region:
                emitter.fail("`next` under run-time control flow: it would go on once, while compiling; index a tuple instead")
        if isinstance(value, (list, dict, set)) and _older(s, value):
            before.append((value, _contents(value)))
    result = function(*args, **named)
    for value, contents in before:
        if _contents(value) != contents:
            emitter.fail(
                f"a Python {type(value).__name__} changes under run-time control flow: it would change once, while compiling; use an array argument or variables"
            )
    return result


def _older(s: Staging, container: Any) -> bool:
    """Whether a list, dictionary or set is from before the run-time control flow around."""
    if isinstance(container, set):
        regions = [region for name, region in s.act.regions.items() if s.act.env.get(name) is container]
        return s.emitter.region != 0 and min(regions, default=-1) != s.emitter.region
    return changes_once(s, container)


def _contents(value: Any) -> list[int]:
    """Equal as long as the same objects are in a list, dictionary or set."""
    if isinstance(value, dict):
        return [id(item) for pair in value.items() for item in pair]
    return [id(item) for item in value]


def _captures(function: FunctionType) -> bool:
    return function.__closure__ is not None and any(is_staged(cell.cell_contents) for cell in function.__closure__ if _filled(cell))


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _bind(s: Staging, parsed: Parsed, defaults: dict[str, Any], args: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Parameters to arguments, as Python does."""
    params = parsed.params
    bound: dict[str, Any] = dict(zip(params, args, strict=False))
    if len(args) > len(params):
        if not parsed.varargs:
            s.emitter.fail(f"{parsed.name}() takes {len(params)} arguments, not {len(args)}")
        bound[parsed.varargs] = args[len(params) :]
    elif parsed.varargs:
        bound[parsed.varargs] = ()
    extra: dict[str, Any] = {}
    for name, value in named.items():
        if name in bound and name in params:
            s.emitter.fail(f"{parsed.name}() got `{name}` twice")
        if name in params or name in parsed.keyword_only:
            bound[name] = value
        elif parsed.kwargs:
            extra[name] = value
        else:
            s.emitter.fail(f"{parsed.name}() has no parameter `{name}`")
    if parsed.kwargs:
        bound[parsed.kwargs] = extra
    for name in (*params, *parsed.keyword_only):
        if name not in bound:
            if name not in defaults:
                s.emitter.fail(f"{parsed.name}() needs an argument for `{name}`")
            bound[name] = defaults[name]
    return bound


def outside_names(parsed: Parsed, function: Any) -> dict[str, Any]:
    """The values of the names a function reads from its closure and module."""
    found: dict[str, Any] = {}
    scope = function.__globals__
    closure = function.__closure__
    cells = dict(zip(function.__code__.co_freevars, closure, strict=True)) if closure else {}
    for name in parsed.outside:
        cell = cells.get(name)
        if cell is not None:
            if _filled(cell):
                found[name] = cell.cell_contents
        elif name in scope:
            found[name] = scope[name]
    return found


def inline(s: Staging, parsed: Parsed, function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Stage another Python function's statements in place of a call."""
    defaults: dict[str, Any] = {}
    if function.__defaults__:
        defaults.update(zip(parsed.params[len(parsed.params) - len(function.__defaults__) :], function.__defaults__, strict=True))
    if function.__kwdefaults__:
        defaults.update(function.__kwdefaults__)
    env = outside_names(parsed, function)
    env.update(_bind(s, parsed, defaults, args, named))
    if s.cells:
        protect(s, list(env.values()))
    return _run(s, parsed, env)


def reduce(s: Staging, parsed: Parsed, args: tuple[Any, ...]) -> Any:
    """Stage the loop that ``sum(… for …)`` or one of its like stands for."""
    env = _bind(s, parsed, {}, args, {})
    if s.cells:
        protect(s, list(env.values()))
    return _run(s, parsed, env)


def _inline_inner(s: Staging, function: Inner, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    parsed = function.parsed
    owner = function.owner.env
    env = {name: owner[name] for name in parsed.outside if name in owner}
    env.update(_bind(s, parsed, function.defaults, args, named))
    if s.cells:
        protect(s, list(env.values()))
    return _run(s, parsed, env)


def _run(s: Staging, parsed: Parsed, env: dict[str, Any]) -> Any:
    emitter = s.emitter
    s.equip(env, parsed.hooks)
    if s.depth >= DEPTH_LIMIT:
        raise KernelSyntaxError(
            f"`{parsed.name}` is inlined more than {DEPTH_LIMIT} calls deep: a recursion on run-time values does not end while compiling; write a loop",
            emitter.at_file,
            emitter.at_line,
        )
    if parsed.file == s.file and parsed.line not in emitter.f.lines:
        emitter.f.lines = {**emitter.f.lines, **parsed.lines}
    caller = s.act
    at = (emitter.at_file, emitter.at_line, emitter.line, emitter.region)
    act = Activation(parsed, env, False, (*caller.path, emitter.at_line))
    act.caller = (caller, emitter.at_line)
    branches = len(emitter.branches)
    if parsed.inner_returns:
        inlined = Inlined(caller, act)
        if s.notes:
            enter(s, inlined)
        s.open.append(inlined)
        act.block = emitter.open(ops.BLOCK, VOID, [])
    act.depth = len(emitter.brackets)
    s.act = act
    s.depth += 1
    emitter.at_file = parsed.file
    try:
        status = s.block(parsed.body)
        if act.block is not None:
            last = Edge({RESULT: env[RESULT]} if RESULT in env else {}, act.lines, act.block) if status in (FALLS, RETURN) else None
            end = emitter.drop_block(act.block, branches, bool(act.result))
            close(s)
            edges = act.result
            if last is not None:
                if end is not None:
                    last.anchor = end
                edges.append(last)
            if len(edges) > 1 and any(RESULT not in edge.values for edge in edges) and any(edge.values.get(RESULT) is not None for edge in edges):
                act.missing[RESULT] = ""
                env.pop(RESULT, None)
            else:
                merge(s, edges, {RESULT}, set())
        elif status == ENDED:
            env.setdefault(RESULT, None)
        if RESULT not in env and RESULT in act.missing:
            error = KernelSyntaxError(f"`{parsed.name}` returns a value on some paths only: return one on every path")
            error.locate(parsed.file, parsed.line, parsed.lines.get(parsed.line, "").strip())
            raise error
        result = env.get(RESULT)
        if isinstance(result, Value):
            result.plain() if result.type is VOID else None
        return result
    finally:
        s.act = caller
        s.depth -= 1
        emitter.at_file, emitter.at_line, emitter.line, emitter.region = at
