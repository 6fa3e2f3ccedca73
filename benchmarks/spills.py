"""How much do we spill? Loads and stores of spilled values, weighted by loop depth, beside LLVM's greedy allocator on the same functions.

Each function is exported after our loop and scalar passes (``peers/llvm_export.py``), so that LLVM allocates registers for the same
unrolled loops, addresses and multiply-adds; of LLVM only ``sroa`` and the code generator at -O2 run. A spill or reload weighs 8 to the
depth of the loops around it, on either side. LLVM's are read from the comments in its assembly ("8-byte Folded Reload",
"in Loop: … Depth=2"); ours are counted in the allocated code. A stack argument that is read once is no spill. Constants from
memory are counted apart: both take them from there rather than spill.

python -m benchmarks.spills [--quick]
"""

from __future__ import annotations

import ctypes
import importlib
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import loopwright as lw
from benchmarks import cases, report
from loopwright.costs import exact
from loopwright.ir.function import Function
from loopwright.ir.text import parse
from loopwright.targets import registry
from loopwright.targets.target import Target

TARGETS = ("x86-64-v3", "x86-64-v4")
#: Of the geometric mean of (ours + 1) / (LLVM's + 1).
RATIO = 1.0

_V, _P = lw.Array[lw.f32], lw.Array[lw.f32, 2]


# --- kernels with more values than registers -----------------------------------------------------------------------------


@lw.kernel
def stencil(src: lw.Array[lw.f32, 2], weights: lw.Array[lw.f32], dst: lw.Array[lw.f32, 2], size: lw.Const):
    """A window of size x size, each place with a weight that is known only when it runs: size * size values wanted all the time."""
    taps = [weights[k] for k in range(size * size)]
    for r in lw.range(dst.shape[0]):
        for c in lw.lanes(dst.shape[1]):
            total = src[r, c] * taps[0]
            for k in range(1, size * size):
                total += src[r + k // size, c + k % size] * taps[k]
            dst[r, c] = total


@lw.kernel
def mean(src: lw.Array[lw.f32, 2], dst: lw.Array[lw.f32, 2], size: lw.Const):
    """The mean of a window of size x size: long chains, few values."""
    for r in lw.range(dst.shape[0]):
        for c in lw.lanes(dst.shape[1]):
            total = src[r, c]
            for k in range(1, size * size):
                total += src[r + k // size, c + k % size]
            dst[r, c] = total * (1 / size**2)


@lw.kernel
def polynomials(x: lw.Array[lw.f32], y: lw.Array[lw.f32], coeffs: lw.Const, count: lw.Const):
    """``count`` polynomials at once by Horner's rule, added up: ``count`` values and all coefficients are wanted at once."""
    for i in lw.lanes(len(y)):
        v = x[i]
        totals = [v * (k + 2) for k in range(count)]
        for c in coeffs:
            for k in range(count):
                totals[k] = totals[k] * v + c * (k + 1)
        total = totals[0]
        for k in range(1, count):
            total += totals[k]
        y[i] = total


@lw.kernel
def estrin(x: lw.Array[lw.f32], y: lw.Array[lw.f32], coeffs: lw.Const):
    """A polynomial by Estrin's scheme: pairs of coefficients side by side."""
    for i in lw.lanes(len(y)):
        power = x[i]
        terms = list(coeffs)
        while len(terms) > 1:
            terms = [terms[k] + terms[k + 1] * power if k + 1 < len(terms) else terms[k] for k in range(0, len(terms), 2)]
            power = power * power
        y[i] = terms[0]


@lw.kernel
def product(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2], c: lw.Array[lw.f32, 2]):
    """Ten rows of a matrix product, a vector of columns at a time: ten accumulators, and ten rows to find elements in."""
    for j in lw.lanes(c.shape[1]):
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = s8 = s9 = b[0, j] * 0
        for k in lw.range(a.shape[1]):
            v = b[k, j]
            s0, s1, s2, s3, s4 = s0 + a[0, k] * v, s1 + a[1, k] * v, s2 + a[2, k] * v, s3 + a[3, k] * v, s4 + a[4, k] * v
            s5, s6, s7, s8, s9 = s5 + a[5, k] * v, s6 + a[6, k] * v, s7 + a[7, k] * v, s8 + a[8, k] * v, s9 + a[9, k] * v
        c[0, j], c[1, j], c[2, j], c[3, j], c[4, j] = s0, s1, s2, s3, s4
        c[5, j], c[6, j], c[7, j], c[8, j], c[9, j] = s5, s6, s7, s8, s9


@lw.kernel
def counters(x: lw.Array[lw.i64], out: lw.Array[lw.i64], a: lw.i64, b: lw.i64, c: lw.i64, d: lw.i64):
    """Twelve integers that a scalar loop changes, and four that it reads."""
    k0 = k1 = k2 = k3 = k4 = k5 = k6 = k7 = k8 = k9 = k10 = k11 = lw.i64(0)
    for i in lw.range(len(x)):
        v = x[i]
        k0, k1, k2, k3 = k0 + v, k1 ^ v, k2 + (v >> 1), k3 ^ (v >> 2)
        k4, k5, k6, k7 = k4 + (v & a), k5 ^ (v + a), k6 + (v & b), k7 ^ (v + b)
        k8, k9, k10, k11 = k8 + (v & c), k9 ^ (v + c), k10 + (v & d), k11 ^ (v + d)
    out[0], out[1], out[2], out[3] = k0, k1, k2, k3
    out[4], out[5], out[6], out[7] = k4, k5, k6, k7
    out[8], out[9], out[10], out[11] = k8, k9, k10, k11


@ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
def _callee(x: float) -> float:
    return x


@lw.kernel
def calling(x: lw.Array[lw.f64], y: lw.Array[lw.f64], count: lw.Const):
    """A call in the loop, with ``count`` values that live across it: no vector register survives a call."""
    kept = [x[k] for k in range(count)]
    for i in lw.range(len(y)):
        total = lw.call(_callee, x[i])
        for value in kept:
            total = total * value + x[i]
        y[i] = total


@lw.kernel
def around_calls(x: lw.Array[lw.f64], y: lw.Array[lw.f64], count: lw.Const):
    """Values wanted in a loop without calls, and a call before and after it."""
    kept = [lw.call(_callee, x[k]) for k in range(count)]
    for i in lw.range(len(y)):
        total = x[i]
        for value in kept:
            total = total * value + x[i]
        y[i] = total
    y[0] = lw.call(_callee, y[1]) + kept[0]


@lw.kernel
def rarely(x: lw.Array[lw.f64], y: lw.Array[lw.f64]):
    """A loop with a call on a path that is seldom taken."""
    a, b, c, d = x[0], x[1], x[2], x[3]
    for i in lw.range(len(y)):
        total = x[i] * a + b
        if total < c:
            total = lw.call(_callee, total) * d
        y[i] = total + a


@lw.kernel
def nest(a: lw.Array[lw.i32, 2], b: lw.Array[lw.i32, 2], c: lw.Array[lw.i32, 2], p: lw.i64, q: lw.i64, r: lw.i64):
    """Three nested scalar loops over three arrays with many bounds, strides and parameters: integer registers."""
    for i in lw.range(c.shape[0]):
        for j in lw.range(c.shape[1]):
            total = c[i, j]
            for k in lw.range(a.shape[1]):
                total += a[i, k] * b[k, j]
                if lw.i64(total) > p:
                    total -= lw.i32(q)
            c[i, j] = total + lw.i32(r)


@dataclass(slots=True)
class Subject:
    """A function both allocate."""

    name: str
    kernel: Any
    types: tuple[Any, ...]
    constants: dict[str, Any]

    def source(self, target: Target) -> Function:
        """What the front end makes of it for a target."""
        staged: Function = self.kernel.stage(self.kernel.signature(self.types, self.constants), False)
        # Loops as they are written: it is the allocation that is compared.
        staged.options.nests = False
        return staged


def _coefficients(count: int) -> tuple[float, ...]:
    return tuple(0.5 + k / 1024 for k in range(count))


def _pressed() -> Iterator[Subject]:
    for size in (3, 5, 7, 13):
        yield Subject(f"stencil {size}x{size}", stencil, (_P, _V, _P), {"size": size})
        yield Subject(f"mean {size}x{size}", mean, (_P, _P), {"size": size})
    for count in (2, 4, 8):
        yield Subject(f"polynomials {count}", polynomials, (_V, _V), {"coeffs": _coefficients(8), "count": count})
    for degree in (15, 31, 63):
        yield Subject(f"estrin {degree}", estrin, (_V, _V), {"coeffs": _coefficients(degree + 1)})
    yield Subject("product", product, (_P, _P, _P), {})
    yield Subject("counters", counters, (lw.Array[lw.i64], lw.Array[lw.i64]), {})
    doubles = (lw.Array[lw.f64], lw.Array[lw.f64])
    for count in (2, 6):
        yield Subject(f"calling {count}", calling, doubles, {"count": count})
        yield Subject(f"around calls {count}", around_calls, doubles, {"count": count})
    yield Subject("rarely", rarely, doubles, {})
    plane = lw.Array[lw.i32, 2]
    yield Subject("nest", nest, (plane, plane, plane), {})


def plain_kernels() -> list[Subject]:
    """The kernels of the benchmarks and the demo."""
    from benchmarks.kernels import KERNELS
    from loopwright.demo import kernels as demo

    constants: dict[str, dict[str, Any]] = {"poly3": {"coeffs": cases.DEGREE_3}, "poly15": {"coeffs": cases.DEGREE_15}}
    found = [Subject(name, kernel, types, constants.get(name, {})) for name, (kernel, types) in KERNELS.items()]
    found += [Subject(f"poly{degree}", KERNELS["poly3"][0], KERNELS["poly3"][1], {"coeffs": _coefficients(degree + 1)}) for degree in (7, 31, 63)]
    found += [Subject("demo blur", demo.blur, (_P, _P), {}), Subject("demo curve", demo.curve, (_P, _P), {"coeffs": _coefficients(6)})]
    return found + [Subject(f"demo largest {size}", demo.largest, (_P, _V, _P), {"size": size}) for size in (3, 13)]


def functions(target: Target) -> Iterator[tuple[str, str, Function]]:
    """(collection, name, function) of everything compared for a target: the corpus ``kernels``, and the kernels above."""
    from loopwright.corpus import collections

    for context in collections.contexts("kernels"):
        if context.target == target.name and context.vector_bits == target.vector_bits:
            yield "kernels", context.name, parse(context.function)
    for subject in _pressed():
        yield "pressed", subject.name, subject.source(target)


# --- counting -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Count:
    """What one allocator spent on one function, weighted by loop depth."""

    loads: float = 0.0
    stores: float = 0.0
    constants: float = 0.0

    @property
    def spills(self) -> float:
        return self.loads + self.stores


def ours(source: Function, target: Target, ordering: str | None = None) -> Count:
    """Our spills: copies from and to slots, operands that are slots. A stack argument's first load, outside loops, is none."""
    f, cost = exact.allocated(source, target, ordering)
    arguments = sum(1 for slot in f.slots if slot.kind == 1)
    return Count(cost.loads - min(cost.arguments, float(arguments)), cost.stores, cost.constants)


_DEPTH = re.compile(r"(?:Header|in Loop: Header=\S+): ?Depth=(\d+)|in Loop: Header=\S+ Depth=(\d+)")
_SPILL = re.compile(r"# \d+-byte (?:Folded )?(Spill|Reload)")


def read_spills(assembly: str) -> Count:
    """LLVM's spills from the comments in its assembly."""
    count = Count()
    depth = 0
    for line in assembly.splitlines():
        if line.startswith((".LBB", "# %bb.")):
            depth = 0
        known = _DEPTH.search(line)
        if known is not None:
            depth = int(known[1] or known[2])
        weight = 8.0**depth
        found = _SPILL.search(line)
        if found is not None:
            if found[1] == "Spill":
                count.stores += weight
            else:
                count.loads += weight
        if ".LCPI" in line and not line.startswith(".LCPI"):
            count.constants += weight
    return count


def llvm(source: Function, target: Target) -> Count:
    """LLVM's spills for the same function."""
    llvm_export: Any = importlib.import_module("benchmarks.peers.llvm_export")
    from loopwright import compiler

    text = llvm_export.module_text(compiler.run_passes(source, target, after="elif"))
    return read_spills(llvm_export.assembly(text, target.name))


def _mean(logarithms: list[float]) -> float:
    return math.exp(sum(logarithms) / len(logarithms))


def run(quick: bool = False) -> report.Result:
    """Compare the spills."""
    result = report.Result("spills")
    logarithms: dict[str, list[float]] = {}
    for name in TARGETS:
        target = registry.get(name)
        table = report.Table(
            f"Weighted spill cost, {name}, where either spills",
            ["function", "instructions", "ours", "LLVM", "(ours+1)/(LLVM+1)", "our constants", "LLVM's"],
            detail=True,
        )
        rows: list[tuple[float, list[str]]] = []
        for n, (collection, function, source) in enumerate(functions(target)):
            if quick and n % 8:
                continue
            try:
                mine = ours(source, target)
                theirs = llvm(source, target)
            except Exception as error:  # noqa: BLE001
                # A function that cannot be compared is said, and the others are.
                result.notes.append(f"{function} on {name} is missing: {type(error).__name__}: {str(error).splitlines()[0]}")
                continue
            ratio = (mine.spills + 1) / (theirs.spills + 1)
            for group in (collection, f"{collection}, {name}", "where either spills" if mine.spills or theirs.spills else ""):
                if group:
                    logarithms.setdefault(group, []).append(math.log(ratio))
            if mine.spills or theirs.spills:
                cells = [f"{x:g}" for x in (mine.spills, theirs.spills)]
                rows.append((ratio, [function, str(len(source.code)), *cells, f"{ratio:.2f}", f"{mine.constants:g}", f"{theirs.constants:g}"]))
            result.data[f"{function}, {name}"] = {"ours": mine.spills, "llvm": theirs.spills, "constants": [mine.constants, theirs.constants]}
        table.rows = [row for _, row in sorted(rows, key=lambda pair: -pair[0])]
        result.tables.append(table)
    summary = report.Table("Geometric means of (ours+1)/(LLVM+1)", ["functions", "number", "mean", "we spill more in"])
    for group, values in logarithms.items():
        summary.rows.append([group, str(len(values)), f"{_mean(values):.3f}", str(sum(v > 0 for v in values))])
    result.tables.append(summary)
    for group in ("kernels", "pressed"):
        ratio_of_all = _mean(logarithms[group]) if group in logarithms else None
        result.verdicts.append(
            report.Verdict(
                f"weighted spill cost to LLVM's, {group}, geometric mean",
                ratio_of_all,
                RATIO,
                goal=group == "pressed",
                why="" if ratio_of_all else "llvmlite is missing",
            )
        )
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
