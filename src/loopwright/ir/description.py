"""What stands in place of a target's name where a user describes a processor of his own."""

from __future__ import annotations

from loopwright.native_build import mypyc_attr

__all__ = ["Description"]


@mypyc_attr(allow_interpreted_subclasses=True)
class Description:
    """A processor of the user's own, of a machine whose folder has a way to describe one (``targets/machine.py``: ``Machine.target_of``)."""

    def family(self) -> str:
        """What the names of the machine's targets begin with."""
        raise NotImplementedError
