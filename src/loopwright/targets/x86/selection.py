"""Which instructions serve which operation of the intermediate representation: one row for an operation and its types.

A row has three columns::

    operation | types | instructions

*Types* are those of the operation: names as in the IR, with ``x`` behind those of lanes however many there are, or a group of them (``_GROUPS``); after ``from``
those of its source. *Instructions* are written as ``sequence.py`` explains; where there are several, the lines below with two empty columns belong to the row.
Of rows for the same operation and type the first serves whose instructions the target has, and whose operands are the constants or loads that it asks for.

To add an operation, add a row here (docs/adding-an-instruction.md). What takes more than a list of instructions is in ``lowering.py``.
"""

from __future__ import annotations

from typing import Any, Final

from loopwright.ir import ops
from loopwright.ir.function import Instr
from loopwright.ir.ops import Op
from loopwright.targets.rows import read_rows, words
from loopwright.targets.target import Rule
from loopwright.targets.x86.sequence import SIZELESS, Sequence, folded, loads, read, rule
from loopwright.types import VOID, Type

__all__ = ["choose", "has_rows", "step_of"]

_TABLE: Final = """
# Arithmetic
add              | float                         | VADDS$ d, a, b
add              | floatx                        | VADDP$ d, a, b
add              | intx                          | VPADD? d, a, b
sub              | float                         | VSUBS$ d, a, b
sub              | floatx                        | VSUBP$ d, a, b
sub              | intx                          | VPSUB? d, a, b
sub              | int                           | SUB a, b
mul              | float                         | VMULS$ d, a, b
mul              | floatx                        | VMULP$ d, a, b
mul              | int                           | IMUL d, a, #b
mul              | int                           | IMUL a, b
mul              | int16x int32x                 | VPMULL? d, a, b
mul              | int64x                        | VPMULLQ d, a, b
mul_lower        | int64x                        | VPMULUDQ d, a, b
mul_wide         | i64x from i32x                | VPMOVSXDQ t, a
                 |                               | VPMOVSXDQ d, b
                 |                               | VPMULDQ d, d, t
mul_wide         | u64x from u32x                | VPMOVZXDQ t, a
                 |                               | VPMOVZXDQ d, b
                 |                               | VPMULUDQ d, d, t
mul_high         | int16x                        | VPMULH~W d, a, b
# Of 32-bit lanes, those of the odd ones in their place, of the even ones brought down from there.
mul_high         | int32x                        | VPSRLQ t, a, 32
                 |                               | VPSRLQ u, b, 32
                 |                               | VPMUL~DQ t, t, u
                 |                               | VPMUL~DQ d, a, b
                 |                               | VPAND t, t, =0xffffffff00000000.64
                 |                               | VPSRLQ d, d, 32
                 |                               | VPOR d, d, t
# By three 32-bit products (Intel optimization manual, 64-bit multiplication of SIMD elements).
mul              | int64x                        | VPSRLQ t, a, 32
                 |                               | VPSRLQ u, b, 32
                 |                               | VPMULUDQ t, t, b
                 |                               | VPMULUDQ u, u, a
                 |                               | VPADDQ t, t, u
                 |                               | VPSLLQ t, t, 32
                 |                               | VPMULUDQ d, a, b
                 |                               | VPADDQ d, d, t
# By 16-bit products: of the even bytes the low halves, of the odd ones (a >> 8) * (b & 0xff00), high already.
mul              | int8x                         | VPSRLW t, a, 8
                 |                               | VPAND u, b, =0xff00.16
                 |                               | VPMULLW t, t, u
                 |                               | VPMULLW d, a, b
                 |                               | VPAND d, d, =0x00ff.16
                 |                               | VPOR d, d, t
# Of f16 by way of f32, which is rounded rightly as well (passes/halves.py): on Sapphire Rapids it takes 0.55 of VSQRTPH's time and 0.7 of VDIVPH's.
div              | f16x                          | VCVTPH2PSX t:zmm, a:ymm
                 |                               | VCVTPH2PSX u:zmm, b:ymm
                 |                               | VDIVPS t:zmm, t:zmm, u:zmm
                 |                               | VEXTRACTF64X4 u:ymm, b, 1
                 |                               | VCVTPH2PSX u:zmm, u:ymm
                 |                               | VEXTRACTF64X4 d:ymm, a, 1
                 |                               | VCVTPH2PSX d:zmm, d:ymm
                 |                               | VDIVPS d:zmm, d:zmm, u:zmm
                 |                               | VCVTPS2PHX t:ymm, t:zmm
                 |                               | VCVTPS2PHX d:ymm, d:zmm
                 |                               | VINSERTF64X4 d, t, d:ymm, 1
div              | f16x                          | VCVTPH2PSX t:zmm, a
                 |                               | VCVTPH2PSX u:zmm, b
                 |                               | VDIVPS t:zmm, t:zmm, u:zmm
                 |                               | VCVTPS2PHX d, t:zmm
div              | f16x                          | VCVTPH2PSX t:ymm, a
                 |                               | VCVTPH2PSX u:ymm, b
                 |                               | VDIVPS t:ymm, t:ymm, u:ymm
                 |                               | VCVTPS2PHX d, t:ymm
div              | float                         | VDIVS$ d, a, b
div              | floatx                        | VDIVP$ d, a, b
sqrt             | f16x                          | VCVTPH2PSX t:zmm, a:ymm
                 |                               | VSQRTPS t:zmm, t:zmm
                 |                               | VEXTRACTF64X4 d:ymm, a, 1
                 |                               | VCVTPH2PSX d:zmm, d:ymm
                 |                               | VSQRTPS d:zmm, d:zmm
                 |                               | VCVTPS2PHX t:ymm, t:zmm
                 |                               | VCVTPS2PHX d:ymm, d:zmm
                 |                               | VINSERTF64X4 d, t, d:ymm, 1
sqrt             | f16x                          | VCVTPH2PSX t:zmm, a
                 |                               | VSQRTPS t:zmm, t:zmm
                 |                               | VCVTPS2PHX d, t:zmm
sqrt             | f16x                          | VCVTPH2PSX t:ymm, a
                 |                               | VSQRTPS t:ymm, t:ymm
                 |                               | VCVTPS2PHX d, t:ymm
sqrt             | float                         | VSQRTS$ d, a, a
sqrt             | floatx                        | VSQRTP$ d, a
# Off by 2**-14 of it at most, and by 1.5 * 2**-12 (SDM volume 2).
rcp_estimate     | f32                           | VRCP14SS d, a, a
rcp_estimate     | f32                           | VRCPSS d, a, a
rcp_estimate     | f32x                          | VRCP14PS d, a
rcp_estimate     | f32x                          | VRCPPS d, a
rsqrt_estimate   | f32                           | VRSQRT14SS d, a, a
rsqrt_estimate   | f32                           | VRSQRTSS d, a, a
rsqrt_estimate   | f32x                          | VRSQRT14PS d, a
rsqrt_estimate   | f32x                          | VRSQRTPS d, a
# The estimate y, and one step by Newton's method, y / 2 * (3 - a * y * y), which squares its error and rounds. Of 0, infinities and subnormal numbers y is what it should be,
# and the difference NaN or negative: VMAXPS gives its second source then, of which the product with y is y's zero or infinity.
rsqrt            | f32x                          | VRSQRT14PS t, a
                 |                               | VMULPS u, a, t
                 |                               | VFNMADD213PS u, t, =0x40400000
                 |                               | VMAXPS u, u, =0x3fc00000
                 |                               | VMULPS t, t, =0x3f000000
                 |                               | VMULPS d, t, u
rsqrt            | f32x                          | VRSQRTPS t, a
                 |                               | VMULPS u, a, t
                 |                               | VFNMADD213PS u, t, =0x40400000
                 |                               | VMAXPS u, u, =0x3fc00000
                 |                               | VMULPS t, t, =0x3f000000
                 |                               | VMULPS d, t, u
# Of f64, whose estimate y is off by 2**-14 at most, y + y * (e / 2 + 3 / 8 * e**2 + 5 / 16 * e**3 + 35 / 128 * e**4), where e = 1 - a * y * y: the binomial series of (1 - e)**-(1/2), off by 2**-66. Of 0 and infinities
# e is NaN, and VMINPD gives its second source.
rsqrt            | f64x                          | VRSQRT14PD t, a
                 |                               | VMULPD u, a, t
                 |                               | VFNMADD213PD u, t, =0x3ff0000000000000
                 |                               | VMULPD d, u, =0x3fd1800000000000
                 |                               | VADDPD d, d, =0x3fd4000000000000
                 |                               | VFMADD213PD d, u, =0x3fd8000000000000
                 |                               | VFMADD213PD d, u, =0x3fe0000000000000
                 |                               | VMULPD d, d, u
                 |                               | VMINPD d, d, =0x3fd0000000000000
                 |                               | VFMADD213PD d, t, t
rsqrt            | f64                           | VRSQRT14SD t, a, a
                 |                               | VMULSD u, a, t
                 |                               | VFNMADD213SD u, t, =0x3ff0000000000000
                 |                               | VMULSD d, u, =0x3fd1800000000000
                 |                               | VADDSD d, d, =0x3fd4000000000000
                 |                               | VFMADD213SD d, u, =0x3fd8000000000000
                 |                               | VFMADD213SD d, u, =0x3fe0000000000000
                 |                               | VMULSD d, d, u
                 |                               | VMINSD d, d, =0x3fd0000000000000
                 |                               | VFMADD213SD d, t, t
rsqrt            | f32                           | VRSQRT14SS t, a, a
                 |                               | VMULSS u, a, t
                 |                               | VFNMADD213SS u, t, =0x40400000
                 |                               | VMAXSS u, u, =0x3fc00000
                 |                               | VMULSS t, t, =0x3f000000
                 |                               | VMULSS d, t, u
rsqrt            | f32                           | VRSQRTSS t, a, a
                 |                               | VMULSS u, a, t
                 |                               | VFNMADD213SS u, t, =0x40400000
                 |                               | VMAXSS u, u, =0x3fc00000
                 |                               | VMULSS t, t, =0x3f000000
                 |                               | VMULSS d, t, u
neg              | int                           | NEG a
neg              | f32                           | VXORPS d, a, =0x80000000
neg              | f64                           | VXORPD d, a, =0x8000000000000000
neg              | f16 f16x                      | VXORPS d, a, =0x80008000.32
neg              | f32x                          | VXORPS d, a, =0x80000000
neg              | f64x                          | VXORPD d, a, =0x8000000000000000
abs              | f32                           | VANDPS d, a, =0x7fffffff
abs              | f64                           | VANDPD d, a, =0x7fffffffffffffff
abs              | f16                           | VANDPS d, a, =0x7fff7fff.32
abs              | i8x i16x i32x i64x            | VPABS? d, a
# VBLENDVPD takes the second source where the sign of the last is set.
abs              | i64x                          | VPXOR d, d, d
                 |                               | VPSUBQ d, d, a
                 |                               | VBLENDVPD d, a, d, a
copy_sign        | f32                           | VANDPS t, b, =0x80000000
                 |                               | VANDPS d, a, =0x7fffffff
                 |                               | VORPS d, d, t
copy_sign        | f64                           | VANDPD t, b, =0x8000000000000000
                 |                               | VANDPD d, a, =0x7fffffffffffffff
                 |                               | VORPD d, d, t
copy_sign        | f16                           | VANDPS t, b, =0x80008000.32
                 |                               | VANDPS d, a, =0x7fff7fff.32
                 |                               | VORPS d, d, t
# VMINPS gives its second source where one is NaN or both are zeros.
min              | float                         | VMINS$ d, b, a
min              | floatx                        | VMINP$ d, b, a
max              | float                         | VMAXS$ d, b, a
max              | floatx                        | VMAXP$ d, b, a
min              | i8x i16x i32x i64x            | VPMINS? d, a, b
max              | i8x i16x i32x i64x            | VPMAXS? d, a, b
min              | u8x u16x u32x u64x            | VPMINU? d, a, b
max              | u8x u16x u32x u64x            | VPMAXU? d, a, b
min              | i32 i64                       | CMP a, b
                 |                               | CMOVG a, b
max              | i32 i64                       | CMP a, b
                 |                               | CMOVL a, b
min              | u32 u64 ptr                   | CMP a, b
                 |                               | CMOVA a, b
max              | u32 u64 ptr                   | CMP a, b
                 |                               | CMOVB a, b
popcount         | int                           | POPCNT d, a
popcount         | int8x                         | VPOPCNTB d, a
popcount         | int16x                        | VPOPCNTW d, a
popcount         | int32x                        | VPOPCNTD d, a
popcount         | int64x                        | VPOPCNTQ d, a
# Of bytes by a table for four bits, then sums of neighbours: bytes by ones, pairs by ones, all eight.
popcount         | int8x                         | VPSRLW t, a, 4
                 |                               | VPAND t, t, =0x0f.8
                 |                               | VPAND d, a, =0x0f.8
                 |                               | VMOVUPS u, =0x04030302030202010302020102010100.128
                 |                               | VPSHUFB t, u, t
                 |                               | VPSHUFB d, u, d
                 |                               | VPADDB d, d, t
popcount         | int16x                        | VPSRLW t, a, 4
                 |                               | VPAND t, t, =0x0f.8
                 |                               | VPAND d, a, =0x0f.8
                 |                               | VMOVUPS u, =0x04030302030202010302020102010100.128
                 |                               | VPSHUFB t, u, t
                 |                               | VPSHUFB d, u, d
                 |                               | VPADDB d, d, t
                 |                               | VPMADDUBSW d, d, =0x01.8
popcount         | int32x                        | VPSRLW t, a, 4
                 |                               | VPAND t, t, =0x0f.8
                 |                               | VPAND d, a, =0x0f.8
                 |                               | VMOVUPS u, =0x04030302030202010302020102010100.128
                 |                               | VPSHUFB t, u, t
                 |                               | VPSHUFB d, u, d
                 |                               | VPADDB d, d, t
                 |                               | VPMADDUBSW d, d, =0x01.8
                 |                               | VPMADDWD d, d, =0x0001.16
popcount         | int64x                        | VPSRLW t, a, 4
                 |                               | VPAND t, t, =0x0f.8
                 |                               | VPAND d, a, =0x0f.8
                 |                               | VMOVUPS u, =0x04030302030202010302020102010100.128
                 |                               | VPSHUFB t, u, t
                 |                               | VPSHUFB d, u, d
                 |                               | VPADDB d, d, t
                 |                               | VPXOR t, t, t
                 |                               | VPSADBW d, d, t
# Carry-less products of the halves of 128 bits that the immediate names: 0x00 the lower ones, 0x11 the upper ones (SDM volume 2, PCLMULQDQ).
clmul            | i32 u32                       | VMOVD t:xmm, a
                 |                               | VMOVD u:xmm, b
                 |                               | VPCLMULQDQ t:xmm, t:xmm, u:xmm, 0
                 |                               | VMOVD d, t:xmm
clmul            | i64 u64                       | VMOVQ t:xmm, a
                 |                               | VMOVQ u:xmm, b
                 |                               | VPCLMULQDQ t:xmm, t:xmm, u:xmm, 0
                 |                               | VMOVQ d, t:xmm
clmul            | int64x                        | VPCLMULQDQ t, a, b, 0x11
                 |                               | VPCLMULQDQ d, a, b, 0
                 |                               | VPUNPCKLQDQ d, d, t
clmul_high       | i32 u32                       | VMOVD t:xmm, a
                 |                               | VMOVD u:xmm, b
                 |                               | VPCLMULQDQ t:xmm, t:xmm, u:xmm, 0
                 |                               | VPSRLQ t:xmm, t:xmm, 32
                 |                               | VMOVD d, t:xmm
clmul_high       | i64 u64                       | VMOVQ t:xmm, a
                 |                               | VMOVQ u:xmm, b
                 |                               | VPCLMULQDQ t:xmm, t:xmm, u:xmm, 0
                 |                               | VPEXTRQ d, t:xmm, 1
clmul_high       | int64x                        | VPCLMULQDQ t, a, b, 0x11
                 |                               | VPCLMULQDQ d, a, b, 0
                 |                               | VPUNPCKHQDQ d, d, t
crc32c           | u32 from u8                   | CRC32 a, b:r8
crc32c           | u32 from u16                  | CRC32 a, b:r16
crc32c           | u32 from u32                  | CRC32 a, b
# The 64-bit form clears the upper half of its destination.
crc32c           | u32 from u64                  | CRC32 a:r64, b

# Saturating sums. Of scalars the borrow of SBB makes ones of a carry; of signed ones the bound on the side of the first operand is ready before.
add_saturated    | u8x u16x                      | VPADDUS? d, a, b
add_saturated    | i8x i16x                      | VPADDS? d, a, b
add_saturated    | u32 u64                       | ADD a, b
                 |                               | SBB t, t
                 |                               | OR a, t
add_saturated    | i32                           | MOV t, a
                 |                               | NOT t
                 |                               | SAR t, 31
                 |                               | BTC t, 31
                 |                               | ADD a, b
                 |                               | CMOVO a, t
add_saturated    | i64                           | MOV t, a
                 |                               | NOT t
                 |                               | SAR t, 63
                 |                               | BTC t, 63
                 |                               | ADD a, b
                 |                               | CMOVO a, t
sub_saturated    | u8x u16x                      | VPSUBUS? d, a, b
sub_saturated    | i8x i16x                      | VPSUBS? d, a, b
sub_saturated    | u32 u64                       | SUB a, b
                 |                               | SBB t, t
                 |                               | ANDN a, t, a
sub_saturated    | i32                           | MOV t, a
                 |                               | NOT t
                 |                               | SAR t, 31
                 |                               | BTC t, 31
                 |                               | SUB a, b
                 |                               | CMOVO a, t
sub_saturated    | i64                           | MOV t, a
                 |                               | NOT t
                 |                               | SAR t, 63
                 |                               | BTC t, 63
                 |                               | SUB a, b
                 |                               | CMOVO a, t
# VPAVGB and VPAVGW round up; the average of complements is the complement of that rounded down. Signed numbers are made unsigned by their top bits.
average_up       | u8x u16x                      | VPAVG? d, a, b
average_up       | i8x                           | VPXOR t, a, =0x80
                 |                               | VPXOR d, b, =0x80
                 |                               | VPAVGB d, d, t
                 |                               | VPXOR d, d, =0x80
average_up       | i16x                          | VPXOR t, a, =0x8000
                 |                               | VPXOR d, b, =0x8000
                 |                               | VPAVGW d, d, t
                 |                               | VPXOR d, d, =0x8000
average_down     | u8x u16x                      | VPXOR t, a, =0xffffffff.32
                 |                               | VPXOR d, b, =0xffffffff.32
                 |                               | VPAVG? d, d, t
                 |                               | VPXOR d, d, =0xffffffff.32
average_down     | i8x                           | VPXOR t, a, =0x7f
                 |                               | VPXOR d, b, =0x7f
                 |                               | VPAVGB d, d, t
                 |                               | VPXOR d, d, =0x7f
average_down     | i16x                          | VPXOR t, a, =0x7fff
                 |                               | VPXOR d, b, =0x7fff
                 |                               | VPAVGW d, d, t
                 |                               | VPXOR d, d, =0x7fff
# One of the differences is 0.
abs_diff         | u8x u16x                      | VPSUBUS? t, a, b
                 |                               | VPSUBUS? d, b, a
                 |                               | VPOR d, d, t
abs_diff         | u32 u64                       | MOV t, b
                 |                               | SUB t, a
                 |                               | SUB a, b
                 |                               | CMOVB a, t
abs_diff         | i32 i64                       | MOV t, b
                 |                               | SUB t, a
                 |                               | SUB a, b
                 |                               | CMOVL a, t

# Bits
leading_zeros    | i32 i64 u32 u64               | LZCNT d, a
leading_zeros    | int32x int64x                 | VPLZCNT? d, a
# By tables of the lower four bits and the upper four: 8 where these are none, and any lower count is more than one of the upper ones.
leading_zeros    | int8x                         | VPSRLW t, a, 4
                 |                               | VPAND t, t, =0x0f.8
                 |                               | VPAND d, a, =0x0f.8
                 |                               | VMOVUPS u, =0x00000000000000000101010102020308.128
                 |                               | VPSHUFB t, u, t
                 |                               | VMOVUPS u, =0x04040404040404040505050506060708.128
                 |                               | VPSHUFB d, u, d
                 |                               | VPMINUB d, d, t
trailing_zeros   | i32 i64 u32 u64               | TZCNT d, a
bit_reverse      | int8x                         | VPSRLW t, a, 4
                 |                               | VPAND t, t, =0x0f.8
                 |                               | VPAND d, a, =0x0f.8
                 |                               | VMOVUPS u, =0x0f070b030d0509010e060a020c040800.128
                 |                               | VPSHUFB t, u, t
                 |                               | VMOVUPS u, =0xf070b030d0509010e060a020c0408000.128
                 |                               | VPSHUFB d, u, d
                 |                               | VPOR d, d, t
byte_swap        | i32 i64 u32 u64               | BSWAP a
byte_swap        | int16x                        | VPSHUFB d, a, =0x0e0f0c0d0a0b08090607040502030001.128
byte_swap        | int32x                        | VPSHUFB d, a, =0x0c0d0e0f08090a0b0405060700010203.128
byte_swap        | int64x                        | VPSHUFB d, a, =0x08090a0b0c0d0e0f0001020304050607.128
rotate_left      | int32x int64x                 | VPROLV? d, a, b
rotate_right     | int32x int64x                 | VPRORV? d, a, b

# Rounding (SDM volume 2, table 4-18; bit 3 keeps the precision exception quiet)
round            | float                         | VRNDSCALES$ d, a, a, 8
round            | float                         | VROUNDS$ d, a, a, 8
round            | floatx                        | VRNDSCALEP$ d, a, 8
round            | floatx                        | VROUNDP$ d, a, 8
floor            | float                         | VRNDSCALES$ d, a, a, 9
floor            | float                         | VROUNDS$ d, a, a, 9
floor            | floatx                        | VRNDSCALEP$ d, a, 9
floor            | floatx                        | VROUNDP$ d, a, 9
ceil             | float                         | VRNDSCALES$ d, a, a, 10
ceil             | float                         | VROUNDS$ d, a, a, 10
ceil             | floatx                        | VRNDSCALEP$ d, a, 10
ceil             | floatx                        | VROUNDP$ d, a, 10
trunc            | float                         | VRNDSCALES$ d, a, a, 11
trunc            | float                         | VROUNDS$ d, a, a, 11
trunc            | floatx                        | VRNDSCALEP$ d, a, 11
trunc            | floatx                        | VROUNDP$ d, a, 11

# Bitwise
and              | int bool                      | AND a, b
or               | int bool                      | OR a, b
xor              | int bool                      | XOR a, b
andnot           | int bool                      | ANDN d, a, b
and              | intx                          | VPAND d, a, b
or               | intx                          | VPOR d, a, b
xor              | intx                          | VPXOR d, a, b
andnot           | intx                          | VPANDN d, a, b
and              | mask                          | KANDQ d, a, b
and              | mask                          | VPAND d, a, b
or               | mask                          | KORQ d, a, b
or               | mask                          | VPOR d, a, b
xor              | mask                          | KXORQ d, a, b
xor              | mask                          | VPXOR d, a, b
andnot           | mask                          | KANDNQ d, a, b
andnot           | mask                          | VPANDN d, a, b
not              | int                           | NOT a
# A bool is 0 or 1.
not              | bool                          | XOR a, 1
not              | intx                          | VPXOR d, a, =0xffffffff.32
not              | mask                          | KNOTQ d, a
not              | mask                          | VPXOR d, a, =0xffffffff.32
# Two at once, by the result for each of the operands' bits (SDM volume 2, VPTERNLOG).
and_and          | intx                          | VPTERNLOGD a, b, c, 0x80
and_or           | intx                          | VPTERNLOGD a, b, c, 0xea
and_xor          | intx                          | VPTERNLOGD a, b, c, 0x6a
and_andnot       | intx                          | VPTERNLOGD a, b, c, 0x2a
and_except       | intx                          | VPTERNLOGD a, b, c, 0x40
or_and           | intx                          | VPTERNLOGD a, b, c, 0xa8
or_or            | intx                          | VPTERNLOGD a, b, c, 0xfe
or_xor           | intx                          | VPTERNLOGD a, b, c, 0x56
or_andnot        | intx                          | VPTERNLOGD a, b, c, 0x02
or_except        | intx                          | VPTERNLOGD a, b, c, 0x54
xor_and          | intx                          | VPTERNLOGD a, b, c, 0x28
xor_or           | intx                          | VPTERNLOGD a, b, c, 0xbe
xor_xor          | intx                          | VPTERNLOGD a, b, c, 0x96
xor_andnot       | intx                          | VPTERNLOGD a, b, c, 0x82
xor_except       | intx                          | VPTERNLOGD a, b, c, 0x14
andnot_and       | intx                          | VPTERNLOGD a, b, c, 0x08
andnot_or        | intx                          | VPTERNLOGD a, b, c, 0xae
andnot_xor       | intx                          | VPTERNLOGD a, b, c, 0xa6
andnot_andnot    | intx                          | VPTERNLOGD a, b, c, 0xa2
andnot_except    | intx                          | VPTERNLOGD a, b, c, 0x04

# Shifts: SHLX and its kin take the count modulo the width, those of lanes leave nothing but the sign by the width or more
shl_modulo       | int                           | SHL a, #b
shl_modulo       | int                           | SHLX d, a, b
shr_modulo       | i32 i64                       | SAR a, #b
shr_modulo       | i32 i64                       | SARX d, a, b
shr_modulo       | u32 u64 ptr                   | SHR a, #b
shr_modulo       | u32 u64 ptr                   | SHRX d, a, b
# The borrow of the comparison makes ones where the count is below the width, zeros elsewhere.
shl              | i32 u32                       | SHLX d, a, b
                 |                               | CMP b, 32
                 |                               | SBB t, t
                 |                               | AND d, t
shl              | i64 u64 ptr                   | SHLX d, a, b
                 |                               | CMP b, 64
                 |                               | SBB t, t
                 |                               | AND d, t
shr              | u32                           | SHRX d, a, b
                 |                               | CMP b, 32
                 |                               | SBB t, t
                 |                               | AND d, t
shr              | u64 ptr                       | SHRX d, a, b
                 |                               | CMP b, 64
                 |                               | SBB t, t
                 |                               | AND d, t
# The lesser of the count and the width less one.
shr              | i32                           | MOV t, 31
                 |                               | CMP b, 31
                 |                               | CMOVB t, b
                 |                               | SARX d, a, t
shr              | i64                           | MOV t:r32, 63
                 |                               | CMP b, 63
                 |                               | CMOVB t:r64, b
                 |                               | SARX d, a, t:r64
shl              | int16x int32x int64x          | VPSLL? d, a, #b
shl              | int16x int32x int64x          | VPSLLV? d, a, b
shr              | u16x u32x u64x                | VPSRL? d, a, #b
shr              | u16x u32x u64x                | VPSRLV? d, a, b
shr              | i16x i32x i64x                | VPSRA? d, a, #b
shr              | i16x i32x i64x                | VPSRAV? d, a, b
# Those in even places and those in odd ones as lanes twice as wide: d | (t & low), (d & high) | t.
shl              | int8x                         | VPAND t, b, =0x00ff.16
                 |                               | VPSLLVW t, a, t
                 |                               | VPSRLW u, b, 8
                 |                               | VPAND d, a, =0xff00.16
                 |                               | VPSLLVW d, d, u
                 |                               | VPTERNLOGD d, t, =0x00ff.16, 0xf8
shr              | i8x                           | VPAND t, b, =0x00ff.16
                 |                               | VPSLLW u, a, 8
                 |                               | VPSRAVW t, u, t
                 |                               | VPSRLW t, t, 8
                 |                               | VPSRLW u, b, 8
                 |                               | VPSRAVW d, a, u
                 |                               | VPTERNLOGD d, t, =0xff00.16, 0xec
shr              | u8x                           | VPAND t, b, =0x00ff.16
                 |                               | VPAND u, a, =0x00ff.16
                 |                               | VPSRLVW t, u, t
                 |                               | VPSRLW u, b, 8
                 |                               | VPSRLVW d, a, u
                 |                               | VPTERNLOGD d, t, =0xff00.16, 0xec
shl              | int16x                        | VPAND t, b, =0x0000ffff.32
                 |                               | VPSLLVD t, a, t
                 |                               | VPSRLD u, b, 16
                 |                               | VPAND d, a, =0xffff0000.32
                 |                               | VPSLLVD d, d, u
                 |                               | VPBLENDW d, t, d, 0xaa
shr              | i16x                          | VPAND t, b, =0x0000ffff.32
                 |                               | VPSLLD u, a, 16
                 |                               | VPSRAD u, u, 16
                 |                               | VPSRAVD t, u, t
                 |                               | VPSRLD u, b, 16
                 |                               | VPSRAVD d, a, u
                 |                               | VPBLENDW d, t, d, 0xaa
shr              | u16x                          | VPAND t, b, =0x0000ffff.32
                 |                               | VPAND u, a, =0x0000ffff.32
                 |                               | VPSRLVD t, u, t
                 |                               | VPSRLD u, b, 16
                 |                               | VPSRLVD d, a, u
                 |                               | VPBLENDW d, t, d, 0xaa
# A negative number is shifted as its complement, which brings in zeros as it does.
shr              | i64x                          | VPXOR t, t, t
                 |                               | VPCMPGTQ t, t, a
                 |                               | VPXOR d, a, t
                 |                               | VPSRLVQ d, d, b
                 |                               | VPXOR d, d, t

# Comparisons (predicates: SDM volume 2, tables 3-1 and 4-…), quiet ones: the ordered comparisons are false, ne true, of NaN
eq               | floatx                        | VCMPP$ d, a, b, 0x00
ne               | floatx                        | VCMPP$ d, a, b, 0x04
lt               | floatx                        | VCMPP$ d, a, b, 0x11
le               | floatx                        | VCMPP$ d, a, b, 0x12
gt               | floatx                        | VCMPP$ d, a, b, 0x1e
ge               | floatx                        | VCMPP$ d, a, b, 0x1d
# (Which of two is greater is asked for by VUCOMIS: ``control.py``.)
eq               | float                         | VCMPS$ t:k, a, b, 0x00
                 |                               | KMOVW d, t
eq               | float                         | VCMPS$ t, a, b, 0x00
                 |                               | VMOVD d, t
                 |                               | AND d, 1
ne               | float                         | VCMPS$ t:k, a, b, 0x04
                 |                               | KMOVW d, t
ne               | float                         | VCMPS$ t, a, b, 0x04
                 |                               | VMOVD d, t
                 |                               | AND d, 1
eq               | intx                          | VPCMP~? d, a, b, 0
ne               | intx                          | VPCMP~? d, a, b, 4
lt               | intx                          | VPCMP~? d, a, b, 1
le               | intx                          | VPCMP~? d, a, b, 2
gt               | intx                          | VPCMP~? d, a, b, 6
ge               | intx                          | VPCMP~? d, a, b, 5
eq               | intx                          | VPCMPEQ? d, a, b
gt               | i8x i16x i32x i64x            | VPCMPGT? d, a, b

# Choices: CMOVE takes b where the condition is 0, VBLENDM and VBLENDV the second source where the mask holds
count_where      | intx                          | VPSUB? d, b, a
select           | int bool                      | TEST a, a
                 |                               | CMOVE b, c
select           | f32 f64 bool                  | KMOVW t:k, a:r32
                 |                               | VBLENDMP$ d{t}, c, b
select           | f32 f64 bool                  | XOR t:r32, t:r32
                 |                               | SUB t:r64, a:r64
                 |                               | VMOVQ u:xmm, t:r64
                 |                               | VBLENDVP$ d, c, b, u
select           | int8x int16x f16x             | VPBLENDM? d{a}, c, b
select           | int32x int64x floatx          | VBLENDMP$ d{a}, c, b
select           | int8x int16x mask             | VPBLENDVB d, c, b, a
select           | int32x int64x floatx          | VBLENDVP$ d, c, b, a

# Lanes
splat            | f64x                          | VMOVDDUP d, a
splat            | f64x                          | VBROADCASTSD d, a
splat            | f32x                          | VBROADCASTSS d, a
splat            | f16x                          | VPBROADCASTW d, a
splat            | intx                          | VPBROADCAST? d, [a]
splat            | intx                          | VPBROADCAST? d, a
# AVX2 repeats only what is in a vector register.
splat            | int8x int16x int32x           | VMOVD d:xmm, a
                 |                               | VPBROADCAST? d, d:xmm
splat            | int64x                        | VMOVQ d:xmm, a
                 |                               | VPBROADCASTQ d, d:xmm
extract          | int32x                        | VMOVD d, a:xmm
extract          | int64x                        | VMOVQ d, a:xmm
extract          | floatx                        | VMOVAPS d, a:xmm
extract          | i8x                           | VMOVD d, a:xmm
                 |                               | MOVSX d, d:r8
extract          | u8x                           | VMOVD d, a:xmm
                 |                               | MOVZX d, d:r8
extract          | i16x                          | VMOVD d, a:xmm
                 |                               | MOVSX d, d:r16
extract          | u16x                          | VMOVD d, a:xmm
                 |                               | MOVZX d, d:r16
# 0 or -1 by negation.
mask_splat       | mask                          | XOR t:r32, t:r32
                 |                               | SUB t:r64, a:r64
                 |                               | KMOVQ d, t:r64
mask_splat       | mask                          | XOR t:r32, t:r32
                 |                               | SUB t:r64, a:r64
                 |                               | VMOVD d:xmm, t:r32
                 |                               | VPBROADCASTD d, d:xmm
ones_where       | int8x int16x int32x int64x    | VPMOVM2? d, a
ones_where       | intx                          | VMOVAPS d, a

# Lanes made wider and narrower
convert          | int16x int32x int64x from i8x | VPMOVSX%? d, a
convert          | int16x int32x int64x from u8x | VPMOVZX%? d, a
convert          | int32x int64x from i16x       | VPMOVSX%? d, a
convert          | int32x int64x from u16x       | VPMOVZX%? d, a
convert          | int64x from i32x              | VPMOVSX%? d, a
convert          | int64x from u32x              | VPMOVZX%? d, a
convert          | int8x from int16x int32x int64x | VPMOV%? d, a
convert          | int16x from int32x int64x     | VPMOV%? d, a
convert          | int32x from int64x            | VPMOV%? d, a
convert          | int8x from int8x              | VMOVAPS d, a
convert          | int16x from int16x            | VMOVAPS d, a
convert          | int32x from int32x            | VMOVAPS d, a
convert          | int64x from int64x            | VMOVAPS d, a
# Saturating. (Signed numbers are made none below 0 first, where they become unsigned.)
convert_saturated | i8x from i16x i32x i64x       | VPMOVS%? d, a
convert_saturated | i16x from i32x i64x           | VPMOVS%? d, a
convert_saturated | i32x from i64x                | VPMOVS%? d, a
convert_saturated | u8x from u16x u32x u64x       | VPMOVUS%? d, a
convert_saturated | u16x from u32x u64x           | VPMOVUS%? d, a
convert_saturated | u32x from u64x                | VPMOVUS%? d, a
convert_saturated | u8x from i16x i32x i64x       | VPXOR t:xmm, t:xmm, t:xmm
                 |                               | VPMAXS% t:a, a, t:a
                 |                               | VPMOVUS%? d, t:a
convert_saturated | u16x from i32x i64x           | VPXOR t:xmm, t:xmm, t:xmm
                 |                               | VPMAXS% t:a, a, t:a
                 |                               | VPMOVUS%? d, t:a
convert_saturated | u32x from i64x                | VPXOR t:xmm, t:xmm, t:xmm
                 |                               | VPMAXS% t:a, a, t:a
                 |                               | VPMOVUS%? d, t:a
mask_convert     | mask from mask                | KMOVQ d, a
mask_convert     | mask16 mask32 mask64 from mask8 | VPMOVSX%? d, a
mask_convert     | mask32 mask64 from mask16     | VPMOVSX%? d, a
mask_convert     | mask64 from mask32            | VPMOVSX%? d, a
mask_convert     | mask8 from mask8              | VMOVAPS d, a
mask_convert     | mask16 from mask16            | VMOVAPS d, a
mask_convert     | mask32 from mask32            | VMOVAPS d, a
mask_convert     | mask64 from mask64            | VMOVAPS d, a

# Tables.
lookup_bytes     | intx from intx                | VPSHUFB d, a, b
lookup_lanes     | int8x from int8x              | VPERMB d, b, a
lookup_lanes     | int16x from int16x            | VPERMW d, b, a
lookup_lanes     | f16x from int16x              | VPERMW d, b, a
lookup_lanes     | int32x from int32x            | VPERMD d, b, a
lookup_lanes     | f32x from int32x              | VPERMPS d, b, a
lookup_lanes     | int64x from int64x            | VPERMQ d, b, a
lookup_lanes     | f64x from int64x              | VPERMPD d, b, a
lookup_pair      | int8x from int8x              | VPERMT2B a, c, b
lookup_pair      | int16x from int16x            | VPERMT2W a, c, b
lookup_pair      | f16x from int16x              | VPERMT2W a, c, b
lookup_pair      | int32x from int32x            | VPERMT2D a, c, b
lookup_pair      | f32x from int32x              | VPERMT2PS a, c, b
lookup_pair      | int64x from int64x            | VPERMT2Q a, c, b
lookup_pair      | f64x from int64x              | VPERMT2PD a, c, b
# Sums of narrower lanes.
sum_abs_diff     | int64x from u8x               | VPSADBW d, a, b
dot              | int32x from i16x              | VPMADDWD d, a, b
dot_add          | int32x from i16x              | VPDPWSSD c, a, b
dot_mixed_add    | int32x from i8x u8x           | VPDPBUSD c, a, b

# Steps of reductions that are expanded elsewhere. AVX2 compares 64-bit lanes as signed ones, so of unsigned ones the top bits are flipped.
reduce_min       | i64x                          | VPCMPGTQ t, a, b
                 |                               | VBLENDVPD d, a, b, t
reduce_max       | i64x                          | VPCMPGTQ t, b, a
                 |                               | VBLENDVPD d, a, b, t
reduce_min       | u64x                          | VPXOR t, a, =0x8000000000000000
                 |                               | VPXOR u, b, =0x8000000000000000
                 |                               | VPCMPGTQ t, t, u
                 |                               | VBLENDVPD d, a, b, t
reduce_max       | u64x                          | VPXOR t, a, =0x8000000000000000
                 |                               | VPXOR u, b, =0x8000000000000000
                 |                               | VPCMPGTQ t, t, u
                 |                               | VBLENDVPD d, b, a, t

# Conversions of lanes
convert          | f32x from i32x                | VCVTDQ2PS d, a
convert          | f64x from i32x                | VCVTDQ2PD d, a
convert          | f64x from f32x                | VCVTPS2PD d, a
convert          | f32x from f64x                | VCVTPD2PS d, a
convert          | f64x from i64x                | VCVTQQ2PD d, a
convert          | f32x from i64x                | VCVTQQ2PS d, a
convert          | f32x from u32x                | VCVTUDQ2PS d, a
convert          | f64x from u32x                | VCVTUDQ2PD d, a
convert          | f32x from u64x                | VCVTUQQ2PS d, a
convert          | f64x from u64x                | VCVTUQQ2PD d, a
convert          | f32x from f32x                | VMOVAPS d, a
convert          | f64x from f64x                | VMOVAPS d, a
convert          | f16x from f32x                | VCVTPS2PHX d, a
convert          | f32x from f16x                | VCVTPH2PSX d, a
convert          | f16x from f64x                | VCVTPD2PH d, a
convert          | f64x from f16x                | VCVTPH2PD d, a
convert          | f16x from i16x                | VCVTW2PH d, a
convert          | f16x from u16x                | VCVTUW2PH d, a
convert          | f16x from i32x                | VCVTDQ2PH d, a
convert          | f16x from u32x                | VCVTUDQ2PH d, a
convert          | f16x from i64x                | VCVTQQ2PH d, a
convert          | f16x from u64x                | VCVTUQQ2PH d, a
convert          | f16x from f16x                | VMOVAPS d, a
# AVX2: the halves become parts of doubles near 2**84 and 2**52, exactly; only their sum rounds: 2**84 + 2**63 + the upper half, signed, times 2**32,
# less 2**84 + 2**63 + 2**52, plus (2**52 + the lower half).
convert          | f64x from i64x                | VPSRLQ t, a, 32
                 |                               | VPXOR t, t, =0x4530000080000000
                 |                               | VPBLENDD d, a, =0x4330000000000000, 0xaa
                 |                               | VSUBPD t, t, =0x4530000080100000
                 |                               | VADDPD d, t, d
# (SDM volume 2, VCVTPS2PH: an immediate of 0 rounds to nearest even. Of a scalar the other three lanes are anything.)
from_f16         | f32x from u16x                | VCVTPH2PS d, a
from_f16         | f32 from u16                  | VMOVD d, a
                 |                               | VCVTPH2PS d, d
to_f16           | u16x from f32x                | VCVTPS2PH d, a, 0
to_f16           | u16 from f32                  | VCVTPS2PH t:xmm, a, 0
                 |                               | VMOVD d, t:xmm
                 |                               | MOVZX d, d:r16
convert_unchecked | int16x from f16x              | VCVTTPH2~W d, a
convert_unchecked | int32x from f16x              | VCVTTPH2~DQ d, a
convert_unchecked | int64x from f16x              | VCVTTPH2~QQ d, a
convert_unchecked | int32x from f32x              | VCVTTPS2~DQ d, a
convert_unchecked | int32x from f64x              | VCVTTPD2~DQ d, a
convert_unchecked | int64x from f32x              | VCVTTPS2~QQ d, a
convert_unchecked | int64x from f64x              | VCVTTPD2~QQ d, a
# The conversion gives the most negative integer for NaN and for what is too large or too small. NaN becomes 0 (predicate 0x07: neither is NaN), and of what is
# not below the bound (0x1d: greater or equal, false of NaN) the complement, which is the greatest integer.
convert          | i32x from f32x                | VCMPPS t:k, a, a, 0x07
                 |                               | VCVTTPS2DQ d{t}z, a
                 |                               | VCMPPS t:k, a, =0x4f000000.32, 0x1d
                 |                               | VPTERNLOGD d{t}, d, d, 0x55
convert          | i32x from f32x                | VCVTTPS2DQ d, a
                 |                               | VCMPPS t, a, =0x4f000000, 0x1d
                 |                               | VPXOR d, d, t
                 |                               | VCMPPS t, a, a, 0x07
                 |                               | VPAND d, d, t
convert          | i64x from f32x                | VCMPPS t:k, a, a, 0x07
                 |                               | VCVTTPS2QQ d{t}z, a
                 |                               | VCMPPS t:k, a, =0x5f000000.32, 0x1d
                 |                               | VPTERNLOGQ d{t}, d, d, 0x55
convert          | i64x from f64x                | VCMPPD t:k, a, a, 0x07
                 |                               | VCVTTPD2QQ d{t}z, a
                 |                               | VCMPPD t:k, a, =0x43e0000000000000, 0x1d
                 |                               | VPTERNLOGQ d{t}, d, d, 0x55
# Of 16-bit lanes those that are too large lose 1 and wrap; of f16 nothing but an infinity is too large for 32 bits (predicate 0x00: equal).
convert          | i16x from f16x                | VCMPPH t:k, a, a, 0x07
                 |                               | VCVTTPH2W d{t}z, a
                 |                               | VCMPPH t:k, a, =0x7800.16, 0x1d
                 |                               | VPADDW d{t}, d, =0xffff.16
convert          | i32x from f16x                | VCMPPH t:k, a, a, 0x07
                 |                               | VCVTTPH2DQ d{t}z, a
                 |                               | VCMPPH t:k, a, =0x7c00.16, 0x00
                 |                               | VPTERNLOGD d{t}, d, d, 0x55
convert          | i64x from f16x                | VCMPPH t:k, a, a, 0x07
                 |                               | VCVTTPH2QQ d{t}z, a
                 |                               | VCMPPH t:k, a, =0x7c00.16, 0x00
                 |                               | VPTERNLOGQ d{t}, d, d, 0x55
# What is too large is made the greatest i32 before, NaN 0.
convert          | i32x from f64x                | VCMPPD t:k, a, a, 0x07
                 |                               | VMINPD u:a, a, =0x41dfffffffc00000.64
                 |                               | VCVTTPD2DQ d{t}z, u:a
convert          | i32x from f64x                | VCMPPD t:a, a, a, 0x07
                 |                               | VANDPD t:a, a, t:a
                 |                               | VMINPD t:a, t:a, =0x41dfffffffc00000.64
                 |                               | VCVTTPD2DQ d, t:a
# All ones for what is too large; NaN and negative numbers become 0 before, as VMAXPS's second source. What is written to the low part clears the rest.
convert          | u32x from f32x                | VXORPS t:xmm, t:xmm, t:xmm
                 |                               | VMAXPS t:a, a, t:a
                 |                               | VCVTTPS2UDQ d, t:a
convert          | u16x from f16x                | VXORPS t:xmm, t:xmm, t:xmm
                 |                               | VMAXPH t:a, a, t:a
                 |                               | VCVTTPH2UW d, t:a
convert          | u32x from f16x                | VXORPS t:xmm, t:xmm, t:xmm
                 |                               | VMAXPH t:a, a, t:a
                 |                               | VCVTTPH2UDQ d, t:a
convert          | u64x from f16x                | VXORPS t:xmm, t:xmm, t:xmm
                 |                               | VMAXPH t:a, a, t:a
                 |                               | VCVTTPH2UQQ d, t:a
convert          | u32x from f64x                | VXORPS t:xmm, t:xmm, t:xmm
                 |                               | VMAXPD t:a, a, t:a
                 |                               | VCVTTPD2UDQ d, t:a
convert          | u64x from f32x                | VXORPS t:xmm, t:xmm, t:xmm
                 |                               | VMAXPS t:a, a, t:a
                 |                               | VCVTTPS2UQQ d, t:a
convert          | u64x from f64x                | VXORPS t:xmm, t:xmm, t:xmm
                 |                               | VMAXPD t:a, a, t:a
                 |                               | VCVTTPD2UQQ d, t:a

# Conversions of scalars. Narrow integers are kept extended to 32 bits, so they convert as i32; u32 as the i64 it is zero-extended to. The upper part of a
# float is cleared before, so that it depends on nothing old.
convert          | float from i8 i16 i32 u8 u16 bool | VXORPS d, d, d
                 |                               | VCVTSI2S$ d, d, a
convert          | float from i64 u32            | VXORPS d, d, d
                 |                               | VCVTSI2S$ d, d, a:r64
convert          | f16 from u64                  | VXORPS d, d, d
                 |                               | VCVTUSI2SH d, d, a
convert          | f32 from f16                  | VCVTSH2SS d, a, a
convert          | f64 from f16                  | VCVTSH2SD d, a, a
convert          | f16 from f32                  | VCVTSS2SH d, a, a
convert          | f16 from f64                  | VCVTSD2SH d, a, a
convert          | f16 from f16                  | VMOVAPS d, a
convert          | f64 from f32                  | VCVTSS2SD d, a, a
convert          | f32 from f64                  | VCVTSD2SS d, a, a
convert          | f32 from f32                  | VMOVAPS d, a
convert          | f64 from f64                  | VMOVAPS d, a
convert_unchecked | i32 i64 from f16              | VCVTTSH2SI d, a
convert_unchecked | i32 i64 from f32              | VCVTTSS2SI d, a
convert_unchecked | i32 i64 from f64              | VCVTTSD2SI d, a
# As of lanes.
convert          | u32 from f32                  | VXORPS t:xmm, t:xmm, t:xmm
                 |                               | VMAXSS t:xmm, a, t:xmm
                 |                               | VCVTTSS2USI d, t:xmm
convert          | u32 from f64                  | VXORPS t:xmm, t:xmm, t:xmm
                 |                               | VMAXSD t:xmm, a, t:xmm
                 |                               | VCVTTSD2USI d, t:xmm
convert          | bool from integer             | TEST a, a
                 |                               | SETNE d:r8
                 |                               | MOVZX d, d:r8
convert          | i8 from i8                    | MOV d, a
convert          | u8 from u8 bool               | MOV d, a
convert          | i16 from i8 i16               | MOV d, a
convert          | u16 from u8 u16 bool          | MOV d, a
convert          | i8 from integer               | MOVSX d, a:r8
convert          | u8 from integer               | MOVZX d, a:r8
convert          | i16 from integer              | MOVSX d, a:r16
convert          | u16 from integer              | MOVZX d, a:r16
# (What is loaded for nothing else is extended as it is loaded.)
convert          | i64 u64 ptr from u8 u16       | MOVZX d:r32, [a]
convert          | i64 u64 ptr from i8 i16       | MOVSX d, [a]
convert          | i64 u64 ptr from i8 i16 i32   | MOVSXD d, a
convert          | i64 u64 ptr from i64 u64 ptr  | MOV d, a
convert          | integer from integer          | MOV d:r32, a:r32

# Bits
bitcast          | i8 from u8                    | MOVSX d, a:r8
bitcast          | u8 from i8                    | MOVZX d, a:r8
bitcast          | u16 f16 from f16 u16          | VMOVW d, a
bitcast          | i16 from f16                  | VMOVW d, a
                 |                               | MOVSX d, d:r16
bitcast          | f16 from i16                  | VMOVW d, a
bitcast          | i16 from u16                  | MOVSX d, a:r16
bitcast          | u16 from i16                  | MOVZX d, a:r16
"""

_GROUPS: Final[dict[str, str]] = {
    "int": "i32 i64 u32 u64 ptr",
    "integer": "i8 i16 i32 i64 u8 u16 u32 u64 ptr bool",
    "float": "f16 f32 f64",
    "floatx": "f16x f32x f64x",
    "int8x": "i8x u8x",
    "int16x": "i16x u16x",
    "int32x": "i32x u32x",
    "int64x": "i64x u64x",
    "intx": "i8x u8x i16x u16x i32x u32x i64x u64x",
    "mask": "mask8 mask16 mask32 mask64",
}


def _table() -> dict[tuple[str, str, str], list[str]]:
    """The instructions by operation, type and source type."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for op, types, text in read_rows(_TABLE):
        to, _, source = types.partition(" from ")
        for of in words(source, _GROUPS) or [""]:
            for type_ in words(to, _GROUPS):
                found.setdefault((op, type_, of), []).append(text)
    _add_masked(found)
    return found


#: The letters of an operation's operands, where the mask, and what lanes keep where it does not hold, are the first two; where the mask alone is.
_BEHIND_TWO: Final = str.maketrans({"a": "c", "b": "e", "d": "b"})
_BEHIND_ONE: Final = str.maketrans({"a": "b", "b": "c"})


def _add_masked(found: dict[tuple[str, str, str], list[str]]) -> None:
    """Rows for operations under masks (``ops.WHERE``): those of the operations that take one instruction, under a writemask."""
    for op, masked in ops.WHERE.items():
        for kind in words("intx floatx", _GROUPS):
            for text in found.get((op.name, kind, ""), []):
                mnemonic, _, operands = text.partition(" ")
                if "\n" in text or "=" in text or not operands.startswith("d,"):
                    continue
                if op.result == "M":
                    made = f"{mnemonic} d{{a}},{operands[2:].translate(_BEHIND_ONE)}"
                elif mnemonic in SIZELESS:
                    if kind[1:] not in ("32x", "64x"):
                        continue
                    made = f"{mnemonic}? b{{a}},{operands[2:].translate(_BEHIND_TWO)}"
                else:
                    made = f"{mnemonic} b{{a}},{operands[2:].translate(_BEHIND_TWO)}"
                found.setdefault((masked.name, kind, ""), []).append(made)
    for op in ops.FUSED:
        for kind in words("floatx", _GROUPS):
            found[ops.WHERE[op].name, kind, ""] = [f"{_ADDING[op]}231P$ b{{a}}, c, e"]


#: The operations under masks whose factors, some types' at least, may be exchanged for one of them to be in memory, though those of the operations' instructions
#: may not; and their letters then.
_EITHER: Final = {ops.WHERE[op]: op for op in (ops.MIN, ops.MAX)}
_EXCHANGED: Final = str.maketrans("ce", "ec")
_ADDING: Final[dict[Op, str]] = {ops.FMA: "VFMADD", ops.FMS: "VFMSUB", ops.FNMA: "VFNMADD", ops.FNMS: "VFNMSUB"}
_ROWS: Final = _table()


def _kind(type_: Type) -> str:
    """A type as the rows name it."""
    if type_ is VOID:
        return ""
    if type_.is_mask:
        return f"mask{type_.bits}"
    return type_.element.name + "x" if type_.lanes else type_.name


def _texts(op: Op, type_: Type, source: Type) -> list[str]:
    name = op.name
    if op is ops.CONVERT_UNCHECKED and not (type_.is_integer and source.is_float):
        name = "convert"
    return _ROWS.get((name, _kind(type_), _kind(source)), [])


def has_rows(op: Op, type_: Type) -> bool:
    """Whether the table has instructions for an operation on a type."""
    return (op.name, _kind(type_), "") in _ROWS


def commutes(op: Op, type_: Type, fastmath: bool) -> bool:
    """Whether the first two operands of an operation may be exchanged."""
    if op is ops.MIN or op is ops.MAX:
        # Floats: but for NaN and signed zeros. (Scalar integers: no operand is better read from memory than the other.)
        return fastmath if type_.is_float else type_.lanes > 0
    return op.commutes


def step_of(target: Any, reduction: Op, op: Op, type_: Type) -> Sequence | None:
    """The instructions for one step of a reduction by an operation: the operation's, or the reduction's own; None without."""
    for text in _texts(op, type_, VOID) + _texts(reduction, type_, VOID):
        found = read(target, op, type_, VOID, text)
        if found is not None and not found.constants and found.loaded < 0:
            return found
    return None


def choose(target: Any, instr: Instr, fastmath: bool) -> Rule | None:
    """The rule for an instruction by the table; None where no row serves."""
    op, type_, source = instr.op, instr.type, instr.source
    exchanged = commutes(op, type_, fastmath)
    loadable = 0
    texts = _texts(op, type_, source)
    if instr.mem is not None and op in _EITHER and commutes(_EITHER[op], type_, fastmath):
        texts = [*texts, *(text.translate(_EXCHANGED) for text in texts)]
    for text in texts:
        found = read(target, op, type_, source, text, exchanged)
        if found is None:
            continue
        role = folded(instr, found.count)
        if found.loaded >= 0 and role != found.loaded:
            loadable |= loads(instr, found.types, found.bits)
            continue
        if 0 <= role != found.loaded and not found.bits[role]:
            continue
        if found.constants:
            args = instr.args if role < 0 else [*instr.args[:role], 0, *instr.args[role:]]
            if any(found.constants >> n & 1 and args[n] >= 0 for n in range(found.count)):
                continue
        made = rule(instr, found, exchanged)
        made.loads |= loadable
        return made
    return None
