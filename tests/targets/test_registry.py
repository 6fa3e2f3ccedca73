"""The registry finds the machines' folders, knows no machine by name, and imports nothing of one before a target of it is made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import SOURCES

from loopwright import cli
from loopwright.errors import TargetError
from loopwright.targets import registry
from loopwright.targets.machine import Machine
from loopwright.targets.x86.target import V3_FEATURES, V4_FEATURES

FOLDERS = sorted(path.parent.name for path in (SOURCES / "targets").glob("*/entry.py"))
#: (folder, target, width of vectors or 0) of every target there is.
TARGETS = [(folder, name, bits) for folder, machine in registry.machines().items() for name, level in machine.levels.items() for bits in level.widths or (0,)]


def test_every_folder_is_found() -> None:
    assert sorted(registry.machines()) == FOLDERS
    assert all(isinstance(machine, Machine) for machine in registry.machines().values())


def test_the_generic_modules_name_no_machine() -> None:
    words = [*FOLDERS, *(machine.family for machine in registry.machines().values()), *registry.names()]
    for file in ("targets/registry.py", "runtime/emulate.py"):
        text = (SOURCES / file).read_text(encoding="utf-8")
        assert not [word for word in words if f'"{word}' in text or f"targets.{word}" in text], file


def test_families_tell_machines_apart() -> None:
    families = [machine.family for machine in registry.machines().values()]
    assert not [(a, b) for a in families for b in families if a is not b and a.startswith(b)]
    for machine in registry.machines().values():
        assert machine.levels and machine.conventions
        assert all(registry.machine_of(name) is machine for name in machine.levels)
    assert registry.machine_of("pdp-11") is None


def test_those_that_are_called_in_a_process_come_first() -> None:
    assert registry.names()[:2] == ["x86-64-v3", "x86-64-v4"]
    assert "rv64gc" in registry.names()[2:]
    somewhere = [bool(machine.architectures) for machine in registry.machines().values()]
    assert somewhere == sorted(somewhere, reverse=True)


def test_listing_targets_imports_no_machine() -> None:
    program = (
        "import sys; from loopwright.targets import registry; registry.lines(); print(*sorted(m for m in sys.modules if m.startswith('loopwright.targets.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    of_machines = {name for name in done.stdout.split() if name.split(".")[2] in FOLDERS}
    assert of_machines == {f"loopwright.targets.{folder}{end}" for folder in FOLDERS for end in ("", ".entry")}


@pytest.mark.parametrize(("folder", "name", "bits"), TARGETS)
def test_what_is_declared_can_be_made(folder: str, name: str, bits: int) -> None:
    machine = registry.machines()[folder]
    for convention in machine.conventions:
        target = registry.get(name, bits or None, convention)
        assert (target.name, target.vector_bits, target.convention.name) == (name, bits, convention)
        assert type(target).__module__ == f"loopwright.targets.{folder}.target"
        assert registry.get(name, bits or None, convention) is target
    assert registry.get(name).vector_bits == max(machine.levels[name].widths, default=0)
    assert registry.get(name).convention.name == machine.conventions[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pdp-11",), f"unknown target 'pdp-11'; there are {', '.join(registry.names())}"),
        (("x86-64-v9",), f"unknown target 'x86-64-v9'; there are {', '.join(registry.names())}"),
        (("x86-64-v3", 512), "x86-64-v3 has vectors of 128, 256 bits, not 512"),
        (("x86-64-v4", 64), "x86-64-v4 has vectors of 128, 256, 512 bits, not 64"),
        (("x86-64-v3", None, "lp64d"), "x86-64 has the calling conventions sysv, win64, not 'lp64d'"),
        (("rv64gc", 128), "rv64gc has no vectors"),
        (("rv64gc", None, "sysv"), "rv64gc has the calling convention lp64d, not 'sysv'"),
    ],
)
def test_what_there_is_not_is_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(TargetError) as caught:
        registry.get(*arguments)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_the_best_target_is_the_most_that_the_features_allow() -> None:
    assert registry.best(V4_FEATURES | {"avx512_vnni"}) == "x86-64-v4"
    assert registry.best(V4_FEATURES - {"avx512dq"}) == "x86-64-v3"
    assert registry.best(set(V3_FEATURES)) == "x86-64-v3"
    assert registry.best(V3_FEATURES - {"fma"}) is None
    assert registry.best(frozenset()) is None


def test_a_folder_that_is_put_beside_the_others_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "pdp11"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "entry.py").write_text(
        "from loopwright.targets.machine import Level, Machine\n"
        "def make(name, vector_bits, convention, tuning):\n"
        "    from loopwright.targets import registry\n"
        "    return registry.get('rv64gc')\n"
        "MACHINE = Machine('pdp11', {'pdp11-40': Level('a line')}, ('octal',), make)\n"
    )
    (tmp_path / "notes").mkdir()
    program = (
        "import sys; from loopwright import targets; from loopwright.targets import registry; targets.__path__.append(sys.argv[1])\n"
        "print(*registry.names(), registry.machine_of('pdp11-70') is registry.machines()['pdp11'], registry.get('pdp11-40').name)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    words = done.stdout.split()
    assert sorted(words[:-2]) == sorted([*registry.names(), "pdp11-40"]) and words.index("pdp11-40") < words.index("rv64gc")
    assert words[-2:] == ["True", "rv64gc"]


def test_the_command_line_says_how_each_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["targets"]) == 0
    said = capsys.readouterr().out
    for name, line in registry.lines().items():
        assert f"{name:{max(map(len, registry.names()))}}  {line}\n" in said
    emulated = [name for machine in registry.machines().values() if machine.emulator is not None and not machine.runs_here() for name in machine.levels]
    assert said.count("runs under an emulator") == len(emulated)
