"""What object files of each machine have in them: numbers of relocations, by the machine's ABI.

(System V ABI, AMD64 supplement, 4.4; *ELF for the Arm 64-bit Architecture*, "Relocation"; *RISC-V ELF psABI*, "Relocations".)
"""

from __future__ import annotations

from typing import Final

from loopwright.errors import TargetError
from loopwright.targets.target import Target

__all__ = ["Fixup", "ObjectMachine", "machine_of"]


class Fixup:
    """A relocation of an object file that stands for (a part of) one of the assembler's.

    Attributes:
        number: its number.
        further: bytes from the assembler's place.
        own: what it names is the place of the first one, as of RISC-V's lower halves, not the symbol.
    """

    __slots__ = ("further", "number", "own")

    def __init__(self, number: int, further: int = 0, own: bool = False) -> None:
        self.number = number
        self.further = further
        self.own = own


class ObjectMachine:
    """A machine's object files.

    Attributes:
        triple: what clang calls the machine.
        number: ``e_machine``; ``flags``: ``e_flags``.
        fixups: by the assembler's kind of relocation.
        calls: of those kinds that calls share with other uses: by the byte in front of the place, the number where it is a call's.
        addend: what is added; field: to what a field of so many bytes at the place says, or 0.
        absolute: the number of an address of 64 bits; ``relative``: of a distance of 32 bits; ``short``: of 32 bits of one.
        padding: a byte between functions, which ends the program where it is run.
        mapping: names of the marks where instructions and data begin, where tools ask for them (*ELF for the Arm 64-bit Architecture*, "Mapping symbols").
    """

    __slots__ = ("absolute", "addend", "calls", "field", "fixups", "flags", "mapping", "number", "padding", "relative", "short", "triple")

    def __init__(
        self,
        triple: str,
        number: int,
        flags: int,
        fixups: dict[str, tuple[Fixup, ...]],
        absolute: int,
        relative: int,
        short: int,
        addend: int = 0,
        field: int = 0,
        calls: dict[int, int] | None = None,
        mapping: tuple[str, str] | None = None,
        padding: bytes = b"\0",
    ) -> None:
        self.triple = triple
        self.number = number
        self.flags = flags
        self.fixups = fixups
        self.absolute = absolute
        self.relative = relative
        self.short = short
        self.addend = addend
        self.field = field
        self.calls: dict[int, int] = calls if calls is not None else {}
        self.mapping = mapping
        self.padding = padding


#: By what the names of a machine's targets begin with.
_MACHINES: Final[dict[str, ObjectMachine]] = {
    # R_X86_64_PC32; of call and jmp R_X86_64_PLT32, so that what another library has is found in position-independent programs too; R_X86_64_64, R_X86_64_32.
    "x86-64": ObjectMachine(
        "x86_64-linux-gnu", 62, 0, {"pc32": (Fixup(2),)}, absolute=1, relative=2, short=10, addend=-4, field=4, calls={0xE8: 4, 0xE9: 4}, padding=b"\xcc"
    ),
    # R_AARCH64_CALL26, JUMP26; ADR_PREL_PG_HI21 and ADD_ABS_LO12_NC; ABS64, PREL32, ABS32.
    "aarch64": ObjectMachine(
        "aarch64-linux-gnu",
        183,
        0,
        {"call26": (Fixup(283),), "jump26": (Fixup(282),), "page": (Fixup(275), Fixup(277, 4))},
        absolute=257,
        relative=261,
        short=258,
        mapping=("$x", "$d"),
    ),
    # EF_RISCV_RVC and EF_RISCV_FLOAT_ABI_DOUBLE. R_RISCV_CALL_PLT; PCREL_HI20 and PCREL_LO12_I, whose symbol is where the former is; R_RISCV_64, 32_PCREL, 32.
    # (Without R_RISCV_RELAX nothing is taken away from the code.)
    "rv64": ObjectMachine(
        "riscv64-linux-gnu",
        243,
        5,
        {"call": (Fixup(19),), "tail": (Fixup(19),), "address": (Fixup(23), Fixup(24, 4, True))},
        absolute=2,
        relative=57,
        short=1,
    ),
}


def machine_of(target: Target) -> ObjectMachine:
    """The machine of a target. Raises ``TargetError`` for one that no object files are written for, or whose calls are not those of ELF systems."""
    machine = next((machine for prefix, machine in _MACHINES.items() if target.name.startswith(prefix)), None)
    if machine is None:
        raise TargetError(f"no object files are written for {target.name}: there are those of x86-64, AArch64 and RISC-V")
    if target.convention.name == "win64":
        raise TargetError("object files are ELF files, whose functions are called by System V's convention, not by Win64's: leave the convention out")
    return machine
