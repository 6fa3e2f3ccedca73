"""What ``compile`` gives a user: code that can be called, looked at, and emulated."""

from __future__ import annotations

import functools
import gc
import os
import platform
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn, Self

import numpy as np

from loopwright.compiler import Compiled, run_passes, text_of
from loopwright.errors import AbiError, CpuError, LoopwrightError, TargetError
from loopwright.ir.function import Function
from loopwright.runtime import cpu, entry, faults, memory
from loopwright.runtime.arrays import ArrayParameter, check_overlap
from loopwright.runtime.call import Signature
from loopwright.runtime.data import place
from loopwright.runtime.link import Linked
from loopwright.runtime.signature import bounds_error, index_groups, passes_scalars, signature_of_function
from loopwright.settings import Settings
from loopwright.targets import registry
from loopwright.targets.pipeline import names_of
from loopwright.targets.target import Target

__all__ = ["Code", "Loaded", "listing", "load"]

Bytes = bytes

#: Name of the pass that looks at loop nests.
NESTS: Final = "nests"


class Loaded:
    """The functions of a module, in memory together if this CPU can run them.

    Attributes:
        linked: where each is.
        block: the memory of the code; ``data`` is that of their globals, or None.
        keep: what the code calls by address lives as long as the code.
    """

    __slots__ = ("block", "data", "keep", "linked")

    def __init__(self, parts: Sequence[Compiled]) -> None:
        if not _watched:
            _watch()
        self.linked = Linked(parts[0], parts[1:])
        self.keep = _kept(self.linked)
        self.block, self.data = place(self.linked)
        memory.tell(self.block, self.linked.parts)


#: Whether faults of compiled code are told of.
_watched = False


def _watch() -> None:
    global _watched
    _watched = True
    faults.install(_found)
    if any(os.environ.get(name, "0") not in ("", "0") for name in (memory.ENVIRONMENT_DEBUGGER, memory.ENVIRONMENT_PERF)):
        from loopwright.runtime import debug

        debug.from_environment()


def _found(at: int) -> Code | None:
    """The code at an address. Called when a process is about to end: nothing is kept for it."""
    for code in gc.get_objects():
        if type(code) is Code and code.address <= at < code.address + len(code.bytes):
            return code
    return None


def load(parts: Sequence[Compiled]) -> dict[str, Code]:
    """The code of a module's functions, by name: one piece of memory, in which they call each other."""
    loaded = Loaded(parts) if parts and _refusal(parts[0].target) is None else None
    return {part.source.name: Code(part, loaded, parts) for part in parts}


class Code(functools.partial[Any]):
    """A function compiled for one target, callable if this CPU can run it.

    ``code(x, y)`` checks the arguments, releases the GIL, and runs the machine code. Arguments are those the function has at run time, by
    position or by name: arrays as ``numpy.ndarray``, scalars as numbers. Code for another machine, or for features this CPU
    lacks, is refused when it is called; looking at it and emulating it is always possible.

    Raises, when called:
        ArgumentError: an argument does not fit; nothing has run.
        CpuError, TargetError: the code cannot run here.
        BoundsError, OverlapError: from code compiled with ``check=True``.

    The memory of the code is given back when nothing refers to this object any more.
    """

    # A `partial` of the function that does the work, without further arguments: so that a call goes through C only. A Python
    # `__call__` would take twice the time of the whole call (measured: 170 ns for 85 ns).

    compiled: Compiled
    signature: Signature
    _block: memory.Block | None
    #: Where the function begins in the block.
    _offset: int
    #: The functions of its module, compiled, where it has one.
    parts: tuple[Compiled, ...]

    def __new__(cls, compiled: Compiled, loaded: Loaded | None = None, parts: Sequence[Compiled] = ()) -> Self:
        signature = signature_of_function(compiled.source)
        refusal = _refusal(compiled.target)
        if refusal is None and not _watched:
            _watch()
        block: memory.Block | None = None
        call: Callable[..., Any]
        offset = 0
        if refusal is not None:
            call = _refuse(refusal)
        elif loaded is not None:
            block = loaded.block
            offset = loaded.linked.offset_of(compiled)
            call = _callable_at(signature, block.address + offset, loaded, compiled.source)
        else:
            machine = compiled.machine
            linked = Linked(compiled) if machine.relocations else None
            way = None if signature.checked else entry.joined(signature, linked.size if linked is not None else len(machine.data))
            behind = way.data if way is not None else b""
            # What the code calls by address lives as long as the code, and so do its globals.
            if linked is None:
                block = memory.allocate(machine.data + behind, machine.align)
                keep: tuple[Any, ...] = (block, _behind(compiled.source))
            else:
                block, own = place(linked, behind)
                keep = (block, own, _kept(linked))
            if memory.LOADED:
                parts_here = linked.parts if linked is not None else [(0, compiled)]
                memory.tell(block, [*parts_here, (way.offset, way.way())] if way is not None else parts_here)
            call = way.function(block, keep) if way is not None else _callable_at(signature, block.address, keep, compiled.source)
        if refusal is None and not passes_scalars(compiled):
            call = _refuse(_struct_passing(compiled.source.name))
        made = super().__new__(cls, call)
        made.compiled = compiled
        made.signature = signature
        made._block = block
        made._offset = offset
        made.parts = tuple(parts)
        return made

    @property
    def call(self) -> Callable[..., Any]:
        """The function that does the work. ``call = code.call`` saves a loop in Python 30 ns a turn."""
        return self.func

    @property
    def name(self) -> str:
        """The function's name."""
        return self.compiled.source.name

    @property
    def target(self) -> Target:
        """What the code was compiled for."""
        return self.compiled.target

    @property
    def times(self) -> dict[str, float]:
        """Seconds spent in each pass, in order."""
        return self.compiled.times

    @property
    def size(self) -> int:
        """Bytes of instructions; constants not counted."""
        return self.compiled.machine.code_size

    @property
    def bytes(self) -> Bytes:
        """Instructions and constants, as they are in memory when the code is loaded here, else as the encoder left them."""
        data = self.compiled.machine.data
        return self._block.read()[self._offset : self._offset + len(data)] if self._block is not None else data

    @property
    def address(self) -> int:
        """Where the code is in this process; 0 when it cannot run here."""
        return self._block.address + self._offset if self._block is not None else 0

    def ir(self, stage: str = "collect") -> str:
        """The text of the function after the pass named (the function is compiled again up to there).

        Raises:
            TargetError: there is no such pass; the message lists them.
        """
        if not isinstance(stage, str):
            raise TargetError(f"a stage is the name of a pass, as in code.ir('allocate'), not {stage!r}")
        compiled = self.compiled
        known = compiled.stages.get(stage)
        if known is None:
            f = run_passes(compiled.source, compiled.target, stage, Settings(ordering=compiled.order), passes=compiled.passes)
            known = text_of(f, compiled.target, stage)
        return known if known.endswith("\n") else known + "\n"

    def asm(self) -> str:
        """The listing: address, bytes and text of each instruction, after the line of Python it comes from; then the constants."""
        return listing(self.compiled, self.address)

    def nests(self) -> Any:
        """What is known of the function's loop nests, what was tried with them, what was done, and why not more (docs/nests.md): a ``nests.report.Report``.

        ``print(code.nests())`` says it in words, ``code.nests().page()`` is an HTML page with pictures. (The function is compiled again up to there.)

        Raises:
            TargetError: the target's passes do not look at nests, or the function comes from text of a later stage.
        """
        # Imported here: with the targets, passes come when something is compiled.
        from loopwright.passes.nests import report

        compiled = self.compiled
        names = names_of(compiled.passes)
        if NESTS not in names:
            raise TargetError(f"the passes for {self.target.name} do not look at loop nests; they are {', '.join(names)}")
        before = names[names.index(NESTS) - 1]
        if compiled.source.stage in names and names.index(compiled.source.stage) >= names.index(NESTS):
            raise TargetError(f"{self.name} comes from text at the stage {compiled.source.stage}: its nests were looked at before")
        return report(run_passes(compiled.source, compiled.target, before, Settings(ordering=compiled.order), passes=compiled.passes), compiled.target)

    def emulate(self, *args: Any) -> Any:
        """Run the code under an emulator of its machine, with the arguments a call would take; arrays are written in place.

        Raises:
            TargetError: there is no emulator for this target here.
        """
        from loopwright.runtime import emulate

        return emulate.run(self, *args)

    def __repr__(self) -> str:
        where = f"at {self.address:#x}" if self.address else "not loaded"
        return f"<Code {self.name} for {self.target.name}, {self.size} bytes {where}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("compiled code cannot be pickled; compile the function where it is needed")


def _behind(f: Function) -> list[Any]:
    """The Python objects behind what a function has the addresses of."""
    return [*(callee.keep for callee in f.callees), *(each.keep for each in f.globals)]


def _kept(linked: Linked) -> list[Any]:
    """The same of linked functions."""
    return [keep for _, part in linked.parts for keep in _behind(part.source)]


def _callable_at(signature: Signature, address: int, keep: object, source: Function) -> Callable[..., Any]:
    """What calls the code at an address, which lives as long as ``keep``."""
    return _checked_wrapper(signature, address, keep, source) if signature.checked else entry.callable_of(signature, address, keep)


def _checked_wrapper(signature: Signature, address: int, keep: object, source: Function) -> Callable[..., Any]:
    parameters = [p for p in signature.parameters if isinstance(p, ArrayParameter)]
    groups = index_groups(source)

    def overlaps(arrays: list[np.ndarray[Any, Any]]) -> None:
        check_overlap(parameters, arrays, groups)

    def fail(errors: Any) -> NoReturn:
        raise bounds_error(source, errors[0], errors[1], errors[2])

    return signature.wrapper(address, keep, overlaps if any(p.written for p in parameters) else None, fail)


# --- where it can run ------------------------------------------------------------------------------------------


#: Targets whose code can run here, with the CPU's features for which that was found.
_admitted: dict[Target, frozenset[str]] = {}
_ADMITTED: Final = 64


def _struct_passing(name: str) -> Callable[[], NoReturn]:
    def refuse() -> NoReturn:
        raise AbiError(f"{name} takes or returns a struct by value: functions of its module call it, and C does, but not Python")

    return refuse


def _refusal(target: Target) -> Callable[[], NoReturn] | None:
    """What raises when code for the target is called here, or None when it can run."""
    features = cpu.host_features()
    if _admitted.get(target) is features:
        return None
    name = target.name
    machine = registry.machine_that_has(target)
    if machine is None or not machine.runs_here():
        emulated = "use code.emulate(…), or " if machine is not None and machine.emulator is not None else ""

        def other_machine() -> NoReturn:
            raise CpuError(f"code for {name} cannot run on this {platform.machine() or 'unknown'} CPU; {emulated}compile without target=")

        return other_machine
    convention = machine.convention_here()
    if target.convention.name != convention:

        def other_convention() -> NoReturn:
            raise TargetError(
                f"code with the calling convention {target.convention.name} cannot be called from this Python, whose convention is {convention}; compile without convention="
            )

        return other_convention
    if not target.features <= features:

        def lacking() -> NoReturn:
            cpu.require(target.features, name)
            raise CpuError(f"code for {name} was compiled when this CPU appeared to lack features it needs; compile it again")

        return lacking
    if len(_admitted) >= _ADMITTED:
        _admitted.clear()
    _admitted[target] = features
    return None


def _refuse(raises: Callable[[], NoReturn]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            raises()
        except LoopwrightError as error:
            from loopwright.tracebacks import shorten

            shorten(error)
            raise

    return call


# --- listings ----------------------------------------------------------------------------------------------------


def listing(compiled: Compiled, address: int = 0) -> str:
    """The listing of a compiled function, by offsets from its first byte, which stands at ``address`` (0: nowhere here)."""
    source, machine = compiled.source, compiled.machine
    rows = compiled.listing()
    # Most instructions fit; longer ones push their text to the right.
    width = min(max((len(data) for _, data, _, _ in rows), default=1), 11) * 3
    place = f", at {address:#x}" if address else ""
    out = [f"; {source.name}, {compiled.target.name}, {machine.code_size} bytes of code, {len(machine.data) - machine.code_size} of constants{place}"]
    shown = 0
    for offset, data, text, line in rows:
        if line and line != shown:
            shown = line
            words = source.lines.get(line, "").rstrip()
            out.append(f"; {source.file}:{line}: {words.strip()}" if source.file else f"; line {line}: {words.strip()}")
        out.append(f"{offset:6x}  {data.hex(' '):{width}} {text}".rstrip())
    pool = machine.data[machine.code_size :]
    if pool:
        out.append("; constants")
        for start in range(0, len(pool), 16):
            out.append(f"{machine.code_size + start:6x}  {pool[start : start + 16].hex(' ')}")
    return "\n".join(out) + "\n"
