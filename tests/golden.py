"""Figures and checksums that a change is not to change unless it means to."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

import pytest


def hold(file: Path, found: list[str], what: str, bless: bool) -> None:
    """Compare lines with those of a file, or rewrite it.

    Args:
        file: the lines as they were.
        found: the lines as they are.
        what: what has changed when they differ.
        bless: rewrite the file.
    """
    if bless:
        file.write_text("\n".join(found) + "\n", encoding="utf-8")
        return
    wanted = file.read_text(encoding="utf-8").splitlines()
    if found != wanted:
        changed = [line for line in unified_diff(wanted, found, lineterm="", n=0) if not line.startswith(("---", "+++", "@@"))]
        pytest.fail("\n".join([f"{what}:", *changed, "(pytest --bless accepts these)"]))
