"""The collections that are shipped are those that the front ends make now."""

from __future__ import annotations

import subprocess

import pytest

import loopwright as lw
from loopwright.corpus import collections, files


def clang_of_the_collection() -> None:
    """Skips where another clang, or none, would make other IR, or where it lacks another machine's headers."""
    from benchmarks.c_functions import CLANG

    from loopwright.cc import clang

    try:
        said = subprocess.run([clang.find(), "--version"], capture_output=True, text=True, check=True).stdout
    except lw.LoopwrightError as reason:
        pytest.skip(str(reason))
    if f"version {CLANG}" not in said:
        pytest.skip(f"the collection is recorded with clang {CLANG}x")
    missing = [triple for triple in ("aarch64-linux-gnu", "riscv64-linux-gnu") if not clang.has_headers(triple)]
    if missing:
        pytest.skip(f"the headers of {', '.join(missing)} are not here")


@pytest.mark.parametrize("name", list(collections.NAMES))
def test_recording_a_collection_again_gives_the_file_that_is_shipped(name, tmp_path):
    """When this fails, what the front ends make has changed: ``loopwright corpus record --collection NAME -o corpora/NAME.lwc``."""
    if name == "c":
        clang_of_the_collection()
    path = tmp_path / f"{name}.lwc"
    collections.record(name, path)
    shipped = collections.shipped(name)
    if path.read_bytes() != shipped.read_bytes():
        made, there = ({(c.name, c.target, c.vector_bits): c for c in files.read(p).contexts} for p in (path, shipped))
        changed = [key for key in made if key in there and made[key] != there[key]]
        pytest.fail(
            f"{len(made.keys() - there.keys())} contexts are new, {len(there.keys() - made.keys())} are gone, {len(changed)} have changed, e.g. {changed[:3]}; "
            f"if that is meant: loopwright corpus record --collection {name} -o corpora/{name}.lwc"
        )
    assert path.stat().st_size < 2_000_000
