"""How much more is done for a larger input: lines of loopwright's code that run, by function. Unlike times they are the same on every run."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import loopwright

FOLDER = str(Path(loopwright.__file__).parent)


def work(run: Callable[[Any], object], given: Any) -> Counter[str]:
    """Lines run of each function; every turn of a loop counts, and of a comprehension."""
    lines: Counter[CodeType] = Counter()

    def line(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            lines[frame.f_code] += 1
        return line

    def call(frame: FrameType, _event: str, _: Any) -> Any:
        return line if frame.f_code.co_filename.startswith(FOLDER) else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        run(given)
    finally:
        sys.settrace(before)
    found: Counter[str] = Counter()
    for code, count in lines.items():
        found[f"{Path(code.co_filename).stem}.{code.co_qualname}"] += count
    return found


def growth(run: Callable[[Any], object], small: Any, large: Any) -> dict[str, float]:
    """How many times as many lines run for ``large`` as for ``small``, by function, of those that have a share worth naming.

    Of a function that the smaller one does not need (as a pass that is for many values only) nothing is said: other inputs have to tell.
    """
    run(small)  # what is made once and kept
    less, more = work(run, small), work(run, large)
    return {name: count / less[name] for name, count in more.most_common() if count > sum(more.values()) / 100 and less[name]}
