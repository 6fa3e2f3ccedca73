"""What loops over lanes have just stored, or loaded, is not loaded again.

::

    for i = 0, n lanes                    for i = 0, n lanes
      store x[i, 0], %1                     store x[i, 0], %1
      %2 = load x[i, 0]             →       %2 = copy %1

Of scalar code ``simplify`` sees that; accesses of lanes that are a few elements apart are made of several instructions by then, and stores of neighbours (``x[i, 0]`` and ``x[i, 1]``) can only be
made together where none of them is loaded in between (``vectors/interleaving.py``).
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.affine import Form, Forms
from loopwright.ir.brackets import end_of, match
from loopwright.ir.function import Function, Instr
from loopwright.ir.loops import IS_LOOP

__all__ = ["run"]

#: An element of an array: its number, and its subscripts.
_Element = tuple[int, list[Form]]
#: One, and the register that has it.
_Known = tuple[_Element, int]


def run(f: Function) -> None:
    """Let loops over lanes load nothing that is in a register."""
    if not any(instr.loop is not None and instr.loop.lanes for instr in f.code):
        return
    partner = match(f.code)
    for head, instr in enumerate(f.code):
        if instr.loop is not None and instr.loop.lanes and _again(f.code, head, partner[head]):
            _forward(f, head, partner[head], partner)


def _again(code: list[Instr], head: int, end: int) -> bool:
    """Whether a loop loads from an array to which it has stored."""
    stored: set[int] = set()
    for k in range(head + 1, end):
        instr = code[k]
        if instr.op is ops.STORE:
            stored.add(instr.imm)
        elif instr.op is ops.LOAD and instr.imm in stored:
            return True
    return False


def _forward(f: Function, head: int, end: int, partner: list[int]) -> None:
    code = f.code
    forms = Forms(f, head, end)
    known: list[_Known] = []
    around: list[list[_Known]] = []  # by open bracket, what is known where it ends, or its next part begins
    for k in range(head + 1, end):
        instr = code[k]
        op = instr.op
        if op.closes:
            known = around.pop()
        if op.opens:
            if IS_LOOP[op.code]:
                known = _kept(f, forms, known, k, end_of(code, partner, k))
            around.append([*_kept(f, forms, known, k, partner[k])])
        if op is ops.LOAD or op is ops.STORE:
            element = _element(forms, instr)
            if op is ops.STORE:
                known = _untouched(f, known, element)
                value = instr.args[0]
            else:
                found = [one[1] for one in known if element is not None and _equal(element, one[0])]
                if found:
                    code[k] = Instr(ops.COPY, instr.type, instr.dst, [found[0]], 0, instr.line)
                    continue
                value = instr.dst
            if element is not None and (value < 0 or not f.variable[value]):
                known.append((element, value))
        elif op.effect == ops.CALLS or op.effect == ops.WRITES:
            known = []


def _kept(f: Function, forms: Forms, known: list[_Known], head: int, end: int) -> list[_Known]:
    """What of that which is known is so, too, behind any of the code between."""
    for k in range(head + 1, end):
        instr = f.code[k]
        if instr.op is ops.STORE:
            known = _untouched(f, known, _element(forms, instr))
        elif instr.op.effect == ops.CALLS or instr.op.effect == ops.WRITES:
            return []
    return known


def _untouched(f: Function, known: list[_Known], stored: _Element | None) -> list[_Known]:
    """What is still known behind a store to an element."""
    return [one for one in known if stored is not None and _different(f, stored, one[0])]


def _element(forms: Forms, access: Instr) -> _Element | None:
    """What an access is to; None where a subscript changes in a way that is not followed."""
    found = [forms.of(a) for a in access.args[int(access.op is ops.STORE) :]]
    subscripts = [form for form in found if form is not None]
    return (access.imm, subscripts) if len(subscripts) == len(found) else None


def _equal(a: _Element, b: _Element) -> bool:
    return a[0] == b[0] and all(x.same(y) for x, y in zip(a[1], b[1], strict=True))


def _different(f: Function, a: _Element, b: _Element) -> bool:
    """Whether two elements are known to be two."""
    if a[0] != b[0]:
        return f.never_meet(a[0], b[0])
    return any(x.terms == y.terms and x.constant != y.constant for x, y in zip(a[1], b[1], strict=True))
