"""Expected code as text: what passes make of a function, with registers numbered in the order they appear in."""

from __future__ import annotations

import re
from typing import Any

from tests.passes.generator import AnyTarget

from loopwright.ir.function import Function
from loopwright.ir.text import parse, print_function
from loopwright.ir.verify import verify
from loopwright.targets.target import Target


def rewritten(text: str, *passes: Any, target: Target | None = None) -> str:
    """The body of a function, given as text, after some passes: its instructions without indentation and lines of the user."""
    f = parse(text)
    verify(f)
    for one in passes:
        one.run(f, target if target is not None else AnyTarget())
        verify(f)
    return body(f)


def body(f: Function) -> str:
    """The instructions of a function as text."""
    lines = [line.strip() for line in print_function(f).splitlines()[1:-1]]
    heads = ("option", "array", "var", "reg", "stage", "file", "target", "callee", "site")
    return _numbered("\n".join(line for line in lines if line.split(" ")[0] not in heads))


def block(text: str) -> str:
    """Text without indentation, to compare with what ``rewritten`` gives."""
    return _numbered("\n".join(line.strip() for line in text.strip().splitlines()))


def _numbered(text: str) -> str:
    """Registers numbered in the order they appear in, names kept: what number a new register gets is nobody's business."""
    seen: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        register = found[0]
        return seen.setdefault(register, re.sub(r"\.?\d+$", "", register) + f"_{len(seen)}")

    return re.sub(r"%[\w.]+", number, text)


__all__ = ["block", "body", "rewritten"]
