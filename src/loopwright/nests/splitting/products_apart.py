"""Products whose elements are used as soon as they are stored, as products by themselves, and the use behind them.

::

    for i = 0, n                                for i = 0, n
      m = -1000                                   for j = 0, l
      for j = 0, l                                  s = 0; for k: s = s + a[i, k] * b[j, k]
        s = 0; for k: s = s + a[i, k] * b[j, k]     c[i, j] = 0.1 * s
        c[i, j] = 0.1 * s                 →     for i = 0, n
        m = max(m, c[i, j])                       m = -1000
      for j: c[i, j] = c[i, j] - m                for j = 0, l: m = max(m, c[i, j])
                                                  for j: c[i, j] = c[i, j] - m

A product alone is made in blocks, with what is read along rows turned round (``turned.py``, ``blocks.py``), which is worth more than to load each element once again. Later rows of it are stored before
earlier ones are used (loop distribution: K. Kennedy and J. R. Allen, Optimizing Compilers for Modern Architectures, 2001, section 6.2.1), so that a row's elements may be read by that row alone.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.nests.analysis.nest import Access, Nest, NestLoop, nests
from loopwright.nests.analysis.scalars import REDUCTION, scalars
from loopwright.nests.rewriting.unroll import clone, written_first
from loopwright.nests.splitting.distribute import replaced
from loopwright.targets.target import Target

__all__ = ["run"]

#: So many instructions at most make an element, with its loop.
MOST: Final = 40


def run(f: Function, target: Target, distinct: set[int], written: set[int]) -> dict[int, str]:
    """Take such products of a function out of what uses them.

    Args:
        f: the function.
        target: the machine.
        distinct: receives the indices of outermost loops that run only where arrays do not overlap.
        written: receives those of the outermost loops that stand beside them, as written.

    Returns:
        By the index of an outermost loop of what was made: what was done, for the report.
    """
    done: dict[int, str] = {}
    if not target.vector_bits or not any(instr.op is ops.MUL for instr in f.code):
        return done
    for nest in reversed(nests(f)):
        if nest.obstacles or len(nest.loops) < 3:
            continue
        for inner in nest.loops:
            found = _found(nest, inner)
            if found is not None and found.possible():
                plain = len(written)
                index = found.rewrite(written)
                if len(written) > plain:
                    distinct.update((index, found.rows.index))
                done[found.rows.index if found.rows is nest.loops[0] else index] = "a product apart from what uses it"
                break
    return done


def _found(nest: Nest, inner: NestLoop) -> _Product | None:
    """What an innermost loop adds up for an element that two loops around it name; None where there is no such, or nothing but that."""
    across = inner.parent
    rows = across.parent if across is not None else None
    if across is None or rows is None or not inner.step == across.step == rows.step == 1 or inner.end - across.head > MOST:
        return None
    if any(other.parent is inner or (other.parent is across and other is not inner) for other in nest.loops):
        return None
    code = nest.f.code
    store = next((k for k in range(inner.end + 1, across.end) if not code[k].op.pure), -1)
    if store < 0 or code[store].op is not ops.STORE or code[store].args[0] < 0:
        return None
    alone = store + 1 == across.end and all(
        code[k].op.pure and not nest.f.variable[code[k].dst] for k in (*range(rows.head + 1, across.head), *range(across.end + 1, rows.end))
    )
    return None if alone else _Product(nest, rows, across, inner, store)


class _Product:
    """A product, and where it is.

    Attributes:
        rows, across, inner: its loops, outermost first.
        store: where an element is stored.
        value: what is stored.
        own: the variables that it gives a value before it reads them.
        indices: positions up to there of what is computed from indices alone, which the use may need as well.
        front: positions in front of the second loop of what the product needs of a row.
    """

    def __init__(self, nest: Nest, rows: NestLoop, across: NestLoop, inner: NestLoop, store: int) -> None:
        self.nest = nest
        self.f = nest.f
        self.rows = rows
        self.across = across
        self.inner = inner
        self.store = store
        self.value: int = nest.f.code[store].args[0]
        self.own = set(written_first(nest.f, nest.f.code[across.head + 1 : store + 1]))
        self.indices: list[int] = []
        self.front: list[int] = []

    def possible(self) -> bool:
        """Whether it is a product, and may be taken out."""
        return self.adds_products() and self.ordered() and self.needs_rows_alone() and self.used_as_stored()

    def adds_products(self) -> bool:
        """Whether the innermost loop adds up products of what it loads, and does nothing else."""
        f, inner = self.f, self.inner
        body = f.code[inner.head + 1 : inner.end]
        if not all(instr.op.pure or instr.op is ops.LOAD for instr in body) or sum(instr.op is ops.LOAD for instr in body) < 2:
            return False
        totals = [scalar for scalar in scalars(self.nest) if scalar.loop is inner]
        return any(instr.op is ops.MUL for instr in body) and len(totals) == 1 and totals[0].kind == REDUCTION and totals[0].op is ops.ADD

    def ordered(self) -> bool:
        """Whether nothing that the product reads is stored in the rows, and its elements are accessed by their own row alone, behind the product."""
        nest, rows = self.nest, self.rows
        own = [access for access in nest.accesses if rows.head < access.position < rows.end]
        stored = next(access for access in own if access.position == self.store)
        read = {access.array for access in own if self.across.head < access.position < self.store}
        if read & {access.array for access in own if access.store}:
            return False
        *leading, last = stored.subscripts
        if last is None or not self.moves(last.terms, self.across) or len(last.terms) != 1:
            return False
        if not any(form is not None and self.moves(form.terms, rows) for form in leading):
            return False
        return all(self.in_row(access, stored) for access in nest.accesses if access.array == stored.array and access is not stored)

    def moves(self, terms: dict[int, int], loop: NestLoop) -> bool:
        return any(self.nest.indices.get(value) is loop for value in terms)

    def in_row(self, access: Access, stored: Access) -> bool:
        """Whether an access is behind the product, in the same row; as long as other products of the row are made, to what is stored, or a load of what has been before."""
        if not self.store < access.position < self.rows.end:
            return False
        last, own = access.subscripts[-1], stored.subscripts[-1]
        if access.position < self.across.end:
            if last is None or own is None or last.terms != own.terms:
                return False
            (coefficient,) = own.terms.values()
            ahead = (last.constant - own.constant) * coefficient * self.across.step
            if ahead > 0 or (ahead < 0 and access.store):
                return False
        return all(x is not None and y is not None and x.same(y) for x, y in zip(access.subscripts[:-1], stored.subscripts[:-1], strict=True))

    def needs_rows_alone(self) -> bool:
        """Find what the product needs of what a row computes in front; whether that is computed from indices, or loaded, alone."""
        f, rows, across = self.f, self.rows, self.across
        code = f.code
        stored = {access.array for access in self.nest.accesses if access.store and rows.head < access.position < rows.end}
        wanted = {a for k in range(across.head, self.store + 1) for a in code[k].args}
        depth = 0
        for k in range(across.head - 1, rows.head, -1):
            instr = code[k]
            if instr.op.closes and not instr.op.opens:
                depth += 1
            elif instr.op.opens and not instr.op.closes:
                depth -= 1
                if depth < 0:
                    return False
            if instr.dst not in wanted or instr.dst < 0:
                continue
            if depth or f.variable[instr.dst] or not (instr.op.pure or (instr.op is ops.LOAD and instr.imm not in stored)):
                if instr.dst in self.own:
                    continue
                return False
            self.front.insert(0, k)
            wanted.update(instr.args)
        # (What a row leaves in a variable, the next one's product may read.)
        left = {code[k].dst for k in range(self.store + 1, rows.end) if code[k].dst >= 0 and f.variable[code[k].dst]}
        return not (wanted - self.own) & left

    def used_as_stored(self) -> bool:
        """Whether of all that makes an element only what is stored, and what is computed from indices, is used elsewhere."""
        f, across = self.f, self.across
        code = f.code
        made = {code[k].dst for k in range(across.head + 1, self.store) if code[k].dst >= 0}
        plain: set[int] = set()
        for k in range(across.head + 1, self.store):
            instr = code[k]
            if self.inner.head <= k <= self.inner.end or not instr.op.pure or f.variable[instr.dst]:
                continue
            if all(a not in made or a in plain for a in instr.args) and not any(a >= 0 and f.variable[a] for a in instr.args):
                plain.add(instr.dst)
                self.indices.append(k)
        if any(a in made and a not in plain for a in code[self.store].args[1:]):
            return False
        for k, instr in enumerate(code):
            if across.head < k <= self.store:
                continue
            behind = self.store < k < across.end
            if any(a in made and not (behind and (a == self.value or a in plain)) for a in instr.args):
                return False
            # (What a row gives a new value in front is not what the product has left in it.)
            if instr.dst in made and instr.dst not in self.own:
                return False
        return True

    def rewrite(self, written: set[int]) -> int:
        """Take the product out. Returns the index of its outermost loop, or of that of the nest."""
        f, rows, across = self.f, self.rows, self.across
        code = f.code
        body = code[across.head : self.store + 1]
        rename = {r: f.register(f.types[r], f.names[r], True) for r in sorted({instr.dst for instr in body if instr.dst >= 0 and f.variable[instr.dst]})}
        out: list[Instr] = []
        clone(f, [code[rows.head], *[code[k] for k in self.front], *body, code[across.end], code[rows.end]], rename, out)
        use = code[self.store + 1 : across.end]
        out += code[rows.head : across.head]
        if use:
            store = code[self.store]
            loaded = f.register(store.type, "")
            out += [code[across.head], *[code[k] for k in self.indices]]
            out.append(Instr(ops.LOAD, store.type, loaded, store.args[1:], store.imm, store.line))
            for instr in use:
                again = instr.copy()
                again.args = [loaded if a == self.value else a for a in instr.args]
                out.append(again)
            out.append(code[across.end])
        out += code[across.end + 1 : rows.end + 1]
        first = out[0].dst
        replaced(self.nest, rows, out, written)
        return first if rows is self.nest.loops[0] else self.nest.loops[0].index
