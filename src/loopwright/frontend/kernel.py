"""``@lw.kernel``: a Python function whose run-time part becomes code.

What a kernel means, where Python and NumPy leave a choice:

* Two typed operands meet where NumPy lets them meet: i32 and i64 at i64, i32 or i64 and f32 at f64, f32 and f64 at f64. A Python
  number takes the other operand's type, and is refused where that cannot hold it. A NumPy scalar, which ``lw.f32(2)`` makes
  of a Python number, has its own type.
* A variable that starts as a Python number and is changed by run-time code takes the type of the first typed value it meets: of the
  elements, if ``total = 0`` is followed by ``total += x[i]``. Start it as ``lw.i64(0)`` to say otherwise.
* A store converts to the array's element type, except from float to integer, which must be written.
* Indices do not count from the end.
* A parameter with a default and no annotation is an ``lw.Const``.
* ``lw.lanes`` takes as many lanes as the widest type used in the loop leaves room for. Its index used as a number is an i64, and makes
  the loop as narrow as that; ``lw.i32(i)`` does not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Final, Self

import numpy as np

from loopwright.errors import ArgumentError, KernelSyntaxError, KernelTypeError, LoopwrightError
from loopwright.frontend.annotations import ArrayType, Const, type_of_dtype
from loopwright.ir.function import Callee, Function
from loopwright.types import BOOL, F64, I64, VOID, Type

__all__ = ["ARRAY", "CONST", "GIVEN", "REQUIRED", "SCALAR", "Backend", "Kernel", "Parameter", "backend", "kernel", "provide"]

ARRAY: Final = 0
SCALAR: Final = 1
CONST: Final = 2

#: Stands for "no default" and "no annotation".
REQUIRED: Final[Any] = type("REQUIRED", (), {})

#: The attribute of a function that holds the text given with it (``source=``).
GIVEN: Final = "__loopwright_source__"

_PYTHON_TYPES: Final[dict[Any, Type]] = {int: I64, float: F64, bool: BOOL}


#: Bits of a code object's flags.
_VARARGS: Final = 0x04
_VARKEYWORDS: Final = 0x08


class Parameter:
    """A parameter of a kernel.

    Attributes:
        name: its name.
        kind: ``ARRAY``, ``SCALAR`` or ``CONST``.
        type: the scalar's type or the array's element type; None where the argument decides.
        rank: of an array; 0 where the argument decides.
        default: the default value of a constant, or ``REQUIRED``.
    """

    __slots__ = ("default", "kind", "name", "rank", "type")

    def __init__(self, name: str, kind: int, type_: Type | None, rank: int, default: Any) -> None:
        self.name = name
        self.kind = kind
        self.type = type_
        self.rank = rank
        self.default = default


class Backend:
    """What makes code of functions; substituted by the package's own, so that the front end stands on the IR alone."""

    def caller(self, kernel: Kernel) -> Callable[..., Any]:
        """A function that calls the kernel with NumPy arrays and numbers, compiling as needed."""
        raise NotImplementedError

    def compile(
        self, stage: Callable[[], Function], target: str | None, vector_bits: int | None, ordering: str | None, keep: bool, passes: Sequence[Any] = ()
    ) -> Any:
        """Code for a target of the function that ``stage`` makes."""
        raise NotImplementedError


def _shorten(error: Exception) -> None:
    # Imported here: only errors need it.
    from loopwright.tracebacks import shorten

    shorten(error)


_backend: list[Callable[[], Backend]] = []


def provide(make: Callable[[], Backend]) -> None:
    """Set what compiles functions."""
    _backend[:] = [make]


def backend() -> Backend:
    """What compiles functions."""
    if not _backend:
        raise RuntimeError("no back end: import loopwright, not its parts")
    return _backend[0]()


class Kernel(functools.partial[Any]):
    """A compiled function in the making: call it with NumPy arrays and numbers.

    A call compiles the kernel for the arguments' element types and ranks, the values of its ``lw.Const`` parameters and this CPU,
    unless it has been, and runs it. Inside another kernel a call of it is inlined.

    Attributes:
        function: the Python function.
        check, contract, fastmath: options of the generated code, see :func:`kernel`.
        target, vector_bits, ordering: what it is compiled for, None for the default.
        passes: passes of the user's own.
    """

    # A `partial`, so that a call goes through C only; its function is replaced at the first call.

    __inlined__ = True
    #: As an ``lw.Const`` argument it is the same as itself only.
    __loopwright_constant__ = True

    function: Any
    check: bool
    contract: bool
    fastmath: bool
    target: str | None
    vector_bits: int | None
    ordering: str | None
    passes: Sequence[Any]

    def __new__(
        cls,
        function: Any,
        check: bool = False,
        contract: bool = True,
        fastmath: bool = False,
        target: str | None = None,
        vector_bits: int | None = None,
        ordering: str | None = None,
        source: str | None = None,
        passes: Sequence[Any] = (),
    ) -> Self:
        if source is not None:
            if not isinstance(source, str):
                raise KernelTypeError(f"source= is the text of the function, a string, not {type(source).__name__}")
            if isinstance(function, FunctionType):
                function.__dict__[GIVEN] = source
        cell: list[Kernel] = []

        def first_call(*args: Any, **named: Any) -> Any:
            try:
                return cell[0]._first_call(args, named)
            except Exception as error:
                _shorten(error)
                raise

        made = super().__new__(cls, first_call)
        cell.append(made)
        functools.update_wrapper(made, function)
        made.function = function
        made.check = bool(check)
        made.contract = bool(contract)
        made.fastmath = bool(fastmath)
        made.target = target
        made.vector_bits = vector_bits
        made.ordering = ordering
        made.passes = passes
        made._parameters = None
        made._result = VOID
        return made

    _parameters: list[Parameter] | None
    _result: Type

    def _first_call(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        for value in (*args, *named.values()):
            emitter = getattr(value, "emitter", None)
            if emitter is not None and emitter.staging is not None:
                # Called by Python code that runs while another kernel is staged.
                from loopwright.frontend.calls import call

                return call(emitter.staging, self, args, named)
        caller = backend().caller(self)
        _repoint(self, (caller, (), {}, self.__dict__))
        return caller(*args, **named)

    def __repr__(self) -> str:
        return f"<kernel {getattr(self.function, '__qualname__', self.function)}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        # As functions are: by the name under which the module has it; by value where no module has it. What has been compiled stays behind.
        from loopwright.frontend.portable import reduced

        return reduced(self)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    # --- parameters ---------------------------------------------------------------------------------------

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters, from the annotations. Raises ``KernelSyntaxError`` for one that says nothing a kernel understands."""
        known = self._parameters
        if known is None:
            known = self._read_parameters()
            self._parameters = known
        return known

    @property
    def result(self) -> Type:
        """The type of the result; VOID for none."""
        if self._parameters is None:
            self._parameters = self._read_parameters()
        return self._result

    def _wrong(self, message: str) -> KernelSyntaxError:
        code = self.function.__code__
        return KernelSyntaxError(message, code.co_filename, code.co_firstlineno)

    def _read_parameters(self) -> list[Parameter]:
        function = self.function
        if not isinstance(function, FunctionType):
            raise KernelSyntaxError(f"@lw.kernel goes on a Python function, not on {type(function).__name__}")
        code = function.__code__
        if code.co_flags & (_VARARGS | _VARKEYWORDS):
            raise self._wrong("a kernel has no *args or **kwargs: give each parameter a name, or pass a tuple to an lw.Const parameter")
        count = code.co_argcount
        names = code.co_varnames[: count + code.co_kwonlyargcount]
        defaults: dict[str, Any] = dict(function.__kwdefaults__ or {})
        given = function.__defaults__ or ()
        defaults.update(zip(names[count - len(given) : count], given, strict=True))
        annotations = function.__annotations__
        made = [self._parameter(name, self._annotation(annotations.get(name, REQUIRED), name), defaults.get(name, REQUIRED)) for name in names]
        returned = self._annotation(function.__annotations__.get("return", REQUIRED), "return")
        returned = _PYTHON_TYPES.get(returned, returned) if isinstance(returned, type) else returned
        if returned is REQUIRED or returned is None:
            self._result = VOID
        elif isinstance(returned, Type) and not returned.lanes:
            self._result = returned
        else:
            raise self._wrong(
                f"the result is annotated {returned!r}: a kernel returns one number (-> lw.f32, -> lw.i64, …) or nothing; results of other kinds are stored in arrays"
            )
        return made

    def annotation(self, name: str) -> Any:
        """The value of the annotation of a parameter, or of the result (``return``); ``REQUIRED`` where there is none."""
        return self._annotation(self.function.__annotations__.get(name, REQUIRED), name)

    def _annotation(self, annotation: Any, name: str) -> Any:
        """An annotation's value; those kept as text are evaluated where the function was defined."""
        if not isinstance(annotation, str):
            return annotation
        function = self.function
        scope = dict(function.__globals__)
        if function.__closure__:
            for free, cell in zip(function.__code__.co_freevars, function.__closure__, strict=True):
                try:
                    scope[free] = cell.cell_contents
                except ValueError:
                    continue
        try:
            return eval(annotation, scope)
        except (NameError, AttributeError, TypeError, ValueError, SyntaxError, LookupError, LoopwrightError) as error:
            raise self._wrong(f"the annotation of `{name}` is {annotation!r}, which cannot be evaluated: {error}") from None

    def _parameter(self, name: str, annotation: Any, default: Any) -> Parameter:
        if isinstance(annotation, type) and annotation in _PYTHON_TYPES:
            annotation = _PYTHON_TYPES[annotation]
        if annotation is Const or annotation is REQUIRED and default is not REQUIRED:
            return Parameter(name, CONST, None, 0, default)
        if isinstance(annotation, ArrayType):
            return Parameter(name, ARRAY, annotation.element, annotation.rank, REQUIRED)
        if isinstance(annotation, Type) and not annotation.lanes and annotation is not VOID:
            return Parameter(name, SCALAR, annotation, 0, default)
        if annotation is REQUIRED:
            raise self._wrong(
                f"the parameter `{name}` needs an annotation: lw.f32, lw.i64, … for a number, lw.Array for an array, lw.Const for a Python value known while compiling "
                "(a parameter with a default and no annotation is an lw.Const)"
            )
        raise self._wrong(f"the parameter `{name}` is annotated {annotation!r}: use lw.f32, lw.i64, …, lw.Array, lw.Array[lw.f32, 2] or lw.Const")

    # --- compiling ----------------------------------------------------------------------------------------

    def signature(self, args: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        """What to stage for, one item a parameter: an ``ArrayType``, a ``Type``, or the value of a constant.

        Arguments may be arrays and numbers as in a call, or types: ``lw.Array[lw.f32]``, ``lw.f32``. Those whose annotation says
        it all may be left out.
        """
        parameters = self.parameters
        name_of = self.function.__name__
        if len(args) > len(parameters):
            raise ArgumentError(f"{name_of}() takes {len(parameters)} arguments ({', '.join(p.name for p in parameters)}), {len(args)} were given")
        given = dict(zip([p.name for p in parameters], args, strict=False))
        for name, value in named.items():
            if name in given:
                raise ArgumentError(f"{name_of}() got `{name}` twice")
            if not any(p.name == name for p in parameters):
                raise ArgumentError(f"{name_of}() has no parameter `{name}`; it has {', '.join(p.name for p in parameters) or 'none'}")
            given[name] = value
        return [self._signature_item(p, given.get(p.name, REQUIRED)) for p in parameters]

    def _signature_item(self, p: Parameter, value: Any) -> Any:
        if p.kind == CONST:
            if value is REQUIRED:
                value = p.default
            if value is REQUIRED:
                raise ArgumentError(f"{self.function.__name__}() needs a value for `{p.name}` (lw.Const) to be compiled")
            return value
        if p.kind == SCALAR:
            if isinstance(value, Type) and value is not p.type:
                raise ArgumentError(f"{p.name}: the parameter is annotated {p.type}, {value} was given")
            return p.type
        if value is REQUIRED:
            if p.type is None:
                raise ArgumentError(
                    f"{self.function.__name__}() needs the type of `{p.name}` to be compiled: lw.Array[lw.f32], or an array like those it will be called with"
                )
            return ArrayType(p.type, p.rank or 1)
        if isinstance(value, ArrayType):
            element, rank = value.element or p.type, value.rank or p.rank or 1
        elif isinstance(value, np.ndarray):
            element, rank = type_of_dtype(value.dtype), value.ndim
            if element is None or not value.dtype.isnative:
                raise ArgumentError(f"{p.name}: arrays of {value.dtype} are not available")
        else:
            raise ArgumentError(f"{p.name}: an array or a type such as lw.Array[lw.f32] is needed, not {type(value).__name__}")
        if element is None:
            raise ArgumentError(f"{p.name}: lw.Array alone does not say the element type; write lw.Array[lw.f32]")
        if p.type is not None and element is not p.type or p.rank and rank != p.rank:
            raise ArgumentError(f"{p.name}: the parameter is annotated {ArrayType(p.type, p.rank or 1)}, {ArrayType(element, rank)} was given")
        if rank == 0:
            raise ArgumentError(f"{p.name}: an array of at least one dimension is needed")
        return ArrayType(element, rank)

    def stage(self, signature: Sequence[Any], check: bool | None = None) -> Function:
        """The kernel as a function of the IR.

        Args:
            signature: one item a parameter, as :meth:`signature` gives.
            check: check every access; None as the kernel says.
        """
        from loopwright.frontend.stage import stage

        return stage(self, signature, self.check if check is None else bool(check))

    def compile(
        self,
        *args: Any,
        target: str | None = None,
        vector_bits: int | None = None,
        ordering: str | None = None,
        check: bool | None = None,
        keep: bool = False,
        passes: Sequence[Any] | None = None,
        **named: Any,
    ) -> Any:
        """Compile for arguments or their types, without running: ``poly.compile(lw.Array[lw.f32], lw.Array[lw.f32], coeffs=(1.0, 2.0))``.

        Args:
            args, named: as in a call; arrays and numbers stand for their types.
            target: name of the target; None for this CPU (or the kernel's own setting).
            vector_bits: width of the vectors; None for the target's widest.
            ordering: order of the register selection filters, a permutation of A to Q.
            check: check every access; None as the kernel says.
            keep: keep the text after every pass.
            passes: passes of your own, made by ``lw.after`` and ``lw.before``; None for the kernel's.

        Returns:
            The code: callable, with ``ir(stage)``, ``asm()``, ``emulate(…)``.
        """
        try:
            signature = self.signature(args, named)

            def make() -> Function:
                return self.stage(signature, check)

            return backend().compile(
                make, target or self.target, vector_bits or self.vector_bits, ordering or self.ordering, keep, self.passes if passes is None else passes
            )
        except Exception as error:
            _shorten(error)
            raise

    def __callee__(self) -> Callee:
        raise KernelTypeError(f"the kernel {self.function.__name__} is called with {self.function.__name__}(…): it is inlined")


#: ``functools.partial`` objects can be pointed at another function, as unpickling does.
_repoint: Final[Callable[[Any, tuple[Any, ...]], None]] = getattr(functools.partial, "__setstate__")  # noqa: B009


def kernel(
    function: Any = None,
    /,
    *,
    check: bool = False,
    contract: bool = True,
    fastmath: bool = False,
    target: str | None = None,
    vector_bits: int | None = None,
    ordering: str | None = None,
    source: str | None = None,
    passes: Sequence[Any] = (),
) -> Any:
    """Make a kernel of a Python function; a decorator, with or without options.

    ::

        @lw.kernel
        def scale(x: lw.Array, y: lw.Array, a: lw.f32):
            for i in lw.lanes(len(x)):
                y[i] = a * x[i]

    Args:
        check: check every access (and compile lw.lanes loops as scalar loops); a bad one raises ``BoundsError``.
        contract: let ``a * b + c`` become one operation with one rounding.
        fastmath: treat floats as real numbers without NaN: reassociate sums, drop signs of zero.
        target: name of the target; None for this CPU.
        vector_bits: width of the vectors; None for the target's widest.
        ordering: order of the register selection filters, a permutation of A to Q.
        source: the text of the function, where Python does not know it: for functions made by ``exec``, read from standard input, or typed at
            the prompt of a Python before 3.13. It has the function's ``def``, with or without its decorators, indented or not; it may be a whole
            program, of which the ``def`` of that name, with the same parameters and the same code, is taken. Errors and listings show its
            lines, numbered as in the function's code.
        passes: passes of your own among the compiler's, made by ``lw.after`` and ``lw.before``.
    """

    def decorate(function: Any) -> Kernel:
        return Kernel(function, check, contract, fastmath, target, vector_bits, ordering, source, passes)

    return decorate if function is None else decorate(function)
