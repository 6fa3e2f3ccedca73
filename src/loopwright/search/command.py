"""``loopwright tune``: search for better orders of the register filters, and tell what they gain where nothing was tuned."""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright.arguments import number
from loopwright.errors import LoopwrightError

if TYPE_CHECKING:
    from loopwright.corpus.files import Context
    from loopwright.search.evaluate import Evaluator
    from loopwright.search.genetic import Result, Settings
    from loopwright.search.report import Configured, Cross, RuleTrial, Tuning

__all__ = ["tune_command"]

DESCRIPTION = """\
Search for an order of the register allocator's 17 filters that makes better code than the default order, by a genetic algorithm, and by
random search and hill climbing with the same budget to hold beside it.

Each collection of functions for each target is a configuration of its own. Two thirds of its functions are searched with; the report
tells what was gained on the others. A search that is stopped goes on from its last step when the same command is given again.
"""

EXAMPLES = """\
examples:
  loopwright tune kernels --target x86-64-v4/512 -o tuned
      the best order for the kernels on AVX-512; tuned/report.md tells
  loopwright tune --cross -o tuned
      each collection for each target, every best order on every configuration, and a rule that picks an order for each function
  loopwright tune mine.lwc --model cycles --budget 10000 -o tuned
      longer, and by the model of ports and dependences instead of PerfScore
  loopwright tune --cross -o tuned --scheduler tcp://10.0.0.7:8786
      on the workers of a Dask cluster
"""


def _share(text: str) -> float:
    value = _float(text)
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"a number from 0 to 1 is needed, not {text[:20]!r}")
    return value


def _factor(text: str) -> float:
    value = _float(text)
    if not 0.0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"a number of at least 0 is needed, not {text[:20]!r}")
    return value


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _parser() -> argparse.ArgumentParser:
    raw: dict[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter}
    parser = argparse.ArgumentParser(prog="loopwright tune", description=DESCRIPTION, epilog=EXAMPLES, **raw)
    parser.add_argument("files", nargs="*", metavar="FILE", help="corpus files, or names of corpora that loopwright brings (default: kernels and programs)")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIR", help="where report, plots and the state of the searches go")
    parser.add_argument("--target", action="append", default=[], metavar="NAME[/BITS]", help="only for this target; may be given several times")
    parser.add_argument("--functions", type=number, metavar="N", help="at most N functions of each configuration (chosen by a hash of their names)")
    parser.add_argument("--model", default="perfscore", help="what is made less: perfscore (the default), cycles, code_size or spill_weight")
    parser.add_argument("--cross", action="store_true", help="score every best order, and the published ones, on every configuration; train a rule")
    parser.add_argument("--no-rule", action="store_true", help="with --cross: without the rule that picks an order for each function")
    group = parser.add_argument_group("the search")
    group.add_argument("--methods", default="genetic,random,hill climbing", metavar="NAMES", help="which searches, with commas (default: all three)")
    group.add_argument("--budget", type=number, default=3000, metavar="N", help="different orders each search may score (default: 3000)")
    group.add_argument("--population", type=number, default=100, metavar="N", help="of the genetic search (default: 100)")
    group.add_argument("--children", type=number, default=50, metavar="N", help="new candidates in each generation (default: 50)")
    group.add_argument("--tournament", type=number, default=3, metavar="N", help="contestants for each parent's place (default: 3)")
    group.add_argument("--crossover", type=_share, default=0.8, metavar="P", help="share of the children that have two parents (default: 0.8)")
    group.add_argument("--mutation", type=_share, default=0.06, metavar="P", help="probability of each letter of a mutant to move (default: 0.06)")
    group.add_argument(
        "--patience", type=number, default=10, metavar="N", help="generations without a candidate worth keeping, after which it ends (default: 10)"
    )
    group.add_argument("--seed", type=int, default=1, metavar="N", help="of the random source; the same seed finds the same (default: 1)")
    group.add_argument(
        "--penalty",
        type=_factor,
        default=0.0,
        metavar="K",
        help="what a function loses beyond 2 %% counts K times more: finds orders that gain less and spoil less (default: 0)",
    )
    group.add_argument("--published", action="store_true", help="begin with the published orders too, not only with the default")
    group = parser.add_argument_group("where it runs")
    group.add_argument("-j", "--jobs", type=number, default=0, metavar="N", help="processes (default: one for each processor)")
    group.add_argument("--scheduler", default="", metavar="ADDRESS", help="a Dask scheduler, to use its workers instead")
    return parser


# --- what to tune for -------------------------------------------------------------------------------------------


def _configurations(args: argparse.Namespace) -> dict[str, list[Context]]:
    """Contexts by configuration; of those that differ only in the recorded order, one."""
    from loopwright.corpus import collections, files

    wanted = set(args.target)
    found: dict[str, list[Context]] = {}
    seen: set[tuple[str, str, int, str]] = set()
    for file in args.files or list(collections.NAMES):
        path = collections.shipped(file) if not os.path.exists(file) and file in collections.NAMES else file
        for context in files.read(path).contexts:
            place = f"{context.target}/{context.vector_bits}" if context.vector_bits else context.target
            key = (context.function, context.target, context.vector_bits, context.convention)
            if key in seen or (wanted and context.target not in wanted and place not in wanted):
                continue
            seen.add(key)
            found.setdefault(f"{context.collection}, {place}", []).append(context)
    if not found:
        raise LoopwrightError("no function of these corpora is for " + " or ".join(sorted(wanted)) if wanted else "there are no functions in these corpora")
    if args.functions:
        for name, contexts in found.items():
            found[name] = sorted(contexts, key=lambda context: hashlib.sha256(f"few/{context.name}".encode()).digest())[: args.functions]
    return dict(sorted(found.items()))


def _question(contexts: Sequence[Context], model: str, penalty: float, base: Sequence[float]) -> str:
    """What a search is about; the scores in the default order are part of it, for another compiler would give others."""
    digest = hashlib.sha256(f"{model} {penalty!r} {list(base)!r}".encode())
    for context in contexts:
        digest.update(context.identity.encode())
    return digest.hexdigest()[:32]


# --- progress -----------------------------------------------------------------------------------------------------


class _Progress:
    """Tells how a search goes: a live line on a terminal, else a plain line now and then."""

    def __init__(self, name: str, budget: int) -> None:
        self.name = name
        self.budget = budget
        self.live: Any = None
        self.task: Any = None
        self.last = 0.0
        if sys.stderr.isatty():
            try:
                from rich.console import Console
                from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
            except ImportError:
                return
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[best]}"), TimeRemainingColumn())
            self.live = Progress(*columns, console=Console(stderr=True))
            self.live.start()

    def __call__(self, result: Result) -> None:
        best = f"{result.best} {result.fitness:+.3f}"
        if self.live is not None:
            if self.task is None:
                self.task = self.live.add_task(f"{self.name}, {result.method}", total=self.budget, best=best)
            self.live.update(self.task, completed=len(result.known), best=best)
            return
        now = time.monotonic()
        if now - self.last >= 5.0 or result.finished:
            self.last = now
            ended = f"; {result.finished}" if result.finished else ""
            print(f"{self.name}, {result.method}: {len(result.known)}/{self.budget} orders, best {best}{ended}", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.live is not None:
            self.live.stop()


# --- tuning -------------------------------------------------------------------------------------------------------


def _counted(evaluator: Evaluator, base: Sequence[float], penalty: float, count: list[float]) -> Callable[[list[str]], list[float]]:
    from loopwright.search.evaluate import fitness

    def evaluate(orders: list[str]) -> list[float]:
        start = time.perf_counter()
        found = [fitness(row, base, penalty) for row in evaluator.scores(orders)]
        count[0] += len(orders) * len(base)
        count[1] += time.perf_counter() - start
        # JSON has no infinity, and no order is a million times worse.
        return [value if math.isfinite(value) else 1e6 for value in found]

    return evaluate


def _tune(name: str, contexts: Sequence[Context], args: argparse.Namespace, methods: Sequence[str], settings: Settings, tuning: Tuning) -> Configured:
    from loopwright.search.evaluate import open_evaluator
    from loopwright.search.genetic import search
    from loopwright.search.orders import held_out
    from loopwright.search.report import Configured, change_of, logs_of

    parts = [[c for c in contexts if not held_out(c)], [c for c in contexts if held_out(c)]]
    if not parts[0] or not parts[1]:
        raise LoopwrightError(f"{name}: too few functions ({len(contexts)}) to train on some and hold others out")
    one = Configured(name)
    count = [0.0, 0.0]
    evaluator, base = open_evaluator(parts[0], args.model, args.jobs, args.scheduler)
    with evaluator:
        for method in methods:
            progress = _Progress(name, settings.budget)
            try:
                state = args.output / ("state-" + "".join(letter if letter.isalnum() else "-" for letter in f"{name}-{method}") + ".json")
                if state.exists():
                    print(f"{name}, {method}: goes on from {state}", file=sys.stderr)
                one.results[method] = search(
                    _counted(evaluator, base, args.penalty, count), settings, method, state, _question(parts[0], args.model, args.penalty, base), progress
                )
            finally:
                progress.close()
        names = [context.name for context in evaluator.contexts]
        for method, row in zip(methods, evaluator.scores([one.results[method].best for method in methods]), strict=True):
            one.train[method] = change_of(row, base, names)
        tuning.failures += evaluator.failures
    one.rate = count[0] / count[1] if count[1] else 0.0
    one.method = min(methods, key=lambda method: one.results[method].fitness)
    one.best = one.results[one.method].best
    evaluator, base = open_evaluator(parts[1], args.model, args.jobs, args.scheduler)
    with evaluator:
        names = [context.name for context in evaluator.contexts]
        for method, row in zip(methods, evaluator.scores([one.results[method].best for method in methods]), strict=True):
            one.held[method] = change_of(row, base, names)
            one.logs[method] = logs_of(row, base)
        tuning.failures += evaluator.failures
    return one


def _cross(configurations: dict[str, list[Context]], args: argparse.Namespace, tuning: Tuning) -> Cross:
    from loopwright.regalloc.heuristics import DEFAULT_ORDER, canonical
    from loopwright.search.evaluate import fitness, open_evaluator
    from loopwright.search.orders import PUBLISHED, held_out
    from loopwright.search.report import Cross, change_of

    rows = [(one.name, one.best) for one in tuning.configured]
    rows += [(f"published: {name}", canonical(order)) for name, order in PUBLISHED.items()]
    rows.append(("default", canonical(DEFAULT_ORDER)))
    made = Cross(list(configurations), rows, [[] for _ in rows], [[] for _ in rows])
    for contexts in configurations.values():
        evaluator, base = open_evaluator([c for c in contexts if held_out(c)], args.model, args.jobs, args.scheduler)
        with evaluator:
            names = [context.name for context in evaluator.contexts]
            for n, scores in enumerate(evaluator.scores([order for _, order in rows])):
                made.cells[n].append(change_of(scores, base, names))
                made.sums[n].append(fitness(scores, base))
            tuning.failures += evaluator.failures
    return made


def _rule(configurations: dict[str, list[Context]], args: argparse.Namespace, tuning: Tuning) -> RuleTrial:
    from loopwright.regalloc.heuristics import DEFAULT_ORDER, canonical
    from loopwright.search.evaluate import open_evaluator
    from loopwright.search.orders import PUBLISHED, describe, few, held_out, train
    from loopwright.search.report import RuleTrial, change_of, logs_of

    pool = [DEFAULT_ORDER, *PUBLISHED.values()]
    for one in tuning.configured:
        for result in one.results.values():
            pool += result.top(5)
    pool = list(dict.fromkeys(canonical(order) for order in pool))
    everything = [context for contexts in configurations.values() for context in contexts]
    evaluator, base = open_evaluator([c for c in everything if not held_out(c)], args.model, args.jobs, args.scheduler)
    with evaluator:
        scores = evaluator.scores(pool)
        losses = [logs_of(row, base) for row in scores]
        shapes = [describe(context) for context in evaluator.contexts]
        names = [context.name for context in evaluator.contexts]
        tuning.failures += evaluator.failures
    chosen = few(losses, 4)
    if 0 not in chosen:
        # The default order, which loses nothing anywhere, can always be chosen.
        chosen.append(0)
    rule = train(shapes, [losses[n] for n in chosen], [pool[n] for n in chosen])
    train_change = change_of([scores[chosen[rule.index(shape)]][n] for n, shape in enumerate(shapes)], base, names)
    single = pool[min(range(len(pool)), key=lambda n: (math.fsum(losses[n]), n))]
    evaluator, base = open_evaluator([c for c in everything if held_out(c)], args.model, args.jobs, args.scheduler)
    with evaluator:
        *rows, alone = evaluator.scores([*rule.orders, single])
        names = [context.name for context in evaluator.contexts]
        ruled = [rows[rule.index(describe(context))][n] for n, context in enumerate(evaluator.contexts)]
        tuning.failures += evaluator.failures
    return RuleTrial(rule, train_change, change_of(ruled, base, names), single, change_of(alone, base, names), change_of(ruled, alone, names))


def tune_command(args: list[str]) -> int:
    """Run ``loopwright tune``; the exit status is 0 when the report is written.

    Raises:
        LoopwrightError: nothing to tune for, a missing library, or a state in the output folder that belongs to another search.
    """
    options = _parser().parse_args(args)
    from loopwright.regalloc.heuristics import DEFAULT_ORDER
    from loopwright.search.genetic import METHODS, Settings
    from loopwright.search.orders import PUBLISHED
    from loopwright.search.report import Tuning, write_report

    methods = [name.strip() for name in options.methods.split(",")]
    for method in methods:
        if method not in METHODS:
            raise LoopwrightError(f"there is no search {method!r}; there are {', '.join(METHODS)}")
    o = options
    start = (DEFAULT_ORDER, *PUBLISHED.values()) if o.published else (DEFAULT_ORDER,)
    settings = Settings(o.budget, o.population, o.children, o.tournament, o.crossover, o.mutation, o.patience, o.seed, start)
    configurations = _configurations(options)
    try:
        options.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LoopwrightError(f"{options.output} cannot be made: {error.strerror}") from None
    tuning = Tuning(settings, options.model)
    if options.functions:
        tuning.notes.append(f"At most {options.functions} functions of each configuration, chosen by a hash of their names.")
    if options.penalty:
        tuning.notes.append(f"What a function loses beyond 2 % counts {options.penalty:g} times more in the searches.")
    if any(context.target.startswith("rv") for contexts in configurations.values() for context in contexts) and options.model in ("perfscore", "cycles"):
        tuning.notes.append("For RISC-V there are no timing tables: instructions times their weights stand for the score.")
    for name, contexts in configurations.items():
        tuning.configured.append(_tune(name, contexts, options, methods, settings, tuning))
    if options.cross:
        tuning.cross = _cross(configurations, options, tuning)
        if not options.no_rule:
            tuning.rule = _rule(configurations, options, tuning)
    path = write_report(tuning, options.output)
    for one in tuning.configured:
        print(f"{one.name}: {one.best} ({one.method}), held out {one.held[one.method].interval()}")
    print(path)
    return 0
