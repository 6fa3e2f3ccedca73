"""What argparse makes of a word that should be a number, for all the commands."""

from __future__ import annotations

import argparse
import re

__all__ = ["number"]


def number(text: str) -> int:
    """A number of things, 1 or more."""
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number of at least 1 is needed, not {text[:20]!r}")
    return int(text)
