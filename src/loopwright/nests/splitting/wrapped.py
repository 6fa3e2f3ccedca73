"""Indices that wrap around, or stay at a border, as choices between two that do neither.

::

    for j = 0, n                              for j = 0, n
      %r = rem_floor (j + 1), n       →         %r = j + 1 - n if j + 1 >= n else j + 1
      … x[%r] …                                 … x[%r] …
    end                                       end

Grids without borders (the game of life on a torus, spins, periodic boundary conditions) are written with remainders, of which no more is known than that they are some number. Where an index is
known to be within one or two times the divisor of 0, a remainder is one of two numbers, and the loop is split where it changes from one to the other (``conditions.py``): of what is left all indices are
linear. What has to hold for a distance of several (``(j + 3) % n`` takes three elements at least) is asked in front of the nest. ``min(j + 1, n - 1)`` is such a choice, too, and so is ``if j < 0: j = 0``.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.brackets import match
from loopwright.ir.function import Function, Instr
from loopwright.ir.ops import Op
from loopwright.nests.analysis.nest import Nest, NestLoop, nests
from loopwright.nests.rewriting import apart
from loopwright.nests.rewriting.unroll import clone
from loopwright.nests.steps.candidates import innermost_loops
from loopwright.types import BOOL, I64

__all__ = ["leading_to_subscripts", "run"]

_REMAINDERS: Final = frozenset((ops.REM_FLOOR, ops.REM_TRUNC))
_CLAMPS: Final = frozenset((ops.MIN, ops.MAX))
_LINEAR: Final = frozenset((ops.ADD, ops.SUB, ops.MUL, ops.NEG, ops.COPY, ops.SELECT))
#: So far from the index at most.
MOST_APART: Final = 64
#: So many indices of a nest are looked at.
MOST: Final = 12
#: A branch that chooses an index has so many instructions at most.
MOST_CHOSEN: Final = 8


def run(f: Function) -> None:
    """Rewrite such indices in the innermost loops of a function."""
    if any(instr.op is ops.COPY and instr.type is I64 and f.variable[instr.dst] for instr in f.code):
        _choose(f)
    if any(instr.type is I64 and (instr.op in _REMAINDERS or instr.op in _CLAMPS) for instr in f.code):
        for nest in reversed(nests(f)):
            _unwrap(nest)


def leading_to_subscripts(f: Function, code: list[Instr], variables: bool = False) -> set[int]:
    """The registers of i64 that subscripts in a stretch of code are computed from, by sums and choices; with ``variables``, by way of these, too."""
    found: set[int] = set()
    for instr in reversed(code):
        if instr.op is ops.LOAD or instr.op is ops.STORE:
            found.update(instr.args[int(instr.op is ops.STORE) :])
        elif instr.dst in found and instr.type is I64 and (instr.op in _LINEAR or instr.op in _CLAMPS) and (variables or not f.variable[instr.dst]):
            found.update(instr.args[1:] if instr.op is ops.SELECT else instr.args)
    return found


# --- branches that choose an index ----------------------------------------------------------------------------


def _choose(f: Function) -> None:
    """``c = j`` and ``if j < 0: c = 0``, where that is all that is written to ``c``, which leads to a subscript, become a choice, and ``c`` no variable."""
    code = f.code
    wanted = {a for a in leading_to_subscripts(f, code, True) if a >= 0 and f.variable[a] and a not in f.params}
    places: dict[int, list[int]] = {v: [] for v in wanted}
    reads: dict[int, list[int]] = {v: [] for v in wanted}
    for k, instr in enumerate(code):
        if instr.dst in places:
            places[instr.dst].append(k)
        for a in instr.args:
            if a in reads:
                reads[a].append(k)
    partner = match(code)
    out: list[Instr] = []
    k = 0
    while k < len(code):
        choice = _choice(f, code, partner, k, places, reads) if code[k].op is ops.IF else None
        if choice is None:
            out.append(code[k])
            k += 1
            continue
        v, before, arms, end = choice
        values: list[int] = []
        if len(arms) == 1:
            out.pop()
        for first, last in arms:
            for instr in code[first:last]:
                if instr.dst == v:
                    values.append(instr.args[0])
                else:
                    instr.args = [before if a == v else a for a in instr.args]
                    out.append(instr)
        if len(arms) == 1:
            values.append(before)
        out.append(Instr(ops.SELECT, I64, v, [code[k].args[0], *values], 0, code[k].line))
        f.variable[v] = False
        k = end + 1
    f.code = out


def _choice(
    f: Function, code: list[Instr], partner: list[int], k: int, places: dict[int, list[int]], reads: dict[int, list[int]]
) -> tuple[int, int, list[tuple[int, int]], int] | None:
    """The variable that an ``if`` gives one of two values: it, its value before (or -1), where the arms begin and end, and the end; None where it does something else."""
    second = partner[k]
    end = second if code[second].op is ops.END else partner[second]
    arms = [(k + 1, second)] if end == second else [(k + 1, second), (second + 1, end)]
    if code[end].op is not ops.END or (end != second and code[second].op is not ops.ELSE):
        return None
    inside = [instr for first, last in arms for instr in code[first:last]]
    if any(instr.op.effect != ops.PURE or instr.type.is_float or (f.variable[instr.dst] and instr.op is not ops.COPY) for instr in inside):
        return None
    written = [instr.dst for instr in inside if f.variable[instr.dst]]
    if not written or written[0] not in places or len(inside) > MOST_CHOSEN or any(code[last - 1].dst != written[0] for _, last in arms):
        return None
    v = written[0]
    before = code[k - 1]
    if len(arms) == 1 and (k == 0 or before.op is not ops.COPY or before.dst != v or (before.args[0] >= 0 and f.variable[before.args[0]])):
        return None
    mine = [k - 1, arms[0][1] - 1] if len(arms) == 1 else [last - 1 for _, last in arms]
    behind = _closes(code, end)
    if places[v] != mine or any(not (k < at < end and len(arms) == 1) and not end < at < behind for at in reads[v]) or code[k].args[0] == v:
        return None
    return v, before.args[0] if len(arms) == 1 else -1, arms, end


def _closes(code: list[Instr], position: int) -> int:
    """Where the bracket around the end of another closes, or one of its arms."""
    depth = 0
    for at in range(position + 1, len(code)):
        op = code[at].op
        if op.closes:
            if not depth:
                return at
            depth -= 1
        if op.opens:
            depth += 1
    return len(code)


def _unwrap(nest: Nest) -> None:
    f = nest.f
    found: dict[int, _Wrap | None] = {}
    runs: list[tuple[Op, int, int]] = []
    feeding: set[int] | None = None
    clamped: set[int] = set()
    again: dict[int, int] = {}  # by position of a remainder: the register that has the same
    for loop in innermost_loops(nest):
        known: dict[tuple[object, ...], int] = {}
        depth = 0
        for k in range(loop.head + 1, loop.end):
            instr = f.code[k]
            depth += int(instr.op.opens) - int(instr.op.closes)
            clamps = instr.op in _CLAMPS
            same = _key(nest, instr) if instr.op in _REMAINDERS and instr.type is I64 and not f.variable[instr.dst] else None
            if same is not None and same in known:
                again[k] = known[same]
                continue
            if (clamps or instr.op in _REMAINDERS) and instr.type is I64 and not f.variable[instr.dst] and len(found) < MOST:
                if feeding is None:
                    feeding = leading_to_subscripts(f, f.code[nest.start : nest.end])
                if instr.dst not in feeding:
                    continue
                wrap = _wrap(nest, loop, instr) if not clamps else None
                if clamps and _clamps(nest, loop, instr, clamped):
                    found[k] = None
                    clamped.add(instr.dst)
                elif wrap is not None:
                    found[k] = wrap
                    if same is not None and not depth:
                        known[same] = instr.dst
                    if wrap.least:
                        runs.append((ops.GT, instr.args[1], f.const(I64, wrap.least)))
    if not found:
        return
    code = f.code
    fast: list[Instr] = []
    for k in range(nest.start, nest.end + 1):
        wrapped = found.get(k)
        if wrapped is not None:
            wrapped.write(f, code[k], fast)
        elif k in found:
            _write_clamp(f, code[k], fast)
        elif k in again:
            fast.append(Instr(ops.COPY, I64, code[k].dst, [again[k]], 0, code[k].line))
        else:
            fast.append(code[k])
    if runs:
        made: list[Instr] = []
        clone(f, fast, {}, made)
        fast = apart.versioned(f, [], code[nest.start : nest.end + 1], made, code[nest.start].line, list(dict.fromkeys(runs)))
    f.code = code[: nest.start] + fast + code[nest.end + 1 :]


def _key(nest: Nest, instr: Instr) -> tuple[object, ...] | None:
    """What a remainder is of; the same for those that are one number."""
    form = nest.forms.of(instr.args[0])
    return (instr.op.code, instr.args[1], form.constant, *sorted(form.terms.items())) if form is not None else None


def _clamps(nest: Nest, loop: NestLoop, instr: Instr, clamped: set[int]) -> bool:
    """Whether a minimum or maximum is of an index of an innermost loop, or what is linear in it or has been clamped already, and of what stays the same."""
    times = [1 if a in clamped else nest.times(nest.forms.of(a), loop) for a in instr.args]
    return abs(times[0]) + abs(times[1]) == 1


def _write_clamp(f: Function, instr: Instr, out: list[Instr]) -> None:
    """Append the choice that a minimum or maximum is."""
    first = f.register(BOOL, "")
    out.append(Instr(ops.LT if instr.op is ops.MIN else ops.GT, I64, first, list(instr.args), 0, instr.line))
    out.append(Instr(ops.SELECT, I64, instr.dst, [first, *instr.args], 0, instr.line))


class _Wrap:
    """A remainder that is one of two numbers.

    Attributes:
        times: how often the divisor is taken away below the place where the remainder changes; above it is once more.
        least: the divisor has to be greater than that, which is asked; 0 where that is known.
    """

    __slots__ = ("least", "times")

    def __init__(self, times: int, least: int) -> None:
        self.times = times
        self.least = least

    def write(self, f: Function, instr: Instr, out: list[Instr]) -> None:
        """Append what a remainder becomes."""
        x, n = instr.args
        line = instr.line
        values: list[int] = []
        for times in (self.times + 1, self.times):
            if not times:
                values.append(x)
                continue
            values.append(f.register(I64, ""))
            out.append(Instr(ops.SUB, I64, values[-1], [x, _multiple(f, n, times, line, out)], 0, line))
        above = f.register(BOOL, "")
        out.append(Instr(ops.GE, I64, above, [x, _multiple(f, n, self.times + 1, line, out)], 0, line))
        out.append(Instr(ops.SELECT, I64, instr.dst, [above, *values], 0, line))


def _multiple(f: Function, n: int, times: int, line: int, out: list[Instr]) -> int:
    """An operand that is so many times another."""
    if n < 0 or not times:
        return f.const(I64, int(f.const_values[~n]) * times if times else 0)
    if times == 1:
        return n
    made = f.register(I64, "")
    out.append(Instr(ops.MUL, I64, made, [n, f.const(I64, times)], 0, line))
    return made


def _wrap(nest: Nest, loop: NestLoop, instr: Instr) -> _Wrap | None:
    """What a remainder is in an innermost loop; None where it may be more than two things."""
    f, forms = nest.f, nest.forms
    n = instr.args[1]
    if loop.step != 1 or len(loop.first) != 1 or loop.first[0].terms or (n >= 0 and (f.variable[n] or forms.places.get(n, -1) > nest.start)):
        return None
    x, divisor = forms.of(instr.args[0]), forms.of(n)
    if x is None or divisor is None or any(nest.indices.get(value) is not None for value in divisor.terms):
        return None
    sign = next((coefficient for value, coefficient in x.terms.items() if nest.indices.get(value) is loop), 0)
    behind = next((end for end in (last.plus(divisor, -1) for last in loop.last) if not end.terms), None)
    if abs(sign) != 1 or behind is None:
        return None
    rest = x.plus(Form(0, {value: sign for value in x.terms if nest.indices.get(value) is loop}), -1)
    times = _times(rest, divisor)
    apart_by = rest.plus(divisor, -times)
    # The loop goes from `low` up to the divisor and `behind` more; it runs, so that the divisor is at least `known`.
    low, more = loop.first[0].constant, behind.constant
    known = low - more + 1 if divisor.terms else divisor.constant
    if apart_by.terms or known < 1:
        return None
    # The number that is divided is from `times` divisors and `least` on, up to one divisor more and `most`.
    if sign > 0:
        least, most = low + apart_by.constant, more - 1 + apart_by.constant
    else:
        times -= 1
        least, most = apart_by.constant - more + 1, apart_by.constant - low
    if least < 0:
        if most >= 0:
            return None
        times -= 1
    bound = most if least >= 0 else -least - 1
    if (times < 0 and instr.op is ops.REM_TRUNC) or bound > MOST_APART:
        return None
    if known > bound:
        return _Wrap(times, 0)
    return _Wrap(times, bound) if divisor.terms else None


def _times(rest: Form, divisor: Form) -> int:
    """How often a divisor is in a number."""
    if not divisor.terms:
        return (2 * rest.constant + divisor.constant) // (2 * divisor.constant) if divisor.constant > 0 and not rest.terms else 0
    return next((times for times in (0, 1, -1, 2) if not rest.plus(divisor, -times).terms), 0)
