"""Every row's bytes and text against an assembler and two disassemblers written by others."""

from __future__ import annotations

import random
import re
import shutil
import subprocess

import pytest

from loopwright.targets.riscv.instructions import CSRRS, ROWS, Row, decode

LLVM_MC = shutil.which("llvm-mc") or next((path for v in range(21, 12, -1) if (path := shutil.which(f"llvm-mc-{v}"))), None)
OBJDUMP = shutil.which("riscv64-linux-gnu-objdump")
needs_llvm = pytest.mark.skipif(LLVM_MC is None, reason="llvm-mc is not installed (Debian package llvm)")


def samples(row: Row, count: int = 12) -> list[tuple[int, ...]]:
    """Operands of a row: its extremes, then random ones."""
    if not row.ready:
        row.prepare()
    rng = random.Random(row.mnemonic)
    limits = {operand: (low, high, step) for operand, low, high, step in row.ranges}
    made = []
    for k in range(count):
        values = []
        for operand, name in enumerate(row.operands):
            low, high, step = limits.get(operand, (0, 31, 1))
            value = low if k == 0 else high if k == 1 else rng.randrange(low, high + 1, step)
            if name.startswith("nz") and value == 0:
                value = step
            if name == "rm" and value in (5, 6):
                value = 7
            values.append(value)
        if row.mnemonic == "c.lui" and values[0] == 2:
            values[0] = 3
        if row.mnemonic == "fence" and (values[0] == 0 or values[1] == 0):
            values = [3, 3]
        made.append(tuple(values))
    return made if row.operands else made[:1]


def cases() -> list[tuple[Row, tuple[int, ...], bytes]]:
    return [(row, values, row.encode(values).to_bytes(row.size, "little")) for row in ROWS for values in samples(row)]


def assemble(lines: list[str], attributes: str) -> list[bytes]:
    """The bytes of each line by llvm-mc."""
    assert LLVM_MC is not None
    done = subprocess.run(
        [LLVM_MC, "-triple=riscv64", f"-mattr={attributes}", "-show-encoding"], check=False, input="\n".join(lines), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[:2000]
    return [bytes(int(b, 16) for b in found.split(",")) for found in re.findall(r"encoding: \[([^\]]*)\]", done.stdout)]


def plain(text: str) -> str:
    """One spelling for one instruction: single spaces, decimal numbers, no ``, rm`` where it is implied."""
    text = re.sub(r"\s*,\s*", ",", " ".join(text.split()).lower())
    text = re.sub(r"\b0x[0-9a-f]+\b", lambda m: str(int(m.group(), 16)), text)
    return text.removesuffix(",dyn")


@needs_llvm
@pytest.mark.parametrize("compressed", [False, True])
def test_bytes_of_every_row_are_llvm_mcs(compressed: bool) -> None:
    chosen = [case for case in cases() if (case[0].extension == "C") == compressed]
    theirs = assemble([row.text(values) for row, values, _ in chosen], "+m,+a,+f,+d" + (",+c" if compressed else ""))
    assert len(theirs) == len(chosen)
    wrong = [f"{row.text(values)}: ours {ours.hex()}, theirs {other.hex()}" for (row, values, ours), other in zip(chosen, theirs, strict=True) if ours != other]
    assert not wrong, "\n".join(wrong[:20])


@needs_llvm
def test_llvm_mc_disassembles_every_row_to_our_text() -> None:
    assert LLVM_MC is not None
    chosen = [case for case in cases() if case[0].mnemonic not in ("fence",)]
    lines = [" ".join(f"0x{b:02x}" for b in data) for _, _, data in chosen]
    done = subprocess.run(
        [LLVM_MC, "-triple=riscv64", "-mattr=+m,+a,+f,+d,+c", "-disassemble", "-riscv-no-aliases"],
        check=False,
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "invalid instruction encoding" not in done.stderr, done.stderr[:2000]
    theirs = [line for line in done.stdout.splitlines() if line.strip() and line.strip() != ".text"]
    assert len(theirs) == len(chosen)
    csr_names = re.compile(r"^csr")
    wrong = []
    for (row, values, _), text in zip(chosen, theirs, strict=True):
        if csr_names.match(row.mnemonic):
            continue  # printed by name there, by number here
        if plain(row.text(values)) != plain(text):
            wrong.append(f"ours {plain(row.text(values))!r}, theirs {plain(text)!r}")
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.skipif(OBJDUMP is None, reason="riscv64-linux-gnu-objdump is not installed (Debian package binutils-riscv64-linux-gnu)")
def test_objdump_knows_every_row(tmp_path: object) -> None:
    chosen = cases()
    blob = b"".join(data for _, _, data in chosen)
    path = f"{tmp_path}/rows.bin"
    with open(path, "wb") as out:
        out.write(blob)
    assert OBJDUMP is not None
    listing = subprocess.run(
        [OBJDUMP, "-D", "-b", "binary", "-m", "riscv:rv64", "-M", "no-aliases", path], check=False, capture_output=True, text=True, timeout=120
    ).stdout
    theirs = {int(at, 16): name for at, name in re.findall(r"^\s*([0-9a-f]+):\s+[0-9a-f]+\s+(\S+)", listing, re.MULTILINE)}
    offset = 0
    wrong = []
    for row, values, data in chosen:
        ours = row.text(values).split()[0]
        if theirs.get(offset, "").replace("c.addi", "c.nop" if ours == "c.nop" else "c.addi") != ours:
            wrong.append(f"{row.text(values)} at {offset:#x} is {theirs.get(offset)} there")
        offset += len(data)
    assert not wrong, "\n".join(wrong[:20])


def test_capstone_reads_every_row() -> None:
    capstone = pytest.importorskip("capstone")
    reader = capstone.Cs(capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCV64 | capstone.CS_MODE_RISCVC)
    unread = [row.text(values) for row, values, data in cases() if [i.size for i in reader.disasm(data, 0)] != [row.size]]
    assert not unread, unread[:20]


def test_decoding_gives_back_row_and_operands() -> None:
    for row, values, data in cases():
        found = decode(int.from_bytes(data, "little"))
        assert found is not None, row.text(values)
        assert (found[0].mnemonic, found[1]) == (row.mnemonic, values)


@pytest.mark.parametrize(
    ("mnemonic", "values"),
    [
        ("addi", (1, 2, 2048)),
        ("addi", (1, 2, -2049)),
        ("beq", (1, 2, 3)),
        ("slliw", (1, 1, 32)),
        ("c.lw", (3, 0, 8)),
        ("c.addi", (8, 0)),
        ("lui", (1, -1)),
        ("csrrs", (1, 4096, 0)),
    ],
)
def test_operands_out_of_range_are_refused(mnemonic: str, values: tuple[int, ...]) -> None:
    row = next(r for r in ROWS if r.mnemonic == mnemonic)
    with pytest.raises(ValueError, match="cannot be"):
        row.encode(values)


@pytest.mark.parametrize("number", [0, 1, 0xC00, 4095])
def test_every_control_and_status_register_can_be_read(number: int) -> None:
    word = CSRRS.encode((10, number, 0))
    assert word == number << 20 | 0x2573
    assert CSRRS.text((10, number, 0)) == f"csrrs a0, {number}, zero"
    assert decode(word) == (CSRRS, (10, number, 0))
