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
    StackOverflowError,
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
    COMPLEX64 as complex64,
)
from loopwright.types import (
    COMPLEX128 as complex128,
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
    from loopwright.capabilities import supports
    from loopwright.corpus.recording import record
    from loopwright.elementary.functions import (
        acos,
        acosh,
        asin,
        asinh,
        atan,
        atan2,
        atanh,
        cbrt,
        cos,
        cosh,
        erf,
        erfc,
        exp,
        exp2,
        exp10,
        expm1,
        gelu,
        hypot,
        lgamma,
        log,
        log1p,
        log2,
        log10,
        pow,
        sigmoid,
        sin,
        sincos,
        sinh,
        softplus,
        tan,
        tanh,
        tgamma,
    )
    from loopwright.elementary.random_numbers import philox, philox32, uniform
    from loopwright.frontend.annotations import Array, ArrayType, Const
    from loopwright.frontend.arithmetic import (
        abs_diff,
        add_saturated,
        average_down,
        average_up,
        bit_reverse,
        byte_swap,
        clamp,
        clmul,
        clmul_high,
        copysign,
        fms,
        fnma,
        fnms,
        leading_zeros,
        mul_high,
        mul_wide,
        rotate_left,
        rotate_right,
        saturate,
        sign,
        sub_saturated,
        trailing_zeros,
    )
    from loopwright.frontend.array_functions import local, nontemporal
    from loopwright.frontend.builder import Function, parse
    from loopwright.frontend.estimates import rcp_estimate, rsqrt_estimate
    from loopwright.frontend.functions import (
        abs,
        all,
        angle,
        any,
        bit,
        bitcast,
        ceil,
        conj,
        crc32c,
        div_trunc,
        floor,
        fma,
        fmod,
        imag,
        max,
        min,
        popcount,
        real,
        rem_trunc,
        round,
        select,
        set_bit,
        sqrt,
        sum,
        trunc,
    )
    from loopwright.frontend.kernel import Kernel, kernel
    from loopwright.frontend.llvm.module import from_llvm
    from loopwright.frontend.loops import lanes, range
    from loopwright.frontend.module import Module
    from loopwright.frontend.native_calls import native_call as call
    from loopwright.frontend.printing import debug_print
    from loopwright.runtime.debug import debugger, perf
    from loopwright.targets.pipeline import after, before, without

__version__ = "0.1.0"

_FUNCTIONS = (
    "abs",
    "all",
    "angle",
    "any",
    "bit",
    "bitcast",
    "ceil",
    "conj",
    "crc32c",
    "div_trunc",
    "floor",
    "fma",
    "fmod",
    "imag",
    "max",
    "min",
    "popcount",
    "real",
    "rem_trunc",
    "round",
    "select",
    "set_bit",
    "sqrt",
    "sum",
    "trunc",
)

_ARITHMETIC = (
    "abs_diff",
    "add_saturated",
    "average_down",
    "average_up",
    "bit_reverse",
    "byte_swap",
    "clamp",
    "clmul",
    "clmul_high",
    "copysign",
    "fms",
    "fnma",
    "fnms",
    "leading_zeros",
    "mul_high",
    "mul_wide",
    "rotate_left",
    "rotate_right",
    "saturate",
    "sign",
    "sub_saturated",
    "trailing_zeros",
)

_ELEMENTARY = (
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "gelu",
    "hypot",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "pow",
    "sigmoid",
    "sin",
    "sincos",
    "sinh",
    "softplus",
    "tan",
    "tanh",
    "tgamma",
)

_ESTIMATES = ("rcp_estimate", "rsqrt_estimate")

_RANDOM = ("philox", "philox32", "uniform")

#: What is imported when it is first used: name -> (module, name there), or a module of the package.
_LAZY: dict[str, tuple[str, str]] = {
    "Array": ("loopwright.frontend.annotations", "Array"),
    "ArrayType": ("loopwright.frontend.annotations", "ArrayType"),
    "Const": ("loopwright.frontend.annotations", "Const"),
    "Function": ("loopwright.frontend.builder", "Function"),
    "Kernel": ("loopwright.frontend.kernel", "Kernel"),
    "Module": ("loopwright.frontend.module", "Module"),
    "after": ("loopwright.targets.pipeline", "after"),
    "before": ("loopwright.targets.pipeline", "before"),
    "without": ("loopwright.targets.pipeline", "without"),
    "call": ("loopwright.frontend.native_calls", "native_call"),
    "kernel": ("loopwright.frontend.kernel", "kernel"),
    "lanes": ("loopwright.frontend.loops", "lanes"),
    "local": ("loopwright.frontend.array_functions", "local"),
    "nontemporal": ("loopwright.frontend.array_functions", "nontemporal"),
    "debug_print": ("loopwright.frontend.printing", "debug_print"),
    "debugger": ("loopwright.runtime.debug", "debugger"),
    "perf": ("loopwright.runtime.debug", "perf"),
    "from_llvm": ("loopwright.frontend.llvm.module", "from_llvm"),
    "parse": ("loopwright.frontend.builder", "parse"),
    "range": ("loopwright.frontend.loops", "range"),
    "record": ("loopwright.corpus.recording", "record"),
    "steps": ("loopwright.steps", ""),
    "supports": ("loopwright.capabilities", "supports"),
    **{name: ("loopwright.frontend.functions", name) for name in _FUNCTIONS},
    **{name: ("loopwright.frontend.arithmetic", name) for name in _ARITHMETIC},
    **{name: ("loopwright.frontend.estimates", name) for name in _ESTIMATES},
    **{name: ("loopwright.elementary.functions", name) for name in _ELEMENTARY},
    **{name: ("loopwright.elementary.random_numbers", name) for name in _RANDOM},
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
    "Module",
    "OverlapError",
    "ParseError",
    "ScheduleError",
    "StackOverflowError",
    "TargetError",
    "Type",
    "UnsupportedOperationError",
    "VerifyError",
    "abs",
    "abs_diff",
    "acos",
    "acosh",
    "add_saturated",
    "after",
    "all",
    "angle",
    "any",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "average_down",
    "average_up",
    "before",
    "bf16",
    "bit",
    "bit_reverse",
    "bitcast",
    "bool_",
    "byte_swap",
    "call",
    "cbrt",
    "ceil",
    "clamp",
    "clmul",
    "clmul_high",
    "complex64",
    "complex128",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "crc32c",
    "debug_print",
    "debugger",
    "div_trunc",
    "erf",
    "erfc",
    "errors",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "f16",
    "f32",
    "f64",
    "floor",
    "fma",
    "fmod",
    "fms",
    "fnma",
    "fnms",
    "from_llvm",
    "gelu",
    "hypot",
    "i8",
    "i16",
    "i32",
    "i64",
    "imag",
    "kernel",
    "lanes",
    "leading_zeros",
    "lgamma",
    "local",
    "log",
    "log1p",
    "log2",
    "log10",
    "max",
    "min",
    "mul_high",
    "mul_wide",
    "nontemporal",
    "parse",
    "perf",
    "philox",
    "philox32",
    "popcount",
    "pow",
    "ptr",
    "range",
    "rcp_estimate",
    "real",
    "record",
    "rem_trunc",
    "rotate_left",
    "rotate_right",
    "round",
    "rsqrt_estimate",
    "saturate",
    "select",
    "set_bit",
    "sigmoid",
    "sign",
    "sin",
    "sincos",
    "sinh",
    "softplus",
    "sqrt",
    "steps",
    "sub_saturated",
    "sum",
    "supports",
    "tan",
    "tanh",
    "tgamma",
    "trailing_zeros",
    "trunc",
    "types",
    "u8",
    "u16",
    "u32",
    "u64",
    "uniform",
    "without",
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
