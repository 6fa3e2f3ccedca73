"""One function of LLVM IR as a function of the IR here."""

from __future__ import annotations

import re
from typing import Final

from loopwright.frontend.llvm.abi import Abi
from loopwright.frontend.llvm.accesses import Place
from loopwright.frontend.llvm.aggregates import in_parts
from loopwright.frontend.llvm.arithmetic import COMPUTATIONS
from loopwright.frontend.llvm.calls import JUMPED_TO
from loopwright.frontend.llvm.debug import Lines
from loopwright.frontend.llvm.flow import write
from loopwright.frontend.llvm.graph import RETURN, Edge, Graph, Node, Test
from loopwright.frontend.llvm.in_place import InPlace, read
from loopwright.frontend.llvm.intrinsics import REMAINDER, IntrinsicWriter, find
from loopwright.frontend.llvm.shape import Shape
from loopwright.frontend.llvm.syntax import GLOBAL, LOCAL, Instruction, LlvmFunction, LlvmModule
from loopwright.frontend.llvm.types import INTEGER, VECTOR, Layout, LlvmType, register_type
from loopwright.frontend.llvm.values import UNSIGNED
from loopwright.frontend.llvm.vectors import VECTORS, by_elements, has_vectors
from loopwright.frontend.llvm.wide import DIVISION_BYTES, DIVISIONS, WIDE, concerns
from loopwright.ir import ops
from loopwright.ir.function import NONE, Callee, Function, Instr, Options
from loopwright.types import BOOL, I32, PTR, VOID

__all__ = ["IN_MAIN", "translate"]

#: Main calls what runs before it.
IN_MAIN: Final = "main"

_NAME: Final = re.compile(r"[A-Za-z_]\w*")
#: What computes with floats.
_FLOATS: Final = frozenset(("fneg", "fadd", "fsub", "fmul", "fdiv", "frem", "fcmp"))


def translate(function: LlvmFunction, module: LlvmModule, layout: Layout, lines: Lines, routines: set[str], abi: Abi, begun: str = "") -> Function:
    """The function of the IR that a function of LLVM IR is.

    Args:
        function: the function, with blocks.
        module, layout, lines: what it stands in.
        routines: the names of what it needs of ``routines.py`` are added.
        abi: what the machine asks for.
        begun: ``IN_MAIN`` where main calls what runs before it.

    Raises ``UnsupportedOperationError`` with the line of what is not supported.
    """
    apart: set[str] = set()
    while True:
        f = Function(function.hidden or function.name, VOID, _options(function))
        f.file, f.lines = lines.source(function)
        writer = _FunctionWriter(f, function, module, layout, lines, routines, abi, apart)
        writer.run(begun)
        if not writer.still_read:
            return f
        # Written again, with what was overwritten too early kept apart.
        apart |= writer.still_read


class _FunctionWriter(IntrinsicWriter):
    """Writes one function.

    Attributes:
        node_number: the node that is written.
        in_place: values that are written to the variable of a phi: its name, by theirs.
        still_read: phis that turned out to be read, under another name, once such a value was written.
        carried: values that are read behind the loop they are made in: variables for their parts, which the ways out of the loop set.
    """

    def __init__(
        self, f: Function, function: LlvmFunction, module: LlvmModule, layout: Layout, lines: Lines, routines: set[str], abi: Abi, apart: set[str]
    ) -> None:
        super().__init__(f, module, layout, abi)
        self.function = function
        self.lines = lines
        self.routines = routines
        self.node_number = 0
        self.has_list = bool(function.hidden)
        self.memory = self.arguments = self.results_at = self.result_address = NONE
        self.way = NONE
        self.apart = apart
        self.in_place: dict[str, str] = {}
        self.still_read: set[str] = set()
        #: The names that are known by the registers of such phis, by register.
        self._names: dict[int, list[str]] = {}
        self.carried: dict[str, list[int]] = {}
        self._made_in: dict[str, int] = {}
        #: What is loaded to be extended with zeros.
        self._extended: set[str] = set()
        #: Phis of loops that are read behind them, by header.
        self._read_behind: dict[int, set[str]] = {}
        #: Of loops, the values carried out of them.
        self._out_of: dict[int, list[str]] = {}

    def run(self, begun: str) -> None:
        function = self.function
        self.start, self.debug = function.line, function.debug
        self.twice = any(i.call is not None and i.call.callee.name in JUMPED_TO for block in function.blocks for i in block.code)
        self._parameters()
        graph = Graph(function, self.module)
        self.shape = Shape(graph.nodes)
        if graph.ways:
            self.way = self.f.register(I32, "", True)
        self._variables()
        if function.name == "main" and begun == IN_MAIN:
            self._begin_program()
        write(self.f, self.shape, self)

    def _begin_program(self) -> None:
        """What runs before main, once C's ``atexit`` has been told what runs behind it (of several what it was told last)."""
        for _, name in sorted(self.module.ends, key=lambda each: each[0]):
            number = self.callee(("atexit",), Callee("atexit", [PTR], I32))
            self.emit(ops.CALL, I32, [self.symbol(name)], imm=number)
        for _, name in sorted(self.module.begins, key=lambda each: each[0]):
            number = self.function_number(name)
            callee = self.f.callees[number]
            if callee.params:
                self.unsupported(f"{name} runs before main, and has parameters, which is not supported")
            if callee.result is VOID:
                self.put(ops.CALL_VOID, VOID, [], number)
            else:
                self.emit(ops.CALL, callee.result, [], imm=number)

    def _parameters(self) -> None:
        f = self.f
        function = self.function
        passed = self.signature(function)
        f.result, f.places, f.results = passed.result, passed.places, passed.results
        registers: list[list[int]] = []
        for parameter in function.parameters:
            name = parameter.name
            # (Without names clang numbers them.)
            shown = name if _NAME.fullmatch(name) else f"a{name}"
            parts = self.passed(parameter.type, parameter.attributes)
            registers.append([f.param(type_, shown if len(parts) == 1 else f"{shown}_{n}") for n, (type_, _) in enumerate(parts)])
            if "noalias" in parameter.attributes and len(parts) == 1 and parts[0][0] is PTR:
                f.restrict.add(registers[-1][0])
        if function.variadic:
            self.arguments = f.param(PTR, "arguments")
        if len(f.params) < len(passed.params):
            self.memory = f.param(PTR, "result")
        for parameter, given in zip(function.parameters, registers, strict=True):
            self.held[parameter.name] = self.received(parameter.type, parameter.attributes, given)
            if "sret" in parameter.attributes and f.result is not VOID:
                self.result_address = given[0]
        size = max([self._results_of(i) for block in function.blocks for i in block.code], default=0)
        if size:
            self.results_at = self.frame_memory(size, 16, "")

    def _results_of(self, i: Instruction) -> int:
        """The memory that an instruction takes for what a call returns."""
        if i.call is not None:
            return self.result_size(i.type)
        return DIVISION_BYTES if i.opcode in DIVISIONS and concerns(i) else 0

    # --- what is read where -----------------------------------------------------------------------------------------

    def _variables(self) -> None:
        """Variables for phis, and for what is read behind the loop that makes it."""
        shape = self.shape
        for number in shape.order:
            node = shape.nodes[number]
            for phi in node.phis:
                self._made_in[phi.name] = number
                self.held[phi.name] = [self.f.register(self.type_of(leaf), _shown(phi.name), True) for leaf in self.leaves(phi.type)]
            for i in node.code:
                if i.name:
                    self._made_in[i.name] = number
        self._extended = _extended([shape.nodes[number] for number in shape.order])
        if not shape.headers:
            return
        self._found = InPlace(shape, self.apart)
        self.in_place = self._found.phis
        self._names = {register: [] for phi in self.in_place.values() for register in self.held[phi]}
        phis = {phi.name for number in shape.order for phi in shape.nodes[number].phis}
        phis.update(self.in_place)
        types: dict[str, LlvmType] = {}
        for number in shape.order:
            for value, _ in read(shape.nodes[number]):
                name = self.in_place.get(value.name, value.name)
                made = self._made_in.get(name, -1)
                if made in shape.headers and name in phis and not shape.within(number, made):
                    self._read_behind.setdefault(made, set()).add(name)
        for number in shape.order:
            for value, _ in read(shape.nodes[number]):
                made = self._made_in.get(value.name, -1)
                if made >= 0 and value.name not in phis and shape.loop[made] >= 0 and not shape.within(number, shape.loop[made]):
                    types[value.name] = value.type
        self._extended -= types.keys() | self.in_place.keys()
        for name, type_ in types.items():
            self.carried[name] = [self.f.register(self.type_of(leaf), _shown(name), True) for leaf in self.leaves(type_)]
            self._out_of.setdefault(shape.loop[self._made_in[name]], []).append(name)

    def local(self, name: str) -> list[int]:
        carried = self.carried.get(name)
        if carried is not None and not self.shape.within(self.node_number, self.shape.loop[self._made_in[name]]):
            return carried
        return self.held[name]

    def current_loop(self) -> int:
        return self.shape.loop[self.node_number]

    def around(self, loop: int) -> bool:
        return loop < 0 or self.shape.within(self.node_number, loop)

    # --- nodes ------------------------------------------------------------------------------------------------------

    def node(self, number: int, node: Node) -> None:
        self.node_number = number
        for i in node.code:
            self._begin(i)
            before = len(self.code)
            made = self._instruction(i, number == 0)
            if i.name:
                if i.name in self.in_place:
                    made = self._written(i.name, made, before)
                elif self._names:
                    self._known_by(i.name, made)
                self.held[i.name] = made
                if len(made) == 1 and made[0] >= 0 and not self.f.names[made[0]] and not self.f.variable[made[0]]:
                    self.f.names[made[0]] = _shown(i.name)
        if node.last is not None:
            self._begin(node.last)

    def _known_by(self, name: str, made: list[int]) -> None:
        """Note that a value is read from the registers it is held in, or its address is computed of."""
        place = self.places.get(name)
        for register in made if place is None else [*made, *place.args()]:
            if register in self._names:
                self._names[register].append(name)

    def _written(self, name: str, made: list[int], before: int) -> list[int]:
        """What an instruction has made, of which the code begins at ``before``, in the variables of a phi."""
        phi = self.in_place[name]
        variables = self.held[phi]
        if any(self._found.late(other, name) for register in variables for other in self._names[register]):
            self.still_read.add(phi)
        last = self.code[-1] if len(self.code) > before else None
        if len(made) == 1 and last is not None and last.dst == made[0] and made[0] >= 0 and not self.f.variable[made[0]]:
            last.dst = variables[0]
        else:
            self._move([(to, from_) for to, from_ in zip(variables, made, strict=True) if to != from_])
        self.places.pop(name, None)
        return variables

    def _begin(self, i: Instruction) -> None:
        self.at = i
        self.line = self.lines.line(self.function, i, self.line)

    def _instruction(self, i: Instruction, entry: bool) -> list[int]:
        opcode = i.opcode
        if has_vectors(i):
            made = self._on_vectors(i)
            if made is not None:
                return made
        if opcode in ("select", "freeze") and in_parts(i.type):
            return self._choose(i)
        if opcode in WIDE and concerns(i):
            return WIDE[opcode](self, i)
        known = COMPUTATIONS.get(opcode)
        if known is not None:
            return [known(self, i)]
        if opcode == "load" or opcode == "store":
            self.alignment = i.numbers[0] if i.numbers else 0
        if "volatile" in i.flags:
            return self._volatile(i)
        if opcode == "load":
            held = register_type(i.type)
            if i.name in self._extended and held in UNSIGNED and held.bits == i.type.bits:
                return [self.load_whole(UNSIGNED[held], self.place(i.operands[0]))]
            return self.load(i.type, self.place(i.operands[0]))
        if opcode == "store":
            self.store(i.operands[0].type, self.parts(i.operands[0]), self.place(i.operands[1]))
            return []
        if opcode == "getelementptr":
            return [self.element_pointer(i)]
        if opcode == "alloca":
            return [self.alloca(i, entry)]
        if opcode == "call":
            return self._call(i)
        if opcode == "extractvalue":
            return self.extract(i)
        if opcode == "insertvalue":
            return self.insert(i)
        if opcode == "frem":
            return REMAINDER(self, i, i.operands)
        if opcode == "fence":
            return self.fence(i)
        self.unsupported(f"the instruction {opcode} is not supported")

    def _volatile(self, i: Instruction) -> list[int]:
        """An access that is made once, between those in front of it and behind it."""
        self.put(ops.BARRIER, VOID, [])
        if i.opcode == "load":
            return self.load(i.type, self.place(i.operands[0]))
        self.store(i.operands[0].type, self.parts(i.operands[0]), self.place(i.operands[1]))
        self.put(ops.BARRIER, VOID, [])
        return []

    def _on_vectors(self, i: Instruction) -> list[int] | None:
        """What an instruction makes of vectors; None where they are values like any others."""
        if i.opcode in VECTORS:
            return VECTORS[i.opcode](self, i)
        known = COMPUTATIONS.get(i.opcode)
        if known is not None and i.opcode != "freeze":
            return by_elements(self, i, i.operands, lambda each, _: self._instruction(each, False))
        if i.opcode == "frem":
            return by_elements(self, i, i.operands, lambda each, operands: REMAINDER(self, each, operands))
        return None

    def _choose(self, i: Instruction) -> list[int]:
        if i.opcode == "freeze":
            return self.parts(i.operands[0])
        condition = self.operand(i.operands[0])
        pairs = zip(self.parts(i.operands[1]), self.parts(i.operands[2]), strict=True)
        return [self.emit(ops.SELECT, self.f.type_of(a), [condition, a, b]) for a, b in pairs]

    def _call(self, i: Instruction) -> list[int]:
        site = i.call
        assert site is not None
        name = site.callee.name
        if site.callee.kind != GLOBAL or not name.startswith("llvm."):
            return self.call(i)
        self.alignment = 0
        handler = find(name)
        if handler is None:
            self.unsupported(f"LLVM's {name} is not supported")
        values = [argument.value for argument in site.arguments]
        if i.type.kind == VECTOR:
            return by_elements(self, i, values, lambda each, operands: handler(self, each, operands))
        return handler(self, i, values)

    def leave(self, node: Node) -> None:
        if node.end != RETURN:
            self.put(ops.UNREACHABLE, VOID, [])
            return
        last = node.last
        assert last is not None
        f = self.f
        made: list[int] = []
        self.alignment = 0
        if f.results:
            for n, operand in enumerate(self.packed_parts(last.operands[0])):
                self.store_whole(self.convert(operand, f.results[n]), Place(self.memory, None, 1, 8 * n, -1))
        elif self.memory != NONE:
            self.store(self.function.result, self.parts(last.operands[0]), Place(self.memory, None, 1, 0, -1))
        elif self.result_address != NONE:
            made = [self.result_address]
        elif f.result is not VOID:
            made = [self.convert(self.packed_parts(last.operands[0])[0], f.result)]
        self.put(ops.RET, VOID, made)

    # --- branches ---------------------------------------------------------------------------------------------------

    def test(self, test: Test, opposite: bool) -> int:
        made = self._test(test)
        return self.emit(ops.NOT, BOOL, [made]) if opposite else made

    def _test(self, test: Test) -> int:
        if test.value is not None and test.low is None and test.high is None:
            return self.operand(test.value)
        if test.value is None:
            operand, type_ = self.way, I32
        else:
            operand = self.operand(test.value)
            type_ = self.f.type_of(operand)
            if type_ is BOOL:
                # (The one that is true is -1.)
                return operand if test.high == -1 else self.emit(ops.NOT, BOOL, [operand])
        low, high = test.low, test.high
        if low is None:
            assert high is not None
            return self.compare(ops.LE, type_, operand, self.f.const(type_, high))
        if high is None:
            return self.compare(ops.GE, type_, operand, self.f.const(type_, low))
        if low == high:
            return self.compare(ops.EQ, type_, operand, self.f.const(type_, low))
        distance = self.unsigned(self.emit(ops.SUB, type_, [operand, self.f.const(type_, low)]), LlvmType(INTEGER, type_.bits))
        unsigned = self.f.type_of(distance)
        return self.compare(ops.LE, unsigned, distance, self.f.const(unsigned, high - low))

    def moves(self, source: int, edge: Edge) -> bool:
        if edge.way >= 0 or (self.carried and self._carried_on(source, edge)):
            return True
        # (What is written in place needs no copy.)
        return any(value.kind != LOCAL or self.held[value.name] != self.held[name] for name, value in edge.copies)

    def early(self, source: int, edge: Edge, other: Edge, test: Test) -> bool:
        shape = self.shape
        header = edge.target
        if edge.way >= 0 or not shape.back(source, edge) or shape.within(other.target, header):
            return False
        written = {name for name, value in edge.copies if value.kind != LOCAL or self.held[value.name] != self.held[name]}
        # What is written already is not to be read on the other way, nor behind the loop, nor by the branch itself.
        read = [self.held[name] for name in self._carried_on(source, other)]
        read += [self.local(value.name) for _, value in other.copies if value.kind == LOCAL]
        if test.value is not None and test.value.kind == LOCAL:
            read.append(self.local(test.value.name))
        registers = {register for name in written for register in self.held[name]}
        return written.isdisjoint(self._read_behind.get(header, ())) and all(registers.isdisjoint(each) for each in read)

    def _carried_on(self, source: int, edge: Edge) -> list[str]:
        """The values that an edge carries out of loops."""
        shape = self.shape
        found: list[str] = []
        for header in self._out_of:
            if shape.within(source, header) and not shape.within(edge.target, header):
                found += [name for name in self._out_of[header] if shape.dominates(self._made_in[name], source)]
        return found

    def copies(self, source: int, edge: Edge) -> None:
        self.node_number = source
        moves: list[tuple[int, int]] = []
        for name, value in edge.copies:
            moves += zip(self.held[name], self.parts(value), strict=True)
        if self.carried:
            for name in self._carried_on(source, edge):
                moves += zip(self.carried[name], self.held[name], strict=True)
        if edge.way >= 0:
            moves.append((self.way, self.f.const(I32, edge.way)))
        self._move([(to, from_) for to, from_ in moves if to != from_])

    def _move(self, moves: list[tuple[int, int]]) -> None:
        """Copies that happen at once: none writes what another one is still to read."""
        while moves:
            read = {from_ for _, from_ in moves}
            free = [(to, from_) for to, from_ in moves if to not in read]
            if not free:
                # All go in circles: one of them by way of a register.
                to, from_ = moves[0]
                kept = self.f.register(self.f.types[from_])
                self.code.append(Instr(ops.COPY, self.f.types[from_], kept, [from_], 0, self.line))
                moves = [(to, kept if read_ == from_ else read_) for to, read_ in moves]
                continue
            for to, from_ in free:
                self.code.append(Instr(ops.COPY, self.f.types[to], to, [from_], 0, self.line))
            moves = [move for move in moves if move not in free]


def _options(function: LlvmFunction) -> Options:
    """What a function's instructions allow: totals of floats in another order where all that compute with floats are `fast`; loops in another order where none is
    `volatile`."""
    code = [i for block in function.blocks for i in block.code]
    floats = [i for i in code if i.opcode in _FLOATS]
    fast = bool(floats) and all("fast" in i.flags for i in floats)
    return Options(contract=fast, fastmath=fast, nests=not any("volatile" in i.flags for i in code))


def _extended(nodes: list[Node]) -> set[str]:
    """The loads that nothing but `zext` reads."""
    loaded: set[str] = set()
    otherwise: set[str] = set()
    for node in nodes:
        zext = [i.opcode == "zext" for i in node.code]
        loaded.update(i.name for i in node.code if i.opcode == "load")
        otherwise.update(value.name for value, place in read(node) if place >= len(zext) or not zext[place])
    return loaded - otherwise


def _shown(name: str) -> str:
    """A name for a register; "" for a number."""
    return name if _NAME.fullmatch(name) else ""
