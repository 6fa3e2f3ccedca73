"""The kernels as LLVM IR built by hand through llvmlite, optimised at -O0 or -O2 with loops vectorised.

What a careful user of llvmlite writes: pointers marked noalias, fast-math flags on every operation, the host's CPU
and features, the loop and SLP vectorisers on. Building the IR is part of what ``benchmarks/compile.py`` times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from benchmarks.cases import DEGREE_3, DEGREE_15

VARIANTS = ("llvmlite -O0", "llvmlite -O2 256", "llvmlite -O2 512")

_F32, _I64, _I32, _VOID = ir.FloatType(), ir.IntType(64), ir.IntType(32), ir.VoidType()
_FLAGS = ("fast",)


@cache
def _target() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple()


@cache
def _host(vector_bits: int) -> tuple[str, str]:
    features = llvm.get_host_cpu_features().flatten()
    if vector_bits:
        # The vectoriser's preference, as the function attribute "prefer-vector-width" would set it.
        features += ",+prefer-256-bit" if vector_bits == 256 else ",-prefer-256-bit"
    return llvm.get_host_cpu_name(), features


def compile_text(text: str, level: int, vector_bits: int = 0) -> Any:
    """An execution engine with the code for a module's text."""
    target = _target()
    module = llvm.parse_assembly(text)
    module.verify()
    cpu, features = _host(vector_bits)
    machine = target.create_target_machine(cpu=cpu, features=features, opt=level)
    if level:
        options = llvm.create_pipeline_tuning_options(speed_level=level)
        options.loop_vectorization = True
        options.slp_vectorization = True
        options.loop_unrolling = True
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


def _function(name: str, result: Any, parameters: Sequence[Any]) -> tuple[Any, Any]:
    module = ir.Module(name)
    module.triple = llvm.get_process_triple()
    function = ir.Function(module, ir.FunctionType(result, list(parameters)), name)
    for argument in function.args:
        if isinstance(argument.type, ir.PointerType):
            argument.add_attribute("noalias")
    return module, function


def _counted(function: Any, entry: Any, n: Any, body: Callable[[Any, Any], None], tag: str = "") -> Any:
    """A loop of ``n`` > 0 steps after the block ``entry``; gives the block that follows it."""
    head, done = function.append_basic_block("loop" + tag), function.append_basic_block("done" + tag)
    b = ir.IRBuilder(entry)
    b.cbranch(b.icmp_signed(">", n, _I64(0)), head, done)
    b = ir.IRBuilder(head)
    i = b.phi(_I64)
    i.add_incoming(_I64(0), entry)
    body(b, i)
    following = b.add(i, _I64(1), flags=("nsw",))
    i.add_incoming(following, b.block)
    b.cbranch(b.icmp_signed("<", following, n), head, done)
    return done


def poly(name: str, coefficients: tuple[float, ...]) -> Any:
    """y[i] = the polynomial at x[i], by Horner's rule."""
    pointer = _F32.as_pointer()
    module, function = _function(name, _VOID, (pointer, pointer, _I64))
    x, y, n = function.args

    def body(b: Any, i: Any) -> None:
        v = b.load(b.gep(x, [i], inbounds=True))
        total = _F32(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = b.fadd(b.fmul(total, v, flags=_FLAGS), _F32(c), flags=_FLAGS)
        b.store(total, b.gep(y, [i], inbounds=True))

    done = _counted(function, function.append_basic_block("entry"), n, body)
    ir.IRBuilder(done).ret_void()
    return module


def max3() -> Any:
    """y[i] = max(x[i], x[i + 1], x[i + 2])."""
    pointer = _F32.as_pointer()
    module, function = _function("max3", _VOID, (pointer, pointer, _I64))
    x, y, n = function.args

    def body(b: Any, i: Any) -> None:
        values = [b.load(b.gep(x, [b.add(i, _I64(k)) if k else i], inbounds=True)) for k in range(3)]
        best = values[0]
        for value in values[1:]:
            best = b.select(b.fcmp_ordered(">", best, value, flags=_FLAGS), best, value)
        b.store(best, b.gep(y, [i], inbounds=True))

    done = _counted(function, function.append_basic_block("entry"), n, body)
    ir.IRBuilder(done).ret_void()
    return module


def blur() -> Any:
    """out[r, i] = the mean of the 3 x 3 elements of image from [r, i]: nine direct additions."""
    pointer = _F32.as_pointer()
    module, function = _function("blur", _VOID, (pointer, pointer, _I64, _I64, _I64, _I64))
    image, out, rows, columns, image_stride, out_stride = function.args

    def row(b: Any, r: Any) -> None:
        lines = [b.gep(image, [b.mul(b.add(r, _I64(k)), image_stride)], inbounds=True) for k in range(3)]
        target = b.gep(out, [b.mul(r, out_stride)], inbounds=True)

        def body(c: Any, i: Any) -> None:
            total = None
            for line in lines:
                for k in range(3):
                    value = c.load(c.gep(line, [c.add(i, _I64(k)) if k else i], inbounds=True))
                    total = value if total is None else c.fadd(total, value, flags=_FLAGS)
            c.store(c.fmul(total, _F32(1 / 9), flags=_FLAGS), c.gep(target, [i], inbounds=True))

        b.position_at_end(_counted(function, b.block, columns, body, ".columns"))

    done = _counted(function, function.append_basic_block("entry"), rows, row)
    ir.IRBuilder(done).ret_void()
    return module


def _reduction(name: str, arrays: int) -> Any:
    pointer = _F32.as_pointer()
    module, function = _function(name, _F32, [pointer] * arrays + [_I64])
    *sources, n = function.args
    entry = function.append_basic_block("entry")
    carried: list[Any] = []

    def body(b: Any, i: Any) -> None:
        total = b.phi(_F32)
        total.add_incoming(_F32(0.0), entry)
        values = [b.load(b.gep(source, [i], inbounds=True)) for source in sources]
        value = values[0] if arrays == 1 else b.fmul(*values, flags=_FLAGS)
        after = b.fadd(total, value, flags=_FLAGS)
        total.add_incoming(after, b.block)
        carried.append((after, b.block))

    done = _counted(function, entry, n, body)
    b = ir.IRBuilder(done)
    result = b.phi(_F32)
    result.add_incoming(_F32(0.0), entry)
    result.add_incoming(*carried[0])
    b.ret(result)
    return module


def selection_sort() -> Any:
    """Sort n int32 in place, by repeatedly exchanging the smallest of the rest to the front."""
    pointer = _I32.as_pointer()
    module, function = _function("selection_sort", _VOID, (pointer, _I64))
    a, n = function.args
    entry, outer, inner, exchange, done = (function.append_basic_block(name) for name in ("entry", "outer", "inner", "exchange", "done"))
    b = ir.IRBuilder(entry)
    last = b.sub(n, _I64(1))
    b.cbranch(b.icmp_signed(">", last, _I64(0)), outer, done)
    b = ir.IRBuilder(outer)
    i = b.phi(_I64)
    i.add_incoming(_I64(0), entry)
    here = b.gep(a, [i], inbounds=True)
    first = b.load(here)
    start = b.add(i, _I64(1))
    b.branch(inner)
    b = ir.IRBuilder(inner)
    j, smallest, where = b.phi(_I64), b.phi(_I32), b.phi(_I64)
    j.add_incoming(start, outer)
    smallest.add_incoming(first, outer)
    where.add_incoming(i, outer)
    value = b.load(b.gep(a, [j], inbounds=True))
    less = b.icmp_signed("<", value, smallest)
    smallest_after, where_after = b.select(less, value, smallest), b.select(less, j, where)
    j_after = b.add(j, _I64(1))
    j.add_incoming(j_after, inner)
    smallest.add_incoming(smallest_after, inner)
    where.add_incoming(where_after, inner)
    b.cbranch(b.icmp_signed("<", j_after, n), inner, exchange)
    b = ir.IRBuilder(exchange)
    there = b.gep(a, [where_after], inbounds=True)
    b.store(first, there)
    b.store(smallest_after, here)
    i.add_incoming(start, exchange)
    b.cbranch(b.icmp_signed("<", start, last), outer, done)
    ir.IRBuilder(done).ret_void()
    return module


#: Kernel -> a function that builds its module anew.
BUILDERS: dict[str, Callable[[], Any]] = {
    "poly3": lambda: poly("poly3", DEGREE_3),
    "poly15": lambda: poly("poly15", DEGREE_15),
    "max3": max3,
    "blur": blur,
    "dot": lambda: _reduction("dot", 2),
    "sum": lambda: _reduction("sum", 1),
    "selection_sort": selection_sort,
}


def compile_kernel(kernel: str, level: int, vector_bits: int = 0) -> tuple[Any, int]:
    """(what keeps the code alive, its address) of a kernel built and compiled anew."""
    engine = compile_text(str(BUILDERS[kernel]()), level, vector_bits)
    return engine, int(engine.get_function_address(kernel))
