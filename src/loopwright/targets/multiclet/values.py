"""The pass ``values``: instructions to commands in SSA form, whose operands name the commands that make them.

A variable is a value for each of its writes; where paths meet on which it differs there is a phi. (Phis are made for every variable that is live at a meeting of
paths, and those that join one value with itself are taken away again: Cytron et al. 1991 place fewer at first, with the same result on reducible graphs.)
"""

from __future__ import annotations

import struct
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.ops import Op
from loopwright.ir.roles import address_at
from loopwright.targets.multiclet.convention import DYNAMIC_STACK, offsets_of
from loopwright.targets.multiclet.dataflow import Dataflow
from loopwright.targets.multiclet.flow import (
    CONSTANT,
    INCOMING,
    LOCAL,
    OUTGOING,
    REGISTER,
    SYMBOL,
    TARGET,
    VALUE,
    Arg,
    Flow,
    Node,
    Paragraph,
    substituted_to_end,
)
from loopwright.targets.multiclet.memory_order import Access, Accesses
from loopwright.targets.multiclet.selection import command_of, compare_of, suffix_of
from loopwright.targets.multiclet.substitutes import Maker
from loopwright.types import BOOL, PTR, VOID, Type

__all__ = ["Values", "bits_of", "forward_phis", "held_constant", "run", "symbol_of"]


def bits_of(type_: Type, value: int | float | bool) -> int:
    """A constant as the number of 64 bits, signed, that lies in the switch."""
    if type_.is_float:
        if type_.bits == 32:
            return int(struct.unpack("<i", struct.pack("<f", value))[0])
        return int(struct.unpack("<q", struct.pack("<d", value))[0])
    number = int(value)
    return number - (1 << type_.bits) if type_ is not BOOL and number >> type_.bits - 1 == 1 else number


def held_constant(high: int, low: int) -> int:
    """What ``patch_q`` makes of two halves."""
    made = (high << 32 | low & 0xFFFFFFFF) & (1 << 64) - 1
    return made - (1 << 64) if made >> 63 else made


#: Memory of the stack whose size is not known before is at multiples of so many bytes.
_DYNAMIC_ALIGN: Final = 16
_SYMBOLS: Final = (ops.GLOBAL, ops.FUNCTION, ops.TABLE)


def symbol_of(f: Function, op: Op, number: int) -> str:
    """The label of a global, of a function, or of a constant array of the function's."""
    if op is ops.TABLE:
        return f"{f.name}.table{number}"
    name: str = f.globals[number].name if op is ops.GLOBAL else f.callees[number].name
    return name


class Values(Maker):
    """The walk over the paragraphs."""

    def __init__(self, f: Function, target: Dataflow) -> None:
        super().__init__()
        self.f = f
        self.flow: Flow = f.analysis
        self.processor = target.processor
        self.serving = target.serving
        self.substitutes = target.substitutes
        # Of registers that are written once; of variables, at the end of each paragraph.
        self.values: dict[int, Arg] = {}
        self.ends: list[dict[int, Arg]] = [{} for _ in self.flow.made]
        self.now: dict[int, Arg] = {}
        # Where memory of the stack is taken: a variable of its own (``DYNAMIC_STACK``).
        takes = any(instr.op is ops.ALLOCA for instr in f.code)
        self.top = f.register(PTR, "", True) if takes else NONE
        self.top_before: Arg | None = None
        self.live = _live_variables(f, self.flow, self.top)
        self.waiting: list[tuple[Paragraph, int, Node]] = []
        self.paragraph = self.flow.made[0]
        self.accesses = Accesses(f)
        self.line = 0
        self.parameters = dict(zip(f.params, offsets_of([f.types[p] for p in f.params]), strict=True))

    def run(self) -> None:
        for paragraph in list(self.flow.made):
            self.enter(paragraph)
            for instr in paragraph.code:
                self.line = instr.line
                self.step(instr)
            # (It may have been cut.)
            last = self.paragraph
            if last.following >= 0 and last.tested == NONE and not last.calls:
                self.jump(last.following)
            self.ends[last.number] = self.now
        for paragraph, variable, phi in self.waiting:
            phi.args = [self.end_of(before, variable) for before in paragraph.before]
        forward_phis(self.flow)
        _in_order(self.flow)

    def end_of(self, number: int, variable: int) -> Arg:
        """What a variable is at the end of a paragraph; where it has not been written, anything."""
        return self.ends[number].get(variable, Arg(CONSTANT))

    def enter(self, paragraph: Paragraph) -> None:
        """What variables are when a paragraph begins."""
        self.paragraph = paragraph
        self.now = {}
        self.accesses.begin()
        if paragraph.number == 0:
            for p, offset in self.parameters.items():
                type_ = self.f.types[p]
                name = "loadu" if not type_.is_float and not type_.signed and type_.bits < 64 or type_ is PTR else "load"
                made = self.node(name, "l" if type_ is PTR else suffix_of(type_), [Arg(INCOMING, number=offset, memory=True)])
                made.memory = Access(False, -2, None, offset, 0)
                self.note_bits(made, type_)
                self.write(p, Arg(VALUE, made))
            if self.top != NONE:
                self.top_before = self.value("load", "q", [Arg(REGISTER, name=DYNAMIC_STACK)])
                self.write(self.top, self.top_before)
            return
        self.entered(paragraph)
        call = paragraph.returned
        if call is not None and call.dst != NONE:
            # (What the type has above its bits is the callee's.)
            self.write(call.dst, Arg(VALUE, self.node("load", "q", [Arg(REGISTER, name="RETV")])))

    def entered(self, paragraph: Paragraph) -> None:
        """The variables that are live there: values of the paragraph before, or phis."""
        for variable in self.live[paragraph.number]:
            if len(paragraph.before) == 1:
                self.now[variable] = self.end_of(paragraph.before[0], variable)
            else:
                phi = self.flow.node("phi", "q", [], paragraph.number, 0)
                paragraph.phis.append(phi)
                self.waiting.append((paragraph, variable, phi))
                self.now[variable] = Arg(VALUE, phi)

    # --- operands ----------------------------------------------------------------------------------------------

    def node(self, name: str, suffix: str, args: list[Arg]) -> Node:
        """A command at the end of the paragraph."""
        made = self.flow.node(name, suffix, args, self.paragraph.number, self.line)
        self.paragraph.nodes.append(made)
        return made

    def value(self, name: str, suffix: str, args: list[Arg]) -> Arg:
        """What such a command makes, or those that stand for it."""
        if self.substitutes:
            substitute = self.substitutes.get(f"{name}_{suffix}")
            if substitute is not None:
                return substitute(self, suffix, args)
        made = self.node(name, suffix, args)
        made.signed = {"b": 8, "s": 16, "l": 32, "f": 32}.get(suffix, 64)
        return Arg(VALUE, made)

    def read(self, operand: int) -> Arg:
        """What an operand of the IR is."""
        if operand < 0:
            return Arg(CONSTANT, number=bits_of(self.f.const_types[~operand], self.f.const_values[~operand]))
        if self.f.variable[operand]:
            return self.now.get(operand, Arg(CONSTANT))
        return self.values.get(operand, Arg(CONSTANT))

    def as_wide(self, operand: int, type_: Type) -> Arg:
        """What an operand of an operation on a type is. Behind ``select`` a narrower integer may stand there, as it is in registers that hold it extended."""
        a = self.read(operand)
        if operand >= 0:
            own = self.f.types[operand]
            if own.is_narrow and own.bits < type_.bits:
                return self.extended(a, own)
        return a

    def write(self, register: int, made: Arg) -> None:
        if register == NONE:
            return
        if self.f.variable[register]:
            self.now[register] = made
        else:
            self.values[register] = made

    def note_bits(self, node: Node, type_: Type) -> None:
        """What is known of the upper bits of what a load of this type has left."""
        if node.name == "loadu":
            node.unsigned = {"b": 8, "s": 16, "l": 32, "q": 64}[node.suffix]
            node.signed = min(node.unsigned + 1, 64)
        elif type_.bits < 64:
            node.signed = type_.bits

    def extended(self, a: Arg, type_: Type) -> Arg:
        """An integer of a type as one of 64 bits."""
        bits = type_.bits
        if type_ is BOOL or bits == 64:
            return a
        if a.kind == CONSTANT:
            number = a.number & (1 << bits) - 1
            return Arg(CONSTANT, number=number - (1 << bits) if type_.signed and number >> bits - 1 else number)
        node = a.node
        assert node is not None
        if type_.signed:
            if node.signed <= bits or node.unsigned < bits:
                return a
            return self.value("load", suffix_of(type_), [a])
        if node.unsigned <= bits:
            return a
        made = self.node("loadu", suffix_of(type_), [a])
        self.note_bits(made, type_)
        return Arg(VALUE, made)

    def address(self, instr: Instr) -> Arg:
        """The address of an access: a base and a displacement."""
        mem = instr.mem
        assert mem is not None
        base = self.read(instr.args[address_at(instr)])
        if base.kind == CONSTANT:
            return Arg(CONSTANT, number=base.number + mem.disp)
        made = base.node
        assert made is not None
        if made.name == "load" and made.args[0].kind == SYMBOL and not made.args[0].memory:
            return Arg(SYMBOL, number=base.number + mem.disp, name=made.args[0].name)
        return Arg(VALUE, base.node, mem.disp)

    # --- instructions ------------------------------------------------------------------------------------------

    def step(self, instr: Instr) -> None:
        op = instr.op
        if op is ops.ALLOCA:
            self.take(instr)
        elif op.effect == ops.CALLS:
            self.call(instr)
        elif op is ops.RET:
            self.leave(instr)
        elif op.effect == ops.CONTROL:
            self.branch(instr)
        elif op is ops.LOAD_AT or op is ops.STORE_AT:
            self.access(instr)
        elif op is ops.STORE_ARG:
            self.put_argument(instr)
        elif op.name in ops.COMPARISONS:
            a, b = [self.as_wide(each, instr.type) for each in instr.args]
            self.write(instr.dst, self.compare(op.name, instr.type, a, b))
        else:
            command = command_of(op, instr.type, self.serving)
            if command != "-":
                self.write(instr.dst, self.value(command, suffix_of(instr.type), [self.as_wide(a, instr.type) for a in instr.args]))
            elif op is ops.CONVERT or op is ops.CONVERT_UNCHECKED:
                self.write(instr.dst, self.convert(instr))
            else:
                self.write(instr.dst, self.several(instr))

    def several(self, instr: Instr) -> Arg:
        """What several commands make, or none."""
        op, type_ = instr.op, instr.type
        suffix = suffix_of(type_)
        if op is ops.ADDRESS:
            return self.value("load", "q", [self.address(instr)])
        args = [self.as_wide(a, type_) for a in instr.args]
        if op is ops.COPY or op is ops.BITCAST:
            return args[0]
        if op is ops.LOCAL:
            return self.value("load", "q", [Arg(LOCAL, number=self.f.local_offset(args[0].number))])
        if op in _SYMBOLS:
            return self.value("load", "q", [Arg(SYMBOL, name=symbol_of(self.f, op, args[0].number))])
        if op is ops.NOT:
            return self.truth(self.value("xor", "b", [args[0], Arg(CONSTANT, number=1)]))
        if op is ops.ANDNOT:
            turned = self.value("xor", suffix, [args[0], Arg(CONSTANT, number=1 if type_ is BOOL else -1)])
            return self.value("and", suffix, [turned, args[1]])
        if op is ops.SELECT:
            return self.choice(args[0], args[1], args[2])
        return self.shift(op is ops.SHL, type_, args[0], args[1])

    def choice(self, condition: Arg, a: Arg, b: Arg) -> Arg:
        """``a`` where the condition, 0 or 1, holds, else ``b``; of all 64 bits."""
        if a.same(b):
            return a
        short = self.short_choice(condition, a, b)
        if short is not None:
            return short
        if self.processor.has("selt_q") and self.processor.has("self_q"):
            return self.value("or", "q", [self.value("selt", "q", [condition, a]), self.value("self", "q", [condition, b])])
        mask = self.value("neg", "q", [condition])
        both = a.kind == CONSTANT and b.kind == CONSTANT
        differ = Arg(CONSTANT, number=a.number ^ b.number) if both else self.value("xor", "q", [a, b])
        return self.value("xor", "q", [self.value("and", "q", [differ, mask]), b])

    def short_choice(self, condition: Arg, a: Arg, b: Arg) -> Arg | None:
        """A choice of which one side is 0, or both are 0 or 1: what ``and`` and ``or`` of conditions are."""
        selects = self.processor.has("selt_q") and self.processor.has("self_q")
        if _is_zero(b):
            if _is_truth(a):
                return self.truth(self.value("and", "b", [condition, a]))
            return self.value("selt", "q", [condition, a]) if selects else self.value("and", "q", [self.value("neg", "q", [condition]), a])
        if _is_zero(a):
            if _is_truth(b):
                return self.truth(self.value("and", "b", [self.truth(self.value("xor", "b", [condition, Arg(CONSTANT, number=1)])), b]))
            return (
                self.value("self", "q", [condition, b])
                if selects
                else self.value("and", "q", [self.value("add", "q", [condition, Arg(CONSTANT, number=-1)]), b])
            )
        if a.kind == CONSTANT and a.number == 1 and _is_truth(b):
            return self.truth(self.value("or", "b", [condition, b]))
        return None

    def shift(self, left: bool, type_: Type, a: Arg, count: Arg) -> Arg:
        """A shift by any count: commands count modulo the width."""
        suffix, bits = suffix_of(type_), type_.bits
        command = "shl" if left else "sar" if type_.signed else "shr"
        if count.kind == CONSTANT:
            number = count.number & (1 << bits) - 1
            if number >= bits:
                if command != "sar":
                    return Arg(CONSTANT)
                number = bits - 1
            return self.value(command, suffix, [a, Arg(CONSTANT, number=number)])
        most = Arg(CONSTANT, number=bits)
        if command == "sar":
            # All ones count as the width less one.
            beyond = self.value("neg", "q", [self.value("geu", suffix, [count, most])])
            return self.value(command, suffix, [a, self.value("or", suffix, [count, beyond])])
        inside = self.value("neg", "q", [self.value("ltu", suffix, [count, most])])
        return self.value("and", suffix, [self.value(command, suffix, [a, count]), inside])

    def truth(self, a: Arg) -> Arg:
        """A value that is known to be 0 or 1."""
        if a.node is not None:
            a.node.unsigned, a.node.signed = 1, 2
        return a

    def compare(self, condition: str, type_: Type, a: Arg, b: Arg) -> Arg:
        name, turned = compare_of(condition, type_)
        made = self.truth(self.value(name, suffix_of(type_), [a, b]))
        return self.truth(self.value("xor", "b", [made, Arg(CONSTANT, number=1)])) if turned else made

    def convert(self, instr: Instr) -> Arg:
        """A number as another type."""
        to, of = instr.type, instr.source
        a = self.as_wide(instr.args[0], of)
        if to is of:
            return a
        if of.is_float:
            if to is BOOL:
                return self.truth(self.value("ne", suffix_of(of), [a, Arg(CONSTANT)]))
            name = "cvtf" if of.bits == 32 else "cvtd"
            if not to.is_float and not to.signed:
                name += "u"
            return self.value(name, suffix_of(to), [a])
        if to.is_float:
            wide = self.extended(a, of)
            return self.value("cvtuq" if of.bits == 64 and not of.signed else "cvtq", suffix_of(to), [wide])
        if to is BOOL:
            return self.truth(self.value("ne", suffix_of(of), [a, Arg(CONSTANT)]))
        return self.extended(a, of) if to.bits > of.bits else a

    def access(self, instr: Instr) -> None:
        """A load or a store."""
        mem = instr.mem
        assert mem is not None
        type_ = instr.type
        suffix = suffix_of(type_)
        where = self.address(instr)
        writes = instr.op is ops.STORE_AT
        access = Access(writes, mem.array, where.node, where.number, type_.size, where.name)
        if self.accesses.needs_paragraph(access, self.processor.commits_at_end):
            self.cut()
        if writes:
            made = self.node("wr", suffix, [self.as_wide(instr.args[0], type_), where])
            made.effect = True
        else:
            where.memory = True
            signed = type_.signed or type_.is_float or type_.bits == 64
            made = self.node("load" if signed else "loadu", suffix, [where])
            self.note_bits(made, type_)
            self.write(instr.dst, Arg(VALUE, made))
        made.memory = access
        made.behind = self.accesses.add(access, made)

    def cut(self) -> None:
        """Go on in a paragraph of its own."""
        old = self.paragraph
        made = Paragraph(len(self.flow.made), old.first, old.depth)
        # It is put in its place when all is done: its number is no order.
        self.flow.made.append(made)
        self.ends.append({})
        made.tested, made.following, made.calls = old.tested, old.following, old.calls
        old.tested, old.following, old.calls = NONE, made.number, False
        made.cut = True
        for each in made.after():
            before = self.flow.made[each].before
            before[before.index(old.number)] = made.number
        made.before = [old.number]
        self.jump(made.number)
        self.paragraph = made
        self.accesses.begin()

    # --- where it goes on ----------------------------------------------------------------------------------------

    def jump(self, to: int) -> None:
        self.effect("jmp", "", [Arg(TARGET, number=to)])

    def effect(self, name: str, suffix: str, args: list[Arg]) -> Node:
        """A command that does something."""
        made = self.node(name, suffix, args)
        made.effect = True
        return made

    def branch(self, instr: Instr) -> None:
        """A test, to which the paragraph says where it leads."""
        paragraph = self.paragraph
        args = [self.as_wide(a, instr.type) for a in instr.args]
        condition, turned = args[0], False
        if instr.op.compare:
            name, turned = compare_of(instr.op.compare, instr.type)
            condition = self.truth(self.value(name, suffix_of(instr.type), args))
        if condition.kind == CONSTANT:
            condition = self.value("load", "b", [condition])
        yes, no = (paragraph.following, paragraph.tested) if turned else (paragraph.tested, paragraph.following)
        self.effect("setjf", "b", [condition, Arg(TARGET, number=no)])
        self.effect("setjt", "b", [condition, Arg(TARGET, number=yes)])

    def put_argument(self, instr: Instr) -> None:
        type_ = instr.type
        made = self.effect("wr", "l" if type_ is PTR else suffix_of(type_), [self.read(instr.args[0]), Arg(OUTGOING, number=instr.imm)])
        made.memory = Access(True, -3, None, instr.imm, type_.size)

    def take(self, instr: Instr) -> None:
        """Memory of the stack: from where the last of it ended, at a multiple of some power of two."""
        size, align = self.read(instr.args[0]), self.read(instr.args[1]).number
        place = self.read(self.top)
        if align > _DYNAMIC_ALIGN:
            place = self.value("and", "q", [self.value("add", "q", [place, Arg(CONSTANT, number=align - 1)]), Arg(CONSTANT, number=-align)])
        self.write(instr.dst, place)
        end = self.value("add", "q", [self.value("add", "q", [place, size]), Arg(CONSTANT, number=_DYNAMIC_ALIGN - 1)])
        self.write(self.top, self.value("and", "q", [end, Arg(CONSTANT, number=-_DYNAMIC_ALIGN)]))

    def call(self, instr: Instr) -> None:
        """The return address, and there it goes; what comes back is in #RETV when the next paragraph begins."""
        callee = self.f.callees[instr.imm]
        paragraph = self.paragraph
        paragraph.called = instr
        if self.top != NONE:
            self.effect("setrg", "q", [Arg(REGISTER, name=DYNAMIC_STACK), self.read(self.top)])
        made = self.effect("wr", "l", [Arg(TARGET, number=paragraph.following), Arg(OUTGOING, number=0)])
        made.memory = Access(True, -3, None, 0, 4)
        # (The address stands in a register of the IR, or is a constant of it.)
        indirect = self.read(instr.args[0]) if instr.op in ops.INDIRECT else None
        if indirect is not None and indirect.kind == CONSTANT:
            indirect = self.value("load", "q", [indirect])
        self.effect("jmp", "", [indirect if indirect is not None else Arg(SYMBOL, name=callee.name)])

    def leave(self, instr: Instr) -> None:
        if self.top_before is not None:
            self.effect("setrg", "q", [Arg(REGISTER, name=DYNAMIC_STACK), self.top_before])
        if instr.args and self.f.result is not VOID:
            self.effect("setrg", "q", [Arg(REGISTER, name="RETV"), self.read(instr.args[0])])
        self.effect("jmp", "", [self.value("load", "l", [Arg(INCOMING, number=0, memory=True)])])


def _is_zero(a: Arg) -> bool:
    return a.kind == CONSTANT and a.number == 0


def _is_truth(a: Arg) -> bool:
    """Whether it is known to be 0 or 1."""
    return (a.kind == CONSTANT and a.number in (0, 1)) or (a.kind == VALUE and a.node is not None and a.node.unsigned == 1 and not a.number and not a.memory)


def _in_order(flow: Flow) -> None:
    """Put what has been cut off paragraphs behind them."""
    cut = {each.before[0]: each for each in flow.made if each.cut}
    if not cut:
        return
    order: list[Paragraph] = []
    for paragraph in flow.made:
        part: Paragraph | None = None if paragraph.cut else paragraph
        while part is not None:
            order.append(part)
            part = cut.get(part.number)
    flow.reorder(order)


def _live_variables(f: Function, flow: Flow, top: int) -> list[list[int]]:
    """The variables that are live where each paragraph begins. ``top`` is read by what calls, and by what takes memory of the stack, which writes it as well; or is NONE."""
    count = len(flow.made)
    reads, writes = [0] * count, [0] * count
    variable = f.variable
    for paragraph in flow.made:
        read = written = 0
        for instr in paragraph.code:
            for a in instr.args:
                if a >= 0 and variable[a] and not written >> a & 1:
                    read |= 1 << a
            if top != NONE and instr.op.effect == ops.CALLS:
                if not written >> top & 1:
                    read |= 1 << top
                if instr.op is ops.ALLOCA:
                    written |= 1 << top
            if instr.dst >= 0 and variable[instr.dst]:
                written |= 1 << instr.dst
        reads[paragraph.number], writes[paragraph.number] = read, written
    live = list(reads)
    changed = True
    while changed:
        changed = False
        for number in range(count - 1, -1, -1):
            after = 0
            for each in flow.made[number].after():
                after |= live[each]
            now = reads[number] | after & ~writes[number]
            if now != live[number]:
                live[number] = now
                changed = True
    return [_ones(bits) for bits in live]


def _ones(bits: int) -> list[int]:
    found: list[int] = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found


def forward_phis(flow: Flow) -> None:
    """Take away the phis that join one value with itself."""
    forward: dict[Node, Arg] = {}
    changed = True
    while changed:
        changed = False
        for paragraph in flow.made:
            for phi in paragraph.phis:
                if phi not in forward:
                    to = _joined(phi, forward)
                    if to is not None:
                        forward[phi] = to
                        changed = True
    if not forward:
        return
    for paragraph in flow.made:
        if paragraph.phis:
            paragraph.phis = [phi for phi in paragraph.phis if phi not in forward]
        for phi in paragraph.phis:
            _forward(phi, forward)
        for node in paragraph.nodes:
            _forward(node, forward)
    for phi in forward:
        # (They may be their own.)
        phi.args = []


def _joined(phi: Node, forward: dict[Node, Arg]) -> Arg | None:
    """What a phi joins with itself; None if it joins several values."""
    found: Arg | None = None
    for a in phi.args:
        to = substituted_to_end(a, forward)
        if to.node is phi:
            continue
        if found is None:
            found = to
        elif not to.same(found):
            return None
    return found


def _forward(node: Node, forward: dict[Node, Arg]) -> None:
    """Let a node read what its operands have become."""
    for k, a in enumerate(node.args):
        if a.node is not None and a.kind == VALUE and a.node in forward:
            node.args[k] = substituted_to_end(a, forward)


def run(f: Function, target: Dataflow) -> None:
    """Commands for the instructions of every paragraph, in ``f.analysis``."""
    Values(f, target).run()
