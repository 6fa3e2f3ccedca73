"""What the CPU of this process can execute, by its feature bits.

The bits are read with the CPUID instruction (Intel SDM vol. 2A, "CPUID"; AMD APM vol. 3, appendix E), never inferred from the model's name or number: virtual
machines report models that do not match. The order of detection is that of Intel SDM vol. 1, 14.3 "Detection of Intel AVX
Instructions" and 15.2 "Detection of AVX-512 Foundation Instructions": OSXSAVE first, then XGETBV for the register state
the operating system saves, then the instruction's own bit. Features are named as Linux names them in /proc/cpuinfo.

The environment variable ``LOOPWRIGHT_CPU_FEATURES`` makes the CPU appear to have less than it has: a list of features
and level names (``x86-64-v3``) separated by commas or spaces; or, when each word begins with a minus sign, what to leave out.
It can never add a feature the CPU lacks.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
from collections.abc import Iterable
from typing import Final

from loopwright.environment import variable
from loopwright.errors import CpuError
from loopwright.runtime import memory

__all__ = ["LEVELS", "ROWS", "host_features", "host_level", "require", "tuning"]

VARIABLE: Final = "LOOPWRIGHT_CPU_FEATURES"

EAX: Final = 0
EBX: Final = 1
ECX: Final = 2
EDX: Final = 3

# Register state the operating system must save for a feature: bits of XCR0 (Intel SDM vol. 1, 13.3).
NONE: Final = 0
YMM: Final = 0b110
ZMM: Final = 0b1110_0110
TILE: Final = 0b11 << 17

#: name, CPUID leaf, subleaf, register, bit, state needed. (Intel SDM vol. 2A, table 3-8; extended leaves: AMD APM vol. 3, E.4.)
ROWS: Final[tuple[tuple[str, int, int, int, int, int], ...]] = (
    ("cx8", 0x1, 0, EDX, 8, NONE),
    ("cmov", 0x1, 0, EDX, 15, NONE),
    ("mmx", 0x1, 0, EDX, 23, NONE),
    ("fxsr", 0x1, 0, EDX, 24, NONE),
    ("sse", 0x1, 0, EDX, 25, NONE),
    ("sse2", 0x1, 0, EDX, 26, NONE),
    ("pni", 0x1, 0, ECX, 0, NONE),
    ("pclmulqdq", 0x1, 0, ECX, 1, NONE),
    ("ssse3", 0x1, 0, ECX, 9, NONE),
    ("fma", 0x1, 0, ECX, 12, YMM),
    ("cx16", 0x1, 0, ECX, 13, NONE),
    ("sse4_1", 0x1, 0, ECX, 19, NONE),
    ("sse4_2", 0x1, 0, ECX, 20, NONE),
    ("movbe", 0x1, 0, ECX, 22, NONE),
    ("popcnt", 0x1, 0, ECX, 23, NONE),
    ("aes", 0x1, 0, ECX, 25, NONE),
    ("xsave", 0x1, 0, ECX, 26, NONE),
    ("osxsave", 0x1, 0, ECX, 27, NONE),
    ("avx", 0x1, 0, ECX, 28, YMM),
    ("f16c", 0x1, 0, ECX, 29, YMM),
    ("rdrand", 0x1, 0, ECX, 30, NONE),
    ("bmi1", 0x7, 0, EBX, 3, NONE),
    ("avx2", 0x7, 0, EBX, 5, YMM),
    ("bmi2", 0x7, 0, EBX, 8, NONE),
    ("erms", 0x7, 0, EBX, 9, NONE),
    ("avx512f", 0x7, 0, EBX, 16, ZMM),
    ("avx512dq", 0x7, 0, EBX, 17, ZMM),
    ("rdseed", 0x7, 0, EBX, 18, NONE),
    ("adx", 0x7, 0, EBX, 19, NONE),
    ("avx512ifma", 0x7, 0, EBX, 21, ZMM),
    ("avx512cd", 0x7, 0, EBX, 28, ZMM),
    ("sha_ni", 0x7, 0, EBX, 29, NONE),
    ("avx512bw", 0x7, 0, EBX, 30, ZMM),
    ("avx512vl", 0x7, 0, EBX, 31, ZMM),
    ("avx512vbmi", 0x7, 0, ECX, 1, ZMM),
    ("avx512_vbmi2", 0x7, 0, ECX, 6, ZMM),
    ("gfni", 0x7, 0, ECX, 8, NONE),
    ("vaes", 0x7, 0, ECX, 9, YMM),
    ("vpclmulqdq", 0x7, 0, ECX, 10, YMM),
    ("avx512_vnni", 0x7, 0, ECX, 11, ZMM),
    ("avx512_bitalg", 0x7, 0, ECX, 12, ZMM),
    ("avx512_vpopcntdq", 0x7, 0, ECX, 14, ZMM),
    ("fsrm", 0x7, 0, EDX, 4, NONE),
    ("avx512_vp2intersect", 0x7, 0, EDX, 8, ZMM),
    ("amx_bf16", 0x7, 0, EDX, 22, TILE),
    ("avx512_fp16", 0x7, 0, EDX, 23, ZMM),
    ("amx_tile", 0x7, 0, EDX, 24, TILE),
    ("amx_int8", 0x7, 0, EDX, 25, TILE),
    ("avx_vnni", 0x7, 1, EAX, 4, YMM),
    ("avx512_bf16", 0x7, 1, EAX, 5, ZMM),
    ("avx_ifma", 0x7, 1, EAX, 23, YMM),
    ("avx_vnni_int8", 0x7, 1, EDX, 4, YMM),
    ("avx_ne_convert", 0x7, 1, EDX, 5, YMM),
    ("avx_vnni_int16", 0x7, 1, EDX, 10, YMM),
    ("lahf_lm", 0x80000001, 0, ECX, 0, NONE),
    ("abm", 0x80000001, 0, ECX, 5, NONE),
    ("3dnowprefetch", 0x80000001, 0, ECX, 8, NONE),
    ("clzero", 0x80000008, 0, EBX, 0, NONE),
)

# The micro-architecture levels of the x86-64 psABI (table 3.1). LZCNT goes by the name abm, SSE3 by pni.
_V1: Final = frozenset(("cmov", "cx8", "fxsr", "mmx", "sse", "sse2"))
_V2: Final = _V1 | {"cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3"}
_V3: Final = _V2 | {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "osxsave", "xsave"}
_V4: Final = _V3 | {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}

#: What each level's name stands for, lowest first.
LEVELS: Final[dict[str, frozenset[str]]] = {"x86-64": _V1, "x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4}

# cpuid(leaf, subleaf, out): System V passes them in edi, esi, rdx; Windows in ecx, edx, r8. CPUID overwrites rbx, which both
# conventions preserve.
_CPUID_SYSV: Final = bytes.fromhex(
    "53"  #           push rbx
    "4989d0"  #       mov r8, rdx
    "89f8"  #         mov eax, edi
    "89f1"  #         mov ecx, esi
)
_CPUID_WIN64: Final = bytes.fromhex(
    "53"  #           push rbx
    "89c8"  #         mov eax, ecx
    "89d1"  #         mov ecx, edx
)
_CPUID_TAIL: Final = bytes.fromhex(
    "0fa2"  #         cpuid
    "418900"  #       mov [r8], eax
    "41895804"  #     mov [r8+4], ebx
    "41894808"  #     mov [r8+8], ecx
    "4189500c"  #     mov [r8+12], edx
    "5b"  #           pop rbx
    "c3"  #           ret
)
# xgetbv() -> XCR0 (Intel SDM vol. 2D, "XGETBV"); only where OSXSAVE is set.
_XGETBV: Final = bytes.fromhex(
    "31c9"  #         xor ecx, ecx
    "0f01d0"  #       xgetbv
    "48c1e220"  #     shl rdx, 32
    "4809d0"  #       or rax, rdx
    "c3"  #           ret
)

# gathered(place, times), one_by_one(place, times) -> cycles of the time stamp counter (Intel SDM vol. 2B, "RDTSC") for that many times eight elements: by VPGATHERDD, and by loads
# and VPINSRD. Both leave all registers that the conventions preserve alone.
_TIMED_SYSV: Final = bytes.fromhex(
    "4989f9"  #       mov r9, rdi
    "4989f2"  #       mov r10, rsi
)
_TIMED_WIN64: Final = bytes.fromhex(
    "4989c9"  #       mov r9, rcx
    "4989d2"  #       mov r10, rdx
)
_TIMED_HEAD: Final = bytes.fromhex(
    "0faee8"  #       lfence
    "0f31"  #         rdtsc
    "48c1e220"  #     shl rdx, 32
    "4809d0"  #       or rax, rdx
    "4989c0"  #       mov r8, rax
)
_GATHERED: Final = bytes.fromhex(
    "c5f576c9"  #     vpcmpeqd ymm1, ymm1, ymm1
    "c5edefd2"  #     vpxor ymm2, ymm2, ymm2
    "c5fdefc0"  #     vpxor ymm0, ymm0, ymm0
    "c4c275900491"  # vpgatherdd ymm0, [r9+ymm2*4], ymm1
)
_ONE_BY_ONE: Final = bytes.fromhex(
    "c4c1796e01"  #   vmovd xmm0, [r9]
    "c4c379220101"  # vpinsrd xmm0, xmm0, [r9], 1
    "c4c379220102"  # vpinsrd xmm0, xmm0, [r9], 2
    "c4c379220103"  # vpinsrd xmm0, xmm0, [r9], 3
    "c4c1796e09"  #   vmovd xmm1, [r9]
    "c4c371220901"  # vpinsrd xmm1, xmm1, [r9], 1
    "c4c371220902"  # vpinsrd xmm1, xmm1, [r9], 2
    "c4c371220903"  # vpinsrd xmm1, xmm1, [r9], 3
    "c4e37d38c101"  # vinserti128 ymm0, ymm0, xmm1, 1
)
_TIMED_TAIL: Final = bytes.fromhex(
    "0faee8"  #       lfence
    "0f31"  #         rdtsc
    "48c1e220"  #     shl rdx, 32
    "4809d0"  #       or rax, rdx
    "4c29c0"  #       sub rax, r8
    "c5f877"  #       vzeroupper
    "c3"  #           ret
)
#: So often elements are gathered each time that it is timed, and so often it is; the least counts.
_TIMES: Final = 64
_TRIES: Final = 5
#: Gathers that take so many times as long as loads one by one are slow.
_SLOW: Final = 1.5

_lock: Final = threading.Lock()
_detected: frozenset[str] | None = None
_by_setting: dict[str, frozenset[str]] = {}
_gathers_slow: bool | None = None


def host_features() -> frozenset[str]:
    """The features generated code may use on this CPU, under this operating system; empty on other than x86-64."""
    setting = variable(VARIABLE)
    known = _by_setting.get(setting)
    if known is None:
        known = _by_setting[setting] = _restrict(_detect(), setting)
    return known


def host_level() -> str:
    """The highest of the x86-64 levels this CPU reaches, ``x86-64-v4`` at most; "" on other CPUs."""
    features = host_features()
    reached = ""
    for name, needed in LEVELS.items():
        if not needed <= features:
            break
        reached = name
    return reached


def tuning(features: frozenset[str]) -> frozenset[str]:
    """What other code is better for on a CPU with these features, by the names that targets know.

    ``halved-512``: the load units and arithmetic take vectors of 512 bits in two halves. Of the CPUs with AVX-512, AMD's Zen 4 does that (A. J. Yee, Zen 5's AVX512
    Teardown, numberworld.org, 2024). The bits that say so, of CPUID leaf 0x8000001A, may be 0 in virtual machines. That it has CLZERO, which AMD's CPUs alone have, and
    not AVX-VNNI, which came with Zen 5, is seen there too.

    ``slow-gathers``: VPGATHERDD and its kin take longer than loading the elements one by one. So they do on AMD's CPUs up to Zen 4: without AVX-512, Zen to Zen 3, one of
    eight lanes is 39 operations and more (A. Fog, Instruction tables, 2022); on Zen 4 loads one by one take 0.65 (f32, indices from memory) to 0.9 (f64, computed indices) of the time.
    On Intel's CPUs from Skylake to Ice Lake they do where microcode keeps them from telling what other programs have loaded ("Gather Data Sampling", INTEL-SA-00828, 2023), of which a
    virtual machine is told nothing: a gather takes 30 cycles and more then, where it took 5, so that it is timed.

    ``slow-permutations``: VPERMPS, VPERMD, VPERMQ and VPERMPD, which choose from a whole register, are two operations and more, and VPERM2F128 is one (the same, Zen 2 and
    Zen 3).
    """
    if "clzero" not in features:
        return frozenset(("slow-gathers",)) if "avx2" in features and _slow_gathers() else frozenset()
    if "avx_vnni" in features:
        return frozenset()
    return frozenset(("slow-gathers", "halved-512" if "avx512f" in features else "slow-permutations"))


def require(features: Iterable[str], target_name: str) -> None:
    """Refuse to go on when this CPU lacks a feature.

    Raises:
        CpuError: names the target and every feature that is missing.
    """
    missing = sorted(set(features) - host_features())
    if not missing:
        return
    if not host_features():
        raise CpuError(
            f"code for {target_name} cannot run here: this CPU is {platform.machine() or 'unknown'}, not x86-64. It can be cross-compiled and emulated."
        )
    level = host_level()
    advice = f"Compile with target={level!r}." if level in ("x86-64-v3", "x86-64-v4") else "The least that loopwright compiles for natively is x86-64-v3."
    pretended = f" (as restricted by {VARIABLE})" if os.environ.get(VARIABLE) and not set(missing) - _detect() else ""
    raise CpuError(f"code for {target_name} cannot run on this CPU, which lacks {', '.join(missing)}{pretended}. {advice}")


def is_x86_64() -> bool:
    """Whether this process runs x86-64 code."""
    return platform.machine().lower() in ("x86_64", "amd64") and sys.maxsize > 1 << 32


def _detect() -> frozenset[str]:
    global _detected
    with _lock:
        if _detected is None:
            _detected = _ask() if is_x86_64() else frozenset()
        return _detected


def _ask() -> frozenset[str]:
    cpuid_block = memory.allocate((_CPUID_WIN64 if sys.platform == "win32" else _CPUID_SYSV) + _CPUID_TAIL)
    xgetbv_block = memory.allocate(_XGETBV)
    cpuid = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(cpuid_block.address)
    xgetbv = ctypes.CFUNCTYPE(ctypes.c_uint64)(xgetbv_block.address)
    out = (ctypes.c_uint32 * 4)()
    answers: dict[tuple[int, int], list[int]] = {}

    def leaf(number: int, subleaf: int = 0) -> list[int]:
        if (number, subleaf) not in answers:
            cpuid(number, subleaf, ctypes.addressof(out))
            answers[(number, subleaf)] = list(out)
        return answers[(number, subleaf)]

    # The highest leaf of each range; a leaf beyond it answers with something else's data (SDM vol. 2A, "CPUID").
    last = {0: leaf(0)[EAX], 0x80000000: leaf(0x80000000)[EAX]}
    subleaves_of_7 = leaf(7)[EAX] if last[0] >= 7 else 0
    saved = xgetbv() if leaf(1)[ECX] >> 27 & 1 else 0
    found = set()
    for name, number, subleaf, register, bit, state in ROWS:
        if number > last[number & 0x80000000] or (number == 7 and subleaf > subleaves_of_7):
            continue
        if leaf(number, subleaf)[register] >> bit & 1 and saved & state == state:
            found.add(name)
    return frozenset(found)


def _slow_gathers() -> bool:
    """Whether this CPU gathers elements so much more slowly than it loads them one by one; it is asked once, and takes some microseconds."""
    global _gathers_slow
    with _lock:
        if _gathers_slow is None:
            _gathers_slow = is_x86_64() and _least(_GATHERED) > _SLOW * _least(_ONE_BY_ONE)
        return _gathers_slow


def _least(body: bytes) -> int:
    """The least that so many turns of a loop with a body take, in cycles of the time stamp counter."""
    turn = bytes.fromhex("49ffca") + bytes((0x0F, 0x85))  # dec r10; jnz, to the body's begin
    back = -(len(body) + len(turn) + 4)
    code = (_TIMED_WIN64 if sys.platform == "win32" else _TIMED_SYSV) + _TIMED_HEAD + body + turn + back.to_bytes(4, "little", signed=True) + _TIMED_TAIL
    block = memory.allocate(code)
    timed = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64)(block.address)
    place = (ctypes.c_uint32 * 8)()
    return min([int(timed(ctypes.addressof(place), _TIMES)) for _ in range(_TRIES)])


def _restrict(features: frozenset[str], setting: str) -> frozenset[str]:
    words = setting.replace(",", " ").split()
    if not words:
        return features
    removing = words[0].startswith("-")
    named: set[str] = set()
    for word in words:
        if word.startswith("-") != removing:
            raise CpuError(f"{VARIABLE}: either every word begins with a minus sign or none does; got {setting!r}")
        name = word.removeprefix("-")
        if name in LEVELS:
            # Left out: what the level adds to the one below it.
            names = list(LEVELS)
            below = LEVELS[names[names.index(name) - 1]] if removing and name != names[0] else frozenset()
            named |= LEVELS[name] - below
        elif any(name == row[0] for row in ROWS) or name == "none":
            named.add(name)
        else:
            raise CpuError(f"{VARIABLE}: {name!r} is neither a feature (such as avx2) nor a level ({', '.join(LEVELS)})")
    return features - named if removing else features & named
