"""Parameter lists for the generated programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["parameters"]


def parameters(names: Iterable[str], kind: Any) -> dict[str, Any]:
    """So many parameters of one type, for ``Function(name, **parameters(names, F64))``."""
    return dict.fromkeys(names, kind)
