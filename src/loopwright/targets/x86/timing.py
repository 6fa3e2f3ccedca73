"""How long x86-64 instructions take, per microarchitecture, as data.

A microarchitecture's table has five columns::

    mnemonic pattern | form | latency | slots | ports

*Mnemonic pattern*: a regular expression that the whole mnemonic must match.

*Form*, one or more of these letters (``*``: any); the first row that matches an instruction counts:

====  ==============================================================================
 r    all operands are registers or immediates
 m    one operand is read from memory; in the row stands what is needed beside the load, ``-`` if nothing
 s    the result goes to memory; beside the store
 a    an address is computed and not used (LEA) with at most two of base, index, displacement
 A    the same with all three
 x y z    the widest vector operand has 128, 256, 512 bits, and as ``r``, ``m`` or ``s``; with those letters beside it, only as they say
====  ==============================================================================

*Latency*: cycles from register sources to the result; three numbers separated by ``/`` are for 128, 256 and 512 bits.

*Slots*: how many of the places in a dispatch (or rename) group it takes: macro-operations on AMD, fused-domain micro-operations on Intel.

*Ports*: ``group`` or ``count group``, joined by ``+``: a micro-operation that any port of the group may execute, and for how many cycles it
keeps that port from starting another. Where a microarchitecture splits 512-bit operations (``halves``), a row means 256 bits and the
cycles double for 512.

Loads and stores are added by the microarchitecture's own figures (``Microarchitecture``), so that one row serves both ``add r, r`` and ``add r, m``.

``timing_of`` looks an instruction up; it finds one for every row of the instruction table, by kind if no line of the table
names it. Dependence information (what is read and written beside the explicit operands) lives here too, because it is needed
wherever latencies are.
"""

from __future__ import annotations

import re
from typing import Final

from loopwright.errors import TargetError
from loopwright.targets.x86.encoder import LEGACY, Form, M

__all__ = ["MICROARCHITECTURES", "Microarchitecture", "Timing", "bound", "default_for", "get", "timing_of"]

# Kinds of memory operand in lookups.
REGISTERS_ONLY: Final = 0
MEMORY: Final = 1
BROADCAST: Final = 2
INDEXED_AND_DISPLACED: Final = 3

# --- AMD Zen 4 ------------------------------------------------------------------------------------------------
# Sources, in the order of precedence:
#  1. measured by `loopwright timing --measure` (costs/measure.py) on an EPYC of family 19h model 11h: every figure below was, except
#     those marked otherwise. Which ports a group has was found by running instructions in pairs and looking who gets into whose way.
#  2. AMD, Software Optimization Guide for the AMD Zen4 Microarchitecture (publication 57647): pipes, widths, misprediction penalty.
#  3. LLVM's scheduling model (X86ScheduleZnver4.td), for what neither says.
# Where the measurement disagrees with 3:
#  - vector shifts share pipes with additions (FP2, FP3), not with shuffles (FP1, FP2);
#  - VMAX/VMIN and comparisons to vectors run on FP2 and FP3, not on FP0 and FP1; comparisons to mask registers do run on FP0 and FP1;
#  - 64-bit IDIV takes 8 to 10 cycles, not 18; 32-bit 8, not 12;
#  - moves from an integer register to a vector or back take 3 cycles each and one a cycle;
#  - VSQRTPD one in 8.3 cycles, not 9; three-component LEA one in half a cycle; VPMOVZX and VPMOVSX 2 (256 bits) and 4 (512 bits) cycles;
#  - vector stores and the third operand of FMA compete for something (two FMA and a store take 1.5 cycles, three 1.8, while two MUL and a store take
#    one): the group "third" stands for it, whatever it is;
#  - scalar FMA: two a cycle, where the model has one (and LLVM's model of znver3 has one for every width);
#  - 512-bit FMA, ADD and MUL: one a cycle (they take both 256-bit pipes), as in the model.
# None of these cores has arithmetic of f16 (AVX512-FP16); it is taken to cost what f32 does, here and in the tables below.
ZNVER4: Final = """
# Integer
MOV(ZX|SX|SXD)?                        | m   | 0        | 1 | -
MOV                                    | s   | 0        | 1 | -
MOV                                    | r!  | 1        | 1 | alu
MOV                                    | r   | 0        | 1 | -
MOVABS                                 | *   | 1        | 2 | alu
LEA                                    | a   | 1        | 1 | alu
LEA                                    | A   | 2        | 1 | 2 alu
ADD|SUB|AND|OR|XOR|NEG|NOT|INC|DEC|CMP|TEST|ADC|SBB | * | 1 | 1 | alu
MOVZX|MOVSX|MOVSXD|ANDN|BLS(R|I|MSK)|TZCNT|LZCNT|POPCNT|BSWAP | * | 1 | 1 | alu
CMOV\\w+|SET\\w+                       | *   | 1        | 1 | cmov
SHL|SHR|SAR|ROL|ROR|SHLX|SHRX|SARX|RORX|BZHI|BEXTR|BT[CRS]?|CDQE?|CQO | * | 1 | 1 | shift
IMUL|PDEP|PEXT|CRC32                   | *   | 3        | 1 | mul
MUL|MULX                               | *   | 3        | 2 | mul
DIV                                    | *   | 9        | 2 | 6.5 div + alu
IDIV                                   | *   | 8        | 2 | 6.5 div + alu
XCHG                                   | r   | 0        | 2 | -
PUSH                                   | *   | 0        | 1 | agu + 0.5 store
POP                                    | *   | 4        | 1 | agu
RET                                    | *   | 1        | 1 | agu + jump
CALL                                   | *   | 1        | 2 | agu + 0.5 store + jump
JMP|J\\w+                              | *   | 1        | 1 | jump
# Moves of vectors and masks
V(BROADCASTS[SD])                      | mz  | 0        | 1 | vload
VMOV(APS|APD|UPS|UPD|DQA\\d*|DQU\\d*|S[HSD]|[DQW]|DDUP)|VBROADCAST\\w+|VPBROADCAST\\w|VLDDQU | m | 0 | 1 | -
VP?MASKMOV\\w+                         | m   | 1        | 1 | -
VP?MASKMOV(PS|D)                       | sx  | 0        | 18 | 5 store
VP?MASKMOV(PS|D)                       | sy  | 0        | 42 | 11 store
VP?MASKMOV(PD|Q)                       | sx  | 0        | 10 | 3 store
VP?MASKMOV(PD|Q)                       | sy  | 0        | 18 | 5 store
VMOV(APS|APD|UPS|UPD|NTPS|DQA\\d*|DQU\\d*|S[HSD]|[DQW]) | s | 0 | 1 | -
VMOVS[HSD]                             | r   | 1        | 1 | fp
VMOV(APS|APD|UPS|UPD|DQA\\d*|DQU\\d*)  | r   | 0        | 1 | -
VMOV[DQW]                              | g>v | 3        | 1 | to_vector
VMOV[DQW]                              | v>g | 3/3/3    | 1 | to_int
# From the vector to the result, which is how chains of them go; 4 from the integer register.
VPINSR\\w                              | m   | 1        | 2 | misc
VPINSR\\w                              | *   | 1        | 2 | to_vector + misc
VPEXTR\\w                              | s   | 0        | 2 | misc
VPEXTR\\w                              | *   | 4        | 2 | misc + to_int
# 2, 4 and 8 elements. What limits the widest is not known; to_int stands for it.
VP?GATHER\\w+                          | xm  | 5        | 23 | -
VP?GATHER\\w+                          | ym  | 9        | 29 | -
VP?GATHER\\w+                          | zm  | 16       | 53 | 11.7 to_int
VMOVQ                                  | r   | 1        | 1 | fp
VP?MOVMSK\\w+                          | *   | 3/5/5    | 1 | to_int
VPBROADCAST\\w                         | g>v | 4        | 2 | to_vector + shuffle
KMOV\\w                                | m   | 2        | 2 | 2 fadd
KMOV\\w                                | s   | 3        | 2 | 1 store
KMOVQ                                  | v>g | 4        | 2 | 2 to_int
KMOV\\w                                | v>g | 3        | 1 | to_int
KMOVQ                                  | g>v | 6        | 2 | 1.6 to_vector + fadd
KMOV\\w                                | g>v | 6        | 1 | to_vector
KMOV\\w                                | r   | 1        | 1 | 2 fadd
K(AND|ANDN|OR|XOR|XNOR|NOT|ADD|UNPCK|SHIFT)\\w+ | *  | 1 | 1 | 2 fadd
VPTEST                                 | *   | 4        | 2 | fma + to_int
K(OR)?TEST\\w                          | *   | 4        | 2 | fadd + to_int
VPMOVM2\\w                             | *   | 1        | 1 | fadd
VPMOV\\w2M                             | *   | 3/4/5    | 1 | fma
VZEROUPPER                             | *   | 0        | 1 | 4 fp
# Floating point
VFN?M(ADD|SUB)\\d+\\w\\w               | *   | 4        | 1 | fma + third
VMUL\\w\\w                             | *   | 3        | 1 | fma
V(ADD|SUB)\\w\\w                       | *   | 3        | 1 | fadd
V(MIN|MAX)[PS][HSD]                    | *   | 2        | 1 | fadd
VCMP\\w\\w                             | >k  | 3/4/5    | 1 | fma
VCMP\\w\\w                             | *   | 2        | 1 | fadd
VU?COMIS[HSD]                          | *   | 4        | 2 | fadd + to_int
VDIV[PS][HS]                           | *   | 11       | 1 | 3 fdiv
VDIV[PS]D                              | z   | 13       | 1 | 4.5 fdiv
VDIV[PS]D                              | *   | 13       | 1 | 5 fdiv
VSQRT[PS][HS]                          | *   | 15       | 1 | 5 fdiv
# (A. Fog, Instruction tables, 2022, Zen 3.)
VR(CP|SQRT)(14)?[PS][SD]               | *   | 3        | 1 | fma
VSQRT[PS]D                             | *   | 21       | 1 | 8.3 fdiv
V(ROUND|RNDSCALE)\\w\\w                | *   | 3        | 1 | fadd
V(AND|ANDN|OR|XOR)P[SD]                | *   | 1        | 1 | fp
VBLENDMP[SD]|VPBLENDM\\w|VPBLENDD|VBLENDP[SD] | * | 1     | 1 | fp
VPBLENDW                               | *   | 1        | 1 | shuffle
VBLENDVP[SD]|VPBLENDVB                 | *   | 1        | 1 | fma
# Conversions
VCVT(U?DQ2PD|PS2PD|T?PS2U?QQ|PH2PSX?|T?PH2U?(DQ|QQ)|PH2PD)  | m   | 4/4/6    | 2 | fadd + 0.33 shuffle
VCVT(U?DQ2PD|PS2PD|T?PS2U?QQ|PH2PSX?|T?PH2U?(DQ|QQ)|PH2PD)  | *   | 4/4/6    | 2 | fadd + shuffle
VCVT(U?(DQ|QQ)2PH|PD2PH|T?PD2PS|T?PD2U?DQ|U?QQ2PS|PS2PHX?) | *  | 6/6/7    | 2 | fadd + shuffle
VCVT(S[HSD]2S[HSD]|U?DQ2PS|U?W2PH|T?PH2U?W|T?PS2U?DQ|U?QQ2PD|T?PD2U?QQ) | * | 3 | 1 | fadd
VCVTU?SI2S[HSD]                        | *   | 6        | 2 | 1.25 to_vector + fadd
VCVTT?S[HSD]2U?SI                      | *   | 6        | 2 | fadd + to_int
# Integer vectors
VP(ADD|SUB)[BWDQ]|VP(MIN|MAX)[SU][BWD]|VPAVG[BW] | *   | 1 | 1 | fp
VP(ADD|SUB)U?S[BW]                     | *   | 1        | 1 | fp
VPCMP(EQ|GT)Q                          | *   | 2        | 1 | fma
VPCMP(EQ|GT)[BWD]                      | *   | 1        | 1 | fp
VPCMPU?[BWDQ]|VPTESTN?M\\w             | *   | 3/4/5    | 1 | fma
VP(MIN|MAX)[SU]Q|VPABS[BWDQ]           | *   | 2        | 1 | fma
VP?(AND|ANDN|OR|XOR)[DQ]?|VPTERNLOG[DQ] | *  | 1        | 1 | fp
# (Not measured.)
VPLZCNT[DQ]                            | *   | 2        | 1 | fma
VPMULL[WDQ]|VPMULU?DQ|VPMULHU?W|VPMULHRSW|VPMADD\\w+ | * | 3 | 1 | fma
VPDP\\w+                               | *   | 4        | 1 | fma
# (A. Fog, Instruction tables, 2022, Zen 3.)
VPCLMULQDQ                             | *   | 4        | 1 | 2 fma
VPSADBW                                | *   | 3        | 1 | fma
VPS[LR][LA]V?[WDQ]|VPRO[LR]V?[DQ]      | *   | 1        | 1 | fadd
# Shuffles
VPS[LR]LDQ|VPALIGNR|VPSHUFB            | *   | 2        | 1 | shuffle
VALIGND                                | *   | 2/4/5    | 1 | shuffle
VALIGNQ                                | *   | 2/3/4    | 1 | shuffle
VMOVHPD                                | s   | 0        | 1 | -
VEXTRACTPS                             | s   | 0        | 2 | misc
VSHUFP[SD]|VPSHUF(D|LW|HW)|VUNPCK[LH]P[SD]|VPUNPCK\\w+|VPERMILP[SD]|VMOV(DDUP|SHDUP|SLDUP|LHPS|HLPS|HPD)|VINSERTPS | * | 1 | 1 | misc
VPACK\\w+                              | *   | 2        | 1 | shuffle
V(BROADCASTS[SD]|PBROADCAST\\w)        | x   | 1        | 1 | misc
V(BROADCASTS[SD]|PBROADCAST\\w)        | *   | 1        | 1 | shuffle
VINSERT[FI]\\w+                        | *   | 1        | 1 | shuffle
VEXTRACT[FI]\\w+                       | *   | 3/3/4    | 1 | shuffle
VPERM2[FI]128|VSHUF[FI]\\w+            | *   | 3/3/4    | 1 | shuffle
VPERM\\w+                              | *   | 4        | 1 | shuffle
# (From LLVM's model, not measured.)
VPCOMPRESS[DQ]|VPEXPAND[DQ]            | *   | 2/4/5    | 1 | shuffle
VPMOV[SZ]X\\w+                         | *   | 2/2/4    | 1 | shuffle
VPMOV(U?S)?(DB|QB|QW)                   | *   | 4/4/5    | 1 | shuffle
VPMOV(U?S)?(DW|QD|WB)                   | *   | 4        | 1 | shuffle
"""

# --- Intel Skylake with AVX-512 ---------------------------------------------------------------------------------
# Sources: uops.info (Abel and Reineke, ASPLOS 2019), Agner Fog's instruction tables (part 4, SkylakeX), and LLVM's X86SchedSkylakeServer.td,
# as far as at least two of them agree. Processors with two 512-bit FMA units (ports 0 and 5).
# Nothing of it was measured here.
SKYLAKE_AVX512: Final = """
MOV(ZX|SX|SXD)?                        | m   | 0        | 1 | -
MOV                                    | s   | 0        | 1 | -
MOV                                    | r!  | 1        | 1 | p0156
MOV                                    | r   | 0        | 1 | -
MOVABS                                 | *   | 1        | 1 | p0156
LEA                                    | a   | 1        | 1 | p15
LEA                                    | A   | 3        | 1 | p1
ADC|SBB|CMOVN?BE|CMOVA                 | *   | 1        | 1 | p06
SET(A|BE)                              | *   | 2        | 2 | 2 p06
ADD|SUB|AND|OR|XOR|NEG|NOT|INC|DEC|CMP|TEST|MOVZX|MOVSX|MOVSXD | * | 1 | 1 | p0156
CMOV\\w+|SET\\w+|SHL|SHR|SAR|SHLX|SHRX|SARX|ROL|ROR|RORX|BT[CRS]?|CDQE?|CQO | * | 1 | 1 | p06
ANDN|BLS(R|I|MSK)|BZHI|BSWAP           | *   | 1        | 1 | p15
TZCNT|LZCNT|POPCNT|PDEP|PEXT|CRC32     | *   | 3        | 1 | p1
BEXTR                                  | *   | 2        | 2 | p06 + p15
IMUL                                   | *   | 3        | 1 | p1
MUL|MULX                               | *   | 4        | 2 | p1 + p5
I?DIV                                  | *   | 26       | 10 | 6 div + 4 p0156
XCHG                                   | r   | 2        | 3 | 3 p0156
PUSH                                   | *   | 0        | 1 | p237 + p4
POP                                    | *   | 5        | 1 | p23
RET                                    | *   | 1        | 2 | p23 + p6
CALL                                   | *   | 1        | 3 | p237 + p4 + p6
JMP                                    | *   | 1        | 1 | p6
J\\w+                                  | *   | 1        | 1 | p06
VPBROADCAST[BW]                        | m   | 1        | 2 | p5
VMOV(APS|APD|UPS|UPD|DQA\\d*|DQU\\d*|S[HSD]|[DQW]|DDUP)|VBROADCAST\\w+|VPBROADCAST\\w|VLDDQU | m | 0 | 1 | -
VP?MASKMOV\\w+                         | m   | 1        | 2 | p015
VP?MASKMOV\\w+                         | s   | 0        | 3 | p0
VMOV(APS|APD|UPS|UPD|NTPS|DQA\\d*|DQU\\d*|S[HSD]|[DQW]) | s | 0 | 1 | -
VMOVS[HSD]                             | r   | 1        | 1 | p5
VMOV(APS|APD|UPS|UPD|DQA\\d*|DQU\\d*)  | r   | 0        | 1 | -
VMOV[DQW]                              | g>v | 2        | 1 | p5
VMOV[DQW]                              | v>g | 2        | 1 | p0
VMOVQ                                  | r   | 1        | 1 | p015
VPINSR\\w                              | *   | 3        | 2 | 2 p5
VPEXTR\\w                              | *   | 3        | 2 | p0 + p5
# (From LLVM's model alone; beside the load of one element.)
VP?GATHER\\w+                          | xm  | 11       | 5 | p0 + p5 + p015 + p23
VP?GATHER\\w+                          | ym  | 12       | 5 | p0 + p5 + p015 + 3 p23
VP?GATHER\\w+                          | zm  | 14       | 5 | p0 + p5 + p05 + 7 p23
VP?MOVMSK\\w+                          | *   | 3        | 1 | p0
VPBROADCAST\\w                         | g>v | 3        | 1 | p5
KMOV\\w                                | m   | 2        | 2 | p5
KMOV\\w                                | s   | 0        | 1 | -
KMOV\\w                                | v>g | 3        | 1 | p0
KMOV\\w                                | g>v | 1        | 1 | p5
KMOV\\w                                | r   | 1        | 1 | p0
K(ADD|UNPCK|SHIFT)\\w+                 | *   | 4        | 1 | p5
K(AND|ANDN|OR|XOR|XNOR|NOT)\\w+        | *   | 1        | 1 | p0
VPTEST                                 | *   | 3        | 2 | p0 + p5
K(OR)?TEST\\w                          | *   | 1        | 1 | p0
VPMOVM2\\w                             | *   | 3        | 1 | p05
VPMOV\\w2M                             | *   | 1        | 1 | p0
VZEROUPPER                             | *   | 0        | 4 | -
VFN?M(ADD|SUB)\\d+\\w\\w|VMUL\\w\\w|V(ADD|SUB|MIN|MAX)[PS][HSD] | z | 4 | 1 | p05
VFN?M(ADD|SUB)\\d+\\w\\w|VMUL\\w\\w|V(ADD|SUB|MIN|MAX)[PS][HSD] | * | 4 | 1 | p01
VCMP\\w\\w                             | >k  | 3        | 1 | p5
VCMP\\w\\w                             | *   | 4        | 1 | p01
VU?COMIS[HSD]                          | *   | 3        | 1 | p0
VDIV[PS][HS]                           | x   | 11       | 1 | 3 div + p0
VDIV[PS][HS]                           | y   | 11       | 1 | 5 div + p0
VDIV[PS][HS]                           | z   | 17       | 3 | 10 div + 2 p0 + p5
VDIV[PS]D                              | x   | 14       | 1 | 4 div + p0
VDIV[PS]D                              | y   | 14       | 1 | 8 div + p0
VDIV[PS]D                              | z   | 23       | 3 | 16 div + 2 p0 + p5
VR(CP|SQRT)(14)?[PS][SD]               | z   | 7        | 3 | 2 p0 + p5
VR(CP|SQRT)(14)?[PS][SD]               | *   | 4        | 1 | p0
VSQRT[PS][HS]                          | x   | 12       | 1 | 3 div + p0
VSQRT[PS][HS]                          | y   | 12       | 1 | 6 div + p0
VSQRT[PS][HS]                          | z   | 19       | 3 | 12 div + 2 p0 + p5
VSQRT[PS]D                             | x   | 16       | 1 | 6 div + p0
VSQRT[PS]D                             | y   | 16       | 1 | 12 div + p0
VSQRT[PS]D                             | z   | 31       | 3 | 24 div + 2 p0 + p5
V(ROUND|RNDSCALE)\\w\\w                | z   | 8        | 2 | 2 p05
V(ROUND|RNDSCALE)\\w\\w                | *   | 8        | 2 | 2 p01
VPBLENDW                               | *   | 1        | 1 | p5
VBLENDVP[SD]|VPBLENDVB                 | *   | 2        | 2 | 2 p015
VP?(AND|ANDN|OR|XOR)(P[SD]|[DQ])?|VPTERNLOG[DQ]|VBLENDMP[SD]|VPBLENDM\\w|VPBLENDD|VBLENDP[SD] | z | 1 | 1 | p05
VP?(AND|ANDN|OR|XOR)(P[SD]|[DQ])?|VPTERNLOG[DQ]|VBLENDMP[SD]|VPBLENDM\\w|VPBLENDD|VBLENDP[SD] | * | 1 | 1 | p015
VCVT(U?DQ2PS|U?W2PH|T?PH2U?W|T?PS2U?DQ|U?QQ2PD|T?PD2U?QQ) | z   | 4        | 1 | p05
VCVT(U?DQ2PS|U?W2PH|T?PH2U?W|T?PS2U?DQ|U?QQ2PD|T?PD2U?QQ) | *   | 4        | 1 | p01
VCVT(U?DQ2PD|PS2PD|T?PS2U?QQ|PH2PSX?|T?PH2U?(DQ|QQ)|PH2PD|U?(DQ|QQ)2PH|PD2PH|T?PD2PS|T?PD2U?DQ|U?QQ2PS|PS2PHX?) | z | 7 | 2 | p05 + p5
VCVT(U?DQ2PD|PS2PD|T?PS2U?QQ|PH2PSX?|T?PH2U?(DQ|QQ)|PH2PD|U?(DQ|QQ)2PH|PD2PH|T?PD2PS|T?PD2U?DQ|U?QQ2PS|PS2PHX?) | * | 7 | 2 | p01 + p5
VCVT(S[HSD]2S[HSD])                    | *   | 5        | 2 | p01 + p5
VCVTU?SI2S[HSD]                        | *   | 6        | 2 | p01 + p5
VCVTT?S[HSD]2U?SI                      | *   | 6        | 2 | p0 + p01
VP(ADD|SUB)[BWDQ]                      | z   | 1        | 1 | p05
VP(ADD|SUB)[BWDQ]                      | *   | 1        | 1 | p015
VPCMP(EQ|GT)[BWDQ]                     | >k  | 3        | 1 | p5
VPCMPGTQ                               | *   | 3        | 1 | p5
VPCMPEQ[BWDQ]|VPCMPGT[BWD]             | *   | 1        | 1 | p01
VPCMPU?[BWDQ]|VPTESTN?M\\w             | *   | 3        | 1 | p5
VP(MIN|MAX)[SU]Q                       | z   | 3        | 1 | p0
VP(MIN|MAX)[SU]Q                       | *   | 3        | 1 | p01
VP(MIN|MAX)[SU][BWD]|VPABS[BWDQ]|VPAVG[BW]|VP(ADD|SUB)U?S[BW] | z | 1 | 1 | p0
VP(MIN|MAX)[SU][BWD]|VPABS[BWDQ]|VPAVG[BW]|VP(ADD|SUB)U?S[BW] | * | 1 | 1 | p01
VPMULLD                                | z   | 10       | 2 | 2 p05
VPMULLD                                | *   | 10       | 2 | 2 p01
VPMULLQ                                | z   | 15       | 3 | 3 p05
VPMULLQ                                | *   | 15       | 3 | 3 p01
VPMULLW|VPMULU?DQ|VPMULHU?W|VPMULHRSW|VPMADD\\w+|VPDP\\w+ | z | 5 | 1 | p05
VPMULLW|VPMULU?DQ|VPMULHU?W|VPMULHRSW|VPMADD\\w+|VPDP\\w+ | * | 5 | 1 | p01
VPLZCNT[DQ]                            | z   | 4        | 1 | p05
VPLZCNT[DQ]                            | *   | 4        | 1 | p01
VPSADBW                                | *   | 3        | 1 | p5
VMOVHPD                                | s   | 0        | 1 | -
VEXTRACTPS                             | s   | 0        | 2 | p5
VPCLMULQDQ                             | *   | 6        | 1 | p5
VPS[LR]LDQ|VPALIGNR|VPSHUF\\w+|VSHUFP[SD]|VUNPCK[LH]P[SD]|VPUNPCK\\w+|VPACK\\w+|VPERMILP[SD]|VMOV(DDUP|SHDUP|SLDUP|LHPS|HLPS|HPD)|VINSERTPS | * | 1 | 1 | p5
VPS[LR][LA]V?[WDQ]|VPRO[LR]V?[DQ]      | z   | 1        | 1 | p0
VPS[LR][LA]V?[WDQ]|VPRO[LR]V?[DQ]      | *   | 1        | 1 | p01
V(BROADCASTS[SD]|PBROADCAST[DQ])       | x   | 1        | 1 | p5
V(BROADCASTS[SD]|PBROADCAST\\w|INSERT[FI]\\w+|PERM2[FI]128|SHUF[FI]\\w+|PERM\\w+|ALIGN[DQ]|PMOV[SZ]X\\w+) | * | 3 | 1 | p5
VEXTRACT[FI]\\w+                       | *   | 3        | 1 | p5
VPMOV(U?S)?(DB|DW|QB|QW|QD|WB)          | *   | 4        | 2 | 2 p5
VPCOMPRESS[DQ]                         | *   | 6        | 2 | 2 p5
VPEXPAND[DQ]                           | *   | 4        | 2 | 2 p5
"""

# --- any x86-64-v3 processor --------------------------------------------------------------------------------------
# A machine between Haswell, Skylake and Zen 2, for code that is to run on all of them: four slots, four integer ports, two pipes for floating point, a
# third for vector integers, one of them for shuffles, two loads and one store a cycle. Latencies are the middle of those three in Agner Fog's tables.
GENERIC_V3: Final = (
    """
V(ADD|SUB)[PS][HSD]                    | *   | 4        | 1 | p01
V(MIN|MAX)[PS][HSD]|VCMP\\w\\w         | *   | 3        | 1 | p01
VFN?M(ADD|SUB)\\d+\\w\\w               | *   | 5        | 1 | p01
V(ROUND)\\w\\w                         | *   | 6        | 2 | 2 p01
VPMULLD                                | *   | 6        | 1 | 1.5 p01
VDIV[PS][HS]                           | *   | 11       | 1 | 5 div + p0
VDIV[PS]D                              | *   | 14       | 1 | 8 div + p0
VSQRT[PS][HS]                          | *   | 13       | 1 | 6 div + p0
VSQRT[PS]D                             | *   | 18       | 1 | 10 div + p0
I?DIV                                  | *   | 22       | 6 | 9 div + 2 p0156
"""
    + SKYLAKE_AVX512
)


class Timing:
    """What one instruction costs on one microarchitecture.

    Attributes:
        latency: cycles from a register source to the result.
        load: cycles to be added for what comes from memory (from the address to the result that is ``latency + load``); 0 without a load.
        slots: places in a dispatch group.
        ports: (set of ports as a bit mask, cycles) of each micro-operation.
        throughput: cycles an instruction when nothing else runs.
        reads, writes: it reads, writes memory.
        named: a line of the table names it (otherwise it got the figures of its kind).
    """

    __slots__ = ("latency", "load", "named", "ports", "reads", "slots", "throughput", "writes")

    def __init__(
        self, latency: float, load: float, slots: float, ports: list[tuple[int, float]], throughput: float, reads: bool, writes: bool, named: bool
    ) -> None:
        self.latency = latency
        self.load = load
        self.slots = slots
        self.ports = ports
        self.throughput = throughput
        self.reads = reads
        self.writes = writes
        self.named = named


def bound(use: dict[int, float]) -> float:
    """The least time in which ports can do the given work.

    ``use`` has, per set of ports, the cycles of the micro-operations any port of that set may take. How they are best spread is a linear
    programme; its value is the greatest, over the unions of some of those sets, of the work that can go nowhere else divided by
    the union's size (the port pressure of Abel and Reineke, *uiCA*, ICS 2022; it is Hall's theorem for fractional assignments).
    """
    # All unions of sets that hang together: ports that have nothing in common cannot relieve each other.
    unions: list[int] = []
    seen: set[int] = set()
    for mask in use:
        joined = [mask]
        for known in unions:
            for n in range(len(joined)):
                if joined[n] & known and joined[n] | known not in joined:
                    joined.append(joined[n] | known)
        for union in joined:
            if union not in seen:
                seen.add(union)
                unions.append(union)
    best = 0.0
    for union in unions:
        work = 0.0
        for mask, cycles in use.items():
            if mask | union == union:
                work += cycles
        work /= union.bit_count()
        best = max(best, work)
    return best


class _Line:
    __slots__ = ("forms", "latencies", "pattern", "ports", "slots")

    def __init__(self, pattern: str, forms: str, latencies: tuple[float, float, float], slots: float, ports: list[tuple[int, float]]) -> None:
        self.pattern = re.compile(pattern)
        self.forms = forms
        self.latencies = latencies
        self.slots = slots
        self.ports = ports


class Microarchitecture:
    """A processor core as the models see it.

    Attributes:
        name: as ``get`` takes it.
        title: for people.
        width: slots of a dispatch group, each cycle.
        groups: port sets by name.
        halves: 512-bit operations keep their port for two cycles.
        int_load, vector_load, wide_load: cycles from an address to the value: integers, vectors up to 256 bits, 512 bits.
        load_ports, vector_load_ports, store_ports, vector_store_ports: (group, cycles) that a load or store takes, up to 256 bits.
        forward: cycles from a store's data to a load of the same place: integers, masks, vectors of 128, 256, 512 bits.
        window: micro-operations in flight at most (reorder buffer).
        vector_window: vector operations that can wait for their operands at most (schedulers and what queues before them).
        mispredict: cycles lost by a branch predicted wrongly.
        split_load: further cycles of the load ports for a load that crosses a cache line.
        one_address: what reads and writes one place in memory takes one address operation for both.
        fused: what, in front of a conditional jump, becomes one operation with it (mnemonics).
        taken: the least cycles an iteration of any loop takes.
    """

    __slots__ = (
        "_cache",
        "_lines",
        "_source",
        "forward",
        "fused",
        "groups",
        "halves",
        "int_load",
        "load_ports",
        "mispredict",
        "name",
        "one_address",
        "port_names",
        "split_load",
        "store_ports",
        "taken",
        "title",
        "vector_load",
        "vector_load_ports",
        "vector_store_ports",
        "vector_window",
        "wide_load",
        "width",
        "window",
    )

    def __init__(
        self,
        name: str,
        title: str,
        source: str,
        width: float,
        groups: dict[str, str],
        halves: bool,
        loads: tuple[float, float, float],
        load_ports: str,
        vector_load_ports: str,
        store_ports: str,
        vector_store_ports: str,
        forward: tuple[float, float, float, float, float],
        mispredict: float,
        split_load: float,
        fused: str,
        one_address: bool,
        window: int,
        vector_window: int,
    ) -> None:
        self.name = name
        self.title = title
        self.width = width
        self.port_names: list[str] = []
        self.groups: dict[str, int] = {}
        for group, ports in groups.items():
            mask = 0
            for port in ports.split():
                if port not in self.port_names:
                    self.port_names.append(port)
                mask |= 1 << self.port_names.index(port)
            self.groups[group] = mask
        self.halves = halves
        self.int_load, self.vector_load, self.wide_load = loads
        self.load_ports = self._ports(load_ports)
        self.vector_load_ports = self._ports(vector_load_ports)
        self.store_ports = self._ports(store_ports)
        self.vector_store_ports = self._ports(vector_store_ports)
        self.forward = forward
        self.mispredict = mispredict
        self.split_load = split_load
        self.fused = frozenset(fused.split())
        self.taken = 1.0
        self.one_address = one_address
        self.window = window
        self.vector_window = vector_window
        self._source = source
        self._lines: list[_Line] = []
        self._cache: dict[tuple[Form, int], Timing] = {}

    def _ports(self, text: str) -> list[tuple[int, float]]:
        found: list[tuple[int, float]] = []
        if text == "-":
            return found
        for part in text.split("+"):
            words = part.split()
            count = 1.0
            if len(words) == 2:
                count = float(words[0])
            mask = self.groups.get(words[-1], 0)
            if not mask:
                raise TargetError(f"{self.name} has no group of ports {words[-1]!r}")
            found.append((mask, count))
        return found

    def lines(self) -> list[_Line]:
        """The table, parsed when it is first needed."""
        if not self._lines:
            made: list[_Line] = []
            for text in self._source.split("\n"):
                if not text or text[0] == "#":
                    continue
                # A pattern may hold the column separator, so the columns are counted from the right.
                columns = text.rsplit(" | ", 4)
                latencies = [float(word) for word in columns[2].split("/")]
                three = (latencies[0], latencies[0], latencies[0]) if len(latencies) == 1 else (latencies[0], latencies[1], latencies[2])
                made.append(_Line(columns[0].strip(), columns[1].strip(), three, float(columns[3]), self._ports(columns[4].strip())))
            self._lines = made
        return self._lines

    def __repr__(self) -> str:
        return f"<{self.name}>"


ZEN4: Final = Microarchitecture(
    "znver4",
    "AMD Zen 4",
    ZNVER4,
    6,
    {
        "alu": "ALU0 ALU1 ALU2 ALU3",
        "cmov": "ALU0 ALU3",
        "shift": "ALU1 ALU2",
        "mul": "ALU1",
        "div": "DIV",
        "jump": "BRU0 BRU1",
        "fp": "FP0 FP1 FP2 FP3",
        "fma": "FP0 FP1",
        "fadd": "FP2 FP3",
        "shuffle": "FP1 FP2",
        "misc": "FP1 FP2 FP3",
        "fdiv": "FDIV",
        "agu": "AGU0 AGU1 AGU2",
        "vload": "VLD0 VLD1",
        "store": "ST",
        "to_int": "V2I",
        "to_vector": "I2V",
        "third": "READ0 READ1",
    },
    True,
    (4, 7, 8),
    "agu",
    "agu + vload",
    "agu + 0.5 store",
    "agu + store + 0.8 third",
    # Integers: the memory file renames a stored register (measured: 0 beside the move); others go through the store queue.
    (0, 12, 8, 9, 11),
    13,
    1,
    "CMP TEST ADD SUB AND OR XOR INC DEC",
    True,
    # Reorder buffer: 57647, 2.10.3. Two schedulers of 32 and a non-scheduling queue of 64 make 128 (2.11); what fits the measured polynomials is 140.
    320,
    140,
)

_INTEL_GROUPS: Final[dict[str, str]] = {
    "p0156": "p0 p1 p5 p6",
    "p015": "p0 p1 p5",
    "p01": "p0 p1",
    "p05": "p0 p5",
    "p06": "p0 p6",
    "p15": "p1 p5",
    "p0": "p0",
    "p1": "p1",
    "p5": "p5",
    "p6": "p6",
    "p23": "p2 p3",
    "p237": "p2 p3 p7",
    "p4": "p4",
    "div": "DIV",
}

SKX: Final = Microarchitecture(
    "skylake-avx512",
    "Intel Skylake with AVX-512",
    SKYLAKE_AVX512,
    4,
    _INTEL_GROUPS,
    False,
    (5, 7, 7),
    "p23",
    "p23",
    "p237 + p4",
    "p237 + p4",
    (4, 6, 5, 6, 6),
    16,
    1,
    "CMP TEST ADD SUB AND INC DEC",
    False,
    224,
    97,
)

V3: Final = Microarchitecture(
    "x86-64-v3",
    "any x86-64-v3 processor",
    GENERIC_V3,
    4,
    _INTEL_GROUPS,
    False,
    (5, 7, 7),
    "p23",
    "p23",
    "p237 + p4",
    "p237 + p4",
    (4, 6, 6, 7, 7),
    16,
    1,
    "CMP TEST ADD SUB AND INC DEC",
    False,
    224,
    97,
)

MICROARCHITECTURES: Final[dict[str, Microarchitecture]] = {m.name: m for m in (ZEN4, SKX, V3)}


def get(name: str) -> Microarchitecture:
    """A microarchitecture by name. Raises ``TargetError`` when there are no tables for it."""
    known = MICROARCHITECTURES.get(name)
    if known is None:
        raise TargetError(f"there are no timing tables for {name!r}; there are for {', '.join(MICROARCHITECTURES)}")
    return known


def default_for(target_name: str) -> Microarchitecture:
    """What a target's code is scored for unless told otherwise: the same on every machine, so that scores can be compared."""
    return ZEN4 if target_name.startswith("x86-64-v4") else V3


# --- finding an instruction's line ----------------------------------------------------------------------------------


def kind_of_memory(form: Form, mem: M | None) -> int:
    """How an instruction's memory operand matters to its timing."""
    if mem is None:
        return REGISTERS_ONLY
    if form.mnemonic == "lea":
        return INDEXED_AND_DISPLACED if mem.base >= 0 and mem.index >= 0 and mem.disp else MEMORY
    return BROADCAST if mem.bcst else MEMORY


def _register_class(register: str) -> str:
    return "v" if register[1:] == "mm" else register[:1] if register[:1] in ("k", "r") else ""


def timing_of(machine: Microarchitecture, form: Form, memory: int) -> Timing:
    """The timing of an instruction whose memory operand is of the kind ``memory`` (see ``kind_of_memory``)."""
    key = (form, memory)
    known = machine._cache.get(key)
    if known is None:
        known = _find(machine, form, memory)
        machine._cache[key] = known
    return known


def _find(machine: Microarchitecture, form: Form, memory: int) -> Timing:
    mnemonic = form.row.mnemonic
    lea = mnemonic == "LEA"
    width = 0
    result = source = ""
    reads = writes = immediate_only = False
    bits = 0
    for n in range(len(form.operands)):
        operand = form.operands[n]
        if operand.immediate:
            immediate_only = True
        in_memory = memory != REGISTERS_ONLY and not lea and operand.memory != 0 and (operand.place == "M" or not operand.register)
        if in_memory:
            bits = operand.memory if memory != BROADCAST else operand.broadcast
            if operand.role in "rx":
                reads = True
            if operand.role in "wx":
                writes = True
            if operand.memory > width and memory != BROADCAST:
                width = operand.memory
        elif operand.register:
            cls = _register_class(operand.register)
            if cls == "v":
                width = max(width, {"x": 128, "y": 256, "z": 512}[operand.register[0]])
            if operand.role in "wx" and not result:
                result = cls
            elif operand.role == "r":
                # The integer register counts, where one is inserted into a vector.
                source = cls if not source or cls == "r" else source
                immediate_only = False
    if bits <= 0 and (reads or writes):
        bits = width if width else 64
    rank = 2 if width == 512 else 1 if width == 256 else 0
    letters = ("z" if width == 512 else "y" if width == 256 else "x" if width else "") + ("m" if reads and not writes else "s" if writes else "r")
    if lea:
        letters = "A" if memory == INDEXED_AND_DISPLACED else "a"
    crossing = ""
    if result and source and result != source:
        crossing = "g>v" if source == "r" else "v>g" if result == "r" else ">k" if result == "k" else ""
    found: _Line | None = None
    for line in machine.lines():
        forms = line.forms
        if forms != "*":
            if forms == "r!":
                if not (immediate_only and letters[-1:] == "r"):
                    continue
            elif ">" in forms:
                if forms != crossing and not (forms == ">k" and result == "k"):
                    continue
            elif any(letter not in letters for letter in forms):
                continue
        if line.pattern.fullmatch(mnemonic):
            found = line
            break
    latency = 1.0
    slots = 1.0
    uses: list[tuple[int, float]] = []
    if found is not None:
        latency, slots, uses = found.latencies[rank], found.slots, list(found.ports)
    else:
        latency, slots, uses = _by_kind(machine, form, width)
    double = 2.0 if machine.halves and width == 512 else 1.0
    if double > 1.0:
        uses = [
            (mask, cycles * double)
            if mask not in (machine.groups.get("to_int"), machine.groups.get("to_vector"), machine.groups.get("vload"))
            else (mask, cycles)
            for mask, cycles in uses
        ]
    vector = (result in ("v", "k") or source in ("v", "k") or width > 0) and form.kind != LEGACY
    load = 0.0
    twice = 2.0 if machine.halves and bits == 512 else 1.0
    if reads:
        load = machine.wide_load if bits == 512 else machine.vector_load if vector else machine.int_load
        uses += [(mask, cycles * twice) for mask, cycles in (machine.vector_load_ports if vector else machine.load_ports)]
    if writes:
        stores = machine.vector_store_ports if vector else machine.store_ports
        # On AMD an operation that reads and writes one place computes its address once.
        uses += [(mask, cycles * twice) for mask, cycles in (stores[1:] if reads and machine.one_address else stores)]
        if reads:
            slots += 1
    gathered: dict[int, float] = {}
    for mask, cycles in uses:
        gathered[mask] = gathered.get(mask, 0.0) + cycles
    throughput = max(bound(gathered), slots / machine.width)
    return Timing(latency, load, slots, list(gathered.items()), throughput, reads, writes, found is not None)


def _by_kind(machine: Microarchitecture, form: Form, width: int) -> tuple[float, float, list[tuple[int, float]]]:
    """Latency, slots and ports of an instruction that no line names: those of the plainest of its kind."""
    groups = machine.groups
    if form.kind == LEGACY or width == 0:
        return 1.0, 1.0, [(groups.get("alu", groups.get("p0156", 1)), 1.0)]
    return 3.0, 1.0, [(groups.get("fma", groups.get("p01", 1)), 1.0)]


# --- what an instruction depends on beside its operands ---------------------------------------------------------------

#: Mnemonics that leave the arithmetic flags as they found them are not here.
WRITES_FLAGS: Final = re.compile(
    r"ADD|SUB|AND|OR|XOR|NEG|INC|DEC|CMP|TEST|ADC|SBB|I?MUL|SHL|SHR|SAR|ROL|ROR|ANDN|BLS\w+|BZHI|BEXTR|TZCNT|LZCNT|POPCNT|BTC?|VU?COMIS[HSD]|K(OR)?TEST\w|I?DIV|VPTEST"
)
READS_FLAGS: Final = re.compile(r"ADC|SBB|CMOV\w+|SET\w+")
#: Of equal sources the result does not depend on them; the first kind needs no execution at all.
ZERO_IDIOM: Final = re.compile(r"XOR|SUB|VXORP[SD]|VPXOR[DQ]?|VPSUB[BWDQ]|VPANDNQ?|KXOR\w|VPCMPGT[BWDQ]")
ONES_IDIOM: Final = re.compile(r"VPCMPEQ[BWDQ]|KXNOR\w")
#: mnemonic -> (codes of integer registers read, written) beside the explicit operands.
IMPLIED: Final[dict[str, tuple[tuple[int, ...], tuple[int, ...]]]] = {
    "CDQ": ((0,), (2,)),
    "CQO": ((0,), (2,)),
    "DIV": ((0, 2), (0, 2)),
    "IDIV": ((0, 2), (0, 2)),
    "MUL": ((0,), (0, 2)),
    "MULX": ((2,), ()),
}
