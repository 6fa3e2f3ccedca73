"""The interpreter: brackets, arrays, addresses, calls, allocated code; and what it refuses."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from loopwright.errors import BoundsError
from loopwright.ir import ops
from loopwright.ir.function import INCOMING, NONE, SLOT, SPILL, Callee, Frame, Function, Instr, Slot
from loopwright.ir.interpret import Interpreter, InterpreterBoundsError, InterpreterError, run
from loopwright.ir.text import parse
from loopwright.ir.verify import verify
from loopwright.targets.target import Rule
from loopwright.types import F32, F64, I32, I64, PTR, VOID, vector_of

from .random_functions import EXTENT, random_arguments, random_function
from .test_verify import toy


def function(body: str, head: str = "function f(%n: i64) -> i64") -> Function:
    f = parse(f"{head}\n{body}\nend\n")
    verify(f)
    return f


# --- brackets ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "want"), [(0, 10), (5, 50), (9, 90), (10, 100), (11, 100)])
def test_elif_takes_the_first_condition_that_holds(n: int, want: int) -> None:
    f = function("""
      var %r: i64
      %a = eq.i64 %n, 0
      if %a
        %r = copy.i64 10
      elif
        %b = eq.i64 %n, 5
      then %b
        %r = copy.i64 50
      elif
        %c = lt.i64 %n, 10
      then %c
        %r = copy.i64 90
      else
        %r = copy.i64 100
      end
      ret %r""")
    assert run(f, n) == want


def test_an_if_without_else_falls_through() -> None:
    f = function("%a = lt.i64 %n, 3\nif %a\nret 1\nend\nret 2")
    assert (run(f, 2), run(f, 3)) == (1, 2)


@pytest.mark.parametrize("step", [1, 2, 3, -1, -2])
@pytest.mark.parametrize(("lo", "hi"), [(0, 0), (0, 5), (5, 0), (-3, 4), (4, -3), (0, 6)])
def test_for_runs_as_pythons_range(lo: int, hi: int, step: int) -> None:
    f = function(f"var %r: i64\n%r = copy.i64 0\n%i = for {lo}, {hi}, {step}\n%t = mul.i64 %r, 31\n%r = add.i64 %t, %i\nend\nret %r")
    want = 0
    for i in range(lo, hi, step):
        want = want * 31 + i
    assert run(f, 0) == want


def test_bounds_of_a_for_are_read_once_and_br_continues() -> None:
    f = function("""
      var %hi: i64
      var %sum: i64
      %hi = copy.i64 %n
      %sum = copy.i64 0
      %i = for 0, %hi, 1
        %hi = copy.i64 0
        %odd = and.i64 %i, 1
        %c = ne.i64 %odd, 0
        br_if 0, %c
        %sum = add.i64 %sum, %i
      end
      ret %sum""")
    assert run(f, 10) == 0 + 2 + 4 + 6 + 8


def test_branches_leave_several_brackets_and_continue_outer_loops() -> None:
    f = function("""
      var %count: i64
      %count = copy.i64 0
      block
        %i = for 0, %n, 1
          %j = for 0, %n, 1
            %far = gt.i64 %i, 3
            br_if 2, %far
            %next = gt.i64 %j, %i
            br_if 1, %next
            %count = add.i64 %count, 1
          end
        end
      end
      ret %count""")
    assert run(f, 10) == 1 + 2 + 3 + 4


def test_loop_repeats_by_branch_and_falls_out() -> None:
    f = function("var %k: i64\n%k = copy.i64 0\nloop\n%k = add.i64 %k, 3\n%c = lt.i64 %k, %n\nbr_if 0, %c\nend\nret %k")
    assert (run(f, 10), run(f, -1)) == (12, 3)


def test_while_tests_first_and_br_goes_to_the_condition() -> None:
    f = function("""
      var %k: i64
      var %odd: i64
      %k = copy.i64 %n
      %odd = copy.i64 0
      while
        %c = gt.i64 %k, 0
      do %c
        %k = sub.i64 %k, 1
        %b = and.i64 %k, 1
        %even = eq.i64 %b, 0
        br_if 0, %even
        %odd = add.i64 %odd, 1
      end
      ret %odd""")
    assert [run(f, n) for n in range(6)] == [0, 0, 1, 1, 2, 2]


def test_brackets_with_the_comparison_inside() -> None:
    f = parse("function f(%a: f64, %b: f64) -> i32\nstage select\nif_nlt.f64 %a, %b\nblock\nbr_gt.f64 0, %a, %b\nret 3\nend\nret 2\nend\nret 1\nend")
    verify(f)
    assert [run(f, a, b) for a, b in [(1, 2), (2, 1), (1, 1), (np.nan, 1)]] == [1, 2, 3, 3]


def test_labels_and_jumps() -> None:
    f = parse("""function f(%n: i64) -> i64
      labels 3
      var %k: i64
      var %s: i64
      %k = copy.i64 0
      %s = copy.i64 0
      jump_ge.i64 L1, %k, %n
      L0: align
      %s = add.i64 %s, %k
      %k = add.i64 %k, 1
      %c = lt.i64 %k, %n
      jump_if L0, %c
      jump_unless L2, %c
      L1:
      ret %s
      L2:
      %t = add.i64 %s, 100
      ret %t
    end""")
    assert (run(f, 5), run(f, 0)) == (110, 0)


def test_a_limit_ends_endless_loops() -> None:
    f = function("loop\nbr 0\nend\nret 1")
    with pytest.raises(InterpreterError, match="more than 1000 instructions"):
        Interpreter(f, limit=1000).call(1)


# --- arrays -----------------------------------------------------------------------------------------------------

AXPY = """function axpy(%a: f32, %x: ptr, %n: i64, %y: ptr, %m: i64)
  file "axpy.py"
  array x: f32[%n] at %x
  array y: f32[%m] at %y written
  %i = for 0, %n, 8 mask %on: mask32x8 unroll 1
    %p = masked_load.f32x8 %on, x[%i]  ; @7
    %q = masked_load.f32x8 %on, y[%i]  ; @7
    %v = splat.f32x8 %a
    %r = fma.f32x8 %v, %p, %q  ; @8
    masked_store.f32x8 %on, %r, y[%i]  ; @9
  end
end
"""


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 31])
def test_lanes_past_the_end_touch_nothing(n: int) -> None:
    f = parse(AXPY)
    verify(f)
    x, y = np.arange(n, dtype=np.float32), np.ones(n + 5, np.float32)
    run(f, 2.0, x, y)
    assert (y == np.concatenate([2 * x + 1, np.ones(5)])).all()


def test_an_access_outside_names_array_index_and_line() -> None:
    f = parse(AXPY)
    with pytest.raises(InterpreterBoundsError) as caught:
        run(f, 2.0, np.zeros(20, np.float32), np.zeros(19, np.float32))
    assert isinstance(caught.value, BoundsError | IndexError)
    assert "index 19 is outside array y, whose extent is 19" in str(caught.value)
    assert (caught.value.file, caught.value.line) == ("axpy.py", 7)


@pytest.mark.parametrize("index", [-1, 5, 2**62])
def test_scalar_accesses_are_checked(index: int) -> None:
    f = parse("function f(%x: ptr, %n: i64, %i: i64) -> i32\n  array x: i32[%n] at %x\n  %v = load.i32 x[%i]\n  ret %v\nend")
    with pytest.raises(InterpreterBoundsError, match=f"index {index} is outside array x"):
        run(f, np.arange(5, dtype=np.int32), index)


def test_rows_may_lie_apart_and_run_backwards() -> None:
    f = parse("""function f(%x: ptr, %n: i64, %m: i64, %s: i64, %i: i64, %j: i64) -> u8
      array x: u8[%n, %m] strides [%s] at %x
      %v = load.u8 x[%i, %j]
      ret %v
    end""")
    whole = np.arange(200, dtype=np.uint8).reshape(10, 20)
    for view in (whole, whole[2:8:2, 3:9], whole[::-1], whole[5:6, 4:]):
        for i in range(view.shape[0]):
            assert run(f, view, i, view.shape[1] - 1) == view[i, -1]
    with pytest.raises(InterpreterBoundsError, match="index 6 in dimension 1"):
        run(f, whole[:, :6], 0, 6)
    with pytest.raises(InterpreterBoundsError, match="index 10 in dimension 0"):
        run(f, whole, 10, 0)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((1.0, np.zeros(3), np.zeros(3, np.float32)), "array x has elements of f32, the argument of float64"),
        ((1.0, np.zeros((3, 3), np.float32), np.zeros(3, np.float32)), "array x has 1 dimensions, the argument 2"),
        ((1.0, np.zeros(6, np.float32)[::2], np.zeros(3, np.float32)), "unit stride"),
        ((1.0, np.zeros(3, np.float32)), "no argument for y: ptr"),
        ((1.0, np.zeros(3, np.float32), np.zeros(3, np.float32), 5), "takes 3"),
        (("one", np.zeros(3, np.float32), np.zeros(3, np.float32)), "argument for a: f32"),
    ],
)
def test_arguments_that_do_not_fit(args: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InterpreterError, match=message):
        run(parse(AXPY), *args)


def test_read_only_arrays_are_not_written() -> None:
    y = np.zeros(3, np.float32)
    y.flags.writeable = False
    with pytest.raises(InterpreterError, match="y is written, the argument is read-only"):
        run(parse(AXPY), 1.0, np.zeros(3, np.float32), y)


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1])
def test_numbers_must_fit_their_parameter(value: int) -> None:
    with pytest.raises(InterpreterError, match="does not fit i32"):
        run(parse("function f(%a: i32)\nend"), value)


@pytest.mark.parametrize("op", ["div_trunc", "rem_trunc", "div_floor", "rem_floor"])
def test_integer_division_by_zero_is_zero(op: str) -> None:
    f = parse(f"function f(%a: i32) -> i32\n%r = {op}.i32 7, %a\nret %r\nend")
    with np.errstate(all="ignore"):
        assert run(f, 0) == 0 == np.int32(7) // np.int32(0) == np.int32(7) % np.int32(0)


# --- addresses --------------------------------------------------------------------------------------------------


def test_addresses_reach_the_elements() -> None:
    f = parse("""function f(%x: ptr, %n: i64, %i: i64) -> f32
      stage select
      array x: f32[%n] at %x written
      %p = address.ptr [%x + %i*4 + 4]
      %v = load_at.f32 [%p - 4]
      %w = add.f32 %v, [%x + %i*4 + 8]
      %b = load_at.f32x4 [%x + 4]{bcast}
      store_at.f32x4 %b, [%x + 16]
      %m = lane_mask.mask32x4 2, 5
      %t = masked_load_at.f32x4 %m, [%x + %n*4 - 12]
      masked_store_at.f32x4 %m, %t, [%x]
      ret %w
    end""")
    verify(f)
    x = np.arange(10, dtype=np.float32)
    assert run(f, x, 3) == 3 + 5
    assert x.tolist() == [1, 8, 9, 3, 1, 1, 1, 1, 8, 9]


@pytest.mark.parametrize(
    ("disp", "where"),
    [(40, "0 bytes past the end of x"), (37, "begins in x, and ends 1 bytes past its end"), (-1, "1 bytes before x"), (1 << 40, "bytes past the end of x")],
)
def test_addresses_outside_every_array_are_refused(disp: int, where: str) -> None:
    f = parse(f"function f(%x: ptr, %n: i64) -> f32\n  array x: f32[%n] at %x\n  %v = load_at.f32 [%x {'+' if disp > 0 else '-'} {abs(disp)}]\n  ret %v\nend")
    # With a guard of its own around it, so that no other array is next to it.
    memory = np.zeros(1000, np.float32)
    with pytest.raises(InterpreterBoundsError) as caught:
        run(f, memory[500:510])
    assert ("is outside what its pointer leads to" in str(caught.value) or disp == 37) and where in str(caught.value)


def test_stores_to_read_only_memory_are_refused() -> None:
    f = parse("function f(%x: ptr)\n  store_at.i64 1, [%x]\nend")
    x = np.zeros(1, np.int64)
    x.flags.writeable = False
    with pytest.raises(InterpreterBoundsError, match="is read-only"):
        run(f, x)
    assert x[0] == 0


def test_misaligned_addresses_work() -> None:
    f = parse("function f(%x: ptr) -> i64\n  store_at.i64 72623859790382856, [%x + 3]\n  %v = load_at.i64 [%x + 3]\n  ret %v\nend")
    assert run(f, np.zeros(11, np.uint8)) == 0x0102030405060708


def test_memory_operands_and_conditions_on_memory() -> None:
    f = parse("function f(%x: ptr) -> i64\n  stage select\n  if_lt.i64 5, [%x + 8]\n  ret 1\n  end\n  ret 0\nend")
    verify(f)
    assert [run(f, np.array([0, v])) for v in (5, 6)] == [0, 1]


# --- calls ------------------------------------------------------------------------------------------------------


def test_calls_go_to_python_ctypes_and_functions() -> None:
    f = parse(
        "function f(%n: i64, %v: f32) -> f32\n  callee g(i64, f32) -> f32\n  callee note(i64)\n  call_void note(%n)\n  %r = call.f32 g(%n, %v)\n  ret %r\nend"
    )
    seen: list[int] = []
    assert Interpreter(f, callees={"g": lambda n, v: n * v + 0.1, "note": seen.append}).call(3, 0.5) == np.float32(1.6)
    assert seen == [3] and type(seen[0]) is int
    f.callees[0].keep = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64, ctypes.c_float)(lambda n, v: n - v)
    f.callees[1].keep = print
    assert run(f, 3, 0.5) == np.float32(2.5)
    f.callees[0].keep = None
    f.callees[0].function = parse("function g(%n: i64, %v: f32) -> f32\n  %c = convert.f32.i64 %n\n  %r = sub.f32 %v, %c\n  ret %r\nend")
    assert run(f, 3, 0.5) == np.float32(-2.5)
    f.callees[0].function = None
    with pytest.raises(InterpreterError, match="nothing is known of g"):
        run(f, 3, 0.5)


def test_results_of_calls_wrap_to_their_type() -> None:
    f = parse("function f() -> i32\n  callee g() -> i32\n  %r = call.i32 g()\n  ret %r\nend")
    assert Interpreter(f, callees={"g": lambda: 2**31 + 5}).call() == 5 - 2**31
    with pytest.raises(InterpreterError, match="g returned None, expected i32"):
        Interpreter(f, callees={"g": lambda: None}).call()


def test_recursion_ends_in_an_error_not_a_crash() -> None:
    f = parse("function f(%n: i64) -> i64\n  callee f(i64) -> i64\n  %r = call.i64 f(%n)\n  ret %r\nend")
    f.callees[0].function = f
    with pytest.raises(InterpreterError):
        run(f, 1)


def test_called_functions_share_memory() -> None:
    g = parse("function g(%p: ptr)\n  store_at.i64 7, [%p]\nend")
    f = parse("function f(%x: ptr, %n: i64)\n  array x: i64[%n] at %x written\n  callee g(ptr)\n  call_void g(%x)\nend")
    f.callees[0].function = g
    x = np.zeros(2, np.int64)
    run(f, x)
    assert x.tolist() == [7, 0]


# --- checked functions ------------------------------------------------------------------------------------------

CHECKED = """function f(%x: ptr, %n: i64, %i: i64, %errors: ptr) -> i32
  option check
  array x: i32[%n] at %x
  site x dimension 0 line 12 "x[i]"
  %bad = ge.i64 %i, %n
  if %bad
    FAIL
  end
  %v = load.i32 x[%i]
  ret %v
end
"""


@pytest.mark.parametrize(
    "fail", ["fail 0, %errors, %i, %n", "store_at.i64 1, [%errors]\nstore_at.i64 %i, [%errors + 8]\nstore_at.i64 %n, [%errors + 16]\nret 0"]
)
def test_a_failed_check_raises_with_its_site(fail: str) -> None:
    f = parse(CHECKED.replace("FAIL", fail))
    verify(f)
    x = np.arange(4, dtype=np.int32)
    assert run(f, x, 3) == 3
    with pytest.raises(InterpreterBoundsError, match=r":12: x\[i\]: index 9 in dimension 0 is outside array x, whose extent is 4") as caught:
        run(f, x, 9)
    assert caught.value.site == 0


# --- after allocation -------------------------------------------------------------------------------------------


def allocated(params: list[Any], result: Any, *code: Instr) -> Function:
    f = Function("f", result)
    for k, t in enumerate(params):
        f.param(t, f"p{k}")
    f.physical, f.stage = True, "allocate"
    f.slots = [Slot(SPILL, 8, 0), Slot(SPILL, 32, 8), Slot(SPILL, 8, 16)]
    f.frame = Frame()
    f.code = list(code)
    return f


def call_g(f: Function, params: list[Any], result: Any = I64) -> Function:
    f.callees.append(Callee("g", params, result, keep=lambda *args: sum(args)))
    return f


def test_arguments_arrive_in_the_conventions_registers() -> None:
    f = allocated([I64, F64, I64, I64], I64, Instr(ops.ADD, I64, 2, [0, 1]), Instr(ops.MUL, I64, 2, [2, SLOT + 3]), Instr(ops.RET, VOID, NONE, [2]))
    f.slots.append(Slot(INCOMING, 8, 0))
    assert Interpreter(f, toy()).call(2, 0.5, 3, 10) == 50
    with pytest.raises(InterpreterError, match="needs its target"):
        run(f, 1, 2.0, 3, 4)


def test_slots_hold_values_and_overlapping_ones_destroy_each_other() -> None:
    wide = vector_of(F32, 8)
    keep = [Instr(ops.COPY, I64, SLOT, [0]), Instr(ops.COPY, I64, 0, [1]), Instr(ops.ADD, I64, 0, [0, SLOT]), Instr(ops.RET, VOID, NONE, [0])]
    assert Interpreter(allocated([I64, I64], I64, *keep), toy()).call(3, 4) == 7
    lost = allocated([I64, I64], I64, Instr(ops.COPY, I64, SLOT + 2, [0]), Instr(ops.COPY, wide, SLOT + 1, [0]), Instr(ops.RET, VOID, NONE, [SLOT + 2]))
    lost.code[1].args = [lost.const(wide, 1.0)]
    with pytest.raises(InterpreterError, match="@s2 holds nothing"):
        Interpreter(lost, toy()).call(3, 4)


def test_calls_destroy_what_the_caller_must_save() -> None:
    def body(kept: int) -> Function:
        f = allocated(
            [I64], I64, Instr(ops.COPY, I64, kept, [0]), Instr(ops.CALL, I64, 0, [0]), Instr(ops.ADD, I64, 0, [0, kept]), Instr(ops.RET, VOID, NONE, [0])
        )
        return call_g(f, [I64])

    assert Interpreter(body(4), toy()).call(5) == 10
    assert Interpreter(body(SLOT), toy()).call(5) == 10
    with pytest.raises(InterpreterError, match=r"\$r3 holds nothing: never written, or destroyed since"):
        Interpreter(body(3), toy()).call(5)


@pytest.mark.parametrize("shadow", [0, 32])
@pytest.mark.parametrize("above", [0, 1])
def test_stack_arguments_are_taken_where_they_were_stored(shadow: int, above: int) -> None:
    f = allocated(
        [I64, I64],
        I64,
        Instr(ops.STORE_ARG, I64, NONE, [0], 0 + above * shadow),
        Instr(ops.STORE_ARG, I64, NONE, [1], 8 + above * shadow),
        Instr(ops.CALL, I64, 0, [0, 1]),
        Instr(ops.RET, VOID, NONE, [0]),
    )
    f.callees.append(Callee("g", [I64] * 4, I64, keep=lambda a, b, c, d: 1000 * a + 100 * b + 10 * c + d))
    assert Interpreter(f, toy(shadow)).call(3, 4) == 3434


def test_a_missing_stack_argument_is_found() -> None:
    f = call_g(allocated([I64, I64], I64, Instr(ops.CALL, I64, 0, [0, 1]), Instr(ops.RET, VOID, NONE, [0])), [I64] * 3)
    with pytest.raises(InterpreterError, match="stack argument at 0 was not stored"):
        Interpreter(f, toy()).call(3, 4)


def test_an_argument_in_the_wrong_register_is_found() -> None:
    f = call_g(allocated([I64], I64, Instr(ops.COPY, I64, 3, [0]), Instr(ops.CALL, I64, 0, [3, 3]), Instr(ops.RET, VOID, NONE, [0])), [I64, I64])
    with pytest.raises(InterpreterError, match=r"\$r1 holds nothing"):
        Interpreter(f, toy()).call(3)


def test_reading_another_type_than_was_written_is_found() -> None:
    f = allocated([F32], F64, Instr(ops.ADD, F64, 6, [6, 6]), Instr(ops.RET, VOID, NONE, [6]))
    with pytest.raises(InterpreterError, match=r"\$v0 holds f32, f64 is read"):
        Interpreter(f, toy()).call(3)
    as_pointer = allocated([PTR], I64, Instr(ops.ADD, I64, 0, [0, 0]), Instr(ops.RET, VOID, NONE, [0]))
    assert Interpreter(as_pointer, toy()).call(2**63 + 1) == 2


def test_copies_and_swaps_carry_whatever_is_there() -> None:
    f = allocated([I64, I64], I64, Instr(ops.SWAP, I64, NONE, [0, 1]), Instr(ops.SUB, I64, 0, [0, 1]), Instr(ops.RET, VOID, NONE, [0]))
    assert Interpreter(f, toy()).call(3, 10) == 7
    cut = allocated([F64], F32, Instr(ops.COPY, F32, 7, [6]), Instr(ops.RET, VOID, NONE, [7]))
    with pytest.raises(InterpreterError, match="holds f64, which f32 would cut"):
        Interpreter(cut, toy()).call(1.0)


def test_an_instructions_scratch_registers_and_kills_are_destroyed() -> None:
    def body(kept: int, kills: int) -> Function:
        f = allocated(
            [I64, I64],
            I64,
            Instr(ops.COPY, I64, kept, [1]),
            Instr(ops.MUL, I64, 0, [0, 1, 3]),
            Instr(ops.ADD, I64, 0, [0, kept]),
            Instr(ops.RET, VOID, NONE, [0]),
        )
        f.code[1].rule = Rule("toy", (), None, lambda *_: None, kills=kills)
        return f

    assert Interpreter(body(2, 0), toy()).call(5, 6) == 36
    assert Interpreter(body(2, 1 << 0 | 1 << 1), toy()).call(5, 6) == 36
    for kept, kills in ((3, 0), (2, 1 << 2)):
        with pytest.raises(InterpreterError, match="holds nothing"):
            Interpreter(body(kept, kills), toy()).call(5, 6)


def test_wide_vectors_in_partly_saved_registers_are_lost_in_calls() -> None:
    target = toy()
    target.convention.partly_saved, target.convention.part_saved = 1 << 9, 16
    for t, fine in ((F32, True), (vector_of(F32, 4), True), (vector_of(F32, 8), False)):
        f = allocated([I64], I64, Instr(ops.COPY, t, 9, [0]), Instr(ops.CALL, I64, 0, [0]), Instr(ops.ADD, t, 9, [9, 9]), Instr(ops.RET, VOID, NONE, [0]))
        f.code[0].args = [f.const(t, 1.0)]
        call_g(f, [I64])
        if fine:
            Interpreter(f, target).call(1)
        else:
            with pytest.raises(InterpreterError, match=r"\$v3 holds nothing"):
                Interpreter(f, target).call(1)


# --- everything together ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(200))
def test_random_functions_run_to_their_end(seed: int) -> None:
    f = random_function(seed, size=40)
    arguments = random_arguments(f, seed)
    copies = [np.array(a, copy=True) if isinstance(a, np.ndarray) else a for a in arguments]
    first = Interpreter(f, limit=200_000).call(*arguments)
    second = Interpreter(f.clone(), limit=200_000).call(*copies)
    assert np.array_equal(first if first is not None else 0, second if second is not None else 0, equal_nan=f.result in (F32, F64))
    for a, b in zip(arguments, copies, strict=True):
        if isinstance(a, np.ndarray):
            assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
            assert a.shape[-1] == EXTENT


def test_i32_parameters_and_results_are_numpy_scalars() -> None:
    f = parse("function f(%a: i32) -> i32\n  %r = add.i32 %a, 2147483647\n  ret %r\nend")
    result = run(f, 1)
    assert type(result) is np.int32 and result == -(2**31)
    assert f.types[0] is I32
