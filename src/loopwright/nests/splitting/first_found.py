"""Loops that keep the number of an iteration in a variable that is negative as long as there is none, split where they find the first.

::

    for v = lo, hi                              at = hi
      if x[v] > 0                               for v = lo, hi, until at is less
        if u < 0 or y[v] < y[u]                   if u >= 0: at = v; stop
          u = v                        →          if x[v] > 0: u = v
        end                                     end
      end                                       for v = at, hi
    end                                           if x[v] > 0
                                                    if y[v] < y[u]: u = v
                                                  end
                                                end

So searches are mostly written that may find nothing. What is left behind the first is one of ``idioms/extremes.py``.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.rewriting.folding import Folded
from loopwright.nests.rewriting.unroll import clone, crossing_branches, has_loops, own_copies, read_once
from loopwright.types import BOOL, I64, VOID

__all__ = ["run"]

#: Longer bodies are not written twice.
LONGEST: Final = 60
#: By comparison of the variable with a number, first operand first: which number asks whether there is none, and what the answer is then.
_TESTS: Final[dict[ops.Op, tuple[int, bool]]] = {
    ops.LT: (0, True),
    ops.LE: (-1, True),
    ops.EQ: (-1, True),
    ops.GE: (0, False),
    ops.GT: (-1, False),
    ops.NE: (-1, False),
}
_FOR_EQUALITY: Final = (ops.EQ, ops.NE)


def run(f: Function) -> None:
    """Split such loops of a function."""
    position = len(f.code)
    partner: list[int] = []
    while position:
        position -= 1
        if f.code[position].op is ops.FOR and f.code[position].loop is None:
            partner = partner or match(f.code)
            tests = _tests(f, position, partner[position])
            if tests:
                _split(f, position, partner[position], tests)
                partner = []


def _tests(f: Function, head: int, end: int) -> dict[int, bool]:
    """The conditions in a loop that ask whether its variable is negative still, and what each is then; none of another loop."""
    code = f.code
    lo, _, step = code[head].args
    body = code[head + 1 : end]
    if lo >= 0 or step >= 0 or f.const_values[~lo] < 0 or f.const_values[~step] != 1:
        return {}
    if len(body) > LONGEST or has_loops(body) or crossing_branches(body) or any(instr.op.effect == ops.CALLS for instr in body):
        return {}
    writes: dict[int, int] = {}  # by variable: where it is written first
    other: set[int] = set()
    for k, instr in enumerate(body):
        if instr.dst >= 0 and f.variable[instr.dst]:
            writes.setdefault(instr.dst, k)
            if instr.op is not ops.COPY or instr.args[0] != code[head].dst:
                other.add(instr.dst)
    found: dict[int, dict[int, bool]] = {}
    kinds: dict[int, set[bool]] = {}
    for k, instr in enumerate(body):
        if instr.op not in _TESTS or instr.type is not I64 or instr.args[1] >= 0 or instr.args[0] not in writes or instr.args[0] in other:
            continue
        number, none = _TESTS[instr.op]
        variable = instr.args[0]
        if f.const_values[~instr.args[1]] == number and k < writes[variable]:
            found.setdefault(variable, {})[instr.dst] = none
            kinds.setdefault(variable, set()).add(instr.op in _FOR_EQUALITY)
    # (A number below -1 is negative, and not -1.)
    one = [tests for variable, tests in found.items() if len(kinds[variable]) == 1]
    return one[0] if len(one) == 1 else {}


def _split(f: Function, head: int, end: int, tests: dict[int, bool]) -> None:
    """A loop as long as there is none, and one for the rest."""
    code = f.code
    opener = code[head]
    line = opener.line
    test = next(instr for instr in code[head + 1 : end] if instr.dst in tests)
    folded = Folded(f, code, head)
    without, with_one = (folded.body({register: answer is none for register, answer in tests.items()}) for none in (True, False))
    folded.part()
    out: list[Instr] = []
    hi = read_once(f, opener.args[1], line, out)
    at = f.register(I64, "at", True)
    asked, stop = f.register(BOOL), f.register(BOOL)
    first, rest = f.register(I64, f.names[opener.dst]), f.register(I64, f.names[opener.dst])
    out.append(Instr(ops.COPY, I64, at, [hi], 0, line))
    out.append(Instr(ops.BLOCK, VOID, NONE, [], 0, line))
    out.append(Instr(ops.FOR, opener.type, first, [opener.args[0], hi, opener.args[2]], 0, line))
    out.append(Instr(test.op, test.type, asked, list(test.args), 0, line))
    if tests[test.dst]:
        out.append(Instr(ops.NOT, BOOL, stop, [asked], 0, line))
    else:
        stop = asked
    out.append(Instr(ops.IF, VOID, NONE, [stop], 0, line))
    out.append(Instr(ops.COPY, I64, at, [first], 0, line))
    out.append(Instr(ops.BR, VOID, NONE, [], 2, line))
    out.append(Instr(ops.END, VOID, NONE, [], 0, line))
    clone(f, without, {**own_copies(f, code[head + 1 : end]), opener.dst: first}, out)
    out += [Instr(ops.END, VOID, NONE, [], 0, line) for _ in range(2)]
    out.append(Instr(ops.FOR, opener.type, rest, [at, hi, opener.args[2]], 0, line))
    clone(f, with_one, {opener.dst: rest}, out)
    out.append(Instr(ops.END, VOID, NONE, [], 0, line))
    f.code = [*code[:head], *out, *code[end + 1 :]]
