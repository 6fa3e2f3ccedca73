"""``loopwright simulate``: assemble, link and run programs of Multiclet processors."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from loopwright.arguments import SET
from loopwright.errors import AssemblyError, LoopwrightError
from loopwright.targets.machine import numbers_of
from loopwright.targets.multiclet.assembler import assemble
from loopwright.targets.multiclet.commands import FLOATS, WIDTHS
from loopwright.targets.multiclet.linker import MEMORY, Program, link
from loopwright.targets.multiclet.parameters import PROCESSORS, processor
from loopwright.targets.multiclet.picture import picture
from loopwright.targets.multiclet.profile import Profile
from loopwright.targets.multiclet.simulator import Simulator, holds

__all__ = ["simulate_command"]


def _parser() -> argparse.ArgumentParser:
    added = argparse.ArgumentParser(prog="loopwright simulate", description="Assemble, link and run programs of Multiclet processors (docs/multiclet.md).")
    added.add_argument("files", nargs="+", type=Path, metavar="FILE.s", help="assembler text; several files are linked")
    added.add_argument(
        "--target", "--machine", default="multiclet-s2", metavar="NAME", help=f"the processor: {', '.join(PROCESSORS)} (the default is multiclet-s2)"
    )
    added.add_argument("--set", action="append", default=[], metavar="NAME=N", help=SET)
    added.add_argument("--call", metavar="LABEL", help="the function to call (default: the first paragraph of the first file)")
    added.add_argument(
        "--argument", action="append", default=[], metavar="T:VALUE", help="an argument: its type, one of b s l q f d, and its value: l:5, d:0.5"
    )
    added.add_argument("--returns", choices=list(WIDTHS), metavar="T", help="the type of the result, to print it")
    added.add_argument("--limit", type=int, default=0, metavar="N", help="give up after so many commands")
    added.add_argument("--memory", type=int, default=MEMORY, metavar="BYTES", help=f"bytes of memory (default: {MEMORY})")
    added.add_argument("--untimed", action="store_true", help="do not count cycles")
    added.add_argument("--profile", action="store_true", help="cycles by paragraph and where they go, what commands wait for, how the switch is used")
    added.add_argument("--picture", action="append", default=[], metavar="LABEL=FILE.svg", help="a paragraph's commands over cells and cycles")
    return added


def simulate_command(arguments: list[str]) -> int:
    """Run ``loopwright simulate`` with these arguments; returns the exit status.

    Raises:
        LoopwrightError: text that does not assemble or link, a program that breaks a rule, or arguments that mean nothing.
    """
    args = _parser().parse_args(arguments)
    if args.untimed and (args.profile or args.picture):
        raise LoopwrightError(f"--{'profile' if args.profile else 'picture'} tells of cycles: leave --untimed out")
    program = _program(args)
    run = Simulator(program, timing=not args.untimed)
    given = [_argument(text) for text in args.argument]
    start = time.perf_counter()
    result = run.call(args.call or _name(program), *given, returns=args.returns or "", limit=args.limit)
    seconds = time.perf_counter() - start
    if run.output:
        print(run.output.decode(errors="backslashreplace"), end="" if run.output.endswith(b"\n") else "\n")
    if result is not None:
        print(result)
    for text in args.picture:
        _draw(run, text)
    if args.profile:
        print(Profile(run), end="")
    else:
        cycles = f", {run.timing.cycles} cycles" if run.timing is not None else ""
        print(f"{program.processor.name}: {run.commands} commands{cycles}", file=sys.stderr)
    print(f"simulated in {seconds:.2f} s", file=sys.stderr)
    return 0


def _program(args: argparse.Namespace) -> Program:
    machine = processor(args.target).with_parameters(**numbers_of(args.set))
    units = []
    for path in args.files:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise LoopwrightError(f"{path} cannot be read: {error}") from None
        units.append(assemble(text, machine, str(path)))
    return link(units, machine, memory=args.memory)


def _name(program: Program) -> str:
    """The label of the paragraph to begin with."""
    found = next(each for each in program.paragraphs if each.address == program.entry).paragraph.label
    if program.symbols.get(found) != program.entry:
        raise AssemblyError(f"several units have a label {found}: export the one to begin with, and name it by --call")
    return found


def _argument(text: str) -> tuple[str, int | float]:
    suffix, _, value = text.partition(":")
    try:
        if suffix not in WIDTHS:
            raise ValueError
        number = float(value) if suffix in FLOATS else int(value, 0)
    except ValueError:
        raise LoopwrightError(f"--argument {text}: a type ({' '.join(WIDTHS)}), a colon and a value are expected, as in l:5") from None
    if not holds(suffix, number):
        raise LoopwrightError(f"--argument {text}: the value has no room in {suffix}, which has {WIDTHS[suffix]} bits")
    return suffix, number


def _draw(run: Simulator, text: str) -> None:
    label, _, file = text.partition("=")
    if not file:
        raise LoopwrightError(f"--picture {text}: a paragraph's label and a file are expected, as in --picture loop=loop.svg")
    try:
        Path(file).write_text(picture(run, label), encoding="utf-8")
    except OSError as error:
        raise LoopwrightError(f"{file} cannot be written: {error.strerror}") from None
    print(f"written: {file}", file=sys.stderr)
