"""The pages say what is true: their Python runs, their commands work, their links lead somewhere, their listing is what comes out.

The Python blocks of a page run in order and share their names. A block whose last line ends in a comment ``# SomeError: text`` must raise
that error there, with that text in its message.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.__main__ import NAMES
from tests.golden import hold

import loopwright as lw
from loopwright import cli
from loopwright.runtime import cpu, emulate

CHECKOUT = Path(__file__).resolve().parents[1]
PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RAISES = re.compile(r"#\s*(\w+Error): (.+)$")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """(line of its first line, text) of each fenced block in a language."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, match.start(2)), match[2]) for match in FENCE.finditer(text) if match[1] == language]


def name_of(page: Path) -> str:
    return page.relative_to(CHECKOUT).as_posix()


def runnable(source: str) -> str:
    """Why a block cannot run here, or ""."""
    if ".emulate(" in source and not emulate.available("rv64gc"):
        return "needs qemu-riscv64 (Debian package qemu-user)"
    if "loopwright.planning" in source and importlib.util.find_spec("ortools") is None:
        return "needs OR-Tools (pip install ortools)"
    return ""


@pytest.mark.skipif(not (cpu.is_x86_64() and cpu.LEVELS["x86-64-v3"] <= cpu.host_features()), reason="needs x86-64-v3")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name_of)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    # Kernels are read from the file they are defined in, so the page becomes one, its lines where they were.
    lines = [""] * (page.read_text(encoding="utf-8").count("\n") + 1)
    for at, source in blocks(page, "python"):
        part = source.rstrip("\n").split("\n")
        lines[at : at + len(part)] = part
    file = tmp_path / f"{page.stem}.py"
    file.write_text("\n".join(lines), encoding="utf-8")
    names: dict[str, Any] = {"__name__": page.stem}
    for at, source in blocks(page, "python"):
        if runnable(source):
            continue
        code = compile("\n" * at + source, str(file), "exec")
        expected = RAISES.search(source.rstrip().split("\n")[-1])
        if expected is None:
            exec(code, names)  # noqa: S102 (the documentation's own code)
            continue
        with pytest.raises(getattr(lw, expected[1])) as caught:
            exec(code, names)  # noqa: S102
        assert expected[2].strip() in str(caught.value), f"{name_of(page)}:{at}"


def test_the_pages_that_show_code_are_found() -> None:
    assert {name_of(page) for page in PAGES if blocks(page, "python")} >= {"README.md", "docs/kernels.md"}


def commands() -> list[tuple[Path, str]]:
    return [(page, line) for page in PAGES for _, text in blocks(page, "sh") for line in text.split("\n") if line.startswith("loopwright ")]


@pytest.mark.parametrize(("page", "line"), commands(), ids=lambda x: name_of(x) if isinstance(x, Path) else x.split("  ")[0])
def test_a_command_of_a_page_works(page: Path, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.split(line, comments=True)[1:]
    if words[0] not in ("show", "build", "passes", "targets", "--version") and words[:2] != ["corpus", "record"]:
        # Those that take long, or need files: that there is such a command.
        with pytest.raises(SystemExit) as ended:
            cli.main([words[0], "--help"])
        assert ended.value.code == 0
        return
    # What it writes goes elsewhere, and the Python it starts is this one.
    (tmp_path / "examples").symlink_to(CHECKOUT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if words == ["--version"]:
        with pytest.raises(SystemExit) as ended:
            cli.main(words)
        assert ended.value.code == 0
    else:
        assert cli.main(words) == 0, capsys.readouterr().err
    said = capsys.readouterr()
    assert said.out or said.err


@pytest.mark.parametrize("page", [*PAGES, CHECKOUT / "CHANGELOG.md"], ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        if "://" in path:
            continue
        other = (page.parent / path).resolve() if path else page
        assert other.exists(), target
        if anchor:
            titles = re.findall(r"^#+ (.*)$", other.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}, target


def test_the_benchmarks_in_the_page_of_figures_are_those_there_are() -> None:
    listed = re.search(r"# one of (.*)$", (CHECKOUT / "docs" / "figures.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert listed is not None and tuple(listed[1].split(", ")) == NAMES


def test_what_is_shown_of_the_code_is_in_the_code() -> None:
    """In docs/adding-an-instruction.md each block of code is in the file that was named last before it."""
    page = CHECKOUT / "docs" / "adding-an-instruction.md"
    text = page.read_text(encoding="utf-8")
    shown = [match for match in FENCE.finditer(text) if match[1] in ("py", "text")]
    assert len(shown) > 10
    for match in shown:
        file = re.findall(r"`((?:src|tests)/[\w/.]+)`", text[: match.start()])[-1]
        source = (CHECKOUT / file).read_text(encoding="utf-8")
        for part in [match[2]] if match[1] == "py" or "\nfunction" in match[2] else match[2].splitlines(keepends=True):
            assert part in source, f"{file} does not have\n{part}"


def test_the_listing_in_the_readme_is_what_comes_out(tmp_path: Path) -> None:
    page = CHECKOUT / "README.md"
    file = tmp_path / "axpy.py"
    file.write_text(blocks(page, "python")[0][1].split("\nx = ")[0] + "\n", encoding="utf-8")
    code = cli.load(file).axpy.compile(lw.f32, lw.Array[lw.f32], lw.Array[lw.f32], target="x86-64-v3")
    row = re.compile(r" *[0-9a-f]+  ((?:[0-9a-f]{2} )+) *(.*)")
    wanted = [match.groups() for match in map(row.fullmatch, blocks(page, "")[0][1].split("\n")) if match]
    assert len(wanted) == 6
    made = iter([match.groups() for match in map(row.fullmatch, code.asm().split("\n")) if match])
    for instruction in wanted:
        # In this order, with others in between.
        assert instruction in made, instruction


def test_the_report_in_the_page_on_nests_is_what_comes_out(tmp_path: Path) -> None:
    page = CHECKOUT / "docs" / "nests.md"
    at, source = blocks(page, "python")[0]
    file = tmp_path / "nests.py"
    file.write_text("\n" * at + source.split("\n\n\nprint")[0] + "\n", encoding="utf-8")
    made = str(cli.load(file).fourth.compile(target="x86-64-v3").nests())
    assert made.split("\n\n", 1)[1] == blocks(page, "")[0][1]


@pytest.mark.parametrize("name", ["fourth", "fifth"])
def test_the_pictures_in_the_page_on_nests_are_what_is_drawn(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    page = CHECKOUT / "docs" / "nests.md"
    at, source = next((at, source) for at, source in blocks(page, "python") if f"def {name}(" in source)
    file = tmp_path / f"{name}.py"
    kernel = source[source.index("@lw.kernel") :].split("\n\n\n")[0]
    file.write_text("import loopwright as lw\n" + "\n" * (at + source[: source.index("@lw.kernel")].count("\n") - 1) + kernel + "\n", encoding="utf-8")
    made = getattr(cli.load(file), name).compile(target="x86-64-v3").nests()[0].picture()
    assert f"(pictures/{name}.svg)" in page.read_text(encoding="utf-8")
    hold(CHECKOUT / "docs" / "pictures" / f"{name}.svg", made.replace("><", ">\n<").split("\n"), f"the picture of {name}", request.config.getoption("--bless"))


def test_every_public_name_is_in_the_documentation() -> None:
    words = set(re.findall(r"\w+", " ".join(page.read_text(encoding="utf-8") for page in [*PAGES, CHECKOUT / "CHANGELOG.md"])))
    unmentioned = set(lw.__all__) - words - {"InternalError", "errors", "types", "Type", "ArrayType", "Kernel", "bool_", "ptr"}
    assert not unmentioned
