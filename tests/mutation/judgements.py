"""Survivors that somebody has looked at: ``judgements.json`` beside this file, those that change nothing and those that do, each with the reason."""

from __future__ import annotations

import json
from pathlib import Path

from tests.mutation.faults import Fault

FILE = Path(__file__).with_name("judgements.json")


def key(fault: Fault) -> str:
    """By what a judgement is found again: not the line's number, which changes with every line above it."""
    return f"{fault.path}: {fault.before} => {fault.after}"


def equivalents() -> dict[str, str]:
    """The reasons, by key, why some faults change nothing."""
    return _read("changes nothing")


def survivors() -> dict[str, str]:
    """The reasons, by key, why no test notices some faults that do change something."""
    return _read("survives")


def _read(what: str) -> dict[str, str]:
    known: dict[str, dict[str, str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return known[what]
