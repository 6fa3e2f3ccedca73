"""Recording what is compiled: ``with lw.record(path):``, or ``LOOPWRIGHT_RECORD=path`` in the environment."""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from collections.abc import Iterator
from typing import Final

from loopwright import compiler
from loopwright.corpus.files import Context, CorpusError, append, pack
from loopwright.ir.function import Function
from loopwright.regalloc.heuristics import canonical
from loopwright.targets.target import Target

__all__ = ["Recorder", "context_of", "from_environment", "paused", "record"]

_FOLDERS: Final = re.compile(r".*[\\/]", re.DOTALL)


def context_of(function: Function, target: Target, ordering: str, collection: str = "", name: str = "") -> Context:
    """The context of a compilation.

    Of the source file's path only the name is kept, so that the context is the same wherever the file lies. Of what the function calls
    the signatures are kept: code compiled from the context has symbols where the original had addresses.
    """
    from loopwright import __version__
    from loopwright.ir.text import print_function

    text = print_function(function, target)
    if function.file:
        text = text.replace(f"\n  file {json.dumps(function.file)}\n", f"\n  file {json.dumps(_FOLDERS.sub('', function.file))}\n", 1)
    return Context(text, target.name, target.vector_bits, target.convention.name, canonical(ordering), collection, name or function.name, __version__)


class Recorder:
    """Appends each context that it has not seen yet to a file, before the compilation it belongs to begins. Compilations for processors of the user's own are left out.

    Args:
        path: the corpus; made if it is not there, otherwise appended to.
        collection: what the contexts belong to; "" leaves that to the file's name.
    """

    def __init__(self, path: str | os.PathLike[str], collection: str = "") -> None:
        self.path = os.path.abspath(path)
        self.collection = collection
        self._seen: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, function: Function, target: Target, ordering: str) -> None:
        if target.description is not None:
            # (Who replays the file has names of targets alone.)
            return
        context = context_of(function, target, ordering, self.collection)
        with self._lock:
            if context.identity in self._seen:
                return
            self._seen.add(context.identity)
            append(self.path, [context])

    def __len__(self) -> int:
        return len(self._seen)


@contextlib.contextmanager
def record(path: str | os.PathLike[str], collection: str = "") -> Iterator[Recorder]:
    """Record every compilation, by any thread, until the end of the block; then pack the file.

    ::

        with lw.record("mine.lwc"):
            my_kernel(x, y)

    What the file held before stays in it. A compilation is recorded before it begins, so one that fails is in the file too.

    Raises:
        CorpusError: the file cannot be written, or something else than a corpus is in it. The block has not run then.
    """
    recorder = Recorder(path, collection)
    append(recorder.path, [])
    compiler.RECORDERS.append(recorder)
    try:
        yield recorder
    finally:
        compiler.RECORDERS.remove(recorder)
        pack(recorder.path)


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Nothing is recorded inside: for compiling what a corpus holds."""
    kept = list(compiler.RECORDERS)
    compiler.RECORDERS.clear()
    try:
        yield
    finally:
        compiler.RECORDERS[:] = kept


def from_environment(path: str) -> Recorder:
    """The recorder that ``LOOPWRIGHT_RECORD`` asks for. The file stays a journal: several processes may be at it.

    Raises ``CorpusError`` where the file cannot be written, before anything is compiled.
    """
    try:
        append(path, [])
    except CorpusError as error:
        raise CorpusError(f"{error.message} (it is the environment's {compiler.ENVIRONMENT_RECORD})") from None
    return Recorder(path)
