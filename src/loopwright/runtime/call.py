"""From a call in Python to a call of machine code, through ctypes.

For each signature one Python function is written and compiled, which checks and converts the arguments one after the other and passes them on;
there is no loop over parameters at call time. It serves any platform, names every wrong argument, and is what the quicker
way in (``entry.py``) falls back on.
"""

from __future__ import annotations

import ctypes
import keyword
from collections.abc import Callable
from typing import Any, Final, NoReturn

import numpy as np

from loopwright.errors import ArgumentError
from loopwright.runtime import stack
from loopwright.runtime.arrays import DATA, ArrayParameter, admit, layout_holds
from loopwright.runtime.scalars import ScalarParameter, argument_type, convert, limits, result_type
from loopwright.types import BOOL, I64, PTR, Type

__all__ = ["Parameter", "Signature", "argument_names", "miscounted", "missing"]

Parameter = ArrayParameter | ScalarParameter


class Signature:
    """What a compiled function is called with.

    Attributes:
        name: the function's.
        parameters: in order.
        result: scalar type, or VOID.
        checked: a last, hidden parameter points to four 64-bit integers, the first of which is not 0 after an access out of bounds.
        guarded: the last of them is the address that the stack is not to go below, which the code asks for.
        key: equal keys mean equal signatures.
    """

    __slots__ = ("checked", "guarded", "key", "name", "parameters", "result")

    def __init__(self, name: str, parameters: list[Parameter], result: Type, checked: bool = False, guarded: bool = False) -> None:
        self.name = name
        self.parameters = parameters
        self.result = result
        self.checked = checked
        self.guarded = guarded
        shape: list[object] = [name, result, checked, guarded]
        for p in parameters:
            shape.append(p.name)
            if isinstance(p, ArrayParameter):
                shape += (p.element, p.rank, p.written)
            else:
                shape += (p.type, None, None)
        self.key = tuple(shape)

    def native_types(self) -> list[Type]:
        """Types of what is passed, in the order of the calling convention."""
        types: list[Type] = []
        for p in self.parameters:
            if isinstance(p, ArrayParameter):
                types.append(PTR)
                types += [I64] * (2 * p.rank - 1 if p.rank else 0)
            elif p.type.is_complex:
                types += [p.type.part, p.type.part]
            else:
                types.append(p.type)
        if self.checked:
            types.append(PTR)
        return types

    def require_passable(self) -> None:
        """Raise ``AbiError`` when a type cannot be passed from Python."""
        for type_ in self.native_types():
            argument_type(type_)
        result_type(self.result)

    def wrapper(
        self,
        address: int,
        keep: object,
        overlaps: Callable[[list[np.ndarray[Any, Any]]], None] | None = None,
        fail: Callable[[Any], NoReturn] | None = None,
    ) -> Callable[..., Any]:
        """A Python function that checks its arguments and calls the code at ``address``.

        Args:
            address: of the code.
            keep: kept alive as long as the function (the code's memory).
            overlaps: checked mode: called with the arrays before the code runs.
            fail: checked mode: called with the four integers when the first is not 0; raises.
        """
        make = _templates.get(self.key)
        if make is None:
            if len(_templates) >= TEMPLATES:
                _templates.clear()
            make = _templates[self.key] = _make_template(self)
        native = ctypes.CFUNCTYPE(result_type(self.result), *[argument_type(t) for t in self.native_types()])(address)
        made: Any = make(native, keep, overlaps, fail)
        made.__name__ = made.__qualname__ = self.name
        call: Callable[..., Any] = made
        return call


#: Signatures whose Python function is kept compiled.
TEMPLATES: Final = 512
_templates: dict[tuple[object, ...], Callable[..., Any]] = {}


class _Missing:
    def __repr__(self) -> str:
        return "<missing>"


#: Stands for an argument that was not given.
missing: Final = _Missing()


def argument_names(parameters: list[Parameter]) -> list[str]:
    """Names under which arguments can be passed by keyword; a parameter whose name Python does not take gets a stand-in."""
    names: list[str] = []
    for k, p in enumerate(parameters):
        usable = p.name.isidentifier() and not keyword.iskeyword(p.name) and not p.name.startswith("_lw_") and p.name not in names
        names.append(p.name if usable else f"_lw_argument{k}")
    return names


def _make_template(signature: Signature) -> Callable[..., Any]:
    parameters = signature.parameters
    names = argument_names(parameters)
    known: dict[str, object] = {
        "__name__": __name__,
        "_lw_missing": missing,
        "_lw_ndarray": np.ndarray,
        "_lw_admit": admit,
        "_lw_convert": convert,
        "_lw_miscounted": miscounted,
        "_lw_names": names,
        "_lw_id": id,
        "_lw_type": type,
        "_lw_name": signature.name,
        "_lw_at": ctypes.c_int64.from_address,
        "_lw_errors_type": ctypes.c_int64 * 4,
        "_lw_addressof": ctypes.addressof,
        "_lw_limit": stack.limit,
    }
    for k, p in enumerate(parameters):
        known[f"_lw_p{k}"] = p
        if isinstance(p, ArrayParameter):
            known[f"_lw_d{k}"] = p.dtype
    absent = " or ".join(f"{n} is _lw_missing" for n in names) + (" or " if names else "")
    body = [
        "def _lw_make(_lw_native, _lw_keep, _lw_overlaps, _lw_fail):",
        f"  def _lw_call({''.join(f'{n}=_lw_missing, ' for n in names)}*_lw_extra, **_lw_unknown):",
        "   try:",
        f"    if {absent}_lw_extra or _lw_unknown:",
        f"      _lw_miscounted(_lw_name, _lw_names, ({''.join(n + ', ' for n in names)}), _lw_extra, _lw_unknown)",
    ]
    passed: list[str] = []
    arrays: list[str] = []
    for k, (p, name) in enumerate(zip(parameters, names, strict=True)):
        if isinstance(p, ArrayParameter):
            arrays.append(name)
            body += _array_source(k, p, name, passed)
        else:
            body += _scalar_source(k, p, name)
            passed += [f"{name}.real", f"{name}.imag"] if p.type.is_complex else [name]
    if signature.checked:
        body.append(f"    _lw_errors = _lw_errors_type({'0, 0, 0, _lw_limit()' if signature.guarded else ''})")
        body += [
            f"    if _lw_overlaps is not None: _lw_overlaps([{', '.join(arrays)}])",
            f"    _lw_result = _lw_native({', '.join([*passed, '_lw_addressof(_lw_errors)'])})",
            "    if _lw_errors[0]: _lw_fail(_lw_errors)",
            "    return _lw_result",
        ]
    else:
        body.append(f"    return _lw_native({', '.join(passed)})")
    body += [
        "   except Exception as _lw_error:",
        "    from loopwright.tracebacks import shorten as _lw_shorten",
        "    _lw_shorten(_lw_error)",
        "    raise",
        "  return _lw_call",
    ]
    exec(compile("\n".join(body), f"<call of {signature.name}>", "exec"), known)  # noqa: S102 (written from the signature alone; no text of a user's but identifiers)
    made: Callable[..., Any] = known["_lw_make"]  # type: ignore[assignment]
    return made


def _array_source(k: int, p: ArrayParameter, name: str, passed: list[str]) -> list[str]:
    """Checks of one array, in the order: dtype, rank, strides, writability; ``admit`` explains or accepts the unusual."""
    extents = [f"_lw_n{k}_{d}" for d in range(p.rank)]
    strides = [f"_lw_s{k}_{d}" for d in range(p.rank)]
    admit_it = f"{name} = _lw_admit(_lw_p{k}, {name})"
    lines = [
        # Not __class__, which an object may lie about: what is read below must be there.
        f"    if _lw_type({name}) is not _lw_ndarray or {name}.dtype is not _lw_d{k}: {admit_it}",
        f"    try: [{', '.join(extents)}] = {name}.shape",
        f"    except ValueError: {admit_it}",
    ]
    if p.rank:
        lines.append(f"    [{', '.join(strides)}] = {name}.strides")
        unusual = [f"{strides[-1]} != {p.dtype.itemsize} and {extents[-1]} > 1"]
        if p.written:
            unusual += [f"not {name}.flags.writeable"] + [f"not {s}" for s in strides[:-1]]
        lines.append(f"    if {' or '.join(unusual)}: {admit_it}")
    elif p.written:
        lines.append(f"    if not {name}.flags.writeable: {admit_it}")
    passed.append(f"_lw_at(_lw_id({name}) + {DATA}).value" if layout_holds() else f"{name}.ctypes.data")
    passed += [*extents[:-1], f"2 * {extents[-1]}"] if p.pairs else extents
    passed += strides[:-1]
    return lines


def _scalar_source(k: int, p: ScalarParameter, name: str) -> list[str]:
    convert_it = f"{name} = _lw_convert(_lw_p{k}, {name})"
    if p.type.is_complex:
        return [f"    if {name}.__class__ is not complex: {convert_it}"]
    if p.type.is_float:
        return [f"    if {name}.__class__ is not float: {convert_it}"]
    if p.type is BOOL:
        return [f"    {convert_it}"]
    low, high = limits(p.type)
    return [f"    if {name}.__class__ is not int or not {low} <= {name} <= {high}: {convert_it}"]


def miscounted(name: str, names: list[str], given: tuple[object, ...], extra: tuple[object, ...], unknown: dict[str, object]) -> NoReturn:
    """Raise for arguments that are missing, too many, or passed by names that are no parameters."""
    takes = f"{name}({', '.join(n if not n.startswith('_lw_') else f'argument {k + 1}' for k, n in enumerate(names))})"
    count = f"{len(names)} argument{'' if len(names) == 1 else 's'}"
    if extra:
        raise ArgumentError(f"{takes} takes {count}, got {len(names) + len(extra)}")
    if unknown:
        raise ArgumentError(f"{takes} has no parameter named {', '.join(sorted(unknown))}")
    left_out = [n if not n.startswith("_lw_") else f"argument {k + 1}" for k, (n, value) in enumerate(zip(names, given, strict=True)) if value is missing]
    raise ArgumentError(f"{takes} takes {count}; missing: {', '.join(left_out)}")
