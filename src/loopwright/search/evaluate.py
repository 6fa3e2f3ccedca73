"""What orders of the register filters are worth: many orders, each scored on many functions.

Everything before register allocation is the same in every order, so each function is brought up to the ``select`` pass once. For an
order it is then allocated, assembled and scored. Much of that is spared too: an allocation that consulted the first *n* filters of an
order and never the next is the same for every order that begins with those *n*, so its numbers are kept under them; and what is allocated
as it was in another order is not assembled and scored again.

The work is shared out by functions, over processes of this machine or over the workers of a Dask cluster. A process
that dies is replaced and its share done again.
"""

from __future__ import annotations

import hashlib
import importlib
import math
import multiprocessing
import os
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Final, Protocol, Self

from loopwright.corpus.files import Context
from loopwright.errors import LoopwrightError, TargetError
from loopwright.ir.function import Function
from loopwright.regalloc.heuristics import DEFAULT_ORDER, FILTERS, Filter, Plan, canonical
from loopwright.regalloc.intervals import Interval
from loopwright.targets.target import Target

__all__ = ["FAILED", "MODELS", "Evaluator", "Prepared", "fitness", "open_evaluator"]

#: Names of the numbers, in the order in which :meth:`Prepared.numbers` gives them.
MODELS: Final = ("perfscore", "cycles", "code_size", "spill_weight")
Numbers = tuple[float, float, float, float]
#: The numbers of a function that an order could not be allocated in. There should be none.
FAILED: Final[Numbers] = (math.inf, math.inf, math.inf, math.inf)

#: Orders in one task of a cluster.
_BATCH: Final = 16
#: How often a share is done again when the process that did it died.
_RETRIES: Final = 3
#: Shares of functions that a process keeps ready.
_KEPT: Final = 32


class _Trips:
    """The filters of an order as functions that note how many of its letters ever mattered."""

    def __init__(self, order: str) -> None:
        self.asked = 0
        self.plan = Plan(order, [self._stand_in(place, letter) for place, letter in enumerate(order)])

    def _stand_in(self, place: int, letter: str) -> Filter:
        real = FILTERS[letter]

        def noted(state: Any, interval: Interval, candidates: int, location: int) -> int:
            if place >= self.asked:
                self.asked = place + 1
            return real(state, interval, candidates, location)

        return noted


def _scorer() -> Callable[[Any], Any] | None:
    try:
        # By name: the scores come from the targets' timing tables, which not every target has.
        made: Callable[[Any], Any] = importlib.import_module("loopwright.costs.perfscore").perf_score
    except (ImportError, AttributeError):
        return None
    return made


class Prepared:
    """A function that is ready to be allocated in any order.

    Attributes:
        name: the context's.
        target: what it is compiled for.
        function: after the ``select`` pass.
        inert: filters that cannot do anything in this function.
        asked, found, same: evaluations asked for; those of them that an earlier one had answered; those whose code was that of an earlier one.
        failures: orders it could not be compiled in.
    """

    def __init__(self, context: Context) -> None:
        from loopwright import compiler
        from loopwright.ir.parse import parse
        from loopwright.regalloc.liveness import analyse
        from loopwright.targets import registry

        self.name = context.name
        self.target: Target = registry.get(context.target, context.vector_bits or None, context.convention)
        self.function: Function = compiler.run_passes(parse(context.function, target=self.target), self.target, after="select")
        self.asked = self.found = self.same = 0
        self.failures: list[str] = []
        self._codes: dict[int, Numbers] = {}
        self._known: dict[str, Numbers] = {}
        self._lengths: list[int] = []
        self._score = _scorer()
        intervals = [interval for interval in analyse(self.function, self.target)[0].intervals if interval is not None]
        self.inert = ""
        if not any(interval.constant for interval in intervals):
            self.inert += "B"
        if not any(interval.related is not None for interval in intervals):
            self.inert += "FG"
        if not any(use.memory for instr in self.function.code if instr.rule is not None for use in instr.rule.uses):
            self.inert += "P"

    def numbers(self, order: str) -> Numbers:
        """The numbers named by ``MODELS``, in an order.

        Where the target has no timing tables, instructions times their weights stand for PerfScore and cycles.
        """
        self.asked += 1
        acting = "".join(letter for letter in order if letter not in self.inert)
        for length in self._lengths:
            known = self._known.get(acting[:length])
            if known is not None:
                self.found += 1
                return known
        try:
            made, asked = self._measure(acting)
        except Exception as error:  # noqa: BLE001 (a bug of the compiler; the search goes on, and whoever asked is told)
            made, asked = FAILED, len(acting)
            self.failures.append(f"{self.name} ({self.target.name}, order {order}): {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
        self._known[acting[:asked]] = made
        if asked not in self._lengths:
            self._lengths = sorted([*self._lengths, asked])
        return made

    def _measure(self, order: str) -> tuple[Numbers, int]:
        from loopwright.compiler import Compiled
        from loopwright.passes import allocate, emission, jumps, liveness, lower_late
        from loopwright.regalloc.linear_scan import LinearScan

        f = self.function.clone()
        target = self.target
        liveness.run(f, target)
        alive, shape = f.analysis
        trips = _Trips(order)
        statistics = LinearScan(f, target, alive, shape, trips.plan).run().statistics
        # Of the bytes: as integers, -1 and -2 have the same hash.
        code = hash(array("q", [part for instr in f.code for part in (id(instr.op), instr.dst, *instr.args)]).tobytes())
        known = self._codes.get(code)
        if known is not None:
            self.same += 1
            return known, trips.asked
        f.statistics = statistics
        f.analysis = None
        allocate.frame(f)
        jumps.run(f, target)
        lower_late.run(f, target)
        emission.assemble(f, target)
        emission.encode(f, target)
        perf, cycles = self._scores(Compiled(f, f, f.machine, target, order, {}, {}))
        made = (perf, cycles, float(f.machine.code_size), statistics.spill_weight + statistics.move_weight)
        self._codes[code] = made
        return made, trips.asked

    def _scores(self, compiled: Any) -> tuple[float, float]:
        if self._score is not None:
            try:
                found = self._score(compiled)
                return float(found.perf_score), float(found.cycles)
            except TargetError:
                # No timing tables for this target.
                self._score = None
        weight = math.fsum(instr.weight for instr in compiled.function.code)
        return weight, weight


# --- a share of the functions, in whatever process ------------------------------------------------------------


def _share_key(contexts: Sequence[Context]) -> str:
    digest = hashlib.sha256()
    for context in contexts:
        digest.update(context.identity.encode())
    return digest.hexdigest()


class _Share:
    """Functions that one process looks after."""

    def __init__(self, contexts: Sequence[Context]) -> None:
        from loopwright.corpus.recording import paused

        with paused():
            self.functions = [Prepared(context) for context in contexts]

    def table(self, orders: Sequence[str]) -> list[list[Numbers]]:
        """Per order, the numbers of every function."""
        return [[function.numbers(order) for function in self.functions] for order in orders]


_ready: Final[OrderedDict[str, _Share]] = OrderedDict()


Answer = tuple[list[list[Numbers]], list[str]]


def _table(contexts: Sequence[Context], orders: Sequence[str]) -> Answer:
    """A task: the table of a share, and what failed."""
    key = _share_key(contexts)
    share = _ready.get(key)
    if share is None:
        share = _ready[key] = _Share(contexts)
        while len(_ready) > _KEPT:
            _ready.popitem(last=False)
    table = share.table(orders)
    failures: list[str] = []
    for function in share.functions:
        failures += function.failures
        function.failures.clear()
    return table, failures


# --- evaluators -------------------------------------------------------------------------------------------------


class _Backend(Protocol):
    """Does tasks somewhere. Each share is a list of contexts."""

    def tables(self, shares: Sequence[Sequence[Context]], orders: Sequence[str]) -> list[Answer]:
        """Per share: per order, the numbers of its functions; and what failed."""
        ...

    def close(self) -> None: ...


class _Here:
    """In this process."""

    def tables(self, shares: Sequence[Sequence[Context]], orders: Sequence[str]) -> list[Answer]:
        return [_table(share, orders) for share in shares]

    def close(self) -> None:
        pass


def _end_with_parent() -> None:
    """End this process when the one that started it has ended, even by a kill; it would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


class _Processes:
    """A process for each share, so that what it has learned of its functions stays with them."""

    def __init__(self, count: int) -> None:
        self._pools: list[ProcessPoolExecutor] = [self._pool() for _ in range(count)]

    @staticmethod
    def _pool() -> ProcessPoolExecutor:
        return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"), initializer=_end_with_parent)

    def tables(self, shares: Sequence[Sequence[Context]], orders: Sequence[str]) -> list[Answer]:
        waiting: dict[int, Future[Any]] = {n: self._submit(n, share, orders) for n, share in enumerate(shares)}
        done: list[Answer] = [([], []) for _ in shares]
        for n, share in enumerate(shares):
            for attempt in range(_RETRIES + 1):
                try:
                    done[n] = waiting[n].result()
                    break
                except BrokenProcessPool:
                    if attempt == _RETRIES:
                        raise LoopwrightError(f"the process that scores functions died {_RETRIES + 1} times in a row") from None
                    self._pools[n % len(self._pools)].shutdown(wait=False)
                    self._pools[n % len(self._pools)] = self._pool()
                    waiting[n] = self._submit(n, share, orders)
        return done

    def _submit(self, n: int, share: Sequence[Context], orders: Sequence[str]) -> Future[Any]:
        try:
            return self._pools[n % len(self._pools)].submit(_table, share, orders)
        except BrokenProcessPool as error:
            failed: Future[Any] = Future()
            failed.set_exception(error)
            return failed

    def close(self) -> None:
        for pool in self._pools:
            pool.shutdown(wait=True, cancel_futures=True)


def _version() -> str:
    from loopwright import __version__

    return __version__


class _Cluster:
    """On the workers of a Dask cluster. Work that was with a worker that died is done by another."""

    def __init__(self, address: str) -> None:
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError:
            raise LoopwrightError("--scheduler needs Dask's distributed: pip install 'loopwright[tuning]'") from None
        try:
            self.client: Any = distributed.Client(address, timeout="20s")
        except (OSError, ValueError) as error:
            raise LoopwrightError(f"there is no Dask scheduler at {address} ({error})") from None
        try:
            self._check_versions()
        except BaseException:
            self.client.close()
            raise
        self._shares: dict[str, Any] = {}

    def _check_versions(self) -> None:
        """The workers that are there have this loopwright; another would score otherwise, and nobody would notice."""
        from loopwright import __version__

        try:
            found: dict[str, str] = self.client.run(_version)
        except ImportError as error:
            raise LoopwrightError(f"the cluster's workers have no loopwright that can be used ({error}); install {__version__} there") from None
        for worker, version in sorted(found.items()):
            if version != __version__:
                raise LoopwrightError(f"the worker {worker} has loopwright {version}, this is {__version__}: install the same there")

    def workers(self) -> int:
        """Threads of all workers; 1 while there are none."""
        threads: dict[str, int] = self.client.nthreads()
        return max(1, sum(threads.values()))

    def tables(self, shares: Sequence[Sequence[Context]], orders: Sequence[str]) -> list[Answer]:
        batches = [list(orders[n : n + _BATCH]) for n in range(0, len(orders), _BATCH)]
        waiting = []
        for share in shares:
            key = _share_key(share)
            if key not in self._shares:
                # A task's result, not scattered data: the scheduler can have it made again when the worker that has it dies.
                self._shares[key] = self.client.submit(tuple, list(share), key=f"loopwright-share-{key}", retries=_RETRIES)
            waiting.append([self.client.submit(_table, self._shares[key], batch, pure=False, retries=_RETRIES) for batch in batches])
        try:
            found = self.client.gather(waiting)
        except Exception as error:
            raise LoopwrightError(f"the cluster failed: {type(error).__name__}: {error}") from error
        return [([row for table, _ in parts for row in table], [text for _, failures in parts for text in failures]) for parts in found]

    def close(self) -> None:
        self._shares.clear()
        self.client.close()


def _shared_out(contexts: Sequence[Context], count: int) -> list[list[int]]:
    """Indices of the contexts, in ``count`` shares of about equal size."""
    shares: list[list[int]] = [[] for _ in range(max(1, min(count, len(contexts))))]
    loads = [0] * len(shares)
    for n in sorted(range(len(contexts)), key=lambda n: (-len(contexts[n].function), n)):
        least = loads.index(min(loads))
        shares[least].append(n)
        # A function's text tells its size well enough; the constant is for what every function costs.
        loads[least] += len(contexts[n].function) + 500
    return shares


class Evaluator:
    """Scores orders on a set of functions. Use it in a ``with`` statement, or ``close`` it.

    Args:
        contexts: the functions.
        model: which number counts: one of ``MODELS``.
        jobs: processes; 0 for as many as there are processors, 1 for none but this one.
        scheduler: address of a Dask scheduler, to use its workers instead.

    Raises:
        LoopwrightError: an unknown model, no functions, or no scheduler at that address.
    """

    def __init__(self, contexts: Sequence[Context], model: str = "perfscore", jobs: int = 0, scheduler: str = "") -> None:
        if model not in MODELS:
            raise LoopwrightError(f"there is no model {model!r}; there are {', '.join(MODELS)}")
        if not contexts:
            raise LoopwrightError("there are no functions to tune for")
        self.contexts = list(contexts)
        self.model = MODELS.index(model)
        #: what could not be compiled or scored, and in which order
        self.failures: list[str] = []
        self._backend: _Backend
        if scheduler:
            cluster = _Cluster(scheduler)
            count = 2 * cluster.workers()
            self._backend = cluster
        else:
            count = jobs if jobs > 0 else len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
            count = min(count, len(contexts))
            self._backend = _Processes(count) if count > 1 else _Here()
        self._shares = _shared_out(self.contexts, count)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes, or leave the cluster."""
        self._backend.close()

    def numbers(self, orders: Iterable[str]) -> list[list[Numbers]]:
        """Per order, the numbers of each function, in the order of ``contexts``."""
        wanted = [canonical(order) for order in orders]
        each = list(dict.fromkeys(wanted))
        found: dict[str, list[Numbers]] = {order: [FAILED] * len(self.contexts) for order in each}
        if each:
            parts = self._backend.tables([[self.contexts[n] for n in share] for share in self._shares], each)
            for share, (table, failures) in zip(self._shares, parts, strict=True):
                self.failures += failures
                for order, row in zip(each, table, strict=True):
                    for n, value in zip(share, row, strict=True):
                        found[order][n] = value
        return [found[order] for order in wanted]

    def scores(self, orders: Iterable[str]) -> list[list[float]]:
        """Per order, the model's number of each function."""
        return [[numbers[self.model] for numbers in row] for row in self.numbers(orders)]


def open_evaluator(contexts: Sequence[Context], model: str = "perfscore", jobs: int = 0, scheduler: str = "") -> tuple[Evaluator, list[float]]:
    """An evaluator of those contexts that the default order compiles, with their scores in it.

    Raises:
        LoopwrightError: none of them compiles.
    """
    evaluator = Evaluator(contexts, model, jobs, scheduler)
    base = evaluator.scores([DEFAULT_ORDER])[0]
    good = [n for n, score in enumerate(base) if math.isfinite(score) and score > 0]
    if len(good) < len(base):
        evaluator.close()
        failures = evaluator.failures
        evaluator = Evaluator([evaluator.contexts[n] for n in good], model, jobs, scheduler)
        evaluator.failures = failures
    return evaluator, [base[n] for n in good]


#: A function that gets worse by more than this much is a regression.
TOLERATED: Final = 0.02


def fitness(scores: Sequence[float], base: Sequence[float], penalty: float = 0.0) -> float:
    """Sum over functions of the relative change against the default order; less is better.

    Relative, so that no large function drowns the others. What a function loses beyond ``TOLERATED`` counts ``penalty`` times more.
    """
    changes = [score / before - 1.0 for score, before in zip(scores, base, strict=True)]
    return math.fsum(changes) + penalty * math.fsum(change - TOLERATED for change in changes if change > TOLERATED)
