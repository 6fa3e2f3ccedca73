"""C programs for processors that the library simulates: linked with the run-time library, and run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import BinaryIO, Final

from loopwright import compiler
from loopwright.cc import clang
from loopwright.cc.jumps import JUMPS, assembled
from loopwright.cc.library import library, named_by, translated
from loopwright.errors import LoopwrightError
from loopwright.ir.function import Function
from loopwright.ir.globals import Global
from loopwright.settings import Settings
from loopwright.targets.multiclet.calling import ARGUMENTS, RETURN
from loopwright.targets.multiclet.linker import Program, link
from loopwright.targets.multiclet.modules import one_unit
from loopwright.targets.multiclet.parameters import Processor
from loopwright.targets.multiclet.program import Unit
from loopwright.targets.multiclet.services import Services
from loopwright.targets.multiclet.simulator import Simulator
from loopwright.targets.multiclet.target import Multiclet
from loopwright.targets.multiclet.writing import Written

__all__ = ["MEMORY", "Streams", "build", "run"]

#: Bytes of memory, and how many of them are the stack.
MEMORY: Final = 1 << 26
_STACK: Final = 1 << 23
#: What the program is begun with: the library's names.
_ROOTS: Final = ("__start", "__heap_begin", "__heap_end", "__status")


def build(read: bytes, file: str, target: Multiclet, settings: Settings | None = None, processor: Processor | None = None) -> Program:
    """A program that can be run.

    Args:
        read: the program as bitcode.
        file: what it is called in messages.
        target: the processor that it is compiled for.
        settings: the passes, as those of ``kernel.compile``.
        processor: the one that it will run on, where that has other parameters.

    Raises:
        LoopwrightError: it has no ``main``, or asks for what neither it nor the run-time library has.
    """
    if not target.program:
        target = Multiclet(target.processor, program=True)
    asked = settings if settings is not None else Settings()
    known = library()
    module = translated(read, file, known.has)
    if "main" not in module.functions:
        raise LoopwrightError("the program has no function main")
    local = set(clang.local_names(read))
    own, outside = _reached(module.functions, module.globals)
    given = (set(module.functions) | set(module.globals)) - local
    needed = known.needed([*outside, *_ROOTS], given)
    asked_for = outside.union(*map(named_by, needed))
    jumps = sorted(JUMPS & asked_for - given)
    found = {each.name for each in needed if each.name not in known.local}.union(jumps)
    missing = [name for name in sorted(outside) if name not in found]
    if missing:
        raise LoopwrightError(f"the program asks for {', '.join(missing)}, which neither it nor the run-time library for {target.name} has")
    compiled = [compiler.compile(each, target, asked) for each in own if isinstance(each, Function)]
    units = [
        one_unit(
            [_unit(each) for each in compiled],
            [each for each in own if isinstance(each, Global)],
            local,
            file,
        ),
        one_unit(
            [_unit(each) for each in known.compiled([each for each in needed if isinstance(each, Function)], target, asked)],
            [each for each in needed if isinstance(each, Global)],
            known.local,
        ),
    ]
    if jumps:
        units.append(assembled(jumps, target.processor, any(each.name == "calls" for each in compiled[0].passes)))
    return link(units, processor if processor is not None else target.processor, "__start", MEMORY)


def _unit(compiled: compiler.Compiled) -> Unit:
    machine = compiled.machine
    assert isinstance(machine, Written)
    return machine.unit


def _reached(functions: dict[str, Function], globals_: dict[str, Global]) -> tuple[list[Function | Global], set[str]]:
    """The functions and globals that ``main`` reaches, and the names that are not among the program's."""
    found: dict[str, Function | Global] = {}
    outside: set[str] = set()
    waiting = ["main"]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        each = functions.get(name) or globals_.get(name)
        if each is None:
            outside.add(name)
            continue
        found[name] = each
        waiting += named_by(each)
    return list(found.values()), outside


class Streams:
    """What a program reads, and where its output goes when it has ended. (It is kept by the simulator until then.)"""

    def __init__(self, given: BinaryIO, output: BinaryIO, errors: BinaryIO) -> None:
        self.given = given
        self.output = output
        self.errors = errors

    def write(self, simulator: Simulator) -> None:
        """Hand the output on."""
        for stream, data in ((self.output, simulator.output), (self.errors, simulator.errors)):
            stream.write(data)
            stream.flush()


def run(program: Program, words: Sequence[str], timing: bool = False, streams: Streams | None = None, limit: int = 0) -> tuple[int, Simulator]:
    """Run a program from its beginning to its end.

    Args:
        program: as ``build`` has made it.
        words: its name and its arguments.
        timing: count cycles.
        streams: what it reads and writes; without them it reads nothing, what it writes is in the simulator alone, and there are no files and no time.
        limit: commands after which to give up; 0 for no limit.

    Returns:
        Its exit status, and the simulator, which has its output.

    Raises:
        SimulationError: a rule of the processor that it breaks, such as an access to no memory.
    """
    simulator = Simulator(program, timing=timing)
    simulator.stack_from(program.memory - _STACK)
    services = Services()
    if streams is not None:
        simulator.input = streams.given
        simulator.service = services
    at = -(-program.end // 16) * 16
    pointers: list[int] = []
    memory = simulator.memory
    for word in words:
        data = os.fsencode(word) + b"\0"
        memory[at : at + len(data)] = data
        pointers.append(at)
        at += len(data)
    at = -(-at // 16) * 16
    table = at
    for pointer in (*pointers, 0):
        memory[at : at + 8] = pointer.to_bytes(8, "little")
        at += 8
    for name, value in (("__heap_begin", -(-at // 16) * 16), ("__heap_end", program.memory - _STACK)):
        place = program.address(name)
        memory[place : place + 8] = value.to_bytes(8, "little")
    try:
        simulator.call("__start", ("l", len(words)), ("l", table), limit=limit, registers=(RETURN, *ARGUMENTS))
    finally:
        services.close()
        if streams is not None:
            streams.write(simulator)
    status = program.address("__status")
    return int.from_bytes(memory[status : status + 4], "little", signed=True), simulator
