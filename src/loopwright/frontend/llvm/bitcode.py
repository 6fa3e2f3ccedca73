"""Bitcode is tried in a process of its own: where it is damaged, LLVM's reader may end the process that it runs in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Final

from loopwright.errors import ParseError

__all__ = ["BITCODE", "try_bitcode"]

#: How bitcode begins, plain and in a wrapper (LLVM Bitcode File Format, "Magic Numbers").
BITCODE: Final = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")

#: Reads and verifies, as is done here afterwards. An error is left to be met again.
_PROGRAM: Final = """\
import sys
import llvmlite.binding as binding
try:
    read = binding.parse_bitcode(sys.stdin.buffer.read())
    read.verify()
    str(read)
except RuntimeError:
    pass
"""


def try_bitcode(source: bytes, file: str) -> None:
    """See whether LLVM can read bitcode of unknown origin without ending its process; whether it is right is not asked.

    Raises:
        ParseError: it cannot.
    """
    if not sys.executable:
        # Python inside of another program: there is nothing to start.
        return
    # What can be imported here can be there, and nothing from the folder of work besides.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", _PROGRAM], input=source, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, check=False
    )
    if done.returncode < 0:
        raise ParseError(
            f"this is no valid LLVM IR: LLVM's reader of bitcode ends in {signal.Signals(-done.returncode).name}: the bitcode is damaged", 0, 0, file
        )
