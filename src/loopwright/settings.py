"""What a compilation is told besides the function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopwright.ir.description import Description

__all__ = ["Settings"]


class Settings:
    """What a user asks of a compilation. None leaves it to whoever is asked next: the kernel's own settings, the environment, the default.

    The keywords of ``lw.kernel`` and ``compile`` become one of these at once; ``compiler.resolve`` puts the environment's and the defaults in, once.

    Attributes:
        target: the name of the target, or a ``Description`` of one; None for this CPU.
        vector_bits: width of the vectors; None for the target's widest.
        ordering: the order of the register selection filters, a permutation of A to Q; of a target without registers it decides nothing.
        prove: prove the register allocation, where the target's passes make one.
        keep: keep the text after every pass.
        passes: passes of the user's own, made by ``lw.after`` and ``lw.before``.
    """

    __slots__ = ("keep", "ordering", "passes", "prove", "target", "vector_bits")

    def __init__(
        self,
        target: str | Description | None = None,
        vector_bits: int | None = None,
        ordering: str | None = None,
        prove: bool | None = None,
        keep: bool = False,
        passes: Sequence[Any] | None = None,
    ) -> None:
        self.target: Any = target
        self.vector_bits: Any = vector_bits
        self.ordering: Any = ordering
        self.prove: Any = prove
        self.keep: Any = keep
        self.passes: Any = passes

    def over(self, other: Settings) -> Settings:
        """These, and the other's where these leave it open."""
        return Settings(
            other.target if self.target is None else self.target,
            other.vector_bits if self.vector_bits is None else self.vector_bits,
            other.ordering if self.ordering is None else self.ordering,
            other.prove if self.prove is None else self.prove,
            self.keep or other.keep,
            other.passes if self.passes is None else self.passes,
        )

    def __reduce__(self) -> tuple[object, ...]:
        passes = self.passes if self.passes is None else tuple(self.passes)
        return Settings, (self.target, self.vector_bits, self.ordering, self.prove, self.keep, passes)
