"""C headers: prototypes of compiled functions, with what their arguments are."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Final

from loopwright.building.entries import Entry, is_name
from loopwright.errors import AbiError
from loopwright.ir.function import Array, Function
from loopwright.ir.loops import has_lanes
from loopwright.runtime.signature import ERRORS, index_groups, signature_of_function
from loopwright.targets.target import Target
from loopwright.types import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, PTR, U8, U16, U32, U64, VOID, Type

__all__ = ["header"]

_C: Final[dict[Type, str]] = {
    VOID: "void",
    BOOL: "bool",
    I8: "int8_t",
    I16: "int16_t",
    I32: "int32_t",
    I64: "int64_t",
    U8: "uint8_t",
    U16: "uint16_t",
    U32: "uint32_t",
    U64: "uint64_t",
    F32: "float",
    F64: "double",
    PTR: "void *",
}
#: Elements that C has no type for: their bits.
_BITS: Final[dict[Type, tuple[str, str]]] = {F16: ("uint16_t", "bits of IEEE 754 binary16"), BF16: ("uint16_t", "bits of bfloat16")}
_WIDTH: Final = 116

_BEGIN: Final = """\
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
"""
#: What gcc and clang call the features that they can ask a CPU for (GCC manual, "x86 Built-in Functions"); those that are missing came with some of these.
_ASKED: Final = {
    "popcnt": "popcnt",
    "sse4_2": "sse4.2",
    "avx": "avx",
    "avx2": "avx2",
    "bmi1": "bmi",
    "bmi2": "bmi2",
    "fma": "fma",
    "avx512f": "avx512f",
    "avx512bw": "avx512bw",
    "avx512cd": "avx512cd",
    "avx512dq": "avx512dq",
    "avx512vl": "avx512vl",
    "avx512_bitalg": "avx512bitalg",
    "avx512_vnni": "avx512vnni",
    "avx512_vpopcntdq": "avx512vpopcntdq",
    "avx512vbmi": "avx512vbmi",
    "pclmulqdq": "pclmul",
    "vpclmulqdq": "vpclmulqdq",
}
_SUPPORTED: Final = """\
/* Whether this CPU has what the functions below need. They do not ask themselves. */
static inline bool %s(void) {
    return %s;
}
"""
_END: Final = """\
#ifdef __cplusplus
}
#endif
"""


def header(entries: Sequence[Entry], target: Target, name: str, source: str) -> str:
    """The text of a header, for C and C++.

    Args:
        entries: the functions.
        target: what they were compiled for.
        name: the header's file name, which the macro against reading it twice is made of.
        source: the name of the file that they come from.

    Raises ``AbiError`` for a function with a parameter that C has no type for.
    """
    guard = re.sub(r"\W", "_", name.upper(), flags=re.ASCII)
    guard = f"LOOPWRIGHT_{guard}" if not guard[:1].isalpha() else guard
    features = " ".join(sorted(target.features)) or "no more than its base instructions"
    said = [
        *_wrapped(f"Made by loopwright from {source}, for {target.name}: the CPU has to have {features}."),
        *_wrapped("Extents are numbers of elements; elements of the last dimension are next to each other, and the distances between rows are in bytes."),
    ]
    parts = [_comment(said), f"#ifndef {guard}\n#define {guard}\n", _BEGIN]
    asked = [f'__builtin_cpu_supports("{known}")' for feature, known in _ASKED.items() if feature in target.features]
    if asked and target.name.startswith("x86"):
        stem = re.sub(r"\W", "_", name.rpartition(".")[0] or name, flags=re.ASCII)
        parts.append(
            "#if defined(__GNUC__) && defined(__x86_64__)\n" + _SUPPORTED % (f"loopwright_{stem}_supported", " &&\n           ".join(asked)) + "#endif\n"
        )
    parts += [_function(each) for each in entries]
    return "\n".join([*parts, _END, f"#endif /* {guard} */\n"])


def _wrapped(text: str, indent: str = "") -> list[str]:
    # (Nothing in a docstring ends the comment.)
    return textwrap.wrap(text.replace("*/", "* /"), _WIDTH, subsequent_indent=indent)


def _comment(lines: Sequence[str]) -> str:
    return "/* " + "\n * ".join(lines) + " */"


def _function(entry: Entry) -> str:
    f = entry.function
    # Arrays are as the runtime finds them, or it is refused.
    signature_of_function(f)
    names = _names(f)
    arrays = {array.base: array for array in f.arrays if not array.size}
    apart = _apart(f)
    lines = _wrapped(f"{entry.said}")
    for line in entry.doc.splitlines():
        lines += _wrapped(line, "  ") if line.strip() else [""]
    declared: list[str] = []
    noted: list[str] = []
    for p in f.params:
        array = arrays.get(p)
        if array is None:
            declared.append(_declared(f, f.types[p], names[p]))
            continue
        type_, bits = _element(f, array)
        declared.append(f"{'' if array.written else 'const '}{type_} *{'__restrict ' if p in apart else ''}{names[p]}")
        noted += _wrapped(_array(array, names, bits), "    ")
    if f.options.check and f.names[f.params[-1]] == ERRORS:
        declared[-1] = f"int64_t *{names[f.params[-1]]}"
        noted += _record(f, names[f.params[-1]])
    both = sorted(names[p] for p in apart)
    if both:
        noted += _wrapped(f"Overlaps none of the other arrays: {', '.join(both)}.", "  ")
    result = _C.get(f.result)
    if result is None:
        raise AbiError(f"{f.name} returns {f.result}, which C has no type for", f.file)
    between = "" if result.endswith("*") else " "
    return _comment([*lines, *noted]) + f"\n{result}{between}{f.name}({', '.join(declared) or 'void'});\n"


def _declared(f: Function, type_: Type, name: str) -> str:
    known = _C.get(type_)
    if known is None:
        raise AbiError(f"{f.name}: the parameter {name} is {type_}, which C has no type for", f.file)
    return f"{known}{'' if known.endswith('*') else ' '}{name}"


def _element(f: Function, array: Array) -> tuple[str, str]:
    known = _C.get(array.element)
    if known is not None:
        return known, ""
    if array.element not in _BITS:
        raise AbiError(f"{f.name}: {array.name} is an array of {array.element}, which C has no type for", f.file)
    return _BITS[array.element]


def _array(array: Array, names: dict[int, str], bits: str) -> str:
    extents = [names[r] for r in array.extents]
    text = f"  {names[array.base]}: {'[' + ']['.join(extents) + ']'}{f', {bits}' if bits else ''}, {'written' if array.written else 'read only'}"
    strides = [f"{names[r]} ({'rows' if k == len(array.strides) - 1 else f'dimension {k}'})" for k, r in enumerate(array.strides)]
    return text + (f"; bytes from one to the next: {', '.join(strides)}" if strides else "")


def _record(f: Function, name: str) -> list[str]:
    """What the record of a checked function says."""
    guarded = any(callee.function is not None for callee in f.callees)
    text = f"  {name}: 4 numbers, {'3 zeros, and the address that the stack is not to go below' if guarded else 'zeros'}. Where an access is outside of its array, or the stack is used up, the function returns, and they are which access (from 1), the index, the extent:"
    lines = _wrapped(text, "    ")
    for number, site in enumerate(f.sites, 1):
        what = f"{site.array}, dimension {site.dimension}" if site.array else "no room on the stack"
        lines += _wrapped(f"    {number}: line {site.line}: {what}{f': {site.text}' if site.text else ''}", "       ")
    return lines


def _names(f: Function) -> dict[int, str]:
    """What C calls the parameters: their own names, of an array's extents and strides with _n0, _s0, as long as C has no other use for those."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for k, p in enumerate(f.params):
        name = re.sub(r"\W", "_", f.names[p] or f"argument{k + 1}", flags=re.ASCII)
        name = name if is_name(name) else f"{name}_" if not name[:1].isdigit() else f"_{name}"
        while name in taken:
            name += "_"
        taken.add(name)
        names[p] = name
    return names


def _apart(f: Function) -> set[int]:
    """The arrays, by their bases, that must share nothing with any other: loops over lanes are done in no order, so that what they write must not be what they read through another
    array at another index."""
    parameters = [array for array in f.arrays if not array.size]
    if not has_lanes(f.code) or len(parameters) < 2 or not any(array.written for array in parameters):
        return set()
    groups = index_groups(f)
    by_base = {array.base: groups[k] for k, array in enumerate(f.arrays)}
    found: set[int] = set()
    for array in parameters:
        group = by_base[array.base]
        shared = group >= 0 and sum(by_base[other.base] == group for other in parameters) > 1
        if array.written and group != -2 and not shared:
            found.add(array.base)
    return found
