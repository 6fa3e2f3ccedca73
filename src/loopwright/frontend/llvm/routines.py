"""What LLVM IR takes to be there: copying and filling memory of any size, and division of 128 bits. A module that needs one of them has it as a function of its own."""

from __future__ import annotations

from typing import Final

from loopwright.types import I64, PTR, U8, U64, Type

__all__ = ["PARAMETERS", "PREFIX", "ROUTINES"]

#: In front of the names, so that they are none of C's.
PREFIX: Final = "__loopwright_"

#: What each takes.
PARAMETERS: Final[dict[str, tuple[Type, ...]]] = {
    "memcpy": (PTR, PTR, I64),
    "memmove": (PTR, PTR, I64),
    "memset": (PTR, U8, I64),
    "divide": (U64, U64, U64, U64, PTR),
}

#: 32 bytes at a time, then eight, then what is left. (All of a step's are read before any is written: what is copied may overlap what lies below.)
_UPWARDS: Final = """
  %most = and.i64 %n, -32
  for_lines
  %whole = and.i64 %n, -8
  %k = for %most, %whole, 8
    %w = load_at.u64 [%from + %k*1]
    store_at.u64 %w, [%to + %k*1]
  end
  %l = for %whole, %n, 1
    %b = load_at.u8 [%from + %l*1]
    store_at.u8 %b, [%to + %l*1]
  end
""".replace(
    "for_lines",
    "\n  ".join(
        [
            "%i = for 0, %most, 32",
            *(f"  %v{at} = load_at.u64 [%from + %i*1 + {at}]" for at in (0, 8, 16, 24)),
            *(f"  store_at.u64 %v{at}, [%to + %i*1 + {at}]" for at in (0, 8, 16, 24)),
            "end",
        ]
    ),
)

#: The text of each in the IR, by LLVM's name.
ROUTINES: Final[dict[str, str]] = {
    "memcpy": f"""function {PREFIX}memcpy(%to: ptr, %from: ptr, %n: i64)
{_UPWARDS}
end
""",
    "memmove": f"""function {PREFIX}memmove(%to: ptr, %from: ptr, %n: i64)
  %t = convert.i64.ptr %to
  %f = convert.i64.ptr %from
  %d = sub.i64 %t, %f
  %distance = convert.u64.i64 %d
  %size = convert.u64.i64 %n
  %apart = ge.u64 %distance, %size
  if %apart
{_UPWARDS}
    ret
  end
  %j = for 0, %n, 1
    %down = sub.i64 %n, %j
    %c = load_at.u8 [%from + %down*1 - 1]
    store_at.u8 %c, [%to + %down*1 - 1]
  end
end
""",
    # Unsigned division of 128 bits: quotient and remainder to memory. The quotient of the upper half by a divisor of 64 bits comes first; what is left is less than
    # the divisor and goes by two digits of 32 bits (D. Knuth, *The Art of Computer Programming*, volume 2, 4.3.1, algorithm D). A divisor of more than 64 bits is cut to its
    # upper 64, which makes the quotient too large by 1 at most, and so it is made less by 1 and corrected (H. Warren, *Hacker's Delight*, 2013, 9-5).
    "divide": f"""function {PREFIX}divide(%a: u64, %b: u64, %c: u64, %d: u64, %made: ptr)
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
""",
    "memset": f"""function {PREFIX}memset(%to: ptr, %byte: u8, %n: i64)
  %wide = convert.u64.u8 %byte
  %eight = mul.u64 %wide, 72340172838076673
  %whole = and.i64 %n, -8
  %most = and.i64 %n, -32
  %i = for 0, %most, 32
    store_at.u64 %eight, [%to + %i*1]
    store_at.u64 %eight, [%to + %i*1 + 8]
    store_at.u64 %eight, [%to + %i*1 + 16]
    store_at.u64 %eight, [%to + %i*1 + 24]
  end
  %j = for %most, %whole, 8
    store_at.u64 %eight, [%to + %j*1]
  end
  %k = for %whole, %n, 1
    store_at.u8 %byte, [%to + %k*1]
  end
end
""",
}
