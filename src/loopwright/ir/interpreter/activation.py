"""Calls while they run: the state of each, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from loopwright.ir.function import Function
from loopwright.ir.heap import Heap
from loopwright.ir.interpreter.preparation import Prepared
from loopwright.ir.memory_model import Memory, Object
from loopwright.types import Type

__all__ = ["Activation", "Program"]


class Program:
    """What all calls of an interpreted program share.

    Attributes:
        target: needed after allocation, and for calls with stack arguments.
        callees: Python functions to call, by the callee's name.
        memory: what may be accessed.
        heap: what of it is allocated.
    """

    __slots__ = ("_prepared", "callees", "heap", "memory", "target")

    def __init__(self, target: Any, callees: Mapping[str, Callable[..., Any]], memory: Memory) -> None:
        self.target = target
        self.callees = callees
        self.memory = memory
        self.heap = Heap(memory)
        #: Of the functions that are called, by identity.
        self._prepared: dict[int, Prepared] = {}

    def prepared(self, f: Function) -> Prepared:
        """A function that is called, prepared once."""
        known = self._prepared.get(id(f))
        if known is None:
            known = self._prepared[id(f)] = Prepared(f, self.target, self.memory)
        return known


class Activation:
    """A call of a function.

    Attributes:
        prepared: the function.
        program: what it shares with the calls around it, and those it makes.
        memory: the program's.
        limit: how many instructions may be executed.
        steps: how many have been, as of the last call it has made, or its end.
        depth: how many calls it is in.
        store: registers, constants and slots; None: there is nothing in it.
        tags: of physical registers and slots, the type that each holds; without such, empty.
        outgoing: the arguments that are on the stack for the next call, with their types, by their places there.
        parts: what the last instruction with several results has made.
        case: how many cases are still to pass before the one that the last ``switch`` chose.
        locals: its local arrays, by number.
        stack: what else is there until it returns.
        record: where a checked function records what failed, unless the caller has its own place for that.
    """

    __slots__ = (
        "case",
        "depth",
        "limit",
        "locals",
        "memory",
        "outgoing",
        "parts",
        "prepared",
        "program",
        "record",
        "stack",
        "steps",
        "store",
        "tags",
    )

    def __init__(self, prepared: Prepared, program: Program, limit: int, depth: int) -> None:
        self.prepared = prepared
        self.program = program
        self.memory = program.memory
        self.limit = limit
        self.steps = 0
        self.depth = depth
        self.store: list[Any] = []
        self.tags: list[Type | None] = []
        self.outgoing: dict[int, tuple[Any, Type]] = {}
        self.parts: list[Any] = []
        self.case = 0
        self.locals: dict[int, Object] = {}
        self.stack: list[Object] = []
        self.record: np.ndarray[Any, Any] | None = None

    def within(self, f: Function) -> Activation:
        """A call of a function in this one, with the instructions that are left."""
        return Activation(self.program.prepared(f), self.program, self.limit - self.steps, self.depth + 1)
