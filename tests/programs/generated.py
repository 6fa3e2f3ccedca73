"""Programs of Csmith's (X. Yang et al., "Finding and Understanding Bugs in C Compilers", PLDI 2011) beside clang -O0 and gcc -O0: what they print is compared.

``python -m tests.programs.generated --count 20000 --jobs 2``
"""

from __future__ import annotations

import argparse
import concurrent.futures
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from loopwright.cc import clang

__all__ = ["CSMITH", "compared"]

CSMITH = shutil.which("csmith")
HEADERS = ["-w", "-I", "/usr/include/csmith"]
#: Seconds that a program may take as clang has compiled it, and by our code, which is compiled in them too.
SHORT, LONG = 1, 300
#: Whose code the programs are compared with.
COMPILERS = [compiler for compiler in ("clang", "gcc") if shutil.which(compiler)]
LEVELS = ("-O0", "-O1", "-O2", "-O3")
#: Machines under whose emulators every fifth program runs: clang makes other IR for them.
OTHERS = [
    target
    for target, triple, emulator in (("rv64gc", "riscv64-linux-gnu", "qemu-riscv64"), ("aarch64-neon", "aarch64-linux-gnu", "qemu-aarch64"))
    if clang.has_headers(triple) and shutil.which(emulator) is not None
]


def compared(seed: int, folder: Path) -> str | None:
    """What is different about the program of a seed, or ""; None where it takes too long to be compared.

    Args:
        seed: of the generator; it gives the level of optimisation, too, and the machine.
        folder: where files may be made, under names of their own.
    """
    source, reference = folder / f"seed{seed}.c", folder / f"seed{seed}"
    subprocess.run([str(CSMITH), "--seed", str(seed), "--max-funcs", "6", "--no-packed-struct", "-o", str(source)], check=True, cwd=folder)
    level = LEVELS[seed % len(LEVELS)]
    options = [level, "--target", OTHERS[seed // 5 % len(OTHERS)]] if OTHERS and seed % 5 == 0 else [level]
    try:
        printed = {}
        for compiler in COMPILERS:
            subprocess.run([compiler, "-O0", *HEADERS, str(source), "-o", str(reference)], check=True, capture_output=True)
            printed[compiler] = subprocess.run([str(reference)], check=True, capture_output=True, text=True, timeout=SHORT).stdout
        expected = printed["clang"]
        if set(printed.values()) != {expected}:
            return f"seed {seed}: the compilers do not agree, {printed}"
        command = [sys.executable, "-m", "loopwright", "cc", *options, *HEADERS, str(source), "--run"]
        found = subprocess.run(command, check=False, capture_output=True, text=True, timeout=LONG)
    except subprocess.TimeoutExpired as late:
        return None if late.timeout == SHORT else f"seed {seed}: not done after {LONG} s"
    finally:
        reference.unlink(missing_ok=True)
    if found.returncode == 0 and found.stdout == expected:
        source.unlink()
        return ""
    return f"seed {seed}, {' '.join(options)}: {expected.strip()} by clang; {found.stdout.strip()} {found.stderr.strip()[-300:]} (status {found.returncode}); {source}"


def main() -> int:
    """Compare many."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs.generated", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="programs to compare, those that take too long left out")
    parser.add_argument("--seed", type=int, default=1, help="of the first; the others follow")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="loopwright-generated-"))
    done = different = 0
    seeds = iter(range(arguments.seed, sys.maxsize))
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        waiting = {pool.submit(compared, next(seeds), folder) for _ in range(arguments.jobs)}
        while waiting and done < arguments.count:
            ended, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for each in ended:
                said = each.result()
                done += said is not None
                if said:
                    different += 1
                    print(f"\n{said}", flush=True)
                if done + len(waiting) < arguments.count:
                    waiting.add(pool.submit(compared, next(seeds), folder))
            print(f"\r{done} of {arguments.count} programs, {different} different", end="", flush=True)
    print()
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
