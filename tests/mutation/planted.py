"""Faults planted by hand where wrong code is made quietly: in the encoder, in selection, where loops become vectors, and in what is left over of them.

Each is a row: what is changed, and which tests are to notice it. The random sample of ``faults.py`` says how many faults go unnoticed; these say that certain ones
do not. ``python -m tests.mutation.planted`` tries all, with the tests' names behind it only those whose name contains one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PLANTED", "Planted", "failed", "noticed", "outcome_of"]

CHECKOUT = Path(__file__).resolve().parents[2]
#: Seconds that the tests of a fault may take.
LIMIT = 500


@dataclass(frozen=True)
class Planted:
    """A fault.

    Attributes:
        name: what it does.
        module: the file, relative to src/loopwright.
        before, after: text that is there once, and what takes its place.
        tests: arguments for pytest that choose the tests which notice it.
    """

    name: str
    module: str
    before: str
    after: str
    tests: tuple[str, ...]


_ENCODING = ("tests/targets/x86/test_encoding.py",)
_ROWS = ("tests/targets/test_conformance.py", "-k", "do_what_their_rows_say and x86")
_SELECT = ("tests/passes/test_select.py",)
_VECTORIZE = ("tests/vectors/test_vectorize.py", "tests/vectors/test_inside.py")
_LEFT = ("tests/vectors/test_vectorize.py", "-k", "lanes_leave")
_ACCESSES = ("tests/vectors/test_accesses.py", "-k", "x86")
_SUMS = ("tests/vectors/test_sums.py", "tests/vectors/test_dot_products.py")
_COMPACTION = ("tests/vectors/test_compaction.py", "-k", "not overlap")
_TABLES = ("tests/vectors/test_tables.py", "-k", "x86")
_LENGTHS = ("tests/end_to_end/test_lengths.py", "tests/passes/test_unroll.py", "tests/vectors/test_vectorize.py")
_PIECES = ("tests/vectors/test_pieces.py",)
_SEQUENCES = ("tests/vectors/test_running.py", "tests/vectors/test_bitmaps.py")
_F16 = ("tests/targets/aarch64/test_half_floats.py", "tests/end_to_end/test_half_arithmetic.py")
_HALVES = ("tests/end_to_end/test_half_floats.py", "-k", "asimdhp")

_ENCODER = "targets/x86/encoder.py"
_TABLE = "targets/x86/selection.py"
_TOTALS = "vectors/totals.py"
_LANES = "vectors/accesses.py"
_MASKS = "vectors/predication.py"
_TAILS = "passes/unroll.py"
_PIECE = "vectors/pieces.py"

_PACKS = (
    "tests/nests/test_packs.py",
    "-k",
    "(computed_alike and stored) or (another_order and (reversed or beside or place)) or (rows_of_more_elements and 8-x86-64-v3)",
)
_TOGETHER = ("tests/vectors/test_elements_together.py", "-k", "random_groups")
_CARRIED = ("tests/nests/test_carry.py", "tests/nests/test_branches.py", "tests/nests/test_shifted_arrays.py", "-k", "several_arrays or before_it or only_what")
PLANTED: tuple[Planted, ...] = (
    # --- the encoder ---------------------------------------------------------------------------------------------
    Planted("the upper registers of ModRM.reg", _ENCODER, "(r & 8) << 12 | (r & 16) << 8 | (b & 24) << 10", "(r & 8) << 12 | (b & 24) << 10", _ENCODING),
    Planted(
        "the upper registers of EVEX.vvvv",
        _ENCODER,
        "(v & 15) << 19 | (v & 16) << 23 | k << 24 | z << 31 | ((r & 7)",
        "(v & 15) << 19 | k << 24 | z << 31 | ((r & 7)",
        _ENCODING,
    ),
    Planted("zeroing under a mask", _ENCODER, "k << 24 | z << 31 | ((r & 7) << 3", "k << 24 | ((r & 7) << 3", _ENCODING),
    Planted("the writemask of what reads memory", _ENCODER, "(v & 16) << 23 | k << 24 | z << 31\n", "(v & 16) << 23 | z << 31\n", _ENCODING),
    Planted("short displacements that are no multiple", _ENCODER, "and disp % scale == 0:", "and True:", _ENCODING),
    Planted("rbp as a base without displacement", _ENCODER, "if disp == 0 and b != 5:", "if disp == 0:", _ENCODING),
    Planted("rsp as a base", _ENCODER, "if b == 4:", "if b == 6:", _ENCODING),
    Planted("the two-byte VEX prefix for upper indices", _ENCODER, "if form.vex2 and (b | x) < 8:", "if form.vex2 and b < 8:", _ENCODING),
    Planted("REX for the bytes of rsi and rdi", _ENCODER, "form.byte_registers & 1 and r >= 4", "form.byte_registers & 1 and r >= 8", _ENCODING),
    Planted("how much half a vector's displacement counts", _ENCODER, "return length // 2", "return length", _ENCODING),
    Planted("short displacements at their bound", _ENCODER, "disp <= 127 * scale", "disp <= 128 * scale", _ENCODING),
    # --- selection -----------------------------------------------------------------------------------------------
    Planted(
        "less and less or equal of floats",
        _TABLE,
        "lt               | floatx                        | VCMPP$ d, a, b, 0x11",
        "lt               | floatx                        | VCMPP$ d, a, b, 0x12",
        _ROWS,
    ),
    Planted(
        "which NaN min keeps",
        _TABLE,
        "min              | floatx                        | VMINP$ d, b, a",
        "min              | floatx                        | VMINP$ d, a, b",
        _ROWS,
    ),
    Planted(
        "the sides of a choice",
        _TABLE,
        "select           | int32x int64x floatx          | VBLENDMP$ d{a}, c, b",
        "select           | int32x int64x floatx          | VBLENDMP$ d{a}, b, c",
        ("tests/frontend/test_complex.py", "-k", "test_unary and v4"),
    ),
    Planted(
        "shifts of signed lanes",
        _TABLE,
        "shr              | i16x i32x i64x                | VPSRAV? d, a, b",
        "shr              | i16x i32x i64x                | VPSRLV? d, a, b",
        _ROWS,
    ),
    Planted("one of the tables of three operands", _TABLE, "VPTERNLOGD a, b, c, 0xea", "VPTERNLOGD a, b, c, 0xec", _ROWS),
    Planted(
        "operands of operations under masks",
        _TABLE,
        '_BEHIND_TWO: Final = str.maketrans({"a": "c", "b": "e", "d": "b"})',
        '_BEHIND_TWO: Final = str.maketrans({"a": "e", "b": "c", "d": "b"})',
        _ROWS,
    ),
    Planted("what multiply-adds under masks add", _TABLE, 'ops.FNMA: "VFNMADD", ops.FNMS: "VFNMSUB"', 'ops.FNMA: "VFNMSUB", ops.FNMS: "VFNMADD"', _ROWS),
    Planted(
        "multiply-adds under a mask add to something else",
        "passes/select.py",
        "if (place is not None and role not in (0, 1)) or args[adds] != value:",
        "if place is not None and role not in (0, 1):",
        _SELECT,
    ),
    Planted(
        "variables written in front of an operation under a mask",
        "passes/select.py",
        "if any(a >= 0 and self.f.variable[a] and self.written.get(a, -1) > position for a in made.args):",
        "if False:",
        _SELECT,
    ),
    Planted(
        "loads moved past stores",
        "passes/select.py",
        "if at < 0 or args.count(a) > 1 or not self.still(a):",
        "if at < 0 or args.count(a) > 1:",
        _SELECT,
    ),
    Planted(
        "sums stored over what has changed",
        "passes/select.py",
        "if at < 0 or memory != self.memory or self.f.variable[value]:",
        "if at < 0 or self.f.variable[value]:",
        _SELECT,
    ),
    Planted(
        "bitwise operations moved past writes",
        "passes/select.py",
        "if at < 0 or self.compare_stretch[a] != self.stretch or self.out[at].mem is not None or args[0] == args[1]:",
        "if at < 0 or self.out[at].mem is not None or args[0] == args[1]:",
        _SELECT,
    ),
    # --- loops to vectors ----------------------------------------------------------------------------------------
    Planted("lanes that go down, forwards", _LANES, "return ALONG if step.times > 0 else BACK", "return ALONG", _ACCESSES),
    Planted(
        "the last element of lanes that go down",
        _LANES,
        "self.f.const(I64, self.lanes - 1))\n        return mask",
        "self.f.const(I64, self.lanes))\n        return mask",
        _ACCESSES,
    ),
    Planted(
        "the order of what is stored downwards",
        _LANES,
        "args = [mask, self.define(ops.REVERSE, type_, [value], type_), *last]",
        "args = [mask, value, *last]",
        _ACCESSES,
    ),
    Planted(
        "the mask of lanes that go down",
        _LANES,
        "if self.mask != self.all or not self.whole:\n            bits = vector_of",
        "if False:\n            bits = vector_of",
        (*_ACCESSES[:1], *_VECTORIZE),
    ),
    Planted("how far elements in strides are apart", _LANES, "return self.times(unit, step.times)", "return self.times(unit, 1)", _ACCESSES),
    Planted(
        "how far rows are apart, of lanes anywhere",
        _LANES,
        "factor = self.f.const(wide, self.f.const_values[~unit]) if unit < 0",
        "factor = self.f.const(wide, 1) if unit < 0",
        _ACCESSES,
    ),
    Planted("both arms of a branch in all lanes", _MASKS, "op = ops.ANDNOT if number else ops.AND\n", "op = ops.AND\n", _VECTORIZE),
    Planted(
        "what a variable is behind a branch",
        _MASKS,
        "env[variable] = value if other is None else self.chosen(condition, value, other)",
        "env[variable] = value if other is None else self.chosen(condition, other, value)",
        _VECTORIZE,
    ),
    Planted("lanes that leave a block go on", _MASKS, "rest = self.part(ops.ANDNOT, holds, self.mask)", "rest = self.mask", _VECTORIZE),
    Planted("lanes that have left a loop take steps", _MASKS, "            self.copy(remaining, running)\n        some", "        some", _LEFT),
    Planted(
        "blends that are taken for done",
        _TOTALS,
        "if known is not None and known[1] == no and self.is_within(known[0], mask):",
        "if known is not None and self.is_within(known[0], mask):",
        _VECTORIZE,
    ),
    Planted(
        "loads beyond the end of an array",
        "vectors/inside.py",
        "return not more.terms and more.constant >= 0",
        "return True",
        ("tests/vectors/test_inside.py",),
    ),
    Planted(
        "groups of elements beyond the end",
        "vectors/inside.py",
        "1 << number >= times",
        "True",
        ("tests/vectors/test_inside.py",),
    ),
    Planted(
        "counts in lanes that do not run",
        _TOTALS,
        "mask = self.both(ops.AND, self.mask_for(term.condition, self.width), mask)",
        "mask = self.mask_for(term.condition, self.width)",
        _SUMS,
    ),
    Planted("sums of lanes that do not run", _TOTALS, "numbers[0] = self.chosen(mask, numbers[0], nothing(self.f, source))\n        summed", "summed", _SUMS),
    Planted(
        "how many lanes are kept",
        "vectors/packing.py",
        "return self.define(ops.POPCOUNT, I64, [self.bits()], I64)",
        "return self.f.const(I64, self.lanes)",
        _COMPACTION,
    ),
    Planted(
        "rows of the tables that move lanes",
        "vectors/packing.py",
        "held = [n for n in range(lanes) if bits >> n & 1]",
        "held = [n for n in range(lanes) if bits >> n & 1][::-1]",
        _COMPACTION,
    ),
    Planted(
        "what a full buffer leaves",
        "vectors/compaction.py",
        "self._put(counter.fill, whole, ops.SUB)",
        "self._put(counter.fill, self.f.const(I64, 0))",
        _COMPACTION,
    ),
    Planted("which half a look-up asks", "vectors/tables.py", "self.define(ops.AND, full, [numbers, f.const(full, held - 1)], full)", "numbers", _TABLES),
    # --- what is left over ---------------------------------------------------------------------------------------
    Planted("remainders of loops known while compiling", _TAILS, "left = count % (unroll * step)", "left = count % step", _LENGTHS),
    Planted(
        "whole vectors of what is left",
        _TAILS,
        "f.const(I64, int(f.const_values[~stop]) + left - left % step)",
        "f.const(I64, int(f.const_values[~stop]) + left)",
        (*_LENGTHS, *_PIECES),
    ),
    Planted("the mask of what is left", _TAILS, "[i, hi], 0, self.line))", "[stop, hi], 0, self.line))", _LENGTHS),
    Planted("what totals of copies start with", _TAILS, "start = identity if op.neutral is not None else variable", "start = variable", _LENGTHS),
    Planted("totals of an odd number of copies", _TAILS, "half = (len(registers) + 1) // 2", "half = max(len(registers) // 2, 1)", _LENGTHS),
    Planted("the index of the copies", _TAILS, "[i, f.const(I64, k * step)], 0, line))", "[i, f.const(I64, step)], 0, line))", _LENGTHS),
    Planted("where pieces go", _PIECE, "index = self._op(ops.ADD, I64, [places[-1], at], line)", "index = places[-1]", _PIECES),
    Planted(
        "which pieces are stored",
        _PIECE,
        "bit = self._op(ops.AND, I64, [self.left, f.const(I64, lanes)], line)",
        "bit = self._op(ops.AND, I64, [self.left, f.const(I64, 2 * lanes)], line)",
        _PIECES,
    ),
    Planted(
        "pieces of a number known while compiling", _PIECE, "if self.count < 0 or self.count & lanes:", "if self.count < 0 or self.count > lanes:", _PIECES
    ),
    Planted(
        "running sums of lanes that do not run",
        "vectors/running.py",
        "sums = self.define(ops.SELECT, type_, [self.fitted(self.mask, type_.bits), self.vector(sum_.added), none], type_)",
        "sums = self.vector(sum_.added)",
        _SEQUENCES,
    ),
    Planted(
        "which lane a running sum goes on from", "vectors/running.py", "number = f.const(words, count - 1)", "number = f.const(words, count - 2)", _SEQUENCES
    ),
    Planted(
        "a fixed matrix may be stored to by the loop",
        "nests/steps/packs.py",
        "            elif place not in self.accesses or self.accesses[place].array in stored or _address(",
        "            elif place not in self.accesses or _address(",
        _PACKS,
    ),
    Planted(
        "elements in another order are stored though they have changed since",
        "vectors/interleaving.py",
        "            if instr.op.effect == ops.WRITES and position not in own and not self._apart(instr, source[0]):",
        "            if instr.op.effect == ops.WRITES and position in own and not self._apart(instr, source[0]):",
        _PACKS,
    ),
    Planted(
        "variables of an arm carry nothing, though they are read before they are written",
        "nests/branches/conversion.py",
        " and variable not in self.exposed:",
        ":",
        _CARRIED,
    ),
    Planted(
        "the last value of a variable is carried, not the stored one",
        "nests/steps/carry.py",
        "stored[k] = f.register(instr.type, f.names[instr.args[0]])",
        "stored[k] = instr.args[0]",
        _CARRIED,
    ),
    Planted(
        "what two questions have told apart is apart from each other",
        "ir/function.py",
        "(first.apart > 0 and first.apart == second.apart)",
        "(first.apart > 0 and second.apart > 0)",
        _CARRIED,
    ),
    Planted(
        "the upper of two elements is stored twice",
        "vectors/interleaving.py",
        "            one, clean = self._as_wide(value, type_, wide)",
        "            one, clean = self._as_wide(values[-1], type_, wide)",
        _PACKS,
    ),
    Planted(
        "what is above an element is stored with the next one",
        "vectors/interleaving.py",
        "                if not clean and number < times - 1:",
        "                if not clean and number < 0:",
        _TOGETHER,
    ),
    Planted(
        "elements of groups of three are extended without their signs",
        "vectors/threes.py",
        "        signed = type_.element.signed\n",
        "        signed = False\n",
        _TOGETHER,
    ),
    Planted("products and sums of f16 that are rounded once", "passes/algebra.py", "inner.type.bits == 16 and not v.fastmath", "inner.type is None", _F16),
    Planted("f64 that become f16 by two roundings", "targets/aarch64/lowering.py", 'return [(i.FCVTXN["2s"], ())', 'return [(i.FCVTN["2s"], ())', _HALVES),
    Planted("sums of f16 in another order", "nests/analysis/scalars.py", "is_half(type_) and scalar.op is not ops.MIN", "False", _F16),
    Planted("running sums of f16 in another order", "vectors/running.py", "is_half(type_) or not (", "not (", _F16),
    Planted("lanes of f16 totals that begin from 0.0", _TOTALS, "-0.0 if type_.is_float else 0)", "0)", _F16),
    Planted("reciprocals of f16", "passes/reciprocals.py", " and not is_half(instr.type):", ":", _F16),
    Planted(
        "totals of f16 in f16",
        "passes/halves.py",
        "op.code in _EXACT and op.code in self.native and type_ is F16",
        "op.code in self.native and type_ is F16",
        _F16,
    ),
)


def outcome_of(fault: Planted | None, tests: tuple[str, ...], scratch: Path) -> tuple[int, str]:
    """Run tests on the sources with a fault, or as they are: pytest's exit status (0 all pass, 1 some fail or there is no end, below 0 the process has died), and the end of what it says."""
    source = scratch / "src"
    shutil.copytree(CHECKOUT / "src", source, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    if fault is not None:
        path = source / "loopwright" / fault.module
        text = path.read_text(encoding="utf-8")
        if text.count(fault.before) != 1:
            raise ValueError(f"{fault.name}: what it changes is in {fault.module} {text.count(fault.before)} times")
        path.write_text(text.replace(fault.before, fault.after), encoding="utf-8")
    environment = dict(os.environ, PYTHONPATH=f"{source}{os.pathsep}{CHECKOUT}", PYTHONDONTWRITEBYTECODE="1")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-m",
        "not slow or every_change",
        "--rootdir",
        str(CHECKOUT),
        *tests,
    ]
    try:
        done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return 1, "it takes too long"
    return done.returncode, done.stdout[-2000:]


def failed(said: str) -> list[str]:
    """The tests that have failed, by what pytest says at its end."""
    return re.findall(r"^(?:FAILED|ERROR) (\S+?::\w+(?:\[.*?\])?)(?: - .*)?$", said, re.MULTILINE)


def noticed(status: int) -> bool:
    """Whether an exit status of pytest's says that tests have failed, or have brought the process down; not that there were none."""
    return status == 1 or status < 0


def main() -> int:
    """Try the faults whose names contain an argument, all without one, and say which are not noticed."""
    quiet: list[str] = []
    for fault in PLANTED:
        if len(sys.argv) > 1 and not any(part in fault.name for part in sys.argv[1:]):
            continue
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="loopwright-planted-") as scratch:
            status, said = outcome_of(fault, fault.tests, Path(scratch))
        if not noticed(status):
            quiet.append(fault.name)
        by = " ".join(failed(said))
        print(
            f"{'noticed' if noticed(status) else f'NOT NOTICED ({status})':12} {time.monotonic() - start:5.0f} s  {fault.module}: {fault.name}  {by}",
            flush=True,
        )
        if not noticed(status):
            print(said)
    print(f"{len(quiet)} not noticed" + (": " + ", ".join(quiet) if quiet else ""))
    return 1 if quiet else 0


if __name__ == "__main__":
    sys.exit(main())
