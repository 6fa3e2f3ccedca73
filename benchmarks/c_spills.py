"""How much do C programs spill? The functions of the collection ``c``, beside LLVM's greedy allocator on the same LLVM IR, for all three machines.

Loads and stores of spilled values are weighted by 8 to the depth of the loops around them (``spills.py``); loops stay as they are written (``nests`` off). Of LLVM the code generator at -O2
runs on what clang has handed over, so that its own passes between IR and allocation differ from ours: loops' strength reduction, what addresses hold, how blocks are ordered. What
saves and restores the registers that a function has to keep is a spill on neither side: LLVM says "Folded Spill" of these as well, where they are not pushed.

python -m benchmarks.c_spills [--quick]
"""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import sys
from typing import Final

from benchmarks import report, spills
from benchmarks.c_functions import FOLDER, functions, read
from loopwright.targets import registry

#: Of the geometric mean of (ours + 1) / (LLVM's + 1).
RATIO: Final = 1.05
#: What llc is told of each machine.
MACHINES: Final[dict[str, list[str]]] = {
    "x86-64-v3": ["-mcpu=x86-64-v3"],
    "aarch64-neon": ["-mtriple=aarch64-linux-gnu"],
    "rv64gc": ["-mtriple=riscv64-linux-gnu", "-mattr=+m,+a,+f,+d,+c", "-target-abi=lp64d"],
}
_LABEL: Final = re.compile(r"^([\w.$]+):")
_FOLDED: Final = re.compile(r"(?:#|//) \d+-byte (?:Folded )?(Spill|Reload)")
#: What a prologue consists of, by its mnemonic, beside saving registers that the callee keeps; and those.
_PROLOGUE: Final = ("addi", "sub", "mov", "lui", "add", "push", "pushq", "subq", "str", "stp", "sd", "fsd", "li")
_CALLEES: Final = re.compile(r"^(?:ra|f?s\d+|x(?:19|2\d|30)|d(?:8|9|1[0-5]))$")
_PART: Final = re.compile(r"^\.L?BB|^(?:#|//) %bb\.")
_DEPTH: Final = re.compile(r"(?:Header|in Loop: Header=\S+):? ?Depth=(\d+)")


def _kept(lines: list[str]) -> set[str]:
    """What saves and restores the caller's registers, as registers with their address: the stores that a function begins with."""
    saved: set[str] = set()
    for line in lines[1:]:
        words = line.split("\t")
        if len(words) < 2 or not words[1] or words[1].startswith("."):
            continue
        if words[1] not in _PROLOGUE:
            break
        if _FOLDED.search(line) and all(
            _CALLEES.match(register.strip())
            for register in words[2].partition("[")[0].partition("//")[0].split(",")
            if register.strip() and "(" not in register
        ):
            saved.add(_place(words[2]))
    return saved


def _place(operands: str) -> str:
    """The registers and the address of an access, written alike of stores and loads, before the stack moves or behind."""
    return re.sub(r"\[sp(?:, #-?\d+\]!|\], #\d+|\])", "[sp]", operands.split("#")[0].split("//")[0] if "[" not in operands else operands.split("//")[0]).strip()


def llvm(assembly: str) -> dict[str, float]:
    """The weighted spills of each function of LLVM's assembly, from the comments in it."""
    found: dict[str, float] = {}
    name = ""
    lines: list[str] = []
    for line in [*assembly.splitlines(), "end:"]:
        label = _LABEL.match(line)
        if label is not None and not label[1].startswith("."):
            if name:
                found[name] = _count(lines)
            name, lines = label[1], []
        lines.append(line)
    return found


def _count(lines: list[str]) -> float:
    kept = _kept(lines)
    depth = 0
    total = 0.0
    for line in lines:
        if _PART.match(line):
            depth = 0
        known = _DEPTH.search(line)
        if known is not None:
            depth = int(known[1])
        if _FOLDED.search(line) and _place(line.split("\t")[2] if line.count("\t") > 1 else "") not in kept:
            total += 8.0**depth
    return total


def run(quick: bool = False) -> report.Result:
    """Compare the spills."""
    result = report.Result("c_spills")
    if shutil.which("clang") is None or shutil.which("llc") is None:
        result.notes.append("not measured: clang and llc are needed (Debian packages clang and llvm)")
        return result
    summary = report.Table("Geometric means of (ours+1)/(LLVM+1)", ["machine", "functions", "mean", "we spill more in", "LLVM in", "sum, ours", "sum, LLVM"])
    whole: list[float] = []
    for machine, words in MACHINES.items():
        target = registry.get(machine)
        theirs: dict[str, float] = {}
        for program in sorted(FOLDER.glob("*.c")):
            done = subprocess.run(["llc", "-O2", *words, "-o", "-"], input=read(program, machine), capture_output=True, check=True)
            theirs |= {f"{program.stem}:{name}": count for name, count in llvm(done.stdout.decode()).items()}
        table = report.Table(f"Weighted spill cost, {machine}, where either spills", ["function", "instructions", "ours", "LLVM", "ratio"], detail=True)
        logarithms: list[float] = []
        rows: list[tuple[float, list[str]]] = []
        sums = [0.0, 0.0]
        for n, (label, f) in enumerate(functions(machine)):
            if label not in theirs or (quick and n % 8):
                continue
            f.options.nests = False
            mine, other = spills.ours(f, target).spills, theirs[label]
            ratio = (mine + 1) / (other + 1)
            logarithms.append(math.log(ratio))
            sums = [sums[0] + mine, sums[1] + other]
            if mine or other:
                rows.append((ratio, [label, str(len(f.code)), f"{mine:g}", f"{other:g}", f"{ratio:.2f}"]))
        table.rows = [row for _, row in sorted(rows, key=lambda pair: -pair[0])]
        result.tables.append(table)
        more, fewer = sum(x > 0 for x in logarithms), sum(x < 0 for x in logarithms)
        mean = math.exp(sum(logarithms) / len(logarithms))
        summary.rows.append([machine, str(len(logarithms)), f"{mean:.3f}", str(more), str(fewer), f"{sums[0]:g}", f"{sums[1]:g}"])
        whole += logarithms
    result.tables.append(summary)
    result.verdicts.append(report.Verdict("spills of C functions beside LLVM's, geometric mean", math.exp(sum(whole) / len(whole)), RATIO, goal=True))
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, "Compare the spills of C functions with LLVM's."))
