"""Loads under conditions that are inside of their arrays whatever is decided: the bounds of the loop over lanes and the array's extent say so.

So do those of other loops, for the other dimensions. They are made for all lanes: a whole vector needs no mask, which some machines make lane by lane, and what a loop that lanes leave one by one loads in every step
is the same in all, and moves out of it.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Forms
from loopwright.ir.function import Function, Instr

__all__ = ["Inside"]

_DIVISIONS: Final = frozenset((ops.DIV_FLOOR, ops.DIV_TRUNC))


class Inside:
    """What is known of the elements that a loop over lanes may access.

    Attributes:
        f: the function.
        head: the loop.
        span: where it is in the code.
    """

    def __init__(self, f: Function, head: Instr, span: tuple[int, int]) -> None:
        self.f = f
        self.head = head
        self.span = span
        self._forms: Forms | None = None

    def holds(self, access: Instr) -> bool:
        """Whether the element that a load names is there for every index of the loop."""
        extents = self.f.arrays[access.imm].extents
        if not self._counts_up(self.head):
            return False
        if self._forms is None:
            self._forms = Forms(self.f, *self.span)
        return all(self._below(index, extent) for index, extent in zip(access.args, extents, strict=True))

    def _counts_up(self, head: Instr) -> bool:
        """Whether a loop counts one by one, from a constant that is not negative."""
        lo, _, step = head.args
        return lo < 0 and step < 0 and bool(self.f.const_values[~lo] >= 0 and self.f.const_values[~step] == 1)

    def _below(self, index: int, extent: int) -> bool:
        """Whether an index is in its dimension: a multiple of what the loop over lanes counts, and less than one more, or what another loop counts."""
        forms = self._forms
        assert forms is not None
        form = forms.of(index)
        if form is None or len(form.terms) != 1:
            return False
        ((value, times),) = form.terms.items()
        place = forms.places.get(forms.registers[value], -1)
        if place < 0 or forms.code[place].op is not ops.FOR or not self._counts_up(forms.code[place]) or not 0 <= form.constant < times:
            return False
        return self._at_most(forms.code[place].args[1], extent, times)

    def _at_most(self, count: int, extent: int, times: int) -> bool:
        """Whether so many groups of ``times`` elements each are in an array of an extent."""
        forms = self._forms
        assert forms is not None
        if times == 1:
            most, given = forms.of(extent), forms.of(count)
            if most is None or given is None:
                return False
            more = most.plus(given, -1)
            return not more.terms and more.constant >= 0
        place = forms.places.get(count, -1) if count >= 0 else -1
        if place < 0:
            return False
        made = forms.code[place]
        a, b = made.args if len(made.args) == 2 else (extent, 0)
        if a != extent or b >= 0:
            return False
        number = int(self.f.const_values[~b])
        return (made.op is ops.SHR and 0 < number < 63 and 1 << number >= times) or (made.op in _DIVISIONS and number >= times)
