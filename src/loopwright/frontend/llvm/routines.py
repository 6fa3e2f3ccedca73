"""What LLVM IR takes to be there: copying and filling memory of any size, and division of 128 bits. A module that needs one of them has it as a function of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.types import I64, PTR, U8, U64, Type

__all__ = ["PARAMETERS", "PREFIX", "routine"]

#: In front of the names, so that they are none of C's.
PREFIX: Final = "__loopwright_"

#: What each takes.
PARAMETERS: Final[dict[str, tuple[Type, ...]]] = {
    "memcpy": (PTR, PTR, I64),
    "memmove": (PTR, PTR, I64),
    "memset": (PTR, U8, I64),
    "divide": (U64, U64, U64, U64, PTR),
}

#: Bytes of a step.
_STEP: Final = 32


def routine(name: str, vectors: bool = False) -> str:
    """The text of a function in the IR.

    Args:
        name: one of ``PARAMETERS``: LLVM's name.
        vectors: copy and fill by vectors of 128 bits.
    """
    if name == "divide":
        return _DIVIDE
    wide = _Wide("u64x2", 16) if vectors else _Wide("u64", 8)
    fills = name == "memset"
    do = _fill if fills else _move
    first = ["%words = splat.u64x2 %wide"] if fills and vectors else _downwards(wide) if name == "memmove" else []
    # What is copied last has to be read first, because a step before may write to it.
    last = wide.last(_STEP)
    large = [
        *([] if fills else _read("z", wide.type, last)),
        f"%most = sub.i64 %n, {_STEP}",
        f"%i = for 0, %most, {_STEP}",
        *do("v", wide.type, [f" + %i*1{place}" for place in wide.first(_STEP)]),
        "end",
        *(_fill if fills else _write)("z", wide.type, last),
    ]
    parameters = ", ".join(f"%{p}: {type_.name}" for p, type_ in zip(("to", "byte" if fills else "from", "n"), PARAMETERS[name], strict=True))
    return "\n".join([f"function {PREFIX}{name}({parameters})", *(_REPEATED if fills else []), *first, *_by_size(wide, large, do), "end", ""])


class _Wide:
    """The widest words that are copied at once: their type and its bytes."""

    def __init__(self, type_: str, size: int) -> None:
        self.type = type_
        self.size = size

    def first(self, size: int) -> list[str]:
        """Where they begin in the first bytes of memory, so many."""
        return [f" + {at}" for at in range(0, size, self.size)]

    def last(self, size: int) -> list[str]:
        """And in the last of its ``%n`` bytes."""
        return [f" + %n*1 - {at}" for at in range(size, 0, -self.size)]


def _read(name: str, type_: str, places: list[str]) -> list[str]:
    return [f"%{name}{k} = load_at.{type_} [%from{place}]" for k, place in enumerate(places)]


def _write(name: str, type_: str, places: list[str]) -> list[str]:
    return [f"store_at.{type_} %{name}{k}, [%to{place}]" for k, place in enumerate(places)]


def _move(name: str, type_: str, places: list[str]) -> list[str]:
    """All is read before any is written: what is copied may overlap what lies below or above."""
    return [*_read(name, type_, places), *_write(name, type_, places)]


def _fill(_: str, type_: str, places: list[str]) -> list[str]:
    return [f"store_at.{type_} %{_CALLED[type_]}, [%to{place}]" for place in places]


def _by_size(wide: _Wide, large: list[str], do: Callable[[str, str, list[str]], list[str]]) -> list[str]:
    """What is done of 32 bytes and more (the lines are given), and of fewer: the first and the last words of a width, which overlap where they have to."""
    widths = [(16, "h", wide.type, [*wide.first(16), *wide.last(16)]), (8, "o", "u64", ["", " + %n*1 - 8"]), (4, "f", "u32", ["", " + %n*1 - 4"])]
    lines = [f"%large = ge.i64 %n, {_STEP}", "if %large", *large]
    for size, name, type_, places in widths:
        lines += ["else", f"%{name} = ge.i64 %n, {size}", f"if %{name}", *do(name, type_, places)]
    # (One byte, two or three: the first, the one in the middle, the last.)
    lines += ["else", "%any = ne.i64 %n, 0", "if %any", "%half = shr.i64 %n, 1", *do("b", "u8", ["", " + %half*1", " + %n*1 - 1"]), "end"]
    return [*lines, *["end"] * (len(widths) + 1)]


def _downwards(wide: _Wide) -> list[str]:
    """Memory that may overlap is copied from its last bytes on where its place begins within what is read. The first 32 are read first, and written last."""
    return [
        "%target = convert.i64.ptr %to",
        "%source = convert.i64.ptr %from",
        "%ahead = sub.i64 %target, %source",
        "%distance = convert.u64.i64 %ahead",
        "%size = convert.u64.i64 %n",
        "%within = lt.u64 %distance, %size",
        f"%whole = ge.i64 %n, {_STEP}",
        "%downwards = and.bool %within, %whole",
        "if %downwards",
        *_read("y", wide.type, wide.first(_STEP)),
        f"%above = sub.i64 %n, {_STEP}",
        f"%j = for 0, %above, {_STEP}",
        "%down = sub.i64 %n, %j",
        *_move("w", wide.type, [f" + %down*1 - {at}" for at in range(_STEP, 0, -wide.size)]),
        "end",
        *_write("y", wide.type, wide.first(_STEP)),
        "ret",
        "end",
    ]


#: In front of what fills memory: its byte in words.
_REPEATED: Final = ["%extended = convert.u64.u8 %byte", "%wide = mul.u64 %extended, 72340172838076673", "%word = convert.u32.u64 %wide"]
#: What these are called, by their type.
_CALLED: Final = {"u64x2": "words", "u64": "wide", "u32": "word", "u8": "byte"}

#: Unsigned division of 128 bits: quotient and remainder to memory. The quotient of the upper half by a divisor of 64 bits comes first; what is left is less than
#: the divisor and goes by two digits of 32 bits (D. Knuth, *The Art of Computer Programming*, volume 2, 4.3.1, algorithm D). A divisor of more than 64 bits is cut to its
#: upper 64, which makes the quotient too large by 1 at most, and so it is made less by 1 and corrected (H. Warren, *Hacker's Delight*, 2013, 9-5).
_DIVIDE: Final = f"""function {PREFIX}divide(%a: u64, %b: u64, %c: u64, %d: u64, %made: ptr)
  var %h: u64
  var %l: u64
  var %v: u64
  var %s: u64
  var %top: u64
  var %q: u64
  var %digit: u64
  var %rest: u64
  %small = eq.u64 %d, 0
  if %small
    %top = div_trunc.u64 %b, %c
    %whole = mul.u64 %top, %c
    %upper = sub.u64 %b, %whole
    %s = leading_zeros.u64 %c
    %v = shl_modulo.u64 %c, %s
    %back = xor.u64 %s, 63
    %over = shr_modulo.u64 %a, 1
    %crossing = shr_modulo.u64 %over, %back
    %raised = shl_modulo.u64 %upper, %s
    %h = or.u64 %raised, %crossing
    %l = shl_modulo.u64 %a, %s
  else
    %s = leading_zeros.u64 %d
    %back2 = xor.u64 %s, 63
    %half = shr_modulo.u64 %c, 1
    %lower = shr_modulo.u64 %half, %back2
    %raised2 = shl_modulo.u64 %d, %s
    %v = or.u64 %raised2, %lower
    %h = shr_modulo.u64 %b, 1
    %low = shr_modulo.u64 %a, 1
    %bit = shl_modulo.u64 %b, 63
    %l = or.u64 %low, %bit
    %top = copy.u64 0
  end
  %v1 = shr_modulo.u64 %v, 32
  %v0 = and.u64 %v, 4294967295
  %q = copy.u64 0
  %i = for 0, 2, 1
    %next = shr_modulo.u64 %l, 32
    %first = shr_modulo.u64 %h, 32
    %beyond = ge.u64 %first, %v1
    %guess = div_trunc.u64 %h, %v1
    %digit = select.u64 %beyond, 4294967295, %guess
    %taken = mul.u64 %digit, %v1
    %rest = sub.u64 %h, %taken
    block
      loop
        %full = shr_modulo.u64 %rest, 32
        %out = ne.u64 %full, 0
        br_if 1, %out
        %product = mul.u64 %digit, %v0
        %moved = shl_modulo.u64 %rest, 32
        %there = or.u64 %moved, %next
        %fits = le.u64 %product, %there
        br_if 1, %fits
        %digit = sub.u64 %digit, 1
        %rest = add.u64 %rest, %v1
        br 0
      end
    end
    %up = shl_modulo.u64 %h, 32
    %with = or.u64 %up, %next
    %all = mul.u64 %digit, %v
    %h = sub.u64 %with, %all
    %l = shl_modulo.u64 %l, 32
    %higher = shl_modulo.u64 %q, 32
    %q = add.u64 %higher, %digit
  end
  if %small
    %left = shr_modulo.u64 %h, %s
    store_at.u64 %q, [%made]
    store_at.u64 %top, [%made + 8]
    store_at.u64 %left, [%made + 16]
    store_at.u64 0, [%made + 24]
    ret
  end
  %places = xor.u64 %s, 63
  %cut = shr_modulo.u64 %q, %places
  %some = ne.u64 %cut, 0
  %one = convert.u64.bool %some
  %less = sub.u64 %cut, %one
  %p0 = mul.u64 %less, %c
  %p2 = mul_high.u64 %less, %c
  %p3 = mul.u64 %less, %d
  %p1 = add.u64 %p2, %p3
  %r0 = sub.u64 %a, %p0
  %r2 = sub.u64 %b, %p1
  %below = lt.u64 %a, %p0
  %borrow = convert.u64.bool %below
  %r1 = sub.u64 %r2, %borrow
  %above = gt.u64 %r1, %d
  %same = eq.u64 %r1, %d
  %enough = ge.u64 %r0, %c
  %also = and.bool %same, %enough
  %more = or.bool %above, %also
  %further = convert.u64.bool %more
  %quotient = add.u64 %less, %further
  %t0 = sub.u64 %r0, %c
  %t2 = sub.u64 %r1, %d
  %under = lt.u64 %r0, %c
  %carried = convert.u64.bool %under
  %t1 = sub.u64 %t2, %carried
  %last0 = select.u64 %more, %t0, %r0
  %last1 = select.u64 %more, %t1, %r1
  store_at.u64 %quotient, [%made]
  store_at.u64 0, [%made + 8]
  store_at.u64 %last0, [%made + 16]
  store_at.u64 %last1, [%made + 24]
end
"""
