"""What is said of compiled code that faults, and that the process ends as it would have without."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64" or not sys.platform.startswith("linux"), reason="faults are caught on Linux on x86-64")

PROGRAM = """\
import ctypes, faulthandler, sys, threading
import numpy as np
import loopwright as lw

@lw.kernel
def gather(x: lw.Array[lw.f32], k: lw.Array[lw.i64], y: lw.Array[lw.f32]):
    for i in lw.range(len(k)):
        y[i] = x[k[i]]

m = lw.Module()

@m.function
def deep(n: lw.i64) -> lw.i64:
    return deep(n + 1) + 1

x, y = np.zeros(8, np.float32), np.zeros(3, np.float32)
right, wild, none = (np.array([1, 2, each]) for each in (3, 1 << 40, 1 << 50))
if len(sys.argv) > 2:
    faulthandler.enable()
gather(x, right, y)
how = sys.argv[1]
if how == "wild":
    gather(x, wild, y)
elif how == "thread":
    thread = threading.Thread(target=gather, args=(x, wild, y))
    thread.start()
    thread.join()
elif how == "none":
    gather(x, none, y)
elif how == "deep":
    deep(1)
elif how == "elsewhere":
    ctypes.string_at(16)
print("it went on")
"""


def ended(tmp_path: Path, *args: str, **environment: str) -> str:
    """What the program writes to its standard error before it is killed."""
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py"), *args], capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == -signal.SIGSEGV
    assert "it went on" not in done.stdout
    return done.stderr


@pytest.mark.parametrize("how", ["wild", "thread"])
def test_a_wild_index_is_reported(tmp_path: Path, how: str) -> None:
    first, file, statement, place, remedy = ended(tmp_path, how).splitlines()
    assert first.startswith("loopwright: Segmentation fault, accessing address 0x") and ", in gather for x86-64-v" in first
    assert file.endswith('program.py", line 8, in gather')
    assert statement == "    y[i] = x[k[i]]"
    assert "of its code: vmovss xmm0, dword ptr [" in place
    assert "check=True" in remedy


def test_an_address_that_cannot_be(tmp_path: Path) -> None:
    assert ended(tmp_path, "none").startswith("loopwright: Segmentation fault, accessing an address that cannot be, in gather")


def test_a_recursion_without_end_is_named(tmp_path: Path) -> None:
    told = ended(tmp_path, "deep")
    assert "in deep for" in told and "return deep(n + 1) + 1" in told and "The stack is used up" in told


def test_faults_elsewhere_go_their_old_way(tmp_path: Path) -> None:
    assert ended(tmp_path, "elsewhere") == ""
    assert ended(tmp_path, "elsewhere", "faulthandler").startswith("Fatal Python error: Segmentation fault")


def test_a_handler_that_was_there_follows(tmp_path: Path) -> None:
    told = ended(tmp_path, "wild", "faulthandler")
    assert told.startswith("loopwright: Segmentation fault") and "Fatal Python error: Segmentation fault" in told and "program.py" in told.partition("Fatal")[2]


def test_it_can_be_turned_off(tmp_path: Path) -> None:
    assert ended(tmp_path, "wild", LOOPWRIGHT_FAULTS="0") == ""
