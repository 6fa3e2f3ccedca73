"""The smallest program: the sum of two numbers, once as a kernel and once with the builder.

A kernel is a Python function whose loops, branches and arithmetic on run-time values become machine code. The builder
makes the same code from calls, for programs that write programs.

    python examples/sum_of_two.py
    loopwright show examples/sum_of_two.py:add
"""

import loopwright as lw


@lw.kernel
def add(a: lw.i64, b: lw.i64) -> lw.i64:
    return a + b


built = lw.Function("built", a=lw.i64, b=lw.i64, returns=lw.i64)
with built:
    built.ret(built.a + built.b)


@lw.kernel
def mean(a: lw.f64, b: lw.f64) -> lw.f64:
    return (a + b) / 2


def main() -> None:
    assert add(5, 4) == 9
    assert add(2**63 - 1, 1) == -(2**63), "integers of fixed width wrap"
    assert mean(1.0, 2.0) == 1.5

    compiled = built.compile()
    assert compiled(5, 4) == 9

    print("5 + 4 =", compiled(5, 4))
    print(add.compile().asm())


if __name__ == "__main__":
    main()
