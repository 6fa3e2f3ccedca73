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

from types import TracebackType
from typing import Any

from loopwright.errors import KernelSyntaxError, KernelTypeError
from loopwright.frontend.arrays import ArrayType, StagedArray
from loopwright.frontend.calls import call_native, callee_of
from loopwright.frontend.emitter import Emitter
from loopwright.frontend.expr import Value, is_number
from loopwright.frontend.kernel import backend
from loopwright.ir import function as ir
from loopwright.ir import ops
from loopwright.ir.function import Callee, Instr, Options
from loopwright.types import BOOL, I64, PTR, VOID, Type, mask_of, vector_of

__all__ = ["Bracket", "Function", "Variable"]

_LOOPS = (ops.LOOP, ops.FOR, ops.WHILE)


class Variable(Value):
    """A variable of a builder function: used in an expression it is its value at that place in the program."""

    __slots__ = ()

    def set(self, value: Any) -> None:
        """Assign; the value is converted to the variable's type, except from float to integer."""
        graph = self.graph
        type_ = self.type
        made = graph.assignable(value, type_.element, "the variable") if type_.element is not BOOL else graph.condition(value)
        if type_.is_mask:
            made = graph.as_mask(made, type_)
        elif type_.lanes and not made.type.lanes:
            made = graph.splat(made, type_.lanes)
        if made.type is not type_:
            graph.fail(f"the variable is {type_} and the value {made.type}")
        graph.copy_to(self.operand, type_, made.operand)

    def get(self) -> Value:
        """The value now, unaffected by later assignments."""
        return self.graph.value(ops.COPY, self.type, [self.operand], self.type)


class Bracket:
    """An open ``if``, loop or block: ``with f.if_(c):``. Its object can be given to ``break_`` and ``continue_``."""

    __slots__ = ("opener", "owner", "result")

    def __init__(self, owner: Function, opener: Instr | None, result: Any = None) -> None:
        self.owner = owner
        self.opener = opener
        self.result = result

    def __enter__(self) -> Any:
        return self.result if self.result is not None else self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.owner._closed(self)


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
        if returns is not None and (not isinstance(returns, Type) or returns.lanes):
            raise KernelTypeError(f"a function returns one number (returns=lw.i64), not {returns!r}")
        self._f = ir.Function(name, returns if returns is not None else VOID, Options(contract, fastmath, check))
        self._g = Emitter(self._f)
        self._params: dict[str, Any] = {}
        #: Of each open ``if``: the instruction a following else_ continues.
        self._reopen: tuple[Instr, int] | None = None
        self._finished = False
        for key, type_ in params.items():
            if isinstance(type_, ArrayType):
                if type_.element is None:
                    raise KernelTypeError(f"the parameter {key} of a builder function needs an element type: lw.Array[lw.f32]")
                self._params[key] = StagedArray(self._g, self._f.array_param(key, type_.element, type_.rank or 1), len(self._f.arrays) - 1)
            elif isinstance(type_, Type) and not type_.lanes and type_ is not VOID:
                self._params[key] = Value(self._g, self._f.param(type_, key), type_)
            else:
                raise KernelTypeError(f"the parameter {key} must be a type such as lw.f32 or lw.Array[lw.f32], not {type_!r}")
        if check:
            self._g.errors = self._f.param(PTR, "errors")

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

    # --- the whole ----------------------------------------------------------------------------------------

    def __enter__(self) -> Function:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.finish()

    def finish(self) -> ir.Function:
        """Check that the function is complete; its IR."""
        if not self._finished:
            if self._g.brackets:
                raise KernelSyntaxError(f"{self._f.name}: a `{self._g.brackets[-1].op.name}` is not closed")
            if self._f.result is not VOID and _falls(self._f.code):
                raise KernelSyntaxError(f"{self._f.name} returns {self._f.result}, but can come to its end without f.ret(…)")
            self._finished = True
        return self._f

    @property
    def ir(self) -> ir.Function:
        """The function as the passes take it."""
        return self.finish()

    def compile(self, target: str | None = None, *, vector_bits: int | None = None, ordering: str | None = None, keep: bool = False, check: bool | None = None) -> Any:
        """Compile for a target (None: this CPU); the code is callable, with ``ir(stage)``, ``asm()``, ``emulate(…)``."""
        if check is not None and check != self._f.options.check:
            raise KernelTypeError("check is chosen where the function is made: lw.Function(name, check=True, …)")
        made = self.finish()
        return backend().compile(lambda _: made, target, vector_bits, ordering, keep)

    def __callee__(self) -> Callee:
        f = self._f
        return Callee(f.name, [f.types[p] for p in f.params], f.result, 0, f)

    # --- statements ---------------------------------------------------------------------------------------

    def ret(self, value: Any = None) -> None:
        """Return, with the result if the function has one."""
        g, f = self._emitting(), self._f
        if f.result is VOID:
            if value is not None:
                g.fail("the function has no result: make it with returns=…")
            g.emit(ops.RET, VOID, [])
            return
        if value is None:
            g.fail(f"the function returns {f.result}: f.ret(value)")
        made = g.assignable(value, f.result, "the result")
        g.emit(ops.RET, f.result, [made.operand])

    def var(self, type_: Type, value: Any = 0, name: str = "") -> Variable:
        """A variable with a first value: ``i = f.var(lw.i64, 0)``, then ``i.set(i + 1)``. The type may be a vector."""
        g = self._emitting()
        made = Variable(g, self._f.register(type_, name, True), type_)
        made.set(bool(value) if type_.element is BOOL and is_number(value) else value)
        return made

    def const(self, type_: Type, value: int | float | bool) -> Value:
        """A constant of a type, scalar or vector."""
        g = self._emitting()
        return Value(g, g.number(type_, value), type_)

    def _emitting(self) -> Emitter:
        if self._finished:
            raise KernelTypeError(f"{self._f.name} is finished: nothing can be added to it")
        self._reopen = None
        return self._g

    # --- brackets -----------------------------------------------------------------------------------------

    def if_(self, condition: Any) -> Bracket:
        """``with f.if_(a < b): …``"""
        g = self._emitting()
        return Bracket(self, g.open(ops.IF, VOID, [self._scalar_condition(condition).operand]))

    def elif_(self, condition: Any) -> Bracket:
        """``with f.elif_(c): …`` right after an if_ or elif_. The condition is computed where it is written: use a function,
        ``f.elif_(lambda: x[i] > 0)``, for one that may be evaluated only if the earlier ones did not hold."""
        opener = self._continued("elif_")
        g = self._g
        if callable(condition):
            g.emit(ops.ELIF, VOID, [])
            g.emit(ops.THEN, VOID, [self._scalar_condition(condition()).operand])
        else:
            # What the condition was computed from stands after the `end` of the if: it moves before it.
            g.emit(ops.ELIF, VOID, [])
            g.emit(ops.THEN, VOID, [self._scalar_condition(condition).operand])
        return Bracket(self, opener)

    def else_(self) -> Bracket:
        """``with f.else_(): …`` right after an if_ or elif_."""
        opener = self._continued("else_")
        self._g.emit(ops.ELSE, VOID, [])
        return Bracket(self, opener)

    def _continued(self, what: str) -> Instr:
        """Reopen the if that was closed last."""
        reopen = self._reopen
        code = self._g.code
        if reopen is None:
            raise KernelSyntaxError(f"f.{what}() must follow an f.if_() or f.elif_() directly")
        opener, position = reopen
        # Code between the end and here computes the condition of an elif_: it is part of the else side.
        del code[position]
        self._g.brackets.append(opener)
        self._reopen = None
        return opener

    def while_(self, condition: Any) -> Bracket:
        """``with f.while_(lambda: i < n): …``. The condition is evaluated before each step, so it is a function."""
        g = self._emitting()
        if not callable(condition):
            g.fail("f.while_ takes a function that computes the condition, because it is computed again before each step: f.while_(lambda: i < n)")
        opener = g.open(ops.WHILE, VOID, [])
        g.emit(ops.DO, VOID, [self._scalar_condition(condition()).operand])
        return Bracket(self, opener)

    def loop(self) -> Bracket:
        """``with f.loop(): …`` repeats until a break_ or ret."""
        return Bracket(self, self._emitting().open(ops.LOOP, VOID, []))

    def block(self) -> Bracket:
        """``with f.block() as b: … f.break_(b)``: a bracket that break_ leaves."""
        return Bracket(self, self._emitting().open(ops.BLOCK, VOID, []))

    def for_(self, lo: Any, hi: Any = None, step: int = 1) -> Bracket:
        """``with f.for_(n) as i: …``, ``f.for_(lo, hi, step)``: i is an i64; the step is a Python integer other than 0."""
        g = self._emitting()
        if hi is None:
            lo, hi = 0, lo
        if type(step) is not int or step == 0:
            g.fail(f"the step of f.for_ must be a Python integer other than 0, not {step!r}")
        low, high = g.index(lo, "a bound of f.for_"), g.index(hi, "a bound of f.for_")
        bounds = [value.get() if isinstance(value, Variable) else value for value in (low, high)]
        index = self._f.register(I64)
        opener = g.open(ops.FOR, VOID, [bounds[0].operand, bounds[1].operand, g.number(I64, step)], index)
        return Bracket(self, opener, Value(g, index, I64))

    def _closed(self, bracket: Bracket) -> None:
        g = self._g
        opener = bracket.opener
        if not g.brackets or g.brackets[-1] is not opener:
            raise KernelSyntaxError(f"{self._f.name}: brackets are closed out of order")
        if opener.op is ops.LOOP and (not g.code or g.code[-1].op not in (ops.BR, ops.RET)):
            g.branch(opener)
        if opener.op is ops.IF and opener.loop is None and g.code[-1].op is ops.ELSE:
            pass
        g.close()
        self._reopen = (opener, len(g.code) - 1) if opener.op is ops.IF else None

    def break_(self, level: int | Bracket = 0, condition: Any = None) -> None:
        """Leave a loop or block: the innermost (0), one further out (1, …), or a given bracket; if a condition is given, when it holds.

        Loops count as levels, and blocks. (A loop is left by leaving the bracket around its ``end``.)
        """
        self._leave(level, True, condition)

    def continue_(self, level: int | Bracket = 0, condition: Any = None) -> None:
        """Go on with the next step of a loop: the innermost (0), one further out (1, …), or a given one; if a condition is given, when it holds."""
        self._leave(level, False, condition)

    def _leave(self, level: int | Bracket, breaks: bool, condition: Any) -> None:
        g = self._emitting()
        word = "break_" if breaks else "continue_"
        c = self._scalar_condition(condition) if condition is not None else None
        if isinstance(level, Bracket):
            opener = level.opener
            if opener is None or not any(b is opener for b in g.brackets):
                raise KernelSyntaxError(f"f.{word}: that bracket is not open here")
        else:
            wanted = [b for b in g.brackets if b.op in _LOOPS or breaks and b.op is ops.BLOCK]
            if not 0 <= level < len(wanted):
                raise KernelSyntaxError(f"f.{word}({level}): there are {len(wanted)} loops around")
            opener = wanted[-1 - level]
        if breaks and opener.op in _LOOPS:
            self._break_loop(opener, c)
        else:
            g.branch(opener, c)

    def _break_loop(self, opener: Instr, condition: Value | None) -> None:
        """A br that leaves a loop: to a block around it, which is made when the first one is needed."""
        g = self._g
        position = next(k for k, b in enumerate(g.brackets) if b is opener)
        around = g.brackets[position - 1] if position else None
        if around is None or around.op is not ops.BLOCK or around.loop is not None or not self._wraps(around, opener):
            raise KernelSyntaxError("unreachable")
        g.branch(around, condition)

    def _wraps(self, block: Instr, opener: Instr) -> bool:
        code = self._g.code
        for k, instr in enumerate(code):
            if instr is block:
                return code[k + 1] is opener
        return False

    # --- expressions --------------------------------------------------------------------------------------

    def _scalar_condition(self, value: Any) -> Value:
        made = self._g.condition(value)
        if made.type is not BOOL:
            self._g.fail(f"a condition must be the same for all lanes, not {made.type}: use lw.any or lw.all")
        return made

    def load(self, array: StagedArray, *index: Any, lanes: int = 0, mask: Value | None = None) -> Value:
        """An element, or ``lanes`` consecutive ones along the last dimension; with a mask, those it allows (others are 0)."""
        self._emitting()
        return array.load_vector(index, lanes, mask) if lanes else array[index]

    def store(self, array: StagedArray, *index: Any, value: Any, mask: Value | None = None) -> None:
        """Store a number or vector at an index; with a mask, the lanes it allows."""
        g = self._emitting()
        lanes = value.type.lanes if isinstance(value, Value) else mask.type.lanes if mask is not None else 0
        if not lanes:
            array[index] = value
            return
        array.store_vector(index, value, lanes, mask)
        del g

    def splat(self, value: Any, lanes: int, type_: Type | None = None) -> Value:
        """The number in every lane."""
        g = self._emitting()
        made = g.staged(value) if type_ is None else g.convert(value, type_)
        return g.splat(made, lanes)

    def iota(self, type_: Type, lanes: int) -> Value:
        """0, 1, 2, … by lane."""
        full = vector_of(type_, lanes)
        return self._emitting().value(ops.IOTA, full, [], full)

    def lane_mask(self, index: Any, limit: Any, lanes: int, bits: int = 32) -> Value:
        """The mask of the lanes k with index + k < limit, for lanes of ``bits`` bits."""
        g = self._emitting()
        type_ = mask_of(bits, lanes)
        return g.value(ops.LANE_MASK, type_, [g.index(index).operand, g.index(limit).operand], type_)

    def call(self, function: Any, *args: Any) -> Any:
        """Call a C function, a ctypes callback or another ``lw.Function`` at run time."""
        g = self._emitting()
        if isinstance(function, Function):
            return call_native(g, function._callee_once(), args)
        return call_native(g, function, args)

    def _callee_once(self) -> Callee:
        known = self.__dict__.get("_callee")
        if known is None:
            known = self.__dict__["_callee"] = callee_of(self._g, self)
        return known  # type: ignore[no-any-return]


def _falls(code: list[Instr]) -> bool:
    """Whether control can come to the end of the list."""
    return _reach(code, 0)[0]


def _reach(code: list[Instr], start: int) -> tuple[bool, int]:
    raise NotImplementedError
