"""A process that compiles contexts for somebody else: a line of JSON in, a line of JSON out.

It is run as a file, by any interpreter that has some version of loopwright installed, so it must get along with older and newer
ones: it asks of them only ``compiler.compile``, ``ir.parse.parse``, ``targets.registry.get`` and a target's ``listing``; what else
is missing is missing from its answers.

In: ``{"id", "function", "settings": [{"target", "vector_bits", "convention", "ordering"}, …], "listing", "check", "turns", "metrics"}``.
Out: ``{"id", "results": [{metric: number, …, "note", "listing": […], "times": {metric: [number, …]}} or {"error": text}, …]}``, after one
line about the version.

With ``turns``, each setting is compiled as often again, once everything has been compiled once: in turns, because a processor's speed changes
and the first of two pays for what both use, and measured in time of the processor's for this process, in which others do not count.
"""

from __future__ import annotations

import gc
import hashlib
import json
import math
import os
import sys
import time
import traceback
from typing import Any

#: (module, function) of what is taken from the version that is measured; where older versions have it follows.
_SCORE = (("loopwright.costs.perfscore", "perf_score"), ("loopwright.tuning.perfscore", "perf_score"))
_CHECK = (("loopwright.regalloc.checker", "check"),)
_VERIFY = (("loopwright.ir.verify", "verify"),)
_TIMES = ("allocator_time", "compile_time")


def _optional(places: tuple[tuple[str, str], ...]) -> Any:
    """What is in the first of some places that there is; None where there is none of them."""
    import importlib

    for module, name in places:
        try:
            return getattr(importlib.import_module(module), name, None)
        except ImportError:
            continue
    return None


def _number(value: Any) -> float | int | None:
    return value if isinstance(value, (int, float)) and not math.isnan(value) else None


def _settings(ordering: str) -> Any:
    from loopwright.settings import Settings

    return Settings(ordering=ordering)


class Worker:
    """Compiles and measures."""

    def __init__(self) -> None:
        from loopwright import compiler
        from loopwright.ir.parse import parse
        from loopwright.targets import registry

        if hasattr(compiler, "perf_counter"):
            # The clock it times its passes by.
            compiler.perf_counter = time.process_time
        self.compile: Any = compiler.compile
        self.parse: Any = parse
        self.target: Any = registry.get
        self.score: Any = _optional(_SCORE)
        self.verify: Any = _optional(_VERIFY)
        #: Targets something has been compiled for: the first time fills the target's tables, which is not to be measured.
        self.warm: set[tuple[Any, ...]] = set()
        # What is replayed is recorded already.
        getattr(compiler, "RECORDERS", []).clear()

    def hello(self) -> dict[str, Any]:
        """Which loopwright this is."""
        import loopwright

        return {"version": loopwright.__version__, "path": os.path.dirname(os.path.abspath(loopwright.__file__)), "scores": self.score is not None}

    def prepared(self, function: str, setting: dict[str, Any], check: bool) -> tuple[Any, Any, str]:
        """What ``compile`` takes, once the first compilation for a target has filled its tables."""
        target = self.target(setting["target"], setting["vector_bits"] or None, setting["convention"])
        f = self.parse(function, target=target)
        if self.verify is not None:
            # A corpus is a file: what is in it may be anything.
            self.verify(f, target)
        if check:
            self.prove(f, target, setting["ordering"])
        key = (setting["target"], setting["vector_bits"], setting["convention"])
        if key not in self.warm:
            self.warm.add(key)
            self.compile(f, target, ordering=setting["ordering"])
        return f, target, setting["ordering"]

    def measure(self, f: Any, target: Any, ordering: str, listing: bool) -> dict[str, Any]:
        """Compile once, and tell all about it."""
        compiled = self.compile(f, target, ordering=ordering)
        result = self.metrics(compiled)
        lines = target.listing(compiled.machine)
        # The instructions of the listing: what versions keep of a program otherwise differs between them.
        result["instructions"] = len(lines)
        if listing:
            result["listing"] = [[data.hex(), text, line] for _, data, text, line in lines]
        return result

    def take_turns(self, ways: list[tuple[Any, ...]], results: list[dict[str, Any]], turns: int, number: int) -> None:
        """Compile each way as often again, in turns, and add the times to the results."""
        for turn in range(turns):
            order = range(len(ways)) if (turn + number) % 2 == 0 else range(len(ways) - 1, -1, -1)
            for n in order:
                f, target, ordering = ways[n]
                compiled = self.compile(f, target, ordering=ordering)
                if results[n].setdefault("code", self.digest(compiled.machine)) != self.digest(compiled.machine):
                    raise RuntimeError("compiling the same function twice gave different code")
                times = results[n].setdefault("times", {name: [] for name in _TIMES})
                for name, seconds in self.times(compiled).items():
                    times[name].append(seconds)

    def prove(self, f: Any, target: Any, ordering: str) -> None:
        """Prove the allocation by the symbolic checker."""
        from loopwright import compiler

        check = _optional(_CHECK)
        if check is None:
            raise RuntimeError("this loopwright has no checker of allocations")
        # (Another version may take the order itself.)
        told: Any = compiler.resolve(_settings(ordering)) if hasattr(compiler, "resolve") else ordering
        before = compiler.run_passes(f, target, "select", told)
        check(before, compiler.run_passes(before, target, "allocate", told), target)

    def metrics(self, compiled: Any) -> dict[str, Any]:
        """The numbers about compiled code; None for one that this version cannot tell."""
        statistics = getattr(compiled, "statistics", None)
        score: Any = None
        note = ""
        if self.score is not None:
            try:
                score = self.score(compiled)
            except Exception as error:  # noqa: BLE001 (the code is good, only the model does not know it)
                note = f"{type(error).__name__}: {error}"
        found: dict[str, Any] = {
            "code_size": compiled.machine.code_size,
            "perf_score": _number(getattr(score, "perf_score", None)),
            "cycles": _number(getattr(score, "cycles", None)),
            "instructions": None,
            "spills": None,
            "spill_weight": _number(getattr(statistics, "spill_weight", None)),
            "moves": _number(getattr(statistics, "moves", None)),
            "move_weight": _number(getattr(statistics, "move_weight", None)),
            "note": note,
            **self.times(compiled),
        }
        stores, reloads = getattr(statistics, "stores", None), getattr(statistics, "reloads", None)
        if stores is not None and reloads is not None:
            found["spills"] = stores + reloads
        found["code"] = self.digest(compiled.machine)
        return found

    @staticmethod
    def times(compiled: Any) -> dict[str, float]:
        """Seconds that allocator and compiler took."""
        times = compiled.times
        return {"allocator_time": times.get("liveness", 0.0) + times.get("allocate", 0.0), "compile_time": sum(times.values())}

    @staticmethod
    def digest(machine: Any) -> str:
        """Equal for equal machine code."""
        digest = hashlib.sha256(bytes(machine.data))
        digest.update(repr(sorted((offset, kind, symbol) for offset, kind, symbol in machine.relocations)).encode())
        return digest.hexdigest()[:32]

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request; failures are part of it."""
        results: list[dict[str, Any]] = []
        ways: list[tuple[Any, ...]] = []
        timed: list[dict[str, Any]] = []
        for setting in request["settings"]:
            try:
                way = self.prepared(setting.get("function") or request["function"], setting, request["check"])
                if request["metrics"]:
                    results.append(self.measure(*way, request["listing"]))
                else:
                    self.compile(way[0], way[1], ordering=way[2])
                    results.append({})
                ways.append(way)
                timed.append(results[-1])
            except Exception as error:  # noqa: BLE001 (any failure is a result)
                results.append(_failure(error))
        try:
            self.take_turns(ways, timed, request["turns"], request["id"])
        except Exception as error:  # noqa: BLE001
            results = [_failure(error) for _ in results]
        return {"id": request["id"], "results": results}


def _failure(error: Exception) -> dict[str, Any]:
    return {"error": f"{type(error).__name__}: {error}".split("\n\nThis is a bug", 1)[0], "trace": traceback.format_exc(limit=-6)}


def serve() -> None:
    """Answer requests until standard input ends."""
    # What anything else prints must not get between the answers.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def reply(value: dict[str, Any]) -> None:
        out.write(json.dumps(value) + "\n")
        out.flush()

    try:
        worker = Worker()
        hello = worker.hello()
    except Exception as error:  # noqa: BLE001
        reply({"error": f"{type(error).__name__}: {error}"})
        return
    reply(hello)
    # A collection of garbage in the middle of a compilation would be measured with it.
    gc.disable()
    for number, line in enumerate(sys.stdin):
        reply(worker.answer(json.loads(line)))
        if number % 32 == 31:
            gc.collect()


if __name__ == "__main__":
    serve()
