"""What the options of several commands have in common."""

from __future__ import annotations

import argparse
import re
from typing import Final

__all__ = ["SET", "number"]

#: Of the option ``--set``.
SET: Final = "another number for one of the processor's parameters, where the target has any, or 0 for a command that it lacks (docs/multiclet.md): cells=8, load=3, div=0"


def number(text: str) -> int:
    """A number of things, 1 or more."""
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number of at least 1 is needed, not {text[:20]!r}")
    return int(text)
