"""Kernels from text, and the functions of Python that they are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import loopwright as lw


def kernel_from(parameters: str, body: str, names: dict[str, Any] | None = None, **options: Any) -> tuple[Any, Any]:
    """The kernel of these parameters and this body, and its function.

    Args:
        parameters: with their annotations.
        body: its lines.
        names: what the text knows beside ``lw``, ``np`` and ``math``.
        options: of the kernel.
    """
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    text = f"def kernel({parameters}):\n{lines}"
    scope: dict[str, Any] = {"lw": lw, "np": np, "math": math, **(names or {})}
    exec(compile(text, "<kernel from text>", "exec"), scope)  # noqa: S102 (texts of tests alone)
    return lw.kernel(scope["kernel"], source=text, **options), scope["kernel"]


def nest_from(source: str, **options: Any) -> Any:
    """The kernel of a function ``nest`` given as text, all of whose parameters are arrays."""
    scope: dict[str, Any] = {"lw": lw}
    exec(compile(source, "<nest from text>", "exec"), scope)  # noqa: S102 (texts of tests alone)
    function = scope["nest"]
    function.__annotations__.update(dict.fromkeys(function.__code__.co_varnames[: function.__code__.co_argcount], lw.Array))
    return lw.kernel(source=source, **options)(function)
