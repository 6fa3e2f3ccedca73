"""loopwright turns loops written in Python into vector machine code, at run time, in milliseconds, and shows every step of how.

::

    import numpy as np, loopwright as lw

    @lw.kernel
    def axpy(a: lw.f32, x: lw.Array, y: lw.Array):
        for i in lw.lanes(len(x)):
            y[i] += a * x[i]

    axpy(2.0, x, y)                       # compiled for these dtypes and this CPU, then cached
    print(axpy.compile(lw.f32, lw.Array[lw.f32], lw.Array[lw.f32]).asm())

What is used at the first kernel only (the passes, the targets, the runtime) is imported then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopwright import errors, types
from loopwright.errors import (
    AbiError,
    ArgumentError,
    BoundsError,
    CpuError,
    InternalError,
    KernelSyntaxError,
    KernelTypeError,
    LoopwrightError,
    OverlapError,
    ParseError,
    ScheduleError,
    TargetError,
    UnsupportedOperationError,
    VerifyError,
)
from loopwright.types import (
    BF16 as bf16,
)
from loopwright.types import (
    BOOL as bool_,
)
from loopwright.types import (
    F16 as f16,
)
from loopwright.types import (
    F32 as f32,
)
from loopwright.types import (
    F64 as f64,
)
from loopwright.types import (
    I8 as i8,
)
from loopwright.types import (
    I16 as i16,
)
from loopwright.types import (
    I32 as i32,
)
from loopwright.types import (
    I64 as i64,
)
from loopwright.types import (
    PTR as ptr,
)
from loopwright.types import (
    U8 as u8,
)
from loopwright.types import (
    U16 as u16,
)
from loopwright.types import (
    U32 as u32,
)
from loopwright.types import (
    U64 as u64,
)
from loopwright.types import (
    Type,
)

if TYPE_CHECKING:
    from loopwright import steps
    from loopwright.corpus.recording import record
    from loopwright.frontend.annotations import Array, ArrayType, Const
    from loopwright.frontend.arrays import local
    from loopwright.frontend.builder import Function, parse
    from loopwright.frontend.functions import (
        abs,
        all,
        any,
        bitcast,
        ceil,
        crc32c,
        div_trunc,
        floor,
        fma,
        max,
        min,
        popcount,
        rem_trunc,
        round,
        select,
        sqrt,
        sum,
        trunc,
    )
    from loopwright.frontend.kernel import Kernel, kernel
    from loopwright.frontend.loops import lanes, range
    from loopwright.frontend.native_calls import native_call as call
    from loopwright.targets.pipeline import after, before

__version__ = "0.1.0"

_FUNCTIONS = (
    "abs",
    "all",
    "any",
    "bitcast",
    "ceil",
    "crc32c",
    "div_trunc",
    "floor",
    "fma",
    "max",
    "min",
    "popcount",
    "rem_trunc",
    "round",
    "select",
    "sqrt",
    "sum",
    "trunc",
)

#: What is imported when it is first used: name -> (module, name there), or a module of the package.
_LAZY: dict[str, tuple[str, str]] = {
    "Array": ("loopwright.frontend.annotations", "Array"),
    "ArrayType": ("loopwright.frontend.annotations", "ArrayType"),
    "Const": ("loopwright.frontend.annotations", "Const"),
    "Function": ("loopwright.frontend.builder", "Function"),
    "Kernel": ("loopwright.frontend.kernel", "Kernel"),
    "after": ("loopwright.targets.pipeline", "after"),
    "before": ("loopwright.targets.pipeline", "before"),
    "call": ("loopwright.frontend.native_calls", "native_call"),
    "kernel": ("loopwright.frontend.kernel", "kernel"),
    "lanes": ("loopwright.frontend.loops", "lanes"),
    "local": ("loopwright.frontend.arrays", "local"),
    "parse": ("loopwright.frontend.builder", "parse"),
    "range": ("loopwright.frontend.loops", "range"),
    "record": ("loopwright.corpus.recording", "record"),
    "steps": ("loopwright.steps", ""),
    **{name: ("loopwright.frontend.functions", name) for name in _FUNCTIONS},
}

__all__ = [
    "AbiError",
    "ArgumentError",
    "Array",
    "ArrayType",
    "BoundsError",
    "Const",
    "CpuError",
    "Function",
    "InternalError",
    "Kernel",
    "KernelSyntaxError",
    "KernelTypeError",
    "LoopwrightError",
    "OverlapError",
    "ParseError",
    "ScheduleError",
    "TargetError",
    "Type",
    "UnsupportedOperationError",
    "VerifyError",
    "abs",
    "after",
    "all",
    "any",
    "before",
    "bf16",
    "bitcast",
    "bool_",
    "call",
    "ceil",
    "crc32c",
    "div_trunc",
    "errors",
    "f16",
    "f32",
    "f64",
    "floor",
    "fma",
    "i8",
    "i16",
    "i32",
    "i64",
    "kernel",
    "lanes",
    "local",
    "max",
    "min",
    "parse",
    "popcount",
    "ptr",
    "range",
    "record",
    "rem_trunc",
    "round",
    "select",
    "sqrt",
    "steps",
    "sum",
    "trunc",
    "types",
    "u8",
    "u16",
    "u32",
    "u64",
]


def __getattr__(name: str) -> Any:
    where = _LAZY.get(name)
    if where is None:
        raise AttributeError(f"module 'loopwright' has no attribute {name!r}")
    import importlib

    module = importlib.import_module(where[0])
    if where[0].startswith("loopwright.frontend"):
        from loopwright.frontend import kernel as frontend

        frontend.provide(_backend)
    value = globals()[name] = getattr(module, where[1]) if where[1] else module
    return value


def _backend() -> Any:
    from loopwright.jit import BACKEND

    return BACKEND


def __dir__() -> list[str]:
    return sorted(__all__)
