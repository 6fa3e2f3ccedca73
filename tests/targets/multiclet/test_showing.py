"""``loopwright simulate``, profiles and pictures, on the programs in examples/."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from loopwright import cli
from loopwright.errors import SimulationError, TargetError
from loopwright.targets.multiclet.assembler import assemble
from loopwright.targets.multiclet.linker import link
from loopwright.targets.multiclet.parameters import S1, S2, Processor, processor
from loopwright.targets.multiclet.picture import picture
from loopwright.targets.multiclet.profile import Profile
from loopwright.targets.multiclet.simulator import Simulator

EXAMPLES = Path(__file__).parents[3] / "examples" / "multiclet"


def ran(name: str, machine: Processor, *arguments: tuple[str, int], label: str = "") -> Simulator:
    text = (EXAMPLES / f"{name}.s").read_text(encoding="utf-8")
    run = Simulator(link([assemble(text, machine)], machine), timing=True)
    run.call(label or name, *arguments)
    return run


def test_the_figures_of_the_page_are_what_comes_out() -> None:
    page = (EXAMPLES.parents[1] / "docs" / "multiclet.md").read_text(encoding="utf-8")
    for name, label, row in (
        ("whetstone_pa", "pa", "`examples/multiclet/whetstone_pa.s`, one call on the S1 | {0} |"),
        ("population_count", "", "512 bits in 95 commands, on the S1 and the S2 | {0} |"),
    ):
        timing = ran(name, S1, label=label).timing
        assert timing is not None and row.format(timing.cycles) in page


def test_a_profile_adds_up() -> None:
    run = ran("sum_of_squares", S2, ("l", 100), label="sum")
    profile = Profile(run)
    assert [(part.label, part.runs, part.commands, part.cycles) for part in profile.parts] == [("loop", 100, 1000, 1300), ("done", 1, 2, 13), ("sum", 1, 4, 9)]
    for part in profile.parts:
        assert part.cycles == part.fetch + part.room + part.decide + part.change
    loop = profile.parts[0]
    # The comparison waits for the sum, jumps for the comparison, the rest of the twelve cycles a run for the other sum and the copies.
    assert loop.waits == {"operand integer": 1200, "operand multiply": 300, "unit": 100}
    assert (loop.reads, loop.before, loop.farthest, loop.unread) == (1200, 600, 10, 0)
    assert str(profile).splitlines()[3].split()[:6] == ["loop", "100", "1000", "1300", "98.3", "%"]


def test_a_picture_has_a_bar_for_every_phase_and_an_arrow_for_every_result_read() -> None:
    run = ran("whetstone_pa", S1, label="pa")
    drawn = ET.fromstring(picture(run, "round"))
    spaces = {"s": "http://www.w3.org/2000/svg"}
    titles = [title.text or "" for title in drawn.iterfind(".//s:g/s:title", spaces)]
    assert len(titles) == 32 and titles[4].startswith("4: e1 := load_d [e]\ncould start in 7, starts in ")
    assert len(drawn.findall(".//s:g/s:rect", spaces)) == 32
    # 41 results are read, one of them from before the paragraph, and four stores read one each among them.
    assert len(drawn.findall("s:path", spaces)) == 40
    with pytest.raises(SimulationError, match="the program has no paragraph rounds"):
        picture(run, "rounds")


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = str(EXAMPLES / "sum_of_squares.s")
    assert cli.main(["simulate", file, "--argument", "l:100", "--returns", "l", "--profile", "--picture", "loop=loop.svg"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("328350\nmulticlet-s2: 1006 commands, 1322 cycles") and "written: loop.svg" in said.err
    assert ET.parse(tmp_path / "loop.svg").getroot().tag.endswith("svg")
    assert cli.main(["simulate", file, "--argument", "l:100", "--machine", "multiclet-s1", "--set", "change=0", "--call", "sum"]) == 0
    assert "multiclet-s1 with change=0: 1006 commands, 1220 cycles" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--argument", "5"], "--argument 5: a type (b s l q f d), a colon and a value are expected, as in l:5"),
        (["--argument", "l:4294967296"], "--argument l:4294967296: the value has no room in l, which has 32 bits"),
        (["--argument", "b:-129"], "the value has no room in b, which has 8 bits"),
        (["--argument", "f:1e39"], "the value has no room in f, which has 32 bits"),
        (["--set", "load"], "--set load: a parameter and a whole number are expected, as in --set load=3"),
        (["--set", "luck=3"], "multiclet-s2 has no parameter 'luck' that is a number; there are cells, "),
        (["--set", "cells=0"], "cells is 0; it has to be at least 1"),
        (["--machine", "pdp-11"], "unknown processor 'pdp-11'; there are multiclet-r1, multiclet-s1, multiclet-s2"),
        (["--call", "product"], "the program has no label product"),
        (["--untimed", "--profile"], "--profile tells of cycles: leave --untimed out"),
        (["--argument", "l:100", "--limit", "500"], "more than 500 commands have been run, and the program has not ended"),
        (["--machine", "multiclet-r1"], "sum_of_squares.s:9: column 10: @3 is from before the paragraph"),
    ],
)
def test_what_cannot_be_simulated_is_explained(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["simulate", str(EXAMPLES / "sum_of_squares.s"), *options]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("value", ["q:-9223372036854775808", "q:0xffffffffffffffff", "b:255", "d:nan", "f:-inf", "f:3.4028235e38"])
def test_arguments_at_the_edge_are_taken(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["simulate", str(EXAMPLES / "sum_of_squares.s"), "--argument", "l:0", "--argument", value]) == 0, capsys.readouterr().err


def test_an_argument_without_room_is_refused_by_the_simulator() -> None:
    unit = assemble("f:\n    jmp [#SP]\ncomplete\n", S2)
    for suffix, value in (("l", 1 << 32), ("l", 0.5), ("f", 1e300)):
        with pytest.raises(SimulationError, match=f"no room in {suffix}"):
            Simulator(link([unit], S2)).call("f", (suffix, value))


def test_multicells_work_as_one() -> None:
    wide = processor("multiclet-s2", multicells=2)
    assert (wide.name, wide.all_cells) == ("multiclet-s2x2", 8)
    one, two = ran("population_count", S2).timing, ran("population_count", wide).timing
    assert one is not None and two is not None and two.cycles < one.cycles
    with pytest.raises(TargetError, match="multicells is 0"):
        processor("multiclet-s2", multicells=0)
