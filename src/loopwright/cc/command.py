"""``loopwright cc``: C programs, compiled by loopwright behind clang's front end, and run, or shown."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import loopwright as lw
from loopwright import compiler
from loopwright.arguments import SET
from loopwright.cc import clang, link
from loopwright.cc.run import run
from loopwright.errors import ArgumentError, LoopwrightError, TargetError
from loopwright.frontend.llvm.module import BY_LINKER, IN_MAIN, functions_and_globals
from loopwright.frontend.llvm.routines import PREFIX
from loopwright.frontend.native_calls import in_process
from loopwright.ir.globals import Global
from loopwright.ir.module import Module
from loopwright.jit import target_for
from loopwright.objects.elf import ObjectFile
from loopwright.objects.machines import machine_of
from loopwright.objects.program import object_file, write
from loopwright.passes.counted import COUNTED, report
from loopwright.runtime import cpu
from loopwright.runtime.code import Code
from loopwright.settings import Settings
from loopwright.targets import registry
from loopwright.targets.multiclet.target import Multiclet
from loopwright.targets.pipeline import names_of
from loopwright.targets.target import Target

__all__ = ["main"]

DESCRIPTION = """\
Compile a C program: clang reads it (as far as LLVM IR), loopwright makes the code. Several files are linked into one program; files of LLVM IR
(.ll, .bc) are taken as they are. Without --run, --show and -o it is compiled, and nothing else.
"""

EXAMPLES = """\
examples:
  loopwright cc primes.c --run 1000
      run its main, in a process of its own, with the arguments behind --run; the exit status is the program's
  loopwright cc primes.c -o primes
      an executable, linked with C's library (of another machine: statically); with -c an object file
  loopwright cc primes.c --target rv64gc --run 1000
      the same program for another machine, under QEMU, linked with that machine's C library
  loopwright cc primes.c -g --show sieve
      the listing of one of its functions, with the lines of C
  loopwright cc primes.c --show sieve --after liveness --target rv64gc
      the same function after a pass, for another machine
  loopwright cc primes.c -g --nests
      which loops run in lanes, and why others do not
  loopwright cc primes.c --target multiclet-s2 --cycles --run 1000
      on a simulated processor, with the run-time library; its commands and cycles are printed to the standard error
  loopwright cc primes.c --target multiclet-s2 --set cells=8 --set fetch=8 --cycles --run 1000
      on one with other parameters
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="loopwright cc", description=DESCRIPTION, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="files of C, or of LLVM IR (.ll, .bc)")
    parser.add_argument("-O", dest="level", default="2", choices=["0", "1", "2", "3", "s"], help="what clang does with the program first (default: 2)")
    parser.add_argument("-g", dest="debug", action="store_true", help="keep the lines of C, for listings, errors and debuggers")
    parser.add_argument("-I", dest="folders", action="append", default=[], metavar="DIR", help="where headers are looked for as well")
    parser.add_argument("-D", dest="macros", action="append", default=[], metavar="NAME[=VALUE]", help="define a macro")
    parser.add_argument("-w", dest="quiet", action="store_true", help="no warnings of clang's")
    parser.add_argument("-o", dest="output", type=Path, metavar="FILE", help="write an executable")
    parser.add_argument("-c", dest="object", action="store_true", help="write an object file instead (default: the first file's name, with .o)")
    parser.add_argument("-l", dest="libraries", action="append", default=[], metavar="NAME", help="a library to link with")
    parser.add_argument("--target", metavar="NAME", help="the machine to compile for: a name that 'loopwright targets' lists (default: this one)")
    parser.add_argument("--set", dest="numbers", action="append", default=[], metavar="NAME=N", help=SET)
    parser.add_argument("--show", metavar="FUNCTION", help="print the code of a function")
    parser.add_argument("--after", default="asm", metavar="PASS", help="with --show: the stage, a name that 'loopwright passes' lists, or asm (the default)")
    parser.add_argument("--nests", action="store_true", help="print of each innermost loop whether it runs in lanes, and if not, why; with -g by lines of C")
    parser.add_argument("--cycles", action="store_true", help="with --run on a simulated processor: count commands and cycles")
    parser.add_argument("--run", nargs=argparse.REMAINDER, metavar="ARG", help="run the program with these arguments; stands last")
    return parser


def main(words: Sequence[str]) -> int:
    """Run the command; returns the exit status, of ``--run`` the program's.

    Raises ``LoopwrightError`` for what cannot be done, and clang's own errors.
    """
    args = _parser().parse_args(words)
    target = target_for(registry.described(args.target, args.numbers), None)
    names = names_of(target.passes())
    if args.after not in (*names, "asm"):
        raise TargetError(f"there is no pass '{args.after}'; there are {', '.join(names)}, and asm for the listing")
    triple = _triple(target)
    simulated = isinstance(target, Multiclet)
    if args.cycles and (args.run is None or not simulated):
        raise ArgumentError("--cycles counts those of a program that is run on a simulated processor: name it by --target, and give --run")
    if args.run is not None and args.target is not None and not simulated and not triple:
        # (Another level of this machine, which its CPU has or has not.)
        cpu.require(target.features, target.name)
    written = args.object or args.output is not None
    if triple and not written and args.run is None and not clang.has_headers(triple):
        # To look at code, the headers of this machine are better than none.
        triple = ""
    read = clang.bitcode(args.files, _options(args, triple))
    if written:
        _write(read, args, target, triple)
    if triple and args.run is not None:
        return _emulated(read, args, target)
    if args.nests:
        print(loops(read, _called(args), target), end="")
        if args.run is None and args.show is None:
            return 0
    if args.run is None and args.show is None and written:
        return 0
    if isinstance(target, Multiclet):
        return _simulated(read, args, target)
    program = lw.Module.of(*functions_and_globals(read, _called(args), begun=IN_MAIN, found=_in_process)).compile(target=args.target)
    if args.show is not None:
        if args.show not in program:
            raise LoopwrightError(f"the program has no function {args.show}; it has {', '.join(program)}")
        code = program[args.show]
        print(code.asm() if args.after == "asm" else code.ir(args.after), end="")
    return run(program, os.fspath(args.files[0].with_suffix("")), args.run) if args.run is not None else 0


def _triple(target: Target) -> str:
    """What clang calls the machine, or "" where that is this one, or none that C is compiled for."""
    machine = registry.machine_that_has(target)
    return machine_of(target).triple if machine is not None and not machine.runs_here() and not machine.family.startswith("multiclet") else ""


def loops(module: bytes, file: str, target: Target) -> str:
    """What becomes of the innermost loops of a module of LLVM IR, a line for each.

    Args:
        module: bitcode.
        file: what it is called.
        target: the machine.
    """
    lines: list[str] = []
    for f in functions_and_globals(module, file, begun=IN_MAIN)[0]:
        # (The passes in front of the one that makes lanes.)
        for each in target.passes():
            if each.name == COUNTED:
                lines += [f"{told.text(f.file)} [{f.name}]" for told in report(f, target)]
                break
            each.run(f, target)
        else:
            return f"{target.name} has no lanes for loops of C\n"
    return "".join(f"{line}\n" for line in lines)


def _called(args: argparse.Namespace) -> str:
    """What errors and listings call the program where they have no lines of C, but those of its LLVM IR."""
    file: Path = args.files[0]
    return os.fspath(file) if file.suffix in (".ll", ".bc") else f"{file} (LLVM IR)"


def _in_process(name: str) -> bool:
    """Whether this process has something of a name."""
    return in_process(Global(name)) is not None


def _simulated(read: bytes, args: argparse.Namespace, target: Multiclet) -> int:
    """What is asked for a processor that is simulated."""
    from loopwright.cc import library, simulated

    file = _called(args)
    if args.show is not None:
        module = library.translated(read, file)
        f = module.functions.get(args.show)
        if f is None:
            raise LoopwrightError(f"the program has no function {args.show}; it has {', '.join(module.functions)}")
        code = Code(compiler.compile(f, target, Settings(keep=True)))
        print(code.asm() if args.after == "asm" else code.ir(args.after), end="")
    if args.run is None:
        if args.show is None:
            for each in library.translated(read, file).functions.values():
                compiler.compile(each, target)
        return 0
    program = simulated.build(read, file, target)
    streams = simulated.Streams(sys.stdin.buffer, sys.stdout.buffer, sys.stderr.buffer)
    status, simulator = simulated.run(program, [os.fspath(args.files[0].with_suffix("")), *args.run], args.cycles, streams)
    if simulator.timing is not None:
        print(f"{target.name}: {simulator.commands} commands, {simulator.timing.cycles} cycles", file=sys.stderr)
    return status


def _options(args: argparse.Namespace, triple: str) -> clang.Options:
    preprocessor = [*(f"-I{folder}" for folder in args.folders), *(f"-D{macro}" for macro in args.macros), *(["-w"] if args.quiet else [])]
    return clang.Options(args.level, args.debug, preprocessor, triple)


def _object(read: bytes, args: argparse.Namespace, target: Target) -> ObjectFile:
    functions, globals_ = functions_and_globals(read, _called(args), exported=args.object, begun=BY_LINKER)
    module = Module(functions, globals=globals_, find=link.elsewhere)
    module.verify()
    compiled = [compiler.compile(f, target) for f in module.functions.values()]
    local = {*clang.local_names(read), *(name for name in (*module.functions, *module.globals) if name.startswith(PREFIX))}
    return object_file(compiled, module.globals.values(), target, local, os.fspath(args.files[0]) if args.debug else "", clang.weak_names(read))


def _write(read: bytes, args: argparse.Namespace, target: Target, triple: str) -> None:
    """Write an object file or an executable."""
    made = _object(read, args, target)
    output = args.output if args.output is not None else Path(args.files[0].with_suffix(".o").name)
    if args.object:
        write(output, made.data())
    else:
        link.program(made, target, output, _libraries(args), bool(triple))


def _libraries(args: argparse.Namespace) -> list[str]:
    return [f"-l{name}" for name in args.libraries]


def _emulated(read: bytes, args: argparse.Namespace, target: Target) -> int:
    """Run a program for another machine under its emulator; its exit status, or 128 and the signal that ended it."""
    machine = registry.machine_that_has(target)
    assert machine is not None and machine.emulator is not None
    emulator = next((found for found in map(shutil.which, machine.emulator.programs) if found), None)
    if emulator is None:
        raise TargetError(
            f"programs for {target.name} run under {machine.emulator.programs[0]}, which is not installed: Debian package {machine.emulator.packages}"
        )
    with tempfile.TemporaryDirectory(prefix="loopwright-") as folder:
        made = Path(folder) / args.files[0].with_suffix("").name
        # (C's mathematical functions are there without being asked for, as they are in this process.)
        link.program(_object(read, args, target), target, made, [*_libraries(args), "-lm"], True)
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        status = subprocess.run([emulator, str(made), *args.run], check=False).returncode
    return 128 - status if status < 0 else status
