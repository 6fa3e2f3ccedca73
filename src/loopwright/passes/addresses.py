"""The ``addresses`` pass: array accesses become addresses.

Addresses that are written as such stay, but for what the machine's addresses cannot hold, which is computed.

The address of ``a[i + 1, j + 2]`` is ``base + i*stride + 1*stride`` (a row pointer, code of its own, which the simplify
pass shares between accesses and moves out of the loops it does not change in) and ``j*size + 2*size`` (inside the
access, where the machine's addresses have room for it).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Offsets
from loopwright.ir.function import Array, Function, Instr, Mem
from loopwright.ir.roles import address_at
from loopwright.targets.target import Target
from loopwright.types import I64, PTR, Type

_NOT_ACCESS: Final = -1
#: Per operation on arrays: how many operands stand before the indices.
_LEADING: Final[list[int]] = [_NOT_ACCESS] * len(ops.OPS)
for _op, _count in ops.ACCESSES.items():
    _LEADING[_op.code] = _count

_ADD: Final = ops.ADD.code
_MUL: Final = ops.MUL.code
#: Of keys: pointer + index * size.
_SCALED: Final = -1
#: Of keys: pointer + rows * stride.
_MOVED: Final = -2
_WRAP: Final = (1 << 64) - 1


_NONE: Final[set[int]] = set()
#: Bytes of the least vector that is stored past the caches: XMM registers.
_LEAST_PAST: Final = 16


def _distances(f: Function) -> dict[tuple[int, ...], set[int]]:
    """The distances of accesses to an array from an index, by array, rows and index."""
    found: dict[tuple[int, ...], set[int]] = {}
    indices = Offsets(f)
    for instr in f.code:
        leading = _LEADING[instr.op.code]
        if leading >= 0 and instr.args[-1] >= 0:
            root = indices.root_of(instr.args[-1])
            key = (instr.imm, *instr.args[leading:-1], *indices.version(root))
            found.setdefault(key, set()).add(indices.offset_of(instr.args[-1], root))
        indices.follow(instr)
    return found


def run(f: Function, target: Target) -> None:
    """Replace every access to an array by one to an address."""
    if f.arrays:
        f.code = _Addresses(f, target).rewrite()
        return
    for instr in f.code:
        if instr.mem is not None:
            f.code = _Addresses(f, target).rewrite()
            return


class _Addresses:
    """The walk's state."""

    __slots__ = ("distances", "f", "indices", "known", "line", "out", "scopes", "target")

    def __init__(self, f: Function, target: Target) -> None:
        self.f = f
        self.target = target
        self.indices = Offsets(f)
        self.distances: dict[tuple[int, ...], set[int]] | None = None
        self.out: list[Instr] = []
        #: Registers made so far that are still in scope, by what they hold.
        self.known: dict[tuple[int, ...], int] = {}
        self.scopes: list[list[tuple[int, ...]]] = [[]]
        self.line = 0

    def rewrite(self) -> list[Instr]:
        out = self.out
        scopes = self.scopes
        indices = self.indices
        for instr in self.f.code:
            op = instr.op
            if _LEADING[op.code] >= 0:
                self.access(instr, _LEADING[op.code])
            elif instr.mem is not None:
                self.fit(instr)
            if op.closes:
                for key in scopes.pop():
                    self.known.pop(key, None)
                if op.opens:
                    scopes.append([])
            elif op.opens:
                scopes.append([])
            indices.follow(instr)
            out.append(instr)
        return out

    def access(self, instr: Instr, leading: int) -> None:
        """Make an access to an array, with ``leading`` operands before the indices, one to an address."""
        f = self.f
        array = f.arrays[instr.imm]
        args = instr.args
        self.line = instr.line
        last = len(args) - 1
        if self.by_row(instr, array, leading):
            return
        pointer = self.row(array, args, leading)
        size = array.element.size
        index, offset = self.split(args[last])
        displacement = offset * size
        if not -0x80000000 <= displacement <= 0x7FFFFFFF:
            displacement &= _WRAP
            if displacement >> 63:
                displacement -= 1 << 64
        addressing = self.target.addressing(instr.type)
        indexed = index >= 0
        apart = indexed and displacement != 0 and not addressing.both and size in addressing.scales and self.alone(instr.imm, args[leading:last], index)
        if apart or not addressing.displaces(displacement):
            pointer = self.shared((_ADD, pointer, f.const(I64, displacement)), ops.ADD, PTR, pointer, f.const(I64, displacement), "")
            displacement = 0
        if indexed and not (addressing.indexes(size, displacement) and (addressing.both or self.alone(instr.imm, args[leading:last], index))):
            pointer = self.computed(pointer, index, size)
            indexed = False
        # (What other pointers lead to as well is memory of no array, outside of the loop that it is a view of.)
        number = -1 if array.view else instr.imm
        past = array.nontemporal and instr.op is ops.STORE and instr.type.lanes and _LEAST_PAST <= instr.type.size <= array.aligned
        instr.op = ops.STORE_PAST_AT if past else ops.AT_ADDRESS[instr.op]
        instr.imm = 0
        instr.args = [*args[:leading], pointer, index] if indexed else [*args[:leading], pointer]
        instr.mem = Mem(indexed, size if indexed else 1, displacement, instr.type.size, False, -1, number)

    def by_row(self, instr: Instr, array: Array, leading: int) -> bool:
        """Where rows are so short that the machine's addresses scale by them, a row's number is the index of an access to a known place in it."""
        args = instr.args
        f = self.f
        if len(array.strides) != 1 or array.strides[0] >= 0 or args[-1] >= 0 or args[leading] < 0:
            return False
        stride = int(f.const_values[~array.strides[0]])
        index, row = self.split(args[leading])
        displacement = row * stride + int(f.const_values[~args[-1]]) * array.element.size
        addressing = self.target.addressing(instr.type)
        if index < 0 or stride not in addressing.scales or not addressing.displaces(displacement) or not addressing.indexes(stride, displacement):
            return False
        number = instr.imm
        instr.op = ops.AT_ADDRESS[instr.op]
        instr.imm = 0
        instr.args = [*args[:leading], array.base, index]
        instr.mem = Mem(True, stride, displacement, instr.type.size, False, -1, number)
        return True

    def alone(self, number: int, rows: list[int], index: int) -> bool:
        """On machines whose addresses hold an index or a displacement, but not both: whether all accesses to the array there are at the same distance
        from the index. Then the distance is added to the base, outside the loop, and the address holds the index; otherwise the
        accesses share one pointer, and their addresses hold the distances."""
        if self.distances is None:
            self.distances = _distances(self.f)
        return len(self.distances.get((number, *rows, *self.indices.version(index)), _NONE)) <= 1

    def split(self, operand: int) -> tuple[int, int]:
        """An index as a register, or -1, and a constant to add."""
        if operand < 0:
            return -1, int(self.f.const_values[~operand])
        root = self.indices.root_of(operand)
        return root, self.indices.offset_of(operand, root)

    def row(self, array: Array, args: list[int], leading: int) -> int:
        """The address of what the last index counts from."""
        pointer = array.base
        constants: list[int] = []
        for d in range(len(array.strides)):
            root, offset = self.split(args[leading + d])
            constants.append(offset)
            if root >= 0:
                stride = array.strides[d]
                key = (_ADD, pointer, stride, *self.indices.version(root))
                made = self.known.get(key)
                if made is None:
                    product = self.emit(ops.MUL, self.f.register(I64), root, stride)
                    made = self.emit(ops.ADD, self.f.register(PTR, array.name + ".row"), pointer, product)
                    self.enter(key, made)
                pointer = made
        for d in range(len(constants)):
            if constants[d]:
                pointer = self.offset_rows(pointer, array.strides[d], constants[d], array.name)
        return pointer

    def emit(self, op: ops.Op, dst: int, a: int, b: int) -> int:
        self.out.append(Instr(op, self.f.types[dst], dst, [a, b], 0, self.line))
        return dst

    def fit(self, instr: Instr) -> None:
        """Compute of an address what the machine's have no room for."""
        mem = instr.mem
        assert mem is not None
        addressing = self.target.addressing(instr.type)
        near = addressing.displaces(mem.disp)
        scaled = addressing.indexes(mem.scale, mem.disp)
        if near and (scaled or not mem.indexed):
            return
        f = self.f
        at = address_at(instr)
        self.line = instr.line
        base = instr.args[at]
        rest = instr.args[at + 1 :]
        disp = mem.disp
        if not near:
            base = self.emit(ops.ADD, f.register(PTR), base, f.const(I64, disp))
            disp = 0
        if mem.indexed and not scaled:
            base = self.emit(ops.ADD, f.register(PTR), base, self.multiple(rest.pop(0), mem.scale))
        instr.args = [*instr.args[:at], base, *rest]
        instr.mem = Mem(mem.indexed and scaled, mem.scale if scaled else 1, disp, mem.size, mem.broadcast, mem.role, mem.array)

    def multiple(self, index: int, size: int) -> int:
        """``index * size`` by an instruction."""
        if size == 1:
            return index
        if size & (size - 1):
            return self.emit(ops.MUL, self.f.register(I64), index, self.f.const(I64, size))
        return self.emit(ops.SHL, self.f.register(I64), index, self.f.const(I64, size.bit_length() - 1))

    def enter(self, key: tuple[int, ...], made: int) -> None:
        """Note what a register holds, as long as the bracket that it is made in is open."""
        self.known[key] = made
        self.scopes[-1].append(key)

    def shared(self, key: tuple[int, ...], op: ops.Op, type_: Type, a: int, b: int, name: str) -> int:
        """The register that holds ``op a, b``, made if there is none in scope."""
        made = self.known.get(key)
        if made is None:
            made = self.emit(op, self.f.register(type_, name), a, b)
            self.enter(key, made)
        return made

    def offset_rows(self, pointer: int, stride: int, rows: int, name: str) -> int:
        """``pointer`` moved by a constant number of rows: by one from the row before, where that is known, else by a distance that depends on the stride alone."""
        key = (_MOVED, pointer, stride, rows)
        made = self.known.get(key)
        if made is not None:
            return made
        closer = rows - 1 if rows > 0 else rows + 1
        before = self.known.get((_MOVED, pointer, stride, closer)) if closer else pointer
        if before is not None:
            made = self.emit(ops.ADD if rows > 0 else ops.SUB, self.f.register(PTR, name + ".row"), before, stride)
        else:
            count = self.f.const(I64, rows)
            distance = self.shared((_MUL, stride, count), ops.MUL, I64, stride, count, "")
            made = self.emit(ops.ADD, self.f.register(PTR, name + ".row"), pointer, distance)
        self.enter(key, made)
        return made

    def computed(self, pointer: int, index: int, size: int) -> int:
        """``pointer + index * size`` by instructions, for machines whose addresses hold no index."""
        key = (_SCALED, pointer, size, *self.indices.version(index))
        made = self.known.get(key)
        if made is None:
            made = self.emit(ops.ADD, self.f.register(PTR), pointer, self.multiple(index, size))
            self.enter(key, made)
        return made
