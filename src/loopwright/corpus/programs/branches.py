"""Programs that spend their time deciding: searches, parsers, state machines, decision trees, small virtual machines."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from loopwright.corpus.programs.signatures import parameters
from loopwright.frontend.annotations import ArrayType
from loopwright.frontend.builder import Function
from loopwright.frontend.functions import max as lw_max
from loopwright.frontend.functions import min as lw_min
from loopwright.frontend.functions import select
from loopwright.ir.function import Function as IR
from loopwright.types import F32, F64, I32, I64, U8

_INTS: Final = ArrayType(I64, 1)
_FLOATS: Final = ArrayType(F64, 1)
_BYTES: Final = ArrayType(U8, 1)


def binary_search(name: str, pick: Random) -> IR:
    """The place of each key in a sorted array, perhaps with a check for equality in the middle."""
    early = pick.random() < 0.5
    f = Function(name, x=ArrayType(kind := pick.choice([I32, I64, F64]), 1), keys=ArrayType(kind, 1), out=_INTS, n=I64, m=I64)
    with f, f.for_(f.m) as k:
        key = f.keys[k]
        low = f.var(I64, 0, "low")
        high = f.var(I64, f.n, "high")
        found = f.var(I64, -1, "found")
        with f.while_(lambda: low < high):
            middle = (low + high) >> 1
            value = f.x[middle]
            if early:
                with f.if_(value == key):
                    found.set(middle)
                    f.break_()
            with f.if_(value < key):
                low.set(middle + 1)
            with f.else_():
                high.set(middle)
        f.out[k] = select(found < 0, low, found) if early else low
    return f.finish()


def decision_tree(name: str, pick: Random) -> IR:
    """A tree of comparisons of a few features with thresholds, as learned trees come out of generators."""
    features = pick.randint(2, 8)
    f = Function(name, returns=F64, **parameters([f"x{k}" for k in range(features)], F64))

    def node(depth: int, sure: int = 2) -> None:
        if depth == 0 or (sure <= 0 and pick.random() < 0.15):
            f.ret(round(pick.uniform(-4, 4), 2))
            return
        with f.if_(f[f"x{pick.randrange(features)}"] < round(pick.uniform(0.4, 2), 2)):
            node(depth - 1, sure - 1)
        node(depth - 1, sure - 1)

    with f:
        node(pick.randint(3, 6))
    return f.finish()


def forest(name: str, pick: Random) -> IR:
    """Several small trees over the rows of an array, their votes added up."""
    features = pick.randint(3, 6)
    f = Function(name, x=ArrayType(F32, 2), out=ArrayType(F32, 1), n=I64)
    with f, f.for_(f.n) as i:
        values = [f.x[i, k] for k in range(features)]
        vote = f.var(F32, 0.0, "vote")

        def node(depth: int) -> None:
            if depth == 0:
                vote.set(vote + round(pick.uniform(-1, 1), 2))
                return
            with f.if_(values[pick.randrange(features)] < round(pick.uniform(0.3, 2), 2)):
                node(depth - 1)
            with f.else_():
                node(depth - 1)

        for _ in range(pick.randint(2, 5)):
            node(pick.randint(1, 3))
        f.out[i] = vote
    return f.finish()


def lexer(name: str, pick: Random) -> IR:
    """Counts numbers, words, blanks and lines in text, one state variable deciding with the character."""
    f = Function(name, text=_BYTES, counts=_INTS, n=I64, returns=I64)
    classes = pick.randint(2, 5)
    edges = sorted(pick.sample(range(5, 95), classes))
    with f:
        state = f.var(I64, 0, "state")
        counts = [f.var(I64, 0, f"c{k}") for k in range(classes + 1)]
        longest = f.var(I64, 0, "longest")
        length = f.var(I64, 0, "length")
        with f.for_(f.n) as i:
            c = I64(f.text[i])
            for k, edge in enumerate(edges):
                with f.if_(c < edge) if k == 0 else f.elif_(c < edge), f.if_(state != k):
                    counts[k].set(counts[k] + 1)
                    state.set(k)
                    length.set(0)
            with f.else_():
                counts[classes].set(counts[classes] + 1)
                state.set(classes)
            length.set(length + 1)
            with f.if_(length > longest):
                longest.set(length)
        for k, count in enumerate(counts):
            f.counts[k] = count
        f.ret(longest)
    return f.finish()


def virtual_machine(name: str, pick: Random) -> IR:
    """An interpreter of a little bytecode: a program counter, a few registers, a budget of steps."""
    registers = pick.randint(2, 6)
    f = Function(name, code=_INTS, data=_INTS, n=I64, returns=I64)
    with f:
        pc = f.var(I64, 0, "pc")
        left = f.var(I64, 64, "left")
        held = [f.var(I64, k + 1, f"r{k}") for k in range(registers)]
        operations: list[Any] = [
            lambda a, b: a.set(a + b),
            lambda a, b: a.set(a - b),
            lambda a, b: a.set(a ^ (b << 1)),
            lambda a, b: a.set(lw_max(a, b)),
            lambda a, b: a.set(f.data[b & 63]),
            lambda a, b: f.data.__setitem__(a & 63, b),
            lambda a, b: pc.set(select(a > b, pc + 2, pc)),
            lambda a, b: a.set(a * 3 + b),
        ]
        with f.while_(lambda: (pc < f.n) & (left > 0)):
            word = f.code[pc]
            pc.set(pc + 1)
            left.set(left - 1)
            operation = word & 7
            for number in range(pick.randint(4, 8)):
                with f.if_(operation == number) if number == 0 else f.elif_(operation == number):
                    pick.choice(operations)(pick.choice(held), pick.choice(held))
            with f.else_():
                f.break_(0, word == 99)
        result = held[0].get()
        for register in held[1:]:
            result = result * 31 + register
        f.ret(result)
    return f.finish()


def merge_sorted(name: str, pick: Random) -> IR:
    """Two sorted arrays into one; or what they have in common."""
    common = pick.random() < 0.4
    kind = pick.choice([I32, I64, F32, F64])
    f = Function(name, a=ArrayType(kind, 1), b=ArrayType(kind, 1), out=ArrayType(kind, 1), n=I64, m=I64, returns=I64)
    with f:
        i = f.var(I64, 0, "i")
        j = f.var(I64, 0, "j")
        k = f.var(I64, 0, "k")
        with f.while_(lambda: (i < f.n) & (j < f.m)):
            left, right = f.a[i], f.b[j]
            with f.if_(left < right):
                if not common:
                    f.out[k] = left
                    k.set(k + 1)
                i.set(i + 1)
            if common:
                with f.elif_(lambda: right < left):
                    j.set(j + 1)
            with f.else_():
                f.out[k] = right
                k.set(k + 1)
                j.set(j + 1)
                if common:
                    i.set(i + 1)
        if not common:
            for index, array, limit in ((i, f.a, f.n), (j, f.b, f.m)):
                with f.while_(lambda index=index, limit=limit: index < limit):
                    f.out[k] = array[index]
                    k.set(k + 1)
                    index.set(index + 1)
        f.ret(k)
    return f.finish()


def classify(name: str, pick: Random) -> IR:
    """Ranges of values to classes, with counts and extremes of each."""
    classes = pick.randint(2, 7)
    f = Function(name, x=_FLOATS, labels=_BYTES, n=I64, returns=F64)
    edges = sorted(round(pick.uniform(0.2, 1.9), 2) for _ in range(classes))
    with f:
        sums = [f.var(F64, 0.0, f"s{k}") for k in range(classes + 1)]
        with f.for_(f.n) as i:
            value = f.x[i]
            label = f.var(I64, classes, "label")
            for k, edge in enumerate(edges):
                with f.if_(value < edge) if k == 0 else f.elif_(value < edge):
                    label.set(k)
                    sums[k].set(sums[k] + value if pick.random() < 0.6 else lw_max(sums[k], value))
            with f.else_():
                sums[classes].set(sums[classes] + 1.0)
            f.labels[i] = U8(label.get())
        total = sums[0].get()
        for one in sums[1:]:
            total = total * 0.75 + one
        f.ret(total)
    return f.finish()


def gcd_table(name: str, pick: Random) -> IR:
    """Greatest common divisors of all pairs, by subtraction, by remainders, or the binary way."""
    way = pick.randrange(3)
    f = Function(name, x=_INTS, out=_INTS, n=I64, returns=I64)
    with f:
        steps = f.var(I64, 0, "steps")
        with f.for_(f.n) as i:
            a = f.var(I64, f.x[i] + pick.randint(1, 3), "a")
            b = f.var(I64, i + pick.randint(1, 20), "b")
            shift = f.var(I64, 0, "shift")
            if way == 0:
                with f.while_(lambda: a != b):
                    with f.if_(a > b):
                        a.set(a - b)
                    with f.else_():
                        b.set(b - a)
                    steps.set(steps + 1)
            elif way == 1:
                with f.while_(lambda: b != 0):
                    rest = a % lw_max(b, 1)
                    a.set(b)
                    b.set(rest)
                    steps.set(steps + 1)
            else:
                with f.while_(lambda: ((a | b) & 1) == 0):
                    a.set(a >> 1)
                    b.set(b >> 1)
                    shift.set(shift + 1)
                with f.while_(lambda: b != 0):
                    with f.while_(lambda: (b & 1) == 0):
                        b.set(b >> 1)
                    with f.while_(lambda: (a & 1) == 0):
                        a.set(a >> 1)
                    with f.if_(a > b):
                        bigger = a.get()
                        a.set(b)
                        b.set(bigger)
                    b.set(b - a)
                    steps.set(steps + 1)
            f.out[i] = a << shift if way == 2 else a
        f.ret(steps)
    return f.finish()


def run_lengths(name: str, pick: Random) -> IR:
    """Runs of equal values (after dropping low bits) to pairs of value and length, long runs in pieces."""
    f = Function(name, x=_BYTES, values=_BYTES, lengths=_INTS, n=I64, returns=I64)
    drop, most = pick.randint(0, 6), pick.randint(3, 40)
    with f:
        out = f.var(I64, 0, "out")
        i = f.var(I64, 0, "i")
        with f.while_(lambda: i < f.n):
            value = I64(f.x[i]) >> drop
            length = f.var(I64, 1, "length")
            with f.while_(lambda: i + length < f.n):
                f.break_(0, (I64(f.x[i + length]) >> drop) != value)
                f.break_(0, length >= most)
                length.set(length + 1)
            with f.if_(length > pick.randint(1, 2)):
                f.values[out] = U8(value)
                f.lengths[out] = length
            with f.else_():
                f.values[out] = U8(value + 1)
                f.lengths[out] = 0
            out.set(out + 1)
            i.set(i + length)
        f.ret(out)
    return f.finish()


def rules(name: str, pick: Random) -> IR:
    """Records through a list of rules that look at several fields; the first that fits decides."""
    fields = pick.randint(3, 6)
    f = Function(name, records=ArrayType(I32, 2), out=ArrayType(I32, 1), n=I64, returns=I64)
    with f:
        hits = f.var(I64, 0, "hits")
        with f.for_(f.n) as i:
            values = [f.records[i, k] for k in range(fields)]
            verdict = f.var(I32, 0, "verdict")
            with f.block() as done:
                for number in range(pick.randint(3, 8)):
                    one, other = pick.sample(values, 2)
                    condition = pick.choice([one > pick.randint(0, 99), one < other, one + other > pick.randint(50, 150), (one & 7) == pick.randint(0, 7)])
                    if pick.random() < 0.4:
                        condition = condition & (pick.choice(values) < pick.randint(20, 90))
                    with f.if_(condition):
                        verdict.set(number + 1 if pick.random() < 0.7 else other - one)
                        f.break_(done)
                hits.set(hits + 1)
            f.out[i] = verdict
        f.ret(hits)
    return f.finish()


def clip_lines(name: str, pick: Random) -> IR:
    """Line segments cut to a rectangle by the code of the side each end lies on."""
    kind = pick.choice([F32, F64])
    plane = ArrayType(kind, 1)
    f = Function(name, x0=plane, y0=plane, x1=plane, y1=plane, n=I64, left=kind, right=kind, bottom=kind, top=kind, returns=I64)
    with f:
        kept = f.var(I64, 0, "kept")
        with f.for_(f.n) as i:
            ends = [[f.var(kind, f[array][i], array) for array in pair] for pair in (("x0", "y0"), ("x1", "y1"))]
            for x, y in ends if pick.random() < 0.8 else ends[:1]:
                with f.if_(x < f.left):
                    x.set(f.left)
                    y.set(y * 0.5)
                with f.elif_(x > f.right):
                    x.set(f.right)
                with f.if_(y < f.bottom):
                    y.set(f.bottom)
                    x.set((x + f.left) * 0.5)
                with f.elif_(y > f.top):
                    y.set(f.top)
            (x0, y0), (x1, y1) = ends
            with f.if_((x0 != x1) | (y0 != y1)):
                kept.set(kept + 1)
                for array, value in (("x0", x0), ("y0", y0), ("x1", x1), ("y1", y1)):
                    f[array][i] = value
        f.ret(kept)
    return f.finish()


def tokens_to_number(name: str, pick: Random) -> IR:
    """Digits to numbers, with signs and overflow limits; anything else ends one."""
    base = pick.choice([2, 8, 10, 16])
    f = Function(name, text=_BYTES, numbers=_INTS, n=I64, returns=I64)
    with f:
        count = f.var(I64, 0, "count")
        value = f.var(I64, 0, "value")
        sign = f.var(I64, 1, "sign")
        inside = f.var(I64, 0, "inside")
        with f.for_(f.n) as i:
            c = I64(f.text[i])
            digit = c - 48
            with f.if_((digit >= 0) & (digit < base)):
                value.set(lw_min(value * base + digit, pick.choice([999, 32767, 10**9])))
                inside.set(1)
            with f.elif_(lambda: c == 45):
                sign.set(-1)
            with f.else_():
                with f.if_(inside != 0):
                    f.numbers[count] = value * sign
                    count.set(count + 1)
                value.set(0)
                sign.set(1)
                inside.set(0)
        f.ret(count)
    return f.finish()


FAMILIES: Final = {
    made.__name__: made
    for made in (
        binary_search,
        decision_tree,
        forest,
        lexer,
        virtual_machine,
        merge_sorted,
        classify,
        gcd_table,
        run_lengths,
        rules,
        clip_lines,
        tokens_to_number,
    )
}
