"""AArch64 instructions, one line each: A64 with floating point, Advanced SIMD, CRC32, dot products and half precision.

``notation.py`` says how to read a line. The section names are those of the Arm Architecture Reference Manual (DDI 0487), chapter C4.1 "A64 instruction
set encoding", whose diagrams the third column repeats. ``ADD_V["4s"]`` is the row that a selection table names.

Names: that of the mnemonic, with ``_IMM`` for an immediate operand, ``_V`` for the vector form of what is also a scalar instruction, ``_S`` for a scalar
instruction on vector registers that is also a vector's, ``_E`` for a vector times an element, ``_0`` for a comparison with zero.
"""

from __future__ import annotations

from typing import Final

from loopwright.targets.aarch64.notation import CRC, DOT, FAMILIES, FP, FP16, SIMD, Row, alias, family, row
from loopwright.targets.aarch64.registers import int_name

__all__ = ["all_rows", "decode"]

# Shapes that many instructions have.
_WX: Final = "w x"
_B: Final = "8b 16b"
_HS: Final = "4h 8h 2s 4s"
_BHS: Final = "8b 16b 4h 8h 2s 4s"
_BHSD: Final = "8b 16b 4h 8h 2s 4s 2d"
_STRUCTURES: Final = "8b 16b 4h 8h 2s 4s 1d 2d"
_ACROSS: Final = "8b 16b 4h 8h 4s"
_FSD: Final = "2s 4s 2d"
_FH: Final = "4h 8h"
_LANES: Final = "b h s d"
_SD: Final = "s d"
_SDH: Final = "s d h:fp16"
_TO_INT: Final = "w.s w.d x.s x.d w.h:fp16 x.h:fp16"
_FROM_INT: Final = "s.w s.x d.w d.x h.w:fp16 h.x:fp16"

# --- Data Processing -- Immediate --------------------------------------------------------------------------------

# PC-rel. addressing
ADR: Final = row("adr", "=Xd, #imm21", "0 imm21[1:0] 10000 imm21[20:2] Rd")
ADRP: Final = row("adrp", "=Xd, #page21", "1 page21[1:0] 10000 page21[20:2] Rd")
# Add/subtract (immediate)
ADD_IMM: Final = family("add", "=Rd|SP, Rn|SP, #imm12{, lsl #sh}", "sf 0 0 100010 sh imm12 Rn Rd", _WX)
ADDS_IMM: Final = family("adds", "=Rd, Rn|SP, #imm12{, lsl #sh}; =nzcv", "sf 0 1 100010 sh imm12 Rn Rd", _WX)
SUB_IMM: Final = family("sub", "=Rd|SP, Rn|SP, #imm12{, lsl #sh}", "sf 1 0 100010 sh imm12 Rn Rd", _WX)
SUBS_IMM: Final = family("subs", "=Rd, Rn|SP, #imm12{, lsl #sh}; =nzcv", "sf 1 1 100010 sh imm12 Rn Rd", _WX)
# Logical (immediate)
AND_IMM: Final = family("and", "=Rd|SP, Rn, #limm", "sf 00 100100 limm Rn Rd", _WX)
ORR_IMM: Final = family("orr", "=Rd|SP, Rn, #limm", "sf 01 100100 limm Rn Rd", _WX)
EOR_IMM: Final = family("eor", "=Rd|SP, Rn, #limm", "sf 10 100100 limm Rn Rd", _WX)
ANDS_IMM: Final = family("ands", "=Rd, Rn, #limm; =nzcv", "sf 11 100100 limm Rn Rd", _WX)
# Move wide (immediate)
MOVN: Final = family("movn", "=Rd, #imm16{, lsl #hw}", "sf 00 100101 hw imm16 Rd", _WX)
MOVZ: Final = family("movz", "=Rd, #imm16{, lsl #hw}", "sf 10 100101 hw imm16 Rd", _WX)
MOVK: Final = family("movk", "+Rd, #imm16{, lsl #hw}", "sf 11 100101 hw imm16 Rd", _WX)
# Bitfield, Extract
SBFM: Final = family("sbfm", "=Rd, Rn, #immr, #imms", "sf 00 100110 N immr imms Rn Rd", _WX)
BFM: Final = family("bfm", "+Rd, Rn, #immr, #imms", "sf 01 100110 N immr imms Rn Rd", _WX)
UBFM: Final = family("ubfm", "=Rd, Rn, #immr, #imms", "sf 10 100110 N immr imms Rn Rd", _WX)
EXTR: Final = family("extr", "=Rd, Rn, Rm, #imms", "sf 00 100111 N 0 Rm imms Rn Rd", _WX)

# --- Data Processing -- Register ---------------------------------------------------------------------------------

# Data-processing (2 source)
UDIV: Final = family("udiv", "=Rd, Rn, Rm", "sf 0 0 11010110 Rm 000010 Rn Rd", _WX)
SDIV: Final = family("sdiv", "=Rd, Rn, Rm", "sf 0 0 11010110 Rm 000011 Rn Rd", _WX)
LSLV: Final = family("lsl", "=Rd, Rn, Rm", "sf 0 0 11010110 Rm 001000 Rn Rd", _WX)
LSRV: Final = family("lsr", "=Rd, Rn, Rm", "sf 0 0 11010110 Rm 001001 Rn Rd", _WX)
ASRV: Final = family("asr", "=Rd, Rn, Rm", "sf 0 0 11010110 Rm 001010 Rn Rd", _WX)
RORV: Final = family("ror", "=Rd, Rn, Rm", "sf 0 0 11010110 Rm 001011 Rn Rd", _WX)
CRC32: Final = family("crc32{bhwx}", "=Wd, Wn, Rm", "sf 0 0 11010110 Rm 010 0 size Rn Rd", "b h w x", CRC)
CRC32C: Final = family("crc32c{bhwx}", "=Wd, Wn, Rm", "sf 0 0 11010110 Rm 010 1 size Rn Rd", "b h w x", CRC)
# Data-processing (1 source)
RBIT: Final = family("rbit", "=Rd, Rn", "sf 1 0 11010110 00000 000000 Rn Rd", _WX)
REV16: Final = family("rev16", "=Rd, Rn", "sf 1 0 11010110 00000 000001 Rn Rd", _WX)
CLZ: Final = family("clz", "=Rd, Rn", "sf 1 0 11010110 00000 000100 Rn Rd", _WX)
CLS: Final = family("cls", "=Rd, Rn", "sf 1 0 11010110 00000 000101 Rn Rd", _WX)
REV: Final = family("rev", "=Rd, Rn", "sf 1 0 11010110 00000 00001 sf Rn Rd", _WX)
REV32: Final = row("rev32", "=Xd, Xn", "1 1 0 11010110 00000 000010 Rn Rd")
# Logical (shifted register)
AND: Final = family("and", "=Rd, Rn, Rm{, shiftror #amount}", "sf 00 01010 shiftror 0 Rm amount Rn Rd", _WX)
BIC: Final = family("bic", "=Rd, Rn, Rm{, shiftror #amount}", "sf 00 01010 shiftror 1 Rm amount Rn Rd", _WX)
ORR: Final = family("orr", "=Rd, Rn, Rm{, shiftror #amount}", "sf 01 01010 shiftror 0 Rm amount Rn Rd", _WX)
ORN: Final = family("orn", "=Rd, Rn, Rm{, shiftror #amount}", "sf 01 01010 shiftror 1 Rm amount Rn Rd", _WX)
EOR: Final = family("eor", "=Rd, Rn, Rm{, shiftror #amount}", "sf 10 01010 shiftror 0 Rm amount Rn Rd", _WX)
EON: Final = family("eon", "=Rd, Rn, Rm{, shiftror #amount}", "sf 10 01010 shiftror 1 Rm amount Rn Rd", _WX)
ANDS: Final = family("ands", "=Rd, Rn, Rm{, shiftror #amount}; =nzcv", "sf 11 01010 shiftror 0 Rm amount Rn Rd", _WX)
BICS: Final = family("bics", "=Rd, Rn, Rm{, shiftror #amount}; =nzcv", "sf 11 01010 shiftror 1 Rm amount Rn Rd", _WX)
# Add/subtract (shifted register), (extended register); ADD_UXTX and its like, where the register is whole, take the stack pointer
ADD: Final = family("add", "=Rd, Rn, Rm{, shift #amount}", "sf 0 0 01011 shift 0 Rm amount Rn Rd", _WX)
ADDS: Final = family("adds", "=Rd, Rn, Rm{, shift #amount}; =nzcv", "sf 0 1 01011 shift 0 Rm amount Rn Rd", _WX)
SUB: Final = family("sub", "=Rd, Rn, Rm{, shift #amount}", "sf 1 0 01011 shift 0 Rm amount Rn Rd", _WX)
SUBS: Final = family("subs", "=Rd, Rn, Rm{, shift #amount}; =nzcv", "sf 1 1 01011 shift 0 Rm amount Rn Rd", _WX)
ADD_EXT: Final = family("add", "=Rd|SP, Rn|SP, Wm, extend{ #imm3}", "sf 0 0 01011 00 1 Rm extend imm3 Rn Rd", _WX)
ADDS_EXT: Final = family("adds", "=Rd, Rn|SP, Wm, extend{ #imm3}; =nzcv", "sf 0 1 01011 00 1 Rm extend imm3 Rn Rd", _WX)
SUB_EXT: Final = family("sub", "=Rd|SP, Rn|SP, Wm, extend{ #imm3}", "sf 1 0 01011 00 1 Rm extend imm3 Rn Rd", _WX)
SUBS_EXT: Final = family("subs", "=Rd, Rn|SP, Wm, extend{ #imm3}; =nzcv", "sf 1 1 01011 00 1 Rm extend imm3 Rn Rd", _WX)
ADD_UXTX: Final = row("add", "=Xd|SP, Xn|SP, Xm, uxtx{ #imm3}", "1 0 0 01011 00 1 Rm 011 imm3 Rn Rd")
ADDS_UXTX: Final = row("adds", "=Xd, Xn|SP, Xm, uxtx{ #imm3}; =nzcv", "1 0 1 01011 00 1 Rm 011 imm3 Rn Rd")
SUB_UXTX: Final = row("sub", "=Xd|SP, Xn|SP, Xm, uxtx{ #imm3}", "1 1 0 01011 00 1 Rm 011 imm3 Rn Rd")
SUBS_UXTX: Final = row("subs", "=Xd, Xn|SP, Xm, uxtx{ #imm3}; =nzcv", "1 1 1 01011 00 1 Rm 011 imm3 Rn Rd")
# Add/subtract (with carry)
ADC: Final = family("adc", "=Rd, Rn, Rm; nzcv", "sf 0 0 11010000 Rm 000000 Rn Rd", _WX)
ADCS: Final = family("adcs", "=Rd, Rn, Rm; +nzcv", "sf 0 1 11010000 Rm 000000 Rn Rd", _WX)
SBC: Final = family("sbc", "=Rd, Rn, Rm; nzcv", "sf 1 0 11010000 Rm 000000 Rn Rd", _WX)
SBCS: Final = family("sbcs", "=Rd, Rn, Rm; +nzcv", "sf 1 1 11010000 Rm 000000 Rn Rd", _WX)
# Conditional compare (register), (immediate)
CCMN: Final = family("ccmn", "Rn, Rm, #nzcv, cond; +nzcv", "sf 0 1 11010010 Rm cond 0 0 Rn 0 nzcv", _WX)
CCMP: Final = family("ccmp", "Rn, Rm, #nzcv, cond; +nzcv", "sf 1 1 11010010 Rm cond 0 0 Rn 0 nzcv", _WX)
CCMN_IMM: Final = family("ccmn", "Rn, #imm5, #nzcv, cond; +nzcv", "sf 0 1 11010010 imm5 cond 1 0 Rn 0 nzcv", _WX)
CCMP_IMM: Final = family("ccmp", "Rn, #imm5, #nzcv, cond; +nzcv", "sf 1 1 11010010 imm5 cond 1 0 Rn 0 nzcv", _WX)
# Conditional select
CSEL: Final = family("csel", "=Rd, Rn, Rm, cond; nzcv", "sf 0 0 11010100 Rm cond 00 Rn Rd", _WX)
CSINC: Final = family("csinc", "=Rd, Rn, Rm, cond; nzcv", "sf 0 0 11010100 Rm cond 01 Rn Rd", _WX)
CSINV: Final = family("csinv", "=Rd, Rn, Rm, cond; nzcv", "sf 1 0 11010100 Rm cond 00 Rn Rd", _WX)
CSNEG: Final = family("csneg", "=Rd, Rn, Rm, cond; nzcv", "sf 1 0 11010100 Rm cond 01 Rn Rd", _WX)
# Data-processing (3 source)
MADD: Final = family("madd", "=Rd, Rn, Rm, Ra", "sf 00 11011 000 Rm 0 Ra Rn Rd", _WX)
MSUB: Final = family("msub", "=Rd, Rn, Rm, Ra", "sf 00 11011 000 Rm 1 Ra Rn Rd", _WX)
SMADDL: Final = row("smaddl", "=Xd, Wn, Wm, Xa", "1 00 11011 001 Rm 0 Ra Rn Rd")
SMSUBL: Final = row("smsubl", "=Xd, Wn, Wm, Xa", "1 00 11011 001 Rm 1 Ra Rn Rd")
UMADDL: Final = row("umaddl", "=Xd, Wn, Wm, Xa", "1 00 11011 101 Rm 0 Ra Rn Rd")
UMSUBL: Final = row("umsubl", "=Xd, Wn, Wm, Xa", "1 00 11011 101 Rm 1 Ra Rn Rd")
SMULH: Final = row("smulh", "=Xd, Xn, Xm", "1 00 11011 010 Rm 0 11111 Rn Rd")
UMULH: Final = row("umulh", "=Xd, Xn, Xm", "1 00 11011 110 Rm 0 11111 Rn Rd")

# --- Branches, Exception Generating and System instructions ------------------------------------------------------

B: Final = row("b", "#imm26", "0 00101 imm26")
BL: Final = row("bl", "#imm26", "1 00101 imm26")
B_COND: Final = row("b.cond", "#imm19; nzcv", "0101010 0 imm19 0 cond")
CBZ: Final = family("cbz", "Rt, #imm19", "sf 011010 0 imm19 Rt", _WX)
CBNZ: Final = family("cbnz", "Rt, #imm19", "sf 011010 1 imm19 Rt", _WX)
TBZ: Final = row("tbz", "Xt, #bit, #imm14", "bit[5] 011011 0 bit[4:0] imm14 Rt")
TBNZ: Final = row("tbnz", "Xt, #bit, #imm14", "bit[5] 011011 1 bit[4:0] imm14 Rt")
BR: Final = row("br", "Xn", "1101011 0 0 00 11111 0000 00 Rn 00000")
BLR: Final = row("blr", "Xn", "1101011 0 0 01 11111 0000 00 Rn 00000")
RET: Final = row("ret", "Xn", "1101011 0 0 10 11111 0000 00 Rn 00000")
NOP: Final = row("nop", "", "1101010100 0 00 011 0010 0000 000 11111")
MRS_NZCV: Final = row("mrs", "=Xt, NZCV; nzcv", "1101010100 1 1 1 011 0100 0010 000 Rt")
MSR_NZCV: Final = row("msr", "NZCV, Xt; =nzcv", "1101010100 0 1 1 011 0100 0010 000 Rt")
MRS_FPCR: Final = row("mrs", "=Xt, FPCR", "1101010100 1 1 1 011 0100 0100 000 Rt")
MSR_FPCR: Final = row("msr", "FPCR, Xt", "1101010100 0 1 1 011 0100 0100 000 Rt")
MRS_FPSR: Final = row("mrs", "=Xt, FPSR", "1101010100 1 1 1 011 0100 0100 001 Rt")
MSR_FPSR: Final = row("msr", "FPSR, Xt", "1101010100 0 1 1 011 0100 0100 001 Rt")
SVC: Final = row("svc", "#brk16", "11010100 000 brk16 000 01")
BRK: Final = row("brk", "#brk16", "11010100 001 brk16 000 00")
UDF: Final = row("udf", "#imm16", "0000000000000000 imm16")

# --- Loads and Stores --------------------------------------------------------------------------------------------

# Load/store register (unsigned immediate)
LDR: Final = family("ldr{bh}", "=Rt, [Xn|SP{, #imm12*bytes}]", "size 111 0 01 01 imm12 Rn Rt", "b h w x")
LDRS: Final = family("ldrs{bhw}", "=Rt, [Xn|SP{, #imm12*bytes}]", "size 111 0 01 1 notsf imm12 Rn Rt", "w.b w.h x.b x.h x.w")
STR: Final = family("str{bh}", "Rt, [Xn|SP{, #imm12*bytes}]", "size 111 0 01 00 imm12 Rn Rt", "b h w x")
LDR_V: Final = family("ldr", "=Ft, [Xn|SP{, #imm12*bytes}]", "size 111 1 01 Q 1 imm12 Rn Rt", "b h s d q", FP)
STR_V: Final = family("str", "Ft, [Xn|SP{, #imm12*bytes}]", "size 111 1 01 Q 0 imm12 Rn Rt", "b h s d q", FP)
# Load/store register (unscaled immediate)
LDUR: Final = family("ldur{bh}", "=Rt, [Xn|SP{, #imm9}]", "size 111 0 00 01 0 imm9 00 Rn Rt", "b h w x")
LDURS: Final = family("ldurs{bhw}", "=Rt, [Xn|SP{, #imm9}]", "size 111 0 00 1 notsf 0 imm9 00 Rn Rt", "w.b w.h x.b x.h x.w")
STUR: Final = family("stur{bh}", "Rt, [Xn|SP{, #imm9}]", "size 111 0 00 00 0 imm9 00 Rn Rt", "b h w x")
LDUR_V: Final = family("ldur", "=Ft, [Xn|SP{, #imm9}]", "size 111 1 00 Q 1 0 imm9 00 Rn Rt", "b h s d q", FP)
STUR_V: Final = family("stur", "Ft, [Xn|SP{, #imm9}]", "size 111 1 00 Q 0 0 imm9 00 Rn Rt", "b h s d q", FP)
# Load/store register (immediate post-indexed)
LDR_POST: Final = family("ldr{bh}", "=Rt, [+Xn|SP], #imm9", "size 111 0 00 01 0 imm9 01 Rn Rt", "b h w x")
LDRS_POST: Final = family("ldrs{bhw}", "=Rt, [+Xn|SP], #imm9", "size 111 0 00 1 notsf 0 imm9 01 Rn Rt", "w.b w.h x.b x.h x.w")
STR_POST: Final = family("str{bh}", "Rt, [+Xn|SP], #imm9", "size 111 0 00 00 0 imm9 01 Rn Rt", "b h w x")
LDR_V_POST: Final = family("ldr", "=Ft, [+Xn|SP], #imm9", "size 111 1 00 Q 1 0 imm9 01 Rn Rt", "b h s d q", FP)
STR_V_POST: Final = family("str", "Ft, [+Xn|SP], #imm9", "size 111 1 00 Q 0 0 imm9 01 Rn Rt", "b h s d q", FP)
# Load/store register (immediate pre-indexed)
LDR_PRE: Final = family("ldr{bh}", "=Rt, [+Xn|SP, #imm9]!", "size 111 0 00 01 0 imm9 11 Rn Rt", "b h w x")
LDRS_PRE: Final = family("ldrs{bhw}", "=Rt, [+Xn|SP, #imm9]!", "size 111 0 00 1 notsf 0 imm9 11 Rn Rt", "w.b w.h x.b x.h x.w")
STR_PRE: Final = family("str{bh}", "Rt, [+Xn|SP, #imm9]!", "size 111 0 00 00 0 imm9 11 Rn Rt", "b h w x")
LDR_V_PRE: Final = family("ldr", "=Ft, [+Xn|SP, #imm9]!", "size 111 1 00 Q 1 0 imm9 11 Rn Rt", "b h s d q", FP)
STR_V_PRE: Final = family("str", "Ft, [+Xn|SP, #imm9]!", "size 111 1 00 Q 0 0 imm9 11 Rn Rt", "b h s d q", FP)
# Load/store register (register offset): a 64-bit one, and a 32-bit one that is extended
LDR_REG: Final = family("ldr{bh}", "=Rt, [Xn|SP, Xm{, lsl #scale}]", "size 111 0 00 01 1 Rm 011 scale 10 Rn Rt", "b h w x")
LDRS_REG: Final = family("ldrs{bhw}", "=Rt, [Xn|SP, Xm{, lsl #scale}]", "size 111 0 00 1 notsf 1 Rm 011 scale 10 Rn Rt", "w.b w.h x.b x.h x.w")
STR_REG: Final = family("str{bh}", "Rt, [Xn|SP, Xm{, lsl #scale}]", "size 111 0 00 00 1 Rm 011 scale 10 Rn Rt", "b h w x")
LDR_V_REG: Final = family("ldr", "=Ft, [Xn|SP, Xm{, lsl #scale}]", "size 111 1 00 Q 1 1 Rm 011 scale 10 Rn Rt", "b h s d q", FP)
STR_V_REG: Final = family("str", "Ft, [Xn|SP, Xm{, lsl #scale}]", "size 111 1 00 Q 0 1 Rm 011 scale 10 Rn Rt", "b h s d q", FP)
LDR_EXT: Final = family("ldr{bh}", "=Rt, [Xn|SP, Wm, sext{ #scale}]", "size 111 0 00 01 1 Rm sext 10 scale 10 Rn Rt", "b h w x")
LDRS_EXT: Final = family("ldrs{bhw}", "=Rt, [Xn|SP, Wm, sext{ #scale}]", "size 111 0 00 1 notsf 1 Rm sext 10 scale 10 Rn Rt", "w.b w.h x.b x.h x.w")
STR_EXT: Final = family("str{bh}", "Rt, [Xn|SP, Wm, sext{ #scale}]", "size 111 0 00 00 1 Rm sext 10 scale 10 Rn Rt", "b h w x")
LDR_V_EXT: Final = family("ldr", "=Ft, [Xn|SP, Wm, sext{ #scale}]", "size 111 1 00 Q 1 1 Rm sext 10 scale 10 Rn Rt", "b h s d q", FP)
STR_V_EXT: Final = family("str", "Ft, [Xn|SP, Wm, sext{ #scale}]", "size 111 1 00 Q 0 1 Rm sext 10 scale 10 Rn Rt", "b h s d q", FP)
# Load register (literal)
LDR_LIT: Final = family("ldr", "=Rt, #imm19", "lit 011 0 00 imm19 Rt", _WX)
LDRSW_LIT: Final = row("ldrsw", "=Xt, #imm19", "10 011 0 00 imm19 Rt")
LDR_V_LIT: Final = family("ldr", "=Ft, #imm19", "lit 011 1 00 imm19 Rt", "s d q", FP)
# Load/store register pair (offset), (post-indexed), (pre-indexed)
LDP: Final = family("ldp", "=Rt, =Rt2, [Xn|SP{, #imm7*bytes}]", "pair 101 0 010 1 imm7 Rt2 Rn Rt", _WX)
STP: Final = family("stp", "Rt, Rt2, [Xn|SP{, #imm7*bytes}]", "pair 101 0 010 0 imm7 Rt2 Rn Rt", _WX)
LDP_V: Final = family("ldp", "=Ft, =Ft2, [Xn|SP{, #imm7*bytes}]", "pair 101 1 010 1 imm7 Rt2 Rn Rt", "s d q", FP)
STP_V: Final = family("stp", "Ft, Ft2, [Xn|SP{, #imm7*bytes}]", "pair 101 1 010 0 imm7 Rt2 Rn Rt", "s d q", FP)
LDP_POST: Final = family("ldp", "=Rt, =Rt2, [+Xn|SP], #imm7*bytes", "pair 101 0 001 1 imm7 Rt2 Rn Rt", _WX)
STP_POST: Final = family("stp", "Rt, Rt2, [+Xn|SP], #imm7*bytes", "pair 101 0 001 0 imm7 Rt2 Rn Rt", _WX)
LDP_V_POST: Final = family("ldp", "=Ft, =Ft2, [+Xn|SP], #imm7*bytes", "pair 101 1 001 1 imm7 Rt2 Rn Rt", "s d q", FP)
STP_V_POST: Final = family("stp", "Ft, Ft2, [+Xn|SP], #imm7*bytes", "pair 101 1 001 0 imm7 Rt2 Rn Rt", "s d q", FP)
LDP_PRE: Final = family("ldp", "=Rt, =Rt2, [+Xn|SP, #imm7*bytes]!", "pair 101 0 011 1 imm7 Rt2 Rn Rt", _WX)
STP_PRE: Final = family("stp", "Rt, Rt2, [+Xn|SP, #imm7*bytes]!", "pair 101 0 011 0 imm7 Rt2 Rn Rt", _WX)
LDP_V_PRE: Final = family("ldp", "=Ft, =Ft2, [+Xn|SP, #imm7*bytes]!", "pair 101 1 011 1 imm7 Rt2 Rn Rt", "s d q", FP)
STP_V_PRE: Final = family("stp", "Ft, Ft2, [+Xn|SP, #imm7*bytes]!", "pair 101 1 011 0 imm7 Rt2 Rn Rt", "s d q", FP)
# Advanced SIMD load/store multiple structures: to and from LD1_n registers one after the other, or LDn interleaved
LD1_1: Final = family("ld1", "=Vt.T*1, [Xn|SP]", "0 Q 0011000 1 000000 0111 size Rn Rt", _STRUCTURES, SIMD)
LD1_2: Final = family("ld1", "=Vt.T*2, [Xn|SP]", "0 Q 0011000 1 000000 1010 size Rn Rt", _STRUCTURES, SIMD)
LD1_3: Final = family("ld1", "=Vt.T*3, [Xn|SP]", "0 Q 0011000 1 000000 0110 size Rn Rt", _STRUCTURES, SIMD)
LD1_4: Final = family("ld1", "=Vt.T*4, [Xn|SP]", "0 Q 0011000 1 000000 0010 size Rn Rt", _STRUCTURES, SIMD)
LD2: Final = family("ld2", "=Vt.T*2, [Xn|SP]", "0 Q 0011000 1 000000 1000 size Rn Rt", _BHSD, SIMD)
LD3: Final = family("ld3", "=Vt.T*3, [Xn|SP]", "0 Q 0011000 1 000000 0100 size Rn Rt", _BHSD, SIMD)
LD4: Final = family("ld4", "=Vt.T*4, [Xn|SP]", "0 Q 0011000 1 000000 0000 size Rn Rt", _BHSD, SIMD)
ST1_1: Final = family("st1", "Vt.T*1, [Xn|SP]", "0 Q 0011000 0 000000 0111 size Rn Rt", _STRUCTURES, SIMD)
ST1_2: Final = family("st1", "Vt.T*2, [Xn|SP]", "0 Q 0011000 0 000000 1010 size Rn Rt", _STRUCTURES, SIMD)
ST1_3: Final = family("st1", "Vt.T*3, [Xn|SP]", "0 Q 0011000 0 000000 0110 size Rn Rt", _STRUCTURES, SIMD)
ST1_4: Final = family("st1", "Vt.T*4, [Xn|SP]", "0 Q 0011000 0 000000 0010 size Rn Rt", _STRUCTURES, SIMD)
ST2: Final = family("st2", "Vt.T*2, [Xn|SP]", "0 Q 0011000 0 000000 1000 size Rn Rt", _BHSD, SIMD)
ST3: Final = family("st3", "Vt.T*3, [Xn|SP]", "0 Q 0011000 0 000000 0100 size Rn Rt", _BHSD, SIMD)
ST4: Final = family("st4", "Vt.T*4, [Xn|SP]", "0 Q 0011000 0 000000 0000 size Rn Rt", _BHSD, SIMD)
# Advanced SIMD load/store multiple structures (post-indexed), by the bytes accessed
LD1_1_POST: Final = family("ld1", "=Vt.T*1, [+Xn|SP], #bytes1", "0 Q 0011001 1 0 11111 0111 size Rn Rt", _STRUCTURES, SIMD)
LD1_2_POST: Final = family("ld1", "=Vt.T*2, [+Xn|SP], #bytes2", "0 Q 0011001 1 0 11111 1010 size Rn Rt", _STRUCTURES, SIMD)
LD1_3_POST: Final = family("ld1", "=Vt.T*3, [+Xn|SP], #bytes3", "0 Q 0011001 1 0 11111 0110 size Rn Rt", _STRUCTURES, SIMD)
LD1_4_POST: Final = family("ld1", "=Vt.T*4, [+Xn|SP], #bytes4", "0 Q 0011001 1 0 11111 0010 size Rn Rt", _STRUCTURES, SIMD)
LD2_POST: Final = family("ld2", "=Vt.T*2, [+Xn|SP], #bytes2", "0 Q 0011001 1 0 11111 1000 size Rn Rt", _BHSD, SIMD)
LD3_POST: Final = family("ld3", "=Vt.T*3, [+Xn|SP], #bytes3", "0 Q 0011001 1 0 11111 0100 size Rn Rt", _BHSD, SIMD)
LD4_POST: Final = family("ld4", "=Vt.T*4, [+Xn|SP], #bytes4", "0 Q 0011001 1 0 11111 0000 size Rn Rt", _BHSD, SIMD)
ST1_1_POST: Final = family("st1", "Vt.T*1, [+Xn|SP], #bytes1", "0 Q 0011001 0 0 11111 0111 size Rn Rt", _STRUCTURES, SIMD)
ST1_2_POST: Final = family("st1", "Vt.T*2, [+Xn|SP], #bytes2", "0 Q 0011001 0 0 11111 1010 size Rn Rt", _STRUCTURES, SIMD)
ST1_3_POST: Final = family("st1", "Vt.T*3, [+Xn|SP], #bytes3", "0 Q 0011001 0 0 11111 0110 size Rn Rt", _STRUCTURES, SIMD)
ST1_4_POST: Final = family("st1", "Vt.T*4, [+Xn|SP], #bytes4", "0 Q 0011001 0 0 11111 0010 size Rn Rt", _STRUCTURES, SIMD)
ST2_POST: Final = family("st2", "Vt.T*2, [+Xn|SP], #bytes2", "0 Q 0011001 0 0 11111 1000 size Rn Rt", _BHSD, SIMD)
ST3_POST: Final = family("st3", "Vt.T*3, [+Xn|SP], #bytes3", "0 Q 0011001 0 0 11111 0100 size Rn Rt", _BHSD, SIMD)
ST4_POST: Final = family("st4", "Vt.T*4, [+Xn|SP], #bytes4", "0 Q 0011001 0 0 11111 0000 size Rn Rt", _BHSD, SIMD)
# Advanced SIMD load/store single structure, and post-indexed
LD1_LANE: Final = family("ld1", "+Vt.E*1[index], [Xn|SP]", "0 laneQ 0011010 1 0 00000 lane Rn Rt", _LANES, SIMD)
ST1_LANE: Final = family("st1", "Vt.E*1[index], [Xn|SP]", "0 laneQ 0011010 0 0 00000 lane Rn Rt", _LANES, SIMD)
LD1R: Final = family("ld1r", "=Vt.T*1, [Xn|SP]", "0 Q 0011010 1 0 00000 110 0 size Rn Rt", _STRUCTURES, SIMD)
LD1_LANE_POST: Final = family("ld1", "+Vt.E*1[index], [+Xn|SP], #element", "0 laneQ 0011011 1 0 11111 lane Rn Rt", _LANES, SIMD)
ST1_LANE_POST: Final = family("st1", "Vt.E*1[index], [+Xn|SP], #element", "0 laneQ 0011011 0 0 11111 lane Rn Rt", _LANES, SIMD)
LD1R_POST: Final = family("ld1r", "=Vt.T*1, [+Xn|SP], #element", "0 Q 0011011 1 0 11111 110 0 size Rn Rt", _STRUCTURES, SIMD)

# --- Data Processing -- Scalar Floating-Point --------------------------------------------------------------------

# Floating-point data-processing (2 source)
FMUL: Final = family("fmul", "=Fd, Fn, Fm", "0 0 0 11110 ftype 1 Rm 0000 10 Rn Rd", _SDH, FP)
FDIV: Final = family("fdiv", "=Fd, Fn, Fm", "0 0 0 11110 ftype 1 Rm 0001 10 Rn Rd", _SDH, FP)
FADD: Final = family("fadd", "=Fd, Fn, Fm", "0 0 0 11110 ftype 1 Rm 0010 10 Rn Rd", _SDH, FP)
FSUB: Final = family("fsub", "=Fd, Fn, Fm", "0 0 0 11110 ftype 1 Rm 0011 10 Rn Rd", _SDH, FP)
FMAX: Final = family("fmax", "=Fd, Fn, Fm", "0 0 0 11110 ftype 1 Rm 0100 10 Rn Rd", _SDH, FP)
FMIN: Final = family("fmin", "=Fd, Fn, Fm", "0 0 0 11110 ftype 1 Rm 0101 10 Rn Rd", _SDH, FP)
FMAXNM: Final = family("fmaxnm", "=Fd, Fn, Fm", "0 0 0 11110 ftype 1 Rm 0110 10 Rn Rd", _SDH, FP)
FMINNM: Final = family("fminnm", "=Fd, Fn, Fm", "0 0 0 11110 ftype 1 Rm 0111 10 Rn Rd", _SDH, FP)
FNMUL: Final = family("fnmul", "=Fd, Fn, Fm", "0 0 0 11110 ftype 1 Rm 1000 10 Rn Rd", _SDH, FP)
# Floating-point data-processing (1 source)
FMOV: Final = family("fmov", "=Fd, Fn", "0 0 0 11110 ftype 1 000000 10000 Rn Rd", _SDH, FP)
FABS: Final = family("fabs", "=Fd, Fn", "0 0 0 11110 ftype 1 000001 10000 Rn Rd", _SDH, FP)
FNEG: Final = family("fneg", "=Fd, Fn", "0 0 0 11110 ftype 1 000010 10000 Rn Rd", _SDH, FP)
FSQRT: Final = family("fsqrt", "=Fd, Fn", "0 0 0 11110 ftype 1 000011 10000 Rn Rd", _SDH, FP)
FRINTN: Final = family("frintn", "=Fd, Fn", "0 0 0 11110 ftype 1 001000 10000 Rn Rd", _SDH, FP)
FRINTP: Final = family("frintp", "=Fd, Fn", "0 0 0 11110 ftype 1 001001 10000 Rn Rd", _SDH, FP)
FRINTM: Final = family("frintm", "=Fd, Fn", "0 0 0 11110 ftype 1 001010 10000 Rn Rd", _SDH, FP)
FRINTZ: Final = family("frintz", "=Fd, Fn", "0 0 0 11110 ftype 1 001011 10000 Rn Rd", _SDH, FP)
FRINTA: Final = family("frinta", "=Fd, Fn", "0 0 0 11110 ftype 1 001100 10000 Rn Rd", _SDH, FP)
FRINTX: Final = family("frintx", "=Fd, Fn", "0 0 0 11110 ftype 1 001110 10000 Rn Rd", _SDH, FP)
FRINTI: Final = family("frinti", "=Fd, Fn", "0 0 0 11110 ftype 1 001111 10000 Rn Rd", _SDH, FP)
FCVT: Final = family("fcvt", "=Fd, Gn", "0 0 0 11110 ftype 1 0001 opc 10000 Rn Rd", "s.h d.h h.s d.s h.d s.d", FP)
# Floating-point data-processing (3 source)
FMADD: Final = family("fmadd", "=Fd, Fn, Fm, Fa", "0 0 0 11111 ftype 0 Rm 0 Ra Rn Rd", _SDH, FP)
FMSUB: Final = family("fmsub", "=Fd, Fn, Fm, Fa", "0 0 0 11111 ftype 0 Rm 1 Ra Rn Rd", _SDH, FP)
FNMADD: Final = family("fnmadd", "=Fd, Fn, Fm, Fa", "0 0 0 11111 ftype 1 Rm 0 Ra Rn Rd", _SDH, FP)
FNMSUB: Final = family("fnmsub", "=Fd, Fn, Fm, Fa", "0 0 0 11111 ftype 1 Rm 1 Ra Rn Rd", _SDH, FP)
# Floating-point compare, conditional compare, conditional select, immediate
FCMP: Final = family("fcmp", "Fn, Fm; =nzcv", "0 0 0 11110 ftype 1 Rm 00 1000 Rn 00 000", _SDH, FP)
FCMP_0: Final = family("fcmp", "Fn, #0.0; =nzcv", "0 0 0 11110 ftype 1 00000 00 1000 Rn 01 000", _SDH, FP)
FCMPE: Final = family("fcmpe", "Fn, Fm; =nzcv", "0 0 0 11110 ftype 1 Rm 00 1000 Rn 10 000", _SDH, FP)
FCMPE_0: Final = family("fcmpe", "Fn, #0.0; =nzcv", "0 0 0 11110 ftype 1 00000 00 1000 Rn 11 000", _SDH, FP)
FCCMP: Final = family("fccmp", "Fn, Fm, #nzcv, cond; +nzcv", "0 0 0 11110 ftype 1 Rm cond 01 Rn 0 nzcv", _SDH, FP)
FCCMPE: Final = family("fccmpe", "Fn, Fm, #nzcv, cond; +nzcv", "0 0 0 11110 ftype 1 Rm cond 01 Rn 1 nzcv", _SDH, FP)
FCSEL: Final = family("fcsel", "=Fd, Fn, Fm, cond; nzcv", "0 0 0 11110 ftype 1 Rm cond 11 Rn Rd", _SDH, FP)
FMOV_IMM: Final = family("fmov", "=Fd, #fimm8", "0 0 0 11110 ftype 1 fimm8 100 00000 Rd", _SDH, FP)
# Conversion between floating-point and integer
FCVTNS: Final = family("fcvtns", "=Rd, Fn", "sf 0 0 11110 ftype 1 00 000 000000 Rn Rd", _TO_INT, FP)
FCVTNU: Final = family("fcvtnu", "=Rd, Fn", "sf 0 0 11110 ftype 1 00 001 000000 Rn Rd", _TO_INT, FP)
FCVTAS: Final = family("fcvtas", "=Rd, Fn", "sf 0 0 11110 ftype 1 00 100 000000 Rn Rd", _TO_INT, FP)
FCVTAU: Final = family("fcvtau", "=Rd, Fn", "sf 0 0 11110 ftype 1 00 101 000000 Rn Rd", _TO_INT, FP)
FCVTPS: Final = family("fcvtps", "=Rd, Fn", "sf 0 0 11110 ftype 1 01 000 000000 Rn Rd", _TO_INT, FP)
FCVTPU: Final = family("fcvtpu", "=Rd, Fn", "sf 0 0 11110 ftype 1 01 001 000000 Rn Rd", _TO_INT, FP)
FCVTMS: Final = family("fcvtms", "=Rd, Fn", "sf 0 0 11110 ftype 1 10 000 000000 Rn Rd", _TO_INT, FP)
FCVTMU: Final = family("fcvtmu", "=Rd, Fn", "sf 0 0 11110 ftype 1 10 001 000000 Rn Rd", _TO_INT, FP)
FCVTZS: Final = family("fcvtzs", "=Rd, Fn", "sf 0 0 11110 ftype 1 11 000 000000 Rn Rd", _TO_INT, FP)
FCVTZU: Final = family("fcvtzu", "=Rd, Fn", "sf 0 0 11110 ftype 1 11 001 000000 Rn Rd", _TO_INT, FP)
SCVTF: Final = family("scvtf", "=Fd, Rn", "sf 0 0 11110 ftype 1 00 010 000000 Rn Rd", _FROM_INT, FP)
UCVTF: Final = family("ucvtf", "=Fd, Rn", "sf 0 0 11110 ftype 1 00 011 000000 Rn Rd", _FROM_INT, FP)
FMOV_TO_INT: Final = family("fmov", "=Rd, Fn", "sf 0 0 11110 ftype 1 00 110 000000 Rn Rd", "w.s x.d w.h:fp16 x.h:fp16", FP)
FMOV_FROM_INT: Final = family("fmov", "=Fd, Rn", "sf 0 0 11110 ftype 1 00 111 000000 Rn Rd", "s.w d.x h.w:fp16 h.x:fp16", FP)

# --- Data Processing -- Scalar Advanced SIMD ---------------------------------------------------------------------

# Advanced SIMD scalar three same, and FP16
FCMEQ_S: Final = family("fcmeq", "=Fd, Fn, Fm", "01 0 11110 0 sz 1 Rm 11 100 1 Rn Rd", _SD, SIMD).also("h", "01 0 11110 0 10 Rm 00 100 1 Rn Rd", FP16)
FCMGE_S: Final = family("fcmge", "=Fd, Fn, Fm", "01 1 11110 0 sz 1 Rm 11 100 1 Rn Rd", _SD, SIMD).also("h", "01 1 11110 0 10 Rm 00 100 1 Rn Rd", FP16)
FCMGT_S: Final = family("fcmgt", "=Fd, Fn, Fm", "01 1 11110 1 sz 1 Rm 11 100 1 Rn Rd", _SD, SIMD).also("h", "01 1 11110 1 10 Rm 00 100 1 Rn Rd", FP16)
FACGE_S: Final = family("facge", "=Fd, Fn, Fm", "01 1 11110 0 sz 1 Rm 11 101 1 Rn Rd", _SD, SIMD).also("h", "01 1 11110 0 10 Rm 00 101 1 Rn Rd", FP16)
FACGT_S: Final = family("facgt", "=Fd, Fn, Fm", "01 1 11110 1 sz 1 Rm 11 101 1 Rn Rd", _SD, SIMD).also("h", "01 1 11110 1 10 Rm 00 101 1 Rn Rd", FP16)
FABD_S: Final = family("fabd", "=Fd, Fn, Fm", "01 1 11110 1 sz 1 Rm 11 010 1 Rn Rd", _SD, SIMD).also("h", "01 1 11110 1 10 Rm 00 010 1 Rn Rd", FP16)
FRECPS_S: Final = family("frecps", "=Fd, Fn, Fm", "01 0 11110 0 sz 1 Rm 11 111 1 Rn Rd", _SD, SIMD).also("h", "01 0 11110 0 10 Rm 00 111 1 Rn Rd", FP16)
FRSQRTS_S: Final = family("frsqrts", "=Fd, Fn, Fm", "01 0 11110 1 sz 1 Rm 11 111 1 Rn Rd", _SD, SIMD).also("h", "01 0 11110 1 10 Rm 00 111 1 Rn Rd", FP16)
ADD_S: Final = family("add", "=Fd, Fn, Fm", "01 0 11110 size 1 Rm 10000 1 Rn Rd", "d", SIMD)
SUB_S: Final = family("sub", "=Fd, Fn, Fm", "01 1 11110 size 1 Rm 10000 1 Rn Rd", "d", SIMD)
CMGT_S: Final = family("cmgt", "=Fd, Fn, Fm", "01 0 11110 size 1 Rm 00110 1 Rn Rd", "d", SIMD)
CMGE_S: Final = family("cmge", "=Fd, Fn, Fm", "01 0 11110 size 1 Rm 00111 1 Rn Rd", "d", SIMD)
CMHI_S: Final = family("cmhi", "=Fd, Fn, Fm", "01 1 11110 size 1 Rm 00110 1 Rn Rd", "d", SIMD)
CMHS_S: Final = family("cmhs", "=Fd, Fn, Fm", "01 1 11110 size 1 Rm 00111 1 Rn Rd", "d", SIMD)
CMEQ_S: Final = family("cmeq", "=Fd, Fn, Fm", "01 1 11110 size 1 Rm 10001 1 Rn Rd", "d", SIMD)
CMTST_S: Final = family("cmtst", "=Fd, Fn, Fm", "01 0 11110 size 1 Rm 10001 1 Rn Rd", "d", SIMD)
SSHL_S: Final = family("sshl", "=Fd, Fn, Fm", "01 0 11110 size 1 Rm 01000 1 Rn Rd", "d", SIMD)
USHL_S: Final = family("ushl", "=Fd, Fn, Fm", "01 1 11110 size 1 Rm 01000 1 Rn Rd", "d", SIMD)
SQADD_S: Final = family("sqadd", "=Fd, Fn, Fm", "01 0 11110 size 1 Rm 00001 1 Rn Rd", "b h s d", SIMD)
UQADD_S: Final = family("uqadd", "=Fd, Fn, Fm", "01 1 11110 size 1 Rm 00001 1 Rn Rd", "b h s d", SIMD)
SQSUB_S: Final = family("sqsub", "=Fd, Fn, Fm", "01 0 11110 size 1 Rm 00101 1 Rn Rd", "b h s d", SIMD)
UQSUB_S: Final = family("uqsub", "=Fd, Fn, Fm", "01 1 11110 size 1 Rm 00101 1 Rn Rd", "b h s d", SIMD)
# Advanced SIMD scalar two-register miscellaneous, and FP16
FCMGT_0_S: Final = family("fcmgt", "=Fd, Fn, #0.0", "01 0 11110 1 sz 10000 01100 10 Rn Rd", _SD, SIMD).also("h", "01 0 11110 1 1 11100 01100 10 Rn Rd", FP16)
FCMEQ_0_S: Final = family("fcmeq", "=Fd, Fn, #0.0", "01 0 11110 1 sz 10000 01101 10 Rn Rd", _SD, SIMD).also("h", "01 0 11110 1 1 11100 01101 10 Rn Rd", FP16)
FCMLT_0_S: Final = family("fcmlt", "=Fd, Fn, #0.0", "01 0 11110 1 sz 10000 01110 10 Rn Rd", _SD, SIMD).also("h", "01 0 11110 1 1 11100 01110 10 Rn Rd", FP16)
FCMGE_0_S: Final = family("fcmge", "=Fd, Fn, #0.0", "01 1 11110 1 sz 10000 01100 10 Rn Rd", _SD, SIMD).also("h", "01 1 11110 1 1 11100 01100 10 Rn Rd", FP16)
FCMLE_0_S: Final = family("fcmle", "=Fd, Fn, #0.0", "01 1 11110 1 sz 10000 01101 10 Rn Rd", _SD, SIMD).also("h", "01 1 11110 1 1 11100 01101 10 Rn Rd", FP16)
FCVTNS_S: Final = family("fcvtns", "=Fd, Fn", "01 0 11110 0 sz 10000 11010 10 Rn Rd", _SD, SIMD).also("h", "01 0 11110 0 1 11100 11010 10 Rn Rd", FP16)
FCVTMS_S: Final = family("fcvtms", "=Fd, Fn", "01 0 11110 0 sz 10000 11011 10 Rn Rd", _SD, SIMD).also("h", "01 0 11110 0 1 11100 11011 10 Rn Rd", FP16)
FCVTAS_S: Final = family("fcvtas", "=Fd, Fn", "01 0 11110 0 sz 10000 11100 10 Rn Rd", _SD, SIMD).also("h", "01 0 11110 0 1 11100 11100 10 Rn Rd", FP16)
SCVTF_S: Final = family("scvtf", "=Fd, Fn", "01 0 11110 0 sz 10000 11101 10 Rn Rd", _SD, SIMD).also("h", "01 0 11110 0 1 11100 11101 10 Rn Rd", FP16)
FCVTPS_S: Final = family("fcvtps", "=Fd, Fn", "01 0 11110 1 sz 10000 11010 10 Rn Rd", _SD, SIMD).also("h", "01 0 11110 1 1 11100 11010 10 Rn Rd", FP16)
FCVTZS_S: Final = family("fcvtzs", "=Fd, Fn", "01 0 11110 1 sz 10000 11011 10 Rn Rd", _SD, SIMD).also("h", "01 0 11110 1 1 11100 11011 10 Rn Rd", FP16)
FRECPE_S: Final = family("frecpe", "=Fd, Fn", "01 0 11110 1 sz 10000 11101 10 Rn Rd", _SD, SIMD).also("h", "01 0 11110 1 1 11100 11101 10 Rn Rd", FP16)
FCVTNU_S: Final = family("fcvtnu", "=Fd, Fn", "01 1 11110 0 sz 10000 11010 10 Rn Rd", _SD, SIMD).also("h", "01 1 11110 0 1 11100 11010 10 Rn Rd", FP16)
FCVTMU_S: Final = family("fcvtmu", "=Fd, Fn", "01 1 11110 0 sz 10000 11011 10 Rn Rd", _SD, SIMD).also("h", "01 1 11110 0 1 11100 11011 10 Rn Rd", FP16)
FCVTAU_S: Final = family("fcvtau", "=Fd, Fn", "01 1 11110 0 sz 10000 11100 10 Rn Rd", _SD, SIMD).also("h", "01 1 11110 0 1 11100 11100 10 Rn Rd", FP16)
UCVTF_S: Final = family("ucvtf", "=Fd, Fn", "01 1 11110 0 sz 10000 11101 10 Rn Rd", _SD, SIMD).also("h", "01 1 11110 0 1 11100 11101 10 Rn Rd", FP16)
FCVTPU_S: Final = family("fcvtpu", "=Fd, Fn", "01 1 11110 1 sz 10000 11010 10 Rn Rd", _SD, SIMD).also("h", "01 1 11110 1 1 11100 11010 10 Rn Rd", FP16)
FCVTZU_S: Final = family("fcvtzu", "=Fd, Fn", "01 1 11110 1 sz 10000 11011 10 Rn Rd", _SD, SIMD).also("h", "01 1 11110 1 1 11100 11011 10 Rn Rd", FP16)
FRSQRTE_S: Final = family("frsqrte", "=Fd, Fn", "01 1 11110 1 sz 10000 11101 10 Rn Rd", _SD, SIMD).also("h", "01 1 11110 1 1 11100 11101 10 Rn Rd", FP16)
CMGT_0_S: Final = family("cmgt", "=Fd, Fn, #0", "01 0 11110 size 10000 01000 10 Rn Rd", "d", SIMD)
CMEQ_0_S: Final = family("cmeq", "=Fd, Fn, #0", "01 0 11110 size 10000 01001 10 Rn Rd", "d", SIMD)
CMLT_0_S: Final = family("cmlt", "=Fd, Fn, #0", "01 0 11110 size 10000 01010 10 Rn Rd", "d", SIMD)
ABS_S: Final = family("abs", "=Fd, Fn", "01 0 11110 size 10000 01011 10 Rn Rd", "d", SIMD)
CMGE_0_S: Final = family("cmge", "=Fd, Fn, #0", "01 1 11110 size 10000 01000 10 Rn Rd", "d", SIMD)
CMLE_0_S: Final = family("cmle", "=Fd, Fn, #0", "01 1 11110 size 10000 01001 10 Rn Rd", "d", SIMD)
NEG_S: Final = family("neg", "=Fd, Fn", "01 1 11110 size 10000 01011 10 Rn Rd", "d", SIMD)
# Advanced SIMD scalar shift by immediate, copy, pairwise
SSHR_S: Final = family("sshr", "=Fd, Fn, #rshift", "01 0 111110 immhb 00000 1 Rn Rd", "d", SIMD)
USHR_S: Final = family("ushr", "=Fd, Fn, #rshift", "01 1 111110 immhb 00000 1 Rn Rd", "d", SIMD)
SHL_S: Final = family("shl", "=Fd, Fn, #lshift", "01 0 111110 immhb 01010 1 Rn Rd", "d", SIMD)
DUP_S: Final = family("mov", "=Fd, Vn.E[index]", "01 0 11110000 imm5 0 0000 1 Rn Rd", _LANES, SIMD)
ADDP_S: Final = row("addp", "=Dd, Vn.2d", "01 0 11110 11 11000 11011 10 Rn Rd", SIMD)
FADDP_S: Final = family("faddp", "=Fd, Vn.T2", "01 1 11110 0 sz 11000 01101 10 Rn Rd", _SD, SIMD).also("h", "01 0 11110 0 0 11000 01101 10 Rn Rd", FP16)
FMAXP_S: Final = family("fmaxp", "=Fd, Vn.T2", "01 1 11110 0 sz 11000 01111 10 Rn Rd", _SD, SIMD).also("h", "01 0 11110 0 0 11000 01111 10 Rn Rd", FP16)
FMINP_S: Final = family("fminp", "=Fd, Vn.T2", "01 1 11110 1 sz 11000 01111 10 Rn Rd", _SD, SIMD).also("h", "01 0 11110 1 0 11000 01111 10 Rn Rd", FP16)
FMAXNMP_S: Final = family("fmaxnmp", "=Fd, Vn.T2", "01 1 11110 0 sz 11000 01100 10 Rn Rd", _SD, SIMD).also("h", "01 0 11110 0 0 11000 01100 10 Rn Rd", FP16)
FMINNMP_S: Final = family("fminnmp", "=Fd, Vn.T2", "01 1 11110 1 sz 11000 01100 10 Rn Rd", _SD, SIMD).also("h", "01 0 11110 1 0 11000 01100 10 Rn Rd", FP16)

# --- Data Processing -- Advanced SIMD: three same ----------------------------------------------------------------

ADD_V: Final = family("add", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 10000 1 Rn Rd", _BHSD, SIMD)
SUB_V: Final = family("sub", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 10000 1 Rn Rd", _BHSD, SIMD)
MUL: Final = family("mul", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 10011 1 Rn Rd", _BHS, SIMD)
MLA: Final = family("mla", "+Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 10010 1 Rn Rd", _BHS, SIMD)
MLS: Final = family("mls", "+Vd.T, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 10010 1 Rn Rd", _BHS, SIMD)
PMUL: Final = family("pmul", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 10011 1 Rn Rd", _B, SIMD)
ADDP: Final = family("addp", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 10111 1 Rn Rd", _BHSD, SIMD)
SMAXP: Final = family("smaxp", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 10100 1 Rn Rd", _BHS, SIMD)
UMAXP: Final = family("umaxp", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 10100 1 Rn Rd", _BHS, SIMD)
SMINP: Final = family("sminp", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 10101 1 Rn Rd", _BHS, SIMD)
UMINP: Final = family("uminp", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 10101 1 Rn Rd", _BHS, SIMD)
SMAX: Final = family("smax", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 01100 1 Rn Rd", _BHS, SIMD)
UMAX: Final = family("umax", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 01100 1 Rn Rd", _BHS, SIMD)
SMIN: Final = family("smin", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 01101 1 Rn Rd", _BHS, SIMD)
UMIN: Final = family("umin", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 01101 1 Rn Rd", _BHS, SIMD)
SABD: Final = family("sabd", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 01110 1 Rn Rd", _BHS, SIMD)
UABD: Final = family("uabd", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 01110 1 Rn Rd", _BHS, SIMD)
SABA: Final = family("saba", "+Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 01111 1 Rn Rd", _BHS, SIMD)
UABA: Final = family("uaba", "+Vd.T, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 01111 1 Rn Rd", _BHS, SIMD)
SHADD: Final = family("shadd", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 00000 1 Rn Rd", _BHS, SIMD)
UHADD: Final = family("uhadd", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 00000 1 Rn Rd", _BHS, SIMD)
SRHADD: Final = family("srhadd", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 00010 1 Rn Rd", _BHS, SIMD)
URHADD: Final = family("urhadd", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 00010 1 Rn Rd", _BHS, SIMD)
SHSUB: Final = family("shsub", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 00100 1 Rn Rd", _BHS, SIMD)
UHSUB: Final = family("uhsub", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 00100 1 Rn Rd", _BHS, SIMD)
SQADD: Final = family("sqadd", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 00001 1 Rn Rd", _BHSD, SIMD)
UQADD: Final = family("uqadd", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 00001 1 Rn Rd", _BHSD, SIMD)
SQSUB: Final = family("sqsub", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 00101 1 Rn Rd", _BHSD, SIMD)
UQSUB: Final = family("uqsub", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 00101 1 Rn Rd", _BHSD, SIMD)
SSHL: Final = family("sshl", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 01000 1 Rn Rd", _BHSD, SIMD)
USHL: Final = family("ushl", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 01000 1 Rn Rd", _BHSD, SIMD)
SRSHL: Final = family("srshl", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 01010 1 Rn Rd", _BHSD, SIMD)
URSHL: Final = family("urshl", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 01010 1 Rn Rd", _BHSD, SIMD)
SQSHL: Final = family("sqshl", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 01001 1 Rn Rd", _BHSD, SIMD)
UQSHL: Final = family("uqshl", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 01001 1 Rn Rd", _BHSD, SIMD)
SQDMULH: Final = family("sqdmulh", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 10110 1 Rn Rd", _HS, SIMD)
SQRDMULH: Final = family("sqrdmulh", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 10110 1 Rn Rd", _HS, SIMD)
CMGT: Final = family("cmgt", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 00110 1 Rn Rd", _BHSD, SIMD)
CMGE: Final = family("cmge", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 00111 1 Rn Rd", _BHSD, SIMD)
CMHI: Final = family("cmhi", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 00110 1 Rn Rd", _BHSD, SIMD)
CMHS: Final = family("cmhs", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 00111 1 Rn Rd", _BHSD, SIMD)
CMEQ: Final = family("cmeq", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 10001 1 Rn Rd", _BHSD, SIMD)
CMTST: Final = family("cmtst", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 10001 1 Rn Rd", _BHSD, SIMD)
AND_V: Final = family("and", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 00 1 Rm 00011 1 Rn Rd", _B, SIMD)
BIC_V: Final = family("bic", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 01 1 Rm 00011 1 Rn Rd", _B, SIMD)
ORR_V: Final = family("orr", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 10 1 Rm 00011 1 Rn Rd", _B, SIMD)
ORN_V: Final = family("orn", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 11 1 Rm 00011 1 Rn Rd", _B, SIMD)
EOR_V: Final = family("eor", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 00 1 Rm 00011 1 Rn Rd", _B, SIMD)
BSL: Final = family("bsl", "+Vd.T, Vn.T, Vm.T", "0 Q 1 01110 01 1 Rm 00011 1 Rn Rd", _B, SIMD)
BIT: Final = family("bit", "+Vd.T, Vn.T, Vm.T", "0 Q 1 01110 10 1 Rm 00011 1 Rn Rd", _B, SIMD)
BIF: Final = family("bif", "+Vd.T, Vn.T, Vm.T", "0 Q 1 01110 11 1 Rm 00011 1 Rn Rd", _B, SIMD)
# with floating point, and three same (FP16)
FADD_V: Final = family("fadd", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 0 sz 1 Rm 11 010 1 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 0 01110 0 10 Rm 00 010 1 Rn Rd", FP16)
FSUB_V: Final = family("fsub", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 1 sz 1 Rm 11 010 1 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 0 01110 1 10 Rm 00 010 1 Rn Rd", FP16)
FMUL_V: Final = family("fmul", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 0 sz 1 Rm 11 011 1 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 0 10 Rm 00 011 1 Rn Rd", FP16)
FDIV_V: Final = family("fdiv", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 0 sz 1 Rm 11 111 1 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 0 10 Rm 00 111 1 Rn Rd", FP16)
FMLA: Final = family("fmla", "+Vd.T, Vn.T, Vm.T", "0 Q 0 01110 0 sz 1 Rm 11 001 1 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 0 01110 0 10 Rm 00 001 1 Rn Rd", FP16)
FMLS: Final = family("fmls", "+Vd.T, Vn.T, Vm.T", "0 Q 0 01110 1 sz 1 Rm 11 001 1 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 0 01110 1 10 Rm 00 001 1 Rn Rd", FP16)
FABD: Final = family("fabd", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 1 sz 1 Rm 11 010 1 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 1 10 Rm 00 010 1 Rn Rd", FP16)
FMAX_V: Final = family("fmax", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 0 sz 1 Rm 11 110 1 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 0 01110 0 10 Rm 00 110 1 Rn Rd", FP16)
FMIN_V: Final = family("fmin", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 1 sz 1 Rm 11 110 1 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 0 01110 1 10 Rm 00 110 1 Rn Rd", FP16)
FMAXNM_V: Final = family("fmaxnm", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 0 sz 1 Rm 11 000 1 Rn Rd", _FSD, SIMD).also(
    _FH, "0 Q 0 01110 0 10 Rm 00 000 1 Rn Rd", FP16
)
FMINNM_V: Final = family("fminnm", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 1 sz 1 Rm 11 000 1 Rn Rd", _FSD, SIMD).also(
    _FH, "0 Q 0 01110 1 10 Rm 00 000 1 Rn Rd", FP16
)
FADDP: Final = family("faddp", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 0 sz 1 Rm 11 010 1 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 0 10 Rm 00 010 1 Rn Rd", FP16)
FMAXP: Final = family("fmaxp", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 0 sz 1 Rm 11 110 1 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 0 10 Rm 00 110 1 Rn Rd", FP16)
FMINP: Final = family("fminp", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 1 sz 1 Rm 11 110 1 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 1 10 Rm 00 110 1 Rn Rd", FP16)
FMAXNMP: Final = family("fmaxnmp", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 0 sz 1 Rm 11 000 1 Rn Rd", _FSD, SIMD).also(
    _FH, "0 Q 1 01110 0 10 Rm 00 000 1 Rn Rd", FP16
)
FMINNMP: Final = family("fminnmp", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 1 sz 1 Rm 11 000 1 Rn Rd", _FSD, SIMD).also(
    _FH, "0 Q 1 01110 1 10 Rm 00 000 1 Rn Rd", FP16
)
FCMEQ: Final = family("fcmeq", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 0 sz 1 Rm 11 100 1 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 0 01110 0 10 Rm 00 100 1 Rn Rd", FP16)
FCMGE: Final = family("fcmge", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 0 sz 1 Rm 11 100 1 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 0 10 Rm 00 100 1 Rn Rd", FP16)
FCMGT: Final = family("fcmgt", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 1 sz 1 Rm 11 100 1 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 1 10 Rm 00 100 1 Rn Rd", FP16)
FACGE: Final = family("facge", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 0 sz 1 Rm 11 101 1 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 0 10 Rm 00 101 1 Rn Rd", FP16)
FACGT: Final = family("facgt", "=Vd.T, Vn.T, Vm.T", "0 Q 1 01110 1 sz 1 Rm 11 101 1 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 1 10 Rm 00 101 1 Rn Rd", FP16)
FRECPS: Final = family("frecps", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 0 sz 1 Rm 11 111 1 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 0 01110 0 10 Rm 00 111 1 Rn Rd", FP16)
FRSQRTS: Final = family("frsqrts", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 1 sz 1 Rm 11 111 1 Rn Rd", _FSD, SIMD).also(
    _FH, "0 Q 0 01110 1 10 Rm 00 111 1 Rn Rd", FP16
)
# three-register extension: dot products
SDOT: Final = family("sdot", "+Vd.T, Vn.Tq, Vm.Tq", "0 Q 0 01110 10 0 Rm 1 0010 1 Rn Rd", "2s 4s", DOT)
UDOT: Final = family("udot", "+Vd.T, Vn.Tq, Vm.Tq", "0 Q 1 01110 10 0 Rm 1 0010 1 Rn Rd", "2s 4s", DOT)

# --- Data Processing -- Advanced SIMD: three different -----------------------------------------------------------

SADDL: Final = family("saddl{2}", "=Vd.Ta, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 0000 00 Rn Rd", _BHS, SIMD)
UADDL: Final = family("uaddl{2}", "=Vd.Ta, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 0000 00 Rn Rd", _BHS, SIMD)
SADDW: Final = family("saddw{2}", "=Vd.Ta, Vn.Ta, Vm.T", "0 Q 0 01110 size 1 Rm 0001 00 Rn Rd", _BHS, SIMD)
UADDW: Final = family("uaddw{2}", "=Vd.Ta, Vn.Ta, Vm.T", "0 Q 1 01110 size 1 Rm 0001 00 Rn Rd", _BHS, SIMD)
SSUBL: Final = family("ssubl{2}", "=Vd.Ta, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 0010 00 Rn Rd", _BHS, SIMD)
USUBL: Final = family("usubl{2}", "=Vd.Ta, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 0010 00 Rn Rd", _BHS, SIMD)
SSUBW: Final = family("ssubw{2}", "=Vd.Ta, Vn.Ta, Vm.T", "0 Q 0 01110 size 1 Rm 0011 00 Rn Rd", _BHS, SIMD)
USUBW: Final = family("usubw{2}", "=Vd.Ta, Vn.Ta, Vm.T", "0 Q 1 01110 size 1 Rm 0011 00 Rn Rd", _BHS, SIMD)
ADDHN: Final = family("addhn{2}", "=/+Vd.T, Vn.Ta, Vm.Ta", "0 Q 0 01110 size 1 Rm 0100 00 Rn Rd", _BHS, SIMD)
SUBHN: Final = family("subhn{2}", "=/+Vd.T, Vn.Ta, Vm.Ta", "0 Q 0 01110 size 1 Rm 0110 00 Rn Rd", _BHS, SIMD)
SABAL: Final = family("sabal{2}", "+Vd.Ta, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 0101 00 Rn Rd", _BHS, SIMD)
UABAL: Final = family("uabal{2}", "+Vd.Ta, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 0101 00 Rn Rd", _BHS, SIMD)
SABDL: Final = family("sabdl{2}", "=Vd.Ta, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 0111 00 Rn Rd", _BHS, SIMD)
UABDL: Final = family("uabdl{2}", "=Vd.Ta, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 0111 00 Rn Rd", _BHS, SIMD)
SMLAL: Final = family("smlal{2}", "+Vd.Ta, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 1000 00 Rn Rd", _BHS, SIMD)
UMLAL: Final = family("umlal{2}", "+Vd.Ta, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 1000 00 Rn Rd", _BHS, SIMD)
SMLSL: Final = family("smlsl{2}", "+Vd.Ta, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 1010 00 Rn Rd", _BHS, SIMD)
UMLSL: Final = family("umlsl{2}", "+Vd.Ta, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 1010 00 Rn Rd", _BHS, SIMD)
SMULL: Final = family("smull{2}", "=Vd.Ta, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 1100 00 Rn Rd", _BHS, SIMD)
UMULL: Final = family("umull{2}", "=Vd.Ta, Vn.T, Vm.T", "0 Q 1 01110 size 1 Rm 1100 00 Rn Rd", _BHS, SIMD)
PMULL: Final = family("pmull{2}", "=Vd.Ta, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 1110 00 Rn Rd", _B, SIMD)

# --- Data Processing -- Advanced SIMD: two-register miscellaneous ------------------------------------------------

REV64: Final = family("rev64", "=Vd.T, Vn.T", "0 Q 0 01110 size 10000 00000 10 Rn Rd", _BHS, SIMD)
REV32_V: Final = family("rev32", "=Vd.T, Vn.T", "0 Q 1 01110 size 10000 00000 10 Rn Rd", "8b 16b 4h 8h", SIMD)
REV16_V: Final = family("rev16", "=Vd.T, Vn.T", "0 Q 0 01110 size 10000 00001 10 Rn Rd", _B, SIMD)
SADDLP: Final = family("saddlp", "=Vd.Tp, Vn.T", "0 Q 0 01110 size 10000 00010 10 Rn Rd", _BHS, SIMD)
UADDLP: Final = family("uaddlp", "=Vd.Tp, Vn.T", "0 Q 1 01110 size 10000 00010 10 Rn Rd", _BHS, SIMD)
SADALP: Final = family("sadalp", "+Vd.Tp, Vn.T", "0 Q 0 01110 size 10000 00110 10 Rn Rd", _BHS, SIMD)
UADALP: Final = family("uadalp", "+Vd.Tp, Vn.T", "0 Q 1 01110 size 10000 00110 10 Rn Rd", _BHS, SIMD)
CLS_V: Final = family("cls", "=Vd.T, Vn.T", "0 Q 0 01110 size 10000 00100 10 Rn Rd", _BHS, SIMD)
CLZ_V: Final = family("clz", "=Vd.T, Vn.T", "0 Q 1 01110 size 10000 00100 10 Rn Rd", _BHS, SIMD)
CNT: Final = family("cnt", "=Vd.T, Vn.T", "0 Q 0 01110 size 10000 00101 10 Rn Rd", _B, SIMD)
SQABS: Final = family("sqabs", "=Vd.T, Vn.T", "0 Q 0 01110 size 10000 00111 10 Rn Rd", _BHSD, SIMD)
SQNEG: Final = family("sqneg", "=Vd.T, Vn.T", "0 Q 1 01110 size 10000 00111 10 Rn Rd", _BHSD, SIMD)
ABS: Final = family("abs", "=Vd.T, Vn.T", "0 Q 0 01110 size 10000 01011 10 Rn Rd", _BHSD, SIMD)
NEG: Final = family("neg", "=Vd.T, Vn.T", "0 Q 1 01110 size 10000 01011 10 Rn Rd", _BHSD, SIMD)
CMGT_0: Final = family("cmgt", "=Vd.T, Vn.T, #0", "0 Q 0 01110 size 10000 01000 10 Rn Rd", _BHSD, SIMD)
CMEQ_0: Final = family("cmeq", "=Vd.T, Vn.T, #0", "0 Q 0 01110 size 10000 01001 10 Rn Rd", _BHSD, SIMD)
CMLT_0: Final = family("cmlt", "=Vd.T, Vn.T, #0", "0 Q 0 01110 size 10000 01010 10 Rn Rd", _BHSD, SIMD)
CMGE_0: Final = family("cmge", "=Vd.T, Vn.T, #0", "0 Q 1 01110 size 10000 01000 10 Rn Rd", _BHSD, SIMD)
CMLE_0: Final = family("cmle", "=Vd.T, Vn.T, #0", "0 Q 1 01110 size 10000 01001 10 Rn Rd", _BHSD, SIMD)
XTN: Final = family("xtn{2}", "=/+Vd.T, Vn.Ta", "0 Q 0 01110 size 10000 10010 10 Rn Rd", _BHS, SIMD)
SQXTUN: Final = family("sqxtun{2}", "=/+Vd.T, Vn.Ta", "0 Q 1 01110 size 10000 10010 10 Rn Rd", _BHS, SIMD)
SQXTN: Final = family("sqxtn{2}", "=/+Vd.T, Vn.Ta", "0 Q 0 01110 size 10000 10100 10 Rn Rd", _BHS, SIMD)
UQXTN: Final = family("uqxtn{2}", "=/+Vd.T, Vn.Ta", "0 Q 1 01110 size 10000 10100 10 Rn Rd", _BHS, SIMD)
NOT: Final = family("mvn", "=Vd.T, Vn.T", "0 Q 1 01110 00 10000 00101 10 Rn Rd", _B, SIMD)
RBIT_V: Final = family("rbit", "=Vd.T, Vn.T", "0 Q 1 01110 01 10000 00101 10 Rn Rd", _B, SIMD)
# with floating point, and two-register miscellaneous (FP16)
FABS_V: Final = family("fabs", "=Vd.T, Vn.T", "0 Q 0 01110 1 sz 10000 01111 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 0 01110 1 1 11100 01111 10 Rn Rd", FP16)
FNEG_V: Final = family("fneg", "=Vd.T, Vn.T", "0 Q 1 01110 1 sz 10000 01111 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 1 1 11100 01111 10 Rn Rd", FP16)
FSQRT_V: Final = family("fsqrt", "=Vd.T, Vn.T", "0 Q 1 01110 1 sz 10000 11111 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 1 1 11100 11111 10 Rn Rd", FP16)
FRINTN_V: Final = family("frintn", "=Vd.T, Vn.T", "0 Q 0 01110 0 sz 10000 11000 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 0 01110 0 1 11100 11000 10 Rn Rd", FP16)
FRINTM_V: Final = family("frintm", "=Vd.T, Vn.T", "0 Q 0 01110 0 sz 10000 11001 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 0 01110 0 1 11100 11001 10 Rn Rd", FP16)
FRINTP_V: Final = family("frintp", "=Vd.T, Vn.T", "0 Q 0 01110 1 sz 10000 11000 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 0 01110 1 1 11100 11000 10 Rn Rd", FP16)
FRINTZ_V: Final = family("frintz", "=Vd.T, Vn.T", "0 Q 0 01110 1 sz 10000 11001 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 0 01110 1 1 11100 11001 10 Rn Rd", FP16)
FRINTA_V: Final = family("frinta", "=Vd.T, Vn.T", "0 Q 1 01110 0 sz 10000 11000 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 0 1 11100 11000 10 Rn Rd", FP16)
FRINTX_V: Final = family("frintx", "=Vd.T, Vn.T", "0 Q 1 01110 0 sz 10000 11001 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 0 1 11100 11001 10 Rn Rd", FP16)
FRINTI_V: Final = family("frinti", "=Vd.T, Vn.T", "0 Q 1 01110 1 sz 10000 11001 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 1 1 11100 11001 10 Rn Rd", FP16)
FCVTNS_V: Final = family("fcvtns", "=Vd.T, Vn.T", "0 Q 0 01110 0 sz 10000 11010 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 0 01110 0 1 11100 11010 10 Rn Rd", FP16)
FCVTNU_V: Final = family("fcvtnu", "=Vd.T, Vn.T", "0 Q 1 01110 0 sz 10000 11010 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 0 1 11100 11010 10 Rn Rd", FP16)
FCVTMS_V: Final = family("fcvtms", "=Vd.T, Vn.T", "0 Q 0 01110 0 sz 10000 11011 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 0 01110 0 1 11100 11011 10 Rn Rd", FP16)
FCVTMU_V: Final = family("fcvtmu", "=Vd.T, Vn.T", "0 Q 1 01110 0 sz 10000 11011 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 0 1 11100 11011 10 Rn Rd", FP16)
FCVTAS_V: Final = family("fcvtas", "=Vd.T, Vn.T", "0 Q 0 01110 0 sz 10000 11100 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 0 01110 0 1 11100 11100 10 Rn Rd", FP16)
FCVTAU_V: Final = family("fcvtau", "=Vd.T, Vn.T", "0 Q 1 01110 0 sz 10000 11100 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 0 1 11100 11100 10 Rn Rd", FP16)
FCVTPS_V: Final = family("fcvtps", "=Vd.T, Vn.T", "0 Q 0 01110 1 sz 10000 11010 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 0 01110 1 1 11100 11010 10 Rn Rd", FP16)
FCVTPU_V: Final = family("fcvtpu", "=Vd.T, Vn.T", "0 Q 1 01110 1 sz 10000 11010 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 1 1 11100 11010 10 Rn Rd", FP16)
FCVTZS_V: Final = family("fcvtzs", "=Vd.T, Vn.T", "0 Q 0 01110 1 sz 10000 11011 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 0 01110 1 1 11100 11011 10 Rn Rd", FP16)
FCVTZU_V: Final = family("fcvtzu", "=Vd.T, Vn.T", "0 Q 1 01110 1 sz 10000 11011 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 1 1 11100 11011 10 Rn Rd", FP16)
SCVTF_V: Final = family("scvtf", "=Vd.T, Vn.T", "0 Q 0 01110 0 sz 10000 11101 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 0 01110 0 1 11100 11101 10 Rn Rd", FP16)
UCVTF_V: Final = family("ucvtf", "=Vd.T, Vn.T", "0 Q 1 01110 0 sz 10000 11101 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 0 1 11100 11101 10 Rn Rd", FP16)
FRECPE: Final = family("frecpe", "=Vd.T, Vn.T", "0 Q 0 01110 1 sz 10000 11101 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 0 01110 1 1 11100 11101 10 Rn Rd", FP16)
FRSQRTE: Final = family("frsqrte", "=Vd.T, Vn.T", "0 Q 1 01110 1 sz 10000 11101 10 Rn Rd", _FSD, SIMD).also(_FH, "0 Q 1 01110 1 1 11100 11101 10 Rn Rd", FP16)
FCMGT_0: Final = family("fcmgt", "=Vd.T, Vn.T, #0.0", "0 Q 0 01110 1 sz 10000 01100 10 Rn Rd", _FSD, SIMD).also(
    _FH, "0 Q 0 01110 1 1 11100 01100 10 Rn Rd", FP16
)
FCMGE_0: Final = family("fcmge", "=Vd.T, Vn.T, #0.0", "0 Q 1 01110 1 sz 10000 01100 10 Rn Rd", _FSD, SIMD).also(
    _FH, "0 Q 1 01110 1 1 11100 01100 10 Rn Rd", FP16
)
FCMEQ_0: Final = family("fcmeq", "=Vd.T, Vn.T, #0.0", "0 Q 0 01110 1 sz 10000 01101 10 Rn Rd", _FSD, SIMD).also(
    _FH, "0 Q 0 01110 1 1 11100 01101 10 Rn Rd", FP16
)
FCMLE_0: Final = family("fcmle", "=Vd.T, Vn.T, #0.0", "0 Q 1 01110 1 sz 10000 01101 10 Rn Rd", _FSD, SIMD).also(
    _FH, "0 Q 1 01110 1 1 11100 01101 10 Rn Rd", FP16
)
FCMLT_0: Final = family("fcmlt", "=Vd.T, Vn.T, #0.0", "0 Q 0 01110 1 sz 10000 01110 10 Rn Rd", _FSD, SIMD).also(
    _FH, "0 Q 0 01110 1 1 11100 01110 10 Rn Rd", FP16
)
# between floating-point formats: the shape is the narrow one's
FCVTL: Final = family("fcvtl{2}", "=Vd.Ta, Vn.T", "0 Q 0 01110 0 nsz 10000 10111 10 Rn Rd", _HS, SIMD)
FCVTN: Final = family("fcvtn{2}", "=/+Vd.T, Vn.Ta", "0 Q 0 01110 0 nsz 10000 10110 10 Rn Rd", _HS, SIMD)
FCVTXN: Final = family("fcvtxn{2}", "=/+Vd.T, Vn.Ta", "0 Q 1 01110 0 nsz 10000 10110 10 Rn Rd", "2s 4s", SIMD)

# --- Data Processing -- Advanced SIMD: across lanes --------------------------------------------------------------

ADDV: Final = family("addv", "=Fd, Vn.T", "0 Q 0 01110 size 11000 11011 10 Rn Rd", _ACROSS, SIMD)
SMAXV: Final = family("smaxv", "=Fd, Vn.T", "0 Q 0 01110 size 11000 01010 10 Rn Rd", _ACROSS, SIMD)
UMAXV: Final = family("umaxv", "=Fd, Vn.T", "0 Q 1 01110 size 11000 01010 10 Rn Rd", _ACROSS, SIMD)
SMINV: Final = family("sminv", "=Fd, Vn.T", "0 Q 0 01110 size 11000 11010 10 Rn Rd", _ACROSS, SIMD)
UMINV: Final = family("uminv", "=Fd, Vn.T", "0 Q 1 01110 size 11000 11010 10 Rn Rd", _ACROSS, SIMD)
SADDLV: Final = family("saddlv", "=Ld, Vn.T", "0 Q 0 01110 size 11000 00011 10 Rn Rd", _ACROSS, SIMD)
UADDLV: Final = family("uaddlv", "=Ld, Vn.T", "0 Q 1 01110 size 11000 00011 10 Rn Rd", _ACROSS, SIMD)
FMAXV: Final = family("fmaxv", "=Fd, Vn.T", "0 Q 1 01110 0 sz 11000 01111 10 Rn Rd", "4s", SIMD).also(_FH, "0 Q 0 01110 0 0 11000 01111 10 Rn Rd", FP16)
FMINV: Final = family("fminv", "=Fd, Vn.T", "0 Q 1 01110 1 sz 11000 01111 10 Rn Rd", "4s", SIMD).also(_FH, "0 Q 0 01110 1 0 11000 01111 10 Rn Rd", FP16)
FMAXNMV: Final = family("fmaxnmv", "=Fd, Vn.T", "0 Q 1 01110 0 sz 11000 01100 10 Rn Rd", "4s", SIMD).also(_FH, "0 Q 0 01110 0 0 11000 01100 10 Rn Rd", FP16)
FMINNMV: Final = family("fminnmv", "=Fd, Vn.T", "0 Q 1 01110 1 sz 11000 01100 10 Rn Rd", "4s", SIMD).also(_FH, "0 Q 0 01110 1 0 11000 01100 10 Rn Rd", FP16)

# --- Data Processing -- Advanced SIMD: shift by immediate --------------------------------------------------------

SSHR: Final = family("sshr", "=Vd.T, Vn.T, #rshift", "0 Q 0 011110 immhb 00000 1 Rn Rd", _BHSD, SIMD)
USHR: Final = family("ushr", "=Vd.T, Vn.T, #rshift", "0 Q 1 011110 immhb 00000 1 Rn Rd", _BHSD, SIMD)
SSRA: Final = family("ssra", "+Vd.T, Vn.T, #rshift", "0 Q 0 011110 immhb 00010 1 Rn Rd", _BHSD, SIMD)
USRA: Final = family("usra", "+Vd.T, Vn.T, #rshift", "0 Q 1 011110 immhb 00010 1 Rn Rd", _BHSD, SIMD)
SRSHR: Final = family("srshr", "=Vd.T, Vn.T, #rshift", "0 Q 0 011110 immhb 00100 1 Rn Rd", _BHSD, SIMD)
URSHR: Final = family("urshr", "=Vd.T, Vn.T, #rshift", "0 Q 1 011110 immhb 00100 1 Rn Rd", _BHSD, SIMD)
SRSRA: Final = family("srsra", "+Vd.T, Vn.T, #rshift", "0 Q 0 011110 immhb 00110 1 Rn Rd", _BHSD, SIMD)
URSRA: Final = family("ursra", "+Vd.T, Vn.T, #rshift", "0 Q 1 011110 immhb 00110 1 Rn Rd", _BHSD, SIMD)
SRI: Final = family("sri", "+Vd.T, Vn.T, #rshift", "0 Q 1 011110 immhb 01000 1 Rn Rd", _BHSD, SIMD)
SHL: Final = family("shl", "=Vd.T, Vn.T, #lshift", "0 Q 0 011110 immhb 01010 1 Rn Rd", _BHSD, SIMD)
SLI: Final = family("sli", "+Vd.T, Vn.T, #lshift", "0 Q 1 011110 immhb 01010 1 Rn Rd", _BHSD, SIMD)
SQSHL_IMM: Final = family("sqshl", "=Vd.T, Vn.T, #lshift", "0 Q 0 011110 immhb 01110 1 Rn Rd", _BHSD, SIMD)
UQSHL_IMM: Final = family("uqshl", "=Vd.T, Vn.T, #lshift", "0 Q 1 011110 immhb 01110 1 Rn Rd", _BHSD, SIMD)
SHRN: Final = family("shrn{2}", "=/+Vd.T, Vn.Ta, #rshift", "0 Q 0 011110 immhb 10000 1 Rn Rd", _BHS, SIMD)
RSHRN: Final = family("rshrn{2}", "=/+Vd.T, Vn.Ta, #rshift", "0 Q 0 011110 immhb 10001 1 Rn Rd", _BHS, SIMD)
SQSHRUN: Final = family("sqshrun{2}", "=/+Vd.T, Vn.Ta, #rshift", "0 Q 1 011110 immhb 10000 1 Rn Rd", _BHS, SIMD)
SQRSHRUN: Final = family("sqrshrun{2}", "=/+Vd.T, Vn.Ta, #rshift", "0 Q 1 011110 immhb 10001 1 Rn Rd", _BHS, SIMD)
SQSHRN: Final = family("sqshrn{2}", "=/+Vd.T, Vn.Ta, #rshift", "0 Q 0 011110 immhb 10010 1 Rn Rd", _BHS, SIMD)
UQSHRN: Final = family("uqshrn{2}", "=/+Vd.T, Vn.Ta, #rshift", "0 Q 1 011110 immhb 10010 1 Rn Rd", _BHS, SIMD)
SQRSHRN: Final = family("sqrshrn{2}", "=/+Vd.T, Vn.Ta, #rshift", "0 Q 0 011110 immhb 10011 1 Rn Rd", _BHS, SIMD)
UQRSHRN: Final = family("uqrshrn{2}", "=/+Vd.T, Vn.Ta, #rshift", "0 Q 1 011110 immhb 10011 1 Rn Rd", _BHS, SIMD)
SSHLL: Final = family("sshll{2}", "=Vd.Ta, Vn.T, #lshift", "0 Q 0 011110 immhb 10100 1 Rn Rd", _BHS, SIMD)
USHLL: Final = family("ushll{2}", "=Vd.Ta, Vn.T, #lshift", "0 Q 1 011110 immhb 10100 1 Rn Rd", _BHS, SIMD)

# --- Data Processing -- Advanced SIMD: vector x indexed element --------------------------------------------------

# of 16-bit elements only registers v0 to v15 can be the last operand
MUL_E: Final = family("mul", "=Vd.T, Vn.T, Vm.E[index]", "0 Q 0 01111 size L M Rm4 1000 H 0 Rn Rd", _HS, SIMD)
MLA_E: Final = family("mla", "+Vd.T, Vn.T, Vm.E[index]", "0 Q 1 01111 size L M Rm4 0000 H 0 Rn Rd", _HS, SIMD)
MLS_E: Final = family("mls", "+Vd.T, Vn.T, Vm.E[index]", "0 Q 1 01111 size L M Rm4 0100 H 0 Rn Rd", _HS, SIMD)
SQDMULH_E: Final = family("sqdmulh", "=Vd.T, Vn.T, Vm.E[index]", "0 Q 0 01111 size L M Rm4 1100 H 0 Rn Rd", _HS, SIMD)
SQRDMULH_E: Final = family("sqrdmulh", "=Vd.T, Vn.T, Vm.E[index]", "0 Q 0 01111 size L M Rm4 1101 H 0 Rn Rd", _HS, SIMD)
SMULL_E: Final = family("smull{2}", "=Vd.Ta, Vn.T, Vm.E[index]", "0 Q 0 01111 size L M Rm4 1010 H 0 Rn Rd", _HS, SIMD)
UMULL_E: Final = family("umull{2}", "=Vd.Ta, Vn.T, Vm.E[index]", "0 Q 1 01111 size L M Rm4 1010 H 0 Rn Rd", _HS, SIMD)
SMLAL_E: Final = family("smlal{2}", "+Vd.Ta, Vn.T, Vm.E[index]", "0 Q 0 01111 size L M Rm4 0010 H 0 Rn Rd", _HS, SIMD)
UMLAL_E: Final = family("umlal{2}", "+Vd.Ta, Vn.T, Vm.E[index]", "0 Q 1 01111 size L M Rm4 0010 H 0 Rn Rd", _HS, SIMD)
SMLSL_E: Final = family("smlsl{2}", "+Vd.Ta, Vn.T, Vm.E[index]", "0 Q 0 01111 size L M Rm4 0110 H 0 Rn Rd", _HS, SIMD)
UMLSL_E: Final = family("umlsl{2}", "+Vd.Ta, Vn.T, Vm.E[index]", "0 Q 1 01111 size L M Rm4 0110 H 0 Rn Rd", _HS, SIMD)
FMUL_E: Final = family("fmul", "=Vd.T, Vn.T, Vm.E[index]", "0 Q 0 01111 1 sz L M Rm4 1001 H 0 Rn Rd", _FSD, SIMD).also(
    _FH, "0 Q 0 01111 00 L M Rm4 1001 H 0 Rn Rd", FP16
)
FMLA_E: Final = family("fmla", "+Vd.T, Vn.T, Vm.E[index]", "0 Q 0 01111 1 sz L M Rm4 0001 H 0 Rn Rd", _FSD, SIMD).also(
    _FH, "0 Q 0 01111 00 L M Rm4 0001 H 0 Rn Rd", FP16
)
FMLS_E: Final = family("fmls", "+Vd.T, Vn.T, Vm.E[index]", "0 Q 0 01111 1 sz L M Rm4 0101 H 0 Rn Rd", _FSD, SIMD).also(
    _FH, "0 Q 0 01111 00 L M Rm4 0101 H 0 Rn Rd", FP16
)
SDOT_E: Final = family("sdot", "+Vd.T, Vn.Tq, Vm.4b[index]", "0 Q 0 01111 10 L M Rm4 1110 H 0 Rn Rd", "2s 4s", DOT)
UDOT_E: Final = family("udot", "+Vd.T, Vn.Tq, Vm.4b[index]", "0 Q 1 01111 10 L M Rm4 1110 H 0 Rn Rd", "2s 4s", DOT)

# --- Data Processing -- Advanced SIMD: copy, permute, extract, table lookup --------------------------------------

DUP: Final = family("dup", "=Vd.T, Rn", "0 Q 0 01110000 lane5 0 0001 1 Rn Rd", _BHSD, SIMD)
DUP_E: Final = family("dup", "=Vd.T, Vn.E[index]", "0 Q 0 01110000 imm5 0 0000 1 Rn Rd", _BHSD, SIMD)
INS: Final = family("mov", "+Vd.E[index], Rn", "0 1 0 01110000 imm5 0 0011 1 Rn Rd", _LANES, SIMD)
INS_E: Final = family("mov", "+Vd.E[index], Vn.E[index2]", "0 1 1 01110000 imm5 0 imm4 1 Rn Rd", _LANES, SIMD)
UMOV: Final = family("umov", "=Rd, Vn.E[index]", "0 sf 0 01110000 imm5 0 0111 1 Rn Rd", _LANES, SIMD)
SMOV: Final = family("smov", "=Rd, Vn.E[index]", "0 sf 0 01110000 imm5 0 0101 1 Rn Rd", "w.b w.h x.b x.h x.s", SIMD)
UZP1: Final = family("uzp1", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 0 Rm 0 001 10 Rn Rd", _BHSD, SIMD)
TRN1: Final = family("trn1", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 0 Rm 0 010 10 Rn Rd", _BHSD, SIMD)
ZIP1: Final = family("zip1", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 0 Rm 0 011 10 Rn Rd", _BHSD, SIMD)
UZP2: Final = family("uzp2", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 0 Rm 0 101 10 Rn Rd", _BHSD, SIMD)
TRN2: Final = family("trn2", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 0 Rm 0 110 10 Rn Rd", _BHSD, SIMD)
ZIP2: Final = family("zip2", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 0 Rm 0 111 10 Rn Rd", _BHSD, SIMD)
EXT: Final = family("ext", "=Vd.T, Vn.T, Vm.T, #pos", "0 Q 1 01110 00 0 Rm 0 pos4 0 Rn Rd", _B, SIMD)
TBL1: Final = family("tbl", "=Vd.T, Vn.16b*1, Vm.T", "0 Q 0 01110 00 0 Rm 0 00 0 00 Rn Rd", _B, SIMD)
TBL2: Final = family("tbl", "=Vd.T, Vn.16b*2, Vm.T", "0 Q 0 01110 00 0 Rm 0 01 0 00 Rn Rd", _B, SIMD)
TBL3: Final = family("tbl", "=Vd.T, Vn.16b*3, Vm.T", "0 Q 0 01110 00 0 Rm 0 10 0 00 Rn Rd", _B, SIMD)
TBL4: Final = family("tbl", "=Vd.T, Vn.16b*4, Vm.T", "0 Q 0 01110 00 0 Rm 0 11 0 00 Rn Rd", _B, SIMD)
TBX1: Final = family("tbx", "+Vd.T, Vn.16b*1, Vm.T", "0 Q 0 01110 00 0 Rm 0 00 1 00 Rn Rd", _B, SIMD)
TBX2: Final = family("tbx", "+Vd.T, Vn.16b*2, Vm.T", "0 Q 0 01110 00 0 Rm 0 01 1 00 Rn Rd", _B, SIMD)
TBX3: Final = family("tbx", "+Vd.T, Vn.16b*3, Vm.T", "0 Q 0 01110 00 0 Rm 0 10 1 00 Rn Rd", _B, SIMD)
TBX4: Final = family("tbx", "+Vd.T, Vn.16b*4, Vm.T", "0 Q 0 01110 00 0 Rm 0 11 1 00 Rn Rd", _B, SIMD)

# --- Data Processing -- Advanced SIMD: modified immediate --------------------------------------------------------

MOVI_B: Final = family("movi", "=Vd.T, #imm8", "0 Q 0 0111100000 imm8[7:5] 1110 0 1 imm8[4:0] Rd", _B, SIMD)
MOVI: Final = family("movi", "=Vd.T, #imm8{, lsl #lsl8}", "0 Q 0 0111100000 imm8[7:5] cmode 0 0 1 imm8[4:0] Rd", _HS, SIMD)
MVNI: Final = family("mvni", "=Vd.T, #imm8{, lsl #lsl8}", "0 Q 1 0111100000 imm8[7:5] cmode 0 0 1 imm8[4:0] Rd", _HS, SIMD)
ORR_V_IMM: Final = family("orr", "+Vd.T, #imm8{, lsl #lsl8}", "0 Q 0 0111100000 imm8[7:5] cmode 1 0 1 imm8[4:0] Rd", _HS, SIMD)
BIC_V_IMM: Final = family("bic", "+Vd.T, #imm8{, lsl #lsl8}", "0 Q 1 0111100000 imm8[7:5] cmode 1 0 1 imm8[4:0] Rd", _HS, SIMD)
MOVI_MSL: Final = family("movi", "=Vd.T, #imm8, msl #msl8", "0 Q 0 0111100000 imm8[7:5] 110 msl8 0 1 imm8[4:0] Rd", "2s 4s", SIMD)
MVNI_MSL: Final = family("mvni", "=Vd.T, #imm8, msl #msl8", "0 Q 1 0111100000 imm8[7:5] 110 msl8 0 1 imm8[4:0] Rd", "2s 4s", SIMD)
MOVI_D: Final = row("movi", "=Dd, #mask8", "0 0 1 0111100000 mask8[7:5] 1110 0 1 mask8[4:0] Rd", SIMD)
MOVI_2D: Final = row("movi", "=Vd.2d, #mask8", "0 1 1 0111100000 mask8[7:5] 1110 0 1 mask8[4:0] Rd", SIMD)
FMOV_V_IMM: Final = family("fmov", "=Vd.T, #fimm8", "0 Q 0 0111100000 fimm8[7:5] 1111 0 1 fimm8[4:0] Rd", "2s 4s", SIMD)
FMOV_V_IMM.also("2d", "0 1 1 0111100000 fimm8[7:5] 1111 0 1 fimm8[4:0] Rd", SIMD)
FMOV_V_IMM.also(_FH, "0 Q 0 0111100000 fimm8[7:5] 1111 1 1 fimm8[4:0] Rd", FP16)

# --- Other names -----------------------------------------------------------------------------------------------
# Each section of the manual on an instruction says by which name it is preferred, and when.

alias(ADD_IMM, "mov", "Rd|SP, Rn|SP", "Rd=31 imm12=0 sh=0")
alias(ADD_IMM, "mov", "Rd|SP, Rn|SP", "Rn=31 imm12=0 sh=0")
for _name, _of in (("cmn", ADDS_IMM), ("cmp", SUBS_IMM)):
    alias(_of, _name, "Rn|SP, #imm12{, lsl #sh}", "Rd=31")
for _name, _of in (("cmn", ADDS), ("cmp", SUBS)):
    alias(_of, _name, "Rn, Rm{, shift #amount}", "Rd=31")
alias(SUB, "neg", "Rd, Rm{, shift #amount}", "Rn=31")
alias(SUBS, "negs", "Rd, Rm{, shift #amount}", "Rn=31")
alias(SBC, "ngc", "Rd, Rm", "Rn=31")
alias(SBCS, "ngcs", "Rd, Rm", "Rn=31")
# With the stack pointer an extension that changes nothing is called a shift.
for _name, _of in (("add", ADD_EXT), ("sub", SUB_EXT)):
    alias(_of, _name, "Rd|SP, Rn|SP, Wm{, lsl #imm3}", "Rd=31 extend=2", "w")
    alias(_of, _name, "Rd|SP, Rn|SP, Wm{, lsl #imm3}", "Rn=31 extend=2", "w")
for _name, _of in (("cmn", ADDS_EXT), ("cmp", SUBS_EXT)):
    alias(_of, _name, "Rn|SP, Wm{, lsl #imm3}", "Rd=31 Rn=31 extend=2", "w")
    alias(_of, _name, "Rn|SP, Wm, extend{ #imm3}", "Rd=31")
    alias(_of, "adds" if _name == "cmn" else "subs", "Rd, Rn|SP, Wm{, lsl #imm3}", "Rn=31 extend=2", "w")
for _name, _only in (("add", ADD_UXTX), ("sub", SUB_UXTX)):
    alias(_only, _name, "Xd|SP, Xn|SP, Xm{, lsl #imm3}", "Rd=31")
    alias(_only, _name, "Xd|SP, Xn|SP, Xm{, lsl #imm3}", "Rn=31")
for _name, _only in (("cmn", ADDS_UXTX), ("cmp", SUBS_UXTX)):
    alias(_only, _name, "Xn|SP, Xm{, lsl #imm3}", "Rd=31 Rn=31")
    alias(_only, _name, "Xn|SP, Xm, uxtx{ #imm3}", "Rd=31")
    alias(_only, "adds" if _name == "cmn" else "subs", "Xd, Xn|SP, Xm{, lsl #imm3}", "Rn=31")
alias(ANDS_IMM, "tst", "Rn, #limm", "Rd=31")
alias(ANDS, "tst", "Rn, Rm{, shiftror #amount}", "Rd=31")
alias(ORR, "mov", "Rd, Rm", "Rn=31 shiftror=0 amount=0")
alias(ORN, "mvn", "Rd, Rm{, shiftror #amount}", "Rn=31")
alias(EXTR, "ror", "Rd, Rn, #imms", "Rn=Rm")
alias(MADD, "mul", "Rd, Rn, Rm", "Ra=31")
alias(MSUB, "mneg", "Rd, Rn, Rm", "Ra=31")
for _name, _only in (("smull", SMADDL), ("smnegl", SMSUBL), ("umull", UMADDL), ("umnegl", UMSUBL)):
    alias(_only, _name, "Xd, Wn, Wm", "Ra=31")
alias(CSINC, "cset", "Rd, !cond", "Rn=31 Rm=31 cond<14")
alias(CSINC, "cinc", "Rd, Rn, !cond", "Rn=Rm cond<14")
alias(CSINV, "csetm", "Rd, !cond", "Rn=31 Rm=31 cond<14")
alias(CSINV, "cinv", "Rd, Rn, !cond", "Rn=Rm cond<14")
alias(CSNEG, "cneg", "Rd, Rn, !cond", "Rn=Rm cond<14")
alias(RET, "ret", "", "Rn=30")
alias(TBZ, "tbz", "Wt, #bit, #imm14", "bit<32")
alias(TBNZ, "tbnz", "Wt, #bit, #imm14", "bit<32")
alias(ORR_V, "mov", "Vd.T, Vn.T", "Rn=Rm")
alias(UMOV, "mov", "Rd, Vn.E[index]", "", "s d")
for _name, _of in (("sxtl{2}", SSHLL), ("uxtl{2}", USHLL)):
    alias(_of, _name, "Vd.Ta, Vn.T", "lshift=0")


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 else value


def _move_text(made: Row, values: tuple[int, ...]) -> str:
    """``mov`` with a constant, which each of three instructions can be, in this order: movz, movn, orr."""
    bits = 32 if made.shape == "w" else 64
    ones = (1 << bits) - 1
    if made.family is ORR_IMM:
        if values[1] != 31:
            return ""
        value = values[2]
        if _is_halfword(value, bits) or _is_halfword(value ^ ones, bits):
            return ""
        return f"mov {int_name(values[0], made.shape, True)}, #{_signed(value, bits)}"
    rd, half, shift = values
    value = half << shift
    if made.family is MOVN:
        value ^= ones
        if half == 0 and shift or bits == 32 and half == 0xFFFF:
            return ""
    elif half == 0 and shift:
        return ""
    return f"mov {int_name(rd, made.shape)}, #{_signed(value, bits)}"


def _is_halfword(value: int, bits: int) -> bool:
    """Whether all ones are in one 16-bit part."""
    return any(value & ~(0xFFFF << at) == 0 for at in range(0, bits, 16))


_EXTENDED: Final[dict[int, str]] = {7: "b", 15: "h", 31: "w"}


def _field_text(made: Row, values: tuple[int, ...]) -> str:
    """Shifts, extensions and bit fields by the names for what ``sbfm``, ``ubfm`` and ``bfm`` do with these operands."""
    rd, rn, immr, imms = values
    width = made.shape
    top = 31 if width == "w" else 63
    d, n = int_name(rd, width), int_name(rn, width)
    if made.family is BFM:
        if imms < immr:
            return f"bfi {d}, {n}, #{top + 1 - immr}, #{imms + 1}"
        return f"bfxil {d}, {n}, #{immr}, #{imms - immr + 1}"
    signed = made.family is SBFM
    letter = "s" if signed else "u"
    if immr == 0 and imms in (7, 15, 31) and (imms != 31 or width == "x" and signed) and (signed or width == "w"):
        return f"{letter}xt{_EXTENDED[imms]} {d}, {int_name(rn, 'w')}"
    if imms == top:
        return f"{'asr' if signed else 'lsr'} {d}, {n}, #{immr}"
    if not signed and imms + 1 == immr:
        return f"lsl {d}, {n}, #{top - imms}"
    if imms < immr:
        return f"{letter}bfiz {d}, {n}, #{top + 1 - immr}, #{imms + 1}"
    return f"{letter}bfx {d}, {n}, #{immr}, #{imms - immr + 1}"


for _of in (MOVZ, MOVN, ORR_IMM):
    _of.special = _move_text
for _of in (SBFM, BFM, UBFM):
    _of.special = _field_text

# --- Looking up ------------------------------------------------------------------------------------------------


def all_rows() -> list[Row]:
    """Every instruction in every shape."""
    return [made[shape] for made in FAMILIES for shape in made.shapes()]


#: Rows by their mask and fixed bits, those with the most fixed bits first.
_by_bits: Final[list[tuple[int, dict[int, list[Row]]]]] = []


def _index() -> None:
    found: dict[int, dict[int, list[Row]]] = {}
    for each in all_rows():
        each.prepare()
        found.setdefault(each.mask, {}).setdefault(each.match, []).append(each)
    _by_bits.extend(sorted(found.items(), key=lambda entry: -entry[0].bit_count()))


def decode(word: int) -> tuple[Row, tuple[int, ...]] | None:
    """The row and operands of an instruction word; None when it is none of the rows."""
    if not _by_bits:
        _index()
    for mask, rows in _by_bits:
        for candidate in rows.get(word & mask, ()):
            operands = candidate.operands_of(word)
            if operands is not None:
                return candidate, operands
    return None
