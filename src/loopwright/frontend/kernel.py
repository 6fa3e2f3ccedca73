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
import importlib
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Final, Self

from loopwright.errors import KernelTypeError, ScheduleError
from loopwright.frontend import parameters
from loopwright.frontend.parameters import Parameter
from loopwright.frontend.source import GIVEN
from loopwright.ir.description import Description
from loopwright.ir.function import Callee, Function, Options
from loopwright.ir.schedule import Step, steps_text
from loopwright.settings import Settings
from loopwright.types import VOID, Type

__all__ = ["Backend", "Kernel", "backend", "kernel", "provide"]


class Backend:
    """What makes code of functions; substituted by the package's own, so that the front end stands on the IR alone."""

    def caller(self, kernel: Kernel) -> Callable[..., Any]:
        """A function that calls the kernel with NumPy arrays and numbers, compiling as needed."""
        raise NotImplementedError

    def compile(self, stage: Callable[[], Function], settings: Settings) -> Any:
        """Code of the function that ``stage`` makes."""
        raise NotImplementedError

    def compile_module(self, functions: list[Function], settings: Settings) -> dict[str, Any]:
        """Code of functions that call each other, by name."""
        raise NotImplementedError


def _shorten(error: Exception) -> None:
    # Imported here: only errors need it.
    from loopwright.tracebacks import shorten

    shorten(error)


#: What makes the back end, and the back end once it has been made: an import in a function, even of what is known, takes a microsecond.
_provided: list[Callable[[], Backend]] = []
_made: list[Backend] = []


def provide(make: Callable[[], Backend]) -> None:
    """Set what compiles functions."""
    _provided[:] = [make]
    _made.clear()


def backend() -> Backend:
    """What compiles functions."""
    if not _made:
        if not _provided:
            raise RuntimeError("no back end: import loopwright, not its parts")
        _made.append(_provided[0]())
    return _made[0]


@functools.cache
def _stager() -> Callable[..., Function]:
    """What stages functions; imported with the first compilation."""
    from loopwright.frontend.stage import stage

    return stage


#: What ``nests=`` may be.
NESTS: Final = ("fast", "search", "measure", "off")


class Kernel(functools.partial[Any]):
    """A compiled function in the making: call it with NumPy arrays and numbers.

    A call compiles the kernel for the arguments' element types and ranks, the values of its ``lw.Const`` parameters and this CPU,
    unless it has been, and runs it. Inside another kernel a call of it is inlined.

    Attributes:
        function: the Python function.
        check, contract, fastmath, nests: options of the generated code, see :func:`kernel`.
        steps: what is done with its loops by hand, see :meth:`schedule`.
        settings: what it is compiled for, and how.
    """

    # A `partial`, so that a call goes through C only; its function is replaced at the first call.

    __inlined__ = True
    #: As an ``lw.Const`` argument it is the same as itself only.
    __loopwright_constant__ = True

    function: Any
    check: bool
    contract: bool
    fastmath: bool
    nests: str
    settings: Settings
    steps: tuple[Step, ...]

    def __new__(
        cls,
        function: Any,
        check: bool = False,
        contract: bool = True,
        fastmath: bool = False,
        settings: Settings | None = None,
        source: str | None = None,
        nests: str = "fast",
        steps: tuple[Step, ...] = (),
    ) -> Self:
        if nests not in NESTS:
            raise KernelTypeError(f"nests= is one of {', '.join(map(repr, NESTS))}, not {nests!r}")
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
        made.nests = nests
        made.steps = steps
        made.settings = settings if settings is not None else Settings()
        made._parameters = None
        made._result = VOID
        return made

    _parameters: list[Parameter] | None
    _result: Type

    def _first_call(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        for value in (*args, *named.values()):
            staging = getattr(getattr(value, "emitter", None), "staging", None)
            if staging is not None:
                # Called by Python code that runs while another kernel is staged.
                return staging.call(self, args, named)
        caller = backend().caller(self)
        _repoint(self, (caller, (), {}, self.__dict__))
        return caller(*args, **named)

    def __repr__(self) -> str:
        return f"<kernel {getattr(self.function, '__qualname__', self.function)}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        # As functions are: by the name under which the module has it; by value where no module has it. What has been compiled stays behind.
        from loopwright.frontend.portable import leads_back, written

        function = self.function
        if not isinstance(function, FunctionType) or leads_back(function, self):
            return str(getattr(function, "__qualname__", function))
        form, state = written(function)
        options = (self.check, self.contract, self.fastmath, self.settings, None, self.nests, self.steps)
        # Annotations as values: as text they could name what the function itself does not use.
        annotations = {p.name: self.annotation(p.name) for p in self.parameters if p.name in function.__annotations__}
        if self.result is not VOID:
            annotations["return"] = self.result
        return _remade, (form, options), (state, annotations), None, None, _refilled

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
            known, self._result = parameters.read_parameters(self.function)
            self._parameters = known
        return known

    @property
    def result(self) -> Type:
        """The type of the result; VOID for none."""
        if self._parameters is None:
            self._parameters, self._result = parameters.read_parameters(self.function)
        return self._result

    def annotation(self, name: str) -> Any:
        """The value of the annotation of a parameter, or of the result (``return``); ``REQUIRED`` where there is none."""
        return parameters.annotation(self.function, name)

    # --- compiling ----------------------------------------------------------------------------------------

    def signature(self, args: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        """What to stage for, one item a parameter: an ``ArrayType``, a ``Type``, or the value of a constant.

        Arguments may be arrays and numbers as in a call, or types: ``lw.Array[lw.f32]``, ``lw.f32``. Those whose annotation says
        it all may be left out.
        """
        known = self.parameters
        return parameters.signature(self.function.__name__, known, args, named)

    def stage(self, signature: Sequence[Any], check: bool | None = None, infers: bool = True) -> Function:
        """The kernel as a function of the IR.

        Args:
            signature: one item a parameter, as :meth:`signature` gives.
            check: check every access; None as the kernel says.
            infers: a result without annotation has the type of what is returned.
        """
        known = self.parameters
        return _stager()(
            self.function,
            known,
            self.result,
            Options(
                self.contract,
                self.fastmath,
                self.check if check is None else bool(check),
                self.nests != "off",
                self.nests == "search",
                steps_text(self.steps),
            ),
            signature,
            infers,
        )

    def schedule(self, *steps: Step) -> Kernel:
        """This kernel with its loops put into the order that you say, instead of one that the compiler finds::

            faster = kernel.schedule(lw.steps.unroll_and_jam(i=4), lw.steps.lanes("j"))

        Beyond the steps nothing is done with its loops, except that values which one iteration stores and a later one loads are kept in registers (not with
        ``nests="off"``). In checked mode, and where the kernel is inlined into another, the loops stay as written.

        Args:
            steps: made by the functions of ``lw.steps``, in the order in which they are to be done; they come behind those that the kernel has.

        Returns:
            Another kernel; this one stays as it is.

        Raises:
            ScheduleError: something else than steps is given; and later, when it is compiled, a step that is not possible, with the dependence that is in
                the way: array, lines and distances.
        """
        for step in steps:
            if not isinstance(step, Step):
                raise ScheduleError(f"schedule takes steps, as in {self.function.__name__}.schedule(lw.steps.unroll_and_jam(i=4)), not {step!r}")
        return Kernel(self.function, self.check, self.contract, self.fastmath, self.settings, None, self.nests, (*self.steps, *steps))

    def choices(self) -> list[Any]:
        """What ``nests="measure"`` has found so far: for each shape that came up the variants, their times, and which one is taken (``str`` says it)."""
        measuring = getattr(self.func, "__self__", None)
        return list(measuring.choices()) if measuring is not None and self.nests == "measure" else []

    def compile(
        self,
        *args: Any,
        target: str | Description | None = None,
        vector_bits: int | None = None,
        ordering: str | None = None,
        check: bool | None = None,
        prove: bool | None = None,
        keep: bool = False,
        passes: Sequence[Any] | None = None,
        **named: Any,
    ) -> Any:
        """Compile for arguments or their types, without running: ``poly.compile(lw.Array[lw.f32], lw.Array[lw.f32], coeffs=(1.0, 2.0))``.

        Args:
            args, named: as in a call; arrays and numbers stand for their types.
            target: name of the target, or a processor of your own (docs/multiclet.md); None for this CPU (or the kernel's own setting).
            vector_bits: width of the vectors; None for the target's widest.
            ordering: order of the register selection filters, a permutation of A to Q.
            check: check every access; None as the kernel says.
            prove: prove the register allocation; None as the kernel says, or the environment (``LOOPWRIGHT_PROVE``).
            keep: keep the text after every pass.
            passes: passes of your own, made by ``lw.after`` and ``lw.before``; None for the kernel's.

        Returns:
            The code: callable, with ``ir(stage)``, ``asm()``, ``emulate(…)``.
        """
        try:
            signature = self.signature(args, named)

            def make() -> Function:
                return self.stage(signature, check)

            return backend().compile(make, Settings(target, vector_bits, ordering, prove, keep, passes).over(self.settings))
        except Exception as error:
            _shorten(error)
            raise

    def __callee__(self) -> Callee:
        raise KernelTypeError(f"the kernel {self.function.__name__} is called with {self.function.__name__}(…): it is inlined")


#: ``functools.partial`` objects can be pointed at another function, as unpickling does.
_repoint: Final[Callable[[Any, tuple[Any, ...]], None]] = getattr(functools.partial, "__setstate__")  # noqa: B009


def _remade(form: Any, options: tuple[Any, ...]) -> Kernel:
    """A kernel that was pickled by value, without the values of the names it uses."""
    from loopwright.frontend.portable import function_of

    # By way of the package, which says what compiles it.
    made: Kernel = importlib.import_module("loopwright").Kernel(function_of(form), *options)
    return made


def _refilled(kernel: Kernel, state: tuple[Any, dict[str, Any]]) -> None:
    from loopwright.frontend.portable import fill

    fill(kernel.function, state[0])
    kernel.function.__annotations__ = state[1]


def kernel(
    function: Any = None,
    /,
    *,
    check: bool = False,
    contract: bool = True,
    fastmath: bool = False,
    target: str | Description | None = None,
    vector_bits: int | None = None,
    ordering: str | None = None,
    prove: bool | None = None,
    source: str | None = None,
    passes: Sequence[Any] | None = None,
    nests: str = "fast",
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
        target: name of the target, or a processor of your own (docs/multiclet.md); None for this CPU.
        vector_bits: width of the vectors; None for the target's widest.
        ordering: order of the register selection filters, a permutation of A to Q.
        prove: prove each register allocation: a checker follows every value along every path; None for as the environment says.
        source: the text of the function, where Python does not know it: for functions made by ``exec``, read from standard input, or typed at
            the prompt of a Python before 3.13. It has the function's ``def``, with or without its decorators, indented or not; it may be a whole
            program, of which the ``def`` of that name, with the same parameters and the same code, is taken. Errors and listings show its
            lines, numbered as in the function's code.
        passes: passes of your own among the compiler's, made by ``lw.after`` and ``lw.before``.
        nests: ``"fast"`` puts nests of plain loops into another order where they run faster for it and compute the same; ``"search"`` tries more ways to do
            so; ``"measure"`` times several ways on the first calls, and keeps the best; ``"off"`` leaves them as written.
    """

    def decorate(function: Any) -> Kernel:
        return Kernel(function, check, contract, fastmath, Settings(target, vector_bits, ordering, prove, False, passes), source, nests)

    return decorate if function is None else decorate(function)
