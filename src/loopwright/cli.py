"""The command line: ``loopwright demo | show | build | cc | passes | targets | bench | simulate | timing | corpus | tune``."""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from loopwright.errors import LoopwrightError, TargetError
from loopwright.kernel_files import find, load, parse_signature

__all__ = ["find", "load", "main", "parse_signature"]

DESCRIPTION = """\
loopwright turns loops written in Python into vector machine code, and shows every step of how.

Start here:
  loopwright demo                                     compile three picture kernels, run, check, time and list them
  loopwright passes                                   what happens to a kernel on its way to machine code
  loopwright show FILE:KERNEL -- SIGNATURE            the machine code of a kernel of yours
  loopwright build FILE.py -o FILE.o                  kernels as an object file, for C and C++
  loopwright cc FILE.c --run                          a C program
"""

SHOW = """\
Print a kernel of yours at any stage of its way to machine code.

FILE:KERNEL names a Python file and, in it, a function under @lw.kernel or a loopwright.Function. The file is run as an
import runs it. A recorded compilation is named by its corpus, and its name or the beginning of its id there: mine.lwc:axpy,
kernels:651745b785; it needs no signature. After a lone -- comes the SIGNATURE: one word for each parameter, in order or by name (x=f32[]).

  i64  f32  ptr      a scalar            i32[]   f32[]      an array of one dimension
  3  (1.0, 2.0)      the value of an     f32[,]  u8[,]      an array of two
                     lw.Const parameter

Parameters whose annotations say it all (src: lw.Array[lw.f32, 2]) may be left out.
"""

SHOW_EXAMPLES = """\
examples:
  loopwright show examples/polynomial.py:poly -- 'f32[]' 'f32[]' 'coeffs=(1.0, 2.0, 1.0)'
      the listing: address, bytes, instruction, and the line of Python it comes from
  loopwright show examples/polynomial.py:poly --after liveness --target x86-64-v4 -- 'f32[]' 'f32[]' 'coeffs=(1.0, 2.0)'
      the code in the compiler's own language after the pass named; loopwright passes lists them
  loopwright show examples/selection_sort.py:selection_sort --target rv64gc -- 'i32[]'
      the same kernel for another machine: nothing here needs to be able to run it
  loopwright show examples/selection_sort.py:selection_sort --nests
      its loops: dependences, what kept them from being lanes, what was tried with them and done
  loopwright show examples/polynomial.py:poly --explain --picture poly.html --score -- 'f32[]' 'f32[]' 'coeffs=(1.0, 2.0)'
      why each value got its register, in words and as a picture; what the code costs, by block and loop, and what bounds it
  loopwright show 'kernels:kernels:moments f32' --target x86-64-v3 --explain --ordering EHPDGAJCBNKOLFIMQ
      the same for a recorded compilation ('loopwright corpus list kernels' lists them), here with another order of the filters
"""

# --- the commands --------------------------------------------------------------------------------------------


def show(args: argparse.Namespace) -> int:
    """``loopwright show``."""
    after: str = args.after
    if args.microarchitecture and not args.score:
        raise LoopwrightError("--microarchitecture says whose tables --score takes: give that too")
    asked = [option for option in ("explain", "picture", "score", "nests", "nests_page") if getattr(args, option)]
    if (args.nests or args.nests_page) and after != "asm":
        raise LoopwrightError(
            f"--{'nests' if args.nests else 'nests-page'} is about the loops before the pass nests, not about the stage '{after}': leave --after out"
        )
    if asked and after not in ("asm", "allocate"):
        raise LoopwrightError(f"--{asked[0]} is about the register allocation or the code after it, not about the stage '{after}': leave --after out")
    names = _stages(args)
    if after not in (*names, "asm"):
        raise TargetError(f"there is no pass '{after}'; there are {', '.join(names)}, and asm for the listing")
    code = _recorded(args) if _is_recorded(args.kernel) else _kernel(args)
    if not asked:
        print(code.asm() if after == "asm" else code.ir(after), end="")
    if args.nests:
        print(code.nests(), end="")
    if args.nests_page:
        _write(args.nests_page, code.nests().page())
    if args.explain or args.picture:
        _explain(code, args.explain, args.picture)
    if args.score:
        from loopwright.costs.perfscore import perf_score

        print(perf_score(code.compiled, args.microarchitecture).table())
    return 0


def _stages(args: argparse.Namespace) -> list[str]:
    """The names that ``--after`` takes for a kernel: of its target's passes, and of its own."""
    from loopwright.jit import target_for
    from loopwright.settings import Settings
    from loopwright.targets.pipeline import names_of, with_insertions

    kernel = None if _is_recorded(args.kernel) else find(args.kernel)
    settings = getattr(kernel, "settings", Settings())
    target = target_for(_target(args) or settings.target, None)
    return names_of(with_insertions(target.passes(), settings.passes or (), target.name))


def _target(args: argparse.Namespace) -> Any:
    """What ``--target`` and ``--set`` name."""
    from loopwright.targets import registry

    return registry.described(args.target, args.numbers)


def _kernel(args: argparse.Namespace) -> Any:
    import loopwright as lw

    kernel = find(args.kernel)
    positional, named = parse_signature(args.signature)
    if isinstance(kernel, lw.Function) and args.signature:
        raise LoopwrightError(f"{kernel.name} is a lw.Function, which has the types of its parameters: leave the signature out")
    if isinstance(kernel, lw.Kernel):
        for name in named:
            if name not in [p.name for p in kernel.parameters]:
                raise LoopwrightError(f"{args.kernel} has no parameter {name}: it has {', '.join(p.name for p in kernel.parameters)}")
    if args.schedule:
        if not isinstance(kernel, lw.Kernel):
            raise LoopwrightError(f"--schedule is for kernels, and {args.kernel} is a lw.Function")
        from loopwright.ir.schedule import parse_steps

        kernel = kernel.schedule(*parse_steps(args.schedule))
    settings = {"target": _target(args), "vector_bits": args.vector_bits, "ordering": args.ordering, "check": args.check or None}
    return kernel.compile(*positional, **named, **{key: value for key, value in settings.items() if value is not None})


def _is_recorded(reference: str) -> bool:
    _, _, name = reference.partition(".lwc:")
    return bool(name) or (reference.partition(":")[0] in ("kernels", "programs", "c") and not Path(reference.partition(":")[0]).exists())


def _recorded(args: argparse.Namespace) -> Any:
    """The code of a compilation in a corpus: ``FILE.lwc:NAME``, or the beginning of its identity for the name."""
    from loopwright import compiler
    from loopwright.corpus import collections, files
    from loopwright.ir.parse import parse
    from loopwright.ir.verify import verify
    from loopwright.regalloc.heuristics import DEFAULT_ORDER, canonical
    from loopwright.runtime.code import Code
    from loopwright.targets import registry

    if args.signature or args.check or args.schedule or args.numbers:
        raise LoopwrightError("a recorded compilation has its signature, its checks, its schedule and its processor in it: leave them out")
    file, packed, name = args.kernel.partition(".lwc:")
    if packed:
        path: str | Path = file + ".lwc"
    else:
        file, _, name = args.kernel.partition(":")
        path = collections.shipped(file)

    def wanted(row: files.Row) -> bool:
        called = name in (row.name, row.function) or (len(name) >= 6 and row.identity.startswith(name.lower()))
        return called and args.target in (None, row.target) and args.vector_bits in (None, row.vector_bits)

    found = files.read(path, wanted).contexts
    if len(found) != 1:
        listed = "".join(f"\n  {c.identity[:10]}  {c.name}  {c.target}{f'/{c.vector_bits}' if c.vector_bits else ''}" for c in found[:12])
        why = (
            f"there are {len(found)}; name one by its id, or give --target and --vector-bits:{listed}"
            if found
            else "there is none; 'loopwright corpus list' lists what there is"
        )
        raise LoopwrightError(f"'{name}' should be one compilation of {path}: {why}")
    context = found[0]
    target = registry.get(context.target, context.vector_bits or None, context.convention)
    function = parse(context.function, target=target)
    verify(function, target)
    # The default order is told by its usual name.
    recorded = DEFAULT_ORDER if context.ordering == canonical(DEFAULT_ORDER) else context.ordering
    return Code(compiler.compile(function, target, ordering=args.ordering or recorded))


def passes(args: argparse.Namespace) -> int:
    """``loopwright passes``."""
    from loopwright.jit import target_for

    rows = [("collect", "the front end's output"), *[(each.name, each.does) for each in target_for(_target(args), None).passes()]]
    width = max(len(name) for name, _ in rows)
    for name, line in rows:
        print(f"{name:{width}}  {line}")
    print(f"\nEach name is what 'loopwright show --after NAME' takes; without it, 'show' prints the listing ({'asm':s}).")
    return 0


def targets(args: argparse.Namespace) -> int:
    """``loopwright targets``."""
    from loopwright.runtime import cpu
    from loopwright.targets import registry

    host = cpu.host_features()
    default = registry.best(host)
    width = max(map(len, registry.names()))
    for name, line in registry.lines().items():
        target = registry.get(name)
        missing = sorted(target.features - host)
        machine = registry.machine_of(name)
        if machine is not None and not machine.runs_here():
            here = f"compiled for from here; runs {'under an emulator' if machine.emulator is not None else 'elsewhere'}"
        elif missing:
            here = f"this CPU lacks {', '.join(missing)}"
        else:
            here = "this CPU runs it" + (", and code is made for it unless you say otherwise" if name == default else "")
        print(f"{name:{width}}  {line}")
        print(f"{'':{width}}  {here}")
        vectors = f"vectors of {target.vector_bits} bits" if target.vector_bits else "no vectors: a loop over lanes takes one element at a time"
        print(f"{'':{width}}  {vectors}; calls by the convention {target.convention.name}")
        print(f"{'':{width}}  uses {' '.join(sorted(target.features)) or 'nothing beyond the base instructions'}\n")
    return 0


def demo(args: argparse.Namespace) -> int:
    """``loopwright demo``."""
    try:
        from loopwright.demo import run
    except ImportError as reason:
        raise LoopwrightError(f"the demo needs SciPy, Pillow and scikit-learn ({reason}): pip install 'loopwright[demo]'") from reason
    return run.main(args.picture, args.output, target=_target(args), vector_bits=args.vector_bits, listings=not args.no_listings)


def _explain(code: Any, words: bool, picture: Path | None) -> None:
    """Why each value got the register it has, in words, as a picture, or both."""
    from loopwright import compiler
    from loopwright.regalloc import explain
    from loopwright.regalloc.picture import picture as drawn

    compiled = code.compiled
    lowered = compiler.run_passes(compiled.source, compiled.target, "select")
    explanation = explain.explain(lowered, compiled.target, compiled.order)
    if words:
        print(explanation.text())
    if picture is not None:
        _write(picture, drawn(explanation))


def _write(file: Path, page: str) -> None:
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise LoopwrightError(f"{file} cannot be written: {error.strerror}") from None
    print(f"written: {file}", file=sys.stderr)


def corpus(args: argparse.Namespace) -> int:
    """``loopwright corpus``."""
    from loopwright.corpus.command import corpus_command

    return corpus_command(args.arguments)


def tune(args: argparse.Namespace) -> int:
    """``loopwright tune``."""
    from loopwright.search.command import tune_command

    return tune_command(args.arguments)


def simulate(args: argparse.Namespace) -> int:
    """``loopwright simulate``."""
    from loopwright.targets.multiclet.command import simulate_command

    return simulate_command(args.arguments)


def timing(args: argparse.Namespace) -> int:
    """``loopwright timing``."""
    from loopwright.costs.measure import timing_command

    return timing_command(args)


def operations(args: argparse.Namespace) -> int:
    """``loopwright ops``."""
    from loopwright import capabilities
    from loopwright.jit import target_for

    if args.page:
        print(capabilities.page(), end="")
        return 0
    target = target_for(_target(args), args.vector_bits)
    if target.vector_bits:
        print(f"{target.name}, lanes ({target.vector_bits} bits): instructions of each operation, + with branches, - refused")
        print(capabilities.text(target, True))
        print()
    print(f"{target.name}, scalars")
    print(capabilities.text(target, False))
    return 0


def cc(args: argparse.Namespace) -> int:
    """``loopwright cc``."""
    from loopwright.cc.command import main as run

    return run(args.arguments)


def build(args: argparse.Namespace) -> int:
    """``loopwright build``."""
    from loopwright.building.command import main as run

    return run(args.arguments)


def bench(args: argparse.Namespace) -> int:
    """``loopwright bench``: the benchmarks live beside the package, in its checkout."""
    # The package is in src/, or natively built in build/native/.
    checkout = next((place for place in Path(__file__).resolve().parents[2:4] if (place / "benchmarks" / "__main__.py").is_file()), None)
    if checkout is None:
        raise LoopwrightError("the benchmarks are files of loopwright's source checkout; run this command from one (make bench)")
    path = os.pathsep.join(part for part in (os.environ.get("PYTHONPATH", ""), str(checkout)) if part)
    return subprocess.run([sys.executable, "-m", "benchmarks", *args.arguments], env={**os.environ, "PYTHONPATH": path}, check=False).returncode


# --- the command line itself ---------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    from loopwright import __version__
    from loopwright.arguments import SET, number
    from loopwright.native_build import is_native

    parser = argparse.ArgumentParser(prog="loopwright", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"loopwright {__version__}, {'native build' if is_native() else 'pure Python'}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[argparse.Namespace], int], summary: str, description: str = "", epilog: str = "") -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=summary, description=description or summary, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter)
        added.set_defaults(run=run)
        return added

    def numbers(to: argparse.ArgumentParser) -> None:
        to.add_argument("--set", dest="numbers", action="append", default=[], metavar="NAME=N", help=SET)

    def machine(to: argparse.ArgumentParser) -> None:
        to.add_argument("--target", metavar="NAME", help="the machine to compile for: a name that 'loopwright targets' lists (default: this one)")
        numbers(to)
        to.add_argument("--vector-bits", type=int, metavar="N", help="width of vectors, where the target has several (256 or 512 on x86-64-v4)")

    added = command("demo", demo, "three picture kernels on a photograph: compiled, checked, timed, listed")
    added.add_argument("picture", nargs="?", type=Path, metavar="PICTURE", help="a picture file of yours (default: a photograph that scikit-learn brings)")
    added.add_argument(
        "--output", type=Path, default=Path("demo-output"), metavar="DIR", help="where the pictures before and after go (default: ./demo-output)"
    )
    added.add_argument("--no-listings", action="store_true", help="leave out the listings of the inner loops")
    machine(added)

    added = command("show", show, "print a kernel at any stage, from Python to bytes", SHOW, SHOW_EXAMPLES)
    added.add_argument("kernel", metavar="FILE:KERNEL", help="a Python file and the name of a kernel in it, or a corpus and the name of a compilation in it")
    added.add_argument("--after", default="asm", metavar="PASS", help="the stage: a name that 'loopwright passes' lists, or asm for the listing (the default)")
    machine(added)
    added.add_argument("--check", action="store_true", help="with a check before every array access")
    added.add_argument(
        "--ordering",
        metavar="LETTERS",
        help="the order of the register allocator's filters, a permutation of A to Q (default: $LOOPWRIGHT_LSRA_ORDERING, or alphabetic)",
    )
    added.add_argument("--explain", action="store_true", help="why each value got its register: the filter that decided, what was spilled and what it cost")
    added.add_argument("--picture", type=Path, metavar="FILE.html", help="the same as a picture: values in registers over the instructions, loops shaded")
    added.add_argument(
        "--schedule", metavar="STEPS", help="steps for its loops by hand, as kernel.schedule takes them: 'interchange(i, j); unroll_and_jam(i=4)'"
    )
    added.add_argument("--nests", action="store_true", help="the loop nests: what depends on what, the bounds, what was tried, done, and why not more")
    added.add_argument("--nests-page", type=Path, metavar="FILE.html", help="the same with pictures: iterations, what depends on what, what runs together")
    added.add_argument("--score", action="store_true", help="what the code costs: PerfScore, and modelled cycles with what bounds each loop")
    added.add_argument("--microarchitecture", metavar="NAME", help="whose timing tables --score takes (default: the target's)")
    added.usage = "loopwright show [options] FILE:KERNEL [-- SIGNATURE]"

    added = command("build", build, "write kernels as an object file, for C and C++", "Arguments: see loopwright build --help.")
    added.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="a Python file, and options")
    added = command("cc", cc, "compile and run C programs, or show their code", "Arguments: see loopwright cc --help.")
    added.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="files of C, and options")
    added = command("passes", passes, "list the passes, in the order they run")
    added.add_argument("--target", metavar="NAME", help="whose: a name that 'loopwright targets' lists (default: this machine's)")
    numbers(added)
    added = command("ops", operations, "list the operations, and what a machine makes of each for each type")
    machine(added)
    added.add_argument("--page", action="store_true", help="print the tables of all machines, as docs/operations.md has them")
    command("targets", targets, "list the machines code can be made for, and which of them this CPU is")
    added = command(
        "bench",
        bench,
        "measure the figures, beside NumPy, Numba, LLVM and gcc where they are installed",
        "Arguments go to the benchmarks; --help among them lists what there is.",
    )
    added.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="names of benchmarks, and their options")
    added = command("simulate", simulate, "run assembler text of a Multiclet processor, with cycles", "Arguments: see loopwright simulate --help.")
    added.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="files, and their options")
    added = command("timing", timing, "what instructions cost by the tables, and as measured on this CPU")
    added.add_argument("--measure", action="store_true", help="measure latency and throughput here and mark where the tables disagree")
    added.add_argument("--llvm", action="store_true", help="beside what LLVM's scheduling model says (needs llvm-mca)")
    added.add_argument("--all", action="store_true", help="every form, not only those that differ")
    added.add_argument("--microarchitecture", metavar="NAME", help="whose tables (default: znver4)")
    added.add_argument("--rounds", type=number, default=15, metavar="N", help="repetitions of each measurement; the least counts (default: 15)")
    added = command("corpus", corpus, "record, merge, replay and compare collections of compilations", "Arguments: see loopwright corpus --help.")
    added.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="record, merge, strip, list, replay or diff, and their options")
    added = command("tune", tune, "search for a better order of the register filters", "Arguments: see loopwright tune --help.")
    added.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="what to search, on what, and for how long")
    return parser


def _drop_output() -> None:
    """Send what is left of the output nowhere: Python would complain once more of what it cannot write when it flushes at exit."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0 done, 1 an error that is explained, 2 wrong usage."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        # A terminal may lack letters of the user's names, or be none at all.
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    words = list(sys.argv[1:] if argv is None else argv)
    signature: list[str] = []
    if words[:1] == ["show"] and "--" in words:
        # argparse would give the words after -- to whichever positional argument comes first.
        at = words.index("--")
        words, signature = words[:at], words[at + 1 :]
    try:
        if words[:1] in (["build"], ["cc"], ["corpus"], ["simulate"], ["tune"]):
            # These have parsers of their own, with help of their own.
            run = {"build": build, "cc": cc, "corpus": corpus, "simulate": simulate, "tune": tune}[words[0]]
            status = run(argparse.Namespace(arguments=words[1:]))
        elif words[:1] == ["bench"] and words[1:] not in (["-h"], ["--help"]):
            # argparse would take options in front of the first name for its own.
            status = bench(argparse.Namespace(arguments=words[1:]))
        else:
            args = _parser().parse_args(words, argparse.Namespace(signature=signature))
            status = int(args.run(args))
        if sys.stdout is not None:
            # What cannot be written is to be noticed here.
            sys.stdout.flush()
        return status
    except LoopwrightError as error:
        if os.environ.get("LOOPWRIGHT_TRACEBACK") == "1":
            raise
        print(f"loopwright: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader (head, less) has seen enough.
        _drop_output()
        return 0
    except OSError as error:
        if os.environ.get("LOOPWRIGHT_TRACEBACK") == "1":
            raise
        _drop_output()
        what = error if error.filename else f"the output cannot be written: {error.strerror}"
        print(f"loopwright: {what}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
