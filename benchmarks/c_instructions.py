"""How many instructions do C programs run on AArch64 and RISC-V? Those of ``tests/programs`` that are short, beside clang -O2 without vectors, counted by QEMU.

Both are linked statically with the machine's C library, which is not counted: only what lies where the program's own functions do. QEMU counts instructions, no cycles.

python -m benchmarks.c_instructions [--quick]
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from benchmarks import report
from benchmarks.c_functions import FOLDER, read
from benchmarks.programs import WORDS
from loopwright import compiler
from loopwright.cc import clang, link
from loopwright.frontend.llvm.module import functions_and_globals
from loopwright.ir.module import Module
from loopwright.objects.machines import machine_of
from loopwright.objects.program import object_file
from loopwright.targets import registry

RATIO: Final = 1.2
TARGETS: Final = ("aarch64-neon", "rv64gc")
#: Those that run a few million instructions at most, each of which is a line of a log; divisions of 128 bits are not among them, which clang has in its run-time library.
PROGRAMS: Final = (
    "cases",
    "fft",
    "game_of_life",
    "hashes",
    "huffman",
    "json",
    "matrix",
    "matrix_solve",
    "ray_tracing",
    "regular",
    "strings",
    "text_search",
    "variadic",
)
_PLAIN: Final = ["-w", "-fno-vectorize", "-fno-slp-vectorize", "-fno-math-errno", "-fno-stack-protector", "-fno-pic"]


def _ours(program: Path, name: str, output: Path) -> list[str]:
    """An executable; the names of its functions."""
    target = registry.get(name)
    given = read(program, name)
    functions, globals_ = functions_and_globals(given, program.name)
    module = Module(functions, globals=globals_, find=link.elsewhere)
    module.verify()
    compiled = [compiler.compile(f, target) for f in module.functions.values()]
    link.program(object_file(compiled, module.globals.values(), target, set(clang.local_names(given)), ""), target, output, ["-lm"], True)
    return list(module.functions)


def _theirs(program: Path, name: str, output: Path) -> list[str]:
    triple = machine_of(registry.get(name)).triple
    made = output.with_suffix(".o")
    subprocess.run([clang.find(), "-O2", *_PLAIN, f"--target={triple}", "-c", program, "-o", made], check=True, capture_output=True)
    subprocess.run([clang.find(), f"--target={triple}", "-static", made, "-o", output, "-lm"], check=True, capture_output=True)
    return [words[2] for words in _symbols(made) if words[1] in "tT"]


def _symbols(file: Path) -> list[list[str]]:
    done = subprocess.run(["llvm-nm", "--defined-only", file], check=True, capture_output=True, text=True)
    return [line.split() for line in done.stdout.splitlines() if len(line.split()) == 3]


def counted(executable: Path, names: list[str], emulator: str, folder: Path) -> int:
    """The instructions that functions of these names run, and what lies between them."""
    symbols = sorted((int(address, 16), symbol) for address, kind, symbol in _symbols(executable) if kind in "tTwW")
    own = [address for address, symbol in symbols if symbol in names]
    first, last = min(own), max(own)
    end = min((address for address, _ in symbols if address > last), default=last + (1 << 16))
    pipe = folder / "log"
    os.mkfifo(pipe)
    with subprocess.Popen(
        [emulator, "-singlestep", "-d", "exec,nochain", "-D", pipe, executable, *WORDS], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ):
        count = 0
        with pipe.open() as lines:
            for line in lines:
                if line.startswith("Trace"):
                    count += first <= int(line.split("/", 2)[1], 16) < end
    pipe.unlink()
    return count


def run(quick: bool = False) -> report.Result:
    """Count the instructions."""
    result = report.Result("c_instructions")
    if shutil.which("clang") is None or shutil.which("llvm-nm") is None:
        result.notes.append("not measured: clang and llvm-nm are needed (Debian packages clang and llvm)")
        return result
    for name in TARGETS:
        machine = registry.machine_of(name)
        assert machine is not None and machine.emulator is not None
        emulator = next((found for found in map(shutil.which, machine.emulator.programs) if found), None)
        if emulator is None or not clang.has_headers(machine_of(registry.get(name)).triple):
            result.notes.append(f"not measured for {name}: its emulator and C library are needed")
            continue
        rows: list[list[str]] = []
        logarithms: list[float] = []
        for stem in PROGRAMS[:2] if quick else PROGRAMS:
            with tempfile.TemporaryDirectory() as made:
                folder = Path(made)
                counts = [
                    counted(folder / side, make(FOLDER / f"{stem}.c", name, folder / side), emulator, folder)
                    for side, make in (("ours", _ours), ("theirs", _theirs))
                ]
            logarithms.append(math.log(counts[0] / counts[1]))
            rows.append([stem, str(counts[0]), str(counts[1]), f"{counts[0] / counts[1]:.2f}"])
            print(name, *rows[-1], flush=True)
        mean = math.exp(sum(logarithms) / len(logarithms))
        rows.append(["geometric mean", "", "", f"{mean:.2f}"])
        result.tables.append(report.Table(f"Instructions run, {name}", ["program", "loopwright", "clang -O2", "ratio"], rows))
        result.verdicts.append(report.Verdict(f"instructions of C programs on {name} beside clang -O2, geometric mean", mean, RATIO, goal=True))
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, "Count the instructions of C programs beside clang's."))
