"""The builder: functions written by calls, for programs that generate code.

::

    f = lw.Function("largest", a=lw.i64, b=lw.i64, returns=lw.i64)
    with f:
        with f.if_(f.a < f.b):
            f.ret(f.b)
        f.ret(f.a)
    f.compile()(5, 4)
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from loopwright.errors import ArgumentError, KernelSyntaxError, KernelTypeError, VerifyError
from loopwright.frontend.annotations import ArrayType
from loopwright.frontend.arrays import StagedArray, local_array, parameter_array
from loopwright.frontend.emitter import Emitter
from loopwright.frontend.expr import Value, describe, is_number
from loopwright.frontend.kernel import backend
from loopwright.frontend.native_calls import Described, call_native, callee_of
from loopwright.ir import function as ir
from loopwright.ir import ops
from loopwright.ir.description import Description
from loopwright.ir.function import NONE, Callee, Instr, Options
from loopwright.settings import Settings
from loopwright.types import BOOL, I64, PTR, VOID, Type, mask_of, vector_of

__all__ = ["Bracket", "Function", "Variable"]

_LOOPS = (ops.LOOP, ops.FOR, ops.WHILE)


class Variable(Value):
    """A variable of a builder function: used in an expression it is its value at that place in the program."""

    __slots__ = ()

    emitter: Emitter

    def set(self, value: Any) -> None:
        """Assign; the value is converted to the variable's type, except from float to integer."""
        emitter = self.emitter
        type_ = self.type
        made = emitter.assignable(value, type_.element, "the variable") if type_.element is not BOOL else emitter.condition(value)
        if type_.is_mask:
            made = emitter.as_mask(made, type_)
        elif type_.lanes and not made.type.lanes:
            made = emitter.splat(made, type_.lanes)
        if made.type is not type_:
            emitter.fail(f"the variable is {type_} and the value {made.type}")
        emitter.copy_to(self.operand, type_, made.operand)

    def get(self) -> Value:
        """The value now, unaffected by later assignments."""
        return self.emitter.value(ops.COPY, self.type, [self.operand], self.type)


class Bracket:
    """An open ``if``, loop or block: ``with f.if_(c):``. Its object can be given to ``break_`` and ``continue_``."""

    __slots__ = ("branches", "exit", "opener", "owner", "result")

    def __init__(self, owner: Function, opener: Instr, result: Any = None, exit_: Instr | None = None, branches: int = 0) -> None:
        self.owner = owner
        self.opener = opener
        self.result = result
        #: Of a loop: the block around it that breaks leave, and the branches there were when it was opened.
        self.exit = exit_
        self.branches = branches

    def __enter__(self) -> Any:
        return self.result if self.result is not None else self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.owner._closed(self)


def parse(text: str, file: str = "<ir>") -> Function:
    """A function from IR text: what ``code.ir(stage)`` prints, for the stages up to ``liveness``, can be read back and compiled on.

    Raises:
        ArgumentError: what is given is no string.
        ParseError: the text does not parse; with line and column.
        VerifyError: it parses, but breaks a rule of the representation, or its registers are allocated already.
    """
    from loopwright.ir import parse as reader
    from loopwright.ir.verify import verify

    for what, given in (("text", text), ("file", file)):
        if not isinstance(given, str):
            hint = f": decode it first, as in {what}.decode()" if isinstance(given, (bytes, bytearray)) else ""
            raise ArgumentError(f"lw.parse takes the {what} as a string, not {type(given).__name__}{hint}")
    read = reader.parse(text, file)
    if read.physical:
        raise VerifyError(f"{read.name} is past the pass allocate: lw.parse reads the stages up to liveness")
    verify(read)
    made = Function(read.name)
    made._f = read
    made._finished = True
    return made


class Function:
    """A function built by calls. Parameters are attributes of it.

    Args:
        name: its name.
        returns: the type of its result, None for none.
        check: check every array access.
        contract: let ``a * b + c`` become one operation with one rounding.
        fastmath: treat floats as real numbers without NaN.
        params: the parameters in order: a type (``lw.f32``) or ``lw.Array[lw.f32, 2]``.
    """

    def __init__(self, name: str, /, *, returns: Type | None = None, check: bool = False, contract: bool = True, fastmath: bool = False, **params: Any) -> None:
        if not isinstance(name, str):
            raise KernelTypeError(f"a function's name is a string, not {name!r}")
        if returns is not None and (not isinstance(returns, Type) or returns.lanes):
            raise KernelTypeError(f"a function returns one number (returns=lw.i64), not {returns!r}")
        self._f = ir.Function(name, returns if returns is not None else VOID, Options(bool(contract), bool(fastmath), bool(check)))
        self._emitter = Emitter(self._f)
        self._params: dict[str, Any] = {}
        #: The if that was closed last and its end, for an else_ that follows.
        self._reopen: tuple[Instr, Instr] | None = None
        self._loops: list[Bracket] = []
        self._finished = False
        for key, type_ in params.items():
            if isinstance(type_, ArrayType):
                if type_.element is None:
                    raise KernelTypeError(f"the parameter {key} of a builder function needs an element type: lw.Array[lw.f32]")
                self._params[key] = parameter_array(self._emitter, key, type_.element, type_.rank or 1)
            elif isinstance(type_, Type) and not type_.lanes and type_ is not VOID and not type_.is_complex:
                self._params[key] = Value(self._emitter, self._f.param(type_, key), type_)
            else:
                raise KernelTypeError(f"the parameter {key} must be a type such as lw.f32 or lw.Array[lw.f32], not {type_!r}")
        if check:
            self._emitter.errors = self._f.param(PTR, "errors")

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            params = self.__dict__.get("_params")
            if params is not None and name in params:
                return params[name]
        raise AttributeError(f"the function has no parameter {name!r}")

    def __getitem__(self, name: str) -> Any:
        """The parameter of a name that is also a method's."""
        return self._params[name]

    def __repr__(self) -> str:
        return f"<lw.Function {self._f.name}>"

    @property
    def name(self) -> str:
        return self._f.name

    @property
    def __loopwright_constant__(self) -> bool:
        """Whether it can be an ``lw.Const`` argument: once it cannot change any more."""
        return self._finished

    # --- the whole ----------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.finish()

    def finish(self) -> ir.Function:
        """Check that the function is complete; its IR."""
        if not self._finished:
            if self._emitter.brackets:
                raise KernelSyntaxError(f"{self._f.name}: a `{self._g.brackets[-1].op.name}` is not closed")
            if self._f.result is not VOID and _falls(self._f.code):
                raise KernelSyntaxError(f"{self._f.name} returns {self._f.result}, but can come to its end without f.ret(…)")
            from loopwright.ir.verify import verify

            # A caller can hold a value past the bracket it was computed in, which no single call can notice.
            verify(self._f)
            self._finished = True
        return self._f

    @property
    def ir(self) -> ir.Function:
        """The function as the passes take it."""
        return self.finish()

    def compile(
        self,
        target: str | Description | None = None,
        *,
        vector_bits: int | None = None,
        ordering: str | None = None,
        keep: bool = False,
        check: bool | None = None,
        prove: bool | None = None,
        passes: Sequence[Any] | None = None,
    ) -> Any:
        """Compile for a target (None: this CPU); the code is callable, with ``ir(stage)``, ``asm()``, ``emulate(…)``. The arguments are those of a kernel's ``compile``."""
        if check is not None and check != self._f.options.check:
            raise KernelTypeError("check is chosen where the function is made: lw.Function(name, check=True, …)")
        try:
            made = self.finish()
            return backend().compile(lambda: made, Settings(target, vector_bits, ordering, prove, keep, passes))
        except Exception as error:
            from loopwright.tracebacks import shorten

            shorten(error)
            raise

    def __callee__(self) -> Callee:
        f = self._f
        return Callee(f.name, [f.types[p] for p in f.params], f.result, 0, f)

    # --- statements ---------------------------------------------------------------------------------------

    def ret(self, value: Any = None) -> None:
        """Return, with the result if the function has one."""
        emitter, f = self._emitting(), self._f
        if f.result is VOID:
            if value is not None:
                emitter.fail("the function has no result: make it with returns=…")
            emitter.emit(ops.RET, VOID, [])
            return
        if value is None:
            emitter.fail(f"the function returns {f.result}: f.ret(value)")
        made = emitter.assignable(value, f.result, "the result")
        emitter.emit(ops.RET, f.result, [made.operand])

    def var(self, type_: Type, value: Any = 0, name: str = "") -> Variable:
        """A variable with a first value: ``i = f.var(lw.i64, 0)``, then ``i.set(i + 1)``. The type may be a vector."""
        emitter = self._emitting()
        self._require(type_, "f.var", "f.var(lw.i64, 0)")
        if not isinstance(name, str):
            emitter.fail(f"the name of a variable is a string, not {name!r}")
        made = Variable(emitter, self._f.register(type_, name, True), type_)
        made.set(bool(value) if type_.element is BOOL and is_number(value) else value)
        return made

    def const(self, type_: Type, value: float | bool) -> Value:
        """A constant of a type, scalar or vector."""
        emitter = self._emitter
        self._require(type_, "f.const", "f.const(lw.f32, 1.5)")
        if not is_number(value):
            emitter.fail(f"f.const takes a Python number, not {describe(value)}")
        return Value(emitter, emitter.number(type_, value), type_)

    def _require(self, type_: Any, what: str, example: str) -> None:
        if not isinstance(type_, Type) or type_ is VOID:
            self._emitter.fail(f"{what} takes a type first, as in {example}, not {describe(type_)}")

    def _emitting(self) -> Emitter:
        if self._finished:
            raise KernelTypeError(f"{self._f.name} is finished: nothing can be added to it")
        self._reopen = None
        return self._emitter

    # --- brackets -----------------------------------------------------------------------------------------

    def if_(self, condition: Any) -> Bracket:
        """``with f.if_(a < b): …``"""
        c = self._scalar_condition(condition)
        return Bracket(self, self._emitting().open(ops.IF, VOID, [c.operand]))

    def elif_(self, condition: Any) -> Bracket:
        """``with f.elif_(c): …`` right after an if_ or elif_; ``c`` is computed only if the conditions before did not hold."""
        opener = self._continue_if("elif_", ops.ELIF)
        c = self._scalar_condition(condition() if callable(condition) else condition)
        self._emitter.emit(ops.THEN, VOID, [c.operand])
        return Bracket(self, opener)

    def else_(self) -> Bracket:
        """``with f.else_(): …`` right after an if_ or elif_."""
        return Bracket(self, self._continue_if("else_", ops.ELSE))

    def _continue_if(self, what: str, marker: ops.Op) -> Instr:
        """Reopen the if that was closed last: its ``end`` becomes the marker."""
        reopen = self._reopen
        if reopen is None:
            raise KernelSyntaxError(f"f.{what}() must follow f.if_() or f.elif_() directly")
        self._emitting()
        opener, end = reopen
        code = self._emitter.code
        position = len(code) - 1
        while code[position] is not end:
            position -= 1
        # What stands between computes the condition of an elif_, whose arguments Python evaluates first.
        between = code[position + 1 :]
        if any(instr.op.effect > ops.READS for instr in between) or between and marker is ops.ELSE:
            raise KernelSyntaxError(f"f.{what}() must follow f.if_() or f.elif_() directly: there are statements between")
        code[position] = Instr(marker, VOID, end.dst, [], 0, end.line)
        self._emitter.brackets.append(opener)
        return opener

    def _loop(self, op: ops.Op, args: list[int], dst: int = NONE, result: Any = None) -> Bracket:
        """Open a loop with a block around it for breaks, which goes again when there are none."""
        emitter = self._emitting()
        branches = len(emitter.branches)
        exit_ = emitter.open(ops.BLOCK, VOID, [])
        opener = emitter.open(op, VOID, args, dst)
        made = Bracket(self, opener, result, exit_, branches)
        self._loops.append(made)
        return made

    def while_(self, condition: Any) -> Bracket:
        """``with f.while_(lambda: i < n): …``. The condition is computed before each step, so it is a function."""
        if not callable(condition):
            self._emitter.fail("f.while_ takes a function that computes the condition, because it is computed again before each step: f.while_(lambda: i < n)")
        made = self._loop(ops.WHILE, [])
        self._emitter.emit(ops.DO, VOID, [self._scalar_condition(condition()).operand])
        return made

    def loop(self) -> Bracket:
        """``with f.loop(): …`` repeats until a break_ or ret."""
        return self._loop(ops.LOOP, [])

    def block(self) -> Bracket:
        """``with f.block() as b: … f.break_(b)``: a bracket that break_ leaves."""
        return Bracket(self, self._emitting().open(ops.BLOCK, VOID, []))

    def for_(self, lo: Any, hi: Any = None, step: int = 1) -> Bracket:
        """``with f.for_(n) as i: …``, ``f.for_(lo, hi, step)``: i is an i64; the step is a Python integer other than 0."""
        emitter = self._emitter
        if hi is None:
            lo, hi = 0, lo
        if type(step) is not int or step == 0:
            emitter.fail(f"the step of f.for_ must be a Python integer other than 0, not {step!r}")
        bounds = [
            value.get() if isinstance(value, Variable) else value for value in (emitter.index(lo, "a bound of f.for_"), emitter.index(hi, "a bound of f.for_"))
        ]
        index = self._f.register(I64)
        return self._loop(ops.FOR, [bounds[0].operand, bounds[1].operand, emitter.number(I64, step)], index, Value(emitter, index, I64))

    def _closed(self, bracket: Bracket) -> None:
        emitter = self._emitter
        opener = bracket.opener
        if not emitter.brackets or emitter.brackets[-1] is not opener:
            raise KernelSyntaxError(f"{self._f.name}: brackets are closed out of order")
        self._emitting()
        if opener.op is ops.LOOP and emitter.code[-1].op not in (ops.BR, ops.RET):
            emitter.branch(opener)
        end = emitter.close()
        if bracket.exit is not None:
            self._loops.pop()
            depth = len(emitter.brackets) - 1
            emitter.drop_block(bracket.exit, bracket.branches, any(index == depth for _, index in emitter.branches[bracket.branches :]))
        elif opener.op is ops.IF:
            self._reopen = (opener, end)

    def break_(self, level: int | Bracket = 0, condition: Any = None) -> None:
        """Leave a loop: the innermost (0), one further out (1, …), or the loop or block given; if a condition is given, when it holds."""
        self._leave(level, True, condition)

    def continue_(self, level: int | Bracket = 0, condition: Any = None) -> None:
        """Go on with the next step of a loop: the innermost (0), one further out (1, …), or the one given; if a condition is given, when it holds."""
        self._leave(level, False, condition)

    def _leave(self, level: int | Bracket, breaks: bool, condition: Any) -> None:
        emitter = self._emitter
        word = "break_" if breaks else "continue_"
        c = self._scalar_condition(condition) if condition is not None else None
        self._emitting()
        bracket: Bracket | None
        if isinstance(level, Bracket):
            bracket = level
            if not any(b is level.opener for b in emitter.brackets):
                raise KernelSyntaxError(f"f.{word}(…): that bracket is not open here")
        else:
            if type(level) is not int or not 0 <= level < len(self._loops):
                raise KernelSyntaxError(f"f.{word}({level}): there are {len(self._loops)} loops around")
            bracket = self._loops[-1 - level]
        if bracket.exit is None and not breaks:
            raise KernelSyntaxError(f"f.{word}(…): a {bracket.opener.op.name} has no next step")
        emitter.branch(bracket.exit if breaks and bracket.exit is not None else bracket.opener, c.operand if c is not None else None)

    # --- expressions --------------------------------------------------------------------------------------

    def _scalar_condition(self, value: Any) -> Value:
        made = self._emitter.condition(value)
        if made.type is not BOOL:
            self._emitter.fail(f"a condition must be the same for all lanes, not {made.type}: use lw.any or lw.all")
        return made

    def local(self, element: Type, *extents: int) -> StagedArray:
        """An array of the function's own, as ``lw.local`` makes one in kernels."""
        return local_array(self._emitter, element, extents, "")

    def load(self, array: StagedArray, *index: Any, lanes: int = 0, mask: Value | None = None) -> Value:
        """An element, or ``lanes`` consecutive ones along the last dimension; with a mask, those it allows (others are 0)."""
        self._require_array(array, "f.load(f.x, i)")
        if len(index) != array.ndim:
            array.miscounted(index)
        return array.load_vector(index, self._lanes(lanes), mask) if lanes != 0 else array[index]

    def _require_array(self, array: Any, example: str) -> None:
        if not isinstance(array, StagedArray):
            self._emitter.fail(f"an array parameter comes first, as in {example}, not {describe(array)}")

    def _lanes(self, lanes: int) -> int:
        """A number of lanes, which must be one that vectors have."""
        if type(lanes) is not int or not 1 <= lanes <= 64 or lanes & (lanes - 1):
            self._emitter.fail(f"a vector has 1, 2, 4, … 64 lanes, not {lanes!r}")
        return lanes

    def store(self, array: StagedArray, *index: Any, value: Any, mask: Value | None = None) -> None:
        """Store a number or vector at an index; with a mask, the lanes it allows."""
        self._emitting()
        self._require_array(array, "f.store(f.x, i, value=v)")
        lanes = value.type.lanes if isinstance(value, Value) else mask.type.lanes if mask is not None else 0
        if not lanes:
            array[index] = value
            return
        array.store_vector(index, value, lanes, mask)

    def load_parts(self, array: StagedArray, *index: Any, count: int, lanes: int) -> list[Value]:
        """``count`` vectors, 2 to 4, dealt out from consecutive elements: the first has elements 0, ``count``, 2 * ``count``, … from the index on."""
        self._require_array(array, "f.load_parts(f.x, i, count=2, lanes=4)")
        if type(count) is not int or count not in ops.LOAD_PARTS:
            self._emitter.fail(f"elements are dealt out to 2, 3 or 4 vectors, not {count!r}")
        return array.load_parts(index, count, self._lanes(lanes))

    def store_parts(self, array: StagedArray, *index: Any, values: Sequence[Value]) -> None:
        """Store the elements of 2 to 4 vectors in turn, from the index on: the first of each, the second of each, and so on."""
        self._emitting()
        self._require_array(array, "f.store_parts(f.x, i, values=[v, w])")
        if len(values) not in ops.LOAD_PARTS:
            self._emitter.fail(f"elements of 2, 3 or 4 vectors are stored in turn, not of {len(values)}")
        for value in values:
            if not isinstance(value, Value) or value.type is not values[0].type or value.type.element is not array.array.element or not value.type.lanes:
                self._emitter.fail(f"vectors of one type, of {array.array.element}, are stored in turn, not {describe(value)}")
        array.store_parts(index, list(values))

    def splat(self, value: Any, lanes: int, type_: Type | None = None) -> Value:
        """The number in every lane."""
        emitter = self._emitter
        made = emitter.staged(value) if type_ is None else emitter.convert(value, type_)
        return emitter.splat(made, self._lanes(lanes))

    def iota(self, type_: Type, lanes: int) -> Value:
        """0, 1, 2, … by lane."""
        self._require(type_, "f.iota", "f.iota(lw.i32, 8)")
        full = vector_of(type_, self._lanes(lanes))
        return self._emitter.value(ops.IOTA, full, [], full)

    def lane_mask(self, index: Any, limit: Any, lanes: int, bits: int = 32) -> Value:
        """The mask of the lanes k with index + k < limit, for lanes of ``bits`` bits."""
        emitter = self._emitter
        if bits not in (8, 16, 32, 64):
            emitter.fail(f"the lanes of a mask have 8, 16, 32 or 64 bits, not {bits!r}")
        type_ = mask_of(bits, self._lanes(lanes))
        return emitter.value(ops.LANE_MASK, type_, [emitter.index(index).operand, emitter.index(limit).operand], type_)

    def call(self, function: Any, *args: Any, **named: Any) -> Any:
        """Call a C function, a ctypes callback or another ``lw.Function`` at run time; arguments of the latter by position or by name."""
        emitter = self._emitting()
        if isinstance(function, Function):
            function._callee_once()
        return call_native(emitter, function, args, named)

    @property
    def __parameters__(self) -> list[Described]:
        return [(name, p.array.element, p.array.rank) if isinstance(p, StagedArray) else (name, p.type, 0) for name, p in self._params.items()]

    def _callee_once(self) -> Callee:
        known = self.__dict__.get("_callee")
        if known is None:
            known = self.__dict__["_callee"] = callee_of(self._emitter, self._f)
        return known


def _falls(code: list[Instr]) -> bool:
    """Whether control can come to the end of a function's code."""
    reachable = True
    #: Of each open bracket: [its operation, whether its end is reached from elsewhere].
    stack: list[tuple[ops.Op, list[bool]]] = []
    for instr in code:
        op = instr.op
        if op is ops.END:
            opener, reached = stack.pop()
            reachable = reachable or reached[0]
        elif op is ops.ELIF or op is ops.ELSE:
            reached = stack[-1][1]
            reached[0] = reached[0] or reachable
            # The condition not holding leads here; without an else, to the end.
            reachable = reached[1]
            if op is ops.ELSE:
                reached[1] = False
        elif op.opens and not op.closes:
            # An if or loop may be passed by.
            stack.append((op, [reachable and op in (ops.FOR,), reachable]))
        elif op is ops.BR or op is ops.BR_IF:
            opener, reached = stack[-1 - instr.imm]
            if opener is ops.BLOCK or opener is ops.IF:
                reached[0] = reached[0] or reachable
            if op is ops.BR:
                reachable = False
        elif op is ops.DO:
            stack[-1][1][0] = reachable
        elif op is ops.RET:
            reachable = False
        if op is ops.END and opener is ops.IF:
            reachable = reachable or reached[1]
    return reachable
