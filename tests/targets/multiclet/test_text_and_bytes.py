"""Assembler, disassembler and linker: each undoes the other, and errors name line and column."""

from __future__ import annotations

import re

import pytest
from tests.targets.multiclet.programs import random_unit

from loopwright.errors import AssemblyError
from loopwright.targets.multiclet.assembler import assemble
from loopwright.targets.multiclet.commands import COMMANDS
from loopwright.targets.multiclet.encoding import decode, disassemble, encode
from loopwright.targets.multiclet.linker import link
from loopwright.targets.multiclet.parameters import FACTS, PROCESSORS, R1, S1, S2, Processor, replace
from loopwright.targets.multiclet.program import Command, Operand, Paragraph, Unit, back, constant

TEXT = """\
    .globl main
    .alias BP R6
    .rodata
table: .long 1, -2, 0xffffffff, 'a'
    .data
    .align 8
numbers:
    .double 1.5, -2      // two of them
    .address table + 4, main
    .zero 3
text: .asciz "hi\\n\\"there\\""
    .text
main:                    ; a comment
    SR4 := loadu_q [numbers + 8]
    SR4 := add_l @SR4, [#SP + 8]
    mul_f @1, 1.5
    wr_l @SR4, #BP - 4
    SR5 := patch_q 0x3fdfff97, 0x2474538f
    setrg_q #SP, #SP - 64
    setjf_l @0, main
complete
    sub_q @SR, 97
"""


def same(a: Unit, b: Unit) -> bool:
    pairs = zip(a.paragraphs, b.paragraphs, strict=True)
    return all(p.label == q.label and all(c.same(d) for c, d in zip(p.commands, q.commands, strict=True)) for p, q in pairs)


def test_a_listing_is_read_as_it_is_meant() -> None:
    unit = assemble(TEXT.replace("    sub_q @SR, 97\n", ""))
    assert unit.exported == ["main"] and [data.label for data in unit.data] == ["table", "numbers", "text"]
    assert unit.data[0].read_only and unit.data[0].content == bytes([1, 0, 0, 0, 254, 255, 255, 255, 255, 255, 255, 255, 97, 0, 0, 0])
    assert unit.data[1].alignment == 8 and unit.data[1].zeros == 3 and [each.symbol for each in unit.data[1].references] == ["table", "main"]
    assert unit.data[2].content == b'hi\n"there"\0'
    commands = unit.paragraphs[0].commands
    assert [operand.back for operand in commands[1].operands] == [1, -1] and commands[3].operands[0].back == 2
    assert commands[2].operands[1].offset == 0x3FC00000 and commands[3].operands[1].register == "R6"
    assert commands[4].operands[1].offset == 0x2474538F and commands[5].line == 19


@pytest.mark.parametrize("processor", PROCESSORS.values(), ids=lambda each: each.name)
def test_text_and_bytes_are_undone(processor: Processor) -> None:
    for seed in range(60):
        unit = random_unit(seed, processor)
        text = str(unit)
        assert str(assemble(text, processor)) == text
        content = encode(unit, processor)
        assert same(decode(content, processor), unit)
        assert encode(assemble(disassemble(content, processor), processor), processor) == content


@pytest.mark.parametrize(
    ("text", "processor", "message"),
    [
        ("m:\n  add_x 1, 2\ncomplete", S2, "2: column 3: multiclet-s2 has no command add_x; there are add_b, add_s, add_l, add_q, add_f, add_d"),
        ("m:\n  self_l 1, 2\ncomplete", S2, "2: column 3: multiclet-s2 has no command self_l"),
        ("m:\n  add_l 1\ncomplete", S2, "2: column 3: add_l takes 2 operands, not 1"),
        ("m:\n  add_l 1, 2, 3\ncomplete", S2, "2: column 3: add_l takes 2 operands, not 3"),
        ("m:\n  a := wr_l 1, 2\ncomplete", S2, "2: column 8: wr_l leaves no result that could be named a"),
        ("m:\n  wr_l 1, 2\n  add_l @1, 2\ncomplete", S2, "3: column 3: @1 names wr_l, which leaves no result"),
        ("m:\n  add_l @x, 2\ncomplete", S2, "2: column 3: no command above in this paragraph is named x"),
        ("m:\n  load_l [foo\ncomplete", S2, "2: column 14: a bracket is open: ] is missing"),
        ("m:\n  add_l @64, 1\ncomplete", S2, "2: column 3: @64 is too old: the switch of multiclet-s2 keeps the last 63 results"),
        ("m:\n  add_l @1, 1\ncomplete", R1, "2: column 3: @1 is from before the paragraph, and results of multiclet-r1 do not stay past their paragraph's end"),
        ("m:\n  add_l 1, 2\ncomplete", R1, "2: column 3: multiclet-r1 has one constant in a command: load one of 1 and 2 first"),
        ("m:\n  add_l [8], @0\ncomplete", R1, "2: column 3: multiclet-r1 reads memory in loads only: [8] needs a load of its own"),
        ("m:\n  add_l 1, 2\nn:\n", S2, "3: column 1: the paragraph m has no complete before the label n"),
        ("m:\n  add_l 1, 2\n", S2, "2: column 1: the paragraph m has no complete"),
        ("m:\ncomplete", S2, "2: column 9: a paragraph has at least one command before complete"),
        ("m:\n", S2, "1: column 1: the label m names no paragraph"),
        ("m:\nn:\n", S2, "2: column 1: a paragraph has one label: m and n name the same one"),
        ("m:\n jmp m\ncomplete\nm:\n", S2, "4: column 1: the label m is there twice"),
        ("m:\n  add_l #XX, 1\ncomplete", S1, "2: column 3: multiclet-s1 has no register #XX; there are #R0, "),
        ("m:\n  setrg_l 5, 1\ncomplete", S2, "2: column 3: setrg_l writes to a register, as #SP: 5 is none"),
        ("m:\n  add_l 1, 2 3\ncomplete", S2, "2: column 14: unexpected '3'"),
        ("m:\n  add_l #SP + 4, 2\ncomplete", S2, "2: column 3: add_l does not add: #SP + 4 may stand in brackets, or be computed before"),
        ("m:\n  add_q 5000000000, 2\ncomplete", S2, "2: column 3: 5000000000 does not fit into the 32 bits of a constant: patch_q makes 64 of two halves"),
        ("m:\n  add_d 1.5, 2\ncomplete", S2, "2: column 12: a constant has 32 bits, so that only commands with the suffix f take floats"),
        (".data\n.byte 1", S2, "2: column 6: data stands behind a label, and .align before it"),
        (".data\nx: .byte 256", S2, "2: column 13: 256 does not fit into the 1 byte of .byte"),
        (".data\n.align 3", S2, "2: column 9: an alignment is a power of two, in bytes: 3 is not"),
        (".data\nx: .words 3", S2, "2: column 10: there is no directive .words; for data there are .byte, .short"),
    ],
)
def test_mistakes_are_named_with_line_and_column(text: str, processor: Processor, message: str) -> None:
    with pytest.raises(AssemblyError) as caught:
        assemble(text, processor, "a.s")
    assert f"{caught.value}".startswith(f"a.s:{message}")


@pytest.mark.parametrize(("written", "number"), [("0", 0), ("00", 0), ("01", 1), ("007", 7), ("0x1F", 31), ("0B11", 3), ("'a'", 97), ("-010", -10)])
def test_numbers_are_read_as_they_are_meant(written: str, number: int) -> None:
    units = [assemble(f"m:\n    add_l 1, {text}\ncomplete\n") for text in (written, number)]
    assert encode(units[0], S2) == encode(units[1], S2)


def test_a_paragraph_holds_what_the_cells_hold() -> None:
    text = "m:\n" + "    add_l 1, 2\n" * 257 + "complete\n"
    with pytest.raises(AssemblyError, match=r"258: column 5: the paragraph has 257 commands; a cell of multiclet-s2 holds 64, all cells 256"):
        assemble(text, file="a.s")
    assert assemble(text, replace(S2, name="two", multicells=2)).paragraphs


def test_units_are_linked() -> None:
    one = assemble(".globl main\n.text\nmain:\n jmp f\ncomplete\nx:\n jmp [#SP]\ncomplete\n.data\n.align 8\ny: .address f + 4\n")
    two = assemble(".globl f\n.text\nf:\n load_l [y]\n jmp x\ncomplete\nx:\n jmp [#SP]\ncomplete\n.rodata\ny: .long 7\n")
    program = link([one, two], S2, "main")
    addresses = [each.address for each in program.paragraphs]
    assert addresses == [0x1000, 0x1010, 0x1020, 0x1040] and program.entry == 0x1000 and program.address("f") == 0x1020
    assert program.paragraphs[2].symbols["x"] == 0x1040 and program.paragraphs[0].symbols["x"] == 0x1010
    assert dict(program.contents) == {0x2000: b"\7\0\0\0", 0x3000: b"\x24\x10\0\0"}
    with pytest.raises(AssemblyError, match="two units export f"):
        link([two, two], S2)
    with pytest.raises(AssemblyError, match=r"^no unit has f$"):
        link([one], S2)
    with pytest.raises(AssemblyError, match="a program begins at a paragraph, and y is data"):
        link([assemble("m:\n jmp m\ncomplete\n.data\ny: .byte 1")], S2, "y")


@pytest.mark.parametrize("operand", [constant(1 << 33), constant(-(1 << 31) - 1), back(256)], ids=str)
def test_operands_that_do_not_fit_are_refused(operand: Operand) -> None:
    command = Command(COMMANDS["load_q"], "q", [operand], line=7)
    with pytest.raises(AssemblyError, match=f":7: load_q {re.escape(str(operand))} does not fit into 16 bytes"):
        encode(Unit([Paragraph("f", [command])]), S2)


def test_damaged_bytes_are_refused() -> None:
    content = encode(random_unit(1, S2), S2)
    with pytest.raises(AssemblyError, match="cut off or damaged"):
        decode(content[:-3], S2)
    with pytest.raises(AssemblyError, match="no unit for a Multiclet processor"):
        decode(b"ELF" + content, S2)
    # The mark of a paragraph's end is the top bit of its last command.
    damaged = bytearray(content)
    last = 12 + 16 * (len(random_unit(1, S2).paragraphs[0].commands) - 1)
    damaged[last + 1] &= 0x7F
    with pytest.raises(AssemblyError, match="the paragraph p0 does not end where the next begins"):
        decode(bytes(damaged), S2)


def test_every_parameter_says_how_it_is_known() -> None:
    fields = {name for name in Processor.__dataclass_fields__ if name not in ("name", "latencies", "commands")}
    assert FACTS.keys() == fields | S2.latencies.keys()
    assert all(len(fact.status) == 3 and set(fact.status) <= set("CFA") for fact in FACTS.values())
    assert {row.status for row in COMMANDS.values()} == {"C", "A"} and all(row.latency in S2.latencies for row in COMMANDS.values())
