"""Modules in Python: kernels and built functions that call each other at run time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any, Self

from loopwright.errors import ArgumentError, KernelSyntaxError, KernelTypeError, TargetError
from loopwright.frontend import builder
from loopwright.frontend.kernel import Kernel, backend
from loopwright.frontend.native_calls import C_FUNCTION, Described, c_callee, in_process, native_call
from loopwright.frontend.parameters import ARRAY, CONST
from loopwright.ir import module as ir
from loopwright.ir.description import Description
from loopwright.ir.function import Callee, Function, Global, Site
from loopwright.ir.guards import guard, share_sites
from loopwright.settings import Settings
from loopwright.types import I64, PTR, Type

__all__ = ["Module", "ModuleFunction", "Program"]


class ModuleFunction:
    """A Python function that a module compiles: the other functions of the module, kernels, and itself call it at run time, and so does Python.

    Attributes:
        name: its name.
        kernel: what is compiled.
        module: the module it belongs to.
    """

    def __init__(self, module: Module, kernel: Kernel) -> None:
        self.module = module
        self.kernel = kernel
        self.name: str = kernel.function.__name__
        self.__doc__ = kernel.function.__doc__
        self._known: Callee | None = None

    def __callee__(self) -> Callee:
        types: list[Type] = []
        for _, type_, rank in self.__parameters__:
            types += [PTR, *([I64] * (2 * rank - 1))] if rank else [type_]
        if self.__checked__:
            types.append(PTR)
        known = self._known
        if known is None:
            known = self._known = Callee(self.name, types, self.kernel.result)
        if not self.module.staging:
            # A kernel outside of the module calls it.
            self.module.finish()
        return known

    @property
    def __parameters__(self) -> list[Described]:
        """What its parameters are, in order. Raises ``KernelTypeError`` where that depends on the arguments."""
        described: list[Described] = []
        for p in self.kernel.parameters:
            if p.type is None:
                said = "an array of any type: write lw.Array[lw.f64]" if p.kind == ARRAY else "of any type"
                raise KernelTypeError(f"`{self.name}` cannot be called at run time from generated code: its parameter `{p.name}` is {said}")
            if p.type.is_complex:
                raise KernelTypeError(
                    f"`{self.name}` cannot be called at run time from generated code: its parameter `{p.name}` is {p.type}; pass the parts, or inline a kernel"
                )
            described.append((p.name, p.type, (p.rank or 1) if p.kind == ARRAY else 0))
        return described

    @property
    def __checked__(self) -> bool:
        """Whether it has a hidden last parameter, for failures. Raises ``KernelTypeError`` where that is so, and a kernel of no module calls it."""
        checked: bool = self.kernel.check
        if checked and not self.module.staging:
            raise KernelTypeError(f"`{self.name}` is checked (check=True), and only functions of its module call it: make the kernel one of them")
        return checked

    def bind(self, f: Function) -> None:
        """From now on it is this function of the IR, also to those that call it already."""
        if self._known is not None:
            self._known.function = f
        else:
            self._known = Callee(f.name, [f.types[p] for p in f.params], f.result, 0, f)

    def __call__(self, *args: Any, **named: Any) -> Any:
        if any(hasattr(value, "emitter") for value in (*args, *named.values())):
            return native_call(self, *args, **named)
        return self.module.code()[self.name](*args, **named)

    def __repr__(self) -> str:
        return f"<function {self.name} of a module>"


class Program(Mapping[str, Any]):
    """The code of a module's functions by name, in one piece of memory: ``program.fib(20)``, or as a mapping for names that Python has a use for."""

    def __init__(self, codes: dict[str, Any]) -> None:
        self._codes = codes

    def __getitem__(self, name: str) -> Any:
        return self._codes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._codes)

    def __len__(self) -> int:
        return len(self._codes)

    def __getattr__(self, name: str) -> Any:
        codes = self.__dict__.get("_codes", {})
        if name in codes:
            return codes[name]
        raise AttributeError(f"the module has no function {name!r}; it has {', '.join(codes)}")

    def asm(self) -> str:
        """The listings of all functions."""
        return "\n".join(code.asm() for code in self._codes.values())

    def __repr__(self) -> str:
        return f"<Program of {', '.join(self._codes)}>"


class Module:
    """Functions that call each other at run time, and themselves::

    m = lw.Module()

    @m.function
    def fib(n: lw.i64) -> lw.i64:
        if n < 2:
            return n
        return fib(n - 1) + fib(n - 2)

    fib(30)                                     # compiled for this CPU at the first call
    m.compile(target="rv64gc").fib.emulate(10)
    """

    def __init__(self) -> None:
        self._module = ir.Module()
        self._waiting: list[ModuleFunction] = []
        self._program: Program | None = None
        #: How many functions it had when they were last verified; what has been verified cannot change any more.
        self._verified = 0
        #: Where its checked functions fail.
        self._sites: list[Site] = []
        #: Whether functions are being staged, which may then call each other before all of them are there.
        self.staging = False

    @classmethod
    def parse(cls, text: str, file: str = "<ir>", outside: Mapping[str, Any] | None = None) -> Self:
        """A module from IR text: functions one after the other, as ``Module.ir`` prints them.

        Args:
            text: the text.
            file: for error messages.
            outside: C functions (of ctypes, with ``argtypes`` and ``restype``) that it calls, by the name it has for them. What is in neither is looked for
                in the C library, which is taken to have the types that the text says.

        Raises:
            ArgumentError: what is given is no string, or no C function.
            ParseError: the text does not parse; with line and column.
            VerifyError: it parses, but breaks a rule, or calls what is not there.
        """
        for what, given in (("text", text), ("file", file)):
            if not isinstance(given, str):
                raise ArgumentError(f"Module.parse takes the {what} as a string, not {type(given).__name__}")
        return cls._of_verified(ir.parse_module(text, file, _c_functions(outside), in_process))

    @classmethod
    def of(cls, functions: Sequence[Function], globals: Sequence[Global], outside: Mapping[str, Any] | None = None) -> Self:
        """A module of functions of the IR, and globals. Arguments and errors are those of ``parse``."""
        module = ir.Module(functions, _c_functions(outside), globals, in_process)
        module.verify()
        return cls._of_verified(module)

    @classmethod
    def _of_verified(cls, module: ir.Module) -> Self:
        made = cls()
        made._module = module
        made._verified = len(module.functions)
        return made

    def function(
        self, function: Callable[..., Any] | None = None, /, *, check: bool = False, contract: bool = True, fastmath: bool = False, nests: str = "fast"
    ) -> Any:
        """Add a Python function, as a decorator. Its parameters and its result are annotated with their types, which must say all.

        Args:
            function: the Python function.
            check: its accesses are checked as those of a kernel are, and whether the stack has room for it; checked functions are called by each other alone, and by Python.
            contract, fastmath, nests: as for ``lw.kernel``.

        Raises:
            KernelTypeError: a parameter is a constant, or the module has a function of that name.
            KernelSyntaxError: it is no Python function.
        """

        def decorate(function: Callable[..., Any]) -> ModuleFunction:
            if not isinstance(function, FunctionType):
                raise KernelSyntaxError(f"@module.function goes on a Python function, not on {type(function).__name__}")
            made = ModuleFunction(self, Kernel(function, check, contract, fastmath, None, None, nests))
            if made.name in self._module.functions or any(each.name == made.name for each in self._waiting):
                raise KernelTypeError(f"the module has a function {made.name} already: give this one another name")
            for p in made.kernel.parameters:
                if p.kind == CONST:
                    raise KernelTypeError(f"the parameter `{p.name}` of `{made.name}` is a constant: a function of a module is compiled once; annotate a type")
            self._waiting.append(made)
            self._program = None
            return made

        return decorate if function is None else decorate(function)

    def add(self, function: builder.Function) -> builder.Function:
        """Add a function made by calls, which may call others of the module, and itself, by ``f.call``."""
        if not isinstance(function, builder.Function):
            raise KernelTypeError(f"Module.add takes a lw.Function, not {type(function).__name__}; a Python function is added by @module.function")
        made = function.ir
        if any(each.name == made.name for each in self._waiting):
            raise KernelTypeError(f"the module has a function {made.name} already: give this one another name")
        self._module.add(made)
        self._program = None
        return function

    def finish(self) -> ir.Module:
        """Check that all functions are there and fit together; the module's IR."""
        if self._waiting:
            self.staging = True
            try:
                made = [(each, each.kernel.stage(each.kernel.signature((), {}), infers=False)) for each in self._waiting]
            finally:
                self.staging = False
            for each, f in made:
                self._module.add(f)
                each.bind(f)
            share_sites([f for _, f in made], self._sites)
            for each, f in made:
                guard(f, each.kernel.function.__code__.co_firstlineno)
            self._waiting.clear()
        self._gather()
        if self._verified != len(self._module.functions):
            self._module.verify()
            self._verified = len(self._module.functions)
        return self._module

    def _gather(self) -> None:
        """Add what the functions call besides."""
        waiting = list(self._module.functions.values())
        while waiting:
            for callee in waiting.pop().callees:
                called: Function | None = callee.function
                if called is not None and self._module.functions.get(called.name) is not called:
                    self._module.add(called)
                    waiting.append(called)

    @property
    def ir(self) -> str:
        """The text of the module, which ``Module.parse`` reads back."""
        return self.finish().text()

    def interpret(self, name: str, *args: Any) -> Any:
        """Call a function of the module under the interpreter, which is the reference for what is compiled.

        Raises ``ArgumentError`` for a name that the module does not have, and what the interpreter says of code that has no meaning.
        """
        return self.finish().interpret(name, *args)

    def compile(
        self,
        target: str | Description | None = None,
        *,
        vector_bits: int | None = None,
        ordering: str | None = None,
        keep: bool = False,
        prove: bool | None = None,
        passes: Sequence[Any] | None = None,
    ) -> Program:
        """Compile all functions for a target (None: this CPU). The arguments are those of a kernel's ``compile``."""
        module = self.finish()
        if not module.functions:
            raise TargetError("the module has no functions: add some by @module.function, or module.add")
        return Program(backend().compile_module(list(module.functions.values()), Settings(target, vector_bits, ordering, prove, keep, passes)))

    def code(self) -> Program:
        """The module compiled for this CPU, once."""
        if self._program is None or self._waiting:
            self._program = self.compile()
        return self._program

    def __repr__(self) -> str:
        return f"<Module of {', '.join([*self._module.functions, *(each.name for each in self._waiting)])}>"


def _c_functions(outside: Mapping[str, Any] | None) -> dict[str, Callee | Global]:
    """C functions that a module calls, by the name it has for them. Raises ``ArgumentError`` for what is none."""
    if outside is not None and not isinstance(outside, Mapping):
        raise ArgumentError(f"outside= gives C functions of ctypes by name, as in {{'sin': libm.sin}}, not {type(outside).__name__}")
    known: dict[str, Callee | Global] = {}
    for name, function in (outside or {}).items():
        if not isinstance(function, C_FUNCTION):
            raise ArgumentError(f"outside= gives C functions of ctypes by name; {name} is {type(function).__name__}")
        callee = c_callee(function)
        known[name] = Callee(name, callee.params, callee.result, callee.address, None, callee.keep)
    return known
