"""What the arms of a branch have in common, in loops over lanes: done once, before they become masks.

::

    %a = load x[%i]                           %a = load x[%i]
    %c = gt %a, 0.5                           %c = gt %a, 0.5
    if %c                                     if %c
      %b = mul %a, %a                           %s = mul %a, %a
      store %b, y[%i]                         else
    else                           →            %e = add %a, 1.0
      %d = load x[%i]                           %s = div 1.0, %e
      %e = add %d, 1.0                        end
      %g = div 1.0, %e                        store %s, y[%i]
      store %g, y[%i]
    end

Where all arms end with a store to the same place, one store behind them writes what each of them has made (J. Knoop, O. Rüthing and B. Steffen, "Partial dead code
elimination", PLDI 1994: assignments are sunk to where ways meet). What has been loaded in front of a branch is not loaded again in it. A vector of results is then
chosen and written whole, instead of in parts under masks, which on some machines take ten times as long.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.equality import same_operation
from loopwright.ir.function import NONE, Function, Instr

__all__ = ["merge"]

#: An index may take so many operations that are made again behind the arms.
_DEEPEST: Final = 4
#: What these give hangs on which lanes are there to ask.
_ASKING: Final = frozenset((ops.ANY_LANE, ops.ALL_LANES))


def merge(f: Function) -> None:
    """Do what the arms of branches have in common once, in every loop over lanes of ``f``."""
    code = f.code
    depth = 0
    #: How many brackets are open around the loop over lanes, or -1 outside of one.
    around = -1
    start = 0
    begun = False
    out: list[Instr] = []
    for position, instr in enumerate(code):
        op = instr.op
        if op.opens and not op.closes:
            if around < 0 and instr.loop is not None and instr.loop.lanes:
                around, start, begun = depth, position, False
            depth += 1
            begun = begun or op is ops.IF
        elif op is ops.END:
            depth -= 1
            if depth == around:
                inside = code[start : position + 1]
                out.extend(_Reuse(f).run(_sunk(f, inside)) if begun else inside)
                around = -1
                continue
        if around < 0:
            out.append(instr)
    f.code = out


# --- stores ---------------------------------------------------------------------------------------------------


class _Branch:
    """An ``if`` that is open: where its arms begin and end in the code so far, and whether one of them is an ``else``."""

    __slots__ = ("arms", "begin", "complete", "opener")

    def __init__(self, opener: int) -> None:
        self.opener = opener
        self.begin = opener + 1
        self.arms: list[tuple[int, int]] = []
        self.complete = False


def _sunk(f: Function, code: list[Instr]) -> list[Instr]:
    """The code with stores that all arms of a branch end with behind it; inner branches first."""
    out: list[Instr] = []
    branches: list[_Branch | None] = []
    asked: set[int] = set()  # conditions that all lanes have in common, whose branches stay
    for instr in code:
        op = instr.op
        branch = branches[-1] if branches else None
        if op in _ASKING or (op is ops.NOT and instr.args[0] in asked):
            asked.add(instr.dst)
        if op is ops.THEN and branch is not None and instr.args[0] in asked:
            branches[-1] = branch = None
        if branch is not None and op.closes and op is not ops.THEN:
            branch.arms.append((branch.begin, len(out)))
            branch.complete = branch.complete or op is ops.ELSE
        if op is ops.END:
            branches.pop()
        elif op.opens and not op.closes:
            branches.append(_Branch(len(out)) if op is ops.IF and instr.args[0] not in asked else None)
        elif branch is not None and op.opens:
            branch.begin = len(out) + 1
        out.append(instr)
        if op is ops.END and branch is not None and branch.complete:
            _sink(f, out, branch)
    return out


def _sink(f: Function, out: list[Instr], branch: _Branch) -> None:
    """Move what all arms of a branch, which is the end of the code, store last behind it."""
    written = {instr.dst for instr in out[branch.opener :] if instr.dst >= 0 and f.variable[instr.dst]}
    stores = [_last_stores(out, begin, end) for begin, end in branch.arms]
    made = [{out[k].dst: out[k] for k in range(begin, end) if out[k].op.effect == ops.PURE and out[k].op not in _ASKING} for begin, end in branch.arms]
    behind: list[Instr] = []
    for found in zip(*stores, strict=False):
        first = out[found[0]]
        indices = first.args[1:]
        for k in range(1, len(found)):
            other = out[found[k]]
            if other.op is not first.op or other.imm != first.imm or other.type is not first.type:
                indices = []
                break
            if not all(_same(a, made[0], b, made[k], written, _DEEPEST) for a, b in zip(indices, other.args[1:], strict=True)):
                indices = []
                break
        if not indices:
            break
        value = f.register(first.type, "", True)
        before: list[Instr] = []
        again: dict[int, int] = {}
        store = Instr(first.op, first.type, NONE, [value, *(_again(f, a, made[0], before, again) for a in indices)], first.imm, first.line)
        behind = [*before, store, *behind]
        for position in found:
            out[position] = Instr(ops.COPY, first.type, value, [out[position].args[0]], 0, out[position].line)
    out.extend(behind)


def _last_stores(code: list[Instr], begin: int, end: int) -> list[int]:
    """The positions of the stores to arrays behind which an arm only computes, the last one first."""
    found: list[int] = []
    for position in range(end - 1, begin - 1, -1):
        instr = code[position]
        if instr.op is ops.STORE:
            found.append(position)
        elif instr.op.effect != ops.PURE:
            break
    return found


def _same(a: int, first: dict[int, Instr], b: int, second: dict[int, Instr], written: set[int], deep: int) -> bool:
    """Whether two operands, each of an arm, are the same behind both."""
    one, other = first.get(a), second.get(b)
    if one is None or other is None:
        # (What else an arm has made, as by a load, is in neither.)
        return a == b and one is other and a not in written
    if deep == 0 or a in written or b in written or not same_operation(one, other):
        return False
    return all(_same(c, first, d, second, written, deep - 1) for c, d in zip(one.args, other.args, strict=True))


def _again(f: Function, a: int, made: dict[int, Instr], out: list[Instr], known: dict[int, int]) -> int:
    """An operand of an arm behind it: what the arm has made is made again."""
    instr = made.get(a)
    if instr is None:
        return a
    if a not in known:
        args = [_again(f, b, made, out, known) for b in instr.args]
        known[a] = f.register(f.types[a], f.names[a])
        out.append(Instr(instr.op, instr.type, known[a], args, instr.imm, instr.line, instr.source))
    return known[a]


# --- loads ----------------------------------------------------------------------------------------------------


class _Reuse:
    """A walk that takes what is loaded a second time, with no store in between, from where it was loaded first.

    Attributes:
        loaded: by array and indices, the register, in code that is sure to have run.
        values: the same of what is computed.
        instead: by register that is not made any more, the one that it is.
        versions: how often each variable has been written so far.
    """

    __slots__ = ("f", "instead", "loaded", "values", "versions")

    def __init__(self, f: Function) -> None:
        self.f = f
        self.loaded: dict[tuple[int, ...], int] = {}
        self.values: dict[tuple[int, ...], int] = {}
        self.instead: dict[int, int] = {}
        self.versions: dict[int, int] = {}

    def run(self, code: list[Instr]) -> list[Instr]:
        f = self.f
        variable = f.variable
        instead = self.instead
        out: list[Instr] = []
        #: By open bracket: what was known in front of it, and of an ``if`` whether an arm has stored something.
        known: list[tuple[dict[tuple[int, ...], int], dict[tuple[int, ...], int]]] = []
        stored: list[bool] = []
        for instr in code:
            op = instr.op
            instr.args = [instead.get(a, a) for a in instr.args]
            dst = instr.dst
            if op.closes:
                # (What has been found out stays in its arm; but the next condition of an if runs on all ways on from there.)
                if op is not ops.THEN:
                    self.loaded, self.values = dict(known[-1][0]), dict(known[-1][1])
                if op is ops.END:
                    known.pop()
                    if stored.pop():
                        self.loaded.clear()
                        if stored:
                            stored[-1] = True
            elif op.opens:
                if op is not ops.IF:
                    # A step may find what the one before it has stored.
                    self.loaded.clear()
                known.append((dict(self.loaded), dict(self.values)))
                stored.append(op is not ops.IF)
            elif op is ops.LOAD and not variable[dst]:
                key = (instr.imm, instr.type.number, *self.operands(instr.args))
                found = self.loaded.setdefault(key, dst)
                if found != dst:
                    instead[dst] = found
                    continue
            elif op.effect == ops.PURE:
                if op not in _ASKING and not variable[dst] and not any(variable[a] for a in instr.args if a >= 0):
                    found = self.values.setdefault((op.code, instr.type.number, instr.source.number, instr.imm, *instr.args), dst)
                    if found != dst:
                        instead[dst] = found
                        continue
            elif op.effect != ops.READS:
                self.loaded.clear()
                if stored:
                    stored[-1] = True
            if dst >= 0 and variable[dst]:
                self.versions[dst] = self.versions.get(dst, 0) + 1
            out.append(instr)
        return out

    def operands(self, args: list[int]) -> list[int]:
        """Operands as parts of a key: a variable with how often it has been written."""
        return [part for a in args for part in ((a, self.versions.get(a, 0)) if a >= 0 and self.f.variable[a] else (a, -1))]
