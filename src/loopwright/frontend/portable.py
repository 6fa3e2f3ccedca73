"""Kernels and functions by value: what travels to another process when no module there would have them.

Pickling a function writes down its module and name. That does for what can be imported, and for kernels too. A kernel of ``__main__``, of a notebook
or from inside a function goes by value: its text, the values of the names it uses (of its module and of the functions around it), its
defaults, annotations and options. So do the functions it uses, and theirs; modules go by name, C functions by library and name.

The text, and not the code compiled from it, because staging needs the text, and because code is good for one version of Python only. What has been compiled
to machine code stays behind.
"""

from __future__ import annotations

import ast
import builtins
import ctypes
import importlib
import sys
import weakref
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, Final

from loopwright.errors import KernelSyntaxError
from loopwright.frontend.native_calls import C_FUNCTION
from loopwright.frontend.source import GIVEN, compiled, defined, source_of, texts_of, without_source

__all__ = ["fill", "function_of", "leads_back", "written"]

#: Modules that another process has others under the names of.
_MAIN: Final = ("__main__", "__mp_main__")

#: How a function is written down: (name, qualified name, module, file, number of the first line, text, names taken from its surroundings, flags of the compiler).
Form = tuple[str, str, str, str, int, str, tuple[str, ...], int]

#: The values of the names it uses: of its module, of the functions around it; the defaults of its parameters.
State = tuple[dict[str, Any], dict[str, Any], tuple[Any, ...] | None, dict[str, Any] | None]


def written(function: FunctionType) -> tuple[Form, State]:
    """A function written down, and the values that it uses. Raises ``KernelSyntaxError`` where its source cannot be read."""
    form = _form(function)
    if form is None:
        source_of(function)
        raise without_source(function)
    return form, _state(function)


def leads_back(function: FunctionType, made: object) -> bool:
    """Whether a function, or the kernel made of it, is what its module has under its name."""
    if function.__module__ in _MAIN:
        return False
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is made


# --- functions -------------------------------------------------------------------------------------------------


def _form(function: FunctionType) -> Form | None:
    """How a function is written down; None when its source cannot be read."""
    code = function.__code__
    if code.co_name == "<lambda>":
        found = _lambda(function)
        if found is None:
            return None
        first, text = found
    else:
        try:
            source = source_of(function)
        except KernelSyntaxError:
            return None
        if source is None:
            return None
        first, last = source.node.lineno, source.node.end_lineno or source.node.lineno
        text = "".join([source.lines[n] + "\n" for n in range(first, last + 1)])
    return code.co_name, function.__qualname__, function.__module__, code.co_filename, first, text, code.co_freevars, code.co_flags


def _lambda(function: FunctionType) -> tuple[int, str] | None:
    """The first line and the text of a lambda."""
    code = function.__code__
    given = getattr(function, GIVEN, None)
    if given is not None:
        return code.co_firstlineno, given
    for lines in texts_of(function):
        whole = "".join(lines)
        try:
            tree = ast.parse(whole)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno and compiled(node, function) is not None:
                return node.lineno, ast.get_source_segment(whole, node) or ""
    return None


def function_of(form: Form) -> FunctionType:
    """The function written down, without the values of the names it uses."""
    name, qualified, module, file, first, text, free, flags = form
    code = defined(text, first, name, file, free, flags)
    outside: dict[str, Any] = {"__builtins__": builtins}
    # A text that was executed in a dictionary without a name has none.
    if module is not None:
        outside["__name__"] = module
    made = FunctionType(code, outside, name, None, tuple([CellType() for _ in code.co_freevars]))
    made.__qualname__ = qualified
    made.__module__ = module
    made.__dict__[GIVEN] = text
    return made


def _state(function: FunctionType) -> State:
    """The values a function uses: of names of its module, of names around it, of its parameters by default."""
    code = function.__code__
    outside = function.__globals__
    packer = _Packer({name for part in _codes(code) for name in part.co_names})
    values = {name: packer.packed(outside[name]) for name in sorted(_names(code)) if name in outside}
    around: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            around[name] = packer.packed(cell.cell_contents)
        except ValueError:
            # Not assigned yet.
            continue
    return values, around, packer.packed(function.__defaults__), packer.packed(function.__kwdefaults__)


def fill(function: FunctionType, state: State) -> None:
    """Give a function that was written down the values of the names it uses."""
    values, around, defaults, keyword_defaults = state
    function.__globals__.update(values)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if name in around:
            cell.cell_contents = around[name]
    function.__defaults__ = defaults
    function.__kwdefaults__ = keyword_defaults


def _codes(code: CodeType) -> list[CodeType]:
    found = [code]
    for part in found:
        found += [constant for constant in part.co_consts if isinstance(constant, CodeType)]
    return found


def _names(code: CodeType) -> set[str]:
    """The global names that a code uses."""
    import dis

    return {step.argval for part in _codes(code) for step in dis.get_instructions(part) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}


# --- values ----------------------------------------------------------------------------------------------------


class _Packer:
    """Turns values into what can be pickled: functions that no module has, modules and C functions, alone or in containers; all else stays.

    Args:
        attributes: names that are looked up in something, to tell which of a package's modules are used.
    """

    def __init__(self, attributes: set[str]) -> None:
        self.attributes = attributes
        #: The copies of containers made so far, by the id of the original: one may be in itself.
        self.copies: dict[int, Any] = {}

    def packed(self, value: Any) -> Any:
        kind = type(value)
        if kind in _CONTAINERS:
            return self._copy(kind, value) if self._changes(value, set()) else value
        if kind is FunctionType:
            return value if leads_back(value, value) else _by_value(value)
        if kind is ModuleType:
            return _Module(value, self.attributes)
        if isinstance(value, ctypes.CDLL):
            return _Library(value)
        if isinstance(value, C_FUNCTION):
            return _CFunction(value) if _library_of(value) is not None else value
        return value

    def _changes(self, value: Any, seen: set[int]) -> bool:
        """Whether something in a container does not stay as it is."""
        if type(value) not in _CONTAINERS:
            return self.packed(value) is not value
        if id(value) in seen:
            return False
        seen.add(id(value))
        return any(self._changes(item, seen) for item in (value.values() if type(value) is dict else value))

    def _copy(self, kind: type, value: Any) -> Any:
        made = self.copies.get(id(value))
        if made is not None:
            return made
        if kind is list:
            made = self.copies[id(value)] = []
            made += [self.packed(item) for item in value]
        elif kind is dict:
            made = self.copies[id(value)] = {}
            made.update({key: self.packed(item) for key, item in value.items()})
        else:
            made = kind([self.packed(item) for item in value])
        return made


_CONTAINERS: Final = (tuple, list, set, frozenset, dict)


class _Function:
    """Stands in a pickle for a function that goes by value."""

    __slots__ = ("__weakref__", "form", "function")

    def __init__(self, function: FunctionType, form: Form) -> None:
        self.function = function
        self.form = form

    def __reduce__(self) -> tuple[Any, ...]:
        return function_of, (self.form,), _state(self.function), None, None, fill


#: One for each function while it is being pickled, so that functions which use each other, or themselves, are written down once.
_travelling: Final[weakref.WeakValueDictionary[int, _Function]] = weakref.WeakValueDictionary()


def _by_value(function: FunctionType) -> Any:
    known = _travelling.get(id(function))
    if known is not None:
        return known
    form = _form(function)
    if form is None:
        # Without a source it is the pickler's own affair; cloudpickle knows a way.
        return function
    made = _travelling[id(function)] = _Function(function, form)
    return made


class _Module:
    """Stands in a pickle for a module, and for the modules inside it that are used by way of it."""

    __slots__ = ("names",)

    def __init__(self, module: ModuleType, attributes: set[str]) -> None:
        start = module.__name__ + "."
        inside = [name for name in sys.modules if name.startswith(start) and attributes.issuperset(name[len(start) :].split("."))]
        self.names = (module.__name__, *sorted(inside))

    def __reduce__(self) -> tuple[Any, ...]:
        return _module, self.names


def _module(name: str, *inside: str) -> ModuleType:
    for other in inside:
        importlib.import_module(other)
    return importlib.import_module(name)


class _Library:
    """Stands in a pickle for a library opened with ctypes, with the declarations made of its functions."""

    __slots__ = ("library",)

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library

    def __reduce__(self) -> tuple[Any, ...]:
        functions = {name: (f.argtypes, f.restype) for name, f in vars(self.library).items() if isinstance(f, C_FUNCTION)}
        return _library, (type(self.library), self.library._name, functions)


def _library(kind: type[ctypes.CDLL], name: str | None, functions: dict[str, tuple[Any, Any]]) -> ctypes.CDLL:
    made = kind(name)
    for symbol, (argtypes, restype) in functions.items():
        _declared(made, symbol, argtypes, restype)
    return made


def _declared(library: ctypes.CDLL, symbol: str, argtypes: Any, restype: Any) -> Any:
    function = getattr(library, symbol)
    if argtypes is not None:
        function.argtypes = argtypes
    function.restype = restype
    return function


def _library_of(function: Any) -> ctypes.CDLL | None:
    """The library that a C function is from; None for a callback, and for one made from an address."""
    held = function._objects
    found = held.get("0") if isinstance(held, dict) else None
    return found if isinstance(found, ctypes.CDLL) and hasattr(function, "__name__") else None


class _CFunction:
    """Stands in a pickle for a C function of a library."""

    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        self.function = function

    def __reduce__(self) -> tuple[Any, ...]:
        function = self.function
        library = _library_of(function)
        assert library is not None
        return _c_function, (type(library), library._name, function.__name__, function.argtypes, function.restype)


def _c_function(kind: type[ctypes.CDLL], name: str | None, symbol: str, argtypes: Any, restype: Any) -> Any:
    return _declared(kind(name), symbol, argtypes, restype)
