"""The rules of the representation, checked in one walk over the list.

What is checked: brackets, and how deep they nest; that each operation may stand at the function's stage; operand counts and
types against the rows; constants' types; that a register which is no variable is defined once, and before its uses on every
path; that a variable is written on some path before it is read; numbers of arrays, callees, sites, labels and slots; branch
depths; results; what a loop over lanes says of its mask and its accumulators; that every path of a function with a result
returns; and after allocation, that registers exist and are of the right class, and that callee-saved ones are saved before
they are written.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, Final

from loopwright.errors import VerifyError
from loopwright.ir import ops
from loopwright.ir.brackets import BLOCK, DEEPEST, DEEPEST_LOOPS, DO, ELIF, ELSE, FOR, IF, KIND, LOOP, PLAIN, THEN, WHILE, BracketError, match
from loopwright.ir.function import MOST_ALIGNED, MOST_LOCAL, MOST_UNROLLED, NONE, SLOT, Array, Callee, Function, Instr, Loop
from loopwright.ir.roles import address_at, operand_types
from loopwright.ir.stages import STAGES
from loopwright.types import BOOL, I32, I64, KIND_BOOL, KIND_MASK, KIND_PTR, PTR, U8, VOID, Type, same_lanes

__all__ = ["verify"]

_ADVANCES: Final = frozenset(ops.ADVANCES.values())
_STORES_SOME: Final = frozenset(ops.STORE_SOME.values())
_DEPTH_OPS: Final = frozenset((ops.BR, ops.BR_IF, *ops.BR_CMP.values()))
_JUMP_OPS: Final = frozenset((ops.JUMP, ops.JUMP_TABLE, ops.JUMP_IF, ops.JUMP_UNLESS, *ops.JUMP_CMP.values()))
_TAIL_CALLS: Final = frozenset(ops.TAIL_CALLS.values())
#: Bytes in front of the arguments on the stack that a frame may have room for: eight registers'.
_BELOW: Final = 64
_SHAPES: Final = frozenset(("scalar", "vector"))


def _same_register(held: Type, want: Type, selected: bool) -> bool:
    """Whether a register that holds one type may be read as another: whole words, and, once instructions are selected, what is held extended (narrow integers to 32 bits, of 32 bits to words), and lanes as lanes of the same width."""
    if want.lanes:
        return selected and same_lanes(held, want)
    if want.is_word:
        return held.is_word or (selected and (held.is_half_word or held.is_narrow))
    return selected and want.is_half_word and (held.is_half_word or held.is_narrow)


#: Behind every instruction.
_NOWHERE: Final = 1 << 60

_SWITCHES: Final = STAGES.index("switches")
_ELIF: Final = STAGES.index("elif")
_SELECT: Final = STAGES.index("select")
_ALLOCATE: Final = STAGES.index("allocate")
_JUMPS: Final = STAGES.index("jumps")
_UNROLL: Final = STAGES.index("unroll")
_VECTORIZE: Final = STAGES.index("vectorize")


class _Bracket:
    """An open bracket.

    Attributes:
        kind: of the marker that began it.
        entry: how many registers are defined where its next section begins (a condition that fails goes there).
        left: how many were defined where a path left it first; -1 when none has.
        left_at: the instruction that did.
        start: how many were defined where it began.
        only: those defined since on the only path that leaves it so far; None with several.
        live: some path reaches the next section.
        implicit: leaving without entering any section is possible (an ``if`` without ``else``, a ``while`` in its condition).
    """

    __slots__ = ("entry", "implicit", "kind", "left", "left_at", "live", "only", "start")

    def __init__(self, kind: int, entry: int, live: bool) -> None:
        self.kind = kind
        self.live = live
        self.start = entry
        self.only: list[int] | None = None
        self.entry = entry
        self.left = -1
        self.left_at = _NOWHERE
        self.implicit = kind in (IF, WHILE)


def _word(type_: Type) -> str:
    """What an operation's row calls the kind of a type's elements."""
    kind = type_.kind
    if kind == KIND_MASK:
        return "mask"
    if kind == KIND_PTR:
        return "ptr"
    if type_.is_float:
        return "float"
    if kind == KIND_BOOL:
        return "bool"
    return "int" if type_.is_integer else "void"


class _Verifier:
    """One walk. ``trail`` lists the registers defined on every path to the current point, in order."""

    def __init__(self, f: Function, target: Any) -> None:
        self.f = f
        self.target = target
        self.physical = f.physical
        self.stage = STAGES.index(f.stage) if f.stage in STAGES else -1
        self.count = len(f.types)
        self.trail: list[int] = []
        # The truncations of the trail (instruction, length left) that no later one went below.
        self.cut_at: list[int] = []
        self.cut_to: list[int] = []
        # Accumulators of the loop over lanes around, with what combines them; registers that hold one as updated so far.
        self.accumulating: dict[int, ops.Op] = {}
        self.updated: dict[int, int] = {}
        self.lanes_end = -1
        # Loops that are open.
        self.loops = 0
        self.partner: list[int] = []
        self.defined = bytearray(len(f.types))
        self.once = bytearray(len(f.types))
        self.first_write: list[int] = []
        self.open: list[_Bracket] = []
        self.reachable = True
        self.index = -1

    def error(self, problem: str, index: int = -1) -> VerifyError:
        """The error for the instruction at ``index`` (the current one by default)."""
        from loopwright.ir.text import instruction_text

        f = self.f
        if index < 0:
            index = self.index
        if not 0 <= index < len(f.code):
            return VerifyError(f"{f.name}: {problem}", f.file)
        instr = f.code[index]
        return VerifyError(f"{f.name}: instruction {index} `{instruction_text(f, instr, self.target)}`: {problem}", f.file, instr.line)

    def shown(self, operand: int) -> str:
        from loopwright.ir.text import Printer

        return Printer(self.f, self.target).operand(operand)

    # --- definitions --------------------------------------------------------------------------------------

    def define(self, r: int) -> None:
        f = self.f
        if f.variable[r]:
            return
        if self.once[r]:
            raise self.error(f"{self.shown(r)} is defined a second time and is not a variable")
        self.once[r] = 1
        self.defined[r] = 1
        self.trail.append(r)

    def truncate(self, length: int) -> None:
        """Forget definitions from ``length`` on: not every path to here passes them."""
        trail = self.trail
        if len(trail) > length:
            defined = self.defined
            for r in trail[length:]:
                defined[r] = 0
            del trail[length:]
            at, to = self.cut_at, self.cut_to
            while to and to[-1] >= length:
                at.pop()
                to.pop()
            at.append(self.index)
            to.append(length)

    def leave(self, bracket: _Bracket) -> None:
        """A path from here goes to the end of ``bracket``."""
        if self.reachable:
            if bracket.left < 0:
                bracket.only = self.trail[bracket.start :]
                bracket.left = len(self.trail)
                bracket.left_at = self.index
            else:
                bracket.only = None

    def defined_on_exits(self, bracket: _Bracket) -> int:
        """How many registers are defined on every path that leaves ``bracket``: the least since it was left first."""
        k = bisect_left(self.cut_at, bracket.left_at)
        return min(bracket.left, self.cut_to[k]) if k < len(self.cut_to) else bracket.left

    def branch(self, depth: int) -> None:
        if not 0 <= depth < len(self.open):
            raise self.error(f"branch depth {depth} with {len(self.open)} brackets open")
        bracket = self.open[-1 - depth]
        if bracket.kind in (BLOCK, IF):
            self.leave(bracket)
        elif bracket.implicit:
            raise self.error("a branch to a `while` from its own condition")

    def marker(self, instr: Instr, kind: int) -> None:
        """What a bracket marker does to the paths and the registers defined on them."""
        opened = self.open
        trail = self.trail
        if kind < ELIF:
            # (Later passes put brackets around brackets.)
            if len(opened) >= DEEPEST and self.stage < _ELIF:
                raise self.error(f"brackets nest at most {DEEPEST} deep")
            if kind in (LOOP, FOR, WHILE):
                self.loops += 1
                if self.loops > DEEPEST_LOOPS:
                    raise self.error(f"loops nest at most {DEEPEST_LOOPS} deep")
        if kind == FOR:
            bracket = _Bracket(FOR, len(trail), self.reachable)
            opened.append(bracket)
            self.define_result(instr, I64)
            if instr.loop is not None and instr.loop.mask != NONE and not self.physical:
                self.define(instr.loop.mask)
        elif kind < ELIF:
            opened.append(_Bracket(kind, len(trail), self.reachable))
        elif kind in (ELIF, ELSE):
            bracket = opened[-1]
            self.leave(bracket)
            self.truncate(bracket.entry)
            self.reachable = bracket.live
            bracket.implicit = kind == ELIF
        elif kind in (THEN, DO):
            opened[-1].entry = len(trail)
            opened[-1].live = self.reachable
            opened[-1].implicit = kind == THEN
            if kind == DO and instr.args[0] < 0 and self.f.const_values[~instr.args[0]]:
                # `while true`: the only way on is out of an enclosing bracket.
                opened[-1].live = False
        else:
            bracket = opened[-1]
            kind = bracket.kind
            self.loops -= kind in (LOOP, FOR, WHILE)
            if kind == LOOP:
                opened.pop()
            elif kind in (FOR, WHILE):
                self.truncate(bracket.entry)
                opened.pop()
                self.reachable = bracket.live
            else:
                if kind == IF and bracket.implicit:
                    self.leave(bracket)
                    self.truncate(bracket.entry)
                    self.reachable = bracket.live
                if bracket.left >= 0:
                    if not self.reachable and bracket.only is not None:
                        # One path leads on, and it is not the text's last: back to what that one had defined.
                        self.truncate(bracket.start)
                        for r in bracket.only:
                            self.defined[r] = 1
                        trail += bracket.only
                    else:
                        self.truncate(self.defined_on_exits(bracket))
                    self.reachable = True
                opened.pop()

    # --- one instruction ----------------------------------------------------------------------------------

    def check_type(self, instr: Instr) -> None:
        """The instruction's type, and the stage, against the row's."""
        op = instr.op
        if not op.since <= self.stage < op.until:
            which = f"comes with the pass {STAGES[op.since]}" if self.stage < op.since else f"goes with the pass {STAGES[op.until]}"
            raise self.error(f"`{op.name}` {which}; the function's stage is {self.f.stage}")
        type_ = instr.type
        words = op.types
        if not words:
            # Conditions may say that they test a bool, and a return what it returns.
            if type_ is not VOID and not (type_ is BOOL and op.operands == ("B",)) and not (type_ is self.f.result and op is ops.RET):
                raise self.error(f"`{op.name}` takes no type")
            return
        word = _word(type_)
        shape = "vector" if type_.lanes else "scalar"
        if word not in words or (not _SHAPES.isdisjoint(words) and shape not in words):
            raise self.error(f"`{op.name}` does not take {type_.name}: it takes {' '.join(sorted(words))}")
        if "S" in op.operands:
            source = instr.source
            if op is ops.BITCAST:
                if source.size != type_.size or not source.size:
                    raise self.error(f"{source.name} and {type_.name} differ in width")
            elif op is ops.SHUFFLE_BYTES:
                if source.size != type_.size and max(source.size, type_.size) > 16 or not source.size:
                    raise self.error(f"{source.name} and {type_.name} differ in width")
            elif op is ops.LOOKUP_BYTES:
                if source.size != max(type_.size, 16) or not source.is_integer:
                    raise self.error(f"{source.name} has no 16 bytes for each 128 bits of {type_.name}")
            elif op in ops.GROUPED:
                if source.size != type_.size or source.is_integer != type_.is_integer or source.bits >= type_.bits:
                    raise self.error(f"{source.name} has no lanes that take the places of those of {type_.name}")
            elif source.lanes != type_.lanes or source.is_mask != type_.is_mask or source is VOID:
                raise self.error(f"{source.name} and {type_.name} differ in their lanes")
            elif op in ops.UNCHECKED and not source.is_float:
                raise self.error(f"{source.name} is no float")

    def check_operands(self, instr: Instr, wanted: list[Type]) -> None:
        args = instr.args
        given = len(args)
        f = self.f
        if given < len(wanted):
            raise self.error(f"{given} operands, needs {len(wanted)}")
        mem = instr.mem
        op = instr.op
        if mem is not None:
            if not op.operands or "*" in op.operands or "*L" in op.operands:
                raise self.error(f"`{op.name}` has no operand in memory")
            if self.stage < _SELECT and "A" not in op.operands:
                raise self.error("operands in memory come with the pass select")
            if mem.array >= len(f.arrays):
                raise self.error(f"there is no array number {mem.array}")
            if mem.indexed and mem.scale < 1:
                raise self.error(f"scale {mem.scale}")
            if mem.broadcast and not instr.type.lanes:
                raise self.error("a broadcast needs a vector")
            if mem.origin is not None:
                if self.stage < _SELECT:
                    raise self.error(f"addresses that begin with `{mem.origin.name}` come with the pass select")
                self.check_numbered(mem.origin, args[address_at(instr)])
        elif "A" in op.operands:
            raise self.error("no address")
        physical = self.physical
        for position in range(given):
            x = args[position]
            want = wanted[position]
            if x < 0:
                number = ~x
                if number >= len(f.const_types):
                    raise self.error(f"there is no constant number {number}")
                if want is VOID:
                    if op not in ops.CALLING:
                        raise self.error(f"operand {position} is one too many")
                elif f.const_types[number] is not want:
                    raise self.error(f"the constant {self.shown(x)} stands where {want.name} is needed")
                elif position < len(op.operands) and op.operands[position] == "K" and not 0 <= f.const_values[number] <= instr.type.lanes:
                    raise self.error(f"operand {position} is {f.const_values[number]}, not from 0 to {instr.type.lanes}")
            elif position < len(op.operands) and op.operands[position] in ("K", "C"):
                raise self.error(f"operand {position} must be a constant")
            elif physical:
                if want is not VOID:
                    self.check_physical(x, want)
                elif op not in ops.CALLING and (x >= SLOT or not op.operands or op.operands == ("*",)):
                    raise self.error(f"operand {position} is one too many")
            else:
                if x >= self.count:
                    raise self.error(f"there is no register {self.shown(x)}")
                if want is VOID:
                    if op not in ops.CALLING:
                        raise self.error(f"{given} operands, takes {position}")
                elif f.types[x] is not want and not (f.target_name and self.may_be_read(x, want, op is ops.STORE_AT and position == 0)):
                    raise self.error(f"{self.shown(x)} is {f.types[x].name}, needs {want.name}")
                if not self.defined[x]:
                    self.check_defined(x)

    def may_be_read(self, x: int, want: Type, stored: bool) -> bool:
        """Whether a register that holds another type may be read as this one; where its low bits are stored, what holds a wider integer."""
        held, selected = self.f.types[x], self.stage >= _SELECT
        return _same_register(held, want, selected) or (selected and stored and want.is_narrow and (held.is_half_word or held.is_word or held.is_narrow))

    def check_defined(self, x: int) -> None:
        """A register that is not defined on every path to here."""
        f = self.f
        if not f.variable[x]:
            if self.once[x]:
                raise self.error(f"{self.shown(x)} is used where a path has not defined it")
            for position in range(self.index, len(f.code)):
                if f.code[position].dst == x:
                    raise self.error(f"{self.shown(x)} is used before it is defined, by instruction {position}")
            raise self.error(f"{self.shown(x)} is never defined")
        first = self.first_write[x]
        if first < self.index:
            return
        # A later write reaches this read only around a loop that holds both.
        loop_end = self.loop_ends[self.index]
        if first >= loop_end:
            raise self.error(f"the variable {self.shown(x)} is read before anything is written to it")

    def check_physical(self, x: int, want: Type) -> None:
        f = self.f
        target = self.target
        if x >= SLOT:
            number = x - SLOT
            if number >= len(f.slots):
                raise self.error(f"there is no slot {self.shown(x)}")
            if target is not None and f.slots[number].size < target.spill_size(want):
                raise self.error(f"{self.shown(x)} has {f.slots[number].size} bytes, {want.name} needs {target.spill_size(want)}")
        elif target is not None:
            if x >= len(target.registers):
                raise self.error(f"{target.name} has no register {x}")
            if target.registers[x].cls != target.class_of(want):
                raise self.error(f"{self.shown(x)} cannot hold {want.name}")

    def define_result(self, instr: Instr, type_: Type) -> None:
        dst = instr.dst
        if dst == NONE:
            return
        if self.physical:
            if dst < 0:
                raise self.error("a constant as the result")
            self.check_physical(dst, type_)
            self.check_saved(dst)
            return
        if not 0 <= dst < self.count:
            raise self.error(f"there is no register {self.shown(dst)}")
        held = self.f.types[dst]
        if held is not type_ and not (self.stage >= _SELECT and instr.op in ops.CLOSED and type_ is I32 and held.is_narrow):
            raise self.error(f"{self.shown(dst)} is {held.name}, the result is {type_.name}")
        self.define(dst)

    def check_saved(self, dst: int) -> None:
        frame = self.f.frame
        if frame is None or self.target is None or dst >= SLOT:
            return
        if self.target.convention.callee_saved >> dst & 1 and dst not in frame.saved:
            raise self.error(f"{self.shown(dst)} belongs to the caller, and the frame does not save it")

    def check_numbers(self, instr: Instr) -> None:
        """The ``imm`` of operations that number something."""
        op = instr.op
        f = self.f
        imm = instr.imm
        if op in ops.ACCESSES:
            if not 0 <= imm < len(f.arrays):
                raise self.error(f"there is no array number {imm}")
            array = f.arrays[imm]
            # A condition in memory is a byte.
            if instr.type.element is not array.element and not (array.element is BOOL and instr.type.element is U8):
                raise self.error(f"array {array.name} has elements of {array.element.name}")
            if array.size and not self.defined[array.base]:
                self.check_defined(array.base)
            if array.view:
                for x in (array.base, *array.extents, *array.strides):
                    if x >= 0 and not self.defined[x]:
                        self.check_defined(x)
            before = ops.ACCESSES[op]
            if len(instr.args) - before != len(array.extents):
                raise self.error(f"array {array.name} has {len(array.extents)} dimensions, {len(instr.args) - before} indices are given")
            if op.effect == ops.WRITES and not array.written:
                raise self.error(f"array {array.name} is not marked as written")
        elif op in ops.CALLING:
            if not 0 <= imm < len(f.callees):
                raise self.error(f"there is no callee number {imm}")
            self.check_call(instr, f.callees[imm])
        elif op is ops.FAIL:
            if not 0 <= imm < len(f.sites):
                raise self.error(f"there is no site number {imm}")
            if not instr.args:
                raise self.error("nowhere to record the failure")
        elif (op in _JUMP_OPS or op is ops.LABEL) and not 0 <= imm < f.labels:
            raise self.error(f"there is no label L{imm}: the function has {f.labels}")
        elif op.parts > 1 and op.until <= _SELECT and not 0 <= imm < op.parts:
            raise self.error(f"there is no part {imm} of {op.parts}")
        elif op in _STORES_SOME and not 0 < imm < 1 << 16:
            raise self.error(f"{imm} has no bits for 16 bytes")
        elif op in _ADVANCES and instr.mem is not None and (instr.mem.indexed or instr.mem.disp not in (0, imm)):
            raise self.error("the access is neither where its pointer is before nor where it is behind")

    def check_call(self, instr: Instr, callee: Callee) -> None:
        """What is called, and with how many arguments."""
        op = instr.op
        by_address = op in ops.INDIRECT
        if callee.signature != by_address:
            what = (
                "a signature, for calls by address: write call_indirect"
                if callee.signature
                else "a function: declare the signature of calls by address with `signature`"
            )
            raise self.error(f"{callee.name} is {what}")
        if callee.results and (callee.result is not VOID or not callee.params or callee.params[-1] is not PTR):
            raise self.error(f"{callee.name} has several results: its last argument is the address of memory for them")
        given = len(instr.args) - by_address
        if given < 0:
            raise self.error("no address to call")
        if (op is ops.CALL or op is ops.CALL_INDIRECT) and instr.type is not callee.result:
            raise self.error(f"{callee.name} returns {callee.result.name}")
        if given == len(callee.params):
            return
        if given > len(callee.params) or self.stage < _SELECT:
            raise self.error(f"{callee.name} takes {len(callee.params)} arguments, {given} are given")
        self.check_stack_arguments(instr, instr.args[by_address:])

    def check_part(self, instr: Instr) -> None:
        """One more result of an instruction with several, which is right in front, but for the others and what allocation puts between."""
        code = self.f.code
        at = self.index - 1
        while at >= 0 and self.physical and code[at].op is ops.COPY:
            at -= 1
        before = code[at] if at >= 0 else None
        number = 0 if before is None else before.imm + 1 if before.op is ops.PART else 1
        while at > 0 and (code[at].op is ops.PART or (self.physical and code[at].op is ops.COPY)):
            at -= 1
            before = code[at]
        if (
            before is None
            or number != instr.imm
            or number > len(before.op.further)
            or ops.type_for(before.op.further[number - 1], before.type) is not instr.type
        ):
            raise self.error("the instruction in front has no such result")

    def check_stack_arguments(self, instr: Instr, args: list[int]) -> None:
        """A call with fewer operands than parameters: the others were put on the stack by ``store_arg``."""
        f = self.f
        callee = f.callees[instr.imm]
        stored: dict[int, Type] = {}
        position = self.index - 1
        while position >= 0 and f.code[position].op not in ops.CALLING:
            if f.code[position].op is ops.STORE_ARG:
                stored[f.code[position].imm] = f.code[position].type
            position -= 1
        missing = len(callee.params) - len(args)
        if len(stored) < missing:
            raise self.error(f"{callee.name} takes {missing + len(args)} arguments, {len(args)} are given and {len(stored)} on the stack")
        if self.target is None or self.physical:
            return
        convention = self.target.convention
        taken = 0
        for place, want in zip(convention.assign_for(callee), callee.params, strict=True):
            if place < 0:
                found = stored.get(~place + convention.shadow, VOID)
                where = f"on the stack at {~place + convention.shadow}"
            else:
                found = f.type_of(args[taken]) if taken < len(args) else VOID
                where = f"as operand {taken}"
                taken += 1
            if found is not want and not (found.is_word and want.is_word):
                raise self.error(f"{callee.name} takes {want.name} {where}, which is {found.name}")

    def check_loop(self, instr: Instr) -> None:
        f = self.f
        if len(instr.args) != 3:
            raise self.error(f"{len(instr.args)} operands, needs 3")
        if not 0 <= instr.dst < self.count:
            raise self.error("a loop without an index")
        step = instr.args[2]
        if not -len(f.const_types) <= step < 0:
            raise self.error("the step must be a constant")
        if f.const_values[~step] == 0:
            raise self.error("the step must not be 0")
        if self.physical:
            return
        if 0 <= instr.dst < self.count and f.variable[instr.dst]:
            raise self.error(f"{self.shown(instr.dst)} is a variable, and a `for` counts in a register of its own")
        if instr.loop is not None:
            self.check_lanes(instr, instr.loop)

    def check_lanes(self, instr: Instr, loop: Loop) -> None:
        """What a ``for`` says of its mask and its accumulators."""
        f = self.f
        if not 0 <= loop.unroll <= MOST_UNROLLED:
            raise self.error(f"at most {MOST_UNROLLED} steps are unrolled")
        if loop.lanes:
            if self.stage >= _VECTORIZE:
                raise self.error("`lanes` goes with the pass vectorize")
            if loop.mask != NONE:
                raise self.error("a loop over lanes has a mask when it is one over vectors")
            if f.const_values[~instr.args[2]] not in (1, -1):
                raise self.error("the step of a loop over lanes is 1 or -1")
            if self.index < self.lanes_end:
                raise self.error("a loop over lanes inside another")
            self.lanes_end = self.partner[self.index]
        if loop.mask != NONE:
            if self.stage >= _UNROLL:
                raise self.error("the mask of a loop goes with the pass unroll")
            if not 0 <= loop.mask < self.count or not f.types[loop.mask].is_mask:
                raise self.error("the loop's mask is not a mask")
            if f.variable[loop.mask]:
                raise self.error(f"the loop's mask {self.shown(loop.mask)} is a variable")
            if f.const_values[~instr.args[2]] < f.types[loop.mask].lanes:
                raise self.error(f"the step must be at least the {f.types[loop.mask].lanes} lanes of the mask")
            if self.index < self.lanes_end:
                raise self.error("a loop over lanes inside another")
            self.lanes_end = self.partner[self.index]
        for variable, op, identity in loop.accumulators:
            if not 0 <= variable < self.count or not f.variable[variable]:
                raise self.error(f"the accumulator {self.shown(variable)} is not a variable")
            type_ = f.types[variable]
            if op.reduction is None or _word(type_) not in op.reduction.types:
                able = ", ".join(other.name for other in ops.OPS if other.reduction is not None and _word(type_) in other.reduction.types)
                raise self.error(f"accumulators of {type_.name} are not combined by `{op.name}`" + (f", but by {able}" if able else ""))
            if not -len(f.const_types) <= identity < self.count or f.type_of(identity) is not type_:
                raise self.error(f"the identity of {self.shown(variable)} is not {type_.name}")
            if identity >= 0:
                if not self.defined[identity]:
                    self.check_defined(identity)
                if op.neutral is not None:
                    raise self.error(f"the identity of `{op.name}` is the constant {op.neutral}")
            elif op.neutral is not None and f.const_values[~identity] != op.neutral:
                raise self.error(f"the identity of `{op.name}` is {op.neutral}, not {self.shown(identity)}")
            if variable in self.accumulating:
                raise self.error(f"{self.shown(variable)} is accumulated twice")
            self.accumulating[variable] = op

    def check_accumulators(self, instr: Instr) -> None:
        """In a loop an accumulator is updated by what combines it, and nothing else reads or writes it.

        So each copy of an unrolled body can have one of its own: what a step adds does not depend on what there is.
        """
        op = instr.op
        dst = instr.dst
        args = instr.args
        carriers: dict[int, int] = {}
        for position, a in enumerate(args):
            of = a if a in self.accumulating else self.updated.get(a, NONE)
            if of != NONE:
                carriers[position] = of
        updates = dst in self.accumulating
        if not carriers:
            if updates:
                raise self.error(f"the accumulator {self.shown(dst)} is written, not updated")
            return
        of = next(iter(carriers.values()))
        if op is ops.SELECT:
            fits = len(carriers) == 2 and 0 not in carriers and carriers[1] == carriers[2]
        elif op is ops.COPY:
            fits = True
        else:
            combined, place = ops.UPDATES.get(op, (op, -1))
            fits = combined is self.accumulating[of] and len(carriers) == 1 and (place < 0 or place in carriers)
        if not fits or dst < 0 or (dst != of if updates else self.f.variable[dst]):
            raise self.error(f"the accumulator {self.shown(of)} is not updated by `{self.accumulating[of].name}` alone")
        if not updates:
            self.updated[dst] = of

    def end_accumulating(self, loop: Loop) -> None:
        for variable, _op, _identity in loop.accumulators:
            del self.accumulating[variable]
        if not self.accumulating:
            self.updated.clear()

    # --- the whole ----------------------------------------------------------------------------------------

    def header(self) -> None:
        f = self.f
        for r in f.params:
            if not 0 <= r < self.count:
                raise self.error(f"there is no register %{r}, a parameter")
            if self.once[r]:
                raise self.error(f"the parameter {self.shown(r)} appears twice")
            if f.types[r].lanes or f.types[r] is VOID:
                raise self.error(f"a parameter of type {f.types[r].name}")
            self.once[r] = 1
            self.defined[r] = 1
        # (The pass select adds some of its own.)
        if self.stage < _SELECT and f.local_offset(len(f.arrays)) > MOST_LOCAL:
            raise self.error(f"the local arrays take {f.local_offset(len(f.arrays))} bytes together, more than {MOST_LOCAL}")
        for array in f.arrays:
            if len(array.extents) < 1 or len(array.strides) != len(array.extents) - 1:
                raise self.error(f"array {array.name} has {len(array.extents)} extents and {len(array.strides)} strides")
            if array.size:
                self.check_local(array)
                continue
            if array.view:
                self.check_view(array)
                continue
            for r in (array.base, *array.extents, *array.strides):
                if r < 0 and r in array.extents and ~r < len(f.const_types) and f.const_types[~r] is I64:
                    # (It has been asked for.)
                    continue
                if not 0 <= r < self.count or not self.once[r]:
                    raise self.error(f"array {array.name}: %{r} is not a parameter")
                if f.types[r] is not (PTR if r == array.base else I64):
                    raise self.error(f"array {array.name}: %{r} is {f.types[r].name}")
        if f.result.lanes or f.result.is_mask:
            raise self.error(f"a result of type {f.result.name}: only scalars can be returned")

    def check_numbered(self, op: ops.Op, operand: int) -> None:
        """What an address is of, by number."""
        f = self.f
        number = int(f.const_values[~operand]) if operand < 0 else -1
        if op is ops.GLOBAL:
            if not 0 <= number < len(f.globals):
                raise self.error(f"there is no global number {number}")
        elif op is ops.FUNCTION:
            if not 0 <= number < len(f.callees):
                raise self.error(f"there is no callee number {number}")
            if f.callees[number].signature:
                raise self.error(f"{f.callees[number].name} is a signature, which has no address: declare the function with `callee`")
        elif op is ops.INCOMING:
            if operand >= 0 or not -_BELOW <= number < 1 << 16:
                raise self.error(f"the operand of `incoming` is {number}, no number of bytes from {-_BELOW} to {(1 << 16) - 1}")
        elif op is ops.TABLE:
            if not 0 <= number < len(f.arrays) or not f.arrays[number].data:
                raise self.error("the operand of `table` is the number of a constant array")
        elif not 0 <= number < len(f.arrays) or not f.arrays[number].size or f.arrays[number].data:
            raise self.error("the operand of `local` is the number of a local array")

    def check_view(self, array: Array) -> None:
        f = self.f
        for r in (array.base, *array.extents, *array.strides):
            type_ = PTR if r == array.base else I64
            known = r < self.count if r >= 0 else ~r < len(f.const_types) and type_ is I64
            if not known or f.type_of(r) is not type_ or (r >= 0 and f.variable[r]):
                raise self.error(f"view {array.name}: its base is no pointer, or its extents and strides are no integers of 64 bits, that are written once")

    def check_local(self, array: Array) -> None:
        f = self.f
        if array.data and (len(array.data) != array.size or array.written):
            raise self.error(
                f"constant array {array.name}: {len(array.data)} of its {array.size} bytes are given"
                if not array.written
                else f"constant array {array.name} is written"
            )
        if not 0 <= array.base < self.count or f.types[array.base] is not PTR or f.variable[array.base] or self.once[array.base]:
            raise self.error(f"local array {array.name}: its base is no register of its own for a pointer")
        for x in (*array.extents, *array.strides):
            if not -len(f.const_types) <= x < 0 or f.const_types[~x] is not I64:
                raise self.error(f"local array {array.name}: its extents and strides are no constants")

    def prepare(self, partner: list[int]) -> None:
        """First write of each variable, and for each instruction where the outermost loop around it ends."""
        f = self.f
        variable = f.variable
        code = f.code
        self.first_write = first = [_NOWHERE] * self.count
        for r in f.params:
            first[r] = -1
        self.loop_ends = ends = [0] * len(code)
        end = 0
        for index, instr in enumerate(code):
            if index >= end:
                end = 0
                kind = KIND[instr.op.code] if instr.op.opens else PLAIN
                if kind in (LOOP, FOR, WHILE):
                    end = partner[index]
                    while partner[end] > end:
                        end = partner[end]
            ends[index] = end
            r = instr.dst
            if 0 <= r < self.count and variable[r] and first[r] == _NOWHERE:
                first[r] = index
            if instr.loop is not None and 0 <= instr.loop.mask < self.count and first[instr.loop.mask] == _NOWHERE:
                first[instr.loop.mask] = index

    def labels(self) -> None:
        f = self.f
        seen: set[int] = set()
        for index, instr in enumerate(f.code):
            if instr.op is ops.LABEL:
                if instr.imm in seen:
                    raise self.error(f"L{instr.imm} appears a second time", index)
                seen.add(instr.imm)
        for index, instr in enumerate(f.code):
            if instr.op in _JUMP_OPS and instr.imm not in seen:
                raise self.error(f"L{instr.imm} is nowhere", index)

    def cases(self, partner: list[int]) -> None:
        """A switch has its cases right behind it, and there are none elsewhere."""
        code = self.f.code
        stray = {index for index, instr in enumerate(code) if instr.op.compare == "case"}
        for index, instr in enumerate(code):
            if instr.op is not ops.SWITCH and instr.op is not ops.JUMP_TABLE:
                continue
            given = instr.args[1] if len(instr.args) > 1 else 0
            count = int(self.f.const_values[~given]) if -len(self.f.const_values) <= given < 0 else 0
            at = index + 1
            for _ in range(min(count, len(code))):
                if at not in stray:
                    raise self.error(f"{count} cases are to follow", index)
                stray.remove(at)
                # (What values are moved by on the way to a case stands in a bracket.)
                at = partner[at] + 1 if code[at].op is ops.IF_CASE else at + 1
            if count < 1:
                raise self.error("a switch has one case at least", index)
        if stray:
            raise self.error("the case belongs to no switch", min(stray))

    def run(self) -> None:
        f = self.f
        if self.stage < 0:
            raise self.error(f"there is no pass {f.stage}")
        if self.physical != (self.stage >= _ALLOCATE):
            whose = "virtual" if self.physical else "the target's"
            raise self.error(f"at the stage {f.stage} registers are {whose}")
        if not self.physical and (f.slots or f.frame is not None):
            raise self.error("slots and frames come with the pass allocate")
        if self.physical and f.frame is None:
            raise self.error("no frame")
        self.header()
        code = f.code
        try:
            self.partner = partner = match(code)
        except BracketError as error:
            raise self.error(error.message, error.index) from None
        if not self.physical:
            self.prepare(partner)
        if self.stage >= _SWITCHES:
            self.cases(partner)
        labelled = self.stage >= _JUMPS
        if labelled:
            self.labels()
        for index, instr in enumerate(code):
            self.index = index
            op = instr.op
            self.check_type(instr)
            if self.accumulating:
                if op is ops.END:
                    loop = code[partner[index]].loop
                    if loop is not None:
                        self.end_accumulating(loop)
                else:
                    self.check_accumulators(instr)
            if op.effect == ops.PURE:
                wanted = operand_types(f, instr)
                self.check_operands(instr, wanted)
                if op in ops.NUMBERED:
                    self.check_numbered(op, instr.args[0])
                elif op is ops.PART:
                    self.check_part(instr)
                if instr.dst == NONE:
                    raise self.error("the result goes nowhere")
                self.define_result(instr, ops.result_type(op, instr.type, instr.source))
                continue
            self.check_numbers(instr)
            if op is ops.FOR:
                self.check_loop(instr)
            if op is ops.RET and len(instr.args) != (f.result is not VOID):
                raise self.error("returns a value, the function has no result" if instr.args else f"returns nothing, the function's result is {f.result.name}")
            self.check_operands(instr, operand_types(f, instr))
            if op is ops.ALLOCA:
                align = int(f.const_values[~instr.args[1]])
                if not 0 < align <= MOST_ALIGNED or align & align - 1:
                    raise self.error(f"an alignment of {align} bytes is no power of two up to {MOST_ALIGNED}")
            if op is ops.SWAP and self.physical:
                for x in instr.args[:2]:
                    self.check_saved(x)
            kind = KIND[op.code] if op.opens or op.closes else PLAIN
            if kind != PLAIN:
                if not labelled:
                    self.marker(instr, kind)
                continue
            if instr.dst != NONE:
                if not op.result:
                    raise self.error(f"`{op.name}` has no result")
                self.define_result(instr, ops.result_type(op, instr.type, instr.source))
            if op in _DEPTH_OPS and not labelled:
                self.branch(instr.imm)
            if op is ops.RET or op is ops.FAIL or op is ops.BR or op is ops.JUMP or op is ops.UNREACHABLE or op in _TAIL_CALLS:
                self.reachable = False
            elif op is ops.LABEL:
                self.reachable = True
        if self.reachable and f.result is not VOID:
            self.index = -1
            raise self.error("a path ends without a return")


def verify(f: Function, target: Any = None) -> None:
    """Check that ``f`` follows the rules of the representation.

    Args:
        f: the function, at any stage.
        target: knows the physical registers and their classes, for functions after allocation.

    Raises ``VerifyError`` naming the instruction by its index and text, with the user's line.
    """
    _Verifier(f, target).run()
