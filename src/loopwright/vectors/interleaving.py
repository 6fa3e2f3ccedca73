"""Elements in turn: accesses of a loop over lanes to elements 2 to 8 apart, of which those of one group are loaded, or stored, together.

``x[3 * i]``, ``x[3 * i + 1]`` and ``x[3 * i + 2]`` have between them all elements of a stretch of memory (Nuzman, Rosen and Zaks, *Auto-Vectorization of
Interleaved Data for SIMD*, PLDI 2006). Loads may leave some of a group out: what is between is read with the others, but never past the last index that the
loop accesses, for which the loop over vectors leaves one index to the loop over elements behind it. So may stores on machines that leave bytes of a vector in memory alone (three bytes of a pixel of four). Under a condition, groups are loaded and
stored under masks (``masked_groups.py``), where the machine has what it takes; so are those of which any elements are stored. Where elements are stored as they were loaded, in another order
(bytes reversed, red and blue exchanged), each vector is shuffled as it is. Elements of up to 32 bits that are 6 and 8 apart are pairs that are 3 and 4 apart: as wider integers, of which each is taken apart.

Elements 2 and 4 apart are taken as wider integers, two or four together, where a target says that this is quicker and the loop computes in integers so wide anyway: the four bytes of a pixel
are one of 32 bits, or two of 16 that are 2 apart. Each is shifted out of them in the place of being widened, and shifted in where it would be cut off.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form, Forms
from loopwright.ir.function import NONE, Instr, Mem
from loopwright.targets.target import Target
from loopwright.types import I64, SIGNED, U8, UNSIGNED, VOID, Type, vector_of
from loopwright.vectors.accesses import Accesses
from loopwright.vectors.divergence import IN_PAIRS, WIDTHS
from loopwright.vectors.masked_groups import MaskedGroup
from loopwright.vectors.masked_groups import able as able_under_masks
from loopwright.vectors.squares import Squares, side, to_load, to_store
from loopwright.vectors.squares import able as has_squares
from loopwright.vectors.tables import Asked
from loopwright.vectors.threes import Threes, able

__all__ = ["Interleaving", "dealt", "stores_some"]

#: How far elements are apart whose distance is not known: further than any that belong to one row.
FAR: Final = 1 << 40
#: Bytes within which a shuffle puts them into another order.
BLOCK: Final = 16
_Key = tuple[tuple[int, ...], ...]


def dealt(type_: Type, apart: int, target: Target, has: Asked) -> bool:
    """Whether elements so far apart can be dealt out to vectors of a type, and stored from them."""
    if 2 <= apart <= WIDTHS[-1] and target.interleaves(type_, apart):
        return True
    if apart not in IN_PAIRS or type_.bits > 32:
        return False
    if 2 * type_.size * 8 > target.vector_bits:
        return False
    narrow, wide = _unsigned(type_, 1), _unsigned(type_, 2)
    if not target.interleaves(wide, apart // 2) or not has(ops.CONVERT, narrow, wide) or not has(ops.CONVERT, wide, narrow):
        return False
    return all(has(op, wide, VOID) for op in (ops.SHR, ops.SHL, ops.OR))


def _signed(type_: Type) -> Type:
    """As many signed integers, as wide."""
    return vector_of(SIGNED[type_.bits], type_.lanes)


def _unsigned(type_: Type, times: int) -> Type:
    """As many unsigned integers, so many times as wide."""
    return vector_of(UNSIGNED[times * type_.bits], type_.lanes)


def stores_some(type_: Type, apart: int, target: Target) -> bool:
    """Whether of elements so far apart some can be stored and those between left alone."""
    return apart in (2, 4) and apart * type_.element.size <= BLOCK and target.stores_some(type_)


def in_front(first: int, last: int, loaded: int, apart: int) -> int:
    """How many elements in front of the first of a group of stores it begins, so that what is loaded next begins where it ends: a load of what a store has just written a part of waits for it.

    Args:
        first, last: the elements that are stored, of ``apart``.
        loaded: the first element that is loaded of the same rows.
        apart: how many elements there are from lane to lane.

    Returns:
        The number; -1 where that cannot be.
    """
    front = (first - loaded) % apart if loaded < first else 0
    return front if front + last - first < apart else -1


class _Member:
    """An access of a group.

    Attributes:
        position: in the body; instr: the access.
        apart: how many elements there are from lane to lane.
        key: what is the same of all whose indices differ by constants: apart, rows, and what the last index is made of; the array is not part of it.
        constant: of the last index.
        mask: of the lanes that access it, of whichever width; NONE where all do.
        together: how many elements are accessed as one integer that is wider.
        far: they are not dealt out, but elements of squares.
    """

    __slots__ = ("apart", "array", "constant", "far", "instr", "key", "mask", "position", "store", "together")

    def __init__(self, position: int, instr: Instr, apart: int, key: _Key, constant: int, mask: int, far: bool) -> None:
        self.position = position
        self.far = far
        self.mask = mask
        self.together = 1
        self.instr = instr
        self.array = instr.imm
        self.apart = apart
        self.key = key
        self.constant = constant
        self.store = instr.op is ops.MASKED_STORE_STRIDED


class Interleaving:
    """The accesses of one body.

    Attributes:
        made: what emits.
        gaps: groups may lack elements, at the end of which memory is read up to the next index's.
        spare: some group does.
        assumed: distances, as registers, that are known to be so many bytes.
        has: whether the machine does an operation in a few instructions.
        masked: the loop's own mask does not hold in all lanes.
    """

    def __init__(self, made: Accesses, forms: Forms, target: Target, gaps: bool, assumed: dict[int, int], has: Asked, masked: bool) -> None:
        self.made = made
        self.has = has
        self.assumed = assumed
        self.forms = forms
        self.target = target
        self.gaps = gaps
        self.spare = False
        self.body: list[Instr] = []
        self.all = set() if masked else {made.all}
        #: By mask that has been made of one for lanes of another width: the first of these.
        self.masks: dict[int, int] = {}
        #: By position: the accesses that are made there, loads where the first is, stores where the last is; None for others of these.
        self.groups: dict[int, list[_Member] | None] = {}
        #: By position of a load: the least constant of its group.
        self.bases: dict[int, int] = {}
        #: By array and rows: the least constant of all loads.
        self.least_loaded: dict[tuple[int, _Key], int] = {}
        #: By register: the group that it was loaded with, and as which element.
        self.loaded: dict[int, tuple[list[_Member], int]] = {}
        #: By register: the instruction of the body that makes it, and those that convert it.
        self.makers: dict[int, Instr] = {}
        self.conversions: dict[int, list[Instr]] = {}
        #: By register that was loaded: the same as a wider integer; and which of several elements it is in another.
        self.widened: dict[int, int] = {}
        self.within: dict[int, tuple[int, int]] = {}
        #: Registers that are not made if nobody reads them.
        self.tentative: set[int] = set()

    def run(self, body: list[Instr]) -> list[Instr]:
        """The body with groups made one access."""
        self.body = body
        variable = self.made.f.variable
        for instr in body:
            if instr.dst >= 0 and not variable[instr.dst]:
                self.makers[instr.dst] = instr
            if instr.op is ops.CONVERT and instr.args[0] >= 0:
                self.conversions.setdefault(instr.args[0], []).append(instr)
        members: list[_Member] = []
        depth = 0
        for position, instr in enumerate(body):
            op = instr.op
            if op is ops.MASK_CONVERT:
                if instr.args[0] in self.all:
                    self.all.add(instr.dst)
                self.masks[instr.dst] = self.masks.get(instr.args[0], instr.args[0])
            elif op.effect == ops.CONTROL or op.effect == ops.CALLS:
                self._stretch(members, depth == 0)
                members = []
                depth += (1 if op.opens else 0) - (1 if op.closes else 0)
            elif op is ops.MASKED_LOAD_STRIDED or op is ops.MASKED_STORE_STRIDED:
                member = self._member(position, instr)
                if member is not None:
                    members.append(member)
        self._stretch(members, depth == 0)
        if not self.groups:
            return body
        out: list[Instr] = []
        self.made.out = out
        for position, instr in enumerate(body):
            if position not in self.groups:
                out.append(self._from_widened(instr) if instr.op is ops.CONVERT else instr)
                continue
            group = self.groups[position]
            if group is not None and instr.op is ops.MASKED_STORE_STRIDED:
                self.made.line = instr.line
                self._store(instr, group)
            elif group is not None:
                self._load(group)
        return self._read(out)

    def _read(self, code: list[Instr]) -> list[Instr]:
        """The code without what is made in more than one way and not read."""
        read: set[int] = set()
        kept = []
        for instr in reversed(code):
            if instr.dst not in self.tentative or instr.dst in read:
                kept.append(instr)
                read.update(instr.args)
        kept.reverse()
        return kept

    def _member(self, position: int, instr: Instr) -> _Member | None:
        """An access that may belong to a group."""
        f = self.made.f
        stride = instr.args[len(instr.op.operands) - 2]
        mask = NONE if instr.args[0] in self.all else self.masks.get(instr.args[0], instr.args[0])
        size = instr.type.element.size
        apart, rest = FAR, 0
        if stride < 0 or stride in self.assumed:
            apart, rest = divmod(self.assumed[stride] if stride >= 0 else int(f.const_values[~stride]), size)
        near = apart != FAR and (
            dealt(instr.type, apart, self.target, self.has)
            if mask == NONE
            else able_under_masks(instr.type, apart, self.target, self.has, instr.op is ops.MASKED_STORE_STRIDED)
        )
        if rest or not (near or (mask == NONE and abs(apart) > 1 and has_squares(instr.type, self.has))):
            return None
        key: list[tuple[int, ...]] = [(apart, stride)]
        indices = instr.args[len(instr.op.operands) - 1 :]
        last = Form(0, {})
        for n, index in enumerate(indices):
            form = self.forms.of(index)
            if form is None:
                return None
            last = form
            terms = [number for item in sorted(form.terms.items()) for number in item]
            key.append((form.constant if n < len(indices) - 1 else 0, *terms))
        return _Member(position, instr, apart if near else abs(apart), tuple(key), last.constant, mask, not near)

    def _stretch(self, members: list[_Member], always: bool) -> None:
        """Find the groups among accesses that come one after the other."""
        if not members:
            return
        sorted_members = sorted(members, key=lambda m: (m.array, m.store, NONE if m.store else m.mask, m.key, m.constant, m.position))
        at = 0
        while at < len(sorted_members):
            first = sorted_members[at]
            group = [first]
            at += 1
            while at < len(sorted_members):
                m = sorted_members[at]
                if m.array != first.array or m.store != first.store or m.key != first.key or m.constant - first.constant >= first.apart:
                    break
                if m.mask != first.mask and not m.store:
                    break
                group.append(m)
                at += 1
            if not first.store:
                self._group_loads(group, members, always)
            elif not self._group_stores(group, members):
                masks = dict.fromkeys(m.mask for m in group)
                for mask in masks if len(masks) > 1 else ():
                    self._group_stores([m for m in group if m.mask == mask], members)

    def _group_loads(self, group: list[_Member], members: list[_Member], always: bool) -> None:
        """Make loads of one group one access, or a few."""
        first = group[0]
        if first.far:
            self._place_squares(group, members, always and self.gaps)
            return
        known = (first.array, first.key)
        self.least_loaded[known] = min(first.constant, self.least_loaded.get(known, first.constant))
        complete = first.mask != NONE or len({m.constant for m in group}) == first.apart
        if complete or (always and self.gaps):
            self.spare = self.spare or not complete
            self._place_loads(group, members)

    def _group_stores(self, group: list[_Member], members: list[_Member]) -> bool:
        """Make stores of one group one access, if that can be."""
        if group[0].far:
            return self._squares_stored(group, members)
        if not self._storable(group) or not self._movable(group, members):
            return False
        times = self._together(group)
        for m in group:
            self.groups[m.position] = None
            m.together = times
        self.groups[max(m.position for m in group)] = group
        return True

    def _place_loads(self, group: list[_Member], members: list[_Member]) -> None:
        """Loads are made where the first of them is, so that they share what they read, as far as no store between meets them."""
        found = self._unmet(group, members)
        for together in found:
            self.groups.update(dict.fromkeys([m.position for m in together[1:]]))
            self.groups[together[0].position] = together
        base = min(m.constant for m in group)
        times = self._together(group)
        for m in group:
            m.together = times
            self.bases[m.position] = base
            if len(found) == 1 and m.mask == NONE:
                self.loaded[m.instr.dst] = (found[0], m.constant - base)

    def _unmet(self, group: list[_Member], members: list[_Member]) -> list[list[_Member]]:
        """Loads of a group in order, in parts that no store meets between the first and the last of them."""
        known = {m.position: m for m in members}
        found: list[list[_Member]] = []
        for m in sorted(group, key=_position):
            if found and not self._meets(found[-1][0].position, m, known):
                found[-1].append(m)
            else:
                found.append([m])
        return found

    # --- elements of squares ------------------------------------------------------------------------------------

    def _place_squares(self, group: list[_Member], members: list[_Member], gaps: bool) -> None:
        """Loads of elements of rows any distance apart, as far as squares have several of them; with ``gaps`` others behind them may be read."""
        first, last = group[0], group[-1]
        count = side(first.instr.type)
        beyond = gaps and first.key[0][0] >= count and first.key[0][0] != FAR
        for together in self._unmet(group, members):
            wanted = sorted({m.constant for m in together})
            for start, inside in to_load(wanted, last.constant, count, beyond).items():
                taken = [m for m in together if m.constant in inside]
                self.spare = self.spare or start + count - 1 > last.constant
                self.groups.update(dict.fromkeys([m.position for m in taken[1:]]))
                self.groups[taken[0].position] = taken
                self.bases[taken[0].position] = start

    def _squares_stored(self, group: list[_Member], members: list[_Member]) -> bool:
        """Stores of elements of rows any distance apart, as far as they fill squares, are made where the last of them is."""
        constants = [m.constant for m in group]
        squares = to_store(sorted(constants), side(group[0].instr.type)) if len(set(constants)) == len(constants) else {}
        whole = {element for inside in squares.values() for element in inside}
        taken = [m for m in group if m.constant in whole]
        if any(m.mask != NONE for m in group) or not taken or not self._movable(taken, members):
            return False
        self.groups.update(dict.fromkeys([m.position for m in taken]))
        self.groups[max(m.position for m in taken)] = taken
        return True

    def _squares(self, first: _Member, array: int) -> Squares:
        """What accesses squares, by the index of the first of its accesses."""
        made, instr = self.made, first.instr
        made.line = instr.line
        indices = instr.args[len(instr.op.operands) - 1 :]
        number = first.constant
        if indices[-1] < 0:
            # (The same address serves all of a row.)
            indices, number = [*indices[:-1], made.f.const(I64, 0)], 0
        return Squares(made, instr.type, array, instr.args[len(instr.op.operands) - 2], made.pointer(array, indices), number, self.has)

    def _load_square(self, group: list[_Member]) -> None:
        """What has been loaded by one square."""
        first = group[0]
        start = self.bases[first.position]
        columns = self._squares(first, first.array).load(start)
        given = self.made.f.types[columns[0]]
        for member in group:
            instr = member.instr
            same = instr.type is given
            column = columns[member.constant - start]
            self.made.out.append(Instr(ops.COPY if same else ops.BITCAST, instr.type, instr.dst, [column], 0, instr.line, VOID if same else given))

    def _store_squares(self, group: list[_Member]) -> None:
        """All squares of stores."""
        first = min(group, key=_position)
        values = {m.constant: m.instr.args[1] for m in group}
        squares = self._squares(first, first.array)
        for start, inside in to_store(sorted(values), side(first.instr.type)).items():
            squares.store(start, [values[one] for one in inside])

    def _storable(self, group: list[_Member]) -> bool:
        """Whether the stores of a group are to one element each, and to all or to some that can be stored alone, in all lanes or in some."""
        first = group[0]
        if len(group) > len({m.constant for m in group}):
            return False
        type_, apart = first.instr.type, first.apart
        masked = any(m.mask != NONE for m in group)
        return (not masked and (len(group) == apart or stores_some(type_, apart, self.target))) or able_under_masks(type_, apart, self.target, self.has, True)

    def _meets(self, since: int, load: _Member, known: dict[int, _Member]) -> bool:
        """Whether a store between a place and a load may change what that gives."""
        for position in range(since, load.position):
            instr = self.body[position]
            if instr.op.effect != ops.WRITES:
                continue
            other = known.get(position)
            if self._apart(instr, load):
                continue
            if other is not None and other.key == load.key:
                if (other.constant - load.constant) % load.apart == 0:
                    return True
            elif (instr.imm if instr.mem is None else instr.mem.array) in (load.array, NONE):
                return True
        return False

    def _apart(self, instr: Instr, member: _Member) -> bool:
        """Whether an access, of any kind, is known to be to other memory than one of these."""
        array = instr.imm if instr.mem is None else instr.mem.array
        return array != NONE and array != member.array and self.made.f.never_meet(array, member.array)

    def _movable(self, group: list[_Member], members: list[_Member]) -> bool:
        """Whether stores may be made where the last of them is: what accesses memory between does not meet them."""
        known = {m.position: m for m in members}
        own = {m.position for m in group}
        first = group[0]
        for position in range(min(own) + 1, max(own)):
            instr = self.body[position]
            effect = instr.op.effect
            if position in own or (effect != ops.READS and effect != ops.WRITES):
                continue
            other = known.get(position)
            if self._apart(instr, first):
                continue
            if other is not None and other.key == first.key:
                # Elements of one array, or of another that is the same one.
                if any(m.position < position and (m.constant - other.constant) % first.apart == 0 for m in group):
                    return False
            elif (instr.imm if instr.mem is None else instr.mem.array) in (first.array, NONE):
                return False
        return True

    def _where(self, first: _Member, base: int) -> tuple[list[int], Mem]:
        """The address of a group whose least constant is ``base``, by the index of its first access."""
        made, instr = self.made, first.instr
        indices = instr.args[len(instr.op.operands) - 1 :]
        size = instr.type.element.size
        rows = made.pointer(instr.imm, [*indices[:-1], made.f.const(I64, 0)])
        if indices[-1] < 0:
            return [rows], Mem(False, 1, base * size, first.apart * instr.type.size, False, -1, instr.imm)
        return [rows, indices[-1]], Mem(True, size, (base - first.constant) * size, first.apart * instr.type.size, False, -1, instr.imm)

    # --- elements together as wider integers ------------------------------------------------------------------

    def _together(self, group: list[_Member]) -> int:
        """How many elements of a group are accessed as one integer: as many as the loop computes with in integers so wide, most of them."""
        first = group[0]
        type_ = first.instr.type
        if any(m.mask != NONE for m in group):
            return 1
        if first.apart in IN_PAIRS and not self.target.interleaves(type_, first.apart):
            return 2
        if not type_.is_integer or not self.target.shifts_elements(type_):
            return 1
        for times in (4, 2):
            bits = times * type_.bits
            if bits > 64 or bits * type_.lanes > self.target.vector_bits:
                continue
            wide = _unsigned(type_, times)
            if first.apart == 3:
                if not able(type_, times, first.store, self.has):
                    continue
            elif first.apart % times or (first.apart > times and not self.target.interleaves(wide, first.apart // times)):
                continue
            if not all(self.has(op, wide, VOID) for op in (ops.AND, ops.OR, ops.SHL, ops.SHR)) or not self.has(ops.CONVERT, _unsigned(type_, 1), wide):
                continue
            wider = {m.constant for m in group if (self._cut(m.instr.args[1], bits) if first.store else self._widens(m.instr.dst, bits))}
            # (What is only moved is converted once more.)
            if len({m.constant for m in group}) - len(wider) <= len(wider) // 2:
                return times
        return 1

    def _widens(self, loaded: int, bits: int) -> bool:
        """Whether something is computed with what has been loaded in so many bits or more."""
        return any(instr.type.bits >= bits for instr in self.conversions.get(loaded, ()))

    def _cut(self, value: int, bits: int) -> bool:
        """Whether what is stored comes of an integer of so many bits or more, or has been loaded with such."""
        made = self.makers.get(value)
        if made is None:
            return False
        if made.op is ops.CONVERT and made.type.is_integer:
            return made.source.is_integer and made.source.bits >= bits
        return made.op is ops.MASKED_LOAD_STRIDED and self._widens(value, bits)

    def _load(self, group: list[_Member]) -> None:
        """What has been loaded by a group, or by those of it that are loaded together."""
        first = group[0]
        made = self.made
        if first.far:
            self._load_square(group)
            return
        base = self.bases[first.position]
        where, mem = self._where(first, base)
        times = first.together
        type_ = first.instr.type
        if first.mask != NONE:
            made.line = first.instr.line
            masked = self._masked(group, where, mem, base)
            masked.load()
            for member in group:
                made.line = member.instr.line
                masked.part(member.constant - base, member.instr.dst)
            return
        wide = _unsigned(type_, times)
        if first.apart == 3 and times > 1:
            self._load_threes(group, where, mem)
            return
        parts: dict[int, int] = {}
        for member in group:
            made.line = line = member.instr.line
            part = member.constant - base
            if times == 1:
                made.out.append(Instr(ops.LOAD_PART[first.apart], type_, member.instr.dst, where, part, line, VOID, mem))
                continue
            number = part // times
            if number not in parts:
                parts[number] = made.f.register(wide, "")
                if first.apart == times:
                    made.out.append(Instr(ops.LOAD_AT, wide, parts[number], where, 0, line, VOID, mem))
                else:
                    made.out.append(Instr(ops.LOAD_PART[first.apart // times], wide, parts[number], where, number, line, VOID, mem))
            self._take(member.instr, parts[number], times, part % times)

    def _masked(self, group: list[_Member], where: list[int], mem: Mem, base: int) -> MaskedGroup:
        """The access of a group of which lanes, or elements, are left out."""
        first = group[0]
        masks: dict[int, int] = {}
        by_mask: dict[int, int] = {NONE: NONE}
        for m in group:
            masks[m.constant - base] = by_mask.setdefault(m.mask, m.instr.args[0])
        return MaskedGroup(self.made, first.instr.type, first.apart, masks, where, mem, self.target.vector_bits, first.store)

    def _load_threes(self, group: list[_Member], where: list[int], mem: Mem) -> None:
        """The same of groups of three, as wider integers."""
        first = group[0]
        made = self.made
        made.line = first.instr.line
        threes = Threes(made, first.instr.type, first.together, where, mem)
        threes.load()
        for member in group:
            instr = member.instr
            made.line = instr.line
            part = self.widened[instr.dst] = threes.part(member.constant - self.bases[first.position])
            made.out.append(Instr(ops.CONVERT, instr.type, instr.dst, [part], 0, instr.line, made.f.types[part]))
            self.tentative.add(instr.dst)

    def _take(self, instr: Instr, whole: int, times: int, number: int) -> None:
        """An element of several that are one integer: as what has been loaded, and, where it is an integer, as one so wide."""
        made = self.made
        f = made.f
        type_ = instr.type
        bits = type_.bits
        narrow, wide = _unsigned(type_, 1), _unsigned(type_, times)
        shifted = whole if not number else made.define(ops.SHR, wide, [whole, f.const(wide, number * bits)], wide)
        self.within[instr.dst] = whole, number
        if type_.is_integer:
            extended = self.widened[instr.dst] = self._extended(type_, whole, shifted, times, number)
            self.tentative.update((shifted, extended))
        element = instr.dst if narrow is type_ else f.register(narrow, "")
        self.tentative.update((element, instr.dst))
        made.out.append(Instr(ops.CONVERT, narrow, element, [shifted], 0, instr.line, wide))
        if element != instr.dst:
            made.out.append(Instr(ops.BITCAST, type_, instr.dst, [element], 0, instr.line, narrow))

    def _extended(self, type_: Type, whole: int, shifted: int, times: int, number: int) -> int:
        """An element of several that are one integer, extended as its sign says."""
        made = self.made
        f = made.f
        bits = type_.bits
        wide = _unsigned(type_, times)
        if type_.element.signed:
            signed = _signed(wide)
            top = made.define(ops.BITCAST, signed, [whole], signed, wide)
            self.tentative.add(top)
            if number < times - 1:
                top = made.define(ops.SHL, signed, [top, f.const(signed, (times - 1 - number) * bits)], signed)
                self.tentative.add(top)
            return made.define(ops.SHR, signed, [top, f.const(signed, (times - 1) * bits)], signed)
        if number < times - 1:
            shifted = made.define(ops.AND, wide, [shifted, f.const(wide, (1 << bits) - 1)], wide)
        return shifted

    def _from_widened(self, instr: Instr) -> Instr:
        """A conversion of what has been loaded, made of that as a wider integer."""
        found = self.widened.get(instr.args[0])
        if found is None:
            return instr
        f = self.made.f
        given = f.types[found]
        type_ = instr.type
        if type_.is_integer and type_.bits == given.bits:
            return Instr(ops.COPY if type_ is given else ops.BITCAST, type_, instr.dst, [found], 0, instr.line, VOID if type_ is given else given)
        if type_.is_float and not given.element.signed:
            # It is no more than the elements are.
            signed = _signed(given)
            if not self.has(ops.CONVERT, type_, signed):
                return instr
            found, given = self.made.define(ops.BITCAST, signed, [found], signed, given), signed
        elif type_.bits < given.bits or not self.has(ops.CONVERT, type_, given):
            return instr
        return Instr(ops.CONVERT, type_, instr.dst, [found], 0, instr.line, given)

    def _store(self, instr: Instr, group: list[_Member]) -> None:
        """All parts; zeros in the place of those that are to stay as they are in memory."""
        parts = sorted(group, key=lambda m: m.constant)
        first = parts[0]
        if first.far:
            self._store_squares(group)
            return
        if any(m.mask != NONE for m in parts) or not (len(parts) == first.apart or stores_some(instr.type, first.apart, self.target)):
            where, mem = self._where(min(group, key=_position), first.constant)
            self._masked(parts, where, mem, first.constant).store({m.constant - first.constant: m.instr.args[1] for m in parts})
            return
        some = self._some(parts)
        if not some and self._reordered(parts):
            return
        base = parts[0].constant
        if some:
            front = max(0, in_front(base, parts[-1].constant, self.least_loaded.get((parts[0].array, parts[0].key), base), parts[0].apart))
            base -= front
            some <<= front * instr.type.element.size
        where, mem = self._where(min(group, key=_position), base)
        apart, type_, times = parts[0].apart, instr.type, parts[0].together
        given = {m.constant - base: m.instr.args[1] for m in parts}
        nothing = self.made.f.const(type_, 0)
        values = [given.get(n, nothing) for n in range(apart)]
        if apart == 3 and times > 1:
            third, _ = self._as_wide(values[2], type_, _unsigned(type_, times))
            Threes(self.made, type_, times, where, mem).store(self._joined(values[:2], type_, times), third)
            return
        if times > 1:
            values = [self._joined(values[at : at + times], type_, times) for at in range(0, apart, times)]
            apart, type_ = apart // times, _unsigned(type_, times)
        if some:
            self.made.out.append(Instr(ops.STORE_SOME[apart], type_, NONE, [*values, *where], some, instr.line, VOID, mem))
            return
        if apart == 1:
            self.made.out.append(Instr(ops.STORE_AT, type_, NONE, [values[0], *where], 0, instr.line, VOID, mem))
            return
        self.made.out.append(Instr(ops.STORE_PARTS[apart], type_, NONE, [*values, *where], 0, instr.line, VOID, mem))

    def _some(self, parts: list[_Member]) -> int:
        """Which of 16 bytes are stored, as bits; 0 where all are."""
        first = parts[0]
        if len(parts) == first.apart:
            return 0
        size = first.instr.type.element.size
        bits = sum((1 << size) - 1 << (m.constant - first.constant) * size for m in parts)
        return sum(bits << at for at in range(0, BLOCK, first.apart * size))

    def _joined(self, values: list[int], type_: Type, times: int) -> int:
        """Elements as one integer, the first in its lowest bits."""
        made = self.made
        f = made.f
        wide = _unsigned(type_, times)
        total = NONE
        element = (1 << type_.bits) - 1
        for number, value in enumerate(values):
            whole, place = self.within.get(value, (NONE, NONE))
            if place == number and f.types[whole] is wide:
                # It stays where it is.
                one = made.define(ops.AND, wide, [whole, f.const(wide, element << number * type_.bits)], wide)
            else:
                one, clean = self._as_wide(value, type_, wide)
                if not clean and number < times - 1:
                    one = made.define(ops.AND, wide, [one, f.const(wide, element)], wide)
                if number:
                    one = made.define(ops.SHL, wide, [one, f.const(wide, number * type_.bits)], wide)
            total = one if total == NONE else made.define(ops.OR, wide, [total, one], wide)
        return total

    def _as_wide(self, value: int, type_: Type, wide: Type) -> tuple[int, bool]:
        """What is to be stored in lanes that are wider, and whether there is nothing above it."""
        made = self.made
        f = made.f
        loaded = self.widened.get(value)
        if loaded is not None and f.types[loaded].bits == wide.bits:
            given = f.types[loaded]
            return (loaded if given is wide else made.define(ops.BITCAST, wide, [loaded], wide, given)), not type_.element.signed
        cut = self.makers.get(value)
        if cut is not None and cut.op is ops.CONVERT and type_.is_integer and cut.args[0] >= 0 and not f.variable[cut.args[0]]:
            self.tentative.add(value)
            given = cut.source
            if given is wide:
                return cut.args[0], False
            if given.is_integer and given.bits == wide.bits:
                return made.define(ops.BITCAST, wide, [cut.args[0]], wide, given), False
        narrow = _unsigned(type_, 1)
        if narrow is not type_:
            value = made.define(ops.BITCAST, narrow, [value], narrow, type_)
        return made.define(ops.CONVERT, wide, [value], wide, narrow), True

    def _reordered(self, parts: list[_Member]) -> bool:
        """Store what has been loaded as one group, in another order, by vectors as they lie in memory; False where something else is stored."""
        first = parts[0]
        found = [self.loaded.get(m.instr.args[1]) for m in parts]
        source = found[0][0] if found[0] is not None else []
        order = [one[1] for one in found if one is not None and one[0] is source]
        type_ = first.instr.type
        size = type_.element.size
        whole = vector_of(U8, type_.size)
        if len(order) < len(parts) or source[0].apart != first.apart or BLOCK % (first.apart * size) or type_.size < BLOCK:
            return False
        if not self.has(ops.SHUFFLE_BYTES, whole, whole) or not self._kept(source, max(m.position for m in parts), parts):
            return False
        f = self.made.f
        bytes_ = [(k // size // first.apart * first.apart + order[k // size % first.apart]) * size + k % size for k in range(BLOCK)]
        low, high = [f.const(I64, int.from_bytes(bytes(half), "little")) for half in (bytes_[: BLOCK // 2], bytes_[BLOCK // 2 :])]
        loaded, stored = min(source, key=_position), min(parts, key=_position)
        line = first.instr.line
        for n in range(first.apart):
            value, made = f.register(whole, ""), f.register(whole, "")
            where, mem = self._vector(loaded, self.bases[source[0].position], n)
            self.made.out.append(Instr(ops.LOAD_AT, whole, value, where, 0, line, VOID, mem))
            self.made.out.append(Instr(ops.SHUFFLE_BYTES, whole, made, [value, low, high], 0, line, whole))
            where, mem = self._vector(stored, first.constant, n)
            self.made.out.append(Instr(ops.STORE_AT, whole, NONE, [made, *where], 0, line, VOID, mem))
        return True

    def _kept(self, source: list[_Member], place: int, parts: list[_Member]) -> bool:
        """Whether what has been loaded is still the same at a place, but for what is to be stored there."""
        own = {m.position for m in parts}
        for position in range(min(m.position for m in source), place):
            instr = self.body[position]
            if instr.op.effect == ops.WRITES and position not in own and not self._apart(instr, source[0]):
                return False
        return source[0].array != parts[0].array or (source[0].key == parts[0].key and self.bases[source[0].position] == parts[0].constant)

    def _vector(self, first: _Member, base: int, number: int) -> tuple[list[int], Mem]:
        """The address of a vector of a group, as it lies in memory."""
        where, mem = self._where(first, base)
        size = first.instr.type.size
        return where, mem.further(number * size, size)


def _position(member: _Member) -> int:
    return member.position
