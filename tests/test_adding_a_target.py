"""docs/adding-a-target.md names what there is, and every machine has what it demands."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest
from tests import machines as test_machines
from tests.conftest import CHECKOUT, SOURCES

from loopwright import errors
from loopwright.ir.stages import STAGES
from loopwright.passes import pipeline as pass_lists
from loopwright.targets import machine, pipeline, registry, start, target
from loopwright.targets.target import Convention, Target

PAGE = (CHECKOUT / "docs" / "adding-a-target.md").read_text(encoding="utf-8")
#: Without the blocks of commands.
PROSE = re.sub(r"^```.*?^```$", "", PAGE, flags=re.MULTILINE | re.DOTALL)
#: A machine without registers has a list of passes, and so files, of its own.
MACHINES = [folder for folder, machine in registry.machines().items() if registry.get(next(iter(machine.levels))).registers]
#: Where the names in the text are looked for.
MODULES = [target, machine, start, registry, errors, pipeline, pass_lists, test_machines]


def names(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def files(number: int) -> list[tuple[str, list[str]]]:
    """(file, names in it) of a table of files."""
    return [(names(line.split("|")[1])[0], names(line.split("|")[2])) for line in _lines(number)]


def _lines(number: int) -> list[str]:
    return [match[0].splitlines() for match in re.finditer(r"(?:^\|.*\n)+", PROSE, re.MULTILINE)][number][2:]


FOLDER, EMULATED, TESTS = (files(number) for number in range(3))


def test_the_tables_are_read() -> None:
    assert [file for file, _ in FOLDER][:2] == ["__init__.py", "entry.py"] and len(FOLDER) == 11
    assert [file for file, _ in EMULATED] == ["start.py"] and EMULATED[0][1] == ["entry"]
    assert [file for file, _ in TESTS] == ["trampoline.py", "test_abi.py", "test_assembler.py"]


@pytest.mark.parametrize("folder", MACHINES)
def test_every_machine_has_the_files_and_what_is_in_them(folder: str) -> None:
    emulated = registry.machines()[folder].emulator is not None
    for file, inside in [*FOLDER, *(EMULATED if emulated else [])]:
        assert (SOURCES / "targets" / folder / file).is_file(), f"{folder}/{file}"
        if inside:
            made = importlib.import_module(f"loopwright.targets.{folder}.{file.removesuffix('.py')}")
            assert not [name for name in inside if not hasattr(made, name)], f"{folder}/{file}"
    for file, _ in TESTS:
        assert (CHECKOUT / "tests" / "targets" / folder / file).is_file(), f"tests of {folder}: {file}"
    trampoline = (CHECKOUT / "tests" / "targets" / folder / "trampoline.py").read_text(encoding="utf-8")
    assert "\ndef tested(" in trampoline or not registry.machines()[folder].architectures
    for name in registry.machines()[folder].levels:
        assert (CHECKOUT / "tests" / "targets" / "lacking" / f"{name}.txt").is_file()


@pytest.mark.parametrize("folder", MACHINES)
def test_every_machine_is_joined_by_a_target_and_has_its_conventions(folder: str) -> None:
    made = vars(importlib.import_module(f"loopwright.targets.{folder}.target")).values()
    assert [each for each in made if isinstance(each, type) and issubclass(each, Target) and each is not Target]
    conventions = {each.name for each in vars(importlib.import_module(f"loopwright.targets.{folder}.abi")).values() if isinstance(each, Convention)}
    assert conventions == set(registry.machines()[folder].conventions)
    assert len(importlib.import_module(f"loopwright.targets.{folder}.registers").REGISTERS) <= 62


@pytest.mark.parametrize("folder", MACHINES)
def test_the_contracts_of_imports_name_every_machine(folder: str) -> None:
    contracts = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    naming = [contract["name"] for contract in contracts if f"loopwright.targets.{folder}" in re.findall(r"[\w.]+", str(contract))]
    assert len(naming) == 3


def exists(name: str) -> bool:
    """Whether there is what a name in the text stands for."""
    if "<machine>" in name:
        return all((CHECKOUT / name.replace("<machine>", folder)).exists() for folder in MACHINES)
    if "/" in name or name.endswith((".py", ".toml")):
        beside = [SOURCES / "targets" / folder for folder in MACHINES] + [CHECKOUT / "tests" / "targets" / folder for folder in MACHINES]
        return any((folder / name).exists() for folder in [CHECKOUT, *beside])
    if name in ("e_machine", "e_flags", "make test", "loopwright.targets", *STAGES):
        return True
    if name in ("entry", "start", "tested", "LIMITED", *(inside for _, of in FOLDER + EMULATED for inside in of)):
        return True
    first, _, attribute = name.partition(".")
    owner = next((getattr(each, first) for each in MODULES if hasattr(each, first)), None)
    if owner is None and first == "Assembler":
        return all(hasattr(importlib.import_module(f"loopwright.targets.{folder}.assembler").Assembler, attribute) for folder in MACHINES)
    if owner is None or not attribute:
        return owner is not None
    # An attribute of objects is in the class's documentation or its slots.
    return hasattr(owner, attribute) or attribute in getattr(owner, "__slots__", ()) or re.search(rf"\b{attribute}\b", owner.__doc__ or "") is not None


def test_every_name_in_the_text_is_that_of_something() -> None:
    found = sorted(set(names(PROSE)))
    assert len(found) > 60
    assert not [name for name in found if not exists(name)]


def test_every_question_to_a_target_is_named() -> None:
    asked = {name for name, value in vars(Target).items() if callable(value) and not name.startswith("_")}
    assert not asked - {name.partition(".")[2] for name in names(PROSE) if name.startswith("Target.")}


def test_the_commands_name_files_and_tests_that_there_are() -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    rules = set(re.findall(r"^([\w-]+):", (CHECKOUT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    tried = 0
    for line in lines:
        words = re.sub(r"#.*", "", line).split()
        if words[0] == "make":
            assert set(words[1 : next((k for k, word in enumerate(words) if "=" in word), len(words))]) <= rules, line
        for path, _, test in (word.strip("'").removeprefix("ARGS='").partition("::") for word in words if "tests/" in word):
            tried += 1
            file: Path = CHECKOUT / path
            assert file.exists(), line
            assert not test or f"def {test}(" in file.read_text(encoding="utf-8"), line
    assert tried >= 8
