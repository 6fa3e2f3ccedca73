"""A kernel and a signature to a function of the IR: attempts at staging until no guess was wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from loopwright.errors import KernelSyntaxError, KernelTypeError, LoopwrightError
from loopwright.frontend.annotations import ArrayType
from loopwright.frontend.arrays import parameter_array
from loopwright.frontend.calls import outside_names
from loopwright.frontend.complex_numbers import PARTS, Complex
from loopwright.frontend.emitter import Emitter
from loopwright.frontend.expr import Value
from loopwright.frontend.hooks import BUILTINS, HOOKS
from loopwright.frontend.parameters import CONST, SCALAR, Parameter
from loopwright.frontend.parse import parse
from loopwright.frontend.program import Parsed
from loopwright.frontend.python_ranges import too_narrow, unroll_all
from loopwright.frontend.results import INFERRED
from loopwright.frontend.source import GIVEN
from loopwright.frontend.state import FALLS, Activation, Restage
from loopwright.frontend.statements import Statements
from loopwright.frontend.tables import place_tables
from loopwright.ir.function import Function, Options
from loopwright.ir.half_floats import is_half
from loopwright.ir.loops import has_lanes
from loopwright.types import F64, PTR, VOID, Type

__all__ = ["stage"]

#: Most attempts at staging one function; each but the last learns a fact about it.
ATTEMPTS: Final = 200


def stage(function: Any, parameters: list[Parameter], result: Type, options: Options, signature: Sequence[Any], infers: bool = False) -> Function:
    """Stage a kernel's function for a signature, one item a parameter; once more for each wrong guess about it. With ``infers`` a result without annotation gets its type from what is returned."""
    parsed = parse(function)
    notes: dict[Any, Any] = {}
    infers = infers and "return" not in function.__annotations__
    refused: LoopwrightError | None = None  # what was wrong while loops over Python's range ran at run time
    for _ in range(ATTEMPTS):
        try:
            # Typed constants wrap and overflow in silence, as run-time values do.
            with np.errstate(all="ignore"):
                made = _attempt(function, parsed, parameters, result, options, signature, notes, infers)
        except Restage:
            continue
        except LoopwrightError as error:
            if refused is not None:
                raise refused from None
            if not unroll_all(notes):
                raise
            refused = error
            continue
        if made is not None:
            return made
    raise KernelTypeError(f"`{parsed.name}` could not be staged: the types of its variables do not settle", parsed.file, parsed.line)


def passed_as(type_: Type) -> Type:
    """The type of a scalar parameter or result as calls have it: floats of 16 bits as f64, which holds them; the kernel rounds to them."""
    return F64 if is_half(type_) else type_


def _attempt(
    function: Any,
    parsed: Parsed,
    parameters: list[Parameter],
    result: Type,
    options: Options,
    signature: Sequence[Any],
    notes: dict[Any, Any],
    infers: bool,
) -> Function | None:
    if infers and INFERRED in notes:
        result = notes[INFERRED][0]
    f = Function(parsed.name, passed_as(result), options)
    f.file = parsed.file
    f.lines = parsed.lines
    emitter = Emitter(f)
    emitter.line = emitter.at_line = parsed.line
    s = Statements(emitter, notes, BUILTINS, HOOKS)
    s.text, s.scope = getattr(function, GIVEN, None), function.__globals__
    env = outside_names(parsed, function)
    s.equip(env, parsed.hooks)
    act = Activation(parsed, env, True)
    s.act = act
    s.result = result
    s.infers = infers
    for p, item in zip(parameters, signature, strict=True):
        if p.kind == CONST:
            env[p.name] = item
        elif p.kind == SCALAR and item.is_complex:
            parts = [Value(emitter, f.param(item.part, f"{p.name}.{part}"), item.part) for part in PARTS]
            env[p.name] = Complex(emitter, *parts)
        elif p.kind == SCALAR:
            given = passed_as(item)
            value = Value(emitter, f.param(given, p.name), given)
            env[p.name] = value if given is item else emitter.convert(value, item)
        else:
            assert isinstance(item, ArrayType) and item.element is not None
            env[p.name] = parameter_array(emitter, p.name, item.element, item.rank or 1, item.usual)
    if options.check:
        emitter.errors = f.param(PTR, "errors")
    try:
        status = s.block(parsed.body)
    except LoopwrightError:
        # What was staged after a wrong guess tells nothing.
        if not s.again:
            raise
    finally:
        s.end()
    if s.again or too_narrow(s):
        return None
    if status == FALLS and f.result is not VOID:
        error = KernelSyntaxError(f"`{parsed.name}` returns {result}, but can come to its end without `return`: return a value on every path")
        error.locate(parsed.file, parsed.last, act.statement(parsed.last))
        raise error
    if emitter.tables:
        place_tables(emitter)
    if not has_lanes(f.code):
        _share(f)
    return f


def _share(f: Function) -> None:
    """Arrays of a function whose loops are all plain may overlap in any way, as they may in Python: results are those of the order that is written."""
    passed = [array for array in f.arrays if not array.size]
    if len(passed) > 1 and any(array.written for array in passed):
        for array in passed:
            array.shared = True
