"""The ``lane-order`` pass: elements that need not stand in their order in vectors are loaded and stored as they lie in memory.

Where a vector has two parts of 128 bits, and no instruction chooses lanes from two registers (AVX2), elements in turn are dealt out to vectors by permutations within
the parts; so that they come out in their order, the parts are loaded and stored one by one (``interleaved.py``). If all that is made of what is loaded is computed lane by
lane and stored in turn again, as products of complex numbers are, lanes in another order do as well, the same one in all of them::

    %re = load_part2.f32x8 0, [%a]              %v, %w = load_at.u32x8 [%a], [%a + 32]
    %im = load_part2.f32x8 1, [%a]              %re, %im = unzip_even %v, %w; unzip_odd %v, %w
    …                                      →    …
    store_parts2.f32x8 %re', %im', [%a]         store_at.u32x8 [%a], [%a + 32]: zip_low %re', %im'; zip_high %re', %im'

Nothing is left of moving parts: half as many accesses, and of stores half the operations.
"""

from __future__ import annotations

from typing import Any, Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.groups import Groups
from loopwright.targets.x86 import interleaved

__all__ = ["run"]

_PART: Final = 16
_SIZE: Final = 32
_LOADS: Final = frozenset((ops.LOAD_PART[2], ops.LOAD_PART[4]))
_STORES: Final = frozenset((ops.STORE_PARTS[2], ops.STORE_PARTS[4]))
#: Whose result is the same whatever order the lanes stand in, of integers.
_IN_ANY_ORDER: Final = frozenset((ops.REDUCE_ADD, ops.REDUCE_MUL, ops.REDUCE_MIN, ops.REDUCE_MAX, ops.REDUCE_AND, ops.REDUCE_OR, ops.REDUCE_XOR))
_OF_MASKS: Final = frozenset((ops.ANY, ops.ALL, ops.ANY_LANE, ops.ALL_LANES))
#: What makes all lanes alike.
_ALIKE: Final = frozenset((ops.SPLAT, ops.MASK_SPLAT))


def run(f: Function, target: Any) -> None:
    """Loads and stores of a function's vectors, where the target has no choices from two registers."""
    if target.mask_registers:
        return
    if any(instr.op in _LOADS and instr.type.size == _SIZE for instr in f.code):
        _Dealt(f).run()


class _Dealt:
    """The vectors of a function, in groups whose lanes stand in one order.

    Attributes:
        groups: registers whose lanes stand in one order.
        alike: registers all of whose lanes are the same.
        counts: by register that is loaded or stored in turn: how many vectors are.
        fixed: registers whose lanes have to stand in their order.
    """

    __slots__ = ("alike", "counts", "f", "fixed", "groups")

    def __init__(self, f: Function) -> None:
        self.f = f
        self.groups = Groups()
        self.alike: set[int] = set()
        self.counts: dict[int, int] = {}
        self.fixed: set[int] = set()

    def run(self) -> None:
        for instr in self.f.code:
            self.look(instr)
        fixed = {self.groups.root(r) for r in self.fixed}
        counts: dict[int, int] = {}
        for r, count in self.counts.items():
            root = self.groups.root(r)
            if counts.setdefault(root, count) != count:
                fixed.add(root)
        free = {root for root in counts if root not in fixed}
        if free:
            self.rewrite(free)

    def vectors(self, registers: list[int]) -> list[int]:
        """Those of some operands that are vectors or masks whose lanes are not all the same."""
        types = self.f.types
        return [r for r in registers if r >= 0 and types[r].lanes and r not in self.alike]

    def look(self, instr: Instr) -> None:
        """What an instruction says of the vectors that it reads and makes."""
        op, dst = instr.op, instr.dst
        types = self.f.types
        read = self.vectors(instr.args)
        makes = dst >= 0 and types[dst].lanes > 0
        if not read and not makes:
            return
        if op in _LOADS or op in _STORES:
            own = [dst] if makes else read
            # (What all lanes have alike is stored in any order.)
            if instr.type.size == _SIZE and op.parts * instr.type.bits <= 8 * _PART:
                for r in own:
                    self.groups.join(own[0], r)
                    if self.counts.setdefault(r, op.parts) != op.parts:
                        # (Loaded and stored as it is, of so many and of as many others.)
                        self.fixed.add(r)
            else:
                self.fixed.update(own)
        elif op in _ALIKE and not self.f.variable[dst]:
            self.alike.add(dst)
        elif op in ops.LANE_BY_LANE or op in _ALIKE:
            if not read and not self.f.variable[dst]:
                self.alike.add(dst)
                return
            for r in read:
                if types[r].lanes == types[dst].lanes:
                    self.groups.join(dst, r)
                else:
                    self.fixed.update((dst, r))
        elif not (op in _OF_MASKS or (op in _IN_ANY_ORDER and instr.type.is_integer)):
            self.fixed.update(read)
            if makes:
                self.fixed.add(dst)

    def rewrite(self, free: set[int]) -> None:
        """Loads and stores of groups whose order does not matter."""
        f = self.f
        out: list[Instr] = []
        for instr in f.code:
            own = [instr.dst] if instr.op in _LOADS else self.vectors(instr.args) if instr.op in _STORES else []
            if own and self.groups.root(own[0]) in free:
                interleaved.deal_as_it_lies(f, instr, out.append)
            else:
                out.append(instr)
        f.code = out
