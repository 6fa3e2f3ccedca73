"""What the native build (``setup.py``) reads from the source; nothing of it means anything at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr
else:

    def mypyc_attr(**_options):
        """Options for mypyc on a class, for example that classes outside the native build may inherit from it."""
        return lambda cls: cls


__all__ = ["mypyc_attr"]
