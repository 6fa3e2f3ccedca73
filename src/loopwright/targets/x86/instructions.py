"""The x86-64 instructions: one row each, in the notation of the Intel SDM (volume 2, section 3.1.1).

A row has six columns::

    mnemonic | operands | encoding | places:roles | tuple | CPU features

*Operands* and *encoding* are spelled as in the manual (``xmm1{k1}{z}, xmm2, xmm3/m128/m32bcst`` and
``EVEX.128.66.0F38.W0 A8 /r``). *Places* has one letter an operand, as the manual's "Op/En" column has them:

====  ====================================================
 R    ModRM.reg
 M    ModRM.r/m, a register or memory
 V    VEX.vvvv or EVEX.vvvv
 O    the low three bits of the opcode
 L    bits 7:4 of an immediate byte (``/is4``)
 I    an immediate
 D    a displacement relative to the next instruction
 ``-``   implied by the opcode
====  ====================================================

*Roles* has one letter an operand: ``r`` read, ``w`` written, ``x`` read and written. *Tuple* is the EVEX tuple type that
scales an 8-bit displacement (tables 2-34 and 2-35). *CPU features* are named as in Linux's /proc/cpuinfo; a row without any
belongs to every x86-64 processor.

A row with ``VL`` in its encoding stands for one row per vector length: 128 and 256 bits for VEX; 128, 256 and 512 for EVEX
(``256/512`` in that place: those two alone). In it ``vmm`` is a register of that length and ``mV`` memory of that size;
``hmm``/``mH``, ``qmm``/``mQ`` and ``omm``/``mO`` are half, a quarter and an eighth of it, held in an xmm register when they are
shorter than one. ``avx/avx2`` means avx for 128 bits and avx2 for 256; the EVEX rows for 128 and 256 need avx512vl too.
``rows_named`` gives the expanded rows. To add an instruction, add a row here (docs/adding-an-instruction.md).

The table is text that is read only when an instruction is first asked for, because importing the package has to be quick.
"""

from __future__ import annotations

from typing import Final

TABLE: Final = """
# Integer moves
MOV              | r32, r/m32                                   | 8B /r                            | RM:wr     |
MOV              | r64, r/m64                                   | REX.W + 8B /r                    | RM:wr     |
MOV              | r/m32, r32                                   | 89 /r                            | MR:wr     |
MOV              | r/m64, r64                                   | REX.W + 89 /r                    | MR:wr     |
MOV              | r32, imm32                                   | B8+rd id                         | OI:wr     |
MOV              | r/m64, imm32                                 | REX.W + C7 /0 id                 | MI:wr     |
MOV              | r/m32, imm32                                 | C7 /0 id                         | MI:wr     |
MOVABS           | r64, imm64                                   | REX.W + B8+rd io                 | OI:wr     |
MOV              | r8, r/m8                                     | 8A /r                            | RM:wr     |
MOV              | r/m8, r8                                     | 88 /r                            | MR:wr     |
MOV              | r/m8, imm8                                   | C6 /0 ib                         | MI:wr     |
MOV              | r16, r/m16                                   | 66 8B /r                         | RM:wr     |
MOV              | r/m16, r16                                   | 66 89 /r                         | MR:wr     |
MOV              | r/m16, imm16                                 | 66 C7 /0 iw                      | MI:wr     |
MOVZX            | r32, r/m8                                    | 0F B6 /r                         | RM:wr     |
MOVZX            | r64, r/m8                                    | REX.W + 0F B6 /r                 | RM:wr     |
MOVZX            | r32, r/m16                                   | 0F B7 /r                         | RM:wr     |
MOVZX            | r64, r/m16                                   | REX.W + 0F B7 /r                 | RM:wr     |
MOVSX            | r32, r/m8                                    | 0F BE /r                         | RM:wr     |
MOVSX            | r64, r/m8                                    | REX.W + 0F BE /r                 | RM:wr     |
MOVSX            | r32, r/m16                                   | 0F BF /r                         | RM:wr     |
MOVSX            | r64, r/m16                                   | REX.W + 0F BF /r                 | RM:wr     |
MOVSXD           | r64, r/m32                                   | REX.W + 63 /r                    | RM:wr     |
LEA              | r32, m                                       | 8D /r                            | RM:wr     |
LEA              | r64, m                                       | REX.W + 8D /r                    | RM:wr     |
XCHG             | r/m32, r32                                   | 87 /r                            | MR:xx     |
XCHG             | r/m64, r64                                   | REX.W + 87 /r                    | MR:xx     |
BSWAP            | r32                                          | 0F C8+rd                         | O:x       |
BSWAP            | r64                                          | REX.W + 0F C8+rd                 | O:x       |
PUSH             | r64                                          | 50+rd                            | O:r       |
PUSH             | imm8                                         | 6A ib                            | I:r       |
PUSH             | imm32                                        | 68 id                            | I:r       |
PUSH             | m64                                          | FF /6                            | M:r       |
POP              | r64                                          | 58+rd                            | O:w       |
POP              | m64                                          | 8F /0                            | M:w       |
PUSHFQ           |                                              | 9C                               |           |
POPFQ            |                                              | 9D                               |           |
# Integer arithmetic and logic
ADD              | r32, r/m32                                   | 03 /r                            | RM:xr     |
ADD              | r/m32, r32                                   | 01 /r                            | MR:xr     |
ADD              | r/m32, imm32                                 | 81 /0 id                         | MI:xr     |
ADD              | r/m32, imm8                                  | 83 /0 ib                         | MI:xr     |
ADD              | r64, r/m64                                   | REX.W + 03 /r                    | RM:xr     |
ADD              | r/m64, r64                                   | REX.W + 01 /r                    | MR:xr     |
ADD              | r/m64, imm32                                 | REX.W + 81 /0 id                 | MI:xr     |
ADD              | r/m64, imm8                                  | REX.W + 83 /0 ib                 | MI:xr     |
ADD              | r8, r/m8                                     | 02 /r                            | RM:xr     |
ADD              | r/m8, r8                                     | 00 /r                            | MR:xr     |
ADD              | r/m8, imm8                                   | 80 /0 ib                         | MI:xr     |
OR               | r32, r/m32                                   | 0B /r                            | RM:xr     |
OR               | r/m32, r32                                   | 09 /r                            | MR:xr     |
OR               | r/m32, imm32                                 | 81 /1 id                         | MI:xr     |
OR               | r/m32, imm8                                  | 83 /1 ib                         | MI:xr     |
OR               | r64, r/m64                                   | REX.W + 0B /r                    | RM:xr     |
OR               | r/m64, r64                                   | REX.W + 09 /r                    | MR:xr     |
OR               | r/m64, imm32                                 | REX.W + 81 /1 id                 | MI:xr     |
OR               | r/m64, imm8                                  | REX.W + 83 /1 ib                 | MI:xr     |
OR               | r8, r/m8                                     | 0A /r                            | RM:xr     |
OR               | r/m8, r8                                     | 08 /r                            | MR:xr     |
OR               | r/m8, imm8                                   | 80 /1 ib                         | MI:xr     |
ADC              | r32, r/m32                                   | 13 /r                            | RM:xr     |
ADC              | r/m32, r32                                   | 11 /r                            | MR:xr     |
ADC              | r/m32, imm32                                 | 81 /2 id                         | MI:xr     |
ADC              | r/m32, imm8                                  | 83 /2 ib                         | MI:xr     |
ADC              | r64, r/m64                                   | REX.W + 13 /r                    | RM:xr     |
ADC              | r/m64, r64                                   | REX.W + 11 /r                    | MR:xr     |
ADC              | r/m64, imm32                                 | REX.W + 81 /2 id                 | MI:xr     |
ADC              | r/m64, imm8                                  | REX.W + 83 /2 ib                 | MI:xr     |
ADC              | r8, r/m8                                     | 12 /r                            | RM:xr     |
ADC              | r/m8, r8                                     | 10 /r                            | MR:xr     |
ADC              | r/m8, imm8                                   | 80 /2 ib                         | MI:xr     |
SBB              | r32, r/m32                                   | 1B /r                            | RM:xr     |
SBB              | r/m32, r32                                   | 19 /r                            | MR:xr     |
SBB              | r/m32, imm32                                 | 81 /3 id                         | MI:xr     |
SBB              | r/m32, imm8                                  | 83 /3 ib                         | MI:xr     |
SBB              | r64, r/m64                                   | REX.W + 1B /r                    | RM:xr     |
SBB              | r/m64, r64                                   | REX.W + 19 /r                    | MR:xr     |
SBB              | r/m64, imm32                                 | REX.W + 81 /3 id                 | MI:xr     |
SBB              | r/m64, imm8                                  | REX.W + 83 /3 ib                 | MI:xr     |
SBB              | r8, r/m8                                     | 1A /r                            | RM:xr     |
SBB              | r/m8, r8                                     | 18 /r                            | MR:xr     |
SBB              | r/m8, imm8                                   | 80 /3 ib                         | MI:xr     |
AND              | r32, r/m32                                   | 23 /r                            | RM:xr     |
AND              | r/m32, r32                                   | 21 /r                            | MR:xr     |
AND              | r/m32, imm32                                 | 81 /4 id                         | MI:xr     |
AND              | r/m32, imm8                                  | 83 /4 ib                         | MI:xr     |
AND              | r64, r/m64                                   | REX.W + 23 /r                    | RM:xr     |
AND              | r/m64, r64                                   | REX.W + 21 /r                    | MR:xr     |
AND              | r/m64, imm32                                 | REX.W + 81 /4 id                 | MI:xr     |
AND              | r/m64, imm8                                  | REX.W + 83 /4 ib                 | MI:xr     |
AND              | r8, r/m8                                     | 22 /r                            | RM:xr     |
AND              | r/m8, r8                                     | 20 /r                            | MR:xr     |
AND              | r/m8, imm8                                   | 80 /4 ib                         | MI:xr     |
SUB              | r32, r/m32                                   | 2B /r                            | RM:xr     |
SUB              | r/m32, r32                                   | 29 /r                            | MR:xr     |
SUB              | r/m32, imm32                                 | 81 /5 id                         | MI:xr     |
SUB              | r/m32, imm8                                  | 83 /5 ib                         | MI:xr     |
SUB              | r64, r/m64                                   | REX.W + 2B /r                    | RM:xr     |
SUB              | r/m64, r64                                   | REX.W + 29 /r                    | MR:xr     |
SUB              | r/m64, imm32                                 | REX.W + 81 /5 id                 | MI:xr     |
SUB              | r/m64, imm8                                  | REX.W + 83 /5 ib                 | MI:xr     |
SUB              | r8, r/m8                                     | 2A /r                            | RM:xr     |
SUB              | r/m8, r8                                     | 28 /r                            | MR:xr     |
SUB              | r/m8, imm8                                   | 80 /5 ib                         | MI:xr     |
XOR              | r32, r/m32                                   | 33 /r                            | RM:xr     |
XOR              | r/m32, r32                                   | 31 /r                            | MR:xr     |
XOR              | r/m32, imm32                                 | 81 /6 id                         | MI:xr     |
XOR              | r/m32, imm8                                  | 83 /6 ib                         | MI:xr     |
XOR              | r64, r/m64                                   | REX.W + 33 /r                    | RM:xr     |
XOR              | r/m64, r64                                   | REX.W + 31 /r                    | MR:xr     |
XOR              | r/m64, imm32                                 | REX.W + 81 /6 id                 | MI:xr     |
XOR              | r/m64, imm8                                  | REX.W + 83 /6 ib                 | MI:xr     |
XOR              | r8, r/m8                                     | 32 /r                            | RM:xr     |
XOR              | r/m8, r8                                     | 30 /r                            | MR:xr     |
XOR              | r/m8, imm8                                   | 80 /6 ib                         | MI:xr     |
CMP              | r32, r/m32                                   | 3B /r                            | RM:rr     |
CMP              | r/m32, r32                                   | 39 /r                            | MR:rr     |
CMP              | r/m32, imm32                                 | 81 /7 id                         | MI:rr     |
CMP              | r/m32, imm8                                  | 83 /7 ib                         | MI:rr     |
CMP              | r64, r/m64                                   | REX.W + 3B /r                    | RM:rr     |
CMP              | r/m64, r64                                   | REX.W + 39 /r                    | MR:rr     |
CMP              | r/m64, imm32                                 | REX.W + 81 /7 id                 | MI:rr     |
CMP              | r/m64, imm8                                  | REX.W + 83 /7 ib                 | MI:rr     |
CMP              | r8, r/m8                                     | 3A /r                            | RM:rr     |
CMP              | r/m8, r8                                     | 38 /r                            | MR:rr     |
CMP              | r/m8, imm8                                   | 80 /7 ib                         | MI:rr     |
TEST             | r/m32, r32                                   | 85 /r                            | MR:rr     |
TEST             | r/m32, imm32                                 | F7 /0 id                         | MI:rr     |
TEST             | r/m64, r64                                   | REX.W + 85 /r                    | MR:rr     |
TEST             | r/m64, imm32                                 | REX.W + F7 /0 id                 | MI:rr     |
TEST             | r/m8, r8                                     | 84 /r                            | MR:rr     |
TEST             | r/m8, imm8                                   | F6 /0 ib                         | MI:rr     |
IMUL             | r32, r/m32                                   | 0F AF /r                         | RM:xr     |
IMUL             | r32, r/m32, imm32                            | 69 /r id                         | RMI:wrr   |
IMUL             | r32, r/m32, imm8                             | 6B /r ib                         | RMI:wrr   |
IMUL             | r64, r/m64                                   | REX.W + 0F AF /r                 | RM:xr     |
IMUL             | r64, r/m64, imm32                            | REX.W + 69 /r id                 | RMI:wrr   |
IMUL             | r64, r/m64, imm8                             | REX.W + 6B /r ib                 | RMI:wrr   |
NOT              | r/m32                                        | F7 /2                            | M:x       |
NOT              | r/m64                                        | REX.W + F7 /2                    | M:x       |
NEG              | r/m32                                        | F7 /3                            | M:x       |
NEG              | r/m64                                        | REX.W + F7 /3                    | M:x       |
INC              | r/m32                                        | FF /0                            | M:x       |
INC              | r/m64                                        | REX.W + FF /0                    | M:x       |
DEC              | r/m32                                        | FF /1                            | M:x       |
DEC              | r/m64                                        | REX.W + FF /1                    | M:x       |
MUL              | r/m32                                        | F7 /4                            | M:r       |
MUL              | r/m64                                        | REX.W + F7 /4                    | M:r       |
IMUL             | r/m32                                        | F7 /5                            | M:r       |
IMUL             | r/m64                                        | REX.W + F7 /5                    | M:r       |
DIV              | r/m32                                        | F7 /6                            | M:r       |
DIV              | r/m64                                        | REX.W + F7 /6                    | M:r       |
IDIV             | r/m32                                        | F7 /7                            | M:r       |
IDIV             | r/m64                                        | REX.W + F7 /7                    | M:r       |
CDQE             |                                              | REX.W + 98                       |           |
CDQ              |                                              | 99                               |           |
CQO              |                                              | REX.W + 99                       |           |
ROL              | r/m32, imm8                                  | C1 /0 ib                         | MI:xr     |
ROL              | r/m32, CL                                    | D3 /0                            | M-:xr     |
ROL              | r/m32, 1                                     | D1 /0                            | M-:x-     |
ROL              | r/m64, imm8                                  | REX.W + C1 /0 ib                 | MI:xr     |
ROL              | r/m64, CL                                    | REX.W + D3 /0                    | M-:xr     |
ROL              | r/m64, 1                                     | REX.W + D1 /0                    | M-:x-     |
ROR              | r/m32, imm8                                  | C1 /1 ib                         | MI:xr     |
ROR              | r/m32, CL                                    | D3 /1                            | M-:xr     |
ROR              | r/m32, 1                                     | D1 /1                            | M-:x-     |
ROR              | r/m64, imm8                                  | REX.W + C1 /1 ib                 | MI:xr     |
ROR              | r/m64, CL                                    | REX.W + D3 /1                    | M-:xr     |
ROR              | r/m64, 1                                     | REX.W + D1 /1                    | M-:x-     |
SHL              | r/m32, imm8                                  | C1 /4 ib                         | MI:xr     |
SHL              | r/m32, CL                                    | D3 /4                            | M-:xr     |
SHL              | r/m32, 1                                     | D1 /4                            | M-:x-     |
SHL              | r/m64, imm8                                  | REX.W + C1 /4 ib                 | MI:xr     |
SHL              | r/m64, CL                                    | REX.W + D3 /4                    | M-:xr     |
SHL              | r/m64, 1                                     | REX.W + D1 /4                    | M-:x-     |
SHR              | r/m32, imm8                                  | C1 /5 ib                         | MI:xr     |
SHR              | r/m32, CL                                    | D3 /5                            | M-:xr     |
SHR              | r/m32, 1                                     | D1 /5                            | M-:x-     |
SHR              | r/m64, imm8                                  | REX.W + C1 /5 ib                 | MI:xr     |
SHR              | r/m64, CL                                    | REX.W + D3 /5                    | M-:xr     |
SHR              | r/m64, 1                                     | REX.W + D1 /5                    | M-:x-     |
SAR              | r/m32, imm8                                  | C1 /7 ib                         | MI:xr     |
SAR              | r/m32, CL                                    | D3 /7                            | M-:xr     |
SAR              | r/m32, 1                                     | D1 /7                            | M-:x-     |
SAR              | r/m64, imm8                                  | REX.W + C1 /7 ib                 | MI:xr     |
SAR              | r/m64, CL                                    | REX.W + D3 /7                    | M-:xr     |
SAR              | r/m64, 1                                     | REX.W + D1 /7                    | M-:x-     |
SHLD             | r/m32, r32, imm8                             | 0F A4 /r ib                      | MRI:xrr   |
SHLD             | r/m32, r32, CL                               | 0F A5 /r                         | MR-:xrr   |
SHLD             | r/m64, r64, imm8                             | REX.W + 0F A4 /r ib              | MRI:xrr   |
SHLD             | r/m64, r64, CL                               | REX.W + 0F A5 /r                 | MR-:xrr   |
SHRD             | r/m32, r32, imm8                             | 0F AC /r ib                      | MRI:xrr   |
SHRD             | r/m32, r32, CL                               | 0F AD /r                         | MR-:xrr   |
SHRD             | r/m64, r64, imm8                             | REX.W + 0F AC /r ib              | MRI:xrr   |
SHRD             | r/m64, r64, CL                               | REX.W + 0F AD /r                 | MR-:xrr   |
BT               | r/m32, r32                                   | 0F A3 /r                         | MR:rr     |
BT               | r/m32, imm8                                  | 0F BA /4 ib                      | MI:rr     |
BT               | r/m64, r64                                   | REX.W + 0F A3 /r                 | MR:rr     |
BT               | r/m64, imm8                                  | REX.W + 0F BA /4 ib              | MI:rr     |
BTS              | r/m32, r32                                   | 0F AB /r                         | MR:xr     |
BTS              | r/m32, imm8                                  | 0F BA /5 ib                      | MI:xr     |
BTS              | r/m64, r64                                   | REX.W + 0F AB /r                 | MR:xr     |
BTS              | r/m64, imm8                                  | REX.W + 0F BA /5 ib              | MI:xr     |
BTR              | r/m32, r32                                   | 0F B3 /r                         | MR:xr     |
BTR              | r/m32, imm8                                  | 0F BA /6 ib                      | MI:xr     |
BTR              | r/m64, r64                                   | REX.W + 0F B3 /r                 | MR:xr     |
BTR              | r/m64, imm8                                  | REX.W + 0F BA /6 ib              | MI:xr     |
BTC              | r/m32, r32                                   | 0F BB /r                         | MR:xr     |
BTC              | r/m32, imm8                                  | 0F BA /7 ib                      | MI:xr     |
BTC              | r/m64, r64                                   | REX.W + 0F BB /r                 | MR:xr     |
BTC              | r/m64, imm8                                  | REX.W + 0F BA /7 ib              | MI:xr     |
# Bit counting and the BMI extensions
BSF              | r32, r/m32                                   | 0F BC /r                         | RM:wr     |
BSF              | r64, r/m64                                   | REX.W + 0F BC /r                 | RM:wr     |
BSR              | r32, r/m32                                   | 0F BD /r                         | RM:wr     |
BSR              | r64, r/m64                                   | REX.W + 0F BD /r                 | RM:wr     |
POPCNT           | r32, r/m32                                   | F3 0F B8 /r                      | RM:wr     |            | popcnt
POPCNT           | r64, r/m64                                   | F3 REX.W + 0F B8 /r              | RM:wr     |            | popcnt
TZCNT            | r32, r/m32                                   | F3 0F BC /r                      | RM:wr     |            | bmi1
TZCNT            | r64, r/m64                                   | F3 REX.W + 0F BC /r              | RM:wr     |            | bmi1
LZCNT            | r32, r/m32                                   | F3 0F BD /r                      | RM:wr     |            | abm
LZCNT            | r64, r/m64                                   | F3 REX.W + 0F BD /r              | RM:wr     |            | abm
CRC32            | r32, r/m8                                    | F2 0F 38 F0 /r                   | RM:xr     |            | sse4_2
CRC32            | r32, r/m16                                   | 66 F2 0F 38 F1 /r                | RM:xr     |            | sse4_2
CRC32            | r32, r/m32                                   | F2 0F 38 F1 /r                   | RM:xr     |            | sse4_2
CRC32            | r64, r/m64                                   | F2 REX.W + 0F 38 F1 /r           | RM:xr     |            | sse4_2
ANDN             | r32a, r32b, r/m32                            | VEX.LZ.0F38.W0 F2 /r             | RVM:wrr   |            | bmi1
BEXTR            | r32a, r/m32, r32b                            | VEX.LZ.0F38.W0 F7 /r             | RMV:wrr   |            | bmi1
BLSR             | r32, r/m32                                   | VEX.LZ.0F38.W0 F3 /1             | VM:wr     |            | bmi1
BLSMSK           | r32, r/m32                                   | VEX.LZ.0F38.W0 F3 /2             | VM:wr     |            | bmi1
BLSI             | r32, r/m32                                   | VEX.LZ.0F38.W0 F3 /3             | VM:wr     |            | bmi1
SHLX             | r32a, r/m32, r32b                            | VEX.LZ.66.0F38.W0 F7 /r          | RMV:wrr   |            | bmi2
SARX             | r32a, r/m32, r32b                            | VEX.LZ.F3.0F38.W0 F7 /r          | RMV:wrr   |            | bmi2
SHRX             | r32a, r/m32, r32b                            | VEX.LZ.F2.0F38.W0 F7 /r          | RMV:wrr   |            | bmi2
BZHI             | r32a, r/m32, r32b                            | VEX.LZ.0F38.W0 F5 /r             | RMV:wrr   |            | bmi2
PDEP             | r32a, r32b, r/m32                            | VEX.LZ.F2.0F38.W0 F5 /r          | RVM:wrr   |            | bmi2
PEXT             | r32a, r32b, r/m32                            | VEX.LZ.F3.0F38.W0 F5 /r          | RVM:wrr   |            | bmi2
MULX             | r32a, r32b, r/m32                            | VEX.LZ.F2.0F38.W0 F6 /r          | RVM:wwr   |            | bmi2
RORX             | r32, r/m32, imm8                             | VEX.LZ.F2.0F3A.W0 F0 /r ib       | RMI:wrr   |            | bmi2
ANDN             | r64a, r64b, r/m64                            | VEX.LZ.0F38.W1 F2 /r             | RVM:wrr   |            | bmi1
BEXTR            | r64a, r/m64, r64b                            | VEX.LZ.0F38.W1 F7 /r             | RMV:wrr   |            | bmi1
BLSR             | r64, r/m64                                   | VEX.LZ.0F38.W1 F3 /1             | VM:wr     |            | bmi1
BLSMSK           | r64, r/m64                                   | VEX.LZ.0F38.W1 F3 /2             | VM:wr     |            | bmi1
BLSI             | r64, r/m64                                   | VEX.LZ.0F38.W1 F3 /3             | VM:wr     |            | bmi1
SHLX             | r64a, r/m64, r64b                            | VEX.LZ.66.0F38.W1 F7 /r          | RMV:wrr   |            | bmi2
SARX             | r64a, r/m64, r64b                            | VEX.LZ.F3.0F38.W1 F7 /r          | RMV:wrr   |            | bmi2
SHRX             | r64a, r/m64, r64b                            | VEX.LZ.F2.0F38.W1 F7 /r          | RMV:wrr   |            | bmi2
BZHI             | r64a, r/m64, r64b                            | VEX.LZ.0F38.W1 F5 /r             | RMV:wrr   |            | bmi2
PDEP             | r64a, r64b, r/m64                            | VEX.LZ.F2.0F38.W1 F5 /r          | RVM:wrr   |            | bmi2
PEXT             | r64a, r64b, r/m64                            | VEX.LZ.F3.0F38.W1 F5 /r          | RVM:wrr   |            | bmi2
MULX             | r64a, r64b, r/m64                            | VEX.LZ.F2.0F38.W1 F6 /r          | RVM:wwr   |            | bmi2
RORX             | r64, r/m64, imm8                             | VEX.LZ.F2.0F3A.W1 F0 /r ib       | RMI:wrr   |            | bmi2
# Conditions and control flow
SETO             | r/m8                                         | 0F 90 /0                         | M:w       |
SETNO            | r/m8                                         | 0F 91 /0                         | M:w       |
SETB             | r/m8                                         | 0F 92 /0                         | M:w       |
SETAE            | r/m8                                         | 0F 93 /0                         | M:w       |
SETE             | r/m8                                         | 0F 94 /0                         | M:w       |
SETNE            | r/m8                                         | 0F 95 /0                         | M:w       |
SETBE            | r/m8                                         | 0F 96 /0                         | M:w       |
SETA             | r/m8                                         | 0F 97 /0                         | M:w       |
SETS             | r/m8                                         | 0F 98 /0                         | M:w       |
SETNS            | r/m8                                         | 0F 99 /0                         | M:w       |
SETP             | r/m8                                         | 0F 9A /0                         | M:w       |
SETNP            | r/m8                                         | 0F 9B /0                         | M:w       |
SETL             | r/m8                                         | 0F 9C /0                         | M:w       |
SETGE            | r/m8                                         | 0F 9D /0                         | M:w       |
SETLE            | r/m8                                         | 0F 9E /0                         | M:w       |
SETG             | r/m8                                         | 0F 9F /0                         | M:w       |
CMOVO            | r32, r/m32                                   | 0F 40 /r                         | RM:xr     |
CMOVO            | r64, r/m64                                   | REX.W + 0F 40 /r                 | RM:xr     |
CMOVNO           | r32, r/m32                                   | 0F 41 /r                         | RM:xr     |
CMOVNO           | r64, r/m64                                   | REX.W + 0F 41 /r                 | RM:xr     |
CMOVB            | r32, r/m32                                   | 0F 42 /r                         | RM:xr     |
CMOVB            | r64, r/m64                                   | REX.W + 0F 42 /r                 | RM:xr     |
CMOVAE           | r32, r/m32                                   | 0F 43 /r                         | RM:xr     |
CMOVAE           | r64, r/m64                                   | REX.W + 0F 43 /r                 | RM:xr     |
CMOVE            | r32, r/m32                                   | 0F 44 /r                         | RM:xr     |
CMOVE            | r64, r/m64                                   | REX.W + 0F 44 /r                 | RM:xr     |
CMOVNE           | r32, r/m32                                   | 0F 45 /r                         | RM:xr     |
CMOVNE           | r64, r/m64                                   | REX.W + 0F 45 /r                 | RM:xr     |
CMOVBE           | r32, r/m32                                   | 0F 46 /r                         | RM:xr     |
CMOVBE           | r64, r/m64                                   | REX.W + 0F 46 /r                 | RM:xr     |
CMOVA            | r32, r/m32                                   | 0F 47 /r                         | RM:xr     |
CMOVA            | r64, r/m64                                   | REX.W + 0F 47 /r                 | RM:xr     |
CMOVS            | r32, r/m32                                   | 0F 48 /r                         | RM:xr     |
CMOVS            | r64, r/m64                                   | REX.W + 0F 48 /r                 | RM:xr     |
CMOVNS           | r32, r/m32                                   | 0F 49 /r                         | RM:xr     |
CMOVNS           | r64, r/m64                                   | REX.W + 0F 49 /r                 | RM:xr     |
CMOVP            | r32, r/m32                                   | 0F 4A /r                         | RM:xr     |
CMOVP            | r64, r/m64                                   | REX.W + 0F 4A /r                 | RM:xr     |
CMOVNP           | r32, r/m32                                   | 0F 4B /r                         | RM:xr     |
CMOVNP           | r64, r/m64                                   | REX.W + 0F 4B /r                 | RM:xr     |
CMOVL            | r32, r/m32                                   | 0F 4C /r                         | RM:xr     |
CMOVL            | r64, r/m64                                   | REX.W + 0F 4C /r                 | RM:xr     |
CMOVGE           | r32, r/m32                                   | 0F 4D /r                         | RM:xr     |
CMOVGE           | r64, r/m64                                   | REX.W + 0F 4D /r                 | RM:xr     |
CMOVLE           | r32, r/m32                                   | 0F 4E /r                         | RM:xr     |
CMOVLE           | r64, r/m64                                   | REX.W + 0F 4E /r                 | RM:xr     |
CMOVG            | r32, r/m32                                   | 0F 4F /r                         | RM:xr     |
CMOVG            | r64, r/m64                                   | REX.W + 0F 4F /r                 | RM:xr     |
JO               | rel8                                         | 70 cb                            | D:r       |
JO               | rel32                                        | 0F 80 cd                         | D:r       |
JNO              | rel8                                         | 71 cb                            | D:r       |
JNO              | rel32                                        | 0F 81 cd                         | D:r       |
JB               | rel8                                         | 72 cb                            | D:r       |
JB               | rel32                                        | 0F 82 cd                         | D:r       |
JAE              | rel8                                         | 73 cb                            | D:r       |
JAE              | rel32                                        | 0F 83 cd                         | D:r       |
JE               | rel8                                         | 74 cb                            | D:r       |
JE               | rel32                                        | 0F 84 cd                         | D:r       |
JNE              | rel8                                         | 75 cb                            | D:r       |
JNE              | rel32                                        | 0F 85 cd                         | D:r       |
JBE              | rel8                                         | 76 cb                            | D:r       |
JBE              | rel32                                        | 0F 86 cd                         | D:r       |
JA               | rel8                                         | 77 cb                            | D:r       |
JA               | rel32                                        | 0F 87 cd                         | D:r       |
JS               | rel8                                         | 78 cb                            | D:r       |
JS               | rel32                                        | 0F 88 cd                         | D:r       |
JNS              | rel8                                         | 79 cb                            | D:r       |
JNS              | rel32                                        | 0F 89 cd                         | D:r       |
JP               | rel8                                         | 7A cb                            | D:r       |
JP               | rel32                                        | 0F 8A cd                         | D:r       |
JNP              | rel8                                         | 7B cb                            | D:r       |
JNP              | rel32                                        | 0F 8B cd                         | D:r       |
JL               | rel8                                         | 7C cb                            | D:r       |
JL               | rel32                                        | 0F 8C cd                         | D:r       |
JGE              | rel8                                         | 7D cb                            | D:r       |
JGE              | rel32                                        | 0F 8D cd                         | D:r       |
JLE              | rel8                                         | 7E cb                            | D:r       |
JLE              | rel32                                        | 0F 8E cd                         | D:r       |
JG               | rel8                                         | 7F cb                            | D:r       |
JG               | rel32                                        | 0F 8F cd                         | D:r       |
JMP              | rel8                                         | EB cb                            | D:r       |
JMP              | rel32                                        | E9 cd                            | D:r       |
JMP              | r/m64                                        | FF /4                            | M:r       |
CALL             | rel32                                        | E8 cd                            | D:r       |
CALL             | r/m64                                        | FF /2                            | M:r       |
RET              |                                              | C3                               |           |
UD2              |                                              | 0F 0B                            |           |
INT3             |                                              | CC                               |           |
NOP              |                                              | 90                               |           |
NOP              | r/m32                                        | 0F 1F /0                         | M:r       |
PAUSE            |                                              | F3 90                            |           |
ENDBR64          |                                              | F3 0F 1E FA                      |           |
SYSCALL          |                                              | 0F 05                            |           |
CPUID            |                                              | 0F A2                            |           |
XGETBV           |                                              | 0F 01 D0                         |           |
RDTSC            |                                              | 0F 31                            |           |
RDTSCP           |                                              | 0F 01 F9                         |           |            | rdtscp
LFENCE           |                                              | 0F AE E8                         |           |
MFENCE           |                                              | 0F AE F0                         |           |
SFENCE           |                                              | 0F AE F8                         |           |
PREFETCHNTA      | m8                                           | 0F 18 /0                         | M:r       |
PREFETCHT0       | m8                                           | 0F 18 /1                         | M:r       |
PREFETCHT1       | m8                                           | 0F 18 /2                         | M:r       |
PREFETCHT2       | m8                                           | 0F 18 /3                         | M:r       |
PREFETCHW        | m8                                           | 0F 0D /1                         | M:r       |            | 3dnowprefetch
VZEROUPPER       |                                              | VEX.128.0F.WIG 77                |           |            | avx
VZEROALL         |                                              | VEX.256.0F.WIG 77                |           |            | avx
VLDMXCSR         | m32                                          | VEX.LZ.0F.WIG AE /2              | M:r       |            | avx
VSTMXCSR         | m32                                          | VEX.LZ.0F.WIG AE /3              | M:w       |            | avx
# Floating-point moves
VMOVUPS          | vmm1, vmm2/mV                                | VEX.VL.0F.WIG 10 /r              | RM:wr     |            | avx
VMOVUPS          | vmm2/mV, vmm1                                | VEX.VL.0F.WIG 11 /r              | MR:wr     |            | avx
VMOVUPS          | vmm1{k1}{z}, vmm2/mV                         | EVEX.VL.0F.W0 10 /r              | RM:wr     | fullmem    | avx512f
VMOVUPS          | vmm2/mV{k1}{z}, vmm1                         | EVEX.VL.0F.W0 11 /r              | MR:wr     | fullmem    | avx512f
VMOVAPS          | vmm1, vmm2/mV                                | VEX.VL.0F.WIG 28 /r              | RM:wr     |            | avx
VMOVAPS          | vmm2/mV, vmm1                                | VEX.VL.0F.WIG 29 /r              | MR:wr     |            | avx
VMOVAPS          | vmm1{k1}{z}, vmm2/mV                         | EVEX.VL.0F.W0 28 /r              | RM:wr     | fullmem    | avx512f
VMOVAPS          | vmm2/mV{k1}{z}, vmm1                         | EVEX.VL.0F.W0 29 /r              | MR:wr     | fullmem    | avx512f
VMOVUPD          | vmm1, vmm2/mV                                | VEX.VL.66.0F.WIG 10 /r           | RM:wr     |            | avx
VMOVUPD          | vmm2/mV, vmm1                                | VEX.VL.66.0F.WIG 11 /r           | MR:wr     |            | avx
VMOVUPD          | vmm1{k1}{z}, vmm2/mV                         | EVEX.VL.66.0F.W1 10 /r           | RM:wr     | fullmem    | avx512f
VMOVUPD          | vmm2/mV{k1}{z}, vmm1                         | EVEX.VL.66.0F.W1 11 /r           | MR:wr     | fullmem    | avx512f
VMOVAPD          | vmm1, vmm2/mV                                | VEX.VL.66.0F.WIG 28 /r           | RM:wr     |            | avx
VMOVAPD          | vmm2/mV, vmm1                                | VEX.VL.66.0F.WIG 29 /r           | MR:wr     |            | avx
VMOVAPD          | vmm1{k1}{z}, vmm2/mV                         | EVEX.VL.66.0F.W1 28 /r           | RM:wr     | fullmem    | avx512f
VMOVAPD          | vmm2/mV{k1}{z}, vmm1                         | EVEX.VL.66.0F.W1 29 /r           | MR:wr     | fullmem    | avx512f
VMOVSS           | xmm1, m32                                    | VEX.LIG.F3.0F.WIG 10 /r          | RM:wr     |            | avx
VMOVSS           | m32, xmm1                                    | VEX.LIG.F3.0F.WIG 11 /r          | MR:wr     |            | avx
VMOVSS           | xmm1, xmm2, xmm3                             | VEX.LIG.F3.0F.WIG 10 /r          | RVM:wrr   |            | avx
VMOVSS           | xmm1{k1}{z}, m32                             | EVEX.LLIG.F3.0F.W0 10 /r         | RM:wr     | t1s        | avx512f
VMOVSS           | m32{k1}, xmm1                                | EVEX.LLIG.F3.0F.W0 11 /r         | MR:wr     | t1s        | avx512f
VMOVSS           | xmm1{k1}{z}, xmm2, xmm3                      | EVEX.LLIG.F3.0F.W0 10 /r         | RVM:wrr   |            | avx512f
VMOVSD           | xmm1, m64                                    | VEX.LIG.F2.0F.WIG 10 /r          | RM:wr     |            | avx
VMOVSD           | m64, xmm1                                    | VEX.LIG.F2.0F.WIG 11 /r          | MR:wr     |            | avx
VMOVSD           | xmm1, xmm2, xmm3                             | VEX.LIG.F2.0F.WIG 10 /r          | RVM:wrr   |            | avx
VMOVSD           | xmm1{k1}{z}, m64                             | EVEX.LLIG.F2.0F.W1 10 /r         | RM:wr     | t1s        | avx512f
VMOVSD           | m64{k1}, xmm1                                | EVEX.LLIG.F2.0F.W1 11 /r         | MR:wr     | t1s        | avx512f
VMOVSD           | xmm1{k1}{z}, xmm2, xmm3                      | EVEX.LLIG.F2.0F.W1 10 /r         | RVM:wrr   |            | avx512f
VMOVSLDUP        | vmm1, vmm2/mV                                | VEX.VL.F3.0F.WIG 12 /r           | RM:wr     |            | avx
VMOVSLDUP        | vmm1{k1}{z}, vmm2/mV                         | EVEX.VL.F3.0F.W0 12 /r           | RM:wr     | fullmem    | avx512f
VMOVSHDUP        | vmm1, vmm2/mV                                | VEX.VL.F3.0F.WIG 16 /r           | RM:wr     |            | avx
VMOVSHDUP        | vmm1{k1}{z}, vmm2/mV                         | EVEX.VL.F3.0F.W0 16 /r           | RM:wr     | fullmem    | avx512f
VMOVDDUP         | xmm1, xmm2/m64                               | VEX.128.F2.0F.WIG 12 /r          | RM:wr     |            | avx
VMOVDDUP         | ymm1, ymm2/m256                              | VEX.256.F2.0F.WIG 12 /r          | RM:wr     |            | avx
VMOVDDUP         | xmm1{k1}{z}, xmm2/m64                        | EVEX.128.F2.0F.W1 12 /r          | RM:wr     | movddup    | avx512f avx512vl
VMOVDDUP         | vmm1{k1}{z}, vmm2/mV                         | EVEX.256/512.F2.0F.W1 12 /r      | RM:wr     | movddup    | avx512f
VMOVHLPS         | xmm1, xmm2, xmm3                             | VEX.128.0F.WIG 12 /r             | RVM:wrr   |            | avx
VMOVHLPS         | xmm1, xmm2, xmm3                             | EVEX.128.0F.W0 12 /r             | RVM:wrr   |            | avx512f
VMOVLHPS         | xmm1, xmm2, xmm3                             | VEX.128.0F.WIG 16 /r             | RVM:wrr   |            | avx
VMOVLHPS         | xmm1, xmm2, xmm3                             | EVEX.128.0F.W0 16 /r             | RVM:wrr   |            | avx512f
VMOVLPS          | xmm2, xmm1, m64                              | VEX.128.0F.WIG 12 /r             | RVM:wrr   |            | avx
VMOVLPS          | m64, xmm1                                    | VEX.128.0F.WIG 13 /r             | MR:wr     |            | avx
VMOVLPS          | xmm2, xmm1, m64                              | EVEX.128.0F.W0 12 /r             | RVM:wrr   | t2         | avx512f
VMOVLPS          | m64, xmm1                                    | EVEX.128.0F.W0 13 /r             | MR:wr     | t2         | avx512f
VMOVHPS          | xmm2, xmm1, m64                              | VEX.128.0F.WIG 16 /r             | RVM:wrr   |            | avx
VMOVHPS          | m64, xmm1                                    | VEX.128.0F.WIG 17 /r             | MR:wr     |            | avx
VMOVHPS          | xmm2, xmm1, m64                              | EVEX.128.0F.W0 16 /r             | RVM:wrr   | t2         | avx512f
VMOVHPS          | m64, xmm1                                    | EVEX.128.0F.W0 17 /r             | MR:wr     | t2         | avx512f
VMOVLPD          | xmm2, xmm1, m64                              | VEX.128.66.0F.WIG 12 /r          | RVM:wrr   |            | avx
VMOVLPD          | m64, xmm1                                    | VEX.128.66.0F.WIG 13 /r          | MR:wr     |            | avx
VMOVLPD          | xmm2, xmm1, m64                              | EVEX.128.66.0F.W1 12 /r          | RVM:wrr   | t1s        | avx512f
VMOVLPD          | m64, xmm1                                    | EVEX.128.66.0F.W1 13 /r          | MR:wr     | t1s        | avx512f
VMOVHPD          | xmm2, xmm1, m64                              | VEX.128.66.0F.WIG 16 /r          | RVM:wrr   |            | avx
VMOVHPD          | m64, xmm1                                    | VEX.128.66.0F.WIG 17 /r          | MR:wr     |            | avx
VMOVHPD          | xmm2, xmm1, m64                              | EVEX.128.66.0F.W1 16 /r          | RVM:wrr   | t1s        | avx512f
VMOVHPD          | m64, xmm1                                    | EVEX.128.66.0F.W1 17 /r          | MR:wr     | t1s        | avx512f
VMOVNTPS         | mV, vmm1                                     | VEX.VL.0F.WIG 2B /r              | MR:wr     |            | avx
VMOVNTPS         | mV, vmm1                                     | EVEX.VL.0F.W0 2B /r              | MR:wr     | fullmem    | avx512f
VMOVMSKPS        | r32, vmm2                                    | VEX.VL.0F.WIG 50 /r              | RM:wr     |            | avx
VMOVNTPD         | mV, vmm1                                     | VEX.VL.66.0F.WIG 2B /r           | MR:wr     |            | avx
VMOVNTPD         | mV, vmm1                                     | EVEX.VL.66.0F.W1 2B /r           | MR:wr     | fullmem    | avx512f
VMOVMSKPD        | r32, vmm2                                    | VEX.VL.66.0F.WIG 50 /r           | RM:wr     |            | avx
# Floating-point arithmetic
VADDPS           | vmm1, vmm2, vmm3/mV                          | VEX.VL.0F.WIG 58 /r              | RVM:wrr   |            | avx
VADDPS           | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.0F.W0 58 /r              | RVM:wrr   | full       | avx512f
VADDPD           | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 58 /r           | RVM:wrr   |            | avx
VADDPD           | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F.W1 58 /r           | RVM:wrr   | full       | avx512f
VADDSS           | xmm1, xmm2, xmm3/m32                         | VEX.LIG.F3.0F.WIG 58 /r          | RVM:wrr   |            | avx
VADDSS           | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.F3.0F.W0 58 /r         | RVM:wrr   | t1s        | avx512f
VADDSD           | xmm1, xmm2, xmm3/m64                         | VEX.LIG.F2.0F.WIG 58 /r          | RVM:wrr   |            | avx
VADDSD           | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.F2.0F.W1 58 /r         | RVM:wrr   | t1s        | avx512f
VMULPS           | vmm1, vmm2, vmm3/mV                          | VEX.VL.0F.WIG 59 /r              | RVM:wrr   |            | avx
VMULPS           | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.0F.W0 59 /r              | RVM:wrr   | full       | avx512f
VMULPD           | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 59 /r           | RVM:wrr   |            | avx
VMULPD           | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F.W1 59 /r           | RVM:wrr   | full       | avx512f
VMULSS           | xmm1, xmm2, xmm3/m32                         | VEX.LIG.F3.0F.WIG 59 /r          | RVM:wrr   |            | avx
VMULSS           | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.F3.0F.W0 59 /r         | RVM:wrr   | t1s        | avx512f
VMULSD           | xmm1, xmm2, xmm3/m64                         | VEX.LIG.F2.0F.WIG 59 /r          | RVM:wrr   |            | avx
VMULSD           | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.F2.0F.W1 59 /r         | RVM:wrr   | t1s        | avx512f
VSUBPS           | vmm1, vmm2, vmm3/mV                          | VEX.VL.0F.WIG 5C /r              | RVM:wrr   |            | avx
VSUBPS           | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.0F.W0 5C /r              | RVM:wrr   | full       | avx512f
VSUBPD           | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 5C /r           | RVM:wrr   |            | avx
VSUBPD           | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F.W1 5C /r           | RVM:wrr   | full       | avx512f
VSUBSS           | xmm1, xmm2, xmm3/m32                         | VEX.LIG.F3.0F.WIG 5C /r          | RVM:wrr   |            | avx
VSUBSS           | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.F3.0F.W0 5C /r         | RVM:wrr   | t1s        | avx512f
VSUBSD           | xmm1, xmm2, xmm3/m64                         | VEX.LIG.F2.0F.WIG 5C /r          | RVM:wrr   |            | avx
VSUBSD           | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.F2.0F.W1 5C /r         | RVM:wrr   | t1s        | avx512f
VMINPS           | vmm1, vmm2, vmm3/mV                          | VEX.VL.0F.WIG 5D /r              | RVM:wrr   |            | avx
VMINPS           | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.0F.W0 5D /r              | RVM:wrr   | full       | avx512f
VMINPD           | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 5D /r           | RVM:wrr   |            | avx
VMINPD           | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F.W1 5D /r           | RVM:wrr   | full       | avx512f
VMINSS           | xmm1, xmm2, xmm3/m32                         | VEX.LIG.F3.0F.WIG 5D /r          | RVM:wrr   |            | avx
VMINSS           | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.F3.0F.W0 5D /r         | RVM:wrr   | t1s        | avx512f
VMINSD           | xmm1, xmm2, xmm3/m64                         | VEX.LIG.F2.0F.WIG 5D /r          | RVM:wrr   |            | avx
VMINSD           | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.F2.0F.W1 5D /r         | RVM:wrr   | t1s        | avx512f
VDIVPS           | vmm1, vmm2, vmm3/mV                          | VEX.VL.0F.WIG 5E /r              | RVM:wrr   |            | avx
VDIVPS           | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.0F.W0 5E /r              | RVM:wrr   | full       | avx512f
VDIVPD           | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 5E /r           | RVM:wrr   |            | avx
VDIVPD           | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F.W1 5E /r           | RVM:wrr   | full       | avx512f
VDIVSS           | xmm1, xmm2, xmm3/m32                         | VEX.LIG.F3.0F.WIG 5E /r          | RVM:wrr   |            | avx
VDIVSS           | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.F3.0F.W0 5E /r         | RVM:wrr   | t1s        | avx512f
VDIVSD           | xmm1, xmm2, xmm3/m64                         | VEX.LIG.F2.0F.WIG 5E /r          | RVM:wrr   |            | avx
VDIVSD           | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.F2.0F.W1 5E /r         | RVM:wrr   | t1s        | avx512f
VMAXPS           | vmm1, vmm2, vmm3/mV                          | VEX.VL.0F.WIG 5F /r              | RVM:wrr   |            | avx
VMAXPS           | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.0F.W0 5F /r              | RVM:wrr   | full       | avx512f
VMAXPD           | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 5F /r           | RVM:wrr   |            | avx
VMAXPD           | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F.W1 5F /r           | RVM:wrr   | full       | avx512f
VMAXSS           | xmm1, xmm2, xmm3/m32                         | VEX.LIG.F3.0F.WIG 5F /r          | RVM:wrr   |            | avx
VMAXSS           | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.F3.0F.W0 5F /r         | RVM:wrr   | t1s        | avx512f
VMAXSD           | xmm1, xmm2, xmm3/m64                         | VEX.LIG.F2.0F.WIG 5F /r          | RVM:wrr   |            | avx
VMAXSD           | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.F2.0F.W1 5F /r         | RVM:wrr   | t1s        | avx512f
VSQRTPS          | vmm1, vmm2/mV                                | VEX.VL.0F.WIG 51 /r              | RM:wr     |            | avx
VSQRTPS          | vmm1{k1}{z}, vmm2/mV/m32bcst                 | EVEX.VL.0F.W0 51 /r              | RM:wr     | full       | avx512f
VSQRTPD          | vmm1, vmm2/mV                                | VEX.VL.66.0F.WIG 51 /r           | RM:wr     |            | avx
VSQRTPD          | vmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.66.0F.W1 51 /r           | RM:wr     | full       | avx512f
VSQRTSS          | xmm1, xmm2, xmm3/m32                         | VEX.LIG.F3.0F.WIG 51 /r          | RVM:wrr   |            | avx
VSQRTSS          | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.F3.0F.W0 51 /r         | RVM:wrr   | t1s        | avx512f
VSQRTSD          | xmm1, xmm2, xmm3/m64                         | VEX.LIG.F2.0F.WIG 51 /r          | RVM:wrr   |            | avx
VSQRTSD          | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.F2.0F.W1 51 /r         | RVM:wrr   | t1s        | avx512f
VRSQRTPS         | vmm1, vmm2/mV                                | VEX.VL.0F.WIG 52 /r              | RM:wr     |            | avx
VRSQRTSS         | xmm1, xmm2, xmm3/m32                         | VEX.LIG.F3.0F.WIG 52 /r          | RVM:wrr   |            | avx
VRCPPS           | vmm1, vmm2/mV                                | VEX.VL.0F.WIG 53 /r              | RM:wr     |            | avx
VRCPSS           | xmm1, xmm2, xmm3/m32                         | VEX.LIG.F3.0F.WIG 53 /r          | RVM:wrr   |            | avx
VHADDPS          | vmm1, vmm2, vmm3/mV                          | VEX.VL.F2.0F.WIG 7C /r           | RVM:wrr   |            | avx
VHADDPD          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 7C /r           | RVM:wrr   |            | avx
VHSUBPS          | vmm1, vmm2, vmm3/mV                          | VEX.VL.F2.0F.WIG 7D /r           | RVM:wrr   |            | avx
VHSUBPD          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 7D /r           | RVM:wrr   |            | avx
VADDSUBPS        | vmm1, vmm2, vmm3/mV                          | VEX.VL.F2.0F.WIG D0 /r           | RVM:wrr   |            | avx
VADDSUBPD        | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG D0 /r           | RVM:wrr   |            | avx
VANDPS           | vmm1, vmm2, vmm3/mV                          | VEX.VL.0F.WIG 54 /r              | RVM:wrr   |            | avx
VANDPS           | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.0F.W0 54 /r              | RVM:wrr   | full       | avx512dq
VANDPD           | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 54 /r           | RVM:wrr   |            | avx
VANDPD           | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F.W1 54 /r           | RVM:wrr   | full       | avx512dq
VANDNPS          | vmm1, vmm2, vmm3/mV                          | VEX.VL.0F.WIG 55 /r              | RVM:wrr   |            | avx
VANDNPS          | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.0F.W0 55 /r              | RVM:wrr   | full       | avx512dq
VANDNPD          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 55 /r           | RVM:wrr   |            | avx
VANDNPD          | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F.W1 55 /r           | RVM:wrr   | full       | avx512dq
VORPS            | vmm1, vmm2, vmm3/mV                          | VEX.VL.0F.WIG 56 /r              | RVM:wrr   |            | avx
VORPS            | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.0F.W0 56 /r              | RVM:wrr   | full       | avx512dq
VORPD            | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 56 /r           | RVM:wrr   |            | avx
VORPD            | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F.W1 56 /r           | RVM:wrr   | full       | avx512dq
VXORPS           | vmm1, vmm2, vmm3/mV                          | VEX.VL.0F.WIG 57 /r              | RVM:wrr   |            | avx
VXORPS           | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.0F.W0 57 /r              | RVM:wrr   | full       | avx512dq
VXORPD           | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 57 /r           | RVM:wrr   |            | avx
VXORPD           | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F.W1 57 /r           | RVM:wrr   | full       | avx512dq
VROUNDPS         | vmm1, vmm2/mV, imm8                          | VEX.VL.66.0F3A.WIG 08 /r ib      | RMI:wrr   |            | avx
VRNDSCALEPS      | vmm1{k1}{z}, vmm2/mV/m32bcst, imm8           | EVEX.VL.66.0F3A.W0 08 /r ib      | RMI:wrr   | full       | avx512f
VROUNDPD         | vmm1, vmm2/mV, imm8                          | VEX.VL.66.0F3A.WIG 09 /r ib      | RMI:wrr   |            | avx
VRNDSCALEPD      | vmm1{k1}{z}, vmm2/mV/m64bcst, imm8           | EVEX.VL.66.0F3A.W1 09 /r ib      | RMI:wrr   | full       | avx512f
VROUNDSS         | xmm1, xmm2, xmm3/m32, imm8                   | VEX.LIG.66.0F3A.WIG 0A /r ib     | RVMI:wrrr |            | avx
VRNDSCALESS      | xmm1{k1}{z}, xmm2, xmm3/m32, imm8            | EVEX.LLIG.66.0F3A.W0 0A /r ib    | RVMI:wrrr | t1s        | avx512f
VROUNDSD         | xmm1, xmm2, xmm3/m64, imm8                   | VEX.LIG.66.0F3A.WIG 0B /r ib     | RVMI:wrrr |            | avx
VRNDSCALESD      | xmm1{k1}{z}, xmm2, xmm3/m64, imm8            | EVEX.LLIG.66.0F3A.W1 0B /r ib    | RVMI:wrrr | t1s        | avx512f
VSCALEFPS        | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 2C /r         | RVM:wrr   | full       | avx512f
VSCALEFPD        | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 2C /r         | RVM:wrr   | full       | avx512f
VSCALEFSS        | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.66.0F38.W0 2D /r       | RVM:wrr   | t1s        | avx512f
VSCALEFSD        | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.66.0F38.W1 2D /r       | RVM:wrr   | t1s        | avx512f
VGETEXPPS        | vmm1{k1}{z}, vmm2/mV/m32bcst                 | EVEX.VL.66.0F38.W0 42 /r         | RM:wr     | full       | avx512f
VGETEXPPD        | vmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.66.0F38.W1 42 /r         | RM:wr     | full       | avx512f
VGETEXPSS        | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.66.0F38.W0 43 /r       | RVM:wrr   | t1s        | avx512f
VGETEXPSD        | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.66.0F38.W1 43 /r       | RVM:wrr   | t1s        | avx512f
VRCP14PS         | vmm1{k1}{z}, vmm2/mV/m32bcst                 | EVEX.VL.66.0F38.W0 4C /r         | RM:wr     | full       | avx512f
VRCP14PD         | vmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.66.0F38.W1 4C /r         | RM:wr     | full       | avx512f
VRCP14SS         | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.66.0F38.W0 4D /r       | RVM:wrr   | t1s        | avx512f
VRCP14SD         | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.66.0F38.W1 4D /r       | RVM:wrr   | t1s        | avx512f
VRSQRT14PS       | vmm1{k1}{z}, vmm2/mV/m32bcst                 | EVEX.VL.66.0F38.W0 4E /r         | RM:wr     | full       | avx512f
VRSQRT14PD       | vmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.66.0F38.W1 4E /r         | RM:wr     | full       | avx512f
VRSQRT14SS       | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.66.0F38.W0 4F /r       | RVM:wrr   | t1s        | avx512f
VRSQRT14SD       | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.66.0F38.W1 4F /r       | RVM:wrr   | t1s        | avx512f
VGETMANTPS       | vmm1{k1}{z}, vmm2/mV/m32bcst, imm8           | EVEX.VL.66.0F3A.W0 26 /r ib      | RMI:wrr   | full       | avx512f
VGETMANTPD       | vmm1{k1}{z}, vmm2/mV/m64bcst, imm8           | EVEX.VL.66.0F3A.W1 26 /r ib      | RMI:wrr   | full       | avx512f
VGETMANTSS       | xmm1{k1}{z}, xmm2, xmm3/m32, imm8            | EVEX.LLIG.66.0F3A.W0 27 /r ib    | RVMI:wrrr | t1s        | avx512f
VGETMANTSD       | xmm1{k1}{z}, xmm2, xmm3/m64, imm8            | EVEX.LLIG.66.0F3A.W1 27 /r ib    | RVMI:wrrr | t1s        | avx512f
VREDUCEPS        | vmm1{k1}{z}, vmm2/mV/m32bcst, imm8           | EVEX.VL.66.0F3A.W0 56 /r ib      | RMI:wrr   | full       | avx512dq
VREDUCEPD        | vmm1{k1}{z}, vmm2/mV/m64bcst, imm8           | EVEX.VL.66.0F3A.W1 56 /r ib      | RMI:wrr   | full       | avx512dq
VREDUCESS        | xmm1{k1}{z}, xmm2, xmm3/m32, imm8            | EVEX.LLIG.66.0F3A.W0 57 /r ib    | RVMI:wrrr | t1s        | avx512dq
VREDUCESD        | xmm1{k1}{z}, xmm2, xmm3/m64, imm8            | EVEX.LLIG.66.0F3A.W1 57 /r ib    | RVMI:wrrr | t1s        | avx512dq
VFIXUPIMMPS      | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst, imm8     | EVEX.VL.66.0F3A.W0 54 /r ib      | RVMI:xrrr | full       | avx512f
VFIXUPIMMPD      | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst, imm8     | EVEX.VL.66.0F3A.W1 54 /r ib      | RVMI:xrrr | full       | avx512f
VFIXUPIMMSS      | xmm1{k1}{z}, xmm2, xmm3/m32, imm8            | EVEX.LLIG.66.0F3A.W0 55 /r ib    | RVMI:xrrr | t1s        | avx512f
VFIXUPIMMSD      | xmm1{k1}{z}, xmm2, xmm3/m64, imm8            | EVEX.LLIG.66.0F3A.W1 55 /r ib    | RVMI:xrrr | t1s        | avx512f
VRANGEPS         | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst, imm8     | EVEX.VL.66.0F3A.W0 50 /r ib      | RVMI:wrrr | full       | avx512dq
VRANGEPD         | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst, imm8     | EVEX.VL.66.0F3A.W1 50 /r ib      | RVMI:wrrr | full       | avx512dq
VRANGESS         | xmm1{k1}{z}, xmm2, xmm3/m32, imm8            | EVEX.LLIG.66.0F3A.W0 51 /r ib    | RVMI:wrrr | t1s        | avx512dq
VRANGESD         | xmm1{k1}{z}, xmm2, xmm3/m64, imm8            | EVEX.LLIG.66.0F3A.W1 51 /r ib    | RVMI:wrrr | t1s        | avx512dq
# Fused multiply-add: the digits name the operands multiplied (first two) and added (last)
VFMADD132PS      | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 98 /r          | RVM:xrr   |            | fma
VFMADD132PS      | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 98 /r         | RVM:xrr   | full       | avx512f
VFMADD132PD      | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W1 98 /r          | RVM:xrr   |            | fma
VFMADD132PD      | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 98 /r         | RVM:xrr   | full       | avx512f
VFMADD132SS      | xmm1, xmm2, xmm3/m32                         | VEX.LIG.66.0F38.W0 99 /r         | RVM:xrr   |            | fma
VFMADD132SS      | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.66.0F38.W0 99 /r       | RVM:xrr   | t1s        | avx512f
VFMADD132SD      | xmm1, xmm2, xmm3/m64                         | VEX.LIG.66.0F38.W1 99 /r         | RVM:xrr   |            | fma
VFMADD132SD      | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.66.0F38.W1 99 /r       | RVM:xrr   | t1s        | avx512f
VFMADD213PS      | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 A8 /r          | RVM:xrr   |            | fma
VFMADD213PS      | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 A8 /r         | RVM:xrr   | full       | avx512f
VFMADD213PD      | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W1 A8 /r          | RVM:xrr   |            | fma
VFMADD213PD      | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 A8 /r         | RVM:xrr   | full       | avx512f
VFMADD213SS      | xmm1, xmm2, xmm3/m32                         | VEX.LIG.66.0F38.W0 A9 /r         | RVM:xrr   |            | fma
VFMADD213SS      | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.66.0F38.W0 A9 /r       | RVM:xrr   | t1s        | avx512f
VFMADD213SD      | xmm1, xmm2, xmm3/m64                         | VEX.LIG.66.0F38.W1 A9 /r         | RVM:xrr   |            | fma
VFMADD213SD      | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.66.0F38.W1 A9 /r       | RVM:xrr   | t1s        | avx512f
VFMADD231PS      | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 B8 /r          | RVM:xrr   |            | fma
VFMADD231PS      | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 B8 /r         | RVM:xrr   | full       | avx512f
VFMADD231PD      | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W1 B8 /r          | RVM:xrr   |            | fma
VFMADD231PD      | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 B8 /r         | RVM:xrr   | full       | avx512f
VFMADD231SS      | xmm1, xmm2, xmm3/m32                         | VEX.LIG.66.0F38.W0 B9 /r         | RVM:xrr   |            | fma
VFMADD231SS      | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.66.0F38.W0 B9 /r       | RVM:xrr   | t1s        | avx512f
VFMADD231SD      | xmm1, xmm2, xmm3/m64                         | VEX.LIG.66.0F38.W1 B9 /r         | RVM:xrr   |            | fma
VFMADD231SD      | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.66.0F38.W1 B9 /r       | RVM:xrr   | t1s        | avx512f
VFMSUB132PS      | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 9A /r          | RVM:xrr   |            | fma
VFMSUB132PS      | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 9A /r         | RVM:xrr   | full       | avx512f
VFMSUB132PD      | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W1 9A /r          | RVM:xrr   |            | fma
VFMSUB132PD      | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 9A /r         | RVM:xrr   | full       | avx512f
VFMSUB132SS      | xmm1, xmm2, xmm3/m32                         | VEX.LIG.66.0F38.W0 9B /r         | RVM:xrr   |            | fma
VFMSUB132SS      | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.66.0F38.W0 9B /r       | RVM:xrr   | t1s        | avx512f
VFMSUB132SD      | xmm1, xmm2, xmm3/m64                         | VEX.LIG.66.0F38.W1 9B /r         | RVM:xrr   |            | fma
VFMSUB132SD      | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.66.0F38.W1 9B /r       | RVM:xrr   | t1s        | avx512f
VFMSUB213PS      | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 AA /r          | RVM:xrr   |            | fma
VFMSUB213PS      | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 AA /r         | RVM:xrr   | full       | avx512f
VFMSUB213PD      | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W1 AA /r          | RVM:xrr   |            | fma
VFMSUB213PD      | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 AA /r         | RVM:xrr   | full       | avx512f
VFMSUB213SS      | xmm1, xmm2, xmm3/m32                         | VEX.LIG.66.0F38.W0 AB /r         | RVM:xrr   |            | fma
VFMSUB213SS      | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.66.0F38.W0 AB /r       | RVM:xrr   | t1s        | avx512f
VFMSUB213SD      | xmm1, xmm2, xmm3/m64                         | VEX.LIG.66.0F38.W1 AB /r         | RVM:xrr   |            | fma
VFMSUB213SD      | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.66.0F38.W1 AB /r       | RVM:xrr   | t1s        | avx512f
VFMSUB231PS      | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 BA /r          | RVM:xrr   |            | fma
VFMSUB231PS      | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 BA /r         | RVM:xrr   | full       | avx512f
VFMSUB231PD      | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W1 BA /r          | RVM:xrr   |            | fma
VFMSUB231PD      | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 BA /r         | RVM:xrr   | full       | avx512f
VFMSUB231SS      | xmm1, xmm2, xmm3/m32                         | VEX.LIG.66.0F38.W0 BB /r         | RVM:xrr   |            | fma
VFMSUB231SS      | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.66.0F38.W0 BB /r       | RVM:xrr   | t1s        | avx512f
VFMSUB231SD      | xmm1, xmm2, xmm3/m64                         | VEX.LIG.66.0F38.W1 BB /r         | RVM:xrr   |            | fma
VFMSUB231SD      | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.66.0F38.W1 BB /r       | RVM:xrr   | t1s        | avx512f
VFNMADD132PS     | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 9C /r          | RVM:xrr   |            | fma
VFNMADD132PS     | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 9C /r         | RVM:xrr   | full       | avx512f
VFNMADD132PD     | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W1 9C /r          | RVM:xrr   |            | fma
VFNMADD132PD     | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 9C /r         | RVM:xrr   | full       | avx512f
VFNMADD132SS     | xmm1, xmm2, xmm3/m32                         | VEX.LIG.66.0F38.W0 9D /r         | RVM:xrr   |            | fma
VFNMADD132SS     | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.66.0F38.W0 9D /r       | RVM:xrr   | t1s        | avx512f
VFNMADD132SD     | xmm1, xmm2, xmm3/m64                         | VEX.LIG.66.0F38.W1 9D /r         | RVM:xrr   |            | fma
VFNMADD132SD     | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.66.0F38.W1 9D /r       | RVM:xrr   | t1s        | avx512f
VFNMADD213PS     | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 AC /r          | RVM:xrr   |            | fma
VFNMADD213PS     | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 AC /r         | RVM:xrr   | full       | avx512f
VFNMADD213PD     | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W1 AC /r          | RVM:xrr   |            | fma
VFNMADD213PD     | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 AC /r         | RVM:xrr   | full       | avx512f
VFNMADD213SS     | xmm1, xmm2, xmm3/m32                         | VEX.LIG.66.0F38.W0 AD /r         | RVM:xrr   |            | fma
VFNMADD213SS     | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.66.0F38.W0 AD /r       | RVM:xrr   | t1s        | avx512f
VFNMADD213SD     | xmm1, xmm2, xmm3/m64                         | VEX.LIG.66.0F38.W1 AD /r         | RVM:xrr   |            | fma
VFNMADD213SD     | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.66.0F38.W1 AD /r       | RVM:xrr   | t1s        | avx512f
VFNMADD231PS     | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 BC /r          | RVM:xrr   |            | fma
VFNMADD231PS     | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 BC /r         | RVM:xrr   | full       | avx512f
VFNMADD231PD     | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W1 BC /r          | RVM:xrr   |            | fma
VFNMADD231PD     | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 BC /r         | RVM:xrr   | full       | avx512f
VFNMADD231SS     | xmm1, xmm2, xmm3/m32                         | VEX.LIG.66.0F38.W0 BD /r         | RVM:xrr   |            | fma
VFNMADD231SS     | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.66.0F38.W0 BD /r       | RVM:xrr   | t1s        | avx512f
VFNMADD231SD     | xmm1, xmm2, xmm3/m64                         | VEX.LIG.66.0F38.W1 BD /r         | RVM:xrr   |            | fma
VFNMADD231SD     | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.66.0F38.W1 BD /r       | RVM:xrr   | t1s        | avx512f
VFNMSUB132PS     | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 9E /r          | RVM:xrr   |            | fma
VFNMSUB132PS     | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 9E /r         | RVM:xrr   | full       | avx512f
VFNMSUB132PD     | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W1 9E /r          | RVM:xrr   |            | fma
VFNMSUB132PD     | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 9E /r         | RVM:xrr   | full       | avx512f
VFNMSUB132SS     | xmm1, xmm2, xmm3/m32                         | VEX.LIG.66.0F38.W0 9F /r         | RVM:xrr   |            | fma
VFNMSUB132SS     | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.66.0F38.W0 9F /r       | RVM:xrr   | t1s        | avx512f
VFNMSUB132SD     | xmm1, xmm2, xmm3/m64                         | VEX.LIG.66.0F38.W1 9F /r         | RVM:xrr   |            | fma
VFNMSUB132SD     | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.66.0F38.W1 9F /r       | RVM:xrr   | t1s        | avx512f
VFNMSUB213PS     | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 AE /r          | RVM:xrr   |            | fma
VFNMSUB213PS     | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 AE /r         | RVM:xrr   | full       | avx512f
VFNMSUB213PD     | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W1 AE /r          | RVM:xrr   |            | fma
VFNMSUB213PD     | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 AE /r         | RVM:xrr   | full       | avx512f
VFNMSUB213SS     | xmm1, xmm2, xmm3/m32                         | VEX.LIG.66.0F38.W0 AF /r         | RVM:xrr   |            | fma
VFNMSUB213SS     | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.66.0F38.W0 AF /r       | RVM:xrr   | t1s        | avx512f
VFNMSUB213SD     | xmm1, xmm2, xmm3/m64                         | VEX.LIG.66.0F38.W1 AF /r         | RVM:xrr   |            | fma
VFNMSUB213SD     | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.66.0F38.W1 AF /r       | RVM:xrr   | t1s        | avx512f
VFNMSUB231PS     | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 BE /r          | RVM:xrr   |            | fma
VFNMSUB231PS     | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 BE /r         | RVM:xrr   | full       | avx512f
VFNMSUB231PD     | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W1 BE /r          | RVM:xrr   |            | fma
VFNMSUB231PD     | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 BE /r         | RVM:xrr   | full       | avx512f
VFNMSUB231SS     | xmm1, xmm2, xmm3/m32                         | VEX.LIG.66.0F38.W0 BF /r         | RVM:xrr   |            | fma
VFNMSUB231SS     | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.66.0F38.W0 BF /r       | RVM:xrr   | t1s        | avx512f
VFNMSUB231SD     | xmm1, xmm2, xmm3/m64                         | VEX.LIG.66.0F38.W1 BF /r         | RVM:xrr   |            | fma
VFNMSUB231SD     | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.66.0F38.W1 BF /r       | RVM:xrr   | t1s        | avx512f
VFMADDSUB132PS   | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 96 /r          | RVM:xrr   |            | fma
VFMADDSUB132PS   | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 96 /r         | RVM:xrr   | full       | avx512f
VFMADDSUB132PD   | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W1 96 /r          | RVM:xrr   |            | fma
VFMADDSUB132PD   | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 96 /r         | RVM:xrr   | full       | avx512f
VFMADDSUB213PS   | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 A6 /r          | RVM:xrr   |            | fma
VFMADDSUB213PS   | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 A6 /r         | RVM:xrr   | full       | avx512f
VFMADDSUB213PD   | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W1 A6 /r          | RVM:xrr   |            | fma
VFMADDSUB213PD   | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 A6 /r         | RVM:xrr   | full       | avx512f
VFMADDSUB231PS   | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 B6 /r          | RVM:xrr   |            | fma
VFMADDSUB231PS   | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 B6 /r         | RVM:xrr   | full       | avx512f
VFMADDSUB231PD   | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W1 B6 /r          | RVM:xrr   |            | fma
VFMADDSUB231PD   | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 B6 /r         | RVM:xrr   | full       | avx512f
VFMSUBADD132PS   | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 97 /r          | RVM:xrr   |            | fma
VFMSUBADD132PS   | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 97 /r         | RVM:xrr   | full       | avx512f
VFMSUBADD132PD   | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W1 97 /r          | RVM:xrr   |            | fma
VFMSUBADD132PD   | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 97 /r         | RVM:xrr   | full       | avx512f
VFMSUBADD213PS   | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 A7 /r          | RVM:xrr   |            | fma
VFMSUBADD213PS   | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 A7 /r         | RVM:xrr   | full       | avx512f
VFMSUBADD213PD   | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W1 A7 /r          | RVM:xrr   |            | fma
VFMSUBADD213PD   | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 A7 /r         | RVM:xrr   | full       | avx512f
VFMSUBADD231PS   | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 B7 /r          | RVM:xrr   |            | fma
VFMSUBADD231PS   | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 B7 /r         | RVM:xrr   | full       | avx512f
VFMSUBADD231PD   | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W1 B7 /r          | RVM:xrr   |            | fma
VFMSUBADD231PD   | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 B7 /r         | RVM:xrr   | full       | avx512f
# Floating-point comparisons
VCMPPS           | vmm1, vmm2, vmm3/mV, imm8                    | VEX.VL.0F.WIG C2 /r ib           | RVMI:wrrr |            | avx
VCMPPS           | k1{k2}, vmm2, vmm3/mV/m32bcst, imm8          | EVEX.VL.0F.W0 C2 /r ib           | RVMI:wrrr | full       | avx512f
VCMPPD           | vmm1, vmm2, vmm3/mV, imm8                    | VEX.VL.66.0F.WIG C2 /r ib        | RVMI:wrrr |            | avx
VCMPPD           | k1{k2}, vmm2, vmm3/mV/m64bcst, imm8          | EVEX.VL.66.0F.W1 C2 /r ib        | RVMI:wrrr | full       | avx512f
VCMPSS           | xmm1, xmm2, xmm3/m32, imm8                   | VEX.LIG.F3.0F.WIG C2 /r ib       | RVMI:wrrr |            | avx
VCMPSS           | k1{k2}, xmm2, xmm3/m32, imm8                 | EVEX.LLIG.F3.0F.W0 C2 /r ib      | RVMI:wrrr | t1s        | avx512f
VCMPSD           | xmm1, xmm2, xmm3/m64, imm8                   | VEX.LIG.F2.0F.WIG C2 /r ib       | RVMI:wrrr |            | avx
VCMPSD           | k1{k2}, xmm2, xmm3/m64, imm8                 | EVEX.LLIG.F2.0F.W1 C2 /r ib      | RVMI:wrrr | t1s        | avx512f
VUCOMISS         | xmm1, xmm2/m32                               | VEX.LIG.0F.WIG 2E /r             | RM:rr     |            | avx
VUCOMISS         | xmm1, xmm2/m32                               | EVEX.LLIG.0F.W0 2E /r            | RM:rr     | t1s        | avx512f
VUCOMISD         | xmm1, xmm2/m64                               | VEX.LIG.66.0F.WIG 2E /r          | RM:rr     |            | avx
VUCOMISD         | xmm1, xmm2/m64                               | EVEX.LLIG.66.0F.W1 2E /r         | RM:rr     | t1s        | avx512f
VCOMISS          | xmm1, xmm2/m32                               | VEX.LIG.0F.WIG 2F /r             | RM:rr     |            | avx
VCOMISS          | xmm1, xmm2/m32                               | EVEX.LLIG.0F.W0 2F /r            | RM:rr     | t1s        | avx512f
VCOMISD          | xmm1, xmm2/m64                               | VEX.LIG.66.0F.WIG 2F /r          | RM:rr     |            | avx
VCOMISD          | xmm1, xmm2/m64                               | EVEX.LLIG.66.0F.W1 2F /r         | RM:rr     | t1s        | avx512f
VTESTPS          | vmm1, vmm2/mV                                | VEX.VL.66.0F38.W0 0E /r          | RM:rr     |            | avx
VTESTPD          | vmm1, vmm2/mV                                | VEX.VL.66.0F38.W0 0F /r          | RM:rr     |            | avx
VFPCLASSPS       | k1{k2}, vmm2/mV/m32bcst, imm8                | EVEX.VL.66.0F3A.W0 66 /r ib      | RMI:wrr   | full       | avx512dq
VFPCLASSPD       | k1{k2}, vmm2/mV/m64bcst, imm8                | EVEX.VL.66.0F3A.W1 66 /r ib      | RMI:wrr   | full       | avx512dq
# Conversions
VCVTDQ2PS        | vmm1, vmm2/mV                                | VEX.VL.0F.WIG 5B /r              | RM:wr     |            | avx
VCVTDQ2PS        | vmm1{k1}{z}, vmm2/mV/m32bcst                 | EVEX.VL.0F.W0 5B /r              | RM:wr     | full       | avx512f
VCVTPS2DQ        | vmm1, vmm2/mV                                | VEX.VL.66.0F.WIG 5B /r           | RM:wr     |            | avx
VCVTPS2DQ        | vmm1{k1}{z}, vmm2/mV/m32bcst                 | EVEX.VL.66.0F.W0 5B /r           | RM:wr     | full       | avx512f
VCVTTPS2DQ       | vmm1, vmm2/mV                                | VEX.VL.F3.0F.WIG 5B /r           | RM:wr     |            | avx
VCVTTPS2DQ       | vmm1{k1}{z}, vmm2/mV/m32bcst                 | EVEX.VL.F3.0F.W0 5B /r           | RM:wr     | full       | avx512f
VCVTDQ2PD        | vmm1, hmm2/mH                                | VEX.VL.F3.0F.WIG E6 /r           | RM:wr     |            | avx
VCVTDQ2PD        | vmm1{k1}{z}, hmm2/mH/m32bcst                 | EVEX.VL.F3.0F.W0 E6 /r           | RM:wr     | half       | avx512f
VCVTPD2DQ        | hmm1, vmm2/mV                                | VEX.VL.F2.0F.WIG E6 /r           | RM:wr     |            | avx
VCVTPD2DQ        | hmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.F2.0F.W1 E6 /r           | RM:wr     | full       | avx512f
VCVTTPD2DQ       | hmm1, vmm2/mV                                | VEX.VL.66.0F.WIG E6 /r           | RM:wr     |            | avx
VCVTTPD2DQ       | hmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.66.0F.W1 E6 /r           | RM:wr     | full       | avx512f
VCVTPS2PD        | vmm1, hmm2/mH                                | VEX.VL.0F.WIG 5A /r              | RM:wr     |            | avx
VCVTPS2PD        | vmm1{k1}{z}, hmm2/mH/m32bcst                 | EVEX.VL.0F.W0 5A /r              | RM:wr     | half       | avx512f
VCVTPD2PS        | hmm1, vmm2/mV                                | VEX.VL.66.0F.WIG 5A /r           | RM:wr     |            | avx
VCVTPD2PS        | hmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.66.0F.W1 5A /r           | RM:wr     | full       | avx512f
VCVTQQ2PD        | vmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.F3.0F.W1 E6 /r           | RM:wr     | full       | avx512dq
VCVTQQ2PS        | hmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.0F.W1 5B /r              | RM:wr     | full       | avx512dq
VCVTPD2QQ        | vmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.66.0F.W1 7B /r           | RM:wr     | full       | avx512dq
VCVTTPD2QQ       | vmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.66.0F.W1 7A /r           | RM:wr     | full       | avx512dq
VCVTPS2QQ        | vmm1{k1}{z}, hmm2/mH/m32bcst                 | EVEX.VL.66.0F.W0 7B /r           | RM:wr     | half       | avx512dq
VCVTTPS2QQ       | vmm1{k1}{z}, hmm2/mH/m32bcst                 | EVEX.VL.66.0F.W0 7A /r           | RM:wr     | half       | avx512dq
VCVTUDQ2PS       | vmm1{k1}{z}, vmm2/mV/m32bcst                 | EVEX.VL.F2.0F.W0 7A /r           | RM:wr     | full       | avx512f
VCVTUDQ2PD       | vmm1{k1}{z}, hmm2/mH/m32bcst                 | EVEX.VL.F3.0F.W0 7A /r           | RM:wr     | half       | avx512f
VCVTUQQ2PD       | vmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.F3.0F.W1 7A /r           | RM:wr     | full       | avx512dq
VCVTUQQ2PS       | hmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.F2.0F.W1 7A /r           | RM:wr     | full       | avx512dq
VCVTPS2UDQ       | vmm1{k1}{z}, vmm2/mV/m32bcst                 | EVEX.VL.0F.W0 79 /r              | RM:wr     | full       | avx512f
VCVTTPS2UDQ      | vmm1{k1}{z}, vmm2/mV/m32bcst                 | EVEX.VL.0F.W0 78 /r              | RM:wr     | full       | avx512f
VCVTPD2UDQ       | hmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.0F.W1 79 /r              | RM:wr     | full       | avx512f
VCVTTPD2UDQ      | hmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.0F.W1 78 /r              | RM:wr     | full       | avx512f
VCVTPD2UQQ       | vmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.66.0F.W1 79 /r           | RM:wr     | full       | avx512dq
VCVTTPD2UQQ      | vmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.66.0F.W1 78 /r           | RM:wr     | full       | avx512dq
VCVTPS2UQQ       | vmm1{k1}{z}, hmm2/mH/m32bcst                 | EVEX.VL.66.0F.W0 79 /r           | RM:wr     | half       | avx512dq
VCVTTPS2UQQ      | vmm1{k1}{z}, hmm2/mH/m32bcst                 | EVEX.VL.66.0F.W0 78 /r           | RM:wr     | half       | avx512dq
VCVTPH2PS        | vmm1, hmm2/mH                                | VEX.VL.66.0F38.W0 13 /r          | RM:wr     |            | f16c
VCVTPH2PS        | vmm1{k1}{z}, hmm2/mH                         | EVEX.VL.66.0F38.W0 13 /r         | RM:wr     | halfmem    | avx512f
VCVTPS2PH        | hmm1/mH, vmm2, imm8                          | VEX.VL.66.0F3A.W0 1D /r ib       | MRI:wrr   |            | f16c
VCVTPS2PH        | hmm1/mH{k1}{z}, vmm2, imm8                   | EVEX.VL.66.0F3A.W0 1D /r ib      | MRI:wrr   | halfmem    | avx512f
VCVTSI2SS        | xmm1, xmm2, r/m32                            | VEX.LIG.F3.0F.W0 2A /r           | RVM:wrr   |            | avx
VCVTSI2SS        | xmm1, xmm2, r/m32                            | EVEX.LLIG.F3.0F.W0 2A /r         | RVM:wrr   | t1s        | avx512f
VCVTUSI2SS       | xmm1, xmm2, r/m32                            | EVEX.LLIG.F3.0F.W0 7B /r         | RVM:wrr   | t1s        | avx512f
VCVTSS2SI        | r32, xmm2/m32                                | VEX.LIG.F3.0F.W0 2D /r           | RM:wr     |            | avx
VCVTSS2SI        | r32, xmm2/m32                                | EVEX.LLIG.F3.0F.W0 2D /r         | RM:wr     | t1f32      | avx512f
VCVTTSS2SI       | r32, xmm2/m32                                | VEX.LIG.F3.0F.W0 2C /r           | RM:wr     |            | avx
VCVTTSS2SI       | r32, xmm2/m32                                | EVEX.LLIG.F3.0F.W0 2C /r         | RM:wr     | t1f32      | avx512f
VCVTSS2USI       | r32, xmm2/m32                                | EVEX.LLIG.F3.0F.W0 79 /r         | RM:wr     | t1f32      | avx512f
VCVTTSS2USI      | r32, xmm2/m32                                | EVEX.LLIG.F3.0F.W0 78 /r         | RM:wr     | t1f32      | avx512f
VCVTSI2SS        | xmm1, xmm2, r/m64                            | VEX.LIG.F3.0F.W1 2A /r           | RVM:wrr   |            | avx
VCVTSI2SS        | xmm1, xmm2, r/m64                            | EVEX.LLIG.F3.0F.W1 2A /r         | RVM:wrr   | t1s        | avx512f
VCVTUSI2SS       | xmm1, xmm2, r/m64                            | EVEX.LLIG.F3.0F.W1 7B /r         | RVM:wrr   | t1s        | avx512f
VCVTSS2SI        | r64, xmm2/m32                                | VEX.LIG.F3.0F.W1 2D /r           | RM:wr     |            | avx
VCVTSS2SI        | r64, xmm2/m32                                | EVEX.LLIG.F3.0F.W1 2D /r         | RM:wr     | t1f32      | avx512f
VCVTTSS2SI       | r64, xmm2/m32                                | VEX.LIG.F3.0F.W1 2C /r           | RM:wr     |            | avx
VCVTTSS2SI       | r64, xmm2/m32                                | EVEX.LLIG.F3.0F.W1 2C /r         | RM:wr     | t1f32      | avx512f
VCVTSS2USI       | r64, xmm2/m32                                | EVEX.LLIG.F3.0F.W1 79 /r         | RM:wr     | t1f32      | avx512f
VCVTTSS2USI      | r64, xmm2/m32                                | EVEX.LLIG.F3.0F.W1 78 /r         | RM:wr     | t1f32      | avx512f
VCVTSI2SD        | xmm1, xmm2, r/m32                            | VEX.LIG.F2.0F.W0 2A /r           | RVM:wrr   |            | avx
VCVTSI2SD        | xmm1, xmm2, r/m32                            | EVEX.LLIG.F2.0F.W0 2A /r         | RVM:wrr   | t1s        | avx512f
VCVTUSI2SD       | xmm1, xmm2, r/m32                            | EVEX.LLIG.F2.0F.W0 7B /r         | RVM:wrr   | t1s        | avx512f
VCVTSD2SI        | r32, xmm2/m64                                | VEX.LIG.F2.0F.W0 2D /r           | RM:wr     |            | avx
VCVTSD2SI        | r32, xmm2/m64                                | EVEX.LLIG.F2.0F.W0 2D /r         | RM:wr     | t1f64      | avx512f
VCVTTSD2SI       | r32, xmm2/m64                                | VEX.LIG.F2.0F.W0 2C /r           | RM:wr     |            | avx
VCVTTSD2SI       | r32, xmm2/m64                                | EVEX.LLIG.F2.0F.W0 2C /r         | RM:wr     | t1f64      | avx512f
VCVTSD2USI       | r32, xmm2/m64                                | EVEX.LLIG.F2.0F.W0 79 /r         | RM:wr     | t1f64      | avx512f
VCVTTSD2USI      | r32, xmm2/m64                                | EVEX.LLIG.F2.0F.W0 78 /r         | RM:wr     | t1f64      | avx512f
VCVTSI2SD        | xmm1, xmm2, r/m64                            | VEX.LIG.F2.0F.W1 2A /r           | RVM:wrr   |            | avx
VCVTSI2SD        | xmm1, xmm2, r/m64                            | EVEX.LLIG.F2.0F.W1 2A /r         | RVM:wrr   | t1s        | avx512f
VCVTUSI2SD       | xmm1, xmm2, r/m64                            | EVEX.LLIG.F2.0F.W1 7B /r         | RVM:wrr   | t1s        | avx512f
VCVTSD2SI        | r64, xmm2/m64                                | VEX.LIG.F2.0F.W1 2D /r           | RM:wr     |            | avx
VCVTSD2SI        | r64, xmm2/m64                                | EVEX.LLIG.F2.0F.W1 2D /r         | RM:wr     | t1f64      | avx512f
VCVTTSD2SI       | r64, xmm2/m64                                | VEX.LIG.F2.0F.W1 2C /r           | RM:wr     |            | avx
VCVTTSD2SI       | r64, xmm2/m64                                | EVEX.LLIG.F2.0F.W1 2C /r         | RM:wr     | t1f64      | avx512f
VCVTSD2USI       | r64, xmm2/m64                                | EVEX.LLIG.F2.0F.W1 79 /r         | RM:wr     | t1f64      | avx512f
VCVTTSD2USI      | r64, xmm2/m64                                | EVEX.LLIG.F2.0F.W1 78 /r         | RM:wr     | t1f64      | avx512f
VCVTSS2SD        | xmm1, xmm2, xmm3/m32                         | VEX.LIG.F3.0F.WIG 5A /r          | RVM:wrr   |            | avx
VCVTSS2SD        | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.F3.0F.W0 5A /r         | RVM:wrr   | t1s        | avx512f
VCVTSD2SS        | xmm1, xmm2, xmm3/m64                         | VEX.LIG.F2.0F.WIG 5A /r          | RVM:wrr   |            | avx
VCVTSD2SS        | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.F2.0F.W1 5A /r         | RVM:wrr   | t1s        | avx512f
# Integer vector moves
VMOVDQA          | vmm1, vmm2/mV                                | VEX.VL.66.0F.WIG 6F /r           | RM:wr     |            | avx
VMOVDQA          | vmm2/mV, vmm1                                | VEX.VL.66.0F.WIG 7F /r           | MR:wr     |            | avx
VMOVDQU          | vmm1, vmm2/mV                                | VEX.VL.F3.0F.WIG 6F /r           | RM:wr     |            | avx
VMOVDQU          | vmm2/mV, vmm1                                | VEX.VL.F3.0F.WIG 7F /r           | MR:wr     |            | avx
VMOVDQA32        | vmm1{k1}{z}, vmm2/mV                         | EVEX.VL.66.0F.W0 6F /r           | RM:wr     | fullmem    | avx512f
VMOVDQA32        | vmm2/mV{k1}{z}, vmm1                         | EVEX.VL.66.0F.W0 7F /r           | MR:wr     | fullmem    | avx512f
VMOVDQA64        | vmm1{k1}{z}, vmm2/mV                         | EVEX.VL.66.0F.W1 6F /r           | RM:wr     | fullmem    | avx512f
VMOVDQA64        | vmm2/mV{k1}{z}, vmm1                         | EVEX.VL.66.0F.W1 7F /r           | MR:wr     | fullmem    | avx512f
VMOVDQU8         | vmm1{k1}{z}, vmm2/mV                         | EVEX.VL.F2.0F.W0 6F /r           | RM:wr     | fullmem    | avx512bw
VMOVDQU8         | vmm2/mV{k1}{z}, vmm1                         | EVEX.VL.F2.0F.W0 7F /r           | MR:wr     | fullmem    | avx512bw
VMOVDQU16        | vmm1{k1}{z}, vmm2/mV                         | EVEX.VL.F2.0F.W1 6F /r           | RM:wr     | fullmem    | avx512bw
VMOVDQU16        | vmm2/mV{k1}{z}, vmm1                         | EVEX.VL.F2.0F.W1 7F /r           | MR:wr     | fullmem    | avx512bw
VMOVDQU32        | vmm1{k1}{z}, vmm2/mV                         | EVEX.VL.F3.0F.W0 6F /r           | RM:wr     | fullmem    | avx512f
VMOVDQU32        | vmm2/mV{k1}{z}, vmm1                         | EVEX.VL.F3.0F.W0 7F /r           | MR:wr     | fullmem    | avx512f
VMOVDQU64        | vmm1{k1}{z}, vmm2/mV                         | EVEX.VL.F3.0F.W1 6F /r           | RM:wr     | fullmem    | avx512f
VMOVDQU64        | vmm2/mV{k1}{z}, vmm1                         | EVEX.VL.F3.0F.W1 7F /r           | MR:wr     | fullmem    | avx512f
VMOVNTDQ         | mV, vmm1                                     | VEX.VL.66.0F.WIG E7 /r           | MR:wr     |            | avx
VMOVNTDQ         | mV, vmm1                                     | EVEX.VL.66.0F.W0 E7 /r           | MR:wr     | fullmem    | avx512f
VMOVNTDQA        | vmm1, mV                                     | VEX.VL.66.0F38.WIG 2A /r         | RM:wr     |            | avx/avx2
VMOVNTDQA        | vmm1, mV                                     | EVEX.VL.66.0F38.W0 2A /r         | RM:wr     | fullmem    | avx512f
VMOVD            | xmm1, r/m32                                  | VEX.128.66.0F.W0 6E /r           | RM:wr     |            | avx
VMOVD            | r/m32, xmm1                                  | VEX.128.66.0F.W0 7E /r           | MR:wr     |            | avx
VMOVD            | xmm1, r/m32                                  | EVEX.128.66.0F.W0 6E /r          | RM:wr     | t1s        | avx512f
VMOVD            | r/m32, xmm1                                  | EVEX.128.66.0F.W0 7E /r          | MR:wr     | t1s        | avx512f
VMOVQ            | xmm1, xmm2/m64                               | VEX.128.F3.0F.WIG 7E /r          | RM:wr     |            | avx
VMOVQ            | xmm1/m64, xmm2                               | VEX.128.66.0F.WIG D6 /r          | MR:wr     |            | avx
VMOVQ            | xmm1, r/m64                                  | VEX.128.66.0F.W1 6E /r           | RM:wr     |            | avx
VMOVQ            | r/m64, xmm1                                  | VEX.128.66.0F.W1 7E /r           | MR:wr     |            | avx
VMOVQ            | xmm1, xmm2/m64                               | EVEX.128.F3.0F.W1 7E /r          | RM:wr     | t1s        | avx512f
VMOVQ            | xmm1/m64, xmm2                               | EVEX.128.66.0F.W1 D6 /r          | MR:wr     | t1s        | avx512f
VMOVQ            | xmm1, r/m64                                  | EVEX.128.66.0F.W1 6E /r          | RM:wr     | t1s        | avx512f
VMOVQ            | r/m64, xmm1                                  | EVEX.128.66.0F.W1 7E /r          | MR:wr     | t1s        | avx512f
VLDDQU           | vmm1, mV                                     | VEX.VL.F2.0F.WIG F0 /r           | RM:wr     |            | avx
# Integer vector arithmetic
VPADDB           | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG FC /r           | RVM:wrr   |            | avx/avx2
VPADDB           | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG FC /r          | RVM:wrr   | fullmem    | avx512bw
VPADDW           | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG FD /r           | RVM:wrr   |            | avx/avx2
VPADDW           | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG FD /r          | RVM:wrr   | fullmem    | avx512bw
VPADDD           | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG FE /r           | RVM:wrr   |            | avx/avx2
VPADDD           | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F.W0 FE /r           | RVM:wrr   | full       | avx512f
VPADDQ           | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG D4 /r           | RVM:wrr   |            | avx/avx2
VPADDQ           | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F.W1 D4 /r           | RVM:wrr   | full       | avx512f
VPSUBB           | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG F8 /r           | RVM:wrr   |            | avx/avx2
VPSUBB           | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG F8 /r          | RVM:wrr   | fullmem    | avx512bw
VPSUBW           | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG F9 /r           | RVM:wrr   |            | avx/avx2
VPSUBW           | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG F9 /r          | RVM:wrr   | fullmem    | avx512bw
VPSUBD           | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG FA /r           | RVM:wrr   |            | avx/avx2
VPSUBD           | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F.W0 FA /r           | RVM:wrr   | full       | avx512f
VPSUBQ           | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG FB /r           | RVM:wrr   |            | avx/avx2
VPSUBQ           | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F.W1 FB /r           | RVM:wrr   | full       | avx512f
VPADDSB          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG EC /r           | RVM:wrr   |            | avx/avx2
VPADDSB          | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG EC /r          | RVM:wrr   | fullmem    | avx512bw
VPADDSW          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG ED /r           | RVM:wrr   |            | avx/avx2
VPADDSW          | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG ED /r          | RVM:wrr   | fullmem    | avx512bw
VPADDUSB         | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG DC /r           | RVM:wrr   |            | avx/avx2
VPADDUSB         | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG DC /r          | RVM:wrr   | fullmem    | avx512bw
VPADDUSW         | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG DD /r           | RVM:wrr   |            | avx/avx2
VPADDUSW         | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG DD /r          | RVM:wrr   | fullmem    | avx512bw
VPSUBSB          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG E8 /r           | RVM:wrr   |            | avx/avx2
VPSUBSB          | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG E8 /r          | RVM:wrr   | fullmem    | avx512bw
VPSUBSW          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG E9 /r           | RVM:wrr   |            | avx/avx2
VPSUBSW          | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG E9 /r          | RVM:wrr   | fullmem    | avx512bw
VPSUBUSB         | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG D8 /r           | RVM:wrr   |            | avx/avx2
VPSUBUSB         | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG D8 /r          | RVM:wrr   | fullmem    | avx512bw
VPSUBUSW         | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG D9 /r           | RVM:wrr   |            | avx/avx2
VPSUBUSW         | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG D9 /r          | RVM:wrr   | fullmem    | avx512bw
VPAVGB           | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG E0 /r           | RVM:wrr   |            | avx/avx2
VPAVGB           | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG E0 /r          | RVM:wrr   | fullmem    | avx512bw
VPAVGW           | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG E3 /r           | RVM:wrr   |            | avx/avx2
VPAVGW           | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG E3 /r          | RVM:wrr   | fullmem    | avx512bw
VPMULLW          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG D5 /r           | RVM:wrr   |            | avx/avx2
VPMULLW          | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG D5 /r          | RVM:wrr   | fullmem    | avx512bw
VPMULHW          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG E5 /r           | RVM:wrr   |            | avx/avx2
VPMULHW          | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG E5 /r          | RVM:wrr   | fullmem    | avx512bw
VPMULHUW         | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG E4 /r           | RVM:wrr   |            | avx/avx2
VPMULHUW         | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG E4 /r          | RVM:wrr   | fullmem    | avx512bw
VPMADDWD         | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG F5 /r           | RVM:wrr   |            | avx/avx2
VPMADDWD         | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG F5 /r          | RVM:wrr   | fullmem    | avx512bw
VPMULUDQ         | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG F4 /r           | RVM:wrr   |            | avx/avx2
VPMULUDQ         | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F.W1 F4 /r           | RVM:wrr   | full       | avx512f
VPMINUB          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG DA /r           | RVM:wrr   |            | avx/avx2
VPMINUB          | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG DA /r          | RVM:wrr   | fullmem    | avx512bw
VPMINSW          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG EA /r           | RVM:wrr   |            | avx/avx2
VPMINSW          | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG EA /r          | RVM:wrr   | fullmem    | avx512bw
VPMAXUB          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG DE /r           | RVM:wrr   |            | avx/avx2
VPMAXUB          | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG DE /r          | RVM:wrr   | fullmem    | avx512bw
VPMAXSW          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG EE /r           | RVM:wrr   |            | avx/avx2
VPMAXSW          | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG EE /r          | RVM:wrr   | fullmem    | avx512bw
VPMULDQ          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 28 /r         | RVM:wrr   |            | avx/avx2
VPMULDQ          | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 28 /r         | RVM:wrr   | full       | avx512f
VPMULLD          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 40 /r         | RVM:wrr   |            | avx/avx2
VPMULLD          | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 40 /r         | RVM:wrr   | full       | avx512f
VPMULHRSW        | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 0B /r         | RVM:wrr   |            | avx/avx2
VPMULHRSW        | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F38.WIG 0B /r        | RVM:wrr   | fullmem    | avx512bw
VPMADDUBSW       | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 04 /r         | RVM:wrr   |            | avx/avx2
VPMADDUBSW       | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F38.WIG 04 /r        | RVM:wrr   | fullmem    | avx512bw
VPMINSB          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 38 /r         | RVM:wrr   |            | avx/avx2
VPMINSB          | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F38.WIG 38 /r        | RVM:wrr   | fullmem    | avx512bw
VPMINSD          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 39 /r         | RVM:wrr   |            | avx/avx2
VPMINSD          | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 39 /r         | RVM:wrr   | full       | avx512f
VPMINUW          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 3A /r         | RVM:wrr   |            | avx/avx2
VPMINUW          | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F38.WIG 3A /r        | RVM:wrr   | fullmem    | avx512bw
VPMINUD          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 3B /r         | RVM:wrr   |            | avx/avx2
VPMINUD          | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 3B /r         | RVM:wrr   | full       | avx512f
VPMAXSB          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 3C /r         | RVM:wrr   |            | avx/avx2
VPMAXSB          | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F38.WIG 3C /r        | RVM:wrr   | fullmem    | avx512bw
VPMAXSD          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 3D /r         | RVM:wrr   |            | avx/avx2
VPMAXSD          | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 3D /r         | RVM:wrr   | full       | avx512f
VPMAXUW          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 3E /r         | RVM:wrr   |            | avx/avx2
VPMAXUW          | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F38.WIG 3E /r        | RVM:wrr   | fullmem    | avx512bw
VPMAXUD          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 3F /r         | RVM:wrr   |            | avx/avx2
VPMAXUD          | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 3F /r         | RVM:wrr   | full       | avx512f
VPMINSQ          | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 39 /r         | RVM:wrr   | full       | avx512f
VPMINUQ          | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 3B /r         | RVM:wrr   | full       | avx512f
VPMAXSQ          | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 3D /r         | RVM:wrr   | full       | avx512f
VPMAXUQ          | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 3F /r         | RVM:wrr   | full       | avx512f
VPMULLQ          | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 40 /r         | RVM:wrr   | full       | avx512dq
VPHADDW          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 01 /r         | RVM:wrr   |            | avx/avx2
VPHADDD          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 02 /r         | RVM:wrr   |            | avx/avx2
VPHSUBW          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 05 /r         | RVM:wrr   |            | avx/avx2
VPHSUBD          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 06 /r         | RVM:wrr   |            | avx/avx2
VPSIGNB          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 08 /r         | RVM:wrr   |            | avx/avx2
VPSIGNW          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 09 /r         | RVM:wrr   |            | avx/avx2
VPSIGND          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 0A /r         | RVM:wrr   |            | avx/avx2
VPSADBW          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG F6 /r           | RVM:wrr   |            | avx/avx2
VPSADBW          | vmm1, vmm2, vmm3/mV                          | EVEX.VL.66.0F.WIG F6 /r          | RVM:wrr   | fullmem    | avx512bw
VPABSB           | vmm1, vmm2/mV                                | VEX.VL.66.0F38.WIG 1C /r         | RM:wr     |            | avx/avx2
VPABSB           | vmm1{k1}{z}, vmm2/mV                         | EVEX.VL.66.0F38.WIG 1C /r        | RM:wr     | fullmem    | avx512bw
VPABSW           | vmm1, vmm2/mV                                | VEX.VL.66.0F38.WIG 1D /r         | RM:wr     |            | avx/avx2
VPABSW           | vmm1{k1}{z}, vmm2/mV                         | EVEX.VL.66.0F38.WIG 1D /r        | RM:wr     | fullmem    | avx512bw
VPABSD           | vmm1, vmm2/mV                                | VEX.VL.66.0F38.WIG 1E /r         | RM:wr     |            | avx/avx2
VPABSD           | vmm1{k1}{z}, vmm2/mV/m32bcst                 | EVEX.VL.66.0F38.W0 1E /r         | RM:wr     | full       | avx512f
VPABSQ           | vmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.66.0F38.W1 1F /r         | RM:wr     | full       | avx512f
VPDPBUSD         | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 50 /r         | RVM:xrr   | full       | avx512_vnni
VPDPBUSD         | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 50 /r          | RVM:xrr   |            | avx_vnni
VPDPBUSDS        | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 51 /r         | RVM:xrr   | full       | avx512_vnni
VPDPBUSDS        | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 51 /r          | RVM:xrr   |            | avx_vnni
VPDPWSSD         | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 52 /r         | RVM:xrr   | full       | avx512_vnni
VPDPWSSD         | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 52 /r          | RVM:xrr   |            | avx_vnni
VPDPWSSDS        | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 53 /r         | RVM:xrr   | full       | avx512_vnni
VPDPWSSDS        | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 53 /r          | RVM:xrr   |            | avx_vnni
VDPBF16PS        | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.F3.0F38.W0 52 /r         | RVM:xrr   | full       | avx512_bf16
VPOPCNTB         | vmm1{k1}{z}, vmm2/mV                         | EVEX.VL.66.0F38.W0 54 /r         | RM:wr     | fullmem    | avx512_bitalg
VPOPCNTW         | vmm1{k1}{z}, vmm2/mV                         | EVEX.VL.66.0F38.W1 54 /r         | RM:wr     | fullmem    | avx512_bitalg
VPOPCNTD         | vmm1{k1}{z}, vmm2/mV/m32bcst                 | EVEX.VL.66.0F38.W0 55 /r         | RM:wr     | full       | avx512_vpopcntdq
VPOPCNTQ         | vmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.66.0F38.W1 55 /r         | RM:wr     | full       | avx512_vpopcntdq
VPLZCNTD         | vmm1{k1}{z}, vmm2/mV/m32bcst                 | EVEX.VL.66.0F38.W0 44 /r         | RM:wr     | full       | avx512cd
VPLZCNTQ         | vmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.66.0F38.W1 44 /r         | RM:wr     | full       | avx512cd
VPCONFLICTD      | vmm1{k1}{z}, vmm2/mV/m32bcst                 | EVEX.VL.66.0F38.W0 C4 /r         | RM:wr     | full       | avx512cd
VPCONFLICTQ      | vmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.66.0F38.W1 C4 /r         | RM:wr     | full       | avx512cd
# Vector logic
VPAND            | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG DB /r           | RVM:wrr   |            | avx/avx2
VPANDD           | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F.W0 DB /r           | RVM:wrr   | full       | avx512f
VPANDQ           | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F.W1 DB /r           | RVM:wrr   | full       | avx512f
VPANDN           | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG DF /r           | RVM:wrr   |            | avx/avx2
VPANDND          | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F.W0 DF /r           | RVM:wrr   | full       | avx512f
VPANDNQ          | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F.W1 DF /r           | RVM:wrr   | full       | avx512f
VPOR             | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG EB /r           | RVM:wrr   |            | avx/avx2
VPORD            | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F.W0 EB /r           | RVM:wrr   | full       | avx512f
VPORQ            | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F.W1 EB /r           | RVM:wrr   | full       | avx512f
VPXOR            | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG EF /r           | RVM:wrr   |            | avx/avx2
VPXORD           | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F.W0 EF /r           | RVM:wrr   | full       | avx512f
VPXORQ           | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F.W1 EF /r           | RVM:wrr   | full       | avx512f
VPTERNLOGD       | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst, imm8     | EVEX.VL.66.0F3A.W0 25 /r ib      | RVMI:xrrr | full       | avx512f
VPTERNLOGQ       | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst, imm8     | EVEX.VL.66.0F3A.W1 25 /r ib      | RVMI:xrrr | full       | avx512f
VPTEST           | vmm1, vmm2/mV                                | VEX.VL.66.0F38.WIG 17 /r         | RM:rr     |            | avx
VPMOVMSKB        | r32, vmm1                                    | VEX.VL.66.0F.WIG D7 /r           | RM:wr     |            | avx/avx2
# Integer vector comparisons
VPCMPEQB         | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 74 /r           | RVM:wrr   |            | avx/avx2
VPCMPEQB         | k1{k2}, vmm2, vmm3/mV                        | EVEX.VL.66.0F.WIG 74 /r          | RVM:wrr   | fullmem    | avx512bw
VPCMPEQW         | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 75 /r           | RVM:wrr   |            | avx/avx2
VPCMPEQW         | k1{k2}, vmm2, vmm3/mV                        | EVEX.VL.66.0F.WIG 75 /r          | RVM:wrr   | fullmem    | avx512bw
VPCMPEQD         | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 76 /r           | RVM:wrr   |            | avx/avx2
VPCMPEQD         | k1{k2}, vmm2, vmm3/mV/m32bcst                | EVEX.VL.66.0F.W0 76 /r           | RVM:wrr   | full       | avx512f
VPCMPEQQ         | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 29 /r         | RVM:wrr   |            | avx/avx2
VPCMPEQQ         | k1{k2}, vmm2, vmm3/mV/m64bcst                | EVEX.VL.66.0F38.W1 29 /r         | RVM:wrr   | full       | avx512f
VPCMPGTB         | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 64 /r           | RVM:wrr   |            | avx/avx2
VPCMPGTB         | k1{k2}, vmm2, vmm3/mV                        | EVEX.VL.66.0F.WIG 64 /r          | RVM:wrr   | fullmem    | avx512bw
VPCMPGTW         | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 65 /r           | RVM:wrr   |            | avx/avx2
VPCMPGTW         | k1{k2}, vmm2, vmm3/mV                        | EVEX.VL.66.0F.WIG 65 /r          | RVM:wrr   | fullmem    | avx512bw
VPCMPGTD         | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 66 /r           | RVM:wrr   |            | avx/avx2
VPCMPGTD         | k1{k2}, vmm2, vmm3/mV/m32bcst                | EVEX.VL.66.0F.W0 66 /r           | RVM:wrr   | full       | avx512f
VPCMPGTQ         | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 37 /r         | RVM:wrr   |            | avx/avx2
VPCMPGTQ         | k1{k2}, vmm2, vmm3/mV/m64bcst                | EVEX.VL.66.0F38.W1 37 /r         | RVM:wrr   | full       | avx512f
VPCMPB           | k1{k2}, vmm2, vmm3/mV, imm8                  | EVEX.VL.66.0F3A.W0 3F /r ib      | RVMI:wrrr | fullmem    | avx512bw
VPCMPUB          | k1{k2}, vmm2, vmm3/mV, imm8                  | EVEX.VL.66.0F3A.W0 3E /r ib      | RVMI:wrrr | fullmem    | avx512bw
VPCMPW           | k1{k2}, vmm2, vmm3/mV, imm8                  | EVEX.VL.66.0F3A.W1 3F /r ib      | RVMI:wrrr | fullmem    | avx512bw
VPCMPUW          | k1{k2}, vmm2, vmm3/mV, imm8                  | EVEX.VL.66.0F3A.W1 3E /r ib      | RVMI:wrrr | fullmem    | avx512bw
VPCMPD           | k1{k2}, vmm2, vmm3/mV/m32bcst, imm8          | EVEX.VL.66.0F3A.W0 1F /r ib      | RVMI:wrrr | full       | avx512f
VPCMPUD          | k1{k2}, vmm2, vmm3/mV/m32bcst, imm8          | EVEX.VL.66.0F3A.W0 1E /r ib      | RVMI:wrrr | full       | avx512f
VPCMPQ           | k1{k2}, vmm2, vmm3/mV/m64bcst, imm8          | EVEX.VL.66.0F3A.W1 1F /r ib      | RVMI:wrrr | full       | avx512f
VPCMPUQ          | k1{k2}, vmm2, vmm3/mV/m64bcst, imm8          | EVEX.VL.66.0F3A.W1 1E /r ib      | RVMI:wrrr | full       | avx512f
VPTESTMB         | k1{k2}, vmm2, vmm3/mV                        | EVEX.VL.66.0F38.W0 26 /r         | RVM:wrr   | fullmem    | avx512bw
VPTESTNMB        | k1{k2}, vmm2, vmm3/mV                        | EVEX.VL.F3.0F38.W0 26 /r         | RVM:wrr   | fullmem    | avx512bw
VPTESTMW         | k1{k2}, vmm2, vmm3/mV                        | EVEX.VL.66.0F38.W1 26 /r         | RVM:wrr   | fullmem    | avx512bw
VPTESTNMW        | k1{k2}, vmm2, vmm3/mV                        | EVEX.VL.F3.0F38.W1 26 /r         | RVM:wrr   | fullmem    | avx512bw
VPTESTMD         | k1{k2}, vmm2, vmm3/mV/m32bcst                | EVEX.VL.66.0F38.W0 27 /r         | RVM:wrr   | full       | avx512f
VPTESTNMD        | k1{k2}, vmm2, vmm3/mV/m32bcst                | EVEX.VL.F3.0F38.W0 27 /r         | RVM:wrr   | full       | avx512f
VPTESTMQ         | k1{k2}, vmm2, vmm3/mV/m64bcst                | EVEX.VL.66.0F38.W1 27 /r         | RVM:wrr   | full       | avx512f
VPTESTNMQ        | k1{k2}, vmm2, vmm3/mV/m64bcst                | EVEX.VL.F3.0F38.W1 27 /r         | RVM:wrr   | full       | avx512f
# Vector shifts
VPSLLW           | vmm1, vmm2, imm8                             | VEX.VL.66.0F.WIG 71 /6 ib        | VMI:wrr   |            | avx/avx2
VPSLLW           | vmm1, vmm2, xmm3/m128                        | VEX.VL.66.0F.WIG F1 /r           | RVM:wrr   |            | avx/avx2
VPSLLW           | vmm1{k1}{z}, vmm2/mV, imm8                   | EVEX.VL.66.0F.WIG 71 /6 ib       | VMI:wrr   | fullmem    | avx512bw
VPSLLW           | vmm1{k1}{z}, vmm2, xmm3/m128                 | EVEX.VL.66.0F.WIG F1 /r          | RVM:wrr   | mem128     | avx512bw
VPSLLD           | vmm1, vmm2, imm8                             | VEX.VL.66.0F.WIG 72 /6 ib        | VMI:wrr   |            | avx/avx2
VPSLLD           | vmm1, vmm2, xmm3/m128                        | VEX.VL.66.0F.WIG F2 /r           | RVM:wrr   |            | avx/avx2
VPSLLD           | vmm1{k1}{z}, vmm2/mV/m32bcst, imm8           | EVEX.VL.66.0F.W0 72 /6 ib        | VMI:wrr   | full       | avx512f
VPSLLD           | vmm1{k1}{z}, vmm2, xmm3/m128                 | EVEX.VL.66.0F.W0 F2 /r           | RVM:wrr   | mem128     | avx512f
VPSLLQ           | vmm1, vmm2, imm8                             | VEX.VL.66.0F.WIG 73 /6 ib        | VMI:wrr   |            | avx/avx2
VPSLLQ           | vmm1, vmm2, xmm3/m128                        | VEX.VL.66.0F.WIG F3 /r           | RVM:wrr   |            | avx/avx2
VPSLLQ           | vmm1{k1}{z}, vmm2/mV/m64bcst, imm8           | EVEX.VL.66.0F.W1 73 /6 ib        | VMI:wrr   | full       | avx512f
VPSLLQ           | vmm1{k1}{z}, vmm2, xmm3/m128                 | EVEX.VL.66.0F.W1 F3 /r           | RVM:wrr   | mem128     | avx512f
VPSLLVD          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 47 /r          | RVM:wrr   |            | avx2
VPSLLVD          | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 47 /r         | RVM:wrr   | full       | avx512f
VPSLLVQ          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W1 47 /r          | RVM:wrr   |            | avx2
VPSLLVQ          | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 47 /r         | RVM:wrr   | full       | avx512f
VPSRLW           | vmm1, vmm2, imm8                             | VEX.VL.66.0F.WIG 71 /2 ib        | VMI:wrr   |            | avx/avx2
VPSRLW           | vmm1, vmm2, xmm3/m128                        | VEX.VL.66.0F.WIG D1 /r           | RVM:wrr   |            | avx/avx2
VPSRLW           | vmm1{k1}{z}, vmm2/mV, imm8                   | EVEX.VL.66.0F.WIG 71 /2 ib       | VMI:wrr   | fullmem    | avx512bw
VPSRLW           | vmm1{k1}{z}, vmm2, xmm3/m128                 | EVEX.VL.66.0F.WIG D1 /r          | RVM:wrr   | mem128     | avx512bw
VPSRLD           | vmm1, vmm2, imm8                             | VEX.VL.66.0F.WIG 72 /2 ib        | VMI:wrr   |            | avx/avx2
VPSRLD           | vmm1, vmm2, xmm3/m128                        | VEX.VL.66.0F.WIG D2 /r           | RVM:wrr   |            | avx/avx2
VPSRLD           | vmm1{k1}{z}, vmm2/mV/m32bcst, imm8           | EVEX.VL.66.0F.W0 72 /2 ib        | VMI:wrr   | full       | avx512f
VPSRLD           | vmm1{k1}{z}, vmm2, xmm3/m128                 | EVEX.VL.66.0F.W0 D2 /r           | RVM:wrr   | mem128     | avx512f
VPSRLQ           | vmm1, vmm2, imm8                             | VEX.VL.66.0F.WIG 73 /2 ib        | VMI:wrr   |            | avx/avx2
VPSRLQ           | vmm1, vmm2, xmm3/m128                        | VEX.VL.66.0F.WIG D3 /r           | RVM:wrr   |            | avx/avx2
VPSRLQ           | vmm1{k1}{z}, vmm2/mV/m64bcst, imm8           | EVEX.VL.66.0F.W1 73 /2 ib        | VMI:wrr   | full       | avx512f
VPSRLQ           | vmm1{k1}{z}, vmm2, xmm3/m128                 | EVEX.VL.66.0F.W1 D3 /r           | RVM:wrr   | mem128     | avx512f
VPSRLVD          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 45 /r          | RVM:wrr   |            | avx2
VPSRLVD          | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 45 /r         | RVM:wrr   | full       | avx512f
VPSRLVQ          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W1 45 /r          | RVM:wrr   |            | avx2
VPSRLVQ          | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 45 /r         | RVM:wrr   | full       | avx512f
VPSRAW           | vmm1, vmm2, imm8                             | VEX.VL.66.0F.WIG 71 /4 ib        | VMI:wrr   |            | avx/avx2
VPSRAW           | vmm1, vmm2, xmm3/m128                        | VEX.VL.66.0F.WIG E1 /r           | RVM:wrr   |            | avx/avx2
VPSRAW           | vmm1{k1}{z}, vmm2/mV, imm8                   | EVEX.VL.66.0F.WIG 71 /4 ib       | VMI:wrr   | fullmem    | avx512bw
VPSRAW           | vmm1{k1}{z}, vmm2, xmm3/m128                 | EVEX.VL.66.0F.WIG E1 /r          | RVM:wrr   | mem128     | avx512bw
VPSRAD           | vmm1, vmm2, imm8                             | VEX.VL.66.0F.WIG 72 /4 ib        | VMI:wrr   |            | avx/avx2
VPSRAD           | vmm1, vmm2, xmm3/m128                        | VEX.VL.66.0F.WIG E2 /r           | RVM:wrr   |            | avx/avx2
VPSRAD           | vmm1{k1}{z}, vmm2/mV/m32bcst, imm8           | EVEX.VL.66.0F.W0 72 /4 ib        | VMI:wrr   | full       | avx512f
VPSRAD           | vmm1{k1}{z}, vmm2, xmm3/m128                 | EVEX.VL.66.0F.W0 E2 /r           | RVM:wrr   | mem128     | avx512f
VPSRAQ           | vmm1{k1}{z}, vmm2/mV/m64bcst, imm8           | EVEX.VL.66.0F.W1 72 /4 ib        | VMI:wrr   | full       | avx512f
VPSRAQ           | vmm1{k1}{z}, vmm2, xmm3/m128                 | EVEX.VL.66.0F.W1 E2 /r           | RVM:wrr   | mem128     | avx512f
VPSRAVD          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 46 /r          | RVM:wrr   |            | avx2
VPSRAVD          | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 46 /r         | RVM:wrr   | full       | avx512f
VPSRAVQ          | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 46 /r         | RVM:wrr   | full       | avx512f
VPSRLVW          | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F38.W1 10 /r         | RVM:wrr   | fullmem    | avx512bw
VPSRAVW          | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F38.W1 11 /r         | RVM:wrr   | fullmem    | avx512bw
VPSLLVW          | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F38.W1 12 /r         | RVM:wrr   | fullmem    | avx512bw
VPSRLDQ          | vmm1, vmm2, imm8                             | VEX.VL.66.0F.WIG 73 /3 ib        | VMI:wrr   |            | avx/avx2
VPSRLDQ          | vmm1, vmm2/mV, imm8                          | EVEX.VL.66.0F.WIG 73 /3 ib       | VMI:wrr   | fullmem    | avx512bw
VPSLLDQ          | vmm1, vmm2, imm8                             | VEX.VL.66.0F.WIG 73 /7 ib        | VMI:wrr   |            | avx/avx2
VPSLLDQ          | vmm1, vmm2/mV, imm8                          | EVEX.VL.66.0F.WIG 73 /7 ib       | VMI:wrr   | fullmem    | avx512bw
VPRORD           | vmm1{k1}{z}, vmm2/mV/m32bcst, imm8           | EVEX.VL.66.0F.W0 72 /0 ib        | VMI:wrr   | full       | avx512f
VPRORVD          | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 14 /r         | RVM:wrr   | full       | avx512f
VPRORQ           | vmm1{k1}{z}, vmm2/mV/m64bcst, imm8           | EVEX.VL.66.0F.W1 72 /0 ib        | VMI:wrr   | full       | avx512f
VPRORVQ          | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 14 /r         | RVM:wrr   | full       | avx512f
VPROLD           | vmm1{k1}{z}, vmm2/mV/m32bcst, imm8           | EVEX.VL.66.0F.W0 72 /1 ib        | VMI:wrr   | full       | avx512f
VPROLVD          | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 15 /r         | RVM:wrr   | full       | avx512f
VPROLQ           | vmm1{k1}{z}, vmm2/mV/m64bcst, imm8           | EVEX.VL.66.0F.W1 72 /1 ib        | VMI:wrr   | full       | avx512f
VPROLVQ          | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 15 /r         | RVM:wrr   | full       | avx512f
# Blends
VBLENDVPS        | vmm1, vmm2, vmm3/mV, vmm4                    | VEX.VL.66.0F3A.W0 4A /r /is4     | RVML:wrrr |            | avx
VBLENDVPD        | vmm1, vmm2, vmm3/mV, vmm4                    | VEX.VL.66.0F3A.W0 4B /r /is4     | RVML:wrrr |            | avx
VPBLENDVB        | vmm1, vmm2, vmm3/mV, vmm4                    | VEX.VL.66.0F3A.W0 4C /r /is4     | RVML:wrrr |            | avx/avx2
VBLENDPS         | vmm1, vmm2, vmm3/mV, imm8                    | VEX.VL.66.0F3A.WIG 0C /r ib      | RVMI:wrrr |            | avx
VBLENDPD         | vmm1, vmm2, vmm3/mV, imm8                    | VEX.VL.66.0F3A.WIG 0D /r ib      | RVMI:wrrr |            | avx
VPBLENDW         | vmm1, vmm2, vmm3/mV, imm8                    | VEX.VL.66.0F3A.WIG 0E /r ib      | RVMI:wrrr |            | avx/avx2
VPBLENDD         | vmm1, vmm2, vmm3/mV, imm8                    | VEX.VL.66.0F3A.W0 02 /r ib       | RVMI:wrrr |            | avx2
VBLENDMPS        | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 65 /r         | RVM:wrr   | full       | avx512f
VBLENDMPD        | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 65 /r         | RVM:wrr   | full       | avx512f
VPBLENDMD        | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 64 /r         | RVM:wrr   | full       | avx512f
VPBLENDMQ        | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 64 /r         | RVM:wrr   | full       | avx512f
VPBLENDMB        | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F38.W0 66 /r         | RVM:wrr   | fullmem    | avx512bw
VPBLENDMW        | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F38.W1 66 /r         | RVM:wrr   | fullmem    | avx512bw
# Broadcasts
VBROADCASTSS     | vmm1, m32                                    | VEX.VL.66.0F38.W0 18 /r          | RM:wr     |            | avx
VBROADCASTSS     | vmm1, xmm2                                   | VEX.VL.66.0F38.W0 18 /r          | RM:wr     |            | avx2
VBROADCASTSS     | vmm1{k1}{z}, xmm2/m32                        | EVEX.VL.66.0F38.W0 18 /r         | RM:wr     | t1s        | avx512f
VBROADCASTSD     | ymm1, m64                                    | VEX.256.66.0F38.W0 19 /r         | RM:wr     |            | avx
VBROADCASTSD     | ymm1, xmm2                                   | VEX.256.66.0F38.W0 19 /r         | RM:wr     |            | avx2
VBROADCASTSD     | vmm1{k1}{z}, xmm2/m64                        | EVEX.256/512.66.0F38.W1 19 /r    | RM:wr     | t1s        | avx512f
VPBROADCASTB     | vmm1, xmm2/m8                                | VEX.VL.66.0F38.W0 78 /r          | RM:wr     |            | avx2
VPBROADCASTB     | vmm1{k1}{z}, xmm2/m8                         | EVEX.VL.66.0F38.W0 78 /r         | RM:wr     | t1s8       | avx512bw
VPBROADCASTW     | vmm1, xmm2/m16                               | VEX.VL.66.0F38.W0 79 /r          | RM:wr     |            | avx2
VPBROADCASTW     | vmm1{k1}{z}, xmm2/m16                        | EVEX.VL.66.0F38.W0 79 /r         | RM:wr     | t1s16      | avx512bw
VPBROADCASTD     | vmm1, xmm2/m32                               | VEX.VL.66.0F38.W0 58 /r          | RM:wr     |            | avx2
VPBROADCASTD     | vmm1{k1}{z}, xmm2/m32                        | EVEX.VL.66.0F38.W0 58 /r         | RM:wr     | t1s        | avx512f
VPBROADCASTQ     | vmm1, xmm2/m64                               | VEX.VL.66.0F38.W0 59 /r          | RM:wr     |            | avx2
VPBROADCASTQ     | vmm1{k1}{z}, xmm2/m64                        | EVEX.VL.66.0F38.W1 59 /r         | RM:wr     | t1s        | avx512f
VPBROADCASTB     | vmm1{k1}{z}, r32                             | EVEX.VL.66.0F38.W0 7A /r         | RM:wr     |            | avx512bw
VPBROADCASTW     | vmm1{k1}{z}, r32                             | EVEX.VL.66.0F38.W0 7B /r         | RM:wr     |            | avx512bw
VPBROADCASTD     | vmm1{k1}{z}, r32                             | EVEX.VL.66.0F38.W0 7C /r         | RM:wr     |            | avx512f
VPBROADCASTQ     | vmm1{k1}{z}, r64                             | EVEX.VL.66.0F38.W1 7C /r         | RM:wr     |            | avx512f
VBROADCASTF128   | ymm1, m128                                   | VEX.256.66.0F38.W0 1A /r         | RM:wr     |            | avx
VBROADCASTI128   | ymm1, m128                                   | VEX.256.66.0F38.W0 5A /r         | RM:wr     |            | avx2
VBROADCASTF32X4  | vmm1{k1}{z}, m128                            | EVEX.256/512.66.0F38.W0 1A /r    | RM:wr     | t4         | avx512f
VBROADCASTF64X2  | vmm1{k1}{z}, m128                            | EVEX.256/512.66.0F38.W1 1A /r    | RM:wr     | t2         | avx512dq
VBROADCASTF32X8  | zmm1{k1}{z}, m256                            | EVEX.512.66.0F38.W0 1B /r        | RM:wr     | t8         | avx512dq
VBROADCASTF64X4  | zmm1{k1}{z}, m256                            | EVEX.512.66.0F38.W1 1B /r        | RM:wr     | t4         | avx512f
VBROADCASTI32X4  | vmm1{k1}{z}, m128                            | EVEX.256/512.66.0F38.W0 5A /r    | RM:wr     | t4         | avx512f
VBROADCASTI64X2  | vmm1{k1}{z}, m128                            | EVEX.256/512.66.0F38.W1 5A /r    | RM:wr     | t2         | avx512dq
VBROADCASTI32X8  | zmm1{k1}{z}, m256                            | EVEX.512.66.0F38.W0 5B /r        | RM:wr     | t8         | avx512dq
VBROADCASTI64X4  | zmm1{k1}{z}, m256                            | EVEX.512.66.0F38.W1 5B /r        | RM:wr     | t4         | avx512f
VPMOVM2B         | vmm1, k1                                     | EVEX.VL.F3.0F38.W0 28 /r         | RM:wr     |            | avx512bw
VPMOVB2M         | k1, vmm1                                     | EVEX.VL.F3.0F38.W0 29 /r         | RM:wr     |            | avx512bw
VPMOVM2W         | vmm1, k1                                     | EVEX.VL.F3.0F38.W1 28 /r         | RM:wr     |            | avx512bw
VPMOVW2M         | k1, vmm1                                     | EVEX.VL.F3.0F38.W1 29 /r         | RM:wr     |            | avx512bw
VPMOVM2D         | vmm1, k1                                     | EVEX.VL.F3.0F38.W0 38 /r         | RM:wr     |            | avx512dq
VPMOVD2M         | k1, vmm1                                     | EVEX.VL.F3.0F38.W0 39 /r         | RM:wr     |            | avx512dq
VPMOVM2Q         | vmm1, k1                                     | EVEX.VL.F3.0F38.W1 38 /r         | RM:wr     |            | avx512dq
VPMOVQ2M         | k1, vmm1                                     | EVEX.VL.F3.0F38.W1 39 /r         | RM:wr     |            | avx512dq
# Widening and narrowing
VPMOVSXBW        | vmm1, hmm2/mH                                | VEX.VL.66.0F38.WIG 20 /r         | RM:wr     |            | avx/avx2
VPMOVSXBW        | vmm1{k1}{z}, hmm2/mH                         | EVEX.VL.66.0F38.WIG 20 /r        | RM:wr     | halfmem    | avx512bw
VPMOVSXBD        | vmm1, qmm2/mQ                                | VEX.VL.66.0F38.WIG 21 /r         | RM:wr     |            | avx/avx2
VPMOVSXBD        | vmm1{k1}{z}, qmm2/mQ                         | EVEX.VL.66.0F38.WIG 21 /r        | RM:wr     | quartermem | avx512f
VPMOVSXBQ        | vmm1, omm2/mO                                | VEX.VL.66.0F38.WIG 22 /r         | RM:wr     |            | avx/avx2
VPMOVSXBQ        | vmm1{k1}{z}, omm2/mO                         | EVEX.VL.66.0F38.WIG 22 /r        | RM:wr     | eighthmem  | avx512f
VPMOVSXWD        | vmm1, hmm2/mH                                | VEX.VL.66.0F38.WIG 23 /r         | RM:wr     |            | avx/avx2
VPMOVSXWD        | vmm1{k1}{z}, hmm2/mH                         | EVEX.VL.66.0F38.WIG 23 /r        | RM:wr     | halfmem    | avx512f
VPMOVSXWQ        | vmm1, qmm2/mQ                                | VEX.VL.66.0F38.WIG 24 /r         | RM:wr     |            | avx/avx2
VPMOVSXWQ        | vmm1{k1}{z}, qmm2/mQ                         | EVEX.VL.66.0F38.WIG 24 /r        | RM:wr     | quartermem | avx512f
VPMOVSXDQ        | vmm1, hmm2/mH                                | VEX.VL.66.0F38.WIG 25 /r         | RM:wr     |            | avx/avx2
VPMOVSXDQ        | vmm1{k1}{z}, hmm2/mH                         | EVEX.VL.66.0F38.W0 25 /r         | RM:wr     | halfmem    | avx512f
VPMOVZXBW        | vmm1, hmm2/mH                                | VEX.VL.66.0F38.WIG 30 /r         | RM:wr     |            | avx/avx2
VPMOVZXBW        | vmm1{k1}{z}, hmm2/mH                         | EVEX.VL.66.0F38.WIG 30 /r        | RM:wr     | halfmem    | avx512bw
VPMOVZXBD        | vmm1, qmm2/mQ                                | VEX.VL.66.0F38.WIG 31 /r         | RM:wr     |            | avx/avx2
VPMOVZXBD        | vmm1{k1}{z}, qmm2/mQ                         | EVEX.VL.66.0F38.WIG 31 /r        | RM:wr     | quartermem | avx512f
VPMOVZXBQ        | vmm1, omm2/mO                                | VEX.VL.66.0F38.WIG 32 /r         | RM:wr     |            | avx/avx2
VPMOVZXBQ        | vmm1{k1}{z}, omm2/mO                         | EVEX.VL.66.0F38.WIG 32 /r        | RM:wr     | eighthmem  | avx512f
VPMOVZXWD        | vmm1, hmm2/mH                                | VEX.VL.66.0F38.WIG 33 /r         | RM:wr     |            | avx/avx2
VPMOVZXWD        | vmm1{k1}{z}, hmm2/mH                         | EVEX.VL.66.0F38.WIG 33 /r        | RM:wr     | halfmem    | avx512f
VPMOVZXWQ        | vmm1, qmm2/mQ                                | VEX.VL.66.0F38.WIG 34 /r         | RM:wr     |            | avx/avx2
VPMOVZXWQ        | vmm1{k1}{z}, qmm2/mQ                         | EVEX.VL.66.0F38.WIG 34 /r        | RM:wr     | quartermem | avx512f
VPMOVZXDQ        | vmm1, hmm2/mH                                | VEX.VL.66.0F38.WIG 35 /r         | RM:wr     |            | avx/avx2
VPMOVZXDQ        | vmm1{k1}{z}, hmm2/mH                         | EVEX.VL.66.0F38.W0 35 /r         | RM:wr     | halfmem    | avx512f
VPMOVWB          | hmm1/mH{k1}{z}, vmm2                         | EVEX.VL.F3.0F38.W0 30 /r         | MR:wr     | halfmem    | avx512bw
VPMOVDB          | qmm1/mQ{k1}{z}, vmm2                         | EVEX.VL.F3.0F38.W0 31 /r         | MR:wr     | quartermem | avx512f
VPMOVQB          | omm1/mO{k1}{z}, vmm2                         | EVEX.VL.F3.0F38.W0 32 /r         | MR:wr     | eighthmem  | avx512f
VPMOVDW          | hmm1/mH{k1}{z}, vmm2                         | EVEX.VL.F3.0F38.W0 33 /r         | MR:wr     | halfmem    | avx512f
VPMOVQW          | qmm1/mQ{k1}{z}, vmm2                         | EVEX.VL.F3.0F38.W0 34 /r         | MR:wr     | quartermem | avx512f
VPMOVQD          | hmm1/mH{k1}{z}, vmm2                         | EVEX.VL.F3.0F38.W0 35 /r         | MR:wr     | halfmem    | avx512f
VPMOVSWB         | hmm1/mH{k1}{z}, vmm2                         | EVEX.VL.F3.0F38.W0 20 /r         | MR:wr     | halfmem    | avx512bw
VPMOVSDB         | qmm1/mQ{k1}{z}, vmm2                         | EVEX.VL.F3.0F38.W0 21 /r         | MR:wr     | quartermem | avx512f
VPMOVSQB         | omm1/mO{k1}{z}, vmm2                         | EVEX.VL.F3.0F38.W0 22 /r         | MR:wr     | eighthmem  | avx512f
VPMOVSDW         | hmm1/mH{k1}{z}, vmm2                         | EVEX.VL.F3.0F38.W0 23 /r         | MR:wr     | halfmem    | avx512f
VPMOVSQW         | qmm1/mQ{k1}{z}, vmm2                         | EVEX.VL.F3.0F38.W0 24 /r         | MR:wr     | quartermem | avx512f
VPMOVSQD         | hmm1/mH{k1}{z}, vmm2                         | EVEX.VL.F3.0F38.W0 25 /r         | MR:wr     | halfmem    | avx512f
VPMOVUSWB        | hmm1/mH{k1}{z}, vmm2                         | EVEX.VL.F3.0F38.W0 10 /r         | MR:wr     | halfmem    | avx512bw
VPMOVUSDB        | qmm1/mQ{k1}{z}, vmm2                         | EVEX.VL.F3.0F38.W0 11 /r         | MR:wr     | quartermem | avx512f
VPMOVUSQB        | omm1/mO{k1}{z}, vmm2                         | EVEX.VL.F3.0F38.W0 12 /r         | MR:wr     | eighthmem  | avx512f
VPMOVUSDW        | hmm1/mH{k1}{z}, vmm2                         | EVEX.VL.F3.0F38.W0 13 /r         | MR:wr     | halfmem    | avx512f
VPMOVUSQW        | qmm1/mQ{k1}{z}, vmm2                         | EVEX.VL.F3.0F38.W0 14 /r         | MR:wr     | quartermem | avx512f
VPMOVUSQD        | hmm1/mH{k1}{z}, vmm2                         | EVEX.VL.F3.0F38.W0 15 /r         | MR:wr     | halfmem    | avx512f
VPACKSSWB        | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 63 /r           | RVM:wrr   |            | avx/avx2
VPACKSSWB        | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG 63 /r          | RVM:wrr   | fullmem    | avx512bw
VPACKSSDW        | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 6B /r           | RVM:wrr   |            | avx/avx2
VPACKSSDW        | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F.W0 6B /r           | RVM:wrr   | full       | avx512bw
VPACKUSWB        | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 67 /r           | RVM:wrr   |            | avx/avx2
VPACKUSWB        | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG 67 /r          | RVM:wrr   | fullmem    | avx512bw
VPACKUSDW        | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 2B /r         | RVM:wrr   |            | avx/avx2
VPACKUSDW        | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 2B /r         | RVM:wrr   | full       | avx512bw
# Shuffles and permutations
VUNPCKLPS        | vmm1, vmm2, vmm3/mV                          | VEX.VL.0F.WIG 14 /r              | RVM:wrr   |            | avx
VUNPCKLPS        | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.0F.W0 14 /r              | RVM:wrr   | full       | avx512f
VUNPCKLPD        | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 14 /r           | RVM:wrr   |            | avx
VUNPCKLPD        | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F.W1 14 /r           | RVM:wrr   | full       | avx512f
VUNPCKHPS        | vmm1, vmm2, vmm3/mV                          | VEX.VL.0F.WIG 15 /r              | RVM:wrr   |            | avx
VUNPCKHPS        | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.0F.W0 15 /r              | RVM:wrr   | full       | avx512f
VUNPCKHPD        | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 15 /r           | RVM:wrr   |            | avx
VUNPCKHPD        | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F.W1 15 /r           | RVM:wrr   | full       | avx512f
VSHUFPS          | vmm1, vmm2, vmm3/mV, imm8                    | VEX.VL.0F.WIG C6 /r ib           | RVMI:wrrr |            | avx
VSHUFPS          | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst, imm8     | EVEX.VL.0F.W0 C6 /r ib           | RVMI:wrrr | full       | avx512f
VSHUFPD          | vmm1, vmm2, vmm3/mV, imm8                    | VEX.VL.66.0F.WIG C6 /r ib        | RVMI:wrrr |            | avx
VSHUFPD          | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst, imm8     | EVEX.VL.66.0F.W1 C6 /r ib        | RVMI:wrrr | full       | avx512f
VPUNPCKLBW       | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 60 /r           | RVM:wrr   |            | avx/avx2
VPUNPCKLBW       | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG 60 /r          | RVM:wrr   | fullmem    | avx512bw
VPUNPCKLWD       | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 61 /r           | RVM:wrr   |            | avx/avx2
VPUNPCKLWD       | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG 61 /r          | RVM:wrr   | fullmem    | avx512bw
VPUNPCKLDQ       | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 62 /r           | RVM:wrr   |            | avx/avx2
VPUNPCKLDQ       | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F.W0 62 /r           | RVM:wrr   | full       | avx512f
VPUNPCKLQDQ      | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 6C /r           | RVM:wrr   |            | avx/avx2
VPUNPCKLQDQ      | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F.W1 6C /r           | RVM:wrr   | full       | avx512f
VPUNPCKHBW       | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 68 /r           | RVM:wrr   |            | avx/avx2
VPUNPCKHBW       | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG 68 /r          | RVM:wrr   | fullmem    | avx512bw
VPUNPCKHWD       | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 69 /r           | RVM:wrr   |            | avx/avx2
VPUNPCKHWD       | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F.WIG 69 /r          | RVM:wrr   | fullmem    | avx512bw
VPUNPCKHDQ       | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 6A /r           | RVM:wrr   |            | avx/avx2
VPUNPCKHDQ       | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F.W0 6A /r           | RVM:wrr   | full       | avx512f
VPUNPCKHQDQ      | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F.WIG 6D /r           | RVM:wrr   |            | avx/avx2
VPUNPCKHQDQ      | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F.W1 6D /r           | RVM:wrr   | full       | avx512f
VPSHUFB          | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.WIG 00 /r         | RVM:wrr   |            | avx/avx2
VPSHUFB          | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F38.WIG 00 /r        | RVM:wrr   | fullmem    | avx512bw
VPSHUFD          | vmm1, vmm2/mV, imm8                          | VEX.VL.66.0F.WIG 70 /r ib        | RMI:wrr   |            | avx/avx2
VPSHUFD          | vmm1{k1}{z}, vmm2/mV/m32bcst, imm8           | EVEX.VL.66.0F.W0 70 /r ib        | RMI:wrr   | full       | avx512f
VPSHUFHW         | vmm1, vmm2/mV, imm8                          | VEX.VL.F3.0F.WIG 70 /r ib        | RMI:wrr   |            | avx/avx2
VPSHUFHW         | vmm1{k1}{z}, vmm2/mV, imm8                   | EVEX.VL.F3.0F.WIG 70 /r ib       | RMI:wrr   | fullmem    | avx512bw
VPSHUFLW         | vmm1, vmm2/mV, imm8                          | VEX.VL.F2.0F.WIG 70 /r ib        | RMI:wrr   |            | avx/avx2
VPSHUFLW         | vmm1{k1}{z}, vmm2/mV, imm8                   | EVEX.VL.F2.0F.WIG 70 /r ib       | RMI:wrr   | fullmem    | avx512bw
VPCLMULQDQ       | vmm1, vmm2, vmm3/mV, imm8                    | VEX.VL.66.0F3A.WIG 44 /r ib      | RVMI:wrrr |            | pclmulqdq/vpclmulqdq avx
VPCLMULQDQ       | vmm1, vmm2, vmm3/mV, imm8                    | EVEX.VL.66.0F3A.WIG 44 /r ib     | RVMI:wrrr | fullmem    | vpclmulqdq avx512f
VPALIGNR         | vmm1, vmm2, vmm3/mV, imm8                    | VEX.VL.66.0F3A.WIG 0F /r ib      | RVMI:wrrr |            | avx/avx2
VPALIGNR         | vmm1{k1}{z}, vmm2, vmm3/mV, imm8             | EVEX.VL.66.0F3A.WIG 0F /r ib     | RVMI:wrrr | fullmem    | avx512bw
VALIGND          | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst, imm8     | EVEX.VL.66.0F3A.W0 03 /r ib      | RVMI:wrrr | full       | avx512f
VALIGNQ          | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst, imm8     | EVEX.VL.66.0F3A.W1 03 /r ib      | RVMI:wrrr | full       | avx512f
VPERMILPS        | vmm1, vmm2/mV, imm8                          | VEX.VL.66.0F3A.W0 04 /r ib       | RMI:wrr   |            | avx
VPERMILPS        | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 0C /r          | RVM:wrr   |            | avx
VPERMILPS        | vmm1{k1}{z}, vmm2/mV/m32bcst, imm8           | EVEX.VL.66.0F3A.W0 04 /r ib      | RMI:wrr   | full       | avx512f
VPERMILPS        | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 0C /r         | RVM:wrr   | full       | avx512f
VPERMILPD        | vmm1, vmm2/mV, imm8                          | VEX.VL.66.0F3A.W0 05 /r ib       | RMI:wrr   |            | avx
VPERMILPD        | vmm1, vmm2, vmm3/mV                          | VEX.VL.66.0F38.W0 0D /r          | RVM:wrr   |            | avx
VPERMILPD        | vmm1{k1}{z}, vmm2/mV/m64bcst, imm8           | EVEX.VL.66.0F3A.W1 05 /r ib      | RMI:wrr   | full       | avx512f
VPERMILPD        | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 0D /r         | RVM:wrr   | full       | avx512f
VPERMQ           | ymm1, ymm2/m256, imm8                        | VEX.256.66.0F3A.W1 00 /r ib      | RMI:wrr   |            | avx2
VPERMQ           | vmm1{k1}{z}, vmm2/mV/m64bcst, imm8           | EVEX.256/512.66.0F3A.W1 00 /r ib | RMI:wrr   | full       | avx512f
VPERMQ           | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.256/512.66.0F38.W1 36 /r    | RVM:wrr   | full       | avx512f
VPERMPD          | ymm1, ymm2/m256, imm8                        | VEX.256.66.0F3A.W1 01 /r ib      | RMI:wrr   |            | avx2
VPERMPD          | vmm1{k1}{z}, vmm2/mV/m64bcst, imm8           | EVEX.256/512.66.0F3A.W1 01 /r ib | RMI:wrr   | full       | avx512f
VPERMPD          | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.256/512.66.0F38.W1 16 /r    | RVM:wrr   | full       | avx512f
VPERMD           | ymm1, ymm2, ymm3/m256                        | VEX.256.66.0F38.W0 36 /r         | RVM:wrr   |            | avx2
VPERMD           | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.256/512.66.0F38.W0 36 /r    | RVM:wrr   | full       | avx512f
VPERMPS          | ymm1, ymm2, ymm3/m256                        | VEX.256.66.0F38.W0 16 /r         | RVM:wrr   |            | avx2
VPERMPS          | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.256/512.66.0F38.W0 16 /r    | RVM:wrr   | full       | avx512f
VPERMW           | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F38.W1 8D /r         | RVM:wrr   | fullmem    | avx512bw
VPERMB           | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F38.W0 8D /r         | RVM:wrr   | fullmem    | avx512vbmi
VPERMI2B         | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F38.W0 75 /r         | RVM:xrr   | fullmem    | avx512vbmi
VPERMI2W         | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F38.W1 75 /r         | RVM:xrr   | fullmem    | avx512bw
VPERMI2D         | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 76 /r         | RVM:xrr   | full       | avx512f
VPERMI2Q         | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 76 /r         | RVM:xrr   | full       | avx512f
VPERMI2PS        | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 77 /r         | RVM:xrr   | full       | avx512f
VPERMI2PD        | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 77 /r         | RVM:xrr   | full       | avx512f
VPERMT2B         | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F38.W0 7D /r         | RVM:xrr   | fullmem    | avx512vbmi
VPERMT2W         | vmm1{k1}{z}, vmm2, vmm3/mV                   | EVEX.VL.66.0F38.W1 7D /r         | RVM:xrr   | fullmem    | avx512bw
VPERMT2D         | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 7E /r         | RVM:xrr   | full       | avx512f
VPERMT2Q         | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 7E /r         | RVM:xrr   | full       | avx512f
VPERMT2PS        | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst           | EVEX.VL.66.0F38.W0 7F /r         | RVM:xrr   | full       | avx512f
VPERMT2PD        | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst           | EVEX.VL.66.0F38.W1 7F /r         | RVM:xrr   | full       | avx512f
VPERM2F128       | ymm1, ymm2, ymm3/m256, imm8                  | VEX.256.66.0F3A.W0 06 /r ib      | RVMI:wrrr |            | avx
VPERM2I128       | ymm1, ymm2, ymm3/m256, imm8                  | VEX.256.66.0F3A.W0 46 /r ib      | RVMI:wrrr |            | avx2
VSHUFF32X4       | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst, imm8     | EVEX.256/512.66.0F3A.W0 23 /r ib | RVMI:wrrr | full       | avx512f
VSHUFF64X2       | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst, imm8     | EVEX.256/512.66.0F3A.W1 23 /r ib | RVMI:wrrr | full       | avx512f
VSHUFI32X4       | vmm1{k1}{z}, vmm2, vmm3/mV/m32bcst, imm8     | EVEX.256/512.66.0F3A.W0 43 /r ib | RVMI:wrrr | full       | avx512f
VSHUFI64X2       | vmm1{k1}{z}, vmm2, vmm3/mV/m64bcst, imm8     | EVEX.256/512.66.0F3A.W1 43 /r ib | RVMI:wrrr | full       | avx512f
VINSERTF128      | ymm1, ymm2, xmm3/m128, imm8                  | VEX.256.66.0F3A.W0 18 /r ib      | RVMI:wrrr |            | avx
VEXTRACTF128     | xmm1/m128, ymm2, imm8                        | VEX.256.66.0F3A.W0 19 /r ib      | MRI:wrr   |            | avx
VINSERTF32X4     | vmm1{k1}{z}, vmm2, xmm3/m128, imm8           | EVEX.256/512.66.0F3A.W0 18 /r ib | RVMI:wrrr | t4         | avx512f
VEXTRACTF32X4    | xmm1/m128{k1}{z}, vmm2, imm8                 | EVEX.256/512.66.0F3A.W0 19 /r ib | MRI:wrr   | t4         | avx512f
VINSERTF64X2     | vmm1{k1}{z}, vmm2, xmm3/m128, imm8           | EVEX.256/512.66.0F3A.W1 18 /r ib | RVMI:wrrr | t2         | avx512dq
VEXTRACTF64X2    | xmm1/m128{k1}{z}, vmm2, imm8                 | EVEX.256/512.66.0F3A.W1 19 /r ib | MRI:wrr   | t2         | avx512dq
VINSERTF32X8     | zmm1{k1}{z}, zmm2, ymm3/m256, imm8           | EVEX.512.66.0F3A.W0 1A /r ib     | RVMI:wrrr | t8         | avx512dq
VEXTRACTF32X8    | ymm1/m256{k1}{z}, zmm2, imm8                 | EVEX.512.66.0F3A.W0 1B /r ib     | MRI:wrr   | t8         | avx512dq
VINSERTF64X4     | zmm1{k1}{z}, zmm2, ymm3/m256, imm8           | EVEX.512.66.0F3A.W1 1A /r ib     | RVMI:wrrr | t4         | avx512f
VEXTRACTF64X4    | ymm1/m256{k1}{z}, zmm2, imm8                 | EVEX.512.66.0F3A.W1 1B /r ib     | MRI:wrr   | t4         | avx512f
VINSERTI128      | ymm1, ymm2, xmm3/m128, imm8                  | VEX.256.66.0F3A.W0 38 /r ib      | RVMI:wrrr |            | avx2
VEXTRACTI128     | xmm1/m128, ymm2, imm8                        | VEX.256.66.0F3A.W0 39 /r ib      | MRI:wrr   |            | avx2
VINSERTI32X4     | vmm1{k1}{z}, vmm2, xmm3/m128, imm8           | EVEX.256/512.66.0F3A.W0 38 /r ib | RVMI:wrrr | t4         | avx512f
VEXTRACTI32X4    | xmm1/m128{k1}{z}, vmm2, imm8                 | EVEX.256/512.66.0F3A.W0 39 /r ib | MRI:wrr   | t4         | avx512f
VINSERTI64X2     | vmm1{k1}{z}, vmm2, xmm3/m128, imm8           | EVEX.256/512.66.0F3A.W1 38 /r ib | RVMI:wrrr | t2         | avx512dq
VEXTRACTI64X2    | xmm1/m128{k1}{z}, vmm2, imm8                 | EVEX.256/512.66.0F3A.W1 39 /r ib | MRI:wrr   | t2         | avx512dq
VINSERTI32X8     | zmm1{k1}{z}, zmm2, ymm3/m256, imm8           | EVEX.512.66.0F3A.W0 3A /r ib     | RVMI:wrrr | t8         | avx512dq
VEXTRACTI32X8    | ymm1/m256{k1}{z}, zmm2, imm8                 | EVEX.512.66.0F3A.W0 3B /r ib     | MRI:wrr   | t8         | avx512dq
VINSERTI64X4     | zmm1{k1}{z}, zmm2, ymm3/m256, imm8           | EVEX.512.66.0F3A.W1 3A /r ib     | RVMI:wrrr | t4         | avx512f
VEXTRACTI64X4    | ymm1/m256{k1}{z}, zmm2, imm8                 | EVEX.512.66.0F3A.W1 3B /r ib     | MRI:wrr   | t4         | avx512f
VINSERTPS        | xmm1, xmm2, xmm3/m32, imm8                   | VEX.128.66.0F3A.WIG 21 /r ib     | RVMI:wrrr |            | avx
VINSERTPS        | xmm1, xmm2, xmm3/m32, imm8                   | EVEX.128.66.0F3A.W0 21 /r ib     | RVMI:wrrr | t1s        | avx512f
VEXTRACTPS       | r/m32, xmm1, imm8                            | VEX.128.66.0F3A.WIG 17 /r ib     | MRI:wrr   |            | avx
VEXTRACTPS       | r/m32, xmm1, imm8                            | EVEX.128.66.0F3A.WIG 17 /r ib    | MRI:wrr   | t1s        | avx512f
VPINSRB          | xmm1, xmm2, r32/m8, imm8                     | VEX.128.66.0F3A.W0 20 /r ib      | RVMI:wrrr |            | avx
VPINSRB          | xmm1, xmm2, r32/m8, imm8                     | EVEX.128.66.0F3A.WIG 20 /r ib    | RVMI:wrrr | t1s8       | avx512bw
VPINSRW          | xmm1, xmm2, r32/m16, imm8                    | VEX.128.66.0F.W0 C4 /r ib        | RVMI:wrrr |            | avx
VPINSRW          | xmm1, xmm2, r32/m16, imm8                    | EVEX.128.66.0F.WIG C4 /r ib      | RVMI:wrrr | t1s16      | avx512bw
VPINSRD          | xmm1, xmm2, r/m32, imm8                      | VEX.128.66.0F3A.W0 22 /r ib      | RVMI:wrrr |            | avx
VPINSRD          | xmm1, xmm2, r/m32, imm8                      | EVEX.128.66.0F3A.W0 22 /r ib     | RVMI:wrrr | t1s        | avx512dq
VPINSRQ          | xmm1, xmm2, r/m64, imm8                      | VEX.128.66.0F3A.W1 22 /r ib      | RVMI:wrrr |            | avx
VPINSRQ          | xmm1, xmm2, r/m64, imm8                      | EVEX.128.66.0F3A.W1 22 /r ib     | RVMI:wrrr | t1s        | avx512dq
VPEXTRB          | r32/m8, xmm2, imm8                           | VEX.128.66.0F3A.W0 14 /r ib      | MRI:wrr   |            | avx
VPEXTRB          | r32/m8, xmm2, imm8                           | EVEX.128.66.0F3A.WIG 14 /r ib    | MRI:wrr   | t1s8       | avx512bw
VPEXTRW          | r32/m16, xmm2, imm8                          | VEX.128.66.0F3A.W0 15 /r ib      | MRI:wrr   |            | avx
VPEXTRW          | r32/m16, xmm2, imm8                          | EVEX.128.66.0F3A.WIG 15 /r ib    | MRI:wrr   | t1s16      | avx512bw
VPEXTRD          | r/m32, xmm2, imm8                            | VEX.128.66.0F3A.W0 16 /r ib      | MRI:wrr   |            | avx
VPEXTRD          | r/m32, xmm2, imm8                            | EVEX.128.66.0F3A.W0 16 /r ib     | MRI:wrr   | t1s        | avx512dq
VPEXTRQ          | r/m64, xmm2, imm8                            | VEX.128.66.0F3A.W1 16 /r ib      | MRI:wrr   |            | avx
VPEXTRQ          | r/m64, xmm2, imm8                            | EVEX.128.66.0F3A.W1 16 /r ib     | MRI:wrr   | t1s        | avx512dq
VCOMPRESSPS      | vmm1/mV{k1}{z}, vmm2                         | EVEX.VL.66.0F38.W0 8A /r         | MR:wr     | t1s        | avx512f
VCOMPRESSPD      | vmm1/mV{k1}{z}, vmm2                         | EVEX.VL.66.0F38.W1 8A /r         | MR:wr     | t1s        | avx512f
VPCOMPRESSD      | vmm1/mV{k1}{z}, vmm2                         | EVEX.VL.66.0F38.W0 8B /r         | MR:wr     | t1s        | avx512f
VPCOMPRESSQ      | vmm1/mV{k1}{z}, vmm2                         | EVEX.VL.66.0F38.W1 8B /r         | MR:wr     | t1s        | avx512f
VEXPANDPS        | vmm1{k1}{z}, vmm2/mV                         | EVEX.VL.66.0F38.W0 88 /r         | RM:wr     | t1s        | avx512f
VEXPANDPD        | vmm1{k1}{z}, vmm2/mV                         | EVEX.VL.66.0F38.W1 88 /r         | RM:wr     | t1s        | avx512f
VPEXPANDD        | vmm1{k1}{z}, vmm2/mV                         | EVEX.VL.66.0F38.W0 89 /r         | RM:wr     | t1s        | avx512f
VPEXPANDQ        | vmm1{k1}{z}, vmm2/mV                         | EVEX.VL.66.0F38.W1 89 /r         | RM:wr     | t1s        | avx512f
# Masked loads and stores, gathers, scatters
VMASKMOVPS       | vmm1, vmm2, mV                               | VEX.VL.66.0F38.W0 2C /r          | RVM:wrr   |            | avx
VMASKMOVPS       | mV, vmm1, vmm2                               | VEX.VL.66.0F38.W0 2E /r          | MVR:wrr   |            | avx
VMASKMOVPD       | vmm1, vmm2, mV                               | VEX.VL.66.0F38.W0 2D /r          | RVM:wrr   |            | avx
VMASKMOVPD       | mV, vmm1, vmm2                               | VEX.VL.66.0F38.W0 2F /r          | MVR:wrr   |            | avx
VPMASKMOVD       | vmm1, vmm2, mV                               | VEX.VL.66.0F38.W0 8C /r          | RVM:wrr   |            | avx2
VPMASKMOVD       | mV, vmm1, vmm2                               | VEX.VL.66.0F38.W0 8E /r          | MVR:wrr   |            | avx2
VPMASKMOVQ       | vmm1, vmm2, mV                               | VEX.VL.66.0F38.W1 8C /r          | RVM:wrr   |            | avx2
VPMASKMOVQ       | mV, vmm1, vmm2                               | VEX.VL.66.0F38.W1 8E /r          | MVR:wrr   |            | avx2
VGATHERDPS       | xmm1, vm32x, xmm2                            | VEX.128.66.0F38.W0 92 /r         | RMV:xrx   |            | avx2
VGATHERDPS       | ymm1, vm32y, ymm2                            | VEX.256.66.0F38.W0 92 /r         | RMV:xrx   |            | avx2
VGATHERDPS       | xmm1{k1}, vm32x                              | EVEX.128.66.0F38.W0 92 /r        | RM:xr     | t1s        | avx512f avx512vl
VGATHERDPS       | ymm1{k1}, vm32y                              | EVEX.256.66.0F38.W0 92 /r        | RM:xr     | t1s        | avx512f avx512vl
VGATHERDPS       | zmm1{k1}, vm32z                              | EVEX.512.66.0F38.W0 92 /r        | RM:xr     | t1s        | avx512f
VSCATTERDPS      | vm32x{k1}, xmm1                              | EVEX.128.66.0F38.W0 A2 /r        | MR:wr     | t1s        | avx512f avx512vl
VSCATTERDPS      | vm32y{k1}, ymm1                              | EVEX.256.66.0F38.W0 A2 /r        | MR:wr     | t1s        | avx512f avx512vl
VSCATTERDPS      | vm32z{k1}, zmm1                              | EVEX.512.66.0F38.W0 A2 /r        | MR:wr     | t1s        | avx512f
VGATHERDPD       | xmm1, vm32x, xmm2                            | VEX.128.66.0F38.W1 92 /r         | RMV:xrx   |            | avx2
VGATHERDPD       | ymm1, vm32x, ymm2                            | VEX.256.66.0F38.W1 92 /r         | RMV:xrx   |            | avx2
VGATHERDPD       | xmm1{k1}, vm32x                              | EVEX.128.66.0F38.W1 92 /r        | RM:xr     | t1s        | avx512f avx512vl
VGATHERDPD       | ymm1{k1}, vm32x                              | EVEX.256.66.0F38.W1 92 /r        | RM:xr     | t1s        | avx512f avx512vl
VGATHERDPD       | zmm1{k1}, vm32y                              | EVEX.512.66.0F38.W1 92 /r        | RM:xr     | t1s        | avx512f
VSCATTERDPD      | vm32x{k1}, xmm1                              | EVEX.128.66.0F38.W1 A2 /r        | MR:wr     | t1s        | avx512f avx512vl
VSCATTERDPD      | vm32x{k1}, ymm1                              | EVEX.256.66.0F38.W1 A2 /r        | MR:wr     | t1s        | avx512f avx512vl
VSCATTERDPD      | vm32y{k1}, zmm1                              | EVEX.512.66.0F38.W1 A2 /r        | MR:wr     | t1s        | avx512f
VGATHERQPS       | xmm1, vm64x, xmm2                            | VEX.128.66.0F38.W0 93 /r         | RMV:xrx   |            | avx2
VGATHERQPS       | xmm1, vm64y, xmm2                            | VEX.256.66.0F38.W0 93 /r         | RMV:xrx   |            | avx2
VGATHERQPS       | xmm1{k1}, vm64x                              | EVEX.128.66.0F38.W0 93 /r        | RM:xr     | t1s        | avx512f avx512vl
VGATHERQPS       | xmm1{k1}, vm64y                              | EVEX.256.66.0F38.W0 93 /r        | RM:xr     | t1s        | avx512f avx512vl
VGATHERQPS       | ymm1{k1}, vm64z                              | EVEX.512.66.0F38.W0 93 /r        | RM:xr     | t1s        | avx512f
VSCATTERQPS      | vm64x{k1}, xmm1                              | EVEX.128.66.0F38.W0 A3 /r        | MR:wr     | t1s        | avx512f avx512vl
VSCATTERQPS      | vm64y{k1}, xmm1                              | EVEX.256.66.0F38.W0 A3 /r        | MR:wr     | t1s        | avx512f avx512vl
VSCATTERQPS      | vm64z{k1}, ymm1                              | EVEX.512.66.0F38.W0 A3 /r        | MR:wr     | t1s        | avx512f
VGATHERQPD       | xmm1, vm64x, xmm2                            | VEX.128.66.0F38.W1 93 /r         | RMV:xrx   |            | avx2
VGATHERQPD       | ymm1, vm64y, ymm2                            | VEX.256.66.0F38.W1 93 /r         | RMV:xrx   |            | avx2
VGATHERQPD       | xmm1{k1}, vm64x                              | EVEX.128.66.0F38.W1 93 /r        | RM:xr     | t1s        | avx512f avx512vl
VGATHERQPD       | ymm1{k1}, vm64y                              | EVEX.256.66.0F38.W1 93 /r        | RM:xr     | t1s        | avx512f avx512vl
VGATHERQPD       | zmm1{k1}, vm64z                              | EVEX.512.66.0F38.W1 93 /r        | RM:xr     | t1s        | avx512f
VSCATTERQPD      | vm64x{k1}, xmm1                              | EVEX.128.66.0F38.W1 A3 /r        | MR:wr     | t1s        | avx512f avx512vl
VSCATTERQPD      | vm64y{k1}, ymm1                              | EVEX.256.66.0F38.W1 A3 /r        | MR:wr     | t1s        | avx512f avx512vl
VSCATTERQPD      | vm64z{k1}, zmm1                              | EVEX.512.66.0F38.W1 A3 /r        | MR:wr     | t1s        | avx512f
VPGATHERDD       | xmm1, vm32x, xmm2                            | VEX.128.66.0F38.W0 90 /r         | RMV:xrx   |            | avx2
VPGATHERDD       | ymm1, vm32y, ymm2                            | VEX.256.66.0F38.W0 90 /r         | RMV:xrx   |            | avx2
VPGATHERDD       | xmm1{k1}, vm32x                              | EVEX.128.66.0F38.W0 90 /r        | RM:xr     | t1s        | avx512f avx512vl
VPGATHERDD       | ymm1{k1}, vm32y                              | EVEX.256.66.0F38.W0 90 /r        | RM:xr     | t1s        | avx512f avx512vl
VPGATHERDD       | zmm1{k1}, vm32z                              | EVEX.512.66.0F38.W0 90 /r        | RM:xr     | t1s        | avx512f
VPSCATTERDD      | vm32x{k1}, xmm1                              | EVEX.128.66.0F38.W0 A0 /r        | MR:wr     | t1s        | avx512f avx512vl
VPSCATTERDD      | vm32y{k1}, ymm1                              | EVEX.256.66.0F38.W0 A0 /r        | MR:wr     | t1s        | avx512f avx512vl
VPSCATTERDD      | vm32z{k1}, zmm1                              | EVEX.512.66.0F38.W0 A0 /r        | MR:wr     | t1s        | avx512f
VPGATHERDQ       | xmm1, vm32x, xmm2                            | VEX.128.66.0F38.W1 90 /r         | RMV:xrx   |            | avx2
VPGATHERDQ       | ymm1, vm32x, ymm2                            | VEX.256.66.0F38.W1 90 /r         | RMV:xrx   |            | avx2
VPGATHERDQ       | xmm1{k1}, vm32x                              | EVEX.128.66.0F38.W1 90 /r        | RM:xr     | t1s        | avx512f avx512vl
VPGATHERDQ       | ymm1{k1}, vm32x                              | EVEX.256.66.0F38.W1 90 /r        | RM:xr     | t1s        | avx512f avx512vl
VPGATHERDQ       | zmm1{k1}, vm32y                              | EVEX.512.66.0F38.W1 90 /r        | RM:xr     | t1s        | avx512f
VPSCATTERDQ      | vm32x{k1}, xmm1                              | EVEX.128.66.0F38.W1 A0 /r        | MR:wr     | t1s        | avx512f avx512vl
VPSCATTERDQ      | vm32x{k1}, ymm1                              | EVEX.256.66.0F38.W1 A0 /r        | MR:wr     | t1s        | avx512f avx512vl
VPSCATTERDQ      | vm32y{k1}, zmm1                              | EVEX.512.66.0F38.W1 A0 /r        | MR:wr     | t1s        | avx512f
VPGATHERQD       | xmm1, vm64x, xmm2                            | VEX.128.66.0F38.W0 91 /r         | RMV:xrx   |            | avx2
VPGATHERQD       | xmm1, vm64y, xmm2                            | VEX.256.66.0F38.W0 91 /r         | RMV:xrx   |            | avx2
VPGATHERQD       | xmm1{k1}, vm64x                              | EVEX.128.66.0F38.W0 91 /r        | RM:xr     | t1s        | avx512f avx512vl
VPGATHERQD       | xmm1{k1}, vm64y                              | EVEX.256.66.0F38.W0 91 /r        | RM:xr     | t1s        | avx512f avx512vl
VPGATHERQD       | ymm1{k1}, vm64z                              | EVEX.512.66.0F38.W0 91 /r        | RM:xr     | t1s        | avx512f
VPSCATTERQD      | vm64x{k1}, xmm1                              | EVEX.128.66.0F38.W0 A1 /r        | MR:wr     | t1s        | avx512f avx512vl
VPSCATTERQD      | vm64y{k1}, xmm1                              | EVEX.256.66.0F38.W0 A1 /r        | MR:wr     | t1s        | avx512f avx512vl
VPSCATTERQD      | vm64z{k1}, ymm1                              | EVEX.512.66.0F38.W0 A1 /r        | MR:wr     | t1s        | avx512f
VPGATHERQQ       | xmm1, vm64x, xmm2                            | VEX.128.66.0F38.W1 91 /r         | RMV:xrx   |            | avx2
VPGATHERQQ       | ymm1, vm64y, ymm2                            | VEX.256.66.0F38.W1 91 /r         | RMV:xrx   |            | avx2
VPGATHERQQ       | xmm1{k1}, vm64x                              | EVEX.128.66.0F38.W1 91 /r        | RM:xr     | t1s        | avx512f avx512vl
VPGATHERQQ       | ymm1{k1}, vm64y                              | EVEX.256.66.0F38.W1 91 /r        | RM:xr     | t1s        | avx512f avx512vl
VPGATHERQQ       | zmm1{k1}, vm64z                              | EVEX.512.66.0F38.W1 91 /r        | RM:xr     | t1s        | avx512f
VPSCATTERQQ      | vm64x{k1}, xmm1                              | EVEX.128.66.0F38.W1 A1 /r        | MR:wr     | t1s        | avx512f avx512vl
VPSCATTERQQ      | vm64y{k1}, ymm1                              | EVEX.256.66.0F38.W1 A1 /r        | MR:wr     | t1s        | avx512f avx512vl
VPSCATTERQQ      | vm64z{k1}, zmm1                              | EVEX.512.66.0F38.W1 A1 /r        | MR:wr     | t1s        | avx512f
# Mask registers
KMOVB            | k1, k2/m8                                    | VEX.L0.66.0F.W0 90 /r            | RM:wr     |            | avx512dq
KMOVB            | m8, k1                                       | VEX.L0.66.0F.W0 91 /r            | MR:wr     |            | avx512dq
KMOVB            | k1, r32                                      | VEX.L0.66.0F.W0 92 /r            | RM:wr     |            | avx512dq
KMOVB            | r32, k1                                      | VEX.L0.66.0F.W0 93 /r            | RM:wr     |            | avx512dq
KMOVW            | k1, k2/m16                                   | VEX.L0.0F.W0 90 /r               | RM:wr     |            | avx512f
KMOVW            | m16, k1                                      | VEX.L0.0F.W0 91 /r               | MR:wr     |            | avx512f
KMOVW            | k1, r32                                      | VEX.L0.0F.W0 92 /r               | RM:wr     |            | avx512f
KMOVW            | r32, k1                                      | VEX.L0.0F.W0 93 /r               | RM:wr     |            | avx512f
KMOVD            | k1, k2/m32                                   | VEX.L0.66.0F.W1 90 /r            | RM:wr     |            | avx512bw
KMOVD            | m32, k1                                      | VEX.L0.66.0F.W1 91 /r            | MR:wr     |            | avx512bw
KMOVD            | k1, r32                                      | VEX.L0.F2.0F.W0 92 /r            | RM:wr     |            | avx512bw
KMOVD            | r32, k1                                      | VEX.L0.F2.0F.W0 93 /r            | RM:wr     |            | avx512bw
KMOVQ            | k1, k2/m64                                   | VEX.L0.0F.W1 90 /r               | RM:wr     |            | avx512bw
KMOVQ            | m64, k1                                      | VEX.L0.0F.W1 91 /r               | MR:wr     |            | avx512bw
KMOVQ            | k1, r64                                      | VEX.L0.F2.0F.W1 92 /r            | RM:wr     |            | avx512bw
KMOVQ            | r64, k1                                      | VEX.L0.F2.0F.W1 93 /r            | RM:wr     |            | avx512bw
KANDB            | k1, k2, k3                                   | VEX.L1.66.0F.W0 41 /r            | RVM:wrr   |            | avx512dq
KANDW            | k1, k2, k3                                   | VEX.L1.0F.W0 41 /r               | RVM:wrr   |            | avx512f
KANDD            | k1, k2, k3                                   | VEX.L1.66.0F.W1 41 /r            | RVM:wrr   |            | avx512bw
KANDQ            | k1, k2, k3                                   | VEX.L1.0F.W1 41 /r               | RVM:wrr   |            | avx512bw
KANDNB           | k1, k2, k3                                   | VEX.L1.66.0F.W0 42 /r            | RVM:wrr   |            | avx512dq
KANDNW           | k1, k2, k3                                   | VEX.L1.0F.W0 42 /r               | RVM:wrr   |            | avx512f
KANDND           | k1, k2, k3                                   | VEX.L1.66.0F.W1 42 /r            | RVM:wrr   |            | avx512bw
KANDNQ           | k1, k2, k3                                   | VEX.L1.0F.W1 42 /r               | RVM:wrr   |            | avx512bw
KORB             | k1, k2, k3                                   | VEX.L1.66.0F.W0 45 /r            | RVM:wrr   |            | avx512dq
KORW             | k1, k2, k3                                   | VEX.L1.0F.W0 45 /r               | RVM:wrr   |            | avx512f
KORD             | k1, k2, k3                                   | VEX.L1.66.0F.W1 45 /r            | RVM:wrr   |            | avx512bw
KORQ             | k1, k2, k3                                   | VEX.L1.0F.W1 45 /r               | RVM:wrr   |            | avx512bw
KXNORB           | k1, k2, k3                                   | VEX.L1.66.0F.W0 46 /r            | RVM:wrr   |            | avx512dq
KXNORW           | k1, k2, k3                                   | VEX.L1.0F.W0 46 /r               | RVM:wrr   |            | avx512f
KXNORD           | k1, k2, k3                                   | VEX.L1.66.0F.W1 46 /r            | RVM:wrr   |            | avx512bw
KXNORQ           | k1, k2, k3                                   | VEX.L1.0F.W1 46 /r               | RVM:wrr   |            | avx512bw
KXORB            | k1, k2, k3                                   | VEX.L1.66.0F.W0 47 /r            | RVM:wrr   |            | avx512dq
KXORW            | k1, k2, k3                                   | VEX.L1.0F.W0 47 /r               | RVM:wrr   |            | avx512f
KXORD            | k1, k2, k3                                   | VEX.L1.66.0F.W1 47 /r            | RVM:wrr   |            | avx512bw
KXORQ            | k1, k2, k3                                   | VEX.L1.0F.W1 47 /r               | RVM:wrr   |            | avx512bw
KADDB            | k1, k2, k3                                   | VEX.L1.66.0F.W0 4A /r            | RVM:wrr   |            | avx512dq
KADDW            | k1, k2, k3                                   | VEX.L1.0F.W0 4A /r               | RVM:wrr   |            | avx512dq
KADDD            | k1, k2, k3                                   | VEX.L1.66.0F.W1 4A /r            | RVM:wrr   |            | avx512bw
KADDQ            | k1, k2, k3                                   | VEX.L1.0F.W1 4A /r               | RVM:wrr   |            | avx512bw
KUNPCKBW         | k1, k2, k3                                   | VEX.L1.66.0F.W0 4B /r            | RVM:wrr   |            | avx512f
KUNPCKWD         | k1, k2, k3                                   | VEX.L1.0F.W0 4B /r               | RVM:wrr   |            | avx512bw
KUNPCKDQ         | k1, k2, k3                                   | VEX.L1.0F.W1 4B /r               | RVM:wrr   |            | avx512bw
KNOTB            | k1, k2                                       | VEX.L0.66.0F.W0 44 /r            | RM:wr     |            | avx512dq
KNOTW            | k1, k2                                       | VEX.L0.0F.W0 44 /r               | RM:wr     |            | avx512f
KNOTD            | k1, k2                                       | VEX.L0.66.0F.W1 44 /r            | RM:wr     |            | avx512bw
KNOTQ            | k1, k2                                       | VEX.L0.0F.W1 44 /r               | RM:wr     |            | avx512bw
KORTESTB         | k1, k2                                       | VEX.L0.66.0F.W0 98 /r            | RM:rr     |            | avx512dq
KORTESTW         | k1, k2                                       | VEX.L0.0F.W0 98 /r               | RM:rr     |            | avx512f
KORTESTD         | k1, k2                                       | VEX.L0.66.0F.W1 98 /r            | RM:rr     |            | avx512bw
KORTESTQ         | k1, k2                                       | VEX.L0.0F.W1 98 /r               | RM:rr     |            | avx512bw
KTESTB           | k1, k2                                       | VEX.L0.66.0F.W0 99 /r            | RM:rr     |            | avx512dq
KTESTW           | k1, k2                                       | VEX.L0.0F.W0 99 /r               | RM:rr     |            | avx512dq
KTESTD           | k1, k2                                       | VEX.L0.66.0F.W1 99 /r            | RM:rr     |            | avx512bw
KTESTQ           | k1, k2                                       | VEX.L0.0F.W1 99 /r               | RM:rr     |            | avx512bw
KSHIFTLB         | k1, k2, imm8                                 | VEX.L0.66.0F3A.W0 32 /r ib       | RMI:wrr   |            | avx512dq
KSHIFTLW         | k1, k2, imm8                                 | VEX.L0.66.0F3A.W1 32 /r ib       | RMI:wrr   |            | avx512f
KSHIFTLD         | k1, k2, imm8                                 | VEX.L0.66.0F3A.W0 33 /r ib       | RMI:wrr   |            | avx512bw
KSHIFTLQ         | k1, k2, imm8                                 | VEX.L0.66.0F3A.W1 33 /r ib       | RMI:wrr   |            | avx512bw
KSHIFTRB         | k1, k2, imm8                                 | VEX.L0.66.0F3A.W0 30 /r ib       | RMI:wrr   |            | avx512dq
KSHIFTRW         | k1, k2, imm8                                 | VEX.L0.66.0F3A.W1 30 /r ib       | RMI:wrr   |            | avx512f
KSHIFTRD         | k1, k2, imm8                                 | VEX.L0.66.0F3A.W0 31 /r ib       | RMI:wrr   |            | avx512bw
KSHIFTRQ         | k1, k2, imm8                                 | VEX.L0.66.0F3A.W1 31 /r ib       | RMI:wrr   |            | avx512bw
# Half-precision arithmetic
VADDPH           | vmm1{k1}{z}, vmm2, vmm3/mV/m16bcst           | EVEX.VL.MAP5.W0 58 /r            | RVM:wrr   | full       | avx512_fp16
VADDSH           | xmm1{k1}{z}, xmm2, xmm3/m16                  | EVEX.LLIG.F3.MAP5.W0 58 /r       | RVM:wrr   | t1s16      | avx512_fp16
VMULPH           | vmm1{k1}{z}, vmm2, vmm3/mV/m16bcst           | EVEX.VL.MAP5.W0 59 /r            | RVM:wrr   | full       | avx512_fp16
VMULSH           | xmm1{k1}{z}, xmm2, xmm3/m16                  | EVEX.LLIG.F3.MAP5.W0 59 /r       | RVM:wrr   | t1s16      | avx512_fp16
VSUBPH           | vmm1{k1}{z}, vmm2, vmm3/mV/m16bcst           | EVEX.VL.MAP5.W0 5C /r            | RVM:wrr   | full       | avx512_fp16
VSUBSH           | xmm1{k1}{z}, xmm2, xmm3/m16                  | EVEX.LLIG.F3.MAP5.W0 5C /r       | RVM:wrr   | t1s16      | avx512_fp16
VMINPH           | vmm1{k1}{z}, vmm2, vmm3/mV/m16bcst           | EVEX.VL.MAP5.W0 5D /r            | RVM:wrr   | full       | avx512_fp16
VMINSH           | xmm1{k1}{z}, xmm2, xmm3/m16                  | EVEX.LLIG.F3.MAP5.W0 5D /r       | RVM:wrr   | t1s16      | avx512_fp16
VDIVPH           | vmm1{k1}{z}, vmm2, vmm3/mV/m16bcst           | EVEX.VL.MAP5.W0 5E /r            | RVM:wrr   | full       | avx512_fp16
VDIVSH           | xmm1{k1}{z}, xmm2, xmm3/m16                  | EVEX.LLIG.F3.MAP5.W0 5E /r       | RVM:wrr   | t1s16      | avx512_fp16
VMAXPH           | vmm1{k1}{z}, vmm2, vmm3/mV/m16bcst           | EVEX.VL.MAP5.W0 5F /r            | RVM:wrr   | full       | avx512_fp16
VMAXSH           | xmm1{k1}{z}, xmm2, xmm3/m16                  | EVEX.LLIG.F3.MAP5.W0 5F /r       | RVM:wrr   | t1s16      | avx512_fp16
VSQRTPH          | vmm1{k1}{z}, vmm2/mV/m16bcst                 | EVEX.VL.MAP5.W0 51 /r            | RM:wr     | full       | avx512_fp16
VSQRTSH          | xmm1{k1}{z}, xmm2, xmm3/m16                  | EVEX.LLIG.F3.MAP5.W0 51 /r       | RVM:wrr   | t1s16      | avx512_fp16
VFMADD132PH      | vmm1{k1}{z}, vmm2, vmm3/mV/m16bcst           | EVEX.VL.66.MAP6.W0 98 /r         | RVM:xrr   | full       | avx512_fp16
VFMADD132SH      | xmm1{k1}{z}, xmm2, xmm3/m16                  | EVEX.LLIG.66.MAP6.W0 99 /r       | RVM:xrr   | t1s16      | avx512_fp16
VFMADD213PH      | vmm1{k1}{z}, vmm2, vmm3/mV/m16bcst           | EVEX.VL.66.MAP6.W0 A8 /r         | RVM:xrr   | full       | avx512_fp16
VFMADD213SH      | xmm1{k1}{z}, xmm2, xmm3/m16                  | EVEX.LLIG.66.MAP6.W0 A9 /r       | RVM:xrr   | t1s16      | avx512_fp16
VFMADD231PH      | vmm1{k1}{z}, vmm2, vmm3/mV/m16bcst           | EVEX.VL.66.MAP6.W0 B8 /r         | RVM:xrr   | full       | avx512_fp16
VFMADD231SH      | xmm1{k1}{z}, xmm2, xmm3/m16                  | EVEX.LLIG.66.MAP6.W0 B9 /r       | RVM:xrr   | t1s16      | avx512_fp16
VFMSUB132PH      | vmm1{k1}{z}, vmm2, vmm3/mV/m16bcst           | EVEX.VL.66.MAP6.W0 9A /r         | RVM:xrr   | full       | avx512_fp16
VFMSUB132SH      | xmm1{k1}{z}, xmm2, xmm3/m16                  | EVEX.LLIG.66.MAP6.W0 9B /r       | RVM:xrr   | t1s16      | avx512_fp16
VFMSUB213PH      | vmm1{k1}{z}, vmm2, vmm3/mV/m16bcst           | EVEX.VL.66.MAP6.W0 AA /r         | RVM:xrr   | full       | avx512_fp16
VFMSUB213SH      | xmm1{k1}{z}, xmm2, xmm3/m16                  | EVEX.LLIG.66.MAP6.W0 AB /r       | RVM:xrr   | t1s16      | avx512_fp16
VFMSUB231PH      | vmm1{k1}{z}, vmm2, vmm3/mV/m16bcst           | EVEX.VL.66.MAP6.W0 BA /r         | RVM:xrr   | full       | avx512_fp16
VFMSUB231SH      | xmm1{k1}{z}, xmm2, xmm3/m16                  | EVEX.LLIG.66.MAP6.W0 BB /r       | RVM:xrr   | t1s16      | avx512_fp16
VFNMADD132PH     | vmm1{k1}{z}, vmm2, vmm3/mV/m16bcst           | EVEX.VL.66.MAP6.W0 9C /r         | RVM:xrr   | full       | avx512_fp16
VFNMADD132SH     | xmm1{k1}{z}, xmm2, xmm3/m16                  | EVEX.LLIG.66.MAP6.W0 9D /r       | RVM:xrr   | t1s16      | avx512_fp16
VFNMADD213PH     | vmm1{k1}{z}, vmm2, vmm3/mV/m16bcst           | EVEX.VL.66.MAP6.W0 AC /r         | RVM:xrr   | full       | avx512_fp16
VFNMADD213SH     | xmm1{k1}{z}, xmm2, xmm3/m16                  | EVEX.LLIG.66.MAP6.W0 AD /r       | RVM:xrr   | t1s16      | avx512_fp16
VFNMADD231PH     | vmm1{k1}{z}, vmm2, vmm3/mV/m16bcst           | EVEX.VL.66.MAP6.W0 BC /r         | RVM:xrr   | full       | avx512_fp16
VFNMADD231SH     | xmm1{k1}{z}, xmm2, xmm3/m16                  | EVEX.LLIG.66.MAP6.W0 BD /r       | RVM:xrr   | t1s16      | avx512_fp16
VFNMSUB132PH     | vmm1{k1}{z}, vmm2, vmm3/mV/m16bcst           | EVEX.VL.66.MAP6.W0 9E /r         | RVM:xrr   | full       | avx512_fp16
VFNMSUB132SH     | xmm1{k1}{z}, xmm2, xmm3/m16                  | EVEX.LLIG.66.MAP6.W0 9F /r       | RVM:xrr   | t1s16      | avx512_fp16
VFNMSUB213PH     | vmm1{k1}{z}, vmm2, vmm3/mV/m16bcst           | EVEX.VL.66.MAP6.W0 AE /r         | RVM:xrr   | full       | avx512_fp16
VFNMSUB213SH     | xmm1{k1}{z}, xmm2, xmm3/m16                  | EVEX.LLIG.66.MAP6.W0 AF /r       | RVM:xrr   | t1s16      | avx512_fp16
VFNMSUB231PH     | vmm1{k1}{z}, vmm2, vmm3/mV/m16bcst           | EVEX.VL.66.MAP6.W0 BE /r         | RVM:xrr   | full       | avx512_fp16
VFNMSUB231SH     | xmm1{k1}{z}, xmm2, xmm3/m16                  | EVEX.LLIG.66.MAP6.W0 BF /r       | RVM:xrr   | t1s16      | avx512_fp16
VCMPPH           | k1{k2}, vmm2, vmm3/mV/m16bcst, imm8          | EVEX.VL.0F3A.W0 C2 /r ib         | RVMI:wrrr | full       | avx512_fp16
VCVTPH2PSX       | vmm1{k1}{z}, hmm2/mH/m16bcst                 | EVEX.VL.66.MAP6.W0 13 /r         | RM:wr     | half       | avx512_fp16
VCVTPS2PHX       | hmm1{k1}{z}, vmm2/mV/m32bcst                 | EVEX.VL.66.MAP5.W0 1D /r         | RM:wr     | full       | avx512_fp16
VCMPSH           | k1{k2}, xmm2, xmm3/m16, imm8                 | EVEX.LLIG.F3.0F3A.W0 C2 /r ib    | RVMI:wrrr | t1s16      | avx512_fp16
VUCOMISH         | xmm1, xmm2/m16                               | EVEX.LLIG.MAP5.W0 2E /r          | RM:rr     | t1s16      | avx512_fp16
VRNDSCALEPH      | vmm1{k1}{z}, vmm2/mV/m16bcst, imm8           | EVEX.VL.0F3A.W0 08 /r ib         | RMI:wrr   | full       | avx512_fp16
VRNDSCALESH      | xmm1{k1}{z}, xmm2, xmm3/m16, imm8            | EVEX.LLIG.0F3A.W0 0A /r ib       | RVMI:wrrr | t1s16      | avx512_fp16
VCVTW2PH         | vmm1{k1}{z}, vmm2/mV/m16bcst                 | EVEX.VL.F3.MAP5.W0 7D /r         | RM:wr     | full       | avx512_fp16
VCVTUW2PH        | vmm1{k1}{z}, vmm2/mV/m16bcst                 | EVEX.VL.F2.MAP5.W0 7D /r         | RM:wr     | full       | avx512_fp16
VCVTTPH2W        | vmm1{k1}{z}, vmm2/mV/m16bcst                 | EVEX.VL.66.MAP5.W0 7C /r         | RM:wr     | full       | avx512_fp16
VCVTTPH2UW       | vmm1{k1}{z}, vmm2/mV/m16bcst                 | EVEX.VL.MAP5.W0 7C /r            | RM:wr     | full       | avx512_fp16
VCVTDQ2PH        | hmm1{k1}{z}, vmm2/mV/m32bcst                 | EVEX.VL.MAP5.W0 5B /r            | RM:wr     | full       | avx512_fp16
VCVTUDQ2PH       | hmm1{k1}{z}, vmm2/mV/m32bcst                 | EVEX.VL.F2.MAP5.W0 7A /r         | RM:wr     | full       | avx512_fp16
VCVTTPH2DQ       | vmm1{k1}{z}, hmm2/mH/m16bcst                 | EVEX.VL.F3.MAP5.W0 5B /r         | RM:wr     | half       | avx512_fp16
VCVTTPH2UDQ      | vmm1{k1}{z}, hmm2/mH/m16bcst                 | EVEX.VL.MAP5.W0 78 /r            | RM:wr     | half       | avx512_fp16
VCVTQQ2PH        | qmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.MAP5.W1 5B /r            | RM:wr     | full       | avx512_fp16
VCVTUQQ2PH       | qmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.F2.MAP5.W1 7A /r         | RM:wr     | full       | avx512_fp16
VCVTTPH2QQ       | vmm1{k1}{z}, qmm2/mQ/m16bcst                 | EVEX.VL.66.MAP5.W0 7A /r         | RM:wr     | quarter    | avx512_fp16
VCVTTPH2UQQ      | vmm1{k1}{z}, qmm2/mQ/m16bcst                 | EVEX.VL.66.MAP5.W0 78 /r         | RM:wr     | quarter    | avx512_fp16
VCVTPH2PD        | vmm1{k1}{z}, qmm2/mQ/m16bcst                 | EVEX.VL.MAP5.W0 5A /r            | RM:wr     | quarter    | avx512_fp16
VCVTPD2PH        | qmm1{k1}{z}, vmm2/mV/m64bcst                 | EVEX.VL.66.MAP5.W1 5A /r         | RM:wr     | full       | avx512_fp16
VCVTSH2SS        | xmm1{k1}{z}, xmm2, xmm3/m16                  | EVEX.LLIG.MAP6.W0 13 /r          | RVM:wrr   | t1s16      | avx512_fp16
VCVTSS2SH        | xmm1{k1}{z}, xmm2, xmm3/m32                  | EVEX.LLIG.MAP5.W0 1D /r          | RVM:wrr   | t1s        | avx512_fp16
VCVTSH2SD        | xmm1{k1}{z}, xmm2, xmm3/m16                  | EVEX.LLIG.F3.MAP5.W0 5A /r       | RVM:wrr   | t1s16      | avx512_fp16
VCVTSD2SH        | xmm1{k1}{z}, xmm2, xmm3/m64                  | EVEX.LLIG.F2.MAP5.W1 5A /r       | RVM:wrr   | t1s        | avx512_fp16
VCVTSI2SH        | xmm1, xmm2, r/m32                            | EVEX.LLIG.F3.MAP5.W0 2A /r       | RVM:wrr   | t1s        | avx512_fp16
VCVTSI2SH        | xmm1, xmm2, r/m64                            | EVEX.LLIG.F3.MAP5.W1 2A /r       | RVM:wrr   | t1s        | avx512_fp16
VCVTUSI2SH       | xmm1, xmm2, r/m32                            | EVEX.LLIG.F3.MAP5.W0 7B /r       | RVM:wrr   | t1s        | avx512_fp16
VCVTUSI2SH       | xmm1, xmm2, r/m64                            | EVEX.LLIG.F3.MAP5.W1 7B /r       | RVM:wrr   | t1s        | avx512_fp16
VCVTTSH2SI       | r32, xmm2/m16                                | EVEX.LLIG.F3.MAP5.W0 2C /r       | RM:wr     | t1s16      | avx512_fp16
VCVTTSH2SI       | r64, xmm2/m16                                | EVEX.LLIG.F3.MAP5.W1 2C /r       | RM:wr     | t1s16      | avx512_fp16
VCVTTSH2USI      | r32, xmm2/m16                                | EVEX.LLIG.F3.MAP5.W0 78 /r       | RM:wr     | t1s16      | avx512_fp16
VCVTTSH2USI      | r64, xmm2/m16                                | EVEX.LLIG.F3.MAP5.W1 78 /r       | RM:wr     | t1s16      | avx512_fp16
VMOVSH           | xmm1{k1}{z}, m16                             | EVEX.LLIG.F3.MAP5.W0 10 /r       | RM:wr     | t1s16      | avx512_fp16
VMOVSH           | m16{k1}, xmm1                                | EVEX.LLIG.F3.MAP5.W0 11 /r       | MR:wr     | t1s16      | avx512_fp16
VMOVSH           | xmm1{k1}{z}, xmm2, xmm3                      | EVEX.LLIG.F3.MAP5.W0 10 /r       | RVM:wrr   |            | avx512_fp16
VMOVW            | xmm1, r32/m16                                | EVEX.128.66.MAP5.WIG 6E /r       | RM:wr     | t1s16      | avx512_fp16
VMOVW            | r32/m16, xmm1                                | EVEX.128.66.MAP5.WIG 7E /r       | MR:wr     | t1s16      | avx512_fp16
"""

#: The EVEX instruction that does what a VEX instruction of another name does. An operand in a register above 15 needs it;
#: a writemask does not find it, because several element sizes could be meant.
EVEX_NAMES: Final[dict[str, str]] = {
    "VBROADCASTF128": "VBROADCASTF32X4",
    "VBROADCASTI128": "VBROADCASTI32X4",
    "VEXTRACTF128": "VEXTRACTF32X4",
    "VEXTRACTI128": "VEXTRACTI32X4",
    "VINSERTF128": "VINSERTF32X4",
    "VINSERTI128": "VINSERTI32X4",
    "VLDDQU": "VMOVDQU32",
    "VMOVDQA": "VMOVDQA32",
    "VMOVDQU": "VMOVDQU32",
    "VPAND": "VPANDD",
    "VPANDN": "VPANDND",
    "VPOR": "VPORD",
    "VPXOR": "VPXORD",
    "VROUNDPD": "VRNDSCALEPD",
    "VROUNDPS": "VRNDSCALEPS",
    "VROUNDSD": "VRNDSCALESD",
    "VROUNDSS": "VRNDSCALESS",
}


class Row:
    """One instruction as the manual lists it; the attributes are the columns of the table, vector lengths written out."""

    __slots__ = ("encoding", "features", "mnemonic", "operands", "places", "roles", "tuple_type")

    def __init__(self, mnemonic: str, operands: str, encoding: str, places: str, roles: str, tuple_type: str, features: tuple[str, ...]) -> None:
        self.mnemonic = mnemonic
        self.operands = operands
        self.encoding = encoding
        self.places = places
        self.roles = roles
        self.tuple_type = tuple_type
        self.features = features

    def __repr__(self) -> str:
        return f"{self.mnemonic} {self.operands} | {self.encoding}"


#: What stands for registers and memory that depend on the vector length, and the part of the length it is.
_PARTS: Final = (("vmm", "mV", 1), ("hmm", "mH", 2), ("qmm", "mQ", 4), ("omm", "mO", 8))

#: Rows added at run time, below the table.
_added: Final[list[str]] = []
_rows: Final[dict[str, list[Row]]] = {}


def _lines_of(mnemonic: str) -> list[str]:
    """The lines of a mnemonic: to look for them takes less than to take the whole table apart, of which a program needs little."""
    found: list[str] = []
    start = "\n" + mnemonic + " "
    for text in (TABLE, *_added):
        at = text.find(start)
        while at >= 0:
            end = text.find("\n", at + 1)
            found.append(text[at + 1 : end])
            at = text.find(start, end)
    return found


def add_rows(text: str) -> None:
    """Add rows in the table's notation, one a line, at run time; a mnemonic already known gains further forms."""
    lines = [line for line in map(str.strip, text.split("\n")) if line and line[0] != "#"]
    _added.append("\n" + "".join(line.replace("|", " |", 1) + "\n" for line in lines))
    for line in lines:
        _rows.pop(_mnemonic(line), None)


def _mnemonic(line: str) -> str:
    return line[: line.index("|")].strip()


def mnemonics() -> list[str]:
    """Every mnemonic of the table, in its order."""
    return list(dict.fromkeys(_mnemonic(line) for text in (TABLE, *_added) for line in text.split("\n") if line and line[0] != "#"))


def rows_named(mnemonic: str) -> list[Row]:
    """The rows of a mnemonic, vector lengths expanded, in the table's order. Raises ``KeyError`` when there is none such."""
    known = _rows.get(mnemonic)
    if known is None:
        known = []
        for line in _lines_of(mnemonic):
            _expand(line, known)
        if not known:
            raise KeyError(mnemonic)
        _rows[mnemonic] = known
    return known


def _expand(line: str, into: list[Row]) -> None:
    columns = [column.strip() for column in line.split("|")]
    mnemonic, operands, encoding, places = columns[0], columns[1], columns[2], columns[3]
    tuple_type = columns[4] if len(columns) > 4 else ""
    features = columns[5].split() if len(columns) > 5 else []
    places, _, roles = places.partition(":")
    if ".VL." in encoding:
        lengths = (128, 256, 512) if encoding.startswith("EVEX") else (128, 256)
        pattern = ".VL."
    elif ".256/512." in encoding:
        lengths = (256, 512)
        pattern = ".256/512."
    else:
        into.append(Row(mnemonic, operands, encoding, places, roles, tuple_type, tuple(features)))
        return
    evex = encoding.startswith("EVEX")
    for length in lengths:
        spelled = operands
        for register, memory, part in _PARTS:
            bits = length // part
            spelled = spelled.replace(register, "xmm" if bits <= 128 else "ymm" if bits == 256 else "zmm").replace(memory, f"m{bits}")
        needed = []
        for feature in features:
            short, _, long = feature.partition("/")
            needed.append(long if long and length > 128 else short)
        if evex and length < 512:
            needed.append("avx512vl")
        into.append(Row(mnemonic, spelled, encoding.replace(pattern, f".{length}."), places, roles, tuple_type, tuple(needed)))
