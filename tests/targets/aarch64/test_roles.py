"""What rows say of their operands, read, written or both, against what a machine does (QEMU).

Every instruction runs in a state of random registers, flags and memory, then again with one register changed, for each. A register that is not
written must keep its value, one that is not read must have no influence; and what is written or read must show in some run.
"""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from tests.targets.aarch64.test_instructions import operand

from loopwright.runtime import elf
from loopwright.targets.aarch64 import instructions as i
from loopwright.targets.aarch64.assembler import Assembler
from loopwright.targets.aarch64.instructions import all_rows
from loopwright.targets.aarch64.notation import IMMEDIATE, READ, WRITE, Row
from loopwright.targets.aarch64.registers import INTS, LR, ZR

QEMU = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static") or ""
CODE, DATA = 0x10000, 0x4000_0000
#: Bytes of a state: v0 to v7, x0 to x7, the flags (in 16 bytes), memory.
VECTORS_AT, INTS_AT, FLAGS_AT, MEMORY_AT, STATE = 0, 128, 192, 208, 336
#: What is in the registers (see ``_contents``), run by run; equal numbers are what takes several tries.
KINDS = (0, 1, 2, 3, 4, 4, 4, 4, 4, 4, 5, 6, 7, 8, 1, 2)
#: Elsewhere they would not return.
EXCLUDED = (i.BR, i.BLR, i.RET, i.BRK, i.UDF, i.SVC, i.ADRP, i.MSR_FPCR, i.MRS_FPCR, i.MSR_FPSR, i.MRS_FPSR)

#: Where a register is in a state, and its bytes.
Place = tuple[int, int]


class Trial:
    """An instruction that runs first in ``state``, then with each of ``changes`` made to it."""

    def __init__(self, row: Row, seed: int) -> None:
        self.row = row
        rng = random.Random(f"{row.family.mnemonic} {row.family.syntax} {row.shape} {seed}")
        memory = "[X" in row.family.syntax or "[+X" in row.family.syntax
        values: list[int] = []
        self.places: list[list[Place]] = []
        ints = vectors = 0
        for k, cls in enumerate(row.classes):
            if cls == IMMEDIATE:
                _, high, step, _, _ = row.ranges[k]
                if not memory or row.operands[k] == "index":
                    values.append(operand(row, k, 2, rng))
                elif row.operands[k] == "scale":
                    values.append(0)
                else:
                    values.append(rng.choice([0, min(step, high)]))
                self.places.append([])
            elif cls == INTS:
                values.append(ints)
                self.places.append([(INTS_AT + 8 * ints, 8)])
                ints += 1
            else:
                values.append(vectors)
                self.places.append([(VECTORS_AT + 16 * (vectors + n), 16) for n in range(row.spans[k])])
                vectors += row.spans[k]
        self.word = row.encode(tuple(values))
        self.state = bytearray(_contents(rng, seed))
        if memory:
            self._put(row.operands.index("Rn"), BUFFER + 32)
            if "Rm" in row.operands:
                self._put(row.operands.index("Rm"), rng.randrange(8))
        # By operand, then that of the flags.
        self.changes: list[bytes] = []
        for k, places in enumerate(self.places):
            changed = bytearray(self.state)
            for at, size in places:
                fresh = _contents(rng, seed)[at : at + size]
                if memory and row.operands[k] == "Rn":
                    fresh = (BUFFER + 40).to_bytes(8, "little")
                elif memory and row.operands[k] == "Rm":
                    fresh = (changed[at] + 1).to_bytes(8, "little")
                changed[at : at + size] = fresh
            self.changes.append(bytes(changed))
        flags = bytearray(self.state)
        flags[FLAGS_AT + 3] ^= rng.choice([0x10, 0x20, 0x40, 0x80, 0xF0])
        self.changes.append(bytes(flags))

    def _put(self, k: int, value: int) -> None:
        ((at, size),) = self.places[k]
        self.state[at : at + size] = value.to_bytes(size, "little")


def _contents(rng: random.Random, seed: int) -> bytes:
    """A state: any bits; or numbers that floating-point arithmetic does not lose; or few different ones; or integers small for their lanes."""
    kind = KINDS[seed]
    if kind == 0:
        vectors = rng.randbytes(128)
    elif kind < 4:
        count = 8 << kind
        vectors = struct.pack(f"<{count}{' dfe'[kind]}", *[rng.uniform(-9, 9) for _ in range(count)])
    elif kind == 4:
        vectors = b"".join([rng.choice([bytes(8), b"\0<" * 4]) for _ in range(16)])
    else:
        size = 1 << kind - 5
        vectors = b"".join([rng.randrange(24 if size == 1 else 200).to_bytes(size, "little") for _ in range(128 // size)])
    ints = b"".join((rng.getrandbits(64) >> rng.choice([0, 20, 40, 54])).to_bytes(8, "little") for _ in range(8))
    return vectors + ints + (rng.getrandbits(4) << 28).to_bytes(16, "little") + rng.randbytes(128)


#: Where the memory of the running state is: in front of the states.
BUFFER = DATA


def _program(words: list[int]) -> bytes:
    """Load a state, run an instruction, store the state; as many times as there are words; then write the stored states."""
    asm = Assembler()
    first = DATA + 256
    asm.load_immediate(20, first)
    asm.load_immediate(21, first + len(words) * STATE)
    asm.load_immediate(22, BUFFER)
    load, store, start = 0, 1, 2
    asm.jump(start)
    asm.bind(load)
    for k in range(0, 8, 2):
        asm.emit(i.LDP_V["q"], 8, 9, 20, MEMORY_AT + 16 * k)
        asm.emit(i.STP_V["q"], 8, 9, 22, 16 * k)
    for k in range(0, 8, 2):
        asm.emit(i.LDP_V["q"], k, k + 1, 20, VECTORS_AT + 16 * k)
    asm.emit(i.LDR["x"], 0, 20, FLAGS_AT)
    asm.emit(i.MSR_NZCV, 0)
    for k in range(0, 8, 2):
        asm.emit(i.LDP["x"], k, k + 1, 20, INTS_AT + 8 * k)
    asm.add_immediate(20, 20, STATE)
    asm.emit(i.RET, LR)
    asm.bind(store)
    for k in range(0, 8, 2):
        asm.emit(i.STP_V["q"], k, k + 1, 21, VECTORS_AT + 16 * k)
        asm.emit(i.STP["x"], k, k + 1, 21, INTS_AT + 8 * k)
    asm.emit(i.MRS_NZCV, 0)
    asm.emit(i.STP["x"], 0, ZR, 21, FLAGS_AT)
    for k in range(0, 8, 2):
        asm.emit(i.LDP_V["q"], 8, 9, 22, 16 * k)
        asm.emit(i.STP_V["q"], 8, 9, 21, MEMORY_AT + 16 * k)
    asm.add_immediate(21, 21, STATE)
    asm.emit(i.RET, LR)
    asm.bind(start)
    at_load, at_store = 4 * asm._labels[load], 4 * asm._labels[store]
    rows = len(asm)
    code = bytearray(asm.encode().data)
    assert len(code) == 4 * rows
    for word in words:
        code += i.BL.encode((at_load - len(code),)).to_bytes(4, "little") + word.to_bytes(4, "little")
        code += i.BL.encode((at_store - len(code),)).to_bytes(4, "little")
    end = Assembler()
    end.load_immediate(0, 1)
    end.load_immediate(1, first + len(words) * STATE)
    end.load_immediate(2, len(words) * STATE)
    end.load_immediate(8, 64)  # write
    end.emit(i.SVC, 0)
    end.load_immediate(0, 0)
    end.load_immediate(8, 93)  # exit
    end.emit(i.SVC, 0)
    return bytes(code + end.encode().data)


def _run(words: list[int], states: list[bytes], folder: Path) -> list[bytes]:
    data = bytes(256) + b"".join(states) + bytes(len(states) * STATE)
    segments = [elf.Segment(CODE, _program(words), elf.READ | elf.EXECUTE), elf.Segment(DATA, data, elf.READ | elf.WRITE)]
    path = folder / "roles"
    path.write_bytes(elf.executable(183, 0, CODE, segments))
    path.chmod(0o755)
    done = subprocess.run([QEMU, "-cpu", "max", str(path)], check=True, capture_output=True, timeout=120)
    assert len(done.stdout) == len(states) * STATE
    return [done.stdout[at : at + STATE] for at in range(0, len(done.stdout), STATE)]


def _differences(trial: Trial, before: bytes, results: list[bytes], seen: set[tuple[Row, str]]) -> list[str]:
    """What the runs of one trial contradict; what they confirm goes into ``seen``."""
    row = trial.row
    wrong: list[str] = []
    base = results[0]
    written = [place for k, places in enumerate(trial.places) if row.roles[k] & WRITE for place in places]
    for at in range(0, FLAGS_AT, 8):
        if base[at : at + 8] != before[at : at + 8] and not any(low <= at < low + size for low, size in written):
            wrong.append(f"{row} changes what is at {at}")
    for k, places in enumerate([*trial.places, [(FLAGS_AT, 8)]]):
        if not places:
            continue
        flags = k == len(trial.places)
        name = "flags" if flags else row.operands[k]
        reads, writes = (row.reads_flags, row.writes_flags) if flags else (bool(row.roles[k] & READ), bool(row.roles[k] & WRITE))
        if any(base[at : at + size] != before[at : at + size] for at, size in places):
            seen.add((row, f"writes {name}"))
            if not writes:
                wrong.append(f"{row} writes {name}")
        ours, theirs = bytearray(base), bytearray(results[1 + k])
        if not writes:
            for at, size in places:
                ours[at : at + size] = theirs[at : at + size] = bytes(size)
        if ours != theirs:
            seen.add((row, f"reads {name}"))
            if not reads:
                wrong.append(f"{row} reads {name}")
    return wrong


@pytest.mark.skipif(not QEMU, reason="qemu-aarch64 is not installed (Debian package qemu-user)")
def test_rows_read_and_write_what_they_say(tmp_path: Path) -> None:
    rows = [row for row in all_rows() if row not in EXCLUDED]
    for row in rows:
        row.prepare()
    trials = [Trial(row, seed) for row in rows if row.distance < 0 for seed in range(len(KINDS))]
    words: list[int] = []
    states: list[bytes] = []
    for trial in trials:
        words += [trial.word] * (1 + len(trial.changes))
        states += [bytes(trial.state), *trial.changes]
    results = _run(words, states, tmp_path)
    wrong: list[str] = []
    seen: set[tuple[Row, str]] = set()
    at = 0
    for trial in trials:
        count = 1 + len(trial.changes)
        wrong += _differences(trial, bytes(trial.state), results[at : at + count], seen)
        at += count
    for row in {trial.row for trial in trials}:
        claims = [
            (f"{word} {name}", role & bit) for name, role in zip(row.operands, row.roles, strict=True) for word, bit in (("reads", READ), ("writes", WRITE))
        ]
        claims += [("reads flags", row.reads_flags), ("writes flags", row.writes_flags)]
        wrong += [f"{row} never {claim}" for claim, made in claims if made and (row, claim) not in seen]
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(sorted(set(wrong))[:40])
