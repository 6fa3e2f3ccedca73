"""The verifier: every rule has a function that breaks it, and only that."""

from __future__ import annotations

import random

import pytest
from tests.growth import growth
from tests.regalloc.generator import INTS, VECTORS, classes_of

from loopwright.errors import ParseError, VerifyError
from loopwright.ir import ops
from loopwright.ir import verify as verify_module
from loopwright.ir.brackets import BracketError, match
from loopwright.ir.function import NONE, SLOT, SPILL, Frame, Function, Instr, Slot
from loopwright.ir.text import parse, print_function
from loopwright.ir.verify import verify
from loopwright.targets.target import Convention, Register, Target
from loopwright.types import F32, I32, I64, VOID, vector_of

from .random_functions import random_function
from .test_text import everything, mutations

HEAD = 'function f(%n: i64, %c: bool, %v: f32, %a: ptr) -> i64\n  array a: f32[%n] at %a\n  var %k: i64\n  callee g(i64, f32) -> f32\n  site a dimension 0 line 1 ""\n'


def check(body: str, head: str = HEAD) -> None:
    verify(parse(head + body + "\nend\n"))


GOOD = {
    "straight line": "%x = add.i64 %n, 1\nret %x",
    "both sections return": "if %c\nret %n\nelse\nret 1\nend",
    "nor does one before it": "if %c\nret 1\nelse\n%x = add.i64 %n, 1\nend\nret %x",
    "the only way out of a block": "block\nif %c\n%x = add.i64 %n, 1\nbr 1\nend\nret 1\nend\nret %x",
    "a section that returns does not count": "if %c\n%x = add.i64 %n, 1\nelse\nret 1\nend\nret %x",
    "elif conditions are defined for what follows": "if %c\nelif\n%x = lt.i64 %n, 1\nthen %x\nret 1\nelse\n%y = convert.i64.bool %x\nret %y\nend\nret 0",
    "a block's body is always run": "block\n%x = add.i64 %n, 1\nbr_if 0, %c\nend\nret %x",
    "a block left by nested brackets after the definition": "block\n%x = add.i64 %n, 1\nif %c\nbr 1\nend\nend\nret %x",
    "a loop's body runs at least once": "loop\n%x = add.i64 %n, 1\nbr_if 0, %c\nend\nret %x",
    "a while's condition is always run": "while\n%x = add.i64 %n, 1\n%t = lt.i64 %x, 2\ndo %t\nend\nret %x",
    "a variable written in a branch": "if %c\n%k = copy.i64 1\nend\nret %k",
    "a variable read above its write in a loop": "%i = for 0, %n, 1\nif %c\n%y = add.i64 %k, 1\nend\n%k = copy.i64 %i\nend\nret 0",
    "code that nothing reaches": "ret 1\n%i = for 0, 3, 1\nend\nif %c\nend",
    "while true": "while\ndo true\nif %c\nret 1\nend\nend",
    "while true left through a block": "block\nwhile\ndo true\nbr_if 1, %c\nend\nend\nret 1",
    "a failing check does not fall through": "fail 0, %a, %n\n",
    "negative steps": "%i = for %n, 0, -1\nend\nret 1",
    "a call": "%y = call.f32 g(%n, 1.0)\nret 1",
}

BAD = {
    "if %c\nret %n\nend": "a path ends without a return",
    "%k = for 0, %n, 1\nend\nret 1": "%k is a variable, and a `for` counts in a register of its own",
    "loop\nbr_if 0, %c\nend": "a path ends without a return",
    "block\nbr_if 0, %c\nret 1\nend": "a path ends without a return",
    "if %c\nret 1\nelif\n%t = lt.i64 %n, 0\nthen %t\nret 2\nend": "a path ends without a return",
    "if %c\n%x = add.i64 %n, 1\nend\nret %x": "%x is used where a path has not defined it",
    "if %c\n%x = add.i64 %n, 1\nelse\nret %x\nend\nret 1": "%x is used where a path has not defined it",
    "if %c\nelif\n%x = lt.i64 %n, 1\nthen %x\nend\n%y = convert.i64.bool %x\nret %y": "%x is used where a path has not defined it",
    "block\nbr_if 0, %c\n%x = add.i64 %n, 1\nend\nret %x": "%x is used where a path has not defined it",
    "block\nblock\nbr_if 1, %c\nend\n%x = add.i64 %n, 1\nend\nret %x": "%x is used where a path has not defined it",
    "block\nif %c\nbr 1\nend\n%x = add.i64 %n, 1\nend\nret %x": "%x is used where a path has not defined it",
    "%i = for 0, %n, 1\n%x = add.i64 %n, 1\nend\nret %x": "%x is used where a path has not defined it",
    "%i = for 0, %n, 1\nend\nret %i": "%i is used where a path has not defined it",
    "while\ndo %c\n%x = add.i64 %n, 1\nend\nret %x": "%x is used where a path has not defined it",
    "%y = add.i64 %x, 1\n%x = add.i64 %n, 1\nret %y": "%x is used before it is defined, by instruction 1",
    "%x = add.i64 %n, 1\n%x = add.i64 %n, 1\nret %x": "%x is defined a second time and is not a variable",
    "if %c\n%x = add.i64 %n, 1\nelse\n%x = add.i64 %n, 2\nend\nret 1": "%x is defined a second time and is not a variable",
    "%n = add.i64 %n, 1\nret %n": "%n is defined a second time and is not a variable",
    "ret %k": "the variable %k is read before anything is written to it",
    "%i = for 0, %n, 1\n%y = add.i64 %k, 1\nend\n%k = copy.i64 1\nret %k": "the variable %k is read before anything is written to it",
    "br 0\nret 1": "branch depth 0 with 0 brackets open",
    "block\nbr_if 1, %c\nend\nret 1": "branch depth 1 with 1 brackets open",
    "%i = for 0, %n, 0\nend\nret 1": "the step must not be 0",
    "%i = for 0, 1, %n\nend\nret 1": "the step must be a constant",
    "%x = add.i32 %n, 1\nret 1": "%n is i64, needs i32",
    "%x = add.i64 %n, 1:i32\nret 1": "the constant 1:i32 stands where i64 is needed",
    "%x = add.i64 %n\nret 1": "1 operands, needs 2",
    "%x = add.i64 %n, %n, %n\nret 1": "3 operands, takes 2",
    "%x = div.i64 %n, 1\nret 1": "`div` does not take i64",
    "%x = splat.f32 %v\nret 1": "`splat` does not take f32",
    "%x = not.f32 %v\nret 1": "`not` does not take f32",
    "%x = lane_mask.f32x4 %n, %n\nret 1": "`lane_mask` does not take f32x4",
    "%x = convert.f32x4.i64 %n\nret 1": "i64 and f32x4 differ in their lanes",
    "%x = bitcast.f64.f32 %v\nret 1": "f32 and f64 differ in width",
    "add.i64 %n, 1\nret 1": "the result goes nowhere",
    "%x = load.f64 a[%n]\nret 1": "array a has elements of f32",
    "%x = load.f32 a[%n, 1]\nret 1": "array a has 1 dimensions, 2 indices are given",
    "store.f32 %v, a[%n]\nret 1": "array a is not marked as written",
    "%x = load.f32 a[1:i32]\nret 1": "the constant 1:i32 stands where i64 is needed",
    "%y = call.f64 g(%n, %v)\nret 1": "g returns f32",
    "%y = call.f32 g(%v, %n)\nret 1": "%v is f32, needs i64",
    "%y = call.f32 g(%n)\nret 1": "g takes 2 arguments, 1 are given",
    "%w = splat.f32x4 %v\n%x = slide.f32x4 %w, %w, %n\nret 1": "operand 2 must be a constant",
    "%w = splat.f32x4 %v\n%x = slide.f32x4 %w, %w, 5\nret 1": "operand 2 is 5, not from 0 to 4",
    "%y = call.f32 g(%n, %v, %v)\nret 1": "g takes 2 arguments, 3 are given",
    "fail 3, %a, %n": "there is no site number 3",
    "fail 0": "nowhere to record the failure",
    "jump L0\nret 1": "`jump` comes with the pass jumps; the function's stage is collect",
    "if_lt.i64 %n, 1\nend\nret 1": "`if_lt` comes with the pass select",
    "%y = load_at.f32 [%a]\n%x = add.f32 %y, [%a]\nret 1": "operands in memory come with the pass select",
    "ret": "returns nothing, the function's result is i64",
    "ret %v": "%v is f32, needs i64",
    "%x = load_at.f32 %a\nret 1": "no address",
    "%x = load_at.f32 [%n]\nret 1": "%n is i64, needs ptr",
    "%x = load_at.f32 [%a + %v*4]\nret 1": "%v is f32, needs i64",
    "%x = load_at.f32 [%a]{bcast}\nret 1": "a broadcast needs a vector",
    "%i = for 0, %n, 1 unroll 1 accumulate %n add 0\nend\nret 1": "the accumulator %n is not a variable",
    "%i = for 0, %n, 1 mask %m: i64 unroll 1\nend\nret 1": "the loop's mask is not a mask",
    "%i = for 0, %n, 4 mask %m: mask32x8\nend\nret 1": "the step must be at least the 8 lanes of the mask",
    "%i = for 0, %n, -8 mask %m: mask32x8\nend\nret 1": "the step must be at least the 8 lanes of the mask",
    "%i = for 0, %n, 2 lanes\nend\nret 1": "the step of a loop over lanes is 1 or -1",
    "%i = for 0, %n, 1 lanes mask %m: mask32x8\nend\nret 1": "a loop over lanes has a mask when it is one over vectors",
    "%i = for 0, %n, 1 lanes\n%j = for 0, %n, 1 lanes\nend\nend\nret 1": "a loop over lanes inside another",
    "%i = for 0, %n, 8 mask %m: mask32x8\n%j = for 0, %n, 8 mask %p: mask32x8\nend\nend\nret 1": "a loop over lanes inside another",
    "%i = for 0, %n, 1 unroll 65\nend\nret 1": "at most 64 steps are unrolled",
}


@pytest.mark.parametrize(
    ("body", "stage", "message"),
    [
        ("%x = load.f32 a[%n]", "addresses", "`load` goes with the pass addresses; the function's stage is addresses"),
        ("%i = for 0, %n, 8 mask %m: mask32x8\nend", "unroll", "the mask of a loop goes with the pass unroll"),
        ("if %c\nelif\nthen %c\nend", "elif", "`elif` goes with the pass elif"),
        ("%i = for 0, %n, 1\nend", "select", "`for` goes with the pass loops"),
        ("%y = call.f32 g(%n)", "select", "g takes 2 arguments, 1 are given and 0 on the stack"),
        ("", "allocate", "at the stage allocate registers are the target's"),
        ("", "polish", "there is no pass polish"),
    ],
)
def test_what_a_stage_does_not_have_is_refused(body: str, stage: str, message: str) -> None:
    with pytest.raises(VerifyError) as caught:
        check(body + "\nret 1", HEAD + f"  stage {stage}\n")
    assert message in str(caught.value)


LANES = """function f(%n: i64, %x: ptr) -> i64
  array x: i64[%n] at %x
  var %t: i64x8
  var %k: i64
  %t = copy.i64x8 0
  %k = copy.i64 0
  %i = for 0, %n, 8 mask %m: mask64x8 unroll 4 accumulate ACCUMULATE
    %v = masked_load.i64x8 %m, x[%i]
    BODY
  end
  %r = reduce_add.i64x8 %t
  ret %r
end
"""


@pytest.mark.parametrize(
    ("accumulate", "body"),
    [
        ("%t add 0", "%u = add.i64x8 %t, %v\n%t = select.i64x8 %m, %u, %t"),
        ("%t add 0", "%t = sub.i64x8 %t, %v"),
        ("%t mul 1", "%t = mul.i64x8 %v, %t"),
        ("%t xor 0", "%t = xor.i64x8 %t, %v"),
        ("%t min 7", "%t = min.i64x8 %t, %v"),
        ("%t and -1", "%u = and.i64x8 %t, %v\n%w = and.i64x8 %v, %u\n%t = copy.i64x8 %w"),
        ("%t add 0", "%s = any.mask64x8 %m\nif %s\n%t = add.i64x8 %t, %v\nend"),
        ("%t add 0", ""),
    ],
)
def test_accumulators_that_are_updated_alone(accumulate: str, body: str) -> None:
    verify(parse(LANES.replace("ACCUMULATE", accumulate).replace("BODY", body)))


@pytest.mark.parametrize(
    ("accumulate", "body", "message"),
    [
        ("%t bitcast 0", "", "accumulators of i64x8 are not combined by `bitcast`, but by add, mul, min, max, and, or, xor"),
        ("%t sub 0", "", "not combined by `sub`"),
        ("%t div 0", "", "not combined by `div`"),
        ("%t for 0", "", "not combined by `for`"),
        ("%t add 1", "", "the identity of `add` is 0, not 1"),
        ("%t mul 0", "", "the identity of `mul` is 1, not 0"),
        ("%t add %t", "", "the identity of `add` is the constant 0"),
        ("%t add 0:i32x8", "", "the identity of %t is not i64x8"),
        ("%k add 0 accumulate %k add 0", "", "%k is accumulated twice"),
        ("%t max %u", "%u = add.i64x8 %v, 1", "%u is used before it is defined"),
        ("%t add 0", "%t = mul.i64x8 %t, %v", "the accumulator %t is not updated by `add` alone"),
        ("%t add 0", "%t = add.i64x8 %t, %t", "the accumulator %t is not updated by `add` alone"),
        ("%t add 0", "%t = sub.i64x8 %v, %t", "the accumulator %t is not updated by `add` alone"),
        ("%t add 0", "%t = copy.i64x8 %v", "the accumulator %t is written, not updated"),
        ("%t add 0", "%u = add.i64x8 %t, %v\nstore.i64x8 %u, x[%i]", "the accumulator %t is not updated by `add` alone"),
        ("%t add 0", "%t = select.i64x8 %m, %v, %t", "the accumulator %t is not updated by `add` alone"),
        ("%k add 0", "%k = add.i64 %k, 1\n%j = for 0, %k, 1\nend", "the accumulator %k is not updated by `add` alone"),
    ],
)
def test_what_an_unrolled_loop_would_get_wrong_is_refused(accumulate: str, body: str, message: str) -> None:
    with pytest.raises(VerifyError) as caught:
        verify(parse(LANES.replace("ACCUMULATE", accumulate).replace("BODY", body)))
    assert message in str(caught.value)


@pytest.mark.parametrize("body", GOOD.values(), ids=GOOD.keys())
def test_accepts(body: str) -> None:
    check(body)


@pytest.mark.parametrize("body", BAD)
def test_refuses(body: str) -> None:
    with pytest.raises(VerifyError) as caught:
        check(body)
    assert BAD[body] in str(caught.value)


def test_the_error_names_instruction_text_and_line() -> None:
    with pytest.raises(VerifyError) as caught:
        verify(parse('function f(%n: i64)\n  file "k.py"\n  %x = add.i64 %n, 1  ; @3\n  %y = add.i32 %x, 1  ; @4\nend'))
    assert str(caught.value) == "k.py:4: f: instruction 1 `%y = add.i32 %x, 1`: %x is i64, needs i32"
    assert caught.value.line == 4


def test_returning_from_a_function_without_result() -> None:
    with pytest.raises(VerifyError, match="returns a value, the function has no result|operands, takes"):
        verify(parse("function f(%n: i64)\nret %n\nend"))
    verify(parse("function f(%n: i64)\nret\nend"))
    verify(parse("function f(%n: i64)\nend"))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("end", "`end` without an open bracket"),
        ("block", "`block` is never closed: `end` missing"),
        ("if end end", "`end` without an open bracket"),
        ("block else end", "`else` cannot follow `block`"),
        ("if then end", "`then` cannot follow `if`"),
        ("if elif end", "`end` cannot follow `elif`"),
        ("if else else end", "`else` cannot follow `else`"),
        ("if else elif then end", "`elif` cannot follow `else`"),
        ("while end", "`end` cannot follow `while`"),
        ("while do do end", "`do` cannot follow `do`"),
        ("do end", "`do` without an open bracket"),
    ],
)
def test_brackets_that_do_not_match(names: str, message: str) -> None:
    code = [Instr(ops.BY_NAME[name], VOID, NONE, [], 0, 7) for name in names.split()]
    with pytest.raises(BracketError) as caught:
        match(code)
    assert message in caught.value.message and caught.value.line == 7
    f = Function("f")
    f.code = code
    with pytest.raises(VerifyError, match="f: instruction"):
        verify(f)


def test_matching_links_each_marker_to_the_next_and_the_end_to_the_first() -> None:
    names = ["block", "if", "elif", "then", "while", "do", "end", "else", "for", "end", "end", "end", "loop", "end"]
    code = [Instr(ops.BY_NAME[name], VOID, NONE, []) for name in names]
    assert match(code) == [11, 2, 3, 7, 5, 6, 4, 10, 9, 8, 1, 0, 13, 12]


@pytest.mark.parametrize("seed", range(100))
def test_random_functions_are_accepted(seed: int) -> None:
    verify(random_function(1000 + seed))


def test_wrong_functions_raise_nothing_but_verify_errors() -> None:
    chooser = random.Random(9)
    texts = [print_function(everything()), *[print_function(random_function(seed)) for seed in range(8)]]
    refused = 0
    for _ in range(3000):
        try:
            f = parse(mutations(chooser.choice(texts), chooser))
        except ParseError:
            continue
        try:
            verify(f)
        except VerifyError:
            refused += 1
    assert refused > 50


def toy(shadow: int = 0) -> Target:
    """A machine with six integer and four vector registers; r4, r5 and v3 belong to the caller."""
    registers = [Register(f"r{k}", INTS, k) for k in range(6)] + [Register(f"v{k}", VECTORS, k) for k in range(4)]
    convention = Convention("toy", (0, 1), (6, 7), 0, 6, 1 << 4 | 1 << 5 | 1 << 9, shadow=shadow)
    target = Target(convention, registers, classes_of([tuple(range(6)), tuple(range(6, 10))]), frozenset())
    target.name = "toy"
    return target


def physical(*code: Instr) -> Function:
    f = Function("f")
    f.physical, f.stage = True, "allocate"
    f.slots = [Slot(SPILL, 8, 0), Slot(SPILL, 32, 8)]
    f.frame = Frame()
    f.frame.saved = [4]
    f.code = list(code)
    return f


def test_registers_after_allocation() -> None:
    target = toy()
    wide = vector_of(F32, 8)
    verify(
        physical(
            Instr(ops.ADD, I64, 4, [0, SLOT]),
            Instr(ops.COPY, wide, SLOT + 1, [6]),
            Instr(ops.SWAP, I32, NONE, [0, 1]),
            Instr(ops.SHL, I64, 0, [1, 2, 3]),
        ),
        target,
    )
    for instr, message in [
        (Instr(ops.ADD, I64, 0, [0, 10]), "toy has no register 10"),
        (Instr(ops.ADD, I64, 0, [0, 6]), "$v0 cannot hold i64"),
        (Instr(ops.ADD, F32, 0, [6, 6]), "$r0 cannot hold f32"),
        (Instr(ops.ADD, I64, 0, [0, SLOT + 2]), "there is no slot @s2"),
        (Instr(ops.COPY, wide, SLOT, [6]), "@s0 has 8 bytes, f32x8 needs 32"),
        (Instr(ops.COPY, I64, 5, [0]), "$r5 belongs to the caller, and the frame does not save it"),
        (Instr(ops.SWAP, I64, NONE, [0, 5]), "$r5 belongs to the caller"),
        (Instr(ops.ADD, I64, 0, [0]), "1 operands, needs 2"),
    ]:
        with pytest.raises(VerifyError) as caught:
            verify(physical(instr), target)
        assert message in str(caught.value)


def test_labels() -> None:
    def labelled(*code: Instr) -> Function:
        f = physical(*code)
        f.stage, f.labels = "jumps", 2
        return f

    label = Instr(ops.LABEL, VOID, NONE, [], 1)
    jump = Instr(ops.JUMP, VOID, NONE, [], 1)
    verify(labelled(label, jump), toy())
    for code, message in [
        ([label, label], "L1 appears a second time"),
        ([jump], "L1 is nowhere"),
        ([Instr(ops.LABEL, VOID, NONE, [], 2)], "there is no label L2"),
    ]:
        with pytest.raises(VerifyError, match=message):
            verify(labelled(*code), toy())


@pytest.mark.skipif(not str(verify_module.__file__).endswith(".py"), reason="the native build has no lines to count")
def test_verifying_is_linear() -> None:
    def blocks(count: int) -> Function:
        f = Function("deep", I64)
        n = f.param(I64, "n")
        condition = f.register(ops.result_type(ops.LT, I64, VOID))
        f.code.append(Instr(ops.LT, I64, condition, [n, n]))
        for _ in range(count):
            made = f.register(I64)
            f.code += [
                Instr(ops.BLOCK, VOID, NONE, []),
                Instr(ops.BR_IF, VOID, NONE, [condition]),
                Instr(ops.ADD, I64, made, [n, n]),
                Instr(ops.END, VOID, NONE, []),
            ]
        f.code.append(Instr(ops.RET, VOID, NONE, [n]))
        return f

    assert max(growth(verify, blocks(100), blocks(400)).values()) < 5
