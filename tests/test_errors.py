"""The library's exceptions as objects: what they carry survives pickling and copying."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Callable
from typing import Any

import pytest

import loopwright
from loopwright import errors

#: What the constructors take, by the name of the parameter.
GIVEN: dict[str, Any] = {"message": "no such thing: as this", "file": "kernel.py", "line": 7, "column": 3, "index": 4, "text": "function f()\nend\n"}


def classes() -> list[type[Exception]]:
    """Every exception of the library's: those of ``errors.py`` and those derived from them in other modules."""
    for module in pkgutil.walk_packages(loopwright.__path__, "loopwright."):
        if "programs" not in module.name and not module.name.endswith("__main__") and ".demo." not in module.name:
            importlib.import_module(module.name)
    found: list[type[Exception]] = []
    waiting: list[type[Exception]] = [errors.LoopwrightError, errors.InternalError]
    while waiting:
        cls = waiting.pop()
        if cls not in found and cls.__module__.startswith("loopwright"):
            found.append(cls)
            waiting += cls.__subclasses__()
    return sorted(found, key=lambda cls: cls.__name__)


CLASSES = classes()


def carried(error: Exception) -> dict[str, Any]:
    """Every attribute of an error that a reader could ask for, but for the traceback."""
    names = [name for name in dir(error) if not name.startswith("_") and not callable(getattr(error, name))]
    return {**{name: getattr(error, name) for name in names}, "notes": getattr(error, "__notes__", []), "str": str(error), "type": type(error)}


def test_the_classes_are_all_found() -> None:
    names = {cls.__name__ for cls in CLASSES}
    assert names >= set(errors.__all__)
    assert names >= {"BracketError", "CorpusError", "ExactError", "InterpreterBoundsError"}


@pytest.mark.parametrize("again", [*(lambda e, n=n: pickle.loads(pickle.dumps(e, n)) for n in range(pickle.HIGHEST_PROTOCOL + 1)), copy.copy, copy.deepcopy])
@pytest.mark.parametrize("cls", CLASSES)
def test_errors_survive_pickling_and_copying(cls: type[Exception], again: Callable[[Exception], Exception]) -> None:
    error = cls(*(GIVEN[name] for name in inspect.signature(cls).parameters))
    error.add_note("while compiling k")
    assert carried(again(error)) == carried(error)
    # The compiler fills in the file where a pass did not know it.
    if isinstance(error, errors.LoopwrightError):
        error.file, error.line = "other.py", 9
    if isinstance(error, SyntaxError):
        error.text, error.offset, error.end_lineno, error.end_offset = "x = )", 5, 7, 6
    assert carried(again(error)) == carried(error)
