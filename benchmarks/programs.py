"""How fast are C programs, and how fast are they compiled? Those of ``tests/programs``, beside clang without vectors and beside llc.

python -m benchmarks.programs [--quick]

The same LLVM IR (clang -O2 without vectors) goes to loopwright and to llc. Each program's ``main`` is called again and again in one process, its output thrown away; the programs of one row
take turns.
"""

from __future__ import annotations

import math
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks import report

FOLDER: Final = Path(__file__).parent.parent / "tests" / "programs"
#: What waits for a signal is not measured.
LEFT_OUT: Final = ("volatile",)
_LEVELS: Final = ("O0", "O2")
WORDS: Final = ["abc", "The quick brown fox", "97"]
_PLAIN: Final = ["-w", "-fno-vectorize", "-fno-slp-vectorize", "-fno-math-errno", "-fno-stack-protector", "-fno-pic"]
#: Calls a program's main so many times, and prints the seconds that took.
_DRIVER: Final = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int program_main(int, char **);
int main(int n, char **words) {
  int times = atoi(words[1]);
  struct timespec a, b;
  words[1] = words[0];
  if (!freopen("/dev/null", "w", stdout)) return 1;
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (int i = 0; i < times; i++) program_main(n - 1, words + 1);
  clock_gettime(CLOCK_MONOTONIC, &b);
  fprintf(stderr, "%.9f", b.tv_sec - a.tv_sec + (b.tv_nsec - a.tv_nsec) * 1e-9);
  return 0;
}
"""


def _run(words: Sequence[str | Path]) -> None:
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


def _cpu_seconds(words: Sequence[str | Path]) -> float:
    """The CPU time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run(words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _executables(program: Path, folder: Path) -> dict[str, Path]:
    """A program by each compiler."""
    from loopwright import compiler
    from loopwright.cc import clang, link
    from loopwright.frontend.llvm.module import functions_and_globals
    from loopwright.ir.module import Module
    from loopwright.jit import target_for
    from loopwright.objects.program import object_file, write

    driver = folder / "driver.o"
    if not driver.exists():
        (folder / "driver.c").write_text(_DRIVER)
        _run([clang.find(), "-O1", "-c", folder / "driver.c", "-o", driver])
    made: dict[str, Path] = {}
    for level in ("O2", "O1"):
        _run([clang.find(), f"-{level}", *_PLAIN, "-Dmain=program_main", "-emit-llvm", "-c", program, "-o", folder / f"{level}.bc"])
        _run([clang.find(), f"-{level}", "-c", folder / f"{level}.bc", "-o", folder / f"{level}.o"])
        made[f"clang -{level}"] = folder / f"{level}.o"
    read = (folder / "O2.bc").read_bytes()
    functions, globals_ = functions_and_globals(read, str(program))
    module = Module(functions, globals=globals_, find=link.elsewhere)
    module.verify()
    target = target_for(None, None)
    compiled = [compiler.compile(f, target) for f in module.functions.values()]
    write(folder / "ours.o", object_file(compiled, module.globals.values(), target, set(clang.local_names(read))).data())
    made["loopwright"] = folder / "ours.o"
    for name, file in made.items():
        output = folder / name.replace(" ", "")
        _run([clang.find(), "-no-pie", driver, file, "-o", output, "-lm"])
        made[name] = output
    return made


def _seconds(executable: Path, times: int) -> float:
    done = subprocess.run([executable, str(times), *WORDS], check=True, stderr=subprocess.PIPE, text=True)
    return float(done.stderr) / times


def _run_times(made: dict[str, Path], quick: bool) -> dict[str, float]:
    """The least time of one call of main."""
    once = _seconds(made["clang -O2"], 1)
    times = max(1, int((0.01 if quick else 0.1) / max(once, 1e-6)))
    try:
        _seconds(made["clang -O2"], times)
    except subprocess.CalledProcessError:
        # (Not every main can be called again: its variables are as it has left them.)
        times = 1
    least = dict.fromkeys(made, math.inf)
    for _ in range(2 if quick else 5):
        for name, executable in made.items():
            least[name] = min(least[name], _seconds(executable, times))
    return least


def _compile_times(program: Path, folder: Path, empty: Path, quick: bool) -> dict[str, float]:
    """From the parsed IR to code, here; with llc, what it takes beyond an empty module: the least of some rounds, each of all of them."""
    import loopwright as lw

    module = lw.from_llvm((folder / "O2.bc").read_bytes(), str(program))
    commands = {
        (level, file): ["llc", f"-{level}", "-filetype=obj", file, "-o", folder / "made.llc.o"] for level in _LEVELS for file in (folder / "O2.bc", empty)
    }
    ours = math.inf
    least = dict.fromkeys(commands, math.inf)
    for _ in range(1 if quick else 20):
        start = time.process_time()
        module.compile()
        ours = min(ours, time.process_time() - start)
        for key, command in commands.items():
            least[key] = min(least[key], _cpu_seconds(command))
    made = {"loopwright": ours}
    for level in _LEVELS:
        made[f"llc -{level}"] = max(least[level, folder / "O2.bc"] - least[level, empty], 1e-4)
    return made


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def run(quick: bool = False) -> report.Result:
    """Measure the programs."""
    result = report.Result("programs")
    if shutil.which("clang") is None or shutil.which("llc") is None:
        result.notes.append("not measured: clang and llc are needed (Debian packages clang and llvm)")
        return result
    rows: list[list[str]] = []
    ratios: dict[str, list[float]] = {"clang -O2": [], "clang -O1": [], "llc -O0": [], "llc -O2": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "empty.ll").write_text("define void @f() {\n  ret void\n}\n")
        empty = folder / "empty.ll"
        programs = [each for each in sorted(FOLDER.glob("*.c")) if each.stem not in LEFT_OUT]
        for program in programs[:3] if quick else programs:
            made = _executables(program, folder)
            ran = _run_times(made, quick)
            compiled = _compile_times(program, folder, empty, quick)
            row = [program.stem, f"{ran['loopwright'] * 1e6:.0f}"]
            for peer, here, times in (
                *((each, "loopwright", ran) for each in ("clang -O2", "clang -O1")),
                *((each, "loopwright", compiled) for each in ("llc -O0", "llc -O2")),
            ):
                ratio = times[here] / times[peer]
                ratios[peer].append(ratio)
                row.append(f"{ratio:.2f}")
            row.insert(4, f"{compiled['loopwright'] * 1e3:.1f}")
            rows.append(row)
            print("  ".join(row), flush=True)
    rows.append(
        [
            "geometric mean",
            "",
            *(f"{_mean(ratios[peer]):.2f}" for peer in ("clang -O2", "clang -O1")),
            "",
            *(f"{_mean(ratios[peer]):.2f}" for peer in ("llc -O0", "llc -O2")),
        ]
    )
    result.tables.append(report.Table("C programs", ["program", "run, us", "/ clang -O2", "/ clang -O1", "compile, ms", "/ llc -O0", "/ llc -O2"], rows))
    targets = {"clang -O2": 1.15, "clang -O1": 1.0, "llc -O0": 2.0, "llc -O2": 0.5}
    for peer, target in targets.items():
        what = "time of C programs" if peer.startswith("clang") else "compile time of C programs"
        result.verdicts.append(report.Verdict(f"{what} beside {peer}, geometric mean", _mean(ratios[peer]), target, goal=True))
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, "Measure C programs beside clang and llc."))
