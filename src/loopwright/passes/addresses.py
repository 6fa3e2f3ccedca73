"""The ``addresses`` pass: array accesses become addresses.

Addresses that are written as such stay, but for what the machine's addresses cannot hold, which is computed.

The address of ``a[i + 1, j + 2]`` is ``base + i*stride + 1*stride`` (a row pointer, code of its own, which the simplify
pass shares between accesses and moves out of the loops it does not change in) and ``j*size + 2*size`` (inside the
access, where the machine's addresses have room for it).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr, Mem
from loopwright.ir.roles import address_at
from loopwright.targets.target import Target
from loopwright.types import I64, PTR, Type

_NOT_ACCESS: Final = -1
#: Per operation on arrays: how many operands stand before the indices.
_LEADING: Final[list[int]] = [_NOT_ACCESS] * len(ops.OPS)
_AT: Final[dict[int, ops.Op]] = {}
for _op, _at, _count in (
    (ops.LOAD, ops.LOAD_AT, 0),
    (ops.STORE, ops.STORE_AT, 1),
    (ops.MASKED_LOAD, ops.MASKED_LOAD_AT, 1),
    (ops.MASKED_STORE, ops.MASKED_STORE_AT, 2),
):
    _LEADING[_op.code] = _count
    _AT[_op.code] = _at

_ADD: Final = ops.ADD.code
_SUB: Final = ops.SUB.code
_COPY: Final = ops.COPY.code
_LOOPS: Final = frozenset((ops.FOR.code, ops.LOOP.code, ops.WHILE.code))
_WRAP: Final = (1 << 64) - 1


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
    """The walk's state. An index register is ``root + offset`` with a constant offset."""

    __slots__ = ("f", "known", "line", "out", "scopes", "target")

    def __init__(self, f: Function, target: Target) -> None:
        self.f = f
        self.target = target
        self.out: list[Instr] = []
        #: Registers made so far that are still in scope, by what they hold.
        self.known: dict[tuple[int, ...], int] = {}
        self.scopes: list[list[tuple[int, ...]]] = [[]]
        self.line = 0

    def rewrite(self) -> list[Instr]:
        f = self.f
        out = self.out
        variable = f.variable
        values = f.const_values
        count = len(f.types)
        root = list(range(count))
        offset = [0] * count
        # A variable may be a root as long as it has not changed since, which within one run of
        # a loop's body is a matter of position.
        made_at = [0] * count
        made_in = [0] * count
        written_at = [-1] * count
        loop = 0
        loops = 0
        enclosing: list[int] = []
        known = self.known
        scopes = self.scopes
        for position, instr in enumerate(f.code):
            op = instr.op
            c = op.code
            dst = instr.dst
            leading = _LEADING[c]
            if leading >= 0:
                array = f.arrays[instr.imm]
                args = instr.args
                self.line = instr.line
                pointer = array.base
                rank = len(array.shape)
                constants: list[int] = []
                index = -1
                last = 0
                for d in range(rank):
                    a = args[leading + d]
                    if a < 0:
                        r = -1
                        o = int(values[~a])
                    else:
                        r = root[a]
                        o = offset[a]
                        if r != a and variable[r] and (written_at[r] > made_at[a] or made_in[a] != loop):
                            r = a
                            o = 0
                    if d == rank - 1:
                        index = r
                        last = o
                        break
                    constants.append(o)
                    if r >= 0:
                        # A variable's value is told apart by where it was written last, and in which loop that is known.
                        key: tuple[int, ...] = (
                            (_ADD, pointer, r, array.strides[d], written_at[r], loop) if variable[r] else (_ADD, pointer, r, array.strides[d])
                        )
                        sum_ = known.get(key)
                        if sum_ is None:
                            product = self.emit(ops.MUL, f.register(I64), r, array.strides[d])
                            sum_ = self.emit(ops.ADD, f.register(PTR, array.name + ".row"), pointer, product)
                            known[key] = sum_
                            scopes[-1].append(key)
                        pointer = sum_
                for d in range(rank - 1):
                    if constants[d]:
                        pointer = self.offset_rows(pointer, array.strides[d], constants[d], array.name)
                size = array.element.size
                displacement = last * size & _WRAP
                if displacement >> 63:
                    displacement -= 1 << 64
                scaled, near = self.target.address(size, displacement)
                if not near:
                    pointer = self.shared(ops.ADD, PTR, pointer, f.const(I64, displacement), "")
                    displacement = 0
                indexed = index >= 0
                if indexed and not scaled:
                    pointer = self.computed(pointer, index, size, written_at[index] if variable[index] else -2, loop)
                    indexed = False
                instr.op = _AT[c]
                instr.imm = 0
                instr.args = [*args[:leading], pointer, index] if indexed else [*args[:leading], pointer]
                instr.mem = Mem(indexed, size if indexed else 1, displacement, instr.type.size)
            elif c in (_ADD, _SUB):
                if instr.type is I64 and not variable[dst]:
                    a, b = instr.args
                    if a < 0 and c == _ADD:
                        a, b = b, a
                    if b < 0 <= a:
                        k = int(values[~b])
                        r = root[a]
                        if variable[r] and r != a and (written_at[r] > made_at[a] or made_in[a] != loop):
                            r = a
                            base = 0
                        else:
                            base = offset[a]
                        root[dst] = r
                        offset[dst] = base + k if c == _ADD else base - k
                        made_at[dst] = position
                        made_in[dst] = loop
            elif c == _COPY and instr.type is I64 and not variable[dst] and instr.args[0] >= 0:
                a = instr.args[0]
                r = root[a]
                if not (variable[r] and r != a and (written_at[r] > made_at[a] or made_in[a] != loop)):
                    root[dst] = r
                    offset[dst] = offset[a]
                    made_at[dst] = position
                    made_in[dst] = loop
            elif instr.mem is not None:
                self.fit(instr)
            if op.closes:
                for key in scopes.pop():
                    known.pop(key, None)
                if op.opens:
                    scopes.append([])
                else:
                    loop = enclosing.pop()
            elif op.opens:
                scopes.append([])
                enclosing.append(loop)
                if c in _LOOPS:
                    loops += 1
                    loop = loops
            if dst >= 0 and variable[dst]:
                written_at[dst] = position
            out.append(instr)
        return out

    def emit(self, op: ops.Op, dst: int, a: int, b: int) -> int:
        self.out.append(Instr(op, self.f.types[dst], dst, [a, b], 0, self.line))
        return dst

    def fit(self, instr: Instr) -> None:
        """Compute of an address what the machine's have no room for."""
        mem = instr.mem
        assert mem is not None
        scaled, near = self.target.address(mem.scale, mem.disp)
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
        instr.mem = Mem(mem.indexed and scaled, mem.scale if scaled else 1, disp, mem.size, mem.broadcast, mem.role)

    def multiple(self, index: int, size: int) -> int:
        """``index * size`` by an instruction."""
        if size == 1:
            return index
        if size & (size - 1):
            return self.emit(ops.MUL, self.f.register(I64), index, self.f.const(I64, size))
        return self.emit(ops.SHL, self.f.register(I64), index, self.f.const(I64, size.bit_length() - 1))

    def shared(self, op: ops.Op, type_: Type, a: int, b: int, name: str) -> int:
        """The register that holds ``op a, b``, made if there is none in scope."""
        key = (op.code, a, b)
        made = self.known.get(key)
        if made is None:
            made = self.emit(op, self.f.register(type_, name), a, b)
            self.known[key] = made
            self.scopes[-1].append(key)
        return made

    def offset_rows(self, pointer: int, stride: int, rows: int, name: str) -> int:
        """``pointer`` moved by a constant number of rows; the distance depends on the stride alone, so that it is made once."""
        if rows == 1 or rows == -1:
            return self.shared(ops.ADD if rows > 0 else ops.SUB, PTR, pointer, stride, name + ".row")
        distance = self.shared(ops.MUL, I64, stride, self.f.const(I64, rows), "")
        return self.shared(ops.ADD, PTR, pointer, distance, name + ".row")

    def computed(self, pointer: int, index: int, size: int, version: int, loop: int) -> int:
        """``pointer + index * size`` by instructions, for machines whose addresses hold no index."""
        key = (_ADD, pointer, index, size, version, loop, 0) if version != -2 else (_ADD, pointer, index, size, version)
        made = self.known.get(key)
        if made is None:
            made = self.emit(ops.ADD, self.f.register(PTR), pointer, self.multiple(index, size))
            self.known[key] = made
            self.scopes[-1].append(key)
        return made
