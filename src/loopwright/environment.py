"""The environment's variables, asked for at each compilation."""

from __future__ import annotations

import os
from typing import Any, Final

__all__ = ["variable"]

#: Names as ``os.environ`` keeps them.
_kept_as: Final[dict[str, Any]] = {}


def variable(name: str) -> str:
    """The value of a variable; "" where there is none.

    To ask ``os.environ`` for one that is not there takes two exceptions. What it keeps the variables in is asked first, where it has that.
    """
    environ: Any = os.environ
    kept: Any = getattr(environ, "_data", None)
    if kept is not None:
        key = _kept_as.get(name)
        if key is None:
            key = _kept_as[name] = environ.encodekey(name)
        if key not in kept:
            return ""
    value: str = environ.get(name, "")
    return value
