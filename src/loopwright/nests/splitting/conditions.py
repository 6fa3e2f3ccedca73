"""Conditions on where a loop is, or on what stays the same in it, taken out of the loop.

::

    for j = lo, hi                         for j = lo, min(hi, w)
      if j >= w                              B
        A                     →            end
      else                                 for j = max(lo, w), hi
        B                                    A
      end                                  end
    end

Tables of dynamic programming treat their first row and column, or what does not fit yet, in such a way. Each of the loops has no branch any more that would keep
it from becoming one over lanes, or rows from being walked together (index-set splitting and loop unswitching: R. Allen and K. Kennedy, Optimizing Compilers
for Modern Architectures, 2001, section 5.7; F. Allen and J. Cocke, "A catalogue of optimizing transformations", 1972).
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.ops import Op
from loopwright.nests.analysis.nest import Nest, NestLoop, nests
from loopwright.nests.analysis.scalars import PRIVATE, scalars
from loopwright.nests.rewriting.folding import Folded, changes, known_value
from loopwright.nests.rewriting.operands import computed, moved
from loopwright.nests.rewriting.unroll import clone, read_once
from loopwright.nests.splitting.wrapped import leading_to_subscripts
from loopwright.types import BOOL, I64, VOID

__all__ = ["MOST", "append_loop", "arithmetic", "comparisons", "decides", "known_in", "own_variables", "run", "separable", "split_conditions", "tested"]

#: So many conditions of a function are taken out, of loops that have no more instructions than that.
MOST: Final = 12
LONGEST: Final = 200

_TESTS: Final = frozenset((ops.IF, ops.THEN, ops.BR_IF))
_COMBINED: Final = frozenset((ops.NOT, ops.AND, ops.OR, ops.COPY))
#: By comparison of an index, and what else there is, with 0: the last values that the sum has in each of the loops but the last.
_ENDS: Final[dict[Op, tuple[int, ...]]] = {ops.LT: (-1,), ops.GE: (-1,), ops.LE: (0,), ops.GT: (0,), ops.EQ: (-1, 0), ops.NE: (-1, 0)}


class _Condition:
    """A condition that a loop is to be split at.

    Attributes:
        position: of the comparison, or of the test of what was made in front of the loop.
        register: the condition.
        loop: the loop.
        sign: of the index in the first operand less the second; 0 where the condition is the same in all iterations.
    """

    __slots__ = ("loop", "position", "register", "sign")

    def __init__(self, position: int, register: int, loop: NestLoop, sign: int) -> None:
        self.position = position
        self.register = register
        self.loop = loop
        self.sign = sign


def run(f: Function, left: AbstractSet[int]) -> None:
    """Split the loops of a function at all such conditions.

    Args:
        f: the function.
        left: the indices of loops that stay as they are.
    """
    if not decides(f.code):
        return
    done = 0
    while done < MOST and any(split_conditions(nest, nest.loops, left) for nest in reversed(nests(f))):
        done += 1


def split_conditions(nest: Nest, loops: list[NestLoop], left: AbstractSet[int] = frozenset()) -> bool:
    """Split one loop of a nest, of those that are given, at one condition; False where there is none. The nest does not describe the code any more."""
    found = _find(nest, loops, left)
    if found is None:
        return False
    f = nest.f
    code = f.code
    loop = found.loop
    out: list[Instr] = code[: loop.head]
    folded = Folded(f, code, loop.head)
    if found.sign:
        _split(nest, found, folded, out)
    else:
        _unswitch(nest, found, folded, out)
    folded.part()
    f.code = out + code[loop.end + 1 :]
    return True


def decides(code: list[Instr]) -> bool:
    """Whether there is a branch in a ``for``, or a choice between indices."""
    depth = 0
    opened: list[bool] = []
    for instr in code:
        op = instr.op
        if (op in _TESTS or (op is ops.SELECT and instr.type is I64)) and depth:
            return True
        if op.opens and not op.closes:
            opened.append(op is ops.FOR)
            depth += op is ops.FOR
        elif op is ops.END:
            depth -= opened.pop()
    return False


def tested(nest: Nest) -> dict[int, int]:
    """The conditions that something in a nest is decided by, in the order of the text: the register, and where it is compared, or where it is tested if it comes from in front of the nest."""
    f = nest.f
    code = f.code
    asked: dict[int, int] = {}
    made: dict[int, int] = {}
    indices: set[int] | None = None
    for k in range(nest.start + 1, nest.end):
        instr = code[k]
        if instr.op in ops.COMPARING:
            made[instr.dst] = k
        elif instr.op in _TESTS or (instr.op in _COMBINED and instr.type is BOOL):
            for a in instr.args:
                if a >= 0 and not f.variable[a]:
                    asked.setdefault(a, k)
        elif instr.op is ops.SELECT and instr.type is I64 and instr.args[0] >= 0 and not f.variable[instr.args[0]]:
            # (Of other numbers both are as good as computed.)
            if indices is None:
                indices = leading_to_subscripts(f, code[nest.start : nest.end])
            if instr.dst in indices:
                asked.setdefault(instr.args[0], k)
    return {register: made.get(register, at) for register, at in asked.items() if register in made or nest.forms.places.get(register, -1) < nest.start}


def _find(nest: Nest, loops: list[NestLoop], left: AbstractSet[int]) -> _Condition | None:
    """The first condition in the text that a loop can be split at; ``left`` are the indices of loops that stay as they are."""
    stay = [loop for loop in nest.loops if loop.index in left]
    for register, place in tested(nest).items():
        if any(loop.head < place < loop.end for loop in stay):
            continue
        compared = nest.f.code[place].dst == register
        condition = _of_comparison(nest, loops, place, register) if compared else _unchanging(nest, loops, place, register)
        if condition is not None:
            return condition
    return None


def _possible(nest: Nest, loop: NestLoop) -> bool:
    """Whether a loop may be split: it is short, in steps of 1, and not left early."""
    return loop.end - loop.head <= LONGEST and separable(nest, loop)


def separable(nest: Nest, loop: NestLoop) -> bool:
    """Whether a loop may become several: it counts, nothing leaves it early, and there is no ``while`` in it."""
    code = nest.f.code
    if code[loop.head].op is not ops.FOR or code[loop.head].loop is not None:
        return False
    depth = 0
    for k in range(loop.head + 1, loop.end):
        instr = code[k]
        op = instr.op
        if op.opens and not op.closes:
            depth += 1
        elif op is ops.END:
            depth -= 1
        elif op is ops.RET or op is ops.FAIL or op is ops.DO or ((op is ops.BR or op is ops.BR_IF) and instr.imm > depth):
            return False
    return True


def _around(loops: list[NestLoop], position: int) -> list[NestLoop]:
    """The loops around a place, the outermost first."""
    return [loop for loop in loops if loop.head < position < loop.end]


def _of_comparison(nest: Nest, loops: list[NestLoop], place: int, register: int) -> _Condition | None:
    """What a comparison is of the innermost loop whose index it compares; or, where it changes with none, of the outermost that it stays the same in."""
    instr = nest.f.code[place]
    if instr.type is I64:
        a, b = nest.forms.of(instr.args[0]), nest.forms.of(instr.args[1])
        difference = a.plus(b, -1) if a is not None and b is not None else None
        around = _around(nest.loops, place)
        for loop in reversed(around):
            coefficient = _coefficient(nest, difference, loop) if difference is not None else 0
            if coefficient:
                assert difference is not None
                others = [value for value in difference.terms if nest.indices.get(value) is not loop]
                if any(loop.index in nest.forms.leaves[value] for value in others):
                    # (What the index is compared with is computed from it: `min(i, n) == i`.)
                    return None
                if abs(coefficient) != 1 or abs(loop.step) != 1 or loop not in loops or not _possible(nest, loop) or arithmetic(nest, loop, place) is None:
                    return None
                return _Condition(place, register, loop, coefficient)
    return _unchanging(nest, loops, place, register)


def _coefficient(nest: Nest, form: Form, loop: NestLoop) -> int:
    for value, coefficient in form.terms.items():
        if nest.indices.get(value) is loop:
            return coefficient
    return 0


def _unchanging(nest: Nest, loops: list[NestLoop], place: int, register: int) -> _Condition | None:
    """What a condition is of the outermost loop that it stays the same in."""
    for loop in _around(loops, place):
        positions = arithmetic(nest, loop, place)
        if positions is not None and loop.index not in _read(nest.f, positions, place) and _possible(nest, loop):
            return _Condition(place, register, loop, 0)
    return None


def _read(f: Function, positions: list[int], place: int) -> set[int]:
    return {a for k in [*positions, place] for a in f.code[k].args}


def arithmetic(nest: Nest, loop: NestLoop, place: int) -> list[int] | None:
    """Where in a loop the operands of an instruction are computed, in order; None where that is by more than arithmetic on its index and what does not change."""
    f = nest.f
    code = f.code
    found: list[int] = []
    wanted = [a for a in code[place].args if a >= 0]
    while wanted:
        a = wanted.pop()
        if a == loop.index:
            continue
        if f.variable[a]:
            first, last = nest.mentions[a]
            if any(code[k].dst == a for k in range(max(first, loop.head), min(last, loop.end) + 1)):
                return None
            continue
        at = nest.forms.places.get(a, -1)
        if at <= loop.head or at in found:
            continue
        if not code[at].op.pure or code[at].op.effect == ops.CONTROL:
            return None
        found.append(at)
        wanted += [b for b in code[at].args if b >= 0]
    return sorted(found)


def _unswitch(nest: Nest, found: _Condition, folded: Folded, out: list[Instr]) -> None:
    """Append the loop twice, one of which runs."""
    f = nest.f
    code = f.code
    line = code[found.position].line
    positions = arithmetic(nest, found.loop, found.position) or []
    rename: dict[int, int] = {}
    clone(f, [code[k] for k in positions], rename, out)
    condition = found.register
    if code[found.position].dst == condition:
        clone(f, [code[found.position]], rename, out)
        condition = rename[condition]
    known = _same_tests(nest, found)
    own = own_variables(nest, found.loop)
    for value in (True, False):
        out.append(Instr(ops.IF, VOID, NONE, [condition], 0, line) if value else Instr(ops.ELSE, VOID, NONE, [], 0, line))
        body = folded.body({register: value for register in known})
        if changes(f, body):
            head = code[found.loop.head]
            append_loop(f, head, head.args[0], head.args[1], body, own, out)
    out.append(Instr(ops.END, VOID, NONE, [], 0, line))


def _same_tests(nest: Nest, found: _Condition) -> list[int]:
    """The registers of a loop that are the same condition."""
    f = nest.f
    code = f.code
    same = [found.register]
    test = code[found.position]
    if test.dst != found.register:
        return same
    for k in range(found.loop.head + 1, found.loop.end):
        other = code[k]
        if other.op is test.op and other.type is test.type and other.args == test.args:
            same.append(other.dst)
    return same


def _split(nest: Nest, found: _Condition, folded: Folded, out: list[Instr]) -> None:
    """Append the loops that a loop becomes."""
    f = nest.f
    code = f.code
    loop = found.loop
    head = code[loop.head]
    line = head.line
    test = code[found.position]
    lo = read_once(f, head.args[0], line, out)
    hi = read_once(f, head.args[1], line, out)
    # Where the index would be 0 both operands are computed: what they differ by there is where it makes them equal.
    rename = {loop.index: f.const(I64, 0)}
    for k in arithmetic(nest, loop, found.position) or []:
        instr = code[k]
        if instr.op in (ops.ADD, ops.SUB) and instr.type is I64:
            x, y = [rename.get(operand, operand) for operand in instr.args]
            rename[instr.dst] = computed(f, instr.op, x, y, instr.line, out)
        else:
            clone(f, [instr], rename, out)
    a, b = [rename.get(x, x) for x in test.args]
    if found.sign < 0:
        a, b = b, a
    # (A constant is added last, where it can be seen to that nothing wraps.)
    zero, more = (b, -int(f.const_values[~a])) if a < 0 <= b else (computed(f, ops.SUB, b, a, line, out), 0)
    op = test.op if found.sign > 0 else ops.COMPARISONS[ops.EXCHANGED[test.op.name]]
    ends = _ENDS[op]
    spans: list[tuple[int | None, int | None]] = [(None, ends[0])]
    spans += [(end + 1, after) for end, after in zip(ends, [*ends[1:], None], strict=True)]
    form = _difference(nest, found.position, found.sign)
    place = Form(0, {value: 1 for value in form.terms if nest.indices.get(value) is loop}).plus(form, -1)
    own = own_variables(nest, loop)
    compared = comparisons(nest, loop)
    starts, stops = nest.forms.of(head.args[0]), nest.forms.of(head.args[1])
    for first, last in spans if loop.step > 0 else reversed(spans):
        # The first index, and the one behind the last, as far as the condition says.
        begin, end = (first, None if last is None else last + 1) if loop.step > 0 else (last, None if first is None else first - 1)
        after = _sign(place, begin, starts) * loop.step
        before = _sign(place, end, stops) * loop.step
        if _sign(place, end, starts) * loop.step < 0 or _same(place, end, starts) or _same(place, begin, stops) or _sign(place, begin, stops) * loop.step > 0:
            continue
        low, high = lo, hi
        if begin is not None:
            low = moved(f, zero, more + begin, line, out)
            if after < 0 or _same(place, begin, starts):
                low = lo
            elif not after:
                low = computed(f, ops.MAX if loop.step > 0 else ops.MIN, lo, low, line, out)
        if end is not None:
            high = moved(f, zero, more + end, line, out)
            if before > 0 or _same(place, end, stops):
                high = hi
            elif not before:
                high = computed(f, ops.MIN if loop.step > 0 else ops.MAX, hi, high, line, out)
        body = folded.body(known_in(compared, form, first, last))
        if changes(f, body):
            append_loop(f, head, low, high, body, own, out)


def _sign(place: Form, more: int | None, other: Form | None) -> int:
    """Whether what is so much more than a form is known to be more than another (1), or less (-1); 0 where it is not known, or the same."""
    if more is None or other is None:
        return 0
    apart = place.plus(other, -1)
    if apart.terms or apart.constant + more == 0:
        return 0
    return 1 if apart.constant + more > 0 else -1


def _same(place: Form, more: int | None, other: Form | None) -> bool:
    """Whether what is so much more than a form is known to be the same as another."""
    if more is None or other is None:
        return False
    apart = place.plus(other, -1)
    return not apart.terms and apart.constant + more == 0


def _difference(nest: Nest, place: int, sign: int) -> Form:
    """The first operand of a comparison less the second, or the other way round, so that the index counts once."""
    a, b = [nest.forms.of(operand) for operand in nest.f.code[place].args]
    assert a is not None and b is not None
    return a.plus(b, -1) if sign > 0 else b.plus(a, -1)


def comparisons(nest: Nest, loop: NestLoop) -> list[tuple[Instr, Form]]:
    """The comparisons in a loop, and of each its first operand less the second, where that is a form."""
    found: list[tuple[Instr, Form]] = []
    for instr in nest.f.code[loop.head + 1 : loop.end]:
        if instr.op in ops.COMPARING and instr.type is I64:
            a, b = nest.forms.of(instr.args[0]), nest.forms.of(instr.args[1])
            if a is not None and b is not None:
                found.append((instr, a.plus(b, -1)))
    return found


def known_in(compared: list[tuple[Instr, Form]], form: Form, first: int | None, last: int | None) -> dict[int, bool]:
    """What comparisons give while a form is between two numbers: those of the form and a constant with 0."""
    found: dict[int, bool] = {}
    terms = form.terms
    for instr, own in compared:
        if len(own.terms) != len(terms):
            continue
        sign = 1 if own.terms == terms else -1
        if sign < 0 and any(own.terms.get(value) != -coefficient for value, coefficient in terms.items()):
            continue
        value = known_value(instr.op, sign, own.constant - sign * form.constant, first, last)
        if value is not None:
            found[instr.dst] = value
    return found


def append_loop(f: Function, head: Instr, low: int, high: int, body: list[Instr], own: list[int], out: list[Instr]) -> int:
    """Append a loop with a body of its own, and variables: those that each iteration writes anew. Returns its index."""
    index = f.register(I64, f.names[head.dst])
    out.append(Instr(ops.FOR, head.type, index, [low, high, head.args[2]], 0, head.line))
    rename = {head.dst: index}
    for variable in own:
        rename[variable] = f.register(f.types[variable], f.names[variable], True)
    clone(f, body, rename, out)
    out.append(Instr(ops.END, VOID, NONE, [], 0, head.line))
    return index


def own_variables(nest: Nest, loop: NestLoop) -> list[int]:
    """The variables that each iteration of a loop writes anew, and nothing else mentions."""
    found: list[int] = []
    for scalar in scalars(nest):
        if scalar.loop is loop and scalar.kind == PRIVATE:
            first, last = nest.mentions[scalar.variable]
            if loop.head < first and last < loop.end:
                found.append(scalar.variable)
    return found
