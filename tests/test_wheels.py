"""What ``pip install`` gives: each wheel, alone with NumPy in an environment of its own, away from the checkout, does what the README says.

``make test-wheels`` makes the wheels and runs this with ``--wheels DIR``; without that option it is not collected.
"""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy
import pytest

from loopwright.targets import registry
from loopwright.targets.pipeline import names_of

CHECKOUT = Path(__file__).resolve().parents[1]
SOURCES = CHECKOUT / "src"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
POLY = ["examples/polynomial.py:poly", "--", "f32[]", "f32[]", "coeffs=(1.0, 2.0, 1.0)"]


@dataclass(frozen=True)
class Installed:
    """A wheel in an environment, and a folder to work in."""

    build: str
    wheel: Path
    environment: Path
    folder: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment, which knows nothing of the checkout, nor of this process's settings."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("LOOPWRIGHT_", "PYTHON"))}
        program = str(self.environment / "bin" / command[0])
        return subprocess.run([program, *command[1:]], cwd=self.folder, env=variables, capture_output=True, text=True, check=False)

    def loopwright(self, *words: str) -> str:
        """What a command prints."""
        done = self.run("loopwright", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refusal(self, *words: str) -> str:
        """What a command that cannot be done says: one line, and status 1."""
        done = self.run("loopwright", *words)
        assert (done.returncode, done.stdout) == (1, ""), done
        assert done.stderr.count("\n") == 1
        return done.stderr


def wheel_of(folder: Path, build: str) -> Path:
    """The only wheel of a build."""
    found = [wheel for wheel in sorted(folder.glob("loopwright-*.whl")) if wheel.name.endswith("-py3-none-any.whl") == (build == "pure")]
    assert len(found) == 1, f"{folder} should have one {build} wheel: {found}"
    return found[0]


@pytest.fixture(scope="module", params=["pure", "native"])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    build = str(request.param)
    wheel = wheel_of(request.config.getoption("--wheels"), build).resolve()
    folder = tmp_path_factory.mktemp(build)
    environment = folder / "environment"
    venv.EnvBuilder(symlinks=True).create(environment)
    packages = next(environment.glob("lib/python*/site-packages"))
    # NumPy as it is here: no index is asked.
    for part in Path(numpy.__file__).parents[1].glob("numpy*"):
        (packages / part.name).symlink_to(part)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(environment / "bin" / "python")]
    done = subprocess.run([*pip, "install", "--quiet", "--no-index", str(wheel)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    work = folder / "work"
    work.mkdir()
    (work / "examples").symlink_to(CHECKOUT / "examples")
    return Installed(build, wheel, environment, work)


def readme(language: str) -> list[str]:
    """The blocks of the README in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (CHECKOUT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_tag_says_where_it_runs(installed: Installed) -> None:
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tag = "py3-none-any" if installed.build == "pure" else f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    assert installed.wheel.name.endswith(f"-{tag}.whl")
    with zipfile.ZipFile(installed.wheel) as files:
        [about] = [name for name in files.namelist() if name.endswith(".dist-info/WHEEL")]
        text = files.read(about).decode()
    assert f"Root-Is-Purelib: {'true' if installed.build == 'pure' else 'false'}\nTag: {tag}\n" in text


def test_it_holds_the_package_and_the_corpora_and_nothing_else(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as files:
        content = {name: files.read(name) for name in files.namelist() if not name.partition("/")[0].endswith(".dist-info")}
    wanted = {
        path.relative_to(SOURCES).as_posix(): path.read_bytes() for path in (SOURCES / "loopwright").rglob("*") if path.suffix in (".py", ".typed", ".c", ".h")
    }
    wanted |= {f"loopwright/corpus/corpora/{path.name}": path.read_bytes() for path in (CHECKOUT / "corpora").glob("*.lwc")}
    assert len(wanted) > 100
    compiled = {name for name in content if name.endswith(SUFFIX)}
    held = {name: data for name, data in content.items() if name not in compiled}
    # Names before contents: what differs is said in a line, not in the bytes of every file.
    assert sorted(held) == sorted(wanted)
    assert [name for name, data in held.items() if data != wanted[name]] == []
    core = runpy.run_path(str(CHECKOUT / "setup.py"))["core_files"]() if installed.build == "native" else []
    modules = {name for name in compiled if not name.partition(".")[0].endswith("__mypyc")}
    assert modules == {file.removeprefix("src/").removesuffix(".py") + SUFFIX for file in core}


def test_there_is_nothing_beside_it_but_numpy(installed: Installed) -> None:
    names = "import importlib.metadata as m; print(sorted(d.name for d in m.distributions()))"
    assert installed.run("python", "-c", names).stdout == "['loopwright', 'numpy']\n"
    where = installed.run("python", "-c", "import loopwright.compiler as c; print(c.__file__)").stdout.strip()
    assert Path(where).is_relative_to(installed.environment)
    assert where.endswith(SUFFIX if installed.build == "native" else ".py")


def test_the_version_says_which_build_it_is(installed: Installed) -> None:
    words = "native build" if installed.build == "native" else "pure Python"
    assert re.fullmatch(rf"loopwright [\d.]+, {words}\n", installed.loopwright("--version"))


def test_the_first_kernels_of_the_readme_run(installed: Installed) -> None:
    program = installed.folder / "readme.py"
    blocks = readme("python")[:3]
    assert "def axpy" in blocks[0] and "def poly" in blocks[1] and ".asm()" in blocks[2]
    program.write_text("\n".join(blocks), encoding="utf-8")
    done = installed.run("python", "-W", "error", str(program))
    assert (done.returncode, done.stderr) == (0, "")
    assert "vfmadd213ps" in done.stdout


def test_every_example_runs(installed: Installed) -> None:
    for example in sorted((CHECKOUT / "examples").glob("*.py")):
        done = installed.run("python", str(example))
        assert (done.returncode, done.stderr) == (0, ""), example.name


def test_the_targets_are_listed(installed: Installed) -> None:
    assert re.findall(r"^(\S+)  ", installed.loopwright("targets"), re.MULTILINE) == registry.names()


@pytest.mark.parametrize("target", registry.names())
def test_a_kernel_is_shown_as_in_the_checkout(installed: Installed, target: str) -> None:
    def text(shown: str) -> str:
        """Without what differs by process and folder."""
        return re.sub(r"(?<=at )0x[0-9a-f]+|\S*(?=/examples/)", "", shown)

    # The last passes but that which makes bytes: registers are given by then, or places in the switch. (The files of the pure build are those of the checkout.)
    before = ("simplify", *names_of(registry.get(target).passes())[-3:-1]) if installed.build == "native" else ()
    for stage in (*before, "asm"):
        words = ("show", "--target", target, "--after", stage, *POLY)
        here = subprocess.run([sys.executable, "-m", "loopwright", *words], cwd=CHECKOUT, capture_output=True, text=True, check=True)
        assert text(installed.loopwright(*words)) == text(here.stdout)


def test_scores_and_explanations_are_shown(installed: Installed) -> None:
    assert "PerfScore" in installed.loopwright("show", "--target", "x86-64-v3", "--score", *POLY)
    assert installed.loopwright("show", "--target", "x86-64-v3", "--explain", "--picture", "poly.html", *POLY)
    assert "<svg" in (installed.folder / "poly.html").read_text(encoding="utf-8")


def test_the_corpora_are_there(installed: Installed) -> None:
    assert "contexts" in installed.loopwright("corpus", "list", "programs", "--summary")
    assert installed.loopwright("corpus", "list", "kernels", "--summary")
    recorded = "mine.lwc"
    installed.loopwright("corpus", "record", "-o", recorded, "--", str(installed.environment / "bin" / "python"), "examples/polynomial.py")
    assert "poly" in installed.loopwright("corpus", "list", recorded)


def test_another_order_is_compared_on_the_shipped_programs(installed: Installed) -> None:
    # (All of them take the pure build more than a minute.)
    some = [] if installed.build == "native" else ["--limit", "200"]
    done = installed.run("loopwright", "corpus", "diff", "programs", "--ordering", "EHPDGAJCBNKOLFIMQ", *some)
    # 2: there are differences.
    assert done.returncode == 2, done.stderr
    assert "PerfScore" in done.stdout


def test_what_needs_more_says_what(installed: Installed) -> None:
    assert "pip install 'loopwright[demo]'" in installed.refusal("demo")
    assert "pip install 'loopwright[tuning]'" in installed.refusal("tune", "kernels", "--target", "x86-64-v4/512", "-o", "tuned")
    assert "run this command from one (make bench)" in installed.refusal("bench")
    assert "in a checkout of loopwright's source" in installed.refusal("corpus", "record", "--collection", "kernels", "-o", "k.lwc")
