"""Every row's bytes and text against an assembler and a disassembler written by others."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from functools import cache

import pytest

from loopwright.targets.aarch64 import instructions as i
from loopwright.targets.aarch64.immediates import logical_value
from loopwright.targets.aarch64.instructions import all_rows, decode
from loopwright.targets.aarch64.notation import EXTEND, IMMEDIATE, LOGICAL, WRITE, Row

LLVM_MC = shutil.which("llvm-mc") or next((path for v in range(21, 12, -1) if (path := shutil.which(f"llvm-mc-{v}"))), None)
needs_llvm = pytest.mark.skipif(LLVM_MC is None, reason="llvm-mc is not installed (Debian package llvm)")
COMMAND = ["-triple=aarch64", "-mattr=+neon,+fp-armv8,+crc,+dotprod,+fullfp16"]

Case = tuple[Row, tuple[int, ...]]


@cache
def masks(bits: int) -> tuple[int, ...]:
    """Everything that a logical immediate can be."""
    found = {logical_value(fields, bits) for fields in range(1 << 13 if bits == 64 else 1 << 12)}
    return tuple(sorted(value for value in found if value is not None))


def operand(row: Row, k: int, way: int, rng: random.Random) -> int:
    """A value for one operand: its least, its greatest, or (``way`` above 1) a random one."""
    low, high, step, _, kind = row.ranges[k]
    if kind == LOGICAL:
        choices = masks(32 if high >> 32 == 0 else 64)
        return choices[0] if way == 0 else choices[-1] if way == 1 else rng.choice(choices)
    if kind == EXTEND:
        return (0, 6, 1, 2, 4, 5)[way % 6]
    if row.classes[k] != IMMEDIATE:
        return (0, high, 31 if high == 31 and rng.random() < 0.5 else rng.randint(0, high))[min(way, 2)]
    if way > 2 and way % 2 and low <= 0:
        # Small ones have spellings of their own.
        return step * rng.choice([0, 0, 1]) if step <= high else 0
    return low if way == 0 else high if way == 1 else rng.randrange(low, high + 1, step)


def samples(row: Row, count: int = 12) -> list[tuple[int, ...]]:
    """Operands of a row: its extremes, then random ones, many with equal registers or number 31."""
    row.prepare()
    rng = random.Random(f"{row.family.mnemonic} {row.family.syntax} {row.shape}")
    made: list[tuple[int, ...]] = []
    for way in range(count):
        values = [operand(row, k, way, rng) for k in range(len(row.operands))]
        if way % 3 == 2 and values:
            k = rng.randrange(len(values))
            for other in range(k):
                if row.classes[other] == row.classes[k] != IMMEDIATE and values[k] <= row.ranges[other][1]:
                    values[other] = values[k]
        places = {name: k for k, name in enumerate(row.operands)}
        # Two loads into one register, and a base that is loaded into as well as advanced, have no meaning.
        if "Rt2" in places and values[places["Rt2"]] == values[places["Rt"]]:
            values[places["Rt2"]] = (values[places["Rt"]] + 1) % 31
        if "Rn" in places and "Rt" in places and row.roles[places["Rn"]] & WRITE:
            taken = [values[places[name]] for name in ("Rt", "Rt2") if name in places]
            while values[places["Rn"]] in taken:
                values[places["Rn"]] = (values[places["Rn"]] + 1) % 31
        made.append(tuple(values))
    return made if row.operands else made[:1]


@cache
def cases() -> tuple[Case, ...]:
    return tuple((row, values) for row in all_rows() for values in samples(row))


def run(arguments: list[str], lines: list[str]) -> str:
    assert LLVM_MC is not None
    done = subprocess.run([LLVM_MC, *COMMAND, *arguments], check=False, input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr[:3000]
    return done.stdout


def assemble(lines: list[str]) -> list[int]:
    """The instruction word of each line by llvm-mc."""
    found = re.findall(r"encoding: \[([^\]]*)\]", run(["-show-encoding"], lines))
    words = [int.from_bytes(bytes(int(b, 16) for b in each.split(",")), "little") for each in found]
    assert len(words) == len(lines)
    return words


def disassemble(words: list[int]) -> list[str]:
    """The text of each instruction word by llvm-mc."""
    lines = [",".join(f"0x{b:02x}" for b in word.to_bytes(4, "little")) for word in words]
    texts = [line.strip() for line in run(["-disassemble"], lines).splitlines() if line.strip() and line.strip() != ".text"]
    assert len(texts) == len(words)
    return texts


def plain(text: str) -> str:
    """One spelling for one instruction: single spaces, decimal numbers; llvm-mc does not print the manual's preferred name for a shift by 0."""
    text = re.sub(r"\s*,\s*", ", ", " ".join(text.split("//")[0].split()))
    text = re.sub(r"#0+\b", "#0", text)
    text = re.sub(r"-?\b0x[0-9a-f]+\b", lambda m: str(int(m.group(), 16)), text)
    return re.sub(r"^([su])shll(2?) (.*), #0$", r"\1xtl\2 \3", text)


def differences(pairs: list[str]) -> str:
    return f"{len(pairs)}:\n" + "\n".join(pairs[:30])


@needs_llvm
@pytest.mark.parametrize("preferred", [True, False])
def test_llvm_mc_reads_our_text_as_our_bytes(preferred: bool) -> None:
    chosen = cases()
    theirs = assemble([row.text(values) if preferred else row.plain_text(values) for row, values in chosen])
    wrong = []
    for (row, values), word in zip(chosen, theirs, strict=True):
        ours = row.encode(values)
        if ours != word:
            wrong.append(f"{row.text(values) if preferred else row.plain_text(values)}: ours {ours:08x}, theirs {word:08x}")
    assert not wrong, differences(wrong)


@needs_llvm
def test_llvm_mc_prints_our_bytes_as_our_text() -> None:
    chosen = cases()
    theirs = disassemble([row.encode(values) for row, values in chosen])
    wrong = []
    for (row, values), text in zip(chosen, theirs, strict=True):
        if plain(row.text(values)) != plain(text):
            wrong.append(f"ours {plain(row.text(values))!r}, theirs {plain(text)!r}")
    assert not wrong, differences(wrong)


def test_decoding_gives_back_row_and_operands() -> None:
    for row, values in cases():
        assert decode(row.encode(values)) == (row, values), row.text(values)


@pytest.mark.parametrize(
    ("row", "values", "least", "greatest", "step"),
    [
        (i.ADD_IMM["x"], (1, 2, None, 0), 0, 4095, 1),
        (i.ADD_IMM["x"], (1, 2, 3, None), 0, 12, 12),
        (i.ADD["w"], (1, 2, 3, 0, None), 0, 31, 1),
        (i.ADD["x"], (1, 2, 3, 0, None), 0, 63, 1),
        (i.ADD["x"], (1, 2, 3, None, 1), 0, 2, 1),
        (i.ORR["x"], (1, 2, 3, None, 1), 0, 3, 1),
        (i.ADD_EXT["x"], (1, 2, 3, 0, None), 0, 4, 1),
        (i.MOVZ["w"], (1, 2, None), 0, 16, 16),
        (i.MOVZ["x"], (1, 2, None), 0, 48, 16),
        (i.UBFM["w"], (1, 2, None, 0), 0, 31, 1),
        (i.B, (None,), -(1 << 27), (1 << 27) - 4, 4),
        (i.CBZ["x"], (1, None), -(1 << 20), (1 << 20) - 4, 4),
        (i.TBZ, (1, 2, None), -(1 << 15), (1 << 15) - 4, 4),
        (i.TBZ, (1, None, 4), 0, 63, 1),
        (i.ADR, (1, None), -(1 << 20), (1 << 20) - 1, 1),
        (i.LDR["h"], (1, None, 4), 0, 31, 1),
        (i.LDR["h"], (1, 2, None), 0, 8190, 2),
        (i.LDR["x"], (1, 2, None), 0, 32760, 8),
        (i.LDR_V["q"], (1, 2, None), 0, 65520, 16),
        (i.LDUR["x"], (1, 2, None), -256, 255, 1),
        (i.LDP["x"], (1, 2, 3, None), -512, 504, 8),
        (i.LDP_V["q"], (1, 2, 3, None), -1024, 1008, 16),
        (i.LDR_REG["x"], (1, 2, 3, None), 0, 3, 3),
        (i.LDR_REG["b"], (1, 2, 3, None), 0, 0, 1),
        (i.SSHR["8h"], (1, 2, None), 1, 16, 1),
        (i.SHL["2d"], (1, 2, None), 0, 63, 1),
        (i.SHRN["8b"], (1, 2, None), 1, 8, 1),
        (i.MUL_E["8h"], (1, 2, None, 0), 0, 15, 1),
        (i.MUL_E["4s"], (1, 2, 3, None), 0, 3, 1),
        (i.MOVI["8h"], (1, 2, None), 0, 8, 8),
        (i.MOVI["4s"], (1, 2, None), 0, 24, 8),
        (i.MOVI_MSL["4s"], (1, 2, None), 8, 16, 8),
        (i.EXT["8b"], (1, 2, 3, None), 0, 7, 1),
    ],
)
def test_operands_have_exactly_these_values(row: Row, values: tuple[int | None, ...], least: int, greatest: int, step: int) -> None:
    def encoded(value: int) -> int:
        return row.encode(tuple(value if each is None else each for each in values))

    for value in (least, greatest, least + step if least < greatest else least):
        found = decode(encoded(value))
        assert found is not None and found[1][values.index(None)] == value
    for value in (least - step, greatest + step, least - 1, greatest + 1):
        with pytest.raises(ValueError, match="cannot be"):
            encoded(value)
    if step > 1:
        with pytest.raises(ValueError, match="cannot be"):
            encoded(least + 1)


def test_masks_and_extensions_that_do_not_exist_are_refused() -> None:
    for row, values in (
        (i.AND_IMM["x"], (1, 2, 5)),
        (i.AND_IMM["w"], (1, 2, 1 << 32)),
        (i.AND_IMM["x"], (1, 2, 0)),
        (i.ADD_EXT["x"], (1, 2, 3, 3, 0)),
        (i.ADD_EXT["w"], (1, 2, 3, 7, 0)),
    ):
        with pytest.raises(ValueError, match="cannot be"):
            row.encode(values)
    with pytest.raises(ValueError, match="3 operands are needed, not 2"):
        i.FADD["d"].encode((1, 2))


def test_shapes_that_do_not_exist_are_refused() -> None:
    assert i.MUL.get("2d") is None and i.ADD_V.get("2d") is i.ADD_V["2d"]
    with pytest.raises(KeyError, match="mul has no shape 2d"):
        i.MUL["2d"]


def test_words_that_are_no_instruction_are_not_decoded() -> None:
    for word in (0xFFFFFFFF, 0x12800000 | 1 << 22, 0x0E208400 | 3 << 22, 0x92401C00 | 0xFC00):
        assert decode(word) is None, hex(word)


def test_extensions_of_rows() -> None:
    wanted = {
        "base": [i.ADD["x"], i.LDR["x"]],
        "fp": [i.FADD["d"], i.FCVT["s.h"], i.LDR_V["q"]],
        "simd": [i.ADD_V["4s"], i.FADD_V["4s"], i.SCVTF_S["d"]],
        "fp16": [i.FADD["h"], i.FADD_V["8h"], i.SCVTF["h.w"], i.FCMEQ_S["h"]],
        "crc32": [i.CRC32["x"]],
        "dotprod": [i.SDOT["4s"], i.UDOT_E["2s"]],
    }
    assert {row.extension for row in all_rows()} == set(wanted)
    for name, rows in wanted.items():
        assert {row.extension for row in rows} == {name}
