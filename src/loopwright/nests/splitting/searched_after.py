"""Tables in which the best element is sought as they are filled: it is sought when they are full.

::

    for i = 1, n                              for i = 1, n
      for j = 1, m                              for j = 1, m
        c[i, j] = h                               c[i, j] = h
        if h > best                     →     for i = 1, n
          best = h; bi = i; bj = j              for j = 1, m
                                                  if c[i, j] > best
                                                    best = c[i, j]; bi = i; bj = j

So local alignments end (T. Smith and M. Waterman, "Identification of common molecular subsequences", 1981). The variables keep rows from being walked together (``skew.py``); a search by itself takes lanes, in blocks (``extremes.py``).
Each element is stored once, and is what has been compared, so that the same are compared in the same order.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.nests.analysis.nest import Access, Nest, NestLoop, nests
from loopwright.nests.rewriting.unroll import clone
from loopwright.nests.splitting.distribute import replaced
from loopwright.nests.steps.interchange import imperfect
from loopwright.targets.target import Target

__all__ = ["run"]


def run(f: Function, target: Target, written: set[int]) -> dict[int, str]:
    """Rewrite such nests of a function that is at a stage before ``addresses``.

    Args:
        f: the function.
        target: the machine.
        written: receives the indices of outermost loops that are as they were, for arrays that overlap.

    Returns:
        Per index of an outermost loop: what was done in it, for the report.
    """
    done: dict[int, str] = {}
    if not target.vector_bits or not any(instr.op is ops.IF for instr in f.code):
        return done
    for nest in reversed(nests(f)):
        for inner in nest.loops if not nest.obstacles else []:
            search = _search(nest, inner)
            if search is not None:
                search.write(written)
                done[nest.loops[0].index] = f"the best of {f.arrays[search.store.array].name} sought behind it"
                break
    return done


def _search(nest: Nest, inner: NestLoop) -> _Search | None:
    """The search at the end of an innermost loop's body; None for others."""
    f = nest.f
    code = f.code
    outer = inner.parent
    if outer is None or outer.parent is not None or not inner.step or not outer.step or code[inner.end - 1].op is not ops.END:
        return None
    begin = inner.end - 2
    while begin > inner.head and code[begin].op.effect != ops.CONTROL:
        begin -= 1
    test = code[begin - 1]
    read = sum([test.dst in instr.args for instr in code[inner.head : inner.end]])
    if code[begin].op is not ops.IF or read != 1 or test.dst != code[begin].args[0] or test.op not in (ops.GT, ops.LT, ops.GE, ops.LE) or f.variable[test.dst]:
        return None
    for value, best in (test.args, test.args[::-1]):
        if value >= 0 and best >= 0 and f.variable[best] and not f.variable[value]:
            search = _Search(nest, outer, inner, begin, value, best)
            if search.possible():
                return search
    return None


class _Search:
    """A search for the best element of a table that two loops fill.

    Attributes:
        nest: the nest, whose outermost loop is ``outer``.
        outer, inner: the loops.
        begin: where the search's ``if`` begins, right behind its comparison.
        value, best: the registers that are compared.
        store: the access that stores the value.
    """

    __slots__ = ("begin", "best", "inner", "nest", "outer", "store", "value")

    def __init__(self, nest: Nest, outer: NestLoop, inner: NestLoop, begin: int, value: int, best: int) -> None:
        self.nest = nest
        self.outer = outer
        self.inner = inner
        self.begin = begin
        self.value = value
        self.best = best
        self.store: Access = nest.accesses[0]

    def possible(self) -> bool:
        """Whether it can be done behind the nest."""
        nest = self.nest
        if imperfect(nest, [self.outer, self.inner]) is not None:
            return False
        stores = [access for access in nest.accesses if access.store and access.loops[-1] is self.inner and nest.f.code[access.position].args[0] == self.value]
        if len(stores) != 1 or stores[0].arms or not self._each_once(stores[0]):
            return False
        self.store = stores[0]
        return self._alone()

    def _each_once(self, store: Access) -> bool:
        """Whether each iteration stores to an element of its own, to which nothing else does, and which others load."""
        others = [access for access in self.nest.accesses if access.array == store.array and access is not store]
        if any(access.store for access in others) or not others or len(store.subscripts) < 2:
            return False
        found: list[NestLoop] = []
        for form in store.subscripts:
            if form is None:
                return False
            moved = [self.nest.indices[value] for value in form.terms if value in self.nest.indices]
            if len(moved) > 1 or any(value not in self.nest.indices and self.nest.varies(value) for value in form.terms):
                return False
            found += moved
        return sorted(loop.number for loop in found) == [self.outer.number, self.inner.number]

    def _alone(self) -> bool:
        """Whether its variables are its own, and get nothing but the value and what is made of the loops' indices."""
        nest, f = self.nest, self.nest.f
        arm = f.code[self.begin + 1 : self.inner.end - 1]
        given = {self.value, self.outer.index, self.inner.index}
        variables = {self.best}
        for instr in arm:
            if not instr.op.pure or any(a >= 0 and a not in given and nest.forms.places.get(a, -1) >= nest.start for a in instr.args):
                return False
            if any(a >= 0 and f.variable[a] for a in instr.args):
                return False
            if f.variable[instr.dst]:
                if instr.dst == self.best and (instr.op is not ops.COPY or instr.args != [self.value]):
                    return False
                variables.add(instr.dst)
            else:
                given.add(instr.dst)
        if not any(instr.dst == self.best for instr in arm):
            return False
        outside = [*f.code[nest.start : self.begin - 1], *f.code[self.inner.end : nest.end + 1]]
        return not any(instr.dst in variables or any(a in variables for a in instr.args) for instr in outside)

    def write(self, written: set[int]) -> None:
        """Put the search behind the nest; ``written`` receives the index of the outermost loop as it was, if it has to stay for arrays that overlap."""
        nest, f = self.nest, self.nest.f
        code = f.code
        outer, inner = self.outer, self.inner
        store = code[self.store.position]
        search: list[Instr] = [code[outer.head]]
        search += code[outer.head + 1 : inner.head + 1]
        needed = {a for a in store.args[1:] if a >= 0}
        subscripts: list[Instr] = []
        for k in range(self.store.position - 1, inner.head, -1):
            if code[k].dst in needed and code[k].dst >= 0:
                subscripts.insert(0, code[k])
                needed.update(code[k].args)
        search += [*subscripts, Instr(ops.LOAD, store.type, self.value, store.args[1:], store.imm, store.line)]
        search += code[self.begin - 1 : inner.end + 1]
        search.append(code[outer.end])
        behind: list[Instr] = []
        clone(f, search, {}, behind)
        fast = [*code[outer.head : self.begin - 1], *code[inner.end : outer.end + 1], *behind]
        replaced(nest, outer, fast, written)
