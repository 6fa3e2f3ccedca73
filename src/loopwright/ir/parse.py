"""Reading the text form of functions (``ir/text.py`` prints it).

The grammar, one construct a line; ``;`` begins a comment, and a comment that begins with ``@12`` gives the user's line::

    function NAME(%r: TYPE, var %r: TYPE, …) -> TYPE
      stage NAME | target NAME | file "…" | physical | labels N
      option contract | fastmath | check | nests | search | schedule "interchange(i, j); …"
      restrict %r, …          parameters whose memory only what is computed from them leads to
      array NAME: TYPE[%extent, …] strides [%stride, …] local align N|view at %base written pairs shared
                              apart N nontemporal aligned N usual [N, …]
      var %r: TYPE            a variable                    reg %r: TYPE    a register that no instruction defines
      callee NAME(TYPE, …) -> TYPE      with a variable number of arguments: callee NAME(TYPE, ..., TYPE) -> TYPE
      signature NAME(TYPE, …) -> TYPE   of calls by address: call_indirect.TYPE NAME(%address, …)
      global NAME                       of the module: %p = global.ptr NAME; of a callee: %p = function.ptr NAME
      site ARRAY dimension N line N "…"
      slot @sN: spill|incoming SIZE at OFFSET
      frame size N outgoing N align N calls moves saved $r, …
      %r = OPERATION.TYPE.SOURCETYPE OPERAND, …
      L3: align
    end

Operands: ``%r $r @s0``, literals (``1 -2.5 inf nan true 5:u8``), array elements ``x[%i, 2]``, ``x#3[%i]`` of several arrays with one name, addresses
``[%base + %index*4 + 16]``, behind the pass select also ``[local 0 + 16]`` and ``[global NAME]``, with ``{bcast}`` and ``{size 64}``, calls ``name(…)``, labels ``L3``.
"""

from __future__ import annotations

import re
from typing import Any, Final

from loopwright.errors import ParseError, ScheduleError
from loopwright.ir import ops
from loopwright.ir.function import (
    INCOMING,
    LOCAL_ALIGN,
    MOST_LOCAL,
    NONE,
    PLACES,
    SLOT,
    SPILL,
    TOGETHER,
    USUAL,
    Array,
    Callee,
    Frame,
    Function,
    Global,
    Instr,
    Loop,
    Mem,
    Options,
    Site,
    Slot,
    wrap,
)
from loopwright.ir.global_text import parse_global
from loopwright.ir.roles import natural_size, operand_types
from loopwright.ir.schedule import parse_steps, steps_text
from loopwright.ir.stages import STAGES
from loopwright.ir.tokens import INTEGER, LIMIT, Tokens
from loopwright.types import BOOL, I64, PTR, VOID, Type

__all__ = ["NAME", "parse", "parse_all", "parse_parts"]

_NUMBERED: Final = re.compile(r"%(?:\w+\.)*([0-9]+)(?![\w.])")
#: What a register's name looks like (``x``, ``x.n0``); other names are not printed.
NAME: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_SPLIT: Final = re.compile(r"(?:(.*)\.)?([0-9]+)")
_REST: Final = re.compile(r"[ \t]*([\w.+-]+)[ \t\r]*(?:;.*)?$")
_LABEL: Final = re.compile(r"L([0-9]{1,6})")
_OPTIONS: Final = "contract, fastmath, check, nests, search or schedule"

_DEPTH_OPS: Final = frozenset((ops.BR, ops.BR_IF, *ops.BR_CMP.values()))
_LABEL_OPS: Final = frozenset((ops.JUMP, ops.JUMP_TABLE, ops.JUMP_IF, ops.JUMP_UNLESS, *ops.JUMP_CMP.values()))
_COUNT_OPS: Final = frozenset(
    (ops.FAIL, ops.STORE_ARG, ops.PART, ops.GATHER_SINGLY, *ops.INDEXED, *ops.CHUNKS, *ops.LOAD_PART.values(), *ops.STORE_SOME.values(), *ops.ADVANCES.values())
)


class _Literal:
    """A constant whose type is not known until the whole instruction has been read."""

    __slots__ = ("column", "text", "type")

    def __init__(self, text: str, type_: Type, column: int) -> None:
        self.text = text
        self.type = type_
        self.column = column


class _Parser(Tokens):
    """Reads the functions of one text."""

    def __init__(self, text: str, file: str, target: Any) -> None:
        super().__init__(text, file)
        self.target = target
        self.f = Function("")
        self.registers: dict[str, int] = {}
        self.reserved: set[int] = set()
        self.next_free = 0
        self.known: list[bool] = []
        self.seen: list[bool] = []
        self.first_use: dict[int, tuple[int, int]] = {}
        self.arrays: dict[str, int] = {}
        self.callees: dict[str, int] = {}
        self.globals: dict[str, int] = {}
        self.physical: dict[str, int] = {r.name: n for n, r in enumerate(target.registers)} if target is not None else {}

    # --- registers and operands ---------------------------------------------------------------------------

    def register(self) -> int:
        """A virtual register by its text; new ones get their number here."""
        if self.kinds[self.at] != "register":
            raise self.expected("a register, such as %x")
        text = self.texts[self.at]
        known = self.registers.get(text)
        if known is None:
            known = self._new_register(text[1:])
            self.registers[text] = known
        if not self.known[known]:
            self.first_use.setdefault(known, (self.number, self.columns[self.at]))
        self.at += 1
        return known

    def _new_register(self, text: str) -> int:
        f = self.f
        split = _SPLIT.fullmatch(text)
        name = text if split is None else split[1] or ""
        if name and not NAME.fullmatch(name):
            raise self.error(f"expected a register as in %x, %x.3 or %3, found `%{text}`")
        if split is None:
            while self.next_free in self.reserved:
                self.next_free += 1
            number = self.next_free
            self.next_free += 1
        else:
            if len(split[2]) > 7 or int(split[2]) >= LIMIT:
                raise self.error(f"expected a register number below {LIMIT}, found {split[2][:30]}")
            number = int(split[2])
        while len(f.types) <= number:
            f.register(VOID)
            self.known.append(False)
            self.seen.append(False)
        if self.seen[number] and f.names[number] != name:
            raise self.error(f"expected register {number} under one name, found `%{text}`")
        self.seen[number] = True
        f.names[number] = name
        return number

    def define(self, r: int, type_: Type, column: int) -> None:
        """Give a register its type; the first definition counts."""
        if not self.known[r]:
            self.known[r] = True
            self.f.types[r] = type_

    def declare(self, variable: bool = False) -> int:
        """``%r: TYPE`` of a header line."""
        column = self.columns[self.at]
        r = self.register()
        if self.known[r]:
            raise self.error("expected a register that is not declared yet", column)
        self.need(":")
        self.define(r, self.type(), column)
        self.f.variable[r] = variable
        return r

    def physical_register(self) -> int:
        text = self.texts[self.at][1:]
        known = self.physical.get(text)
        if known is None:
            if text.isascii() and text.isdigit() and len(text) < 7 and (self.target is None or int(text) < len(self.target.registers)):
                known = int(text)
            elif self.target is None:
                raise self.error(f"expected a register by number, as in $0, for want of a target that knows `${text}`: give target=")
            else:
                raise self.error(f"expected a register of {self.target.name}, found `${text}`")
        self.at += 1
        return known

    def literal(self) -> _Literal | None:
        """A literal, with its type where one is written; None if none is next."""
        text = self.texts[self.at]
        if self.kinds[self.at] != "number" and not (self.kinds[self.at] == "word" and text in ("true", "false", "inf", "nan")):
            return None
        column = self.columns[self.at]
        self.at += 1
        type_ = VOID
        if self.texts[self.at] == ":" and self.kinds[self.at] == "mark":
            self.at += 1
            type_ = self.type()
        return _Literal(text, type_, column)

    def constant(self, literal: _Literal, expected: Type) -> int:
        """The operand for a literal in a place that asks for a type."""
        type_ = literal.type if literal.type is not VOID else expected
        text = literal.text
        column = literal.column
        if type_ is VOID:
            raise self.error(f"expected a constant with its type here, as in {text[:30]}:i32", column)
        if type_.element is BOOL:
            if text not in ("true", "false"):
                raise self.error(f"expected true or false for a {type_.name}, found `{text[:30]}`", column)
            return self.f.const(type_, text == "true")
        if text in ("true", "false"):
            raise self.error(f"expected a number for a {type_.name}, found `{text}`", column)
        if type_.is_float:
            return self.f.const(type_, float(text))
        if not INTEGER.fullmatch(text):
            raise self.error(f"expected a whole number for a {type_.name}, found `{text[:30]}`", column)
        value = int(text)
        if wrap(type_, value) != value:
            raise self.error(f"expected a number that fits {type_.name}, found {text[:30]}", column)
        return self.f.const(type_, value)

    def place(self) -> int | None:
        """A register or slot; None if none is next."""
        kind = self.kinds[self.at]
        if kind == "register":
            if self.f.physical:
                raise self.expected("a physical register, such as $rax, in a function after allocation")
            return self.register()
        if kind == "physical":
            if not self.f.physical:
                raise self.expected("a virtual register, such as %x (`physical` in the header says that registers are the target's)")
            return self.physical_register()
        if kind == "slot":
            number = int(self.texts[self.at][2:])
            if not self.f.physical:
                raise self.expected("a virtual register, such as %x (stack slots exist after allocation)")
            if number >= LIMIT:
                raise self.error(f"expected a slot number below {LIMIT}")
            self.at += 1
            return SLOT + number
        return None

    def value(self) -> int | _Literal:
        place = self.place()
        if place is not None:
            return place
        literal = self.literal()
        if literal is None:
            raise self.expected("an operand: a register or a constant")
        return literal

    def values(self, close: str) -> list[int | _Literal]:
        """Operands up to a closing mark."""
        out: list[int | _Literal] = []
        if self.take(close):
            return out
        while True:
            out.append(self.value())
            if self.take(close):
                return out
            if not self.take(","):
                raise self.expected(f"`,` or `{close}`")

    def address(self, out: list[int | _Literal]) -> Mem:
        """What stands behind ``[`` of an address."""
        mem = Mem(False, 1, 0)
        if self.take("global"):
            mem.origin = ops.GLOBAL
            out.append(self.f.const(I64, self._named(self.globals, "global")))
        elif self.take("local"):
            mem.origin = ops.LOCAL
            out.append(self.f.const(I64, self.count("the number of a local array")))
        else:
            out.append(self.value())
        while not self.take("]"):
            sign = 1
            if self.take("-"):
                sign = -1
            elif not self.take("+"):
                raise self.expected("`+`, `-` or `]`")
            if self.kinds[self.at] == "number" and self.texts[self.at + 1] not in ("*", ":"):
                mem.disp = sign * self.integer("a displacement in bytes", -(1 << 62), 1 << 62)
                self.need("]")
                break
            if mem.indexed or sign < 0:
                raise self.expected("a displacement in bytes")
            out.append(self.value())
            mem.indexed = True
            self.need("*")
            mem.scale = self.integer("the scale of the index", 1, 1 << 40)
        while self.take("{"):
            if self.take("bcast"):
                mem.broadcast = True
            elif self.take("of"):
                mem.array = self._named(self.arrays, "array")
            elif self.take("size"):
                mem.size = self.count("a size in bytes")
            else:
                raise self.expected("`of`, `bcast` or `size`")
            self.need("}")
        return mem

    # --- the header ---------------------------------------------------------------------------------------

    def function(self) -> Function:
        """The function whose first line is the current one."""
        self.need("function")
        self.f = f = Function("", VOID, Options(contract=False))
        self.registers = {}
        self.reserved = set()
        self.known = []
        self.seen = []
        self.next_free = 0
        self.first_use = {}
        self.arrays = {}
        self.callees = {}
        self.globals = {}
        first = self.number - 1
        for text in self.lines[first:]:
            if "function" in text and text.lstrip().startswith("function") and text is not self.lines[first]:
                break
            for number in _NUMBERED.findall(text):
                if len(number) < 8:
                    self.reserved.add(int(number))
        f.name = self.name("the function's name")
        f.file = ""
        self.need("(")
        places: list[int] = []
        if not self.take(")"):
            while True:
                variable = self.take("var")
                f.params.append(self.declare(variable))
                places.append(self.argument_place())
                if self.take(")"):
                    break
                if not self.take(","):
                    raise self.expected("`,` or `)`")
        f.places = tuple(places) if any(places) else ()
        f.result, f.results = self.results()
        self.done()
        start = (self.number, 1)
        in_header = True
        depth = 0
        while True:
            if not self.next_line():
                raise ParseError(f"expected `end` for the function of line {start[0]}, found the end of the text", self.number, self.columns[0], self.file)
            if in_header:
                word = self.texts[0] if self.kinds[0] == "word" else ""
                if word in _HEADER:
                    self.at = 1
                    _HEADER[word](self)
                    self.done()
                    continue
                in_header = False
            if depth == 0 and self.texts[0] == "end" and self.kinds[0] == "word":
                self.at = 1
                self.done()
                break
            instr = self.instruction()
            op = instr.op
            if op.closes:
                if depth == 0:
                    self.at = 0
                    raise self.error(f"expected an open bracket before `{op.name}`")
                depth -= 1
            if op.opens:
                depth += 1
            f.code.append(instr)
        for r, place in self.first_use.items():
            if not self.known[r]:
                raise ParseError(
                    f"expected register %{f.names[r] or r} to be defined somewhere, or declared with `reg` or `var`", place[0], place[1], self.file
                )
        if f.results and f.stage in STAGES[STAGES.index("select") :]:
            f.result = PTR
        return f

    def rest(self, what: str) -> str:
        """A name that may contain dashes, or a string."""
        if self.kinds[self.at] == "string":
            return self.string()
        found = _REST.match(self.lines[self.number - 1], self.columns[0] - 1 + len(self.texts[0]))
        if found is None:
            raise self.expected(what)
        self.at = len(self.kinds) - 1
        return found[1]

    def h_stage(self) -> None:
        self.f.stage = self.rest("the name of a pass")

    def h_target(self) -> None:
        self.f.target_name = self.rest("the name of a target")

    def h_physical(self) -> None:
        self.f.physical = True

    def h_file(self) -> None:
        self.f.file = self.string()

    def h_labels(self) -> None:
        self.f.labels = self.count("the number of labels")

    def h_option(self) -> None:
        while True:
            word = self.word(_OPTIONS)
            if word == "contract":
                self.f.options.contract = True
            elif word == "fastmath":
                self.f.options.fastmath = True
            elif word == "check":
                self.f.options.check = True
            elif word == "nests":
                self.f.options.nests = True
            elif word == "search":
                self.f.options.search = True
            elif word == "schedule":
                self.schedule()
            else:
                self.at -= 1
                raise self.expected(_OPTIONS)
            if not self.take(","):
                return

    def schedule(self) -> None:
        text = self.string()
        try:
            self.f.options.schedule = steps_text(parse_steps(text))
        except ScheduleError as error:
            self.at -= 1
            raise self.error(error.message) from None

    def extents(self) -> list[int]:
        """Extents or strides of an array: registers, or numbers of a local one."""
        self.need("[")
        out: list[int] = []
        if self.take("]"):
            return out
        while True:
            if self.kinds[self.at] == "number":
                out.append(self.f.const(I64, self.integer("a register or a number")))
            else:
                out.append(self.register())
            if self.take("]"):
                return out
            if not self.take(","):
                raise self.expected("`,` or `]`")

    def h_restrict(self) -> None:
        while True:
            r = self.register()
            if r not in self.f.params or self.f.types[r] is not PTR:
                self.at -= 1
                raise self.expected("a parameter that is a pointer")
            self.f.restrict.add(r)
            if not self.take(","):
                return

    def h_array(self) -> None:
        column = self.columns[self.at]
        name = self.name("the array's name")
        self.need(":")
        element = self.type()
        if element.lanes or element.is_mask:
            self.at -= 1
            raise self.expected("a scalar type")
        shape = self.extents()
        strides = self.extents() if self.take("strides") else []
        local = self.take("local")
        align = self.alignment() if local and self.take("align") else LOCAL_ALIGN
        view = not local and self.take("view")
        data = b""
        if not local and not view and self.take("constant"):
            try:
                data = bytes.fromhex(self.string())
            except ValueError:
                self.at -= 1
                raise self.expected("bytes in hexadecimal") from None
        self.need("at")
        base = self.register()
        made = Array(name, element, base, shape, strides, self.take("written"), view=view, pairs=self.take("pairs"), shared=self.take("shared"), align=align)
        made.apart = self.count("a number that several arrays have") if self.take("apart") else 0
        made.nontemporal = self.take("nontemporal")
        made.aligned = self.count("how many bytes vectors are aligned to") if self.take("aligned") else 0
        made.usual = self.usual(len(shape)) if self.take("usual") else ()
        if local or data:
            made.size = self._local_size(made, column)
            made.data = data
            if data and len(data) != made.size:
                raise self.error(f"a constant array of {made.size} bytes, of which {len(data)} are given", column)
        if not shape or len(strides) != len(shape) - 1:
            raise self.error(f"expected one stride fewer than extents, found {len(shape)} extents and {len(strides)} strides", column)
        self._reference(self.arrays, name, len(self.f.arrays))
        self.f.arrays.append(made)

    def usual(self, rank: int) -> tuple[int, ...]:
        """The extents that most callers pass."""
        self.need("[")
        found = [self.count("an extent")]
        while self.take(","):
            found.append(self.count("an extent"))
        self.need("]")
        if len(found) != rank:
            self.at -= 1
            raise self.expected(f"{rank} extents")
        return tuple(found)

    def alignment(self) -> int:
        """What the address of a local array is a multiple of."""
        column = self.columns[self.at]
        align = self.count("an alignment in bytes")
        if not 0 < align <= LOCAL_ALIGN or align & align - 1:
            raise self.error(f"the alignment of a local array is a power of two up to {LOCAL_ALIGN}", column)
        return align

    def _local_size(self, array: Array, column: int) -> int:
        """Bytes of a local array, whose extents and strides are what they must be."""
        size = array.element.size
        strides: list[int] = []
        for x in reversed(array.extents):
            extent = self.f.const_values[~x] if x < 0 else 0
            if not 0 < extent <= MOST_LOCAL:
                raise self.error(f"the extents of a local array are numbers from 1 to {MOST_LOCAL}", column)
            strides.append(size)
            size *= int(extent)
        if [self.f.const_values[~x] if x < 0 else 0 for x in array.strides] != strides[:0:-1]:
            raise self.error(f"the strides of this local array are {strides[:0:-1]}", column)
        return size

    def _reference(self, table: dict[str, int], name: str, number: int) -> None:
        table[f"#{number}"] = table[f"{name}#{number}"] = number
        table[name] = -1 if name in table else number

    def h_var(self) -> None:
        self.declare(True)

    def h_reg(self) -> None:
        self.declare()

    def h_callee(self, signature: bool = False) -> None:
        name = self.name("the name of the signature" if signature else "the callee's name")
        params: list[Type] = []
        places: list[int] = []
        named = -1
        self.need("(")
        if not self.take(")"):
            while True:
                if named < 0 and self.take("..."):
                    named = len(params)
                else:
                    params.append(self.type())
                    places.append(self.argument_place())
                if self.take(")"):
                    break
                if not self.take(","):
                    raise self.expected("`,` or `)`")
        result, results = self.results()
        self._reference(self.callees, name, len(self.f.callees))
        self.f.callees.append(Callee(name, params, result, named=named, signature=signature, places=tuple(places) if any(places) else (), results=results))

    def argument_place(self) -> int:
        """Where an argument goes, behind its type."""
        for place, word in PLACES.items():
            if self.take(word):
                return place
        return TOGETHER + self.count("how many parts there are") if self.take("together") else USUAL

    def results(self) -> tuple[Type, tuple[Type, ...]]:
        """What is returned: one result, or several, which are in memory of the caller's for the function itself."""
        if not self.take("->"):
            return VOID, ()
        types = [self.type()]
        while self.take(","):
            types.append(self.type())
        return (types[0], ()) if len(types) == 1 else (VOID, tuple(types))

    def h_signature(self) -> None:
        self.h_callee(True)

    def h_global(self) -> None:
        name = self.name("the name of the global")
        self._reference(self.globals, name, len(self.f.globals))
        self.f.globals.append(Global(name))

    def h_site(self) -> None:
        array = self.name("the array's name")
        self.need("dimension")
        dimension = self.count("the number of the dimension")
        self.need("line")
        line = self.count("the user's line")
        self.f.sites.append(Site(array, dimension, line, self.string()))

    def h_slot(self) -> None:
        number = len(self.f.slots)
        if self.kinds[self.at] != "slot" or int(self.texts[self.at][2:]) != number:
            raise self.expected(f"@s{number}, the next slot")
        self.at += 1
        self.need(":")
        incoming = self.take("incoming")
        if not incoming and not self.take("spill"):
            raise self.expected("`spill` or `incoming`")
        size = self.count("the slot's size in bytes")
        self.need("at")
        self.f.slots.append(Slot(INCOMING if incoming else SPILL, size, self.integer("the slot's offset in bytes")))

    def h_frame(self) -> None:
        self.f.frame = frame = Frame()
        self.need("size")
        frame.size = self.count("bytes of slots")
        self.need("outgoing")
        frame.outgoing = self.count("bytes of arguments")
        self.need("align")
        frame.align = self.count("an alignment in bytes")
        frame.calls = self.take("calls")
        frame.moves = self.take("moves")
        if self.take("saved"):
            while True:
                if self.kinds[self.at] != "physical":
                    raise self.expected("a physical register")
                frame.saved.append(self.physical_register())
                if not self.take(","):
                    return

    # --- instructions -------------------------------------------------------------------------------------

    def instruction(self) -> Instr:
        """The instruction on the current line."""
        f = self.f
        if self.kinds[0] == "word" and self.texts[1] == ":" and _LABEL.fullmatch(self.texts[0]):
            number = int(self.texts[0][1:])
            self.at = 2
            if self.take("align"):
                f.aligned.add(number)
            self.done()
            return Instr(ops.LABEL, VOID, NONE, [], number, self.user_line)
        dst = NONE
        place = self.place()
        if place is not None:
            dst = place
            self.need("=")
        word = self.word("an operation")
        column = self.columns[self.at - 1]
        name, *suffixes = word.split(".")
        op = ops.BY_NAME.get(name)
        if op is None:
            raise self.error(f"expected an operation, found `{name}`", column)
        type_ = source = VOID
        if len(suffixes) > 2:
            raise self.error(f"expected at most two types after `{name}`", column)
        if suffixes:
            type_ = self._type_named(suffixes[0], column + len(name) + 1, True)
        if len(suffixes) > 1:
            source = self._type_named(suffixes[1], column + len(name) + len(suffixes[0]) + 2)
        if op.types and type_ is VOID:
            example = (
                "f32x8"
                if "vector" in op.types
                else "i32"
                if "int" in op.types
                else "f32"
                if "float" in op.types
                else "mask32x8"
                if "mask" in op.types
                else "ptr"
            )
            raise self.error(f"expected a type after the operation, as in {name}.{example}", column)
        if "S" in op.operands and source is VOID:
            raise self.error(f"expected a second type, that of the operand, as in {name}.{type_.name}.i32", column)
        if not op.types and suffixes and op is not ops.RET and op.operands != ("B",):
            raise self.error(f"expected `{name}` without a type", column + len(name))
        if dst != NONE and not op.result:
            raise self.error(f"expected no result, `{name}` has none", self.columns[0])
        instr = Instr(op, type_, dst, [], 0, self.user_line, source)
        values = self._operands(instr)
        if op is ops.FOR:
            self._loop(instr)
        elif self.take("imm"):
            instr.imm = self.integer("a number")
        self.done()
        if not f.physical and dst >= 0:
            self.define(dst, ops.result_type(op, type_, source), self.columns[0])
        self._resolve(instr, values)
        if instr.mem is not None and not instr.mem.size:
            instr.mem.size = natural_size(instr)
        return instr

    def _resolve(self, instr: Instr, values: list[int | _Literal]) -> None:
        """Operands, with literals made constants of the types their places ask for."""
        args = instr.args
        literals = False
        for value in values:
            if isinstance(value, _Literal):
                literals = True
                args.append(0)
            else:
                args.append(value)
        if literals:
            types = operand_types(self.f, instr)
            for position, value in enumerate(values):
                if isinstance(value, _Literal):
                    args[position] = self.constant(value, types[position])

    def _operands(self, instr: Instr) -> list[int | _Literal]:
        op = instr.op
        out: list[int | _Literal] = []
        if op in ops.CALLING:
            instr.imm = self._named(self.callees, "callee")
            self.need("(")
            return self.values(")")
        if op is ops.GLOBAL or op is ops.FUNCTION:
            number = self._named(self.globals, "global") if op is ops.GLOBAL else self._named(self.callees, "callee")
            return [self.f.const(I64, number)]
        address: list[int | _Literal] = []
        comma = False
        if op in _DEPTH_OPS:
            instr.imm = self.count("how many brackets to leave")
            comma = True
        elif op in _COUNT_OPS:
            instr.imm = self.count("a number") if op.result != "P" and "P" not in op.further else self.integer("a number of bytes", 1 - LIMIT, LIMIT - 1)
            comma = True
        elif op in _LABEL_OPS or op is ops.LABEL:
            text = self.texts[self.at]
            if self.kinds[self.at] != "word" or not _LABEL.fullmatch(text):
                raise self.expected("a label, such as L3")
            instr.imm = int(text[1:])
            self.at += 1
            comma = True
        if comma and not self.take(","):
            return out
        if self.kinds[self.at] == "end" and not comma:
            return out
        while True:
            kind = self.kinds[self.at]
            if kind == "mark" and self.texts[self.at] == "[":
                if instr.mem is not None:
                    raise self.expected("one address only")
                if op in ops.ACCESSES:
                    raise self.expected("an array's name")
                roles = op.operands
                place = roles.index("A") if "A" in roles else min(len(out), len(roles) - 1)
                if place < 0 or roles[place] == "*" or len(out) != place:
                    raise self.expected("a register or a constant here, not an address")
                self.at += 1
                instr.mem = self.address(address)
                if "A" not in roles and place < len(roles) - 1:
                    instr.mem.role = place
            elif op in ops.ACCESSES and (kind == "word" or self.texts[self.at] == "#") and self.texts[self.at] not in ("true", "false", "inf", "nan"):
                instr.imm = self._named(self.arrays, "array")
                self.need("[")
                return out + self.values("]")
            elif not out and kind == "word" and not comma and self.texts[self.at] == "imm":
                return out
            else:
                out.append(self.value())
            if not self.take(","):
                if op in ops.ACCESSES:
                    raise self.expected("`,` and an array element, such as x[%i]")
                # Addresses come behind the other operands, and scratch registers behind these.
                at = op.operands.index("A") if "A" in op.operands else len(op.operands) - 1
                if address and len(out) < at:
                    raise self.expected("`,` and another operand")
                return out[:at] + address + out[at:] if address else out

    def _named(self, table: dict[str, int], what: str) -> int:
        """The number of an array, callee or global from its name, from ``#number``, or from both."""
        column = self.columns[self.at]
        text = "" if self.texts[self.at] == "#" else self.name(f"the name of the {what}")
        if self.take("#"):
            text += f"#{self.count(f'the number of the {what}')}"
        number = table.get(text)
        if number is None:
            raise self.error(f"expected a declared {what}, found `{text}`", column)
        if number < 0:
            raise self.error(f"expected `#` and a number, because several have the name `{text}`", column)
        return number

    def _loop(self, instr: Instr) -> None:
        """What the front end said of a ``for``, behind its operands."""
        f = self.f
        mask = NONE
        lanes = self.take("lanes")
        if self.take("mask"):
            column = self.columns[self.at]
            mask = self.register()
            self.need(":")
            self.define(mask, self.type(), column)
        whole = (lanes or mask != NONE) and self.take("whole")
        free = lanes and self.take("free")
        rest = (lanes or mask != NONE) and self.take("rest")
        if self.take("unroll"):
            instr.loop = Loop(mask, self.count("how many steps to unroll"), None, lanes, whole, rest, free)
        elif mask != NONE or lanes:
            instr.loop = Loop(mask, int(not lanes), None, lanes, whole, rest, free)
        while self.take("accumulate"):
            if instr.loop is None:
                instr.loop = Loop()
            variable = self.register()
            column = self.columns[self.at]
            op = ops.BY_NAME.get(self.word("an operation"))
            if op is None:
                raise self.error("expected an operation", column)
            identity = self.value()
            if isinstance(identity, _Literal):
                identity = self.constant(identity, f.types[variable])
            instr.loop.accumulators.append((variable, op, identity))


_HEADER: Final = {
    "stage": _Parser.h_stage,
    "target": _Parser.h_target,
    "physical": _Parser.h_physical,
    "file": _Parser.h_file,
    "labels": _Parser.h_labels,
    "option": _Parser.h_option,
    "restrict": _Parser.h_restrict,
    "array": _Parser.h_array,
    "var": _Parser.h_var,
    "reg": _Parser.h_reg,
    "callee": _Parser.h_callee,
    "signature": _Parser.h_signature,
    "global": _Parser.h_global,
    "site": _Parser.h_site,
    "slot": _Parser.h_slot,
    "frame": _Parser.h_frame,
}


def parse_all(text: str, file: str = "<ir>", target: Any = None) -> list[Function]:
    """All functions of a text, in order. Raises ``ParseError``."""
    parser = _Parser(text, file, target)
    out = []
    while parser.next_line():
        if parser.kinds[0] != "word" or parser.texts[0] != "function":
            raise parser.expected("`function`")
        out.append(parser.function())
    return out


def parse_parts(text: str, file: str = "<ir>") -> tuple[list[Global], list[Function]]:
    """The globals and the functions of a module's text, each in order. Raises ``ParseError``."""
    parser = _Parser(text, file, None)
    globals_: list[Global] = []
    functions: list[Function] = []
    while parser.next_line():
        if parser.kinds[0] == "word" and parser.texts[0] == "global":
            globals_.append(parse_global(parser))
        elif parser.kinds[0] == "word" and parser.texts[0] == "function":
            functions.append(parser.function())
        else:
            raise parser.expected("`function` or `global`")
    return globals_, functions


def parse(text: str, file: str = "<ir>", target: Any = None) -> Function:
    """The function that ``text`` describes.

    Args:
        text: as ``print_function`` prints it, or written by hand.
        file: for error messages.
        target: knows the names of physical registers, for functions after allocation.

    Raises ``ParseError``, with line and column, for any text that is not one function.
    """
    parser = _Parser(text, file, target)
    if not parser.next_line():
        raise parser.expected("`function`")
    made = parser.function()
    if parser.next_line():
        raise parser.expected("the end of the text")
    return made
