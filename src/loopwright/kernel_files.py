"""Kernels as a command line names them: by the Python file they are in and their name, and their signatures as words."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from loopwright.errors import LoopwrightError

__all__ = ["find", "load", "parse_signature"]

_NAMED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_TYPE = re.compile(r"([a-z]+[0-9]*)(?:\[(,*)\])?")


# --- signatures ----------------------------------------------------------------------------------------------


def parse_signature(words: Sequence[str]) -> tuple[list[object], dict[str, object]]:
    """The words after ``--`` as positional and named arguments of a kernel's ``compile``."""
    positional: list[object] = []
    named: dict[str, object] = {}
    for word in words:
        match = _NAMED.fullmatch(word)
        if match:
            if match[1] in named:
                raise LoopwrightError(f"the signature gives {match[1]} twice")
            named[match[1]] = _parse_word(match[2])
        elif named:
            raise LoopwrightError(f"'{word}' follows a named parameter; give it a name as well, e.g. x={word}")
        else:
            positional.append(_parse_word(word))
    return positional, named


def _parse_word(word: str) -> object:
    import loopwright as lw

    match = _TYPE.fullmatch(word.strip())
    element = getattr(lw, "bool_" if match[1] == "bool" else match[1], None) if match else None
    if match and isinstance(element, lw.Type):
        return element if match[2] is None else lw.Array[element, len(match[2]) + 1]
    try:
        return ast.literal_eval(word)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        shown = word if len(word) <= 60 else f"{word[:57]}…"
        raise LoopwrightError(f"'{shown}' is neither a type (f32), nor an array (f32[], u8[,]), nor a Python value (3, (1.0, 2.0))") from None


# --- finding a kernel ----------------------------------------------------------------------------------------


def load(path: Path) -> ModuleType:
    """Import a Python file by its path; its neighbours can be imported by it, as when it is run."""
    if not path.is_file():
        raise LoopwrightError(f"{path} is a directory" if path.is_dir() else f"there is no file {path}")
    known = sys.modules.get(path.stem)
    # A file that is called like a module which others import does not take its place.
    name = path.stem if known is None or getattr(known, "__file__", None) == str(path) else f"{path.stem} ({path})"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise LoopwrightError(f"{path} is not a Python file: its name does not end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except (LoopwrightError, KeyboardInterrupt):
        raise
    except BaseException as reason:  # (a program that ends, too)
        raise LoopwrightError(f"running {path} ended in {type(reason).__name__}: {reason}") from reason
    return module


def find(reference: str) -> Any:
    """What ``FILE:KERNEL`` names: a kernel or a ``Function``."""
    import loopwright as lw

    file, colon, name = reference.rpartition(":")
    if not colon or not file:
        raise LoopwrightError(f"'{reference}' should be FILE:KERNEL, for example examples/polynomial.py:poly")
    module = load(Path(file))
    kinds = (lw.Kernel, lw.Function)
    found = getattr(module, name, None)
    if isinstance(found, kinds):
        return found
    there = [key for key, value in vars(module).items() if isinstance(value, kinds)]
    listed = f"it has {', '.join(there)}" if there else "it has no function under @lw.kernel and no lw.Function"
    raise LoopwrightError(f"{file} has no kernel '{name}'; {listed}")
