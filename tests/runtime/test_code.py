"""Code objects: calling, refusing, listing, linking, checking. Their machine code is written by hand."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.compiler import Compiled
from loopwright.errors import AbiError, ArgumentError, BoundsError, CpuError, OverlapError, TargetError
from loopwright.ir import ops
from loopwright.ir.function import NONE, Callee, Function, Instr, Options, Site
from loopwright.ir.text import parse
from loopwright.runtime import cpu, memory
from loopwright.runtime.arrays import UNUSED
from loopwright.runtime.code import Code
from loopwright.runtime.native import NativeFunction
from loopwright.runtime.signature import index_groups, signature_of_function
from loopwright.targets.target import Convention, MachineCode, Target
from loopwright.types import F32, I64, PTR, VOID

pytestmark = pytest.mark.skipif(not cpu.is_x86_64() or sys.platform == "win32", reason="needs x86-64 and System V's convention")


class Plain(Target):
    """As much of a target as a Code object asks for."""

    def __init__(self, name: str = "x86-64-v1", features: frozenset[str] = frozenset(), convention: str = "sysv") -> None:
        super().__init__(Convention(convention, (), (), 0, 0, 0), [], [], features)
        self.name = name

    def listing(self, machine: MachineCode) -> list[tuple[int, bytes, str, int]]:
        return [(0, machine.data[:4], "lea rax, [rdi + rsi]", 3), (4, machine.data[4:5], "ret", 4)]

    def relocate(self, data: bytearray, offset: int, kind: str, distance: int, place: int = 0) -> None:
        assert kind == "rel32"
        data[offset : offset + 4] = (distance - 4).to_bytes(4, "little", signed=True)


ADD = bytes.fromhex("488d0437c3")  # lea rax, [rdi+rsi]; ret


def compiled(f: Function, data: bytes, target: Target | None = None, pool: bytes = b"", relocations: list[tuple[int, str, str]] | None = None) -> Compiled:
    machine = MachineCode(data + pool, len(data), None, relocations or [], 64)
    return Compiled(f, f, machine, target or Plain(), "ABCDEFGHIJKLMNOPQ", {"collect": 0.001}, {"collect": "function add"})


def adder(**how: Any) -> Code:
    f = Function("add", I64)
    f.param(I64, "a")
    f.param(I64, "b")
    f.file = "sum.py"
    f.lines = {3: "    total = a + b", 4: "    return total"}
    return Code(compiled(f, ADD, **how))


def test_code_is_called() -> None:
    code = adder()
    assert code(2, 3) == code(a=2, b=3) == code.call(2, 3) == 5
    with pytest.raises(ArgumentError, match=r"add\(a, b\) takes 2 arguments; missing: b"):
        code(1)


def test_what_code_tells_of_itself() -> None:
    code = adder(pool=bytes(range(20)))
    assert (code.name, code.size, code.target.name, code.times) == ("add", 5, "x86-64-v1", {"collect": 0.001})
    assert code.bytes == ADD + bytes(range(20))
    assert ctypes.string_at(code.address, 5) == ADD
    assert code.ir() == code.ir("collect") == "function add\n"
    assert repr(code) == f"<Code add for x86-64-v1, 5 bytes at {code.address:#x}>"
    with pytest.raises(TargetError, match="there is no pass 'nothing'"):
        code.ir("nothing")


def test_the_listing_has_addresses_bytes_instructions_and_python() -> None:
    code = adder(pool=bytes(range(20)))
    assert code.asm() == (
        f"; add, x86-64-v1, 5 bytes of code, 20 of constants, at {code.address:#x}\n"
        "; sum.py:3: total = a + b\n"
        "     0  48 8d 04 37  lea rax, [rdi + rsi]\n"
        "; sum.py:4: return total\n"
        "     4  c3           ret\n"
        "; constants\n"
        "     5  00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f\n"
        "    15  10 11 12 13\n"
    )


def test_memory_is_given_back_with_the_code() -> None:
    gc.collect()
    adder()
    before = memory.statistics().used
    codes = [adder() for _ in range(10)]
    assert [code(1, k) for k, code in enumerate(codes)] == list(range(1, 11))
    assert memory.statistics().used > before
    del codes
    assert memory.statistics().used == before, "without waiting for a garbage collection"


@pytest.mark.parametrize("size", [5, 59, 64, 65, 1000, 70_000])
def test_the_quick_way_stands_behind_the_code_in_one_block(size: int) -> None:
    gc.collect()
    before = memory.statistics().used
    code = adder(pool=bytes(size - len(ADD)))
    assert code(2, 3) == 5
    kept = code._block
    assert kept is not None
    data = kept.read()
    start = -(-size // memory.LINE) * memory.LINE
    assert data[:size] == code.bytes
    assert data[size:start] == memory.TRAP * (start - size)
    assert memory.statistics().used - before == -(-len(data) // memory.LINE) * memory.LINE


def test_code_for_another_machine_is_refused_when_called() -> None:
    code = adder(target=Plain("rv64gc"))
    assert code.address == 0
    assert code.bytes == ADD
    assert "0  48 8d 04 37  lea" in code.asm()
    assert "not loaded" in repr(code)
    with pytest.raises(CpuError, match=r"code for rv64gc cannot run on this x86_64 CPU; use code\.emulate"):
        code(1, 2)


def test_code_for_features_this_cpu_lacks_is_refused_when_called() -> None:
    with pytest.raises(CpuError, match=r"code for x86-64-v9 cannot run on this CPU, which lacks avx9000"):
        adder(target=Plain("x86-64-v9", frozenset(("sse2", "avx9000"))))(1, 2)


def test_a_lesser_cpu_can_be_pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cpu.VARIABLE, "-sse2")
    code = adder(target=Plain("x86-64-v1", frozenset(("sse2",))))
    with pytest.raises(CpuError, match=r"lacks sse2 \(as restricted by LOOPWRIGHT_CPU_FEATURES\)"):
        code(1, 2)


def test_code_of_another_convention_is_refused_when_called() -> None:
    with pytest.raises(TargetError, match="calling convention win64 cannot be called from this Python, whose convention is sysv"):
        adder(target=Plain(convention="win64"))(1, 2)


def test_code_cannot_be_pickled() -> None:
    import pickle

    with pytest.raises(TypeError, match="compiled code cannot be pickled"):
        pickle.dumps(adder())


def test_functions_that_call_each_other_are_linked(monkeypatch: pytest.MonkeyPatch) -> None:
    # twice(a, b): sub rsp, 8; call add; add rsp, 8; add rax, rax; ret
    add = Function("add", I64)
    twice = Function("twice", I64)
    for f in (add, twice):
        f.param(I64, "a")
        f.param(I64, "b")
    twice.callees.append(Callee("add", [I64, I64], I64, function=add))
    made: list[Function] = []

    def compile_function(f: Function, target: Target, ordering: str | None = None) -> Compiled:
        made.append(f)
        return compiled(f, ADD, target)

    monkeypatch.setattr("loopwright.runtime.link.compile_function", compile_function)
    code = Code(compiled(twice, bytes.fromhex("4883ec08 e800000000 4883c408 4801c0 c3"), relocations=[(5, "rel32", "add")]))
    assert code(3, 4) == 14
    assert made == [add]


def test_a_call_to_nothing_is_refused() -> None:
    f = Function("lost", VOID)
    f.callees.append(Callee("nowhere", [], VOID))
    with pytest.raises(TargetError, match="lost calls nowhere, which has no address in this process"):
        Code(compiled(f, bytes.fromhex("e800000000c3"), relocations=[(1, "rel32", "nowhere")]))


def test_what_the_code_calls_lives_as_long_as_it() -> None:
    class Kept:
        gone = False

        def __del__(self) -> None:
            Kept.gone = True

    f = Function("f", I64)
    f.param(I64, "a")
    f.param(I64, "b")
    f.callees.append(Callee("g", [], VOID, address=1, keep=Kept()))
    call = Code(compiled(f, ADD)).call
    f.callees.clear()
    assert (call(1, 2), Kept.gone) == (3, False)
    del call
    gc.collect()
    assert Kept.gone


#: wait(mailbox, limit): says that it runs (mailbox[1] = 1), then looks ``limit`` times at mailbox[0]; 1 as soon as it is not 0, else 0.
WAIT = bytes.fromhex("c7470401000000 31c0 f390 833f00 7506 48ffce 75f4 c3 b801000000 c3")

#: Ten seconds of looking, with `pause` and without; where the GIL is not released, no other thread runs before they have passed.
LOOKS, PLAIN_LOOKS = 1 << 28, 1 << 33


def waiting() -> Function:
    f = Function("wait", I64)
    f.param(PTR, "mailbox")
    f.param(I64, "looks")
    return f


@lw.kernel
def waiting_kernel(mailbox: lw.Array[lw.i32], looks: lw.i64) -> lw.i64:
    n = lw.i64(0)
    while n < looks:
        mailbox[1] = 1
        if mailbox[0] != 0:
            return 1
        n += 1
    return 0


@pytest.mark.parametrize("way", ["numbers", "an object with an address", "by name", "NativeFunction", "a kernel", "a compiled kernel"])
def test_the_gil_is_released_while_code_runs(way: str) -> None:
    """Code waits for what another thread of this interpreter does, and that thread waits until the code runs."""
    mailbox = np.zeros(2, np.int32)
    address = mailbox.ctypes.data
    code = Code(compiled(waiting(), WAIT))
    native = NativeFunction(memory.allocate(WAIT), [PTR, I64], I64)
    compiled_kernel = waiting_kernel.compile()
    call: Callable[[int], int] = {
        "numbers": lambda looks: code(address, looks),
        "an object with an address": lambda looks: code(ctypes.c_void_p(address), looks),
        "by name": lambda looks: code(looks=looks, mailbox=address),
        "NativeFunction": lambda looks: native(address, looks),
        "a kernel": lambda looks: waiting_kernel(mailbox, looks),
        "a compiled kernel": lambda looks: compiled_kernel(mailbox, looks),
    }[way]
    assert call(10) == 0
    mailbox[:] = 0
    done = threading.Event()

    def answer() -> None:
        while mailbox[1] == 0 and not done.is_set():
            time.sleep(0.001)
        mailbox[0] = 1

    other = threading.Thread(target=answer)
    other.start()
    try:
        assert call(PLAIN_LOOKS if way.endswith("kernel") else LOOKS) == 1
    finally:
        done.set()
        other.join()


def test_a_callback_into_python_gets_the_gil() -> None:
    seen: list[int] = []
    callback = ctypes.CFUNCTYPE(None)(lambda: seen.append(len(seen)))
    f = Function("calls")
    f.param(PTR, "callback")
    code = Code(compiled(f, bytes.fromhex("4883ec08 ffd7 4883c408 c3")))  # sub rsp, 8; call rdi; add rsp, 8; ret
    address = ctypes.cast(callback, ctypes.c_void_p).value
    for _ in range(3):
        code(address)
    code(callback)
    assert seen == [0, 1, 2, 3]


def test_threads_call_one_code() -> None:
    code = adder()
    wrong: list[int] = []

    def work(n: int) -> None:
        wrong.extend(k for k in range(3000) if code(n, k) != n + k)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# --- checked mode ----------------------------------------------------------------------------------------------


def checked(hidden: bool, written: bool = False, data: str = "") -> Code:
    """A function of one array that reports site 1, index 7, extent = the array's, if there is one element or more; and returns nothing."""
    f = Function("peek", VOID, Options(check=True))
    f.array_param("x", F32, 1)
    f.arrays[0].written = written
    if hidden:
        f.param(PTR, "errors")
    f.file = "peek.py"
    f.sites.append(Site("x", 0, 12, "x[i + 1]"))
    # test rsi, rsi; je L; mov qword [rdx], 1; mov qword [rdx+8], 7; mov [rdx+16], rsi; L: ret
    return Code(compiled(f, bytes.fromhex(data or "4885f6 7413 48c70201000000 48c7420807000000 48897210 c3")))


@pytest.mark.parametrize("hidden", [True, False])
def test_an_access_out_of_bounds_is_reported_with_its_line(hidden: bool) -> None:
    code = checked(hidden)
    code(np.zeros(0, np.float32))
    with pytest.raises(BoundsError, match=r"^peek\.py:12: x: index 7 is outside the array, which has 3 elements \(x\[i \+ 1\]\)$"):
        code(np.zeros(3, np.float32))
    with pytest.raises(IndexError):
        code(np.zeros(1, np.float32))
    with pytest.raises(ArgumentError, match=r"peek\(x\) takes 1 argument; missing: x"):
        code()


def copier(x_index: str, y_index: str) -> Function:
    """y[…] = x[…] in a loop, with index i or j = i + 1, a variable v, or the constant 3."""
    f = Function("copy", VOID, Options(check=True))
    f.array_param("x", F32, 1)
    f.array_param("y", F32, 1)
    f.arrays[1].written = True
    i = f.register(I64, "i")
    j = f.register(I64, "j")
    v = f.register(I64, "v", variable=True)
    t = f.register(F32)
    index = {"i": i, "j": j, "v": v, "3": f.const(I64, 3)}
    f.code = [
        Instr(ops.FOR, VOID, i, [f.const(I64, 0), f.arrays[0].extents[0], f.const(I64, 1)]),
        Instr(ops.ADD, I64, j, [i, f.const(I64, 1)]),
        Instr(ops.LOAD, F32, t, [index[x_index]], 0),
        Instr(ops.STORE, F32, NONE, [t, index[y_index]], 1),
        Instr(ops.END, VOID, NONE, []),
    ]
    return f


@pytest.mark.parametrize(
    ("x_index", "y_index", "same"), [("i", "i", True), ("j", "j", True), ("3", "3", True), ("i", "j", False), ("v", "v", False), ("i", "3", False)]
)
def test_arrays_accessed_at_one_index_only(x_index: str, y_index: str, same: bool) -> None:
    f = copier(x_index, y_index)
    groups = index_groups(f)
    assert (groups[0] >= 0 and groups[0] == groups[1]) == same
    code = Code(compiled(f, b"\xc3"))
    x = np.zeros(5, np.float32)
    code(x, x.copy())
    if same:
        code(x, x)
    else:
        with pytest.raises(OverlapError, match="y and x share memory"):
            code(x, x)
    with pytest.raises(OverlapError, match="y and x share memory"):
        code(x[1:], x[:-1])


def test_an_array_accessed_at_two_indices_is_in_no_group() -> None:
    f = copier("i", "i")
    f.code.insert(3, Instr(ops.LOAD, F32, f.register(F32), [f.const(I64, 0)], 0))
    assert index_groups(f)[0] == -1


FIRST = "%a = load.f32 x[%i]\nstore.f32 %a, y[%i]"
SECOND = "%b = load.f32 x[%j]\nstore.f32 %b, y[%j]"


@pytest.mark.parametrize(
    ("body", "same"),
    [
        (f"%i = for 0, %n, 1\n{FIRST}\nend\n%j = for 0, %n, 1\n{SECOND}\nend", True),
        (f"%k = for 0, %n, 1\n%i = for 0, %n, 1\n{FIRST}\nend\n%j = for 0, %n, 1\n{SECOND}\nend\nend", True),
        (f"%i = for 0, %n, 1\n{FIRST}\n%j = for 0, %n, 1\n{SECOND}\nend\nend", False),
        (f"%i = for 0, %n, 1\n%j = for 0, %n, 1\n{SECOND}\nend\n{FIRST}\nend", False),
        (f"%i = for 0, %n, 1\n{FIRST}\nend\n%j = copy.i64 3\n{SECOND}", False),
        # One of them is accessed in one of the loops only.
        ("%i = for 0, %n, 1\nstore.f32 1.0, y[%i]\nend\n%j = for 0, %n, 1\n%b = load.f32 x[%j]\nstore.f32 %b, y[%j]\nend", False),
    ],
)
def test_arrays_accessed_at_the_same_index_of_loops_one_after_the_other(body: str, same: bool) -> None:
    f = parse(f"function f(%x: ptr, %n: i64, %y: ptr, %m: i64)\n array x: f32[%n] at %x\n array y: f32[%m] at %y\n{body}\nend")
    groups = index_groups(f)
    assert (groups[0] >= 0 and groups[0] == groups[1]) == same


def test_an_index_that_is_the_loops_own_variable_is_steady() -> None:
    f = copier("i", "i")
    f.variable[f.code[0].dst] = True
    groups = index_groups(f)
    assert groups[0] == groups[1] >= 0


@pytest.mark.parametrize(
    "header",
    [
        "%x: ptr, %n: i64, %y: ptr, %m: i64)\n array x: i64[%m] at %x\n array y: i64[%m] at %y",
        "%x: ptr, %n: i64, %y: ptr)\n array x: i64[%n] at %x\n array y: i64[%n] at %y",
        "%n: i64, %x: ptr)\n array x: i64[%n] at %x",
        "%x: ptr, %n: i64)\n array x: i64[%n] at %x\n array y: i64[%n] at %x",
        "%x: ptr, %s: i64, %n: i64, %m: i64)\n array x: i64[%n, %m] strides [%s] at %x",
    ],
)
def test_arrays_that_do_not_have_parameters_of_their_own_cannot_be_passed(header: str) -> None:
    with pytest.raises(AbiError, match="must be parameters of its own, in this order"):
        signature_of_function(parse(f"function f({header}\nend"))


def test_an_array_that_is_not_accessed_may_overlap_an_output() -> None:
    f = copier("i", "i")
    del f.code[2]
    f.code[2].args[0] = f.const(F32, 1.0)
    assert index_groups(f) == [UNUSED, 0]
    x = np.zeros(5, np.float32)
    Code(compiled(f, b"\xc3"))(x[1:], x[:-1])
