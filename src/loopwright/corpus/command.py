"""``loopwright corpus``: record, merge, strip, list, show, replay and diff corpora of compilations."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from loopwright.arguments import number
from loopwright.errors import LoopwrightError

if TYPE_CHECKING:
    from loopwright.corpus.files import Contents, Keep, Row

__all__ = ["corpus_command"]

DESCRIPTION = """\
Record what is compiled, compile it again, and compare two ways of compiling it.

A corpus (.lwc) holds compilations as self-contained contexts: function, target, convention, order of the register filters. It is
the same bytes on every machine. The two that loopwright brings, kernels and programs, go by these names wherever a FILE is expected.
"""

EXAMPLES = """\
examples:
  loopwright corpus record -o mine.lwc -- python my_program.py
      run a program and record everything it compiles
  loopwright corpus record --collection kernels -o kernels.lwc
      make the corpus of that name anew
  loopwright corpus list kernels --target x86-64-v4 --min-pressure 24
      what is in it: kernels of high register pressure
  loopwright corpus replay mine.lwc --check
      compile it all again and prove every register allocation
  loopwright corpus diff kernels --ordering EHPDGAJCBNKOLFIMQ
      what another order of the register filters changes
  loopwright corpus diff kernels --base-target x86-64-v3 --target x86-64-v4/256 --markdown report.md
      one machine beside another
  loopwright corpus diff kernels programs --base-python ~/old/bin/python
      the loopwright installed there beside this one
"""

STATUS = "exit status: 0 the same, 1 something failed to compile (or the command cannot be run), 2 there are differences, 3 data is missing"


def _raw(**settings: Any) -> dict[str, Any]:
    return {"formatter_class": argparse.RawDescriptionHelpFormatter, **settings}


class _Parser(argparse.ArgumentParser):
    """Wrong usage is status 1, not argparse's 2: that is what ``diff`` says by it that there are differences."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(1, f"{self.prog}: error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="loopwright corpus", **_raw(description=DESCRIPTION, epilog=EXAMPLES))
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[argparse.Namespace], int], summary: str, epilog: str = "") -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=summary, **_raw(description=summary[0].upper() + summary[1:] + ".", epilog=epilog))
        added.set_defaults(run=run)
        return added

    def files(to: argparse.ArgumentParser) -> None:
        to.add_argument("files", nargs="+", metavar="FILE", help="a corpus file, or the name of a corpus that loopwright brings")

    def filters(to: argparse.ArgumentParser) -> None:
        group = to.add_argument_group("which contexts (all, unless told otherwise)")
        group.add_argument("--only-collection", metavar="NAME", help="of this collection")
        group.add_argument("--only-target", metavar="NAME[/BITS]", help="for this target")
        group.add_argument("--name", metavar="TEXT", help="with this in the name")
        group.add_argument("--id", metavar="HEX", help="with an identity that begins so")
        for feature in ("instructions", "loops", "depth", "branches", "calls", "params", "pressure", "vector-share"):
            group.add_argument(f"--min-{feature}", type=int, metavar="N", help=argparse.SUPPRESS)
            group.add_argument(f"--max-{feature}", type=int, metavar="N", help=argparse.SUPPRESS)
        group.description = "--min-FEATURE N and --max-FEATURE N for the features instructions, loops, depth, branches, calls, params, pressure and vector-share (in thousandths)."
        group.add_argument("--limit", type=number, metavar="N", help="only the first N of them")

    def machine(to: argparse.ArgumentParser) -> None:
        to.add_argument("-j", "--jobs", type=number, default=0, metavar="N", help="processes (default: one for each processor)")
        to.add_argument("--check", action="store_true", help="prove every register allocation by the symbolic checker")

    added = command("record", _record, "record what a program compiles, or one of loopwright's own collections")
    added.usage = "loopwright corpus record -o FILE (--collection NAME | -- COMMAND ...)"
    added.add_argument("-o", "--output", required=True, metavar="FILE", help="the corpus; a program's contexts are added to those that are in it")
    added.add_argument("--collection", metavar="NAME", help="record this one: kernels or programs")

    added = command("merge", _merge, "join corpora into one, without duplicates")
    files(added)
    added.add_argument("-o", "--output", required=True, metavar="FILE", help="the corpus to write")

    added = command("strip", _strip, "drop contexts that fail to compile, or those that the filters name")
    files(added)
    added.add_argument("-o", "--output", metavar="FILE", help="the corpus to write (default: in place, for one FILE)")
    added.add_argument("--matching", action="store_true", help="drop the contexts that the filters choose, instead of those among them that fail")
    filters(added)
    machine(added)

    added = command("list", _list, "list the contexts of corpora, with their features")
    files(added)
    added.add_argument("--json", action="store_true", help="as JSON lines")
    added.add_argument("--summary", action="store_true", help="only how many there are, by collection and target")
    filters(added)

    added = command("show", _show, "print the functions of contexts, each with what it was compiled for")
    files(added)
    filters(added)

    added = command("replay", _replay, "compile the contexts again", "exit status: 0 everything compiled, 1 something failed, 3 there was nothing to compile")
    files(added)
    added.add_argument("--ordering", default="", metavar="LETTERS", help="in this order of the register filters (default: as recorded)")
    added.add_argument("--target", default="", metavar="NAME[/BITS][/CONVENTION]", help="for this target (default: as recorded)")
    added.add_argument("--python", default="", metavar="PATH", help="by the loopwright installed for this interpreter (default: this one)")
    added.add_argument("--json", metavar="FILE", help="write each context's numbers there; - for the terminal")
    filters(added)
    machine(added)

    added = command("diff", _diff, "compile the contexts two ways and compare", STATUS)
    files(added)
    for side, which in (("base-", "the base"), ("", "the other side")):
        added.add_argument(f"--{side}ordering", default="", metavar="LETTERS", help=f"{which}: this order of the register filters (default: as recorded)")
        added.add_argument(f"--{side}target", default="", metavar="NAME[/BITS][/CONVENTION]", help=f"{which}: this target (default: as recorded)")
        added.add_argument(f"--{side}python", default="", metavar="PATH", help=f"{which}: the loopwright installed for this interpreter (default: this one)")
    added.add_argument("--number", default="", metavar="NAME", help="what the largest changes are of (default: perf_score, or code_size where there is none)")
    added.add_argument(
        "--largest", type=int, default=3, metavar="N", help="how many of the largest improvements and regressions to show (default: 3; 0 for none)"
    )
    added.add_argument("--no-listings", action="store_true", help="without their listings")
    added.add_argument("--repeat", type=number, default=3, metavar="N", help="how often each side is timed, in turns (default: 3; 1 tells no difference)")
    added.add_argument("--markdown", metavar="FILE", help="write the report there as Markdown")
    added.add_argument("--json", metavar="FILE", help="write everything there as JSON; - for the terminal, instead of the tables")
    filters(added)
    machine(added)
    return parser


# --- choosing contexts -------------------------------------------------------------------------------------------


def _keep(args: argparse.Namespace) -> Keep | None:
    tests: list[Keep] = []
    if args.only_collection:
        tests.append(lambda row: row.collection == args.only_collection)
    if args.only_target:
        name, _, bits = args.only_target.partition("/")
        tests.append(lambda row: row.target == name and (not bits or str(row.vector_bits) == bits))
    if args.name:
        tests.append(lambda row: args.name in row.name)
    if args.id:
        tests.append(lambda row: row.identity.startswith(args.id.lower()))
    for feature in ("instructions", "loops", "depth", "branches", "calls", "params", "pressure", "vector_share"):
        low, high = getattr(args, f"min_{feature}"), getattr(args, f"max_{feature}")
        if low is not None:
            tests.append(lambda row, feature=feature, low=low: getattr(row.features, feature) >= low)  # type: ignore[misc]
        if high is not None:
            tests.append(lambda row, feature=feature, high=high: getattr(row.features, feature) <= high)  # type: ignore[misc]
    if not tests:
        return None
    return lambda row: all(test(row) for test in tests)


def _path(name: str) -> str:
    """A file, or the file of a corpus that loopwright brings."""
    from loopwright.corpus import collections

    if os.path.exists(name):
        return name
    if name in collections.NAMES:
        return str(collections.shipped(name))
    if "." not in name and os.sep not in name:
        raise LoopwrightError(f"there is no file {name}, and no corpus of that name: loopwright brings {', '.join(collections.NAMES)}")
    return name


def _contents(args: argparse.Namespace) -> Contents:
    """The chosen contexts of all files, each once."""
    from loopwright.corpus import files

    found = files.Contents([], [])
    seen: set[str] = set()
    keep = _keep(args)
    for file in args.files:
        contents = files.read(_path(file), keep)
        found.damaged += contents.damaged
        for row, context in zip(contents.rows, contents.contexts, strict=True):
            if row.identity not in seen:
                seen.add(row.identity)
                found.rows.append(row)
                found.contexts.append(context)
    _say_damaged(found.damaged)
    if args.limit:
        found.rows, found.contexts = found.rows[: args.limit], found.contexts[: args.limit]
    return found


def _say_damaged(lines: int) -> None:
    if lines:
        print(f"{_plural(lines, 'unfinished line')} left out: a process was killed while it recorded", file=sys.stderr)


def _progress(what: str, total: int) -> Callable[[int], None] | None:
    if not sys.stderr.isatty():
        return None

    def show(done: int) -> None:
        print(f"\r{what} {done}/{total}", end="\n" if done == total else "", file=sys.stderr, flush=True)

    return show


def _plural(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


# --- the commands ------------------------------------------------------------------------------------------------


def _record(args: argparse.Namespace) -> int:
    from loopwright.corpus import collections, files

    if bool(args.collection) == bool(args.command):
        raise LoopwrightError("record needs either --collection NAME, or -- and a command: loopwright corpus record -o FILE -- python program.py")
    if args.collection:
        made = collections.record(args.collection, args.output, lambda text: print(text, file=sys.stderr))
        print(f"{args.output}: {_plural(made, 'context')}, {os.path.getsize(args.output)} bytes")
        return 0
    files.append(args.output, [])
    before = len(files.read_index(args.output))
    try:
        status = subprocess.run(args.command, env={**os.environ, "LOOPWRIGHT_RECORD": os.path.abspath(args.output)}, check=False).returncode
    except OSError as error:
        raise LoopwrightError(f"{args.command[0]} cannot be run: {error.strerror}") from None
    after = files.pack(args.output)
    print(f"{args.output}: {_plural(after, 'context')}, {after - before} of them new", file=sys.stderr)
    return status if status >= 0 else 128 - status


def _merge(args: argparse.Namespace) -> int:
    from loopwright.corpus import files

    read, written, damaged = files.merge([_path(file) for file in args.files], args.output)
    _say_damaged(damaged)
    print(f"{args.output}: {_plural(written, 'context')}; {read - written} of {read} were duplicates")
    return 0


def _strip(args: argparse.Namespace) -> int:
    from loopwright.corpus import files, replay

    if args.output is None and len(args.files) > 1:
        raise LoopwrightError("strip of several files needs --output FILE")
    chosen = _contents(args)
    if args.matching:
        if _keep(args) is None and not args.limit:
            raise LoopwrightError("strip --matching needs a filter: it drops what the filters choose")
        dropped = {row.identity for row in chosen.rows}
    else:
        dropped = set()
        for context, result in replay.replay(chosen.contexts, processes=args.jobs, check=args.check, progress=_progress("replayed", len(chosen.contexts))):
            if result.error:
                dropped.add(context.identity)
                print(f"{context.name} ({context.target}): {result.error.splitlines()[0]}")
    contexts = []
    rows: list[Row] = []
    for file in args.files:
        contents = files.read(_path(file))
        contexts += [context for context in contents.contexts if context.identity not in dropped]
        rows += contents.rows
    output = args.output or args.files[0]
    written = files.write(output, contexts, rows)
    print(f"{output}: {_plural(written, 'context')}; {len(dropped)} dropped")
    return 0


def _list(args: argparse.Namespace) -> int:
    from loopwright.corpus import files
    from loopwright.corpus.compare import table

    rows: dict[str, Row] = {}
    for file in args.files:
        for row in files.read_index(_path(file), _keep(args)):
            rows.setdefault(row.identity, row)
    chosen = list(rows.values())[: args.limit] if args.limit else list(rows.values())
    if args.json:
        for row in chosen:
            print(row.line())
        return 0
    if args.summary:
        counts: dict[tuple[str, str, int, str], list[Row]] = {}
        for row in chosen:
            counts.setdefault((row.collection, row.target, row.vector_bits, row.convention), []).append(row)
        lines = [
            [collection, target, str(bits or "-"), convention, str(len(those)), str(sum(row.features.instructions for row in those))]
            for (collection, target, bits, convention), those in sorted(counts.items())
        ]
        print(table(["collection", "target", "bits", "convention", "contexts", "instructions"], lines, 2))
    else:
        lines = []
        for row in chosen:
            f = row.features
            numbers = (f.instructions, f.loops, f.depth, f.branches, f.calls, f.params, f.pressure)
            where = f"{row.target}/{row.vector_bits}" if row.vector_bits else row.target
            lines.append([row.identity[:10], row.collection, row.name, where, *map(str, numbers), f"{f.vector_share / 10:.0f} %"])
        head = ["id", "collection", "name", "target", "instructions", "loops", "depth", "branches", "calls", "params", "pressure", "vector"]
        print(table(head, lines, 4))
    print(_plural(len(chosen), "context"))
    return 0


def _show(args: argparse.Namespace) -> int:
    for context in _contents(args).contexts:
        bits = f"/{context.vector_bits}" if context.vector_bits else ""
        print(f"; {context.identity}\n; {context.collection}: {context.name}, for {context.target}{bits}, {context.convention}, order {context.ordering}")
        print(context.function)
    return 0


def _replay(args: argparse.Namespace) -> int:
    from time import perf_counter

    from loopwright.corpus import replay
    from loopwright.corpus.compare import TITLES, table

    setting = replay.Setting(args.ordering, *replay.Setting.target_of(args.target), python=args.python)
    contexts = _contents(args).contexts
    if not contexts:
        print("there is nothing to compile: no context is in these files, or none that the filters choose", file=sys.stderr)
        return 3
    start = perf_counter()
    failed = 0
    out: list[dict[str, Any]] = []
    totals: dict[str, float] = {}
    for context, result in replay.replay(contexts, setting, processes=args.jobs, check=args.check, progress=_progress("replayed", len(contexts))):
        if result.error:
            failed += 1
            print(f"{context.name} ({context.target}, {context.identity[:10]}): {result.error.splitlines()[0]}", file=sys.stderr)
        for name, value in result.numbers.items():
            if value is not None:
                totals[name] = totals.get(name, 0) + value
        numbers: dict[str, Any] = {"error": result.error} if result.error else {"code": result.code, **result.numbers}
        out.append({"id": context.identity, "collection": context.collection, "name": context.name, "target": context.target, **numbers})
    if args.json:
        _write(args.json, "".join(json.dumps(line, sort_keys=True) + "\n" for line in out))
    if args.json != "-":
        proved = ", every allocation proved" if args.check and not failed else ""
        print(f"{_plural(len(contexts), 'context')} compiled in {perf_counter() - start:.1f} s, {failed} failed{proved}")
        if totals:
            print(table(["sum of", ""], [[TITLES[name], f"{value:.6g}"] for name, value in totals.items()]))
    return 1 if failed else 0


def _write(path: str, text: str) -> None:
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise LoopwrightError(f"{path} cannot be written: {error.strerror}") from None


def _diff(args: argparse.Namespace) -> int:
    from loopwright.corpus import compare, replay

    target_of = replay.Setting.target_of
    base = replay.Setting(args.base_ordering, *target_of(args.base_target), python=args.base_python)
    diff = replay.Setting(args.ordering, *target_of(args.target), python=args.python)
    if args.number and args.number not in replay.NUMBERS:
        raise LoopwrightError(f"there is no number {args.number!r}; there are {', '.join(replay.NUMBERS)}")
    contexts = _contents(args).contexts
    made = compare.compare(contexts, base, diff, processes=args.jobs, check=args.check, turns=args.repeat, progress=_progress("compared", len(contexts)))
    number = args.number or ("perf_score" if made.summary("", "perf_score") is not None else "code_size")
    largest = made.largest(number, args.largest) if args.largest > 0 else []
    if not args.no_listings:
        made.add_listings(largest, args.jobs)
    if args.markdown:
        _write(args.markdown, made.markdown(largest))
    if args.json:
        _write(args.json, json.dumps(made.json(largest), indent=1, sort_keys=True) + "\n")
    if args.json != "-":
        print(made.text(largest), end="")
    return made.status


def corpus_command(args: Sequence[str]) -> int:
    """Run ``loopwright corpus`` with these arguments; the exit status. Raises ``LoopwrightError`` for what a user can mend."""
    words = list(args)
    command: list[str] = []
    if words[:1] == ["record"] and "--" in words:
        at = words.index("--")
        words, command = words[:at], words[at + 1 :]
    parsed = _parser().parse_args(words, argparse.Namespace(command=command))
    return int(parsed.run(parsed))
