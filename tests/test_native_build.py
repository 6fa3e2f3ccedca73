"""Whichever build is tested, all of the tests test it: this process, and those it starts. That ``--build`` refuses another."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import loopwright
from loopwright.native_build import is_native

CHECKOUT = Path(__file__).resolve().parents[1]
OTHER = "pure" if is_native() else "native"
THIS = "native" if is_native() else "pure"


def test_another_process_has_the_same_build() -> None:
    code = "import loopwright; from loopwright.native_build import is_native; print(is_native(), loopwright.__file__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{is_native()} {loopwright.__file__}\n"


def test_it_is_in_the_version() -> None:
    done = subprocess.run([sys.executable, "-m", "loopwright", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"loopwright {loopwright.__version__}, {'native build' if is_native() else 'pure Python'}\n"


def collected(build: str, package: Path) -> subprocess.CompletedProcess[str]:
    """pytest collecting this file with the package in a folder."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", f"--build={build}", __file__]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=CHECKOUT, env={**os.environ, "PYTHONPATH": str(package)})


def test_the_tests_refuse_another_build_than_the_one_asked_for(tmp_path: Path) -> None:
    package = Path(loopwright.__file__).parents[1]
    assert collected(THIS, package).returncode == 0
    refused = collected(OTHER, package)
    assert refused.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"--build={OTHER}: loopwright" in refused.stderr
    # The package at another place is not this checkout's; nor, natively built, is one whose sources have changed since.
    (tmp_path / "loopwright").mkdir()
    for part in (package / "loopwright").iterdir():
        (tmp_path / "loopwright" / part.name).symlink_to(part)
    (tmp_path / "loopwright" / "__init__.py").unlink()
    (tmp_path / "loopwright" / "__init__.py").write_text((package / "loopwright" / "__init__.py").read_text() + "\n")
    for part in package.glob("*.so"):
        (tmp_path / part.name).symlink_to(part)
    elsewhere = collected(THIS, tmp_path)
    assert elsewhere.returncode == pytest.ExitCode.USAGE_ERROR
    assert "is not what is in" in elsewhere.stderr if is_native() else "is imported from" in elsewhere.stderr
