"""What globals begin with: constants of LLVM IR as bytes and addresses."""

from __future__ import annotations

import struct

from loopwright.errors import UnsupportedOperationError
from loopwright.frontend.llvm import syntax
from loopwright.frontend.llvm.abi import Abi
from loopwright.frontend.llvm.syntax import Constant, LlvmModule
from loopwright.frontend.llvm.types import ARRAY, FLOAT, INTEGER, POINTER, STRUCT, VECTOR, Layout
from loopwright.ir.globals import Global, Reference

__all__ = ["initial"]

_FORMATS = {"float": "<f", "double": "<d", "half": "<e"}


def initial(each: syntax.Global, module: LlvmModule, layout: Layout, abi: Abi) -> Global:
    """A global as the IR has it, for a machine that asks for so much. Raises ``UnsupportedOperationError`` for constants that are no bytes and no addresses."""
    assert each.initial is not None
    made = _Initial(each, module, layout, abi)
    made.put(each.initial, 0)
    # (A global of no size has an address of its own all the same.)
    size = max(layout.size(each.type), 1)
    made.references.sort(key=lambda reference: reference.offset)
    return Global(each.name, size, max(each.align, layout.align(each.type)), bytes(made.data), each.constant, made.references)


class _Initial:
    """Fills in the bytes of one global."""

    def __init__(self, each: syntax.Global, module: LlvmModule, layout: Layout, abi: Abi) -> None:
        self.each = each
        self.abi = abi
        self.module = module
        self.layout = layout
        self.data = bytearray()
        self.references: list[Reference] = []

    def refuse(self, what: str) -> UnsupportedOperationError:
        return self.module.unsupported(f"the global {self.each.name}: {what} is not supported", self.each.line)

    def write(self, offset: int, data: bytes) -> None:
        if not data.strip(b"\0"):
            return
        end = offset + len(data)
        if end > len(self.data):
            self.data.extend(bytes(end - len(self.data)))
        self.data[offset:end] = data

    def put(self, value: Constant, offset: int) -> None:
        """Put a constant at an offset."""
        kind, type_ = value.kind, value.type
        if kind in (syntax.NULL, syntax.UNDEFINED):
            return
        if kind == syntax.BYTES:
            self.write(offset, value.data)
        elif kind == syntax.NUMBER and type_.kind == INTEGER:
            size = self.layout.stored(type_)
            self.write(offset, (int(value.number) & (1 << type_.bits) - 1).to_bytes(size, "little"))
        elif kind == syntax.NUMBER and type_.kind == FLOAT and type_.name in _FORMATS:
            self.write(offset, struct.pack(_FORMATS[type_.name], value.number))
        elif kind == syntax.AGGREGATE and type_.kind == STRUCT:
            for part, place in zip(value.parts, self.layout.offsets(type_), strict=True):
                self.put(part, offset + place)
        elif kind == syntax.AGGREGATE and type_.kind == ARRAY:
            size = self.layout.size(type_.elements[0])
            for number, part in enumerate(value.parts):
                self.put(part, offset + number * size)
        elif kind == syntax.AGGREGATE and type_.kind == VECTOR and type_.elements[0].bits % 8 == 0:
            size = self.layout.stored(type_.elements[0])
            for number, part in enumerate(value.parts):
                self.put(part, offset + number * size)
        elif kind == syntax.EXPRESSION and value.name == "trunc" and type_.kind == INTEGER and not (known := self.address(value.parts[0]))[0]:
            # (How far apart two blocks are.)
            self.write(offset, (known[1] & (1 << type_.bits) - 1).to_bytes(self.layout.stored(type_), "little"))
        elif self.layout.size(type_) == 8 and type_.kind in (POINTER, INTEGER):
            symbol, addend = self.address(value)
            if symbol:
                self.references.append(Reference(offset, symbol, addend))
            else:
                self.write(offset, (addend & (1 << 64) - 1).to_bytes(8, "little"))
        else:
            raise self.refuse(f"a constant of the type {type_!r}")

    def address(self, value: Constant) -> tuple[str, int]:
        """What a constant of eight bytes is the address of, and what is added; no name for a number."""
        if value.kind == syntax.GLOBAL:
            if value.name in self.module.aliases:
                return self.address(self.module.aliases[value.name])
            if value.name in self.module.missing:
                return "", 0
            function = self.module.functions.get(value.name)
            if function is not None and function.variadic and function.blocks and not function.hidden and not self.abi.lists:
                raise self.refuse("the address of a function of the module with a variable number of arguments")
            return value.name, 0
        if value.kind in (syntax.NULL, syntax.UNDEFINED):
            return "", 0
        if value.kind == syntax.NUMBER:
            return "", int(value.number)
        if value.kind == syntax.EXPRESSION:
            name, parts = value.name, value.parts
            if name in ("bitcast", "ptrtoint", "inttoptr", "addrspacecast"):
                return self.address(parts[0])
            if name == "getelementptr":
                symbol, addend = self.address(parts[0])
                return symbol, addend + self.distance(value)
            if name in ("add", "sub"):
                (first, a), (second, b) = self.address(parts[0]), self.address(parts[1])
                if not second:
                    return first, a + b if name == "add" else a - b
        raise self.refuse(f"the constant {value.name or 'here'}")

    def distance(self, value: Constant) -> int:
        """How many bytes a getelementptr of constants adds."""
        at = value.source
        assert at is not None
        total = 0
        for position, part in enumerate(value.parts[1:]):
            number = self.address(part)[1]
            if position and at.kind == STRUCT:
                total += self.layout.offsets(at)[number]
                at = at.elements[number]
                continue
            if position:
                at = at.elements[0]
            total += number * self.layout.size(at)
        return total
