"""``loopwright build``: the kernels of a Python file as an object file, and a header for C and C++."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from loopwright import compiler
from loopwright.building.entries import collect, complete, wanted
from loopwright.building.header import header
from loopwright.errors import LoopwrightError
from loopwright.jit import target_for
from loopwright.kernel_files import load
from loopwright.objects.machines import machine_of
from loopwright.objects.program import object_file, write

__all__ = ["main"]

DESCRIPTION = """\
Compile the kernels of a Python file to an object file, which programs in C and C++ link, and write a header for it. The file is run as an import
runs it. All its kernels whose annotations give all types are compiled, its loopwright.Functions, and the functions of its modules; names that begin
with _ are left out. With --signature those, and no others: it has one word for each parameter, as those behind -- of loopwright show.
"""

EXAMPLES = """\
examples:
  loopwright build kernels.py -o kernels.o --header kernels.h
      then, for example: gcc main.c kernels.o -o main
  loopwright build kernels.py -o kernels.o -s 'axpy: f32 f32[] f32[]' -s 'axpy_f64 = axpy: f64 f64[] f64[]'
      one kernel for two types, under two names
  loopwright build examples/polynomial.py -o poly.o -s "cubic = poly: f32[] f32[] 'coeffs=(1.0, 2.0, 1.0, 0.5)'"
      constants are values of Python, quoted as for a shell
  loopwright build kernels.py -o kernels.o --target aarch64-neon
      for another machine
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="loopwright build", description=DESCRIPTION, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, metavar="FILE", help="a Python file")
    parser.add_argument("-o", dest="output", type=Path, metavar="FILE.o", help="the object file (default: the Python file's name, with .o)")
    parser.add_argument("--header", type=Path, metavar="FILE.h", help="the header (default: none)")
    parser.add_argument(
        "-s",
        "--signature",
        dest="wanted",
        action="append",
        default=[],
        metavar="TEXT",
        help="[SYMBOL =] KERNEL[: SIGNATURE], several times for several functions",
    )
    parser.add_argument("-g", dest="debug", action="store_true", help="tell debuggers which lines of the Python file instructions come from")
    parser.add_argument("--target", metavar="NAME", help="the machine to compile for: a name that 'loopwright targets' lists (default: this one)")
    parser.add_argument("--vector-bits", type=int, metavar="N", help="width of vectors, where the target has several (256 or 512 on x86-64-v4)")
    return parser


def main(words: Sequence[str]) -> int:
    """Run the command; returns the exit status. Raises ``LoopwrightError`` for what cannot be done."""
    args = _parser().parse_args(words)
    target = target_for(args.target, args.vector_bits)
    machine_of(target)
    asked = [wanted(text) for text in args.wanted]
    entries, left_out = collect(load(args.file), asked)
    if not entries:
        listed = "".join(f"\n  {line}" for line in left_out)
        raise LoopwrightError(f"{args.file} has no kernels whose types are known: give some by --signature, as in -s 'axpy: f32 f32[] f32[]'{listed}")
    # The header first: it refuses what C has no types for.
    text = header(entries, target, args.header.name, args.file.name) if args.header is not None else ""
    functions, globals_, local = complete(entries)
    made = object_file([compiler.compile(f, target) for f in functions], globals_, target, local, os.fspath(args.file) if args.debug else "")
    output = args.output if args.output is not None else Path(args.file.with_suffix(".o").name)
    write(output, made.data())
    if args.header is not None:
        write(args.header, text.encode())
    for line in left_out:
        print(f"left out {line}", file=sys.stderr)
    print(f"written: {output}: {', '.join(each.function.name for each in entries)}", file=sys.stderr)
    return 0
