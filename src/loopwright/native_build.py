"""The native build (``setup.py``): what it reads from the source, and whether this is it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr
else:

    def mypyc_attr(**_options):
        """Options for mypyc on a class, for example that classes outside the native build may inherit from it."""
        return lambda cls: cls


__all__ = ["is_native", "mypyc_attr"]


def is_native() -> bool:
    """Whether this is the native build, whose compiler is itself compiled; otherwise it is pure Python. Both do the same."""
    from importlib.machinery import ExtensionFileLoader
    from importlib.util import find_spec

    spec = find_spec("loopwright.compiler")
    return spec is not None and isinstance(spec.loader, ExtensionFileLoader)
